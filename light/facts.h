/* facts.h: the description of a .keys file of light, and of training frames. */

#ifndef PELT_LIGHT_FACTS_H
#define PELT_LIGHT_FACTS_H

#include "light/relight.h"
#include "rig/json.h"
#include <jansson.h>
#include <stddef.h>

/* Whether a path is relative and has no "..". */
bool pelt_light_stays_below(const char *path);

/* What moves, as a list; NULL if out of memory. */
json_t *pelt_light_moves_json(const pelt_light_arrangement *arrangement);

/* Numbers that tell whether a scene is still the same, and bounds on their rounding. */
void pelt_light_marks(const pelt_light_view *view, double marks[PELT_LIGHT_MARKS], double slack[PELT_LIGHT_MARKS]);

/* The facts as stored in a .keys file. */
pelt_result pelt_relight_describe(const pelt_relight_facts *facts, pelt_keys_words *words, pelt_error *error);
/* False if the key points are not of light, or were trained before files stored these facts in binary. The arrangement's
   texts point into the file. */
bool pelt_relight_read_facts(const pelt_keys *keys, pelt_relight_facts *facts);

#endif
