/* controls.h: controls as fits see them: which ones the examples vary, what they drive, and what a skin says of them.
 */

#ifndef PELT_FIT_CONTROLS_H
#define PELT_FIT_CONTROLS_H

#include "pack/model.h"

/* The controls that take more than one value in the examples; `scale` is the option control_scale. The arena owns the
   list. */
pelt_result pelt_varying_controls(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                  const char *scale, pelt_model_control **list, uint32_t *count, pelt_error *error);

/* Values of such controls in a frame, minus those at rest. `row` has room for all of the bundle's. */
void pelt_control_values(const pelt_bundle *bundle, const pelt_model_control *list, uint32_t count,
                         const pelt_example *example, float *row, float *values);

#endif
