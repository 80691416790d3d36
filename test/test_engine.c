/* test_engine.c: engines in separate processes: correct answers, and every kind of failure ends in a message while the
   caller lives on. */

#include "engine/engine.h"
#include "engine/process.h"
#include "engine/relay.h"
#include "rig/clock.h"
#include "samples/face.h"
#include "test/test.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { POINTS = 50, CONTROLS = 2 };

/* What all test engines compute: value c of point p is p + 100 c + the sum of the controls. */
static void check_values(const uint32_t *points, uint32_t count, const float *controls, const float *values) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < 3; c++)
            assert_near(values[3 * i + c], points[i] + 100.0 * c + controls[0] + controls[1], 1e-4);
}

static char *write_file(const char *name, const char *text) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

/* A Python engine; BODY sees controls and points and must set `values`, a list of 3 floats per point. */
static char *python_engine(const char *name, const char *body) {
    static char command[700];
    char text[4000];
    snprintf(text, sizeof text,
             "import sys, struct, os, time\n"
             "i, o = sys.stdin.buffer, sys.stdout.buffer\n"
             "o.write(b'pelt-engine 1 %d 3 %d\\n'); o.flush()\n"
             "while True:\n"
             "    head = i.read(12)\n"
             "    if len(head) < 12: break\n"
             "    _, nc, n = struct.unpack('=III', head)\n"
             "    controls = struct.unpack('=%%df' %% nc, i.read(4 * nc))\n"
             "    points = struct.unpack('=%%dI' %% n, i.read(4 * n))\n"
             "    values = [p + 100 * c + sum(controls) for p in points for c in range(3)]\n"
             "    %s\n"
             "    o.write(struct.pack('=II', 0x534e4150, n) + struct.pack('=%%df' %% (3 * n), *values)); o.flush()\n",
             POINTS, CONTROLS, body);
    snprintf(command, sizeof command, "pipe:python3 %s", write_file(name, text));
    return command;
}

static pelt_result ask(const char *what, const pelt_engine_options *options, pelt_error *error) {
    pelt_engine *engine = pelt_engine_open(what, options, error);
    if (!engine) return error->code;
    uint32_t points[7] = {3, 49, 0, 7, 8, 20, 33};
    float controls[CONTROLS] = {0.25f, 0.5f}, values[21];
    pelt_result result = pelt_engine_evaluate(engine, controls, points, 7, values, error);
    if (!result) check_values(points, 7, controls, values);
    if (result) { /* and it stays an error, without hanging */
        pelt_error again;
        if (result != PELT_ERROR_NUMBER)
            assert_int_not_equal(pelt_engine_evaluate(engine, controls, points, 7, values, &again), PELT_OK);
    }
    pelt_engine_close(engine);
    return result;
}

static void a_program_at_the_end_of_a_pipe_answers(void **state) {
    (void)state;
    pelt_error error;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        char *what = python_engine("good.py", "pass");
        assert_int_equal(ask(what, &(pelt_engine_options){.workers = workers}, &error), PELT_OK);
    }
}

static void failures_of_a_program_are_sentences(void **state) {
    (void)state;
    static const struct {
        const char *body, *word;
        pelt_result code;
    } cases[] = {
        {"os.kill(os.getpid(), 11)", "signal 11", PELT_ERROR_DATA},
        {"sys.exit(3)", "code 3", PELT_ERROR_DATA},
        {"time.sleep(100)", "did not answer within", PELT_ERROR_DATA},
        {"o.write(struct.pack('=II', 0x534e4150, n) + b'abcd'); o.flush(); sys.exit(0)", "middle of an answer",
         PELT_ERROR_DATA},
        {"n = n - 1; values = values[3:]", "answered with 6 points, but was asked for 7", PELT_ERROR_DATA},
        {"print('debugging here', flush=True)", "PANS", PELT_ERROR_DATA},
        {"values[4] = float('nan')", "point 49 that is not finite", PELT_ERROR_NUMBER},
        {"o.write(struct.pack('=II', 0x52524550, 9) + b'no licence'[:9]); o.flush(); time.sleep(1)", "no licenc",
         PELT_ERROR_DATA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_error error = {0};
        char name[20];
        snprintf(name, sizeof name, "bad%zu.py", i);
        pelt_result result =
            ask(python_engine(name, cases[i].body), &(pelt_engine_options){.timeout = i == 2 ? 1.5 : 20}, &error);
        assert_int_equal(result, cases[i].code);
        if (!strstr(error.text, cases[i].word)) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].word);
    }
}

