/* test_flesh_cli.c: the command pelt flesh: examples that a fit reads, work that was killed, mistakes. */

#include "test/test.h"
#include <pelt/poses.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

static int call(const char *format, const char *a, const char *b) {
    char words[2000], line[4000];
    const char *program = getenv("PELT_PROGRAM");
    snprintf(words, sizeof words, format, a, b);
    snprintf(line, sizeof line, "exec %s %s > %s/said 2>&1", program ? program : "build/pelt", words, test_folder());
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool said(const char *words) {
    char path[200], text[4000] = {0};
    snprintf(path, sizeof path, "%s/said", test_folder());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    if (size && strstr(text, words)) return true;
    print_error("\"%s\" does not say \"%s\"\n", text, words);
    return false;
}

static void make_arm(void) { assert_int_equal(call("sample arm --vertices 600 -o %s%s", test_folder(), ""), 0); }

static char *whole(const char *name, size_t *size) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 22);
    *size = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void same_files(const char *a, const char *b) {
    size_t n, m;
    char *x = whole(a, &n), *y = whole(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x), free(y);
}

#define WORK "flesh %s/arm.glb --clip test --every 25 --resolution 2500 -o %s"

static void work_that_was_killed_ends_with_the_same_bytes(void **state) {
    (void)state;
    char line[2000], out[200], poses[300];
    const char *program = getenv("PELT_PROGRAM");
    make_arm();
    snprintf(out, sizeof out, "%s/whole.glb", test_folder());
    assert_int_equal(call(WORK, test_folder(), out), 0);
    snprintf(out, sizeof out, "%s/cut.glb", test_folder());
    pid_t child = fork();
    if (!child) {
        snprintf(line, sizeof line, "exec %s " WORK " --threads 1 > /dev/null 2>&1", program ? program : "build/pelt",
                 test_folder(), out);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(9);
    }
    snprintf(poses, sizeof poses, "ls %s.poses/pose-*.npy > /dev/null 2>&1", out);
    for (int i = 0; i < 20000 && system(poses); i++) usleep(10000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(access(out, F_OK), -1); /* nothing half done */
    assert_int_equal(system(poses), 0);      /* but what was done is there */
    assert_int_equal(call(WORK " --resume", test_folder(), out), 0);
    same_files("whole.flesh.pc2", "cut.flesh.pc2");
    same_files("whole.glb", "cut.glb");
    snprintf(poses, sizeof poses, "%s.poses", out);
    assert_int_equal(access(poses, F_OK), -1);
    snprintf(line, sizeof line, "%s/skin.pelt", test_folder());
    assert_int_equal(call("fit %s --train flesh --method ssd -o %s", out, line), 0);
}

static void mistakes_get_a_sentence(void **state) {
    (void)state;
    char out[200];
    make_arm();
    snprintf(out, sizeof out, "%s/no.glb", test_folder());
    assert_int_equal(call("flesh %s/arm.glb%s", test_folder(), ""), 2);
    assert_true(said("-o BUNDLE.glb is missing"));
    assert_int_equal(call("flesh %s/arm.glb -o %s --resolution 500 --clip nothing", test_folder(), out), 1);
    assert_true(said("nothing"));
    assert_int_equal(call("flesh %s/arm.glb -o %s --resolution 500 --leave-out hat", test_folder(), out), 1);
    assert_true(said("no part or material is called \"hat\""));
    assert_int_equal(call("flesh %s/arm.glb -o %s --resolution 4000000000", test_folder(), out), 1);
    assert_true(said("too many for this machine's memory"));
    assert_int_equal(access(out, F_OK), -1);
}

/* One pose turns a joint, the other stretches it. */
static void poses_that_bones_cannot_take_are_named_and_the_others_kept(void **state) {
    (void)state;
    pelt_error error;
    char out[200], poses[400];
    make_arm();
    snprintf(out, sizeof out, "%s/arm.glb", test_folder());
    pelt_bundle *arm = pelt_bundle_read(out, &error);
    assert_non_null(arm);
    uint32_t joints = arm->skeleton.joint_count;
    pelt_transform *both = calloc(2 * joints, sizeof *both);
    memcpy(both, arm->skeleton.rest, joints * sizeof *both), memcpy(both + joints, both, joints * sizeof *both);
    for (int k = 0; k < 3; k++) both[joints + 2].scale[k] = 1.3f;
    both[2].rotation[0] += 0.1f; /* made unit length when it is read */
    pelt_clip_input input = {.name = "poses", .frame_count = 2, .poses = both};
    const pelt_clip *clip = pelt_bundle_add_clip(arm, &input, &error);
    snprintf(poses, sizeof poses, "%s/poses.glb", test_folder());
    if (!clip || pelt_export_poses(arm, clip, poses, &error)) fail_msg("%s", error.text);
    snprintf(poses, sizeof poses, "%s/poses.glb -o %s/some.glb", test_folder(), test_folder());
    assert_int_equal(call("flesh %s --resolution 2500 --poses %s", out, poses), 0);
    char name[200];
    snprintf(name, sizeof name, "pose 1 is left out: joint \"%s\" stretches", arm->skeleton.names[2]);
    assert_true(said(name) && said("1 of 2 poses"));
    free(both);
    pelt_bundle_free(arm);
}

/* -- Bones, truth, the hand ------------------------------------------------------------------------------------------- */

static double number_said(const char *name) {
    size_t size;
    char *text = whole("said", &size), key[60];
    text[size < 1 << 22 ? size : size - 1] = 0;
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(text, key);
    if (!at) fail_msg("\"%s\" is not in %s", name, text);
    double number = strtod(at + strlen(key), NULL);
    free(text);
    return number;
}

static void bones_that_were_written_serve_as_bones(void **state) {
    (void)state;
    char bones[200], other[500];
    test_only_at_full_speed();
    make_arm();
    snprintf(bones, sizeof bones, "%s/bones.glb", test_folder());
    assert_int_equal(call("flesh %s/arm.glb --resolution 20000 --json --save-bones %s", test_folder(), bones), 0);
    double found = number_said("bones"), held = number_said("carried");
    snprintf(other, sizeof other, "%s --show %s.png", bones, bones);
    assert_int_equal(call("flesh %s/arm.glb --resolution 20000 --json --bones %s", test_folder(), other), 0);
    assert_near(number_said("bones"), found, 0);
    assert_near(number_said("carried") / held, 1, 0.1); /* facets are narrower than a capsule */
    assert_int_equal(call("sample hand --vertices 2000 --frames 3 --resolution 1500 -o %s%s", test_folder(), ""), 0);
    assert_int_equal(call("flesh %s/hand.glb --bones %s --show x.png", test_folder(), bones), 1);
    assert_true(said("has no joint of that name"));
    snprintf(other, sizeof other, "%s/arm.train.pc2", test_folder());
    assert_int_equal(call("flesh %s/arm.glb --bones %s --show x.png", test_folder(), other), 1);
    assert_true(said("arm.train.pc2"));
}

/* Little-endian floats behind a header of 32 bytes. */
static void add_error(const float *a, const float *b, size_t count, double *sum) {
    for (size_t i = 0; i < count; i++) *sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
}

/* A finer lattice beside a coarser one, in few poses. */
static void flesh_is_compared_with_the_truth_of_a_clip(void **state) {
    (void)state;
    char out[200];
    size_t n, all;
    double sum = 0;
    test_only_at_full_speed();
    assert_int_equal(call("sample hand --vertices 2000 --frames 3 --resolution 3000 -o %s%s", test_folder(), ""), 0);
    snprintf(out, sizeof out, "%s/f.glb", test_folder());
    assert_int_equal(
        call("flesh %s/hand.glb --clip train --resolution 6000 --against --json -o %s", test_folder(), out), 0);
    double rms = number_said("rms"), rel_err = number_said("rel_err");
    char *ours = whole("f.flesh.pc2", &n), *truth = whole("hand.train.pc2", &all);
    uint32_t points, frames;
    memcpy(&points, ours + 16, 4), memcpy(&frames, ours + 28, 4);
    assert_true(frames == 3 && n == all && n == 32 + 12 * (size_t)points * frames);
    add_error((const float *)(ours + 32), (const float *)(truth + 32), 3 * (size_t)points * frames, &sum);
    assert_near(rms, sqrt(sum / points / frames), 1e-6 * rms);
    free(ours), free(truth);
    snprintf(out, sizeof out, "%s/b.pelt", test_folder());
    assert_int_equal(call("fit %s/hand.glb --train train --method ssd -o %s --json", test_folder(), out), 0);
    assert_near(rel_err, rms / number_said("rms"), 1e-4);
}

static void the_hand_is_simulated_by_one_command(void **state) {
    (void)state;
    char out[200];
    test_only_at_full_speed();
    assert_int_equal(
        call("sample hand --vertices 2000 --frames 21 --resolution 1000 --json -o %s%s", test_folder(), ""), 0);
    assert_true(number_said("poses") >= number_said("asked") - 3); /* so coarse that some may be out of reach */
    snprintf(out, sizeof out, "%s/hand.pelt", test_folder());
    assert_int_equal(
        call("fit %s/hand.glb --train train --method eigen --per-joint 1 --json -o %s", test_folder(), out), 0);
    assert_true(number_said("rel_err") < 0.7); /* what one displacement a joint explains of a pose a joint */
    assert_int_equal(call("measure %s %s/hand.glb --clip test --json", out, test_folder()), 0);
    assert_true(number_said("frames") >= 18);
    assert_int_equal(call("sample arm --resolution 1000 -o %s%s", test_folder(), ""), 2);
    assert_true(said("apply to hand"));
}

/* The clips of a file keep apart under names of their own. */
static void clips_get_the_names_that_are_asked_for(void **state) {
    (void)state;
    char out[200];
    make_arm();
    snprintf(out, sizeof out, "%s/two.glb", test_folder());
    assert_int_equal(
        call("flesh %s/arm.glb --clip train,test --every 25 --as a,b --resolution 2000 -o %s", test_folder(), out), 0);
    assert_int_equal(call("info %s%s", out, ""), 0);
    assert_true(said("clip \"a\"") && said("clip \"b\""));
    assert_int_equal(call("flesh %s/arm.glb --clip train,test --as a,b,c --resolution 2000 -o %s", test_folder(), out),
                     1);
    assert_true(said("--as has 3 names"));
}

/* -- Real characters ---------------------------------------------------------------------------------------------------- */

/* A few sweeps and grasps of the hand that another code simulated on conforming quadratic tetrahedra. */
static void the_finite_element_hand_of_others_is_met(void **state) {
    (void)state;
    static const char *const clips[] = {"train --every 50", "test --every 20"};
    char words[800], bones[200], out[200];
    test_only_at_full_speed();
    const char *hand = test_data("fem_hand/fem_hand.glb");
    if (!hand) skip();
    snprintf(bones, sizeof bones, "%s/bones.glb", test_folder()),
        snprintf(out, sizeof out, "%s/fem.glb", test_folder());
    snprintf(words, sizeof words, "python3 bench/fem_hand_bones.py %s %s", hand, bones);
    if (system(words)) skip(); /* no Python */
    for (int i = 0; i < 2; i++) {
        snprintf(words, sizeof words, "flesh %s --bones %s --clip %s --resolution 80000 --against --json -o %%s%%s",
                 hand, bones, clips[i]);
        assert_int_equal(call(words, out, ""), 0);
        assert_near(number_said("poses"), number_said("asked"), 0);
        assert_true(number_said("rel_err") < 0.3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_was_killed_ends_with_the_same_bytes),
        cmocka_unit_test(mistakes_get_a_sentence),
        cmocka_unit_test(poses_that_bones_cannot_take_are_named_and_the_others_kept),
        cmocka_unit_test(bones_that_were_written_serve_as_bones),
        cmocka_unit_test(flesh_is_compared_with_the_truth_of_a_clip),
        cmocka_unit_test(the_hand_is_simulated_by_one_command),
        cmocka_unit_test(clips_get_the_names_that_are_asked_for),
        cmocka_unit_test(the_finite_element_hand_of_others_is_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
