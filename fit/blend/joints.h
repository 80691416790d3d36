/* joints.h: what the steps of Mohr & Gleicher's blend share (joints.c). */

#ifndef PELT_JOINTS_H
#define PELT_JOINTS_H

#include "fit/blend/locks.h"
#include "fit/blend/tension.h"

/* The normals of a point: one for each of its vertices that shades differently, so that hard edges stay hard. */
typedef struct pelt_facets {
    uint32_t count;
    uint32_t *first;      /* [point + 1] facets of point p: first[p] to first[p + 1] - 1 */
    uint32_t *vertex;     /* [facet] one of its vertices */
    uint32_t *of_vertex;  /* [vertex] */
    double (*normals)[3]; /* [facet] at rest: of the file, then fitted */
    double **moments;     /* [facet][4 known] of its true normals */
    double *energy;       /* [facet] */
} pelt_facets;

/* Of the tension, where the search for it begins. */
#define PELT_LEAST_STRENGTH 0.125

typedef struct pelt_joining {
    pelt_fitting *f;
    pelt_candidates candidates;
    pelt_gram gram, normal_gram;
    const pelt_smoothing *smoothing;
    pelt_neighbours neighbours;
    pelt_homes homes;
    pelt_tension tension;
    pelt_facets facets;
    bool with_normals, refit, rigid;
    bool find_strength;  /* of the tension: nobody gave it */
    uint32_t most;       /* joints per point */
    double ridge;        /* what a squared weight costs, per example */
    double normal_scale; /* how much a normal counts, per diagonal */
    pelt_blend_result result;
    uint32_t round_count;
    pelt_locks locks;        /* of vertices */
    double *rounds;          /* [round] what the fit has left, squared, summed over points and examples */
    uint8_t *deficient;      /* [point] singular values that were zeroed */
    uint8_t *rest_deficient; /* [point] the same of its rest position */
} pelt_joining;

/* Points by home, and which candidates are near: those whose joint is few steps along the skeleton from the joint that
   the file binds the point to (near.c). Otherwise joints of other limbs that happen to move alike would be taken. */
void pelt_find_homes(pelt_joining *joining);
/* Homes get to know what the neighbours of their points may follow. */
void pelt_know_neighbours(pelt_homes *homes, const pelt_neighbours *neighbours, uint32_t point_count);

/* The paper's recipe: joints by rigidity, each point alone (joints_paper.c). */
pelt_result pelt_join_rigid(pelt_joining *joining, const pelt_affine *matrices, pelt_error *error);

/* Sweeps over weights and rest positions with the joints held, which only lower the error and its differences across the
   mesh; in w->rounds, what is left before and after each round of them (joints_smooth.c). */
void pelt_join_settle(pelt_joining *joining);

/* Joints, weights and rest positions that lower the error and its differences across the mesh (joints_smooth.c). */
pelt_result pelt_join_smooth(pelt_joining *joining, pelt_error *error);

/* Sets the problem to a point on its own path: over the first candidates that its home knows, in that order, as many as
   `gram` (and `normal_gram`, where normals count) has. */
void pelt_joining_problem(const pelt_joining *joining, uint32_t point, const double rest[3], const pelt_gram *gram,
                          const pelt_gram *normal_gram, pelt_problem *problem);

/* The rest position of a point in the gram's units, as in the file. */
void pelt_joining_rest(const pelt_joining *joining, uint32_t point, double rest[3]);

/* Normals of the facets of a point that fit best with its weights held. */
void pelt_joining_fit_normals(pelt_joining *joining, uint32_t point, const pelt_weights *set);

#endif
