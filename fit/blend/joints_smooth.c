/* joints_smooth.c: driven joints with a smooth skin: joints, weights and rest positions minimise the error together
   with its differences across the mesh (tension.h),

       E = sum_p |r_p|^2 + s sum_edges |r_p - r_u|^2 + n^2 sum_p |error of its normals|^2 + ridge sum_p |w_p|^2.

   Points that choose their joints independently differ from their neighbours for no good reason: among many candidates,
   some are always nearly as good. So
   1. every point gets a *pool* of joints, from a greedy choice of its own;
   2. *competition*: all weights over the pools are fitted together, sweep by sweep, while weights become ever more
      expensive for joints that matter less than a point's best few; a joint that the neighbours need matters more.
      Losers fade before they vanish, so joints change where they carry little weight. The best few of each pool remain;
   3. *swaps*: a point swaps one of its joints for another from the pools around it if that clearly lowers E;
   4. *sharing*: it gives up joints that hardly any vertex of its block follows, for a small price (sharing.h);
   5. sweeps with fixed joints, which only lower E. */

#include "fit/blend/bilinear.h"
#include "fit/blend/influences.h"
#include "fit/blend/joints.h"
#include "fit/blend/sharing.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE = 8, LEAST_POOL = 16 };
enum {
    FREE_SWEEPS = 3,
    FADE_SWEEPS = 13,
    SETTLE_SWEEPS = 2,
    SWAP_SWEEPS = 4,
    SHARE_ROUNDS = 24,
    ROUNDS = 8,
    ROUND_SWEEPS = 8,
    ROUGH_STEP = 3, /* fraction of sweeps in a rough competition: one in this many */
    ROUGH_SWAPS = 2
};
enum { LOOPS_OF_SWEEP = 12 }; /* roughly: one per colour of the points */

/* Competition: the initial price of a weight, its growth per sweep, and the largest ratio between the price of an
   unimportant joint and that of the first one left out. */
static const double first_price = 0.1, price_growth = 2, steepest = 1e3;

/* Default smoothness: how much neighbours may raise the error of the independently fitted pools; the strength is
   doubled every sweep until they do. Errors below least_error, in diagonals, are too small to trade. Errors may always
   vary over this fraction of the diagonal: a difference across an edge of length h costs at most (length / h)^2 times
   an error, or as much as an error if edges are longer. */
static const double allowed_rise = 0.01, least_error = 1e-6, smooth_length = 0.02;

/* A swap must lower a point's cost by this fraction. */
static const double worthwhile = 0.02;

/* Sweeps end after a round that lowers E by less than this fraction. */
static const double converged = 1e-3;

/* Singular values below this fraction of the largest deserve a warning. */
static const double singular_cut = 1e-3;

static const double jitter = 1e-12;

/* The state of the competition: for every point and its pool, in the order of `wide`. */
typedef struct smoothing {
    pelt_joining *w;
    uint32_t pool;          /* maximum number of joints a point chooses from */
    pelt_blend_result wide; /* weights over the pools */
    double *importance;     /* [point][pool] squared */
    double *spread;         /* [point][pool] the same, averaged with the neighbours' */
    double *prices;         /* [point][pool] cost of a squared weight */
    double *reach;          /* [point][pool] squared distance to where the joint alone would put the point */
    double price;
    bool alone, refit;
    bool rough;       /* the skin is only compared with another: fewer sweeps, no sharing */
    double *energies; /* [point] */
} smoothing;

/* -- One point's problem ------------------------------------------------------------------------------------------- */

/* E of one point over a list of candidates, with its neighbours fixed: w^T C w with sum w = 1. If the energy of the
   path is unknown, all of C is off by the same constant, which does not affect the weights. */
typedef struct local {
    uint32_t count;
    const uint32_t *joints;
    double *c;      /* [count][count] */
    double *motion; /* [count][count]: the products of T_j h over all examples */
    double *factor, *room;
    pelt_pull pull;
} local;

static local local_new(pelt_arena *arena, const pelt_joining *w, uint32_t most) {
    size_t square = (size_t)most * most;
    return (local){.c = PELT_NEW(arena, square, double),
                   .motion = PELT_NEW(arena, square, double),
                   .factor = PELT_NEW(arena, square, double),
                   .room = PELT_NEW(arena, 4 * (size_t)most, double),
                   .pull = pelt_pull_new(arena, &w->tension, most)};
}

