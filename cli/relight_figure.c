/* relight_figure.c: the picture that shows what key points of light do (Meyer & Anderson, figure 5). On the left the
   training lights (green) and the keys (white); then for three new lights, from the top: the full gather, the result
   from the keys, and ten times the difference of the two. Pictures show direct and indirect light. */

#include "cli/relight_figure.h"
#include "cli/relight_picture.h"
#include <math.h>
#include <string.h>

enum { PANEL = 108, GAP = 4, PLAN = 3 * PANEL + 2 * GAP, NOVEL = 3, FULL_SAMPLES = 256 };

static const double places[NOVEL][2] = {{0.13, 0.2}, {0.55, 0.7}, {0.87, 0.36}};

typedef struct figure {
    const cli_args *args;
    relight_gatherer *g;
    stage *stage;
    pelt_image *image;
    float *direct, *full, *keys, *shown; /* [point_count][3] */
    float *picture;                      /* [height][width][3] */
} figure;

/* -- Drawing ------------------------------------------------------------------------------------------------------- */

static void put_pixel(pelt_image *image, int x, int y, const uint8_t rgb[3]) {
    if (x < 0 || y < 0 || x >= (int)image->width || y >= (int)image->height) return;
    uint8_t *to = image->rgba + 4 * ((size_t)y * image->width + (size_t)x);
    memcpy(to, rgb, 3);
    to[3] = 255;
}

static void put_dot(pelt_image *image, double x, double y, const uint8_t rgb[3]) {
    static const uint8_t dark[3] = {20, 20, 20};
    for (int pass = 0; pass < 2; pass++) {
        double radius = pass ? 1.6 : 2.4;
        for (int j = -3; j <= 3; j++)
            for (int i = -3; i <= 3; i++)
                if (i * i + j * j <= radius * radius)
                    put_pixel(image, (int)floor(x) + i, (int)floor(y) + j, pass ? rgb : dark);
    }
}

/* The picture of values at points, averaged down (or repeated) to `size` pixels, at x, y of the image. */
static void put_panel(figure *f, const float *values, float white, int x, int y, int size) {
    stage *s = f->stage;
    stage_spread(s, values, f->picture);
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++) {
            uint32_t x0 = (uint32_t)(i * (double)s->width / size), x1 = (uint32_t)((i + 1) * (double)s->width / size);
            uint32_t y0 = (uint32_t)(j * (double)s->height / size), y1 = (uint32_t)((j + 1) * (double)s->height / size);
            double sum[3] = {0}, count = 0;
            for (uint32_t v = y0; v < (y1 > y0 ? y1 : y0 + 1); v++)
                for (uint32_t u = x0; u < (x1 > x0 ? x1 : x0 + 1); u++, count++)
                    for (int c = 0; c < 3; c++) sum[c] += f->picture[3 * ((size_t)v * s->width + u) + c];
            uint8_t rgb[3];
            for (int c = 0; c < 3; c++) rgb[c] = picture_srgb((float)(sum[c] / count), white);
            put_pixel(f->image, x + i, y + j, rgb);
        }
}

/* What is seen: direct and indirect light on the surfaces. */
static void shade(figure *f, const float *indirect) {
    for (size_t i = 0; i < 3 * f->stage->point_count; i++) {
        const pelt_light_point *p = &f->stage->points[i / 3];
        f->shown[i] = p->albedo[i % 3] * (f->direct[i] + indirect[i]) + p->emission[i % 3];
    }
}

static float white_of(figure *f) {
    stage_spread(f->stage, f->shown, f->picture);
    return picture_white(&(pelt_picture){f->stage->width, f->stage->height, f->picture});
}

/* Where a place of the scene is in the picture, in fractions of its sides from the upper left. */
static bool project(const stage *s, const float place[3], double at[2]) {
    pelt_camera camera = s->scene->has_camera ? s->scene->camera : pelt_tracer_camera(s->tracer);
    double seen[3] = {0}, half = tan(camera.field_of_view / 2);
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++) seen[a] += (place[c] - camera.eye[c]) * camera.axes[a][c];
    if (seen[2] >= 0) return false;
    at[0] = 0.5 - seen[0] / seen[2] / half * s->height / s->width / 2;
    at[1] = 0.5 + seen[1] / seen[2] / half / 2;
    return true;
}

