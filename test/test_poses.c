/* test_poses.c: ranges of motion: parts by name, directions by geometry, poses within limits, files. */

#include "poses/poses.h"
#include "io/io.h"
#include "test/character.h"
#include "test/program.h"
#include <pelt/export.h>

#define DEGREE (acos(-1) / 180)

/* -- Names ---------------------------------------------------------------------------------------------------------- */

static void names_of_all_conventions_tell_parts_and_sides(void **state) {
    (void)state;
    /* each name hangs on the one before, unless that starts a new line of the body */
    static const struct {
        const char *name;
        part is;
        int side, up; /* how many joints to go back for its parent */
    } joints[] = {
        {"mixamorig:Hips", PART_HIPS, 0, 0},
        {"mixamorig:Spine2", PART_SPINE, 0, 1},
        {"mixamorig:LeftShoulder", PART_CLAVICLE, 1, 1},
        {"mixamorig:LeftArm", PART_SHOULDER, 1, 1},
        {"mixamorig:LeftForeArm", PART_ELBOW, 1, 1},
        {"mixamorig:LeftHand", PART_WRIST, 1, 1},
        {"mixamorig:LeftHandIndex1", PART_KNUCKLE, 1, 1},
        {"mixamorig:LeftHandIndex2", PART_FINGER, 1, 1},
        {"mixamorig:RightUpLeg", PART_HIP, -1, 8},
        {"mixamorig:RightLeg", PART_KNEE, -1, 1},
        {"mixamorig:RightFoot", PART_ANKLE, -1, 1},
        {"mixamorig:RightToeBase", PART_TOE, -1, 1},
        {"pelvis", PART_HIPS, 0, 0},
        {"thigh_l", PART_HIP, 1, 1},
        {"calf_l", PART_KNEE, 1, 1},
        {"calf_twist_01_l", PART_STILL, 1, 1},
        {"ball_l", PART_TOE, 1, 2},
        {"upperarm_r", PART_SHOULDER, -1, 0},
        {"lowerarm_r", PART_ELBOW, -1, 1},
        {"hand_r", PART_WRIST, -1, 1},
        {"thumb_01_r", PART_THUMB_ROOT, -1, 1},
        {"thumb_02_r", PART_THUMB, -1, 1},
        {"index_metacarpal_r", PART_PALM, -1, 3},
        {"DEF-upper_arm.L", PART_SHOULDER, 1, 0},
        {"DEF-upper_arm.L.001", PART_STILL, 1, 1},
        {"DEF-forearm.L", PART_ELBOW, 1, 1},
        {"DEF-f_index.01.L", PART_KNUCKLE, 1, 1},
        {"DEF-shin.R", PART_KNEE, -1, 0},
        {"J_Bip_L_UpperLeg", PART_HIP, 1, 0},
        {"J_Bip_L_LowerLeg", PART_KNEE, 1, 1},
        {"J_Bip_C_UpperChest", PART_SPINE, 0, 0},
        {"J_Sec_Hair1_01", PART_SOFT, 0, 1},
        {"l_lowarm", PART_ELBOW, 1, 0},
        {"l_wrist_twist", PART_TWIST, 1, 1},
        {"l_wrist", PART_WRIST, 1, 1},
        {"l_lowarm_twist1_proc", PART_STILL, 1, 3},
        {"leg_joint_R_1", PART_HIP, -1, 0},
        {"leg_joint_R_2", PART_KNEE, -1, 1},
        {"leg_joint_R_3", PART_ANKLE, -1, 1},
        {"Bone.001", PART_UNKNOWN, 0, 0},
        {"kneeIK.l", PART_STILL, 1, 0},
    };
    enum { COUNT = sizeof joints / sizeof *joints };
    const char *names[COUNT];
    int32_t parents[COUNT];
    part parts[COUNT];
    int sides[COUNT];
    for (int j = 0; j < COUNT; j++) {
        names[j] = joints[j].name;
        parents[j] = joints[j].up ? j - joints[j].up : -1;
    }
    pelt_skeleton skeleton = {.joint_count = COUNT, .names = names, .parents = parents};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_name_parts(arena, &skeleton, parts, sides);
    for (int j = 0; j < COUNT; j++) {
        if (parts[j] != joints[j].is)
            fail_msg("%s is a %s, not a %s", names[j], pelt_part_names[joints[j].is], pelt_part_names[parts[j]]);
        if (sides[j] != joints[j].side) fail_msg("%s is on side %d, not %d", names[j], joints[j].side, sides[j]);
    }
    pelt_arena_free(arena);
}

