/* poses.c: what the joints do in the examples: rotations relative to rest, which joints move, hinges, and which frames
   are one motion. Nothing is known about the rig except its poses; movers.c says which joints move as one. */

#include "fit/examples/movers.h"
#include "rig/sort.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>

/* Smaller movements count as still: poses pass through float quaternions and file formats. Radians; translations are
   relative to the size of the character, whatever the joint's distance from its parent (a root has no such distance, a
   prop may have a long one): a rotation by this angle moves a point at that distance as far. Controls are relative to
   their largest deviation from rest. */
static const double STILL = 1e-4;

/* -- Which joints move -------------------------------------------------------------------------------------------- */

/* moved[pose][joint], control_moved[pose][control]. */
static void note_movement(pelt_poses *p, bool *moved, bool *control_moved) {
    static const float identity[4] = {0, 0, 0, 1};
    for (uint32_t e = 0; e < p->count; e++) {
        p->rest[e] = true;
        for (uint32_t j = 0; j < p->joint_count; j++) {
            size_t at = (size_t)e * p->joint_count + j;
            const float *t = p->translations + 3 * at;
            bool slid = sqrt(pelt_square_length(t)) > STILL * p->size;
            moved[at] = pelt_rotation_angle(p->rotations + 4 * at, identity) > STILL;
            p->moves[j] |= moved[at];
            p->slides[j] |= slid;
            p->rest[e] &= !moved[at] && !slid;
        }
        for (uint32_t c = 0; c < p->control_count; c++) {
            size_t at = (size_t)e * p->control_count + c;
            control_moved[at] = fabsf(p->controls[at]) > STILL * p->control_list[c].farthest;
            p->rest[e] &= !control_moved[at];
        }
    }
}

static void read_poses(const pelt_bundle *bundle, pelt_examples examples, pelt_arena *work, pelt_poses *p) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    pelt_transform *locals = PELT_NEW(work, p->joint_count, pelt_transform);
    float *row = PELT_NEW(work, bundle->controls.count, float);
    for (uint32_t e = 0; e < p->count; e++) {
        pelt_control_values(bundle, p->control_list, p->control_count, &examples.list[e], row,
                            p->controls + (size_t)e * p->control_count);
        pelt_clip_pose(examples.list[e].clip, skeleton, examples.list[e].frame, locals);
        pelt_pose_rotations(skeleton, locals, p->rotations + 4 * (size_t)e * p->joint_count);
        float *t = p->translations + 3 * (size_t)e * p->joint_count;
        for (uint32_t j = 0; j < p->joint_count; j++)
            for (int i = 0; i < 3; i++)
                t[3 * (size_t)j + (size_t)i] = locals[j].translation[i] - skeleton->rest[j].translation[i];
    }
}

/* -- Hinges -------------------------------------------------------------------------------------------------------- */

static const double OFF_AXIS = 1e-3; /* of the sine of half the angle */

/* The axis of the largest rotation; false when there is none, or when some pose rotates about another axis. */
static bool common_axis(const pelt_poses *p, uint32_t joint, double axis[3]) {
    double most = 0;
    for (size_t e = 0; e < p->count; e++) {
        const float *q = p->rotations + 4 * (e * p->joint_count + joint);
        double sine = sqrt(pelt_square_length(q));
        if (sine <= most) continue;
        most = sine;
        for (int i = 0; i < 3; i++) axis[i] = q[i] / sine;
    }
    for (size_t e = 0; e < p->count && most > 0; e++) {
        const float *q = p->rotations + 4 * (e * p->joint_count + joint);
        double along = q[0] * axis[0] + q[1] * axis[1] + q[2] * axis[2], off = 0;
        for (int i = 0; i < 3; i++) off += pow(q[i] - along * axis[i], 2);
        if (off > OFF_AXIS * OFF_AXIS) return false;
    }
    return most > 0;
}

