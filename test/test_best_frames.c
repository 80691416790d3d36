/* test_best_frames.c: frames that tell most, against brute force by the definition; and examples that contradict or repeat. */

#include "test/character.h"
#include "test/program.h"
#include <pelt/poses.h>

enum { JOINTS = 4, VERTICES = 96, FRAMES = 22, GROUPS = 64 };
static const double LAMBDA = 0.001;

/* Every joint but the first rotates at random in every frame. */
static pelt_bundle *random_chain(pelt_clip **clip, uint64_t seed) {
    static pelt_transform locals[FRAMES][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            double degrees = j ? 80 * (test_random(&seed) - 0.5) : 0;
            locals[f][j] = character_turn(test_random(&seed) - 0.5, 0.1, test_random(&seed) - 0.5, degrees);
            memcpy(locals[f][j].translation, bundle->skeleton.rest[j].translation, 12);
        }
    *clip = character_clip(bundle, "dance", FRAMES, locals[0]);
    return bundle;
}

/* -- The definition, in double -------------------------------------------------------------------------------------- */

typedef struct definition {
    double kernels[JOINTS][FRAMES][FRAMES]; /* of a joint with its neighbours */
    int group_count;
    bool drives[GROUPS][JOINTS];
    double weights[GROUPS];
} definition;

/* R - I of a frame's joint, which is at rest without rotation, over sqrt 2. */
static void numbers(const pelt_bundle *bundle, const pelt_clip *clip, int frame, int joint, double out[9]) {
    pelt_transform locals[JOINTS];
    pelt_clip_pose(clip, &bundle->skeleton, (uint32_t)frame, locals);
    pelt_affine a = pelt_affine_of(&(pelt_transform){.rotation = {locals[joint].rotation[0], locals[joint].rotation[1],
                                                                  locals[joint].rotation[2], locals[joint].rotation[3]},
                                                     .scale = {1, 1, 1}});
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out[3 * r + c] = (a.m[4 * r + c] - (r == c)) / sqrt(2);
}

/* The arc-cosine kernel of stacked numbers. */
static double arc(const double *x, const double *y, int size) {
    double xx = 0, xy = 0, yy = 0;
    for (int i = 0; i < size; i++) xx += x[i] * x[i], xy += x[i] * y[i], yy += y[i] * y[i];
    double length = sqrt(xx * yy), angle = length > 0 ? acos(fmax(-1, fmin(1, xy / length))) : 0;
    return length * (sin(angle) + (acos(-1) - angle) * cos(angle)) / acos(-1);
}

static void define(const pelt_bundle *bundle, const pelt_clip *clip, definition *d) {
    static double x[FRAMES][JOINTS][9];
    memset(d, 0, sizeof *d);
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) numbers(bundle, clip, f, j, x[f][j]);
    for (int g = 1; g < JOINTS; g++) /* the first never moves */
        for (int a = 0; a < FRAMES; a++)
            for (int b = 0; b < FRAMES; b++) {
                int low = g > 1 ? g - 1 : g, high = g + 1 < JOINTS ? g + 1 : g;
                d->kernels[g][a][b] = (arc(x[a][low], x[b][low], 9 * (high - low + 1)) + arc(x[a][g], x[b][g], 9)) / 2;
            }
    const pelt_influences *in = &bundle->mesh.influences;
    for (uint32_t v = 0; v < VERTICES; v++) {
        double carried[JOINTS] = {0};
        bool drives[JOINTS] = {0};
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) carried[in->joints[i]] += in->weights[i];
        for (int j = 1; j < JOINTS; j++) drives[j] = carried[j] + (j > 1 ? carried[j - 1] : 0) > 0.01;
        int k = 0;
        while (k < d->group_count && memcmp(d->drives[k], drives, sizeof drives) != 0) k++;
        assert_true(k < GROUPS);
        if (k == d->group_count) memcpy(d->drives[d->group_count++], drives, sizeof drives);
        d->weights[k]++;
    }
}

