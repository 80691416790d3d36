/* test_confidence.c: what a skin says about its own errors: variances against a Gaussian process by brute force, the
   calibration on errors of known size, the run time against the formula in double, and files that are damaged. */

#include "fit/confidence/confidence.h"
#include "runtime/half.h"
#include "test/program.h"
#include "test/sampled.h"
#include "test/sections.h"
#include "test/test.h"

enum { N = PELT_DOUBT_FEATURES, INPUTS = 11, NUMBERS = 3 * INPUTS };

/* -- The variance -------------------------------------------------------------------------------------------------- */

/* One region whose features are the numbers themselves, where they are positive. */
static pelt_doubt_model plain_model(pelt_arena *arena) {
    pelt_doubt_model model = {.region_count = 1, .input_count = INPUTS, .vertex_count = 1};
    model.regions = PELT_NEW(arena, 1, pelt_doubt_region);
    model.regions[0] = (pelt_doubt_region){.vertex_count = 1,
                                           .input_count = INPUTS,
                                           .inputs = PELT_NEW(arena, INPUTS, uint32_t),
                                           .matrix = PELT_NEW(arena, (size_t)NUMBERS * N, double)};
    for (uint32_t i = 0; i < INPUTS; i++) model.regions[0].inputs[i] = i;
    for (size_t k = 0; k < N; k++) model.regions[0].matrix[k * N + k] = 1;
    return model;
}

static double kernel(const double *a, const double *b) {
    double sum = 0;
    for (int k = 0; k < N; k++) sum += fmax(a[k], 0) * fmax(b[k], 0);
    return sum;
}

/* k(x, x) - k_x^T (K + noise I)^-1 k_x by elimination. */
static double process_variance(const double (*examples)[NUMBERS], size_t count, double noise, const double *x) {
    double *m = calloc(count * (count + 1), sizeof *m), variance = kernel(x, x);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++)
            m[i * (count + 1) + j] = kernel(examples[i], examples[j]) + (i == j ? noise : 0);
        m[i * (count + 1) + count] = kernel(examples[i], x);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < count; r++) {
            double share = r == i ? 0 : m[r * (count + 1) + i] / m[i * (count + 1) + i];
            for (size_t c = i; c <= count; c++) m[r * (count + 1) + c] -= share * m[i * (count + 1) + c];
        }
    for (size_t i = 0; i < count; i++)
        variance -= kernel(examples[i], x) * m[i * (count + 1) + count] / m[i * (count + 1) + i];
    free(m);
    return variance;
}

/* Half of the directions are shown by examples of all sizes, the others alike, so that folding loses nothing. */
static void the_variance_is_that_of_a_gaussian_process(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_doubt_model model = plain_model(arena);
    double examples[N][NUMBERS] = {{0}}, mean = 0;
    for (int i = 0; i < N; i++) {
        examples[i][i] = i < N / 2 ? 0.05 * i : 2.5;
        mean += examples[i][i] * examples[i][i] / N;
    }
    pelt_doubt_fold(arena, &model, examples[0], N);
    uint64_t seed = 5;
    for (int turn = 0; turn < 40; turn++) {
        double x[NUMBERS];
        for (int k = 0; k < NUMBERS; k++) x[k] = 4 * test_random(&seed) - 2;
        double truth = process_variance((const double(*)[NUMBERS])examples, N, 0.01 * mean, x);
        assert_near(pelt_doubt_variance(&model.regions[0], x), truth, 2e-3 * truth);
    }
    pelt_arena_free(arena);
}

static void without_examples_the_variance_is_the_prior(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_doubt_model model = plain_model(arena);
    double x[NUMBERS] = {0.5, -2, 1.5}, none[NUMBERS] = {0};
    pelt_doubt_fold(arena, &model, none, 0);
    assert_near(pelt_doubt_variance(&model.regions[0], x), 0.25 + 2.25, 1e-12);
    assert_near(pelt_doubt_variance(&model.regions[0], none), 0, 0);
    pelt_arena_free(arena);
}

static void examples_make_their_own_poses_certain(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_doubt_model model = plain_model(arena);
    double examples[20][NUMBERS] = {{0}}, unseen[NUMBERS] = {0};
    for (int i = 0; i < 20; i++) examples[i][0] = 1, examples[i][1] = 0.1 * i;
    unseen[7] = 1;
    pelt_doubt_fold(arena, &model, examples[0], 20);
    double known = pelt_doubt_variance(&model.regions[0], examples[9]);
    assert_true(known > 0 && known < 0.01);
    assert_near(pelt_doubt_variance(&model.regions[0], unseen), 1, 1e-3);
    pelt_arena_free(arena);
}

