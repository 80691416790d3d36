/* locks.c: weights that a fit must keep as they are in the file (locks.h). */

#include "fit/blend/locks.h"
#include "fit/blend/blend.h"
#include "rig/regions.h"

static pelt_result lock_joints(pelt_fitting *f, const pelt_candidates *candidates, pelt_locks *out, pelt_error *error) {
    pelt_names names = f->options.convex.lock_joints;
    if (!names.count) return PELT_OK;
    const char *unknown = pelt_unknown_name(names, f->model.skeleton);
    if (unknown) return pelt_fail_option(error, "lock_joints", "the skeleton has no joint \"%.200s\"", unknown);
    out->candidates = PELT_NEW(f->arena, candidates->count, bool);
    for (uint32_t c = 0; c < candidates->count; c++)
        for (uint32_t m = candidates->first[c]; m < candidates->first[c + 1]; m++)
            out->candidates[c] |= pelt_name_listed(names, f->model.skeleton->names[candidates->members[m]]);
    return PELT_OK;
}

static pelt_result lock_vertices(pelt_fitting *f, pelt_locks *out, pelt_error *error) {
    const pelt_convex_options *o = &f->options.convex;
    if (!o->lock_vertex_count) return PELT_OK;
    out->points = PELT_NEW(f->arena, f->points.count, bool);
    for (size_t i = 0; i < o->lock_vertex_count; i++) {
        if (o->lock_vertices[i] >= f->model.vertex_count)
            return pelt_fail_option(error, "lock_vertices", "there is no vertex %u; the mesh has %u",
                                    o->lock_vertices[i], f->model.vertex_count);
        out->points[f->points.of_vertex[o->lock_vertices[i]]] = true;
    }
    return PELT_OK;
}

static pelt_result lock_painted(pelt_fitting *f, pelt_locks *out, pelt_error *error) {
    pelt_color color = f->options.convex.lock_color;
    const float *colors = f->bundle->mesh.colors;
    bool found = false;
    if (!color) return PELT_OK;
    if (!colors)
        return pelt_fail_option(
            error, "lock_color",
            "the mesh has no vertex colours (COLOR_0); paint some, or list the vertices (lock_vertices)");
    if (!out->points) out->points = PELT_NEW(f->arena, f->points.count, bool);
    for (uint32_t v = 0; v < f->model.vertex_count; v++)
        if (pelt_painted_color(colors + 3 * (size_t)v) == color) out->points[f->points.of_vertex[v]] = found = true;
    return found ? PELT_OK : pelt_fail_option(error, "lock_color", "no vertex is painted %s", pelt_color_name(color));
}

static pelt_result find_locks(pelt_fitting *f, const pelt_candidates *candidates, pelt_locks *out, pelt_error *error) {
    *out = (pelt_locks){0};
    pelt_result result = lock_joints(f, candidates, out, error);
    if (!result) result = lock_vertices(f, out, error);
    return result ? result : lock_painted(f, out, error);
}

/* The matrices of the model that the fit may use: all but those of drop_joints. */
static pelt_result usable_matrices(pelt_fitting *f, bool **allowed, pelt_error *error) {
    pelt_names dropped = f->options.fitted.drop_joints;
    uint32_t n = pelt_model_matrix_count(&f->model), joints = f->model.skeleton->joint_count;
    *allowed = NULL;
    if (!dropped.count) return PELT_OK;
    const char *unknown = pelt_unknown_name(dropped, f->model.skeleton);
    if (unknown) return pelt_fail_option(error, "drop_joints", "the skeleton has no joint \"%.200s\"", unknown);
    *allowed = PELT_NEW(f->arena, n, bool);
    for (uint32_t j = 0; j < n; j++)
        (*allowed)[j] = j >= joints || !pelt_name_listed(dropped, f->model.skeleton->names[j]);
    return PELT_OK;
}

pelt_result pelt_begin_blend(pelt_fitting *f, pelt_affine **matrices, pelt_candidates *candidates, pelt_locks *locks,
                             pelt_error *error) {
    bool *allowed = NULL;
    pelt_result result = usable_matrices(f, &allowed, error);
    if (!result) result = pelt_example_matrices(f, matrices, error);
    if (!result) result = pelt_find_candidates(f, *matrices, allowed, candidates, error);
    return result ? result : find_locks(f, candidates, locks, error);
}

double pelt_locked_weights(const pelt_fitting *f, const pelt_candidates *candidates, const pelt_locks *locks,
                           uint32_t vertex, pelt_weights *locked) {
    const pelt_influences *in = &f->bundle->mesh.influences;
    double sum = 0;
    locked->count = 0;
    for (uint32_t c = 0; locks->candidates && c < candidates->count; c++) {
        double weight = 0;
        if (!locks->candidates[c]) continue;
        for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
            for (uint32_t m = candidates->first[c]; m < candidates->first[c + 1]; m++)
                if (candidates->members[m] == in->joints[i]) weight += in->weights[i];
        if (weight > 0 && locked->count < PELT_MOST_WEIGHTS) {
            locked->joints[locked->count] = c, locked->weights[locked->count++] = weight;
            sum += weight;
        }
    }
    return sum;
}
