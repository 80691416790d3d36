/* plain_corrective.c: correctives as one would first write them; built like plain.c. */

#include "bench/plain.h"
#include <math.h>

static void blend_matrix(const uint16_t *joints, const float *weights, const float *matrices, float t[12]) {
    for (int c = 0; c < 12; c++) t[c] = 0;
    for (int k = 0; k < 4; k++) {
        const float *m = matrices + 12 * (size_t)joints[k];
        for (int c = 0; c < 12; c++) t[c] += weights[k] * m[c];
    }
}

static void move_point(const float t[12], const float p[3], float out[3]) {
    for (int r = 0; r < 3; r++) out[r] = t[4 * r] * p[0] + t[4 * r + 1] * p[1] + t[4 * r + 2] * p[2] + t[4 * r + 3];
}

void plain_basis(size_t vertex_count, const float *restrict positions, const uint16_t *restrict joints,
                 const float *restrict weights, const float *restrict matrices, size_t terms,
                 const uint16_t *restrict sources, const float *restrict vectors, const float *restrict coefficients,
                 float *restrict positions_out) {
    float t[12];
    for (size_t v = 0; v < vertex_count; v++) {
        float p[3] = {positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]};
        for (size_t k = 0; k < terms; k++) {
            float a = coefficients[sources[v * terms + k]];
            const float *u = vectors + 3 * (v * terms + k);
            for (int c = 0; c < 3; c++) p[c] += a * u[c];
        }
        blend_matrix(joints + 4 * v, weights + 4 * v, matrices, t);
        move_point(t, p, positions_out + 3 * v);
    }
}

void plain_weighted(size_t vertex_count, const float *restrict positions, const uint16_t *restrict joints,
                    const float *restrict weights, const float *restrict matrices, size_t terms,
                    const float *restrict distances, const float *restrict vectors, float *restrict positions_out) {
    float t[12];
    for (size_t v = 0; v < vertex_count; v++) {
        float p[3], sum[3] = {0};
        for (size_t k = 0; k < terms; k++) {
            const float *c = vectors + 3 * (v * terms + k);
            float r2 = 0;
            for (int j = 0; j < 4; j++) r2 += weights[4 * v + j] * distances[joints[4 * v + j] * terms + k];
            float phi = expf(-r2);
            for (int i = 0; i < 3; i++) sum[i] += phi * c[i];
        }
        for (int c = 0; c < 3; c++) p[c] = positions[3 * v + c] + sum[c];
        blend_matrix(joints + 4 * v, weights + 4 * v, matrices, t);
        move_point(t, p, positions_out + 3 * v);
    }
}
