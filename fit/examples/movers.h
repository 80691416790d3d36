/* movers.h: which joints are one mover, and which follow another. */

#ifndef PELT_MOVERS_H
#define PELT_MOVERS_H

#include "fit/examples/poses.h"

/* Fills in movers, members, mover_of, bent, sweep_of from rotations and controls. moved[pose][joint]; control_moved
   [pose][control]. */
void pelt_find_movers(pelt_arena *work, const pelt_skeleton *skeleton, const bool *moved, const bool *control_moved,
                      pelt_poses *poses);

/* Steps along the skeleton between two joints; UINT32_MAX between different roots. */
uint32_t pelt_joint_hops(const pelt_skeleton *skeleton, uint32_t a, uint32_t b);

#endif
