/* cuda_tensor.cuh: the same equation on tensor cores, for crowds.

   A warp handles a block of 16 vertices for 8 characters at a time, one tile of m16n8k16: rows are vertices, columns
   are characters, and k is the summation: four joints, coefficients or axes, each as four products. Numbers are split
   into two halves, so that products have float precision:

       (a + a') (b + b') = a b + a b' + a' b + a' b'

   The blend sums matrices (12 tiles); points are transformed by them in floats. Halves have little range, so positions
   are relative to the centre of the mesh, in units of its size, and the character's position is added at the end, since
   weights sum to 1. */

#pragma once

#include "gpu/cuda_kernels.cuh"
#include <cuda_fp16.h>

enum {
    TENSOR_CHARACTERS = 8,   /* of a tile */
    TENSOR_BLOCKS = 8,       /* less is not worth it */
    TENSOR_FEW = 2,          /* groups of rows or axes that a warp can keep */
    TENSOR_GROUP = 4,        /* joints, coefficients or axes per tile */
    TENSOR_EXTRA = 8,        /* words before the factors of a character: its position, scales, and a 0 */
    TENSOR_STAGE_STRIDE = 52 /* floats from one character's 48 to the next, to avoid bank conflicts */
};

/* What is computed: positions; with normals; with normals that the corrective changes. */
enum { TENSOR_POSITIONS, TENSOR_NORMALS, TENSOR_TILTED };

/* Work partition: threads per work group, tiles of characters processed together, characters per work group (at most, a
   multiple of those), and whether to prefetch the next block. Tuned on an H200: more characters reuse more of each
   block's numbers, but write to more places at a time; more threads and prefetching need registers. */
template <int FORM, int KIND> struct tensor_cut {
    static constexpr bool weighted = FORM == PELT_GPU_WEIGHTED_SHORTS, basis = FORM == PELT_GPU_SHORTS;
    static constexpr bool ahead = !weighted && KIND != TENSOR_TILTED;
    static constexpr int threads = weighted || basis ? 384 : 512;
    static constexpr int tiles = weighted && KIND != TENSOR_TILTED ? 2 : 1;
    static constexpr uint32_t shared = !basis ? 32 : KIND == TENSOR_POSITIONS ? 40 : KIND == TENSOR_NORMALS ? 32 : 16;
};

/* Distances are stored scaled up, so that small ones keep their bits, and axis weights scaled down; beyond FARTHEST phi
   is 0. */
constexpr float DISTANCE_PARTS = 8, FARTHEST = 900;

/* Lists of a block. */
enum { TENSOR_JOINTS, TENSOR_ROWS, TENSOR_TILTS, TENSOR_AXES, TENSOR_LISTS };

/* A skin's numbers in tile layout: of a group of four, lane t holds the numbers of vertices g and g + 8, and the 32
   lanes (g, t) of a warp are contiguous. Short groups are padded with zeros.

   A character's matrices are three planes in shared memory, one per row, with a slot for each joint; its distances have
   one plane per four centres. Eight lanes read at once, four joints of two characters: the stride between characters is
   4 more than a multiple of 8 vec4s, and joints of the same group differ in their slots' last two bits, so that all
   eight use different banks. */
struct pelt_cuda_tensor {
    const uint32_t *words; /* [place + 1][4] the first group of each list of the block there; then */
    uint32_t at_blocks;    /* [place] its block: those with few groups come first */
    uint32_t few_blocks;
    uint32_t at_sources[TENSOR_LISTS]; /* [group][4] slots of joints and axes in a plane; word offsets of factors */
    uint32_t at_rows[TENSOR_LISTS]; /* [group][32][2] weights as two halves; rows, tilts: [group][3][32] two shorts */
    uint32_t at_places;             /* [vec4] of a pose: its offset in shared memory, or TENSOR_NOWHERE */
    uint32_t at_centers;            /* rows of the weighted form: [group of skin.glsl's][3][16][4] floats */
    uint32_t at_center_tilts;
    uint32_t regular;                 /* every block has all centres, in order */
    float3 middle;                    /* of the mesh */
    float size, per_size;             /* of the mesh; 0: tensor cores are not used */
    uint32_t joint_plane, axis_plane; /* vec4s */
    uint32_t stride;                  /* vec4s per character: planes */
    uint32_t number_stride;           /* words per character: extras and factors */
};

