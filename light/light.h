/* light.h: direct and indirect light at surface points of a scene, by tracing paths.

   The result is the light that arrives at a point, as the radiance that a white diffuse surface would have there:
   irradiance / pi. Multiply by the point's albedo to display it. *Direct* light comes straight from a light, *indirect*
   light has been reflected at least once.

       pelt_tracer *tracer = pelt_tracer_new(scene, &error);
       pelt_tracer_set_light(tracer, &light, &error);            // in addition to the scene's own lights
       pelt_tracer_view(tracer, camera, 400, 400, points);
       pelt_gather(tracer, points, 160000, &(pelt_gather_options){.samples = 64}, NULL, indirect, NULL, &error); */

#ifndef PELT_LIGHT_H
#define PELT_LIGHT_H

#include "rig/scene.h"

/* -- The Cornell box (cornell.c) ---------------------------------------------------------------------------------- */

/* The box as measured at Cornell University, in metres, with its lamp switched off: the caller adds the lights. */
pelt_scene *pelt_cornell_box(pelt_error *error);

/* -- A scene prepared for ray tracing (tracer.c) ------------------------------------------------------------------- */

typedef struct pelt_tracer pelt_tracer;

/* Checks the scene (finite vertices, something that reflects) and builds the BVH. Degenerate triangles are dropped. The
   scene must outlive the tracer. */
pelt_tracer *pelt_tracer_new(const pelt_scene *scene, pelt_error *error);
void pelt_tracer_free(pelt_tracer *tracer);

/* The moving light, in addition to the lights of the scene; NULL: none. Not while another thread gathers. */
pelt_result pelt_tracer_set_light(pelt_tracer *tracer, const pelt_light *light, pelt_error *error);

/* Centre, diagonal and corners of the scene's bounding box. */
typedef struct pelt_extent {
    float low[3], high[3], diagonal;
} pelt_extent;
pelt_extent pelt_tracer_extent(const pelt_tracer *tracer);

typedef struct pelt_light_point {
    float position[3], normal[3]; /* the normal points to the visible side */
    float albedo[3], emission[3];
    uint32_t id;       /* number of the point: its random numbers depend on it */
    uint32_t triangle; /* of the scene, that it is on */
    uint32_t surface;  /* points on different surfaces are never averaged */
    bool back;         /* on the back side of the triangle */
    bool hit;          /* false: nothing is seen here, and no light arrives */
} pelt_light_point;

/* What a camera sees through the centre of each pixel: points[height][width]. */
void pelt_tracer_view(const pelt_tracer *tracer, const pelt_camera *camera, uint32_t width, uint32_t height,
                      pelt_light_point *points);
/* The same through `count` of them, at most 16. */
void pelt_tracer_look(const pelt_tracer *tracer, const pelt_camera *camera, uint32_t width, uint32_t height,
                      const size_t *pixels, int count, pelt_light_point *points);
/* The direction from the eye through the centre of a pixel, of length 1 along the camera's axis. */
void pelt_camera_direction(const pelt_camera *camera, uint32_t width, uint32_t height, size_t pixel, float out[3]);
/* A camera in front of the scene (+z), for scenes without one. */
pelt_camera pelt_tracer_camera(const pelt_tracer *tracer);

/* -- Gathering (gather.c) ------------------------------------------------------------------------------------------ */

typedef struct pelt_gather_options {
    uint32_t samples;         /* paths per point, rounded up to a multiple of 16; 0: 64 */
    uint32_t bounces;         /* maximum reflections between light and point; 0: 4 */
    uint32_t seed;            /* different seeds give different noise */
    uint32_t first, sequence; /* a part of a gather of `sequence` paths, from a multiple of 16 on: the mean over its
                                 parts is the whole; 0, 0: it is the whole */
    uint32_t threads;         /* 0: as many as the machine has; the result does not depend on it */
} pelt_gather_options;

/* Light that arrives at points: direct[count][3] and indirect[count][3], either may be NULL. *ray_count, if not NULL,
   gets the number of rays traced. Fails if there is no memory for the threads. */
pelt_result pelt_gather(const pelt_tracer *tracer, const pelt_light_point *points, size_t count,
                        const pelt_gather_options *options, float *direct, float *indirect, uint64_t *ray_count,
                        pelt_error *error);

#endif
