/* drivers.c: which movers drive a patch of skin, from examples in which several move: sparse regression, mover by mover.

   The displacements of a patch of neighbouring points are regressed on what the movers do,

       u_e = sum_g B_g x_g(e),    x_g: principal components of R - I over the examples, of the joint and of a helper
                                  that follows it in bends; for a control, of c and c^2

   for as few movers g as predict held-out examples. The search begins with the movers whose own sweeps displace the
   patch, and those that carry it by blend weight. Then the mover that explains most of the remainder, relative to its
   price, joins if the error in cross-validation falls by that price; and so on. Far away in the skeleton the price is
   high: among many movers, some always happen to move along.

   Regressions need only sums of products of features and displacements, which are kept by fold: their cost does not
   grow with the number of examples. */

#include "fit/examples/drivers.h"
#include "fit/examples/movers.h"
#include "fit/examples/patches.h"
#include "rig/maths.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBERS = 9,             /* of R - I, and features of a mover at most */
    MOST_FEATURES = 1200,    /* of all movers together */
    LEAST_EXAMPLES = 12,     /* with something moving; fewer tell nothing */
    FOLDS = PELT_POSE_FOLDS, /* sums over all examples are stored after those of the folds */
    PATCH = 8,               /* points */
    MOST_PATCHES = 400,      /* larger meshes have larger patches, */
    MOST_SAMPLES = 12,       /* represented by this many points */
    MOST_COLUMNS = 3 * MOST_SAMPLES,
    MOST_DRIVERS = 24,
    ATTEMPTS = 3,
    NEAR = 2 /* steps along the skeleton from a joint that moves the patch */
};
static const double SLIGHT = 1e-4;                  /* of a mover's largest component */
static const double RIDGE = 3e-3;                   /* of the mean diagonal */
static const double PRICE = 0.03, PRICE_AFAR = 0.3; /* by how much the error must fall */
static const double DRIVES = 0.01; /* of the largest displacement by a mover; likewise for blend weights */

/* Sums of products over the examples of each fold, and over all. */
typedef struct search {
    const pelt_model *model;
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    pelt_supports *supports;
    const pelt_lone_poses *wanted;
    float *lone;     /* [pose][point][3] */
    size_t size;     /* features of all movers */
    uint32_t *first; /* [mover + 1] features of a mover */
    double *x;       /* [example][size] */
    uint32_t *fold;  /* [example] FOLDS: always trains */
    double *grams;   /* [FOLDS + 1][size][size] */
    uint32_t *hops;  /* [mover][joint] */
    pelt_patches patches;
} search;

/* -- Features ------------------------------------------------------------------------------------------------------ */

static void control_numbers(const pelt_poses *p, uint32_t control, uint32_t example, double x[NUMBERS]) {
    double c = p->controls[(size_t)example * p->control_count + control] * (double)p->control_list[control].scale;
    x[0] = c, x[1] = c * c;
}

static void joint_numbers(const pelt_poses *p, uint32_t joint, uint32_t example, double x[NUMBERS]) {
    const float *q = p->rotations + 4 * ((size_t)example * p->joint_count + joint);
    double a = q[0], b = q[1], c = q[2], w = q[3];
    x[0] = -2 * (b * b + c * c), x[1] = 2 * (a * b + w * c), x[2] = 2 * (a * c - w * b);
    x[3] = 2 * (a * b - w * c), x[4] = -2 * (a * a + c * c), x[5] = 2 * (b * c + w * a);
    x[6] = 2 * (a * c + w * b), x[7] = 2 * (b * c - w * a), x[8] = -2 * (a * a + b * b);
}

static double turning_of(const pelt_poses *p, uint32_t joint) {
    double sum = 0;
    for (size_t e = 0; e < p->count; e++) {
        double w = p->rotations[4 * (e * p->joint_count + joint) + 3];
        sum += 1 - w * w;
    }
    return sum;
}

/* The joints of a mover that speak for the others: the one that turns most, and of the helpers that follow in bends, in
   which its own numbers are not enough, the one that does. Returns how many. */
