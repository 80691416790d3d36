/* test_kept.c: examples that were kept are the given ones within the bound, also after others were added; fits to them are
   those to the caches within a stated difference; files that are not what they should be are refused. */

#include "io/io.h"
#include "io/kept.h"
#include "test/program.h"
#include "test/sampled.h"

static pelt_bundle *made(const char *name, const char *variant, uint32_t vertices, uint32_t frames) {
    pelt_error error;
    pelt_bundle *bundle = pelt_sample_make(
        &(pelt_sample_options){.name = name, .variant = variant, .vertices = vertices, .frames = frames}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

static pelt_kept keep(pelt_arena *arena, pelt_bundle *bundle, pelt_examples examples) {
    pelt_kept kept;
    pelt_error error = {0};
    assert_int_equal(pelt_kept_begin(arena, bundle, &kept, &error), PELT_OK);
    if (pelt_kept_add(arena, bundle, examples, 2, &kept, &error)) fail_msg("%s", error.text);
    return kept;
}

static const pelt_clip *back(const pelt_kept *kept, uint32_t clip, pelt_bundle *bundle) {
    const pelt_clip *clips[8];
    pelt_error error;
    assert_true(kept->clip_count <= 8);
    if (pelt_kept_clips(kept, bundle, 2, clips, &error)) fail_msg("%s", error.text);
    return clips[clip];
}

/* The largest distance of a vertex from where it was given. */
static double farthest(const pelt_bundle *bundle, const pelt_clip *given, const pelt_clip *kept) {
    double most = 0;
    size_t n = bundle->mesh.vertex_count;
    for (size_t i = 0; i < 3 * n * given->frame_count; i += 3) {
        const float *a = given->positions + i, *b = kept->positions + i;
        double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
        most = fmax(most, sqrt(x * x + y * y + z * z));
    }
    return most;
}

/* -- What is kept -------------------------------------------------------------------------------------------------- */

static void every_vertex_is_within_the_bound(void **state) {
    (void)state;
    static const char *const names[] = {"arm", "humanoid", "biceps"};
    for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
        pelt_bundle *bundle = made(names[s], NULL, 700, 30);
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_examples train = all_of(bundle, "train");
        const pelt_clip *given = train.list[0].clip;
        float *all = (float *)given->positions; /* ours: a character that walks away, and one noisy frame */
        uint64_t seed = 5;
        for (size_t f = 0; f < given->frame_count; f++)
            for (size_t i = 0; i < 2100; i++)
                all[2100 * f + i] += (i % 3 ? 0 : (float)f) + (f == 7 ? 0.02f * (float)test_random(&seed) : 0);
        pelt_kept kept = keep(arena, bundle, train);
        const pelt_clip *again = back(&kept, 0, bundle);
        double bound = PELT_KEPT_BOUND * pelt_scene_diagonal(&bundle->mesh), rounding = 30 * 6e-8 * sqrt(3);
        assert_near(kept.bound, bound, 1e-6 * bound);
        double error = farthest(bundle, given, again);
        assert_true(error <= bound + rounding);
        assert_true(error > 0); /* it is not a copy */
        assert_int_equal(again->frame_count, given->frame_count);
        pelt_bundle_free(bundle);
    }
}

static void poses_controls_and_weights_are_exact(void **state) {
    (void)state;
    pelt_bundle *bundle = made("biceps", NULL, 300, 20);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_examples train = all_of(bundle, "train");
    train.list[3].weight = 2.5f, train.count = 15;
    pelt_kept kept = keep(arena, bundle, train);
    const pelt_clip *again = back(&kept, 0, bundle);
    assert_string_equal(again->name, "train, kept");
    assert_int_equal(again->frame_count, 15);
    uint32_t joints = bundle->skeleton.joint_count;
    for (uint32_t f = 0; f < 15; f++) {
        pelt_transform a[16], b[16];
        float x[4], y[4];
        assert_true(joints <= 16 && bundle->controls.count >= 1 && bundle->controls.count <= 4);
        pelt_clip_pose(train.list[f].clip, &bundle->skeleton, f, a), pelt_clip_pose(again, &bundle->skeleton, f, b);
        assert_memory_equal(a, b, joints * sizeof *a);
        pelt_clip_controls(train.list[f].clip, &bundle->controls, f, x);
        pelt_clip_controls(again, &bundle->controls, f, y);
        assert_memory_equal(x, y, bundle->controls.count * sizeof *x);
        assert_true(again->example_weights[f] == (f == 3 ? 2.5f : 1));
    }
    pelt_bundle_free(bundle);
}

/* Otherwise seams would tear: fits weld what stays together. */
static void vertices_that_move_together_still_do(void **state) {
    (void)state;
    pelt_bundle *bundle = made("arm", "split", 900, 12);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    uint32_t n = bundle->mesh.vertex_count, *before = PELT_NEW(arena, n, uint32_t),
             *after = PELT_NEW(arena, n, uint32_t);
    pelt_examples train = all_of(bundle, "train");
    pelt_kept kept = keep(arena, bundle, train);
    const pelt_clip *again = back(&kept, 0, bundle);
    uint32_t points = pelt_weld(arena, &bundle->mesh, train, 0, before);
    assert_true(points < n / 2);
    assert_int_equal(pelt_weld(arena, &bundle->mesh, pelt_bundle_examples(bundle, &again, 1), 0, after), points);
    assert_memory_equal(before, after, n * sizeof *before);
    pelt_bundle_free(bundle);
}

static void adding_changes_nothing_that_is_there(void **state) {
    (void)state;
    pelt_bundle *bundle = made("arm", NULL, 700, 40);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_error error = {0};
    pelt_examples train = all_of(bundle, "train"), test = all_of(bundle, "test");
    train.count = 4; /* the others need shapes that these have not */
    pelt_kept kept = keep(arena, bundle, train);
    const pelt_clip *first = back(&kept, 0, bundle);
    uint32_t few = kept.blocks[0].shape_count;
    for (int turn = 0; turn < 3; turn++) {
        if (pelt_kept_add(arena, bundle, test, 1, &kept, &error)) fail_msg("%s", error.text);
        if (!turn) assert_true(kept.blocks[0].shape_count > few), few = kept.blocks[0].shape_count;
    }
    assert_int_equal(kept.blocks[0].shape_count, few); /* the same frames again need no more shapes */
    const pelt_clip *second = back(&kept, 0, bundle), *added = back(&kept, 3, bundle);
    assert_string_equal(second->name, "train, kept 2");
    assert_memory_equal(first->positions, second->positions, 4 * 2100 * sizeof(float));
    assert_true(farthest(bundle, test.list[0].clip, added) <= kept.bound * 1.01);
    pelt_bundle_free(bundle);
}

static void what_cannot_be_kept_is_refused(void **state) {
    (void)state;
    pelt_bundle *bundle = made("arm", NULL, 300, 5);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_error error = {0};
    pelt_kept kept;
    pelt_examples train = all_of(bundle, "train");
    pelt_clip *clip = (pelt_clip *)train.list[0].clip;
    float was = clip->positions[70];
    assert_int_equal(pelt_kept_begin(arena, bundle, &kept, &error), PELT_OK);
    ((float *)clip->positions)[70] = NAN;
    assert_int_equal(pelt_kept_add(arena, bundle, train, 1, &kept, &error), PELT_ERROR_NUMBER);
    assert_non_null(strstr(error.text, "clip train has positions that are not finite"));
    ((float *)clip->positions)[70] = was;
    clip->normals = clip->positions;
    assert_int_equal(pelt_kept_add(arena, bundle, train, 1, &kept, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "clip train has true normals, and only"));
    clip->normals = NULL;
    pelt_bundle_free(bundle);
}

/* -- Files --------------------------------------------------------------------------------------------------------- */

static pelt_file file_of(pelt_arena *arena, const char *path) {
    pelt_file file;
    pelt_error error;
    if (pelt_file_read(arena, path, &file, &error)) fail_msg("%s", error.text);
    return file;
}

static void a_file_gives_back_the_same(void **state) {
    (void)state;
    pelt_bundle *bundle = made("biceps", "seam", 500, 20);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_error error = {0};
    pelt_examples train = all_of(bundle, "train");
    train.list[0].weight = 3;
    pelt_kept kept = keep(arena, bundle, train), read;
    if (pelt_kept_add(arena, bundle, all_of(bundle, "test"), 1, &kept, &error)) fail_msg("%s", error.text);
    if (pelt_kept_write(file_path("a"), bundle, &kept, &error)) fail_msg("%s", error.text);
    if (pelt_kept_read(arena, file_path("a"), bundle, &read, &error)) fail_msg("%s", error.text);
    for (uint32_t c = 0; c < 2; c++) {
        const pelt_clip *a = back(&kept, c, bundle), *b = back(&read, c, bundle);
        assert_memory_equal(a->positions, b->positions,
                            3 * sizeof(float) * a->frame_count * (size_t)bundle->mesh.vertex_count);
        assert_true(!a->example_weights == !b->example_weights);
    }
    if (pelt_kept_write(file_path("b"), bundle, &read, &error)) fail_msg("%s", error.text);
    pelt_file a = file_of(arena, file_path("a")), b = file_of(arena, file_path("b"));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    pelt_bundle_free(bundle);
}

static void refused(pelt_bundle *bundle, const pelt_file *file, const char *words) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_kept kept;
    pelt_error error = {0};
    if (!pelt_kept_parse(arena, file, "old.examples", bundle, &kept, &error)) fail_msg("accepted: %s", words);
    if (!strstr(error.text, words) || strncmp(error.text, "old.examples: ", 14)) fail_msg("%s: %s", words, error.text);
}

