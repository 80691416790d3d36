/* convex.c: convex weights of one vertex, exactly, and the best subset of them.

       minimise w^T C w   subject to   w >= 0,  sum w = 1

   This is the point nearest to the origin in the convex hull of the columns, found by Wolfe's method: keep a set of
   joints, find the nearest point of their affine hull (C_S x = 1, x scaled to sum 1); if a weight would become
   negative, move towards that point until the first weight is zero and drop that joint; when all are positive, add the
   joint with the steepest descent; stop when there is none. Every step lowers the error and no set occurs twice, so it
   terminates, at the minimum. Sets are small, so this takes a few small Cholesky factorisations.

   Backward elimination needs the error without each joint in turn. Dropping the constraint w >= 0 yields a bound at no
   extra cost: with P the inverse of C_S projected on sum 0, removing joint a raises the error by at least w_a^2 / P_aa.
   Joints are tried in order of their bounds, until no bound is below the best error found. */

#include "fit/blend/convex.h"
#include <math.h>
#include <string.h>

enum { MOST = PELT_MOST_WEIGHTS };
static const double dependent = 1e-14;    /* of a column's own product: a joint that moves as the others do */
static const double no_weight = 1e-12;    /* weights below leave the set */
static const double rounding = 1e-9;      /* of the error, */
static const double worth_joining = 1e-3; /* and of the diagonal: a descent must be steeper for a joint to join */
static const double worth_more = 1e-6;    /* relative gain of another round */

/* -- Small dense systems ------------------------------------------------------------------------------------------- */

/* Lower Cholesky factor of C over a set, with reciprocal diagonal. A pivot lost to rounding becomes tiny but positive:
   the joint is then a combination of others, and any split among them is equally good. */
static void factor_set(pelt_problem *p, const pelt_weights *set, double (*l)[MOST]) {
    uint32_t n = set->count;
    for (uint32_t i = 0; i < n; i++) {
        const double *column = pelt_problem_column(p, set->joints[i]);
        for (uint32_t j = 0; j <= i; j++) {
            double sum = column[set->joints[j]];
            for (uint32_t k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            if (j < i) {
                l[i][j] = sum * l[j][j];
            } else {
                double least = dependent * fabs(column[set->joints[i]]) + 1e-300;
                l[i][i] = 1 / sqrt(sum > least ? sum : least);
            }
        }
    }
}

static void solve_factor(uint32_t n, double (*l)[MOST], double *x) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) x[i] -= l[i][k] * x[k];
        x[i] *= l[i][i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++) x[i] -= l[k][i] * x[k];
        x[i] *= l[i][i];
    }
}

/* The affine minimum over a set. */
static void affine_weights(pelt_problem *p, const pelt_weights *set, double (*l)[MOST], double *x) {
    double sum = 0;
    factor_set(p, set, l);
    for (uint32_t i = 0; i < set->count; i++) x[i] = 1;
    solve_factor(set->count, l, x);
    for (uint32_t i = 0; i < set->count; i++) sum += x[i];
    for (uint32_t i = 0; i < set->count; i++) x[i] /= sum;
}

/* -- Wolfe's method ------------------------------------------------------------------------------------------------ */

static void remove_at(pelt_weights *set, uint32_t i) {
    set->count--;
    memmove(set->joints + i, set->joints + i + 1, (set->count - i) * sizeof *set->joints);
    memmove(set->weights + i, set->weights + i + 1, (set->count - i) * sizeof *set->weights);
}

/* Moves to the minimum over the set, dropping joints on the way. */
static void settle(pelt_problem *p, pelt_weights *set) {
    double l[MOST][MOST], x[MOST];
    while (set->count > 1) {
        affine_weights(p, set, l, x);
        double step = 1;
        uint32_t first = MOST;
        for (uint32_t i = 0; i < set->count; i++) {
            double down = set->weights[i] - x[i];
            if (x[i] > no_weight || !(down > 0)) continue;
            double length = set->weights[i] / down;
            if (length <= step) step = length, first = i;
        }
        for (uint32_t i = 0; i < set->count; i++) set->weights[i] += step * (x[i] - set->weights[i]);
        if (first == MOST) return;
        set->weights[first] = 0;
        for (uint32_t i = set->count; i-- > 0;)
            if (set->weights[i] <= no_weight && set->count > 1) remove_at(set, i);
    }
    set->weights[0] = 1;
}

/* w^T C w, and the allowed joint outside the set with the steepest descent (UINT32_MAX: none descends). */
static uint32_t steepest(pelt_problem *p, const bool *allowed, pelt_weights *set, double *gradient) {
    uint32_t n = p->count, best = UINT32_MAX;
    memset(gradient, 0, n * sizeof *gradient);
    for (uint32_t i = 0; i < set->count; i++) {
        const double *column = pelt_problem_column(p, set->joints[i]);
        double w = set->weights[i];
        for (uint32_t j = 0; j < n; j++) gradient[j] += w * column[j];
    }
    set->error = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        set->error += set->weights[i] * gradient[set->joints[i]];
        gradient[set->joints[i]] = INFINITY;
    }
    double least = set->error - rounding * fabs(set->error) - worth_joining * p->diagonal;
    for (uint32_t j = 0; j < n; j++)
        if (gradient[j] < least && (!allowed || allowed[j])) least = gradient[j], best = j;
    return best;
}

