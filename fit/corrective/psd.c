/* psd.c: pose space deformation (Lewis, Cordner & Fong 2000): every example contributes its displacement, driven by the
   pose's distances to all examples.

       D(p) = sum_t r_t(p) d^t,    r_t = f_t / sum_s f_s,    f_t(p) = sum_k lambda_tk phi(|p - p_k|),   lambda = phi^-1

   The distance is over all joints, each weighted by how much it displaces the whole mesh: a finger moves little skin
   and should not affect the shape of the back. The width of phi, and whether it is mixed or a plain Gaussian, are
   chosen in psd_choose.c.

   With N principal poses only their functions r_t are used, and the displacements are a least-squares fit to all
   examples. */

#include "fit/corrective/correctives.h"
#include "fit/corrective/psd.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

static const double least_relevance = 0.01; /* of the most relevant source: none is left out of the distance */
static const double least_shape = 1e-9;     /* of the largest eigenvalue: below, combinations of shapes are rounding */
static const double converged = 1e-7;       /* relative change of an eigenvalue by power iteration */
static const double narrower = 0.7;         /* the step between the widths that are tried */
static const double tiny_ridge = 1e-6, least_ridge = 1e-12; /* relative, and absolute, for normal equations */
static const double displaced = 1e-6;                       /* of the diagonal: less is no correction */

/* -- Distances ----------------------------------------------------------------------------------------------------- */

static void weigh_sources(pelt_psd *p) {
    pelt_sources *s = &p->sources;
    double *relevance = PELT_NEW(p->work, s->count, double), most = 0, mean = 0;
    bool equal = p->fitting->options.psd.distance_weights == PELT_DISTANCE_EQUAL;
    for (uint32_t k = 0; k < s->count; k++) {
        for (size_t i = 0; i < p->distinct.displacements.point_count; i++)
            relevance[k] += (double)s->driving[i * s->count + k] * s->driving[i * s->count + k];
        relevance[k] = sqrt(relevance[k]), most = fmax(most, relevance[k]);
    }
    for (uint32_t k = 0; k < s->count; k++) {
        relevance[k] = fmax(sqrt(most > 0 && !equal ? relevance[k] / most : 1), least_relevance);
        mean += relevance[k] / s->count;
    }
    for (uint32_t k = 0; k < s->count; k++) relevance[k] /= mean;
    p->distances = pelt_distances_together(p->work, &p->distinct, s, relevance);
    for (uint32_t k = 0; k < s->count; k++)
        for (uint32_t a = s->list[k].first_axis; a < s->list[k].first_axis + s->list[k].axis_count; a++)
            s->axes[a].weight *= (float)relevance[k];
}

/* Poses used to choose settings: all, or `most` of them, evenly spread, the rest pose first. */
static void list_tried(pelt_psd *p, uint32_t most) {
    uint32_t n = p->distinct.count;
    p->tried_count = n < most ? n : most;
    p->tried = PELT_NEW(p->work, p->tried_count, uint32_t);
    for (uint32_t i = 0; i < p->tried_count; i++) p->tried[i] = (uint32_t)((uint64_t)i * n / p->tried_count);
}

/* Errors need only the inner products of shapes, which a sample of points spread over the mesh estimates well
   enough. */
