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

/* Hoare's FIND: the k-th value comes to its place, smaller ones before it and larger ones behind, in time that is in proportion
   to their number unless they are arranged against it; then sorting what is left takes over. */
#define FIND(number, name, rising)                                                                                     \
    static void name(number *values, size_t count, size_t k) {                                                         \
        ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, place = (ptrdiff_t)k;                                          \
        for (int round = 0; low < high; round++) {                                                                     \
            if (round == MOST_ROUNDS) {                                                                                \
                qsort(values + low, (size_t)(high - low + 1), sizeof *values, rising);                                 \
                return;                                                                                                \
            }                                                                                                          \
            number pivot = values[place];                                                                              \
            ptrdiff_t i = low, j = high;                                                                               \
            while (i <= j) {                                                                                           \
                while (i < high && values[i] < pivot) i++;                                                             \
                while (j > low && pivot < values[j]) j--;                                                              \
                if (i > j) break;                                                                                      \
                number other = values[i];                                                                              \
                values[i++] = values[j], values[j--] = other;                                                          \
            }                                                                                                          \
            if (j < place) low = i;                                                                                    \
            if (place < i) high = j;                                                                                   \
        }                                                                                                              \
    }

enum { MOST_ROUNDS = 60 };
FIND(float, find_float, pelt_rising_floats)
FIND(double, find_double, pelt_rising_doubles)

float pelt_quantile_floats(float *values, size_t count, double share) {
    if (!count) return 0;
    find_float(values, count, nearest(count, share));
    return values[nearest(count, share)];
}

double pelt_quantile(double *values, size_t count, double share) {
    if (!count) return 0;
    find_double(values, count, nearest(count, share));
    return values[nearest(count, share)];
}
