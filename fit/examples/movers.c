/* movers.c: which joints are one mover, and which follow another, by function: joint k *leads* joint j when the rotation
   of k determines that of j over all examples. Joints that move at the same time but not as functions of each other
   stay apart, whatever the examples are: sweeps of one joint, poses of the whole body, or anything between.

   With r the rotation vectors of a joint over the examples, k leads j if the best map of r_k leaves little of r_j: over
   all examples together, and in every single one, since one example in which they part tells them apart. The map is
   linear; for a joint that turns about one axis, and is close to k, also quadratic: a helper that takes the twist out of
   a limb that swings is no linear function of it. Other joints get no such map: in a motion, in which everything is a
   function of time, it finds nearly any joint in any other. Joints that lead each other are one mover (a spine). A joint
   that is led without leading back follows (a twist helper follows its limb). Every control is a mover. */

#include "fit/examples/movers.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

static const double LEFT = 0.01;      /* of the squared rotations: less is the bend of a function of higher degree */
static const double LEFT_AFAR = 1e-4; /* between joints that are far apart: knees resemble each other in a walk */
enum { NEAR = 4 };                    /* steps along the skeleton */
static const double PARTED = 0.2;     /* of the largest rotation: more in any one example tells two joints apart */
static const double ALONE = 0.1;      /* an example of which the others say less is taken to be met anyway */
static const double FLAT = 1e-6;      /* of the largest square: a hinge turns about no other axis */
static const uint32_t NONE = UINT32_MAX;

enum { LINEAR = 3, QUADRATIC = 9 }; /* terms of a map */
enum { NOT_LED, LED, BENT };        /* by a linear map, by a quadratic one */

typedef struct leading {
    pelt_poses *poses;
    const pelt_skeleton *skeleton;
    const bool *moved; /* [pose][joint] */
    double *turns;     /* [joint][3][pose] rotation vectors */
    double *squares;   /* [joint] sums of their squares */
    double *farthest;  /* [joint] the largest angle */
    uint32_t *counts;  /* [joint] examples that move it */
    bool *hinge;       /* [joint] turns about one axis */
    uint8_t *leads;    /* [j][k] k leads j: NOT_LED, LED or BENT */
} leading;

/* An orthonormal basis of the functions of one joint, and the coordinates of all rotations in it. */
typedef struct basis {
    uint32_t count;
    double *functions; /* [count][pose] */
    double *along;     /* [count][3 joint] */
} basis;

uint32_t pelt_joint_hops(const pelt_skeleton *skeleton, uint32_t a, uint32_t b) {
    uint32_t up = 0;
    for (int32_t i = (int32_t)a; i >= 0; i = skeleton->parents[i], up++) {
        uint32_t down = 0;
        for (int32_t k = (int32_t)b; k >= 0; k = skeleton->parents[k], down++)
            if (k == i) return up + down;
    }
    return UINT32_MAX;
}

/* -- Who leads whom ------------------------------------------------------------------------------------------------ */

static void find_turns(leading *l) {
    const pelt_poses *p = l->poses;
    size_t n = p->count;
    for (size_t j = 0; j < p->joint_count; j++)
        for (size_t e = 0; e < n; e++) {
            const float *q = p->rotations + 4 * (e * p->joint_count + j); /* w >= 0 */
            double sine = sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2]);
            double angle = 2 * atan2(sine, q[3]), scale = sine > 0 ? angle / sine : 2;
            for (size_t i = 0; i < 3; i++) l->turns[(3 * j + i) * n + e] = p->moves[j] ? scale * q[i] : 0;
            if (p->moves[j]) l->squares[j] += angle * angle;
            l->farthest[j] = fmax(l->farthest[j], angle);
        }
}

