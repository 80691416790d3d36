/* eigenskin_pairs.c: displacements of neighbouring joints that move together, for EigenSkin with general sets of poses.

   The residual of the joints' eigendisplacements in examples that move several joints is searched pair by pair (a joint
   and its parent, a control and the joint that affects most of its points, or a single mover that no example moves
   alone): leading eigendisplacements of the residual on the intersection of both supports, with coordinates by ridge
   regression on exp(-r / r0) over both rotations,

       min |a - phi_nm lambda|^2 + rho lambda^T phi_mm lambda,

   at m of the n examples as centres, each the farthest from the previous ones. With N = phi_mn phi_nm + rho phi_mm and
   H = phi_nm N^-1 phi_mn, the leave-one-out error of example i is (a - H a)_i / (1 - H_ii). Examples of a single mover
   of the pair, and the rest pose, take part with coordinates 0. A displacement is kept only if it reduces the
   leave-one-out error; then it is subtracted from the residual and the next pair is tried. Leave-one-out also says how
   many centres are enough, since every centre costs time per frame. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

enum { MOST_KEPT = 3, LEAST_POSES = 10, MOST_CENTERS = 64, CENTERS_STEP = 16 };
static const double PAYS = 0.8;       /* largest part of a displacement's squared coordinates that may remain */
static const double WORSE = 1.05;     /* times the error with the best number of centres */
static const double AT_REST = 1e3;    /* weight of the rest pose, in examples: it holds the displacement at 0 there */
static const double SAME_POSE = 1e-4; /* radians from a centre */
static const double FIRST_RIDGE = 1e-10; /* of the diagonal of N */
static const double LEAST_FREE = 1e-9;   /* part of an example that its own prediction leaves free */
static const double CARRIES = 0.05;      /* blend weight that puts a point in the support when amplitudes are unknown */

typedef struct search {
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    const pelt_supports *supports;
    double width;
    size_t pose_count;
    uint32_t *examples; /* [pose] those that move several joints */
    float *residual;    /* [pose][point][3] */
} search;

/* A pair to try. */
typedef struct candidate {
    uint32_t movers[2], mover_count;
    uint32_t *points, point_count;
    float *shares;      /* [point] in the supports of both */
    uint32_t *examples; /* rest, examples of single movers, then examples of several joints from first_pose on */
    size_t example_count, first_pose;
    uint32_t *centers; /* a subset, rest first */
    size_t *places;    /* [center] its index in `examples` */
    size_t center_count;
    double *functions; /* [center][example] phi */
    double *nearest;   /* [example] largest phi over the centres so far */
    double *rows; /* room for the residual on the support: fresh pages for each pair would take longer than its use */
} candidate;

/* The share of a point in a mover's support. */
static float share(const search *w, uint32_t mover, uint32_t point) {
    const pelt_supports *s = w->supports;
    float seen = s->peaks[mover] > s->noise ? pelt_support_share(s, mover, point) : 0;
    if (w->poses->movers[mover].swept || pelt_is_control(&w->poses->movers[mover])) return seen;
    double x = pelt_carried_around(s, w->poses, mover, point) / CARRIES, least = 1 - s->fade;
    if (!(s->carried[(size_t)mover * s->point_count + point] > 0) || !(x > least)) return seen;
    x = s->fade > 0 ? fmin((x - least) / s->fade, 1) : 1;
    return fmaxf(seen, (float)(x * x * (3 - 2 * x)));
}

/* The rest pose, then greedily the example farthest from those chosen. */
static void choose_centers(const search *w, candidate *p) {
    size_t n = p->example_count, next = 0;
    memset(p->nearest, 0, n * sizeof *p->nearest);
    for (p->center_count = 0; p->center_count < MOST_CENTERS; p->center_count++) {
        if (p->nearest[next] > exp(-SAME_POSE / w->width)) break; /* the remaining ones coincide with centres */
        double *phi = p->functions + p->center_count * n;
        p->centers[p->center_count] = p->examples[next], p->places[p->center_count] = next;
        pelt_eigen_functions(w->poses, p->mover_count, p->movers, n, p->examples, 1, &p->examples[next], w->width, phi);
        for (size_t i = 0; i < n; i++) p->nearest[i] = fmax(p->nearest[i], phi[i]);
        for (size_t i = 0; i < n; i++)
            if (p->nearest[i] < p->nearest[next]) next = i;
    }
}

