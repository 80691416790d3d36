/* gltf_write.c: mesh, skeleton and clips as a .glb that any engine plays.

   Node j is joint j, all nodes are joints of one skin, and the skinned mesh is a node of its own at the root of the
   scene; so reading the file gives back what was written. Joints without a common ancestor get one, which glTF asks
   for. Without a skeleton the file is a plain mesh; its targets can be played one after the other, which is how any
   motion is shown in any viewer. Arrays go into the binary chunk one after the other; those that need no change are
   written from where they are.
 */

#include "io/io.h"
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
    pelt_error *error;
    json_t *root, *views, *accessors, *nodes;
    blob *first, *last;
    size_t size; /* of the binary chunk so far */
} output;

static bool fail_memory(output *out) {
    pelt_fail(out->error, PELT_ERROR_MEMORY, "%s: out of memory", out->path);
    return false;
}

static void *new_array(output *out, size_t count, size_t size) {
    void *memory = pelt_alloc(out->arena, count, size);
    if (!memory) fail_memory(out);
    return memory;
}

/* -- Views and accessors ------------------------------------------------------------------------------------------- */

/* Adds bytes and a bufferView of them; returns its index, or -1 when memory is out. `target` 0: none. */
static int add_view(output *out, const void *bytes, size_t size, int target) {
    blob *b = new_array(out, 1, sizeof *b);
    if (!b) return -1;
    *b = (blob){bytes, size, NULL};
    if (out->last)
        out->last->next = b;
    else
        out->first = b;
    out->last = b;
    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)out->size, "byteLength", (json_int_t)size);
    if (target) json_object_set_new(view, "target", json_integer(target));
    json_array_append_new(out->views, view);
    out->size += (size + 3) / 4 * 4;
    return (int)json_array_size(out->views) - 1;
}

/* Returns the index of the new accessor, or -1. `view` -1: all zero. */
static int add_accessor(output *out, int view, int type, const char *shape, uint32_t count) {
    json_t *accessor = json_pack("{s:i, s:s, s:I}", "componentType", type, "type", shape, "count", (json_int_t)count);
    if (view >= 0) json_object_set_new(accessor, "bufferView", json_integer(view));
    json_array_append_new(out->accessors, accessor);
    return (int)json_array_size(out->accessors) - 1;
}

static int add_array(output *out, const void *bytes, size_t size, int target, int type, const char *shape,
                     uint32_t count) {
    int view = add_view(out, bytes, size, target);
    return view < 0 ? -1 : add_accessor(out, view, type, shape, count);
}

static void set_bounds(output *out, int accessor, const float *low, const float *high, int size) {
    json_t *object = json_array_get(out->accessors, (size_t)accessor), *min = json_array(), *max = json_array();
    for (int i = 0; i < size; i++) {
        json_array_append_new(min, json_real(low[i]));
        json_array_append_new(max, json_real(high[i]));
    }
    json_object_set_new(object, "min", min);
    json_object_set_new(object, "max", max);
}

/* Widens low and high by points; false when one is not finite. */
static bool widen_bounds(const float *points, size_t count, float low[3], float high[3]) {
    for (size_t i = 0; i < 3 * count; i++) {
        low[i % 3] = fminf(low[i % 3], points[i]);
        high[i % 3] = fmaxf(high[i % 3], points[i]);
        if (!isfinite(points[i])) return false;
    }
    return true;
}

/* -- Mesh ---------------------------------------------------------------------------------------------------------- */

