/* loops_avx2.c: the loops, sixteen vertices at a time in pairs of 8-wide registers, one matrix row at a time: 8
   accumulators, 2 weights and 4 broadcasts fit the 16 registers. */

#include "runtime/loops.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define LANES 8
#define VECTORS 2
#define POINTWISE 0
#define ROWS 1
#define CENTERS 4
#define power_of_two_coarse power_of_two
#define LOOPS pelt_loops_avx2

typedef float wide __attribute__((vector_size(32)));

static inline wide load(const float *p) { return (wide)_mm256_load_ps(p); }
static inline wide load_half(const uint16_t *p) { return (wide)_mm256_cvtph_ps(_mm_load_si128((const void *)p)); }

static inline wide multiply_shorts(const int16_t *p, const int16_t *factors) {
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return (wide)_mm256_cvtepi32_ps(_mm256_madd_epi16(_mm256_load_si256((const __m256i *)p), _mm256_set1_epi32(both)));
}

typedef int32_t wide_whole __attribute__((vector_size(32)));
static inline wide wide_of(wide_whole x) { return (wide)_mm256_cvtepi32_ps((__m256i)x); }

static inline wide_whole add_products(wide_whole sum, const int16_t *p, __m256i factors) {
    return (wide_whole)_mm256_add_epi32((__m256i)sum,
                                        _mm256_madd_epi16(_mm256_load_si256((const __m256i *)p), factors));
}

static inline wide_whole add_pairs(wide_whole sum, const int16_t *p, const int16_t *factors) {
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return add_products(sum, p, _mm256_set1_epi32(both));
}

static inline wide_whole add_eight(wide_whole sum, const int16_t *p, const int16_t *factors) {
    return add_products(sum, p, _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)factors)));
}

static inline void store_whole(int16_t *p, wide x) {
    __m256i whole = _mm256_srai_epi32(_mm256_slli_epi32(_mm256_castps_si256((__m256)(x + ROUND_MAGIC)), 16), 16);
    _mm_storeu_si128((__m128i *)p, _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1)));
}

static inline void sum_tile(const wide_whole x[2], float out[4]) {
    __m256i s = _mm256_hadd_epi32((__m256i)x[0], (__m256i)x[1]);
    s = _mm256_hadd_epi32(s, s);
    _mm_storeu_ps(out, _mm_cvtepi32_ps(_mm_unpacklo_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1))));
}

static inline void split_shorts(const int16_t *p, wide *low, wide *high) {
    __m256i both = _mm256_load_si256((const __m256i *)p);
    *low = (wide)_mm256_cvtepi32_ps(_mm256_slli_epi32(both, 16));
    *high = (wide)_mm256_cvtepi32_ps(both);
}

static inline void store(float *p, wide x) { _mm256_storeu_ps(p, (__m256)x); }
static inline wide square_root(wide x) { return (wide)_mm256_sqrt_ps((__m256)x); }
static inline wide smaller(wide a, wide b) { return (wide)_mm256_min_ps((__m256)a, (__m256)b); }
static inline wide larger(wide a, wide b) { return (wide)_mm256_max_ps((__m256)a, (__m256)b); }

static inline wide reciprocal(wide x) {
    wide y = (wide)_mm256_rcp_ps((__m256)x);
    return y * (2.0f - x * y);
}

static inline int any_above(wide x, float limit) {
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)x, _mm256_set1_ps(limit), _CMP_GT_OQ)) != 0;
}

static inline wide power_of_whole(wide x) {
    __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32((__m256)x), 23);
    return (wide)_mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_castps_si256(_mm256_set1_ps(1))));
}

static inline float largest_lane(wide x) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

static inline float sum_lanes(wide x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline void sum_four(const wide x[4], float *out) {
    __m256 twos =
        _mm256_hadd_ps(_mm256_hadd_ps((__m256)x[0], (__m256)x[1]), _mm256_hadd_ps((__m256)x[2], (__m256)x[3]));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(twos), _mm256_extractf128_ps(twos, 1)));
}

