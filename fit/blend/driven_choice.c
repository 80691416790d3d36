/* driven_choice.c: which driven joints are added to a skeleton (Mohr & Gleicher 2003, section 4.1).

   Automatically: half the rotation of every joint that rotates in the examples, bulges and dents for those with a bone on
   either side, and smaller steps where cross-validation has found that they pay (steps.c). Or by rules, each for the
   joints it names.

   Bones are measured in the bind pose. A child or parent in exactly the same place has no bone; the next one along the
   chain replaces it. */

#include "fit/blend/blend.h"
#include "model/driven.h"
#include "rig/maths.h"
#include <string.h>

static const double usual_k = 8;             /* the paper's */
static const double along_z = 0.09;          /* the squared sine of a bone's angle with z, 17 degrees */
static const double no_bone = 1e-5;          /* of the diagonal */
static const double least_angle = 0.0174533; /* one degree: joints that rotate less are not driven automatically */

/* Smaller steps than half turns are tried for joints that twist by 20 degrees, or bend by 60: blends of joints that far
   apart, or half as far where a half turn is between them, lose 1.5% and 3.4% of a limb's width. */
static const double least_twist = 0.349066, least_bend = 1.0472;

static const char *const words[] = {"turn", "twist", "bend"}; /* by kind */

typedef struct fractions {
    uint32_t count;
    const float *list;
} fractions;

static fractions fractions_of(const pelt_drive_rule *r, int kind) {
    return kind == PELT_DRIVEN_TURN    ? (fractions){r->turn_count, r->turns}
           : kind == PELT_DRIVEN_TWIST ? (fractions){r->twist_count, r->twists}
                                       : (fractions){r->bend_count, r->bends};
}

typedef struct set {
    pelt_fitting *f;
    pelt_affine *bind; /* [joint] in the bind pose */
    bool *singular;    /* [joint] has no bind pose */
    pelt_driven *list;
    const char **names;
    uint32_t count, room;
    double shortest;    /* of all bones */
    double (*bends)[3]; /* [joint] the principal axis of its rotation vectors over the examples; its length is their
                           root mean square */
} set;

static void place_of(const set *s, uint32_t joint, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = s->bind[joint].m[4 * i + 3];
}

static double bone_between(const set *s, uint32_t from, uint32_t to, double bone[3]) {
    double a[3], b[3];
    place_of(s, from, a), place_of(s, to, b);
    for (int i = 0; i < 3; i++) bone[i] = b[i] - a[i];
    return pelt_length(bone);
}

/* The nearest ancestor in a different place; -1 when there is none. */
static int32_t upstream_joint(const set *s, uint32_t joint) {
    const int32_t *parents = s->f->model.skeleton->parents;
    double bone[3];
    int32_t p = parents[joint];
    while (p >= 0 && (s->singular[p] || bone_between(s, joint, (uint32_t)p, bone) <= s->shortest)) p = parents[p];
    return p;
}

/* True when `child` ends a bone that starts at `joint`: it is in a different place, and no joint between them is. */
static bool ends_bone(const set *s, uint32_t joint, uint32_t child) {
    double bone[3];
    if (s->singular[child] || bone_between(s, joint, child, bone) <= s->shortest) return false;
    int32_t p = s->f->model.skeleton->parents[child];
    while (p > (int32_t)joint && bone_between(s, joint, (uint32_t)p, bone) <= s->shortest)
        p = s->f->model.skeleton->parents[p];
    return p == (int32_t)joint;
}

