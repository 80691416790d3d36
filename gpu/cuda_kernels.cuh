/* cuda_kernels.cuh: skin.glsl's equation as CUDA kernels, over the same words.

   A thread handles V vertices of a block, 4, and C characters at a time, so that what it reads of the skin serves all
   of them. A work group keeps the poses of `shared` characters in shared memory; results also go through shared memory,
   so that a warp stores whole cache lines. */

#pragma once

extern "C" {
#include "gpu/pack.h"
}

#define DEVICE static __device__ __forceinline__
/* A loop over 0 .. count - 1 that the compiler unrolls. */
#define REPEAT(i, count) _Pragma("unroll") for (int i = 0; i < (count); i++)

struct pelt_cuda_call {
    pelt_gpu_numbers n;
    const uint32_t *skin;
    const float4 *poses;
    float *positions, *normals;
    uint32_t shared;    /* characters per work group */
    uint32_t own_vec4s; /* of a pose in shared memory */
    uint32_t passes;    /* over blocks */
    uint32_t phi, parts, tilts;
};

/* What is computed. */
enum { PELT_POSITIONS, PELT_BOTH, PELT_SCALED };

/* -- Reading skins and poses
   ---------------------------------------------------------------------------------------- */

template <int V> DEVICE void words(const uint32_t *at, uint32_t (&x)[V]) {
    if constexpr (V == 4) {
        uint4 t = __ldg((const uint4 *)at);
        x[0] = t.x, x[1] = t.y, x[2] = t.z, x[3] = t.w;
    } else {
        x[0] = __ldg(at);
    }
}

template <int V> DEVICE void floats(const uint32_t *at, float (&x)[V]) {
    uint32_t u[V];
    words<V>(at, u);
    REPEAT (v, V) x[v] = __uint_as_float(u[v]);
}

DEVICE uint4 four(const uint32_t *at) { return __ldg((const uint4 *)at); }

/* One character's pose, in either memory. */
DEVICE const float4 *pose_of(const float4 *poses, uint32_t stride, int c) { return poses + c * stride; }

