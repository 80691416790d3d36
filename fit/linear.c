/* linear.c: LAPACK and BLAS behind the few calls that fits make. */

#include "fit/linear.h"
#include <cblas.h>
#include <lapacke.h>
#include <pthread.h>
#include <stdlib.h>

/* OpenBLAS starts threads of its own where it sees fit; sums in another order give other bits. It is told once: the
   call tears down its threads and must not run while another thread computes. */
extern void openblas_set_num_threads(int count) __attribute__((weak));

static void tell_once(void) {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
}

static void one_thread(void) {
    static pthread_once_t told = PTHREAD_ONCE_INIT;
    pthread_once(&told, tell_once);
}

void pelt_gemm(bool transpose_a, bool transpose_b, size_t rows, size_t columns, size_t inner, double alpha,
               const double *a, const double *b, double beta, double *c) {
    one_thread();
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
                (int)rows, (int)columns, (int)inner, alpha, a, (int)(transpose_a ? rows : inner), b,
                (int)(transpose_b ? inner : columns), beta, c, (int)columns);
}

bool pelt_cholesky(size_t n, double *a) {
    one_thread();
    return LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, a, (lapack_int)n) == 0;
}

void pelt_cholesky_solve(size_t n, const double *factor, size_t columns, double *b) {
    one_thread();
    LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, (lapack_int)columns, factor, (lapack_int)n, b,
                   (lapack_int)columns);
}

bool pelt_orthonormalize(size_t rows, size_t columns, double *a) {
    one_thread();
    double *reflections = malloc(columns * sizeof *reflections);
    bool done = reflections &&
                LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns, a, (lapack_int)columns,
                               reflections) == 0 &&
                LAPACKE_dorgqr(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns, (lapack_int)columns, a,
                               (lapack_int)columns, reflections) == 0;
    free(reflections);
    return done;
}

bool pelt_eigen(size_t n, double *a, double *values) {
    one_thread();
    return LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'L', (lapack_int)n, a, (lapack_int)n, values) == 0;
}

bool pelt_eigenvalues(size_t n, double *a, double *values) {
    one_thread();
    return LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, a, (lapack_int)n, values) == 0;
}

bool pelt_svd(size_t rows, size_t columns, double *a, double *u, double *s, double *vt) {
    one_thread();
    size_t k = rows < columns ? rows : columns;
    return LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', (lapack_int)rows, (lapack_int)columns, a, (lapack_int)columns, s, u,
                          (lapack_int)k, vt, (lapack_int)columns) == 0;
}

bool pelt_least_squares(size_t rows, size_t columns, double *a, size_t columns_b, double *b, double cut, size_t *rank,
                        double *s) {
    one_thread();
    size_t k = rows < columns ? rows : columns;
    double *values = s ? s : malloc(k * sizeof *values);
    lapack_int found = 0;
    bool solved =
        values && LAPACKE_dgelsd(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns, (lapack_int)columns_b, a,
                                 (lapack_int)columns, b, (lapack_int)columns_b, values, cut, &found) == 0;
    if (rank) *rank = (size_t)found;
    if (!s) free(values);
    return solved;
}
