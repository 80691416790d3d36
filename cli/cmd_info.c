/* cmd_info.c: pelt info: what is in a file, and every problem found. */

#include "cli/cache_options.h"
#include "cli/info_keys.h"
#include "io/io.h"
#include "runtime/format.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static bool is_gltf(const char *path) { return pelt_ends_with(path, ".glb") || pelt_ends_with(path, ".gltf"); }

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
                              cli_pack("{s:s, s:s, s:s, s:s, s:f}", "name", skin->names + d->name, "kind",
                                       kinds[d->kind], "driver", skin->names + skin->joints[d->driver].name, "host",
                                       skin->names + skin->joints[d->host].name, "amount", (double)d->amount));
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
        json_array_append_new(list, cli_pack("{s:s, s:f, s:f, s:f}", "name", skin->names + c->name, "rest",
                                             (double)c->rest, "least", (double)c->least, "most", (double)c->most));
    }
    return list;
}

/* Equal for a skin and the mesh it was made for. */
static void set_mesh_hash(json_t *object, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    json_object_set_new(object, "mesh_hash", json_string(text));
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
    json_t *object = cli_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:o, s:o, s:i, s:I, s:f, s:o}", "file", path, "kind",
                              "skin", "vertices", (int)skin.vertex_count, "blocks", (int)skin.block_count, "joints",
                              (int)skin.joint_count, "tangents", skin.rest_tangents != NULL, "driven", driven,
                              "controls", controls, "entries", (int)skin.entry_count, "bytes", (json_int_t)bytes->size,
                              "bytes_per_vertex", (double)bytes->size / skin.vertex_count, "about", about);
    if (skin.mesh_hash) set_mesh_hash(object, *skin.mesh_hash);
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
                 "%zu numbers are not finite, the first in frame %zu, point %zu: leave out that frame", bad,
                 first_bad / 3 / cache.point_count, first_bad / 3 % cache.point_count);
        cli_say(args, "  error: %s\n", text);
        json_array_append_new(findings,
                              cli_pack("{s:s, s:s, s:s}", "severity", "error", "what", "not-finite", "text", text));
    }
    json_t *object = cli_pack("{s:s, s:s, s:s, s:i, s:i, s:o}", "file", path, "kind", "cache", "format", cache.format,
                              "frames", (int)cache.frame_count, "points", (int)cache.point_count, "findings", findings);
    if (bad < count)
        json_object_set_new(object, "range",
                            cli_pack("[[fff][fff]]", (double)low[0], (double)low[1], (double)low[2], (double)high[0],
                                     (double)high[1], (double)high[2]));
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
        json_array_append_new(columns,
                              cli_pack("{s:s, s:f, s:f}", "name", table.names[c], "least", range[0], "most", range[1]));
    }
    json_t *object = cli_pack("{s:s, s:s, s:i, s:o}", "file", path, "kind", "table", "rows", (int)table.row_count,
                              "columns", columns);
    pelt_arena_free(arena);
    return object;
}

/* -- Bundles ------------------------------------------------------------------------------------------------------ */

/* The cache of a clip given along with the bundle on the command line: body.glb and body.CLIP.pc2. */
static const char *given_cache(const cli_args *args, const char *bundle_path, const char *clip) {
    char stem[1024];
    snprintf(stem, sizeof stem, "%s", cli_base_name(bundle_path));
    *strrchr(stem, '.') = 0;
    size_t length = strlen(stem), clip_length = strlen(clip);
    for (int i = 0; i < args->input_count; i++) {
        const char *name = cli_base_name(args->inputs[i]);
        if (!is_gltf(name) && !pelt_ends_with(name, ".csv") && !strncmp(name, stem, length) && name[length] == '.' &&
            !strncmp(name + length + 1, clip, clip_length) && name[length + 1 + clip_length] == '.')
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
        json_array_append_new(list, cli_pack("{s:s, s:f, s:f, s:f}", "name", bundle->controls.names[i], "rest",
                                             (double)bundle->controls.rest[i], "least", least, "most", most));
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
            cli_say(args, "  object %u: \"%s\", %u vertices from %u on\n", i, part->name, part->count, part->first);
        json_array_append_new(list, cli_pack("{s:s, s:s, s:i, s:i}", "name", part->name, "mesh", part->mesh_name,
                                             "first", (int)part->first, "vertices", (int)part->count));
    }
    return list;
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
    uint32_t points = pelt_weld(bundle->arena, mesh, frames, 1e-6 * mesh->diagonal, point_of);
    cli_say(args, "%s: %u vertices (%u points with seams welded), %u triangles, %u targets, diagonal %.4g\n", path,
            mesh->vertex_count, points, mesh->triangle_count, mesh->target_count, (double)mesh->diagonal);
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
        json_array_append_new(clip_list, cli_pack("{s:s, s:i, s:s?, s:s?}", "name", clips[c]->name, "frames",
                                                  (int)clips[c]->frame_count, "positions",
                                                  clips[c]->positions ? clips[c]->source : NULL, "controls",
                                                  clips[c]->controls_source));
    }
    json_t *controls = list_controls(args, bundle);
    pelt_findings findings = pelt_diagnose(bundle, clips, clip_count);
    for (size_t i = 0; i < json_array_size(problems); i++)
        pelt_find(&findings, bundle->arena, PELT_FATAL, "cache", "%s", json_string_value(json_array_get(problems, i)));
    static const char *const words[] = {"note", "warning", "error"};
    for (size_t i = 0; i < findings.count; i++)
        cli_say(args, "  %s: %s%s\n", words[findings.list[i].severity], findings.list[i].text,
                cli_remedy(args, &findings.list[i]));
    json_t *object =
        cli_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:o, s:o, s:o}", "file", path, "kind", "bundle",
                 "vertices", (int)mesh->vertex_count, "points", (int)points, "triangles", (int)mesh->triangle_count,
                 "targets", (int)mesh->target_count, "joints", (int)bundle->skeleton.joint_count, "influences",
                 (int)most_influences(mesh), "diagonal", (double)mesh->diagonal, "clips", clip_list, "controls",
                 controls, "findings", cli_findings_json(findings));
    json_object_set_new(object, "objects", objects);
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
        json_t *object = is_gltf(path)                   ? info_bundle(args, path, &error)
                         : pelt_ends_with(path, ".pelt") ? info_skin(args, path, &error)
                         : pelt_ends_with(path, ".csv")  ? info_table(args, path, &error)
                         : pelt_ends_with(path, ".keys") ? info_keys(args, path, &error)
                                                         : info_cache(args, path, &error);
        if (!object) {
            code = cli_error(&error);
            object = cli_pack("{s:s, s:s}", "file", path, "error", error.text);
        }
        json_array_append_new(files, object);
    }
    int printed = cli_print_json(args, cli_pack("{s:o}", "files", files));
    return code ? code : printed;
}

const cli_command cli_info = {
    "info",
    "FILE...",
    "What is in a glTF, cache, skin or .keys file, and every problem found.",
    "Caches next to a glTF file (body.CLIP.pc2 next to body.glb) are read with it and compared with the rig: scale, "
    "axes, vertex order, rest pose, duplicates. If a file has several objects, each may have its own cache, "
    "body.OBJECT.CLIP.pc2; objects are listed in vertex order.",
    run,
    1,
    CLI_MAX_INPUTS,
    {CLI_CACHE_OPTIONS},
    .example = "pelt info arm.glb arm.pelt",
};
