/* cuda_tensor.cuh: the same equation on tensor cores, for crowds.

   A warp takes a block of 16 vertices for 8 characters at a time, which is one tile of m16n8k16: vertices down,
   characters across, and along k what is summed over: four joints, coefficients or axes, each as four products. Numbers
   are split into two halves, so that products have the bits of floats:

       (a + a') (b + b') = a b + a b' + a' b + a' b'

   Sums that the blend needs are matrices (12 tiles); points are moved by them in floats. Halves reach neither far nor near,
   so positions are measured from the middle of the mesh, in units of its size, and the place where the character stands is
   added in the end: weights sum to 1. */

#pragma once

#include "gpu/cuda_kernels.cuh"
#include <cuda_fp16.h>

enum {
    TENSOR_CHARACTERS = 8,   /* of a tile */
    TENSOR_BLOCKS = 8,       /* less is not worth it */
    TENSOR_FEW = 2,          /* groups of rows or axes that a warp keeps */
    TENSOR_GROUP = 4,        /* joints, coefficients or axes of a tile */
    TENSOR_EXTRA = 2,        /* vec4s of a pose in shared memory besides its own: scales, and where it stands */
    TENSOR_STAGE_STRIDE = 52 /* floats from one character's 48 to the next, for the banks' sake */
};

/* What is computed: positions; normals too; normals too, which the corrective changes. */
enum { TENSOR_POSITIONS, TENSOR_NORMALS, TENSOR_TURNED };

/* Threads of a work group: as many as there are registers for. Found by trying on an H200, as are the others. */
template <int KIND> constexpr int tensor_threads = KIND == TENSOR_POSITIONS ? 512 : 384;

/* Characters of a work group, at most. */
template <int FORM, int KIND>
constexpr uint32_t tensor_shared = (FORM == PELT_GPU_WEIGHTED_SHORTS) == (KIND == TENSOR_POSITIONS) ? 16 : 32;

/* Distances are held in parts of 1, so that small ones keep their bits; beyond FARTHEST phi is nothing. */
constexpr float DISTANCE_PARTS = 64, FARTHEST = 900;

/* Lists of a block. */
enum { TENSOR_JOINTS, TENSOR_ROWS, TENSOR_TURNS, TENSOR_AXES, TENSOR_LISTS };

/* A skin's numbers as tiles want them: of a group of four, lane t holds the numbers of vertices g and g + 8, and the 32
   lanes (g, t) of a warp lie side by side. Short groups are filled up with zeros. */
struct pelt_cuda_tensor {
    const uint32_t *words;             /* [block + 1][4] the block's first group of each list; then */
    uint32_t at_sources[TENSOR_LISTS]; /* [group][4] places in a pose: vec4s of joints, else words */
    uint32_t at_rows[TENSOR_LISTS];    /* [group][1, or 3 for rows and turns][32][2] numbers as two halves */
    uint32_t at_centers;               /* rows of the weighted form: [group of skin.glsl's][part][16][4] floats */
    uint32_t at_center_turns;
    uint32_t regular;     /* every block has all centres, in order */
    float3 middle;        /* of the mesh */
    float size, per_size; /* of the mesh; 0: tensor cores are not used */
    uint32_t stride;      /* vec4s of a pose in shared memory */
};

/* -- Two halves ------------------------------------------------------------------------------------------------------ */

static __host__ __device__ __forceinline__ uint32_t halves_of(float x) {
    __half high = __float2half_rn(x), low = __float2half_rn(x - __half2float(high));
    uint16_t h = __half_as_ushort(high), l = __half_as_ushort(low);
    return h | (uint32_t)l << 16;
}

DEVICE uint4 halves_of(float4 x) { return make_uint4(halves_of(x.x), halves_of(x.y), halves_of(x.z), halves_of(x.w)); }

/* Four numbers of the vertices of a tile. */
struct tile_rows {
    uint32_t high[2], low[2];
};

DEVICE tile_rows rows_of(uint2 words) {
    tile_rows rows;
    rows.high[0] = __byte_perm(words.x, 0, 0x1010), rows.low[0] = __byte_perm(words.x, 0, 0x3232);
    rows.high[1] = __byte_perm(words.y, 0, 0x1010), rows.low[1] = __byte_perm(words.y, 0, 0x3232);
    return rows;
}

