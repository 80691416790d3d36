/* cmd_keys.c: pelt keys: train key points, run them with the soft cache, measure both. */

#include "bench/keys.h"
#include "cli/cli.h"
#include "cli/engine_options.h"
#include "cli/keys_faces.h"
#include "cli/keys_run.h"
#include "engine/input.h"
#include "fit/keys/model.h"
#include "io/io.h"
#include "report/report.h"
#include "rig/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Options ------------------------------------------------------------------------------------------------------- */

/* "1%" or "0.01". */
static bool read_fraction(const cli_args *args, const char *name, double *value) {
    const char *text = cli_value(args, name);
    char *end;
    if (!text) return true;
    double number = strtod(text, &end);
    if (*end == '%') number /= 100, end++;
    if (*text && !*end && number != 0) return *value = number, true;
    cli_misuse(args, "--%s %s: expected a fraction such as 1%% or 0.01", name, text);
    return false;
}

bool cli_read_soft_cache(const cli_args *args, pelt_soft_cache_options *options) {
    bool absolute = cli_value(args, "absolute") != NULL;
    double e_min = 0, e_max = 0, step = 0.0008;
    if (!cli_amount(args, "e-min", &e_min) || !cli_amount(args, "e-max", &e_max) || !cli_number(args, "step", &step))
        return false;
    *options = (pelt_soft_cache_options){.e_min = (float)e_min, .e_max = (float)e_max, .step = (float)step};
    options->whole = cli_value(args, "whole") != NULL;
    options->no_witnesses = cli_value(args, "no-witnesses") != NULL;
    options->absolute = absolute;
    pelt_error error;
    return !pelt_check_soft_cache(options, &error) || (cli_error(&error), false);
}

/* "3,17,250"; the caller frees it. False after a message. */
static bool read_points(const cli_args *args, const char *name, uint32_t **points, uint32_t *count) {
    const char *text = cli_value(args, name);
    size_t words = 0;
    *points = NULL, *count = 0;
    if (!text) return true;
    char **list = cli_list(text, &words), *end = "";
    *points = calloc(words + 1, sizeof **points);
    for (size_t i = 0; list && *points && i < words && !*end; i++) {
        unsigned long number = strtoul(list[i], &end, 10);
        (*points)[(*count)++] = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    }
    bool good = words && *count == words && !*end;
    if (!good) cli_misuse(args, "--%s %s: expected point numbers such as 3,17,250", name, text);
    cli_list_free(list);
    return good;
}

static bool read_recipe(const cli_args *args, pelt_keys_recipe *recipe) {
    const char *text = cli_value(args, "recipe");
    for (int r = 0; r < PELT_KEYS_RECIPE_COUNT; r++)
        if (text && !strcmp(text, pelt_keys_recipe_name((pelt_keys_recipe)r)))
            return *recipe = (pelt_keys_recipe)r, true;
    if (text) cli_misuse(args, "--recipe %s: expected pelt or paper", text);
    return !text;
}

/* -- Train --------------------------------------------------------------------------------------------------------- */

static bool read_train_options(const cli_args *args, pelt_keys_options *o) {
    bool light = cli_value(args, "light") != NULL;
    *o = (pelt_keys_options){.uncentred = light,
                             .shared = light,
                             .exact = cli_value(args, "exact") != NULL,
                             .seed = args->seed,
                             .progress = cli_progress(args)};
    return read_recipe(args, &o->recipe) && cli_count(args, "keys", &o->keys) && cli_count(args, "basis", &o->basis) &&
           cli_count(args, "grid", &o->grid) && cli_count(args, "regions", &o->regions) &&
           cli_index(args, "witnesses", &o->witnesses) && cli_count(args, "batch", &o->batch) &&
           read_fraction(args, "residual", &o->residual) && read_fraction(args, "spacing", &o->spacing) &&
           cli_amount(args, "ridge", &o->ridge) && read_fraction(args, "error", &o->error) &&
           read_fraction(args, "bar", &o->bar);
}