/* The functions of joint k up to a degree: its rotation vector over the largest angle, and their products. */
static basis functions_of(pelt_arena *work, const leading *l, size_t k, size_t terms) {
    size_t n = l->poses->count, joints = l->poses->joint_count;
    double *raw = PELT_NEW(work, terms * n, double), gram[QUADRATIC * QUADRATIC] = {0};
    double values[QUADRATIC], axes[QUADRATIC * QUADRATIC];
    const double *turns = l->turns + 3 * k * n;
    basis out = {.functions = PELT_NEW(work, terms * n, double), .along = PELT_NEW(work, terms * 3 * joints, double)};
    for (size_t e = 0; e < n; e++) {
        double x[3];
        for (size_t i = 0; i < 3; i++) raw[i * n + e] = x[i] = turns[i * n + e] / l->farthest[k];
        for (size_t i = 0, at = LINEAR; i < 3 && terms == QUADRATIC; i++)
            for (size_t m = i; m < 3; m++) raw[at++ * n + e] = x[i] * x[m];
    }
    pelt_syrk(false, terms, n, 1, raw, 0, gram);
    if (!pelt_eigen_leading(terms, gram, terms, values, axes)) return out;
    while (out.count < terms && values[out.count] > FLAT * values[0]) out.count++;
    for (size_t i = 0; i < out.count; i++)
        for (size_t m = 0; m < terms; m++) axes[i * terms + m] /= sqrt(values[i]);
    pelt_gemm(false, false, out.count, n, terms, 1, axes, raw, 0, out.functions);
    pelt_gemm(false, true, out.count, 3 * joints, n, 1, out.functions, l->turns, 0, out.along);
    return out;
}

/* For a joint that few examples move: true if k moves in all of those that leave most joints still. */
static bool moves_along(const leading *l, size_t k, size_t j) {
    size_t n = l->poses->joint_count, moving = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) moving += l->poses->moves[i];
    for (size_t e = 0; e < l->poses->count; e++) {
        const bool *moved = l->moved + e * n;
        size_t count = 0;
        for (size_t i = 0; i < n && moved[j]; i++) count += moved[i];
        if (!moved[j] || 4 * count > moving) continue;
        if (!moved[k]) return false;
        any = true;
    }
    return any;
}

/* What the best map in this basis leaves of j's squared rotations. */
static double left_by(const leading *l, const basis *f, uint32_t j) {
    size_t size = 3 * (size_t)l->poses->joint_count;
    double left = l->squares[j];
    for (size_t i = 0; i < f->count; i++)
        for (size_t b = 0; b < 3; b++) left -= pow(f->along[i * size + 3 * j + b], 2);
    return left;
}

/* The farthest that the best map of all other examples is off in any one: its own error is smaller, by the share of the
   example that the others say nothing of. */
static double farthest_off(const leading *l, const basis *f, uint32_t j) {
    size_t n = l->poses->count, size = 3 * (size_t)l->poses->joint_count;
    double most = 0;
    for (size_t e = 0; e < n; e++) {
        double square = 0, others = 1;
        for (size_t i = 0; i < f->count; i++) others -= pow(f->functions[i * n + e], 2);
        for (size_t b = 0; b < 3; b++) {
            double x = l->turns[(3 * j + b) * n + e];
            for (size_t i = 0; i < f->count; i++) x -= f->along[i * size + 3 * j + b] * f->functions[i * n + e];
            square += x * x;
        }
        most = fmax(most, square / pow(fmax(others, ALONE), 2));
    }
    return sqrt(most);
}

/* A map passes through as many examples as it has terms whatever they are, so those are not counted. */
static bool meets(const leading *l, const basis *f, uint32_t j, double left) {
    double counted = (double)(l->counts[j] - f->count) / l->counts[j];
    return left_by(l, f, j) < left * l->squares[j] * counted && farthest_off(l, f, j) < PARTED * l->farthest[j];
}

