/* Bad examples among good ones: frames, regions and vertices that are wrong are found exactly, noise is measured and
   removed, and nothing is found where nothing is wrong. */

#include "fit/examples/clean.h"
#include "test/corrected.h"
#include "test/sampled.h"

enum { JOINTS = 5, VERTICES = 320, MORE = 100, MOST_POSES = 140, STEP = 30 };

/* Every joint bulges what is near it, and a joint and the next together a little more. */
static void bulge(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        for (uint32_t j = 1; j < JOINTS; j++) {
            double a = angles[j] / 60, b = j + 1 < JOINTS ? angles[j + 1] / 60 : 0, gap = x[1] - j;
            double near = exp(-4 * gap * gap);
            d[3 * v] += near * x[0] * (0.3 * a * a + 0.1 * a * b);
            d[3 * v + 1] += near * 0.05 * a;
            d[3 * v + 2] += near * x[2] * 0.3 * a * a;
        }
    }
}

typedef struct subject {
    pelt_bundle *bundle;
    pelt_clip *clip;
    float *positions, *truth; /* [frame][vertex][3] */
    uint32_t frames;
    pelt_fitting f;
    pelt_arena *arena;
    pelt_error error;
} subject;

static subject made(int step, uint32_t more, uint64_t seed) {
    static double angles[MOST_POSES * JOINTS];
    subject s = {.bundle = character_chain(JOINTS, VERTICES), .arena = pelt_arena_new(0)};
    s.frames = corrected_poses(JOINTS, step, more, seed, angles);
    assert_true(s.frames <= MOST_POSES);
    s.clip = corrected_clip(s.bundle, "train", s.frames, angles, bulge);
    s.positions = (float *)s.clip->positions;
    size_t size = 3 * VERTICES * (size_t)s.frames;
    s.truth = PELT_NEW(s.bundle->arena, size, float);
    memcpy(s.truth, s.positions, size * sizeof *s.truth);
    return s;
}

static void clean(subject *s, pelt_examples examples) {
    s->f = (pelt_fitting){
        .bundle = s->bundle, .examples = examples, .options = {.method = PELT_METHOD_KERNEL, .threads = 2}};
    assert_int_equal(pelt_fit_resolve(&s->f.options, &s->error), PELT_OK);
    if (pelt_clean_examples(&s->f, s->arena, &s->error)) fail_msg("%s", s->error.text);
}

static void clean_all(subject *s) { clean(s, pelt_bundle_examples(s->bundle, (const pelt_clip *const *)&s->clip, 1)); }

static void done(subject *s) { pelt_arena_free(s->arena), character_free(s->bundle); }

static const pelt_finding *only_finding(const subject *s, const char *what) {
    assert_int_equal(s->f.report.findings.count, 1);
    assert_string_equal(s->f.report.findings.list[0].what, what);
    assert_int_equal(s->f.report.findings.list[0].severity, PELT_WARNING);
    return s->f.report.findings.list;
}

/* The largest distance of a vertex in a cleaned frame from the truth. */
static double gap(const subject *s, uint32_t frame) {
    double worst = 0;
    const float *clean = s->f.bundle->clips[s->f.bundle->clip_count - 1]->positions;
    for (size_t i = 3 * VERTICES * (size_t)frame; i < 3 * VERTICES * ((size_t)frame + 1); i++)
        worst = fmax(worst, fabs((double)clean[i] - s->truth[i]));
    return worst;
}

static void assert_untouched(const subject *s, size_t examples) {
    for (size_t i = 0; i < s->f.report.findings.count; i++) print_error("%s\n", s->f.report.findings.list[i].text);
    assert_int_equal(s->f.report.findings.count, 0);
    assert_ptr_equal(s->f.bundle, s->bundle);
    assert_int_equal(s->f.examples.count, examples);
    assert_true(s->f.noise == 0);
}

/* -- Nothing is wrong ---------------------------------------------------------------------------------------------- */

static void nothing_is_found_in_sweeps_and_poses(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        subject s = made(STEP, MORE, seed);
        clean_all(&s);
        assert_untouched(&s, s.frames);
        done(&s);
    }
}

static void nothing_is_found_in_sweeps_alone(void **state) {
    (void)state;
    subject s = made(10, 0, 1);
    clean_all(&s);
    assert_untouched(&s, s.frames);
    done(&s);
}

