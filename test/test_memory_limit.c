/* test_memory_limit.c: a fit that would run out of memory is refused before it starts, with an estimate close to the
   actual need and a remedy. */

#define _GNU_SOURCE
#include "rig/linear.h"
#include "test/program.h"
#include "test/sampled.h"
#include <sys/resource.h>

/* Megabytes of this process: allocated address space, and what it uses of that. */
static void megabytes_now(double *asked, double *used) {
    double pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lf %lf", &pages[0], &pages[1]) != 2) pages[0] = 0;
    if (file) fclose(file);
    *asked = pages[0] * (double)sysconf(_SC_PAGESIZE) * 1e-6, *used = pages[1] * (double)sysconf(_SC_PAGESIZE) * 1e-6;
}

typedef struct trial {
    double peak;        /* megabytes that a fit took */
    char refusal[1000]; /* what it said where there were too few */
} trial;

/* In a separate process, since limits and peaks are per process. A limit of 0 is none. */
static double fit_apart(pelt_bundle *bundle, const pelt_fit_options *options, double limit, char *refusal,
                        size_t size) {
    int ends[2];
    trial t = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        double asked, used;
        struct rusage usage;
        pelt_error error = {0};
        pelt_fit_report report;
        pelt_blas_reserve(1);
        megabytes_now(&asked, &used);
        if (limit > 0)
            setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)((asked + limit) * 1e6), (rlim_t)((asked + limit) * 1e6)});
        pelt_bytes *bytes = pelt_fit(bundle, all_of(bundle, "train"), options, &report, &error);
        getrusage(RUSAGE_SELF, &usage);
        t.peak = bytes ? (double)usage.ru_maxrss * 1024e-6 - used : 0;
        snprintf(t.refusal, sizeof t.refusal, "%s", bytes ? "" : error.text);
        _exit(write(ends[1], &t, sizeof t) != sizeof t);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &t, sizeof t), sizeof t);
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    snprintf(refusal, size, "%s", t.refusal);
    return t.peak;
}

static void the_estimate_is_near_to_what_a_fit_takes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        pelt_fit_options options;
    } fits[] = {
        {"ssd", {.method = PELT_METHOD_SSD, .threads = 1}},
        {"ssd/fit", {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT, .threads = 1}},
        {"joints", {.method = PELT_METHOD_JOINTS, .threads = 1}},
        {"psd", {.method = PELT_METHOD_PSD, .threads = 1}},
        {"eigen", {.method = PELT_METHOD_EIGEN, .threads = 1}},
        {"wpsd", {.method = PELT_METHOD_WPSD, .threads = 1}},
        {"kernel", {.method = PELT_METHOD_KERNEL, .threads = 1}},
    };
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 2000, .frames = 60}, &error);
    assert_non_null(bundle);
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        char said[1000];
        double peak = fit_apart(bundle, &fits[i].options, 0, said, sizeof said);
        assert_string_equal(said, "");
        fit_apart(bundle, &fits[i].options, 2, said, sizeof said);
        const char *number = strstr(said, "take about ");
        if (!number) fail_msg("%s: %s", fits[i].name, said);
        double estimate = strtod(number + 11, NULL);
        print_message("%s: %.0f MB expected, %.1f MB taken\n", fits[i].name, estimate, peak);
        assert_in_range(100 * estimate / peak, 33, 120);
    }
    pelt_bundle_free(bundle);
}

/* The data fit into 400 MB of address space, the fit does not. */
static void the_program_refuses_with_a_number_and_a_remedy(void **state) {
    (void)state;
    char line[1200];
    assert_int_equal(pelt("sample arm --vertices 3000 --frames 500 -o . --quiet"), 0);
    const char *program = getenv("PELT_PROGRAM");
    snprintf(line, sizeof line,
             "cd %s && ulimit -v 400000 && timeout 60 %s fit arm.glb --train train --method psd -o x.pelt --threads 1 "
             ">out.txt "
             "2>err.txt",
             test_folder(), program ? program : "build/pelt");
    assert_int_equal(WEXITSTATUS(system(line)), 1);
    program_read("err.txt", program_errors, sizeof program_errors);
    const char *number = strstr(program_errors, "500 examples of 3000 vertices take about ");
    if (!number) fail_msg("%s", program_errors);
    assert_in_range(strtol(number + 41, NULL, 10), 250, 330);
    assert_non_null(strstr(number, "every second frame"));
    assert_non_null(strstr(number, "(--every 2)"));
    snprintf(line, sizeof line, "%s/x.pelt", test_folder());
    assert_int_equal(access(line, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_near_to_what_a_fit_takes),
        cmocka_unit_test(the_program_refuses_with_a_number_and_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
