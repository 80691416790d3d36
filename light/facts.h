/* facts.h: what a .keys file of light knows of itself, and what training frames say of theirs. */

#ifndef PELT_LIGHT_FACTS_H
#define PELT_LIGHT_FACTS_H

#include "light/relight.h"
#include "rig/json.h"
#include <jansson.h>
#include <stddef.h>

/* A path that leads neither to the root nor upwards. */
bool pelt_light_stays_below(const char *path);

/* What moves, as a list; NULL when there is no memory. */
json_t *pelt_light_moves_json(const pelt_light_arrangement *arrangement);

/* Numbers that tell whether a scene is still the same, and how far they may be off by rounding. */
void pelt_light_marks(const pelt_light_view *view, double marks[PELT_LIGHT_MARKS], double slack[PELT_LIGHT_MARKS]);

/* The facts as a .keys file has them. */
pelt_result pelt_relight_describe(const pelt_relight_facts *facts, pelt_keys_words *words, pelt_error *error);
/* False when key points are not of light, or were trained before files said so by bytes. Texts of the arrangement are those
   of the file. */
bool pelt_relight_read_facts(const pelt_keys *keys, pelt_relight_facts *facts);

#endif
