/* arm.h: dimensions shared by the arm's shape and motion, in metres along x from the chest. */

#ifndef PELT_SAMPLES_ARM_H
#define PELT_SAMPLES_ARM_H

#include "rig/rig.h"

#define ARM_SHOULDER 0.16
#define ARM_ELBOW 0.45
#define ARM_WRIST 0.71
#define ARM_KNUCKLES 0.812
#define ARM_LENGTH 0.907

/* Fills in the mesh of the arm. */
void arm_mesh(pelt_arena *arena, pelt_mesh *mesh);

#endif
