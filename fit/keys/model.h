/* keys_model.h: trained key points before they are packed: regions and bounds of the soft cache, and the bytes. */

#ifndef PELT_KEYS_MODEL_H
#define PELT_KEYS_MODEL_H

#include "fit/keys/trial.h"

typedef struct pelt_keys_model {
    const pelt_keys_training *t;
    uint32_t *keys, key_count, basis, region_count;
    double *map;             /* P: [rank][key rows] */
    double *misfit;          /* [key rows][key rows] */
    uint16_t *point_regions; /* [point_count][4] */
    float *point_region_weights;
    pelt_misfit_bound *bounds; /* [region_count] */
    uint32_t component_count, frame_count;
    const char *about;
} pelt_keys_model;

/* Parts of the points around far-apart keys, with soft borders. */
pelt_result pelt_keys_regions(pelt_keys_model *model, uint32_t count, pelt_error *error);

/* Bounds on the misfit from trials, and what they would have done: share of frames held out by shots that pass, and of
   bad frames with controls held out that are flagged. */
pelt_result pelt_keys_bounds(pelt_keys_model *model, const pelt_trials *trials, double bar, pelt_keys_report *report,
                             pelt_error *error);

/* The bytes of a .keys file. */
pelt_skin_bytes *pelt_keys_pack(const pelt_keys_model *model, pelt_error *error);

#endif
