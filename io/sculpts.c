/* sculpts.c: sculpted shapes and their poses, as JSON:

       {"sculpts": [
         {"shape": "elbow bent", "clip": "poses", "frame": 4},
         {"shape": "fist.obj", "pose": {"hand.L": [0, 0, 0.38, 0.92]}, "weight": 2, "mask": {"joints": ["hand.L"]}}]}

   A shape is the name of a morph target, or an .obj file in the folder of the text. Its pose is a key of a clip, or
   joint rotations (quaternions x y z w, relative to their parents) with all other joints at rest. "space", per sculpt
   or for all, is "rest" or "posed"; without it, it is detected. A mask is "vertices.txt", one number per line, or
   joints: a vertex takes the shape in proportion to its weight on these. "mute": true skips a sculpt. */

#include "io/io.h"
#include "rig/align.h"
#include "rig/sculpt.h"
#include "rig/text.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCULPTS = 4096 };

typedef struct reading {
    pelt_bundle *bundle;
    const char *path;
    pelt_arena *arena; /* only needed while reading */
    uint32_t count, at_rest;
    pelt_transform *poses; /* [count][joints] */
    float *positions;      /* [count][vertices][3] */
    float *weights;        /* [count] */
    pelt_space space;
    pelt_error *error;
    size_t number; /* of the current sculpt, for messages */
} reading;

#define REFUSE(r, ...) (pelt_fail((r)->error, PELT_ERROR_DATA, __VA_ARGS__), false)

static const char *beside(reading *r, const char *name) {
    return pelt_arena_format(r->arena, "%.*s%s", (int)(pelt_base_name(r->path) - r->path), r->path, name);
}

static bool check_words(reading *r, const json_t *object) {
    static const char *const known[] = {"shape", "clip", "frame", "pose", "space", "weight", "mute", "mask"};
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return REFUSE(r, "%s: sculpt %zu is not an object {...}", r->path, r->number);
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(key, known[i])) i++;
        if (i == sizeof known / sizeof *known)
            return REFUSE(r,
                          "%s: sculpt %zu: \"%.80s\" is not a key of a sculpt; use shape, clip, frame, pose, space, "
                          "weight, mute or mask",
                          r->path, r->number, key);
    }
    return true;
}

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static const pelt_target *target_named(const pelt_mesh *mesh, const char *name) {
    for (uint32_t t = 0; t < mesh->target_count; t++)
        if (!strcmp(mesh->targets[t].name, name)) return &mesh->targets[t];
    return NULL;
}

/* One .obj has a point per vertex of the mesh, or per distinct position, as most programs write it. */
static bool read_obj(reading *r, const char *name, float *shape) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    const char *path = beside(r, name);
    pelt_cache cache;
    if (!path || pelt_cache_read(r->arena, path, &cache, r->error)) return false;
    uint32_t *places = PELT_NEW(r->arena, mesh->vertex_count, uint32_t);
    if (!places) return pelt_no_memory(r->error), false;
    uint32_t count = pelt_weld(r->arena, mesh, (pelt_examples){0}, 0, places);
    bool split = cache.point_count != mesh->vertex_count;
    if (pelt_arena_failed(r->arena)) return pelt_no_memory(r->error), false;
    if (split && cache.point_count != count)
        return REFUSE(r, "%s: %u points, but the mesh in %s has %u vertices at %u positions", path, cache.point_count,
                      r->bundle->path, mesh->vertex_count, count);
    for (size_t v = 0; v < mesh->vertex_count; v++)
        memcpy(shape + 3 * v, cache.positions + 3 * (split ? (size_t)places[v] : v), 3 * sizeof *shape);
    return true;
}

static bool read_shape(reading *r, const json_t *object, float *shape) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    const char *name = json_string_value(json_object_get(object, "shape"));
    if (!name)
        return REFUSE(r, "%s: sculpt %zu: \"shape\" is missing: name a morph target or an .obj file", r->path,
                      r->number);
    const pelt_target *target = target_named(mesh, name);
    if (!target && pelt_ends_with(name, ".obj")) return read_obj(r, name, shape);
    if (!target)
        return REFUSE(
            r, "%s: sculpt %zu: the mesh in %s has no morph target \"%.80s\"; the name of an .obj file ends with .obj",
            r->path, r->number, r->bundle->path, name);
    memcpy(shape, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof *shape);
    for (size_t i = 0; i < 3 * (size_t)target->count; i++)
        shape[3 * (size_t)target->vertices[i / 3] + i % 3] += target->deltas[i];
    return true;
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static bool read_rotations(reading *r, const json_t *rotations, pelt_transform *pose) {
    const pelt_skeleton *skeleton = &r->bundle->skeleton;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)rotations, name, value) {
        uint32_t joint = pelt_joint_named(skeleton, name, 0);
        if (joint == skeleton->joint_count)
            return REFUSE(r, "%s: sculpt %zu: %s has no joint \"%.80s\"", r->path, r->number, r->bundle->path, name);
        double q[4] = {0}, length = 0;
        for (size_t i = 0; i < 4; i++) {
            const json_t *part = json_array_get(value, i);
            q[i] = json_is_number(part) ? json_number_value(part) : NAN;
            length += q[i] * q[i];
        }
        if (json_array_size(value) != 4 || !(length > 1e-12) || !(length < 1e12))
            return REFUSE(r, "%s: sculpt %zu: joint \"%.80s\" takes a rotation of four numbers, [x, y, z, w]", r->path,
                          r->number, name);
        for (int i = 0; i < 4; i++) pose[joint].rotation[i] = (float)(q[i] / sqrt(length));
    }
    return true;
}

