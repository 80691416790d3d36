/* features_choose.c: training length of the features and ridge of their outputs, by cross-validation.

   For each fold, features are trained without it; at intervals, the outputs of all targets are fitted to the other
   examples and predict the fold. */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLDS = 2,
    LARGE_FOLD = 32,
    MANY_CHECK = 17,
    MANY_ROUNDS = 84,
    LEAST_TARGETS = 12,
    MOST_TARGETS = 96,
    MOST_COLUMNS = 24
};
static const uint32_t MARKS[] = {10, 20, 33, 50, 73}; /* rounds: in each, every target is seen once */
static const double RIDGES[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1};
enum { MARK_COUNT = sizeof MARKS / sizeof *MARKS, RIDGE_COUNT = sizeof RIDGES / sizeof *RIDGES };
static const double LEAST_SHARE = 0.02;
static const double HOPELESS = 1.3;     /* times the goal: more training will not help */
static const double MOST_ENERGY = 0.98; /* of the targets: those beyond this fraction are not predicted */

/* -- Regression ---------------------------------------------------------------------------------------------------- */

size_t pelt_feature_moving(const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets, size_t row_count,
                           const uint32_t *rows, uint32_t *out) {
    size_t count = 0;
    for (size_t r = 0; r < row_count; r++) {
        const uint8_t *moved = net->moved + (size_t)rows[r] * net->count;
        bool any = false;
        for (uint32_t i = 0; i < set_count; i++) any |= moved[sets[i]] != 0;
        if (any) out[count++] = rows[r];
    }
    return count;
}

double *pelt_feature_rows(pelt_arena *arena, const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets,
                          const double *factors, size_t row_count, const uint32_t *rows) {
    size_t width = net->width, inner = set_count * width;
    double *phi = PELT_NEW(arena, row_count * inner, double), *h = PELT_NEW(arena, row_count * width, double);
    for (uint32_t i = 0; i < set_count; i++) {
        pelt_feature_values(arena, net, sets[i], row_count, rows, h);
        for (size_t r = 0; r < row_count; r++)
            for (size_t k = 0; k < width; k++)
                phi[r * inner + i * width + k] = h[r * width + k] * (factors ? factors[i] : 1);
    }
    return phi;
}

pelt_feature_gram pelt_feature_gram_of(pelt_arena *arena, size_t rows, size_t inner, const double *phi) {
    size_t size = rows <= inner ? rows : inner;
    pelt_feature_gram out = {.rows = rows, .inner = inner, .size = size, .phi = phi};
    out.matrix = PELT_NEW(arena, size * size, double);
    if (size) pelt_syrk(size != rows, size, size == rows ? inner : rows, 1, phi, 0, out.matrix);
    for (size_t a = 0; a < size; a++) out.mean += out.matrix[a * size + a] / (double)rows;
    return out;
}

bool pelt_feature_solve(pelt_arena *work, const pelt_feature_gram *g, double ridge, size_t columns, const double *y,
                        double *solution) {
    size_t n = g->size;
    PELT_SCOPED pelt_arena *inside = pelt_arena_inside(work);
    double *matrix = PELT_NEW(inside, n * n, double);
    memcpy(matrix, g->matrix, n * n * sizeof *matrix);
    for (size_t a = 0; a < n; a++) matrix[a * n + a] += ridge * g->mean + 1e-300;
    bool solved = n && pelt_cholesky(n, matrix);
    if (solved && n == g->rows) memcpy(solution, y, n * columns * sizeof *solution);
    if (solved && n != g->rows) pelt_gemm(true, false, n, columns, g->rows, 1, g->phi, y, 0, solution);
    if (solved) pelt_cholesky_solve(n, matrix, columns, solution);
    return solved;
}

const double *pelt_feature_against(pelt_arena *arena, const pelt_feature_gram *g, size_t row_count,
                                   const double *features) {
    if (g->size != g->rows || !g->rows) return features;
    double *out = PELT_NEW(arena, row_count * g->rows, double);
    pelt_gemm(false, true, row_count, g->rows, g->inner, 1, features, g->phi, 0, out);
    return out;
}