static bool write_positions(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (!widen_bounds(mesh->positions, mesh->vertex_count, low, high)) {
        pelt_fail(out->error, PELT_ERROR_NUMBER, "%s: cannot be written: a vertex position is not finite", out->path);
        return false;
    }
    int accessor = add_array(out, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof(float), VERTEX_VIEW, FLOAT,
                             "VEC3", mesh->vertex_count);
    if (accessor < 0) return false;
    set_bounds(out, accessor, low, high, 3);
    json_object_set_new(attributes, "POSITION", json_integer(accessor));
    return true;
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

static bool write_normals(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    size_t size = 3 * (size_t)mesh->vertex_count;
    float *normals = new_array(out, size, sizeof *normals);
    if (!normals) return false;
    memcpy(normals, mesh->normals, size * sizeof *normals);
    for (size_t i = 0; i < size; i += 3) make_unit(normals + i, 3);
    int accessor = add_array(out, normals, size * sizeof *normals, VERTEX_VIEW, FLOAT, "VEC3", mesh->vertex_count);
    json_object_set_new(attributes, "NORMAL", json_integer(accessor));
    return accessor >= 0;
}

/* What to multiply the weights of a vertex with so that they sum to 1; 0 when glTF cannot hold them. */
static double weight_scale(output *out, uint32_t vertex) {
    const pelt_influences *in = &out->content->mesh->influences;
    uint32_t begin = in->first[vertex], end = in->first[vertex + 1];
    double sum = 0;
    float least = 0;
    for (uint32_t i = begin; i < end; i++) {
        sum += in->weights[i];
        least = fminf(least, in->weights[i]);
    }
    if (least < 0 || !(sum > 0) || !isfinite(sum)) {
        pelt_fail(out->error, PELT_ERROR_UNSUPPORTED,
                  "%s: glTF cannot hold the weights of vertex %u: they %s; fit with weights that are not negative",
                  out->path, vertex, least < 0 ? "have a negative one" : "do not sum to 1");
        return 0;
    }
    return fabs(sum - 1) > 1e-7 * (end - begin) ? 1 / sum : 1;
}

/* One set holds four influences: those from 4 set on. Joints fit into bytes when there are few of them. */
static bool write_weight_set(output *out, json_t *attributes, uint32_t set) {
    const pelt_mesh *mesh = out->content->mesh;
    const pelt_influences *in = &mesh->influences;
    bool bytes = out->content->skeleton->joint_count <= 256;
    size_t count = 4 * (size_t)mesh->vertex_count, joint_size = bytes ? 1 : 2;
    uint8_t *joints = new_array(out, count, joint_size);
    float *weights = new_array(out, count, sizeof *weights);
    if (!joints || !weights) return false;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double scale = weight_scale(out, v);
        if (scale == 0) return false;
        for (uint32_t i = in->first[v] + 4 * set, k = 0; k < 4 && i < in->first[v + 1]; i++, k++) {
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
    snprintf(name, sizeof name, "JOINTS_%u", set);
    json_object_set_new(attributes, name, json_integer(j));
    snprintf(name, sizeof name, "WEIGHTS_%u", set);
    json_object_set_new(attributes, name, json_integer(w));
    return j >= 0 && w >= 0;
}

static bool write_weights(output *out, json_t *attributes) {
    const pelt_mesh *mesh = out->content->mesh;
    uint32_t most = 1;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t count = mesh->influences.first[v + 1] - mesh->influences.first[v];
        if (count > most) most = count;
    }
    for (uint32_t set = 0; 4 * set < most; set++)
        if (!write_weight_set(out, attributes, set)) return false;
    return true;
}

/* Which vertices a sparse accessor changes: in 16 bits when there are few. Returns the view, or -1. */
static int write_indices(output *out, const pelt_target *target, bool in_16_bits) {
    if (!in_16_bits) return add_view(out, target->vertices, target->count * sizeof(uint32_t), 0);
    uint16_t *indices = new_array(out, target->count, sizeof *indices);
    for (uint32_t i = 0; indices && i < target->count; i++) indices[i] = (uint16_t)target->vertices[i];
    return indices ? add_view(out, indices, target->count * sizeof *indices, 0) : -1;
}

/* Vectors that are zero but for some vertices; zero everywhere when the target is empty. Returns the accessor, or -1.
 */
static int write_sparse(output *out, const pelt_target *target) {
    uint32_t vertex_count = out->content->mesh->vertex_count;
    bool in_16_bits = vertex_count <= 65536;
    int accessor = add_accessor(out, -1, FLOAT, "VEC3", vertex_count);
    if (!target->count) return accessor;
    int indices = write_indices(out, target, in_16_bits);
    int values = add_view(out, target->deltas, 3 * (size_t)target->count * sizeof(float), 0);
    if (indices < 0 || values < 0) return -1;
    json_object_set_new(json_array_get(out->accessors, (size_t)accessor), "sparse",
                        json_pack("{s:I, s:{s:i, s:i}, s:{s:i}}", "count", (json_int_t)target->count, "indices",
                                  "bufferView", indices, "componentType", in_16_bits ? USHORT : UINT, "values",
                                  "bufferView", values));
    return accessor;
}

static bool all_finite(const pelt_target *target) {
    float low[3] = {0}, high[3] = {0};
    return widen_bounds(target->deltas, target->count, low, high);
}

/* Players take the mesh itself for what a target lacks while others have it, so all targets have positions, and all or
   none have normals. `normals` may be NULL. */
static bool write_target(output *out, const pelt_target *target, const pelt_target *normals, json_t *targets) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (target->count < out->content->mesh->vertex_count) widen_bounds((const float[3]){0, 0, 0}, 1, low, high);
    if (!widen_bounds(target->deltas, target->count, low, high) || (normals && !all_finite(normals))) {
        pelt_fail(out->error, PELT_ERROR_NUMBER, "%s: cannot be written: the target %s is not finite", out->path,
                  target->name);
        return false;
    }
    int position = write_sparse(out, target), normal = normals ? write_sparse(out, normals) : 0;
    if (position < 0 || normal < 0) return false;
    set_bounds(out, position, low, high, 3);
    json_t *object = json_pack("{s:i}", "POSITION", position);
    if (normals) json_object_set_new(object, "NORMAL", json_integer(normal));
    json_array_append_new(targets, object);
    return true;
}