/* Two of them are the only ones that move their joint. */
static void a_pose_unlike_all_others_is_not_bad(void **state) {
    (void)state;
    static double angles[40 * JOINTS];
    subject s = {.bundle = character_chain(JOINTS, VERTICES), .arena = pelt_arena_new(0), .frames = 40};
    for (int e = 0; e < 38; e++) angles[e * JOINTS + 1] = 3 * (e - 19);
    angles[38 * JOINTS + 3] = 60, angles[39 * JOINTS + 4] = -60;
    s.clip = corrected_clip(s.bundle, "train", s.frames, angles, bulge);
    clean_all(&s);
    assert_untouched(&s, s.frames);
    done(&s);
}

static void nothing_is_found_in_samples(void **state) {
    (void)state;
    static const char *const names[] = {"arm", "elbow", "biceps"};
    for (int i = 0; i < 3; i++) {
        subject s = {.bundle = sampled(names[i], 700), .arena = pelt_arena_new(0)};
        pelt_examples examples = all_of(s.bundle, "train");
        clean(&s, examples);
        assert_untouched(&s, examples.count);
        pelt_arena_free(s.arena), pelt_bundle_free(s.bundle);
    }
}

static void nothing_is_found_in_a_motion(void **state) {
    (void)state;
    static double angles[100 * JOINTS];
    subject s = {.bundle = character_chain(JOINTS, VERTICES), .arena = pelt_arena_new(0), .frames = 100};
    for (int e = 0; e < 100; e++)
        for (int j = 1; j < JOINTS; j++) angles[e * JOINTS + j] = 50 * sin(0.1 * e * (1 + 0.3 * j) + j);
    s.clip = corrected_clip(s.bundle, "train", s.frames, angles, bulge);
    clean_all(&s);
    assert_untouched(&s, s.frames);
    done(&s);
}

/* -- Something is -------------------------------------------------------------------------------------------------- */

static void copy_frame(subject *s, uint32_t to, uint32_t from, uint32_t first, uint32_t count) {
    size_t frame = 3 * VERTICES;
    memcpy(s->positions + to * frame + 3 * (size_t)first, s->truth + from * frame + 3 * (size_t)first,
           3 * (size_t)count * sizeof(float));
}

static void frames_with_the_shape_of_another_are_left_out(void **state) {
    (void)state;
    static const uint32_t bad[] = {5, 30, 41, 60};
    subject s = made(STEP, MORE, 4);
    for (int i = 0; i < 4; i++) copy_frame(&s, bad[i], 70 - (uint32_t)i, 0, VERTICES);
    clean_all(&s);
    assert_non_null(strstr(only_finding(&s, "bad-examples")->text, ": train:5, train:30, train:41, train:60; "));
    assert_int_equal(s.f.examples.count, s.frames - 4);
    for (size_t e = 0; e < s.f.examples.count; e++) {
        uint32_t frame = s.f.examples.list[e].frame;
        for (int i = 0; i < 4; i++) assert_int_not_equal(frame, bad[i]);
        assert_true(gap(&s, frame) == 0);
    }
    done(&s);
}

static void waves_are_found_too_and_more_than_ten_are_counted(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 5);
    for (uint32_t i = 0; i < 12; i++)
        for (uint32_t v = 0; v < VERTICES; v++)
            s.positions[3 * ((3 + 9 * (size_t)i) * VERTICES + v)] +=
                0.3f * sinf(9 * s.bundle->mesh.positions[3 * v + 1] + 7 * s.bundle->mesh.positions[3 * v] + (float)i);
    clean_all(&s);
    const char *text = only_finding(&s, "bad-examples")->text;
    assert_non_null(strstr(text, "of 12 of "));
    assert_non_null(strstr(text, ": train:3, train:12, train:21, "));
    assert_non_null(strstr(text, ", train:84 and 2 more; "));
    done(&s);
}