/* -- The calibration ----------------------------------------------------------------------------------------------- */

enum { REGIONS = 3, HELD = 200 };

typedef struct truth {
    double variances[HELD * REGIONS], squares[HELD * REGIONS];
    bool several[HELD];
} truth;

static double bell(uint64_t *seed) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += test_random(seed);
    return sum;
}

/* Errors that are `gains` times variances, times numbers whose logarithm is normal. */
static void draw(const double *gains, double spread, uint64_t *seed, truth *t) {
    for (int e = 0; e < HELD; e++) {
        double common = exp(spread * bell(seed));
        t->several[e] = true;
        for (int r = 0; r < REGIONS; r++) {
            double v = e % 10 == 0 ? 0 : exp(2 * bell(seed));
            t->variances[e * REGIONS + r] = v;
            t->squares[e * REGIONS + r] = 1e-8 + gains[r] * v * common * common;
        }
    }
}

static void calibration_finds_errors_of_known_size(void **state) {
    (void)state;
    static truth held, fresh;
    const double gains[REGIONS] = {1e-4, 4e-4, 9e-2};
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 11;
    draw(gains, 0.2, &seed, &held), draw(gains, 0.2, &seed, &fresh);
    pelt_doubt_region regions[REGIONS] = {{.vertex_count = 10}, {.vertex_count = 20}, {.vertex_count = 30}};
    pelt_doubt_model model = {.region_count = REGIONS, .regions = regions, .vertex_count = 60};
    pelt_doubt_calibrate(arena, &model, &(pelt_doubt_errors){HELD, held.squares, held.variances, held.several});
    for (int r = 0; r < REGIONS; r++) {
        assert_near(sqrt(regions[r].gain / gains[r]), 1, 0.15);
        assert_near(regions[r].floor, 1e-8, 1e-10);
    }
    int below = 0;
    for (int e = 0; e < HELD; e++) {
        double square = 0;
        for (int r = 0; r < REGIONS; r++) square += fresh.squares[e * REGIONS + r] * regions[r].vertex_count / 60;
        below += sqrt(square) <= model.frame_margin * pelt_doubt_frame(&model, fresh.variances + e * REGIONS);
    }
    assert_true(below >= 0.92 * HELD && below <= 0.99 * HELD);
    assert_true(model.correlation > 0.9 && model.frame_count == HELD);
    assert_near(model.median, model.frame_margin, 0.2 * model.frame_margin);
    pelt_arena_free(arena);
}

/* -- Skins --------------------------------------------------------------------------------------------------------- */

static pelt_bundle *arm;

static int make_arm(void **state) {
    (void)state;
    arm = sampled("arm", 400);
    return 0;
}

static int free_arm(void **state) {
    (void)state;
    pelt_bundle_free(arm);
    return 0;
}