static void add_normals(const pelt_joining *w, uint32_t point, local *l) {
    const uint32_t *place = w->homes.place[w->homes.home[point]];
    uint32_t begin = w->facets.first[point], end = w->facets.first[point + 1];
    double scale = w->normal_scale * w->normal_scale / (end - begin), m[PELT_MONOMIALS], *linear = l->room;
    for (uint32_t f = begin; f < end; f++) {
        const double *n = w->facets.normals[f];
        pelt_monomials(n, 0, m);
        for (uint32_t i = 0; i < l->count; i++) {
            const double *b = w->facets.moments[f] + 4 * (size_t)place[l->joints[i]];
            linear[i] = b[0] * n[0] + b[1] * n[1] + b[2] * n[2];
        }
        for (uint32_t i = 0; i < l->count; i++)
            for (uint32_t k = 0; k <= i; k++)
                l->c[i * l->count + k] +=
                    scale * (pelt_quadratic_of_direction(&w->normal_gram, l->joints[i], l->joints[k], m) - linear[i] -
                             linear[k] + w->facets.energy[f]);
    }
}

/* Uses the first `count` joints of the local's pull. */
static void set_local(const pelt_joining *w, uint32_t point, const double rest[3], const uint32_t *joints,
                      uint32_t count, local *l) {
    double m[PELT_MONOMIALS], *linear = l->room;
    l->count = count, l->joints = joints;
    pelt_monomials(rest, 1, m);
    for (uint32_t i = 0; i < count; i++) {
        const double *b = l->pull.moments + 4 * (size_t)i;
        linear[i] = b[0] * rest[0] + b[1] * rest[1] + b[2] * rest[2] + b[3];
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k <= i; k++) {
            double motion = pelt_quadratic(&w->gram, joints[i], joints[k], m);
            l->motion[i * count + k] = l->motion[k * count + i] = motion;
            l->c[i * count + k] = l->pull.heaviness * (motion - linear[i] - linear[k] + l->pull.energy);
        }
    if (w->with_normals) add_normals(w, point, l);
    for (uint32_t i = 0; i < count; i++) {
        l->c[i * count + i] += (w->ridge + jitter) * (double)w->gram.examples;
        for (uint32_t k = 0; k < i; k++) l->c[k * count + i] = l->c[i * count + k];
    }
}

/* The weights minimising w^T C w with sum w = 1: all but the first, x, solve G x = c with G_ij = C_ij - C_0i - C_0j +
   C_00, c_i = C_00 - C_0i. False when G is not positive definite. */
static bool solve(local *l, double *weights) {
    uint32_t n = l->count, m = n - 1;
    const double *c = l->c;
    double *row = l->room, *z = l->room + n, sum = 0;
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j <= i; j++) row[j] = c[(i + 1) * n + j + 1] - c[i + 1] - c[j + 1] + c[0];
        if (!pelt_factor_row(l->factor, m, i, row)) return false;
        z[i] = c[0] - c[i + 1];
        for (uint32_t k = 0; k < i; k++) z[i] -= l->factor[i * m + k] * z[k];
        z[i] /= l->factor[i * m + i];
    }
    for (uint32_t i = m; i-- > 0;) {
        for (uint32_t k = i + 1; k < m; k++) z[i] -= l->factor[k * m + i] * weights[k + 1];
        sum += weights[i + 1] = z[i] / l->factor[i * m + i];
    }
    weights[0] = 1 - sum;
    return isfinite(sum);
}

static double value_of(const local *l, const double *weights) {
    double sum = 0;
    for (uint32_t i = 0; i < l->count; i++)
        for (uint32_t k = 0; k < l->count; k++) sum += weights[i] * weights[k] * l->c[i * l->count + k];
    return sum;
}

