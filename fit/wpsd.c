/* wpsd.c: weighted pose space deformation (Kurihara & Miyata 2004; Rhee, Lewis & Neumann 2006): every vertex has a pose
   distance of its own,

       r_i(p, q)^2 = sum_s w_is d_s(p, q)^2,    w_is how much source s drives vertex i

   so the kernel matrix differs from vertex to vertex. It is inverted here, once, and folded into what it is multiplied
   with: c_i = phi_i^-1 [d_i, 1], after which D = sum_q phi_q c_iq[xyz] / sum_q phi_q c_iq[w] is exactly the formula of
   the paper, at a cost that is linear in the poses.

   Poses that differ only in what does not drive a vertex are one pose to it: they are merged there, or phi_i would be
   singular. With few principal poses, sixteen points in the order of the blocks choose theirs together, and their
   displacements are fitted to all examples, without a norm: D = sum_q phi_q c_iq. */

#include "fit/correctives.h"
#include "fit/linear.h"
#include "fit/pack.h"
#include "fit/rbf.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAME_POSE = 2e-3; /* distance below which poses are one to a vertex */
static const double LEAST_SHARE = 0.01;
static const double RIDGE = 1e-4; /* keeps least squares from large terms that cancel */

typedef struct wpsd {
    pelt_fitting *fitting;
    pelt_arena *work;
    pelt_training training;
    pelt_sources sources;
    float *weights;  /* [point][source], sum 1 or all 0 */
    uint32_t *order; /* points in the order of the blocks of their first vertices */
    pelt_phi phi;
    double width;
    uint32_t wanted;     /* poses per point; 0: all */
    float *folded;       /* [point][pose][4] */
    _Atomic bool failed; /* memory ran out on some thread */
} wpsd;

/* -- What drives a point ------------------------------------------------------------------------------------------- */

static void keep_largest(float *row, uint32_t count, uint32_t most) {
    for (;;) {
        uint32_t used = 0, least = 0;
        for (uint32_t s = 0; s < count; s++) {
            if (!(row[s] > 0)) continue;
            if (!used++ || row[s] < row[least]) least = s;
        }
        if (used <= most) return;
        row[least] = 0;
    }
}

/* Blend weight on the joints of a source. A control carries nothing; it counts by how far it displaces the point, next
   to what displaces it most. */
static double blend_share(const wpsd *w, uint32_t point, uint32_t source) {
    const float *driving = w->sources.driving + (size_t)point * w->sources.count;
    if (source < w->training.poses.driver_count && pelt_is_control(&w->training.poses.drivers[source])) {
        float most = 0;
        for (uint32_t s = 0; s < w->sources.count; s++) most = fmaxf(most, driving[s]);
        return most > 0 ? driving[source] / most : 0;
    }
    const pelt_influences *in = &w->fitting->model.influences;
    uint32_t v = w->training.displacements.vertex_of[point];
    double sum = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        if (in->joints[i] < w->training.poses.joint_count && w->training.poses.driver_of[in->joints[i]] == source)
            sum += in->weights[i];
    return sum;
}

static bool weigh_points(wpsd *w) {
    uint32_t sources = w->sources.count, points = w->training.displacements.point_count;
    const char *by = w->fitting->options.distance_weights;
    bool blend = by && !strcmp(by, "blend");
    uint32_t most = w->fitting->options.principal_joints;
    w->weights = PELT_NEW(w->work, float, (size_t)points *sources);
    if (!w->weights) return false;
    for (uint32_t p = 0; p < points; p++) {
        float *row = w->weights + (size_t)p * sources;
        double largest = 0, sum = 0;
        for (uint32_t s = 0; s < sources; s++) {
            row[s] = blend ? (float)blend_share(w, p, s) : w->sources.driving[(size_t)p * sources + s];
            largest = fmax(largest, row[s]);
        }
        if (largest < (blend ? 1e-6 : 1e-6 * w->fitting->bundle->mesh.diagonal)) largest = INFINITY;
        for (uint32_t s = 0; s < sources; s++)
            if (row[s] < LEAST_SHARE * largest) row[s] = 0;
        if (most) keep_largest(row, sources, most);
        for (uint32_t s = 0; s < sources; s++) sum += row[s];
        for (uint32_t s = 0; s < sources && sum > 0; s++) row[s] = (float)(row[s] / sum);
    }
    return true;
}