constexpr uint32_t TENSOR_NOWHERE = ~0u;

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

/* sum (+)= rows times one number of each character. sum[0], sum[1]: vertex g, characters 2t and 2t + 1; then vertex g +
   8. The first product of a sum needs no zeros. */
DEVICE void multiply(float (&sum)[4], const tile_rows &rows, uint32_t number) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%8}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(rows.high[0]), "r"(rows.high[1]), "r"(rows.low[0]), "r"(rows.low[1]), "r"(number));
#endif
}

DEVICE void multiply_first(float (&sum)[4], const tile_rows &rows, uint32_t number) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%8}, {%9,%9,%9,%9};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(rows.high[0]), "r"(rows.high[1]), "r"(rows.low[0]), "r"(rows.low[1]), "r"(number), "f"(0.f));
#endif
}

/* sum += rows, still as words, times one number. */
DEVICE void multiply(float (&sum)[4], uint2 rows, uint32_t high, uint32_t low, bool first) {
#if __CUDA_ARCH__ >= 800
    if (first)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%6,%7}, {%8,%8,%8,%8};"
            : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
            : "r"(rows.x), "r"(rows.y), "r"(high), "r"(low), "f"(0.f));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%6,%7}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(rows.x), "r"(rows.y), "r"(high), "r"(low));
#endif
}

/* Four sums at once: the products with a vec4 of each character. */
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
    REPEAT (i, 3) {
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
        float s = 4 * i < k.n.at_tilt_factors || k.n.at_tilt_factors == k.n.at_row_factors ? per_scale.x : per_scale.y;
        x.x *= s, x.y *= s, x.z *= s, x.w *= s;
    }
    return halves_of(x);
}

/* A character's extras: its position and the scale of its rows; the scale of its turns. */
template <int FORM, int T>
DEVICE void stage_poses(const pelt_cuda_call &k, const pelt_cuda_tensor &t, uint32_t first, uint32_t count,
                        uint4 *poses, uint32_t *numbers) {
    uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (uint32_t c = warp; c < k.shared; c += T / 32) {
        uint4 *own = poses + c * t.stride;
        uint32_t *own_numbers = numbers + c * t.number_stride;
        const float4 *pose = k.poses + (size_t)(first + c) * k.n.pose_stride;
        if (c >= count) {
            for (uint32_t i = lane; i < t.stride; i += 32) own[i] = make_uint4(0, 0, 0, 0);
            for (uint32_t i = lane; i < t.number_stride; i += 32) own_numbers[i] = 0;
            continue;
        }
        const float *scales = (const float *)pose + k.n.at_factor_scales;
        float2 scale = k.n.at_factor_scales ? make_float2(scales[0], scales[1]) : make_float2(0, 0);
        float2 per_scale = make_float2(scale.x > 0 ? 1 / scale.x : 0, scale.y > 0 ? 1 / scale.y : 0);
        float3 place = place_of(t, pose);
        for (uint32_t i = lane; i < k.own_vec4s; i += 32) {
            uint32_t to = __ldg(t.words + t.at_places + i);
            if (to == TENSOR_NOWHERE) continue;
            uint4 x = prepare<FORM>(k, t, pose, i, place, per_scale);
            if (FORM == PELT_GPU_SHORTS && 4 * i >= k.n.at_row_factors)
                *(uint4 *)(own_numbers + to) = x;
            else
                own[to] = x;
        }
        if (lane == 0) {
            ((float4 *)own_numbers)[0] = make_float4(place.x, place.y, place.z, scale.x * t.per_size);
            ((float4 *)own_numbers)[1] = make_float4(scale.y, 0, 0, 0);
        }
    }
    __syncthreads();
}

/* -- Storing --------------------------------------------------------------------------------------------------------- */

/* A warp's results for a block and eight characters go through shared memory, 48 floats per character: 96 quads, three
   per lane. The first two are from the first eight quads of characters c and c + 4, the last one from the last four of
   character d, so that lanes that read together use different banks. */
struct lane_quads {
    uint32_t c, d;
    uint32_t from, last_from; /* floats into the warp's shared memory */
    uint32_t to, last_to;     /* quads from the first character's */
};

