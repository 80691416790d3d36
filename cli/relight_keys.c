/* relight_keys.c: key points of light at work.

   Light is proportional to the light's intensity, so misfits are judged relative to the brightness of the keys. Keys
   are gathered in two halves a, b with independent noise; with (a + b) / 2 and (a - b) / 2 the misfits m of both give
   |m(a + b)|^2 - |m(a - b)|^2 over 4 = m(a) m(b): the square of the misfit that noise has no part in. */

#include "cli/relight_keys.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Files -------------------------------------------------------------------------------------------------------- */

pelt_result relight_describe(pelt_skin_bytes *bytes, const char *scene, const relight_about *a, pelt_error *error) {
    pelt_keys keys;
    const light_grid *g = &a->grid;
    pelt_result result = pelt_keys_open(bytes->bytes, bytes->size, &keys);
    if (result) return pelt_fail(error, result, "the key points cannot be opened");
    json_t *about = json_loads(keys.about, 0, NULL);
    if (!about) about = json_object();
    json_object_set_new(about, "relight",
                        json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:[ii], s:[fff], s:[fff]}", "scene", scene,
                                  "width", (int)a->width, "height", (int)a->height, "bounces", (int)a->bounces,
                                  "samples", (int)a->samples, "noise", a->noise, "trust", a->trust, "grid",
                                  (int)g->columns, (int)g->rows, "low", g->low[0], g->low[1], g->low[2], "high",
                                  g->high[0], g->high[1], g->high[2]));
    char *text = json_dumps(about, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(about);
    if (!text) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    result = pelt_skin_set_about(bytes, text, error); /* both files have the same container */
    free(text);
    return result;
}

static bool read_about(const pelt_keys *keys, relight_about *a) {
    json_t *text = json_loads(keys->about, 0, NULL), *about = json_object_get(text, "relight");
    int width, height, bounces, samples, columns, rows;
    double low[3], high[3];
    const char *scene;
    bool good = about && !json_unpack(about, "{s:s, s:i, s:i, s:i, s:i, s:F, s:F, s:[ii], s:[FFF], s:[FFF]}", "scene",
                                      &scene, "width", &width, "height", &height, "bounces", &bounces, "samples",
                                      &samples, "noise", &a->noise, "trust", &a->trust, "grid", &columns, &rows, "low",
                                      low, low + 1, low + 2, "high", high, high + 1, high + 2);
    good = good && width > 0 && height > 0 && width <= 8192 && height <= 8192 && bounces > 0 && bounces <= 100 &&
           columns > 0 && rows > 0;
    if (good) {
        snprintf(a->scene, sizeof a->scene, "%s", scene);
        a->width = (uint32_t)width, a->height = (uint32_t)height, a->bounces = (uint32_t)bounces;
        a->samples = (uint32_t)samples, a->grid.columns = (uint32_t)columns, a->grid.rows = (uint32_t)rows;
        for (int c = 0; c < 3; c++) a->grid.low[c] = (float)low[c], a->grid.high[c] = (float)high[c];
    }
    json_decref(text);
    return good;
}

bool relight_open(relight_file *file, relight_about *about, stage *s, const char *path, const char *scene) {
    pelt_error error;
    *s = (stage){0};
    file->bytes = pelt_keys_read(path, &file->keys, &error);
    if (!file->bytes) return cli_error(&error), false;
    if (!read_about(&file->keys, about) || file->keys.component_count != 3)
        return cli_fail("%s: these key points are not of light; pelt relight train makes such", path), false;
    if (!stage_open(s, scene ? scene : about->scene, about->width, about->height, about->bounces)) return false;
    if (s->point_count == file->keys.point_count) return true;
    cli_fail("%s: it has %u points, but the camera of %s sees %zu; the scene has changed since training", path,
             file->keys.point_count, s->name, s->point_count);
    return false;
}

void relight_close(relight_file *file, stage *s) {
    stage_close(s);
    pelt_skin_free(file->bytes);
}

/* -- Gathering ---------------------------------------------------------------------------------------------------- */