static uint8_t lead_of(const leading *l, uint32_t k, uint32_t j, const basis *linear, const basis *quadratic) {
    bool near = pelt_joint_hops(l->skeleton, k, j) <= NEAR, bends = near && l->hinge[j];
    if (l->counts[j] <= 2 * linear->count)
        return near && left_by(l, linear, j) < LEFT * l->squares[j] && moves_along(l, k, j) ? LED : NOT_LED;
    if (meets(l, linear, j, near ? LEFT : LEFT_AFAR)) return LED;
    return bends && l->counts[j] > 2 * quadratic->count && meets(l, quadratic, j, LEFT) ? BENT : NOT_LED;
}

static void find_hinges(leading *l, pelt_arena *work) {
    for (uint32_t j = 0; j < l->poses->joint_count; j++) {
        PELT_SCOPED pelt_arena *inside = pelt_arena_inside(work);
        l->hinge[j] = l->poses->moves[j] && functions_of(inside, l, j, LINEAR).count == 1;
    }
}

static void find_leads(leading *l, pelt_arena *work) {
    const pelt_poses *p = l->poses;
    uint32_t n = p->joint_count;
    find_turns(l);
    find_hinges(l, work);
    for (uint32_t k = 0; k < n; k++) {
        if (!p->moves[k]) continue;
        pelt_arena *inside = pelt_arena_inside(work);
        basis linear = functions_of(inside, l, k, LINEAR), quadratic = functions_of(inside, l, k, QUADRATIC);
        for (uint32_t j = 0; j < n; j++)
            if (j != k && p->moves[j]) l->leads[(size_t)j * n + k] = lead_of(l, k, j, &linear, &quadratic);
        pelt_arena_free(inside);
    }
}

/* -- Movers ------------------------------------------------------------------------------------------------------ */

static uint32_t top_of(const uint32_t *above, uint32_t joint) {
    while (above[joint] != joint) joint = above[joint];
    return joint;
}

/* group[joint]: the first of the joints that lead each other. */
static void find_groups(const leading *l, uint32_t *group) {
    uint32_t n = l->poses->joint_count;
    for (uint32_t j = 0; j < n; j++) group[j] = j;
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < j; k++) {
            if (!l->leads[(size_t)j * n + k] || !l->leads[(size_t)k * n + j]) continue;
            uint32_t a = top_of(group, j), b = top_of(group, k);
            group[a > b ? a : b] = a > b ? b : a;
        }
    for (uint32_t j = 0; j < n; j++) group[j] = top_of(group, j);
}

/* The group that one of the joints of a group follows: of the nearest joint above it, or else the first. */
static uint32_t leader_of(const leading *l, const uint32_t *group, uint32_t own) {
    uint32_t n = l->poses->joint_count;
    for (uint32_t j = own; j < n; j++) {
        const uint8_t *leads = l->leads + (size_t)j * n;
        if (group[j] != own) continue;
        for (int32_t k = l->skeleton->parents[j]; k >= 0; k = l->skeleton->parents[k])
            if (leads[k] && group[k] != own) return group[k];
        for (uint32_t k = 0; k < n; k++)
            if (leads[k] && group[k] != own) return group[k];
    }
    return NONE;
}

/* Groups that follow none are movers, in skeleton order. Followers of followers end at a mover; should they go round in
   a circle, the first of it is one. */
static void make_movers(leading *l, pelt_arena *work) {
    pelt_poses *p = l->poses;
    uint32_t n = p->joint_count, members = 0;
    uint32_t *group = PELT_NEW(work, n, uint32_t), *leader = PELT_NEW(work, n, uint32_t);
    find_groups(l, group);
    for (uint32_t j = 0; j < n; j++) leader[j] = group[j] == j && p->moves[j] ? leader_of(l, group, j) : NONE;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t k = leader[j];
        for (uint32_t step = 0; step < n && k != NONE && k != j; step++) k = leader[k];
        if (k == j) leader[j] = NONE;
    }
    for (uint32_t j = 0; j < n; j++) {
        p->mover_of[j] = PELT_NO_MOVER;
        if (!p->moves[j] || group[j] != j || leader[j] != NONE) continue;
        pelt_mover *mover = &p->movers[p->mover_count];
        mover->first = members;
        for (uint32_t k = j; k < n; k++)
            if (group[k] == j && p->moves[k]) p->members[members++] = k;
        mover->count = members - mover->first;
        p->mover_of[j] = p->mover_count++;
    }
    for (uint32_t j = 0; j < n; j++) {
        uint32_t k = group[j];
        while (leader[k] != NONE) k = leader[k];
        if (p->moves[j]) p->mover_of[j] = p->mover_of[k];
    }
}

