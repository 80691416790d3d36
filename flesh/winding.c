/* winding.c: questions to a surface: is a point inside, how far is it from the skin, does a line leave the flesh.

       w(p) = 1/4pi sum_triangles solid angle seen from p

   A tree of boxes answers all of them. Seen from afar, the triangles of a box act as one dipole,
   (c - p) . N / 4pi |c - p|^3, with N the sum of their area vectors and c their centre of area. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4, MOST_CROSSINGS = 64 };
static const double afar = 4; /* radii */

typedef struct box {
    double low[3], high[3];
    double center[3], area[3], radius;
    uint32_t first, count; /* triangles */
    uint32_t next;         /* the first box behind this one and all within it */
} box;

struct pelt_skin_tree {
    uint32_t count, box_count;
    double (*corners)[3][3]; /* [count] in the order of the boxes */
    box *boxes;
    double volume;
    bool flipped;
};

/* -- The tree ------------------------------------------------------------------------------------------------------ */

typedef struct building {
    const pelt_mesh *mesh;
    pelt_ranked *order;
    pelt_skin_tree *tree;
} building;

static double middle(const building *b, uint32_t triangle, int axis) {
    const uint32_t *t = b->mesh->triangles + 3 * (size_t)triangle;
    const float *x = b->mesh->positions;
    return ((double)x[3 * (size_t)t[0] + axis] + x[3 * (size_t)t[1] + axis] + x[3 * (size_t)t[2] + axis]) / 3;
}

static void area_vector(const double t[3][3], double out[3]) {
    double a[3], b[3];
    for (int k = 0; k < 3; k++) a[k] = t[1][k] - t[0][k], b[k] = t[2][k] - t[0][k];
    pelt_cross(a, b, out);
    for (int k = 0; k < 3; k++) out[k] /= 2;
}

/* Fills in what a box says about its triangles. */
static void sum_up(pelt_skin_tree *tree, box *x) {
    double total = 0, plain[3] = {0};
    for (int k = 0; k < 3; k++) x->low[k] = INFINITY, x->high[k] = -INFINITY;
    for (uint32_t i = x->first; i < x->first + x->count; i++) {
        double n[3];
        area_vector(tree->corners[i], n);
        double area = pelt_length(n);
        total += area;
        for (int k = 0; k < 3; k++) {
            double mean = 0;
            for (int c = 0; c < 3; c++) {
                double at = tree->corners[i][c][k];
                x->low[k] = fmin(x->low[k], at), x->high[k] = fmax(x->high[k], at), mean += at / 3;
            }
            x->area[k] += n[k], x->center[k] += area * mean, plain[k] += mean / x->count;
        }
    }
    for (int k = 0; k < 3; k++) x->center[k] = total > 0 ? x->center[k] / total : plain[k];
    for (uint32_t i = x->first; i < x->first + x->count; i++)
        for (int c = 0; c < 3; c++) x->radius = fmax(x->radius, pelt_distance(tree->corners[i][c], x->center));
}

static void split(building *b, uint32_t first, uint32_t count) {
    uint32_t mine = b->tree->box_count++;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = first; i < first + count; i++)
        for (int k = 0; k < 3; k++) {
            double at = middle(b, b->order[i].index, k);
            low[k] = fmin(low[k], at), high[k] = fmax(high[k], at);
        }
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
    b->tree->boxes[mine].first = first, b->tree->boxes[mine].count = count;
    if (count > LEAF) {
        for (uint32_t i = first; i < first + count; i++) b->order[i].value = middle(b, b->order[i].index, axis);
        qsort(b->order + first, count, sizeof *b->order, pelt_rising_ranks);
        split(b, first, count / 2);
        split(b, first + count / 2, count - count / 2);
    }
    b->tree->boxes[mine].next = b->tree->box_count;
}

const pelt_skin_tree *pelt_skin_tree_of(pelt_arena *arena, const pelt_mesh *mesh, const bool *left_out) {
    pelt_skin_tree *tree = PELT_NEW(arena, 1, pelt_skin_tree);
    building b = {mesh, PELT_NEW(arena, mesh->triangle_count, pelt_ranked), tree};
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        if (!left_out || !left_out[t]) b.order[tree->count++].index = t;
    tree->corners = pelt_alloc(arena, tree->count, sizeof *tree->corners);
    tree->boxes = PELT_NEW(arena, 2 * (size_t)tree->count + 1, box);
    if (tree->count) split(&b, 0, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        double n[3];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                tree->corners[i][c][k] =
                    mesh->positions[3 * (size_t)mesh->triangles[3 * (size_t)b.order[i].index + (size_t)c] + (size_t)k];
        pelt_cross(tree->corners[i][1], tree->corners[i][2], n);
        tree->volume += pelt_dot(tree->corners[i][0], n) / 6;
    }
    for (uint32_t i = 0; i < tree->box_count; i++) sum_up(tree, &tree->boxes[i]);
    tree->flipped = tree->volume < 0;
    return tree;
}

