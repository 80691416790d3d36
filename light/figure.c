/* figure.c: the picture that shows what key points of light do (Meyer & Anderson, figure 5). On the left the training
   lights (green) and the keys (white); then for three new lights, from the top: the full gather, the result from the
   keys, and ten times their difference. Pictures show direct and indirect light. */

#include "light/relight.h"
#include <math.h>
#include <string.h>

enum { SMALL = 108, LARGE = 264, GAP = 4, NOVEL = 3, FULL_SAMPLES = 256 };

static const double places[NOVEL][2] = {{0.13, 0.2}, {0.55, 0.7}, {0.87, 0.36}};

typedef struct figure {
    const pelt_relight_file *file;
    pelt_light_view *view;
    pelt_relight_keys keys;
    uint32_t threads;
    int panel,
        plan; /* sides of the small panels and of the large one, which shows the picture's own pixels up to 800 */
    pelt_relight_figure *image;
    float *values;                         /* [point_count][3] */
    float *direct, *full, *filled, *shown; /* [pixels][3] */
    float *picture;                        /* [height][width][3] */
} figure;

/* -- Drawing ------------------------------------------------------------------------------------------------------- */

static void put_pixel(pelt_relight_figure *image, int x, int y, const uint8_t rgb[3]) {
    if (x < 0 || y < 0 || x >= (int)image->width || y >= (int)image->height) return;
    uint8_t *to = image->rgba + 4 * ((size_t)y * image->width + (size_t)x);
    memcpy(to, rgb, 3);
    to[3] = 255;
}

/* A dot at fractions of the plan's sides. */
static void put_dot(figure *f, const double at[2], const uint8_t rgb[3]) {
    static const uint8_t dark[3] = {20, 20, 20};
    int x = (int)floor(at[0] * f->plan), y = (int)floor(at[1] * f->plan);
    for (int pass = 0; pass < 2; pass++) {
        double radius = (pass ? 1.9 : 2.8) * f->panel / SMALL;
        int reach = (int)ceil(radius);
        for (int j = -reach; j <= reach; j++)
            for (int i = -reach; i <= reach; i++)
                if (i * i + j * j <= radius * radius) put_pixel(f->image, x + i, y + j, pass ? rgb : dark);
    }
}

/* The picture of values at points, averaged down (or repeated) to `size` pixels, at x, y of the image. */
static void put_panel(figure *f, const float *values, float white, int x, int y, int size) {
    pelt_light_view *s = f->view;
    pelt_light_spread(s->pixels, s->pixel_count, values, (size_t)s->width * s->height, f->picture);
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++) {
            uint32_t x0 = (uint32_t)(i * (double)s->width / size), x1 = (uint32_t)((i + 1) * (double)s->width / size);
            uint32_t y0 = (uint32_t)(j * (double)s->height / size), y1 = (uint32_t)((j + 1) * (double)s->height / size);
            double sum[3] = {0}, count = 0;
            for (uint32_t v = y0; v < (y1 > y0 ? y1 : y0 + 1); v++)
                for (uint32_t u = x0; u < (x1 > x0 ? x1 : x0 + 1); u++, count++)
                    for (int c = 0; c < 3; c++) sum[c] += f->picture[3 * ((size_t)v * s->width + u) + c];
            uint8_t rgb[3];
            for (int c = 0; c < 3; c++) rgb[c] = pelt_light_srgb((float)(sum[c] / count), white);
            put_pixel(f->image, x + i, y + j, rgb);
        }
}

/* Direct and indirect light on the surfaces. */
static void shade(figure *f, const float *indirect) {
    for (size_t i = 0; i < 3 * f->view->pixel_count; i++) {
        const pelt_light_point *p = &f->view->pixels[i / 3];
        f->shown[i] = p->albedo[i % 3] * (f->direct[i] + indirect[i]) + p->emission[i % 3];
    }
}

static float white_of(figure *f) {
    const pelt_light_view *s = f->view;
    pelt_light_spread(s->pixels, s->pixel_count, f->shown, (size_t)s->width * s->height, f->picture);
    return pelt_light_white(f->picture, (size_t)f->view->width * f->view->height);
}

/* Projects a point of the scene to the picture, in fractions of its sides from the top left; false if outside. */
static bool project(const pelt_light_view *s, const float place[3], double at[2]) {
    const pelt_camera *camera = &s->camera;
    double seen[3] = {0}, half = tan(camera->field_of_view / 2);
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++) seen[a] += (place[c] - camera->eye[c]) * camera->axes[a][c];
    if (seen[2] >= 0) return false;
    at[0] = 0.5 - seen[0] / seen[2] / half * s->height / s->width / 2;
    at[1] = 0.5 + seen[1] / seen[2] / half / 2;
    return at[0] > 0 && at[0] < 1 && at[1] > 0 && at[1] < 1;
}