static void bad_files_are_refused_with_a_sentence(void **state) {
    (void)state;
    pelt_bundle *bundle = made("arm", NULL, 200, 3), *other = made("arm", NULL, 220, 3);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_error error = {0};
    pelt_kept kept = keep(arena, bundle, all_of(bundle, "train"));
    if (pelt_kept_write(file_path("c"), bundle, &kept, &error)) fail_msg("%s", error.text);
    pelt_file file = file_of(arena, file_path("c"));
    for (size_t size = 0; size < file.size; size += size < 400 ? 1 : 97)
        refused(bundle, &(pelt_file){file.bytes, size}, size < 8 ? "is not a file of kept examples" : "ends too early");
    refused(bundle, &(pelt_file){file.bytes, file.size + 1}, "has bytes after its end");
    refused(other, &file, "kept for a mesh whose rest positions");
    static const struct {
        size_t at;
        uint8_t byte;
        const char *words;
    } damages[] = {{0, 'x', "is not a file of kept examples"},
                   {8, 9, "version 9; this version of pelt reads version 1"},
                   {16, 200, "kept for joints that differ"},
                   {23, 1, "has too many clips or controls"},
                   {27, 1, "has too many clips or controls"},
                   {28, 77, "rest positions or triangles differ"},
                   {40, 77, "kept for joints that differ"},
                   {51, 0xff, "has no bound"},
                   {53, 9, "too long"},
                   {55, 1, "too long"}};
    uint8_t *bytes = (uint8_t *)(uintptr_t)file.bytes;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        uint8_t was = bytes[damages[i].at];
        bytes[damages[i].at] = damages[i].byte;
        refused(bundle, &file, damages[i].words);
        bytes[damages[i].at] = was;
    }
    ((const char **)bundle->skeleton.names)[0] = "another";
    refused(bundle, &file, "kept for joints that differ");
    pelt_bundle_free(bundle), pelt_bundle_free(other);
}

