/* Who moves as one, and who drives what, on rigs where both are known, for every kind of examples. */

#include "test/corrected.h"

/* -- Movers -------------------------------------------------------------------------------------------------------- */

enum { TREE = 12, FRAMES = 40 };

/* Two limbs of five joints below joint 0: 1 to 5, and 6 to 10. Joint 11 is below 0, too. */
static pelt_bundle *two_limbs(void) {
    static const int32_t parents[TREE] = {-1, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 0};
    return character_new(TREE, parents);
}

/* vectors[frame][joint][3]: axes times degrees. */
static pelt_poses poses_of(pelt_bundle *bundle, uint32_t frames, const double *vectors) {
    pelt_transform *locals = PELT_NEW(bundle->arena, (size_t)frames * TREE, pelt_transform);
    for (size_t i = 0; i < (size_t)frames * TREE; i++) {
        const double *v = vectors + 3 * i, angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        locals[i] = angle > 0 ? character_turn(v[0], v[1], v[2], angle) : character_still;
        memcpy(locals[i].translation, bundle->skeleton.rest[i % TREE].translation, sizeof locals[i].translation);
    }
    const pelt_clip *clip = character_clip(bundle, "train", frames, locals);
    pelt_poses p;
    pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, &clip, 1), &(pelt_fit_options){0}, &p);
    return p;
}

static void turn_at_random(double vectors[][TREE][3], int joint, double most, uint64_t *seed) {
    for (int e = 1; e < FRAMES; e++)
        for (int c = 0; c < 3; c++) vectors[e][joint][c] = most * (2 * test_random(seed) - 1);
}

/* All move in every example; a spine of 1 to 3 shares one rotation in thirds, about axes of its own; 5 turns as the x
   of 4; 6 and 8 on the other limb are mirror images of 4, exactly. */
static void joints_are_one_when_one_determines_the_other(void **state) {
    (void)state;
    static double vectors[FRAMES][TREE][3];
    uint64_t seed = 7;
    turn_at_random(vectors, 1, 25, &seed), turn_at_random(vectors, 4, 50, &seed),
        turn_at_random(vectors, 11, 40, &seed);
    for (int e = 1; e < FRAMES; e++)
        for (int c = 0; c < 3; c++) {
            vectors[e][2][(c + 1) % 3] = 0.8 * vectors[e][1][c];
            vectors[e][3][c] = 1.3 * vectors[e][1][c];
            vectors[e][5][0] = 0.5 * vectors[e][4][0];
            vectors[e][6][c] = vectors[e][8][c] = (c ? -1 : 1) * vectors[e][4][c];
        }
    pelt_bundle *bundle = two_limbs();
    pelt_poses p = poses_of(bundle, FRAMES, vectors[0][0]);
    assert_int_equal(p.mover_count, 3);
    for (int j = 1; j <= 3; j++) assert_int_equal(p.mover_of[j], 0);
    assert_int_equal(p.movers[0].count, 3);
    for (int j = 4; j <= 8; j++) assert_int_equal(p.mover_of[j], j == 7 ? PELT_NO_MOVER : 1);
    assert_int_equal(p.movers[1].count, 3); /* 5 follows */
    assert_int_equal(p.mover_of[11], 2);
    character_free(bundle);
}

/* 5 takes the twist about x out of 4, which swings: the angle about x of R = Rx Ry Rz, no linear function of its rotation
   vector; 3 does so by a third. They follow in bends, and add something as inputs, which a linear follower does not. */
