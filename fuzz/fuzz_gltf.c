/* fuzz_gltf.c: any bytes as a glTF file. What is accepted must be safe to use: every index in range, every clip
   playable, and writing must not fail in any other way than with a sentence. */

#include "fuzz/mutate.h"
#include "io/gltf_light.h"
#include "io/io.h"
#include "io/surface.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The blend of the first frame of a clip, or of the rest pose. */
static void blend(const pelt_bundle *bundle, const pelt_clip *clip) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_transform *locals = PELT_NEW(arena, skeleton->joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    double *positions = PELT_NEW(arena, 3 * (size_t)bundle->mesh.vertex_count, double);
    memcpy(locals, skeleton->rest, skeleton->joint_count * sizeof *locals);
    if (clip) pelt_clip_pose(clip, skeleton, 0, locals);
    if (clip) pelt_clip_pose(clip, skeleton, clip->frame_count - 1, locals);
    pelt_joint_matrices(skeleton, locals, NULL, matrices);
    pelt_blend_mesh(&bundle->mesh, matrices, positions);
    pelt_arena_free(arena);
}

static void touch(const pelt_bundle *bundle) {
    const pelt_mesh *mesh = &bundle->mesh;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        if (mesh->triangles[i] >= mesh->vertex_count) abort();
    for (size_t i = 0; mesh->tangents && i < 4 * (size_t)mesh->vertex_count; i++)
        if (!(mesh->tangents[i] >= -1.00001f && mesh->tangents[i] <= 1.00001f)) abort();
    for (uint32_t t = 0; t < mesh->target_count; t++)
        for (uint32_t i = 0; i < mesh->targets[t].count; i++)
            if (mesh->targets[t].vertices[i] >= mesh->vertex_count) abort();
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++)
        if (bundle->skeleton.parents[j] >= (int32_t)j) abort();
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        const pelt_clip *clip = bundle->clips[c];
        for (size_t i = 0; clip->controls && i < (size_t)clip->frame_count * bundle->controls.count; i++)
            if (!(clip->controls[i] >= -PELT_LARGEST_CONTROL && clip->controls[i] <= PELT_LARGEST_CONTROL)) abort();
    }
    blend(bundle, NULL);
    for (uint32_t c = 0; c < bundle->clip_count; c++) blend(bundle, bundle->clips[c]);
}

/* The same bytes as a scene of light: every triangle has a material that exists. */
static void read_light(const pelt_file *file) {
    pelt_error error;
    pelt_arena *arena = pelt_arena_new(64 * file->size + ((size_t)16 << 20));
    pelt_scene scene = {.arena = arena};
    if (pelt_light_scene_parse(&scene, file, NULL, &error) == PELT_OK)
        for (uint32_t t = 0; t < scene.triangle_count; t++)
            if (scene.triangle_materials[t] >= scene.material_count) abort();
    pelt_arena_free(arena);
}

/* And how it looks: every part has triangles of the mesh, every picture is there. */
static void read_looks(const pelt_file *file) {
    pelt_error error;
    pelt_surface *surface = pelt_surface_parse(file, NULL, &error);
    uint32_t triangles = 0;
    for (uint32_t i = 0; surface && i < surface->part_count; i++) {
        const pelt_surface_part *part = &surface->parts[i];
        if (part->first_triangle != triangles || part->image >= (int32_t)surface->image_count ||
            part->normal >= (int32_t)surface->image_count)
            abort();
        triangles += part->triangle_count;
    }
    pelt_surface_free(surface);
}

/* The file with another skin in it: moved vertices, all weights on a new joint, a target more, new tracks. */
static void rewrite(pelt_bundle *bundle, const pelt_file *file) {
    pelt_arena *arena = bundle->arena;
    const pelt_skeleton *from = &bundle->skeleton;
    uint32_t n = from->joint_count, vertices = bundle->mesh.vertex_count;
    pelt_mesh mesh = bundle->mesh;
    pelt_skeleton skeleton = {.joint_count = n + 1,
                              .names = PELT_NEW(arena, n + 1, const char *),
                              .parents = PELT_NEW(arena, n + 1, int32_t),
                              .rest = PELT_NEW(arena, n + 1, pelt_transform),
                              .inverse_bind = pelt_alloc(arena, n + 1, sizeof *skeleton.inverse_bind)};
    uint32_t *all = PELT_NEW(arena, vertices, uint32_t);
    float *deltas = PELT_NEW(arena, 3 * (size_t)vertices, float), *ones = PELT_NEW(arena, 1 << 16, float);
    const float **weights = PELT_NEW(arena, bundle->clip_count + 1, const float *);
    if (pelt_arena_failed(arena)) return;
    memcpy(skeleton.names, from->names, n * sizeof *from->names), skeleton.names[n] = "new";
    memcpy(skeleton.parents, from->parents, n * sizeof *from->parents),
        skeleton.parents[n] = (int32_t)(vertices % 2) - 1;
    memcpy(skeleton.rest, from->rest, n * sizeof *from->rest);
    skeleton.rest[n] = (pelt_transform){{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    memcpy(skeleton.inverse_bind, from->inverse_bind, n * sizeof *from->inverse_bind);
    memcpy(skeleton.inverse_bind[n], pelt_identity.m, sizeof pelt_identity.m);
    for (uint32_t v = 0; v < vertices; v++) all[v] = v, deltas[3 * (size_t)v] = 1, mesh.positions[3 * (size_t)v] += 1;
    for (uint32_t i = 0; i < mesh.influences.first[vertices]; i += 2) mesh.influences.joints[i] = n;
    for (uint32_t i = 0; i < 1 << 16; i++) ones[i] = 1;
    pelt_target target = {"new", vertices, all, deltas};
    mesh.targets = &target, mesh.target_count = 1;
    uint32_t clips = 0;
    for (; clips < bundle->clip_count && bundle->clips[clips]->frame_count <= 1 << 16; clips++) weights[clips] = ones;
    pelt_gltf_content content = {.mesh = &mesh,
                                 .skeleton = &skeleton,
                                 .clips = bundle->clips,
                                 .clip_count = clips,
                                 .clip_weights = weights,
                                 .target_normals = &target};
    pelt_error error;
    pelt_gltf_rewrite("/dev/null", &content, file, NULL, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_error error;
    pelt_arena *arena = pelt_arena_new(64 * size + ((size_t)16 << 20));
    uint8_t *bytes = PELT_NEW(arena, size + 1, uint8_t);
    memcpy(bytes, data, size);
    pelt_bundle bundle = {.arena = arena};
    read_light(&(pelt_file){bytes, size});
    read_looks(&(pelt_file){bytes, size});
    if (pelt_gltf_parse(&bundle, &(pelt_file){bytes, size}, NULL, &error) == PELT_OK) {
        pelt_gltf_content content = {
            .mesh = &bundle.mesh, .skeleton = &bundle.skeleton, .clips = bundle.clips, .clip_count = bundle.clip_count};
        touch(&bundle);
        pelt_gltf_write("/dev/null", &content, &error);
        rewrite(&bundle, &(pelt_file){bytes, size});
    }
    pelt_bytes_free(pelt_embedded_skin(&(pelt_file){bytes, size}, NULL, &error));
    pelt_arena_free(arena);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return mutate_glb(data, size, most, seed);
}