static bool factor_shapes(pelt_psd *p) {
    enum { MOST_POINTS = 600 };
    size_t n = p->tried_count, points = p->distinct.displacements.point_count;
    size_t some = points < MOST_POINTS ? points : MOST_POINTS, size = 3 * some, first = 0;
    double *shapes = PELT_NEW(p->work, n * size, double), *values = PELT_NEW(p->work, n, double);
    double *gram = PELT_NEW(p->work, n * n, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < some; k++)
            memcpy(shapes + i * size + 3 * k, p->distinct.shapes + 3 * (p->tried[i] * points + k * points / some),
                   3 * sizeof *shapes);
    pelt_gemm(false, true, n, n, size, 1, shapes, shapes, 0, gram);
    if (!pelt_eigen(n, gram, values)) return false;
    while (first + 1 < n && values[first] < least_shape * values[n - 1]) first++;
    p->rank = n - first;
    p->factor = PELT_NEW(p->work, n * p->rank, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->rank; k++)
            p->factor[i * p->rank + k] = gram[i * n + first + k] * sqrt(fmax(values[first + k], 0));
    return true;
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* The largest eigenvalue of a symmetric positive definite matrix, by power iteration. */
static double largest_eigenvalue(pelt_arena *arena, size_t n, const double *a) {
    enum { MOST_ROUNDS = 300 };
    double *x = PELT_NEW(arena, n, double), *y = PELT_NEW(arena, n, double), value = 0, before = -1;
    for (size_t i = 0; i < n; i++) x[i] = 1 + (double)(i % 7) / 7; /* not symmetric */
    for (int round = 0; round < MOST_ROUNDS && fabs(value - before) > converged * value; round++) {
        double length = 0, along = 0;
        for (size_t i = 0; i < n; i++) length += x[i] * x[i];
        pelt_gemm(false, false, n, 1, n, 1 / sqrt(length), a, x, 0, y);
        for (size_t i = 0; i < n; i++) along += x[i] * y[i];
        before = value, value = along / sqrt(length);
        double *swapped = x;
        x = y, y = swapped;
    }
    return value;
}

static void note_condition(pelt_psd *p, const double *lambda) {
    size_t n = p->distinct.count, m = p->center_count;
    double *phi = PELT_NEW(p->work, m * m, double), least = INFINITY;
    pelt_psd_phi(p, p->width, m, p->centers, phi);
    pelt_condition c = {.value = largest_eigenvalue(p->work, m, phi) * largest_eigenvalue(p->work, m, lambda)};
    for (size_t i = 0; i < m; i++)
        for (size_t k = i + 1; k < m; k++) {
            double r2 = p->distances[p->centers[i] * n + p->centers[k]];
            if (r2 < least) least = r2, c.closest[0] = p->centers[i], c.closest[1] = p->centers[k];
        }
    c.distance = sqrt(least);
    for (int i = 0; i < 2; i++) c.closest[i] = pelt_pose_example(&p->distinct, c.closest[i]);
    pelt_note_condition(p->fitting, &c);
}

/* A function f = sum_q c_q phi(., q) with values d at the centres obeys |f(p)|^2 <= phi(0) c^T phi c = d^T phi^-1 d =
   |L^-1 d|^2, where phi = L L^T is positive definite; dividing by the norm multiplies that by at most 1
   / norm_floor. */
typedef struct bounding {
    size_t count, size;            /* displacements per point; values per displacement */
    const double *factor, *shapes; /* [count][count] L, [count][size] */
    double *largest;               /* [chunk] of points: the largest squared bound */
} bounding;

enum { STRETCH = 3 * 64 };

static void bound_stretch(void *user, size_t stretch, pelt_arena *scratch) {
    bounding *b = user;
    size_t first = stretch * STRETCH, width = b->size - first < STRETCH ? b->size - first : STRETCH;
    double *d = PELT_NEW(scratch, b->count * width, double), sum = 0;
    for (size_t k = 0; k < b->count; k++) memcpy(d + k * width, b->shapes + k * b->size + first, width * sizeof *d);
    pelt_forward_solve(b->count, b->factor, width, d);
    for (size_t i = 0; i < width; i++) {
        if (i % 3 == 0) sum = 0;
        for (size_t k = 0; k < b->count; k++) sum += d[k * width + i] * d[k * width + i];
        b->largest[stretch] = fmax(b->largest[stretch], sum);
    }
}

/* If the rest pose, which comes first, has no displacement, its row of L contributes nothing. */
static void note_bound(pelt_psd *p, const double *shapes) {
    size_t m = p->center_count, count = m - p->skip, size = 3 * (size_t)p->distinct.displacements.point_count;
    size_t stretches = (size + STRETCH - 1) / STRETCH;
    double *phi = PELT_NEW(p->work, m * m, double), *factor = PELT_NEW(p->work, count * count, double), most = 0;
    bounding b = {.count = count,
                  .size = size,
                  .factor = factor,
                  .shapes = shapes,
                  .largest = PELT_NEW(p->work, stretches, double)};
    pelt_psd_phi(p, p->width, m, p->centers, phi);
    if (!pelt_cholesky(m, phi)) return;
    for (size_t i = 0; i < count; i++)
        memcpy(factor + i * count, phi + (i + p->skip) * m + p->skip, count * sizeof *factor);
    pelt_parallel(p->work, p->fitting->options.threads, stretches, bound_stretch, &b);
    for (size_t s = 0; s < stretches; s++) most = fmax(most, b.largest[s]);
    p->fitting->report.bound = sqrt(most) / (p->norm_floor > 0 ? p->norm_floor : 1);
}

/* -- Functions of the pose ----------------------------------------------------------------------------------------- */

/* lambda [center][center] of the chosen centres, the inverse of their part of phi; false when it is singular. */
static bool invert_phi(pelt_psd *p, double *lambda) {
    size_t m = p->center_count;
    pelt_psd_phi(p, p->width, m, p->centers, lambda);
    if (!pelt_cholesky(m, lambda)) return false;
    pelt_cholesky_invert(m, lambda);
    p->growth = 0;
    for (size_t i = 0; i < m; i++) {
        double sum = 0;
        for (size_t k = 0; k < m; k++) sum += fabs(lambda[i * m + k]);
        p->growth = fmax(p->growth, sum);
    }
    return true;
}

/* A width chosen on a subset of poses may be too large for all of them: then takes the next smaller one that works. */
static bool invert_narrower(pelt_psd *p, double *lambda) {
    bool done = invert_phi(p, lambda), free = !(p->fitting->options.psd.width > 0) && p->center_count > p->tried_count;
    for (int tries = 0; tries < PELT_PSD_WIDTHS && free && !(done && p->growth < PELT_PSD_GROWTH); tries++) {
        p->width *= narrower;
        done = invert_phi(p, lambda);
    }
    return done;
}

/* r_t at every pose: [pose][center]. */
static void functions_at_poses(const pelt_psd *p, const double *lambda, double *r) {
    size_t n = p->distinct.count, m = p->center_count;
    double *phi = PELT_NEW(p->work, n * m, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            phi[i * m + k] = pelt_phi_value(p->phi, p->width, p->distances[i * n + p->centers[k]]);
    pelt_gemm(false, false, n, m, m, 1, phi, lambda, 0, r);
    for (size_t i = 0; i < n && p->norm_floor > 0; i++) {
        double sum = 0;
        for (size_t k = 0; k < m; k++) sum += r[i * m + k];
        for (size_t k = 0; k < m; k++) r[i * m + k] *= pelt_guard_norm(p->norm_floor, sum);
    }
}

/* Least squares over all poses: [coefficient][pose], to be multiplied with shapes. */
static bool shape_weights(const pelt_psd *p, const double *r, double *weights) {
    size_t n = p->distinct.count, m = p->center_count - p->skip;
    double *columns = PELT_NEW(p->work, n * m, double), *normal = PELT_NEW(p->work, m * m, double);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) columns[i * m + k] = weights[k * n + i] = r[i * p->center_count + k + p->skip];
    pelt_gemm(true, false, m, m, n, 1, columns, columns, 0, normal);
    for (size_t k = 0; k < m; k++) normal[k * m + k] += tiny_ridge * normal[k * m + k] + least_ridge;
    if (!pelt_cholesky(m, normal)) return false;
    pelt_cholesky_solve(m, normal, n, weights);
    return true;
}

/* -- Principal poses ----------------------------------------------------------------------------------------------- */

/* The squared residual of the shapes after the best fit with the chosen centres. */
static double principal_error(pelt_psd *p) {
    size_t n = p->distinct.count, all = p->center_count, m = all - p->skip;
    double *lambda = PELT_NEW(p->work, all * all, double), *r = PELT_NEW(p->work, n * all, double);
    double *weights = PELT_NEW(p->work, m * n, double), *shapes = PELT_NEW(p->work, m * p->rank, double);
    double *columns = PELT_NEW(p->work, n * m, double), *left = PELT_NEW(p->work, n * p->rank, double), sum = 0;
    if (!invert_phi(p, lambda)) return INFINITY;
    functions_at_poses(p, lambda, r);
    if (!shape_weights(p, r, weights)) return INFINITY;
    pelt_gemm(false, false, m, p->rank, n, 1, weights, p->factor, 0, shapes);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) columns[i * m + k] = r[i * all + k + p->skip];
    memcpy(left, p->factor, n * p->rank * sizeof *left);
    pelt_gemm(false, false, n, p->rank, m, -1, columns, shapes, 1, left);
    for (size_t i = 0; i < n * p->rank; i++) sum += left[i] * left[i];
    return sum;
}

