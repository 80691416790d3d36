/* test_memory_bundle.c: a character from the caller's arrays equals one from a file with the same numbers, and invalid
   arrays are refused with a message. */

#include "io/io.h"
#include "test/sampled.h"

/* -- The same as from a file --------------------------------------------------------------------------------------- */

/* Quaternions that a clip reproduces bit for bit: normalised until nothing changes. */
static void settle(pelt_transform *t) {
    float before[4];
    do {
        double square = 0;
        memcpy(before, t->rotation, sizeof before);
        for (int i = 0; i < 4; i++) square += (double)before[i] * before[i];
        for (int i = 0; i < 4; i++) t->rotation[i] = (float)(before[i] / sqrt(square));
    } while (memcmp(before, t->rotation, sizeof before));
}

/* Arrays of a built-in character, as a host application would have them. */
typedef struct arrays {
    pelt_character character;
    pelt_clip_input clips[2];
    pelt_arena *arena;
} arrays;

static pelt_clip_input clip_arrays(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip) {
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_transform *poses = PELT_NEW(arena, (size_t)clip->frame_count * joints, pelt_transform);
    for (uint32_t f = 0; f < clip->frame_count; f++) pelt_clip_pose(clip, &bundle->skeleton, f, poses + f * joints);
    for (size_t i = 0; i < (size_t)clip->frame_count * joints; i++) settle(&poses[i]);
    return (pelt_clip_input){clip->name, clip->frame_count, poses, clip->positions, clip->controls};
}

static arrays arrays_of(const pelt_bundle *bundle, const char *name) {
    enum { EACH = 5 }; /* one more than the samples have */
    const pelt_mesh *mesh = &bundle->mesh;
    const pelt_skeleton *skeleton = &bundle->skeleton;
    arrays a = {.arena = pelt_arena_new(0)};
    uint32_t *joints = PELT_NEW(a.arena, EACH * (size_t)mesh->vertex_count, uint32_t);
    float *weights = PELT_NEW(a.arena, EACH * (size_t)mesh->vertex_count, float);
    float *inverse_bind = PELT_NEW(a.arena, 12 * (size_t)skeleton->joint_count, float);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t first = mesh->influences.first[v], count = mesh->influences.first[v + 1] - first;
        for (uint32_t k = 0; k < EACH; k++) {
            joints[EACH * v + k] = k < count ? mesh->influences.joints[first + k] : 12345; /* any, without weight */
            weights[EACH * v + k] = k < count ? mesh->influences.weights[first + k] : 0;
        }
    }
    for (size_t i = 0; i < 12 * (size_t)skeleton->joint_count; i++)
        inverse_bind[i] = (float)skeleton->inverse_bind[i / 12][i % 12];
    a.character = (pelt_character){.name = name,
                                   .vertex_count = mesh->vertex_count,
                                   .triangle_count = mesh->triangle_count,
                                   .joint_count = skeleton->joint_count,
                                   .influences_per_vertex = EACH,
                                   .control_count = bundle->controls.count,
                                   .positions = mesh->positions,
                                   .normals = mesh->normals,
                                   .triangles = mesh->triangles,
                                   .joints = joints,
                                   .weights = weights,
                                   .joint_names = skeleton->names,
                                   .parents = skeleton->parents,
                                   .rest = skeleton->rest,
                                   .inverse_bind = inverse_bind,
                                   .control_names = bundle->controls.names,
                                   .control_rest = bundle->controls.rest};
    for (int c = 0; c < 2; c++) a.clips[c] = clip_arrays(a.arena, bundle, bundle->clips[c]);
    return a;
}

static pelt_bundle *built(const arrays *a) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_new(&a->character, &error);
    for (int c = 0; c < 2 && bundle; c++)
        if (!pelt_bundle_add_clip(bundle, &a->clips[c], &error)) fail_msg("%s", error.text);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* Writes a bundle as files and reads them again. */