/* sum (+)= rows times one number of each character. sum[0], sum[1]: vertex g, characters 2t and 2t + 1; then vertex g + 8.
   The first product of a sum does not need zeros. */
DEVICE void multiply(float (&sum)[4], const tile_rows &rows, uint32_t number) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%8}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(rows.high[0]), "r"(rows.high[1]), "r"(rows.low[0]), "r"(rows.low[1]), "r"(number));
#endif
}

DEVICE void multiply_first(float (&sum)[4], const tile_rows &rows, uint32_t number) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%8}, {%9,%9,%9,%9};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(rows.high[0]), "r"(rows.high[1]), "r"(rows.low[0]), "r"(rows.low[1]), "r"(number), "f"(0.f));
#endif
}

/* Four sums at once: what a vec4 of each character gives. */
DEVICE void multiply(float (&sums)[4][4], const tile_rows &rows, uint4 numbers, bool first) {
    if (first) {
        multiply_first(sums[0], rows, numbers.x), multiply_first(sums[1], rows, numbers.y);
        multiply_first(sums[2], rows, numbers.z), multiply_first(sums[3], rows, numbers.w);
    } else {
        multiply(sums[0], rows, numbers.x), multiply(sums[1], rows, numbers.y);
        multiply(sums[2], rows, numbers.z), multiply(sums[3], rows, numbers.w);
    }
}

/* -- Poses in shared memory ------------------------------------------------------------------------------------------- */

DEVICE float3 place_of(const pelt_cuda_tensor &t, const float4 *pose) {
    float out[3];
#pragma unroll
    for (int i = 0; i < 3; i++) {
        float4 m = __ldg(pose + i);
        out[i] = m.x * t.middle.x + (m.y * t.middle.y + (m.z * t.middle.z + m.w));
    }
    return make_float3(out[0], out[1], out[2]);
}

/* vec4 i of a pose. */
template <int FORM>
DEVICE uint4 prepare(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const float4 *pose, uint32_t i, float3 place,
                     float2 per_scale) {
    float4 x = __ldg(pose + i);
    if (FORM == PELT_GPU_BLEND || 4 * i < k.n.at_row_factors) { /* a row of a joint's matrix */
        float at = i % 3 == 0 ? place.x : i % 3 == 1 ? place.y : place.z;
        x.w = t.per_size * (x.x * t.middle.x + (x.y * t.middle.y + (x.z * t.middle.z + (x.w - at))));
    } else if (FORM == PELT_GPU_WEIGHTED_SHORTS) {
        x.x = DISTANCE_PARTS * fmaxf(x.x, -FARTHEST), x.y = DISTANCE_PARTS * fmaxf(x.y, -FARTHEST);
        x.z = DISTANCE_PARTS * fmaxf(x.z, -FARTHEST), x.w = DISTANCE_PARTS * fmaxf(x.w, -FARTHEST);
    } else {
        float s = 4 * i < k.n.at_turn_factors || k.n.at_turn_factors == k.n.at_row_factors ? per_scale.x : per_scale.y;
        x.x *= s, x.y *= s, x.z *= s, x.w *= s;
    }
    return halves_of(x);
}

/* The extra vec4s of a character: scales of rows and turns; where it stands. */
template <int FORM, int T>
DEVICE void stage_poses(const pelt_cuda_call &k, const pelt_cuda_tensor &t, uint32_t first, uint32_t count, uint4 *to) {
    uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (uint32_t c = warp; c < k.shared; c += T / 32) {
        uint4 *own = to + c * t.stride;
        const float4 *pose = k.poses + (size_t)(first + c) * k.n.pose_stride;
        if (c >= count) {
            for (uint32_t i = lane; i < t.stride; i += 32) own[i] = make_uint4(0, 0, 0, 0);
            continue;
        }
        const float *scales = (const float *)pose + k.n.at_factor_scales;
        float2 scale = k.n.at_factor_scales ? make_float2(scales[0], scales[1]) : make_float2(0, 0);
        float2 per_scale = make_float2(scale.x > 0 ? 1 / scale.x : 0, scale.y > 0 ? 1 / scale.y : 0);
        float3 place = place_of(t, pose);
        for (uint32_t i = lane; i < k.own_vec4s; i += 32)
            own[TENSOR_EXTRA + i] = prepare<FORM>(k, t, pose, i, place, per_scale);
        if (lane == 0) {
            ((float4 *)own)[0] = make_float4(scale.x * t.per_size, scale.y, 0, 0);
            ((float4 *)own)[1] = make_float4(place.x, place.y, place.z, 0);
        }
    }
    __syncthreads();
}

