/* match.c: matches the points of a cache to places of a mesh by position.

   In any frame the truth is near the linear blend, but often not nearer than the next vertex. Its difference from the
   blend, however, is about the same for neighbours on the mesh. So points are matched to the nearest places, the
   differences of those that chose each other are spread over the mesh, the places are moved by them, and this repeats
   until nothing changes. Using several frames at once separates points that coincide in one of them. */

#include "rig/align.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- The nearest points -------------------------------------------------------------------------------------------- */

enum { LEAF = 8, MOST_NEAREST = 32 };

/* Points in the order of a balanced tree: in any range of more than LEAF points, the middle one splits the others along
   their longest axis. */
struct pelt_neighbours {
    const double *points;
    uint32_t count;
    uint32_t *order;
    uint8_t *axes; /* split axis at the middle of each range */
};

static int widest_axis(const double *points, const uint32_t *order, size_t begin, size_t end) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = begin; i < end; i++)
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], points[3 * (size_t)order[i] + (size_t)k]);
            high[k] = fmax(high[k], points[3 * (size_t)order[i] + (size_t)k]);
        }
    int widest = 0;
    for (int k = 1; k < 3; k++)
        if (high[k] - low[k] > high[widest] - low[widest]) widest = k;
    return widest;
}

static bool before(const double *points, int axis, uint32_t a, uint32_t b) {
    double x = points[3 * (size_t)a + (size_t)axis], y = points[3 * (size_t)b + (size_t)axis];
    return x < y || (x == y && a < b);
}

/* Hoare's selection: partitions the range around its median. */
static void select_middle(const double *points, int axis, uint32_t *order, size_t begin, size_t end) {
    size_t middle = (begin + end) / 2;
    while (end - begin > 1) {
        uint32_t pivot = order[(begin + end - 1) / 2];
        size_t i = begin, j = end - 1;
        for (;;) {
            while (before(points, axis, order[i], pivot)) i++;
            while (before(points, axis, pivot, order[j])) j--;
            if (i >= j) break;
            uint32_t swap = order[i];
            order[i++] = order[j], order[j--] = swap;
        }
        if (middle <= j)
            end = j + 1;
        else
            begin = j + 1;
    }
}

static void divide(pelt_neighbours *n, size_t begin, size_t end) {
    while (end - begin > LEAF) {
        size_t middle = (begin + end) / 2;
        int axis = widest_axis(n->points, n->order, begin, end);
        select_middle(n->points, axis, n->order, begin, end);
        n->axes[middle] = (uint8_t)axis;
        divide(n, begin, middle);
        begin = middle + 1;
    }
}

const pelt_neighbours *pelt_neighbours_of(pelt_arena *arena, const double *points, uint32_t count) {
    pelt_neighbours *n = PELT_NEW(arena, 1, pelt_neighbours);
    *n = (pelt_neighbours){points, count, PELT_NEW(arena, count, uint32_t), PELT_NEW(arena, count, uint8_t)};
    for (uint32_t i = 0; i < count; i++) n->order[i] = i;
    divide(n, 0, count);
    return n;
}

typedef struct search {
    const pelt_neighbours *n;
    const double *at;
    uint32_t most, found, *list;
    double *squares;
} search;

static void consider(search *s, uint32_t point) {
    const double *p = s->n->points + 3 * (size_t)point;
    double x = p[0] - s->at[0], y = p[1] - s->at[1], z = p[2] - s->at[2], square = x * x + y * y + z * z;
    if (s->found == s->most && !(square < s->squares[s->most - 1])) return;
    uint32_t i = s->found < s->most ? s->found++ : s->most - 1;
    for (; i > 0 && s->squares[i - 1] > square; i--) s->squares[i] = s->squares[i - 1], s->list[i] = s->list[i - 1];
    s->squares[i] = square, s->list[i] = point;
}