/* -- Fits ---------------------------------------------------------------------------------------------------------- */

/* The rms difference of two skins on the frames of a clip, as a fraction of the diagonal; *errors: rms of each. */
static double difference(pelt_bundle *bundle, const pelt_clip *clip, pelt_bytes *const bytes[2], double errors[2]) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    float *out[2] = {calloc(n, sizeof(float)), calloc(n, sizeof(float))};
    pelt_player *players[2];
    double sum = 0, wrong[2] = {0};
    pelt_error error;
    pelt_skin skins[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(pelt_open(bytes[k]->bytes, bytes[k]->size, &skins[k]), PELT_OK);
        players[k] = pelt_player_new(&skins[k], bundle, &error);
        assert_non_null(players[k]);
    }
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        for (int k = 0; k < 2; k++) pelt_player_frame(players[k], clip, f, out[k], NULL);
        for (size_t i = 0; i < n; i++) {
            sum += pow(out[0][i] - out[1][i], 2);
            for (int k = 0; k < 2; k++) wrong[k] += pow(out[k][i] - clip->positions[f * n + i], 2);
        }
    }
    double diagonal = pelt_scene_diagonal(&bundle->mesh), count = (double)(n / 3 * clip->frame_count);
    for (int k = 0; k < 2; k++) {
        errors[k] = sqrt(wrong[k] / count) / diagonal;
        pelt_player_free(players[k]), free(out[k]);
    }
    return sqrt(sum / count) / diagonal;
}

/* What docs/howto-farm.md states: 0.001 of the diagonal for driven joints, 0.0003 for weights, 0.00003 for
   correctives. */