static void a_program_that_says_no_hello_is_refused(void **state) {
    (void)state;
    pelt_error error;
    assert_null(pelt_engine_open("pipe:echo hello", NULL, &error));
    assert_non_null(strstr(error.text, "must begin with"));
    assert_null(pelt_engine_open("pipe:/no/such/program", NULL, &error));
    assert_null(pelt_engine_open("pipe:sleep 100", &(pelt_engine_options){.timeout = 0.2}, &error));
    assert_non_null(strstr(error.text, "0.2 s"));
    assert_null(pelt_engine_open("pipe:echo pelt-engine 1 0 3 1", NULL, &error));
    assert_null(pelt_engine_open("pipe:printf 'PERR\\012\\000\\000\\000no licence'", NULL, &error));
    assert_non_null(strstr(error.text, "says: no licence"));
    assert_null(pelt_engine_open("something", NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_ARGUMENT);
}

static char *shared_object(const char *name, const char *body) {
    static char path[300];
    char text[2000], command[900];
    snprintf(text, sizeof text,
             "#include <stdio.h>\n#include <unistd.h>\n"
             "unsigned pelt_points = %d, pelt_components = 3, pelt_controls = %d;\n"
             "int pelt_evaluate_points(const float *x, unsigned nx, const unsigned *p, unsigned n, float *v) {\n"
             "  for (unsigned i = 0; i < 3 * n; i++) v[i] = p[i / 3] + 100 * (i %% 3) + x[0] + x[1] + 0 * nx;\n"
             "  %s\n  return 0;\n}\n",
             POINTS, CONTROLS, body);
    char source[300];
    snprintf(source, sizeof source, "%s", write_file("engine.c", text));
    snprintf(path, sizeof path, "%s/%s.so", test_folder(), name);
    snprintf(command, sizeof command, "cc -O1 -shared -fPIC -o %s %s", path, source);
    if (system(command)) {
        print_message("skipped: no compiler here\n");
        return NULL;
    }
    return path;
}

static void a_shared_object_answers_and_may_break_in_its_own_process(void **state) {
    (void)state;
    pelt_error error;
    char *good = shared_object("good", "");
    if (!good) return;
    assert_int_equal(ask(good, &(pelt_engine_options){.workers = 2}, &error), PELT_OK);
    assert_int_equal(ask(shared_object("crash", "__builtin_trap();"), NULL, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "signal"));
    assert_int_equal(ask(shared_object("hang", "for (;;);"), &(pelt_engine_options){.timeout = 0.3}, &error),
                     PELT_ERROR_DATA);
    assert_int_equal(ask(shared_object("fails", "return 5;"), NULL, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "reported a failure"));
    assert_null(pelt_engine_open("/no/such/object.so", &(pelt_engine_options){.points = 4}, &error));
    assert_non_null(strstr(error.text, "says: /no/such/object.so: cannot open shared object file"));
    char command[900];
    snprintf(command, sizeof command, "echo 'int nothing;' | cc -shared -fPIC -o %s/empty.so -x c -", test_folder());
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/empty.so", test_folder());
    assert_null(pelt_engine_open(command, &(pelt_engine_options){.points = 4}, &error));
    assert_non_null(strstr(error.text, "undefined symbol: pelt_evaluate_points"));
}

static void the_face_is_the_same_for_any_number_of_workers(void **state) {
    (void)state;
    pelt_error error;
    float controls[FACE_CONTROLS] = {0}, one[600], three[600];
    controls[FACE_jawOpen] = 0.7f, controls[FACE_mouthSmileLeft] = 0.5f;
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        pelt_engine *engine =
            pelt_engine_open("face", &(pelt_engine_options){.workers = workers, .points = 200}, &error);
        assert_non_null(engine);
        assert_int_equal(pelt_engine_evaluate(engine, controls, NULL, 200, workers == 1 ? one : three, &error),
                         PELT_OK);
        assert_int_equal(pelt_engine_mesh(engine)->vertex_count, 200);
        pelt_engine_close(engine);
    }
    assert_memory_equal(one, three, sizeof one);
}

