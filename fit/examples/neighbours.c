/* neighbours.c: which points of the fit are joined by an edge of the mesh. */

#include "fit/examples/neighbours.h"
#include <stdlib.h>

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool pelt_find_neighbours(pelt_fitting *f, const pelt_points *points, pelt_neighbours *out) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    uint32_t n = points->count, *first = PELT_NEW(f->arena, (size_t)n + 2, uint32_t);
    uint32_t *list = PELT_NEW(f->arena, 6 * (size_t)mesh->triangle_count + 1, uint32_t);
    if (!first || !list) return false;
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
    for (uint32_t p = 0; p < n; p++) { /* an edge lies in two triangles */
        uint32_t end = first[p + 1];
        qsort(list + begin, end - begin, sizeof *list, compare_u32);
        first[p] = kept;
        for (uint32_t i = begin; i < end; i++)
            if (list[i] != p && (kept == first[p] || list[i] != list[kept - 1])) list[kept++] = list[i];
        begin = end;
    }
    first[n] = kept;
    *out = (pelt_neighbours){first, list};
    return true;
}