static void set_up(const search *w, candidate *p) {
    p->point_count = 0, p->example_count = 0;
    for (uint32_t i = 0; i < w->u->point_count; i++) {
        float both = 1;
        for (uint32_t d = 0; d < p->mover_count; d++) both *= share(w, p->movers[d], i);
        if (!(both > 0)) continue;
        p->shares[p->point_count] = both;
        p->points[p->point_count++] = i;
    }
    p->examples[p->example_count++] = PELT_REST_EXAMPLE;
    for (uint32_t e = 0; e < w->poses->count; e++)
        for (uint32_t d = 0; d < p->mover_count; d++)
            if (w->poses->sweep_of[e] == p->movers[d]) p->examples[p->example_count++] = e;
    p->first_pose = p->example_count;
    for (size_t m = 0; m < w->pose_count; m++) p->examples[p->example_count++] = w->examples[m];
    if (p->point_count) choose_centers(w, p);
}

/* phi between all examples and the centres, and among the centres: independent of the strength. */
typedef struct regression {
    size_t n, m;
    double *across, *square;  /* [example][center], [center][center] */
    double *products;         /* [center][center] phi_mn phi_nm, with the rest pose's weight */
    double *normal, *solved;  /* [center][center] N, factored; [center][example] N^-1 phi_mn */
    const double *transposed; /* [center][example] */
} regression;

/* Uses the first m centres. */
static regression new_regression(pelt_arena *work, const candidate *p, size_t m) {
    size_t n = p->example_count;
    regression r = {n,
                    m,
                    PELT_NEW(work, n * m, double),
                    PELT_NEW(work, m * m, double),
                    PELT_NEW(work, m * m, double),
                    PELT_NEW(work, m * m, double),
                    PELT_NEW(work, n * m, double),
                    p->functions};
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < n; i++) r.across[i * m + k] = p->functions[k * n + i];
        for (size_t l = 0; l < m; l++) r.square[k * m + l] = p->functions[k * n + p->places[l]];
    }
    pelt_gemm(true, false, m, m, n, 1, r.across, r.across, 0, r.products);
    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++) r.products[k * m + l] += (AT_REST - 1) * r.across[k] * r.across[l];
    return r;
}

/* N^-1 phi_mn. Exponentials of angles are nearly always positive definite; otherwise a larger ridge makes N so. */
static bool solve(regression *r, double rho) {
    size_t m = r->m;
    for (double more = FIRST_RIDGE; more < 1; more *= 100) {
        for (size_t i = 0; i < m * m; i++) r->normal[i] = r->products[i] + rho * r->square[i];
        for (size_t k = 0; k < m; k++) r->normal[k * m + k] *= 1 + more;
        if (!pelt_cholesky(m, r->normal)) continue;
        memcpy(r->solved, r->transposed, m * r->n * sizeof *r->solved);
        pelt_cholesky_solve(m, r->normal, r->n, r->solved);
        return true;
    }
    return false;
}

/* lambda [center] for the coordinates a[pose]; zero coordinates add nothing. */
static void coefficients(const regression *r, const candidate *p, const double *a, size_t stride, double *lambda) {
    for (size_t k = 0; k < r->m; k++) {
        double sum = 0;
        for (size_t i = p->first_pose; i < r->n; i++) sum += r->solved[k * r->n + i] * a[(i - p->first_pose) * stride];
        lambda[k] = sum;
    }
}

/* Leave-one-out error as a fraction of the squared coordinates a[pose]; `own` [example] is H_ii. */
static double missed(pelt_arena *work, const regression *r, const candidate *p, const double *own, const double *a,
                     size_t stride) {
    double sum = 0, all = 0, *lambda = PELT_NEW(work, r->m, double);
    coefficients(r, p, a, stride, lambda);
    for (size_t i = p->first_pose; i < r->n; i++) {
        double value = a[(i - p->first_pose) * stride], miss = value;
        for (size_t k = 0; k < r->m; k++) miss -= r->across[i * r->m + k] * lambda[k];
        miss /= fmax(1 - own[i], LEAST_FREE);
        sum += miss * miss, all += value * value;
    }
    return all > 0 ? sum / all : 1;
}

static void own_influence(const regression *r, double *own) {
    memset(own, 0, r->n * sizeof *own);
    for (size_t k = 0; k < r->m; k++)
        for (size_t i = 0; i < r->n; i++) own[i] += r->transposed[k * r->n + i] * r->solved[k * r->n + i];
}

/* -- The residual's principal components --------------------------------------------------------------------------- */

