/* view.c: a scene, its points and lights, and what moves in it. */

#include "light/view.h"
#include "io/gltf_light.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The training light: the scene's first point or spot, removed from it; a point light if it has none. */
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

/* The pixels that see something; all of them if their number must not change. */
static void look(pelt_light_view *s) {
    size_t pixels = (size_t)s->width * s->height;
    bool all = s->transforms && !s->surfaces;
    pelt_tracer_view(s->tracer, &s->camera, s->width, s->height, s->pixels);
    s->pixel_count = all ? pixels : 0;
    for (size_t i = 0; i < pixels && !all; i++)
        if (s->pixels[i].hit) s->pixels[s->pixel_count++] = s->pixels[i];
    if (!s->surfaces) s->points = s->pixels, s->point_count = s->pixel_count;
}

static pelt_result prepare(pelt_light_view *s, pelt_error *error) {
    size_t numbers = 3 * (size_t)s->scene->vertex_count;
    s->camera = s->own_camera = s->scene->has_camera ? s->scene->camera : pelt_tracer_camera(s->tracer);
    s->map_width = s->width, s->map_height = s->height;
    s->pixels = PELT_NEW(s->arena, (size_t)s->width * s->height, pelt_light_point);
    s->rest = PELT_NEW(s->arena, numbers, float);
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    memcpy(s->rest, s->scene->positions, numbers * sizeof *s->rest);
    look(s);
    if (s->pixel_count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA, "%s: the camera sees nothing of the scene; point it at the scene",
                     s->name);
}

pelt_result pelt_light_view_open(pelt_light_view *s, const char *name, uint32_t width, uint32_t height,
                                 uint32_t bounces, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    *s = (pelt_light_view){.name = name, .width = width, .height = height, .bounces = bounces};
    if (!width || !height || width > 8192 || height > 8192)
        return pelt_fail_option(error, "size", "expected 1 to 8192 pixels per side, not %u x %u", width, height);
    if (pelt_check_range("bounces", bounces, 1, 100, error)) return PELT_ERROR_ARGUMENT;
    s->arena = pelt_arena_new(0);
    s->scene = strcmp(name, "cornell") ? pelt_light_scene_read(name, error) : pelt_cornell_box(error);
    if (!s->scene) return error->code;
    take_light(s);
    s->tracer = pelt_tracer_new(s->scene, error);
    return s->tracer ? prepare(s, error) : error->code;
}

void pelt_light_view_close(pelt_light_view *s) {
    pelt_tracer_free(s->tracer);
    pelt_scene_free(s->scene);
    pelt_arena_free(s->arena);
}

void pelt_light_spread(const pelt_light_point *points, size_t count, const float *values, size_t pixel_count,
                       float *picture) {
    memset(picture, 0, 3 * pixel_count * sizeof *picture);
    for (size_t i = 0; i < count; i++) memcpy(picture + 3 * (size_t)points[i].id, values + 3 * i, 3 * sizeof *picture);
}

/* -- What moves ---------------------------------------------------------------------------------------------------- */

static bool is_camera(const pelt_light_move *move) { return !strcmp(move->name, "camera"); }

/* Whether an object or one of its ancestors is moved by that name. */
static bool hangs_on(const pelt_scene *scene, uint32_t object, const char *name) {
    for (int32_t i = (int32_t)object; i >= 0; i = scene->object_parents[i])
        if (!strcmp(scene->object_names[i], name)) return true;
    return false;
}

/* The centre of the bounding box of what a name moves; false if that is nothing. */
static bool middle_of(const pelt_light_view *s, const char *name, double middle[3]) {
    const pelt_scene *scene = s->scene;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t v = 0; scene->vertex_objects && v < scene->vertex_count; v++) {
        if (!hangs_on(scene, scene->vertex_objects[v], name)) continue;
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], s->rest[3 * v + c]);
            high[c] = fmax(high[c], s->rest[3 * v + c]);
        }
    }
    for (int c = 0; c < 3; c++) middle[c] = (low[c] + high[c]) / 2;
    return low[0] <= high[0];
}

/* Rotates around the vertical through `middle`, then translates. */
static pelt_affine move_map(const float at[4], const double middle[3]) {
    double angle = at[3] * M_PI / 180, c = cos(angle), n = sin(angle);
    double x = middle[0] - c * middle[0] - n * middle[2], z = middle[2] + n * middle[0] - c * middle[2];
    return (pelt_affine){{c, 0, n, x + at[0], 0, 1, 0, at[1], -n, 0, c, z + at[2]}};
}

