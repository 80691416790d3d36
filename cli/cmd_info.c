/* cmd_info.c: pelt info: what is in a file, and every problem found. */

#include "cli/cache_options.h"
#include "io/io.h"
#include "runtime/format.h"
#include <pelt/keys_fit.h>
#include <math.h>
#include <pelt/poses.h>
#include <string.h>
#include <sys/stat.h>

/* -- Skins -------------------------------------------------------------------------------------------------------- */

/* Driven joints, counted by kind; by name in the JSON. */
static json_t *list_driven(const cli_args *args, const pelt_skin *skin) {
    static const char *const kinds[] = {
#define KIND(name, text) text,
        PELT_DRIVEN_KINDS(KIND)
#undef KIND
    };
    json_t *list = json_array();
    uint32_t counts[PELT_DRIVEN_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < skin->driven_count; i++) {
        const pelt_driven *d = &skin->driven[i];
        counts[d->kind]++;
        json_array_append_new(list,
                              pelt_json_pack("{name:s, kind:s, driver:s, host:s, amount:f}", skin->names + d->name,
                                             kinds[d->kind], skin->names + skin->joints[d->driver].name,
                                             skin->names + skin->joints[d->host].name, d->amount));
    }
    if (!skin->driven_count) return list;
    cli_say(args, "  %u driven joints:", skin->driven_count);
    const char *comma = "";
    for (int k = 0; k < PELT_DRIVEN_KIND_COUNT; k++)
        if (counts[k]) cli_say(args, "%s %u %s", comma, counts[k], kinds[k]), comma = ",";
    cli_say(args, "\n");
    for (uint32_t i = 0; i < skin->driven_count; i++)
        cli_say(args, "    %-40s %s of \"%s\", %s %g\n", skin->names + skin->driven[i].name,
                kinds[skin->driven[i].kind], skin->names + skin->joints[skin->driven[i].driver].name,
                skin->driven[i].kind < PELT_DRIVEN_BULGE ? "fraction" : "k", (double)skin->driven[i].amount);
    return list;
}

static json_t *list_skin_controls(const cli_args *args, const pelt_skin *skin) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < skin->control_count; i++) {
        const pelt_control *c = &skin->controls[i];
        cli_say(args, "  control \"%s\": %g to %g in training, %g at rest\n", skin->names + c->name, (double)c->least,
                (double)c->most, (double)c->rest);
        json_array_append_new(list, pelt_json_pack("{name:s, rest:f, least:f, most:f}", skin->names + c->name, c->rest,
                                                   c->least, c->most));
    }
    return list;
}

/* Equal for a skin and the mesh it was made for. */
static void set_mesh_hash(json_t *object, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    json_object_set_new(object, "mesh_hash", json_string(text));
}

/* What the skin knows of its own errors. */
static json_t *confidence_of(const cli_args *args, const pelt_skin *skin) {
    const pelt_file_confidence *c = skin->confidence;
    json_t *names = json_array();
    if (!c) return json_decref(names), json_null();
    for (uint32_t r = 0; r < c->region_count; r++)
        names = pelt_json_append(names, pelt_json_text(pelt_confidence_region_name(skin, r)));
    cli_say(args,
            "  confidence in %u regions, calibrated on %u held-out examples: correlation %.2f; the median forecast is "
            "%.1f times the true error\n",
            c->region_count, c->frame_count, (double)c->correlation, (double)c->median);
    return pelt_json_pack("{regions:o, frames:u, correlation:f, median:f, frame_margin:f, region_margin:f}", names,
                          c->frame_count, (double)c->correlation, (double)c->median, (double)c->frame_margin,
                          (double)c->region_margin);
}

