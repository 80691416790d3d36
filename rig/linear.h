/* linear.h: linear algebra for offline work, by LAPACK, in double. Matrices are row-major. Within pelt_stage everything
   here runs on the calling thread alone, so that results do not depend on the number of threads; the loops around it
   are parallel. */

#ifndef PELT_LINEAR_H
#define PELT_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

/* Called by pelt_stage around its work: BLAS stays on the calling thread from enter to leave, also for stages of other
   threads. pelt_blas_failed: whether a call of this thread ran out of memory since the last query. */
bool pelt_blas_enter(void); /* false: no room for OpenBLAS's memory */
void pelt_blas_leave(void);
bool pelt_blas_failed(void);

/* Address space that OpenBLAS takes per calling thread. */
#define PELT_BLAS_MEGABYTES 128
/* How many threads may call OpenBLAS at the same time, up to the number requested: fewer if the address space is
   limited (ulimit -v). */
int pelt_blas_reserve(int wanted);

/* c[rows][columns] = alpha op(a) op(b) + beta c, where op optionally transposes; `inner` is the summed dimension. */
void pelt_gemm(bool transpose_a, bool transpose_b, size_t rows, size_t columns, size_t inner, double alpha,
               const double *a, const double *b, double beta, double *c);

/* c[n][n] = alpha op(a) op(a)^T + beta c for a symmetric c; only its lower half is read and written; op(a) is
   [n][inner]. */
void pelt_syrk(bool transpose, size_t n, size_t inner, double alpha, const double *a, double beta, double *c);

/* c[n][columns] = alpha a b for a symmetric a[n][n]; only its lower half is read. */
void pelt_symm(size_t n, size_t columns, double alpha, const double *a, const double *b, double *c);

/* Cholesky factor of a symmetric positive definite matrix, in place (only the lower half is accessed). False if it is
   not positive definite. */
bool pelt_cholesky(size_t n, double *a);
bool pelt_cholesky_float(size_t n, float *a);
/* Solves with the factor; b[n][columns] becomes the solution. */
void pelt_cholesky_solve(size_t n, const double *factor, size_t columns, double *b);
/* The first half of that solve: b becomes factor^-1 b. */
void pelt_forward_solve(size_t n, const double *factor, size_t columns, double *b);
/* The factor becomes the full inverse of the matrix. */
void pelt_cholesky_invert(size_t n, double *factor);

/* Replaces the columns of a[rows][columns] (rows >= columns) by an orthonormal basis of their span (QR). */
bool pelt_orthonormalize(size_t rows, size_t columns, double *a);

/* Eigenvalues (ascending) and eigenvectors (columns of a) of a symmetric matrix, in place. */
bool pelt_eigen(size_t n, double *a, double *values);

/* The `count` largest eigenvalues, the largest first, and their eigenvectors as rows [count][n]. a is destroyed. */
bool pelt_eigen_leading(size_t n, double *a, size_t count, double *values, double *vectors);

/* The 2-norm condition number of a symmetric matrix, which is destroyed: its largest over its smallest eigenvalue in
   magnitude; INFINITY if singular. */
double pelt_condition_of(size_t n, double *a);

/* Least squares min |a x - b| by SVD; singular values below cut times the largest are treated as 0. a is destroyed; the
   solution replaces the first `columns` rows of b[rows][columns_b], which must have room for max(rows, columns) rows. */
bool pelt_least_squares(size_t rows, size_t columns, double *a, size_t columns_b, double *b, double cut);

#endif
