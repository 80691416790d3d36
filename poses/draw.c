/* draw.c: a range of motion: the rest pose, single angles at their limits, then poses of the whole body.

   Whole-body poses are a Gaussian copula: z = L g with g normal and L L^T the correlations of the clips' angles, pulled
   to independence by a quarter, because clips are few; then every angle is low + Phi(z) (high - low), evenly spread over
   its range and together with others as in the clips. */

#include "poses/poses.h"
#include "rig/linear.h"
#include "rig/sort.h"
#include <stdlib.h>
#include <string.h>

#define DEGREES (M_PI / 180)

static const double reach = 0.6, clip_reach = 0.8; /* of the limits, and of those that clips reach: whole-body poses */
static const double independent = 0.25;            /* how much correlations are pulled towards none */
static const double stirs = 0.5 * DEGREES;
static const double one_sided = 0.25; /* the smaller limit, of the larger: then both values are on one side */
static const double inside = 1e-3;    /* of the diagonal: limbs that overlap by less are fine */
enum { TRIES = 16, SHRINKS = 6 };

/* An angle to explore. */
typedef struct freedom {
    uint32_t range;
    pelt_angle angle;
    double low, high; /* for whole-body poses */
} freedom;

typedef struct drawing {
    pelt_bundle *bundle;
    const pelt_motion_range *range;
    pelt_arena *arena;
    body body;
    const limbs *limbs;
    size_t count;      /* of freedoms */
    freedom *freedoms; /* those that move most skin first */
    double *factor;    /* [count][count] Cholesky factor of their correlations */
    uint64_t random;
    uint32_t pose_count;
    pelt_transform *poses; /* [pose_count][joint] */
} drawing;

/* -- Angles to pose ------------------------------------------------------------------------------------------------- */

static double clamp(double x, double low, double high) { return fmax(low, fmin(high, x)); }

/* angles: [range][3] of leaders; followers are filled in. */
static void set_pose(const drawing *d, double *angles, pelt_transform *pose) {
    const pelt_skeleton *s = &d->bundle->skeleton;
    memcpy(pose, s->rest, s->joint_count * sizeof *pose);
    for (size_t i = 0; i < d->range->count; i++) {
        const pelt_joint_range *r = &d->range->list[i];
        double *own = angles + 3 * i, q[4], rest[4], out[4];
        for (int a = 0; a < 3 && r->leader != UINT32_MAX; a++)
            own[a] = clamp(pelt_dot(r->gain[a], angles + 3 * (size_t)r->leader), r->low[a], r->high[a]);
        pelt_rotation_of(r->axes, own, q);
        for (int k = 0; k < 4; k++) rest[k] = s->rest[r->joint].rotation[k];
        pelt_quaternion_multiply(rest, q, out);
        for (int k = 0; k < 4; k++) pose[r->joint].rotation[k] = (float)out[k];
    }
}

static double overlap(const drawing *d, const pelt_transform *pose) {
    PELT_SCOPED pelt_arena *brief = pelt_arena_inside(d->arena);
    return pelt_limbs_overlap(d->limbs, brief, pose);
}

/* -- What there is to explore --------------------------------------------------------------------------------------- */

static void list_freedoms(drawing *d) {
    const pelt_motion_range *m = d->range;
    size_t n = 0, all = m->angle_count;
    pelt_ranked *order = PELT_NEW(d->arena, all, pelt_ranked);
    freedom *list = PELT_NEW(d->arena, all, freedom);
    d->freedoms = PELT_NEW(d->arena, all, freedom);
    for (uint32_t i = 0; i < m->count; i++)
        for (pelt_angle a = 0; a < PELT_ANGLE_COUNT; a++) {
            const pelt_joint_range *r = &m->list[i];
            double share = r->from == PELT_LIMITS_CLIPS ? clip_reach : reach;
            if (r->leader != UINT32_MAX || !(r->high[a] > r->low[a]) || n == all) continue;
            list[n] = (freedom){i, a, share * r->low[a], share * r->high[a]};
            order[n] = (pelt_ranked){d->body.carried[r->joint] * (r->high[a] - r->low[a]), (uint32_t)n};
            n++;
        }
    qsort(order, n, sizeof *order, pelt_falling_ranks);
    for (size_t i = 0; i < n; i++) d->freedoms[i] = list[order[i].index];
    d->count = n;
}