/* Followers that no joint of their mover leads linearly. */
static void find_bent(const leading *l) {
    pelt_poses *p = l->poses;
    size_t n = p->joint_count;
    for (size_t j = 0; j < n; j++) {
        if (!p->moves[j]) continue;
        const pelt_mover *mover = &p->movers[p->mover_of[j]];
        p->bent[j] = true;
        for (uint32_t i = 0; i < mover->count; i++) {
            uint32_t k = p->members[mover->first + i];
            if (k == j || l->leads[j * n + k] == LED) p->bent[j] = false;
        }
    }
}

static void add_controls(pelt_poses *p) {
    for (uint32_t c = 0; c < p->control_count; c++)
        p->movers[p->mover_count++] = (pelt_mover){.first = c, .parent = PELT_NO_MOVER};
}

static void find_parents(const pelt_skeleton *skeleton, pelt_poses *p) {
    for (uint32_t g = 0; g < p->mover_count; g++) {
        uint32_t found = PELT_NO_MOVER;
        int32_t k = skeleton->parents[p->members[p->movers[g].first]];
        for (; k >= 0 && found == PELT_NO_MOVER; k = skeleton->parents[k])
            if (p->mover_of[k] != g) found = p->mover_of[k];
        p->movers[g].parent = found;
    }
}

/* An example is a sweep of a mover when nothing else moves in it. */
static void find_sweeps(const bool *moved, const bool *control_moved, pelt_poses *p) {
    uint32_t joint_movers = p->mover_count - p->control_count;
    for (uint32_t e = 0; e < p->count; e++) {
        uint32_t only = PELT_NO_MOVER;
        bool several = false;
        for (uint32_t j = 0; j < p->joint_count; j++) {
            if (!moved[(size_t)e * p->joint_count + j]) continue;
            several |= only != PELT_NO_MOVER && p->mover_of[j] != only;
            only = p->mover_of[j];
        }
        for (uint32_t c = 0; c < p->control_count; c++) {
            if (!control_moved[(size_t)e * p->control_count + c]) continue;
            several |= only != PELT_NO_MOVER;
            only = joint_movers + c;
        }
        p->sweep_of[e] = several ? PELT_NO_MOVER : only;
        if (p->sweep_of[e] != PELT_NO_MOVER) p->movers[only].swept = true;
    }
}

void pelt_find_movers(pelt_arena *work, const pelt_skeleton *skeleton, const bool *moved, const bool *control_moved,
                      pelt_poses *poses) {
    size_t n = poses->joint_count;
    leading l = {.poses = poses,
                 .skeleton = skeleton,
                 .moved = moved,
                 .turns = PELT_NEW(work, 3 * n * poses->count, double),
                 .squares = PELT_NEW(work, n, double),
                 .farthest = PELT_NEW(work, n, double),
                 .counts = PELT_NEW(work, n, uint32_t),
                 .hinge = PELT_NEW(work, n, bool),
                 .leads = PELT_NEW(work, n * n, uint8_t)};
    for (size_t e = 0; e < poses->count; e++)
        for (size_t j = 0; j < n; j++) l.counts[j] += moved[e * n + j];
    find_leads(&l, work);
    make_movers(&l, work);
    find_bent(&l);
    find_parents(skeleton, poses);
    add_controls(poses);
    find_sweeps(moved, control_moved, poses);
}
