/* cmocka.h: as much of cmocka as the tests of the run time use, for machines that have none: ./check --platforms. It runs
   every test, says which fail, and returns their number. */

#ifndef PELT_TEST_CMOCKA_H
#define PELT_TEST_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

typedef enum test_outcome { TEST_PASSED, TEST_FAILED, TEST_SKIPPED } test_outcome;
static jmp_buf test_end; /* where a test goes that ends early, with its outcome */

#define cmocka_unit_test(function)                                                                                     \
    { #function, function }
#define cmocka_run_group_tests(tests, setup, teardown) test_run_all(tests, sizeof tests / sizeof *tests, setup)
#define cmocka_set_test_filter(pattern) (void)(pattern)
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) printf(__VA_ARGS__)
#define skip() longjmp(test_end, TEST_SKIPPED)
#define fail_msg(...)                                                                                                  \
    (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), puts(""), longjmp(test_end, TEST_FAILED))
#define fail() fail_msg("failed")
#define test_claim(truth, text) ((truth) ? (void)0 : (void)fail_msg("%s", text))
#define assert_true(a) test_claim(a, #a)
#define assert_false(a) test_claim(!(a), "not " #a)
#define assert_null(a) test_claim(!(a), #a " is NULL")
#define assert_non_null(a) test_claim(a, #a " is not NULL")
#define assert_int_equal(a, b) test_claim((long long)(a) == (long long)(b), #a " == " #b)
#define assert_int_not_equal(a, b) test_claim((long long)(a) != (long long)(b), #a " != " #b)
#define assert_float_equal(a, b, tolerance) test_claim(fabs((double)(a) - (double)(b)) <= (tolerance), #a " == " #b)
#define assert_ptr_equal(a, b) test_claim((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_memory_equal(a, b, size) test_claim(!memcmp(a, b, size), #a " has the bytes of " #b)
#define assert_string_equal(a, b) test_claim(!strcmp(a, b), #a " is the text " #b)

static int test_run_all(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state)) {
    static volatile size_t i; /* survives the jump */
    static volatile int failed, skipped;
    if (setup) setup(&(void *){NULL});
    for (i = 0; i < count; i++) {
        int outcome = setjmp(test_end);
        if (!outcome) tests[i].run(&(void *){NULL});
        if (outcome) printf("%s: %s\n", tests[i].name, outcome == TEST_FAILED ? "FAILED" : "skipped");
        failed += outcome == TEST_FAILED, skipped += outcome == TEST_SKIPPED;
    }
    printf("%d tests, %d failed, %d skipped\n", (int)count, failed, skipped);
    return failed;
}

#endif
