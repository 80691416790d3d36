/* test_bundle.c: how the true positions of a clip are found. The bundles are built in memory. */

#include "test/test.h"
#include "io/io.h"
#include <sys/stat.h>

/* A square of two triangles whose last two vertices duplicate the first two, like an export with a seam. */
enum { VERTICES = 6, FRAMES = 3 };
static float rest[3 * VERTICES] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
static const float times[200];
static uint32_t no_weights[VERTICES + 1];
static pelt_clip clips[4];
static uint32_t target_vertices[] = {1, 4};
static float target_deltas[FRAMES][6] = {{0}, {1, 2, 3, -1, -2, -3}, {0, 0, 5, 0, 0, 6}};
static pelt_target targets[FRAMES];

static pelt_bundle make_bundle(const char *path) {
    static const char *const names[] = {"train", "walk", "a=b", "../up"};
    static const pelt_clip *list[4];
    for (int i = 0; i < 4; i++) {
        clips[i] = (pelt_clip){.name = names[i], .frame_count = FRAMES, .times = times};
        list[i] = &clips[i];
    }
    clips[1].frame_count = 121;
    return (pelt_bundle){.path = path,
                         .mesh = {.vertex_count = VERTICES, .positions = rest, .influences = {.first = no_weights}},
                         .clip_count = 4,
                         .clips = list,
                         .arena = pelt_arena_new(PELT_READ_LIMIT)};
}

static void add_targets(pelt_bundle *bundle) {
    for (int i = 0; i < FRAMES; i++)
        targets[i] = (pelt_target){.count = i ? 2 : 0, .vertices = target_vertices, .deltas = target_deltas[i]};
    bundle->mesh.targets = targets;
    bundle->mesh.target_count = FRAMES;
}

