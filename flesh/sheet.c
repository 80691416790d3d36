/* sheet.c: skin as a thin elastic sheet on the embedded surface, so that folds are as round as skin makes them.

   With the Green strain E of a triangle, its curvature L and those at rest, a sheet of thickness h has the energy

       sum_triangles A ( h Q(E) + h^3/12 Q(L - L_rest) ),    Q(S) = Y / 2(1 - v^2) (S_xx + v S_yy)^2 + Y/2 S_yy^2 + G/2 (2 S_xy)^2,

   that of a plate for small strains. E follows from the lengths of the edges; L from the angles at them (Grinspun et al.
   2006), L = sum_edges angle / (2 A |e|) t t^T with t the edge, turned by a right angle in the triangle: flat skin on a
   cylinder gets its curvature exactly, however it is divided. Both know no rotations. Every term is a square r^2, and the matrix gets
   its dr dr^T alone: no eigenvalue is negative, and what is left out goes with r. Edges with one triangle, or three, do
   not bend. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <stdlib.h>
#include <string.h>

enum { WINGS = PELT_SHEET_WINGS, TERMS = 3, NO_PLACE = 255, CHUNK = 64 };
static const double poisson = 0.3;

/* -- Once --------------------------------------------------------------------------------------------------------------- */

typedef struct edge {
    uint32_t low, high; /* vertices, the first of their place */
    uint32_t triangle, side;
    bool rising; /* the triangle goes from low to high */
} edge;

static int edge_order(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

typedef struct place {
    double at[3];
    uint32_t vertex;
} place;

static int place_order(const void *a, const void *b) {
    const place *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->at[k] != y->at[k]) return x->at[k] < y->at[k] ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* The first vertex at each vertex' place: seams bend like any other edge. */
static uint32_t *firsts_of(pelt_arena *arena, const pelt_solid *solid) {
    uint32_t count = solid->shape.vertex_count, *firsts = PELT_NEW(arena, count, uint32_t);
    place *places = PELT_NEW(arena, count, place);
    for (uint32_t v = 0; v < count; v++) {
        places[v].vertex = v;
        for (int k = 0; k < 3; k++) places[v].at[k] = solid->skin_rest[3 * (size_t)v + (size_t)k] + 0.0; /* no -0 */
    }
    qsort(places, count, sizeof *places, place_order);
    for (uint32_t i = 0; i < count; i++) {
        bool same = i && !memcmp(places[i].at, places[i - 1].at, sizeof places[i].at);
        firsts[places[i].vertex] = same ? firsts[places[i - 1].vertex] : places[i].vertex;
    }
    return firsts;
}

/* Corners, and behind each side the corner of the triangle there. */
static void find_wings(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    pelt_arena *inside = pelt_arena_inside(arena);
    uint32_t *firsts = firsts_of(inside, solid), count = 3 * s->triangle_count;
    edge *edges = PELT_NEW(inside, count, edge);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = firsts[s->triangles[i]], b = firsts[s->triangles[i - i % 3 + (i + 1) % 3]];
        edges[i] = (edge){a < b ? a : b, a < b ? b : a, i / 3, i % 3, a < b};
        solid->wings[WINGS * (size_t)(i / 3) + i % 3] = s->triangles[i];
        solid->wings[WINGS * (size_t)(i / 3) + 3 + i % 3] = PELT_NOWHERE;
    }
    qsort(edges, count, sizeof *edges, edge_order);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && edges[end].low == edges[i].low && edges[end].high == edges[i].high;) end++;
        if (end != i + 2 || edges[i].rising == edges[i + 1].rising || edges[i].low == edges[i].high) continue;
        for (uint32_t k = 0; k < 2; k++) {
            const edge *mine = &edges[i + k], *other = &edges[i + 1 - k];
            solid->wings[WINGS * (size_t)mine->triangle + 3 + mine->side] =
                s->triangles[3 * (size_t)other->triangle + (other->side + 2) % 3];
        }
    }
    pelt_arena_free(inside);
}

/* The angle at a side between the normals on both of its sides, and how it goes with the four vertices (from, to, in front,
   behind); false: a triangle is flat. */
