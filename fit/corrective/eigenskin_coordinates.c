/* coordinates.c: what drives eigendisplacements (EigenSkin, section 2.4): radial basis functions of a joint's own
   rotation,

       a_jk(p) = sum_q lambda_q^jk exp(-r_jq(p) / r0),    a_jk(rest) = 0,    a_jk(p) = s_k v_kp in the examples P_j

   r is the angle between two rotations (over several joints that move as one: the root of the sum of squares), or the
   difference of a control, which at its farthest from rest counts like a radian. The rest pose is an example of every
   joint, with coordinates 0. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CENTERS = 64 };

/* -- Distances ----------------------------------------------------------------------------------------------------- */

static const float *rotation(const pelt_poses *poses, uint32_t example, uint32_t joint) {
    static const float identity[4] = {0, 0, 0, 1};
    if (example == PELT_REST_CENTER) return identity;
    return poses->rotations + 4 * ((size_t)example * poses->joint_count + joint);
}

static double control(const pelt_poses *poses, uint32_t example, uint32_t which) {
    return example == PELT_REST_CENTER ? 0 : poses->controls[(size_t)example * poses->control_count + which];
}

double pelt_eigen_distance(const pelt_poses *poses, uint32_t mover, uint32_t a, uint32_t b) {
    const pelt_mover *d = &poses->movers[mover];
    double sum = 0;
    if (pelt_is_control(d))
        return fabs(control(poses, a, d->first) - control(poses, b, d->first)) * poses->control_list[d->first].scale;
    for (uint32_t k = 0; k < d->count; k++) {
        uint32_t joint = poses->members[d->first + k];
        double angle = pelt_rotation_angle(rotation(poses, a, joint), rotation(poses, b, joint));
        sum += angle * angle;
    }
    return sqrt(sum);
}

uint32_t pelt_mover_axes(const pelt_poses *poses, uint32_t mover, pelt_axis *axes) {
    const pelt_mover *d = &poses->movers[mover];
    if (axes && pelt_is_control(d)) {
        float scale = poses->control_list[d->first].scale;
        axes[0] = (pelt_axis){.kind = PELT_AXIS_CONTROL, .joint = d->first, .weight = scale * scale};
    }
    for (uint32_t k = 0; axes && k < d->count; k++)
        axes[k] = (pelt_axis){.kind = PELT_AXIS_ROTATION, .joint = poses->members[d->first + k], .weight = 1};
    return pelt_is_control(d) ? 1 : d->count;
}

void pelt_mover_center(const pelt_poses *poses, const pelt_axis *axis, uint32_t example, float center[4]) {
    memset(center, 0, 4 * sizeof *center);
    if (axis->kind == PELT_AXIS_CONTROL)
        center[0] = (float)control(poses, example, axis->joint);
    else
        memcpy(center, rotation(poses, example, axis->joint), 4 * sizeof *center);
}

void pelt_eigen_functions(const pelt_poses *poses, uint32_t mover, size_t rows, const uint32_t *a, size_t columns,
                          const uint32_t *b, double width, double *phi) {
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            phi[i * columns + k] = exp(-pelt_eigen_distance(poses, mover, a[i], b[k]) / width);
}

/* Solves phi x = b in place. phi may be singular to rounding when the width is far larger than the distances. */
static bool solve(size_t n, double *phi, size_t columns, double *b) {
    return pelt_least_squares(n, n, phi, columns, b, 1e-12, NULL, NULL);
}

/* -- Centres ------------------------------------------------------------------------------------------------------- */

/* The rest pose, then one after the other the example that is farthest from those chosen: all examples when they are
   few, and none twice. */
static pelt_result choose_centers(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                                  pelt_coordinates *out) {
    double *nearest = malloc(joint->pose_count * sizeof *nearest);
    out->centers = PELT_NEW(arena, MOST_CENTERS, uint32_t);
    if (!nearest || !out->centers) return free(nearest), PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < joint->pose_count; p++)
        nearest[p] = pelt_eigen_distance(poses, joint->mover, joint->poses[p], PELT_REST_CENTER);
    out->centers[out->center_count++] = PELT_REST_CENTER;
    while (out->center_count < MOST_CENTERS) {
        uint32_t far = 0;
        for (uint32_t p = 1; p < joint->pose_count; p++)
            if (nearest[p] > nearest[far]) far = p;
        if (!(nearest[far] > 1e-4)) break;
        out->centers[out->center_count++] = joint->poses[far];
        for (uint32_t p = 0; p < joint->pose_count; p++)
            nearest[p] = fmin(nearest[p], pelt_eigen_distance(poses, joint->mover, joint->poses[p], joint->poses[far]));
    }
    free(nearest);
    return PELT_OK;
}

