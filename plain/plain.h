/* plain.h: a skin as plain nodes, weights and tracks, playable in any engine. */

#ifndef PELT_PLAIN_H
#define PELT_PLAIN_H

#include "model/model.h"

/* Everything a plain file contains, in the arena. */
typedef struct pelt_plain {
    pelt_mesh mesh;
    pelt_skeleton skeleton;  /* the skin's joints, then nodes: its driven joints, and two per pair */
    const pelt_clip **clips; /* with tracks for the nodes */
    uint32_t clip_count;
    uint32_t pair_count; /* of joints, for negative weights (extrapolate.h) */
    double worst;        /* largest matrix element error of a node: a single node cannot shear */
} pelt_plain;

/* Makes it from a model and the bundle that has the clips. */
pelt_result pelt_plain_make(pelt_arena *arena, const pelt_model *model, const pelt_bundle *bundle,
                            const pelt_clip *const *clips, size_t clip_count, pelt_plain *plain, pelt_error *error);

/* Writes a character with these of its clips and no other, as pelt_export_poses does with one (export_poses.c). */
pelt_result pelt_export_only_clips(const pelt_bundle *bundle, const pelt_clip *const *clips, uint32_t count,
                                   const char *path, pelt_error *error);

#endif
