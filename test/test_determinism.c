/* test_determinism.c: the same bytes for any number of threads; and how far results may differ when OpenBLAS uses other
   kernels with different rounding (OPENBLAS_CORETYPE). It prints the figures of docs/reliability.md. */

#include "io/io.h"
#include "test/program.h"

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    static const char *const jobs[] = {
        "fit arm.glb --train train --method joints",
        "fit arm.glb --train train --method psd",
        "fit arm.glb --train train --method wpsd",
        "fit arm.glb --train train --method kernel",
        "keys train arm.train.pc2 --keys 8",
#ifdef PELT_WITH_LIGHT
        "relight train cornell --lights 2x2@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 16x16 --samples 32 --keys 8 "
        "--basis 3",
#endif
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        static const int threads[] = {1, 2, 5};
        shell("rm -rf t*.out*");
        for (int t = 0; t < 3; t++)
            if (pelt("%s --quiet --threads %d -o t%d.out", jobs[i], threads[t], t))
                fail_msg("%s: %s", jobs[i], program_errors);
        shell("cmp t0.out t1.out && cmp t0.out t2.out");
    }
}

/* The largest distance between the vertices of two caches, and their size. */
static double apart(const char *a, const char *b, double *size) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache caches[2];
    const char *names[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", test_folder(), names[i]);
        assert_int_equal(pelt_cache_read(arena, path, &caches[i], NULL), PELT_OK);
    }
    double worst = 0, low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9};
    for (size_t i = 0; i < (size_t)caches[0].frame_count * caches[0].point_count; i++) {
        double square = 0;
        for (int c = 0; c < 3; c++) {
            double x = caches[0].positions[3 * i + (size_t)c], y = caches[1].positions[3 * i + (size_t)c];
            square += (x - y) * (x - y), low[c] = fmin(low[c], x), high[c] = fmax(high[c], x);
        }
        worst = fmax(worst, sqrt(square));
    }
    *size = hypot(hypot(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    pelt_arena_free(arena);
    return worst;
}

static void kernels_of_openblas_change_little(void **state) {
    (void)state;
    static const char *const methods[] = {"ssd", "joints", "psd", "wpsd", "kernel"};
    static const double most[] = {0, 1e-2, 0, 1e-5, 1e-4}; /* of the size; 0: the same bytes */
    static const char *const kernels[] = {"Prescott", "Nehalem", "Haswell"};
    for (int m = 0; m < 5; m++) {
        double worst = 0, size = 1;
        for (int k = 0; k < 3; k++) {
            setenv("OPENBLAS_CORETYPE", kernels[k], 1);
            int failed = pelt("fit arm.glb --train train --method %s --holdout 0 --quiet -o k%d.pelt", methods[m], k);
            unsetenv("OPENBLAS_CORETYPE");
            if (failed) fail_msg("%s: %s", methods[m], program_errors);
            assert_int_equal(pelt("eval k%d.pelt arm.glb --clip test --quiet -o k%d.pc2", k, k), 0);
            char name[20];
            snprintf(name, sizeof name, "k%d.pc2", k);
            if (k) worst = fmax(worst, apart("k0.pc2", name, &size));
            if (k && most[m] == 0) shell("cmp k0.pelt k%d.pelt", k);
        }
        print_message("%-6s vertices of unseen poses are up to %.2g of the character's size apart\n", methods[m],
                      worst / size);
        assert_true(worst / size <= most[m]);
    }
}

static int make_sample(void **state) {
    (void)state;
    return pelt("sample arm --vertices 400 --frames 24 -o .");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(kernels_of_openblas_change_little),
    };
    return cmocka_run_group_tests(tests, make_sample, NULL);
}
