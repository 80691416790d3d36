/* test_face.c: the face rig is as documented: nonlinear, computed point by point, the same for any subset, and
   reproducible from its seed. */

#include "samples/face.h"
#include "test/test.h"
#include <time.h>

static pelt_face *make(uint32_t points) {
    pelt_error error;
    pelt_face *face = pelt_face_new(&(pelt_face_options){.points = points}, &error);
    if (!face) fail_msg("%s", error.text);
    return face;
}

static void move(const pelt_face *face, const float *controls, float *out) {
    pelt_face_evaluate(face, controls, NULL, pelt_face_mesh(face)->vertex_count, out);
}

static void at_rest_it_is_the_mesh(void **state) {
    (void)state;
    pelt_face *face = make(0);
    const pelt_mesh *mesh = pelt_face_mesh(face);
    float controls[FACE_CONTROLS] = {0}, *out = malloc(3 * mesh->vertex_count * sizeof *out);
    double most = 0;
    move(face, controls, out);
    /* even at rest, lids rest on the eyeballs, slightly */
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) most = fmax(most, fabs(out[i] - mesh->positions[i]));
    assert_true(most < 0.02 * mesh->diagonal);
    free(out);
    pelt_face_free(face);
}

static void every_control_moves_something_and_only_finitely(void **state) {
    (void)state;
    pelt_face *face = make(900);
    float rest[2700], out[2700], controls[FACE_CONTROLS] = {0};
    move(face, controls, rest);
    for (uint32_t c = 0; c < FACE_CONTROLS; c++) {
        double most = 0;
        controls[c] = 1;
        move(face, controls, out);
        controls[c] = 0;
        for (int i = 0; i < 2700; i++) {
            assert_true(isfinite(out[i]));
            most = fmax(most, fabs(out[i] - rest[i]));
        }
        if (!(most > 1e-4)) fail_msg("%s moves nothing", pelt_face_control_name(c));
        assert_true(most < pelt_face_mesh(face)->diagonal);
    }
    pelt_face_free(face);
}

static void any_subset_has_the_very_values_of_the_whole(void **state) {
    (void)state;
    pelt_face *face = make(0);
    uint32_t n = pelt_face_mesh(face)->vertex_count, points[40];
    float controls[FACE_CONTROLS], *all = malloc(3 * n * sizeof *all), some[120];
    uint64_t seed = 3;
    for (int c = 0; c < FACE_CONTROLS; c++) controls[c] = (float)(test_random(&seed) * (c < FACE_SHAPES ? 0.5 : 0.2));
    move(face, controls, all);
    for (int i = 0; i < 40; i++) points[i] = (uint32_t)(test_random(&seed) * n);
    pelt_face_evaluate(face, controls, points, 40, some);
    for (int i = 0; i < 40; i++) assert_memory_equal(some + 3 * i, all + 3 * (size_t)points[i], 3 * sizeof(float));
    free(all);
    pelt_face_free(face);
}

/* The effect of two motions together is not the sum of their displacements: hinge, correctives, lids. */
static double mixed_difference(const pelt_face *face, uint32_t a, uint32_t b) {
    uint32_t n = pelt_face_mesh(face)->vertex_count;
    float *v[4], controls[FACE_CONTROLS] = {0};
    double most = 0;
    for (int i = 0; i < 4; i++) {
        v[i] = malloc(3 * n * sizeof(float));
        controls[a] = i & 1 ? 0.9f : 0, controls[b] = i & 2 ? 0.9f : 0;
        move(face, controls, v[i]);
    }
    for (size_t i = 0; i < 3 * (size_t)n; i++) most = fmax(most, fabs(v[3][i] - v[2][i] - v[1][i] + v[0][i]));
    for (int i = 0; i < 4; i++) free(v[i]);
    return most / pelt_face_mesh(face)->diagonal;
}

static void controls_work_on_each_other(void **state) {
    (void)state;
    pelt_face *face = make(0);
    assert_true(mixed_difference(face, FACE_jawOpen, FACE_mouthSmileLeft) > 0.002);
    assert_true(mixed_difference(face, FACE_eyeBlinkLeft, FACE_eyeLookUpLeft) > 0.0005);
    assert_true(mixed_difference(face, FACE_browDownLeft, FACE_mouthLowerDownRight) < 0.001); /* far apart */
    pelt_face_free(face);
}

