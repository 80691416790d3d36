/* joints.h: shared by the steps of Mohr & Gleicher's blend (joints.c). */

#ifndef PELT_JOINTS_H
#define PELT_JOINTS_H

#include "fit/blend/locks.h"
#include "fit/blend/tension.h"

/* The normals of a point: one for each group of its vertices that shades as one, so that hard edges stay hard. */
typedef struct pelt_facets {
    uint32_t count;
    uint32_t *first;      /* [point + 1] facets of point p: first[p] to first[p + 1] - 1 */
    uint32_t *vertex;     /* [facet] one of its vertices */
    uint32_t *of_vertex;  /* [vertex] */
    double (*normals)[3]; /* [facet] at rest: the file's, then fitted */
    double **moments;     /* [facet][4 known] of the true normals */
    double *energy;       /* [facet] */
} pelt_facets;

/* Initial strength in the search for the tension. */
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
    bool find_strength;  /* search for the strength of the tension */
    uint32_t most;       /* joints per point */
    double ridge;        /* cost of a squared weight, per example */
    double normal_scale; /* weight of a normal, per diagonal */
    pelt_blend_result result;
    uint32_t round_count;
    pelt_locks locks;        /* of vertices */
    double *rounds;          /* [round] remaining squared error, summed over points and examples */
    uint8_t *deficient;      /* [point] number of singular values that were zeroed */
    uint8_t *rest_deficient; /* [point] likewise for its rest position */
} pelt_joining;

/* Groups points by home and finds the nearby candidates: those whose joint is few steps along the skeleton from the
   joint the file binds the point to (near.c). Without this, joints of other limbs that happen to move similarly would
   be used. */
void pelt_find_homes(pelt_joining *joining);
/* Adds the candidates that the neighbours of a home's points may follow. */
void pelt_know_neighbours(pelt_homes *homes, const pelt_neighbours *neighbours, uint32_t point_count);

/* The paper's method: joints by rigidity, each point independently (joints_paper.c). */
pelt_result pelt_join_rigid(pelt_joining *joining, const pelt_affine *matrices, pelt_error *error);

/* Sweeps over weights and rest positions with fixed joints, which only lower the error and its differences across the
   mesh; w->rounds gets the remaining error before and after each round (joints_smooth.c). */
void pelt_join_settle(pelt_joining *joining);

/* Joints, weights and rest positions that lower the error and its differences across the mesh (joints_smooth.c). */
pelt_result pelt_join_smooth(pelt_joining *joining, pelt_error *error);

/* Sets the problem to a point on its own path, over the first candidates that its home knows, in that order, as many as
   `gram` (and `normal_gram`, if normals are used) has. */
void pelt_joining_problem(const pelt_joining *joining, uint32_t point, const double rest[3], const pelt_gram *gram,
                          const pelt_gram *normal_gram, pelt_problem *problem);

/* The rest position of a point in the gram's units, from the file. */
void pelt_joining_rest(const pelt_joining *joining, uint32_t point, double rest[3]);

/* The best normals of a point's facets for its current weights. */
void pelt_joining_fit_normals(pelt_joining *joining, uint32_t point, const pelt_weights *set);

#endif
