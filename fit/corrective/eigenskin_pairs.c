/* pairs.c: displacements of neighbouring joints that move together, for EigenSkin with general sets of poses.

   What the joints' own eigendisplacements leave in the examples that move several joints is searched pair by pair (a
   joint and the one above, a control and the joint that works on most of its points; or a single one that no example
   moves alone): the leading eigendisplacements of the
   residual where both joints have their supports, with coordinates by ridge regression on exp(-r / r0) over the
   rotations of both,

       lambda = (phi + rho I)^-1 a,    left out, example i is missed by (M a)_i / M_ii,  M = (phi + rho I)^-1.

   The pair's own examples and the rest pose take part with coordinates 0. A displacement is kept only if leaving out
   shows that it pays; then it is taken from the residual and the next pair is tried. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 3, LEAST_POSES = 10 };
static const double PAYS = 0.8;     /* of a displacement's squared coordinates may be left */
static const double CARRIES = 0.05; /* blend weight that makes a support where amplitudes are not known */

typedef struct pairing {
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    const pelt_supports *supports;
    double width;
    size_t pose_count;
    uint32_t *examples; /* [pose] that move several joints */
    float *residual;    /* [pose][point][3] */
} pairing;

/* One candidate. */
typedef struct pair {
    uint32_t movers[2], mover_count;
    uint32_t *points, point_count;
    uint32_t *centers; /* rest, examples of the movers alone, then examples of several joints from first_pose on */
    size_t center_count, first_pose;
} pair;

static bool supports(const pairing *w, uint32_t mover, uint32_t point) {
    size_t at = (size_t)mover * w->supports->point_count + point;
    if (w->poses->movers[mover].swept || pelt_is_control(&w->poses->movers[mover]))
        return w->supports->peaks[mover] > w->supports->noise &&
               w->supports->amplitudes[at] > (float)PELT_SUPPORT_THRESHOLD * w->supports->peaks[mover];
    float own = w->supports->carried[at];
    return own > 0 && pelt_carried_around(w->supports, w->poses, mover, point) > (float)CARRIES;
}

static void set_up(const pairing *w, pair *p) {
    p->point_count = 0, p->center_count = 0;
    for (uint32_t i = 0; i < w->u->point_count; i++) {
        bool inside = true;
        for (uint32_t d = 0; d < p->mover_count; d++) inside &= supports(w, p->movers[d], i);
        if (inside) p->points[p->point_count++] = i;
    }
    p->centers[p->center_count++] = PELT_REST_CENTER;
    for (uint32_t e = 0; e < w->poses->count; e++)
        for (uint32_t d = 0; d < p->mover_count; d++)
            if (w->poses->sweep_of[e] == p->movers[d]) p->centers[p->center_count++] = e;
    p->first_pose = p->center_count;
    for (size_t m = 0; m < w->pose_count; m++) p->centers[p->center_count++] = w->examples[m];
}

/* Distances of a pair are the root of the sum of squares: phi of the two multiply only in the exponent's square. */
static void functions(const pairing *w, const pair *p, double *phi) {
    size_t n = p->center_count;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            double sum = 0;
            for (uint32_t d = 0; d < p->mover_count; d++) {
                double r = pelt_eigen_distance(w->poses, p->movers[d], p->centers[a], p->centers[b]);
                sum += r * r;
            }
            phi[a * n + b] = exp(-sqrt(sum) / w->width);
        }
}

static void add_ridge(size_t n, const double *phi, double rho, double *out) {
    memcpy(out, phi, n * n * sizeof *out);
    for (size_t i = 1; i < n; i++) out[i * n + i] += rho;
}

/* M = (phi + rho I)^-1, without rho at rest: there the displacement is 0. Exponentials of angles are nearly always
   positive definite, and then it takes a small part of the time. */
static bool invert(size_t n, const double *phi, double rho, double *scratch, double *inverse) {
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) inverse[i * n + i] = 1;
    add_ridge(n, phi, rho, scratch);
    if (pelt_cholesky(n, scratch)) {
        pelt_cholesky_solve(n, scratch, n, inverse);
        return true;
    }
    add_ridge(n, phi, rho, scratch);
    return pelt_least_squares(n, n, scratch, n, inverse, 1e-12, NULL, NULL);
}

