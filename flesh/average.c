/* average.c: volume that is kept around nodes, not in every element.

   Linear tetrahedra that each keep their volume have nowhere to go: they lock. So lambda is split: up to mu, a Poisson ratio
   of .25, stays with the elements; the rest counts the mean dilatation around every node (after Bonet & Burton 1998),

       E = sum_a Lambda_a / 2 (J_a - 1)^2,    J_a = sum_e V_e J_e / sum_e V_e,    Lambda_a = sum_e (lambda_e - mu_e) V_e / 4,

   which asks as much of the nodes as a fluid would. What the elements keep holds the modes down that means alone cannot
   see (Puso & Solberg 2006). To an element this is a pressure, the mean of its nodes' pressures. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

static const double most_lambda = 1; /* of mu */
enum { CHUNK = 64 };

/* -- Once --------------------------------------------------------------------------------------------------------------- */

static void list_elements(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    solid->around_starts = PELT_NEW(arena, (size_t)s->node_count + 2, uint32_t);
    solid->around = PELT_NEW(arena, PELT_LINEAR_NODES * (size_t)s->element_count, uint32_t);
    for (size_t i = 0; i < PELT_LINEAR_NODES * (size_t)s->element_count; i++)
        solid->around_starts[s->elements[i] + 2]++;
    for (uint32_t a = 0; a < s->node_count; a++) solid->around_starts[a + 2] += solid->around_starts[a + 1];
    for (size_t i = 0; i < PELT_LINEAR_NODES * (size_t)s->element_count; i++)
        solid->around[solid->around_starts[s->elements[i] + 1]++] = (uint32_t)(i / PELT_LINEAR_NODES);
}

/* Free nodes of the elements around a node, those of a free one as the matrix has them; seen[row] == node + 1: listed already,
   at place[row]. */
static uint32_t list_rows(const pelt_solid *solid, uint32_t node, uint32_t *seen, uint32_t *place, uint32_t *rows,
                          uint8_t *places) {
    uint32_t count = 0, own = solid->unknowns[node];
    if (own != PELT_NOWHERE)
        for (uint32_t k = solid->row_starts[own]; k < solid->row_starts[own + 1]; k++) {
            if (rows) rows[count] = solid->columns[k];
            seen[solid->columns[k]] = node + 1, place[solid->columns[k]] = count++;
        }
    for (uint32_t i = solid->around_starts[node]; i < solid->around_starts[node + 1]; i++)
        for (uint32_t k = 0; k < PELT_LINEAR_NODES; k++) {
            uint32_t row = solid->unknowns[solid->shape.elements[PELT_LINEAR_NODES * (size_t)solid->around[i] + k]];
            if (row == PELT_NOWHERE) continue;
            if (seen[row] != node + 1) {
                if (rows) rows[count] = row;
                seen[row] = node + 1, place[row] = count++;
            }
            if (places && place[row] < UINT8_MAX) places[PELT_LINEAR_NODES * (size_t)i + k] = (uint8_t)place[row];
        }
    return count;
}

static void tie_nodes(pelt_arena *arena, pelt_solid *solid) {
    pelt_arena *inside = pelt_arena_inside(arena);
    uint32_t nodes = solid->shape.node_count, *seen = PELT_NEW(inside, (size_t)solid->free_count + 1, uint32_t);
    uint32_t *place = PELT_NEW(inside, (size_t)solid->free_count + 1, uint32_t);
    pelt_ties *t = &solid->means;
    *t = (pelt_ties){.count = nodes, .starts = PELT_NEW(arena, (size_t)nodes + 1, uint32_t), .weights = solid->hold};
    for (uint32_t a = 0; a < nodes; a++) t->starts[a + 1] = t->starts[a] + list_rows(solid, a, seen, place, NULL, NULL);
    t->rows = PELT_NEW(arena, (size_t)t->starts[nodes] + 1, uint32_t);
    solid->mean_places = PELT_NEW(arena, 16 * (size_t)solid->shape.element_count, uint8_t);
    memset(seen, 0, solid->free_count * sizeof *seen);
    for (uint32_t a = 0; a < nodes; a++) list_rows(solid, a, seen, place, t->rows + t->starts[a], solid->mean_places);
    pelt_ties_index(arena, t, solid->free_count);
    pelt_arena_free(inside);
}

