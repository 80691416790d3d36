/* test_gltf_real.c: real characters, and that written files read back the same. */

#include "test/gltf_maker.h"
#include <jansson.h>

/* -- Reading ------------------------------------------------------------------------------------------------------- */

static pelt_bundle *read_real(const char *name) {
    pelt_error error = {0};
    const char *path = test_data(name);
    if (!path) skip();
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* Counts from the notes that come with the files; joints are those of the skin and the plain nodes above them. */
static const struct {
    const char *name;
    uint32_t vertices, triangles, joints, clips, frames; /* frames of the first clip */
    double diagonal;                                     /* 0: not told */
} REAL[] = {
    {"mhr_body/mhr_body.glb", 2461, 4918, 127, 4, 240, 2.199},
    {"mhr_hand/mhr_hand.glb", 501, 992, 25, 2, 235, 0.2511},
    {"fem_hand/fem_hand.glb", 1159, 2314, 25, 2, 121, 0.2687},
    {"fem_hand_hi/fem_hand_hi.glb", 4630, 9256, 25, 2, 121, 0},
    {"limbs_S/limbs_S.glb", 5000, 9900, 4 + 1, 1, 50, 4.123},
    {"limbs_M/limbs_M.glb", 10000, 19600, 24 + 1, 1, 100, 18.40},
    {"bone/bone.glb", 754, 1504, 6 + 1, 1, 400, 4.418},
    {"ict_face/ict_face.glb", 14062, 28068, 1, 0, 0, 0},
    {"webxr_hand/left.glb", 1360, 2314, 25 + 1, 0, 0, 0},
    {"webxr_hand/right.glb", 1360, 2314, 25 + 1, 0, 0, 0},
    {"chars/Fox.glb", 1728, 576, 24 + 1, 3, 83, 0},
    {"chars/Knight.glb", 7024, 6952, 51, 76, 33, 0},
    {"chars/RobotExpressive.glb", 7214, 3237, 57, 14, 81, 0},
    {"chars/RiggedFigure.glb", 370, 256, 19 + 2, 1, 2, 0},
    {"chars/RiggedSimple.glb", 160, 188, 2 + 2, 1, 50, 0},
    {"chars/CesiumMan.glb", 3273, 4672, 19 + 2, 1, 48, 0},
};

static void check_real(size_t i, const pelt_bundle *bundle) {
    const pelt_mesh *mesh = &bundle->mesh;
    assert_int_equal(mesh->vertex_count, REAL[i].vertices);
    assert_int_equal(mesh->triangle_count, REAL[i].triangles);
    assert_int_equal(bundle->skeleton.joint_count, REAL[i].joints);
    assert_int_equal(bundle->clip_count, REAL[i].clips);
    if (bundle->clip_count) assert_int_equal(bundle->clips[0]->frame_count, REAL[i].frames);
    if (REAL[i].diagonal > 0) assert_near(mesh->diagonal, REAL[i].diagonal, 6e-4 * REAL[i].diagonal);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double sum = 0;
        for (uint32_t k = mesh->influences.first[v]; k < mesh->influences.first[v + 1]; k++)
            sum += mesh->influences.weights[k];
        assert_near(sum, 1, 1e-6);
    }
}

static void real_characters_have_the_counts_of_their_notes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof REAL / sizeof *REAL; i++) {
        pelt_bundle *bundle = read_real(REAL[i].name);
        check_real(i, bundle);
        pelt_bundle_free(bundle);
    }
}

static void the_face_has_its_sparse_targets(void **state) {
    (void)state;
    pelt_bundle *bundle = read_real("ict_face/ict_face.glb");
    uint32_t entries = 0;
    assert_int_equal(bundle->mesh.target_count, 51);
    for (uint32_t t = 0; t < 51; t++) entries += bundle->mesh.targets[t].count;
    assert_int_equal(entries, 346866);
    assert_string_equal(bundle->mesh.targets[50].name, "noseSneerRight");
    pelt_bundle_free(bundle);
}