/* Part of the squared coordinates a[pose] that is missed when poses are left out. */
static double missed(const pair *p, const double *inverse, const double *a, size_t stride) {
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

/* Eigenvectors of the residual's Gram matrix over the support, scaled to coordinates: gram[pose][column], largest last.
 */
static bool decompose(const pairing *w, const pair *p, double *gram, double *values) {
    size_t n = w->pose_count, size = 3 * (size_t)p->point_count;
    double *rows = malloc(n * size * sizeof *rows);
    for (size_t m = 0; rows && m < n; m++)
        for (uint32_t i = 0; i < p->point_count; i++)
            for (size_t c = 0; c < 3; c++)
                rows[m * size + 3 * i + c] = w->residual[3 * (m * w->u->point_count + p->points[i]) + c];
    if (rows) pelt_gemm(false, true, n, n, size, 1, rows, rows, 0, gram);
    bool done = rows && pelt_eigen(n, gram, values);
    free(rows);
    for (size_t k = 0; k < n && done; k++)
        for (size_t m = 0; m < n; m++) gram[m * n + k] *= sqrt(fmax(values[k], 0));
    return done;
}

/* -- What is kept -------------------------------------------------------------------------------------------------- */

static bool make_rbf(pelt_arena *arena, const pairing *w, const pair *p, size_t kept, const double *lambda,
                     pelt_rbf *out) {
    size_t axis_count = 0, n = p->center_count, at = 0;
    for (uint32_t d = 0; d < p->mover_count; d++) axis_count += pelt_mover_axes(w->poses, p->movers[d], NULL);
    pelt_axis *axes = PELT_NEW(arena, axis_count, pelt_axis);
    float *centers = PELT_NEW(arena, 4 * n * axis_count, float), *matrix = PELT_NEW(arena, n * kept, float);
    if (!axes || !centers || !matrix) return false;
    for (uint32_t d = 0; d < p->mover_count; d++) {
        uint32_t count = pelt_mover_axes(w->poses, p->movers[d], axes + at);
        for (uint32_t k = 0; k < count; k++, at++)
            for (size_t q = 0; q < n; q++)
                pelt_mover_center(w->poses, &axes[at], p->centers[q], centers + 4 * (q * axis_count + at));
    }
    for (size_t i = 0; i < n * kept; i++) matrix[i] = (float)lambda[i];
    *out = (pelt_rbf){.axis_count = (uint32_t)axis_count,
                      .center_count = (uint32_t)n,
                      .coefficient_count = (uint32_t)kept,
                      .axes = axes,
                      .centers = centers,
                      .phi = PELT_PHI_EXP,
                      .width = (float)w->width,
                      .matrix = matrix};
    return true;
}

/* Shapes R^T v_k / s_k of the kept columns become entries; what the pair predicts leaves the residual. */
static void take(const pairing *w, const pair *p, size_t kept, const double *coordinates, const double *values,
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

/* The strength rho that predicts the leading displacement best, and how many of the first ones pay with it. */
static size_t choose(const pairing *w, const pair *p, const double *phi, const double *coordinates, double *scratch,
                     double *inverse, double *best_inverse) {
    static const double strengths[] = {0.01, 0.03, 0.1, 0.3, 1};
    size_t n = p->center_count, poses = w->pose_count, kept = 0;
    double best = PAYS;
    for (size_t s = 0; s < sizeof strengths / sizeof *strengths; s++) {
        if (!invert(n, phi, strengths[s], scratch, inverse)) return 0;
        double left = missed(p, inverse, coordinates + poses - 1, poses);
        if (!(left < best)) continue;
        best = left;
        memcpy(best_inverse, inverse, n * n * sizeof *inverse);
        for (kept = 1; kept < MOST_KEPT && kept < poses; kept++)
            if (!(missed(p, inverse, coordinates + poses - 1 - kept, poses) < PAYS)) break;
    }
    return kept;
}

/* Tries one candidate; false when memory is out. */
static bool try_pair(pelt_arena *arena, const pairing *w, pair *p, pelt_eigen_pairs *out) {
    set_up(w, p);
    size_t n = p->center_count, poses = w->pose_count, kept = 0;
    if (!p->point_count) return true;
    double *phi = malloc(4 * n * n * sizeof *phi), *gram = malloc((poses + 1) * poses * sizeof *gram);
    double *lambda = calloc(2 * n * MOST_KEPT, sizeof *lambda);
    bool done = phi && gram && lambda && decompose(w, p, gram, gram + poses * poses);
    double *inverse = done ? phi + 3 * n * n : NULL, *values = gram + poses * poses;
    if (done) {
        functions(w, p, phi);
        kept = choose(w, p, phi, gram, phi + n * n, phi + 2 * n * n, inverse);
    }
    if (kept) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < kept; k++)
                for (size_t q = p->first_pose; q < n; q++)
                    lambda[i * kept + k] += inverse[i * n + q] * gram[(q - p->first_pose) * poses + poses - 1 - k];
        double *predicted = lambda + n * MOST_KEPT;
        pelt_gemm(false, false, n, kept, n, 1, phi, lambda, 0, predicted);
        pelt_eigen_pair *pair_out = &out->pairs[out->pair_count];
        *pair_out = (pelt_eigen_pair){.movers = {p->movers[0], p->movers[p->mover_count - 1]},
                                      .entry_count = kept * p->point_count,
                                      .entries = PELT_NEW(arena, kept * p->point_count, pelt_entry)};
        done = pair_out->entries && make_rbf(arena, w, p, kept, lambda, &pair_out->rbf);
        if (done) take(w, p, kept, gram, values, predicted, pair_out->entries);
        out->pair_count += done;
    }
    free(phi), free(gram), free(lambda);
    return done;
}

