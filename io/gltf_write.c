/* gltf_write.c: mesh, skeleton and clips as a .glb that any engine plays.

   Node j is joint j, all nodes are joints of one skin, and the skinned mesh is a node of its own at the root of the
   scene; so reading the file gives back what was written. Joints without a common ancestor get one, which glTF asks
   for. Without a skeleton the file is a plain mesh; its targets can be played one after the other, which is how any
   motion is shown in any viewer. Arrays go into the binary chunk one after the other; those that need no change are
   written from where they are.

   What glTF cannot hold is refused first. Then the JSON text and the arrays are made in a stage: JSON values are hung
   into the tree before they grow, so that nothing is lost when memory is out. */

#include "io/io.h"
#include "rig/json.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UBYTE = 5121, USHORT = 5123, UINT = 5125, FLOAT = 5126, VERTEX_VIEW = 34962, INDEX_VIEW = 34963 };

/* One array of the binary chunk; they form a list in the order of the file. */
typedef struct blob {
    const void *bytes;
    size_t size;
    struct blob *next;
} blob;

typedef struct output {
    const char *path;
    const pelt_gltf_content *content;
    pelt_arena *arena;
    json_t *root, *views, *accessors, *nodes;
    blob *first, *last;
    size_t size; /* of the binary chunk so far */
} output;

/* Hang a new value into the tree and return it; jansson has no other failure than memory. Not within one another's
   arguments, where a value might be made and lost before the stage ends. */
static json_t *set(output *out, json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value)) pelt_arena_fail(out->arena);
    return value;
}

static json_t *append(output *out, json_t *list, json_t *value) {
    if (json_array_append_new(list, value)) pelt_arena_fail(out->arena);
    return value;
}

/* -- Views and accessors ------------------------------------------------------------------------------------------- */

/* Adds bytes and a bufferView of them; returns its index. `target` 0: none. */
static int add_view(output *out, const void *bytes, size_t size, int target) {
    blob *b = PELT_NEW(out->arena, 1, blob);
    *b = (blob){bytes, size, NULL};
    if (out->last)
        out->last->next = b;
    else
        out->first = b;
    out->last = b;
    json_t *view = append(
        out, out->views,
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)out->size, "byteLength", (json_int_t)size));
    if (target) set(out, view, "target", json_integer(target));
    out->size += (size + 3) / 4 * 4;
    return (int)json_array_size(out->views) - 1;
}

/* Returns the index of the new accessor. `view` -1: all zero. */
static int add_accessor(output *out, int view, int type, const char *shape, uint32_t count) {
    json_t *accessor =
        append(out, out->accessors,
               json_pack("{s:i, s:s, s:I}", "componentType", type, "type", shape, "count", (json_int_t)count));
    if (view >= 0) set(out, accessor, "bufferView", json_integer(view));
    return (int)json_array_size(out->accessors) - 1;
}

static int add_array(output *out, const void *bytes, size_t size, int target, int type, const char *shape,
                     uint32_t count) {
    return add_accessor(out, add_view(out, bytes, size, target), type, shape, count);
}

static void set_bounds(output *out, int accessor, const float *low, const float *high, int size) {
    json_t *object = json_array_get(out->accessors, (size_t)accessor);
    json_t *min = set(out, object, "min", json_array()), *max = set(out, object, "max", json_array());
    for (int i = 0; i < size; i++) {
        append(out, min, json_real(low[i]));
        append(out, max, json_real(high[i]));
    }
}

static void widen_bounds(const float *points, size_t count, float low[3], float high[3]) {
    for (size_t i = 0; i < 3 * count; i++) {
        low[i % 3] = fminf(low[i % 3], points[i]);
        high[i % 3] = fmaxf(high[i % 3], points[i]);
    }
}

/* -- Mesh ---------------------------------------------------------------------------------------------------------- */

static void write_positions(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    widen_bounds(mesh->positions, mesh->vertex_count, low, high);
    int accessor = add_array(out, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof(float), VERTEX_VIEW, FLOAT,
                             "VEC3", mesh->vertex_count);
    set_bounds(out, accessor, low, high, 3);
    set(out, attributes, "POSITION", json_integer(accessor));
}

