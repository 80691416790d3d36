/* eigenskin_study.c: supports, eigendisplacements and error curves of the joints that displace the skin most, for
   display.

   The U_k are orthonormal, and computed from displacements times the shares m in the support, so eigendisplacement k
   reduces the squared displacements |A|^2 in a joint's examples by 2 s_k^2 sum_i |U_ik|^2 / m_i - s_k^2, which is s_k^2
   where nothing fades. |A|^2 covers all points, including those outside the support. */

#include "fit/corrective/eigenskin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct inquiry {
    pelt_fitting f;
    size_t most;
    pelt_eigen_study *study;
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
} inquiry;

static double energy_of(const pelt_eigen_joint *joint, const pelt_example_displacements *u) {
    double sum = 0;
    for (uint32_t p = 0; p < joint->pose_count; p++)
        for (size_t i = 0; i < 3 * (size_t)u->point_count; i++) {
            double x = u->positions[3 * (size_t)joint->poses[p] * u->point_count + i];
            sum += x * x;
        }
    return sum;
}

/* Converts per-point values to per-vertex values; 0 outside the support. */
static const float *spread(pelt_arena *arena, const pelt_eigen_joint *joint, const pelt_example_displacements *u,
                           const float *values, size_t width) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    float *all = PELT_NEW(work, width * u->point_count, float), *out = PELT_NEW(arena, width * u->vertex_count, float);
    for (uint32_t i = 0; i < joint->point_count; i++)
        memcpy(all + width * joint->points[i], values + width * i, width * sizeof *all);
    for (uint32_t v = 0; v < u->vertex_count; v++)
        memcpy(out + width * v, all + width * u->point_of[v], width * sizeof *out);
    return out;
}

static void study_joint(const inquiry *q, const pelt_eigen_joint *joint, pelt_joint_study *out) {
    const pelt_example_displacements *u = &q->u;
    pelt_arena *arena = q->study->arena;
    float *values = PELT_NEW(q->f.arena, 3 * (size_t)joint->point_count, float);
    for (uint32_t i = 0; i < joint->point_count; i++)
        values[i] = q->supports.amplitudes[(size_t)joint->mover * u->point_count + joint->points[i]] /
                    q->supports.peaks[joint->mover];
    const char *name = pelt_mover_name(q->f.arena, &q->f.bundle->skeleton, &q->poses, joint->mover);
    *out = (pelt_joint_study){.name = pelt_arena_format(arena, "%s", name),
                              .example_count = joint->pose_count,
                              .support_count = joint->point_count,
                              .shape_count = joint->kept,
                              .support = spread(arena, joint, u, values, 1)};
    for (uint32_t k = 0; k < joint->kept; k++) {
        pelt_eigendisplacement(joint, u, k, values);
        out->singular[k] = joint->singular[k];
        out->shapes[k] = spread(arena, joint, u, values, 3);
    }
    double all = energy_of(joint, u), left = all;
    for (uint32_t n = 0; n < PELT_STUDY_COUNTS; n++) {
        out->errors[n] = sqrt(fmax(left, 0) / all);
        if (n >= joint->rank) continue;
        pelt_eigendisplacement(joint, u, n, values);
        double along = 0;
        for (uint32_t i = 0; i < 3 * joint->point_count; i++) along += values[i] * values[i] / joint->shares[i / 3];
        left -= joint->singular[n] * joint->singular[n] * (2 * along - 1);
    }
}

/* Joints with the largest singular values first. */
static int by_size(const void *a, const void *b) {
    const pelt_eigen_joint *x = a, *y = b;
    return (x->singular[0] < y->singular[0]) - (x->singular[0] > y->singular[0]);
}

static pelt_result study_joints(void *user, pelt_error *error) {
    inquiry *q = user;
    pelt_fitting *f = &q->f;
    f->arena = pelt_arena_inside(q->study->arena);
    pelt_result result = pelt_fit_blend(f, error);
    if (!result) result = pelt_displacements_of(f, &q->u, error);
    if (result) return result;
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &q->poses);
    pelt_eigen_supports(f, &q->poses, &q->u, &q->supports, &(pelt_lone_poses){0});
    pelt_eigen_basis basis =
        pelt_eigen_basis_of(f->arena, &q->poses, &q->u, &q->supports, f->options.threads, PELT_STUDY_SHAPES);
    size_t count = q->most && q->most < basis.joint_count ? q->most : basis.joint_count;
    pelt_joint_study *joints = PELT_NEW(q->study->arena, count, pelt_joint_study);
    qsort(basis.joints, basis.joint_count, sizeof *basis.joints, by_size);
    for (size_t j = 0; j < count; j++) study_joint(q, &basis.joints[j], &joints[j]);
    q->study->joints = joints, q->study->joint_count = count;
    pelt_arena_free(f->arena);
    return PELT_OK;
}

pelt_eigen_study *pelt_study_joints(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                                    size_t most, pelt_error *error) {
    inquiry q = {.f = {.bundle = bundle, .examples = examples}, .most = most};
    if (options) q.f.options = *options;
    if (PELT_MISSING(bundle, error) || pelt_fit_resolve(&q.f.options, error) ||
        pelt_check_control_scales(bundle, &q.f.options, error) || pelt_check_examples(bundle, examples, true, error))
        return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    q.study = PELT_NEW(arena, 1, pelt_eigen_study);
    if (q.study) q.study->arena = arena;
    if (!pelt_stage(arena, study_joints, &q, error)) return q.study;
    pelt_arena_free(arena);
    return NULL;
}

void pelt_eigen_study_free(pelt_eigen_study *study) {
    if (study) pelt_arena_free(study->arena);
}