DEVICE lane_quads quads_of(uint32_t lane, uint32_t blocks) {
    lane_quads q;
    q.c = lane / 8, q.d = lane / 8 + lane % 8 / 4 * 4;
    q.from = q.c * TENSOR_STAGE_STRIDE + lane % 8 * 4, q.last_from = q.d * TENSOR_STAGE_STRIDE + 32 + lane % 4 * 4;
    q.to = q.c * blocks * 12 + lane % 8, q.last_to = q.d * blocks * 12 + 8 + lane % 4;
    return q;
}

/* Coordinate k of a lane's four results. */
DEVICE void put(float *stage, const float (&x)[4], int k, uint32_t lane) {
    float *own = stage + 2 * (lane & 3) * TENSOR_STAGE_STRIDE + (lane >> 2) * 3 + k;
    own[0] = x[0], own[TENSOR_STAGE_STRIDE] = x[1], own[24] = x[2], own[TENSOR_STAGE_STRIDE + 24] = x[3];
}

/* After all have put: stores the results of `count` characters, at most eight. */
DEVICE void store_tile(const float *stage, float4 *to, const lane_quads &q, uint32_t blocks, uint32_t count) {
    __syncwarp();
    if (q.c < count) __stcs(to + q.to, *(const float4 *)(stage + q.from));
    if (q.c + 4 < count) __stcs(to + 48 * blocks + q.to, *(const float4 *)(stage + 4 * TENSOR_STAGE_STRIDE + q.from));
    if (q.d < count) __stcs(to + q.last_to, *(const float4 *)(stage + q.last_from));
}

/* -- A block --------------------------------------------------------------------------------------------------------- */

/* What a warp keeps of a block while iterating over characters. J: groups of joints, 0: more than can be kept. FEW: the
   largest number of groups of rows or axes, 0: more; what is not kept is read again every time. */
template <int FORM, int J, int FEW> struct kept {
    static constexpr bool basis = FEW > 0 && FORM == PELT_GPU_SHORTS,
                          weighted = FEW > 0 && FORM == PELT_GPU_WEIGHTED_SHORTS;
    tile_rows weights[J ? J : 1];
    uint32_t joints[J ? J : 1];
    uint2 rows[basis ? FEW : 1][3];
    uint32_t sources[basis ? FEW : 1];
    tile_rows axis_weights[weighted ? FEW : 1];
    uint32_t axes[weighted ? FEW : 1];
};

/* The offset in a pose of what a list's group is multiplied by. */
template <int LIST> DEVICE uint32_t read_source(const pelt_cuda_tensor &t, uint32_t group, uint32_t lane) {
    return __ldg(t.words + t.at_sources[LIST] + TENSOR_GROUP * group + (lane & 3));
}

/* The weights of a group of joints or axes. */
template <int LIST> DEVICE uint2 read_weights(const pelt_cuda_tensor &t, uint32_t group, uint32_t lane) {
    return __ldg((const uint2 *)(t.words + t.at_rows[LIST]) + 32 * (size_t)group + lane);
}

/* The numbers of a group of rows: each word has those of vertices g and g + 8. */
template <int LIST>
DEVICE void read_shorts(const pelt_cuda_tensor &t, uint32_t group, uint32_t lane, uint32_t (&out)[3]) {
    const uint32_t *rows = t.words + t.at_rows[LIST] + 96 * (size_t)group + lane;
    REPEAT (i, 3) out[i] = __ldg(rows + 32 * i);
}

/* Two shorts as two halves each: a multiple of 64, and the remainder. The half 1024 + x has x < 1024 in its last
   bits. */
DEVICE uint2 halves_of_shorts(uint32_t x) {
    constexpr uint32_t thousand = 0x64006400;
    uint32_t high = thousand | ((x ^ 0x80008000) >> 6 & 0x03ff03ff), low = thousand | (x & 0x003f003f);
    __half2 tall = __hmul2(__hsub2(*(__half2 *)&high, __float2half2_rn(1536)), __float2half2_rn(64)),
            small = __hsub2(*(__half2 *)&low, __float2half2_rn(1024));
    high = *(uint32_t *)&tall, low = *(uint32_t *)&small;
    return make_uint2(__byte_perm(high, low, 0x5410), __byte_perm(high, low, 0x7632));
}

