/* features_learn.c: features trained by maximising the evidence of the examples (features.h has the formula).

   With M = (K_c + lambda_c I)^-1 and P = M Y_c,

       dL/dK_c = w_c [M / n_c - P P^T / tr(Y_c^T P)] =: G_c,    dL/dl = e^l sum_c tr G_c,
       dL/dH_g = 2 (sum_c share_cg G_c) H_g

   Examples that move no input of a neighbourhood have H_g = 0 and are skipped everywhere. */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 256, LEAST_BATCHES = 3, TARGETS_PER_STEP = 16 };
static const double FLOOR = 1e-4; /* of the mean diagonal: without it the evidence would explain noise */
static const double RATE = 0.03;  /* at 64 features */
static const double USUAL_WIDTH = 64;
/* What a step keeps of the running means, and takes of the gradient: Adam's, with a shorter memory. */
static const double KEEP_MEAN = 0.9, NEW_MEAN = 0.1, KEEP_SQUARE = 0.99, NEW_SQUARE = 0.01;
static const double NO_GRADIENT = 1e-12;

/* Only the lower triangles of symmetric matrices are filled in. Rows have the same order everywhere, so the lower
   triangle of a part comes from the lower triangle of the whole.

   Rows of the step (or of a part of it) in which something moves. */
typedef struct part {
    size_t count;
    uint32_t *rows; /* [count] positions in the step's list, ascending */
} part;

/* Neighbourhood g in a step. */
typedef struct set_work {
    part own;
    uint32_t *examples;        /* [own.count] */
    double *x, *z;             /* [own.count][size], [own.count][width]: x W + b */
    double *h, *gram;          /* [own.count][width], [own.count][own.count] */
    double *weights, *offsets; /* the gradient */
} set_work;

/* Target c in a step. */
typedef struct target_work {
    const pelt_feature_target *target;
    part own;
    uint32_t *place;   /* [row of the step] position in `own` */
    double *by_kernel; /* G_c */
    double loss, trace;
} target_work;

typedef struct step_work {
    pelt_arena *arena;
    const pelt_feature_net *net;
    size_t row_count;
    const uint32_t *rows;
    set_work *sets;       /* [net->count] */
    target_work *targets; /* [target_count] */
    size_t target_count;
} step_work;

/* -- One step ------------------------------------------------------------------------------------------------------ */

static part rows_that_move(pelt_arena *arena, const step_work *w, uint32_t set_count, const uint32_t *sets) {
    part out = {.rows = PELT_NEW(arena, w->row_count, uint32_t)};
    for (size_t r = 0; r < w->row_count; r++) {
        const uint8_t *moved = w->net->moved + (size_t)w->rows[r] * w->net->count;
        bool any = false;
        for (uint32_t i = 0; i < set_count; i++) any |= moved[sets[i]] != 0;
        if (any) out.rows[out.count++] = (uint32_t)r;
    }
    return out;
}

/* Allocates everything the loops of a step fill in. */
static void prepare(step_work *w, pelt_feature_targets targets, size_t first, size_t step) {
    pelt_arena *arena = w->arena;
    w->sets = PELT_NEW(arena, w->net->count, set_work);
    w->targets = PELT_NEW(arena, targets.count, target_work);
    for (size_t c = first; c < targets.count; c += step) {
        const pelt_feature_target *target = &targets.list[c];
        part own = rows_that_move(arena, w, target->share_count, target->sets);
        if (!own.count) continue;
        target_work *out = &w->targets[w->target_count++];
        *out = (target_work){
            target, own, PELT_NEW(arena, w->row_count, uint32_t), PELT_NEW(arena, own.count * own.count, double), 0, 0};
        for (size_t i = 0; i < own.count; i++) out->place[own.rows[i]] = (uint32_t)i;
        for (uint32_t i = 0; i < target->share_count; i++) {
            set_work *set = &w->sets[target->sets[i]];
            if (set->h) continue;
            uint32_t width = w->net->width;
            set->own = rows_that_move(arena, w, 1, &target->sets[i]);
            size_t n = set->own.count;
            set->examples = PELT_NEW(arena, n, uint32_t);
            for (size_t r = 0; r < n; r++) set->examples[r] = w->rows[set->own.rows[r]];
            set->h = PELT_NEW(arena, n * width + 1, double), set->gram = PELT_NEW(arena, n * n, double);
            set->x = PELT_NEW(arena, n * w->net->list[target->sets[i]].size, double);
            set->z = PELT_NEW(arena, n * width, double);
            set->weights = PELT_NEW(arena, (size_t)w->net->list[target->sets[i]].size * width, double);
            set->offsets = PELT_NEW(arena, width, double);
        }
    }
}

