/* weights.c: convex weights on the skeleton's own joints, fitted to the examples (Rhee et al. section 4).

   Each point of the mesh is an independent problem (convex.c), unless the smoothness option penalises error differences
   across mesh edges: then each point follows a modified path with its neighbours fixed (tension.h), in sweeps that
   first choose the joints and then keep them. Locks keep the file's weights of some joints or vertices. They only shift
   C: with locked weights l, s = 1 - sum l and w = s u the residual is s sum_j u_j (p_j + q / s), q = sum l p, which is
   the same problem with

       C'_jk = C_jk + d_j + d_k + |q|^2 / s^2,   d_j = <p_j, q> / s. */

#include "fit/blend/bilinear.h"
#include "fit/blend/locks.h"
#include "fit/blend/sharing.h"
#include "fit/blend/tension.h"
#include <math.h>
#include <string.h>

enum { BATCH = 256, WIDE_SWEEPS = 6, SHARE_ROUNDS = 8, HELD_SWEEPS = 12, REST_ROUNDS = 3 };
/* Joints of its block that a point may adopt, by number of users; and the size of the small problem that includes its
   own. */
enum { OFFERED = 16, SMALL = PELT_MOST_WEIGHTS + OFFERED };

/* Moments are cached between steps up to this many: 256 MB. */
static const size_t MOST_MOMENTS = (size_t)1 << 25;

/* Points whose error exceeds this fraction of the diagonal are not explained by any joint. */
static const double unexplained = 0.05;

typedef struct weighing {
    pelt_fitting *f;
    pelt_candidates candidates;
    pelt_gram gram;
    pelt_locks locks;
    bool *allowed; /* [candidate] those not locked; NULL: all */
    pelt_blend_result result;
    uint32_t most;
    enum {
        WIDE,
        CHOOSE,
        SHARE,
        HELD
    } step; /* all joints; the best few of all; fewer of these; the point's current ones */
    pelt_sharing sharing;
    double *kept_moments, *kept_energies; /* for all points, unless there are too many */
    bool smooth, alone;
    pelt_homes homes; /* if smooth: a single one, which knows all candidates */
    pelt_tension tension;
} weighing;

/* -- Locks --------------------------------------------------------------------------------------------------------- */

static void find_allowed(weighing *w) {
    if (!w->locks.candidates) return;
    w->allowed = PELT_NEW(w->f->arena, w->candidates.count, bool);
    for (uint32_t c = 0; c < w->candidates.count; c++) w->allowed[c] = !w->locks.candidates[c];
}