/* The residual on the support, times the shares: [pose][3 point]. */
static double *residual_rows(const search *w, const candidate *p) {
    size_t n = w->pose_count, size = 3 * (size_t)p->point_count;
    double *rows = p->rows;
    for (size_t m = 0; m < n; m++)
        for (uint32_t i = 0; i < p->point_count; i++)
            for (size_t c = 0; c < 3; c++)
                rows[m * size + 3 * i + c] = p->shares[i] * w->residual[3 * (m * w->u->point_count + p->points[i]) + c];
    return rows;
}

/* The leading MOST_KEPT eigenvectors of the residual's Gram matrix, scaled to coordinates[pose][MOST_KEPT], and their
   eigenvalues, largest first. Subspace iteration: the Gram matrix is never formed. */
static bool decompose(pelt_arena *work, const search *w, const candidate *p, double *coordinates, double *values) {
    enum { SUBSPACE = 8, ROUNDS = 12 };
    size_t n = w->pose_count, size = 3 * (size_t)p->point_count, width = n < SUBSPACE ? n : SUBSPACE;
    double *rows = residual_rows(w, p), *basis = PELT_NEW(work, n * width, double);
    double *shapes = PELT_NEW(work, size * width, double), small[SUBSPACE * SUBSPACE], sizes[SUBSPACE];
    for (size_t i = 0; i < n * width; i++) basis[i] = (double)(i * 2654435761u % 1000003u) / 1000003 - 0.5;
    for (int round = 0; round < ROUNDS; round++) {
        if (!pelt_orthonormalize(n, width, basis)) return false;
        pelt_gemm(true, false, size, width, n, 1, rows, basis, 0, shapes);
        if (round + 1 < ROUNDS) pelt_gemm(false, false, n, width, size, 1, rows, shapes, 0, basis);
    }
    pelt_gemm(true, false, width, width, size, 1, shapes, shapes, 0, small);
    if (!pelt_eigen(width, small, sizes)) return false;
    for (size_t k = 0; k < MOST_KEPT; k++) {
        size_t column = width - 1 - k;
        values[k] = k < width ? fmax(sizes[column], 0) : 0;
        for (size_t m = 0; m < n; m++) {
            double sum = 0;
            for (size_t q = 0; q < width && k < width; q++) sum += basis[m * width + q] * small[q * width + column];
            coordinates[m * MOST_KEPT + k] = sum * sqrt(values[k]);
        }
    }
    return true;
}

/* -- What is kept -------------------------------------------------------------------------------------------------- */

/* Turns the shapes R^T v_k / s_k of the kept columns into entries, and subtracts the pair's prediction from the
   residual. */
static void take(const search *w, const candidate *p, size_t kept, const double *coordinates, const double *values,
                 const double *predicted, pelt_entry *entries) {
    size_t n = w->pose_count;
    for (size_t k = 0; k < kept; k++)
        for (uint32_t i = 0; i < p->point_count; i++) {
            double sum[3] = {0};
            for (size_t m = 0; m < n; m++)
                for (size_t c = 0; c < 3; c++)
                    sum[c] += coordinates[m * MOST_KEPT + k] * p->shares[i] *
                              w->residual[3 * (m * w->u->point_count + p->points[i]) + c];
            pelt_entry *entry = &entries[k * p->point_count + i];
            *entry = (pelt_entry){.point = p->points[i], .coefficient = (uint32_t)k};
            for (int c = 0; c < 3; c++) entry->position[c] = (float)(sum[c] / values[k]);
        }
    for (size_t k = 0; k < kept; k++)
        for (uint32_t i = 0; i < p->point_count; i++)
            for (size_t m = 0; m < n; m++)
                for (size_t c = 0; c < 3; c++)
                    w->residual[3 * (m * w->u->point_count + p->points[i]) + c] -=
                        (float)predicted[(p->first_pose + m) * kept + k] * entries[k * p->point_count + i].position[c];
}

/* The best prediction of a candidate's displacements. */
typedef struct prediction {
    regression r;
    double strength; /* rho */
    double missed;   /* fraction of the leading displacement's squared coordinates */
    size_t kept;     /* how many leading displacements pay off; 0: none */
} prediction;

