/* cmd_render.c: pelt render: draws a clip by the graphics device, frame by frame: the skin, the truth beside it, and how
   far they are apart. */

#include "cli/cli.h"
#include "gpu/canvas.h"
#include "io/io.h"
#include "report/raster.h"
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What is drawn of a clip. */
typedef struct film {
    const cli_args *args;
    const char *folder;
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_player *player;
    pelt_canvas *canvas;
    pelt_image *image;
    float *positions, *truth, *true_normals; /* of a frame, in the mesh's order */
    uint32_t size, width, columns;           /* pixels of a picture's height and width; pictures side by side */
    double half_height;                      /* of a picture, as a tangent; 0: as the view has it */
    double turn;                             /* degrees that the camera goes round in the clip */
    float hottest;                           /* distance; 0: no heat */
    pelt_view view;
} film;

/* -- The camera ---------------------------------------------------------------------------------------------------- */

/* The view of a frame. */
static pelt_view view_at(const film *f, uint32_t frame) {
    pelt_view view = f->view;
    view.azimuth += f->turn * frame / f->clip->frame_count;
    return view;
}

/* Frames that are looked at before drawing: some of a long clip. */
static uint32_t look_step(const film *f) { return f->clip->frame_count / 24 + 1; }

/* The middle of all frames, and the farthest vertex from it. */
static void look_at(film *f, double azimuth, double elevation) {
    size_t n = f->bundle->mesh.vertex_count;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, farthest = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t frame = 0; frame < f->clip->frame_count; frame += look_step(f)) {
            pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
            for (size_t v = 0; v < n; v++) {
                double square = 0;
                for (size_t i = 0; i < 3; i++) {
                    double x = f->positions[3 * v + i];
                    if (!round) low[i] = fmin(low[i], x), high[i] = fmax(high[i], x);
                    square += pow(x - (low[i] + high[i]) / 2, 2);
                }
                farthest = fmax(farthest, round ? square : 0);
            }
        }
    f->view = (pelt_view){.azimuth = azimuth, .elevation = elevation, .radius = sqrt(farthest)};
    for (int i = 0; i < 3; i++) f->view.center[i] = (low[i] + high[i]) / 2;
}

/* How wide and how high the character gets, as tangents from the middle: what the pictures are cut to. */
static void cut_pictures(film *f) {
    double most[2] = {0, 0}, at[3];
    for (uint32_t frame = 0; frame < f->clip->frame_count; frame += look_step(f)) {
        pelt_view view = view_at(f, frame);
        camera c;
        if (!camera_make(&view, 2, 2, &c)) return;
        pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
        for (size_t v = 0; v < f->bundle->mesh.vertex_count; v++)
            if (camera_project(&c, f->positions + 3 * v, at))
                for (int i = 0; i < 2; i++) most[i] = fmax(most[i], fabs(at[i] - 1) / c.focal);
    }
    if (!(most[0] > 0 && most[1] > 0)) return;
    f->half_height = 1.06 * fmax(most[1], most[0] / 2);
    f->width = (uint32_t)(f->size * fmin(fmax(1.06 * most[0] / f->half_height, 0.4), 2));
    f->width += f->width % 2; /* films want even numbers */
}

/* As OpenGL wants it: column by column, depth from -1 to 1 over the sphere that the view frames. */
static void clip_matrix(const camera *c, double near, double far, float out[16]) {
    double rows[4][4] = {{0}};
    for (int i = 0; i < 3; i++) {
        rows[0][i] = c->focal / c->half_width * c->right[i];
        rows[1][i] = c->focal / c->half_height * c->up[i];
        rows[2][i] = -(far + near) / (far - near) * c->back[i];
        rows[3][i] = -c->back[i];
    }
    rows[2][3] = -2 * far * near / (far - near);
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < 3; i++) rows[r][3] -= rows[r][i] * c->eye[i];
        for (int i = 0; i < 4; i++) out[4 * i + r] = (float)rows[r][i];
    }
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

static pelt_result write_frame(film *f, uint32_t frame, pelt_error *error) {
    char path[4096];
    uint8_t *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/frame_%04u.png", f->folder, frame);
    pelt_result result = pelt_image_png(f->image, &bytes, &size, error);
    if (result) return result;
    pelt_writer *writer = pelt_writer_open(path, error);
    if (writer) pelt_writer_put(writer, bytes, size);
    free(bytes);
    return writer ? pelt_writer_commit(writer, error) : error->code;
}

