/* pairs.h: turns weights of any sign into weights from 0 to 1, as glTF requires. */

#ifndef PELT_PAIRS_H
#define PELT_PAIRS_H

#include "rig/rig.h"

/* A node that extrapolates from one joint beyond another: M = T_ahead + reach (T_ahead - T_behind). */
typedef struct pelt_pair {
    uint32_t ahead, behind; /* joints, then driven joints */
    double reach;
} pelt_pair;

typedef struct pelt_pairs {
    uint32_t count;
    const pelt_pair *list;
    pelt_influences influences; /* joints and driven joints, then pairs; no weight is negative, and no vertex follows
                                   more nodes than it followed joints */
} pelt_pairs;

/* The arena owns the result; influences without negative weights are unchanged, without pairs. */
pelt_result pelt_pairs_of(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                          uint32_t joint_count, pelt_pairs *out, pelt_error *error);

#endif