static pelt_bytes *fit(const char *method, pelt_fit_options options, pelt_skin *skin) {
    pelt_error error;
    pelt_fit_report report;
    assert_int_equal(pelt_fit_options_set(&options, "method", method, &error), PELT_OK);
    pelt_bytes *bytes = pelt_fit(arm, all_of(arm, "train"), &options, &report, &error);
    if (!bytes) fail_msg("%s: %s", method, error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    assert_int_equal(report.confidence.regions, pelt_confidence_region_count(skin));
    pelt_fit_report_free(&report);
    return bytes;
}

/* docs/format.md in double, from the bytes. */
static double defined_confidence(const pelt_skin *skin, const pelt_transform *locals, double *errors) {
    const pelt_file_confidence *c = skin->confidence;
    const char *bytes = (const char *)c;
    const pelt_file_doubt_input *inputs = (const pelt_file_doubt_input *)(bytes + c->inputs);
    const pelt_file_doubt_region *regions = (const pelt_file_doubt_region *)(bytes + c->regions);
    double mean = 0;
    for (uint32_t r = 0; r < c->region_count; r++) {
        const uint32_t *own = (const uint32_t *)(bytes + regions[r].inputs);
        const uint16_t *w = (const uint16_t *)(bytes + regions[r].matrix),
                       *f = (const uint16_t *)(bytes + regions[r].fold);
        double h[N] = {0}, size = 0, folded = 0;
        for (uint32_t i = 0; i < regions[r].input_count; i++) {
            const float *a = skin->joints[inputs[own[i]].source].rest.rotation,
                        *b = locals[inputs[own[i]].source].rotation;
            double q[4] = {(double)a[3] * b[0] - a[0] * b[3] - a[1] * b[2] + a[2] * b[1],
                           (double)a[3] * b[1] + a[0] * b[2] - a[1] * b[3] - a[2] * b[0],
                           (double)a[3] * b[2] - a[0] * b[1] + a[1] * b[0] - a[2] * b[3],
                           (double)a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]};
            double scale = copysign(2, q[3]) / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
            for (uint32_t k = 0; k < 3; k++)
                for (uint32_t n = 0; n < N; n++) h[n] += scale * q[k] * pelt_half_value(w[(3 * i + k) * N + n]);
        }
        for (int n = 0; n < N; n++) h[n] = fmax(h[n], 0), size += h[n] * h[n];
        for (int k = 0; k < PELT_DOUBT_RANK; k++) {
            double y = 0;
            for (int n = 0; n < N; n++) y += h[n] * pelt_half_value(f[n * PELT_DOUBT_RANK + k]);
            folded += y * y;
        }
        double square = regions[r].floor + regions[r].gain * (regions[r].rest * size + folded);
        errors[r] = c->region_margin * sqrt(square);
        mean += square * regions[r].vertex_count / skin->vertex_count;
    }
    return c->frame_margin * sqrt(mean);
}

static void the_run_time_says_what_the_file_defines(const char *method) {
    pelt_skin skin;
    pelt_bytes *bytes = fit(method, (pelt_fit_options){0}, &skin);
    const pelt_clip *clip = all_of(arm, "test").list[0].clip;
    pelt_transform *locals = calloc(skin.joint_count, sizeof *locals);
    float(*globals)[12] = calloc(skin.joint_count, sizeof *globals);
    void *scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&skin));
    float errors[256];
    double defined[256];
    assert_in_range(pelt_confidence_region_count(&skin), 1, 24);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        skin.isa = (pelt_isa)isa;
        for (uint32_t frame = 0; frame < clip->frame_count; frame += 3) {
            pelt_clip_pose(clip, &arm->skeleton, frame, locals);
            double all = defined_confidence(&skin, locals, defined);
            pelt_pose(&skin, locals, scratch);
            assert_near(pelt_confidence(&skin, scratch, errors), all, 1e-4 * all);
            for (uint32_t r = 0; r < pelt_confidence_region_count(&skin); r++)
                assert_near(errors[r], defined[r], 1e-4 * all);
            assert_near(pelt_confidence(&skin, scratch, NULL), all, 1e-4 * all);
        }
    }
    free(locals), free(globals), free(scratch), pelt_bytes_free(bytes);
}

static void kernels_say_what_the_file_defines(void **state) {
    (void)state;
    the_run_time_says_what_the_file_defines("kernel");
}

/* Their rotations come out of matrices: nothing else is left of the pose. */
static void plain_blends_say_what_the_file_defines(void **state) {
    (void)state;
    the_run_time_says_what_the_file_defines("ssd");
}

static void every_method_expects_more_of_farther_poses(void **state) {
    (void)state;
    static const char *const methods[] = {"ssd", "joints", "psd", "wpsd", "eigen", "kernel"};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        pelt_skin skin;
        pelt_bytes *bytes = fit(methods[m], (pelt_fit_options){.holdout = m % 2 ? 0 : -1}, &skin);
        void *scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&skin));
        pelt_transform *locals = calloc(skin.joint_count, sizeof *locals);
        float said[3];
        for (int turn = 0; turn < 3; turn++) {
            for (uint32_t j = 0; j < skin.joint_count; j++) {
                locals[j] = skin.joints[j].rest;
                for (int k = 0; k < 3; k++) locals[j].rotation[k] += 0.45f * (float)turn;
            }
            pelt_pose(&skin, locals, scratch);
            said[turn] = pelt_confidence(&skin, scratch, NULL);
        }
        assert_true(said[0] >= 0 && said[0] < said[1] && said[1] < said[2]);
        free(scratch), free(locals), pelt_bytes_free(bytes);
    }
}

