/* relight.c: files of key points of light, and keys at work.

   Light is proportional to the light's intensity, so misfits are judged relative to the brightness of the keys. Keys
   are gathered in two halves a, b with independent noise; with (a + b) / 2 and (a - b) / 2 the misfits m of both give
   |m(a + b)|^2 - |m(a - b)|^2 over 4 = m(a) m(b): the square of the misfit that noise has no part in. */

#include "light/relight.h"
#include "io/io.h"
#include "rig/json.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CAMERA_NUMBERS = 13 };

/* -- Files -------------------------------------------------------------------------------------------------------- */

/* A name in a file must not lead anywhere: no path from the root, none upwards. */
static bool stays_below(const char *path) {
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (*part == '/' || (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))) return false;
    return *path != 0;
}

static json_t *camera_json(const pelt_camera *c) {
    json_t *list = json_array();
    const double *parts[] = {c->eye, c->axes[0], c->axes[1], c->axes[2]};
    for (int i = 0; i < 12; i++) json_array_append_new(list, json_real(parts[i / 3][i % 3]));
    json_array_append_new(list, json_real(c->field_of_view));
    if (json_array_size(list) == CAMERA_NUMBERS) return list;
    json_decref(list);
    return NULL;
}

static bool read_camera(const json_t *list, pelt_camera *c) {
    double *parts[] = {c->eye, c->axes[0], c->axes[1], c->axes[2]};
    *c = (pelt_camera){0};
    if (!list) return true; /* an older file */
    if (json_array_size(list) != CAMERA_NUMBERS) return false;
    for (size_t i = 0; i < 12; i++) parts[i / 3][i % 3] = json_number_value(json_array_get(list, i));
    c->field_of_view = json_number_value(json_array_get(list, 12));
    return true;
}

/* Machines round differently: a camera is another when it is seen to be. */
static bool same_camera(const pelt_camera *a, const pelt_camera *b, double size) {
    double worst = fabs(a->field_of_view - b->field_of_view);
    for (int i = 0; i < 3; i++) {
        worst = fmax(worst, fabs(a->eye[i] - b->eye[i]) / size);
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(a->axes[i][k] - b->axes[i][k]));
    }
    return worst < 1e-5;
}

char *pelt_relight_text(const char *scene, const pelt_relight_about *a) {
    const pelt_light_grid *g = &a->grid;
    const char *slash = strrchr(scene, '/');
    if (!stays_below(scene)) scene = slash ? slash + 1 : "";
    json_t *about =
        json_pack("{s:{s:o, s:o, s:i, s:i, s:i, s:i, s:f, s:f, s:[ii], s:[fff], s:[fff]}}", "relight", "scene", pelt_json_text(scene),
                  "camera", camera_json(&a->camera),
                  "width", (int)a->width, "height", (int)a->height, "bounces", (int)a->bounces, "samples",
                  (int)a->samples, "noise", a->noise, "trust", a->trust, "grid", (int)g->columns, (int)g->rows, "low",
                  g->low[0], g->low[1], g->low[2], "high", g->high[0], g->high[1], g->high[2]);
    char *text = about ? pelt_json_dump(about, JSON_COMPACT) : NULL;
    json_decref(about);
    return text;
}

static bool read_about(const pelt_keys *keys, pelt_relight_about *a) {
    json_t *text = json_loads(keys->about, 0, NULL), *about = json_object_get(text, "relight");
    int width, height, bounces, samples, columns, rows;
    double low[3], high[3];
    const char *scene;
    bool good = about && !json_unpack(about, "{s:s, s:i, s:i, s:i, s:i, s:F, s:F, s:[ii], s:[FFF], s:[FFF]}", "scene",
                                      &scene, "width", &width, "height", &height, "bounces", &bounces, "samples",
                                      &samples, "noise", &a->noise, "trust", &a->trust, "grid", &columns, &rows, "low",
                                      low, low + 1, low + 2, "high", high, high + 1, high + 2);
    good = good && width > 0 && height > 0 && width <= 8192 && height <= 8192 && bounces > 0 && bounces <= 100 &&
           samples > 0 && columns > 0 && rows > 0 && columns <= 1000 && rows <= 1000 &&
           read_camera(json_object_get(about, "camera"), &a->camera);
    if (good) {
        snprintf(a->scene, sizeof a->scene, "%s", scene);
        a->width = (uint32_t)width, a->height = (uint32_t)height, a->bounces = (uint32_t)bounces;
        a->samples = (uint32_t)samples, a->grid.columns = (uint32_t)columns, a->grid.rows = (uint32_t)rows;
        for (int c = 0; c < 3; c++) a->grid.low[c] = (float)low[c], a->grid.high[c] = (float)high[c];
    }
    json_decref(text);
    return good;
}

/* Where the scene is that a .keys file names: here, or beside the file. */
static pelt_result find_scene(pelt_relight_file *file, const char *path, pelt_error *error) {
    char *scene = file->about.scene, beside[sizeof file->about.scene];
    if (!strcmp(scene, "cornell")) return PELT_OK;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0, length = strlen(scene);
    bool safe = stays_below(scene);
    if (safe && pelt_file_exists(scene)) return PELT_OK;
    if (safe && folder < sizeof beside - length) {
        memcpy(beside, path, folder);
        memcpy(beside + folder, scene, length + 1);
        if (pelt_file_exists(beside)) return memcpy(scene, beside, folder + length + 1), PELT_OK;
    }
    return pelt_fail(error, PELT_ERROR_FILE,
                     "%s: its scene, %s, is not found in this folder or beside it; name the scene after the key points",
                     path, scene);
}

