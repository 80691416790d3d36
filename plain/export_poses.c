/* export_poses.c: a character with clips of poses and no other, for whoever makes the skin in them: a simulator, a sculptor. */

#include "io/io.h"
#include "plain/plain.h"
#include "rig/text.h"
#include <pelt/poses.h>
#include <string.h>

static pelt_result write_truth(const pelt_bundle *bundle, const pelt_clip *clip, const char *path, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    char *cache = pelt_arena_format(arena, "%.*s.%s.pc2", pelt_stem_length(path), path, clip->name);
    if (!cache) return pelt_no_memory(error);
    pelt_cache_writer *writer = pelt_cache_writer_open(cache, clip->frame_count, &bundle->mesh, 30, error);
    if (!writer) return error->code;
    for (size_t f = 0; f < clip->frame_count; f++)
        pelt_cache_writer_frame(writer, clip->positions + 3 * f * bundle->mesh.vertex_count);
    return pelt_cache_writer_commit(writer, error);
}

static pelt_result check_clip(const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error) {
    if (!pelt_is_own_clip(bundle, clip)) return pelt_fail_option(error, "clip", "%s has no such clip", bundle->path);
    if (!clip->channel_count)
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "clip \"%s\" stays in the rest pose in all of its %u frames, and glTF cannot hold an empty animation",
            clip->name, clip->frame_count);
    if (strchr(clip->name, '/'))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "the clip \"%s\" has a slash in its name, which file names cannot have; rename it",
                         clip->name);
    return PELT_OK;
}

pelt_result pelt_export_only_clips(const pelt_bundle *bundle, const pelt_clip *const *clips, uint32_t count,
                                   const char *path, pelt_error *error) {
    for (uint32_t c = 0; c < count; c++)
        if (check_clip(bundle, clips[c], error)) return error->code;
    pelt_mesh mesh = bundle->mesh;
    mesh.targets = mesh.target_normals = NULL, mesh.target_count = 0;
    pelt_gltf_content content = {.mesh = &mesh,
                                 .skeleton = &bundle->skeleton,
                                 .clips = clips,
                                 .clip_count = count,
                                 .only_clips = true,
                                 .source = bundle->in_memory ? NULL : bundle->path};
    pelt_result result = pelt_gltf_write(path, &content, error);
    for (uint32_t c = 0; c < count && !result; c++)
        if (clips[c]->positions) result = write_truth(bundle, clips[c], path, error);
    return result;
}

pelt_result pelt_export_poses(const pelt_bundle *bundle, const pelt_clip *clip, const char *path, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(clip, error) || PELT_MISSING(path, error))
        return PELT_ERROR_ARGUMENT;
    return pelt_export_only_clips(bundle, &clip, 1, path, error);
}
