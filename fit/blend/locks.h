/* locks.h: weights that a fit must keep as they are in the file, for some joints or some vertices (locks.c). */

#ifndef PELT_LOCKS_H
#define PELT_LOCKS_H

#include "fit/blend/convex.h"

typedef struct pelt_locks {
    bool *candidates; /* [candidate]; NULL: none */
    bool *points;     /* [point]; NULL: none */
} pelt_locks;

/* What every fitted blend begins with: the matrices of the examples, the candidates among them (all but drop_joints),
   and the locks that the options name. */
pelt_result pelt_begin_blend(pelt_fitting *fitting, pelt_affine **matrices, pelt_candidates *candidates,
                             pelt_locks *locks, pelt_error *error);

/* The locked weights of a vertex, from the file; returns their sum. */
double pelt_locked_weights(const pelt_fitting *fitting, const pelt_candidates *candidates, const pelt_locks *locks,
                           uint32_t vertex, pelt_weights *locked);

/* A share of the weights that is left to fit: less is rounding, and all of them are locked. */
#define PELT_LOCKED_ENTIRELY 1e-6

#endif
