/* dump_blend.c: writes pelt's reading of a glTF file, for comparison by another program.

       dump_blend FILE.glb OUT.bin [COPY.glb]

   OUT.bin, little-endian: uint32 vertices, float32 diagonal, uint32 1 when there are normals, uint32 clips; then for
   each clip uint32 length of its name, the name padded with zeros to a multiple of 4, uint32 frames, and for each frame
   float32 time, float32 positions[vertices][3], and float32 normals[vertices][3] where there are any. The first clip
   has an empty name and one frame: the rest pose. Long clips are thinned out. COPY.glb is the file written again by
   pelt. */

#include "io/io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_PER_CLIP = 40, FRAMES_PER_FILE = 800 };

typedef struct blender {
    const pelt_bundle *bundle;
    pelt_transform *locals;
    pelt_affine *matrices;
    double *blended;
    float *positions;
    FILE *out;
} blender;

static void put_u32(FILE *out, uint32_t value) { fwrite(&value, sizeof value, 1, out); }

static void put_name(FILE *out, const char *name) {
    size_t length = strlen(name);
    put_u32(out, (uint32_t)length);
    fwrite(name, 1, length, out);
    fwrite("\0\0\0", 1, (4 - length % 4) % 4, out);
}

static void put_frame(blender *b, float time) {
    const pelt_mesh *mesh = &b->bundle->mesh;
    pelt_joint_matrices(&b->bundle->skeleton, b->locals, NULL, b->matrices);
    pelt_blend_mesh(mesh, b->matrices, b->blended);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) b->positions[i] = (float)b->blended[i];
    fwrite(&time, sizeof time, 1, b->out);
    fwrite(b->positions, sizeof *b->positions, 3 * (size_t)mesh->vertex_count, b->out);
}

static void put_clip(blender *b, const pelt_clip *clip, uint32_t most) {
    uint32_t step = (clip->frame_count + most - 1) / most;
    put_name(b->out, clip->name);
    put_u32(b->out, (clip->frame_count + step - 1) / step);
    for (uint32_t f = 0; f < clip->frame_count; f += step) {
        pelt_clip_pose(clip, &b->bundle->skeleton, f, b->locals);
        put_frame(b, clip->times[f]);
    }
}

static void put_bundle(blender *b) {
    const pelt_bundle *bundle = b->bundle;
    const pelt_skeleton *skeleton = &bundle->skeleton;
    uint32_t most = bundle->clip_count ? FRAMES_PER_FILE / bundle->clip_count : 1;
    if (most > FRAMES_PER_CLIP) most = FRAMES_PER_CLIP;
    if (most < 3) most = 3;
    put_u32(b->out, bundle->mesh.vertex_count);
    fwrite(&bundle->mesh.diagonal, sizeof bundle->mesh.diagonal, 1, b->out);
    put_u32(b->out, 0);
    put_u32(b->out, 1 + bundle->clip_count);
    put_name(b->out, "");
    put_u32(b->out, 1);
    memcpy(b->locals, skeleton->rest, skeleton->joint_count * sizeof *b->locals);
    put_frame(b, 0);
    for (uint32_t c = 0; c < bundle->clip_count; c++) put_clip(b, bundle->clips[c], most);
}

int main(int count, char **arguments) {
    pelt_error error;
    if (count < 3) {
        fprintf(stderr, "usage: dump_blend FILE.glb OUT.bin [COPY.glb]\n");
        return 2;
    }
    pelt_bundle *bundle = pelt_bundle_read(arguments[1], &error);
    if (!bundle) {
        fprintf(stderr, "dump_blend: %s\n", error.text);
        return 1;
    }
    size_t joints = bundle->skeleton.joint_count, numbers = 3 * (size_t)bundle->mesh.vertex_count;
    blender b = {bundle,
                 malloc(joints * sizeof(pelt_transform)),
                 malloc(joints * sizeof(pelt_affine)),
                 malloc(numbers * sizeof(double)),
                 malloc(numbers * sizeof(float)),
                 fopen(arguments[2], "wb")};
    int status = 1;
    if (b.locals && b.matrices && b.blended && b.positions && b.out) {
        put_bundle(&b);
        status = ferror(b.out) != 0;
    }
    if (b.out) status |= fclose(b.out) != 0;
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    if (!status && count > 3 && pelt_gltf_write(arguments[3], &content, &error) != PELT_OK) {
        fprintf(stderr, "dump_blend: %s\n", error.text);
        status = 1;
    }
    free(b.locals), free(b.matrices), free(b.blended), free(b.positions);
    pelt_bundle_free(bundle);
    return status;
}
