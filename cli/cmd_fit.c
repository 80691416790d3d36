/* cmd_fit.c: pelt fit. */

#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

/* What one call of the command holds, so that it can be given back on every way out. */
typedef struct fitting {
    const cli_args *args;
    pelt_arena *arena; /* of files that options name */
    pelt_bundle *bundle;
    pelt_fit_options options;
    pelt_examples all, kept, held;
    pelt_skin_bytes *skin;
    pelt_measure *train, *holdout;
    double seconds, cpu_seconds;
    json_t *warnings, *about; /* what the skin says about itself */
} fitting;

static bool read_options(fitting *f) {
    const cli_args *args = f->args;
    f->options = (pelt_fit_options){.method = cli_value(args, "method"),
                                    .blend = cli_value(args, "blend"),
                                    .corrective = cli_value(args, "corrective"),
                                    .sweeps_only = cli_value(args, "sweeps-only") != NULL,
                                    .plain_normals = cli_value(args, "plain-normals") != NULL,
                                    .threads = args->threads,
                                    .progress = cli_progress(args)};
    pelt_error error;
    f->options.distance_weights = cli_value(args, "distance-weights");
    f->options.rbf = cli_value(args, "rbf");
    f->options.unnormalised = cli_value(args, "no-norm") != NULL;
    f->options.displacements = cli_value(args, "displacements");
    f->options.control_scale = cli_value(args, "control-scale");
    if (!cli_count(args, "influences", 1, 64, &f->options.influences) ||
        !cli_blend_options(args, f->arena, &f->options) || !cli_count(args, "poses", 1, 2048, &f->options.poses) ||
        !cli_count(args, "principal-joints", 1, 64, &f->options.principal_joints) ||
        !cli_count(args, "per-joint", 1, 64, &f->options.per_joint) ||
        !cli_count(args, "per-vertex", 1, 64, &f->options.per_vertex))
        return false;
    if (!pelt_fit_resolve(&f->options, &error)) return true;
    cli_misuse(args, "%s", error.text);
    return false;
}

/* Opens a skin that is in memory and measures it. */
static pelt_measure *measure(const fitting *f, const pelt_skin_bytes *skin, pelt_examples examples, pelt_error *error) {
    pelt_skin opened;
    pelt_result result = pelt_open(skin->bytes, skin->size, &opened);
    if (result) {
        pelt_fail(error, result, "the fitted skin cannot be opened: %s", pelt_result_text(result));
        return NULL;
    }
    return pelt_measure_examples(&opened, f->bundle, examples, f->options.threads, error);
}

/* The held-out figure comes from a fit that has not seen those examples; the skin that is written has seen all. */
static bool fit_held_out(fitting *f, double fraction, pelt_error *error) {
    if (pelt_hold_out(f->bundle, f->all, fraction, &f->kept, &f->held, error)) return false;
    if (!f->held.count || !f->kept.count) return true;
    pelt_skin_bytes *blind = pelt_fit(f->bundle, f->kept, &f->options, error);
    if (blind) f->holdout = measure(f, blind, f->held, error);
    pelt_skin_free(blind);
    return f->holdout != NULL;
}

static bool fit_all(fitting *f, pelt_error *error) {
    double wall = cli_wall_seconds(), cpu = cli_cpu_seconds();
    f->skin = pelt_fit(f->bundle, f->all, &f->options, error);
    f->seconds = cli_wall_seconds() - wall;
    f->cpu_seconds = cli_cpu_seconds() - cpu;
    if (f->skin) f->train = measure(f, f->skin, f->all, error);
    return f->train != NULL;
}

/* The skin carries its own figures, so that they are not lost with the terminal. */
static bool describe(fitting *f, pelt_error *error) {
    pelt_skin opened;
    if (pelt_open(f->skin->bytes, f->skin->size, &opened)) return false;
    json_t *about = json_loads(opened.about, 0, NULL);
    if (!about) about = json_object();
    f->about = about;
    json_object_set_new(about, "train", cli_measure_json(f->train, "", cli_value(f->args, "train"), f->all));
    if (f->holdout) json_object_set_new(about, "holdout", cli_measure_json(f->holdout, "", "held out", f->held));
    char *text = json_dumps(about, JSON_COMPACT | JSON_REAL_PRECISION(9));
    bool done = text && !pelt_skin_set_about(f->skin, text, error);
    free(text);
    return done;
}

static void warn(fitting *f, const char *text) {
    json_array_append_new(f->warnings, json_string(text));
    if (!f->args->quiet) fprintf(stderr, "pelt: warning: %s\n", text);
}

