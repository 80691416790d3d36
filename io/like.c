/* like.c: how a cache lies on its mesh, and the way back: a point p is at (axes^-1)((x - offset) / scale). */

#include "io/like.h"
#include "io/io.h"
#include "rig/text.h"
#include <stdlib.h>
#include <string.h>

static pelt_result try_part(pelt_arena *arena, const pelt_cached_part *part, const pelt_point_frames *frames,
                            pelt_likeness *like, pelt_error *error) {
    pelt_cache_options wanted = part->bundle->cache;
    wanted.fix = 1;
    like->first = part->first, like->count = part->count;
    like->frame_count = frames->frame_count, like->point_count = frames->point_count;
    return pelt_align(arena, part, frames, &wanted, NULL, &like->how, error);
}

/* The whole mesh, or the object that the file is called after, or any that it fits. */
pelt_result pelt_likeness_find(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, const char *path,
                               pelt_likeness *like, pelt_error *error) {
    PELT_SCOPED pelt_arena *reading = pelt_arena_new(PELT_READ_LIMIT);
    const pelt_mesh *mesh = &bundle->mesh;
    pelt_cache cache;
    pelt_result result = pelt_cache_read(reading, path, &cache, error);
    if (result) return result;
    pelt_point_frames frames = {path, cache.frame_count, cache.point_count, cache.positions};
    pelt_cached_part part = {
        .bundle = bundle, .clip = clip, .count = mesh->vertex_count, .at_rest = bundle->cache.space == PELT_SPACE_REST};
    result = try_part(arena, &part, &frames, like, error);
    for (int named = 1; result == PELT_ERROR_DATA && named >= 0; named--)
        for (uint32_t i = 0; result == PELT_ERROR_DATA && mesh->object_count > 1 && i < mesh->object_count; i++) {
            const pelt_mesh_object *object = &mesh->objects[i];
            const char *name = pelt_base_name(path);
            bool is_named = strstr(name, object->name) || (object->mesh_name && strstr(name, object->mesh_name));
            if (is_named != (named == 1) || frames.point_count > object->count) continue;
            part.first = object->first, part.count = object->count;
            if (!try_part(arena, &part, &frames, like, NULL)) result = PELT_OK;
        }
    return result;
}

static uint32_t vertex_of(const pelt_likeness *like, uint32_t point) {
    return like->first + (like->how.vertices ? like->how.vertices[point] : point);
}

void pelt_likeness_points(const pelt_likeness *like, const float *positions, float *points) {
    const pelt_alignment *how = &like->how;
    for (uint32_t p = 0; p < like->point_count; p++) {
        const float *from = positions + 3 * (size_t)vertex_of(like, p);
        for (int i = 0; i < 3; i++) {
            double x = (from[i] - how->offset[i]) / how->scale;
            points[3 * (size_t)p + (size_t)(abs(how->axes[i]) - 1)] = (float)(how->axes[i] < 0 ? -x : x);
        }
    }
}

const uint32_t *pelt_likeness_triangles(pelt_arena *arena, const pelt_likeness *like, const pelt_mesh *mesh,
                                        uint32_t *count) {
    uint32_t *triangles = PELT_NEW(arena, 3 * (size_t)mesh->triangle_count, uint32_t);
    *count = 0;
    for (uint32_t t = 0; triangles && t < mesh->triangle_count; t++) {
        uint32_t corners[3], inside = 0;
        for (size_t i = 0; i < 3; i++) {
            uint32_t v = mesh->triangles[3 * (size_t)t + i] - like->first;
            if (v >= like->count) break;
            corners[i] = like->how.points ? like->how.points[v] : v, inside++;
        }
        if (inside == 3) memcpy(triangles + 3 * (size_t)(*count)++, corners, sizeof corners);
    }
    return triangles;
}

pelt_result pelt_cache_form_find(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, const char *like,
                                 const pelt_clip *like_clip, pelt_cache_form *form, pelt_error *error) {
    *form = (pelt_cache_form){.mesh = bundle->mesh, .frame_count = clip->frame_count, .key_count = clip->frame_count};
    if (!like) return PELT_OK;
    const pelt_clip *other = like_clip ? like_clip : clip;
    pelt_result result = pelt_likeness_find(arena, bundle, other, like, &form->like, error);
    if (result) return result;
    int64_t frames = other == clip ? form->like.frame_count : (int64_t)clip->frame_count + form->like.how.shift;
    if (frames < 1)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: begins after the last key of clip \"%s\"", like, clip->name);
    form->frame_count = (uint32_t)frames;
    form->points = PELT_NEW(arena, 3 * (size_t)form->like.point_count, float);
    form->mesh = (pelt_mesh){.vertex_count = form->like.point_count}; /* its own: texture coordinates are of vertices */
    form->mesh.triangles =
        (uint32_t *)pelt_likeness_triangles(arena, &form->like, &bundle->mesh, &form->mesh.triangle_count);
    return form->points && form->mesh.triangles ? PELT_OK : pelt_no_memory(error);
}

uint32_t pelt_cache_form_key(const pelt_cache_form *form, uint32_t frame) {
    int64_t key = (int64_t)frame - form->like.how.shift, last = (int64_t)form->key_count - 1;
    return (uint32_t)(key < 0 ? 0 : key > last ? last : key);
}

const float *pelt_cache_form_points(const pelt_cache_form *form, const float *positions) {
    if (!form->points) return positions;
    pelt_likeness_points(&form->like, positions, form->points);
    return form->points;
}
