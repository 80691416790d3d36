/* eigenskin_choose.c: the threshold of supports and the width of basis functions, by leave-one-out.

   Coordinates of full rank interpolate displacements themselves: with the centres' displacements U (0 for the rest
   pose) and M = phi^-1, pose p displaces point i by m_i phi(p) M U, where m_i is the point's share in the support. Left
   out are

       between   examples that lie between two others of their joint: interpolation,
       several   examples that move several joints, from which nothing here is learned: the joints' predictions add up,
       beyond    where there are none of those, the ends of the ranges of joints that have more than two: extrapolation.
                 The poses of such a joint lie beside its examples and not between them.

   Without example i, the others predict U_i - (M U)_i / M_ii for it: nothing is refitted, and the threshold only scales
   that by m_i. The width is judged on everything left out; among those nearly as good as the best, the one that
   interpolates best wins. Extrapolation errors would swamp the error outside the supports, so the threshold ignores
   them: it is the largest that is nearly as good as the best, because larger supports store more. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

enum { MOST_POINTS = 600, MOST_SEVERAL = 60, LEAST_SEVERAL = 10, WIDTHS = 19, THRESHOLDS = 4 };
static const double thresholds[THRESHOLDS] = {PELT_SUPPORT_THRESHOLD, 0.02, 0.01, 0.005};
static const double LIKE_BEST_WIDTH = 1.01, LIKE_BEST_THRESHOLD = 1.02; /* times the smallest RMS error */
static const double USUAL_WIDTH = 1.4;                                  /* radians, when the data do not tell */

/* One joint, at the points of its widest support. */
typedef struct swept {
    uint32_t mover;
    pelt_coordinates centers;
    bool between[PELT_EIGEN_CENTERS], counts[PELT_EIGEN_CENTERS]; /* whether it is left out at all */
    double outside[PELT_EIGEN_CENTERS], all[PELT_EIGEN_CENTERS];  /* squares: out of every support, and everywhere */
    uint32_t *points, point_count;
    float *shares;  /* [threshold][point] */
    double *actual; /* U: [center][point][3] */
} swept;

/* The sampled points, every n-th of the character's, numbered from 0. */
typedef struct leave_out {
    const pelt_poses *poses;
    const pelt_example_displacements *u;
    pelt_supports supports;
    size_t width_count, threshold_count;
    const double *widths, *thresholds;
    uint32_t point_count, stride;
    size_t several_count;
    uint32_t *several; /* examples */
    swept *joints;
    uint32_t joint_count;
    pelt_eigen_missed *missed; /* [width][threshold] */
} leave_out;

static const float *displacement(const leave_out *l, uint32_t example, uint32_t point) {
    return pelt_displacement(l->u, example, (size_t)point * l->stride);
}

/* -- One joint ----------------------------------------------------------------------------------------------------- */

/* Between two others, or an end that counts; the rest pose is always known. */
static void mark_centers(const leave_out *l, swept *s) {
    uint32_t n = s->centers.center_count, between = pelt_eigen_between(l->poses, s->mover, &s->centers, s->between);
    for (uint32_t i = 1; i < n; i++) s->counts[i] = s->between[i] || (!l->several_count && n - between > 2);
}

/* The points with a nonzero share at some threshold. */
static void gather_points(const leave_out *l, pelt_arena *work, swept *s) {
    s->points = PELT_NEW(work, l->point_count, uint32_t);
    s->shares = PELT_NEW(work, l->threshold_count * l->point_count, float);
    pelt_supports edges = l->supports;
    for (uint32_t i = 0; i < l->point_count; i++) {
        float most = 0;
        for (size_t t = 0; t < l->threshold_count; t++) {
            edges.threshold = l->thresholds[t];
            float share = pelt_support_share(&edges, s->mover, i * l->stride);
            s->shares[t * l->point_count + s->point_count] = share;
            most = fmaxf(most, share);
        }
        if (most > 0) s->points[s->point_count++] = i;
    }
}

static void gather_actual(const leave_out *l, pelt_arena *work, swept *s) {
    size_t row = 3 * (size_t)s->point_count;
    s->actual = PELT_NEW(work, s->centers.center_count * row, double);
    for (uint32_t c = 1; c < s->centers.center_count; c++)
        for (uint32_t i = 0; i < s->point_count; i++)
            for (size_t k = 0; k < 3; k++)
                s->actual[c * row + 3 * i + k] = displacement(l, s->centers.centers[c], s->points[i])[k];
}

