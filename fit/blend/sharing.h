/* sharing.h: makes points that will be in the same block of 16 share joints (sharing.c). */

#ifndef PELT_SHARING_H
#define PELT_SHARING_H

#include "fit/blend/blend.h"

typedef struct pelt_shared_joint {
    uint32_t joint, users; /* a candidate, and the number of points of the block that follow it */
} pelt_shared_joint;

typedef struct pelt_shared_list {
    uint32_t count;
    const pelt_shared_joint *joints; /* descending by users */
} pelt_shared_list;

/* Points in blocks, and the joints of each block. */
typedef struct pelt_sharing {
    const pelt_blend_result *result;
    uint32_t point_count, candidate_count;
    uint32_t *block_of;       /* [point] */
    uint32_t *counts;         /* [block] */
    pelt_shared_joint *lists; /* [block][16 result->most] */
    uint64_t total, least;    /* joints of all blocks: now, and in the best round */
    uint32_t idle;            /* rounds since then */
    double price;             /* of a joint in a block, in units of a point's error */
} pelt_sharing;

pelt_sharing pelt_sharing_new(pelt_arena *arena, const pelt_blend_result *result, uint32_t point_count,
                              uint32_t candidate_count, double mean_error);

/* Regroups the points by their current joints. False when recent rounds hardly made blocks cheaper, so that sharing is
   done. */
bool pelt_sharing_group(pelt_sharing *sharing, pelt_arena *arena);

/* The joints of a point's block. */
pelt_shared_list pelt_sharing_list(const pelt_sharing *sharing, uint32_t point);
uint32_t pelt_sharing_users(pelt_shared_list list, uint32_t joint);

/* Whether a point may swap a joint for another of its block: only towards more users, so that two points never chase
   each other. */
bool pelt_sharing_allows(pelt_shared_joint from, pelt_shared_joint to);

/* How much a point's error may grow if it drops a joint with this many users in its block: all of them must drop it
   before the block saves anything. */
double pelt_sharing_worth(const pelt_sharing *sharing, uint32_t users);

/* A change to a point's joints, the first `own` of a problem E = w^T C w with sum w = 1: swap one for one of the
   others, or drop it. */
typedef struct pelt_change {
    uint32_t out, in; /* indices in the problem; in: its count for no replacement */
} pelt_change;

/* The change that brings E, over weights of any sign, farthest below bars[out], by exhaustive search. False when none
   does. c[count][count]; `joints`, if given, lists their users and so which swaps are allowed; `factor` has room for
   own x own numbers. */
bool pelt_best_change(const double *c, uint32_t count, uint32_t own, const double *bars,
                      const pelt_shared_joint *joints, double *factor, pelt_change *out);

/* Appends a row to a Cholesky factor with rows of `stride`; false when the matrix is not positive definite. */
bool pelt_factor_row(double *factor, uint32_t stride, uint32_t row, const double *entries);

#endif
