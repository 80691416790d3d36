/* cmd_compare.c: pelt compare: fits every method to the same examples and measures each on motion that none of them has
   seen. */

#include "cli/cache_options.h"
#include "cli/fit_options.h"
#include "fit/about.h"
#include "fit/measure/measure.h"
#include "io/io.h"
#include "report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 16, MOST_PICTURES = 3, MOST_JOINTS = 4, POSES = 6 };

/* One method of the table. */
typedef struct contestant {
    pelt_fit_options options;
    pelt_bytes *bytes;
    pelt_skin skin;
    pelt_fit_report report;
    pelt_measure *test_all, **test;
    double ns_per_vertex;
    float *pictures[MOST_PICTURES], *poses[POSES];
} contestant;

typedef struct comparison {
    const cli_args *args;
    pelt_arena *arena; /* of files that options name */
    pelt_bundle *bundle;
    const pelt_clip **train, **test;
    size_t train_count, test_count;
    pelt_examples train_examples, test_examples;
    pelt_findings findings;
    contestant contestants[MOST_METHODS];
    size_t count;
    pelt_example shown[MOST_PICTURES], poses[POSES];
    char why[MOST_PICTURES][100];
    size_t shown_count, pose_count;
    uint32_t picture_size;
    pelt_panels panels;
} comparison;

static const char *method_of(const contestant *one) {
    return one->options.preset ? pelt_preset_name(one->options.preset) : pelt_method_name(one->options.method);
}
static const char *blend_of(const contestant *one) { return pelt_blend_name(one->options.blend); }
static const char *corrective_of(const contestant *one) { return pelt_corrective_name(one->options.corrective); }

/* -- Contestants -------------------------------------------------------------------------------------------------- */

/* "METHOD[/BLEND[/CORRECTIVE]]", or a preset. Options that this one does not use are for the others. */
static bool add_contestant(comparison *c, char *word) {
    if (c->count == MOST_METHODS) return cli_misuse(c->args, "more than %d methods", MOST_METHODS), false;
    contestant *one = &c->contestants[c->count++];
    cli_method words = {.method = word};
    for (int i = 1; i < PELT_PRESET_COUNT; i++)
        if (!strcmp(word, pelt_preset_name((pelt_preset)i))) words = (cli_method){.preset = word};
    char *blend = strchr(word, '/'), *corrective = blend ? strchr(blend + 1, '/') : NULL;
    if (blend) *blend = 0, words.blend = blend + 1;
    if (corrective) *corrective = 0, words.corrective = corrective + 1;
    if (!cli_fit_options(c->args, c->arena, &words, false, &one->options)) return false;
    one->options.holdout = -1, one->options.no_confidence = 1;
    return true;
}

static bool list_contestants(comparison *c) {
    const char *names = cli_value(c->args, "methods");
    size_t count;
    char **list = cli_list(names ? names : "ssd,ssd/distance,ssd/fit,joints,psd,wpsd,eigen,kernel", &count);
    bool good = list && count;
    for (size_t i = 0; good && i < count; i++) good = add_contestant(c, list[i]);
    cli_list_free(list);
    const pelt_fit_options *fits[MOST_METHODS];
    for (size_t i = 0; i < c->count; i++) fits[i] = &c->contestants[i].options;
    const char *unused = good ? cli_unused_option(c->args, fits, c->count) : NULL;
    if (unused) return cli_misuse(c->args, "--%s: none of the compared methods uses it", unused), false;
    return good;
}

static bool run_contestant(comparison *c, contestant *one, pelt_error *error) {
    one->bytes = pelt_fit(c->bundle, c->train_examples, &one->options, &one->report, error);
    if (!one->bytes) return false;
    pelt_result result = pelt_open(one->bytes->bytes, one->bytes->size, &one->skin);
    if (result) return pelt_fail(error, result, "%s", pelt_result_text(result)), false;
    uint32_t threads = c->args->threads;
    pelt_progress progress = cli_progress(c->args);
    one->test_all = pelt_measure_watched(&one->skin, c->bundle, c->test_examples, threads, &progress, error);
    if (!one->test_all) return false;
    one->test = calloc(c->test_count, sizeof *one->test);
    if (!one->test) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), false;
    for (size_t t = 0; t < c->test_count; t++) {
        pelt_examples examples = pelt_bundle_examples(c->bundle, &c->test[t], 1);
        one->test[t] = pelt_measure_examples(&one->skin, c->bundle, examples, threads, error);
        if (!one->test[t]) return false;
    }
    one->ns_per_vertex = pelt_time_frames(&one->skin, &c->bundle->skeleton, c->test[0]).median;
    return true;
}

