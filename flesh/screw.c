/* screw.c: rigid motions part of the way: a turn about an axis and a shift along it, both in proportion. */

#include "flesh/screw.h"
#include "rig/maths.h"
#include <string.h>

/* Unit quaternion of the linear part, w >= 0, from the largest of its four components. */
static void quaternion_of(const double m[12], double q[4]) {
    double sums[4] = {m[0] - m[5] - m[10], m[5] - m[0] - m[10], m[10] - m[0] - m[5], m[0] + m[5] + m[10]};
    int best = 3;
    for (int k = 0; k < 3; k++)
        if (sums[k] > sums[best]) best = k;
    double turn[3] = {m[9] - m[6], m[2] - m[8], m[4] - m[1]};
    if (best == 3) {
        memcpy(q, turn, sizeof turn);
        q[3] = 1 + sums[3];
    } else {
        int i = (best + 1) % 3, j = (best + 2) % 3;
        q[best] = 1 + sums[best];
        q[i] = m[4 * best + i] + m[4 * i + best];
        q[j] = m[4 * best + j] + m[4 * j + best];
        q[3] = turn[best];
    }
    double length = pelt_quaternion_length(q) * (q[3] < 0 ? -1 : 1);
    for (int k = 0; k < 4; k++) q[k] /= length;
}

static pelt_affine rotation(const double axis[3], double angle) {
    double c = cos(angle), s = sin(angle);
    pelt_affine r = {{0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) r.m[4 * i + j] = (1 - c) * axis[i] * axis[j] + (i == j ? c : 0);
    r.m[1] -= s * axis[2], r.m[2] += s * axis[1], r.m[6] -= s * axis[0];
    r.m[4] += s * axis[2], r.m[8] -= s * axis[1], r.m[9] += s * axis[0];
    return r;
}

double pelt_rigid_angle(const pelt_affine *a) {
    double q[4];
    quaternion_of(a->m, q);
    return 2 * atan2(pelt_length(q), q[3]);
}

pelt_affine pelt_screw(const pelt_affine *motion, double part) {
    const double *m = motion->m, shift[3] = {m[3], m[7], m[11]};
    double q[4], axis[3], angle = pelt_rigid_angle(motion);
    quaternion_of(m, q);
    const double hardly = 1e-7; /* a turn whose centre is too far away to be found */
    if (angle < hardly) {
        pelt_affine out = pelt_identity;
        for (int k = 0; k < 3; k++) out.m[4 * k + 3] = part * shift[k];
        return out;
    }
    double length = pelt_length(q), along = 0, across[3], crossed[3], centre[3], turned[3];
    for (int k = 0; k < 3; k++) axis[k] = q[k] / length;
    along = pelt_dot(shift, axis);
    for (int k = 0; k < 3; k++) across[k] = shift[k] - along * axis[k];
    pelt_cross(axis, across, crossed);
    for (int k = 0; k < 3; k++) centre[k] = (across[k] + crossed[k] / tan(angle / 2)) / 2;
    pelt_affine out = rotation(axis, part * angle);
    pelt_affine_point(&out, centre, turned);
    for (int k = 0; k < 3; k++) out.m[4 * k + 3] = centre[k] - turned[k] + part * along * axis[k];
    return out;
}

bool pelt_is_rigid(const pelt_affine *a) {
    const double *m = a->m, tolerance = 1e-4;
    for (int k = 0; k < 12; k++)
        if (!isfinite(m[k])) return false;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            if (fabs(pelt_dot(m + 4 * i, m + 4 * j) - (i == j)) > tolerance) return false;
    return pelt_affine_determinant(m) > 0;
}
