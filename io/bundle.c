/* bundle.c: the true positions of a clip, and its controls.

   Searched in this order: the file that the caller names ("CLIP=FILE"); next to body.glb, body.CLIP.pc2, .mdd, .npy or
   the folder body.CLIP/ of .obj files; one such file per object, body.OBJECT.CLIP.pc2; weight tracks in the clip
   itself; the mesh's morph targets, if there is one per key: position of vertex v in frame i = rest_v + delta_iv, posed
   by the blend if the targets were sculpted in the rest pose. Controls come from body.CLIP.csv next to body.glb. */

#include "io/io.h"
#include "rig/align.h"
#include "rig/sculpt.h"
#include "rig/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const endings[] = {".pc2", ".mdd", ".npy", "", ".abc"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* -- Clips by name ----------------------------------------------------------------------------------------------- */

static pelt_clip *clip_named(const pelt_bundle *bundle, const char *name, size_t length) {
    for (uint32_t i = 0; i < bundle->clip_count; i++)
        if (strlen(bundle->clips[i]->name) == length && !memcmp(bundle->clips[i]->name, name, length))
            return (pelt_clip *)bundle->clips[i]; /* the bundle's own */
    return NULL;
}

/* Splits "CLIP=FILE". Clip and file names may contain a =: the first split that names a clip wins. */
static pelt_clip *find_clip(const pelt_bundle *bundle, const char *request, const char **file) {
    pelt_clip *clip = clip_named(bundle, request, strlen(request));
    *file = NULL;
    for (const char *equals = strchr(request, '='); equals && !clip; equals = strchr(equals + 1, '=')) {
        clip = clip_named(bundle, request, (size_t)(equals - request));
        *file = equals + 1;
    }
    return clip;
}

/* Case-insensitive edit distance (Levenshtein). */
static size_t name_distance(const char *a, size_t length, const char *b) {
    size_t row[64];
    size_t n = strlen(b);
    if (length >= 64 || n >= 64) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t exchange = diagonal + (strncasecmp(a + i - 1, b + j - 1, 1) != 0);
            size_t shorter = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = exchange < shorter ? exchange : shorter;
        }
    }
    return row[n];
}

static const char *nearest_name(const pelt_bundle *bundle, const char *name, size_t length) {
    const char *nearest = NULL;
    size_t least = length / 2 < 3 ? length / 2 + 1 : 4; /* anything farther is not a typo */
    for (uint32_t i = 0; i < bundle->clip_count; i++) {
        size_t distance = name_distance(name, length, bundle->clips[i]->name);
        if (distance < least) least = distance, nearest = bundle->clips[i]->name;
    }
    return nearest;
}

static void unknown_clip(const pelt_bundle *bundle, const char *request, pelt_error *error) {
    enum { MOST_LISTED = 12 };
    char list[600] = "";
    size_t used = 0, length = strcspn(request, "=");
    for (uint32_t i = 0; i < bundle->clip_count && i < MOST_LISTED && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.40s", i ? ", " : "", bundle->clips[i]->name);
    if (bundle->clip_count > MOST_LISTED && used < sizeof list)
        snprintf(list + used, sizeof list - used, " and %u more", bundle->clip_count - MOST_LISTED);
    const char *near = nearest_name(bundle, request, length);
    pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: there is no clip %.*s%s%s%s; %s%s", bundle->path,
              length < 80 ? (int)length : 80, request, near ? " (did you mean " : "", near ? near : "",
              near ? "?)" : "", bundle->clip_count ? "its clips: " : "the file has no animations", list);
}

/* -- Positions from a cache -------------------------------------------------------------------------------------- */

