/* bench.c: the median and the best of many runs. */

#include "bench/bench.h"
#include "rig/sort.h"
#include <stdlib.h>

bench_time bench_time_of(double *rounds, size_t count) {
    qsort(rounds, count, sizeof *rounds, pelt_rising_doubles);
    return (bench_time){rounds[count / 2], rounds[0]};
}