/* Four centres of a block. */
struct tile_centers {
    uint4 of;
    bool together;
};

DEVICE tile_centers centers_of(const pelt_cuda_call &k, const pelt_cuda_tensor &t, uint32_t group, uint32_t nth) {
    if (t.regular) return {make_uint4(4 * nth, 0, 0, 0), true};
    uint4 of = four(k.skin + k.n.at_row_sources + 4 * group);
    return {of, !(of.x & 3) && of.y == of.x + 1 && of.z == of.x + 2 && of.w == of.x + 3};
}

template <class PHI> DEVICE void apply(float (&x)[4][4], PHI phi) {
    REPEAT (i, 16) x[i >> 2][i & 3] = phi(x[i >> 2][i & 3]);
}

/* x = phi(x), where x <= 0 up to rounding; branches on phi only once. */
DEVICE void apply_phi(float (&x)[4][4], uint32_t phi) {
    if (phi == 1)
        apply(x, [](float d) { return power_of_two(d); });
    else if (phi == 0)
        apply(x, [](float d) { return power_of_two(-square_root(fabsf(d))); });
    else
        apply(x, [](float d) {
            return 0.97f * power_of_two(d) + 0.03f * power_of_two(-1.6986436f * square_root(fabsf(d)));
        });
}

/* phi of four centres, for the vertices and characters of a lane. */
template <int J, int FEW>
DEVICE void phi_of(const pelt_cuda_call &k, const pelt_cuda_tensor &t,
                   const kept<PELT_GPU_WEIGHTED_SHORTS, J, FEW> &kept, const uint4 *planes, const tile_centers &centers,
                   uint32_t first, uint32_t end, uint32_t lane, float (&phi)[4][4]) {
    auto distances = [&](uint32_t axis) {
        uint4 of = centers.of;
        if (centers.together) return planes[axis + (of.x >> 2) * t.axis_plane];
        const uint32_t *words = (const uint32_t *)(planes + axis), plane = 4 * t.axis_plane;
        return make_uint4(words[(of.x >> 2) * plane + (of.x & 3)], words[(of.y >> 2) * plane + (of.y & 3)],
                          words[(of.z >> 2) * plane + (of.z & 3)], words[(of.w >> 2) * plane + (of.w & 3)]);
    };
    if constexpr (FEW > 0) {
        multiply(phi, kept.axis_weights[0], distances(kept.axes[0]), true);
#pragma unroll
        for (int i = 1; i < FEW; i++)
            if (first + i < end) multiply(phi, kept.axis_weights[i], distances(kept.axes[i]), false);
    } else {
        REPEAT (i, 16) phi[i >> 2][i & 3] = 0;
        for (uint32_t axes = first; axes < end; axes++) {
            multiply(phi, rows_of(read_weights<TENSOR_AXES>(t, axes, lane)),
                     distances(read_source<TENSOR_AXES>(t, axes, lane)), false);
        }
    }
    apply_phi(phi, k.phi);
}

/* sum += phi times one part of the rows of four centres: those of vertices g and g + 8. */
DEVICE void add_part(float (&sum)[4], const float (&phi)[4][4], float4 u, float4 v) {
    REPEAT (i, 4) {
        float4 of = i < 2 ? u : v;
        sum[i] += phi[0][i] * of.x + (phi[1][i] * of.y + (phi[2][i] * of.z + phi[3][i] * of.w));
    }
}