static json_t *info_skin(const cli_args *args, const char *path, pelt_error *error) {
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(path, &skin, error);
    if (!bytes) return NULL;
    json_t *about = json_loads(skin.about, 0, NULL);
    if (!about) about = json_object();
    const char *method = json_string_value(json_object_get(about, "method"));
    double entries = (double)skin.entry_count / skin.block_count;
    cli_say(args, "%s: skin, method %s\n", path, method ? method : "unknown");
    cli_say(args, "  %u vertices in %u blocks, %u joints, %.2f joints per block, %zu bytes (%.1f per vertex)\n",
            skin.vertex_count, skin.block_count, skin.joint_count, entries, bytes->size,
            (double)bytes->size / skin.vertex_count);
    if (skin.rest_tangents) cli_say(args, "  with tangents, for normal maps\n");
    json_t *driven = list_driven(args, &skin), *controls = list_skin_controls(args, &skin);
    cli_say_corrective(args, json_object_get(about, "details"));
    static const char *const figures[] = {"train", "holdout"};
    for (int i = 0; i < 2; i++) {
        json_t *measure = json_object_get(about, figures[i]);
        if (!json_is_object(measure)) continue;
        cli_say(args, "  %-9s rms %.3f%%  max %.2f%%", i ? "held out" : "training",
                100 * json_number_value(json_object_get(measure, "rms_fraction")),
                100 * json_number_value(json_object_get(measure, "max_fraction")));
        double relative = json_number_value(json_object_get(measure, "rel_err")); /* 0: the plain blend is exact */
        cli_say(args, relative > 0 ? "  rel_err %.3f\n" : "\n", relative);
    }
    json_t *levels = cli_say_levels(args, &skin);
    json_t *confidence = confidence_of(args, &skin);
    json_t *object =
        pelt_json_pack("{file:s, kind:s, vertices:u, blocks:u, joints:u, tangents:b, driven:o, controls:o, entries:u, "
                       "bytes:z, bytes_per_vertex:f, about:o}",
                       path, "skin", skin.vertex_count, skin.block_count, skin.joint_count, skin.rest_tangents != NULL,
                       driven, controls, skin.entry_count, bytes->size, (double)bytes->size / skin.vertex_count, about);
    json_object_set_new(object, "confidence", confidence);
    if (skin.mesh_hash) set_mesh_hash(object, *skin.mesh_hash);
    json_object_set_new(object, "levels", levels);
    pelt_bytes_free(bytes);
    return object;
}

/* -- Key points --------------------------------------------------------------------------------------------------- */

static json_t *info_keys(const cli_args *args, const char *path, pelt_error *error) {
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_read(path, &keys, error);
    if (!bytes) return NULL;
    json_t *about = json_loads(keys.about, 0, NULL);
    if (!about) about = json_object();
    double per_point = (double)bytes->size / keys.point_count;
    cli_say(args, "%s: key points: %u keys give %u points of %u values, by %u vectors of %s%s\n", path, keys.key_count,
            keys.point_count, keys.component_count, keys.basis_count, keys.half ? "half floats" : "floats",
            keys.shared ? " that the components share" : "");
    cli_say(args, "  trained on %u frames; judged in %u part%s; diagonal %.4g; %zu bytes (%.1f per point)\n",
            keys.frame_count, keys.region_count, keys.region_count == 1 ? "" : "s", (double)keys.diagonal, bytes->size,
            per_point);
    if (keys.witness_count)
        cli_say(args, "  %u witnesses, %u of them in a frame%s\n", keys.witness_count, keys.witness_rule->each_frame,
                keys.control_count ? ", a third if a control leaves its range" : "");
    if (keys.engine_point_count < keys.point_count)
        cli_say(args, "  the keys are among the first %u points and drive the others\n", keys.engine_point_count);
    json_t *object =
        pelt_json_pack("{file:s, kind:s, points:u, engine_points:u, components:u, keys:u, basis:u, regions:u, "
                       "witnesses:u, controls:u, half:b, shared:b, frames:u, diagonal:f, bytes:z, about:o}",
                       path, "keys", keys.point_count, keys.engine_point_count, keys.component_count, keys.key_count,
                       keys.basis_count, keys.region_count, keys.witness_count, keys.control_count, (int)keys.half,
                       (int)keys.shared, keys.frame_count, keys.diagonal, bytes->size, about);
    pelt_bytes_free(bytes);
    return object;
}

/* -- Caches ------------------------------------------------------------------------------------------------------- */