/* Scales a vector to unit length; one that is as good as a float can be keeps its bits. */
static void make_unit(float *v, int size) {
    double square = 0;
    for (int i = 0; i < size; i++) square += (double)v[i] * v[i];
    double length = sqrt(square);
    if (!(length > 0) || !isfinite(length)) {
        for (int i = 0; i < size; i++) v[i] = i == size - 1;
    } else if (fabs(length - 1) >= 1e-6) {
        for (int i = 0; i < size; i++) v[i] = (float)(v[i] / length);
    }
}

static void write_normals(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    size_t size = 3 * (size_t)mesh->vertex_count;
    float *normals = PELT_NEW(out->arena, size, float);
    memcpy(normals, mesh->normals, size * sizeof *normals);
    for (size_t i = 0; i < size; i += 3) make_unit(normals + i, 3);
    int accessor = add_array(out, normals, size * sizeof *normals, VERTEX_VIEW, FLOAT, "VEC3", mesh->vertex_count);
    set(out, attributes, "NORMAL", json_integer(accessor));
}

/* What to multiply the weights of a vertex with so that they sum to 1. */
static double weight_scale(const pelt_influences *in, uint32_t vertex) {
    double sum = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++) sum += in->weights[i];
    return fabs(sum - 1) > 1e-7 * (in->first[vertex + 1] - in->first[vertex]) ? 1 / sum : 1;
}

/* One set holds four influences: those from 4 number on. Joints fit into bytes when there are few of them. */
static void write_weight_set(output *out, json_t *attributes, uint32_t number) {
    const pelt_mesh *mesh = out->content->mesh;
    const pelt_influences *in = &mesh->influences;
    bool bytes = out->content->skeleton->joint_count <= 256;
    size_t count = 4 * (size_t)mesh->vertex_count, joint_size = bytes ? 1 : 2;
    uint8_t *joints = pelt_alloc(out->arena, count, joint_size);
    float *weights = PELT_NEW(out->arena, count, float);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double scale = weight_scale(in, v);
        for (uint32_t i = in->first[v] + 4 * number, k = 0; k < 4 && i < in->first[v + 1]; i++, k++) {
            size_t at = 4 * (size_t)v + k;
            uint16_t joint = (uint16_t)in->joints[i];
            weights[at] = (float)(in->weights[i] * scale);
            if (weights[at] == 0) continue; /* an unused slot must name joint 0 */
            if (bytes)
                joints[at] = (uint8_t)joint;
            else
                memcpy(joints + 2 * at, &joint, sizeof joint);
        }
    }
    char name[32];
    int j = add_array(out, joints, count * joint_size, VERTEX_VIEW, bytes ? UBYTE : USHORT, "VEC4", mesh->vertex_count);
    int w = add_array(out, weights, count * sizeof *weights, VERTEX_VIEW, FLOAT, "VEC4", mesh->vertex_count);
    snprintf(name, sizeof name, "JOINTS_%u", number);
    set(out, attributes, name, json_integer(j));
    snprintf(name, sizeof name, "WEIGHTS_%u", number);
    set(out, attributes, name, json_integer(w));
}

static void write_weights(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    uint32_t most = 1;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t count = mesh->influences.first[v + 1] - mesh->influences.first[v];
        if (count > most) most = count;
    }
    for (uint32_t i = 0; 4 * i < most; i++) write_weight_set(out, attributes, i);
}

/* Which vertices a sparse accessor changes: in 16 bits when there are few. Returns the view. */
static int write_indices(output *out, const pelt_target *target, bool in_16_bits) {
    if (!in_16_bits) return add_view(out, target->vertices, target->count * sizeof(uint32_t), 0);
    uint16_t *indices = PELT_NEW(out->arena, target->count, uint16_t);
    for (uint32_t i = 0; i < target->count; i++) indices[i] = (uint16_t)target->vertices[i];
    return add_view(out, indices, target->count * sizeof *indices, 0);
}

/* Vectors that are zero but for some vertices; zero everywhere when the target is empty. Returns the accessor. */
static int write_sparse(output *out, const pelt_target *target) {
    uint32_t vertex_count = out->content->mesh->vertex_count;
    bool in_16_bits = vertex_count <= 65536;
    int accessor = add_accessor(out, -1, FLOAT, "VEC3", vertex_count);
    if (!target->count) return accessor;
    int indices = write_indices(out, target, in_16_bits);
    int values = add_view(out, target->deltas, 3 * (size_t)target->count * sizeof(float), 0);
    set(out, json_array_get(out->accessors, (size_t)accessor), "sparse",
        json_pack("{s:I, s:{s:i, s:i}, s:{s:i}}", "count", (json_int_t)target->count, "indices", "bufferView", indices,
                  "componentType", in_16_bits ? USHORT : UINT, "values", "bufferView", values));
    return accessor;
}

