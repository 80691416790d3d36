/* extrapolate.h: turns weights of any sign into weights from 0 to 1, as glTF requires. */

#ifndef PELT_EXTRAPOLATE_H
#define PELT_EXTRAPOLATE_H

#include "rig/rig.h"

/* A node that extrapolates from one joint beyond another: M = T_ahead + reach (T_ahead - T_behind). */
typedef struct pelt_extrapolated {
    uint32_t ahead, behind; /* joints, then driven joints */
    double reach;
} pelt_extrapolated;

typedef struct pelt_extrapolation {
    uint32_t count;
    const pelt_extrapolated *list;
    pelt_influences influences; /* joints and driven joints, then pairs; no weight is negative, and no vertex follows
                                   more nodes than it followed joints */
} pelt_extrapolation;

/* The arena owns the result; influences without negative weights are unchanged, without pairs. */
pelt_result pelt_extrapolate_weights(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                                     uint32_t joint_count, pelt_extrapolation *out, pelt_error *error);

#endif
