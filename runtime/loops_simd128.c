/* loops_simd128.c: the loops, four vertices at a time: SSE2, NEON, WebAssembly. */

#include "runtime/loops.h"
#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#define LANES 4
#define VECTORS 2
#define POINTWISE 0
#if defined(__aarch64__) /* has 32 registers, the others 16 */
#define ROWS 3
#else
#define ROWS 1
#endif
#define CENTERS 4
#define power_of_two_coarse power_of_two
#define LOOPS pelt_loops_simd128

typedef float wide __attribute__((vector_size(16)));
typedef int32_t wide_int __attribute__((vector_size(16), may_alias));
typedef int32_t wide_shorts __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t wide_bits __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(8)));
typedef float wide_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

static inline wide load(const float *p) { return *(const wide_unaligned *)p; }

/* As in half.h, four at once. */
static inline wide load_half(const uint16_t *p) {
    halves h;
    memcpy(&h, p, sizeof h);
    wide_bits bits = __builtin_convertvector(h, wide_bits);
    wide size = (wide)((bits & 0x7fff) << 13) * 0x1p112f;
    return (wide)((wide_bits)size | (bits & 0x8000) << 16);
}

static inline void store(float *p, wide x) { *(wide_unaligned *)p = x; }

/* a < b ? a : b and a > b ? a : b, with the same result for NaN. */
#if defined(__SSE2__)
static inline wide smaller(wide a, wide b) { return (wide)_mm_min_ps((__m128)a, (__m128)b); }
static inline wide larger(wide a, wide b) { return (wide)_mm_max_ps((__m128)a, (__m128)b); }
#elif defined(__wasm_simd128__)
static inline wide smaller(wide a, wide b) { return (wide)wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
static inline wide larger(wide a, wide b) { return (wide)wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
#else
static inline wide choose(wide_int mask, wide a, wide b) {
    return (wide)((mask & (wide_int)a) | (~mask & (wide_int)b));
}
static inline wide smaller(wide a, wide b) { return choose(a < b, a, b); }
static inline wide larger(wide a, wide b) { return choose(a > b, a, b); }
#endif

/* Integer shuffles need no copy of the row, and no load per number. */
#if defined(__SSE2__)
#define SPREAD 32
#define matrix_entry matrix_entry
static inline __attribute__((always_inline)) wide matrix_entry(const float *matrix, int c) {
    wide_int row = *(const wide_int *)(matrix + c / 4 * 4);
    return (wide)(c % 4 == 0   ? __builtin_shufflevector(row, row, 0, 0, 0, 0)
                  : c % 4 == 1 ? __builtin_shufflevector(row, row, 1, 1, 1, 1)
                  : c % 4 == 2 ? __builtin_shufflevector(row, row, 2, 2, 2, 2)
                               : __builtin_shufflevector(row, row, 3, 3, 3, 3));
}
#endif

static inline wide reciprocal(wide x) { return 1.0f / x; }
static inline int any_above(wide x, float limit) {
#if defined(__SSE2__)
    return _mm_movemask_ps(_mm_cmpgt_ps((__m128)x, _mm_set1_ps(limit))) != 0;
#elif defined(__wasm_simd128__)
    return wasm_v128_any_true(wasm_f32x4_gt((v128_t)x, wasm_f32x4_splat(limit)));
#else
    wide_int above = x > limit;
    return (above[0] | above[1] | above[2] | above[3]) != 0;
#endif
}

/* The low bits of the sum are the integer; they are added to the exponent of 1. */
static inline wide power_of_whole(wide x) {
    return (wide)(((wide_bits)(x + ROUND_MAGIC) << 23) + (wide_bits)((wide){0} + 1.0f));
}

static inline float largest_lane(wide x) {
    x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    return larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2))[0];
}
static inline float sum_lanes(wide x) { return (x[0] + x[1]) + (x[2] + x[3]); }

/* Sums the lanes of each of four, in the same order. */
static inline void sum_four(const wide x[4], float *out) {
    wide a = __builtin_shufflevector(x[0], x[1], 0, 2, 4, 6) + __builtin_shufflevector(x[0], x[1], 1, 3, 5, 7),
         b = __builtin_shufflevector(x[2], x[3], 0, 2, 4, 6) + __builtin_shufflevector(x[2], x[3], 1, 3, 5, 7);
    *(wide_unaligned *)out = __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

static inline wide multiply_shorts(const int16_t *p, const int16_t *factors) {
    wide_int both_rows = *(const wide_shorts *)p;
#if defined(__SSE2__)
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return (wide)_mm_cvtepi32_ps(_mm_madd_epi16((__m128i)both_rows, _mm_set1_epi32(both)));
#elif defined(__wasm_simd128__)
    int32_t both;
    memcpy(&both, factors, sizeof both);
    return (wide)wasm_f32x4_convert_i32x4(wasm_i32x4_dot_i16x8((v128_t)both_rows, wasm_i32x4_splat(both)));
#else
    wide_int low = (both_rows << 16) >> 16, high = both_rows >> 16;
    return __builtin_convertvector(low * factors[0] + high * factors[1], wide);
#endif
}

typedef wide_int wide_whole;
static inline wide wide_of(wide_whole x) { return __builtin_convertvector(x, wide); }

static inline void sum_tile(const wide_whole x[4], float out[4]) {
    wide_int a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5) + __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7),
             b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5) + __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    wide_int rows = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(wide_unaligned *)out = wide_of(rows);
}