static bool write_targets(output *out, json_t *mesh_object, json_t *primitive) {
    const pelt_mesh *mesh = out->content->mesh;
    const pelt_target *normals = out->content->target_normals;
    if (!mesh->target_count) return true;
    json_t *targets = json_array(), *names = json_array(), *weights = json_array();
    json_object_set_new(primitive, "targets", targets);
    json_object_set_new(mesh_object, "weights", weights);
    json_object_set_new(mesh_object, "extras", json_pack("{s:o}", "targetNames", names));
    for (uint32_t t = 0; t < mesh->target_count; t++) {
        if (!write_target(out, &mesh->targets[t], normals ? &normals[t] : NULL, targets)) return false;
        json_array_append_new(names, json_string(mesh->targets[t].name));
        json_array_append_new(weights, json_real(0));
    }
    return true;
}

static bool write_mesh(output *out) {
    const pelt_gltf_content *content = out->content;
    const pelt_mesh *mesh = content->mesh;
    json_t *attributes = json_object(), *primitive = json_pack("{s:o, s:i}", "attributes", attributes, "material", 0);
    json_t *object = json_pack("{s:s, s:[o]}", "name", content->name ? content->name : "skin", "primitives", primitive);
    json_object_set_new(out->root, "meshes", json_pack("[o]", object));
    if (!object) return fail_memory(out);
    if (!write_positions(out, attributes) || !write_normals(out, attributes)) return false;
    if (content->skeleton && !write_weights(out, attributes)) return false;
    int indices = add_array(out, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(uint32_t), INDEX_VIEW, UINT,
                            "SCALAR", 3 * mesh->triangle_count);
    json_object_set_new(primitive, "indices", json_integer(indices));
    const float *c = content->color;
    bool plain = c[0] == 0 && c[1] == 0 && c[2] == 0 && c[3] == 0;
    json_t *color = plain ? json_pack("[f,f,f,f]", 0.8, 0.55, 0.42, 1.0)
                          : json_pack("[f,f,f,f]", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    json_object_set_new(out->root, "materials",
                        json_pack("[{s:s, s:{s:o, s:f, s:f}}]", "name", "skin", "pbrMetallicRoughness",
                                  "baseColorFactor", color, "metallicFactor", 0.0, "roughnessFactor", 0.7));
    return indices >= 0 && write_targets(out, object, primitive);
}

/* -- Skeleton ------------------------------------------------------------------------------------------------------ */

static void set_vector(json_t *node, const char *key, const float *v, int size, const float *usual) {
    if (!memcmp(v, usual, (size_t)size * sizeof *v)) return;
    json_t *list = json_array();
    for (int i = 0; i < size; i++) json_array_append_new(list, json_real(v[i]));
    json_object_set_new(node, key, list);
}

static json_t *make_node(const char *name, const pelt_transform *rest) {
    pelt_transform t = *rest;
    json_t *node = json_object();
    make_unit(t.rotation, 4);
    json_object_set_new(node, "name", json_string(name));
    set_vector(node, "translation", t.translation, 3, (const float[3]){0, 0, 0});
    set_vector(node, "rotation", t.rotation, 4, (const float[4]){0, 0, 0, 1});
    set_vector(node, "scale", t.scale, 3, (const float[3]){1, 1, 1});
    return node;
}

static void append_child(json_t *node, uint32_t child) {
    json_t *children = json_object_get(node, "children");
    if (!children) json_object_set_new(node, "children", children = json_array());
    json_array_append_new(children, json_integer(child));
}

/* Nodes of the joints, and a common root where they have none. */
static void write_joint_nodes(output *out, json_t *scene_nodes) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    static const pelt_transform none = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    uint32_t n = skeleton->joint_count, roots = 0;
    json_t *common = NULL;
    for (uint32_t j = 0; j < n; j++) {
        json_array_append_new(out->nodes, make_node(skeleton->names[j], &skeleton->rest[j]));
        roots += skeleton->parents[j] < 0;
    }
    if (roots > 1) {
        json_array_append_new(out->nodes, common = make_node("root", &none));
        json_array_append_new(scene_nodes, json_integer(n));
    }
    for (uint32_t j = 0; j < n; j++) {
        int32_t parent = skeleton->parents[j];
        if (parent >= 0)
            append_child(json_array_get(out->nodes, (size_t)parent), j);
        else if (common)
            append_child(common, j);
        else
            json_array_append_new(scene_nodes, json_integer(j));
    }
}

