/* regions.h: errors region by region (regions.c). Runs within a stage. */

#ifndef PELT_MEASURE_REGIONS_H
#define PELT_MEASURE_REGIONS_H

#include "rig/rig.h"

/* Of every vertex, over all frames. */
typedef struct pelt_vertex_sums {
    double *squares; /* [vertex_count] squared errors */
    double *blended; /* [vertex_count] those of the linear blend with the file's weights */
    float *largest;  /* [vertex_count] largest squared error */
} pelt_vertex_sums;

/* Fills in the regions of a measure, in its arena. Errors are relative where the rms of the blend is above `exact`. */
void pelt_measure_regions(const pelt_bundle *bundle, const pelt_vertex_sums *sums, double exact, pelt_measure *measure);

#endif