/* The page is white where nothing is drawn, so that films can be made of the pictures. */
static void put_on_white(pelt_image *image) {
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        uint8_t *p = image->rgba + 4 * i;
        for (int c = 0; c < 3; c++) p[c] = (uint8_t)((p[c] * p[3] + 250 * (255 - p[3])) / 255);
        p[3] = 255;
    }
}

static pelt_result draw_frame(film *f, uint32_t frame, pelt_error *error) {
    uint32_t n = f->bundle->mesh.vertex_count;
    pelt_view view = view_at(f, frame);
    camera eye;
    double distance = pelt_view_distance(&view);
    if (!camera_make(&view, f->width, f->size, &eye))
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: its positions cannot be looked at", f->bundle->path);
    if (f->half_height > 0) eye.focal = eye.half_height / f->half_height;
    pelt_canvas_picture picture = {.width = f->width, .height = f->size, .hottest = f->hottest};
    clip_matrix(&eye, fmax(distance - 2 * view.radius, distance / 100), distance + 2 * view.radius, picture.clip);
    for (int i = 0; i < 3; i++) picture.eye[i] = (float)eye.eye[i];
    const void *pose = pelt_player_pose(f->player, f->clip, frame);
    if (f->truth) {
        memcpy(f->truth, f->clip->positions + 3 * (size_t)n * frame, 3 * (size_t)n * sizeof *f->truth);
        pelt_mesh_normals(f->truth, n, f->bundle->mesh.triangles, f->bundle->mesh.triangle_count, f->true_normals);
        picture.truth = f->truth, picture.true_normals = f->true_normals;
    }
    pelt_canvas_clear(f->canvas);
    pelt_result result = PELT_OK;
    for (uint32_t c = 0; c < f->columns && !result; c++) {
        int true_one = f->columns == 2 && c == 0;
        picture.left = c * f->width, picture.scratch = true_one ? NULL : pose;
        picture.hottest = true_one ? 0 : f->hottest;
        result = pelt_canvas_draw(f->canvas, &picture, error);
    }
    if (!result) result = pelt_canvas_read(f->canvas, f->image->rgba, error);
    if (result) return result;
    put_on_white(f->image);
    return write_frame(f, frame, error);
}

static pelt_result draw_frames(film *f, pelt_error *error) {
    pelt_progress progress = cli_progress(f->args);
    pelt_result result = pelt_folder_make(f->folder, error);
    for (uint32_t frame = 0; frame < f->clip->frame_count && !result; frame++) {
        pelt_should_stop(&progress, "drawing", (double)frame / f->clip->frame_count);
        result = draw_frame(f, frame, error);
    }
    return result;
}

/* -- A film -------------------------------------------------------------------------------------------------------- */

/* By ffmpeg, where it is found. */
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
        return cli_fail("%s: ffmpeg, which would make it, is not here; the frames are in %s", path, f->folder);
    while (waitpid(child, &status, 0) < 0) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return cli_fail("%s: ffmpeg, which would make it, is not here; the frames are in %s", path, f->folder);
    if (WEXITSTATUS(status)) return cli_fail("%s: ffmpeg did not make it; the frames are in %s", path, f->folder);
    return CLI_DONE;
}

/* -- The command --------------------------------------------------------------------------------------------------- */

static bool open_film(film *f, const pelt_skin *skin, double azimuth, double elevation, int device, pelt_error *error) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    size_t bytes = 3 * (size_t)mesh->vertex_count * sizeof(float);
    f->positions = malloc(bytes);
    if (f->clip->positions) f->truth = malloc(bytes), f->true_normals = malloc(bytes);
    if (!f->positions || (f->clip->positions && (!f->truth || !f->true_normals))) return pelt_no_memory(error), false;
    f->player = pelt_player_new(skin, f->bundle, error);
    if (!f->player) return false;
    f->width = f->size;
    look_at(f, azimuth, elevation);
    cut_pictures(f);
    f->image = pelt_image_new(f->width * f->columns, f->size);
    if (!f->image) return pelt_no_memory(error), false;
    f->canvas = pelt_canvas_new(skin, mesh->triangles, mesh->triangle_count, f->image->width, f->size, device, error);
    return f->canvas != NULL;
}

