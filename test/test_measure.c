/* test_measure.c: errors that are known beforehand are measured as they are. */

#include "test/character.h"

enum { JOINTS = 3, VERTICES = 40, FRAMES = 37 };

/* A chain that bends in every frame, with its linear blend as truth. */
static pelt_clip *bending(pelt_bundle *bundle) {
    pelt_transform locals[FRAMES][JOINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            locals[f][j] = character_turn(1, j, 0.5, 3.0 * f - 20 * j);
            memcpy(locals[f][j].translation, bundle->skeleton.rest[j].translation, 12);
        }
    pelt_clip *clip = character_clip(bundle, "bend", FRAMES, locals[0]);
    character_blend(bundle, clip);
    return clip;
}

static float *positions_of(pelt_clip *clip) { return (float *)clip->positions; }

static pelt_measure *measure(const pelt_skin *skin, pelt_bundle *bundle, const pelt_clip *clip, uint32_t threads) {
    pelt_error error = {0};
    pelt_examples all = pelt_bundle_examples(bundle, &clip, 1);
    pelt_measure *m = pelt_measure_examples(skin, bundle, all, threads, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

static void a_constant_offset_is_the_rms_and_the_max_of_every_frame_and_vertex(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) positions_of(clip)[i] += (float[]){0.3f, 0.4f, 0}[i % 3];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 0);
    assert_int_equal(m->frame_count, FRAMES);
    assert_int_equal(m->vertex_count, VERTICES);
    assert_near(m->rms, 0.5, 1e-6);
    assert_near(m->max, 0.5, 2e-6);
    assert_near(m->rms_fraction, 0.5 / bundle->mesh.diagonal, 1e-6);
    assert_near(m->max_fraction, 0.5 / bundle->mesh.diagonal, 2e-6);
    assert_near(m->rel_err, 1, 1e-6); /* the skin is the file's own blend */
    for (int f = 0; f < FRAMES; f++) {
        assert_near(m->frame_rms[f], 0.5, 1e-6);
        assert_near(m->frame_max[f], 0.5, 2e-6);
    }
    for (int v = 0; v < VERTICES; v++) assert_near(m->vertex_rms[v], 0.5, 1e-6);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void a_skin_half_as_wrong_as_the_blend_has_rel_err_one_half(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_transform locals[4][JOINTS];
    for (int f = 0; f < 4; f++) {
        memcpy(locals[f], bundle->skeleton.rest, sizeof locals[f]);
        locals[f][0].translation[0] = (float)f; /* moves only, so that rest offsets stay as they are */
    }
    pelt_clip *clip = character_clip(bundle, "move", 4, locals[0]);
    character_blend(bundle, clip);
    for (size_t i = 0; i < 3 * VERTICES * 4; i++) positions_of(clip)[i] += (float[]){0.3f, 0.4f, 0}[i % 3];
    for (size_t i = 0; i < 3 * VERTICES; i++) bundle->mesh.positions[i] += (float[]){0.3f, 0.4f, 0.25f}[i % 3];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    for (size_t i = 0; i < 3 * VERTICES; i++) bundle->mesh.positions[i] -= (float[]){0.3f, 0.4f, 0.25f}[i % 3];
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_near(m->rms, 0.25, 1e-6);
    assert_near(m->rel_err, 0.5, 1e-6);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void the_worst_frame_and_vertex_are_found(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    positions_of(clip)[3 * (33 * VERTICES + 17) + 1] += 2;
    positions_of(clip)[3 * (5 * VERTICES + 31) + 2] -= 1;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_int_equal(m->worst_frame, 33);
    assert_int_equal(m->worst_vertex, 17);
    assert_near(m->max, 2, 1e-5);
    assert_near(m->frame_max[5], 1, 1e-5);
    assert_near(m->frame_rms[33], 2 / sqrt(VERTICES), 1e-5);
    assert_near(m->vertex_rms[31], 1 / sqrt(FRAMES), 1e-5);
    assert_near(m->rms, sqrt(5.0 / (FRAMES * VERTICES)), 1e-5);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void the_number_of_threads_does_not_change_a_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    uint64_t seed = 4;
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) positions_of(clip)[i] += (float)(0.1 * test_random(&seed));
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *a = measure(&skin, bundle, clip, 1), *b = measure(&skin, bundle, clip, 2);
    assert_memory_equal(a, b, offsetof(pelt_measure, frame_rms));
    assert_memory_equal(a->frame_rms, b->frame_rms, FRAMES * sizeof(float));
    assert_memory_equal(a->frame_max, b->frame_max, FRAMES * sizeof(float));
    assert_memory_equal(a->vertex_rms, b->vertex_rms, VERTICES * sizeof(float));
    pelt_measure_free(a), pelt_measure_free(b), character_free_skin(bytes), character_free(bundle);
}

/* A flat square that the skin leaves as it is, while the true one is tilted: by 10 degrees, by 30, and not at all. */
static void a_tilt_of_the_truth_is_the_angle_of_the_normals_in_degrees(void **state) {
    (void)state;
    static const double tilts[] = {10, 30, 0};
    static float corners[4][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}}, up[4][3];
    static uint32_t triangles[2][3] = {{0, 1, 2}, {0, 2, 3}};
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    for (int v = 0; v < 4; v++) up[v][2] = 1;
    bundle->mesh = (pelt_mesh){.vertex_count = 4, .triangle_count = 2, .positions = corners[0], .normals = up[0]};
    bundle->mesh.triangles = triangles[0];
    bundle->mesh.diagonal = (float)sqrt(8);
    character_influences(bundle, 1);
    for (int v = 0; v < 4; v++) bundle->mesh.influences.weights[v] = 1;
    pelt_transform still[3] = {character_still, character_still, character_still};
    pelt_clip *clip = character_clip(bundle, "tilt", 3, still);
    float truth[3][4][3];
    for (int f = 0; f < 3; f++)
        for (int v = 0; v < 4; v++) {
            double angle = tilts[f] * acos(-1) / 180, y = corners[v][1];
            truth[f][v][0] = corners[v][0];
            truth[f][v][1] = (float)(y * cos(angle)), truth[f][v][2] = (float)(y * sin(angle));
        }
    clip->positions = truth[0][0];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_near(m->normal_max_degrees, 30, 1e-4);
    assert_near(m->normal_rms_degrees, sqrt((10 * 10 + 30 * 30) / 3.0), 1e-4);
    assert_near(m->rms, sqrt((2 - 2 * cos(acos(-1) / 18) + 2 - 2 * cos(acos(-1) / 6)) / 3), 1e-6);
    assert_near(m->rel_err, 1, 1e-6);
    pelt_measure_free(m);
    bundle->mesh.influences.first = PELT_NEW(bundle->arena, 5, uint32_t); /* without weights there is no baseline */
    m = measure(&skin, bundle, clip, 2);
    assert_near(m->rel_err, 0, 0);
    assert_near(m->normal_max_degrees, 30, 1e-4);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

/* Two arms side by side, with their joints in one order or the other. */
static pelt_bundle *arms(int swapped) {
    static const int32_t parents[] = {-1, -1, 0, 1};
    static const char *const names[2][4] = {{"left", "right", "left_hand", "right_hand"},
                                            {"right", "left", "right_hand", "left_hand"}};
    pelt_bundle *bundle = character_new(4, parents);
    for (int j = 0; j < 4; j++) {
        bundle->skeleton.names[j] = names[swapped][j];
        bundle->skeleton.rest[j].translation[0] = (j + swapped) % 2 ? -2.0f : 2.0f;
    }
    character_bind(bundle);
    character_tube(bundle, 16, 0.5, 2);
    character_influences(bundle, 1);
    for (uint32_t v = 0; v < 16; v++) bundle->mesh.influences.joints[v] = (v % 4) ^ (uint32_t)swapped;
    for (uint32_t v = 0; v < 16; v++) bundle->mesh.influences.weights[v] = 1;
    return bundle;
}

static void joints_are_matched_by_name_when_their_order_differs(void **state) {
    (void)state;
    pelt_bundle *made = arms(0), *played = arms(1);
    pelt_transform locals[2][4];
    for (int f = 0; f < 2; f++)
        for (int j = 0; j < 4; j++) {
            locals[f][j] = character_turn(1, 2, 3, 20 * (j + 1) * (f + 1));
            memcpy(locals[f][j].translation, played->skeleton.rest[j].translation, 12);
        }
    pelt_clip *clip = character_clip(played, "wave", 2, locals[0]);
    character_blend(played, clip);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(made, &skin);
    pelt_measure *m = measure(&skin, played, clip, 1);
    assert_near(m->max, 0, 1e-5);
    pelt_measure_free(m), character_free_skin(bytes), character_free(made), character_free(played);
}

static void a_player_gives_the_mesh_in_its_own_order(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    pelt_skin skin;
    pelt_error error;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    float positions[3 * VERTICES], alone[3 * VERTICES], normals[3 * VERTICES];
    for (uint32_t f = 0; f < FRAMES; f += 9) {
        pelt_player_frame(player, clip, f, positions, normals);
        pelt_player_frame(player, clip, f, alone, NULL);
        for (int i = 0; i < 3 * VERTICES; i++) {
            assert_near(positions[i], clip->positions[3 * VERTICES * f + (size_t)i], 1e-5);
            assert_near(alone[i], positions[i], 1e-6);
        }
        for (int v = 0; v < VERTICES; v++) {
            const float *n = normals + 3 * v;
            assert_near(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-5);
        }
    }
    pelt_player_free(player), pelt_player_free(NULL), character_free_skin(bytes), character_free(bundle);
}

static void what_does_not_fit_together_is_said(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES), *other = character_chain(JOINTS, VERTICES + 1);
    pelt_clip *clip = bending(bundle);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_error error;
    pelt_examples all = pelt_bundle_examples(bundle, (const pelt_clip *[]){clip}, 1), none = {0};
    assert_int_equal(all.count, FRAMES);
    assert_null(pelt_measure_examples(&skin, bundle, none, 1, &error));
    assert_non_null(strstr(error.text, "no examples"));
    assert_null(pelt_measure_examples(&skin, other, all, 1, &error));
    assert_non_null(strstr(error.text, "40 vertices"));
    assert_non_null(strstr(error.text, "41"));
    bundle->skeleton.names[0] = "pelvis";
    assert_null(pelt_measure_examples(&skin, bundle, all, 1, &error));
    assert_non_null(strstr(error.text, "hand.glb has no joint \"joint0\""));
    assert_int_equal(error.code, PELT_ERROR_DATA);
    character_free_skin(bytes), character_free(bundle), character_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_offset_is_the_rms_and_the_max_of_every_frame_and_vertex),
        cmocka_unit_test(a_skin_half_as_wrong_as_the_blend_has_rel_err_one_half),
        cmocka_unit_test(the_worst_frame_and_vertex_are_found),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
        cmocka_unit_test(a_tilt_of_the_truth_is_the_angle_of_the_normals_in_degrees),
        cmocka_unit_test(joints_are_matched_by_name_when_their_order_differs),
        cmocka_unit_test(a_player_gives_the_mesh_in_its_own_order),
        cmocka_unit_test(what_does_not_fit_together_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
