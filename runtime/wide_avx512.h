/* wide_avx512.h: what wide.inc requires, with sixteen lanes: a block is one register wide, the whole blended matrix is
   twelve accumulators. */

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define LANES 16
#define VECTORS 1
#define POINTWISE 1
#define ROWS 3
#define CENTERS 8

typedef float wide __attribute__((vector_size(64)));

static inline wide load(const float *p) { return (wide)_mm512_load_ps(p); }
static inline wide load_half(const uint16_t *p) { return (wide)_mm512_cvtph_ps(_mm256_load_si256((const void *)p)); }

static inline wide multiply_shorts(const int16_t *p, const int16_t *factors) {
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return (wide)_mm512_cvtepi32_ps(_mm512_madd_epi16(_mm512_set1_epi32(both), _mm512_load_si512(p)));
}

/* A multiply-add with a memory operand is a single micro-op, but two if the address is a sum of two registers. */
static inline const float *plain_address(const float *matrix) {
    __asm__("" : "+r"(matrix));
    return matrix;
}
#define plain_address plain_address

typedef int32_t wide_whole __attribute__((vector_size(64)));
static inline wide wide_of(wide_whole x) { return (wide)_mm512_cvtepi32_ps((__m512i)x); }

/* The second of two factors can come directly from memory. */
static inline __m512i add_products(__m512i sum, __m512i factors, const int16_t *p) {
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sum, factors, _mm512_load_si512(p));
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(factors, _mm512_load_si512(p)));
#endif
}

static inline wide_whole add_pairs(wide_whole sum, const int16_t *p, const int16_t *factors) {
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return (wide_whole)add_products((__m512i)sum, _mm512_set1_epi32(both), p);
}

static inline wide_whole add_eight(wide_whole sum, const int16_t *p, const int16_t *factors) {
    __m512i eight = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)factors));
    return (wide_whole)add_products((__m512i)sum, eight, p);
}

static inline void store_whole(int16_t *p, wide x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_castps_si512((__m512)(x + ROUND_MAGIC))));
}

#define OWN_PRODUCTS
static inline wide factor_products(const pelt_factor *factors, const float *coefficients) {
    const __m512i firsts = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                  seconds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    __m512i a = _mm512_loadu_si512(factors), b = _mm512_loadu_si512(factors + 8);
    __m512 steps = _mm512_castsi512_ps(_mm512_permutex2var_epi32(a, seconds, b));
    return (wide)_mm512_mul_ps(steps, _mm512_i32gather_ps(_mm512_permutex2var_epi32(a, firsts, b), coefficients, 4));
}

static inline void split_shorts(const int16_t *p, wide *low, wide *high) {
    __m512i both = _mm512_load_si512(p);
    *low = (wide)_mm512_cvtepi32_ps(_mm512_slli_epi32(both, 16));
    *high = (wide)_mm512_cvtepi32_ps(both);
}

static inline void store(float *p, wide x) { _mm512_storeu_ps(p, (__m512)x); }
static inline wide square_root(wide x) { return (wide)_mm512_sqrt_ps((__m512)x); }
static inline wide smaller(wide a, wide b) { return (wide)_mm512_min_ps((__m512)a, (__m512)b); }
static inline wide larger(wide a, wide b) { return (wide)_mm512_max_ps((__m512)a, (__m512)b); }
static inline wide reciprocal(wide x) {
    wide y = (wide)_mm512_rcp14_ps((__m512)x);
    return y * (2.0f - x * y);
}
static inline int any_above(wide x, float limit) {
    return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
}
static inline wide power_of_whole(wide x) { return (wide)_mm512_scalef_ps(_mm512_set1_ps(1), (__m512)x); }
static inline float largest_lane(wide x) { return _mm512_reduce_max_ps((__m512)x); }
static inline float sum_lanes(wide x) { return _mm512_reduce_add_ps((__m512)x); }

