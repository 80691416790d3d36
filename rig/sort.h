/* sort.h: comparison functions for qsort, and quantiles. */

#ifndef PELT_SORT_H
#define PELT_SORT_H

#include <stddef.h>
#include <stdint.h>

/* For qsort: ascending. */
int pelt_rising_floats(const void *a, const void *b);
int pelt_rising_doubles(const void *a, const void *b);
int pelt_rising_integers(const void *a, const void *b); /* uint32_t */

/* A number and whose it is. */
typedef struct pelt_ranked {
    double value;
    uint32_t index;
} pelt_ranked;

/* For qsort: by value; equal ones by rising index. */
int pelt_rising_ranks(const void *a, const void *b);
int pelt_falling_ranks(const void *a, const void *b);

/* The quantile of a share (0 to 1), nearest rank; 0 if there are no values. Changes their order. */
float pelt_quantile_floats(float *values, size_t count, double share);
double pelt_quantile(double *values, size_t count, double share);

#endif
