/* test_keys_cli.c: `pelt keys` as users see it, on the built-in face. */

#include "test/test.h"
#include <jansson.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Runs a command in the test's folder; returns its exit code. PELT stands for the program. */
static int run(const char *format, ...) {
    char words[2000], line[3000], *at;
    const char *program = getenv("PELT_PROGRAM");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    at = strstr(words, "PELT ");
    assert_non_null(at);
    snprintf(line, sizeof line, "cd %s && %.*s%s %s", test_folder(), (int)(at - words), words,
             program ? program : "build/pelt", at + 5);
    int status = system(line);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *slurp(const char *name) {
    static char text[200000];
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static double number(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value)) fail_msg("\"%s\" is missing", name);
    return json_number_value(value);
}

static int make_face(void **state) {
    (void)state;
    if (run("PELT sample face -o f --vertices 700 --frames 240 --range-frames 120 --hold-out jawOpen,slide1 --quiet"))
        return 1;
    return run("PELT keys train f/face.train.npy f/face.range.npy --mesh f/face.glb --keys 40 -o face.keys --quiet");
}

static void info_says_what_a_keys_file_holds(void **state) {
    (void)state;
    assert_int_equal(run("PELT info face.keys --json > i.json"), 0);
    json_t *all = json_loads(slurp("i.json"), 0, NULL), *info = json_array_get(json_object_get(all, "files"), 0);
    assert_string_equal(json_string_value(json_object_get(info, "kind")), "keys");
    assert_near(number(info, "points"), 700, 0);
    assert_near(number(info, "keys"), 40, 0);
    assert_near(number(info, "components"), 3, 0);
    assert_near(number(info, "controls"), 102, 0);
    json_decref(all);
}

static void measure_prints_what_the_contract_promises(void **state) {
    (void)state;
    assert_int_equal(
        run("PELT keys measure face.keys f/face.test.npy --mesh f/face.glb --report r.html --json > m.json"), 0);
    json_t *m = json_loads(slurp("m.json"), 0, NULL);
    assert_non_null(m);
    static const char *const names[] = {
        "points", "keys", "basis", "frames", "max_fraction_p995", "rms_fraction", "hit_rate", "missed_bad_frames"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) number(m, names[i]);
    assert_near(number(m, "points"), 700, 0);
    assert_near(number(m, "keys"), 40, 0);
    assert_near(number(m, "frames"), 240, 0);
    assert_true(number(m, "max_fraction_p995") < 0.05);
    assert_true(json_is_null(json_object_get(m, "speedup"))); /* nobody said what the rig costs */
    /* The page shows the worst frames, with the largest error of all above one of them. */
    double worst = 100 * number(m, "max_fraction");
    char line[600];
    snprintf(
        line, sizeof line,
        "cd %s && grep -q 'worst of the keys alone' r.html && grep -q 'max %.*f&#8239;%%' r.html && grep -q 'worst "
        "that was trusted' r.html && grep -q 'at two thirds' r.html",
        test_folder(), 2 - (int)floor(log10(worst)), worst);
    assert_int_equal(system(line), 0);
    json_decref(m);
    /* An engine with more points than the keys, for the cost of a point. */
    assert_int_equal(run("PELT keys measure face.keys f/face.test.npy --engine face --points 900 > m.txt"), 0);
    assert_null(strstr(slurp("m.txt"), ", 0 us per point"));
    assert_non_null(strstr(slurp("m.txt"), "times faster"));
    assert_int_equal(run("PELT keys measure face.keys f/face.test.npy > m.txt"), 0);
    assert_null(strstr(slurp("m.txt"), "times faster"));
}

static void frames_from_files_and_from_the_engine_are_the_same(void **state) {
    (void)state;
    assert_int_equal(
        run("PELT keys train f/face.train.csv f/face.range.csv --engine face --points 700 --mesh f/face.glb "
            "--keys 40 -o engine.keys --quiet"),
        0);
    assert_int_equal(run("cmp face.keys engine.keys && PELT --version > v.txt"), 0);
}

