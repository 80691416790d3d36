/* cmd_fit.c: pelt fit. */

#include "cli/cache_options.h"
#include "cli/fit_options.h"
#include "fit/about.h"
#include "fit/choose/choose.h"
#include "fit/fitting.h"
#include "io/journal.h"
#include "rig/clock.h"
#include "io/kept.h"
#include "rig/ranks.h"
#include "rig/spill.h"
#include <stdlib.h>
#include <string.h>

/* Everything one call of the command owns, so that every exit can free it. */
typedef struct fitting {
    const cli_args *args;
    const pelt_progress *progress; /* NULL: a bar */
    pelt_arena *arena;             /* of files that options name */
    pelt_bundle *bundle;
    pelt_fit_options options;
    pelt_examples examples;
    pelt_examples fresh; /* of these, those of --train */
    pelt_kept kept;      /* those of --from */
    pelt_bytes *skin;
    pelt_fit_report report;
    pelt_budget budget;
    pelt_front front; /* if the method was chosen */
    double begun, begun_cpu;
    json_t *warnings;
    pelt_journal_file *journal; /* with --resume */
} fitting;

static bool read_options(fitting *f) {
    const cli_args *args = f->args;
    cli_method words = {cli_value(args, "method"), cli_value(args, "blend"), cli_value(args, "corrective"),
                        cli_value(args, "preset")};
    if (!cli_budget(args, &f->budget) || !cli_fit_options(args, f->arena, &words, true, &f->options)) return false;
    if (!cli_number(args, "holdout", &f->options.holdout)) return false;
    if (cli_value(args, "holdout") && cli_chooses(args))
        return cli_misuse(args, "--holdout applies to a single method: name one with --method, or leave it out; "
                                "choosing a method holds examples out in turn"),
               false;
    if (cli_value(args, "holdout") && f->options.holdout == 0) f->options.holdout = -1;
    f->options.no_confidence = cli_value(args, "no-confidence") != NULL;
    if (f->progress) f->options.progress = *f->progress;
    return true;
}

static void warn(fitting *f, const char *text) {
    json_array_append_new(f->warnings, pelt_json_text(text));
    cli_warn(f->args, "%s", text);
}

/* Methods that interpolate their examples: their training error says nothing. */
static bool interpolates(const pelt_fit_options *o) {
    return o->corrective == PELT_CORRECTIVE_PSD || o->corrective == PELT_CORRECTIVE_WPSD ||
           o->corrective == PELT_CORRECTIVE_KERNEL;
}

/* Why a skin may be worse than one that learned nothing. */
static const char *why_worse(const fitting *f) {
    const pelt_fit_options *o = &f->report.options;
    if (o->blend == PELT_BLEND_DISTANCE && o->corrective == PELT_CORRECTIVE_NONE)
        return "weights by distance ignore how the character moves; use --blend file or --blend fit";
    if (f->examples.count < 10) return "there are too few examples to learn from; add more";
    return "the examples are too few or too different to learn from; add more, or use a simpler method";
}

static void judge(fitting *f) {
    char text[400];
    const pelt_measure *train = f->report.train, *held = f->report.holdout, *judged = held ? held : train;
    if (!judged) return;
    if (cli_is_worse(judged)) {
        snprintf(text, sizeof text,
                 "on %s the skin is worse than a plain blend with the file's weights (rel_err %.3f): %s",
                 held ? "held-out examples" : "its own examples", judged->rel_err, why_worse(f));
        warn(f, text);
    } else if (held && !interpolates(&f->report.options) && held->rms > 2 * train->rms && held->rel_err > 0.2) {
        warn(f, "the error on held-out examples is more than twice the training error: the skin overfits; add "
                "examples, or use a simpler method");
    }
}

/* What makes the error on held-out examples a doubtful forecast. */
static pelt_result doubt(fitting *f, pelt_error *error) {
    pelt_findings doubts = {0};
    pelt_result result =
        pelt_doubt_forecast(f->bundle->arena, f->bundle, f->examples, f->report.holdout, &doubts, error);
    for (size_t i = 0; i < doubts.count; i++) warn(f, doubts.list[i].text);
    return result;
}

