/* ride.c: caches of objects that hang on a bone, in the space of the object.

   Such an object is rigid: in the scene it moves with its node, in its own space it stands still. Its cache says nothing but
   its shape, which must be that of the object at rest, wherever and however large it is there. */

#include "rig/align.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 16 };
static const double still = 1e-5, moving = 0.01, alike = 0.01; /* of the size */

static double size_of(const float *positions, size_t count) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (size_t i = 0; i < 3 * count; i++)
        low[i % 3] = fmin(low[i % 3], positions[i]), high[i % 3] = fmax(high[i % 3], positions[i]);
    for (int i = 0; i < 3; i++) square += (high[i] - low[i]) * (high[i] - low[i]);
    return sqrt(square);
}

static bool stands_still(const pelt_point_frames *cache) {
    size_t row = 3 * (size_t)cache->point_count;
    double limit = still * size_of(cache->positions, cache->point_count);
    for (size_t i = row; i < cache->frame_count * row; i++)
        if (!(fabs((double)cache->positions[i] - cache->positions[i % row]) <= limit)) return false;
    return cache->frame_count > 1 && limit > 0;
}

/* All vertices follow one joint, the same one. */
static bool is_rigid(const pelt_cached_part *part) {
    const pelt_influences *in = &part->bundle->mesh.influences;
    for (uint32_t v = part->first; v < part->first + part->count; v++)
        if (in->first[v + 1] - in->first[v] != 1 || in->joints[in->first[v]] != in->joints[in->first[part->first]])
            return false;
    return part->count > 0;
}

static bool moves(pelt_arena *arena, const pelt_cached_part *part) {
    uint32_t keys = part->clip->frame_count, n = keys < MOST_KEYS ? keys : MOST_KEYS;
    double limit = moving * size_of(part->bundle->mesh.positions + 3 * (size_t)part->first, part->count);
    const double *start = pelt_blend_frame(arena, part->bundle, part->clip, 0);
    for (uint32_t k = 1; k < n; k++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_inside(arena);
        const double *now =
            pelt_blend_frame(brief, part->bundle, part->clip, (uint32_t)((uint64_t)k * (keys - 1) / (n - 1)));
        for (size_t i = 3 * (size_t)part->first; i < 3 * ((size_t)part->first + part->count); i++)
            if (fabs(now[i] - start[i]) > limit) return true;
    }
    return false;
}

/* Distances of the different positions from their middle, over their mean square: no turn, place or size changes them. */
static double *profile_of(pelt_arena *arena, const float *positions, uint32_t count, uint32_t *distinct) {
    pelt_mesh mesh = {.vertex_count = count, .positions = (float *)positions};
    uint32_t *groups = PELT_NEW(arena, count, uint32_t);
    uint32_t n = *distinct = pelt_weld(arena, &mesh, (pelt_examples){0}, 0, groups);
    double *points = PELT_NEW(arena, 3 * (size_t)n, double), *list = PELT_NEW(arena, n, double);
    for (uint32_t p = 0; p < count; p++)
        for (size_t i = 0; i < 3; i++) points[3 * (size_t)groups[p] + i] = positions[3 * (size_t)p + i];
    pelt_cloud cloud = pelt_cloud_of(points, n);
    double size = sqrt(pelt_square_size(&cloud));
    for (uint32_t p = 0; p < n; p++) {
        double square = 0;
        for (size_t i = 0; i < 3; i++) square += pow(points[3 * (size_t)p + i] - cloud.middle[i], 2);
        list[p] = size > 0 ? sqrt(square) / size : 0;
    }
    return list;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool same_shape(pelt_arena *arena, const pelt_cached_part *part, const pelt_point_frames *cache) {
    uint32_t n, m;
    double *a = profile_of(arena, part->bundle->mesh.positions + 3 * (size_t)part->first, part->count, &n);
    double *b = profile_of(arena, cache->positions, cache->point_count, &m);
    if (n != m) return false;
    qsort(a, n, sizeof *a, compare_numbers), qsort(b, n, sizeof *b, compare_numbers);
    for (uint32_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= alike)) return false;
    return true;
}

typedef struct asking {
    pelt_arena *arena;
    const pelt_cached_part *part;
    const pelt_point_frames *cache;
    bool rides;
} asking;

static pelt_result ask(void *user, pelt_error *error) {
    asking *a = user;
    if (!stands_still(a->cache) || !is_rigid(a->part) || !moves(a->arena, a->part)) return PELT_OK;
    const pelt_bundle *bundle = a->part->bundle;
    const char *node =
        bundle->skeleton.names[bundle->mesh.influences.joints[bundle->mesh.influences.first[a->part->first]]];
    a->rides = same_shape(a->arena, a->part, a->cache);
    if (a->rides) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: does not move while the node \"%s\" of %s does, so it is in the object's own space, but its "
                     "shape is not the object's; export it in scene space",
                     a->cache->path, node, bundle->path);
}

pelt_result pelt_cache_rides(const pelt_cached_part *part, const pelt_point_frames *cache, bool *rides,
                             pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    asking a = {arena, part, cache, false};
    pelt_result result = pelt_stage(arena, ask, &a, error);
    *rides = a.rides;
    return result;
}