/* -- One point ----------------------------------------------------------------------------------------------------- */

/* What a point is solved with; one per call, so that points are independent. */
typedef struct bench {
    float *r2;       /* [pose][pose], lower triangle */
    double *phi;     /* [center][center] */
    double *values;  /* [center][4] */
    uint32_t *poses; /* [center] the pose that stands for it */
    uint32_t *of;    /* [pose] its center */
    float *row;      /* [center] */
    uint32_t count;  /* centers */
} bench;

static bench *open_bench(size_t n) {
    bench *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->r2 = malloc(n * n * sizeof *b->r2);
    b->phi = malloc(n * n * sizeof *b->phi);
    b->values = malloc(4 * n * sizeof *b->values);
    b->poses = malloc(n * sizeof *b->poses);
    b->of = malloc(n * sizeof *b->of);
    b->row = malloc(n * sizeof *b->row);
    return b;
}

static void close_bench(bench *b) {
    if (b) free(b->r2), free(b->phi), free(b->values), free(b->poses), free(b->of), free(b->row);
    free(b);
}

static bool bench_ready(const bench *b) { return b && b->r2 && b->phi && b->values && b->poses && b->of && b->row; }

static void point_distances(const wpsd *w, const float *row, float *r2) {
    size_t n = w->training.count;
    bool first = true;
    for (uint32_t s = 0; s < w->sources.count; s++) {
        if (!(row[s] > 0)) continue;
        const float *table = w->sources.distances + s * n * n;
        float share = row[s];
        for (size_t i = 0; i < n; i++) {
            float *to = r2 + i * n;
            const float *from = table + i * n;
            if (first)
                for (size_t k = 0; k <= i; k++) to[k] = share * from[k];
            else
                for (size_t k = 0; k <= i; k++) to[k] += share * from[k];
        }
        first = false;
    }
}

/* Centres: the first pose of each group of poses that are the same to this point. */
static void merge_poses(const wpsd *w, bench *b) {
    size_t n = w->training.count;
    float same = (float)(SAME_POSE * SAME_POSE);
    b->count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = 0;
        while (c < b->count && b->r2[i * n + b->poses[c]] >= same) c++;
        if (c == b->count) b->poses[b->count++] = i;
        b->of[i] = c;
    }
}

/* Mean displacement of the poses of each centre, and 1. */
static void merge_shapes(const wpsd *w, uint32_t point, bench *b) {
    size_t n = w->training.count, points = w->training.displacements.point_count;
    for (size_t i = 0; i < 4 * (size_t)b->count; i++) b->values[i] = 0;
    for (size_t i = 0; i < n; i++) {
        double *to = b->values + 4 * (size_t)b->of[i];
        const double *u = w->training.shapes + 3 * (i * points + point);
        for (int c = 0; c < 3; c++) to[c] += u[c];
        to[3]++;
    }
    for (size_t i = 0; i < b->count; i++) {
        for (size_t c = 0; c < 3; c++) b->values[4 * i + c] /= b->values[4 * i + 3];
        b->values[4 * i + 3] = 1;
    }
}

static void fill_phi(const wpsd *w, double width, bench *b) {
    size_t n = w->training.count, m = b->count;
    for (size_t i = 0; i < m; i++) {
        const float *r2 = b->r2 + (size_t)b->poses[i] * n;
        for (size_t k = 0; k <= i; k++) b->row[k] = r2[b->poses[k]];
        pelt_phi_row(w->phi, width, i + 1, b->row, b->phi + i * m);
        for (size_t k = 0; k < i; k++) b->phi[k * m + i] = b->phi[i * m + k];
    }
}