static void move_object(pelt_light_view *s, const pelt_light_move *move, const float at[4]) {
    double middle[3];
    if (!middle_of(s, move->name, middle)) return;
    pelt_affine map = move_map(at, middle);
    for (uint32_t i = 0; i < s->scene->object_count; i++)
        if (hangs_on(s->scene, i, move->name)) s->transforms[i] = pelt_affine_multiply(&map, &s->transforms[i]);
}

/* The camera rotates around its eye. */
static void move_camera(pelt_light_view *s, const float at[4]) {
    pelt_affine turn = move_map((const float[4]){0, 0, 0, at[3]}, (const double[3]){0, 0, 0});
    s->camera = s->own_camera;
    for (int k = 0; k < 3; k++) {
        pelt_affine_point(&turn, s->own_camera.axes[k], s->camera.axes[k]);
        s->camera.eye[k] += at[k];
    }
}

/* Moves vertices with their objects. False if nothing changed. */
static bool move_vertices(pelt_light_view *s) {
    bool changed = false;
    for (size_t v = 0; v < s->scene->vertex_count; v++) {
        uint32_t object = s->scene->vertex_objects ? s->scene->vertex_objects[v] : 0;
        const float *rest = s->rest + 3 * v;
        float *to = s->scene->positions + 3 * v;
        double out[3];
        pelt_affine_point(&s->transforms[object], (double[3]){rest[0], rest[1], rest[2]}, out);
        for (int c = 0; c < 3; c++) {
            changed |= to[c] != (float)out[c];
            to[c] = (float)out[c];
        }
    }
    return changed;
}

pelt_result pelt_light_view_place(pelt_light_view *s, const pelt_light_place *place, pelt_error *error) {
    if (!s->transforms) return PELT_OK;
    for (uint32_t i = 0; i < (s->scene->object_count ? s->scene->object_count : 1); i++)
        s->transforms[i] = pelt_identity;
    for (uint32_t i = 0; i < s->arrangement.move_count; i++) {
        const pelt_light_move *move = &s->arrangement.moves[i];
        for (int c = 0; c < 4; c++)
            if (!isfinite(place->at[i][c]))
                return pelt_fail_option(error, "move", "the position of %s is not finite", move->name);
        if (is_camera(move))
            move_camera(s, place->at[i]);
        else
            move_object(s, move, place->at[i]);
    }
    if (move_vertices(s)) {
        pelt_tracer *moved = pelt_tracer_new(s->scene, error);
        if (!moved) return error ? error->code : PELT_ERROR_DATA;
        pelt_tracer_free(s->tracer);
        s->tracer = moved;
    }
    if (s->surfaces)
        pelt_light_surfaces_move(s->surfaces, s->transforms, s->points);
    else
        look(s);
    return PELT_OK;
}

pelt_result pelt_light_view_look(pelt_light_view *s, uint32_t threads, pelt_error *error) {
    if (!s->surfaces) return PELT_OK;
    look(s);
    return pelt_light_surfaces_mix(s->surfaces, s->tracer, s->points, s->pixels, s->pixel_count, threads, s->mixes,
                                   error);
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

static pelt_result check_move(const pelt_light_view *s, uint32_t index, pelt_error *error) {
    const pelt_light_move *move = &s->arrangement.moves[index];
    double middle[3];
    for (uint32_t i = 0; i < index; i++)
        if (!strcmp(s->arrangement.moves[i].name, move->name))
            return pelt_fail_option(error, "move", "%s is moved twice; move it only once", move->name);
    for (int c = 0; c < 8; c++)
        if (!isfinite(move->ends[c / 4][c % 4]))
            return pelt_fail_option(error, "move", "a number of %s is not finite", move->name);
    if (!move->count || move->count > 1000)
        return pelt_fail_option(error, "move", "expected 1 to 1000 positions of %s, not %u", move->name, move->count);
    if (is_camera(move) || middle_of(s, move->name, middle)) return PELT_OK;
    const pelt_scene *scene = s->scene;
    char known[200] = "";
    for (uint32_t i = 0; i < scene->object_count && strlen(known) < 100; i++)
        if (*scene->object_names[i] && middle_of(s, scene->object_names[i], middle))
            snprintf(known + strlen(known), sizeof known - strlen(known), ", %.60s", scene->object_names[i]);
    return pelt_fail_option(error, "move", "%s has no object %s; it has camera%s", s->name, move->name, known);
}

uint32_t pelt_light_place_count(const pelt_light_view *s) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < s->arrangement.move_count; i++)
        if (!s->surfaces || !is_camera(&s->arrangement.moves[i])) count *= s->arrangement.moves[i].count;
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* The first move varies fastest. Light on surfaces does not depend on the camera, which stays in the middle of its
   range unless `camera` says that its positions count too. */
