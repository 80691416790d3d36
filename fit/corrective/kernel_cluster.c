/* kernel_cluster.c: clustered principal component analysis of displacements.

   Each point has a matrix Z_i of 3 x examples. A cluster q has a few orthonormal rows B_q over the examples; a point
   belongs to the cluster that leaves the smallest residual |Z_i|^2 - |Z_i B_q^T|^2. Rounds alternate between the
   leading right singular vectors of each cluster's points and the best nearby cluster for each point, so that clusters
   stay contiguous patches. At the end every cluster gets its exact principal components, as shapes over its points, and
   the budget is spent on those that explain most per entry. Other fields on the points, such as normal changes, get
   separate principal components on the same clusters.

   With more than MOST_COLUMNS examples, rounds work on sums of a few with random signs: this preserves squared lengths
   on average and makes the time of a round independent of the number of examples. The final components always use all
   examples.

   Clusters overlap by a few rings of mesh edges, so that no border between them shows: a point that is d <= R edges
   away from a foreign cluster also belongs to it, with weight 1 - d / (R + 1); its own cluster has weight 1; then the
   weights of a point are normalised to sum to 1. Along a path across the border, the weight of one cluster falls
   linearly from 1 to 0 while the other rises. */

#include "fit/corrective/kernel.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

static const double dependent = 1e-20;   /* of a squared length: what is left of a direction that others span */
static const double worth_moving = 1e-9; /* relative gain: less is rounding, and the rounds would not end */
static const double negligible = 1e-12;  /* of a cluster's largest value: noise */

enum { ROUNDS = 6, NEAR = 8, CANDIDATES = NEAR + 1, MOST_RANK = 48, MOST_RINGS = 3, MOST_COLUMNS = 256 };
static const double MOST_GROWTH = 1.5; /* of the number of entries, due to overlap */

typedef struct clustering {
    const pelt_example_displacements *u;
    const float *positions; /* [vertex][3] at rest */
    uint32_t points, examples, clusters, rank;
    uint32_t columns; /* of Z during rounds: examples, or signed sums of them */
    float *rows;      /* [point][3][column] */
    double *energies; /* [point] */
    double *nearest;  /* [point] squared distance to the nearest seed */
    double (*centers)[3];
    double *bases;     /* [cluster][column][rank]: B_q, transposed */
    uint32_t *label;   /* [point] */
    uint32_t *near;    /* [point][CANDIDATES] clusters */
    double *explained; /* [point][CANDIDATES] */
    uint32_t *first, *members;
    double **shapes;   /* [cluster] -> [length][3n] */
    double **values;   /* [cluster] -> [length] squared singular values, descending */
    uint32_t *lengths; /* [cluster] min(3n, number of examples, MOST_RANK) */
    bool begun;
} clustering;

static const float *place(const clustering *c, uint32_t point) {
    return c->positions + 3 * (size_t)c->u->vertex_of[point];
}

static double square_distance(const float *a, const double *b) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* The sign of an example in its sum: one bit of splitmix64; the first example of each sum keeps its sign. */
static float sign_of(uint64_t example, uint32_t columns) {
    uint64_t z = (example + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return example < columns || z >> 63 ? 1 : -1;
}

static void fill_rows(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    float *row = c->rows + 3 * i * c->columns;
    double energy = 0;
    for (uint32_t e = 0; e < c->examples; e++) {
        const float *x = c->u->positions + 3 * ((size_t)e * c->points + i);
        float sign = sign_of(e, c->columns);
        for (size_t k = 0; k < 3; k++) {
            row[k * c->columns + e % c->columns] += sign * x[k];
            energy += (double)x[k] * x[k];
        }
    }
    c->energies[i] = energy;
}

/* -- Start --------------------------------------------------------------------------------------------------------- */

/* Picks seeds far apart where displacements are large, and assigns every point to the nearest. */
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

/* Lists the members of each cluster and finds its centroid. */
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

/* The rows of a cluster's points, [3 n][columns]. */
static double *cluster_rows(pelt_arena *scratch, const clustering *c, size_t q) {
    size_t count = c->first[q + 1] - c->first[q], size = 3 * (size_t)c->columns;
    double *rows = PELT_NEW(scratch, count * size, double);
    for (size_t m = 0; m < count; m++)
        for (size_t k = 0; k < size; k++) rows[m * size + k] = c->rows[c->members[c->first[q] + m] * size + k];
    return rows;
}

/* -- Rounds -------------------------------------------------------------------------------------------------------- */

/* Gram-Schmidt, applied twice against rounding; columns that vanish become 0. basis[examples][rank]. */
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
        double scale = length > dependent * before && length > 0 ? 1 / sqrt(length) : 0;
        for (size_t e = 0; e < examples; e++) basis[e * rank + k] *= scale;
    }
}

