/* gram.h: what the fits of a blend need to know of the examples, summed up once.

   With h = (v0, 1) and T_j^e the 3x4 matrix of candidate j in example e, the columns of a vertex's least squares
   problem are T_j^e h - v^e, stacked over the examples; since weights sum to 1, the residual is their weighted sum. The
   Gram matrix of the columns needs no pass over the examples:

       C_jk = h^T K_jk h - b_j - b_k + |v|^2,   K_jk = sum_e T_j^eT T_k^e,   b_j = h^T sum_e T_j^eT v^e

   An example that counts w times as much has rows that are sqrt(w) times as large. K is the same for all vertices; only b costs examples x candidates for each of them. Everything is in units of the
   character's diagonal, about the middle of the rest pose and of each example, so that sums stay well-conditioned and
   tolerances have no unit. */

#ifndef PELT_GRAM_H
#define PELT_GRAM_H

#include "fit/fitting.h"

/* A quadratic form in h has ten coefficients: xx xy xz x yy yz y zz z 1. */
enum { PELT_MONOMIALS = 10 };

/* Joints that a fit may choose from: matrices of the model, where those that never part in the examples are one. */
typedef struct pelt_candidates {
    uint32_t count;
    const uint32_t *first;   /* [count + 1] */
    const uint32_t *members; /* matrices of candidate c: first[c] to first[c + 1] - 1; the first one stands for all */
} pelt_candidates;

typedef struct pelt_gram {
    uint32_t count; /* candidates */
    size_t examples;
    const float **frames;   /* [examples] true positions (or normals) of all vertices */
    double (*centers)[3];   /* [examples] what is subtracted from them */
    double center[3];       /* the same for the rest pose */
    double scale;           /* what they are then divided by */
    const double *factors;  /* [examples] what rows of an example are multiplied by: roots of weights with the mean 1 */
    const double *rows;     /* [4 count][3 examples]: T_j^e, one row for each of its columns */
    const double *products; /* [count][count][PELT_MONOMIALS]: K_jk as a quadratic form in h */
    const double *couplings; /* [count][count][4][4]: K_jk itself, where asked for; else NULL */
} pelt_gram;

/* T_j^e of all examples: matrices [examples][matrix_count], in scene units. */
pelt_result pelt_example_matrices(pelt_fitting *fitting, pelt_affine **matrices, pelt_error *error);

/* Merges candidates that never part; `allowed` (may be NULL) says which matrices may be used at all. Of such twins the
   one that carries most weight in the file stands for all. */
pelt_result pelt_find_candidates(pelt_fitting *fitting, const pelt_affine *matrices, const bool *allowed,
                                 pelt_candidates *out, pelt_error *error);

/* The twin that stands for a candidate at one vertex: the one to which the file binds it most. */
uint32_t pelt_candidate_matrix(const pelt_fitting *fitting, const pelt_candidates *candidates, uint32_t candidate,
                               uint32_t vertex);

/* The sums for positions, with couplings or without; with `normals`, for T^-T and those normals (one array of all
   vertices per example). */
void pelt_gram_new(pelt_fitting *fitting, const pelt_affine *matrices, const pelt_candidates *candidates, bool coupled,
                   const float *const *normals, pelt_gram *out);

/* The same sums for some of the candidates only, with rows where moments are wanted. */
pelt_gram pelt_gram_subset(pelt_arena *arena, const pelt_gram *gram, const uint32_t *list, uint32_t count,
                           bool with_rows);

/* Sums that belong to some vertices: moments[count][4 candidates] = sum_e T_j^eT v^e, energy[count] = |v|^2. `work`
   holds count x 3 examples numbers. */
void pelt_gram_moments(const pelt_gram *gram, const uint32_t *vertices, size_t count, double *work, double *moments,
                       double *energy);

/* -- One vertex ---------------------------------------------------------------------------------------------------- */

/* C of one vertex; columns are computed when they are asked for. */
typedef struct pelt_problem {
    uint32_t count;
    double *columns;  /* [count][count], those that are known */
    bool *known;      /* [count] */
    double *gradient; /* [count] room for solvers */
    double *linear;   /* [count]: C_jk = quadratic_jk - linear_j - linear_k + constant + diagonal (j == k) */
    double constant, diagonal;
    double monomials[PELT_MONOMIALS], normal_monomials[PELT_MONOMIALS];
    const pelt_gram *gram, *normals; /* NULL: all columns are known */
} pelt_problem;

pelt_problem *pelt_problem_new(pelt_arena *arena, uint32_t count);

/* The coefficients of h^T K h for a place (w = 1) or a direction (w = 0). */
void pelt_monomials(const double place[3], double w, double out[PELT_MONOMIALS]);

/* h^T K_jk h. */
static inline double pelt_quadratic(const pelt_gram *gram, uint32_t j, uint32_t k, const double m[PELT_MONOMIALS]) {
    const double *q = gram->products + ((size_t)j * gram->count + k) * PELT_MONOMIALS;
    return m[0] * q[0] + m[1] * q[1] + m[2] * q[2] + m[3] * q[3] + m[4] * q[4] +
           (m[5] * q[5] + m[6] * q[6] + m[7] * q[7] + m[8] * q[8] + m[9] * q[9]);
}

/* The same where h is a direction, whose last number is 0. */
static inline double pelt_quadratic_of_direction(const pelt_gram *gram, uint32_t j, uint32_t k,
                                                 const double m[PELT_MONOMIALS]) {
    const double *q = gram->products + ((size_t)j * gram->count + k) * PELT_MONOMIALS;
    return m[0] * q[0] + m[1] * q[1] + m[2] * q[2] + m[4] * q[4] + (m[5] * q[5] + m[7] * q[7]);
}

/* Sets the problem to a vertex at `rest` (of the gram's units) with its moments and energy. */
void pelt_problem_set(pelt_problem *problem, const pelt_gram *gram, const double rest[3], const double *moments,
                      double energy);

/* Adds rows for a normal (one of several, perhaps), which count `scale` times as much as the position, per diagonal. */
void pelt_problem_add_normals(pelt_problem *problem, const pelt_gram *normals, const double normal[3],
                              const double *moments, double energy, double scale);

const double *pelt_problem_column(pelt_problem *problem, uint32_t candidate);
double pelt_problem_entry(const pelt_problem *problem, uint32_t row, uint32_t column); /* C_jk alone */
void pelt_problem_forget(pelt_problem *problem); /* after linear, constant or diagonal changed */

#endif
