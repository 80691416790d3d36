/* diagnose.h: shared by the parts of the diagnosis: positions and poses (diagnose.c), joints at rest and joints that
   never move (diagnose_joints.c), frames at the wrong time (diagnose_timing.c). All run in one stage. */

#ifndef PELT_DIAGNOSE_H
#define PELT_DIAGNOSE_H

#include "rig/rig.h"

typedef struct diagnosis {
    pelt_bundle *bundle;
    const pelt_clip *const *clips;
    size_t clip_count;
    pelt_arena *scratch; /* of the stage */
    pelt_findings findings;
    double *control_ranges; /* [control] farthest from rest */
} diagnosis;

#define FIND(d, severity, what, ...) pelt_find(&(d)->findings, (d)->bundle->arena, severity, what, __VA_ARGS__)

/* Whether the skeleton at rest reproduces the mesh. */
void pelt_diagnose_rest(diagnosis *d);

/* Joints of the skin that no clip moves. */
void pelt_diagnose_still_joints(diagnosis *d);

/* Caches that are some frames late or early, or that do not move at all; false if one is found. */
bool pelt_diagnose_timing(diagnosis *d, const pelt_clip *clip);

#endif
