/* test_misuse.c: caller mistakes are refused with a message, or do what the header says, without out-of-bounds reads.
   Everything goes through the public headers, like a language binding would. */

#include "test/frames.h"
#include <pelt/fit.h>

enum { FRAMES = 6, JOINTS = 2 };

static const pelt_transform still = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};

/* -- Characters ---------------------------------------------------------------------------------------------------- */

/* A strip of this many vertices along x, in pairs; the half beyond x = 1 follows the second joint. */
static pelt_bundle *make_strip(const char *name, uint32_t vertices) {
    uint32_t *triangles = calloc(3 * vertices, sizeof *triangles), *joints = calloc(vertices, sizeof *joints);
    float *positions = calloc(3 * vertices, sizeof *positions), *weights = calloc(vertices, sizeof *weights);
    for (uint32_t v = 0; v < vertices; v++) {
        positions[3 * v] = (float)(v / 2) * 4 / (float)vertices, positions[3 * v + 1] = (float)(v % 2);
        joints[v] = positions[3 * v] >= 1, weights[v] = 1;
        uint32_t corners[] = {v, v + 2 - v % 2, v + 1 + v % 2};
        for (int k = 0; k < 3 && v + 2 < vertices; k++) triangles[3 * v + (uint32_t)k] = corners[k];
    }
    pelt_transform rest[JOINTS] = {still, still};
    rest[1].translation[0] = 1;
    pelt_character c = {.name = name,
                        .vertex_count = vertices,
                        .triangle_count = vertices - 2,
                        .joint_count = JOINTS,
                        .influences_per_vertex = 1,
                        .positions = positions,
                        .triangles = triangles,
                        .joints = joints,
                        .weights = weights,
                        .parents = (int32_t[]){-1, 0},
                        .rest = rest};
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_new(&c, &error);
    if (!bundle) fail_msg("%s", error.text);
    free(positions), free(weights), free(triangles), free(joints);
    return bundle;
}

/* The second joint rotates about z by a fifth of a radian more each frame, and the skin bulges. */
static const pelt_clip *add_bends(pelt_bundle *bundle, const float *normals) {
    uint32_t n = bundle->mesh.vertex_count;
    pelt_transform poses[FRAMES][JOINTS];
    float *positions = calloc(3 * FRAMES * n, sizeof *positions);
    for (uint32_t f = 0; f < FRAMES; f++) {
        double angle = 0.2 * f;
        poses[f][0] = poses[f][1] = still;
        poses[f][1].translation[0] = 1;
        poses[f][1].rotation[2] = (float)sin(angle / 2), poses[f][1].rotation[3] = (float)cos(angle / 2);
        for (uint32_t v = 0; v < n; v++) {
            const float *p = bundle->mesh.positions + 3 * v;
            float *q = positions + 3 * (f * n + v);
            double x = p[0] - 1, y = p[1];
            bool turned = p[0] >= 1;
            q[0] = (float)(turned ? 1 + x * cos(angle) - y * sin(angle) : p[0]);
            q[1] = (float)(turned ? x * sin(angle) + y * cos(angle) : p[1]);
            q[2] = (float)(0.1 * angle * angle * exp(-x * x));
        }
    }
    pelt_error error = {0};
    pelt_clip_input input = {"bends", FRAMES, poses[0], positions, NULL, normals};
    const pelt_clip *clip = pelt_bundle_add_clip(bundle, &input, &error);
    if (!clip) fail_msg("%s", error.text);
    free(positions);
    return clip;
}

typedef struct subject {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_examples examples;
    pelt_bytes *bytes;
    pelt_skin skin;
} subject;