static void regions_have_names_and_vertices(void **state) {
    (void)state;
    pelt_skin skin;
    pelt_bytes *bytes = fit("eigen", (pelt_fit_options){0}, &skin);
    uint32_t regions = pelt_confidence_region_count(&skin), counts[256] = {0};
    const uint8_t *of = pelt_confidence_vertex_regions(&skin);
    for (uint32_t r = 0; r < regions; r++)
        assert_true(pelt_find_joint(&skin, pelt_confidence_region_name(&skin, r)) >= 0);
    assert_null(pelt_confidence_region_name(&skin, regions));
    for (uint32_t v = 0; v < skin.vertex_count; v++) counts[of[v]]++;
    for (uint32_t r = 0; r < regions; r++) assert_true(counts[r] > 0);
    pelt_bytes_free(bytes);
}

static void a_skin_may_know_nothing(void **state) {
    (void)state;
    pelt_skin skin;
    pelt_bytes *bytes = fit("psd", (pelt_fit_options){.no_confidence = 1}, &skin);
    void *scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&skin));
    float errors[1] = {7};
    assert_null(skin.confidence);
    assert_true(pelt_confidence(&skin, scratch, errors) < 0 && errors[0] == 7);
    assert_int_equal(pelt_confidence_region_count(&skin), 0);
    assert_null(pelt_confidence_region_name(&skin, 0));
    assert_null(pelt_confidence_vertex_regions(&skin));
    free(scratch), pelt_bytes_free(bytes);
}

/* The section is the only difference. */
static void the_rest_of_a_skin_does_not_change(void **state) {
    (void)state;
    pelt_skin with, without;
    pelt_bytes *a = fit("kernel", (pelt_fit_options){0}, &with);
    pelt_bytes *b = fit("kernel", (pelt_fit_options){.no_confidence = 1}, &without);
    uint32_t count;
    memcpy(&count, (char *)b->bytes + 12, 4);
    assert_null(section_entry(b->bytes, "CONF"));
    for (uint8_t *entry = (uint8_t *)b->bytes + 64; count--; entry += 32) {
        char kind[5] = "";
        uint64_t size, other;
        memcpy(kind, entry, 4), memcpy(&size, entry + 16, 8);
        memcpy(&other, section_entry(a->bytes, kind) + 16, 8);
        assert_int_equal(size, other);
        assert_memory_equal(section_bytes(a->bytes, kind), section_bytes(b->bytes, kind), size);
    }
    pelt_bytes_free(a), pelt_bytes_free(b);
}

/* -- Damage -------------------------------------------------------------------------------------------------------- */

static pelt_bytes *whole;
static size_t conf; /* where the section begins */

static pelt_result opened(void) {
    pelt_skin skin;
    return pelt_open(whole->bytes, whole->size, &skin);
}

/* Opens with some bytes changed, and puts them back. */
static pelt_result changed(size_t at, const void *bytes, size_t size) {
    char kept[64];
    memcpy(kept, (char *)whole->bytes + conf + at, size);
    memcpy((char *)whole->bytes + conf + at, bytes, size);
    pelt_result result = opened();
    memcpy((char *)whole->bytes + conf + at, kept, size);
    return result;
}

#define CHANGED(at, type, value) changed(at, &(type){value}, sizeof(type))
#define HEAD(field) offsetof(pelt_file_confidence, field)
#define REGION(field) (head.regions + offsetof(pelt_file_doubt_region, field))

