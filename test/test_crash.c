/* test_crash.c: kills the program at random moments. Afterwards the result is the complete old or new one; after a
   signal that can be caught nothing else is left, and after one that cannot, the next run cleans up. Running it again
   yields the bytes of an undisturbed run. */

#include "io/io.h"
#include "rig/clock.h"
#include "test/program.h"
#include <fcntl.h>
#include <signal.h>
#include <time.h>

enum { MOMENTS = 2 };
static const double most_seconds = 1; /* for one job: a slow machine kills less often */
static int kills, survived;

/* Starts `pelt WORDS` in the test's folder, kills it after some seconds, and returns whether it had ended before. */
static bool run_and_kill(const char *words, double seconds, int number) {
    const char *program = getenv("PELT_PROGRAM");
    char line[2000], here[1000] = "";
    if (!program) assert_non_null(getcwd(here, sizeof here));
    snprintf(line, sizeof line, "exec %s%s %s >/dev/null 2>&1", here, program ? program : "/build/pelt", words);
    pid_t child = fork();
    if (child == 0) {
        if (chdir(test_folder())) _exit(126);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))}, NULL);
    kill(child, number);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    kills++, survived += WIFEXITED(status);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFEXITED(status);
}

/* A job writes `result`, a file or a folder. `before` prepares what it finds there. */
static void kill_at_random_moments(const char *words, const char *result, const char *before) {
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM};
    static uint64_t random = 7;
    shell("rm -rf %s* new old", result);
    double start = pelt_wall_seconds();
    if (pelt("%s", words)) fail_msg("pelt %s: %s", words, program_errors);
    double whole = pelt_wall_seconds() - start;
    shell("cp -r %s new && rm -rf %s", result, result);
    if (*before) shell("%s && cp -r %s old", before, result);
    start = pelt_wall_seconds();
    for (int i = 0; i < 3 * MOMENTS && (i < 3 || pelt_wall_seconds() - start < most_seconds); i++) {
        int number = signals[i % 3];
        shell("rm -rf %s* && if [ -e old ]; then cp -r old %s; fi", result, result);
        bool ended = run_and_kill(words, whole * (i < 3 ? 0.95 : test_random(&random)), number);
        shell("if [ -e %s ]; then diff -r new %s >/dev/null || diff -r old %s >/dev/null; else ! [ -e old ]; fi",
              result, result, result);
        if (number != SIGKILL) shell("! ls %s.tmp-* >/dev/null 2>&1", result);
        if (ended) shell("diff -r new %s", result);
        if (pelt("%s", words)) fail_msg("again, pelt %s: %s", words, program_errors);
        shell("diff -r new %s && ! ls -d %s.* 2>/dev/null | grep -v '\\.frames$'", result, result);
    }
}

static void fits(void **state) {
    (void)state;
    kill_at_random_moments("fit arm.glb --train train --method psd --holdout 0 --quiet -o k.pelt", "k.pelt", "");
    kill_at_random_moments("fit arm.glb --train train --method ssd --holdout 0 --quiet -o k.pelt", "k.pelt",
                           "cp arm.pelt k.pelt");
}

static void exports(void **state) {
    (void)state;
    kill_at_random_moments("export arm.pelt arm.glb --clip train --quiet -o k.glb", "k.glb", "cp arm.glb k.glb");
}

static void folders_of_eval(void **state) {
    (void)state;
    kill_at_random_moments("eval arm.pelt arm.glb --clip train --quiet -o kfolder", "kfolder",
                           "mkdir kfolder && cp frames/frame_00000[0-4].obj kfolder");
}

static void trainings_of_keys(void **state) {
    (void)state;
    kill_at_random_moments("keys train arm.train.pc2 --keys 8 --quiet -o k.keys", "k.keys", "");
}

