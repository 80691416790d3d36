/* driven.c: the matrices of driven joints, in double: the formulas of runtime/driven.c again, for fits and as the
   reference for testing the run time. */

#include "model/driven.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

static const double no_length = 1e-30;  /* of two bones, multiplied: such a limb counts as straight */
static const double converged = 1e-12;  /* of an entry of a rotation */
static const double half_a_turn = 1e-6; /* of a quaternion's length: with a smaller w its sign is taken from x, y, z */
static const double no_angle = 1e-12;   /* its sine, where angles are scaled as if they were their sines */

static void rotate(const pelt_affine *a, const float v[3], double out[3]) {
    for (int r = 0; r < 3; r++) out[r] = a->m[4 * r] * v[0] + a->m[4 * r + 1] * v[1] + a->m[4 * r + 2] * v[2];
}

/* -- Bulges -------------------------------------------------------------------------------------------------------- */

static double bulge_scale(double k, const double b1[3], const double b2[3]) {
    double lengths = sqrt(pelt_dot(b1, b1) * pelt_dot(b2, b2));
    double cosine = lengths > no_length ? pelt_dot(b1, b2) / lengths : -1;
    return 1 + k / 2 * (fmin(fmax(cosine, -1), 1) + 1);
}

static pelt_affine bulge(const pelt_driven *d, const pelt_affine *matrices) {
    double b1[3], b2[3], along[3], axis[3] = {d->axis[0], d->axis[1], d->axis[2]};
    rotate(&matrices[d->parent], d->upstream, b1);
    rotate(&matrices[d->driver], d->downstream, b2);
    double s = bulge_scale(d->amount, b1, b2);
    rotate(&pelt_identity, d->upstream, b1);
    rotate(&pelt_identity, d->downstream, b2);
    double s0 = bulge_scale(d->amount, b1, b2);
    double more = (d->kind == PELT_DRIVEN_BULGE ? s / s0 : s0 / s) - 1;
    double middle = axis[0] * d->origin[0] + axis[1] * d->origin[1] + axis[2] * d->origin[2];
    pelt_affine out = matrices[d->host];
    rotate(&out, d->axis, along);
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) out.m[4 * r + c] += more * along[r] * axis[c];
        out.m[4 * r + 3] -= more * along[r] * middle;
    }
    return out;
}

/* -- Rotations ----------------------------------------------------------------------------------------------------- */

/* The rotation nearest to the linear part, by Newton's iteration; false when it is singular. */
static bool nearest_rotation(const pelt_affine *a, pelt_affine *out) {
    pelt_affine inverse;
    *out = *a;
    for (int r = 0; r < 3; r++) out->m[4 * r + 3] = 0;
    for (int round = 0; round < 40; round++) {
        double change = 0;
        if (!pelt_affine_invert(out, &inverse)) return false;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double half = (inverse.m[4 * c + r] - out->m[4 * r + c]) / 2;
                out->m[4 * r + c] += half;
                change = fmax(change, fabs(half));
            }
        if (change < converged) break;
    }
    double determinant = pelt_affine_determinant(out->m);
    for (int i = 0; i < 12 && determinant < 0; i++) out->m[i] = -out->m[i];
    return true;
}

static pelt_affine transposed(const pelt_affine *a) {
    pelt_affine out = pelt_identity;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out.m[4 * r + c] = a->m[4 * c + r];
    return out;
}

/* Unit quaternion with w >= 0; for half a turn the first nonzero component is positive. */
static void to_quaternion(const pelt_affine *rotation, double q[4]) {
    const double *m = rotation->m;
    double trace = m[0] + m[5] + m[10];
    int i = m[5] > m[0];
    if (m[10] > m[5 * i]) i = 2;
    if (trace >= m[5 * i]) {
        q[0] = m[9] - m[6], q[1] = m[2] - m[8], q[2] = m[4] - m[1], q[3] = 1 + trace;
    } else {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = 1 + m[5 * i] - m[5 * j] - m[5 * k];
        q[j] = m[4 * j + i] + m[4 * i + j], q[k] = m[4 * k + i] + m[4 * i + k], q[3] = m[4 * k + j] - m[4 * j + k];
    }
    double length = sqrt(pelt_dot(q, q) + q[3] * q[3]);
    double first = fabs(q[3]) > half_a_turn * length ? q[3] : q[0] != 0 ? q[0] : q[1] != 0 ? q[1] : q[2];
    for (int c = 0; c < 4; c++) q[c] *= first < 0 ? -1 / length : 1 / length;
}

static void keep_twist(const float axis[3], double q[4]) {
    double along = q[0] * axis[0] + q[1] * axis[1] + q[2] * axis[2], length = sqrt(along * along + q[3] * q[3]);
    if (length < half_a_turn) along = 0, q[3] = length = 1;
    if (q[3] < 0) length = -length;
    for (int i = 0; i < 3; i++) q[i] = axis[i] * along / length;
    q[3] /= length;
}

