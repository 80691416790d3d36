/* bench.h: shared by all benchmarks. Machines are noisy: everything runs many times, and the median and the best are
   reported. */

#ifndef BENCH_H
#define BENCH_H

#include "rig/rig.h"

typedef struct bench_time {
    double median, best;
} bench_time;

/* Sorts the rounds. */
bench_time bench_time_of(double *rounds, size_t count);

#endif