/* The upper end of the tube, a fifth of it, has the shape of another pose. */
static void a_region_that_is_wrong_becomes_what_the_others_predict(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 6);
    uint32_t first = VERTICES - VERTICES / 5;
    copy_frame(&s, 40, 50, first, VERTICES - first), copy_frame(&s, 55, 21, first, VERTICES - first);
    clean_all(&s);
    assert_non_null(strstr(only_finding(&s, "bad-regions")->text, "parts of 2 of "));
    assert_non_null(strstr(only_finding(&s, "bad-regions")->text, ": train:40, train:55; "));
    assert_int_equal(s.f.examples.count, s.frames);
    for (uint32_t e = 0; e < s.frames; e++) assert_true(gap(&s, e) <= (e == 40 || e == 55 ? 0.03 : 0));
    done(&s);
}

static void a_vertex_out_of_place_is_named_and_put_there(void **state) {
    (void)state;
    static const uint32_t frames[] = {2, 17, 33, 33 + 7, 61}, vertices[] = {10, 77, 150, 150, 301};
    subject s = made(STEP, MORE, 7);
    for (int i = 0; i < 5; i++) s.positions[3 * ((size_t)VERTICES * frames[i] + vertices[i]) + 2] += 0.25f;
    clean_all(&s);
    assert_non_null(strstr(only_finding(&s, "bad-vertices")->text,
                           ": train:2 (vertex 10), train:17 (vertex 77), train:33 (vertex 150), train:40 (vertex 150), "
                           "train:61 (vertex 301); "));
    for (uint32_t e = 0; e < s.frames; e++) assert_true(gap(&s, e) <= 0.03);
    done(&s);
}

static void with_fix_no_example_that_is_bad_in_part_remains(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 7);
    s.bundle->cache.fix = 1;
    s.positions[3 * (VERTICES * 17 + 77) + 2] += 0.25f;
    copy_frame(&s, 30, 70, 0, VERTICES);
    clean_all(&s);
    assert_int_equal(s.f.report.findings.count, 2);
    for (int i = 0; i < 2; i++) assert_non_null(strstr(s.f.report.findings.list[i].text, "they were left out"));
    assert_int_equal(s.f.examples.count, s.frames - 2);
    for (size_t e = 0; e < s.f.examples.count; e++)
        assert_true(s.f.examples.list[e].frame != 17 && s.f.examples.list[e].frame != 30);
    done(&s);
}

/* Where nothing is wrong the normals of the examples still count; a vertex that was moved has none. */
static void examples_keep_their_own_normals_but_where_they_are_mended(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 7);
    size_t size = 3 * VERTICES * (size_t)s.frames;
    float *normals = PELT_NEW(s.bundle->arena, size, float);
    for (size_t i = 0; i < size; i++) normals[i] = i % 3 == 1;
    s.clip->normals = normals;
    s.positions[3 * (VERTICES * 17 + 77) + 2] += 0.25f;
    clean_all(&s);
    const float *kept = s.f.bundle->clips[s.f.bundle->clip_count - 1]->normals;
    assert_non_null(kept);
    for (size_t v = 0; v < (size_t)VERTICES * s.frames; v++)
        assert_true(kept[3 * v + 1] == (v == VERTICES * 17 + 77 ? 0 : 1));
    done(&s);
}

/* What a fit would say is said without one, and nothing is changed. */
static void examples_are_doubted_without_a_fit(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 7);
    pelt_findings found = {0};
    pelt_examples all = pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1);
    assert_int_equal(pelt_doubt_examples(s.bundle, all, NULL, &found, &s.error), PELT_OK);
    assert_int_equal(found.count, 0);
    s.positions[3 * (VERTICES * 17 + 77) + 2] += 0.25f;
    copy_frame(&s, 30, 70, 0, VERTICES);
    assert_int_equal(pelt_doubt_examples(s.bundle, all, NULL, &found, &s.error), PELT_OK);
    assert_int_equal(found.count, 2);
    assert_non_null(strstr(found.list[0].text, ": train:30; fits leave them out"));
    assert_non_null(strstr(found.list[1].text, ": train:17 (vertex 77); fits use"));
    assert_int_equal(all.count, s.frames);
    assert_int_equal(pelt_doubt_examples(NULL, all, NULL, &found, &s.error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_doubt_examples(s.bundle, all, NULL, NULL, &s.error), PELT_ERROR_ARGUMENT);
    done(&s);
}

static int stop_at_once(void *user, const char *task, double fraction) {
    (void)task, (void)fraction;
    return ++*(int *)user > 2;
}