static void print_forecast(const cli_args *args, const pelt_keys_forecast *f) {
    if (!f->rehearsals) {
        cli_say(args, "  no forecast: there are no shots to hold out; measure a clip that was not trained on\n");
        return;
    }
    cli_say(
        args,
        "  forecast for a clip of ten other shots: %.0f%% hits (%.0f to %.0f%%), %.0f points computed per frame "
        "(%.0f to %.0f);\n  keys alone, largest error of 99.5%% of the frames under %.2f%% of the diagonal (%.2f to "
        "%.2f%%)\n",
        100 * f->hit_rate.expected, 100 * f->hit_rate.low, 100 * f->hit_rate.high, f->evaluated.expected,
        f->evaluated.low, f->evaluated.high, 100 * f->error_p995.expected, 100 * f->error_p995.low,
        100 * f->error_p995.high);
    cli_say(args, "  rehearsed %u times on %u held-out frames: %u of %u bad frames trusted\n", f->rehearsals, f->frames,
            f->missed_bad, f->bad_frames);
}

/* [middle, low, high] */
static json_t *json_forecast(const pelt_forecast *f) { return pelt_json_pack("[f f f]", f->expected, f->low, f->high); }

static int print_trained(const cli_args *args, const pelt_keys_report *r, const char *path, size_t bytes,
                         double seconds) {
    cli_say(args, "%s: %u keys, %u basis vectors, from %u frames in %.1f s, %zu bytes\n", path, r->keys, r->basis,
            r->frames, seconds, bytes);
    bool appended = cli_value(args, "from") && r->forgotten >= 0;
    if (appended)
        cli_say(args, "  of the frames before, %s left out %.2g%% of the diagonal (RMS)\n", cli_value(args, "from"),
                100 * r->forgotten);
    print_forecast(args, &r->forecast);
    cli_say(args, "  soft cache: %u regions, %u of %u witnesses per frame", r->regions, r->witnesses_each_frame,
            r->witnesses);
    cli_say(args, "\n  error by number of keys:");
    json_t *curve = json_array();
    for (int i = 0; i < PELT_KEYS_CURVE && r->curve_keys[i]; i++) {
        cli_say(args, "  %u: %.3f%%", r->curve_keys[i], 100 * r->curve_error[i]);
        json_array_append_new(curve, pelt_json_pack("[u f]", r->curve_keys[i], r->curve_error[i]));
    }
    cli_say(args, "\n");
    json_t *forgotten = appended ? pelt_json_pack("f", r->forgotten) : json_null();
    const pelt_keys_forecast *f = &r->forecast;
    json_t *forecast =
        !f->rehearsals
            ? json_null()
            : pelt_json_pack("{hit_rate:o, evaluated_per_frame:o, max_fraction_p995:o, rehearsals:u, frames:u, "
                             "bad_frames:u, missed_bad_frames:u}",
                             json_forecast(&f->hit_rate), json_forecast(&f->evaluated), json_forecast(&f->error_p995),
                             f->rehearsals, f->frames, f->bad_frames, f->missed_bad);
    return cli_print_json(
        args, pelt_json_pack("{keys_file:s, frames:u, keys:u, basis:u, regions:u, witnesses:u, "
                             "witnesses_each_frame:u, max_fraction_p995:f, hit_rate:f, bad_caught:f, "
                             "bad_frames:u, ridge:f, seconds:f, bytes:z, error_by_keys:o, forgotten:o, forecast:o}",
                             path, r->frames, r->keys, r->basis, r->regions, r->witnesses, r->witnesses_each_frame,
                             isfinite(r->error_p995) ? r->error_p995 : -1, r->hit_rate, r->bad_caught, r->bad_frames,
                             r->ridge, seconds, bytes, curve, forgotten, forecast));
}