static const float *point_weights(const wpsd *w, uint32_t point) {
    return w->weights + (size_t)point * w->sources.count;
}

static bool is_driven(const wpsd *w, uint32_t point) {
    const float *row = point_weights(w, point);
    bool any = false;
    for (uint32_t s = 0; s < w->sources.count; s++) any |= row[s] > 0;
    return any;
}

/* All poses: exact. A tiny multiple of the identity where phi is not positive definite to working precision. */
static void fold_point(wpsd *w, uint32_t point, bench *b) {
    size_t n = w->training.count;
    point_distances(w, point_weights(w, point), b->r2);
    merge_poses(w, b);
    merge_shapes(w, point, b);
    size_t m = b->count;
    double ridge = 0;
    bool solved = false;
    for (int tries = 0; tries < 6 && !solved; tries++) {
        fill_phi(w, w->width, b);
        for (size_t i = 0; i < m; i++) b->phi[i * m + i] += ridge;
        solved = pelt_cholesky(m, b->phi);
        ridge = ridge > 0 ? 100 * ridge : 1e-10;
    }
    if (solved) pelt_cholesky_solve(m, b->phi, 4, b->values);
    float *out = w->folded + 4 * (size_t)point * n;
    for (size_t i = 0; solved && i < m; i++)
        for (size_t c = 0; c < 4; c++) out[4 * b->poses[i] + c] = (float)b->values[4 * i + c];
}

/* Points are folded many at a time, so that their tables are made once. */
enum { FOLDED = 64 };

static void fold_points(void *user, size_t part) {
    wpsd *w = user;
    uint32_t all = w->training.displacements.point_count;
    bench *b = open_bench(w->training.count);
    if (!bench_ready(b)) w->failed = true;
    for (size_t p = part * FOLDED; p < (part + 1) * FOLDED && p < all && bench_ready(b); p++)
        if (is_driven(w, (uint32_t)p)) fold_point(w, (uint32_t)p, b);
    close_bench(b);
}

/* -- Principal poses ----------------------------------------------------------------------------------------------- */

enum { GROUP = PELT_BLOCK };

/* phi of all poses (rows) and the given ones (columns) for one point. */
static void phi_columns(const wpsd *w, const bench *b, const uint32_t *poses, size_t count, double *out) {
    size_t n = w->training.count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++) {
            size_t q = poses[k], low = i < q ? i : q, high = i < q ? q : i;
            out[i * count + k] = pelt_phi_value(w->phi, w->width, b->r2[high * n + low]);
        }
}

/* Poses for a group of points: forward selection with the mean of their weights. */
static bool choose_for_group(const wpsd *w, const uint32_t *points, size_t count, bench *b, uint32_t *chosen) {
    size_t n = w->training.count, all = w->training.displacements.point_count, sources = w->sources.count;
    float *mean = calloc(sources, sizeof *mean);
    double *phi = malloc(n * n * sizeof *phi), *values = malloc(n * 3 * count * sizeof *values);
    bool ready = mean && phi && values;
    if (ready) {
        for (size_t p = 0; p < count; p++)
            for (size_t s = 0; s < sources; s++) mean[s] += w->weights[points[p] * sources + s] / (float)count;
        point_distances(w, mean, b->r2);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k <= i; k++)
                phi[i * n + k] = phi[k * n + i] = pelt_phi_value(w->phi, w->width, b->r2[i * n + k]);
        for (size_t i = 0; i < n; i++)
            for (size_t p = 0; p < count; p++)
                memcpy(values + (i * count + p) * 3, w->training.shapes + 3 * (i * all + points[p]),
                       3 * sizeof *values);
        chosen[0] = 0;
        pelt_choose_columns(n, n, phi, 3 * count, values, 1, w->wanted, chosen);
    }
    free(mean), free(phi), free(values);
    return ready;
}

