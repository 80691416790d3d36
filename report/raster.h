/* raster.h: shared by camera.c (where the eye is), raster.c (which triangle it sees where) and shade.c (its colour). */

#ifndef PELT_RASTER_H
#define PELT_RASTER_H

#include "report/report.h"
#include <math.h>

/* Axes of the picture in model space; `back` points from the scene to the eye. */
typedef struct camera {
    double right[3], up[3], back[3], eye[3];
    double focal;                   /* pixels per unit of tangent */
    double half_width, half_height; /* of the picture, pixels */
    double radius;                  /* of the framed sphere: the scale of near and far */
} camera;

/* False when the view shows nothing: no radius, or values that are not finite. */
bool camera_make(const pelt_view *view, uint32_t width, uint32_t height, camera *out);

/* x and y in pixels, and z. False for a point that is behind the eye, or too close to it, or not finite. */
bool camera_project(const camera *camera, const float *point, double out[3]);

typedef struct scene {
    camera camera;
    const pelt_mesh *mesh;
    pelt_look look; /* with positions and normals */
    float *screen;  /* [vertex_count][3]: x and y in pixels, and 1/z; 1/z is 0 for a vertex that cannot be drawn */
} scene;

/* A point of the surface in camera space: x right, y up, z towards the eye, which is at 0. */
typedef struct surface {
    float position[3], normal[3];
    float color[3];
    float heat;
    bool front; /* the outside of the surface is visible */
} surface;

/* The surface of a triangle at a point of the picture. */
surface scene_surface(const scene *scene, uint32_t triangle, double x, double y);

/* Linear-light colour of a surface; openness 0 to 1 is how much of the surroundings it sees. */
void shade_surface(const surface *at, bool heat, float openness, float rgb[3]);

/* Openness of each pixel, in the arena. seen[height][width] is 1 + the triangle at the centre of a pixel, or 0. */
const float *shade_openness(pelt_arena *arena, const scene *scene, const uint32_t *seen, uint32_t width,
                            uint32_t height);

/* sRGB byte of a linear value. */
uint8_t shade_encode(float linear);

static inline bool finite3(const float *p) { return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); }

#endif
