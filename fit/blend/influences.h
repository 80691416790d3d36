/* influences.h: which joints a vertex follows (influences.c). */

#ifndef PELT_INFLUENCES_H
#define PELT_INFLUENCES_H

#include "fit/blend/convex.h"

/* Forward selection: the best single joint, then each time the one that lowers the error of the affine fit most. `near`
   lists the candidates to choose from; `ridge` as in pelt_affine_weights. `room` has space for (most + 2) x near_count
   numbers. Weights are left at 0. */
void pelt_choose_greedy(pelt_problem *problem, const uint32_t *near, uint32_t near_count, uint32_t most, double ridge,
                        double *room, pelt_weights *out);

/* Largest distance between any two of the points: exact. xyz[3][count]; `room` has space for 2 count numbers. Once it
   exceeds `enough`, any occurring distance above `enough` may be returned. */
double pelt_cloud_diameter(const double *xyz, size_t count, double enough, double *room);

/* The candidates in whose frame the vertex moves least, i.e. with the smallest clouds.
   inverses[candidate][12][examples] are the inverses of T; `path` [3][examples] is the vertex over the examples, in any
   well-mixed order: the first few rule out most candidates. `room` has space for 5 examples numbers. */
void pelt_choose_rigid(const double *inverses, const bool *usable, uint32_t count, const double *path, size_t examples,
                       uint32_t most, double *room, pelt_weights *out);

#endif
