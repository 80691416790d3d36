/* ahead.c: convex weights for a blend that a corrective follows: the future work of Kry, James & Pai 2002.

   A corrective removes the part of the displacements u_e = A_e^-1 (v_e - S_e v0), S = (A | t), that is a function of
   the pose. So the best weights are not those that make u small, but those that make it predictable. The kernel
   corrective's ridge regression on the pose stands in for all correctives; its error on unseen examples is linear in u
   (pelt_left_out). With D its predictions for the current weights, u is nearly linear in the weights,

       u_e(w) = D_e + A_e^-1 (v_e - sum_j w_j T_j^e (v0 + D_e)),

   so a few rounds of

       minimise  sum_e |A_e (L u(w))_e|^2 + p sum_e (|S_e v0 - v_e|^2 + |S_e v0 - S_e^file v0|^2),  w >= 0, sum w = 1

   find them. The second sum pulls weights that do not affect the first halfway between the best plain blend and the
   file's weights. Its strength, and whether to keep the file's weights after all, is chosen by cross-validation on
   folds that neither weights nor regression have seen. */

#include "fit/blend/ahead.h"
#include "fit/blend/blend.h"
#include "fit/blend/locks.h"
#include "fit/regression/regression.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

enum { MOST_EXAMPLES = 256, LEAST_EXAMPLES = 10, SAMPLES = 160, ROUNDS = 3, PIECE = 64, NEAR = 32 };

/* The kernel corrective starts from these; the exact choice hardly affects the weights. */
static const pelt_kernel_settings settings = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};

/* Strengths of the pull to try, from strong to weak. */
static const double pulls[] = {0.1, 0.01, 0.001};
enum { PULLS = sizeof pulls / sizeof *pulls };

/* Pulls whose errors are within this factor are considered equal, and the strongest is used, since examples of single
   joints say little about several at once. The file's weights are kept unless the error drops by at least this
   fraction. */
static const double as_good = 1.05, worthwhile = 0.02;

static const double settled = 0.003; /* weights that changed less are not refitted */
static const double jitter = 1e-12;

typedef struct looking {
    pelt_fitting *f; /* restricted to the examples used here */
    const pelt_affine *matrices;
    uint32_t matrix_count;
    pelt_candidates candidates;
    pelt_locks locks;
    bool *adjacent; /* [candidate][candidate] joined by a bone */
    pelt_poses poses;
    int *fold;     /* [example] */
    float *tables; /* of the kernel's inputs; independent of the points */
    uint32_t most;
    double unit; /* 1 / diagonal */
} looking;

/* Some points, whose weights are fitted without one fold of the examples. */
typedef struct trial {
    const looking *l;
    uint32_t count;
    uint32_t *points;   /* [count] */
    uint32_t *vertices; /* [count] */
    int without;        /* a fold; -1: none */
    double pull;
    pelt_blend_result file, now;
    bool *is_settled; /* [count] */
    pelt_kernel_inputs inputs;
    float *displacements; /* [example][count][3] */
    uint32_t *order;      /* [count] points with the same inputs are adjacent, */
    uint32_t *first;      /* [piece_count + 1] in pieces of a few points */
    uint32_t piece_count;
    double *errors; /* [count] on the left-out examples, squared */
} trial;

/* -- Regression ---------------------------------------------------------------------------------------------------- */

bool pelt_left_out(pelt_arena *arena, size_t n, const double *inverse, const int *group, double *left_out) {
    bool *done = PELT_NEW(arena, n, bool);
    size_t *of = PELT_NEW(arena, n, size_t);
    double *block = PELT_NEW(arena, n * n, double), *rows = PELT_NEW(arena, n * n, double);
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        if (done[i]) continue;
        for (size_t k = i; k < n; k++)
            if (k == i || (group[i] >= 0 && group[k] == group[i])) of[count++] = k, done[k] = true;
        for (size_t a = 0; a < count; a++) {
            memcpy(rows + a * n, inverse + of[a] * n, n * sizeof *rows);
            for (size_t b = 0; b < count; b++) block[a * count + b] = inverse[of[a] * n + of[b]];
        }
        if (!pelt_cholesky(count, block)) return false;
        pelt_cholesky_solve(count, block, n, rows);
        for (size_t a = 0; a < count; a++) memcpy(left_out + of[a] * n, rows + a * n, n * sizeof *rows);
    }
    return true;
}

