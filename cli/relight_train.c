/* relight_train.c: pelt relight train.

   Each light of the grid is gathered twice, by half of the samples and other random numbers. The halves are pictures in
   a folder beside the result, written as they come: a training that was stopped goes on where it was, and the halves
   tell the denoiser what is light and what is noise. */

#include "cli/relight_frames.h"
#include "cli/relight_keys.h"
#include "light/denoise.h"
#include <math.h>
#include <string.h>

typedef struct training {
    const cli_args *args;
    stage stage;
    light_grid grid;
    uint32_t samples, keys, basis, key_samples;
    frame_store store;
    double start;
} training;

/* -- Frames ------------------------------------------------------------------------------------------------------- */

static void say_progress(const training *t, double done, double started_at, double start) {
    pelt_progress progress = cli_progress(t->args);
    char task[80] = "lights";
    double elapsed = cli_wall_seconds() - start, left = elapsed * (1 - done) / (done - started_at);
    if (done > started_at && left < 360000)
        snprintf(task, sizeof task, "lights, %d min %02d s left", (int)(left / 60), (int)left % 60);
    pelt_should_stop(&progress, task, done);
}

static int gather_half(training *t, uint32_t light, uint32_t half, float *values) {
    pelt_error error;
    pelt_light lamp = grid_light(&t->stage, &t->grid, light);
    pelt_gather_options options = {.samples = t->samples / 2,
                                   .bounces = t->stage.bounces,
                                   .seed = frame_seed(t->args->seed, light, half),
                                   .threads = t->args->threads};
    if (pelt_tracer_set_light(t->stage.tracer, &lamp, &error)) return cli_error(&error);
    pelt_gather(t->stage.tracer, t->stage.points, t->stage.point_count, &options, NULL, values);
    if (frame_store_write(&t->store, light, half, values, &error)) return cli_error(&error);
    return CLI_DONE;
}

static int gather_frames(training *t) {
    uint32_t count = 2 * t->grid.columns * t->grid.rows, missing = 0;
    float *values = PELT_NEW(t->stage.arena, 3 * t->stage.point_count, float);
    bool *have = PELT_NEW(t->stage.arena, count, bool);
    if (!values || !have) return cli_fail("not enough memory");
    for (uint32_t i = 0; i < count; i++) missing += !(have[i] = frame_store_has(&t->store, i / 2, i % 2));
    if (missing < count) cli_say(t->args, "%u of %u gathers are there already\n", count - missing, count);
    double start = cli_wall_seconds(), done = count - missing, before = done / count;
    for (uint32_t i = 0; i < count; i++) {
        if (have[i]) continue;
        int code = gather_half(t, i / 2, i % 2, values);
        if (code) return code;
        say_progress(t, ++done / count, before, start);
    }
    if (missing) cli_say(t->args, "%u gathers in %.0f s\n", missing, cli_wall_seconds() - start);
    return CLI_DONE;
}

/* -- Key points --------------------------------------------------------------------------------------------------- */

static pelt_result read_half(void *user, uint32_t frame, uint32_t half, float *values, pelt_error *error) {
    const training *t = user;
    return frame_store_read(&t->store, frame, half, values, error);
}

static pelt_result read_clean(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_clean_frames *clean = user;
    (void)error;
    for (uint32_t i = 0; i < count; i++) pelt_clean_frame(clean, first + i, values + 3 * clean->point_count * i);
    return PELT_OK;
}

/* A key gathered with N paths has the noise of the frames times sqrt(samples / N); as the ridge of the map, its square
   makes the map the best linear estimate. */
static pelt_skin_bytes *train_keys(training *t, pelt_clean_frames *clean, pelt_keys_report *report, pelt_error *error) {
    const stage *s = &t->stage;
    float *positions = PELT_NEW(s->arena, 3 * s->point_count, float);
    uint32_t *shots = PELT_NEW(s->arena, clean->frame_count, uint32_t); /* lights do not follow one another in time */
    for (uint32_t i = 0; shots && i < clean->frame_count; i++) shots[i] = i;
    if (!positions || !shots) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), NULL;
    for (size_t p = 0; p < s->point_count; p++) memcpy(positions + 3 * p, s->points[p].position, 3 * sizeof(float));
    double square = 0;
    for (size_t i = 0; i < (size_t)clean->rank * clean->point_count; i++)
        square += (double)clean->pictures[i] * clean->pictures[i];
    pelt_frames frames = {.frame_count = clean->frame_count,
                          .point_count = (uint32_t)clean->point_count,
                          .component_count = 3,
                          .read = read_clean,
                          .user = clean,
                          .name = s->name,
                          .shots = shots};
    pelt_keys_options options = {.keys = t->keys < s->point_count ? t->keys : (uint32_t)s->point_count,
                                 .basis = t->basis,
                                 .grid = t->keys / 4,
                                 .uncentred = true,
                                 .shared = true,
                                 .exact = true,
                                 .ridge = clean->noise * clean->noise * t->samples / t->key_samples,
                                 .positions = positions,
                                 .diagonal = sqrt(square / ((double)clean->frame_count * (double)clean->point_count)),
                                 .bar = 0.5,
                                 .seed = t->args->seed,
                                 .progress = cli_progress(t->args)};
    if (options.basis > 3 * frames.frame_count) options.basis = 3 * frames.frame_count;
    return pelt_keys_train(&frames, &options, report, error);
}

