/* ties.c: terms of the matrix that reach further than an element,

       sum_t weight_t g_t g_t^T,

   kept as they are: a product with them costs two readings of g, where their blocks would fill the matrix. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

enum { CHUNK = 256 };

void pelt_ties_index(pelt_arena *arena, pelt_ties *ties, uint32_t free_count) {
    uint32_t all = ties->starts[ties->count];
    ties->pulls = PELT_NEW(arena, (size_t)ties->count + 1, double);
    ties->owners = PELT_NEW(arena, (size_t)all + 1, uint32_t);
    ties->entries = PELT_NEW(arena, (size_t)all + 1, uint32_t);
    ties->row_starts = PELT_NEW(arena, (size_t)free_count + 2, uint32_t);
    for (uint32_t k = 0; k < all; k++) ties->row_starts[ties->rows[k] + 2]++;
    for (uint32_t row = 0; row < free_count; row++) ties->row_starts[row + 2] += ties->row_starts[row + 1];
    for (uint32_t t = 0; t < ties->count; t++)
        for (uint32_t k = ties->starts[t]; k < ties->starts[t + 1]; k++) {
            ties->owners[k] = t;
            ties->entries[ties->row_starts[ties->rows[k] + 1]++] = k;
        }
}

typedef struct pulling {
    pelt_ties *ties;
    const double *p;
} pulling;

static void pull(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    const pulling *w = user;
    pelt_ties *t = w->ties;
    size_t end = (chunk + 1) * CHUNK < t->count ? (chunk + 1) * CHUNK : t->count;
    for (size_t i = chunk * CHUNK; i < end; i++) {
        double sum = 0;
        for (uint32_t k = t->starts[i]; k < t->starts[i + 1]; k++)
            sum += pelt_dot(t->vectors + 3 * (size_t)k, w->p + 3 * (size_t)t->rows[k]);
        t->pulls[i] = t->weights[i] * sum;
    }
}

void pelt_ties_pull(pelt_arena *arena, uint32_t threads, pelt_ties *ties, const double *p) {
    if (ties->count) pelt_parallel(arena, threads, (ties->count + CHUNK - 1) / CHUNK, pull, &(pulling){ties, p});
}

void pelt_ties_add(const pelt_ties *ties, uint32_t row, double out[3]) {
    if (!ties->count) return;
    for (uint32_t i = ties->row_starts[row]; i < ties->row_starts[row + 1]; i++) {
        uint32_t k = ties->entries[i];
        double pulled = ties->pulls[ties->owners[k]];
        for (size_t c = 0; c < 3; c++) out[c] += pulled * ties->vectors[3 * (size_t)k + c];
    }
}

void pelt_ties_add_diagonal(const pelt_ties *ties, uint32_t row, double block[9]) {
    if (!ties->count) return;
    for (uint32_t i = ties->row_starts[row]; i < ties->row_starts[row + 1]; i++) {
        uint32_t k = ties->entries[i];
        const double *g = ties->vectors + 3 * (size_t)k;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) block[3 * a + b] += ties->weights[ties->owners[k]] * g[a] * g[b];
    }
}
