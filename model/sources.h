/* sources.h: the inputs of a packed skin's corrective: which joints and controls its coefficients depend on. */

#ifndef PELT_SOURCES_H
#define PELT_SOURCES_H

#include "rig/rig.h"

typedef enum pelt_source_kind {
    PELT_SOURCE_RBF,      /* functions of a pose distance: psd, and eigen, with one per joint */
    PELT_SOURCE_KERNEL,   /* kernels of a neighbourhood of vertices */
    PELT_SOURCE_FEATURES, /* learned features of a neighbourhood */
    PELT_SOURCE_WEIGHTED, /* an axis of the per-vertex pose distances; it has no coefficients */
} pelt_source_kind;

/* Coefficients that depend on the same joints. */
typedef struct pelt_source {
    pelt_source_kind kind;
    uint32_t first, count;         /* coefficients */
    uint32_t joint_count, *joints; /* of the skin, ascending */
    uint32_t control_count, *controls;
} pelt_source;

typedef struct pelt_sources {
    uint32_t count;
    pelt_source *list;
} pelt_sources;

/* Empty for a skin without a corrective. Owned by the arena; the list is NULL if the arena has failed. */
pelt_sources pelt_skin_sources(pelt_arena *arena, const pelt_skin *skin);

/* The weight of an axis of the weighted form at each vertex: weights[vertex_count]. */
void pelt_skin_axis_weights(const pelt_skin *skin, uint32_t axis, float *weights);

#endif