/* -- Targets ------------------------------------------------------------------------------------------------------- */

static void list_shares(pelt_arena *arena, const pelt_kernel_inputs *inputs, const pelt_clusters *c, uint32_t q,
                        pelt_feature_target *out) {
    double size = c->first[q + 1] - c->first[q];
    out->sets = PELT_NEW(arena, inputs->count, uint32_t), out->shares = PELT_NEW(arena, inputs->count, double);
    for (uint32_t g = 0; g < inputs->count; g++) {
        double share = 0;
        for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++)
            share += inputs->supports[(size_t)c->points[m] * inputs->count + g] / size;
        if (share > LEAST_SHARE) out->sets[out->share_count] = g, out->shares[out->share_count++] = share;
    }
}

/* Principal coordinates of a cluster, [example][columns]; returns the root of its energy. */
static double fill_columns(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c, uint32_t q,
                           size_t *count, double **y) {
    size_t size = c->first[q + 1] - c->first[q], columns = c->ranks[q] < MOST_COLUMNS ? c->ranks[q] : MOST_COLUMNS;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *rows = PELT_NEW(work, 3 * size * u->example_count, double), energy = 0;
    for (size_t e = 0; e < u->example_count; e++)
        for (size_t m = 0; m < size; m++)
            for (size_t d = 0; d < 3; d++) {
                double x = u->positions[3 * (e * u->point_count + c->points[c->first[q] + m]) + d];
                rows[3 * (e * size + m) + d] = x, energy += x * x;
            }
    *count = columns;
    *y = PELT_NEW(arena, u->example_count * columns, double);
    if (columns) pelt_gemm(false, true, u->example_count, columns, 3 * size, 1, rows, c->shapes[q], 0, *y);
    return sqrt(energy);
}

pelt_feature_targets pelt_feature_targets_of(pelt_arena *arena, const pelt_kernel_inputs *inputs,
                                             const pelt_example_displacements *u,
                                             const pelt_example_displacements *tilts, const pelt_mesh *mesh,
                                             const float *positions, uint32_t threads) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t count = 2 * inputs->count;
    count = count < LEAST_TARGETS ? LEAST_TARGETS : count > MOST_TARGETS ? MOST_TARGETS : count;
    pelt_clusters c = pelt_cluster(work, u, mesh, positions, count, MOST_COLUMNS, threads);
    pelt_clusters of_tilts = {0};
    if (tilts) of_tilts = pelt_cluster_tilts(work, u, &c, tilts, MOST_COLUMNS, threads);
    pelt_feature_targets out = {.list = PELT_NEW(arena, c.count, pelt_feature_target)};
    double sum = 0;
    for (uint32_t q = 0; q < c.count; q++) {
        pelt_feature_target *target = &out.list[out.count];
        *target = (pelt_feature_target){0};
        if (!c.ranks[q]) continue;
        list_shares(arena, inputs, &c, q, target);
        if (!target->share_count) continue;
        target->weight = fill_columns(arena, u, &c, q, &target->columns, &target->y);
        if (tilts) fill_columns(arena, tilts, &of_tilts, q, &target->tilt_columns, &target->tilts);
        sum += target->weight;
        out.count++;
    }
    for (size_t i = 0; i < out.count; i++) out.list[i].weight /= sum;
    return out;
}

/* -- Cross-validation ---------------------------------------------------------------------------------------------- */

enum { DISPLACEMENTS, TILTS, KINDS };

/* The remaining error of a target, or of all, for each ridge; and the energy. */
typedef struct remains {
    double left[KINDS][RIDGE_COUNT], none[KINDS];
} remains;

typedef struct trial {
    const pelt_feature_net *net;
    pelt_feature_targets targets;
    double least; /* targets with smaller weights are not predicted */
    size_t row_count, fold_count;
    uint32_t *rows, *fold; /* training examples, and predicted ones */
    double *weights;       /* [example] of squared errors */
    remains *remains;      /* [target] */
} trial;