double pelt_skin_volume(const pelt_skin_tree *tree) { return fabs(tree->volume); }

/* -- Winding numbers ----------------------------------------------------------------------------------------------- */

/* Van Oosterom and Strackee: tan(angle / 2) = a . (b x c) / (|a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|). */
static double solid_angle(const double t[3][3], const double point[3]) {
    double v[3][3], l[3], n[3];
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3; k++) v[c][k] = t[c][k] - point[k];
        l[c] = pelt_length(v[c]);
    }
    pelt_cross(v[1], v[2], n);
    double below =
        l[0] * l[1] * l[2] + pelt_dot(v[0], v[1]) * l[2] + pelt_dot(v[1], v[2]) * l[0] + pelt_dot(v[2], v[0]) * l[1];
    return 2 * atan2(pelt_dot(v[0], n), below);
}

double pelt_winding_number(const pelt_skin_tree *tree, const double point[3], bool exact) {
    double sum = 0;
    for (uint32_t i = 0; i < tree->box_count;) {
        const box *x = &tree->boxes[i];
        double to[3] = {x->center[0] - point[0], x->center[1] - point[1], x->center[2] - point[2]};
        double far = pelt_length(to);
        if (!exact && far > afar * x->radius && far > 0) {
            sum += pelt_dot(to, x->area) / (far * far * far);
            i = x->next;
            continue;
        }
        if (x->count <= LEAF)
            for (uint32_t t = x->first; t < x->first + x->count; t++) sum += solid_angle(tree->corners[t], point);
        i++;
    }
    return (tree->flipped ? -sum : sum) / (4 * M_PI);
}

/* -- Lines --------------------------------------------------------------------------------------------------------- */

typedef struct crossing {
    double t;
    int out; /* 1: leaves, -1: enters */
} crossing;

static bool line_meets_box(const box *x, const double p[3], const double d[3]) {
    double from = 0, to = 1;
    for (int k = 0; k < 3; k++) {
        if (d[k] == 0) {
            if (p[k] < x->low[k] || p[k] > x->high[k]) return false;
            continue;
        }
        double a = (x->low[k] - p[k]) / d[k], b = (x->high[k] - p[k]) / d[k];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b));
    }
    return from <= to + 1e-12;
}

/* Moeller and Trumbore. 0: no crossing. */
static int meet(const double t[3][3], const double p[3], const double d[3], double *at) {
    double a[3], b[3], s[3], h[3], q[3];
    for (int k = 0; k < 3; k++) a[k] = t[1][k] - t[0][k], b[k] = t[2][k] - t[0][k], s[k] = p[k] - t[0][k];
    pelt_cross(d, b, h);
    double det = pelt_dot(a, h);
    if (det == 0) return 0;
    pelt_cross(s, a, q);
    double u = pelt_dot(s, h) / det, v = pelt_dot(d, q) / det;
    *at = pelt_dot(b, q) / det;
    if (!(u >= 0 && v >= 0 && u + v <= 1 && *at >= 0 && *at <= 1)) return 0;
    return det > 0 ? -1 : 1; /* det = -d . (a x b) */
}

static int rising(const void *a, const void *b) {
    double x = ((const crossing *)a)->t, y = ((const crossing *)b)->t;
    return (x > y) - (x < y);
}

bool pelt_stays_inside(const pelt_skin_tree *tree, const double p[3], const double q[3], double winding) {
    crossing list[MOST_CROSSINGS];
    size_t count = 0;
    double d[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    for (uint32_t i = 0; i < tree->box_count && count < MOST_CROSSINGS;) {
        const box *x = &tree->boxes[i];
        if (!line_meets_box(x, p, d)) {
            i = x->next;
            continue;
        }
        for (uint32_t t = x->first; x->count <= LEAF && t < x->first + x->count && count < MOST_CROSSINGS; t++) {
            int out = meet(tree->corners[t], p, d, &list[count].t);
            if (out) list[count++].out = tree->flipped ? -out : out;
        }
        i++;
    }
    qsort(list, count, sizeof *list, rising);
    for (size_t i = 0; i < count; i++) {
        winding -= list[i].out;
        if (winding < 0.5) return false;
    }
    return true;
}

/* -- Distances ----------------------------------------------------------------------------------------------------- */

static double box_distance(const box *x, const double p[3]) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double d = fmax(fmax(x->low[k] - p[k], p[k] - x->high[k]), 0);
        sum += d * d;
    }
    return sqrt(sum);
}

