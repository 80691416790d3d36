/* pose.c: everything that depends only on the pose, once per frame: joint matrices (pose.inc) and, for normals, T_j^-T
   if a joint scales; then the corrective. */

#include "runtime/loops.h"
#include <math.h>
#include <string.h>

/* The inverse transpose: cofactors over the determinant, in double so that joints of any size neither under- nor
   overflow. A joint flattened or scaled to 0 has no inverse; its cofactors alone are finite and still point the right
   way, if anywhere. */
void pelt_inverse_transpose(const float *m, float *out) {
    double c[9], largest = 0, size = 0;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            c[3 * r + k] = (double)m[4 * r1 + k1] * m[4 * r2 + k2] - (double)m[4 * r1 + k2] * m[4 * r2 + k1];
            largest = fabs(c[3 * r + k]) > largest ? fabs(c[3 * r + k]) : largest;
            size = fabsf(m[4 * r + k]) > size ? fabsf(m[4 * r + k]) : size;
        }
    /* Below 1e-6 the determinant is rounding error, and even its sign is meaningless. */
    double determinant = m[0] * c[0] + m[1] * c[1] + m[2] * c[2];
    int invertible = size > 1e-12 && fabs(determinant) > 1e-6 * size * size * size;
    double scale = invertible ? 1 / determinant : largest > 1e-30 ? 1 / largest : 0;
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++) out[4 * r + k] = (float)(c[3 * r + k] * scale);
        out[4 * r + 3] = 0;
    }
}

static int mirrors(const float *m) {
    double c0 = (double)m[5] * m[10] - (double)m[6] * m[9], c1 = (double)m[6] * m[8] - (double)m[4] * m[10],
           c2 = (double)m[4] * m[9] - (double)m[5] * m[8];
    return m[0] * c0 + m[1] * c1 + m[2] * c2 < 0;
}

/* Records next to each matrix whether it mirrors; returns whether any does. */
static uint32_t find_mirrors(const pelt_skin *skin, float *palette) {
    uint32_t any = 0;
    for (uint32_t j = 0; j < pelt_matrix_count(skin); j++, palette += PALETTE_STRIDE) {
        uint32_t mirrored = (uint32_t)mirrors(palette);
        palette[PALETTE_HAND] = mirrored ? -1 : 1;
        any |= mirrored;
    }
    return any;
}

void pelt_pose_from(const pelt_skin *skin, const pelt_pose_input *input, void *scratch) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    pelt_pose_head *head = scratch;
    char *bytes = scratch;
    pelt_joints_job job = {skin, input->locals, (float *)(bytes + at.globals), (float *)(bytes + at.palette),
                           (float *)(bytes + at.normal_palette)};
    for (size_t j = 0; !input->locals && j < skin->joint_count; j++)
        memcpy(job.globals + j * PALETTE_STRIDE, input->globals[j], sizeof input->globals[j]);
    head->rigid = (uint32_t)pelt_loops_of(skin->isa)->pose_joints(&job);
    head->mirrored = skin->rest_tangents ? find_mirrors(skin, job.palette) : 0;
    pelt_detail detail = pelt_detail_of(skin, input->level > skin->least_level ? input->level : skin->least_level);
    head->level = (float)detail.level + detail.fade;
    if (pelt_is_displaced(skin, detail.level)) pelt_pose_corrective(skin, input, scratch);
}

void pelt_pose(const pelt_skin *skin, const pelt_transform *locals, void *scratch) {
    pelt_pose_input input = {.locals = locals};
    pelt_pose_from(skin, &input, scratch);
}

void pelt_pose_matrices(const pelt_skin *skin, const float (*globals)[12], void *scratch) {
    pelt_pose_input input = {.globals = globals};
    pelt_pose_from(skin, &input, scratch);
}
