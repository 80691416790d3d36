/* convex.h: convex weights of one vertex: the exact minimum of w^T C w over w >= 0, sum w = 1, and the best few. */

#ifndef PELT_CONVEX_H
#define PELT_CONVEX_H

#include "fit/blend/gram.h"

/* More joints than this never have weight at a vertex at the same time. */
enum { PELT_MOST_WEIGHTS = 64 };

typedef struct pelt_weights {
    uint32_t count;
    uint32_t joints[PELT_MOST_WEIGHTS]; /* candidates */
    double weights[PELT_MOST_WEIGHTS];
    double error; /* w^T C w */
} pelt_weights;

/* The exact convex weights over the `allowed` candidates (NULL: all). False when none is allowed. */
bool pelt_convex_weights(pelt_problem *problem, const bool *allowed, pelt_weights *out);

/* Removes joints one by one, each time the one with the smallest loss after refitting the others, until at most `most`
   are left and none has less than `least` weight. Then swaps joints as long as that helps. */
void pelt_convex_limit(pelt_problem *problem, const bool *allowed, uint32_t most, double least, pelt_weights *weights);

#endif
