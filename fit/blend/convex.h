/* convex.h: convex weights of one vertex: the exact minimum of w^T C w over w >= 0, sum w = 1, and the best few. */

#ifndef PELT_CONVEX_H
#define PELT_CONVEX_H

#include "fit/blend/gram.h"

/* A vertex in space has few joints: more than this never get weight at once. */
enum { PELT_MOST_WEIGHTS = 64 };

typedef struct pelt_weights {
    uint32_t count;
    uint32_t joints[PELT_MOST_WEIGHTS]; /* candidates */
    double weights[PELT_MOST_WEIGHTS];
    double error; /* w^T C w */
} pelt_weights;

/* The exact convex weights over the `allowed` candidates (NULL: all). False when none is allowed. */
bool pelt_convex_weights(pelt_problem *problem, const bool *allowed, pelt_weights *out);

/* Takes joints away one by one, each time the one whose loss, after refitting the others, is least, until `most` are
   left and none has less than `least` weight. Then exchanges joints as long as that pays. */
void pelt_convex_limit(pelt_problem *problem, const bool *allowed, uint32_t most, double least, pelt_weights *weights);

#endif