/* What the fit itself wants to say is in the skin's text about itself. */
static void warn_from_skin(fitting *f) {
    json_t *list = json_object_get(f->about, "warnings");
    for (size_t i = 0; i < json_array_size(list); i++) warn(f, json_string_value(json_array_get(list, i)));
}

/* How the alternation of weights and rest positions came to rest, where there was one. */
static void print_convergence(const fitting *f) {
    json_t *rms = json_object_get(json_object_get(f->about, "blend_fit"), "rms");
    for (size_t i = 0; i < json_array_size(rms); i++)
        cli_say(f->args, "%s%.4f%%%s", i ? ", " : "  fit converged: ", 100 * json_number_value(json_array_get(rms, i)),
                i + 1 == json_array_size(rms) ? " of the diagonal after each round\n" : "");
}

static void print_result(fitting *f, const char *path) {
    char text[200];
    double per_vertex = (double)f->skin->size / f->bundle->mesh.vertex_count;
    const pelt_fit_options *o = &f->options;
    cli_say(f->args, "%s: %s (blend %s, corrective %s), %u vertices, %zu bytes (%.1f per vertex), %.2f s\n", path,
            o->method, o->blend, o->corrective, f->bundle->mesh.vertex_count, f->skin->size, per_vertex, f->seconds);
    print_convergence(f);
    json_t *figures = json_object();
    cli_corrective_figures(f->args, f->about, figures);
    cli_measure_text(f->train, text, sizeof text);
    cli_say(f->args, "  training  %s  on %zu examples\n", text, f->all.count);
    if (f->holdout) {
        cli_measure_text(f->holdout, text, sizeof text);
        cli_say(f->args, "  held out  %s  on %zu examples, by a fit to the other %zu\n", text, f->held.count,
                f->kept.count);
    }
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:f, s:f, s:f, s:O}", "skin", path, "method",
                               o->method, "blend", o->blend, "corrective", o->corrective, "train",
                               cli_measure_json(f->train, path, cli_value(f->args, "train"), f->all), "holdout",
                               f->holdout ? cli_measure_json(f->holdout, path, "held out", f->held) : json_null(),
                               "bytes", (json_int_t)f->skin->size, "bytes_per_vertex", per_vertex, "seconds",
                               f->seconds, "cpu_seconds", f->cpu_seconds, "warnings", f->warnings);
    json_object_update(object, figures);
    json_decref(figures);
    cli_print_json(f->args, object);
}

static int fit_bundle(fitting *f, const char *path) {
    const cli_args *args = f->args;
    pelt_error error;
    double fraction = 0.2;
    if (!read_options(f) || !cli_number(args, "holdout", 0, 0.9, &fraction)) return CLI_MISUSE;
    f->bundle = pelt_bundle_read(args->inputs[0], &error);
    if (!f->bundle) return cli_error(&error);
    const pelt_clip **clips;
    size_t clip_count;
    if (!cli_clips(f->bundle, cli_value(args, "train"), PELT_NEED_POSITIONS, &clips, &clip_count)) return CLI_FAILED;
    pelt_findings findings = pelt_diagnose(f->bundle, clips, clip_count);
    if (!cli_check_findings(args, findings)) return CLI_FAILED;
    for (size_t i = 0; i < findings.count; i++)
        if (findings.list[i].severity != PELT_NOTE)
            json_array_append_new(f->warnings, json_string(findings.list[i].text));
    if (!cli_examples(args, f->bundle, clips, clip_count, &f->all)) return CLI_MISUSE;
    if (!f->all.count) return cli_fail("%s: the clips have no frames, so there is nothing to fit to", f->bundle->path);
    if (!fit_all(f, &error)) return cli_error(&error); /* first, so that what it refuses is said of all examples */
    if (fraction > 0 && !fit_held_out(f, fraction, &error)) return cli_error(&error);
    if (!describe(f, &error)) return cli_error(&error);
    warn_from_skin(f);
    /* An interpolation is always better on its own examples; it matters while much of the blend's error is left. */
    if (f->holdout && f->holdout->rms > 2 * f->train->rms && f->holdout->rel_err > 0.2)
        warn(f, "the error on held-out examples is more than twice the error in training: the skin has learned the "
                "examples by heart; give it more of them, or a simpler method");
    if (pelt_skin_write(f->skin, path, &error)) return cli_error(&error);
    print_result(f, path);
    return CLI_DONE;
}