/* Position and normal columns side by side. */
static double *target_rows(pelt_arena *arena, const pelt_feature_target *t, size_t count, const uint32_t *rows) {
    size_t columns = t->columns + t->tilt_columns;
    double *y = PELT_NEW(arena, count * columns, double);
    for (size_t r = 0; r < count; r++) {
        double *row = y + r * columns;
        memcpy(row, t->y + rows[r] * t->columns, t->columns * sizeof *y);
        if (t->tilt_columns)
            memcpy(row + t->columns, t->tilts + rows[r] * t->tilt_columns, t->tilt_columns * sizeof *y);
    }
    return y;
}

static void try_target(void *user, size_t c, pelt_arena *scratch) {
    trial *v = user;
    const pelt_feature_target *t = &v->targets.list[c];
    remains *out = &v->remains[c];
    size_t inner = (size_t)t->share_count * v->net->width, columns = t->columns + t->tilt_columns, m = v->fold_count;
    *out = (remains){0};
    if (t->weight < v->least) return;
    uint32_t *rows = PELT_NEW(scratch, v->row_count, uint32_t);
    double *factors = PELT_NEW(scratch, t->share_count, double);
    size_t n = pelt_feature_moving(v->net, t->share_count, t->sets, v->row_count, v->rows, rows);
    for (uint32_t i = 0; i < t->share_count; i++) factors[i] = sqrt(t->shares[i]);
    double *truth = target_rows(scratch, t, m, v->fold), *guess = PELT_NEW(scratch, m * columns, double);
    double *phi = pelt_feature_rows(scratch, v->net, t->share_count, t->sets, factors, n, rows);
    double *held = pelt_feature_rows(scratch, v->net, t->share_count, t->sets, factors, m, v->fold);
    pelt_feature_gram gram = pelt_feature_gram_of(scratch, n, inner, phi);
    const double *against = pelt_feature_against(scratch, &gram, m, held), *y = target_rows(scratch, t, n, rows);
    double *solution = PELT_NEW(scratch, gram.size * columns, double);
    for (size_t k = 0; k < m * columns; k++)
        out->none[k % columns >= t->columns] += v->weights[v->fold[k / columns]] * truth[k] * truth[k];
    for (int i = 0; i < RIDGE_COUNT; i++) {
        bool solved = pelt_feature_solve(scratch, &gram, RIDGES[i], columns, y, solution);
        if (solved) pelt_gemm(false, false, m, columns, gram.size, 1, against, solution, 0, guess);
        for (size_t k = 0; k < m * columns; k++)
            out->left[k % columns >= t->columns][i] +=
                solved ? v->weights[v->fold[k / columns]] * pow(guess[k] - truth[k], 2) : INFINITY;
    }
}

/* The weight above which targets hold most of the energy; weights are its square roots. */
static double least_weight(pelt_arena *work, pelt_feature_targets targets) {
    double *weights = PELT_NEW(work, targets.count, double), all = 0, sum = 0;
    size_t i = targets.count;
    for (size_t c = 0; c < targets.count; c++) weights[c] = targets.list[c].weight, all += weights[c] * weights[c];
    qsort(weights, targets.count, sizeof *weights, pelt_rising_doubles);
    while (i > 0 && (sum += weights[i - 1] * weights[i - 1]) < MOST_ENERGY * all) i--;
    return i > 0 ? weights[i - 1] : 0;
}

static double *weigh_examples(pelt_arena *work, const pelt_poses *poses, pelt_feature_targets targets,
                              const int *fold) {
    double *energies = PELT_NEW(work, poses->count, double), *weights = PELT_NEW(work, poses->count, double);
    for (const pelt_feature_target *t = targets.list; t < targets.list + targets.count; t++)
        for (size_t i = 0; i < poses->count * t->columns; i++) energies[i / t->columns] += t->y[i] * t->y[i];
    pelt_balance_folds(poses, fold, energies, weights);
    return weights;
}

