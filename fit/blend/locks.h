/* locks.h: weights that a fit must keep as they are in the file, for some joints or some vertices (locks.c). */

#ifndef PELT_LOCKS_H
#define PELT_LOCKS_H

#include "fit/blend/convex.h"

typedef struct pelt_locks {
    bool *candidates; /* [candidate]; NULL: none */
    bool *points;     /* [point]; NULL: none */
} pelt_locks;

/* Finds the locks that the options name. */
pelt_result pelt_find_locks(pelt_fitting *fitting, const pelt_candidates *candidates, pelt_locks *out,
                            pelt_error *error);

/* The locked weights of a vertex, from the file; returns their sum. */
double pelt_locked_weights(const pelt_fitting *fitting, const pelt_candidates *candidates, const pelt_locks *locks,
                           uint32_t vertex, pelt_weights *locked);

/* A share of the weights that is left to fit: less is rounding, and all of them are locked. */
#define PELT_LOCKED_ENTIRELY 1e-6

#endif
