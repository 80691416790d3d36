/* eigen_study.c: supports, eigendisplacements and error curves of the joints that displace the skin most, for people to
   look at. */

#include "fit/corrective/eigenskin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Squared displacements of all points in a joint's examples, also outside its support. */
static double energy_of(const pelt_eigen_joint *joint, const pelt_example_displacements *u) {
    double sum = 0;
    for (uint32_t p = 0; p < joint->pose_count; p++)
        for (size_t i = 0; i < 3 * (size_t)u->point_count; i++) {
            double x = u->positions[3 * (size_t)joint->poses[p] * u->point_count + i];
            sum += x * x;
        }
    return sum;
}

/* Values of points as values of vertices; points outside the support have 0. */
static float *spread(pelt_arena *arena, const pelt_eigen_joint *joint, const pelt_example_displacements *u,
                     const float *values, size_t width) {
    float *all = PELT_NEW(arena, width * u->point_count, float), *out = PELT_NEW(arena, width * u->vertex_count, float);
    if (!all || !out) return NULL;
    for (uint32_t i = 0; i < joint->point_count; i++)
        memcpy(all + width * joint->points[i], values + width * i, width * sizeof *all);
    for (uint32_t v = 0; v < u->vertex_count; v++)
        memcpy(out + width * v, all + width * u->point_of[v], width * sizeof *out);
    return out;
}

static bool study_joint(pelt_arena *arena, const pelt_eigen_joint *joint, const pelt_example_displacements *u,
                        const pelt_supports *supports, pelt_joint_study *out) {
    float *values = malloc((3 * (size_t)joint->point_count + 1) * sizeof *values);
    if (!values) return false;
    for (uint32_t i = 0; i < joint->point_count; i++)
        values[i] = supports->amplitudes[(size_t)joint->mover * u->point_count + joint->points[i]] /
                    supports->peaks[joint->mover];
    out->example_count = joint->pose_count, out->support_count = joint->point_count;
    bool done = (out->support = spread(arena, joint, u, values, 1)) != NULL;
    for (uint32_t k = 0; k < PELT_STUDY_SHAPES && k < joint->rank && done; k++) {
        pelt_eigendisplacement(joint, u, k, values);
        out->singular[k] = joint->singular[k];
        done = (out->shapes[k] = spread(arena, joint, u, values, 3)) != NULL;
        out->shape_count = k + 1;
    }
    double all = energy_of(joint, u), left = all;
    for (uint32_t n = 0; n < PELT_STUDY_COUNTS; n++) {
        out->errors[n] = all > 0 ? sqrt(fmax(left, 0) / all) : 0;
        if (n < joint->rank) left -= joint->singular[n] * joint->singular[n];
    }
    free(values);
    return done;
}

/* The joints of largest singular value first. */
static int by_size(const void *a, const void *b) {
    const pelt_eigen_joint *x = a, *y = b;
    return (x->singular[0] < y->singular[0]) - (x->singular[0] > y->singular[0]);
}

pelt_result pelt_eigen_study(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                             pelt_arena *arena, pelt_joint_study *out, size_t *count, pelt_error *error) {
    pelt_fitting f = {.bundle = bundle, .examples = examples, .options = *options, .arena = pelt_arena_new(0)};
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
    pelt_eigen_basis basis = {0};
    pelt_result result = f.arena ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    if (!result) result = pelt_fit_blend(&f, error);
    if (!result) result = pelt_poses_of(f.arena, bundle, examples, options->control_scale, &poses, error);
    if (!result) result = pelt_displacements_of(&f, &u, error);
    if (!result) result = pelt_supports_of(f.arena, &f.model, &poses, &u, &supports, error);
    if (!result) result = pelt_eigen_basis_of(f.arena, &poses, &u, &supports, PELT_SUPPORT_THRESHOLD, &basis, error);
    if (!result) qsort(basis.joints, basis.joint_count, sizeof *basis.joints, by_size);
    size_t most = *count;
    *count = 0;
    for (uint32_t j = 0; j < basis.joint_count && *count < most && !result; j++) {
        out[*count] =
            (pelt_joint_study){.name = pelt_mover_name(arena, &bundle->skeleton, &poses, basis.joints[j].mover)};
        if (!study_joint(arena, &basis.joints[j], &u, &supports, &out[(*count)++]))
            result = pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    }
    pelt_arena_free(f.arena);
    return result;
}
