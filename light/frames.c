/* frames.c: training frames as pictures in a folder, one per frame and half of the samples, with a text that records
   what they were gathered from. */

#include "light/frames.h"
#include "light/facts.h"
#include "io/io.h"
#include "io/pfm.h"
#include "rig/json.h"
#include "rig/ranks.h"
#include "rig/text.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t pelt_light_frame_seed(uint32_t seed, uint32_t frame, uint32_t half) {
    return seed * 0x10000u + 2 * frame + half;
}

static void frame_path(const pelt_light_frames *store, uint32_t frame, uint32_t half, char *path, size_t size) {
    snprintf(path, size, "%s/light-%04u-%c.pfm", store->folder, frame, half ? 'b' : 'a');
}

/* -- What frames depend on ----------------------------------------------------------------------------------------- */

/* 64-bit FNV hash. */
static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* A hash of everything that light at the points depends on and that the text does not spell out: surfaces, fixed
   lights, the moving light (except its position, which comes from the grid), and the camera. */
static uint64_t view_hash(const pelt_light_view *s) {
    const pelt_scene *scene = s->scene;
    pelt_light moving = s->light;
    memset(moving.position, 0, sizeof moving.position);
    uint64_t hash = 0xcbf29ce484222325u;
    hash = hash_more(hash, s->rest, scene->vertex_count * 3 * sizeof *s->rest);
    hash = hash_more(hash, scene->triangles, scene->triangle_count * 3 * sizeof *scene->triangles);
    hash = hash_more(hash, scene->triangle_materials, scene->triangle_count * sizeof *scene->triangle_materials);
    hash = hash_more(hash, scene->materials, scene->material_count * sizeof *scene->materials);
    hash = hash_more(hash, scene->lights, scene->light_count * sizeof *scene->lights);
    hash = hash_more(hash, &moving, sizeof moving);
    return hash_more(hash, &s->own_camera, sizeof s->own_camera);
}

/* What moves, including which vertices a name moves, and where points are if they are not the pixels of a fixed
   camera. */
static bool add_arrangement(const pelt_light_view *s, json_t *text) {
    const pelt_light_arrangement *a = &s->arrangement;
    const pelt_scene *scene = s->scene;
    if (!s->transforms) return true;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < scene->object_count; i++)
        hash = hash_more(hash, scene->object_names[i], strlen(scene->object_names[i]) + 1);
    hash = hash_more(hash, scene->object_parents, scene->object_count * sizeof *scene->object_parents);
    if (scene->vertex_objects)
        hash = hash_more(hash, scene->vertex_objects, scene->vertex_count * sizeof *scene->vertex_objects);
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    bool good = !json_object_update_new(text, pelt_json_pack("{object_hash:s, moves:o, map:[u u]}", digits,
                                                             pelt_light_moves_json(a), s->map_width, s->map_height));
    return good && (!a->surfaces || !json_object_set_new(text, "seen", json_string(a->seen)));
}

static char *describe(const pelt_light_view *s, const pelt_light_grid *grid, uint32_t samples, uint32_t seed) {
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)view_hash(s));
    json_t *text = pelt_json_pack("{scene:s, view_hash:s, points:z, width:u, height:u, columns:u, rows:u, low:v3, "
                                  "high:v3, samples:u, bounces:u, seed:u}",
                                  pelt_base_name(s->name), hash, s->point_count, s->width, s->height, grid->columns,
                                  grid->rows, grid->low, grid->high, samples, s->bounces, seed);
    char *dump =
        text && add_arrangement(s, text) ? pelt_json_dump(text, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(text);
    return dump;
}

/* -- The folder ---------------------------------------------------------------------------------------------------- */