/* For each width, greedy selection of the poses that reduce the error fastest, or those of the principal components;
   keeps the best width. */
static bool choose_poses(pelt_psd *p, uint32_t count) {
    size_t n = p->distinct.count;
    double best = INFINITY, best_width = 1, typical = pelt_psd_distance(p), given = p->fitting->options.psd.width;
    bool by_components = p->fitting->options.psd.pose_choice == PELT_POSE_CHOICE_PCA;
    uint32_t *kept = PELT_NEW(p->work, count + 1, uint32_t);
    pelt_arena *outer = p->work;
    p->center_count = count + 1;
    for (int w = 0; w < (given > 0 ? 1 : PELT_PSD_WIDTHS); w++) {
        p->work = pelt_arena_inside(outer);
        p->width = given > 0 ? given : pelt_psd_widths[w] * typical;
        double *phi = PELT_NEW(p->work, n * n, double), *left = PELT_NEW(p->work, n * p->rank, double);
        pelt_psd_phi(p, p->width, n, p->tried, phi);
        memcpy(left, p->factor, n * p->rank * sizeof *left);
        p->centers[0] = 0;
        if (by_components)
            pelt_choose_by_components(p->work, n, p->rank, left, 1, p->center_count, p->centers);
        else
            pelt_choose_columns(p->work, n, n, phi, p->rank, left, 1, p->center_count, p->centers);
        double error = principal_error(p);
        if (error < best) {
            best = error, best_width = p->width;
            memcpy(kept, p->centers, p->center_count * sizeof *kept);
        }
        pelt_arena_free(p->work);
    }
    p->work = outer, p->width = best_width;
    memcpy(p->centers, kept, p->center_count * sizeof *kept);
    return isfinite(best);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

/* Where examples are only approximated, the functions of other poses are not quite 0 in the rest pose. That residue is
   subtracted by means of the rest pose's own function, so that a skin at rest is exactly the mesh. */
static double *at_rest(const pelt_psd *p, const double *lambda) {
    size_t m = p->center_count;
    double *out = PELT_NEW(p->work, m, double);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++)
            out[k] += pelt_phi_value(p->phi, p->width, p->distances[p->centers[i]]) * lambda[i * m + k];
    for (size_t k = 1; k < m; k++) out[k] /= out[0];
    return out;
}

