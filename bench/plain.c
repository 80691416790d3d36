/* plain.c: built with -O3 for the local machine, like a user's own code. */

#include "bench/plain.h"
#include <math.h>
#include <string.h>

void plain_blend(size_t vertex_count, const float *positions, const float *normals, const uint16_t *joints,
                 const float *weights, const float *matrices, float *restrict positions_out,
                 float *restrict normals_out) {
    for (size_t v = 0; v < vertex_count; v++) {
        float t[12] = {0};
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < 12; c++) t[c] += weights[4 * v + k] * matrices[12 * joints[4 * v + k] + c];
        const float *p = positions + 3 * v, *n = normals + 3 * v;
        for (int r = 0; r < 3; r++)
            positions_out[3 * v + r] = t[4 * r] * p[0] + t[4 * r + 1] * p[1] + t[4 * r + 2] * p[2] + t[4 * r + 3];
        if (!normals_out) continue;
        float o[3];
        for (int r = 0; r < 3; r++) o[r] = t[4 * r] * n[0] + t[4 * r + 1] * n[1] + t[4 * r + 2] * n[2];
        float length = sqrtf(o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
        for (int r = 0; r < 3; r++) normals_out[3 * v + r] = o[r] / length;
    }
}

void plain_copy(float *restrict to, const float *restrict from, size_t count) { memcpy(to, from, count * sizeof *to); }

void plain_triad(float *restrict to, const float *restrict a, const float *restrict b, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = a[i] + 3 * b[i];
}
