/* by_part.c: which way a joint bends, and how far, by its part of the body.

   A joint's bone d and the direction t that bending takes it to give its axes in the scene:

       bend about d x t,   side about d x (d x t),   twist about d

   Hinges that are clearly bent at rest bend on in the same plane, whatever their part. Limits are what healthy people
   reach without effort, and count from the straight limb, so that the angle at rest is taken off. Parts that come several
   times in a row (spines, feet of several bones) share one range. */

#include "poses/poses.h"
#include <string.h>

#define DEGREES (M_PI / 180)

static const double bent = 15 * DEGREES;    /* at rest: a hinge whose plane its bones show */
static const double straight = 3 * DEGREES; /* hinges that are bent at rest may straighten until here */
static const double raised = 75 * DEGREES;  /* upper arms, from the horizontal, up and down */

/* Directions that a bone bends or swings to. */
typedef enum direction { ANY, FRONT, BACK, UP, DOWN, OUT, UP_AND_OUT, PALM, ACROSS_PALM } direction;

typedef struct rule {
    direction bends, swings;           /* towards positive angles */
    double bend[2], side[2], twist[2]; /* degrees, low and high */
    bool hinge, shared;
} rule;

static const rule RULES[PART_COUNT] = {
    [PART_UNKNOWN] = {FRONT, ANY, {-40, 40}, {-40, 40}, {-30, 30}},
    [PART_SPINE] = {FRONT, ANY, {-30, 60}, {-40, 40}, {-40, 40}, .shared = true},
    [PART_NECK] = {FRONT, ANY, {-40, 40}, {-30, 30}, {-45, 45}, .shared = true},
    [PART_HEAD] = {FRONT, ANY, {-25, 25}, {-20, 20}, {-35, 35}},
    [PART_JAW] = {DOWN, ANY, {0, 25}, {-5, 5}, {0, 0}},
    [PART_EYE] = {UP, ANY, {-25, 25}, {-25, 25}, {0, 0}},
    [PART_CLAVICLE] = {UP, ANY, {-8, 25}, {-15, 15}, {0, 0}},
    [PART_SHOULDER] = {FRONT, UP_AND_OUT, {-30, 90}, {0, 0}, {-45, 45}}, /* side: by how it is held at rest */
    [PART_ELBOW] = {FRONT, ANY, {0, 135}, {0, 0}, {0, 0}, .hinge = true},
    [PART_TWIST] = {FRONT, ANY, {0, 0}, {0, 0}, {-70, 70}},
    [PART_WRIST] = {PALM, ANY, {-60, 65}, {-20, 20}, {-15, 15}, .shared = true},
    [PART_PALM] = {PALM, ANY, {0, 8}, {0, 0}, {0, 0}},
    [PART_KNUCKLE] = {PALM, ANY, {-20, 80}, {-12, 12}, {0, 0}},
    [PART_FINGER] = {PALM, ANY, {0, 90}, {0, 0}, {0, 0}, .hinge = true},
    [PART_THUMB_ROOT] = {ACROSS_PALM, ANY, {-20, 30}, {-20, 25}, {-15, 15}},
    [PART_THUMB] = {ACROSS_PALM, ANY, {0, 60}, {0, 0}, {0, 0}, .hinge = true},
    [PART_HIP] = {FRONT, OUT, {-20, 95}, {-15, 40}, {-30, 30}},
    [PART_KNEE] = {BACK, ANY, {0, 130}, {0, 0}, {0, 0}, .hinge = true},
    [PART_ANKLE] = {DOWN, ANY, {-20, 40}, {-15, 15}, {-10, 10}, .shared = true},
    [PART_TOE] = {UP, ANY, {-15, 40}, {0, 0}, {0, 0}, .shared = true},
    [PART_TAIL] = {UP, ANY, {-25, 25}, {-25, 25}, {-10, 10}},
    [PART_SOFT] = {FRONT, ANY, {-15, 15}, {-15, 15}, {0, 0}},
};

static const rule FORELEG = {FRONT, OUT, {-35, 45}, {-10, 20}, {-15, 15}};

/* -- Directions ----------------------------------------------------------------------------------------------------- */

static void scaled(const double v[3], double scale, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = scale * v[i];
}

