/* points.h: the points of a fit, and which of them are connected by mesh edges.

   Vertices that share a rest position and move together in the fit's examples are one point, so that a seam cannot
   crack. Held-out frames must not influence this. */

#ifndef PELT_POINTS_H
#define PELT_POINTS_H

#include "rig/rig.h"

typedef struct pelt_points {
    uint32_t count;
    const uint32_t *of_vertex; /* [vertex_count] */
    const uint32_t *vertex;    /* [count] the first vertex of each */
} pelt_points;

pelt_points pelt_find_points(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples);

/* Splits points whose vertices a blend moves differently (other weights, or another rest position), since they need
   different corrections. */
void pelt_part_points(pelt_arena *arena, const pelt_influences *blend, const float *positions, uint32_t vertex_count,
                      pelt_points *points);

/* The neighbours of point p are list[first[p]] to list[first[p + 1] - 1], ascending. */
typedef struct pelt_neighbours {
    const uint32_t *first, *list;
} pelt_neighbours;

pelt_neighbours pelt_find_neighbours(pelt_arena *arena, const pelt_mesh *mesh, const pelt_points *points);

#endif
