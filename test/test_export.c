/* test_export.c: skins as plain glTF: the file, read back, moves like the skin. */

#include "plain/extrapolate.h"
#include "plain/plain.h"
#include "io/io.h"
#include "samples/samples.h"
#include "test/character.h"

typedef struct exported {
    pelt_bundle *bundle, *back;
    pelt_examples examples;
    pelt_bytes *bytes;
    pelt_skin skin;
    pelt_plain plain;
    char path[1024];
} exported;

/* Writes a skin as a file and reads it again. */
static pelt_result write_and_read(exported *x, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_model model;
    const pelt_clip *clips[2] = {pelt_bundle_clip(x->bundle, "train", PELT_NEED_POSE, error),
                                 pelt_bundle_clip(x->bundle, "test", PELT_NEED_POSE, error)};
    pelt_result result = pelt_model_unpack(arena, &x->skin, &model, error);
    if (!result) result = pelt_plain_make(arena, &model, x->bundle, clips, 2, &x->plain, error);
    pelt_gltf_content content = {.mesh = &x->plain.mesh,
                                 .skeleton = &x->plain.skeleton,
                                 .clips = x->plain.clips,
                                 .clip_count = x->plain.clip_count};
    snprintf(x->path, sizeof x->path, "%s/plain.glb", test_folder());
    if (!result) result = pelt_gltf_write(x->path, &content, error);
    if (!result) x->back = pelt_bundle_read(x->path, error);
    pelt_arena_free(arena);
    return result;
}

static void open_skin(exported *x) { assert_int_equal(pelt_open(x->bytes->bytes, x->bytes->size, &x->skin), PELT_OK); }

static exported fit(const char *sample, pelt_fit_options options) {
    exported x = {0};
    pelt_error error = {0};
    x.bundle = pelt_sample_make(&(pelt_sample_options){.name = sample, .vertices = 700}, &error);
    const pelt_clip *train = pelt_bundle_clip(x.bundle, "train", PELT_NEED_POSITIONS, &error);
    x.examples = pelt_bundle_examples(x.bundle, &train, 1);
    x.bytes = pelt_fit(x.bundle, x.examples, &options, NULL, &error);
    if (!x.bytes) fail_msg("%s", error.text);
    open_skin(&x);
    return x;
}

static void make_convex(exported *x) {
    pelt_error error = {0};
    pelt_bytes *convex = pelt_fit_convex(&x->skin, x->bundle, x->examples, 1, &error);
    if (!convex) fail_msg("%s", error.text);
    pelt_bytes_free(x->bytes);
    x->bytes = convex;
    open_skin(x);
}

static void drop(exported *x) {
    unlink(x->path);
    pelt_bytes_free(x->bytes);
    pelt_bundle_free(x->back);
    pelt_bundle_free(x->bundle);
}

/* The same clip, seen half-way between its frames. */
static pelt_clip between_frames(const pelt_clip *clip, float *times) {
    pelt_clip out = *clip;
    out.frame_count--, out.times = times;
    for (uint32_t f = 0; f < out.frame_count; f++) times[f] = (clip->times[f] + clip->times[f + 1]) / 2;
    return out;
}

/* Largest distance between the skin and the linear blend of the file read back, over all frames, or halfway between
   them. */
static double worst_distance(exported *x, bool between) {
    pelt_error error = {0};
    double worst = 0;
    pelt_player *player = pelt_player_new(&x->skin, x->bundle, &error);
    assert_non_null(player);
    size_t n = x->skin.vertex_count, joints = x->back->skeleton.joint_count;
    float *positions = malloc(3 * n * sizeof *positions);
    double *blended = malloc(3 * n * sizeof *blended);
    pelt_transform *locals = malloc(joints * sizeof *locals);
    pelt_affine *matrices = malloc(joints * sizeof *matrices);
    for (uint32_t c = 0; c < x->back->clip_count; c++) {
        const pelt_clip *clip = x->back->clips[c];
        pelt_clip *source = (pelt_clip *)pelt_bundle_clip(x->bundle, clip->name, PELT_NEED_POSE, &error);
        assert_int_equal(clip->frame_count, source->frame_count);
        float times[2][200];
        assert_true(clip->frame_count <= 200);
        pelt_clip middle = between_frames(clip, times[0]), whole = *source;
        if (between) clip = &middle, *source = between_frames(&whole, times[1]);
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            pelt_player_frame(player, source, f, positions, NULL);
            pelt_clip_pose(clip, &x->back->skeleton, f, locals);
            pelt_joint_matrices(&x->back->skeleton, locals, NULL, matrices);
            pelt_blend_mesh(&x->back->mesh, matrices, blended);
            for (size_t i = 0; i < 3 * n; i++) worst = fmax(worst, fabs(blended[i] - positions[i]));
        }
        *source = whole;
    }
    free(positions), free(blended), free(locals), free(matrices);
    pelt_player_free(player);
    return worst;
}

