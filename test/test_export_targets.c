/* test_export_targets.c: the corrective of a skin as morph targets and weights: a glTF player computes the same as the
   skin. */

#include "plain/playable.h"
#include "model/targets.h"
#include "io/io.h"
#include "samples/samples.h"
#include "test/character.h"
#include "test/program.h"
#include "test/svd.h"
#include <pelt/export.h>

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

/* Morph, blend, normalise: what a shader does with a normal. The arm's joints only rotate. */
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
        pelt_bytes *file = pelt_fit(
            bundle, train, &(pelt_fit_options){.method = method_named(methods[m]), .normals = PELT_NORMALS_ROWS}, NULL,
            &error);
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

/* A fitted skin of the sample, its model and its clip "test". */
typedef struct subject {
    pelt_bundle *bundle;
    pelt_bytes *file;
    pelt_skin skin;
    pelt_model model;
    const pelt_clip *clip;
} subject;

static subject subjects[PELT_METHOD_COUNT];

/* Fitted once for all tests. */
static const subject *subject_of(pelt_method method) {
    subject *s = &subjects[method];
    pelt_examples train;
    pelt_error error;
    if (s->bundle) return s;
    s->bundle = sample(&train);
    s->file =
        pelt_fit(s->bundle, train,
                 &(pelt_fit_options){.method = method,
                                     .normals = method == PELT_METHOD_JOINTS ? PELT_NORMALS_BLEND : PELT_NORMALS_ROWS},
                 NULL, &error);
    if (!s->file) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(s->file->bytes, s->file->size, &s->skin), PELT_OK);
    assert_int_equal(pelt_model_unpack(s->bundle->arena, &s->skin, &s->model, &error), PELT_OK);
    s->clip = pelt_bundle_clip(s->bundle, "test", PELT_NEED_POSITIONS, &error);
    return s;
}

static int drop_subjects(void **state) {
    (void)state;
    for (size_t m = 0; m < PELT_METHOD_COUNT; m++)
        pelt_bytes_free(subjects[m].file), pelt_bundle_free(subjects[m].bundle);
    return 0;
}

static pelt_playable playable(const subject *s, uint32_t most, bool normals) {
    pelt_playable out;
    pelt_error error;
    if (pelt_playable_of(s->bundle->arena, &s->skin, &s->model, s->bundle, &s->clip, 1,
                         &(pelt_playable_options){.most = most, .normals = normals, .threads = 2}, &out, &error))
        fail_msg("%s", error.text);
    return out;
}

static void weights_are_from_0_to_1_and_play_like_the_skin(void **state) {
    (void)state;
    static const pelt_method methods[] = {PELT_METHOD_PSD, PELT_METHOD_WPSD, PELT_METHOD_EIGEN, PELT_METHOD_KERNEL};
    for (size_t m = 0; m < 4; m++) {
        subject s = *subject_of(methods[m]);
        pelt_error error;
        pelt_playable t = playable(&s, PELT_EXPORT_TARGETS, true);
        assert_true(t.count > 1 && t.count <= PELT_EXPORT_TARGETS && t.normals);
        assert_int_equal(t.compressed, m % 2 == 1);
        size_t n = 3 * (size_t)s.bundle->mesh.vertex_count;
        float *own = malloc(2 * n * sizeof *own);
        double *played = malloc(2 * n * sizeof *played), worst = 0, worst_normal = 0;
        pelt_transform *locals = calloc(s.bundle->skeleton.joint_count, sizeof *locals);
        pelt_player *player = pelt_player_new(&s.skin, s.bundle, &error);
        const pelt_skin_targets as_targets = {.count = t.count, .positions = t.positions, .normals = t.normals};
        for (uint32_t f = 0; f < s.clip->frame_count; f += 2) {
            const float *weights = t.weights[0] + (size_t)f * t.count;
            for (uint32_t k = 0; k < t.count; k++) assert_true(weights[k] >= 0 && weights[k] <= 1);
            pelt_player_frame(player, s.clip, f, own, own + n);
            pelt_clip_pose(s.clip, &s.bundle->skeleton, f, locals);
            play(s.bundle, t.positions, t.count, weights, locals, played);
            play_normals(s.bundle, &as_targets, weights, locals, played + n);
            for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(played[i] - own[i]));
            for (size_t i = n; i < 2 * n; i++) worst_normal = fmax(worst_normal, fabs(played[i] - own[i]));
        }
        assert_true(worst < (t.compressed ? t.worst : 0) + 3e-5 * s.bundle->mesh.diagonal);
        assert_true(t.worst < 1e-4 * s.bundle->mesh.diagonal);
        assert_true(worst_normal < 2e-3);
        free(own), free(played), free(locals), pelt_player_free(player);
    }
}

