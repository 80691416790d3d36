/* like.h: writing points as another cache has them: in its order, axes, scale and frame numbers. */

#ifndef PELT_LIKE_H
#define PELT_LIKE_H

#include "rig/align.h"

/* How a cache lies on a part of the mesh. */
typedef struct pelt_likeness {
    uint32_t first, count;             /* the part's vertices */
    uint32_t frame_count, point_count; /* of the cache */
    pelt_alignment how;
} pelt_likeness;

/* Finds it by comparing the cache with a clip that it belongs to; bundle->cache has what is known already. */
pelt_result pelt_likeness_find(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, const char *path,
                               pelt_likeness *like, pelt_error *error);

/* Positions [vertex_count][3] of the mesh as points [point_count][3] of such a cache. */
void pelt_likeness_points(const pelt_likeness *like, const float *positions, float *points);

/* The triangles between the points of such a cache. NULL if the arena fails. */
const uint32_t *pelt_likeness_triangles(pelt_arena *arena, const pelt_likeness *like, const pelt_mesh *mesh,
                                        uint32_t *count);

#endif
