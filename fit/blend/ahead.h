/* ahead.h: convex weights for a blend that a corrective follows, in the parts that are tested apart (ahead.c). */

#ifndef PELT_AHEAD_H
#define PELT_AHEAD_H

#include "fit/blend/convex.h"

/* What a kernel ridge regression misses when it has not seen the groups that it predicts, as a matrix: with the inverse
   M = (K + lambda I)^-1 [count][count], row e of M_gg^-1 M_g times the values is how far off the prediction of example e
   is by a fit without its group g. group[count]; -1: a group of its own. False when rounding has left M_gg not positive
   definite. In a stage. */
bool pelt_left_out(pelt_arena *arena, size_t count, const double *inverse, const int *group, double *left_out);

/* What that regression predicts of vectors u[count][3] that it has not seen: d = u - L u. */
void pelt_predicted(size_t count, const double *left_out, const double *u, double *d);

/* Where a point followed this joint alone, its displacement would be d + A^-1 (truth - T (rest + d)), if the inverse
   stayed that of the blend there is now. Weighted with the weights that this blend has, the displacements of the joints
   sum to that of the blend, whatever d is; the nearer d is to it, the nearer they are for other weights. */
void pelt_linear_displacement(const pelt_affine *inverse, const pelt_affine *joint, const double rest[3],
                              const double d[3], const double truth[3], double u[3]);

/* Fits the weights of the model again, starting from those that it has, so that a corrective after them leaves less;
   they stay where examples that were left out are not predicted better. */
pelt_result pelt_fit_weights_ahead(pelt_fitting *fitting, pelt_error *error);

#endif
