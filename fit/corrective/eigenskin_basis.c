/* eigenskin_basis.c: the joint supports, eigendisplacements and coordinates of EigenSkin (Kry, James & Pai 2002,
   sections 2.2 to 2.4).

       S_j = points displaced by more than 4% of the largest displacement in the examples P_j that move joint j alone (or
             less: eigenskin_choose.c); below that their share in it fades to 0 at half of it
       A_j = U_j D_j V_j^T,    A_j: displacements of S_j (3 |S_j| rows), times their shares in it, in P_j (columns)
       a_jk(p) = sum_q lambda_q^jk exp(-r_jq(p) / r0),    a_jk(rest) = 0,    a_jk(p) = s_k v_kp in the examples P_j

   The left singular vectors are the eigendisplacements; column p of D_j V_j^T are the coordinates of example p. There
   are few examples and many points, so we decompose the small matrix A^T A = V D^2 V^T, and U = A V D^-1.

   r is the angle between two rotations (for joints that move as one, the root of the sum of squares); for a hinge that
   covers more than half a turn, the difference of its angles; for a control, its difference, scaled so that its largest
   deviation from rest counts as one radian. The rest pose is an example of every joint, with coordinates 0. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

static const double cut = 1e-12, loose_cut = 1e-10; /* of singular values: square systems, and more rows than columns */
static const double same_pose = 1e-4;               /* radians */
static const double on_the_way = 1.001;             /* a detour by no more than this factor lies between two poses */

/* Singular values below this fraction of the largest are noise: squares of 1e-7 are lost in the rounding of A^T A. */
static const double NO_SINGULAR = 1e-6;
static const float LEAST_SHARE = 1e-6f; /* below this a point is outside the support */

/* -- Supports ------------------------------------------------------------------------------------------------------ */

float pelt_support_share(const pelt_supports *s, uint32_t mover, uint32_t point) {
    float amplitude = s->amplitudes[(size_t)mover * s->point_count + point];
    double full = s->threshold > 0 ? s->threshold : PELT_SUPPORT_THRESHOLD, least = full * (1 - s->fade);
    if (!(amplitude > (float)least * s->peaks[mover])) return 0;
    double x = s->fade > 0 ? fmin((amplitude / s->peaks[mover] - least) / (full - least), 1) : 1;
    return fmaxf((float)(x * x * (3 - 2 * x)), LEAST_SHARE);
}

static void gather_support(pelt_arena *arena, const pelt_poses *poses, const pelt_supports *supports,
                           pelt_eigen_joint *joint) {
    joint->poses = PELT_NEW(arena, poses->count, uint32_t);
    joint->points = PELT_NEW(arena, supports->point_count, uint32_t);
    joint->shares = PELT_NEW(arena, supports->point_count, float);
    for (uint32_t e = 0; e < poses->count; e++)
        if (poses->sweep_of[e] == joint->mover) joint->poses[joint->pose_count++] = e;
    for (uint32_t i = 0; i < supports->point_count; i++) {
        float share = pelt_support_share(supports, joint->mover, i);
        if (!(share > 0)) continue;
        joint->shares[joint->point_count] = share;
        joint->points[joint->point_count++] = i;
    }
}

/* -- Singular values ----------------------------------------------------------------------------------------------- */

/* Rows of A^T that fit the cache: A^T A is summed over chunks of points, always in the same order. */
enum { STRETCH = 1024 };

static double *gram_of(const pelt_eigen_joint *joint, const pelt_example_displacements *u, pelt_arena *work) {
    size_t n = joint->pose_count;
    double *gram = PELT_NEW(work, n * n, double), *rows = PELT_NEW(work, n * 3 * STRETCH, double);
    for (uint32_t start = 0; start < joint->point_count; start += STRETCH) {
        uint32_t count = joint->point_count - start < STRETCH ? joint->point_count - start : STRETCH;
        for (size_t p = 0; p < n; p++)
            for (uint32_t i = 0; i < count; i++)
                for (size_t c = 0; c < 3; c++)
                    rows[p * 3 * count + 3 * i + c] =
                        joint->shares[start + i] * pelt_displacement(u, joint->poses[p], joint->points[start + i])[c];
        pelt_gemm(false, true, n, n, 3 * (size_t)count, 1, rows, rows, 1, gram);
    }
    return gram;
}