/* Pairs of lanes, pairs of pairs; then every quarter of a register has one number of each. */
static inline void sum_four(const wide x[4], float *out) {
    __m512 a = _mm512_add_ps(_mm512_unpacklo_ps((__m512)x[0], (__m512)x[1]),
                             _mm512_unpackhi_ps((__m512)x[0], (__m512)x[1])),
           b = _mm512_add_ps(_mm512_unpacklo_ps((__m512)x[2], (__m512)x[3]),
                             _mm512_unpackhi_ps((__m512)x[2], (__m512)x[3]));
    __m512 s = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
    __m256 t = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

/* Four tiles at once: their rows become columns. */
#define OWN_TILE_SUMS
static inline __m512i add_neighbours(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

static inline __attribute__((always_inline)) void store_sums(wide_whole sum[4][1], int fours, const float *steps,
                                                             float scale, float *out) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i a = add_neighbours((__m512i)sum[0][0], (__m512i)sum[1][0]),
            b = add_neighbours((__m512i)sum[2][0], (__m512i)sum[3][0]);
    __m512i rows = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    __m512 values = _mm512_cvtepi32_ps(_mm512_permutexvar_epi32(order, rows));
    __mmask16 wanted = (__mmask16)((1u << 4 * fours) - 1);
    __m512 scales = _mm512_mul_ps(_mm512_maskz_loadu_ps(wanted, steps), _mm512_set1_ps(scale));
    _mm512_mask_storeu_ps(out, wanted, _mm512_mul_ps(values, scales));
}

/* Split at the integer below, since that is what the last instruction scales by; relative error 8e-8, and exact for
   integer x. */
static inline wide power_of_two(wide x) {
    wide f = (wide)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    wide p = f * 0.00186713107f + 0.00901702811f;
    p = p * f + 0.0557999148f;
    p = p * f + 0.24016445f;
    p = p * f + 0.693151312f;
    p = p * f + 1.0f;
    return (wide)_mm512_scalef_ps((__m512)p, (__m512)x);
}

/* For multiplication with half floats: relative error 3e-6. */
static inline wide power_of_two_coarse(wide x) {
    wide f = (wide)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    wide p = f * 0.0135341657f + 0.0520114686f;
    p = p * f + 0.241442749f;
    p = p * f + 0.693003837f;
    p = p * f + 1.00000259f;
    return (wide)_mm512_scalef_ps((__m512)p, (__m512)x);
}

/* The instruction is accurate to 14 bits; one Newton step doubles them. */
static inline wide reciprocal_sqrt(wide x) {
    wide y = (wide)_mm512_rsqrt14_ps((__m512)x);
    return y * (1.5f - 0.5f * x * y * y);
}

/* The mixed function of `count` vectors (a constant), step by step for all of them, since each is a long dependency
   chain: shares of a Gaussian, to 8e-8, and of an exponential, to 3e-6, of the distance. The root uses the reciprocal
   root: the square root instruction takes as long as two dozen others. x holds the factor of the Newton step and the
   exponential. No q is above 0, since weights are not negative. */
#define OWN_MIXED
#define MIXED_AT_ONCE 4
static inline __attribute__((always_inline)) wide fraction(wide x) {
    return (wide)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

#define EACH _Pragma("GCC unroll 16") for (int i = 0; i < count; i++)
static inline __attribute__((always_inline)) void mixed_values(wide *q, int count) {
    const float g = 1 - MIXED_SHARE, e = MIXED_SHARE, scale = -0.25f * GAUSSIAN_TO_EXP * GAUSSIAN_TO_EXP;
    wide x[MIXED_AT_ONCE], y[MIXED_AT_ONCE], f[MIXED_AT_ONCE], p[MIXED_AT_ONCE];
    EACH x[i] = q[i] * scale + 1e-30f; /* above 0 */
    EACH f[i] = fraction(q[i]);
    EACH y[i] = (wide)_mm512_rsqrt14_ps((__m512)x[i]);
    EACH p[i] = f[i] * (g * 0.00186713107f) + g * 0.00901702811f;
    EACH x[i] = x[i] * y[i];
    EACH p[i] = p[i] * f[i] + g * 0.0557999148f;
    EACH y[i] = x[i] * y[i] - 3.0f;
    EACH p[i] = p[i] * f[i] + g * 0.24016445f;
    EACH x[i] = x[i] * y[i]; /* minus the root, scaled */
    EACH p[i] = p[i] * f[i] + g * 0.693151312f;
    EACH p[i] = p[i] * f[i] + g;
    EACH f[i] = fraction(x[i]);
    EACH q[i] = (wide)_mm512_scalef_ps((__m512)p[i], (__m512)q[i]);
    EACH p[i] = f[i] * (e * 0.0135341657f) + e * 0.0520114686f;
    EACH p[i] = p[i] * f[i] + e * 0.241442749f;
    EACH p[i] = p[i] * f[i] + e * 0.693003837f;
    EACH p[i] = p[i] * f[i] + e * 1.00000259f;
    EACH q[i] += (wide)_mm512_scalef_ps((__m512)p[i], (__m512)x[i]);
}
#undef EACH

static inline wide root_of_positive(wide x) {
    wide y = (wide)_mm512_rsqrt14_ps((__m512)x), root = x * y;
    return root + 0.5f * root * (1.0f - root * y);
}

static inline wide quick_root(wide x) { return root_of_positive(larger(x, (wide){0} + 1e-30f)); }

/* Gathers some numbers of an array, with zeros up to a multiple of sixteen. */
#define OWN_GATHER
static inline void gather(const float *from, const uint32_t *list, size_t count, float *out) {
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 own = (__mmask16)(count - i < 16 ? (1u << (count - i)) - 1 : 0xffff);
        __m512i places = _mm512_maskz_loadu_epi32(own, list + i);
        _mm512_store_ps(out + i, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), own, places, from, 4));
    }
}

