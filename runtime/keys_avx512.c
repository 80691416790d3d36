/* keys_avx512.c: the loop of key points sixteen rows at a time. */

#include "runtime/keys_loops.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#define LANES 16
#define VECTORS 1
#define FILL pelt_fill_avx512

typedef float wide __attribute__((vector_size(64)));
static inline wide load_float(const float *p) { return (wide)_mm512_loadu_ps(p); }
static inline wide load_half(const uint16_t *p) { return (wide)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p)); }
static inline void store(float *p, wide x) { _mm512_storeu_ps(p, (__m512)x); }

#include "runtime/keys.inc"
#endif