/* -- Angles --------------------------------------------------------------------------------------------------------- */

/* v turned by a unit quaternion, by the definition q v q*. */
static void turn(const double q[4], const double v[3], double out[3]) {
    double p[4] = {v[0], v[1], v[2], 0}, back[4] = {-q[0], -q[1], -q[2], q[3]}, half[4], whole[4];
    pelt_quaternion_multiply(q, p, half);
    pelt_quaternion_multiply(half, back, whole);
    memcpy(out, whole, 3 * sizeof *out);
}

static void angles_are_those_of_the_rotation_and_say_where_the_bone_points(void **state) {
    (void)state;
    static const double axes[3][3] = {{0, 0.6, 0.8}, {1, 0, 0}, {0, 0.8, -0.6}};
    uint64_t seed = 5;
    for (int i = 0; i < 200; i++) {
        double angles[3], back[3], q[4], bone[3];
        for (int a = 0; a < 3; a++) angles[a] = (test_random(&seed) - 0.5) * (a == 2 ? 6 : 4);
        pelt_rotation_of(axes, angles, q);
        pelt_angles_of(axes, q, back);
        for (int a = 0; a < 3; a++) assert_near(back[a], angles[a], 1e-12);
        for (int k = 0; k < 4; k++) q[k] = -q[k]; /* the same rotation */
        pelt_angles_of(axes, q, back);
        for (int a = 0; a < 3; a++) assert_near(back[a], angles[a], 1e-12);
        /* the bone leans by the length of (bend, side), and towards axes[0] x bone by the bend */
        double lean = hypot(angles[0], angles[1]), towards[3];
        turn(q, axes[2], bone);
        pelt_cross(axes[0], axes[2], towards);
        assert_near(pelt_dot(bone, axes[2]), cos(lean), 1e-12);
        assert_near(pelt_dot(bone, towards), sin(lean) * angles[0] / lean, 1e-12);
    }
}

/* -- Limits --------------------------------------------------------------------------------------------------------- */

typedef struct made {
    pelt_bundle *bundle;
    pelt_motion_range *range;
    const pelt_clip *clip;
} made;

static made make(const char *path, pelt_limits_from from, uint32_t count, uint32_t seed) {
    pelt_error error = {0};
    made m = {.bundle = pelt_bundle_read(path, &error)};
    if (!m.bundle) fail_msg("%s", error.text);
    m.range = pelt_motion_range_of(m.bundle, &(pelt_motion_options){.from = from}, &error);
    if (!m.range) fail_msg("%s", error.text);
    m.clip = pelt_bundle_add_poses(m.bundle, m.range, count, seed, "made", &error);
    if (!m.clip) fail_msg("%s", error.text);
    return m;
}

static void drop(made m) {
    pelt_motion_range_free(m.range);
    pelt_bundle_free(m.bundle);
}

/* Swing and twist by another way than angles.c: the swing is the shortest rotation from the bone to where q takes it. */
static void independent_angles(const double axes[3][3], const double q[4], double out[3]) {
    double bone[3], axis[3], rest[4];
    turn(q, axes[2], bone);
    pelt_cross(axes[2], bone, axis);
    double sine = pelt_length(axis), angle = atan2(sine, pelt_dot(axes[2], bone));
    for (int i = 0; i < 3; i++) axis[i] = sine > 1e-12 ? axis[i] / sine : 0;
    out[0] = angle * pelt_dot(axis, axes[0]), out[1] = angle * pelt_dot(axis, axes[1]);
    double back[4] = {-axis[0] * sin(angle / 2), -axis[1] * sin(angle / 2), -axis[2] * sin(angle / 2), cos(angle / 2)};
    pelt_quaternion_multiply(back, q, rest);
    out[2] = 2 * atan2(pelt_dot(rest, axes[2]), rest[3]);
    if (out[2] > acos(-1)) out[2] -= 2 * acos(-1);
    if (out[2] < -acos(-1)) out[2] += 2 * acos(-1);
}

