/* sources.h: what the corrective of a packed skin listens to: which joints and controls its coefficients depend on. */

#ifndef PELT_SOURCES_H
#define PELT_SOURCES_H

#include "rig/rig.h"

typedef enum pelt_source_kind {
    PELT_SOURCE_RBF,      /* functions of a pose distance: psd, and eigen, which has one for each joint */
    PELT_SOURCE_KERNEL,   /* kernels of a neighbourhood of vertices */
    PELT_SOURCE_FEATURES, /* learned features of one */
    PELT_SOURCE_WEIGHTED, /* an axis of the pose distances that vertices have of their own; it has no coefficients */
} pelt_source_kind;

/* Coefficients that depend on the same joints. */
typedef struct pelt_source {
    pelt_source_kind kind;
    uint32_t first, count;         /* coefficients */
    uint32_t joint_count, *joints; /* of the skin, rising */
    uint32_t control_count, *controls;
} pelt_source;

typedef struct pelt_sources {
    uint32_t count;
    pelt_source *list;
} pelt_sources;

/* Of a skin without a corrective there are none. The arena owns them; one that has failed makes the list NULL. */
pelt_sources pelt_skin_sources(pelt_arena *arena, const pelt_skin *skin);

/* How much an axis of the weighted form counts at each vertex: weights[vertex_count]. */
void pelt_skin_axis_weights(const pelt_skin *skin, uint32_t axis, float *weights);

#endif
