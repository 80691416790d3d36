/* tension.h: smoothness of a blend across the mesh. Points that are fitted independently are each slightly wrong in a
   different way, and the skin looks crumpled even where its error is small. So error differences across mesh edges are
   penalised too:

       E = sum_p |r_p|^2 + s sum_edges |r_p - r_u|^2,   r_p = sum_j w_pj T_j h_p - y_p  over all examples,

   with y the true path of a point. With its neighbours fixed, a point has the same problem as on its own, but with a
   different path to follow, and weighted by q:

       q |sum_j w_j T_j h - t|^2,   q = 1 + s degree,   t = y + (s / q) sum_u r_u.

   Points of one colour are not neighbours: sweeping colour by colour only lowers E and is deterministic for any number
   of threads. The sums over examples that t needs are assembled from those of the gram and of the paths, so a sweep
   costs nothing per example. */

#ifndef PELT_TENSION_H
#define PELT_TENSION_H

#include "fit/blend/blend.h"

/* A unit of parallel work: some points of one home, which need the same sums. */
typedef struct pelt_piece {
    uint32_t home, begin, count; /* range in the order of points */
} pelt_piece;

/* The candidates whose moments a point has: those that it or a neighbour may follow. Shared by the points of a home. */
typedef struct pelt_homes {
    uint32_t count;
    uint32_t *home;        /* [point] */
    uint32_t **known;      /* [home] candidates, */
    uint32_t *known_count; /* their number, */
    uint32_t *near_count;  /* and how many of them, from the first, points of that home may follow */
    uint32_t **place;      /* [home][candidate] its index in `known`, or UINT32_MAX */
    uint32_t *order;       /* [point] sorted by home */
    uint32_t *first;       /* [count + 1] start of each home in `order` */
    pelt_piece *pieces;    /* covering all points */
    size_t piece_count;
} pelt_homes;

/* Fills in the pieces once everything else is set. */
void pelt_cut_homes(pelt_arena *arena, pelt_homes *homes);

typedef struct pelt_tension {
    const pelt_gram *gram; /* with couplings */
    const pelt_homes *homes;
    pelt_neighbours neighbours;
    double strength;     /* s */
    double **own;        /* [point][4 known] moments of its path */
    double **around;     /* [point][4 known] moments of the sum of its neighbours' paths */
    double (*energy)[3]; /* [point] |y|^2, |sum of the neighbours' y|^2, their product */
    uint32_t *colours;   /* [point] sorted by colour */
    uint32_t *colour_first;
    uint32_t colour_count;
} pelt_tension;

/* The pull of a point's fixed neighbours, with its buffers: one per thread. */
typedef struct pelt_pull {
    double heaviness;    /* q */
    double share;        /* s / q */
    double energy;       /* |t|^2, if requested */
    double *moments;     /* [4 listed candidates] of t */
    double *pulled;      /* [4 listed candidates] of sum_u r_u alone */
    double along;        /* y . sum_u r_u */
    uint32_t felt_count; /* candidates that the neighbours follow, */
    uint32_t *felt;      /* their list, */
    double (*sums)[4];   /* and sum_u w_uj h_u for each */
    uint32_t *slot;      /* [candidate] 1 + its index there, or 0 */
} pelt_pull;

/* Computes moments and colours for all points. Moments of neighbours only if strength is not 0; then homes must know
   their neighbours' candidates. */
void pelt_tension_new(pelt_fitting *fitting, const pelt_gram *gram, const pelt_homes *homes, pelt_neighbours neighbours,
                      double strength, pelt_tension *out);

/* For lists of at most `most` candidates. */
pelt_pull pelt_pull_new(pelt_arena *arena, const pelt_tension *tension, uint32_t most);

/* The path that `point` should follow when its neighbours have the weights and rest positions of `result`; NULL: no
   neighbours. Moments are those of the listed candidates, which its home must know. */
void pelt_pull_at(const pelt_tension *tension, const pelt_blend_result *result, uint32_t point, const uint32_t *listed,
                  uint32_t count, bool with_energy, pelt_pull *out);

/* Calls body(user, points, count, scratch) for all points, in small batches, colour by colour, on all ranks. Its results are
   in the rows: an element for each point, or, with size 0, anywhere. */
typedef void (*pelt_points_body)(void *user, const uint32_t *points, size_t count, pelt_arena *scratch);
void pelt_tension_sweep(const pelt_tension *tension, pelt_arena *arena, uint32_t threads, pelt_points_body body,
                        void *user, size_t row_count, const pelt_made *rows);

#endif