void pelt_predicted(size_t n, const double *left_out, const double *u, double *d) {
    memcpy(d, u, 3 * n * sizeof *d);
    pelt_gemm(false, false, n, 3, n, -1, left_out, u, 1, d);
}

/* The regression for points with the same inputs, on the examples that are not left out and move any of these inputs;
   in all others it predicts nothing. */
typedef struct regression {
    size_t count, hidden_count;
    uint32_t *examples; /* [count] seen */
    uint32_t *hidden;   /* [hidden_count] left out */
    double *left_out;   /* [count][count], over folds within the seen examples */
    double *predict;    /* [hidden_count][count] */
} regression;

static void split_examples(const trial *t, const pelt_ridge *ridge, pelt_arena *scratch, regression *out,
                           uint32_t *rows) {
    size_t n = ridge->example_count;
    out->examples = PELT_NEW(scratch, n, uint32_t), out->hidden = PELT_NEW(scratch, n, uint32_t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = ridge->examples[i];
        if (t->without < 0 || t->l->fold[e] != t->without)
            rows[out->count] = i, out->examples[out->count++] = e;
        else
            rows[n - ++out->hidden_count] = i, out->hidden[out->hidden_count - 1] = e;
    }
}

static bool regress(const trial *t, uint32_t point, bool hidden, pelt_arena *scratch, regression *out) {
    const pelt_ridge ridge = pelt_ridge_of(scratch, &t->inputs, t->l->poses.count, 1, &point, &(double){1});
    size_t all = ridge.example_count;
    uint32_t *rows = PELT_NEW(scratch, all, uint32_t);
    const double *kernel = pelt_ridge_matrix(scratch, &ridge, t->l->tables, t->l->poses.count, settings.pair);
    *out = (regression){0};
    split_examples(t, &ridge, scratch, out, rows);
    size_t n = out->count;
    if (!n) return out->hidden_count = 0, true; /* nothing is learned */
    double *inverse = PELT_NEW(scratch, n * n, double);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) inverse[a * n + b] = kernel[rows[a] * all + rows[b]];
        inverse[a * n + a] += settings.lambda;
    }
    if (!pelt_cholesky(n, inverse)) return false;
    pelt_cholesky_invert(n, inverse);
    if (hidden) {
        double *across = PELT_NEW(scratch, out->hidden_count * n, double);
        out->predict = PELT_NEW(scratch, out->hidden_count * n, double);
        for (size_t h = 0; h < out->hidden_count; h++)
            for (size_t b = 0; b < n; b++) across[h * n + b] = kernel[rows[all - 1 - h] * all + rows[b]];
        pelt_gemm(false, false, out->hidden_count, n, n, 1, across, inverse, 0, out->predict);
        return true;
    }
    int *group = PELT_NEW(scratch, n, int);
    for (size_t a = 0; a < n; a++) group[a] = t->l->fold[out->examples[a]];
    out->left_out = PELT_NEW(scratch, n * n, double);
    return pelt_left_out(scratch, n, inverse, group, out->left_out);
}

/* -- One point in one example -------------------------------------------------------------------------------------- */

static const pelt_affine *matrix_of(const looking *l, size_t example, uint32_t candidate) {
    return &l->matrices[example * l->matrix_count + l->candidates.members[l->candidates.first[candidate]]];
}

static pelt_affine blend_of(const looking *l, const pelt_blend_result *r, uint32_t point, size_t example) {
    pelt_affine blend = {{0}};
    for (uint32_t k = 0; k < r->counts[point]; k++) {
        size_t at = (size_t)point * r->most + k;
        const pelt_affine *m = matrix_of(l, example, r->joints[at]);
        for (int i = 0; i < 12; i++) blend.m[i] += r->weights[at] * m->m[i];
    }
    return blend;
}

static void true_place(const trial *t, uint32_t point, size_t e, double out[3]) {
    const pelt_example *example = &t->l->f->examples.list[e];
    const float *frame = example->clip->positions + 3 * (size_t)t->l->f->model.vertex_count * example->frame;
    for (size_t c = 0; c < 3; c++) out[c] = frame[3 * (size_t)t->vertices[point] + c];
}

static void rest_place(const trial *t, uint32_t point, double out[3]) {
    for (size_t c = 0; c < 3; c++) out[c] = t->l->f->model.positions[3 * (size_t)t->vertices[point] + c];
}

