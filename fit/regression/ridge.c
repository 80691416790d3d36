/* ridge.c: kernel ridge regression of displacements on the rotations that drive them, and its settings by
   cross-validation.

       K = sum_g k_g + gamma sum_(g,h) k_g k_h,    B = (K + lambda I)^-1 u

   Points with the same joints share one factorisation. With M = (K + lambda I)^-1, predicting a fold f of examples from
   a fit to all others has the error (M_ff)^-1 (M u)_f, so one inverse serves all folds. A subset of the examples that
   move several joints is enough to choose settings, and so are the point sets that move most; so the time does not grow
   with the cube of the number of examples. */

#include "fit/regression/regression.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

enum { SAMPLES = 400, VALIDATED = 100 };
static const double MOST_ENERGY = 0.98;  /* of the sampled points: sets beyond this fraction are skipped */
static const double LEAST_SHARE = 0.005; /* units that drive a smaller fraction of a cluster are not worth their time */

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

pelt_ridge pelt_ridge_of(pelt_arena *arena, const pelt_kernel_inputs *d, uint32_t example_count, size_t point_count,
                         const uint32_t *points, const double *weights) {
    pelt_ridge out = {.units = PELT_NEW(arena, 3 * (size_t)d->count, pelt_kernel_unit),
                      .examples = PELT_NEW(arena, example_count, uint32_t)};
    for (uint32_t g = 0; g < d->count; g++) {
        double share = share_of(d, point_count, points, weights, g, g);
        if (!(share > LEAST_SHARE)) continue;
        out.units[out.unit_count++] = (pelt_kernel_unit){g, g, (float)share};
        int32_t above = d->parents[g];
        for (int up = 0; up < 2 && above >= 0; up++, above = d->parents[above]) {
            share = share_of(d, point_count, points, weights, g, (uint32_t)above);
            if (share > LEAST_SHARE) out.units[out.unit_count++] = (pelt_kernel_unit){g, (uint32_t)above, (float)share};
        }
    }
    for (uint32_t e = 0; e < example_count; e++) {
        bool matters = false;
        for (uint32_t u = 0; u < out.unit_count; u++)
            matters |= d->moved[(size_t)e * d->count + out.units[u].first] != 0;
        if (matters) out.examples[out.example_count++] = e;
    }
    return out;
}

/* The kernels between an example and all examples up to it. */
static void add_row(const pelt_ridge *r, const float *tables, size_t table_size, double pair, size_t example,
                    double *row) {
    size_t size = table_size * table_size;
    for (uint32_t u = 0; u < r->unit_count; u++) {
        const pelt_kernel_unit *unit = &r->units[u];
        bool single = unit->first == unit->second;
        double gain = single ? unit->gain : unit->gain * pair;
        const float *first = tables + unit->first * size + example * table_size;
        const float *second = tables + unit->second * size + example * table_size;
        if (gain == 0 || first[example] == 0 || second[example] == 0) continue; /* does not move them */
        for (size_t b = 0; b <= example && single; b++) row[b] += gain * first[b];
        for (size_t b = 0; b <= example && !single; b++) row[b] += gain * first[b] * (double)second[b];
    }
}

double *pelt_ridge_matrix(pelt_arena *arena, const pelt_ridge *r, const float *tables, size_t table_size, double pair) {
    size_t n = r->example_count;
    double *matrix = PELT_NEW(arena, n * n, double), *row = PELT_NEW(arena, table_size, double);
    for (size_t a = 0; a < n; a++) {
        memset(row, 0, table_size * sizeof *row);
        add_row(r, tables, table_size, pair, r->examples[a], row);
        for (size_t b = 0; b <= a; b++) matrix[a * n + b] = matrix[b * n + a] = row[r->examples[b]];
    }
    return matrix;
}

/* -- The solution -------------------------------------------------------------------------------------------------- */

