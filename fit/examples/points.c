/* points.c: merges the vertices of a seam into points; mesh edges connect points. */

#include "fit/examples/points.h"
#include "rig/sort.h"
#include <stdlib.h>
#include <string.h>

pelt_points pelt_find_points(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples) {
    uint32_t *of_vertex = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    uint32_t count = pelt_weld(arena, mesh, examples, PELT_STILL_TOGETHER * pelt_scene_diagonal(mesh), of_vertex);
    uint32_t *vertex = PELT_NEW(arena, count, uint32_t);
    for (uint32_t v = mesh->vertex_count; v-- > 0;) vertex[of_vertex[v]] = v;
    return (pelt_points){count, of_vertex, vertex};
}

/* Order-independent: a file may list the joints of twins differently. */
static bool same_blend(const pelt_influences *in, const float *positions, uint32_t a, uint32_t b) {
    if (memcmp(positions + 3 * (size_t)a, positions + 3 * (size_t)b, 3 * sizeof *positions)) return false;
    if (in->first[a + 1] - in->first[a] != in->first[b + 1] - in->first[b]) return false;
    for (uint32_t i = in->first[a]; i < in->first[a + 1]; i++) {
        uint32_t k = in->first[b];
        while (k < in->first[b + 1] && in->joints[k] != in->joints[i]) k++;
        if (k == in->first[b + 1] || in->weights[k] != in->weights[i]) return false;
    }
    return true;
}

void pelt_part_points(pelt_arena *arena, const pelt_influences *blend, const float *positions, uint32_t vertex_count,
                      pelt_points *points) {
    uint32_t *of_vertex = PELT_NEW(arena, vertex_count, uint32_t), *vertex = PELT_NEW(arena, vertex_count, uint32_t);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t *newest = PELT_NEW(work, points->count, uint32_t); /* chains of the first vertices of a point's parts, */
    uint32_t *older = PELT_NEW(work, vertex_count, uint32_t);   /* by index + 1 */
    uint32_t count = 0;
    for (uint32_t v = 0; v < vertex_count; v++) {
        uint32_t *chain = &newest[points->of_vertex[v]], found = *chain;
        while (found && !same_blend(blend, positions, found - 1, v)) found = older[found - 1];
        if (!found) {
            older[v] = *chain, *chain = v + 1;
            vertex[count] = v;
        }
        of_vertex[v] = found ? of_vertex[found - 1] : count++;
    }
    *points = (pelt_points){count, of_vertex, vertex};
}

/* -- Neighbours ---------------------------------------------------------------------------------------------------- */

pelt_neighbours pelt_find_neighbours(pelt_arena *arena, const pelt_mesh *mesh, const pelt_points *points) {
    uint32_t n = points->count, *first = PELT_NEW(arena, (size_t)n + 2, uint32_t);
    uint32_t *list = PELT_NEW(arena, 6 * (size_t)mesh->triangle_count + 1, uint32_t);
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        for (size_t t = 0; t < mesh->triangle_count; t++)
            for (size_t k = 0; k < 6; k++) {
                uint32_t a = points->of_vertex[mesh->triangles[3 * t + k % 3]];
                uint32_t b = points->of_vertex[mesh->triangles[3 * t + (k % 3 + 1 + k / 3) % 3]];
                if (pass)
                    list[first[a + 1]++] = b;
                else
                    first[a + 2]++;
            }
        for (uint32_t p = 0; p < n && !pass; p++) first[p + 2] += first[p + 1];
    }
    uint32_t kept = 0, begin = 0;
    for (uint32_t p = 0; p < n; p++) { /* an edge belongs to two triangles */
        uint32_t end = first[p + 1];
        qsort(list + begin, end - begin, sizeof *list, pelt_rising_integers);
        first[p] = kept;
        for (uint32_t i = begin; i < end; i++)
            if (list[i] != p && (kept == first[p] || list[i] != list[kept - 1])) list[kept++] = list[i];
        begin = end;
    }
    first[n] = kept;
    return (pelt_neighbours){first, list};
}
