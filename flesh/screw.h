/* screw.h: rigid motions. */

#ifndef PELT_SCREW_H
#define PELT_SCREW_H

#include "rig/rig.h"

/* The motion part of the way: 0 is the identity, 1 the motion. */
pelt_affine pelt_screw(const pelt_affine *motion, double part);

/* How far a rigid motion turns: 0 to pi. */
double pelt_rigid_angle(const pelt_affine *a);

/* Whether a map is a rotation and a shift, to a precision of floats. */
bool pelt_is_rigid(const pelt_affine *a);

#endif
