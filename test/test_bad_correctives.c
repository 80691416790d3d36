/* test_bad_correctives.c: example sets that a corrective can barely or not be fitted to, through the program, for every
   corrective: expects a correct skin, or a message that says what is wrong and what to do. */

#include "io/io.h"
#include "test/corrected.h"
#include "test/program.h"

static const char *const methods[] = {"psd", "wpsd", "eigen", "kernel"};
enum { PSD, WPSD, EIGEN, KERNEL, METHODS };

/* A character written to files: a chain of joints, one clip, angles [frame][joint] in degrees. */
typedef struct subject {
    pelt_bundle *bundle;
    pelt_clip *clip;
    float *positions; /* of the clip, to be spoiled */
} subject;

/* Bumps at the joints, by the sine of their angles: functions of the rotation, whatever the number of turns. */
static void bumps(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) {
            const float *x = bundle->mesh.positions + 3 * (size_t)v;
            double away = x[1] - j, size = fabs(away) < 0.8 ? pow(cos(away / 0.8 * acos(-1) / 2), 2) : 0;
            double s = sin(angles[j] * acos(-1) / 180), c = 1 - cos(angles[j] * acos(-1) / 180);
            d[3 * v] += 0.3 * size * x[0] * s, d[3 * v + 1] += 0.05 * size * c, d[3 * v + 2] += 0.5 * size * x[2] * c;
        }
}

static subject subject_new(uint32_t joints, uint32_t vertices, uint32_t frames, const double *angles) {
    subject s = {.bundle = character_chain(joints, vertices)};
    s.clip = corrected_clip(s.bundle, "train", frames, angles, bumps);
    s.positions = (float *)s.clip->positions;
    return s;
}

/* Writes bad.glb and bad.train.pc2. */
static void subject_write(subject *s) {
    char path[300];
    pelt_error error = {0};
    snprintf(path, sizeof path, "%s/bad.glb", test_folder());
    pelt_gltf_content content = {.mesh = &s->bundle->mesh,
                                 .skeleton = &s->bundle->skeleton,
                                 .clips = &(const pelt_clip *){s->clip},
                                 .clip_count = 1,
                                 .name = "bad"};
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/bad.train.pc2", test_folder());
    pelt_cache_writer *writer = pelt_cache_writer_open(path, s->clip->frame_count, &s->bundle->mesh, 24, &error);
    assert_non_null(writer);
    for (uint32_t f = 0; f < s->clip->frame_count; f++)
        pelt_cache_writer_frame(writer, s->positions + 3 * (size_t)s->bundle->mesh.vertex_count * f);
    if (pelt_cache_writer_commit(writer, &error)) fail_msg("%s", error.text);
    character_free(s->bundle);
}

/* -- What is expected ---------------------------------------------------------------------------------------------- */

/* For one method: a skin whose largest training error is below `most` (a fraction of the size), or a refusal; with
   `said` in the warnings or the message. */
typedef struct outcome {
    bool refused;
    const char *said; /* NULL: anything */
    double most;
} outcome;

#define REFUSED(sentence)                                                                                              \
    { true, sentence, 0 }
#define FITTED(most)                                                                                                   \
    { false, NULL, most }

static bool skin_is_there(void) {
    char path[300];
    snprintf(path, sizeof path, "%s/bad.pelt", test_folder());
    return !access(path, F_OK);
}

static void check_refusal(const char *method, int code, const outcome *o) {
    size_t length = strlen(program_errors);
    if (code != 1 || !strstr(program_errors, o->said) || strncmp(program_errors, "pelt: ", 6))
        fail_msg("%s: %d, %s", method, code, program_errors);
    assert_true(length && program_errors[length - 1] == '\n' && !skin_is_there());
    json_t *object = json_loads(program_output, 0, NULL); /* the failure, and nothing else */
    assert_true(json_is_object(json_object_get(object, "error")) && json_object_size(object) == 1);
    json_decref(object);
}

