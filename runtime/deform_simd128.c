/* deform_simd128.c: the deform loop four vertices at a time: SSE2, NEON, WebAssembly. */

#include "runtime/kernel.h"
#include <math.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#define LANES 4
#define VECTORS 1
#define POINTWISE 0
#define ROWS 3
#define DEFORM pelt_deform_simd128

typedef float wide __attribute__((vector_size(16)));
typedef float wide_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

static inline wide load(const float *p) { return *(const wide_unaligned *)p; }

static inline wide reciprocal_sqrt(wide x) {
#if defined(__SSE2__)
    return 1.0f / (wide)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
    return 1.0f / (wide)vsqrtq_f32((float32x4_t)x);
#elif defined(__wasm_simd128__)
    return 1.0f / (wide)wasm_f32x4_sqrt((v128_t)x);
#else
    return 1.0f / (wide){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
#endif
}

static inline void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    (void)stream;
    wide xy = __builtin_shufflevector(x, y, 0, 2, 4, 6), yz = __builtin_shufflevector(y, z, 1, 3, 5, 7),
         zx = __builtin_shufflevector(z, x, 0, 2, 5, 7);
    *(wide_unaligned *)out = __builtin_shufflevector(xy, zx, 0, 2, 4, 6);
    *(wide_unaligned *)(out + 4) = __builtin_shufflevector(yz, xy, 0, 2, 5, 7);
    *(wide_unaligned *)(out + 8) = __builtin_shufflevector(zx, yz, 1, 3, 5, 7);
}
static inline void stream_fence(void) {}

#include "runtime/deform.inc"
