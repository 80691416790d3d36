/* keys_kernel.h: the loops of key points. */

#ifndef PELT_KEYS_KERNEL_H
#define PELT_KEYS_KERNEL_H

#include <pelt/keys.h>

enum { PELT_FILL_COLUMNS = 8 };

/* out = mean + matrix x, for some blocks of 16 rows and some columns x. The matrix lies as [block][inner][16]. */
typedef struct pelt_fill_job {
    const float *mean; /* [block][16]; NULL: 0 */
    const void *matrix;
    int half; /* the matrix is of half floats */
    uint32_t row_count, inner;
    uint32_t first_block, end_block;
    const float *x;                    /* [column][inner] */
    uint32_t column_count;             /* 1, 2, 3, 4 or 8 */
    float *columns[PELT_FILL_COLUMNS]; /* where each column's values go... */
    size_t spacing;                    /* ...with so many floats from row to row */
} pelt_fill_job;

void pelt_fill_scalar(const pelt_fill_job *job);
void pelt_fill_simd128(const pelt_fill_job *job);
void pelt_fill_avx2(const pelt_fill_job *job);
void pelt_fill_avx512(const pelt_fill_job *job);

#endif
