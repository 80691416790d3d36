/* kernel_ridge.c: kernel ridge regression of displacements on the rotations that drive them, and its settings by
   cross-validation.

       K = sum_g k_g + gamma sum_(g,h) k_g k_h,    B = (K + lambda I)^-1 u

   Points with the same joints share one factorisation. With M = (K + lambda I)^-1, the prediction of a fold f of
   examples by a fit to all others misses by (M_ff)^-1 (M u)_f, so one inverse serves all folds. */

#include "fit/corrective/kernel.h"
#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, SAMPLES = 400 };
static const double LEAST_SHARE = 0.005; /* units that drive less of a cluster are not worth their time */

/* -- Units --------------------------------------------------------------------------------------------------------- */

static double share_of(const pelt_kernel_inputs *d, size_t count, const uint32_t *points, const double *weights,
                       uint32_t g, uint32_t h) {
    double share = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *support = d->supports + (size_t)points[i] * d->count;
        if (support[g] && support[h]) share += weights[i];
    }
    return share;
}

pelt_result pelt_ridge_of(const pelt_kernel_inputs *d, uint32_t example_count, size_t point_count,
                          const uint32_t *points, const double *weights, pelt_ridge *out) {
    *out = (pelt_ridge){.units = malloc(3 * (size_t)(d->count + 1) * sizeof *out->units),
                        .examples = malloc(((size_t)example_count + 1) * sizeof *out->examples)};
    if (!out->units || !out->examples) return pelt_ridge_free(out), PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < d->count; g++) {
        double share = share_of(d, point_count, points, weights, g, g);
        if (share > LEAST_SHARE) out->units[out->unit_count++] = (pelt_kernel_unit){g, g, (float)share};
    }
    uint32_t singles = out->unit_count;
    for (uint32_t s = 0; s < singles; s++) {
        uint32_t g = out->units[s].first;
        int32_t above = d->parents[g];
        for (int up = 0; up < 2 && above >= 0; up++, above = d->parents[above]) {
            double share = share_of(d, point_count, points, weights, g, (uint32_t)above);
            if (share > LEAST_SHARE)
                out->units[out->unit_count++] = (pelt_kernel_unit){g, (uint32_t)above, (float)share};
        }
    }
    for (uint32_t e = 0; e < example_count; e++) {
        bool matters = false;
        for (uint32_t s = 0; s < singles; s++) matters |= d->moved[(size_t)e * d->count + out->units[s].first] != 0;
        if (matters) out->examples[out->example_count++] = e;
    }
    return PELT_OK;
}

void pelt_ridge_free(pelt_ridge *ridge) {
    free(ridge->units), free(ridge->examples);
    *ridge = (pelt_ridge){0};
}

void pelt_ridge_matrix(const pelt_ridge *r, const float *tables, size_t example_count, double pair, double *matrix) {
    size_t n = r->example_count, size = example_count * example_count;
    memset(matrix, 0, n * n * sizeof *matrix);
    for (uint32_t u = 0; u < r->unit_count; u++) {
        const pelt_kernel_unit *unit = &r->units[u];
        bool single = unit->first == unit->second;
        double gain = single ? unit->gain : unit->gain * pair;
        for (size_t a = 0; a < n && gain != 0; a++) {
            const float *first = tables + unit->first * size + r->examples[a] * example_count;
            const float *second = tables + unit->second * size + r->examples[a] * example_count;
            for (size_t b = 0; b < n; b++)
                matrix[a * n + b] += gain * first[r->examples[b]] * (single ? 1.0 : (double)second[r->examples[b]]);
        }
    }
}