static bool side_angle(const double *const x[4], double *angle, double slopes[4][3]) {
    double e[3], a[3], b[3], n[3], m[3], cross[3];
    for (int k = 0; k < 3; k++) e[k] = x[1][k] - x[0][k], a[k] = x[2][k] - x[0][k], b[k] = x[3][k] - x[0][k];
    pelt_cross(e, a, n), pelt_cross(b, e, m), pelt_cross(n, m, cross);
    double length = pelt_length(e), nn = pelt_dot(n, n), mm = pelt_dot(m, m);
    if (!(nn > 0) || !(mm > 0)) return false;
    *angle = atan2(pelt_dot(cross, e), length * pelt_dot(n, m));
    double along_a = pelt_dot(a, e) / (length * length), along_b = pelt_dot(b, e) / (length * length);
    for (int k = 0; k < 3; k++) {
        double front = length * n[k] / nn, behind = length * m[k] / mm;
        slopes[2][k] = -front, slopes[3][k] = -behind;
        slopes[0][k] = (1 - along_a) * front + (1 - along_b) * behind;
        slopes[1][k] = along_a * front + along_b * behind;
    }
    return true;
}

/* The vertices of a side in the order of side_angle; false: it does not bend. */
static bool side_corners(const pelt_solid *solid, uint32_t triangle, uint32_t side, uint32_t out[4]) {
    const uint32_t *w = solid->wings + WINGS * (size_t)triangle;
    out[0] = side, out[1] = (side + 1) % 3, out[2] = (side + 2) % 3, out[3] = 3 + side;
    return w[3 + side] != PELT_NOWHERE;
}

static void measure(const pelt_solid *solid, const double *skin, uint32_t triangle, double squares[3], double angles[3],
                    double slopes[3][4][3]) {
    const uint32_t *w = solid->wings + WINGS * (size_t)triangle;
    for (uint32_t side = 0; side < 3; side++) {
        uint32_t at[4];
        bool bends = side_corners(solid, triangle, side, at);
        const double *x[4];
        for (int k = 0; k < 4; k++) x[k] = skin + 3 * (size_t)w[k == 3 && !bends ? at[2] : at[k]];
        double length = pelt_distance(x[0], x[1]);
        squares[side] = length * length, angles[side] = 0;
        memset(slopes[side], 0, 12 * sizeof(double));
        if (bends && !side_angle(x, &angles[side], slopes[side])) memset(slopes[side], 0, 12 * sizeof(double));
    }
}

/* How S_xx + v S_yy, S_yy and 2 S_xy follow from strains of the sides, and from their angles. */
static bool make_rest(const pelt_solid *solid, uint32_t triangle, pelt_sheet_rest *rest) {
    double slopes[3][4][3], e[3][2], rows[9], cofactors[9];
    measure(solid, solid->skin_rest, triangle, rest->squares, rest->angles, slopes);
    double base = sqrt(rest->squares[0]);
    double x = base > 0 ? (rest->squares[0] + rest->squares[2] - rest->squares[1]) / (2 * base) : 0;
    double y = sqrt(fmax(rest->squares[2] - x * x, 0)), area = base * y / 2, longest = 0;
    for (int k = 0; k < 3; k++) longest = fmax(longest, rest->squares[k]);
    if (!(area > 1e-6 * longest)) return false;
    e[0][0] = base, e[0][1] = 0, e[1][0] = x - base, e[1][1] = y, e[2][0] = -x, e[2][1] = -y;
    for (int k = 0; k < 3; k++)
        rows[3 * k] = e[k][0] * e[k][0], rows[3 * k + 1] = e[k][1] * e[k][1], rows[3 * k + 2] = e[k][0] * e[k][1];
    double determinant = pelt_cofactors(rows, cofactors);
    for (int k = 0; k < 3; k++) {
        double turn = 1 / (2 * area * sqrt(rest->squares[k]));
        rest->strain[0][k] = (cofactors[3 * k] + poisson * cofactors[3 * k + 1]) / determinant;
        rest->strain[1][k] = cofactors[3 * k + 1] / determinant;
        rest->strain[2][k] = cofactors[3 * k + 2] / determinant;
        rest->bend[0][k] = (rows[3 * k + 1] + poisson * rows[3 * k]) * turn;
        rest->bend[1][k] = rows[3 * k] * turn;
        rest->bend[2][k] = -2 * rows[3 * k + 2] * turn;
    }
    const pelt_solid_shape *s = &solid->shape;
    const double stiffness[TERMS] = {s->skin_young / (1 - poisson * poisson), s->skin_young,
                                     s->skin_young / (2 * (1 + poisson))};
    for (int k = 0; k < TERMS; k++) {
        rest->weights[k] = stiffness[k] * area * s->skin_thickness;
        rest->weights[TERMS + k] = rest->weights[k] * s->skin_thickness * s->skin_thickness / 12;
    }
    return true;
}

