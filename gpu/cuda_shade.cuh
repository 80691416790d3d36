/* cuda_shade.cuh: normals of the deformed surface, from positions that are on the device already.

   A thread walks around one vertex, for C characters at a time, so that the slots it reads serve all of them, and loads
   of several characters are under way at once. */

#pragma once

#include "gpu/cuda_kernels.cuh"

enum { SHADE_THREADS = 128, SHADE_MANY = 4 /* characters of a thread */ };

DEVICE float3 minus(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
DEVICE float3 times(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
DEVICE float inner(float3 a, float3 b) { return a.x * b.x + (a.y * b.y + a.z * b.z); }

/* A vector that vanishes stays 0. */
DEVICE float3 unit(float3 a) { return times(a, rsqrtf(inner(a, a) + 1e-30f)); }

DEVICE float3 plus_cross(float3 a, float3 b, float3 c) {
    return make_float3(a.x + (b.y * c.z - b.z * c.y), a.y + (b.z * c.x - b.x * c.z), a.z + (b.x * c.y - b.y * c.x));
}

/* acos(c) / sqrt(1 - c^2), from acos(c) = sqrt(1 - c) p(c) for c >= 0, to 7e-5. */
DEVICE float angle_over_sine(float c) {
    float q = fabsf(c), p = 1.5707288f + q * (-0.2121144f + q * (0.0742610f + q * -0.0187293f));
    float f = p * rsqrtf(1 + q);
    return c < 0 ? 3.14159265f * rsqrtf(fmaxf(1 - q * q, 1e-8f)) - f : f;
}

DEVICE float3 point_of(const float *positions, uint32_t slot) {
    const float *at = positions + 3 * (size_t)slot;
    return make_float3(__ldg(at), __ldg(at + 1), __ldg(at + 2));
}

/* The file's normal, which keeps its place in the frame of the surface: its normal, an edge across it, and beside. */
DEVICE float3 bend(const uint32_t *numbers, const float *positions, float3 own, float3 normal) {
    float3 edge = minus(point_of(positions, __ldg(numbers + 48)), own),
           across = unit(minus(edge, times(normal, inner(normal, edge)))),
           beside = plus_cross(make_float3(0, 0, 0), normal, across);
    float x = __uint_as_float(__ldg(numbers)), y = __uint_as_float(__ldg(numbers + 16)),
          z = __uint_as_float(__ldg(numbers + 32));
    return unit(make_float3(x * across.x + (y * beside.x + z * normal.x), x * across.y + (y * beside.y + z * normal.y),
                            x * across.z + (y * beside.z + z * normal.z)));
}

/* Work group x handles slots, y characters. */
template <bool BY_ANGLE, bool BENDS, int C>
__global__ void __launch_bounds__(SHADE_THREADS) shade_kernel(pelt_cuda_call k) {
    __shared__ float4 memory[SHADE_THREADS * 3 / 4];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t slots = 16 * k.n.block_count, begin = blockIdx.x * SHADE_THREADS + warp * 32,
                   slot = min(begin + lane, slots - 1);
    const uint32_t first = blockIdx.y * C, count = min((uint32_t)C, k.n.character_count - first);
    if (begin >= slots) return;
    const float *positions[C]; /* of characters beyond the last: the first again */
    float3 own[C], sum[C], before[C];
    REPEAT (c, C) {
        positions[c] = k.positions + 3 * (size_t)slots * (first + (c < count ? c : 0));
        own[c] = point_of(positions[c], slot);
        sum[c] = before[c] = make_float3(0, 0, 0);
    }
    const uint32_t end = __ldg(k.skin + k.n.at_ring_first + slot + 1);
    for (uint32_t at = __ldg(k.skin + k.n.at_ring_first + slot); at < end; at++) {
        const uint32_t to = __ldg(k.skin + k.n.at_rings + at);
        REPEAT (c, C) {
            float3 edge = minus(point_of(positions[c], to), own[c]);
            if (BY_ANGLE) edge = unit(edge), before[c] = times(before[c], angle_over_sine(inner(before[c], edge)));
            sum[c] = plus_cross(sum[c], before[c], edge);
            before[c] = edge;
        }
    }
    const float scale = __uint_as_float(k.n.ring_scale);
    REPEAT (c, C) {
        if (c >= count) break;
        float3 normal = unit(times(sum[c], scale));
        if (BENDS)
            normal = bend(k.skin + k.n.at_bends + 64 * (size_t)(slot >> 4) + (slot & 15), positions[c], own[c], normal);
        const float out[3][1] = {{normal.x}, {normal.y}, {normal.z}};
        store<1>(k.normals + 3 * ((size_t)(first + c) * slots + begin), out, (float *)memory + warp * 96, lane,
                 3 * (slots - begin));
    }
}