/* The displacements that fit all poses best, by least squares. */
static bool fit_to_chosen(wpsd *w, uint32_t point, bench *b, const uint32_t *chosen) {
    size_t n = w->training.count, m = w->wanted, all = w->training.displacements.point_count;
    double *phi = malloc(n * m * sizeof *phi), *normal = malloc(m * m * sizeof *normal),
           *sums = calloc(3 * m, sizeof *sums);
    bool ready = phi && normal && sums;
    if (ready) {
        point_distances(w, point_weights(w, point), b->r2);
        phi_columns(w, b, chosen, m, phi);
        pelt_gemm(true, false, m, m, n, 1, phi, phi, 0, normal);
        for (size_t k = 0; k < m; k++) normal[k * m + k] *= 1 + RIDGE;
        for (size_t i = 0; i < n; i++) {
            const double *u = w->training.shapes + 3 * (i * all + point);
            for (size_t k = 0; k < m; k++)
                for (size_t c = 0; c < 3; c++) sums[3 * k + c] += phi[i * m + k] * u[c];
        }
        ready = pelt_cholesky(m, normal);
        if (ready) pelt_cholesky_solve(m, normal, 3, sums);
        float *out = w->folded + 4 * point * n;
        for (size_t k = 0; k < m && ready; k++)
            for (size_t c = 0; c < 3; c++) out[4 * chosen[k] + c] = (float)sums[3 * k + c];
    }
    free(phi), free(normal), free(sums);
    return ready;
}

static void fit_group(void *user, size_t group) {
    wpsd *w = user;
    uint32_t points[GROUP], all = w->training.displacements.point_count;
    size_t first = group * GROUP, end = first + GROUP < all ? first + GROUP : all, count = 0;
    for (size_t i = first; i < end; i++)
        if (is_driven(w, w->order[i])) points[count++] = w->order[i];
    if (!count) return;
    uint32_t *chosen = calloc(w->wanted, sizeof *chosen);
    bench *b = open_bench(w->training.count);
    bool done = chosen && bench_ready(b) && choose_for_group(w, points, count, b, chosen);
    for (size_t p = 0; p < count && done; p++) fit_to_chosen(w, points[p], b, chosen);
    if (!done) w->failed = true;
    close_bench(b), free(chosen);
}

/* -- The width ----------------------------------------------------------------------------------------------------- */

static const double widths[] = {0.5, 0.75, 1, 1.5, 2, 3, 4};
enum { WIDTHS = sizeof widths / sizeof *widths, SAMPLES = 24 };

typedef struct width_trial {
    wpsd *w;
    double errors[SAMPLES][WIDTHS];
    uint32_t points[SAMPLES];
} width_trial;

static void try_widths(void *user, size_t sample) {
    width_trial *t = user;
    const wpsd *w = t->w;
    uint32_t point = t->points[sample];
    size_t n = w->training.count;
    bench *b = is_driven(w, point) ? open_bench(n) : NULL;
    double *values = b ? malloc(3 * n * sizeof *values) : NULL;
    bool *marked = b ? calloc(n, sizeof *marked) : NULL, any = false;
    if (bench_ready(b) && values && marked) {
        point_distances(w, point_weights(w, point), b->r2);
        merge_poses(w, b);
        merge_shapes(w, point, b);
        for (size_t i = 0; i < b->count; i++) {
            marked[i] = w->training.interior[b->poses[i]];
            any |= marked[i];
            for (size_t c = 0; c < 3; c++) values[3 * i + c] = b->values[4 * i + c];
        }
        for (size_t i = 1; i < b->count && !any; i++) marked[i] = true;
        for (int k = 0; k < WIDTHS; k++) {
            double growth;
            fill_phi(w, widths[k], b);
            t->errors[sample][k] = pelt_leave_one_out(b->count, b->phi, 3, values, marked, &growth);
        }
    }
    free(values), free(marked), close_bench(b);
}

