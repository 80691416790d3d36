/* test_choose.c: budgets, forecasts, folds; and whether the method that is known to be right is chosen. */

#include "fit/choose/choose.h"
#include "test/character.h"
#include "test/sampled.h"

/* -- Budgets --------------------------------------------------------------------------------------------------------- */

static void budgets_are_read_with_their_units(void **state) {
    (void)state;
    pelt_budget b;
    assert_int_equal(pelt_budget_parse("500 kB, 20 us, 1 mm", &b, NULL), PELT_OK);
    assert_near(b.bytes, 5e5, 1e-6);
    assert_near(b.seconds, 2e-5, 1e-15);
    assert_near(b.error, 1e-3, 1e-12);
    assert_true(b.bytes_per_vertex == 0 && b.seconds_per_vertex == 0 && b.error_fraction == 0);
    assert_int_equal(pelt_budget_parse(" 0.5%,200bytes/vertex ,  3.5 ns/vertex", &b, NULL), PELT_OK);
    assert_near(b.error_fraction, 5e-3, 1e-12);
    assert_near(b.bytes_per_vertex, 200, 0);
    assert_near(b.seconds_per_vertex, 3.5e-9, 1e-18);
    assert_int_equal(pelt_budget_parse("2 MB, 2 cm", &b, NULL), PELT_OK);
    assert_near(b.bytes, 2e6, 0);
    assert_near(b.error, 2e-2, 1e-12);
    pelt_budget total = pelt_budget_of(&(pelt_budget){.bytes_per_vertex = 100, .error_fraction = 0.01},
                                       &(pelt_mesh){.vertex_count = 50, .diagonal = 2});
    assert_near(total.bytes, 5000, 1e-9);
    assert_near(total.error, 0.02, 1e-9);
    assert_near(pelt_budget_share(&(pelt_budget){.bytes = 100, .seconds = 2}, 50, 3), 1.5, 1e-12);
}

static void bad_budgets_are_refused_in_a_sentence(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"", "empty"},
        {"500", "no unit"},
        {"500 kB,", "comma"},
        {"kB", "number"},
        {"-3 kB", "positive"},
        {"0 kB", "positive"},
        {"nan kB", "positive"},
        {"inf MB", "positive"},
        {"5 parsecs", "not a unit; use"},
        {"5 kBx", "not a unit; use"},
        {"5 kB, 6 MB", "another entry"},
        {"5 kB, 6 bytes/vertex", "two limits on bytes"},
        {"1 mm, 1%", "two limits on the error"},
        {"1 us, 2 ns/vertex", "two limits on time"},
        {"5 kB 6 us", "not a unit; use"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pelt_budget b;
        pelt_error error = {0};
        assert_int_equal(pelt_budget_parse(bad[i][0], &b, &error), PELT_ERROR_ARGUMENT);
        if (!strstr(error.text, bad[i][1]) || strncmp(error.text, "budget", 6))
            fail_msg("%s: %s", bad[i][0], error.text);
    }
    pelt_bundle *bundle = sampled("box", 200);
    pelt_error error = {0};
    assert_null(pelt_choose(bundle, all_of(bundle, "train"), &(pelt_budget){.bytes = -1}, NULL, NULL, NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_ARGUMENT);
    assert_null(pelt_choose(bundle, all_of(bundle, "train"), NULL, &(pelt_fit_options){.method = PELT_METHOD_PSD}, NULL,
                            NULL, &error));
    assert_non_null(strstr(error.text, "method"));
    assert_null(pelt_choose(bundle, (pelt_examples){0}, NULL, NULL, NULL, NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_DATA);
    pelt_bundle_free(bundle);
}

/* -- Forecasts ------------------------------------------------------------------------------------------------------- */

/* 40 examples: the worst two do not count. */
static void forecasts_leave_out_the_worst_twentieth(void **state) {
    (void)state;
    double squares[40], blend[40], sum = 0, base = 0, relative;
    for (int i = 0; i < 40; i++) {
        squares[i] = i == 7 ? 1000 : i == 23 ? 500 : 1 + i % 5, blend[i] = 10 + i;
        if (squares[i] < 100) sum += squares[i], base += blend[i];
    }
    assert_near(pelt_forecast(40, squares, blend, &relative), sqrt(sum / 38), 1e-12);
    assert_near(relative, sqrt(sum / base), 1e-12);
    assert_near(pelt_forecast(3, squares, blend, &relative), sqrt((1.0 + 2 + 3) / 3), 1e-12);
}

static void few_examples_with_most_of_the_error_are_counted(void **state) {
    (void)state;
    float rms[60];
    double share;
    for (int i = 0; i < 60; i++) rms[i] = 1;
    assert_int_equal(pelt_few_with_most(60, rms, &share), 0);
    rms[5] = 7, rms[40] = 6; /* 49 + 36 of 85 + 58 */
    assert_int_equal(pelt_few_with_most(60, rms, &share), 2);
    assert_near(share, 85.0 / 143, 1e-6);
    for (int i = 0; i < 12; i++) rms[i] = 5;
    assert_int_equal(pelt_few_with_most(60, rms, &share), 0);
}

/* -- Folds ------------------------------------------------------------------------------------------------------------ */

static pelt_examples made(pelt_bundle *bundle, uint32_t frames, bool motion) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    uint64_t seed = 5;
    pelt_clip *clip = PELT_NEW(bundle->arena, 1, pelt_clip);
    float *positions = PELT_NEW(bundle->arena, n * frames, float);
    for (size_t i = 0; i < n * frames; i++)
        positions[i] = (float)(motion ? sin(5.0 * (double)(i / n) / frames + (double)(i % n)) : test_random(&seed));
    *clip = (pelt_clip){.name = "clip", .frame_count = frames, .positions = positions};
    character_own(bundle, clip);
    const pelt_clip *own = clip;
    return pelt_bundle_examples(bundle, &own, 1);
}