static const char *path_of(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static float value_of(size_t i) { return (float)i * 0.5f - 3; }

/* Made by pelt's own writer, whose bytes test_caches checks. */
static void write_cache(const char *path, uint32_t frames, uint32_t points) {
    pelt_mesh mesh = {.vertex_count = points};
    pelt_error error = {0};
    pelt_cache_writer *writer = pelt_cache_writer_open(path, frames, &mesh, 30, &error);
    float *frame = malloc(3 * sizeof(float) * points);
    for (size_t f = 0; writer && f < frames; f++) {
        for (size_t i = 0; i < 3 * (size_t)points; i++) frame[i] = value_of(3 * f * points + i);
        pelt_cache_writer_frame(writer, frame);
    }
    free(frame);
    if (!writer || pelt_cache_writer_commit(writer, &error)) fail_msg("%s", error.text);
}

static const pelt_clip *expect_clip(pelt_bundle *bundle, const char *name, const char *source) {
    pelt_error error = {0};
    const pelt_clip *clip = pelt_bundle_clip(bundle, name, PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    assert_non_null(clip->positions);
    assert_string_equal(clip->source, source);
    return clip;
}

static void expect_failure(pelt_bundle *bundle, const char *name, const char *sentence) {
    pelt_error error = {0};
    assert_null(pelt_bundle_clip(bundle, name, PELT_NEED_POSITIONS, &error));
    assert_int_not_equal(error.code, PELT_OK);
    if (!strstr(error.text, sentence)) fail_msg("\"%s\" does not say \"%s\"", error.text, sentence);
}

/* -- Where positions come from ----------------------------------------------------------------------------------- */

static void a_cache_beside_the_bundle_is_found_in_every_format(void **state) {
    (void)state;
    static const char *const caches[] = {"pc2/body.train.pc2", "mdd/body.train.mdd", "npy/body.train.npy",
                                         "obj/body.train/"},
                             *const sources[] = {"pc2/body.train.pc2", "mdd/body.train.mdd", "npy/body.train.npy",
                                                 "obj/body.train"};
    for (int i = 0; i < 4; i++) {
        char folder[4] = {0};
        memcpy(folder, caches[i], 3);
        assert_int_equal(mkdir(path_of(folder), 0777), 0);
        if (i == 3) assert_int_equal(mkdir(path_of("obj/body.train"), 0777), 0);
        write_cache(path_of(caches[i]), FRAMES, VERTICES);
        char glb[64];
        snprintf(glb, sizeof glb, "%s/body.glb", folder);
        pelt_bundle bundle = make_bundle(path_of(glb));
        const pelt_clip *clip = expect_clip(&bundle, "train", path_of(sources[i]));
        for (size_t k = 0; k < 3 * FRAMES * VERTICES; k++) assert_true(clip->positions[k] == value_of(k));
        assert_ptr_equal(pelt_bundle_clip(&bundle, "train", PELT_NEED_POSITIONS, NULL), clip); /* and again */
        pelt_arena_free(bundle.arena);
    }
}

static void a_file_can_be_named(void **state) {
    (void)state;
    char request[2048], file[1024];
    snprintf(file, sizeof file, "%s", path_of("odd=name.npy"));
    write_cache(file, FRAMES, VERTICES);
    static const char *const names[] = {"train", "a=b"};
    for (int i = 0; i < 2; i++) {
        pelt_bundle bundle = make_bundle(path_of("body.glb"));
        snprintf(request, sizeof request, "%s=%s", names[i], file);
        const pelt_clip *clip = expect_clip(&bundle, request, file);
        assert_string_equal(clip->name, names[i]);
        assert_ptr_equal(expect_clip(&bundle, names[i], file), clip);
        assert_ptr_equal(expect_clip(&bundle, request, file), clip);
        snprintf(request, sizeof request, "%s=other.pc2", names[i]);
        expect_failure(&bundle, request, "already has its positions from");
        pelt_arena_free(bundle.arena);
    }
    pelt_bundle bundle = make_bundle(path_of("body.glb"));
    expect_failure(&bundle, "train=", "name a file after the =");
    expect_failure(&bundle, "train=absent.pc2", "absent.pc2: cannot be opened");
    expect_failure(&bundle, "train=shot.abc", "shot.abc: pelt cannot read Alembic yet; convert it to");
    pelt_arena_free(bundle.arena);
}

static void an_alembic_cache_beside_the_bundle_is_named(void **state) {
    (void)state;
    fclose(fopen(path_of("alembic.train.abc"), "w"));
    pelt_bundle bundle = make_bundle(path_of("alembic.glb"));
    expect_failure(&bundle, "train", "alembic.train.abc: pelt cannot read Alembic yet");
    pelt_arena_free(bundle.arena);
}

static void morph_targets_are_added_to_the_rest_positions(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle(path_of("morph.glb"));
    add_targets(&bundle);
    const pelt_clip *clip = expect_clip(&bundle, "train", bundle.path);
    for (size_t f = 0; f < FRAMES; f++)
        for (size_t v = 0; v < VERTICES; v++)
            for (size_t k = 0; k < 3; k++) {
                float delta = v == 1 ? target_deltas[f][k] : v == 4 ? target_deltas[f][3 + k] : 0;
                assert_true(clip->positions[3 * (f * VERTICES + v) + k] == rest[3 * v + k] + delta);
            }
    expect_failure(&bundle, "walk", "the mesh has 3 morph targets, not one per key (121)");
    write_cache(path_of("morph.a=b.pc2"), FRAMES, VERTICES); /* a cache goes before the targets */
    expect_clip(&bundle, "a=b", path_of("morph.a=b.pc2"));
    pelt_arena_free(bundle.arena);
}

static void morph_targets_that_need_too_much_memory_are_refused(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle("morph.glb");
    add_targets(&bundle);
    bundle.mesh.vertex_count = 1000000; /* as a sparse accessor without data can say in a few bytes */
    expect_failure(&bundle, "train", "need 36 MB");
    pelt_arena_free(bundle.arena);
}

static void a_pose_needs_no_positions(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle(path_of("nothing.glb"));
    const pelt_clip *clip = pelt_bundle_clip(&bundle, "walk", PELT_NEED_POSE, NULL);
    assert_ptr_equal(clip, &clips[1]);
    assert_null(clip->positions);
    pelt_arena_free(bundle.arena);
}

/* -- What is said when they do not ------------------------------------------------------------------------------- */

static void an_unknown_clip_is_answered_with_the_clips_there_are(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle("body.glb");
    expect_failure(&bundle, "trian",
                   "body.glb: there is no clip trian (did you mean train?); its clips: train, walk, a=b");
    expect_failure(&bundle, "WALK", "did you mean walk?");
    expect_failure(&bundle, "wlk=x.pc2", "there is no clip wlk (did you mean walk?)");
    expect_failure(&bundle, "jump", "there is no clip jump; its clips: train");
    expect_failure(&bundle, "", "there is no clip ; its clips");
    /* Extra and missing letters count the same, and a name that differs by more than half is not suggested. */
    expect_failure(&bundle, "ttrain", "there is no clip ttrain (did you mean train?)");
    expect_failure(&bundle, "trainabcdefgh", "there is no clip trainabcdefgh; its clips: train");
    expect_failure(&bundle, "wa", "there is no clip wa; its clips: train");
    const pelt_clip alike[2] = {{.name = "run1"}, {.name = "run2"}}, *list[] = {&alike[0], &alike[1]};
    bundle.clips = list, bundle.clip_count = 2;
    expect_failure(&bundle, "run3", "there is no clip run3 (did you mean run1?); its clips: run1, run2");
    bundle.clip_count = 0;
    expect_failure(&bundle, "train", "the file has no animations");
    pelt_arena_free(bundle.arena);
}

static void many_clips_with_long_names_fit_into_the_sentence(void **state) {
    (void)state;
    pelt_clip one = {0};
    const pelt_clip *many[76];
    char name[300];
    memset(name, 'n', sizeof name), name[299] = 0;
    one.name = name;
    for (int i = 0; i < 76; i++) many[i] = &one;
    pelt_bundle bundle = make_bundle("body.glb");
    bundle.clips = many, bundle.clip_count = 76;
    expect_failure(&bundle, "train", " and 64 more");
    expect_failure(&bundle, name + 1, "there is no clip nnnn");
    pelt_arena_free(bundle.arena);
}

static void a_missing_cache_says_where_it_was_looked_for(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle("some/where/none.glb");
    expect_failure(&bundle, "train",
                   "some/where/none.glb: clip train has no true positions: there is no none.train.pc2, .mdd, .npy or "
                   "folder of .obj in some/where/; put it there, or name it as train=FILE");
    bundle.path = "none.gltf";
    expect_failure(&bundle, "train", "there is no none.train.pc2, .mdd, .npy or folder of .obj in ./;");
    pelt_arena_free(bundle.arena);
}

static void a_cache_of_another_mesh_is_refused_with_both_counts(void **state) {
    (void)state;
    pelt_bundle bundle = make_bundle(path_of("wrong.glb"));
    write_cache(path_of("wrong.train.pc2"), FRAMES, 3);
    expect_failure(&bundle, "train", "wrong.train.pc2: 3 points, but the mesh in");
    expect_failure(&bundle, "train",
                   "wrong.glb has 6 vertices at 4 positions; export the cache and the mesh from the same object");
    write_cache(path_of("wrong.train.pc2"), FRAMES, 7);
    expect_failure(&bundle, "train", "wrong.train.pc2: 7 points, but the mesh");
    pelt_arena_free(bundle.arena);
}

static void a_cache_of_another_length_is_refused_with_both_counts(void **state) {
    (void)state;
    write_cache(path_of("length.walk.mdd"), 120, VERTICES);
    pelt_bundle bundle = make_bundle(path_of("length.glb"));
    expect_failure(&bundle, "walk", "length.walk.mdd: 120 frames, but clip walk has 121 keys");
    write_cache(path_of("length.walk.mdd"), 121, VERTICES); /* mended, it loads */
    expect_clip(&bundle, "walk", path_of("length.walk.mdd"));
    pelt_arena_free(bundle.arena);
}

static void a_clip_name_does_not_lead_out_of_the_folder(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("body..."), 0777), 0); /* body.glb and ../up make body.../up.pc2 */
    write_cache(path_of("body.../up.pc2"), FRAMES, VERTICES);
    pelt_bundle bundle = make_bundle(path_of("body.glb"));
    expect_failure(&bundle, "../up", "clip ../up has no true positions");
    pelt_arena_free(bundle.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_beside_the_bundle_is_found_in_every_format),
        cmocka_unit_test(a_file_can_be_named),
        cmocka_unit_test(an_alembic_cache_beside_the_bundle_is_named),
        cmocka_unit_test(morph_targets_are_added_to_the_rest_positions),
        cmocka_unit_test(morph_targets_that_need_too_much_memory_are_refused),
        cmocka_unit_test(a_pose_needs_no_positions),
        cmocka_unit_test(an_unknown_clip_is_answered_with_the_clips_there_are),
        cmocka_unit_test(many_clips_with_long_names_fit_into_the_sentence),
        cmocka_unit_test(a_missing_cache_says_where_it_was_looked_for),
        cmocka_unit_test(a_cache_of_another_mesh_is_refused_with_both_counts),
        cmocka_unit_test(a_cache_of_another_length_is_refused_with_both_counts),
        cmocka_unit_test(a_clip_name_does_not_lead_out_of_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
