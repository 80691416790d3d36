/* box.c: Mohr & Gleicher's twisting box (their figure 3). Two joints along x; the second one twists.

   The truth spreads the twist smoothly over the middle and preserves every cross-section. Linear blending averages
   matrices, and halfway between a section and the same section turned by 180 degrees it collapses. The twist goes one
   way only: -180 and 180 degrees are the same pose, but would be two shapes. */

#include "samples/build.h"
#include <math.h>

static const double half_length = 3, half_side = 0.5, corner = 0.12; /* corner: radius of the rounded edges */
static const double stretch = 2;                                     /* the twist is spread over +- stretch */

static uint32_t skeleton(sample_joint joints[SAMPLE_JOINTS]) {
    joints[0] = (sample_joint){"base", -1, {-half_length, 0, 0}, {0, 0, 0}};
    joints[1] = (sample_joint){"twist", 0, {0, 0, 0}, {half_length, 0, 0}};
    return 2;
}

/* A square with rounded corners, sampled evenly along its outline. */
static void square_point(double turn, double *y, double *z) {
    double flat = 2 * (half_side - corner), arc = corner * 90 * DEGREE;
    double quarter = floor(turn * 4 + 0.5), along = (turn * 4 - quarter) * (flat + arc); /* from the middle of a side */
    double bend = fmax(0, fabs(along) - flat / 2) / corner; /* angle on the rounded corner */
    double a = half_side - corner * (1 - cos(bend));
    double b = copysign(fmin(fabs(along), flat / 2) + corner * sin(bend), along);
    double c = cos(quarter * 90 * DEGREE), s = sin(quarter * 90 * DEGREE);
    *y = c * a - s * b;
    *z = s * a + c * b;
}

/* The flat end grows from the pole, then the rounded rim, then the long sides. */
static void box_point(const void *user, double t, double turn, double out[3]) {
    (void)user;
    double end = fmin(t, 1 - t), x = -half_length, scale = 1, y, z;
    if (end < 0.08) {
        scale = end / 0.08 * (1 - corner / half_side);
    } else if (end < 0.1) {
        double angle = (end - 0.08) / 0.02 * 90 * DEGREE;
        scale = 1 - corner / half_side * (1 - sin(angle));
        x += corner * (1 - cos(angle));
    } else {
        x += corner + (end - 0.1) / 0.4 * (half_length - corner);
    }
    square_point(turn, &y, &z);
    out[0] = t < 0.5 ? x : -x;
    out[1] = scale * y;
    out[2] = scale * z;
}

static void mesh(pelt_arena *arena, pelt_mesh *out) {
    tube_shape shape = {box_point, NULL, {0.1, 0.9}};
    tube_mesh(arena, &shape, out->vertex_count, 0, out->positions, out->triangles);
}

static void weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double *out) {
    (void)joints, (void)joint_count;
    out[1] = fmin(1, fmax(0, (place[0] / stretch + 1) / 2));
    out[0] = 1 - out[1];
}

static void pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    (void)random;
    double step = moment->frame_count > 1 ? (double)moment->frame / (moment->frame_count - 1) : 0;
    double angle = moment->training ? 180 * step : 88 * (1 - cos(2 * 180 * DEGREE * (step + 0.01)));
    sample_axis_rotation((double[3]){1, 0, 0}, angle * DEGREE, rotations[1]);
}

static void truth(const pelt_mesh *rest, const pelt_transform *locals, double control, float *positions) {
    (void)control;
    spine_bend joint = spine_bend_of(locals[1].rotation, 0, stretch);
    for (size_t v = 0; v < rest->vertex_count; v++) {
        const float *p = rest->positions + 3 * v;
        double point[3] = {p[0], p[1], p[2]};
        spine_twist(&joint, -stretch, stretch, p[0], point);
        for (size_t i = 0; i < 3; i++) positions[3 * v + i] = (float)point[i];
    }
}

const sample_recipe sample_box = {"box", 3000, 13, 40, {0, 0, 0, 1}, skeleton, mesh, weights, pose, truth, NULL, NULL};
