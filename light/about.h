/* about.h: what a .keys file of light says of itself, and what training frames say of theirs. */

#ifndef PELT_LIGHT_ABOUT_H
#define PELT_LIGHT_ABOUT_H

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

/* False when key points are not of light. */
bool pelt_relight_read_about(const pelt_keys *keys, pelt_relight_about *about);

#endif