static pelt_bundle *through_files(const pelt_bundle *bundle, const char *path) {
    pelt_error error = {0};
    char beside[400];
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        const pelt_clip *clip = bundle->clips[c];
        snprintf(beside, sizeof beside, "%.*s.%s.pc2", (int)strlen(path) - 4, path, clip->name);
        pelt_cache_writer *writer = pelt_cache_writer_open(beside, clip->frame_count, &bundle->mesh, 30, &error);
        assert_non_null(writer);
        for (size_t f = 0; f < clip->frame_count; f++)
            pelt_cache_writer_frame(writer, clip->positions + 3 * f * bundle->mesh.vertex_count);
        assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
        pelt_table table = {clip->frame_count, bundle->controls.count, bundle->controls.names, (float *)clip->controls,
                            0};
        snprintf(beside, sizeof beside, "%.*s.%s.csv", (int)strlen(path) - 4, path, clip->name);
        if (table.column_count) assert_int_equal(pelt_table_write(beside, &table, &error), PELT_OK);
    }
    pelt_bundle *read = pelt_bundle_read(path, &error);
    if (!read) fail_msg("%s", error.text);
    return read;
}

/* The skin of a bundle's first clip by a method, and its error on the second. */
typedef struct outcome {
    pelt_bytes *skin;
    pelt_measure *measure;
} outcome;

static outcome run(pelt_bundle *bundle, pelt_method method) {
    pelt_error error = {0};
    pelt_skin skin;
    outcome out;
    pelt_examples train = all_of(bundle, "train"), test = all_of(bundle, "test");
    out.skin = pelt_fit(bundle, train, &(pelt_fit_options){.method = method, .threads = 2}, NULL, &error);
    if (!out.skin) fail_msg("%s: %s", pelt_method_name(method), error.text);
    assert_int_equal(pelt_open(out.skin->bytes, out.skin->size, &skin), PELT_OK);
    out.measure = pelt_measure_examples(&skin, bundle, test, 2, &error);
    if (!out.measure) fail_msg("%s: %s", pelt_method_name(method), error.text);
    return out;
}

static void a_bundle_from_memory_gives_the_skins_and_errors_of_the_same_bundle_from_files(void **state) {
    (void)state;
    enum { VERTICES = 160 };
    static const char *const names[] = {"arm", "biceps"};
    for (int i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s.glb", test_folder(), names[i]);
        pelt_bundle *sample = sampled(names[i], VERTICES);
        arrays a = arrays_of(sample, path);
        pelt_bundle *memory = built(&a), *file = through_files(memory, path);
        pelt_arena_free(a.arena), pelt_bundle_free(sample); /* nothing of them is needed any more */
        for (int m = 0; m < PELT_METHOD_COUNT; m++) {
            outcome x = run(memory, (pelt_method)m), y = run(file, (pelt_method)m);
            assert_int_equal(x.skin->size, y.skin->size);
            assert_memory_equal(x.skin->bytes, y.skin->bytes, x.skin->size);
            assert_memory_equal(x.measure, y.measure, offsetof(pelt_measure, frame_rms));
            assert_memory_equal(x.measure->vertex_rms, y.measure->vertex_rms, VERTICES * sizeof(float));
            pelt_bytes_free(x.skin), pelt_bytes_free(y.skin), pelt_measure_free(x.measure),
                pelt_measure_free(y.measure);
        }
        pelt_bundle_free(memory), pelt_bundle_free(file);
    }
}

/* The weights these blends find do not depend on the file's, unless joints are locked or dropped; for fitted ones,
   except for which of several nearly equal joints the vertices of a block end up sharing. */
static void a_character_without_weights_gets_those_that_a_blend_finds(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *sample = sampled("arm", 300);
    arrays a = arrays_of(sample, "arm");
    pelt_bundle *with = built(&a);
    a.character.joints = NULL, a.character.weights = NULL, a.character.influences_per_vertex = 0;
    pelt_bundle *without = built(&a);
    const pelt_clip *clip = without->clips[0];
    pelt_findings findings = pelt_diagnose(without, &clip, 1);
    for (size_t i = 0; i < findings.count; i++) assert_int_equal(findings.list[i].severity, PELT_NOTE);
    for (int i = 0; i < 2; i++) {
        pelt_measure *measures[2];
        for (int b = 0; b < 2; b++) {
            pelt_bundle *bundle = b ? without : with;
            pelt_examples train = all_of(bundle, "train");
            pelt_skin skin;
            pelt_bytes *bytes = pelt_fit(
                bundle, train,
                &(pelt_fit_options){.method = PELT_METHOD_SSD, .blend = i ? PELT_BLEND_FIT : PELT_BLEND_DISTANCE}, NULL,
                &error);
            if (!bytes) fail_msg("%s", error.text);
            assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
            measures[b] = pelt_measure_examples(&skin, bundle, train, 2, &error);
            assert_non_null(measures[b]);
            pelt_bytes_free(bytes);
        }
        assert_near(measures[0]->rms, measures[1]->rms, i ? 2e-4 * measures[0]->rms : 0);
        assert_true(measures[0]->rel_err > 0);
        assert_near(measures[1]->rel_err, 0, 0);
        pelt_measure_free(measures[0]), pelt_measure_free(measures[1]);
    }
    pelt_bundle_free(with), pelt_bundle_free(without), pelt_bundle_free(sample), pelt_arena_free(a.arena);
}