static void check_skin(const char *method, int code, const outcome *o) {
    if (code) fail_msg("%s: %d, %s", method, code, program_errors);
    if (o->said && !strstr(program_errors, o->said)) fail_msg("%s: %s", method, program_errors);
    json_t *object = json_loads(program_output, 0, NULL), *train = json_object_get(object, "train");
    if (!(number(train, "max_fraction") <= o->most)) fail_msg("%s: %s", method, program_output);
    json_t *relative = json_object_get(train, "rel_err"); /* null where the plain blend is exact */
    assert_true((json_is_null(relative) || isfinite(number(train, "rel_err"))) && skin_is_there());
    json_t *bound = json_object_get(object, "bound"); /* null where there was nothing to correct */
    assert_true(json_is_null(bound) || number(object, "bound") >= 0);
    json_decref(object);
}

static void check(subject s, const char *options, const outcome outcomes[METHODS]) {
    subject_write(&s);
    for (int m = 0; m < METHODS; m++) {
        char path[300];
        snprintf(path, sizeof path, "%s/bad.pelt", test_folder());
        unlink(path);
        int code = pelt("fit bad.glb --train train --method %s -o bad.pelt --json %s", methods[m], options);
        (outcomes[m].refused ? check_refusal : check_skin)(methods[m], code, &outcomes[m]);
    }
}

#define NO_SWEEP REFUSED("no example moves a joint alone")
#define NO_TURN REFUSED("no joint turns")

/* -- Poses --------------------------------------------------------------------------------------------------------- */

enum {
    JOINTS = 3,
    VERTICES = 56,
    MOST = 64
}; /* there is a ring of vertices at every joint, half on one joint and half on the other */

/* Rest, then each joint alone. */
static uint32_t sweeps(double angles[MOST][JOINTS]) {
    uint32_t count = 1;
    memset(angles, 0, MOST * sizeof *angles);
    for (int j = 1; j < JOINTS; j++)
        for (int a = -60; a <= 60; a += 20)
            if (a) angles[count++][j] = a;
    return count;
}

static void turn_joint(double angles[MOST][JOINTS], uint32_t count, double step) {
    memset(angles, 0, MOST * sizeof *angles);
    for (uint32_t e = 0; e < count; e++) angles[e][1] = step * e;
}

static void one_pose_with_two_shapes(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    uint32_t count = sweeps(angles);
    angles[count++][1] = 40;
    subject s = subject_new(JOINTS, VERTICES, count, angles[0]);
    for (size_t i = 0; i < 3 * VERTICES; i++) s.positions[3 * VERTICES * (count - 1) + i] += 0.05f;
    double apart = 0.05 * sqrt(3) / s.bundle->mesh.diagonal;
    check(s, "",
          (outcome[]){REFUSED("train:5 and train:13 have the same pose"),
                      REFUSED("train:5 and train:13 have the same pose"),
                      {false, "a skin can only give their mean", 0.51 * apart},
                      {false, "a skin can only give their mean", apart}});
}

static void poses_all_alike(void **state) {
    (void)state;
    double angles[MOST][JOINTS] = {{0}};
    check(subject_new(JOINTS, VERTICES, 8, angles[0]), "", (outcome[]){FITTED(1e-6), FITTED(1e-6), NO_SWEEP, NO_TURN});
    for (int e = 0; e < 8; e++) angles[e][1] = 40;
    check(subject_new(JOINTS, VERTICES, 8, angles[0]), "",
          (outcome[]){FITTED(2e-5), FITTED(2e-5), FITTED(2e-5), FITTED(1e-3)});
    for (int e = 0; e < 8; e++) angles[e][2] = -50; /* two joints that never part are one mover */
    check(subject_new(JOINTS, VERTICES, 8, angles[0]), "",
          (outcome[]){FITTED(2e-5), FITTED(2e-5), FITTED(2e-5), FITTED(1e-3)});
}

static void examples_without_the_rest_pose(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    uint32_t count = sweeps(angles);
    check(subject_new(JOINTS, VERTICES, count - 1, angles[1]), "",
          (outcome[]){FITTED(1e-3), FITTED(2e-5), FITTED(2e-5), FITTED(1e-3)}); /* psd chooses a wide function */
}

static void joints_that_turn_past_half_a_turn_and_a_whole_one(void **state) {
    (void)state;
    double angles[MOST][JOINTS]; /* at 180 degrees the ring at the joint is flat, and errors there grow */
    turn_joint(angles, 16, 20);
    check(subject_new(JOINTS, VERTICES, 16, angles[0]), "",
          (outcome[]){FITTED(1e-4), FITTED(1e-4), FITTED(1e-4), FITTED(5e-3)});
    turn_joint(angles, 26, 20);
    check(subject_new(JOINTS, VERTICES, 26, angles[0]), "",
          (outcome[]){FITTED(1e-4), FITTED(1e-4), FITTED(1e-4), FITTED(5e-3)});
}