/* Joints without a range stay, bit for bit; the others stay within it. */
static void expect_within_limits(made m) {
    const pelt_skeleton *s = &m.bundle->skeleton;
    pelt_transform *locals = malloc(s->joint_count * sizeof *locals);
    bool *free_to_move = calloc(s->joint_count, sizeof *free_to_move);
    for (size_t i = 0; i < m.range->count; i++) free_to_move[m.range->list[i].joint] = true;
    for (uint32_t f = 0; f < m.clip->frame_count; f++) {
        pelt_clip_pose(m.clip, s, f, locals);
        for (uint32_t j = 0; j < s->joint_count; j++) {
            if (!free_to_move[j] || !f)
                for (int k = 0; k < 4; k++) assert_near(locals[j].rotation[k], s->rest[j].rotation[k], f ? 0 : 1e-6);
            assert_memory_equal(locals[j].translation, s->rest[j].translation, sizeof locals[j].translation);
        }
        for (size_t i = 0; i < m.range->count; i++) {
            const pelt_joint_range *r = &m.range->list[i];
            const float *a = s->rest[r->joint].rotation, *b = locals[r->joint].rotation;
            double rest[4] = {-a[0], -a[1], -a[2], a[3]}, now[4] = {b[0], b[1], b[2], b[3]}, q[4], angles[3];
            pelt_quaternion_multiply(rest, now, q);
            independent_angles(r->axes, q, angles);
            for (int k = 0; k < 3; k++)
                if (angles[k] < r->low[k] - 1e-4 || angles[k] > r->high[k] + 1e-4)
                    fail_msg("%s: pose %u: angle %d of %s is %g, not within %g and %g", m.bundle->path, f, k,
                             s->names[r->joint], angles[k], r->low[k], r->high[k]);
        }
    }
    free(locals), free(free_to_move);
}

static void all_poses_of_all_characters_are_within_limits(void **state) {
    (void)state;
    static const char *const files[] = {"chars/CesiumMan.glb",    "chars/Fox.glb",          "chars/Knight.glb",
                                        "chars/RiggedFigure.glb", "chars/RiggedSimple.glb", "chars/RobotExpressive.glb",
                                        "fem_hand/fem_hand.glb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = test_data(files[i]);
        for (int from = PELT_LIMITS_FOUND; path && from <= PELT_LIMITS_NAMES; from++) {

            made m = make(path, (pelt_limits_from)from, 60, 3);
            assert_true(m.range->count > 0);
            expect_within_limits(m);
            drop(m);
        }
    }
}

/* -- Directions ----------------------------------------------------------------------------------------------------- */

static void global_of(const made *m, uint32_t frame, pelt_affine *globals) {
    uint32_t n = m->bundle->skeleton.joint_count;
    pelt_transform *locals = malloc(n * sizeof *locals);
    pelt_affine *unused = malloc(n * sizeof *unused);
    pelt_clip_pose(m->clip, &m->bundle->skeleton, frame, locals);
    pelt_joint_matrices(&m->bundle->skeleton, locals, globals, unused);
    free(locals), free(unused);
}

static void place(const pelt_affine *globals, uint32_t joint, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = globals[joint].m[4 * i + 3];
}

/* How far, in degrees, the bone b-c is turned from a-b towards `way`, which is a direction at rest that goes with the
   joint a. */
static double bend_towards(const made *m, const char *const chain[3], const double way[3], uint32_t frame) {
    const pelt_skeleton *s = &m->bundle->skeleton;
    uint32_t joints[3];
    pelt_affine *rest = malloc(s->joint_count * sizeof *rest), *now = malloc(s->joint_count * sizeof *now), inverse;
    double at[3][3], first[3], second[3], moved[3] = {0};
    global_of(m, 0, rest), global_of(m, frame, now);
    for (int k = 0; k < 3; k++) {
        joints[k] = pelt_joint_named(s, chain[k], 0);
        if (joints[k] == s->joint_count) fail_msg("no joint %s", chain[k]);
        place(now, joints[k], at[k]);
    }
    pelt_affine_invert(&rest[joints[0]], &inverse);
    pelt_affine both = pelt_affine_multiply(&now[joints[0]], &inverse);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) moved[r] += both.m[4 * r + c] * way[c];
    for (int i = 0; i < 3; i++) first[i] = at[1][i] - at[0][i], second[i] = at[2][i] - at[1][i];
    double along = pelt_dot(second, first) / pelt_length(first), aside[3];
    double share = pelt_dot(moved, first) / pelt_dot(first, first);
    for (int i = 0; i < 3; i++) aside[i] = moved[i] - share * first[i];
    double towards = pelt_dot(second, aside) / pelt_length(aside);
    free(rest), free(now);
    return atan2(towards, along) / DEGREE;
}

