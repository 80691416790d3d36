/* conjugate.c: conjugate gradients, preconditioned by the inverses of the diagonal blocks.

   Bones are never more than a few elements away from any node, so that the matrix is far better conditioned than that of a
   free body of the same size: some dozens of iterations, each one reading of the matrix. Direct solvers take ten times as long or
   more (docs/howto-flesh.md), and incomplete ones or sweeps as preconditioners saved as many iterations as they cost.
   Products are in single precision, which halves what is read and is enough for steps that a line search checks in double.
   Sums are over stretches of rows, one after the other. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

enum { STRETCH = 512 };

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

static size_t stretches(const pelt_conjugate *c) { return (c->elastic->solid->free_count + STRETCH - 1) / STRETCH; }

/* The means of nodes on bones, which have no row of their own. */
static void list_anchored(pelt_conjugate *c, pelt_arena *arena) {
    const pelt_solid *s = c->elastic->solid;
    const pelt_ties *means = &c->elastic->means;
    pelt_ties *t = &c->anchored;
    if (!means->count) return;
    t->starts = PELT_NEW(arena, (size_t)means->count + 1, uint32_t);
    t->rows = PELT_NEW(arena, (size_t)means->starts[means->count] + 1, uint32_t);
    t->weights = PELT_NEW(arena, means->count, double);
    for (uint32_t a = 0; a < means->count; a++) {
        if (s->unknowns[a] != PELT_NOWHERE) continue;
        uint32_t count = means->starts[a + 1] - means->starts[a];
        memcpy(t->rows + t->starts[t->count], means->rows + means->starts[a], count * sizeof *t->rows);
        t->starts[t->count + 1] = t->starts[t->count] + count;
        t->weights[t->count++] = means->weights[a];
    }
    t->vectors = PELT_NEW(arena, 3 * (size_t)t->starts[t->count] + 1, double);
    pelt_ties_index(arena, t, s->free_count);
}

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
    c->rows = PELT_NEW(arena, 12 * (size_t)elastic->solid->row_starts[n], float);
    c->swells = PELT_NEW(arena, 4 * (size_t)elastic->solid->row_starts[n], float);
    c->single = PELT_NEW(arena, 4 * n, float);
    c->pulled = elastic->means.count ? PELT_NEW(arena, 4 * n, float) : c->single;
    list_anchored(c, arena);
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

/* -- Products ------------------------------------------------------------------------------------------------------ */

/* Rows of the matrix beside what ties to the column's mean: a product is one of 3x4 numbers with p and the mean's pull. */
static void pack_rows(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    const pelt_solid *s = c->elastic->solid;
    const pelt_ties *means = &c->elastic->means;
    for (uint32_t row = (uint32_t)i * STRETCH; row < stretch_end(c, i); row++) {
        uint32_t first = s->row_starts[row];
        const double *own = means->count ? means->vectors + 3 * (size_t)means->starts[s->free_nodes[row]] : NULL;
        for (uint32_t k = first; k < s->row_starts[row + 1]; k++) {
            const double *block = c->elastic->blocks + 9 * (size_t)k, *tie = NULL;
            uint32_t column = s->columns[k];
            if (means->count)
                tie = means->vectors +
                      3 * (size_t)(means->starts[s->free_nodes[column]] + s->mirrors[k] - s->row_starts[column]);
            for (int r = 0; r < 3; r++) {
                float *out = c->rows + 12 * (size_t)k + 4 * r;
                for (int j = 0; j < 3; j++) out[j] = (float)block[3 * r + j];
                out[3] = tie ? (float)tie[r] : 0;
                if (own) c->swells[4 * (size_t)k + (size_t)r] = (float)own[3 * (size_t)(k - first) + (size_t)r];
            }
        }
    }
}

static void pack_anchored(pelt_conjugate *c) {
    const pelt_ties *means = &c->elastic->means;
    double *out = c->anchored.vectors;
    for (uint32_t a = 0; a < means->count; a++) {
        if (c->elastic->solid->unknowns[a] != PELT_NOWHERE) continue;
        size_t count = 3 * (size_t)(means->starts[a + 1] - means->starts[a]);
        memcpy(out, means->vectors + 3 * (size_t)means->starts[a], count * sizeof *out);
        out += count;
    }
}

static void pack(pelt_conjugate *c) {
    pelt_parallel(c->elastic->arena, c->elastic->threads, stretches(c), pack_rows, c);
    pack_anchored(c);
}

static void copy_p(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    for (size_t row = i * STRETCH; row < stretch_end(c, i); row++)
        for (size_t k = 0; k < 3; k++) c->single[4 * row + k] = (float)c->p[3 * row + k];
}

