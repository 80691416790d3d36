/* locks.h: weights that a fit must leave as the file has them: of some joints, or of some vertices (locks.c). */

#ifndef PELT_LOCKS_H
#define PELT_LOCKS_H

#include "fit/blend/convex.h"

typedef struct pelt_locks {
    bool *candidates; /* [candidate]; NULL: none */
    bool *points;     /* [point]; NULL: none */
} pelt_locks;

/* Those that the options name. */
pelt_result pelt_find_locks(pelt_fitting *fitting, const pelt_candidates *candidates, pelt_locks *out,
                            pelt_error *error);

/* The locked weights of a vertex, as the file has them; returns their sum. */
double pelt_locked_weights(const pelt_fitting *fitting, const pelt_candidates *candidates, const pelt_locks *locks,
                           uint32_t vertex, pelt_weights *locked);

#endif