/* -- Storing --------------------------------------------------------------------------------------------------------- */

/* Where a lane stores what: three of the 96 quads that a block's 48 floats of eight characters are. */
struct lane_quads {
    uint32_t character[3], from[3],
        to[3]; /* from: floats into the warp's shared memory; to: quads from the first character's */
};

DEVICE lane_quads quads_of(uint32_t lane, uint32_t blocks) {
    lane_quads q;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        uint32_t at = i * 32 + lane, quad = at % 12;
        q.character[i] = at / 12;
        q.from[i] = q.character[i] * TENSOR_STAGE_STRIDE + quad * 4;
        q.to[i] = q.character[i] * blocks * 12 + quad;
    }
    return q;
}

/* Eight characters' results of a block, by way of the warp's own shared memory. */
DEVICE void store_tile(float *stage, const float (&x)[3][4], float4 *to, const lane_quads &quads, uint32_t count,
                       uint32_t lane) {
    float *own = stage + 2 * (lane & 3) * TENSOR_STAGE_STRIDE + (lane >> 2) * 3;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) own[(i & 1) * TENSOR_STAGE_STRIDE + (i >> 1) * 24 + k] = x[k][i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (quads.character[i] < count) __stcs(to + quads.to[i], *(const float4 *)(stage + quads.from[i]));
}

/* -- A block --------------------------------------------------------------------------------------------------------- */

/* What a warp keeps of a block while it goes over characters. J: groups of joints, 0: more than are kept. FEW: at most
   so many groups of rows or axes, 0: more; what is not kept is read again every time. */
template <int FORM, int J, int FEW> struct kept {
    static constexpr bool basis = FEW > 0 && FORM == PELT_GPU_SHORTS,
                          weighted = FEW > 0 && FORM == PELT_GPU_WEIGHTED_SHORTS;
    tile_rows weights[J ? J : 1];
    uint32_t joints[J ? J : 1];
    tile_rows rows[basis ? FEW : 1][3];
    uint32_t sources[basis ? FEW : 1];
    tile_rows axis_weights[weighted ? FEW : 1];
    uint32_t axes[weighted ? FEW : 1];
};

/* One group of a list: the numbers of PARTS rows, and where in a pose the lane finds what they are multiplied by. */
template <int LIST, int PARTS>
DEVICE uint32_t read_group(const pelt_cuda_tensor &t, uint32_t group, uint32_t lane, tile_rows *out) {
    const uint2 *rows = (const uint2 *)(t.words + t.at_rows[LIST]);
#pragma unroll
    for (int i = 0; i < PARTS; i++) out[i] = rows_of(__ldg(rows + ((size_t)group * PARTS + i) * 32 + lane));
    return __ldg(t.words + t.at_sources[LIST] + TENSOR_GROUP * group + (lane & 3));
}

/* phi of four centres, the block's nth, for the vertices and characters of a lane. */
template <int FORM, int J, int FEW>
DEVICE void centers_of(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const kept<FORM, J, FEW> &kept,
                       const uint32_t *pose, uint32_t group, uint32_t nth, uint32_t first, uint32_t end, uint32_t lane,
                       float (&phi)[4][4]) {
    uint4 centers = make_uint4(4 * nth, 0, 0, 0);
    if (!t.regular) centers = four(k.skin + k.n.at_row_sources + 4 * group);
    bool together = t.regular || (!(centers.x & 3) && centers.y == centers.x + 1 && centers.z == centers.x + 2 &&
                                  centers.w == centers.x + 3);
    auto distances = [&](uint32_t axis) {
        if (together) return *(const uint4 *)(pose + axis + centers.x);
        return make_uint4(pose[axis + centers.x], pose[axis + centers.y], pose[axis + centers.z],
                          pose[axis + centers.w]);
    };
    if constexpr (FEW > 0) {
        multiply(phi, kept.axis_weights[0], distances(kept.axes[0]), true);
#pragma unroll
        for (int i = 1; i < FEW; i++)
            if (first + i < end) multiply(phi, kept.axis_weights[i], distances(kept.axes[i]), false);
    } else {
#pragma unroll
        for (int i = 0; i < 16; i++) phi[i >> 2][i & 3] = 0;
        for (uint32_t axes = first; axes < end; axes++) {
            tile_rows weights;
            uint32_t axis = read_group<TENSOR_AXES, 1>(t, axes, lane, &weights);
            multiply(phi, weights, distances(axis), false);
        }
    }
    float flat[16];
#pragma unroll
    for (int i = 0; i < 16; i++) flat[i] = phi[i >> 2][i & 3] * (1 / DISTANCE_PARTS);
    apply_phi(flat, k.phi);
#pragma unroll
    for (int i = 0; i < 16; i++) phi[i >> 2][i & 3] = flat[i];
}

