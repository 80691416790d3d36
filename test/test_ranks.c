/* test_ranks.c: `pelt-mpi` under mpirun gives the same bytes as `pelt` for any number of ranks; work that is killed goes on;
   ranks that differ, or one that fails, end all with one sentence. */

#include "rig/clock.h"
#include "test/program.h"
#include <pelt/pelt.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

static const char *folder_of_programs(void) {
    static char folder[4096];
    char *program = realpath(getenv("PELT_PROGRAM") ? getenv("PELT_PROGRAM") : "build/pelt", NULL);
    assert_non_null(program);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(program, '/') - program), program);
    free(program);
    return folder;
}

static void need_mpi(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/pelt-mpi", folder_of_programs());
    if (!access(path, X_OK) && !system("mpirun --version >/dev/null 2>&1")) return;
    print_message("skipped: pelt-mpi or mpirun is not here\n");
    skip();
}

#define MPIRUN                                                                                                         \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 mpirun --oversubscribe --bind-to none -n "

/* `WRAPPER pelt-mpi WORDS` on some ranks in the test's folder; the exit code. */
static int ranks(int count, const char *wrapper, const char *words) {
    char line[4000];
    snprintf(line, sizeof line, "cd %s && " MPIRUN "%d %s %s/pelt-mpi %s >out.txt 2>err.txt", test_folder(), count,
             wrapper, folder_of_programs(), words);
    int status = system(line);
    program_read("out.txt", program_output, sizeof program_output);
    program_read("err.txt", program_errors, sizeof program_errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_same_files(const char *a, const char *b) {
    char line[1000];
    snprintf(line, sizeof line, "cd %s && cmp %s %s", test_folder(), a, b);
    if (system(line)) fail_msg("%s and %s differ", a, b);
}

/* How often a text occurs. */
static int times(const char *text, const char *word) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) count++;
    return count;
}

static void make_arm(void) {
    if (access(file_path("arm.glb"), R_OK))
        assert_int_equal(pelt("sample arm --vertices 400 --frames 24 -o . --quiet"), 0);
}

/* -- The same bytes ---------------------------------------------------------------------------------------------------- */

static void every_method_gives_the_same_bytes_on_any_number_of_ranks(void **state) {
    (void)state;
    static const char *const methods[] = {
        "ssd --blend fit", "ssd --blend fit --smooth 0", "joints", "psd", "wpsd", "wpsd --poses 6", "eigen",
        "kernel",          "kernel --family kernel"};
    need_mpi();
    test_only_at_full_speed();
    make_arm();
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char words[300];
        assert_int_equal(pelt("fit arm.glb --train train --method %s --threads 1 --quiet -o one.pelt", methods[i]), 0);
        for (int count = i ? 2 + (int)i % 3 : 1; count <= 4; count += 3) { /* one rank is the same code for all */
            snprintf(words, sizeof words, "fit arm.glb --train train --method %s --threads 1 --quiet -o many.pelt",
                     methods[i]);
            if (ranks(count, "", words)) fail_msg("%s: %s", words, program_errors);
            assert_same_files("one.pelt", "many.pelt");
        }
    }
}

static void so_do_choices_measures_key_points_and_flesh(void **state) {
    (void)state;
    static const struct {
        const char *words, *output;
    } cases[] = {
        {"fit arm.glb --train train --every 2 --budget \"200 kB\" --threads 1 --quiet", "skin.pelt"},
        {"keys train f/face.train.csv --engine face --points 300 --mesh f/face.glb --keys 6 --quiet", "face.keys"},
        {"flesh arm.glb --clip test --every 12 --resolution 100 --threads 1 --quiet", "flesh.glb"},
#ifdef PELT_WITH_LIGHT
        {"relight train cornell --lights 2x2@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 8x8 --samples 32 --keys 4 "
         "--basis 3 --quiet",
         "box.keys"},
#endif
    };
    need_mpi();
    test_only_at_full_speed();
    make_arm();
    shell("mkdir -p f");
    assert_int_equal(pelt("sample face --vertices 300 --frames 60 --range-frames 30 -o f --quiet"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[400], kept[100];
        if (pelt("%s -o %s", cases[i].words, cases[i].output)) fail_msg("%s: %s", cases[i].words, program_errors);
        snprintf(kept, sizeof kept, "one.%s", cases[i].output);
        shell("mv %s %s; rm -rf *.frames", cases[i].output, kept);
        snprintf(words, sizeof words, "%s -o %s", cases[i].words, cases[i].output);
        if (ranks(3, "", words)) fail_msg("%s: %s", words, program_errors);
        assert_same_files(kept, cases[i].output);
    }
    assert_int_equal(pelt("measure one.skin.pelt arm.glb --clip test --json"), 0);
    shell("cp out.txt one.json");
    assert_int_equal(ranks(2, "", "measure one.skin.pelt arm.glb --clip test --json"), 0);
    assert_same_files("one.json", "out.txt"); /* one rank speaks */
}

/* -- Killed ------------------------------------------------------------------------------------------------------------ */

static void pause_for(double seconds) {
    struct timespec length = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&length, NULL);
}

