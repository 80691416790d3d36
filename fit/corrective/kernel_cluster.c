/* cluster.c: clustered principal component analysis of displacements.

   Each point has a matrix Z_i of 3 x examples. A cluster q has a few orthonormal rows B_q over the examples; a point
   belongs to the cluster that leaves the smallest residual |Z_i|^2 - |Z_i B_q^T|^2. Rounds alternate between the two:
   the leading right singular vectors of the points of each cluster, and the best cluster for each point among those
   that are near it, so that clusters stay patches. At the end every cluster gets its exact principal components, as
   shapes over its points, and the budget goes to those that explain most per entry. What else the points do, like
   turning their normals, gets principal components of its own in the same clusters. */

#include "fit/corrective/kernel.h"
#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, NEAR = 8, CANDIDATES = NEAR + 1, MOST_RANK = 48, MOST_RINGS = 3 };
static const double MOST_GROWTH = 1.5; /* of the entries, by overlap */

typedef struct clustering {
    const pelt_example_displacements *u;
    const float *positions; /* [vertex][3] at rest */
    uint32_t points, examples, clusters, rank;
    float *rows;      /* [point][3][example] */
    double *energies; /* [point] */
    double *nearest;  /* [point] squared distance to the nearest seed */
    double (*centers)[3];
    double *bases;     /* [cluster][example][rank]: B_q, transposed */
    uint32_t *label;   /* [point] */
    uint32_t *near;    /* [point][CANDIDATES] clusters */
    double *explained; /* [point][CANDIDATES] */
    uint32_t *first, *members;
    double **shapes;   /* [cluster] malloc'ed [least(3n, examples)][3n] */
    double **values;   /* [cluster] malloc'ed squares of singular values, falling */
    uint32_t *lengths; /* [cluster] how many */
    bool begun;
    _Atomic bool no_memory;
} clustering;

static const float *place(const clustering *c, uint32_t point) {
    return c->positions + 3 * (size_t)c->u->vertex_of[point];
}

static double square_distance(const float *a, const double *b) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

static void fill_rows(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    float *row = c->rows + 3 * i * c->examples;
    double energy = 0;
    for (uint32_t e = 0; e < c->examples; e++)
        for (size_t k = 0; k < 3; k++) {
            float x = c->u->positions[3 * ((size_t)e * c->points + i) + k];
            row[k * c->examples + e] = x;
            energy += (double)x * x;
        }
    c->energies[i] = energy;
}

/* -- Start --------------------------------------------------------------------------------------------------------- */

/* Seeds far from each other where there is much to describe; every point goes to the nearest. */
static void start(clustering *c) {
    double *nearest = c->nearest;
    uint32_t seed = 0;
    for (uint32_t i = 1; i < c->points; i++)
        if (c->energies[i] > c->energies[seed]) seed = i;
    for (uint32_t i = 0; i < c->points; i++) nearest[i] = INFINITY;
    for (uint32_t q = 0; q < c->clusters; q++) {
        for (int k = 0; k < 3; k++) c->centers[q][k] = place(c, seed)[k];
        double best = -1;
        for (uint32_t i = 0; i < c->points; i++) {
            double d = square_distance(place(c, i), c->centers[q]);
            if (d < nearest[i]) nearest[i] = d, c->label[i] = q;
            double worth = nearest[i] * sqrt(c->energies[i]);
            if (worth > best) best = worth, seed = i;
        }
    }
}

