/* findings.h: what the fit of any corrective reports: its condition number, how often the blend was too singular to
   invert, the largest possible displacement of a vertex, the error of storing it (pelt_fit_report). */

#ifndef PELT_FINDINGS_H
#define PELT_FINDINGS_H

#include "rig/rig.h"

struct pelt_fitting;

/* Condition numbers above 2^22 are bad. The run time computes the rows of the matrix in floats with 24 bits: their
   error then exceeds a quarter of the smallest eigenvalue, which is what distinguishes the closest examples. */
#define PELT_WORST_CONDITION 4194304.0

/* Records the condition number, and warns if it is bad. */
void pelt_note_condition(struct pelt_fitting *fitting, const pelt_condition *condition);

/* "train:12", or "the rest pose". */
const char *pelt_example_name(struct pelt_fitting *fitting, uint32_t example);

#endif