/* Product of the weighted motion with the point's own path: sum_j w_j <T_j h, y>. */
static double along_path(const local *l, const double rest[3], const double *weights) {
    double sum = 0;
    for (uint32_t k = 0; k < l->count; k++) {
        const double *m = l->pull.moments + 4 * (size_t)k, *p = l->pull.pulled + 4 * (size_t)k;
        double b[4];
        for (int c = 0; c < 4; c++) b[c] = m[c] - l->pull.share * p[c];
        sum += weights[k] * (b[0] * rest[0] + b[1] * rest[1] + b[2] * rest[2] + b[3]);
    }
    return sum;
}

/* -- Pools --------------------------------------------------------------------------------------------------------- */

static void pool_piece(void *user, size_t at, pelt_arena *scratch) {
    smoothing *s = user;
    const pelt_joining *w = s->w;
    const pelt_piece *some = &w->homes.pieces[at];
    uint32_t n = w->homes.near_count[some->home], *all = PELT_NEW(scratch, n, uint32_t);
    const uint32_t *near = w->homes.known[some->home];
    pelt_gram gram = pelt_gram_subset(scratch, &w->gram, near, n, false), normal_gram = {0};
    if (w->with_normals) normal_gram = pelt_gram_subset(scratch, &w->normal_gram, near, n, false);
    pelt_problem *problem = pelt_problem_new(scratch, n);
    double *room = PELT_NEW(scratch, (s->pool + 2) * (size_t)n, double);
    for (uint32_t i = 0; i < n; i++) all[i] = i;
    for (uint32_t i = 0; i < some->count; i++) {
        uint32_t point = w->homes.order[some->begin + i];
        pelt_weights set;
        double rest[3];
        pelt_joining_rest(w, point, rest);
        pelt_joining_problem(w, point, rest, &gram, &normal_gram, problem);
        pelt_choose_greedy(problem, all, n, s->pool, w->ridge, room, &set);
        for (uint32_t k = 0; k < set.count; k++) set.joints[k] = near[set.joints[k]];
        pelt_blend_store(&s->wide, point, &set, rest);
    }
}

/* -- Competition --------------------------------------------------------------------------------------------------- */

static pelt_weights get_set(const pelt_blend_result *r, uint32_t point) {
    pelt_weights set;
    size_t at = (size_t)point * r->most;
    set.count = r->counts[point];
    memcpy(set.joints, r->joints + at, set.count * sizeof *set.joints);
    memcpy(set.weights, r->weights + at, set.count * sizeof *set.weights);
    return set;
}

static bool is_stopped(const smoothing *s, double low, double high, uint32_t loops) {
    return pelt_next_task(s->w->f->arena, "driven joints", low, high, loops);
}

static void compete_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    smoothing *s = user;
    const pelt_joining *w = s->w;
    local l = local_new(scratch, w, s->pool);
    double examples = (double)w->gram.examples, weights[PELT_MOST_WEIGHTS];
    for (size_t i = 0; i < count; i++) {
        uint32_t point = points[i], n = s->wide.counts[point];
        size_t at = (size_t)point * s->pool;
        pelt_pull_at(&w->tension, s->alone ? NULL : &s->wide, point, s->wide.joints + at, n, false, &l.pull);
        if (w->refit && s->refit) {
            pelt_weights set = get_set(&s->wide, point);
            pelt_rest_fit(&w->gram, &set, l.pull.moments, true, s->wide.rest[point]);
        }
        set_local(w, point, s->wide.rest[point], s->wide.joints + at, n, &l);
        for (uint32_t k = 0; k < n; k++) l.c[k * n + k] += s->prices[at + k] * examples;
        if (!solve(&l, weights)) continue;
        double mean = 0;
        for (uint32_t k = 0; k < n; k++) {
            l.room[k] = 0;
            for (uint32_t m = 0; m < n; m++) l.room[k] += weights[m] * l.motion[k * n + m];
            mean += weights[k] * l.room[k];
        }
        s->wide.errors[point] = mean - 2 * along_path(&l, s->wide.rest[point], weights) + w->tension.energy[point][0];
        for (uint32_t k = 0; k < n; k++) {
            double reach = fmax((l.motion[k * n + k] - 2 * l.room[k] + mean) / examples, 0) + jitter;
            s->wide.weights[at + k] = weights[k];
            s->reach[at + k] = reach;
            s->importance[at + k] = weights[k] * weights[k] * reach;
        }
    }
}

