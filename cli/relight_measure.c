/* relight_measure.c: pelt relight measure: how wrong the key points' light is at lights that training has not seen, and
   how much faster.

   The truth is not known, only two references a, b with independent noise. For a result m that depends on neither, the
   sum of (m - a)(m - b) is on average that of (m - truth)^2, and the sum of a b that of truth^2: their ratio is the
   squared relative error without the noise of the references. It is taken at points spread over the picture. */

#include "cli/relight_figure.h"
#include <math.h>
#include <string.h>

/* An error above this is seen. */
static const double WRONG = 0.05;

/* Lights that differ from those of training in one way. */
typedef struct group {
    const char *name;
    double height, spread; /* of the plane, in heights of the scene above that of training; of the grid */
    const char *kind;
    float falloff;
    uint32_t lights;
    /* results */
    double square, worst, color_square, noise_square;
    uint32_t flagged, wrong, wrong_unflagged;
} group;

typedef struct measuring {
    const cli_args *args;
    relight_file file;
    relight_about about;
    stage stage;
    relight_gatherer gatherer;
    uint32_t lights, key_samples, reference;
    size_t count;             /* points that are compared */
    uint32_t *chosen;         /* [count] */
    pelt_light_point *points; /* [count] */
    float *values, *truth[2]; /* of all points; of those compared */
    double key_cpu, full_cpu; /* seconds of a processor: of one light; of one path at one point */
    double quick_cpu;         /* of one light with 64 paths per key */
    uint32_t key_runs, full_runs;
    double rays; /* of all full gathers */
} measuring;

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* Squared relative error with each channel weighted. */
static double squared_error(const measuring *m, const float color[3]) {
    double difference = 0, product = 0;
    for (size_t i = 0; i < m->count; i++)
        for (int c = 0; c < 3; c++) {
            double value = m->values[3 * (size_t)m->chosen[i] + c], w = color[c] * color[c];
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

static void gather_truth(measuring *m, uint32_t seed) {
    for (uint32_t h = 0; h < 2; h++) {
        pelt_gather_options options = {.samples = m->reference,
                                       .bounces = m->stage.bounces,
                                       .seed = 0x40000000u + 2 * seed + h,
                                       .threads = m->args->threads};
        double start = cli_cpu_seconds();
        m->rays += (double)pelt_gather(m->stage.tracer, m->points, m->count, &options, NULL, m->truth[h]);
        m->full_cpu += (cli_cpu_seconds() - start) / ((double)m->count * m->reference);
        m->full_runs++;
    }
}

static pelt_light light_of(const measuring *m, const group *g, uint32_t index) {
    double u = 0.5 + g->spread * (relight_random(1000 + index, 0) - 0.5);
    double v = 0.5 + g->spread * (relight_random(1000 + index, 1) - 0.5);
    pelt_light light = grid_light_at(&m->stage, &m->about.grid, u, v);
    pelt_extent e = pelt_tracer_extent(m->stage.tracer);
    light.position[1] += (float)g->height * (e.high[1] - e.low[1]);
    if (g->kind) relight_set_kind(&m->stage, g->kind, &light);
    light.falloff = g->falloff;
    return light;
}

static int measure_light(measuring *m, group *g, uint32_t index, uint32_t seed) {
    relight_frame frame = {
        .light = light_of(m, g, index), .samples = m->key_samples, .seed = 0x20000000u + seed, .threads = 1};
    double start = cli_cpu_seconds();
    int code = relight_solve(&m->gatherer, &frame);
    if (code) return code;
    relight_fill(&m->gatherer, 1, m->values); /* one thread: idle ones would count as work */
    m->key_cpu += cli_cpu_seconds() - start;
    m->key_runs++;
    gather_truth(m, seed);
    double square = squared_error(m, (const float[3]){1, 1, 1}), error = sqrt(square);
    bool flagged = frame.misfit > m->about.trust;
    g->square += square;
    g->color_square += squared_error(m, (const float[3]){1, 0.5f, 0.2f});
    g->noise_square += squared_noise(m);
    g->worst = fmax(g->worst, error);
    g->flagged += flagged;
    g->wrong += error > WRONG;
    g->wrong_unflagged += error > WRONG && !flagged;
    return CLI_DONE;
}

/* Keys at 64 paths each, as for dragging a light; the best of several, since other programs disturb. */
static int time_quick(measuring *m) {
    m->quick_cpu = INFINITY;
    for (uint32_t i = 0; i < 12; i++) {
        relight_frame frame = {
            .light = grid_light_at(&m->stage, &m->about.grid, 0.4, 0.6), .samples = 64, .seed = i, .threads = 1};
        double start = cli_cpu_seconds();
        int code = relight_solve(&m->gatherer, &frame);
        if (code) return code;
        relight_fill(&m->gatherer, 1, m->values);
        m->quick_cpu = fmin(m->quick_cpu, cli_cpu_seconds() - start);
    }
    return CLI_DONE;
}

/* -- Output -------------------------------------------------------------------------------------------------------- */

static json_t *group_json(const group *g) {
    double n = g->lights;
    return json_pack("{s:s, s:i, s:f, s:f, s:i, s:i, s:i}", "group", g->name, "lights", (int)g->lights, "rel_rms",
                     sqrt(g->square / n), "worst", g->worst, "flagged", (int)g->flagged, "wrong", (int)g->wrong,
                     "wrong_unflagged", (int)g->wrong_unflagged);
}

static int print_results(const measuring *m, const group *groups, size_t count) {
    const group *plane = &groups[0];
    double n = plane->lights, error = sqrt(plane->square / n), noise = sqrt(plane->noise_square / n);
    double color = sqrt(plane->color_square / n), one_path = noise * sqrt(m->reference);
    double full = m->full_cpu / m->full_runs * (double)m->stage.point_count, keys = m->key_cpu / m->key_runs;
    double rays = m->rays / (m->full_cpu * (double)m->count * m->reference);
    double speedup = full * m->key_samples / keys, equal = full * pow(one_path / error, 2) / keys;
    cli_say(m->args, "%-22s %7s %7s %7s  flagged  wrong (over %.0f%%), of these unflagged\n", "lights", "count",
            "error", "worst", 100 * WRONG);
    for (size_t i = 0; i < count; i++)
        cli_say(m->args, "%-22s %7u %6.2f%% %6.2f%%  %7u  %5u, %u\n", groups[i].name, groups[i].lights,
                100 * sqrt(groups[i].square / groups[i].lights), 100 * groups[i].worst, groups[i].flagged,
                groups[i].wrong, groups[i].wrong_unflagged);
    cli_say(m->args, "%-22s %7u %6.2f%%\n", "coloured, in the plane", plane->lights, 100 * color);
    cli_say(m->args,
            "noise of a full gather: %.0f%% / sqrt(paths); keys at %u paths: %.1f ms of a processor, %.0f times faster "
            "than the full gather at equal paths, %.0f times at equal error; keys at 64 paths: %.1f ms; %.1f million "
            "rays a second and core\n",
            100 * one_path, m->key_samples, 1e3 * keys, speedup, equal, 1e3 * m->quick_cpu, 1e-6 * rays);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, group_json(&groups[i]));
    return cli_print_json(m->args,
                          json_pack("{s:I, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:o}",
                                    "points", (json_int_t)m->stage.point_count, "keys", (int)m->file.keys.key_count,
                                    "basis", (int)m->file.keys.basis_count, "lights", (int)plane->lights, "rel_rms",
                                    error, "noise_rel_rms", noise, "speedup", speedup, "speedup_equal_error", equal,
                                    "color_rel_rms", color, "key_samples", (int)m->key_samples, "reference_samples",
                                    (int)m->reference, "noise_of_one_path", one_path, "key_ms", 1e3 * keys, "key_ms_64",
                                    1e3 * m->quick_cpu, "rays_per_second", rays, "groups", list));
}

/* -- The command -------------------------------------------------------------------------------------------------- */

static bool prepare(measuring *m) {
    stage *s = &m->stage;
    uint32_t most = 10000;
    if (!cli_count(m->args, "at", 1, UINT32_MAX, &most)) return false;
    m->count = s->point_count < most ? s->point_count : most;
    m->chosen = PELT_NEW(s->arena, m->count, uint32_t);
    m->points = PELT_NEW(s->arena, m->count, pelt_light_point);
    m->values = PELT_NEW(s->arena, 3 * s->point_count, float);
    for (int h = 0; h < 2; h++) m->truth[h] = PELT_NEW(s->arena, 3 * m->count, float);
    if (!m->chosen || !m->points || !m->values || !m->truth[0] || !m->truth[1])
        return cli_fail("not enough memory"), false;
    for (size_t i = 0; i < m->count; i++) { /* one of each stretch, not always the same, which would make columns */
        double at = ((double)i + relight_random((uint32_t)i, 0)) * (double)s->point_count / (double)m->count;
        m->chosen[i] = (uint32_t)fmin(at, (double)s->point_count - 1);
        m->points[i] = s->points[m->chosen[i]];
    }
    return relight_gatherer_open(&m->gatherer, s, &m->file.keys);
}

static int measure(measuring *m) {
    const cli_args *args = m->args;
    const char *pictures = cli_value(args, "pictures");
    pelt_progress progress = cli_progress(args);
    m->lights = 24, m->key_samples = 1024, m->reference = 512;
    if (!cli_count(args, "novel", 1, 10000, &m->lights) ||
        !cli_count(args, "key-samples", 32, 1u << 20, &m->key_samples) ||
        !cli_count(args, "reference", 16, 1u << 20, &m->reference))
        return CLI_MISUSE;
    if (!relight_open(&m->file, &m->about, &m->stage, args->inputs[1],
                      args->input_count > 2 ? args->inputs[2] : NULL) ||
        !prepare(m))
        return CLI_FAILED;
    uint32_t few = (m->lights + 3) / 4;
    group groups[] = {
        {"new, in the plane", 0, 1, .lights = m->lights}, {"beyond the grid", 0, 1.2, .lights = few},
        {"below the plane", -0.3, 1, .lights = few},      {"falloff 1", 0, 1, .falloff = 1, .lights = few},
        {"area", 0, 0.9, .kind = "area", .lights = few},  {"spot", 0, 1, .kind = "spot", .lights = few}};
    uint32_t total = 0, done = 0, group_count = sizeof groups / sizeof *groups;
    for (uint32_t g = 0; g < group_count; g++) total += groups[g].lights;
    int code = CLI_DONE;
    for (uint32_t g = 0; g < group_count; g++)
        for (uint32_t i = 0; i < groups[g].lights && !code; i++, done++) {
            pelt_should_stop(&progress, "lights", (double)done / total);
            code = measure_light(m, &groups[g], i, done);
        }
    if (!code) code = time_quick(m);
    if (!code && pictures) code = relight_figure(args, &m->gatherer, &m->about, pictures);
    return code ? code : print_results(m, groups, group_count);
}

int relight_measure(const cli_args *args) {
    if (args->input_count < 2) return cli_misuse(args, "measure takes key points: pelt relight measure BOX.keys");
    measuring m = {.args = args};
    int code = measure(&m);
    relight_close(&m.file, &m.stage);
    return code;
}