/* The free nodes that the first `count` wings of a triangle hang on; where each of theirs is among them. */
static uint32_t list_rows(const pelt_solid *solid, uint32_t triangle, uint32_t count, uint32_t *rows, uint8_t *places) {
    const pelt_solid_shape *s = &solid->shape;
    uint32_t n = s->nodes_per_element, found = 0;
    for (uint32_t i = 0; i < count * n; i++) {
        uint32_t vertex = solid->wings[WINGS * (size_t)triangle + i / n], k = 0;
        places[i] = NO_PLACE;
        if (vertex == PELT_NOWHERE) continue;
        uint32_t row = solid->unknowns[s->elements[(size_t)s->vertex_elements[vertex] * n + i % n]];
        if (row == PELT_NOWHERE) continue;
        while (k < found && rows[k] != row) k++;
        if (k == found) rows[found++] = row;
        places[i] = (uint8_t)k;
    }
    return found;
}

void pelt_sheet_open(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    uint32_t n = s->nodes_per_element, rows[WINGS * PELT_QUADRATIC_NODES];
    if (!s->triangle_count || !(s->skin_young > 0) || !(s->skin_thickness > 0)) return;
    pelt_ties *t = &solid->sheet;
    solid->wings = PELT_NEW(arena, WINGS * (size_t)s->triangle_count, uint32_t);
    solid->sheet_rest = PELT_NEW(arena, s->triangle_count, pelt_sheet_rest);
    solid->sheet_places = PELT_NEW(arena, WINGS * (size_t)n * s->triangle_count, uint8_t);
    find_wings(arena, solid);
    t->count = 2 * TERMS * s->triangle_count;
    t->starts = PELT_NEW(arena, (size_t)t->count + 1, uint32_t);
    t->weights = PELT_NEW(arena, t->count, double);
    for (int listing = 0; listing < 2; listing++) {
        for (uint32_t i = 0; i < s->triangle_count; i++) {
            uint8_t *places = solid->sheet_places + WINGS * (size_t)n * i;
            pelt_sheet_rest *rest = &solid->sheet_rest[i];
            if (!listing && !make_rest(solid, i, rest)) memset(rest, 0, sizeof *rest);
            for (uint32_t k = 0; k < 2 * TERMS; k++) {
                uint32_t tie = 2 * TERMS * i + k, count = 0;
                if (rest->weights[k] > 0) count = list_rows(solid, i, k < TERMS ? 3 : WINGS, rows, places);
                t->starts[tie + 1] = t->starts[tie] + count, t->weights[tie] = rest->weights[k];
                if (listing) memcpy(t->rows + t->starts[tie], rows, count * sizeof *rows);
            }
        }
        if (!listing) t->rows = PELT_NEW(arena, (size_t)t->starts[t->count] + 1, uint32_t);
    }
    pelt_ties_index(arena, t, solid->free_count);
}

/* -- In a state --------------------------------------------------------------------------------------------------------- */

void pelt_sheet_begin(pelt_elastic *e) {
    e->sheet = e->solid->sheet;
    if (!e->sheet.count) return;
    e->skin = PELT_NEW(e->arena, 3 * (size_t)e->solid->shape.vertex_count, double);
    e->sheet.vectors = PELT_NEW(e->arena, 3 * (size_t)e->sheet.starts[e->sheet.count] + 1, double);
    e->sheet.pulls = PELT_NEW(e->arena, (size_t)e->sheet.count, double);
}

/* The terms of a triangle, and what they go with: side strains, then angles. */
static void terms_of(const pelt_sheet_rest *rest, const double squares[3], const double angles[3],
                     double terms[2 * TERMS]) {
    for (int k = 0; k < TERMS; k++) {
        terms[k] = terms[TERMS + k] = 0;
        for (int side = 0; side < 3; side++) {
            terms[k] += rest->strain[k][side] * (squares[side] - rest->squares[side]) / 2;
            terms[TERMS + k] += rest->bend[k][side] * remainder(angles[side] - rest->angles[side], 2 * M_PI);
        }
    }
}