/* A player's normals: morphed, moved by the blended matrices of positions, whatever they scale. Returns the sum of the
   squared angles between them and the skin's, in degrees. */
static double angles_of_player(const subject *s, const pelt_playable *t, const float *weights,
                               const pelt_affine *matrices, const float *own) {
    const pelt_influences *in = &s->model.influences;
    uint32_t n = s->model.vertex_count;
    double *morphed = malloc(3 * (size_t)n * sizeof *morphed), sum = 0;
    for (size_t i = 0; i < 3 * (size_t)n; i++) morphed[i] = s->model.normals[i];
    for (uint32_t k = 0; k < t->count; k++)
        for (size_t i = 0; i < 3 * (size_t)t->normals[k].count; i++)
            morphed[3 * (size_t)t->normals[k].vertices[i / 3] + i % 3] += weights[k] * t->normals[k].deltas[i];
    for (size_t v = 0; v < n; v++) {
        double moved[3] = {0}, along = 0, square = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
            for (size_t c = 0; c < 9; c++)
                moved[c / 3] +=
                    in->weights[i] * matrices[in->joints[i]].m[4 * (c / 3) + c % 3] * morphed[3 * v + c % 3];
        for (size_t c = 0; c < 3; c++) along += moved[c] * own[3 * v + c], square += moved[c] * moved[c];
        double angle = acos(fmin(along / sqrt(square), 1)) * 180 / acos(-1);
        sum += angle * angle;
    }
    free(morphed);
    return sum;
}

/* Players move normals by the matrices of positions, which is wrong where a joint scales: without targets by degrees. */
static void normals_of_joints_that_scale_are_carried_by_targets(void **state) {
    (void)state;
    subject s = *subject_of(PELT_METHOD_JOINTS);
    pelt_error error;
    pelt_playable t = playable(&s, PELT_EXPORT_TARGETS, true), few = playable(&s, 4, true), none = {0};
    uint32_t frames = s.clip->frame_count, n = s.model.vertex_count;
    float *positions = malloc(6 * (size_t)n * sizeof *positions), *own = positions + 3 * (size_t)n;
    pelt_affine *matrices = calloc(pelt_model_matrix_count(&s.model), sizeof *matrices);
    pelt_transform *locals = calloc(s.bundle->skeleton.joint_count, sizeof *locals);
    pelt_player *player = pelt_player_new(&s.skin, s.bundle, &error);
    double with = 0, with_few = 0, without = 0, count = (double)frames * n;
    for (uint32_t k = 0; k < t.count; k++) assert_int_equal(t.positions[k].count, 0);
    for (uint32_t f = 0; f < frames; f++) {
        const float *weights = t.weights[0] + (size_t)f * t.count;
        for (uint32_t k = 0; k < t.count; k++) assert_true(weights[k] >= 0 && weights[k] <= 1);
        pelt_player_frame(player, s.clip, f, positions, own);
        pelt_clip_pose(s.clip, &s.bundle->skeleton, f, locals);
        pelt_model_matrices(&s.model, locals, matrices);
        with += angles_of_player(&s, &t, weights, matrices, own);
        with_few += angles_of_player(&s, &few, few.weights[0] + (size_t)f * few.count, matrices, own);
        without += angles_of_player(&s, &none, NULL, matrices, own);
    }
    assert_true(few.count <= 4 && t.count <= 24);
    assert_true(sqrt(without / count) > 3);
    assert_true(sqrt(with / count) < 0.7);
    assert_near(t.normals_rms, sqrt(with / count), 0.01 * t.normals_rms);
    assert_near(few.normals_rms, sqrt(with_few / count), 0.01 * few.normals_rms);
    assert_true(t.worst == 0 && t.rms == 0 && t.whole == 0);
    assert_int_equal(playable(&s, PELT_EXPORT_TARGETS, false).count, 0);
    free(positions), free(matrices), free(locals), pelt_player_free(player);
}