/* The range excludes the widest gap between angles, which wrap around; `angles` has room for all poses and rest. */
static pelt_hinge hinge_of(const pelt_poses *p, uint32_t joint, double *angles) {
    const double turn = 2 * acos(-1);
    double axis[3], gap = 0, end = 0;
    size_t count = p->count + 1;
    if (!common_axis(p, joint, axis)) return (pelt_hinge){0};
    for (size_t e = 0; e < p->count; e++) {
        const float *q = p->rotations + 4 * (e * p->joint_count + joint);
        angles[e] = 2 * atan2(q[0] * axis[0] + q[1] * axis[1] + q[2] * axis[2], q[3]);
    }
    angles[p->count] = 0;
    qsort(angles, count, sizeof *angles, pelt_rising_doubles);
    for (size_t i = 0; i < count; i++) {
        double next = i + 1 < count ? angles[i + 1] : angles[0] + turn;
        if (next - angles[i] > gap) gap = next - angles[i], end = angles[i];
    }
    double range = turn - gap;
    if (range <= 0.5 * turn) return (pelt_hinge){0};
    return (pelt_hinge){.direction = {(float)axis[0], (float)axis[1], (float)axis[2]},
                        .middle = (float)remainder(end - 0.5 * range, turn),
                        .reach = (float)fmin(0.5 * range + gap / 3, 0.999 * PELT_MOST_REACH)};
}

static void find_hinges(pelt_poses *p, double *angles) {
    for (uint32_t j = 0; j < p->joint_count; j++)
        if (p->moves[j]) p->hinges[j] = hinge_of(p, j, angles);
}

/* -- Motions -------------------------------------------------------------------------------------------------------- */

/* One number over some poses: adds its squared changes from pose to pose, and its squared deviations from the mean. */
static void add_number(const float *numbers, size_t stride, double scale, size_t count, const uint32_t *run,
                       double *near, double *variance) {
    double sum = 0, squares = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        double x = scale * (double)numbers[run[i] * stride];
        if (i) *near += (x - before) * (x - before);
        sum += x, squares += x * x, before = x;
    }
    if (count) *variance += squares - sum * sum / (double)count;
}

/* True if consecutive poses are much more similar than random ones, as pelt_is_motion does for shapes. */
static bool are_motion(const pelt_poses *p, size_t count, const uint32_t *run) {
    size_t turns = 4 * (size_t)p->joint_count, controls = p->control_count;
    double near = 0, variance = 0;
    for (size_t i = 0; i < turns; i++) add_number(p->rotations + i, turns, 1, count, run, &near, &variance);
    for (size_t i = 0; i < controls; i++)
        add_number(p->controls + i, controls, p->control_list[i].scale, count, run, &near, &variance);
    return near < PELT_MOTION_STEP * 2 * variance;
}

static void find_motions(pelt_arena *work, pelt_examples examples, pelt_poses *p) {
    uint32_t *run = PELT_NEW(work, p->count, uint32_t), motions = 0;
    for (uint32_t begin = 0, end; begin < p->count; begin = end) {
        size_t count = 0;
        for (end = begin; end < p->count && examples.list[end].clip == examples.list[begin].clip; end++)
            if (!p->rest[end] && p->sweep_of[end] == PELT_NO_MOVER) run[count++] = end;
        if (!are_motion(p, count, run)) continue;
        motions++;
        for (size_t i = 0; i < count; i++) p->motion[run[i]] = motions;
    }
}

enum { STRETCHES = 12 };

/* The fold of a frame of the only motion. */
static int fold_in_motion(const pelt_poses *p, uint32_t pose) {
    uint64_t before = 0, all = 0;
    for (uint32_t e = 0; e < p->count; e++) {
        all += p->motion[e] == p->motion[pose];
        before += e < pose && p->motion[e] == p->motion[pose];
    }
    return (int)(before * STRETCHES / all % PELT_POSE_FOLDS);
}

