/* wpsd.c: weighted pose space deformation (Kurihara & Miyata 2004; Rhee, Lewis & Neumann 2006): every vertex has its
   own pose distance,

       r_i(p, q)^2 = sum_s w_is d_s(p, q)^2,    w_is: how much source s drives vertex i

   so the kernel matrix differs from vertex to vertex. It is inverted once, here, and folded into its factors: c_i =
   phi_i^-1 [d_i, 1]; then D = sum_q phi_q c_iq[xyz] / sum_q phi_q c_iq[w] is exactly the formula of the paper, at a
   cost linear in the number of poses.

   Poses that differ only in sources that do not drive a vertex are merged for it, or phi_i would be singular;
   wpsd_weights.c ensures that this loses nothing wherever examples can be distinguished. Changes of rest normals are
   folded in the same way. With principal poses, sixteen points in block order choose theirs together, and their
   displacements are fitted to all examples, without a norm: D = sum_q phi_q c_iq. */

#include "fit/corrective/wpsd.h"
#include "fit/corrective/correctives.h"
#include "pack/pack.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_ROUNDING = 4e-6; /* of the diagonal, due to float arithmetic at run time */
static const double MOST_NARROWING = 4;
enum { MOST_ROUNDED = 256 };      /* poses: longer sums would be too inaccurate in 16 bits */
static const double RIDGE = 1e-4; /* keeps least squares from producing large terms that cancel */

/* -- One point ----------------------------------------------------------------------------------------------------- */

/* Factors phi, adding a tiny multiple of the identity if it is not positive definite to working precision. */
static bool factor_phi(const pelt_wpsd *w, pelt_wpsd_view *b) {
    enum { TRIES = 6 };
    const double first = 1e-10, growth = 100; /* from rounding up to 1 */
    double ridge = 0;
    for (int tries = 0; tries < TRIES; tries++) {
        pelt_wpsd_phi(w, w->width, b);
        for (size_t i = 0; i < b->count; i++) b->phi[i * b->count + i] += ridge;
        if (pelt_cholesky(b->count, b->phi)) return true;
        ridge = ridge > 0 ? growth * ridge : first;
    }
    return false;
}

static pelt_wpsd_series vertex_normals(const pelt_wpsd *w, uint32_t vertex) {
    return (pelt_wpsd_series){w->normals.vectors + 3 * (size_t)w->normals.point_of[vertex],
                              3 * (size_t)w->normals.point_count};
}

/* out [pose][columns] = phi^-1 times the vectors, at the centres. */
static void fold_vectors(const pelt_wpsd *w, pelt_wpsd_series vectors, size_t columns, pelt_wpsd_view *b, float *out) {
    double scale = pelt_norm_scale(w->norm_floor);
    pelt_wpsd_merge(w, vectors, columns, b);
    pelt_cholesky_solve(b->count, b->phi, columns, b->values);
    memset(out, 0, columns * w->distinct.count * sizeof *out);
    for (size_t i = 0; i < b->count; i++)
        for (size_t c = 0; c < columns; c++)
            out[columns * b->poses[i] + c] = (float)(scale * b->values[columns * i + c]);
}

/* The index of a factor's smallest pivot. */
static size_t smallest_pivot(size_t n, const double *factor) {
    size_t least = 0;
    for (size_t i = 1; i < n; i++)
        if (factor[i * n + i] < factor[least * n + least]) least = i;
    return least;
}

/* Estimates the condition number: the largest eigenvalue from the vector of ones, which is close to its eigenvector,
   the smallest as 1 / |phi^-1 e|, with e the unit vector of the smallest pivot. The upper triangle of b->phi still
   holds phi. */
static double estimate_condition(const pelt_wpsd_view *b) {
    size_t m = b->count, least = smallest_pivot(m, b->phi);
    double sum = (double)m, square = 0;
    for (size_t i = 0; i < m; i++) b->probe[i] = i == least;
    pelt_cholesky_solve(m, b->phi, 1, b->probe);
    for (size_t i = 0; i < m; i++) {
        for (size_t k = i + 1; k < m; k++) sum += 2 * b->phi[i * m + k];
        square += b->probe[i] * b->probe[i];
    }
    return sum / (double)m * sqrt(square);
}