DEVICE float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float square_root(float x) {
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* -- The corrective -------------------------------------------------------------------------------------------------- */

template <int V, int C>
DEVICE void add_floats(float (&sum)[C][3][V], const float4 *poses, uint32_t stride, uint32_t first, uint32_t end,
                       const uint32_t *sources, const uint32_t *rows, uint32_t factors) {
    for (uint32_t r = first; r < end; r++) {
        float u[3][V];
        uint32_t source = factors + __ldg(sources + r);
        REPEAT (i, 3) floats<V>(rows + 48 * (size_t)r + 16 * i, u[i]);
        REPEAT (c, C) {
            float a = ((const float *)pose_of(poses, stride, c))[source];
            REPEAT (i, 3)
                REPEAT (v, V) sum[c][i][v] += a * u[i][v];
        }
    }
}

template <int V, int C>
DEVICE void add_shorts(float (&sum)[C][3][V], const float4 *poses, uint32_t stride, uint32_t first, uint32_t end,
                       const uint32_t *sources, const uint32_t *rows, uint32_t factors) {
    for (uint32_t r = first; r < end; r++) {
        float low[3][V], high[3][V];
        uint32_t source = factors + __ldg(sources + r);
        REPEAT (i, 3) {
            uint32_t u[V];
            words<V>(rows + 48 * (size_t)r + 16 * i, u);
            REPEAT (v, V) low[i][v] = (float)(int16_t)u[v], high[i][v] = (float)((int32_t)u[v] >> 16);
        }
        REPEAT (c, C) {
            float2 a = *(const float2 *)((const float *)pose_of(poses, stride, c) + source);
            REPEAT (i, 3)
                REPEAT (v, V) sum[c][i][v] += a.x * low[i][v] + a.y * high[i][v];
        }
    }
}

/* x = phi(x) for all elements; branches on phi only once. */
template <int N> DEVICE void apply_phi(float (&x)[N], uint32_t phi) {
    if (phi == 1) {
        REPEAT (i, N) x[i] = power_of_two(x[i]);
    } else if (phi == 0) {
        REPEAT (i, N) x[i] = power_of_two(-square_root(fmaxf(-x[i], 0)));
    } else {
        REPEAT (i, N) {
            float root = square_root(fmaxf(-x[i], 0));
            x[i] = 0.97f * power_of_two(x[i]) + 0.03f * power_of_two(-1.6986436f * root);
        }
    }
}

DEVICE float4 distances(const float4 *pose, uint32_t axis, uint4 centers, bool together) {
    const float *d = (const float *)pose + axis;
    if (together) return *(const float4 *)(d + centers.x);
    return make_float4(d[centers.x], d[centers.y], d[centers.z], d[centers.w]);
}

/* sum[part] += phi times one part of the rows of four centres, `stride` words apart. */
template <int V, int C, bool SHORTS>
DEVICE void add_centers(const float (&q)[C][4][V], const uint32_t *at, uint32_t stride, float (&sum)[C][4][V],
                        int part) {
    float u[4][V];
    REPEAT (k, SHORTS ? 2 : 4) {
        uint32_t w[V];
        words<V>(at + k * stride, w);
        REPEAT (v, V) {
            if constexpr (SHORTS)
                u[2 * k][v] = (float)(int32_t)(w[v] << 16), u[2 * k + 1][v] = (float)(int32_t)w[v];
            else
                u[k][v] = __uint_as_float(w[v]);
        }
    }
    REPEAT (c, C)
        REPEAT (k, 4)
            REPEAT (v, V) sum[c][part][v] += q[c][k][v] * u[k][v];
}

template <bool SHORTS> DEVICE float4 steps_of(const pelt_cuda_call &k, uint32_t block) {
    if (!SHORTS) return make_float4(1, 1, 1, 0);
    uint4 t = four(k.skin + k.n.at_steps + 4 * block);
    return make_float4(__uint_as_float(t.x), __uint_as_float(t.y), __uint_as_float(t.z), 0);
}

DEVICE float guard_of(float s) { return fminf(fmaxf(s, 0), 0.25f) * 4 / fmaxf(s, 0.25f); }

template <int V, int C, bool SHORTS, bool TILT>
DEVICE void add_weighted(const pelt_cuda_call &k, float (&point)[C][3][V], float (&normal)[C][3][V],
                         const float4 *poses, uint32_t stride, uint32_t block, uint32_t lane, uint4 head, uint4 next) {
    float sum[C][4][V], tilt[TILT ? C : 1][4][V];
    REPEAT (c, C)
        REPEAT (i, 4)
            REPEAT (v, V) {
                sum[c][i][v] = 0;
                if (TILT) tilt[c][i][v] = 0;
            }
    const uint32_t rows_of_four = SHORTS ? 32 : 64;
    for (uint32_t group = head.y; group < next.y; group++) {
        uint4 of = four(k.skin + k.n.at_row_sources + 4 * group);
        bool together = !(of.x & 3) && of.y == of.x + 1 && of.z == of.x + 2 && of.w == of.x + 3;
        float q[C][4][V];
        REPEAT (i, C * 4 * V) q[i / (4 * V)][i / V % 4][i % V] = 0;
        for (uint32_t e = head.w; e < next.w; e++) {
            uint32_t axis = __ldg(k.skin + k.n.at_axes + e);
            float w[V];
            floats<V>(k.skin + k.n.at_axis_weights + 16 * (size_t)e + lane, w);
            REPEAT (c, C) {
                float4 d = distances(pose_of(poses, stride, c), axis, of, together);
                REPEAT (v, V) {
                    q[c][0][v] += w[v] * d.x, q[c][1][v] += w[v] * d.y;
                    q[c][2][v] += w[v] * d.z, q[c][3][v] += w[v] * d.w;
                }
            }
        }
        float flat[C * 4 * V];
        REPEAT (i, C * 4 * V) flat[i] = q[i / (4 * V)][i / V % 4][i % V];
        apply_phi(flat, k.phi);
        REPEAT (i, C * 4 * V) q[i / (4 * V)][i / V % 4][i % V] = flat[i];
        const uint32_t *at = k.skin + k.n.at_rows + (size_t)group * rows_of_four * k.parts + lane;
        REPEAT (part, 4)
            if (part < 3 || k.parts == 4) add_centers<V, C, SHORTS>(q, at + 16 * part, 16 * k.parts, sum, part);
        if constexpr (TILT) {
            at = k.skin + k.n.at_tilts + (size_t)group * rows_of_four * 3 + lane;
            if (k.tilts)
                REPEAT (part, 3) add_centers<V, C, SHORTS>(q, at + 16 * part, 48, tilt, part);
        }
    }
    float4 steps = steps_of<SHORTS>(k, block);
    REPEAT (c, C)
        REPEAT (v, V) {
            float guard = k.parts == 4 ? guard_of(sum[c][3][v] * steps.y) : 1;
            if (k.n.at_level) guard *= ((const float *)pose_of(poses, stride, c))[k.n.at_level + 1];
            REPEAT (i, 3) {
                point[c][i][v] += sum[c][i][v] * (guard * steps.x);
                if (TILT) normal[c][i][v] += tilt[c][i][v] * (guard * steps.z);
            }
        }
}

/* -- The blend ------------------------------------------------------------------------------------------------------- */

/* sum += weight times the points moved by a joint's matrix. */
template <int V, int C>
DEVICE void move(float (&sum)[C][3][V], const float (&p)[C][3][V], const float4 *matrix, uint32_t stride,
                 const float (&w)[V], float place) {
    REPEAT (c, C)
        REPEAT (i, 3) {
            float4 m = pose_of(matrix, stride, c)[i];
            REPEAT (v, V)
                sum[c][i][v] += w[v] * (m.x * p[c][0][v] + (m.y * p[c][1][v] + (m.z * p[c][2][v] + m.w * place)));
        }
}

/* A joint of a block: the first character's matrix, and its weights. */
template <int V>
DEVICE const float4 *read_joint(const pelt_cuda_call &k, const float4 *poses, uint32_t lane, uint32_t entry,
                                float (&w)[V]) {
    floats<V>(k.skin + k.n.at_weights + 16 * (size_t)entry + lane, w);
    return poses + __ldg(k.skin + k.n.at_joints + entry);
}

template <int V, int C>
DEVICE void blend_matrix(const pelt_cuda_call &k, const float4 *poses, uint32_t stride, uint32_t lane, uint32_t entry,
                         uint32_t end, const float (&p)[C][3][V], const float (&n)[C][3][V], float (&position)[C][3][V],
                         float (&normal)[C][3][V]) {
    float m[C][12][V];
    REPEAT (c, C)
        REPEAT (i, 12)
            REPEAT (v, V) m[c][i][v] = 0;
    for (; entry < end; entry++) {
        float w[V];
        const float4 *matrix = read_joint<V>(k, poses, lane, entry, w);
        REPEAT (c, C)
            REPEAT (i, 3) {
                float4 t = pose_of(matrix, stride, c)[i];
                REPEAT (v, V) {
                    m[c][4 * i][v] += w[v] * t.x, m[c][4 * i + 1][v] += w[v] * t.y;
                    m[c][4 * i + 2][v] += w[v] * t.z, m[c][4 * i + 3][v] += w[v] * t.w;
                }
            }
    }
    REPEAT (c, C)
        REPEAT (i, 3)
            REPEAT (v, V) {
                float a = m[c][4 * i][v], b = m[c][4 * i + 1][v], d = m[c][4 * i + 2][v];
                position[c][i][v] = a * p[c][0][v] + (b * p[c][1][v] + (d * p[c][2][v] + m[c][4 * i + 3][v]));
                normal[c][i][v] = a * n[c][0][v] + (b * n[c][1][v] + d * n[c][2][v]);
            }
}

/* The starts of a block's lists, and those of the next. */
struct block_heads {
    uint4 own, next;
};

DEVICE block_heads heads_of(const pelt_cuda_call &k, uint32_t block) {
    const uint32_t *at = k.skin + k.n.at_heads + 4 * (size_t)block;
    return {four(at), four(at + 4)};
}

template <int FORM, int KIND, int V, int C>
DEVICE void deform(const pelt_cuda_call &k, const float4 *poses, uint32_t stride, uint32_t block, uint32_t lane,
                   const block_heads &heads, float (&position)[C][3][V], float (&normal)[C][3][V]) {
    const uint4 head = heads.own, next = heads.next;
    float p[C][3][V], n[C][3][V];
    size_t rest = 48 * (size_t)block + lane;
    REPEAT (i, 3) {
        floats<V>(k.skin + k.n.at_rest + rest + 16 * i, p[0][i]);
        if (KIND != PELT_POSITIONS) floats<V>(k.skin + k.n.at_rest_normals + rest + 16 * i, n[0][i]);
        REPEAT (c, C)
            REPEAT (v, V) {
                p[c][i][v] = p[0][i][v];
                if (KIND != PELT_POSITIONS) n[c][i][v] = n[0][i][v];
                position[c][i][v] = normal[c][i][v] = 0;
            }
    }
    const uint32_t *sources = k.skin + k.n.at_row_sources, *rows = k.skin + k.n.at_rows + lane;
    if (FORM == PELT_GPU_FLOATS) add_floats<V, C>(p, poses, stride, head.y, next.y, sources, rows, k.n.at_row_factors);
    if (FORM == PELT_GPU_SHORTS) add_shorts<V, C>(p, poses, stride, head.y, next.y, sources, rows, k.n.at_row_factors);
    if constexpr (FORM >= PELT_GPU_WEIGHTED_FLOATS)
        add_weighted<V, C, FORM == PELT_GPU_WEIGHTED_SHORTS, KIND != PELT_POSITIONS>(k, p, n, poses, stride, block,
                                                                                     lane, head, next);
    if constexpr (KIND != PELT_POSITIONS && (FORM == PELT_GPU_FLOATS || FORM == PELT_GPU_SHORTS)) {
        sources = k.skin + k.n.at_tilt_sources, rows = k.skin + k.n.at_tilts + lane;
        if (k.tilts == 1) add_floats<V, C>(n, poses, stride, head.z, next.z, sources, rows, k.n.at_tilt_factors);
        if (k.tilts == 2) add_shorts<V, C>(n, poses, stride, head.z, next.z, sources, rows, k.n.at_tilt_factors);
    }

    if constexpr (KIND == PELT_BOTH) {
        blend_matrix<V, C>(k, poses, stride, lane, head.x, next.x, p, n, position, normal);
    } else {
        for (uint32_t e = head.x; e < next.x; e++) {
            float w[V];
            const float4 *matrix = read_joint<V>(k, poses, lane, e, w);
            move<V, C>(position, p, matrix, stride, w, 1);
            if (KIND == PELT_SCALED) move<V, C>(normal, n, matrix + k.n.at_normal_matrices, stride, w, 0);
        }
    }
    if (KIND != PELT_POSITIONS)
        REPEAT (c, C)
            REPEAT (v, V) {
                float x = normal[c][0][v], y = normal[c][1][v], z = normal[c][2][v];
                float scale = rsqrtf(x * x + (y * y + (z * z + 1e-30f)));
                normal[c][0][v] = x * scale, normal[c][1][v] = y * scale, normal[c][2][v] = z * scale;
            }
}

/* -- Storing --------------------------------------------------------------------------------------------------------- */

/* A warp's 32 V consecutive vertices of one character. `count`: floats of them that exist. */
template <int V> DEVICE void store(float *to, const float (&x)[3][V], float *stage, int lane, uint32_t count) {
    float *own = stage + lane * 3 * V;
    __syncwarp();
    if constexpr (V == 4) {
        ((float4 *)own)[0] = make_float4(x[0][0], x[1][0], x[2][0], x[0][1]);
        ((float4 *)own)[1] = make_float4(x[1][1], x[2][1], x[0][2], x[1][2]);
        ((float4 *)own)[2] = make_float4(x[2][2], x[0][3], x[1][3], x[2][3]);
    } else {
        own[0] = x[0][0], own[1] = x[1][0], own[2] = x[2][0];
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 24 * V; i += 32)
        if (4 * i < count) __stcs((float4 *)to + i, ((const float4 *)stage)[i]);
}

/* T threads; work group x handles blocks, interleaved with the others, so that concurrent writes are adjacent; y
   handles characters. */
template <int FORM, int KIND, int V, int C, int T> __global__ void __launch_bounds__(T) skin_kernel(pelt_cuda_call k) {
    extern __shared__ float4 memory[];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t first = blockIdx.y * k.shared, count = min(k.shared, k.n.character_count - first);
    const float4 *from = k.poses + (size_t)first * k.n.pose_stride;
    float *stage = (float *)(memory + k.shared * k.own_vec4s) + warp * 96 * V;
    const uint32_t slots = 16 * k.n.block_count;
    /* The warp's first slot, and the lane's; those beyond the last repeat it. Lists are looked up ahead of use. */
    uint32_t begin = (blockIdx.x * T + warp * 32) * V, slot = min(begin + lane * V, slots - V);
    block_heads heads = heads_of(k, slot >> 4);
    const uint32_t stride = k.own_vec4s;
    for (uint32_t c = 0; c < count; c++)
        for (uint32_t i = threadIdx.x; i < stride; i += T)
            memory[c * stride + i] = __ldg(from + (size_t)c * k.n.pose_stride + i);
    __syncthreads();
    for (uint32_t pass = 0; pass < k.passes && begin < slots; pass++) {
        for (uint32_t c0 = 0; c0 < count; c0 += C) {
            float position[C][3][V], normal[C][3][V];
            deform<FORM, KIND, V, C>(k, memory + c0 * stride, stride, slot >> 4, slot & 15, heads, position, normal);
            REPEAT (c, C) {
                if (c0 + c >= count) break;
                size_t at = 3 * ((size_t)(first + c0 + c) * slots + begin);
                store<V>(k.positions + at, position[c], stage, lane, 3 * (slots - begin));
                if (KIND != PELT_POSITIONS) store<V>(k.normals + at, normal[c], stage, lane, 3 * (slots - begin));
            }
        }
        begin += gridDim.x * T * V, slot = min(begin + lane * V, slots - V);
        if (pass + 1 < k.passes) heads = heads_of(k, slot >> 4);
    }
}
