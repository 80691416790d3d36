/* view.h: a scene, what its camera sees, what moves in it, and the points at which its light is computed.

   Points are the pixels that see something, as in Meyer & Anderson; if the camera or objects move, they are on surfaces
   instead (surface.h), and pixels are mixed from them. */

#ifndef PELT_LIGHT_VIEW_H
#define PELT_LIGHT_VIEW_H

#include "light/surface.h"

/* Lights in a plane of the scene: `columns` x `rows` positions between two corners, 1 to 1000 each. */
typedef struct pelt_light_grid {
    uint32_t columns, rows;
    float low[3], high[3];
} pelt_light_grid;

/* -- What moves ---------------------------------------------------------------------------------------------------- */

enum { PELT_LIGHT_MOVES = 4 };

/* The camera, or an object with its children, moves in a straight line from one end to the other: offsets x, y, z from
   its position in the scene, and a rotation around its own vertical in degrees. */
typedef struct pelt_light_move {
    char name[128]; /* "camera", or the object's */
    uint32_t count; /* positions along the path in training, 1 to 1000 */
    float ends[2][4];
} pelt_light_move;

/* Where everything that moves is: an offset per move. */
typedef struct pelt_light_place {
    float at[PELT_LIGHT_MOVES][4];
} pelt_light_place;

/* What a training covers besides lights. */
typedef struct pelt_light_arrangement {
    uint32_t move_count;
    pelt_light_move moves[PELT_LIGHT_MOVES];
    bool surfaces;    /* points are on surfaces; otherwise they are pixels, as in the paper */
    uint32_t texels;  /* approximate number of points on surfaces, 16 to 2^26; 0: as many as pixels */
    const char *seen; /* which surfaces; NULL: those that the camera sees from any position of the training */
} pelt_light_arrangement;

typedef struct pelt_light_view {
    const char *name;
    pelt_scene *scene;
    pelt_tracer *tracer;
    uint32_t width, height; /* pixels */
    uint32_t bounces;
    size_t pixel_count;       /* pixels that see something; if pixels are points and something moves: all */
    pelt_light_point *pixels; /* [pixel_count] their ids are their pixels */
    size_t point_count;
    pelt_light_point *points;       /* [point_count] the pixels, or on surfaces; ids are pixels of the map */
    uint32_t map_width, map_height; /* of the picture that stores the points */
    pelt_camera camera;             /* where it is now */
    pelt_camera own_camera;         /* the scene's own, or one in front of it */
    pelt_light light;               /* white, of intensity 1; only its position changes in training */
    pelt_light_arrangement arrangement;
    pelt_light_surfaces *surfaces; /* NULL: points are pixels */
    pelt_light_mix *mixes;         /* [pixel_count] pixels from points on surfaces */
    float *rest;                   /* [vertex_count][3] the scene before anything moves */
    pelt_affine *transforms;       /* [object_count] motion of objects; NULL: nothing moves */
    pelt_arena *arena;             /* owns what belongs to the view */
} pelt_light_view;

/* Opens "cornell" or a glTF file (its name must outlive the view), for a picture of 1 to 8192 pixels per side and paths
   of 1 to 100 reflections. Close it in any case. */
pelt_result pelt_light_view_open(pelt_light_view *view, const char *name, uint32_t width, uint32_t height,
                                 uint32_t bounces, pelt_error *error);
void pelt_light_view_close(pelt_light_view *view);

/* Sets what moves, and chooses the points accordingly. Once, after opening; without it nothing moves. */
pelt_result pelt_light_view_arrange(pelt_light_view *view, const pelt_light_arrangement *arrangement,
                                    pelt_error *error);
/* Moves everything to its place; if objects moved, the light must be set again. If pixels are points, they are traced
   again. */
pelt_result pelt_light_view_place(pelt_light_view *view, const pelt_light_place *place, pelt_error *error);
/* What the camera sees from its current position, mixed from points on surfaces. */
pelt_result pelt_light_view_look(pelt_light_view *view, uint32_t threads, pelt_error *error);

/* The number of places of a training, and the i-th of them. */
uint32_t pelt_light_place_count(const pelt_light_view *view);
pelt_light_place pelt_light_place_of(const pelt_light_view *view, uint32_t index);
/* At fractions of the paths. */
pelt_light_place pelt_light_place_at(const pelt_light_view *view, const double fractions[PELT_LIGHT_MOVES]);
/* Fails if something is off its training path. The camera is free if points are on surfaces. */
pelt_result pelt_light_place_check(const pelt_light_view *view, const pelt_light_place *place, pelt_error *error);

/* Values at points [point_count][3] as values at pixels [pixel_count][3]; pixels without points are 0. */
void pelt_light_view_show(const pelt_light_view *view, const float *values, float *shown);
/* Whether a pixel has points. */
bool pelt_light_view_knows(const pelt_light_view *view, size_t pixel);

/* Where a point is in the picture: the pixel that it contributes to most; UINT32_MAX: not visible from here. */
uint32_t pelt_light_view_pixel_of(const pelt_light_view *view, uint32_t point);

/* Values at points or pixels as a picture [pixel_count][3], by id; the others are 0. */
void pelt_light_spread(const pelt_light_point *points, size_t count, const float *values, size_t pixel_count,
                       float *picture);

/* -- Lights -------------------------------------------------------------------------------------------------------- */

/* 12 x 12 lights in a plane under the ceiling, away from the walls. */
pelt_light_grid pelt_light_grid_default(const pelt_light_view *view);
pelt_result pelt_light_grid_check(const pelt_light_grid *grid, pelt_error *error);
/* The i-th light of a grid. */
pelt_light pelt_light_grid_light(const pelt_light_view *view, const pelt_light_grid *grid, uint32_t index);
/* A light in the grid's plane, at fractions of its sides. */
pelt_light pelt_light_grid_at(const pelt_light_view *view, const pelt_light_grid *grid, double u, double v);
/* How far a place is from the box between the grid's corners; 0 inside, up to rounding. Key points can fit a light that
   they have learned nothing about, so this is asked besides their misfit. */
double pelt_light_grid_beyond(const pelt_light_grid *grid, const float at[3]);

/* A light converted to another kind at its position, with about the same power: a point, or a spot or area that shines
   downwards. */
void pelt_light_set_kind(const pelt_light_view *view, pelt_light_kind kind, pelt_light *light);

#endif
