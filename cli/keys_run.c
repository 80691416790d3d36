/* keys_run.c: pelt keys run: controls in, points out, by the keys alone where they can be trusted. */

#include "cli/keys_run.h"
#include "io/io.h"
#include "io/like.h"
#include "rig/clock.h"
#include <stdlib.h>
#include <string.h>

typedef struct running {
    const cli_args *args;
    const pelt_keys *keys;
    pelt_engine *engine;
    const pelt_frames *frames; /* whose controls are played */
    pelt_arena *arena;
    pelt_cache_writer *writer; /* of every frame as it comes, or NULL */
    pelt_misslog *log;
    pelt_soft_cache cache;
    float *values, *truth; /* of one frame */
    float *all;            /* [frames][points][3], or NULL: not kept */
    uint32_t logged;
} running;

/* -- Playing ------------------------------------------------------------------------------------------------------- */

/* Partly computed frames are logged if some part was not trusted at all. */
static bool is_missed(const running *r, const pelt_soft_cache_frame_info *info) {
    if (info->verdict == PELT_CACHE_PART) return info->e >= r->cache.options.e_max;
    return info->verdict != PELT_CACHE_HIT;
}

static pelt_result log_miss(running *r, const float *controls, const pelt_soft_cache_frame_info *info,
                            pelt_error *error) {
    const pelt_keys *keys = r->keys;
    if (!r->log || !is_missed(r, info)) return PELT_OK;
    pelt_result result = pelt_engine_evaluate(r->engine, controls, NULL, keys->engine_point_count, r->truth, error);
    if (result) return result;
    r->logged++;
    return pelt_misslog_put(r->log,
                            &(pelt_miss){r->frames->control_count, keys->point_count, keys->component_count,
                                         info->misfit.e, controls, r->truth},
                            error);
}