/* u = A^-1 (v - S v0). */
static void displace(const trial *t, uint32_t point, size_t e, const pelt_affine *blend, double u[3]) {
    double rest[3], moved[3], truth[3];
    rest_place(t, point, rest), true_place(t, point, e, truth);
    pelt_affine_point(blend, rest, moved);
    for (int c = 0; c < 3; c++) moved[c] = truth[c] - moved[c];
    pelt_damped_solve(blend, moved, u);
}

/* -- Rounds -------------------------------------------------------------------------------------------------------- */

static void displace_point(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    trial *t = user;
    for (size_t e = 0; e < t->l->poses.count; e++) {
        pelt_affine blend = blend_of(t->l, &t->now, (uint32_t)i, e);
        double u[3];
        displace(t, (uint32_t)i, e, &blend, u);
        for (size_t c = 0; c < 3; c++) t->displacements[3 * (e * t->count + i) + c] = (float)u[c];
    }
}

/* Makes points with the same inputs adjacent, in order of first appearance. */
static void cut_pieces(trial *t) {
    uint32_t at = 0;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->l->f->arena);
    uint32_t *group_of = PELT_NEW(work, t->count, uint32_t);
    uint32_t group_count = pelt_group_points(work, &t->inputs, t->count, NULL, group_of);
    t->piece_count = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        uint32_t begin = at;
        for (uint32_t i = 0; i < t->count; i++) {
            if (group_of[i] != g) continue;
            if ((at - begin) % PIECE == 0) t->first[t->piece_count++] = at;
            t->order[at++] = i;
        }
    }
    t->first[t->piece_count] = at;
}

/* Which inputs drive which points, given the current weights. */
static void look_around(trial *t) {
    pelt_fitting *f = t->l->f;
    pelt_supports supports;
    pelt_parallel(f->arena, f->options.threads, t->count, displace_point, t);
    pelt_example_displacements u = {.example_count = t->l->poses.count,
                                    .vertex_count = f->model.vertex_count,
                                    .point_count = t->count,
                                    .point_of = f->points.of_vertex,
                                    .vertex_of = t->vertices,
                                    .positions = t->displacements};
    pelt_supports_of(f->arena, &f->model, &t->l->poses, &u, f->options.threads, &supports);
    t->inputs = pelt_kernel_inputs_of(f->arena, f->model.skeleton, &t->l->poses, &supports);
    cut_pieces(t);
}

/* The joints a point may follow: those it follows now or in the file, and their neighbours. */
static uint32_t list_near(const trial *t, uint32_t point, uint32_t *list) {
    const looking *l = t->l;
    uint32_t own = 0, count;
    const pelt_blend_result *both[2] = {&t->file, &t->now};
    for (int b = 0; b < 2; b++)
        for (uint32_t k = 0; k < both[b]->counts[point] && own < NEAR; k++) {
            uint32_t joint = both[b]->joints[(size_t)point * both[b]->most + k], at = 0;
            while (at < own && list[at] != joint) at++;
            if (at == own) list[own++] = joint;
        }
    count = own;
    for (uint32_t c = 0; c < l->candidates.count && count < NEAR; c++) {
        bool near = false, there = false;
        for (uint32_t k = 0; k < own; k++) {
            near |= l->adjacent[(size_t)list[k] * l->candidates.count + c];
            there |= list[k] == c;
        }
        if (near && !there) list[count++] = c;
    }
    return count;
}

/* Scratch memory for one point: rows[joint][2][example][3] are the prediction error and the pull if the point followed
   that joint alone. */
typedef struct workspace {
    double *u, *now, *columns, *missed, *rows, *gram;
    pelt_affine *blends, *inverses;
    pelt_problem *problem;
    const regression *r;
} workspace;

static pelt_affine inverse_of(const pelt_affine *blend) {
    pelt_affine out = {{0}};
    for (int c = 0; c < 3; c++) {
        double u[3];
        pelt_damped_solve(blend, (double[3]){c == 0, c == 1, c == 2}, u);
        for (int r = 0; r < 3; r++) out.m[4 * r + c] = u[r];
    }
    return out;
}

static void turn(const pelt_affine *a, const double v[3], double out[3]) {
    for (int r = 0; r < 3; r++) out[r] = a->m[4 * r] * v[0] + a->m[4 * r + 1] * v[1] + a->m[4 * r + 2] * v[2];
}