/* The points that are tried are spread over the mesh, every so many of the order. */
static bool choose_width(wpsd *w) {
    width_trial *t = calloc(1, sizeof *t);
    uint32_t points = w->training.displacements.point_count, samples = points < SAMPLES ? points : SAMPLES;
    if (!t) return false;
    t->w = w;
    for (uint32_t i = 0; i < samples; i++) t->points[i] = w->order[(uint64_t)i * points / samples];
    pelt_parallel(w->fitting->options.threads, samples, try_widths, t);
    double best = INFINITY;
    w->width = 1;
    for (int k = 0; k < WIDTHS; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < samples; i++) sum += t->errors[i][k];
        if (sum < best) best = sum, w->width = widths[k];
    }
    free(t);
    return true;
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

/* Points in the order in which their first vertices come in the blocks. */
static bool order_points(wpsd *w) {
    const pelt_example_displacements *d = &w->training.displacements;
    uint32_t *vertices = PELT_NEW(w->work, uint32_t, d->vertex_count);
    w->order = PELT_NEW(w->work, uint32_t, d->point_count);
    if (!vertices || !w->order || pelt_model_order(w->work, &w->fitting->model, vertices)) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->vertex_count; i++)
        if (d->vertex_of[d->point_of[vertices[i]]] == vertices[i]) w->order[count++] = d->point_of[vertices[i]];
    return count == d->point_count;
}

static pelt_weighted *make_weighted(wpsd *w) {
    const pelt_example_displacements *d = &w->training.displacements;
    pelt_arena *arena = w->fitting->arena;
    size_t n = w->training.count, vertices = d->vertex_count, entries = 0;
    uint32_t *first = PELT_NEW(arena, uint32_t, vertices + 1);
    for (uint32_t v = 0; first && v < vertices; v++) {
        const float *row = point_weights(w, d->point_of[v]);
        for (uint32_t s = 0; s < w->sources.count; s++)
            if (row[s] > 0) entries += w->sources.list[s].axis_count;
        first[v + 1] = (uint32_t)entries;
    }
    uint32_t *axes = PELT_NEW(arena, uint32_t, entries + 1);
    float *weights = PELT_NEW(arena, float, entries + 1), *folded = PELT_NEW(arena, float, 4 * n * vertices);
    pelt_weighted *out = PELT_NEW(arena, pelt_weighted, 1);
    if (!first || !axes || !weights || !folded || !out || entries > UINT32_MAX) return NULL;
    size_t at = 0;
    for (uint32_t v = 0; v < vertices; v++) {
        const float *row = point_weights(w, d->point_of[v]);
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
                           .unnormalised = w->wanted > 0};
    return out;
}

static bool fit(wpsd *w) {
    uint32_t points = w->training.displacements.point_count, n = w->training.count;
    w->wanted = w->fitting->options.poses && w->fitting->options.poses < n ? w->fitting->options.poses : 0;
    w->phi = w->wanted ? PELT_PHI_GAUSSIAN : PELT_PHI_MIXED;
    w->folded = PELT_NEW(w->work, float, 4 * (size_t)points * n);
    if (!w->folded || !weigh_points(w) || !order_points(w) || !choose_width(w)) return false;
    if (w->wanted)
        pelt_parallel(w->fitting->options.threads, (points + GROUP - 1) / GROUP, fit_group, w);
    else
        pelt_parallel(w->fitting->options.threads, (points + FOLDED - 1) / FOLDED, fold_points, w);
    pelt_weighted *weighted = w->failed ? NULL : make_weighted(w);
    pelt_corrective *corrective = PELT_NEW(w->fitting->arena, pelt_corrective, 1);
    if (!weighted || !corrective) return false;
    corrective->weighted = weighted;
    w->fitting->model.corrective = corrective;
    return true;
}

pelt_result pelt_fit_wpsd(pelt_fitting *f, pelt_error *error) {
    wpsd w = {.fitting = f, .work = pelt_arena_new(0)};
    pelt_result result = w.work ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    if (!result) result = pelt_training_of(f, &w.training, error);
    if (!result && w.training.count > 1) {
        result = pelt_sources_of(f, &w.training, &w.sources, error);
        if (!result && !fit(&w))
            result = pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for %u poses of %u vertices",
                               w.training.count, f->model.vertex_count);
    }
    pelt_arena_free(w.work);
    return result;
}
