/* test_devices.c: the program on graphics devices: eval and bench, and their messages when something is missing. */

#include "gpu/headless.h"
#include "test/program.h"
#include <stdbool.h>

static bool device_here;

static int set_up(void **state) {
    (void)state;
    pelt_error error;
    pelt_headless *headless = pelt_headless_new(PELT_HEADLESS_GL, -1, &error);
    device_here = headless != NULL;
    if (!headless) print_message("skipped: %s\n", error.text);
    pelt_headless_free(headless);
    assert_int_equal(pelt("sample arm --vertices 500 --frames 6 -o . --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method psd --holdout 0 -o arm.pelt --quiet"), 0);
    return 0;
}

static float *read_floats(const char *name, size_t *count) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *count = ((size_t)ftell(file) - 32) / 4; /* after the head of a .pc2 */
    fseek(file, 32, SEEK_SET);
    float *floats = malloc(*count * sizeof *floats);
    assert_int_equal(fread(floats, 4, *count, file), *count);
    fclose(file);
    return floats;
}

static void eval_on_a_device_gives_the_same_positions(void **state) {
    (void)state;
    if (!device_here) skip();
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o own.pc2"), 0);
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o theirs.pc2 --device gl"), 0);
    size_t own_count, their_count;
    float *own = read_floats("own.pc2", &own_count), *theirs = read_floats("theirs.pc2", &their_count);
    assert_int_equal(own_count, their_count);
    assert_true(own_count > 1000);
    double worst = 0, size = 0;
    for (size_t i = 0; i < own_count; i++)
        worst = fmax(worst, fabs((double)own[i] - theirs[i])), size = fmax(size, fabs((double)own[i]));
    assert_true(worst <= 2e-6 * size);
    free(own), free(theirs);
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o arm_played.glb --device gl"), 0);
}

static void bench_on_a_device_stands_beside_fill_and_copy(void **state) {
    (void)state;
    if (!device_here) skip();
    json_t *bench = pelt_json("bench arm.pelt --device gl --characters 1,5 --turns 3"),
           *rows = json_object_get(bench, "rows");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_int_equal(number(row, "characters"), i < 2 ? 1 : 5);
        assert_true(number(row, "us") > 0 && number(row, "fill_gb_per_s") > 0 && number(row, "copy_gb_per_s") > 0);
        assert_true(number(row, "gap") < 2e-6 && number(row, "frame_us") > 0);
        /* Useful output only: 12 bytes per slot, or 24, for 512 slots. */
        assert_near(number(row, "gb_per_s") * number(row, "us") * 1e3, (i < 2 ? 1 : 5) * 512 * (i % 2 ? 24 : 12), 1);
    }
    json_decref(bench);
}

static void devices_that_are_not_here_are_refused_with_a_sentence(void **state) {
    (void)state;
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o never.pc2 --device warp"), 1);
    assert_non_null(strstr(program_errors, "\"warp\" is not a device"));
    assert_int_equal(pelt("eval arm.pelt arm.glb --clip test -o never.pc2 --device gl:999"), 1);
    assert_int_equal(pelt("bench arm.pelt --device cuda:99"), 1);
    assert_true(strstr(program_errors, "CUDA") != NULL);
    assert_int_equal(pelt("bench --device gl --characters 0"), 2);
    assert_int_equal(pelt("bench --vertices 12x"), 2);
    char path[300];
    snprintf(path, sizeof path, "%s/never.pc2", test_folder());
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eval_on_a_device_gives_the_same_positions),
        cmocka_unit_test(bench_on_a_device_stands_beside_fill_and_copy),
        cmocka_unit_test(devices_that_are_not_here_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
