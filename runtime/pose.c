/* pose.c: what depends on the pose alone, once a frame.

       global_j = global_parent local_j,   T_j = global_j inverse_bind_j

   and, for normals, T_j^-T where a joint scales. */

#include "runtime/loops.h"
#include "runtime/rotation.h"
#include <string.h>

/* A row of a matrix. Where the machine has vectors of four floats, it is one. */
typedef float row __attribute__((vector_size(16)));
typedef int32_t row_mask __attribute__((vector_size(16)));

static inline row load_row(const float *p) {
    row r;
    memcpy(&r, p, sizeof r);
    return r;
}

/* out = a b, all row-major 3x4 with an implied last row 0 0 0 1. */
static inline void multiply(const float *a, const float *b, float *out) {
    row b0 = load_row(b), b1 = load_row(b + 4), b2 = load_row(b + 8), last = {0, 0, 0, 1};
    for (int r = 0; r < 3; r++) {
        row o = a[4 * r] * b0 + (a[4 * r + 1] * b1 + (a[4 * r + 2] * b2 + a[4 * r + 3] * last));
        memcpy(out + 4 * r, &o, sizeof o);
    }
}

static void transform_matrix(const pelt_transform *t, float *m) {
    const float *q = t->rotation;
    float norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    matrix r = quaternion_matrix(q, norm > 0 ? 2 / norm : 0);
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 3; c++) m[4 * i + c] = r.m[i][c] * t->scale[c];
        m[4 * i + 3] = t->translation[i];
    }
}

/* Whether a column of the 3x3 part is not of unit length or not orthogonal to the next one. */
static inline int32_t not_rigid(const float *m) {
    row r0 = load_row(m), r1 = load_row(m + 4), r2 = load_row(m + 8);
    row lengths = r0 * r0 + (r1 * r1 + r2 * r2) - 1.0f;
    row angles = r0 * __builtin_shufflevector(r0, r0, 1, 2, 0, 3) + r1 * __builtin_shufflevector(r1, r1, 1, 2, 0, 3) +
                 r2 * __builtin_shufflevector(r2, r2, 1, 2, 0, 3);
    const row limit = {1e-4f, 1e-4f, 1e-4f, 1e-4f};
    row_mask bent = (lengths > limit) | (lengths < -limit) | (angles > limit) | (angles < -limit);
    return bent[0] | bent[1] | bent[2];
}

/* The inverse transpose: cofactors over the determinant, in double so that no size of a joint under- or overflows. A
   joint flattened or scaled to nothing has no inverse; its cofactors alone are finite and still point the right way, if
   anywhere. */
static void inverse_transpose(const float *m, float *out) {
    double c[9], largest = 0, size = 0;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            c[3 * r + k] = (double)m[4 * r1 + k1] * m[4 * r2 + k2] - (double)m[4 * r1 + k2] * m[4 * r2 + k1];
            largest = fabs(c[3 * r + k]) > largest ? fabs(c[3 * r + k]) : largest;
            size = fabsf(m[4 * r + k]) > size ? fabsf(m[4 * r + k]) : size;
        }
    /* Below a millionth the determinant is rounding, and even its sign means nothing. */
    double determinant = m[0] * c[0] + m[1] * c[1] + m[2] * c[2];
    int invertible = size > 1e-12 && fabs(determinant) > 1e-6 * size * size * size;
    double scale = invertible ? 1 / determinant : largest > 1e-30 ? 1 / largest : 0;
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++) out[4 * r + k] = (float)(c[3 * r + k] * scale);
        out[4 * r + 3] = 0;
    }
}

void pelt_pose_normal(float *m, float *normal) {
    int32_t bent = not_rigid(m);
    m[PALETTE_RIGID] = bent ? 0 : 1;
    if (bent)
        inverse_transpose(m, normal);
    else
        memcpy(normal, m, 12 * sizeof *normal);
}

static int mirrors(const float *m) {
    double c0 = (double)m[5] * m[10] - (double)m[6] * m[9], c1 = (double)m[6] * m[8] - (double)m[4] * m[10],
           c2 = (double)m[4] * m[9] - (double)m[5] * m[8];
    return m[0] * c0 + m[1] * c1 + m[2] * c2 < 0;
}

/* Says beside each matrix whether it mirrors; returns whether any does. */
static uint32_t find_mirrors(const pelt_skin *skin, float *palette) {
    uint32_t any = 0;
    for (uint32_t j = 0; j < pelt_matrix_count(skin); j++, palette += PALETTE_STRIDE) {
        uint32_t mirrored = (uint32_t)mirrors(palette);
        palette[PALETTE_HAND] = mirrored ? -1 : 1;
        any |= mirrored;
    }
    return any;
}

/* Joint matrices from the globals that are in the scratch memory. */
static void finish_pose(const pelt_skin *skin, void *scratch) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    pelt_pose_head *head = scratch;
    float *palette = (float *)((char *)scratch + at.palette);
    float *normal_palette = (float *)((char *)scratch + at.normal_palette);
    const float *globals = (const float *)((const char *)scratch + at.globals);
    int32_t bent = 0;
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        float *m = palette + (size_t)j * PALETTE_STRIDE;
        multiply(globals + (size_t)j * 12, skin->joints[j].inverse_bind, m);
        bent |= not_rigid(m);
    }
    for (uint32_t j = 0; (bent || skin->driven_count) && j < skin->joint_count; j++)
        pelt_pose_normal(palette + (size_t)j * PALETTE_STRIDE, normal_palette + (size_t)j * PALETTE_STRIDE);
    pelt_pose_driven(skin, palette, normal_palette);
    for (uint32_t j = skin->joint_count; j < pelt_matrix_count(skin); j++)
        bent |= !(palette[(size_t)j * PALETTE_STRIDE + PALETTE_RIGID] > 0);
    head->rigid = !bent;
    head->mirrored = skin->rest_tangents ? find_mirrors(skin, palette) : 0;
}

static void chain_locals(const pelt_skin *skin, const pelt_transform *locals, float *globals) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        int32_t parent = skin->joints[j].parent;
        float local[12], *global = globals + (size_t)j * 12;
        transform_matrix(&locals[j], parent < 0 ? global : local);
        if (parent >= 0) multiply(globals + (size_t)parent * 12, local, global);
    }
}

void pelt_pose_from(const pelt_skin *skin, const pelt_pose_input *input, void *scratch) {
    float *globals = (float *)((char *)scratch + pelt_pose_layout(skin).globals);
    if (input->locals)
        chain_locals(skin, input->locals, globals);
    else
        memcpy(globals, input->globals, (size_t)skin->joint_count * 12 * sizeof *globals);
    finish_pose(skin, scratch);
    if (pelt_has_corrective(skin)) pelt_pose_corrective(skin, input, scratch);
}

void pelt_pose(const pelt_skin *skin, const pelt_transform *locals, void *scratch) {
    pelt_pose_input input = {locals, NULL, NULL};
    pelt_pose_from(skin, &input, scratch);
}

void pelt_pose_matrices(const pelt_skin *skin, const float (*globals)[12], void *scratch) {
    pelt_pose_input input = {NULL, globals, NULL};
    pelt_pose_from(skin, &input, scratch);
}
