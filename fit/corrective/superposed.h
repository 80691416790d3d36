/* superposed.h: poses that move several things, made from examples that move one thing each. */

#ifndef PELT_SUPERPOSED_H
#define PELT_SUPERPOSED_H

#include "fit/examples/poses.h"

/* In each pose everything that sweeps move is as in one of its sweeps, or at rest. What things do together is taken to
   be the sum of what each does alone, which is what EigenSkin assumes. */
typedef struct pelt_superposed {
    size_t count;
    uint32_t *examples; /* [count][mover] the sweep it is taken from; PELT_REST_EXAMPLE: it is at rest */
} pelt_superposed;

/* None where enough examples move several things, or only one thing moves. */
pelt_superposed pelt_superpose_sweeps(pelt_arena *arena, const pelt_poses *poses);

/* Whether enough examples move several things to show what these do together. */
bool pelt_shows_several(const pelt_poses *poses);

#endif