static json_t *info_cache(const cli_args *args, const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache cache;
    if (!arena || pelt_cache_read(arena, path, &cache, error)) {
        pelt_arena_free(arena);
        return NULL;
    }
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    size_t count = 3 * (size_t)cache.frame_count * cache.point_count, bad = 0, first_bad = 0;
    for (size_t i = 0; i < count; i++) {
        float x = cache.positions[i];
        if (!isfinite(x)) {
            if (!bad++) first_bad = i;
            continue;
        }
        low[i % 3] = fminf(low[i % 3], x), high[i % 3] = fmaxf(high[i % 3], x);
    }
    cli_say(args, "%s: point cache (%s), %u frames of %u points\n", path, cache.format, cache.frame_count,
            cache.point_count);
    if (bad < count)
        cli_say(args, "  from (%.4g, %.4g, %.4g) to (%.4g, %.4g, %.4g)\n", low[0], low[1], low[2], high[0], high[1],
                high[2]);
    json_t *findings = json_array();
    if (bad) {
        char text[200];
        snprintf(text, sizeof text,
                 "%zu numbers are not finite, the first in frame %zu, point %zu: leave that frame out", bad,
                 first_bad / 3 / cache.point_count, first_bad / 3 % cache.point_count);
        cli_say(args, "  error: %s\n", text);
        json_array_append_new(findings, pelt_json_pack("{severity:s, what:s, text:s}", "error", "not-finite", text));
    }
    json_t *object = pelt_json_pack("{file:s, kind:s, format:s, frames:u, points:u, findings:o}", path, "cache",
                                    cache.format, cache.frame_count, cache.point_count, findings);
    if (bad < count) json_object_set_new(object, "range", pelt_json_pack("[v3 v3]", low, high));
    pelt_arena_free(arena);
    return object;
}

/* -- Tables of controls ------------------------------------------------------------------------------------------- */

/* Minimum and maximum of a column. */
static void column_range(const float *values, size_t rows, size_t columns, size_t column, double range[2]) {
    range[0] = INFINITY, range[1] = -INFINITY;
    for (size_t r = 0; r < rows; r++) {
        range[0] = fmin(range[0], values[r * columns + column]);
        range[1] = fmax(range[1], values[r * columns + column]);
    }
}

static json_t *info_table(const cli_args *args, const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_table table;
    if (!arena || pelt_table_read(arena, path, &table, error)) {
        pelt_arena_free(arena);
        return NULL;
    }
    cli_say(args, "%s: table of controls, %u rows of %u columns\n", path, table.row_count, table.column_count);
    json_t *columns = json_array();
    for (uint32_t c = 0; c < table.column_count; c++) {
        double range[2];
        column_range(table.values, table.row_count, table.column_count, c, range);
        cli_say(args, "  \"%s\": %g to %g\n", table.names[c], range[0], range[1]);
        json_array_append_new(columns, pelt_json_pack("{name:s, least:f, most:f}", table.names[c], range[0], range[1]));
    }
    json_t *object = pelt_json_pack("{file:s, kind:s, rows:u, columns:o}", path, "table", table.row_count, columns);
    pelt_arena_free(arena);
    return object;
}

/* -- Bundles ------------------------------------------------------------------------------------------------------ */

/* The cache of a clip given along with the bundle on the command line: body.glb and body.CLIP.pc2. */
static const char *given_cache(const cli_args *args, const char *bundle_path, const char *clip) {
    char stem[1024];
    snprintf(stem, sizeof stem, "%s", pelt_base_name(bundle_path));
    *strrchr(stem, '.') = 0;
    size_t length = strlen(stem), clip_length = strlen(clip);
    for (int i = 0; i < args->input_count; i++) {
        const char *name = pelt_base_name(args->inputs[i]);
        if (!pelt_is_gltf(name) && !pelt_ends_with(name, ".csv") && !strncmp(name, stem, length) &&
            name[length] == '.' && !strncmp(name + length + 1, clip, clip_length) &&
            name[length + 1 + clip_length] == '.')
            return args->inputs[i];
    }
    return NULL;
}

static uint32_t most_influences(const pelt_mesh *mesh) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t count = mesh->influences.first[v + 1] - mesh->influences.first[v];
        most = count > most ? count : most;
    }
    return most;
}

