/* rotation.h: 3x3 matrices, row-major, and quaternions x, y, z, w. */

#ifndef PELT_ROTATION_H
#define PELT_ROTATION_H

#include <math.h>

typedef struct matrix {
    float m[3][3];
} matrix;

/* Of a 3x4 map. */
static inline matrix linear_part(const float *map) {
    matrix out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out.m[r][c] = map[4 * r + c];
    return out;
}

static inline matrix product(const matrix *a, const matrix *b) {
    matrix out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out.m[r][c] = a->m[r][0] * b->m[0][c] + a->m[r][1] * b->m[1][c] + a->m[r][2] * b->m[2][c];
    return out;
}

static inline matrix transpose(const matrix *a) {
    matrix out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out.m[r][c] = a->m[c][r];
    return out;
}

/* The adjugate, which is the inverse times the determinant; returns the determinant. */
static inline float adjugate(const matrix *a, matrix *out) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            out->m[c][r] = a->m[r1][c1] * a->m[r2][c2] - a->m[r1][c2] * a->m[r2][c1];
        }
    return a->m[0][0] * out->m[0][0] + a->m[0][1] * out->m[1][0] + a->m[0][2] * out->m[2][0];
}

/* Of a quaternion whose squared length is 2 / s. */
static inline matrix quaternion_matrix(const float q[4], float s) {
    float x = q[0], y = q[1], z = q[2], w = q[3];
    return (matrix){{{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)},
                     {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)},
                     {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}}};
}

/* The quaternion of a rotation, not normalised. Of the four ways to extract it, uses the one with the largest
   component. */
static inline void matrix_quaternion(const matrix *rotation, float q[4]) {
    const float(*m)[3] = rotation->m;
    float trace = m[0][0] + m[1][1] + m[2][2];
    int i = m[1][1] > m[0][0];
    if (m[2][2] > m[i][i]) i = 2;
    if (trace >= m[i][i]) {
        q[0] = m[2][1] - m[1][2], q[1] = m[0][2] - m[2][0], q[2] = m[1][0] - m[0][1], q[3] = 1 + trace;
    } else {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = 1 + m[i][i] - m[j][j] - m[k][k];
        q[j] = m[j][i] + m[i][j], q[k] = m[k][i] + m[i][k], q[3] = m[k][j] - m[j][k];
    }
}

/* Axis times angle, 0 to pi, of a unit quaternion. */
static inline void rotation_vector(const float q[4], float out[3]) {
    float side = q[3] < 0 ? -1.0f : 1.0f, sine = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    float scale = side * (sine > 1e-6f ? 2 * atan2f(sine, side * q[3]) / sine : 2);
    for (int i = 0; i < 3; i++) out[i] = scale * q[i];
}

/* a, b, c of R = Rz(c) Ry(b) Rx(a), for a unit quaternion. Near b = pi/2 (gimbal lock) a is 0. Elsewhere there are two
   solutions, and we want the one closer to 0, so that a rotation about y alone goes all the way round, like one about x
   or z. */
static inline void euler_angles(const float q[4], float out[3]) {
    float x = q[0], y = q[1], z = q[2], w = q[3];
    float right = 1 - 2 * (y * y + z * z), up = 2 * (w * z + x * y); /* cos b times cos c, sin c */
    float across = sqrtf(right * right + up * up);
    int locked = across < 1e-3f;
    out[0] = locked ? 0 : atan2f(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
    out[1] = atan2f(2 * (w * y - z * x), across);
    out[2] = locked ? atan2f(2 * (w * z - x * y), 1 - 2 * (x * x + z * z)) : atan2f(up, right);
    const float pi = 3.14159265f;
    float other[3] = {out[0] - copysignf(pi, out[0]), copysignf(pi, out[1]) - out[1], out[2] - copysignf(pi, out[2])};
    float size = out[0] * out[0] + out[1] * out[1] + out[2] * out[2];
    if (other[0] * other[0] + other[1] * other[1] + other[2] * other[2] >= size) return;
    for (int i = 0; i < 3; i++) out[i] = other[i];
}

/* The angle about a direction, as defined by pelt_file_axis. */
static inline float hinge_angle(const float q[4], const float direction[3], float middle, float reach) {
    const float pi = 3.14159265f;
    float sine = q[0] * direction[0] + q[1] * direction[1] + q[2] * direction[2];
    float angle = 2 * atan2f(sine, q[3]) - middle;
    while (angle > pi) angle -= 2 * pi; /* it has been within two turns */
    while (angle < -pi) angle += 2 * pi;
    float size = fabsf(angle);
    if (size <= reach) return angle;
    return copysignf(reach * fmaxf(pi - size, 0) / (pi - reach), angle);
}

/* out = a b, the rotation b first; out must not alias them. */
static inline void quaternion_product(const float a[4], const float b[4], float out[4]) {
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

#endif