/* sum += phi times one part of the rows of four centres: those of vertices g and g + 8. */
DEVICE void add_part(float (&sum)[4], const float (&phi)[4][4], float4 u, float4 v) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 of = i < 2 ? u : v;
        sum[i] += phi[0][i] * of.x + (phi[1][i] * of.y + (phi[2][i] * of.z + phi[3][i] * of.w));
    }
}

template <int FORM, int J, int FEW, int KIND>
DEVICE void weighted_tile(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const kept<FORM, J, FEW> &kept,
                          const uint32_t *pose, uint2 groups, float3 steps, uint4 head, uint4 next, uint32_t lane,
                          float (&p)[3][4], float (&n)[3][4]) {
    float sum[4][4] = {}, turn[KIND == TENSOR_TURNED ? 3 : 1][4] = {};
    for (uint32_t group = groups.x; group < groups.y; group++) {
        const float4 *at = (const float4 *)(t.words + t.at_centers) + (size_t)group * k.parts * 16 + (lane >> 2);
        float4 rows[3][2]; /* read before they are needed */
        float phi[4][4];
#pragma unroll
        for (int part = 0; part < 3; part++)
            rows[part][0] = __ldg(at + 16 * part), rows[part][1] = __ldg(at + 16 * part + 8);
        centers_of<FORM, J, FEW>(k, t, kept, pose, group, group - groups.x, head.w, next.w, lane, phi);
#pragma unroll
        for (int part = 0; part < 3; part++) add_part(sum[part], phi, rows[part][0], rows[part][1]);
        if (k.parts == 4) add_part(sum[3], phi, __ldg(at + 48), __ldg(at + 56));
        if constexpr (KIND == TENSOR_TURNED) {
            at = (const float4 *)(t.words + t.at_center_turns) + (size_t)group * 48 + (lane >> 2);
#pragma unroll
            for (int part = 0; part < 3; part++)
                add_part(turn[part], phi, __ldg(at + 16 * part), __ldg(at + 16 * part + 8));
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float guard = k.parts == 4 ? guard_of(sum[3][i] * steps.y) : 1;
#pragma unroll
        for (int part = 0; part < 3; part++) {
            p[part][i] += sum[part][i] * (guard * steps.x);
            if (KIND == TENSOR_TURNED) n[part][i] += turn[part][i] * (guard * steps.z);
        }
    }
}

/* x += scale times rows times the coefficients. */
DEVICE void add_rows(float (&sum)[3][4], const tile_rows (&rows)[3], uint32_t number, bool first) {
#pragma unroll
    for (int i = 0; i < 3; i++) {
        if (first)
            multiply_first(sum[i], rows[i], number);
        else
            multiply(sum[i], rows[i], number);
    }
}

DEVICE void add_scaled(float (&x)[3][4], const float (&sum)[3][4], float first, float second) {
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) x[k][i] += (i & 1 ? second : first) * sum[k][i];
}

