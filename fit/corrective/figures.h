/* figures.h: what the fit of a corrective says about itself, whatever the method: how well conditioned it was, how
   often the blend was too flat to invert, how far it can ever displace a vertex, what storing it costs (pelt_fit_report). */

#ifndef PELT_FIGURES_H
#define PELT_FIGURES_H

#include "rig/rig.h"

struct pelt_fitting;

/* Above 2^22 a condition is bad. The run time computes the rows of the matrix in floats, which keep 24 bits: what they
   lose is then more than a quarter of the smallest eigenvalue, and so much of what tells the closest examples apart. */
#define PELT_WORST_CONDITION 4194304.0

/* Notes the condition, and warns where it is bad. */
void pelt_note_condition(struct pelt_fitting *fitting, const pelt_condition *condition);

/* "train:12", or "the rest pose". */
const char *pelt_example_name(struct pelt_fitting *fitting, uint32_t example);

#endif