/* TILES tiles of characters, so that rows are read once for all. */
template <int KIND, int TILES, int J, int FEW>
DEVICE void weighted_tiles(const pelt_cuda_call &k, const pelt_cuda_tensor &t,
                           const kept<PELT_GPU_WEIGHTED_SHORTS, J, FEW> &kept, const uint4 *planes, uint32_t block,
                           uint4 head, uint4 next, uint32_t lane, float (&p)[TILES][3][4], float (&n)[TILES][3][4]) {
    const uint32_t *heads = k.skin + k.n.at_heads + 4 * (size_t)block + 1;
    const uint32_t first = __ldg(heads), end = __ldg(heads + 4); /* groups of four centres */
    const uint4 words = four(k.skin + k.n.at_steps + 4 * block);
    const float2 steps = make_float2(__uint_as_float(words.x) * t.per_size, __uint_as_float(words.z));
    constexpr bool TILTED = KIND == TENSOR_TILTED;
    float sum[TILES][3][4] = {}, tilt[TILTED ? TILES : 1][3][4] = {};
#pragma unroll 1
    for (uint32_t group = first; group < end; group++) {
        const float4 *at = (const float4 *)(t.words + t.at_centers) + (size_t)group * 48 + (lane >> 2),
                     *tilts = (const float4 *)(t.words + t.at_center_tilts) + (size_t)group * 48 + (lane >> 2);
        float4 rows[3][2]; /* prefetched */
        REPEAT (part, 3) rows[part][0] = __ldg(at + 16 * part), rows[part][1] = __ldg(at + 16 * part + 8);
        tile_centers centers = centers_of(k, t, group, group - first);
        REPEAT (tile, TILES) {
            float phi[4][4];
            phi_of(k, t, kept, planes + tile * TENSOR_CHARACTERS * t.stride, centers, head.w, next.w, lane, phi);
            REPEAT (part, 3) add_part(sum[tile][part], phi, rows[part][0], rows[part][1]);
            if constexpr (TILTED)
                REPEAT (part, 3)
                    add_part(tilt[tile][part], phi, __ldg(tilts + 16 * part), __ldg(tilts + 16 * part + 8));
        }
    }
    REPEAT (i, 4 * TILES) {
        int tile = i / 4, j = i % 4;
        REPEAT (part, 3) {
            p[tile][part][j] += sum[tile][part][j] * steps.x;
            if (TILTED) n[tile][part][j] += tilt[TILTED ? tile : 0][part][j] * steps.y;
        }
    }
}

/* sum (+)= rows times the coefficients. */
DEVICE void add_rows(float (&sum)[3][4], const uint2 (&rows)[3], uint32_t number, bool first) {
    uint32_t high = __byte_perm(number, 0, 0x1010), low = __byte_perm(number, 0, 0x3232);
    REPEAT (i, 3) multiply(sum[i], rows[i], high, low, first);
}

template <int LIST>
DEVICE void add_groups(const pelt_cuda_tensor &t, uint32_t first, uint32_t end, const uint32_t *numbers, uint32_t lane,
                       float (&sum)[3][4]) {
    for (uint32_t group = first; group < end; group++) {
        uint32_t shorts[3];
        read_shorts<LIST>(t, group, lane, shorts);
        const uint2 rows[3] = {halves_of_shorts(shorts[0]), halves_of_shorts(shorts[1]), halves_of_shorts(shorts[2])};
        add_rows(sum, rows, numbers[read_source<LIST>(t, group, lane)], false);
    }
}

DEVICE void add_scaled(float (&x)[3][4], const float (&sum)[3][4], float first, float second) {
    REPEAT (k, 3)
        REPEAT (i, 4) x[k][i] += (i & 1 ? second : first) * sum[k][i];
}

/* A block at rest: vertices g and g + 8, relative to the mesh's centre and size. */
struct tile_rest {
    float position[3][2], normal[3][2];
};

DEVICE tile_rest read_rest(const pelt_cuda_call &k, const pelt_cuda_tensor &t, uint32_t block, uint32_t g,
                           bool normals) {
    const uint32_t *at = k.skin + k.n.at_rest + 48 * (size_t)block + g,
                   *normals_at = k.skin + k.n.at_rest_normals + 48 * (size_t)block + g;
    const float middle[3] = {t.middle.x, t.middle.y, t.middle.z};
    tile_rest out;
    REPEAT (i, 6) {
        int part = i >> 1, v = i & 1;
        out.position[part][v] = (__uint_as_float(__ldg(at + 16 * part + 8 * v)) - middle[part]) * t.per_size;
        out.normal[part][v] = normals ? __uint_as_float(__ldg(normals_at + 16 * part + 8 * v)) : 0;
    }
    return out;
}

/* A block, and the ranges of its lists. */
struct tensor_place {
    uint32_t block;
    uint4 head, next;
};

DEVICE tensor_place place_at(const pelt_cuda_tensor &t, uint32_t place) {
    const uint4 *heads = (const uint4 *)t.words + place;
    return {__ldg(t.words + t.at_blocks + place), __ldg(heads), __ldg(heads + 1)};
}