static void a_twist_taken_out_of_a_swing_follows(void **state) {
    (void)state;
    static double vectors[FRAMES][TREE][3];
    uint64_t seed = 11;
    const double degree = acos(-1) / 180;
    for (int e = 1; e < FRAMES; e++) {
        double a[3], m[3][3];
        for (int c = 0; c < 3; c++) a[c] = 35 * degree * (2 * test_random(&seed) - 1);
        double x[2] = {cos(a[0]), sin(a[0])}, y[2] = {cos(a[1]), sin(a[1])}, z[2] = {cos(a[2]), sin(a[2])};
        m[0][0] = y[0] * z[0], m[0][1] = -y[0] * z[1], m[0][2] = y[1];
        m[1][0] = x[0] * z[1] + x[1] * y[1] * z[0], m[1][1] = x[0] * z[0] - x[1] * y[1] * z[1], m[1][2] = -x[1] * y[0];
        m[2][0] = x[1] * z[1] - x[0] * y[1] * z[0], m[2][1] = x[1] * z[0] + x[0] * y[1] * z[1], m[2][2] = x[0] * y[0];
        double turn = acos((m[0][0] + m[1][1] + m[2][2] - 1) / 2), scale = turn / (2 * sin(turn)) / degree;
        vectors[e][4][0] = scale * (m[2][1] - m[1][2]), vectors[e][4][1] = scale * (m[0][2] - m[2][0]);
        vectors[e][4][2] = scale * (m[1][0] - m[0][1]);
        vectors[e][5][0] = -a[0] / degree, vectors[e][3][0] = -a[0] / 3 / degree;
        vectors[e][8][0] = 30 * (2 * test_random(&seed) - 1), vectors[e][9][0] = 0.5 * vectors[e][8][0];
    }
    pelt_bundle *bundle = two_limbs();
    pelt_poses p = poses_of(bundle, FRAMES, vectors[0][0]);
    assert_int_equal(p.mover_count, 2);
    for (int j = 3; j <= 5; j++) assert_int_equal(p.mover_of[j], 0);
    assert_true(p.movers[0].count == 1 && p.members[p.movers[0].first] == 4);
    assert_true(!p.bent[4] && p.bent[5] && p.bent[3] && !p.bent[8] && !p.bent[9]);
    character_free(bundle);
}

/* Knees that are nearly one function of the other in a walk, and joints that part in a single example. */
static void joints_that_move_together_by_habit_are_told_apart(void **state) {
    (void)state;
    for (int parted = 0; parted < 2; parted++) {
        static double vectors[FRAMES][TREE][3];
        memset(vectors, 0, sizeof vectors);
        for (int e = 0; e < FRAMES; e++) {
            vectors[e][3][2] = 40 + 30 * sin(0.4 * e), vectors[e][8][2] = 40 + 30 * sin(0.4 * e + 0.12);
            vectors[e][1][0] = vectors[e][2][0] = 30 * sin(0.7 * e);
        }
        if (parted) vectors[20][2][0] += 8;
        pelt_bundle *bundle = two_limbs();
        pelt_poses p = poses_of(bundle, FRAMES, vectors[0][0]);
        assert_true(p.mover_of[3] != p.mover_of[8]); /* though 99.6% is explained */
        assert_true((p.mover_of[1] == p.mover_of[2]) == !parted);
        character_free(bundle);
    }
}

/* In a motion all joints are functions of time, and so of each other: 5, which turns about all axes, is exactly a quadratic
   function of 4, by habit. A hinge would be taken for a helper. */
static void a_motion_does_not_make_joints_helpers(void **state) {
    (void)state;
    for (int hinge = 0; hinge < 2; hinge++) {
        static double vectors[FRAMES][TREE][3];
        memset(vectors, 0, sizeof vectors);
        for (int e = 0; e < FRAMES; e++) {
            double x = sin(0.3 * e), y = cos(0.3 * e);
            vectors[e][4][0] = 40 * x, vectors[e][4][1] = 30 * y;
            vectors[e][5][0] = 30 * x * x, vectors[e][5][1] = hinge ? 0 : 20 * x * y;
            vectors[e][5][2] = hinge ? 0 : 15 * y * y;
        }
        pelt_bundle *bundle = two_limbs();
        pelt_poses p = poses_of(bundle, FRAMES, vectors[0][0]);
        assert_true((p.mover_of[4] == p.mover_of[5]) == hinge);
        character_free(bundle);
    }
}

/* -- Drivers ------------------------------------------------------------------------------------------------------- */

enum { JOINTS = 9, VERTICES = 320, MOST_FRAMES = 160, FAR_FROM = 1, FAR_TO = 7 };