static void sum_outside(const leave_out *l, swept *s) {
    for (uint32_t c = 1; c < s->centers.center_count; c++) {
        for (uint32_t i = 0; i < l->point_count; i++)
            s->all[c] += pelt_square_length(displacement(l, s->centers.centers[c], i));
        s->outside[c] = s->all[c];
        for (uint32_t i = 0; i < s->point_count; i++)
            s->outside[c] -= pelt_square_length(displacement(l, s->centers.centers[c], s->points[i]));
    }
}

static void prepare_joint(const leave_out *l, pelt_arena *work, swept *s) {
    pelt_eigen_centers(work, l->poses, s->mover, &s->centers);
    mark_centers(l, s);
    gather_points(l, work, s);
    gather_actual(l, work, s);
    sum_outside(l, s);
}

/* Errors at points outside the support at every threshold. */
static void count_outside(const leave_out *l, const swept *s, pelt_eigen_missed *missed) {
    for (uint32_t c = 1; c < s->centers.center_count; c++)
        for (size_t t = 0; t < l->threshold_count && s->counts[c]; t++) {
            pelt_eigen_missed *m = &missed[t];
            if (s->between[c])
                m->between += s->outside[c], m->all_between += s->all[c];
            else
                m->beyond += s->outside[c], m->all_beyond += s->all[c];
        }
}

/* u - m v, where v = u - (M U)_c / M_cc is the prediction by the others. */
static void leave_out_centers(const leave_out *l, pelt_arena *work, const swept *s, const double *inverse,
                              pelt_eigen_missed *missed) {
    size_t n = s->centers.center_count, row = 3 * (size_t)s->point_count;
    double *mixed = PELT_NEW(work, n * row, double);
    pelt_gemm(false, false, n, row, n, 1, inverse, s->actual, 0, mixed);
    for (size_t c = 1; c < n; c++)
        for (size_t t = 0; t < l->threshold_count && s->counts[c]; t++) {
            double sum = 0;
            for (size_t i = 0; i < row; i++) {
                double actual = s->actual[c * row + i], alone = mixed[c * row + i] / inverse[c * n + c];
                double miss = actual - s->shares[t * l->point_count + i / 3] * (actual - alone);
                sum += miss * miss;
            }
            *(s->between[c] ? &missed[t].between : &missed[t].beyond) += sum;
        }
}

/* Adds phi(p) M U for the examples that move several joints to the predictions of other joints. */
static void add_predictions(const leave_out *l, pelt_arena *work, const swept *s, const double *inverse, double width,
                            float *predicted) {
    size_t n = s->centers.center_count, row = 3 * (size_t)s->point_count, several = l->several_count;
    double *across = PELT_NEW(work, several * n, double), *weights = PELT_NEW(work, several * n, double);
    double *own = PELT_NEW(work, several * row, double);
    pelt_eigen_functions(l->poses, 1, &s->mover, several, l->several, n, s->centers.centers, width, across);
    pelt_gemm(false, false, several, n, n, 1, across, inverse, 0, weights);
    pelt_gemm(false, false, several, row, n, 1, weights, s->actual, 0, own);
    for (size_t t = 0; t < l->threshold_count; t++)
        for (size_t e = 0; e < several; e++, predicted += 3 * (size_t)l->point_count)
            for (size_t i = 0; i < row; i++)
                predicted[3 * (size_t)s->points[i / 3] + i % 3] +=
                    (float)(s->shares[t * l->point_count + i / 3] * own[e * row + i]);
}

/* -- All joints ---------------------------------------------------------------------------------------------------- */

/* predicted[threshold][several][point][3] */
static void measure_several(const leave_out *l, const float *predicted, pelt_eigen_missed *missed) {
    for (size_t t = 0; t < l->threshold_count; t++)
        for (size_t e = 0; e < l->several_count; e++)
            for (uint32_t i = 0; i < l->point_count; i++, predicted += 3) {
                const float *u = displacement(l, l->several[e], i);
                missed[t].several +=
                    pelt_square_length((float[3]){u[0] - predicted[0], u[1] - predicted[1], u[2] - predicted[2]});
                missed[t].all_several += pelt_square_length(u);
            }
}

static void try_width(void *user, size_t w, pelt_arena *scratch) {
    const leave_out *l = user;
    pelt_eigen_missed *missed = l->missed + w * l->threshold_count;
    float *predicted = PELT_NEW(scratch, 3 * l->threshold_count * l->several_count * l->point_count, float);
    for (uint32_t j = 0; j < l->joint_count; j++) {
        const swept *s = &l->joints[j];
        PELT_SCOPED pelt_arena *here = pelt_arena_inside(scratch);
        const double *inverse = pelt_eigen_inverse(here, l->poses, s->mover, &s->centers, l->widths[w]);
        count_outside(l, s, missed);
        if (inverse) {
            leave_out_centers(l, here, s, inverse, missed);
            if (l->several_count) add_predictions(l, here, s, inverse, l->widths[w], predicted);
        } else
            for (size_t t = 0; t < l->threshold_count; t++) missed[t].between = INFINITY;
    }
    measure_several(l, predicted, missed);
}