/* -- The table ---------------------------------------------------------------------------------------------------- */

/* A dash if there is nothing to be relative to: the plain blend is exact, or no frames are consecutive. */
static void relative_text(const pelt_measure *m, double value, char text[16]) {
    bool known = pelt_measure_is_relative(m) && isfinite(value);
    snprintf(text, 16, known ? "%.3f" : "-", value);
}

static void print_table(const comparison *c) {
    const cli_args *args = c->args;
    const pelt_measure *mesh = c->contestants[0].test_all;
    cli_say(args, "%s: errors in %% of the diagonal (%.4g); rel_err 1 is linear blending with the file's weights\n",
            c->bundle->path, pelt_scene_diagonal(&c->bundle->mesh));
    cli_say(args, "rough and jump: 1 is that blend too; rough is measured on %u points with edges of %.3g%%\n\n",
            mesh->point_count, 100 * mesh->mean_edge / c->bundle->mesh.diagonal);
    cli_say(args, "                                training          |  not seen in training   normals\n");
    cli_say(args, "method   blend     corrective   rms    max  rel_err |  rms    max  rel_err  degrees  rough   jump  "
                  "bytes/v   fit s  ns/v\n");
    for (size_t i = 0; i < c->count; i++) {
        const contestant *one = &c->contestants[i];
        const pelt_measure *a = one->report.train, *b = one->test_all;
        char trained[16], relative[16], rough[16], jump[16];
        relative_text(a, a->rel_err, trained), relative_text(b, b->rel_err, relative);
        relative_text(b, b->roughness, rough), relative_text(b, b->jump, jump);
        cli_say(args, "%-8s %-9s %-10s %6.3f %6.2f  %6s  | %6.3f %6.2f  %6s  %7.2f %6s %6s %8.1f %7.2f  %5.2f\n",
                method_of(one), blend_of(one), corrective_of(one), 100 * a->rms_fraction, 100 * a->max_fraction,
                trained, 100 * b->rms_fraction, 100 * b->max_fraction, relative, b->normal_rms_degrees, rough, jump,
                (double)one->bytes->size / one->skin.vertex_count, one->report.seconds, one->ns_per_vertex);
    }
}

/* The worst clip of each method, if there are several; and the methods that are worse than learning nothing. */
static void print_remarks(const comparison *c) {
    size_t worse = 0;
    for (size_t i = 0; i < c->count && c->test_count > 1; i++) {
        const contestant *one = &c->contestants[i];
        size_t worst = 0;
        for (size_t t = 1; t < c->test_count; t++)
            if (one->test[t]->rms > one->test[worst]->rms) worst = t;
        cli_say(c->args, "%s%s/%s does worst on \"%s\": rms %.3f%%, max %.2f%%\n", i ? "" : "\n", method_of(one),
                blend_of(one), c->test[worst]->name, 100 * one->test[worst]->rms_fraction,
                100 * one->test[worst]->max_fraction);
    }
    for (size_t i = 0; i < c->count; i++) {
        const contestant *one = &c->contestants[i];
        if (!cli_is_worse(one->test_all)) continue;
        cli_say(c->args, "%s%s/%s",
                worse++ ? ", " : "\nworse than the plain blend with the file's weights: ", method_of(one),
                blend_of(one));
    }
    if (worse) cli_say(c->args, "\n");
}

static const contestant *best_contestant(const comparison *c) {
    const contestant *best = c->contestants;
    for (const contestant *one = best; one < c->contestants + c->count; one++)
        if (one->test_all->rms < best->test_all->rms) best = one;
    return best;
}

