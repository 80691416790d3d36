/* playable.c: the corrective of a skin as a few morph targets with weights from 0 to 1; and changes of normals where joints
   scale, which players carry wrongly (carried.h).

   Few: row f of the matrix D is the effect of the corrective on the rest pose in frame f of the clips: displacements,
   and changes of normals. The best approximation by n targets and weights is the truncated singular value decomposition
   of D (Eckart & Young 1936): with Q the first n eigenvectors of D D^T,

       targets = Q^T D,    weights of frame f = row f of Q

   With at most n frames this is exact. Columns of D are scaled by the cost of their errors: a displacement by how much
   the blend stretches there, a change of a normal by TURN of the diagonal. Fewer targets are used if the remaining
   error is rounding.

   From 0 to 1: Blender allows nothing else, and other players clamp too. Every target is scaled by its largest weight;
   then all weights b_k are between -1 and 1. One more target, the negated sum of all targets with negative weights,
   makes room for those: with m = max(0, max_k -b_k),

       sum_k b_k u_k = sum_k (b_k + m)/2 2 u_k + m/2 (-2 sum_k u_k)

   and the rest pose still has weights of 0. */

#include "plain/playable.h"
#include "plain/carried.h"
#include "model/posing.h"
#include "model/targets.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include "runtime/skin.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* A unit change of a normal counts as a displacement by this fraction of the diagonal. */
#define TURN 0.01
/* An RMS error below this fraction of the diagonal is rounding. */
#define ROUNDING 1e-6
/* Normals without a corrective may be off by this, in radians RMS: half a degree. */
#define UNSEEN_TURN 0.00872665
/* Tolerated loss of sums that cancel, as a fraction of the diagonal. */
#define LOST 1e-5

/* Columns processed at a time. */
enum { CHUNK = 1536 };

typedef struct frame_cost {
    double worst, squares, turns, truth[2];
    bool has_truth;
} frame_cost;

typedef struct playing {
    pelt_arena *arena;
    const pelt_skin *skin;
    const pelt_model *model;
    pelt_posing posing;
    const pelt_playable_options *options;
    bool corrects, carries; /* has a corrective; changes normals as joints that scale require */
    const uint32_t *slot_vertices;
    size_t clip_count;
    const pelt_clip *const *clips;
    uint32_t frame_count;       /* of all clips */
    const pelt_clip **clip_of;  /* [frame] */
    const uint32_t *number_of;  /* [frame] in its clip */
    size_t vertex_count, width; /* width of a row of D: 3 or 6 per vertex */
    float *rows;                /* D [frame][width] displacements, then changes of normals */
    float *stretch;             /* [frame][vertex] squared stretch of the blend */
    double *scales;             /* [width] of the columns */
    frame_cost *costs;          /* [frame] */
    double *basis;              /* Q [frame][target] */
    float *dense;               /* [target][width] */
    float *weights;             /* [frame][target] */
    pelt_playable *out;
} playing;

/* -- The corrective in a frame --------------------------------------------------------------------------- */

/* Displacements and changes of normals in a pose, whose palette is spoilt. */
static void unblended_row(const playing *x, void *pose, float *row) {
    const pelt_model *model = x->model;
    size_t n = 3 * x->vertex_count;
    pelt_posing_unblended(x->skin, pose, x->slot_vertices, row, x->width > n ? row + n : NULL);
    for (size_t i = 0; i < n; i++) row[i] -= model->positions[i];
    for (size_t i = n; i < x->width; i++) row[i] -= model->normals[i - n];
}

static pelt_affine *blend_matrices(const playing *x, const pelt_transform *locals, pelt_arena *scratch) {
    const pelt_model *model = x->model;
    pelt_affine *matrices = PELT_NEW(scratch, (size_t)model->skeleton->joint_count + model->driven_count, pelt_affine);
    pelt_joint_matrices(model->skeleton, locals, NULL, matrices);
    pelt_driven_matrices(model, matrices);
    return matrices;
}

