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

/* The frames of a cache to write for a clip: all vertices, key by key, or as in a cache that it should be like. */
typedef struct pelt_cache_form {
    pelt_likeness like;
    pelt_mesh mesh; /* what the frames are of */
    uint32_t frame_count, key_count;
    float *points; /* NULL: the vertices as they are */
} pelt_cache_form;

/* `like`: a cache of the clip `like_clip` (NULL: of the same clip, and then frames are as many as there), or NULL. */
pelt_result pelt_cache_form_find(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, const char *like,
                                 const pelt_clip *like_clip, pelt_cache_form *form, pelt_error *error);

/* The key of the clip that a frame shows; frames before and after the clip show its ends. */
uint32_t pelt_cache_form_key(const pelt_cache_form *form, uint32_t frame);

/* Positions of the mesh as they are written. Valid until the next call. */
const float *pelt_cache_form_points(const pelt_cache_form *form, const float *positions);

#endif