/* Kills the youngest rank, or all of the job, some seconds after its start. */
static void kill_after(double seconds, bool all) {
    char line[1200];
    snprintf(
        line, sizeof line,
        "cd %s && { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none "
        "-n 2 sh -c 'echo $$ >>pids; exec %s/pelt-mpi fit arm.glb --train train --method joints --threads 1 "
        "--quiet --resume -o killed.pelt' >/dev/null 2>&1 & echo $! >job; }",
        test_folder(), folder_of_programs());
    shell("rm -f pids && touch pids");
    assert_int_equal(system(line), 0);
    pause_for(seconds);
    shell("%s tail -n 1 pids | xargs -r kill -9 2>/dev/null; %s true", all ? "kill -9 $(cat job) 2>/dev/null;" : "",
          all ? "xargs -r kill -9 <pids 2>/dev/null;" : "");
    shell("for p in $(cat job pids); do while kill -0 $p 2>/dev/null; do sleep 0.02; done; done");
}

/* PELT_KILLS: how many jobs are killed before they are done; a few, done or not, unless set. At any moment of the job's time, by turns a rank and the whole job, and
   sometimes again when it goes on. */
static void a_job_that_was_killed_goes_on_to_the_same_bytes(void **state) {
    (void)state;
    int most = getenv("PELT_KILLS") ? atoi(getenv("PELT_KILLS")) : 3, killed = 0, kept = 0;
    need_mpi();
    test_only_at_full_speed();
    make_arm();
    double start = pelt_wall_seconds();
    if (ranks(2, "", "fit arm.glb --train train --method joints --threads 1 --quiet --resume -o one.pelt"))
        fail_msg("%s", program_errors);
    double whole = pelt_wall_seconds() - start;
    assert_int_equal(pelt("fit arm.glb --train train --method joints --threads 1 --quiet -o alone.pelt"), 0);
    assert_same_files("alone.pelt", "one.pelt");
    srand((unsigned)most);
    for (int i = 0; i < most || (getenv("PELT_KILLS") && killed < most && i < 10 * most); i++) {
        shell("rm -f killed.pelt killed.pelt.checkpoint");
        for (int k = 0; k < 1 + i % 2 && access(file_path("killed.pelt"), R_OK); k++) {
            kill_after(whole * rand() / RAND_MAX, i % 3 == 0);
            if (!access(file_path("killed.pelt"), R_OK)) assert_same_files("one.pelt", "killed.pelt");
        }
        killed += access(file_path("killed.pelt"), R_OK) != 0;
        kept += !access(file_path("killed.pelt.checkpoint"), R_OK);
        if (ranks(1 + i % 2, "",
                  "fit arm.glb --train train --method joints --threads 1 --quiet --resume -o killed.pelt"))
            fail_msg("%s", program_errors);
        assert_same_files("one.pelt", "killed.pelt");
        assert_int_equal(access(file_path("killed.pelt.checkpoint"), F_OK), -1);
    }
    if (getenv("PELT_KILLS"))
        print_message("%d jobs were killed before they were done, %d of them with a checkpoint\n", killed, kept);
}

/* Leaves a whole checkpoint behind: the skin cannot be written. */
static void make_checkpoint(void) {
    shell("rm -rf kept.pelt kept.pelt.checkpoint && mkdir kept.pelt");
    assert_int_equal(pelt("fit arm.glb --train train --method wpsd --threads 1 --quiet --resume -o kept.pelt"), 1);
    assert_int_equal(access(file_path("kept.pelt.checkpoint"), R_OK), 0);
    shell("rmdir kept.pelt && mv kept.pelt.checkpoint whole");
}

static void a_damaged_checkpoint_is_made_good(void **state) {
    (void)state;
    test_only_at_full_speed();
    make_arm();
    assert_int_equal(pelt("fit arm.glb --train train --method wpsd --threads 1 --quiet -o one.pelt"), 0);
    make_checkpoint();
    static const char *const damages[] = {"true",
                                          "truncate -s -1 x",
                                          "truncate -s 40 x",
                                          "truncate -s 16 x",
                                          "truncate -s 7 x",
                                          "printf '\\377' | dd of=x bs=1 seek=17 conv=notrunc",
                                          "printf '\\377' | dd of=x bs=1 seek=30 conv=notrunc",
                                          "printf '\\377' | dd of=x bs=1 seek=$(($(stat -c %s x) / 2)) conv=notrunc",
                                          "dd if=/dev/urandom of=x bs=1 seek=16 count=600 conv=notrunc"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        shell("cp whole x; { %s; } 2>/dev/null; mv x kept.pelt.checkpoint", damages[i]);
        if (pelt("fit arm.glb --train train --method wpsd --threads 2 --quiet --resume -o kept.pelt"))
            fail_msg("%s: %s", damages[i], program_errors);
        assert_same_files("one.pelt", "kept.pelt");
    }
}