/* Players take the mesh itself for what a target lacks while others have it, so all targets have positions, and all or
   none have normals. `normals` may be NULL. */
static void write_target(output *out, const pelt_target *target, const pelt_target *normals, json_t *targets) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (target->count < out->content->mesh->vertex_count) widen_bounds((const float[3]){0, 0, 0}, 1, low, high);
    widen_bounds(target->deltas, target->count, low, high);
    int position = write_sparse(out, target), normal = normals ? write_sparse(out, normals) : 0;
    set_bounds(out, position, low, high, 3);
    json_t *object = append(out, targets, json_pack("{s:i}", "POSITION", position));
    if (normals) set(out, object, "NORMAL", json_integer(normal));
}

static void write_targets(output *out, json_t *mesh_object, json_t *primitive) {
    const pelt_mesh *mesh = out->content->mesh;
    const pelt_target *normals = out->content->target_normals;
    if (!mesh->target_count) return;
    json_t *targets = set(out, primitive, "targets", json_array());
    json_t *weights = set(out, mesh_object, "weights", json_array());
    json_t *extras = set(out, mesh_object, "extras", json_object());
    json_t *names = set(out, extras, "targetNames", json_array());
    for (uint32_t t = 0; t < mesh->target_count; t++) {
        write_target(out, &mesh->targets[t], normals ? &normals[t] : NULL, targets);
        append(out, names, pelt_json_text(mesh->targets[t].name));
        append(out, weights, json_real(0));
    }
}

static void write_mesh(output *out) {
    const pelt_gltf_content *content = out->content;
    const pelt_mesh *mesh = content->mesh;
    json_t *meshes = set(out, out->root, "meshes", json_array());
    json_t *object = append(out, meshes, json_pack("{s:o}", "name", pelt_json_text(content->name ? content->name : "skin")));
    json_t *primitives = set(out, object, "primitives", json_array());
    json_t *primitive = append(out, primitives, json_object());
    json_t *attributes = set(out, primitive, "attributes", json_object());
    set(out, primitive, "material", json_integer(0));
    write_positions(out, attributes);
    write_normals(out, attributes);
    if (content->skeleton) write_weights(out, attributes);
    int indices = add_array(out, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(uint32_t), INDEX_VIEW, UINT,
                            "SCALAR", 3 * mesh->triangle_count);
    set(out, primitive, "indices", json_integer(indices));
    const float *c = content->color;
    bool plain = c[0] == 0 && c[1] == 0 && c[2] == 0 && c[3] == 0;
    set(out, out->root, "materials",
        json_pack("[{s:s, s:{s:[f,f,f,f], s:f, s:f}}]", "name", "skin", "pbrMetallicRoughness", "baseColorFactor",
                  plain ? 0.8 : (double)c[0], plain ? 0.55 : (double)c[1], plain ? 0.42 : (double)c[2],
                  plain ? 1.0 : (double)c[3], "metallicFactor", 0.0, "roughnessFactor", 0.7));
    write_targets(out, object, primitive);
}

/* -- Skeleton ------------------------------------------------------------------------------------------------------ */

static void set_vector(output *out, json_t *node, const char *key, const float *v, int size, const float *usual) {
    if (!memcmp(v, usual, (size_t)size * sizeof *v)) return;
    json_t *list = set(out, node, key, json_array());
    for (int i = 0; i < size; i++) append(out, list, json_real(v[i]));
}

static json_t *add_node(output *out, const char *name, const pelt_transform *rest) {
    pelt_transform t = *rest;
    json_t *node = append(out, out->nodes, json_object());
    make_unit(t.rotation, 4);
    set(out, node, "name", pelt_json_text(name));
    set_vector(out, node, "translation", t.translation, 3, (const float[3]){0, 0, 0});
    set_vector(out, node, "rotation", t.rotation, 4, (const float[4]){0, 0, 0, 1});
    set_vector(out, node, "scale", t.scale, 3, (const float[3]){1, 1, 1});
    return node;
}

