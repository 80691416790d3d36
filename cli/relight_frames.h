/* relight_frames.h: the folder of training frames. */

#ifndef PELT_CLI_RELIGHT_FRAMES_H
#define PELT_CLI_RELIGHT_FRAMES_H

#include "cli/relight.h"

typedef struct frame_store {
    const stage *stage;
    char folder[4096];
    float *picture; /* room for one */
} frame_store;

/* Opens or makes the folder PATH.frames, and checks that what is in it was gathered with the same words. False after a
   message. */
bool frame_store_open(frame_store *store, const stage *s, const light_grid *grid, const char *path, uint32_t samples,
                      uint32_t seed);
bool frame_store_has(const frame_store *store, uint32_t light, uint32_t half);
/* Values at the points of the stage, [point_count][3]. */
pelt_result frame_store_write(const frame_store *store, uint32_t light, uint32_t half, const float *values,
                              pelt_error *error);
pelt_result frame_store_read(const frame_store *store, uint32_t light, uint32_t half, float *values, pelt_error *error);

/* Seeds of gathers, all different. */
uint32_t frame_seed(uint32_t seed, uint32_t light, uint32_t half);

#endif