static void one_example_and_two(void **state) {
    (void)state;
    double angles[MOST][JOINTS] = {{0, 50, 30}, {0, 0, 0}, {0, 50, 0}};
    check(subject_new(JOINTS, VERTICES, 1, angles[0]), "",
          (outcome[]){FITTED(2e-5), FITTED(2e-5), NO_SWEEP, FITTED(2e-3)});
    check(subject_new(JOINTS, VERTICES, 1, angles[1]), "", (outcome[]){FITTED(1e-6), FITTED(1e-6), NO_SWEEP, NO_TURN});
    check(subject_new(JOINTS, VERTICES, 2, angles[1]), "",
          (outcome[]){FITTED(2e-5), FITTED(2e-5), FITTED(2e-5), FITTED(2e-3)});
}

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

/* Blending no rotation with half a turn flattens the ring at the joint: the corrective's effect is lost in two
   directions, so the true shape cannot be reached, but everything stays finite and is counted. */
static void blends_that_collapse(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    turn_joint(angles, 19, 10);
    subject s = subject_new(JOINTS, VERTICES, 19, angles[0]);
    for (size_t i = 0; i < 19 * 3 * VERTICES; i++)
        s.positions[i] += (float)(0.03 * sin((double)(i % (3 * VERTICES))) * (double)(i / (3 * VERTICES)) / 19);
    subject_write(&s);
    /* Blending two joints that are rotated by an angle a apart, half each, scales the plane of rotation by c = cos(a /
       2). */
    uint32_t flat = 0;
    for (int e = 0; e < 19; e++) {
        double c = cos(angles[e][1] * acos(-1) / 360);
        flat += c * c / pow((2 * c * c + 1) / 3, 1.5) < 0.1;
    }
    assert_int_equal(flat, 2); /* 170 and 180 degrees */
    for (int m = 0; m < METHODS; m++) {
        json_t *object = pelt_json("fit bad.glb --train train --method %s -o bad.pelt", methods[m]);
        json_t *damped = json_object_get(object, "damped"), *train = json_object_get(object, "train");
        assert_int_equal(number(damped, "times"), 8 * flat);
        assert_int_equal(number(damped, "points"), 8);
        assert_non_null(strstr(program_errors, "the blend flattens 8 points in some examples (16 times"));
        assert_true(number(train, "max") < 0.03 * sqrt(3)); /* what was added: the corrective does no harm */
        assert_true(isfinite(number(object, "bound")));
        json_decref(object);
        assert_int_equal(pelt("info bad.pelt"), 0);
        assert_non_null(strstr(program_output, "the blend was too flat to invert 16 times, at 8 points"));
    }
}

static void numbers_that_are_not_finite(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    double angles[MOST][JOINTS];
    uint32_t count = sweeps(angles);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int force = 0; force < 2; force++) {
            outcome refused = REFUSED(force ? "example train:7: vertex 1 is not a finite number: leave out that frame"
                                            : "frame 7, vertex 1 is not a finite number");
            subject s = subject_new(JOINTS, VERTICES, count, angles[0]);
            s.positions[3 * VERTICES * 7 + 4] = bad[i];
            check(s, force ? "--force" : "", (outcome[]){refused, refused, refused, refused});
        }
}

static void one_vertex(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    uint32_t count = sweeps(angles);
    subject s = {.bundle = character_chain(JOINTS, 1)};
    s.bundle->mesh.positions[1] = 1.1f, s.bundle->mesh.triangle_count = 1;
    character_chain_weights(s.bundle);
    s.clip = corrected_clip(s.bundle, "train", count, angles[0], bumps);
    s.positions = (float *)s.clip->positions;
    subject_write(&s);
    for (int m = 0; m < METHODS; m++) { /* it has no size, so errors are absolute */
        json_t *object = pelt_json("fit bad.glb --train train --method %s -o bad.pelt", methods[m]);
        assert_true(number(json_object_get(object, "train"), "max") < 1e-3);
        json_decref(object);
    }
}

/* -- Joints -------------------------------------------------------------------------------------------------------- */

