/* gltf_out.c: arrays, accessors, nodes and tracks of a glTF file under construction, and the file itself.

   Arrays are written to the buffer in order; those that need no conversion are written in place. A .glb holds
   everything; a .gltf is the JSON text, with the bytes in a .bin of the same name. */

#include "io/gltf_out.h"
#include "rig/json.h"
#include "rig/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *pelt_gltf_set(gltf_output *out, json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value)) pelt_arena_fail(out->arena);
    return value;
}

json_t *pelt_gltf_append(gltf_output *out, json_t *list, json_t *value) {
    if (json_array_append_new(list, value)) pelt_arena_fail(out->arena);
    return value;
}

json_t *pelt_gltf_get(gltf_output *out, json_t *object, const char *key, json_t *make(void)) {
    json_t *member = json_object_get(object, key);
    return member ? member : pelt_gltf_set(out, object, key, make());
}

bool pelt_gltf_is_index(const json_t *reference, size_t count, size_t *index) {
    double number = json_number_value(reference);
    if (!json_is_number(reference) || !(number >= 0 && number < (double)count)) return false;
    *index = (size_t)number;
    return true;
}

json_t *pelt_gltf_referred(const json_t *list, const json_t *reference) {
    size_t index;
    return pelt_gltf_is_index(reference, json_array_size(list), &index) ? json_array_get(list, index) : NULL;
}

/* -- Views and accessors ------------------------------------------------------------------------------------------- */

void pelt_gltf_add_bytes(gltf_output *out, const void *bytes, size_t size) {
    gltf_blob *blob = PELT_NEW(out->arena, 1, gltf_blob);
    *blob = (gltf_blob){bytes, size, NULL};
    if (out->last)
        out->last->next = blob;
    else
        out->first = blob;
    out->last = blob;
    out->size += (size + 3) / 4 * 4;
}

int pelt_gltf_add_view(gltf_output *out, const void *bytes, size_t size, int target) {
    json_t *view = pelt_gltf_append(out, out->views,
                                    json_pack("{s:i, s:I, s:I}", "buffer", (int)out->buffer, "byteOffset",
                                              (json_int_t)out->size, "byteLength", (json_int_t)size));
    if (target) pelt_gltf_set(out, view, "target", json_integer(target));
    pelt_gltf_add_bytes(out, bytes, size);
    return (int)json_array_size(out->views) - 1;
}

int pelt_gltf_add_accessor(gltf_output *out, int view, int type, const char *shape, uint32_t count) {
    json_t *accessor = pelt_gltf_append(
        out, out->accessors,
        json_pack("{s:i, s:s, s:I}", "componentType", type, "type", shape, "count", (json_int_t)count));
    if (view >= 0) pelt_gltf_set(out, accessor, "bufferView", json_integer(view));
    return (int)json_array_size(out->accessors) - 1;
}

int pelt_gltf_add_array(gltf_output *out, const void *bytes, size_t size, int target, int type, const char *shape,
                        uint32_t count) {
    return pelt_gltf_add_accessor(out, pelt_gltf_add_view(out, bytes, size, target), type, shape, count);
}

static void set_bounds(gltf_output *out, int accessor, const float *low, const float *high, int size) {
    json_t *object = json_array_get(out->accessors, (size_t)accessor);
    json_t *min = pelt_gltf_set(out, object, "min", json_array()),
           *max = pelt_gltf_set(out, object, "max", json_array());
    for (int i = 0; i < size; i++) {
        pelt_gltf_append(out, min, json_real(low[i]));
        pelt_gltf_append(out, max, json_real(high[i]));
    }
}

static void widen_bounds(const float *points, size_t count, float low[3], float high[3]) {
    for (size_t i = 0; i < 3 * count; i++) {
        low[i % 3] = fminf(low[i % 3], points[i]);
        high[i % 3] = fmaxf(high[i % 3], points[i]);
    }
}

/* -- Vertices ------------------------------------------------------------------------------------------------------ */

int pelt_gltf_add_positions(gltf_output *out, const float *positions, uint32_t count) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    widen_bounds(positions, count, low, high);
    int accessor = pelt_gltf_add_array(out, positions, 3 * (size_t)count * sizeof(float), GLTF_VERTEX_VIEW, GLTF_FLOAT,
                                       "VEC3", count);
    set_bounds(out, accessor, low, high, 3);
    return accessor;
}

/* Normalises a vector; one of unit length to float precision keeps its bits. */
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