static void keep_bend(const float axis[3], double q[4]) {
    double t[4] = {q[0], q[1], q[2], q[3]}, p[4] = {q[0], q[1], q[2], q[3]};
    keep_twist(axis, t);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = t[3] * p[i] - p[3] * t[i] - (p[j] * t[k] - p[k] * t[j]);
    }
    q[3] = p[3] * t[3] + pelt_dot(p, t);
    double sign = q[3] < 0 ? -1 : 1;
    for (int i = 0; i < 4; i++) q[i] *= sign;
}

static void scale_angle(double f, double q[4]) {
    double sine = sqrt(pelt_dot(q, q)), half = atan2(sine, q[3]);
    double scale = sine > no_angle ? sin(f * half) / sine : f;
    for (int i = 0; i < 3; i++) q[i] *= scale;
    q[3] = cos(f * half);
}

static pelt_affine from_quaternion(const double q[4]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    return (pelt_affine){{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 0, 2 * (x * y + w * z),
                          1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 0, 2 * (x * z - w * y), 2 * (y * z + w * x),
                          1 - 2 * (x * x + y * y), 0}};
}

bool pelt_relative_rotation(const pelt_affine *parent, const pelt_affine *joint, pelt_affine *motion,
                            pelt_affine *rotation) {
    pelt_affine inverse = pelt_identity;
    if (parent && !pelt_affine_invert(parent, &inverse)) return false;
    *motion = pelt_affine_multiply(&inverse, joint);
    return nearest_rotation(motion, rotation);
}

static pelt_affine turn(const pelt_driven *d, const pelt_affine *matrices) {
    const pelt_affine *parent = d->parent < 0 ? NULL : &matrices[d->parent], *driver = &matrices[d->driver];
    pelt_affine motion, rotation, out = *driver;
    if (pelt_relative_rotation(parent, driver, &motion, &rotation)) {
        double q[4];
        to_quaternion(&rotation, q);
        if (d->kind == PELT_DRIVEN_TWIST) keep_twist(d->axis, q);
        if (d->kind == PELT_DRIVEN_BEND) keep_bend(d->axis, q);
        scale_angle(d->amount, q);
        pelt_affine part = from_quaternion(q), back = transposed(&rotation);
        part = pelt_affine_multiply(&part, &back);
        part = pelt_affine_multiply(&part, &motion);
        out = parent ? pelt_affine_multiply(parent, &part) : part;
    }
    double place[3], moved[3];
    rotate(driver, d->origin, place);
    rotate(&out, d->origin, moved);
    for (int r = 0; r < 3; r++) out.m[4 * r + 3] = place[r] + driver->m[4 * r + 3] - moved[r];
    return out;
}

void pelt_driven_matrices(const pelt_model *model, pelt_affine *matrices) {
    for (uint32_t i = 0; i < model->driven_count; i++) {
        const pelt_driven *d = &model->driven[i];
        bool bulges = d->kind == PELT_DRIVEN_BULGE || d->kind == PELT_DRIVEN_DENT;
        matrices[model->skeleton->joint_count + i] = bulges ? bulge(d, matrices) : turn(d, matrices);
    }
}

uint32_t pelt_model_matrix_count(const pelt_model *model) { return model->skeleton->joint_count + model->driven_count; }

void pelt_model_matrices(const pelt_model *model, const pelt_transform *locals, pelt_affine *matrices) {
    pelt_joint_matrices(model->skeleton, locals, NULL, matrices);
    pelt_driven_matrices(model, matrices);
}

void pelt_drop_unused_driven(pelt_arena *arena, pelt_model *model) {
    uint32_t joints = model->skeleton->joint_count, kept = 0;
    uint32_t *renamed = PELT_NEW(arena, (size_t)model->driven_count + 1, uint32_t);
    pelt_driven *driven = PELT_NEW(arena, (size_t)model->driven_count + 1, pelt_driven);
    const char **names = PELT_NEW(arena, (size_t)model->driven_count + 1, const char *);
    uint32_t entries = model->influences.first[model->vertex_count];
    for (uint32_t i = 0; i < entries; i++)
        if (model->influences.joints[i] >= joints) renamed[model->influences.joints[i] - joints] = 1;
    for (uint32_t i = 0; i < model->driven_count; i++) {
        if (!renamed[i]) continue;
        driven[kept] = model->driven[i], names[kept] = model->driven_names[i];
        renamed[i] = joints + kept++;
    }
    for (uint32_t i = 0; i < entries; i++)
        if (model->influences.joints[i] >= joints)
            model->influences.joints[i] = renamed[model->influences.joints[i] - joints];
    model->driven_count = kept, model->driven = driven, model->driven_names = names;
}