static pelt_rbf *make_rbf(pelt_psd *p, const double *lambda) {
    pelt_arena *arena = p->fitting->arena;
    size_t m = p->center_count, axes = p->sources.axis_count, columns = m - p->skip;
    pelt_rbf *rbf = PELT_NEW(arena, 1, pelt_rbf);
    float *centers = PELT_NEW(arena, 4 * m * axes, float), *matrix = PELT_NEW(arena, m * columns, float),
          *norm = PELT_NEW(arena, m, float);
    double scale = pelt_norm_scale(p->norm_floor);
    const double *share = p->skip && pelt_phi_ridge(p->phi) > 0 ? at_rest(p, lambda) : NULL;
    for (size_t i = 0; i < m; i++) {
        double sum = 0;
        memcpy(centers + 4 * i * axes, p->sources.centers + 4 * p->centers[i] * axes, 4 * axes * sizeof *centers);
        for (size_t k = 0; k < m; k++) sum += lambda[i * m + k];
        for (size_t k = 0; k < columns; k++)
            matrix[i * columns + k] =
                (float)(scale * (lambda[i * m + k + p->skip] - (share ? share[k + 1] * lambda[i * m] : 0)));
        norm[i] = (float)(scale * sum);
    }
    *rbf = (pelt_rbf){.axis_count = (uint32_t)axes,
                      .center_count = (uint32_t)m,
                      .coefficient_count = (uint32_t)columns,
                      .axes = p->sources.axes,
                      .centers = centers,
                      .phi = p->phi,
                      .width = (float)p->width,
                      .matrix = matrix,
                      .norm = p->norm_floor > 0 ? norm : NULL};
    return rbf;
}

static const double LEAST_SHIFT = 2e-7, LEAST_TILT = 1e-3; /* of the diagonal; radians */

static double largest_part(const double v[3]) { return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))); }

/* Converts vectors [column][point][3] to lists, dropping those too small to matter; point_of [vertex]. */
static pelt_displacements *list_vectors(pelt_psd *p, const double *vectors, size_t stride, const uint32_t *point_of,
                                        double least) {
    pelt_arena *arena = p->fitting->arena;
    size_t n = p->distinct.displacements.vertex_count;
    uint32_t columns = p->center_count - p->skip;
    pelt_displacements *out = PELT_NEW(arena, 1, pelt_displacements);
    out->first = PELT_NEW(arena, n + 1, uint32_t);
    for (int filling = 0; filling < 2; filling++) {
        size_t at = 0;
        for (uint32_t v = 0; v < n; v++) {
            for (uint32_t k = 0; k < columns; k++) {
                const double *u = vectors + 3 * (k * stride + point_of[v]);
                if (largest_part(u) < least) continue;
                for (size_t c = 0; c < 3 && filling; c++) out->vectors[3 * at + c] = (float)u[c];
                if (filling) out->coefficients[at] = k;
                at++;
            }
            out->first[v + 1] = (uint32_t)at;
        }
        if (filling) break;
        if (at > UINT32_MAX) pelt_arena_fail(arena); /* more than can be indexed */
        out->coefficients = PELT_NEW(arena, at + 1, uint32_t);
        out->vectors = PELT_NEW(arena, 3 * (at + 1), float);
    }
    return out;
}

