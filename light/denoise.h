/* denoise.h: denoising many frames of the same points. */

#ifndef PELT_DENOISE_H
#define PELT_DENOISE_H

#include "light/light.h"

/* Frames gathered twice with different random numbers: values [point_count][3] of one half of a frame. */
typedef struct pelt_halves {
    uint32_t frame_count;
    pelt_result (*read)(void *user, uint32_t frame, uint32_t half, float *values, pelt_error *error);
    void *user;
} pelt_halves;

/* The result: `rank` pictures, and the mix of them for each channel of each frame. */
typedef struct pelt_clean_frames {
    uint32_t frame_count, rank;
    size_t point_count;
    float *pictures; /* [point_count][rank] */
    float *mix;      /* [3 * frame_count][rank] */
    double noise;    /* of the input frames, relative to their RMS */
    uint32_t dark;   /* frames without any light */
} pelt_clean_frames;

/* `points` belong to a picture of width x height pixels; their ids are pixel indices. */
typedef struct pelt_denoise_options {
    const pelt_light_point *points;
    size_t point_count;
    uint32_t width, height;
    uint32_t pictures; /* to keep; 0: 64 */
    bool no_smoothing; /* neighbours may be on different surfaces */
    uint32_t threads;
    pelt_progress progress;
} pelt_denoise_options;

pelt_result pelt_denoise(pelt_arena *arena, const pelt_halves *halves, const pelt_denoise_options *options,
                         pelt_clean_frames *out, pelt_error *error);

/* One frame: values [point_count][3]. */
void pelt_clean_frame(const pelt_clean_frames *clean, uint32_t frame, float *values);

#endif