/* The linear part of the blend of a vertex, row-major. */
static void blended_linear(const pelt_model *model, const pelt_affine *matrices, size_t vertex, double out[9]) {
    const pelt_influences *in = &model->influences;
    memset(out, 0, 9 * sizeof *out);
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        for (int c = 0; c < 9; c++) out[c] += in->weights[i] * matrices[in->joints[i]].m[4 * (c / 3) + c % 3];
}

static void gather_row(void *user, size_t f, pelt_arena *scratch) {
    const playing *x = user;
    size_t n = 3 * x->vertex_count;
    float *row = x->rows + f * x->width, *posed = PELT_NEW(scratch, 2 * n, float);
    pelt_transform *locals = PELT_NEW(scratch, x->skin->joint_count, pelt_transform);
    void *pose = pelt_alloc(scratch, pelt_scratch_size(x->skin), 1);
    pelt_posing_frame(&x->posing, x->clip_of[f], x->number_of[f], scratch, locals, pose);
    if (x->carries)
        pelt_deform_to(
            x->skin, pose, pelt_all_blocks(x->skin),
            &(pelt_output){.positions.data = posed, .normals.data = posed + n, .vertices = x->slot_vertices});
    if (x->corrects) unblended_row(x, pose, row);
    const pelt_affine *matrices = blend_matrices(x, locals, scratch);
    for (size_t v = 0; v < x->vertex_count; v++) {
        double linear[9], square = 0;
        blended_linear(x->model, matrices, v, linear);
        for (int c = 0; c < 9; c++) square += linear[c] * linear[c] / 3;
        x->stretch[f * x->vertex_count + v] = (float)square;
        if (x->carries) pelt_carried_change(linear, posed + n + 3 * v, x->model->normals + 3 * v, row + n + 3 * v);
    }
}

/* -- The best targets ---------------------------------------------------------------------------------------------- */

static void scale_columns(playing *x) {
    size_t n = 3 * x->vertex_count;
    double turn = TURN * pelt_scene_diagonal(&x->posing.bundle->mesh);
    for (size_t v = 0; v < x->vertex_count; v++) {
        double sum = 0;
        for (size_t f = 0; f < x->frame_count; f++) sum += x->stretch[f * x->vertex_count + v];
        for (size_t c = 0; c < 3; c++) x->scales[3 * v + c] = sqrt(sum / x->frame_count);
    }
    for (size_t i = n; i < x->width; i++) x->scales[i] = turn;
}

/* Some columns of D in double, optionally scaled. */
static void take_columns(const playing *x, size_t first, size_t count, bool scaled, double *out) {
    for (size_t f = 0; f < x->frame_count; f++)
        for (size_t i = 0; i < count; i++)
            out[f * count + i] = x->rows[f * x->width + first + i] * (scaled ? x->scales[first + i] : 1);
}

static size_t chunk_size(const playing *x, size_t first) { return x->width - first < CHUNK ? x->width - first : CHUNK; }

/* D D^T, with its columns scaled. */
static double *gram_matrix(playing *x) {
    size_t n = x->frame_count;
    double *gram = PELT_NEW(x->arena, n * n, double), *chunk = PELT_NEW(x->arena, n * CHUNK, double);
    for (size_t first = 0; first < x->width; first += CHUNK) {
        size_t count = chunk_size(x, first);
        take_columns(x, first, count, true, chunk);
        pelt_gemm(false, true, n, n, count, 1, chunk, chunk, 1, gram);
    }
    return gram;
}

/* The smallest number of eigenvectors that leaves only rounding or, without a corrective, what nobody sees; values are
   ascending. */
static uint32_t rank_of(const playing *x, const double *values, uint32_t most) {
    double limit = (x->corrects ? ROUNDING : UNSEEN_TURN * TURN) * pelt_scene_diagonal(&x->posing.bundle->mesh),
           tail = 0;
    uint32_t rank = x->frame_count;
    limit *= limit * x->frame_count * (double)x->vertex_count;
    for (uint32_t i = 0; i < x->frame_count && rank > 1; i++) {
        tail += fmax(values[i], 0);
        if (tail > limit) break;
        rank--;
    }
    return rank < most ? rank : most;
}