static void expect_hinge(const char *file, const char *a, const char *b, const char *c, const double way[3],
                         double least, double most) {
    const char *path = test_data(file), *const chain[] = {a, b, c};
    if (!path) return;
    made m = make(path, PELT_LIMITS_NAMES, 90, 1);
    double farthest = 0;
    for (uint32_t f = 0; f < m.clip->frame_count; f++) {
        double degrees = bend_towards(&m, chain, way, f);
        if (degrees < least || degrees > most) fail_msg("%s: %s bends by %g in pose %u", file, b, degrees, f);
        farthest = fmax(farthest, degrees);
    }
    if (farthest < 60) fail_msg("%s: %s bends by no more than %g", file, b, farthest);
    drop(m);
}

static void knees_bend_backwards_and_elbows_forwards(void **state) {
    (void)state;
    static const double back[] = {0, 0, -1}, front[] = {0, 0, 1};
    expect_hinge("chars/CesiumMan.glb", "leg_joint_L_1", "leg_joint_L_2", "leg_joint_L_3", back, -6, 140);
    expect_hinge("chars/CesiumMan.glb", "leg_joint_R_1", "leg_joint_R_2", "leg_joint_R_3", back, -6, 140);
    expect_hinge("chars/Knight.glb", "upperleg.l", "lowerleg.l", "foot.l", back, -6, 140);
    expect_hinge("mhr_body/mhr_body.glb", "l_upleg", "l_lowleg", "l_foot", back, -6, 140);
    expect_hinge("mhr_body/mhr_body.glb", "r_upleg", "r_lowleg", "r_foot", back, -6, 140);
    expect_hinge("mhr_body/mhr_body.glb", "l_uparm", "l_lowarm", "l_wrist", front, -6, 140);
    expect_hinge("mhr_body/mhr_body.glb", "r_uparm", "r_lowarm", "r_wrist", front, -6, 140);
}

/* The clips of these files bend fingers, knees and elbows through their limits: most of it is in the direction that
   names and geometry say. */
static void hinges_bend_as_they_do_in_clips(void **state) {
    (void)state;
    static const char *const files[] = {"mhr_body/mhr_body.glb", "mhr_hand/mhr_hand.glb", "fem_hand/fem_hand.glb"};
    for (size_t i = 0; i < 3; i++) {
        const char *path = test_data(files[i]);
        if (!path) continue;
        made m = make(path, PELT_LIMITS_CLIPS, 2, 1);
        for (size_t k = 0; k < m.range->count; k++) {
            const pelt_joint_range *r = &m.range->list[k];
            if (strcmp(r->part, "finger") && strcmp(r->part, "thumb") && strcmp(r->part, "knee") &&
                strcmp(r->part, "elbow"))
                continue;
            if (r->high[PELT_BEND] < -r->low[PELT_BEND])
                fail_msg("%s: %s bends from %g to %g", files[i], m.bundle->skeleton.names[r->joint], r->low[PELT_BEND],
                         r->high[PELT_BEND]);
        }
        drop(m);
    }
}

/* -- Clips ---------------------------------------------------------------------------------------------------------- */

/* A chain in whose clip joint 1 bends at random, joint 2 by half of it, and joint 3 at random but with joint 1. */
static pelt_bundle *dancing_chain(void) {
    enum { JOINTS = 5, FRAMES = 40 };
    static pelt_transform locals[FRAMES][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, 160);
    uint64_t seed = 3;
    for (int f = 0; f < FRAMES; f++) {
        double bend = 60 * (test_random(&seed) - 0.5), own = 16 * (test_random(&seed) - 0.5);
        double angles[JOINTS] = {0, bend, bend / 2, bend + own, 0};
        for (int j = 0; j < JOINTS; j++) {
            locals[f][j] = character_turn(0, 0, 1, angles[j]);
            memcpy(locals[f][j].translation, bundle->skeleton.rest[j].translation, 12);
        }
    }
    character_clip(bundle, "dance", FRAMES, locals[0]);
    return bundle;
}

