/* linear.h: the linear algebra that offline work needs, by LAPACK, in double. Matrices are row-major. Within pelt_stage
   everything here runs on the calling thread alone, so that results do not depend on the number of threads; the loops
   around it are parallel. */

#ifndef PELT_LINEAR_H
#define PELT_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

/* What pelt_stage does around its work: BLAS keeps to the calling thread from enter to leave, stages of other threads
   included. pelt_blas_failed: true when a call of this thread had no memory since the last time it was asked. */
bool pelt_blas_enter(void); /* false: there is no room for OpenBLAS's memory */
void pelt_blas_leave(void);
bool pelt_blas_failed(void);

/* Address space that OpenBLAS takes for every thread that calls it. */
#define PELT_BLAS_MEGABYTES 128
/* How many threads may call OpenBLAS at the same time, up to the number wanted: fewer where the address space is
   limited (ulimit -v). */
int pelt_blas_reserve(int wanted);

/* c[rows][columns] = alpha op(a) op(b) + beta c, op is the transpose where asked; `inner` is the summed dimension. */
void pelt_gemm(bool transpose_a, bool transpose_b, size_t rows, size_t columns, size_t inner, double alpha,
               const double *a, const double *b, double beta, double *c);

/* c[n][n] = alpha op(a) op(a)^T + beta c of a symmetric c, of which only the lower half is read and written; op(a) is
   [n][inner]. */
void pelt_syrk(bool transpose, size_t n, size_t inner, double alpha, const double *a, double beta, double *c);

/* c[n][columns] = alpha a b of a symmetric a[n][n], of which only the lower half is read. */
void pelt_symm(size_t n, size_t columns, double alpha, const double *a, const double *b, double *c);

/* Cholesky factor of a symmetric positive definite matrix, in place (lower, which is all that it looks at). False when it
   is not positive definite. */
bool pelt_cholesky(size_t n, double *a);
bool pelt_cholesky_float(size_t n, float *a);
/* Solves with the factor; b[n][columns] becomes the solution. */
void pelt_cholesky_solve(size_t n, const double *factor, size_t columns, double *b);
/* The first half of that: b becomes factor^-1 b. */
void pelt_forward_solve(size_t n, const double *factor, size_t columns, double *b);
/* The factor becomes the inverse of the matrix, all of it. */
void pelt_cholesky_invert(size_t n, double *factor);

/* Replaces the columns of a[rows][columns] (rows >= columns) by an orthonormal basis of their span (QR). */
bool pelt_orthonormalize(size_t rows, size_t columns, double *a);

/* Eigenvalues (ascending) and eigenvectors (columns of a) of a symmetric matrix, in place. */
bool pelt_eigen(size_t n, double *a, double *values);

/* The `count` largest eigenvalues, the largest first, and their eigenvectors as rows [count][n]. a is destroyed. */
bool pelt_eigen_leading(size_t n, double *a, size_t count, double *values, double *vectors);

/* The 2-norm condition of a symmetric matrix, which is destroyed: its largest over its smallest eigenvalue, by size;
   INFINITY when it is singular. */
double pelt_condition_of(size_t n, double *a);

/* Least squares min |a x - b| by SVD; singular values below cut times the largest are taken as 0. a is destroyed;
   b[rows][columns_b] has the solution in its first `columns` rows (it must have room for max(rows, columns) rows).
   `rank` and `s` [min(rows, columns)] may be NULL. */
bool pelt_least_squares(size_t rows, size_t columns, double *a, size_t columns_b, double *b, double cut, size_t *rank,
                        double *s);

#endif
