/* regions.h: the regions of a mesh: what a joint moves most, and what is painted in one colour. */

#ifndef PELT_REGIONS_H
#define PELT_REGIONS_H

#include "rig/rig.h"

#define PELT_NO_REGION UINT32_MAX

/* The joint with the largest weight on a vertex, the first of equal ones; PELT_NO_REGION: it has no weights. */
uint32_t pelt_dominant_joint(const pelt_influences *influences, uint32_t vertex);

/* The nearest of the eight colours that have names. */
pelt_color pelt_painted_color(const float rgb[3]);
const char *pelt_color_name(pelt_color color);

#endif