static void make_targets(void *user, size_t chunk, pelt_arena *scratch) {
    const playing *x = user;
    size_t first = chunk * CHUNK, count = chunk_size(x, first), n = x->out->count;
    double *columns = PELT_NEW(scratch, x->frame_count * count, double);
    double *targets = PELT_NEW(scratch, n * count, double);
    take_columns(x, first, count, false, columns);
    pelt_gemm(true, false, n, count, x->frame_count, 1, x->basis, columns, 0, targets);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < count; i++) x->dense[k * x->width + first + i] = (float)targets[k * count + i];
}

/* One half of a row as a target: the vertices it moves. */
static pelt_target sparse_target(pelt_arena *arena, const float *row, size_t vertex_count, const char *name) {
    uint32_t count = 0;
    for (size_t v = 0; v < vertex_count; v++) count += row[3 * v] != 0 || row[3 * v + 1] != 0 || row[3 * v + 2] != 0;
    uint32_t *vertices = PELT_NEW(arena, count, uint32_t);
    float *deltas = PELT_NEW(arena, 3 * (size_t)count, float);
    count = 0;
    for (size_t v = 0; v < vertex_count; v++) {
        const float *d = row + 3 * v;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        vertices[count] = (uint32_t)v;
        memcpy(deltas + 3 * (size_t)count++, d, 3 * sizeof *d);
    }
    return (pelt_target){name, count, vertices, deltas};
}

static void list_target(playing *x, uint32_t k, const float *row, const char *name) {
    x->out->positions[k] = sparse_target(x->arena, row, x->vertex_count, name);
    if (x->out->normals) x->out->normals[k] = sparse_target(x->arena, row + 3 * x->vertex_count, x->vertex_count, name);
}

/* Sets targets and weights; leaves room for one more target. */
static void compress(playing *x) {
    uint32_t frames = x->frame_count;
    x->rows = PELT_NEW(x->arena, frames * x->width, float);
    x->stretch = PELT_NEW(x->arena, frames * x->vertex_count, float);
    x->scales = PELT_NEW(x->arena, x->width, double);
    pelt_parallel(x->arena, x->options->threads, frames, gather_row, x);
    scale_columns(x);
    double *gram = gram_matrix(x), *values = PELT_NEW(x->arena, frames, double);
    if (!pelt_eigen(frames, gram, values)) pelt_arena_fail(x->arena);
    uint32_t n = x->out->count = rank_of(x, values, x->options->most - 1);
    x->basis = PELT_NEW(x->arena, (size_t)frames * n, double);
    x->weights = PELT_NEW(x->arena, (size_t)frames * n, float);
    x->dense = PELT_NEW(x->arena, n * x->width, float);
    for (size_t f = 0; f < frames; f++)
        for (size_t k = 0; k < n; k++) {
            x->basis[f * n + k] = gram[f * frames + (frames - 1 - k)];
            x->weights[f * n + k] = (float)x->basis[f * n + k];
        }
    pelt_parallel(x->arena, x->options->threads, (x->width + CHUNK - 1) / CHUNK, make_targets, x);
    x->out->positions = PELT_NEW(x->arena, (size_t)n + 1, pelt_target);
    if (x->width > 3 * x->vertex_count) x->out->normals = PELT_NEW(x->arena, (size_t)n + 1, pelt_target);
    for (uint32_t k = 0; k < n; k++)
        list_target(x, k, x->dense + k * x->width, pelt_arena_format(x->arena, "displacement %u", k));
}

/* -- Weights from 0 to 1 ------------------------------------------------------------------------------------------- */

static pelt_target scaled_target(pelt_arena *arena, pelt_target target, double scale, float *sum) {
    float *deltas = PELT_NEW(arena, 3 * (size_t)target.count, float);
    for (size_t i = 0; i < 3 * (size_t)target.count; i++) {
        deltas[i] = (float)(target.deltas[i] * scale);
        if (sum) sum[3 * (size_t)target.vertices[i / 3] + i % 3] -= deltas[i];
    }
    target.deltas = deltas;
    return target;
}