static void append_child(output *out, json_t *node, uint32_t child) {
    json_t *children = json_object_get(node, "children");
    if (!children) children = set(out, node, "children", json_array());
    append(out, children, json_integer(child));
}

/* Nodes of the joints, and a common root where they have none. */
static void write_joint_nodes(output *out, json_t *scene_nodes) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    static const pelt_transform none = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    uint32_t n = skeleton->joint_count, roots = 0;
    json_t *common = NULL;
    for (uint32_t j = 0; j < n; j++) {
        add_node(out, skeleton->names[j], &skeleton->rest[j]);
        roots += skeleton->parents[j] < 0;
    }
    if (roots > 1) {
        common = add_node(out, "root", &none);
        append(out, scene_nodes, json_integer(n));
    }
    for (uint32_t j = 0; j < n; j++) {
        int32_t parent = skeleton->parents[j];
        if (parent >= 0)
            append_child(out, json_array_get(out->nodes, (size_t)parent), j);
        else if (common)
            append_child(out, common, j);
        else
            append(out, scene_nodes, json_integer(j));
    }
}

static void write_nodes(output *out) {
    set(out, out->root, "scene", json_integer(0));
    json_t *scenes = set(out, out->root, "scenes", json_array());
    json_t *scene = append(out, scenes, json_object());
    json_t *scene_nodes = set(out, scene, "nodes", json_array());
    if (out->content->skeleton) write_joint_nodes(out, scene_nodes);
    append(out, scene_nodes, json_integer((json_int_t)json_array_size(out->nodes)));
    json_t *mesh = append(out, out->nodes, json_pack("{s:s, s:i}", "name", "mesh", "mesh", 0));
    if (out->content->skeleton) set(out, mesh, "skin", json_integer(0));
}

static void write_skin(output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    uint32_t n = skeleton->joint_count;
    float(*matrices)[16] = pelt_alloc(out->arena, n, sizeof *matrices);
    json_t *skins = set(out, out->root, "skins", json_array());
    json_t *skin = append(out, skins, json_object());
    json_t *joints = set(out, skin, "joints", json_array());
    for (uint32_t j = 0; j < n; j++) {
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) matrices[j][4 * c + r] = (float)skeleton->inverse_bind[j][4 * r + c];
        matrices[j][15] = 1;
        append(out, joints, json_integer(j));
    }
    int accessor = add_array(out, matrices, n * sizeof *matrices, 0, FLOAT, "MAT4", n);
    set(out, skin, "inverseBindMatrices", json_integer(accessor));
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static int write_times(output *out, const float *times, uint32_t count) {
    int accessor = add_array(out, times, count * sizeof *times, 0, FLOAT, "SCALAR", count);
    set_bounds(out, accessor, times, times + count - 1, 1);
    return accessor;
}

/* Rotations must have unit length in the file; the tangents of a spline (two of its three vectors per key) are free. */
static int write_values(output *out, const pelt_channel *channel) {
    bool rotation = channel->path == PELT_ROTATION, cubic = channel->interpolation == PELT_CUBIC;
    size_t size = rotation ? 4 : 3, count = channel->key_count * (cubic ? 3 : (size_t)1);
    const float *values = channel->values;
    if (rotation) {
        float *unit = PELT_NEW(out->arena, count * size, float);
        memcpy(unit, values, count * size * sizeof *unit);
        for (size_t i = cubic; i < count; i += cubic ? 3 : 1) make_unit(unit + size * i, 4);
        values = unit;
    }
    return add_array(out, values, count * size * sizeof *values, 0, FLOAT, rotation ? "VEC4" : "VEC3", (uint32_t)count);
}

/* The mesh comes after the joints, and after the node above several roots. */
static int mesh_node(const output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    uint32_t roots = 0;
    for (uint32_t j = 0; skeleton && j < skeleton->joint_count; j++) roots += skeleton->parents[j] < 0;
    return skeleton ? (int)(skeleton->joint_count + (roots > 1)) : 0;
}