static void apply_locks(pelt_problem *p, const pelt_weights *locked, double free_share) {
    double square = 0;
    if (!locked->count) return;
    memset(p->gradient, 0, p->count * sizeof *p->gradient);
    for (uint32_t i = 0; i < locked->count; i++) {
        const double *column = pelt_problem_column(p, locked->joints[i]);
        for (uint32_t j = 0; j < p->count; j++) p->gradient[j] += locked->weights[i] * column[j];
    }
    for (uint32_t i = 0; i < locked->count; i++) square += locked->weights[i] * p->gradient[locked->joints[i]];
    for (uint32_t j = 0; j < p->count; j++) p->linear[j] -= p->gradient[j] / free_share;
    p->constant += square / (free_share * free_share);
    pelt_problem_forget(p);
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

typedef struct workspace {
    pelt_problem *problem;
    bool *support;         /* [candidate] */
    double *c, *factor;    /* of a small problem */
    const double *moments; /* [4 candidates] of the path to follow, */
    double energy;         /* and its energy */
} workspace;

static void set_problem(const weighing *w, workspace *b, const double rest[3], const pelt_weights *locked,
                        double share) {
    pelt_problem_set(b->problem, &w->gram, rest, b->moments, b->energy);
    apply_locks(b->problem, locked, share);
}

/* Weights over the point's current joints. */
static void fit_held(const weighing *w, workspace *b, pelt_weights *set) {
    memset(b->support, 0, w->gram.count * sizeof *b->support);
    for (uint32_t k = 0; k < set->count; k++) b->support[set->joints[k]] = true;
    pelt_convex_weights(b->problem, b->support, set);
}

/* Alternates between rest position and weights, for the chosen joints. */
static void refit_rest(const weighing *w, workspace *b, const pelt_weights *locked, double share, int rounds,
                       double rest[3], pelt_weights *set) {
    for (int round = 0; round < rounds; round++) {
        double moments[4 * PELT_MOST_WEIGHTS];
        pelt_weights all = *set;
        for (uint32_t k = 0; k < set->count; k++) all.weights[k] *= share;
        for (uint32_t k = 0; k < locked->count && all.count < PELT_MOST_WEIGHTS; k++) {
            all.joints[all.count] = locked->joints[k];
            all.weights[all.count++] = locked->weights[k];
        }
        for (uint32_t k = 0; k < all.count; k++)
            memcpy(moments + 4 * k, b->moments + 4 * (size_t)all.joints[k], 4 * sizeof *moments);
        pelt_rest_fit(&w->gram, &all, moments, true, rest);
        set_problem(w, b, rest, locked, share);
        fit_held(w, b, set);
    }
}

static double error_of(pelt_problem *problem, const pelt_weights *set) {
    double sum = 0;
    for (uint32_t k = 0; k < set->count; k++)
        for (uint32_t m = 0; m < set->count; m++)
            sum += set->weights[k] * set->weights[m] * pelt_problem_entry(problem, set->joints[k], set->joints[m]);
    return fmax(sum, 0);
}

/* The squared error of weights and rest position alone, without the smoothness term. */
static double misfit(const weighing *w, workspace *b, const double *moments, double energy, const double rest[3],
                     const pelt_weights *set) {
    pelt_problem_set(b->problem, &w->gram, rest, moments, energy);
    return error_of(b->problem, set);
}

/* The unlocked joints of a point, as shares of the free weight. */
static void free_set(const weighing *w, uint32_t point, double share, pelt_weights *set) {
    size_t at = (size_t)point * w->result.most;
    set->count = 0;
    for (uint32_t k = 0; k < w->result.counts[point]; k++)
        if (!w->locks.candidates || !w->locks.candidates[w->result.joints[at + k]]) {
            set->joints[set->count] = w->result.joints[at + k];
            set->weights[set->count++] = w->result.weights[at + k] / share;
        }
}

/* -- Sharing ------------------------------------------------------------------------------------------------------- */

/* The joints of a point, then those of its block that it may adopt; sets C for them in b->c. */
static uint32_t set_shared(const weighing *w, workspace *b, uint32_t point, const pelt_weights *set,
                           pelt_shared_joint *joints) {
    pelt_shared_list list = pelt_sharing_list(&w->sharing, point);
    uint32_t count = 0;
    for (; count < set->count; count++)
        joints[count] = (pelt_shared_joint){set->joints[count], pelt_sharing_users(list, set->joints[count])};
    for (uint32_t k = 0; k < list.count && count < set->count + OFFERED; k++) {
        uint32_t own = 0;
        while (own < set->count && set->joints[own] != list.joints[k].joint) own++;
        if (own == set->count && (!w->allowed || w->allowed[list.joints[k].joint])) joints[count++] = list.joints[k];
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k <= i; k++)
            b->c[i * count + k] = b->c[k * count + i] =
                pelt_problem_entry(b->problem, joints[i].joint, joints[k].joint);
    return count;
}

/* Convex weights after a change; false when the error exceeds the bar or a weight is too small. */
static bool try_change(const weighing *w, workspace *b, const pelt_shared_joint *joints, uint32_t count, pelt_change c,
                       double bar, const pelt_weights *set, pelt_weights *trial) {
    *trial = *set;
    trial->joints[c.out] = c.in < count ? joints[c.in].joint : set->joints[set->count - 1];
    if (c.in == count) trial->count--;
    fit_held(w, b, trial);
    for (uint32_t k = 0; k < trial->count; k++)
        if (trial->weights[k] < w->f->options.convex.prune) return false;
    return error_of(b->problem, trial) < bar;
}

/* Drops or swaps one of the point's joints. Weights of any sign have at most the error of convex ones, so they tell
   where trying is worthwhile. True when something changed. */
static bool share_joints(const weighing *w, workspace *b, uint32_t point, pelt_weights *set) {
    pelt_shared_joint joints[PELT_MOST_WEIGHTS + OFFERED];
    double bars[PELT_MOST_WEIGHTS];
    pelt_change change = {0};
    pelt_weights trial;
    fit_held(w, b, set);
    if (set->count < 2) return false;
    uint32_t count = set_shared(w, b, point, set, joints);
    double now = error_of(b->problem, set);
    for (uint32_t k = 0; k < set->count; k++) bars[k] = now + pelt_sharing_worth(&w->sharing, joints[k].users);
    while (pelt_best_change(b->c, count, set->count, bars, joints, b->factor, &change)) {
        if (try_change(w, b, joints, count, change, bars[change.out], set, &trial)) {
            *set = trial;
            return true;
        }
        bars[change.out] = -INFINITY;
    }
    return false;
}

/* -- Steps --------------------------------------------------------------------------------------------------------- */

/* Weights (shares of the free weight) and rest position in the current step. */
static void fit_free(const weighing *w, workspace *b, uint32_t point, const pelt_weights *locked, double share,
                     double rest[3], pelt_weights *set) {
    bool refit = w->f->options.fitted.rest == PELT_REST_REFIT;
    uint32_t most = w->most > locked->count ? w->most - locked->count : 1;
    if (w->step == SHARE || w->step == HELD) {
        free_set(w, point, share, set);
        set_problem(w, b, rest, locked, share);
        bool changes = w->step == HELD || (!locked->count && share_joints(w, b, point, set));
        if (refit && changes)
            refit_rest(w, b, locked, share, 1, rest, set);
        else
            fit_held(w, b, set);
        return;
    }
    set_problem(w, b, rest, locked, share);
    pelt_convex_weights(b->problem, w->allowed, set);
    if (w->step == WIDE) return;
    pelt_convex_limit(b->problem, w->allowed, most, w->f->options.convex.prune, set);
    if (refit) refit_rest(w, b, locked, share, REST_ROUNDS, rest, set);
}

static bool may_follow_any(const weighing *w) {
    bool any = !w->allowed;
    for (uint32_t c = 0; c < w->candidates.count && !any; c++) any = w->allowed[c];
    return any;
}

static void fit_point(weighing *w, workspace *b, uint32_t point) {
    uint32_t vertex = w->f->points.vertex[point];
    const double *own = w->smooth ? w->tension.own[point] : b->moments;
    double energy = w->smooth ? w->tension.energy[point][0] : b->energy;
    pelt_weights locked, set = {0};
    double held = pelt_locked_weights(w->f, &w->candidates, &w->locks, vertex, &locked), share = 1 - held, rest[3];
    for (size_t c = 0; c < 3; c++)
        rest[c] = w->step == SHARE || w->step == HELD
                      ? w->result.rest[point][c]
                      : (w->f->bundle->mesh.positions[3 * (size_t)vertex + c] - w->gram.center[c]) / w->gram.rest_scale;
    if (share > PELT_LOCKED_ENTIRELY && may_follow_any(w))
        fit_free(w, b, point, &locked, share, rest, &set);
    else if (share > PELT_LOCKED_ENTIRELY) /* every joint is locked: keep the file's weights */
        for (uint32_t k = 0; k < locked.count; k++) locked.weights[k] /= held;
    for (uint32_t k = 0; k < set.count; k++) set.weights[k] *= share;
    for (uint32_t k = 0; k < locked.count && set.count < PELT_MOST_WEIGHTS; k++) {
        set.joints[set.count] = locked.joints[k];
        set.weights[set.count++] = locked.weights[k];
    }
    if (w->step != WIDE) set.error = misfit(w, b, own, energy, rest, &set);
    pelt_blend_store(&w->result, point, &set, rest);
}

static workspace workspace_of(const weighing *w, pelt_arena *scratch) {
    return (workspace){.problem = pelt_problem_new(scratch, w->gram.count),
                       .support = PELT_NEW(scratch, w->gram.count, bool),
                       .c = PELT_NEW(scratch, SMALL * SMALL, double),
                       .factor = PELT_NEW(scratch, SMALL * SMALL, double)};
}

static void fit_batch(void *user, size_t batch, pelt_arena *scratch) {
    weighing *w = user;
    uint32_t begin = (uint32_t)batch * BATCH, left = w->f->points.count - begin, count = left < BATCH ? left : BATCH;
    size_t width = 4 * (size_t)w->gram.count;
    workspace b = workspace_of(w, scratch);
    double *moments = w->kept_moments ? w->kept_moments + begin * width : PELT_NEW(scratch, BATCH * width, double);
    double *energy = w->kept_moments ? w->kept_energies + begin : PELT_NEW(scratch, BATCH, double);
    if (!w->kept_moments || w->step == CHOOSE) {
        double *work = PELT_NEW(scratch, BATCH * 3 * w->gram.examples, double);
        pelt_gram_moments(&w->gram, w->f->points.vertex + begin, count, work, moments, energy);
    }
    for (uint32_t i = 0; i < count; i++) {
        b.moments = moments + i * width, b.energy = energy[i];
        fit_point(w, &b, begin + i);
    }
}

/* -- Smoothness ---------------------------------------------------------------------------------------------------- */

static void fit_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    weighing *w = user;
    workspace b = workspace_of(w, scratch);
    pelt_pull pull = pelt_pull_new(scratch, &w->tension, w->gram.count);
    for (size_t i = 0; i < count; i++) {
        pelt_pull_at(&w->tension, w->alone ? NULL : &w->result, points[i], w->homes.known[0], w->gram.count, true,
                     &pull);
        b.moments = pull.moments, b.energy = pull.energy;
        fit_point(w, &b, points[i]);
    }
}

