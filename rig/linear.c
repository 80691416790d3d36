/* linear.c: LAPACK and BLAS behind the few calls that fits make. */

#include "rig/linear.h"
#include "rig/rig.h"
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* -- Threads and memory of OpenBLAS --------------------------------------------------------------------------------- */

/* OpenBLAS starts its own threads when it sees fit. Their number is per process: the first stage to begin sets it to 1,
   the last one to end restores it. */
extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stages, threads_before;

/* OpenBLAS takes a buffer of 128 MiB per concurrent call, keeps it, and hangs if the system refuses one. So where the
   address space is limited, the buffers are allocated in advance, each after checking that there is room for it and for
   the stack of a thread. */
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

static const size_t room_for_one = (size_t)(PELT_BLAS_MEGABYTES + 16) << 20;
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static int buffers_taken;

static bool is_limited(void) {
    struct rlimit limit;
    return blas_memory_alloc && blas_memory_free && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

int pelt_blas_reserve(int wanted) {
    enum { MOST = 64 };
    void *held[MOST];
    int count = 0, most = wanted < MOST ? wanted : MOST;
    if (!is_limited()) return wanted;
    pthread_mutex_lock(&buffers_lock);
    while (count < most && (count < buffers_taken || pelt_memory_is_there(room_for_one)))
        held[count++] = blas_memory_alloc(0);
    if (count > buffers_taken) buffers_taken = count;
    for (int i = 0; i < count; i++) blas_memory_free(held[i]);
    pthread_mutex_unlock(&buffers_lock);
    return count;
}

bool pelt_blas_enter(void) {
    if (!pelt_blas_reserve(1)) return false;
    pthread_mutex_lock(&lock);
    if (!stages++ && openblas_get_num_threads && openblas_set_num_threads) {
        threads_before = openblas_get_num_threads();
        if (threads_before != 1) openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
    return true;
}

void pelt_blas_leave(void) {
    pthread_mutex_lock(&lock);
    if (!--stages && openblas_set_num_threads && threads_before > 1) openblas_set_num_threads(threads_before);
    pthread_mutex_unlock(&lock);
}

/* LAPACKE allocates its own memory. A failure to do so must not look like a singular matrix. */
static _Thread_local bool no_memory;

bool pelt_blas_failed(void) {
    bool failed = no_memory;
    no_memory = false;
    return failed;
}

static bool succeeded(lapack_int info) {
    no_memory |= info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR;
    return info == 0;
}

/* -- Matrices ------------------------------------------------------------------------------------------------------ */

void pelt_gemm(bool transpose_a, bool transpose_b, size_t rows, size_t columns, size_t inner, double alpha,
               const double *a, const double *b, double beta, double *c) {
    pelt_poll();
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
                (int)rows, (int)columns, (int)inner, alpha, a, (int)(transpose_a ? rows : inner), b,
                (int)(transpose_b ? inner : columns), beta, c, (int)columns);
}

void pelt_syrk(bool transpose, size_t n, size_t inner, double alpha, const double *a, double beta, double *c) {
    pelt_poll();
    cblas_dsyrk(CblasRowMajor, CblasLower, transpose ? CblasTrans : CblasNoTrans, (int)n, (int)inner, alpha, a,
                (int)(transpose ? n : inner), beta, c, (int)n);
}

void pelt_symm(size_t n, size_t columns, double alpha, const double *a, const double *b, double *c) {
    pelt_poll();
    cblas_dsymm(CblasRowMajor, CblasLeft, CblasLower, (int)n, (int)columns, alpha, a, (int)n, b, (int)columns, 0, c,
                (int)columns);
}

/* Row-major lower is column-major upper, which saves LAPACK a copy. */
bool pelt_cholesky(size_t n, double *a) {
    pelt_poll();
    return succeeded(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', (lapack_int)n, a, (lapack_int)(n ? n : 1)));
}

bool pelt_cholesky_float(size_t n, float *a) {
    pelt_poll();
    return succeeded(LAPACKE_spotrf(LAPACK_COL_MAJOR, 'U', (lapack_int)n, a, (lapack_int)(n ? n : 1)));
}

static void solve_triangle(size_t n, const double *factor, CBLAS_TRANSPOSE side, size_t columns, double *b) {
    pelt_poll();
    if (n && columns)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, side, CblasNonUnit, (int)n, (int)columns, 1, factor, (int)n,
                    b, (int)columns);
}

void pelt_forward_solve(size_t n, const double *factor, size_t columns, double *b) {
    solve_triangle(n, factor, CblasNoTrans, columns, b);
}

void pelt_cholesky_solve(size_t n, const double *factor, size_t columns, double *b) {
    solve_triangle(n, factor, CblasNoTrans, columns, b);
    solve_triangle(n, factor, CblasTrans, columns, b);
}

void pelt_cholesky_invert(size_t n, double *factor) {
    pelt_poll();
    succeeded(LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', (lapack_int)n, factor, (lapack_int)n));
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) factor[a * n + b] = factor[b * n + a];
}

bool pelt_orthonormalize(size_t rows, size_t columns, double *a) {
    pelt_poll();
    double *reflections = malloc(columns * sizeof *reflections);
    no_memory |= !reflections;
    bool done = reflections &&
                succeeded(LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns, a,
                                         (lapack_int)columns, reflections)) &&
                succeeded(LAPACKE_dorgqr(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns, (lapack_int)columns,
                                         a, (lapack_int)columns, reflections));
    free(reflections);
    return done;
}

