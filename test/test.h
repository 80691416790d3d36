/* test.h: included by every test. */

#ifndef PELT_TEST_H
#define PELT_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* PELT_ONLY, if set, is a pattern: only tests with matching names run. */
__attribute__((constructor)) static void test_choose(void) {
    if (getenv("PELT_ONLY")) cmocka_set_test_filter(getenv("PELT_ONLY"));
}

/* Path of a file of the real characters, or NULL if missing (the test then reports that and skips). */
static inline const char *test_data(const char *name) {
    static char paths[8][1024];
    static int next;
    const char *root = getenv("PELT_DATA");
    if (!root) root = "../shared/data";
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    if (access(path, R_OK) == 0) return path;
    print_message("skipped: %s is not here\n", name);
    return NULL;
}

/* A folder for the files of one test program, created once under TMPDIR and removed when the program ends. */
static char test_folder_path[80];
static int test_folder_owner; /* a child process leaves it alone */

static inline void test_folder_remove(void) {
    char line[100];
    if (getpid() != test_folder_owner) return;
    snprintf(line, sizeof line, "rm -rf %s", test_folder_path);
    if (system(line)) fprintf(stderr, "%s is left\n", test_folder_path);
}

static inline const char *test_folder(void) {
    const char *root = getenv("TMPDIR");
    if (*test_folder_path) return test_folder_path;
    snprintf(test_folder_path, sizeof test_folder_path, "%.60s/pelt-test-XXXXXX", root && *root ? root : "/tmp");
    assert_non_null(mkdtemp(test_folder_path));
    test_folder_owner = (int)getpid();
    atexit(test_folder_remove);
    return test_folder_path;
}

/* For tests of many or large fits: sanitizers slow them to minutes, and smaller tests cover the same code. */
static inline void test_only_at_full_speed(void) {
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    print_message("skipped: many or large fits, under sanitizers\n");
    skip();
#endif
#endif
}

/* Small deterministic random numbers, 0 to 1. */
static inline double test_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0;
}

#define assert_near(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        double a_ = (a), b_ = (b), t_ = (tolerance);                                                                   \
        if (!(fabs(a_ - b_) <= t_)) {                                                                                  \
            print_error("%s = %.9g, %s = %.9g, they differ by %.3g > %.3g\n", #a, a_, #b, b_, fabs(a_ - b_), t_);      \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