/* The importance of a joint to a point, half its own and half its neighbours' average; and the resulting price of its
   weight. */
static void price_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    (void)scratch;
    smoothing *s = user;
    const pelt_joining *w = s->w;
    for (size_t i = 0; i < count; i++) {
        uint32_t p = points[i], n = s->wide.counts[p];
        uint32_t begin = w->neighbours.first[p], end = w->neighbours.first[p + 1];
        size_t at = (size_t)p * s->pool;
        double sorted[PELT_MOST_WEIGHTS + 1];
        for (uint32_t k = 0; k < n; k++) {
            double sum = 0;
            for (uint32_t e = begin; e < end; e++) {
                size_t other = (size_t)w->neighbours.list[e] * s->pool;
                for (uint32_t m = 0; m < s->wide.counts[w->neighbours.list[e]]; m++)
                    if (s->wide.joints[other + m] == s->wide.joints[at + k]) sum += s->importance[other + m];
            }
            s->spread[at + k] = end > begin ? (s->importance[at + k] + sum / (end - begin)) / 2 : s->importance[at + k];
            uint32_t place = k;
            for (; place > 0 && sorted[place - 1] < s->spread[at + k]; place--) sorted[place] = sorted[place - 1];
            sorted[place] = s->spread[at + k];
        }
        double bar = n > w->most ? sorted[w->most] : 0;
        for (uint32_t k = 0; k < n; k++)
            s->prices[at + k] =
                s->price * s->reach[at + k] * fmin(bar / fmax(s->spread[at + k], 1e-18), steepest * steepest);
    }
}

/* Keeps the best few of the pool in w->result; the next sweep sets the weights. */
static void keep_best(smoothing *s) {
    pelt_joining *w = s->w;
    for (uint32_t p = 0; p < w->f->points.count; p++) {
        uint32_t n = s->wide.counts[p];
        pelt_ranked order[PELT_MOST_WEIGHTS];
        pelt_weights set = {.count = n < w->most ? n : w->most};
        for (uint32_t k = 0; k < n; k++)
            order[k] = (pelt_ranked){s->spread[(size_t)p * s->pool + k], s->wide.joints[(size_t)p * s->pool + k]};
        qsort(order, n, sizeof *order, pelt_falling_ranks);
        for (uint32_t k = 0; k < set.count; k++) set.joints[k] = order[k].index;
        pelt_blend_store(&w->result, p, &set, s->wide.rest[p]);
    }
}

static double compete_once(smoothing *s) {
    const pelt_joining *w = s->w;
    double sum = 0;
    pelt_made rows[PELT_BLEND_ROWS + 2];
    pelt_blend_rows(&s->wide, rows);
    rows[PELT_BLEND_ROWS] = (pelt_made){s->reach, s->pool * sizeof *s->reach};
    rows[PELT_BLEND_ROWS + 1] = (pelt_made){s->importance, s->pool * sizeof *s->importance};
    pelt_tension_sweep(&w->tension, w->f->arena, w->f->options.threads, compete_points, s, PELT_BLEND_ROWS + 2, rows);
    for (uint32_t p = 0; p < w->f->points.count; p++) sum += fmax(s->wide.errors[p], 0);
    return sqrt(sum / ((double)w->f->points.count * (double)w->gram.examples));
}

static double most_strength(const pelt_joining *w) {
    const pelt_mesh *mesh = &w->f->bundle->mesh;
    double sum = 0, count = 0;
    for (uint32_t p = 0; p < w->f->points.count; p++)
        for (uint32_t i = w->neighbours.first[p]; i < w->neighbours.first[p + 1]; i++, count++) {
            const float *a = mesh->positions + 3 * (size_t)w->f->points.vertex[p];
            const float *b = mesh->positions + 3 * (size_t)w->f->points.vertex[w->neighbours.list[i]];
            sum += hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
        }
    double ratio = sum > 0 ? smooth_length * mesh->diagonal * count / sum : 1;
    return fmin(fmax(ratio * ratio, 1), 64);
}

