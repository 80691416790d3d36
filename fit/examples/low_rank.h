/* low_rank.h: noise of displacements, found and removed by what neighbouring points and examples have in common. */

#ifndef PELT_LOW_RANK_H
#define PELT_LOW_RANK_H

#include "fit/examples/patches.h"

/* If the displacements are noisy, replaces them by those of low rank, patch by patch, and returns the standard
   deviation of the noise in a coordinate; 0: they are not, and nothing has changed. */
double pelt_remove_noise(pelt_arena *arena, const pelt_model *model, pelt_example_displacements *displacements,
                         uint32_t threads);

#endif