/* The rest pose where the frames are, in the scene; NULL: out of memory. */
static const float *positions_in_scene(pelt_bundle *bundle) {
    const pelt_mesh *mesh = &bundle->mesh;
    if (pelt_scene_diagonal(mesh) == mesh->diagonal) return mesh->positions;
    size_t count = 3 * (size_t)mesh->vertex_count;
    pelt_arena *arena = pelt_arena_inside(bundle->arena);
    const double *posed = pelt_blend_frame(arena, bundle, NULL, 0);
    float *positions = PELT_NEW(arena, count, float);
    for (size_t i = 0; positions && i < count; i++) positions[i] = (float)posed[i];
    return positions;
}

static int train(const cli_args *args, const pelt_keys *previous, pelt_input *input, pelt_engine *engine) {
    pelt_keys_options options;
    pelt_keys_report report;
    pelt_error error;
    const char *path = cli_value(args, "output"), *mesh = cli_value(args, "mesh");
    if (!read_train_options(args, &options)) return CLI_MISUSE;
    if (cli_value(args, "witnesses") && !options.witnesses) options.witnesses = PELT_KEYS_NO_WITNESSES;
    if (cli_value(args, "with")) options.engine_points = input->frames.point_count - input->second_points;
    uint32_t *fiducials;
    if (!read_points(args, "fiducials", &fiducials, &options.fiducial_count)) return free(fiducials), CLI_MISUSE;
    options.fiducials = fiducials;
    pelt_bytes *trained = NULL;
    pelt_bundle *bundle = mesh ? cli_bundle(args, mesh, &error) : NULL;
    bool ready = bundle || !mesh;
    const pelt_mesh *shape = bundle ? &bundle->mesh : engine ? pelt_engine_mesh(engine) : NULL;
    if (ready && shape && shape->vertex_count == input->frames.point_count && input->frames.component_count == 3) {
        options.positions = bundle ? positions_in_scene(bundle) : shape->positions;
        ready = options.positions || pelt_no_memory(&error) == PELT_OK;
        if (ready && !options.shared) options.diagonal = pelt_diagonal(options.positions, shape->vertex_count);
    } else if (ready && bundle) {
        ready = pelt_fail(&error, PELT_ERROR_DATA, "%s: %u vertices, but the frames have %u points", mesh,
                          shape->vertex_count, input->frames.point_count) == PELT_OK;
    }
    options.previous = previous;
    double start = pelt_wall_seconds();
    if (ready) trained = pelt_keys_train(&input->frames, &options, &report, &error);
    double seconds = pelt_wall_seconds() - start;
    int code = CLI_FAILED;
    if (!trained || pelt_bytes_write(trained, path, &error))
        code = cli_error(&error);
    else
        code = print_trained(args, &report, path, trained->size, seconds);
    pelt_bytes_free(trained);
    pelt_bundle_free(bundle);
    free(fiducials);
    return code;
}

/* -- Measure ------------------------------------------------------------------------------------------------------- */

/* The cost of calls and points: measured on the engine, or given by the user. */
static bool read_cost(const cli_args *args, const pelt_keys *keys, const pelt_input *input, pelt_engine *engine,
                      pelt_keys_measure_options *options) {
    const pelt_frames *frames = &input->frames;
    double cost = 0;
    if (!cli_number(args, "cost", &cost)) return false;
    options->point_cost = 1e-6 * cost;
    if (engine && frames->controls && frames->control_count == pelt_engine_controls(engine) &&
        pelt_engine_points(engine) >= keys->engine_point_count) {
        pelt_engine_cost measured =
            pelt_engine_measure(engine, frames->controls, frames->frame_count, keys->key_points, keys->key_count);
        options->point_cost = measured.point, options->call_cost = measured.call;
    }
    return true;
}