pelt_result pelt_relight_open(pelt_relight_file *file, const char *path, const char *scene, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    *file = (pelt_relight_file){0};
    file->bytes = pelt_keys_read(path, &file->keys, error);
    if (!file->bytes) return error->code;
    const pelt_relight_about *about = &file->about;
    if (!read_about(&file->keys, &file->about) || file->keys.component_count != 3)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: these key points are not of light; pelt relight train makes such",
                         path);
    pelt_result result = scene ? PELT_OK : find_scene(file, path, error);
    if (!result)
        result = pelt_light_view_open(&file->view, scene ? scene : about->scene, about->width, about->height,
                                      about->bounces, error);
    if (result) return result;
    if (file->view.point_count != file->keys.point_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: it has %u points, but the camera of %s sees %zu; the scene has changed since training",
                         path, file->keys.point_count, file->view.name, file->view.point_count);
    if (about->camera.field_of_view > 0 &&
        !same_camera(&about->camera, &file->view.camera, pelt_tracer_extent(file->view.tracer).diagonal))
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: the camera of %s has moved since training; train again, or name the scene as it was",
                         path, file->view.name);
    return PELT_OK;
}

void pelt_relight_close(pelt_relight_file *file) {
    pelt_light_view_close(&file->view);
    pelt_bytes_free(file->bytes);
}

/* -- Gathering ---------------------------------------------------------------------------------------------------- */

pelt_result pelt_relight_keys_open(pelt_relight_keys *g, pelt_light_view *view, const pelt_keys *keys,
                                   pelt_error *error) {
    *g = (pelt_relight_keys){.view = view, .keys = keys};
    g->points = PELT_NEW(view->arena, keys->key_count, pelt_light_point);
    g->scratch = pelt_alloc(view->arena, pelt_keys_scratch_size(keys, 1), 1);
    g->between = PELT_NEW(view->arena, 3 * (size_t)keys->key_count, float);
    for (int h = 0; h < 2; h++) g->values[h] = PELT_NEW(view->arena, 3 * (size_t)keys->key_count, float);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    for (uint32_t k = 0; k < keys->key_count; k++) g->points[k] = view->points[keys->key_points[k]];
    return PELT_OK;
}

pelt_result pelt_relight_solve(pelt_relight_keys *g, pelt_relight_frame *frame, pelt_error *error) {
    pelt_misfit noisy, noise;
    size_t count = g->keys->key_count;
    double square = 0;
    pelt_result result = pelt_tracer_set_light(g->view->tracer, &frame->light, error);
    if (result) return result;
    for (uint32_t h = 0; h < 2; h++) {
        pelt_gather_options options = {.samples = (frame->samples + 1) / 2,
                                       .bounces = g->view->bounces,
                                       .seed = 2 * frame->seed + h,
                                       .threads = frame->threads};
        result = pelt_gather(g->view->tracer, g->points, count, &options, NULL, g->values[h], NULL, error);
        if (result) return result;
    }
    for (size_t i = 0; i < 3 * count; i++) {
        float a = g->values[0][i], b = g->values[1][i];
        g->values[0][i] = (a + b) / 2;
        g->between[i] = (a - b) / 2;
        square += (double)g->values[0][i] * g->values[0][i];
    }
    pelt_keys_solve(g->keys, g->between, 1, g->scratch, &noise);
    pelt_keys_solve(g->keys, g->values[0], 1, g->scratch, &noisy);
    double clean = (double)noisy.rms * noisy.rms - (double)noise.rms * noise.rms;
    frame->misfit = square > 0 ? sqrt(fmax(clean, 0) / (square / (double)count)) : 0;
    return PELT_OK;
}

enum { FILL_BLOCKS = 256 };

typedef struct filling {
    const pelt_relight_keys *g;
    float *values;
} filling;

static void fill_part(void *user, size_t part, pelt_arena *scratch) {
    (void)scratch;
    const filling *f = user;
    uint32_t first = (uint32_t)part * FILL_BLOCKS, left = f->g->keys->block_count - first;
    pelt_keys_fill(f->g->keys, f->g->scratch, 1, (pelt_range){first, left < FILL_BLOCKS ? left : FILL_BLOCKS},
                   f->values);
}

/* Light is never negative, though A b may be, by rounding or near black. */
pelt_result pelt_relight_fill(const pelt_relight_keys *g, uint32_t threads, float *values, pelt_error *error) {
    filling f = {g, values};
    if (!pelt_parallel(NULL, threads, (g->keys->block_count + FILL_BLOCKS - 1) / FILL_BLOCKS, fill_part, &f))
        return pelt_no_memory(error);
    for (size_t i = 0; i < 3 * (size_t)g->keys->point_count; i++) values[i] = values[i] > 0 ? values[i] : 0;
    return PELT_OK;
}

/* Multiples of the powers of the plastic number's inverse: the square's counterpart of the golden ratio. */
double pelt_relight_random(uint32_t i, int coordinate) {
    double x = 0.5 + (i + 1.0) * (coordinate ? 0.5698402909980532 : 0.7548776662466927);
    return x - floor(x);
}
