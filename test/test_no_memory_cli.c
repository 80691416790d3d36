/* test_no_memory_cli.c: every command of the program with a failing allocation, wherever it is: in pelt, jansson,
   libpng, the C library, in any thread. (Except relight: Embree aborts when C++ runs out of memory.) It must end by
   itself, with the correct result or with a message and no result.

   A preloaded library provides the allocations and makes one of them fail, or all from one on; they are counted from
   the start of main (json_set_alloc_funcs is the first thing it calls). */

#include "rig/clock.h"
#include "test/program.h"
#include <stdbool.h>

static const char shim_source[] =
    "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <stdatomic.h>\n#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);\n"
    "extern void *__libc_memalign(size_t, size_t);\n"
    "static atomic_long count, at; static atomic_int begun; static int once;\n"
    "static int fails(void) {\n"
    "  if (!begun) return 0;\n"
    "  long n = ++count;\n"
    "  if (!at || n < at || (once && n > at)) return 0;\n"
    "  errno = ENOMEM; return 1; }\n"
    "void *malloc(size_t n) { return fails() ? 0 : __libc_malloc(n); }\n"
    "void *calloc(size_t n, size_t s) { return fails() ? 0 : __libc_calloc(n, s); }\n"
    "void *realloc(void *p, size_t n) { return fails() ? 0 : __libc_realloc(p, n); }\n"
    "void *aligned_alloc(size_t a, size_t n) { return fails() ? 0 : __libc_memalign(a, n); }\n"
    "void json_set_alloc_funcs(void *(*m)(size_t), void (*f)(void *)) {\n"
    "  void (*real)(void *(*)(size_t), void (*)(void *)) = dlsym(RTLD_NEXT, \"json_set_alloc_funcs\");\n"
    "  const char *number = getenv(\"FAIL_AT\"); once = getenv(\"FAIL_ONCE\") != 0;\n"
    "  real(m, f); at = number ? atol(number) : 0; begun = 1; }\n"
    "__attribute__((destructor)) static void tell(void) {\n"
    "  if (!begun) return;\n  begun = 0; const char *path = getenv(\"COUNT_TO\"); FILE *f = path ? fopen(path, \"w\") "
    ": 0;\n"
    "  if (f) fprintf(f, \"%ld\\n\", (long)count), fclose(f); }\n";

static bool make_shim(void) {
    char path[300], line[1000];
    snprintf(path, sizeof path, "%s/shim.c", test_folder());
    FILE *file = fopen(path, "w");
    fputs(shim_source, file);
    fclose(file);
    snprintf(line, sizeof line, "cd %s && cc -O1 -shared -fPIC -o shim.so shim.c -ldl 2>shim.txt", test_folder());
    return system(line) == 0;
}

typedef struct job {
    const char *words;
    const char *result; /* the file or folder that it writes; NULL: none */
} job;

static int runs, failures;