/* Sweeps of five values, ten of them: a fold has every value of some, and never two of the same sweep. */
static void folds_are_staggered_over_sweeps(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(1, 8);
    pelt_examples all = made(bundle, 51, false);
    int fold[51], count[PELT_CHOICE_FOLDS] = {0}, seen[PELT_CHOICE_FOLDS][5] = {{0}};
    pelt_deal_examples(bundle, all, fold);
    assert_int_equal(fold[0], -1);
    for (int e = 1; e < 51; e++) {
        assert_in_range(fold[e], 0, PELT_CHOICE_FOLDS - 1);
        count[fold[e]]++, seen[fold[e]][(e - 1) % 5]++;
    }
    for (int f = 0; f < PELT_CHOICE_FOLDS; f++) {
        assert_in_range(count[f], 9, 11);
        for (int value = 0; value < 5; value++) assert_in_range(seen[f][value], 1, 3);
    }
    pelt_bundle_free(bundle);
}

static void stretches_of_motion_stay_together(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(1, 8);
    pelt_examples all = made(bundle, 120, true);
    int fold[120], changes = 0;
    pelt_deal_examples(bundle, all, fold);
    for (int e = 2; e < 120; e++) changes += fold[e] != fold[e - 1];
    assert_in_range(changes, 8, 11);
    assert_true(pelt_has_motion(bundle, all));
    assert_false(pelt_has_motion(bundle, made(bundle, 51, false)));
    pelt_bundle_free(bundle);
}

/* A small character with few examples: choosing fits some thirty skins. */
static pelt_bundle *few(const char *name, uint32_t vertices, uint32_t frames) {
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = name, .vertices = vertices, .frames = frames}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* -- Choices ---------------------------------------------------------------------------------------------------------- */

static const pelt_candidate *chosen(const pelt_front *front) { return &front->list[front->chosen]; }

