/* bilinear.h: the two halves of the bilinear fit for one vertex: weights with a fixed rest position, rest position with
   fixed weights (Mohr & Gleicher 5.2). */

#ifndef PELT_BILINEAR_H
#define PELT_BILINEAR_H

#include "fit/blend/convex.h"

/* Affine weights (sum 1, any sign) over the candidates listed in `weights`: least squares by singular value
   decomposition. The others are relative to the first joint; `ridge` is the cost per example of their squared weights.
   Singular values below `cut` times the largest are treated as 0; returns how many were. */
uint32_t pelt_affine_weights(pelt_problem *problem, double ridge, double cut, pelt_weights *weights);

/* The best rest position (in the gram's units) for fixed weights; unchanged in directions the examples do not
   determine. `moments` are those of the set's joints, in order. `affine` false: for a direction, such as a normal. */
void pelt_rest_fit(const pelt_gram *gram, const pelt_weights *weights, const double *moments, bool affine,
                   double rest[3]);

/* True when the examples do not determine the rest position in all directions: a singular value of the stacked blends
   is below `cut` times the largest. */
bool pelt_rest_is_deficient(const pelt_gram *gram, const pelt_weights *weights, double cut);

#endif
