/* sort.c: comparison functions and quantiles. */

#include "rig/sort.h"
#include <stdlib.h>

int pelt_rising_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int pelt_rising_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int pelt_rising_integers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_ranks(const pelt_ranked *x, const pelt_ranked *y, int rising) {
    if (x->value != y->value) return x->value > y->value ? rising : -rising;
    return (x->index > y->index) - (x->index < y->index);
}

int pelt_rising_ranks(const void *a, const void *b) { return compare_ranks(a, b, 1); }

int pelt_falling_ranks(const void *a, const void *b) { return compare_ranks(a, b, -1); }

static size_t nearest(size_t count, double share) { return (size_t)(share * (double)(count - 1) + 0.5); }

float pelt_quantile_floats(float *values, size_t count, double share) {
    qsort(values, count, sizeof *values, pelt_rising_floats);
    return count ? values[nearest(count, share)] : 0;
}

double pelt_quantile(double *values, size_t count, double share) {
    qsort(values, count, sizeof *values, pelt_rising_doubles);
    return count ? values[nearest(count, share)] : 0;
}