/* -- What is given comes back ---------------------------------------------------------------------------------------- */

/* Two triangles on two joints, the second one unit above the first. */
enum { VERTICES = 4, TRIANGLES = 2, JOINTS = 2, EACH = 3, CONTROLS = 2, FRAMES = 3 };
typedef struct small {
    float positions[VERTICES][3], normals[VERTICES][3], weights[VERTICES][EACH], inverse_bind[JOINTS][12];
    float control_rest[CONTROLS], shapes[FRAMES][VERTICES][3], controls[FRAMES][CONTROLS];
    uint32_t triangles[TRIANGLES][3], joints[VERTICES][EACH];
    int32_t parents[JOINTS];
    pelt_transform rest[JOINTS], poses[FRAMES][JOINTS];
    const char *control_names[CONTROLS], *joint_names[JOINTS];
    pelt_character character;
    pelt_clip_input clip;
} small;

static small *small_new(void) {
    small *s = calloc(1, sizeof *s);
    *s = (small){.positions = {{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {0, 2, 0}},
                 .normals = {{0, 0, 2}, {0, 0, 0}, {0, 3, 4}, {0, 0, 1}},
                 .weights = {{1, 0, 0}, {0.25f, 0.25f, 0.5f}, {0, 0, 8}, {0.5f, 0, 0.5f}},
                 .joints = {{0, 99, 99}, {0, 1, 0}, {77, 0, 1}, {1, 0, 1}},
                 .triangles = {{0, 1, 2}, {0, 2, 3}},
                 .parents = {-1, 0},
                 .control_rest = {0.5f, -2},
                 .control_names = {"age", "smile"},
                 .joint_names = {"root", "tip"}};
    for (int j = 0; j < JOINTS; j++) {
        s->rest[j] = (pelt_transform){{0, 0, 0, 1}, {0, (float)j, 0}, {1, 1, 1}};
        memcpy(s->inverse_bind[j], (float[]){1, 0, 0, 0, 0, 1, 0, -7, 0, 0, 1, 0}, sizeof s->inverse_bind[j]);
        for (int f = 0; f < FRAMES; f++) {
            s->poses[f][j] = s->rest[j];
            s->controls[f][j] = (float)(10 * f + j);
        }
    }
    s->rest[1].rotation[3] = 2; /* not of unit length */
    s->poses[1][0] = (pelt_transform){{0, 0, 3, 4}, {1, 2, 3}, {1, 1, 1}};
    s->poses[2][1] = (pelt_transform){{0.6f, 0, 0, 0.8f}, {0, 1, 0}, {2, 3, 4}};
    for (int i = 0; i < FRAMES * VERTICES * 3; i++) s->shapes[i / 12][i / 3 % VERTICES][i % 3] = (float)i;
    s->character = (pelt_character){.vertex_count = VERTICES,
                                    .triangle_count = TRIANGLES,
                                    .joint_count = JOINTS,
                                    .influences_per_vertex = EACH,
                                    .control_count = CONTROLS,
                                    .positions = s->positions[0],
                                    .normals = s->normals[0],
                                    .triangles = s->triangles[0],
                                    .joints = s->joints[0],
                                    .weights = s->weights[0],
                                    .joint_names = s->joint_names,
                                    .parents = s->parents,
                                    .rest = s->rest,
                                    .inverse_bind = s->inverse_bind[0],
                                    .control_names = s->control_names,
                                    .control_rest = s->control_rest};
    s->clip = (pelt_clip_input){"wave", FRAMES, s->poses[0], s->shapes[0][0], s->controls[0]};
    return s;
}

static pelt_bundle *small_bundle(const small *s) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_new(&s->character, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

static void everything_is_copied_and_weights_and_lengths_are_made_one(void **state) {
    (void)state;
    small *s = small_new();
    pelt_bundle *b = small_bundle(s);
    free(s), s = small_new(); /* the arrays that were given are gone */
    assert_string_equal(b->path, "character");
    assert_memory_equal(b->mesh.positions, s->positions, sizeof s->positions);
    assert_memory_equal(b->mesh.triangles, s->triangles, sizeof s->triangles);
    assert_near(b->mesh.diagonal, sqrt(5), 1e-6);
    /* Unit length; the second has no direction, and the triangle's is z. */
    const float normals[VERTICES][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0.6f, 0.8f}, {0, 0, 1}};
    for (int i = 0; i < 3 * VERTICES; i++) assert_near(b->mesh.normals[i], normals[i / 3][i % 3], 1e-7);
    static const struct {
        uint32_t first, count, joints[2];
        float weights[2];
    } wanted[VERTICES] = {{0, 1, {0}, {1}}, {1, 2, {0, 1}, {0.75f, 0.25f}}, {3, 1, {1}, {1}}, {4, 1, {1}, {1}}};
    for (int v = 0; v < VERTICES; v++) {
        assert_int_equal(b->mesh.influences.first[v], wanted[v].first);
        assert_int_equal(b->mesh.influences.first[v + 1], wanted[v].first + wanted[v].count);
        for (uint32_t k = 0; k < wanted[v].count; k++) {
            assert_int_equal(b->mesh.influences.joints[wanted[v].first + k], wanted[v].joints[k]);
            assert_near(b->mesh.influences.weights[wanted[v].first + k], wanted[v].weights[k], 0);
        }
    }
    assert_string_equal(b->skeleton.names[1], "tip");
    assert_int_equal(b->skeleton.parents[0], -1);
    assert_near(b->skeleton.rest[1].rotation[3], 1, 0);
    assert_near(b->skeleton.rest[1].translation[1], 1, 0);
    assert_near(b->skeleton.inverse_bind[1][7], -7, 0);
    assert_int_equal(b->controls.count, 2);
    assert_string_equal(b->controls.names[1], "smile");
    assert_near(b->controls.rest[0], 0.5, 0);
    pelt_bundle_free(b), free(s);
}

static void what_is_not_given_takes_its_default(void **state) {
    (void)state;
    small *s = small_new();
    s->character.name = "body", s->character.normals = NULL, s->character.joint_names = NULL;
    s->character.inverse_bind = NULL, s->character.control_rest = NULL;
    s->character.joints = NULL, s->character.weights = NULL, s->character.influences_per_vertex = 0;
    pelt_bundle *b = small_bundle(s);
    assert_string_equal(b->path, "body");
    assert_string_equal(b->skeleton.names[1], "joint1");
    for (int v = 0; v < VERTICES; v++) assert_near(b->mesh.normals[3 * v + 2], 1, 0);
    for (int v = 0; v <= VERTICES; v++) assert_int_equal(b->mesh.influences.first[v], 0);
    for (int j = 0; j < JOINTS; j++)
        for (int i = 0; i < 12; i++)
            assert_near(b->skeleton.inverse_bind[j][i], i == 7 ? -j : i % 5 == 0,
                        1e-12); /* the joint stands at (0, j, 0) */
    assert_near(b->controls.rest[1], 0, 0);
    pelt_bundle_free(b), free(s);
}

static void poses_shapes_and_controls_come_back_as_they_were_given(void **state) {
    (void)state;
    small *s = small_new();
    pelt_error error;
    pelt_bundle *b = small_bundle(s);
    const pelt_clip *clip = pelt_bundle_add_clip(b, &s->clip, &error);
    assert_non_null(clip);
    memset(s->shapes, 0, sizeof s->shapes), memset(s->controls, 0, sizeof s->controls);
    const pelt_transform turned = {{0, 0, 0.6f, 0.8f}, {1, 2, 3}, {1, 1, 1}};
    for (uint32_t f = 0; f < FRAMES; f++) {
        pelt_transform pose[JOINTS];
        float controls[CONTROLS];
        pelt_clip_pose(clip, &b->skeleton, f, pose);
        for (int j = 0; j < JOINTS; j++) {
            const pelt_transform *want = f == 1 && j == 0 ? &turned : &s->poses[f][j];
            for (int i = 0; i < 4; i++) assert_near(pose[j].rotation[i], want->rotation[i], 1e-7);
            assert_memory_equal(pose[j].translation, want->translation, sizeof want->translation);
            assert_memory_equal(pose[j].scale, want->scale, sizeof want->scale);
        }
        pelt_clip_controls(clip, &b->controls, f, controls);
        assert_near(controls[0], 10 * f, 0);
        assert_near(controls[1], 10 * f + 1, 0);
    }
    for (int i = 0; i < FRAMES * VERTICES * 3; i++) assert_near(clip->positions[i], i, 0);
    assert_int_equal(clip->channel_count, 4); /* rotation and place of the root, rotation and scale of the tip */
    for (int f = 1; f < FRAMES; f++) assert_true(clip->times[f] > clip->times[f - 1]);
    pelt_bundle_free(b), free(s);
}

static void clips_stay_where_they_are_when_others_are_added(void **state) {
    (void)state;
    small *s = small_new();
    pelt_error error;
    pelt_bundle *b = small_bundle(s);
    const pelt_clip *clips[40];
    char name[20];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "clip%d", i);
        s->clip.name = name, s->poses[0][0].translation[0] = (float)i;
        s->clip.positions = i % 2 ? s->shapes[0][0] : NULL;
        assert_non_null(clips[i] = pelt_bundle_add_clip(b, &s->clip, &error));
    }
    assert_int_equal(b->clip_count, 40);
    for (int i = 0; i < 40; i++) {
        pelt_transform pose[JOINTS];
        snprintf(name, sizeof name, "clip%d", i);
        assert_ptr_equal(b->clips[i], clips[i]);
        assert_ptr_equal(pelt_bundle_clip(b, name, PELT_NEED_POSE, &error), clips[i]);
        pelt_clip_pose(clips[i], &b->skeleton, 0, pose);
        assert_near(pose[0].translation[0], i, 0);
        assert_ptr_equal(pelt_bundle_clip(b, name, PELT_NEED_POSITIONS, &error), i % 2 ? clips[i] : NULL);
    }
    assert_string_equal(error.text, "character: clip clip38 was added without true positions");
    pelt_bundle_free(b), free(s);
}