/* Pivoted Cholesky: left[i] is what the centres chosen so far leave of K_ii. Returns how many are chosen. */
static size_t choose_centers(size_t n, const double *matrix, double tolerance, double *factor, double *left,
                             uint32_t *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) left[i] = matrix[i * n + i];
    while (count < n) {
        size_t far = 0;
        for (size_t i = 1; i < n; i++)
            if (left[i] > left[far]) far = i;
        if (!(left[far] > tolerance)) break;
        double *row = factor + count * n, scale = 1 / sqrt(left[far]);
        for (size_t i = 0; i < n; i++) {
            double sum = matrix[far * n + i];
            for (size_t k = 0; k < count; k++) sum -= factor[k * n + far] * factor[k * n + i];
            row[i] = sum * scale;
        }
        for (size_t i = 0; i < n; i++) left[i] -= row[i] * row[i];
        left[far] = 0;
        chosen[count++] = (uint32_t)far;
    }
    return count;
}

/* min |a - K_nm c|^2 + lambda c^T K_mm c. */
bool pelt_ridge_solve(pelt_ridge *r, const double *matrix, double lambda, double tolerance, size_t set_count,
                      const pelt_ridge_values *sets) {
    size_t n = r->example_count, columns = 0;
    for (size_t s = 0; s < set_count; s++) columns = sets[s].columns > columns ? sets[s].columns : columns;
    double *work = malloc((3 * n * n + n + n * columns + 1) * sizeof *work);
    uint32_t *chosen = malloc((n + 1) * sizeof *chosen);
    bool done = work && chosen;
    if (done) {
        double *across = work + n * n, *normal = across + n * n, *left = normal + n * n, *right = left + n;
        size_t m = choose_centers(n, matrix, tolerance, work, left, chosen);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < m; k++) across[i * m + k] = matrix[i * n + chosen[k]];
        for (size_t k = 0; k < m; k++)
            for (size_t l = 0; l < m; l++) normal[k * m + l] = matrix[chosen[k] * n + chosen[l]];
        for (size_t k = 0; k < m; k++) normal[k * m + k] *= 1 + 1e-10;
        if (m) pelt_gemm(true, false, m, m, n, 1, across, across, lambda, normal);
        done = !m || pelt_cholesky(m, normal);
        for (size_t s = 0; s < set_count && done && m; s++) {
            size_t own = sets[s].columns;
            if (!own) continue;
            pelt_gemm(true, false, m, own, n, 1, across, sets[s].values, 0, right);
            pelt_cholesky_solve(m, normal, own, right);
            memcpy(sets[s].values, right, m * own * sizeof *right);
        }
        for (size_t k = 0; k < m; k++) chosen[k] = r->examples[chosen[k]];
        memcpy(r->examples, chosen, m * sizeof *chosen);
        r->example_count = (uint32_t)m;
    }
    free(work), free(chosen);
    return done;
}

typedef struct table_work {
    const pelt_poses *poses;
    const pelt_kernel_inputs *inputs;
    const pelt_kernel_settings *settings;
    float *tables;
} table_work;

static void fill_table(void *user, size_t g, pelt_arena *scratch) {
    (void)scratch;
    const table_work *w = user;
    size_t size = (size_t)w->poses->count * w->poses->count;
    pelt_kernel_table(w->poses, w->inputs, pelt_kernel_scale(w->inputs, w->settings, (uint32_t)g), (uint32_t)g,
                      w->tables + g * size);
}

void pelt_kernel_tables(const pelt_poses *poses, const pelt_kernel_inputs *inputs, const pelt_kernel_settings *settings,
                        uint32_t threads, float *tables) {
    pelt_parallel(NULL, threads, inputs->count, fill_table, &(table_work){poses, inputs, settings, tables});
}

/* -- Cross-validation ---------------------------------------------------------------------------------------------- */

/* Sampled points that the same joints drive. */
typedef struct validation_set {
    uint32_t *points;
    size_t count;
    pelt_ridge ridge;
    double *targets; /* [ridge.example_count][3 count] */
} validation_set;

typedef struct validation {
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    const pelt_kernel_inputs *inputs;
    uint32_t threads;
    float *tables;
    int *fold; /* [example] 0 to FOLDS - 1, or -1: always in */
    validation_set *sets;
    size_t set_count;
    const pelt_kernel_settings *trial;
    double *errors; /* [set] */
    _Atomic bool no_memory;
} validation;

/* Folds are made of poses that move several joints: what matters is how those are predicted. Where there are too few,
   all examples but the rest pose take part. */
