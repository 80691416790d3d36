/* cmd_render.c: pelt render: draws a clip frame by frame: the skin, the truth next to it, and their distance. */

#include "cli/cli.h"
#include "io/io.h"
#include "report/report.h"
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BATCH = 16 }; /* frames drawn at once */

/* A frame that is drawn. */
typedef struct shot {
    uint32_t frame;
    float *positions, *normals; /* of the skin */
    float *heat;
    pelt_bytes png; /* none: memory was out */
} shot;

/* What is drawn of a clip. */
typedef struct film {
    const cli_args *args;
    const char *folder;
    pelt_arena *arena;
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_player *player;
    uint32_t height, width, columns; /* pixels of a picture; pictures side by side */
    double turn;                     /* degrees that the camera orbits during the clip */
    double hottest;                  /* the distance drawn in the hottest colour; 0: no heat */
    double pivot[3];                 /* centre of the orbit */
    pelt_view view;                  /* of the first frame */
    uint32_t drawn;                  /* frames that are there, from the first on */
    shot shots[BATCH];
} film;

/* -- The camera ---------------------------------------------------------------------------------------------------- */

/* Rotates a point around the pivot, opposite to the camera's orbit. */
static void turn_point(const film *f, double degrees, double p[3]) {
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180), x = p[0] - f->pivot[0], z = p[2] - f->pivot[2];
    p[0] = f->pivot[0] + c * x + s * z, p[2] = f->pivot[2] + c * z - s * x;
}

static double turn_at(const film *f, uint32_t frame) { return f->turn * frame / f->clip->frame_count; }

static pelt_view view_at(const film *f, uint32_t frame) {
    pelt_view view = f->view;
    view.azimuth += turn_at(f, frame);
    turn_point(f, turn_at(f, frame), view.center);
    return view;
}

/* One view that contains the character in all frames: fitted to some of them, with the camera's orbit undone. */
static pelt_result find_view(film *f, double azimuth, double elevation, pelt_error *error) {
    enum { LOOKS = 24 };
    uint32_t n = f->bundle->mesh.vertex_count, frames = f->clip->frame_count;
    uint32_t count = frames < LOOKS ? frames : LOOKS, all = count * n, looked[LOOKS];
    float *points = malloc((3 * (size_t)all + 1) * sizeof *points);
    if (!points) return pelt_no_memory(error);
    for (uint32_t k = 0; k < count; k++) {
        looked[k] = (uint32_t)((uint64_t)k * frames / count);
        pelt_player_frame(f->player, f->clip, looked[k], points + 3 * (size_t)k * n, NULL);
    }
    f->view = pelt_view_fit(points, all, azimuth, elevation);
    memcpy(f->pivot, f->view.center, sizeof f->pivot);
    for (size_t v = 0; v < all; v++) {
        double p[3] = {points[3 * v], points[3 * v + 1], points[3 * v + 2]};
        turn_point(f, -turn_at(f, looked[v / n]), p);
        for (size_t i = 0; i < 3; i++) points[3 * v + i] = (float)p[i];
    }
    double aspect;
    pelt_view_tighten(&f->view, points, all, &aspect);
    free(points);
    f->width = (uint32_t)(f->height * aspect);
    f->width += f->width % 2; /* video codecs need even numbers */
    return PELT_OK;
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

static const float *truth_at(const film *f, uint32_t frame) {
    return f->clip->positions + 3 * (size_t)f->bundle->mesh.vertex_count * frame;
}

static void deform(film *f, shot *s) {
    pelt_player_frame(f->player, f->clip, s->frame, s->positions, s->normals);
    for (size_t v = 0; f->hottest > 0 && v < f->bundle->mesh.vertex_count; v++) {
        const float *a = s->positions + 3 * v, *b = truth_at(f, s->frame) + 3 * v;
        double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
        s->heat[v] = (float)(sqrt(x * x + y * y + z * z) / f->hottest);
    }
}

static void draw_shot(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    film *f = user;
    shot *s = &f->shots[i];
    pelt_view view = view_at(f, s->frame);
    pelt_image *whole = pelt_image_new(f->columns * f->width, f->height), *part = pelt_image_new(f->width, f->height);
    pelt_result result = whole && part ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < f->columns && !result; c++) {
        pelt_look look = {s->positions, s->normals, s->heat};
        if (c + 1 < f->columns) look = (pelt_look){.positions = truth_at(f, s->frame)};
        result = pelt_draw_mesh(part, &view, &f->bundle->mesh, &look);
        if (result == PELT_ERROR_ARGUMENT) result = PELT_OK; /* a view of nothing is an empty picture */
        if (!result) pelt_image_paste(whole, part, c * f->width, 0);
    }
    if (!result) pelt_image_png(whole, &s->png, NULL);
    pelt_image_free(whole), pelt_image_free(part);
}