/* A single home that knows all candidates. */
static void find_home(weighing *w) {
    pelt_arena *arena = w->f->arena;
    uint32_t n = w->gram.count, points = w->f->points.count, *all = PELT_NEW(arena, n, uint32_t);
    w->homes = (pelt_homes){.count = 1,
                            .home = PELT_NEW(arena, points, uint32_t),
                            .known = PELT_NEW(arena, 1, uint32_t *),
                            .known_count = PELT_NEW(arena, 1, uint32_t),
                            .near_count = PELT_NEW(arena, 1, uint32_t),
                            .place = PELT_NEW(arena, 1, uint32_t *),
                            .order = PELT_NEW(arena, points, uint32_t),
                            .first = PELT_NEW(arena, 2, uint32_t)};
    for (uint32_t c = 0; c < n; c++) all[c] = c;
    for (uint32_t p = 0; p < points; p++) w->homes.order[p] = p;
    w->homes.known[0] = w->homes.place[0] = all;
    w->homes.known_count[0] = w->homes.near_count[0] = n;
    w->homes.first[1] = points;
    pelt_cut_homes(arena, &w->homes);
}

/* Makes the points of a block share joints; `sweep` runs a step over all points. */
static void share(weighing *w, void sweep(weighing *w)) {
    uint32_t n = w->f->points.count;
    double sum = 0;
    for (uint32_t p = 0; p < n; p++) sum += w->result.errors[p];
    w->sharing = pelt_sharing_new(w->f->arena, &w->result, n, w->gram.count, sum / n);
    w->step = SHARE;
    for (int round = 0; round < SHARE_ROUNDS && pelt_sharing_group(&w->sharing, w->f->arena); round++) sweep(w);
}