/* Weights of the targets at each frame of a clip, beside the motion of the joints. */
static void write_clip_weights(output *out, const pelt_clip *clip, const float *weights, json_t *channels,
                               json_t *samplers) {
    size_t count = (size_t)clip->frame_count * out->content->mesh->target_count;
    bool step = clip->channel_count && clip->channels[0].interpolation == PELT_STEP;
    int times = write_times(out, clip->times, clip->frame_count);
    int values = add_array(out, weights, count * sizeof *weights, 0, FLOAT, "SCALAR", (uint32_t)count);
    append(out, channels,
           json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(samplers), "target", "node", mesh_node(out),
                     "path", "weights"));
    append(out, samplers,
           json_pack("{s:i, s:i, s:s}", "input", times, "output", values, "interpolation", step ? "STEP" : "LINEAR"));
}

static void write_clip(output *out, const pelt_clip *clip, const float *weights, json_t *animations) {
    static const char *const paths[] = {"translation", "rotation", "scale"};
    static const char *const interpolations[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    json_t *animation = append(out, animations, json_pack("{s:o}", "name", pelt_json_text(clip->name)));
    json_t *channels = set(out, animation, "channels", json_array());
    json_t *samplers = set(out, animation, "samplers", json_array());
    int *inputs = PELT_NEW(out->arena, clip->channel_count, int);
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const pelt_channel *channel = &clip->channels[i];
        uint32_t twin = 0;
        while (twin < i &&
               (clip->channels[twin].times != channel->times || clip->channels[twin].key_count != channel->key_count))
            twin++;
        inputs[i] = twin < i ? inputs[twin] : write_times(out, channel->times, channel->key_count);
        append(out, samplers,
               json_pack("{s:i, s:i, s:s}", "input", inputs[i], "output", write_values(out, channel), "interpolation",
                         interpolations[channel->interpolation]));
        append(out, channels,
               json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)i, "target", "node", (int)channel->joint, "path",
                         paths[channel->path]));
    }
    if (weights) write_clip_weights(out, clip, weights, channels, samplers);
}

/* An animation that shows target i at time i of a clip: weights jump from one target to the next. */
static void write_play(output *out, json_t *animations) {
    const pelt_clip *clip = out->content->play_targets;
    size_t n = out->content->mesh->target_count;
    float *weights = PELT_NEW(out->arena, n * n, float);
    for (size_t i = 0; i < n; i++) weights[i * n + i] = 1;
    int times = write_times(out, clip->times, (uint32_t)n);
    int values = add_array(out, weights, n * n * sizeof *weights, 0, FLOAT, "SCALAR", (uint32_t)(n * n));
    append(out, animations,
           json_pack("{s:o, s:[{s:i, s:{s:i, s:s}}], s:[{s:i, s:i, s:s}]}", "name", pelt_json_text(clip->name), "channels", "sampler",
                     0, "target", "node", 0, "path", "weights", "samplers", "input", times, "output", values,
                     "interpolation", "STEP"));
}

/* Clips that move nothing have no form in glTF and are left out. */
static void write_clips(output *out) {
    const pelt_gltf_content *content = out->content;
    json_t *animations = set(out, out->root, "animations", json_array());
    if (content->play_targets) write_play(out, animations);
    for (uint32_t i = 0; i < content->clip_count; i++)
        if (content->clips[i]->channel_count || content->clip_weights)
            write_clip(out, content->clips[i], content->clip_weights ? content->clip_weights[i] : NULL, animations);
    if (!json_array_size(animations)) json_object_del(out->root, "animations");
}

/* -- What glTF cannot hold ----------------------------------------------------------------------------------------- */

static bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static pelt_result check_weights(const char *path, const pelt_mesh *mesh, pelt_error *error) {
    const pelt_influences *in = &mesh->influences;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double sum = 0;
        float least = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            sum += in->weights[i];
            least = fminf(least, in->weights[i]);
        }
        if (least < 0 || !(sum > 0) || !isfinite(sum))
            return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                             "%s: glTF cannot hold the weights of vertex %u: they %s; fit with weights that are not "
                             "negative",
                             path, v, least < 0 ? "have a negative one" : "do not sum to 1");
    }
    return PELT_OK;
}

static pelt_result check_times(const char *path, const pelt_clip *clip, float first, pelt_error *error) {
    if (!(first < 0)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: clip %s begins at %g s, but glTF has no time before 0", path,
                     clip->name, (double)first);
}