/* -- Limits -------------------------------------------------------------------------------------------------------- */

static void what_an_engine_says_is_believed_only_within_limits(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool good;
    } cases[] = {
        {"pelt-engine 1 5 3 0", true},
        {"pelt-engine 1 67108864 4 1048576", true}, /* the most */
        {"pelt-engine 1 67108865 1 2", false},
        {"pelt-engine 1 67108864 5 2", false},
        {"pelt-engine 1 4194304 64 2", true},
        {"pelt-engine 1 4294967295 64 2", false},
        {"pelt-engine 1 5 65 2", false},
        {"pelt-engine 1 5 3 1048577", false},
        {"pelt-engine 1 -5 3 2", false},
        {"pelt-engine 1 +5 3 2", false},
        {"pelt-engine 1 5 3 -2", false},
        {"pelt-engine 1 4294967301 3 2", false}, /* 5, in 32 bits */
        {"pelt-engine 1 18446744073709551621 3 2", false},
        {"pelt-engine 1 0 3 2", false},
        {"pelt-engine 1 5 0 2", false},
        {"pelt-engine 1 5 3", false},
        {"pelt-engine 1 5 3 2 7", false},
        {"pelt-engine 1 5  3 2", false},
        {"pelt-engine 2 5 3 2", false},
        {"", false},
    };
    uint32_t points, components, controls;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (pelt_engine_hello(cases[i].line, &points, &components, &controls) != cases[i].good)
            fail_msg("%s: %s", cases[i].line, cases[i].good ? "refused" : "believed");
    pelt_error error;
    assert_null(pelt_engine_open("pipe:echo pelt-engine 1 4294967295 64 2; sleep 9", NULL, &error));
    assert_non_null(strstr(error.text, "67108864 points"));
    assert_null(pelt_engine_open("pipe:echo pelt-engine 1 -5 3 2; sleep 9", NULL, &error));
}

static void the_time_limit_is_for_the_hellos_of_all_workers(void **state) {
    (void)state;
    pelt_error error;
    double start = pelt_wall_seconds();
    assert_null(pelt_engine_open("pipe:while sleep 0.05; do printf p; done",
                                 &(pelt_engine_options){.timeout = 0.3, .workers = 16}, &error));
    assert_non_null(strstr(error.text, "0.3 s"));
    assert_true(pelt_wall_seconds() - start < 3);
}

/* -- What it writes to standard error --------------------------------------------------------------------------------- */

/* Every way to cut a text in two, with characters of all lengths, invalid ones and a zero. */
static void words_of_engines_are_made_visible_wherever_they_are_cut(void **state) {
    (void)state;
    static const char said[] = "a\033[2J\tb\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\x9b\xff\xe2\x82q\0z\r\xe2";
    static const char expected[] =
        "a\\x1b[2J\tb\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\xc2\\x9b\\xff\\xe2\\x82q\\x00z\\x0d\\xe2";
    for (size_t cut = 0; cut < sizeof said; cut++) {
        int in[2], out[2];
        char got[200];
        assert_int_equal(pipe(in), 0);
        assert_int_equal(pipe(out), 0);
        pelt_relay relay = {.from = in[0], .to = out[1]};
        assert_int_equal(write(in[1], said, cut), cut);
        if (cut) pelt_relay_step(&relay);
        assert_int_equal(write(in[1], said + cut, sizeof said - 1 - cut), sizeof said - 1 - cut);
        close(in[1]);
        pelt_relay_finish(&relay);
        assert_int_equal(relay.from, -1);
        assert_int_equal(read(out[0], got, sizeof got), sizeof expected - 1);
        assert_memory_equal(got, expected, sizeof expected - 1);
        close(out[0]), close(out[1]);
    }
}