uint32_t pelt_deal_folds(const pelt_poses *p, int *fold) {
    uint32_t several = 0, motions = 0, next = 0;
    for (uint32_t e = 0; e < p->count; e++) {
        several += !p->rest[e] && p->sweep_of[e] == PELT_NO_MOVER;
        motions = p->motion[e] > motions ? p->motion[e] : motions;
    }
    for (uint32_t e = 0; e < p->count; e++) {
        bool dealt = !p->rest[e] && (several < 2 * PELT_POSE_FOLDS || p->sweep_of[e] == PELT_NO_MOVER);
        if (!dealt)
            fold[e] = -1;
        else if (!p->motion[e])
            fold[e] = (int)(next++ % PELT_POSE_FOLDS);
        else
            fold[e] = motions > 1 ? (int)((p->motion[e] - 1) % PELT_POSE_FOLDS) : fold_in_motion(p, e);
    }
    return several;
}

void pelt_balance_folds(const pelt_poses *p, const int *fold, const double *energies, double *weights) {
    double sums[2] = {0}, counts[2] = {0};
    for (uint32_t e = 0; e < p->count; e++)
        if (fold[e] >= 0) sums[p->motion[e] > 0] += energies[e], counts[p->motion[e] > 0]++;
    double mean = (sums[0] + sums[1]) / (counts[0] + counts[1]);
    for (uint32_t e = 0; e < p->count; e++) {
        int kind = p->motion[e] > 0;
        weights[e] = sums[kind] > 0 ? mean * counts[kind] / sums[kind] : 1;
    }
}

/* -- All of it ------------------------------------------------------------------------------------------------------ */

void pelt_poses_of(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                   const pelt_fit_options *options, pelt_poses *poses) {
    size_t n = bundle->skeleton.joint_count, count = examples.count;
    *poses = (pelt_poses){.count = (uint32_t)count,
                          .joint_count = (uint32_t)n,
                          .size = bundle->mesh.diagonal > 0 ? bundle->mesh.diagonal : 1,
                          .rotations = PELT_NEW(arena, 4 * n * count, float),
                          .translations = PELT_NEW(arena, 3 * n * count, float),
                          .moves = PELT_NEW(arena, n, bool),
                          .slides = PELT_NEW(arena, n, bool),
                          .rest = PELT_NEW(arena, count, bool),
                          .hinges = PELT_NEW(arena, n, pelt_hinge),
                          .members = PELT_NEW(arena, n, uint32_t),
                          .mover_of = PELT_NEW(arena, n, uint32_t),
                          .bent = PELT_NEW(arena, n, bool),
                          .sweep_of = PELT_NEW(arena, count, uint32_t),
                          .motion = PELT_NEW(arena, count, uint32_t)};
    poses->control_list = pelt_varying_controls(arena, bundle, examples, options, &poses->control_count);
    poses->controls = PELT_NEW(arena, count * poses->control_count, float);
    poses->movers = PELT_NEW(arena, n + poses->control_count, pelt_mover);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    bool *moved = PELT_NEW(work, n * count, bool), *controls = PELT_NEW(work, count * poses->control_count, bool);
    read_poses(bundle, examples, work, poses);
    note_movement(poses, moved, controls);
    pelt_find_movers(work, &bundle->skeleton, moved, controls, poses);
    find_motions(work, examples, poses);
    find_hinges(poses, PELT_NEW(work, count + 1, double));
}

/* -- Same poses ---------------------------------------------------------------------------------------------------- */

static const double SAME_ANGLE = 1e-3; /* radians, over all joints together */