static double edge_distance(const double a[3], const double b[3], const double p[3]) {
    double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, s[3] = {p[0] - a[0], p[1] - a[1], p[2] - a[2]};
    double length = pelt_dot(d, d), t = length > 0 ? fmin(fmax(pelt_dot(s, d) / length, 0), 1) : 0;
    return pelt_distance(p, (double[3]){a[0] + t * d[0], a[1] + t * d[1], a[2] + t * d[2]});
}

/* To the plane where the foot is within the triangle, otherwise to the nearest edge. */
static double triangle_distance(const double t[3][3], const double p[3]) {
    double n[3], length, best = INFINITY;
    area_vector(t, n);
    length = pelt_length(n);
    bool within = length > 0;
    for (int c = 0; c < 3; c++) {
        const double *a = t[c], *b = t[(c + 1) % 3];
        double side[3], along[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        double s[3] = {p[0] - a[0], p[1] - a[1], p[2] - a[2]};
        pelt_cross(n, along, side);
        within = within && pelt_dot(side, s) >= 0;
        best = fmin(best, edge_distance(a, b, p));
    }
    if (!within) return best;
    return fabs(pelt_dot(n, (double[3]){p[0] - t[0][0], p[1] - t[0][1], p[2] - t[0][2]})) / length;
}

double pelt_skin_distance(const pelt_skin_tree *tree, const double point[3]) {
    double best = INFINITY;
    for (uint32_t i = 0; i < tree->box_count;) {
        const box *x = &tree->boxes[i];
        if (box_distance(x, point) >= best) {
            i = x->next;
            continue;
        }
        if (x->count <= LEAF)
            for (uint32_t t = x->first; t < x->first + x->count; t++)
                best = fmin(best, triangle_distance(tree->corners[t], point));
        i++;
    }
    return best;
}

/* -- Cells --------------------------------------------------------------------------------------------------------- */

/* Whether all of some points are on the outer side of the plane through a, b and c, seen from d. */
static bool beyond(const double a[3], const double b[3], const double c[3], const double d[3],
                   const double (*points)[3], int count) {
    double n[3];
    area_vector((const double[3][3]){{a[0], a[1], a[2]}, {b[0], b[1], b[2]}, {c[0], c[1], c[2]}}, n);
    double at = pelt_dot(n, a), own = pelt_dot(n, d) - at;
    for (int i = 0; i < count; i++)
        if ((pelt_dot(n, points[i]) - at) * own >= 0) return false;
    return true;
}

/* Separating planes of the faces of the cell and of the triangle: enough to be sure, seldom wrong. */
static bool apart(const double cell[4][3], const double t[3][3]) {
    double n[3];
    int above = 0, below = 0;
    for (int f = 0; f < 4; f++)
        if (beyond(cell[(f + 1) % 4], cell[(f + 2) % 4], cell[(f + 3) % 4], cell[f], t, 3)) return true;
    area_vector(t, n);
    for (int c = 0; c < 4; c++) {
        double side = pelt_dot(n, cell[c]) - pelt_dot(n, t[0]);
        above += side > 0, below += side < 0;
    }
    return above == 4 || below == 4;
}

bool pelt_skin_reaches(const pelt_skin_tree *tree, const double corners[4][3]) {
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = fmin(fmin(corners[0][k], corners[1][k]), fmin(corners[2][k], corners[3][k]));
        high[k] = fmax(fmax(corners[0][k], corners[1][k]), fmax(corners[2][k], corners[3][k]));
    }
    for (uint32_t i = 0; i < tree->box_count;) {
        const box *x = &tree->boxes[i];
        bool meets = true;
        for (int k = 0; k < 3; k++) meets = meets && x->low[k] <= high[k] && x->high[k] >= low[k];
        if (!meets) {
            i = x->next;
            continue;
        }
        for (uint32_t t = x->first; x->count <= LEAF && t < x->first + x->count; t++)
            if (!apart(corners, tree->corners[t])) return true;
        i++;
    }
    return false;
}
