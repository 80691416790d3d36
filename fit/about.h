/* about.h: fits and measures described: as JSON for people and callers, and as the facts in a skin file. */

#ifndef PELT_ABOUT_H
#define PELT_ABOUT_H

#include "rig/json.h"
#include "rig/rig.h"

/* A measure; `skin` and `clip` are display names. */
json_t *pelt_measure_json(const pelt_measure *measure, const char *skin, const char *clip, pelt_examples examples);

/* Its errors by region, the worst first. */
json_t *pelt_regions_json(const pelt_measure *measure);

/* What the fit of a corrective found: condition, damped, bound, storage_error; an empty object without one. */
json_t *pelt_corrective_json(const pelt_fit_report *report, const pelt_bundle *bundle, pelt_examples examples);

/* The description stored in a skin file, to be freed with free; NULL after an error. `front`: what the method was chosen
   from, or NULL. Its times are left out: they differ from run to run. */
char *pelt_about_text(const pelt_fit_report *report, const pelt_front *front, const pelt_bundle *bundle,
                      pelt_examples examples, pelt_error *error);

/* What programs need to know of it: the section FACT (facts.c). Free with pelt_bytes_free; NULL after an error. */
pelt_bytes *pelt_fit_facts(pelt_arena *arena, const pelt_fit_report *report, const pelt_bundle *bundle,
                           pelt_examples examples, pelt_error *error);

#endif