static void running_gives_what_measure_says_and_logs_what_it_misses(void **state) {
    (void)state;
    /* trained without two controls: their frames are missed */
    assert_int_equal(
        run("PELT keys train f/face.train-without.npy f/face.range-without.npy --mesh f/face.glb --keys 40 "
            "-o without.keys --quiet"),
        0);
    assert_int_equal(
        run("PELT keys run without.keys f/face.test.csv --engine face --points 700 -o out.npy --log x.misses "
            "--json > run.json"),
        0);
    json_t *r = json_loads(slurp("run.json"), 0, NULL);
    double missed = number(r, "misses") + number(r, "blends") + number(r, "parts"), logged = number(r, "logged");
    assert_true(logged > 5 && logged <= missed);
    assert_near(number(r, "hits") + missed, 240, 0);
    double heard = number(r, "witnesses_per_frame"), hits = number(r, "hits");
    json_decref(r);
    struct stat log;
    char path[300];
    snprintf(path, sizeof path, "%s/x.misses", test_folder());
    assert_int_equal(stat(path, &log), 0);
    assert_near((double)log.st_size, logged * (44 + 4 * (102 + 2100) + 8), 0);
    assert_int_equal(run("PELT keys train x.misses --from without.keys --keys 50 -o again.keys --quiet"), 0);
    assert_int_equal(run("PELT keys measure without.keys f/face.test.npy --json > a.json"), 0);
    json_t *a = json_loads(slurp("a.json"), 0, NULL);
    assert_int_equal(run("PELT keys measure again.keys f/face.test.npy --json > b.json"), 0);
    json_t *b = json_loads(slurp("b.json"), 0, NULL);
    assert_true(number(b, "max_fraction_p995") < 0.7 * number(a, "max_fraction_p995"));
    /* Measuring uses the controls like running does; without them, a clip uses fewer witnesses. */
    assert_int_equal(run("cp f/face.test.npy bare.npy && PELT keys measure without.keys bare.npy --json > c.json"), 0);
    json_t *c = json_loads(slurp("c.json"), 0, NULL);
    assert_near(number(a, "witnesses_per_frame"), heard, 1e-9);
    assert_near(number(a, "hits"), hits, 0); /* one verdict, whoever plays the clip */
    assert_true(number(c, "witnesses_per_frame") < 0.5 * heard);
    json_decref(a), json_decref(b), json_decref(c);
}

static void an_engine_that_dies_ends_the_run_and_keeps_the_log(void **state) {
    (void)state;
    assert_int_equal(
        run("PELT keys run face.keys f/face.test.csv --engine 'pipe:echo pelt-engine 1 700 3 102' -o no.npy "
            "--log kept.misses 2> e.txt"),
        1);
    assert_non_null(strstr(slurp("e.txt"), "stopped when it was asked for points"));
    char path[300];
    snprintf(path, sizeof path, "%s/no.npy", test_folder());
    assert_int_not_equal(access(path, F_OK), 0);
}

static void misuse_is_told_apart_from_failure(void **state) {
    (void)state;
    assert_int_equal(run("PELT keys dance f/face.test.npy 2> e.txt"), 2);
    assert_int_equal(run("PELT keys train f/face.train.npy 2> e.txt"), 2);
    assert_non_null(strstr(slurp("e.txt"), "-o FILE.keys"));
    assert_int_equal(run("PELT keys train f/face.train.npy --error 300 -o x.keys 2> e.txt"), 2);
    assert_int_equal(run("PELT keys train f/face.train.csv -o x.keys 2> e.txt"), 2);
    assert_non_null(
        strstr(slurp("e.txt"), "engine: is missing; name an engine to turn the controls in f/face.train.csv"));
    assert_int_equal(run("PELT keys train f/face.train.npy --keys 701 -o x.keys 2> e.txt"), 2);
    assert_non_null(strstr(slurp("e.txt"), "701 keys were requested, but there are only 700 points"));
    assert_int_equal(run("PELT keys train f/face.train.npy --fiducials 3,nose -o x.keys 2> e.txt"), 2);
    assert_non_null(strstr(slurp("e.txt"), "--fiducials 3,nose: expected point numbers"));
    assert_int_equal(run("PELT keys train f/face.train.npy --fiducials 3,700 -o x.keys 2> e.txt"), 2);
    assert_non_null(strstr(slurp("e.txt"), "point 700 does not exist"));
    assert_int_equal(run("PELT keys train f/face.train.npy --recipe soup -o x.keys 2> e.txt"), 2);
    assert_non_null(strstr(slurp("e.txt"), "--recipe soup: expected pelt or paper"));
    assert_int_equal(run("PELT keys train f/face.train.npy --keys 20 --error 0.01 -o x.keys 2> e.txt"), 2);
    assert_int_equal(run("PELT keys measure f/face.glb f/face.test.npy 2> e.txt"), 1);
    assert_int_equal(run("PELT keys measure face.keys nothing.npy 2> e.txt"), 1);
    assert_int_equal(run("PELT keys run face.keys f/face.test.npy 2> e.txt"), 2);
    assert_int_equal(run("PELT keys train f/face.train.npy --engine soup -o x.keys 2> e.txt"), 2);
}

static void write_file(const char *name, const void *bytes, size_t size) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void shots_are_whole_numbers(void **state) {
    (void)state;
    static const char *const bad[] = {"-1", "0.5", "1e20", "4294967296"};
    for (int i = 0; i < 4; i++) {
        char table[100];
        snprintf(table, sizeof table, "a,shot\n1,0\n2,%s\n", bad[i]);
        write_file("shots.csv", table, strlen(table));
        assert_int_equal(run("PELT keys train shots.csv --engine 'pipe:echo pelt-engine 1 9 3 1' -o x.keys 2> e.txt"),
                         1);
        assert_non_null(strstr(slurp("e.txt"), "the shot of frame 1"));
    }
}

