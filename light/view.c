/* view.c: a scene, its points and its lights. */

#include "light/view.h"
#include "io/gltf_light.h"
#include <math.h>
#include <string.h>

/* The light of training: the scene's first point or spot, taken out of it; a point light where it has none. */
static void take_light(pelt_light_view *s) {
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

static pelt_result look(pelt_light_view *s, pelt_error *error) {
    size_t pixels = (size_t)s->width * s->height;
    s->camera = s->scene->has_camera ? s->scene->camera : pelt_tracer_camera(s->tracer);
    s->points = PELT_NEW(s->arena, pixels, pelt_light_point);
    if (!s->points) return pelt_no_memory(error);
    pelt_tracer_view(s->tracer, &s->camera, s->width, s->height, s->points);
    for (size_t i = 0; i < pixels; i++)
        if (s->points[i].hit) s->points[s->point_count++] = s->points[i];
    if (s->point_count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA, "%s: the camera sees nothing of the scene; turn it towards the scene",
                     s->name);
}

pelt_result pelt_light_view_open(pelt_light_view *s, const char *name, uint32_t width, uint32_t height,
                                 uint32_t bounces, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    *s = (pelt_light_view){.name = name, .width = width, .height = height, .bounces = bounces};
    if (!width || !height || width > 8192 || height > 8192)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "size: 1 to 8192 pixels a side are meant, not %u x %u", width,
                         height);
    if (!bounces || bounces > 100)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "bounces: 1 to 100 are meant, not %u", bounces);
    s->arena = pelt_arena_new(0);
    s->scene = strcmp(name, "cornell") ? pelt_light_scene_read(name, error) : pelt_cornell_box(error);
    if (!s->scene) return error->code;
    take_light(s);
    s->tracer = pelt_tracer_new(s->scene, error);
    return s->tracer ? look(s, error) : error->code;
}

void pelt_light_view_close(pelt_light_view *s) {
    pelt_tracer_free(s->tracer);
    pelt_scene_free(s->scene);
    pelt_arena_free(s->arena);
}

void pelt_light_view_spread(const pelt_light_view *s, const float *values, float *picture) {
    memset(picture, 0, 3 * (size_t)s->width * s->height * sizeof *picture);
    for (size_t i = 0; i < s->point_count; i++)
        memcpy(picture + 3 * (size_t)s->points[i].id, values + 3 * i, 3 * sizeof *picture);
}

/* -- Lights ------------------------------------------------------------------------------------------------------- */

/* Where lights hang when nothing is said: a plane under the ceiling, away from the walls. */
static const float PLANE_HEIGHT = 0.85f, PLANE_INSET = 0.12f;

pelt_light_grid pelt_light_grid_default(const pelt_light_view *s) {
    pelt_extent e = pelt_tracer_extent(s->tracer);
    pelt_light_grid grid = {.columns = 12, .rows = 12};
    for (int c = 0; c < 3; c++) {
        float size = e.high[c] - e.low[c];
        grid.low[c] = e.low[c] + (c == 1 ? PLANE_HEIGHT : PLANE_INSET) * size;
        grid.high[c] = e.low[c] + (c == 1 ? PLANE_HEIGHT : 1 - PLANE_INSET) * size;
    }
    return grid;
}

pelt_result pelt_light_grid_check(const pelt_light_grid *grid, pelt_error *error) {
    bool finite = true;
    for (int c = 0; c < 3; c++) finite = finite && isfinite(grid->low[c]) && isfinite(grid->high[c]);
    if (finite && grid->columns && grid->rows && grid->columns <= 1000 && grid->rows <= 1000) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT,
                     "lights: a grid of 1 to 1000 columns and rows between finite corners is meant, such as 12x12");
}

/* Columns go along the longest side of the plane, rows along the next. */
pelt_light pelt_light_grid_at(const pelt_light_view *s, const pelt_light_grid *grid, double u, double v) {
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

pelt_light pelt_light_grid_light(const pelt_light_view *s, const pelt_light_grid *grid, uint32_t index) {
    uint32_t column = index % grid->columns, row = index / grid->columns;
    double u = grid->columns > 1 ? column / (grid->columns - 1.0) : 0.5;
    double v = grid->rows > 1 ? row / (grid->rows - 1.0) : 0.5;
    return pelt_light_grid_at(s, grid, u, v);
}

void pelt_light_set_kind(const pelt_light_view *s, pelt_light_kind kind, pelt_light *light) {
    float side = 0.1f * pelt_tracer_extent(s->tracer).diagonal;
    light->kind = kind;
    if (kind == PELT_LIGHT_SPOT) {
        light->inner_cone = 0.4f, light->outer_cone = 0.7f;
        light->direction[0] = light->direction[2] = 0, light->direction[1] = -1;
        light->intensity *= 8; /* a sphere holds about 8 such cones */
    } else if (kind == PELT_LIGHT_AREA) {
        memset(light->edges, 0, sizeof light->edges);
        light->edges[0][0] = side, light->edges[1][2] = side; /* x cross z: downwards */
        light->position[0] -= side / 2, light->position[2] -= side / 2;
        light->intensity *= 4 / (side * side); /* pi area radiance = 4 pi intensity */
    }
}