/* Whether the shapes of a clip were sculpted in the rest pose. `look`: detect it unless the caller said so. */
static bool are_at_rest(const pelt_bundle *bundle, const pelt_clip *clip, const float *shapes, bool look) {
    double rest = 0, posed = 0, of_rest, of_pose;
    if (!bundle->mesh.influences.first[bundle->mesh.vertex_count]) return false; /* no pose moves it */
    if (bundle->cache.space == PELT_SPACE_REST) return true;
    for (uint32_t f = 0; f < clip->frame_count && look && bundle->cache.space == PELT_SPACE_SEEN; f++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_new(0);
        const pelt_affine *matrices = pelt_frame_matrices(brief, &bundle->skeleton, clip, f);
        if (matrices) {
            pelt_shape_distances(&bundle->mesh, matrices, shapes + 3 * (size_t)f * bundle->mesh.vertex_count, &of_rest,
                                 &of_pose);
            rest += of_rest, posed += of_pose;
        }
    }
    return rest < posed;
}

/* Poses shapes that were sculpted in the rest pose. */
static pelt_result pose_shapes(pelt_bundle *bundle, const pelt_clip *clip, float *shapes, pelt_error *error) {
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_new(0);
        const pelt_affine *matrices = pelt_frame_matrices(brief, &bundle->skeleton, clip, f);
        float *shape = shapes + 3 * (size_t)f * bundle->mesh.vertex_count;
        if (!matrices) return pelt_no_memory(error);
        pelt_pose_shape(&bundle->mesh, matrices, shape, shape);
    }
    return PELT_OK;
}

static void note_posed(pelt_bundle *bundle, const char *path, const char *what) {
    pelt_find(&bundle->notes, bundle->arena, PELT_NOTE, "placed",
              "%s: the %s were made in the rest pose; they are posed with the file's weights", path, what);
}

/* A cache and how it maps to its part of the mesh. */
typedef struct placed {
    pelt_cached_part part;
    pelt_cache cache;
    pelt_alignment how;
    bool rides; /* an object in its own space, which moves with its node */
} placed;

/* One frame per key, unless the caller gives the first frame or asks to find it. */
static pelt_result check_frames(const pelt_bundle *bundle, const pelt_clip *clip, const char *path, uint32_t frames,
                                pelt_error *error) {
    if (frames == clip->frame_count || bundle->cache.fix || bundle->cache.set_frames) return PELT_OK;
    pelt_fail(error, PELT_ERROR_DATA,
              "%s: %u frames, but clip %s has %u keys: export one frame per key of the clip, state which frame is the "
              "first key, or let pelt find it",
              path, frames, clip->name, clip->frame_count);
    return pelt_advise(error, "fix", 0);
}

static pelt_result read_placed(pelt_bundle *bundle, const pelt_clip *clip, const pelt_mesh_object *part,
                               const char *path, const pelt_alignment *hint, placed *p, pelt_error *error) {
    const char *source = pelt_arena_format(bundle->arena, "%s", path);
    if (!source) return pelt_file_no_memory(path, error);
    pelt_result result = pelt_cache_read(bundle->arena, path, &p->cache, error);
    if (result) return result;
    p->part = (pelt_cached_part){.bundle = bundle,
                                 .clip = clip,
                                 .first = part ? part->first : 0,
                                 .count = part ? part->count : bundle->mesh.vertex_count,
                                 .at_rest = bundle->cache.space == PELT_SPACE_REST};
    pelt_point_frames frames = {source, p->cache.frame_count, p->cache.point_count, p->cache.positions};
    if (!p->part.at_rest) result = pelt_cache_rides(&p->part, &frames, &p->rides, error);
    if (!result && p->rides) {
        p->how = pelt_aligned, p->cache.frame_count = clip->frame_count, p->cache.normals = NULL;
        return PELT_OK;
    }
    if (!result) result = check_frames(bundle, clip, path, p->cache.frame_count, error);
    if (result) return result;
    result = pelt_align(bundle->arena, &p->part, &frames, &bundle->cache, hint, &p->how, error);
    if (!result || bundle->cache.space != PELT_SPACE_SEEN || strcmp(p->cache.format, "obj")) return result;
    p->part.at_rest = true; /* sculpts, perhaps */
    return pelt_align(bundle->arena, &p->part, &frames, &bundle->cache, hint, &p->how, NULL) ? result : PELT_OK;
}