template <int FORM, int KIND, int J, int FEW>
DEVICE void tensor_block(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const uint4 *poses, uint32_t first,
                         uint32_t count, uint32_t block, uint4 head, uint4 next, float *stage, const lane_quads &quads,
                         uint32_t lane) {
    const uint32_t g = lane >> 2, pair = 2 * (lane & 3);
    const uint32_t *rest_at = k.skin + k.n.at_rest + 48 * (size_t)block + g;
    const uint32_t *normal_at = k.skin + k.n.at_rest_normals + 48 * (size_t)block + g;
    constexpr bool NORMALS = KIND != TENSOR_POSITIONS;
    uint2 centers = make_uint2(0, 0); /* groups of four, first and end */
    float3 steps = make_float3(0, 0, 0);
    if (FORM == PELT_GPU_WEIGHTED_SHORTS) {
        const uint32_t *heads = k.skin + k.n.at_heads + 4 * (size_t)block + 1;
        uint4 words = four(k.skin + k.n.at_steps + 4 * block);
        centers = make_uint2(__ldg(heads), __ldg(heads + 4));
        steps = make_float3(__uint_as_float(words.x) * t.per_size, __uint_as_float(words.y), __uint_as_float(words.z));
    }
    const float middle[3] = {t.middle.x, t.middle.y, t.middle.z};
    float rest[3][2], rest_normal[3][2];
#pragma unroll
    for (int i = 0; i < 6; i++) {
        int part = i >> 1, v = i & 1;
        rest[part][v] = (__uint_as_float(__ldg(rest_at + 16 * part + 8 * v)) - middle[part]) * t.per_size;
        rest_normal[part][v] = NORMALS ? __uint_as_float(__ldg(normal_at + 16 * part + 8 * v)) : 0;
    }
    kept<FORM, J, FEW> kept;
#pragma unroll
    for (int i = 0; i < J; i++) kept.joints[i] = read_group<TENSOR_JOINTS, 1>(t, head.x + i, lane, &kept.weights[i]);
    if constexpr (FEW > 0 && FORM == PELT_GPU_SHORTS) {
#pragma unroll
        for (int i = 0; i < FEW; i++)
            if (head.y + i < next.y) kept.sources[i] = read_group<TENSOR_ROWS, 3>(t, head.y + i, lane, kept.rows[i]);
    }
    if constexpr (FEW > 0 && FORM == PELT_GPU_WEIGHTED_SHORTS) {
#pragma unroll
        for (int i = 0; i < FEW; i++)
            if (head.w + i < next.w)
                kept.axes[i] = read_group<TENSOR_AXES, 1>(t, head.w + i, lane, &kept.axis_weights[i]);
    }
#pragma unroll 1
    for (uint32_t c = 0; c < k.shared; c += TENSOR_CHARACTERS) {
        if (c >= count) break;
        const uint4 *pose = poses + (c + g) * t.stride; /* of the character whose numbers this lane hands in */
        const float4 *of_first = (const float4 *)(poses + (c + pair) * t.stride), /* those whose results it gets */
            *of_second = of_first + t.stride;
        float p[3][4], n[3][4], position[3][4], normal[3][4];
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) p[i][j] = rest[i][j >> 1], n[i][j] = rest_normal[i][j >> 1];
        if constexpr (FORM == PELT_GPU_SHORTS) {
            float sum[3][4] = {};
            float4 scale0 = of_first[0], scale1 = of_second[0];
            if constexpr (FEW > 0) {
                add_rows(sum, kept.rows[0], ((const uint32_t *)pose)[kept.sources[0]], true);
#pragma unroll
                for (int i = 1; i < FEW; i++)
                    if (head.y + i < next.y)
                        add_rows(sum, kept.rows[i], ((const uint32_t *)pose)[kept.sources[i]], false);
            } else {
                for (uint32_t group = head.y; group < next.y; group++) {
                    tile_rows rows[3];
                    uint32_t source = read_group<TENSOR_ROWS, 3>(t, group, lane, rows);
                    add_rows(sum, rows, ((const uint32_t *)pose)[source], false);
                }
            }
            add_scaled(p, sum, scale0.x, scale1.x);
            if constexpr (KIND == TENSOR_TURNED) {
                float turn[3][4] = {};
                for (uint32_t group = head.z; group < next.z; group++) {
                    tile_rows rows[3];
                    uint32_t source = read_group<TENSOR_TURNS, 3>(t, group, lane, rows);
                    add_rows(turn, rows, ((const uint32_t *)pose)[source], false);
                }
                add_scaled(n, turn, scale0.y, scale1.y);
            }
        }
        if constexpr (FORM == PELT_GPU_WEIGHTED_SHORTS)
            weighted_tile<FORM, J, FEW, KIND>(k, t, kept, (const uint32_t *)pose, centers, steps, head, next, lane, p,
                                              n);
        float4 place0 = of_first[1], place1 = of_second[1];
        const float place[2][3] = {{place0.x, place0.y, place0.z}, {place1.x, place1.y, place1.z}};
#pragma unroll
        for (int row = 0; row < 3; row++) {
            float m[4][4];
            if constexpr (J > 0) {
#pragma unroll
                for (int i = 0; i < J; i++) multiply(m, kept.weights[i], pose[kept.joints[i] + row], i == 0);
            } else {
#pragma unroll
                for (int i = 0; i < 16; i++) m[i >> 2][i & 3] = 0;
                for (uint32_t group = head.x; group < next.x; group++) {
                    tile_rows weights;
                    uint32_t joint = read_group<TENSOR_JOINTS, 1>(t, group, lane, &weights);
                    multiply(m, weights, pose[joint + row], false);
                }
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float moved = m[0][i] * p[0][i] + (m[1][i] * p[1][i] + (m[2][i] * p[2][i] + m[3][i]));
                position[row][i] = t.size * moved + place[i & 1][row];
                normal[row][i] = m[0][i] * n[0][i] + (m[1][i] * n[1][i] + m[2][i] * n[2][i]);
            }
        }
        if (NORMALS)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float x = normal[0][i], y = normal[1][i], z = normal[2][i];
                float scale = rsqrtf(x * x + (y * y + (z * z + 1e-30f)));
                normal[0][i] = x * scale, normal[1][i] = y * scale, normal[2][i] = z * scale;
            }
        size_t at = ((size_t)(first + c) * k.n.block_count + block) * 12;
        store_tile(stage, position, (float4 *)k.positions + at, quads, count - c, lane);
        if (NORMALS) store_tile(stage, normal, (float4 *)k.normals + at, quads, count - c, lane);
    }
}