/* How badly the subspace explains the keys of new lights in the plane: what the soft cache should still trust. */
static int find_trust(training *t, relight_file *file, double *trust) {
    relight_gatherer gatherer;
    *trust = 0;
    if (!relight_gatherer_open(&gatherer, &t->stage, &file->keys)) return CLI_FAILED;
    for (uint32_t i = 0; i < 32; i++) {
        pelt_light light = grid_light_at(&t->stage, &t->grid, relight_random(i, 0), relight_random(i, 1));
        relight_frame frame = {
            .light = light, .samples = t->key_samples, .seed = 0x70000000u + i, .threads = t->args->threads};
        if (relight_solve(&gatherer, &frame)) return CLI_FAILED;
        if (frame.misfit > *trust) *trust = frame.misfit;
    }
    *trust *= 1.25;
    return CLI_DONE;
}

static int write_keys(training *t, pelt_skin_bytes *bytes, double noise, const char *path) {
    pelt_error error;
    relight_file file = {.bytes = bytes};
    relight_about about = {.width = t->stage.width,
                           .height = t->stage.height,
                           .bounces = t->stage.bounces,
                           .samples = t->samples,
                           .noise = noise,
                           .grid = t->grid};
    if (pelt_keys_open(bytes->bytes, bytes->size, &file.keys)) return cli_fail("the key points cannot be opened");
    int code = find_trust(t, &file, &about.trust);
    if (code) return code;
    if (relight_describe(bytes, t->stage.name, &about, &error) || pelt_keys_write(bytes, path, &error))
        return cli_error(&error);
    cli_say(t->args, "%s: %zu points, %u keys, %u vectors, %.1f MB; noise of the training frames %.2f%%\n", path,
            t->stage.point_count, file.keys.key_count, file.keys.basis_count, (double)bytes->size * 1e-6, 100 * noise);
    return cli_print_json(t->args,
                          json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:i, s:f, s:f, s:I}", "keys_file", path, "scene",
                                    t->stage.name, "points", (json_int_t)t->stage.point_count, "keys",
                                    (int)file.keys.key_count, "basis", (int)file.keys.basis_count, "lights",
                                    (int)(t->grid.columns * t->grid.rows), "samples", (int)t->samples, "noise", noise,
                                    "seconds", cli_wall_seconds() - t->start, "bytes", (json_int_t)bytes->size));
}

static int make_keys(training *t, const char *path) {
    pelt_error error;
    pelt_clean_frames clean;
    pelt_keys_report report;
    pelt_halves halves = {t->grid.columns * t->grid.rows, read_half, t};
    pelt_denoise_options options = {.points = t->stage.points,
                                    .point_count = t->stage.point_count,
                                    .width = t->stage.width,
                                    .height = t->stage.height,
                                    .threads = t->args->threads,
                                    .progress = cli_progress(t->args)};
    if (pelt_denoise(t->stage.arena, &halves, &options, &clean, &error)) return cli_error(&error);
    if (clean.dark && !t->args->quiet)
        fprintf(stderr,
                "pelt: warning: %u of the %u training lights light nothing that the camera sees; are they inside "
                "objects?\n",
                clean.dark, clean.frame_count);
    pelt_skin_bytes *bytes = train_keys(t, &clean, &report, &error);
    if (!bytes) return cli_error(&error);
    int code = write_keys(t, bytes, clean.noise, path);
    pelt_skin_free(bytes);
    return code;
}

/* -- The command -------------------------------------------------------------------------------------------------- */

static int train(training *t, const char *path) {
    const cli_args *args = t->args;
    uint32_t size[2] = {400, 400}, bounces = 4;
    const char *grid = cli_value(args, "lights");
    t->samples = 64, t->keys = 200, t->basis = 32, t->key_samples = 256;
    if (!cli_count(args, "samples", 32, 1u << 20, &t->samples) || !cli_count(args, "keys", 4, 10000, &t->keys) ||
        !cli_count(args, "basis", 1, 512, &t->basis) || !cli_count(args, "bounces", 1, 100, &bounces) ||
        !cli_count(args, "key-samples", 16, 1u << 20, &t->key_samples) || !relight_size(args, size))
        return CLI_MISUSE;
    if (!stage_open(&t->stage, args->inputs[1], size[0], size[1], bounces)) return CLI_FAILED;
    if (!grid_parse(&t->stage, grid ? grid : "12x12", &t->grid)) return CLI_MISUSE;
    if (!frame_store_open(&t->store, &t->stage, &t->grid, path, t->samples, args->seed)) return CLI_FAILED;
    int code = gather_frames(t);
    return code ? code : make_keys(t, path);
}

int relight_train(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (args->input_count != 2) return cli_misuse(args, "train takes one scene: pelt relight train SCENE -o BOX.keys");
    if (!path) return cli_misuse(args, "-o BOX.keys says where the key points go; it is missing");
    training t = {.args = args, .start = cli_wall_seconds()};
    int code = train(&t, path);
    stage_close(&t.stage);
    return code;
}
