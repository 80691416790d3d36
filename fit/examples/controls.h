/* controls.h: controls as fits see them: which ones the examples vary, how they are scaled, and what a skin stores
   about them. */

#ifndef PELT_FIT_CONTROLS_H
#define PELT_FIT_CONTROLS_H

#include "model/model.h"

/* Refuses scales for controls that no clip has; pelt_fit_resolve has checked the numbers. */
pelt_result pelt_check_control_scales(const pelt_bundle *bundle, const pelt_fit_options *options, pelt_error *error);

/* The controls that take more than one value in the examples, with their scales. The arena owns the list. */
pelt_model_control *pelt_varying_controls(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                          const pelt_fit_options *options, uint32_t *count);

/* Values of such controls in a frame, relative to rest. `row` has room for all of the bundle's controls. */
void pelt_control_values(const pelt_bundle *bundle, const pelt_model_control *list, uint32_t count,
                         const pelt_example *example, float *row, float *values);

#endif
