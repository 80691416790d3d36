/* measure.c: the error and speedup of the key points' light at lights and object positions that training has not seen.

   The truth is unknown; there are only two references a, b with independent noise. For a result m that depends on
   neither, the sum of (m - a)(m - b) is on average that of (m - truth)^2, and the sum of a b that of truth^2: their
   ratio is the squared relative error without the noise of the references. It is taken at pixels spread over the
   picture. */

#include "light/relight.h"
#include "rig/clock.h"
#include <math.h>

/* How the lights of a group differ from the training lights. */
typedef struct kind {
    const char *name;
    double height, spread; /* of the plane, in heights of the scene above that of training; of the grid */
    pelt_light_kind kind;  /* a point: as in training */
    float falloff;
} kind;

static const kind kinds[PELT_RELIGHT_GROUPS] = {
    {"new, in the plane", 0, 1, 0, 0}, {"beyond the grid", 0, 1.2, 0, 0},    {"below the plane", -0.3, 1, 0, 0},
    {"falloff 1", 0, 1, 0, 1},         {"area", 0, 0.9, PELT_LIGHT_AREA, 0}, {"spot", 0, 1, PELT_LIGHT_SPOT, 0}};

typedef struct measuring {
    pelt_relight_file *file;
    pelt_relight_measure_options options;
    pelt_light_view *view;
    pelt_relight_keys keys;
    size_t most, count;       /* pixels to compare: maximum; in this frame */
    uint32_t *chosen;         /* [count] */
    pelt_light_point *pixels; /* [count] */
    float *values, *shown;    /* of all points; of all pixels */
    float *truth[2];          /* of those compared */
    double key_cpu, full_cpu; /* CPU seconds: per light; per path at one pixel */
    double look_cpu, pixels_seen, bare;
    uint32_t key_runs, full_runs;
    double rays, traced; /* of all full gathers: rays; paths */
} measuring;

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* Squared relative error with each channel weighted. */
static double squared_error(const measuring *m, const float color[3]) {
    double difference = 0, product = 0;
    for (size_t i = 0; i < m->count; i++)
        for (int c = 0; c < 3; c++) {
            double value = m->shown[3 * (size_t)m->chosen[i] + c], w = color[c] * color[c];
            double a = m->truth[0][3 * i + c], b = m->truth[1][3 * i + c];
            difference += w * (value - a) * (value - b);
            product += w * a * b;
        }
    return product > 0 ? fmax(difference, 0) / product : 0;
}

static double squared_noise(const measuring *m) {
    double difference = 0, product = 0;
    for (size_t i = 0; i < 3 * m->count; i++) {
        double a = m->truth[0][i], b = m->truth[1][i];
        difference += (a - b) * (a - b) / 2;
        product += a * b;
    }
    return product > 0 ? difference / product : 0;
}

static pelt_result gather_truth(measuring *m, uint32_t seed, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t h = 0; h < 2 && !result; h++) {
        pelt_gather_options options = {.samples = m->options.reference,
                                       .bounces = m->view->bounces,
                                       .seed = 0x40000000u + 2 * seed + h,
                                       .threads = m->options.threads};
        uint64_t rays = 0;
        double start = pelt_cpu_seconds();
        result = pelt_gather(m->view->tracer, m->pixels, m->count, &options, NULL, m->truth[h], &rays, error);
        m->rays += (double)rays, m->traced += (double)m->count * m->options.reference;
        m->full_cpu += (pelt_cpu_seconds() - start) / ((double)m->count * m->options.reference);
        m->full_runs++;
    }
    return result;
}

static pelt_light light_of(const measuring *m, const kind *k, uint32_t index) {
    double u = 0.5 + k->spread * (pelt_relight_random(1000 + index, 0) - 0.5);
    double v = 0.5 + k->spread * (pelt_relight_random(1000 + index, 1) - 0.5);
    pelt_light light = pelt_light_grid_at(m->view, &m->file->facts.grid, u, v);
    pelt_extent e = pelt_tracer_extent(m->view->tracer);
    light.position[1] += (float)k->height * (e.high[1] - e.low[1]);
    if (k->kind != PELT_LIGHT_POINT) pelt_light_set_kind(m->view, k->kind, &light);
    light.falloff = k->falloff;
    return light;
}