static void print_regions(const comparison *c) {
    const contestant *best = best_contestant(c);
    if (!best->test_all->region_count) return;
    cli_say(c->args, "\nerrors of %s/%s by region, in scene units\n", method_of(best), blend_of(best));
    cli_say_regions(c->args, best->test_all);
}

static bool write_errors(const comparison *c) {
    const pelt_measure *measures[MOST_METHODS];
    for (size_t i = 0; i < c->count; i++) measures[i] = c->contestants[i].test_all;
    return cli_write_errors(c->args, measures, c->count, true);
}

static json_t *names_json(const pelt_clip **clips, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, pelt_json_text(clips[i]->name));
    return list;
}

static json_t *contestant_json(const comparison *c, const contestant *one) {
    json_t *test = json_object();
    json_t *all = pelt_measure_json(one->test_all, "", "all", c->test_examples);
    json_object_set_new(all, "regions", pelt_regions_json(one->test_all));
    json_object_set_new(test, "all", all);
    for (size_t t = 0; t < c->test_count; t++) {
        pelt_examples examples = pelt_bundle_examples(c->bundle, &c->test[t], 1);
        json_t *measure = pelt_measure_json(one->test[t], "", c->test[t]->name, examples);
        cli_add_frames(measure, one->test[t]);
        json_object_set_new(test, c->test[t]->name, measure);
    }
    return pelt_json_pack("{method:s, blend:s, corrective:s, train:o, test:o, bytes:z, bytes_per_vertex:f, "
                          "fit_seconds:f, ns_per_vertex:f}",
                          method_of(one), blend_of(one), corrective_of(one),
                          pelt_measure_json(one->report.train, "", "train", c->train_examples), test, one->bytes->size,
                          (double)one->bytes->size / one->skin.vertex_count, one->report.seconds, one->ns_per_vertex);
}

static int print_json(const comparison *c) {
    json_t *methods = json_array();
    for (size_t i = 0; i < c->count; i++) json_array_append_new(methods, contestant_json(c, &c->contestants[i]));
    return cli_print_json(c->args, pelt_json_pack("{bundle:s, train:o, test:o, methods:o}", c->bundle->path,
                                                  names_json(c->train, c->train_count),
                                                  names_json(c->test, c->test_count), methods));
}

/* -- The report --------------------------------------------------------------------------------------------------- */

static void show_frame(comparison *c, size_t example, const char *why, const contestant *of) {
    const pelt_example *wanted = &c->test_examples.list[example];
    for (size_t i = 0; i < c->shown_count; i++)
        if (c->shown[i].clip == wanted->clip && c->shown[i].frame == wanted->frame) return;
    if (c->shown_count == MOST_PICTURES) return;
    snprintf(c->why[c->shown_count], sizeof c->why[0], of ? "%s of %s/%s" : "%s", why, of ? method_of(of) : NULL,
             of ? blend_of(of) : NULL);
    c->shown[c->shown_count++] = *wanted;
}

static uint32_t largest(const float *values, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

/* The frame that --show names, "CLIP:FRAME" of the test clips; false after a message. */
static bool show_named(comparison *c, const char *name) {
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    unsigned long frame = colon ? strtoul(colon + 1, &end, 10) : 0;
    for (size_t i = 0; colon && end > colon + 1 && !*end && i < c->test_examples.count; i++) {
        const pelt_example *example = &c->test_examples.list[i];
        size_t length = (size_t)(colon - name);
        if (example->frame != frame || strlen(example->clip->name) != length ||
            strncmp(example->clip->name, name, length))
            continue;
        show_frame(c, i, "chosen", NULL);
        return true;
    }
    return cli_fail("--show %s: expected CLIP:FRAME of a test clip, such as \"%s:0\"", name, c->test[0]->name), false;
}

/* The frames worth a picture: the best method's worst, at one vertex and as a whole, and the first method's worst. */
static void choose_frames(comparison *c) {
    const contestant *best = best_contestant(c), *first = c->contestants;
    show_frame(c, best->test_all->worst_frame, "largest error", best);
    show_frame(c, largest(best->test_all->frame_rms, best->test_all->frame_count), "worst frame as a whole", best);
    show_frame(c, first->test_all->worst_frame, "largest error", first);
}

/* Frames spread over the test clips. */
static void choose_poses(comparison *c) {
    size_t frames = c->test_examples.count;
    c->pose_count = frames < POSES ? frames : POSES;
    for (size_t i = 0; i < c->pose_count; i++)
        c->poses[i] = c->test_examples.list[(2 * i + 1) * frames / (2 * c->pose_count)];
}

static bool deform_frames(comparison *c, pelt_player *player, const pelt_example *frames, size_t count, float **out,
                          pelt_error *error) {
    for (size_t k = 0; k < count; k++) {
        out[k] = malloc(3 * (size_t)c->bundle->mesh.vertex_count * sizeof(float));
        if (!out[k]) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), false;
        pelt_player_frame(player, frames[k].clip, frames[k].frame, out[k], NULL);
    }
    return true;
}

