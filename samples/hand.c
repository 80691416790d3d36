/* hand.c: the skeleton and the motion of the hand; hand_shape.c has its shape.

   A right hand, palm down: x runs from the wrist to the fingertips, y is up (the back of the hand), z towards the thumb.
   It has 16 joints: the palm, which carries the metacarpals of the fingers, and three for each finger and the thumb. As
   in EigenSkin (Kry, James & Pai 2002, 4), examples move one degree of freedom each, in five steps; "test" are grasps
   that move all 20 at once. It has no truth of its own: `pelt sample hand` and `pelt flesh` simulate it. */

#include "samples/build.h"
#include "samples/hand.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const finger_names[HAND_FINGERS] = {"index", "middle", "ring", "pinky", "thumb"};

/* Where each begins, the direction that it points in, the side that its nail is on, and the lengths of its bones. */
typedef struct finger_plan {
    double base[3], direction[3], nail[3], lengths[3];
} finger_plan;

static const finger_plan plans[HAND_FINGERS] = {
    {{0.091, 0, 0.0325}, {0.99, -0.06, 0.13}, {0, 1, 0}, {0.043, 0.026, 0.022}},
    {{0.096, 0.002, 0.0105}, {1, -0.05, 0.01}, {0, 1, 0}, {0.047, 0.030, 0.023}},
    {{0.091, 0.001, -0.0115}, {0.99, -0.06, -0.11}, {0, 1, 0}, {0.044, 0.028, 0.023}},
    {{0.081, -0.002, -0.0325}, {0.97, -0.08, -0.24}, {0, 1, 0}, {0.034, 0.021, 0.020}},
    {{0.024, -0.008, 0.026}, {0.70, -0.22, 0.68}, {-0.45, 0.70, 0.55}, {0.043, 0.033, 0.026}},
};

static void normalize(double v[3]) {
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++) v[i] /= length;
}

