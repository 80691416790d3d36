/* wpsd_point.c: poses as one point sees them in weighted pose space deformation (wpsd.h). Those that it cannot
   distinguish are merged into one centre of its functions. */

#include "fit/corrective/wpsd.h"
#include <string.h>

pelt_wpsd_view pelt_wpsd_view_new(pelt_arena *arena, size_t n) {
    return (pelt_wpsd_view){.r2 = PELT_NEW(arena, n * n, float),
                            .phi = PELT_NEW(arena, n * n, double),
                            .values = PELT_NEW(arena, 4 * n, double),
                            .probe = PELT_NEW(arena, n, double),
                            .tally = PELT_NEW(arena, n, uint32_t),
                            .poses = PELT_NEW(arena, n, uint32_t),
                            .of = PELT_NEW(arena, n, uint32_t),
                            .row = PELT_NEW(arena, n, float)};
}

void pelt_wpsd_distances(const pelt_wpsd *w, const float *row, float *r2) {
    size_t n = w->distinct.count;
    memset(r2, 0, n * n * sizeof *r2);
    for (uint32_t s = 0; s < w->sources.count; s++)
        if (row[s] > 0) pelt_add_distances(&w->sources, n, s, row[s], r2);
}

const float *pelt_wpsd_weights(const pelt_wpsd *w, uint32_t point) {
    return w->driving.weights + (size_t)point * w->sources.count;
}

void pelt_wpsd_centers(const pelt_wpsd *w, uint32_t point, pelt_wpsd_view *b) {
    size_t n = w->distinct.count;
    pelt_wpsd_distances(w, pelt_wpsd_weights(w, point), b->r2);
    b->count = pelt_merge_poses(n, b->r2, (float)(PELT_SAME_POSE * PELT_SAME_POSE), b->poses, b->of);
    memset(b->tally, 0, n * sizeof *b->tally);
    for (size_t i = 0; i < n; i++) b->tally[b->of[i]]++;
}

pelt_wpsd_series pelt_wpsd_shapes(const pelt_wpsd *w, uint32_t point) {
    return (pelt_wpsd_series){w->distinct.shapes + 3 * (size_t)point,
                              3 * (size_t)w->distinct.displacements.point_count};
}

void pelt_wpsd_merge(const pelt_wpsd *w, pelt_wpsd_series vectors, size_t columns, pelt_wpsd_view *b) {
    for (size_t i = 0; i < columns * b->count; i++) b->values[i] = i % columns == 3;
    for (size_t i = 0; i < w->distinct.count; i++)
        for (size_t c = 0; c < 3; c++)
            b->values[columns * b->of[i] + c] += vectors.first[vectors.stride * i + c] / b->tally[b->of[i]];
}

void pelt_wpsd_phi(const pelt_wpsd *w, double width, pelt_wpsd_view *b) {
    size_t n = w->distinct.count, m = b->count;
    for (size_t i = 0; i < m; i++) {
        const float *r2 = b->r2 + (size_t)b->poses[i] * n;
        for (size_t k = 0; k <= i; k++) b->row[k] = r2[b->poses[k]];
        pelt_phi_row(w->phi, width, i + 1, b->row, b->phi + i * m);
        for (size_t k = 0; k < i; k++) b->phi[k * m + i] = b->phi[i * m + k];
        b->phi[i * m + i] += w->wanted ? 0 : pelt_phi_ridge(w->phi);
    }
}

bool pelt_wpsd_driven(const pelt_wpsd *w, uint32_t point) {
    const float *row = pelt_wpsd_weights(w, point);
    bool any = false;
    for (uint32_t s = 0; s < w->sources.count; s++) any |= row[s] > 0;
    return any;
}