/* Squared distance of two poses; `b` may be PELT_REST_EXAMPLE. */
static double pose_gap2(const pelt_poses *p, uint32_t a, uint32_t b, double limit) {
    static const float identity[4] = {0, 0, 0, 1}, still[3] = {0};
    double sum = 0;
    for (size_t j = 0; j < p->joint_count && sum <= limit; j++) {
        size_t at = (size_t)a * p->joint_count + j, other = (size_t)b * p->joint_count + j;
        const float *q = b == PELT_REST_EXAMPLE ? identity : p->rotations + 4 * other;
        const float *t = b == PELT_REST_EXAMPLE ? still : p->translations + 3 * other;
        if (p->moves[j]) sum += pow(pelt_rotation_angle(p->rotations + 4 * at, q), 2);
        for (size_t i = 0; i < 3 && p->slides[j]; i++)
            sum += pow(((double)p->translations[3 * at + i] - t[i]) / p->size, 2);
    }
    for (size_t c = 0; c < p->control_count; c++) {
        float other = b == PELT_REST_EXAMPLE ? 0 : p->controls[(size_t)b * p->control_count + c];
        sum += pow(((double)p->controls[(size_t)a * p->control_count + c] - other) * p->control_list[c].scale, 2);
    }
    return sum;
}

/* Poses are sorted by one number, a sum over all angles and other values, so that only nearby ones are compared. */
static double pose_key(const pelt_poses *p, uint32_t pose) {
    static const float identity[4] = {0, 0, 0, 1};
    double sum = 0;
    for (size_t j = 0; j < p->joint_count; j++) {
        size_t at = (size_t)pose * p->joint_count + j;
        if (p->moves[j]) sum += pelt_rotation_angle(p->rotations + 4 * at, identity);
        for (size_t i = 0; i < 3 && p->slides[j]; i++) sum += p->translations[3 * at + i] / p->size;
    }
    for (size_t c = 0; c < p->control_count; c++)
        sum += p->controls[(size_t)pose * p->control_count + c] * (double)p->control_list[c].scale;
    return sum;
}

/* All members of a group are close to one leader, so that slow motion does not become one long group. The angle sums of
   two poses differ by at most sqrt(joints) times their distance. */
static void find_leaders(const pelt_poses *p, const pelt_ranked *sorted, uint32_t *leader) {
    double reach = SAME_ANGLE * sqrt(7.0 * p->joint_count + p->control_count), limit = SAME_ANGLE * SAME_ANGLE;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t e = sorted[i].index, found = e;
        for (size_t k = i; k-- > 0 && found == e && sorted[i].value - sorted[k].value <= reach;) {
            uint32_t o = sorted[k].index;
            if (leader[o] == o && pose_gap2(p, e, o, limit) <= limit) found = o;
        }
        leader[e] = found;
    }
}

void pelt_same_poses(pelt_arena *arena, const pelt_poses *p, uint32_t *first_of) {
    size_t n = p->count;
    double limit = SAME_ANGLE * SAME_ANGLE;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_ranked *sorted = PELT_NEW(work, n, pelt_ranked);
    uint32_t *leader = PELT_NEW(work, n, uint32_t);
    for (uint32_t e = 0; e < n; e++) sorted[e] = (pelt_ranked){pose_key(p, e), e};
    qsort(sorted, n, sizeof *sorted, pelt_rising_ranks);
    find_leaders(p, sorted, leader);
    for (uint32_t e = (uint32_t)n; e-- > 0;) first_of[leader[e]] = e; /* the first of a group, not its leader */
    for (uint32_t e = 0; e < n; e++) sorted[e].index = first_of[leader[e]];
    for (uint32_t e = 0; e < n; e++) {
        bool rest = pose_gap2(p, sorted[e].index, PELT_REST_EXAMPLE, limit) <= limit;
        first_of[e] = rest ? PELT_REST_EXAMPLE : sorted[e].index;
    }
}

/* -- Poses that are far apart
   ------------------------------------------------------------------------------------------ */

/* A pose as a vector: quaternions of the joints that rotate (w >= 0), translations relative to the size, scaled
   controls. */