/* -- All pairs ----------------------------------------------------------------------------------------------------- */

/* What the corrective so far leaves of the displacements. */
static bool make_residual(pairing *w, const pelt_corrective *corrective) {
    uint32_t joints = w->poses->joint_count, n = w->u->point_count;
    double *a = malloc(((size_t)pelt_corrective_coefficient_count(corrective) + 1) * sizeof *a);
    for (size_t m = 0; m < w->pose_count && a; m++) {
        size_t at = w->examples[m];
        pelt_pose_state pose = {w->poses->rotations + 4 * at * joints, w->poses->translations + 3 * at * joints,
                                w->poses->controls + at * w->poses->control_count};
        pelt_corrective_coefficients(corrective, &pose, a);
        const pelt_displacements *d = corrective->displacements;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t v = w->u->vertex_of[i];
            for (size_t c = 0; c < 3; c++) {
                double sum = w->u->positions[3 * ((size_t)w->examples[m] * n + i) + c];
                for (uint32_t e = d->first[v]; e < d->first[v + 1]; e++)
                    sum -= a[d->coefficients[e]] * d->vectors[3 * (size_t)e + c];
                w->residual[3 * (m * n + i) + c] = (float)sum;
            }
        }
    }
    free(a);
    return a != NULL;
}

static bool try_all(pelt_arena *arena, const pairing *w, pair *p, pelt_eigen_pairs *out) {
    for (int round = 0; round < 2; round++) /* joints that have nothing yet come first */
        for (uint32_t d = 0; d < w->poses->mover_count; d++) {
            uint32_t parent = w->poses->movers[d].parent;
            if (pelt_is_control(&w->poses->movers[d])) parent = pelt_control_partner(w->supports, w->poses, d);
            bool alone = round == 0 && !w->poses->movers[d].swept, two = round == 1 && parent != PELT_NO_MOVER;
            if (!alone && !two) continue;
            p->movers[0] = d, p->movers[1] = parent, p->mover_count = alone ? 1 : 2;
            if (!try_pair(arena, w, p, out)) return false;
        }
    return true;
}

pelt_result pelt_eigen_pairs_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                const pelt_supports *supports, double width, const pelt_corrective *corrective,
                                pelt_eigen_pairs *out, pelt_error *error) {
    pelt_arena *work = pelt_arena_new(0);
    pairing w = {.poses = poses, .u = u, .supports = supports, .width = width};
    pair p = {0};
    *out = (pelt_eigen_pairs){.pairs = PELT_NEW(arena, 2 * (size_t)poses->mover_count, pelt_eigen_pair)};
    bool ready = work && out->pairs && (w.examples = PELT_NEW(work, poses->count, uint32_t));
    for (uint32_t e = 0; e < poses->count && ready; e++)
        if (!poses->rest[e] && poses->sweep_of[e] == PELT_NO_MOVER) w.examples[w.pose_count++] = e;
    if (ready && w.pose_count >= LEAST_POSES) {
        w.residual = PELT_NEW(work, 3 * w.pose_count * u->point_count, float);
        p.points = PELT_NEW(work, u->point_count, uint32_t);
        p.centers = PELT_NEW(work, (size_t)poses->count + 1, uint32_t);
        ready = w.residual && p.points && p.centers && make_residual(&w, corrective) && try_all(arena, &w, &p, out);
    }
    pelt_arena_free(work);
    return ready ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to couple joints");
}
