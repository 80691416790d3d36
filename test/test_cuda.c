/* test_cuda.c: CUDA kernels reproduce the processor's results. Without a device, they say so. */

#include "test/gl_subjects.h"
#include <pelt/cuda.h>

static void assert_done(pelt_result result, const pelt_error *error) {
    if (result) fail_msg("%s", error->text);
}

static void run_and_compare(pelt_cuda *cuda, const subject *s, const char *name, uint32_t count, unsigned outputs) {
    pelt_error error = {0};
    float *positions = malloc(pelt_output_size(&s->skin)), *normals = malloc(pelt_output_size(&s->skin));
    assert_done(pelt_cuda_run(cuda, count, outputs, NULL, &error), &error);
    for (uint32_t c = 0; c < count; c++) {
        assert_done(pelt_cuda_read(cuda, c, positions, outputs ? normals : NULL, NULL, &error), &error);
        assert_same(s, name, c, positions, outputs ? normals : NULL);
    }
    free(positions), free(normals);
}

static void compare(const subject *s, const char *name) {
    pelt_error error = {0};
    pelt_cuda_options options = {.characters = s->characters};
    pelt_cuda *cuda = pelt_cuda_new(&s->skin, &options, &error);
    if (!cuda) fail_msg("%s", error.text);
    assert_done(pelt_cuda_upload(cuda, 0, s->characters, (const void *const *)s->scratches, NULL, &error), &error);
    for (unsigned outputs = 0; outputs < 2; outputs++) {
        run_and_compare(cuda, s, name, 1, outputs);
        run_and_compare(cuda, s, name, s->characters, outputs);
    }
    pelt_cuda_free(cuda);
}

static void every_form_equals_the_processor(void **state) {
    (void)state;
    if (!pelt_cuda_devices()) skip();
    for (int i = 0; i < RECIPES; i++) {
        subject s = subject_of(&recipes[i]);
        compare(&s, recipes[i].name);
        subject_free(&s);
    }
}

static void every_character_has_its_own_level(void **state) {
    (void)state;
    if (!pelt_cuda_devices()) skip();
    for (int i = 0; i < LEVELLED; i++) {
        subject s = subject_of(&levelled_recipes[i]);
        compare(&s, levelled_recipes[i].name);
        subject_free(&s);
    }
}

static void normals_of_the_surface_equal_the_processors(void **state) {
    (void)state;
    if (!pelt_cuda_devices()) skip();
    for (int i = 0; i < SHADED_SUBJECTS; i++) {
        subject s = subject_shaded(i);
        compare(&s, shaded_subjects[i].name);
        subject_free(&s);
    }
}

static void real_characters_equal_the_processor(void **state) {
    (void)state;
    if (!pelt_cuda_devices()) skip();
    for (int i = 0; i < REAL_SUBJECTS; i++) {
        subject s = {0};
        if (!subject_fit(real_subjects[i].file, real_subjects[i].clip, real_subjects[i].options,
                         real_subjects[i].characters, &s))
            continue;
        compare(&s, real_subjects[i].file);
        subject_free(&s);
    }
}

static void misuse_is_refused(void **state) {
    (void)state;
    if (!pelt_cuda_devices()) skip();
    subject s = subject_of(&recipes[1]);
    pelt_error error = {0};
    pelt_cuda_options options = {.characters = 4};
    pelt_cuda *cuda = pelt_cuda_new(&s.skin, &options, &error);
    if (!cuda) fail_msg("%s", error.text);
    float *normals = malloc(pelt_output_size(&s.skin));
    assert_int_equal(pelt_cuda_run(cuda, 5, 0, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_cuda_run(cuda, 4, 99, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_cuda_upload(cuda, 0, 4, NULL, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_cuda_read(cuda, 4, normals, NULL, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_cuda_read(cuda, 0, NULL, normals, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_null(pelt_cuda_output(cuda).normals);
    free(normals);
    pelt_cuda_free(cuda);
    pelt_cuda_free(NULL);
    subject_free(&s);
}

static void a_device_that_is_not_there_is_refused(void **state) {
    (void)state;
    subject s = subject_of(&recipes[1]);
    pelt_error error = {0};
    pelt_cuda_options options = {.device = 99};
    assert_null(pelt_cuda_new(&s.skin, &options, &error));
    assert_int_equal(error.code, PELT_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "99"));
    subject_free(&s);
}

int main(void) {
    if (!pelt_cuda_devices()) print_message("skipped but for errors: there is no CUDA device here\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_equals_the_processor),
        cmocka_unit_test(every_character_has_its_own_level),
        cmocka_unit_test(normals_of_the_surface_equal_the_processors),
        cmocka_unit_test(real_characters_equal_the_processor),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(a_device_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