typedef struct decomposition {
    const pelt_example_displacements *u;
    pelt_eigen_joint *joints;
} decomposition;

static void decompose(void *user, size_t j, pelt_arena *scratch) {
    const decomposition *d = user;
    pelt_eigen_joint *joint = &d->joints[j];
    size_t n = joint->pose_count;
    double *gram = gram_of(joint, d->u, scratch), *values = PELT_NEW(scratch, n, double);
    bool done = pelt_eigen(n, gram, values);
    for (size_t k = 0; done && k < n; k++) {
        size_t column = n - 1 - k; /* LAPACK's order is ascending */
        double s = values[column] > 0 ? sqrt(values[column]) : 0;
        if (!(s > NO_SINGULAR * joint->singular[0])) break;
        joint->singular[k] = s;
        for (size_t p = 0; p < n; p++) joint->right[k * n + p] = gram[p * n + column];
    }
}

/* Of all joints, divided over ranks; each writes its own part of one block. */
static void decompose_all(pelt_arena *arena, uint32_t threads, const pelt_example_displacements *u,
                          pelt_eigen_basis *basis) {
    size_t room = 0;
    for (uint32_t j = 0; j < basis->joint_count; j++)
        room += (size_t)basis->joints[j].pose_count * (basis->joints[j].pose_count + 1);
    double *block = PELT_NEW(arena, room, double), *at = block;
    for (uint32_t j = 0; j < basis->joint_count; j++) {
        size_t n = basis->joints[j].pose_count;
        basis->joints[j].singular = at, basis->joints[j].right = at + n;
        at += n * (n + 1);
    }
    PELT_SPREAD(arena, threads, basis->joint_count, decompose, (&(decomposition){u, basis->joints}),
                {block, .total = room * sizeof *block});
    for (uint32_t j = 0; j < basis->joint_count; j++) {
        pelt_eigen_joint *joint = &basis->joints[j];
        while (joint->rank < joint->pose_count && joint->singular[joint->rank] > 0) joint->rank++;
    }
}

pelt_eigen_basis pelt_eigen_basis_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, uint32_t threads, uint32_t per_joint) {
    pelt_eigen_basis out = {.joints = PELT_NEW(arena, poses->mover_count, pelt_eigen_joint)};
    uint32_t count = 0;
    for (uint32_t g = 0; g < poses->mover_count; g++) {
        if (!poses->movers[g].swept || !(supports->peaks[g] > supports->noise)) continue;
        out.joints[out.joint_count].mover = g;
        gather_support(arena, poses, supports, &out.joints[out.joint_count++]);
    }
    decompose_all(arena, threads, u, &out);
    for (uint32_t j = 0; j < out.joint_count; j++) {
        pelt_eigen_joint joint = out.joints[j];
        joint.kept = per_joint < joint.rank ? per_joint : joint.rank;
        if (joint.rank) out.joints[count++] = joint;
    }
    out.joint_count = count;
    return out;
}

void pelt_eigendisplacement(const pelt_eigen_joint *joint, const pelt_example_displacements *u, uint32_t k,
                            float *out) {
    const double *right = joint->right + (size_t)k * joint->pose_count;
    for (uint32_t i = 0; i < joint->point_count; i++) {
        double sum[3] = {0};
        for (uint32_t p = 0; p < joint->pose_count; p++)
            for (int c = 0; c < 3; c++) sum[c] += right[p] * pelt_displacement(u, joint->poses[p], joint->points[i])[c];
        for (size_t c = 0; c < 3; c++) out[3 * (size_t)i + c] = (float)(joint->shares[i] * sum[c] / joint->singular[k]);
    }
}