static bool is_as_it_is(const placed *p) {
    pelt_alignment how = p->how;
    return !p->rides && !how.points && how.scale == 1 && how.shift == 0 &&
           !memcmp(how.axes, pelt_aligned.axes, sizeof how.axes) &&
           !memcmp(how.offset, pelt_aligned.offset, sizeof how.offset) &&
           p->cache.frame_count == p->part.clip->frame_count;
}

/* The vectors of one frame, or its normals, which are only rotated. */
static void place_frame(const placed *p, const float *from, bool turn_only, float *to) {
    const pelt_alignment *how = &p->how;
    for (size_t v = 0; v < p->part.count; v++) {
        const float *point = from + 3 * (how->points ? (size_t)how->points[v] : v);
        for (int i = 0; i < 3; i++) {
            int axis = abs(how->axes[i]) - 1;
            double x = how->axes[i] < 0 ? -point[axis] : point[axis];
            to[3 * (p->part.first + v) + (size_t)i] = (float)(turn_only ? x : how->scale * x + how->offset[i]);
        }
    }
}

/* The rest shape on its node, in each key. */
static bool put_on_node(const pelt_bundle *bundle, const pelt_cached_part *part, uint32_t first, uint32_t keys,
                        float *out) {
    for (uint32_t k = 0; k < keys; k++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_new(0);
        const double *blend = pelt_blend_frame(brief, bundle, part->clip, first + k);
        if (!blend) return false;
        float *to = out + 3 * ((size_t)k * bundle->mesh.vertex_count);
        for (size_t i = 3 * (size_t)part->first; i < 3 * ((size_t)part->first + part->count); i++)
            to[i] = (float)blend[i];
    }
    return true;
}

/* The frames of all keys that have one, in mesh order. */
static float *place_frames(pelt_bundle *bundle, const placed *list, uint32_t count, uint32_t first, uint32_t keys,
                           bool normals) {
    size_t row = 3 * (size_t)bundle->mesh.vertex_count, total;
    float *out = __builtin_mul_overflow(row, keys, &total) ? NULL : PELT_NEW(bundle->arena, total, float);
    for (uint32_t c = 0; out && c < count; c++) {
        if (list[c].rides && !put_on_node(bundle, &list[c].part, first, keys, out)) return NULL;
        if (list[c].rides) continue;
        const float *from = normals ? list[c].cache.normals : list[c].cache.positions;
        for (uint32_t k = 0; k < keys; k++) {
            size_t frame = (size_t)((int64_t)first + k + list[c].how.shift);
            place_frame(&list[c], from + 3 * frame * list[c].cache.point_count, normals, out + k * row);
        }
    }
    return out;
}

static void note_placed(pelt_bundle *bundle, const placed *p, const char *path) {
    char text[300];
    const char *glb = pelt_base_name(bundle->path);
    if (p->how.points)
        pelt_find(&bundle->notes, bundle->arena, PELT_NOTE, "matched",
                  "%s: its %u points were matched to the %u vertices of %s, %s", path, p->cache.point_count,
                  p->part.count, glb,
                  p->how.by_place ? "by position" : "which the file splits at seams and keeps in order");
    if (p->rides)
        pelt_find(
            &bundle->notes, bundle->arena, PELT_NOTE, "placed",
            "%s: does not move while its node does, so it is in the object's own space; it is moved with the node",
            path);
    pelt_alignment_text(&p->how, text, sizeof text);
    if (*text) pelt_find(&bundle->notes, bundle->arena, PELT_NOTE, "placed", "%s: %s", path, text);
}

/* Keys without a frame are not examples: they are removed from the clip. */
static void trim_clip(const pelt_bundle *bundle, pelt_clip *clip, uint32_t first, uint32_t keys) {
    if (clip->controls) clip->controls += (size_t)first * bundle->controls.count;
    if (clip->target_weights) clip->target_weights += (size_t)first * bundle->mesh.target_count;
    clip->times += first, clip->frame_count = keys;
}

