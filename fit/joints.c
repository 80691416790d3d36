/* joints.c: Mohr & Gleicher's skins: joints driven by the pose are added to the skeleton (drive.c), every vertex
   chooses a few (influences.c), and weights and rest positions are fitted in alternation (bilinear.c), weights first.

   Points are independent of each other. Greedy choice is limited to joints near the vertex in the skeleton, or it would
   take joints of other limbs that happen to move alike in the examples. */

#include "fit/bilinear.h"
#include "fit/blend.h"
#include "fit/influences.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128, ROUNDS = 3, REACH = 3 };

/* What a squared weight costs, in squared diagonals per example; and the smallest singular value, as a part of the
   largest, that is not taken as 0. */
static const double usual_ridge = 1e-5, singular_cut = 1e-3;

typedef struct joining {
    pelt_fitting *f;
    pelt_candidates candidates;
    pelt_points points;
    pelt_gram gram, normal_gram;
    bool with_normals, refit, rigid;
    uint32_t most;
    double ridge;
    uint32_t *near_first, *near; /* candidates near each joint */
    uint32_t *home;              /* [point] the joint that the file binds it to most */
    double *inverses;            /* rigidity: [candidate][12][examples] */
    bool *usable;                /* rigidity: [candidate] */
    pelt_blend_result result;
    double (*errors)[ROUNDS + 1]; /* [point] before each change of the rest position */
    uint8_t *deficient;           /* [point] singular values that were zeroed */
    float *normals;               /* [point][3] fitted rest normals, or NULL */
    bool failed;
} joining;

/* -- Near in the skeleton -------------------------------------------------------------------------------------------
 */

/* The joint that a matrix belongs to. */
static uint32_t home_of(const pelt_model *model, uint32_t matrix) {
    uint32_t joints = model->skeleton->joint_count;
    return matrix < joints ? matrix : model->driven[matrix - joints].driver;
}

/* Steps between two joints along the skeleton, over a common ancestor. */
static uint32_t steps_between(const pelt_skeleton *skeleton, uint32_t a, uint32_t b) {
    uint32_t steps = 0;
    while (a != b) { /* parents come first: the later of the two is not an ancestor of the other */
        uint32_t *later = a > b ? &a : &b;
        if (skeleton->parents[*later] < 0) return UINT32_MAX;
        *later = (uint32_t)skeleton->parents[*later], steps++;
    }
    return steps;
}

static bool list_near(joining *w) {
    const pelt_model *model = &w->f->model;
    uint32_t joints = model->skeleton->joint_count, count = 0;
    w->near_first = PELT_NEW(w->f->arena, uint32_t, (size_t)joints + 1);
    w->near = PELT_NEW(w->f->arena, uint32_t, (size_t)joints * w->candidates.count);
    if (!w->near_first || !w->near) return false;
    for (uint32_t j = 0; j < joints; j++) {
        for (uint32_t c = 0; c < w->candidates.count; c++) {
            bool is_near = false; /* a candidate is as near as the nearest of its twins */
            for (uint32_t m = w->candidates.first[c]; m < w->candidates.first[c + 1] && !is_near; m++)
                is_near = steps_between(model->skeleton, j, home_of(model, w->candidates.members[m])) <= REACH;
            if (is_near) w->near[count++] = c;
        }
        if (count == w->near_first[j]) /* nothing is near: then everything is */
            for (uint32_t c = 0; c < w->candidates.count; c++) w->near[count++] = c;
        w->near_first[j + 1] = count;
    }
    return true;
}

static bool find_homes(joining *w) {
    const pelt_influences *in = &w->f->bundle->mesh.influences;
    w->home = PELT_NEW(w->f->arena, uint32_t, w->points.count);
    for (uint32_t p = 0; w->home && p < w->points.count; p++) {
        float most = 0;
        for (uint32_t i = in->first[w->points.vertex[p]]; i < in->first[w->points.vertex[p] + 1]; i++)
            if (in->weights[i] > most) most = in->weights[i], w->home[p] = in->joints[i];
    }
    return w->home != NULL;
}

/* -- Rigidity -------------------------------------------------------------------------------------------------------
 */

