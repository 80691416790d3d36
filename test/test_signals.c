/* test_signals.c: signals and failing writes end the program with nothing left behind, or with a message that says what is
   there; signals that are ignored do not. */

#include "test/program.h"
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static void pause_for(double seconds) {
    struct timespec length = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&length, NULL);
}

/* How many names in the test's folder begin so. */
static int named(const char *begin) {
    int count = 0;
    DIR *list = opendir(test_folder());
    for (struct dirent *entry; (entry = readdir(list));) count += !strncmp(entry->d_name, begin, strlen(begin));
    closedir(list);
    return count;
}

/* `pelt WORDS` in the test's folder, with its output in out.txt. */
static pid_t start(const char *words, bool ignores_hangup) {
    char line[3000];
    char *program = realpath(getenv("PELT_PROGRAM") ? getenv("PELT_PROGRAM") : "build/pelt", NULL);
    snprintf(line, sizeof line, "cd %s && TMPDIR=. exec %s %s >out.txt 2>err.txt", test_folder(), program, words);
    free(program);
    unlink(file_path("out.txt"));
    pid_t child = fork();
    if (!child) {
        if (ignores_hangup) signal(SIGHUP, SIG_IGN);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int end_of(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static pid_t start_server(bool ignores_hangup) {
    pid_t child = start("view arm.glb --no-browser", ignores_hangup);
    for (int i = 0; i < 1000; i++, pause_for(0.01)) {
        program_read("out.txt", program_output, sizeof program_output);
        if (strstr(program_output, "Ctrl-C")) return child;
    }
    fail_msg("no server");
    return child;
}

static bool has_page;

static void an_interrupted_export_leaves_nothing(void **state) {
    static const char all[] = "view arm.pelt arm.glb --export site --quiet";
    int stopped = 0;
    (void)state;
    if (!has_page) skip();
    for (int i = 0; i < 25; i++) {
        pid_t child = start(all, false);
        pause_for(0.02 + 0.01 * i);
        kill(child, i % 2 ? SIGINT : SIGTERM);
        int status = end_of(child);
        stopped += WIFSIGNALED(status);
        assert_int_equal(named("site.tmp-"), 0);
        assert_int_equal(named("site"), WIFEXITED(status));
        shell("rm -rf site");
    }
    assert_true(stopped > 5);
}

static void a_server_leaves_no_folder(void **state) {
    (void)state;
    if (!has_page) skip();
    for (int i = 0; i < 10; i++) {
        pid_t child = start_server(false);
        assert_int_equal(named("pelt-view."), 1);
        kill(child, SIGINT);
        if (i % 2) pause_for(0.002 * i), kill(child, SIGINT); /* again */
        end_of(child);
        assert_int_equal(named("pelt-view."), 0);
    }
    for (int i = 0; i < 10; i++) { /* early */
        pid_t child = start("view arm.glb --no-browser", false);
        pause_for(0.02 * i);
        kill(child, SIGTERM);
        end_of(child);
        assert_int_equal(named("pelt-view."), 0);
    }
}

/* Killed, it cannot; the next one does it, but takes nothing from those that live. */
static void folders_of_killed_servers_are_collected(void **state) {
    (void)state;
    if (!has_page) skip();
    pid_t dead = start_server(false);
    kill(dead, SIGKILL), end_of(dead);
    assert_int_equal(named("pelt-view."), 1);
    pid_t first = start_server(false), second = start_server(false);
    assert_int_equal(named("pelt-view."), 2);
    kill(first, SIGINT), kill(second, SIGINT);
    end_of(first), end_of(second);
    assert_int_equal(named("pelt-view."), 0);
}

static void an_ignored_hangup_is_ignored(void **state) {
    (void)state;
    if (!has_page) skip();
    pid_t child = start_server(true);
    kill(child, SIGHUP);
    pause_for(0.3);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGTERM);
    assert_true(WIFEXITED(end_of(child)));
    child = start_server(false);
    kill(child, SIGHUP);
    assert_true(WIFEXITED(end_of(child)));
}

/* Files that may not grow, and readers that have gone. */
static void failing_writes_are_said(void **state) {
    char text[100];
    (void)state;
    shell("(ulimit -f 8; %s sample arm --vertices 3000 --frames 8 -o large 2>limit.txt; echo $? >code.txt) || true",
          getenv("PELT_PROGRAM"));
    program_read("code.txt", text, sizeof text);
    assert_int_equal(atoi(text), 1);
    program_read("limit.txt", program_errors, sizeof program_errors);
    assert_non_null(strstr(program_errors, "File too large"));
    shell("(%s info arm.glb --json 2>limit.txt; echo $? >code.txt) | true; sleep 0.5", getenv("PELT_PROGRAM"));
    program_read("code.txt", text, sizeof text);
    program_read("limit.txt", program_errors, sizeof program_errors);
    assert_true(atoi(text) == 0 || strstr(program_errors, "cannot write to standard output"));
    assert_true(atoi(text) < 2);
}

/* A folder in the way of frame 3 stands for a disk that is full there. */
static void frames_that_are_missing_are_drawn_later(void **state) {
    static const char render[] = "render arm.pelt arm.glb --clip test --size 32 --quiet";
    (void)state;
    assert_int_equal(pelt("%s -o whole", render), 0);
    shell("mkdir -p part/frame_0003.png");
    assert_int_equal(pelt("%s -o part", render), 1);
    assert_non_null(strstr(program_errors, "part: has the first 3 of 40 frames; --resume draws"));
    shell("[ $(ls part | wc -l) = 4 ] && rmdir part/frame_0003.png && touch -d 2001-01-01 part/frame_0000.png");
    assert_int_equal(pelt("%s -o part --resume", render), 0);
    shell("diff -r whole part && [ $(find part -newermt 2002-01-01 -name '*.png' | wc -l) = 39 ]");
}

static int make_files(void **state) {
    (void)state;
    if (!getenv("PELT_PROGRAM")) setenv("PELT_PROGRAM", realpath("build/pelt", NULL), 1);
    assert_int_equal(pelt("sample arm --vertices 3000 --frames 40 -o ."), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method eigen --holdout 0 -o arm.pelt --quiet"), 0);
    has_page = !pelt("view arm.glb --export page");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_interrupted_export_leaves_nothing),
                                       cmocka_unit_test(a_server_leaves_no_folder),
                                       cmocka_unit_test(folders_of_killed_servers_are_collected),
                                       cmocka_unit_test(an_ignored_hangup_is_ignored),
                                       cmocka_unit_test(failing_writes_are_said),
                                       cmocka_unit_test(frames_that_are_missing_are_drawn_later)};
    return cmocka_run_group_tests(tests, make_files, NULL);
}
