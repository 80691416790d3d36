/* influences.c: which joints a vertex follows.

   Rigidity (Mohr & Gleicher 5.1): seen from joint j, the vertex is at (T_j^e)^-1 v^e in example e. The smaller the
   diameter of these points, the more rigidly the vertex follows the joint.

   Greedy: forward selection on the residual, which is a pivoted Cholesky factorisation of the normal matrix G of the
   affine problem (bilinear.c) stopped after a few steps. With d the remaining diagonal of G and c the remaining
   right-hand side, adding joint j lowers the squared error by c_j^2 / d_j. */

#include "fit/blend/influences.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Greedy -------------------------------------------------------------------------------------------------------- */

static uint32_t best_single(pelt_problem *p, const uint32_t *near, uint32_t count) {
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        double error = pelt_problem_entry(p, near[i], near[i]);
        if (error < least) least = error, best = i;
    }
    return best;
}

void pelt_choose_greedy(pelt_problem *p, const uint32_t *near, uint32_t n, uint32_t most, double ridge, double *room,
                        pelt_weights *out) {
    double *left = room, *gain = room + n, *factor = room + 2 * (size_t)n;
    uint32_t start = best_single(p, near, n);
    const double *first = pelt_problem_column(p, near[start]);
    double corner = first[near[start]] - p->diagonal;
    ridge = ridge * (p->gram ? (double)p->gram->examples : 1) + p->diagonal;
    for (uint32_t i = 0; i < n; i++) {
        gain[i] = corner - first[near[i]];
        left[i] = i == start
                      ? 0
                      : pelt_problem_entry(p, near[i], near[i]) - p->diagonal + corner - 2 * first[near[i]] + ridge;
    }
    out->count = 1, out->joints[0] = near[start];
    for (uint32_t step = 0; out->count < most && out->count < n; step++) {
        uint32_t best = n;
        double largest = 0;
        for (uint32_t i = 0; i < n; i++) {
            double lowered = left[i] > ridge / 2 ? gain[i] * gain[i] / left[i] : 0;
            if (lowered > largest) largest = lowered, best = i;
        }
        if (best == n) break;
        const double *column = pelt_problem_column(p, near[best]);
        double *l = factor + (size_t)step * n, root = sqrt(left[best]), share = gain[best] / root;
        for (uint32_t i = 0; i < n; i++) l[i] = column[near[i]] - first[near[i]] - first[near[best]] + corner;
        l[best] += ridge - p->diagonal;
        for (uint32_t s = 0; s < step; s++) {
            const double *before = factor + (size_t)s * n;
            for (uint32_t i = 0; i < n; i++) l[i] -= before[best] * before[i];
        }
        for (uint32_t i = 0; i < n; i++) {
            l[i] /= root;
            gain[i] -= l[i] * share;
            left[i] -= l[i] * l[i];
        }
        left[best] = 0;
        out->joints[out->count++] = near[best];
    }
    for (uint32_t i = 0; i < out->count; i++) out->weights[i] = 0;
}

enum { FEW = 24 }; /* examples that suffice to rule out most joints */

/* -- Rigidity ------------------------------------------------------------------------------------------------------ */

static double square_distance(const double *xyz, size_t n, size_t a, size_t b) {
    double x = xyz[a] - xyz[b], y = xyz[n + a] - xyz[n + b], z = xyz[2 * n + a] - xyz[2 * n + b];
    return x * x + y * y + z * z;
}

/* The point farthest from a position; also its squared distance. */
static size_t farthest(const double *xyz, size_t n, const double from[3], double *square) {
    size_t best = 0;
    *square = -1;
    for (size_t i = 0; i < n; i++) {
        double x = xyz[i] - from[0], y = xyz[n + i] - from[1], z = xyz[2 * n + i] - from[2];
        double s = x * x + y * y + z * z;
        if (s > *square) *square = s, best = i;
    }
    return best;
}

/* Two points are at most as far apart as the sum of their distances from a centre. Walking between extremes usually
   finds the largest distance at once; then only points far from the centre need comparing, in descending order of
   radius. */