static pelt_light_place place_number(const pelt_light_view *s, uint32_t index, bool camera) {
    double fractions[PELT_LIGHT_MOVES] = {0};
    for (uint32_t i = 0; i < s->arrangement.move_count; i++) {
        const pelt_light_move *move = &s->arrangement.moves[i];
        fractions[i] = 0.5;
        if (!camera && s->surfaces && is_camera(move)) continue;
        if (move->count > 1) fractions[i] = index % move->count / (move->count - 1.0);
        index /= move->count;
    }
    return pelt_light_place_at(s, fractions);
}

pelt_light_place pelt_light_place_of(const pelt_light_view *s, uint32_t index) { return place_number(s, index, false); }

pelt_light_place pelt_light_place_at(const pelt_light_view *s, const double fractions[PELT_LIGHT_MOVES]) {
    pelt_light_place place = {{{0}}};
    for (uint32_t i = 0; i < s->arrangement.move_count; i++)
        for (int c = 0; c < 4; c++) {
            const pelt_light_move *move = &s->arrangement.moves[i];
            place.at[i][c] = (float)(move->ends[0][c] + fractions[i] * ((double)move->ends[1][c] - move->ends[0][c]));
        }
    return place;
}

pelt_result pelt_light_place_check(const pelt_light_view *s, const pelt_light_place *place, pelt_error *error) {
    for (uint32_t i = 0; i < s->arrangement.move_count; i++) {
        const pelt_light_move *move = &s->arrangement.moves[i];
        const float *at = place->at[i], *from = move->ends[0], *to = move->ends[1];
        if (s->surfaces && is_camera(move)) continue;
        double along = 0, square = 0, size = pelt_tracer_extent(s->tracer).diagonal, off = 0;
        const double units[4] = {size, size, size, 180}; /* makes turns and distances comparable */
        for (int c = 0; c < 4; c++) {
            double way = (to[c] - from[c]) / units[c];
            along += way * (at[c] - from[c]) / units[c];
            square += way * way;
        }
        double t = square > 0 ? fmin(fmax(along / square, 0), 1) : 0;
        for (int c = 0; c < 4; c++) off = fmax(off, fabs(from[c] + t * (to[c] - from[c]) - at[c]) / units[c]);
        if (off > 1e-4)
            return pelt_fail_option(error, "move",
                                    "in training %s moved from %g,%g,%g,%g to %g,%g,%g,%g, and %g,%g,%g,%g is not on "
                                    "that path; train with it, or gather all points",
                                    move->name, (double)from[0], (double)from[1], (double)from[2], (double)from[3],
                                    (double)to[0], (double)to[1], (double)to[2], (double)to[3], (double)at[0],
                                    (double)at[1], (double)at[2], (double)at[3]);
    }
    return PELT_OK;
}

/* Finds what is visible from all positions of the training. */
static pelt_result see_all(pelt_light_view *s, pelt_error *error) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < s->arrangement.move_count; i++) count *= s->arrangement.moves[i].count;
    if (count > 100000)
        return pelt_fail_option(error, "move", "%llu positions exceed the limit of 100000; use fewer",
                                (unsigned long long)count);
    for (uint32_t i = 0; i < count; i++) {
        pelt_light_place place = place_number(s, i, true);
        pelt_result result = pelt_light_view_place(s, &place, error);
        if (result) return result;
        look(s);
        pelt_light_surfaces_see(s->surfaces, s->pixels, s->pixel_count);
    }
    return PELT_OK;
}

