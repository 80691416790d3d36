/* gltf_read.c: a glTF file becomes a bundle. */

#include "io/gltf.h"
#include <string.h>

/* Memory is bounded by 64 times the size of the file plus 16 MiB: half for the bundle, half for reading it. */
static size_t memory_limit(size_t file_size) {
    return file_size < SIZE_MAX / 64 ? 32 * file_size + ((size_t)8 << 20) : SIZE_MAX;
}

bool pelt_gltf_extension_is_known(const char *name) {
    static const char *const harmless[] = {"KHR_mesh_quantization",
                                           "KHR_animation_pointer",
                                           "KHR_materials_",
                                           "KHR_texture_",
                                           "KHR_lights_",
                                           "KHR_xmp",
                                           "EXT_texture_",
                                           "EXT_lights_",
                                           "MSFT_texture_",
                                           "KHR_node_visibility",
                                           "PELT_skin"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!strncmp(name, harmless[i], strlen(harmless[i]))) return true;
    return false;
}

static bool check_version(gltf *g) {
    gltf_item asset = pelt_gltf_member(g->root, "asset"), version = pelt_gltf_member(asset, "version");
    gltf_item least = pelt_gltf_member(asset, "minVersion");
    const char *text = pelt_gltf_text(version, NULL);
    if (!text) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, version, "is missing; this may not be a glTF file");
    if (strncmp(text, "2.", 2) != 0 || strcmp(pelt_gltf_text(least, "2.0"), "2.0") != 0)
        return pelt_gltf_fail(g, PELT_ERROR_UNSUPPORTED, version, "is %.20s; export it as glTF 2.0", text);
    return true;
}

static bool check_extensions(gltf *g) {
    gltf_item list = pelt_gltf_member(g->root, "extensionsRequired");
    uint32_t count;
    if (!pelt_gltf_length(g, list, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = pelt_gltf_text(pelt_gltf_element(list, i), "?");
        if (!pelt_gltf_extension_is_known(name))
            return pelt_gltf_fail(
                g, PELT_ERROR_UNSUPPORTED, pelt_gltf_element(list, i),
                "the file requires the extension %.60s, which pelt does not support; export it without", name);
    }
    return true;
}

bool pelt_gltf_begin(gltf *g, const pelt_file *file) {
    g->scratch = pelt_arena_new(memory_limit(file->size));
    g->files = pelt_arena_new(0); /* unbounded: it holds only existing files; what is made from them is bounded */
    g->work_left = 64 * (uint64_t)file->size + ((uint64_t)16 << 20);
    if (!g->scratch || !g->files) return pelt_gltf_out_of_memory(g);
    return pelt_gltf_open(g, file) && check_version(g) && check_extensions(g);
}

bool pelt_gltf_read(gltf *g, const pelt_file *file, gltf_scene *scene, gltf_parts *parts) {
    g->bundle->path = g->path ? pelt_arena_format(g->arena, "%s", g->path) : NULL;
    if (g->path && !g->bundle->path) return pelt_gltf_out_of_memory(g);
    if (!pelt_gltf_begin(g, file)) return false;
    g->bundle->has_skin = pelt_gltf_member(pelt_gltf_member(g->root, "extensions"), "PELT_skin").json != NULL;
    return pelt_gltf_read_scene(g, scene) && pelt_gltf_read_mesh(g, scene, parts) && pelt_gltf_read_extras(g) &&
           pelt_gltf_read_clips(g, scene) && (pelt_find_scene_diagonal(g->bundle) || pelt_gltf_out_of_memory(g));
}

pelt_result pelt_gltf_close(gltf *g, bool done, pelt_error *error) {
    if (!done && error) *error = g->error;
    json_decref(g->json);
    pelt_arena_free(g->files);
    pelt_arena_free(g->scratch);
    return done ? PELT_OK : g->error.code;
}

pelt_result pelt_gltf_parse(pelt_bundle *bundle, const pelt_file *file, const char *path, pelt_error *error) {
    pelt_bundle result = {.arena = bundle->arena};
    gltf g = {.path = path, .bundle = &result, .arena = bundle->arena};
    gltf_scene scene;
    gltf_parts parts;
    bool done = pelt_gltf_read(&g, file, &scene, &parts);
    if (done) *bundle = result;
    return pelt_gltf_close(&g, done, error);
}

static pelt_bundle *bundle_new(const pelt_file *file, const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(memory_limit(file->size));
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    if (bundle) bundle->arena = arena;
    if (!(bundle ? pelt_gltf_parse(bundle, file, path, error) : pelt_no_memory(error))) return bundle;
    pelt_arena_free(arena);
    return NULL;
}

pelt_bundle *pelt_bundle_read(const char *path, pelt_error *error) {
    if (PELT_MISSING(path, error)) return NULL;
    /* The bundle does not need the file's bytes. */
    PELT_SCOPED pelt_arena *file_arena = pelt_arena_new(0);
    pelt_file file;
    return pelt_file_read(file_arena, path, &file, error) ? NULL : bundle_new(&file, path, error);
}