/* Lists of members, and the middle of each cluster. */
static void list_members(clustering *c) {
    memset(c->first, 0, ((size_t)c->clusters + 1) * sizeof *c->first);
    for (uint32_t i = 0; i < c->points; i++) c->first[c->label[i] + 1]++;
    for (uint32_t q = 0; q < c->clusters; q++) c->first[q + 1] += c->first[q];
    for (uint32_t i = c->points; i-- > 0;) c->members[--c->first[c->label[i] + 1]] = i;
    for (uint32_t q = 0; q < c->clusters; q++) c->first[q] = c->first[q + 1];
    c->first[c->clusters] = c->points;
    for (uint32_t q = 0; q < c->clusters; q++) {
        double sum[3] = {0};
        uint32_t count = c->first[q + 1] - c->first[q];
        for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++)
            for (int k = 0; k < 3; k++) sum[k] += place(c, c->members[m])[k];
        for (int k = 0; k < 3 && count; k++) c->centers[q][k] = sum[k] / count;
    }
}

/* The rows of a cluster's points, [3 n][examples]; to be freed. */
static double *cluster_rows(const clustering *c, size_t q) {
    size_t count = c->first[q + 1] - c->first[q], size = 3 * (size_t)c->examples;
    double *rows = malloc((count * size + 1) * sizeof *rows);
    for (size_t m = 0; rows && m < count; m++)
        for (size_t k = 0; k < size; k++) rows[m * size + k] = c->rows[c->members[c->first[q] + m] * size + k];
    return rows;
}

/* -- Rounds -------------------------------------------------------------------------------------------------------- */

/* Gram and Schmidt, twice over for rounding; columns that vanish become 0. basis[examples][rank]. */
static void orthonormalise(double *basis, size_t examples, size_t rank) {
    for (size_t k = 0; k < rank; k++) {
        double before = 0, length = 0;
        for (size_t e = 0; e < examples; e++) before += basis[e * rank + k] * basis[e * rank + k];
        for (int twice = 0; twice < 2; twice++)
            for (size_t l = 0; l < k; l++) {
                double dot = 0;
                for (size_t e = 0; e < examples; e++) dot += basis[e * rank + k] * basis[e * rank + l];
                for (size_t e = 0; e < examples; e++) basis[e * rank + k] -= dot * basis[e * rank + l];
            }
        for (size_t e = 0; e < examples; e++) length += basis[e * rank + k] * basis[e * rank + k];
        double scale = length > 1e-20 * before && length > 0 ? 1 / sqrt(length) : 0;
        for (size_t e = 0; e < examples; e++) basis[e * rank + k] *= scale;
    }
}

/* Steps of subspace iteration, from the basis of the round before; the first round starts from sums of rows. */
static void improve_basis(void *user, size_t q, pelt_arena *scratch) {
    (void)scratch;
    enum { STEPS = 3 };
    clustering *c = user;
    size_t rows = 3 * (size_t)(c->first[q + 1] - c->first[q]), n = c->examples, rank = c->rank;
    double *m = cluster_rows(c, q), *basis = c->bases + q * n * rank;
    double *image = malloc((rows * rank + 1) * sizeof *image);
    if (!m || !image) c->no_memory = true;
    for (int step = 0; step < STEPS && m && image && rows; step++) {
        if (c->begun || step)
            pelt_gemm(false, false, rows, rank, n, 1, m, basis, 0, image);
        else
            for (size_t r = 0; r < rows * rank; r++) image[r] = r / rank % rank == r % rank;
        pelt_gemm(true, false, n, rank, rows, 1, m, image, 0, basis);
        orthonormalise(basis, n, rank);
    }
    free(m), free(image);
}

/* The clusters that a point may go to: the nearest, and its own last. */
static void find_near(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    uint32_t *near = c->near + i * CANDIDATES, count = 0;
    double distances[NEAR];
    for (uint32_t q = 0; q < c->clusters; q++) {
        double d = square_distance(place(c, (uint32_t)i), c->centers[q]);
        if (count == NEAR && !(d < distances[NEAR - 1])) continue;
        uint32_t at = count < NEAR ? count++ : NEAR - 1;
        for (; at > 0 && distances[at - 1] > d; at--) distances[at] = distances[at - 1], near[at] = near[at - 1];
        distances[at] = d, near[at] = q;
    }
    for (; count < CANDIDATES; count++) near[count] = c->label[i];
}

