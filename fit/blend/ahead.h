/* ahead.h: convex weights for a blend that a corrective follows, in the parts that are tested apart (ahead.c). */

#ifndef PELT_AHEAD_H
#define PELT_AHEAD_H

#include "fit/blend/convex.h"

/* What a kernel ridge regression misses when it has not seen the groups that it predicts, as a matrix: with the inverse
   M = (K + lambda I)^-1 [count][count], row e of M_gg^-1 M_g times the values is how far off the prediction of example e
   is by a fit without its group g. group[count]; -1: a group of its own. False when rounding has left M_gg not positive
   definite. In a stage. */
bool pelt_left_out(pelt_arena *arena, size_t count, const double *inverse, const int *group, double *left_out);

/* Fits the weights of the model again, starting from those that it has, so that a corrective after them leaves less;
   they stay where examples that were left out are not predicted better. */
pelt_result pelt_fit_weights_ahead(pelt_fitting *fitting, pelt_error *error);

#endif