static bool deform_shown(comparison *c, pelt_error *error) {
    for (size_t i = 0; i < c->count; i++) {
        contestant *one = &c->contestants[i];
        pelt_player *player = pelt_player_new(&one->skin, c->bundle, error);
        bool done = player && deform_frames(c, player, c->shown, c->shown_count, one->pictures, error) &&
                    deform_frames(c, player, c->poses, c->pose_count, one->poses, error);
        pelt_player_free(player);
        if (!done) return false;
    }
    return true;
}

static const char **clip_names(comparison *c, const pelt_clip **clips, size_t count) {
    const char **names = PELT_NEW(c->bundle->arena, count, const char *);
    for (size_t i = 0; names && i < count; i++) names[i] = clips[i]->name;
    return names;
}

static const char *command_line(comparison *c) {
    char *text = pelt_arena_format(c->bundle->arena, "pelt compare %s", pelt_base_name(c->args->inputs[0]));
    for (int i = 0; text && c->args->command->options[i].name; i++) {
        const char *value = c->args->values[i];
        if (value)
            text = pelt_arena_format(c->bundle->arena, "%s --%s %s", text, c->args->command->options[i].name,
                                     c->args->command->options[i].value ? value : "");
    }
    return text;
}

/* If EigenSkin is among the methods, the page shows what it found; otherwise there is no study. */
static pelt_result study_joints(comparison *c, pelt_eigen_study **study, pelt_error *error) {
    size_t i = 0;
    while (i < c->count && c->contestants[i].options.corrective != PELT_CORRECTIVE_EIGEN) i++;
    if (i == c->count) return PELT_OK;
    size_t most = cli_value(c->args, "show-joints") ? 0 : MOST_JOINTS;
    *study = pelt_study_joints(c->bundle, c->train_examples, &c->contestants[i].options, most, error);
    return *study ? PELT_OK : error->code;
}

/* Those that --show-joints names, in its order; else all of the study. */
static pelt_result choose_joints(comparison *c, const pelt_eigen_study *study, pelt_eigen_study *chosen,
                                 pelt_error *error) {
    const char *names = cli_value(c->args, "show-joints");
    size_t count = 0, found = 0;
    *chosen = study ? *study : (pelt_eigen_study){0};
    char **list = names && study ? cli_list(names, &count) : NULL;
    pelt_joint_study *joints = PELT_NEW(c->bundle->arena, count, pelt_joint_study);
    pelt_result result = names && study && (!list || !joints) ? pelt_no_memory(error) : PELT_OK;
    for (size_t i = 0; i < count && !result; i++) {
        size_t j = 0;
        while (j < study->joint_count && strcmp(study->joints[j].name, list[i])) j++;
        if (j < study->joint_count)
            joints[found++] = study->joints[j];
        else
            result = pelt_fail(error, PELT_ERROR_ARGUMENT,
                               "--show-joints: no example moves \"%s\" alone, so EigenSkin has no support for it; name "
                               "another joint",
                               list[i]);
    }
    if (list) chosen->joints = joints, chosen->joint_count = found;
    cli_list_free(list);
    return result;
}