/* |Z_i B_q^T|^2 of all points that may go to cluster q, a few hundred at a time. */
static void explain(void *user, size_t q, pelt_arena *scratch) {
    (void)scratch;
    enum { BATCH = 128 };
    clustering *c = user;
    size_t n = c->examples, size = 3 * n, rank = c->rank, count = 0, slots[BATCH];
    double *rows = malloc(BATCH * size * sizeof *rows), *image = malloc(BATCH * 3 * rank * sizeof *image);
    const double *basis = c->bases + q * n * rank;
    if (!rows || !image) c->no_memory = true;
    for (size_t slot = 0; slot <= (size_t)c->points * CANDIDATES && rows && image; slot++) {
        bool last = slot == (size_t)c->points * CANDIDATES;
        if (!last && c->near[slot] == q) {
            const float *row = c->rows + slot / CANDIDATES * size;
            for (size_t k = 0; k < size; k++) rows[count * size + k] = row[k];
            slots[count++] = slot;
        }
        if (!count || (count < BATCH && !last)) continue;
        pelt_gemm(false, false, 3 * count, rank, n, 1, rows, basis, 0, image);
        for (size_t p = 0; p < count; p++) {
            double sum = 0;
            for (size_t k = 0; k < 3 * rank; k++) sum += image[p * 3 * rank + k] * image[p * 3 * rank + k];
            c->explained[slots[p]] = sum;
        }
        count = 0;
    }
    free(rows), free(image);
}

/* A point leaves its cluster only for one that is better beyond rounding, so that rounds end. */
static void reassign(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    const uint32_t *near = c->near + i * CANDIDATES;
    const double *explained = c->explained + i * CANDIDATES;
    double best = explained[CANDIDATES - 1] * (1 + 1e-9);
    for (int k = 0; k < NEAR; k++)
        if (explained[k] > best) best = explained[k], c->label[i] = near[k];
}

/* -- Principal components ------------------------------------------------------------------------------------------ */

/* By the smaller of the two Gram matrices: M M^T gives the shapes themselves, M^T M gives them as M v / s. */
static void decompose(void *user, size_t q, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    size_t rows = 3 * (size_t)(c->first[q + 1] - c->first[q]), n = c->examples, small = rows < n ? rows : n;
    if (!rows) return;
    double *m = cluster_rows(c, q), *gram = malloc(small * small * sizeof *gram);
    double *values = malloc(small * sizeof *values), *shapes = calloc(small * rows, sizeof *shapes);
    bool done = m && gram && values && shapes;
    if (done) pelt_gemm(rows >= n, rows < n, small, small, rows < n ? n : rows, 1, m, m, 0, gram);
    done = done && pelt_eigen(small, gram, values);
    for (size_t k = 0; done && k < small; k++) {
        size_t column = small - 1 - k;
        double scale = values[column] > 0 ? 1 / sqrt(values[column]) : 0;
        for (size_t r = 0; r < rows; r++) {
            double sum = rows < n ? gram[r * small + column] : 0;
            for (size_t e = 0; rows >= n && e < n; e++) sum += m[r * n + e] * gram[e * n + column] * scale;
            shapes[k * rows + r] = sum;
        }
        if (k == MOST_RANK) break;
    }
    for (size_t k = 0; done && k < small / 2; k++) {
        double swap = values[k];
        values[k] = values[small - 1 - k], values[small - 1 - k] = swap;
    }
    if (!done) {
        free(values), free(shapes), values = shapes = NULL;
        c->no_memory = true;
    }
    free(m), free(gram);
    c->values[q] = values, c->shapes[q] = shapes;
    c->lengths[q] = (uint32_t)(small < MOST_RANK ? small : MOST_RANK);
}