static void convex_skins_are_the_same_in_plain_gltf(void **state) {
    (void)state;
    pelt_error error = {0};
    exported x = fit("arm", (pelt_fit_options){.blend = PELT_BLEND_FIT, .fitted.rest = PELT_REST_REFIT});
    if (write_and_read(&x, &error)) fail_msg("%s", error.text);
    assert_int_equal(x.back->clip_count, 2);
    assert_true(worst_distance(&x, false) < 2e-6 * x.bundle->mesh.diagonal);
    drop(&x);
}

static uint32_t most_influences(const pelt_influences *in, uint32_t vertex_count) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < vertex_count; v++)
        if (in->first[v + 1] - in->first[v] > most) most = in->first[v + 1] - in->first[v];
    return most;
}

static void negative_weights_become_weights_on_nodes_beyond_joints(void **state) {
    (void)state;
    pelt_error error = {0};
    exported x = fit("arm", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    if (write_and_read(&x, &error)) fail_msg("%s", error.text);
    const pelt_influences *in = &x.back->mesh.influences;
    float least = 1;
    for (uint32_t i = 0; i < in->first[x.back->mesh.vertex_count]; i++) least = fminf(least, in->weights[i]);
    assert_true(least >= 0);
    assert_true(x.plain.pair_count > 0);
    assert_int_equal(most_influences(in, x.back->mesh.vertex_count), 4);
    assert_true(x.plain.worst < 1e-5);
    assert_true(worst_distance(&x, false) < 5e-6 * x.bundle->mesh.diagonal);
    assert_true(worst_distance(&x, true) < 5e-4 * x.bundle->mesh.diagonal);
    drop(&x);
}

/* Weights of random sizes and signs that sum to 1, as pairs and back. */
static void pairs_are_the_same_weights_on_no_more_nodes(void **state) {
    (void)state;
    enum { VERTICES = 300, JOINTS = 9, MOST = 6 };
    pelt_error error = {0};
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t first[VERTICES + 1] = {0}, joints[VERTICES * MOST], seed = 7;
    float weights[VERTICES * MOST];
    for (uint32_t v = 0; v < VERTICES; v++) {
        uint32_t n = 1 + v % MOST;
        double size = pow(4, v % 5), sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = first[v] + i;
            seed = seed * 1664525 + 1013904223;
            joints[at] = (v + i * (1 + v % 2)) % JOINTS;
            weights[at] = i + 1 < n ? (float)(size * ((double)(seed >> 8) / (1 << 24) - 0.5)) : (float)(1 - sum);
            sum += weights[at];
        }
        first[v + 1] = first[v] + n;
    }
    pelt_influences in = {first, joints, weights};
    pelt_extrapolation pairs;
    assert_int_equal(pelt_extrapolate_weights(arena, &in, VERTICES, JOINTS, &pairs, &error), PELT_OK);
    assert_true(pairs.count > 0);
    for (uint32_t v = 0; v < VERTICES; v++) {
        double total = 0, largest = 1, left[JOINTS] = {0};
        const pelt_influences *out = &pairs.influences;
        assert_true(out->first[v + 1] - out->first[v] <= in.first[v + 1] - in.first[v]);
        for (uint32_t i = in.first[v]; i < in.first[v + 1]; i++) {
            left[in.joints[i]] += in.weights[i];
            largest = fmax(largest, fabsf(in.weights[i]));
        }
        for (uint32_t i = out->first[v]; i < out->first[v + 1]; i++) {
            double weight = out->weights[i];
            assert_true(weight > 0 && weight <= 1 + 1e-6);
            total += weight;
            if (out->joints[i] < JOINTS) {
                left[out->joints[i]] -= weight;
                continue;
            }
            const pelt_extrapolated *pair = &pairs.list[out->joints[i] - JOINTS];
            left[pair->ahead] -= (1 + pair->reach) * weight;
            left[pair->behind] += pair->reach * weight;
        }
        assert_near(total, 1, 1e-6 * largest);
        for (int j = 0; j < JOINTS; j++) assert_near(left[j], 0, 1e-6 * largest);
    }
    pelt_arena_free(arena);
}

