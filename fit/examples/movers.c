/* movers.c: which joints are one mover, and which follow another, by function: joint k *leads* joint j when the rotation
   of k determines that of j over all examples. Joints that move at the same time but not as functions of each other
   stay apart, whatever the examples are: sweeps of one joint, poses of the whole body, or anything between.

   With r the rotation vectors of a joint over the examples, k leads j if the best linear map A leaves little of
   r_j = A r_k: over all examples together, and in every single one, since one example in which they part tells them
   apart. Joints that lead each other are one mover (a spine). A joint that is led without leading back follows (a twist
   helper follows its limb). Every control is a mover. */

#include "fit/examples/movers.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

static const double LEFT = 0.01; /* of the squared rotations: less is the bend of a function that is not quite linear */
static const double LEFT_AFAR = 1e-4; /* between joints that are far apart: knees resemble each other in a walk */
enum { NEAR = 4 };                    /* steps along the skeleton */
static const double PARTED = 0.2;     /* of the largest rotation: more in any one example tells two joints apart */
static const double FLAT = 1e-6;      /* of the largest variance: a hinge has no others */
static const uint32_t NONE = UINT32_MAX;

typedef struct leading {
    pelt_poses *poses;
    const pelt_skeleton *skeleton;
    const bool *moved; /* [pose][joint] */
    double *turns;     /* [joint][3][pose] rotation vectors */
    double *moments;   /* [3 joint][3 joint] sums of products over all poses; lower half */
    double *axes;      /* [joint][3][3] columns: principal axes of a joint's rotation vectors */
    double *variances; /* [joint][3] ascending; 0 where flat */
    double *farthest;  /* [joint] the largest angle */
    uint32_t *counts;  /* [joint] examples that move it */
    bool *leads;       /* [j][k] k leads j */
} leading;

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
            l->farthest[j] = fmax(l->farthest[j], angle);
        }
    pelt_syrk(false, 3 * (size_t)p->joint_count, n, 1, l->turns, 0, l->moments);
}

/* The 3 x 3 block of the moments of two joints. */
static void block_of(const leading *l, size_t k, size_t j, double out[3][3]) {
    size_t size = 3 * (size_t)l->poses->joint_count;
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++) {
            size_t row = 3 * k + a, column = 3 * j + b;
            out[a][b] = row >= column ? l->moments[row * size + column] : l->moments[column * size + row];
        }
}

static void find_axes(leading *l) {
    for (size_t j = 0; j < l->poses->joint_count; j++) {
        double block[3][3], *values = l->variances + 3 * j;
        block_of(l, j, j, block);
        memcpy(l->axes + 9 * j, block, sizeof block);
        bool found = pelt_eigen(3, l->axes + 9 * j, values);
        for (int i = 0; i < 3; i++)
            if (!found || !(values[i] > FLAT * values[2])) values[i] = 0;
    }
}

/* A, as [3][3] with r_j = A r_k; returns how many directions of r_k it uses. */
static uint32_t map_of(const leading *l, size_t k, size_t j, double map[3][3]) {
    const double *axes = l->axes + 9 * k, *values = l->variances + 3 * k;
    double block[3][3];
    uint32_t used = 0;
    block_of(l, k, j, block);
    memset(map, 0, 9 * sizeof **map);
    for (int r = 0; r < 3; r++) {
        if (!(values[r] > 0)) continue;
        used++;
        for (int b = 0; b < 3; b++) {
            double along = 0;
            for (int a = 0; a < 3; a++) along += axes[3 * a + r] * block[a][b];
            for (int a = 0; a < 3; a++) map[b][a] += along / values[r] * axes[3 * a + r];
        }
    }
    return used;
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
    return any && pelt_joint_hops(l->skeleton, (uint32_t)k, (uint32_t)j) <= NEAR;
}

/* A function of `used` numbers passes through that many examples whatever they are, so those are not counted. */
static bool leads(const leading *l, uint32_t k, uint32_t j) {
    const pelt_poses *p = l->poses;
    double map[3][3], left = 0, all = 0, most = 0;
    size_t n = p->count;
    uint32_t used = map_of(l, k, j, map);
    if (!used || l->counts[j] <= 2 * used) return used && moves_along(l, k, j);
    for (size_t e = 0; e < n; e++) {
        double square = 0;
        for (size_t b = 0; b < 3; b++) {
            double x = l->turns[(3 * j + b) * n + e], y = x;
            for (size_t a = 0; a < 3; a++) y -= map[b][a] * l->turns[(3 * k + a) * n + e];
            square += y * y, all += x * x;
        }
        left += square, most = fmax(most, square);
    }
    left *= (double)l->counts[j] / (l->counts[j] - used);
    bool near = pelt_joint_hops(l->skeleton, k, j) <= NEAR;
    return left < (near ? LEFT : LEFT_AFAR) * all && sqrt(most) < PARTED * l->farthest[j];
}

/* What the moments alone say: whether enough is explained for a look at every example. */
static bool may_lead(const leading *l, size_t k, size_t j) {
    double block[3][3], own[3][3], explained = 0;
    const double *axes = l->axes + 9 * k, *values = l->variances + 3 * k;
    if (k == j || !l->poses->moves[k] || !l->poses->moves[j]) return false;
    block_of(l, k, j, block), block_of(l, j, j, own);
    for (int r = 0; r < 3; r++)
        for (int b = 0; b < 3 && values[r] > 0; b++) {
            double along = 0;
            for (int a = 0; a < 3; a++) along += axes[3 * a + r] * block[a][b];
            explained += along * along / values[r];
        }
    return explained > (1 - LEFT) * (own[0][0] + own[1][1] + own[2][2]);
}

static void find_leads(leading *l) {
    uint32_t n = l->poses->joint_count;
    find_turns(l);
    find_axes(l);
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < n; k++) l->leads[(size_t)j * n + k] = may_lead(l, k, j) && leads(l, k, j);
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
        const bool *leads = l->leads + (size_t)j * n;
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
                 .moments = PELT_NEW(work, 9 * n * n, double),
                 .axes = PELT_NEW(work, 9 * n, double),
                 .variances = PELT_NEW(work, 3 * n, double),
                 .farthest = PELT_NEW(work, n, double),
                 .counts = PELT_NEW(work, n, uint32_t),
                 .leads = PELT_NEW(work, n * n, bool)};
    for (size_t e = 0; e < poses->count; e++)
        for (size_t j = 0; j < n; j++) l.counts[j] += moved[e * n + j];
    find_leads(&l);
    make_movers(&l, work);
    find_parents(skeleton, poses);
    add_controls(poses);
    find_sweeps(moved, control_moved, poses);
}