static void write_nodes(output *out) {
    json_t *scene_nodes = json_array(), *mesh = json_pack("{s:s, s:i}", "name", "mesh", "mesh", 0);
    if (out->content->skeleton) {
        write_joint_nodes(out, scene_nodes);
        json_object_set_new(mesh, "skin", json_integer(0));
    }
    json_array_append_new(scene_nodes, json_integer((json_int_t)json_array_size(out->nodes)));
    json_array_append_new(out->nodes, mesh);
    json_object_set_new(out->root, "scene", json_integer(0));
    json_object_set_new(out->root, "scenes", json_pack("[{s:o}]", "nodes", scene_nodes));
}

static bool write_skin(output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    uint32_t n = skeleton->joint_count;
    float(*matrices)[16] = new_array(out, n, sizeof *matrices);
    json_t *joints = json_array();
    if (!matrices) {
        json_decref(joints);
        return false;
    }
    for (uint32_t j = 0; j < n; j++) {
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) matrices[j][4 * c + r] = (float)skeleton->inverse_bind[j][4 * r + c];
        matrices[j][15] = 1;
        json_array_append_new(joints, json_integer(j));
    }
    int accessor = add_array(out, matrices, n * sizeof *matrices, 0, FLOAT, "MAT4", n);
    json_object_set_new(out->root, "skins",
                        json_pack("[{s:o, s:i}]", "joints", joints, "inverseBindMatrices", accessor));
    return accessor >= 0;
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static bool write_times(output *out, const pelt_clip *clip, const pelt_channel *channel, int *accessor) {
    if (channel->times[0] < 0) {
        pelt_fail(out->error, PELT_ERROR_UNSUPPORTED, "%s: clip %s begins at %g s, but glTF has no time before 0",
                  out->path, clip->name, channel->times[0]);
        return false;
    }
    *accessor =
        add_array(out, channel->times, channel->key_count * sizeof(float), 0, FLOAT, "SCALAR", channel->key_count);
    if (*accessor < 0) return false;
    set_bounds(out, *accessor, channel->times, channel->times + channel->key_count - 1, 1);
    return true;
}