/* Coordinates s_k v_kp of the centres; 0 at rest. values[center][count]. */
static void center_coordinates(const pelt_eigen_joint *joint, const pelt_coordinates *c, uint32_t count,
                               double *values) {
    for (uint32_t i = 0; i < c->center_count; i++)
        for (uint32_t k = 0; k < count; k++) {
            uint32_t p = 0;
            while (p < joint->pose_count && joint->poses[p] != c->centers[i]) p++;
            values[(size_t)i * count + k] =
                p < joint->pose_count ? joint->singular[k] * joint->right[(size_t)k * joint->pose_count + p] : 0;
        }
}

/* Where there are more examples than centres, values at the centres that serve all of them in the least squares sense:
   b = phi_cc lambda, phi_pc lambda = a. The rest pose holds its 0, as an example of much weight. */
static pelt_result fit_values(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint, double width,
                              pelt_coordinates *c) {
    size_t n = c->center_count, kept = joint->kept, rows = (size_t)joint->pose_count + 1;
    c->values = PELT_NEW(arena, n * (kept ? kept : 1), double);
    if (!c->values) return PELT_ERROR_MEMORY;
    center_coordinates(joint, c, joint->kept, c->values);
    if (joint->pose_count + 1 == n || !kept) return PELT_OK;
    double *phi = malloc(rows * n * sizeof *phi), *right = calloc(rows * kept, sizeof *right), strength = 1e3;
    double *square = malloc(n * n * sizeof *square);
    bool done = phi && right && square;
    if (done) {
        pelt_eigen_functions(poses, joint->mover, joint->pose_count, joint->poses, n, c->centers, width, phi);
        pelt_eigen_functions(poses, joint->mover, 1, c->centers, n, c->centers, width, phi + (rows - 1) * n);
        for (size_t i = 0; i < n; i++) phi[(rows - 1) * n + i] *= strength;
        for (size_t p = 0; p + 1 < rows; p++)
            for (size_t k = 0; k < kept; k++)
                right[p * kept + k] = joint->singular[k] * joint->right[k * joint->pose_count + p];
        done = pelt_least_squares(rows, n, phi, kept, right, 1e-10, NULL, NULL);
    }
    if (done) {
        pelt_eigen_functions(poses, joint->mover, n, c->centers, n, c->centers, width, square);
        pelt_gemm(false, false, n, kept, n, 1, square, right, 0, c->values);
        for (size_t k = 0; k < kept; k++) c->values[k] = 0;
    }
    free(phi), free(right), free(square);
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

/* -- The width ----------------------------------------------------------------------------------------------------- */

/* Marks centres that lie on the way between two others: leaving one of them out asks for interpolation, while leaving
   out the end of a range asks for extrapolation, which no width is good at. */
static uint32_t mark_inside(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c, bool *inside) {
    uint32_t n = c->center_count, count = 0;
    for (uint32_t a = 1; a < n; a++) {
        inside[a] = false;
        for (uint32_t b = 0; b < n && !inside[a]; b++)
            for (uint32_t d = b + 1; d < n && !inside[a]; d++)
                inside[a] = a != b && a != d &&
                            pelt_eigen_distance(poses, mover, c->centers[a], c->centers[b]) +
                                    pelt_eigen_distance(poses, mover, c->centers[a], c->centers[d]) <=
                                1.001 * pelt_eigen_distance(poses, mover, c->centers[b], c->centers[d]);
        count += inside[a];
    }
    return count;
}

/* With M = phi^-1, leaving out centre i misses its coordinates by (M a)_i / M_ii. */
static double left_out_error(size_t n, const double *inverse, const bool *inside, size_t rank, const double *values) {
    double error = 0;
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < rank && inside[i]; k++) {
            double sum = 0;
            for (size_t q = 0; q < n; q++) sum += inverse[i * n + q] * values[q * rank + k];
            sum /= inverse[i * n + i];
            error += sum * sum;
        }
    return error;
}

