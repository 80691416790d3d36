/* driven.c: joints that are functions of the pose (Mohr & Gleicher 2003, section 4.1), appended to the palette.

   Everything is in the space of the rest mesh, where T_j maps rest to posed; so the rest frames of joints do not
   matter, even if they are rotated or scaled. With X = T_parent^-1 T_j the motion of joint j relative to its parent, R
   its rotation, and o the joint's rest position:

       turn, twist, bend:  T = T_parent R' R^-1 X,  moved so that o goes where T_j takes it;
                           R' = R^f,  (twist of R about the bone)^f,  (what is left of R without the twist)^f
       bulge, dent:        T = T_host (I + (q - 1) a a^T) about the middle of the bone,  q = s / s0 or s0 / s,
                           s = 1 + k/2 (cos angle(b1, b2) + 1),  s0 the same at rest

   and for normals, of a bulge,  T^-T = T_host^-T (I - (q - 1)/q a a^T).

   where b1 goes from the joint to its parent and b2 to its children: they point apart when the limb is straight (s = 1)
   and together when it is folded (s = 1 + k). This file handles rotations in full generality; driven.inc has the common
   case, and bulges. model/driven.c is the same in double. */

#include "runtime/loops.h"
#include "runtime/rotation.h"

static void rotate(const float *m, const float v[3], float out[3]) {
    for (int r = 0; r < 3; r++) out[r] = m[4 * r] * v[0] + m[4 * r + 1] * v[1] + m[4 * r + 2] * v[2];
}

static float dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static float larger(float a, float b) { return a > b ? a : b; }

/* False when the matrix is singular. */
static int invert(const matrix *a, matrix *out) {
    float largest = 0, determinant = adjugate(a, out);
    for (int i = 0; i < 9; i++) largest = larger(largest, fabsf(a->m[i / 3][i % 3]));
    if (!(fabsf(determinant) > 1e-5f * largest * largest * largest)) return 0;
    float scale = 1 / determinant;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out->m[r][c] *= scale;
    return 1;
}

/* The largest number in a^T a - I: 0 when a is a rotation, mirrored or not. */
static float distortion(const matrix *a) {
    float most = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c <= r; c++) {
            float d = a->m[0][r] * a->m[0][c] + a->m[1][r] * a->m[1][c] + a->m[2][r] * a->m[2][c] - (r == c);
            most = larger(most, fabsf(d));
        }
    return most;
}

/* The rotation nearest to a matrix, by Newton's iteration (R + R^-T) / 2. */
static int nearest_rotation(const matrix *a, matrix *out) {
    matrix inverse, next;
    *out = *a;
    for (int round = 0; round < 12; round++) {
        float change = 0;
        if (!invert(out, &inverse)) return 0;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                next.m[r][c] = (out->m[r][c] + inverse.m[c][r]) / 2;
                change = larger(change, fabsf(next.m[r][c] - out->m[r][c]));
            }
        *out = next;
        if (change < 1e-4f) break;
    }
    float(*m)[3] = out->m, determinant = adjugate(out, &inverse);
    for (int i = 0; i < 9 && determinant < 0; i++) m[i / 3][i % 3] = -m[i / 3][i % 3]; /* mirrored joints */
    return 1;
}

/* Unit quaternion with w >= 0: of q and -q, the one closer to rest. For half a turn both are equally close; then the
   first nonzero component is positive. */
static void to_quaternion(const matrix *r, float q[4]) {
    matrix_quaternion(r, q);
    float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    float first = fabsf(q[3]) > 1e-6f * length ? q[3] : q[0] != 0 ? q[0] : q[1] != 0 ? q[1] : q[2];
    float scale = first < 0 ? -1 / length : 1 / length;
    for (int c = 0; c < 4; c++) q[c] *= scale;
}

/* Keeps only the twist about the axis: q = bend twist. */
static void keep_twist(const float axis[3], float q[4]) {
    float along = dot(q, axis), length = sqrtf(along * along + q[3] * q[3]);
    if (length < 1e-6f) along = 0, q[3] = length = 1;
    if (q[3] < 0) length = -length;
    for (int i = 0; i < 3; i++) q[i] = axis[i] * along / length;
    q[3] /= length;
}

static void keep_bend(const float axis[3], float q[4]) {
    float p[4] = {q[0], q[1], q[2], q[3]}, t[4] = {q[0], q[1], q[2], q[3]};
    keep_twist(axis, t);
    for (int i = 0; i < 3; i++) t[i] = -t[i];
    quaternion_product(p, t, q);
    float sign = q[3] < 0 ? -1 : 1;
    for (int i = 0; i < 4; i++) q[i] *= sign;
}

/* q^f, the shorter way from no rotation: half of it is q + 1, normalised. */
static void scale_angle(float f, float q[4]) {
    if (f == 0.5f) {
        float scale = 1 / sqrtf(2 + 2 * q[3]);
        for (int i = 0; i < 3; i++) q[i] *= scale;
        q[3] = (q[3] + 1) * scale;
        return;
    }
    float sine = sqrtf(dot(q, q)), half = atan2f(sine, q[3]);
    float scale = sine > 1e-6f ? sinf(f * half) / sine : f;
    for (int i = 0; i < 3; i++) q[i] *= scale;
    q[3] = cosf(f * half);
}

/* Upper bound of rounding errors in a rotation's lengths and angles. */
#define ROUNDING 4e-6f

/* The part of a motion relative to the parent that a driven joint follows: R' R^-1 X. False when there is none. */
static int part_of(const pelt_driven *d, const matrix *motion, matrix *out) {
    matrix rotation, inverse;
    float q[4];
    int turned = distortion(motion) < ROUNDING && adjugate(motion, &inverse) > 0;
    if (turned)
        rotation = *motion;
    else if (!nearest_rotation(motion, &rotation))
        return 0;
    to_quaternion(&rotation, q);
    if (d->kind == PELT_DRIVEN_TWIST) keep_twist(d->axis, q);
    if (d->kind == PELT_DRIVEN_BEND) keep_bend(d->axis, q);
    scale_angle(d->amount, q);
    *out = quaternion_matrix(q, 2);
    if (turned) return 1;
    matrix back = transpose(&rotation), rest = product(&back, motion);
    *out = product(out, &rest);
    return 1;
}

/* A flattened parent or joint has no rotation to take a part of; then uses the driver's own matrix. */
void pelt_pose_turn(const pelt_driven *d, const float *palette, float *out) {
    const float *driver = palette + (size_t)d->driver * PALETTE_STRIDE;
    matrix joint = linear_part(driver), parent, inverse, motion = joint, part;
    int whole = 1;
    if (d->parent >= 0) {
        parent = linear_part(palette + (size_t)d->parent * PALETTE_STRIDE);
        whole = invert(&parent, &inverse);
        if (whole) motion = product(&inverse, &joint);
    }
    if (whole && part_of(d, &motion, &part)) joint = d->parent >= 0 ? product(&parent, &part) : part;
    float place[3], moved[3];
    rotate(driver, d->origin, place);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out[4 * r + c] = joint.m[r][c];
    rotate(out, d->origin, moved);
    for (int r = 0; r < 3; r++) out[4 * r + 3] = place[r] + driver[4 * r + 3] - moved[r];
}