/* Loads the true positions of every clip that has a cache; failures become findings. */
static size_t load_clips(const cli_args *args, pelt_bundle *bundle, const pelt_clip **clips, json_t *problems) {
    size_t count = 0;
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        pelt_error error = {0}, of_pose = {0};
        const char *name = bundle->clips[c]->name, *cache = given_cache(args, bundle->path, name);
        char *word = cache ? pelt_arena_format(bundle->arena, "%s=%s", name, cache) : NULL;
        const pelt_clip *clip = pelt_bundle_clip(bundle, word ? word : name, PELT_NEED_POSITIONS, &error);
        bool broken = !clip && (cache || error.code != PELT_ERROR_FILE);
        if (!clip) clip = pelt_bundle_clip(bundle, name, PELT_NEED_POSE, &of_pose);
        if (broken || !clip) json_array_append_new(problems, pelt_json_text(broken ? error.text : of_pose.text));
        if (clip) clips[count++] = clip;
    }
    return count;
}

static json_t *list_controls(const cli_args *args, const pelt_bundle *bundle) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < bundle->controls.count; i++) {
        double least = bundle->controls.rest[i], most = least, range[2];
        for (uint32_t c = 0; c < bundle->clip_count; c++) {
            const pelt_clip *clip = bundle->clips[c];
            if (!clip->controls) continue;
            column_range(clip->controls, clip->frame_count, bundle->controls.count, i, range);
            least = fmin(least, range[0]), most = fmax(most, range[1]);
        }
        cli_say(args, "  control \"%s\": %g to %g, %g at rest\n", bundle->controls.names[i], least, most,
                (double)bundle->controls.rest[i]);
        json_array_append_new(list, pelt_json_pack("{name:s, rest:f, least:f, most:f}", bundle->controls.names[i],
                                                   bundle->controls.rest[i], least, most));
    }
    return list;
}

/* Objects in vertex order, which is also the point order of a cache of all objects; a cache of one object is named
   after it. */
static json_t *list_objects(const cli_args *args, const pelt_mesh *mesh) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < mesh->object_count; i++) {
        const pelt_mesh_object *part = &mesh->objects[i];
        if (mesh->object_count > 1)
            cli_say(args, "  object %u: \"%s\", %u vertices starting at %u\n", i, part->name, part->count, part->first);
        json_array_append_new(list, pelt_json_pack("{name:s, mesh:s, first:u, vertices:u}", part->name, part->mesh_name,
                                                   part->first, part->count));
    }
    return list;
}

/* Adds shapes that do not fit their poses, or contradict or repeat others. Not having looked is no problem of the file's. */
static void find_bad_examples(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips,
                              size_t clip_count, pelt_findings *findings) {
    const pelt_clip **with = PELT_NEW(bundle->arena, clip_count, const pelt_clip *);
    size_t count = 0;
    for (size_t c = 0; c < clip_count && with; c++)
        if (clips[c]->positions) with[count++] = clips[c];
    pelt_examples examples = pelt_bundle_examples(bundle, with, count);
    pelt_progress progress = cli_progress(args);
    if (!examples.count) return;
    pelt_doubt_examples(bundle, examples, &progress, findings, NULL);
    pelt_review_examples(bundle, examples, findings, NULL);
}