/* Subspace iteration from the previous round's basis; the first round starts from sums of rows. */
static void improve_basis(void *user, size_t q, pelt_arena *scratch) {
    enum { STEPS = 3 };
    clustering *c = user;
    size_t rows = 3 * (size_t)(c->first[q + 1] - c->first[q]), n = c->columns, rank = c->rank;
    double *m = cluster_rows(scratch, c, q), *basis = c->bases + q * n * rank;
    double *image = PELT_NEW(scratch, rows * rank, double);
    for (int step = 0; step < STEPS && rows; step++) {
        if (c->begun || step)
            pelt_gemm(false, false, rows, rank, n, 1, m, basis, 0, image);
        else
            for (size_t r = 0; r < rows * rank; r++) image[r] = r / rank % rank == r % rank;
        pelt_gemm(true, false, n, rank, rows, 1, m, image, 0, basis);
        orthonormalise(basis, n, rank);
    }
}

/* The clusters a point may move to: the nearest ones, with its own last. */
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

/* |Z_i B_q^T|^2 of all points that may move to cluster q, a few hundred at a time. */
static void explain(void *user, size_t q, pelt_arena *scratch) {
    enum { BATCH = 128 };
    clustering *c = user;
    size_t n = c->columns, size = 3 * n, rank = c->rank, count = 0, slots[BATCH];
    double *rows = PELT_NEW(scratch, BATCH * size, double), *image = PELT_NEW(scratch, BATCH * 3 * rank, double);
    const double *basis = c->bases + q * n * rank;
    for (size_t slot = 0; slot <= (size_t)c->points * CANDIDATES; slot++) {
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
}

/* A point changes cluster only for a gain beyond rounding error, so that the rounds converge. */
static void reassign(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    clustering *c = user;
    const uint32_t *near = c->near + i * CANDIDATES;
    const double *explained = c->explained + i * CANDIDATES;
    double best = explained[CANDIDATES - 1] * (1 + worth_moving);
    for (int k = 0; k < NEAR; k++)
        if (explained[k] > best) best = explained[k], c->label[i] = near[k];
}

/* -- Overlap ------------------------------------------------------------------------------------------------------- */

/* Lists the points of cluster q and those at most `rings` edges away, ordered by distance. `seen` [point] is 1 + the
   last cluster that visited the point. `weights` may be NULL. */
static uint32_t grow(const pelt_clusters *c, const pelt_neighbours *edges, uint32_t q, uint32_t rings, uint32_t *seen,
                     uint32_t *points, float *weights) {
    uint32_t count = 0, from = 0;
    for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++) {
        seen[c->points[m]] = q + 1;
        if (weights) weights[count] = 1;
        points[count++] = c->points[m];
    }
    for (uint32_t ring = 1; ring <= rings; ring++) {
        uint32_t end = count;
        for (; from < end; from++)
            for (uint32_t k = edges->first[points[from]]; k < edges->first[points[from] + 1]; k++) {
                uint32_t next = edges->list[k];
                if (seen[next] == q + 1) continue;
                seen[next] = q + 1;
                if (weights) weights[count] = 1 - (float)ring / (float)(rings + 1);
                points[count++] = next;
            }
    }
    return count;
}

static void normalise(pelt_arena *work, const pelt_clusters *c, uint32_t point_count) {
    float *sums = PELT_NEW(work, point_count, float);
    for (uint32_t m = 0; m < c->first[c->count]; m++) sums[c->points[m]] += c->weights[m];
    for (uint32_t m = 0; m < c->first[c->count]; m++) c->weights[m] /= sums[c->points[m]];
}

