/* sculpt.c: shapes sculpted in the rest pose and in other poses.

       v_example = S_p(v0 + d) */

#include "rig/sculpt.h"
#include <string.h>

static void pose_vertex(const pelt_mesh *mesh, const pelt_affine *joint_matrices, size_t v, const float *at,
                        double out[3]) {
    const pelt_influences *in = &mesh->influences;
    bool weighted = in->first[v] < in->first[v + 1];
    pelt_affine blend = weighted ? pelt_blend_matrix(in, v, joint_matrices) : pelt_identity;
    pelt_affine_point(&blend, (double[3]){at[0], at[1], at[2]}, out);
}

void pelt_pose_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, float *out) {
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double posed[3];
        pose_vertex(mesh, joint_matrices, v, shape + 3 * v, posed);
        for (size_t i = 0; i < 3; i++) out[3 * v + i] = (float)posed[i];
    }
}

void pelt_shape_distances(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, double *rest,
                          double *posed) {
    *rest = *posed = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double blend[3];
        pose_vertex(mesh, joint_matrices, v, mesh->positions + 3 * v, blend);
        for (size_t i = 0; i < 3; i++) {
            double a = (double)shape[3 * v + i] - mesh->positions[3 * v + i], b = shape[3 * v + i] - blend[i];
            *rest += a * a, *posed += b * b;
        }
    }
}

void pelt_mask_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *mask, float *shape) {
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double blend[3];
        pose_vertex(mesh, joint_matrices, v, mesh->positions + 3 * v, blend);
        for (size_t i = 0; i < 3; i++) shape[3 * v + i] = (float)(blend[i] + mask[v] * (shape[3 * v + i] - blend[i]));
    }
}
