/* relight_verbs.c: the options and output of `pelt relight`: train, run, measure. */

#include "cli/cli.h"
#include "io/io.h"
#include "io/pfm.h"
#include "light/relight.h"
#include "report/report.h"
#include "rig/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Options ------------------------------------------------------------------------------------------------------- */

/* --size WxH. False after a message. */
static bool read_size(const cli_args *args, uint32_t size[2]) {
    const char *text = cli_value(args, "size");
    int taken = 0;
    if (!text || (sscanf(text, "%ux%u%n", &size[0], &size[1], &taken) == 2 && !text[taken])) return true;
    return cli_misuse(args, "--size %s: expected width x height such as 400x400", text), false;
}

/* "12x12" or "12x12@x,y,z:x,y,z". False after a message. */
static bool read_grid(const cli_args *args, const pelt_light_view *view, pelt_light_grid *grid) {
    const char *text = cli_value(args, "lights");
    int taken = 0, more = 0;
    *grid = pelt_light_grid_default(view);
    if (!text) return true;
    bool good = sscanf(text, "%ux%u%n", &grid->columns, &grid->rows, &taken) == 2;
    if (good && text[taken] == '@') {
        float *a = grid->low, *b = grid->high;
        good = sscanf(text + taken, "@%f,%f,%f:%f,%f,%f%n", a, a + 1, a + 2, b, b + 1, b + 2, &more) == 6;
        taken += more;
    }
    if (good && !text[taken]) return true;
    return cli_misuse(args, "--lights %s: expected a grid such as 12x12 or 12x12@x,y,z:x,y,z", text), false;
}

/* x,y,z or x,y,z,turn; advances *text past it. */
static bool read_offset(const char **text, float at[4]) {
    int taken = 0, more = 0;
    at[3] = 0;
    if (sscanf(*text, "%f,%f,%f%n", at, at + 1, at + 2, &taken) != 3) return false;
    if (sscanf(*text + taken, ",%f%n", at + 3, &more) == 1) taken += more;
    *text += taken;
    return true;
}

/* NAME=FROM:TO:COUNT in training, NAME=AT in a run; advances *text past it. */
static bool read_move(const char **text, bool training, pelt_light_move *move) {
    const char *equals = strchr(*text, '=');
    int taken = 0;
    if (!equals || equals == *text || (size_t)(equals - *text) >= sizeof move->name) return false;
    *move = (pelt_light_move){.count = 1};
    memcpy(move->name, *text, (size_t)(equals - *text));
    *text = equals + 1;
    if (!read_offset(text, move->ends[0])) return false;
    memcpy(move->ends[1], move->ends[0], sizeof move->ends[0]);
    if (!training) return true;
    if (*(*text)++ != ':' || !read_offset(text, move->ends[1])) return false;
    if (sscanf(*text, ":%u%n", &move->count, &taken) != 1) return false;
    *text += taken;
    return true;
}

/* --move, several separated by +. False after a message. */
static bool read_moves(const cli_args *args, bool training, pelt_light_arrangement *a) {
    const char *given = cli_value(args, "move"), *text = given;
    bool good = true;
    while (text && good) {
        if (a->move_count == PELT_LIGHT_MOVES)
            return cli_misuse(args, "--move: at most %d objects can be moved", PELT_LIGHT_MOVES), false;
        good = read_move(&text, training, &a->moves[a->move_count++]);
        if (good && !*text) return true;
        good = good && *text++ == '+';
    }
    if (given)
        cli_misuse(args,
                   training ? "--move %s: expected both ends of a path and the number of positions on it, such as "
                              "camera=-0.1,0,0:0.1,0,0:5; separate several with +"
                            : "--move %s: expected a position such as camera=0.05,0,0; separate several with +",
                   given);
    return !given;
}

/* --points and --texels. False after a message. */
static bool read_points(const cli_args *args, pelt_light_arrangement *a) {
    const char *points = cli_value(args, "points");
    a->surfaces = points ? !strcmp(points, "surfaces") : a->move_count > 0;
    if (points && !a->surfaces && strcmp(points, "pixels"))
        return cli_misuse(args, "--points %s: expected pixels or surfaces", points), false;
    if (!a->surfaces && cli_value(args, "texels")) return cli_misuse(args, "--texels needs --points surfaces"), false;
    return cli_count(args, "texels", &a->texels);
}

