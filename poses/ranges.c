/* ranges.c: how far every joint may rotate: as the caller says, as far as the clips go, or by its part of the body. */

#include "poses/poses.h"
#include <string.h>

#define DEGREES (M_PI / 180)

static const double moved = 10 * DEGREES; /* in some frame of a clip: then that says how far */
static const double stirs = 0.5 * DEGREES;
static const double least_range = 0.1 * DEGREES;

typedef struct search {
    const pelt_bundle *bundle;
    pelt_motion_options options;
    pelt_motion_range *out;
    body body;
    size_t frame_count;
    const float *rotations; /* [frame][joint][4] of all clips; NULL: they are not asked */
} search;

/* -- Clips ---------------------------------------------------------------------------------------------------------- */

static void rotation_in(const search *s, size_t frame, uint32_t joint, double q[4]) {
    const float *from = s->rotations + 4 * (frame * s->bundle->skeleton.joint_count + joint);
    for (int i = 0; i < 4; i++) q[i] = from[i];
}

/* The farthest that clips rotate a joint from rest. */
static double farthest(const search *s, uint32_t joint) {
    double most = 0, q[4];
    for (size_t f = 0; f < s->frame_count; f++) {
        rotation_in(s, f, joint, q);
        most = fmax(most, 2 * atan2(pelt_length(q), fabs(q[3])));
    }
    return most;
}

/* Turns bend and side about the bone, so that most of what the clips do is a bend, in the direction of the part's. */
static void turn_axes(const search *s, pelt_joint_range *range) {
    double square[2] = {0}, mixed = 0, angles[3], q[4];
    for (size_t f = 0; f < s->frame_count; f++) {
        rotation_in(s, f, range->joint, q);
        pelt_angles_of(range->axes, q, angles);
        square[0] += angles[0] * angles[0], square[1] += angles[1] * angles[1], mixed += angles[0] * angles[1];
    }
    double turn = atan2(2 * mixed, square[0] - square[1]) / 2, c = cos(turn), z = sin(turn), bend[3];
    for (int i = 0; i < 3; i++) {
        bend[i] = c * range->axes[0][i] + z * range->axes[1][i];
        range->axes[1][i] = c * range->axes[1][i] - z * range->axes[0][i];
    }
    memcpy(range->axes[0], bend, sizeof bend);
}

static void take_clip_range(const search *s, pelt_joint_range *range) {
    double angles[3], q[4];
    memset(range->low, 0, sizeof range->low), memset(range->high, 0, sizeof range->high);
    for (size_t f = 0; f < s->frame_count; f++) {
        rotation_in(s, f, range->joint, q);
        pelt_angles_of(range->axes, q, angles);
        for (int a = 0; a < PELT_ANGLE_COUNT; a++) {
            range->low[a] = fmin(range->low[a], angles[a]);
            range->high[a] = fmax(range->high[a], angles[a]);
        }
    }
    range->from = PELT_LIMITS_CLIPS;
}

/* -- Limits that are given ------------------------------------------------------------------------------------------ */