/* D is bounded as in psd.c: |f(p)|^2 <= d^T phi^-1 d, where d are means over merged poses. */
static double squared_bound(const pelt_wpsd *w, pelt_wpsd_series shapes, const pelt_wpsd_view *b) {
    double sum = 0;
    for (size_t i = 0; i < w->distinct.count; i++)
        for (size_t c = 0; c < 3; c++)
            sum += shapes.first[shapes.stride * i + c] * b->values[4 * (size_t)b->of[i] + c] / b->tally[b->of[i]];
    return w->norm_floor > 0 ? sum / (w->norm_floor * w->norm_floor) : sum;
}

/* Folds the displacements of a point; returns the rounding error of its sum at run time: every phi is off by half a
   unit in the last place of a float, times its factor. Negative when phi cannot be inverted. */
static double fold_shapes(pelt_wpsd *w, uint32_t point, pelt_wpsd_view *b) {
    double sum = 0;
    pelt_wpsd_centers(w, point, b);
    w->conditions[point] = INFINITY;
    if (!factor_phi(w, b)) return -1;
    fold_vectors(w, pelt_wpsd_shapes(w, point), 4, b, w->folded + 4 * (size_t)w->distinct.count * point);
    w->conditions[point] = estimate_condition(b);
    w->bounds[point] = squared_bound(w, pelt_wpsd_shapes(w, point), b);
    for (const double *v = b->values; v < b->values + 4 * (size_t)b->count; v += 4)
        sum += sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    return 0x1p-24 * sum;
}

/* All poses: exact. Where examples are so close that floats would not quite reproduce them, the point's kernel is
   narrowed by scaling distances; but only slightly, and not where examples cannot be distinguished: there, wider is
   better. */
static void fold_point(pelt_wpsd *w, uint32_t point, pelt_wpsd_view *b) {
    double rounding = fold_shapes(w, point, b);
    double excess = rounding / (MOST_ROUNDING * w->fitting->bundle->mesh.diagonal);
    if (!w->shared && excess > 1 && excess < MOST_NARROWING && w->driving.left[point] == 0) {
        float *row = w->driving.weights + (size_t)point * w->sources.count;
        for (uint32_t s = 0; s < w->sources.count; s++) row[s] *= (float)(excess * excess);
        rounding = fold_shapes(w, point, b);
    }
    if (!w->normals.vectors || rounding < 0) return;
    for (uint32_t i = w->first_vertex[point]; i < w->first_vertex[point + 1]; i++)
        fold_vectors(w, vertex_normals(w, w->members[i]), 3, b,
                     w->tilts + 3 * (size_t)w->distinct.count * w->members[i]);
}

/* Points are folded in batches that share scratch memory. */
enum { FOLDED = 64 };

static void fold_points(void *user, size_t part, pelt_arena *scratch) {
    pelt_wpsd *w = user;
    uint32_t all = w->distinct.displacements.point_count;
    pelt_wpsd_view b = pelt_wpsd_view_new(scratch, w->distinct.count);
    for (size_t p = part * FOLDED; p < (part + 1) * FOLDED && p < all; p++)
        if (pelt_wpsd_driven(w, (uint32_t)p)) fold_point(w, (uint32_t)p, &b);
}

/* The two closest poses of a set, as a point sees them, ignoring merged ones. */
static void find_closest(pelt_wpsd *w, const pelt_wpsd_view *b, uint32_t point, size_t count, const uint32_t *poses) {
    size_t n = w->distinct.count;
    double least = INFINITY;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t high = poses[i] > poses[k] ? poses[i] : poses[k], low = poses[i] > poses[k] ? poses[k] : poses[i];
            if (!(b->r2[high * n + low] < least) || b->r2[high * n + low] < (float)(PELT_SAME_POSE * PELT_SAME_POSE))
                continue;
            least = b->r2[high * n + low];
            w->closest[point][0] = low, w->closest[point][1] = high;
        }
    w->distances[point] = sqrt(least);
}

/* -- Principal poses ----------------------------------------------------------------------------------------------- */

enum { GROUP = PELT_BLOCK };

/* phi of all poses (rows) and the given ones (columns) for one point. */
static void phi_columns(const pelt_wpsd *w, const pelt_wpsd_view *b, const uint32_t *poses, size_t count, double *out) {
    size_t n = w->distinct.count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++) {
            size_t q = poses[k], low = i < q ? i : q, high = i < q ? q : i;
            out[i * count + k] = pelt_phi_value(w->phi, w->width, b->r2[high * n + low]);
        }
}

