/* look.c: how an error looks.

   *Roughness*. The eye forgives an error that its surroundings share and notices one that they do not: a crumple. So we
   measure the uniform Laplacian of the error e over the mesh edges,

       (L e)_p = e_p - mean of e_q over the neighbours q of p,

   squared and summed over points and frames, relative to that of the blend with the file's weights:

       roughness = ||L e_model|| / ||L e_blend||

   *Jump*. A skin pops where it moves between two frames and the truth does not: the largest change of the error,

       max over points p and frames f of |e_p(f + 1) - e_p(f)|,

   relative to that of the blend. It is only meaningful for consecutive frames: clips that are lists of poses have no
   jump.

   Both work on points, not vertices: vertices with the same rest position are merged, so that a seam is not a border.
   Where the skin or the truth tears them apart, the point gets their mean error. A finer mesh has shorter edges, across
   which a smooth error differs less: figures are not comparable between meshes. */

#include "fit/measure/look.h"
#include "fit/fitting.h"
#include <math.h>
#include <string.h>

/* -- Constant over all frames
   ------------------------------------------------------------------------------------------- */

static double mean_edge(const pelt_mesh *mesh, const pelt_points *points, const pelt_neighbours *neighbours) {
    double sum = 0;
    uint32_t count = neighbours->first[points->count]; /* every edge twice */
    for (uint32_t p = 0; p < points->count; p++)
        for (uint32_t i = neighbours->first[p]; i < neighbours->first[p + 1]; i++) {
            const float *a = mesh->positions + 3 * (size_t)points->vertex[p];
            const float *b = mesh->positions + 3 * (size_t)points->vertex[neighbours->list[i]];
            double x = (double)a[0] - b[0], y = (double)a[1] - b[1], z = (double)a[2] - b[2];
            sum += sqrt(x * x + y * y + z * z);
        }
    return count ? sum / count : 0;
}

/* Judged by the whole clip, even if only some of its frames are measured. */
static bool clip_is_motion(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_example *all = PELT_NEW(work, clip->frame_count, pelt_example);
    for (uint32_t f = 0; f < clip->frame_count; f++) all[f] = (pelt_example){clip, f};
    return pelt_is_motion(bundle, all, clip->frame_count);
}

static const bool *find_followers(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples) {
    bool *follows = PELT_NEW(arena, examples.count, bool), motion = false;
    const pelt_clip *known = NULL;
    for (size_t i = 1; i < examples.count; i++) {
        const pelt_example *now = &examples.list[i], *before = now - 1;
        if (now->clip != before->clip || now->frame != before->frame + 1) continue;
        if (now->clip != known) motion = clip_is_motion(arena, bundle, now->clip), known = now->clip;
        follows[i] = motion;
    }
    return follows;
}

static const double *find_shares(pelt_arena *arena, uint32_t vertex_count, const pelt_points *points) {
    double *share = PELT_NEW(arena, vertex_count, double);
    uint32_t *twins = PELT_NEW(arena, points->count, uint32_t);
    for (uint32_t v = 0; v < vertex_count; v++) twins[points->of_vertex[v]]++;
    for (uint32_t v = 0; v < vertex_count; v++) share[v] = 1.0 / twins[points->of_vertex[v]];
    return share;
}

void pelt_look_open(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples, pelt_look *look) {
    const pelt_mesh *mesh = &bundle->mesh;
    const uint32_t *first = mesh->influences.first;
    look->points = pelt_find_points(arena, mesh, (pelt_examples){0});
    look->neighbours = pelt_find_neighbours(arena, mesh, &look->points);
    look->mean_edge = mean_edge(mesh, &look->points, &look->neighbours);
    look->follows = find_followers(arena, bundle, examples);
    look->vertex_count = mesh->vertex_count;
    look->share = find_shares(arena, mesh->vertex_count, &look->points);
    look->has_blend = true;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) look->has_blend &= first[v] < first[v + 1];
}

/* -- A frame ------------------------------------------------------------------------------------------------------- */