/* -- Panels ------------------------------------------------------------------------------------------------------- */

static int gather_light(figure *f, const pelt_light *light, uint32_t seed) {
    relight_frame frame = {.light = *light, .samples = 1024, .seed = 0x30000000u + seed, .threads = f->args->threads};
    int code = relight_solve(f->g, &frame);
    if (code) return code;
    pelt_gather_options options = {
        .samples = FULL_SAMPLES, .bounces = f->stage->bounces, .seed = 0x3F000000u + seed, .threads = f->args->threads};
    relight_fill(f->g, f->args->threads, f->keys);
    pelt_gather(f->stage->tracer, f->stage->points, f->stage->point_count, &options, NULL, f->full);
    options.samples = 16;
    pelt_gather(f->stage->tracer, f->stage->points, f->stage->point_count, &options, f->direct, NULL);
    return CLI_DONE;
}

static void put_plan(figure *f, const relight_about *about) {
    static const uint8_t green[3] = {60, 220, 60}, paper[3] = {255, 255, 255};
    int size = PLAN;
    double at[2];
    put_panel(f, f->shown, 1.6f * white_of(f), 0, 0, size);
    for (uint32_t i = 0; i < f->g->keys->key_count; i++)
        if (project(f->stage, f->g->points[i].position, at)) put_dot(f->image, at[0] * size, at[1] * size, paper);
    for (uint32_t i = 0; i < about->grid.columns * about->grid.rows; i++) {
        pelt_light light = grid_light(f->stage, &about->grid, i);
        if (project(f->stage, light.position, at)) put_dot(f->image, at[0] * size, at[1] * size, green);
    }
}

static int put_novel(figure *f, const relight_about *about, int index) {
    pelt_light light = grid_light_at(f->stage, &about->grid, places[index][0], places[index][1]);
    int x = PLAN + GAP + index * (PANEL + GAP), code = gather_light(f, &light, (uint32_t)index);
    if (code) return code;
    shade(f, f->keys);
    float white = white_of(f);
    put_panel(f, f->shown, white, x, PANEL + GAP, PANEL);
    if (index == 1) put_plan(f, about);
    shade(f, f->full);
    put_panel(f, f->shown, white, x, 0, PANEL);
    for (size_t i = 0; i < 3 * f->stage->point_count; i++)
        f->shown[i] = 10 * fabsf(f->full[i] - f->keys[i]) * f->stage->points[i / 3].albedo[i % 3];
    put_panel(f, f->shown, white, x, 2 * (PANEL + GAP), PANEL);
    return CLI_DONE;
}

int relight_figure(const cli_args *args, relight_gatherer *g, const relight_about *about, const char *path) {
    stage *s = g->stage;
    pelt_error error;
    figure f = {.args = args, .g = g, .stage = s};
    float **buffers[] = {&f.direct, &f.full, &f.keys, &f.shown};
    for (int i = 0; i < 4; i++)
        if (!(*buffers[i] = PELT_NEW(s->arena, 3 * s->point_count, float))) return cli_fail("not enough memory");
    f.picture = PELT_NEW(s->arena, 3 * (size_t)s->width * s->height, float);
    f.image = pelt_image_new(PLAN + NOVEL * (PANEL + GAP), PLAN);
    if (!f.picture || !f.image) return cli_fail("not enough memory");
    memset(f.image->rgba, 255, 4 * (size_t)f.image->width * f.image->height);
    int code = CLI_DONE;
    for (int i = 0; i < NOVEL && !code; i++) code = put_novel(&f, about, i);
    if (!code && picture_write_image(path, f.image, &error)) code = cli_error(&error);
    pelt_image_free(f.image);
    if (!code)
        cli_say(args, "%s: training lights (green), keys (white); full gather, keys, ten times the difference\n", path);
    return code;
}