static pelt_result use_placed(pelt_bundle *bundle, pelt_clip *clip, const placed *list, uint32_t count,
                              const char *const *paths, pelt_error *error) {
    uint32_t first = 0, keys = clip->frame_count;
    bool has_normals = true;
    for (uint32_t c = 0; c < count; c++) {
        uint32_t begin, n = pelt_aligned_keys(clip->frame_count, list[c].cache.frame_count, list[c].how.shift, &begin);
        uint32_t end = begin + n < first + keys ? begin + n : first + keys;
        first = begin > first ? begin : first, keys = end > first ? end - first : 0;
        has_normals &= list[c].cache.normals != NULL;
    }
    if (!keys)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: none of its frames matches a key of clip %s", paths[0],
                         clip->name);
    const float *positions = list[0].cache.positions, *normals = list[0].cache.normals;
    bool drawn = !strcmp(list[0].cache.format, "obj"), copied = count > 1 || !is_as_it_is(&list[0]);
    if (copied || drawn || bundle->cache.space == PELT_SPACE_REST) {
        positions = place_frames(bundle, list, count, first, keys, false);
        normals = has_normals ? place_frames(bundle, list, count, first, keys, true) : NULL;
    }
    for (uint32_t c = 0; c < count; c++) note_placed(bundle, &list[c], paths[c]);
    const char *source = pelt_arena_format(bundle->arena, "%s%s", paths[0], count > 1 ? ", ..." : "");
    if (pelt_arena_failed(bundle->arena) || !positions) return pelt_file_no_memory(paths[0], error);
    trim_clip(bundle, clip, first, keys);
    if (are_at_rest(bundle, clip, positions, drawn)) {
        pelt_result result = pose_shapes(bundle, clip, (float *)positions, error); /* a copy of our own */
        if (result) return result;
        normals = NULL; /* those of the posed surface */
        note_posed(bundle, source, "shapes");
    }
    clip->positions = positions, clip->normals = normals, clip->source = source;
    return PELT_OK;
}

static pelt_result load_cache(pelt_bundle *bundle, pelt_clip *clip, const char *path, pelt_error *error) {
    placed whole;
    pelt_result result = read_placed(bundle, clip, NULL, path, NULL, &whole, error);
    return result ? result : use_placed(bundle, clip, &whole, 1, &path, error);
}

/* A clip's file next to the bundle with this extension (no extension: a folder), or NULL; `object` is a part of the
   mesh, or NULL. Clip and object names containing a slash are rejected: they come from the file and must not reach
   other folders. */
static const char *file_beside(const pelt_bundle *bundle, const char *object, const pelt_clip *clip, const char *ending,
                               char *path, size_t size) {
    if (!bundle->path || bundle->in_memory || strchr(clip->name, '/')) return NULL;
    if (object && (!*object || strchr(object, '/'))) return NULL;
    struct stat status;
    int length = snprintf(path, size, "%.*s.%s%s%s%s", pelt_stem_length(bundle->path), bundle->path,
                          object ? object : "", object ? "." : "", clip->name, ending);
    if (length < 0 || (size_t)length >= size || stat(path, &status) != 0) return NULL;
    return S_ISDIR(status.st_mode) == !*ending ? path : NULL;
}

static const char *cache_beside(const pelt_bundle *bundle, const char *object, const pelt_clip *clip, char *path,
                                size_t size) {
    const char *found = NULL;
    for (int i = 0; i < ENDINGS && !found; i++) found = file_beside(bundle, object, clip, endings[i], path, size);
    return found;
}

/* -- One cache per object ------------------------------------------------------------------------------------------ */

static const char *cache_of_part(pelt_bundle *bundle, const pelt_mesh_object *part, const pelt_clip *clip) {
    char path[4096];
    const char *found = cache_beside(bundle, part->name, clip, path, sizeof path);
    if (!found) found = cache_beside(bundle, part->mesh_name, clip, path, sizeof path);
    return found ? pelt_arena_format(bundle->arena, "%s", found) : NULL;
}

