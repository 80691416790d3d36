/* bilinear.h: the two halves of the bilinear fit, for one vertex: weights with the rest position held, rest position
   with the weights held (Mohr & Gleicher 5.2). */

#ifndef PELT_BILINEAR_H
#define PELT_BILINEAR_H

#include "fit/blend/convex.h"

/* Affine weights (sum 1, any sign) over the candidates that `weights` lists: least squares by the singular value
   decomposition. The first joint is the one that the others are measured against; `ridge` is what a unit of squared
   weight of the others costs per example. Singular values below `cut` times the largest are taken as 0; returns how
   many were. */
uint32_t pelt_affine_weights(pelt_problem *problem, double ridge, double cut, pelt_weights *weights);

/* The rest position (of the gram's units) that fits best with the weights held; stays where it is in directions that
   the examples say nothing about. `moments` are those of the joints of the set, one after the other. `affine` false: of
   a direction, such as a normal. */
void pelt_rest_fit(const pelt_gram *gram, const pelt_weights *weights, const double *moments, bool affine,
                   double rest[3]);

/* True when the examples do not show where the rest position is in all directions: a singular value of the stacked
   blends is below `cut` times the largest. */
bool pelt_rest_is_deficient(const pelt_gram *gram, const pelt_weights *weights, double cut);

#endif