static void a_fit_with_added_examples_is_the_fit_to_all(void **state) {
    (void)state;
    static const struct {
        const char *name;
        pelt_fit_options options;
        double most;
    } cases[] = {{"ssd --blend fit", {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT}, 3e-4},
                 {"joints", {.method = PELT_METHOD_JOINTS}, 1e-3},
                 {"psd", {.method = PELT_METHOD_PSD}, 3e-5},
                 {"wpsd", {.method = PELT_METHOD_WPSD}, 3e-5},
                 {"eigen", {.method = PELT_METHOD_EIGEN}, 3e-5},
                 {"kernel", {.method = PELT_METHOD_KERNEL}, 3e-5}};
    test_only_at_full_speed();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_bundle *bundle = made("arm", NULL, 400, 30);
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_error error = {0};
        pelt_examples train = all_of(bundle, "train"), test = all_of(bundle, "test");
        pelt_kept kept = keep(arena, bundle, train);
        const pelt_clip *clips[2] = {train.list[0].clip, test.list[0].clip};
        pelt_bytes *skins[2];
        double errors[2];
        skins[0] = pelt_fit(bundle, pelt_bundle_examples(bundle, clips, 2), &cases[i].options, NULL, &error);
        clips[0] = back(&kept, 0, bundle);
        ((pelt_clip *)train.list[0].clip)->positions = NULL; /* the old frames are gone */
        skins[1] = pelt_fit(bundle, pelt_bundle_examples(bundle, clips, 2), &cases[i].options, NULL, &error);
        if (!skins[0] || !skins[1]) fail_msg("%s", error.text);
        double apart = difference(bundle, clips[1], skins, errors);
        print_message("%-16s differ by %.1e, errors %.3e and %.3e\n", cases[i].name, apart, errors[0], errors[1]);
        assert_true(apart <= cases[i].most);
        assert_near(errors[1], errors[0], 0.02 * errors[0] + PELT_KEPT_BOUND);
        pelt_bytes_free(skins[0]), pelt_bytes_free(skins[1]), pelt_bundle_free(bundle);
    }
}

/* -- The program --------------------------------------------------------------------------------------------------- */

static void the_program_fits_without_the_old_caches(void **state) {
    (void)state;
    assert_int_equal(pelt("sample arm --vertices 400 --frames 20 -o . --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train,test --method psd -o all.pelt --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method psd --keep old.examples -o old.pelt --quiet"), 0);
    shell("mv arm.train.pc2 away");
    if (pelt("fit arm.glb --from old.examples --train test --method psd --keep new.examples -o new.pelt --quiet"))
        fail_msg("%s", program_errors);
    shell("mv arm.test.pc2 gone && cp new.examples before");
    json_t *fit =
        pelt_json("fit arm.glb --from new.examples --keep new.examples --overwrite --method psd -o again.pelt");
    assert_int_equal(number(json_object_get(fit, "train"), "frames"), 40);
    json_decref(fit);
    shell("cmp before new.examples"); /* nothing was added */
    shell("mv away arm.train.pc2 && mv gone arm.test.pc2");
    double of_all, of_new;
    fit = pelt_json("measure all.pelt arm.glb --clip test"), of_all = number(fit, "rms"), json_decref(fit);
    fit = pelt_json("measure new.pelt arm.glb --clip test"), of_new = number(fit, "rms"), json_decref(fit);
    assert_near(of_new, of_all, 0.02 * of_all + 1e-5);
}

static void what_is_wrong_with_the_words_is_said(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int code;
        const char *said;
    } cases[] = {
        {"--method ssd --keep x.examples", 2,
         "--keep stores the examples of a fit, and there are none: name clips with --train"},
        {"--method psd --from none.examples", 1, "none.examples: cannot be opened"},
        {"--method psd --from arm.glb", 1, "arm.glb: is not a file of kept examples"},
        {"--method psd --from k.examples --keep k.examples", 2, "k.examples"}, /* an input, without --overwrite */
        {"--train train --method psd --keep no/x.examples", 1, "no/x.examples"},
    };
    assert_int_equal(pelt("sample arm --vertices 400 --frames 20 -o . --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --method ssd --keep k.examples -o k.pelt --quiet"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shell("rm -f x.pelt");
        int code = pelt("fit arm.glb %s -o x.pelt", cases[i].words);
        if (code != cases[i].code || !strstr(program_errors, cases[i].said))
            fail_msg("%s: %d, %s", cases[i].words, code, program_errors);
        assert_int_equal(access(file_path("x.pelt"), F_OK), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vertex_is_within_the_bound),
        cmocka_unit_test(poses_controls_and_weights_are_exact),
        cmocka_unit_test(vertices_that_move_together_still_do),
        cmocka_unit_test(adding_changes_nothing_that_is_there),
        cmocka_unit_test(what_cannot_be_kept_is_refused),
        cmocka_unit_test(a_file_gives_back_the_same),
        cmocka_unit_test(bad_files_are_refused_with_a_sentence),
        cmocka_unit_test(a_fit_with_added_examples_is_the_fit_to_all),
        cmocka_unit_test(the_program_fits_without_the_old_caches),
        cmocka_unit_test(what_is_wrong_with_the_words_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
