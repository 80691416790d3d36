/* view.h: a scene, what its camera sees, and the light that moves in it. Every pixel that sees something is a point. */

#ifndef PELT_LIGHT_VIEW_H
#define PELT_LIGHT_VIEW_H

#include "light/light.h"

/* Lights in a plane of the scene: `columns` x `rows` places between two corners, 1 to 1000 each. */
typedef struct pelt_light_grid {
    uint32_t columns, rows;
    float low[3], high[3];
} pelt_light_grid;

typedef struct pelt_light_view {
    const char *name;
    pelt_scene *scene;
    pelt_tracer *tracer;
    uint32_t width, height; /* pixels */
    uint32_t bounces;
    size_t point_count;       /* pixels that see something */
    pelt_light_point *points; /* [point_count] their ids are their pixels */
    pelt_camera camera;       /* the scene's own, or one in front of it */
    pelt_light light;         /* white, of intensity 1; only its place changes in training */
    pelt_arena *arena;        /* what belongs to the view goes here */
} pelt_light_view;

/* Opens "cornell" or a glTF file (its name must outlive the view), for a picture of 1 to 8192 pixels a side and paths
   of 1 to 100 reflections. Close it in any case. */
pelt_result pelt_light_view_open(pelt_light_view *view, const char *name, uint32_t width, uint32_t height,
                                 uint32_t bounces, pelt_error *error);
void pelt_light_view_close(pelt_light_view *view);

/* Values at points as a picture of all pixels, [height][width][3]; the others are 0. */
void pelt_light_view_spread(const pelt_light_view *view, const float *values, float *picture);

/* 12 x 12 lights in a plane under the ceiling, away from the walls. */
pelt_light_grid pelt_light_grid_default(const pelt_light_view *view);
pelt_result pelt_light_grid_check(const pelt_light_grid *grid, pelt_error *error);
/* The i-th light of a grid. */
pelt_light pelt_light_grid_light(const pelt_light_view *view, const pelt_light_grid *grid, uint32_t index);
/* A light in the grid's plane, at fractions of its sides. */
pelt_light pelt_light_grid_at(const pelt_light_view *view, const pelt_light_grid *grid, double u, double v);

/* A light turned into another kind at its place, of about the same power: a point, a spot or an area that shine
   downwards. */
void pelt_light_set_kind(const pelt_light_view *view, pelt_light_kind kind, pelt_light *light);

#endif
