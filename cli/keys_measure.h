/* keys_measure.h: how key points and the soft cache do on clips whose truth is known. */

#ifndef PELT_KEYS_MEASURE_H
#define PELT_KEYS_MEASURE_H

#include "cli/keys_input.h"
#include <pelt/keys.h>

/* One frame. Errors are fractions of the diagonal. */
typedef struct keys_frame {
    uint32_t shot, worst_point;
    float error;      /* largest of a point, keys alone */
    float final;      /* the same with the soft cache */
    float e;          /* misfit, 1 is the bound */
    float jump;       /* largest change of a point's error since the frame before, keys alone */
    float final_jump; /* the same with the soft cache */
    uint32_t evaluated;
    pelt_soft_cache_verdict verdict;
} keys_frame;

typedef struct keys_measure {
    uint32_t frame_count, shot_count;
    keys_frame *frames;
    double p50, p99, p995, largest; /* of the largest error of a frame, keys alone */
    double rms;                     /* over all frames and points, keys alone */
    double hit_rate;                /* frames that needed the keys alone */
    double final_p999, final_largest;
    double under_bar, final_under_bar; /* shares of the frames */
    uint32_t good_shots;               /* without any frame over the bar, keys alone */
    uint32_t bad_frames, missed_bad;   /* over the bar, and of those, trusted by the soft cache */
    double recall, precision;          /* of bad frames by the misfit, where it flags 5% of the good ones */
    double correlation;                /* of misfit and error, of their logarithms */
    double jump, switch_jump;          /* largest: keys alone; with the soft cache, in frames that it switches in */
    double evaluated;                  /* mean points computed per frame */
    double fill_seconds;               /* of a frame: solve and fill */
    double point_cost;                 /* seconds a point */
    double speedup;
} keys_measure;

/* Runs the keys over the frames. False after an error. */
bool keys_measure_run(const pelt_keys *keys, keys_input *input, const pelt_soft_cache_options *options, double bar,
                      const pelt_progress *progress, keys_measure *out, pelt_error *error);
void keys_measure_free(keys_measure *measure);

#endif