/* The strength that best predicts the leading displacement. */
static prediction choose_strength(pelt_arena *work, regression r, const candidate *p, const double *coordinates) {
    static const double strengths[] = {0.01, 0.03, 0.1, 0.3, 1};
    prediction best = {.r = r, .missed = PAYS};
    double *own = PELT_NEW(work, r.n, double);
    size_t poses = r.n - p->first_pose;
    for (size_t s = 0; s < sizeof strengths / sizeof *strengths; s++) {
        if (!solve(&r, strengths[s])) break;
        own_influence(&r, own);
        double left = missed(work, &r, p, own, coordinates, MOST_KEPT);
        if (!(left < best.missed)) continue;
        best.missed = left, best.strength = strengths[s];
        for (best.kept = 1; best.kept < MOST_KEPT && best.kept < poses; best.kept++)
            if (!(missed(work, &r, p, own, coordinates + best.kept, MOST_KEPT) < PAYS)) break;
    }
    return best;
}

/* As few centres as predict nearly as well as the best number, without losing displacements. */
static prediction choose(pelt_arena *work, const candidate *p, const double *coordinates) {
    prediction tried[MOST_CENTERS / CENTERS_STEP], best = {.missed = PAYS};
    size_t count = 0;
    for (size_t m = CENTERS_STEP, last = 0; last < p->center_count; m += CENTERS_STEP, count++) {
        last = m < p->center_count ? m : p->center_count;
        tried[count] = choose_strength(work, new_regression(work, p, last), p, coordinates);
        if (tried[count].missed < best.missed) best = tried[count];
    }
    for (size_t i = 0; i < count && best.kept; i++)
        if (tried[i].kept >= best.kept && tried[i].missed <= WORSE * best.missed) return tried[i];
    return best;
}

/* Turns a candidate and its kept displacements into a pair. */
static void keep(pelt_arena *arena, pelt_arena *work, const search *w, const candidate *p, const regression *r,
                 size_t kept, const double *coordinates, const double *values, pelt_eigen_pair *out) {
    size_t m = r->m;
    double *lambda = PELT_NEW(work, m * kept, double), *one = PELT_NEW(work, m, double);
    double *predicted = PELT_NEW(work, r->n * kept, double);
    for (size_t k = 0; k < kept; k++) {
        coefficients(r, p, coordinates + k, MOST_KEPT, one);
        for (size_t i = 0; i < m; i++) lambda[i * kept + k] = one[i];
    }
    pelt_gemm(false, false, r->n, kept, m, 1, r->across, lambda, 0, predicted);
    *out = (pelt_eigen_pair){
        .movers = {p->movers[0], p->movers[p->mover_count - 1]},
        .rbf = pelt_eigen_rbf(arena, w->poses, p->mover_count, p->movers, m, p->centers, w->width, kept, lambda),
        .entry_count = kept * p->point_count,
        .entries = PELT_NEW(arena, kept * p->point_count, pelt_entry)};
    take(w, p, kept, coordinates, values, predicted, out->entries);
}

static void try_pair(pelt_arena *arena, const search *w, candidate *p, pelt_eigen_pairs *out) {
    set_up(w, p);
    if (!p->point_count) return;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *coordinates = PELT_NEW(work, w->pose_count * MOST_KEPT, double), values[MOST_KEPT];
    if (decompose(work, w, p, coordinates, values)) {
        prediction best = choose(work, p, coordinates);
        if (best.kept && solve(&best.r, best.strength))
            keep(arena, work, w, p, &best.r, best.kept, coordinates, values, &out->pairs[out->pair_count++]);
    }
}

/* -- All pairs ----------------------------------------------------------------------------------------------------- */

/* The displacements minus what the corrective explains so far. */
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
    for (int round = 0; round < 2; round++) /* joints without any entries come first */
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
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    search w = {.poses = poses, .u = u, .supports = supports, .width = width};
    pelt_eigen_pairs out = {.pairs = PELT_NEW(arena, 2 * (size_t)poses->mover_count, pelt_eigen_pair)};
    w.pose_count = pelt_examples_of_several(work, poses, &w.examples);
    if (w.pose_count >= LEAST_POSES) {
        candidate p = {.points = PELT_NEW(work, u->point_count, uint32_t),
                       .shares = PELT_NEW(work, u->point_count, float),
                       .examples = PELT_NEW(work, (size_t)poses->count + 1, uint32_t),
                       .centers = PELT_NEW(work, MOST_CENTERS, uint32_t),
                       .places = PELT_NEW(work, MOST_CENTERS, size_t),
                       .functions = PELT_NEW(work, MOST_CENTERS * ((size_t)poses->count + 1), double),
                       .nearest = PELT_NEW(work, (size_t)poses->count + 1, double),
                       .rows = PELT_NEW(work, 3 * w.pose_count * u->point_count, double)};
        make_residual(work, &w, corrective);
        try_all(arena, &w, &p, &out);
    }
    return out;
}