static void make_features(void *user, size_t g, pelt_arena *scratch) {
    step_work *w = user;
    set_work *set = &w->sets[g];
    size_t n = set->own.count;
    if (!n) return;
    pelt_feature_bent(scratch, w->net, (uint32_t)g, n, set->examples, set->x, set->z, set->h);
    pelt_syrk(false, n, w->net->width, 1, set->h, 0, set->gram);
}

/* Rows of a set that are also consecutive in a target: from `first` on, starting at `place` in the target. */
typedef struct run {
    size_t first, place, count;
} run;

static size_t find_runs(const set_work *set, const target_work *t, run *runs) {
    size_t count = 0;
    for (size_t a = 0; a < set->own.count; a++) {
        size_t place = t->place[set->own.rows[a]];
        if (count && runs[count - 1].place + runs[count - 1].count == place)
            runs[count - 1].count++;
        else
            runs[count++] = (run){a, place, 1};
    }
    return count;
}

/* Adds the lower triangle of a set's matrix to that of a target, or (back) the reverse. */
static void add_share(const set_work *set, const target_work *t, double share, const run *runs, bool back,
                      double *of_set, double *of_target) {
    for (size_t a = 0; a < set->own.count; a++) {
        double *own = of_set + a * set->own.count, *row = of_target + (size_t)t->place[set->own.rows[a]] * t->own.count;
        for (const run *r = runs; r->first <= a && r->count; r++) {
            size_t count = a + 1 - r->first < r->count ? a + 1 - r->first : r->count;
            double *x = own + r->first, *y = row + r->place;
            for (size_t k = 0; k < count && back; k++) x[k] += share * y[k];
            for (size_t k = 0; k < count && !back; k++) y[k] += share * x[k];
        }
    }
}

static double *target_kernel(pelt_arena *scratch, const step_work *w, const target_work *t) {
    size_t n = t->own.count;
    double *kernel = PELT_NEW(scratch, n * n, double);
    run *runs = PELT_NEW(scratch, n + 1, run);
    for (uint32_t i = 0; i < t->target->share_count; i++) {
        const set_work *set = &w->sets[t->target->sets[i]];
        runs[find_runs(set, t, runs)].count = 0;
        add_share(set, t, t->target->shares[i], runs, false, set->gram, kernel);
    }
    return kernel;
}

static void weigh_target(void *user, size_t c, pelt_arena *scratch) {
    step_work *w = user;
    target_work *t = &w->targets[c];
    size_t n = t->own.count, columns = t->target->columns;
    double *kernel = target_kernel(scratch, w, t), *y = PELT_NEW(scratch, n * columns, double);
    double *product = PELT_NEW(scratch, n * columns, double), mean = 0, determinant = 0, fit = 0;
    for (size_t a = 0; a < n; a++) {
        size_t example = w->rows[t->own.rows[a]];
        memcpy(y + a * columns, t->target->y + example * columns, columns * sizeof *y);
        mean += kernel[a * n + a] / (double)n;
    }
    double lambda = exp(w->net->log_lambda) + FLOOR * mean;
    for (size_t a = 0; a < n; a++) kernel[a * n + a] += lambda;
    if (!pelt_cholesky(n, kernel)) return;
    for (size_t a = 0; a < n; a++) determinant += 2 * log(kernel[a * n + a]);
    pelt_cholesky_invert(n, kernel);
    pelt_symm(n, columns, 1, kernel, y, product);
    for (size_t i = 0; i < n * columns; i++) fit += y[i] * product[i];
    if (!(fit > 0)) return;
    double weight = t->target->weight;
    t->loss = weight * (determinant / (double)n + log(fit));
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) t->by_kernel[a * n + b] = weight / (double)n * kernel[a * n + b];
    pelt_syrk(false, n, columns, -weight / fit, product, 1, t->by_kernel);
    for (size_t a = 0; a < n; a++) t->trace += t->by_kernel[a * n + a];
}

