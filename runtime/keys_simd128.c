/* keys_simd128.c: the loop of key points four rows at a time: SSE2, NEON, WebAssembly. */

#include "runtime/keys_loops.h"
#include <string.h>

#define LANES 4
#define VECTORS 1
#define FILL pelt_fill_simd128

typedef float wide __attribute__((vector_size(16)));
typedef uint32_t wide_bits __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(8)));

static inline wide load_float(const float *p) {
    wide x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* As in half.h, four at once. */
static inline wide load_half(const uint16_t *p) {
    halves h;
    memcpy(&h, p, sizeof h);
    wide_bits bits = __builtin_convertvector(h, wide_bits);
    wide size = (wide)((bits & 0x7fff) << 13) * 0x1p112f;
    return (wide)((wide_bits)size | (bits & 0x8000) << 16);
}
static inline void store(float *p, wide x) { memcpy(p, &x, sizeof x); }

#include "runtime/keys.inc"