/* The largest absolute weight of a target, and whether some are negative. */
static double range_of(const playing *x, uint32_t k, bool *negative) {
    double largest = 0;
    *negative = false;
    for (size_t f = 0; f < x->frame_count; f++) {
        float weight = x->weights[f * x->out->count + k];
        largest = fmax(largest, fabsf(weight));
        *negative |= weight < 0;
    }
    return largest;
}

/* Scales the targets and drops those that are never used. */
static void make_positive(playing *x) {
    pelt_playable *out = x->out;
    uint32_t n = out->count, kept = 0, signed_count = 0;
    double *ranges = PELT_NEW(x->arena, n, double);
    bool *negative = PELT_NEW(x->arena, n, bool);
    float *sum = PELT_NEW(x->arena, x->width, float);
    for (uint32_t k = 0; k < n; k++) {
        ranges[k] = range_of(x, k, &negative[k]);
        if (!(ranges[k] > 0)) continue;
        double scale = negative[k] ? 2 * ranges[k] : ranges[k];
        out->positions[kept] = scaled_target(x->arena, out->positions[k], scale, negative[k] ? sum : NULL);
        if (out->normals)
            out->normals[kept] =
                scaled_target(x->arena, out->normals[k], scale, negative[k] ? sum + 3 * x->vertex_count : NULL);
        kept++, signed_count += negative[k];
    }
    if (signed_count) list_target(x, kept++, sum, "all that are negative, reversed");
    float *weights = PELT_NEW(x->arena, (size_t)x->frame_count * kept, float);
    for (size_t f = 0; f < x->frame_count; f++) {
        double room = 0;
        for (uint32_t k = 0; k < n; k++)
            if (negative[k]) room = fmax(room, -x->weights[f * n + k] / ranges[k]);
        float *to = weights + f * kept;
        for (uint32_t k = 0; k < n; k++) {
            double weight = ranges[k] > 0 ? x->weights[f * n + k] / ranges[k] : 0;
            if (ranges[k] > 0) *to++ = (float)(negative[k] ? (weight + room) / 2 : weight);
        }
        if (signed_count) *to = (float)(room / 2);
    }
    out->count = kept, x->weights = weights;
}

/* -- The error ------------------------------------------------------------------------------------------------- */

static void add_targets(const pelt_target *targets, uint32_t count, const float *weights, double *sum) {
    for (uint32_t k = 0; k < count; k++)
        for (size_t i = 0; weights[k] != 0 && i < 3 * (size_t)targets[k].count; i++)
            sum[3 * (size_t)targets[k].vertices[i / 3] + i % 3] += (double)weights[k] * targets[k].deltas[i];
}

/* The angle between two normals, given as changes of the same rest normal, once a player has moved both. */
static double turn_between(const double linear[9], const float rest[3], const float change[3], const double other[3]) {
    double a[3] = {0}, b[3] = {0}, cross[3];
    for (int i = 0; i < 9; i++) {
        a[i / 3] += linear[i] * ((double)rest[i % 3] + change[i % 3]);
        b[i / 3] += linear[i] * (rest[i % 3] + other[i % 3]);
    }
    pelt_cross(a, b, cross);
    return atan2(pelt_length(cross), pelt_dot(a, b));
}

