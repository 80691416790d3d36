/* carried.h: normals as players carry them (carried.c). */

#ifndef PELT_CARRIED_H
#define PELT_CARRIED_H

#include "model/model.h"

/* Whether some joint that the skin adds scales: then players carry normals wrongly. */
bool pelt_scales_normals(const pelt_model *model);

/* The change of a unit rest normal with which a player shows the posed one; 0 where the blend is singular. `linear` is
   that of the blend, row-major. */
void pelt_carried_change(const double linear[9], const float posed[3], const float rest[3], float change[3]);

#endif
