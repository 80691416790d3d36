/* test_export_library.c: export.h, called by a program that has its character in memory. */

#include "samples/samples.h"
#include "test/test.h"
#include <pelt/export.h>

typedef struct subject {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_bytes *bytes;
    pelt_skin skin;
    char path[128];
} subject;

static subject make(pelt_method method, const char *file) {
    pelt_error error = {0};
    subject s = {.bundle =
                     pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 200, .frames = 8}, &error)};
    assert_non_null(s.bundle);
    s.clip = pelt_bundle_clip(s.bundle, "train", PELT_NEED_POSITIONS, &error);
    pelt_examples examples = pelt_bundle_examples(s.bundle, &s.clip, 1);
    s.bytes = pelt_fit(s.bundle, examples, &(pelt_fit_options){.method = method}, NULL, &error);
    assert_non_null(s.bytes);
    assert_int_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    snprintf(s.path, sizeof s.path, "%s/%s", test_folder(), file);
    return s;
}

static void drop(subject *s) {
    pelt_bytes_free(s->bytes);
    pelt_bundle_free(s->bundle);
}

/* Largest difference of two frames of positions. */
static double gap(const float *a, const float *b, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* Written, read back as examples of the written file, and compared with the player. */
static void check_frames(subject *s, const char *bundle_path, const char *clip_name, double tolerance) {
    pelt_error error = {0};
    pelt_bundle *read = pelt_bundle_read(bundle_path, &error);
    const pelt_clip *clip = read ? pelt_bundle_clip(read, clip_name, PELT_NEED_POSITIONS, &error) : NULL;
    if (!clip) fail_msg("%s", error.text);
    size_t count = 3 * (size_t)s->skin.vertex_count;
    float *positions = malloc(count * sizeof *positions);
    pelt_player *player = pelt_player_new(&s->skin, s->bundle, &error);
    assert_int_equal(clip->frame_count, s->clip->frame_count);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_player_frame(player, s->clip, f, positions, NULL);
        assert_near(gap(positions, clip->positions + f * count, count), 0, tolerance);
    }
    free(positions);
    pelt_player_free(player), pelt_bundle_free(read);
}

static void a_character_from_memory_becomes_a_file_that_plays_the_skin(void **state) {
    (void)state;
    subject s = make(PELT_METHOD_PSD, "plain.glb");
    pelt_error error = {0};
    pelt_export_report report;
    pelt_export_options options = {.clips = &s.clip, .clip_count = 1};
    if (pelt_export(&s.skin, s.bundle, &options, s.path, &report, &error)) fail_msg("%s", error.text);
    assert_true(report.target_count > 1 && report.target_count <= PELT_EXPORT_TARGETS && !report.driven_count);
    check_frames(&s, s.path, "train", 1e-4 * s.bundle->mesh.diagonal); /* morph targets with weights are examples */
    drop(&s);
}

static void a_file_takes_the_skin_itself_too(void **state) {
    (void)state;
    subject s = make(PELT_METHOD_SSD, "body.glb");
    pelt_error error = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/with_skin.glb", test_folder());
    assert_int_equal(pelt_export(&s.skin, s.bundle, NULL, s.path, NULL, &error), PELT_OK);
    pelt_bundle *read = pelt_bundle_read(s.path, &error);
    assert_non_null(read);
    pelt_export_options options = {.embed = s.bytes};
    assert_int_equal(pelt_export(&s.skin, s.bundle, &options, path, NULL, &error), PELT_ERROR_ARGUMENT); /* no file */
    if (pelt_export(&s.skin, read, &options, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_skin embedded;
    pelt_bytes *bytes = pelt_skin_read(path, &embedded, &error);
    assert_non_null(bytes);
    assert_int_equal(bytes->size, s.bytes->size);
    assert_memory_equal(bytes->bytes, s.bytes->bytes, bytes->size);
    pelt_bytes_free(bytes), pelt_bundle_free(read);
    drop(&s);
}

static void frames_become_a_cache_or_targets_of_a_file(void **state) {
    (void)state;
    subject s = make(PELT_METHOD_PSD, "frames.glb");
    pelt_error error = {0};
    char clip[200];
    assert_int_equal(pelt_export_frames(&s.skin, s.bundle, s.clip, NULL, s.path, &error), PELT_OK);
    pelt_bundle *read = pelt_bundle_read(s.path, &error);
    assert_non_null(read);
    assert_int_equal(read->mesh.target_count, s.clip->frame_count);
    pelt_bundle_free(read);
    snprintf(s.path, sizeof s.path, "%s/motion.glb", test_folder());
    pelt_export_options options = {.clips = &s.clip, .clip_count = 1};
    assert_int_equal(pelt_export(&s.skin, s.bundle, &options, s.path, NULL, &error), PELT_OK);
    snprintf(clip, sizeof clip, "train=%s/frames.npy", test_folder());
    assert_int_equal(pelt_export_frames(&s.skin, s.bundle, s.clip, NULL, strchr(clip, '=') + 1, &error), PELT_OK);
    check_frames(&s, s.path, clip, 1e-6 * s.bundle->mesh.diagonal);
    drop(&s);
}

static pelt_result fails(void *user, const void *pose, float *slots, pelt_error *error) {
    (void)user, (void)pose, (void)slots;
    *error = (pelt_error){.code = PELT_ERROR_DEVICE, .text = "it is gone"};
    return PELT_ERROR_DEVICE;
}

static int stops(void *user, const char *task, double fraction) {
    (void)user, (void)task;
    return fraction > 0.5;
}

static void what_fails_or_is_stopped_leaves_no_file(void **state) {
    (void)state;
    subject s = make(PELT_METHOD_SSD, "none.npy");
    pelt_error error = {0};
    pelt_export_frames_options broken = {.deform = fails}, slow = {.progress = {.step = stops}};
    assert_int_equal(pelt_export_frames(&s.skin, s.bundle, s.clip, &broken, s.path, &error), PELT_ERROR_DEVICE);
    assert_string_equal(error.text, "it is gone");
    assert_int_equal(pelt_export_frames(&s.skin, s.bundle, s.clip, &slow, s.path, NULL), PELT_ERROR_CANCELLED);
    assert_int_equal(pelt_export_frames(&s.skin, s.bundle, NULL, NULL, s.path, &error), PELT_ERROR_ARGUMENT);
    const pelt_clip *none = NULL;
    pelt_export_options few = {.targets = 1}, missing = {.clips = &none, .clip_count = 1}, list = {.clip_count = 1};
    assert_int_equal(pelt_export(&s.skin, s.bundle, &few, s.path, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_string_equal(error.option, "targets");
    assert_int_equal(pelt_export(&s.skin, s.bundle, &missing, s.path, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_export(&s.skin, s.bundle, &list, s.path, NULL, NULL), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_export(NULL, s.bundle, NULL, s.path, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_not_equal(access(s.path, F_OK), 0);
    drop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_character_from_memory_becomes_a_file_that_plays_the_skin),
        cmocka_unit_test(a_file_takes_the_skin_itself_too),
        cmocka_unit_test(frames_become_a_cache_or_targets_of_a_file),
        cmocka_unit_test(what_fails_or_is_stopped_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