/* Pivoted Cholesky: left[i] is the part of K_ii that the chosen centres do not explain. Returns the number of
   centres. */
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
        memcpy(row, matrix + far * n, n * sizeof *row);
        for (size_t k = 0; k < count; k++) {
            const double *before = factor + k * n, part = before[far];
            for (size_t i = 0; i < n; i++) row[i] -= part * before[i];
        }
        for (size_t i = 0; i < n; i++) row[i] *= scale, left[i] -= row[i] * row[i];
        left[far] = 0;
        chosen[count++] = (uint32_t)far;
    }
    return count;
}

/* min |a - K_nm c|^2 + lambda c^T K_mm c. */
bool pelt_ridge_solve(pelt_arena *work, pelt_ridge *r, const double *matrix, double lambda, double tolerance,
                      size_t set_count, const pelt_ridge_values *sets) {
    size_t n = r->example_count;
    double *factor = PELT_NEW(work, n * n, double), *left = PELT_NEW(work, n, double);
    uint32_t *chosen = PELT_NEW(work, n, uint32_t);
    size_t m = choose_centers(n, matrix, tolerance, factor, left, chosen);
    double *across = PELT_NEW(work, n * m, double), *normal = PELT_NEW(work, m * m, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) across[i * m + k] = matrix[i * n + chosen[k]];
    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++) normal[k * m + l] = matrix[chosen[k] * n + chosen[l]];
    const double safety = 1e-10; /* against pivots that rounding makes negative */
    for (size_t k = 0; k < m; k++) normal[k * m + k] *= 1 + safety;
    for (size_t k = 0; k < m; k++) chosen[k] = r->examples[chosen[k]];
    memcpy(r->examples, chosen, m * sizeof *chosen);
    r->example_count = (uint32_t)m;
    if (!m) return true;
    pelt_syrk(true, m, n, 1, across, lambda, normal);
    if (!pelt_cholesky(m, normal)) return false;
    for (size_t s = 0; s < set_count; s++) {
        size_t own = sets[s].columns;
        if (!own) continue;
        double *right = PELT_NEW(work, m * own, double);
        pelt_gemm(true, false, m, own, n, 1, across, sets[s].values, 0, right);
        pelt_cholesky_solve(m, normal, own, right);
        memcpy(sets[s].values, right, m * own * sizeof *right);
    }
    return true;
}

/* -- Cross-validation ---------------------------------------------------------------------------------------------- */

/* Sampled points driven by the same joints. */
typedef struct validation_set {
    uint32_t *points;
    size_t count;
    pelt_ridge ridge;
    double *targets; /* [ridge.example_count][3 count] */
    double still;    /* energy of fold examples that move none of its joints, so that nothing predicts it */
} validation_set;

typedef struct validation {
    pelt_arena *arena;
    const pelt_example_displacements *u;
    pelt_poses poses; /* restricted to the examples that take part */
    pelt_kernel_inputs inputs;
    uint32_t *examples; /* [poses.count] their indices */
    double *weights;    /* [poses.count] of squared errors */
    int *fold;          /* [poses.count] 0 to PELT_POSE_FOLDS - 1; -1: always trains */
    uint32_t threads;
    float *tables;
    validation_set *sets;
    size_t set_count;
    const pelt_kernel_settings *trial;
    double *errors; /* [set] */
    double *missed; /* [set] squared training error: lambda M u */
} validation;

static void weigh_examples(validation *v, const pelt_poses *poses, const int *fold) {
    size_t size = 3 * (size_t)v->u->point_count;
    double *energies = PELT_NEW(v->arena, poses->count, double), *weights = PELT_NEW(v->arena, poses->count, double);
    for (size_t i = 0; i < size * poses->count; i++)
        energies[i / size] += (double)v->u->positions[i] * v->u->positions[i];
    pelt_balance_folds(poses, fold, energies, weights);
    v->weights = PELT_NEW(v->arena, v->poses.count, double);
    for (uint32_t a = 0; a < v->poses.count; a++) v->weights[a] = weights[v->examples[a]];
}