/* Poses for a group of points: by forward selection with their mean weights, or by principal components. */
static uint32_t *choose_for_group(const pelt_wpsd *w, const uint32_t *points, size_t count, pelt_wpsd_view *b,
                                  pelt_arena *scratch) {
    size_t n = w->distinct.count, all = w->distinct.displacements.point_count, sources = w->sources.count;
    float *mean = PELT_NEW(scratch, sources, float);
    double *values = PELT_NEW(scratch, n * 3 * count, double);
    uint32_t *chosen = PELT_NEW(scratch, w->wanted, uint32_t); /* the first is the rest pose */
    for (size_t p = 0; p < count; p++)
        for (size_t s = 0; s < sources; s++) mean[s] += pelt_wpsd_weights(w, points[p])[s] / (float)count;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < count; p++)
            memcpy(values + (i * count + p) * 3, w->distinct.shapes + 3 * (i * all + points[p]), 3 * sizeof *values);
    if (w->fitting->options.psd.pose_choice == PELT_POSE_CHOICE_PCA) {
        pelt_choose_by_components(scratch, n, 3 * count, values, 1, w->wanted, chosen);
        return chosen;
    }
    pelt_wpsd_distances(w, mean, b->r2);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            b->phi[i * n + k] = b->phi[k * n + i] = pelt_phi_value(w->phi, w->width, b->r2[i * n + k]);
    pelt_choose_columns(scratch, n, n, b->phi, 3 * count, values, 1, w->wanted, chosen);
    return chosen;
}

/* Least squares over all poses with the kernels of the chosen ones: shared by all vectors of a point. */
typedef struct problem {
    const uint32_t *chosen;
    double *phi;    /* [pose][chosen] */
    double *normal; /* [chosen][chosen] phi^T phi, factored */
    double *matrix; /* [chosen][chosen] phi^T phi, for the condition number */
    double *sums;   /* [chosen][3] */
} problem;

static bool make_problem(pelt_wpsd *w, uint32_t point, pelt_wpsd_view *b, problem *p) {
    size_t n = w->distinct.count, m = w->wanted;
    pelt_wpsd_distances(w, pelt_wpsd_weights(w, point), b->r2);
    phi_columns(w, b, p->chosen, m, p->phi);
    pelt_gemm(true, false, m, m, n, 1, p->phi, p->phi, 0, p->normal);
    for (size_t k = 0; k < m; k++) p->normal[k * m + k] *= 1 + RIDGE;
    memcpy(p->matrix, p->normal, m * m * sizeof *p->matrix);
    w->conditions[point] = pelt_condition_of(m, p->matrix);
    find_closest(w, b, point, m, p->chosen);
    return pelt_cholesky(m, p->normal);
}

/* out [pose][columns] = normal^-1 phi^T times the vectors, at the chosen poses. */
static void fit_vectors(const pelt_wpsd *w, const problem *p, pelt_wpsd_series vectors, size_t columns, float *out) {
    size_t n = w->distinct.count, m = w->wanted;
    memset(p->sums, 0, 3 * m * sizeof *p->sums);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            for (size_t c = 0; c < 3; c++)
                p->sums[3 * k + c] += p->phi[i * m + k] * vectors.first[vectors.stride * i + c];
    pelt_cholesky_solve(m, p->normal, 3, p->sums);
    for (size_t k = 0; k < m; k++)
        for (size_t c = 0; c < 3; c++) out[columns * p->chosen[k] + c] = (float)p->sums[3 * k + c];
}

/* |f(p)|^2 <= c^T phi c. */
static double squared_size(const problem *p, size_t m) {
    double sum = 0;
    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++)
            for (size_t c = 0; c < 3; c++)
                sum += p->sums[3 * k + c] * p->phi[p->chosen[k] * m + l] * p->sums[3 * l + c];
    return sum;
}