/* What is prefetched of a block whose lists a warp keeps, if registers allow. */
template <int FORM> struct fetched {
    tile_rest rest;
    uint2 weights; /* of the first group of joints */
    uint32_t joints;
    uint32_t rows[FORM == PELT_GPU_SHORTS ? TENSOR_FEW : 1][3];
    uint32_t sources[FORM == PELT_GPU_SHORTS ? TENSOR_FEW : 1];
};

template <int FORM, int KIND>
DEVICE void fetch(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const tensor_place &of, uint32_t lane,
                  fetched<FORM> &out) {
    const uint4 head = of.head, next = of.next;
    out.rest = read_rest(k, t, of.block, lane >> 2, KIND != TENSOR_POSITIONS);
    out.weights = read_weights<TENSOR_JOINTS>(t, head.x, lane),
    out.joints = read_source<TENSOR_JOINTS>(t, head.x, lane);
    if constexpr (FORM == PELT_GPU_SHORTS)
        REPEAT (i, TENSOR_FEW) {
            bool there = head.y + i < next.y;
            out.sources[i] = TENSOR_EXTRA - 1, out.rows[i][0] = out.rows[i][1] = out.rows[i][2] = 0;
            if (there) read_shorts<TENSOR_ROWS>(t, head.y + i, lane, out.rows[i]);
            if (there) out.sources[i] = read_source<TENSOR_ROWS>(t, head.y + i, lane);
        }
}

template <int FORM, int J, int FEW>
DEVICE void keep(const pelt_cuda_tensor &t, uint4 head, uint4 next, uint32_t lane, const fetched<FORM> &from,
                 kept<FORM, J, FEW> &out) {
    REPEAT (i, J) {
        bool there = head.x + i < next.x;
        out.joints[i] =
            FEW && (!i || !there) ? from.joints : read_source<TENSOR_JOINTS>(t, head.x + (there ? i : 0), lane);
        out.weights[i] = FEW && !i ? rows_of(from.weights) : tile_rows{};
        if ((!FEW || i) && there) out.weights[i] = rows_of(read_weights<TENSOR_JOINTS>(t, head.x + i, lane));
    }
    if constexpr (FEW > 0 && FORM == PELT_GPU_SHORTS)
        REPEAT (i, FEW) {
            out.sources[i] = from.sources[i];
            REPEAT (part, 3) out.rows[i][part] = halves_of_shorts(from.rows[i][part]);
        }
    if constexpr (FEW > 0 && FORM == PELT_GPU_WEIGHTED_SHORTS)
        REPEAT (i, FEW)
            if (head.w + i < next.w) {
                out.axes[i] = read_source<TENSOR_AXES>(t, head.w + i, lane);
                out.axis_weights[i] = rows_of(read_weights<TENSOR_AXES>(t, head.w + i, lane));
            }
}

/* Adds a basis to the points and normals of a tile. numbers: of the character the lane provides, and of the two whose
   results it gets. */
template <int KIND, int J, int FEW>
DEVICE void basis_tile(const pelt_cuda_tensor &t, const kept<PELT_GPU_SHORTS, J, FEW> &kept, const uint32_t *numbers,
                       const float4 *first, const float4 *second, uint4 head, uint4 next, uint32_t lane,
                       float (&p)[3][4], float (&n)[3][4]) {
    float sum[3][4] = {};
    if constexpr (FEW > 0) {
        add_rows(sum, kept.rows[0], numbers[kept.sources[0]], true);
#pragma unroll
        for (int i = 1; i < FEW; i++)
            if (head.y + i < next.y) add_rows(sum, kept.rows[i], numbers[kept.sources[i]], false);
    } else {
        add_groups<TENSOR_ROWS>(t, head.y, next.y, numbers, lane, sum);
    }
    add_scaled(p, sum, first[0].w, second[0].w);
    if constexpr (KIND == TENSOR_TILTED) {
        float tilt[3][4] = {};
        add_groups<TENSOR_TILTS>(t, head.z, next.z, numbers, lane, tilt);
        add_scaled(n, tilt, first[1].x, second[1].x);
    }
}