static void cost_of_frame(void *user, size_t f, pelt_arena *scratch) {
    const playing *x = user;
    const pelt_playable *out = x->out;
    const float *row = x->rows + f * x->width, *weights = x->weights + f * out->count;
    const float *truth = x->clip_of[f]->positions;
    size_t n = 3 * x->vertex_count;
    frame_cost *cost = &x->costs[f];
    pelt_transform *locals = PELT_NEW(scratch, x->skin->joint_count, pelt_transform);
    void *pose = pelt_alloc(scratch, pelt_scratch_size(x->skin), 1);
    float *posed = PELT_NEW(scratch, n, float);
    double *sum = PELT_NEW(scratch, x->width, double);
    pelt_posing_frame(&x->posing, x->clip_of[f], x->number_of[f], scratch, locals, pose);
    pelt_deform_to(x->skin, pose, pelt_all_blocks(x->skin),
                   &(pelt_output){.positions.data = posed, .vertices = x->slot_vertices});
    const pelt_affine *matrices = blend_matrices(x, locals, scratch);
    add_targets(out->positions, out->count, weights, sum);
    if (out->normals) add_targets(out->normals, out->count, weights, sum + n);
    cost->has_truth = truth != NULL;
    for (size_t v = 0; v < x->vertex_count; v++) {
        double linear[9], moved[3], square = 0;
        blended_linear(x->model, matrices, v, linear);
        for (int r = 0; r < 3; r++) {
            moved[r] = 0;
            for (int c = 0; c < 3; c++)
                moved[r] += linear[3 * r + c] * (sum[3 * v + (size_t)c] - row[3 * v + (size_t)c]);
            square += moved[r] * moved[r];
        }
        cost->worst = fmax(cost->worst, sqrt(square)), cost->squares += square;
        for (size_t c = 0; truth && c < 3; c++) {
            double error = posed[3 * v + c] - truth[x->number_of[f] * n + 3 * v + c];
            cost->truth[0] += error * error, cost->truth[1] += (error + moved[c]) * (error + moved[c]);
        }
        if (!out->normals) continue;
        double turn = turn_between(linear, x->model->normals + 3 * v, row + n + 3 * v, sum + n + 3 * v);
        cost->turns += turn * turn;
    }
}

static void count_costs(playing *x) {
    frame_cost all = {0};
    double with_truth = 0, count = (double)x->frame_count * (double)x->vertex_count;
    x->costs = PELT_NEW(x->arena, x->frame_count, frame_cost);
    pelt_parallel(x->arena, x->options->threads, x->frame_count, cost_of_frame, x);
    for (uint32_t f = 0; f < x->frame_count; f++) {
        const frame_cost *c = &x->costs[f];
        all.worst = fmax(all.worst, c->worst), all.squares += c->squares, all.turns += c->turns;
        for (int i = 0; i < 2; i++) all.truth[i] += c->truth[i];
        with_truth += c->has_truth ? (double)x->vertex_count : 0;
    }
    x->out->worst = all.worst, x->out->rms = sqrt(all.squares / count);
    x->out->normals_rms = sqrt(all.turns / count) * 180 / acos(-1);
    x->out->has_truth = with_truth > 0;
    for (int i = 0; i < 2 && with_truth > 0; i++) x->out->truth[i] = sqrt(all.truth[i] / with_truth);
}

/* -- Everything ---------------------------------------------------------------------------------------------------- */

static void list_frames(playing *x) {
    for (size_t c = 0; c < x->clip_count; c++) x->frame_count += x->clips[c]->frame_count;
    const pelt_clip **clip_of = PELT_NEW(x->arena, x->frame_count, const pelt_clip *);
    uint32_t *number_of = PELT_NEW(x->arena, x->frame_count, uint32_t), at = 0;
    for (size_t c = 0; c < x->clip_count; c++)
        for (uint32_t f = 0; f < x->clips[c]->frame_count; f++) clip_of[at] = x->clips[c], number_of[at++] = f;
    x->clip_of = clip_of, x->number_of = number_of;
}

/* Whether targets with these weights cancel: then players, which use floats, lose the remainder. */
static bool cancels(const playing *x, const pelt_skin_targets *targets) {
    double all = 0;
    for (uint32_t k = 0; k < targets->count; k++) {
        bool negative;
        float most = 0;
        for (size_t i = 0; i < 3 * (size_t)targets->positions[k].count; i++)
            most = fmaxf(most, fabsf(targets->positions[k].deltas[i]));
        all += most * range_of(x, k, &negative);
    }
    return all * FLT_EPSILON > LOST * x->posing.bundle->mesh.diagonal;
}

