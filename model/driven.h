/* driven.h: the mathematics of driven joints that their choice also needs (driven.c). */

#ifndef PELT_DRIVEN_H
#define PELT_DRIVEN_H

#include "model/model.h"

/* The motion of a joint relative to its parent (NULL: none) and its rotation; false when either is singular. */
bool pelt_relative_rotation(const pelt_affine *parent, const pelt_affine *joint, pelt_affine *motion,
                            pelt_affine *rotation);

#endif