static uint32_t find_speakers(const pelt_poses *p, uint32_t mover, uint32_t speakers[2]) {
    const pelt_mover *m = &p->movers[mover];
    double most = -1, most_bent = -1;
    for (uint32_t k = 0; k < m->count; k++) {
        uint32_t joint = p->members[m->first + k];
        double turning = turning_of(p, joint);
        if (turning > most) most = turning, speakers[0] = joint;
    }
    for (uint32_t j = 0; j < p->joint_count; j++) {
        double turning = p->bent[j] && p->mover_of[j] == mover ? turning_of(p, j) : -1;
        if (turning > most_bent) most_bent = turning, speakers[1] = j;
    }
    return most_bent < 0 ? 1 : 2;
}

/* Adds up to `most` components of a mover to x [example][stride], returns how many. */
static uint32_t add_components(pelt_arena *work, const pelt_poses *p, uint32_t mover, uint32_t most, size_t stride,
                               double *x) {
    bool control = pelt_is_control(&p->movers[mover]);
    uint32_t speakers[2], speaker_count = control ? 1 : find_speakers(p, mover, speakers), count = 0;
    size_t n = p->count, numbers = NUMBERS * (size_t)speaker_count;
    double *raw = PELT_NEW(work, numbers * n, double), gram[4 * NUMBERS * NUMBERS] = {0};
    double values[2 * NUMBERS], axes[4 * NUMBERS * NUMBERS];
    for (uint32_t e = 0; e < n; e++)
        if (control)
            control_numbers(p, p->movers[mover].first, e, raw + numbers * e);
        else
            for (uint32_t i = 0; i < speaker_count; i++)
                joint_numbers(p, speakers[i], e, raw + numbers * e + NUMBERS * (size_t)i);
    pelt_syrk(true, numbers, n, 1, raw, 0, gram);
    if (!pelt_eigen_leading(numbers, gram, numbers, values, axes)) return 0;
    while (count < most && count < NUMBERS && values[count] > SLIGHT * values[0] && values[count] > 0) count++;
    for (size_t e = 0; e < n; e++)
        for (size_t k = 0; k < count; k++)
            for (size_t i = 0; i < numbers; i++) x[e * stride + k] += axes[k * numbers + i] * raw[e * numbers + i];
    return count;
}

static void find_features(pelt_arena *work, search *s) {
    const pelt_poses *p = s->poses;
    uint32_t each = MOST_FEATURES / p->mover_count < NUMBERS ? MOST_FEATURES / p->mover_count : NUMBERS;
    size_t stride = (size_t)each * p->mover_count;
    double *all = PELT_NEW(work, p->count * stride, double);
    s->first = PELT_NEW(work, (size_t)p->mover_count + 1, uint32_t);
    for (uint32_t g = 0; g < p->mover_count; g++)
        s->first[g + 1] = s->first[g] + add_components(work, p, g, each, stride, all + s->first[g]);
    s->size = s->first[p->mover_count];
    s->x = PELT_NEW(work, p->count * s->size, double);
    for (size_t e = 0; e < p->count; e++) memcpy(s->x + e * s->size, all + e * stride, s->size * sizeof *all);
}

/* -- Folds --------------------------------------------------------------------------------------------------------- */

/* Returns how many examples are predicted. */
static uint32_t deal_folds(pelt_arena *work, search *s) {
    uint32_t count = 0;
    int *fold = PELT_NEW(work, s->poses->count, int);
    s->fold = PELT_NEW(work, s->poses->count, uint32_t);
    pelt_deal_folds(s->poses, fold);
    for (uint32_t e = 0; e < s->poses->count; e++) {
        s->fold[e] = fold[e] < 0 ? FOLDS : (uint32_t)fold[e];
        count += fold[e] >= 0;
    }
    return count;
}

