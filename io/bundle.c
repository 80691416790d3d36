/* bundle.c: the true positions of a clip, and its controls.

   Looked for in this order: the file that the caller names ("CLIP=FILE"); beside body.glb, body.CLIP.pc2, .mdd, .npy
   and the folder body.CLIP/ of .obj files; the morph targets of the mesh, when there are as many of them as the clip
   has keys: position of vertex v in frame i = rest_v + delta_iv. Controls come from body.CLIP.csv beside it. */

#include "io/io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const endings[] = {".pc2", ".mdd", ".npy", "", ".abc"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* -- Clips by name ----------------------------------------------------------------------------------------------- */

static pelt_clip *clip_named(const pelt_bundle *bundle, const char *name, size_t length) {
    for (uint32_t i = 0; i < bundle->clip_count; i++)
        if (strlen(bundle->clips[i]->name) == length && !memcmp(bundle->clips[i]->name, name, length))
            return (pelt_clip *)bundle->clips[i]; /* the bundle's own */
    return NULL;
}

/* Splits "CLIP=FILE". Clips may have a = in their names, and so may files: the first split that names a clip counts. */
static pelt_clip *find_clip(const pelt_bundle *bundle, const char *request, const char **file) {
    pelt_clip *clip = clip_named(bundle, request, strlen(request));
    *file = NULL;
    for (const char *equals = strchr(request, '='); equals && !clip; equals = strchr(equals + 1, '=')) {
        clip = clip_named(bundle, request, (size_t)(equals - request));
        *file = equals + 1;
    }
    return clip;
}

/* Insertions, deletions and exchanges that turn one name into the other, without regard to case (Levenshtein). */
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
    size_t least = length / 2 < 3 ? length / 2 + 1 : 4; /* farther is no guess */
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
              near ? "?)" : "", bundle->clip_count ? "there are: " : "the file has no animations", list);
}

/* -- Positions from a cache -------------------------------------------------------------------------------------- */

static uint32_t count_distinct_positions(const pelt_mesh *mesh) {
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t *point_of = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    uint32_t points = pelt_weld(arena, mesh, (pelt_examples){0}, 0, point_of);
    pelt_arena_free(arena);
    return points;
}

static pelt_result wrong_point_count(const pelt_bundle *bundle, const char *path, uint32_t points, pelt_error *error) {
    uint32_t vertices = bundle->mesh.vertex_count, distinct = count_distinct_positions(&bundle->mesh);
    const char *glb = base_name(bundle->path);
    if (points == distinct)
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "%s: %u points, but the mesh in %s has %u vertices; %u of them have distinct positions, so the "
            "export split vertices at seams: export the cache from the same glTF",
            path, points, glb, vertices, distinct);
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: %u points, but the mesh in %s has %u vertices: export the cache from the same glTF", path,
                     points, glb, vertices);
}

static pelt_result load_cache(pelt_bundle *bundle, pelt_clip *clip, const char *path, pelt_error *error) {
    pelt_cache cache;
    const char *source = pelt_arena_format(bundle->arena, "%s", path);
    if (!source) return pelt_file_no_memory(path, error);
    pelt_result result = pelt_cache_read(bundle->arena, path, &cache, error);
    if (result) return result;
    if (cache.point_count != bundle->mesh.vertex_count)
        return wrong_point_count(bundle, path, cache.point_count, error);
    if (cache.frame_count != clip->frame_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: %u frames, but clip %s has %u keys: export one frame for each key of the clip", path,
                         cache.frame_count, clip->name, clip->frame_count);
    clip->positions = cache.positions;
    clip->normals = cache.normals;
    clip->source = source;
    return PELT_OK;
}

/* The file of a clip beside the bundle with this ending (a folder when there is none), or NULL. A clip whose name has a
   slash in it has none: the name came from the file, and must not lead into other folders. */
static const char *file_beside(const pelt_bundle *bundle, const pelt_clip *clip, const char *ending, char *path,
                               size_t size) {
    if (!bundle->path || bundle->in_memory || strchr(clip->name, '/')) return NULL;
    const char *name = base_name(bundle->path), *dot = strrchr(name, '.');
    int stem = (int)(dot && dot > name ? dot - bundle->path : (ptrdiff_t)strlen(bundle->path));
    struct stat status;
    int length = snprintf(path, size, "%.*s.%s%s", stem, bundle->path, clip->name, ending);
    if (length < 0 || (size_t)length >= size || stat(path, &status) != 0) return NULL;
    return S_ISDIR(status.st_mode) == !*ending ? path : NULL;
}

static const char *cache_beside(const pelt_bundle *bundle, const pelt_clip *clip, char *path, size_t size) {
    const char *found = NULL;
    for (int i = 0; i < ENDINGS && !found; i++) found = file_beside(bundle, clip, endings[i], path, size);
    return found;
}

/* -- Positions from morph targets -------------------------------------------------------------------------------- */

/* rest + deltas of each frame's target; NULL when memory is out. */
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
        float unit[3] = {0}; /* one without a direction is not known */
        pelt_unit_normal(normals + i, unit);
        memcpy(normals + i, unit, sizeof unit);
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
    const char *name = base_name(bundle->path), *dot = strrchr(name, '.');
    int folder = (int)(name - bundle->path), stem = (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name));
    char targets[100] = "";
    if (bundle->mesh.target_count)
        snprintf(targets, sizeof targets, ", and the %u morph targets of the mesh are not one for each of its %u keys",
                 bundle->mesh.target_count, clip->frame_count);
    return pelt_fail(
        error, PELT_ERROR_FILE,
        "%s: clip %s has no true positions: there is no %.*s.%s.pc2, .mdd, .npy or folder of .obj in %.*s%s"
        "; put it there, or name it as %s=FILE",
        bundle->path, clip->name, stem, name, clip->name, folder ? folder : 2, folder ? bundle->path : "./", targets,
        clip->name);
}

static pelt_result load_positions(pelt_bundle *bundle, pelt_clip *clip, const char *file, pelt_error *error) {
    char beside[4096];
    if (clip->positions) {
        if (!file || (clip->source && !strcmp(file, clip->source))) return PELT_OK;
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: clip %s already has its positions from %s", file, clip->name,
                         clip->source ? clip->source : "elsewhere");
    }
    if (!file) file = cache_beside(bundle, clip, beside, sizeof beside);
    if (file) return load_cache(bundle, clip, file, error);
    if (bundle->mesh.target_count && bundle->mesh.target_count == clip->frame_count)
        return load_targets(bundle, clip, error);
    return no_positions(bundle, clip, error);
}

/* Once per clip; what the file itself says of other controls stays. */
static pelt_result load_controls(pelt_bundle *bundle, pelt_clip *clip, pelt_error *error) {
    char path[4096];
    const char *beside = file_beside(bundle, clip, ".csv", path, sizeof path);
    if (!beside || (clip->controls_source && !strcmp(clip->controls_source, beside))) return PELT_OK;
    return pelt_controls_read(bundle, clip, beside, error);
}

const pelt_clip *pelt_bundle_clip(pelt_bundle *bundle, const char *name, pelt_need need, pelt_error *error) {
    const char *file;
    pelt_clip *clip = find_clip(bundle, name, &file);
    if (!clip) {
        unknown_clip(bundle, name, error);
        return NULL;
    }
    if (file && !*file) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: name a file after the =", name);
        return NULL;
    }
    if (load_controls(bundle, clip, error)) return NULL;
    if (!file && need == PELT_NEED_POSE) return clip;
    return load_positions(bundle, clip, file, error) == PELT_OK ? clip : NULL;
}
