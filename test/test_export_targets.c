/* test_export_targets.c: the corrective of a skin as morph targets and weights: what a glTF player computes from them
   is what the skin computes. */

#include "pack/targets.h"
#include "io/io.h"
#include "samples/samples.h"
#include "test/character.h"

static pelt_bundle *sample(pelt_examples *train) {
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 300, .frames = 40}, &error);
    assert_non_null(bundle);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    *train = pelt_bundle_examples(bundle, &clip, 1);
    return bundle;
}

/* Morph, then blend, in double: glTF's order. */
static void play(const pelt_bundle *bundle, const pelt_target *targets, uint32_t count, const float *weights,
                 const pelt_transform *locals, double *out) {
    pelt_mesh mesh = bundle->mesh;
    pelt_affine *matrices = calloc(bundle->skeleton.joint_count, sizeof *matrices);
    mesh.positions = malloc(3 * (size_t)mesh.vertex_count * sizeof(float));
    memcpy(mesh.positions, bundle->mesh.positions, 3 * (size_t)mesh.vertex_count * sizeof(float));
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t i = 0; i < targets[t].count; i++)
            for (uint32_t c = 0; c < 3; c++)
                mesh.positions[3 * targets[t].vertices[i] + c] += weights[t] * targets[t].deltas[3 * i + c];
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    pelt_blend_mesh(&mesh, matrices, out);
    free(mesh.positions), free(matrices);
}

static void targets_and_weights_play_like_the_skin_also_through_a_file(void **state) {
    (void)state;
    pelt_examples train;
    pelt_bundle *bundle = sample(&train);
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = PELT_METHOD_PSD}, NULL, &error);
    assert_non_null(file);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "test", PELT_NEED_POSE, &error);
    pelt_skin_targets targets;
    assert_int_equal(pelt_skin_targets_of(bundle->arena, &skin, true, &targets, &error), PELT_OK);
    float *weights = pelt_skin_target_weights(bundle->arena, &skin, &targets, bundle, clip, &error);
    uint32_t count = targets.count;
    assert_true(count > 0 && weights && targets.normals);

    char path[300];
    snprintf(path, sizeof path, "%s/arm.glb", test_folder());
    pelt_mesh mesh = bundle->mesh;
    mesh.targets = targets.positions, mesh.target_count = count;
    const float *tracks[] = {weights};
    pelt_gltf_content content = {.mesh = &mesh,
                                 .skeleton = &bundle->skeleton,
                                 .clips = &clip,
                                 .clip_count = 1,
                                 .clip_weights = tracks,
                                 .target_normals = targets.normals};
    if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
    pelt_bundle *read = pelt_bundle_read(path, &error);
    if (!read) fail_msg("%s", error.text);
    assert_int_equal(read->mesh.target_count, count);

    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    size_t n = 3 * (size_t)mesh.vertex_count;
    float *own = malloc(n * sizeof *own);
    double *played = malloc(n * sizeof *played), moved = 0;
    pelt_transform *locals = calloc(bundle->skeleton.joint_count, sizeof *locals);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_player_frame(player, clip, f, own, NULL);
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        play(bundle, read->mesh.targets, count, weights + (size_t)f * count, locals, played);
        for (size_t i = 0; i < n; i++) assert_near(played[i], own[i], 2e-5);
        for (uint32_t t = 0; t < count; t++) moved = fmax(moved, fabs(weights[(size_t)f * count + t]));
    }
    assert_true(moved > 0.1);
    remove(path);
    free(own), free(played), free(locals), pelt_player_free(player);
    pelt_bundle_free(read), pelt_bytes_free(file), pelt_bundle_free(bundle);
}

/* Morph, blend, make unit: what a shader does with a normal. The arm's joints only turn. */
static void play_normals(const pelt_bundle *bundle, const pelt_skin_targets *targets, const float *weights,
                         const pelt_transform *locals, double *out) {
    pelt_mesh mesh = bundle->mesh;
    size_t n = 3 * (size_t)mesh.vertex_count;
    pelt_affine *matrices = calloc(bundle->skeleton.joint_count, sizeof *matrices);
    mesh.positions = malloc(n * sizeof(float)); /* blended as points, by matrices that do not move them */
    memcpy(mesh.positions, bundle->mesh.normals, n * sizeof(float));
    for (uint32_t t = 0; t < targets->count; t++)
        for (uint32_t i = 0; i < targets->normals[t].count; i++)
            for (uint32_t c = 0; c < 3; c++)
                mesh.positions[3 * targets->normals[t].vertices[i] + c] +=
                    weights[t] * targets->normals[t].deltas[3 * i + c];
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++)
        for (int r = 0; r < 3; r++) matrices[j].m[4 * r + 3] = 0;
    pelt_blend_mesh(&mesh, matrices, out);
    for (size_t i = 0; i < n; i += 3) {
        double length = sqrt(out[i] * out[i] + out[i + 1] * out[i + 1] + out[i + 2] * out[i + 2]);
        for (size_t c = 0; c < 3; c++) out[i + c] /= length;
    }
    free(mesh.positions), free(matrices);
}

