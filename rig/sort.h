/* sort.h: orders for qsort, and quantiles. */

#ifndef PELT_SORT_H
#define PELT_SORT_H

#include <stddef.h>

/* For qsort: rising. */
int pelt_rising_floats(const void *a, const void *b);
int pelt_rising_doubles(const void *a, const void *b);

/* The value that a share (0 to 1) of the values stay under, the nearest of them; 0 where there are none. Sorts them. */
float pelt_quantile_floats(float *values, size_t count, double share);
double pelt_quantile(double *values, size_t count, double share);

#endif