/* The sums over examples x^T y by fold, [FOLDS + 1][size][columns], for y [example][columns]. */
static void sum_products(pelt_arena *work, const search *s, size_t columns, const double *y, double *out) {
    size_t n = s->poses->count, size = s->size, area = size * columns;
    double *own_x = PELT_NEW(work, n * size, double), *own_y = PELT_NEW(work, n * columns, double);
    for (uint32_t fold = 0; fold <= FOLDS; fold++) {
        size_t count = 0;
        for (size_t e = 0; e < n; e++) {
            if (s->fold[e] != fold) continue;
            memcpy(own_x + count * size, s->x + e * size, size * sizeof *own_x);
            memcpy(own_y + count * columns, y + e * columns, columns * sizeof *own_y);
            count++;
        }
        if (count) pelt_gemm(true, false, size, columns, count, 1, own_x, own_y, 0, out + fold * area);
    }
    for (uint32_t fold = 0; fold < FOLDS; fold++)
        for (size_t i = 0; i < area; i++) out[FOLDS * area + i] += out[fold * area + i];
}

/* -- Regression on some movers ------------------------------------------------------------------------------------- */

typedef struct patch {
    const search *s;
    const uint32_t *points;
    uint32_t point_count;
    size_t columns;           /* coordinates of its samples */
    double *products;         /* [FOLDS + 1][size][columns] */
    double energy[FOLDS + 1]; /* squared displacements of the samples */
    uint32_t driver_count, drivers[MOST_DRIVERS + 1];
    size_t active_count;
    uint32_t *active; /* features of the drivers */
    double *prices;   /* [mover] */
    bool *taken;      /* [mover] is a driver, or known not to be */
} patch;

/* A = X^T X of the active features over all examples, or without a fold; with the ridge. */
static void fill_matrix(const patch *p, uint32_t without, double *matrix) {
    size_t a = p->active_count, size = p->s->size;
    const double *all = p->s->grams + FOLDS * size * size, *own = p->s->grams + without * size * size;
    double mean = 0;
    for (size_t i = 0; i < a; i++) {
        for (size_t k = 0; k < a; k++) {
            size_t at = p->active[i] * size + p->active[k];
            matrix[i * a + k] = all[at] - (without < FOLDS ? own[at] : 0);
        }
        mean += matrix[i * a + i] / (double)a;
    }
    for (size_t i = 0; i < a; i++) matrix[i * a + i] += RIDGE * mean + 1e-300;
}

/* The squared error at the samples with each fold predicted from the others. */
static double validate(pelt_arena *scratch, const patch *p) {
    size_t a = p->active_count, c = p->columns, size = p->s->size;
    double error = 0;
    pelt_arena *work = pelt_arena_inside(scratch);
    double *matrix = PELT_NEW(work, a * a, double), *b = PELT_NEW(work, a * c, double);
    double *image = PELT_NEW(work, a * c, double);
    for (uint32_t fold = 0; fold < FOLDS && a; fold++) {
        const double *gram = p->s->grams + fold * size * size, *own = p->products + fold * size * c;
        const double *all = p->products + FOLDS * size * c;
        fill_matrix(p, fold, matrix);
        for (size_t i = 0; i < a; i++)
            for (size_t k = 0; k < c; k++) b[i * c + k] = all[p->active[i] * c + k] - own[p->active[i] * c + k];
        if (!pelt_cholesky(a, matrix)) error = INFINITY;
        pelt_cholesky_solve(a, matrix, c, b);
        for (size_t i = 0; i < a; i++)
            for (size_t k = 0; k < a; k++) matrix[i * a + k] = gram[p->active[i] * size + p->active[k]];
        pelt_gemm(false, false, a, c, a, 1, matrix, b, 0, image);
        for (size_t i = 0; i < a; i++) /* |y - X b|^2 */
            for (size_t k = 0; k < c; k++) error += b[i * c + k] * (image[i * c + k] - 2 * own[p->active[i] * c + k]);
    }
    for (uint32_t fold = 0; fold < FOLDS; fold++) error += p->energy[fold];
    pelt_arena_free(work);
    return error;
}