static void frame_path(const film *f, uint32_t frame, char path[4096]) {
    snprintf(path, 4096, "%s/frame_%04u.png", f->folder, frame);
}

/* How many frames are there, from the first on; each of them is whole. */
static uint32_t frames_there(const film *f) {
    char path[4096];
    uint32_t count = 0;
    while (count < f->clip->frame_count && (frame_path(f, count, path), pelt_file_exists(path))) count++;
    return count;
}

static pelt_result write_shot(const film *f, const shot *s, pelt_error *error) {
    char path[4096];
    frame_path(f, s->frame, path);
    return s->png.bytes ? pelt_bytes_write(&s->png, path, error) : pelt_no_memory(error);
}

static pelt_result draw_frames(film *f, pelt_error *error) {
    pelt_progress progress = cli_progress(f->args);
    pelt_result result = pelt_folder_make(f->folder, error);
    uint32_t begin = cli_value(f->args, "resume") ? frames_there(f) : 0;
    for (uint32_t first = begin; first < f->clip->frame_count && !result; first += BATCH) {
        uint32_t count = f->clip->frame_count - first < BATCH ? f->clip->frame_count - first : BATCH;
        pelt_should_stop(&progress, "drawing", (double)first / f->clip->frame_count);
        for (uint32_t i = 0; i < count; i++) f->shots[i].frame = first + i, deform(f, &f->shots[i]);
        pelt_parallel(NULL, f->args->threads, count, draw_shot, f);
        for (uint32_t i = 0; i < count; i++) {
            if (!result) result = write_shot(f, &f->shots[i], error);
            free(f->shots[i].png.bytes);
            f->shots[i].png = (pelt_bytes){0};
            f->drawn += !result;
        }
    }
    f->drawn += begin;
    return result;
}

/* -- The movie ----------------------------------------------------------------------------------------------------- */

/* By ffmpeg, if it is installed. */
static int make_movie(const film *f, const char *path) {
    char frames[4096], rate[32];
    const pelt_clip *clip = f->clip;
    double span = clip->frame_count > 1 ? (double)clip->times[clip->frame_count - 1] - clip->times[0] : 0;
    snprintf(frames, sizeof frames, "%s/frame_%%04d.png", f->folder);
    snprintf(rate, sizeof rate, "%.4f", span > 0 ? fmin((clip->frame_count - 1) / span, 60) : 24);
    bool webp = pelt_ends_with(path, ".webp");
    char *words[] = {"ffmpeg",
                     "-v",
                     "error",
                     "-y",
                     "-framerate",
                     rate,
                     "-i",
                     frames,
                     webp ? "-loop" : "-pix_fmt",
                     webp ? "0" : "yuv420p",
                     webp ? "-quality" : "-crf",
                     webp ? "75" : "20",
                     (char *)path,
                     NULL};
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, "ffmpeg", NULL, NULL, words, environ))
        return cli_fail("%s: cannot be made without ffmpeg, which was not found; the frames are in %s", path,
                        f->folder);
    while (waitpid(child, &status, 0) < 0) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return cli_fail("%s: cannot be made without ffmpeg, which was not found; the frames are in %s", path,
                        f->folder);
    if (WEXITSTATUS(status)) return cli_fail("%s: ffmpeg failed to make it; the frames are in %s", path, f->folder);
    return CLI_DONE;
}

/* -- The command --------------------------------------------------------------------------------------------------- */

static pelt_result open_film(film *f, const pelt_skin *skin, double azimuth, double elevation, pelt_error *error) {
    size_t n = f->bundle->mesh.vertex_count;
    for (int i = 0; i < BATCH; i++) {
        f->shots[i].positions = PELT_NEW(f->arena, 3 * n, float);
        f->shots[i].normals = PELT_NEW(f->arena, 3 * n, float);
        if (f->hottest > 0) f->shots[i].heat = PELT_NEW(f->arena, n, float);
    }
    if (pelt_arena_failed(f->arena)) return pelt_no_memory(error);
    f->player = pelt_player_new(skin, f->bundle, error);
    return f->player ? find_view(f, azimuth, elevation, error) : error->code;
}