static bool read_pose(reading *r, const json_t *object, pelt_transform *pose) {
    const pelt_skeleton *skeleton = &r->bundle->skeleton;
    const char *name = json_string_value(json_object_get(object, "clip"));
    const json_t *frame = json_object_get(object, "frame"), *rotations = json_object_get(object, "pose");
    memcpy(pose, skeleton->rest, skeleton->joint_count * sizeof *pose);
    if ((name != NULL) == json_is_object(rotations))
        return REFUSE(r, "%s: sculpt %zu: give its pose either as \"clip\" and \"frame\", or as a \"pose\" of joints",
                      r->path, r->number);
    if (!name) return read_rotations(r, rotations, pose);
    const pelt_clip *clip = pelt_bundle_clip(r->bundle, name, PELT_NEED_POSE, r->error);
    if (!clip) return false;
    json_int_t number = json_integer_value(frame);
    if (!json_is_integer(frame) || number < 0 || number >= clip->frame_count)
        return REFUSE(r, "%s: sculpt %zu: \"frame\" must be the number of a key of clip %s, 0 to %u", r->path,
                      r->number, name, clip->frame_count - 1);
    pelt_clip_pose(clip, skeleton, (uint32_t)number, pose);
    return true;
}

/* -- Masks --------------------------------------------------------------------------------------------------------- */

static bool mask_vertices(reading *r, const char *name, float *mask) {
    const char *path = beside(r, name);
    pelt_file file;
    if (!path || pelt_file_read(r->arena, path, &file, r->error)) return false;
    size_t line = 1;
    for (const char *at = (const char *)file.bytes; *at; line++) {
        size_t length = strcspn(at, "\n");
        if (strspn(at, " \t\r") < length && *at != '#') {
            char *end;
            unsigned long vertex = strtoul(at, &end, 10);
            end += strspn(end, " \t\r");
            if (end == at || (*end && *end != '\n') || *at == '-' || vertex >= r->bundle->mesh.vertex_count)
                return REFUSE(r, "%s: line %zu is not a vertex number, 0 to %u", path, line,
                              r->bundle->mesh.vertex_count - 1);
            mask[vertex] = 1;
        }
        at += length + (at[length] == '\n');
    }
    return true;
}

static bool mask_joints(reading *r, const json_t *names, float *mask) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    const pelt_skeleton *skeleton = &r->bundle->skeleton;
    if (!json_array_size(names))
        return REFUSE(r, "%s: sculpt %zu: \"mask\" must be the name of a file, or {\"joints\": [\"NAME\", ...]}",
                      r->path, r->number);
    for (size_t n = 0; n < json_array_size(names); n++) {
        const char *name = json_string_value(json_array_get(names, n));
        uint32_t joint = name ? pelt_joint_named(skeleton, name, 0) : skeleton->joint_count;
        if (joint == skeleton->joint_count)
            return REFUSE(r, "%s: sculpt %zu: %s has no joint \"%.80s\"", r->path, r->number, r->bundle->path,
                          name ? name : "");
        for (uint32_t v = 0; v < mesh->vertex_count; v++)
            for (uint32_t i = mesh->influences.first[v]; i < mesh->influences.first[v + 1]; i++)
                if (mesh->influences.joints[i] == joint) mask[v] = fminf(1, mask[v] + mesh->influences.weights[i]);
    }
    return true;
}

static bool apply_mask(reading *r, const json_t *value, const pelt_affine *matrices, float *shape) {
    if (!value) return true;
    float *mask = PELT_NEW(r->arena, r->bundle->mesh.vertex_count, float);
    if (!mask) return pelt_no_memory(r->error), false;
    bool good = json_is_string(value) ? mask_vertices(r, json_string_value(value), mask)
                                      : mask_joints(r, json_object_get(value, "joints"), mask);
    if (good) pelt_mask_shape(&r->bundle->mesh, matrices, mask, shape);
    return good;
}

/* -- One sculpt ---------------------------------------------------------------------------------------------------- */

static bool read_space(reading *r, const json_t *value, pelt_space *space) {
    const char *word = json_string_value(value);
    if (!value) return true;
    if (!word || (strcmp(word, "rest") && strcmp(word, "posed")))
        return REFUSE(r, "%s: \"space\" must be \"rest\" or \"posed\"", r->path);
    *space = *word == 'r' ? PELT_SPACE_REST : PELT_SPACE_POSED;
    return true;
}

