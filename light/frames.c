/* frames.c: training frames as pictures in a folder, one for each light and half of the samples, with a text
   that says what they were gathered from. */

#include "light/frames.h"
#include "io/io.h"
#include "io/pfm.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t pelt_light_frame_seed(uint32_t seed, uint32_t light, uint32_t half) {
    return seed * 0x10000u + 2 * light + half;
}

static void frame_path(const pelt_light_frames *store, uint32_t light, uint32_t half, char *path, size_t size) {
    snprintf(path, size, "%s/light-%04u-%c.pfm", store->folder, light, half ? 'b' : 'a');
}

/* A number that changes when the scene does (Fowler, Noll and Vo's hash). */
static uint32_t scene_hash(const pelt_scene *scene) {
    uint32_t hash = 2166136261u;
    const void *parts[] = {scene->positions, scene->triangles, scene->triangle_materials, scene->materials,
                           scene->lights};
    size_t sizes[] = {scene->vertex_count * 3 * sizeof *scene->positions,
                      scene->triangle_count * 3 * sizeof *scene->triangles,
                      scene->triangle_count * sizeof *scene->triangle_materials,
                      scene->material_count * sizeof *scene->materials, scene->light_count * sizeof *scene->lights};
    for (int p = 0; p < 5; p++)
        for (size_t i = 0; i < sizes[p]; i++) hash = (hash ^ ((const uint8_t *)parts[p])[i]) * 16777619u;
    return hash;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *describe(const pelt_light_view *s, const pelt_light_grid *grid, uint32_t samples, uint32_t seed) {
    json_t *text = json_pack(
        "{s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:[fff], s:[fff], s:i, s:i, s:i, s:I}", "scene", base_name(s->name),
        "scene_hash", (json_int_t)scene_hash(s->scene), "points", (json_int_t)s->point_count, "width", (int)s->width,
        "height", (int)s->height, "columns", (int)grid->columns, "rows", (int)grid->rows, "low", grid->low[0],
        grid->low[1], grid->low[2], "high", grid->high[0], grid->high[1], grid->high[2], "light_kind",
        (int)s->light.kind, "samples", (int)samples, "bounces", (int)s->bounces, "seed", (json_int_t)seed);
    char *dump = text ? json_dumps(text, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(text);
    return dump;
}

static pelt_result check_or_write(const char *path, const char *text, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    pelt_result result;
    if (!pelt_file_exists(path)) {
        pelt_writer *writer = pelt_writer_open(path, error);
        if (writer) pelt_writer_put(writer, text, strlen(text));
        result = writer ? pelt_writer_commit(writer, error) : error->code;
    } else if (!(result = pelt_file_read(arena, path, &file, error)) && strcmp((const char *)file.bytes, text) != 0) {
        result = pelt_fail(error, PELT_ERROR_DATA,
                           "%s: the frames there were gathered with another scene, grid, size, seed or number of "
                           "samples; remove the folder, or choose another name for the result",
                           path);
    }
    pelt_arena_free(arena);
    return result;
}

pelt_result pelt_light_frames_open(pelt_light_frames *store, const pelt_light_view *s, const pelt_light_grid *grid,
                                   const char *folder, uint32_t samples, uint32_t seed, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    char about[4200];
    store->view = s;
    store->picture = PELT_NEW(s->arena, 3 * (size_t)s->width * s->height, float);
    if (!store->picture) return pelt_no_memory(error);
    snprintf(store->folder, sizeof store->folder, "%s", folder);
    pelt_result result = pelt_folder_make(store->folder, error);
    if (result) return result;
    char *text = describe(s, grid, samples, seed);
    if (!text) return pelt_no_memory(error);
    snprintf(about, sizeof about, "%s/training.json", store->folder);
    result = check_or_write(about, text, error);
    free(text);
    return result;
}

bool pelt_light_frames_has(const pelt_light_frames *store, uint32_t light, uint32_t half) {
    char path[4200];
    frame_path(store, light, half, path, sizeof path);
    return pelt_file_exists(path); /* files appear whole or not at all */
}

pelt_result pelt_light_frames_write(const pelt_light_frames *store, uint32_t light, uint32_t half, const float *values,
                                    pelt_error *error) {
    char path[4200];
    const pelt_light_view *s = store->view;
    frame_path(store, light, half, path, sizeof path);
    pelt_light_view_spread(s, values, store->picture);
    return pelt_pfm_write(path, &(pelt_picture){s->width, s->height, store->picture}, error);
}

pelt_result pelt_light_frames_read(const pelt_light_frames *store, uint32_t light, uint32_t half, float *values,
                                   pelt_error *error) {
    char path[4200];
    const pelt_light_view *s = store->view;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_picture picture;
    frame_path(store, light, half, path, sizeof path);
    pelt_result result = pelt_pfm_read(arena, path, &picture, error);
    if (!result && (picture.width != s->width || picture.height != s->height))
        result = pelt_fail(error, PELT_ERROR_DATA, "%s: %u x %u pixels instead of %u x %u; remove the file", path,
                           picture.width, picture.height, s->width, s->height);
    for (size_t i = 0; !result && i < s->point_count; i++)
        memcpy(values + 3 * i, picture.rgb + 3 * (size_t)s->points[i].id, 3 * sizeof *values);
    pelt_arena_free(arena);
    return result;
}