/* Runs a job without one allocation (0: with all), and returns its exit code. */
static int run(const job *j, long at, bool once) {
    char line[3000];
    const char *program = getenv("PELT_PROGRAM");
    snprintf(line, sizeof line,
             "cd %s && rm -rf %s && LD_PRELOAD=./shim.so COUNT_TO=count.txt FAIL_AT=%ld %s timeout -s KILL 30 %s %s "
             "--threads 2 "
             ">out.txt 2>err.txt",
             test_folder(), j->result ? j->result : "none", at, once ? "FAIL_ONCE=1" : "",
             program ? program : "build/pelt", j->words);
    int status = system(line);
    program_read("err.txt", program_errors, sizeof program_errors);
    runs++;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool same(const job *j) {
    char line[1000];
    /* Figures say how long a frame takes. */
    snprintf(line, sizeof line, "cd %s && diff -r -x figures.json whole %s >/dev/null", test_folder(), j->result);
    return !j->result || !system(line);
}

static void check_run(const job *j, long at, bool once) {
    int code = run(j, at, once);
    char line[1000];
    if (code == 0) {
        if (!same(j)) fail_msg("pelt %s, without allocation %ld%s: another result", j->words, at, once ? " alone" : "");
        return;
    }
    failures++;
    if (code != 1 || strlen(program_errors) < 10)
        fail_msg("pelt %s, without allocation %ld%s: ended with %d, %s", j->words, at, once ? " alone" : "", code,
                 program_errors);
    /* What was finished before the failure may exist, and is complete. */
    bool printed = j->result && !strcmp(j->result, "out.txt");
    const char *there = j->result && !printed ? j->result : "none";
    snprintf(line, sizeof line,
             "cd %s && ! ls -d *.tmp-* >/dev/null 2>&1 && { ! [ -e %s ] || ! diff -r -x figures.json whole %s | grep "
             "-v '^Only in whole'; }",
             test_folder(), there, there);
    if (system(line))
        fail_msg("pelt %s, without allocation %ld%s: leaves something (%s)", j->words, at, once ? " alone" : "",
                 program_errors);
}

/* The first few, then ever farther apart, so that the total time is bounded. */
static void without_some_allocations(const job *j) {
    char line[1000], text[100];
    if (run(j, 0, false)) fail_msg("pelt %s: %s", j->words, program_errors);
    program_read("count.txt", text, sizeof text);
    long count = atol(text);
    assert_true(count > 5);
    snprintf(line, sizeof line, "cd %s && rm -rf whole && { [ %d = 0 ] || cp -r %s whole; }", test_folder(),
             j->result != NULL, j->result ? j->result : "none");
    assert_int_equal(system(line), 0);
    double start = pelt_wall_seconds();
    const char *every = getenv("PELT_EVERY_ALLOCATION");
    uint64_t random = (uint64_t)count;
    for (long at = 1, turn = 0; at <= count && (every || turn < 4 || pelt_wall_seconds() - start < 1); turn++) {
        check_run(j, at, turn % 2);
        if (every && turn % 2 == 0) continue;
        at += every ? 1 : 1 + (long)(test_random(&random) * (double)count / 8);
    }
}

static void every_verb_ends_well(void **state) {
    (void)state;
    if (getenv("ASAN_OPTIONS") || getenv("TSAN_OPTIONS")) skip(); /* they replace the allocator */
    if (!make_shim()) skip();
    assert_int_equal(pelt("sample arm --vertices 150 --frames 8 -o ."), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method ssd -o arm.pelt --quiet"), 0);
    assert_int_equal(
        pelt("fit arm.glb --train train --holdout 0 --blend joints --corrective kernel -o both.pelt --quiet"), 0);
    assert_int_equal(pelt("keys train arm.train.pc2 --keys 6 -o arm.keys --quiet"), 0);
    assert_int_equal(pelt("sample face -o f --vertices 60 --frames 24 --range-frames 12 --quiet"), 0);
    assert_int_equal(pelt("keys train f/face.train.npy --keys 6 -o f.keys --quiet"), 0);
    static const job jobs[] = {
        {"info arm.glb arm.pelt arm.keys arm.train.pc2 --json", "out.txt"},
        {"fit arm.glb --train train --method ssd --holdout 0 -o x.pelt", "x.pelt"},
        {"fit arm.glb --train train --method psd --json -o x.pelt", "x.pelt"},
        {"fit arm.glb --train train --method kernel --holdout 0 -o x.pelt", "x.pelt"},
        {"eval arm.pelt arm.glb --clip train -o x.pc2", "x.pc2"},
        {"eval arm.pelt arm.glb --clip train -o x.glb", "x.glb"},
        {"eval arm.pelt arm.glb --clip train -o xfolder", "xfolder"},
        {"measure arm.pelt arm.glb --clip test --json", "out.txt"},
        {"compare arm.glb --train train --test test --methods ssd,psd --report x.html --picture-size 64", NULL},
        {"export both.pelt arm.glb --clip train --targets 3 -o x.glb", "x.glb"},
        {"keys train arm.train.pc2 --keys 6 -o x.keys", "x.keys"},
        {"keys measure arm.keys arm.test.pc2", NULL},
        {"keys run f.keys f/face.test.csv --engine face --points 60 -o x.npy", "x.npy"},
        {"sample arm --vertices 100 --frames 4 -o xsample", "xsample"},
        {"view both.pelt arm.glb --export xview", "xview"},
    };
    bool page = !pelt("view arm.glb --export page");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs - !page; i++) without_some_allocations(&jobs[i]);
    print_message("%d runs, %d of them failed as they should\n", runs, failures);
    assert_true(failures > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_verb_ends_well)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