/* Angles of the freedoms in a frame. */
static void frame_angles(const drawing *d, const float *rotations, double *out) {
    for (size_t i = 0; i < d->count; i++) {
        const pelt_joint_range *r = &d->range->list[d->freedoms[i].range];
        const float *q = rotations + 4 * (size_t)r->joint;
        double angles[3];
        pelt_angles_of(r->axes, (double[4]){q[0], q[1], q[2], q[3]}, angles);
        out[i] = angles[d->freedoms[i].angle];
    }
}

/* Clips tell correlations also of joints whose limits come from elsewhere. */
static void find_correlations(drawing *d) {
    size_t n = d->count, frames, joints = d->bundle->skeleton.joint_count;
    const float *rotations = pelt_clip_rotations(d->arena, d->bundle, &frames);
    double *mean = PELT_NEW(d->arena, n, double), *row = PELT_NEW(d->arena, n, double);
    d->factor = PELT_NEW(d->arena, n * n, double);
    for (size_t f = 0; f < frames; f++) {
        frame_angles(d, rotations + 4 * joints * f, row);
        for (size_t i = 0; i < n; i++) mean[i] += row[i] / (double)frames;
    }
    for (size_t f = 0; f < frames; f++) {
        frame_angles(d, rotations + 4 * joints * f, row);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k <= i; k++) d->factor[i * n + k] += (row[i] - mean[i]) * (row[k] - mean[k]);
    }
    for (size_t i = 0; i < n; i++) mean[i] = sqrt(d->factor[i * n + i]);
    double still = stirs * sqrt((double)frames);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            bool known = mean[i] > still && mean[k] > still;
            double *c = &d->factor[i * n + k];
            *c = i == k ? 1 : known ? (1 - independent) * *c / (mean[i] * mean[k]) : 0;
        }
    if (pelt_cholesky(n, d->factor)) return;
    for (size_t i = 0; i < n * n; i++) d->factor[i] = i % (n + 1) ? 0 : 1;
}

/* -- Single angles -------------------------------------------------------------------------------------------------- */

/* Poses one angle; one that runs limbs into each other goes less far. */
static void pose_single(drawing *d, const freedom *f, double value, double *angles, pelt_transform *pose) {
    for (int i = 0; i < SHRINKS; i++, value *= 0.8) {
        memset(angles, 0, 3 * d->range->count * sizeof *angles);
        angles[3 * (size_t)f->range + f->angle] = value;
        set_pose(d, angles, pose);
        if (overlap(d, pose) <= inside * d->bundle->mesh.diagonal) return;
    }
}

/* The values of an angle: its limits, the farther first; or if they are on one side, that and half of it. */
static void limit_values(const drawing *d, const freedom *f, double values[2]) {
    const pelt_joint_range *r = &d->range->list[f->range];
    double low = r->low[f->angle], high = r->high[f->angle];
    values[0] = high >= -low ? high : low, values[1] = high >= -low ? low : high;
    if (fabs(values[1]) < one_sided * fabs(values[0])) values[1] = values[0] / 2;
}

/* How many values, and of how many angles. */
static uint32_t plan_singles(const drawing *d, size_t *angles) {
    size_t poses = d->pose_count - 1;
    *angles = d->count;
    if (2 * d->count <= poses / 3) return 2;
    if (d->count > poses / 3) *angles = poses / 3;
    return 1;
}

static int by_joint(const void *a, const void *b) {
    const freedom *x = a, *y = b;
    return x->range != y->range ? (x->range > y->range) - (x->range < y->range) : (int)x->angle - (int)y->angle;
}

/* -- Whole bodies --------------------------------------------------------------------------------------------------- */

/* A normal number, by Box and Muller. */
static double draw_normal(uint64_t *state) {
    double a = pelt_draw(state), b = pelt_draw(state);
    return sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);
}