/* The same clip with its columns the other way round, and with one that nobody knows. */
static void controls_are_matched_by_name(void **state) {
    (void)state;
    assert_int_equal(run("awk -F, '{ s = $NF; for (i = NF - 1; i; i--) s = s \",\" $i; print s }' f/face.test.csv > "
                         "turned.csv && cp f/face.test.npy turned.npy && sed '1s/jawOpen/jawDrop/' f/face.test.csv > "
                         "other.csv && cp f/face.test.npy other.npy && PELT --version > v.txt"),
                     0);
    static const char *const how[] = {"measure face.keys f/face.test.npy", "measure face.keys turned.npy",
                                      "run face.keys turned.csv --engine face --points 700"};
    double hits[3], heard[3];
    for (int i = 0; i < 3; i++) {
        char line[300];
        snprintf(line, sizeof line, "PELT keys %s --json > t.json", how[i]);
        assert_int_equal(run(line), 0);
        json_t *m = json_loads(slurp("t.json"), 0, NULL);
        hits[i] = number(m, "hits"), heard[i] = number(m, "witnesses_per_frame");
        json_decref(m);
        assert_near(hits[i], hits[0], 0);
        assert_near(heard[i], heard[0], 1e-9);
    }
    assert_int_equal(run("PELT keys measure face.keys other.npy 2> e.txt"), 1);
    assert_non_null(strstr(slurp("e.txt"), "has a control \"jawDrop\", which the training data does not have"));
    assert_int_equal(run("PELT keys run face.keys other.csv --engine face --points 700 2> e.txt"), 1);
    assert_non_null(strstr(slurp("e.txt"), "has a control \"jawDrop\", which the engine does not have"));
}

/* The same rig with more points has others in the places of the keys. */
static void an_engine_of_other_points_is_refused(void **state) {
    (void)state;
    assert_int_equal(run("PELT keys run face.keys f/face.test.csv --engine face --points 900 -o no.pc2 2> e.txt"), 1);
    assert_non_null(strstr(slurp("e.txt"), "the engine has 900 points of 3 values, but the key points were trained on "
                                           "700 points of 3"));
}

/* A point cache of 8 frames of 40 points, with one value of 3e38. */
static void a_value_beyond_all_others_is_refused(void **state) {
    (void)state;
    float head[8 + 8 * 120];
    memset(head, 0, sizeof head);
    memcpy(head, "POINTCACHE2", 12);
    uint32_t numbers[] = {1, 40};
    memcpy(head + 3, numbers, 8);
    head[5] = 0, head[6] = 1;
    memcpy(head + 7, &(uint32_t){8}, 4);
    for (int i = 0; i < 8 * 120; i++) head[8 + i] = (float)((i * 7919) % 1000) / 1000;
    write_file("fine.pc2", head, sizeof head);
    head[8 + 5 * 120 + 30] = 3e38f;
    write_file("huge.pc2", head, sizeof head);
    assert_int_equal(run("PELT keys train fine.pc2 --keys 8 -o x.keys > o.txt 2> e.txt"), 0);
    assert_int_equal(run("PELT keys train huge.pc2 --keys 8 -o x.keys > o.txt 2> e.txt"), 1);
    assert_non_null(strstr(slurp("e.txt"), "frame 5, point 10"));
    assert_non_null(strstr(slurp("e.txt"), "beyond 1e15"));
}

static void keys_on_one_mesh_drive_another(void **state) {
    (void)state;
    assert_int_equal(run("PELT sample face -o g --vertices 300 --frames 240 --range-frames 120 --quiet"), 0);
    assert_int_equal(run("PELT keys train g/face.train.npy --with f/face.train.npy --keys 30 -o cross.keys --quiet"),
                     0);
    assert_int_equal(run("PELT keys measure cross.keys g/face.train.npy --with f/face.train.npy --json > c.json"), 0);
    json_t *c = json_loads(slurp("c.json"), 0, NULL);
    assert_near(number(c, "points"), 1000, 0);
    assert_near(number(c, "hits") + number(c, "doubts"), 240, 0); /* nobody can compute the other mesh */
    assert_true(number(c, "max_fraction_p995") < 0.02);
    json_decref(c);
    /* Frames unlike those of the training: where they are in doubt, nobody trusts them. */
    assert_int_equal(run("PELT keys measure cross.keys g/face.test.npy --with f/face.test.npy --json > c.json"), 0);
    c = json_loads(slurp("c.json"), 0, NULL);
    assert_true(number(c, "doubts") > 0 && number(c, "bad_frames") > 0);
    assert_true(number(c, "missed_bad_frames") <= number(c, "hits"));
    json_decref(c);
}