static void find_strength(smoothing *s, double alone) {
    double *strength = &s->w->tension.strength, bar = alone * (1 + allowed_rise) + least_error;
    double before = 0, most = most_strength(s->w), error = compete_once(s);
    while (error < bar && *strength < most) {
        *strength *= 2, before = error;
        error = compete_once(s);
    }
    if (error > bar && before > 0) /* between the last two */
        *strength *= pow(2, -(error - bar) / fmax(error - before, 1e-300));
    *strength = fmin(*strength, most);
}

static void compete(smoothing *s) {
    pelt_joining *w = s->w;
    s->alone = true;
    double alone = compete_once(s);
    s->refit = true;
    for (int round = 0; round < 2 && w->refit; round++) alone = compete_once(s);
    s->alone = false;
    if (w->find_strength) find_strength(s, alone);
    s->refit = false;
    const double each = 0.3 / (FREE_SWEEPS + FADE_SWEEPS);
    for (int sweep = 0; sweep < FREE_SWEEPS + FADE_SWEEPS; sweep += s->rough ? ROUGH_STEP : 1) {
        is_stopped(s, 0.3 + sweep * each, 0.3 + (sweep + 1) * each, 2 * LOOPS_OF_SWEEP);
        compete_once(s);
        if (sweep < FREE_SWEEPS) continue;
        s->price = first_price * pow(price_growth, sweep - FREE_SWEEPS);
        const pelt_made rows[] = {{s->spread, s->pool * sizeof *s->spread}, {s->prices, s->pool * sizeof *s->prices}};
        pelt_tension_sweep(&w->tension, w->f->arena, w->f->options.threads, price_points, s, 2, rows);
    }
    keep_best(s);
}

/* -- Sweeps with the joints held ----------------------------------------------------------------------------------- */

/* Fits rest position and normals to the point's current weights. */
static void refit(pelt_joining *w, uint32_t point, const pelt_weights *set, const pelt_pull *pull, double rest[3]) {
    pelt_rest_fit(&w->gram, set, pull->moments, true, rest);
    if (w->with_normals) pelt_joining_fit_normals(w, point, set);
}

static void settle_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    smoothing *s = user;
    pelt_joining *w = s->w;
    local l = local_new(scratch, w, w->most);
    for (size_t i = 0; i < count; i++) {
        double rest[3];
        memcpy(rest, w->result.rest[points[i]], sizeof rest);
        pelt_weights set = get_set(&w->result, points[i]);
        if (!set.count) continue;
        pelt_pull_at(&w->tension, s->alone ? NULL : &w->result, points[i], set.joints, set.count, false, &l.pull);
        if (w->refit && !s->alone) refit(w, points[i], &set, &l.pull, rest);
        set_local(w, points[i], rest, set.joints, set.count, &l);
        if (solve(&l, set.weights)) pelt_blend_store(&w->result, points[i], &set, rest);
    }
}

/* -- Swaps --------------------------------------------------------------------------------------------------------- */

/* Joints a point may swap in: from its pool and its neighbours', in the order they were chosen. */
typedef struct offer {
    uint32_t count;
    uint32_t joints[2 * PELT_MOST_WEIGHTS];
} offer;

static const double neighbours_say = 0.2; /* each, in which joints a point is offered; its own is 1 */

static void make_offer(const smoothing *s, uint32_t point, const pelt_weights *set, double *score, offer *out) {
    const pelt_joining *w = s->w;
    uint32_t home = w->homes.home[point], near = w->homes.near_count[home];
    uint32_t begin = w->neighbours.first[point], end = w->neighbours.first[point + 1];
    memset(score, 0, near * sizeof *score);
    for (uint32_t e = begin; e <= end; e++) {
        uint32_t other = e < end ? w->neighbours.list[e] : point;
        for (uint32_t k = 0; k < s->wide.counts[other]; k++) {
            uint32_t place = w->homes.place[home][s->wide.joints[(size_t)other * s->pool + k]];
            if (place < near) score[place] += (e < end ? neighbours_say : 1) / (k + 1);
        }
    }
    out->count = set->count;
    memcpy(out->joints, set->joints, set->count * sizeof *out->joints);
    for (uint32_t k = 0; k < set->count; k++) score[w->homes.place[home][set->joints[k]]] = 0;
    for (uint32_t added = 0; added < s->pool; added++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < near; i++)
            if (score[i] > score[best]) best = i;
        if (!(score[best] > 0)) break;
        score[best] = 0;
        out->joints[out->count++] = w->homes.known[home][best];
    }
}

