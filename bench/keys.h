/* keys.h: how fast points are filled from key points. */

#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include "bench/bench.h"
#include <pelt/keys.h>

/* Keys to coordinates; coordinates to points; 32 frames of that at once. */
enum { BENCH_SOLVE, BENCH_FILL, BENCH_FILL_BATCH, BENCH_KEYS_WORK };

typedef struct bench_keys_row {
    pelt_isa isa;
    bench_time times[BENCH_KEYS_WORK]; /* seconds per frame */
} bench_keys_row;

/* Times points of three values from `basis` vectors, one row per supported instruction set (at most PELT_ISA_COUNT).
   Returns their number; 0 after an error. */
size_t bench_keys(uint32_t points, uint32_t basis, bench_keys_row *rows, pelt_error *error);

#endif