static pelt_result play(running *r, pelt_error *error) {
    pelt_progress progress = cli_progress(r->args);
    const pelt_frames *frames = r->frames;
    size_t numbers = (size_t)r->keys->point_count * r->keys->component_count;
    for (uint32_t f = 0; f < frames->frame_count; f++) {
        const float *controls = frames->controls + (size_t)f * frames->control_count;
        pelt_soft_cache_frame_info info;
        pelt_should_stop(&progress, "running", (double)f / frames->frame_count);
        if (f && frames->shots && frames->shots[f] != frames->shots[f - 1]) pelt_soft_cache_cut(&r->cache);
        pelt_result result = pelt_soft_cache_next(&r->cache, controls, r->values, &info);
        if (result == PELT_ERROR_DATA && pelt_engine_failure(r->engine)->code)
            return pelt_fail(error, result, "frame %u: %s", f, pelt_engine_failure(r->engine)->text);
        if (result) return pelt_fail(error, result, "frame %u: %s", f, pelt_result_text(result));
        if (r->all) memcpy(r->all + f * numbers, r->values, numbers * sizeof *r->all);
        if (r->writer) pelt_cache_writer_frame(r->writer, r->values);
        result = log_miss(r, controls, &info, error);
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result check_engine(const running *r, pelt_error *error) {
    const pelt_keys *keys = r->keys;
    if (!pelt_engine_suits(r->engine, keys))
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "the engine has %u points of %u values, but the key points were trained on %u points of %u: "
            "start the engine that they were trained with (--points N sets the points of the built-in face)",
            pelt_engine_points(r->engine), pelt_engine_components(r->engine), keys->engine_point_count,
            keys->component_count);
    if (pelt_engine_controls(r->engine) == r->frames->control_count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "the engine has %u controls, but the clip has %u: name the engine and the clip of one rig",
                     pelt_engine_controls(r->engine), r->frames->control_count);
}

static pelt_result prepare(running *r, const pelt_soft_cache_options *options, bool keep_all, pelt_error *error) {
    const pelt_keys *keys = r->keys;
    size_t numbers = (size_t)keys->point_count * keys->component_count;
    if (check_engine(r, error)) return error->code;
    r->values = PELT_NEW(r->arena, numbers, float), r->truth = PELT_NEW(r->arena, numbers, float);
    if (keep_all) r->all = PELT_NEW(r->arena, r->frames->frame_count * numbers, float);
    void *memory = pelt_alloc(r->arena, pelt_soft_cache_size(keys, r->frames->control_count), 1);
    if (pelt_arena_failed(r->arena)) return pelt_no_memory(error);
    pelt_engine_call call = {pelt_engine_callback, r->engine, r->frames->control_count};
    return pelt_soft_cache_init(&r->cache, keys, options, call, memory);
}

/* -- As another cache ---------------------------------------------------------------------------------------------- */

/* The points as a character without joints, for comparison with a cache; two meshes are two objects. */
static pelt_bundle as_character(const running *r, const char *name, const pelt_mesh *shape,
                                pelt_mesh_object objects[2]) {
    const pelt_keys *keys = r->keys;
    uint32_t first = keys->engine_point_count, n = keys->point_count;
    pelt_bundle bundle = {.path = name, .mesh = {.vertex_count = n, .positions = r->all, .diagonal = keys->diagonal}};
    if (shape && shape->vertex_count == n) {
        bundle.mesh.positions = shape->positions;
        bundle.mesh.triangles = shape->triangles, bundle.mesh.triangle_count = shape->triangle_count;
    }
    objects[0] = (pelt_mesh_object){"first mesh", NULL, 0, first};
    objects[1] = (pelt_mesh_object){"second mesh", NULL, first, n - first};
    bundle.mesh.objects = objects, bundle.mesh.object_count = first < n ? 2 : 0;
    return bundle;
}

static pelt_result write_form(const running *r, const pelt_cache_form *form, pelt_error *error) {
    size_t numbers = 3 * (size_t)r->keys->point_count;
    pelt_cache_writer *writer =
        pelt_cache_writer_open(cli_value(r->args, "output"), form->frame_count, &form->mesh, 30, error);
    for (uint32_t f = 0; writer && f < form->frame_count; f++) {
        const float *frame = r->all + pelt_cache_form_key(form, f) * numbers;
        pelt_cache_writer_frame(writer, pelt_cache_form_points(form, frame));
    }
    return writer ? pelt_cache_writer_commit(writer, error) : error->code;
}

/* Plays the clip that the cache is of. */
static pelt_result play_other(const running *r, const pelt_keys *as_trained, const char *path, pelt_input *input,
                              running *other, pelt_error *error) {
    pelt_result result = pelt_input_open(input, &path, 1, r->engine, as_trained, NULL, error);
    pelt_keys *keys = result ? NULL : PELT_NEW(input->arena, 1, pelt_keys);
    if (!result && !keys) result = pelt_no_memory(error);
    if (result) return result;
    *keys = *as_trained;
    result = pelt_input_match(input, keys, error);
    *other =
        (running){.args = r->args, .keys = keys, .engine = r->engine, .frames = &input->frames, .arena = input->arena};
    if (!result && !input->frames.controls)
        result = pelt_fail(error, PELT_ERROR_DATA, "%s: expected a .csv of controls", path);
    if (!result) result = prepare(other, &r->cache.options, true, error);
    return result ? result : play(other, error);
}

/* Writes what was played as --like has it: CACHE, or CONTROLS.csv=CACHE for a cache of another clip. */
static pelt_result write_like(const running *r, const pelt_keys *as_trained, const pelt_mesh *shape,
                              pelt_error *error) {
    static const char ending[] = ".csv=";
    const char *like = cli_value(r->args, "like"), *found = strstr(like, ending);
    pelt_mesh_object objects[2];
    pelt_clip clip = {.name = r->args->inputs[2], .frame_count = r->frames->frame_count, .positions = r->all};
    pelt_cache_form form;
    if (!found) {
        pelt_bundle bundle = as_character(r, r->args->inputs[1], shape, objects);
        pelt_result result = pelt_cache_form_find(r->arena, &bundle, &clip, like, NULL, &form, error);
        return result ? result : write_form(r, &form, error);
    }
    char *path = pelt_arena_format(r->arena, "%.*s", (int)(found - like + strlen(ending) - 1), like);
    if (!path) return pelt_no_memory(error);
    pelt_input input;
    running other;
    pelt_result result = play_other(r, as_trained, path, &input, &other, error);
    if (!result) {
        pelt_clip of_cache = {.name = path, .frame_count = other.frames->frame_count, .positions = other.all};
        pelt_bundle bundle = as_character(&other, r->args->inputs[1], shape, objects);
        result = pelt_cache_form_find(r->arena, &bundle, &clip, found + strlen(ending), &of_cache, &form, error);
    }
    if (!result) result = write_form(r, &form, error);
    pelt_input_close(&input);
    return result;
}

/* -- The verb ------------------------------------------------------------------------------------------------------ */

static int print_run(const running *r, double seconds) {
    const pelt_soft_cache *c = &r->cache;
    const char *like = cli_value(r->args, "like");
    uint32_t frames = r->frames->frame_count;
    double evaluated = (double)c->evaluated / frames;
    cli_say(r->args,
            "%u frames: %llu hits, %llu in part, %llu blended, %llu missed, %llu in doubt; %.0f of %u points computed "
            "per frame, %.1f of them witnesses; %.3g ms per frame\n",
            frames, (unsigned long long)c->hits, (unsigned long long)c->parts, (unsigned long long)c->blends,
            (unsigned long long)c->misses, (unsigned long long)c->doubts, evaluated, r->keys->point_count,
            (double)c->witnesses / frames, 1e3 * seconds / frames);
    if (like) cli_say(r->args, "%s: in the layout of %s\n", cli_value(r->args, "output"), like);
    if (r->log) cli_say(r->args, "%u frames logged\n", r->logged);
    return cli_print_json(r->args, pelt_json_pack("{frames:u, logged:u, hits:z, parts:z, blends:z, misses:z, doubts:z, "
                                                  "evaluated_per_frame:f, witnesses_per_frame:f, seconds_per_frame:f}",
                                                  frames, r->logged, c->hits, c->parts, c->blends, c->misses, c->doubts,
                                                  evaluated, (double)c->witnesses / frames, seconds / frames));
}

/* Opens what is written while frames are played. */
static pelt_result open_outputs(running *r, pelt_error *error) {
    const pelt_keys *keys = r->keys;
    const char *output = cli_value(r->args, "output"), *log = cli_value(r->args, "log");
    if (log && keys->engine_point_count < keys->point_count)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: the engine computes only %u of the %u points, so missed frames cannot be logged in full",
                         log, keys->engine_point_count, keys->point_count);
    if (output && keys->component_count != 3)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: only points of three values can be written as a cache",
                         output);
    if (log && !(r->log = pelt_misslog_open(log, error))) return error->code;
    pelt_mesh points = {.vertex_count = keys->point_count};
    if (output && !r->all && !(r->writer = pelt_cache_writer_open(output, r->frames->frame_count, &points, 30, error)))
        return error->code;
    return PELT_OK;
}

