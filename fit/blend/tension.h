/* tension.h: what the mesh says about a blend. Points that are fitted alone are each a little wrong in their own way,
   and the skin is crumpled where its error is small. So differences of the error across edges of the mesh cost too:

       E = sum_p |r_p|^2 + s sum_edges |r_p - r_u|^2,   r_p = sum_j w_pj T_j h_p - y_p  over all examples,

   with y the true path of a point. While its neighbours are held, a point has the problem that it has alone, but with
   another path to follow, and q times as heavy:

       q |sum_j w_j T_j h - t|^2,   q = 1 + s degree,   t = y + (s / q) sum_u r_u.

   Points of one colour are not neighbours: sweeps over the colours, one after the other, only lower E, and have the same
   result for any number of threads. The sums over examples that t needs are put together from those of the gram and of
   the paths, so a sweep costs nothing per example. */

#ifndef PELT_TENSION_H
#define PELT_TENSION_H

#include "fit/blend/blend.h"

/* Some points of one home, which need the same sums: a piece of parallel work. */
typedef struct pelt_piece {
    uint32_t home, begin, count; /* places in the order of points */
} pelt_piece;

/* Candidates whose moments a point has: those that it or a neighbour may follow. Points of one home share them. */
typedef struct pelt_homes {
    uint32_t count;
    uint32_t *home;        /* [point] */
    uint32_t **known;      /* [home] candidates, */
    uint32_t *known_count; /* so many, */
    uint32_t *near_count;  /* of which points of that home may follow the first so many */
    uint32_t **place;      /* [home][candidate] where it is among the known; UINT32_MAX: it is not */
    uint32_t *order;       /* [point] points by home */
    uint32_t *first;       /* [count + 1] where those of a home begin in the order */
    pelt_piece *pieces;    /* all points */
    size_t piece_count;
} pelt_homes;

/* Fills in the pieces, when all else is known. */
void pelt_cut_homes(pelt_arena *arena, pelt_homes *homes);

typedef struct pelt_tension {
    const pelt_gram *gram; /* with couplings */
    const pelt_homes *homes;
    pelt_neighbours neighbours;
    double strength;     /* s */
    double **own;        /* [point][4 known] moments of its path */
    double **around;     /* [point][4 known] moments of the sum of its neighbours' paths */
    double (*energy)[3]; /* [point] |y|^2, |sum of the neighbours' y|^2, their product */
    uint32_t *colours;   /* [point] in the order of their colours */
    uint32_t *colour_first;
    uint32_t colour_count;
} pelt_tension;

/* What the neighbours of a point say while they are held, and room for it: one for each thread. */
typedef struct pelt_pull {
    double heaviness;    /* q */
    double share;        /* s / q */
    double energy;       /* |t|^2, where asked for */
    double *moments;     /* [4 listed candidates] of t */
    double *pulled;      /* [4 listed candidates] of sum_u r_u alone */
    double along;        /* y . sum_u r_u */
    uint32_t felt_count; /* candidates that the neighbours follow, */
    uint32_t *felt;      /* which, */
    double (*sums)[4];   /* and sum_u w_uj h_u for each */
    uint32_t *slot;      /* [candidate] its place there + 1, or 0 */
} pelt_pull;

/* Moments of all points; colours. Without strength there are no moments of neighbours; with it, homes must know their
   neighbours' candidates. */
void pelt_tension_new(pelt_fitting *fitting, const pelt_gram *gram, const pelt_homes *homes, pelt_neighbours neighbours,
                      double strength, pelt_tension *out);

/* At most `most` candidates are listed. */
pelt_pull pelt_pull_new(pelt_arena *arena, const pelt_tension *tension, uint32_t most);

/* The path that `point` should follow, when its neighbours have the weights and rest positions of `result`; NULL: it is
   alone. Moments are those of the listed candidates, which its home must know. */
void pelt_pull_at(const pelt_tension *tension, const pelt_blend_result *result, uint32_t point, const uint32_t *listed,
                  uint32_t count, bool with_energy, pelt_pull *out);

/* Calls body(user, points, count, scratch) for all points, a few at a time, colour by colour. */
typedef void (*pelt_points_body)(void *user, const uint32_t *points, size_t count, pelt_arena *scratch);
void pelt_tension_sweep(const pelt_tension *tension, pelt_arena *arena, uint32_t threads, pelt_points_body body,
                        void *user);

#endif
