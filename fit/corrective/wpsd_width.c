/* wpsd_width.c: the width of phi, by poses that the fit has not seen, at points spread over the mesh:

       left out     each pose that lies between others, predicted by the rest, in closed form (rbf.h);
       superposed   where few examples move several joints: poses made from sweeps (superposed.h).

   Best widths differ from point to point, so that few points choose badly. */

#include "fit/corrective/superposed.h"
#include "fit/corrective/wpsd.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

static const double widths[] = {0.5, 0.75, 1, 1.5, 2, 3, 4}; /* radians: weights sum to 1 */
enum { WIDTHS = sizeof widths / sizeof *widths, SAMPLES = 96 };

typedef struct width_trial {
    pelt_wpsd *w;
    pelt_superposed superposed;
    double errors[SAMPLES][WIDTHS];
    uint32_t points[SAMPLES];
} width_trial;

/* Squared distances between a superposed pose and the centres, as a point sees them, and what it displaces there. */
static void superpose(const width_trial *t, uint32_t point, const uint32_t *examples, const pelt_wpsd_view *b,
                      float *r2, double value[3]) {
    const pelt_wpsd *w = t->w;
    const float *row = pelt_wpsd_weights(w, point);
    pelt_wpsd_series shapes = pelt_wpsd_shapes(w, point);
    size_t n = w->distinct.count;
    memset(r2, 0, b->count * sizeof *r2);
    value[0] = value[1] = value[2] = 0;
    for (uint32_t s = 0; s < w->sources.count; s++) {
        bool moved = s < w->distinct.poses.mover_count && examples[s] != PELT_REST_EXAMPLE;
        size_t pose = moved ? w->distinct.pose_of[examples[s]] : 0;
        const float *distances = w->sources.distances + (s * n + pose) * n;
        for (size_t i = 0; i < b->count && row[s] > 0; i++) r2[i] += row[s] * distances[b->poses[i]];
        for (size_t c = 0; c < 3 && moved; c++) value[c] += shapes.first[shapes.stride * pose + c];
    }
}

/* The squared error in superposed poses, where b->phi is inverted. */
static double superposed_error(const width_trial *t, uint32_t point, double width, const pelt_wpsd_view *b,
                               pelt_arena *scratch) {
    const pelt_wpsd *w = t->w;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
    size_t m = b->count, movers = w->distinct.poses.mover_count;
    double *folded = PELT_NEW(work, 4 * m, double), *phi = PELT_NEW(work, m, double), sum = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++)
            for (size_t c = 0; c < 4; c++) folded[4 * i + c] += b->phi[i * m + k] * (c < 3 ? b->values[3 * k + c] : 1);
    for (size_t i = 0; i < t->superposed.count; i++) {
        double value[3], guess[4] = {0};
        superpose(t, point, t->superposed.examples + i * movers, b, b->row, value);
        pelt_phi_row(w->phi, width, m, b->row, phi);
        for (size_t k = 0; k < m; k++)
            for (size_t c = 0; c < 4; c++) guess[c] += phi[k] * folded[4 * k + c];
        for (size_t c = 0; c < 3; c++) sum += pow(pelt_guard_norm(w->norm_floor, guess[3]) * guess[c] - value[c], 2);
    }
    return sum;
}

static void try_widths(void *user, size_t sample, pelt_arena *scratch) {
    width_trial *t = user;
    const pelt_wpsd *w = t->w;
    uint32_t point = t->points[sample];
    if (!pelt_wpsd_driven(w, point)) return;
    pelt_wpsd_view b = pelt_wpsd_view_new(scratch, w->distinct.count);
    bool *marked = PELT_NEW(scratch, w->distinct.count, bool), any = false;
    pelt_wpsd_centers(w, point, &b);
    pelt_wpsd_merge(w, pelt_wpsd_shapes(w, point), 3, &b);
    for (size_t i = 0; i < b.count; i++) any |= marked[i] = w->distinct.interior[b.poses[i]];
    for (size_t i = 1; i < b.count && !any; i++) marked[i] = true;
    for (int k = 0; k < WIDTHS; k++) {
        double growth, *error = &t->errors[sample][k];
        pelt_wpsd_phi(w, widths[k], &b);
        *error = pelt_leave_one_out(scratch, b.count, b.phi, 3, b.values, marked, w->norm_floor, &growth);
        if (t->superposed.count && isfinite(*error)) *error += superposed_error(t, point, widths[k], &b, scratch);
    }
}

/* Tries points spread over the mesh, every n-th in order. */
void pelt_wpsd_choose_width(pelt_wpsd *w) {
    width_trial t = {.w = w, .superposed = pelt_superpose_sweeps(w->work, &w->distinct.poses)};
    uint32_t points = w->distinct.displacements.point_count, samples = points < SAMPLES ? points : SAMPLES;
    for (uint32_t i = 0; i < samples; i++) t.points[i] = w->order[(uint64_t)i * points / samples];
    PELT_SPREAD(w->work, w->fitting->options.threads, samples, try_widths, &t, {t.errors, sizeof *t.errors});
    double best = INFINITY;
    w->width = 1;
    for (int k = 0; k < WIDTHS; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < samples; i++) sum += t.errors[i][k];
        if (sum < best) best = sum, w->width = widths[k];
    }
}