bool pelt_eigen(size_t n, double *a, double *values) {
    pelt_poll();
    return succeeded(LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'L', (lapack_int)n, a, (lapack_int)n, values));
}

/* Column-major, so that LAPACK's columns are rows here. Computing all eigenvectors is faster than computing some,
   unless only very few of many are needed. */
bool pelt_eigen_leading(size_t n, double *a, size_t count, double *values, double *vectors) {
    pelt_poll();
    bool few = 6 * count < n;
    lapack_int size = (lapack_int)n, first = (lapack_int)(n - count + 1), found;
    double *all = malloc((n + 1) * sizeof *all), *columns = few ? malloc((n * count + 1) * sizeof *columns) : a;
    lapack_int *support = malloc(2 * (n + 1) * sizeof *support);
    no_memory |= !all || !columns || !support;
    bool done = all && columns && support &&
                succeeded(few ? LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'U', size, a, size, 0, 0, first, size, 0,
                                               &found, all, columns, size, support)
                              : LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', size, a, size, all));
    for (size_t k = 0, from = few ? count - 1 : n - 1; k < count && done; k++, from--) {
        values[k] = all[from];
        memcpy(vectors + k * n, columns + from * n, n * sizeof *vectors);
    }
    if (few) free(columns);
    free(all), free(support);
    return done;
}

double pelt_condition_of(size_t n, double *a) {
    pelt_poll();
    double *values = malloc((n + 1) * sizeof *values), least = INFINITY, most = 0;
    no_memory |= !values;
    bool done =
        values && succeeded(LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, a, (lapack_int)n, values));
    for (size_t i = 0; done && i < n; i++) least = fmin(least, fabs(values[i])), most = fmax(most, fabs(values[i]));
    free(values);
    return done && least > 0 ? most / least : INFINITY;
}

bool pelt_least_squares(size_t rows, size_t columns, double *a, size_t columns_b, double *b, double cut) {
    pelt_poll();
    double *values = malloc((rows < columns ? rows : columns) * sizeof *values);
    lapack_int rank = 0;
    no_memory |= !values;
    bool solved = values && succeeded(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, (lapack_int)rows, (lapack_int)columns,
                                                     (lapack_int)columns_b, a, (lapack_int)columns, b,
                                                     (lapack_int)columns_b, values, cut, &rank));
    free(values);
    return solved;
}
