/* keys_scalar.c: the loop of key points one row at a time; what the others are tested against. */

#include "runtime/keys_loops.h"
#include "runtime/half.h"

#define LANES 1
#define VECTORS 1
#define FILL pelt_fill_scalar

typedef float wide;
static inline wide load_float(const float *p) { return *p; }
static inline wide load_half(const uint16_t *p) { return pelt_half_value(*p); }
static inline void store(float *p, wide x) { *p = x; }

#include "runtime/keys.inc"