static bool pose_sculpt(reading *r, const json_t *object, const pelt_transform *pose, float *shape) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    pelt_affine *matrices = PELT_NEW(r->arena, r->bundle->skeleton.joint_count, pelt_affine);
    pelt_space space = r->space;
    double rest, posed;
    if (!matrices) return pelt_no_memory(r->error), false;
    if (!read_space(r, json_object_get(object, "space"), &space)) return false;
    pelt_joint_matrices(&r->bundle->skeleton, pose, NULL, matrices);
    pelt_shape_distances(mesh, matrices, shape, &rest, &posed);
    if (space == PELT_SPACE_REST || (space == PELT_SPACE_SEEN && rest < posed)) {
        pelt_pose_shape(mesh, matrices, shape, shape);
        r->at_rest++;
    }
    return apply_mask(r, json_object_get(object, "mask"), matrices, shape);
}

static bool read_sculpt(reading *r, const json_t *object) {
    const json_t *weight = json_object_get(object, "weight");
    pelt_transform *pose = r->poses + (size_t)r->count * r->bundle->skeleton.joint_count;
    float *shape = r->positions + 3 * (size_t)r->count * r->bundle->mesh.vertex_count;
    double w = weight ? json_number_value(weight) : 1;
    if (!check_words(r, object)) return false;
    if ((weight && !json_is_number(weight)) || !(w > 0) || !(w <= 1e6))
        return REFUSE(r, "%s: sculpt %zu: \"weight\" must be above 0 and at most 1000000", r->path, r->number);
    if (!read_shape(r, object, shape) || !read_pose(r, object, pose) || !pose_sculpt(r, object, pose, shape))
        return false;
    r->weights[r->count++] = (float)w;
    return true;
}

/* -- All of them --------------------------------------------------------------------------------------------------- */

static bool read_all(reading *r, const json_t *text) {
    const json_t *list = json_object_get(text, "sculpts");
    size_t count = json_array_size(list), values;
    if (!count || count > MOST_SCULPTS)
        return REFUSE(r, "%s: expected {\"sculpts\": [...]}, a list of 1 to %d sculpts", r->path, MOST_SCULPTS);
    if (!read_space(r, json_object_get(text, "space"), &r->space)) return false;
    if (__builtin_mul_overflow(count, 3 * (size_t)r->bundle->mesh.vertex_count, &values))
        return pelt_no_memory(r->error), false;
    r->poses = PELT_NEW(r->arena, count * r->bundle->skeleton.joint_count, pelt_transform);
    r->positions = PELT_NEW(r->arena, values, float);
    r->weights = PELT_NEW(r->arena, count, float);
    if (pelt_arena_failed(r->arena)) return pelt_no_memory(r->error), false;
    for (size_t i = 0; i < count; i++) {
        const json_t *object = json_array_get(list, i);
        r->number = i + 1;
        if (!json_is_true(json_object_get(object, "mute")) && !read_sculpt(r, object)) return false;
    }
    return r->count ? true : REFUSE(r, "%s: all sculpts are muted; unmute at least one", r->path);
}

static const pelt_clip *add_clip(reading *r) {
    bool weighted = false;
    for (uint32_t i = 0; i < r->count; i++) weighted |= r->weights[i] != 1;
    const pelt_clip *clip = pelt_bundle_add_clip(
        r->bundle,
        &(pelt_clip_input){.name = r->path, .frame_count = r->count, .poses = r->poses, .positions = r->positions},
        r->error);
    float *weights = clip && weighted ? PELT_NEW(r->bundle->arena, r->count, float) : NULL;
    if (!clip) return NULL;
    if (weighted && !weights) return pelt_no_memory(r->error), NULL;
    if (weights) memcpy(weights, r->weights, r->count * sizeof *weights);
    ((pelt_clip *)clip)->example_weights = weights; /* the bundle's own */
    if (r->at_rest)
        pelt_find(&r->bundle->notes, r->bundle->arena, PELT_NOTE, "placed",
                  "%s: %u of the %u sculpts were made in the rest pose; they are posed with the file's weights",
                  r->path, r->at_rest, r->count);
    return clip;
}

const pelt_clip *pelt_sculpts_parse(pelt_bundle *bundle, const char *text, const char *path, pelt_error *error) {
    pelt_error unwanted;
    reading r = {.bundle = bundle, .path = path, .space = bundle->cache.space, .error = error ? error : &unwanted};
    json_error_t broken;
    const pelt_clip *clip = NULL;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &broken);
    PELT_SCOPED pelt_arena *arena = r.arena = pelt_arena_new(0);
    if (!json)
        pelt_fail(r.error, PELT_ERROR_FORMAT, "%s: line %d: %s", path, broken.line, broken.text);
    else if (!arena)
        pelt_no_memory(r.error);
    else if (read_all(&r, json))
        clip = add_clip(&r);
    json_decref(json);
    return clip;
}

const pelt_clip *pelt_sculpts_read(pelt_bundle *bundle, const char *path, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    if (pelt_file_read(arena, path, &file, error)) return NULL;
    return pelt_sculpts_parse(bundle, (const char *)file.bytes, path, error);
}