bool relight_gatherer_open(relight_gatherer *g, stage *s, const pelt_keys *keys) {
    *g = (relight_gatherer){.stage = s, .keys = keys};
    g->points = PELT_NEW(s->arena, keys->key_count, pelt_light_point);
    g->scratch = pelt_alloc(s->arena, pelt_keys_scratch_size(keys, 1), 1);
    g->between = PELT_NEW(s->arena, 3 * (size_t)keys->key_count, float);
    for (int h = 0; h < 2; h++) g->values[h] = PELT_NEW(s->arena, 3 * (size_t)keys->key_count, float);
    if (!g->points || !g->scratch || !g->between || !g->values[0] || !g->values[1])
        return cli_fail("not enough memory"), false;
    for (uint32_t k = 0; k < keys->key_count; k++) g->points[k] = s->points[keys->key_points[k]];
    return true;
}

int relight_solve(relight_gatherer *g, relight_frame *frame) {
    pelt_error error;
    pelt_misfit noisy, noise;
    size_t count = g->keys->key_count;
    double square = 0;
    if (pelt_tracer_set_light(g->stage->tracer, &frame->light, &error)) return cli_error(&error);
    for (uint32_t h = 0; h < 2; h++) {
        pelt_gather_options options = {.samples = (frame->samples + 1) / 2,
                                       .bounces = g->stage->bounces,
                                       .seed = 2 * frame->seed + h,
                                       .threads = frame->threads};
        pelt_gather(g->stage->tracer, g->points, count, &options, NULL, g->values[h]);
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
    return CLI_DONE;
}

enum { FILL_BLOCKS = 256 };

typedef struct filling {
    const relight_gatherer *g;
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
void relight_fill(const relight_gatherer *g, uint32_t threads, float *values) {
    filling f = {g, values};
    pelt_parallel(NULL, threads, (g->keys->block_count + FILL_BLOCKS - 1) / FILL_BLOCKS, fill_part, &f);
    for (size_t i = 0; i < 3 * (size_t)g->keys->point_count; i++) values[i] = values[i] > 0 ? values[i] : 0;
}

/* Multiples of the powers of the plastic number's inverse: the square's counterpart of the golden ratio. */
double relight_random(uint32_t i, int coordinate) {
    double x = 0.5 + (i + 1.0) * (coordinate ? 0.5698402909980532 : 0.7548776662466927);
    return x - floor(x);
}

/* -- Lights ------------------------------------------------------------------------------------------------------- */

bool relight_set_kind(const stage *s, const char *kind, pelt_light *light) {
    float side = 0.1f * pelt_tracer_extent(s->tracer).diagonal;
    if (!strcmp(kind, "point")) {
        light->kind = PELT_LIGHT_POINT;
    } else if (!strcmp(kind, "spot")) {
        light->kind = PELT_LIGHT_SPOT;
        light->inner_cone = 0.4f, light->outer_cone = 0.7f;
        light->direction[0] = light->direction[2] = 0, light->direction[1] = -1;
        light->intensity *= 8; /* a sphere holds about 8 such cones */
    } else if (!strcmp(kind, "area")) {
        light->kind = PELT_LIGHT_AREA;
        memset(light->edges, 0, sizeof light->edges);
        light->edges[0][0] = side, light->edges[1][2] = side; /* x cross z: downwards */
        light->position[0] -= side / 2, light->position[2] -= side / 2;
        light->intensity *= 4 / (side * side); /* pi area radiance = 4 pi intensity */
    } else {
        return false;
    }
    return true;
}

bool relight_light(const cli_args *args, const stage *s, pelt_light *light) {
    const char *place = cli_value(args, "light"), *color = cli_value(args, "color"), *kind = cli_value(args, "kind");
    int taken = 0;
    double falloff = 2;
    *light = s->light;
    float *p = light->position, *c = light->color;
    if (!place || sscanf(place, "%f,%f,%f%n", p, p + 1, p + 2, &taken) != 3 || place[taken])
        return cli_misuse(args, "--light X,Y,Z says where the light is; three numbers are meant"), false;
    if (color && (sscanf(color, "%f,%f,%f%n", c, c + 1, c + 2, &taken) != 3 || color[taken]))
        return cli_misuse(args, "--color %s: three numbers such as 1,0.5,0.2 are meant", color), false;
    if (kind && !relight_set_kind(s, kind, light))
        return cli_misuse(args, "--kind %s: point, spot or area is meant", kind), false;
    if (!cli_number(args, "falloff", 0, 4, &falloff)) return false;
    light->falloff = falloff > 0 ? (float)falloff : -1;
    return true;
}