void pelt_overlap_clusters(pelt_arena *arena, const pelt_mesh *mesh, const pelt_example_displacements *u,
                           uint32_t most_rings, double most_growth, pelt_clusters *c) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_neighbours edges = pelt_find_neighbours(work, mesh, &(pelt_points){u->point_count, u->point_of, u->vertex_of});
    uint32_t *seen = PELT_NEW(work, u->point_count, uint32_t), *points = PELT_NEW(work, u->point_count, uint32_t);
    uint32_t rings = most_rings;
    size_t total = u->point_count;
    for (; rings > 0; rings--) { /* as many rings as the budget allows */
        memset(seen, 0, u->point_count * sizeof *seen);
        total = 0;
        for (uint32_t q = 0; q < c->count; q++) total += grow(c, &edges, q, rings, seen, points, NULL);
        if ((double)total <= most_growth * u->point_count) break;
    }
    if (!rings) total = u->point_count;
    pelt_clusters grown = *c;
    grown.first = PELT_NEW(arena, (size_t)c->count + 1, uint32_t);
    grown.points = PELT_NEW(arena, total, uint32_t);
    grown.weights = PELT_NEW(arena, total, float);
    memset(seen, 0, u->point_count * sizeof *seen);
    for (uint32_t q = 0; q < c->count; q++)
        grown.first[q + 1] = grown.first[q] + grow(c, &edges, q, rings, seen, grown.points + grown.first[q],
                                                   grown.weights + grown.first[q]);
    normalise(work, &grown, u->point_count);
    *c = grown;
}

/* -- Principal components ------------------------------------------------------------------------------------------ */

/* The displacements of a cluster's points in all examples, [examples][3 n]. */
static double *cluster_examples(pelt_arena *scratch, const clustering *c, size_t q) {
    size_t count = c->first[q + 1] - c->first[q];
    double *out = PELT_NEW(scratch, 3 * count * c->examples, double), *at = out;
    for (size_t e = 0; e < c->examples; e++)
        for (size_t m = 0; m < count; m++, at += 3) {
            const float *x = c->u->positions + 3 * (e * c->points + c->members[c->first[q] + m]);
            at[0] = x[0], at[1] = x[1], at[2] = x[2];
        }
    return out;
}

/* Uses the smaller Gram matrix: M^T M yields the shapes directly, M M^T yields them as v M / s. */
static void decompose(void *user, size_t q, pelt_arena *scratch) {
    clustering *c = user;
    size_t rows = 3 * (size_t)(c->first[q + 1] - c->first[q]), n = c->examples, small = rows < n ? rows : n;
    if (!rows) return;
    double *m = cluster_examples(scratch, c, q), *gram = PELT_NEW(scratch, small * small, double);
    pelt_syrk(rows < n, small, rows < n ? n : rows, 1, m, 0, gram);
    double *leading = rows < n ? c->shapes[q] : PELT_NEW(scratch, c->lengths[q] * small, double);
    if (!pelt_eigen_leading(small, gram, c->lengths[q], c->values[q], leading) || rows < n) return;
    for (size_t k = 0; k < c->lengths[q]; k++)
        for (size_t e = 0; e < small; e++)
            leading[k * small + e] *= c->values[q][k] > 0 ? 1 / sqrt(c->values[q][k]) : 0;
    pelt_gemm(false, false, c->lengths[q], rows, n, 1, leading, m, 0, c->shapes[q]);
}

/* Components of all clusters, in the arena. */
static void find_components(pelt_arena *arena, clustering *c, uint32_t threads) {
    c->shapes = PELT_NEW(arena, c->clusters, double *), c->values = PELT_NEW(arena, c->clusters, double *);
    c->lengths = PELT_NEW(arena, c->clusters, uint32_t);
    for (uint32_t q = 0; q < c->clusters; q++) {
        uint32_t rows = 3 * (c->first[q + 1] - c->first[q]), small = rows < c->examples ? rows : c->examples;
        c->lengths[q] = small < MOST_RANK ? small : MOST_RANK;
        c->shapes[q] = PELT_NEW(arena, (size_t)c->lengths[q] * rows, double);
        c->values[q] = PELT_NEW(arena, c->lengths[q], double);
    }
    pelt_parallel(arena, threads, c->clusters, decompose, c);
}