static inline wide_whole add_eight(wide_whole sum, const int16_t *p, const int16_t *factors) {
    wide_int x = *(const wide_shorts *)p, y = *(const wide_shorts *)factors;
#if defined(__SSE2__)
    return (wide_whole)_mm_add_epi32((__m128i)sum, _mm_madd_epi16((__m128i)x, (__m128i)y));
#elif defined(__wasm_simd128__)
    return (wide_whole)wasm_i32x4_add((v128_t)sum, wasm_i32x4_dot_i16x8((v128_t)x, (v128_t)y));
#elif defined(__aarch64__)
    int16x8_t a = (int16x8_t)x, b = (int16x8_t)y;
    return (wide_whole)vaddq_s32((int32x4_t)sum,
                                 vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
#else
    wide_bits low = (wide_bits)((x << 16) >> 16) * (wide_bits)((y << 16) >> 16);
    return (wide_whole)((wide_bits)sum + low + (wide_bits)(x >> 16) * (wide_bits)(y >> 16));
#endif
}

static inline wide_whole add_pairs(wide_whole sum, const int16_t *p, const int16_t *factors) {
    int32_t both;
    memcpy(&both, factors, sizeof both);
    wide_int pair = {both, both, both, both};
    return add_eight(sum, p, (const int16_t *)&pair);
}

static inline void store_whole(int16_t *p, wide x) {
    wide_bits bits = (wide_bits)(x + ROUND_MAGIC);
#if defined(__SSE2__)
    __m128i whole = _mm_srai_epi32(_mm_slli_epi32((__m128i)bits, 16), 16);
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi32(whole, whole));
#else
    halves whole = __builtin_convertvector(bits, halves);
    memcpy(p, &whole, sizeof whole);
#endif
}

static inline void split_shorts(const int16_t *p, wide *low, wide *high) {
    wide_int both = *(const wide_shorts *)p;
    *low = __builtin_convertvector(both << 16, wide);
    *high = __builtin_convertvector(both, wide);
}

static inline wide power_of_two(wide x) {
    wide clamped = larger(x, (wide){0} - 126.0f), shifted = clamped + ROUND_MAGIC,
         f = clamped - (shifted - ROUND_MAGIC);
    wide p = POWER_POLYNOMIAL(f);
    return (wide)((wide_bits)p + ((wide_bits)shifted << 23)); /* the low bits of `shifted` are the integer */
}

static inline wide square_root(wide x) {
#if defined(__SSE2__)
    return (wide)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
    return (wide)vsqrtq_f32((float32x4_t)x);
#elif defined(__wasm_simd128__)
    return (wide)wasm_f32x4_sqrt((v128_t)x);
#else
    return (wide){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
#endif
}

static inline wide quick_root(wide x) { return square_root(x); }
static inline wide root_of_positive(wide x) { return quick_root(x); }
#if defined(__SSE2__) /* the instruction is accurate to 12 bits; one Newton step doubles them */
static inline wide reciprocal_sqrt(wide x) {
    wide y = (wide)_mm_rsqrt_ps((__m128)x);
    return y * (1.5f - 0.5f * x * y * y);
}
#else
static inline wide reciprocal_sqrt(wide x) { return 1.0f / square_root(x); }
#endif

static inline void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    (void)stream;
    wide xy = __builtin_shufflevector(x, y, 0, 2, 4, 6), yz = __builtin_shufflevector(y, z, 1, 3, 5, 7),
         zx = __builtin_shufflevector(z, x, 0, 2, 5, 7);
    *(wide_unaligned *)out = __builtin_shufflevector(xy, zx, 0, 2, 4, 6);
    *(wide_unaligned *)(out + 4) = __builtin_shufflevector(yz, xy, 0, 2, 5, 7);
    *(wide_unaligned *)(out + 8) = __builtin_shufflevector(zx, yz, 1, 3, 5, 7);
}

static inline void store_xyzw(float *out, wide x, wide y, wide z, wide w, int stream) {
    (void)stream;
    wide xy = __builtin_shufflevector(x, y, 0, 4, 1, 5), zw = __builtin_shufflevector(z, w, 0, 4, 1, 5),
         xy2 = __builtin_shufflevector(x, y, 2, 6, 3, 7), zw2 = __builtin_shufflevector(z, w, 2, 6, 3, 7);
    *(wide_unaligned *)out = __builtin_shufflevector(xy, zw, 0, 1, 4, 5);
    *(wide_unaligned *)(out + 4) = __builtin_shufflevector(xy, zw, 2, 3, 6, 7);
    *(wide_unaligned *)(out + 8) = __builtin_shufflevector(xy2, zw2, 0, 1, 4, 5);
    *(wide_unaligned *)(out + 12) = __builtin_shufflevector(xy2, zw2, 2, 3, 6, 7);
}

static inline void columns(const float *from, const uint32_t *places, wide out[4]) {
    wide a, b, c, d;
    memcpy(&a, from + places[0], sizeof a), memcpy(&b, from + places[1], sizeof b);
    memcpy(&c, from + places[2], sizeof c), memcpy(&d, from + places[3], sizeof d);
    wide ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
         ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    out[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), out[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    out[2] = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), out[3] = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
}

static inline void put_three(char *to, const float *from) { memcpy(to, from, 12); }

/* As in half.h, four at once: values too small for a normal half are rounded by adding 1/2. */
static inline void put_halves(char *to, four x) {
    wide_bits all = (wide_bits)x, sign = all >> 16 & 0x8000, size = all & 0x7fffffff;
    wide bounded = smaller((wide)size, (wide){0} + LARGEST_HALF);
    size = (wide_bits)bounded;
    wide_bits usual = (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
    wide_bits tiny = (wide_bits)(bounded + 0.5f) - 0x3f000000;
    wide_bits mask = (wide_bits)(bounded < 0x1p-14f);
    halves out = __builtin_convertvector((tiny & mask) | (usual & ~mask) | sign, halves);
    memcpy(to, &out, sizeof out);
}
static inline void stream_fence(void) {}

#include "runtime/loops.inc"
