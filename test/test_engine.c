/* test_engine.c: engines in processes of their own: right answers, and every way to fail ends in a sentence while the
   caller lives. */

#include "engine/engine.h"
#include "samples/face.h"
#include "test/test.h"

enum { POINTS = 50, CONTROLS = 2 };

/* What all test engines compute: value c of point p is p + 100 c + the controls' sum. */
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
    assert_non_null(strstr(error.text, "did not begin with"));
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
    char text[1000], command[900];
    snprintf(text, sizeof text,
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
    assert_non_null(strstr(error.text, "reports a failure"));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_at_the_end_of_a_pipe_answers),
        cmocka_unit_test(failures_of_a_program_are_sentences),
        cmocka_unit_test(a_program_that_says_no_hello_is_refused),
        cmocka_unit_test(a_shared_object_answers_and_may_break_in_its_own_process),
        cmocka_unit_test(the_face_is_the_same_for_any_number_of_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