/* --light, --kind, --color, --falloff. False after a message. */
static bool read_light(const cli_args *args, const pelt_light_view *view, pelt_light *light) {
    static const char *const kinds[] = {
        [PELT_LIGHT_POINT] = "point", [PELT_LIGHT_SPOT] = "spot", [PELT_LIGHT_AREA] = "area"};
    const char *place = cli_value(args, "light"), *color = cli_value(args, "color"), *kind = cli_value(args, "kind");
    int taken = 0, chosen = 0;
    double falloff = 2;
    *light = view->light;
    float *p = light->position, *c = light->color;
    if (!place || sscanf(place, "%f,%f,%f%n", p, p + 1, p + 2, &taken) != 3 || place[taken])
        return cli_misuse(args, "--light X,Y,Z: expected the position of the light as three numbers"), false;
    if (color && (sscanf(color, "%f,%f,%f%n", c, c + 1, c + 2, &taken) != 3 || color[taken]))
        return cli_misuse(args, "--color %s: expected three numbers such as 1,0.5,0.2", color), false;
    while (kind && chosen < 3 && strcmp(kind, kinds[chosen])) chosen++;
    if (chosen == 3) return cli_misuse(args, "--kind %s: expected point, spot or area", kind), false;
    if (kind) pelt_light_set_kind(view, (pelt_light_kind)chosen, light);
    if (!cli_number(args, "falloff", &falloff)) return false;
    light->falloff = falloff > 0 ? (float)falloff : -1;
    return true;
}

static pelt_result write_png(const char *path, const pelt_image *image, pelt_error *error) {
    pelt_bytes png;
    return cli_write_made(pelt_image_png(image, &png, error), &png, path, error);
}

/* -- Train --------------------------------------------------------------------------------------------------------- */

static int print_trained(const cli_args *args, const pelt_relight_training *t, const pelt_relight_report *r,
                         const char *path, size_t bytes, double seconds) {
    const pelt_light_view *view = t->view;
    cli_say(args, "%s: %u frames of %zu points, %u keys, %u vectors, %.1f MB; noise of the training frames %.2f%%\n",
            path, r->lights, view->point_count, r->keys.keys, r->keys.basis, (double)bytes * 1e-6, 100 * r->noise);
    return cli_print_json(
        args, pelt_json_pack(
                  "{keys_file:s, scene:s, points:z, keys:u, basis:u, lights:u, samples:u, noise:f, seconds:f, bytes:z}",
                  path, view->name, view->point_count, r->keys.keys, r->keys.basis, r->lights, t->options.samples,
                  r->noise, seconds, bytes));
}

static int train_view(const cli_args *args, pelt_light_view *view, pelt_relight_options *options, const char *path,
                      double start) {
    pelt_relight_training t;
    pelt_relight_report report;
    pelt_error error;
    char folder[4096];
    options->progress = cli_progress(args);
    snprintf(folder, sizeof folder, "%s.frames", path);
    if (pelt_relight_begin(&t, view, options, folder, &error)) return cli_error(&error);
    uint32_t missing = t.missing;
    if (missing < t.gather_count)
        cli_say(args, "%u of %u gathers already exist\n", t.gather_count - missing, t.gather_count);
    double gathering = pelt_wall_seconds();
    if (pelt_relight_gather(&t, &error)) return cli_error(&error);
    if (missing) cli_say(args, "%u gathers in %.0f s\n", missing, pelt_wall_seconds() - gathering);
    pelt_bytes *bytes = pelt_relight_train(&t, &report, &error);
    if (!bytes) return cli_error(&error);
    if (report.dark)
        cli_warn(args, "%u of the %u training %s light nothing that the camera sees; are they inside objects?",
                 report.dark, report.lights, view->transforms ? "frames" : "lights");
    int code = pelt_bytes_write(bytes, path, &error)
                   ? cli_error(&error)
                   : print_trained(args, &t, &report, path, bytes->size, pelt_wall_seconds() - start);
    pelt_bytes_free(bytes);
    return code;
}

