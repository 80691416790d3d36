/* wpsd_weights.c: what drives a point in weighted pose space deformation: the w_is of r_i^2 = sum_s w_is d_s^2.

   A source is weighted by how far it displaces the point, or by blend weight. Sources below a thousandth of the
   strongest are dropped, since every source makes more poses distinct and so stores more. But two examples that differ
   only in dropped sources are then merged, and only their mean can be reproduced. So where their shapes differ, the
   source that separates them most is restored, and so on until every example can be interpolated. A source that does
   nothing alone may act together with others: where strengths come from the examples, any source may be restored, with
   the difference it explains as its strength. */

#include "fit/corrective/wpsd.h"
#include "rig/maths.h"
#include "rig/ranks.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double LEAST_SHARE = 0.001;
static const double SAME_SHAPE = 3e-6;     /* of the diagonal */
static const double SAME_TILT = 0.01;      /* of a normal, radians */
static const double LEAST_STRENGTH = 1e-7; /* of the diagonal: less is rounding error */

/* -- Distances ----------------------------------------------------------------------------------------------------- */

void pelt_add_distances(const pelt_sources *sources, size_t n, uint32_t source, float share, float *r2) {
    const float *table = sources->distances + source * n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) r2[i * n + k] += share * table[i * n + k];
}

uint32_t pelt_merge_poses(size_t n, const float *r2, float same2, uint32_t *centers, uint32_t *of) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = 0;
        while (c < count && r2[i * n + centers[c]] >= same2) c++;
        if (c == count) centers[count++] = i;
        of[i] = c;
    }
    return count;
}

/* -- How much every source counts ---------------------------------------------------------------------------------- */

typedef struct weighing {
    const pelt_fitting *fitting;
    const pelt_distinct_poses *distinct;
    const pelt_sources *sources;
    bool apart, blend;
    uint32_t most; /* sources per point */
    const pelt_distinct_tilts *normals;
    double same; /* SAME_SHAPE as a length */
    pelt_point_weights out;
} weighing;

/* Blend weight on the joints of a source. A control carries no weight; it counts by how far it displaces the point,
   relative to the strongest displacement. */
static double blend_share(const weighing *w, uint32_t point, uint32_t source) {
    const pelt_influences *in = &w->fitting->model.influences;
    const pelt_poses *poses = &w->distinct->poses;
    if (source < poses->mover_count && pelt_is_control(&poses->movers[source])) {
        const float *driving = w->sources->driving + (size_t)point * w->sources->count;
        float most = 0;
        for (uint32_t s = 0; s < w->sources->count; s++) most = fmaxf(most, driving[s]);
        return most > 0 ? driving[source] / most : 0;
    }
    uint32_t v = w->distinct->displacements.vertex_of[point];
    double sum = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        if (in->joints[i] < poses->joint_count && poses->mover_of[in->joints[i]] == source) sum += in->weights[i];
    return sum;
}

static void find_strengths(const weighing *w, uint32_t point, float *strengths) {
    uint32_t count = w->sources->count;
    for (uint32_t s = 0; s < count; s++)
        strengths[s] = w->blend ? (float)blend_share(w, point, s) : w->sources->driving[(size_t)point * count + s];
}

/* Keeps the strongest `most` sources that have a fair share of the strongest; 0 for the others. */
static uint32_t keep_strong(const float *strengths, uint32_t count, uint32_t most, float *row) {
    uint32_t kept = 0;
    float largest = 0;
    for (uint32_t s = 0; s < count; s++) row[s] = 0, largest = fmaxf(largest, strengths[s]);
    while (kept < most) {
        uint32_t best = count;
        for (uint32_t s = 0; s < count; s++)
            if (!(row[s] > 0) && (best == count || strengths[s] > strengths[best])) best = s;
        if (best == count || !(strengths[best] > (float)LEAST_SHARE * largest)) break;
        row[best] = strengths[best], kept++;
    }
    return kept;
}

/* -- Distinguishing examples
   ---------------------------------------------------------------------------------------- */