/* From dL/dH to weights and offsets: f' = (1 + z / sqrt(z^2 + s^2)) / 2. */
static void derive(const step_work *w, size_t g, double *by_h) {
    const pelt_neighbourhood *near = &w->net->list[g];
    set_work *set = &w->sets[g];
    uint32_t width = w->net->width;
    size_t n = set->own.count;
    for (size_t a = 0; a < n; a++) {
        const double *z = set->z + a * width;
        double *d = by_h + a * width;
        for (uint32_t k = 0; k < width; k++) {
            double b = near->offsets[k], s2 = pelt_feature_bend2(k);
            double r = sqrt(z[k] * z[k] + s2), rest = sqrt(b * b + s2);
            double slope = r > 0 ? 0.5 * (1 + z[k] / r) : 0.5, slope_rest = rest > 0 ? 0.5 * (1 + b / rest) : 0.5;
            set->offsets[k] += d[k] * (slope - slope_rest);
            d[k] *= slope;
        }
    }
    pelt_gemm(true, false, near->size, width, n, 1, set->x, by_h, 0, set->weights);
}

static void make_gradient(void *user, size_t g, pelt_arena *scratch) {
    step_work *w = user;
    set_work *set = &w->sets[g];
    size_t n = set->own.count, width = w->net->width;
    if (!n) return;
    double *by_gram = PELT_NEW(scratch, n * n, double), *by_h = PELT_NEW(scratch, n * width, double);
    run *runs = PELT_NEW(scratch, n + 1, run);
    for (size_t c = 0; c < w->target_count; c++) {
        const target_work *t = &w->targets[c];
        for (uint32_t i = 0; i < t->target->share_count; i++) {
            if (t->target->sets[i] != g) continue;
            runs[find_runs(set, t, runs)].count = 0;
            add_share(set, t, t->target->shares[i], runs, true, by_gram, t->by_kernel);
        }
    }
    pelt_symm(n, width, 2, by_gram, set->h, by_h);
    derive(w, g, by_h);
}

double pelt_feature_evidence(pelt_arena *arena, const pelt_feature_net *net, pelt_feature_targets targets, size_t first,
                             size_t step, size_t row_count, const uint32_t *rows, uint32_t threads,
                             pelt_feature_gradient *gradient) {
    step_work w = {.arena = arena, .net = net, .row_count = row_count, .rows = rows};
    double loss = 0;
    prepare(&w, targets, first, step);
    pelt_parallel(arena, threads, net->count, make_features, &w);
    pelt_parallel(arena, threads, w.target_count, weigh_target, &w);
    pelt_parallel(arena, threads, net->count, make_gradient, &w);
    *gradient =
        (pelt_feature_gradient){PELT_NEW(arena, net->count, double *), PELT_NEW(arena, net->count, double *), 0};
    for (size_t c = 0; c < w.target_count; c++) {
        loss += w.targets[c].loss;
        gradient->log_lambda += w.targets[c].trace * exp(net->log_lambda);
    }
    for (uint32_t g = 0; g < net->count; g++)
        gradient->weights[g] = w.sets[g].weights, gradient->offsets[g] = w.sets[g].offsets;
    return loss;
}

/* -- Adam ---------------------------------------------------------------------------------------------------------- */