int relight_train(const cli_args *args) {
    const char *path = cli_value(args, "output");
    double start = pelt_wall_seconds();
    uint32_t size[2] = {400, 400}, bounces = 4;
    pelt_relight_options options = {.seed = args->seed, .threads = args->threads};
    pelt_light_arrangement arrangement = {0};
    pelt_light_view view;
    pelt_error error;
    if (args->input_count != 2) return cli_misuse(args, "train takes one scene: pelt relight train SCENE -o BOX.keys");
    if (!path) return cli_misuse(args, "-o BOX.keys is missing: name the file to write");
    if (!cli_count(args, "samples", &options.samples) || !cli_count(args, "keys", &options.keys) ||
        !cli_count(args, "basis", &options.basis) || !cli_count(args, "bounces", &bounces) ||
        !cli_count(args, "key-samples", &options.key_samples) || !read_size(args, size) ||
        !read_moves(args, true, &arrangement) || !read_points(args, &arrangement))
        return CLI_MISUSE;
    pelt_result opened = pelt_light_view_open(&view, args->inputs[1], size[0], size[1], bounces, &error);
    int code = CLI_MISUSE;
    if (opened || read_grid(args, &view, &options.grid)) { /* the grid refers to the scene before anything moves */
        if (!opened) opened = pelt_light_view_arrange(&view, &arrangement, &error);
        code = opened ? cli_error(&error) : train_view(args, &view, &options, path, start);
    }
    pelt_light_view_close(&view);
    return code;
}

/* -- Run ----------------------------------------------------------------------------------------------------------- */

static pelt_result write_picture(const char *path, const pelt_picture *picture, pelt_error *error) {
    size_t count = (size_t)picture->width * picture->height;
    if (pelt_ends_with(path, ".pfm")) return pelt_pfm_write(path, picture, error);
    pelt_image *image = pelt_image_new(picture->width, picture->height);
    if (!image) return pelt_no_memory(error);
    float white = pelt_light_white(picture->rgb, count);
    for (size_t i = 0; i < 4 * count; i++)
        image->rgba[i] = i % 4 == 3 ? 255 : pelt_light_srgb(picture->rgb[i / 4 * 3 + i % 4], white);
    pelt_result result = write_png(path, image, error);
    pelt_image_free(image);
    return result;
}

static int print_run(const cli_args *args, const pelt_relight_result *r, double trusted, const char *path) {
    const char *verdict = cli_value(args, "full") ? "full" : r->trust >= 1 ? "hit" : r->trust > 0 ? "blend" : "miss";
    if (r->dark)
        cli_warn(args, "no indirect light reaches anything that the camera sees; is the light inside the scene, and in "
                       "the scene's units?");
    char beyond[300] = "";
    if (r->beyond > 0 && !(r->full_seconds > 0 && !(r->trust > 0)))
        snprintf(beyond, sizeof beyond,
                 "the light is %.3g outside the grid of training lights, where key points can be wrong without "
                 "warning; train with a larger grid (--lights), or gather all points (--full)",
                 r->beyond);
    if (*beyond) cli_warn(args, "%s", beyond);
    cli_say(args, "%s: %s", path, verdict);
    if (r->key_seconds > 0)
        cli_say(args, ", keys in %.1f ms, misfit %.2f%% (trusted up to %.2f%%)", 1e3 * r->key_seconds, 100 * r->misfit,
                100 * trusted);
    if (r->look_seconds > 0) cli_say(args, ", moving and tracing the view in %.1f ms", 1e3 * r->look_seconds);
    if (r->full_seconds > 0) cli_say(args, ", all points in %.2f s", r->full_seconds);
    if (r->bare > 0) cli_say(args, "; %zu pixels show surfaces that training did not see and were gathered", r->bare);
    cli_say(args, "\n");
    json_t *warnings = json_array();
    if (*beyond) warnings = pelt_json_append(warnings, pelt_json_text(beyond));
    if (r->trust < 1 && !(r->full_seconds > 0))
        cli_say(args, "the light is unlike the training lights, so the result may be wrong\n");
    return cli_print_json(args, pelt_json_pack("{picture:s, verdict:s, misfit:f, trusted_misfit:f, key_seconds:f, "
                                               "full_seconds:f, look_seconds:f, gathered_pixels:z, beyond_grid:f, "
                                               "warnings:o}",
                                               path, verdict, r->misfit, trusted, r->key_seconds, r->full_seconds,
                                               r->look_seconds, r->bare, r->beyond, warnings));
}