/* The two joints that --show-joints names. */
static pelt_result choose_clouds(comparison *c, pelt_clouds *out, pelt_error *error) {
    const pelt_skeleton *skeleton = &c->bundle->skeleton;
    const char *names = cli_value(c->args, "show-joints");
    size_t count = 0;
    char **list = names ? cli_list(names, &count) : NULL;
    pelt_result result = names && !list ? pelt_no_memory(error) : PELT_OK;
    *out = (pelt_clouds){.skeleton = skeleton, .examples = c->train_examples};
    if (!result && count != 2)
        result = pelt_fail(error, PELT_ERROR_ARGUMENT, "--panels clouds needs two joints: --show-joints NAME,NAME");
    for (size_t i = 0; i < count && !result; i++) {
        out->joints[i] = pelt_joint_named(skeleton, list[i], 0);
        if (out->joints[i] == skeleton->joint_count)
            result = pelt_fail(error, PELT_ERROR_ARGUMENT, "--show-joints: %s has no joint \"%s\"",
                               pelt_base_name(c->bundle->path), list[i]);
    }
    cli_list_free(list);
    return result;
}

static pelt_report_picture picture_of(const comparison *c, const pelt_example *frame, const char *why) {
    return (pelt_report_picture){.clip = frame->clip->name,
                                 .frame = frame->frame,
                                 .why = why,
                                 .truth =
                                     frame->clip->positions + 3 * (size_t)c->bundle->mesh.vertex_count * frame->frame};
}

static pelt_result write_report(comparison *c, const char *path, const char *picture_path, pelt_error *error) {
    const char *show = cli_value(c->args, "show");
    if (show && !show_named(c, show)) return pelt_fail(error, PELT_ERROR_ARGUMENT, "no picture was made");
    choose_frames(c);
    choose_poses(c);
    if (!deform_shown(c, error)) return error->code;
    size_t n = c->bundle->mesh.vertex_count;
    pelt_report_row rows[MOST_METHODS] = {0};
    pelt_report_picture pictures[MOST_PICTURES] = {0}, poses[POSES] = {0};
    for (size_t i = 0; i < c->count; i++) {
        contestant *one = &c->contestants[i];
        rows[i] = (pelt_report_row){.method = method_of(one),
                                    .blend = blend_of(one),
                                    .corrective = corrective_of(one),
                                    .train = one->report.train,
                                    .test_all = one->test_all,
                                    .test = (const pelt_measure *const *)one->test,
                                    .bytes = one->bytes->size,
                                    .bytes_per_vertex = (double)one->bytes->size / (double)n,
                                    .fit_seconds = one->report.seconds,
                                    .ns_per_vertex = one->ns_per_vertex,
                                    .frame_positions = (const float *const *)one->pictures,
                                    .pose_positions = (const float *const *)one->poses};
    }
    for (size_t k = 0; k < c->shown_count; k++) pictures[k] = picture_of(c, &c->shown[k], c->why[k]);
    for (size_t k = 0; k < c->pose_count; k++) poses[k] = picture_of(c, &c->poses[k], NULL);
    pelt_eigen_study *study = NULL, chosen;
    pelt_clouds clouds = {0};
    if (c->panels == PELT_PANELS_CLOUDS && choose_clouds(c, &clouds, error)) return error->code;
    bool studied = path || c->panels == PELT_PANELS_SUPPORTS || c->panels == PELT_PANELS_DISPLACEMENTS;
    if (studied && study_joints(c, &study, error)) return error->code;
    if (choose_joints(c, study, &chosen, error)) return pelt_eigen_study_free(study), error->code;
    pelt_report_page page = {.bundle = pelt_base_name(c->bundle->path),
                             .command = command_line(c),
                             .mesh = &c->bundle->mesh,
                             .train_count = c->train_count,
                             .test_count = c->test_count,
                             .row_count = c->count,
                             .picture_count = c->shown_count,
                             .train = clip_names(c, c->train, c->train_count),
                             .test = clip_names(c, c->test, c->test_count),
                             .rows = rows,
                             .pictures = pictures,
                             .pose_count = c->pose_count,
                             .poses = poses,
                             .study = study ? &chosen : NULL,
                             .clouds = &clouds,
                             .findings = c->findings,
                             .picture_size = c->picture_size,
                             .threads = c->args->threads,
                             .progress = cli_progress(c->args)};
    pelt_bytes html = {0}, png = {0};
    pelt_result result = PELT_OK;
    if (path) result = cli_write_made(pelt_report_html(&page, &html, error), &html, path, error);
    if (picture_path && !result)
        result = cli_write_made(pelt_report_sheet(&page, c->panels, &png, error), &png, picture_path, error);
    pelt_eigen_study_free(study);
    return result;
}

