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

static size_t nearest(size_t count, double share) { return (size_t)(share * (double)(count - 1) + 0.5); }

float pelt_quantile_floats(float *values, size_t count, double share) {
    qsort(values, count, sizeof *values, pelt_rising_floats);
    return count ? values[nearest(count, share)] : 0;
}

double pelt_quantile(double *values, size_t count, double share) {
    qsort(values, count, sizeof *values, pelt_rising_doubles);
    return count ? values[nearest(count, share)] : 0;
}