static void sweep_alone(weighing *w) {
    size_t points = w->f->points.count;
    pelt_made rows[PELT_BLEND_ROWS];
    pelt_blend_rows(&w->result, rows);
    for (int r = 0; r < PELT_BLEND_ROWS; r++) rows[r].total = points * rows[r].size, rows[r].size *= BATCH;
    /* Moments that are kept stay with the rank that made them: it has the same points again. */
    pelt_spread(w->f->arena, w->f->options.threads, (points + BATCH - 1) / BATCH, fit_batch, w, PELT_BLEND_ROWS, rows);
}

static void sweep_together(weighing *w) {
    pelt_made rows[PELT_BLEND_ROWS];
    pelt_blend_rows(&w->result, rows);
    pelt_tension_sweep(&w->tension, w->f->arena, w->f->options.threads, fit_points, w, PELT_BLEND_ROWS, rows);
}

static pelt_result fit_smoothly(weighing *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    find_home(w);
    pelt_tension_new(f, &w->gram, &w->homes, pelt_find_neighbours(f->arena, &f->bundle->mesh, &f->points),
                     f->options.fitted.smooth, &w->tension);
    for (int sweep = 0; sweep < WIDE_SWEEPS + HELD_SWEEPS; sweep++) {
        const double each = 0.9 / (WIDE_SWEEPS + HELD_SWEEPS);
        if (pelt_next_task(f->arena, "weights", 0.1 + sweep * each, 0.1 + (sweep + 1) * each, 1))
            return pelt_stopped(error);
        w->alone = sweep == 0;
        w->step = sweep < WIDE_SWEEPS ? WIDE : sweep == WIDE_SWEEPS ? CHOOSE : HELD;
        sweep_together(w);
        if (w->step == CHOOSE) share(w, sweep_together);
    }
    return PELT_OK;
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

static void report(weighing *w) {
    pelt_fitting *f = w->f;
    uint32_t count = 0, first = 0;
    for (uint32_t p = w->f->points.count; p-- > 0;)
        if (sqrt(w->result.errors[p] / (double)w->gram.examples) > unexplained) count++, first = w->f->points.vertex[p];
    if (count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "unexplained",
                  "%u vertices are more than %g%% of the diagonal away from where any weights can put them (the first "
                  "is vertex %u): no joint explains their motion",
                  count, 100 * unexplained, first);
    if (3 * w->gram.examples < w->most)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "few-examples",
                  "%zu examples are too few for the weights of a vertex: add examples, or allow fewer influences",
                  w->gram.examples);
    pelt_report_twins(f, &w->candidates);
}