/* Greedy: takes the component that explains most per point, as long as its cluster's points fit the budget. */
static uint32_t *spend(pelt_arena *arena, const clustering *c, double budget) {
    uint32_t *ranks = PELT_NEW(arena, c->clusters, uint32_t);
    double left = budget * c->points;
    for (;;) {
        uint32_t best = c->clusters;
        double worth = 0;
        for (uint32_t q = 0; q < c->clusters; q++) {
            uint32_t n = c->first[q + 1] - c->first[q];
            if (!n || n > left || ranks[q] == c->lengths[q]) continue;
            double value = c->values[q][ranks[q]] / n;
            if (value > worth && value * n > negligible * c->values[q][0]) worth = value, best = q;
        }
        if (best == c->clusters) return ranks;
        left -= c->first[best + 1] - c->first[best];
        ranks[best]++;
    }
}

/* The first out->ranks of each cluster's shapes. */
static void hand_over(pelt_arena *arena, const clustering *c, pelt_clusters *out) {
    out->shapes = PELT_NEW(arena, c->clusters, double *);
    for (uint32_t q = 0; q < c->clusters; q++) {
        size_t size = 3 * (size_t)out->ranks[q] * (c->first[q + 1] - c->first[q]);
        out->shapes[q] = PELT_NEW(arena, size, double);
        memcpy(out->shapes[q], c->shapes[q], size * sizeof *out->shapes[q]);
    }
}

/* The components of a cluster that the budget allows. */
static void choose_components(pelt_arena *arena, pelt_arena *work, clustering *c, double budget, uint32_t threads,
                              pelt_clusters *out) {
    find_components(work, c, threads);
    out->ranks = spend(arena, c, budget);
    hand_over(arena, c, out);
}

/* -- All of it ----------------------------------------------------------------------------------------------------- */

static void describe_points(pelt_arena *work, clustering *c, uint32_t threads) {
    c->rows = PELT_NEW(work, 3 * (size_t)c->points * c->columns, float);
    c->energies = PELT_NEW(work, c->points, double);
    pelt_parallel(work, threads, c->points, fill_rows, c);
}

static void iterate(pelt_arena *work, clustering *c, uint32_t threads) {
    start(c);
    list_members(c);
    for (int round = 0; round < ROUNDS; round++) {
        PELT_SPREAD(work, threads, c->clusters, improve_basis, c,
                    {c->bases, (size_t)c->columns * c->rank * sizeof *c->bases});
        pelt_parallel(work, threads, c->points, find_near, c);
        PELT_SPREAD(work, threads, c->clusters, explain, c,
                    {c->explained, .total = (size_t)c->points * CANDIDATES * sizeof *c->explained});
        pelt_parallel(work, threads, c->points, reassign, c);
        list_members(c);
        c->begun = true;
    }
}

pelt_clusters pelt_cluster(pelt_arena *arena, const pelt_example_displacements *u, const pelt_mesh *mesh,
                           const float *positions, uint32_t cluster_count, double per_point, uint32_t threads) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    clustering c = {.u = u, .positions = positions, .points = u->point_count, .examples = u->example_count};
    c.clusters = cluster_count < c.points ? cluster_count : c.points;
    c.rank = per_point < 1 ? 1 : per_point > 16 ? 16 : (uint32_t)(per_point + 0.5);
    c.columns = c.examples < MOST_COLUMNS ? c.examples : MOST_COLUMNS;
    if (c.rank > c.columns) c.rank = c.columns;
    c.nearest = PELT_NEW(work, c.points, double);
    c.centers = pelt_alloc(work, c.clusters, sizeof *c.centers);
    c.bases = PELT_NEW(work, (size_t)c.clusters * c.columns * c.rank, double);
    c.label = PELT_NEW(work, c.points, uint32_t);
    c.near = PELT_NEW(work, (size_t)c.points * CANDIDATES, uint32_t);
    c.explained = PELT_NEW(work, (size_t)c.points * CANDIDATES, double);
    c.first = PELT_NEW(work, (size_t)c.clusters + 1, uint32_t), c.members = PELT_NEW(work, c.points, uint32_t);
    describe_points(work, &c, threads);
    iterate(work, &c, threads);
    pelt_clusters out = {.count = c.clusters, .first = c.first, .points = c.members};
    pelt_overlap_clusters(arena, mesh, u, MOST_RINGS, MOST_GROWTH, &out);
    c.first = out.first, c.members = out.points;
    choose_components(arena, work, &c, per_point, threads, &out);
    return out;
}