/* Applies a change to the set and the local problem; false when it has no solution. */
static bool make_change(const pelt_joining *w, uint32_t point, const double rest[3], pelt_change c, local *l,
                        pelt_weights *set) {
    uint32_t from = c.in < l->count ? c.in : set->count - 1;
    set->joints[c.out] = l->joints[from];
    memmove(l->pull.moments + 4 * (size_t)c.out, l->pull.moments + 4 * (size_t)from, 4 * sizeof *l->pull.moments);
    if (c.in == l->count) set->count--;
    set_local(w, point, rest, set->joints, set->count, l);
    return solve(l, set->weights);
}

/* Gives a point the best change to one of the `all` joints, of which the first are its own, and new weights. Without a
   sharing, the change must be worthwhile; with one, it may be worse by what sharing is worth. */
static void improve_point(const smoothing *s, uint32_t point, const uint32_t *joints, uint32_t all,
                          const pelt_sharing *sharing, const pelt_shared_joint *offered, local *l, pelt_weights *set) {
    pelt_joining *w = s->w;
    pelt_change best = {0};
    double rest[3], bars[PELT_MOST_WEIGHTS];
    memcpy(rest, w->result.rest[point], sizeof rest);
    pelt_pull_at(&w->tension, &w->result, point, joints, all, true, &l->pull);
    if (w->refit) refit(w, point, set, &l->pull, rest);
    set_local(w, point, rest, joints, set->count, l);
    if (!solve(l, set->weights)) return;
    double now = value_of(l, set->weights);
    for (uint32_t k = 0; k < set->count; k++)
        bars[k] = sharing ? now + pelt_sharing_worth(sharing, offered[k].users) : now * (1 - worthwhile);
    set_local(w, point, rest, joints, all, l);
    if (pelt_best_change(l->c, l->count, set->count, bars, offered, l->factor, &best) &&
        !make_change(w, point, rest, best, l, set))
        return;
    pelt_blend_store(&w->result, point, set, rest);
}

static void swap_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    smoothing *s = user;
    const pelt_joining *w = s->w;
    local l = local_new(scratch, w, w->most + s->pool);
    double *score = PELT_NEW(scratch, w->candidates.count, double);
    for (size_t i = 0; i < count; i++) {
        offer all;
        pelt_weights set = get_set(&w->result, points[i]);
        if (!set.count) continue;
        make_offer(s, points[i], &set, score, &all);
        improve_point(s, points[i], all.joints, all.count, NULL, NULL, &l, &set);
    }
}

/* -- Sharing -------------------------------------------------------------------------------------------------------
   Like swaps, but for joints that the point's block has (sharing.h). */

typedef struct shared_smoothing {
    smoothing *s;
    pelt_sharing sharing;
} shared_smoothing;

/* The joints of a point, then those of its block that it may use. */
static uint32_t list_shared(const shared_smoothing *g, uint32_t point, const pelt_weights *set,
                            pelt_shared_joint *joints) {
    const pelt_homes *homes = &g->s->w->homes;
    uint32_t home = homes->home[point], count = 0;
    pelt_shared_list list = pelt_sharing_list(&g->sharing, point);
    for (; count < set->count; count++)
        joints[count] = (pelt_shared_joint){set->joints[count], pelt_sharing_users(list, set->joints[count])};
    for (uint32_t k = 0; k < list.count && count < set->count + g->s->pool; k++) {
        uint32_t own = 0;
        while (own < set->count && set->joints[own] != list.joints[k].joint) own++;
        if (own == set->count && homes->place[home][list.joints[k].joint] < homes->near_count[home])
            joints[count++] = list.joints[k];
    }
    return count;
}

static void share_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    shared_smoothing *g = user;
    const pelt_joining *w = g->s->w;
    local l = local_new(scratch, w, w->most + g->s->pool);
    for (size_t i = 0; i < count; i++) {
        uint32_t joints[2 * PELT_MOST_WEIGHTS];
        pelt_shared_joint offered[2 * PELT_MOST_WEIGHTS];
        pelt_weights set = get_set(&w->result, points[i]);
        if (set.count < 2) continue;
        uint32_t all = list_shared(g, points[i], &set, offered);
        for (uint32_t k = 0; k < all; k++) joints[k] = offered[k].joint;
        improve_point(g->s, points[i], joints, all, &g->sharing, offered, &l, &set);
    }
}