/* Whether a point's lit side faces the camera. */
static bool faces_camera(const pelt_light_view *s, const pelt_light_point *point) {
    double towards = 0;
    for (int c = 0; c < 3; c++) towards += (s->camera.eye[c] - point->position[c]) * point->normal[c];
    return towards > 0;
}

/* -- Panels ------------------------------------------------------------------------------------------------------- */

static pelt_result gather_light(figure *f, const pelt_light *light, uint32_t seed, pelt_error *error) {
    pelt_light_view *view = f->view;
    pelt_light_place place = pelt_relight_random_place(view, 500 + seed);
    pelt_relight_frame frame = {.light = *light, .samples = 1024, .seed = 0x30000000u + seed, .threads = f->threads};
    pelt_gather_options options = {
        .samples = FULL_SAMPLES, .bounces = view->bounces, .seed = 0x3F000000u + seed, .threads = f->threads};
    pelt_result result = pelt_light_view_place(view, &place, error);
    if (!result) result = pelt_light_view_look(view, f->threads, error);
    if (!result) result = pelt_relight_solve(&f->keys, &frame, error);
    if (!result) result = pelt_relight_fill(&f->keys, f->threads, f->values, error);
    if (!result)
        result = pelt_gather(view->tracer, view->pixels, view->pixel_count, &options, NULL, f->full, NULL, error);
    options.samples = 16;
    if (!result)
        result = pelt_gather(view->tracer, view->pixels, view->pixel_count, &options, f->direct, NULL, NULL, error);
    if (result) return result;
    pelt_light_view_show(view, f->values, f->filled);
    for (size_t i = 0; i < 3 * view->pixel_count; i++) /* pixels without points are gathered */
        if (!pelt_light_view_knows(view, i / 3)) f->filled[i] = f->full[i];
    return PELT_OK;
}

static void put_plan(figure *f) {
    static const uint8_t green[3] = {60, 220, 60}, paper[3] = {255, 255, 255};
    const pelt_light_grid *grid = &f->file->facts.grid;
    double at[2];
    put_panel(f, f->shown, 1.6f * white_of(f), 0, 0, f->plan);
    for (uint32_t i = 0; i < f->keys.keys->key_count; i++)
        if (faces_camera(f->view, &f->keys.points[i]) && project(f->view, f->keys.points[i].position, at))
            put_dot(f, at, paper);
    for (uint32_t i = 0; i < grid->columns * grid->rows; i++) {
        pelt_light light = pelt_light_grid_light(f->view, grid, i);
        if (project(f->view, light.position, at)) put_dot(f, at, green);
    }
}

static pelt_result put_novel(figure *f, int index, pelt_error *error) {
    pelt_light light = pelt_light_grid_at(f->view, &f->file->facts.grid, places[index][0], places[index][1]);
    int panel = f->panel, x = f->plan + GAP + index * (panel + GAP);
    pelt_result result = gather_light(f, &light, (uint32_t)index, error);
    if (result) return result;
    shade(f, f->filled);
    float white = white_of(f);
    put_panel(f, f->shown, white, x, panel + GAP, panel);
    if (index == 1) put_plan(f);
    shade(f, f->full);
    put_panel(f, f->shown, white, x, 0, panel);
    for (size_t i = 0; i < 3 * f->view->pixel_count; i++)
        f->shown[i] = 10 * fabsf(f->full[i] - f->filled[i]) * f->view->pixels[i / 3].albedo[i % 3];
    put_panel(f, f->shown, white, x, 2 * (panel + GAP), panel);
    return PELT_OK;
}

pelt_result pelt_relight_draw(pelt_relight_file *file, uint32_t threads, pelt_relight_figure *image,
                              pelt_error *error) {
    pelt_light_view *view = &file->view;
    figure f = {.file = file, .view = view, .threads = threads, .image = image};
    float **buffers[] = {&f.direct, &f.full, &f.filled, &f.shown};
    size_t pixels = (size_t)view->width * view->height;
    for (int i = 0; i < 4; i++) *buffers[i] = PELT_NEW(view->arena, 3 * pixels, float);
    f.values = PELT_NEW(view->arena, 3 * view->point_count, float);
    f.picture = PELT_NEW(view->arena, 3 * pixels, float);
    f.panel = ((int)view->height - 2 * GAP) / 3;
    if (f.panel < SMALL) f.panel = SMALL;
    if (f.panel > LARGE) f.panel = LARGE;
    f.plan = 3 * f.panel + 2 * GAP;
    image->width = (uint32_t)(f.plan + NOVEL * (f.panel + GAP)), image->height = (uint32_t)f.plan;
    size_t bytes = 4 * (size_t)image->width * image->height;
    image->rgba = PELT_NEW(view->arena, bytes, uint8_t);
    pelt_result result = pelt_relight_keys_open(&f.keys, view, &file->keys, error);
    if (!result) memset(image->rgba, 255, bytes);
    for (int i = 0; i < NOVEL && !result; i++) result = put_novel(&f, i, error);
    return result;
}