/* x = a^-1 b by elimination; a and b are destroyed. */
static void solve(int n, double a[FRAMES][FRAMES], double *b) {
    for (int i = 0; i < n; i++)
        for (int r = i + 1; r < n; r++) {
            double f = a[r][i] / a[i][i];
            for (int c = i; c < n; c++) a[r][c] -= f * a[i][c];
            b[r] -= f * b[i];
        }
    for (int i = n; i-- > 0;) {
        for (int c = i + 1; c < n; c++) b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

/* sum w tr(K - K_S (K_SS + lambda I)^-1 K_S^T). */
static double unknown(const definition *d, int count, const size_t *set) {
    double sum = 0;
    for (int k = 0; k < d->group_count; k++) {
        static double kernel[FRAMES][FRAMES];
        memset(kernel, 0, sizeof kernel);
        for (int j = 0; j < JOINTS; j++)
            for (int i = 0; i < FRAMES * FRAMES && d->drives[k][j]; i++)
                kernel[i / FRAMES][i % FRAMES] += d->kernels[j][i / FRAMES][i % FRAMES];
        for (int f = 0; f < FRAMES; f++) {
            double a[FRAMES][FRAMES], b[FRAMES], explained = 0;
            for (int r = 0; r < count; r++) {
                b[r] = kernel[set[r]][f];
                for (int c = 0; c < count; c++) a[r][c] = kernel[set[r]][set[c]] + (r == c) * LAMBDA;
            }
            solve(count, a, b);
            for (int r = 0; r < count; r++) explained += b[r] * kernel[set[r]][f];
            sum += d->weights[k] * (kernel[f][f] - explained);
        }
    }
    return sum;
}

/* -- Tests ---------------------------------------------------------------------------------------------------------- */

static void choose(const pelt_bundle *bundle, pelt_examples all, size_t count, pelt_frame_choice how, size_t *chosen,
                   double *left) {
    pelt_error error = {0};
    if (pelt_choose_examples(bundle, all, count, how, 1, chosen, left, &error)) fail_msg("%s", error.text);
}

static void each_chosen_frame_leaves_least_unknown_by_brute_force(void **state) {
    (void)state;
    enum { COUNT = 7 };
    for (uint64_t seed = 1; seed < 4; seed++) {
        static definition d;
        pelt_clip *clip;
        pelt_bundle *bundle = random_chain(&clip, seed);
        const pelt_clip *one = clip;
        pelt_examples all = pelt_bundle_examples(bundle, &one, 1);
        size_t chosen[COUNT], trial[COUNT];
        double left;
        define(bundle, clip, &d);
        choose(bundle, all, COUNT, PELT_CHOOSE_TELLING, chosen, &left);
        assert_near(left, unknown(&d, COUNT, chosen) / unknown(&d, 0, NULL), 1e-5);
        for (int n = 1; n <= COUNT; n++) {
            double least = INFINITY, own = unknown(&d, n, chosen);
            memcpy(trial, chosen, sizeof trial);
            for (size_t f = 0; f < FRAMES; f++) {
                bool taken = false;
                for (int i = 0; i < n - 1; i++) taken |= chosen[i] == f;
                trial[n - 1] = f;
                if (!taken) least = fmin(least, unknown(&d, n, trial));
            }
            assert_near(own / least, 1, 1e-5);
        }
        character_free(bundle);
    }
}

static void telling_frames_leave_no_more_than_even_or_random_ones(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_bundle *bundle = random_chain(&clip, 9);
    const pelt_clip *one = clip;
    pelt_examples all = pelt_bundle_examples(bundle, &one, 1);
    for (size_t count = 1; count <= FRAMES; count++) {
        size_t chosen[FRAMES];
        double left[3];
        bool seen[3][FRAMES] = {{0}};
        for (int how = 0; how < 3; how++) {
            choose(bundle, all, count, (pelt_frame_choice)how, chosen, &left[how]);
            for (size_t i = 0; i < count; i++) {
                assert_true(chosen[i] < FRAMES && !seen[how][chosen[i]]);
                seen[how][chosen[i]] = true;
            }
        }
        assert_true(left[PELT_CHOOSE_TELLING] <= left[PELT_CHOOSE_EVEN]);
        assert_true(left[PELT_CHOOSE_TELLING] <= left[PELT_CHOOSE_RANDOM] * 1.02); /* greedy is not exhaustive */
    }
    character_free(bundle);
}

static void bad_choices_are_refused_with_a_sentence(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = random_chain(&clip, 2);
    const pelt_clip *one = clip;
    pelt_examples all = pelt_bundle_examples(bundle, &one, 1), none = {0};
    size_t chosen[FRAMES];
    assert_int_not_equal(pelt_choose_examples(bundle, all, 0, PELT_CHOOSE_EVEN, 1, chosen, NULL, &error), PELT_OK);
    assert_non_null(strstr(error.text, "choose 1 to 22"));
    assert_int_not_equal(pelt_choose_examples(bundle, all, 23, PELT_CHOOSE_EVEN, 1, chosen, NULL, &error), PELT_OK);
    assert_int_not_equal(pelt_choose_examples(bundle, none, 1, PELT_CHOOSE_EVEN, 1, chosen, NULL, &error), PELT_OK);
    assert_non_null(strstr(error.text, "no frames"));
    assert_int_not_equal(pelt_choose_examples(bundle, all, 1, (pelt_frame_choice)7, 1, chosen, NULL, &error), PELT_OK);
    assert_int_not_equal(pelt_choose_examples(bundle, all, 1, PELT_CHOOSE_EVEN, 1, NULL, NULL, &error), PELT_OK);
    character_free(bundle);
}

/* -- A clip of them ------------------------------------------------------------------------------------------------- */

static void picked_frames_have_the_poses_and_shapes_of_their_clips(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = random_chain(&clip, 4);
    character_blend(bundle, clip);
    pelt_example list[2] = {{.clip = clip, .frame = 17}, {.clip = clip, .frame = 3}};
    const pelt_clip *picked = pelt_bundle_pick_frames(bundle, (pelt_examples){2, list}, "picked", &error);
    if (!picked) fail_msg("%s", error.text);
    assert_int_equal(picked->frame_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        pelt_transform a[JOINTS], b[JOINTS];
        pelt_clip_pose(picked, &bundle->skeleton, i, a), pelt_clip_pose(clip, &bundle->skeleton, list[i].frame, b);
        for (int j = 0; j < JOINTS; j++)
            for (int k = 0; k < 4; k++) assert_near(a[j].rotation[k], b[j].rotation[k], 1e-6);
        assert_memory_equal(picked->positions + (size_t)i * 3 * VERTICES,
                            clip->positions + (size_t)list[i].frame * 3 * VERTICES, 3 * VERTICES * sizeof(float));
    }
    character_free(bundle);
}

static void the_program_lists_the_frames_and_writes_them_as_examples(void **state) {
    (void)state;
    shell("%s sample arm --vertices 300 --frames 30 -o . --quiet", getenv("PELT_PROGRAM"));
    json_t *object = pelt_json("poses arm.glb --from train,test --count 5 -o chosen.glb");
    const json_t *frames = json_object_get(object, "frames");
    assert_int_equal(json_array_size(frames), 5);
    pelt_error error = {0};
    pelt_bundle *arm = pelt_bundle_read(file_path("arm.glb"), &error);
    pelt_bundle *chosen = pelt_bundle_read(file_path("chosen.glb"), &error);
    assert_true(arm && chosen && chosen->clip_count == 1);
    const pelt_clip *clip = pelt_bundle_clip(chosen, "poses", PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    for (size_t i = 0; i < 5; i++) {
        const json_t *f = json_array_get(frames, i);
        const char *name = json_string_value(json_object_get(f, "clip"));
        const pelt_clip *from = pelt_bundle_clip(arm, name, PELT_NEED_POSITIONS, &error);
        size_t row = 3 * (size_t)arm->mesh.vertex_count;
        assert_memory_equal(clip->positions + i * row, from->positions + (size_t)number(f, "frame") * row,
                            row * sizeof(float));
    }
    json_decref(object);
    pelt_bundle_free(arm), pelt_bundle_free(chosen);
}

/* -- Contradictions and repetitions --------------------------------------------------------------------------------- */

static const pelt_finding *find(pelt_findings findings, const char *what) {
    for (size_t i = 0; i < findings.count; i++)
        if (!strcmp(findings.list[i].what, what)) return &findings.list[i];
    return NULL;
}

/* Frame `to` gets the pose and shape of frame `from`. */
static void repeat_frame(pelt_clip *clip, int from, int to) {
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        size_t size = clip->channels[c].path == PELT_ROTATION ? 4 : 3;
        float *values = (float *)clip->channels[c].values;
        memcpy(values + size * (size_t)to, values + size * (size_t)from, size * sizeof *values);
    }
    float *positions = (float *)clip->positions;
    memcpy(positions + (size_t)to * 3 * VERTICES, positions + (size_t)from * 3 * VERTICES,
           3 * VERTICES * sizeof(float));
}

static void contradictions_and_repetitions_are_named(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = random_chain(&clip, 6);
    float *positions = character_blend(bundle, clip);
    const pelt_clip *one = clip;
    pelt_examples all = pelt_bundle_examples(bundle, &one, 1);
    pelt_findings none = {0};
    assert_int_equal(pelt_review_examples(bundle, all, &none, &error), PELT_OK);
    assert_int_equal(none.count, 0);
    repeat_frame(clip, 2, 11), repeat_frame(clip, 5, 16);
    positions[(size_t)16 * 3 * VERTICES + 3 * 7] += 0.125f; /* vertex 7 of frame 16 */
    pelt_findings found = pelt_diagnose(bundle, &one, 1);
    assert_non_null(find(found, "duplicate-pose-different-shape"));
    assert_int_equal(pelt_review_examples(bundle, all, &found, &error), PELT_OK);
    const pelt_finding *contradiction = find(found, "contradiction"), *redundant = find(found, "redundant");
    assert_true(contradiction && redundant && !find(found, "duplicate-pose-different-shape"));
    assert_non_null(strstr(contradiction->text, "frame 5 of \"dance\" and frame 16 of \"dance\" by 0.125"));
    assert_non_null(strstr(redundant->text, "1 of 22 examples add nothing"));
    assert_non_null(strstr(redundant->text, "frame 2 of \"dance\" and frame 11 of \"dance\""));
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_chosen_frame_leaves_least_unknown_by_brute_force),
        cmocka_unit_test(telling_frames_leave_no_more_than_even_or_random_ones),
        cmocka_unit_test(bad_choices_are_refused_with_a_sentence),
        cmocka_unit_test(picked_frames_have_the_poses_and_shapes_of_their_clips),
        cmocka_unit_test(the_program_lists_the_frames_and_writes_them_as_examples),
        cmocka_unit_test(contradictions_and_repetitions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