/* One row of the blended matrices. */
template <int FORM, int J, int FEW>
DEVICE void blended_row(const pelt_cuda_tensor &t, const kept<FORM, J, FEW> &kept, const uint4 *plane, uint4 head,
                        uint4 next, uint32_t lane, float (&m)[4][4]) {
    if constexpr (J > 0) {
        REPEAT (i, J) multiply(m, kept.weights[i], plane[kept.joints[i]], i == 0);
    } else {
        REPEAT (i, 16) m[i >> 2][i & 3] = 0;
        for (uint32_t group = head.x; group < next.x; group++) {
            multiply(m, rows_of(read_weights<TENSOR_JOINTS>(t, group, lane)),
                     plane[read_source<TENSOR_JOINTS>(t, group, lane)], false);
        }
    }
}

DEVICE void normalize(float (&x)[3][4]) {
    REPEAT (i, 4) {
        float scale = rsqrtf(x[0][i] * x[0][i] + (x[1][i] * x[1][i] + (x[2][i] * x[2][i] + 1e-30f)));
        x[0][i] *= scale, x[1][i] *= scale, x[2][i] *= scale;
    }
}

/* A warp's work. */
struct tensor_warp {
    const uint4 *poses; /* planes of the work group's characters */
    const uint32_t *numbers;
    uint32_t first, count; /* characters */
    float *stage;
    uint32_t lane;
};

template <int FORM, int KIND, int J, int FEW>
DEVICE void tensor_block(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const tensor_warp &warp,
                         const lane_quads &quads, const tensor_place &own, const tensor_place &later,
                         fetched<FORM> &ahead) {
    constexpr int TILES = tensor_cut<FORM, KIND>::tiles;
    constexpr bool NORMALS = KIND != TENSOR_POSITIONS;
    const uint32_t lane = warp.lane, g = lane >> 2, pair = 2 * (lane & 3);
    const uint32_t block = own.block;
    const uint4 head = own.head, next = own.next;
    if (FEW && !tensor_cut<FORM, KIND>::ahead) fetch<FORM, KIND>(k, t, own, lane, ahead);
    const tile_rest rest = FEW ? ahead.rest : read_rest(k, t, block, g, NORMALS);
    kept<FORM, J, FEW> kept;
    keep(t, head, next, lane, ahead, kept);
    if (FEW && tensor_cut<FORM, KIND>::ahead) fetch<FORM, KIND>(k, t, later, lane, ahead);
#pragma unroll 1
    for (uint32_t begin = 0; begin < warp.count; begin += TENSOR_CHARACTERS * TILES) {
        float p[TILES][3][4], n[TILES][3][4];
        REPEAT (i, 12 * TILES) {
            int tile = i / 12, part = i / 4 % 3, j = i % 4;
            p[tile][part][j] = rest.position[part][j >> 1], n[tile][part][j] = rest.normal[part][j >> 1];
        }
        if constexpr (FORM == PELT_GPU_WEIGHTED_SHORTS)
            weighted_tiles<KIND, TILES>(k, t, kept, warp.poses + (begin + g) * t.stride, block, head, next, lane, p, n);
        REPEAT (tile, TILES) {
            const uint32_t c = begin + tile * TENSOR_CHARACTERS, left = warp.count - c;
            if (tile && c >= warp.count) break;
            const uint4 *planes = warp.poses + (c + g) * t.stride; /* of the character this lane provides */
            const float4 *first =
                             (const float4 *)(warp.numbers + (c + pair) * t.number_stride), /* of those whose results it
                                                                                               gets */
                *second = first + t.number_stride / 4;
            if constexpr (FORM == PELT_GPU_SHORTS)
                basis_tile<KIND>(t, kept, warp.numbers + (c + g) * t.number_stride, first, second, head, next, lane,
                                 p[tile], n[tile]);
            const float place[2][3] = {{first->x, first->y, first->z}, {second->x, second->y, second->z}};
            float normal[3][4];
            __syncwarp();
            REPEAT (row, 3) {
                const float(*x)[4] = p[tile], (*y)[4] = n[tile];
                float m[4][4], position[4];
                blended_row(t, kept, planes + row * t.joint_plane, head, next, lane, m);
                REPEAT (i, 4) {
                    float moved = m[0][i] * x[0][i] + (m[1][i] * x[1][i] + (m[2][i] * x[2][i] + m[3][i]));
                    position[i] = t.size * moved + place[i & 1][row];
                    normal[row][i] = m[0][i] * y[0][i] + (m[1][i] * y[1][i] + m[2][i] * y[2][i]);
                }
                put(warp.stage, position, row, lane);
            }
            size_t at = ((size_t)(warp.first + c) * k.n.block_count + block) * 12;
            store_tile(warp.stage, (float4 *)k.positions + at, quads, k.n.block_count, left);
            if (NORMALS) {
                normalize(normal);
                __syncwarp();
                REPEAT (row, 3) put(warp.stage, normal[row], row, lane);
                store_tile(warp.stage, (float4 *)k.normals + at, quads, k.n.block_count, left);
            }
        }
    }
}

