/* model.h: trained key points before they are packed: their options, regions and bounds of the soft cache, and the
   bytes. All but pelt_keys_pack works within the stage that training is. */

#ifndef PELT_KEYS_MODEL_H
#define PELT_KEYS_MODEL_H

#include "fit/keys/trial.h"

/* Refuses frames and options that cannot be trained with, and fills in what was left 0. */
pelt_result pelt_keys_resolve(const pelt_frames *frames, pelt_keys_options *options, pelt_error *error);

typedef struct pelt_keys_model {
    const pelt_keys_training *t;
    uint32_t *keys, key_count, basis, region_count;
    double *map;             /* P: [rank][key rows] */
    double *misfit;          /* [key rows][key rows] */
    uint16_t *point_regions; /* [point_count][4] */
    float *point_region_weights;
    pelt_misfit_bound *bounds; /* [region_count] */
    uint32_t *witnesses, witness_count;
    pelt_witness_rule *witness_rule;    /* NULL: no witnesses */
    pelt_control_range *control_ranges; /* NULL: not known */
    uint32_t control_count;
    uint32_t component_count, frame_count;
} pelt_keys_model;

/* Parts of the points around far-apart keys, with soft borders. */
void pelt_keys_regions(pelt_keys_model *model, uint32_t count);

/* Bounds on the misfit from trials, and what they would have done: share of frames held out by shots that pass, and of
   bad frames with controls held out that are flagged. */
void pelt_keys_bounds(pelt_keys_model *model, const pelt_trials *trials, double bar, pelt_keys_report *report);

/* Witnesses: half as many as there are keys where errors of frames held out peak, and points in the largest gaps between
   the keys, until none is wider than 3% of the diagonal; evenly mixed. A frame hears one in 25 of them, fewer in
   proportion where frames held out stayed under half the bar (expected: the error that 99.5% of them stayed under, a
   fraction of the diagonal). */
pelt_result pelt_keys_witnesses(pelt_keys_model *model, double expected, pelt_error *error);

/* Where the controls were in the training frames, and to either side a twentieth of that range, or of the median of the
   others' where a control stayed. Not known where some frames have none, nor needed without
   witnesses. */
void pelt_keys_controls(pelt_keys_model *model, const pelt_frames *frames);

/* Key points as they run, in the training's arena. Their text is empty. */
pelt_result pelt_keys_form(const pelt_keys_model *model, pelt_keys *keys, pelt_error *error);

/* The bytes of a .keys file. */
pelt_bytes *pelt_keys_pack(const pelt_keys *keys, const char *about, pelt_error *error);

#endif
