/* angles.c: a rotation relative to rest as three angles, and back.

       q = swing * twist,   swing = exp((bend axes[0] + side axes[1]) / 2),   twist = exp(twist axes[2] / 2)

   The swing carries the bone to where q carries it along the shortest way; so bend and side say where the bone points,
   whatever it twists. */

#include "poses/poses.h"
#include "rig/maths.h"

void pelt_rotation_of(const double axes[3][3], const double angles[3], double q[4]) {
    double size = hypot(angles[PELT_BEND], angles[PELT_SIDE]), half = angles[PELT_TWIST] / 2;
    double scale = size > 0 ? sin(size / 2) / size : 0, swing[4], twist[4];
    for (int i = 0; i < 3; i++) {
        swing[i] = scale * (angles[PELT_BEND] * axes[0][i] + angles[PELT_SIDE] * axes[1][i]);
        twist[i] = sin(half) * axes[2][i];
    }
    swing[3] = cos(size / 2), twist[3] = cos(half);
    pelt_quaternion_multiply(swing, twist, q);
}

/* The twist is the part of q about the bone; half a turn of swing has none that could be told. */
void pelt_angles_of(const double axes[3][3], const double q[4], double angles[3]) {
    double sign = q[3] < 0 ? -1 : 1, along = sign * pelt_dot(q, axes[2]), w = sign * q[3], length = hypot(along, w);
    double back[4] = {0, 0, 0, 1}, unit[4] = {sign * q[0], sign * q[1], sign * q[2], w}, swing[4];
    for (int i = 0; i < 3 && length > 0; i++) back[i] = -along / length * axes[2][i];
    if (length > 0) back[3] = w / length;
    pelt_quaternion_multiply(unit, back, swing);
    double sine = pelt_length(swing), angle = 2 * atan2(sine, swing[3]), scale = sine > 0 ? angle / sine : 0;
    angles[PELT_BEND] = scale * pelt_dot(swing, axes[0]);
    angles[PELT_SIDE] = scale * pelt_dot(swing, axes[1]);
    angles[PELT_TWIST] = length > 0 ? 2 * atan2(along, w) : 0;
}