static void close_film(film *f) {
    pelt_canvas_free(f->canvas);
    pelt_player_free(f->player);
    pelt_image_free(f->image);
    free(f->positions), free(f->truth), free(f->true_normals);
}

static int run(const cli_args *args) {
    film f = {.args = args, .folder = cli_value(args, "output"), .size = 512, .columns = 1};
    const char *name = cli_value(args, "clip"), *movie = cli_value(args, "movie");
    double azimuth = 0, elevation = 10, heat = 0;
    uint32_t device = UINT32_MAX;
    if (!f.folder) return cli_misuse(args, "-o FOLDER says where the frames go; it is missing");
    if (!name) return cli_misuse(args, "--clip CLIP says what to draw; it is missing");
    if (movie && !pelt_ends_with(movie, ".webp") && !pelt_ends_with(movie, ".mp4"))
        return cli_misuse(args, "--movie makes a .webp or an .mp4, not %s", movie);
    if (!cli_count(args, "size", 16, 4096, &f.size) || !cli_number(args, "azimuth", -360, 360, &azimuth) ||
        !cli_number(args, "elevation", -89, 89, &elevation) || !cli_number(args, "turn", -3600, 3600, &f.turn) ||
        !cli_number(args, "heat", 1e-6, 100, &heat) || !cli_count(args, "gpu", 0, 999, &device))
        return CLI_MISUSE;
    bool beside = cli_value(args, "beside") != NULL;
    if (beside) f.columns = 2;
    pelt_error error = {0};
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    if (!bytes) return cli_error(&error);
    f.bundle = cli_bundle(args, args->inputs[1], &error);
    pelt_need need = beside || heat > 0 ? PELT_NEED_POSITIONS : PELT_NEED_POSE;
    f.clip = f.bundle ? pelt_bundle_clip(f.bundle, name, need, &error) : NULL;
    int code = CLI_FAILED;
    if (!f.bundle) {
        code = cli_error(&error);
    } else if (!f.clip || !open_film(&f, &skin, azimuth, elevation, device == UINT32_MAX ? -1 : (int)device, &error)) {
        cli_error(&error);
    } else {
        cli_note_controls(args, &skin, f.bundle);
        f.hottest = (float)(heat / 100 * f.bundle->mesh.diagonal);
        code = draw_frames(&f, &error) ? cli_error(&error) : CLI_DONE;
        if (code == CLI_DONE && movie) code = make_movie(&f, movie);
        if (code == CLI_DONE) {
            cli_say(args, "%s: %u frames, drawn by %s\n", f.folder, f.clip->frame_count, pelt_canvas_title(f.canvas));
            code = cli_print_json(args,
                                  cli_pack("{s:s, s:s, s:i, s:s}", "output", f.folder, "clip", f.clip->name, "frames",
                                           (int)f.clip->frame_count, "device", pelt_canvas_title(f.canvas)));
        }
    }
    close_film(&f);
    pelt_bundle_free(f.bundle);
    pelt_bytes_free(bytes);
    return code;
}

const cli_command cli_render = {
    "render",
    "SKIN BUNDLE --clip CLIP -o FOLDER",
    "Draws a clip by the graphics device, a PNG file for each frame.",
    "The vertex shader runs the skin (OpenGL ES 3.0, through EGL, no window). --beside puts the true mesh on the "
    "left;\n"
    "--heat colours the skin by how far it is from the truth: red is that many percent of the mesh's diagonal.",
    run,
    2,
    2,
    {{"clip", "CLIP", "The clip to draw."},
     {"output", "FOLDER", "Where frame_0000.png and the others go."},
     {"size", "N", "Pixels of a picture's height; default 512. The width is what the character needs."},
     {"azimuth", "DEG", "Where the camera is, around the character; default 0, its front."},
     {"elevation", "DEG", "How high the camera is; default 10."},
     {"turn", "DEG", "How far the camera goes round during the clip; 360 is a turntable. Default 0."},
     {"beside", NULL, "The true mesh on the left, the skin on the right."},
     {"heat", "PERCENT", "Colours by the error; so much of the diagonal is red."},
     {"movie", "FILE", "Also a .webp or .mp4 of the frames, by ffmpeg.", CLI_OUTPUT},
     {"gpu", "N", "One of EGL's devices by its number."}},
    .example = "pelt render arm.pelt arm.glb --clip test --beside --heat 5 -o frames",
};