static pelt_result prepare(weighing *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_affine *matrices = NULL;
    pelt_result result = pelt_begin_blend(f, &matrices, &w->candidates, &w->locks, error);
    if (result) return result;
    find_allowed(w);
    pelt_gram_new(f, matrices, &w->candidates, w->smooth, NULL, &w->gram);
    return PELT_OK;
}

pelt_result pelt_fit_weights(pelt_fitting *f, pelt_error *error) {
    weighing w = {.f = f,
                  .most = f->options.influences ? f->options.influences : 4,
                  .step = CHOOSE,
                  .smooth = f->options.fitted.smooth > 0};
    pelt_result result = prepare(&w, error);
    if (result) return result;
    bool wide = w.smooth || f->options.convex.lock_joints.count; /* locked joints come on top */
    w.result = pelt_blend_result_new(f->arena, f->points.count, wide ? PELT_MOST_WEIGHTS : w.most);
    if (pelt_next_task(f->arena, "weights", 0.1, 1, 1)) return pelt_stopped(error);
    size_t moments = 4 * (size_t)w.gram.count * f->points.count;
    if (!w.smooth && moments <= MOST_MOMENTS) {
        w.kept_moments = PELT_NEW(f->arena, moments, double);
        w.kept_energies = PELT_NEW(f->arena, f->points.count, double);
    }
    if (w.smooth)
        result = fit_smoothly(&w, error);
    else
        sweep_alone(&w), share(&w, sweep_alone);
    if (result) return result;
    report(&w);
    pelt_blend_finish(f, &w.candidates, &w.gram, &w.result, w.locks.points);
    return PELT_OK;
}