static void poses_have_the_limits_followers_and_correlations_of_clips(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = dancing_chain();
    pelt_motion_range *range = pelt_motion_range_of(bundle, &(pelt_motion_options){.from = PELT_LIMITS_CLIPS}, &error);
    if (!range) fail_msg("%s", error.text);
    assert_int_equal(range->count, 3);
    assert_int_equal(range->list[1].leader, 0); /* joint 2 follows joint 1; joint 3 does not */
    assert_int_equal(range->list[2].leader, UINT32_MAX);
    assert_int_equal(range->angle_count, 2);
    const pelt_clip *clip = pelt_bundle_add_poses(bundle, range, 400, 1, "made", &error);
    if (!clip) fail_msg("%s", error.text);
    pelt_transform locals[5];
    double sums[3] = {0};
    for (uint32_t f = 20; f < 400; f++) {
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        double x[4];
        for (int j = 1; j < 4; j++) x[j] = 2 * asin(locals[j].rotation[2]);
        assert_near(x[2], x[1] / 2, 1e-4);
        sums[0] += x[1] * x[1], sums[1] += x[1] * x[3], sums[2] += x[3] * x[3];
    }
    double correlation = sums[1] / sqrt(sums[0] * sums[2]); /* in the clip about .98, pulled to .74 */
    assert_true(correlation > 0.6 && correlation < 0.85);
    pelt_motion_range_free(range);
    character_free(bundle);
}

/* -- Seeds and files ------------------------------------------------------------------------------------------------ */

static bool same_poses(const made *a, const made *b) {
    uint32_t n = a->bundle->skeleton.joint_count;
    pelt_transform *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    bool same = a->clip->frame_count == b->clip->frame_count && n == b->bundle->skeleton.joint_count;
    for (uint32_t f = 0; same && f < a->clip->frame_count; f++) {
        pelt_clip_pose(a->clip, &a->bundle->skeleton, f, x), pelt_clip_pose(b->clip, &b->bundle->skeleton, f, y);
        same = !memcmp(x, y, n * sizeof *x);
    }
    free(x), free(y);
    return same;
}

static void a_seed_gives_the_same_poses_and_another_does_not(void **state) {
    (void)state;
    const char *path = test_data("chars/CesiumMan.glb");
    if (!path) skip();
    made a = make(path, PELT_LIMITS_FOUND, 80, 1), b = make(path, PELT_LIMITS_FOUND, 80, 1),
         c = make(path, PELT_LIMITS_FOUND, 80, 2);
    assert_true(same_poses(&a, &b));
    assert_false(same_poses(&a, &c));
    drop(a), drop(b), drop(c);
}

static void the_file_has_the_character_and_one_clip_of_these_poses(void **state) {
    (void)state;
    static const char *const files[] = {"chars/Knight.glb", "chars/CesiumMan.glb"};
    for (int i = 0; i < 2; i++) {
        const char *path = test_data(files[i]);
        pelt_error error = {0};
        if (!path) continue;
        made m = make(path, PELT_LIMITS_NAMES, 30, 1);
        const char *out = file_path("poses.glb");
        if (pelt_export_poses(m.bundle, m.clip, out, &error)) fail_msg("%s", error.text);
        made back = {.bundle = pelt_bundle_read(out, &error)};
        if (!back.bundle) fail_msg("%s", error.text);
        assert_int_equal(back.bundle->clip_count, 1);
        back.clip = back.bundle->clips[0];
        assert_string_equal(back.clip->name, "made");
        assert_true(same_poses(&m, &back));
        assert_int_equal(back.bundle->mesh.vertex_count, m.bundle->mesh.vertex_count);
        assert_memory_equal(back.bundle->mesh.positions, m.bundle->mesh.positions,
                            3 * (size_t)m.bundle->mesh.vertex_count * sizeof(float));
        drop(m), drop(back);
    }
}

/* -- Limits as a file ----------------------------------------------------------------------------------------------- */

