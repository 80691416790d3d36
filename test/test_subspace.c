/* test_subspace.c: the streamed subspace against a full SVD in double, and its limits. */

#include "test/svd.h"
#include "rig/linear.h"
#include "fit/keys/subspace.h"
#include "test/frames.h"

static void find(test_frames *t, pelt_arena *arena, uint32_t rank, bool shared, bool centred, size_t memory,
                 pelt_subspace *s) {
    pelt_error error;
    pelt_columns *columns = NULL;
    pelt_columns_open(arena, &t->frames, shared, memory, &columns, &error);
    assert_non_null(columns);
    assert_int_equal(pelt_subspace_find(arena, columns, rank, centred, 1, NULL, s, &error), PELT_OK);
}

/* Singular values of the frames by LAPACK, weighted, with or without the mean. */
static double *full_svd(const test_frames *t, bool centred, size_t *count) {
    size_t f = t->frames.frame_count, n = (size_t)t->frames.point_count * t->frames.component_count, k = f < n ? f : n;
    double *a = malloc(f * n * sizeof *a), *u = malloc(f * k * sizeof *u), *vt = malloc(k * n * sizeof *vt),
           *s = malloc(k * sizeof *s);
    for (size_t i = 0; i < n; i++) {
        double mean = 0, weight = 0;
        for (size_t j = 0; j < f; j++) {
            double w = t->frames.weights ? t->frames.weights[j] : 1;
            mean += w * t->values[j * n + i], weight += w;
        }
        for (size_t j = 0; j < f; j++)
            a[j * n + i] = sqrt(t->frames.weights ? t->frames.weights[j] : 1) *
                           (t->values[j * n + i] - (centred ? mean / weight : 0));
    }
    assert_true(test_svd(f, n, a, u, s, vt));
    free(a), free(u), free(vt);
    *count = k;
    return s;
}

static void singular_values_are_those_of_a_full_svd(void **state) {
    (void)state;
    for (int centred = 0; centred < 2; centred++) {
        test_frames *t = test_frames_make(150, 40, 3, 25, 1e-4, 7);
        pelt_arena *arena = pelt_arena_new(0);
        pelt_subspace s;
        size_t count;
        double *truth = full_svd(t, centred, &count);
        find(t, arena, 20, false, centred, 1 << 30, &s);
        assert_int_equal(s.rank, 20);
        for (uint32_t m = 0; m < s.rank; m++) assert_near(s.values[m], truth[m], 1e-6 * truth[0] + 2e-3 * truth[m]);
        free(truth);
        pelt_arena_free(arena);
        test_frames_free(t);
    }
}

static void vectors_are_orthonormal_and_explain_as_much_as_the_svd(void **state) {
    (void)state;
    test_frames *t = test_frames_make(200, 50, 3, 30, 1e-4, 3);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_subspace s;
    size_t count, n = 150;
    double *truth = full_svd(t, true, &count), left = 0, best = 0;
    find(t, arena, 15, false, true, 1 << 30, &s);
    for (uint32_t a = 0; a < s.rank; a++)
        for (uint32_t b = 0; b < s.rank; b++) {
            double dot = 0;
            for (size_t r = 0; r < n; r++) dot += s.vectors[r * s.rank + a] * s.vectors[r * s.rank + b];
            assert_near(dot, a == b, 1e-9);
        }
    for (size_t f = 0; f < 200; f++)
        for (size_t r = 0; r < n; r++) {
            double model = s.mean[r];
            for (uint32_t m = 0; m < s.rank; m++) model += s.vectors[r * s.rank + m] * s.coordinates[f * s.rank + m];
            left += pow(model - t->values[f * n + r], 2);
        }
    for (size_t m = s.rank; m < count; m++) best += truth[m] * truth[m];
    assert_true(left < 1.001 * best + 1e-12);
    double tail = 0;
    for (size_t r = 0; r < n; r++) tail += s.tail[r] * s.weight;
    assert_near(tail, left, 1e-6 + 1e-3 * left);
    free(truth);
    pelt_arena_free(arena);
    test_frames_free(t);
}

