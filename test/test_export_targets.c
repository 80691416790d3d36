/* test_export_targets.c: the corrective of a skin as morph targets and weights: what a glTF player computes from them
   is what the skin computes. */

#include "fit/export_targets.h"
#include "io/io.h"
#include "samples/samples.h"
#include "test/character.h"

static pelt_bundle *sample(pelt_examples *train) {
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 300, .frames = 12}, &error);
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
    pelt_skin_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = "psd"}, &error);
    assert_non_null(file);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "test", PELT_NEED_POSE, &error);
    pelt_target *targets;
    uint32_t count;
    assert_int_equal(pelt_skin_targets(bundle->arena, &skin, &targets, &count, &error), PELT_OK);
    float *weights = pelt_skin_target_weights(bundle->arena, &skin, bundle, clip, &error);
    assert_true(count > 0 && weights);

    char path[300];
    snprintf(path, sizeof path, "%s/arm.glb", test_folder());
    pelt_mesh mesh = bundle->mesh;
    mesh.targets = targets, mesh.target_count = count;
    const float *tracks[] = {weights};
    pelt_gltf_content content = {
        .mesh = &mesh, .skeleton = &bundle->skeleton, .clips = clip, .clip_count = 1, .clip_weights = tracks};
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
    pelt_bundle_free(read), pelt_skin_free(file), pelt_bundle_free(bundle);
}

static void weighted_psd_is_refused_with_the_reason(void **state) {
    (void)state;
    pelt_examples train;
    pelt_bundle *bundle = sample(&train);
    pelt_error error;
    pelt_skin skin;
    pelt_target *targets;
    uint32_t count;
    pelt_skin_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = "wpsd"}, &error);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    assert_int_equal(pelt_skin_targets(bundle->arena, &skin, &targets, &count, &error), PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "--corrective psd"));
    pelt_skin_free(file), pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_and_weights_play_like_the_skin_also_through_a_file),
        cmocka_unit_test(weighted_psd_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
