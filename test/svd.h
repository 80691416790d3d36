/* svd.h: the singular value decomposition that tests compare with, straight from LAPACK. */

#ifndef PELT_TEST_SVD_H
#define PELT_TEST_SVD_H

#include <lapacke.h>
#include <stdbool.h>

/* a[rows][columns] = u diag(s) vt, with u [rows][k], vt [k][columns], k = min(rows, columns). a is destroyed. */
static inline bool test_svd(size_t rows, size_t columns, double *a, double *u, double *s, double *vt) {
    size_t k = rows < columns ? rows : columns;
    return LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', (lapack_int)rows, (lapack_int)columns, a, (lapack_int)columns, s, u,
                          (lapack_int)k, vt, (lapack_int)columns) == 0;
}

#endif
