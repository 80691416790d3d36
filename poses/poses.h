/* poses.h: shared by the files of this room. All of it works in stages. */

#ifndef PELT_ROOM_POSES_H
#define PELT_ROOM_POSES_H

#include "rig/maths.h"
#include "rig/rig.h"
#include <pelt/poses.h>

/* -- Parts of the body, by name (parts.c) --------------------------------------------------------------------------- */

/* X(PART, "name for people") */
#define PARTS(X)                                                                                                       \
    X(PART_UNKNOWN, "joint")                                                                                           \
    X(PART_STILL, "helper") /* ends, targets, controls, twist helpers: left alone */                                   \
    X(PART_HIPS, "hips")                                                                                               \
    X(PART_SPINE, "spine")                                                                                             \
    X(PART_NECK, "neck")                                                                                               \
    X(PART_HEAD, "head")                                                                                               \
    X(PART_JAW, "jaw")                                                                                                 \
    X(PART_EYE, "eye")                                                                                                 \
    X(PART_CLAVICLE, "collarbone")                                                                                     \
    X(PART_SHOULDER, "shoulder")                                                                                       \
    X(PART_ELBOW, "elbow")                                                                                             \
    X(PART_TWIST, "forearm twist") /* a joint above the wrist that only turns the forearm */                           \
    X(PART_WRIST, "wrist")                                                                                             \
    X(PART_PALM, "palm bone")                                                                                          \
    X(PART_KNUCKLE, "knuckle")                                                                                         \
    X(PART_FINGER, "finger")                                                                                           \
    X(PART_THUMB_ROOT, "thumb root")                                                                                   \
    X(PART_THUMB, "thumb")                                                                                             \
    X(PART_HIP, "hip")                                                                                                 \
    X(PART_KNEE, "knee")                                                                                               \
    X(PART_ANKLE, "ankle")                                                                                             \
    X(PART_TOE, "toe")                                                                                                 \
    X(PART_TAIL, "tail or ear")                                                                                        \
    X(PART_SOFT, "soft part") /* hair, clothes, tongue */

#define PART_CONSTANT(part, name) part,
typedef enum part { PARTS(PART_CONSTANT) PART_COUNT } part;

extern const char *const pelt_part_names[PART_COUNT];

/* parts[joint], and sides[joint]: 1 left, -1 right, 0 neither. */
void pelt_name_parts(pelt_arena *arena, const pelt_skeleton *skeleton, part *parts, int *sides);

/* -- The body at rest (body.c) -------------------------------------------------------------------------------------- */

typedef struct body {
    const pelt_bundle *bundle;
    part *parts;          /* [joint] */
    int *sides;           /* [joint] */
    pelt_affine *globals; /* [joint] at rest */
    double (*bones)[3];   /* [joint] unit direction in the scene: towards the next joint of its limb */
    double *carried;      /* [joint] sum of the weights that it and the joints below it have */
    bool *moves;          /* [joint] bends skin: not a rigid part, nor all there is */
    bool four_legged;     /* stands on its hands */
    double up[3], front[3], left[3];
} body;

void pelt_body_of(pelt_arena *arena, const pelt_bundle *bundle, body *out);

/* Where a joint is. */
void pelt_head_of(const body *b, uint32_t joint, double out[3]);

/* Makes a vector unit length; false, and unchanged, if it has no direction. */
static inline bool pelt_unit(double v[3]) {
    double length = pelt_length(v);
    for (int i = 0; i < 3 && length > 0; i++) v[i] /= length;
    return length > 0;
}

/* The part of v across the unit vector d, as a unit vector; false if there is none. */
static inline bool pelt_across(const double v[3], const double d[3], double out[3]) {
    double along = pelt_dot(v, d), size = pelt_length(v);
    for (int i = 0; i < 3; i++) out[i] = v[i] - along * d[i];
    return pelt_length(out) > 1e-3 * size && pelt_unit(out);
}

/* -- Hands (hand.c) ------------------------------------------------------------------------------------------------- */

typedef struct hand {
    double fingers[3], row[3], palm[3]; /* where fingers point, from the first to the last of them, out of the palm */
} hand;

/* The hand that a joint belongs to; false if it has no fingers. */
bool pelt_hand_of(const body *b, uint32_t joint, hand *out);

/* -- Limits by part (by_part.c) -------------------------------------------------------------------------------------- */

/* Axes (in the joint's own space) and limits of a joint by its part. */
void pelt_part_range(const body *b, uint32_t joint, pelt_joint_range *range);

/* Axes for a joint that bends about this axis, given in its own space. */
void pelt_axes_about(const body *b, uint32_t joint, const double axis[3], double axes[3][3]);

/* -- Angles (angles.c) ---------------------------------------------------------------------------------------------- */

/* The angles of a rotation relative to rest (x y z w), and back. */
void pelt_angles_of(const double axes[3][3], const double q[4], double angles[3]);
void pelt_rotation_of(const double axes[3][3], const double angles[3], double q[4]);

/* -- Clips (followers.c) -------------------------------------------------------------------------------------------- */

/* Rotations relative to rest in all frames of all clips, [frame][joint][4]; NULL: there are no frames. */
float *pelt_clip_rotations(pelt_arena *arena, const pelt_bundle *bundle, size_t *frame_count);

/* Fills in leaders and gains of joints that follow others: angles is [frame][range][3]. */
void pelt_find_followers(pelt_arena *arena, const body *b, size_t frame_count, const double *angles, size_t count,
                         pelt_joint_range *list);

/* -- Limbs that run through each other (collide.c) ------------------------------------------------------------------ */

typedef struct limbs limbs;
const limbs *pelt_limbs_of(pelt_arena *arena, const body *b);
/* How deep limbs are inside each other, beyond what they are at rest, in scene units. */
double pelt_limbs_overlap(const limbs *l, pelt_arena *scratch, const pelt_transform *pose);

/* -- Clips of poses (draw.c) ---------------------------------------------------------------------------------------- */

/* Makes a new clip step from pose to pose: what lies between two of them means nothing. NULL is fine. */
const pelt_clip *pelt_still_keys(const pelt_clip *clip);

/* -- Random numbers ------------------------------------------------------------------------------------------------- */

/* splitmix64: uniform in [0, 1). */
static inline double pelt_draw(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

#endif