/* Runs an engine while standard error is a pipe; returns what has come through it. */
static size_t standard_error_of(const char *what, bool read_it, char *text, size_t size) {
    int ends[2], before = dup(2);
    pelt_error error;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], 2), close(ends[1]);
    pelt_engine *engine = pelt_engine_open(what, &(pelt_engine_options){.timeout = 20}, &error);
    pelt_engine_close(engine);
    dup2(before, 2), close(before);
    size_t length = 0;
    for (ssize_t got = 1; read_it && got > 0 && length<size - 1; length += got> 0 ? (size_t)got : 0)
        got = read(ends[0], text + length, size - 1 - length);
    text[length] = 0;
    close(ends[0]);
    assert_non_null(engine);
    return length;
}

static void what_an_engine_writes_to_standard_error_is_seen_and_not_obeyed(void **state) {
    (void)state;
    static char text[20000];
    standard_error_of("pipe:printf 'loading\\033[2J \\303\\251\\n' >&2; echo pelt-engine 1 5 3 0; cat >/dev/null; "
                      "echo 'the end' >&2",
                      true, text, sizeof text);
    assert_string_equal(text, "loading\\x1b[2J \xc3\xa9\nthe end\n");
    /* more than a pipe holds, with nobody reading: no reason to wait */
    double start = pelt_wall_seconds();
    standard_error_of("pipe:echo pelt-engine 1 5 3 0; head -c 300000 /dev/zero >&2; cat >/dev/null", false, text,
                      sizeof text);
    assert_true(pelt_wall_seconds() - start < 5);
}

/* -- Nothing is left running --------------------------------------------------------------------------------------- */

/* Some processes write their ids, one per line. */
static int read_numbers(const char *path, int *numbers, int most) {
    FILE *file = fopen(path, "r");
    int count = 0;
    while (file && count < most && fscanf(file, "%d", &numbers[count]) == 1) count++;
    if (file) fclose(file);
    return count;
}

static bool is_alive(int pid) {
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'X';
    if (file) fclose(file);
    return state != 'X' && state != 'Z';
}

