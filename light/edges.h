/* edges.h: smooth edges for pictures with one point per pixel.

   Where neighbouring pixels see different surfaces, the surfaces that cross the pixel are looked up with 16 rays, and
   the pixel becomes a mixture of its neighbours: light is not computed again. */

#ifndef PELT_LIGHT_EDGES_H
#define PELT_LIGHT_EDGES_H

#include "light/view.h"

#define NO_POINT UINT32_MAX

enum { EDGE_SIDE = 4, EDGE_PARTS = EDGE_SIDE * EDGE_SIDE }; /* parts of a pixel */

typedef struct pelt_light_edge {
    uint32_t pixel;     /* of the picture */
    uint32_t points[9]; /* the pixels around it, row by row: indices into the view's pixels, or NO_POINT: black */
    uint8_t weights[9]; /* how many parts of the pixel look like each; they sum to EDGE_PARTS */
} pelt_light_edge;

typedef struct pelt_light_edges {
    size_t count;
    pelt_light_edge *list;
} pelt_light_edges;

/* Whether two points are on the same plane of a view, up to a thousandth of its size. */
bool pelt_light_coplanar(const pelt_light_view *view, const pelt_light_point *a, const pelt_light_point *b);

/* points: [height][width] indices into the view's pixels; NO_POINT: nothing is seen. Free the list. */
pelt_result pelt_light_edges_find(const pelt_light_view *view, const uint32_t *points, pelt_light_edges *edges,
                                  pelt_error *error);

/* The places in the plane of a pixel's point that its parts see. */
void pelt_light_parts(const pelt_light_view *view, const pelt_light_point *point, float places[EDGE_PARTS][3]);

#endif
