/* train.c: training key points of light.

   A frame is one light of the grid at one position of the moving objects. Each is gathered twice, with half of the
   samples and different random numbers. The halves are pictures in a folder, written as they are done: interrupted
   training resumes where it stopped, and the halves tell the denoiser what is light and what is noise. */

#include "light/facts.h"
#include "light/denoise.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

typedef pelt_relight_training training;

/* -- Frames -------------------------------------------------------------------------------------------------------- */

static pelt_result resolve(pelt_relight_options *o, pelt_error *error) {
    if (!o->samples) o->samples = 64;
    if (!o->keys) o->keys = 200;
    if (!o->basis) o->basis = 32;
    if (!o->key_samples) o->key_samples = 256;
    pelt_result result = pelt_light_grid_check(&o->grid, error);
    if (!result) result = pelt_check_range("samples", o->samples, 32, 1u << 20, error);
    if (!result) result = pelt_check_range("keys", o->keys, 4, 10000, error);
    if (!result) result = pelt_check_range("basis", o->basis, 1, 512, error);
    return result ? result : pelt_check_range("key_samples", o->key_samples, 16, 1u << 20, error);
}

pelt_result pelt_relight_begin(training *t, pelt_light_view *view, const pelt_relight_options *options,
                               const char *folder, pelt_error *error) {
    *t = (training){.view = view, .options = *options};
    pelt_result result = resolve(&t->options, error);
    if (result) return result;
    uint64_t frames = (uint64_t)options->grid.columns * options->grid.rows * pelt_light_place_count(view);
    if (frames > 1000000)
        return pelt_fail_option(error, "lights", "%llu training frames exceed the limit of 1000000; use fewer",
                                (unsigned long long)frames);
    result =
        pelt_light_frames_open(&t->frames, view, &t->options.grid, folder, t->options.samples, t->options.seed, error);
    if (result) return result;
    t->gather_count = 2 * (uint32_t)frames;
    t->there = PELT_NEW(view->arena, t->gather_count, bool);
    float *values = PELT_NEW(view->arena, 3 * view->point_count, float);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    for (uint32_t i = 0; i < t->gather_count && !result; i++) {
        result = pelt_light_frames_find(&t->frames, i / 2, i % 2, values, &t->there[i], error);
        t->missing += !t->there[i];
    }
    return result;
}

/* Lights vary fastest, so that objects rarely move. */
static pelt_result gather_half(training *t, uint32_t frame, uint32_t half, float *values, pelt_error *error) {
    uint32_t lights = t->options.grid.columns * t->options.grid.rows;
    pelt_light lamp = pelt_light_grid_light(t->view, &t->options.grid, frame % lights);
    pelt_light_place place = pelt_light_place_of(t->view, frame / lights);
    pelt_gather_options options = {.samples = t->options.samples / 2,
                                   .bounces = t->view->bounces,
                                   .seed = pelt_light_frame_seed(t->options.seed, frame, half),
                                   .threads = t->options.threads};
    pelt_result result = pelt_light_view_place(t->view, &place, error);
    if (!result) result = pelt_tracer_set_light(t->view->tracer, &lamp, error);
    if (!result)
        result =
            pelt_gather(t->view->tracer, t->view->points, t->view->point_count, &options, NULL, values, NULL, error);
    return result ? result : pelt_light_frames_write(&t->frames, frame, half, values, error);
}

pelt_result pelt_relight_gather(training *t, pelt_error *error) {
    float *values = PELT_NEW(t->view->arena, 3 * t->view->point_count, float);
    if (!values) return pelt_no_memory(error);
    pelt_rank_wait(); /* all know which frames were there */
    for (uint32_t i = 0; i < t->gather_count; i++) {
        if (t->there[i]) continue;
        pelt_rank_keeps(true);
        pelt_result result =
            i % pelt_rank_count() == pelt_rank() ? gather_half(t, i / 2, i % 2, values, error) : PELT_OK;
        pelt_rank_keeps(false);
        if (result) return result;
        t->missing--, t->there[i] = true;
        if (pelt_should_stop(&t->options.progress, "lights", 1 - (double)t->missing / t->gather_count))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    }
    pelt_rank_wait(); /* all frames are there */
    return PELT_OK;
}

/* -- Key points ---------------------------------------------------------------------------------------------------- */

static pelt_result read_half(void *user, uint32_t frame, uint32_t half, float *values, pelt_error *error) {
    const training *t = user;
    return pelt_light_frames_read(&t->frames, frame, half, values, error);
}

static pelt_result read_clean(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_clean_frames *clean = user;
    (void)error;
    for (uint32_t i = 0; i < count; i++) pelt_clean_frame(clean, first + i, values + 3 * clean->point_count * i);
    return PELT_OK;
}

/* The misfit of the keys for new lights in the plane, at new positions of the moving objects: the threshold up to which
   the soft cache should trust them. */