static void targets_turn_normals_as_the_skin_does(void **state) {
    (void)state;
    static const char *const methods[] = {"psd", "eigen", "kernel"};
    pelt_examples train;
    pelt_bundle *bundle = sample(&train);
    pelt_error error;
    const pelt_clip *clip = pelt_bundle_clip(bundle, "test", PELT_NEED_POSE, &error);
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    float *positions = malloc(2 * n * sizeof *positions), *own = positions + n;
    double *played = malloc(n * sizeof *played);
    pelt_transform *locals = calloc(bundle->skeleton.joint_count, sizeof *locals);
    for (int m = 0; m < 3; m++) {
        pelt_skin skin;
        pelt_skin_targets targets;
        pelt_bytes *file =
            pelt_fit(bundle, train, &(pelt_fit_options){.method = method_named(methods[m])}, NULL, &error);
        if (!file) fail_msg("%s", error.text);
        assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
        assert_int_equal(pelt_skin_targets_of(bundle->arena, &skin, true, &targets, &error), PELT_OK);
        float *weights = pelt_skin_target_weights(bundle->arena, &skin, &targets, bundle, clip, &error);
        pelt_player *player = pelt_player_new(&skin, bundle, &error);
        for (uint32_t f = 0; f < clip->frame_count; f += 3) {
            pelt_player_frame(player, clip, f, positions, own);
            pelt_clip_pose(clip, &bundle->skeleton, f, locals);
            play_normals(bundle, &targets, weights + (size_t)f * targets.count, locals, played);
            for (size_t i = 0; i < n; i++) assert_near(played[i], own[i], 2e-4);
        }
        pelt_player_free(player), pelt_bytes_free(file);
    }
    free(positions), free(played), free(locals), pelt_bundle_free(bundle);
}

static void without_normals_only_targets_that_move_something_are_left(void **state) {
    (void)state;
    pelt_examples train;
    pelt_bundle *bundle = sample(&train);
    pelt_error error;
    pelt_skin skin;
    pelt_skin_targets both, alone;
    pelt_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = PELT_METHOD_EIGEN}, NULL, &error);
    if (!file) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    assert_int_equal(pelt_skin_targets_of(bundle->arena, &skin, true, &both, &error), PELT_OK);
    assert_int_equal(pelt_skin_targets_of(bundle->arena, &skin, false, &alone, &error), PELT_OK);
    assert_null(alone.normals);
    assert_true(alone.count > 0 && alone.count < both.count);
    for (uint32_t t = 0, b = 0; t < alone.count; t++, b++) {
        while (both.coefficients[b] != alone.coefficients[t]) b++;
        assert_true(alone.positions[t].count > 0);
        assert_int_equal(alone.positions[t].count, both.positions[b].count);
        assert_memory_equal(alone.positions[t].deltas, both.positions[b].deltas, 12 * alone.positions[t].count);
    }
    pelt_bytes_free(file), pelt_bundle_free(bundle);
}

static void weighted_psd_is_refused_with_the_reason(void **state) {
    (void)state;
    pelt_examples train;
    pelt_bundle *bundle = sample(&train);
    pelt_error error;
    pelt_skin skin;
    pelt_skin_targets targets;
    pelt_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = PELT_METHOD_WPSD}, NULL, &error);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    assert_int_equal(pelt_skin_targets_of(bundle->arena, &skin, true, &targets, &error), PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "corrective psd"));
    pelt_bytes_free(file), pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_and_weights_play_like_the_skin_also_through_a_file),
        cmocka_unit_test(targets_turn_normals_as_the_skin_does),
        cmocka_unit_test(without_normals_only_targets_that_move_something_are_left),
        cmocka_unit_test(weighted_psd_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
