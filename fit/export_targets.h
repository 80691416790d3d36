/* export_targets.h: the corrective of a skin as plain glTF: glTF morphs before it skins, which is v = S(v0 + D). */

#ifndef PELT_EXPORT_TARGETS_H
#define PELT_EXPORT_TARGETS_H

#include "rig/rig.h"

/* One morph target per coefficient of the skin's corrective, in the mesh's order of vertices; none when there is no
   corrective. Fails for the weighted form, which has no coefficients. The arena owns the result. */
pelt_result pelt_skin_targets(pelt_arena *arena, const pelt_skin *skin, pelt_target **targets, uint32_t *count,
                              pelt_error *error);

/* Weights of those targets in every frame of a clip: [frame_count][count], owned by the arena; NULL after an error. */
float *pelt_skin_target_weights(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle,
                                const pelt_clip *clip, pelt_error *error);

#endif