/* Adds one joint's errors for all widths. */
static pelt_result try_widths(const pelt_poses *poses, const pelt_eigen_joint *joint, const pelt_coordinates *c,
                              size_t width_count, const double *widths, double *errors, uint32_t *inside_count) {
    size_t n = c->center_count;
    bool inside[MOST_CENTERS] = {false};
    double *phi = malloc(n * n * sizeof *phi), *inverse = malloc(n * n * sizeof *inverse);
    double *values = malloc(n * joint->rank * sizeof *values);
    bool done = phi && inverse && values;
    uint32_t count = done ? mark_inside(poses, joint->mover, c, inside) : 0;
    if (done) center_coordinates(joint, c, joint->rank, values);
    for (size_t w = 0; w < width_count && count && done; w++) {
        pelt_eigen_functions(poses, joint->mover, n, c->centers, n, c->centers, widths[w], phi);
        memset(inverse, 0, n * n * sizeof *inverse);
        for (size_t i = 0; i < n; i++) inverse[i * n + i] = 1;
        done = solve(n, phi, n, inverse);
        if (done) errors[w] += left_out_error(n, inverse, inside, joint->rank, values);
    }
    *inside_count += count;
    free(phi), free(inverse), free(values);
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result pelt_eigen_coordinates(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_basis *basis,
                                   double fallback, pelt_coordinates *out, double *width, pelt_error *error) {
    enum { WIDTHS = 19 };
    double widths[WIDTHS], errors[WIDTHS] = {0};
    for (int w = 0; w < WIDTHS; w++) widths[w] = 0.125 * pow(2, 0.5 * w); /* radians: 7 degrees to 10 turns */
    uint32_t inside = 0;
    pelt_result result = PELT_OK;
    for (uint32_t j = 0; j < basis->joint_count && !result; j++) {
        result = choose_centers(arena, poses, &basis->joints[j], &out[j]);
        if (!result && *width == 0)
            result = try_widths(poses, &basis->joints[j], &out[j], WIDTHS, widths, errors, &inside);
    }
    int best = 0;
    for (int w = 1; w < WIDTHS; w++)
        if (errors[w] < errors[best]) best = w;
    if (*width == 0) *width = inside ? widths[best] : fallback;
    for (uint32_t j = 0; j < basis->joint_count && !result; j++)
        result = fit_values(arena, poses, &basis->joints[j], *width, &out[j]);
    return result ? pelt_fail(error, result, "not enough memory for the coordinates of the eigendisplacements")
                  : PELT_OK;
}

pelt_condition pelt_eigen_condition(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c, double width) {
    size_t n = c->center_count;
    double *phi = malloc(n * n * sizeof *phi);
    pelt_condition out = {.value = INFINITY, .distance = INFINITY};
    if (phi) {
        pelt_eigen_functions(poses, mover, n, c->centers, n, c->centers, width, phi);
        out.value = pelt_condition_of(n, phi);
    }
    free(phi);
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t a = c->centers[i], b = c->centers[k];
            double r = pelt_eigen_distance(poses, mover, a, b);
            if (!(r < out.distance)) continue;
            out.distance = r;
            out.closest[0] = k && a < b ? a : b, out.closest[1] = k && a < b ? b : a; /* the rest pose first */
        }
    return out;
}

/* -- Basis functions ----------------------------------------------------------------------------------------------- */

pelt_result pelt_eigen_rbf(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                           const pelt_coordinates *c, double width, pelt_rbf *out) {
    size_t n = c->center_count, kept = joint->kept, axis_count = pelt_mover_axes(poses, joint->mover, NULL);
    pelt_axis *axes = PELT_NEW(arena, axis_count, pelt_axis);
    float *centers = PELT_NEW(arena, 4 * n * axis_count, float), *matrix = PELT_NEW(arena, n * kept, float);
    double *phi = malloc(n * n * sizeof *phi), *lambda = malloc(n * kept * sizeof *lambda);
    bool done = axes && centers && matrix && phi && lambda;
    if (done) {
        pelt_mover_axes(poses, joint->mover, axes);
        for (size_t k = 0; k < axis_count; k++)
            for (size_t q = 0; q < n; q++)
                pelt_mover_center(poses, &axes[k], c->centers[q], centers + 4 * (q * axis_count + k));
        pelt_eigen_functions(poses, joint->mover, n, c->centers, n, c->centers, width, phi);
        memcpy(lambda, c->values, n * kept * sizeof *lambda);
        done = solve(n, phi, kept, lambda);
    }
    for (size_t i = 0; done && i < n * kept; i++) matrix[i] = (float)lambda[i];
    free(phi), free(lambda);
    *out = (pelt_rbf){.axis_count = (uint32_t)axis_count,
                      .center_count = (uint32_t)n,
                      .coefficient_count = joint->kept,
                      .axes = axes,
                      .centers = centers,
                      .phi = PELT_PHI_EXP,
                      .width = (float)width,
                      .matrix = matrix};
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}