/* Training frames are checkpoints: complete, or absent. */
static void trainings_of_light(void **state) {
    (void)state;
#ifdef PELT_WITH_LIGHT
    static const char words[] =
        "relight train cornell --lights 3x3@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 48x48 --samples 64 "
        "--keys 8 --basis 4 --quiet -o k.light";
    kill_at_random_moments(words, "k.light", "");
    shell("rm -rf k.light*");
    if (pelt("%s", words)) fail_msg("%s", program_errors);
    shell("cp -r k.light.frames frames_whole && cp k.light new_light");
    uint64_t random = 3;
    for (int turn = 0; turn < 2; turn++) {
        shell("rm -rf k.light*");
        for (int i = 0; i < 3; i++) {
            run_and_kill(words, 0.02 + 0.1 * test_random(&random), i % 2 ? SIGKILL : SIGINT);
            shell("for f in $(ls k.light.frames 2>/dev/null | grep '^light.*pfm$'); do cmp k.light.frames/$f "
                  "frames_whole/$f "
                  "|| exit 1; done");
        }
        if (pelt("%s", words)) fail_msg("%s", program_errors);
        shell("cmp k.light new_light && diff -r k.light.frames frames_whole");
    }
#endif
}

/* Three programs append to one log and are killed: every completely written frame is there, and no other. */
static void logs_of_three_writers(void **state) {
    (void)state;
    char path[300];
    uint64_t random = 11;
    snprintf(path, sizeof path, "%s/three.misses", test_folder());
    for (int turn = 0; turn < 5; turn++) {
        int reports[2];
        assert_int_equal(pipe(reports), 0);
        pid_t writers[3];
        for (int w = 0; w < 3; w++) {
            writers[w] = fork();
            if (writers[w]) continue;
            float controls[2] = {(float)w}, values[300];
            pelt_misslog *log = pelt_misslog_open(path, NULL);
            for (int n = 0; log; n++) {
                controls[1] = (float)n;
                for (int i = 0; i < 300; i++) values[i] = (float)(turn * 100000 + w * 10000 + n);
                if (pelt_misslog_put(log, &(pelt_miss){2, 100, 3, 1, controls, values}, NULL)) break;
                if (write(reports[1], "x", 1) != 1) break;
            }
            _exit(1);
        }
        close(reports[1]);
        nanosleep(&(struct timespec){0, (long)(5e6 + 2e7 * test_random(&random))}, NULL);
        for (int w = 0; w < 3; w++) kill(writers[w], SIGKILL), kills++;
        for (int w = 0; w < 3; w++) waitpid(writers[w], NULL, 0);
        long put = 0;
        char letters[512];
        for (ssize_t got; (got = read(reports[0], letters, sizeof letters)) > 0;) put += got;
        close(reports[0]);
        pelt_arena *arena = pelt_arena_new(0);
        pelt_misses misses;
        assert_int_equal(pelt_misslog_read(arena, path, &misses, NULL), PELT_OK);
        long here = 0;
        for (size_t m = 0; m < misses.count; m++) {
            const pelt_miss *miss = &misses.list[m];
            if ((int)miss->values[0] / 100000 != turn) continue;
            for (int i = 0; i < 300; i++) assert_true(miss->values[i] == miss->values[0]);
            here++;
        }
        if (here < put || here > put + 3) fail_msg("%ld frames of the %ld that were put", here, put);
        pelt_arena_free(arena);
    }
}

static int make_sample(void **state) {
    (void)state;
    return pelt("sample arm --vertices 600 --frames 16 -o .") ||
           pelt("fit arm.glb --train train --method ssd -o arm.pelt --quiet") ||
           pelt("eval arm.pelt arm.glb --clip train -o frames");
}

static int tell(void **state) {
    (void)state;
    print_message("%d kills, %d of them too late\n", kills, survived);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits),
        cmocka_unit_test(exports),
        cmocka_unit_test(folders_of_eval),
        cmocka_unit_test(trainings_of_keys),
        cmocka_unit_test(trainings_of_light),
        cmocka_unit_test(logs_of_three_writers),
    };
    return cmocka_run_group_tests(tests, make_sample, tell);
}