/* The Khronos validator counts 752 vertices of the robot whose weights do not sum to 1. */
static void weights_that_do_not_sum_to_one_are_told(void **state) {
    (void)state;
    pelt_bundle *bundle = read_real("chars/RobotExpressive.glb");
    const pelt_finding *note = find_note(bundle, "weight-sum");
    assert_non_null(note);
    assert_int_equal(note->severity, PELT_WARNING);
    assert_non_null(strstr(note->text, "752 vertices"));
    pelt_bundle_free(bundle);
}

/* The body's notes: linear blend against the true walk has RMS 3.980 mm and max 23.88 mm. */
static void linear_blend_of_the_walk_is_as_far_from_the_truth_as_known(void **state) {
    (void)state;
    const char *cache = test_data("mhr_body/mhr_body.walk.pc2");
    if (!cache) skip();
    pelt_bundle *bundle = read_real("mhr_body/mhr_body.glb");
    const pelt_clip *walk = bundle->clips[1];
    size_t numbers = 3 * (size_t)bundle->mesh.vertex_count;
    float *truth = malloc(numbers * sizeof *truth);
    FILE *file = fopen(cache, "rb");
    double sum = 0, max = 0;
    assert_string_equal(walk->name, "walk");
    assert_non_null(file);
    assert_int_equal(fseek(file, 32, SEEK_SET), 0);
    for (uint32_t frame = 0; frame < walk->frame_count; frame++) {
        double *blend = blend_frame(bundle, walk, frame);
        assert_int_equal(fread(truth, sizeof *truth, numbers, file), numbers);
        for (size_t i = 0; i < numbers; i += 3) {
            double square = 0;
            for (size_t k = i; k < i + 3; k++) square += (blend[k] - truth[k]) * (blend[k] - truth[k]);
            sum += square;
            max = fmax(max, sqrt(square));
        }
        free(blend);
    }
    assert_near(1000 * sqrt(sum / (walk->frame_count * (numbers / 3.0))), 3.980, 5e-4);
    assert_near(1000 * max, 23.88, 5e-3);
    fclose(file);
    free(truth);
    pelt_bundle_free(bundle);
}

/* -- There and back ------------------------------------------------------------------------------------------------ */

static pelt_bundle *write_and_read(const pelt_bundle *bundle) {
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    char path[300];
    pelt_error error = {0};
    snprintf(path, sizeof path, "%s/copy.glb", test_folder());
    if (pelt_gltf_write(path, &content, &error) != PELT_OK) fail_msg("%s", error.text);
    pelt_bundle *copy = pelt_bundle_read(path, &error);
    if (!copy) fail_msg("%s", error.text);
    remove(path);
    return copy;
}

static void assert_same_mesh(const pelt_mesh *a, const pelt_mesh *b) {
    size_t vertices = a->vertex_count, entries = a->influences.first[vertices];
    assert_int_equal(b->vertex_count, vertices);
    assert_int_equal(b->triangle_count, a->triangle_count);
    assert_int_equal(b->target_count, a->target_count);
    assert_memory_equal(a->positions, b->positions, 12 * vertices);
    assert_memory_equal(a->normals, b->normals, 12 * vertices);
    assert_memory_equal(a->triangles, b->triangles, 12 * (size_t)a->triangle_count);
    assert_memory_equal(a->influences.first, b->influences.first, 4 * (vertices + 1));
    assert_memory_equal(a->influences.joints, b->influences.joints, 4 * entries);
    assert_memory_equal(a->influences.weights, b->influences.weights, 4 * entries);
    for (uint32_t t = 0; t < a->target_count; t++) {
        assert_string_equal(a->targets[t].name, b->targets[t].name);
        assert_int_equal(a->targets[t].count, b->targets[t].count);
        assert_memory_equal(a->targets[t].vertices, b->targets[t].vertices, 4 * (size_t)a->targets[t].count);
        assert_memory_equal(a->targets[t].deltas, b->targets[t].deltas, 12 * (size_t)a->targets[t].count);
    }
}