static json_t *info_bundle(const cli_args *args, const char *path, pelt_error *error) {
    pelt_bundle *bundle = pelt_bundle_read(path, error);
    if (!bundle) return NULL;
    cli_cache_options(args, bundle); /* already checked */
    const pelt_mesh *mesh = &bundle->mesh;
    uint32_t *point_of = PELT_NEW(bundle->arena, mesh->vertex_count, uint32_t);
    const pelt_clip **clips = PELT_NEW(bundle->arena, bundle->clip_count, const pelt_clip *);
    json_t *problems = json_array(), *clip_list = json_array();
    size_t clip_count = clips ? load_clips(args, bundle, clips, problems) : 0;
    pelt_examples frames = pelt_bundle_examples(bundle, clips, clip_count);
    uint32_t points = pelt_weld(bundle->arena, mesh, frames, PELT_STILL_TOGETHER * pelt_scene_diagonal(mesh), point_of);
    cli_say(args, "%s: %u vertices (%u points with seams welded), %u triangles, %u targets, diagonal %.4g\n", path,
            mesh->vertex_count, points, mesh->triangle_count, mesh->target_count, pelt_scene_diagonal(mesh));
    cli_say(args, "  %u joints, at most %u influences per vertex\n", bundle->skeleton.joint_count,
            most_influences(mesh));
    json_t *objects = list_objects(args, mesh);
    for (size_t c = 0; c < clip_count; c++) {
        cli_say(args, "  clip \"%s\": %u frames%s%s%s%s\n", clips[c]->name, clips[c]->frame_count,
                !clips[c]->positions ? ", no true positions"
                : clips[c]->normals  ? ", true positions and normals in "
                                     : ", true positions in ",
                clips[c]->positions ? clips[c]->source : "", clips[c]->controls_source ? ", controls in " : "",
                clips[c]->controls_source ? clips[c]->controls_source : "");
        json_array_append_new(clip_list,
                              pelt_json_pack("{name:s, frames:u, positions:s, controls:s}", clips[c]->name,
                                             clips[c]->frame_count, clips[c]->positions ? clips[c]->source : NULL,
                                             clips[c]->controls_source));
    }
    json_t *controls = list_controls(args, bundle);
    pelt_findings findings = pelt_diagnose(bundle, clips, clip_count);
    bool readable = !json_array_size(problems);
    for (size_t i = 0; i < findings.count; i++) readable &= findings.list[i].severity != PELT_FATAL;
    if (readable) find_bad_examples(args, bundle, clips, clip_count, &findings);
    for (size_t i = 0; i < json_array_size(problems); i++)
        pelt_find(&findings, bundle->arena, PELT_FATAL, "cache", "%s", json_string_value(json_array_get(problems, i)));
    for (size_t i = 0; i < findings.count; i++)
        cli_say(args, "  %s: %s%s\n", cli_severities[findings.list[i].severity], findings.list[i].text,
                cli_remedy(args, &findings.list[i]));
    json_t *object =
        pelt_json_pack("{file:s, kind:s, vertices:u, points:u, triangles:u, targets:u, joints:u, "
                       "influences:u, diagonal:f, clips:o, controls:o, findings:o, objects:o}",
                       path, "bundle", mesh->vertex_count, points, mesh->triangle_count, mesh->target_count,
                       bundle->skeleton.joint_count, most_influences(mesh), pelt_scene_diagonal(mesh), clip_list,
                       controls, cli_findings_json(findings), objects);
    set_mesh_hash(object, pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count));
    if (bundle->has_skin) {
        json_t *skin = info_skin(args, path, error);
        if (!skin) json_decref(object), object = NULL;
        json_object_set_new(object, "skin", skin);
    }
    json_decref(problems);
    pelt_bundle_free(bundle);
    return object;
}

static int run(const cli_args *args) {
    pelt_bundle trial = {0};
    if (!cli_cache_options(args, &trial)) return CLI_MISUSE;
    json_t *files = json_array();
    int code = CLI_DONE;
    for (int i = 0; i < args->input_count; i++) {
        const char *path = args->inputs[i];
        pelt_error error = {0};
        json_t *object = pelt_is_gltf(path)              ? info_bundle(args, path, &error)
                         : pelt_ends_with(path, ".pelt") ? info_skin(args, path, &error)
                         : pelt_ends_with(path, ".csv")  ? info_table(args, path, &error)
                         : pelt_ends_with(path, ".keys") ? info_keys(args, path, &error)
                                                         : info_cache(args, path, &error);
        if (!object) {
            code = cli_error(&error);
            object = pelt_json_pack("{file:s, error:s}", path, error.text);
        }
        json_array_append_new(files, object);
    }
    int printed = cli_print_json(args, pelt_json_pack("{files:o}", files));
    return code ? code : printed;
}

const cli_command cli_info = {
    "info",
    "FILE...",
    "Shows what is in a glTF, cache, skin or .keys file, and every problem found.",
    "Caches next to a glTF file (body.CLIP.pc2 next to body.glb) are read with it and checked against the rig: scale, "
    "axes, vertex order, rest pose, duplicates. If a file has several objects, each may have its own cache, "
    "body.OBJECT.CLIP.pc2; objects are listed in vertex order.",
    run,
    1,
    CLI_MAX_INPUTS,
    {CLI_CACHE_OPTIONS},
    .example = "pelt info arm.glb arm.pelt",
};