pelt_feature_learning pelt_feature_learning_of(pelt_arena *arena, pelt_feature_net *net, pelt_feature_targets targets,
                                               size_t row_count, const uint32_t *rows) {
    pelt_feature_learning out = {.net = net,
                                 .targets = targets,
                                 .row_count = row_count,
                                 .rows = rows,
                                 .means = PELT_NEW(arena, net->count, double *),
                                 .squares = PELT_NEW(arena, net->count, double *)};
    for (uint32_t g = 0; g < net->count; g++) {
        size_t size = ((size_t)net->list[g].size + 1) * net->width;
        out.means[g] = PELT_NEW(arena, size, double), out.squares[g] = PELT_NEW(arena, size, double);
    }
    return out;
}

/* The step size, and the bias correction of means that started at 0. */
typedef struct pace {
    double rate, mean, square;
} pace;

static void walk(double *value, double gradient, double *mean, double *square, pace p) {
    *mean = KEEP_MEAN * *mean + NEW_MEAN * gradient;
    *square = KEEP_SQUARE * *square + NEW_SQUARE * gradient * gradient;
    *value -= p.rate * *mean * p.mean / (sqrt(*square * p.square) + NO_GRADIENT);
}

uint32_t pelt_feature_batches(pelt_feature_targets targets) {
    uint32_t wanted = (uint32_t)((targets.count + TARGETS_PER_STEP - 1) / TARGETS_PER_STEP);
    return wanted > LEAST_BATCHES ? wanted : LEAST_BATCHES;
}

/* The examples of a step, in order: all, or the next batch. Batches are reshuffled after every epoch, so that each
   example eventually meets all others. */
static size_t choose_rows(pelt_arena *work, const pelt_feature_learning *l, uint32_t *rows) {
    size_t n = l->row_count, parts = (n + MOST_ROWS - 1) / MOST_ROWS, count = 0;
    size_t turn = l->steps / pelt_feature_batches(l->targets);
    uint32_t *dealt = PELT_NEW(work, n, uint32_t);
    uint64_t state = turn / parts + ((l->net->seed - 1) << 32);
    for (size_t r = 0; r < n; r++) dealt[r] = (uint32_t)(r % parts);
    for (size_t r = n; r-- > 1 && parts > 1;) {
        size_t other = (size_t)(pelt_feature_random(&state) % (r + 1));
        uint32_t kept = dealt[r];
        dealt[r] = dealt[other], dealt[other] = kept;
    }
    for (size_t r = 0; r < n; r++)
        if (dealt[r] == turn % parts) rows[count++] = l->rows[r];
    return count;
}

static void update(pelt_feature_learning *l, const pelt_feature_gradient *gradient, double speed) {
    pelt_feature_net *net = l->net;
    pace own = {speed * RATE * sqrt(USUAL_WIDTH / net->width), 1 / (1 - pow(KEEP_MEAN, l->steps)),
                1 / (1 - pow(KEEP_SQUARE, l->steps))};
    for (uint32_t g = 0; g < net->count; g++) {
        if (!gradient->weights[g]) continue;
        pelt_neighbourhood *near = &net->list[g];
        size_t size = (size_t)near->size * net->width;
        for (size_t i = 0; i < size; i++)
            walk(&near->weights[i], gradient->weights[g][i], &l->means[g][i], &l->squares[g][i], own);
        for (size_t k = 0; k < net->width; k++)
            walk(&near->offsets[k], gradient->offsets[g][k], &l->means[g][size + k], &l->squares[g][size + k], own);
    }
    own.rate *= 5;
    walk(&net->log_lambda, gradient->log_lambda, &l->mean, &l->square, own);
}

void pelt_feature_learn(pelt_arena *arena, pelt_feature_learning *l, uint32_t steps, bool settle, uint32_t threads) {
    for (uint32_t i = 0; i < steps; i++) {
        PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
        pelt_feature_gradient gradient;
        uint32_t *rows = PELT_NEW(work, l->row_count, uint32_t);
        size_t count = choose_rows(work, l, rows);
        uint32_t batches = pelt_feature_batches(l->targets);
        pelt_feature_evidence(work, l->net, l->targets, l->steps % batches, batches, count, rows, threads, &gradient);
        l->steps++;
        update(l, &gradient, settle ? 1 - (double)i / steps : 1);
    }
}
