/* textured.h: samples with a texture wrapped around them, for tests of tangents: u runs around x, v along it, and the
   mesh is split where u jumps from 1 to 0. */

#ifndef PELT_TEST_TEXTURED_H
#define PELT_TEST_TEXTURED_H

#include "samples/samples.h"
#include "test/test.h"

typedef struct textured {
    pelt_bundle *sample; /* in one piece */
    pelt_bundle *bundle; /* split, with texture coordinates; clips "train" and "test" */
    uint32_t *source;    /* [vertex of the bundle] vertex of the sample */
    float *uvs;
} textured;

static inline void textured_free(textured *t) {
    pelt_bundle_free(t->sample), pelt_bundle_free(t->bundle);
    free(t->source), free(t->uvs);
}

/* [count][size] from [count of the sample's vertices][size]. */
static inline float *textured_gather(const textured *t, uint32_t count, const float *from, size_t size) {
    float *out = malloc(count * size * sizeof *out);
    for (size_t v = 0; v < count; v++) memcpy(out + size * v, from + size * t->source[v], size * sizeof *out);
    return out;
}

static inline void textured_clip(const textured *t, uint32_t count, const pelt_clip *clip) {
    const pelt_skeleton *skeleton = &t->sample->skeleton;
    size_t frames = clip->frame_count, from = 3 * (size_t)t->sample->mesh.vertex_count;
    pelt_transform *poses = malloc(frames * skeleton->joint_count * sizeof *poses);
    float *positions = malloc(frames * count * 3 * sizeof *positions);
    for (size_t f = 0; f < frames; f++) {
        pelt_clip_pose(clip, skeleton, (uint32_t)f, poses + f * skeleton->joint_count);
        float *frame = textured_gather(t, count, clip->positions + f * from, 3);
        memcpy(positions + f * count * 3, frame, (size_t)count * 3 * sizeof *frame);
        free(frame);
    }
    pelt_error error;
    pelt_clip_input input = {clip->name, clip->frame_count, poses, positions, NULL};
    if (!pelt_bundle_add_clip(t->bundle, &input, &error)) fail_msg("%s", error.text);
    free(poses), free(positions);
}

/* Texture coordinates, and twins for the corners of triangles that cross the seam. Returns the number of vertices. */
static inline uint32_t textured_split(textured *t, uint32_t *triangles) {
    const pelt_mesh *mesh = &t->sample->mesh;
    uint32_t n = mesh->vertex_count, count = n, *twin = calloc(n, sizeof *twin);
    t->source = malloc(2 * (size_t)n * sizeof *t->source), t->uvs = malloc(4 * (size_t)n * sizeof *t->uvs);
    for (uint32_t v = 0; v < n; v++) {
        const float *p = mesh->positions + 3 * (size_t)v;
        t->source[v] = v;
        t->uvs[2 * v] = (float)(atan2(p[2], p[1]) / (2 * acos(-1)) + 0.5), t->uvs[2 * v + 1] = p[0] / mesh->diagonal;
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i += 3) {
        float most = 0;
        for (size_t k = i; k < i + 3; k++) most = fmaxf(most, t->uvs[2 * mesh->triangles[k]]);
        for (size_t k = i; k < i + 3; k++) {
            uint32_t v = triangles[k] = mesh->triangles[k];
            if (t->uvs[2 * v] > most - 0.5f) continue;
            if (!twin[v]) {
                t->source[count] = v, t->uvs[2 * count] = t->uvs[2 * v] + 1, t->uvs[2 * count + 1] = t->uvs[2 * v + 1];
                twin[v] = count++;
            }
            triangles[k] = twin[v];
        }
    }
    free(twin);
    return count;
}