/* Scratch memory for weighing one point after another. */
typedef struct workspace {
    float *r2;              /* [pose][pose] with unnormalised strengths */
    double *shapes;         /* [pose][6] displacement and tilt of the point, in units of the tolerance for equality */
    uint32_t *centers, *of; /* [pose] */
    float *strengths;       /* [source] */
    float *wanted;          /* [source] strength with which it is restored; 0: not at all */
} workspace;

/* The distance between two shapes, in units of the tolerance: by displacement, and by the larger of displacement and
   tilt. */
static double shift_gap(const double *a, const double *b) {
    return pelt_length((double[3]){a[0] - b[0], a[1] - b[1], a[2] - b[2]});
}

static double shape_gap(const double *a, const double *b) { return fmax(shift_gap(a, b), shift_gap(a + 3, b + 3)); }

/* Requests the dropped source that separates two poses most; false when even that is not enough. */
static bool want_separator(const weighing *w, workspace *d, const float *row, size_t a, size_t b, double gap,
                           float enough) {
    size_t n = w->distinct->count;
    uint32_t best = 0;
    float most = 0, none = w->blend ? 0 : (float)(LEAST_STRENGTH / SAME_SHAPE * w->same);
    for (uint32_t s = 0; s < w->sources->count; s++) {
        float gain = row[s] > 0 ? 0 : fmaxf(d->strengths[s], none) * w->sources->distances[(s * n + a) * n + b];
        if (gain > most) most = gain, best = s;
    }
    float strength = fmaxf(d->strengths[best], none);
    if (!w->blend) strength = fmaxf(strength, (float)(gap * w->same));
    if (!(most > 0) || d->r2[a * n + b] + strength * w->sources->distances[(best * n + a) * n + b] <= enough)
        return false;
    d->wanted[best] = fmaxf(d->wanted[best], strength);
    return true;
}

/* Marks the sources to restore; returns the largest difference between displacements that no source distinguishes,
   relative to the diagonal. */
static double mark_wanted(const weighing *w, workspace *d, const float *row, double sum, bool full) {
    size_t n = w->distinct->count;
    float same2 = (float)(PELT_SAME_POSE * PELT_SAME_POSE * sum);
    double left = 0;
    memset(d->wanted, 0, w->sources->count * sizeof *d->wanted);
    pelt_merge_poses(n, d->r2, fmaxf(same2, FLT_MIN), d->centers, d->of);
    for (size_t i = 0; i < n; i++) {
        uint32_t center = d->centers[d->of[i]];
        const double *own = d->shapes + 6 * i, *other = d->shapes + 6 * (size_t)center;
        if (shape_gap(own, other) <= 1) continue;
        double gap = shift_gap(own, other);
        if (full || !want_separator(w, d, row, i, center, gap, 1.1f * same2)) left = fmax(left, gap);
    }
    return left > 1 ? left * SAME_SHAPE : 0;
}

/* Restores weak sources until all differing examples are distinguished; returns the remaining difference. */
static double tell_apart(const weighing *w, workspace *d, uint32_t kept, float *row) {
    size_t n = w->distinct->count;
    double sum = 0, left = 0;
    memset(d->r2, 0, n * n * sizeof *d->r2);
    for (uint32_t s = 0; s < w->sources->count; s++) {
        if (!(row[s] > 0)) continue;
        pelt_add_distances(w->sources, n, s, row[s], d->r2);
        sum += row[s];
    }
    for (bool more = true; more;) {
        more = false;
        left = mark_wanted(w, d, row, sum, kept >= w->most);
        for (uint32_t s = 0; s < w->sources->count; s++) {
            if (!(d->wanted[s] > 0) || kept >= w->most) continue;
            row[s] = d->wanted[s];
            pelt_add_distances(w->sources, n, s, row[s], d->r2);
            sum += row[s];
            more = true, kept++;
        }
    }
    return left;
}

/* -- All points ---------------------------------------------------------------------------------------------------- */