/* How the alternation of weights and rest positions converged, if there was one. */
static void print_convergence(const fitting *f) {
    const pelt_blend_findings *b = &f->report.blend_fit;
    for (uint32_t i = 0; i < b->round_count; i++)
        cli_say(f->args, "%s%.4f%%%s", i ? ", " : "  fit converged: ", 100 * b->round_rms[i],
                i + 1 == b->round_count ? " of the diagonal after each round\n" : "");
}

/* What the skin knows of its own errors, or why it knows nothing. */
static void say_confidence(const fitting *f) {
    const pelt_confidence_findings *c = &f->report.confidence;
    if (c->regions)
        cli_say(f->args,
                "  confidence in %u regions, calibrated on %u held-out examples: correlation %.2f; the median forecast "
                "is %.1f times the true error\n",
                c->regions, c->frames, c->correlation, c->median);
    else if (f->examples.count && !f->options.no_confidence)
        cli_say(f->args, "  no confidence: only %u examples could be held out, too few to calibrate it\n", c->frames);
}

static int print_result(fitting *f, const char *path) {
    char text[200];
    const pelt_fit_report *r = &f->report;
    double per_vertex = (double)f->skin->size / f->bundle->mesh.vertex_count;
    const char *method = pelt_method_name(r->options.method), *blend = pelt_blend_name(r->options.blend),
               *corrective = pelt_corrective_name(r->options.corrective);
    const char *preset = pelt_preset_name(r->options.preset);
    double seconds = pelt_wall_seconds() - f->begun, cpu_seconds = pelt_cpu_seconds() - f->begun_cpu;
    cli_say(f->args, "%s: %s (blend %s, corrective %s%s%s), %u vertices, %zu bytes (%.1f per vertex), %.2f s\n", path,
            method, blend, corrective, *preset ? ", preset " : "", preset, f->bundle->mesh.vertex_count, f->skin->size,
            per_vertex, seconds);
    cli_say_front(f->args, &f->front, f->bundle->mesh.vertex_count);
    print_convergence(f);
    json_t *figures = pelt_corrective_json(r, f->bundle, f->examples);
    cli_say_corrective(f->args, figures);
    if (!f->examples.count)
        cli_say(f->args,
                "  nothing was learned: the weights come from %s, and there are no examples to measure them on\n",
                r->options.blend == PELT_BLEND_FILE ? "the file" : "the distance to the bones");
    if (r->train) {
        cli_measure_text(r->train, text, sizeof text);
        cli_say(f->args, "  training  %s  on %zu examples\n", text, f->examples.count);
    }
    if (r->holdout) {
        cli_measure_text(r->holdout, text, sizeof text);
        if (f->front.count)
            cli_say(f->args,
                    "  held out  %s  on %zu examples, by fits to the others; rms and rel_err without the worst 5%%\n",
                    text, r->held.count);
        else
            cli_say(f->args, "  held out  %s  on %zu examples, by a fit to the other %zu\n", text, r->held.count,
                    r->kept.count);
    }
    say_confidence(f);
    cli_say_next(f->args, "view %s %s", f->args->inputs[0], path);
    json_t *object = pelt_json_pack(
        "{skin:s, method:s, blend:s, corrective:s, preset:o, train:o, holdout:o, bytes:z, bytes_per_vertex:f, "
        "seconds:f, cpu_seconds:f, warnings:o}",
        path, method, blend, corrective,
        r->options.preset ? json_string(pelt_preset_name(r->options.preset)) : json_null(),
        r->train ? pelt_measure_json(r->train, path, cli_value(f->args, cli_value(f->args, "train") ? "train" : "from"),
                                     f->examples)
                 : json_null(),
        r->holdout ? pelt_measure_json(r->holdout, path, "held out", r->held) : json_null(), f->skin->size, per_vertex,
        seconds, cpu_seconds, json_incref(f->warnings));
    json_object_set_new(object, "choice", cli_front_json(&f->front, f->bundle->mesh.vertex_count));
    static const char *const keys[] = {"condition", "damped", "bound", "storage_error"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(figures, keys[i]);
        json_object_set_new(object, keys[i], value ? json_incref(value) : json_null());
    }
    json_decref(figures);
    const pelt_confidence_findings *c = &r->confidence;
    json_object_set_new(object, "confidence",
                        c->regions ? pelt_json_pack("{regions:u, frames:u, correlation:f, median:f}", c->regions,
                                                    c->frames, c->correlation, c->median)
                                   : json_null());
    return cli_print_json(f->args, object);
}