static pelt_result check_clip(const char *path, const pelt_clip *clip, pelt_error *error) {
    pelt_result result = clip->frame_count ? check_times(path, clip, clip->times[0], error) : PELT_OK;
    for (uint32_t i = 0; i < clip->channel_count && !result; i++)
        result = check_times(path, clip, clip->channels[i].times[0], error);
    return result;
}

static pelt_result check_content(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    const pelt_mesh *mesh = content->mesh;
    const char *problem = NULL;
    if (!mesh->triangle_count || !mesh->vertex_count)
        problem = "the mesh has no triangles";
    else if (mesh->triangle_count > UINT32_MAX / 3)
        problem = "the mesh has too many triangles";
    else if (content->play_targets && (content->skeleton || content->play_targets->frame_count != mesh->target_count))
        problem = "targets are played on a mesh without skeleton, one for each frame";
    else if (content->skeleton && !content->skeleton->joint_count)
        problem = "the skeleton has no joints";
    else if (content->skeleton && content->skeleton->joint_count > 65536)
        problem = "glTF can bind to 65536 joints at most";
    if (problem) return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: cannot be written: %s", path, problem);
    if (!all_finite(mesh->positions, 3 * (size_t)mesh->vertex_count))
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: cannot be written: a vertex position is not finite", path);
    for (uint32_t t = 0; t < mesh->target_count; t++) {
        const pelt_target *target = &mesh->targets[t], *normals = content->target_normals;
        if (!all_finite(target->deltas, 3 * (size_t)target->count) ||
            (normals && !all_finite(normals[t].deltas, 3 * (size_t)normals[t].count)))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: cannot be written: the target %s is not finite", path,
                             target->name);
    }
    pelt_result result = content->skeleton ? check_weights(path, mesh, error) : PELT_OK;
    for (uint32_t i = 0; i < content->clip_count && !result; i++) result = check_clip(path, content->clips[i], error);
    if (!result && content->play_targets) result = check_clip(path, content->play_targets, error);
    return result;
}

/* -- File ---------------------------------------------------------------------------------------------------------- */

static pelt_result write_file(const output *out, pelt_error *error) {
    static const uint8_t zeros[4];
    char *text = pelt_json_dump(out->root, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0, padding = (4 - length % 4) % 4;
    uint64_t total = 12 + 8 + length + padding + 8 + out->size;
    if (!text) return pelt_no_memory(error);
    if (total > UINT32_MAX) {
        free(text);
        return pelt_fail(error, PELT_ERROR_DATA, "%s: would be larger than the 4 GiB that a .glb can be", out->path);
    }
    pelt_writer *writer = pelt_writer_open(out->path, error);
    if (writer) {
        uint32_t head[5] = {0x46546C67, 2, (uint32_t)total, (uint32_t)(length + padding), 0x4E4F534A};
        uint32_t binary[2] = {(uint32_t)out->size, 0x004E4942};
        pelt_writer_put(writer, head, sizeof head);
        pelt_writer_put(writer, text, length);
        pelt_writer_put(writer, "   ", padding);
        pelt_writer_put(writer, binary, sizeof binary);
        for (const blob *b = out->first; b; b = b->next) {
            pelt_writer_put(writer, b->bytes, b->size);
            pelt_writer_put(writer, zeros, (4 - b->size % 4) % 4);
        }
    }
    free(text);
    return writer ? pelt_writer_commit(writer, error) : PELT_ERROR_FILE;
}

static pelt_result make_tree(void *user, pelt_error *error) {
    (void)error;
    output *out = user;
    set(out, out->root, "asset", json_pack("{s:s, s:s}", "version", "2.0", "generator", "pelt " PELT_VERSION));
    out->nodes = set(out, out->root, "nodes", json_array());
    out->accessors = set(out, out->root, "accessors", json_array());
    out->views = set(out, out->root, "bufferViews", json_array());
    write_mesh(out);
    if (out->content->skeleton) write_skin(out);
    write_clips(out);
    write_nodes(out);
    set(out, out->root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)out->size));
    return PELT_OK;
}

pelt_result pelt_gltf_write(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    pelt_result result = check_content(path, content, error);
    if (result) return result;
    output out = {.path = path, .content = content, .arena = pelt_arena_new(0), .root = json_object()};
    result = pelt_stage(out.arena, make_tree, &out, error);
    if (!result) result = write_file(&out, error);
    json_decref(out.root);
    pelt_arena_free(out.arena);
    return result;
}