static void the_look_can_be_stopped(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 7);
    pelt_findings found = {0};
    int asked = 0;
    pelt_examples all = pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1);
    assert_int_equal(pelt_doubt_examples(s.bundle, all, &(pelt_progress){stop_at_once, &asked}, &found, &s.error),
                     PELT_ERROR_CANCELLED);
    assert_int_equal(asked, 3);
    done(&s);
}

/* A motion of more frames than are looked at together, after poses of which all are needed: nothing is found where
   nothing is wrong, and the frame that is. */
static void long_motions_do_not_take_poses_away(void **state) {
    (void)state;
    test_only_at_full_speed();
    enum { FRAMES = 900 };
    static double angles[FRAMES * JOINTS];
    for (int bad = 0; bad < 2; bad++) {
        subject s = made(STEP, MORE, 13);
        for (int e = 0; e < FRAMES; e++)
            for (int j = 1; j < JOINTS; j++) angles[e * JOINTS + j] = 40 * sin(0.02 * e * (1 + 0.3 * j));
        const pelt_clip *clips[2] = {s.clip, corrected_clip(s.bundle, "move", FRAMES, angles, bulge)};
        if (bad) copy_frame(&s, 31, 70, 0, VERTICES);
        clean(&s, pelt_bundle_examples(s.bundle, clips, 2));
        if (bad)
            assert_non_null(strstr(only_finding(&s, "bad-examples")->text, "of 1 of "));
        else
            assert_untouched(&s, s.frames + FRAMES);
        done(&s);
    }
}

/* -- Noise --------------------------------------------------------------------------------------------------------- */

static double normal(uint64_t *seed) {
    return sqrt(-2 * log(1 - test_random(seed))) * cos(2 * acos(-1) * test_random(seed));
}

static void noise_is_measured_and_most_of_it_removed(void **state) {
    (void)state;
    static const double levels[] = {0.003, 0.02};
    for (int i = 0; i < 2; i++) {
        subject s = made(STEP, MORE, 8);
        uint64_t seed = 9;
        size_t size = 3 * VERTICES * (size_t)s.frames;
        for (size_t k = 0; k < size; k++) s.positions[k] += (float)(levels[i] * normal(&seed));
        clean_all(&s);
        only_finding(&s, "noise");
        assert_near(s.f.noise, levels[i], 0.1 * levels[i]);
        double left = 0;
        const float *clean = s.f.bundle->clips[s.f.bundle->clip_count - 1]->positions;
        for (size_t k = 0; k < size; k++) left += pow((double)clean[k] - s.truth[k], 2) / (double)size;
        assert_true(sqrt(left) < 0.5 * levels[i]);
        done(&s);
    }
}

/* -- Fits ---------------------------------------------------------------------------------------------------------- */

/* The same fit as to examples of which the bad one was never there. */
static void a_fit_is_that_of_the_good_examples(void **state) {
    (void)state;
    double errors[2];
    for (int i = 0; i < 2; i++) {
        subject s = made(STEP, MORE, 10);
        pelt_fit_report report;
        if (i) copy_frame(&s, 60, 30, 0, VERTICES);
        pelt_examples examples = pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1);
        if (!i) memmove(examples.list + 60, examples.list + 61, (--examples.count - 60) * sizeof *examples.list);
        pelt_bytes *skin =
            pelt_fit(s.bundle, examples, &(pelt_fit_options){.method = PELT_METHOD_EIGEN}, &report, &s.error);
        if (!skin) fail_msg("%s", s.error.text);
        assert_int_equal(report.findings.count, i);
        errors[i] = report.train->rms;
        pelt_bytes_free(skin), pelt_fit_report_free(&report);
        done(&s);
    }
    assert_true(errors[0] > 0 && errors[0] == errors[1]);
}

/* No skin follows noise, so its error on noisy examples is at least as large, though the fit removed it. */
static void errors_are_those_on_the_examples_as_given(void **state) {
    (void)state;
    const double level = 0.01;
    subject s = made(STEP, MORE, 12);
    pelt_fit_report report;
    uint64_t seed = 5;
    for (size_t k = 0; k < 3 * VERTICES * (size_t)s.frames; k++) s.positions[k] += (float)(level * normal(&seed));
    pelt_bytes *skin = pelt_fit(s.bundle, pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1),
                                &(pelt_fit_options){.method = PELT_METHOD_EIGEN}, &report, &s.error);
    if (!skin) fail_msg("%s", s.error.text);
    assert_true(report.train->rms > 0.95 * sqrt(3) * level && report.holdout->rms > 0.95 * sqrt(3) * level);
    pelt_bytes_free(skin), pelt_fit_report_free(&report);
    done(&s);
}