static void fit_group(void *user, size_t group, pelt_arena *scratch) {
    pelt_wpsd *w = user;
    uint32_t points[GROUP], all = w->distinct.displacements.point_count;
    size_t n = w->distinct.count, m = w->wanted, count = 0;
    for (size_t i = group * GROUP; i < (group + 1) * GROUP && i < all; i++)
        if (pelt_wpsd_driven(w, w->order[i])) points[count++] = w->order[i];
    if (!count) return;
    pelt_wpsd_view b = pelt_wpsd_view_new(scratch, n);
    problem p = {choose_for_group(w, points, count, &b, scratch), PELT_NEW(scratch, n * m, double),
                 PELT_NEW(scratch, m * m, double), PELT_NEW(scratch, m * m, double), PELT_NEW(scratch, 3 * m, double)};
    for (size_t k = 0; k < count; k++) {
        uint32_t point = points[k];
        if (!make_problem(w, point, &b, &p)) continue;
        fit_vectors(w, &p, pelt_wpsd_shapes(w, point), 4, w->folded + 4 * n * point);
        w->bounds[point] = squared_size(&p, m);
        for (uint32_t i = w->first_vertex[point]; i < w->first_vertex[point + 1] && w->normals.vectors; i++)
            fit_vectors(w, &p, vertex_normals(w, w->members[i]), 3, w->tilts + 3 * n * w->members[i]);
    }
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* Eigenvalues cost far more than folding, so they are computed only where the estimates are worst, and at the median
   point. */
enum { MEASURED = 4 };

typedef struct measuring {
    pelt_wpsd *w;
    uint32_t points[MEASURED + 1];
} measuring;

static void measure_point(void *user, size_t i, pelt_arena *scratch) {
    pelt_wpsd *w = ((measuring *)user)->w;
    uint32_t point = ((measuring *)user)->points[i];
    pelt_wpsd_view b = pelt_wpsd_view_new(scratch, w->distinct.count);
    pelt_wpsd_centers(w, point, &b);
    pelt_wpsd_phi(w, w->width, &b);
    w->conditions[point] = pelt_condition_of(b.count, b.phi);
    find_closest(w, &b, point, b.count, b.poses);
}

static void note_findings(pelt_wpsd *w) {
    const pelt_example_displacements *d = &w->distinct.displacements;
    pelt_ranked *order = PELT_NEW(w->work, d->point_count, pelt_ranked);
    uint32_t count = 0;
    double most = 0;
    for (uint32_t p = 0; p < d->point_count; p++) {
        if (w->conditions[p] > 0) order[count++] = (pelt_ranked){w->conditions[p], p};
        most = fmax(most, w->bounds[p]);
    }
    w->fitting->report.bound = sqrt(most);
    if (!count) return;
    qsort(order, count, sizeof *order, pelt_falling_ranks);
    uint32_t measured = count < MEASURED ? count : MEASURED, worst = order[0].index, middle = order[count / 2].index;
    measuring m = {.w = w};
    for (uint32_t i = 0; i < measured; i++) m.points[i] = order[i].index;
    m.points[measured] = middle;
    if (!w->wanted)
        pelt_parallel(w->work, w->fitting->options.threads, measured + (count / 2 >= measured), measure_point, &m);
    for (uint32_t i = 0; i < measured; i++)
        if (w->conditions[order[i].index] > w->conditions[worst]) worst = order[i].index;
    pelt_condition c = {.value = w->conditions[worst],
                        .median = w->conditions[middle],
                        .where = pelt_arena_format(w->fitting->arena, "vertex %u", d->vertex_of[worst]),
                        .distance = w->distances[worst]};
    for (int i = 0; i < 2; i++) c.closest[i] = pelt_pose_example(&w->distinct, w->closest[worst][i]);
    pelt_note_condition(w->fitting, &c);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

/* Points in the block order of their first vertices. */
static void order_points(pelt_wpsd *w) {
    const pelt_example_displacements *d = &w->distinct.displacements;
    uint32_t *vertices = PELT_NEW(w->work, d->vertex_count, uint32_t);
    w->order = PELT_NEW(w->work, d->point_count, uint32_t);
    pelt_model_order(w->work, &w->fitting->model, vertices);
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->vertex_count; i++)
        if (d->vertex_of[d->point_of[vertices[i]]] == vertices[i]) w->order[count++] = d->point_of[vertices[i]];
}

/* The vertices of each point. */
static void list_members(pelt_wpsd *w) {
    const pelt_example_displacements *d = &w->distinct.displacements;
    uint32_t *end = w->first_vertex = PELT_NEW(w->work, (size_t)d->point_count + 2, uint32_t);
    w->members = PELT_NEW(w->work, d->vertex_count, uint32_t);
    for (uint32_t v = 0; v < d->vertex_count; v++) end[d->point_of[v] + 2]++;
    for (uint32_t p = 0; p < d->point_count; p++) end[p + 2] += end[p + 1];
    for (uint32_t v = 0; v < d->vertex_count; v++) w->members[end[d->point_of[v] + 1]++] = v;
}

static void make_room(pelt_wpsd *w) {
    size_t n = w->distinct.count, points = w->distinct.displacements.point_count;
    w->folded = PELT_NEW(w->work, 4 * points * n, float);
    w->conditions = PELT_NEW(w->work, points, double);
    w->bounds = PELT_NEW(w->work, points, double);
    w->distances = PELT_NEW(w->work, points, double);
    w->closest = pelt_alloc(w->work, points, sizeof *w->closest);
    if (!pelt_has_tilts(w->fitting)) return;
    w->normals = pelt_distinct_tilts_of(w->fitting, &w->distinct, w->work);
    w->tilts = PELT_NEW(w->fitting->arena, 3 * n * w->distinct.displacements.vertex_count, float);
}

static pelt_weighted *make_weighted(pelt_wpsd *w) {
    const pelt_example_displacements *d = &w->distinct.displacements;
    pelt_arena *arena = w->fitting->arena;
    size_t n = w->distinct.count, vertices = d->vertex_count, entries = 0;
    uint32_t *first = PELT_NEW(arena, vertices + 1, uint32_t);
    for (uint32_t v = 0; v < vertices; v++) {
        const float *row = pelt_wpsd_weights(w, d->point_of[v]);
        for (uint32_t s = 0; s < w->sources.count; s++)
            if (row[s] > 0) entries += w->sources.list[s].axis_count;
        first[v + 1] = (uint32_t)entries;
    }
    if (entries > UINT32_MAX) pelt_arena_fail(arena); /* more than can be indexed */
    uint32_t *axes = PELT_NEW(arena, entries, uint32_t);
    float *weights = PELT_NEW(arena, entries, float), *folded = PELT_NEW(arena, 4 * n * vertices, float);
    pelt_weighted *out = PELT_NEW(arena, 1, pelt_weighted);
    size_t at = 0;
    for (uint32_t v = 0; v < vertices; v++) {
        const float *row = pelt_wpsd_weights(w, d->point_of[v]);
        for (uint32_t s = 0; s < w->sources.count; s++)
            for (uint32_t a = 0; a < w->sources.list[s].axis_count && row[s] > 0; a++, at++) {
                axes[at] = w->sources.list[s].first_axis + a;
                weights[at] = row[s] * w->sources.axes[axes[at]].weight;
            }
        memcpy(folded + 4 * n * v, w->folded + 4 * n * d->point_of[v], 4 * n * sizeof *folded);
    }
    *out = (pelt_weighted){.axis_count = w->sources.axis_count,
                           .center_count = (uint32_t)n,
                           .axes = w->sources.axes,
                           .centers = w->sources.centers,
                           .phi = w->phi,
                           .width = (float)w->width,
                           .first = first,
                           .vertex_axes = axes,
                           .axis_weights = weights,
                           .folded = folded,
                           .folded_tilts = w->tilts,
                           .unnormalised = !(w->norm_floor > 0),
                           .scale = (float)pelt_norm_scale(w->norm_floor)};
    return out;
}

/* The fraction of all squared displacements in sweeps that is at points which do not see the mover. */
static double unseen_share(const pelt_wpsd *w) {
    const pelt_poses *poses = &w->distinct.poses;
    const pelt_example_displacements *d = &w->distinct.displacements;
    double all = 0, unseen = 0;
    for (uint32_t e = 0; e < poses->count; e++) {
        uint32_t mover = poses->sweep_of[e];
        for (uint32_t p = 0; p < d->point_count && mover != PELT_NO_MOVER; p++) {
            const float *u = pelt_displacement(d, e, p);
            double square = pelt_square_length(u);
            all += square, unseen += pelt_wpsd_weights(w, p)[mover] > 0 ? 0 : square;
        }
    }
    return all > 0 ? unseen / all : -1;
}

static double mean_drivers(const pelt_wpsd *w) {
    uint32_t points = w->distinct.displacements.point_count, driven = 0;
    double drivers = 0;
    for (uint32_t p = 0; p < points; p++) {
        double sum = 0, squares = 0;
        for (uint32_t s = 0; s < w->sources.count; s++)
            sum += pelt_wpsd_weights(w, p)[s], squares += pow(pelt_wpsd_weights(w, p)[s], 2);
        if (sum > 0) drivers += sum * sum / squares, driven++;
    }
    return driven ? drivers / driven : 0;
}

static pelt_pose_findings findings_of(const pelt_wpsd *w) {
    pelt_pose_findings out = {.poses = w->wanted ? w->wanted : w->distinct.count,
                              .width = w->width,
                              .not_told_apart = w->wanted ? -1 : 0,
                              .unseen = unseen_share(w),
                              .drivers = mean_drivers(w)};
    for (uint32_t p = 0; p < w->distinct.displacements.point_count && !w->wanted; p++)
        out.not_told_apart = fmax(out.not_told_apart, w->driving.left[p]);
    return out;
}

static void fit(pelt_wpsd *w) {
    pelt_fitting *f = w->fitting;
    uint32_t points = w->distinct.displacements.point_count, n = w->distinct.count;
    w->wanted = f->options.psd.poses && f->options.psd.poses < n ? f->options.psd.poses : 0;
    w->phi = pelt_chosen_phi(&f->options, w->wanted ? PELT_PHI_GAUSSIAN : PELT_PHI_MIXED);
    w->norm_floor = w->wanted ? 0 : pelt_norm_floor_of(&f->options.psd);
    make_room(w);
    pelt_next_task(f->arena, "wpsd: weights", 0.05, 0.2, 1);
    w->driving = pelt_weigh_points(f, &w->distinct, &w->sources, &w->normals, !w->wanted, w->work);
    order_points(w);
    list_members(w);
    pelt_next_task(f->arena, "wpsd: width", 0.2, 0.3, 1);
    w->width = f->options.psd.width;
    w->shared = f->options.wpsd.shared_width || w->width > 0;
    if (!(w->width > 0)) pelt_wpsd_choose_width(w);
    pelt_next_task(f->arena, "wpsd: fit", 0.3, 1, 1);
    size_t row = 4 * (size_t)n * sizeof *w->folded, vertices = w->distinct.displacements.vertex_count;
    pelt_made rows[] = {{w->folded, row},
                        {w->conditions, sizeof *w->conditions},
                        {w->bounds, sizeof *w->bounds},
                        {w->distances, sizeof *w->distances},
                        {w->closest, sizeof *w->closest},
                        {w->driving.weights, w->sources.count * sizeof *w->driving.weights},
                        {w->tilts, .total = 3 * n * vertices * sizeof *w->tilts}};
    uint32_t each = w->wanted ? GROUP : FOLDED;
    for (int r = 0; r < 6; r++) rows[r].total = points * rows[r].size, rows[r].size *= w->wanted ? 0 : each;
    pelt_spread(w->work, f->options.threads, (points + each - 1) / each, w->wanted ? fit_group : fold_points, w,
                w->tilts ? 7 : 6, rows);
    note_findings(w);
    pelt_corrective *corrective = PELT_NEW(f->arena, 1, pelt_corrective);
    pelt_weighted *weighted = make_weighted(w);
    corrective->weighted = weighted;
    f->model.corrective = corrective;
    if (w->norm_floor > 0 &&
        (f->options.displacement.displacements == 16 || (!f->options.displacement.displacements && n <= MOST_ROUNDED)))
        weighted->rounded = pelt_model_center_rows(f->arena, f->options.threads, &f->model);
    f->report.poses = findings_of(w);
}

pelt_result pelt_fit_wpsd(pelt_fitting *f, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    pelt_wpsd w = {.fitting = f, .work = work};
    pelt_result result = pelt_distinct_poses_of(f, &w.distinct, error);
    if (result || w.distinct.count < 2) return result;
    pelt_sources_of(f, &w.distinct, &w.sources);
    pelt_distances_apart(f->arena, &w.distinct, &w.sources);
    fit(&w);
    return PELT_OK;
}
