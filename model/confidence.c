/* confidence.c: the variance of a region in double, as runtime/confidence.inc computes it in floats. */

#include "model/confidence.h"
#include <math.h>

void pelt_doubt_features(const pelt_doubt_region *region, const double *x, double h[PELT_DOUBT_FEATURES]) {
    for (int k = 0; k < PELT_DOUBT_FEATURES; k++) h[k] = 0;
    for (size_t i = 0; i < 3 * (size_t)region->input_count; i++)
        for (size_t k = 0; k < PELT_DOUBT_FEATURES; k++) h[k] += x[i] * region->matrix[i * PELT_DOUBT_FEATURES + k];
    for (int k = 0; k < PELT_DOUBT_FEATURES; k++) h[k] = fmax(h[k], 0);
}

double pelt_doubt_variance(const pelt_doubt_region *region, const double *x) {
    double h[PELT_DOUBT_FEATURES], squares = 0, folded = 0;
    pelt_doubt_features(region, x, h);
    for (int k = 0; k < PELT_DOUBT_FEATURES; k++) squares += h[k] * h[k];
    for (size_t r = 0; r < PELT_DOUBT_RANK; r++) {
        double y = 0;
        for (size_t k = 0; k < PELT_DOUBT_FEATURES; k++) y += h[k] * region->fold[k * PELT_DOUBT_RANK + r];
        folded += y * y;
    }
    return region->rest * squares + folded;
}