static void a_checkpoint_of_other_work_is_refused(void **state) {
    (void)state;
    test_only_at_full_speed();
    make_arm();
    make_checkpoint();
    static const char *const others[] = {"--train train --method psd", "--train test --method wpsd",
                                         "--train train --method wpsd --seed 3"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        shell("cp whole kept.pelt.checkpoint");
        assert_int_equal(pelt("fit arm.glb %s --resume -o kept.pelt", others[i]), 1);
        assert_non_null(strstr(program_errors, "kept.pelt.checkpoint: is the checkpoint of a fit with other options"));
        assert_same_files("whole", "kept.pelt.checkpoint");
    }
    shell("echo hello, this is something else >kept.pelt.checkpoint");
    assert_int_equal(pelt("fit arm.glb --train train --method wpsd --resume -o kept.pelt"), 1);
    assert_non_null(strstr(program_errors, "is not a pelt checkpoint"));
}

/* -- Ranks that differ, and ranks that fail ----------------------------------------------------------------------------- */

/* Rank 1 does something before it starts. */
static int with_rank_1(const char *does, const char *words) {
    char wrapper[500];
    shell("printf '%%s\\n' '[ $OMPI_COMM_WORLD_RANK = 1 ] && { %s; }' 'exec \"$@\"' >wrapper", does);
    snprintf(wrapper, sizeof wrapper, "sh %s", file_path("wrapper"));
    return ranks(2, wrapper, words);
}

/* The same program, but with a ~ in its version. */
static void make_other_version(void) {
    char pattern[100] = "";
    for (const char *at = PELT_VERSION; *at; at++) {
        size_t length = strlen(pattern);
        snprintf(pattern + length, sizeof pattern - length, "[%c]", *at);
    }
    shell("LC_ALL=C sed 's/%s/~%s/g' %s/pelt-mpi >other_version && chmod +x other_version", pattern, &PELT_VERSION[1],
          folder_of_programs());
}

static void one_rank_says_what_is_wrong(void **state) {
    (void)state;
    need_mpi();
    test_only_at_full_speed();
    make_arm();
    shell("mkdir -p empty other && cp arm.glb arm.train.pc2 other && "
          "printf x | dd of=other/arm.train.pc2 bs=1 seek=64 conv=notrunc 2>/dev/null");
    make_other_version();
    make_checkpoint();
    shell("mv whole kept.pelt.checkpoint");
    static const struct {
        const char *does, *words, *said;
    } cases[] = {
        {"true", "fit arm.glb --train nothing --method psd -o x.pelt", "pelt: arm.glb: there is no clip nothing"},
        {"true", "eval x.pelt arm.glb --clip train -o x.pc2", "pelt: pelt eval cannot run on several ranks"},
        {"cd other", "fit arm.glb --train train --method psd -o x.pelt",
         "pelt: rank 1 does not do the same work as rank 0"},
        {"set -- \"$@\" --poses 5", "fit arm.glb --train train --method psd -o x.pelt",
         "pelt: rank 1 does not do the same work as rank 0"},
        {"shift; set -- $PWD/other_version \"$@\"", "fit arm.glb --train train --method psd -o x.pelt",
         "pelt: rank 1 does not do the same work as rank 0: their versions of pelt"},
        {"true", "fit arm.glb --train train --method psd --memory 1M -o x.pelt",
         "pelt: --memory: 1048576 bytes are too few; the least that works is 320M"},
        {"true", "fit arm.glb --train train --method psd --resume -o kept.pelt",
         "pelt: kept.pelt.checkpoint: is the checkpoint of a fit with other options"},
        {"cd empty", "fit arm.glb --train train --method psd -o x.pelt", ": pelt: arm.glb: cannot be opened"},
        {"ulimit -v 300000", "fit arm.glb --train train --method psd -o x.pelt", "pelt: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = with_rank_1(cases[i].does, cases[i].words);
        if (!code || !strstr(program_errors, cases[i].said) || times(program_errors, "pelt: ") != 1)
            fail_msg("%s: %d, %s", cases[i].does, code, program_errors);
        assert_int_equal(access(file_path("x.pelt"), F_OK), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_gives_the_same_bytes_on_any_number_of_ranks),
        cmocka_unit_test(so_do_choices_measures_key_points_and_flesh),
        cmocka_unit_test(a_job_that_was_killed_goes_on_to_the_same_bytes),
        cmocka_unit_test(a_damaged_checkpoint_is_made_good),
        cmocka_unit_test(a_checkpoint_of_other_work_is_refused),
        cmocka_unit_test(one_rank_says_what_is_wrong),
    };
    if (getenv("PELT_KILLS")) cmocka_set_test_filter("a_job_that_was_killed*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