static pelt_result check_limit(const search *s, const pelt_joint_limit *l, pelt_error *error) {
    static const char *const names[] = {"bend", "side", "twist"};
    const char *path = s->bundle->path;
    if (PELT_MISSING(l->joint, error)) return PELT_ERROR_ARGUMENT;
    uint32_t joint = pelt_joint_named(&s->bundle->skeleton, l->joint, 0);
    if (joint == s->bundle->skeleton.joint_count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "limits: %s has no joint \"%s\"", path, l->joint);
    double axis = pelt_length(l->axis);
    if (!isfinite(axis))
        return pelt_fail(error, PELT_ERROR_NUMBER, "limits: the axis of \"%s\" is not finite", l->joint);
    bool asks = false;
    for (int a = 0; a < PELT_ANGLE_COUNT; a++) {
        if (!l->given[a]) continue;
        double low = l->low[a] / DEGREES, high = l->high[a] / DEGREES;
        if (!(low <= high))
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "limits: %s of \"%s\" goes from %g to %g degrees: the lower limit must come first",
                             names[a], l->joint, low, high);
        if (!(low >= -180.0001 && high <= 180.0001))
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "limits: %s of \"%s\" goes from %g to %g degrees, but a joint can turn by 180 at most",
                             names[a], l->joint, low, high);
        if (low > 0 || high < 0)
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "limits: %s of \"%s\" goes from %g to %g degrees, which excludes the rest pose, 0; limits "
                             "are relative to it",
                             names[a], l->joint, low, high);
        asks |= high - low > 0;
    }
    if (asks && !s->body.moves[joint])
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "limits: joint \"%s\" moves no skin of %s, so rotating it shows nothing new; leave it out",
                         l->joint, path);
    return PELT_OK;
}

static pelt_result check_limits(const search *s, pelt_error *error) {
    const pelt_motion_options *o = &s->options;
    pelt_result result = o->limit_count ? PELT_MISSING(o->limits, error) : PELT_OK;
    for (size_t i = 0; i < o->limit_count && !result; i++) {
        result = check_limit(s, &o->limits[i], error);
        for (size_t k = 0; k < i && !result; k++)
            if (!strcmp(o->limits[i].joint, o->limits[k].joint))
                result = pelt_fail(error, PELT_ERROR_ARGUMENT, "limits: joint \"%s\" has two sets of limits",
                                   o->limits[i].joint);
    }
    if (!result && o->from == PELT_LIMITS_GIVEN && !o->limit_count)
        result = pelt_fail_option(error, "limits", "none are given");
    if (!result && o->from > PELT_LIMITS_GIVEN)
        result = pelt_fail_option(error, "from", "there is no source of limits %d", (int)o->from);
    if (!result && o->from == PELT_LIMITS_CLIPS && !s->frame_count)
        result = pelt_fail(error, PELT_ERROR_DATA,
                           "%s: has no clip with frames to take limits from; take them from names, or list them",
                           s->bundle->path);
    return result;
}

static const pelt_joint_limit *limit_of(const search *s, uint32_t joint) {
    for (size_t i = 0; i < s->options.limit_count; i++)
        if (!strcmp(s->options.limits[i].joint, s->bundle->skeleton.names[joint])) return &s->options.limits[i];
    return NULL;
}

/* -- All joints ----------------------------------------------------------------------------------------------------- */

/* Whether the joint has a range. */
static bool find_range(const search *s, uint32_t joint, pelt_joint_range *range) {
    const pelt_joint_limit *given = limit_of(s, joint);
    pelt_limits_from from = s->options.from;
    double angle = s->rotations ? farthest(s, joint) : 0;
    bool clips = angle >= (from == PELT_LIMITS_FOUND && s->body.parts[joint] != PART_STILL ? moved : stirs);
    *range = (pelt_joint_range){.joint = joint, .leader = UINT32_MAX};
    pelt_part_range(&s->body, joint, range);
    if (given && pelt_length(given->axis) > 0)
        pelt_axes_about(&s->body, joint, given->axis, range->axes);
    else if (clips)
        turn_axes(s, range);
    if (clips)
        take_clip_range(s, range);
    else if (from == PELT_LIMITS_CLIPS || from == PELT_LIMITS_GIVEN)
        memset(range->low, 0, sizeof range->low), memset(range->high, 0, sizeof range->high);
    double widest = 0;
    for (int a = 0; a < PELT_ANGLE_COUNT; a++) {
        if (given && given->given[a]) range->low[a] = given->low[a], range->high[a] = given->high[a];
        if (given) range->from = PELT_LIMITS_GIVEN;
        if (range->high[a] - range->low[a] < least_range) range->low[a] = range->high[a] = 0;
        widest = fmax(widest, range->high[a] - range->low[a]);
    }
    return widest > 0;
}

