/* cuda_one.cuh: the same equation for one character, or a few.

   There are too few vertices to fill the device, so memory latency dominates. SPLIT lanes share a vertex: each
   processes its part of the lists and reads as many entries at once as it can; sums are combined by warp shuffles. What
   depends only on the skin is read before waiting for the poses, while the preceding kernel ends. */

#pragma once

#include "gpu/cuda_kernels.cuh"

enum { ONE_THREADS = 256, ONE_SPLIT = 2, ONE_AHEAD = 2 };

/* The sum over the SPLIT lanes that share a vertex, in all of them. */
template <int SPLIT> DEVICE float together(float x) {
#pragma unroll
    for (int i = 32 / SPLIT; i < 32; i *= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
}

template <int SPLIT, int N> DEVICE void add_together(float (&sum)[N]) {
    REPEAT (i, N) sum[i] = together<SPLIT>(sum[i]);
}

/* Lets the next kernel start, and waits for the previous one. */
DEVICE void wait_for_poses() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* -- What is read of the skin: ONE_AHEAD entries of a list from `first` on, SPLIT apart, zeros beyond the end ----------- */

struct one_joints {
    uint32_t joint[ONE_AHEAD];
    float weight[ONE_AHEAD];
};

template <int SPLIT>
DEVICE one_joints read_joints(const pelt_cuda_call &k, uint32_t first, uint32_t end, uint32_t lane) {
    one_joints out;
    REPEAT (a, ONE_AHEAD) {
        uint32_t at = min(first + a * SPLIT, end - 1);
        out.joint[a] = __ldg(k.skin + k.n.at_joints + at);
        out.weight[a] = __uint_as_float(__ldg(k.skin + k.n.at_weights + 16 * (size_t)at + lane));
        if (first + a * SPLIT >= end) out.weight[a] = 0;
    }
    return out;
}

/* Rows of a basis, as words. */
struct one_rows {
    uint32_t source[ONE_AHEAD], words[ONE_AHEAD][3];
};

template <int SPLIT>
DEVICE one_rows read_rows(const uint32_t *sources, const uint32_t *rows, uint32_t first, uint32_t end) {
    one_rows out;
    REPEAT (a, ONE_AHEAD) {
        uint32_t at = min(first + a * SPLIT, end - 1);
        out.source[a] = __ldg(sources + at);
        REPEAT (i, 3) {
            out.words[a][i] = __ldg(rows + 48 * (size_t)at + 16 * i);
            if (first + a * SPLIT >= end) out.words[a][i] = 0;
        }
    }
    return out;
}

template <bool SHORTS> DEVICE void add_rows(float (&sum)[3], const one_rows &rows, const float *factors) {
    REPEAT (a, ONE_AHEAD) {
        if constexpr (SHORTS) {
            float2 f = *(const float2 *)(factors + rows.source[a]);
            REPEAT (i, 3)
                sum[i] += f.x * (float)(int16_t)rows.words[a][i] + f.y * (float)((int32_t)rows.words[a][i] >> 16);
        } else {
            float f = factors[rows.source[a]];
            REPEAT (i, 3) sum[i] += f * __uint_as_float(rows.words[a][i]);
        }
    }
}

/* The rest of a list, after the prefetched entries. */
template <int SPLIT, bool SHORTS>
DEVICE void add_all_rows(float (&sum)[3], one_rows rows, const uint32_t *sources, const uint32_t *at, uint32_t first,
                         uint32_t end, const float *factors) {
    for (; first < end; first += SPLIT * ONE_AHEAD) {
        add_rows<SHORTS>(sum, rows, factors);
        if (first + SPLIT * ONE_AHEAD < end) rows = read_rows<SPLIT>(sources, at, first + SPLIT * ONE_AHEAD, end);
    }
}

/* -- The weighted form: each lane handles separate fours of centres --------------------------------------------- */

enum { ONE_AXES = 4 };

struct one_axes {
    uint32_t axis[ONE_AXES];
    float weight[ONE_AXES];
};

DEVICE one_axes read_axes(const pelt_cuda_call &k, uint32_t first, uint32_t end, uint32_t lane) {
    one_axes out;
    REPEAT (a, ONE_AXES) {
        uint32_t at = min(first + a, end - 1);
        out.axis[a] = __ldg(k.skin + k.n.at_axes + at);
        out.weight[a] = __uint_as_float(__ldg(k.skin + k.n.at_axis_weights + 16 * (size_t)at + lane));
        if (first + a >= end) out.weight[a] = 0;
    }
    return out;
}

/* One row after another of four centres, `parts` of them: 3, or 4 with a norm. */
template <bool SHORTS> struct one_rows_of_four { uint32_t words[4][SHORTS ? 2 : 4]; };

template <bool SHORTS>
DEVICE void read_four(const uint32_t *rows, uint32_t group, uint32_t parts, uint32_t lane,
                      one_rows_of_four<SHORTS> &out) {
    const uint32_t *at = rows + (size_t)group * (SHORTS ? 32 : 64) * parts + lane;
    REPEAT (part, 4)
        REPEAT (i, SHORTS ? 2 : 4)
            out.words[part][i] = part < 3 || parts == 4 ? __ldg(at + 16 * (part + parts * i)) : 0;
}

template <bool SHORTS> DEVICE void add_four(float *sum, const float (&phi)[4], const one_rows_of_four<SHORTS> &rows) {
    REPEAT (part, 4)
        REPEAT (i, 4) {
            uint32_t word = rows.words[part][SHORTS ? i / 2 : i];
            sum[part] += phi[i] * (SHORTS ? (float)(int32_t)(i % 2 ? word : word << 16) : __uint_as_float(word));
        }
}

/* What a lane prefetches of the weighted form before it has the pose. */
template <bool SHORTS> struct one_weighted {
    one_axes axes;
    uint4 centers;
    one_rows_of_four<SHORTS> rows;
};

/* sum: displacement and norm; tilt: change of the normal. */
template <int SPLIT, bool SHORTS, bool TILT>
DEVICE void weigh(const pelt_cuda_call &k, float (&sum)[4], float (&tilt)[4], const float *pose,
                  one_weighted<SHORTS> read, uint4 head, uint4 next, uint32_t first, uint32_t lane) {
    for (uint32_t group = first; group < next.y; group += SPLIT) {
        const uint4 of = read.centers;
        bool side_by_side = !(of.x & 3) && of.y == of.x + 1 && of.z == of.x + 2 && of.w == of.x + 3;
        float phi[4] = {};
        for (uint32_t e = head.w; e < next.w; e += ONE_AXES) {
            if (next.w - head.w > ONE_AXES && (e > head.w || group > first)) read.axes = read_axes(k, e, next.w, lane);
            REPEAT (a, ONE_AXES) {
                float4 d = distances((const float4 *)pose, read.axes.axis[a], of, side_by_side);
                float w = read.axes.weight[a];
                phi[0] += w * d.x, phi[1] += w * d.y, phi[2] += w * d.z, phi[3] += w * d.w;
            }
        }
        apply_phi(phi, k.phi);
        add_four<SHORTS>(sum, phi, read.rows);
        if (TILT && k.tilts) {
            one_rows_of_four<SHORTS> tilts;
            read_four<SHORTS>(k.skin + k.n.at_tilts, group, 3, lane, tilts);
            add_four<SHORTS>(tilt, phi, tilts);
        }
        if (group + SPLIT < next.y) {
            read.centers = four(k.skin + k.n.at_row_sources + 4 * (group + SPLIT));
            read_four<SHORTS>(k.skin + k.n.at_rows, group + SPLIT, k.parts, lane, read.rows);
        }
    }
}

/* -- The kernel --------------------------------------------------------------------------------------------------------- */

/* Position and normal from a lane's share of the joints. */
template <int SPLIT, int KIND>
DEVICE void blend(const pelt_cuda_call &k, const float4 *pose, one_joints joints, uint32_t first, uint32_t end,
                  uint32_t lane, const float (&p)[3], const float (&n)[3], float (&out)[6]) {
    float m[12] = {}, of_normals[KIND == PELT_SCALED ? 12 : 1] = {};
    for (; first < end; first += SPLIT * ONE_AHEAD) {
        REPEAT (a, ONE_AHEAD)
            REPEAT (i, 3) {
                float w = joints.weight[a];
                float4 t = pose[joints.joint[a] + i];
                m[4 * i] += w * t.x, m[4 * i + 1] += w * t.y, m[4 * i + 2] += w * t.z, m[4 * i + 3] += w * t.w;
                if constexpr (KIND == PELT_SCALED) {
                    t = pose[k.n.at_normal_matrices + joints.joint[a] + i];
                    of_normals[4 * i] += w * t.x, of_normals[4 * i + 1] += w * t.y, of_normals[4 * i + 2] += w * t.z;
                }
            }
        if (first + SPLIT * ONE_AHEAD < end) joints = read_joints<SPLIT>(k, first + SPLIT * ONE_AHEAD, end, lane);
    }
    REPEAT (i, 3) {
        const float *r = KIND == PELT_SCALED ? of_normals + 4 * i : m + 4 * i;
        out[i] = m[4 * i] * p[0] + (m[4 * i + 1] * p[1] + (m[4 * i + 2] * p[2] + m[4 * i + 3]));
        if (KIND != PELT_POSITIONS) out[3 + i] = r[0] * n[0] + (r[1] * n[1] + r[2] * n[2]);
    }
}

/* Work group x handles blocks, y characters. SHARED: the pose is copied to shared memory first. */
template <int FORM, int KIND, int SPLIT, int T, bool SHARED>
__global__ void __launch_bounds__(T) one_kernel(pelt_cuda_call k) {
    extern __shared__ float4 memory[];
    constexpr bool BASIS = FORM == PELT_GPU_FLOATS || FORM == PELT_GPU_SHORTS,
                   WEIGHTED = FORM >= PELT_GPU_WEIGHTED_FLOATS;
    constexpr bool SHORTS = FORM == PELT_GPU_SHORTS || FORM == PELT_GPU_WEIGHTED_SHORTS,
                   NORMALS = KIND != PELT_POSITIONS;
    constexpr uint32_t VERTICES = 32 / SPLIT;
    const uint32_t part = threadIdx.x % 32 / VERTICES, slots = 16 * k.n.block_count;
    const uint32_t wanted = (blockIdx.x * (T / 32) + threadIdx.x / 32) * VERTICES + threadIdx.x % VERTICES,
                   slot = min(wanted, slots - 1), block = slot >> 4, lane = slot & 15;
    const block_heads heads = heads_of(k, block);
    const uint4 head = heads.own, next = heads.next;
    float p[3], n[3], sum[4] = {}, tilt[4] = {};
    REPEAT (i, 3) {
        p[i] = __uint_as_float(__ldg(k.skin + k.n.at_rest + 48 * (size_t)block + 16 * i + lane));
        n[i] = NORMALS ? __uint_as_float(__ldg(k.skin + k.n.at_rest_normals + 48 * (size_t)block + 16 * i + lane)) : 0;
    }
    one_joints joints = {};
    if (head.x + part < next.x) joints = read_joints<SPLIT>(k, head.x + part, next.x, lane);
    const uint32_t *row_sources = k.skin + k.n.at_row_sources, *rows_at = k.skin + k.n.at_rows + lane,
                   *tilt_sources = k.skin + k.n.at_tilt_sources, *tilts_at = k.skin + k.n.at_tilts + lane;
    one_rows rows = {}, tilts = {};
    if (BASIS && head.y + part < next.y) rows = read_rows<SPLIT>(row_sources, rows_at, head.y + part, next.y);
    if (BASIS && NORMALS && k.tilts && head.z + part < next.z)
        tilts = read_rows<SPLIT>(tilt_sources, tilts_at, head.z + part, next.z);
    one_weighted<SHORTS> weighted = {};
    if (WEIGHTED && head.y + part < next.y) {
        weighted.axes = read_axes(k, head.w, next.w, lane);
        weighted.centers = four(k.skin + k.n.at_row_sources + 4 * (head.y + part));
        read_four<SHORTS>(k.skin + k.n.at_rows, head.y + part, k.parts, lane, weighted.rows);
    }
    wait_for_poses();
    const float4 *pose = k.poses + (size_t)blockIdx.y * k.n.pose_stride;
    if constexpr (SHARED) {
        for (uint32_t i = threadIdx.x; i < k.own_vec4s; i += T) memory[i] = __ldg(pose + i);
        __syncthreads();
        pose = memory;
    }
    if constexpr (BASIS) {
        const float *factors = (const float *)pose + k.n.at_row_factors,
                    *of_tilts = (const float *)pose + k.n.at_tilt_factors;
        float s[3] = {}, t[3] = {};
        add_all_rows<SPLIT, SHORTS>(s, rows, row_sources, rows_at, head.y + part, next.y, factors);
        add_together<SPLIT>(s);
        if (NORMALS && k.tilts == 1)
            add_all_rows<SPLIT, false>(t, tilts, tilt_sources, tilts_at, head.z + part, next.z, of_tilts);
        if (NORMALS && k.tilts == 2)
            add_all_rows<SPLIT, true>(t, tilts, tilt_sources, tilts_at, head.z + part, next.z, of_tilts);
        if (NORMALS && k.tilts) add_together<SPLIT>(t);
        REPEAT (i, 3) p[i] += s[i], n[i] += t[i];
    }
    if constexpr (WEIGHTED) {
        weigh<SPLIT, SHORTS, NORMALS>(k, sum, tilt, (const float *)pose, weighted, head, next, head.y + part, lane);
        add_together<SPLIT>(sum);
        if (NORMALS && k.tilts) add_together<SPLIT>(tilt);
        float4 steps = steps_of<SHORTS>(k, block);
        float guard = k.parts == 4 ? guard_of(sum[3] * steps.y) : 1;
        if (k.n.at_level) guard *= ((const float *)pose)[k.n.at_level + 1];
        REPEAT (i, 3) p[i] += sum[i] * (guard * steps.x), n[i] += tilt[i] * (guard * steps.z);
    }
    float out[6] = {};
    blend<SPLIT, KIND>(k, pose, joints, head.x + part, next.x, lane, p, n, out);
    REPEAT (i, NORMALS ? 6 : 3) out[i] = together<SPLIT>(out[i]);
    if (NORMALS) {
        float scale = rsqrtf(out[3] * out[3] + (out[4] * out[4] + (out[5] * out[5] + 1e-30f)));
#pragma unroll
        for (int i = 3; i < 6; i++) out[i] *= scale;
    }
    if (wanted >= slots) return;
    const size_t at = 3 * ((size_t)blockIdx.y * slots + slot);
    REPEAT (i, 3) {
        if (i % SPLIT == part) k.positions[at + i] = out[i];
        if (NORMALS && (i + 1) % SPLIT == part) k.normals[at + i] = out[3 + i];
    }
}
