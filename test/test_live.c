/* test_live.c: pelt eval --live: poses that arrive line by line through pipes, whole or in pieces, with garbage in
   between; the output matches the clip. */

#define _GNU_SOURCE
#include "test/program.h"
#include "io/io.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES = 12, VERTICES = 100 };

/* The contents of a file, zero-terminated. */
static char *contents(const char *name, size_t *size) {
    FILE *file = fopen(file_path(name), "rb");
    if (!file) fail_msg("%s is not there", name);
    char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, (1 << 20) - 1, file);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

/* An elbow, its skin, the poses of its test clip as lines, and the expected output. */
static void set_up(void) {
    static bool done;
    if (done) return;
    if (pelt("sample elbow --vertices %d --frames %d -o .", VERTICES, FRAMES)) fail_msg("%s", program_errors);
    if (pelt("fit elbow.glb --train train --method eigen --holdout 0 -o elbow.pelt")) fail_msg("%s", program_errors);
    if (pelt("eval elbow.pelt elbow.glb --clip test -o test.poses")) fail_msg("%s", program_errors);
    if (pelt("eval elbow.pelt elbow.glb --clip test -o test.npy")) fail_msg("%s", program_errors);
    done = true;
}

/* Floats [frames][vertices][3] after a header of 128 bytes, or from the start, match the clip frame by frame, as listed
   in `frames`. */
static void same_frames(const char *name, size_t header, const int *frames, size_t count) {
    size_t size, all, frame = 3 * VERTICES * sizeof(float);
    char *bytes = contents(name, &size), *truth = contents("test.npy", &all);
    assert_int_equal(all, 128 + FRAMES * frame);
    assert_int_equal(size, header + count * frame);
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < 3 * VERTICES; i++) {
            float a, b;
            memcpy(&a, bytes + header + f * frame + 4 * i, 4);
            memcpy(&b, truth + 128 + (size_t)frames[f] * frame + 4 * i, 4);
            assert_near(a, b, 1e-6);
        }
    free(bytes), free(truth);
}