/* -- Energy -------------------------------------------------------------------------------------------------------- */

/* Each point's share of E. Edges: s sum |r_p - r_u|^2 equals the sum over all points of s r_p . sum_u (r_p - r_u). */
static void weigh_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    smoothing *s = user;
    pelt_joining *w = s->w;
    local l = local_new(scratch, w, w->most);
    for (size_t i = 0; i < count; i++) {
        const double *rest = w->result.rest[points[i]];
        double own = 0, motion = 0, product = 0;
        pelt_weights set = get_set(&w->result, points[i]);
        pelt_pull_at(&w->tension, NULL, points[i], set.joints, set.count, true, &l.pull);
        set_local(w, points[i], rest, set.joints, set.count, &l);
        own = value_of(&l, set.weights);
        for (uint32_t k = 0; k < set.count; k++)
            for (uint32_t m = 0; m < set.count; m++)
                motion += set.weights[k] * set.weights[m] * l.motion[k * set.count + m];
        double square = motion - 2 * along_path(&l, rest, set.weights) + l.pull.energy; /* |r|^2 */
        pelt_pull_at(&w->tension, &w->result, points[i], set.joints, set.count, true, &l.pull);
        for (uint32_t k = 0; k < set.count; k++) {
            const double *b = l.pull.pulled + 4 * (size_t)k;
            product += set.weights[k] * (b[0] * rest[0] + b[1] * rest[1] + b[2] * rest[2] + b[3]);
        }
        product -= l.pull.along; /* r . sum_u r_u */
        s->energies[points[i]] = own + (l.pull.heaviness - 1) * square - w->tension.strength * product;
    }
}

static double energy(smoothing *s) {
    double sum = 0;
    pelt_tension_sweep(&s->w->tension, s->w->f->arena, s->w->f->options.threads, weigh_points, s, 1,
                       &(pelt_made){s->energies, sizeof *s->energies});
    for (uint32_t p = 0; p < s->w->f->points.count; p++) sum += s->energies[p];
    return sum;
}

/* -- Rank ---------------------------------------------------------------------------------------------------------- */

