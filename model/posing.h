/* posing.h: a packed skin in the frames of a bundle's clips. */

#ifndef PELT_POSING_H
#define PELT_POSING_H

#include "rig/rig.h"

typedef struct pelt_posing {
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    const uint32_t *joints;   /* [skin joint] the bundle's joint of the same name */
    const uint32_t *controls; /* [skin control] the bundle's control, or the number of them */
} pelt_posing;

/* Fails when the bundle lacks a joint of the skin. The arena owns what it finds. */
pelt_result pelt_posing_open(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle, pelt_posing *out,
                             pelt_error *error);

/* Poses a frame in `scratch` (pelt_scratch_size); locals[joint_count] get the transforms of the skin's joints, and may
   be NULL. For the bodies of parallel loops: passing needs are taken from the arena, which ends the body when it is
   out. */
void pelt_posing_frame(const pelt_posing *posing, const pelt_clip *clip, uint32_t frame, pelt_arena *arena,
                       pelt_transform *locals, void *scratch);

/* The mesh that the corrective makes of the rest pose, v0 + D(p), and its unit normals (NULL: not wanted), for a pose
   in `scratch`, which is no longer one of the skin afterwards. In the mesh's order of vertices. */
void pelt_posing_unblended(const pelt_skin *skin, void *scratch, const uint32_t *slot_vertices, float *positions,
                           float *normals);

#endif
