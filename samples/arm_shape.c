/* arm_shape.c: the arm at rest: muscles and bones as round cones, blended together.

   The distance to a round cone is |p - (a + t (b - a))| - (ra + t (rb - ra)), with t the nearest point on its axis; a
   muscle is thicker in the middle. Distances are combined by a smooth minimum, which rounds the seam over a width k per
   part. The surface is where the combined distance is 0, found along rays from the axis of the arm for the tube mesher.
   */

#include "samples/build.h"
#include "samples/arm.h"
#include <math.h>

typedef struct part {
    double a[3], b[3], ra, rb; /* ends of its axis, radii there */
    double belly;              /* how much thicker it is in the middle */
    double k;                  /* how softly it blends into the parts before it */
} part;

/* In the space of the arm: x towards the fingers, y up (biceps and thumb), -z the front (palm). Metres. */
static const part parts[] = {
    /* chest, top of the shoulder, deltoid */
    {{-0.05, -0.014, 0}, {0.16, -0.004, 0}, 0.072, 0.052, 0, 0.03},
    {{-0.06, 0.020, 0.002}, {0.12, 0.012, 0}, 0.050, 0.044, 0, 0.04},
    {{0.04, 0.008, 0}, {0.305, 0.003, 0}, 0.026, 0.022, 0.042, 0.03},
    /* upper arm: bone, biceps, triceps */
    {{0.15, 0, 0}, {0.45, 0, 0}, 0.044, 0.0345, 0, 0.03},
    {{0.21, 0.008, -0.003}, {0.435, 0.006, -0.001}, 0.026, 0.024, 0.016, 0.02},
    {{0.17, -0.008, 0.003}, {0.425, -0.008, 0.001}, 0.028, 0.024, 0.015, 0.02},
    /* elbow: its point, and the bones on both sides */
    {{0.440, -0.020, 0.001}, {0.462, -0.018, 0.001}, 0.0165, 0.0165, 0, 0.025},
    {{0.448, -0.001, -0.013}, {0.448, -0.001, 0.013}, 0.0220, 0.0220, 0, 0.03},
    /* forearm: bones, top, front and back muscles */
    {{0.44, 0, 0}, {0.71, 0, 0}, 0.0335, 0.0195, 0, 0.03},
    {{0.55, 0.004, 0}, {0.738, 0.0105, 0}, 0.0215, 0.0160, 0, 0.02},
    {{0.55, -0.004, 0}, {0.738, -0.0105, 0}, 0.0215, 0.0160, 0, 0.02},
    {{0.405, 0.008, 0.004}, {0.63, 0.008, 0}, 0.020, 0.016, 0.016, 0.02},
    {{0.43, -0.003, -0.009}, {0.64, -0.003, -0.003}, 0.020, 0.016, 0.015, 0.02},
    {{0.43, -0.003, 0.009}, {0.64, -0.002, 0.003}, 0.020, 0.016, 0.013, 0.02},
    /* palm */
    {{0.730, 0.012, 0.001}, {ARM_KNUCKLES, 0.0295, 0.002}, 0.0160, 0.0122, 0, 0.012},
    {{0.730, 0.004, 0.001}, {ARM_KNUCKLES + 0.003, 0.0100, 0.003}, 0.0160, 0.0132, 0, 0.012},
    {{0.730, -0.004, 0.001}, {ARM_KNUCKLES, -0.0095, 0.002}, 0.0160, 0.0128, 0, 0.012},
    {{0.730, -0.012, 0.000}, {ARM_KNUCKLES - 0.006, -0.0280, 0.000}, 0.0165, 0.0122, 0, 0.012},
    /* fingers, first to fourth */
    {{ARM_KNUCKLES, 0.0295, 0.001}, {0.881, 0.0280, -0.005}, 0.0108, 0.0084, 0, 0.008},
    {{ARM_KNUCKLES, 0.0100, 0.002}, {0.8945, 0.0095, -0.005}, 0.0112, 0.0088, 0, 0.008},
    {{ARM_KNUCKLES, -0.0095, 0.001}, {0.885, -0.0092, -0.006}, 0.0108, 0.0084, 0, 0.008},
    {{ARM_KNUCKLES - 0.006, -0.0280, 0.000}, {0.865, -0.0268, -0.006}, 0.0098, 0.0076, 0, 0.008},
    /* thumb: its ball in the palm, then along the side of the hand */
    {{0.732, 0.016, -0.007}, {0.785, 0.034, -0.007}, 0.0130, 0.0120, 0.004, 0.016},
    {{0.765, 0.0345, -0.006}, {0.806, 0.0470, -0.006}, 0.0125, 0.0095, 0, 0.014},
};

static double smooth_min(double a, double b, double k) {
    double h = fmax(0, k - fabs(a - b)) / k;
    return fmin(a, b) - h * h * h * k / 6;
}

static double part_distance(const part *cone, const double p[3]) {
    double t, away = sample_segment_distance(cone->a, cone->b, p, &t);
    return away - cone->ra - t * (cone->rb - cone->ra) - cone->belly * sample_bump(0, 1, t);
}

/* Signed distance to the arm, nearly; the chest is cut off at x = 0, with a rounded rim. */
static double arm_distance(const double p[3]) {
    double d = part_distance(&parts[0], p);
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        d = smooth_min(d, part_distance(&parts[i], p), parts[i].k);
    return -smooth_min(-d, p[0], 0.04);
}

/* Distance from `origin` to the surface, coming from outside. */
static double surface_distance(const double origin[3], const double direction[3]) {
    double along = 0.2, step = along;
    for (int i = 0; i < 200 && along > 0 && fabs(step) > 1e-7; i++) {
        double p[3];
        for (int c = 0; c < 3; c++) p[c] = origin[c] + along * direction[c];
        step = 0.7 * arm_distance(p); /* not the full step: tapering radii overestimate it a little */
        along -= step;
    }
    return fmax(along, 0);
}

/* Rays leave the axis sideways; in the caps they fan out from its ends. The hand is flat: there they start from a line
   across it, so that they hit the fingers head-on. */
static const double cap_width[2] = {0.16, 0.90};
static const double axis_ends[2] = {0.02, 0.845};

static void arm_point(const void *user, double t, double turn, double out[3]) {
    (void)user;
    const double right = 90 * DEGREE;
    double angle = 4 * right * turn, rise = right, sign = 1, x;
    if (t < cap_width[0]) {
        rise = right * t / cap_width[0], x = axis_ends[0], sign = -1;
    } else if (t > cap_width[1]) {
        rise = right * (1 - t) / (1 - cap_width[1]), x = axis_ends[1];
    } else {
        x = axis_ends[0] + (axis_ends[1] - axis_ends[0]) * (t - cap_width[0]) / (cap_width[1] - cap_width[0]);
    }
    double across = 0.029 * sample_ramp(0.69, 0.80, x) * sqrt(sin(rise));
    double origin[3] = {x, across * cos(angle), 0};
    double direction[3] = {sign * cos(rise), sin(rise) * cos(angle), sin(rise) * sin(angle)};
    double distance = surface_distance(origin, direction);
    for (int i = 0; i < 3; i++) out[i] = origin[i] + distance * direction[i];
    out[0] = -out[0]; /* from the space of the arm to that of the model: half a turn about y */
    out[2] = -out[2];
}

void arm_mesh(pelt_arena *arena, pelt_mesh *mesh) {
    tube_shape shape = {arm_point, NULL, {cap_width[0], cap_width[1]}};
    tube_mesh(arena, &shape, mesh->vertex_count, 0, mesh->positions, mesh->triangles);
}