static void make_folds(validation *v) {
    uint32_t several = 0, next = 0;
    for (uint32_t e = 0; e < v->poses->count; e++)
        several += !v->poses->rest[e] && v->poses->sweep_of[e] == PELT_NO_MOVER;
    for (uint32_t e = 0; e < v->poses->count; e++) {
        bool takes_part = !v->poses->rest[e] && (several < 2 * FOLDS || v->poses->sweep_of[e] == PELT_NO_MOVER);
        v->fold[e] = takes_part ? (int)(next++ % FOLDS) : -1;
    }
}

/* Every n-th point, put together with those that have the same joints. */
static pelt_result make_sets(validation *v) {
    const pelt_kernel_inputs *d = v->inputs;
    uint32_t step = v->u->point_count / SAMPLES + 1;
    for (uint32_t i = 0; i < v->u->point_count; i += step) {
        const uint8_t *support = d->supports + (size_t)i * d->count;
        size_t s = 0;
        while (s < v->set_count && memcmp(support, d->supports + (size_t)v->sets[s].points[0] * d->count, d->count))
            s++;
        validation_set *set = &v->sets[s];
        if (s == v->set_count) {
            if (!(set->points = malloc(SAMPLES * sizeof *set->points))) return PELT_ERROR_MEMORY;
            v->set_count++;
        }
        set->points[set->count++] = i;
    }
    for (size_t s = 0; s < v->set_count; s++) {
        validation_set *set = &v->sets[s];
        if (pelt_ridge_of(d, v->poses->count, 1, set->points, &(double){1}, &set->ridge)) return PELT_ERROR_MEMORY;
        size_t n = set->ridge.example_count;
        set->targets = malloc((3 * n * set->count + 1) * sizeof *set->targets);
        if (!set->targets) return PELT_ERROR_MEMORY;
        for (size_t a = 0; a < n; a++)
            for (size_t i = 0; i < set->count; i++)
                for (size_t c = 0; c < 3; c++)
                    set->targets[(a * set->count + i) * 3 + c] =
                        v->u->positions[3 * ((size_t)set->ridge.examples[a] * v->u->point_count + set->points[i]) + c];
    }
    return PELT_OK;
}

/* The squared error of one fold, from M and M u. */
static double fold_error(const validation *v, const validation_set *set, int fold, const double *inverse,
                         const double *product, double *block, double *right) {
    size_t n = set->ridge.example_count, columns = 3 * set->count, m = 0;
    uint32_t rows[512];
    for (size_t a = 0; a < n && m < 512; a++)
        if (v->fold[set->ridge.examples[a]] == fold) rows[m++] = (uint32_t)a;
    for (size_t a = 0; a < m; a++) {
        for (size_t b = 0; b < m; b++) block[a * m + b] = inverse[rows[a] * n + rows[b]];
        memcpy(right + a * columns, product + rows[a] * columns, columns * sizeof *right);
    }
    if (!m || !pelt_cholesky(m, block)) return 0;
    pelt_cholesky_solve(m, block, columns, right);
    double error = 0;
    for (size_t i = 0; i < m * columns; i++) error += right[i] * right[i];
    return error;
}

static void validate_set(void *user, size_t s, pelt_arena *scratch) {
    (void)scratch;
    validation *v = user;
    const validation_set *set = &v->sets[s];
    size_t n = set->ridge.example_count, columns = 3 * set->count;
    if (!n) return;
    double *matrix = malloc(2 * n * n * sizeof *matrix), *inverse = matrix ? matrix + n * n : NULL;
    double *product = malloc(2 * n * columns * sizeof *product), *right = product ? product + n * columns : NULL;
    if (matrix && product) {
        pelt_ridge_matrix(&set->ridge, v->tables, v->poses->count, v->trial->pair, matrix);
        memset(inverse, 0, n * n * sizeof *inverse);
        for (size_t a = 0; a < n; a++) matrix[a * n + a] += v->trial->lambda, inverse[a * n + a] = 1;
        v->errors[s] = INFINITY;
        if (pelt_cholesky(n, matrix)) {
            pelt_cholesky_solve(n, matrix, n, inverse);
            pelt_gemm(false, false, n, columns, n, 1, inverse, set->targets, 0, product);
            v->errors[s] = 0;
            for (int fold = 0; fold < FOLDS; fold++)
                v->errors[s] += fold_error(v, set, fold, inverse, product, matrix, right);
        }
    } else {
        v->no_memory = true;
    }
    free(matrix), free(product);
}