/* Half turns, twists, bends, bulges and dents, with weights of both signs, and again after making them convex. */
static void driven_joints_are_the_same_as_nodes(void **state) {
    (void)state;
    const float half[] = {0.5f};
    const pelt_drive_rule rule = {.joints = "*",
                                  .turn_count = 1,
                                  .twist_count = 1,
                                  .bend_count = 1,
                                  .turns = half,
                                  .twists = half,
                                  .bends = half,
                                  .upstream = 1,
                                  .downstream = 1,
                                  .k = 2};
    const pelt_drive_rules everything = {1, &rule};
    static const char *const samples[] = {"arm", "elbow", "box"};
    for (int i = 0; i < 3; i++) {
        pelt_error error = {0};
        exported x = fit(
            samples[i], (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.drive = &everything, .influences = 6});
        for (int convex = 0; convex < 2; convex++) {
            if (convex) make_convex(&x);
            if (write_and_read(&x, &error)) fail_msg("%s", error.text);
            assert_true(x.skin.driven_count > 0);
            assert_int_equal(x.plain.pair_count > 0, !convex);
            assert_true(x.plain.worst < 1e-5);
            assert_true(worst_distance(&x, false) < 5e-6 * x.bundle->mesh.diagonal);
            assert_true(worst_distance(&x, true) < 5e-4 * x.bundle->mesh.diagonal);
            pelt_bundle_free(x.back);
        }
        x.back = NULL;
        drop(&x);
    }
}

static void refitted_weights_are_not_negative_and_not_better(void **state) {
    (void)state;
    pelt_error error = {0};
    exported x = fit("arm", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    pelt_measure *before = pelt_measure_examples(&x.skin, x.bundle, x.examples, 1, &error);
    make_convex(&x);
    pelt_measure *after = pelt_measure_examples(&x.skin, x.bundle, x.examples, 1, &error);
    for (size_t i = 0; i < (size_t)x.skin.entry_count * PELT_BLOCK; i++) assert_true(x.skin.entry_weights[i] >= 0);
    assert_true(after->rms >= before->rms);
    assert_true(after->rel_err < 1);
    pelt_measure_free(before), pelt_measure_free(after);
    drop(&x);
}

static void a_skin_of_another_mesh_is_refused(void **state) {
    (void)state;
    pelt_error error = {0};
    exported x = fit("box", (pelt_fit_options){.blend = PELT_BLEND_FIT});
    pelt_bundle *other = pelt_sample_make(&(pelt_sample_options){.name = "box", .vertices = 500}, &error);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_model model;
    pelt_plain plain;
    assert_int_equal(pelt_model_unpack(arena, &x.skin, &model, &error), PELT_OK);
    assert_int_not_equal(pelt_plain_make(arena, &model, other, NULL, 0, &plain, &error), PELT_OK);
    pelt_arena_free(arena);
    pelt_bundle_free(other);
    drop(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convex_skins_are_the_same_in_plain_gltf),
        cmocka_unit_test(negative_weights_become_weights_on_nodes_beyond_joints),
        cmocka_unit_test(pairs_are_the_same_weights_on_no_more_nodes),
        cmocka_unit_test(driven_joints_are_the_same_as_nodes),
        cmocka_unit_test(refitted_weights_are_not_negative_and_not_better),
        cmocka_unit_test(a_skin_of_another_mesh_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