static void descend(pelt_problem *p, const bool *allowed, pelt_weights *set, double *gradient) {
    double before = INFINITY;
    for (uint32_t round = 0; round < 4 * p->count + 16; round++) {
        settle(p, set);
        uint32_t next = steepest(p, allowed, set, gradient);
        if (next == UINT32_MAX || set->count == MOST || !(set->error < before)) return;
        before = set->error;
        set->joints[set->count] = next;
        set->weights[set->count++] = 0;
    }
}

bool pelt_convex_weights(pelt_problem *p, const bool *allowed, pelt_weights *out) {
    uint32_t start = UINT32_MAX;
    double least = INFINITY;
    for (uint32_t j = 0; j < p->count; j++) {
        double single = allowed && !allowed[j] ? INFINITY : pelt_problem_entry(p, j, j);
        if (single < least) least = single, start = j;
    }
    out->count = 0;
    if (start == UINT32_MAX) return false;
    out->count = 1, out->joints[0] = start, out->weights[0] = 1;
    descend(p, allowed, out, p->gradient);
    return true;
}

/* -- The best few -------------------------------------------------------------------------------------------------- */

static double set_error(pelt_problem *p, const pelt_weights *set) {
    double sum = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const double *column = pelt_problem_column(p, set->joints[i]);
        for (uint32_t j = 0; j < set->count; j++) sum += set->weights[i] * set->weights[j] * column[set->joints[j]];
    }
    return sum;
}

/* The convex minimum over the set without joint i. A joint that a step drops may come back. */
static void without(pelt_problem *p, const pelt_weights *set, uint32_t i, pelt_weights *out) {
    pelt_weights full = *set;
    remove_at(&full, i);
    double sum = 0;
    for (uint32_t k = 0; k < full.count; k++) sum += full.weights[k];
    for (uint32_t k = 0; k < full.count; k++) full.weights[k] = sum > 0 ? full.weights[k] / sum : 1.0 / full.count;
    *out = full;
    for (uint32_t round = 0; round < 2 * full.count; round++) {
        settle(p, out);
        out->error = set_error(p, out);
        if (out->count == full.count) return;
        double steep = out->error - rounding * fabs(out->error) - worth_joining * p->diagonal;
        uint32_t back = MOST;
        for (uint32_t k = 0; k < full.count; k++) {
            const double *column = pelt_problem_column(p, full.joints[k]);
            double slope = 0;
            bool inside = false;
            for (uint32_t s = 0; s < out->count; s++) {
                slope += out->weights[s] * column[out->joints[s]];
                inside |= out->joints[s] == full.joints[k];
            }
            if (!inside && slope < steep) steep = slope, back = k;
        }
        if (back == MOST) return;
        out->joints[out->count] = full.joints[back];
        out->weights[out->count++] = 0;
    }
}

/* Lower bounds of the error without each joint, from the affine problem. */
static void removal_bounds(pelt_problem *p, const pelt_weights *set, double *bounds) {
    double l[MOST][MOST], inverse[MOST][MOST], ones[MOST], total = 0;
    uint32_t n = set->count;
    factor_set(p, set, l);
    for (uint32_t i = 0; i < n; i++) {
        memset(inverse[i], 0, n * sizeof inverse[i][0]);
        inverse[i][i] = 1;
        solve_factor(n, l, inverse[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        ones[i] = 0;
        for (uint32_t k = 0; k < n; k++) ones[i] += inverse[i][k];
        total += ones[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        double projected = inverse[i][i] - ones[i] * ones[i] / total;
        double w = set->weights[i];
        bounds[i] = set->error + (projected > 0 ? w * w / projected : 0);
    }
}

/* Removes the joint whose loss is smallest. */
static void remove_cheapest(pelt_problem *p, pelt_weights *set) {
    double bounds[MOST];
    pelt_weights best = {.error = INFINITY}, trial;
    removal_bounds(p, set, bounds);
    for (;;) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < set->count; i++)
            if (bounds[i] < bounds[next]) next = i;
        if (!(bounds[next] < best.error)) break;
        without(p, set, next, &trial);
        if (trial.error < best.error) best = trial;
        bounds[next] = INFINITY;
    }
    *set = best;
}

static void reduce(pelt_problem *p, uint32_t most, pelt_weights *set) {
    while (set->count > most) remove_cheapest(p, set);
}

static void prune(pelt_problem *p, double least, pelt_weights *set) {
    while (set->count > 1) {
        uint32_t smallest = 0;
        for (uint32_t i = 1; i < set->count; i++)
            if (set->weights[i] < set->weights[smallest]) smallest = i;
        if (set->weights[smallest] >= least) return;
        pelt_weights rest;
        without(p, set, smallest, &rest);
        *set = rest;
    }
}

void pelt_convex_limit(pelt_problem *p, const bool *allowed, uint32_t most, double least, pelt_weights *set) {
    if (most > MOST - 1) most = MOST - 1;
    bool limited = set->count > most;
    reduce(p, most, set);
    for (int round = 0; limited && round < 4; round++) {
        pelt_weights trial = *set;
        uint32_t next = steepest(p, allowed, &trial, p->gradient);
        if (next == UINT32_MAX) break;
        trial.joints[trial.count] = next;
        trial.weights[trial.count++] = 0;
        settle(p, &trial);
        trial.error = set_error(p, &trial);
        reduce(p, most, &trial);
        if (!(trial.error < set->error * (1 - worth_more))) break;
        *set = trial;
    }
    prune(p, least, set);
}