static void cross(const double a[3], const double b[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* `bend` closes a finger towards the palm; `spread` moves it sideways. */
static void finger_axes(int finger, double along[3], double bend[3], double spread[3]) {
    memcpy(along, plans[finger].direction, 3 * sizeof *along);
    normalize(along);
    cross(plans[finger].nail, along, bend);
    normalize(bend);
    cross(along, bend, spread);
}

/* Fingers at rest are a little bent, each bone more than the one before. */
void hand_finger_points(int finger, double points[4][3]) {
    static const double bends[2][3] = {{0, 9, 16}, {0, 7, 16}};
    double along[3], bend[3], spread[3];
    finger_axes(finger, along, bend, spread);
    memcpy(points[0], plans[finger].base, sizeof points[0]);
    for (int k = 0; k < 3; k++) {
        double angle = bends[finger == HAND_THUMB][k] * DEGREE, length = plans[finger].lengths[k];
        for (int i = 0; i < 3; i++)
            points[k + 1][i] = points[k][i] + length * (cos(angle) * along[i] - sin(angle) * spread[i]);
    }
}

static uint32_t skeleton(sample_joint joints[SAMPLE_JOINTS]) {
    static const char *const finger_parts[] = {"proximal", "middle", "distal"}, *const thumb_parts[] = {
                                                                                    "metacarpal", "proximal", "distal"};
    uint32_t count = 0;
    joints[count++] = (sample_joint){.name = "palm", .parent = -1, .head = {0}, .tail = {0.096, 0.002, 0.0105}};
    for (int f = 0; f < HAND_FINGERS; f++) {
        double points[4][3];
        hand_finger_points(f, points);
        for (int k = 0; k < 3; k++) {
            sample_joint *joint = &joints[count];
            *joint = (sample_joint){.parent = k ? (int32_t)count - 1 : 0};
            snprintf(joint->name, sizeof joint->name, "%s_%s", finger_names[f],
                     f == HAND_THUMB ? thumb_parts[k] : finger_parts[k]);
            memcpy(joint->head, points[k], sizeof joint->head);
            memcpy(joint->tail, points[k + 1], sizeof joint->tail);
            count++;
        }
    }
    return count;
}

/* The palm's weight is by the nearest of its metacarpals, the others by their bones. */
static void weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double *out) {
    const double falloff = 0.011;
    double nearest = INFINITY;
    for (uint32_t j = 0; j < joint_count; j++) {
        double t;
        out[j] = sample_segment_distance(joints[j].head, joints[j].tail, place, &t);
        for (int f = 0; f < HAND_THUMB && !j; f++) {
            double start[3];
            hand_wrist_point(f, start);
            out[0] = fmin(out[0], sample_segment_distance(start, plans[f].base, place, &t));
        }
        if (!j) out[0] = fmin(out[0], sample_segment_distance((double[3]){-0.08, 0, 0}, (double[3]){0}, place, &t));
        nearest = fmin(nearest, out[j]);
    }
    for (uint32_t j = 0; j < joint_count; j++) out[j] = pow(fmax(0, 1 - (out[j] - nearest) / falloff), 2);
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* Of each finger: the bend of its three joints, and the spread of the first, in degrees. */
enum { FREEDOMS = 4, ALL_FREEDOMS = FREEDOMS * HAND_FINGERS };

static const double finger_range[FREEDOMS][2] = {{-20, 70}, {0, 70}, {-5, 55}, {-6, 6}},
                    thumb_range[FREEDOMS][2] = {{-18, 30}, {-5, 45}, {-10, 60}, {-18, 18}};

static const double *range_of(int freedom) {
    return (freedom / FREEDOMS == HAND_THUMB ? thumb_range : finger_range)[freedom % FREEDOMS];
}

static void pose_joints(const double degrees[ALL_FREEDOMS], double (*rotations)[4]) {
    for (int f = 0; f < HAND_FINGERS; f++) {
        double along[3], bend[3], spread[3], aside[4], bent[4];
        finger_axes(f, along, bend, spread);
        const double *d = degrees + FREEDOMS * f;
        for (int k = 0; k < 3; k++) sample_axis_rotation(bend, d[k] * DEGREE, rotations[1 + 3 * f + k]);
        sample_axis_rotation(spread, d[3] * DEGREE, aside);
        memcpy(bent, rotations[1 + 3 * f], sizeof bent);
        pelt_quaternion_multiply(aside, bent, rotations[1 + 3 * f]);
    }
}

/* The rest pose, then every degree of freedom alone, evenly over its range and never at rest. */
static void pose_sweep(uint32_t frame, uint32_t frame_count, double degrees[ALL_FREEDOMS]) {
    uint32_t steps = (uint32_t)fmax(1, (frame_count - 1) / ALL_FREEDOMS), which = frame ? (frame - 1) / steps : 0;
    if (!frame || which >= ALL_FREEDOMS) return;
    const double *range = range_of((int)which);
    uint32_t step = (frame - 1) % steps, below = (uint32_t)round(steps * -range[0] / (range[1] - range[0]));
    if (below == 0 && range[0] < 0 && steps > 1) below = 1;
    degrees[which] = step < below ? range[0] * (below - step) / below : range[1] * (step - below + 1) / (steps - below);
}

/* A grasp: fingers close together, each a little in its own way, and the last joint follows the middle one. */
static void pose_grasp(sample_random *random, double degrees[ALL_FREEDOMS]) {
    double close = sample_uniform(random, 0, 0.8), curl = sample_uniform(random, 0.1, 0.9);
    for (int f = 0; f < HAND_THUMB; f++) {
        double *d = degrees + FREEDOMS * f, own = sample_uniform(random, 0, 1) < 0.15 ? 0.1 : 1;
        d[0] = own * close * 70 + sample_uniform(random, -8, 8);
        d[1] = own * curl * 70 + sample_uniform(random, -7, 0);
        d[2] = 0.7 * d[1] + sample_uniform(random, -5, 5);
        d[3] = sample_uniform(random, -3, 3);
    }
    for (int k = 0; k < FREEDOMS; k++)
        degrees[FREEDOMS * HAND_THUMB + k] = sample_uniform(random, 0.8 * thumb_range[k][0], 0.8 * thumb_range[k][1]);
    for (int i = 0; i < ALL_FREEDOMS; i++) degrees[i] = fmin(range_of(i)[1], fmax(range_of(i)[0], degrees[i]));
}

static void pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    double degrees[ALL_FREEDOMS] = {0};
    if (moment->training)
        pose_sweep(moment->frame, moment->frame_count, degrees);
    else
        pose_grasp(random, degrees);
    pose_joints(degrees, rotations);
}

const sample_recipe sample_hand = {.name = "hand",
                                   .vertices = 5000,
                                   .least_vertices = 2000,
                                   .most_vertices = 100000,
                                   .train_frames = 101,
                                   .test_frames = 25,
                                   .root_rotation = {0, 0, 0, 1},
                                   .skeleton = skeleton,
                                   .mesh = hand_mesh,
                                   .weights = weights,
                                   .pose = pose};