int pelt_gltf_add_normals(gltf_output *out, const float *normals, uint32_t count) {
    size_t size = 3 * (size_t)count;
    float *unit = PELT_NEW(out->arena, size, float);
    memcpy(unit, normals, size * sizeof *unit);
    for (size_t i = 0; i < size; i += 3) make_unit(unit + i, 3);
    return pelt_gltf_add_array(out, unit, size * sizeof *unit, GLTF_VERTEX_VIEW, GLTF_FLOAT, "VEC3", count);
}

/* The factor that makes the weights of a vertex sum to 1. */
static double weight_scale(const pelt_influences *in, uint32_t vertex) {
    double sum = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++) sum += in->weights[i];
    return fabs(sum - 1) > 1e-7 * (in->first[vertex + 1] - in->first[vertex]) ? 1 / sum : 1;
}

/* Set `number` holds four influences, from 4 number on. Joints are bytes if there are few of them. */
static void add_weight_set(gltf_output *out, const pelt_influences *in, uint32_t first, uint32_t count, uint32_t number,
                           const uint32_t *slot_of, uint32_t slot_count, json_t *attributes) {
    bool bytes = slot_count <= 256;
    size_t entries = 4 * (size_t)count, joint_size = bytes ? 1 : 2;
    uint8_t *joints = pelt_alloc(out->arena, entries, joint_size);
    float *weights = PELT_NEW(out->arena, entries, float);
    for (uint32_t v = 0; v < count; v++) {
        double scale = weight_scale(in, first + v);
        uint32_t end = in->first[first + v + 1];
        for (uint32_t i = in->first[first + v] + 4 * number, k = 0; k < 4 && i < end; i++, k++) {
            size_t at = 4 * (size_t)v + k;
            uint16_t joint = (uint16_t)(slot_of ? slot_of[in->joints[i]] : in->joints[i]);
            weights[at] = (float)(in->weights[i] * scale);
            if (weights[at] == 0) continue; /* an unused slot must name joint 0 */
            if (bytes)
                joints[at] = (uint8_t)joint;
            else
                memcpy(joints + 2 * at, &joint, sizeof joint);
        }
    }
    char name[32];
    int j = pelt_gltf_add_array(out, joints, entries * joint_size, GLTF_VERTEX_VIEW, bytes ? GLTF_UBYTE : GLTF_USHORT,
                                "VEC4", count);
    int w = pelt_gltf_add_array(out, weights, entries * sizeof *weights, GLTF_VERTEX_VIEW, GLTF_FLOAT, "VEC4", count);
    snprintf(name, sizeof name, "JOINTS_%u", number);
    pelt_gltf_set(out, attributes, name, json_integer(j));
    snprintf(name, sizeof name, "WEIGHTS_%u", number);
    pelt_gltf_set(out, attributes, name, json_integer(w));
}

uint32_t pelt_gltf_add_weights(gltf_output *out, const pelt_influences *in, uint32_t first, uint32_t count,
                               const uint32_t *slot_of, uint32_t slot_count, json_t *attributes) {
    uint32_t most = 1, sets = 0;
    for (uint32_t v = first; v < first + count; v++)
        if (in->first[v + 1] - in->first[v] > most) most = in->first[v + 1] - in->first[v];
    for (; 4 * sets < most; sets++) add_weight_set(out, in, first, count, sets, slot_of, slot_count, attributes);
    return sets;
}

/* -- Targets ------------------------------------------------------------------------------------------------------- */

/* The vertices that a sparse accessor changes, in 16 bits if they fit. Returns the view. */
static int add_indices(gltf_output *out, const pelt_target *target, bool in_16_bits) {
    if (!in_16_bits) return pelt_gltf_add_view(out, target->vertices, target->count * sizeof(uint32_t), 0);
    uint16_t *indices = PELT_NEW(out->arena, target->count, uint16_t);
    for (uint32_t i = 0; i < target->count; i++) indices[i] = (uint16_t)target->vertices[i];
    return pelt_gltf_add_view(out, indices, target->count * sizeof *indices, 0);
}

/* Vectors that are zero except at some vertices; all zero if the target is empty. Returns the accessor. */
static int add_sparse(gltf_output *out, const pelt_target *target, uint32_t vertex_count) {
    bool in_16_bits = vertex_count <= 65536;
    int accessor = pelt_gltf_add_accessor(out, -1, GLTF_FLOAT, "VEC3", vertex_count);
    if (!target->count) return accessor;
    int indices = add_indices(out, target, in_16_bits);
    int values = pelt_gltf_add_view(out, target->deltas, 3 * (size_t)target->count * sizeof(float), 0);
    pelt_gltf_set(out, json_array_get(out->accessors, (size_t)accessor), "sparse",
                  json_pack("{s:I, s:{s:i, s:i}, s:{s:i}}", "count", (json_int_t)target->count, "indices", "bufferView",
                            indices, "componentType", in_16_bits ? GLTF_USHORT : GLTF_UINT, "values", "bufferView",
                            values));
    return accessor;
}

