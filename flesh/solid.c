/* solid.c: what all poses of a solid share, worked out once: slopes and volumes of elements, the pattern of the
   matrix, and colours. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <stdlib.h>
#include <string.h>

pelt_solid_material pelt_solid_material_of(double young, double poisson, double fraction) {
    return (pelt_solid_material){young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson)),
                                 fraction};
}

/* -- Shape functions ----------------------------------------------------------------------------------------------- */

uint32_t pelt_solid_points(const pelt_solid_shape *shape) {
    return shape->nodes_per_element == PELT_LINEAR_NODES ? 1 : 4;
}

void pelt_solid_slopes(const pelt_solid *solid, uint32_t element, uint32_t point,
                       double slopes[PELT_QUADRATIC_NODES][3]) {
    const double(*corner)[3] = (const double(*)[3])(solid->slopes + 12 * (size_t)element);
    if (solid->shape.nodes_per_element == PELT_LINEAR_NODES) {
        memcpy(slopes, corner, 12 * sizeof(double));
        return;
    }
    const double near = 0.58541019662496845, far = 0.13819660112501051; /* exact for squares */
    double at[4] = {far, far, far, far};
    at[point] = near;
    for (int a = 0; a < 4; a++)
        for (int c = 0; c < 3; c++) slopes[a][c] = (4 * at[a] - 1) * corner[a][c];
    for (int k = 0; k < 6; k++) {
        int a = pelt_tetrahedron_edges[k][0], b = pelt_tetrahedron_edges[k][1];
        for (int c = 0; c < 3; c++) slopes[4 + k][c] = 4 * (at[a] * corner[b][c] + at[b] * corner[a][c]);
    }
}

void pelt_solid_shape_functions(uint32_t nodes_per_element, const double barycentrics[4],
                                double weights[PELT_QUADRATIC_NODES]) {
    bool linear = nodes_per_element == PELT_LINEAR_NODES;
    for (int a = 0; a < 4; a++) weights[a] = barycentrics[a] * (linear ? 1 : 2 * barycentrics[a] - 1);
    for (int k = 0; k < 6 && !linear; k++)
        weights[4 + k] = 4 * barycentrics[pelt_tetrahedron_edges[k][0]] * barycentrics[pelt_tetrahedron_edges[k][1]];
}

/* -- Checks, slopes, volumes --------------------------------------------------------------------------------------- */

static pelt_result check_counts(const pelt_solid_shape *s, pelt_error *error) {
    uint32_t n = s->nodes_per_element;
    if (n != PELT_LINEAR_NODES && n != PELT_QUADRATIC_NODES)
        return pelt_fail(error, PELT_ERROR_DATA, "elements of %u nodes: they have 4 or 10", n);
    bool fixed = false;
    for (size_t i = 0; i < s->node_count; i++) {
        if (s->node_bones[i] < PELT_NO_BONE || s->node_bones[i] >= (int64_t)s->bone_count)
            return pelt_fail(error, PELT_ERROR_DATA, "node %zu: there is no bone %d", i, s->node_bones[i]);
        fixed |= s->node_bones[i] != PELT_NO_BONE;
        for (size_t k = 0; k < 3; k++)
            if (!isfinite(s->nodes[3 * i + k]))
                return pelt_fail(error, PELT_ERROR_DATA, "node %zu: its position is not finite", i);
    }
    if (!fixed) return pelt_fail(error, PELT_ERROR_DATA, "no node is attached to a bone, so nothing moves the flesh");
    for (size_t i = 0; i < (size_t)s->element_count * n; i++)
        if (s->elements[i] >= s->node_count)
            return pelt_fail(error, PELT_ERROR_DATA, "element %zu: there is no node %u", i / n, s->elements[i]);
    for (size_t v = 0; v < s->vertex_count; v++)
        if (s->vertex_elements[v] >= s->element_count)
            return pelt_fail(error, PELT_ERROR_DATA, "vertex %zu: there is no element %u", v, s->vertex_elements[v]);
    for (size_t i = 0; i < 3 * (size_t)s->triangle_count; i++)
        if (s->triangles[i] >= s->vertex_count)
            return pelt_fail(error, PELT_ERROR_DATA, "triangle %zu: there is no vertex %u", i / 3, s->triangles[i]);
    for (size_t i = 0; i < 4 * (size_t)s->vertex_count; i++)
        if (!isfinite(s->vertex_barycentrics[i]))
            return pelt_fail(error, PELT_ERROR_DATA, "vertex %zu: its position is not finite", i / 4);
    return PELT_OK;
}