/* Frames whose text is missing or damaged could come from anything. */
static pelt_result remove_frames(const pelt_light_frames *store, uint32_t frames, pelt_error *error) {
    char path[4200];
    for (uint32_t i = 0; i < 2 * frames; i++) {
        frame_path(store, i / 2, i % 2, path, sizeof path);
        pelt_result result = pelt_file_remove(path, error);
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result check_or_write(const pelt_light_frames *store, uint32_t frames, const char *text,
                                  pelt_error *error) {
    char path[4200];
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    snprintf(path, sizeof path, "%s/training.json", store->folder);
    pelt_result result = pelt_file_exists(path) ? pelt_file_read(arena, path, &file, error) : PELT_ERROR_FORMAT;
    if (!result) {
        json_t *there = json_loadb((const char *)file.bytes, file.size, 0, NULL);
        if (!there)
            result = PELT_ERROR_FORMAT;
        else if (strcmp((const char *)file.bytes, text) != 0)
            result = pelt_fail(error, PELT_ERROR_DATA,
                               "%s: its frames were gathered with another scene, camera, move, grid, size, seed or "
                               "number of samples; remove the folder, or name another output",
                               path);
        json_decref(there);
    }
    pelt_rank_wait(); /* all have looked before the first one writes */
    if (result == PELT_ERROR_FORMAT) {
        result = remove_frames(store, frames, error);
        if (!result) result = pelt_bytes_write(&(pelt_bytes){(void *)text, strlen(text)}, path, error);
    }
    pelt_arena_free(arena);
    return result;
}

pelt_result pelt_light_frames_open(pelt_light_frames *store, const pelt_light_view *s, const pelt_light_grid *grid,
                                   const char *folder, uint32_t samples, uint32_t seed, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    store->view = s;
    store->picture = PELT_NEW(s->arena, 3 * (size_t)s->map_width * s->map_height, float);
    if (!store->picture) return pelt_no_memory(error);
    if ((size_t)snprintf(store->folder, sizeof store->folder, "%s", folder) >= sizeof store->folder)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%.100s...: the name of the folder is too long", folder);
    pelt_result result = pelt_folder_make(store->folder, error);
    if (result) return result;
    char *text = describe(s, grid, samples, seed);
    if (!text) return pelt_no_memory(error);
    result = check_or_write(store, grid->columns * grid->rows * pelt_light_place_count(s), text, error);
    free(text);
    return result;
}

pelt_result pelt_light_frames_write(const pelt_light_frames *store, uint32_t frame, uint32_t half, const float *values,
                                    pelt_error *error) {
    char path[4200];
    const pelt_light_view *s = store->view;
    frame_path(store, frame, half, path, sizeof path);
    pelt_light_spread(s->points, s->point_count, values, (size_t)s->map_width * s->map_height, store->picture);
    return pelt_pfm_write(path, &(pelt_picture){s->map_width, s->map_height, store->picture}, error);
}

pelt_result pelt_light_frames_read(const pelt_light_frames *store, uint32_t frame, uint32_t half, float *values,
                                   pelt_error *error) {
    char path[4200];
    const pelt_light_view *s = store->view;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_picture picture;
    frame_path(store, frame, half, path, sizeof path);
    pelt_result result = pelt_pfm_read(arena, path, &picture, error);
    if (!result && (picture.width != s->map_width || picture.height != s->map_height))
        result = pelt_fail(error, PELT_ERROR_FORMAT, "%s: %u x %u pixels instead of %u x %u; remove the file", path,
                           picture.width, picture.height, s->map_width, s->map_height);
    for (size_t i = 0; !result && i < s->point_count; i++)
        memcpy(values + 3 * i, picture.rgb + 3 * (size_t)s->points[i].id, 3 * sizeof *values);
    pelt_arena_free(arena);
    return result;
}

pelt_result pelt_light_frames_find(const pelt_light_frames *store, uint32_t frame, uint32_t half, float *values,
                                   bool *found, pelt_error *error) {
    char path[4200];
    *found = false;
    frame_path(store, frame, half, path, sizeof path);
    if (!pelt_file_exists(path)) return PELT_OK;
    pelt_result result = pelt_light_frames_read(store, frame, half, values, error);
    *found = !result;
    bool damaged = result == PELT_ERROR_FORMAT || result == PELT_ERROR_TRUNCATED || result == PELT_ERROR_NUMBER;
    return damaged ? PELT_OK : result;
}
