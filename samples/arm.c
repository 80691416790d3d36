/* arm.c: the motion of the arm; arm_shape.c has its shape.

   A right arm, stretched out sideways, thumb up, palm to the front. In its local space (that of the joint "collar") x
   runs from the chest to the fingertips, y is up and on the biceps side, -z is the front. The truth depends only on the
   joints' rotations. Every vertex belongs to the section at its rest x, and the joints act on the sections from the
   fingertips inwards (spine.c):

       p = section point, with the muscles of the pose (flex_muscles)
       for hand, wrist, elbow, shoulder:  twist, crease, carry
       p = p + pull of the shoulder on the chest (pull_chest)

   so bends are round, and the twist of the wrist is spread over the whole forearm, as in an arm with two bones.

   "biceps" is the same arm with only the elbow moving, and a muscle that can also be tensed in any pose: the control
   "tension", which no joint reflects. "wrist" is the arm with only the wrist twisting, by 170 degrees: farther than an arm
   can, and as far as shows what linear blending makes of it (Mohr & Gleicher's figure 4). */

#include "samples/build.h"
#include "samples/arm.h"
#include <math.h>
#include <string.h>

enum { COLLAR, SHOULDER, ELBOW, WRIST, HAND, ARM_JOINTS };

/* Per joint: its x; how far its bend reaches; how far from it the skin touches itself; and the range over which the
   twist builds up. */
typedef struct arm_joint {
    const char *name;
    double place, reach, contact, twist_from, twist_to;
} arm_joint;

static const arm_joint arm_joints[ARM_JOINTS] = {
    {"collar", 0.02, 0, 0, 0, 0},
    {"shoulder", ARM_SHOULDER, 0.075, 0.16, 0.10, 0.36},
    {"elbow", ARM_ELBOW, 0.060, 0.24, 0.42, 0.48},
    {"wrist", ARM_WRIST, 0.032, 0.05, 0.47, 0.70},
    {"hand", ARM_KNUCKLES, 0.022, 0.035, 0.80, 0.83},
};

static uint32_t skeleton(sample_joint joints[SAMPLE_JOINTS]) {
    for (int j = 0; j < ARM_JOINTS; j++) {
        double end = j + 1 < ARM_JOINTS ? arm_joints[j + 1].place : ARM_LENGTH;
        joints[j] = (sample_joint){.parent = j - 1, .head = {-arm_joints[j].place, 0, 0}, .tail = {-end, 0, 0}};
        strcpy(joints[j].name, arm_joints[j].name);
    }
    return ARM_JOINTS;
}

