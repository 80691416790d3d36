/* pairs.h: weights of any sign as weights from 0 to 1, which is all that glTF allows. */

#ifndef PELT_PAIRS_H
#define PELT_PAIRS_H

#include "rig/rig.h"

/* A node that lies beyond one joint as seen from another: M = T_ahead + reach (T_ahead - T_behind). */
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

/* The arena owns the result; influences without negative weights are left as they are, and there are no pairs. */
pelt_result pelt_pairs_of(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                          uint32_t joint_count, pelt_pairs *out, pelt_error *error);

#endif
