/* eigenskin_pairs.c: displacements of neighbouring joints that move together, for EigenSkin with general sets of poses.

   What the joints' own eigendisplacements leave in the examples that move several joints is searched pair by pair (a
   joint and the one above, a control and the joint that works on most of its points; or a single one that no example
   moves alone): the leading eigendisplacements of the residual where both joints have their supports, with coordinates
   by ridge regression on exp(-r / r0) over the rotations of both,

       lambda = (phi + rho I)^-1 a,    left out, example i is missed by (M a)_i / M_ii,  M = (phi + rho I)^-1.

   The pair's own examples and the rest pose take part with coordinates 0. A displacement is kept only if leaving out
   shows that it pays; then it is taken from the residual and the next pair is tried. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

enum { MOST_KEPT = 3, LEAST_POSES = 10 };
static const double PAYS = 0.8;     /* of a displacement's squared coordinates may be left */
static const double CARRIES = 0.05; /* blend weight that makes a support where amplitudes are not known */

typedef struct search {
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    const pelt_supports *supports;
    double width;
    size_t pose_count;
    uint32_t *examples; /* [pose] that move several joints */
    float *residual;    /* [pose][point][3] */
} search;

/* A pair that is tried. */
typedef struct candidate {
    uint32_t movers[2], mover_count;
    uint32_t *points, point_count;
    uint32_t *centers; /* rest, examples of the movers alone, then examples of several joints from first_pose on */
    size_t center_count, first_pose;
} candidate;

static bool supports(const search *w, uint32_t mover, uint32_t point) {
    size_t at = (size_t)mover * w->supports->point_count + point;
    if (w->poses->movers[mover].swept || pelt_is_control(&w->poses->movers[mover]))
        return w->supports->peaks[mover] > w->supports->noise &&
               w->supports->amplitudes[at] > (float)PELT_SUPPORT_THRESHOLD * w->supports->peaks[mover];
    float own = w->supports->carried[at];
    return own > 0 && pelt_carried_around(w->supports, w->poses, mover, point) > (float)CARRIES;
}

static void set_up(const search *w, candidate *p) {
    p->point_count = 0, p->center_count = 0;
    for (uint32_t i = 0; i < w->u->point_count; i++) {
        bool inside = true;
        for (uint32_t d = 0; d < p->mover_count; d++) inside &= supports(w, p->movers[d], i);
        if (inside) p->points[p->point_count++] = i;
    }
    p->centers[p->center_count++] = PELT_REST_EXAMPLE;
    for (uint32_t e = 0; e < w->poses->count; e++)
        for (uint32_t d = 0; d < p->mover_count; d++)
            if (w->poses->sweep_of[e] == p->movers[d]) p->centers[p->center_count++] = e;
    p->first_pose = p->center_count;
    for (size_t m = 0; m < w->pose_count; m++) p->centers[p->center_count++] = w->examples[m];
}

static void add_ridge(size_t n, const double *phi, double rho, double *out) {
    memcpy(out, phi, n * n * sizeof *out);
    for (size_t i = 1; i < n; i++) out[i * n + i] += rho;
}

/* M = (phi + rho I)^-1, without rho at rest: there the displacement is 0. Exponentials of angles are nearly always
   positive definite, and then it takes a small part of the time. */
static bool invert(size_t n, const double *phi, double rho, double *ridged, double *inverse) {
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) inverse[i * n + i] = 1;
    add_ridge(n, phi, rho, ridged);
    if (pelt_cholesky(n, ridged)) {
        pelt_cholesky_solve(n, ridged, n, inverse);
        return true;
    }
    add_ridge(n, phi, rho, ridged);
    return pelt_least_squares(n, n, ridged, n, inverse, 1e-12, NULL, NULL);
}

/* Part of the squared coordinates a[pose] that is missed when poses are left out. */
static double missed(const candidate *p, const double *inverse, const double *a, size_t stride) {
    size_t n = p->center_count;
    double sum = 0, all = 0;
    for (size_t i = p->first_pose; i < n; i++) {
        double miss = 0, value = a[(i - p->first_pose) * stride];
        for (size_t q = p->first_pose; q < n; q++) miss += inverse[i * n + q] * a[(q - p->first_pose) * stride];
        sum += miss / inverse[i * n + i] * (miss / inverse[i * n + i]);
        all += value * value;
    }
    return all > 0 ? sum / all : 1;
}

