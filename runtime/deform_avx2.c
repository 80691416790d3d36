/* deform_avx2.c: the deform loop sixteen vertices at a time in pairs of 8-wide registers, a row of the matrix at once:
   8 accumulators, 2 weights and 4 broadcasts fit the 16 registers. */

#include "runtime/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define LANES 8
#define VECTORS 2
#define POINTWISE 0
#define ROWS 1
#define DEFORM pelt_deform_avx2

typedef float wide __attribute__((vector_size(32)));

static inline wide load(const float *p) { return (wide)_mm256_load_ps(p); }

/* The instruction gives 12 bits, one step of Newton's method doubles them. */
static inline wide reciprocal_sqrt(wide x) {
    wide y = (wide)_mm256_rsqrt_ps((__m256)x);
    return y * (1.5f - 0.5f * x * y * y);
}

static inline __attribute__((always_inline)) void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    __m256 xy = _mm256_shuffle_ps((__m256)x, (__m256)y, 0x88), yz = _mm256_shuffle_ps((__m256)y, (__m256)z, 0xdd),
           zx = _mm256_shuffle_ps((__m256)z, (__m256)x, 0xd8);
    __m256 a = _mm256_shuffle_ps(xy, zx, 0x88), b = _mm256_shuffle_ps(yz, xy, 0xd8),
           c = _mm256_shuffle_ps(zx, yz, 0xdd);
    __m256 first = _mm256_permute2f128_ps(a, b, 0x20), second = _mm256_permute2f128_ps(c, a, 0x30),
           third = _mm256_permute2f128_ps(b, c, 0x31);
    if (stream) {
        _mm256_stream_ps(out, first), _mm256_stream_ps(out + 8, second), _mm256_stream_ps(out + 16, third);
    } else {
        _mm256_storeu_ps(out, first), _mm256_storeu_ps(out + 8, second), _mm256_storeu_ps(out + 16, third);
    }
}
static inline void stream_fence(void) { _mm_sfence(); }

#include "runtime/deform.inc"
#endif