/* Rotations must have unit length in the file; the tangents of a spline (two of its three vectors per key) are free. */
static bool write_values(output *out, const pelt_channel *channel, int *accessor) {
    bool rotation = channel->path == PELT_ROTATION, cubic = channel->interpolation == PELT_CUBIC;
    size_t size = rotation ? 4 : 3, count = channel->key_count * (cubic ? 3 : (size_t)1);
    const float *values = channel->values;
    if (rotation) {
        float *unit = new_array(out, count * size, sizeof *unit);
        if (!unit) return false;
        memcpy(unit, values, count * size * sizeof *unit);
        for (size_t i = cubic; i < count; i += cubic ? 3 : 1) make_unit(unit + size * i, 4);
        values = unit;
    }
    *accessor =
        add_array(out, values, count * size * sizeof *values, 0, FLOAT, rotation ? "VEC4" : "VEC3", (uint32_t)count);
    return *accessor >= 0;
}

/* The mesh comes after the joints, and after the node above several roots. */
static int mesh_node(const output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    uint32_t roots = 0;
    for (uint32_t j = 0; skeleton && j < skeleton->joint_count; j++) roots += skeleton->parents[j] < 0;
    return skeleton ? (int)(skeleton->joint_count + (roots > 1)) : 0;
}

/* Weights of the targets at each frame of a clip, beside the motion of the joints. */
static bool write_clip_weights(output *out, const pelt_clip *clip, const float *weights, json_t *channels,
                               json_t *samplers) {
    size_t count = (size_t)clip->frame_count * out->content->mesh->target_count;
    bool step = clip->channel_count && clip->channels[0].interpolation == PELT_STEP;
    int times, values;
    if (!write_times(out, clip, &(pelt_channel){.key_count = clip->frame_count, .times = clip->times}, &times))
        return false;
    values = add_array(out, weights, count * sizeof *weights, 0, FLOAT, "SCALAR", (uint32_t)count);
    if (values < 0) return false;
    json_array_append_new(channels, json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(samplers),
                                              "target", "node", mesh_node(out), "path", "weights"));
    json_array_append_new(samplers, json_pack("{s:i, s:i, s:s}", "input", times, "output", values, "interpolation",
                                              step ? "STEP" : "LINEAR"));
    return true;
}

static bool write_clip(output *out, const pelt_clip *clip, const float *weights, json_t *animations) {
    static const char *const paths[] = {"translation", "rotation", "scale"};
    static const char *const interpolations[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    json_t *channels = json_array(), *samplers = json_array();
    int *inputs = new_array(out, clip->channel_count, sizeof *inputs);
    json_array_append_new(animations,
                          json_pack("{s:s, s:o, s:o}", "name", clip->name, "channels", channels, "samplers", samplers));
    if (!inputs) return false;
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const pelt_channel *channel = &clip->channels[i];
        uint32_t twin = 0;
        int output_accessor;
        while (twin < i &&
               (clip->channels[twin].times != channel->times || clip->channels[twin].key_count != channel->key_count))
            twin++;
        if (twin < i)
            inputs[i] = inputs[twin];
        else if (!write_times(out, clip, channel, &inputs[i]))
            return false;
        if (!write_values(out, channel, &output_accessor)) return false;
        json_array_append_new(samplers, json_pack("{s:i, s:i, s:s}", "input", inputs[i], "output", output_accessor,
                                                  "interpolation", interpolations[channel->interpolation]));
        json_array_append_new(channels, json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)i, "target", "node",
                                                  (int)channel->joint, "path", paths[channel->path]));
    }
    return !weights || write_clip_weights(out, clip, weights, channels, samplers);
}

