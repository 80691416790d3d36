/* loops_avx512_vnni.c: the loops of loops_avx512.c, for processors that multiply pairs of numbers of 16 bits and add them to a
   sum in one instruction. Results are the same. */

#define LOOPS pelt_loops_avx512_vnni
#include "runtime/loops_avx512.c"