static void limits_can_be_written_changed_and_given_back(void **state) {
    (void)state;
    const char *path = test_data("chars/CesiumMan.glb");
    pelt_error error = {0};
    if (!path) skip();
    made m = make(path, PELT_LIMITS_NAMES, 2, 1);
    const char *file = file_path("limits.json");
    assert_int_equal(pelt_limits_write(m.bundle, m.range, file, &error), PELT_OK);
    pelt_motion_options options = {.from = PELT_LIMITS_GIVEN};
    if (pelt_limits_read(m.bundle, file, &options.limits, &options.limit_count, &error)) fail_msg("%s", error.text);
    assert_int_equal(options.limit_count, m.range->count);
    pelt_motion_range *again = pelt_motion_range_of(m.bundle, &options, &error);
    if (!again) fail_msg("%s", error.text);
    assert_int_equal(again->count, m.range->count);
    for (size_t i = 0; i < again->count; i++) {
        const pelt_joint_range *a = &again->list[i], *b = &m.range->list[i];
        assert_int_equal(a->joint, b->joint);
        for (int k = 0; k < 3; k++) {
            assert_near(a->low[k], b->low[k], 0.006 * DEGREE);
            assert_near(a->high[k], b->high[k], 0.006 * DEGREE);
            for (int c = 0; c < 3; c++) assert_near(a->axes[k][c], b->axes[k][c], 1e-6);
        }
    }
    pelt_motion_range_free(again);
    drop(m);
}

static void given_limits_come_before_others(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = dancing_chain();
    pelt_joint_limit limit = {.joint = "joint3", .given = {1, 1, 1}, .high = {1, 0, 0}, .axis = {0, 0, 2}};
    pelt_motion_range *range =
        pelt_motion_range_of(bundle, &(pelt_motion_options){.limits = &limit, .limit_count = 1}, &error);
    if (!range) fail_msg("%s", error.text);
    size_t i = 0;
    while (i < range->count && range->list[i].joint != 3) i++;
    assert_true(i < range->count);
    assert_int_equal(range->list[i].from, PELT_LIMITS_GIVEN);
    assert_near(range->list[i].high[PELT_BEND], 1, 0);
    assert_near(range->list[i].low[PELT_BEND], 0, 0);
    assert_near(range->list[i].axes[PELT_BEND][2], 1, 1e-12);
    assert_near(range->list[i].axes[PELT_TWIST][1], 1, 1e-12);
    pelt_motion_range_free(range);
    character_free(bundle);
}

/* -- Bad input ------------------------------------------------------------------------------------------------------ */

static void expect_refused(pelt_bundle *bundle, pelt_motion_options options, const char *piece) {
    pelt_error error = {0};
    assert_null(pelt_motion_range_of(bundle, &options, &error));
    if (!strstr(error.text, piece)) fail_msg("\"%s\" does not say \"%s\"", error.text, piece);
}

