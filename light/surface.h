/* surface.h: points on the surfaces of a scene instead of in a picture ("the illumination data can easily be stored in
   a ... texture map to accommodate moving cameras and geometry", Meyer & Anderson 2007, section 8). They stay in place
   when the camera moves, and move with their object. */

#ifndef PELT_LIGHT_SURFACE_H
#define PELT_LIGHT_SURFACE_H

#include "light/light.h"

typedef struct pelt_light_surfaces pelt_light_surfaces;

/* Finds the flat pieces of a scene whose vertices are at `positions`; both must outlive the surfaces. NULL after an
   error. */
pelt_light_surfaces *pelt_light_surfaces_new(pelt_arena *arena, const pelt_scene *scene, const float *positions,
                                             pelt_error *error);

/* Only visible sides of pieces get points: those that these pixels are on, or those that a text lists. */
void pelt_light_surfaces_see(pelt_light_surfaces *surfaces, const pelt_light_point *pixels, size_t count);
char *pelt_light_surfaces_seen(const pelt_light_surfaces *surfaces); /* in the arena */
bool pelt_light_surfaces_set_seen(pelt_light_surfaces *surfaces, const char *text);

/* Places about `wanted` points on what is visible, in squares of equal size, `lift` above the surface. */
pelt_result pelt_light_surfaces_lay(pelt_light_surfaces *surfaces, uint32_t wanted, float lift, pelt_error *error);
size_t pelt_light_surfaces_count(const pelt_light_surfaces *surfaces);
/* The map that holds all points: their ids are its pixels. */
void pelt_light_surfaces_map(const pelt_light_surfaces *surfaces, uint32_t *width, uint32_t *height);

/* The points at the objects' current positions: transforms[object_count], rigid. */
void pelt_light_surfaces_move(pelt_light_surfaces *surfaces, const pelt_affine *transforms, pelt_light_point *points);

/* The points a pixel is mixed from; all weights 0: none. */
typedef struct pelt_light_mix {
    uint32_t points[4];
    float weights[4];
} pelt_light_mix;

/* Mixes for pixels, from the points around each on its surface; points that are occluded from there, because an object
   is between or on top of them, do not count. */
pelt_result pelt_light_surfaces_mix(const pelt_light_surfaces *surfaces, const pelt_tracer *tracer,
                                    const pelt_light_point *points, const pelt_light_point *pixels, size_t count,
                                    uint32_t threads, pelt_light_mix *mixes, pelt_error *error);

#endif
