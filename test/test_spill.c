/* test_spill.c: under a memory limit, what does not fit waits on disk: results are the same bytes, the limit holds, and what
   cannot work is refused with a sentence. */

#define _GNU_SOURCE
#include "rig/spill.h"
#include "test/program.h"
#include "test/sampled.h"
#include <sys/resource.h>

static const char *disk(void) { return "/var/tmp"; }

/* -- The limit ------------------------------------------------------------------------------------------------------ */

static void limits_that_cannot_work_are_refused(void **state) {
    (void)state;
    pelt_error error = {0};
    assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY - 1, disk(), &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "the least that works is 320M"));
    assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY, "/no/such/folder", &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "/no/such/folder"));
    assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY, NULL, &error), PELT_ERROR_ARGUMENT);
    if (!access("/dev/shm", W_OK)) {
        assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY, "/dev/shm", &error), PELT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.text, "itself in memory"));
    }
    assert_int_equal(pelt_memory_limit(), 0);
}

static void threads_are_as_many_as_the_limit_has_room_for(void **state) {
    (void)state;
    assert_int_equal(pelt_memory_threads(64), 64);
    assert_int_equal(pelt_limit_memory((size_t)1 << 30, disk(), NULL), PELT_OK);
    assert_int_equal(pelt_memory_threads(64), 4);
    assert_int_equal(pelt_memory_threads(2), 2);
    assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY, disk(), NULL), PELT_OK);
    assert_int_equal(pelt_memory_threads(64), 1);
    assert_int_equal(pelt_limit_memory(0, NULL, NULL), PELT_OK);
}

/* -- Arenas --------------------------------------------------------------------------------------------------------- */

static uint32_t scramble(uint32_t x) { return x * 2654435761u ^ x >> 7; }

/* In a process of its own, whose data may not grow by more than 256 MB: 800 MB, written and read. */
static void more_than_memory_is_kept(void **state) {
    (void)state;
    enum { ARRAYS = 12, COUNT = 16 << 20 };
    test_only_at_full_speed();
    pid_t child = fork();
    if (!child) {
        struct rusage usage;
        size_t most;
        bool same = !setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)256 << 20, (rlim_t)256 << 20});
        same &= !pelt_limit_memory(PELT_LEAST_MEMORY, disk(), NULL);
        pelt_arena *arena = pelt_arena_new(0);
        uint32_t *arrays[ARRAYS];
        for (uint32_t k = 0; k < ARRAYS; k++) {
            arrays[k] = PELT_NEW(arena, COUNT, uint32_t);
            if (!arrays[k]) _exit(2);
            for (uint32_t i = 0; i < COUNT; i++) same &= !arrays[k][i], arrays[k][i] = scramble(k * COUNT + i);
        }
        for (uint32_t k = 0; k < ARRAYS; k++)
            for (uint32_t i = 0; i < COUNT; i++) same &= arrays[k][i] == scramble(k * COUNT + i);
        size_t now = pelt_spilled(&most);
        same &= now == most && most > (size_t)(ARRAYS - 4) * COUNT * sizeof(uint32_t);
        pelt_arena_free(arena);
        same &= !pelt_spilled(&most);
        getrusage(RUSAGE_SELF, &usage);
        printf("%zu MB on disk, peak memory %.0f MB\n", most >> 20, (double)usage.ru_maxrss / 1024);
        fflush(stdout);
        /* What is touched while the warden sleeps comes on top; a busy machine lets it sleep long. */
        same &= (size_t)usage.ru_maxrss * 1024 < 2 * PELT_LEAST_MEMORY;
        _exit(!same);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* -- Fits ------------------------------------------------------------------------------------------------------------ */

static void every_method_gives_the_same_bytes(void **state) {
    (void)state;
    static const pelt_fit_options fits[] = {{.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT},
                                            {.method = PELT_METHOD_JOINTS},
                                            {.method = PELT_METHOD_PSD},
                                            {.method = PELT_METHOD_WPSD},
                                            {.method = PELT_METHOD_EIGEN},
                                            {.method = PELT_METHOD_KERNEL}};
    pelt_error error;
    test_only_at_full_speed();
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 2000, .frames = 45}, &error);
    assert_non_null(bundle);
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        size_t most;
        pelt_bytes *plain = pelt_fit(bundle, all_of(bundle, "train"), &fits[i], NULL, &error);
        assert_non_null(plain);
        assert_int_equal(pelt_limit_memory(PELT_LEAST_MEMORY, disk(), &error), PELT_OK);
        pelt_spill_beyond(0);
        pelt_bytes *spilled = pelt_fit(bundle, all_of(bundle, "train"), &fits[i], NULL, &error);
        if (!spilled) fail_msg("%s", error.text);
        assert_int_equal(pelt_spilled(&most), 0); /* all of it is given back */
        assert_true(most > 0);
        pelt_limit_memory(0, NULL, NULL);
        assert_int_equal(plain->size, spilled->size);
        assert_memory_equal(plain->bytes, spilled->bytes, plain->size);
        pelt_bytes_free(plain), pelt_bytes_free(spilled);
    }
    pelt_bundle_free(bundle);
}

