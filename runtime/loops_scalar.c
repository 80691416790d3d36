/* loops_scalar.c: the loops, one vertex at a time; the reference for testing the others. */

#include "runtime/half.h"
#include "runtime/loops.h"
#include <math.h>
#include <string.h>

#define LANES 1
#define VECTORS 1
#define POINTWISE 0
#define ROWS 3
#define CENTERS 4
#define power_of_two_coarse power_of_two
#define LOOPS pelt_loops_scalar

typedef float wide;
static inline wide load(const float *p) { return *p; }
static inline wide load_half(const uint16_t *p) { return pelt_half_value(*p); }
static inline void store(float *p, wide x) { *p = x; }
static inline wide reciprocal_sqrt(wide x) { return 1 / sqrtf(x); }
static inline wide square_root(wide x) { return sqrtf(x); }
static inline wide smaller(wide a, wide b) { return a < b ? a : b; }
static inline wide larger(wide a, wide b) { return a > b ? a : b; }
static inline wide reciprocal(wide x) { return 1.0f / x; }
static inline float largest_lane(wide x) { return x; }
static inline float sum_lanes(wide x) { return x; }
static inline void sum_four(const wide x[4], float *out) { memcpy(out, x, 4 * sizeof *out); }

static inline void columns(const float *from, const uint32_t *places, wide out[4]) {
    memcpy(out, from + *places, 4 * sizeof *out);
}

static inline wide multiply_shorts(const int16_t *p, const int16_t *factors) {
    return (float)(p[0] * factors[0] + p[1] * factors[1]);
}

typedef int64_t wide_whole; /* of all products of a tile's row */
static inline wide wide_of(wide_whole x) { return (float)x; }
static inline wide_whole add_pairs(wide_whole sum, const int16_t *p, const int16_t *factors) {
    return sum + p[0] * factors[0] + p[1] * factors[1];
}
static inline wide_whole add_eight(wide_whole sum, const int16_t *p, const int16_t *factors) {
    for (int i = 0; i < 8; i += 2) sum = add_pairs(sum, p + i, factors + i);
    return sum;
}
static inline void sum_tile(const wide_whole x[4], float out[4]) {
    for (int r = 0; r < 4; r++) out[r] = (float)x[r];
}
static inline void store_whole(int16_t *p, wide x) {
    float large = x + ROUND_MAGIC;
    uint32_t bits;
    memcpy(&bits, &large, sizeof bits);
    *p = (int16_t)(uint16_t)bits;
}
static inline wide quick_root(wide x) { return sqrtf(x); }
static inline wide root_of_positive(wide x) { return quick_root(x); }

static inline void split_shorts(const int16_t *p, wide *low, wide *high) {
    *low = (float)p[0] * 65536;
    *high = (float)p[1] * 65536 + (float)(uint16_t)p[0];
}

static inline wide power_of_two(wide x) {
    float clamped = smaller(larger(x, -126), 126), whole = (clamped + ROUND_MAGIC) - ROUND_MAGIC, f = clamped - whole;
    float p = POWER_POLYNOMIAL(f);
    int32_t bits;
    memcpy(&bits, &p, sizeof bits);
    bits += (int32_t)whole * (1 << 23);
    memcpy(&p, &bits, sizeof p);
    return p;
}
static inline int any_above(wide x, float limit) { return x > limit; }
/* The low bits of the sum are the integer, for any x; they are added to the exponent of 1. */
static inline wide power_of_whole(wide x) {
    uint32_t bits;
    x += ROUND_MAGIC;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    (void)stream;
    out[0] = x, out[1] = y, out[2] = z;
}
static inline void store_xyzw(float *out, wide x, wide y, wide z, wide w, int stream) {
    (void)stream;
    out[0] = x, out[1] = y, out[2] = z, out[3] = w;
}
static inline void put_three(char *to, const float *from) { memcpy(to, from, 12); }
static inline void put_halves(char *to, four x) {
    uint16_t halves[4];
    for (int i = 0; i < 4; i++) halves[i] = pelt_half_of(x[i]);
    memcpy(to, halves, sizeof halves);
}
static inline void stream_fence(void) {}

#include "runtime/loops.inc"