/* Eigenvectors of the residual's Gram matrix over the support, scaled to coordinates: gram[pose][column], largest
   last. */
static bool decompose(pelt_arena *work, const search *w, const candidate *p, double *gram, double *values) {
    size_t n = w->pose_count, size = 3 * (size_t)p->point_count;
    double *rows = PELT_NEW(work, n * size, double);
    for (size_t m = 0; m < n; m++)
        for (uint32_t i = 0; i < p->point_count; i++)
            for (size_t c = 0; c < 3; c++)
                rows[m * size + 3 * i + c] = w->residual[3 * (m * w->u->point_count + p->points[i]) + c];
    pelt_gemm(false, true, n, n, size, 1, rows, rows, 0, gram);
    if (!pelt_eigen(n, gram, values)) return false;
    for (size_t k = 0; k < n; k++)
        for (size_t m = 0; m < n; m++) gram[m * n + k] *= sqrt(fmax(values[k], 0));
    return true;
}

/* -- What is kept -------------------------------------------------------------------------------------------------- */

/* Shapes R^T v_k / s_k of the kept columns become entries; what the pair predicts leaves the residual. */
static void take(const search *w, const candidate *p, size_t kept, const double *coordinates, const double *values,
                 const double *predicted, pelt_entry *entries) {
    size_t n = w->pose_count;
    for (size_t k = 0; k < kept; k++)
        for (uint32_t i = 0; i < p->point_count; i++) {
            double sum[3] = {0};
            for (size_t m = 0; m < n; m++)
                for (size_t c = 0; c < 3; c++)
                    sum[c] +=
                        coordinates[m * n + n - 1 - k] * w->residual[3 * (m * w->u->point_count + p->points[i]) + c];
            pelt_entry *entry = &entries[k * p->point_count + i];
            *entry = (pelt_entry){.point = p->points[i], .coefficient = (uint32_t)k};
            for (int c = 0; c < 3; c++) entry->position[c] = (float)(sum[c] / values[n - 1 - k]);
        }
    for (size_t k = 0; k < kept; k++)
        for (uint32_t i = 0; i < p->point_count; i++)
            for (size_t m = 0; m < n; m++)
                for (size_t c = 0; c < 3; c++)
                    w->residual[3 * (m * w->u->point_count + p->points[i]) + c] -=
                        (float)predicted[(p->first_pose + m) * kept + k] * entries[k * p->point_count + i].position[c];
}

/* The strength rho that predicts the leading displacement best, its M, and how many of the first ones pay with it. */
static size_t choose(pelt_arena *work, const search *w, const candidate *p, const double *phi,
                     const double *coordinates, double *best_inverse) {
    static const double strengths[] = {0.01, 0.03, 0.1, 0.3, 1};
    size_t n = p->center_count, poses = w->pose_count, kept = 0;
    double best = PAYS, *ridged = PELT_NEW(work, n * n, double), *inverse = PELT_NEW(work, n * n, double);
    for (size_t s = 0; s < sizeof strengths / sizeof *strengths; s++) {
        if (!invert(n, phi, strengths[s], ridged, inverse)) return 0;
        double left = missed(p, inverse, coordinates + poses - 1, poses);
        if (!(left < best)) continue;
        best = left;
        memcpy(best_inverse, inverse, n * n * sizeof *inverse);
        for (kept = 1; kept < MOST_KEPT && kept < poses; kept++)
            if (!(missed(p, inverse, coordinates + poses - 1 - kept, poses) < PAYS)) break;
    }
    return kept;
}

/* What is kept of a candidate, with lambda = M a, becomes a pair. */
static void keep(pelt_arena *arena, pelt_arena *work, const search *w, const candidate *p, size_t kept,
                 const double *phi, const double *inverse, const double *coordinates, const double *values,
                 pelt_eigen_pair *out) {
    size_t n = p->center_count, poses = w->pose_count;
    double *lambda = PELT_NEW(work, n * kept, double), *predicted = PELT_NEW(work, n * kept, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < kept; k++)
            for (size_t q = p->first_pose; q < n; q++)
                lambda[i * kept + k] += inverse[i * n + q] * coordinates[(q - p->first_pose) * poses + poses - 1 - k];
    pelt_gemm(false, false, n, kept, n, 1, phi, lambda, 0, predicted);
    *out = (pelt_eigen_pair){
        .movers = {p->movers[0], p->movers[p->mover_count - 1]},
        .rbf = pelt_eigen_rbf(arena, w->poses, p->mover_count, p->movers, n, p->centers, w->width, kept, lambda),
        .entry_count = kept * p->point_count,
        .entries = PELT_NEW(arena, kept * p->point_count, pelt_entry)};
    take(w, p, kept, coordinates, values, predicted, out->entries);
}

