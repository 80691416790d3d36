/* maths.h: small shared maths in double: 3-vectors, 3x3 matrices (row-major), quaternions (x, y, z, w), sizes in a
   file. Results may alias arguments only where a function says so. */

#ifndef PELT_MATHS_H
#define PELT_MATHS_H

#include <math.h>
#include <pelt/pelt.h>
#include <stdbool.h>

/* -- Vectors ------------------------------------------------------------------------------------------------------- */

static inline double pelt_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline double pelt_length(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* The squared length of a vector of floats. */
static inline double pelt_square_length(const float v[3]) {
    return (double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2];
}

static inline double pelt_distance(const double a[3], const double b[3]) {
    return pelt_length((double[3]){a[0] - b[0], a[1] - b[1], a[2] - b[2]});
}

static inline void pelt_cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

/* -- Matrices ------------------------------------------------------------------------------------------------------ */

/* Cofactors; returns the determinant. The inverse is the transposed cofactors over the determinant. */
static inline double pelt_cofactors(const double m[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            out[3 * r + c] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
        }
    return m[0] * out[0] + m[1] * out[1] + m[2] * out[2];
}

/* x = m^-1 b, from the results of pelt_cofactors. */
static inline void pelt_cramer(const double cofactors[9], double determinant, const double b[3], double x[3]) {
    for (int i = 0; i < 3; i++)
        x[i] = (cofactors[i] * b[0] + cofactors[3 + i] * b[1] + cofactors[6 + i] * b[2]) / determinant;
}

/* The same for the linear part of an affine map, row-major 3x4. */
static inline double pelt_affine_determinant(const double m[12]) {
    return m[0] * (m[5] * m[10] - m[6] * m[9]) + m[1] * (m[6] * m[8] - m[4] * m[10]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

/* -- Quaternions --------------------------------------------------------------------------------------------------- */

static inline double pelt_quaternion_length(const double q[4]) {
    return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
}

/* The rotation a after b. */
static inline void pelt_quaternion_multiply(const double a[4], const double b[4], double out[4]) {
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

/* R - I of the rotation R of a unit quaternion, column by column. */
static inline void pelt_rotation_numbers(const float q[4], double out[9]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    out[0] = -2 * (y * y + z * z), out[1] = 2 * (x * y + w * z), out[2] = 2 * (x * z - w * y);
    out[3] = 2 * (x * y - w * z), out[4] = -2 * (x * x + z * z), out[5] = 2 * (y * z + w * x);
    out[6] = 2 * (x * z + w * y), out[7] = 2 * (y * z - w * x), out[8] = -2 * (x * x + y * y);
}

/* The index of the first number that is not finite; `count` if all are. */
static inline size_t pelt_first_not_finite(const float *values, size_t count) {
    size_t i = 0;
    while (i < count && isfinite(values[i])) i++;
    return i;
}

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

/* The next multiple of PELT_ALIGN. */
static inline size_t pelt_round_up(uint64_t size) { return (size_t)(size + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN; }

#endif