static int run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (!cli_value(args, "train")) return cli_misuse(args, "--train CLIP,... says what to fit to; it is missing");
    if (!path) return cli_misuse(args, "-o SKIN.pelt says where the skin goes; it is missing");
    fitting f = {.args = args, .arena = pelt_arena_new(0), .warnings = json_array()};
    if (!f.arena) return cli_fail("not enough memory");
    int code = fit_bundle(&f, path);
    pelt_measure_free(f.train);
    pelt_measure_free(f.holdout);
    pelt_skin_free(f.skin);
    pelt_bundle_free(f.bundle);
    pelt_arena_free(f.arena);
    json_decref(f.warnings);
    json_decref(f.about);
    return code;
}

const cli_command cli_fit = {
    "fit",
    "BUNDLE --train CLIP,... [--method M] -o SKIN.pelt",
    "Fits a skin to examples.",
    "BUNDLE is a glTF file; keyframe i of a clip is the pose of example i, and the true positions are in a point "
    "cache\n"
    "beside it (body.CLIP.pc2, .mdd, .npy, or a folder of .obj), in morph targets, or named as CLIP=FILE. Named "
    "controls\n"
    "are columns of body.CLIP.csv, one row per frame, or tracks of the file.\n"
    "The training error is of the skin that is written; the held-out error is of a fit that did not see those "
    "examples.",
    run,
    1,
    1,
    {{"train", "CLIP,...", "Clips to fit to."},
     {"every", "N", "Train on every N-th frame of the clips only; default all."},
     {"output", "SKIN.pelt", "The skin file to write."},
     {"method", "ssd|joints|psd|wpsd|eigen|kernel", "A preset of blend and corrective; default ssd."},
     {"blend", "file|distance|fit|joints",
      "Where blend weights come from: the file, the distance to the bones, or a fit to the examples: convex on the "
      "skeleton's joints (fit), or of any sign with driven joints (joints)."},
     {"corrective", "none|psd|wpsd|eigen|kernel", "What is added to the rest pose before blending."},
     {"influences", "K", "Most joints per vertex; default: as many as there are (file), 4 (others)."},
     {"rest", "keep|refit", "Rest positions as they are, or fitted too; default keep (fit), refit (joints)."},
     {"smooth", "X", "fit: evens out weights along the edges of the mesh; 1e-5 is little, 1e-3 much."},
     {"prune", "X", "fit: drops weights below X and refits the others."},
     {"lock-joints", "NAME,...", "fit: joints that keep the file's weights; * stands for any letters."},
     {"lock-vertices", "FILE", "fit: vertices that keep the file's weights: their numbers, one a line."},
     {"drop-joints", "NAME,...", "fit, joints: joints that no vertex may follow; * stands for any letters."},
     {"drive", "FILE.json", "joints: which driven joints to add; default: automatic."},
     {"influence-choice", "greedy|rigidity", "joints: how a vertex chooses its joints; default greedy."},
     {"ridge", "X", "joints: what a squared weight costs; default 1e-5, 0 for none."},
     {"normal-scale", "X", "joints: how much normals count in the fit; default 0.01, 0 for not at all."},
     {"poses", "N", "psd, wpsd: keep the N most important poses (wpsd: per vertex); default all."},
     {"principal-joints", "N", "wpsd: most joints in a vertex's pose distance; default: all that drive it."},
     {"distance-weights", "driving|blend", "wpsd: joints count by how far they displace a vertex, or by blend weight."},
     {"rbf", "mixed|gaussian|exp",
      "psd, wpsd: function of the pose distance; default mixed, mostly Gaussian; gaussian for wpsd with --poses."},
     {"no-norm", NULL, "psd, wpsd: do not divide the functions by their sum."},
     {"control-scale", "NAME=S,...",
      "How much more a control counts in pose distances; default 1: at its farthest from rest like a radian."},
     {"displacements", "16|32", "Bits of the numbers of displacements; default 16 where that is exact enough."},
     {"per-joint", "N", "eigen: displacements of every joint, and as many changes of normals; default 5."},
     {"per-vertex", "N",
      "kernel: mean displacements of a vertex, and as many changes of its normal, default 10; eigen: the most of any "
      "vertex, half of them for its normal."},
     {"sweeps-only", NULL, "eigen: learn only from examples that move one joint alone, as the paper does."},
     {"plain-normals", NULL,
      "psd, wpsd, eigen, kernel: leave normals as the blend turns them; smaller, and normals are worse."},
     {"holdout", "FRACTION", "Examples left out to measure the error on; default 0.2, 0 skips it."},
     {"force", NULL, "Fit even when the input does not seem to fit together."}},
};