/* Blends that are not fitted need no examples. */
static bool learns(const fitting *f) {
    const pelt_fit_options *o = &f->options;
    return cli_chooses(f->args) || o->corrective != PELT_CORRECTIVE_NONE || o->blend == PELT_BLEND_FIT ||
           o->blend == PELT_BLEND_JOINTS;
}

/* A mesh without weights gets them from its bones, unless the user chose a blend. */
static void weigh(fitting *f) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    bool none = !mesh->influences.first[mesh->vertex_count];
    if (cli_chooses(f->args) || !none || f->options.blend != PELT_BLEND_FILE || cli_value(f->args, "blend")) return;
    f->options.blend = PELT_BLEND_DISTANCE;
    if (!f->args->quiet)
        cli_fail("note: %s has no weights; they are computed from the distance to the bones (--blend distance)",
                 f->bundle->path);
}

/* Between steps that take a while and do not ask themselves. */
static bool is_stopped(const fitting *f, const char *task) {
    pelt_error error;
    if (!f->progress || !pelt_should_stop(f->progress, task, 0)) return false;
    return pelt_stopped(&error), cli_error(&error), true;
}

/* The examples, and whether they are consistent. */
static int read_examples(fitting *f) {
    const cli_args *args = f->args;
    const pelt_clip **clips;
    size_t clip_count;
    if (!cli_clips(f->bundle, cli_value(args, "train"), PELT_NEED_POSITIONS, &clips, &clip_count)) return CLI_FAILED;
    cli_say_placed(args, f->bundle);
    if (is_stopped(f, "checking files")) return CLI_FAILED;
    pelt_findings findings = pelt_diagnose(f->bundle, clips, clip_count);
    if (!cli_check_findings(args, findings)) return CLI_FAILED;
    for (size_t i = 0; i < findings.count; i++)
        if (findings.list[i].severity != PELT_NOTE)
            json_array_append_new(f->warnings, pelt_json_text(findings.list[i].text));
    if (!cli_example_options(args, f->bundle, &clips, &clip_count)) return CLI_FAILED;
    if (!cli_examples(args, f->bundle, clips, clip_count, &f->examples)) return CLI_MISUSE;
    if (f->examples.count) return CLI_DONE;
    return cli_fail("%s: the clips have no frames, so there is nothing to fit to", f->bundle->path);
}

/* Examples of earlier fits, before those of --train. */
static int read_kept(fitting *f) {
    const char *path = cli_value(f->args, "from");
    pelt_error error;
    if (pelt_kept_read(f->arena, path, f->bundle, &f->kept, &error)) return cli_error(&error);
    const pelt_clip **clips = PELT_NEW(f->arena, f->kept.clip_count, const pelt_clip *);
    if (pelt_arena_failed(f->arena)) return cli_fail("not enough memory");
    if (pelt_kept_clips(&f->kept, f->bundle, f->args->threads, clips, &error)) return cli_error(&error);
    pelt_examples old = pelt_bundle_examples(f->bundle, clips, f->kept.clip_count);
    size_t count = old.count + f->fresh.count;
    pelt_example *list = PELT_NEW(f->bundle->arena, count, pelt_example);
    if (pelt_arena_failed(f->bundle->arena)) return cli_fail("not enough memory");
    for (size_t i = 0; i < count; i++) list[i] = i < old.count ? old.list[i] : f->fresh.list[i - old.count];
    f->examples = (pelt_examples){count, list};
    return CLI_DONE;
}

