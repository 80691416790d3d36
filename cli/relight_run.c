/* relight_run.c: pelt relight run: a picture from the light at the key points; from all points where those say that the
   light is like none of the training. */

#include "cli/relight_keys.h"
#include "cli/relight_picture.h"
#include <math.h>
#include <string.h>

typedef struct running {
    const cli_args *args;
    relight_file file;
    relight_about about;
    stage stage;
    relight_gatherer gatherer;
    pelt_light light;
    uint32_t samples, key_samples;
    float *direct, *indirect, *gathered; /* [point_count][3] */
    double misfit, trust;                /* trust: weight of the key points' result */
    double key_seconds, full_seconds;
} running;

static int run_keys(running *r) {
    double start = cli_wall_seconds();
    relight_frame frame = {
        .light = r->light, .samples = r->key_samples, .seed = r->args->seed, .threads = r->args->threads};
    int code = relight_solve(&r->gatherer, &frame);
    if (code) return code;
    relight_fill(&r->gatherer, r->args->threads, r->indirect);
    r->key_seconds = cli_wall_seconds() - start;
    r->misfit = frame.misfit;
    r->trust = pelt_soft_cache_trust(&(pelt_soft_cache_options){.e_min = 1, .e_max = 1.5f},
                                     (float)(r->misfit / r->about.trust));
    return CLI_DONE;
}

/* All points, blended with what the keys gave. */
static void run_all(running *r) {
    double start = cli_wall_seconds();
    pelt_gather_options options = {.samples = r->samples,
                                   .bounces = r->stage.bounces,
                                   .seed = 0x60000000u + r->args->seed,
                                   .threads = r->args->threads};
    pelt_gather(r->stage.tracer, r->stage.points, r->stage.point_count, &options, NULL, r->gathered);
    for (size_t i = 0; i < 3 * r->stage.point_count; i++)
        r->indirect[i] = (float)(r->trust * r->indirect[i] + (1 - r->trust) * r->gathered[i]);
    r->full_seconds = cli_wall_seconds() - start;
}

static int write_picture(running *r, const char *path) {
    pelt_error error;
    stage *s = &r->stage;
    bool only_indirect = cli_value(r->args, "indirect") != NULL, only_direct = cli_value(r->args, "direct") != NULL;
    pelt_gather_options options = {
        .samples = 16, .bounces = s->bounces, .seed = 0x50000000u + r->args->seed, .threads = r->args->threads};
    if (!only_indirect) pelt_gather(s->tracer, s->points, s->point_count, &options, r->direct, NULL);
    pelt_picture picture = {s->width, s->height, PELT_NEW(s->arena, 3 * (size_t)s->width * s->height, float)};
    if (!picture.rgb) return cli_fail("not enough memory");
    for (size_t i = 0; i < s->point_count; i++)
        for (int c = 0; c < 3; c++) {
            float light = only_direct ? r->direct[3 * i + c] : r->indirect[3 * i + c];
            if (!only_indirect && !only_direct)
                light = s->points[i].albedo[c] * (light + r->direct[3 * i + c]) + s->points[i].emission[c];
            picture.rgb[3 * (size_t)s->points[i].id + c] = light;
        }
    const char *dot = strrchr(path, '.');
    pelt_result result = dot && !strcmp(dot, ".pfm")
                             ? pelt_pfm_write(path, &picture, &error)
                             : picture_write_png(path, &picture, picture_white(&picture), &error);
    return result ? cli_error(&error) : CLI_DONE;
}

/* A light outside a closed scene gives black keys, which fit any basis: the misfit cannot tell. */
static void warn_when_dark(const running *r) {
    float brightest = 0;
    for (size_t i = 0; i < 3 * r->stage.point_count; i++) brightest = fmaxf(brightest, r->indirect[i]);
    if (brightest > 0 || r->args->quiet) return;
    fprintf(stderr,
            "pelt: warning: the light gives no indirect light to anything that the camera sees; is it inside the "
            "scene, in the scene's units?\n");
}

static void print_result(const running *r, const char *path) {
    warn_when_dark(r);
    const char *verdict = cli_value(r->args, "full") ? "full" : r->trust >= 1 ? "hit" : r->trust > 0 ? "blend" : "miss";
    bool gathered = r->full_seconds > 0;
    cli_say(r->args, "%s: %s", path, verdict);
    if (r->key_seconds > 0)
        cli_say(r->args, ", keys in %.1f ms, misfit %.2f%% (trusted up to %.2f%%)", 1e3 * r->key_seconds,
                100 * r->misfit, 100 * r->about.trust);
    if (gathered) cli_say(r->args, ", all points in %.2f s", r->full_seconds);
    cli_say(r->args, "\n");
    if (r->trust < 1 && !gathered)
        cli_say(r->args, "the light is unlike those of the training, so the result may be wrong\n");
    cli_print_json(r->args, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "picture", path, "verdict", verdict, "misfit",
                                      r->misfit, "trusted_misfit", r->about.trust, "key_seconds", r->key_seconds,
                                      "full_seconds", r->full_seconds));
}

/* Key points; or with --full a scene alone. */
static int open_input(running *r) {
    const cli_args *args = r->args;
    const char *name = args->inputs[1], *dot = strrchr(name, '.');
    uint32_t size[2] = {400, 400}, bounces = 4;
    if (dot && !strcmp(dot, ".keys"))
        return relight_open(&r->file, &r->about, &r->stage, name, args->input_count > 2 ? args->inputs[2] : NULL)
                   ? CLI_DONE
                   : CLI_FAILED;
    if (!cli_value(args, "full"))
        return cli_misuse(args, "%s: a .keys file is meant; a scene alone can only be gathered with --full", name);
    if (!cli_count(args, "bounces", 1, 100, &bounces) || !relight_size(args, size)) return CLI_MISUSE;
    return stage_open(&r->stage, name, size[0], size[1], bounces) ? CLI_DONE : CLI_FAILED;
}

static int run(running *r, const char *path) {
    const cli_args *args = r->args;
    pelt_error error;
    r->samples = 64, r->key_samples = 256;
    if (!cli_count(args, "samples", 1, 1u << 20, &r->samples) ||
        !cli_count(args, "key-samples", 32, 1u << 20, &r->key_samples))
        return CLI_MISUSE;
    int opened = open_input(r);
    if (opened) return opened;
    if (!relight_light(args, &r->stage, &r->light)) return CLI_MISUSE;
    if (pelt_tracer_set_light(r->stage.tracer, &r->light, &error)) return cli_error(&error);
    if (r->file.bytes && !relight_gatherer_open(&r->gatherer, &r->stage, &r->file.keys)) return CLI_FAILED;
    float **buffers[] = {&r->direct, &r->indirect, &r->gathered};
    for (int i = 0; i < 3; i++)
        if (!(*buffers[i] = PELT_NEW(r->stage.arena, 3 * r->stage.point_count, float)))
            return cli_fail("not enough memory");
    int code = cli_value(args, "full") ? CLI_DONE : run_keys(r);
    if (code) return code;
    if (r->trust < 1 && !cli_value(args, "no-fallback")) run_all(r);
    code = write_picture(r, path);
    if (!code) print_result(r, path);
    return code;
}

int relight_run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (args->input_count < 2)
        return cli_misuse(args, "run takes key points: pelt relight run BOX.keys --light X,Y,Z -o PICTURE.png");
    if (!path) return cli_misuse(args, "-o PICTURE.png says where the picture goes; it is missing");
    running r = {.args = args};
    int code = run(&r, path);
    relight_close(&r.file, &r.stage);
    return code;
}
