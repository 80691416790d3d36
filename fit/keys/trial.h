/* trial.h: key points tried on frames they were not trained on. */

#ifndef PELT_KEYS_TRIAL_H
#define PELT_KEYS_TRIAL_H

#include "fit/keys/keypoints.h"

/* Parts of the mesh: up to four for each point, with weights. */
typedef struct pelt_point_regions {
    uint32_t count;
    const uint16_t *of_points; /* [point_count][PELT_POINT_REGIONS] */
    const float *weights;      /* likewise */
} pelt_point_regions;

/* Left-out frames, reconstructed from their keys. */
typedef struct pelt_trials {
    bool with_misfits;
    size_t count, room;
    uint32_t key_count;
    float *errors;                     /* [count] largest error of a point, as a fraction of the diagonal */
    float *lengths;                    /* [count][key_count] squared length of the misfit of each key */
    const pelt_point_regions *regions; /* NULL: errors by region are not wanted */
    float *region_errors;              /* [count][regions->count] the same as `errors`, of the points of each region */
    uint8_t *novel; /* [count] 1: controls were held out, or the frame is an isolated pose: unlike shots */
} pelt_trials;

/* How the misfit is measured: 0: by the map itself; otherwise by least squares on this many leading directions. */
uint32_t pelt_detector_basis(const pelt_keys_training *t, uint32_t key_count);

/* Leaves out the frames of one fold of `fold` (per column) and tries the keys on them. Only the frames with the largest
   residuals are examined point by point; the others count as 0. Misfits are only measured if trials->with_misfits is
   set. Appends the trials, in the arena. */
pelt_result pelt_try_fold(const pelt_keys_training *t, const pelt_map *map, const uint32_t *fold, uint32_t left_out,
                          bool novel, double share, pelt_arena *arena, pelt_trials *trials, pelt_error *error);

/* The error that a fraction (0.995) of the trials within shots stays under; infinity if there are none. */
double pelt_trial_quantile(pelt_arena *arena, const pelt_trials *trials, double share);

#endif
