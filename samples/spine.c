/* spine.c: how the true shapes bend. A spine runs along x; a joint at x = place swings it by an angle a.

   Within place +- reach the spine follows the circle that is tangent to both bones, of radius
       rho = reach / tan(a / 2),
   and every cross-section moves along as a rigid plane, perpendicular to the circle. Outside the reach this is exactly
   the motion of the bone. All section planes of the arc meet in the line through the circle's centre, and those of the
   two straight limbs would meet in the plane that bisects the angle; so the inner side of the section at x has room up
   to the height h(x) = rho within the reach, h(x) = |x - place| / tan(a / 2) outside, and pressing it below h keeps all
   sections apart: a crease, but no self-intersection. */

#include "samples/build.h"
#include <math.h>
#include <string.h>

void sample_axis_rotation(const double axis[3], double angle, double out[4]) {
    for (int i = 0; i < 3; i++) out[i] = axis[i] * sin(angle / 2);
    out[3] = cos(angle / 2);
}

void sample_swing_twist(double swing_y, double swing_z, double twist, double out[4]) {
    double angle = hypot(swing_y, swing_z), swing[4], turn[4];
    double axis[3] = {0, angle > 0 ? swing_y / angle : 0, angle > 0 ? swing_z / angle : 1};
    sample_axis_rotation(axis, angle, swing);
    sample_axis_rotation((double[3]){1, 0, 0}, twist, turn);
    pelt_quaternion_multiply(swing, turn, out);
}

double sample_segment_distance(const double a[3], const double b[3], const double point[3], double *t) {
    double along = 0, length = 0, square = 0;
    for (int i = 0; i < 3; i++) {
        along += (b[i] - a[i]) * (point[i] - a[i]);
        length += (b[i] - a[i]) * (b[i] - a[i]);
    }
    *t = length > 0 ? fmin(1, fmax(0, along / length)) : 0;
    for (int i = 0; i < 3; i++) square += pow(point[i] - a[i] - *t * (b[i] - a[i]), 2);
    return sqrt(square);
}

double sample_ramp(double from, double to, double x) {
    double t = fmin(1, fmax(0, (x - from) / (to - from)));
    return t * t * (3 - 2 * t);
}

double sample_bump(double from, double to, double x) {
    double t = fmax(0, 1 - pow((2 * x - from - to) / (to - from), 2));
    return t * t;
}

spine_bend spine_bend_of(const float rotation[4], double place, double reach) {
    double q[4], swing[4], turn[4] = {0, 0, 0, 1};
    for (int i = 0; i < 4; i++) q[i] = rotation[3] < 0 ? -rotation[i] : rotation[i]; /* q and -q are one rotation */
    double norm = hypot(q[0], q[3]);
    if (norm > 0) turn[0] = -q[0] / norm, turn[3] = q[3] / norm;
    pelt_quaternion_multiply(q, turn, swing);
    double sine = hypot(swing[1], swing[2]);
    spine_bend bend = {place, reach, 2 * atan2(sine, swing[3]), -2 * atan2(turn[0], turn[3]), {0, 1, 0}};
    if (sine > 0) bend.inward[1] = swing[2] / sine, bend.inward[2] = -swing[1] / sine; /* axis x (1, 0, 0) */
    return bend;
}

void spine_twist(const spine_bend *bend, double from, double to, double x, double point[3]) {
    double angle = bend->twist * sample_ramp(from, to, x), c = cos(angle), s = sin(angle), y = point[1], z = point[2];
    point[1] = c * y - s * z;
    point[2] = s * y + c * z;
}

/* The identity up to the fraction `start` of the room, then levelling off so that it never fills all of it. */
static double press(double share, double start, double most) {
    return share <= start ? share : start + (most - start) * tanh((share - start) / (most - start));
}

void spine_crease(const spine_bend *bend, double contact, double x, double point[3]) {
    const double soft = 0.3, most = 0.97;
    double away = fabs(x - bend->place), slope = 1 / tan(fmax(bend->angle, 1e-9) / 2);
    if (away >= contact) return;
    double outside = fmax(0, away - bend->reach);
    double room = slope * (bend->reach + outside * outside / (outside + bend->reach / 2)); /* at most h, and smooth */
    double start = soft + (most - soft) * sample_ramp(bend->reach, contact, away);         /* softest at the crease */
    double height = point[1] * bend->inward[1] + point[2] * bend->inward[2];
    double moved = room * press(height / room, start, most) - height;
    for (int i = 1; i < 3; i++) point[i] += moved * bend->inward[i];
}

void spine_carry(const spine_bend *bend, double x, double point[3]) {
    double u = (x - bend->place) / bend->reach;
    if (u <= -1 || bend->angle < 1e-9) return;
    double part = u < 1 ? bend->angle * (u + 1) / 2 : bend->angle, center[3] = {bend->place, 0, 0};
    double c = cos(part), s = sin(part), origin = u < 1 ? x : bend->place;
    if (u < 1) { /* the point on the circle after that fraction of the turn */
        double radius = bend->reach / tan(bend->angle / 2);
        center[0] += radius * s - bend->reach;
        for (int i = 1; i < 3; i++) center[i] = radius * (1 - c) * bend->inward[i];
    }
    double along = point[0] - origin, in = point[1] * bend->inward[1] + point[2] * bend->inward[2];
    double turned = s * along + c * in - in; /* the component perpendicular to both stays */
    for (int i = 1; i < 3; i++) point[i] += center[i] + turned * bend->inward[i];
    point[0] = center[0] + c * along - s * in;
}