static pelt_result find_trust(training *t, const pelt_keys *keys, double *trust, pelt_error *error) {
    pelt_relight_keys k;
    *trust = 0;
    pelt_result result = pelt_relight_keys_open(&k, t->view, keys, error);
    for (uint32_t i = 0; i < 32 && !result; i++) {
        pelt_relight_frame frame = {.light = pelt_light_grid_at(t->view, &t->options.grid, pelt_relight_random(i, 0),
                                                                pelt_relight_random(i, 1)),
                                    .samples = t->options.key_samples,
                                    .seed = 0x70000000u + i,
                                    .threads = t->options.threads};
        pelt_light_place place = pelt_relight_random_place(t->view, i);
        result = pelt_light_view_place(t->view, &place, error);
        if (!result) result = pelt_relight_solve(&k, &frame, error);
        *trust = fmax(*trust, frame.misfit);
    }
    *trust *= 1.25;
    return result;
}

/* The file's description of its light. */
typedef struct describing {
    training *t;
    double noise;
} describing;

/* Of a scene elsewhere only the file name is stored. */
static pelt_result describe(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error) {
    const describing *d = user;
    const pelt_light_view *view = d->t->view;
    pelt_relight_facts facts = {.width = view->width,
                                .height = view->height,
                                .bounces = view->bounces,
                                .samples = d->t->options.samples,
                                .noise = d->noise,
                                .grid = d->t->options.grid,
                                .camera = view->own_camera,
                                .arrangement = view->arrangement};
    const char *slash = strrchr(view->name, '/');
    double slack[PELT_LIGHT_MARKS];
    snprintf(facts.scene, sizeof facts.scene, "%s",
             pelt_light_stays_below(view->name) ? view->name
             : slash                            ? slash + 1
                                                : "");
    pelt_light_marks(view, facts.marks, slack);
    pelt_result result = find_trust(d->t, keys, &facts.trust, error);
    return result ? result : pelt_relight_describe(&facts, words, error);
}

/* A key gathered with N paths has the noise of the frames times sqrt(samples / N); as the ridge of the map, its square
   makes the map the best linear estimate. */
static pelt_bytes *train_keys(training *t, pelt_clean_frames *clean, pelt_keys_report *report, pelt_error *error) {
    const pelt_light_view *view = t->view;
    const pelt_relight_options *o = &t->options;
    uint32_t points = (uint32_t)view->point_count, keys = o->keys < points ? o->keys : points;
    float *positions = PELT_NEW(view->arena, 3 * view->point_count, float);
    uint32_t *shots = PELT_NEW(view->arena, clean->frame_count, uint32_t);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error), NULL;
    for (uint32_t i = 0; i < clean->frame_count; i++) shots[i] = i; /* lights are not a sequence in time */
    for (size_t p = 0; p < points; p++) memcpy(positions + 3 * p, view->points[p].position, 3 * sizeof(float));
    double square = 0;
    for (size_t i = 0; i < (size_t)clean->rank * clean->point_count; i++)
        square += (double)clean->pictures[i] * clean->pictures[i];
    describing about = {t, clean->noise};
    pelt_frames frames = {.frame_count = clean->frame_count,
                          .point_count = points,
                          .component_count = 3,
                          .read = read_clean,
                          .user = clean,
                          .name = view->name,
                          .shots = shots};
    pelt_keys_options options = {.keys = keys,
                                 .basis = o->basis < 3 * clean->frame_count ? o->basis : 3 * clean->frame_count,
                                 .grid = o->keys / 4 < keys ? o->keys / 4 : 0,
                                 .uncentred = true,
                                 .shared = true,
                                 .exact = true,
                                 .ridge = fmin(clean->noise * clean->noise * o->samples / o->key_samples, 1),
                                 .positions = positions,
                                 .diagonal = sqrt(square / ((double)clean->frame_count * (double)clean->point_count)),
                                 .bar = 0.5,
                                 .seed = o->seed,
                                 .describe = describe,
                                 .describe_user = &about,
                                 .progress = o->progress};
    return pelt_keys_train(&frames, &options, report, error);
}

pelt_bytes *pelt_relight_train(training *t, pelt_relight_report *report, pelt_error *error) {
    pelt_clean_frames clean;
    const pelt_light_view *view = t->view;
    pelt_halves halves = {t->gather_count / 2, read_half, t};
    pelt_denoise_options options = {.points = view->points,
                                    .point_count = view->point_count,
                                    .width = view->map_width,
                                    .height = view->map_height,
                                    .pictures = t->options.basis > 64 ? t->options.basis : 64,
                                    .no_smoothing = view->transforms && !view->surfaces,
                                    .threads = t->options.threads,
                                    .progress = t->options.progress};
    pelt_light_place start = pelt_light_place_of(view, 0); /* gathering may have left it elsewhere */
    if (pelt_light_view_place(t->view, &start, error)) return NULL;
    if (pelt_denoise(view->arena, &halves, &options, &clean, error)) return NULL;
    *report = (pelt_relight_report){.noise = clean.noise, .lights = clean.frame_count, .dark = clean.dark};
    return train_keys(t, &clean, &report->keys, error);
}