static void weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double *out) {
    sample_bone_weights(joints, joint_count, place, 0.035, out);
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* Degrees of freedom, in degrees. */
enum { LIFT, FORWARD, ROLL, FLEX, TURN, CURL, TILT, GRIP, FREEDOMS };

static const double range[FREEDOMS][2] = {{-70, 65}, {-30, 70}, {-40, 40}, {0, 140},
                                          {-85, 85}, {-55, 60}, {-20, 25}, {0, 75}};

static void pose_joints(const double freedoms[FREEDOMS], double (*rotations)[4]) {
    double a[FREEDOMS];
    for (int i = 0; i < FREEDOMS; i++) a[i] = freedoms[i] * DEGREE;
    sample_swing_twist(a[FORWARD], a[LIFT], a[ROLL], rotations[SHOULDER]);
    sample_swing_twist(0, a[FLEX], 0, rotations[ELBOW]);
    sample_swing_twist(a[CURL], a[TILT], a[TURN], rotations[WRIST]);
    sample_swing_twist(a[GRIP], 0, 0, rotations[HAND]);
}

/* Examples: the rest pose, then each degree of freedom alone over its range, then all of them at random. */
static void pose_example(uint32_t frame, uint32_t frame_count, sample_random *random, double (*rotations)[4]) {
    double freedoms[FREEDOMS] = {0};
    uint32_t steps = frame_count / 2 / FREEDOMS, sweeps = steps * FREEDOMS;
    if (frame > sweeps) {
        for (int i = 0; i < FREEDOMS; i++) freedoms[i] = sample_uniform(random, range[i][0], range[i][1]);
    } else if (frame > 0) {
        uint32_t which = (frame - 1) / steps, step = (frame - 1) % steps;
        double low = range[which][0], high = range[which][1];
        /* A range that starts at rest skips its start, which frame 0 already shows. */
        double part = low < 0 && steps > 1 ? (double)step / (steps - 1) : (step + 1.0) / steps;
        freedoms[which] = low + part * (high - low);
    }
    pose_joints(freedoms, rotations);
}

/* A motion: raise from the side, reach out, bend, turn the palm, flex the biceps, lower. */
static const double keys[][FREEDOMS] = {
    {-50, 14, 0, 20, 10, 4, 0, 18},     {10, 36, 12, 34, -64, -30, 8, 6}, {24, 18, -6, 112, 14, 22, 2, 48},
    {10, 10, -12, 78, 78, -8, -10, 24}, {34, -4, 4, 131, 48, 38, 4, 70},  {4, 16, 2, 62, -14, 8, 6, 28},
};

static void pose_motion(uint32_t frame, uint32_t frame_count, double (*rotations)[4]) {
    enum { KEYS = sizeof keys / sizeof *keys };
    double time = (frame + 0.5) / frame_count * (KEYS - 1), freedoms[FREEDOMS];
    int k = (int)fmin(time, KEYS - 2);
    double t = time - k, t2 = t * t, t3 = t2 * t;
    for (int i = 0; i < FREEDOMS; i++) { /* Catmull-Rom */
        double p0 = keys[k > 0 ? k - 1 : 0][i], p1 = keys[k][i], p2 = keys[k + 1][i];
        double p3 = keys[k + 2 < KEYS ? k + 2 : KEYS - 1][i];
        double value =
            p1 + (p2 - p0) / 2 * t + (p0 - 2.5 * p1 + 2 * p2 - p3 / 2) * t2 + (1.5 * (p1 - p2) + (p3 - p0) / 2) * t3;
        freedoms[i] = fmin(range[i][1], fmax(range[i][0], value));
    }
    pose_joints(freedoms, rotations);
}

static void pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    if (moment->training)
        pose_example(moment->frame, moment->frame_count, random, rotations);
    else
        pose_motion(moment->frame, moment->frame_count, rotations);
}

/* -- Truth --------------------------------------------------------------------------------------------------------- */

/* How much a point belongs to the upper (side 1) or lower (side -1) half of its section, 0 to 1. */
static double facing(const double point[3], double side) {
    double up = side * point[1], square = point[1] * point[1] + point[2] * point[2];
    return up > 0 ? up * up / (square + 1e-9) : 0;
}

/* Bending the elbow swells the biceps and the forearm below the crease, flattens the triceps, and brings out the point
   of the elbow; lifting the shoulder bunches the deltoid. Tension raises the biceps, less if it is already contracted.
   */
static void flex_muscles(const spine_bend bends[ARM_JOINTS], double tension, double x, double point[3]) {
    double flex = pow(sin(bends[ELBOW].angle / 2), 2);
    double lift =
        bends[SHOULDER].inward[1] > 0 ? pow(sin(bends[SHOULDER].angle / 2) * bends[SHOULDER].inward[1], 2) : 0;
    double upper = facing(point, 1), lower = facing(point, -1);
    double biceps = sample_bump(0.21, 0.43 - 0.02 * flex, x), triceps = sample_bump(0.20, 0.42, x);
    double forearm = sample_bump(0.45, 0.62, x), tip = sample_bump(ARM_ELBOW - 0.035, ARM_ELBOW + 0.035, x);
    double across = 1 + flex * (0.10 * biceps + 0.12 * forearm), tense = tension * (1 - 0.4 * flex);
    across += tense * 0.08 * biceps;
    point[1] += tense * 0.022 * biceps * upper;
    point[1] += flex * (0.026 * biceps * upper + 0.007 * triceps * lower - 0.014 * tip * lower * lower);
    point[1] -= flex * 0.011 * sample_bump(ARM_ELBOW - 0.075, ARM_ELBOW + 0.075, x);
    point[1] += lift * 0.035 * sample_bump(0.09, 0.27, x) * upper;
    point[2] *= across;
}

/* The shoulder drags the skin on the chest side along; the cut itself stays fixed. */
static void pull_chest(const spine_bend *shoulder, double x, double point[3]) {
    double pull = 0.030 * sin(shoulder->angle) * sample_bump(0.015, 0.21, x);
    for (int i = 1; i < 3; i++) point[i] += pull * shoulder->inward[i];
}