/* Where a hand's palm faces if no fingers tell: down in a T-pose, inwards with hanging arms. */
static void plain_palm(const body *b, uint32_t joint, double out[3]) {
    bool hangs = fabs(pelt_dot(b->bones[joint], b->up)) > 0.7;
    scaled(hangs ? b->left : b->up, hangs && b->sides[joint] < 0 ? 1 : -1, out);
}

static void direction_of(const body *b, uint32_t joint, direction to, double out[3]) {
    hand h;
    double side = b->sides[joint] < 0 ? -1 : 1;
    switch (to) {
    case BACK:
        scaled(b->front, -1, out);
        return;
    case UP:
        scaled(b->up, 1, out);
        return;
    case DOWN:
        scaled(b->up, -1, out);
        return;
    case OUT:
        scaled(b->left, side, out);
        return;
    case UP_AND_OUT:
        for (int i = 0; i < 3; i++) out[i] = b->up[i] + side * b->left[i];
        return;
    case PALM:
        plain_palm(b, joint, out);
        if (pelt_hand_of(b, joint, &h)) scaled(h.palm, 1, out);
        return;
    case ACROSS_PALM:
        plain_palm(b, joint, out);
        if (!pelt_hand_of(b, joint, &h)) return;
        for (int i = 0; i < 3; i++) out[i] = h.row[i] + 0.5 * h.palm[i];
        return;
    default:
        scaled(b->front, 1, out);
        return;
    }
}

/* -- Axes ----------------------------------------------------------------------------------------------------------- */

/* From the scene to the joint's own space. A joint that mirrors turns the other way. */
static void to_own_space(const pelt_affine *global, const double v[3], double out[3]) {
    double sign = pelt_affine_determinant(global->m) < 0 ? -1 : 1;
    for (int c = 0; c < 3; c++) {
        double column[3] = {global->m[c], global->m[4 + c], global->m[8 + c]};
        out[c] = pelt_unit(column) ? sign * pelt_dot(column, v) : 0;
    }
    pelt_unit(out);
}

static void set_axes(const body *b, uint32_t joint, const double bend[3], double axes[3][3]) {
    const double *bone = b->bones[joint];
    double side[3];
    pelt_cross(bone, bend, side);
    to_own_space(&b->globals[joint], bend, axes[PELT_BEND]);
    to_own_space(&b->globals[joint], bone, axes[PELT_TWIST]);
    /* again, because scaled joints are not exactly orthogonal */
    pelt_across((double[3]){axes[0][0], axes[0][1], axes[0][2]}, axes[PELT_TWIST], axes[PELT_BEND]);
    pelt_cross(axes[PELT_TWIST], axes[PELT_BEND], axes[PELT_SIDE]);
}

void pelt_axes_about(const body *b, uint32_t joint, const double axis[3], double axes[3][3]) {
    double own[3] = {axis[0], axis[1], axis[2]}, bone[3];
    to_own_space(&b->globals[joint], b->bones[joint], bone);
    memcpy(axes[PELT_BEND], own, sizeof own);
    pelt_unit(axes[PELT_BEND]);
    if (!pelt_across(bone, axes[PELT_BEND], axes[PELT_TWIST])) /* bends about the bone: any other will do */
        pelt_across(fabs(own[0]) < 0.6 * pelt_length(own) ? (double[3]){1, 0, 0} : (double[3]){0, 1, 0},
                    axes[PELT_BEND], axes[PELT_TWIST]);
    pelt_cross(axes[PELT_TWIST], axes[PELT_BEND], axes[PELT_SIDE]);
}

/* The axis about which the bone above would turn to this one, and the angle between them. */
static double bend_at_rest(const body *b, uint32_t joint, double axis[3]) {
    int32_t above = b->bundle->skeleton.parents[joint];
    if (above < 0 || !b->moves[above]) return 0;
    pelt_cross(b->bones[above], b->bones[joint], axis);
    double sine = pelt_length(axis), angle = atan2(sine, pelt_dot(b->bones[above], b->bones[joint]));
    return pelt_unit(axis) ? angle : 0;
}

