/* gram.h: the sums over the examples that blend fits need, computed once.

   With h = (v0, 1) and T_j^e the 3x4 matrix of candidate j in example e, the columns of a vertex's least squares
   problem are T_j^e h - v^e, stacked over the examples; since weights sum to 1, the residual is their weighted sum. The
   Gram matrix of the columns is known without a pass over the examples:

       C_jk = h^T K_jk h - b_j - b_k + |v|^2,   K_jk = sum_e T_j^eT T_k^e,   b_j = h^T sum_e T_j^eT v^e

   An example of weight w has its rows scaled by sqrt(w). K is the same for all vertices; only b costs examples x
   candidates for each. Everything is in units of the character's diagonal, that of the rest pose and that in the
   scene, relative to the centre of the rest pose and of each example, so that sums stay well-conditioned and tolerances are dimensionless. */

#ifndef PELT_GRAM_H
#define PELT_GRAM_H

#include "fit/fitting.h"

/* A quadratic form in h has ten coefficients: xx xy xz x yy yz y zz z 1. */
enum { PELT_MONOMIALS = 10 };

/* Joints a fit may choose from: matrices of the model, where those that always move together are merged. */
typedef struct pelt_candidates {
    uint32_t count;
    const uint32_t *first;   /* [count + 1] */
    const uint32_t *members; /* matrices of candidate c: first[c] to first[c + 1] - 1; the first one represents all */
} pelt_candidates;

typedef struct pelt_gram {
    uint32_t count; /* candidates */
    size_t examples;
    const float **frames;    /* [examples] true positions (or normals) of all vertices */
    double (*centers)[3];    /* [examples] subtracted from them */
    double center[3];        /* the same for the rest pose */
    double scale;            /* and then divided by this: the diagonal in the scene */
    double rest_scale;       /* the same for the rest pose: meshes may be bound in other units than the scene's */
    const double *factors;   /* [examples] scale of an example's rows: roots of weights whose mean is 1 */
    const double *rows;      /* [4 count][3 examples]: T_j^e, one row for each of its columns */
    const double *products;  /* [count][count][PELT_MONOMIALS]: K_jk as a quadratic form in h */
    const double *couplings; /* [count][count][4][4]: K_jk itself, if requested; else NULL */
} pelt_gram;

/* T_j^e of all examples: matrices [examples][matrix_count], in scene units. */
pelt_result pelt_example_matrices(pelt_fitting *fitting, pelt_affine **matrices, pelt_error *error);

/* Merges candidates that always move together; `allowed` (may be NULL) says which matrices may be used at all. Of such
   twins, the one with the most weight in the file represents all. */
pelt_result pelt_find_candidates(pelt_fitting *fitting, const pelt_affine *matrices, const bool *allowed,
                                 pelt_candidates *out, pelt_error *error);

/* The twin that represents a candidate at one vertex: the one the file binds it to most. */
uint32_t pelt_candidate_matrix(const pelt_fitting *fitting, const pelt_candidates *candidates, uint32_t candidate,
                               uint32_t vertex);

/* The sums for positions, with or without couplings; with `normals`, for T^-T and those normals (one array of all
   vertices per example). */
void pelt_gram_new(pelt_fitting *fitting, const pelt_affine *matrices, const pelt_candidates *candidates, bool coupled,
                   const float *const *normals, pelt_gram *out);

/* The same sums for a subset of the candidates, with rows if moments are needed. */
pelt_gram pelt_gram_subset(pelt_arena *arena, const pelt_gram *gram, const uint32_t *list, uint32_t count,
                           bool with_rows);

/* Per-vertex sums: moments[count][4 candidates] = sum_e T_j^eT v^e, energy[count] = |v|^2. `work` has room for count x
   3 examples numbers. */
void pelt_gram_moments(const pelt_gram *gram, const uint32_t *vertices, size_t count, double *work, double *moments,
                       double *energy);

/* -- One vertex ---------------------------------------------------------------------------------------------------- */

/* C of one vertex; columns are computed on demand. */
typedef struct pelt_problem {
    uint32_t count;
    double *columns;  /* [count][count], the known ones */
    bool *known;      /* [count] */
    double *gradient; /* [count] scratch for solvers */
    double *linear;   /* [count]: C_jk = quadratic_jk - linear_j - linear_k + constant + diagonal (j == k) */
    double constant, diagonal;
    double monomials[PELT_MONOMIALS], normal_monomials[PELT_MONOMIALS];
    const pelt_gram *gram, *normals; /* NULL: all columns are known */
} pelt_problem;

pelt_problem *pelt_problem_new(pelt_arena *arena, uint32_t count);

/* The coefficients of h^T K h for a position (w = 1) or a direction (w = 0). */
void pelt_monomials(const double place[3], double w, double out[PELT_MONOMIALS]);

/* h^T K_jk h. */
static inline double pelt_quadratic(const pelt_gram *gram, uint32_t j, uint32_t k, const double m[PELT_MONOMIALS]) {
    const double *q = gram->products + ((size_t)j * gram->count + k) * PELT_MONOMIALS;
    return m[0] * q[0] + m[1] * q[1] + m[2] * q[2] + m[3] * q[3] + m[4] * q[4] +
           (m[5] * q[5] + m[6] * q[6] + m[7] * q[7] + m[8] * q[8] + m[9] * q[9]);
}

/* The same if h is a direction, whose last component is 0. */
static inline double pelt_quadratic_of_direction(const pelt_gram *gram, uint32_t j, uint32_t k,
                                                 const double m[PELT_MONOMIALS]) {
    const double *q = gram->products + ((size_t)j * gram->count + k) * PELT_MONOMIALS;
    return m[0] * q[0] + m[1] * q[1] + m[2] * q[2] + m[4] * q[4] + (m[5] * q[5] + m[7] * q[7]);
}

/* Sets the problem to a vertex at `rest` (in the gram's units) with its moments and energy. */
void pelt_problem_set(pelt_problem *problem, const pelt_gram *gram, const double rest[3], const double *moments,
                      double energy);

/* Adds rows for a normal, possibly one of several, weighted `scale` times the position, per diagonal. */
void pelt_problem_add_normals(pelt_problem *problem, const pelt_gram *normals, const double normal[3],
                              const double *moments, double energy, double scale);

const double *pelt_problem_column(pelt_problem *problem, uint32_t candidate);
double pelt_problem_entry(const pelt_problem *problem, uint32_t row, uint32_t column); /* a single C_jk */
void pelt_problem_forget(pelt_problem *problem); /* after a change of linear, constant or diagonal */

#endif