/* Where only some targets have an attribute, players use the mesh's own for the others, so all targets have positions,
   and all or none have normals. */
json_t *pelt_gltf_add_target(gltf_output *out, const pelt_target *target, const pelt_target *normals,
                             uint32_t vertex_count, json_t *targets) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (target->count < vertex_count) widen_bounds((const float[3]){0, 0, 0}, 1, low, high);
    widen_bounds(target->deltas, target->count, low, high);
    int position = add_sparse(out, target, vertex_count);
    int normal = normals ? add_sparse(out, normals, vertex_count) : 0;
    set_bounds(out, position, low, high, 3);
    json_t *object = pelt_gltf_append(out, targets, json_pack("{s:i}", "POSITION", position));
    if (normals) pelt_gltf_set(out, object, "NORMAL", json_integer(normal));
    return object;
}

/* -- Nodes --------------------------------------------------------------------------------------------------------- */

static void set_vector(gltf_output *out, json_t *node, const char *key, const float *v, int size, const float *usual) {
    if (!memcmp(v, usual, (size_t)size * sizeof *v)) return;
    json_t *list = pelt_gltf_set(out, node, key, json_array());
    for (int i = 0; i < size; i++) pelt_gltf_append(out, list, json_real(v[i]));
}

int pelt_gltf_add_node(gltf_output *out, const char *name, const pelt_transform *rest) {
    pelt_transform t = *rest;
    json_t *node = pelt_gltf_append(out, out->nodes, json_object());
    make_unit(t.rotation, 4);
    pelt_gltf_set(out, node, "name", pelt_json_text(name));
    set_vector(out, node, "translation", t.translation, 3, (const float[3]){0, 0, 0});
    set_vector(out, node, "rotation", t.rotation, 4, (const float[4]){0, 0, 0, 1});
    set_vector(out, node, "scale", t.scale, 3, (const float[3]){1, 1, 1});
    return (int)json_array_size(out->nodes) - 1;
}

void pelt_gltf_append_child(gltf_output *out, json_t *node, uint32_t child) {
    pelt_gltf_append(out, pelt_gltf_get(out, node, "children", json_array), json_integer(child));
}

int pelt_gltf_add_binds(gltf_output *out, const double (*binds)[12], uint32_t count) {
    float(*matrices)[16] = pelt_alloc(out->arena, count, sizeof *matrices);
    for (uint32_t j = 0; j < count; j++) {
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) matrices[j][4 * c + r] = (float)binds[j][4 * r + c];
        matrices[j][15] = 1;
    }
    return pelt_gltf_add_array(out, matrices, count * sizeof *matrices, 0, GLTF_FLOAT, "MAT4", count);
}

/* -- Tracks -------------------------------------------------------------------------------------------------------- */

int pelt_gltf_add_times(gltf_output *out, const float *times, uint32_t count) {
    if (times == out->times && count == out->time_count) return out->time_accessor;
    int accessor = pelt_gltf_add_array(out, times, count * sizeof *times, 0, GLTF_FLOAT, "SCALAR", count);
    set_bounds(out, accessor, times, times + count - 1, 1);
    out->times = times, out->time_count = count, out->time_accessor = accessor;
    return accessor;
}

/* Rotations must be unit quaternions; the tangents of a spline (two of its three vectors per key) need not be. */
int pelt_gltf_add_channel_values(gltf_output *out, const pelt_channel *channel) {
    bool rotation = channel->path == PELT_ROTATION, cubic = channel->interpolation == PELT_CUBIC;
    size_t size = rotation ? 4 : 3, count = channel->key_count * (cubic ? 3 : (size_t)1);
    const float *values = channel->values;
    if (rotation) {
        float *unit = PELT_NEW(out->arena, count * size, float);
        memcpy(unit, values, count * size * sizeof *unit);
        for (size_t i = cubic; i < count; i += cubic ? 3 : 1) make_unit(unit + size * i, 4);
        values = unit;
    }
    return pelt_gltf_add_array(out, values, count * size * sizeof *values, 0, GLTF_FLOAT, rotation ? "VEC4" : "VEC3",
                               (uint32_t)count);
}

