/* low_rank.c: noise of displacements, found and removed by what neighbouring points and examples have in common.

   The displacements of a patch, Y [example][coordinate], are few shapes times few functions of the pose: their singular
   values decay without end. Noise of standard deviation s adds a floor that does not: the squares of its singular
   values over the larger side N follow the law of Marchenko and Pastur between s^2 (1 -+ sqrt(b))^2, b = smaller side /
   N. So the small ones give s, and if their quantiles agree, it is noise. Singular values y = y s sqrt(N) then become

       sqrt((y^2 - b - 1)^2 - 4 b) / y    above 1 + sqrt(b), 0 below,

   which leaves the least squared error (Gavish & Donoho 2017, "Optimal shrinkage of singular values"). */

#include "fit/examples/low_rank.h"
#include "rig/linear.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

enum { PATCH = 64, MOST_PATCHES = 200, LEAST_SIDE = 24, STEPS = 2000, SAMPLES = 8 };
static const double QUANTILES[] = {0.15, 0.35}; /* of the squared singular values */
static const double AGREE = 0.7;                /* the ratio of the deviations that these give */
static const double SLIGHT = 2e-5;              /* of the diagonal: less is rounding */

typedef struct denoising {
    pelt_example_displacements *u;
    pelt_patches patches;
    double *noise; /* [patch] negative: not looked at */
    double level;  /* 0: not known yet */
} denoising;

/* The quantile of the law of Marchenko and Pastur for s = 1. */
static double law_quantile(double b, double share) {
    double low = pow(1 - sqrt(b), 2), high = pow(1 + sqrt(b), 2), sum = 0, x = low;
    for (int i = 0; i < STEPS && sum < share; i++) {
        x = low + (high - low) * (i + 0.5) / STEPS;
        sum += sqrt((high - x) * (x - low)) / (2 * M_PI * b * x) * (high - low) / STEPS;
    }
    return x;
}

/* From eigenvalues [side], ascending. */
static double noise_of(size_t side, double larger, const double *values) {
    double s[2];
    for (int i = 0; i < 2; i++) {
        double value = values[(size_t)(QUANTILES[i] * (double)side)] / larger;
        s[i] = sqrt(fmax(value, 0) / law_quantile((double)side / larger, QUANTILES[i]));
    }
    return s[0] > AGREE * s[1] ? s[0] : 0;
}

static double shrunk(double y, double b) {
    double under = pow(y * y - b - 1, 2) - 4 * b;
    return y > 1 + sqrt(b) && under > 0 ? sqrt(under) / y : 0;
}

static bool is_large(const denoising *d, uint32_t at) {
    size_t columns = 3 * (size_t)(d->patches.starts[at + 1] - d->patches.starts[at]);
    return columns >= LEAST_SIDE && d->u->example_count >= LEAST_SIDE;
}

static void look_at(void *user, size_t at, pelt_arena *scratch) {
    denoising *d = user;
    pelt_example_displacements *u = d->u;
    const uint32_t *points = d->patches.points + d->patches.starts[at];
    size_t columns = 3 * (size_t)(d->patches.starts[at + 1] - d->patches.starts[at]), n = u->example_count;
    bool wide = columns > n;
    size_t side = wide ? n : columns;
    double larger = (double)(wide ? columns : n), b = (double)side / larger;
    double *y = PELT_NEW(scratch, n * columns, double), *gram = PELT_NEW(scratch, side * side, double);
    double *values = PELT_NEW(scratch, side, double), *parts = PELT_NEW(scratch, n * columns, double);
    if (!(d->level > 0) && d->noise[at] < 0) return;
    for (size_t e = 0; e < n; e++)
        for (size_t k = 0; k < columns; k++)
            y[e * columns + k] = u->positions[3 * (e * u->point_count + points[k / 3]) + k % 3];
    pelt_syrk(!wide, side, wide ? columns : n, 1, y, 0, gram);
    if (!pelt_eigen(side, gram, values)) return;
    d->noise[at] = noise_of(side, larger, values);
    if (!(d->level > 0)) return;
    double *shrink = PELT_NEW(scratch, side * side, double), *scaled = PELT_NEW(scratch, side * side, double);
    for (size_t k = 0; k < side; k++) {
        double size = sqrt(fmax(values[k], 0) / larger) / d->level, factor = size > 0 ? shrunk(size, b) / size : 0;
        for (size_t i = 0; i < side; i++) scaled[i * side + k] = gram[i * side + k] * factor;
    }
    pelt_gemm(false, true, side, side, side, 1, scaled, gram, 0, shrink);
    if (wide)
        pelt_gemm(false, false, n, columns, n, 1, shrink, y, 0, parts);
    else
        pelt_gemm(false, false, n, columns, columns, 1, y, shrink, 0, parts);
    for (size_t e = 0; e < n; e++)
        for (size_t k = 0; k < columns; k++)
            u->positions[3 * (e * u->point_count + points[k / 3]) + k % 3] = (float)parts[e * columns + k];
}

/* The median over some patches. */
static double measure(pelt_arena *work, denoising *d, uint32_t threads) {
    uint32_t count = 0, large = 0, step;
    for (uint32_t p = 0; p < d->patches.count; p++) large += is_large(d, p);
    step = 1 + large / SAMPLES, large = 0;
    for (uint32_t p = 0; p < d->patches.count; p++) d->noise[p] = is_large(d, p) && large++ % step == 0 ? 0 : -1;
    pelt_parallel(work, threads, d->patches.count, look_at, d);
    for (uint32_t p = 0; p < d->patches.count; p++)
        if (d->noise[p] >= 0) d->noise[count++] = d->noise[p];
    return pelt_quantile(d->noise, count, 0.5);
}

double pelt_remove_noise(pelt_arena *arena, const pelt_model *model, pelt_example_displacements *u, uint32_t threads) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    denoising d = {.u = u, .patches = pelt_patches_of(work, model, u, PATCH, MOST_PATCHES)};
    d.noise = PELT_NEW(work, d.patches.count, double);
    double level = measure(work, &d, threads);
    if (!(level > SLIGHT * pelt_diagonal(model->positions, model->vertex_count))) return 0;
    d.level = level;
    pelt_parallel(work, threads, d.patches.count, look_at, &d);
    return level;
}