static inline __attribute__((always_inline)) void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    /* Each output register gets its x and y by one permutation of two registers, then its z by another. */
    const __m512i xy0 = _mm512_setr_epi32(0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5),
                  z0 = _mm512_setr_epi32(0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15),
                  xy1 = _mm512_setr_epi32(21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26),
                  z1 = _mm512_setr_epi32(0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15),
                  xy2 = _mm512_setr_epi32(0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0),
                  z2 = _mm512_setr_epi32(26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31);
    __m512 a = _mm512_permutex2var_ps(_mm512_permutex2var_ps((__m512)x, xy0, (__m512)y), z0, (__m512)z),
           b = _mm512_permutex2var_ps(_mm512_permutex2var_ps((__m512)x, xy1, (__m512)y), z1, (__m512)z),
           c = _mm512_permutex2var_ps(_mm512_permutex2var_ps((__m512)x, xy2, (__m512)y), z2, (__m512)z);
    if (stream) {
        _mm512_stream_ps(out, a), _mm512_stream_ps(out + 16, b), _mm512_stream_ps(out + 32, c);
    } else {
        _mm512_storeu_ps(out, a), _mm512_storeu_ps(out + 16, b), _mm512_storeu_ps(out + 32, c);
    }
}

static inline __attribute__((always_inline)) void store_xyzw(float *out, wide x, wide y, wide z, wide w, int stream) {
    __m512 xy = _mm512_unpacklo_ps((__m512)x, (__m512)y), zw = _mm512_unpacklo_ps((__m512)z, (__m512)w),
           xy2 = _mm512_unpackhi_ps((__m512)x, (__m512)y), zw2 = _mm512_unpackhi_ps((__m512)z, (__m512)w);
    __m512 v0 = _mm512_shuffle_ps(xy, zw, 0x44), v1 = _mm512_shuffle_ps(xy, zw, 0xee), /* and every fourth after */
        v2 = _mm512_shuffle_ps(xy2, zw2, 0x44), v3 = _mm512_shuffle_ps(xy2, zw2, 0xee);
    __m512 a = _mm512_shuffle_f32x4(v0, v1, 0x44), b = _mm512_shuffle_f32x4(v2, v3, 0x44),
           c = _mm512_shuffle_f32x4(v0, v1, 0xee), d = _mm512_shuffle_f32x4(v2, v3, 0xee);
    __m512 fours[] = {_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd),
                      _mm512_shuffle_f32x4(c, d, 0x88), _mm512_shuffle_f32x4(c, d, 0xdd)};
    for (int i = 0; i < 4; i++) {
        if (stream)
            _mm512_stream_ps(out + 16 * i, fours[i]);
        else
            _mm512_storeu_ps(out + 16 * i, fours[i]);
    }
}

/* Four rows, four apart, side by side: their quarters are transposed as one. */
static inline __m512 four_rows(const float *from, const uint32_t *places) {
    __m256 a = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + places[0])),
                                    _mm_loadu_ps(from + places[4]), 1),
           b = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + places[8])),
                                    _mm_loadu_ps(from + places[12]), 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}

static inline __attribute__((always_inline)) void columns(const float *from, const uint32_t *places, wide out[4]) {
    __m512 a = four_rows(from, places), b = four_rows(from, places + 1), c = four_rows(from, places + 2),
           d = four_rows(from, places + 3);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d), ab2 = _mm512_unpackhi_ps(a, b),
           cd2 = _mm512_unpackhi_ps(c, d);
    out[0] = (wide)_mm512_shuffle_ps(ab, cd, 0x44), out[1] = (wide)_mm512_shuffle_ps(ab, cd, 0xee);
    out[2] = (wide)_mm512_shuffle_ps(ab2, cd2, 0x44), out[3] = (wide)_mm512_shuffle_ps(ab2, cd2, 0xee);
}