/* The axis to bend about in the scene; returns how far the joint is bent about it at rest. */
static double bend_axis(const body *b, uint32_t joint, const rule *r, double axis[3]) {
    const double *bone = b->bones[joint];
    double to[3], at_rest[3] = {0}, angle = r->hinge ? bend_at_rest(b, joint, at_rest) : 0;
    hand h;
    direction_of(b, joint, r->bends, to);
    if (r->bends == PALM && pelt_hand_of(b, joint, &h)) { /* one axis for all joints of the fingers, however curled */
        double all[3];
        pelt_cross(h.fingers, h.palm, all);
        pelt_cross(all, bone, to);
    }
    if (!pelt_across(to, bone, to)) pelt_across(fabs(bone[1]) < 0.9 ? b->up : b->front, bone, to);
    pelt_cross(bone, to, axis);
    pelt_unit(axis);
    if (angle > bent) memcpy(axis, at_rest, sizeof at_rest);
    return angle * pelt_dot(axis, at_rest);
}

/* -- Limits --------------------------------------------------------------------------------------------------------- */

/* How many joints in a row are of this part. */
static uint32_t in_a_row(const body *b, uint32_t joint) {
    const pelt_skeleton *s = &b->bundle->skeleton;
    uint32_t count = 1;
    int32_t at = s->parents[joint];
    for (; at >= 0 && b->moves[at] && b->parts[at] == b->parts[joint]; at = s->parents[at]) count++;
    for (uint32_t k = joint + 1, last = joint; k < s->joint_count; k++)
        if (s->parents[k] == (int32_t)last && b->moves[k] && b->parts[k] == b->parts[joint]) count++, last = k;
    return count;
}

static bool has_twist_below(const body *b, uint32_t joint) {
    for (uint32_t k = joint + 1; k < b->bundle->skeleton.joint_count; k++)
        if (b->bundle->skeleton.parents[k] == (int32_t)joint && b->parts[k] == PART_TWIST) return true;
    return false;
}

/* Positive side angles take the bone towards the axis of bending, d x t. */
static void set_side(const double bend_axis[3], const double swing[3], double low, double high,
                     pelt_joint_range *range) {
    bool same = pelt_dot(bend_axis, swing) >= 0;
    range->low[PELT_SIDE] = same ? low : -high;
    range->high[PELT_SIDE] = same ? high : -low;
}

void pelt_part_range(const body *b, uint32_t joint, pelt_joint_range *range) {
    part p = b->parts[joint];
    bool foreleg = p == PART_SHOULDER && b->four_legged;
    const rule *r = foreleg ? &FORELEG : &RULES[p];
    double axis[3], swing[3], at_rest = bend_axis(b, joint, r, axis), share = r->shared ? in_a_row(b, joint) : 1;
    double low = r->side[0] * DEGREES, high = r->side[1] * DEGREES;
    set_axes(b, joint, axis, range->axes);
    range->part = pelt_part_names[p];
    range->from = PELT_LIMITS_NAMES;
    range->low[PELT_BEND] = r->bend[0] * DEGREES, range->high[PELT_BEND] = r->bend[1] * DEGREES;
    if (r->hinge) {
        range->low[PELT_BEND] = fmin(range->low[PELT_BEND], straight - at_rest);
        range->low[PELT_BEND] = fmin(range->low[PELT_BEND], 0);
        range->high[PELT_BEND] = fmax(range->high[PELT_BEND] - at_rest, bent);
    }
    if (p == PART_SHOULDER && !foreleg) {
        double held = asin(fmax(-1, fmin(1, pelt_dot(b->bones[joint], b->up))));
        low = fmin(-raised - held, 0), high = fmax(raised - held, 0);
    }
    direction_of(b, joint, r->swings, swing);
    set_side(axis, swing, low, high, range);
    range->low[PELT_TWIST] = r->twist[0] * DEGREES, range->high[PELT_TWIST] = r->twist[1] * DEGREES;
    if (p == PART_ELBOW && !has_twist_below(b, joint))
        range->low[PELT_TWIST] = -40 * DEGREES, range->high[PELT_TWIST] = 40 * DEGREES;
    for (int a = 0; a < PELT_ANGLE_COUNT; a++) range->low[a] /= share, range->high[a] /= share;
}
