/* bench.h: what all benchmarks share. Machines are noisy: everything takes many turns, and the median and the best of
   them are given. */

#ifndef BENCH_H
#define BENCH_H

#include "rig/rig.h"

typedef struct bench_time {
    double median, best;
} bench_time;

/* Of the turns, which are sorted. */
bench_time bench_time_of(double *turns, size_t count);

#endif