static void lids_never_cut_into_the_eye_by_much(void **state) {
    (void)state;
    pelt_face *face = make(0);
    uint32_t n = pelt_face_mesh(face)->vertex_count;
    float *open = malloc(3 * n * sizeof *open), *shut = malloc(3 * n * sizeof *shut), controls[FACE_CONTROLS] = {0};
    move(face, controls, open);
    controls[FACE_eyeBlinkLeft] = 1;
    move(face, controls, shut);
    double least = 0; /* the lid comes down, and is not pulled back into the head */
    for (uint32_t v = 0; v < n; v++)
        if (fabsf(shut[3 * v + 1] - open[3 * v + 1]) > 0.3f) least = fmin(least, shut[3 * v + 2] - open[3 * v + 2]);
    assert_true(least > -0.7);
    free(open), free(shut);
    pelt_face_free(face);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void cost_is_in_proportion_to_the_points_and_can_be_turned_up(void **state) {
    (void)state;
    pelt_error error;
    pelt_face *slow = pelt_face_new(&(pelt_face_options){.points = 500, .cost = 100}, &error);
    float controls[FACE_CONTROLS] = {0}, out[1500];
    double start = seconds();
    pelt_face_evaluate(slow, controls, NULL, 500, out);
    double all = seconds() - start;
    start = seconds();
    pelt_face_evaluate(slow, controls, NULL, 50, out);
    double tenth = seconds() - start;
    assert_true(all >= 500 * 100e-6 && tenth >= 50 * 100e-6); /* on a busy machine it may be more, never less */
    assert_true(tenth < all);
    pelt_face_free(slow);
}

static void the_same_seed_moves_alike_and_another_does_not(void **state) {
    (void)state;
    enum { FRAMES = 200 };
    pelt_face *face = make(100);
    pelt_error error;
    float *a = malloc(FRAMES * FACE_CONTROLS * sizeof *a), *b = malloc(FRAMES * FACE_CONTROLS * sizeof *b);
    uint32_t shots[FRAMES], other[FRAMES];
    for (int kind = FACE_TRAIN; kind <= FACE_RANGE; kind++) {
        pelt_face_motion_options o = {.kind = (pelt_face_kind)kind, .frames = FRAMES, .seed = 5};
        assert_int_equal(pelt_face_motion(face, &o, a, shots, &error), PELT_OK);
        assert_int_equal(pelt_face_motion(face, &o, b, other, &error), PELT_OK);
        assert_memory_equal(a, b, FRAMES * FACE_CONTROLS * sizeof *a);
        for (int i = 0; i < FRAMES * FACE_CONTROLS; i++) assert_true(fabsf(a[i]) <= 2);
        o.seed = 6;
        assert_int_equal(pelt_face_motion(face, &o, b, other, &error), PELT_OK);
        if (kind != FACE_RANGE) assert_memory_not_equal(a, b, FRAMES * FACE_CONTROLS * sizeof *a);
    }
    /* train and test share no shot */
    pelt_face_motion(face, &(pelt_face_motion_options){FACE_TRAIN, FRAMES, 5, NULL}, a, shots, &error);
    pelt_face_motion(face, &(pelt_face_motion_options){FACE_TEST, FRAMES, 5, NULL}, b, other, &error);
    assert_memory_not_equal(a, b, FACE_CONTROLS * sizeof *a);
    /* motion is smooth within a shot */
    for (int f = 1; f < FRAMES; f++)
        for (int c = 0; c < FACE_CONTROLS; c++)
            if (shots[f] == shots[f - 1])
                assert_true(fabsf(a[f * FACE_CONTROLS + c] - a[(f - 1) * FACE_CONTROLS + c]) < 0.5f);
    free(a), free(b);
    pelt_face_free(face);
}

static void a_real_face_with_arkit_shapes_becomes_a_rig(void **state) {
    (void)state;
    const char *path = test_data("ict_face/ict_face.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    pelt_face *face = pelt_face_new(&(pelt_face_options){.mesh = &bundle->mesh, .points = 2986}, &error);
    assert_non_null(face);
    assert_int_equal(pelt_face_mesh(face)->vertex_count, 2986);
    assert_true(pelt_face_mesh(face)->triangle_count > 4000);
    float controls[FACE_CONTROLS] = {0}, *rest = malloc(2986 * 12), *open = malloc(2986 * 12);
    move(face, controls, rest);
    controls[FACE_jawOpen] = 1;
    move(face, controls, open);
    double drop = 0; /* the chin of this head moves by 4.2 cm when the jaw opens */
    for (int v = 0; v < 2986; v++) drop = fmax(drop, rest[3 * v + 1] - open[3 * v + 1]);
    assert_near(drop, 0.035, 0.012);
    free(rest), free(open);
    pelt_face_free(face);
    bundle->mesh.targets[3].name = "something";
    assert_null(pelt_face_new(&(pelt_face_options){.mesh = &bundle->mesh}, &error));
    assert_non_null(strstr(error.text, "has no shape"));
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_rest_it_is_the_mesh),
        cmocka_unit_test(every_control_moves_something_and_only_finitely),
        cmocka_unit_test(any_subset_has_the_very_values_of_the_whole),
        cmocka_unit_test(controls_work_on_each_other),
        cmocka_unit_test(lids_never_cut_into_the_eye_by_much),
        cmocka_unit_test(cost_is_in_proportion_to_the_points_and_can_be_turned_up),
        cmocka_unit_test(the_same_seed_moves_alike_and_another_does_not),
        cmocka_unit_test(a_real_face_with_arkit_shapes_becomes_a_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