/* Greedy: the component that explains most per point is next, as long as its cluster's points fit the budget. */
static void spend(const clustering *c, double budget, uint32_t *ranks) {
    double left = budget * c->points;
    for (;;) {
        uint32_t best = c->clusters;
        double worth = 0;
        for (uint32_t q = 0; q < c->clusters; q++) {
            uint32_t n = c->first[q + 1] - c->first[q];
            if (!n || n > left || ranks[q] == c->lengths[q]) continue;
            double value = c->values[q][ranks[q]] / n;
            if (value > worth && value * n > 1e-12 * c->values[q][0]) worth = value, best = q;
        }
        if (best == c->clusters) return;
        left -= c->first[best + 1] - c->first[best];
        ranks[best]++;
    }
}

/* The members of all clusters, which then overlap; `first` and `members` become those of the overlapping ones. */
static pelt_result overlap(pelt_arena *arena, clustering *c, const pelt_mesh *mesh, pelt_clusters *out) {
    out->first = c->first, out->points = c->members;
    if (pelt_overlap_clusters(arena, mesh, c->u, MOST_RINGS, MOST_GROWTH, out)) return PELT_ERROR_MEMORY;
    c->first = out->first, c->members = out->points;
    return PELT_OK;
}

/* Room for what `decompose` finds. */
static bool prepare_components(pelt_arena *work, clustering *c) {
    c->rows = PELT_NEW(work, 3 * (size_t)c->points * c->examples, float);
    c->energies = PELT_NEW(work, c->points, double);
    c->shapes = PELT_NEW(work, c->clusters, double *), c->values = PELT_NEW(work, c->clusters, double *);
    c->lengths = PELT_NEW(work, c->clusters, uint32_t);
    return c->rows && c->energies && c->shapes && c->values && c->lengths;
}

static void free_components(clustering *c) {
    for (uint32_t q = 0; c->values && c->shapes && q < c->clusters; q++) free(c->values[q]), free(c->shapes[q]);
}

/* The first out->ranks of each cluster's shapes. */
static pelt_result hand_over(pelt_arena *arena, const clustering *c, pelt_clusters *out) {
    out->shapes = PELT_NEW(arena, c->clusters, double *);
    if (!out->shapes) return PELT_ERROR_MEMORY;
    for (uint32_t q = 0; q < c->clusters; q++) {
        size_t size = 3 * (size_t)out->ranks[q] * (c->first[q + 1] - c->first[q]);
        if (!size) continue;
        out->shapes[q] = PELT_NEW(arena, size, double);
        if (!out->shapes[q]) return PELT_ERROR_MEMORY;
        memcpy(out->shapes[q], c->shapes[q], size * sizeof *out->shapes[q]);
    }
    return PELT_OK;
}

static void iterate(clustering *c, uint32_t threads) {
    pelt_parallel(NULL, threads, c->points, fill_rows, c);
    start(c);
    list_members(c);
    for (int round = 0; round < ROUNDS && !c->no_memory; round++) {
        pelt_parallel(NULL, threads, c->clusters, improve_basis, c);
        pelt_parallel(NULL, threads, c->points, find_near, c);
        pelt_parallel(NULL, threads, c->clusters, explain, c);
        pelt_parallel(NULL, threads, c->points, reassign, c);
        list_members(c);
        c->begun = true;
    }
}