/* Angles of the ranges in all frames of the clips, [frame][range][3]. */
static double *clip_angles(pelt_arena *arena, const search *s, size_t count, const pelt_joint_range *list) {
    double *angles = PELT_NEW(arena, 3 * s->frame_count * count, double), q[4];
    for (size_t f = 0; f < s->frame_count; f++)
        for (size_t i = 0; i < count; i++) {
            rotation_in(s, f, list[i].joint, q);
            pelt_angles_of(list[i].axes, q, angles + 3 * (f * count + i));
        }
    return angles;
}

static size_t count_angles(const pelt_motion_range *m) {
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        for (int a = 0; a < PELT_ANGLE_COUNT && m->list[i].leader == UINT32_MAX; a++)
            count += m->list[i].high[a] > m->list[i].low[a];
    return count;
}

/* Joints without a hierarchy leave those beyond them behind: no pose of one is a pose of a body. */
static pelt_result check_hierarchy(const search *s, uint32_t moving, pelt_error *error) {
    enum { MANY = 8 };
    const pelt_skeleton *k = &s->bundle->skeleton;
    bool hangs = moving < MANY;
    for (uint32_t j = 0; j < k->joint_count; j++) {
        int32_t above = k->parents[j];
        hangs |= above >= 0 && s->body.moves[j] && s->body.moves[above];
    }
    if (hangs) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: none of the %u joints has another as its parent, so rotating one would leave the rest "
                     "behind; parent them like the bones of a body, or choose frames of clips",
                     s->bundle->path, moving);
}

/* A stage. */
static pelt_result find_ranges(void *user, pelt_error *error) {
    search *s = user;
    pelt_arena *arena = s->out->arena;
    uint32_t n = s->bundle->skeleton.joint_count;
    pelt_body_of(arena, s->bundle, &s->body);
    size_t frame_count = 0;
    const float *rotations = pelt_clip_rotations(arena, s->bundle, &frame_count);
    s->frame_count = frame_count;
    if (s->options.from == PELT_LIMITS_FOUND || s->options.from == PELT_LIMITS_CLIPS) s->rotations = rotations;
    pelt_result result = check_limits(s, error);
    if (result) return result;
    pelt_joint_range *list = PELT_NEW(arena, n, pelt_joint_range);
    uint32_t moving = 0;
    for (uint32_t j = 0; j < n; j++) {
        moving += s->body.moves[j];
        if (s->body.moves[j] && find_range(s, j, &list[s->out->count])) s->out->count++;
    }
    if (!moving)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: no joint moves the skin; bind the mesh to a skeleton",
                         s->bundle->path);
    if (check_hierarchy(s, moving, error)) return PELT_ERROR_DATA;
    if (!s->out->count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: no joint has a range to move in; list limits, or take them from names", s->bundle->path);
    s->out->list = list;
    if (s->rotations)
        pelt_find_followers(arena, &s->body, s->frame_count, clip_angles(arena, s, s->out->count, list), s->out->count,
                            list);
    s->out->angle_count = count_angles(s->out);
    return PELT_OK;
}

pelt_motion_range *pelt_motion_range_of(const pelt_bundle *bundle, const pelt_motion_options *options,
                                        pelt_error *error) {
    if (PELT_MISSING(bundle, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_motion_range *range = PELT_NEW(arena, 1, pelt_motion_range);
    if (!range) {
        pelt_no_memory(error);
        pelt_arena_free(arena);
        return NULL;
    }
    range->arena = arena;
    search s = {.bundle = bundle, .out = range};
    if (options) s.options = *options;
    if (!pelt_stage(arena, find_ranges, &s, error)) return range;
    pelt_arena_free(arena);
    return NULL;
}

void pelt_motion_range_free(pelt_motion_range *range) {
    if (range) pelt_arena_free(range->arena);
}