/* The corrective's effect on a vertex at rest: the skin's vertex, mapped back through the inverse blend. */
static void unblend(const pelt_model *model, const pelt_affine *matrices, uint32_t v, const float *posed, double *out,
                    double *stretch) {
    const pelt_influences *in = &model->influences;
    pelt_affine blend = {{0}}, inverse;
    double place[3] = {posed[0], posed[1], posed[2]};
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        for (int c = 0; c < 12; c++) blend.m[c] += in->weights[i] * matrices[in->joints[i]].m[c];
    assert_true(pelt_affine_invert(&blend, &inverse));
    pelt_affine_point(&inverse, place, out);
    for (int c = 0; c < 3; c++) out[c] -= model->positions[3 * (size_t)v + (size_t)c];
    for (int c = 0; c < 12; c++) *stretch += c % 4 < 3 ? blend.m[c] * blend.m[c] / 3 : 0;
}

/* Eckart and Young: no choice of n targets leaves less than the singular values from n on. */
static void few_targets_are_the_best_there_are(void **state) {
    (void)state;
    enum { RANK = 5 };
    subject s = *subject_of(PELT_METHOD_KERNEL);
    pelt_error error;
    pelt_playable t = playable(&s, RANK + 1, false);
    assert_true(t.compressed && t.count <= RANK + 1 && !t.normals && t.whole > RANK);
    size_t vertices = s.bundle->mesh.vertex_count, n = 3 * vertices, frames = s.clip->frame_count;
    double *rows = calloc(frames * n, sizeof *rows), *copy = calloc(frames * n, sizeof *copy);
    double *stretch = calloc(vertices, sizeof *stretch), *u = calloc(frames * frames, sizeof *u);
    double *values = calloc(frames, sizeof *values), *vt = calloc(frames * n, sizeof *vt), tail = 0, left = 0;
    float *own = malloc(n * sizeof *own);
    pelt_transform *locals = calloc(s.bundle->skeleton.joint_count, sizeof *locals);
    pelt_affine *matrices = calloc(s.bundle->skeleton.joint_count, sizeof *matrices);
    pelt_player *player = pelt_player_new(&s.skin, s.bundle, &error);
    for (uint32_t f = 0; f < frames; f++) {
        pelt_player_frame(player, s.clip, f, own, NULL);
        pelt_clip_pose(s.clip, &s.bundle->skeleton, f, locals);
        pelt_joint_matrices(&s.bundle->skeleton, locals, NULL, matrices);
        for (uint32_t v = 0; v < vertices; v++)
            unblend(&s.model, matrices, v, own + 3 * v, rows + f * n + 3 * v, &stretch[v]);
    }
    for (size_t f = 0; f < frames; f++)
        for (size_t i = 0; i < n; i++) copy[f * n + i] = rows[f * n + i] * sqrt(stretch[i / 3] / (double)frames);
    assert_true(test_svd(frames, n, copy, u, values, vt));
    for (size_t i = RANK; i < frames; i++) tail += values[i] * values[i];
    for (size_t f = 0; f < frames; f++) {
        for (uint32_t k = 0; k < t.count; k++)
            for (uint32_t i = 0; i < 3 * t.positions[k].count; i++)
                rows[f * n + 3 * t.positions[k].vertices[i / 3] + i % 3] -=
                    (double)t.weights[0][f * t.count + k] * t.positions[k].deltas[i];
        for (size_t i = 0; i < n; i++) left += rows[f * n + i] * rows[f * n + i] * stretch[i / 3] / (double)frames;
    }
    assert_true(tail > 0);
    assert_near(sqrt(left), sqrt(tail), 1e-3 * sqrt(tail));
    free(rows), free(copy), free(stretch), free(u), free(values), free(vt), free(own), free(locals), free(matrices);
    pelt_player_free(player);
}