/* A name that happens to match files in the working folder. */
static void no_files_are_looked_for_beside_a_bundle_from_memory(void **state) {
    (void)state;
    small *s = small_new();
    pelt_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/beside.wave.csv", test_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("nonsense\n", file), fclose(file);
    snprintf(path, sizeof path, "%s/beside.glb", test_folder());
    s->character.name = path;
    pelt_bundle *b = small_bundle(s);
    assert_non_null(pelt_bundle_add_clip(b, &s->clip, &error));
    assert_non_null(pelt_bundle_clip(b, "wave", PELT_NEED_POSITIONS, &error));
    pelt_bundle_free(b), free(s);
}

/* -- What is refused ------------------------------------------------------------------------------------------------ */

typedef void spoil(small *s);
#define SPOIL(name, statement)                                                                                         \
    static void name(small *s) { statement; }

SPOIL(no_vertices, s->character.vertex_count = 0)
SPOIL(no_triangles, s->character.triangle_count = 0)
SPOIL(no_joints, s->character.joint_count = 0)
SPOIL(many_joints, s->character.joint_count = 65537)
SPOIL(many_controls, s->character.control_count = 4097)
SPOIL(many_influences, s->character.influences_per_vertex = 1u << 30)
SPOIL(null_positions, s->character.positions = NULL)
SPOIL(null_rest, s->character.rest = NULL)
SPOIL(null_names, s->character.control_names = NULL)
SPOIL(only_weights, s->character.joints = NULL)
SPOIL(no_columns, s->character.influences_per_vertex = 0)
SPOIL(nan_position, s->positions[2][1] = NAN)
SPOIL(infinite_normal, s->normals[3][0] = INFINITY)
SPOIL(huge_mesh, s->positions[0][0] = -3e38f; s->positions[1][0] = 3e38f)
SPOIL(corner, s->triangles[1][2] = VERTICES)
SPOIL(nan_weight, s->weights[1][1] = NAN)
SPOIL(negative_weight, s->weights[1][1] = -0.25f)
SPOIL(no_weight, s->weights[2][2] = 0)
SPOIL(huge_weight, s->weights[3][0] = s->weights[3][2] = 3e38f)
SPOIL(joint_beyond, s->joints[2][2] = JOINTS)
SPOIL(own_parent, s->parents[1] = 1)
SPOIL(strange_parent, s->parents[0] = -2)
SPOIL(nan_rest, s->rest[1].scale[2] = NAN)
SPOIL(zero_rest, s->rest[0].rotation[3] = 0)
SPOIL(nan_bind, s->inverse_bind[1][11] = NAN)
SPOIL(flat_rest, s->rest[0].scale[1] = 0; s->character.inverse_bind = NULL)
SPOIL(nameless_control, s->control_names[1] = "")
SPOIL(twin_controls, s->control_names[1] = "age")
SPOIL(nan_control_rest, s->control_rest[1] = NAN)
SPOIL(nameless_clip, s->clip.name = NULL)
SPOIL(twin_clip, s->clip.name = "there")
SPOIL(no_frames, s->clip.frame_count = 0)
SPOIL(no_poses, s->clip.poses = NULL)
SPOIL(nan_pose, s->poses[2][1].translation[0] = NAN)
SPOIL(zero_pose, memset(s->poses[1][0].rotation, 0, 16))
SPOIL(nan_shape, s->shapes[1][3][2] = NAN)
SPOIL(huge_control, s->controls[2][1] = 2e9f)

