/* bench.h: shared by all benchmarks. Machines are noisy: everything runs many times, and the median and the best are
   reported. */

#ifndef BENCH_H
#define BENCH_H

#include "rig/rig.h"
#include "rig/sort.h"
#include <stdlib.h>

typedef struct bench_time {
    double median, best;
} bench_time;

/* Random numbers from -1 to 1. */
static inline float bench_noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

/* Sorts the rounds. */
static inline bench_time bench_time_of(double *rounds, size_t count) {
    qsort(rounds, count, sizeof *rounds, pelt_rising_doubles);
    return (bench_time){rounds[count / 2], rounds[0]};
}

#endif
