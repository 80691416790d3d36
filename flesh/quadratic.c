/* quadratic.c: quadratic tetrahedra from linear ones: a node in the middle of each edge. */

#include "flesh/inside.h"
#include <stdlib.h>
#include <string.h>

const uint8_t pelt_tetrahedron_edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};

typedef struct edge {
    uint32_t low, high, place; /* the place in the new list of elements */
} edge;

static int by_ends(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

bool pelt_solid_make_quadratic(pelt_arena *arena, const pelt_solid_shape *linear, pelt_solid_shape *quadratic) {
    size_t count = linear->element_count, edges = 6 * count, middles = 0;
    PELT_SCOPED pelt_arena *inside = pelt_arena_inside(arena);
    edge *list = PELT_NEW(inside, edges, edge);
    uint32_t *elements = PELT_NEW(arena, PELT_QUADRATIC_NODES * count, uint32_t);
    if (!list || !elements) return false;
    for (size_t e = 0; e < count; e++) {
        const uint32_t *corners = linear->elements + 4 * e;
        memcpy(elements + PELT_QUADRATIC_NODES * e, corners, 4 * sizeof *corners);
        for (size_t k = 0; k < 6; k++) {
            uint32_t a = corners[pelt_tetrahedron_edges[k][0]], b = corners[pelt_tetrahedron_edges[k][1]];
            list[6 * e + k] = (edge){a < b ? a : b, a < b ? b : a, (uint32_t)(PELT_QUADRATIC_NODES * e + 4 + k)};
        }
    }
    qsort(list, edges, sizeof *list, by_ends);
    for (size_t i = 0; i < edges; i++)
        middles += i == 0 || list[i].low != list[i - 1].low || list[i].high != list[i - 1].high;
    size_t nodes = linear->node_count + middles, next = linear->node_count;
    double *places = PELT_NEW(arena, 3 * nodes, double);
    int32_t *bones = PELT_NEW(arena, nodes, int32_t);
    if (!places || !bones) return false;
    memcpy(places, linear->nodes, 3 * (size_t)linear->node_count * sizeof *places);
    memcpy(bones, linear->node_bones, linear->node_count * sizeof *bones);
    for (size_t i = 0; i < edges; i++) {
        uint32_t a = list[i].low, b = list[i].high;
        if (i == 0 || a != list[i - 1].low || b != list[i - 1].high) {
            for (size_t k = 0; k < 3; k++)
                places[3 * next + k] = (places[3 * (size_t)a + k] + places[3 * (size_t)b + k]) / 2;
            bones[next++] = bones[a] == bones[b] ? bones[a] : PELT_NO_BONE;
        }
        elements[list[i].place] = (uint32_t)(next - 1);
    }
    *quadratic = *linear;
    quadratic->node_count = (uint32_t)nodes, quadratic->nodes_per_element = PELT_QUADRATIC_NODES;
    quadratic->nodes = places, quadratic->node_bones = bones, quadratic->elements = elements;
    return true;
}
