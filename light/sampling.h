/* sampling.h: low-discrepancy random numbers.

   A path needs many pairs of numbers (a direction at each bounce, a point on a light). Each pair is a separate Sobol
   (0,2)-sequence: its points are shuffled and scrambled by hashes (Owen's nested scrambling), so that pairs are
   independent, while the samples of one pair stay evenly spread at every power of two. */

#ifndef PELT_SAMPLING_H
#define PELT_SAMPLING_H

#include "light/vector.h"
#include <stdint.h>

static inline uint32_t hash_mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ x >> 16;
}

static inline uint32_t hash_pair(uint32_t a, uint32_t b) { return hash_mix(a ^ (hash_mix(b) + 0x9E3779B9u)); }

static inline uint32_t reverse_bits(uint32_t x) {
    x = __builtin_bswap32(x);
    x = (x & 0x0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0Fu);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}

/* Flips each bit depending only on the bits below it. On a bit-reversed number that is Owen scrambling: an interval is
   halved, the halves are swapped or not, and so on inside them. */
static inline uint32_t flip_upwards(uint32_t x, uint32_t seed) {
    x += seed;
    x ^= x * 0xB82F1E52u;
    x *= seed >> 15 | 1;
    x ^= x * 0x6C50B47Cu;
    x ^= x * 0xC7AFE638u;
    return x;
}

/* Second coordinate of the Sobol sequence, bit-reversed; the first is the index itself. The direction numbers are rows
   of Pascal's triangle modulo 2, so each follows from the one before, v ^ v << 1. */
static inline uint32_t sobol_second(uint32_t index) {
    uint32_t value = 0;
    for (uint32_t v = 1; index; index >>= 1, v ^= v << 1) value ^= v & (0u - (index & 1));
    return value;
}

typedef struct pair {
    float u, v; /* 0 to 1, 1 excluded */
} pair;

static inline float unit_float(uint32_t x) { return (float)(int32_t)(x >> 8) * 0x1p-24f; }

/* `count` samples from index `first` on, of the pair that `seed` names. `mask` is a power of two minus 1, no smaller
   than any index: the shuffle, which keeps aligned blocks of indices together, stays within it. */
static inline void sample_pairs(uint32_t first, uint32_t mask, uint32_t seed, pair *out, int count) {
    uint32_t shuffle = hash_mix(seed), scramble_u = hash_mix(shuffle), scramble_v = hash_mix(scramble_u);
    for (int i = 0; i < count; i++) {
        uint32_t index = reverse_bits(flip_upwards(reverse_bits(first + (uint32_t)i), shuffle)) & mask;
        out[i].u = unit_float(reverse_bits(flip_upwards(index, scramble_u)));
        out[i].v = unit_float(reverse_bits(flip_upwards(sobol_second(index), scramble_v)));
    }
}

#endif