template <int FORM> DEVICE bool is_few(uint4 head, uint4 next) {
    if (FORM == PELT_GPU_SHORTS) return next.y > head.y && next.y - head.y <= TENSOR_FEW;
    return next.w > head.w && next.w - head.w <= TENSOR_FEW;
}

template <int FORM, int KIND, int FEW>
DEVICE void tensor_joints(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const uint4 *poses, uint32_t first,
                          uint32_t count, uint32_t block, uint4 head, uint4 next, float *stage, const lane_quads &quads,
                          uint32_t lane) {
    uint32_t groups = next.x - head.x;
    if (groups == 1)
        tensor_block<FORM, KIND, 1, FEW>(k, t, poses, first, count, block, head, next, stage, quads, lane);
    else if (groups == 2)
        tensor_block<FORM, KIND, 2, FEW>(k, t, poses, first, count, block, head, next, stage, quads, lane);
    else
        tensor_block<FORM, KIND, 0, FEW>(k, t, poses, first, count, block, head, next, stage, quads, lane);
}

/* A work group for each multiprocessor. All blocks of the first k.shared characters, then of the next, are one row of work;
   each takes an equal part of it. */
template <int FORM, int KIND>
__global__ void __launch_bounds__(tensor_threads<KIND>) tensor_kernel(pelt_cuda_call k, pelt_cuda_tensor t) {
#if __CUDA_ARCH__ >= 800
    extern __shared__ uint4 tensor_memory[];
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float *stage = (float *)(tensor_memory + k.shared * t.stride) + warp * TENSOR_CHARACTERS * TENSOR_STAGE_STRIDE;
    const lane_quads quads = quads_of(lane, k.n.block_count);
    uint64_t all = (k.n.character_count + k.shared - 1) / k.shared * (uint64_t)k.n.block_count;
    uint64_t at = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    while (at < end) {
        uint32_t first = (uint32_t)(at / k.n.block_count) * k.shared,
                 count = min(k.shared, k.n.character_count - first);
        uint32_t begin = (uint32_t)(at % k.n.block_count),
                 stop = (uint32_t)min((uint64_t)k.n.block_count, begin + end - at);
        __syncthreads();
        stage_poses<FORM, tensor_threads<KIND>>(k, t, first, count, tensor_memory);
        for (uint32_t block = begin + warp; block < stop; block += tensor_threads<KIND> / 32) {
            uint4 head = four(t.words + 4 * block), next = four(t.words + 4 * block + 4);
            if (FORM == PELT_GPU_BLEND || is_few<FORM>(head, next))
                tensor_joints<FORM, KIND, TENSOR_FEW>(k, t, tensor_memory, first, count, block, head, next, stage,
                                                      quads, lane);
            else
                tensor_joints<FORM, KIND, 0>(k, t, tensor_memory, first, count, block, head, next, stage, quads, lane);
        }
        at += stop - begin;
    }
#endif
}