/* The targets that the corrective is a sum of, and their weights; false when there are too many, or they cancel. */
static bool take_whole(playing *x, pelt_skin_targets *targets, pelt_error *error, pelt_result *result) {
    bool any_negative = false;
    uint32_t at = 0;
    *result = pelt_skin_targets_of(x->arena, x->skin, x->options->normals, targets, error);
    x->out->whole = targets->count;
    if (*result || targets->count > x->options->most) return *result != PELT_OK;
    x->out->count = targets->count;
    x->weights = PELT_NEW(x->arena, (size_t)x->frame_count * targets->count, float);
    for (size_t c = 0; c < x->clip_count; c++) {
        float *weights = pelt_skin_target_weights(x->arena, x->skin, targets, x->posing.bundle, x->clips[c], error);
        if (!weights) return *result = error->code, true;
        size_t size = (size_t)x->clips[c]->frame_count * targets->count;
        memcpy(x->weights + (size_t)at * targets->count, weights, size * sizeof *weights);
        at += x->clips[c]->frame_count;
        for (size_t i = 0; i < size; i++) any_negative |= weights[i] < 0;
    }
    if (targets->count + any_negative > x->options->most || cancels(x, targets)) return false;
    x->out->positions = PELT_NEW(x->arena, (size_t)targets->count + 1, pelt_target);
    memcpy(x->out->positions, targets->positions, targets->count * sizeof *targets->positions);
    if (targets->normals) {
        x->out->normals = PELT_NEW(x->arena, (size_t)targets->count + 1, pelt_target);
        memcpy(x->out->normals, targets->normals, targets->count * sizeof *targets->normals);
    }
    return true;
}

static pelt_result make_playable(void *user, pelt_error *error) {
    playing *x = user;
    pelt_playable *out = x->out;
    const pelt_skin *skin = x->skin;
    const pelt_rows tilts = pelt_skin_tilts(skin);
    pelt_skin_targets whole;
    pelt_result result = pelt_posing_open(x->arena, skin, x->posing.bundle, &x->posing, error);
    if (result) return result;
    uint32_t *slot_vertices = PELT_NEW(x->arena, (size_t)skin->block_count * PELT_BLOCK, uint32_t);
    pelt_slot_vertices(skin, slot_vertices);
    x->slot_vertices = slot_vertices;
    list_frames(x);
    if (!x->frame_count && !x->corrects) return PELT_OK;
    if (!x->frame_count && pelt_skin_corrective(skin)->weighted)
        return pelt_fail(
            error, PELT_ERROR_UNSUPPORTED,
            "weighted PSD has no morph targets of its own; name clips with --clip to fit some to their frames");
    if (!x->frame_count) {
        result = pelt_skin_targets_of(x->arena, skin, x->options->normals, &whole, error);
        out->count = out->whole = whole.count, out->positions = whole.positions, out->normals = whole.normals;
        return result;
    }
    x->width = (x->carries || (x->options->normals && (tilts.floats || tilts.shorts)) ? 6 : 3) * x->vertex_count;
    bool whole_fits = x->corrects && !pelt_skin_corrective(skin)->weighted && take_whole(x, &whole, error, &result);
    if (result) return result;
    out->compressed = !whole_fits || x->carries;
    if (out->compressed) compress(x);
    make_positive(x);
    if (out->compressed) count_costs(x);
    out->weights = PELT_NEW(x->arena, x->clip_count, const float *);
    for (size_t c = 0, at = 0; c < x->clip_count; at += x->clips[c++]->frame_count)
        out->weights[c] = x->weights + at * out->count;
    return PELT_OK;
}

pelt_result pelt_playable_of(pelt_arena *arena, const pelt_skin *skin, const pelt_model *model,
                             const pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                             const pelt_playable_options *options, pelt_playable *out, pelt_error *error) {
    playing x = {.arena = arena,
                 .skin = skin,
                 .model = model,
                 .posing.bundle = bundle,
                 .options = options,
                 .clip_count = clip_count,
                 .clips = clips,
                 .vertex_count = skin->vertex_count,
                 .corrects = pelt_has_corrective(skin),
                 .carries = options->normals && (pelt_scales_normals(model) || pelt_needs_shading(skin)),
                 .out = out};
    *out = (pelt_playable){0};
    if (!x.corrects && !x.carries) return PELT_OK;
    return pelt_stage(arena, make_playable, &x, error);
}
