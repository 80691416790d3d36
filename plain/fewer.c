/* fewer.c: weights on fewer joints, for players that read only four.

   A vertex at h_e = v0 + D(p_e) that the skin puts at v_e = sum_j w_j T_j^e h_e should stay there with weights w' on a
   few of its joints:

       minimise  sum_e |sum_j w'_j T_j^e h_e - v_e|^2 + epsilon |w' - w|^2,    sum w' = 1, at most n not zero

   and none negative, unless the vertex has negative weights already.

   Since weights sum to 1 this is w'^T C w' with C = sum_e A_e^T A_e + epsilon (I - w 1^T - 1 w^T + |w|^2 1 1^T) and the
   columns T_j^e h_e - v_e of A_e (fit/blend/convex.c, bilinear.c). The second term decides where the poses do not. */

#include "plain/fewer.h"
#include "fit/blend/bilinear.h"
#include "model/posing.h"
#include "rig/maths.h"
#include "runtime/skin.h"
#include <math.h>
#include <string.h>

static const double KEEP = 1e-8;    /* epsilon, per pose, in squared diagonals */
static const double JITTER = 1e-12; /* the same, on the diagonal of C, for joints that move as one */
static const double CUT = 1e-9;     /* singular values below, of the largest, are rounding */
enum { MOST_FRAMES = 200, BATCH = 64 };

typedef struct fewer {
    pelt_arena *arena;
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    uint32_t most, threads;
    pelt_model *model;
    pelt_fewer *out;
    pelt_posing posing;
    const uint32_t *slot_vertices;
    double unit;               /* 1 / diagonal */
    uint32_t count;            /* vertices to refit */
    uint32_t *vertices;        /* [count] */
    double **products;         /* [count] C of the vertex, [n][n] */
    pelt_influences fitted;    /* of all vertices */
    const pelt_affine *pose;   /* [matrix] of the frame */
    const float *unblended;    /* [vertex][3] h_e */
    double *squares, *largest; /* [count] of the distances of the fitted weights */
} fewer;

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static uint32_t frame_total(const pelt_bundle *bundle) {
    uint32_t total = 0;
    for (uint32_t c = 0; c < bundle->clip_count; c++) total += bundle->clips[c]->frame_count;
    return total;
}

static void take_pose(fewer *x, const pelt_clip *clip, uint32_t frame, pelt_arena *brief) {
    const pelt_model *model = x->model;
    pelt_transform *locals = PELT_NEW(brief, x->skin->joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(brief, (size_t)model->skeleton->joint_count + model->driven_count, pelt_affine);
    void *pose = pelt_alloc(brief, pelt_scratch_size(x->skin), 1);
    pelt_posing_frame(&x->posing, clip, frame, brief, locals, pose);
    pelt_joint_matrices(model->skeleton, locals, NULL, matrices);
    pelt_driven_matrices(model, matrices);
    x->pose = matrices, x->unblended = model->positions;
    if (!pelt_has_corrective(x->skin)) return;
    float *unblended = PELT_NEW(brief, 3 * (size_t)model->vertex_count, float);
    pelt_posing_unblended(x->skin, pose, x->slot_vertices, unblended, NULL);
    x->unblended = unblended;
}

/* Calls the loop for the vertices in each pose: some of all frames of all clips or, if there are none, the rest pose. */
static void each_pose(fewer *x, pelt_loop_body body) {
    uint32_t total = frame_total(x->bundle), wanted = total < MOST_FRAMES ? total : MOST_FRAMES, at = 0, next = 0;
    x->out->frames = wanted;
    for (uint32_t c = 0; c < x->bundle->clip_count || !wanted; c++) {
        const pelt_clip *clip = wanted ? x->bundle->clips[c] : NULL;
        for (uint32_t f = 0; f < (wanted ? clip->frame_count : 1); f++, at++) {
            if (wanted && at < (uint32_t)((uint64_t)next * total / wanted)) continue;
            PELT_SCOPED pelt_arena *brief = pelt_arena_inside(x->arena);
            take_pose(x, clip, f, brief);
            pelt_parallel(x->arena, x->threads, (x->count + BATCH - 1) / BATCH, body, x);
            next++;
        }
        if (!wanted) return;
    }
}

static void moved_by(const fewer *x, const pelt_influences *in, uint32_t v, double out[3]) {
    const float *h = x->unblended + 3 * (size_t)v;
    pelt_affine blend = pelt_blend_matrix(in, v, x->pose);
    pelt_affine_point(&blend, (double[3]){h[0], h[1], h[2]}, out);
}

/* -- Sums ---------------------------------------------------------------------------------------------------------- */

static void add_products(void *user, size_t batch, pelt_arena *scratch) {
    fewer *x = user;
    const pelt_influences *in = &x->model->influences;
    for (size_t k = batch * BATCH; k < (batch + 1) * BATCH && k < x->count; k++) {
        uint32_t v = x->vertices[k], first = in->first[v], n = in->first[v + 1] - first;
        const float *h = x->unblended + 3 * (size_t)v;
        double(*columns)[3] = pelt_alloc(scratch, n, sizeof *columns), at[3];
        moved_by(x, in, v, at);
        for (uint32_t j = 0; j < n; j++) {
            pelt_affine_point(&x->pose[in->joints[first + j]], (double[3]){h[0], h[1], h[2]}, columns[j]);
            for (int c = 0; c < 3; c++) columns[j][c] = (columns[j][c] - at[c]) * x->unit;
        }
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) x->products[k][i * n + j] += pelt_dot(columns[i], columns[j]);
    }
}

