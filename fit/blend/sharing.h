/* sharing.h: points that will share a block of 16 share joints (sharing.c). */

#ifndef PELT_SHARING_H
#define PELT_SHARING_H

#include "fit/blend/blend.h"

typedef struct pelt_shared_joint {
    uint32_t joint, users; /* a candidate, and how many points of the block follow it */
} pelt_shared_joint;

typedef struct pelt_shared_list {
    uint32_t count;
    const pelt_shared_joint *joints; /* those with the most users first */
} pelt_shared_list;

/* Points in blocks, and the joints of each block. */
typedef struct pelt_sharing {
    const pelt_blend_result *result;
    uint32_t point_count, candidate_count;
    uint32_t *block_of;       /* [point] */
    uint32_t *counts;         /* [block] */
    pelt_shared_joint *lists; /* [block][16 result->most] */
    uint64_t total, least;    /* joints of all blocks, and in the best round */
    uint32_t idle;            /* rounds since then */
    double price;             /* what a joint of a block costs, in units of the error that a point has */
} pelt_sharing;

pelt_sharing pelt_sharing_new(pelt_arena *arena, const pelt_blend_result *result, uint32_t point_count,
                              uint32_t candidate_count, double mean_error);

/* Groups the points anew, by what they follow now. False when the last rounds have made blocks hardly cheaper: enough is
   shared. */
bool pelt_sharing_group(pelt_sharing *sharing, pelt_arena *arena);

/* What the block of a point has. */
pelt_shared_list pelt_sharing_list(const pelt_sharing *sharing, uint32_t point);
uint32_t pelt_sharing_users(pelt_shared_list list, uint32_t joint);

/* Whether a point may exchange a joint for another of its block: only towards what more follow, so that two points never
   chase each other. */
bool pelt_sharing_allows(pelt_shared_joint from, pelt_shared_joint to);

/* By how much the error of a point may grow when it leaves a joint that so many of its block follow: all of them have to
   leave before the block is rid of it. */
double pelt_sharing_worth(const pelt_sharing *sharing, uint32_t users);

/* What a point may do with its joints, the first `own` of a problem E = w^T C w with sum w = 1: exchange one for another of
   those behind, or leave it. */
typedef struct pelt_change {
    uint32_t out, in; /* places in the problem; in: its count when nothing comes instead */
} pelt_change;

/* The change that brings E, over weights of any sign, farthest below bars[out]: tries all that may be. False when none
   does. c[count][count]; where `joints` is given, it says who follows them, and which exchanges are allowed; `factor` is
   room for own x own numbers. */
bool pelt_best_change(const double *c, uint32_t count, uint32_t own, const double *bars,
                      const pelt_shared_joint *joints, double *factor, pelt_change *out);

/* One more row of a Cholesky factor with rows of `stride`; false when the matrix is not positive definite. */
bool pelt_factor_row(double *factor, uint32_t stride, uint32_t row, const double *entries);

#endif
