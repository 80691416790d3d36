/* overlap.c: clusters that overlap by a few rings of mesh edges, so that no border between them shows.

   A point that is d <= R edges away from a foreign cluster belongs to it too, with weight 1 - d / (R + 1); its own
   cluster has weight 1; the weights of a point are then made to sum to 1. Seen along a path across the border, the
   weight of one cluster falls evenly from 1 to 0 while that of the other rises. */

#include "fit/corrective/kernel.h"
#include <stdlib.h>
#include <string.h>

/* Neighbours of points along mesh edges: those of i are entries first[i] to first[i + 1] - 1, some of them twice. */
typedef struct neighbours {
    uint32_t *first, *list;
} neighbours;

static bool find_neighbours(pelt_arena *work, const pelt_mesh *mesh, const pelt_example_displacements *u,
                            neighbours *out) {
    size_t corners = 3 * (size_t)mesh->triangle_count;
    out->first = PELT_NEW(work, (size_t)u->point_count + 2, uint32_t);
    out->list = PELT_NEW(work, 2 * corners, uint32_t);
    if (!out->first || !out->list) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t c = 0; c < corners; c++) {
            uint32_t a = u->point_of[mesh->triangles[c]], b = u->point_of[mesh->triangles[c % 3 == 2 ? c - 2 : c + 1]];
            if (pass == 0) out->first[a + 2]++, out->first[b + 2]++;
            if (pass == 1) out->list[out->first[a + 1]++] = b, out->list[out->first[b + 1]++] = a;
        }
        for (uint32_t i = 0; i < u->point_count && pass == 0; i++) out->first[i + 2] += out->first[i + 1];
    }
    return true;
}

/* Lists the points of cluster q and those at most `rings` edges away, in the order of distance. `seen` [point] is the
   last cluster that saw a point, plus 1. Weights are written where there is room for them. */
static uint32_t grow(const pelt_clusters *c, const neighbours *edges, uint32_t q, uint32_t rings, uint32_t *seen,
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

static void normalise(const pelt_clusters *c, uint32_t point_count, float *sums) {
    memset(sums, 0, point_count * sizeof *sums);
    for (uint32_t m = 0; m < c->first[c->count]; m++) sums[c->points[m]] += c->weights[m];
    for (uint32_t m = 0; m < c->first[c->count]; m++) c->weights[m] /= sums[c->points[m]];
}

pelt_result pelt_overlap_clusters(pelt_arena *arena, const pelt_mesh *mesh, const pelt_example_displacements *u,
                                  uint32_t most_rings, double most_growth, pelt_clusters *c) {
    pelt_arena *work = pelt_arena_new(0);
    neighbours edges = {0};
    uint32_t *seen = work ? PELT_NEW(work, u->point_count, uint32_t) : NULL, rings = most_rings;
    uint32_t *points = work ? PELT_NEW(work, u->point_count, uint32_t) : NULL;
    float *sums = work ? PELT_NEW(work, u->point_count, float) : NULL;
    bool ready = seen && points && sums && find_neighbours(work, mesh, u, &edges);
    size_t total = u->point_count;
    for (; rings > 0 && ready; rings--) { /* as many rings as the budget bears */
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
    ready = ready && grown.first && grown.points && grown.weights;
    if (ready) memset(seen, 0, u->point_count * sizeof *seen);
    for (uint32_t q = 0; q < c->count && ready; q++)
        grown.first[q + 1] = grown.first[q] + grow(c, &edges, q, rings, seen, grown.points + grown.first[q],
                                                   grown.weights + grown.first[q]);
    if (ready) normalise(&grown, u->point_count, sums);
    if (ready) *c = grown;
    pelt_arena_free(work);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}