/* If the folds have many examples, takes an evenly spread subset. */
static void choose_examples(validation *v, const pelt_poses *poses) {
    uint32_t in_folds = 0, i = 0, next = 0;
    v->examples = PELT_NEW(v->arena, poses->count, uint32_t);
    v->fold = PELT_NEW(v->arena, poses->count, int);
    int *fold = PELT_NEW(v->arena, poses->count, int);
    pelt_deal_folds(poses, fold);
    for (uint32_t e = 0; e < poses->count; e++) in_folds += fold[e] >= 0;
    for (uint32_t e = 0; e < poses->count; e++) {
        uint64_t place = (uint64_t)i * VALIDATED;
        bool many = in_folds > VALIDATED && fold[e] >= 0;
        if (fold[e] >= 0) i++;
        if (many && place / in_folds == (place + VALIDATED) / in_folds) continue;
        v->fold[v->poses.count] = many && !poses->motion[e] ? (int)(next++ % PELT_POSE_FOLDS) : fold[e];
        v->examples[v->poses.count++] = e;
    }
    weigh_examples(v, poses, fold);
}

/* Poses and inputs of the examples that take part, as far as the kernels need them. */
static void take_part(validation *v, const pelt_poses *poses, const pelt_kernel_inputs *inputs) {
    size_t count = v->poses.count, turns = 4 * (size_t)poses->joint_count;
    v->poses = *poses, v->poses.count = (uint32_t)count;
    v->poses.rotations = PELT_NEW(v->arena, count * turns, float);
    v->poses.controls = PELT_NEW(v->arena, count * poses->control_count, float);
    v->inputs = *inputs;
    v->inputs.moved = PELT_NEW(v->arena, count * inputs->count, uint8_t);
    for (size_t a = 0; a < count; a++) {
        size_t e = v->examples[a];
        memcpy(v->poses.rotations + a * turns, poses->rotations + e * turns, turns * sizeof(float));
        for (uint32_t c = 0; c < poses->control_count; c++)
            v->poses.controls[a * poses->control_count + c] = poses->controls[e * poses->control_count + c];
        memcpy(v->inputs.moved + a * inputs->count, inputs->moved + e * inputs->count, inputs->count);
    }
}

static const float *displacement(const validation *v, size_t a, size_t point) {
    return pelt_displacement(v->u, v->examples[a], point);
}

/* Samples every n-th point and groups those with the same joints. */
static void make_sets(validation *v) {
    const pelt_kernel_inputs *d = &v->inputs;
    uint32_t step = v->u->point_count / SAMPLES + 1, count = 0, points[SAMPLES] = {0}, group_of[SAMPLES];
    for (uint32_t i = 0; i < v->u->point_count; i += step) points[count++] = i;
    v->set_count = pelt_group_points(v->arena, d, count, points, group_of);
    for (uint32_t i = 0; i < count; i++) {
        validation_set *set = &v->sets[group_of[i]];
        if (!set->points) set->points = PELT_NEW(v->arena, SAMPLES, uint32_t);
        set->points[set->count++] = points[i];
    }
    for (size_t s = 0; s < v->set_count; s++) {
        validation_set *set = &v->sets[s];
        set->ridge = pelt_ridge_of(v->arena, d, v->poses.count, 1, set->points, &(double){1});
        size_t n = set->ridge.example_count;
        set->targets = PELT_NEW(v->arena, 3 * n * set->count, double);
        for (size_t a = 0; a < n; a++)
            for (size_t i = 0; i < set->count; i++)
                for (size_t c = 0; c < 3; c++)
                    set->targets[(a * set->count + i) * 3 + c] =
                        displacement(v, set->ridge.examples[a], set->points[i])[c];
    }
}

static double example_energy(const validation *v, const validation_set *set, uint32_t example) {
    double sum = 0;
    for (size_t i = 0; i < set->count; i++)
        for (size_t c = 0; c < 3; c++) sum += pow(displacement(v, example, set->points[i])[c], 2);
    return v->weights[example] * sum;
}

/* The energy in the folds' examples. */
static double set_energy(const validation *v, const validation_set *set) {
    double sum = 0;
    for (uint32_t e = 0; e < v->poses.count; e++)
        if (v->fold[e] >= 0) sum += example_energy(v, set, e);
    return sum;
}