/* -- The command -------------------------------------------------------------------------------------------------- */

/* Findings about the test clips that were not already found in the training clips. */
static bool check_test_clips(comparison *c) {
    pelt_findings found = pelt_diagnose(c->bundle, c->test, c->test_count), others = {0};
    for (size_t i = 0; i < found.count; i++) {
        const pelt_finding *f = &found.list[i];
        bool known = f->severity == PELT_NOTE;
        for (size_t k = 0; k < c->findings.count; k++) known |= !strcmp(f->text, c->findings.list[k].text);
        if (known) continue;
        pelt_find(&others, c->bundle->arena, f->severity, f->what, "%s", f->text);
        pelt_find(&c->findings, c->bundle->arena, f->severity, f->what, "%s", f->text);
    }
    return cli_check_findings(c->args, others);
}

static int compare(comparison *c) {
    const cli_args *args = c->args;
    pelt_error error;
    const char *panels = cli_value(args, "panels");
    if (panels && !cli_value(args, "picture")) return cli_misuse(args, "--panels needs --picture FILE.png");
    if (panels && !strcmp(panels, "differences"))
        c->panels = PELT_PANELS_DIFFERENCES;
    else if (panels && !strcmp(panels, "poses"))
        c->panels = PELT_PANELS_POSES;
    else if (panels && !strcmp(panels, "supports"))
        c->panels = PELT_PANELS_SUPPORTS;
    else if (panels && !strcmp(panels, "displacements"))
        c->panels = PELT_PANELS_DISPLACEMENTS;
    else if (panels && !strcmp(panels, "closeup"))
        c->panels = PELT_PANELS_CLOSEUP;
    else if (panels && !strcmp(panels, "clouds"))
        c->panels = PELT_PANELS_CLOUDS;
    else if (panels && strcmp(panels, "errors"))
        return cli_misuse(
            args, "--panels %s: expected errors, closeup, differences, poses, supports, displacements or clouds",
            panels);
    if (!list_contestants(c) || !cli_count(args, "picture-size", &c->picture_size)) return CLI_MISUSE;
    if (c->picture_size && pelt_check_picture_size("picture_size", c->picture_size, &error)) return cli_error(&error);
    c->bundle = cli_bundle(args, args->inputs[0], &error);
    if (!c->bundle) return cli_error(&error);
    if (!cli_cache_options(args, c->bundle)) return CLI_MISUSE;
    if (!cli_clips(c->bundle, cli_value(args, "train"), PELT_NEED_POSITIONS, &c->train, &c->train_count) ||
        !cli_clips(c->bundle, cli_value(args, "test"), PELT_NEED_POSITIONS, &c->test, &c->test_count))
        return CLI_FAILED;
    for (size_t i = 0; i < c->test_count; i++)
        for (size_t k = 0; k < c->train_count; k++)
            if (c->test[i] == c->train[k])
                return cli_misuse(
                    args,
                    "clip \"%s\" is in both --train and --test: an error on training data says little about new poses",
                    c->test[i]->name);
    cli_say_placed(args, c->bundle);
    c->findings = pelt_diagnose(c->bundle, c->train, c->train_count);
    if (!cli_check_findings(args, c->findings) || !check_test_clips(c)) return CLI_FAILED;
    if (!cli_example_options(args, c->bundle, &c->train, &c->train_count)) return CLI_FAILED;
    if (!cli_examples(args, c->bundle, c->train, c->train_count, &c->train_examples)) return CLI_MISUSE;
    c->test_examples = pelt_bundle_examples(c->bundle, c->test, c->test_count);
    if (!c->train_examples.count || !c->test_examples.count)
        return cli_fail("%s: a clip has no frames", c->bundle->path);
    for (size_t i = 0; i < c->count; i++) {
        const contestant *one = &c->contestants[i];
        cli_progress_about("%zu of %zu, %s/%s: ", i + 1, c->count, method_of(one), blend_of(one));
        if (!run_contestant(c, &c->contestants[i], &error)) return cli_error(&error);
    }
    cli_progress_about("%s", "");
    print_table(c);
    print_remarks(c);
    print_regions(c);
    if (!write_errors(c)) return CLI_FAILED;
    const char *report = cli_value(args, "report"), *picture = cli_value(args, "picture");
    if ((report || picture) && write_report(c, report, picture, &error)) return cli_error(&error);
    if (report) cli_say(args, "\n%s: the report, with pictures\n", report);
    if (picture) cli_say(args, "%s%s: the picture\n", report ? "" : "\n", picture);
    return print_json(c);
}