static void assert_same_skeleton(const pelt_skeleton *a, const pelt_skeleton *b) {
    assert_int_equal(b->joint_count, a->joint_count);
    for (uint32_t j = 0; j < a->joint_count; j++) {
        assert_string_equal(a->names[j], b->names[j]);
        assert_int_equal(a->parents[j], b->parents[j]);
        assert_memory_equal(&a->rest[j], &b->rest[j], sizeof a->rest[j]);
        for (int i = 0; i < 12; i++) assert_true((float)a->inverse_bind[j][i] == (float)b->inverse_bind[j][i]);
    }
}

static void assert_same_clip(const pelt_clip *a, const pelt_clip *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->frame_count, b->frame_count);
    assert_int_equal(a->channel_count, b->channel_count);
    assert_memory_equal(a->times, b->times, 4 * (size_t)a->frame_count);
    for (uint32_t c = 0; c < a->channel_count; c++) {
        const pelt_channel *x = &a->channels[c], *y = &b->channels[c];
        size_t numbers = x->key_count * (size_t)(x->path == PELT_ROTATION ? 4 : 3);
        if (x->interpolation == PELT_CUBIC) numbers *= 3;
        assert_int_equal(x->joint, y->joint);
        assert_int_equal(x->path, y->path);
        assert_int_equal(x->interpolation, y->interpolation);
        assert_int_equal(x->key_count, y->key_count);
        assert_memory_equal(x->times, y->times, 4 * (size_t)x->key_count);
        for (size_t i = 0; i < numbers; i++) assert_near(x->values[i], y->values[i], 1e-6);
    }
}

static void assert_survives(const pelt_bundle *bundle) {
    pelt_bundle *copy = write_and_read(bundle);
    assert_same_mesh(&bundle->mesh, &copy->mesh);
    assert_same_skeleton(&bundle->skeleton, &copy->skeleton);
    assert_int_equal(copy->clip_count, bundle->clip_count);
    for (uint32_t c = 0; c < bundle->clip_count; c++) assert_same_clip(bundle->clips[c], copy->clips[c]);
    assert_int_equal(copy->notes.count, 0);
    pelt_bundle_free(copy);
}

static void a_small_character_survives_writing(void **state) {
    (void)state;
    maker m;
    const char *rest = make_character(&m);
    pelt_bundle *bundle = make_bundle(&m, rest);
    assert_survives(bundle);
    pelt_bundle_free(bundle);
}

static void real_characters_survive_writing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof REAL / sizeof *REAL; i++) {
        pelt_bundle *bundle = read_real(REAL[i].name);
        assert_survives(bundle);
        pelt_bundle_free(bundle);
    }
}

/* -- Writing what is hard ------------------------------------------------------------------------------------------ */

enum { JOINTS = 300 };

/* A triangle whose corners follow 1, 6 and 300 joints under two roots. */
typedef struct crowd {
    float positions[9], normals[9], weights[1 + 6 + JOINTS];
    uint32_t triangles[3], first[4], joints[1 + 6 + JOINTS];
    const char *names[JOINTS];
    int32_t parents[JOINTS];
    pelt_transform rest[JOINTS];
    double inverse_bind[JOINTS][12];
    pelt_target empty;
    pelt_mesh mesh;
    pelt_skeleton skeleton;
} crowd;