/* All examples of this fit, for the next. */
static int keep_examples(fitting *f) {
    const char *path = cli_value(f->args, "keep");
    pelt_error error;
    if (!path || !pelt_rank_writes()) return CLI_DONE;
    pelt_result result = f->kept.order ? PELT_OK : pelt_kept_begin(f->arena, f->bundle, &f->kept, &error);
    if (!result) result = pelt_kept_add(f->arena, f->bundle, f->fresh, f->args->threads, &f->kept, &error);
    if (!result) result = pelt_kept_write(path, f->bundle, &f->kept, &error);
    return result ? cli_error(&error) : CLI_DONE;
}

/* Once the files are read: it belongs to them. False after a message. */
static bool open_checkpoint(fitting *f) {
    pelt_error error;
    char path[4200];
    if (!cli_value(f->args, "output")) return true; /* the page's fits are short */
    snprintf(path, sizeof path, "%s.checkpoint", cli_value(f->args, "output"));
    f->journal = pelt_journal_open(f->arena, path, &error);
    return f->journal || (cli_error(&error), false);
}

/* What is ahead, if it is worth waiting for or needs a disk. */
static void say_needs(const fitting *f) {
    const double short_work = 20;
    pelt_fit_options o = f->options;
    if (cli_chooses(f->args) || pelt_fit_resolve(&o, NULL)) return;
    pelt_fit_needs n = pelt_fit_needs_of(&o, f->bundle->mesh.vertex_count, (double)f->examples.count);
    if (n.seconds < short_work && !(n.disk > 0)) return;
    cli_say(f->args, "estimate: about %.0f s on one core, %.0f MB of memory, %.0f MB on disk", n.seconds,
            1e-6 * n.memory, 1e-6 * n.disk);
    cli_say(f->args, n.disk > 0 ? " in %s\n" : "\n", pelt_spill_folder());
}

static int fit_bundle(fitting *f) {
    const cli_args *args = f->args;
    pelt_error error;
    if (!read_options(f)) return CLI_MISUSE;
    if (!cli_value(args, "train") && !cli_value(args, "from") && cli_value(args, "keep"))
        return cli_misuse(args, "--keep stores the examples of a fit, and there are none: name clips with --train");
    if (!cli_value(args, "train") && !cli_value(args, "from") && learns(f))
        return cli_misuse(args,
                          "--train CLIP,... is missing: name the clips to fit to. Only the plain blends, --method ssd "
                          "and --method ssd --blend distance, need no examples");
    if (is_stopped(f, "reading files")) return CLI_FAILED;
    f->bundle = cli_bundle(args, args->inputs[0], &error);
    if (!f->bundle) return cli_error(&error);
    if (!cli_cache_options(args, f->bundle)) return CLI_MISUSE;
    weigh(f);
    int code = cli_value(args, "train") ? read_examples(f) : CLI_DONE;
    f->fresh = f->examples;
    if (!code && cli_value(args, "from")) code = read_kept(f);
    if (code) return code;
    if (cli_value(args, "keep") && pelt_kept_check(f->fresh, &error)) return cli_error(&error);
    say_needs(f);
    if (cli_value(args, "resume") && !open_checkpoint(f)) return CLI_FAILED;
    f->skin = cli_chooses(args)
                  ? pelt_choose(f->bundle, f->examples, &f->budget, &f->options, &f->report, &f->front, &error)
                  : pelt_fit(f->bundle, f->examples, &f->options, &f->report, &error);
    pelt_journal_close(f->journal);
    if (!f->skin) return cli_error(&error);
    if (f->front.mirror) f->examples = f->front.examples;
    if (f->report.holdout && doubt(f, &error)) return cli_error(&error);
    for (size_t i = 0; i < f->report.findings.count; i++) warn(f, f->report.findings.list[i].text);
    judge(f);
    return CLI_DONE;
}

