/* poses.h: picks poses to make examples of. Part of `libpelt-fit`.

   Examples are costly: a simulation, a scan, a day of sculpting. For a rig without any, a range of motion covers a lot in
   few poses; from existing clips, a few frames tell nearly as much as all of them.

       pelt_motion_range *range = pelt_motion_range_of(body, NULL, &error);
       const pelt_clip *poses = pelt_bundle_add_poses(body, range, 240, 1, "poses", &error);
       pelt_export_poses(body, poses, "poses.glb", &error);

       size_t frames[15];                                          // of your own motion
       pelt_choose_examples(body, all, 15, PELT_CHOOSE_TELLING, 1, frames, NULL, &error);

   Errors, options and lifetimes are as in fit.h. */

#ifndef PELT_POSES_H_PUBLIC
#define PELT_POSES_H_PUBLIC

#include <pelt/fit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- How far joints rotate ------------------------------------------------------------------------------------------ */

/* The three angles of a joint, relative to its rest pose: rotation = rest * swing * twist, where the swing has the
   rotation vector bend * axes[0] + side * axes[1], and the twist is about axes[2], the bone. */
typedef enum pelt_angle { PELT_BEND, PELT_SIDE, PELT_TWIST, PELT_ANGLE_COUNT } pelt_angle;

typedef enum pelt_limits_from {
    PELT_LIMITS_FOUND, /* from the clips for joints that they rotate by 10 degrees or more, else from names */
    PELT_LIMITS_CLIPS, /* from the clips; what they do not move stays at rest */
    PELT_LIMITS_NAMES, /* by the part of the body that a joint's name suggests: a knee, a finger */
    PELT_LIMITS_GIVEN, /* by the caller; in options: nothing else moves */
} pelt_limits_from;

/* Limits of one joint that the caller knows. */
typedef struct pelt_joint_limit {
    const char *joint;             /* its name */
    int given[PELT_ANGLE_COUNT];   /* 1: this angle's limits are given; otherwise they are found as for other joints */
    double low[PELT_ANGLE_COUNT];  /* radians from the rest pose: -pi <= low <= 0 */
    double high[PELT_ANGLE_COUNT]; /* 0 <= high <= pi */
    double axis[3];                /* to bend about, in the joint's own space; all 0: found */
} pelt_joint_limit;

typedef struct pelt_motion_options {
    pelt_limits_from from;
    const pelt_joint_limit *limits; /* [limit_count] these override `from` */
    size_t limit_count;
} pelt_motion_options;

/* How far a joint may rotate. */
typedef struct pelt_joint_range {
    uint32_t joint;
    pelt_limits_from from;                                /* where most of it comes from */
    const char *part;                                     /* "knee", "spine", ...; "joint": not known by name */
    double axes[PELT_ANGLE_COUNT][3];                     /* unit and orthogonal, in the joint's own space at rest */
    double low[PELT_ANGLE_COUNT], high[PELT_ANGLE_COUNT]; /* radians, low <= 0 <= high */
    uint32_t leader;   /* UINT32_MAX, or the place in the list of a joint that it follows in all clips: then */
    double gain[3][3]; /* its angles are this matrix times the leader's, within its own limits */
} pelt_joint_range;

/* The joints that move: those that bend skin, without helpers that no clip moves. */
typedef struct pelt_motion_range {
    size_t count;
    const pelt_joint_range *list;
    size_t angle_count;       /* with a range, of joints that follow no other: the angles to explore */
    struct pelt_arena *arena; /* owns all of it */
} pelt_motion_range;

/* Finds how far the joints of a character may rotate. Sides and parts are told by names in the usual conventions
   (Mixamo, Unreal, Rigify, VRM, MHR, Left and Right, .L and .R), directions by geometry: knees bend backwards, elbows
   forwards, fingers towards the palm. `options` may be NULL. Free with pelt_motion_range_free. */
PELT_API pelt_motion_range *pelt_motion_range_of(const pelt_bundle *bundle, const pelt_motion_options *options,
                                                 pelt_error *error);
PELT_API void pelt_motion_range_free(pelt_motion_range *range); /* NULL is fine */

/* Limits as a JSON file: {"l_knee": {"bend": [0, 140], "side": [0, 0], "twist": [-5, 5], "axis": [1, 0, 0]}, ...}, in
   degrees; whatever is left out is found. Reading checks the names against the bundle's, which owns the list. */
PELT_API pelt_result pelt_limits_read(pelt_bundle *bundle, const char *path, const pelt_joint_limit **limits,
                                      size_t *count, pelt_error *error);
PELT_API pelt_result pelt_limits_write(const pelt_bundle *bundle, const pelt_motion_range *range, const char *path,
                                       pelt_error *error);

/* -- Poses ---------------------------------------------------------------------------------------------------------- */

/* Most poses in a clip. */
enum { PELT_MOST_POSES = 100000 };

/* Adds a clip of poses to the bundle: first the rest pose; then single angles at their limits, two values each where
   they take no more than a third of the poses, otherwise one, and if that takes more, those that move most skin; then
   whole-body poses. These are drawn within 60% of limits that are given or come from names, and 80% of those that clips
   reach, with the correlations of the clips, and drawn again if limbs intersect. Every pose differs from rest only by
   rotations within the range, so that a simulator can reach it from rest along a straight path. The same seed gives the
   same poses. */
PELT_API const pelt_clip *pelt_bundle_add_poses(pelt_bundle *bundle, const pelt_motion_range *range, uint32_t count,
                                                uint32_t seed, const char *name, pelt_error *error);

/* -- Frames that tell most ------------------------------------------------------------------------------------------ */

typedef enum pelt_frame_choice {
    PELT_CHOOSE_TELLING, /* each next one reduces most what is unknown about the others */
    PELT_CHOOSE_EVEN,    /* evenly spaced */
    PELT_CHOOSE_RANDOM,
} pelt_frame_choice;

/* Chooses `count` of the examples (which need no true positions) and puts their indices into chosen[count], in the order
   of choice, or increasing. What is unknown is the posterior variance of a Gaussian process on the pose, with the kernel
   that skins are fitted with; *left (may be NULL) becomes the fraction of it that remains, averaged over the skin. The
   telling choice is never worse than the even one: the better of the two is taken. */
PELT_API pelt_result pelt_choose_examples(const pelt_bundle *bundle, pelt_examples examples, size_t count,
                                          pelt_frame_choice choice, uint32_t seed, size_t *chosen, double *left,
                                          pelt_error *error);

/* Adds a clip of some frames of other clips to the bundle, with their true positions, if all of them have some. */
PELT_API const pelt_clip *pelt_bundle_pick_frames(pelt_bundle *bundle, pelt_examples frames, const char *name,
                                                  pelt_error *error);

/* Writes the character with one clip and no other: a .glb (or .gltf and .bin) with a key per pose, which also has what
   else is in the bundle's own file; and the true positions of the clip, if it has some, as FILE.CLIP.pc2 next to it. */
PELT_API pelt_result pelt_export_poses(const pelt_bundle *bundle, const pelt_clip *clip, const char *path,
                                       pelt_error *error);

/* -- What a set of examples has too much of ------------------------------------------------------------------------- */

/* Adds pairs of examples with nearly the same pose and different skins ("contradiction"), with how much, and examples
   that repeat others in pose and skin ("redundant"), so that a fit would not miss them. What pelt_diagnose found of exact
   repetitions is replaced by these. All examples need true positions; more than 5,000 are not compared. The bundle owns
   what is found. */
PELT_API pelt_result pelt_review_examples(pelt_bundle *bundle, pelt_examples examples, pelt_findings *findings,
                                          pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