enum { FACE_POINTS = 700, FACE_FRAMES = 240, LEAD = 3 };

/* The numbers at the end of a file: positions [FACE_FRAMES][FACE_POINTS][3] of an .npy. */
static float *last_numbers(const char *name, size_t count) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    float *numbers = malloc(count * sizeof *numbers);
    assert_int_equal(fseek(file, -(long)(count * sizeof *numbers), SEEK_END), 0);
    assert_int_equal(fread(numbers, sizeof *numbers, count, file), count);
    fclose(file);
    return numbers;
}

/* Positions as another program would have them: z up, in units a hundred times smaller, points in another order, and
   the first frame held for a while. As a .pc2, of `frames` frames. */
static float *as_elsewhere(const float *positions, uint32_t frames) {
    float *out = malloc((8 + 3 * FACE_POINTS * (size_t)frames) * sizeof *out), *to = out + 8;
    memcpy(out, "POINTCACHE2", 12);
    memcpy(out + 3, (uint32_t[]){1, FACE_POINTS}, 8);
    out[5] = 0, out[6] = 1;
    memcpy(out + 7, &frames, 4);
    for (uint32_t f = 0; f < frames; f++)
        for (uint32_t p = 0; p < FACE_POINTS; p++, to += 3) {
            const float *x = positions + 3 * ((f < LEAD ? 0 : f - LEAD) * FACE_POINTS + (p * 333 + 17) % FACE_POINTS);
            to[0] = 100 * x[0], to[1] = -100 * x[2], to[2] = 100 * x[1];
        }
    return out;
}

static void assert_runs_like(const char *options, const float *plain) {
    size_t numbers = 3 * FACE_POINTS * (size_t)(FACE_FRAMES + LEAD);
    assert_int_equal(
        run("PELT keys run face.keys f/face.test.csv --engine face --points 700 -o back.pc2 --quiet %s", options), 0);
    float *back = last_numbers("back.pc2", numbers), *expected = as_elsewhere(plain, FACE_FRAMES + LEAD);
    for (size_t i = 0; i < numbers; i++) assert_near(back[i], expected[8 + i], 1e-4);
    free(back), free(expected);
}

static void running_writes_like_another_cache(void **state) {
    (void)state;
    size_t numbers = 3 * FACE_POINTS * (size_t)FACE_FRAMES;
    assert_int_equal(run("PELT keys run face.keys f/face.test.csv --engine face --points 700 -o plain.npy --quiet"), 0);
    float *plain = last_numbers("plain.npy", numbers);
    static const char *const clips[] = {"test", "train"};
    for (int i = 0; i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "f/face.%s.npy", clips[i]);
        float *truth = last_numbers(name, numbers), *there = as_elsewhere(truth, FACE_FRAMES + LEAD);
        write_file(i ? "other.pc2" : "same.pc2", there, (8 + 3 * FACE_POINTS * (FACE_FRAMES + LEAD)) * sizeof(float));
        free(truth), free(there);
    }
    assert_runs_like("--like same.pc2", plain);
    assert_runs_like("--like f/face.train.csv=other.pc2", plain);
    free(plain);
    assert_int_equal(run("PELT keys run face.keys f/face.test.csv --engine face --points 700 --like same.pc2 2> e.txt"),
                     2);
    assert_non_null(strstr(slurp("e.txt"), "--like needs -o OUT"));
    assert_int_equal(run("PELT keys run face.keys f/face.test.csv --engine face --points 700 --like fine.pc2 -o no.pc2 "
                         "2> e.txt"),
                     1);
    assert_non_null(strstr(slurp("e.txt"), "fine.pc2: 40 points, but the mesh in face.keys has 700 vertices"));
    char path[300];
    snprintf(path, sizeof path, "%s/no.pc2", test_folder());
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_says_what_a_keys_file_holds),
        cmocka_unit_test(measure_prints_what_the_contract_promises),
        cmocka_unit_test(frames_from_files_and_from_the_engine_are_the_same),
        cmocka_unit_test(running_gives_what_measure_says_and_logs_what_it_misses),
        cmocka_unit_test(an_engine_that_dies_ends_the_run_and_keeps_the_log),
        cmocka_unit_test(misuse_is_told_apart_from_failure),
        cmocka_unit_test(shots_are_whole_numbers),
        cmocka_unit_test(controls_are_matched_by_name),
        cmocka_unit_test(an_engine_of_other_points_is_refused),
        cmocka_unit_test(a_value_beyond_all_others_is_refused),
        cmocka_unit_test(keys_on_one_mesh_drive_another),
        cmocka_unit_test(running_writes_like_another_cache),
    };
    return cmocka_run_group_tests(tests, make_face, NULL);
}