/* Where example e stands in an order in which any few in a row are spread over all: every 17th, then the next ones. */
static size_t mixed(size_t e, size_t count) {
    enum { STEP = 17 };
    size_t full = count / STEP, longer = count % STEP, turn = e % STEP;
    return turn * full + (turn < longer ? turn : longer) + e / STEP;
}

static bool invert_matrices(joining *w, const pelt_affine *matrices) {
    uint32_t stride = pelt_model_matrix_count(&w->f->model), n = w->candidates.count;
    size_t examples = w->gram.examples;
    w->inverses = PELT_NEW(w->f->arena, double, (size_t)n * 12 * examples);
    w->usable = PELT_NEW(w->f->arena, bool, n);
    if (!w->inverses || !w->usable) return false;
    for (uint32_t c = 0; c < n; c++) {
        w->usable[c] = true;
        for (size_t e = 0; e < examples; e++) {
            pelt_affine inverse;
            w->usable[c] &=
                pelt_affine_invert(&matrices[e * stride + w->candidates.members[w->candidates.first[c]]], &inverse);
            for (size_t k = 0; k < 12; k++)
                w->inverses[((size_t)c * 12 + k) * examples + mixed(e, examples)] = inverse.m[k];
        }
    }
    return true;
}

/* -- Points ---------------------------------------------------------------------------------------------------------
 */

typedef struct bench {
    pelt_problem *problem;
    double *work, *moments, *energy, *normal_moments, *normal_energy, *room;
} bench;

static bool bench_new(const joining *w, bench *b) {
    size_t n = w->gram.count, examples = w->gram.examples, room = (w->most + 2) * n, rigid_room = 8 * examples;
    *b = (bench){.problem = pelt_problem_new((uint32_t)n),
                 .work = malloc(BATCH * 3 * examples * sizeof(double)),
                 .moments = malloc(BATCH * 4 * n * sizeof(double)),
                 .energy = malloc(BATCH * sizeof(double)),
                 .normal_moments = malloc((w->with_normals ? BATCH * 4 * n : 1) * sizeof(double)),
                 .normal_energy = malloc(BATCH * sizeof(double)),
                 .room = malloc((room > rigid_room ? room : rigid_room) * sizeof(double))};
    return b->problem && b->work && b->moments && b->energy && b->normal_moments && b->normal_energy && b->room;
}

static void bench_free(bench *b) {
    pelt_problem_free(b->problem);
    free(b->work), free(b->moments), free(b->energy), free(b->normal_moments), free(b->normal_energy), free(b->room);
}

static void choose_joints(const joining *w, bench *b, uint32_t point, pelt_weights *set) {
    if (w->rigid) {
        size_t n = w->gram.examples;
        double *path = b->room + 5 * n;
        for (size_t e = 0; e < n; e++)
            for (size_t c = 0; c < 3; c++)
                path[c * n + mixed(e, n)] = w->gram.frames[e][3 * (size_t)w->points.vertex[point] + c];
        pelt_choose_rigid(w->inverses, w->usable, w->gram.count, path, n, w->most, b->room, set);
    }
    uint32_t joint = w->home[point], first = w->near_first[joint];
    if (!w->rigid || !set->count)
        pelt_choose_greedy(b->problem, w->near + first, w->near_first[joint + 1] - first, w->most, w->ridge, b->room,
                           set);
}

static void set_problem(const joining *w, bench *b, size_t i, const double rest[3], const double normal[3]) {
    pelt_problem_set(b->problem, &w->gram, rest, b->moments + i * 4 * w->gram.count, b->energy[i]);
    if (w->with_normals)
        pelt_problem_add_normals(b->problem, &w->normal_gram, normal, b->normal_moments + i * 4 * w->gram.count,
                                 b->normal_energy[i], w->f->options.normal_scale);
}