void pelt_linear_displacement(const pelt_affine *inverse, const pelt_affine *joint, const double rest[3],
                              const double d[3], const double truth[3], double u[3]) {
    double carried[3];
    pelt_affine_point(joint, (double[3]){rest[0] + d[0], rest[1] + d[1], rest[2] + d[2]}, carried);
    for (int c = 0; c < 3; c++) carried[c] = truth[c] - carried[c];
    turn(inverse, carried, u);
    for (int c = 0; c < 3; c++) u[c] += d[c];
}

/* The rows of examples that move an input: v0 + D carried by each joint, mapped back to rest, and its prediction
   error. */
static void fill_missed(const trial *t, uint32_t point, const uint32_t *near, uint32_t m, workspace *b) {
    const regression *r = b->r;
    size_t n = r->count, width = 3 * (size_t)m, all = t->l->poses.count;
    double rest[3];
    if (!n) return;
    rest_place(t, point, rest);
    for (size_t i = 0; i < n; i++) {
        b->blends[i] = blend_of(t->l, &t->now, point, r->examples[i]);
        b->inverses[i] = inverse_of(&b->blends[i]);
        displace(t, point, r->examples[i], &b->blends[i], b->u + 3 * i);
    }
    pelt_predicted(n, r->left_out, b->u, b->now);
    for (size_t i = 0; i < n; i++) {
        double truth[3];
        true_place(t, point, r->examples[i], truth);
        for (size_t j = 0; j < m; j++)
            pelt_linear_displacement(&b->inverses[i], matrix_of(t->l, r->examples[i], near[j]), rest, b->now + 3 * i,
                                     truth, b->columns + i * width + 3 * j);
    }
    pelt_gemm(false, false, n, width, n, t->l->unit, r->left_out, b->columns, 0, b->missed);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            turn(&b->blends[i], b->missed + i * width + 3 * j, b->rows + 6 * all * j + 3 * r->examples[i]);
}

/* All other rows. Two pulls equal one towards the midpoint of their targets, twice as strong. */
static void fill_rows(const trial *t, uint32_t point, const uint32_t *near, uint32_t m, workspace *b) {
    const looking *l = t->l;
    size_t all = l->poses.count;
    double strength = sqrt(2 * t->pull), rest[3];
    rest_place(t, point, rest);
    memset(b->rows, 0, 6 * all * m * sizeof *b->rows);
    for (size_t e = 0; e < all; e++) {
        double truth[3], file[3], carried[3];
        if (t->without >= 0 && l->fold[e] == t->without) continue;
        pelt_affine blend = blend_of(l, &t->file, point, e);
        true_place(t, point, e, truth);
        pelt_affine_point(&blend, rest, file);
        for (size_t j = 0; j < m; j++) {
            double *missed = b->rows + 6 * all * j + 3 * e, *pulled = missed + 3 * all;
            pelt_affine_point(matrix_of(l, e, near[j]), rest, carried);
            for (int c = 0; c < 3; c++) missed[c] = l->unit * (truth[c] - carried[c]);
            for (int c = 0; c < 3; c++) pulled[c] = strength * l->unit * ((truth[c] + file[c]) / 2 - carried[c]);
        }
    }
    fill_missed(t, point, near, m, b);
}

/* With locked weights w_i, the free ones, which sum to s, have the rows p_j + sum_i w_i p_i / s. Moves the locked
   joints to the end of the list; returns the number of free ones. */
static uint32_t apply_locks(const trial *t, uint32_t m, uint32_t *near, const pelt_weights *locked, double share,
                            workspace *b) {
    size_t length = 6 * (size_t)t->l->poses.count;
    uint32_t free = 0;
    if (!t->l->locks.candidates) return m;
    for (uint32_t j = 0; j < m; j++) {
        if (t->l->locks.candidates[near[j]]) continue;
        for (size_t i = 0; i < length && j != free; i++) {
            double other = b->rows[free * length + i];
            b->rows[free * length + i] = b->rows[j * length + i], b->rows[j * length + i] = other;
        }
        uint32_t other = near[free];
        near[free++] = near[j], near[j] = other;
    }
    for (uint32_t k = 0; k < locked->count; k++)
        for (uint32_t j = free; j < m; j++)
            for (size_t i = 0; i < length * free && near[j] == locked->joints[k]; i++)
                b->rows[i] += locked->weights[k] / share * b->rows[j * length + i % length];
    return free;
}

