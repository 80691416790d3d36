/* motion.h: how a pose of the skeleton moves the bones in the flesh.

   Bones turn about their joints on the way, as the skeleton does, so chains of bones stay together. All of it is seen from
   the bone nearest to the root: turning or moving the whole character costs nothing and changes no shape. */

#ifndef PELT_FLESH_MOTION_H
#define PELT_FLESH_MOTION_H

#include "flesh/volume.h"

typedef struct pelt_flesh_motion {
    const pelt_skeleton *skeleton;
    const pelt_flesh_bones *bones;
    uint32_t anchor;     /* the bone that stays where it is */
    pelt_affine *from;   /* [joint] relative to the parent, at the start */
    pelt_affine *turns;  /* [joint] from there to the pose */
    pelt_affine *joints; /* [joint] on the way */
    pelt_affine *target; /* [bone] rigid, as the anchor sees them */
    bool still;          /* no bone moves, as the anchor sees it: the flesh is at rest */
    pelt_affine whole;   /* of what the anchor sees into the scene, which may be larger than the mesh */
} pelt_flesh_motion;

/* From a pose, a transform of every joint, or from where the skeleton is bound (start is NULL), to another. PELT_ERROR_DATA: a joint with a bone stretches or is not finite. Fails as
   allocations of the arena do. */
pelt_result pelt_flesh_motion_to(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_flesh_bones *bones,
                                 const pelt_transform *start, const pelt_transform *pose, pelt_flesh_motion *motion,
                                 pelt_error *error);
/* The largest turn of a bone from one pose to another, given by their targets; from rest: NULL. In radians. */
double pelt_flesh_motion_turn(const pelt_flesh_bones *bones, const pelt_affine *from, const pelt_affine *to);

/* The bones part of the way (0 to 1), as pelt_solid_options.path wants it. */
void pelt_flesh_motion_at(void *motion, double part, pelt_affine *bones);

#endif