void pelt_gltf_add_channel(gltf_output *out, json_t *animation, int node, const char *path, int input, int output,
                           const char *interpolation) {
    json_t *channels = pelt_gltf_get(out, animation, "channels", json_array);
    json_t *samplers = pelt_gltf_get(out, animation, "samplers", json_array);
    pelt_gltf_append(out, channels,
                     json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(samplers), "target", "node", node,
                               "path", path));
    pelt_gltf_append(out, samplers,
                     json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", interpolation));
}

/* -- File ---------------------------------------------------------------------------------------------------------- */

static void put_blobs(const gltf_output *out, pelt_writer *writer) {
    static const uint8_t zeros[4];
    for (const gltf_blob *blob = out->first; blob; blob = blob->next) {
        pelt_writer_put(writer, blob->bytes, blob->size);
        pelt_writer_put(writer, zeros, (4 - blob->size % 4) % 4);
    }
}

/* Describes the one buffer, whose object keeps its other properties. NULL: out of memory. */
static char *make_text(const gltf_output *out, const char *uri) {
    json_t *buffers = json_object_get(out->root, "buffers"), *buffer = json_array_get(buffers, 0);
    bool failed = json_object_set_new(buffer, "byteLength", json_integer((json_int_t)out->size)) != 0;
    json_object_del(buffer, "uri");
    if (uri) failed |= json_object_set_new(buffer, "uri", json_string(uri)) != 0;
    if (!out->size) json_object_del(out->root, "buffers");
    return failed ? NULL : pelt_json_dump(out->root, JSON_COMPACT);
}

static pelt_result write_glb(const gltf_output *out, pelt_error *error) {
    char *text = make_text(out, NULL);
    size_t length = text ? strlen(text) : 0, padding = (4 - length % 4) % 4;
    uint64_t total = 12 + 8 + length + padding + (out->size ? 8 + (uint64_t)out->size : 0);
    if (!text) return pelt_no_memory(error);
    if (total > UINT32_MAX) {
        free(text);
        return pelt_fail(error, PELT_ERROR_DATA, "%s: would exceed the 4 GiB limit of a .glb", out->path);
    }
    pelt_writer *writer = pelt_writer_open(out->path, error);
    if (writer) {
        uint32_t head[5] = {0x46546C67, 2, (uint32_t)total, (uint32_t)(length + padding), 0x4E4F534A};
        uint32_t binary[2] = {(uint32_t)out->size, 0x004E4942};
        pelt_writer_put(writer, head, sizeof head);
        pelt_writer_put(writer, text, length);
        pelt_writer_put(writer, "   ", padding);
        if (out->size) pelt_writer_put(writer, binary, sizeof binary);
        put_blobs(out, writer);
    }
    free(text);
    return writer ? pelt_writer_commit(writer, error) : PELT_ERROR_FILE;
}

/* A file name as part of a URI. */
static char *encode_percents(pelt_arena *arena, const char *name) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    char *out = PELT_NEW(arena, 3 * strlen(name) + 1, char), *end = out;
    for (; out && *name; name++) {
        if (strchr(safe, *name))
            *end++ = *name;
        else
            end += snprintf(end, 4, "%%%02X", (unsigned char)*name);
    }
    return out;
}

static pelt_result write_gltf(const gltf_output *out, pelt_error *error) {
    const char *name = pelt_base_name(out->path);
    char *side = pelt_arena_format(out->arena, "%.*s.bin", (int)(strlen(out->path) - strlen(".gltf")), out->path);
    char *uri = side ? encode_percents(out->arena, side + (name - out->path)) : NULL;
    char *text = uri ? make_text(out, uri) : NULL;
    if (!text) return pelt_no_memory(error);
    pelt_writer *bytes = out->size ? pelt_writer_open(side, error) : NULL;
    pelt_writer *words = bytes || !out->size ? pelt_writer_open(out->path, error) : NULL;
    if (words) pelt_writer_put(words, text, strlen(text));
    if (words && bytes) put_blobs(out, bytes);
    free(text);
    if (!words) {
        pelt_writer_drop(bytes);
        return PELT_ERROR_FILE;
    }
    return bytes ? pelt_writer_commit_pair(bytes, words, error) : pelt_writer_commit(words, error);
}

pelt_result pelt_gltf_write_file(const gltf_output *out, pelt_error *error) {
    return pelt_ends_with(out->path, ".gltf") ? write_gltf(out, error) : write_glb(out, error);
}