/* Writes what was played, unless that failed. */
static pelt_result close_outputs(running *r, const pelt_keys *as_trained, const pelt_mesh *shape, pelt_result result,
                                 pelt_error *error) {
    pelt_error closing;
    if (pelt_misslog_close(r->log, &closing) && !result) result = closing.code, *error = closing;
    if (r->writer && !result) return pelt_cache_writer_commit(r->writer, error);
    pelt_cache_writer_drop(r->writer);
    return r->all && !result ? write_like(r, as_trained, shape, error) : result;
}

int cli_run_keys(const cli_args *args, const pelt_keys *keys, const pelt_keys *as_trained, const pelt_input *input,
                 pelt_engine *engine) {
    pelt_soft_cache_options options;
    pelt_error error;
    const char *mesh_path = cli_value(args, "mesh");
    if (!engine) return cli_misuse(args, "--engine is missing: name what computes the keys");
    if (!input->frames.controls)
        return cli_misuse(args, "run needs the controls as a .csv: pelt keys run FILE.keys CONTROLS.csv");
    if (cli_value(args, "like") && !cli_value(args, "output"))
        return cli_misuse(args, "--like needs -o OUT: name the cache to write");
    if (!cli_read_soft_cache(args, &options)) return CLI_MISUSE;
    running r = {.args = args, .keys = keys, .engine = engine, .frames = &input->frames, .arena = input->arena};
    pelt_bundle *bundle = mesh_path ? cli_bundle(args, mesh_path, &error) : NULL;
    if (mesh_path && !bundle) return cli_error(&error);
    pelt_result result = prepare(&r, &options, cli_value(args, "like") != NULL, &error);
    if (!result) result = open_outputs(&r, &error);
    double start = pelt_wall_seconds();
    if (!result) result = play(&r, &error);
    double seconds = pelt_wall_seconds() - start;
    result = close_outputs(&r, as_trained, bundle ? &bundle->mesh : pelt_engine_mesh(engine), result, &error);
    pelt_bundle_free(bundle);
    return result ? cli_error(&error) : print_run(&r, seconds);
}