/* -- Other fields on the same clusters ----------------------------------------------------------------------------- */

/* Vertices that shade as one belong to one point: lists the tilts of each cluster's points, with the points'
   weights. */
static void list_tilts(pelt_arena *arena, pelt_arena *work, const pelt_example_displacements *u,
                       const pelt_example_displacements *tilts, const pelt_clusters *c, pelt_clusters *out) {
    uint32_t *first = PELT_NEW(work, (size_t)u->point_count + 2, uint32_t);
    uint32_t *list = PELT_NEW(work, tilts->point_count, uint32_t);
    out->first = PELT_NEW(arena, (size_t)c->count + 1, uint32_t);
    for (uint32_t t = 0; t < tilts->point_count; t++) first[u->point_of[tilts->vertex_of[t]] + 2]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 2] += first[i + 1];
    for (uint32_t t = 0; t < tilts->point_count; t++) /* first[i] becomes the start of i */
        list[first[u->point_of[tilts->vertex_of[t]] + 1]++] = t;
    for (uint32_t q = 0, total = 0; q < c->count; q++, out->first[q] = total)
        for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++) total += first[c->points[m] + 1] - first[c->points[m]];
    out->points = PELT_NEW(arena, out->first[c->count], uint32_t);
    out->weights = PELT_NEW(arena, out->first[c->count], float);
    for (uint32_t m = 0, at = 0; m < c->first[c->count]; m++)
        for (uint32_t k = first[c->points[m]]; k < first[c->points[m] + 1]; k++, at++)
            out->points[at] = list[k], out->weights[at] = c->weights[m];
}

pelt_clusters pelt_cluster_tilts(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *clusters,
                                 const pelt_example_displacements *tilts, double per_vertex, uint32_t threads) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    clustering c = {
        .u = tilts, .points = tilts->point_count, .examples = tilts->example_count, .clusters = clusters->count};
    pelt_clusters out = {.count = c.clusters};
    list_tilts(arena, work, u, tilts, clusters, &out);
    c.first = out.first, c.members = out.points;
    choose_components(arena, work, &c, per_vertex, threads, &out);
    return out;
}

/* -- Vectors ------------------------------------------------------------------------------------------------------- */

pelt_displacements *pelt_cluster_vectors(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c,
                                         const uint32_t *ranks, const uint32_t *tilt_ranks, bool tilts) {
    size_t total = 0, at = 0;
    for (uint32_t q = 0; q < c->count; q++) total += (size_t)c->ranks[q] * (c->first[q + 1] - c->first[q]);
    pelt_entry *entries = PELT_NEW(arena, total, pelt_entry);
    uint32_t first = 0;
    for (uint32_t q = 0; q < c->count; first += ranks[q] + tilt_ranks[q], q++)
        for (uint32_t r = 0; r < c->ranks[q]; r++) {
            uint32_t coefficient = first + r + (tilts ? ranks[q] : 0), count = c->first[q + 1] - c->first[q];
            for (uint32_t i = 0; i < count; i++) {
                pelt_entry *entry = &entries[at++];
                *entry = (pelt_entry){.point = c->points[c->first[q] + i], .coefficient = coefficient};
                float weight = c->weights[c->first[q] + i] / (u->scales ? u->scales[entry->point] : 1);
                for (size_t d = 0; d < 3; d++)
                    entry->position[d] = weight * (float)c->shapes[q][((size_t)r * count + i) * 3 + d];
            }
        }
    return pelt_gather_displacements(arena, u, entries, total);
}