static void find_errors(const pelt_look *look, const float *positions, const double *blended, const float *truth,
                        pelt_look_frame *frame) {
    float *model = frame->errors[PELT_LOOK_MODEL], *blend = frame->errors[PELT_LOOK_BLEND];
    memset(model, 0, 3 * (size_t)look->points.count * sizeof *model);
    memset(blend, 0, 3 * (size_t)look->points.count * sizeof *blend);
    for (size_t v = 0; v < look->vertex_count; v++) {
        size_t p = 3 * (size_t)look->points.of_vertex[v];
        for (size_t c = 0; c < 3; c++) {
            model[p + c] += (float)(look->share[v] * ((double)positions[3 * v + c] - truth[3 * v + c]));
            blend[p + c] += (float)(look->share[v] * (blended[3 * v + c] - truth[3 * v + c]));
        }
    }
}

/* |(L e)_p|^2. A point without neighbours has nothing to differ from. */
static double rough_at(const pelt_look *look, const float *errors, uint32_t p) {
    uint32_t begin = look->neighbours.first[p], end = look->neighbours.first[p + 1];
    double mean[3] = {0}, square = 0;
    for (uint32_t i = begin; i < end; i++)
        for (size_t c = 0; c < 3; c++) mean[c] += errors[3 * (size_t)look->neighbours.list[i] + c];
    for (size_t c = 0; c < 3 && begin < end; c++) {
        double x = errors[3 * (size_t)p + c] - mean[c] / (end - begin);
        square += x * x;
    }
    return square;
}

void pelt_look_at(const pelt_look *look, const float *positions, const double *blended, const float *truth,
                  pelt_look_frame *frame) {
    find_errors(look, positions, blended, truth, frame);
    for (int k = 0; k < PELT_LOOKS; k++) frame->rough_sum[k] = 0;
    for (uint32_t p = 0; p < look->points.count; p++) {
        double square = rough_at(look, frame->errors[PELT_LOOK_MODEL], p);
        frame->rough[p] = (float)square;
        frame->rough_sum[PELT_LOOK_MODEL] += square;
        if (look->has_blend) frame->rough_sum[PELT_LOOK_BLEND] += rough_at(look, frame->errors[PELT_LOOK_BLEND], p);
    }
}

void pelt_look_jump(const pelt_look *look, size_t example, const pelt_look_frame *before, pelt_look_frame *frame) {
    for (int k = 0; k < PELT_LOOKS; k++) {
        const float *a = before->errors[k], *b = frame->errors[k];
        double most = 0;
        uint32_t where = 0;
        for (uint32_t p = 0; p < look->points.count && look->follows[example]; p++) {
            size_t i = 3 * (size_t)p;
            double x = (double)b[i] - a[i], y = (double)b[i + 1] - a[i + 1], z = (double)b[i + 2] - a[i + 2];
            double square = x * x + y * y + z * z;
            if (square > most) most = square, where = p;
        }
        frame->jump[k] = sqrt(most);
        if (k == PELT_LOOK_MODEL) frame->jump_vertex = look->points.vertex[where];
    }
}

/* -- All frames ---------------------------------------------------------------------------------------------------- */

void pelt_look_add(const pelt_look *look, size_t example, const pelt_look_frame *frame, pelt_look_sums *sums) {
    for (uint32_t p = 0; p < look->points.count; p++) sums->rough[p] += frame->rough[p];
    if (frame->jump[PELT_LOOK_MODEL] > sums->jump[PELT_LOOK_MODEL])
        sums->jump_frame = (uint32_t)example, sums->jump_vertex = frame->jump_vertex;
    for (int k = 0; k < PELT_LOOKS; k++) {
        sums->rough_sum[k] += frame->rough_sum[k];
        sums->jump[k] = fmax(sums->jump[k], frame->jump[k]);
    }
    sums->motion |= look->follows[example];
}

static double relative(const double values[PELT_LOOKS]) {
    return values[PELT_LOOK_BLEND] > 0 ? values[PELT_LOOK_MODEL] / values[PELT_LOOK_BLEND] : 0;
}

void pelt_look_finish(const pelt_look *look, const pelt_look_sums *sums, pelt_measure *measure) {
    measure->point_count = look->points.count;
    measure->mean_edge = look->mean_edge;
    measure->roughness = sqrt(relative(sums->rough_sum));
    measure->jump = !sums->motion ? NAN : look->has_blend ? relative(sums->jump) : 0;
    measure->jump_max = sums->motion ? sums->jump[PELT_LOOK_MODEL] : NAN;
    measure->jump_frame = sums->jump_frame, measure->jump_vertex = sums->jump_vertex;
    for (size_t v = 0; v < look->vertex_count; v++)
        measure->vertex_rough[v] = (float)sqrt(sums->rough[look->points.of_vertex[v]] / measure->frame_count);
}