static int run(const cli_args *args) {
    if (!cli_value(args, "train")) return cli_misuse(args, "--train CLIP,... is missing: name the clips to fit to");
    if (!cli_value(args, "test")) return cli_misuse(args, "--test CLIP,... is missing: name the clips to measure on");
    comparison *c = calloc(1, sizeof *c);
    if (!c) return cli_fail("not enough memory");
    c->args = args;
    c->arena = pelt_arena_new(0);
    int code = c->arena ? compare(c) : cli_fail("not enough memory");
    for (size_t i = 0; i < c->count; i++) {
        contestant *one = &c->contestants[i];
        for (size_t t = 0; one->test && t < c->test_count; t++) pelt_measure_free(one->test[t]);
        for (size_t k = 0; k < MOST_PICTURES; k++) free(one->pictures[k]);
        for (size_t k = 0; k < POSES; k++) free(one->poses[k]);
        pelt_fit_report_free(&one->report), pelt_measure_free(one->test_all);
        pelt_bytes_free(one->bytes);
        free(one->test);
    }
    pelt_bundle_free(c->bundle);
    pelt_arena_free(c->arena);
    free(c);
    return code;
}

const cli_command cli_compare = {
    "compare",
    "BUNDLE --train CLIP,... --test CLIP,... [--methods M,...] [--report FILE.html]",
    "Fits every method, measures each on clips it has not seen, and prints a table.",
    "A method is METHOD, METHOD/BLEND or METHOD/BLEND/CORRECTIVE, as in `pelt fit`. rough and jump mean the same as in "
    "`pelt measure`. ns/v is the time per vertex for a whole frame (pose, positions, normals) on one thread. "
    "--frame-errors and --vertex-errors write arrays of shape [methods][frames][rms, max] and [methods][vertices] for "
    "the test clips.",
    run,
    1,
    1,
    {{"methods", "M,...", "Methods, METHOD/BLEND pairs, or presets of pelt fit; default: all methods.", CLI_METHODS,
      .group = "What to compare"},
     {"train", "CLIP,...", "Clips to fit to."},
     {"test", "CLIP,...", "Clips to measure on; not the training clips."},
     {"every", "N", "Train on every N-th frame only; default 1, all frames."},
     CLI_EXAMPLE_OPTIONS,
     {"force", NULL, "Continue even if the input looks inconsistent."},
     {"report", "FILE.html", "Write a page with the table, the error of each frame, and pictures of the worst frames.",
      CLI_OUTPUT, .group = "Results"},
     {"picture-size", "PIXELS", "Length of the pictures' longer side; default 480."},
     {"picture", "FILE.png", "Write one picture: truth, models and errors in the worst frame.", CLI_OUTPUT},
     {"panels", "errors|closeup|differences|poses|supports|displacements|clouds",
      "What the picture shows: errors; errors close up; models and their differences; truth and models in six poses; "
      "the supports of joints, or the first eigendisplacements of one joint (eigen); a point seen from two joints "
      "(clouds)."},
     {"show-joints", "NAME,...",
      "Joints to show: any number for --panels supports and one for displacements (default: those that displace most), "
      "two for clouds."},
     CLI_ERROR_FILES,
     {"show", "CLIP:FRAME", "Frame to show first, instead of the worst one."},
     CLI_CACHE_OPTIONS,
     CLI_FIT_OPTIONS},
    .example = "pelt compare arm.glb --train train --test test --methods ssd,psd --report report.html",
};