static inline wide power_of_two(wide x) {
    __m256 clamped = _mm256_max_ps((__m256)x, _mm256_set1_ps(-126));
    __m256 whole = _mm256_round_ps(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    wide f = (wide)(clamped - whole), p = POWER_POLYNOMIAL(f);
    return (wide)_mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_castps_si256((__m256)p), _mm256_slli_epi32(_mm256_cvtps_epi32(whole), 23)));
}

/* The instruction is accurate to 12 bits; one Newton step doubles them. */
static inline wide reciprocal_sqrt(wide x) {
    wide y = (wide)_mm256_rsqrt_ps((__m256)x);
    return y * (1.5f - 0.5f * x * y * y);
}

static inline wide root_of_positive(wide x) {
    wide y = (wide)_mm256_rsqrt_ps((__m256)x), root = x * y;
    return root + 0.5f * root * (1.0f - root * y);
}

static inline wide quick_root(wide x) { return root_of_positive(larger(x, (wide){0} + 1e-30f)); }

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

static inline __attribute__((always_inline)) void store_xyzw(float *out, wide x, wide y, wide z, wide w, int stream) {
    __m256 xy = _mm256_unpacklo_ps((__m256)x, (__m256)y), zw = _mm256_unpacklo_ps((__m256)z, (__m256)w),
           xy2 = _mm256_unpackhi_ps((__m256)x, (__m256)y), zw2 = _mm256_unpackhi_ps((__m256)z, (__m256)w);
    __m256 v0 = _mm256_shuffle_ps(xy, zw, 0x44), v1 = _mm256_shuffle_ps(xy, zw, 0xee), /* and vertex 4, 5, 6, 7 */
        v2 = _mm256_shuffle_ps(xy2, zw2, 0x44), v3 = _mm256_shuffle_ps(xy2, zw2, 0xee);
    __m256 pairs[] = {_mm256_permute2f128_ps(v0, v1, 0x20), _mm256_permute2f128_ps(v2, v3, 0x20),
                      _mm256_permute2f128_ps(v0, v1, 0x31), _mm256_permute2f128_ps(v2, v3, 0x31)};
    for (int i = 0; i < 4; i++) {
        if (stream)
            _mm256_stream_ps(out + 8 * i, pairs[i]);
        else
            _mm256_storeu_ps(out + 8 * i, pairs[i]);
    }
}

/* Two rows, four apart, side by side: their halves are transposed as one. */
static inline __m256 two_rows(const float *from, const uint32_t *places) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + places[0])), _mm_loadu_ps(from + places[4]),
                                1);
}

static inline __attribute__((always_inline)) void columns(const float *from, const uint32_t *places, wide out[4]) {
    __m256 a = two_rows(from, places), b = two_rows(from, places + 1), c = two_rows(from, places + 2),
           d = two_rows(from, places + 3);
    __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d), ab2 = _mm256_unpackhi_ps(a, b),
           cd2 = _mm256_unpackhi_ps(c, d);
    out[0] = (wide)_mm256_shuffle_ps(ab, cd, 0x44), out[1] = (wide)_mm256_shuffle_ps(ab, cd, 0xee);
    out[2] = (wide)_mm256_shuffle_ps(ab2, cd2, 0x44), out[3] = (wide)_mm256_shuffle_ps(ab2, cd2, 0xee);
}

static inline void put_three(char *to, const float *from) { memcpy(to, from, 12); }
static inline void put_halves(char *to, four x) {
    const __m128 most = _mm_set1_ps(LARGEST_HALF), least = _mm_set1_ps(-LARGEST_HALF);
    __m128 bounded = _mm_max_ps(_mm_min_ps((__m128)x, most), least);
    _mm_storel_epi64((__m128i *)to, _mm_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline void stream_fence(void) { _mm_sfence(); }

#include "runtime/loops.inc"
#endif