double pelt_sheet_energy(pelt_elastic *e, const double *nodes) {
    const pelt_solid *s = e->solid;
    double sum = 0, squares[3], angles[3], slopes[3][4][3], terms[2 * TERMS];
    if (!e->sheet.count) return 0;
    pelt_solid_skin(s, &(pelt_solid_state){.nodes = (double *)nodes}, e->skin);
    for (uint32_t i = 0; i < s->shape.triangle_count; i++) {
        if (!(s->sheet_rest[i].weights[0] > 0)) continue;
        measure(s, e->skin, i, squares, angles, slopes);
        terms_of(&s->sheet_rest[i], squares, angles, terms);
        for (int k = 0; k < 2 * TERMS; k++) sum += s->sheet_rest[i].weights[k] / 2 * terms[k] * terms[k];
    }
    return sum;
}

/* How a term goes with the wings, into its tie. */
static void make_tie(const pelt_elastic *e, uint32_t triangle, uint32_t tie, const double slopes[WINGS][3],
                     uint32_t wings) {
    const pelt_solid_shape *s = &e->solid->shape;
    uint32_t n = s->nodes_per_element;
    double *out = e->sheet.vectors + 3 * (size_t)e->sheet.starts[tie];
    memset(out, 0, 3 * (size_t)(e->sheet.starts[tie + 1] - e->sheet.starts[tie]) * sizeof *out);
    for (uint32_t w = 0; w < wings; w++) {
        uint32_t vertex = e->solid->wings[WINGS * (size_t)triangle + w];
        double weights[PELT_QUADRATIC_NODES];
        if (vertex == PELT_NOWHERE) continue;
        pelt_solid_shape_functions(n, s->vertex_barycentrics + 4 * (size_t)vertex, weights);
        const uint8_t *places = e->solid->sheet_places + (size_t)n * (WINGS * (size_t)triangle + w);
        for (uint32_t a = 0; a < n; a++)
            for (size_t k = 0; places[a] != NO_PLACE && k < 3; k++)
                out[3 * (size_t)places[a] + k] += weights[a] * slopes[w][k];
    }
}

static void derive_chunk(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    pelt_elastic *e = user;
    const pelt_solid *s = e->solid;
    size_t end = (chunk + 1) * CHUNK < s->shape.triangle_count ? (chunk + 1) * CHUNK : s->shape.triangle_count;
    for (uint32_t i = (uint32_t)chunk * CHUNK; i < end; i++) {
        const pelt_sheet_rest *rest = &s->sheet_rest[i];
        const uint32_t *w = s->wings + WINGS * (size_t)i;
        double squares[3], angles[3], slopes[3][4][3], terms[2 * TERMS];
        if (!(rest->weights[0] > 0)) continue;
        measure(s, e->skin, i, squares, angles, slopes);
        terms_of(rest, squares, angles, terms);
        for (uint32_t k = 0; k < TERMS; k++) {
            double stretch[WINGS][3] = {{0}}, bend[WINGS][3] = {{0}};
            for (uint32_t side = 0; side < 3; side++) {
                uint32_t at[4], tip = (side + 1) % 3;
                side_corners(s, i, side, at);
                for (size_t c = 0; c < 3; c++) {
                    double along = e->skin[3 * (size_t)w[tip] + c] - e->skin[3 * (size_t)w[side] + c];
                    stretch[tip][c] += rest->strain[k][side] * along;
                    stretch[side][c] -= rest->strain[k][side] * along;
                    for (int v = 0; v < 4; v++) bend[at[v]][c] += rest->bend[k][side] * slopes[side][v][c];
                }
            }
            uint32_t tie = 2 * TERMS * i + k;
            make_tie(e, i, tie, stretch, 3);
            make_tie(e, i, tie + TERMS, bend, WINGS);
            e->sheet.pulls[tie] = rest->weights[k] * terms[k];
            e->sheet.pulls[tie + TERMS] = rest->weights[TERMS + k] * terms[TERMS + k];
        }
    }
}

void pelt_sheet_derivatives(pelt_elastic *e, const double *nodes, double *gradient) {
    const pelt_solid *s = e->solid;
    if (!e->sheet.count) return;
    pelt_solid_skin(s, &(pelt_solid_state){.nodes = (double *)nodes}, e->skin);
    pelt_parallel(e->arena, e->threads, (s->shape.triangle_count + CHUNK - 1) / CHUNK, derive_chunk, e);
    for (uint32_t row = 0; row < s->free_count; row++) pelt_ties_add(&e->sheet, row, gradient + 3 * (size_t)row);
}
