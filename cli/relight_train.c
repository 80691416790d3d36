/* relight_train.c: pelt relight train.

   Each light of the grid is gathered twice, by half of the samples and other random numbers. The halves are pictures in
   a folder beside the result, written as they come: a training that was stopped goes on where it was, and the halves
   tell the denoiser what is light and what is noise. */

#include "cli/relight_frames.h"
#include <string.h>

typedef struct training {
    const cli_args *args;
    stage stage;
    light_grid grid;
    uint32_t samples, keys, basis, key_samples;
    frame_store store;
    uint32_t dark; /* lights that light nothing */
} training;

/* -- Frames ------------------------------------------------------------------------------------------------------- */

static void say_progress(const training *t, double done, double started_at, double start) {
    pelt_progress progress = cli_progress(t->args);
    char task[80] = "lights";
    double elapsed = cli_wall_seconds() - start, left = elapsed * (1 - done) / (done - started_at);
    if (done > started_at && left < 360000)
        snprintf(task, sizeof task, "lights, %d min %02d s left", (int)(left / 60), (int)left % 60);
    pelt_report(&progress, task, done);
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
    float *values = PELT_NEW(t->stage.arena, float, 3 * t->stage.point_count);
    bool *have = PELT_NEW(t->stage.arena, bool, count);
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

/* -- The command -------------------------------------------------------------------------------------------------- */

static int train(training *t, const char *path) {
    const cli_args *args = t->args;
    uint32_t size[2] = {400, 400}, bounces = 4;
    const char *grid = cli_value(args, "lights");
    t->samples = 64, t->keys = 200, t->basis = 32, t->key_samples = 256;
    if (!cli_count(args, "samples", 32, 1u << 20, &t->samples) || !cli_count(args, "keys", 4, 10000, &t->keys) ||
        !cli_count(args, "basis", 1, 512, &t->basis) || !cli_count(args, "bounces", 1, 100, &bounces) ||
        !relight_size(args, size))
        return CLI_MISUSE;
    if (!stage_open(&t->stage, args->inputs[1], size[0], size[1], bounces)) return CLI_FAILED;
    if (!grid_parse(&t->stage, grid ? grid : "12x12", &t->grid)) return CLI_MISUSE;
    if (!frame_store_open(&t->store, &t->stage, &t->grid, path, t->samples, args->seed)) return CLI_FAILED;
    int code = gather_frames(t);
    return code;
}

int relight_train(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (args->input_count != 2) return cli_misuse(args, "train takes one scene: pelt relight train SCENE -o BOX.keys");
    if (!path) return cli_misuse(args, "-o BOX.keys says where the key points go; it is missing");
    training t = {.args = args};
    int code = train(&t, path);
    stage_close(&t.stage);
    return code;
}