static void frames_beyond_the_memory_limit_give_the_same_subspace(void **state) {
    (void)state;
    test_frames *t = test_frames_make(170, 30, 3, 12, 1e-4, 5);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_subspace held, streamed;
    find(t, arena, 10, false, true, 1 << 30, &held);
    uint32_t once = t->batches;
    size_t before = pelt_arena_used(arena);
    find(t, arena, 10, false, true, 1000, &streamed);
    assert_true(t->batches > 3 * once);
    assert_true(pelt_arena_used(arena) - before < 170 * 90 * 4 * 10);
    for (uint32_t m = 0; m < 10; m++) assert_true(held.values[m] == streamed.values[m]);
    for (size_t i = 0; i < 90 * 10; i++) assert_true(held.vectors[i] == streamed.vectors[i]);
    pelt_arena_free(arena);
    test_frames_free(t);
}

static void weights_count_a_frame_as_often_as_they_say(void **state) {
    (void)state;
    test_frames *t = test_frames_make(40, 20, 3, 8, 1e-3, 9), *twice = test_frames_make(50, 20, 3, 8, 0, 9);
    float weights[40];
    for (int i = 0; i < 40; i++) weights[i] = i < 10 ? 2 : 1;
    memcpy(twice->values, t->values, 40 * 60 * sizeof(float));
    memcpy(twice->values + 40 * 60, t->values, 10 * 60 * sizeof(float));
    t->frames.weights = weights;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_subspace a, b;
    find(t, arena, 39, false, true, 1 << 30, &a);
    find(twice, arena, 39, false, true, 1 << 30, &b);
    for (uint32_t m = 0; m < 20; m++) assert_near(a.values[m], b.values[m], 1e-9 + 1e-6 * b.values[0]);
    pelt_arena_free(arena);
    test_frames_free(t), test_frames_free(twice);
}

static void a_shared_basis_takes_each_component_as_a_frame(void **state) {
    (void)state;
    test_frames *t = test_frames_make(30, 25, 3, 6, 0, 2), *apart = test_frames_make(90, 25, 1, 6, 0, 2);
    for (size_t f = 0; f < 30; f++)
        for (size_t c = 0; c < 3; c++)
            for (size_t p = 0; p < 25; p++) apart->values[(3 * f + c) * 25 + p] = t->values[(f * 25 + p) * 3 + c];
    pelt_arena *arena = pelt_arena_new(0);
    pelt_subspace a, b;
    find(t, arena, 20, true, false, 1 << 30, &a);
    find(apart, arena, 20, false, false, 1 << 30, &b);
    assert_int_equal(a.row_count, 25);
    for (uint32_t m = 0; m < a.rank && m < 6; m++) assert_near(a.values[m], b.values[m], 1e-6 * b.values[0]);
    pelt_arena_free(arena);
    test_frames_free(t), test_frames_free(apart);
}

static void directions_without_motion_are_dropped(void **state) {
    (void)state;
    test_frames *t = test_frames_make(60, 40, 3, 4, 0, 11);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_subspace s;
    find(t, arena, 30, false, true, 1 << 30, &s);
    assert_true(s.rank >= 4 && s.rank < 30); /* four motions, and the rounding of floats */
    pelt_arena_free(arena);
    test_frames_free(t);
}

static void a_value_that_is_not_finite_is_named(void **state) {
    (void)state;
    test_frames *t = test_frames_make(70, 10, 3, 4, 0, 1);
    t->values[(66 * 10 + 7) * 3 + 1] = NAN;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_error error;
    pelt_columns *columns;
    assert_int_equal(pelt_columns_open(arena, &t->frames, false, 1 << 30, &columns, &error), PELT_ERROR_NUMBER);
    assert_non_null(strstr(error.text, "frame 66, point 7"));
    pelt_arena_free(arena);
    test_frames_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_values_are_those_of_a_full_svd),
        cmocka_unit_test(vectors_are_orthonormal_and_explain_as_much_as_the_svd),
        cmocka_unit_test(frames_beyond_the_memory_limit_give_the_same_subspace),
        cmocka_unit_test(weights_count_a_frame_as_often_as_they_say),
        cmocka_unit_test(a_shared_basis_takes_each_component_as_a_frame),
        cmocka_unit_test(directions_without_motion_are_dropped),
        cmocka_unit_test(a_value_that_is_not_finite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