static void end_fitting(fitting *f) {
    pelt_fit_report_free(&f->report);
    pelt_front_free(&f->front);
    pelt_bytes_free(f->skin);
    pelt_bundle_free(f->bundle);
    pelt_arena_free(f->arena);
    json_decref(f->warnings);
}

static int run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    pelt_error error;
    if (!path) return cli_misuse(args, "-o SKIN.pelt is missing: name the file to write");
    fitting f = {.args = args, .arena = pelt_arena_new(0), .warnings = json_array()};
    f.begun = pelt_wall_seconds(), f.begun_cpu = pelt_cpu_seconds();
    if (!f.arena) return cli_fail("not enough memory");
    int code = fit_bundle(&f);
    if (!code) code = keep_examples(&f);
    if (!code) code = pelt_bytes_write(f.skin, path, &error) ? cli_error(&error) : print_result(&f, path);
    if (!code) pelt_journal_remove(f.journal);
    end_fitting(&f);
    return code;
}

/* -- The same options from the page ------------------------------------------------------------------------------ */

/* A page may not name files, neither to read nor to write. */
static bool names_no_files(const cli_args *args) {
    for (int i = 0; args->command->options[i].name; i++) {
        const cli_option *option = &args->command->options[i];
        if (!args->values[i]) continue;
        if (cli_kind_of(option) == CLI_INPUT || cli_kind_of(option) == CLI_OUTPUT ||
            (option->value && strstr(option->value, "FILE"))) {
            cli_fail("--%s names a file, which is allowed only on the command line", option->name);
            return false;
        }
    }
    return true;
}

/* Checks that every clip is one of the bundle's, not CLIP=FILE or a file of sculpts. */
static bool names_known_clips(const char *path, const char *names) {
    pelt_error error;
    size_t count = 0;
    bool known = true;
    pelt_bundle *bundle = names ? pelt_bundle_read(path, &error) : NULL;
    if (!names) return true;
    if (!bundle) return cli_error(&error), false;
    char **list = cli_list(names, &count);
    for (size_t i = 0; list && i < count && known; i++) {
        known = false;
        for (uint32_t c = 0; c < bundle->clip_count; c++)
            known |= !strcmp(bundle->clips[c]->name, list[i]) || !strcmp(bundle->clips[c]->name, names);
        if (!known) cli_fail("%s has no clip \"%s\"", pelt_base_name(path), list[i]);
    }
    cli_list_free(list);
    pelt_bundle_free(bundle);
    return known;
}

static int fit_words(fitting *f, cli_args *args, const char *path, size_t count, const char *const *words) {
    if (!cli_parse(args, (int)count, words)) return CLI_MISUSE;
    if (args->input_count) return cli_fail("\"%s\": expected options of pelt fit", args->inputs[0]);
    args->inputs[args->input_count++] = path;
    args->quiet = true;
    if (!names_no_files(args) || !names_known_clips(path, cli_value(args, "train"))) return CLI_MISUSE;
    f->args = args;
    return fit_bundle(f);
}

pelt_bytes *cli_fit_words(const char *path, size_t count, const char *const *words, const pelt_progress *progress,
                          pelt_error *error) {
    cli_args *args = calloc(1, sizeof *args);
    fitting f = {.progress = progress, .arena = pelt_arena_new(0), .warnings = json_array()};
    pelt_bytes *skin = NULL;
    *error = (pelt_error){0};
    cli_listen(error);
    if (args) args->command = &cli_fit;
    if (!args || !f.arena || !f.warnings)
        cli_fail("not enough memory");
    else if (!fit_words(&f, args, path, count, words))
        skin = f.skin, f.skin = NULL;
    cli_listen(NULL);
    end_fitting(&f);
    free(args);
    return skin;
}

