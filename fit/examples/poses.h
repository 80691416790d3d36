/* poses.h: the poses of the examples as correctives see them: rotations from rest, and what moves together. */

#ifndef PELT_POSES_H
#define PELT_POSES_H

#include "fit/corrective/figures.h"
#include "fit/examples/controls.h"

#define PELT_NO_MOVER UINT32_MAX

/* Joints that the examples always turn together: one joint, or several that share a movement (a spine), with the
   helpers that follow them (twist joints). Or a control: then count is 0, and first is its index. */
typedef struct pelt_mover {
    uint32_t first, count; /* members: pelt_poses.members[first] to [first + count - 1], without followers */
    uint32_t parent;       /* the nearest mover above in the skeleton, or PELT_NO_MOVER */
    bool swept;            /* some examples move it alone */
} pelt_mover;

static inline bool pelt_is_control(const pelt_mover *mover) { return mover->count == 0; }

/* A joint that all examples turn about one axis, further than half a turn in all: there angles are compared instead of
   rotations, which come back from the other side. */
typedef struct pelt_hinge {
    float direction[3], middle, reach; /* as in pelt_file_axis; reach 0: the joint is no such hinge */
} pelt_hinge;

typedef struct pelt_poses {
    uint32_t count, joint_count;
    double size;         /* of the character: what translations are small or large by */
    float *rotations;    /* [pose][joint][4] local rotation relative to rest, unit, w >= 0 */
    float *translations; /* [pose][joint][3] local translation minus that at rest */
    bool *moves;         /* [joint] turns in some pose */
    bool *slides;        /* [joint] its local translation changes in some pose */
    bool *rest;          /* [pose] nothing moves */
    pelt_hinge *hinges;  /* [joint] */

    uint32_t control_count; /* that take more than one value in the poses */
    pelt_model_control *control_list;
    float *controls; /* [pose][control] value minus that at rest */

    uint32_t mover_count;
    pelt_mover *movers; /* of joints, then one for each control */
    uint32_t *members;  /* [member_count] joints, mover by mover */
    uint32_t *mover_of; /* [joint] its mover, also of followers; PELT_NO_MOVER for joints that do not turn */
    uint32_t *sweep_of; /* [pose] the only mover that moves, or PELT_NO_MOVER */
    uint32_t
        *stretch; /* [pose] growing; poses of several movers that follow one another in time share one, a twelfth of
                           their clip: what is left out between frames of a motion tells nothing. Others have their own */
} pelt_poses;

/* Poses of the examples; of the options only the scales of controls count. The arena owns the result. */
void pelt_poses_of(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                   const pelt_fit_options *options, pelt_poses *poses);

/* Chooses up to `most` poses that lie apart: those that move one joint alone come first, as long as they are no more than
   half; then one after the other the pose that is farthest from the rest pose and from those chosen. chosen[] gets them
   in rising order; returns how many. */
uint32_t pelt_spread_poses(pelt_arena *arena, const pelt_poses *poses, uint32_t most, uint32_t *chosen);

/* first_of[pose] gets the first pose that is the same, or PELT_REST_EXAMPLE when it is the rest pose, to within a
   thousandth of a radian; translations count as parts of the size. */
void pelt_same_poses(pelt_arena *arena, const pelt_poses *poses, uint32_t *first_of);

#endif
