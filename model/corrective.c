/* corrective.c: coefficients of a corrective in double, straight from the definition in corrective.h. Fits use them to
   predict the run time, tests to check it. */

#include "model/corrective.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

double pelt_norm_guard(double s) {
    return fmin(fmax(s, 0), PELT_NORM_FLOOR) / PELT_NORM_FLOOR / fmax(s, PELT_NORM_FLOOR);
}

double pelt_phi_value(pelt_phi phi, double width, double r2) {
    double share = phi == PELT_PHI_MIXED ? PELT_MIXED_SHARE : phi == PELT_PHI_EXP;
    double gaussian = share < 1 ? exp(-r2 / (2 * width * width)) : 0;
    return (1 - share) * gaussian + (share > 0 ? share * exp(-sqrt(fmax(r2, 0)) / width) : 0);
}

/* exp(x) for x <= 0, without branches, so that the compiler can vectorise it. */
static inline double quick_exp(double x) {
    const double magic = 0x1.8p52;
    double t = fmax(x * 1.4426950408889634, -1000), whole = t + magic, f = t - (whole - magic);
    double p = 1.317585066981361e-06 * f + 1.530973785709903e-05;
    p = p * f + 0.000154038517877312;
    p = p * f + 0.001333345206053795;
    p = p * f + 0.009618128542799474;
    p = p * f + 0.05550410939343575;
    p = p * f + 0.2402265069888057;
    p = p * f + 0.6931471805465131;
    p = p * f + 0.9999999999997624;
    int64_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &whole, sizeof exponent);
    bits = (int64_t)((uint64_t)bits + ((uint64_t)exponent << 52));
    memcpy(&p, &bits, sizeof p);
    return p;
}

void pelt_phi_row(pelt_phi phi, double width, size_t count, const float *r2, double *out) {
    double share = phi == PELT_PHI_MIXED ? PELT_MIXED_SHARE : phi == PELT_PHI_EXP;
    double gaussian = -1 / (2 * width * width), exponential = -1 / width;
    if (share == 0)
        for (size_t i = 0; i < count; i++) out[i] = quick_exp(r2[i] * gaussian);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (1 - share) * quick_exp(r2[i] * gaussian) + share * quick_exp(sqrt(r2[i]) * exponential);
}

static const float *rotation_of(const pelt_axis *axis, const pelt_pose_state *pose) {
    return pose->rotations + 4 * (size_t)axis->joint;
}

static const float *translation_of(const pelt_axis *axis, const pelt_pose_state *pose) {
    return pose->translations + 3 * (size_t)axis->joint;
}

static float control_value(const pelt_pose_state *pose, uint32_t control) {
    return pose->controls ? pose->controls[control] : 0;
}

/* Axis times angle, the shorter way round. */
static void rotation_vector(const float q[4], double out[3]) {
    double side = q[3] < 0 ? -1 : 1, sine = sqrt(pelt_square_length(q));
    double scale = side * (sine > 1e-12 ? 2 * atan2(sine, side * q[3]) / sine : 2);
    for (int i = 0; i < 3; i++) out[i] = scale * q[i];
}

/* R = Rz(c) Ry(b) Rx(a): its first column is (cos b cos c, cos b sin c, -sin b), its last row (-sin b, cos b sin a, cos
   b cos a). Where cos b is nearly 0 (gimbal lock), a is set to 0; then its second column is (-sin c, cos c, 0). Of the
   two solutions, b and pi - b, we want the one closer to 0. */
static void euler_angles(const float q[4], double out[3]) {
    double x = q[0], y = q[1], z = q[2], w = q[3], across = 1 - 2 * (y * y + z * z), up = 2 * (x * y + w * z);
    bool locked = hypot(across, up) < 1e-3;
    out[0] = locked ? 0 : atan2(2 * (y * z + w * x), 1 - 2 * (x * x + y * y));
    out[1] = atan2(2 * (w * y - x * z), hypot(across, up));
    out[2] = locked ? atan2(2 * (w * z - x * y), 1 - 2 * (x * x + z * z)) : atan2(up, across);
    const double pi = acos(-1);
    double other[3] = {out[0] - copysign(pi, out[0]), copysign(pi, out[1]) - out[1], out[2] - copysign(pi, out[2])};
    if (hypot(other[0], hypot(other[1], other[2])) < hypot(out[0], hypot(out[1], out[2])))
        memcpy(out, other, sizeof other);
}