static int draw_film(film *f, const pelt_skin *skin, double azimuth, double elevation, double heat) {
    pelt_error error;
    const char *movie = cli_value(f->args, "movie");
    bool needs_truth = f->columns == 2 || heat > 0;
    f->clip = pelt_bundle_clip(f->bundle, cli_value(f->args, "clip"),
                               needs_truth ? PELT_NEED_POSITIONS : PELT_NEED_POSE, &error);
    f->hottest = heat / 100 * pelt_scene_diagonal(&f->bundle->mesh);
    if (!f->clip || open_film(f, skin, azimuth, elevation, &error)) return cli_error(&error), CLI_FAILED;
    cli_note_controls(f->args, skin, f->bundle);
    if (draw_frames(f, &error)) {
        int code = cli_error(&error);
        if (f->drawn)
            cli_fail("%s: has the first %u of %u frames; --resume draws the rest", f->folder, f->drawn,
                     f->clip->frame_count);
        return code;
    }
    int code = movie ? make_movie(f, movie) : CLI_DONE;
    if (code != CLI_DONE) return code;
    cli_say(f->args, "%s: %u frames of %u x %u pixels\n", f->folder, f->clip->frame_count, f->columns * f->width,
            f->height);
    return cli_print_json(
        f->args, pelt_json_pack("{output:s, clip:s, frames:u}", f->folder, f->clip->name, f->clip->frame_count));
}

static int run(const cli_args *args) {
    film f = {.args = args, .folder = cli_value(args, "output"), .height = 512};
    const char *movie = cli_value(args, "movie");
    double azimuth = 0, elevation = 10, heat = 0;
    pelt_error error;
    if (!f.folder) return cli_misuse(args, "-o FOLDER is missing: name the folder to write to");
    if (!cli_value(args, "clip")) return cli_misuse(args, "--clip CLIP is missing: name the clip to draw");
    if (movie && !pelt_ends_with(movie, ".webp") && !pelt_ends_with(movie, ".mp4"))
        return cli_misuse(args, "--movie writes a .webp or an .mp4, not %s", movie);
    if (!cli_count(args, "size", &f.height) || !cli_number(args, "azimuth", &azimuth) ||
        !cli_number(args, "elevation", &elevation) || !cli_number(args, "turn", &f.turn) ||
        !cli_amount(args, "heat", &heat))
        return CLI_MISUSE;
    if (heat < 0) return cli_misuse(args, "--heat: expected a percentage of the diagonal");
    if (pelt_check_picture_size("size", f.height, &error)) return cli_error(&error);
    f.columns = cli_value(args, "beside") ? 2 : 1;
    f.arena = pelt_arena_new(0);
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    f.bundle = bytes ? cli_bundle(args, args->inputs[1], &error) : NULL;
    int code = f.bundle ? draw_film(&f, &skin, azimuth, elevation, heat) : cli_error(&error);
    pelt_player_free(f.player);
    pelt_bundle_free(f.bundle);
    pelt_bytes_free(bytes);
    pelt_arena_free(f.arena);
    return code;
}

const cli_command cli_render = {
    "render",
    "SKIN BUNDLE --clip CLIP -o FOLDER",
    "Draws a clip, one PNG file per frame.",
    "No graphics device is needed. --beside puts the true mesh on the left; --heat colours the skin by its distance "
    "from the truth, as `pelt compare --report` does: pale yellow is an error of PERCENT of the mesh's diagonal or "
    "more.",
    run,
    2,
    2,
    {{"clip", "CLIP", "The clip to draw."},
     {"output", "FOLDER", "Folder for frame_0000.png and the others."},
     {"size", "N", "Height of the pictures in pixels; default 512. The width follows from the character."},
     {"azimuth", "DEG", "Camera angle around the character; default 0, its front."},
     {"elevation", "DEG", "Camera angle above the horizon; default 10."},
     {"turn", "DEG", "How far the camera orbits during the clip; 360 is a turntable. Default 0."},
     {"resume", NULL, "Keep the frames that were already drawn, and draw the rest."},
     {"beside", NULL, "Show the true mesh on the left and the skin on the right."},
     {"heat", "PERCENT", "Colour by error; an error of this percentage of the diagonal is the brightest."},
     {"movie", "FILE", "Also make a .webp or .mp4 of the frames, with ffmpeg.", CLI_OUTPUT}},
    .example = "pelt render arm.pelt arm.glb --clip test --beside --heat 5 -o frames",
};