static double still_energy(const validation *v, const validation_set *set) {
    double sum = set_energy(v, set);
    for (size_t a = 0; a < set->ridge.example_count; a++)
        if (v->fold[set->ridge.examples[a]] >= 0) sum -= example_energy(v, set, set->ridge.examples[a]);
    return fmax(sum, 0);
}

/* Keeps the sets that hold most of the energy. */
static void drop_still_sets(validation *v) {
    double all = 0, kept = 0, *energies = PELT_NEW(v->arena, v->set_count, double);
    size_t count = 0;
    for (size_t s = 0; s < v->set_count; s++) {
        all += energies[s] = set_energy(v, &v->sets[s]);
        v->sets[s].still = still_energy(v, &v->sets[s]);
    }
    for (; count < v->set_count && kept < MOST_ENERGY * all; count++) { /* the largest of the remaining ones */
        size_t most = count;
        for (size_t s = count + 1; s < v->set_count; s++)
            if (energies[s] > energies[most]) most = s;
        validation_set set = v->sets[most];
        kept += energies[most];
        energies[most] = energies[count], v->sets[most] = v->sets[count], v->sets[count] = set;
    }
    v->set_count = count;
}

double pelt_ridge_fold_error(pelt_arena *work, size_t n, const double *inverse, size_t columns, const double *product,
                             size_t m, const uint32_t *fold, const double *weights) {
    double *block = PELT_NEW(work, m * m, double), *right = PELT_NEW(work, m * columns, double), error = 0;
    for (size_t a = 0; a < m; a++) {
        for (size_t b = 0; b < m; b++) block[a * m + b] = inverse[fold[a] * n + fold[b]];
        memcpy(right + a * columns, product + fold[a] * columns, columns * sizeof *right);
    }
    if (!m) return 0;
    if (!pelt_cholesky(m, block)) return INFINITY;
    pelt_cholesky_solve(m, block, columns, right);
    for (size_t i = 0; i < m * columns; i++) error += (weights ? weights[i / columns] : 1) * right[i] * right[i];
    return error;
}

static void validate_set(void *user, size_t s, pelt_arena *scratch) {
    validation *v = user;
    const validation_set *set = &v->sets[s];
    size_t n = set->ridge.example_count, columns = 3 * set->count;
    v->errors[s] = set->still;
    if (!n) return;
    double *matrix = pelt_ridge_matrix(scratch, &set->ridge, v->tables, v->poses.count, v->trial->pair);
    double *inverse = PELT_NEW(scratch, n * n, double), *product = PELT_NEW(scratch, n * columns, double);
    uint32_t *rows = PELT_NEW(scratch, n, uint32_t);
    double *weights = PELT_NEW(scratch, n, double);
    for (size_t a = 0; a < n; a++) matrix[a * n + a] += v->trial->lambda, inverse[a * n + a] = 1;
    v->errors[s] = INFINITY;
    if (!pelt_cholesky(n, matrix)) return;
    pelt_cholesky_solve(n, matrix, n, inverse);
    pelt_gemm(false, false, n, columns, n, 1, inverse, set->targets, 0, product);
    v->errors[s] = set->still, v->missed[s] = 0;
    for (size_t i = 0; i < n * columns; i++) v->missed[s] += pow(v->trial->lambda * product[i], 2);
    for (int fold = 0; fold < PELT_POSE_FOLDS; fold++) {
        size_t m = 0;
        for (uint32_t a = 0; a < n; a++)
            if (v->fold[set->ridge.examples[a]] == fold) weights[m] = v->weights[set->ridge.examples[a]], rows[m++] = a;
        v->errors[s] += pelt_ridge_fold_error(scratch, n, inverse, columns, product, m, rows, weights);
    }
}

static void fill_tables(validation *v, const pelt_kernel_settings *settings) {
    pelt_kernel_tables(v->arena, &v->poses, &v->inputs, settings, v->threads, v->tables);
}

static double score(validation *v, const pelt_kernel_settings *trial, bool new_tables) {
    if (new_tables) fill_tables(v, trial);
    v->trial = trial;
    PELT_SPREAD(v->arena, v->threads, v->set_count, validate_set, v, {v->errors, sizeof *v->errors},
                {v->missed, sizeof *v->missed});
    double sum = 0;
    for (size_t s = 0; s < v->set_count; s++) sum += v->errors[s];
    return sum;
}

