/* denoise.h: noise taken out of many frames of the same points. */

#ifndef PELT_DENOISE_H
#define PELT_DENOISE_H

#include "light/light.h"

/* Frames that were gathered twice with different random numbers: values [point_count][3] of one half of a frame. */
typedef struct pelt_halves {
    uint32_t frame_count;
    pelt_result (*read)(void *user, uint32_t frame, uint32_t half, float *values, pelt_error *error);
    void *user;
} pelt_halves;

/* What is left of them: `rank` pictures, and how each channel of each frame is mixed of them. */
typedef struct pelt_clean_frames {
    uint32_t frame_count, rank;
    size_t point_count;
    float *pictures; /* [point_count][rank] */
    float *mix;      /* [3 * frame_count][rank] */
    double noise;    /* of the frames as they came, relative to their RMS */
    uint32_t dark;   /* frames without any light */
} pelt_clean_frames;

/* `points` are those of a picture of width x height pixels; their ids are their pixels. */
typedef struct pelt_denoise_options {
    const pelt_light_point *points;
    size_t point_count;
    uint32_t width, height;
    uint32_t pictures; /* that are kept; 0: 64 */
    bool no_smoothing; /* neighbours are not always on one surface */
    uint32_t threads;
    pelt_progress progress;
} pelt_denoise_options;

pelt_result pelt_denoise(pelt_arena *arena, const pelt_halves *halves, const pelt_denoise_options *options,
                         pelt_clean_frames *out, pelt_error *error);

/* One frame: values [point_count][3]. */
void pelt_clean_frame(const pelt_clean_frames *clean, uint32_t frame, float *values);

#endif