static void look_in(search *s, size_t begin, size_t end) {
    while (end - begin > LEAF) {
        size_t middle = (begin + end) / 2;
        uint32_t point = s->n->order[middle];
        double beyond = s->at[s->n->axes[middle]] - s->n->points[3 * (size_t)point + (size_t)s->n->axes[middle]];
        consider(s, point);
        if (beyond < 0)
            look_in(s, begin, middle);
        else
            look_in(s, middle + 1, end);
        if (s->found == s->most && beyond * beyond > s->squares[s->most - 1]) return;
        if (beyond < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    for (size_t i = begin; i < end; i++) consider(s, s->n->order[i]);
}

uint32_t pelt_nearest(const pelt_neighbours *neighbours, const double at[3], uint32_t most, uint32_t *list,
                      double *squares) {
    search s = {.n = neighbours, .at = at, .most = most, .list = list, .squares = squares};
    look_in(&s, 0, neighbours->count);
    return s.found;
}

/* -- Matching ------------------------------------------------------------------------------------------------------ */

enum { CANDIDATES = 16, ROUNDS = 16, WIDEST = 8 };
static const double one_place = 1e-10;   /* of the squared size: points that are closer coincide */
static const double exact_match = 1e-14; /* of the squared size, so that a moment without error has a finite trust */
static const double little_trust = 1e-6; /* in all moments but the calmest, to begin with */

typedef struct matching {
    const pelt_moments *places, *points;
    const pelt_edges *edges;
    const pelt_neighbours *tree;
    pelt_moments moved;  /* the places, moved by the differences of their neighbourhood */
    double *trust;       /* [moment] weight of a squared distance: less if points are far from their places */
    uint32_t *matches;   /* of places */
    double *squares;     /* squared distances from their points */
    uint32_t *owners;    /* of points: 1 + the nearest place that chose them */
    double *differences; /* [place][moment][3], and room for their means */
    double *means, *weights, *sums;
} matching;

static const double *at(const pelt_moments *m, uint32_t moment, uint32_t i) {
    return m->positions + 3 * ((size_t)moment * m->count + i);
}

static double square_between(const double *a, const double *b) {
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return pelt_dot(d, d);
}

/* The candidate that is nearest over all moments. */
static void choose(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    matching *m = user;
    uint32_t list[CANDIDATES], u = (uint32_t)i;
    double squares[CANDIDATES];
    uint32_t found = pelt_nearest(m->tree, at(&m->moved, 0, u), CANDIDATES, list, squares);
    m->squares[u] = INFINITY;
    for (uint32_t c = 0; c < found; c++) {
        double sum = m->trust[0] * squares[c];
        for (uint32_t k = 1; k < m->points->moment_count && sum < m->squares[u]; k++)
            sum += m->trust[k] * square_between(at(&m->moved, k, u), at(m->points, k, list[c]));
        if (sum < m->squares[u]) m->squares[u] = sum, m->matches[u] = list[c];
    }
}

/* Assigns every point to the nearest of the places that chose it; returns how many places are left without. */
static uint32_t find_owners(matching *m) {
    uint32_t without = 0;
    memset(m->owners, 0, m->points->count * sizeof *m->owners);
    for (uint32_t u = 0; u < m->places->count; u++) {
        uint32_t *owner = &m->owners[m->matches[u]];
        if (*owner) without++;
        if (!*owner || m->squares[u] < m->squares[*owner - 1]) *owner = u + 1;
    }
    return without;
}

/* Moments in which the points are closer to the places are more informative. */
static void find_trust(matching *m) {
    double least = 0, size = 0;
    for (uint32_t p = 0; p < m->points->count; p++)
        size = fmax(size, square_between(at(m->points, 0, p), at(m->points, 0, 0)));
    for (uint32_t k = 0; k < m->places->moment_count; k++) {
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t u = 0; u < m->places->count; u++) {
            if (m->owners[m->matches[u]] != u + 1) continue;
            sum += square_between(at(&m->moved, k, u), at(m->points, k, m->matches[u])), count++;
        }
        m->trust[k] = 1 / (sum / fmax(count, 1) + exact_match * size);
        least = fmax(least, m->trust[k]);
    }
    for (uint32_t k = 0; k < m->places->moment_count; k++) m->trust[k] /= least;
}

static void spread_once(matching *m) {
    size_t row = 3 * (size_t)m->places->moment_count;
    for (uint32_t u = 0; u < m->places->count; u++) {
        double sum = m->weights[u];
        for (size_t i = 0; i < row; i++) m->means[u * row + i] = sum * m->differences[u * row + i];
        for (uint32_t e = m->edges->first[u]; e < m->edges->first[u + 1]; e++) {
            uint32_t v = m->edges->list[e];
            if (!(m->weights[v] > 0)) continue;
            sum += m->weights[v];
            for (size_t i = 0; i < row; i++) m->means[u * row + i] += m->weights[v] * m->differences[v * row + i];
        }
        for (size_t i = 0; i < row; i++) m->means[u * row + i] /= sum > 0 ? sum : 1;
        m->sums[u] = fmin(sum, 1);
    }
    double *swap = m->differences;
    m->differences = m->means, m->means = swap;
    swap = m->weights, m->weights = m->sums, m->sums = swap;
}

/* Moves the places by the mean difference over some rings of neighbours. */
static void move_places(matching *m, int rings) {
    uint32_t moments = m->places->moment_count;
    for (uint32_t u = 0; u < m->places->count; u++) {
        m->weights[u] = m->owners[m->matches[u]] == u + 1;
        for (uint32_t k = 0; k < moments; k++)
            for (size_t i = 0; i < 3; i++)
                m->differences[3 * ((size_t)u * moments + k) + i] =
                    at(m->points, k, m->matches[u])[i] - at(m->places, k, u)[i];
    }
    for (int r = 0; r < rings; r++) spread_once(m);
    for (uint32_t u = 0; u < m->places->count; u++)
        for (uint32_t k = 0; k < moments; k++)
            for (size_t i = 0; i < 3; i++)
                m->moved.positions[3 * ((size_t)k * m->places->count + u) + i] =
                    at(m->places, k, u)[i] + m->differences[3 * ((size_t)u * moments + k) + i];
}

static bool coincide(const pelt_moments *points, uint32_t a, uint32_t b, double square) {
    for (uint32_t k = 0; k < points->moment_count; k++)
        if (square_between(at(points, k, a), at(points, k, b)) > square) return false;
    return true;
}

/* Counts points that places wrongly share, and unclaimed points that coincide with no claimed one. */
static uint32_t count_unclear(pelt_arena *arena, const matching *m, const uint32_t *rest) {
    uint32_t unclear = 0, list[MOST_NEAREST];
    bool *contested = PELT_NEW(arena, m->points->count, bool);
    double squares[MOST_NEAREST], size = 0;
    for (uint32_t p = 0; p < m->points->count; p++)
        size = fmax(size, square_between(at(m->points, 0, p), at(m->points, 0, 0)));
    for (uint32_t u = 0; u < m->places->count; u++) {
        uint32_t point = m->matches[u],
                 owner = m->owners[point] - 1; /* rounding can separate two places that are one */
        if (contested[point] || rest[owner] == rest[u] || coincide(m->places, owner, u, one_place * size)) continue;
        contested[point] = true, unclear++;
    }
    for (uint32_t p = 0; p < m->points->count; p++) {
        if (m->owners[p]) continue;
        uint32_t found = pelt_nearest(m->tree, at(m->points, 0, p), MOST_NEAREST, list, squares), i = 0;
        while (i < found && !(m->owners[list[i]] && coincide(m->points, p, list[i], one_place * size))) i++;
        unclear += i == found;
    }
    return unclear;
}

uint32_t pelt_match_points(pelt_arena *arena, const pelt_moments *places, const pelt_moments *points,
                           const pelt_edges *edges, const uint32_t *rest, uint32_t *matches) {
    size_t n = places->count, row = 3 * (size_t)places->moment_count;
    matching m = {.places = places, .points = points, .edges = edges, .matches = matches};
    m.tree = pelt_neighbours_of(arena, points->positions, points->count);
    m.moved = (pelt_moments){places->moment_count, places->count, PELT_NEW(arena, n * row, double)};
    m.squares = PELT_NEW(arena, n, double), m.owners = PELT_NEW(arena, points->count, uint32_t);
    m.differences = PELT_NEW(arena, n * row, double), m.means = PELT_NEW(arena, n * row, double);
    m.weights = PELT_NEW(arena, n, double), m.sums = PELT_NEW(arena, n, double);
    uint32_t *last = PELT_NEW(arena, n, uint32_t);
    m.trust = PELT_NEW(arena, places->moment_count, double);
    for (uint32_t k = 0; k < places->moment_count; k++) m.trust[k] = k ? little_trust : 1; /* the calmest comes first */
    memcpy(m.moved.positions, places->positions, n * row * sizeof(double));
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(last, matches, n * sizeof *last);
        pelt_parallel(arena, n < 4096 ? 1 : 0, n, choose, &m);
        uint32_t without = find_owners(&m);
        if (round && !without && !memcmp(last, matches, n * sizeof *last)) break;
        find_trust(&m);
        move_places(&m, round < WIDEST ? WIDEST - round : 1);
    }
    return count_unclear(arena, &m, rest);
}

double pelt_match_roughness(const pelt_moments *places, const pelt_moments *points, const pelt_edges *edges,
                            const uint32_t *matches) {
    double sum = 0;
    for (uint32_t u = 0; u < places->count; u++)
        for (uint32_t e = edges->first[u]; e < edges->first[u + 1]; e++)
            for (uint32_t k = 0; k < places->moment_count; k++)
                for (int i = 0; i < 3; i++) {
                    uint32_t v = edges->list[e];
                    double x = at(points, k, matches[u])[i] - at(places, k, u)[i];
                    double y = at(points, k, matches[v])[i] - at(places, k, v)[i];
                    sum += (x - y) * (x - y);
                }
    double count = (double)edges->first[places->count] * places->moment_count;
    return count > 0 ? sqrt(sum / count) : 0;
}