/* A whole 3x4 matrix, four lanes per row; the last four lanes are unused. */
#define WHOLE_MATRICES
typedef __m512 affine;

static inline affine load_affine(const float *p) { return _mm512_load_ps(p); }
static inline void store_affine(float *p, affine m) { _mm512_store_ps(p, m); }

static inline affine product_of_rows(affine a, __m512 b0, __m512 b1, __m512 b2) {
    const __m512 last = _mm512_broadcast_f32x4(_mm_setr_ps(0, 0, 0, 1));
    return _mm512_add_ps(_mm512_fmadd_ps(_mm512_permute_ps(a, 0x00), b0, _mm512_mul_ps(_mm512_permute_ps(a, 0x55), b1)),
                         _mm512_fmadd_ps(_mm512_permute_ps(a, 0xaa), b2, _mm512_mul_ps(a, last)));
}

static inline affine product_of(affine a, affine b) {
    return product_of_rows(a, _mm512_shuffle_f32x4(b, b, 0x00), _mm512_shuffle_f32x4(b, b, 0x55),
                           _mm512_shuffle_f32x4(b, b, 0xaa));
}

static inline __m512 four_times(const float *p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }

static inline affine product_with(affine a, const float *b) {
    return product_of_rows(a, four_times(b), four_times(b + 4), four_times(b + 8));
}

/* As in pose.inc: entries of the rotation are sums of two products, and 1 on the diagonal. */
static inline affine local_map(const pelt_transform *t, float norm) {
    const __m512i a = _mm512_setr_epi32(1, 0, 0, 3, 0, 0, 1, 3, 0, 1, 0, 3, 3, 3, 3, 3),
                  b = _mm512_setr_epi32(1, 1, 2, 3, 1, 0, 2, 3, 2, 2, 0, 3, 3, 3, 3, 3),
                  c = _mm512_setr_epi32(2, 3, 3, 3, 3, 2, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3),
                  d = _mm512_setr_epi32(2, 2, 1, 3, 2, 2, 0, 3, 1, 0, 1, 3, 3, 3, 3, 3),
                  places = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0);
    const __m512 ab = _mm512_setr_ps(-1, 1, 1, 0, 1, -1, 1, 0, 1, 1, -1, 0, 0, 0, 0, 0),
                 cd = _mm512_setr_ps(-1, -1, 1, 0, 1, -1, -1, 0, -1, 1, -1, 0, 0, 0, 0, 0),
                 one = _mm512_setr_ps(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0);
    __m512 q = four_times(t->rotation), scale = _mm512_permute_ps(four_times(t->translation + 2), 0x39);
    __m512 sums = _mm512_mul_ps(_mm512_permutevar_ps(q, a), _mm512_mul_ps(_mm512_permutevar_ps(q, b), ab));
    sums = _mm512_fmadd_ps(_mm512_permutevar_ps(q, c), _mm512_mul_ps(_mm512_permutevar_ps(q, d), cd), sums);
    sums = _mm512_mul_ps(_mm512_fmadd_ps(sums, _mm512_set1_ps(norm > 0 ? 2 / norm : 0), one), scale);
    return _mm512_mask_permutexvar_ps(sums, 0x888, places, _mm512_castps128_ps512(_mm_loadu_ps(t->translation)));
}

static inline affine times_vector(affine m, four v) {
    __m512 x = _mm512_mul_ps(m, _mm512_broadcast_f32x4((__m128)v));
    x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xb1));
    return _mm512_add_ps(x, _mm512_permute_ps(x, 0x4e));
}

static inline affine add_outer(affine m, affine x, four v) {
    return _mm512_fmadd_ps(x, _mm512_broadcast_f32x4((__m128)v), m);
}

static inline void put_three(char *to, const float *from) { _mm_mask_storeu_ps(to, 7, _mm_loadu_ps(from)); }
static inline void put_halves(char *to, four x) {
    const __m128 most = _mm_set1_ps(LARGEST_HALF), least = _mm_set1_ps(-LARGEST_HALF);
    __m128 bounded = _mm_max_ps(_mm_min_ps((__m128)x, most), least);
    _mm_storel_epi64((__m128i *)to, _mm_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline void stream_fence(void) { _mm_sfence(); }