/* What the means around nodes make of p. */
static void pull_means(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    const pelt_solid *s = c->elastic->solid;
    for (uint32_t row = (uint32_t)i * STRETCH; row < stretch_end(c, i); row++) {
        four sum = {0}, pulled = *(const four *)(c->single + 4 * (size_t)row);
        for (uint32_t k = s->row_starts[row]; k < s->row_starts[row + 1]; k++)
            sum += *(const four *)(c->swells + 4 * (size_t)k) * *(const four *)(c->single + 4 * (size_t)s->columns[k]);
        pulled[3] = (float)c->elastic->means.weights[s->free_nodes[row]] * (sum[0] + sum[1] + sum[2]);
        *(four *)(c->pulled + 4 * (size_t)row) = pulled;
    }
}

/* q = H p, and the parts of p q. */
static void multiply(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    pelt_conjugate *c = user;
    const pelt_solid *s = c->elastic->solid;
    double sum = 0;
    for (uint32_t row = (uint32_t)i * STRETCH; row < stretch_end(c, i); row++) {
        four x = {0}, y = {0}, z = {0};
        for (uint32_t k = s->row_starts[row]; k < s->row_starts[row + 1]; k++) {
            const four *m = (const four *)(c->rows + 12 * (size_t)k);
            four p = *(const four *)(c->pulled + 4 * (size_t)s->columns[k]);
            x += m[0] * p, y += m[1] * p, z += m[2] * p;
        }
        double *q = c->q + 3 * (size_t)row;
        q[0] = x[0] + x[1] + (x[2] + x[3]), q[1] = y[0] + y[1] + (y[2] + y[3]), q[2] = z[0] + z[1] + (z[2] + z[3]);
        pelt_ties_add(&c->anchored, row, q);
        pelt_ties_add(&c->elastic->sheet, row, q);
        pelt_ties_add(c->contacts, row, q);
        sum += pelt_dot(q, c->p + 3 * (size_t)row);
    }
    c->parts[i] = sum;
}

static void multiply_all(pelt_conjugate *c) {
    pelt_elastic *e = c->elastic;
    pelt_ties_pull(e->arena, e->threads, &c->anchored, c->p);
    pelt_ties_pull(e->arena, e->threads, &e->sheet, c->p);
    pelt_ties_pull(e->arena, e->threads, c->contacts, c->p);
    pelt_parallel(e->arena, e->threads, stretches(c), copy_p, c);
    if (e->means.count) pelt_parallel(e->arena, e->threads, stretches(c), pull_means, c);
    pelt_parallel(e->arena, e->threads, stretches(c), multiply, c);
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

/* Goes on along the p that the matrix curves down along, as far again as x is long. */
static void follow_down(pelt_conjugate *c) {
    size_t n = 3 * (size_t)c->elastic->solid->free_count;
    double x = 0, p = 0;
    for (size_t i = 0; i < n; i++) x += c->x[i] * c->x[i], p += c->p[i] * c->p[i];
    double part = x > 0 && p > 0 ? sqrt(x / p) : 1;
    for (size_t i = 0; i < n; i++) c->x[i] += part * c->p[i];
}

uint32_t pelt_conjugate_solve(pelt_conjugate *c, const double *gradient, double tolerance) {
    pelt_elastic *e = c->elastic;
    size_t n = 3 * (size_t)e->solid->free_count, count = stretches(c);
    memset(c->x, 0, n * sizeof *c->x);
    memset(c->p, 0, n * sizeof *c->p);
    for (size_t i = 0; i < n; i++) c->r[i] = -gradient[i];
    pack(c);
    pelt_parallel(e->arena, e->threads, count, invert_diagonal, c);
    pelt_parallel(e->arena, e->threads, count, step, &(advance){c, 0});
    double rz = sum_of(c->parts, count, 2), stop = tolerance * tolerance * sum_of(c->parts + 1, count, 2),
           rr = INFINITY;
    memcpy(c->p, c->z, n * sizeof *c->p);
    uint32_t iterations = 0;
    c->indefinite = false;
    while (iterations < n && rr > stop && rz > 0) {
        iterations++;
        multiply_all(c);
        double curvature = sum_of(c->parts, count, 1);
        c->indefinite = !(curvature > 0);
        if (c->indefinite) {
            follow_down(c);
            break;
        }
        pelt_parallel(e->arena, e->threads, count, step, &(advance){c, rz / curvature});
        double next = sum_of(c->parts, count, 2), beta = next / rz;
        rr = sum_of(c->parts + 1, count, 2), rz = next;
        for (size_t i = 0; i < n; i++) c->p[i] = c->z[i] + beta * c->p[i];
        pelt_poll();
    }
    return iterations;
}
