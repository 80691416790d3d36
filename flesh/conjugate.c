/* conjugate.c: conjugate gradients, preconditioned by the inverses of the diagonal blocks.

   Bones are never more than a few elements away from any node, so that the matrix is far better conditioned than that of a
   free body of the same size: some dozens of iterations, each one reading of the matrix. On the lattice of a hand, Eigen's LDLT
   took a hundred times as long, and incomplete ones or sweeps as preconditioners saved as many iterations as they
   cost. Sums are over stretches of rows, one after the other. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

enum { STRETCH = 512 };

static size_t stretches(const pelt_conjugate *c) { return (c->elastic->solid->free_count + STRETCH - 1) / STRETCH; }

void pelt_conjugate_begin(pelt_conjugate *c, pelt_elastic *elastic, pelt_ties *contacts) {
    size_t n = elastic->solid->free_count;
    pelt_arena *arena = elastic->arena;
    *c = (pelt_conjugate){.elastic = elastic, .contacts = contacts};
    c->x = PELT_NEW(arena, 3 * n, double);
    c->r = PELT_NEW(arena, 3 * n, double);
    c->z = PELT_NEW(arena, 3 * n, double);
    c->p = PELT_NEW(arena, 3 * n, double);
    c->q = PELT_NEW(arena, 3 * n, double);
    c->inverse = PELT_NEW(arena, 9 * n, double);
    c->parts = PELT_NEW(arena, 2 * stretches(c), double);
}

static uint32_t stretch_end(const pelt_conjugate *c, size_t i) {
    size_t end = (i + 1) * STRETCH, all = c->elastic->solid->free_count;
    return (uint32_t)(end < all ? end : all);
}

static void invert_diagonal(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    const pelt_solid *s = c->elastic->solid;
    for (uint32_t row = (uint32_t)i * STRETCH; row < stretch_end(c, i); row++) {
        uint32_t k = s->row_starts[row];
        while (s->columns[k] != row) k++;
        double cofactors[9], *out = c->inverse + 9 * (size_t)row;
        double block[9];
        memcpy(block, c->elastic->blocks + 9 * (size_t)k, sizeof block);
        pelt_ties_add_diagonal(&c->elastic->means, row, block);
        pelt_ties_add_diagonal(&c->elastic->sheet, row, block);
        pelt_ties_add_diagonal(c->contacts, row, block);
        double determinant = pelt_cofactors(block, cofactors), trace = block[0] + block[4] + block[8];
        bool singular = !(determinant > 1e-12 * trace * trace * trace);
        for (int j = 0; j < 9; j++)
            out[j] = singular ? (j % 4 ? 0 : trace > 0 ? 3 / trace : 1) : cofactors[j] / determinant; /* symmetric */
    }
}

/* q = H p, and the parts of p q. */
static void multiply(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    const pelt_solid *s = c->elastic->solid;
    double sum = 0;
    for (uint32_t row = (uint32_t)i * STRETCH; row < stretch_end(c, i); row++) {
        double x = 0, y = 0, z = 0;
        for (uint32_t k = s->row_starts[row]; k < s->row_starts[row + 1]; k++) {
            const double *b = c->elastic->blocks + 9 * (size_t)k, *p = c->p + 3 * (size_t)s->columns[k];
            x += b[0] * p[0] + b[1] * p[1] + b[2] * p[2];
            y += b[3] * p[0] + b[4] * p[1] + b[5] * p[2];
            z += b[6] * p[0] + b[7] * p[1] + b[8] * p[2];
        }
        double *q = c->q + 3 * (size_t)row;
        q[0] = x, q[1] = y, q[2] = z;
        pelt_ties_add(&c->elastic->means, row, q);
        pelt_ties_add(&c->elastic->sheet, row, q);
        pelt_ties_add(c->contacts, row, q);
        sum += pelt_dot(q, c->p + 3 * (size_t)row);
    }
    c->parts[i] = sum;
}

typedef struct advance {
    pelt_conjugate *c;
    double alpha;
} advance;

/* x += alpha p, r -= alpha q, z = inverse r, and the parts of r z and r r. */
static void step(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    const advance *a = user;
    pelt_conjugate *c = a->c;
    double rz = 0, rr = 0;
    for (size_t row = i * STRETCH; row < stretch_end(c, i); row++) {
        double *r = c->r + 3 * row, *z = c->z + 3 * row, *inverse = c->inverse + 9 * row;
        for (size_t k = 0; k < 3; k++)
            c->x[3 * row + k] += a->alpha * c->p[3 * row + k], r[k] -= a->alpha * c->q[3 * row + k];
        for (size_t k = 0; k < 3; k++) z[k] = pelt_dot(inverse + 3 * k, r);
        rz += pelt_dot(r, z), rr += pelt_dot(r, r);
    }
    c->parts[2 * i] = rz, c->parts[2 * i + 1] = rr;
}

static double sum_of(const double *parts, size_t count, size_t stride) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += parts[i * stride];
    return sum;
}

uint32_t pelt_conjugate_solve(pelt_conjugate *c, const double *gradient, double tolerance) {
    pelt_elastic *e = c->elastic;
    size_t n = 3 * (size_t)e->solid->free_count, count = stretches(c);
    memset(c->x, 0, n * sizeof *c->x);
    memset(c->p, 0, n * sizeof *c->p);
    for (size_t i = 0; i < n; i++) c->r[i] = -gradient[i];
    pelt_parallel(e->arena, e->threads, count, invert_diagonal, c);
    pelt_parallel(e->arena, e->threads, count, step, &(advance){c, 0});
    double rz = sum_of(c->parts, count, 2), stop = tolerance * tolerance * sum_of(c->parts + 1, count, 2),
           rr = INFINITY;
    memcpy(c->p, c->z, n * sizeof *c->p);
    uint32_t iterations = 0;
    c->indefinite = false;
    while (iterations < n && rr > stop && rz > 0) {
        iterations++;
        pelt_ties_pull(e->arena, e->threads, &c->elastic->means, c->p);
        pelt_ties_pull(e->arena, e->threads, &c->elastic->sheet, c->p);
        pelt_ties_pull(e->arena, e->threads, c->contacts, c->p);
        pelt_parallel(e->arena, e->threads, count, multiply, c);
        double curvature = sum_of(c->parts, count, 1);
        c->indefinite = !(curvature > 0);
        if (c->indefinite) break;
        pelt_parallel(e->arena, e->threads, count, step, &(advance){c, rz / curvature});
        double next = sum_of(c->parts, count, 2), beta = next / rz;
        rr = sum_of(c->parts + 1, count, 2), rz = next;
        for (size_t i = 0; i < n; i++) c->p[i] = c->z[i] + beta * c->p[i];
        pelt_poll();
    }
    return iterations;
}
