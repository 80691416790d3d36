/* export_bundle.c: a character with its examples, as the files that pelt_bundle_read and pelt_bundle_clip read. */

#include "io/io.h"
#include "rig/text.h"
#include <pelt/export.h>
#include <string.h>

/* The path without its ending. */
static char *stem_of(pelt_arena *arena, const char *path) {
    const char *name = pelt_base_name(path), *dot = strrchr(name, '.');
    return pelt_arena_format(arena, "%.*s", (int)((dot ? dot : name + strlen(name)) - path), path);
}

static pelt_result write_positions(const pelt_bundle *bundle, const pelt_clip *clip, const char *path,
                                   pelt_error *error) {
    pelt_cache_writer *writer = pelt_cache_writer_open(path, clip->frame_count, &bundle->mesh, 30, error);
    if (!writer) return error->code;
    for (size_t f = 0; f < clip->frame_count; f++)
        pelt_cache_writer_frame(writer, clip->positions + 3 * f * bundle->mesh.vertex_count);
    return pelt_cache_writer_commit(writer, error);
}

static pelt_result write_controls(const pelt_bundle *bundle, const pelt_clip *clip, const char *path,
                                  pelt_error *error) {
    pelt_table table = {clip->frame_count, bundle->controls.count, bundle->controls.names, (float *)clip->controls};
    return pelt_table_write(path, &table, error);
}

static pelt_result write_clip(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, const char *stem,
                              pelt_error *error) {
    if (strchr(clip->name, '/'))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "the clip \"%s\" has a slash in its name, which file names cannot have; rename it",
                         clip->name);
    char *cache = pelt_arena_format(arena, "%s.%s.pc2", stem, clip->name);
    char *table = pelt_arena_format(arena, "%s.%s.csv", stem, clip->name);
    if (!cache || !table) return pelt_no_memory(error);
    pelt_result result = clip->positions ? write_positions(bundle, clip, cache, error) : PELT_OK;
    if (!result && clip->controls && bundle->controls.count) result = write_controls(bundle, clip, table, error);
    return result;
}

pelt_result pelt_export_bundle(const pelt_bundle *bundle, const char *path, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(path, error)) return PELT_ERROR_ARGUMENT;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const char *stem = stem_of(arena, path);
    if (!stem) return pelt_no_memory(error);
    pelt_mesh mesh = bundle->mesh;
    mesh.targets = mesh.target_normals = NULL, mesh.target_count = 0;
    pelt_gltf_content content = {.mesh = &mesh,
                                 .skeleton = &bundle->skeleton,
                                 .clips = bundle->clips,
                                 .clip_count = bundle->clip_count,
                                 .name = pelt_base_name(stem),
                                 .source = bundle->in_memory ? NULL : bundle->path};
    pelt_result result = pelt_gltf_write(path, &content, error);
    for (uint32_t c = 0; !result && c < bundle->clip_count; c++)
        result = write_clip(arena, bundle, bundle->clips[c], stem, error);
    return result;
}