static pelt_result lay_points(pelt_light_view *s, pelt_error *error) {
    uint32_t texels = s->arrangement.texels ? s->arrangement.texels : s->width * s->height;
    if (pelt_check_range("texels", texels, 16, 1u << 26, error)) return PELT_ERROR_ARGUMENT;
    s->surfaces = pelt_light_surfaces_new(s->arena, s->scene, s->rest, error);
    if (!s->surfaces) return PELT_ERROR_MEMORY;
    if (s->arrangement.seen && !pelt_light_surfaces_set_seen(s->surfaces, s->arrangement.seen))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: the scene has changed since training", s->name);
    float lift = 1e-5f * pelt_tracer_extent(s->tracer).diagonal;
    pelt_result result = s->arrangement.seen ? PELT_OK : see_all(s, error);
    if (!result) result = pelt_light_surfaces_lay(s->surfaces, texels, lift, error);
    if (result) return result;
    s->arrangement.seen = pelt_light_surfaces_seen(s->surfaces);
    pelt_light_surfaces_map(s->surfaces, &s->map_width, &s->map_height);
    s->point_count = pelt_light_surfaces_count(s->surfaces);
    s->points = PELT_NEW(s->arena, s->point_count, pelt_light_point);
    s->mixes = PELT_NEW(s->arena, (size_t)s->width * s->height, pelt_light_mix);
    return pelt_arena_failed(s->arena) ? pelt_no_memory(error) : PELT_OK;
}

/* With points on surfaces the camera can move even if training did not move it. */
static void add_camera(pelt_light_arrangement *a) {
    for (uint32_t i = 0; i < a->move_count; i++)
        if (is_camera(&a->moves[i])) return;
    if (a->surfaces && a->move_count < PELT_LIGHT_MOVES)
        a->moves[a->move_count++] = (pelt_light_move){.name = "camera", .count = 1};
}

pelt_result pelt_light_view_arrange(pelt_light_view *s, const pelt_light_arrangement *arrangement, pelt_error *error) {
    if (!arrangement->move_count && !arrangement->surfaces) return PELT_OK;
    s->arrangement = *arrangement;
    add_camera(&s->arrangement);
    for (uint32_t i = 0; i < s->arrangement.move_count; i++) {
        pelt_result result = check_move(s, i, error);
        if (result) return result;
    }
    s->transforms = PELT_NEW(s->arena, s->scene->object_count + 1, pelt_affine);
    if (!s->transforms) return pelt_no_memory(error);
    pelt_result result = s->arrangement.surfaces ? lay_points(s, error) : PELT_OK;
    if (result) return result;
    pelt_light_place start = pelt_light_place_of(s, 0);
    result = pelt_light_view_place(s, &start, error);
    return result ? result : pelt_light_view_look(s, 0, error);
}

bool pelt_light_view_knows(const pelt_light_view *s, size_t pixel) {
    if (!s->surfaces) return true;
    const float *w = s->mixes[pixel].weights;
    return w[0] + w[1] + w[2] + w[3] > 0;
}

uint32_t pelt_light_view_pixel_of(const pelt_light_view *s, uint32_t point) {
    uint32_t best = UINT32_MAX;
    float most = 0;
    if (!s->surfaces) return s->points[point].id;
    for (size_t i = 0; i < s->pixel_count; i++)
        for (int k = 0; k < 4; k++)
            if (s->mixes[i].points[k] == point && s->mixes[i].weights[k] > most)
                most = s->mixes[i].weights[k], best = s->pixels[i].id;
    return best;
}

void pelt_light_view_show(const pelt_light_view *s, const float *values, float *shown) {
    for (size_t i = 0; i < s->pixel_count; i++)
        for (int c = 0; c < 3; c++) {
            float sum = s->surfaces ? 0 : values[3 * i + c];
            for (int k = 0; s->surfaces && k < 4; k++)
                sum += s->mixes[i].weights[k] * values[3 * (size_t)s->mixes[i].points[k] + c];
            shown[3 * i + c] = sum;
        }
}

/* -- Lights ------------------------------------------------------------------------------------------------------- */

/* The default plane of lights: under the ceiling, away from the walls. */
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
    return pelt_fail_option(error, "lights",
                            "expected a grid of 1 to 1000 columns and rows between finite corners, such as 12x12");
}

/* Columns run along the longest side of the plane, rows along the next. */
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

double pelt_light_grid_beyond(const pelt_light_grid *grid, const float at[3]) {
    const double rounding = 1e-4; /* of the grid's diagonal: places come as a few decimal digits */
    double square = 0, diagonal = 0;
    for (int c = 0; c < 3; c++) {
        double low = fmin(grid->low[c], grid->high[c]), high = fmax(grid->low[c], grid->high[c]);
        double out = fmax(fmax(low - at[c], at[c] - high), 0);
        square += out * out, diagonal += (high - low) * (high - low);
    }
    return square > rounding * rounding * diagonal ? sqrt(square) : 0;
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
