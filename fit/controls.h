/* controls.h: controls as fits see them: which ones the examples vary, what they drive, and what a skin says of them.
 */

#ifndef PELT_FIT_CONTROLS_H
#define PELT_FIT_CONTROLS_H

#include "rig/rig.h"

/* A control of a skin in the making. */
typedef struct pelt_fit_control {
    uint32_t source; /* of the bundle's controls */
    const char *name;
    float rest, least, most; /* least and most over the examples */
    float farthest;          /* from rest */
    float scale;             /* distances along it are differences times this: 1 / farthest, by default */
} pelt_fit_control;

/* The controls that take more than one value in the examples; `scale` is the option control_scale. The arena owns the
   list. */
pelt_result pelt_varying_controls(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                  const char *scale, pelt_fit_control **list, uint32_t *count, pelt_error *error);

/* Values of such controls in a frame, minus those at rest. `row` has room for all of the bundle's. */
void pelt_control_values(const pelt_bundle *bundle, const pelt_fit_control *list, uint32_t count,
                         const pelt_example *example, float *row, float *values);

/* -- Playing a skin -------------------------------------------------------------------------------------------------
 */

/* The bundle's control for each of the skin's, by name; the number of the bundle's controls where it has none. */
void pelt_match_controls(const pelt_skin *skin, const pelt_controls *controls, uint32_t *sources);

/* The values of a skin's controls in a frame; those that the clip does not have are at rest. `row` has room for all of
   the bundle's. */
void pelt_matched_controls(const pelt_skin *skin, const pelt_controls *controls, const uint32_t *sources,
                           const pelt_clip *clip, uint32_t frame, float *row, float *values);

#endif