/* The sum of the bones that start at a joint; returns its length. */
static double bones_behind(const set *s, uint32_t joint, double sum[3]) {
    double bone[3];
    sum[0] = sum[1] = sum[2] = 0;
    for (uint32_t c = joint + 1; c < s->f->model.skeleton->joint_count; c++)
        if (ends_bone(s, joint, c)) {
            bone_between(s, joint, c, bone);
            for (int i = 0; i < 3; i++) sum[i] += bone[i];
        }
    return pelt_length(sum);
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

static void add(set *s, const pelt_driven *driven, const char *name) {
    if (s->count == s->room) {
        uint32_t room = 2 * s->room + 64;
        pelt_driven *list = PELT_NEW(s->f->arena, room, pelt_driven);
        const char **names = PELT_NEW(s->f->arena, room, const char *);
        if (s->count) memcpy(list, s->list, s->count * sizeof *list), memcpy(names, s->names, s->count * sizeof *names);
        s->list = list, s->names = names, s->room = room;
    }
    s->names[s->count] = name;
    s->list[s->count++] = *driven;
}

static void set_vector(float out[3], const double v[3], double scale) {
    for (int i = 0; i < 3; i++) out[i] = (float)(v[i] * scale);
}

/* Along the bones that start at the joint or, at the end of a chain, the bone that ends there; false when it has no
   bone at all. */
static bool bone_axis(const set *s, uint32_t joint, float axis[3]) {
    double sum[3], length = bones_behind(s, joint, sum);
    int32_t before = upstream_joint(s, joint);
    if (length <= s->shortest && before >= 0) length = bone_between(s, (uint32_t)before, joint, sum);
    if (length <= s->shortest) return false;
    set_vector(axis, sum, 1 / length);
    return true;
}

static void add_turns(set *s, uint32_t joint, const pelt_drive_rule *r) {
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    pelt_driven d = {.parent = skeleton->parents[joint], .driver = joint, .host = joint};
    double place[3];
    place_of(s, joint, place);
    set_vector(d.origin, place, 1);
    bool has_bone = bone_axis(s, joint, d.axis);
    for (int kind = 0; kind < 3; kind++) {
        fractions all = fractions_of(r, kind);
        for (uint32_t i = 0; i < all.count && (has_bone || kind == PELT_DRIVEN_TURN); i++) {
            d.kind = (uint32_t)kind;
            d.amount = all.list[i];
            add(s, &d,
                pelt_arena_format(s->f->arena, "%s.%s%g", skeleton->names[joint], words[kind], (double)all.list[i]));
        }
    }
}

/* Two directions across a bone: in the plane in which the joint bends, and perpendicular to it. Arbitrary if it does
   not bend. */
static void across(const double bone[3], const double bend[3], double first[3], double second[3]) {
    double length = pelt_length(bone), b[3], along = 0;
    for (int i = 0; i < 3; i++) b[i] = bone[i] / length, along += b[i] * bend[i];
    for (int i = 0; i < 3; i++) second[i] = bend[i] - along * b[i];
    double bent = pelt_length(second);
    if (bent > least_angle) {
        for (int i = 0; i < 3; i++) second[i] /= bent;
        pelt_cross(second, b, first);
        return;
    }
    int axis = b[0] * b[0] + b[1] * b[1] > along_z ? 2 : 1; /* z, or y for bones along z */
    double size = sqrt(1 - b[axis] * b[axis]);
    for (int i = 0; i < 3; i++) first[i] = ((i == axis) - b[axis] * b[i]) / size;
    pelt_cross(b, first, second);
}

/* Two bulges and two dents in the middle of a bone that starts at the host. */
static void add_bulges(set *s, pelt_driven d, uint32_t from, uint32_t to) {
    const char *const *names = s->f->model.skeleton->names;
    double bone[3], start[3], directions[2][3];
    bone_between(s, from, to, bone);
    place_of(s, from, start);
    for (int i = 0; i < 3; i++) d.origin[i] = (float)(start[i] + bone[i] / 2);
    across(bone, s->bends[d.driver], directions[0], directions[1]);
    for (int i = 0; i < 4; i++) {
        d.kind = i % 2 ? PELT_DRIVEN_DENT : PELT_DRIVEN_BULGE;
        set_vector(d.axis, directions[i / 2], 1);
        add(s, &d,
            pelt_arena_format(s->f->arena, "%s.%s%d.%s", names[d.driver], i % 2 ? "dent" : "bulge", i / 2 + 1,
                              names[from == d.driver ? to : from]));
    }
}

static void add_bulges_of(set *s, uint32_t joint, const pelt_drive_rule *r) {
    uint32_t joints = s->f->model.skeleton->joint_count;
    int32_t before = upstream_joint(s, joint);
    double bone[3], sum[3];
    if (before < 0 || !(r->upstream || r->downstream)) return;
    if (bones_behind(s, joint, sum) <= s->shortest) return;
    pelt_driven d = {.parent = before, .driver = joint, .amount = (float)r->k};
    bone_between(s, joint, (uint32_t)before, bone);
    set_vector(d.upstream, bone, 1);
    set_vector(d.downstream, sum, 1);
    d.host = (uint32_t)before;
    if (r->upstream) add_bulges(s, d, (uint32_t)before, joint);
    d.host = joint;
    for (uint32_t c = joint + 1; r->downstream && c < joints; c++)
        if (ends_bone(s, joint, c)) add_bulges(s, d, joint, c);
}

/* Turns come before all bulges: blocks list joints in order, and the run time sums up the joints that do not scale once
   for positions and normals, provided they come first. */
typedef enum kind_step { TURNS, BULGES, KIND_STEPS } kind_step;

static void apply(set *s, uint32_t joint, const pelt_drive_rule *r, kind_step which) {
    if (s->singular[joint]) return;
    if (which == TURNS) add_turns(s, joint, r);
    if (which == BULGES) add_bulges_of(s, joint, r);
}

/* -- Rules --------------------------------------------------------------------------------------------------------- */

/* Describes the problem with a rule, and `where` it is; NULL: none. */
static const char *problem_of(const pelt_drive_rule *r, const pelt_skeleton *skeleton, const char **where) {
    *where = "joints";
    if (!r->joints) return "is missing: it names the joints of a rule";
    for (int kind = 0; kind < 3; kind++) {
        fractions all = fractions_of(r, kind);
        *where = words[kind];
        if (all.count > PELT_MOST_FRACTIONS) return "takes at most 16 fractions";
        for (uint32_t i = 0; i < all.count; i++)
            if (!(fabsf(all.list[i]) <= 4)) return "has a fraction that is not from -4 to 4";
    }
    *where = "bulge";
    if (!(r->k >= 0 && r->k <= 1e4)) return "has a k that is not from 0 to 10000";
    *where = r->joints;
    return pelt_unknown_name((pelt_names){1, &r->joints}, skeleton) ? "is not a joint of the skeleton" : NULL;
}

static pelt_result apply_rules(set *s, const pelt_drive_rules *rules, pelt_error *error) {
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    for (size_t i = 0; i < rules->count; i++) {
        const pelt_drive_rule *r = &rules->list[i];
        const char *where, *problem = problem_of(r, skeleton, &where);
        if (problem) return pelt_fail_option(error, "drive", "rule %zu: \"%.200s\" %s", i + 1, where, problem);
    }
    for (kind_step which = TURNS; which < KIND_STEPS; which++)
        for (size_t i = 0; i < rules->count; i++)
            for (uint32_t j = 0; j < skeleton->joint_count; j++)
                if (pelt_name_listed((pelt_names){1, &rules->list[i].joints}, skeleton->names[j]))
                    apply(s, j, &rules->list[i], which);
    return PELT_OK;
}

/* -- Automatic ----------------------------------------------------------------------------------------------------- */

/* The largest angles by which a joint rotates relative to its parent over the examples: in total, and about its bone. */
typedef struct reach {
    double angle, twist;
} reach;

static reach reach_of(const set *s, uint32_t joint, const pelt_affine *matrices) {
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    float axis[3] = {0};
    reach out = {0};
    if (!s->singular[joint]) bone_axis(s, joint, axis);
    for (size_t e = 0; e < s->f->examples.count; e++) {
        const pelt_affine *all = matrices + e * skeleton->joint_count;
        const pelt_affine *parent = skeleton->parents[joint] < 0 ? NULL : &all[skeleton->parents[joint]];
        pelt_affine motion, r;
        if (!pelt_relative_rotation(parent, &all[joint], &motion, &r)) continue;
        /* The quaternion's x, y, z and w, both times 4 w. */
        double q[3] = {r.m[9] - r.m[6], r.m[2] - r.m[8], r.m[4] - r.m[1]}, w = 1 + r.m[0] + r.m[5] + r.m[10];
        double along = q[0] * axis[0] + q[1] * axis[1] + q[2] * axis[2];
        out.angle = fmax(out.angle, acos(fmin(fmax(w / 2 - 1, -1), 1)));
        out.twist = fmax(out.twist, 2 * atan2(fabs(along), fmax(w, 0)));
    }
    return out;
}

/* The first eigenvector of a symmetric matrix, scaled to the root of its eigenvalue, by repeated squaring: LAPACK's
   rounding depends on the processor, and everything that follows depends on this axis. */
static void first_axis(const double moments[9], double out[3]) {
    double a[9], square[9], trace = moments[0] + moments[4] + moments[8], value = 0;
    int column = 0;
    memset(out, 0, 3 * sizeof *out);
    if (!(trace > 0)) return;
    for (int i = 0; i < 9; i++) a[i] = moments[i] / trace;
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < 9; i++)
            square[i] = a[i / 3 * 3] * a[i % 3] + a[i / 3 * 3 + 1] * a[3 + i % 3] + a[i / 3 * 3 + 2] * a[6 + i % 3];
        double size = square[0] + square[4] + square[8];
        for (int i = 0; i < 9; i++) a[i] = square[i] / size;
    }
    for (int i = 1; i < 3; i++)
        if (a[4 * i] > a[4 * column]) column = i;
    double axis[3] = {a[column], a[3 + column], a[6 + column]}, length = pelt_length(axis);
    for (int i = 0; i < 9; i++) value += axis[i / 3] * moments[i] * axis[i % 3] / (length * length);
    for (int i = 0; i < 3; i++) out[i] = axis[i] / length * sqrt(fmax(value, 0));
}