static void truth(const pelt_mesh *rest, const pelt_transform *locals, double tension, float *positions) {
    spine_bend bends[ARM_JOINTS];
    for (int j = SHOULDER; j < ARM_JOINTS; j++)
        bends[j] = spine_bend_of(locals[j].rotation, arm_joints[j].place, arm_joints[j].reach);
    for (size_t v = 0; v < rest->vertex_count; v++) {
        const float *p = rest->positions + 3 * v;
        double x = -p[0], point[3] = {x, p[1], -p[2]}; /* model space is that of the collar, half a turn about y */
        flex_muscles(bends, tension, x, point);
        for (int j = HAND; j >= SHOULDER; j--) {
            spine_twist(&bends[j], arm_joints[j].twist_from, arm_joints[j].twist_to, x, point);
            spine_crease(&bends[j], arm_joints[j].contact, x, point);
            spine_carry(&bends[j], x, point);
        }
        pull_chest(&bends[SHOULDER], x, point);
        positions[3 * v] = (float)-point[0];
        positions[3 * v + 1] = (float)point[1];
        positions[3 * v + 2] = (float)-point[2];
    }
}

/* -- The biceps ---------------------------------------------------------------------------------------------------- */

/* Examples: the elbow alone, the tension alone, then both at once, on a grid staggered from row to row. */
static void biceps_example(uint32_t frame, uint32_t frame_count, double *bend, double *tension) {
    uint32_t sweep = (frame_count - 1) / 4, both = frame_count - 1 - 2 * sweep;
    uint32_t columns = (uint32_t)ceil(sqrt(both)), rows = columns ? (both + columns - 1) / columns : 0;
    *bend = *tension = 0;
    if (frame > 2 * sweep) {
        uint32_t i = frame - 1 - 2 * sweep;
        double shift = (i / columns) % 2 ? 0.25 : -0.25;
        *bend = (i % columns + 1.0) / columns;
        *tension = fmin((i / columns + 0.75 + shift * 0.5) / rows, 1);
    } else if (frame > sweep) {
        *tension = (double)(frame - sweep) / sweep;
    } else if (frame > 0) {
        *bend = (double)frame / sweep;
    }
}

/* Bend and tension, 0 to 1; in the motion the muscle tenses sometimes early, sometimes late. */
static void biceps_moment(const sample_moment *moment, double *bend, double *tension) {
    if (moment->training) {
        biceps_example(moment->frame, moment->frame_count, bend, tension);
        return;
    }
    double time = (moment->frame + 0.5) / moment->frame_count * 360 * DEGREE;
    *bend = 0.5 - 0.47 * cos(2 * time);
    *tension = 0.5 - 0.47 * cos(3 * time + 0.7);
}

static void biceps_pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    (void)random;
    double bend, tension;
    biceps_moment(moment, &bend, &tension);
    sample_swing_twist(0, bend * range[FLEX][1] * DEGREE, 0, rotations[ELBOW]);
}

static double biceps_tension(const sample_moment *moment, sample_random *random) {
    (void)random;
    double bend, tension;
    biceps_moment(moment, &bend, &tension);
    return tension;
}

/* -- The wrist ----------------------------------------------------------------------------------------------------- */

static void wrist_pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    (void)random;
    double step = moment->frame_count > 1 ? (double)moment->frame / (moment->frame_count - 1) : 0;
    double angle = moment->training ? 170 * step : 84.6 * (1 - cos(360 * DEGREE * (step + 0.013)));
    sample_swing_twist(0, 0, angle * DEGREE, rotations[WRIST]);
}

const sample_recipe sample_wrist = {"wrist",  2972,    18,         40,    {0, 1, 0, 0}, skeleton,
                                    arm_mesh, weights, wrist_pose, truth, NULL,         NULL};
const sample_recipe sample_biceps = {"biceps", 2972,    49,          60,    {0, 1, 0, 0}, skeleton,
                                     arm_mesh, weights, biceps_pose, truth, "tension",    biceps_tension};
const sample_recipe sample_arm = {"arm",    11574,   100,  60,    {0, 1, 0, 0}, skeleton,
                                  arm_mesh, weights, pose, truth, NULL,         NULL};
