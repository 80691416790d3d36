/* vector.h: 3-vectors of floats, and directions on the sphere. */

#ifndef PELT_VECTOR_H
#define PELT_VECTOR_H

#include <math.h>

typedef struct v3 {
    float x, y, z;
} v3;

static inline v3 v3_of(const float a[3]) { return (v3){a[0], a[1], a[2]}; }
static inline v3 v3_add(v3 a, v3 b) { return (v3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline v3 v3_sub(v3 a, v3 b) { return (v3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline v3 v3_mul(v3 a, v3 b) { return (v3){a.x * b.x, a.y * b.y, a.z * b.z}; }
static inline v3 v3_scale(v3 a, float s) { return (v3){a.x * s, a.y * s, a.z * s}; }
static inline float v3_dot(v3 a, v3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline v3 v3_cross(v3 a, v3 b) {
    return (v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline v3 v3_along(v3 a, v3 direction, float step) {
    return (v3){a.x + step * direction.x, a.y + step * direction.y, a.z + step * direction.z};
}
static inline float v3_length(v3 a) { return sqrtf(v3_dot(a, a)); }
static inline v3 v3_unit(v3 a) { return v3_scale(a, 1 / v3_length(a)); }

#define LIGHT_PI 3.14159265f

/* Cosine and sine of 2 pi u, 0 <= u <= 1, to 2e-6: both by their series around quarter turns. */
static inline void turn(float u, float *cosine, float *sine) {
    float quarters = 4 * u, nearest = (float)(int)(quarters + 0.5f);
    float a = (quarters - nearest) * (LIGHT_PI / 2), a2 = a * a;
    float s = a * (1 - a2 * (1 / 6.0f - a2 * (1 / 120.0f - a2 * (1 / 5040.0f))));
    float c = 1 - a2 * (0.5f - a2 * (1 / 24.0f - a2 * (1 / 720.0f - a2 * (1 / 40320.0f))));
    int quarter = (int)nearest & 3;
    float x = quarter & 1 ? s : c, y = quarter & 1 ? c : s;
    *cosine = quarter == 1 || quarter == 2 ? -x : x;
    *sine = quarter >= 2 ? -y : y;
}

/* A direction around the unit vector `axis`, at the angle with that cosine and sine. */
static inline v3 v3_around(v3 axis, float cosine, float sine, float u) {
    /* Two vectors that complete the axis to a frame, without a square root or a failing case. */
    float sign = axis.z < 0 ? -1.0f : 1.0f, a = -1 / (sign + axis.z), b = axis.x * axis.y * a;
    v3 s = {1 + sign * axis.x * axis.x * a, sign * b, -sign * axis.x};
    v3 t = {b, sign + axis.y * axis.y * a, -axis.y};
    float x, y;
    turn(u, &x, &y);
    return v3_along(v3_along(v3_scale(axis, cosine), s, sine * x), t, sine * y);
}

#endif