static void damaged_sections_are_refused(void **state) {
    (void)state;
    pelt_skin skin;
    whole = fit("psd", (pelt_fit_options){0}, &skin);
    conf = (size_t)((const char *)skin.confidence - (const char *)whole->bytes);
    pelt_file_confidence head = *skin.confidence;
    pelt_file_doubt_region region;
    memcpy(&region, (const char *)skin.confidence + head.regions, sizeof region);
    assert_int_equal(opened(), PELT_OK);
    assert_int_equal(CHANGED(HEAD(region_count), uint32_t, 0), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(HEAD(region_count), uint32_t, 256), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(HEAD(input_count), uint32_t, 257), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(HEAD(frame_margin), float, 0), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(HEAD(region_margin), float, NAN), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(HEAD(correlation), float, INFINITY), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(HEAD(inputs), uint64_t, 8), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(HEAD(regions), uint64_t, 1u << 30), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(HEAD(vertices), uint64_t, whole->size / 64 * 64), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(head.vertices, uint8_t, 255), PELT_ERROR_INDEX);
    assert_int_equal(CHANGED(head.inputs, uint32_t, skin.joint_count), PELT_ERROR_INDEX);
    assert_int_equal(CHANGED(head.inputs + 4, float, NAN), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(REGION(joint), uint32_t, skin.joint_count), PELT_ERROR_INDEX);
    assert_int_equal(CHANGED(REGION(input_count), uint32_t, head.input_count + 1), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(REGION(vertex_count), uint32_t, skin.vertex_count + 1), PELT_ERROR_INDEX);
    assert_int_equal(CHANGED(REGION(gain), float, -1), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(REGION(floor), float, NAN), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(REGION(matrix), uint64_t, 1u << 30), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(REGION(fold), uint64_t, 32), PELT_ERROR_FORMAT);
    assert_int_equal(CHANGED(region.inputs, uint32_t, head.input_count), PELT_ERROR_INDEX);
    assert_int_equal(CHANGED(region.matrix, uint16_t, 0x7c00), PELT_ERROR_NUMBER);
    assert_int_equal(CHANGED(region.fold + 2, uint16_t, 0xfe00), PELT_ERROR_NUMBER);
    assert_int_equal(opened(), PELT_OK);
    pelt_bytes_free(whole);
}

/* -- The program --------------------------------------------------------------------------------------------------- */

static void the_program_writes_what_is_expected(void **state) {
    (void)state;
    static char text[1 << 16];
    assert_int_equal(pelt("sample arm -o . --vertices 300 --frames 60 --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method ssd --holdout 0 -o arm.pelt"), 0);
    assert_non_null(strstr(program_output, " regions, calibrated on "));
    json_t *info = pelt_json("info arm.pelt");
    json_t *about = json_object_get(json_array_get(json_object_get(info, "files"), 0), "confidence");
    size_t regions = json_array_size(json_object_get(about, "regions"));
    assert_in_range(regions, 2, 24);
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o a.npy --confidence c.csv"), 0);
    program_read("c.csv", text, sizeof text);
    assert_int_equal(strncmp(text, "frame,all,", 10), 0);
    size_t lines = 0, commas = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n', commas += *at == ',';
    assert_int_equal(lines, 61);
    assert_int_equal(commas, lines * (1 + regions));
    json_t *measured = pelt_json("measure arm.pelt arm.glb --clip test");
    json_t *confidence = json_object_get(measured, "confidence");
    assert_true(number(confidence, "correlation") > 0.5);
    const json_t *bar = json_array_get(json_object_get(confidence, "bars"), 1);
    assert_true(number(bar, "worse") <= 0.05 * number(bar, "called"));
    json_decref(info), json_decref(measured);
}

static void bad_requests_get_a_sentence(void **state) {
    (void)state;
    assert_int_equal(pelt("fit arm.glb --train train --method ssd --no-confidence -o none.pelt --quiet"), 0);
    assert_true(pelt("eval none.pelt arm.glb --clip test -o a.npy --confidence c.csv") != 0);
    assert_non_null(strstr(program_errors, "cannot predict its own errors"));
    assert_true(pelt("eval arm.pelt arm.glb --clip test -o b.npy --confidence c.txt") != 0);
    assert_non_null(strstr(program_errors, ".csv, .json or .npy"));
    assert_true(access(file_path("b.npy"), F_OK) != 0);
    assert_true(pelt("eval arm.pelt arm.glb --live - -o b.npy --confidence c.csv") != 0);
    assert_non_null(strstr(program_errors, "--confidence needs --clip"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variance_is_that_of_a_gaussian_process),
        cmocka_unit_test(without_examples_the_variance_is_the_prior),
        cmocka_unit_test(examples_make_their_own_poses_certain),
        cmocka_unit_test(calibration_finds_errors_of_known_size),
        cmocka_unit_test(kernels_say_what_the_file_defines),
        cmocka_unit_test(plain_blends_say_what_the_file_defines),
        cmocka_unit_test(every_method_expects_more_of_farther_poses),
        cmocka_unit_test(regions_have_names_and_vertices),
        cmocka_unit_test(a_skin_may_know_nothing),
        cmocka_unit_test(the_rest_of_a_skin_does_not_change),
        cmocka_unit_test(damaged_sections_are_refused),
        cmocka_unit_test(the_program_writes_what_is_expected),
        cmocka_unit_test(bad_requests_get_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_arm, free_arm);
}
