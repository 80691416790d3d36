/* targets.h: the corrective of a skin as plain glTF, which morphs before it skins: v = S(v0 + D). */

#ifndef PELT_TARGETS_H
#define PELT_TARGETS_H

#include "rig/rig.h"

/* Morph targets, one for each coefficient that moves something, in the mesh's vertex order. */
typedef struct pelt_skin_targets {
    uint32_t count;
    const uint32_t *coefficients; /* [count] of the skin */
    pelt_target *positions;       /* [count] */
    pelt_target *normals;         /* [count] changes of normals; NULL: none */
} pelt_skin_targets;

/* Empty without a corrective. Fails for the weighted form, which has no coefficients. The arena owns the result.
   */
pelt_result pelt_skin_targets_of(pelt_arena *arena, const pelt_skin *skin, bool with_normals, pelt_skin_targets *out,
                                 pelt_error *error);

/* Weights of those targets in every frame of a clip: [frame_count][count], owned by the arena; NULL after an error. */
float *pelt_skin_target_weights(pelt_arena *arena, const pelt_skin *skin, const pelt_skin_targets *targets,
                                const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error);

#endif