static void add_driver(patch *p, uint32_t mover) {
    p->drivers[p->driver_count++] = mover;
    for (uint32_t i = p->s->first[mover]; i < p->s->first[mover + 1]; i++) p->active[p->active_count++] = i;
}

static void drop_last(patch *p) {
    uint32_t mover = p->drivers[--p->driver_count];
    p->active_count -= p->s->first[mover + 1] - p->s->first[mover];
}

/* What mover g would explain beyond the drivers. `cross` [active][size] and `right` [active][columns] are L^-1 times the
   products of the active features with all features, and with the displacements, where L L^T = A. */
static double gain_of(const patch *p, uint32_t g, const double *cross, const double *right) {
    size_t size = p->s->size, c = p->columns, at = p->s->first[g], d = p->s->first[g + 1] - at;
    const double *gram = p->s->grams + FOLDS * size * size, *products = p->products + FOLDS * size * c;
    double own[NUMBERS * NUMBERS], y[NUMBERS * MOST_COLUMNS], mean = 0, gain = 0;
    for (size_t i = 0; i < d; i++) {
        for (size_t k = 0; k < d; k++) own[i * d + k] = gram[(at + i) * size + at + k];
        mean += own[i * d + i] / (double)d;
        memcpy(y + i * c, products + (at + i) * c, c * sizeof *y);
    }
    for (size_t t = 0; t < p->active_count; t++) {
        const double *row = cross + t * size + at;
        for (size_t i = 0; i < d; i++) {
            for (size_t k = 0; k < d; k++) own[i * d + k] -= row[i] * row[k];
            for (size_t k = 0; k < c; k++) y[i * c + k] -= row[i] * right[t * c + k];
        }
    }
    for (size_t i = 0; i < d; i++) own[i * d + i] += RIDGE * mean + 1e-300;
    if (!d || !pelt_cholesky(d, own)) return 0;
    pelt_forward_solve(d, own, c, y);
    for (size_t i = 0; i < d * c; i++) gain += y[i] * y[i];
    return gain;
}

static void find_gains(pelt_arena *scratch, const patch *p, double *gains) {
    size_t a = p->active_count, size = p->s->size, c = p->columns;
    pelt_arena *work = pelt_arena_inside(scratch);
    double *matrix = PELT_NEW(work, a * a, double), *cross = PELT_NEW(work, a * size, double);
    double *right = PELT_NEW(work, a * c, double);
    fill_matrix(p, FOLDS, matrix);
    for (size_t i = 0; i < a; i++) {
        memcpy(cross + i * size, p->s->grams + (FOLDS * size + p->active[i]) * size, size * sizeof *cross);
        memcpy(right + i * c, p->products + (FOLDS * size + p->active[i]) * c, c * sizeof *right);
    }
    bool solved = !a || pelt_cholesky(a, matrix);
    if (a && solved) pelt_forward_solve(a, matrix, size, cross), pelt_forward_solve(a, matrix, c, right);
    for (uint32_t g = 0; g < p->s->poses->mover_count; g++)
        gains[g] = solved && !p->taken[g] ? gain_of(p, g, cross, right) : 0;
    pelt_arena_free(work);
}

/* -- The drivers of a patch ---------------------------------------------------------------------------------------- */

static bool is_near(const search *s, uint32_t mover, uint32_t vertex) {
    const pelt_influences *in = &s->model->influences;
    for (uint32_t k = in->first[vertex]; k < in->first[vertex + 1]; k++)
        if (in->weights[k] > (float)DRIVES && in->joints[k] < s->poses->joint_count &&
            s->hops[(size_t)mover * s->poses->joint_count + in->joints[k]] <= NEAR)
            return true;
    return pelt_is_control(&s->poses->movers[mover]);
}