pelt_result pelt_cluster(pelt_arena *arena, const pelt_example_displacements *u, const pelt_mesh *mesh,
                         const float *positions, uint32_t cluster_count, double per_point, uint32_t threads,
                         pelt_clusters *out, pelt_error *error) {
    pelt_arena *work = pelt_arena_new(0);
    clustering c = {.u = u, .positions = positions, .points = u->point_count, .examples = u->example_count};
    c.clusters = cluster_count < c.points ? cluster_count : c.points;
    c.rank = per_point < 1 ? 1 : per_point > 16 ? 16 : (uint32_t)(per_point + 0.5);
    if (c.rank > c.examples) c.rank = c.examples;
    *out = (pelt_clusters){.count = c.clusters};
    bool ready = work && prepare_components(work, &c) && (out->ranks = PELT_NEW(arena, c.clusters, uint32_t));
    if (ready) {
        c.nearest = PELT_NEW(work, c.points, double);
        c.centers = pelt_alloc(work, c.clusters, sizeof *c.centers);
        c.bases = PELT_NEW(work, (size_t)c.clusters * c.examples * c.rank, double);
        c.label = PELT_NEW(work, c.points, uint32_t);
        c.near = PELT_NEW(work, (size_t)c.points * CANDIDATES, uint32_t);
        c.explained = PELT_NEW(work, (size_t)c.points * CANDIDATES, double);
        c.first = PELT_NEW(work, (size_t)c.clusters + 1, uint32_t), c.members = PELT_NEW(work, c.points, uint32_t);
        ready = c.nearest && c.centers && c.bases && c.label && c.near && c.explained && c.first && c.members;
    }
    if (ready) iterate(&c, threads);
    ready = ready && !c.no_memory && !overlap(arena, &c, mesh, out);
    if (ready) pelt_parallel(NULL, threads, c.clusters, decompose, &c);
    if (ready && !c.no_memory) spend(&c, per_point, out->ranks);
    ready = ready && !c.no_memory && !hand_over(arena, &c, out);
    free_components(&c);
    pelt_arena_free(work);
    return ready ? PELT_OK
                 : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to cluster %u points in %u examples",
                             u->point_count, u->example_count);
}

/* -- Other fields on the same clusters ----------------------------------------------------------------------------- */

/* The vertices of each cluster's points, with the points' weights. */
static pelt_result list_vertices(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c,
                                 pelt_clusters *out) {
    uint32_t *first = PELT_NEW(arena, (size_t)u->point_count + 2, uint32_t), *list;
    list = PELT_NEW(arena, u->vertex_count, uint32_t);
    out->first = PELT_NEW(arena, (size_t)c->count + 1, uint32_t);
    if (!first || !list || !out->first) return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < u->vertex_count; v++) first[u->point_of[v] + 2]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 2] += first[i + 1];
    for (uint32_t v = 0; v < u->vertex_count; v++) list[first[u->point_of[v] + 1]++] = v; /* first[i]: where i starts */
    for (uint32_t q = 0, total = 0; q < c->count; q++, out->first[q] = total)
        for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++) total += first[c->points[m] + 1] - first[c->points[m]];
    out->points = PELT_NEW(arena, out->first[c->count], uint32_t);
    out->weights = PELT_NEW(arena, out->first[c->count], float);
    if (!out->points || !out->weights) return PELT_ERROR_MEMORY;
    for (uint32_t m = 0, at = 0; m < c->first[c->count]; m++)
        for (uint32_t k = first[c->points[m]]; k < first[c->points[m] + 1]; k++, at++)
            out->points[at] = list[k], out->weights[at] = c->weights[m];
    return PELT_OK;
}

pelt_result pelt_cluster_turns(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *clusters,
                               const pelt_example_displacements *turns, double per_vertex, uint32_t threads,
                               pelt_clusters *out) {
    pelt_arena *work = pelt_arena_new(0);
    clustering c = {
        .u = turns, .points = turns->point_count, .examples = turns->example_count, .clusters = clusters->count};
    *out = (pelt_clusters){.count = c.clusters};
    bool ready = work && prepare_components(work, &c) && !list_vertices(arena, u, clusters, out) &&
                 (out->ranks = PELT_NEW(arena, c.clusters, uint32_t));
    if (ready) {
        c.first = out->first, c.members = out->points;
        pelt_parallel(NULL, threads, c.points, fill_rows, &c);
        pelt_parallel(NULL, threads, c.clusters, decompose, &c);
    }
    ready = ready && !c.no_memory;
    if (ready) spend(&c, per_vertex, out->ranks);
    ready = ready && !hand_over(arena, &c, out);
    free_components(&c);
    pelt_arena_free(work);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}
