/* gltf_maker.h: tiny handmade glTF files. A test adds arrays (accessor 0, 1, ...) and writes the rest as JSON text with
   ' for ". */

#ifndef PELT_GLTF_MAKER_H
#define PELT_GLTF_MAKER_H

#include "io/io.h"
#include "test/test.h"

enum { BYTE = 5120, UBYTE, SHORT, USHORT, UINT = 5125, FLOAT };

typedef struct maker {
    uint8_t binary[8192];
    size_t size;
    int view_count;
    char views[8192], accessors[8192];
} maker;

static inline int make_view(maker *m, const void *bytes, size_t size, int stride) {
    char text[200], step[40] = "";
    if (stride) snprintf(step, sizeof step, ",'byteStride':%d", stride);
    snprintf(text, sizeof text, "%s{'buffer':0,'byteOffset':%zu,'byteLength':%zu%s}", m->view_count ? "," : "", m->size,
             size, step);
    strcat(m->views, text);
    memcpy(m->binary + m->size, bytes, size);
    m->size += (size + 3) / 4 * 4;
    return m->view_count++;
}

/* An accessor with its properties as text, such as "'bufferView':0,'componentType':5126,'type':'VEC3','count':3". */
static inline void make_accessor(maker *m, const char *text) {
    if (*m->accessors) strcat(m->accessors, ",");
    strcat(strcat(strcat(m->accessors, "{"), text), "}");
}

static inline void make_array(maker *m, const void *bytes, size_t size, int type, const char *shape, int count,
                              bool normalized) {
    char text[200];
    snprintf(text, sizeof text, "'bufferView':%d,'componentType':%d,'type':'%s','count':%d%s",
             make_view(m, bytes, size, 0), type, shape, count, normalized ? ",'normalized':true" : "");
    make_accessor(m, text);
}

#define MAKE_FLOATS(m, shape, count, ...)                                                                              \
    make_array(m, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}), FLOAT, shape, count, false)

/* The JSON text of the file; `buffer` holds the buffer's properties besides its length. */
static inline const char *make_json(const maker *m, const char *buffer, const char *rest) {
    static char text[65536];
    snprintf(text, sizeof text,
             "{'asset':{'version':'2.0'},'buffers':[{'byteLength':%zu%s}],'bufferViews':[%s],'accessors':[%s],%s}",
             m->size, buffer, m->views, m->accessors, rest);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    return text;
}

/* The file as a .glb; the bytes are valid until the next call. */
static inline pelt_file make_glb(const maker *m, const char *rest) {
    static uint8_t bytes[131072];
    const char *json = make_json(m, "", rest);
    uint32_t length = (uint32_t)strlen(json), padded = (length + 3) / 4 * 4, binary = (uint32_t)m->size;
    uint32_t head[5] = {0x46546C67, 2, 28 + padded + binary, padded, 0x4E4F534A}, chunk[2] = {binary, 0x004E4942};
    memset(bytes, ' ', 20 + padded);
    memcpy(bytes, head, 20);
    memcpy(bytes + 20, json, length);
    memcpy(bytes + 20 + padded, chunk, 8);
    memcpy(bytes + 28 + padded, m->binary, binary);
    return (pelt_file){bytes, head[2]};
}

/* Reads bytes as a file of that name; NULL with the message in *error. */
static inline pelt_bundle *read_bytes(pelt_file file, const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(64 * file.size + (16 << 20));
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    uint8_t *copy = malloc(file.size + 1); /* a separate copy, so that a sanitizer sees reads beyond its end */
    memcpy(copy, file.bytes, file.size);
    copy[file.size] = 0;
    bundle->arena = arena;
    pelt_result result = pelt_gltf_parse(bundle, &(pelt_file){copy, file.size}, path, error);
    free(copy);
    if (result == PELT_OK) return bundle;
    assert_int_equal(result, error->code);
    assert_true(strlen(error->text) > 10);
    pelt_arena_free(arena);
    return NULL;
}

/* A bundle that must be valid. */
static inline pelt_bundle *make_bundle(const maker *m, const char *rest) {
    pelt_error error = {0};
    pelt_bundle *bundle = read_bytes(make_glb(m, rest), NULL, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

static inline const pelt_finding *find_note(const pelt_bundle *bundle, const char *what) {
    for (size_t i = 0; i < bundle->notes.count; i++)
        if (!strcmp(bundle->notes.list[i].what, what)) return &bundle->notes.list[i];
    return NULL;
}

/* Blended positions of a frame of a clip (NULL: of the rest pose), to be freed. */
static inline double *blend_frame(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    pelt_transform *locals = malloc(skeleton->joint_count * sizeof *locals);
    pelt_affine *matrices = malloc(skeleton->joint_count * sizeof *matrices);
    double *positions = malloc(3 * (size_t)bundle->mesh.vertex_count * sizeof *positions);
    memcpy(locals, skeleton->rest, skeleton->joint_count * sizeof *locals);
    if (clip) pelt_clip_pose(clip, skeleton, frame, locals);
    pelt_joint_matrices(skeleton, locals, NULL, matrices);
    pelt_blend_mesh(&bundle->mesh, matrices, positions);
    free(locals), free(matrices);
    return positions;
}

/* A character with everything in it: a skinned triangle (accessors 0 position, 1 joints, 2 weights, 3 inverse binds),
   an animation (4 times, 5 rotations, 6 translations as a spline) and a sparse target (7). */
static inline const char *make_character(maker *m) {
    const uint8_t joints[] = {0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0};
    *m = (maker){0};
    MAKE_FLOATS(m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    make_array(m, joints, sizeof joints, UBYTE, "VEC4", 3, false);
    MAKE_FLOATS(m, "VEC4", 3, 1, 0, 0, 0, .5f, .5f, 0, 0, 1, 0, 0, 0);
    MAKE_FLOATS(m, "MAT4", 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, /* */
                1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1);
    MAKE_FLOATS(m, "SCALAR", 2, 0, 1);
    MAKE_FLOATS(m, "VEC4", 2, 0, 0, 0, 1, 0, 0, 1, 0);
    MAKE_FLOATS(m, "VEC3", 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 3, 0, 0);
    const uint16_t moved[] = {2};
    int indices = make_view(m, moved, sizeof moved, 0), values = make_view(m, (const float[]){0, 0, 1}, 12, 0);
    char text[300];
    snprintf(text, sizeof text,
             "'componentType':5126,'type':'VEC3','count':3,'sparse':{'count':1,'indices':{'bufferView':%d,"
             "'componentType':5123},'values':{'bufferView':%d}}",
             indices, values);
    make_accessor(m, text);
    return "'scene':0,'scenes':[{'nodes':[0,2]}],"
           "'nodes':[{'name':'hip','children':[1]},{'name':'knee','translation':[0,1,0]},{'mesh':0,'skin':0}],"
           "'skins':[{'joints':[0,1],'inverseBindMatrices':3}],"
           "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2},"
           "'targets':[{'POSITION':7}]}],'extras':{'targetNames':['smile']}}],"
           "'animations':[{'name':'bend','samplers':[{'input':4,'output':5},"
           "{'input':4,'output':6,'interpolation':'CUBICSPLINE'}],"
           "'channels':[{'sampler':0,'target':{'node':1,'path':'rotation'}},"
           "{'sampler':1,'target':{'node':0,'path':'translation'}}]}]";
}

#endif