static void draw_angles(drawing *d, double *normal, double *angles) {
    size_t n = d->count;
    memset(angles, 0, 3 * d->range->count * sizeof *angles);
    for (size_t i = 0; i < n; i++) normal[i] = draw_normal(&d->random);
    for (size_t i = 0; i < n; i++) {
        const freedom *f = &d->freedoms[i];
        double z = 0;
        for (size_t k = 0; k <= i; k++) z += d->factor[i * n + k] * normal[k];
        double share = 0.5 * erfc(-z / M_SQRT2);
        angles[3 * (size_t)f->range + f->angle] = f->low + share * (f->high - f->low);
    }
}

/* The first draw without overlap, or the one with the least. */
static void pose_whole(drawing *d, double *normal, double *angles, pelt_transform *trial, pelt_transform *pose) {
    size_t bytes = d->bundle->skeleton.joint_count * sizeof *pose;
    double least = INFINITY;
    for (int i = 0; i < TRIES && least > inside * d->bundle->mesh.diagonal; i++) {
        draw_angles(d, normal, angles);
        set_pose(d, angles, trial);
        double deep = overlap(d, trial);
        if (deep < least) least = deep, memcpy(pose, trial, bytes);
    }
}

/* -- All ------------------------------------------------------------------------------------------------------------ */

/* A stage. */
static pelt_result draw_poses(void *user, pelt_error *error) {
    (void)error;
    drawing *d = user;
    size_t joints = d->bundle->skeleton.joint_count, single, at = 1;
    pelt_body_of(d->arena, d->bundle, &d->body);
    d->limbs = pelt_limbs_of(d->arena, &d->body);
    list_freedoms(d);
    find_correlations(d);
    d->poses = PELT_NEW(d->arena, d->pose_count * joints, pelt_transform);
    double *angles = PELT_NEW(d->arena, 3 * d->range->count, double), *normal = PELT_NEW(d->arena, d->count, double);
    pelt_transform *trial = PELT_NEW(d->arena, joints, pelt_transform);
    set_pose(d, angles, d->poses);
    uint32_t values = plan_singles(d, &single);
    freedom *alone = PELT_NEW(d->arena, single, freedom);
    memcpy(alone, d->freedoms, single * sizeof *alone);
    qsort(alone, single, sizeof *alone, by_joint);
    for (size_t i = 0; i < single; i++) {
        double limits[2];
        limit_values(d, &alone[i], limits);
        for (uint32_t k = 0; k < values; k++) pose_single(d, &alone[i], limits[k], angles, d->poses + joints * at++);
    }
    for (; at < d->pose_count; at++) pose_whole(d, normal, angles, trial, d->poses + joints * at);
    return PELT_OK;
}

const pelt_clip *pelt_still_keys(const pelt_clip *clip) {
    for (uint32_t i = 0; clip && i < clip->channel_count; i++)
        ((pelt_channel *)clip->channels)[i].interpolation = PELT_STEP;
    return clip;
}

static pelt_result check_range(const pelt_bundle *bundle, const pelt_motion_range *range, pelt_error *error) {
    for (size_t i = 0; i < range->count; i++)
        if (range->list[i].joint >= bundle->skeleton.joint_count ||
            (range->list[i].leader != UINT32_MAX && range->list[i].leader >= range->count))
            return pelt_fail(error, PELT_ERROR_DATA, "the range of motion belongs to another character, not to %s",
                             bundle->path);
    return PELT_OK;
}

const pelt_clip *pelt_bundle_add_poses(pelt_bundle *bundle, const pelt_motion_range *range, uint32_t count,
                                       uint32_t seed, const char *name, pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(range, error) || PELT_MISSING(name, error) ||
        pelt_check_range("count", count, 2, PELT_MOST_POSES, error) || check_range(bundle, range, error))
        return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    drawing d = {.bundle = bundle, .range = range, .arena = arena, .random = seed, .pose_count = count};
    if (pelt_stage(arena, draw_poses, &d, error)) return NULL;
    pelt_clip_input input = {.name = name, .frame_count = count, .poses = d.poses};
    return pelt_still_keys(pelt_bundle_add_clip(bundle, &input, error));
}