static double hinge_angle(const pelt_axis *axis, const float q[4]) {
    const double pi = acos(-1);
    const float *d = axis->direction;
    double sine = (double)q[0] * d[0] + (double)q[1] * d[1] + (double)q[2] * d[2];
    double angle = remainder(2 * atan2(sine, q[3]) - axis->middle, 2 * pi), size = fabs(angle);
    return size <= axis->reach ? angle : copysign(axis->reach * (pi - size) / (pi - axis->reach), angle);
}

/* The coordinates of a pose along an axis whose distances are differences; returns their number, 0 for other axes. */
static int axis_place(const pelt_axis *axis, const pelt_pose_state *pose, double out[3]) {
    switch (axis->kind) {
    case PELT_AXIS_VECTOR:
        rotation_vector(rotation_of(axis, pose), out);
        return 3;
    case PELT_AXIS_EULER:
        euler_angles(rotation_of(axis, pose), out);
        return 3;
    case PELT_AXIS_HINGE:
        out[0] = hinge_angle(axis, rotation_of(axis, pose));
        return 1;
    case PELT_AXIS_CONTROL:
        out[0] = control_value(pose, axis->joint);
        return 1;
    case PELT_AXIS_TRANSLATION:
        for (int i = 0; i < 3; i++) out[i] = translation_of(axis, pose)[i];
        return 3;
    default:
        return 0;
    }
}

void pelt_axis_center(const pelt_axis *axis, const pelt_pose_state *pose, float center[4]) {
    double place[3];
    int count = axis_place(axis, pose, place);
    memset(center, 0, 4 * sizeof *center);
    if (!count) memcpy(center, rotation_of(axis, pose), 4 * sizeof *center);
    for (int i = 0; i < count; i++) center[i] = (float)place[i];
}

/* (2 sin(angle / 2))^2, where sin(angle / 2) is the length of the vector part of a^-1 b. */
static double chord2(const float a[4], const float b[4]) {
    double x = (double)a[3] * b[0] - (double)a[0] * b[3] - (double)a[1] * b[2] + (double)a[2] * b[1],
           y = (double)a[3] * b[1] + (double)a[0] * b[2] - (double)a[1] * b[3] - (double)a[2] * b[0],
           z = (double)a[3] * b[2] - (double)a[0] * b[1] + (double)a[1] * b[0] - (double)a[2] * b[3];
    return 4 * (x * x + y * y + z * z);
}

double pelt_axis_distance2(const pelt_axis *axis, const pelt_pose_state *pose, const float center[4]) {
    double place[3], sum = 0;
    int count = axis_place(axis, pose, place);
    for (int i = 0; i < count; i++) sum += (place[i] - center[i]) * (place[i] - center[i]);
    if (count) return sum;
    if (axis->kind == PELT_AXIS_CHORD) return chord2(rotation_of(axis, pose), center);
    double angle = pelt_rotation_angle(rotation_of(axis, pose), center);
    return angle * angle;
}