/* -- Distances ----------------------------------------------------------------------------------------------------- */

static const float *rotation(const pelt_poses *poses, uint32_t example, uint32_t joint) {
    static const float identity[4] = {0, 0, 0, 1};
    if (example == PELT_REST_EXAMPLE) return identity;
    return poses->rotations + 4 * ((size_t)example * poses->joint_count + joint);
}

static double control(const pelt_poses *poses, uint32_t example, uint32_t which) {
    return example == PELT_REST_EXAMPLE ? 0 : poses->controls[(size_t)example * poses->control_count + which];
}

static pelt_axis joint_axis(const pelt_poses *poses, uint32_t joint) {
    const pelt_hinge *hinge = &poses->hinges[joint];
    pelt_axis axis = {.kind = PELT_AXIS_ROTATION, .joint = joint, .weight = 1};
    if (!(hinge->reach > 0)) return axis;
    axis.kind = PELT_AXIS_HINGE, axis.middle = hinge->middle, axis.reach = hinge->reach;
    memcpy(axis.direction, hinge->direction, sizeof axis.direction);
    return axis;
}

/* Stores a rotation of the joint as a centre on an axis. */
static void place_center(const pelt_axis *axis, const float *rotation, float center[4]) {
    pelt_axis alone = *axis;
    alone.joint = 0;
    pelt_axis_center(&alone, &(pelt_pose_state){.rotations = rotation}, center);
}

static double distance(const pelt_poses *poses, uint32_t mover, uint32_t a, uint32_t b) {
    const pelt_mover *d = &poses->movers[mover];
    double sum = 0;
    if (pelt_is_control(d))
        return fabs(control(poses, a, d->first) - control(poses, b, d->first)) * poses->control_list[d->first].scale;
    for (uint32_t k = 0; k < d->count; k++) {
        uint32_t joint = poses->members[d->first + k];
        pelt_axis axis = joint_axis(poses, joint);
        float center[4];
        place_center(&axis, rotation(poses, b, joint), center);
        axis.joint = 0;
        sum += pelt_axis_distance2(&axis, &(pelt_pose_state){.rotations = rotation(poses, a, joint)}, center);
    }
    return sqrt(sum);
}

void pelt_eigen_functions(const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers, size_t rows,
                          const uint32_t *a, size_t columns, const uint32_t *b, double width, double *phi) {
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++) {
            double sum = 0;
            for (uint32_t m = 0; m < mover_count; m++) {
                double r = distance(poses, movers[m], a[i], b[k]);
                sum += r * r;
            }
            phi[i * columns + k] = exp(-sqrt(sum) / width);
        }
}

/* phi of a joint between its own centres. */
static double *square_functions(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c,
                                double width) {
    size_t n = c->center_count;
    double *phi = PELT_NEW(arena, n * n, double);
    pelt_eigen_functions(poses, 1, &mover, n, c->centers, n, c->centers, width, phi);
    return phi;
}

/* Solves phi x = b in place. phi may be singular to rounding when the width is far larger than the distances. */
static bool solve(size_t n, double *phi, size_t columns, double *b) {
    return pelt_least_squares(n, n, phi, columns, b, cut);
}

double *pelt_eigen_inverse(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c,
                           double width) {
    size_t n = c->center_count;
    double *inverse = PELT_NEW(arena, n * n, double), *phi = square_functions(arena, poses, mover, c, width);
    for (size_t i = 0; i < n; i++) inverse[i * n + i] = 1;
    return solve(n, phi, n, inverse) ? inverse : NULL;
}

/* -- Centres ------------------------------------------------------------------------------------------------------- */

