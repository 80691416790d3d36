/* When memory runs out anywhere, the call fails with a message, or the result is identical; nothing leaks (the address
   sanitizer checks), and nothing uncomputed is trusted. */

#include "test/corrected.h"
#include "test/allocations.h"
#include "test/test.h"
#include <jansson.h>

/* -- Allocations that fail ------------------------------------------------------------------------------------------- */

static void *json_memory(size_t size) { return runs_out() ? NULL : __real_malloc(size); }

/* -- A small character ----------------------------------------------------------------------------------------------- */

enum { JOINTS = 3, FRAMES = 18 };

static void truth(const pelt_bundle *bundle, const double *angles, double *displacements) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (int i = 0; i < 3; i++)
            displacements[3 * v + (uint32_t)i] = 1e-3 * angles[1 + v % 2] * ((v + (uint32_t)i) % 3);
}

static pelt_bundle *make(pelt_examples *examples) {
    double angles[FRAMES][JOINTS] = {{0}};
    for (int f = 0; f < FRAMES; f++)
        angles[f][1] = f < 8 ? 6.0 * f : f < 14 ? 0 : 9.0 * f, angles[f][2] = f < 8 ? 0 : 7.0 * (f - 7);
    pelt_bundle *bundle = character_chain(JOINTS, 70);
    const pelt_clip *clip = corrected_clip(bundle, "train", FRAMES, angles[0], truth);
    *examples = pelt_bundle_examples(bundle, &clip, 1);
    return bundle;
}

/* -- Fits ---------------------------------------------------------------------------------------------------------------- */

/* Every one of the first allocations; then ever fewer, since those of sweeps are all alike. */
static long next_of(long allowed) { return allowed + 1 + (allowed > 60 ? allowed / 15 : 0); }

static void fit_with_ever_more_memory(pelt_fit_options options) {
    pelt_examples examples;
    pelt_bundle *bundle = make(&examples);
    pelt_error error = {0};
    options.threads = 1;
    pelt_bytes *whole = pelt_fit(bundle, examples, &options, NULL, &error);
    if (!whole) fail_msg("%s", error.text);
    long failures = 0;
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed = next_of(allowed)) {
            allocations_begin(allowed, once);
            pelt_bytes *bytes = pelt_fit(bundle, examples, &options, NULL, &error);
            short_of = allocations_end();
            if (bytes) {
                if (bytes->size != whole->size || memcmp(bytes->bytes, whole->bytes, whole->size))
                    fail_msg("%s without allocation %ld is another skin", pelt_method_name(options.method), allowed);
                pelt_bytes_free(bytes);
            } else {
                assert_int_equal(error.code, PELT_ERROR_MEMORY);
                assert_non_null(strstr(error.text, "not enough memory"));
                failures++;
            }
        }
    assert_true(failures > 5);
    pelt_bytes_free(whole);
    character_free(bundle);
}

static void fits_fail_or_give_the_same_bytes(void **state) {
    (void)state;
    for (int method = 0; method < PELT_METHOD_COUNT; method++)
        fit_with_ever_more_memory((pelt_fit_options){.method = (pelt_method)method});
    fit_with_ever_more_memory(
        (pelt_fit_options){.blend = PELT_BLEND_FIT, .fitted = {.rest = PELT_REST_REFIT, .smooth = 1}});
    fit_with_ever_more_memory((pelt_fit_options){.blend = PELT_BLEND_DISTANCE});
    fit_with_ever_more_memory((pelt_fit_options){.method = PELT_METHOD_PSD, .psd.poses = 4});
    fit_with_ever_more_memory((pelt_fit_options){.method = PELT_METHOD_WPSD, .psd.poses = 4});
    fit_with_ever_more_memory((pelt_fit_options){.method = PELT_METHOD_EIGEN, .eigen.sweeps_only = 1});
}

static void reports_fail_or_are_the_same(void **state) {
    (void)state;
    pelt_examples examples;
    pelt_bundle *bundle = make(&examples);
    pelt_error error = {0};
    pelt_fit_options options = {.method = PELT_METHOD_PSD, .threads = 1};
    pelt_fit_report whole, report;
    pelt_bytes *bytes = pelt_fit(bundle, examples, &options, &whole, &error);
    pelt_bytes_free(bytes);
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed = next_of(allowed)) {
            allocations_begin(allowed, once);
            bytes = pelt_fit(bundle, examples, &options, &report, &error);
            short_of = allocations_end();
            if (bytes) {
                assert_true(report.train->rms == whole.train->rms && report.holdout->rms == whole.holdout->rms);
                assert_true(report.bound == whole.bound && report.condition.value == whole.condition.value);
                assert_int_equal(report.findings.count, whole.findings.count);
                pelt_fit_report_free(&report), pelt_bytes_free(bytes);
            } else {
                assert_int_equal(error.code, PELT_ERROR_MEMORY);
            }
        }
    pelt_fit_report_free(&whole);
    character_free(bundle);
}

static int set_up(void **state) {
    (void)state;
    json_set_alloc_funcs(json_memory, free);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_fail_or_give_the_same_bytes),
        cmocka_unit_test(reports_fail_or_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