/* -- The program ----------------------------------------------------------------------------------------------------- */

static bool same_files(const char *a, const char *b) {
    char line[1000];
    snprintf(line, sizeof line, "cd %s && cmp -s %s %s", test_folder(), a, b);
    return !system(line);
}

/* The cache alone has more than the limit, and the data of the process may not have more than that at all. */
static void a_cache_larger_than_memory_is_fitted_and_measured(void **state) {
    (void)state;
    test_only_at_full_speed();
    assert_int_equal(pelt("sample arm --vertices 28000 --frames 1000 -o . --quiet"), 0);
    shell("rm arm.test.pc2");
    const char *program = getenv("PELT_PROGRAM");
    char *path = realpath(program ? program : "build/pelt", NULL);
    for (int limited = 0; limited < 2; limited++) {
        char options[100] = "";
        if (limited) snprintf(options, sizeof options, "--memory 320M --scratch %s", disk());
        shell(
            "%s %s fit arm.glb --train train --every 50 --blend fit --method ssd --holdout 0 --quiet %s -o %d.pelt && "
            "%s measure %d.pelt arm.glb --clip train --json %s >%d.json",
            limited ? "ulimit -d 400000;" : "", path, options, limited, path, limited, options, limited);
    }
    assert_true(same_files("0.pelt", "1.pelt"));
    shell("sed 's/[01]\\.pelt//' 0.json >a.json; sed 's/[01]\\.pelt//' 1.json >b.json");
    assert_true(same_files("a.json", "b.json"));
    free(path);
}

static void what_is_wrong_with_the_options_is_said(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"--memory 1M", "--memory: 1048576 bytes are too few; the least that works is 320M"},
        {"--memory lots", "--memory lots: expected a number of bytes, such as 500M or 8G"},
        {"--memory -1G", "expected a number of bytes"},
        {"--memory 8GG", "expected a number of bytes"},
        {"--memory 1G --scratch /no/such", "--scratch: cannot create a file in /no/such: No such file or directory"},
    };
    assert_int_equal(pelt("sample arm --vertices 500 --frames 10 -o . --quiet"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pelt("fit arm.glb --train train --method ssd -o x.pelt %s", cases[i][0]), 2);
        if (!strstr(program_errors, cases[i][1])) fail_msg("%s: %s", cases[i][0], program_errors);
    }
    assert_int_equal(pelt("fit arm.glb --train train --method ssd -o x.pelt --quiet --memory 0.5G"), 0);
}

/* A limit on the size of files stands in for the full disk: both are found when room is taken, not when it is used. */
static void a_disk_without_room_ends_the_work_with_a_sentence(void **state) {
    (void)state;
    pelt_error error = {0};
    pid_t child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
        pelt_limit_memory(PELT_LEAST_MEMORY, disk(), &error);
        pelt_spill_beyond(0);
        pelt_arena *arena = pelt_arena_new(0);
        bool failed = !PELT_NEW(arena, 8 << 20, char) && pelt_arena_failed(arena);
        pelt_no_memory(&error);
        bool said = strstr(error.text, disk()) && strstr(error.text, "8 MB") && strstr(error.text, "--scratch");
        if (!said) fprintf(stderr, "%s\n", error.text);
        pelt_arena_free(arena);
        _exit(!failed || !said);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_that_cannot_work_are_refused),
        cmocka_unit_test(threads_are_as_many_as_the_limit_has_room_for),
        cmocka_unit_test(more_than_memory_is_kept),
        cmocka_unit_test(every_method_gives_the_same_bytes),
        cmocka_unit_test(a_cache_larger_than_memory_is_fitted_and_measured),
        cmocka_unit_test(what_is_wrong_with_the_options_is_said),
        cmocka_unit_test(a_disk_without_room_ends_the_work_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