/* Begins with the movers that are known to drive the patch or that carry it, and sets the prices of the others. */
static void begin(patch *p) {
    const search *s = p->s;
    const pelt_supports *known = s->supports;
    for (uint32_t g = 0; g < s->poses->mover_count; g++) {
        bool swept = s->poses->movers[g].swept, control = pelt_is_control(&s->poses->movers[g]);
        bool drives = false, near = false;
        for (uint32_t i = 0; i < p->point_count; i++) {
            float amplitude = known->amplitudes[(size_t)g * known->point_count + p->points[i]];
            if (swept)
                drives |= amplitude > known->noise && amplitude > (float)DRIVES * known->peaks[g];
            else
                drives |= !control && pelt_carried_around(known, s->poses, g, p->points[i]) > (float)DRIVES;
            near |= is_near(s, g, s->u->vertex_of[p->points[i]]);
        }
        if (drives && p->driver_count < MOST_DRIVERS) add_driver(p, g);
        p->taken[g] = drives || swept;
        p->prices[g] = near ? PRICE : PRICE_AFAR;
    }
}

/* The candidate that gains most for its price joins if it pays, or one of the next. */
static bool add_best(pelt_arena *scratch, patch *p, double *gains, double *left) {
    find_gains(scratch, p, gains);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t best = 0;
        for (uint32_t g = 1; g < p->s->poses->mover_count; g++)
            if (gains[g] / p->prices[g] > gains[best] / p->prices[best]) best = g;
        if (!(gains[best] > 0)) return false;
        gains[best] = 0;
        add_driver(p, best);
        double error = validate(scratch, p);
        if (error < (1 - p->prices[best]) * *left) {
            *left = error;
            p->taken[best] = true;
            return true;
        }
        drop_last(p);
    }
    return false;
}

static void look_at(pelt_arena *scratch, patch *p) {
    const search *s = p->s;
    size_t samples = p->point_count < MOST_SAMPLES ? p->point_count : MOST_SAMPLES, n = s->poses->count;
    p->columns = 3 * samples;
    double *y = PELT_NEW(scratch, n * p->columns, double);
    for (size_t e = 0; e < n; e++)
        for (size_t i = 0; i < p->columns; i++) {
            size_t point = p->points[i / 3 * p->point_count / samples];
            double x = s->u->positions[3 * (e * s->u->point_count + point) + i % 3];
            y[e * p->columns + i] = x, p->energy[s->fold[e]] += x * x;
        }
    p->products = PELT_NEW(scratch, (FOLDS + 1) * s->size * p->columns, double);
    sum_products(scratch, s, p->columns, y, p->products);
}

/* The displacement of a point, at columns 3 i, by mover g in an example; b [feature of g][columns]. */
static void effect_of(const search *s, uint32_t g, size_t example, const double *b, size_t columns, double out[3]) {
    const double *x = s->x + example * s->size;
    out[0] = out[1] = out[2] = 0;
    for (uint32_t m = s->first[g]; m < s->first[g + 1]; m++, b += columns)
        for (int d = 0; d < 3; d++) out[d] += x[m] * b[d];
}

/* What each mover that was found does, in the regression of every point on all drivers. */
static void write_effects(pelt_arena *scratch, const patch *p) {
    const search *s = p->s;
    size_t a = p->active_count, c = 3 * (size_t)p->point_count, n = s->poses->count, points = s->u->point_count;
    double *matrix = PELT_NEW(scratch, a * a, double), *b = PELT_NEW(scratch, a * c, double), effect[3];
    for (size_t e = 0; e < n; e++)
        for (size_t i = 0; i < a; i++)
            for (size_t k = 0; k < c; k++)
                b[i * c + k] +=
                    s->x[e * s->size + p->active[i]] * s->u->positions[3 * (e * points + p->points[k / 3]) + k % 3];
    fill_matrix(p, FOLDS, matrix);
    if (!a || !pelt_cholesky(a, matrix)) return;
    pelt_cholesky_solve(a, matrix, c, b);
    for (uint32_t k = 0; k < p->driver_count; b += c * (s->first[p->drivers[k] + 1] - s->first[p->drivers[k]]), k++) {
        uint32_t g = p->drivers[k];
        for (uint32_t i = 0; i < p->point_count && !s->poses->movers[g].swept; i++) {
            float *amplitude = &s->supports->amplitudes[g * points + p->points[i]];
            for (size_t e = 0; e < n; e++) {
                effect_of(s, g, e, b + 3 * (size_t)i, c, effect);
                *amplitude = fmaxf(*amplitude, (float)sqrt(pelt_dot(effect, effect)));
            }
            for (uint32_t w = 0; w < s->wanted->count; w++) {
                if (s->wanted->movers[w] != g) continue;
                effect_of(s, g, s->wanted->examples[w], b + 3 * (size_t)i, c, effect);
                for (size_t d = 0; d < 3; d++) s->lone[3 * (w * points + p->points[i]) + d] = (float)effect[d];
            }
        }
    }
}