static void make_crowd(crowd *c) {
    *c = (crowd){.positions = {0, 0, 0, 1, 0, 0, 0, 1, 0},
                 .normals = {0, 0, 2, 0, 0, 0, 0, 0, 1},
                 .triangles = {0, 1, 2},
                 .first = {0, 1, 7, 7 + JOINTS},
                 .empty = {.name = "nothing"}};
    for (uint32_t i = 0; i < 7 + JOINTS; i++) {
        c->joints[i] = i < 7 ? 290 + i : i - 7;
        c->weights[i] = i < 1 ? 1 : i < 7 ? 1 / 6.0f : (float)(1.01 / JOINTS);
    }
    for (uint32_t j = 0; j < JOINTS; j++) {
        c->names[j] = "joint";
        c->parents[j] = j < 2 ? -1 : (int32_t)(j - 2);
        c->rest[j] = (pelt_transform){{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
        memcpy(c->inverse_bind[j], pelt_identity.m, sizeof pelt_identity.m);
    }
    c->mesh =
        (pelt_mesh){3, 1, 1, c->positions, c->normals, c->triangles, {c->first, c->joints, c->weights}, &c->empty, 0};
    c->skeleton = (pelt_skeleton){JOINTS, c->names, c->parents, c->rest, c->inverse_bind};
}

static void many_influences_and_two_roots_can_be_written(void **state) {
    (void)state;
    crowd *c = malloc(sizeof *c);
    make_crowd(c);
    pelt_bundle source = {.mesh = c->mesh, .skeleton = c->skeleton}, *copy = write_and_read(&source);
    const pelt_influences *in = &copy->mesh.influences;
    assert_int_equal(copy->skeleton.joint_count, JOINTS + 1); /* glTF asks for a common root */
    assert_int_equal(in->first[3], 7 + JOINTS);
    for (uint32_t i = 0; i < 7; i++) assert_int_equal(in->joints[i], 290 + i + 1); /* the root comes first */
    for (uint32_t i = 7; i < 7 + JOINTS; i++) assert_near(in->weights[i], 1.0 / JOINTS, 1e-8);
    for (int v = 0; v < 3; v++) assert_near(copy->mesh.normals[3 * v + 2], 1, 0);
    assert_int_equal(copy->mesh.targets[0].count, 0);
    assert_null(find_note(copy, "weight-sum"));
    pelt_bundle_free(copy);
    free(c);
}

/* The floats of an accessor of a .glb in memory. */
static const float *floats_of(const json_t *root, const uint8_t *binary, json_int_t accessor, json_int_t *count) {
    const json_t *a = json_array_get(json_object_get(root, "accessors"), (size_t)accessor);
    json_int_t view = json_integer_value(json_object_get(a, "bufferView"));
    const json_t *v = json_array_get(json_object_get(root, "bufferViews"), (size_t)view);
    *count = json_integer_value(json_object_get(a, "count"));
    assert_int_equal(json_integer_value(json_object_get(v, "byteLength")), 4 * *count);
    return (const float *)(const void *)(binary + json_integer_value(json_object_get(v, "byteOffset")));
}

/* Target i alone at time i: the rows of a unit matrix. */
static void targets_are_played_one_after_the_other(void **state) {
    (void)state;
    enum { SHAPES = 3 };
    crowd *c = malloc(sizeof *c);
    make_crowd(c);
    const uint32_t vertex = 1;
    const float delta[3] = {1, 2, 3}, times[SHAPES] = {0, 0.5f, 2};
    pelt_target targets[SHAPES];
    for (int i = 0; i < SHAPES; i++) targets[i] = (pelt_target){"shape", 1, &vertex, delta};
    c->mesh.targets = targets, c->mesh.target_count = SHAPES;
    pelt_clip play = {.name = "show", .frame_count = SHAPES, .times = times};
    char path[300];
    pelt_error error = {0};
    snprintf(path, sizeof path, "%s/play.glb", test_folder());
    pelt_gltf_content content = {.mesh = &c->mesh, .play_targets = &play};
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_OK);
    uint32_t length = *(const uint32_t *)(const void *)(file.bytes + 12);
    json_t *root = json_loadb((const char *)file.bytes + 20, length, 0, NULL);
    const uint8_t *binary = file.bytes + 20 + length + 8;
    assert_non_null(root);
    const json_t *animation = json_array_get(json_object_get(root, "animations"), 0);
    const json_t *sampler = json_array_get(json_object_get(animation, "samplers"), 0);
    assert_string_equal(json_string_value(json_object_get(sampler, "interpolation")), "STEP");
    json_int_t count;
    const float *at = floats_of(root, binary, json_integer_value(json_object_get(sampler, "input")), &count);
    assert_int_equal(count, SHAPES);
    assert_memory_equal(at, times, sizeof times);
    const float *weights = floats_of(root, binary, json_integer_value(json_object_get(sampler, "output")), &count);
    assert_int_equal(count, SHAPES * SHAPES);
    for (int i = 0; i < SHAPES * SHAPES; i++) assert_near(weights[i], i % (SHAPES + 1) == 0, 0);
    json_decref(root);
    pelt_arena_free(arena);
    free(c);
}

/* glTF requires unit length. The triangle is perpendicular to x, so that its own normal differs from the one
   written. */
static void vectors_without_direction_are_written_as_the_last_axis(void **state) {
    (void)state;
    crowd *c = malloc(sizeof *c);
    make_crowd(c);
    memcpy(c->positions, (float[]){0, 0, 0, 0, 1, 0, 0, 0, 1}, sizeof c->positions);
    const float times[] = {0, 1}, turns[8] = {0, 0, 0, 0, 3, 0, 0, 4};
    pelt_channel channel = {1, 2, PELT_ROTATION, PELT_LINEAR, times, turns};
    pelt_clip clip = {.name = "turn", .frame_count = 2, .channel_count = 1, .times = times, .channels = &channel};
    const pelt_clip *clips[] = {&clip};
    pelt_bundle source = {.mesh = c->mesh, .skeleton = c->skeleton, .clip_count = 1, .clips = clips};
    pelt_bundle *copy = write_and_read(&source);
    const float normals[9] = {0, 0, 1, 0, 0, 1, 0, 0, 1}, units[8] = {0, 0, 0, 1, 0.6f, 0, 0, 0.8f};
    assert_memory_equal(copy->mesh.normals, normals, sizeof normals);
    assert_memory_equal(copy->clips[0]->channels[0].values, units, sizeof units);
    pelt_bundle_free(copy);
    free(c);
}

static void what_gltf_cannot_hold_is_refused(void **state) {
    (void)state;
    crowd *c = malloc(sizeof *c);
    make_crowd(c);
    pelt_gltf_content content = {.mesh = &c->mesh, .skeleton = &c->skeleton};
    char path[300];
    pelt_error error;
    snprintf(path, sizeof path, "%s/none.glb", test_folder());
    c->weights[3] = -0.5f;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "none.glb: glTF cannot hold the weights of vertex 1"));
    make_crowd(c);
    c->positions[4] = NAN;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_NUMBER);
    make_crowd(c);
    const float times[] = {-1, 0}, values[6] = {0};
    pelt_channel channel = {0, 2, PELT_TRANSLATION, PELT_LINEAR, times, values};
    pelt_clip clip = {.name = "early", .frame_count = 2, .channel_count = 1, .times = times, .channels = &channel};
    content.clips = &(const pelt_clip *){&clip}, content.clip_count = 1;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "clip early starts at -1 s"));
    content.clip_count = 0;
    c->skeleton.joint_count = 65537;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "65536 joints at most"));
    c->skeleton.joint_count = 0;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "the skeleton has no joints"));
    c->mesh.triangle_count = 0;
    assert_int_equal(pelt_gltf_write(path, &content, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "the mesh has no triangles"));
    assert_int_equal(access(path, F_OK), -1);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_characters_have_the_counts_of_their_notes),
        cmocka_unit_test(the_face_has_its_sparse_targets),
        cmocka_unit_test(weights_that_do_not_sum_to_one_are_told),
        cmocka_unit_test(linear_blend_of_the_walk_is_as_far_from_the_truth_as_known),
        cmocka_unit_test(a_small_character_survives_writing),
        cmocka_unit_test(real_characters_survive_writing),
        cmocka_unit_test(many_influences_and_two_roots_can_be_written),
        cmocka_unit_test(targets_are_played_one_after_the_other),
        cmocka_unit_test(vectors_without_direction_are_written_as_the_last_axis),
        cmocka_unit_test(what_gltf_cannot_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
