/* definition.h: displacements of a corrective in double, straight from the definition in model/corrective.h: the
   reference for the run time and the fits. */

#ifndef PELT_TEST_DEFINITION_H
#define PELT_TEST_DEFINITION_H

#include "model/corrective.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- The weighted form --------------------------------------------------------------------------------------------- */

/* distances [axis][center] of the pose; `turn` may be NULL. */
static inline void definition_weighted_vertex(const pelt_weighted *w, const double *distances, uint32_t v,
                                              double shift[3], double *turn) {
    double sum[7] = {0};
    for (uint32_t q = 0; q < w->center_count; q++) {
        const float *c = w->folded + 4 * ((size_t)v * w->center_count + q);
        const float *t = w->folded_tilts ? w->folded_tilts + 3 * ((size_t)v * w->center_count + q) : NULL;
        double r2 = 0;
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
            r2 += w->axis_weights[i] * distances[(size_t)w->vertex_axes[i] * w->center_count + q];
        double phi = pelt_phi_value(w->phi, w->width, r2);
        for (int i = 0; i < 4; i++) sum[i] += phi * c[i];
        for (int i = 0; t && i < 3; i++) sum[4 + i] += phi * t[i];
    }
    double guard = w->unnormalised ? 1 : pelt_norm_guard(sum[3]);
    for (int i = 0; i < 3; i++) shift[i] += sum[i] * guard;
    for (int i = 0; turn && i < 3; i++) turn[i] += sum[4 + i] * guard;
}

static inline void definition_weighted_distances(const pelt_weighted *w, const pelt_pose_state *pose,
                                                 double *distances) {
    for (uint32_t i = 0; i < w->axis_count; i++)
        for (uint32_t q = 0; q < w->center_count; q++)
            distances[(size_t)i * w->center_count + q] =
                pelt_axis_distance2(&w->axes[i], pose, w->centers + 4 * ((size_t)q * w->axis_count + i));
}

/* -- Both ---------------------------------------------------------------------------------------------------------- */

static inline void definition_add_basis(const pelt_displacements *d, const double *a, uint32_t vertex_count,
                                        double *out) {
    for (uint32_t v = 0; v < vertex_count; v++)
        for (size_t i = d->first[v]; i < d->first[v + 1]; i++)
            for (size_t c = 0; c < 3; c++) out[3 * (size_t)v + c] += a[d->coefficients[i]] * d->vectors[3 * i + c];
}

static inline bool pelt_corrective_eval(const pelt_corrective *c, const pelt_skeleton *skeleton,
                                        const pelt_transform *locals, const float *controls, uint32_t vertex_count,
                                        double *displacements, double *normals) {
    size_t joints = skeleton->joint_count, count = pelt_corrective_coefficient_count(c);
    const pelt_weighted *w = c->weighted;
    float *rotations = malloc(4 * joints * sizeof *rotations),
          *translations = malloc(3 * joints * sizeof *translations);
    double *a = malloc((count + 1) * sizeof *a);
    double *distances = malloc((w ? (size_t)w->axis_count * w->center_count : 0) * sizeof *distances + 1);
    bool ready = rotations && translations && a && distances;
    memset(displacements, 0, 3 * (size_t)vertex_count * sizeof *displacements);
    if (normals) memset(normals, 0, 3 * (size_t)vertex_count * sizeof *normals);
    if (ready) {
        pelt_pose_rotations(skeleton, locals, rotations);
        for (size_t j = 0; j < joints; j++)
            memcpy(translations + 3 * j, locals[j].translation, 3 * sizeof *translations);
        pelt_pose_state pose = {rotations, translations, controls};
        pelt_corrective_coefficients(c, &pose, a);
        if (w) definition_weighted_distances(w, &pose, distances);
        if (c->displacements) definition_add_basis(c->displacements, a, vertex_count, displacements);
        if (c->tilts && normals) definition_add_basis(c->tilts, a, vertex_count, normals);
        for (size_t v = 0; w && v < vertex_count; v++)
            definition_weighted_vertex(w, distances, (uint32_t)v, displacements + 3 * v,
                                       normals ? normals + 3 * v : NULL);
    }
    free(rotations), free(translations), free(a), free(distances);
    return ready;
}

#endif