/* Applies --move to what moved in training. False after a message. */
static bool read_place(const cli_args *args, pelt_light_view *view, pelt_light_place *place, pelt_error *error) {
    pelt_light_arrangement wanted = {0};
    const pelt_light_arrangement *trained = &view->arrangement;
    if (!read_moves(args, false, &wanted)) return error->code = PELT_OK, false;
    for (uint32_t i = 0; i < wanted.move_count; i++) {
        uint32_t k = 0;
        while (k < trained->move_count && strcmp(trained->moves[k].name, wanted.moves[i].name)) k++;
        if (k == trained->move_count)
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "%s did not move in training, so it cannot be moved; train with --move %s=...",
                             wanted.moves[i].name, wanted.moves[i].name),
                   false;
        memcpy(place->at[k], wanted.moves[i].ends[0], sizeof place->at[k]);
    }
    return true;
}

static int run_view(const cli_args *args, pelt_light_view *view, const pelt_relight_file *file, const char *path) {
    pelt_relight_shot shot = {.seed = args->seed,
                              .threads = args->threads,
                              .full = cli_value(args, "full") != NULL,
                              .no_fallback = cli_value(args, "no-fallback") != NULL};
    pelt_relight_result result;
    pelt_error error;
    shot.part = cli_value(args, "indirect") ? PELT_RELIT_INDIRECT
                : cli_value(args, "direct") ? PELT_RELIT_DIRECT
                                            : PELT_RELIT_ALL;
    if (!cli_count(args, "samples", &shot.samples) || !cli_count(args, "key-samples", &shot.key_samples) ||
        !read_light(args, view, &shot.light))
        return CLI_MISUSE;
    if (!read_place(args, view, &shot.place, &error)) return error.code ? cli_error(&error) : CLI_MISUSE;
    pelt_picture picture = {view->width, view->height, NULL};
    picture.rgb = PELT_NEW(view->arena, 3 * (size_t)view->width * view->height, float);
    if (!picture.rgb) return cli_fail("not enough memory");
    if (pelt_relight_picture(view, file, &shot, picture.rgb, &result, &error) || write_picture(path, &picture, &error))
        return cli_error(&error);
    return print_run(args, &result, file ? file->facts.trust : 0, path);
}

/* A scene alone. */
static int run_scene(const cli_args *args, const char *path) {
    uint32_t size[2] = {400, 400}, bounces = 4;
    pelt_light_view view;
    pelt_error error;
    if (!cli_value(args, "full"))
        return cli_misuse(args, "%s: expected a .keys file; without key points, gather the scene with --full",
                          args->inputs[1]);
    pelt_light_arrangement arrangement = {0};
    if (!cli_count(args, "bounces", &bounces) || !read_size(args, size) || !read_moves(args, false, &arrangement))
        return CLI_MISUSE;
    pelt_result opened = pelt_light_view_open(&view, args->inputs[1], size[0], size[1], bounces, &error);
    if (!opened) opened = pelt_light_view_arrange(&view, &arrangement, &error);
    int code = opened ? cli_error(&error) : run_view(args, &view, NULL, path);
    pelt_light_view_close(&view);
    return code;
}

int relight_run(const cli_args *args) {
    const char *path = cli_value(args, "output"), *scene = args->input_count > 2 ? args->inputs[2] : NULL;
    pelt_relight_file file;
    pelt_error error;
    if (args->input_count < 2)
        return cli_misuse(args, "run takes key points: pelt relight run BOX.keys --light X,Y,Z -o PICTURE.png");
    if (!path) return cli_misuse(args, "-o PICTURE.png is missing: name the file to write");
    if (!pelt_ends_with(args->inputs[1], ".keys")) return run_scene(args, path);
    int code = pelt_relight_open(&file, args->inputs[1], scene, &error) ? cli_error(&error)
                                                                        : run_view(args, &file.view, &file, path);
    pelt_relight_close(&file);
    return code;
}

/* -- Measure ------------------------------------------------------------------------------------------------------- */

static json_t *group_json(const pelt_relight_group *g) {
    return pelt_json_pack("{group:s, lights:u, rel_rms:f, worst:f, flagged:u, wrong:u, wrong_unflagged:u}", g->name,
                          g->lights, g->error, g->worst, g->flagged, g->wrong, g->wrong_unflagged);
}