/* The error without any prediction. */
static double nothing(const validation *v) {
    double sum = 0;
    for (size_t s = 0; s < v->set_count; s++) sum += set_energy(v, &v->sets[s]);
    return sum;
}

/* Moves one setting up or down its ladder while that helps, by at most STEPS steps. */
static void walk(validation *v, pelt_kernel_settings *best, double *error, double *setting, double factor,
                 bool new_tables) {
    enum { STEPS = 4 };
    const double pays = 1e-4, pays_around = 5e-3; /* relative gains; neighbourhoods cost more to try */
    double start = *setting, enough = v->inputs.near_first ? pays_around : pays;
    for (int direction = 1; direction >= -1; direction -= 2) {
        for (int step = 0; step < STEPS; step++) {
            double before = *setting;
            *setting = before * pow(factor, direction);
            double tried = score(v, best, new_tables);
            if (!(tried < *error * (1 - enough))) {
                *setting = before;
                break;
            }
            *error = tried;
        }
        if (*setting != start) break;
    }
    if (new_tables) fill_tables(v, best);
}

/* For neighbourhood kernels; the tables already include the joint alone. */
static double search_near(validation *v, pelt_kernel_settings *best, double error, double none) {
    if (best->goal > 0 && error > best->goal * best->goal * none) return INFINITY;
    walk(v, best, &error, &best->lambda, 2, false);
    walk(v, best, &error, &best->pair, 2, true);
    if (best->form != PELT_NEAR_ARC) walk(v, best, &error, &best->width, sqrt(2), true);
    walk(v, best, &error, &best->lambda, 2, false);
    return none > 0 ? sqrt(error / none) : 0;
}

static double search(validation *v, pelt_kernel_settings *best) {
    double error = score(v, best, true), none = nothing(v);
    if (v->inputs.near_first) return search_near(v, best, error, none);
    pelt_kernel_settings ranged = *best;
    ranged.range = 1;
    double tried = score(v, &ranged, true);
    if (tried < error)
        *best = ranged, error = tried;
    else
        fill_tables(v, best);
    walk(v, best, &error, &best->lambda, 2, false);
    walk(v, best, &error, &best->pair, 2, false);
    walk(v, best, &error, &best->width, sqrt(2), true);
    walk(v, best, &error, &best->lambda, 2, false);
    return none > 0 ? sqrt(error / none) : 0;
}

/* The squared training error of a set; adds its energy to *all. Examples that move none of its joints count in full. */
static double missed_by(const validation *v, size_t k, double *all) {
    const validation_set *set = &v->sets[k];
    double known = 0, sum = 0;
    for (size_t i = 0; i < 3 * set->count * set->ridge.example_count; i++) known += set->targets[i] * set->targets[i];
    for (size_t a = 0; a < v->poses.count; a++)
        for (size_t i = 0; i < set->count; i++)
            for (size_t c = 0; c < 3; c++) sum += pow(displacement(v, a, set->points[i])[c], 2);
    *all += sum;
    return v->missed[k] + fmax(sum - known, 0);
}

double pelt_kernel_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                            const pelt_kernel_inputs *inputs, uint32_t threads, pelt_kernel_settings *settings) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    validation v = {.arena = work,
                    .u = u,
                    .threads = threads,
                    .sets = PELT_NEW(work, SAMPLES, validation_set),
                    .errors = PELT_NEW(work, SAMPLES, double),
                    .missed = PELT_NEW(work, SAMPLES, double)};
    choose_examples(&v, poses);
    take_part(&v, poses, inputs);
    v.tables = PELT_NEW(work, (size_t)v.poses.count * v.poses.count * inputs->count, float);
    make_sets(&v);
    drop_still_sets(&v);
    double left = search(&v, settings), missed = 0, all = 0;
    score(&v, settings, false);
    for (size_t k = 0; k < v.set_count; k++) missed += missed_by(&v, k, &all);
    settings->missed = all > 0 ? sqrt(missed / all) : 0;
    return left;
}
