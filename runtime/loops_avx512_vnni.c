/* loops_avx512_vnni.c: short_features.inc for processors that multiply pairs of 16-bit numbers and accumulate in one
   instruction. Results are identical. */

#include "runtime/loops.h"

#if defined(__AVX512VNNI__)
#include "runtime/wide_avx512.h"
#include "runtime/wide.inc"

#include "runtime/short_features.inc"

void pelt_short_features_vnni(const pelt_corrective_job *job, const pelt_file_features *f) { short_features(job, f); }
#endif
