/* smoothing.h: how a mesh shades, as normals.c finds it and rings.c stores it. */

#ifndef PELT_SMOOTHING_H
#define PELT_SMOOTHING_H

#include "rig/rig.h"

/* How the triangles of a vertex are weighted. */
typedef enum pelt_weighting { PELT_BY_ANGLE, PELT_BY_AREA } pelt_weighting;

struct pelt_smoothing {
    const pelt_mesh *mesh;
    pelt_weighting by;
    const uint32_t *leaders; /* [vertex] the first of its group */
    uint32_t *across;        /* [leader] the other end of an edge, which gives the frame's first axis */
    float *bends;            /* [leader][3] the file's normal in the frame of the rest surface; zero: no surface */
};

#endif