static void bad_limits_are_refused_with_a_sentence(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(4, 100);
    static const struct {
        pelt_joint_limit limit;
        const char *piece;
    } bad[] = {{{.joint = "elbow"}, "has no joint \"elbow\""},
               {{.joint = "joint1", .given = {1}, .low = {1}, .high = {-1}}, "the lower limit must come first"},
               {{.joint = "joint1", .given = {1}, .low = {0.5}, .high = {1}}, "excludes the rest pose"},
               {{.joint = "joint1", .given = {0, 1}, .high = {0, 9}}, "180 at most"},
               {{.joint = "joint1", .given = {0, 0, 1}, .low = {0, 0, NAN}}, "lower limit"},
               {{.joint = "joint0", .given = {1}, .high = {1}}, "moves no skin"},
               {{.joint = "joint1", .axis = {INFINITY}}, "axis"},
               {{.joint = NULL}, "joint"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bundle, (pelt_motion_options){.limits = &bad[i].limit, .limit_count = 1}, bad[i].piece);
    pelt_joint_limit twice[2] = {{.joint = "joint1"}, {.joint = "joint1"}};
    expect_refused(bundle, (pelt_motion_options){.limits = twice, .limit_count = 2}, "two sets of limits");
    expect_refused(bundle, (pelt_motion_options){.from = PELT_LIMITS_CLIPS}, "no clip with frames");
    expect_refused(bundle, (pelt_motion_options){.from = PELT_LIMITS_GIVEN}, "none are given");
    expect_refused(bundle, (pelt_motion_options){.from = (pelt_limits_from)9}, "no source");
    expect_refused(NULL, (pelt_motion_options){0}, "bundle");
    character_free(bundle);
    pelt_bundle *rigid = character_chain(1, 100); /* one joint carries all */
    expect_refused(rigid, (pelt_motion_options){0}, "no joint moves the skin");
    character_free(rigid);
}

static void counts_out_of_range_are_refused(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = character_chain(3, 60);
    pelt_motion_range *range = pelt_motion_range_of(bundle, NULL, &error);
    assert_non_null(range);
    assert_null(pelt_bundle_add_poses(bundle, range, 0, 1, "a", &error));
    assert_non_null(strstr(error.text, "count"));
    assert_null(pelt_bundle_add_poses(bundle, range, 1000000000, 1, "a", &error));
    assert_non_null(strstr(error.text, "count"));
    assert_non_null(pelt_bundle_add_poses(bundle, range, 2, 1, "a", &error));
    pelt_motion_range_free(range);
    character_free(bundle);
}

static void the_program_refuses_bad_words_with_one_sentence(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"poses box.glb --count 0 -o o.glb", "count"},
        {"poses box.glb --count 99999999 -o o.glb", "count"},
        {"poses box.glb --limits none.json -o o.glb", "none.json"},
        {"poses box.glb --limits bad.json -o o.glb", "two numbers"},
        {"poses box.glb --limits unknown.json -o o.glb", "no joint \"knee\""},
        {"poses box.glb --limits turned.json -o o.glb", "lower limit must come first"},
        {"poses box.glb --from nothing --count 3 -o o.glb", "nothing"},
        {"poses box.glb --from train --count 3000 -o o.glb", "cannot choose"},
        {"poses box.glb --from train --limits names -o o.glb", "--from"},
        {"poses box.glb --from train --choice best --count 2", "telling, even or random"},
        {"poses box.glb --choice even -o o.glb", "--from"},
        {"poses box.glb", "-o POSES.glb is missing"},
        {"poses plain.glb -o o.glb", "no joint moves the skin"},
    };
    shell("%s sample box --frames 6 -o . --quiet", getenv("PELT_PROGRAM"));
    shell("echo '{\"joint1\": {\"bend\": [1]}}' > bad.json; echo '{\"knee\": {}}' > unknown.json");
    pelt_error error = {0};
    pelt_bundle *box = pelt_bundle_read(file_path("box.glb"), &error);
    assert_non_null(box);
    shell("echo '{\"%s\": {\"bend\": [20, -20]}}' > turned.json", box->skeleton.names[1]);
    shell("sed -i 's/joint1/%s/' bad.json", box->skeleton.names[1]);
    pelt_gltf_content content = {.mesh = &box->mesh};
    assert_int_equal(pelt_gltf_write(file_path("plain.glb"), &content, &error), PELT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!pelt("%s", bad[i][0])) fail_msg("pelt %s was taken", bad[i][0]);
        if (!strstr(program_errors, bad[i][1])) fail_msg("pelt %s: %s", bad[i][0], program_errors);
        assert_true(access(file_path("o.glb"), F_OK) != 0);
    }
    pelt_bundle_free(box);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_all_conventions_tell_parts_and_sides),
        cmocka_unit_test(angles_are_those_of_the_rotation_and_say_where_the_bone_points),
        cmocka_unit_test(all_poses_of_all_characters_are_within_limits),
        cmocka_unit_test(knees_bend_backwards_and_elbows_forwards),
        cmocka_unit_test(hinges_bend_as_they_do_in_clips),
        cmocka_unit_test(poses_have_the_limits_followers_and_correlations_of_clips),
        cmocka_unit_test(a_seed_gives_the_same_poses_and_another_does_not),
        cmocka_unit_test(the_file_has_the_character_and_one_clip_of_these_poses),
        cmocka_unit_test(limits_can_be_written_changed_and_given_back),
        cmocka_unit_test(given_limits_come_before_others),
        cmocka_unit_test(bad_limits_are_refused_with_a_sentence),
        cmocka_unit_test(counts_out_of_range_are_refused),
        cmocka_unit_test(the_program_refuses_bad_words_with_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
