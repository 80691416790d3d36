/* drivers.h: which movers drive which points where no example shows a mover alone. */

#ifndef PELT_DRIVERS_H
#define PELT_DRIVERS_H

#include "fit/examples/support.h"

/* Writes the amplitudes of movers without sweeps at the points that they drive; those of other movers, and `carried`,
   must be known. Nothing is written where there are too few examples to tell. Also writes the displacements by movers
   alone, lone[pose][point][3], if any are wanted. */
void pelt_find_drivers(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                       const pelt_example_displacements *displacements, uint32_t threads, const pelt_lone_poses *wanted,
                       float *lone, pelt_supports *supports);

#endif