/* How much joint j drives a vertex: those within reach, the joint two below its bone, and joint 1 the tip. */
static double size_of(const pelt_bundle *bundle, uint32_t vertex, uint32_t joint) {
    double y = bundle->mesh.positions[3 * (size_t)vertex + 1], away = fabs(y - joint), low = fabs(y - joint - 2);
    double near = away < 0.7 ? 1 : 0, below = joint == 3 && low < 0.7 ? 0.6 : 0;
    double far = joint == FAR_FROM && fabs(y - FAR_TO) < 0.7 ? 1 : 0;
    return joint ? near + below + far : 0;
}

static double noise;

static void driven_truth(const pelt_bundle *bundle, const double *angles, double *d) {
    static uint64_t seed = 3;
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        for (uint32_t j = 1; j < JOINTS; j++) {
            double a = angles[j] * acos(-1) / 180, size = 0.05 * size_of(bundle, v, j);
            d[3 * v] += size * sin(a), d[3 * v + 1] += size * (1 - cos(a)),
                d[3 * v + 2] += 0.5 * size * sin(a + 0.3 * j);
            d[3 * v + 2] -= 0.5 * size * sin(0.3 * j);
        }
        for (int c = 0; c < 3; c++) d[3 * v + (uint32_t)c] += noise * (2 * test_random(&seed) - 1);
    }
}

typedef enum kind { SWEEPS, PARALLEL, SPARSE, WHOLE, CAPTURED, KINDS } kind;

static uint32_t make_angles(kind which, double angles[][JOINTS]) {
    uint64_t seed = 11;
    uint32_t count = MOST_FRAMES;
    memset(angles, 0, sizeof(double) * MOST_FRAMES * JOINTS);
    for (uint32_t e = 1; e < count; e++)
        for (uint32_t j = 1; j < JOINTS; j++) {
            double at_random = 120 * (test_random(&seed) - 0.5);
            bool moved = which == SWEEPS     ? e % (JOINTS - 1) == j - 1
                         : which == PARALLEL ? e % 4 == j % 4
                         : which == SPARSE   ? test_random(&seed) < 0.4
                                             : true;
            if (which == CAPTURED) /* several actions, each of them periodic */
                at_random = 45 * sin(0.11 * e * (1 + 0.13 * j) + j) + 20 * sin(0.031 * e * (j + 2));
            angles[e][j] = moved ? at_random : 0;
        }
    return count;
}

/* Exactly the joints that drive a point have more than a twentieth of the largest effect that they have anywhere. */
static void check_drivers(kind which, double left_over) {
    static double angles[MOST_FRAMES][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = make_angles(which, angles), wrong = 0, all = 0;
    noise = left_over;
    corrected_parts p = corrected_parts_of(bundle, corrected_clip(bundle, "train", count, angles[0], driven_truth));
    for (uint32_t j = 1; j < JOINTS; j++) {
        uint32_t g = p.poses.mover_of[j];
        assert_int_equal(p.poses.movers[g].count, 1);
        if (which != SPARSE) assert_int_equal(p.poses.movers[g].swept, which == SWEEPS);
        for (uint32_t i = 0; i < p.u.point_count; i++, all++) {
            bool drives = p.supports.amplitudes[(size_t)g * p.u.point_count + i] > 0.05f * p.supports.peaks[g];
            wrong += drives != (size_of(bundle, p.u.vertex_of[i], j) > 0);
        }
    }
    if (wrong > 0) fail_msg("kind %d: %u of %u are wrong", which, wrong, all);
    corrected_parts_free(&p);
}

static void what_drives_a_point_is_found_for_every_kind_of_examples(void **state) {
    (void)state;
    for (int which = 0; which < KINDS; which++) check_drivers((kind)which, 0);
}

static void what_drives_a_point_is_found_in_spite_of_noise(void **state) {
    (void)state;
    static const kind kinds[] = {PARALLEL, WHOLE, CAPTURED};
    for (int i = 0; i < 3; i++) check_drivers(kinds[i], 5e-4); /* 1% of the effects */
}

/* A skin fitted to poses of the whole body is right when joints move alone. */
static void joints_that_never_move_alone_do_no_more_than_their_own(void **state) {
    (void)state;
    static double angles[MOST_FRAMES][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_error error = {0};
    noise = 0;
    uint32_t count = make_angles(WHOLE, angles);
    const pelt_clip *train = corrected_clip(bundle, "train", count, angles[0], driven_truth);
    make_angles(SWEEPS, angles);
    const pelt_clip *test = corrected_clip(bundle, "test", count, angles[0], driven_truth);
    static const pelt_method methods[] = {PELT_METHOD_KERNEL, PELT_METHOD_WPSD, PELT_METHOD_EIGEN};
    static const double most[] = {0.05, 0.35, 0.2};
    for (int m = 0; m < 3; m++) {
        pelt_fit_options options = {.method = methods[m], .holdout = -1, .threads = 1};
        pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &options, NULL, &error);
        if (!bytes) fail_msg("%s", error.text);
        pelt_skin skin;
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        pelt_measure *measured =
            pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &test, 1), 1, &error);
        if (measured->rel_err > most[m]) fail_msg("method %d: rel_err %g", m, measured->rel_err);
        pelt_measure_free(measured), pelt_bytes_free(bytes);
    }
    character_free(bundle);
}