/* The first principal axis of each joint's rotation vectors. */
static void find_bends(set *s, const pelt_affine *matrices) {
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    size_t n = skeleton->joint_count;
    for (uint32_t j = 0; j < n; j++) {
        double moments[9] = {0};
        for (size_t e = 0; e < s->f->examples.count; e++) {
            pelt_affine motion, r;
            const pelt_affine *all = matrices + e * n;
            const pelt_affine *parent = skeleton->parents[j] < 0 ? NULL : &all[skeleton->parents[j]];
            if (!pelt_relative_rotation(parent, &all[j], &motion, &r)) continue;
            double v[3] = {r.m[9] - r.m[6], r.m[2] - r.m[8], r.m[4] - r.m[1]}, sine = pelt_length(v);
            double angle = acos(fmin(fmax((r.m[0] + r.m[5] + r.m[10] - 1) / 2, -1), 1));
            if (!(sine > 1e-9)) continue;
            for (int i = 0; i < 9; i++) moments[i] += v[i / 3] * v[i % 3] * (angle / sine) * (angle / sine);
        }
        first_axis(moments, s->bends[j]);
        for (int i = 0; i < 3; i++) s->bends[j][i] /= sqrt((double)s->f->examples.count);
    }
}

/* Correctives are mapped to the rest pose by the inverse of the blended matrix, which bulges make nearly singular in
   places: so no bulges with a corrective. */
