/* eigenbasis.c: the joint supports and eigendisplacements of EigenSkin (Kry, James & Pai 2002, sections 2.2 and 2.3).

       S_j = points displaced by more than 4% of the largest displacement in the examples P_j that move joint j alone
       A_j = U_j D_j V_j^T,    A_j: displacements of S_j (3 |S_j| rows) in P_j (columns)

   The left singular vectors are the eigendisplacements; column p of D_j V_j^T are the coordinates of example p. There
   are few examples and many points, so the decomposition is that of the small matrix A^T A = V D^2 V^T, and
   U = A V D^-1. coordinates.c drives them. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

/* Singular values below this part of the largest are noise: squares of 1e-7 drown in the rounding of A^T A. */
static const double NO_SINGULAR = 1e-6;

/* -- Supports ------------------------------------------------------------------------------------------------------ */

static pelt_result gather_support(pelt_arena *arena, const pelt_poses *poses, const pelt_supports *supports,
                                  double threshold, pelt_eigen_joint *joint) {
    const float *amplitudes = supports->amplitudes + (size_t)joint->mover * supports->point_count;
    float least = (float)threshold * supports->peaks[joint->mover];
    joint->poses = PELT_NEW(arena, poses->count, uint32_t);
    joint->points = PELT_NEW(arena, supports->point_count, uint32_t);
    if (!joint->poses || !joint->points) return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < poses->count; e++)
        if (poses->sweep_of[e] == joint->mover) joint->poses[joint->pose_count++] = e;
    for (uint32_t i = 0; i < supports->point_count; i++)
        if (amplitudes[i] > least) joint->points[joint->point_count++] = i;
    return PELT_OK;
}

/* -- Singular values ----------------------------------------------------------------------------------------------- */

/* Rows of A^T that fit the cache: A^T A is summed over stretches of points, always in the same order. */
enum { STRETCH = 1024 };

static const float *displacement(const pelt_example_displacements *u, uint32_t example, uint32_t point) {
    return u->positions + 3 * ((size_t)example * u->point_count + point);
}

static pelt_result gram_of(const pelt_eigen_joint *joint, const pelt_example_displacements *u, pelt_arena *work,
                           double *gram) {
    size_t n = joint->pose_count;
    double *rows = PELT_NEW(work, n * 3 * STRETCH, double);
    if (!rows) return PELT_ERROR_MEMORY;
    memset(gram, 0, n * n * sizeof *gram);
    for (uint32_t start = 0; start < joint->point_count; start += STRETCH) {
        uint32_t count = joint->point_count - start < STRETCH ? joint->point_count - start : STRETCH;
        for (size_t p = 0; p < n; p++)
            for (uint32_t i = 0; i < count; i++)
                for (size_t c = 0; c < 3; c++)
                    rows[p * 3 * count + 3 * i + c] = displacement(u, joint->poses[p], joint->points[start + i])[c];
        pelt_gemm(false, true, n, n, 3 * (size_t)count, 1, rows, rows, 1, gram);
    }
    return PELT_OK;
}

static pelt_result decompose(pelt_arena *arena, const pelt_example_displacements *u, pelt_eigen_joint *joint) {
    size_t n = joint->pose_count;
    pelt_arena *work = pelt_arena_new(0);
    double *gram = work ? PELT_NEW(work, n * n, double) : NULL, *values = work ? PELT_NEW(work, n, double) : NULL;
    joint->singular = PELT_NEW(arena, n, double);
    joint->right = PELT_NEW(arena, n * n, double);
    bool done = gram && values && joint->singular && joint->right && !gram_of(joint, u, work, gram) &&
                pelt_eigen(n, gram, values);
    for (size_t k = 0; done && k < n; k++) {
        size_t column = n - 1 - k; /* LAPACK's order is rising */
        double s = values[column] > 0 ? sqrt(values[column]) : 0;
        if (!(s > NO_SINGULAR * joint->singular[0]) || s == 0) break;
        joint->singular[k] = s;
        for (size_t p = 0; p < n; p++) joint->right[k * n + p] = gram[p * n + column];
        joint->rank++;
    }
    pelt_arena_free(work);
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result pelt_eigen_basis_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                const pelt_supports *supports, double threshold, pelt_eigen_basis *out,
                                pelt_error *error) {
    *out = (pelt_eigen_basis){.joints = PELT_NEW(arena, poses->mover_count, pelt_eigen_joint)};
    pelt_result result = out->joints ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < poses->mover_count && !result; g++) {
        if (!poses->movers[g].swept || !(supports->peaks[g] > supports->noise)) continue;
        pelt_eigen_joint *joint = &out->joints[out->joint_count];
        *joint = (pelt_eigen_joint){.mover = g};
        result = gather_support(arena, poses, supports, threshold, joint);
        if (!result) result = decompose(arena, u, joint);
        if (joint->rank) out->joint_count++;
    }
    return result ? pelt_fail(error, result, "not enough memory for the eigendisplacements") : PELT_OK;
}

void pelt_eigendisplacement(const pelt_eigen_joint *joint, const pelt_example_displacements *u, uint32_t k,
                            float *out) {
    const double *right = joint->right + (size_t)k * joint->pose_count;
    for (uint32_t i = 0; i < joint->point_count; i++) {
        double sum[3] = {0};
        for (uint32_t p = 0; p < joint->pose_count; p++)
            for (int c = 0; c < 3; c++) sum[c] += right[p] * displacement(u, joint->poses[p], joint->points[i])[c];
        for (size_t c = 0; c < 3; c++) out[3 * (size_t)i + c] = (float)(sum[c] / joint->singular[k]);
    }
}

void pelt_eigen_keep(pelt_eigen_basis *basis, uint32_t per_joint) {
    for (uint32_t j = 0; j < basis->joint_count; j++)
        basis->joints[j].kept = per_joint < basis->joints[j].rank ? per_joint : basis->joints[j].rank;
}
