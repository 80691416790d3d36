/* features_sums.c: the few sums of features that preserve most of the outputs (features.h). */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include <math.h>

/* Regularisation, relative to the mean square of the features: directions that no example shows must not be free. */
static const double UNSEEN = 1e-3;

/* a^1/2 and a^-1/2 of a symmetric matrix, which is destroyed. */
static bool square_roots(pelt_arena *scratch, size_t n, double *a, double *root, double *inverse) {
    double *values = PELT_NEW(scratch, n, double), *scaled = PELT_NEW(scratch, n * n, double);
    if (!pelt_eigen(n, a, values)) return false;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n * n; i++) scaled[i] = a[i] * pow(fmax(values[i % n], 1e-300), side ? -0.5 : 0.5);
        pelt_gemm(false, true, n, n, n, 1, scaled, a, 0, side ? inverse : root);
    }
    return true;
}

static void turn_round(size_t rows, size_t columns, double *a) {
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns / 2; i++) {
            double *x = a + r * columns + i, *y = a + r * columns + columns - 1 - i, kept = *x;
            *x = *y, *y = kept;
        }
}

bool pelt_feature_sum_up(pelt_arena *scratch, size_t width, size_t row_count, const double *h, double *squares,
                         pelt_feature_sums *out) {
    size_t size = width * width;
    double *moments = PELT_NEW(scratch, size, double), *half = PELT_NEW(scratch, size, double), trace = 0;
    double *root = PELT_NEW(scratch, size, double), *inverse = PELT_NEW(scratch, size, double);
    pelt_gemm(true, false, width, width, row_count, 1, h, h, 0, moments);
    for (size_t i = 0; i < width; i++) trace += moments[i * width + i];
    for (size_t i = 0; i < width; i++) moments[i * width + i] += UNSEEN * trace / (double)width + 1e-30;
    if (!square_roots(scratch, width, moments, root, inverse)) return false;
    pelt_gemm(false, false, width, width, width, 1, root, squares, 0, half);
    pelt_gemm(false, false, width, width, width, 1, half, root, 0, squares);
    if (!pelt_eigen(width, squares, out->values)) return false;
    turn_round(1, width, out->values), turn_round(width, width, squares);
    pelt_gemm(false, false, width, width, width, 1, root, squares, 0, out->spread);
    pelt_gemm(false, false, width, width, width, 1, inverse, squares, 0, out->mix);
    return true;
}
