/* picture.c: a picture from the light at the key points, or from all points if the keys report a light unlike any in
   the training. And tone mapping of linear light. */

#include "light/relight.h"
#include "rig/clock.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>

typedef struct running {
    pelt_light_view *view;
    const pelt_relight_file *file;
    const pelt_relight_shot *shot;
    pelt_relight_result *result;
    float *direct, *indirect, *gathered; /* [pixels][3] */
    float *values;                       /* [point_count][3] */
} running;

static pelt_result run_keys(running *r, pelt_error *error) {
    const pelt_relight_shot *shot = r->shot;
    pelt_relight_keys keys;
    pelt_relight_frame frame = {.light = shot->light,
                                .samples = shot->key_samples ? shot->key_samples : 256,
                                .seed = shot->seed,
                                .threads = shot->threads};
    double start = pelt_wall_seconds();
    pelt_result result = pelt_relight_keys_open(&keys, r->view, &r->file->keys, error);
    if (!result) result = pelt_relight_solve(&keys, &frame, error);
    if (!result) result = pelt_relight_fill(&keys, shot->threads, r->values, error);
    if (result) return result;
    pelt_light_view_show(r->view, r->values, r->indirect);
    r->result->key_seconds = pelt_wall_seconds() - start;
    r->result->misfit = frame.misfit;
    r->result->beyond = pelt_light_grid_beyond(&r->file->facts.grid, shot->light.position);
    r->result->trust = pelt_soft_cache_trust(&(pelt_soft_cache_options){.e_min = 1, .e_max = 1.5f},
                                             (float)(frame.misfit / r->file->facts.trust));
    return PELT_OK;
}

static pelt_result gather(const running *r, uint32_t samples, uint32_t seed, float *direct, float *indirect,
                          pelt_error *error) {
    pelt_gather_options options = {
        .samples = samples, .bounces = r->view->bounces, .seed = seed + r->shot->seed, .threads = r->shot->threads};
    return pelt_gather(r->view->tracer, r->view->pixels, r->view->pixel_count, &options, direct, indirect, NULL, error);
}

/* Pixels on surfaces that training has not seen are gathered individually. */
static pelt_result gather_bare(running *r, pelt_error *error) {
    const pelt_light_view *view = r->view;
    size_t *bare = PELT_NEW(view->arena, view->pixel_count, size_t), count = 0;
    pelt_light_point *points = PELT_NEW(view->arena, view->pixel_count, pelt_light_point);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    for (size_t i = 0; i < view->pixel_count; i++)
        if (!pelt_light_view_knows(view, i)) points[count] = view->pixels[i], bare[count++] = i;
    r->result->bare = count;
    if (!count) return PELT_OK;
    pelt_gather_options options = {.samples = r->shot->samples,
                                   .bounces = view->bounces,
                                   .seed = 0x60000000u + r->shot->seed,
                                   .threads = r->shot->threads};
    pelt_result result = pelt_gather(view->tracer, points, count, &options, NULL, r->gathered, NULL, error);
    for (size_t i = 0; i < 3 * count && !result; i++) r->indirect[3 * bare[i / 3] + i % 3] = r->gathered[i];
    return result;
}

static pelt_result go_to_place(running *r, pelt_error *error) {
    double start = pelt_wall_seconds();
    pelt_result result = r->file && !r->shot->full ? pelt_light_place_check(r->view, &r->shot->place, error) : PELT_OK;
    if (!result) result = pelt_light_view_place(r->view, &r->shot->place, error);
    if (!result) result = pelt_light_view_look(r->view, r->shot->threads, error);
    r->result->look_seconds = pelt_wall_seconds() - start;
    return result;
}

/* All points, blended with the keys' result. */
static pelt_result run_all(running *r, pelt_error *error) {
    double start = pelt_wall_seconds(), trust = r->result->trust;
    pelt_result result = gather(r, r->shot->samples, 0x60000000u, NULL, r->gathered, error);
    if (result) return result;
    for (size_t i = 0; i < 3 * r->view->pixel_count; i++)
        r->indirect[i] = (float)(trust * r->indirect[i] + (1 - trust) * r->gathered[i]);
    r->result->full_seconds = pelt_wall_seconds() - start;
    return PELT_OK;
}

static void compose(const running *r, float *picture) {
    const pelt_light_view *view = r->view;
    for (size_t i = 0; i < 3 * (size_t)view->width * view->height; i++) picture[i] = 0;
    for (size_t i = 0; i < view->pixel_count; i++)
        for (int c = 0; c < 3; c++) {
            float light = r->shot->part == PELT_RELIT_DIRECT ? r->direct[3 * i + c] : r->indirect[3 * i + c];
            if (r->shot->part == PELT_RELIT_ALL)
                light = view->pixels[i].albedo[c] * (light + r->direct[3 * i + c]) + view->pixels[i].emission[c];
            picture[3 * (size_t)view->pixels[i].id + c] = light;
        }
}

pelt_result pelt_relight_picture(pelt_light_view *view, const pelt_relight_file *file, const pelt_relight_shot *shot,
                                 float *picture, pelt_relight_result *out, pelt_error *error) {
    running r = {view, file, shot, out, NULL, NULL, NULL, NULL};
    *out = (pelt_relight_result){0};
    if ((shot->key_samples && pelt_check_range("key_samples", shot->key_samples, 32, 1u << 20, error)) ||
        (shot->samples && pelt_check_range("samples", shot->samples, 1, 1u << 20, error)))
        return PELT_ERROR_ARGUMENT;
    float **buffers[] = {&r.direct, &r.indirect, &r.gathered};
    for (int i = 0; i < 3; i++) *buffers[i] = PELT_NEW(view->arena, 3 * (size_t)view->width * view->height, float);
    r.values = PELT_NEW(view->arena, 3 * view->point_count, float);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    pelt_result result = view->transforms ? go_to_place(&r, error) : PELT_OK;
    if (!result) result = pelt_tracer_set_light(view->tracer, &shot->light, error);
    if (!result && !shot->full && file) result = run_keys(&r, error);
    if (!result && !shot->full && file && view->surfaces) result = gather_bare(&r, error);
    if (!result && out->trust < 1 && !shot->no_fallback) result = run_all(&r, error);
    if (!result && shot->part != PELT_RELIT_INDIRECT) result = gather(&r, 16, 0x50000000u, r.direct, NULL, error);
    if (result) return result;
    compose(&r, picture);
    out->dark = true; /* black keys fit any basis, so the misfit is meaningless */
    for (size_t i = 0; i < 3 * view->pixel_count; i++) out->dark = out->dark && !(r.indirect[i] > 0);
    return PELT_OK;
}

/* -- Tone mapping --------------------------------------------------------------------------------------------------- */

/* A few thousand values are enough. */
float pelt_light_white(const float *picture, size_t pixel_count) {
    enum { TAKEN = 4096 };
    float taken[TAKEN];
    size_t count = 3 * pixel_count, used = count < TAKEN ? count : TAKEN;
    for (size_t i = 0; i < used; i++) taken[i] = picture[i * count / used];
    qsort(taken, used, sizeof *taken, pelt_rising_floats);
    float white = used ? taken[used * 98 / 100] : 0;
    return white > 0 ? white : 1;
}

uint8_t pelt_light_srgb(float value, float white) {
    double x = fmin(fmax(value / white, 0), 1);
    double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (uint8_t)(255 * coded + 0.5);
}