/* -- Weights ------------------------------------------------------------------------------------------------------- */

static void keep_weights(const fewer *x, const float *weights, uint32_t n, pelt_problem *problem) {
    double poses = fmax(x->out->frames, 1), keep = KEEP * poses, square = 0;
    for (uint32_t j = 0; j < n; j++) square += (double)weights[j] * weights[j];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            problem->columns[i * n + j] += keep * ((i == j) - (double)weights[i] - (double)weights[j] + square);
    problem->diagonal = JITTER * poses;
    for (uint32_t j = 0; j < n; j++) problem->columns[j * n + j] += problem->diagonal, problem->known[j] = true;
}

/* Backward elimination, each time without the joint that is missed least. */
static void limit_affine(pelt_problem *problem, uint32_t most, pelt_weights *set) {
    set->count = problem->count;
    for (uint32_t j = 0; j < set->count; j++) set->joints[j] = j;
    while (set->count > most) {
        pelt_weights best = {.error = INFINITY}, tried;
        for (uint32_t out = 0; out < set->count; out++) {
            tried.count = set->count - 1;
            for (uint32_t j = 0; j < tried.count; j++) tried.joints[j] = set->joints[j + (j >= out)];
            pelt_affine_weights(problem, 0, CUT, &tried);
            if (!best.count || tried.error < best.error) best = tried;
        }
        *set = best;
    }
}

static bool any_negative(const float *weights, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (weights[i] < 0) return true;
    return false;
}

static void fit_weights(void *user, size_t batch, pelt_arena *scratch) {
    fewer *x = user;
    const pelt_influences *in = &x->model->influences;
    for (size_t k = batch * BATCH; k < (batch + 1) * BATCH && k < x->count; k++) {
        uint32_t v = x->vertices[k], first = in->first[v], n = in->first[v + 1] - first, to = x->fitted.first[v];
        pelt_problem *problem = pelt_problem_new(scratch, n);
        pelt_weights set;
        memcpy(problem->columns, x->products[k], (size_t)n * n * sizeof *problem->columns);
        keep_weights(x, in->weights + first, n, problem);
        if (n <= PELT_MOST_WEIGHTS && any_negative(in->weights + first, n)) {
            limit_affine(problem, x->most, &set);
        } else {
            pelt_convex_weights(problem, NULL, &set);
            pelt_convex_limit(problem, NULL, x->most, 0, &set);
        }
        for (uint32_t j = 0; j < set.count; j++) {
            x->fitted.joints[to + j] = in->joints[first + set.joints[j]];
            x->fitted.weights[to + j] = (float)set.weights[j];
        }
        pelt_normalise_weights(x->fitted.weights + to, set.count);
    }
}

static void add_distances(void *user, size_t batch, pelt_arena *scratch) {
    (void)scratch;
    fewer *x = user;
    double before[3], after[3];
    for (size_t k = batch * BATCH; k < (batch + 1) * BATCH && k < x->count; k++) {
        moved_by(x, &x->model->influences, x->vertices[k], before);
        moved_by(x, &x->fitted, x->vertices[k], after);
        double apart = pelt_distance(before, after);
        x->squares[k] += apart * apart, x->largest[k] = fmax(x->largest[k], apart);
    }
}

