/* confidence.h: how wrong a fitted skin is expected to be, before packing: the section CONF (runtime/format.h) in
   double. */

#ifndef PELT_MODEL_CONFIDENCE_H
#define PELT_MODEL_CONFIDENCE_H

#include "rig/rig.h"
#include "runtime/format.h"

typedef struct pelt_doubt_region {
    uint32_t joint; /* whose name it has */
    uint32_t vertex_count, input_count;
    uint32_t *inputs;         /* [input_count] */
    double *matrix;           /* W [3 input_count][PELT_DOUBT_FEATURES], as half floats can hold it */
    double *fold;             /* F [PELT_DOUBT_FEATURES][PELT_DOUBT_RANK], likewise */
    double rest, floor, gain; /* the error squared is floor + gain (rest |h|^2 + |h F|^2) */
} pelt_doubt_region;

typedef struct pelt_doubt_model {
    uint32_t region_count, input_count;
    pelt_doubt_region *regions;
    pelt_file_doubt_input *inputs;
    uint8_t *vertices; /* [vertex_count] the region of each */
    uint32_t vertex_count;
    double frame_margin, region_margin;
    uint32_t frame_count;
    double correlation, median;
} pelt_doubt_model;

/* h = max(0, x W); x has three numbers per input of the region. */
void pelt_doubt_features(const pelt_doubt_region *region, const double *x, double h[PELT_DOUBT_FEATURES]);

/* rest |h|^2 + |h F|^2. */
double pelt_doubt_variance(const pelt_doubt_region *region, const double *x);

/* The bytes of the section; NULL after an error. Free with pelt_bytes_free (pack/pack_confidence.c). */
pelt_bytes *pelt_pack_confidence(const pelt_doubt_model *model, pelt_error *error);

#endif
