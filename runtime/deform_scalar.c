/* deform_scalar.c: the deform loop one vertex at a time; what the others are tested against. */

#include "runtime/kernel.h"
#include <math.h>

#define LANES 1
#define VECTORS 1
#define POINTWISE 0
#define ROWS 3
#define DEFORM pelt_deform_scalar

typedef float wide;
static inline wide load(const float *p) { return *p; }
static inline wide reciprocal_sqrt(wide x) { return 1 / sqrtf(x); }
static inline void store_xyz(float *out, wide x, wide y, wide z, int stream) {
    (void)stream;
    out[0] = x, out[1] = y, out[2] = z;
}
static inline void stream_fence(void) {}

#include "runtime/deform.inc"