double pelt_cloud_diameter(const double *xyz, size_t n, double enough, double *room) {
    double best = 0, square, from[3] = {xyz[0], xyz[n], xyz[2 * n]}, low[3], high[3];
    for (int walk = 0; walk < 3; walk++) {
        size_t far = farthest(xyz, n, from, &square);
        best = fmax(best, square);
        for (size_t c = 0; c < 3; c++) from[c] = xyz[c * n + far];
    }
    if (sqrt(best) > enough) return sqrt(best);
    for (size_t c = 0; c < 3; c++) {
        low[c] = high[c] = xyz[c * n];
        for (size_t i = 1; i < n; i++) low[c] = fmin(low[c], xyz[c * n + i]), high[c] = fmax(high[c], xyz[c * n + i]);
        from[c] = (low[c] + high[c]) / 2;
    }
    pelt_ranked *radii = (pelt_ranked *)(void *)room;
    for (size_t i = 0; i < n; i++) {
        double x = xyz[i] - from[0], y = xyz[n + i] - from[1], z = xyz[2 * n + i] - from[2];
        radii[i] = (pelt_ranked){sqrt(x * x + y * y + z * z), (uint32_t)i};
    }
    qsort(radii, n, sizeof *radii, pelt_falling_ranks);
    double diameter = sqrt(best);
    for (size_t i = 0; i < n && 2 * radii[i].value > diameter; i++)
        for (size_t j = i + 1; j < n && radii[i].value + radii[j].value > diameter; j++)
            diameter = fmax(diameter, sqrt(square_distance(xyz, n, radii[i].index, radii[j].index)));
    return diameter;
}

_Static_assert(sizeof(pelt_ranked) == 2 * sizeof(double), "two numbers of the room for each point");

/* The vertex as seen from joint j in examples `begin` to `end` - 1. */
static void see_from(const double *m, const double *path, size_t n, size_t begin, size_t end, double *cloud) {
    for (size_t r = 0; r < 3; r++)
        for (size_t e = begin; e < end; e++)
            cloud[r * n + e] = m[4 * r * n + e] * path[e] + m[(4 * r + 1) * n + e] * path[n + e] +
                               m[(4 * r + 2) * n + e] * path[2 * n + e] + m[(4 * r + 3) * n + e];
}

/* Distance between the two ends of a walk over some of the points: a lower bound of the diameter. */
static double least_diameter(const double *cloud, size_t n, size_t count) {
    size_t from = 0, next = 0;
    double most = 0;
    for (int walk = 0; walk < 2; walk++, from = next)
        for (size_t i = 0; i < count; i++) {
            double square = square_distance(cloud, n, from, i);
            if (square > most) most = square, next = i;
        }
    return sqrt(most);
}

void pelt_choose_rigid(const double *inverses, const bool *usable, uint32_t count, const double *path, size_t n,
                       uint32_t most, double *room, pelt_weights *out) {
    double *cloud = room, sizes[PELT_MOST_WEIGHTS + 1];
    size_t few = n < FEW ? n : FEW;
    out->count = 0;
    for (uint32_t j = 0; j < count; j++) {
        if (!usable[j]) continue;
        const double *m = inverses + (size_t)j * 12 * n;
        double enough = out->count < most ? INFINITY : sizes[most - 1];
        see_from(m, path, n, 0, few, cloud);
        if (!(least_diameter(cloud, n, few) < enough)) continue;
        see_from(m, path, n, few, n, cloud);
        double size = pelt_cloud_diameter(cloud, n, enough, room + 3 * n);
        if (!(size < enough)) continue;
        uint32_t at = out->count < most ? out->count++ : most - 1;
        for (; at > 0 && sizes[at - 1] > size; at--) sizes[at] = sizes[at - 1], out->joints[at] = out->joints[at - 1];
        sizes[at] = size, out->joints[at] = j;
    }
    for (uint32_t i = 0; i < out->count; i++) out->weights[i] = 0;
}