/* The shapes of the point; false when none needs a corrective. */
static bool find_shapes(const weighing *w, uint32_t point, double *shapes) {
    static const double none[6] = {0};
    const pelt_example_displacements *d = &w->distinct->displacements;
    const pelt_distinct_tilts *normals = w->normals;
    double shift = 1 / w->same, tilt = 1 / SAME_TILT, largest = 0;
    size_t own = normals->vectors ? normals->point_of[d->vertex_of[point]] : 0;
    for (size_t i = 0; i < w->distinct->count; i++) {
        double *to = shapes + 6 * i;
        for (size_t c = 0; c < 3; c++) {
            to[c] = shift * w->distinct->shapes[3 * (i * d->point_count + point) + c];
            to[3 + c] = normals->vectors ? tilt * normals->vectors[3 * (i * normals->point_count + own) + c] : 0;
        }
        largest = fmax(largest, shape_gap(to, none));
    }
    return largest > 1;
}

static void weigh_point(const weighing *w, workspace *d, uint32_t point) {
    uint32_t count = w->sources->count;
    float *row = w->out.weights + (size_t)point * count;
    if (!find_shapes(w, point, d->shapes)) return;
    find_strengths(w, point, d->strengths);
    uint32_t kept = keep_strong(d->strengths, count, w->most, row);
    if (w->apart) w->out.left[point] = (float)tell_apart(w, d, kept, row);
    double sum = 0;
    for (uint32_t s = 0; s < count; s++) sum += row[s];
    for (uint32_t s = 0; s < count && sum > 0; s++) row[s] = (float)(row[s] / sum);
}

enum { PART = 64 }; /* points that share scratch memory */

static void weigh_part(void *user, size_t part, pelt_arena *scratch) {
    weighing *w = user;
    size_t n = w->distinct->count, sources = w->sources->count;
    workspace d = {.r2 = PELT_NEW(scratch, n * n, float),
                   .shapes = PELT_NEW(scratch, 6 * n, double),
                   .centers = PELT_NEW(scratch, n, uint32_t),
                   .of = PELT_NEW(scratch, n, uint32_t),
                   .strengths = PELT_NEW(scratch, sources, float),
                   .wanted = PELT_NEW(scratch, sources, float)};
    uint32_t points = w->distinct->displacements.point_count;
    for (size_t p = part * PART; p < (part + 1) * PART && p < points; p++) weigh_point(w, &d, (uint32_t)p);
}

/* The length scale of differences; a mesh of one vertex has no diagonal, so how far it is displaced. */
static double size_of(const pelt_fitting *fitting, const pelt_distinct_poses *distinct) {
    double size = fitting->bundle->mesh.diagonal;
    size_t count = size > 0 ? 0 : 3 * (size_t)distinct->count * distinct->displacements.point_count;
    for (size_t i = 0; i < count; i++) size = fmax(size, fabs(distinct->shapes[i]));
    return size > 0 ? size : 1;
}

pelt_point_weights pelt_weigh_points(const pelt_fitting *fitting, const pelt_distinct_poses *distinct,
                                     const pelt_sources *sources, const pelt_distinct_tilts *normals, bool apart,
                                     pelt_arena *arena) {
    const pelt_fit_options *options = &fitting->options;
    size_t points = distinct->displacements.point_count;
    weighing w = {.fitting = fitting, .distinct = distinct, .sources = sources, .normals = normals, .apart = apart};
    w.blend = options->psd.distance_weights == PELT_DISTANCE_BLEND;
    w.same = SAME_SHAPE * size_of(fitting, distinct);
    w.most = options->wpsd.principal_joints ? options->wpsd.principal_joints : UINT32_MAX;
    w.out.weights = PELT_NEW(arena, points * sources->count, float);
    w.out.left = PELT_NEW(arena, points, float);
    size_t row = sources->count * sizeof *w.out.weights;
    PELT_SPREAD(arena, options->threads, (points + PART - 1) / PART, weigh_part, &w,
                {w.out.weights, PART * row, points * row}, {w.out.left, PART * sizeof(float), points * sizeof(float)});
    return w.out;
}