/* -- Everything ---------------------------------------------------------------------------------------------------- */

/* Copies the influences, with `most` places for each vertex that has more. */
static void make_room(fewer *x) {
    const pelt_influences *in = &x->model->influences;
    uint32_t vertices = x->model->vertex_count, all = in->first[vertices];
    x->fitted = (pelt_influences){.first = PELT_NEW(x->arena, (size_t)vertices + 1, uint32_t),
                                  .joints = PELT_NEW(x->arena, all, uint32_t),
                                  .weights = PELT_NEW(x->arena, all, float)};
    for (uint32_t v = 0; v < vertices; v++) {
        uint32_t n = in->first[v + 1] - in->first[v], to = x->fitted.first[v], kept = n > x->most ? x->most : n;
        memcpy(x->fitted.joints + to, in->joints + in->first[v], kept * sizeof *in->joints);
        if (n <= x->most) memcpy(x->fitted.weights + to, in->weights + in->first[v], n * sizeof *in->weights);
        x->fitted.first[v + 1] = to + kept;
    }
}

/* Removes the places that no joint took: files list a joint of a vertex once. */
static void close_gaps(const fewer *x) {
    const pelt_influences *to = &x->fitted;
    uint32_t at = 0, begin = 0;
    for (uint32_t v = 0; v < x->model->vertex_count; v++) {
        uint32_t end = to->first[v + 1], n = x->model->influences.first[v + 1] - x->model->influences.first[v];
        for (uint32_t i = begin; i < end; i++)
            if (n <= x->most || to->weights[i] != 0) to->joints[at] = to->joints[i], to->weights[at++] = to->weights[i];
        begin = end, to->first[v + 1] = at;
    }
}

static pelt_result refit(void *user, pelt_error *error) {
    fewer *x = user;
    const pelt_influences *in = &x->model->influences;
    pelt_result result = pelt_posing_open(x->arena, x->skin, x->bundle, &x->posing, error);
    if (result) return result;
    uint32_t *slot_vertices = PELT_NEW(x->arena, (size_t)x->skin->block_count * PELT_BLOCK, uint32_t);
    pelt_slot_vertices(x->skin, slot_vertices);
    x->slot_vertices = slot_vertices;
    x->vertices = PELT_NEW(x->arena, x->count, uint32_t);
    x->products = PELT_NEW(x->arena, x->count, double *);
    x->squares = PELT_NEW(x->arena, x->count, double), x->largest = PELT_NEW(x->arena, x->count, double);
    for (uint32_t v = 0, k = 0; v < x->model->vertex_count; v++) {
        size_t n = in->first[v + 1] - in->first[v];
        if (n <= x->most) continue;
        x->vertices[k] = v, x->products[k++] = PELT_NEW(x->arena, n * n, double);
    }
    make_room(x);
    each_pose(x, add_products);
    pelt_parallel(x->arena, x->threads, (x->count + BATCH - 1) / BATCH, fit_weights, x);
    close_gaps(x);
    each_pose(x, add_distances);
    double sum = 0;
    for (uint32_t k = 0; k < x->count; k++) sum += x->squares[k], x->out->worst = fmax(x->out->worst, x->largest[k]);
    x->out->rms = sqrt(sum / x->count / fmax(x->out->frames, 1));
    x->model->influences = x->fitted;
    return PELT_OK;
}

pelt_result pelt_fewer_influences(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle, uint32_t most,
                                  uint32_t threads, pelt_model *model, pelt_fewer *out, pelt_error *error) {
    double diagonal = pelt_scene_diagonal(&bundle->mesh);
    fewer x = {.arena = arena,
               .skin = skin,
               .bundle = bundle,
               .most = most,
               .threads = threads,
               .model = model,
               .out = out,
               .unit = diagonal > 0 ? 1 / diagonal : 1};
    *out = (pelt_fewer){0};
    for (uint32_t v = 0; v < model->vertex_count && most; v++)
        x.count += model->influences.first[v + 1] - model->influences.first[v] > most;
    out->vertices = x.count;
    return x.count ? pelt_stage(arena, refit, &x, error) : PELT_OK;
}