/* Whether the examples alone determine the weights of a point. */
static void check_points(void *user, const uint32_t *points, size_t count, pelt_arena *scratch) {
    smoothing *s = user;
    pelt_joining *w = s->w;
    local l = local_new(scratch, w, w->most);
    for (size_t i = 0; i < count; i++) {
        pelt_weights set = get_set(&w->result, points[i]);
        if (!set.count) continue;
        w->rest_deficient[points[i]] = pelt_rest_is_deficient(&w->gram, &set, singular_cut);
        pelt_problem *problem = pelt_problem_new(scratch, set.count);
        pelt_pull_at(&w->tension, NULL, points[i], set.joints, set.count, true, &l.pull);
        set_local(w, points[i], w->result.rest[points[i]], set.joints, set.count, &l);
        problem->diagonal = (w->ridge + jitter) * (double)w->gram.examples;
        memcpy(problem->columns, l.c, set.count * (size_t)set.count * sizeof *l.c);
        for (uint32_t k = 0; k < set.count; k++) set.joints[k] = k;
        w->deficient[points[i]] = (uint8_t)pelt_affine_weights(problem, 0, singular_cut, &set);
    }
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

/* A sweep that changes weights, rest positions and normals, or finds out how well they are determined. */
static void sweep_result(pelt_joining *w, pelt_points_body body, void *user) {
    pelt_made rows[PELT_BLEND_ROWS + 3];
    size_t count = PELT_BLEND_ROWS;
    pelt_blend_rows(&w->result, rows);
    rows[count++] = (pelt_made){w->deficient, sizeof *w->deficient};
    rows[count++] = (pelt_made){w->rest_deficient, sizeof *w->rest_deficient};
    if (w->refit && w->with_normals)
        rows[count++] = (pelt_made){w->facets.normals, .total = w->facets.count * sizeof *w->facets.normals};
    pelt_tension_sweep(&w->tension, w->f->arena, w->f->options.threads, body, user, count, rows);
}

/* Sweeps that advance the progress from `low` to `high`. */
static void sweep(smoothing *s, int times, pelt_points_body body, double low, double high) {
    double each = (high - low) / times;
    for (int i = 0; i < times; i++) {
        is_stopped(s, low + i * each, low + (i + 1) * each, LOOPS_OF_SWEEP);
        sweep_result(s->w, body, s);
    }
}

/* Shares are priced by the mean error over all points, including what neighbours and normals add. */
static void share(smoothing *s) {
    pelt_joining *w = s->w;
    uint32_t n = w->f->points.count;
    shared_smoothing g = {s, pelt_sharing_new(w->f->arena, &w->result, n, w->candidates.count, energy(s) / n)};
    for (int round = 0; round < SHARE_ROUNDS && pelt_sharing_group(&g.sharing, w->f->arena); round++) {
        double low = 0.8 + 0.05 * round / SHARE_ROUNDS;
        is_stopped(s, low, low + 0.05 / SHARE_ROUNDS, LOOPS_OF_SWEEP);
        sweep_result(w, share_points, &g);
    }
}

void pelt_join_settle(pelt_joining *w) {
    smoothing s = {.w = w, .rough = w->f->rough, .energies = PELT_NEW(w->f->arena, w->f->points.count, double)};
    w->rounds = PELT_NEW(w->f->arena, ROUNDS + 1, double), w->round_count = 0;
    w->rounds[w->round_count++] = energy(&s);
    for (int round = 0; round < ROUNDS; round++) {
        double each = 0.15 / ROUNDS, before = w->rounds[w->round_count - 1];
        sweep(&s, ROUND_SWEEPS, settle_points, 0.85 + each * round, 0.85 + each * (round + 1));
        w->rounds[w->round_count++] = energy(&s);
        if (!(w->rounds[w->round_count - 1] < (1 - converged) * before)) break;
    }
    sweep(&s, 1, check_points, 1, 1);
}

pelt_result pelt_join_smooth(pelt_joining *w, pelt_error *error) {
    uint32_t n = w->f->points.count, pool = w->most + SPARE > LEAST_POOL ? w->most + SPARE : LEAST_POOL;
    smoothing s = {.w = w,
                   .pool = pool < PELT_MOST_WEIGHTS ? pool : PELT_MOST_WEIGHTS,
                   .rough = w->f->rough,
                   .energies = PELT_NEW(w->f->arena, n, double)};
    size_t room = (size_t)n * s.pool;
    s.wide = pelt_blend_result_new(w->f->arena, n, s.pool);
    s.importance = PELT_NEW(w->f->arena, room, double), s.spread = PELT_NEW(w->f->arena, room, double);
    s.prices = PELT_NEW(w->f->arena, room, double), s.reach = PELT_NEW(w->f->arena, room, double);
    if (is_stopped(&s, 0.1, 0.15, 1)) return pelt_stopped(error);
    pelt_made rows[PELT_BLEND_ROWS];
    pelt_blend_rows(&s.wide, rows);
    for (int r = 0; r < PELT_BLEND_ROWS; r++) rows[r].total = n * rows[r].size, rows[r].size = 0;
    pelt_spread(w->f->arena, w->f->options.threads, w->homes.piece_count, pool_piece, &s, PELT_BLEND_ROWS, rows);
    if (is_stopped(&s, 0.15, 0.3, 10 * LOOPS_OF_SWEEP)) return pelt_stopped(error);
    compete(&s);
    if (is_stopped(&s, 0.6, 0.6, 1)) return pelt_stopped(error);
    s.alone = true;
    sweep(&s, 1, settle_points, 0.6, 0.63);
    s.alone = false;
    sweep(&s, SETTLE_SWEEPS, settle_points, 0.63, 0.7);
    sweep(&s, s.rough ? ROUGH_SWAPS : SWAP_SWEEPS, swap_points, 0.7, 0.8);
    if (!s.rough) share(&s);
    if (is_stopped(&s, 0.85, 0.85, 1)) return pelt_stopped(error);
    pelt_join_settle(w);
    return PELT_OK;
}