/* Sets up a fold, with features that train without it. */
static void start_fold(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs, const int *fold,
                       int own, uint32_t width, uint64_t seed, trial *v, pelt_feature_learning *learning) {
    pelt_feature_net *net = PELT_NEW(arena, 1, pelt_feature_net);
    *net = pelt_features_of(arena, poses, inputs, width, seed);
    v->net = net;
    v->rows = PELT_NEW(arena, poses->count, uint32_t), v->fold = PELT_NEW(arena, poses->count, uint32_t);
    v->remains = PELT_NEW(arena, v->targets.count, remains);
    for (uint32_t e = 0; e < poses->count; e++)
        *(fold[e] == own ? &v->fold[v->fold_count++] : &v->rows[v->row_count++]) = e;
    *learning = pelt_feature_learning_of(arena, net, v->targets, v->row_count, v->rows);
}

/* The remaining error over all targets and folds after some steps. One fold is enough if it is large. */
static remains learn_and_try(pelt_arena *arena, trial folds[FOLDS], pelt_feature_learning learning[FOLDS],
                             uint32_t steps, uint32_t threads) {
    remains sum = {0};
    for (int f = 0; f < (folds[0].fold_count < LARGE_FOLD ? FOLDS : 1); f++) {
        trial *v = &folds[f];
        pelt_feature_learn(arena, &learning[f], steps - learning[f].steps, false, threads);
        PELT_SPREAD(arena, threads, v->targets.count, try_target, v, {v->remains, sizeof *v->remains});
        for (size_t c = 0; c < v->targets.count; c++)
            for (int kind = 0; kind < KINDS; kind++) {
                for (int i = 0; i < RIDGE_COUNT; i++) sum.left[kind][i] += v->remains[c].left[kind][i];
                sum.none[kind] += v->remains[c].none[kind];
            }
    }
    return sum;
}

static int best_ridge(const remains *r, int kind) {
    int best = 0;
    for (int i = 1; i < RIDGE_COUNT; i++)
        if (r->left[kind][i] < r->left[kind][best]) best = i;
    return best;
}

/* Trains while the error improves by 1% between checks, unless it is hopeless. With so many examples that a fold is
   large, overfitting is no concern: one check shows what features are worth, and the fit uses MANY_ROUNDS. */
pelt_feature_settings pelt_feature_validate(pelt_arena *arena, const pelt_poses *poses,
                                            const pelt_kernel_inputs *inputs, pelt_feature_targets targets,
                                            uint32_t width, double goal, uint32_t seed, uint32_t threads) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t batches = pelt_feature_batches(targets);
    pelt_feature_settings out = {
        .width = width, .steps = MARKS[0] * batches, .ridge = 1e-2, .tilt_ridge = 1e-1, .left = INFINITY};
    pelt_feature_learning learning[FOLDS];
    double least = least_weight(work, targets);
    trial folds[FOLDS] = {{.targets = targets, .least = least}, {.targets = targets, .least = least}};
    int *fold = PELT_NEW(work, poses->count, int);
    pelt_deal_folds(poses, fold);
    folds[0].weights = folds[1].weights = weigh_examples(work, poses, targets, fold);
    for (int f = 0; f < FOLDS; f++) start_fold(work, poses, inputs, fold, f, width, seed, &folds[f], &learning[f]);
    bool many = folds[0].fold_count >= LARGE_FOLD;
    for (int mark = 0; mark < (many ? 1 : MARK_COUNT); mark++) {
        uint32_t steps = (many ? MANY_CHECK : MARKS[mark]) * batches;
        remains r = learn_and_try(work, folds, learning, steps, threads);
        int ridge = best_ridge(&r, DISPLACEMENTS);
        double none = r.none[DISPLACEMENTS], left = none > 0 ? sqrt(r.left[DISPLACEMENTS][ridge] / none) : INFINITY;
        bool helps = left < 0.99 * out.left;
        if (left < out.left)
            out = (pelt_feature_settings){width, steps, RIDGES[ridge], RIDGES[best_ridge(&r, TILTS)], left};
        if (!helps || left > HOPELESS * goal) break;
    }
    if (many) out.steps = MANY_ROUNDS * batches;
    return out;
}
