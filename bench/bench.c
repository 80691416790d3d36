/* bench.c: the median and the best of many runs. */

#include "bench/bench.h"
#include "rig/sort.h"
#include <stdlib.h>

bench_time bench_time_of(double *turns, size_t count) {
    qsort(turns, count, sizeof *turns, pelt_rising_doubles);
    return (bench_time){turns[count / 2], turns[0]};
}