/* Without an engine or a given cost nobody knows how fast the calculation is. */
static void print_speed(const cli_args *args, const pelt_keys *keys, const pelt_keys_measure *m) {
    cli_say(args,
            "speed:       %.4f ms to reconstruct, %.0f of %u points computed per frame, %.1f of them witnesses, in "
            "%.2f calls; ",
            1e3 * m->fill_seconds, m->evaluated, keys->point_count, m->witnesses, m->calls);
    if (m->speedup > 0)
        cli_say(args, "%.3g us per call and %.3g us per point: %.2f times faster\n", 1e6 * m->call_cost,
                1e6 * m->point_cost, m->speedup);
    else
        cli_say(args, "the speedup depends on the rig: name it with --engine, or its cost per point with --cost\n");
}

static int print_measure(const cli_args *args, const pelt_keys *keys, const pelt_keys_measure *m, double bar) {
    cli_say(args, "%u frames in %u shots, %u points, %u keys, %u basis vectors\n", m->frame_count, m->shot_count,
            keys->point_count, keys->key_count, keys->basis_count);
    cli_say(args,
            "keys alone:  largest error of a frame, %% of the diagonal: median %.3f, 99%% under %.3f, 99.5%% under "
            "%.3f, worst %.3f; rms %.4f\n",
            100 * m->p50, 100 * m->p99, 100 * m->p995, 100 * m->largest, 100 * m->rms);
    cli_say(args, "             %.2f%% of the frames and %u of %u whole shots under %.3g%%\n", 100 * m->under_bar,
            m->good_shots, m->shot_count, 100 * bar);
    cli_say(args,
            "soft cache:  %u hits, %u in part, %u blended, %u missed, %u in doubt; %.2f%% of the final frames under "
            "%.3g%%, 99.9%% under %.3f; %u of %u bad frames trusted\n",
            m->verdicts[PELT_CACHE_HIT], m->verdicts[PELT_CACHE_PART], m->verdicts[PELT_CACHE_BLEND],
            m->verdicts[PELT_CACHE_MISS], m->verdicts[PELT_CACHE_DOUBT], 100 * m->final_under_bar, 100 * bar,
            100 * m->final_p999, m->missed_bad, m->bad_frames);
    if (m->bad_frames)
        cli_say(args,
                "misfit:      flags %.1f%% of the bad frames at 5%% false alarms (precision %.2f); correlation with "
                "the error %.2f\n",
                100 * m->recall, m->precision, m->correlation);
    else
        cli_say(args, "misfit:      there are no bad frames to find; correlation with the error %.2f\n",
                m->correlation);
    cli_say(args,
            "jumps:       keys alone %.3f%%, where the soft cache switches %.3f%%; beyond the motion of the truth "
            "%.3f%%, over 0.1%% in %u frames\n",
            100 * m->jump, 100 * m->switch_jump, 100 * m->still_jump, m->still_frames);
    print_speed(args, keys, m);
    bool known = m->speedup > 0;
    json_t *json = pelt_json_pack(
        "{points:u, keys:u, basis:u, frames:u, max_fraction_p995:f, rms_fraction:f, hit_rate:f, speedup:o, "
        "missed_bad_frames:u, shots:u, good_shots:u, max_fraction_p50:f, max_fraction_p99:f, max_fraction:f, "
        "under_bar:f, final_under_bar:f, bad_frames:u, final_p999:f, recall_at_5:f, precision_at_5:f, correlation:f, "
        "jump:f, switch_jump:f, evaluated_per_frame:f, fill_seconds:f, hits:u, parts:u, blends:u, misses:u, doubts:u, "
        "witnesses_per_frame:f, still_jump:f, still_frames:u, calls_per_frame:f, call_seconds:o, point_seconds:o}",
        keys->point_count, keys->key_count, keys->basis_count, m->frame_count, m->p995, m->rms, m->hit_rate,
        known ? json_real(m->speedup) : json_null(), m->missed_bad, m->shot_count, m->good_shots, m->p50, m->p99,
        m->largest, m->under_bar, m->final_under_bar, m->bad_frames, m->final_p999, m->recall, m->precision,
        m->correlation, m->jump, m->switch_jump, m->evaluated, m->fill_seconds, m->verdicts[PELT_CACHE_HIT],
        m->verdicts[PELT_CACHE_PART], m->verdicts[PELT_CACHE_BLEND], m->verdicts[PELT_CACHE_MISS],
        m->verdicts[PELT_CACHE_DOUBT], m->witnesses, m->still_jump, m->still_frames, m->calls,
        known ? json_real(m->call_cost) : json_null(), known ? json_real(m->point_cost) : json_null());
    return cli_print_json(args, json);
}