static void try_pair(pelt_arena *arena, const search *w, candidate *p, pelt_eigen_pairs *out) {
    set_up(w, p);
    size_t n = p->center_count, poses = w->pose_count, kept = 0;
    if (!p->point_count) return;
    pelt_arena *work = pelt_arena_inside(arena);
    double *phi = PELT_NEW(work, n * n, double), *inverse = PELT_NEW(work, n * n, double);
    double *coordinates = PELT_NEW(work, poses * poses, double), *values = PELT_NEW(work, poses, double);
    if (decompose(work, w, p, coordinates, values)) {
        pelt_eigen_functions(w->poses, p->mover_count, p->movers, n, p->centers, n, p->centers, w->width, phi);
        kept = choose(work, w, p, phi, coordinates, inverse);
    }
    if (kept) keep(arena, work, w, p, kept, phi, inverse, coordinates, values, &out->pairs[out->pair_count++]);
    pelt_arena_free(work);
}

/* -- All pairs ----------------------------------------------------------------------------------------------------- */

/* What the corrective so far leaves of the displacements. */
static void make_residual(pelt_arena *work, search *w, const pelt_corrective *corrective) {
    uint32_t joints = w->poses->joint_count, n = w->u->point_count;
    double *a = PELT_NEW(work, pelt_corrective_coefficient_count(corrective), double);
    w->residual = PELT_NEW(work, 3 * w->pose_count * n, float);
    for (size_t m = 0; m < w->pose_count; m++) {
        size_t at = w->examples[m];
        pelt_pose_state pose = {w->poses->rotations + 4 * at * joints, w->poses->translations + 3 * at * joints,
                                w->poses->controls + at * w->poses->control_count};
        pelt_corrective_coefficients(corrective, &pose, a);
        const pelt_displacements *d = corrective->displacements;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t v = w->u->vertex_of[i];
            for (size_t c = 0; c < 3; c++) {
                double sum = w->u->positions[3 * (at * n + i) + c];
                for (uint32_t e = d->first[v]; e < d->first[v + 1]; e++)
                    sum -= a[d->coefficients[e]] * d->vectors[3 * (size_t)e + c];
                w->residual[3 * (m * n + i) + c] = (float)sum;
            }
        }
    }
}

static void try_all(pelt_arena *arena, const search *w, candidate *p, pelt_eigen_pairs *out) {
    for (int round = 0; round < 2; round++) /* joints that have nothing yet come first */
        for (uint32_t d = 0; d < w->poses->mover_count; d++) {
            uint32_t parent = w->poses->movers[d].parent;
            if (pelt_is_control(&w->poses->movers[d])) parent = pelt_control_partner(w->supports, w->poses, d);
            bool alone = round == 0 && !w->poses->movers[d].swept, two = round == 1 && parent != PELT_NO_MOVER;
            if (!alone && !two) continue;
            p->movers[0] = d, p->movers[1] = parent, p->mover_count = alone ? 1 : 2;
            try_pair(arena, w, p, out);
        }
}

pelt_eigen_pairs pelt_eigen_pairs_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, double width, const pelt_corrective *corrective) {
    pelt_arena *work = pelt_arena_inside(arena);
    search w = {.poses = poses, .u = u, .supports = supports, .width = width};
    pelt_eigen_pairs out = {.pairs = PELT_NEW(arena, 2 * (size_t)poses->mover_count, pelt_eigen_pair)};
    w.pose_count = pelt_examples_of_several(work, poses, &w.examples);
    if (w.pose_count >= LEAST_POSES) {
        candidate p = {.points = PELT_NEW(work, u->point_count, uint32_t),
                       .centers = PELT_NEW(work, (size_t)poses->count + 1, uint32_t)};
        make_residual(work, &w, corrective);
        try_all(arena, &w, &p, &out);
    }
    pelt_arena_free(work);
    return out;
}