static size_t pose_vectors(pelt_arena *arena, const pelt_poses *p, float **out) {
    size_t turning = 0, sliding = 0, n = p->joint_count;
    for (size_t j = 0; j < n; j++) turning += p->moves[j], sliding += p->slides[j];
    size_t length = 4 * turning + 3 * sliding + p->control_count;
    *out = PELT_NEW(arena, length * p->count, float);
    for (size_t e = 0; e < p->count; e++) {
        float *to = *out + e * length;
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < 4 && p->moves[j]; i++) *to++ = p->rotations[4 * (e * n + j) + i] - (i == 3);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < 3 && p->slides[j]; i++)
                *to++ = p->translations[3 * (e * n + j) + i] / (float)(p->size > 0 ? p->size : 1);
        for (size_t k = 0; k < p->control_count; k++)
            *to++ = p->controls[e * p->control_count + k] * (float)p->control_list[k].scale;
    }
    return length;
}

typedef struct spreading {
    const pelt_poses *poses;
    float *vectors; /* [pose][length] */
    size_t length;
    float *nearest; /* [pose] squared distance to the nearest one taken */
    bool *taken;    /* [pose] */
} spreading;

static void take_pose(spreading *s, const float *pose) {
    enum { STRIDE = 16 };
    for (uint32_t e = 0; e < s->poses->count; e++) {
        const float *x = s->vectors + e * s->length;
        float sum = 0;
        for (size_t i = 0, end; i < s->length && sum < s->nearest[e]; i = end) /* beyond that the distance does not
                                                                                  matter */
            for (end = i + STRIDE < s->length ? i + STRIDE : s->length; i < end; i++)
                sum += (x[i] - pose[i]) * (x[i] - pose[i]);
        if (sum < s->nearest[e]) s->nearest[e] = sum;
    }
}

static const float duplicate = 1e-10f; /* a squared distance of poses */

/* Takes the farthest pose, of the sweeps or of all, until `most` are taken. */
static uint32_t take_farthest(spreading *s, bool sweeps, uint32_t taken, uint32_t most) {
    for (; taken < most; taken++) {
        uint32_t far = UINT32_MAX;
        for (uint32_t e = 0; e < s->poses->count; e++)
            if ((!sweeps || s->poses->sweep_of[e] != PELT_NO_MOVER) &&
                (far == UINT32_MAX || s->nearest[e] > s->nearest[far]))
                far = e;
        if (far == UINT32_MAX || !(s->nearest[far] > duplicate)) break; /* the others duplicate these */
        s->taken[far] = true;
        take_pose(s, s->vectors + far * s->length);
    }
    return taken;
}

uint32_t pelt_spread_poses(pelt_arena *arena, const pelt_poses *p, uint32_t most, uint32_t *chosen) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    spreading s = {.poses = p, .nearest = PELT_NEW(work, p->count, float), .taken = PELT_NEW(work, p->count, bool)};
    s.length = pose_vectors(work, p, &s.vectors);
    for (uint32_t e = 0; e < p->count; e++) s.nearest[e] = INFINITY;
    take_pose(&s, PELT_NEW(work, s.length, float)); /* rest */
    take_farthest(&s, false, take_farthest(&s, true, 0, most / 2), most);
    uint32_t count = 0;
    for (uint32_t e = 0; e < p->count; e++)
        if (s.taken[e]) chosen[count++] = e;
    return count;
}

pelt_examples pelt_fewer_examples(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                  const pelt_fit_options *options, uint32_t most) {
    pelt_poses poses;
    if (examples.count <= most) return examples;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t *chosen = PELT_NEW(work, most, uint32_t);
    pelt_poses_of(work, bundle, examples, options, &poses);
    uint32_t count = pelt_spread_poses(work, &poses, most, chosen);
    pelt_example *list = PELT_NEW(arena, count, pelt_example);
    for (uint32_t i = 0; i < count; i++) list[i] = examples.list[chosen[i]];
    return count ? (pelt_examples){count, list} : examples;
}