/* An animation that shows target i at time i of a clip: weights jump from one target to the next. */
static bool write_play(output *out, json_t *animations) {
    const pelt_clip *clip = out->content->play_targets;
    size_t n = out->content->mesh->target_count;
    float *weights = new_array(out, n * n, sizeof *weights);
    int times, values;
    if (!weights) return false;
    for (size_t i = 0; i < n; i++) weights[i * n + i] = 1;
    if (!write_times(out, clip, &(pelt_channel){.key_count = (uint32_t)n, .times = clip->times}, &times)) return false;
    values = add_array(out, weights, n * n * sizeof *weights, 0, FLOAT, "SCALAR", (uint32_t)(n * n));
    if (values < 0) return false;
    json_array_append_new(animations,
                          json_pack("{s:s, s:[{s:i, s:{s:i, s:s}}], s:[{s:i, s:i, s:s}]}", "name", clip->name,
                                    "channels", "sampler", 0, "target", "node", 0, "path", "weights", "samplers",
                                    "input", times, "output", values, "interpolation", "STEP"));
    return true;
}

/* Clips that move nothing have no form in glTF and are left out. */
static bool write_clips(output *out) {
    json_t *animations = json_array();
    bool done = !out->content->play_targets || write_play(out, animations);
    for (uint32_t i = 0; done && i < out->content->clip_count; i++)
        if (out->content->clips[i].channel_count || out->content->clip_weights)
            done = write_clip(out, &out->content->clips[i],
                              out->content->clip_weights ? out->content->clip_weights[i] : NULL, animations);
    if (json_array_size(animations)) json_object_set(out->root, "animations", animations);
    json_decref(animations);
    return done;
}

/* -- File ---------------------------------------------------------------------------------------------------------- */

static bool check_content(output *out) {
    const pelt_gltf_content *content = out->content;
    const char *problem = NULL;
    if (!content->mesh->triangle_count || !content->mesh->vertex_count)
        problem = "the mesh has no triangles";
    else if (content->mesh->triangle_count > UINT32_MAX / 3)
        problem = "the mesh has too many triangles";
    else if (content->play_targets &&
             (content->skeleton || content->play_targets->frame_count != content->mesh->target_count))
        problem = "targets are played on a mesh without skeleton, one for each frame";
    else if (content->skeleton && !content->skeleton->joint_count)
        problem = "the skeleton has no joints";
    else if (content->skeleton && content->skeleton->joint_count > 65536)
        problem = "glTF can bind to 65536 joints at most";
    if (problem) pelt_fail(out->error, PELT_ERROR_ARGUMENT, "%s: cannot be written: %s", out->path, problem);
    return !problem;
}

static bool write_file(output *out) {
    static const uint8_t zeros[4];
    char *text = json_dumps(out->root, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0, padding = (4 - length % 4) % 4;
    uint64_t total = 12 + 8 + length + padding + 8 + out->size;
    if (!text) return fail_memory(out);
    if (total > UINT32_MAX) {
        pelt_fail(out->error, PELT_ERROR_DATA, "%s: would be larger than the 4 GiB that a .glb can be", out->path);
        free(text);
        return false;
    }
    pelt_writer *writer = pelt_writer_open(out->path, out->error);
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
    return writer && pelt_writer_commit(writer, out->error) == PELT_OK;
}

static bool write_all(output *out) {
    out->views = json_array(), out->accessors = json_array(), out->nodes = json_array();
    out->root = json_pack("{s:{s:s, s:s}, s:o, s:o, s:o}", "asset", "version", "2.0", "generator", "pelt " PELT_VERSION,
                          "nodes", out->nodes, "accessors", out->accessors, "bufferViews", out->views);
    if (!out->root) return fail_memory(out);
    if (!check_content(out) || !write_mesh(out) || (out->content->skeleton && !write_skin(out)) || !write_clips(out))
        return false;
    write_nodes(out);
    json_object_set_new(out->root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)out->size));
    return write_file(out);
}

pelt_result pelt_gltf_write(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    pelt_error failure = {0};
    output out = {.path = path, .content = content, .arena = pelt_arena_new(0), .error = &failure};
    bool done = out.arena ? write_all(&out) : fail_memory(&out);
    json_decref(out.root);
    pelt_arena_free(out.arena);
    if (!done && error) *error = failure;
    return failure.code;
}
