/* report.h: pictures. A small software rasteriser, PNG files, and the report page of `pelt compare`. */

#ifndef PELT_REPORT_H
#define PELT_REPORT_H

#include "rig/rig.h"

typedef struct pelt_image {
    uint32_t width, height;
    uint8_t *rgba; /* [height][width][4], sRGB */
} pelt_image;

/* A camera that frames a set of points; the same camera is used for all pictures of a row. */
typedef struct pelt_view {
    double azimuth, elevation; /* degrees; 0, 0 looks along -z (the model's front, when it faces +z) with y up */
    double center[3], radius;  /* of what should be in the picture: this sphere touches its shorter side */
    double distance; /* of the eye from the center; 0: as far as a lens of 20 degrees needs. A close-up keeps the
                        distance of the wide view, so that it looks the same, only larger */
} pelt_view;

pelt_view pelt_view_fit(const float *positions, uint32_t vertex_count, double azimuth, double elevation);

/* The distance that is used: view->distance, or that of the lens. */
double pelt_view_distance(const pelt_view *view);

/* Where a point is in the picture, in pixels from the upper left corner; false when it is behind the eye. */
bool pelt_view_project(const pelt_view *view, uint32_t width, uint32_t height, const float point[3], double pixel[2]);

/* How much of the values (one per vertex) a view shows: their sum over the pixels of a small picture. For choosing
   among views. */
double pelt_view_visible(const pelt_view *view, const float *positions, uint32_t vertex_count,
                         const uint32_t *triangles, uint32_t triangle_count, const float *values);

/* Draws a mesh, shaded, anti-aliased, on a transparent background. `heat`, when given, is one number per vertex, 0 to
   1, shown by a colour map; otherwise the mesh has `color` (linear RGB; NULL: grey). normals may be NULL (computed).
   Inside faces are darker. Triangles with a corner that is not finite or not before the eye are left out. */
pelt_result pelt_draw_mesh(pelt_image *image, const pelt_view *view, const float *positions, const float *normals,
                           uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count, const float *heat,
                           const float color[3]);

pelt_image *pelt_image_new(uint32_t width, uint32_t height);
void pelt_image_free(pelt_image *image);
/* PNG bytes, to be freed with free(). */
pelt_result pelt_image_png(const pelt_image *image, uint8_t **bytes, size_t *size, pelt_error *error);

/* The colour of the heat map at 0 to 1, sRGB. */
void pelt_heat_color(double value, uint8_t rgb[3]);

#endif