static pelt_result write_page(const cli_args *args, const pelt_keys *keys, const pelt_keys_measure *m,
                              const pelt_mesh *mesh, keys_faces *faces, double bar, const char *path,
                              pelt_error *error) {
    pelt_bytes html = {0};
    pelt_keys_page page = {.name = pelt_base_name(args->inputs[1]),
                           .keys = keys,
                           .mesh = mesh,
                           .measure = m,
                           .bar = bar,
                           .threads = args->threads};
    if (faces) keys_faces_show(faces, m, pelt_base_name(args->inputs[2]), &page);
    return cli_write_made(pelt_keys_page_html(&page, &html, error), &html, path, error);
}

static pelt_result draw_picture(const pelt_keys *keys, const pelt_mesh *mesh, const char *path, pelt_error *error) {
    pelt_bytes png = {0};
    return cli_write_made(pelt_keys_picture(keys, mesh, &png, error), &png, path, error);
}

static int measure(const cli_args *args, const pelt_keys *keys, pelt_input *input, pelt_engine *engine) {
    pelt_keys_measure_options options = {.bar = 0.01, .progress = cli_progress(args)};
    pelt_error error;
    const char *report = cli_value(args, "report"), *mesh_path = cli_value(args, "mesh"),
               *picture = cli_value(args, "picture");
    if (!cli_read_soft_cache(args, &options.soft_cache) || !read_fraction(args, "bar", &options.bar) ||
        !read_cost(args, keys, input, engine, &options))
        return CLI_MISUSE;
    pelt_bundle *bundle = mesh_path ? cli_bundle(args, mesh_path, &error) : NULL;
    if (mesh_path && !bundle) return cli_error(&error);
    const pelt_mesh *mesh = bundle ? &bundle->mesh : engine ? pelt_engine_mesh(engine) : NULL;
    if (mesh && mesh->vertex_count < keys->engine_point_count) mesh = NULL;
    if (picture && (!mesh || !mesh->triangle_count)) {
        pelt_bundle_free(bundle);
        return cli_misuse(args, "--picture needs a mesh to draw the keys on: name it with --mesh FILE.glb");
    }
    keys_faces faces;
    bool drawn = report && mesh && mesh->vertex_count == keys->point_count && keys->component_count == 3;
    bool ready = !drawn || !keys_faces_open(&faces, input->arena, keys, input->frames.frame_count, &error);
    if (drawn) options.look = keys_faces_look, options.look_user = &faces;
    pelt_keys_measure *m = ready ? pelt_keys_measure_frames(keys, &input->frames, &options, &error) : NULL;
    bool done = m && (!report ||
                      write_page(args, keys, m, mesh, drawn ? &faces : NULL, options.bar, report, &error) == PELT_OK);
    if (done && picture) done = draw_picture(keys, mesh, picture, &error) == PELT_OK;
    int code = done ? print_measure(args, keys, m, options.bar) : cli_error(&error);
    if (done && report) cli_say(args, "%s: the report\n", report);
    if (done && picture) cli_say(args, "%s: the keys on the mesh\n", picture);
    pelt_keys_measure_free(m);
    pelt_bundle_free(bundle);
    return code;
}

/* -- Speed --------------------------------------------------------------------------------------------------------- */

