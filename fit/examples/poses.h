/* poses.h: the poses of the examples as correctives see them: rotations relative to rest, and what moves together. */

#ifndef PELT_POSES_H
#define PELT_POSES_H

#include "fit/corrective/findings.h"
#include "fit/examples/controls.h"

#define PELT_NO_MOVER UINT32_MAX

/* Joints whose rotations determine each other in all examples: one joint, or several that share a movement (a spine),
   with the helpers that follow them (twist joints). Or a control: then count is 0 and first is its index. */
typedef struct pelt_mover {
    uint32_t first, count; /* members: pelt_poses.members[first] to [first + count - 1], without followers */
    uint32_t parent;       /* the nearest mover above in the skeleton, or PELT_NO_MOVER */
    bool swept;            /* some examples move it alone */
} pelt_mover;

static inline bool pelt_is_control(const pelt_mover *mover) { return mover->count == 0; }

/* A joint that all examples rotate about one axis, with a total range of more than half a turn: there angles are
   compared instead of rotations, which wrap around. */
typedef struct pelt_hinge {
    float direction[3], middle, reach; /* as in pelt_file_axis; reach 0: not such a hinge */
} pelt_hinge;

typedef struct pelt_poses {
    uint32_t count, joint_count;
    double size;         /* of the character: the unit of translations */
    float *rotations;    /* [pose][joint][4] local rotation relative to rest, unit, w >= 0 */
    float *translations; /* [pose][joint][3] local translation relative to rest */
    bool *moves;         /* [joint] rotates in some pose */
    bool *slides;        /* [joint] its local translation changes in some pose */
    bool *rest;          /* [pose] nothing moves */
    pelt_hinge *hinges;  /* [joint] */

    uint32_t control_count; /* those with more than one value in the poses */
    pelt_model_control *control_list;
    float *controls; /* [pose][control] value relative to rest */

    uint32_t mover_count;
    pelt_mover *movers; /* of joints, then one per control */
    uint32_t *members;  /* [member_count] joints, mover by mover */
    uint32_t *mover_of; /* [joint] its mover, including followers; PELT_NO_MOVER for joints that do not rotate */
    bool *bent; /* [joint] follows its mover, but not as a linear function: a twist that is taken out of a swing */
    uint32_t *sweep_of; /* [pose] the only mover that moves, or PELT_NO_MOVER */
    uint32_t *motion;   /* [pose] the motion that it is a frame of, from 1 on; 0: none */
} pelt_poses;

/* Frames follow each other if their squared steps are less than this of those between random ones. */
#define PELT_MOTION_STEP 0.2

/* Poses of the examples; only the control scales of the options matter. The arena owns the result. */
void pelt_poses_of(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                   const pelt_fit_options *options, pelt_poses *poses);

/* Deals poses to folds for cross-validation, as fold[pose], 0 to PELT_POSE_FOLDS - 1: those that move several things, or
   all that move if there are few such. -1: always trains. A frame of a motion predicts its neighbours, and a step of a
   walk the next, whatever is taken for their cause; so a fold gets whole motions, or stretches of the only one, a
   twelfth each. Returns how many poses move several things. */
#define PELT_POSE_FOLDS 5
uint32_t pelt_deal_folds(const pelt_poses *poses, int *fold);

/* Weights of squared errors in cross-validation, [pose], such that frames of motions and other poses count in proportion
   to their number, and not to the squared displacements, energies[pose], of one or the other. */
void pelt_balance_folds(const pelt_poses *poses, const int *fold, const double *energies, double *weights);

/* Chooses up to `most` poses that are far apart: sweeps first, up to half; then greedily the pose farthest from the
   rest pose and from those chosen. `chosen` is ascending; returns how many. */
uint32_t pelt_spread_poses(pelt_arena *arena, const pelt_poses *poses, uint32_t most, uint32_t *chosen);

/* The examples themselves if there are no more than `most`; else those that pelt_spread_poses chooses. */
pelt_examples pelt_fewer_examples(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                  const pelt_fit_options *options, uint32_t most);

/* first_of[pose] gets the first pose equal to it, or PELT_REST_EXAMPLE if it is the rest pose, within a thousandth of a
   radian; translations are relative to the size. */
void pelt_same_poses(pelt_arena *arena, const pelt_poses *poses, uint32_t *first_of);

#endif