static void solve(const trial *t, uint32_t free, uint32_t locked_count, workspace *b, pelt_weights *set) {
    size_t length = 6 * (size_t)t->l->poses.count;
    pelt_problem *p = b->problem;
    p->count = free, p->gram = NULL;
    p->diagonal = jitter * (double)t->l->poses.count;
    pelt_gemm(false, true, free, free, length, 1, b->rows, b->rows, 0, p->columns);
    for (uint32_t j = 0; j < free; j++) p->columns[(size_t)j * free + j] += p->diagonal, p->known[j] = true;
    pelt_convex_weights(p, NULL, set);
    pelt_convex_limit(p, NULL, t->l->most > locked_count ? t->l->most - locked_count : 1, t->l->f->options.convex.prune,
                      set);
}

/* The largest difference between a point's current and new weights. */
static double change_of(const pelt_blend_result *r, uint32_t point, const pelt_weights *set) {
    double largest = 0;
    for (uint32_t k = 0; k < set->count; k++) {
        double before = 0;
        for (uint32_t i = 0; i < r->counts[point]; i++)
            if (r->joints[(size_t)point * r->most + i] == set->joints[k])
                before += r->weights[(size_t)point * r->most + i];
        largest = fmax(largest, fabs(before - set->weights[k]));
    }
    return largest;
}

static void fit_point(trial *t, uint32_t point, workspace *b) {
    uint32_t near[NEAR], m = list_near(t, point, near);
    pelt_weights locked, set = {0};
    double held = pelt_locked_weights(t->l->f, &t->l->candidates, &t->l->locks, t->vertices[point], &locked);
    bool keep = t->l->locks.points && t->l->locks.points[t->points[point]];
    if (keep || m < 2 || 1 - held < PELT_LOCKED_ENTIRELY) return;
    fill_rows(t, point, near, m, b);
    uint32_t free = apply_locks(t, m, near, &locked, 1 - held, b);
    if (!free) return;
    solve(t, free, locked.count, b, &set);
    for (uint32_t k = 0; k < set.count; k++) set.joints[k] = near[set.joints[k]], set.weights[k] *= 1 - held;
    for (uint32_t k = 0; k < locked.count && set.count < t->now.most; k++)
        set.joints[set.count] = locked.joints[k], set.weights[set.count++] = locked.weights[k];
    t->is_settled[point] = change_of(&t->now, point, &set) < settled;
    pelt_blend_store(&t->now, point, &set, t->now.rest[point]);
}

static void fit_piece(void *user, size_t at, pelt_arena *scratch) {
    trial *t = user;
    size_t all = t->l->poses.count;
    bool is_settled = true;
    for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) is_settled &= t->is_settled[t->order[i]];
    regression r;
    if (is_settled || !regress(t, t->order[t->first[at]], false, scratch, &r)) return;
    workspace b = {.u = PELT_NEW(scratch, 3 * all, double),
                   .now = PELT_NEW(scratch, 3 * all, double),
                   .columns = PELT_NEW(scratch, 3 * all * NEAR, double),
                   .missed = PELT_NEW(scratch, 3 * all * NEAR, double),
                   .rows = PELT_NEW(scratch, 6 * all * NEAR, double),
                   .blends = PELT_NEW(scratch, all, pelt_affine),
                   .inverses = PELT_NEW(scratch, all, pelt_affine),
                   .problem = pelt_problem_new(scratch, NEAR),
                   .r = &r};
    for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++)
        if (!t->is_settled[t->order[i]]) fit_point(t, t->order[i], &b);
}

static void fit_trial(trial *t) {
    pelt_fitting *f = t->l->f;
    for (int round = 0; round < ROUNDS; round++) {
        look_around(t);
        pelt_parallel(f->arena, f->options.threads, t->piece_count, fit_piece, t);
    }
}

/* -- Trials -------------------------------------------------------------------------------------------------------- */

/* A point's weights in the model, as weights of candidates. */
static void take_weights(const looking *l, uint32_t vertex, pelt_weights *set) {
    const pelt_influences *in = &l->f->model.influences;
    double sum = 0;
    *set = (pelt_weights){0};
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        for (uint32_t c = 0; c < l->candidates.count; c++)
            for (uint32_t m = l->candidates.first[c]; m < l->candidates.first[c + 1]; m++) {
                if (l->candidates.members[m] != in->joints[i] || !(in->weights[i] > 0)) continue;
                uint32_t at = 0;
                while (at < set->count && set->joints[at] != c) at++;
                if (at == set->count && set->count < NEAR) set->joints[set->count++] = c;
                if (at < set->count) set->weights[at] += in->weights[i], sum += in->weights[i];
            }
    for (uint32_t k = 0; k < set->count; k++) set->weights[k] /= sum;
}

