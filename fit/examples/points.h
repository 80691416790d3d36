/* points.h: what a fit takes for one point of the skin, and which points are joined by an edge of the mesh.

   Vertices that share a rest position and move together in the examples of the fit are one point, so that a seam cannot
   crack. Only these examples have a say: frames that are held out cannot part what they never showed. */

#ifndef PELT_POINTS_H
#define PELT_POINTS_H

#include "rig/rig.h"

typedef struct pelt_points {
    uint32_t count;
    const uint32_t *of_vertex; /* [vertex_count] */
    const uint32_t *vertex;    /* [count] the first vertex of each */
} pelt_points;

pelt_points pelt_find_points(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples);

/* Parts vertices of a point that a blend moves differently (other weights, or another rest position), since these must
   be corrected differently. */
void pelt_part_points(pelt_arena *arena, const pelt_influences *blend, const float *positions, uint32_t vertex_count,
                      pelt_points *points);

/* Those of point p are list[first[p]] to list[first[p + 1] - 1], increasing. */
typedef struct pelt_neighbours {
    const uint32_t *first, *list;
} pelt_neighbours;

pelt_neighbours pelt_find_neighbours(pelt_arena *arena, const pelt_mesh *mesh, const pelt_points *points);

#endif