void pelt_add_distances2(const pelt_axis *axis, const pelt_pose_state *pose, size_t count, const float *planes,
                         size_t stride, double *restrict out) {
    if (axis->kind == PELT_AXIS_CHORD) { /* the common case, without a call per centre */
        const float *a = rotation_of(axis, pose);
        for (size_t i = 0; i < count; i++) {
            float b[4] = {planes[i], planes[stride + i], planes[2 * stride + i], planes[3 * stride + i]};
            out[i] += axis->weight * chord2(a, b);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float center[4] = {planes[i], planes[stride + i], planes[2 * stride + i], planes[3 * stride + i]};
        out[i] += axis->weight * pelt_axis_distance2(axis, pose, center);
    }
}

/* -- The basis form ------------------------------------------------------------------------------------------------ */

static double *rbf_coefficients(const pelt_rbf *rbf, const pelt_pose_state *pose, double *a) {
    double norm = 0;
    for (uint32_t k = 0; k < rbf->coefficient_count; k++) a[k] = 0;
    for (uint32_t q = 0; q < rbf->center_count; q++) {
        double r2 = 0;
        for (uint32_t i = 0; i < rbf->axis_count; i++) {
            const pelt_axis *axis = &rbf->axes[i];
            r2 += axis->weight * pelt_axis_distance2(axis, pose, rbf->centers + 4 * ((size_t)q * rbf->axis_count + i));
        }
        double phi = pelt_phi_value(rbf->phi, rbf->width, r2);
        for (uint32_t k = 0; k < rbf->coefficient_count; k++)
            a[k] += phi * rbf->matrix[(size_t)q * rbf->coefficient_count + k];
        if (rbf->norm) norm += phi * rbf->norm[q];
    }
    for (uint32_t k = 0; rbf->norm && k < rbf->coefficient_count; k++) a[k] *= pelt_norm_guard(norm);
    return a + rbf->coefficient_count;
}

/* E_g = exp(-(3 - tr R_a^T R_b) scale), and 3 - tr is the square of the chord. */
static double rotation_kernel(const float a[4], const float b[4], double scale) { return exp(-chord2(a, b) * scale); }

static double control_kernel(double a, double b, double scale) { return exp(-(a - b) * (a - b) * scale); }

static double joint_kernel(const pelt_kernel *kernel, uint32_t g, const pelt_pose_state *pose, uint32_t q) {
    static const float rest[4] = {0, 0, 0, 1};
    const float *center = kernel->centers + 4 * ((size_t)q * kernel->joint_count + g);
    double scale = kernel->scales[g];
    if (g >= kernel->joint_count - kernel->control_count) {
        double a = control_value(pose, kernel->joints[g]);
        return control_kernel(a, center[0], scale) - control_kernel(a, 0, scale) - control_kernel(0, center[0], scale) +
               1;
    }
    const float *rotation = pose->rotations + 4 * (size_t)kernel->joints[g];
    return rotation_kernel(rotation, center, scale) - rotation_kernel(rotation, rest, scale) -
           rotation_kernel(rest, center, scale) + 1;
}

/* x . y of joint g between any two of the pose (UINT32_MAX) and the centres. */
static double neighbor_product(const pelt_kernel *kernel, uint32_t g, const pelt_pose_state *pose, uint32_t a,
                               uint32_t b) {
    double numbers[2][9] = {{0}}, sum = 0;
    bool control = g >= kernel->joint_count - kernel->control_count;
    for (int side = 0; side < 2; side++) {
        uint32_t center = side ? b : a;
        const float *q = kernel->centers + 4 * ((size_t)center * kernel->joint_count + g),
                    *range = kernel->near->ranges[g];
        if (center == UINT32_MAX && !control) q = pose->rotations + 4 * (size_t)kernel->joints[g];
        if (control) {
            numbers[side][0] = center == UINT32_MAX ? control_value(pose, kernel->joints[g]) : q[0];
            numbers[side][0] = fmin(fmax(numbers[side][0], range[0]), range[1]);
            continue;
        }
        pelt_rotation_numbers(q, numbers[side]);
        for (int i = 0; i < 9; i++) numbers[side][i] /= sqrt(2);
    }
    for (int i = 0; i < 9; i++) sum += numbers[0][i] * numbers[1][i];
    return kernel->scales[g] * sum;
}

double pelt_neighbor_value(pelt_neighbor_form form, double xx, double xy, double yy) {
    if (form == PELT_NEAR_ARC) {
        double size = sqrt(xx * yy), cosine = size > 0 ? fmin(fmax(xy / size, -1), 1) : 0, angle = acos(cosine);
        return size * (sin(angle) + (3.14159265358979323846 - angle) * cosine) / 3.14159265358979323846;
    }
    double squares[] = {fmax(xx + yy - 2 * xy, 0), xx, yy}, e[3];
    for (int i = 0; i < 3; i++) {
        double r = sqrt(3 * squares[i]);
        e[i] = form == PELT_NEAR_GAUSSIAN ? exp(-0.5 * squares[i]) : (1 + r) * exp(-r);
    }
    return e[0] - e[1] - e[2] + 1;
}

/* K over some joints between the pose and a centre. */
static double neighbor_sum(const pelt_kernel *kernel, const uint32_t *list, uint32_t count, const pelt_pose_state *pose,
                           uint32_t q) {
    double xx = 0, xy = 0, yy = 0;
    for (uint32_t i = 0; i < count; i++) {
        xx += neighbor_product(kernel, list[i], pose, UINT32_MAX, UINT32_MAX);
        xy += neighbor_product(kernel, list[i], pose, UINT32_MAX, q);
        yy += neighbor_product(kernel, list[i], pose, q, q);
    }
    return pelt_neighbor_value(kernel->near->form, xx, xy, yy);
}

static double unit_kernel(const pelt_kernel *kernel, uint32_t g, const pelt_pose_state *pose, uint32_t q) {
    const pelt_neighbors *near = kernel->near;
    if (!near) return joint_kernel(kernel, g, pose, q);
    return neighbor_sum(kernel, near->list + near->first[g], near->first[g + 1] - near->first[g], pose, q) +
           near->single * neighbor_sum(kernel, &g, 1, pose, q);
}

static double *group_coefficients(const pelt_kernel *kernel, const pelt_kernel_group *group,
                                  const pelt_pose_state *pose, double *a) {
    for (uint32_t k = 0; k < group->coefficient_count; k++) a[k] = 0;
    for (uint32_t i = 0; i < group->center_count; i++) {
        double sum = 0;
        for (uint32_t u = 0; u < group->unit_count; u++) {
            const pelt_kernel_unit *unit = &kernel->units[group->units[u]];
            double k = unit_kernel(kernel, unit->first, pose, group->centers[i]);
            if (unit->second != unit->first) k *= unit_kernel(kernel, unit->second, pose, group->centers[i]);
            sum += unit->gain * k;
        }
        for (uint32_t k = 0; k < group->coefficient_count; k++)
            a[k] += sum * group->matrix[(size_t)i * group->coefficient_count + k];
    }
    return a + group->coefficient_count;
}

/* Appends an input's part of x; returns how many numbers it has. */
static uint32_t feature_numbers(const pelt_features *f, uint32_t input, const pelt_pose_state *pose, double *x) {
    const pelt_feature_input *from = &f->inputs[input];
    if (input >= f->input_count - f->control_count) {
        x[0] = fmin(fmax(control_value(pose, from->source), from->least), from->most);
        return 1;
    }
    pelt_rotation_numbers(pose->rotations + 4 * (size_t)from->source, x);
    return 6;
}

static double feature_value(const pelt_features *f, const pelt_feature_set *set, uint32_t k,
                            const pelt_pose_state *pose) {
    double b = set->offsets[k], z = b, x[9], bend = f->bends[k];
    const float *row = set->matrix + k;
    for (uint32_t i = 0; i < set->input_count; i++) {
        uint32_t count = feature_numbers(f, set->inputs[i], pose, x);
        for (uint32_t n = 0; n < count; n++, row += f->width) z += x[n] * *row;
    }
    return 0.5 * (z - b + sqrt(z * z + bend) - sqrt(b * b + bend));
}

/* Eight of the sums of a set's features, or of the features themselves. */
static void feature_eight(const pelt_features *f, const pelt_feature_set *set, uint32_t eight,
                          const pelt_pose_state *pose, double out[8]) {
    for (uint32_t r = 0; r < 8; r++) out[r] = f->rank ? 0 : feature_value(f, set, 8 * eight + r, pose);
    for (uint32_t k = 0; k < f->width && f->rank; k++) {
        double h = feature_value(f, set, k, pose);
        for (uint32_t r = 0; r < 8; r++) out[r] += h * set->mix[(size_t)k * set->rank + 8 * eight + r];
    }
}

static double *feature_coefficients(const pelt_features *f, const pelt_feature_group *group,
                                    const pelt_pose_state *pose, double *a) {
    for (uint32_t c = 0; c < group->coefficient_count; c++) a[c] = 0;
    uint32_t each = (f->rank ? f->rank : f->width) / 8;
    for (uint32_t i = 0; i < group->eight_count; i++) {
        double seen[8];
        feature_eight(f, &f->sets[group->eights[i] / each], group->eights[i] % each, pose, seen);
        for (uint32_t c = 0; c < group->coefficient_count; c++)
            for (int r = 0; r < 8; r++) a[c] += group->matrix[((size_t)c * group->eight_count + i) * 8 + r] * seen[r];
    }
    return a + group->coefficient_count;
}

uint32_t pelt_corrective_coefficient_count(const pelt_corrective *c) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < c->rbf_count; i++) total += c->rbfs[i].coefficient_count;
    for (uint32_t g = 0; c->kernel && g < c->kernel->group_count; g++) total += c->kernel->groups[g].coefficient_count;
    for (uint32_t g = 0; c->features && g < c->features->group_count; g++)
        total += c->features->groups[g].coefficient_count;
    return total;
}

void pelt_corrective_coefficients(const pelt_corrective *c, const pelt_pose_state *pose, double *a) {
    for (uint32_t i = 0; i < c->rbf_count; i++) a = rbf_coefficients(&c->rbfs[i], pose, a);
    for (uint32_t g = 0; c->kernel && g < c->kernel->group_count; g++)
        a = group_coefficients(c->kernel, &c->kernel->groups[g], pose, a);
    for (uint32_t g = 0; c->features && g < c->features->group_count; g++)
        a = feature_coefficients(c->features, &c->features->groups[g], pose, a);
}
