/* plain.h: a skin as plain nodes, weights and tracks, which any engine plays. */

#ifndef PELT_PLAIN_H
#define PELT_PLAIN_H

#include "model/model.h"

/* Everything that a plain file holds, in the arena. */
typedef struct pelt_plain {
    pelt_mesh mesh;
    pelt_skeleton skeleton;  /* the skin's joints, then nodes: its driven joints, and two for each pair */
    const pelt_clip **clips; /* with tracks for the nodes */
    uint32_t clip_count;
    uint32_t pair_count; /* of joints, for weights that are negative (pairs.h) */
    double worst; /* largest element by which a node's matrix differs from what it should be: shear has no node */
} pelt_plain;

/* Makes it from a model and the bundle whose clips are wanted. */
pelt_result pelt_plain_make(pelt_arena *arena, const pelt_model *model, const pelt_bundle *bundle,
                            const pelt_clip *const *clips, size_t clip_count, pelt_plain *plain, pelt_error *error);

#endif
