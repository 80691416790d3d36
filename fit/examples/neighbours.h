/* neighbours.h: which points of the fit are joined by an edge of the mesh. */

#ifndef PELT_NEIGHBOURS_H
#define PELT_NEIGHBOURS_H

#include "fit/blend/gram.h"

/* Those of point p are list[first[p]] to list[first[p + 1] - 1], increasing. */
typedef struct pelt_neighbours {
    const uint32_t *first, *list;
} pelt_neighbours;

/* False when memory is out. */
bool pelt_find_neighbours(pelt_fitting *fitting, const pelt_points *points, pelt_neighbours *out);

#endif
