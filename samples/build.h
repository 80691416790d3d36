/* build.h: shared by all samples: the recipe of a sample, the tube mesher, and the bending spine.

   All samples are built alike. A recipe gives the skeleton, a closed mesh, weights as a function of position, poses,
   and the true deformation; samples.c makes a bundle from it. */

#ifndef PELT_SAMPLES_BUILD_H
#define PELT_SAMPLES_BUILD_H

#include "rig/maths.h"
#include "rig/rig.h"

#define DEGREE (3.14159265358979323846 / 180)

/* -- Recipes ------------------------------------------------------------------------------------------------------- */

enum { SAMPLE_JOINTS = 64 };

/* A joint and its bone at rest, in model space. */
typedef struct sample_joint {
    char name[24];
    int32_t parent;
    double head[3], tail[3];
} sample_joint;

enum { SAMPLE_MOST_FRAMES = 100000 };

/* Small deterministic random numbers (splitmix64). */
typedef struct sample_random {
    uint64_t state;
} sample_random;

double sample_uniform(sample_random *random, double low, double high);

/* A frame for a recipe to pose. */
typedef struct sample_moment {
    bool training; /* an example of "train"; otherwise a frame of "test", a smooth motion */
    uint32_t frame, frame_count;
} sample_moment;

typedef struct sample_recipe {
    const char *name;
    uint32_t vertices, train_frames, test_frames; /* defaults */
    double root_rotation[4];                      /* of the first joint at rest; the other joints inherit it */

    uint32_t (*skeleton)(sample_joint joints[SAMPLE_JOINTS]);

    /* Fills in positions [vertex_count][3] and triangles; counts and memory are already set up. */
    void (*mesh)(pelt_arena *arena, pelt_mesh *mesh);

    /* Weights of all joints at a rest position; they need not sum to 1, and the four largest are kept. */
    void (*weights)(const sample_joint *joints, uint32_t joint_count, const double place[3], double *weights);

    /* Rotation of each joint relative to its rest; identity on entry. Called for frame 0, 1, ... in turn. */
    void (*pose)(const sample_moment *moment, sample_random *random, double (*rotations)[4]);

    /* The true shape in a pose, for any rest positions; NULL: the linear blend of the weights. */
    void (*truth)(const pelt_mesh *mesh, const pelt_transform *locals, double control, float *positions);

    /* A control that the shape depends on besides the joints, 0 at rest; NULL: none. Its value is queried after each
       pose. */
    const char *control;
    double (*control_value)(const sample_moment *moment, sample_random *random);

    uint32_t least_vertices, most_vertices; /* 0: those of most samples */
} sample_recipe;

extern const sample_recipe sample_box, sample_elbow, sample_arm, sample_biceps, sample_wrist, sample_humanoid,
    sample_hand;

/* Weights that fall off smoothly with the distance to each bone: 1 for the nearest bone, 0 for one that is farther by
   `falloff`. */
void sample_bone_weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double falloff,
                         double *weights);

/* -- Tubes (tube.c) ------------------------------------------------------------------------------------------------ */

/* A closed surface made of rings: t goes from one pole (0) to the other (1), turn once around (0 to 1),
   counter-clockwise when the tube points at the viewer. Caps are the ranges t < cap[0] and t > cap[1]. */
typedef struct tube_shape {
    void (*point)(const void *user, double t, double turn, double out[3]);
    const void *user;
    double cap[2];
} tube_shape;

/* Minimum vertices of a tube: two poles and a ring of four. A tube of n vertices has 2n - 4 triangles. */
enum { TUBE_LEAST = 6 };

/* Meshes a tube with exactly vertex_count vertices. Triangle indices start at `base`. */
void tube_mesh(pelt_arena *arena, const tube_shape *shape, uint32_t vertex_count, uint32_t base, float *positions,
               uint32_t *triangles);

/* -- Split vertices (split.c) ---------------------------------------------------------------------------------------- */

/* Splits the vertices of a closed mesh as in a file of this variant (samples.h); false: no such variant. */
bool sample_split(pelt_arena *arena, const char *variant, pelt_mesh *mesh);

/* -- The bending spine (spine.c) ----------------------------------------------------------------------------------- */

/* Distance of a point to the segment from a to b; *t is the nearest point on it, from 0 at a to 1 at b. */
double sample_segment_distance(const double a[3], const double b[3], const double point[3], double *t);

void sample_axis_rotation(const double axis[3], double angle, double out[4]);

/* Rotation that first twists about x, then swings by the rotation vector (0, swing_y, swing_z). Radians. */
void sample_swing_twist(double swing_y, double swing_z, double twist, double out[4]);

/* Smooth ramp from 0 at `from` to 1 at `to`, and smooth bump: 1 in the middle, 0 outside. */
double sample_ramp(double from, double to, double x);
double sample_bump(double from, double to, double x);

/* A joint of a spine that runs along x at rest, decomposed: rotation = swing x twist. */
typedef struct spine_bend {
    double place, reach; /* the swing is spread over place - reach to place + reach */
    double angle, twist; /* radians */
    double inward[3];    /* unit vector across x: the side that the swing closes */
} spine_bend;

spine_bend spine_bend_of(const float rotation[4], double place, double reach);

/* Rotates the point about x by the share of the twist that the section at x gets: all of it from `to` on. */
void spine_twist(const spine_bend *bend, double from, double to, double x, double point[3]);

/* Presses the inner side of the section at x into a crease, so that no two sections intersect. `contact`: how far from
   the joint the two limbs can touch. */
void spine_crease(const spine_bend *bend, double contact, double x, double point[3]);

/* Moves a point along with the section at x: rigidly outside the reach, along a circle inside. */
void spine_carry(const spine_bend *bend, double x, double point[3]);

#endif
