/* frames.h: training frames as pictures in a folder, so that interrupted training can resume. A frame is one light at
   one position of the moving objects. */

#ifndef PELT_LIGHT_FRAMES_H
#define PELT_LIGHT_FRAMES_H

#include "light/view.h"

/* Every frame is gathered in two halves, 0 and 1, with independent noise. */
typedef struct pelt_light_frames {
    const pelt_light_view *view;
    char folder[4096];
    float *picture; /* room for one */
} pelt_light_frames;

/* Opens or creates a folder, and checks that its frames were gathered from the same scene, camera and moves. */
pelt_result pelt_light_frames_open(pelt_light_frames *frames, const pelt_light_view *view, const pelt_light_grid *grid,
                                   const char *folder, uint32_t samples, uint32_t seed, pelt_error *error);
/* Values at the points of the view, [point_count][3]. */
pelt_result pelt_light_frames_write(const pelt_light_frames *frames, uint32_t frame, uint32_t half, const float *values,
                                    pelt_error *error);
pelt_result pelt_light_frames_read(const pelt_light_frames *frames, uint32_t frame, uint32_t half, float *values,
                                   pelt_error *error);

/* Whether a frame is there and complete: an empty or truncated one does not count. */
pelt_result pelt_light_frames_find(const pelt_light_frames *frames, uint32_t frame, uint32_t half, float *values,
                                   bool *found, pelt_error *error);

/* A distinct seed per gather. */
uint32_t pelt_light_frame_seed(uint32_t seed, uint32_t frame, uint32_t half);

#endif