/* Keys only, on one thread: idle ones would count as work. Adds the CPU seconds. */
static pelt_result run_keys(measuring *m, pelt_relight_frame *frame, double *cpu, pelt_error *error) {
    double start = pelt_cpu_seconds();
    frame->threads = 1;
    pelt_result result = pelt_relight_solve(&m->keys, frame, error);
    if (!result) result = pelt_relight_fill(&m->keys, 1, m->values, error);
    if (!result) pelt_light_view_show(m->view, m->values, m->shown);
    *cpu += pelt_cpu_seconds() - start;
    return result;
}

/* One pixel per interval, jittered to avoid columns; only pixels that have points. */
static void choose_pixels(measuring *m) {
    size_t there = m->view->pixel_count, wanted = there < m->most ? there : m->most;
    m->count = 0;
    for (size_t i = 0; i < wanted; i++) {
        double at = ((double)i + pelt_relight_random((uint32_t)i, 0)) * (double)there / (double)wanted;
        uint32_t pixel = (uint32_t)fmin(at, (double)there - 1);
        if (!pelt_light_view_knows(m->view, pixel)) {
            m->bare += 1.0 / (double)wanted;
            continue;
        }
        m->chosen[m->count] = pixel;
        m->pixels[m->count++] = m->view->pixels[pixel];
    }
    m->pixels_seen += (double)there;
}

static pelt_result go_to_place(measuring *m, uint32_t index, pelt_error *error) {
    if (m->view->transforms) {
        pelt_light_place place = pelt_relight_random_place(m->view, 1000 + index);
        double start = pelt_cpu_seconds();
        pelt_result result = pelt_light_view_place(m->view, &place, error);
        if (!result) result = pelt_light_view_look(m->view, 1, error);
        if (result) return result;
        m->look_cpu += pelt_cpu_seconds() - start;
    }
    choose_pixels(m);
    if (m->count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: at a new position of the moving objects, the camera sees nothing that training saw; train "
                     "with more positions",
                     m->view->name);
}

/* Sums squares in the group; roots are taken at the end. */
static pelt_result measure_light(measuring *m, const kind *k, pelt_relight_group *g, uint32_t index, uint32_t seed,
                                 pelt_error *error) {
    pelt_relight_frame frame = {
        .light = light_of(m, k, index), .samples = m->options.key_samples, .seed = 0x20000000u + seed};
    pelt_result result = go_to_place(m, seed, error);
    if (!result) result = run_keys(m, &frame, &m->key_cpu, error);
    m->key_runs++;
    if (!result) result = gather_truth(m, seed, error);
    if (result) return result;
    double square = squared_error(m, (const float[3]){1, 1, 1}), wrong = sqrt(square) > PELT_RELIGHT_WRONG;
    bool flagged =
        frame.misfit > m->file->facts.trust || pelt_light_grid_beyond(&m->file->facts.grid, frame.light.position) > 0;
    g->error += square;
    g->color_error += squared_error(m, (const float[3]){1, 0.5f, 0.2f});
    g->noise += squared_noise(m);
    g->worst = fmax(g->worst, sqrt(square));
    g->flagged += flagged;
    g->wrong += wrong;
    g->wrong_unflagged += wrong && !flagged;
    return PELT_OK;
}