static void apply_automatic(set *s, const pelt_affine *matrices) {
    pelt_fitting *f = s->f;
    uint32_t joints = f->model.skeleton->joint_count;
    bool bulges = f->options.corrective == PELT_CORRECTIVE_NONE;
    pelt_drive_rule r = {.turn_count = 1,
                         .turns = (float[]){0.5f, 0.25f, 0.75f},
                         .twists = (float[]){0.25f, 0.5f, 0.75f},
                         .upstream = bulges,
                         .downstream = bulges,
                         .k = usual_k};
    double *angles = PELT_NEW(f->arena, joints, double);
    for (uint32_t j = 0; j < joints; j++) angles[j] = reach_of(s, j, matrices).angle;
    for (kind_step which = TURNS; which < KIND_STEPS; which++)
        for (uint32_t j = 0; j < joints; j++) {
            bool dropped = pelt_name_listed(f->options.fitted.drop_joints, f->model.skeleton->names[j]);
            r.twist_count = f->steps && f->steps[j] == PELT_STEPS_TWIST ? 3 : 0;
            r.turn_count = f->steps && f->steps[j] == PELT_STEPS_TURN ? 3 : 1;
            if (angles[j] > least_angle && !dropped) apply(s, j, &r, which);
        }
}

/* The bind pose. Returns the number of joints that have none, the first of them in `first`. */
static uint32_t open_set(set *s, pelt_fitting *f, uint32_t *first) {
    const pelt_skeleton *skeleton = f->model.skeleton;
    uint32_t singular = 0;
    *s = (set){.f = f, .shortest = no_bone * f->bundle->mesh.diagonal};
    s->bind = PELT_NEW(f->arena, skeleton->joint_count, pelt_affine);
    s->singular = PELT_NEW(f->arena, skeleton->joint_count, bool);
    s->bends = pelt_alloc(f->arena, skeleton->joint_count, sizeof *s->bends);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine inverse;
        memcpy(inverse.m, skeleton->inverse_bind[j], sizeof inverse.m);
        s->singular[j] = !pelt_affine_invert(&inverse, &s->bind[j]);
        if (s->singular[j] && !singular++) *first = j;
    }
    return singular;
}