static pelt_result check_material(const pelt_solid_material *m, uint32_t element, pelt_error *error) {
    if (m->mu > 0 && m->mu < INFINITY && m->lambda >= 0 && m->lambda < INFINITY && m->fraction > 0 && m->fraction <= 1)
        return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "element %u: mu %g, lambda %g and fraction %g; mu and fraction must be above 0", element, m->mu,
                     m->lambda, m->fraction);
}

static pelt_result measure_elements(pelt_solid *solid, pelt_error *error) {
    const pelt_solid_shape *s = &solid->shape;
    double edges = 0;
    for (uint32_t e = 0; e < s->element_count; e++) {
        const uint32_t *corners = s->elements + (size_t)e * s->nodes_per_element;
        double m[9], cofactors[9], *slopes = solid->slopes + 12 * (size_t)e, longest = 0;
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
                m[3 * k + c] =
                    s->nodes[3 * (size_t)corners[k + 1] + (size_t)c] - s->nodes[3 * (size_t)corners[0] + (size_t)c];
        for (int k = 0; k < 6; k++) {
            double length = pelt_distance(s->nodes + 3 * (size_t)corners[pelt_tetrahedron_edges[k][0]],
                                          s->nodes + 3 * (size_t)corners[pelt_tetrahedron_edges[k][1]]);
            edges += length / 6, longest = fmax(longest, length);
        }
        double determinant = pelt_cofactors(m, cofactors);
        const double flat = 1e-9; /* of the cube of the longest edge */
        if (!(determinant > flat * longest * longest * longest))
            return pelt_fail(error, PELT_ERROR_DATA, "element %u is flat or inside out", e);
        if (check_material(&s->materials[e], e, error)) return PELT_ERROR_DATA;
        for (int k = 0; k < 9; k++) slopes[3 + k] = cofactors[k] / determinant;
        for (int c = 0; c < 3; c++) slopes[c] = -(slopes[3 + c] + slopes[6 + c] + slopes[9 + c]);
        solid->volumes[e] = determinant / 6 * s->materials[e].fraction;
    }
    solid->edge = edges / s->element_count;
    return PELT_OK;
}

/* -- The pattern of the matrix ------------------------------------------------------------------------------------- */

