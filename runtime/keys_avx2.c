/* keys_avx2.c: the loop of key points eight rows at a time. */

#include "runtime/keys_loops.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>

#define LANES 8
#define VECTORS 1
#define FILL pelt_fill_avx2

typedef float wide __attribute__((vector_size(32)));
static inline wide load_float(const float *p) { return (wide)_mm256_loadu_ps(p); }
static inline wide load_half(const uint16_t *p) { return (wide)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
static inline void store(float *p, wide x) { _mm256_storeu_ps(p, (__m256)x); }

#include "runtime/keys.inc"
#endif