void pelt_eigen_centers(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, pelt_coordinates *out) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *nearest = PELT_NEW(work, poses->count, double);
    uint32_t *own = PELT_NEW(work, poses->count, uint32_t), count = 0;
    out->centers = PELT_NEW(arena, PELT_EIGEN_CENTERS, uint32_t);
    for (uint32_t e = 0; e < poses->count; e++)
        if (poses->sweep_of[e] == mover) own[count++] = e;
    for (uint32_t p = 0; p < count; p++) nearest[p] = distance(poses, mover, own[p], PELT_REST_EXAMPLE);
    out->centers[out->center_count++] = PELT_REST_EXAMPLE;
    while (out->center_count < PELT_EIGEN_CENTERS) {
        uint32_t far = 0;
        for (uint32_t p = 1; p < count; p++)
            if (nearest[p] > nearest[far]) far = p;
        if (!(nearest[far] > same_pose)) break;
        out->centers[out->center_count++] = own[far];
        for (uint32_t p = 0; p < count; p++) nearest[p] = fmin(nearest[p], distance(poses, mover, own[p], own[far]));
    }
}

uint32_t pelt_eigen_between(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c, bool *between) {
    double r[PELT_EIGEN_CENTERS][PELT_EIGEN_CENTERS];
    uint32_t n = c->center_count, count = 0;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) r[a][b] = distance(poses, mover, c->centers[a], c->centers[b]);
    for (uint32_t a = 0; a < n; a++) {
        between[a] = false;
        for (uint32_t b = 0; b < n && !between[a]; b++)
            for (uint32_t d = b + 1; d < n && !between[a]; d++)
                between[a] = a != b && a != d && r[a][b] + r[a][d] <= on_the_way * r[b][d];
        count += between[a];
    }
    return count;
}

/* Coordinates s_k v_kp of the centres; 0 at rest. values[center][kept]. */
static void center_coordinates(const pelt_eigen_joint *joint, const pelt_coordinates *c, double *values) {
    uint32_t count = joint->kept;
    for (uint32_t i = 0; i < c->center_count; i++)
        for (uint32_t k = 0; k < count; k++) {
            uint32_t p = 0;
            while (p < joint->pose_count && joint->poses[p] != c->centers[i]) p++;
            values[(size_t)i * count + k] =
                p < joint->pose_count ? joint->singular[k] * joint->right[(size_t)k * joint->pose_count + p] : 0;
        }
}

/* When there are more examples than centres, the least-squares values at the centres: b = phi_cc lambda, phi_pc lambda
   = a. The rest pose enters with a large weight, which holds its 0. */
static void fit_values(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint, double width,
                       pelt_coordinates *c) {
    size_t n = c->center_count, kept = joint->kept, rows = (size_t)joint->pose_count + 1;
    const double strength = 1e3;
    c->values = PELT_NEW(arena, n * kept, double);
    center_coordinates(joint, c, c->values);
    if (rows == n || !kept) return;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *phi = PELT_NEW(work, rows * n, double), *right = PELT_NEW(work, rows * kept, double);
    pelt_eigen_functions(poses, 1, &joint->mover, joint->pose_count, joint->poses, n, c->centers, width, phi);
    pelt_eigen_functions(poses, 1, &joint->mover, 1, c->centers, n, c->centers, width, phi + (rows - 1) * n);
    for (size_t i = 0; i < n; i++) phi[(rows - 1) * n + i] *= strength;
    for (size_t p = 0; p + 1 < rows; p++)
        for (size_t k = 0; k < kept; k++)
            right[p * kept + k] = joint->singular[k] * joint->right[k * joint->pose_count + p];
    if (pelt_least_squares(rows, n, phi, kept, right, loose_cut)) {
        double *square = square_functions(work, poses, joint->mover, c, width);
        pelt_gemm(false, false, n, kept, n, 1, square, right, 0, c->values);
        for (size_t k = 0; k < kept; k++) c->values[k] = 0;
    }
}

