/* loops_avx512.c: the AVX-512 loops, and the table of those with VNNI. */

#include "runtime/loops.h"

#if defined(__AVX512F__)
#include "runtime/wide_avx512.h"

#define LOOPS pelt_loops_avx512
#include "runtime/loops.inc"

const pelt_loops pelt_loops_avx512_vnni = ALL_LOOPS(pelt_short_features_vnni);
#endif