void pelt_average_open(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    bool needed = false;
    solid->materials = PELT_NEW(arena, s->element_count, pelt_solid_material);
    memcpy(solid->materials, s->materials, s->element_count * sizeof *s->materials);
    if (s->nodes_per_element != PELT_LINEAR_NODES) return;
    solid->hold = PELT_NEW(arena, s->node_count, double);
    solid->node_volumes = PELT_NEW(arena, s->node_count, double);
    for (uint32_t e = 0; e < s->element_count; e++) {
        pelt_solid_material *m = &solid->materials[e];
        double rest = fmax(m->lambda - most_lambda * m->mu, 0);
        m->lambda -= rest;
        needed |= rest > 0;
        for (int k = 0; k < PELT_LINEAR_NODES; k++) {
            uint32_t node = s->elements[PELT_LINEAR_NODES * (size_t)e + (size_t)k];
            solid->hold[node] += rest * solid->volumes[e] / PELT_LINEAR_NODES;
            solid->node_volumes[node] += solid->volumes[e] / PELT_LINEAR_NODES;
        }
    }
    if (!needed) return;
    list_elements(arena, solid);
    tie_nodes(arena, solid);
}

/* -- In a state --------------------------------------------------------------------------------------------------------- */

double pelt_average_energy(pelt_elastic *e) {
    const pelt_solid *s = e->solid;
    double sum = 0;
    for (uint32_t a = 0; a < s->means.count; a++) {
        double volume = 0;
        for (uint32_t i = s->around_starts[a]; i < s->around_starts[a + 1]; i++)
            volume += s->volumes[s->around[i]] * e->least[s->around[i]];
        double off = s->node_volumes[a] > 0 ? volume / PELT_LINEAR_NODES / s->node_volumes[a] - 1 : 0;
        e->pressures[a] = s->node_volumes[a] > 0 ? s->hold[a] / s->node_volumes[a] * off : 0;
        sum += s->hold[a] * off * off / 2;
    }
    return sum;
}

double pelt_average_pressure(const pelt_elastic *e, uint32_t element) {
    const uint32_t *corners = e->solid->shape.elements + PELT_LINEAR_NODES * (size_t)element;
    double sum = 0;
    for (int k = 0; k < PELT_LINEAR_NODES && e->solid->means.count; k++) sum += e->pressures[corners[k]];
    return sum / PELT_LINEAR_NODES;
}

/* g_a = dJ_a / dx, from the change of the elements' volumes. */
static void make_tie(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    pelt_elastic *e = user;
    const pelt_solid *s = e->solid;
    size_t end = (chunk + 1) * CHUNK < s->means.count ? (chunk + 1) * CHUNK : s->means.count;
    for (size_t a = chunk * CHUNK; a < end; a++) {
        double *out = e->means.vectors + 3 * (size_t)s->means.starts[a];
        memset(out, 0, 3 * (size_t)(s->means.starts[a + 1] - s->means.starts[a]) * sizeof *out);
        for (uint32_t i = s->around_starts[a]; i < s->around_starts[a + 1]; i++) {
            uint32_t element = s->around[i];
            const uint32_t *corners = s->shape.elements + PELT_LINEAR_NODES * (size_t)element;
            for (uint32_t k = 0; k < PELT_LINEAR_NODES; k++) {
                if (s->unknowns[corners[k]] == PELT_NOWHERE) continue;
                double *g = out + 3 * (size_t)s->mean_places[PELT_LINEAR_NODES * (size_t)i + k];
                for (int c = 0; c < 3; c++)
                    g[c] +=
                        e->swells[12 * (size_t)element + 3 * k + (size_t)c] / (PELT_LINEAR_NODES * s->node_volumes[a]);
            }
        }
    }
}

void pelt_average_ties(pelt_elastic *e) {
    if (e->means.count) pelt_parallel(e->arena, e->threads, (e->means.count + CHUNK - 1) / CHUNK, make_tie, e);
}

void pelt_average_begin(pelt_elastic *e) {
    const pelt_solid *s = e->solid;
    e->means = s->means;
    if (!s->means.count) return;
    e->pressures = PELT_NEW(e->arena, s->shape.node_count, double);
    e->swells = PELT_NEW(e->arena, 12 * (size_t)s->shape.element_count, double);
    e->means.vectors = PELT_NEW(e->arena, 3 * (size_t)s->means.starts[s->means.count] + 1, double);
    e->means.pulls = PELT_NEW(e->arena, (size_t)s->means.count, double);
}
