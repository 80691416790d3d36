/* canvas.h: draws a skin without a window, by the vertex path of gl.h on OpenGL ES 3.0. */

#ifndef PELT_CANVAS_H
#define PELT_CANVAS_H

#include <pelt/error.h>

typedef struct pelt_canvas pelt_canvas;

/* A canvas of so many pixels for one skin. triangles: [triangle_count][3] vertices of the mesh. device: one of EGL's, or
   -1. */
pelt_canvas *pelt_canvas_new(const pelt_skin *skin, const uint32_t *triangles, uint32_t triangle_count, uint32_t width,
                             uint32_t height, int device, pelt_error *error);
void pelt_canvas_free(pelt_canvas *canvas);

/* What the driver calls the device. */
const char *pelt_canvas_title(const pelt_canvas *canvas);

/* Makes all of it transparent. */
void pelt_canvas_clear(pelt_canvas *canvas);

/* One picture of the character on a part of the canvas. */
typedef struct pelt_canvas_picture {
    uint32_t left, bottom, width, height;
    float clip[16];            /* model space to clip space, column by column */
    float eye[3];              /* where the light comes from, more or less */
    const void *scratch;       /* the pose; NULL: the true mesh is drawn */
    const float *truth;        /* [vertex_count][3] the true positions, or NULL */
    const float *true_normals; /* where the true mesh is drawn */
    float hottest;             /* the distance from the truth that is drawn hottest; 0: no heat */
} pelt_canvas_picture;
pelt_result pelt_canvas_draw(pelt_canvas *canvas, const pelt_canvas_picture *picture, pelt_error *error);

/* The pixels, sRGB and alpha, the upper row first: [height][width][4]. */
pelt_result pelt_canvas_read(pelt_canvas *canvas, uint8_t *rgba, pelt_error *error);

#endif
