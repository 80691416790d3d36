/* test_skin_io.c: skin files on disk. Validating skins is up to pelt_open. */

#include "test/test.h"
#include "io/io.h"
#include <errno.h>

static const char *path_of(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static void the_bytes_of_a_skin_are_written_as_they_are(void **state) {
    (void)state;
    uint8_t bytes[1000], back[1001];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
    pelt_bytes skin = {bytes, sizeof bytes};
    assert_int_equal(pelt_bytes_write(&skin, path_of("a.pelt"), NULL), PELT_OK);
    FILE *file = fopen(path_of("a.pelt"), "rb");
    assert_int_equal(fread(back, 1, sizeof back, file), sizeof bytes);
    fclose(file);
    assert_memory_equal(back, bytes, sizeof bytes);
}

static void a_skin_that_cannot_be_written_is_reported(void **state) {
    (void)state;
    pelt_bytes skin = {"skin", 4};
    pelt_error error = {0};
    assert_int_equal(pelt_bytes_write(&skin, path_of("no/such/a.pelt"), &error), PELT_ERROR_FILE);
    assert_non_null(strstr(error.text, strerror(ENOENT)));
    if (access("/dev/full", W_OK) != 0) return;
    assert_int_equal(pelt_bytes_write(&skin, "/dev/full", &error), PELT_ERROR_FILE);
    assert_non_null(strstr(error.text, strerror(ENOSPC)));
}

static void what_is_no_skin_is_refused_with_its_name_and_the_reason(void **state) {
    (void)state;
    for (size_t size = 0; size < 300; size += 13) {
        uint8_t bytes[300];
        memset(bytes, 0x5a, sizeof bytes);
        pelt_bytes junk = {bytes, size};
        pelt_skin skin;
        pelt_error error = {0};
        assert_int_equal(pelt_bytes_write(&junk, path_of("junk.pelt"), &error), PELT_OK);
        assert_null(pelt_skin_read(path_of("junk.pelt"), &skin, &error));
        assert_int_not_equal(error.code, PELT_OK);
        assert_non_null(strstr(error.text, "junk.pelt: is not a skin that pelt can run: "));
        assert_non_null(strstr(error.text, pelt_result_text(error.code)));
    }
    pelt_skin skin;
    pelt_error error = {0};
    assert_null(pelt_skin_read(path_of("absent.pelt"), &skin, &error));
    assert_int_equal(error.code, PELT_ERROR_FILE);
    assert_null(pelt_skin_read(test_folder(), &skin, &error));
    assert_non_null(strstr(error.text, "is a folder"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_of_a_skin_are_written_as_they_are),
        cmocka_unit_test(a_skin_that_cannot_be_written_is_reported),
        cmocka_unit_test(what_is_no_skin_is_refused_with_its_name_and_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
