/* linear.c: what packing a skin needs of rig/linear.c, for machines without OpenBLAS. */

#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>

bool pelt_blas_enter(void) { return true; }
void pelt_blas_leave(void) {}
bool pelt_blas_failed(void) { return false; }

bool pelt_cholesky_float(size_t n, float *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            float sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false;
            a[i * n + j] = i == j ? sqrtf(sum) : sum / a[j * n + j];
        }
    return true;
}

#ifdef _WIN32
void *(aligned_alloc)(size_t alignment, size_t size) { return _aligned_malloc(size, alignment); }
#endif
