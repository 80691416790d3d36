/* test_psd.c: pose space deformation: interpolation, unseen motion, principal poses. */

#include "fit/corrective/correctives.h"
#include "fit/examples/displacement.h"
#include "test/character.h"
#include "test/sampled.h"

static pelt_measure *fit_and_measure(pelt_bundle *bundle, pelt_examples train, pelt_examples test,
                                     pelt_fit_options options, size_t *bytes) {
    pelt_error error;
    pelt_skin skin;
    pelt_skin_bytes *file = pelt_fit(bundle, train, &options, &error);
    if (!file) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, test, 1, &error);
    if (!m) fail_msg("%s", error.text);
    if (bytes) *bytes = file->size;
    pelt_skin_free(file);
    return m;
}

static double worst_fraction(pelt_bundle *bundle, pelt_examples train, pelt_examples test, pelt_fit_options options) {
    pelt_measure *m = fit_and_measure(bundle, train, test, options, NULL);
    double worst = m->max_fraction;
    pelt_measure_free(m);
    return worst;
}

static double rel_err(pelt_bundle *bundle, pelt_examples train, pelt_examples test, pelt_fit_options options) {
    pelt_measure *m = fit_and_measure(bundle, train, test, options, NULL);
    double error = m->rel_err;
    pelt_measure_free(m);
    return error;
}

static void every_example_is_interpolated(void **state) {
    (void)state;
    static const char *const names[] = {"elbow", "arm"};
    for (int i = 0; i < 2; i++)
        for (int half = 0; half < 2; half++) {
            pelt_bundle *bundle = sampled(names[i], 400);
            pelt_examples train = all_of(bundle, "train");
            pelt_fit_options options = {.method = "psd", .displacements = half ? NULL : "32"};
            assert_true(worst_fraction(bundle, train, train, options) < 1e-5);
            pelt_bundle_free(bundle);
        }
}

/* Of every function, divided by their sum or not, for plain and weighted PSD; a Gaussian alone comes close. */
static void every_function_interpolates_the_examples(void **state) {
    (void)state;
    static const char *const functions[] = {"mixed", "gaussian", "exp"};
    pelt_bundle *bundle = sampled("elbow", 300);
    pelt_examples train = all_of(bundle, "train");
    for (int i = 0; i < 12; i++) {
        pelt_fit_options options = {.method = i % 2 ? "wpsd" : "psd", .rbf = functions[i / 2 % 3]};
        options.unnormalised = i >= 6;
        double worst = worst_fraction(bundle, train, train, options);
        if (!(worst < (i / 2 % 3 == 1 ? 5e-3 : 1e-5)))
            fail_msg("%s %s %d: %g", options.method, options.rbf, options.unnormalised, worst);
    }
    pelt_bundle_free(bundle);
}

static void a_real_hand_is_interpolated_and_unseen_poses_come_closer(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    pelt_examples train = all_of(bundle, "train");
    assert_true(worst_fraction(bundle, train, train, (pelt_fit_options){.method = "psd", .threads = 1}) < 2e-5);
    assert_true(rel_err(bundle, train, all_of(bundle, "test"), (pelt_fit_options){.method = "psd"}) < 0.37);
    pelt_bundle_free(bundle);
}

static void more_principal_poses_fit_better_and_few_make_a_smaller_skin(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_examples train = all_of(bundle, "train");
    double last = 1;
    size_t few = 0, many = 0;
    for (uint32_t poses = 2; poses <= 16; poses *= 2) {
        pelt_measure *m = fit_and_measure(bundle, train, train, (pelt_fit_options){.method = "psd", .poses = poses},
                                          poses == 2 ? &few : &many);
        assert_true(m->rel_err < last);
        last = m->rel_err;
        pelt_measure_free(m);
    }
    assert_true(last < 0.5 && few < many);
    pelt_bundle_free(bundle);
}

/* Far from all examples the correction stays of the size of the examples' own, and is finite in any pose. */
static void no_pose_makes_it_explode(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_error error;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = {.method = "psd"}};
    f.examples = all_of(bundle, "train");
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    assert_int_equal(pelt_fit_corrective(&f, &error), PELT_OK);
    pelt_example_displacements d;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < 3 * (size_t)d.point_count * d.example_count; i++)
        largest = fmax(largest, fabs(d.positions[i]));
    uint32_t joints = bundle->skeleton.joint_count, n = bundle->mesh.vertex_count;
    pelt_transform *locals = PELT_NEW(bundle->arena, joints, pelt_transform);
    double *out = PELT_NEW(bundle->arena, 3 * (size_t)n, double);
    uint64_t seed = 6;
    for (int pose = 0; pose < 60; pose++) {
        for (uint32_t j = 0; j < joints; j++) {
            pelt_transform turn =
                character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5, 0.1, 360 * test_random(&seed));
            locals[j] = bundle->skeleton.rest[j];
            memcpy(locals[j].rotation, turn.rotation, sizeof turn.rotation);
        }
        assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, n, out, NULL));
        for (size_t i = 0; i < 3 * (size_t)n; i++) worst = fmax(worst, fabs(out[i]));
    }
    assert_true(isfinite(worst) && worst < 8 * largest);
    pelt_bundle_free(bundle);
}

static void the_number_of_threads_does_not_change_a_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_examples train = all_of(bundle, "train");
    pelt_error error;
    static const char *const methods[] = {"psd", "wpsd"};
    for (int i = 0; i < 2; i++)
        for (uint32_t poses = 0; poses < 8; poses += 7) {
            pelt_skin_bytes *one = pelt_fit(
                bundle, train, &(pelt_fit_options){.method = methods[i], .poses = poses, .threads = 1}, &error);
            pelt_skin_bytes *four = pelt_fit(
                bundle, train, &(pelt_fit_options){.method = methods[i], .poses = poses, .threads = 4}, &error);
            assert_true(one && four);
            assert_int_equal(one->size, four->size);
            assert_memory_equal(one->bytes, four->bytes, one->size);
            pelt_skin_free(one), pelt_skin_free(four);
        }
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_interpolated),
        cmocka_unit_test(every_function_interpolates_the_examples),
        cmocka_unit_test(a_real_hand_is_interpolated_and_unseen_poses_come_closer),
        cmocka_unit_test(more_principal_poses_fit_better_and_few_make_a_smaller_skin),
        cmocka_unit_test(no_pose_makes_it_explode),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