/* The humanoid's truth is its own blend: nothing is better, and nothing else is as small. */
static void an_exact_blend_is_kept(void **state) {
    (void)state;
    test_only_at_full_speed();
    pelt_bundle *bundle = few("humanoid", 400, 12);
    pelt_front front;
    pelt_error error;
    pelt_bytes *skin = pelt_choose(bundle, all_of(bundle, "train"), NULL, NULL, NULL, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    assert_string_equal(chosen(&front)->name, "--method ssd");
    pelt_front_free(&front), pelt_bytes_free(skin), pelt_bundle_free(bundle);
}

/* Truth by a blend with other weights: a fitted blend is exact in any pose, a corrective only near the examples. */
static void a_blend_with_other_weights_is_found(void **state) {
    (void)state;
    pelt_bundle *bundle = few("arm", 200, 30);
    pelt_examples train = all_of(bundle, "train");
    pelt_mesh other = bundle->mesh;
    uint32_t entries = other.influences.first[other.vertex_count];
    float *weights = PELT_NEW(bundle->arena, entries, float);
    for (uint32_t v = 0; v < other.vertex_count; v++) {
        uint32_t first = other.influences.first[v], end = other.influences.first[v + 1];
        for (uint32_t i = first; i < end; i++)
            weights[i] = 0.6f * bundle->mesh.influences.weights[i] + 0.4f / (float)(end - first);
    }
    other.influences.weights = weights;
    double *blended = PELT_NEW(bundle->arena, 3 * (size_t)other.vertex_count, double);
    for (size_t e = 0; e < train.count; e++) {
        const pelt_affine *matrices =
            pelt_frame_matrices(bundle->arena, &bundle->skeleton, train.list[e].clip, train.list[e].frame);
        float *truth = (float *)train.list[e].clip->positions + 3 * (size_t)other.vertex_count * train.list[e].frame;
        pelt_blend_mesh(&other, matrices, blended);
        for (size_t i = 0; i < 3 * (size_t)other.vertex_count; i++) truth[i] = (float)blended[i];
    }
    pelt_front front;
    pelt_error error;
    pelt_fit_report report;
    pelt_bytes *skin = pelt_choose(bundle, train, NULL, NULL, &report, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    assert_string_equal(chosen(&front)->name, "--method ssd --blend fit");
    assert_non_null(report.holdout);
    assert_int_equal(report.holdout->frame_count, 29); /* so few are left out one at a time, all but the first */
    assert_true(report.holdout->rel_err < 1e-3);
    pelt_fit_report_free(&report), pelt_front_free(&front), pelt_bytes_free(skin), pelt_bundle_free(bundle);
}

/* What is chosen is what a fit with these options makes; and errors and bytes are those of fits. */
static void the_chosen_skin_is_that_of_its_options(void **state) {
    (void)state;
    pelt_bundle *bundle = few("elbow", 200, 40);
    pelt_examples train = all_of(bundle, "train");
    pelt_front front;
    pelt_error error;
    pelt_fit_report report, again;
    pelt_bytes *skin = pelt_choose(bundle, train, NULL, NULL, &report, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    pelt_skin opened; /* it knows its errors, like a skin by a method that was given */
    assert_int_equal(pelt_open(skin->bytes, skin->size, &opened), PELT_OK);
    assert_true(pelt_confidence_region_count(&opened) > 0);
    for (size_t i = 1; i < front.count; i++)
        if (front.list[i].fold_count) assert_true(front.list[i].rms >= front.list[i - 1].rms);
    assert_true(chosen(&front)->is_within && chosen(&front)->fold_count >= 3);
    pelt_fit_options options = chosen(&front)->options;
    options.holdout = -1;
    pelt_bytes *direct = pelt_fit(bundle, train, &options, &again, &error);
    if (!direct) fail_msg("%s", error.text);
    assert_memory_equal(report.train->frame_rms, again.train->frame_rms, train.count * sizeof(float));
    assert_near(chosen(&front)->bytes, (double)skin->size, 0);
    pelt_fit_report_free(&report), pelt_fit_report_free(&again), pelt_front_free(&front);
    pelt_bytes_free(skin), pelt_bytes_free(direct), pelt_bundle_free(bundle);
}

/* -- Mirror images ------------------------------------------------------------------------------------------------------ */

enum { WIDE = 17, HIGH = 7, SHEET = WIDE * HIGH, SHEET_FRAMES = 41 };

/* How far an arm pushes the skin out, by its rotation; `turn` is as the left arm turns. */
static double bulge(const double turn[3], double x, double y) {
    double out = fmax(fabs(x) - 1, 0) * (4 - fabs(x)) / 2;
    return out * (0.3 * sin(3 * turn[1]) * cos(2 * turn[2] + y) + 0.2 * turn[1] * turn[2]);
}

/* A sheet with two arms, each of which moves alone in half of the poses. Its truth is symmetric, or else the right arm
   pushes inwards. */
static pelt_bundle *two_armed(bool symmetric, const pelt_clip **train, const pelt_clip **test) {
    static float positions[SHEET][3], weights[SHEET][2], shapes[SHEET_FRAMES][SHEET][3];
    static uint32_t joints[SHEET][2], triangles[6 * SHEET];
    static pelt_transform poses[SHEET_FRAMES][3];
    uint32_t corners = 0;
    pelt_error error;
    for (uint32_t v = 0; v < SHEET; v++) {
        float x = 0.5f * ((float)(v % WIDE) - (WIDE - 1) / 2), y = 0.5f * (float)(v / WIDE);
        memcpy(positions[v], (float[]){x, y, 0.05f * x * x}, 12);
        float out = fminf(1, fmaxf(0, fabsf(x) - 0.75f));
        weights[v][0] = 1 - out, weights[v][1] = out;
        joints[v][0] = 0, joints[v][1] = x < 0 ? 2 : 1;
        if (v % WIDE + 1 == WIDE || v + WIDE >= SHEET) continue;
        uint32_t quad[6] = {v, v + 1, v + WIDE, v + 1, v + WIDE + 1, v + WIDE};
        for (int i = 0; i < 6; i++) triangles[corners++] = quad[i];
    }
    const pelt_transform rest[3] = {{.translation = {0, 1, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}},
                                    {.translation = {1, 0, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}},
                                    {.translation = {-1, 0, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}};
    pelt_bundle *bundle =
        pelt_bundle_new(&(pelt_character){.vertex_count = SHEET,
                                          .triangle_count = corners / 3,
                                          .joint_count = 3,
                                          .influences_per_vertex = 2,
                                          .positions = positions[0],
                                          .triangles = triangles,
                                          .joints = joints[0],
                                          .weights = weights[0],
                                          .joint_names = (const char *const[]){"root", "arm.L", "arm.R"},
                                          .parents = (const int32_t[]){-1, 0, 0},
                                          .rest = rest},
                        &error);
    if (!bundle) fail_msg("%s", error.text);
    uint64_t seed = 11;
    for (int t = 0; t < 2; t++) {
        for (int f = 0; f < SHEET_FRAMES; f++) {
            double turns[3][3] = {{0}}, half = 1, blended[3 * SHEET];
            float moved[SHEET][3];
            pelt_affine matrices[3];
            memcpy(poses[f], rest, sizeof rest);
            for (int k = 1; k < 3 && f; k++) turns[1 + f % 2][k] = 1.4 * (test_random(&seed) - 0.5);
            for (int j = 1; j < 3; j++) {
                half = 0.5 * sqrt(turns[j][1] * turns[j][1] + turns[j][2] * turns[j][2]);
                double part = half > 0 ? sin(half) / (2 * half) : 0;
                memcpy(poses[f][j].rotation,
                       (float[]){0, (float)(part * turns[j][1]), (float)(part * turns[j][2]), (float)cos(half)}, 16);
            }
            for (int k = 1; k < 3; k++) turns[2][k] *= -1; /* as the left arm would turn */
            for (uint32_t v = 0; v < SHEET; v++) {
                bool right = positions[v][0] < 0;
                double push = bulge(turns[1 + right], positions[v][0], positions[v][1]);
                memcpy(moved[v], positions[v], 12);
                moved[v][2] += (float)(right && !symmetric ? -push : push);
            }
            pelt_mesh mesh = bundle->mesh;
            mesh.positions = moved[0];
            pelt_joint_matrices(&bundle->skeleton, poses[f], NULL, matrices);
            pelt_blend_mesh(&mesh, matrices, blended);
            for (size_t i = 0; i < 3 * (size_t)SHEET; i++) (&shapes[f][0][0])[i] = (float)blended[i];
        }
        *(t ? test : train) = pelt_bundle_add_clip(bundle,
                                                   &(pelt_clip_input){.name = t ? "test" : "train",
                                                                      .frame_count = SHEET_FRAMES,
                                                                      .poses = poses[0],
                                                                      .positions = shapes[0][0]},
                                                   &error);
    }
    assert_non_null(*test);
    return bundle;
}

static double error_on(pelt_bundle *bundle, const pelt_bytes *bytes, const pelt_clip *clip) {
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &clip, 1), 1, NULL);
    double rms = m->rms;
    pelt_measure_free(m);
    return rms;
}

/* What an arm does is true of the other: the skin is better by it in poses that it has not seen. */
static void mirror_images_are_kept_where_they_help(void **state) {
    (void)state;
    const pelt_clip *train, *test;
    pelt_bundle *bundle = two_armed(true, &train, &test);
    pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);
    pelt_front front;
    pelt_fit_report report;
    pelt_error error = {0};
    pelt_bytes *skin = pelt_choose(bundle, examples, NULL, NULL, &report, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    assert_int_equal(front.mirror, 1);
    assert_int_equal(front.examples.count, 2 * examples.count);
    assert_int_equal(report.train->frame_count, 2 * examples.count);
    assert_true(strstr(chosen(&front)->name, " --mirror x") && strstr(front.why, "mirror images reduce"));
    assert_string_equal(bundle->clips[2]->name, "train, mirrored");
    pelt_fit_options options = chosen(&front)->options;
    options.holdout = -1;
    pelt_bytes *plain = pelt_fit(bundle, examples, &options, NULL, &error);
    if (!plain) fail_msg("%s", error.text);
    assert_true(error_on(bundle, skin, test) < 0.9 * error_on(bundle, plain, test));
    pelt_front_free(&front), pelt_fit_report_free(&report), pelt_bytes_free(skin), pelt_bytes_free(plain);

    skin = pelt_choose(bundle, pelt_bundle_examples(bundle, (const pelt_clip *[]){train, bundle->clips[2]}, 2), NULL,
                       NULL, NULL, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    assert_int_equal(front.mirror, 0); /* there are images already */
    for (size_t i = 0; i < front.count; i++) assert_null(strstr(front.list[i].name, "mirror"));
    pelt_front_free(&front), pelt_bytes_free(skin), pelt_bundle_free(bundle);
}

static void mirror_images_are_left_out_where_they_mislead(void **state) {
    (void)state;
    const pelt_clip *train, *test;
    pelt_bundle *bundle = two_armed(false, &train, &test);
    pelt_front front;
    pelt_error error = {0};
    pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);
    pelt_bytes *skin = pelt_choose(bundle, examples, NULL, NULL, NULL, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    size_t tried = 0;
    for (size_t i = 0; i < front.count; i++)
        if (strstr(front.list[i].name, " --mirror x"))
            assert_string_equal(front.list[i].remark, "mirror images do not help"), tried++;
    assert_int_equal(tried, 1);
    assert_int_equal(front.mirror, 0);
    assert_int_equal(front.examples.count, examples.count);
    assert_int_equal(bundle->clip_count, 2);
    assert_non_null(strstr(front.why, "mirror images do not help"));
    pelt_front_free(&front), pelt_bytes_free(skin), pelt_bundle_free(bundle);
}

/* The image of a pose that is held out would tell of the pose. */
static void images_are_held_out_with_their_examples(void **state) {
    (void)state;
    const pelt_clip *train, *test;
    pelt_error error;
    pelt_bundle *bundle = two_armed(true, &train, &test);
    const pelt_clip *both[] = {train, pelt_bundle_mirror(bundle, train, 0, &error)};
    pelt_examples examples = pelt_bundle_examples(bundle, both, 2);
    int folds[2 * SHEET_FRAMES];
    pelt_deal_examples(bundle, examples, folds);
    for (int e = 0; e < SHEET_FRAMES; e++) assert_int_equal(folds[e], folds[SHEET_FRAMES + e]);

    pelt_mirror mirror;
    pelt_examples all;
    int *dealt;
    assert_int_equal(pelt_mirror_open(&mirror, bundle, pelt_bundle_examples(bundle, both, 1), &error), PELT_OK);
    assert_int_equal(mirror.axis, 0);
    assert_int_equal(pelt_mirror_fold(&mirror, mirror.arena, folds, 2, &all, &dealt, &error), PELT_OK);
    size_t held = 0;
    for (size_t e = 0; e < all.count; e++) {
        held += dealt[e] == 2;
        if (pelt_is_image(all.list[e].clip, train)) assert_true(dealt[e] == -1 && folds[all.list[e].frame] != 2);
    }
    assert_in_range(held, 7, 9);
    assert_int_equal(all.count, 2 * SHEET_FRAMES - held);
    pelt_mirror_close(&mirror), pelt_bundle_free(bundle);
}

/* -- Limits ----------------------------------------------------------------------------------------------------------- */

static void skins_keep_to_their_budget(void **state) {
    (void)state;
    pelt_bundle *bundle = few("arm", 240, 30);
    pelt_examples train = all_of(bundle, "train");
    double before = 0;
    static const double limits[] = {500, 200, 90};
    for (int i = 0; i < 3; i++) {
        pelt_front front;
        pelt_error error;
        pelt_budget budget = {.bytes_per_vertex = limits[i]};
        pelt_bytes *skin = pelt_choose(bundle, train, &budget, NULL, NULL, &front, &error);
        if (!skin) fail_msg("%s", error.text);
        assert_true((double)skin->size <= limits[i] * bundle->mesh.vertex_count);
        assert_true(chosen(&front)->rms >= before); /* less room is no better */
        before = 0.98 * chosen(&front)->rms;
        pelt_front_free(&front), pelt_bytes_free(skin);
    }
    pelt_error error = {0};
    assert_null(pelt_choose(bundle, train, &(pelt_budget){.bytes = 1000}, NULL, NULL, NULL, &error));
    assert_true(error.code == PELT_ERROR_DATA && strstr(error.text, "cheapest") && strstr(error.text, "times as much"));
    assert_null(pelt_choose(bundle, train, &(pelt_budget){.error = 1e-9}, NULL, NULL, NULL, &error));
    assert_true(error.code == PELT_ERROR_DATA && strstr(error.text, "most accurate"));
    pelt_bundle_free(bundle);
}

/* An error that is easily reached takes few bytes. */
static void an_error_that_is_named_is_enough(void **state) {
    (void)state;
    pelt_bundle *bundle = few("arm", 240, 30);
    pelt_front best, enough;
    pelt_error error;
    pelt_bytes *skin = pelt_choose(bundle, all_of(bundle, "train"), NULL, NULL, NULL, &best, &error);
    if (!skin) fail_msg("%s", error.text);
    double wanted = 4 * chosen(&best)->rms;
    pelt_bytes *small =
        pelt_choose(bundle, all_of(bundle, "train"), &(pelt_budget){.error = wanted}, NULL, NULL, &enough, &error);
    if (!small) fail_msg("%s", error.text);
    assert_true(chosen(&enough)->rms <= wanted);
    assert_true(small->size < skin->size);
    pelt_front_free(&best), pelt_front_free(&enough);
    pelt_bytes_free(skin), pelt_bytes_free(small), pelt_bundle_free(bundle);
}

static void given_options_hold_for_all(void **state) {
    (void)state;
    pelt_bundle *bundle = few("elbow", 200, 16);
    pelt_front front;
    pelt_error error = {0};
    pelt_fit_options options = {.kernel.per_vertex = 3};
    pelt_bytes *skin = pelt_choose(bundle, all_of(bundle, "train"), NULL, &options, NULL, &front, &error);
    if (!skin) fail_msg("%s", error.text);
    for (size_t i = 0; i < front.count; i++) assert_int_equal(front.list[i].options.kernel.per_vertex, 3);
    pelt_front_free(&front), pelt_bytes_free(skin);
    options.kernel.per_vertex = 99;
    assert_null(pelt_choose(bundle, all_of(bundle, "train"), NULL, &options, NULL, &front, &error));
    assert_true(error.code == PELT_ERROR_ARGUMENT && strstr(error.text, "per_vertex"));
    pelt_bundle_free(bundle);
}

/* -- Threads, and stopping ------------------------------------------------------------------------------------------ */

static void any_number_of_threads_chooses_the_same(void **state) {
    (void)state;
    pelt_bundle *bundle = few("biceps", 200, 20);
    pelt_bytes *skins[2];
    for (uint32_t i = 0; i < 2; i++) {
        pelt_error error;
        pelt_fit_report report;
        skins[i] = pelt_choose(bundle, all_of(bundle, "train"), &(pelt_budget){.bytes_per_vertex = 300},
                               &(pelt_fit_options){.threads = 1 + 2 * i}, &report, NULL, &error);
        if (!skins[i]) fail_msg("%s", error.text);
        pelt_fit_report_free(&report);
    }
    assert_int_equal(skins[0]->size, skins[1]->size);
    assert_memory_equal(skins[0]->bytes, skins[1]->bytes, skins[0]->size);
    pelt_bytes_free(skins[0]), pelt_bytes_free(skins[1]), pelt_bundle_free(bundle);
}

typedef struct caller {
    int calls, last;
    double fraction;
} caller;

static int step(void *user, const char *task, double fraction) {
    caller *c = user;
    (void)task;
    assert_true(fraction >= -1e-9 && fraction <= 1 + 1e-9);
    assert_true(fraction >= c->fraction - 1e-6);
    c->fraction = fraction;
    return ++c->calls == c->last;
}

static void choosing_can_be_stopped(void **state) {
    (void)state;
    pelt_bundle *bundle = few("box", 120, 8);
    caller all = {0};
    pelt_error error;
    pelt_fit_options options = {.threads = 1, .progress = {step, &all}};
    pelt_bytes *skin = pelt_choose(bundle, all_of(bundle, "train"), NULL, &options, NULL, NULL, &error);
    if (!skin) fail_msg("%s", error.text);
    pelt_bytes_free(skin);
    for (int i = 1; i <= 12; i++) {
        caller one = {.last = 1 + (all.calls - 1) * i / 12};
        pelt_front front;
        pelt_fit_report report;
        options.progress.user = &one;
        assert_null(pelt_choose(bundle, all_of(bundle, "train"), NULL, &options, &report, &front, &error));
        assert_int_equal(error.code, PELT_ERROR_CANCELLED);
        assert_true(!report.arena && !front.arena);
    }
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_are_read_with_their_units),
        cmocka_unit_test(bad_budgets_are_refused_in_a_sentence),
        cmocka_unit_test(forecasts_leave_out_the_worst_twentieth),
        cmocka_unit_test(few_examples_with_most_of_the_error_are_counted),
        cmocka_unit_test(folds_are_staggered_over_sweeps),
        cmocka_unit_test(stretches_of_motion_stay_together),
        cmocka_unit_test(an_exact_blend_is_kept),
        cmocka_unit_test(a_blend_with_other_weights_is_found),
        cmocka_unit_test(the_chosen_skin_is_that_of_its_options),
        cmocka_unit_test(mirror_images_are_kept_where_they_help),
        cmocka_unit_test(mirror_images_are_left_out_where_they_mislead),
        cmocka_unit_test(images_are_held_out_with_their_examples),
        cmocka_unit_test(skins_keep_to_their_budget),
        cmocka_unit_test(an_error_that_is_named_is_enough),
        cmocka_unit_test(given_options_hold_for_all),
        cmocka_unit_test(any_number_of_threads_chooses_the_same),
        cmocka_unit_test(choosing_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
