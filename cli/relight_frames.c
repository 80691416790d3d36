/* relight_frames.c: training frames as pictures in a folder, one for each light and half of the samples, with a text
   that says what they were gathered from. */

#include "cli/relight_frames.h"
#include "io/io.h"
#include "io/pfm.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint32_t frame_seed(uint32_t seed, uint32_t light, uint32_t half) { return seed * 0x10000u + 2 * light + half; }

static void frame_path(const frame_store *store, uint32_t light, uint32_t half, char *path, size_t size) {
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

static char *describe(const stage *s, const light_grid *grid, uint32_t samples, uint32_t seed) {
    json_t *text = json_pack(
        "{s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:[fff], s:[fff], s:i, s:i, s:i, s:I}", "scene", cli_base_name(s->name),
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
    struct stat info;
    pelt_result result;
    if (stat(path, &info) != 0) {
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

bool frame_store_open(frame_store *store, const stage *s, const light_grid *grid, const char *path, uint32_t samples,
                      uint32_t seed) {
    pelt_error error;
    char about[4200];
    store->stage = s;
    store->picture = PELT_NEW(s->arena, 3 * (size_t)s->width * s->height, float);
    if (!store->picture) return cli_fail("not enough memory"), false;
    snprintf(store->folder, sizeof store->folder, "%s.frames", path);
    if (mkdir(store->folder, 0777) && errno != EEXIST)
        return cli_fail("%s: the folder cannot be made: %s", store->folder, strerror(errno)), false;
    char *text = describe(s, grid, samples, seed);
    if (!text) return cli_fail("not enough memory"), false;
    snprintf(about, sizeof about, "%s/training.json", store->folder);
    pelt_result result = check_or_write(about, text, &error);
    free(text);
    if (result) cli_error(&error);
    return result == PELT_OK;
}

bool frame_store_has(const frame_store *store, uint32_t light, uint32_t half) {
    char path[4200];
    struct stat info;
    frame_path(store, light, half, path, sizeof path);
    return stat(path, &info) == 0; /* files appear whole or not at all */
}

pelt_result frame_store_write(const frame_store *store, uint32_t light, uint32_t half, const float *values,
                              pelt_error *error) {
    char path[4200];
    const stage *s = store->stage;
    frame_path(store, light, half, path, sizeof path);
    stage_spread(s, values, store->picture);
    return pelt_pfm_write(path, &(pelt_picture){s->width, s->height, store->picture}, error);
}

pelt_result frame_store_read(const frame_store *store, uint32_t light, uint32_t half, float *values,
                             pelt_error *error) {
    char path[4200];
    const stage *s = store->stage;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_picture picture;
    if (!arena) return pelt_fail(error, PELT_ERROR_MEMORY, "out of memory");
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