static void no_joint_that_moves(void **state) {
    (void)state;
    double angles[MOST][JOINTS] = {{0}};
    subject s = subject_new(JOINTS, VERTICES, 10, angles[0]);
    for (size_t i = 0; i < 10 * 3 * VERTICES; i++)
        s.positions[i] += (float)(0.03 * sin((double)(i % (3 * VERTICES))) * (double)(i / (3 * VERTICES)));
    check(s, "", (outcome[]){REFUSED("have the same pose"), REFUSED("have the same pose"), NO_SWEEP, NO_TURN});
}

/* Correctives driven by pose distances accept translations too. */
static void joints_that_slide_and_do_not_turn(void **state) {
    (void)state;
    enum { FRAMES = 9 };
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pelt_transform locals[FRAMES][JOINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            locals[f][j] = s.bundle->skeleton.rest[j];
            if (j == 1) locals[f][j].translation[1] += (float)(0.02 * f);
        }
    s.clip = character_clip(s.bundle, "train", FRAMES, locals[0]);
    s.positions = character_blend(s.bundle, s.clip);
    for (size_t i = 0; i < FRAMES * 3 * VERTICES; i++)
        s.positions[i] += (float)(0.005 * cos((double)(i % (3 * VERTICES))) * (double)(i / (3 * VERTICES)));
    check(s, "", (outcome[]){FITTED(2e-5), FITTED(2e-5), NO_SWEEP, NO_TURN});
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

/* Each example rotates a joint a little further, some of them that joint alone. One more than a corrective takes is too
   many. */
static void of_too_many_examples_those_that_lie_apart_are_taken(void **state) {
    (void)state;
    test_only_at_full_speed();
    static const uint32_t most[METHODS] = {800, 300, 2000, 1000};
    static const pelt_method of[METHODS] = {PELT_METHOD_PSD, PELT_METHOD_WPSD, PELT_METHOD_EIGEN, PELT_METHOD_KERNEL};
    for (int m = 0; m < METHODS; m++) {
        uint32_t count = most[m] + 1;
        double(*angles)[JOINTS] = calloc(count, sizeof *angles);
        for (uint32_t e = 0; e < count; e++) angles[e][1] = 150.0 * (e + 1) / count, angles[e][2] = e % 16 ? 20 : 0;
        subject s = subject_new(JOINTS, VERTICES, count, angles[0]);
        pelt_example *list = PELT_NEW(s.bundle->arena, count, pelt_example);
        for (uint32_t e = 0; e < count; e++) list[e] = (pelt_example){s.clip, e};
        for (uint32_t more = 0; more < 2; more++) {
            pelt_error error = {0};
            pelt_fit_report report;
            char said[200];
            pelt_bytes *skin = pelt_fit(s.bundle, (pelt_examples){most[m] + more, list},
                                        &(pelt_fit_options){.method = of[m], .holdout = -1}, &report, &error);
            if (!skin) fail_msg("%s: %s", methods[m], error.text);
            const char *text = NULL;
            for (size_t i = 0; i < report.findings.count; i++)
                if (!strcmp(report.findings.list[i].what, "many-examples")) text = report.findings.list[i].text;
            snprintf(said, sizeof said, "it was fitted to the %u whose poses lie farthest apart", most[m]);
            if (more ? !text || !strstr(text, said) : text != NULL) fail_msg("%s: %s", methods[m], text);
            assert_int_equal(report.train->frame_count, most[m] + more); /* the error is that on all */
            if (!(report.train->max < 2e-2 * s.bundle->mesh.diagonal))   /* which one is left out is nearly a tie */
                fail_msg("%s: %g", methods[m], report.train->max);
            pelt_fit_report_free(&report), pelt_bytes_free(skin);
        }
        free(angles), character_free(s.bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pose_with_two_shapes),
        cmocka_unit_test(poses_all_alike),
        cmocka_unit_test(examples_without_the_rest_pose),
        cmocka_unit_test(joints_that_turn_past_half_a_turn_and_a_whole_one),
        cmocka_unit_test(one_example_and_two),
        cmocka_unit_test(blends_that_collapse),
        cmocka_unit_test(numbers_that_are_not_finite),
        cmocka_unit_test(one_vertex),
        cmocka_unit_test(no_joint_that_moves),
        cmocka_unit_test(joints_that_slide_and_do_not_turn),
        cmocka_unit_test(of_too_many_examples_those_that_lie_apart_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