static pelt_result measure_group(measuring *m, const kind *k, pelt_relight_group *g, uint32_t *done, double total,
                                 pelt_error *error) {
    *g = (pelt_relight_group){.name = k->name};
    g->lights = k == kinds ? m->options.novel : (m->options.novel + 3) / 4;
    for (uint32_t i = 0; i < g->lights; i++, ++*done) {
        if (pelt_should_stop(&m->options.progress, "lights", *done / total))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        pelt_result result = measure_light(m, k, g, i, *done, error);
        if (result) return result;
    }
    double *roots[] = {&g->error, &g->color_error, &g->noise};
    for (int i = 0; i < 3; i++) *roots[i] = sqrt(*roots[i] / g->lights);
    return PELT_OK;
}

/* Keys at 64 paths each, as for dragging a light; the best of several runs, since other programs interfere. */
static pelt_result time_quick(measuring *m, double *best, pelt_error *error) {
    *best = INFINITY;
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < 12 && !result; i++) {
        pelt_relight_frame frame = {
            .light = pelt_light_grid_at(m->view, &m->file->facts.grid, 0.4, 0.6), .samples = 64, .seed = i};
        double cpu = 0;
        result = run_keys(m, &frame, &cpu, error);
        *best = fmin(*best, cpu);
    }
    return result;
}

/* -- All ------------------------------------------------------------------------------------------------------------ */

static pelt_result resolve(pelt_relight_measure_options *o, pelt_error *error) {
    if (!o->novel) o->novel = 24;
    if (!o->key_samples) o->key_samples = 1024;
    if (!o->reference) o->reference = 512;
    if (!o->points) o->points = 10000;
    if (o->novel > 10000) return pelt_fail_option(error, "novel", "expected 1 to 10000 lights, not %u", o->novel);
    pelt_result result = pelt_check_range("key_samples", o->key_samples, 32, 1u << 20, error);
    return result ? result : pelt_check_range("reference", o->reference, 16, 1u << 20, error);
}

static pelt_result prepare(measuring *m, pelt_error *error) {
    pelt_light_view *view = m->view;
    size_t pixels = (size_t)view->width * view->height;
    m->most = pixels < m->options.points ? pixels : m->options.points;
    m->chosen = PELT_NEW(view->arena, m->most, uint32_t);
    m->pixels = PELT_NEW(view->arena, m->most, pelt_light_point);
    m->values = PELT_NEW(view->arena, 3 * view->point_count, float);
    m->shown = PELT_NEW(view->arena, 3 * pixels, float);
    for (int h = 0; h < 2; h++) m->truth[h] = PELT_NEW(view->arena, 3 * m->most, float);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    return pelt_relight_keys_open(&m->keys, view, &m->file->keys, error);
}

pelt_result pelt_relight_measure_file(pelt_relight_file *file, const pelt_relight_measure_options *options,
                                      pelt_relight_measure *out, pelt_error *error) {
    measuring m = {.file = file, .view = &file->view};
    if (options) m.options = *options;
    *out = (pelt_relight_measure){0};
    pelt_result result = resolve(&m.options, error);
    if (!result) result = prepare(&m, error);
    uint32_t done = 0, few = (m.options.novel + 3) / 4, total = m.options.novel + (PELT_RELIGHT_GROUPS - 1) * few;
    for (int g = 0; g < PELT_RELIGHT_GROUPS && !result; g++)
        result = measure_group(&m, &kinds[g], &out->groups[g], &done, total, error);
    if (!result) result = time_quick(&m, &out->quick_seconds, error);
    if (result) return result;
    double full = m.full_cpu / m.full_runs * m.pixels_seen / m.key_runs;
    out->look_seconds = m.look_cpu / m.key_runs, out->bare = m.bare / m.key_runs;
    out->key_samples = m.options.key_samples, out->reference = m.options.reference;
    out->noise_of_one_path = out->groups[0].noise * sqrt(m.options.reference);
    out->key_seconds = m.key_cpu / m.key_runs;
    out->speedup = full * m.options.key_samples / out->key_seconds;
    out->speedup_equal_error = full * pow(out->noise_of_one_path / out->groups[0].error, 2) / out->key_seconds;
    out->rays_per_second = m.rays / (m.full_cpu / m.full_runs * m.traced);
    return PELT_OK;
}