static int speed(const cli_args *args) {
    uint32_t points = 2986, basis = 255;
    bench_keys_row rows[PELT_ISA_COUNT];
    pelt_error error;
    if (!cli_count(args, "points", &points) || !cli_count(args, "basis", &basis)) return CLI_MISUSE;
    size_t count = bench_keys(points, basis, rows, &error);
    if (!count) return cli_error(&error);
    cli_say(args, "%u points from %u vectors; milliseconds per frame, median (best)\n", points, basis);
    cli_say(args, "%-8s %18s %18s %18s\n", "", "keys to coordinates", "fill", "fill, 32 at once");
    json_t *list = json_array();
    for (const bench_keys_row *r = rows; r < rows + count; r++) {
        const bench_time *t = r->times;
        cli_say(args, "%-8s", pelt_isa_name(r->isa));
        for (int w = 0; w < BENCH_KEYS_WORK; w++) cli_say(args, "   %7.4f (%.4f)", 1e3 * t[w].median, 1e3 * t[w].best);
        cli_say(args, "\n");
        json_array_append_new(list, pelt_json_pack("{isa:s, solve_ms:f, solve_ms_best:f, fill_ms:f, fill_ms_best:f, "
                                                   "fill_batch_ms:f, fill_batch_ms_best:f}",
                                                   pelt_isa_name(r->isa), 1e3 * t[BENCH_SOLVE].median,
                                                   1e3 * t[BENCH_SOLVE].best, 1e3 * t[BENCH_FILL].median,
                                                   1e3 * t[BENCH_FILL].best, 1e3 * t[BENCH_FILL_BATCH].median,
                                                   1e3 * t[BENCH_FILL_BATCH].best));
    }
    return cli_print_json(args, pelt_json_pack("{points:u, basis:u, rows:o}", points, basis, list));
}

/* -- The command --------------------------------------------------------------------------------------------------- */

static int run_verb(const cli_args *args, const char *verb, pelt_engine *engine) {
    bool training = !strcmp(verb, "train");
    int first = training ? 1 : 2;
    pelt_error error;
    pelt_keys keys = {0};
    pelt_input input;
    if (args->input_count <= first)
        return cli_misuse(args,
                          "an input is missing; usage: pelt keys train CLIP..., or run|measure FILE.keys CLIP...");
    const char *path = training ? cli_value(args, "from") : args->inputs[1];
    if (training && !cli_value(args, "output"))
        return cli_misuse(args, "-o FILE.keys is missing: name the file to write");
    pelt_bytes *bytes = path ? pelt_keys_read(path, &keys, &error) : NULL;
    if (path && !bytes) return cli_error(&error);
    pelt_result opened = pelt_input_open(&input, args->inputs + first, (uint32_t)(args->input_count - first), engine,
                                         path ? &keys : NULL, cli_value(args, "with"), &error);
    pelt_keys as_trained = keys;
    if (!opened && path) opened = pelt_input_match(&input, &keys, &error);
    int code = opened                 ? cli_error(&error)
               : training             ? train(args, path ? &keys : NULL, &input, engine)
               : !strcmp(verb, "run") ? cli_run_keys(args, &keys, &as_trained, &input, engine)
                                      : measure(args, &keys, &input, engine);
    pelt_input_close(&input);
    pelt_bytes_free(bytes);
    return code;
}

static int run(const cli_args *args) {
    const char *verb = args->inputs[0];
    if (!strcmp(verb, "speed")) return speed(args);
    if (strcmp(verb, "train") && strcmp(verb, "run") && strcmp(verb, "measure"))
        return cli_misuse(args, "there is no `pelt keys %s`; choose train, run, measure or speed", verb);
    int code;
    pelt_engine *engine = cli_open_engine(args, &code);
    if (!engine && code) return code;
    code = run_verb(args, verb, engine);
    pelt_engine_close(engine);
    return code;
}