static int print_measured(const cli_args *args, const pelt_relight_file *file, const pelt_relight_measure *m) {
    const pelt_relight_group *plane = &m->groups[0], *end = m->groups + PELT_RELIGHT_GROUPS;
    cli_say(args, "%-22s %7s %7s %7s  flagged  wrong (over %.0f%%), of these unflagged\n", "lights", "count", "error",
            "worst", 100 * PELT_RELIGHT_WRONG);
    json_t *list = json_array();
    for (const pelt_relight_group *g = m->groups; g < end; g++) {
        cli_say(args, "%-22s %7u %6.2f%% %6.2f%%  %7u  %5u, %u\n", g->name, g->lights, 100 * g->error, 100 * g->worst,
                g->flagged, g->wrong, g->wrong_unflagged);
        json_array_append_new(list, group_json(g));
    }
    cli_say(args, "%-22s %7u %6.2f%%\n", "coloured, in the plane", plane->lights, 100 * plane->color_error);
    cli_say(args,
            "noise of a full gather: %.0f%% / sqrt(paths); keys at %u paths: %.1f ms of CPU time, %.0f times faster "
            "than the full gather at equal paths, %.0f times at equal error; keys at 64 paths: %.1f ms; %.1f million "
            "rays per second and core\n",
            100 * m->noise_of_one_path, m->key_samples, 1e3 * m->key_seconds, m->speedup, m->speedup_equal_error,
            1e3 * m->quick_seconds, 1e-6 * m->rays_per_second);
    if (m->look_seconds > 0)
        cli_say(args,
                "a new position of the moving objects: %.1f ms more CPU time; %.2f%% of the pixels show surfaces that "
                "training did not see\n",
                1e3 * m->look_seconds, 100 * m->bare);
    return cli_print_json(
        args, pelt_json_pack(
                  "{points:z, keys:u, basis:u, lights:u, rel_rms:f, noise_rel_rms:f, speedup:f, speedup_equal_error:f, "
                  "color_rel_rms:f, key_samples:u, reference_samples:u, noise_of_one_path:f, key_ms:f, key_ms_64:f, "
                  "rays_per_second:f, look_ms:f, unseen_share:f, groups:o}",
                  file->view.point_count, file->keys.key_count, file->keys.basis_count, plane->lights, plane->error,
                  plane->noise, m->speedup, m->speedup_equal_error, plane->color_error, m->key_samples, m->reference,
                  m->noise_of_one_path, 1e3 * m->key_seconds, 1e3 * m->quick_seconds, m->rays_per_second,
                  1e3 * m->look_seconds, m->bare, list));
}

static pelt_result draw(const cli_args *args, pelt_relight_file *file, const char *path, pelt_error *error) {
    pelt_relight_figure figure;
    pelt_result result = pelt_relight_draw(file, args->threads, &figure, error);
    if (!result) result = write_png(path, &(pelt_image){figure.width, figure.height, figure.rgba}, error);
    if (!result)
        cli_say(args, "%s: training lights (green), keys (white); full gather, keys, ten times the difference\n", path);
    return result;
}

int relight_measure(const cli_args *args) {
    const char *pictures = cli_value(args, "pictures"), *scene = args->input_count > 2 ? args->inputs[2] : NULL;
    pelt_relight_measure_options options = {.threads = args->threads, .progress = cli_progress(args)};
    pelt_relight_measure m;
    pelt_relight_file file;
    pelt_error error;
    if (args->input_count < 2) return cli_misuse(args, "measure takes key points: pelt relight measure BOX.keys");
    if (!cli_count(args, "novel", &options.novel) || !cli_count(args, "key-samples", &options.key_samples) ||
        !cli_count(args, "reference", &options.reference) || !cli_count(args, "at", &options.points))
        return CLI_MISUSE;
    pelt_result result = pelt_relight_open(&file, args->inputs[1], scene, &error);
    if (!result) result = pelt_relight_measure_file(&file, &options, &m, &error);
    if (!result && pictures) result = draw(args, &file, pictures, &error);
    int code = result ? cli_error(&error) : print_measured(args, &file, &m);
    pelt_relight_close(&file);
    return code;
}
