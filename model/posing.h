/* posing.h: poses a packed skin in the frames of a bundle's clips. */

#ifndef PELT_POSING_H
#define PELT_POSING_H

#include "rig/rig.h"

typedef struct pelt_posing {
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    const uint32_t *joints;   /* [skin joint] the bundle's joint of the same name */
    const uint32_t *controls; /* [skin control] the bundle's control, or their number if it has none */
} pelt_posing;

/* Fails when the bundle lacks a joint of the skin. The arena owns the result. */
pelt_result pelt_posing_open(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle, pelt_posing *out,
                             pelt_error *error);

/* Poses a frame in `scratch` (pelt_scratch_size); locals[joint_count] get the transforms of the skin's joints, and may
   be NULL. For bodies of parallel loops: temporary memory comes from the arena, which ends the body when it runs
   out. */
void pelt_posing_frame(const pelt_posing *posing, const pelt_clip *clip, uint32_t frame, pelt_arena *arena,
                       pelt_transform *locals, void *scratch);

/* The mesh after the corrective but before the blend, v0 + D(p), and its unit normals (may be NULL), for a pose in
   `scratch`, which is invalid afterwards. In the mesh's vertex order. */
void pelt_posing_unblended(const pelt_skin *skin, void *scratch, const uint32_t *slot_vertices, float *positions,
                           float *normals);

#endif
