/* ahead.h: convex weights for a blend that a corrective follows, split into separately tested parts (ahead.c). */

#ifndef PELT_AHEAD_H
#define PELT_AHEAD_H

#include "fit/blend/convex.h"

/* The leave-group-out error of a kernel ridge regression, as a matrix: with the inverse M = (K + lambda I)^-1
   [count][count], row e of M_gg^-1 M_g times the values is the error of predicting example e from a fit without its
   group g. group[count]; -1: alone in its group. False when M_gg is not positive definite due to rounding. Runs in a
   stage. */
bool pelt_left_out(pelt_arena *arena, size_t count, const double *inverse, const int *group, double *left_out);

/* The predictions of that regression for vectors u[count][3] it has not seen: d = u - L u. */
void pelt_predicted(size_t count, const double *left_out, const double *u, double *d);

/* If a point followed only this joint, its displacement would be d + A^-1 (truth - T (rest + d)), assuming the inverse
   of the current blend. Averaged with the current weights, the joints' displacements equal that of the blend for any d;
   the closer d is to it, the better this approximates other weights. */
void pelt_linear_displacement(const pelt_affine *inverse, const pelt_affine *joint, const double rest[3],
                              const double d[3], const double truth[3], double u[3]);

/* Refits the model's weights, starting from the current ones, so that a corrective on top of them leaves less error;
   keeps them unless left-out examples are predicted better. */
pelt_result pelt_fit_weights_ahead(pelt_fitting *fitting, pelt_error *error);

#endif