pelt_result pelt_find_steps(pelt_fitting *f, pelt_steps *steps, pelt_error *error) {
    set s;
    uint32_t first;
    pelt_affine *matrices = NULL;
    open_set(&s, f, &first);
    pelt_result result = pelt_example_matrices(f, &matrices, error);
    for (uint32_t j = 0; j < f->model.skeleton->joint_count && !result; j++) {
        reach far = reach_of(&s, j, matrices);
        steps[j] = far.twist > least_twist  ? PELT_STEPS_TWIST
                   : far.angle > least_bend ? PELT_STEPS_TURN
                                            : PELT_STEPS_HALF;
    }
    return result;
}

pelt_result pelt_choose_driven(pelt_fitting *f, pelt_error *error) {
    const pelt_skeleton *skeleton = f->model.skeleton;
    set s;
    uint32_t first = 0, singular = open_set(&s, f, &first);
    if (singular)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "singular-bind",
                  "%u joints have a bind matrix without an inverse and drive nothing; the first is \"%s\"", singular,
                  skeleton->names[first]);
    pelt_affine *matrices = NULL;
    pelt_result result = pelt_example_matrices(f, &matrices, error);
    if (result) return result;
    find_bends(&s, matrices);
    if (f->options.joints.drive)
        result = apply_rules(&s, f->options.joints.drive, error);
    else
        apply_automatic(&s, matrices);
    if (!result && (uint64_t)skeleton->joint_count + s.count > 65536)
        result = pelt_fail(error, PELT_ERROR_DATA, "%u driven joints are more than a skin can hold; drive fewer joints",
                           s.count);
    f->model.driven = s.list, f->model.driven_names = s.names;
    f->model.driven_count = result ? 0 : s.count;
    return result;
}