static void arrays_that_cannot_be_are_refused_with_a_sentence(void **state) {
    (void)state;
    static const struct {
        spoil *make;
        pelt_result code;
        const char *text;
    } cases[] = {
        {no_vertices, PELT_ERROR_ARGUMENT, "character: a mesh of 0 vertices and 2 triangles is not supported"},
        {no_triangles, PELT_ERROR_ARGUMENT, "character: a mesh of 4 vertices and 0 triangles is not supported"},
        {no_joints, PELT_ERROR_ARGUMENT, "character: has 0 joints; a character has 1 to 65536"},
        {many_joints, PELT_ERROR_ARGUMENT, "character: has 65537 joints; a character has 1 to 65536"},
        {many_controls, PELT_ERROR_ARGUMENT, "character: has 4097 controls, but a character can have at most 4096"},
        {many_influences, PELT_ERROR_ARGUMENT, "character: 1073741824 influences for each of 4 vertices is too many"},
        {null_positions, PELT_ERROR_ARGUMENT, "character: positions, triangles, parents, rest and the names of"},
        {null_rest, PELT_ERROR_ARGUMENT, "character: positions, triangles, parents, rest and the names of"},
        {null_names, PELT_ERROR_ARGUMENT, "character: positions, triangles, parents, rest and the names of"},
        {only_weights, PELT_ERROR_ARGUMENT, "character: joints, weights and influences_per_vertex belong together"},
        {no_columns, PELT_ERROR_ARGUMENT, "character: joints, weights and influences_per_vertex belong together"},
        {nan_position, PELT_ERROR_NUMBER, "character: the position of vertex 2 is not finite"},
        {infinite_normal, PELT_ERROR_NUMBER, "character: the normal of vertex 3 is not finite"},
        {huge_mesh, PELT_ERROR_NUMBER, "character: its mesh is too large for floats"},
        {corner, PELT_ERROR_INDEX, "character: triangle 1 has corner 4, but there are 4 vertices"},
        {nan_weight, PELT_ERROR_NUMBER, "character: vertex 1 has weight nan; weights must be 0 or more"},
        {negative_weight, PELT_ERROR_NUMBER, "character: vertex 1 has weight -0.25; weights must be 0 or more"},
        {no_weight, PELT_ERROR_DATA, "character: the weights of vertex 2 sum to 0; give it a joint to follow"},
        {huge_weight, PELT_ERROR_DATA, "character: the weights of vertex 3 sum to inf"},
        {joint_beyond, PELT_ERROR_INDEX, "character: vertex 2 follows joint 2, but there are 2 joints"},
        {own_parent, PELT_ERROR_INDEX, "character: joint 1 has parent 1; parents come before their children"},
        {strange_parent, PELT_ERROR_INDEX, "character: joint 0 has parent -2; parents come before their children"},
        {nan_rest, PELT_ERROR_NUMBER, "character: joint 1 at rest has a number that is not finite"},
        {zero_rest, PELT_ERROR_NUMBER, "character: joint 0 at rest has the rotation 0 0 0 0"},
        {nan_bind, PELT_ERROR_NUMBER, "character: the inverse bind matrix of joint 1 is not finite"},
        {flat_rest, PELT_ERROR_DATA, "character: joint 0 is scaled to zero at rest"},
        {nameless_control, PELT_ERROR_ARGUMENT, "character: control 1 has no name"},
        {twin_controls, PELT_ERROR_ARGUMENT, "character: two controls are called \"age\""},
        {nan_control_rest, PELT_ERROR_NUMBER, "character: control \"smile\" is nan"},
        {nameless_clip, PELT_ERROR_ARGUMENT, "a clip must have a name"},
        {twin_clip, PELT_ERROR_ARGUMENT, "clip there: there already is a clip of this name"},
        {no_frames, PELT_ERROR_ARGUMENT, "clip wave: has 0 frames"},
        {no_poses, PELT_ERROR_ARGUMENT, "clip wave: has 3 frames and no poses"},
        {nan_pose, PELT_ERROR_NUMBER, "clip wave: joint \"tip\" in frame 2 has a number that is not finite"},
        {zero_pose, PELT_ERROR_NUMBER, "clip wave: joint \"root\" in frame 1 has the rotation 0 0 0 0"},
        {nan_shape, PELT_ERROR_NUMBER, "clip wave: the position of vertex 3 in frame 1 is not finite"},
        {huge_control, PELT_ERROR_NUMBER, "clip wave: control \"smile\" is 2e+09 in frame 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        small *s = small_new();
        pelt_error error = {0};
        cases[i].make(s);
        pelt_bundle *b = pelt_bundle_new(&s->character, &error);
        if (b) {
            pelt_clip_input there = s->clip;
            there.name = "there", there.frame_count = 1, there.poses = s->rest, there.positions = there.controls = NULL;
            assert_non_null(pelt_bundle_add_clip(b, &there, &error));
            assert_null(pelt_bundle_add_clip(b, &s->clip, &error));
            assert_int_equal(b->clip_count, 1);
        }
        if (strncmp(error.text, cases[i].text, strlen(cases[i].text)))
            fail_msg("case %zu: \"%s\" instead of \"%s\"", i, error.text, cases[i].text);
        assert_int_equal(error.code, cases[i].code);
        pelt_bundle_free(b), free(s);
    }
}

/* -- Clips that are no examples ------------------------------------------------------------------------------------- */

static void a_clip_without_positions_can_be_looked_at_but_not_measured_on(void **state) {
    (void)state;
    small *s = small_new();
    pelt_error error = {0};
    pelt_bundle *b = small_bundle(s);
    s->clip.positions = NULL;
    const pelt_clip *clip = pelt_bundle_add_clip(b, &s->clip, &error);
    pelt_findings findings = pelt_diagnose(b, &clip, 1);
    for (size_t i = 0; i < findings.count; i++) assert_string_not_equal(findings.list[i].what, "memory");
    pelt_examples all = pelt_bundle_examples(b, &clip, 1);
    pelt_skin skin = {.vertex_count = VERTICES};
    assert_null(pelt_measure_examples(&skin, b, all, 1, &error));
    assert_int_equal(error.code, PELT_ERROR_DATA);
    assert_string_equal(error.text,
                        "clip \"wave\" has no true positions, so it can be played but not used as examples");
    ((pelt_clip *)clip)->positions = s->shapes[0][0];
    assert_null(pelt_measure_examples(&skin, b, (pelt_examples){1, &(pelt_example){clip, FRAMES}}, 1, &error));
    assert_string_equal(error.text, "example 0 is frame 3 of clip \"wave\", which has 3");
    pelt_bundle_free(b), free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_from_memory_gives_the_skins_and_errors_of_the_same_bundle_from_files),
        cmocka_unit_test(a_character_without_weights_gets_those_that_a_blend_finds),
        cmocka_unit_test(everything_is_copied_and_weights_and_lengths_are_made_one),
        cmocka_unit_test(what_is_not_given_takes_its_default),
        cmocka_unit_test(poses_shapes_and_controls_come_back_as_they_were_given),
        cmocka_unit_test(clips_stay_where_they_are_when_others_are_added),
        cmocka_unit_test(no_files_are_looked_for_beside_a_bundle_from_memory),
        cmocka_unit_test(arrays_that_cannot_be_are_refused_with_a_sentence),
        cmocka_unit_test(a_clip_without_positions_can_be_looked_at_but_not_measured_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