static pelt_result missing_part(const pelt_bundle *bundle, const pelt_clip *clip, const char *found,
                                const pelt_mesh_object *part, pelt_error *error) {
    const char *name = pelt_base_name(bundle->path);
    return pelt_fail(error, PELT_ERROR_FILE,
                     "%s: is the cache of one object of %s, but there is no %.*s.%.80s.%s.pc2 (or .mdd, .npy, a folder "
                     "of .obj) for its object \"%.80s\": export one per object",
                     found, bundle->path, pelt_stem_length(name), name, part->name, clip->name, part->name);
}

/* The largest object is aligned first: it determines the alignment best, and the others try that one first. */
static pelt_result read_parts(pelt_bundle *bundle, const pelt_clip *clip, const char *const *paths, placed *list,
                              pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    uint32_t largest = 0;
    for (uint32_t i = 1; i < mesh->object_count; i++)
        if (mesh->objects[i].count > mesh->objects[largest].count) largest = i;
    pelt_result result =
        read_placed(bundle, clip, &mesh->objects[largest], paths[largest], NULL, &list[largest], error);
    for (uint32_t i = 0; !result && i < mesh->object_count; i++)
        if (i != largest)
            result = read_placed(bundle, clip, &mesh->objects[i], paths[i], &list[largest].how, &list[i], error);
    return result;
}

/* *found is false if no object has its own cache. */
static pelt_result load_parts(pelt_bundle *bundle, pelt_clip *clip, bool *found, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    const char **paths = PELT_NEW(bundle->arena, mesh->object_count, const char *), *any = NULL;
    placed *list = PELT_NEW(bundle->arena, mesh->object_count, placed);
    *found = false;
    if (pelt_arena_failed(bundle->arena)) return pelt_file_no_memory(bundle->path, error);
    for (uint32_t i = 0; i < mesh->object_count; i++) {
        paths[i] = cache_of_part(bundle, &mesh->objects[i], clip);
        any = any ? any : paths[i];
    }
    *found = any != NULL;
    for (uint32_t i = 0; any && i < mesh->object_count; i++)
        if (!paths[i]) return missing_part(bundle, clip, any, &mesh->objects[i], error);
    if (!any) return PELT_OK;
    pelt_result result = read_parts(bundle, clip, paths, list, error);
    return result ? result : use_placed(bundle, clip, list, mesh->object_count, paths, error);
}

/* -- Positions from morph targets -------------------------------------------------------------------------------- */

/* A track that leaves all targets at rest says nothing. */
static bool moves_targets(const pelt_bundle *bundle, const pelt_clip *clip) {
    size_t count = clip->target_weights ? (size_t)clip->frame_count * bundle->mesh.target_count : 0, i = 0;
    while (i < count && clip->target_weights[i] == 0) i++;
    return i < count;
}

/* Applies the clip's own weight tracks before the blend: S_p(v0 + sum_t w_t d_t). */
static pelt_result load_weighted(pelt_bundle *bundle, pelt_clip *clip, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    size_t row = 3 * (size_t)mesh->vertex_count, total;
    /* A separate arena: if this is too much, the bundle's must not fail too. */
    size_t most = PELT_READ_LIMIT + PELT_READ_FACTOR * pelt_arena_used(bundle->arena);
    bool fits = !__builtin_mul_overflow(row, clip->frame_count, &total) && total < most / sizeof(float);
    float *shapes = fits ? PELT_NEW(pelt_arena_inside(bundle->arena), total, float) : NULL;
    if (!shapes)
        return pelt_fail(
            error, PELT_ERROR_MEMORY,
            "%s: the morph targets in the %u frames of clip %s need %.0f MB, more than such a file may ask "
            "for; give the positions as %s=FILE",
            bundle->path, clip->frame_count, clip->name, 4e-6 * (double)row * clip->frame_count, clip->name);
    for (size_t f = 0; f < clip->frame_count; f++) {
        float *shape = shapes + f * row;
        memcpy(shape, mesh->positions, row * sizeof *shape);
        for (uint32_t t = 0; t < mesh->target_count; t++) {
            float weight = clip->target_weights[f * mesh->target_count + t];
            const pelt_target *target = &mesh->targets[t];
            for (size_t i = 0; weight != 0 && i < 3 * (size_t)target->count; i++)
                shape[3 * (size_t)target->vertices[i / 3] + i % 3] += weight * target->deltas[i];
        }
    }
    pelt_result result = pose_shapes(bundle, clip, shapes, error);
    clip->positions = result ? NULL : shapes;
    clip->source = bundle->path;
    return result;
}