/* The reported figures are those of the file, played in double against the skin and the truth. */
static void what_few_targets_cost_is_told(void **state) {
    (void)state;
    subject s = *subject_of(PELT_METHOD_KERNEL);
    pelt_error error;
    pelt_playable t = playable(&s, 6, false);
    size_t n = 3 * (size_t)s.bundle->mesh.vertex_count;
    float *own = malloc(n * sizeof *own);
    double *played = malloc(n * sizeof *played), worst = 0, squares = 0, truth[2] = {0};
    pelt_transform *locals = calloc(s.bundle->skeleton.joint_count, sizeof *locals);
    pelt_player *player = pelt_player_new(&s.skin, s.bundle, &error);
    for (uint32_t f = 0; f < s.clip->frame_count; f++) {
        const float *real = s.clip->positions + f * n;
        pelt_player_frame(player, s.clip, f, own, NULL);
        pelt_clip_pose(s.clip, &s.bundle->skeleton, f, locals);
        play(s.bundle, t.positions, t.count, t.weights[0] + (size_t)f * t.count, locals, played);
        for (size_t i = 0; i < n; i += 3) {
            double square = 0;
            for (size_t c = i; c < i + 3; c++) {
                square += (played[c] - own[c]) * (played[c] - own[c]);
                truth[0] += ((double)own[c] - real[c]) * ((double)own[c] - real[c]);
                truth[1] += (played[c] - real[c]) * (played[c] - real[c]);
            }
            worst = fmax(worst, sqrt(square)), squares += square;
        }
    }
    double count = s.clip->frame_count * (double)n / 3;
    assert_true(t.has_truth && worst > 1e-3 * s.bundle->mesh.diagonal);
    assert_near(t.worst, worst, 1e-3 * worst);
    assert_near(t.rms, sqrt(squares / count), 1e-3 * t.rms);
    for (int i = 0; i < 2; i++) assert_near(t.truth[i], sqrt(truth[i] / count), 1e-3 * t.truth[i]);
    free(own), free(played), free(locals), pelt_player_free(player);
}

/* No more frames than targets: nothing is lost. Several clips have their own weights. */
static void as_many_targets_as_frames_are_exact_over_all_clips(void **state) {
    (void)state;
    subject s = *subject_of(PELT_METHOD_KERNEL);
    pelt_error error;
    pelt_clip parts[2] = {*s.clip, *s.clip};
    parts[0].frame_count = 3, parts[1].frame_count = 2;
    parts[1].times += 3, parts[1].positions += 9 * (size_t)s.bundle->mesh.vertex_count;
    const pelt_clip *clips[2] = {&parts[0], &parts[1]};
    pelt_playable t, again;
    pelt_playable_options options = {.most = 6, .normals = true, .threads = 1};
    assert_int_equal(pelt_playable_of(s.bundle->arena, &s.skin, &s.model, s.bundle, clips, 2, &options, &t, &error), 0);
    assert_true(t.compressed && t.count <= 6);
    assert_true(t.worst < 1e-6 * s.bundle->mesh.diagonal && t.normals_rms < 1e-3);
    assert_true(t.weights[1] == t.weights[0] + 3 * (size_t)t.count);
    assert_true(t.has_truth && t.truth[0] > 0);
    parts[0].positions = parts[1].positions = NULL;
    assert_int_equal(pelt_playable_of(s.bundle->arena, &s.skin, &s.model, s.bundle, clips, 2, &options, &again, &error),
                     0);
    assert_true(!again.has_truth && again.truth[0] == 0 && again.truth[1] == 0);
    options.threads = 2;
    assert_int_equal(pelt_playable_of(s.bundle->arena, &s.skin, &s.model, s.bundle, clips, 2, &options, &again, &error),
                     0);
    assert_int_equal(again.count, t.count);
    assert_memory_equal(again.weights[0], t.weights[0], 5 * (size_t)t.count * sizeof(float));
    for (uint32_t k = 0; k < t.count; k++)
        assert_memory_equal(again.positions[k].deltas, t.positions[k].deltas, 12 * (size_t)t.positions[k].count);
}

