/* blend_result.c: shared by the fitted blends: turning weights of candidates into the model's influences, lists of
   joint names, and the warning about joints that the examples cannot distinguish. */

#include "fit/blend/blend.h"
#include <math.h>
#include <string.h>

/* -- Results ------------------------------------------------------------------------------------------------------- */

pelt_blend_result pelt_blend_result_new(pelt_arena *arena, uint32_t points, uint32_t most) {
    pelt_blend_result out = {.most = most,
                             .counts = PELT_NEW(arena, points, uint32_t),
                             .joints = PELT_NEW(arena, (size_t)points * most, uint32_t),
                             .weights = PELT_NEW(arena, (size_t)points * most, double),
                             .rest = pelt_alloc(arena, points, sizeof *out.rest),
                             .errors = PELT_NEW(arena, points, double)};
    return out;
}

void pelt_blend_store(pelt_blend_result *result, uint32_t point, const pelt_weights *set, const double rest[3]) {
    uint32_t count = set->count < result->most ? set->count : result->most;
    size_t at = (size_t)point * result->most;
    result->counts[point] = count;
    memcpy(result->joints + at, set->joints, count * sizeof *set->joints);
    memcpy(result->weights + at, set->weights, count * sizeof *set->weights);
    memcpy(result->rest[point], rest, 3 * sizeof *rest);
    result->errors[point] = set->error;
}

void pelt_blend_rows(const pelt_blend_result *r, pelt_made rows[PELT_BLEND_ROWS]) {
    rows[0] = (pelt_made){r->counts, sizeof *r->counts};
    rows[1] = (pelt_made){r->joints, r->most * sizeof *r->joints};
    rows[2] = (pelt_made){r->weights, r->most * sizeof *r->weights};
    rows[3] = (pelt_made){r->rest, sizeof *r->rest};
    rows[4] = (pelt_made){r->errors, sizeof *r->errors};
}

/* -- Into the model ------------------------------------------------------------------------------------------------ */

/* True if the point has weights, all finite, and a finite rest position. */
static bool is_sound(const pelt_blend_result *result, uint32_t point) {
    double sum = 0;
    for (uint32_t k = 0; k < result->counts[point]; k++) sum += result->weights[(size_t)point * result->most + k];
    const double *rest = result->rest[point];
    return result->counts[point] && isfinite(sum) && fabs(sum) > 1e-3 && isfinite(rest[0] + rest[1] + rest[2]);
}

static uint32_t file_influences(const pelt_influences *file, uint32_t v, uint32_t *joints, float *weights) {
    uint32_t count = file->first[v + 1] - file->first[v];
    memcpy(joints, file->joints + file->first[v], count * sizeof *joints);
    memcpy(weights, file->weights + file->first[v], count * sizeof *weights);
    return count;
}

static uint32_t point_influences(const pelt_fitting *f, const pelt_candidates *candidates,
                                 const pelt_blend_result *result, uint32_t point, uint32_t *joints, float *weights) {
    size_t at = (size_t)point * result->most;
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < result->counts[point]; k++) sum += result->weights[at + k];
    for (uint32_t k = 0; k < result->counts[point]; k++) {
        float weight = (float)(result->weights[at + k] / sum);
        if (weight == 0) continue;
        joints[count] = pelt_candidate_matrix(f, candidates, result->joints[at + k], f->points.vertex[point]);
        weights[count++] = weight;
    }
    return count;
}

void pelt_blend_finish(pelt_fitting *f, const pelt_candidates *candidates, const pelt_gram *gram,
                       const pelt_blend_result *result, const bool *locked) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    const pelt_points *points = &f->points;
    const pelt_influences *file = &mesh->influences;
    size_t n = mesh->vertex_count, room = n * result->most + file->first[n];
    pelt_influences out = {PELT_NEW(f->arena, n + 1, uint32_t), PELT_NEW(f->arena, room, uint32_t),
                           PELT_NEW(f->arena, room, float)};
    float *positions = PELT_NEW(f->arena, 3 * n, float);
    memcpy(positions, mesh->positions, 3 * n * sizeof *positions);
    uint32_t unsound = 0, first_unsound = 0;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t point = points->of_vertex[v], at = out.first[v];
        bool keep = locked && locked[point], sound = is_sound(result, point);
        if (!keep && !sound && !unsound++) first_unsound = v;
        if (keep || !sound) {
            out.first[v + 1] = at + file_influences(file, v, out.joints + at, out.weights + at);
            continue;
        }
        out.first[v + 1] = at + point_influences(f, candidates, result, point, out.joints + at, out.weights + at);
        for (size_t c = 0; c < 3 && f->options.fitted.rest != PELT_REST_KEEP; c++)
            positions[3 * v + c] = (float)(result->rest[point][c] * gram->rest_scale + gram->center[c]);
    }
    if (unsound)
        pelt_find(
            &f->report.findings, f->arena, PELT_WARNING, "unsound",
            "%u vertices could not be fitted and keep the file's weights; the first is vertex %u: check their examples",
            unsound, first_unsound);
    f->model.influences = out;
    f->model.positions = positions;
}

/* -- Names --------------------------------------------------------------------------------------------------------- */

/* A * matches as few letters as possible, and backtracks to one more. */
static bool fits_pattern(const char *pattern, const char *name) {
    const char *star = NULL, *behind = NULL;
    while (*name) {
        if (*pattern == '*')
            star = pattern++, behind = name;
        else if (*pattern == *name)
            pattern++, name++;
        else if (star)
            pattern = star + 1, name = ++behind;
        else
            return false;
    }
    return !pattern[strspn(pattern, "*")];
}

bool pelt_name_listed(pelt_names names, const char *name) {
    for (size_t i = 0; i < names.count; i++)
        if (fits_pattern(names.list[i], name)) return true;
    return false;
}

const char *pelt_unknown_name(pelt_names names, const pelt_skeleton *skeleton) {
    for (size_t i = 0; i < names.count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < skeleton->joint_count && !found; j++)
            found = fits_pattern(names.list[i], skeleton->names[j]);
        if (!found) return names.list[i];
    }
    return NULL;
}

void pelt_report_twins(pelt_fitting *f, const pelt_candidates *candidates) {
    const pelt_skeleton *skeleton = f->model.skeleton;
    const pelt_influences *in = &f->bundle->mesh.influences;
    bool *carries = PELT_NEW(f->arena, skeleton->joint_count, bool);
    for (uint32_t i = 0; i < in->first[f->bundle->mesh.vertex_count]; i++)
        if (in->weights[i] > 0) carries[in->joints[i]] = true;
    uint32_t count = 0;
    const char *one = NULL, *other = NULL;
    for (uint32_t c = 0; c < candidates->count; c++)
        for (uint32_t m = candidates->first[c] + 1; m < candidates->first[c + 1]; m++) {
            uint32_t leader = candidates->members[candidates->first[c]], joint = candidates->members[m];
            if (joint >= skeleton->joint_count || !carries[joint] || leader >= skeleton->joint_count) continue;
            if (!count++) one = skeleton->names[joint], other = skeleton->names[leader];
        }
    if (count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "twins",
                  "%u joint%s with weight in the file never move%s relative to another in the examples (\"%s\" and "
                  "\"%s\"), so the file's weights decide between them; add examples that move them apart",
                  count, count > 1 ? "s" : "", count > 1 ? "" : "s", one, other);
}