/* rest + deltas of each frame's target; NULL if out of memory. */
static float *add_targets(pelt_bundle *bundle, uint32_t frame_count, const float *rest, const pelt_target *targets) {
    size_t row = 3 * (size_t)bundle->mesh.vertex_count, total;
    float *out = __builtin_mul_overflow(row, frame_count, &total) ? NULL : PELT_NEW(bundle->arena, total, float);
    for (size_t f = 0; out && f < frame_count; f++) {
        float *frame = out + f * row;
        memcpy(frame, rest, row * sizeof *frame);
        for (size_t i = 0; i < targets[f].count; i++)
            for (size_t k = 0; k < 3; k++)
                frame[3 * (size_t)targets[f].vertices[i] + k] += targets[f].deltas[3 * i + k];
    }
    return out;
}

static pelt_result load_targets(pelt_bundle *bundle, pelt_clip *clip, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    size_t row = 3 * (size_t)mesh->vertex_count;
    float *positions = add_targets(bundle, clip->frame_count, mesh->positions, mesh->targets), *normals = NULL;
    if (mesh->target_normals) normals = add_targets(bundle, clip->frame_count, mesh->normals, mesh->target_normals);
    if (pelt_arena_failed(bundle->arena) || !positions)
        return pelt_fail(
            error, PELT_ERROR_MEMORY,
            "%s: the %u morph targets of %u vertices need %.0f MB, more than such a file may ask for; give "
            "the positions as %s=FILE",
            bundle->path, clip->frame_count, mesh->vertex_count, 4e-6 * (double)row * clip->frame_count, clip->name);
    for (size_t i = 0; normals && i < row * clip->frame_count; i += 3) {
        float unit[3] = {0}; /* zero length: unknown */
        pelt_unit_normal(normals + i, unit);
        memcpy(normals + i, unit, sizeof unit);
    }
    if (are_at_rest(bundle, clip, positions, true)) {
        pelt_result result = pose_shapes(bundle, clip, positions, error);
        if (result) return result;
        normals = NULL;
        note_posed(bundle, bundle->path, "morph targets");
    }
    clip->positions = positions;
    clip->normals = normals;
    clip->source = bundle->path;
    return PELT_OK;
}

/* -- Clips with what they need ----------------------------------------------------------------------------------- */

static pelt_result no_positions(const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error) {
    if (bundle->in_memory)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: clip %s was added without true positions", bundle->path,
                         clip->name);
    const char *name = pelt_base_name(bundle->path);
    int folder = (int)(name - bundle->path);
    char targets[100] = "";
    if (bundle->mesh.target_count)
        snprintf(targets, sizeof targets, ", and the mesh has %u morph targets, not one per key (%u)",
                 bundle->mesh.target_count, clip->frame_count);
    return pelt_fail(
        error, PELT_ERROR_FILE,
        "%s: clip %s has no true positions: there is no %.*s.%s.pc2, .mdd, .npy or folder of .obj in %.*s%s"
        "; put it there, or name it as %s=FILE",
        bundle->path, clip->name, pelt_stem_length(name), name, clip->name, folder ? folder : 2,
        folder ? bundle->path : "./", targets, clip->name);
}