/* Held-out examples do not help to mend those that are fitted: whatever they are, the fit without them is the same. */
static void held_out_examples_do_not_clean_the_others(void **state) {
    (void)state;
    double errors[2];
    for (int i = 0; i < 2; i++) {
        subject s = made(STEP, MORE, 14);
        pelt_fit_report report;
        for (size_t k = 0; k < 3 * VERTICES * (size_t)s.frames; k++)
            s.positions[k] += (float)(0.004 * sin(1.7 * (double)k * (double)k));
        pelt_fit_options options = {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT, .holdout = 0.2};
        pelt_examples all = pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1), kept, held;
        if (i) {
            assert_int_equal(pelt_split_examples(s.arena, s.bundle, all, 0.2, &kept, &held, &s.error), PELT_OK);
            options.holdout = -1, all = kept;
        }
        pelt_bytes *bytes = pelt_fit(s.bundle, all, &options, &report, &s.error);
        if (!bytes) fail_msg("%s", s.error.text);
        pelt_measure *measured = report.holdout;
        if (i) {
            pelt_skin skin;
            assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
            measured = pelt_measure_examples(&skin, s.bundle, held, 1, &s.error);
            assert_non_null(measured);
        }
        errors[i] = measured->rms;
        if (i) pelt_measure_free(measured);
        pelt_bytes_free(bytes), pelt_fit_report_free(&report);
        done(&s);
    }
    assert_true(errors[0] == errors[1]);
}

static void the_report_names_the_clips_of_the_caller(void **state) {
    (void)state;
    subject s = made(STEP, MORE, 11);
    pelt_fit_report report;
    copy_frame(&s, 60, 30, 0, VERTICES);
    pelt_bytes *skin = pelt_fit(s.bundle, pelt_bundle_examples(s.bundle, (const pelt_clip *const *)&s.clip, 1),
                                &(pelt_fit_options){.method = PELT_METHOD_EIGEN}, &report, &s.error);
    if (!skin) fail_msg("%s", s.error.text);
    assert_int_equal(report.kept.count + report.held.count, s.frames - 1);
    for (size_t e = 0; e < report.held.count; e++) assert_ptr_equal(report.held.list[e].clip, s.clip);
    for (size_t e = 0; e < report.kept.count; e++) assert_ptr_equal(report.kept.list[e].clip, s.clip);
    assert_true(report.train->rel_err < 0.5);
    pelt_bytes_free(skin), pelt_fit_report_free(&report);
    done(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_in_sweeps_and_poses),
        cmocka_unit_test(nothing_is_found_in_sweeps_alone),
        cmocka_unit_test(a_pose_unlike_all_others_is_not_bad),
        cmocka_unit_test(nothing_is_found_in_samples),
        cmocka_unit_test(nothing_is_found_in_a_motion),
        cmocka_unit_test(frames_with_the_shape_of_another_are_left_out),
        cmocka_unit_test(waves_are_found_too_and_more_than_ten_are_counted),
        cmocka_unit_test(a_region_that_is_wrong_becomes_what_the_others_predict),
        cmocka_unit_test(a_vertex_out_of_place_is_named_and_put_there),
        cmocka_unit_test(with_fix_no_example_that_is_bad_in_part_remains),
        cmocka_unit_test(noise_is_measured_and_most_of_it_removed),
        cmocka_unit_test(a_fit_is_that_of_the_good_examples),
        cmocka_unit_test(errors_are_those_on_the_examples_as_given),
        cmocka_unit_test(examples_keep_their_own_normals_but_where_they_are_mended),
        cmocka_unit_test(examples_are_doubted_without_a_fit),
        cmocka_unit_test(the_look_can_be_stopped),
        cmocka_unit_test(long_motions_do_not_take_poses_away),
        cmocka_unit_test(held_out_examples_do_not_clean_the_others),
        cmocka_unit_test(the_report_names_the_clips_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
