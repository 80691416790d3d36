/* elbow.c: a thick rubber tube on two bones that bends by up to 150 degrees.

   The truth moves the cross-sections along a circular arc (spine.c), presses the inner side into a crease, and restores
   the volume lost to the crease and the shorter arc as a bulge around the joint. The bulge scales sections by
       1 + b (1 - (x / contact)^2)^2,
   with b chosen to preserve the rest volume. Linear blending pinches the joint instead. */

#include "samples/build.h"
#include <math.h>

static const double half_length = 3.25, radius = 0.5;
static const double reach = 0.75, contact = 2.25; /* of the arc, and of the bulge and the touching limbs */

static uint32_t skeleton(sample_joint joints[SAMPLE_JOINTS]) {
    joints[0] = (sample_joint){"upper", -1, {-half_length, 0, 0}, {0, 0, 0}};
    joints[1] = (sample_joint){"lower", 0, {0, 0, 0}, {half_length, 0, 0}};
    return 2;
}

/* A cylinder with round ends. */
static void tube_point(const void *user, double t, double turn, double out[3]) {
    (void)user;
    double end = fmin(t, 1 - t), x = -half_length, around = radius, angle = 360 * DEGREE * turn;
    if (end < 0.1) {
        double rise = end / 0.1 * 90 * DEGREE;
        x += radius * (1 - cos(rise));
        around *= sin(rise);
    } else {
        x += radius + (end - 0.1) / 0.4 * (half_length - radius);
    }
    out[0] = t < 0.5 ? x : -x;
    out[1] = around * cos(angle);
    out[2] = around * sin(angle);
}

static void mesh(pelt_arena *arena, pelt_mesh *out) {
    tube_shape shape = {tube_point, NULL, {0.1, 0.9}};
    tube_mesh(arena, &shape, out->vertex_count, 0, out->positions, out->triangles);
}

static void weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double *out) {
    sample_bone_weights(joints, joint_count, place, radius, out);
}

static void pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    (void)random;
    double step = moment->frame_count > 1 ? (double)moment->frame / (moment->frame_count - 1) : 0;
    double angle = moment->training ? 150 * step : 73 * (1 - cos(2 * 180 * DEGREE * (step + 0.01)));
    sample_axis_rotation((double[3]){0, 0, 1}, angle * DEGREE, rotations[1]);
}

static void bend_tube(const pelt_mesh *rest, const spine_bend *joint, double bulge, float *positions) {
    for (size_t v = 0; v < rest->vertex_count; v++) {
        const float *p = rest->positions + 3 * v;
        double scale = 1 + bulge * sample_bump(-contact, contact, p[0]);
        double point[3] = {p[0], scale * p[1], scale * p[2]};
        spine_crease(joint, contact, p[0], point);
        spine_carry(joint, p[0], point);
        for (size_t i = 0; i < 3; i++) positions[3 * v + i] = (float)point[i];
    }
}

static double volume(const pelt_mesh *surface, const float *positions) {
    double sum = 0;
    for (size_t t = 0; t < surface->triangle_count; t++) {
        const uint32_t *corner = surface->triangles + 3 * t;
        const float *a = positions + 3 * (size_t)corner[0], *b = positions + 3 * (size_t)corner[1],
                    *c = positions + 3 * (size_t)corner[2];
        sum += a[0] * ((double)b[1] * c[2] - (double)b[2] * c[1]) + a[1] * ((double)b[2] * c[0] - (double)b[0] * c[2]) +
               a[2] * ((double)b[0] * c[1] - (double)b[1] * c[0]);
    }
    return sum / 6;
}

static void truth(const pelt_mesh *rest, const pelt_transform *locals, double control, float *positions) {
    (void)control;
    spine_bend joint = spine_bend_of(locals[1].rotation, 0, reach);
    double wanted = volume(rest, rest->positions), before = 0, bulge = 0;
    bend_tube(rest, &joint, bulge, positions);
    double have = volume(rest, positions), slope = 1.5 * wanted / half_length;
    for (int round = 0; round < 3 && joint.angle > 0; round++) { /* the secant method: the volume is almost linear */
        double next = bulge + (wanted - have) / slope;
        before = have;
        bend_tube(rest, &joint, next, positions);
        have = volume(rest, positions);
        if (fabs(next - bulge) > 1e-6) slope = (have - before) / (next - bulge);
        bulge = next;
    }
}

const sample_recipe sample_elbow = {"elbow", 3000,    16,   40,    {0, 0, 0, 1}, skeleton,
                                    mesh,    weights, pose, truth, NULL,         NULL};