static const int in_order[FRAMES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* A file is played at its rate: 12 frames at 200 a second take 11 / 200 s from the first to the last. */
static void a_recorded_file_is_played_at_its_rate(void **state) {
    (void)state;
    set_up();
    json_t *said = pelt_json("eval elbow.pelt elbow.glb --live test.poses --rate 200 -o out.npy");
    same_frames("out.npy", 128, in_order, FRAMES);
    assert_int_equal(number(said, "frames"), FRAMES);
    assert_int_equal(number(said, "skipped"), 0);
    assert_true(number(said, "seconds") >= 11 / 200.0 && number(said, "frames_per_second") <= 200);
    assert_true(number(said, "latency_median_ms") <= number(said, "latency_worst_ms"));
    json_decref(said);
    pelt_error error = {0};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache cache; /* the header counts the frames that came */
    assert_int_equal(pelt_cache_read(arena, file_path("out.npy"), &cache, &error), PELT_OK);
    assert_int_equal(cache.frame_count, FRAMES);
    assert_int_equal(cache.point_count, VERTICES);
    pelt_arena_free(arena);
}

/* Runs the program on a pipe, and writes to it piece by piece; returns its exit code. out.f32, errors. */
typedef struct writing {
    int to;
    pid_t program;
} writing;

static writing start(const char *output) {
    int ends[2];
    remove(file_path("out.f32"));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (!child) {
        const char *program = getenv("PELT_PROGRAM");
        int out = open(file_path("out.f32"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int errors = open(file_path("err.txt"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char path[1000], here[900] = "";
        if (!program) snprintf(path, sizeof path, "%s/build/pelt", getcwd(here, sizeof here)), program = path;
        if (chdir(test_folder()) || dup2(ends[0], 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0) _exit(99);
        execl(program, "pelt", "eval", "elbow.pelt", "elbow.glb", "--live", "-", "-o", output, (char *)NULL);
        _exit(98);
    }
    close(ends[0]);
    return (writing){ends[1], child};
}

static void put(const writing *w, const char *text, size_t size) {
    while (size) {
        ssize_t done = write(w->to, text, size);
        assert_true(done > 0);
        text += done, size -= (size_t)done;
    }
}

static int end(writing *w) {
    int status;
    if (w->to >= 0) close(w->to);
    assert_int_equal(waitpid(w->program, &status, 0), w->program);
    program_read("err.txt", program_errors, sizeof program_errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void wait_for_bytes(const char *name, off_t size) {
    struct stat status;
    for (int i = 0; i < 2000; i++) {
        if (!stat(file_path(name), &status) && status.st_size >= size) return;
        usleep(5000);
    }
    fail_msg("%s does not grow to %ld bytes: %s", name, (long)size, program_errors);
}

/* A slow writer: every frame is output before the next line arrives, though lines arrive in pieces. */
static void frames_come_out_as_lines_go_in(void **state) {
    (void)state;
    set_up();
    size_t size, at = 0;
    char *text = contents("test.poses", &size);
    writing w = start("-");
    for (int lines = 0; lines < 4; lines++) { /* names, then poses */
        size_t length = strcspn(text + at, "\n") + 1;
        put(&w, text + at, length / 3);
        usleep(2000);
        put(&w, text + at + length / 3, length - length / 3);
        if (lines) wait_for_bytes("out.f32", (off_t)(lines * 3 * VERTICES * sizeof(float)));
        at += length;
    }
    assert_int_equal(end(&w), 0);
    same_frames("out.f32", 0, in_order, 3);
    assert_non_null(strstr(program_errors, "live: 3 frames of 100 vertices"));
    assert_non_null(strstr(program_errors, "0 lines skipped"));
    free(text);
}

/* Every bad line gets one message, and the frames around it are output. */
static void garbage_is_skipped_with_a_sentence_each(void **state) {
    (void)state;
    set_up();
    size_t size;
    char *text = contents("test.poses", &size), *line[4], *at = text;
    for (int i = 0; i < 4; i++) line[i] = at, at = strchr(at, '\n') + 1;
    writing w = start("-");
    put(&w, "# poses\n\n", 9);
    put(&w, line[0], (size_t)(line[2] - line[0])); /* names, frame 0 */
    put(&w, "1 2 3\n", 6);
    put(&w, "\x01\xff garbage \x80\n", 13);
    put(&w, line[2], (size_t)(line[3] - line[2]));                                           /* frame 1 */
    for (const char *c = line[2]; c < line[3]; c++) put(&w, strchr(" \n", *c) ? c : "0", 1); /* no directions */
    put(&w, "nan 0 0 1\n", 10);
    char *long_line = malloc(3 << 20); /* longer than is read at once */
    memset(long_line, '1', 3 << 20);
    put(&w, long_line, 3 << 20);
    put(&w, "\n", 1);
    free(long_line);
    put(&w, line[3], strcspn(line[3], "\n") + 1); /* frame 2 */
    put(&w, line[2], 30);                         /* and a line without an end */
    assert_int_equal(end(&w), 0);
    same_frames("out.f32", 0, in_order, 3);
    assert_non_null(strstr(program_errors, "line 5 has 3 numbers"));
    assert_non_null(strstr(program_errors, "line 6: "));
    assert_non_null(strstr(program_errors, "line 8: the quaternion of"));
    assert_non_null(strstr(program_errors, "line 9: \"nan\" is not a number"));
    assert_non_null(strstr(program_errors, "line 10 is longer than a megabyte"));
    assert_null(strstr(program_errors, "ends within")); /* five are said */
    assert_non_null(strstr(program_errors, "only counted"));
    assert_non_null(strstr(program_errors, "3 frames"));
    assert_non_null(strstr(program_errors, "6 lines skipped"));
    free(text);
}

/* Names in another order, commas, only some joints, with the others at rest. */
static void names_say_whose_numbers_follow(void **state) {
    (void)state;
    set_up();
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(file_path("elbow.glb"), &error);
    assert_non_null(bundle);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "test", PELT_NEED_POSE, &error);
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_transform locals[16];
    assert_true(joints > 1 && joints <= 16);
    FILE *file = fopen(file_path("reversed.poses"), "w");
    for (uint32_t j = joints; j-- > 0;) fprintf(file, "%s%s", bundle->skeleton.names[j], j ? ", " : "\r\n");
    for (uint32_t f = 0; f < 2; f++) {
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        for (uint32_t j = joints; j-- > 0;)
            for (int i = 0; i < 4; i++) /* of any length */
                fprintf(file, "%.9g%s", 3 * locals[j].rotation[i], j || i < 3 ? "," : "\r\n");
    }
    fclose(file);
    if (pelt("eval elbow.pelt elbow.glb --live reversed.poses --rate 1000 -o out.f32")) fail_msg("%s", program_errors);
    same_frames("out.f32", 0, in_order, 2);
    const char *const bad[] = {"root nobody\n0 0 0 1 0 0 0 1\n", "%s\t%s\n"};
    for (int i = 0; i < 2; i++) {
        file = fopen(file_path("bad.poses"), "w");
        if (i)
            fprintf(file, "%s\t%s\n", bundle->skeleton.names[0], bundle->skeleton.names[0]);
        else
            fputs(bad[0], file);
        fclose(file);
        remove(file_path("none.npy"));
        assert_int_equal(pelt("eval elbow.pelt elbow.glb --live bad.poses -o none.npy"), 1);
        assert_non_null(strstr(program_errors, i ? "twice" : "no such joint or control"));
        assert_int_not_equal(access(file_path("none.npy"), F_OK), 0);
    }
    pelt_bundle_free(bundle);
}

/* Waits for a file whose name contains this: unfinished ones have a longer name. */
static void wait_for_name(const char *name) {
    bool found = false;
    for (int i = 0; i < 2000 && !found; i++) {
        DIR *folder = opendir(test_folder());
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) found |= strstr(entry->d_name, name) != NULL;
        closedir(folder);
        usleep(5000);
    }
    assert_true(found);
}

/* Ctrl-C ends it: what arrived is written, and it is not a failure. */
static void a_signal_ends_it_with_what_came(void **state) {
    (void)state;
    set_up();
    size_t size;
    char *text = contents("test.poses", &size), *second = strchr(strchr(text, '\n') + 1, '\n') + 1;
    for (int npy = 0; npy < 2; npy++) {
        remove(file_path("out.npy"));
        writing w = start(npy ? "out.npy" : "-");
        put(&w, text, (size_t)(second - text));
        if (npy)
            wait_for_name("out.npy"); /* the array appears at the end alone */
        else
            wait_for_bytes("out.f32", 3 * VERTICES * sizeof(float));
        assert_int_equal(kill(w.program, SIGINT), 0);
        assert_int_equal(end(&w), 0);
        assert_non_null(strstr(program_errors, npy ? "live: " : "live: 1 frames"));
        if (!npy) same_frames("out.f32", 0, in_order, 1);
        if (npy) assert_int_equal(access(file_path("out.npy"), F_OK), 0);
    }
    free(text);
}

static void words_that_do_not_go_together_are_refused(void **state) {
    (void)state;
    set_up();
    assert_int_equal(pelt("eval elbow.pelt elbow.glb -o x.npy"), 2);
    assert_non_null(strstr(program_errors, "--live STREAM"));
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live - --clip test -o x.npy"), 2);
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --clip test --rate 30 -o x.npy"), 2);
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live - -o - --json </dev/null"), 2);
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live none.poses -o x.npy"), 1);
    assert_non_null(strstr(program_errors, "none.poses"));
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live . -o x.npy"), 1);
    assert_non_null(strstr(program_errors, "is a folder"));
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live - -o empty.npy </dev/null"), 0);
    assert_non_null(strstr(program_errors, "live: 0 frames"));
    assert_int_equal(pelt("eval elbow.pelt elbow.glb --live test.poses --rate 1000 -o - | head -c 10 >/dev/null"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_file_is_played_at_its_rate),
        cmocka_unit_test(frames_come_out_as_lines_go_in),
        cmocka_unit_test(garbage_is_skipped_with_a_sentence_each),
        cmocka_unit_test(names_say_whose_numbers_follow),
        cmocka_unit_test(a_signal_ends_it_with_what_came),
        cmocka_unit_test(words_that_do_not_go_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