static void fit_point(joining *w, bench *b, uint32_t point, size_t i) {
    const pelt_mesh *mesh = &w->f->bundle->mesh;
    size_t vertex = w->points.vertex[point];
    pelt_weights set;
    double rest[3], normal[3];
    for (size_t c = 0; c < 3; c++) {
        rest[c] = (mesh->positions[3 * vertex + c] - w->gram.center[c]) / w->gram.scale;
        normal[c] = mesh->normals[3 * vertex + c];
    }
    set_problem(w, b, i, rest, normal);
    choose_joints(w, b, point, &set);
    for (int round = 0; round <= ROUNDS; round++) {
        if (round && w->refit) {
            pelt_rest_fit(&w->gram, &set, b->moments + i * 4 * w->gram.count, true, rest);
            if (w->with_normals)
                pelt_rest_fit(&w->normal_gram, &set, b->normal_moments + i * 4 * w->gram.count, false, normal);
            set_problem(w, b, i, rest, normal);
        }
        if (!round || w->refit)
            w->deficient[point] = (uint8_t)pelt_affine_weights(b->problem, w->ridge, singular_cut, &set);
        w->errors[point][round] = set.error;
    }
    for (size_t c = 0; c < 3 && w->normals; c++) w->normals[3 * (size_t)point + c] = (float)normal[c];
    pelt_blend_store(&w->result, point, &set, rest);
}

static void fit_batch(void *user, size_t batch) {
    joining *w = user;
    uint32_t begin = (uint32_t)batch * BATCH, left = w->points.count - begin, count = left < BATCH ? left : BATCH;
    bench b;
    if (bench_new(w, &b)) {
        const uint32_t *vertices = w->points.vertex + begin;
        pelt_gram_moments(&w->gram, vertices, count, b.work, b.moments, b.energy);
        if (w->with_normals)
            pelt_gram_moments(&w->normal_gram, vertices, count, b.work, b.normal_moments, b.normal_energy);
        for (uint32_t i = 0; i < count; i++) fit_point(w, &b, begin + i, i);
    } else {
        w->failed = true;
    }
    bench_free(&b);
}

/* -- Normals --------------------------------------------------------------------------------------------------------
 */

typedef struct shading {
    const pelt_mesh *mesh;
    const float **positions;
    float **normals;
} shading;

static void shade_example(void *user, size_t e) {
    shading *s = user;
    pelt_mesh_normals(s->positions[e], s->mesh->vertex_count, s->mesh->triangles, s->mesh->triangle_count,
                      s->normals[e]);
}

/* Sums for the normals of the examples, which are area-weighted like those of any mesh without its own. */
static pelt_result sum_normals(joining *w, const pelt_affine *matrices, pelt_error *error) {
    pelt_fitting *f = w->f;
    size_t n = 3 * (size_t)f->bundle->mesh.vertex_count, examples = f->examples.count;
    float **normals = PELT_NEW(f->arena, float *, examples), *all = PELT_NEW(f->arena, float, n *examples);
    w->normals = PELT_NEW(f->arena, float, n);
    if (!normals || !all || !w->normals) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for normals");
    for (size_t e = 0; e < examples; e++) normals[e] = all + n * e;
    shading s = {&f->bundle->mesh, w->gram.frames, normals};
    pelt_parallel(f->options.threads, examples, shade_example, &s);
    return pelt_gram_new(f, matrices, &w->candidates, (const float *const *)normals, &w->normal_gram, error);
}

static pelt_result store_normals(joining *w, pelt_error *error) {
    size_t n = w->f->bundle->mesh.vertex_count;
    float *normals = PELT_NEW(w->f->arena, float, 3 * n);
    if (!normals) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for normals");
    for (size_t v = 0; v < n; v++) {
        const float *fitted = w->normals + 3 * (size_t)w->points.of_vertex[v], *file = w->f->model.normals + 3 * v;
        double length =
            sqrt((double)fitted[0] * fitted[0] + (double)fitted[1] * fitted[1] + (double)fitted[2] * fitted[2]);
        bool sound = isfinite(length) && length > 1e-6;
        for (size_t c = 0; c < 3; c++) normals[3 * v + c] = sound ? (float)(fitted[c] / length) : file[c];
    }
    w->f->model.normals = normals;
    return PELT_OK;
}

/* -- The fit --------------------------------------------------------------------------------------------------------
 */

static pelt_result no_memory(pelt_error *error) {
    return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to fit driven joints");
}