static double score(validation *v, const pelt_kernel_settings *trial, bool new_tables) {
    if (new_tables) pelt_kernel_tables(v->poses, v->inputs, trial, v->threads, v->tables);
    v->trial = trial;
    pelt_parallel(NULL, v->threads, v->set_count, validate_set, v);
    double sum = 0;
    for (size_t s = 0; s < v->set_count; s++) sum += v->errors[s];
    return sum;
}

/* What is left when nothing is predicted. */
static double nothing(const validation *v) {
    double sum = 0;
    for (size_t s = 0; s < v->set_count; s++) {
        const validation_set *set = &v->sets[s];
        for (size_t a = 0; a < set->ridge.example_count; a++)
            for (size_t i = 0; i < 3 * set->count && v->fold[set->ridge.examples[a]] >= 0; i++)
                sum += set->targets[a * 3 * set->count + i] * set->targets[a * 3 * set->count + i];
    }
    return sum;
}

/* Walks one setting up or down its ladder as long as that helps, at most STEPS steps away. */
static void walk(validation *v, pelt_kernel_settings *best, double *error, double *setting, double factor,
                 bool new_tables) {
    enum { STEPS = 4 };
    double start = *setting;
    for (int direction = 1; direction >= -1; direction -= 2) {
        for (int step = 0; step < STEPS; step++) {
            double before = *setting;
            *setting = before * pow(factor, direction);
            double tried = score(v, best, new_tables);
            if (!(tried < *error * (1 - 1e-4))) {
                *setting = before;
                break;
            }
            *error = tried;
        }
        if (*setting != start) break;
    }
    if (new_tables) pelt_kernel_tables(v->poses, v->inputs, best, v->threads, v->tables);
}

static void search(validation *v, pelt_kernel_settings *best, double *left) {
    double error = score(v, best, true), none = nothing(v);
    pelt_kernel_settings ranged = *best;
    ranged.range = 1;
    double tried = score(v, &ranged, true);
    if (tried < error)
        *best = ranged, error = tried;
    else
        pelt_kernel_tables(v->poses, v->inputs, best, v->threads, v->tables);
    walk(v, best, &error, &best->lambda, 2, false);
    walk(v, best, &error, &best->pair, 2, false);
    walk(v, best, &error, &best->width, sqrt(2), true);
    walk(v, best, &error, &best->lambda, 2, false);
    *left = none > 0 ? sqrt(error / none) : 0;
}

pelt_result pelt_kernel_validate(const pelt_poses *poses, const pelt_example_displacements *u,
                                 const pelt_kernel_inputs *inputs, uint32_t threads, float *tables,
                                 pelt_kernel_settings *settings, double *left) {
    validation v = {.poses = poses,
                    .u = u,
                    .inputs = inputs,
                    .threads = threads,
                    .tables = tables,
                    .fold = malloc(poses->count * sizeof *v.fold),
                    .sets = calloc(SAMPLES, sizeof *v.sets),
                    .errors = calloc(SAMPLES, sizeof *v.errors)};
    bool ready = v.fold && v.sets && v.errors;
    if (ready) make_folds(&v);
    ready = ready && !make_sets(&v);
    if (ready) search(&v, settings, left);
    for (size_t s = 0; v.sets && s < SAMPLES; s++) {
        free(v.sets[s].points), free(v.sets[s].targets);
        pelt_ridge_free(&v.sets[s].ridge);
    }
    free(v.fold), free(v.sets), free(v.errors);
    return ready && !v.no_memory ? PELT_OK : PELT_ERROR_MEMORY;
}
