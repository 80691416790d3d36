/* lone.h: sweeps that no example shows, out of examples that move several things: what a mover does alone, as the
   regression of drivers.c splits displacements. */

#ifndef PELT_LONE_H
#define PELT_LONE_H

#include "fit/examples/displacement.h"
#include "fit/examples/poses.h"

/* A mover in the pose that it has in an example, with all else at rest. */
typedef struct pelt_lone_poses {
    uint32_t count;
    uint32_t *movers, *examples; /* [count] */
} pelt_lone_poses;

/* Chooses poses that are far apart, for every mover without sweeps. */
pelt_lone_poses pelt_choose_lone_poses(pelt_arena *arena, const pelt_poses *poses);

/* Drops the poses of movers that drive nothing: peaks[mover] is not above `least`. Also drops their displacements
   [count][3 points]. */
void pelt_drop_still_movers(pelt_lone_poses *lone, const float *peaks, float least, uint32_t point_count,
                            float *displacements);

/* Appends them to the examples, as sweeps. */
void pelt_add_lone_poses(pelt_arena *arena, const pelt_lone_poses *lone, pelt_poses *poses);
void pelt_add_lone_displacements(pelt_arena *arena, const pelt_lone_poses *lone, const float *displacements,
                                 pelt_example_displacements *u);

#endif