static pelt_result prepare(joining *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_affine *matrices = NULL;
    bool *allowed = NULL;
    pelt_result result = pelt_choose_driven(f, error);
    if (!result) result = pelt_usable_matrices(f, &allowed, error);
    if (!result) result = pelt_example_matrices(f, &matrices, error);
    if (!result) result = pelt_find_candidates(f, matrices, allowed, &w->candidates, error);
    if (!result) result = pelt_find_points(f, &w->points, error);
    if (!result) result = pelt_gram_new(f, matrices, &w->candidates, NULL, &w->gram, error);
    if (!result && w->with_normals) result = sum_normals(w, matrices, error);
    if (!result) result = pelt_blend_result_new(f, w->points.count, w->most, &w->result, error);
    if (result) return result;
    w->errors = pelt_alloc(f->arena, w->points.count, sizeof *w->errors);
    w->deficient = PELT_NEW(f->arena, uint8_t, w->points.count);
    if (!w->errors || !w->deficient || !list_near(w) || !find_homes(w)) return no_memory(error);
    return w->rigid && !invert_matrices(w, matrices) ? no_memory(error) : PELT_OK;
}

/* What the fit says of itself: how it converged (in fractions of the diagonal), and where it was rank-deficient. */
static void report(joining *w) {
    pelt_fitting *f = w->f;
    double largest = 0;
    char *text = pelt_arena_format(f->arena, "{\"influence_choice\":\"%s\",\"candidates\":%u,\"driven\":%u,\"rms\":[",
                                   f->options.influence_choice, w->candidates.count, f->model.driven_count);
    for (int round = 0; round <= ROUNDS && text; round++) {
        double sum = 0;
        for (uint32_t p = 0; p < w->points.count; p++) sum += w->errors[p][round];
        sum = sqrt(sum / ((double)w->points.count * (double)w->gram.examples));
        text = pelt_arena_format(f->arena, "%s%s%.6g", text, round ? "," : "", isfinite(sum) ? sum : 0);
    }
    for (size_t i = 0; i < (size_t)w->points.count * w->most; i++) largest = fmax(largest, fabs(w->result.weights[i]));
    if (text) text = pelt_arena_format(f->arena, "%s],\"largest_weight\":%.6g,\"rank_deficient\":[", text, largest);
    uint32_t count = 0, first = 0;
    size_t length = text ? strlen(text) : 0, room = length + 12 * (size_t)w->points.count + 8;
    char *list = PELT_NEW(f->arena, char, room);
    if (!text || !list) return;
    memcpy(list, text, length);
    for (uint32_t p = 0; p < w->points.count; p++) {
        if (!w->deficient[p]) continue;
        if (!count) first = w->points.vertex[p];
        length += (size_t)snprintf(list + length, room - length, "%s%u", count++ ? "," : "", w->points.vertex[p]);
    }
    snprintf(list + length, room - length, "]}");
    f->blend_about = list;
    if (count)
        pelt_find(&f->findings, f->arena, PELT_WARNING, "rank-deficient",
                  "%u vertices are rank-deficient, the first is vertex %u: their joints move too much alike in the "
                  "examples to tell their weights apart, and the smallest weights that fit were taken",
                  count, first);
    if (3 * w->gram.examples < w->most + 2)
        pelt_find(&f->findings, f->arena, PELT_WARNING, "few-examples",
                  "%zu examples are fewer than the unknowns of a vertex need: give more, or ask for fewer influences",
                  w->gram.examples);
    pelt_report_twins(f, &w->candidates);
}

pelt_result pelt_fit_joints(pelt_fitting *f, pelt_error *error) {
    joining w = {.f = f,
                 .most = f->options.influences ? f->options.influences : 4,
                 .with_normals = f->options.normal_scale > 0,
                 .refit = !strcmp(f->options.rest, "refit"),
                 .rigid = !strcmp(f->options.influence_choice, "rigidity")};
    w.ridge = f->options.ridge > 0 ? f->options.ridge : f->options.ridge < 0 || w.rigid ? 0 : usual_ridge;
    pelt_result result = prepare(&w, error);
    if (!result && pelt_report(&f->options.progress, "driven joints", 0.5))
        result = pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    if (result) return result;
    pelt_parallel(f->options.threads, (w.points.count + BATCH - 1) / BATCH, fit_batch, &w);
    if (w.failed) return no_memory(error);
    report(&w);
    result = pelt_blend_finish(f, &w.candidates, &w.points, &w.gram, &w.result, NULL, error);
    if (!result && w.with_normals && w.refit) result = store_normals(&w, error);
    return result ? result : pelt_drop_unused_driven(f, error);
}