static subject open_subject(uint32_t vertices) {
    subject s = {.bundle = make_strip("strip", vertices)};
    pelt_error error = {0};
    s.clip = add_bends(s.bundle, NULL);
    s.examples = pelt_bundle_examples(s.bundle, &s.clip, 1);
    s.bytes = pelt_fit(s.bundle, s.examples, NULL, NULL, &error); /* NULL: the defaults */
    if (!s.bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    return s;
}

static void close_subject(subject *s) { pelt_bytes_free(s->bytes), pelt_bundle_free(s->bundle); }

/* -- What every refusal looks like --------------------------------------------------------------------------------- */

/* A call that fails, with this code and these words in its message. */
#define REFUSED(call, wanted, words)                                                                                   \
    do {                                                                                                               \
        pelt_error error = {0};                                                                                        \
        if (call) fail_msg("%s was not refused", #call);                                                               \
        if (error.code != (wanted) || !strstr(error.text, words))                                                      \
            fail_msg("%s: code %d, \"%s\"", #call, (int)error.code, error.text);                                       \
    } while (0)

#define ARGUMENT PELT_ERROR_ARGUMENT

/* -- Examples ------------------------------------------------------------------------------------------------------ */

/* More vertices, where a fit would silently continue, and fewer, where it would read beyond the end. */
static void examples_of_another_bundle_are_refused_by_all_that_take_them(void **state) {
    (void)state;
    subject s = open_subject(40);
    for (uint32_t vertices = 20; vertices <= 80; vertices += 60) {
        pelt_bundle *other = make_strip("other", vertices);
        const pelt_clip *foreign = add_bends(other, NULL);
        pelt_examples theirs = pelt_bundle_examples(other, &foreign, 1), kept, held;
        for (int method = 0; method < PELT_METHOD_COUNT; method++) {
            pelt_fit_options o = {.method = (pelt_method)method};
            REFUSED(pelt_fit(s.bundle, theirs, &o, NULL, &error), PELT_ERROR_DATA, "a clip that strip does not have");
        }
        REFUSED(pelt_measure_examples(&s.skin, s.bundle, theirs, 1, &error), PELT_ERROR_DATA, "strip does not have");
        REFUSED(pelt_fit_convex(&s.skin, s.bundle, theirs, 1, &error), PELT_ERROR_DATA, "strip does not have");
        REFUSED(!pelt_hold_out(s.bundle, theirs, 0.2, &kept, &held, &error), PELT_ERROR_DATA, "strip does not have");
        REFUSED(pelt_study_joints(s.bundle, theirs, NULL, 0, &error), PELT_ERROR_DATA, "strip does not have");
        REFUSED(pelt_bundle_mirror(s.bundle, foreign, 0, &error), ARGUMENT, "clip: strip has no such");
        pelt_findings found = pelt_diagnose(s.bundle, &foreign, 1);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.list[0].what, "clip");
        pelt_bundle_free(other);
    }
    close_subject(&s);
}

static void a_clip_of_another_bundle_is_played_as_the_rest_pose(void **state) {
    (void)state;
    subject s = open_subject(40);
    pelt_bundle *other = make_strip("other", 80);
    const pelt_clip *foreign = add_bends(other, NULL);
    pelt_player *player = pelt_player_new(&s.skin, s.bundle, NULL);
    float positions[120], turned[120];
    pelt_player_frame(player, foreign, FRAMES - 1, positions, NULL);
    for (int i = 0; i < 120; i++) assert_near(positions[i], s.bundle->mesh.positions[i], 1e-6);
    pelt_player_frame(player, s.clip, FRAMES - 1, positions, NULL);
    pelt_player_frame(player, s.clip, UINT32_MAX, turned, NULL); /* beyond the last is clamped to the last */
    assert_memory_equal(positions, turned, sizeof positions);
    pelt_player_frame(player, s.clip, FRAMES, turned, NULL);
    assert_memory_equal(positions, turned, sizeof positions);
    assert_true(fabsf(positions[117] - s.bundle->mesh.positions[117]) > 0.1f);
    pelt_player_frame(player, NULL, 0, positions, NULL), pelt_player_frame(player, s.clip, 0, NULL, NULL);
    pelt_player_pose_of(player, NULL, NULL);
    pelt_player_free(player), pelt_bundle_free(other), close_subject(&s);
}

static void frames_beyond_the_last_of_a_clip_are_its_last(void **state) {
    (void)state;
    subject s = open_subject(40);
    pelt_transform last[JOINTS], beyond[JOINTS];
    pelt_clip_pose(s.clip, &s.bundle->skeleton, FRAMES - 1, last);
    for (uint32_t frame = FRAMES; frame; frame *= 2048) {
        pelt_clip_pose(s.clip, &s.bundle->skeleton, frame, beyond);
        assert_memory_equal(last, beyond, sizeof last);
    }
    pelt_clip_pose(NULL, &s.bundle->skeleton, 0, beyond);
    assert_memory_equal(s.bundle->skeleton.rest, beyond, sizeof beyond);
    float rows[FRAMES] = {1, 2, 3, 4, 5, 6}, rest = 9, value;
    pelt_controls one = {1, (const char *[]){"tension"}, &rest};
    pelt_clip tense = {.frame_count = FRAMES, .controls = rows};
    pelt_clip_controls(&tense, &one, FRAMES, &value);
    assert_near(value, 6, 0);
    pelt_clip_controls(NULL, &one, 0, &value);
    assert_near(value, 9, 0);
    close_subject(&s);
}

static void lists_without_their_pointer_and_clips_that_are_null_are_refused(void **state) {
    (void)state;
    subject s = open_subject(40);
    pelt_example holes[] = {{s.clip, 0, 1}, {NULL, 0, 1}};
    pelt_examples none = {7, NULL}, gap = {2, holes}, kept, held;
    pelt_fit_options psd = {.method = PELT_METHOD_PSD};
    REFUSED(pelt_fit(s.bundle, none, &psd, NULL, &error), ARGUMENT, "examples: the count is 7, but the list is NULL");
    REFUSED(pelt_fit(s.bundle, gap, &psd, NULL, &error), ARGUMENT, "examples: clip 1 is NULL");
    REFUSED(pelt_fit(s.bundle, gap, NULL, NULL, &error), ARGUMENT, "clip 1 is NULL");
    REFUSED(pelt_measure_examples(&s.skin, s.bundle, gap, 1, &error), ARGUMENT, "clip 1 is NULL");
    REFUSED(!pelt_hold_out(s.bundle, gap, 0.2, &kept, &held, &error), ARGUMENT, "clip 1 is NULL");
    const pelt_clip *clips[] = {s.clip, NULL};
    pelt_examples made = pelt_bundle_examples(s.bundle, clips, 2);
    assert_int_equal(made.count, FRAMES + 1);
    REFUSED(pelt_fit(s.bundle, made, &psd, NULL, &error), ARGUMENT, "clip 6 is NULL");
    REFUSED(pelt_fit(s.bundle, pelt_bundle_examples(s.bundle, NULL, 1), &psd, NULL, &error), ARGUMENT, "is NULL");
    assert_string_equal(pelt_diagnose(s.bundle, clips, 2).list[0].what, "clip");
    assert_string_equal(pelt_diagnose(s.bundle, NULL, 2).list[0].what, "clip");
    close_subject(&s);
}

static void weights_that_are_no_weights_are_refused_and_not_left_out(void **state) {
    (void)state;
    subject s = open_subject(40);
    static const float wrong[] = {-1, NAN, INFINITY, 2e6f};
    pelt_fit_options o = {.blend = PELT_BLEND_FIT};
    for (int i = 0; i < 4; i++) {
        float weights[FRAMES] = {1, 1, wrong[i], 1, 1, 1};
        ((pelt_clip *)s.clip)->example_weights = weights;
        pelt_examples all = pelt_bundle_examples(s.bundle, &s.clip, 1);
        assert_int_equal(all.count, FRAMES);
        REFUSED(pelt_fit(s.bundle, all, &o, NULL, &error), ARGUMENT, "example 2, frame 2 of clip \"bends\"");
        ((pelt_clip *)s.clip)->example_weights = NULL;
    }
    close_subject(&s);
}

static void no_method_makes_a_skin_from_no_examples_but_those_that_need_none(void **state) {
    (void)state;
    subject s = open_subject(40);
    for (int method = 0; method < PELT_METHOD_COUNT; method++) {
        pelt_fit_options o = {.method = (pelt_method)method};
        if (method != PELT_METHOD_SSD)
            REFUSED(pelt_fit(s.bundle, (pelt_examples){0}, &o, NULL, &error), PELT_ERROR_DATA, "no examples to fit to");
    }
    pelt_bytes *plain = pelt_fit(s.bundle, (pelt_examples){0}, NULL, NULL, NULL);
    assert_non_null(plain);
    pelt_bytes_free(plain), close_subject(&s);
}

/* -- NULL ---------------------------------------------------------------------------------------------------------- */

static void what_is_missing_is_named(void **state) {
    (void)state;
    subject s = open_subject(40);
    pelt_examples kept;
    pelt_skin skin;
    REFUSED(pelt_bundle_read(NULL, &error), ARGUMENT, "path must");
    REFUSED(pelt_bundle_new(NULL, &error), ARGUMENT, "character must");
    REFUSED(pelt_bundle_clip(NULL, "a", PELT_NEED_POSE, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_bundle_clip(s.bundle, NULL, PELT_NEED_POSE, &error), ARGUMENT, "name must");
    REFUSED(pelt_bundle_add_clip(s.bundle, NULL, &error), ARGUMENT, "input must");
    REFUSED(pelt_bundle_add_clip(NULL, &(pelt_clip_input){0}, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_bundle_mirror(s.bundle, NULL, 0, &error), ARGUMENT, "clip:");
    REFUSED(pelt_bundle_mirror(NULL, s.clip, 0, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_fit(NULL, s.examples, NULL, NULL, &error), ARGUMENT, "bundle must");
    REFUSED(!pelt_fit_resolve(NULL, &error), ARGUMENT, "options must");
    REFUSED(!pelt_hold_out(s.bundle, s.examples, 0.2, &kept, NULL, &error), ARGUMENT, "held must");
    REFUSED(pelt_measure_examples(NULL, s.bundle, s.examples, 1, &error), ARGUMENT, "skin must");
    REFUSED(pelt_fit_convex(&s.skin, NULL, s.examples, 1, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_study_joints(NULL, s.examples, NULL, 0, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_player_new(NULL, s.bundle, &error), ARGUMENT, "skin must");
    REFUSED(pelt_player_new(&s.skin, NULL, &error), ARGUMENT, "bundle must");
    REFUSED(pelt_skin_read(NULL, &skin, &error), ARGUMENT, "path must");
    REFUSED(pelt_skin_read("x.pelt", NULL, &error), ARGUMENT, "skin must");
    REFUSED(pelt_keys_read("x.keys", NULL, &error), ARGUMENT, "keys must");
    REFUSED(!pelt_bytes_write(NULL, "x.pelt", &error), ARGUMENT, "bytes must");
    REFUSED(!pelt_bytes_write(s.bytes, NULL, &error), ARGUMENT, "path must");
    pelt_fit_report_free(NULL), pelt_measure_free(NULL), pelt_keys_measure_free(NULL), pelt_bundle_free(NULL);
    pelt_player_free(NULL), pelt_eigen_study_free(NULL), pelt_bytes_free(NULL);
    assert_null(pelt_player_pose(NULL, s.clip, 0));
    assert_int_equal(pelt_measure_is_relative(NULL), 0);
    assert_int_equal(pelt_bundle_examples(NULL, &s.clip, 1).count, 0);
    close_subject(&s);
}

static void names_and_ranges_of_what_does_not_exist_are_empty(void **state) {
    (void)state;
    double low, high;
    assert_string_equal(pelt_blend_name((pelt_blend)99), "");
    assert_string_equal(pelt_method_name((pelt_method)-1), "");
    assert_string_equal(pelt_corrective_name((pelt_corrective_kind)99), "");
    assert_string_equal(pelt_family_name((pelt_family)-1), "");
    assert_int_equal(pelt_option_used(NULL, PELT_BLEND_FILE, PELT_CORRECTIVE_NONE), 0);
    assert_int_equal(pelt_option_used("influences", (pelt_blend)99, PELT_CORRECTIVE_NONE), 0);
    assert_int_equal(pelt_option_used("per_vertex", PELT_BLEND_FILE, (pelt_corrective_kind)-1), 0);
    assert_int_equal(pelt_option_range(NULL, &low, &high), 0);
    assert_int_equal(pelt_option_range("influences", NULL, &high), 0);
}

/* -- Options ------------------------------------------------------------------------------------------------------- */

static void lists_in_options_that_have_a_count_alone_are_refused(void **state) {
    (void)state;
    subject s = open_subject(40);
    pelt_drive_rules no_rules = {2, NULL};
    pelt_drive_rule rules[] = {
        {.joints = "*", .turn_count = 2}, {.joints = "*", .twist_count = 2}, {.joints = "*", .bend_count = 2}};
    pelt_fit_options o = {.method = PELT_METHOD_JOINTS, .joints.drive = &no_rules};
    REFUSED(pelt_fit(s.bundle, s.examples, &o, NULL, &error), ARGUMENT, "drive: there should be 2 rules");
    for (int i = 0; i < 3; i++) {
        o.joints.drive = &(pelt_drive_rules){1, &rules[i]};
        REFUSED(pelt_fit(s.bundle, s.examples, &o, NULL, &error), ARGUMENT, "drive: rule 1: there should be fractions");
    }
    static const struct {
        pelt_fit_options options;
        const char *words;
    } lists[] = {{{.blend = PELT_BLEND_FIT, .fitted.drop_joints.count = 1}, "drop_joints: name 0"},
                 {{.blend = PELT_BLEND_FIT, .convex.lock_joints.count = 1}, "lock_joints: name 0"},
                 {{.blend = PELT_BLEND_FIT, .convex.lock_vertex_count = 1}, "lock_vertices:"},
                 {{.method = PELT_METHOD_PSD, .displacement.control_scale_count = 1}, "control_scale: name 0"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        REFUSED(pelt_fit(s.bundle, s.examples, &lists[i].options, NULL, &error), ARGUMENT, lists[i].words);
    close_subject(&s);
}

static void ways_to_change_a_cache_are_checked_before_any_is_read(void **state) {
    (void)state;
    subject s = open_subject(20);
    static const struct {
        pelt_cache_options options;
        const char *words;
    } wrong[] = {{{.axes = {1, 2, 2}}, "axes: expected"}, {{.axes = {9, 2, 3}}, "not 9, 2, 3"},
                 {{.axes = {0, 2, 3}}, "not 0, 2, 3"},    {{.axes = {INT32_MIN, 2, 3}}, "axes:"},
                 {{.scale = NAN}, "scale must"},          {{.scale = -1}, "scale must"},
                 {{.scale = 1e10}, "scale must"},         {{.offset = {0, INFINITY, 0}}, "offset must"},
                 {{.frames = INT32_MIN}, "frames must"},  {{.frames = 1000001}, "frames must"},
                 {{.space = (pelt_space)3}, "space:"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s.bundle->cache = wrong[i].options;
        REFUSED(pelt_bundle_clip(s.bundle, "bends", PELT_NEED_POSITIONS, &error), ARGUMENT, wrong[i].words);
    }
    s.bundle->cache = (pelt_cache_options){.axes = {-3, 1, 2}, .scale = 1e9, .frames = -1000000};
    assert_ptr_equal(pelt_bundle_clip(s.bundle, "bends", PELT_NEED_POSITIONS, NULL), s.clip);
    close_subject(&s);
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

/* The skin's normals stay at z; for every third vertex the true one is known, and 60 degrees off. */
static void unknown_normals_do_not_make_the_others_look_better(void **state) {
    (void)state;
    enum { VERTICES = 40 };
    pelt_bundle *bundle = make_strip("strip", VERTICES);
    float normals[FRAMES][VERTICES][3] = {0};
    for (int f = 0; f < FRAMES; f++)
        for (int v = 0; v < VERTICES; v += 3) normals[f][v][2] = 0.5f, normals[f][v][0] = (float)sqrt(0.75);
    for (int known = 1; known >= 0; known--) {
        pelt_transform poses[FRAMES][JOINTS];
        for (int f = 0; f < FRAMES; f++)
            for (int j = 0; j < JOINTS; j++) poses[f][j] = bundle->skeleton.rest[j];
        float shapes[FRAMES][3 * VERTICES];
        for (int f = 0; f < FRAMES; f++) memcpy(shapes[f], bundle->mesh.positions, sizeof shapes[f]);
        if (!known) memset(normals, 0, sizeof normals);
        pelt_clip_input input = {known ? "some" : "none", FRAMES, poses[0], shapes[0], NULL, normals[0][0]};
        const pelt_clip *clip = pelt_bundle_add_clip(bundle, &input, NULL);
        pelt_examples all = pelt_bundle_examples(bundle, &clip, 1);
        pelt_fit_report report;
        pelt_bytes *bytes = pelt_fit(bundle, all, NULL, &report, NULL);
        assert_non_null(bytes);
        assert_near(report.train->normal_max_degrees, known ? 60 : 0, 1e-3);
        assert_near(report.train->normal_rms_degrees, known ? 60 : 0, 1e-3);
        pelt_fit_report_free(&report), pelt_bytes_free(bytes);
    }
    pelt_bundle_free(bundle);
}

/* -- Key points ---------------------------------------------------------------------------------------------------- */

static pelt_result read_nothing(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    (void)user, (void)first, (void)count, (void)values, (void)error;
    return PELT_ERROR_FILE;
}

static pelt_result describe_nothing(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error) {
    (void)user, (void)keys, (void)words, (void)error;
    return PELT_ERROR_DATA;
}

static int evaluate(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    (void)controls, (void)points;
    memset(values, 0, count * 3 * sizeof *values);
    return *(int *)user;
}

static void training_refuses_what_it_cannot_read(void **state) {
    (void)state;
    test_frames *t = test_frames_make(40, 30, 3, 4, 0.001, 5);
    pelt_frames f = t->frames;
    pelt_keys_options few = {.keys = 5}, counted = {.keys = 5, .fiducial_count = 3};
    REFUSED(pelt_keys_train(NULL, &few, NULL, &error), ARGUMENT, "frames must");
    REFUSED(pelt_keys_train(&f, &counted, NULL, &error), ARGUMENT, "fiducials: the count is 3");
    REFUSED(pelt_keys_train(&(pelt_frames){0}, &few, NULL, &error), PELT_ERROR_DATA, "no frames");
    f.read = read_nothing;
    REFUSED(pelt_keys_train(&f, &few, NULL, &error), PELT_ERROR_FILE, "frame 0 cannot be read");
    assert_null(pelt_keys_train(&f, &few, NULL, NULL));
    f = t->frames, f.frame_count = UINT32_MAX - 3;
    REFUSED(pelt_keys_train(&f, &few, NULL, &error), PELT_ERROR_DATA, "too many to count");
    float controls[40] = {0};
    uint32_t shots[40] = {0};
    f = t->frames, f.controls = controls, f.control_count = 1, controls[7] = NAN;
    REFUSED(pelt_keys_train(&f, &few, NULL, &error), PELT_ERROR_NUMBER, "control 0 of frame 7");
    f = t->frames, f.shots = shots, shots[9] = UINT32_MAX;
    REFUSED(pelt_keys_train(&f, &few, NULL, &error), PELT_ERROR_DATA, "frame 9 belongs to shot");
    few.describe = describe_nothing;
    REFUSED(pelt_keys_train(&t->frames, &few, NULL, &error), PELT_ERROR_DATA, "describe");
    test_frames_free(t);
}

static void the_soft_cache_has_ranges_of_its_own(void **state) {
    (void)state;
    static const struct {
        pelt_soft_cache_options options;
        const char *field;
    } wrong[] = {{{.e_min = 3, .e_max = 1}, "e_max"},
                 {{.e_min = NAN}, "e_min"},
                 {{.e_max = NAN}, "e_max"},
                 {{.e_min = -1}, "e_min"},
                 {{.e_max = -1}, "e_max"},
                 {{.e_max = 0.5f}, "e_max"},
                 {{.e_min = INFINITY}, "e_min"},
                 {{.e_max = INFINITY}, "e_max"},
                 {{.step = NAN}, "step"},
                 {{.step = -0.1f}, "step"},
                 {{.step = 1.5f}, "step"}};
    test_frames *t = test_frames_make(40, 30, 3, 4, 0.001, 5);
    pelt_keys_options few = {.keys = 5};
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &few, NULL, NULL);
    assert_non_null(bytes);
    pelt_keys keys;
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    pelt_soft_cache cache;
    int code = 0;
    pelt_engine_call engine = {evaluate, &code, 1};
    void *memory = aligned_alloc(64, pelt_soft_cache_size(&keys, 1));
    float values[90], control = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pelt_keys_measure_options o = {.soft_cache = wrong[i].options};
        REFUSED(pelt_keys_measure_frames(&keys, &t->frames, &o, &error), ARGUMENT, wrong[i].field);
        assert_string_equal(pelt_soft_cache_problem(&wrong[i].options), wrong[i].field);
        memset(&cache, 255, sizeof cache);
        assert_int_equal(pelt_soft_cache_init(&cache, &keys, &wrong[i].options, engine, memory), ARGUMENT);
        assert_int_equal(pelt_soft_cache_next(&cache, &control, values, NULL), ARGUMENT);
    }
    assert_null(pelt_soft_cache_problem(NULL));
    assert_int_equal(pelt_soft_cache_init(&cache, &keys, NULL, engine, memory), PELT_OK);
    assert_int_equal(pelt_soft_cache_next(&cache, NULL, values, NULL), ARGUMENT);
    assert_int_equal(pelt_soft_cache_next(&cache, &control, NULL, NULL), ARGUMENT);
    assert_int_equal(pelt_soft_cache_next(&cache, &control, values, NULL), PELT_OK);
    pelt_soft_cache_cut(NULL);
    free(memory), pelt_bytes_free(bytes), test_frames_free(t);
}

static void measuring_key_points_refuses_frames_that_it_cannot_compare(void **state) {
    (void)state;
    test_frames *t = test_frames_make(40, 30, 3, 4, 0.001, 5);
    pelt_keys_options few = {.keys = 5};
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &few, NULL, NULL);
    pelt_keys keys, closed = {0};
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    REFUSED(pelt_keys_measure_frames(NULL, &t->frames, NULL, &error), ARGUMENT, "keys must");
    REFUSED(pelt_keys_measure_frames(&keys, NULL, NULL, &error), ARGUMENT, "frames must");
    REFUSED(pelt_keys_measure_frames(&closed, &(pelt_frames){.frame_count = 1, .read = read_nothing}, NULL, &error),
            PELT_ERROR_DATA, "no frames to measure");
    static const pelt_keys_measure_options wrong[] = {{.bar = NAN}, {.point_cost = NAN}, {.call_cost = -1}};
    static const char *const fields[] = {"bar must", "point_cost must", "call_cost must"};
    for (int i = 0; i < 3; i++)
        REFUSED(pelt_keys_measure_frames(&keys, &t->frames, &wrong[i], &error), ARGUMENT, fields[i]);
    uint32_t point = 0; /* that no key point is: nobody but the comparison would look at it */
    for (uint32_t k = 0; k < keys.key_count; k++)
        if (keys.key_points[k] == point) point++, k = UINT32_MAX;
    t->values[(3 * 30 + point) * 3] = NAN;
    REFUSED(pelt_keys_measure_frames(&keys, &t->frames, NULL, &error), PELT_ERROR_NUMBER, "frame 3, point");
    pelt_bytes_free(bytes), test_frames_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_another_bundle_are_refused_by_all_that_take_them),
        cmocka_unit_test(a_clip_of_another_bundle_is_played_as_the_rest_pose),
        cmocka_unit_test(frames_beyond_the_last_of_a_clip_are_its_last),
        cmocka_unit_test(lists_without_their_pointer_and_clips_that_are_null_are_refused),
        cmocka_unit_test(weights_that_are_no_weights_are_refused_and_not_left_out),
        cmocka_unit_test(no_method_makes_a_skin_from_no_examples_but_those_that_need_none),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(names_and_ranges_of_what_does_not_exist_are_empty),
        cmocka_unit_test(lists_in_options_that_have_a_count_alone_are_refused),
        cmocka_unit_test(ways_to_change_a_cache_are_checked_before_any_is_read),
        cmocka_unit_test(unknown_normals_do_not_make_the_others_look_better),
        cmocka_unit_test(training_refuses_what_it_cannot_read),
        cmocka_unit_test(the_soft_cache_has_ranges_of_its_own),
        cmocka_unit_test(measuring_key_points_refuses_frames_that_it_cannot_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