const cli_command cli_keys = {
    "keys",
    "train CLIP... -o FILE.keys | run FILE.keys CONTROLS.csv --engine E -o OUT | measure FILE.keys CLIP... | speed",
    "Runs slow rigs at interactive speed, with key points and a soft cache.",
    "train learns from clips of points (.npy, .pc2, ...; controls in a .csv next to them), from controls that an "
    "engine evaluates (.csv), and from logs of missed frames (.misses). run computes a face or other rig from its "
    "controls, with the keys alone wherever they can be trusted; measure compares with the truth; speed times the "
    "reconstruction (--points, --basis).\n\nAn engine is face, face:FILE.glb, FILE.so or pipe:COMMAND; "
    "docs/howto-keys.md has examples.",
    run,
    1,
    CLI_MAX_INPUTS,
    {{"output", "FILE", "train: the .keys file; run: the point cache (.pc2 .mdd .npy)."},
     {"keys", "N", "train: number of key points; default 170."},
     {"basis", "N", "train: number of basis vectors; default three per key."},
     {"error", "SHARE",
      "train: use the fewest keys that keep the error of 99.5% of the held-out frames below this, such as 1%."},
     {"recipe", "NAME", "train: pelt (default), or paper (Meyer & Anderson as published)."},
     {"fiducials", "POINT,...", "train: points that are always keys."},
     {"grid", "N", "train: spread this many of the keys evenly."},
     {"spacing", "SHARE", "train: least distance between keys; default 1.2% of the diagonal."},
     {"regions", "N",
      "train: number of parts of the mesh that the soft cache judges separately; default one per three keys."},
     {"witnesses", "N",
      "train: number of points to check per frame besides the keys (more when controls leave their ranges); default: "
      "chosen by the errors."},
     {"residual", "SHARE",
      "train, recipe paper: add keys until the largest residual of the training frames is below this."},
     {"batch", "N", "train, recipe paper: vectors per batch; default 20."},
     {"ridge", "X", "train: regularisation of the map; default: by cross-validation."},
     {"bar", "SHARE", "Errors above this are bad; default 1% of the diagonal."},
     {"light", NULL, "train: the values are colours: not centred, with one basis for all channels."},
     {"exact", NULL, "train: keep the basis in single precision."},
     {"from", "FILE.keys", "train: continue training these key points with the new clips.", CLI_INPUT},
     {"with", "CLIP", "train, measure: a second mesh that the keys of the first drive.", CLI_INPUT},
     {"mesh", "FILE.glb", "Mesh with the points at rest, for positions, size and pictures.", CLI_INPUT},
     CLI_ENGINE_OPTIONS,
     {"cost", "MICROSECONDS", "Extra work per point of the face; measure without an engine: assumed cost per point."},
     {"log", "FILE.misses", "run: append missed frames to this log.", CLI_OUTPUT},
     {"like", "CACHE",
      "run: match the layout of this cache: its point order, axes, scale and frame numbers. CONTROLS.csv=CACHE if it "
      "is of another clip.",
      CLI_INPUT},
     {"e-min", "X", "Misfit up to which the keys are trusted, in units of the trained bound; default 1."},
     {"e-max", "X", "Misfit above which they are not trusted at all; default 1.5 times e-min."},
     {"step", "SHARE", "Farthest that switching may move a point per frame; default 0.0008 diagonals, 0: no limit."},
     {"whole", NULL, "Make one decision for the whole mesh, even if there are regions."},
     {"no-witnesses", NULL, "Trust the keys alone, even if there are witnesses."},
     {"absolute", NULL,
      "Measure misfit as RMS in units of the values; --e-min and --e-max then default to 0.1 and 0.15 (paper)."},
     {"picture", "FILE.png", "measure: draw the keys on the mesh.", CLI_OUTPUT},
     {"report", "FILE.html", "measure: write a page with the keys on the mesh, errors, hits and misses.", CLI_OUTPUT}},
    .example = "pelt keys train face.train.npy face.range.npy --mesh face.glb -o face.keys",
    .first_words = "train|run|measure|speed",
};
