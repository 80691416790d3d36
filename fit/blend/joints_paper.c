/* joints_paper.c: Mohr & Gleicher's method as published: each point chooses the joints in whose frame it moves least
   (5.1), then weights and rest position are fitted alternately, weights first (5.2). */

#include "fit/blend/bilinear.h"
#include "fit/blend/influences.h"
#include "fit/blend/joints.h"
#include <math.h>

enum { BATCH = 256, ROUNDS = 20 }; /* at most */

/* A point is done when a round lowers its squared error by less than this fraction. */
static const double converged = 1e-3;

/* Singular values below this fraction of the largest are treated as 0. */
static const double singular_cut = 1e-3;

typedef struct rigid_fit {
    pelt_joining *w;
    double *inverses;             /* [candidate][12][examples] */
    bool *usable;                 /* [candidate] */
    double (*errors)[ROUNDS + 1]; /* [point] */
    uint32_t *rounds;             /* [point] until convergence */
} rigid_fit;

/* The position of example e in an order in which any few consecutive ones are spread over all: every 17th, then the
   next ones. */
static size_t mixed(size_t e, size_t count) {
    enum { STEP = 17 };
    size_t full = count / STEP, longer = count % STEP, turn = e % STEP;
    return turn * full + (turn < longer ? turn : longer) + e / STEP;
}

static void invert_matrices(rigid_fit *r, const pelt_affine *matrices) {
    const pelt_joining *w = r->w;
    uint32_t stride = pelt_model_matrix_count(&w->f->model), n = w->candidates.count;
    size_t examples = w->gram.examples;
    r->inverses = PELT_NEW(w->f->arena, (size_t)n * 12 * examples, double);
    r->usable = PELT_NEW(w->f->arena, n, bool);
    for (uint32_t c = 0; c < n; c++) {
        r->usable[c] = true;
        for (size_t e = 0; e < examples; e++) {
            pelt_affine inverse;
            r->usable[c] &=
                pelt_affine_invert(&matrices[e * stride + w->candidates.members[w->candidates.first[c]]], &inverse);
            for (size_t k = 0; k < 12; k++)
                r->inverses[((size_t)c * 12 + k) * examples + mixed(e, examples)] = inverse.m[k];
        }
    }
}

/* Falls back to the greedy choice if no joint's matrix is invertible. */
static void choose(const rigid_fit *r, pelt_problem *problem, uint32_t point, const uint32_t *all, double *room,
                   pelt_weights *set) {
    const pelt_joining *w = r->w;
    size_t n = w->gram.examples;
    double *path = room + 5 * n;
    for (size_t e = 0; e < n; e++)
        for (size_t c = 0; c < 3; c++)
            path[c * n + mixed(e, n)] = w->gram.frames[e][3 * (size_t)w->f->points.vertex[point] + c];
    pelt_choose_rigid(r->inverses, r->usable, w->gram.count, path, n, w->most, room, set);
    if (!set->count) pelt_choose_greedy(problem, all, w->gram.count, w->most, w->ridge, room, set);
}

static void fit_rest(pelt_joining *w, uint32_t point, const pelt_weights *set, double rest[3]) {
    double moments[4 * PELT_MOST_WEIGHTS];
    for (uint32_t k = 0; k < set->count; k++)
        for (uint32_t c = 0; c < 4; c++) moments[4 * k + c] = w->tension.own[point][4 * (size_t)set->joints[k] + c];
    pelt_rest_fit(&w->gram, set, moments, true, rest);
}

static void fit_point(rigid_fit *r, pelt_problem *problem, uint32_t point, const uint32_t *all, double *room) {
    pelt_joining *w = r->w;
    pelt_weights set = {0};
    double rest[3];
    pelt_joining_rest(w, point, rest);
    pelt_joining_problem(w, point, rest, &w->gram, &w->normal_gram, problem);
    choose(r, problem, point, all, room, &set);
    bool done = false;
    for (int round = 0; round <= ROUNDS; round++) {
        double before = set.error;
        if (round && !done) {
            fit_rest(w, point, &set, rest);
            if (w->with_normals) pelt_joining_fit_normals(w, point, &set);
            pelt_joining_problem(w, point, rest, &w->gram, &w->normal_gram, problem);
        }
        if (!done) {
            w->deficient[point] = (uint8_t)pelt_affine_weights(problem, w->ridge, singular_cut, &set);
            r->rounds[point] = (uint32_t)round + 1;
        }
        done = done || !w->refit || (round && !(set.error < (1 - converged) * before));
        r->errors[point][round] = set.error;
    }
    w->rest_deficient[point] = pelt_rest_is_deficient(&w->gram, &set, singular_cut);
    pelt_blend_store(&w->result, point, &set, rest);
}

static void fit_batch(void *user, size_t batch, pelt_arena *scratch) {
    rigid_fit *r = user;
    const pelt_joining *w = r->w;
    uint32_t n = w->gram.count, *all = PELT_NEW(scratch, n, uint32_t);
    uint32_t begin = (uint32_t)batch * BATCH, left = w->f->points.count - begin;
    size_t greedy_room = (w->most + 2) * (size_t)n, rigid_room = 8 * w->gram.examples;
    pelt_problem *problem = pelt_problem_new(scratch, n);
    double *room = PELT_NEW(scratch, greedy_room > rigid_room ? greedy_room : rigid_room, double);
    for (uint32_t c = 0; c < n; c++) all[c] = c;
    for (uint32_t p = begin; p < begin + (left < BATCH ? left : BATCH); p++) fit_point(r, problem, p, all, room);
}

pelt_result pelt_join_rigid(pelt_joining *w, const pelt_affine *matrices, pelt_error *error) {
    rigid_fit r = {.w = w,
                   .errors = pelt_alloc(w->f->arena, w->f->points.count, sizeof *r.errors),
                   .rounds = PELT_NEW(w->f->arena, w->f->points.count, uint32_t)};
    invert_matrices(&r, matrices);
    if (pelt_next_task(w->f->arena, "driven joints", 0.3, 1, 1)) return pelt_stopped(error);
    pelt_parallel(w->f->arena, w->f->options.threads, (w->f->points.count + BATCH - 1) / BATCH, fit_batch, &r);
    w->rounds = PELT_NEW(w->f->arena, ROUNDS + 1, double), w->round_count = 0;
    for (uint32_t p = 0; p < w->f->points.count; p++)
        if (r.rounds[p] > w->round_count) w->round_count = r.rounds[p];
    for (uint32_t p = 0; p < w->f->points.count; p++)
        for (uint32_t round = 0; round < w->round_count; round++) w->rounds[round] += fmax(r.errors[p][round], 0);
    if (w->tension.strength > 0) pelt_join_settle(w); /* not in the paper: on request */
    return PELT_OK;
}