static bool within(double limit, bool (*happens)(void *), void *user) {
    for (double start = pelt_wall_seconds(); pelt_wall_seconds() - start < limit;) {
        if (happens(user)) return true;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return happens(user);
}

typedef struct watched {
    char path[300];
    int expected, numbers[40];
} watched;

static bool all_have_started(void *user) {
    watched *w = user;
    return read_numbers(w->path, w->numbers, 40) >= w->expected;
}

static bool all_have_ended(void *user) {
    const watched *w = user;
    for (int i = 0; i < w->expected; i++)
        if (is_alive(w->numbers[i])) return false;
    return true;
}

/* An engine that started a child, and a child in another session, and then hangs, ignoring signals that can be
   ignored. */
static char *hanging_engine(const char *numbers) {
    static char command[1500];
    snprintf(
        command, sizeof command,
        "pipe:trap '' INT TERM HUP; echo $$ >> %s; (echo $(sh -c 'echo $PPID') >> %s; while :; do sleep 1; done) & "
        "setsid sh -c 'echo $$ >> %s; while :; do sleep 1; done' & "
        "echo pelt-engine 1 %d 3 %d; while :; do sleep 1; done",
        numbers, numbers, numbers, POINTS, CONTROLS);
    return command;
}

static void stop(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

/* A program that has engines open, and ends in some way. */
static void end_with_engines(const char *what, watched *w, uint32_t workers, int signal_number) {
    remove(w->path);
    pid_t program = fork();
    if (program == 0) {
        signal(SIGINT, stop);
        alarm(60); /* should the test itself fail */
        float controls[CONTROLS] = {0}, values[3 * POINTS];
        pelt_engine *engine = pelt_engine_open(what, &(pelt_engine_options){.workers = workers, .timeout = 20}, NULL);
        if (!engine) _exit(2);
        if (!signal_number) _exit(!within(20, all_have_started, w)); /* without closing anything */
        pelt_engine_evaluate(engine, controls, NULL, POINTS, values, NULL);
        for (;;) pause();
    }
    if (!within(20, all_have_started, w))
        fail_msg("%s: only %d processes", what, read_numbers(w->path, w->numbers, 40));
    for (int i = 0; i < w->expected && signal_number; i++) assert_true(is_alive(w->numbers[i]));
    if (signal_number) kill(program, signal_number);
    int status;
    waitpid(program, &status, 0);
    if (!within(3, all_have_ended, w)) fail_msg("%s: something lives on after signal %d", what, signal_number);
}

static void no_engine_outlives_its_program(void **state) {
    (void)state;
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM, 0};
    watched w = {.expected = 6};
    if (access("/proc/self/stat", R_OK)) skip();
    snprintf(w.path, sizeof w.path, "%s/numbers", test_folder());
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        end_with_engines(hanging_engine(w.path), &w, 2, signals[i]);
    char body[600];
    snprintf(body, sizeof body,
             "if (n) for (;;) pause(); return 0; }\n"
             "__attribute__((constructor)) static int hello(void) {\n"
             "FILE *f = fopen(\"%s\", \"a\"); fprintf(f, \"%%d\\n\", getpid()); fclose(f);",
             w.path);
    char *object = shared_object("hung", body);
    if (!object) return;
    w.expected = 3;
    end_with_engines(object, &w, 3, SIGKILL);
    end_with_engines(object, &w, 3, SIGINT);
}

static void closing_kills_what_hangs_and_all_that_it_started(void **state) {
    (void)state;
    watched w = {.expected = 12};
    pelt_error error;
    snprintf(w.path, sizeof w.path, "%s/numbers", test_folder());
    remove(w.path);
    pelt_engine *engine = pelt_engine_open(hanging_engine(w.path), &(pelt_engine_options){.workers = 4}, &error);
    if (!engine) fail_msg("%s", error.text);
    assert_true(within(20, all_have_started, &w));
    double start = pelt_wall_seconds();
    pelt_engine_close(engine);
    assert_true(pelt_wall_seconds() - start < 2); /* a tenth of a second for all, and a busy machine */
    assert_true(within(1, all_have_ended, &w));
}

static void closing_well_behaved_workers_takes_no_time(void **state) {
    (void)state;
    char *object = shared_object("quick", "");
    pelt_error error;
    if (!object) return;
    double best = 9;
    for (int turn = 0; turn < 5; turn++) {
        pelt_engine *engine = pelt_engine_open(object, &(pelt_engine_options){.workers = 8}, &error);
        if (!engine) fail_msg("%s", error.text);
        double start = pelt_wall_seconds();
        pelt_engine_close(engine);
        best = fmin(best, pelt_wall_seconds() - start);
    }
    assert_true(best < 0.08); /* it was 0.1 s for each */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_at_the_end_of_a_pipe_answers),
        cmocka_unit_test(failures_of_a_program_are_sentences),
        cmocka_unit_test(a_program_that_says_no_hello_is_refused),
        cmocka_unit_test(a_shared_object_answers_and_may_break_in_its_own_process),
        cmocka_unit_test(the_face_is_the_same_for_any_number_of_workers),
        cmocka_unit_test(what_an_engine_says_is_believed_only_within_limits),
        cmocka_unit_test(the_time_limit_is_for_the_hellos_of_all_workers),
        cmocka_unit_test(words_of_engines_are_made_visible_wherever_they_are_cut),
        cmocka_unit_test(what_an_engine_writes_to_standard_error_is_seen_and_not_obeyed),
        cmocka_unit_test(no_engine_outlives_its_program),
        cmocka_unit_test(closing_kills_what_hangs_and_all_that_it_started),
        cmocka_unit_test(closing_well_behaved_workers_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
