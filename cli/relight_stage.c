/* relight_stage.c: the scene of `pelt relight`, its points and its lights. */

#include "cli/relight.h"
#include "io/gltf_light.h"
#include <math.h>
#include <string.h>

/* The light of training: the scene's first point or spot, taken out of it; a point light where it has none. */
static void take_light(stage *s) {
    pelt_scene *scene = s->scene;
    s->light = (pelt_light){.kind = PELT_LIGHT_POINT};
    for (uint32_t i = 0; i < scene->light_count; i++) {
        if (scene->lights[i].kind != PELT_LIGHT_POINT && scene->lights[i].kind != PELT_LIGHT_SPOT) continue;
        s->light = scene->lights[i];
        memmove(scene->lights + i, scene->lights + i + 1, (scene->light_count - i - 1) * sizeof *scene->lights);
        scene->light_count--;
        break;
    }
    s->light.intensity = 1;
    for (int c = 0; c < 3; c++) s->light.color[c] = 1;
}

static int look(stage *s) {
    size_t pixels = (size_t)s->width * s->height;
    pelt_camera camera = s->scene->has_camera ? s->scene->camera : pelt_tracer_camera(s->tracer);
    s->points = PELT_NEW(s->arena, pixels, pelt_light_point);
    if (!s->points) return cli_fail("%s: not enough memory for %zu points", s->name, pixels);
    pelt_tracer_view(s->tracer, &camera, s->width, s->height, s->points);
    for (size_t i = 0; i < pixels; i++)
        if (s->points[i].hit) s->points[s->point_count++] = s->points[i];
    if (s->point_count) return CLI_DONE;
    return cli_fail("%s: the camera sees nothing of the scene; turn it towards the scene", s->name);
}

bool stage_open(stage *s, const char *name, uint32_t width, uint32_t height, uint32_t bounces) {
    pelt_error error;
    *s = (stage){.name = name, .width = width, .height = height, .bounces = bounces, .arena = pelt_arena_new(0)};
    if (!s->arena) return cli_fail("not enough memory"), false;
    s->scene = strcmp(name, "cornell") ? pelt_light_scene_read(name, &error) : pelt_cornell_box(&error);
    if (!s->scene) return cli_error(&error), false;
    take_light(s);
    s->tracer = pelt_tracer_new(s->scene, &error);
    if (!s->tracer) return cli_error(&error), false;
    return look(s) == CLI_DONE;
}

void stage_close(stage *s) {
    pelt_tracer_free(s->tracer);
    pelt_scene_free(s->scene);
    pelt_arena_free(s->arena);
}

/* -- Lights ------------------------------------------------------------------------------------------------------- */

/* Where lights hang when nothing is said: a plane under the ceiling, away from the walls. */
static const float PLANE_HEIGHT = 0.85f, PLANE_INSET = 0.12f;

static void default_plane(const stage *s, light_grid *grid) {
    pelt_extent e = pelt_tracer_extent(s->tracer);
    for (int c = 0; c < 3; c++) {
        float size = e.high[c] - e.low[c];
        grid->low[c] = e.low[c] + (c == 1 ? PLANE_HEIGHT : PLANE_INSET) * size;
        grid->high[c] = e.low[c] + (c == 1 ? PLANE_HEIGHT : 1 - PLANE_INSET) * size;
    }
}

bool grid_parse(const stage *s, const char *text, light_grid *grid) {
    int taken = 0, more = 0;
    default_plane(s, grid);
    bool good = sscanf(text, "%ux%u%n", &grid->columns, &grid->rows, &taken) == 2;
    if (good && text[taken] == '@') {
        float *a = grid->low, *b = grid->high;
        good = sscanf(text + taken, "@%f,%f,%f:%f,%f,%f%n", a, a + 1, a + 2, b, b + 1, b + 2, &more) == 6;
        taken += more;
    }
    for (int c = 0; c < 3; c++) good = good && isfinite(grid->low[c]) && isfinite(grid->high[c]);
    if (!good || text[taken] || !grid->columns || !grid->rows || grid->columns > 1000 || grid->rows > 1000)
        return cli_fail("--lights %s: a grid such as 12x12 or 12x12@x,y,z:x,y,z is meant", text), false;
    return true;
}

/* Columns go along the longest side of the plane, rows along the next. */
pelt_light grid_light_at(const stage *s, const light_grid *grid, double u, double v) {
    pelt_light light = s->light;
    int longest = 0, shortest = 0;
    float size[3];
    for (int c = 0; c < 3; c++) size[c] = fabsf(grid->high[c] - grid->low[c]);
    for (int c = 1; c < 3; c++) {
        if (size[c] > size[longest]) longest = c;
        if (size[c] < size[shortest]) shortest = c;
    }
    if (longest == shortest) shortest = 1, longest = 0;
    for (int c = 0; c < 3; c++) {
        double at = c == longest ? u : c == shortest ? 0.5 : v;
        light.position[c] = grid->low[c] + (float)at * (grid->high[c] - grid->low[c]);
    }
    return light;
}

pelt_light grid_light(const stage *s, const light_grid *grid, uint32_t index) {
    uint32_t column = index % grid->columns, row = index / grid->columns;
    double u = grid->columns > 1 ? column / (grid->columns - 1.0) : 0.5;
    double v = grid->rows > 1 ? row / (grid->rows - 1.0) : 0.5;
    return grid_light_at(s, grid, u, v);
}

void stage_spread(const stage *s, const float *values, float *picture) {
    memset(picture, 0, 3 * (size_t)s->width * s->height * sizeof *picture);
    for (size_t i = 0; i < s->point_count; i++)
        memcpy(picture + 3 * (size_t)s->points[i].id, values + 3 * i, 3 * sizeof *picture);
}

bool relight_size(const cli_args *args, uint32_t size[2]) {
    const char *text = cli_value(args, "size");
    int taken = 0;
    if (!text) return true;
    if (sscanf(text, "%ux%u%n", &size[0], &size[1], &taken) == 2 && !text[taken] && size[0] && size[1] &&
        size[0] <= 8192 && size[1] <= 8192)
        return true;
    cli_misuse(args, "--size %s: width x height such as 400x400 is meant, at most 8192 each", text);
    return false;
}