static pelt_result load_positions(pelt_bundle *bundle, pelt_clip *clip, const char *file, pelt_error *error) {
    char beside[4096];
    if (clip->positions) {
        if (!file || (clip->source && !strcmp(file, clip->source))) return PELT_OK;
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: clip %s already has its positions from %s", file, clip->name,
                         clip->source ? clip->source : "elsewhere");
    }
    if (!file) file = cache_beside(bundle, NULL, clip, beside, sizeof beside);
    if (file) return load_cache(bundle, clip, file, error);
    bool found;
    pelt_result result = load_parts(bundle, clip, &found, error);
    if (result || found) return result;
    if (moves_targets(bundle, clip)) return load_weighted(bundle, clip, error);
    if (bundle->mesh.target_count && bundle->mesh.target_count == clip->frame_count)
        return load_targets(bundle, clip, error);
    return no_positions(bundle, clip, error);
}

bool pelt_bundle_has_positions(const pelt_bundle *bundle, const pelt_clip *clip) {
    const pelt_mesh *mesh = &bundle->mesh;
    char path[4096];
    if (clip->positions || cache_beside(bundle, NULL, clip, path, sizeof path)) return true;
    for (uint32_t i = 0; i < mesh->object_count; i++)
        if (cache_beside(bundle, mesh->objects[i].name, clip, path, sizeof path) ||
            cache_beside(bundle, mesh->objects[i].mesh_name, clip, path, sizeof path))
            return true;
    return moves_targets(bundle, clip) || (mesh->target_count && mesh->target_count == clip->frame_count);
}

/* Once per clip; controls from the file that the table does not name stay. */
static pelt_result load_controls(pelt_bundle *bundle, pelt_clip *clip, pelt_error *error) {
    char path[4096];
    const char *beside = file_beside(bundle, NULL, clip, ".csv", path, sizeof path);
    if (!beside || (clip->controls_source && !strcmp(clip->controls_source, beside))) return PELT_OK;
    return pelt_controls_read(bundle, clip, beside, error);
}

/* Axes are each of the cache's once, or not given. */
static bool are_axes(const int axes[3]) {
    unsigned seen = 0;
    for (int i = 0; i < 3; i++)
        if (axes[i] >= -3 && axes[i] <= 3) seen |= 1u << abs(axes[i]);
    return seen == 14 || (!axes[0] && !axes[1] && !axes[2]);
}

pelt_result pelt_check_cache_options(const pelt_cache_options *o, pelt_error *error) {
    const int most_frames = 1000000;
    if (!are_axes(o->axes))
        return pelt_fail_option(error, "axes", "expected 1, 2 and 3 in any order and with any sign, not %d, %d, %d",
                                o->axes[0], o->axes[1], o->axes[2]);
    if (o->scale != 0 && !(o->scale >= 1e-9 && o->scale <= 1e9))
        return pelt_fail_option(error, "scale", " must be between 1e-9 and 1e9, not %g", o->scale);
    for (int i = 0; i < 3; i++)
        if (!isfinite(o->offset[i])) return pelt_fail_option(error, "offset", " must be finite, not %g", o->offset[i]);
    if (o->frames < -most_frames || o->frames > most_frames)
        return pelt_fail_option(error, "frames", " must be between %d and %d, not %d", -most_frames, most_frames,
                                o->frames);
    if ((unsigned)o->space > PELT_SPACE_REST)
        return pelt_fail_option(error, "space", "there is no choice %d", o->space);
    return PELT_OK;
}

const pelt_clip *pelt_bundle_clip(pelt_bundle *bundle, const char *name, pelt_need need, pelt_error *error) {
    const char *file;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(name, error) || pelt_check_cache_options(&bundle->cache, error))
        return NULL;
    pelt_clip *clip = find_clip(bundle, name, &file);
    if (!clip && pelt_ends_with(name, ".json")) return pelt_sculpts_read(bundle, name, error);
    if (!clip) return unknown_clip(bundle, name, error), NULL;
    if (file && !*file) return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: name a file after the =", name), NULL;
    if (load_controls(bundle, clip, error)) return NULL;
    if (!file && need == PELT_NEED_POSE) return clip;
    return load_positions(bundle, clip, file, error) == PELT_OK ? clip : NULL;
}