/* Without clips there are no weights, and targets are left as they are; weighted PSD has none. */
static void without_clips_nothing_is_compressed(void **state) {
    (void)state;
    subject s = *subject_of(PELT_METHOD_KERNEL);
    pelt_error error;
    pelt_playable t;
    pelt_skin_targets whole;
    const pelt_playable_options options = {.most = 6};
    assert_int_equal(pelt_playable_of(s.bundle->arena, &s.skin, &s.model, s.bundle, NULL, 0, &options, &t, &error), 0);
    assert_int_equal(pelt_skin_targets_of(s.bundle->arena, &s.skin, false, &whole, &error), PELT_OK);
    assert_true(!t.compressed && !t.weights && t.count == whole.count && t.count > 6);
    s = *subject_of(PELT_METHOD_WPSD);
    assert_int_equal(pelt_playable_of(s.bundle->arena, &s.skin, &s.model, s.bundle, NULL, 0, &options, &t, &error),
                     PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "clips"));
    assert_int_equal(pelt_skin_targets_of(s.bundle->arena, &s.skin, true, &whole, &error), PELT_ERROR_UNSUPPORTED);
}

/* pelt export, as used by people and scripts. */
static void the_program_says_what_few_targets_cost(void **state) {
    (void)state;
    assert_int_equal(pelt("sample arm --vertices 300 --frames 40 -o . --quiet"), 0);
    assert_int_equal(pelt("fit arm.glb --train train --holdout 0 --method kernel -o k.pelt --quiet"), 0);
    json_t *few = pelt_json("export k.pelt arm.glb --clip test --targets 6 -o few.glb");
    const json_t *cost = json_object_get(few, "compressed"), *truth = json_object_get(cost, "truth");
    assert_true(number(few, "targets") <= 6 && number(cost, "whole") > 192);
    assert_true(number(cost, "max_fraction") > 1e-4);
    assert_true(number(cost, "max_fraction") > number(cost, "rms_fraction"));
    assert_true(number(truth, "rms_fraction_after") > number(truth, "rms_fraction_before"));
    assert_int_equal(pelt("export k.pelt arm.glb --clip test --targets 6 -o few.glb"), 0);
    assert_non_null(strstr(program_output, "warning"));
    json_t *usual = pelt_json("export k.pelt arm.glb --clip test -o usual.glb");
    assert_true(number(usual, "targets") <= 192);
    assert_true(number(json_object_get(usual, "compressed"), "max_fraction") < 1e-4);
    assert_int_equal(pelt("export k.pelt arm.glb --clip test -o usual.glb"), 0);
    assert_null(strstr(program_output, "warning"));
    assert_int_equal(pelt("export k.pelt arm.glb -o whole.glb"), 0);
    assert_non_null(strstr(program_output, "warning"));
    assert_int_equal(pelt("export k.pelt arm.glb --clip test --targets 1 -o none.glb"), 2);
    json_decref(few), json_decref(usual);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_and_weights_play_like_the_skin_also_through_a_file),
        cmocka_unit_test(targets_turn_normals_as_the_skin_does),
        cmocka_unit_test(without_normals_only_targets_that_move_something_are_left),
        cmocka_unit_test(weights_are_from_0_to_1_and_play_like_the_skin),
        cmocka_unit_test(normals_of_joints_that_scale_are_carried_by_targets),
        cmocka_unit_test(few_targets_are_the_best_there_are),
        cmocka_unit_test(what_few_targets_cost_is_told),
        cmocka_unit_test(as_many_targets_as_frames_are_exact_over_all_clips),
        cmocka_unit_test(without_clips_nothing_is_compressed),
        cmocka_unit_test(the_program_says_what_few_targets_cost),
    };
    return cmocka_run_group_tests(tests, NULL, drop_subjects);
}