/* -- Advice -------------------------------------------------------------------------------------------------------- */

/* Waves of random sizes, which nothing explains; noise of single vertices would be removed. */
static void waves_alone(const pelt_bundle *bundle, const double *angles, double *d) {
    static uint64_t seed = 8;
    (void)angles;
    for (int k = 1; k <= 6; k++)
        for (int c = 0; c < 3; c++) {
            double size = 0.05 * (test_random(&seed) - 0.5);
            for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
                d[3 * v + (uint32_t)c] += size * sin(k * bundle->mesh.positions[3 * v + 1] + c);
        }
}

static char *warning(const pelt_fit_report *report, const char *what) {
    for (size_t i = 0; i < report->findings.count; i++)
        if (!strcmp(report->findings.list[i].what, what)) return strdup(report->findings.list[i].text);
    return NULL;
}

/* Fits examples in which joints 2 and 8 are one, and all move together or alone, and returns a warning. */
static char *advice(bool alone, corrected_truth *truth, const char *what) {
    static double angles[MOST_FRAMES][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_error error = {0};
    pelt_fit_report report = {0};
    uint32_t count = make_angles(alone ? SWEEPS : WHOLE, angles);
    for (uint32_t e = 0; e < count; e++) angles[e][8] = angles[e][2], angles[e][5] *= 0.1;
    const pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], truth);
    pelt_fit_options options = {.method = PELT_METHOD_KERNEL, .holdout = -1, .threads = 1};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    char *text = warning(&report, what);
    pelt_bytes_free(bytes), pelt_fit_report_free(&report), character_free(bundle);
    return text;
}

static void warnings_name_the_joints_and_the_poses_that_would_help(void **state) {
    (void)state;
    test_only_at_full_speed();
    noise = 0;
    for (int alone = 0; alone < 2; alone++) {
        char *one = advice(alone, driven_truth, "not-told-apart");
        assert_non_null(one);
        assert_true(strstr(one, "joint2") && strstr(one, "joint8"));
        assert_null(advice(alone, driven_truth, "poses"));
        assert_null(advice(alone, driven_truth, "not-driven"));
        char *poses = advice(alone, waves_alone, "poses"), *other = advice(alone, waves_alone, "not-driven");
        assert_true(alone ? !poses && other : poses && !other);
        assert_non_null(strstr(alone ? other : poses, "joint5 turn by less than 10 degrees"));
        for (int j = 1; j < 8 && !alone; j++) {
            char name[8];
            snprintf(name, sizeof name, "joint%d", j);
            assert_non_null(strstr(poses, name));
        }
        free(one), free(poses), free(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_are_one_when_one_determines_the_other),
        cmocka_unit_test(a_twist_taken_out_of_a_swing_follows),
        cmocka_unit_test(joints_that_move_together_by_habit_are_told_apart),
        cmocka_unit_test(a_motion_does_not_make_joints_helpers),
        cmocka_unit_test(what_drives_a_point_is_found_for_every_kind_of_examples),
        cmocka_unit_test(what_drives_a_point_is_found_in_spite_of_noise),
        cmocka_unit_test(joints_that_never_move_alone_do_no_more_than_their_own),
        cmocka_unit_test(warnings_name_the_joints_and_the_poses_that_would_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