static void find_patch(void *user, size_t at, pelt_arena *scratch) {
    const search *s = user;
    uint32_t movers = s->poses->mover_count;
    const uint32_t *start = &s->patches.starts[at];
    patch p = {.s = s, .points = s->patches.points + *start, .point_count = start[1] - *start};
    double *gains = PELT_NEW(scratch, movers, double), still = 0, noise = s->supports->noise;
    p.active = PELT_NEW(scratch, s->size, uint32_t);
    p.prices = PELT_NEW(scratch, movers, double), p.taken = PELT_NEW(scratch, movers, bool);
    look_at(scratch, &p);
    for (uint32_t fold = 0; fold <= FOLDS; fold++) still += p.energy[fold];
    if (!(still > noise * noise * (double)(s->poses->count * p.columns))) return;
    begin(&p);
    double left = validate(scratch, &p);
    while (p.driver_count < MOST_DRIVERS && add_best(scratch, &p, gains, &left)) continue;
    write_effects(scratch, &p);
}

/* -- All of it ----------------------------------------------------------------------------------------------------- */

static void find_hops(pelt_arena *work, search *s) {
    const pelt_poses *p = s->poses;
    s->hops = PELT_NEW(work, (size_t)p->mover_count * p->joint_count, uint32_t);
    for (uint32_t g = 0; g < p->mover_count; g++)
        for (uint32_t j = 0; j < p->joint_count; j++) {
            uint32_t least = UINT32_MAX;
            for (uint32_t k = 0; k < p->movers[g].count; k++) {
                uint32_t hops = pelt_joint_hops(s->model->skeleton, p->members[p->movers[g].first + k], j);
                least = hops < least ? hops : least;
            }
            s->hops[(size_t)g * p->joint_count + j] = least;
        }
}

void pelt_find_drivers(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                       const pelt_example_displacements *u, uint32_t threads, const pelt_lone_poses *wanted,
                       float *lone, pelt_supports *supports) {
    pelt_arena *work = pelt_arena_inside(arena);
    search s = {.model = model, .poses = poses, .u = u, .supports = supports, .wanted = wanted, .lone = lone};
    bool unknown = false;
    for (uint32_t g = 0; g < poses->mover_count; g++) unknown |= !poses->movers[g].swept;
    if (unknown && poses->mover_count <= MOST_FEATURES && deal_folds(work, &s) >= LEAST_EXAMPLES) {
        find_features(work, &s);
        s.grams = PELT_NEW(work, (FOLDS + 1) * s.size * s.size, double);
        sum_products(work, &s, s.size, s.x, s.grams);
        s.patches = pelt_patches_of(work, model, u, PATCH, MOST_PATCHES);
        find_hops(work, &s);
        size_t lone_count = wanted ? 3 * (size_t)wanted->count * u->point_count : 0;
        const pelt_made rows[] = {
            {supports->amplitudes, .total = (size_t)poses->mover_count * u->point_count * sizeof(float)},
            {lone, .total = lone_count * sizeof *lone}};
        pelt_spread(work, threads, s.patches.count, find_patch, &s, lone_count ? 2 : 1, rows);
    }
    pelt_arena_free(work);
}
