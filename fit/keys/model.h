/* model.h: trained key points before packing: their options, regions and bounds of the soft cache, and the bytes.
   Everything except pelt_keys_pack runs within the training stage. */

#ifndef PELT_KEYS_MODEL_H
#define PELT_KEYS_MODEL_H

#include "fit/keys/trial.h"

/* Refuses frames and options that cannot be used for training, and replaces 0 by defaults. */
pelt_result pelt_keys_resolve(const pelt_frames *frames, pelt_keys_options *options, pelt_error *error);

typedef struct pelt_keys_model {
    const pelt_keys_training *t;
    uint32_t *keys, key_count, basis, region_count;
    double *map;             /* P: [rank][key rows] */
    double *misfit;          /* [key rows][key rows] */
    uint16_t *point_regions; /* [point_count][4] */
    float *point_region_weights;
    pelt_misfit_bound *bounds; /* [region_count] */
    double expected;           /* the error that 99.5% of the held-out frames stay under, of the diagonal */
    uint32_t *witnesses, witness_count;
    pelt_witness_rule *witness_rule;    /* NULL: no witnesses */
    pelt_control_range *control_ranges; /* NULL: unknown */
    uint32_t control_count;
    char *control_names; /* one after the other, each ended by a zero; NULL: unknown */
    size_t control_names_size;
    uint32_t component_count, frame_count;
} pelt_keys_model;

/* The number of basis vectors for so many keys. */
uint32_t pelt_keys_basis(const pelt_keys_training *t, uint32_t keys);

/* Leaves out each fold of shots in turn. */
pelt_result pelt_try_shots(const pelt_keys_training *t, const pelt_map *map, double share, pelt_arena *arena,
                           pelt_trials *trials, pelt_error *error);

/* Groups of three controls that are active in some frames but not in most: for each, the frames in which one of them is
   (1, per column). Returns how many were found, up to `wanted`; remembered frames are in none. */
uint32_t pelt_control_folds(const pelt_keys_training *t, const pelt_frames *frames, uint32_t wanted, pelt_arena *arena,
                            uint32_t **folds);

/* Everything that follows from the keys: maps, regions, bounds, witnesses, ranges of controls. */
pelt_result pelt_keys_finish(pelt_keys_model *model, const pelt_map *map, const pelt_frames *frames,
                             pelt_keys_report *report, pelt_error *error);

/* The forecast (report->forecast): parts of the frames are left out, key points are trained on the others from the
   choice of keys on, and the soft cache plays what was left out. Where it trusts bad frames, the gap between witnesses
   is made narrower until it does not, and t->gap with it. */
pelt_result pelt_keys_rehearse(pelt_keys_training *t, const pelt_keys_model *model, const pelt_map *map,
                               const pelt_frames *frames, const pelt_columns *columns, pelt_keys_report *report,
                               pelt_error *error);

/* Divides the points into regions around keys that are far apart, with soft borders. */
void pelt_keys_regions(pelt_keys_model *model, uint32_t count);

/* Bounds on the misfit from trials, and their effect: the share of held-out shot frames that pass, and of bad frames
   with held-out controls that are flagged. */
void pelt_keys_bounds(pelt_keys_model *model, const pelt_trials *trials, double bar, pelt_keys_report *report);

/* Raises the bounds to the misfit at which a region would err by `error`, a fraction of the diagonal, as far as trials
   with errors by region tell: never stricter than that. */
void pelt_keys_raise_bounds(pelt_keys_model *model, const pelt_trials *trials, double error);

/* Whether training gives witnesses, if there are points left. */
bool pelt_keys_has_witnesses(const pelt_keys_training *t);

/* Witnesses: half as many as keys where errors of held-out frames peak, and points in the largest gaps between the keys
   until none is wider than t->gap, 3% of the diagonal at first, evenly interleaved. Points that move differently are farther apart. A frame checks one in 25 of them, proportionally
   fewer if held-out frames stayed under half the bar (model->expected). */
pelt_result pelt_keys_witnesses(pelt_keys_model *model, pelt_error *error);

/* The next narrower gap for t->gap. False: there is none. */
bool pelt_keys_narrow_gap(pelt_keys_training *t);

/* The range of each control in the training frames, extended on both sides by a twentieth of it, or of the median of
   the other ranges if a control was constant. Unknown if some frames have no controls; not needed without witnesses. */
void pelt_keys_controls(pelt_keys_model *model, const pelt_frames *frames);

/* Key points in run-time form, in the training's arena. Their text is empty. */
pelt_result pelt_keys_form(const pelt_keys_model *model, pelt_keys *keys, pelt_error *error);

/* The bytes of a .keys file. */
pelt_bytes *pelt_keys_pack(const pelt_keys *keys, pelt_error *error);

/* pelt_soft_cache_problem in a sentence (options.c). */
pelt_result pelt_check_soft_cache(const pelt_soft_cache_options *options, pelt_error *error);

#endif