void pelt_eigen_coordinates(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_basis *basis, double width,
                            pelt_coordinates *out) {
    for (uint32_t j = 0; j < basis->joint_count; j++) {
        pelt_eigen_centers(arena, poses, basis->joints[j].mover, &out[j]);
        fit_values(arena, poses, &basis->joints[j], width, &out[j]);
    }
}

pelt_condition pelt_eigen_condition(pelt_arena *arena, const pelt_poses *poses, uint32_t mover,
                                    const pelt_coordinates *c, double width) {
    size_t n = c->center_count;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_condition out = {.value = pelt_condition_of(n, square_functions(work, poses, mover, c, width)),
                          .distance = INFINITY};
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            uint32_t a = c->centers[i], b = c->centers[k];
            double r = distance(poses, mover, a, b);
            if (!(r < out.distance)) continue;
            out.distance = r;
            out.closest[0] = k && a < b ? a : b, out.closest[1] = k && a < b ? b : a; /* the rest pose first */
        }
    return out;
}

/* -- Basis functions ----------------------------------------------------------------------------------------------- */

/* The axes along which a mover's distances are measured; returns their number. `axes` may be NULL. */
static uint32_t mover_axes(const pelt_poses *poses, uint32_t mover, pelt_axis *axes) {
    const pelt_mover *d = &poses->movers[mover];
    if (axes && pelt_is_control(d)) {
        float scale = poses->control_list[d->first].scale;
        axes[0] = (pelt_axis){.kind = PELT_AXIS_CONTROL, .joint = d->first, .weight = scale * scale};
    }
    for (uint32_t k = 0; axes && k < d->count; k++) axes[k] = joint_axis(poses, poses->members[d->first + k]);
    return pelt_is_control(d) ? 1 : d->count;
}

static void fill_center(const pelt_poses *poses, const pelt_axis *axis, uint32_t example, float center[4]) {
    if (axis->kind == PELT_AXIS_CONTROL)
        center[0] = (float)control(poses, example, axis->joint);
    else
        place_center(axis, rotation(poses, example, axis->joint), center);
}

pelt_rbf pelt_eigen_rbf(pelt_arena *arena, const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers,
                        size_t center_count, const uint32_t *centers, double width, size_t coefficient_count,
                        const double *lambda) {
    size_t axis_count = 0, n = center_count, at = 0;
    for (uint32_t m = 0; m < mover_count; m++) axis_count += mover_axes(poses, movers[m], NULL);
    pelt_axis *axes = PELT_NEW(arena, axis_count, pelt_axis);
    float *places = PELT_NEW(arena, 4 * n * axis_count, float), *matrix = PELT_NEW(arena, n * coefficient_count, float);
    for (uint32_t m = 0; m < mover_count; m++) at += mover_axes(poses, movers[m], axes + at);
    for (size_t q = 0; q < n; q++)
        for (size_t k = 0; k < axis_count; k++)
            fill_center(poses, &axes[k], centers[q], places + 4 * (q * axis_count + k));
    for (size_t i = 0; i < n * coefficient_count; i++) matrix[i] = (float)lambda[i];
    return (pelt_rbf){.axis_count = (uint32_t)axis_count,
                      .center_count = (uint32_t)n,
                      .coefficient_count = (uint32_t)coefficient_count,
                      .axes = axes,
                      .centers = places,
                      .phi = PELT_PHI_EXP,
                      .width = (float)width,
                      .matrix = matrix};
}

pelt_rbf pelt_eigen_joint_rbf(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                              const pelt_coordinates *c, double width) {
    size_t n = c->center_count, size = n * joint->kept;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *lambda = PELT_NEW(work, size, double);
    memcpy(lambda, c->values, size * sizeof *lambda);
    if (!solve(n, square_functions(work, poses, joint->mover, c, width), joint->kept, lambda))
        memset(lambda, 0, size * sizeof *lambda);
    return pelt_eigen_rbf(arena, poses, 1, &joint->mover, n, c->centers, width, joint->kept, lambda);
}