/* Every n-th point, with the model's weights. */
static trial trial_of(const looking *l, uint32_t every) {
    pelt_arena *arena = l->f->arena;
    uint32_t count = (l->f->points.count + every - 1) / every;
    trial t = {.l = l,
               .count = count,
               .without = -1,
               .points = PELT_NEW(arena, count, uint32_t),
               .vertices = PELT_NEW(arena, count, uint32_t),
               .file = pelt_blend_result_new(arena, count, PELT_MOST_WEIGHTS),
               .now = pelt_blend_result_new(arena, count, PELT_MOST_WEIGHTS),
               .is_settled = PELT_NEW(arena, count, bool),
               .displacements = PELT_NEW(arena, 3 * (size_t)count * l->poses.count, float),
               .order = PELT_NEW(arena, count, uint32_t),
               .first = PELT_NEW(arena, (size_t)count + 1, uint32_t),
               .errors = PELT_NEW(arena, count, double)};
    for (uint32_t i = 0; i < count; i++) {
        pelt_weights set;
        double rest[3];
        t.points[i] = i * every, t.vertices[i] = l->f->points.vertex[i * every];
        rest_place(&t, i, rest);
        take_weights(l, t.vertices[i], &set);
        pelt_blend_store(&t.file, i, &set, rest);
    }
    return t;
}

static void start_again(trial *t, int without, double pull) {
    t->without = without, t->pull = pull;
    memset(t->is_settled, 0, t->count * sizeof *t->is_settled);
    for (uint32_t i = 0; i < t->count; i++) {
        size_t at = (size_t)i * t->file.most, n = t->file.counts[i];
        t->now.counts[i] = t->file.counts[i];
        memcpy(t->now.joints + at, t->file.joints + at, n * sizeof *t->now.joints);
        memcpy(t->now.weights + at, t->file.weights + at, n * sizeof *t->now.weights);
        memcpy(t->now.rest[i], t->file.rest[i], sizeof t->now.rest[i]);
    }
}

/* -- Cross-validation ---------------------------------------------------------------------------------------------- */

/* Adds the squared error of blend plus regression in an example. */
static void add_error(trial *t, uint32_t point, size_t e, const double d[3]) {
    double rest[3], moved[3], truth[3];
    pelt_affine blend = blend_of(t->l, &t->now, point, e);
    rest_place(t, point, rest), true_place(t, point, e, truth);
    for (int c = 0; c < 3; c++) rest[c] += d[c];
    pelt_affine_point(&blend, rest, moved);
    for (int c = 0; c < 3; c++) t->errors[point] += pow((truth[c] - moved[c]) * t->l->unit, 2);
}

static void score_piece(void *user, size_t at, pelt_arena *scratch) {
    trial *t = user;
    regression r;
    bool found = regress(t, t->order[t->first[at]], true, scratch, &r);
    double *u = PELT_NEW(scratch, 3 * t->l->poses.count, double);
    double *d = PELT_NEW(scratch, 3 * t->l->poses.count, double);
    for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) {
        uint32_t point = t->order[i];
        for (size_t k = 0; k < r.count; k++) {
            pelt_affine blend = blend_of(t->l, &t->now, point, r.examples[k]);
            displace(t, point, r.examples[k], &blend, u + 3 * k);
        }
        if (found && r.hidden_count) pelt_gemm(false, false, r.hidden_count, 3, r.count, 1, r.predict, u, 0, d);
        t->errors[point] = 0;
        for (size_t e = 0, h = 0; e < t->l->poses.count; e++) {
            bool driven = h < r.hidden_count && r.hidden[h] == e;
            if (t->l->fold[e] == t->without) add_error(t, point, e, driven ? d + 3 * h : (double[3]){0});
            h += driven;
        }
    }
}

/* The squared error on examples that neither the weights nor the regression have seen; a pull of 0 means the file's
   weights. */