/* The corrective's columns from all poses: the poses themselves, or a least-squares fit with few. */
static const double *columns_of(pelt_psd *p, const double *weights, const double *poses, size_t size) {
    size_t n = p->distinct.count, m = p->center_count - p->skip;
    if (!weights) return poses + size * p->skip;
    double *fitted = PELT_NEW(p->work, size * m, double);
    pelt_gemm(false, false, m, size, n, 1, weights, poses, 0, fitted);
    return fitted;
}

static bool make_corrective(pelt_psd *p) {
    size_t n = p->distinct.count, m = p->center_count;
    pelt_fitting *f = p->fitting;
    double *lambda = PELT_NEW(p->work, m * m, double), *weights = NULL;
    if (!invert_narrower(p, lambda)) return false;
    if (m < n) {
        double *r = PELT_NEW(p->work, n * m, double);
        weights = PELT_NEW(p->work, n * m, double);
        functions_at_poses(p, lambda, r);
        if (!shape_weights(p, r, weights)) return false;
    }
    const pelt_example_displacements *d = &p->distinct.displacements;
    const double *shapes = columns_of(p, weights, p->distinct.shapes, 3 * (size_t)d->point_count);
    pelt_corrective *corrective = PELT_NEW(f->arena, 1, pelt_corrective);
    *corrective = (pelt_corrective){.rbf_count = 1, .rbfs = make_rbf(p, lambda)};
    corrective->displacements =
        list_vectors(p, shapes, d->point_count, d->point_of, LEAST_SHIFT * f->bundle->mesh.diagonal);
    if (pelt_has_tilts(f)) {
        pelt_distinct_tilts tilts = pelt_distinct_tilts_of(f, &p->distinct, p->work);
        corrective->tilts = list_vectors(p, columns_of(p, weights, tilts.vectors, 3 * (size_t)tilts.point_count),
                                         tilts.point_count, tilts.point_of, LEAST_TILT);
    }
    f->model.corrective = corrective;
    f->report.poses = (pelt_pose_findings){(uint32_t)m, p->width, p->growth, .not_told_apart = -1};
    note_condition(p, lambda);
    note_bound(p, shapes);
    return true;
}

/* A blend with fitted rest positions can need a correction even at rest. */
static bool rest_is_displaced(const pelt_psd *p) {
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)p->distinct.displacements.point_count; i++)
        most = fmax(most, fabs(p->distinct.shapes[i]));
    return most > displaced * p->fitting->bundle->mesh.diagonal;
}

static bool fit(pelt_psd *p, uint32_t wanted) {
    uint32_t n = p->distinct.count;
    p->centers = PELT_NEW(p->work, n, uint32_t);
    p->skip = !rest_is_displaced(p);
    weigh_sources(p);
    bool few = wanted && wanted + 1 < n;
    list_tried(p, few ? n : PELT_PSD_TRIED);
    if (!factor_shapes(p)) return false;
    if (few) return choose_poses(p, wanted) && make_corrective(p);
    p->center_count = n;
    for (uint32_t i = 0; i < n; i++) p->centers[i] = i;
    pelt_psd_choose(p);
    return make_corrective(p);
}

pelt_result pelt_fit_psd(pelt_fitting *f, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    pelt_psd p = {.fitting = f,
                  .work = work,
                  .phi = pelt_chosen_phi(&f->options, PELT_PHI_MIXED),
                  .norm_floor = pelt_norm_floor_of(&f->options.psd)};
    pelt_result result = pelt_distinct_poses_of(f, &p.distinct, error);
    if (result || p.distinct.count < 2) return result;
    pelt_sources_of(f, &p.distinct, &p.sources);
    if (fit(&p, f->options.psd.poses)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_NUMBER,
                     "the %u poses cannot be interpolated because some are too similar: train on fewer frames",
                     p.distinct.count);
}