const cli_command cli_fit = {
    "fit",
    "BUNDLE --train CLIP,... [--from OLD.examples] [--method M | --budget LIMITS] -o SKIN.pelt",
    "Fits a skin to examples.",
    "BUNDLE is a glTF file; keyframe i of a clip is the pose of example i, and the true positions are in a point cache "
    "next to it (body.CLIP.pc2, .mdd, .npy, or a folder of .obj), in morph targets, or named as CLIP=FILE. Named "
    "controls are columns of body.CLIP.csv, one row per frame, or tracks of the file. If a file has several objects, "
    "each may have its own cache, body.OBJECT.CLIP.pc2. A cache that has a single point where the file splits a vertex "
    "at a seam, as Blender writes it, is matched to the file.\n\n--method ssd, alone or with --blend distance, needs "
    "no examples: its weights come from the file, or from the distance to the bones.\n\nWithout --method, every method "
    "is tried on examples held out in turn, and the best one is fitted; other options apply to all methods, and "
    "methods that do not use a given option are not tried. The training error is that of the skin that is written; the "
    "held-out error comes from fits that did not see those examples.",
    run,
    1,
    1,
    {{"output", "SKIN.pelt", "The skin file to write.", .group = "What to make"},
     {"method", "ssd|joints|psd|wpsd|eigen|kernel",
      "The method: a blend and a corrective; default: chosen by cross-validation, or no corrective if only --blend is "
      "given."},
     {"budget", "LIMITS",
      "Limits for the skin, such as \"500 kB, 20 us, 1 mm\"; any subset will do. Size: bytes, kB, MB, bytes/vertex. "
      "Time for a frame on one core: us, ms, ns/vertex. Error in new poses: mm, cm, m, % of the diagonal. Takes the "
      "most accurate method within the limits or, if an error is given, the smallest that reaches it."},
     {"train", "CLIP,...", "Clips to fit to.", .group = "Examples"},
     {"from", "OLD.examples", "Also fit to the examples that an earlier fit kept; their caches are not needed.",
      CLI_INPUT},
     {"keep", "NEW.examples",
      "Keep all examples of this fit for later fits, each vertex to within 0.00001 of the diagonal; the file is "
      "smaller than the caches.",
      CLI_OUTPUT},
     {"every", "N", "Train on every N-th frame only; default 1, all frames."},
     CLI_EXAMPLE_OPTIONS,
     {"holdout", "FRACTION", "Fraction of the examples to hold out and measure the error on; default 0.2, 0 for none."},
     {"no-confidence", NULL, "Leave out the skin's forecast of its own error (see `pelt eval --confidence`)."},
     {"resume", NULL,
      "Save progress in SKIN.pelt.checkpoint, and continue from there if it exists; it is removed at the end."},
     {"force", NULL, "Fit even if the input looks inconsistent."},
     CLI_CACHE_OPTIONS,
     {"blend", "file|distance|fit|joints",
      "Where blend weights come from: the file, the distance to the bones, or a fit to the examples, with convex "
      "weights on the skeleton's joints (fit) or with driven joints and weights of any sign (joints).",
      .group = "Parts of a method"},
     {"corrective", "none|psd|wpsd|eigen|kernel", "What displaces the rest pose before blending."},
     {"preset", "lewis|rhee|kry|vertex-program",
      "A paper's own recipe, instead of --method; options that contradict it are refused. lewis: --method psd --blend "
      "file --distance-weights equal --rotations euler --rbf gaussian --no-norm; rhee: --method wpsd --blend fit "
      "--weights-first --influences 4 --principal-joints 4 --distance-weights blend --rotations euler --rbf gaussian "
      "--norm-floor 0.001 --shared-width; kry: --method eigen --blend file --sweeps-only --threshold 0.04 --fade 0; "
      "vertex-program: --method eigen --sweeps-only with the limits of the graphics card in that paper, --per-vertex "
      "10 --influences 4."},
     CLI_FIT_OPTIONS},
    .example = "pelt fit arm.glb --train train --method kernel -o arm.pelt",
};