static double validate(trial *t, double pull) {
    double sum = 0;
    for (int fold = 0; fold < PELT_POSE_FOLDS; fold++) {
        start_again(t, fold, pull);
        if (pull > 0) fit_trial(t);
        look_around(t);
        pelt_parallel(t->l->f->arena, t->l->f->options.threads, t->piece_count, score_piece, t);
        for (uint32_t i = 0; i < t->count; i++) sum += t->errors[i];
    }
    return sum;
}

/* The strongest pull that is about as good as the best; 0: the file's weights are better. */
static double choose_pull(const looking *l, pelt_blend_findings *findings) {
    trial t = trial_of(l, l->f->points.count / SAMPLES + 1);
    double file = validate(&t, 0), missed[PULLS], least = INFINITY;
    int best = 0;
    for (int p = 0; p < PULLS; p++) {
        if (pelt_next_task(l->f->arena, "weights", 0.1 * (p + 1), 0.1 * (p + 2), 3 * PELT_POSE_FOLDS * ROUNDS))
            return 0;
        missed[p] = sqrt(validate(&t, pulls[p]) / fmax(file, 1e-300));
        least = fmin(least, missed[p]);
    }
    while (missed[best] > as_good * least) best++;
    findings->missed = missed[best];
    return missed[best] < 1 - worthwhile ? pulls[best] : 0;
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

static void find_adjacent(looking *l) {
    const pelt_candidates *c = &l->candidates;
    const pelt_skeleton *skeleton = l->f->model.skeleton;
    uint32_t *of = PELT_NEW(l->f->arena, skeleton->joint_count, uint32_t);
    l->adjacent = PELT_NEW(l->f->arena, (size_t)c->count * c->count, bool);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) of[j] = UINT32_MAX;
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t m = c->first[k]; m < c->first[k + 1]; m++) of[c->members[m]] = k;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        int32_t parent = skeleton->parents[j];
        if (parent < 0 || of[j] == UINT32_MAX || of[parent] == UINT32_MAX) continue;
        l->adjacent[(size_t)of[j] * c->count + of[parent]] = l->adjacent[(size_t)of[parent] * c->count + of[j]] = true;
    }
}

static pelt_result prepare(looking *l, pelt_error *error) {
    pelt_fitting *f = l->f;
    pelt_affine *matrices = NULL;
    pelt_result result = pelt_begin_blend(f, &matrices, &l->candidates, &l->locks, error);
    if (result) return result;
    l->matrices = matrices;
    l->fold = PELT_NEW(f->arena, l->poses.count, int);
    pelt_deal_folds(&l->poses, l->fold);
    find_adjacent(l);
    trial t = trial_of(l, f->points.count);
    start_again(&t, -1, 0);
    look_around(&t);
    l->tables = PELT_NEW(f->arena, t.inputs.count * (size_t)l->poses.count * l->poses.count, float);
    pelt_kernel_tables(f->arena, &l->poses, &t.inputs, &settings, f->options.threads, l->tables);
    return PELT_OK;
}

static void fit_all(looking *l, double pull) {
    trial t = trial_of(l, 1);
    pelt_next_task(l->f->arena, "weights", 0.4, 1, 3 * ROUNDS);
    start_again(&t, -1, pull);
    fit_trial(&t);
    pelt_report_twins(l->f, &l->candidates);
    pelt_blend_finish(l->f, &l->candidates, &(pelt_gram){.scale = 1, .rest_scale = 1}, &t.now, l->locks.points);
}

pelt_result pelt_fit_weights_ahead(pelt_fitting *f, pelt_error *error) {
    pelt_examples all = f->examples;
    looking l = {.f = f,
                 .matrix_count = pelt_model_matrix_count(&f->model),
                 .most = f->options.influences ? f->options.influences : 4,
                 .unit = 1 / pelt_scene_diagonal(&f->bundle->mesh)};
    f->examples = pelt_fewer_examples(f->arena, f->bundle, all, &f->options, MOST_EXAMPLES);
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &l.poses);
    pelt_result result = PELT_OK;
    if (f->examples.count >= LEAST_EXAMPLES && l.poses.mover_count && f->points.count) {
        result = prepare(&l, error);
        double pull = result ? 0 : f->pull > 0 ? f->pull : choose_pull(&l, &f->report.blend_fit);
        if (pull > 0) fit_all(&l, pull);
        f->report.blend_fit.pull = pull;
        if (!result && pelt_next_task(f->arena, "weights", 1, 1, 1)) result = pelt_stopped(error);
    }
    f->examples = all;
    return result;
}