static void choose_several(leave_out *l, pelt_arena *work) {
    uint32_t *all = NULL;
    size_t count = pelt_examples_of_several(work, l->poses, &all);
    l->several_count = count < LEAST_SEVERAL ? 0 : count < MOST_SEVERAL ? count : MOST_SEVERAL;
    l->several = PELT_NEW(work, l->several_count, uint32_t);
    for (size_t e = 0; e < l->several_count; e++) l->several[e] = all[e * count / l->several_count];
}

void pelt_eigen_leave_out(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                          const pelt_supports *supports, uint32_t threads, bool sweeps_only, size_t width_count,
                          const double *widths, size_t threshold_count, const double *list, pelt_eigen_missed *missed) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    leave_out l = {.poses = poses,
                   .u = u,
                   .supports = *supports,
                   .width_count = width_count,
                   .threshold_count = threshold_count,
                   .widths = widths,
                   .thresholds = list,
                   .missed = missed};
    l.stride = (u->point_count + MOST_POINTS - 1) / MOST_POINTS;
    l.point_count = (u->point_count + l.stride - 1) / l.stride;
    memset(missed, 0, width_count * threshold_count * sizeof *missed);
    if (!sweeps_only) choose_several(&l, work);
    l.joints = PELT_NEW(work, poses->mover_count, swept);
    for (uint32_t g = 0; g < poses->mover_count; g++) {
        if (!poses->movers[g].swept || !(supports->peaks[g] > supports->noise)) continue;
        l.joints[l.joint_count].mover = g;
        prepare_joint(&l, work, &l.joints[l.joint_count++]);
    }
    PELT_SPREAD(work, threads, width_count, try_width, &l, {missed, threshold_count * sizeof *missed});
}

/* -- The choice ---------------------------------------------------------------------------------------------------- */

static double of_all(const pelt_eigen_missed *m) { return m->between + m->beyond + m->several; }

static double without_ends(const pelt_eigen_missed *m) { return m->between + m->several; }

/* Among the widths whose total error is close to the best, the one that interpolates best. */
static size_t best_width(size_t count, size_t stride, const pelt_eigen_missed *missed) {
    double least = INFINITY, between = INFINITY;
    size_t best = 0;
    for (size_t w = 0; w < count; w++) least = fmin(least, of_all(&missed[w * stride]));
    for (size_t w = 0; w < count; w++) {
        const pelt_eigen_missed *m = &missed[w * stride];
        if (of_all(m) <= LIKE_BEST_WIDTH * LIKE_BEST_WIDTH * least && m->between < between)
            between = m->between, best = w;
    }
    return best;
}

static size_t best_threshold(size_t count, const pelt_eigen_missed *missed) {
    double least = INFINITY;
    size_t t = 0;
    for (size_t i = 0; i < count; i++) least = fmin(least, without_ends(&missed[i]));
    while (without_ends(&missed[t]) > LIKE_BEST_THRESHOLD * LIKE_BEST_THRESHOLD * least) t++;
    return t;
}

pelt_eigen_choice pelt_eigen_choose(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                    const pelt_supports *supports, uint32_t threads, bool sweeps_only, double threshold,
                                    double width) {
    double widths[WIDTHS];
    const double narrowest = 0.125; /* radians, 7 degrees; the widest is 10 turns */
    for (int w = 0; w < WIDTHS; w++) widths[w] = narrowest * pow(2, 0.5 * w);
    size_t width_count = width > 0 ? 1 : WIDTHS, threshold_count = threshold > 0 ? 1 : THRESHOLDS;
    pelt_eigen_missed missed[WIDTHS * THRESHOLDS];
    pelt_eigen_leave_out(arena, poses, u, supports, threads, sweeps_only, width_count, width > 0 ? &width : widths,
                         threshold_count, threshold > 0 ? &threshold : thresholds, missed);
    size_t w = best_width(width_count, threshold_count, missed);
    const pelt_eigen_missed *row = missed + w * threshold_count;
    size_t t = best_threshold(threshold_count, row);
    bool known = row->all_between + row->all_beyond + row->all_several > 0;
    return (pelt_eigen_choice){.threshold = threshold > 0 ? threshold : thresholds[t],
                               .width = width > 0 ? width
                                        : known   ? widths[w]
                                                  : USUAL_WIDTH,
                               .missed = row[t]};
}