/* A warp's share of the blocks from `place` on. FEW: those whose lists are kept. */
template <int FORM, int KIND, bool FEW>
DEVICE void tensor_blocks(const pelt_cuda_call &k, const pelt_cuda_tensor &t, const tensor_warp &warp,
                          const lane_quads &quads, uint32_t place, uint32_t stop, uint32_t step) {
    if (place >= stop) return;
    constexpr bool weighted = FORM == PELT_GPU_WEIGHTED_SHORTS, fetches = FEW && tensor_cut<FORM, KIND>::ahead;
    fetched<FORM> ahead;
    tensor_place own = place_at(t, place), later = own;
    if (fetches) fetch<FORM, KIND>(k, t, own, warp.lane, ahead), later = place_at(t, min(place + step, stop - 1));
    for (; place < stop; place += step) {
        const tensor_place latest = place_at(t, min(place + (fetches ? 2 : 1) * step, stop - 1)); /* prefetched */
        const uint32_t joints = own.next.x - own.head.x, axes = own.next.w - own.head.w;
        if (FEW && joints == 1 && (!weighted || axes == 1))
            tensor_block<FORM, KIND, 1, weighted ? 1 : TENSOR_FEW>(k, t, warp, quads, own, later, ahead);
        else if (FEW)
            tensor_block<FORM, KIND, 2, TENSOR_FEW>(k, t, warp, quads, own, later, ahead);
        else if (FORM != PELT_GPU_BLEND && joints && joints <= 2)
            tensor_block<FORM, KIND, 2, 0>(k, t, warp, quads, own, later, ahead);
        else
            tensor_block<FORM, KIND, 0, 0>(k, t, warp, quads, own, later, ahead);
        own = fetches ? later : latest, later = latest;
    }
}

/* One work group per multiprocessor. All blocks of the first k.shared characters, then of the next, form one queue;
   each work group takes an equal part. The weighted form has no norm here. */
template <int FORM, int KIND>
__global__ void __launch_bounds__(tensor_cut<FORM, KIND>::threads) tensor_kernel(pelt_cuda_call k, pelt_cuda_tensor t) {
#if __CUDA_ARCH__ >= 800
    constexpr int T = tensor_cut<FORM, KIND>::threads, WARPS = T / 32;
    extern __shared__ uint4 tensor_memory[];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, blocks = k.n.block_count;
    uint32_t *numbers = (uint32_t *)(tensor_memory + k.shared * t.stride);
    float *stage = (float *)(numbers + k.shared * t.number_stride) + warp * TENSOR_CHARACTERS * TENSOR_STAGE_STRIDE;
    const lane_quads quads = quads_of(lane, blocks);
    const uint64_t all = (k.n.character_count + k.shared - 1) / k.shared * (uint64_t)blocks;
    uint64_t at = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
    while (at < end) {
        uint32_t first = (uint32_t)(at / blocks) * k.shared, begin = (uint32_t)(at % blocks);
        uint32_t stop = (uint32_t)min((uint64_t)blocks, begin + end - at),
                 count = min(k.shared, k.n.character_count - first);
        at += stop - begin;
        __syncthreads();
        stage_poses<FORM, T>(k, t, first, count, tensor_memory, numbers);
        const tensor_warp own = {tensor_memory, numbers, first, count, stage, lane};
        tensor_blocks<FORM, KIND, true>(k, t, own, quads, begin + warp, min(stop, t.few_blocks), WARPS);
        tensor_blocks<FORM, KIND, false>(k, t, own, quads, max(begin, t.few_blocks) + warp, stop, WARPS);
    }
#endif
}