static inline textured textured_sample(const char *name, uint32_t vertices, uint32_t frames) {
    pelt_error error;
    textured t = {
        pelt_sample_make(&(pelt_sample_options){.name = name, .vertices = vertices, .frames = frames}, &error)};
    if (!t.sample) fail_msg("%s", error.text);
    const pelt_mesh *mesh = &t.sample->mesh;
    const pelt_skeleton *skeleton = &t.sample->skeleton;
    enum { MOST = 4 };
    uint32_t *triangles = malloc(3 * (size_t)mesh->triangle_count * sizeof *triangles);
    uint32_t count = textured_split(&t, triangles), *joints = calloc(MOST * (size_t)count, sizeof *joints);
    float *weights = calloc(MOST * (size_t)count, sizeof *weights), *inverse_bind = malloc(48 * skeleton->joint_count);
    for (uint32_t v = 0; v < count; v++)
        for (uint32_t i = mesh->influences.first[t.source[v]], k = 0; i < mesh->influences.first[t.source[v] + 1];
             i++, k++)
            joints[MOST * v + k] = mesh->influences.joints[i], weights[MOST * v + k] = mesh->influences.weights[i];
    for (uint32_t i = 0; i < 12 * skeleton->joint_count; i++)
        inverse_bind[i] = (float)skeleton->inverse_bind[i / 12][i % 12];
    float *positions = textured_gather(&t, count, mesh->positions, 3),
          *normals = textured_gather(&t, count, mesh->normals, 3);
    pelt_character character = {.name = name,
                                .vertex_count = count,
                                .triangle_count = mesh->triangle_count,
                                .joint_count = skeleton->joint_count,
                                .influences_per_vertex = MOST,
                                .positions = positions,
                                .normals = normals,
                                .uvs = t.uvs,
                                .triangles = triangles,
                                .joints = joints,
                                .weights = weights,
                                .joint_names = skeleton->names,
                                .parents = skeleton->parents,
                                .rest = skeleton->rest,
                                .inverse_bind = inverse_bind};
    t.bundle = pelt_bundle_new(&character, &error);
    if (!t.bundle) fail_msg("%s", error.text);
    for (uint32_t c = 0; c < t.sample->clip_count; c++) textured_clip(&t, count, t.sample->clips[c]);
    free(triangles), free(joints), free(weights), free(inverse_bind), free(positions), free(normals);
    return t;
}

/* Where all of u meets in a point, and the tangent is undefined. */
static inline bool textured_pole(const textured *t, size_t vertex) {
    const float *p = t->bundle->mesh.positions + 3 * vertex;
    return hypotf(p[1], p[2]) < 1e-3f * t->bundle->mesh.diagonal;
}

/* The true mesh in a frame: positions, area-weighted normals of the unsplit sample, and its tangents by MikkTSpace; all
   in the arena. */
static inline pelt_mesh textured_truth(pelt_arena *arena, const textured *t, const pelt_clip *clip, uint32_t frame) {
    const pelt_mesh *whole = &t->sample->mesh;
    pelt_mesh mesh = t->bundle->mesh;
    uint32_t n = mesh.vertex_count;
    const pelt_clip *of_sample = NULL;
    for (uint32_t c = 0; c < t->sample->clip_count; c++)
        if (!strcmp(t->sample->clips[c]->name, clip->name)) of_sample = t->sample->clips[c];
    float *normals = PELT_NEW(arena, 3 * (size_t)whole->vertex_count, float);
    pelt_mesh_normals(of_sample->positions + 3 * (size_t)whole->vertex_count * frame, whole->vertex_count,
                      whole->triangles, whole->triangle_count, normals);
    mesh.positions = (float *)clip->positions + 3 * (size_t)n * frame;
    mesh.normals = PELT_NEW(arena, 3 * (size_t)n, float);
    mesh.tangents = PELT_NEW(arena, 4 * (size_t)n, float);
    for (size_t v = 0; v < n; v++) memcpy(mesh.normals + 3 * v, normals + 3 * (size_t)t->source[v], 12);
    pelt_mesh_tangents(arena, &mesh, mesh.tangents);
    return mesh;
}

#endif
