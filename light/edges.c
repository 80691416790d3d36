/* edges.c: which surfaces cross a pixel. */

#include "light/edges.h"
#include "light/rays.h"
#include "light/tracer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)EDGE_PARTS == (int)LANES, "the parts of a pixel are one packet");

bool pelt_light_coplanar(const pelt_light_view *view, const pelt_light_point *a, const pelt_light_point *b) {
    float size = view->tracer->extent.diagonal;
    return v3_dot(v3_of(a->normal), v3_of(b->normal)) >= 0.999f &&
           fabsf(v3_dot(v3_of(a->normal), v3_sub(v3_of(b->position), v3_of(a->position)))) <= 1e-3f * size;
}

static bool looks_alike(const pelt_light_view *view, const pelt_light_point *a, const pelt_light_point *b) {
    return pelt_light_coplanar(view, a, b) && !memcmp(a->albedo, b->albedo, sizeof a->albedo) &&
           !memcmp(a->emission, b->emission, sizeof a->emission);
}

/* The nine pixels around a pixel; outside of the picture is the nearest inside. */
static void look_around(const pelt_light_view *view, const uint32_t *points, uint32_t pixel, uint32_t around[9]) {
    int64_t x = pixel % view->width, y = pixel / view->width;
    for (int k = 0; k < 9; k++) {
        int64_t column = x + k % 3 - 1, row = y + k / 3 - 1;
        column = column < 0 ? 0 : column >= view->width ? view->width - 1 : column;
        row = row < 0 ? 0 : row >= view->height ? view->height - 1 : row;
        around[k] = points[row * view->width + column];
    }
}

static bool is_edge(const pelt_light_view *view, const uint32_t around[9]) {
    for (int k = 1; k < 9; k += 2) {
        if ((around[k] == NO_POINT) != (around[4] == NO_POINT)) return true;
        if (around[k] == NO_POINT || around[k] == around[4]) continue;
        if (!looks_alike(view, &view->pixels[around[4]], &view->pixels[around[k]])) return true;
    }
    return false;
}

/* The pixel around it that looks like a part of it: itself, then those at its sides, then those at its corners. */
static int find_alike(const pelt_light_view *view, const pelt_light_point *part, const uint32_t around[9]) {
    static const int order[9] = {4, 1, 3, 5, 7, 0, 2, 6, 8};
    for (int i = 0; i < 9; i++) {
        uint32_t other = around[order[i]];
        if (!part->hit ? other == NO_POINT : other != NO_POINT && looks_alike(view, part, &view->pixels[other]))
            return order[i];
    }
    return 4;
}

static void look_inside(const pelt_light_view *view, pelt_light_edge *edge) {
    pelt_light_point parts[EDGE_PARTS];
    size_t pixels[EDGE_PARTS], x = edge->pixel % view->width, y = edge->pixel / view->width;
    for (size_t i = 0; i < EDGE_PARTS; i++)
        pixels[i] = (EDGE_SIDE * y + i / EDGE_SIDE) * EDGE_SIDE * view->width + EDGE_SIDE * x + i % EDGE_SIDE;
    pelt_tracer_look(view->tracer, &view->camera, EDGE_SIDE * view->width, EDGE_SIDE * view->height, pixels, EDGE_PARTS,
                     parts);
    for (int i = 0; i < EDGE_PARTS; i++) edge->weights[find_alike(view, &parts[i], edge->points)]++;
}

pelt_result pelt_light_edges_find(const pelt_light_view *view, const uint32_t *points, pelt_light_edges *edges,
                                  pelt_error *error) {
    size_t room = 0;
    *edges = (pelt_light_edges){0};
    for (uint32_t pixel = 0; pixel < view->width * view->height; pixel++) {
        pelt_light_edge edge = {.pixel = pixel};
        look_around(view, points, pixel, edge.points);
        if (!is_edge(view, edge.points)) continue;
        if (edges->count == room) {
            pelt_light_edge *grown = realloc(edges->list, (room = 2 * room + 1024) * sizeof *grown);
            if (!grown) return free(edges->list), *edges = (pelt_light_edges){0}, pelt_no_memory(error);
            edges->list = grown;
        }
        look_inside(view, &edge);
        edges->list[edges->count++] = edge;
    }
    return PELT_OK;
}

void pelt_light_parts(const pelt_light_view *view, const pelt_light_point *point, float places[EDGE_PARTS][3]) {
    const pelt_camera *camera = &view->camera;
    v3 eye = {(float)camera->eye[0], (float)camera->eye[1], (float)camera->eye[2]}, normal = v3_of(point->normal);
    float far = v3_dot(v3_sub(v3_of(point->position), eye), normal);
    size_t x = point->id % view->width, y = point->id / view->width;
    for (size_t i = 0; i < EDGE_PARTS; i++) {
        size_t pixel = (EDGE_SIDE * y + i / EDGE_SIDE) * EDGE_SIDE * view->width + EDGE_SIDE * x + i % EDGE_SIDE;
        float ray[3];
        pelt_camera_direction(camera, EDGE_SIDE * view->width, EDGE_SIDE * view->height, pixel, ray);
        float towards = v3_dot(v3_of(ray), normal);
        v3 place = fabsf(towards) > 1e-6f ? v3_along(eye, v3_of(ray), far / towards) : v3_of(point->position);
        memcpy(places[i], &place, sizeof places[i]);
    }
}