/* Elements around each free node: lists[starts[i] .. starts[i + 1]]. */
static uint32_t *elements_around(pelt_arena *arena, const pelt_solid *solid, uint32_t **lists) {
    const pelt_solid_shape *s = &solid->shape;
    uint32_t n = s->nodes_per_element, *starts = PELT_NEW(arena, (size_t)solid->free_count + 2, uint32_t);
    for (size_t i = 0; i < (size_t)s->element_count * n; i++) {
        uint32_t row = solid->unknowns[s->elements[i]];
        if (row != PELT_NOWHERE) starts[row + 2]++;
    }
    for (uint32_t row = 0; row < solid->free_count; row++) starts[row + 2] += starts[row + 1];
    *lists = PELT_NEW(arena, (size_t)starts[solid->free_count + 1] + 1, uint32_t);
    for (size_t i = 0; i < (size_t)s->element_count * n; i++) {
        uint32_t row = solid->unknowns[s->elements[i]];
        if (row != PELT_NOWHERE) (*lists)[starts[row + 1]++] = (uint32_t)(i / n);
    }
    return starts;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The free nodes that share an element with a row, ascending; returns how many. seen[i] == row + 1: listed already. */
static uint32_t neighbours(const pelt_solid *solid, const uint32_t *starts, const uint32_t *lists, uint32_t row,
                           uint32_t *seen, uint32_t *out) {
    uint32_t n = solid->shape.nodes_per_element, count = 0;
    for (uint32_t k = starts[row]; k < starts[row + 1]; k++)
        for (uint32_t a = 0; a < n; a++) {
            uint32_t column = solid->unknowns[solid->shape.elements[(size_t)lists[k] * n + a]];
            if (column == PELT_NOWHERE || seen[column] == row + 1) continue;
            seen[column] = row + 1;
            out[count++] = column;
        }
    qsort(out, count, sizeof *out, ascending);
    return count;
}

static void find_pattern(pelt_arena *arena, pelt_solid *solid) {
    pelt_arena *inside = pelt_arena_inside(arena);
    uint32_t *lists, *starts = elements_around(inside, solid, &lists), n = solid->shape.nodes_per_element;
    uint32_t *seen = PELT_NEW(inside, (size_t)solid->free_count + 1, uint32_t);
    uint32_t *row_list = PELT_NEW(inside, (size_t)solid->free_count + 1, uint32_t);
    solid->row_starts = PELT_NEW(arena, (size_t)solid->free_count + 1, uint32_t);
    for (uint32_t row = 0; row < solid->free_count; row++)
        solid->row_starts[row + 1] = solid->row_starts[row] + neighbours(solid, starts, lists, row, seen, row_list);
    solid->columns = PELT_NEW(arena, (size_t)solid->row_starts[solid->free_count] + 1, uint32_t);
    memset(seen, 0, solid->free_count * sizeof *seen);
    for (uint32_t row = 0; row < solid->free_count; row++)
        neighbours(solid, starts, lists, row, seen, solid->columns + solid->row_starts[row]);
    solid->mirrors = PELT_NEW(arena, (size_t)solid->row_starts[solid->free_count] + 1, uint32_t);
    memset(seen, 0, solid->free_count * sizeof *seen);
    for (uint32_t k = 0; k < solid->row_starts[solid->free_count]; k++) /* rows come to each column in their order */
        solid->mirrors[k] = solid->row_starts[solid->columns[k]] + seen[solid->columns[k]]++;
    solid->places = PELT_NEW(arena, (size_t)solid->shape.element_count * n * n, uint32_t);
    for (size_t i = 0; i < (size_t)solid->shape.element_count * n * n; i++) {
        const uint32_t *corners = solid->shape.elements + i / (n * n) * n;
        uint32_t row = solid->unknowns[corners[i / n % n]], column = solid->unknowns[corners[i % n]];
        solid->places[i] = PELT_NOWHERE;
        if (row == PELT_NOWHERE || column == PELT_NOWHERE) continue;
        const uint32_t *first = solid->columns + solid->row_starts[row];
        size_t count = solid->row_starts[row + 1] - solid->row_starts[row];
        const uint32_t *found = bsearch(&column, first, count, sizeof *first, ascending);
        solid->places[i] = (uint32_t)(found - solid->columns);
    }
    pelt_arena_free(inside);
}

/* Greedy: every stretch of elements gets the first colour that none of its free nodes has. 128 colours are plenty; what is
   left over gets colours of its own. */
static void colour_elements(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    pelt_arena *inside = pelt_arena_inside(arena);
    uint64_t(*used)[2] = (uint64_t(*)[2])PELT_NEW(inside, 2 * (size_t)solid->free_count + 2, uint64_t);
    uint32_t stretches = (s->element_count + PELT_STRETCH - 1) / PELT_STRETCH, most = 128;
    uint32_t *colours = PELT_NEW(inside, stretches, uint32_t);
    for (uint32_t i = 0; i < stretches; i++) {
        uint64_t taken[2] = {0, 0};
        size_t n = s->nodes_per_element, first = i * n * PELT_STRETCH, end = first + n * PELT_STRETCH;
        if (end > n * s->element_count) end = n * s->element_count;
        for (size_t a = first; a < end; a++) {
            uint32_t row = solid->unknowns[s->elements[a]];
            if (row != PELT_NOWHERE) taken[0] |= used[row][0], taken[1] |= used[row][1];
        }
        uint32_t half = ~taken[0] ? 0 : 1, bit = ~taken[half] ? (uint32_t)__builtin_ctzll(~taken[half]) : 0;
        colours[i] = ~taken[half] ? 64 * half + bit : most++;
        for (size_t a = first; a < end && colours[i] < 128; a++) {
            uint32_t row = solid->unknowns[s->elements[a]];
            if (row != PELT_NOWHERE) used[row][half] |= (uint64_t)1 << bit;
        }
    }
    solid->colour_count = most;
    solid->colour_starts = PELT_NEW(arena, (size_t)most + 2, uint32_t);
    solid->by_colour = PELT_NEW(arena, stretches, uint32_t);
    for (uint32_t i = 0; i < stretches; i++) solid->colour_starts[colours[i] + 2]++;
    for (uint32_t c = 0; c < most; c++) solid->colour_starts[c + 2] += solid->colour_starts[c + 1];
    for (uint32_t i = 0; i < stretches; i++) solid->by_colour[solid->colour_starts[colours[i] + 1]++] = i;
    pelt_arena_free(inside);
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

typedef struct opening {
    pelt_arena *arena;
    pelt_solid *solid;
} opening;

static pelt_result analyse(void *user, pelt_error *error) {
    const opening *o = user;
    pelt_solid *solid = o->solid;
    const pelt_solid_shape *s = &solid->shape;
    if (check_counts(s, error)) return PELT_ERROR_DATA;
    solid->slopes = PELT_NEW(o->arena, 12 * (size_t)s->element_count, double);
    solid->volumes = PELT_NEW(o->arena, s->element_count, double);
    if (measure_elements(solid, error)) return PELT_ERROR_DATA;
    solid->unknowns = PELT_NEW(o->arena, s->node_count, uint32_t);
    solid->free_nodes = PELT_NEW(o->arena, s->node_count, uint32_t);
    for (uint32_t i = 0; i < s->node_count; i++) {
        solid->unknowns[i] = PELT_NOWHERE;
        if (s->node_bones[i] != PELT_NO_BONE) continue;
        solid->unknowns[i] = solid->free_count;
        solid->free_nodes[solid->free_count++] = i;
    }
    find_pattern(o->arena, solid);
    colour_elements(o->arena, solid);
    pelt_average_open(o->arena, solid);
    pelt_solid_carry(o->arena, solid);
    pelt_contact_open(o->arena, solid);
    pelt_sheet_open(o->arena, solid);
    return PELT_OK;
}

pelt_result pelt_solid_open(pelt_arena *arena, const pelt_solid_shape *shape, const pelt_solid **solid,
                            pelt_error *error) {
    opening o = {arena, PELT_NEW(arena, 1, pelt_solid)};
    if (!o.solid) return pelt_no_memory(error);
    o.solid->shape = *shape;
    *solid = o.solid;
    return pelt_stage(arena, analyse, &o, error);
}

size_t pelt_solid_memory(uint32_t node_count, uint32_t element_count, uint32_t nodes_per_element, uint32_t vertex_count,
                         uint32_t sheet_triangles) {
    /* Blocks in a row of the matrix: 15 on a lattice of linear elements, 28 of quadratic ones. */
    size_t n = nodes_per_element, linear = n == PELT_LINEAR_NODES, row = linear ? 15 : 28;
    size_t mean = linear * (row * (3 * sizeof(double) + 12) + 4 * sizeof(double)), swell = linear * 12 * sizeof(double);
    size_t touch = 4 * n * (3 * sizeof(double) + 12) + 32 * sizeof(double);
    return node_count * (row * (9 * sizeof(double) + 16 * sizeof(float) + 8) + 42 * sizeof(double) + mean) +
           element_count * ((17 + 4) * sizeof(double) + (2 * n * n + 2) * 4 + swell) + vertex_count * touch +
           sheet_triangles * (sizeof(pelt_sheet_rest) + 36 * n / 2 * (3 * sizeof(double) + 12));
}

bool pelt_solid_rest(pelt_arena *arena, const pelt_solid *solid, pelt_solid_state *state) {
    const pelt_solid_shape *s = &solid->shape;
    state->nodes = PELT_NEW(arena, 3 * (size_t)s->node_count, double);
    state->bones = PELT_NEW(arena, s->bone_count, pelt_affine);
    if (!state->nodes || !state->bones) return false;
    memcpy(state->nodes, s->nodes, 3 * (size_t)s->node_count * sizeof(double));
    for (uint32_t b = 0; b < s->bone_count; b++) state->bones[b] = pelt_identity;
    return true;
}

void pelt_solid_skin(const pelt_solid *solid, const pelt_solid_state *state, double *positions) {
    const pelt_solid_shape *s = &solid->shape;
    for (size_t v = 0; v < s->vertex_count; v++) {
        double weights[PELT_QUADRATIC_NODES], *out = positions + 3 * v;
        const uint32_t *nodes = s->elements + (size_t)s->vertex_elements[v] * s->nodes_per_element;
        pelt_solid_shape_functions(s->nodes_per_element, s->vertex_barycentrics + 4 * v, weights);
        out[0] = out[1] = out[2] = 0;
        for (uint32_t a = 0; a < s->nodes_per_element; a++)
            for (size_t k = 0; k < 3; k++) out[k] += weights[a] * state->nodes[3 * (size_t)nodes[a] + k];
    }
}
