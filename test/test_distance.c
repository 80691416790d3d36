/* test_distance.c: weights by the distance to bones, and the largest weights of a vertex. */

#include "test/character.h"

/* A skeleton of parentless joints at given positions: every bone is a point. */
static pelt_bundle *points(uint32_t count, const double (*places)[3]) {
    int32_t parents[64];
    for (int j = 0; j < 64; j++) parents[j] = -1;
    pelt_bundle *bundle = character_new(count, parents);
    for (uint32_t j = 0; j < count; j++)
        for (int i = 0; i < 3; i++) bundle->skeleton.rest[j].translation[i] = (float)places[j][i];
    character_bind(bundle);
    return bundle;
}

/* A mesh whose vertices are evenly spaced on a line, without weights. */
static void line(pelt_bundle *bundle, uint32_t count, const double from[3], const double to[3]) {
    character_tube(bundle, count, 1, 1);
    for (uint32_t v = 0; v < count; v++)
        for (uint32_t i = 0; i < 3; i++)
            bundle->mesh.positions[3 * v + i] = (float)(from[i] + (to[i] - from[i]) * v / fmax(count - 1.0, 1));
    bundle->mesh.diagonal = (float)pelt_diagonal(bundle->mesh.positions, count);
    character_influences(bundle, 0);
}

/* The weights of all joints at a vertex; also checks that there are at most `most`, without duplicates, that sum to
   1. */
static void dense(const pelt_influences *in, uint32_t v, uint32_t most, uint32_t joint_count, double *weights) {
    double sum = 0;
    memset(weights, 0, joint_count * sizeof *weights);
    assert_true(in->first[v + 1] > in->first[v] && in->first[v + 1] - in->first[v] <= most);
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        assert_true(in->joints[i] < joint_count);
        assert_true(in->weights[i] > 0 && weights[in->joints[i]] == 0);
        sum += weights[in->joints[i]] = in->weights[i];
    }
    assert_near(sum, 1, 1e-6);
}

static pelt_influences weigh(pelt_bundle *bundle, uint32_t most) {
    pelt_influences out;
    pelt_error error = {0};
    if (pelt_distance_weights(bundle->arena, &bundle->mesh, &bundle->skeleton, most, 2, &out, &error))
        fail_msg("%s", error.text);
    return out;
}

static void two_points_share_a_line_by_the_formula(void **state) {
    (void)state;
    enum { N = 401 };
    pelt_bundle *bundle = points(2, (const double[][3]){{0, 0, 0}, {1, 0, 0}});
    line(bundle, N, (double[]){-1, 0.25, 0}, (double[]){2, 0.25, 0});
    pelt_influences in = weigh(bundle, 2);
    for (uint32_t v = 0; v < N; v++) {
        double x = bundle->mesh.positions[3 * v], d[2] = {hypot(x, 0.25), hypot(x - 1, 0.25)}, w[2], got[2];
        double edge = 2.5 * fmin(d[0], d[1]);
        for (int j = 0; j < 2; j++) w[j] = pow(fmax(edge - d[j], 0) / (edge * d[j]), 2);
        dense(&in, v, 2, 2, got);
        for (int j = 0; j < 2; j++) assert_near(got[j], w[j] / (w[0] + w[1]), 1e-6);
    }
    character_free(bundle);
}

static void a_bone_reaches_from_a_joint_to_its_child(void **state) {
    (void)state;
    /* Along the bone from (0,0,0) to (0,1,0) the distance of the first joint is the radius. */
    pelt_bundle *bundle = character_new(2, NULL);
    character_bind(bundle);
    line(bundle, 11, (double[]){0.5, 0, 0}, (double[]){0.5, 2, 0});
    pelt_influences in = weigh(bundle, 2);
    for (uint32_t v = 0; v < 11; v++) {
        double y = bundle->mesh.positions[3 * v + 1], bone = y > 1 ? hypot(y - 1, 0.5) : 0.5, tip = hypot(y - 1, 0.5);
        double edge = 2.5 * fmin(bone, tip), got[2];
        double w0 = pow(fmax(edge - bone, 0) / (edge * bone), 2), w1 = pow(fmax(edge - tip, 0) / (edge * tip), 2);
        dense(&in, v, 2, 2, got);
        assert_near(got[0], w0 / (w0 + w1), 1e-6);
    }
    character_free(bundle);
}

/* A joint has a bone to each of its children, in any order; children need not carry skin. */
static void a_joint_is_as_near_as_the_nearest_of_its_bones(void **state) {
    (void)state;
    enum { N = 57, CARRY = 3 };
    static const int32_t parents[] = {-1, 0, 1, 2, 0};
    static const double places[][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {0, 0, -1}};
    static const int bones[][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 4}};
    pelt_bundle *bundle = character_new(5, parents);
    for (int j = 1; j < 5; j++)
        for (int i = 0; i < 3; i++)
            bundle->skeleton.rest[j].translation[i] = (float)(places[j][i] - places[parents[j]][i]);
    character_bind(bundle);
    line(bundle, N, (double[]){0.3, -0.2, -1.2}, (double[]){0.8, 0.9, 1.1});
    character_influences(bundle, 1);
    for (uint32_t v = 0; v < N; v++)
        bundle->mesh.influences.joints[v] = v % CARRY, bundle->mesh.influences.weights[v] = 1;
    pelt_influences in = weigh(bundle, CARRY);
    for (uint32_t v = 0; v < N; v++) {
        double d[CARRY] = {INFINITY, INFINITY, INFINITY}, w[CARRY], got[5], sum = 0;
        for (int b = 0; b < 4; b++)
            for (int k = 0; k <= 4000; k++) { /* the bone as a row of dots */
                double square = 0;
                for (int i = 0; i < 3; i++) {
                    double from = places[bones[b][0]][i], to = places[bones[b][1]][i];
                    square += pow(from + (to - from) * k / 4000 - bundle->mesh.positions[3 * v + (uint32_t)i], 2);
                }
                d[bones[b][0]] = fmin(d[bones[b][0]], sqrt(square));
            }
        double edge = 2.5 * fmin(fmin(d[0], d[1]), d[2]);
        for (int j = 0; j < CARRY; j++) sum += w[j] = pow(fmax(edge - d[j], 0) / (edge * d[j]), 2);
        dense(&in, v, CARRY, 5, got);
        for (int j = 0; j < CARRY; j++) assert_near(got[j], w[j] / sum, 1e-4);
    }
    character_free(bundle);
}

static void weights_change_smoothly_where_joints_enter_and_leave(void **state) {
    (void)state;
    enum { N = 40001, JOINTS = 9 };
    double places[JOINTS][3];
    uint64_t seed = 11;
    for (int i = 0; i < 3 * JOINTS; i++) places[i / 3][i % 3] = 2 * test_random(&seed);
    for (uint32_t most = 2; most <= 8; most += 2) {
        pelt_bundle *bundle = points(JOINTS, (const double(*)[3])places);
        line(bundle, N, (double[]){-0.5, 0.3, 0.2}, (double[]){2.5, 1.4, 1.9});
        pelt_influences in = weigh(bundle, most);
        double before[JOINTS], now[JOINTS], jump = 0;
        uint32_t changes = 0;
        for (uint32_t v = 0; v < N; v++) {
            dense(&in, v, most, JOINTS, now);
            for (int j = 0; v && j < JOINTS; j++) {
                jump = fmax(jump, fabs(now[j] - before[j]));
                changes += (now[j] > 0) != (before[j] > 0);
            }
            memcpy(before, now, sizeof now);
        }
        assert_true(changes >= 4); /* the line does cross such places */
        assert_true(jump < 0.01);  /* a step is 1e-4 long; a discontinuous weight would jump by tenths */
        character_free(bundle);
    }
}

static void the_middle_of_a_limb_follows_one_joint_alone(void **state) {
    (void)state;
    pelt_bundle *bundle = character_new(5, NULL);
    character_bind(bundle);
    line(bundle, 3, (double[]){0.1, 1.4, 0}, (double[]){0.1, 1.6, 0});
    pelt_influences in = weigh(bundle, 4);
    for (uint32_t v = 0; v < 3; v++) {
        assert_int_equal(in.first[v + 1] - in.first[v], 1);
        assert_int_equal(in.joints[in.first[v]], 1);
    }
    character_free(bundle);
}

static void with_one_influence_the_nearest_joint_takes_all(void **state) {
    (void)state;
    static const double places[4][3] = {{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {0, 2, 1}};
    pelt_bundle *bundle = points(4, places);
    line(bundle, 200, (double[]){-1, -1, 0}, (double[]){2, 3, 1});
    pelt_influences in = weigh(bundle, 1);
    for (uint32_t v = 0; v < 200; v++) {
        double best = INFINITY, got[4];
        uint32_t nearest = 0;
        for (uint32_t j = 0; j < 4; j++) {
            double d = 0;
            for (uint32_t i = 0; i < 3; i++) d += pow(bundle->mesh.positions[3 * v + i] - places[j][i], 2);
            if (d < best) best = d, nearest = j;
        }
        dense(&in, v, 1, 4, got);
        assert_near(got[nearest], 1, 0);
    }
    character_free(bundle);
}

static void joints_and_vertices_in_one_place_give_usable_weights(void **state) {
    (void)state;
    pelt_bundle *bundle = points(5, (const double[][3]){{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {3, 0, 0}});
    line(bundle, 31, (double[]){0, 0, 0}, (double[]){3, 0, 0}); /* begins and ends on joints */
    for (uint32_t most = 1; most <= 5; most++) {
        pelt_influences in = weigh(bundle, most);
        double got[5];
        for (uint32_t v = 0; v < 31; v++) dense(&in, v, most, 5, got);
        dense(&in, 30, most, 5, got);
        assert_near(got[4], 1, 1e-6);
        dense(&in, 3, most, 5, got);
        for (uint32_t j = 0; j < (most < 4 ? most : 4); j++) assert_near(got[j], 1.0 / (most < 4 ? most : 4), 1e-6);
    }
    line(bundle, 1, (double[]){0, 0, 0}, (double[]){0, 0, 0}); /* a mesh of one vertex has no size */
    double got[5];
    pelt_influences in = weigh(bundle, 4);
    dense(&in, 0, 4, 5, got);
    character_free(bundle);
}

static void only_joints_that_carry_skin_in_the_file_have_bones(void **state) {
    (void)state;
    pelt_bundle *bundle = points(3, (const double[][3]){{0, 0, 0}, {0.5, 0, 0}, {1, 0, 0}});
    line(bundle, 21, (double[]){0, 0.1, 0}, (double[]){1, 0.1, 0});
    character_influences(bundle, 1);
    for (uint32_t v = 0; v < 21; v++) bundle->mesh.influences.joints[v] = v % 2 ? 0 : 2;
    pelt_influences in = weigh(bundle, 3);
    for (uint32_t i = 0; i < in.first[21]; i++) assert_int_not_equal(in.joints[i], 1);
    character_free(bundle);
}

static void impossible_wishes_are_refused_with_a_sentence(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(2, 8);
    pelt_influences out;
    pelt_error error;
    assert_int_equal(pelt_distance_weights(bundle->arena, &bundle->mesh, &bundle->skeleton, 65, 1, &out, &error),
                     PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "at most 64"));
    bundle->skeleton.joint_count = 0;
    assert_int_equal(pelt_distance_weights(bundle->arena, &bundle->mesh, &bundle->skeleton, 4, 1, &out, &error),
                     PELT_ERROR_DATA);
    character_free(bundle);
}

static void the_number_of_threads_does_not_change_a_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(12, 3000);
    pelt_influences a, b;
    pelt_distance_weights(bundle->arena, &bundle->mesh, &bundle->skeleton, 4, 1, &a, NULL);
    pelt_distance_weights(bundle->arena, &bundle->mesh, &bundle->skeleton, 4, 2, &b, NULL);
    assert_memory_equal(a.first, b.first, 3001 * sizeof *a.first);
    assert_memory_equal(a.joints, b.joints, a.first[3000] * sizeof *a.joints);
    assert_memory_equal(a.weights, b.weights, a.first[3000] * sizeof *a.weights);
    character_free(bundle);
}

/* -- The largest weights ------------------------------------------------------------------------------------------ */

typedef struct ranked {
    float weight;
    uint32_t joint;
} ranked;

static int larger_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->joint > y->joint) - (x->joint < y->joint); /* not by index: twins may list them in a different order */
}

static void the_largest_weights_are_kept_as_a_sort_would(void **state) {
    (void)state;
    enum { EACH = 9, N = 100 };
    pelt_bundle *bundle = character_chain(20, N);
    uint64_t seed = 8;
    character_random_weights(bundle, EACH, &seed);
    pelt_influences *in = &bundle->mesh.influences, out;
    for (uint32_t i = 0; i < N * EACH; i++) in->weights[i] = roundf(in->weights[i] * 40) / 40; /* some alike */
    for (uint32_t most = 1; most <= EACH + 2; most++) {
        pelt_limit_influences(bundle->arena, in, N, most, &out);
        uint32_t kept = most < EACH ? most : EACH;
        for (uint32_t v = 0; v < N; v++) {
            ranked list[EACH];
            double sum = 0;
            for (uint32_t k = 0; k < EACH; k++) list[k] = (ranked){in->weights[EACH * v + k], in->joints[EACH * v + k]};
            qsort(list, EACH, sizeof *list, larger_first);
            for (uint32_t k = 0; k < kept; k++) sum += list[k].weight;
            assert_int_equal(out.first[v + 1] - out.first[v], kept);
            for (uint32_t k = 0; k < kept; k++) {
                assert_int_equal(out.joints[out.first[v] + k], list[k].joint);
                assert_near(out.weights[out.first[v] + k], list[k].weight / sum, 1e-6);
            }
        }
    }
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_points_share_a_line_by_the_formula),
        cmocka_unit_test(a_bone_reaches_from_a_joint_to_its_child),
        cmocka_unit_test(a_joint_is_as_near_as_the_nearest_of_its_bones),
        cmocka_unit_test(weights_change_smoothly_where_joints_enter_and_leave),
        cmocka_unit_test(the_middle_of_a_limb_follows_one_joint_alone),
        cmocka_unit_test(with_one_influence_the_nearest_joint_takes_all),
        cmocka_unit_test(joints_and_vertices_in_one_place_give_usable_weights),
        cmocka_unit_test(only_joints_that_carry_skin_in_the_file_have_bones),
        cmocka_unit_test(impossible_wishes_are_refused_with_a_sentence),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
        cmocka_unit_test(the_largest_weights_are_kept_as_a_sort_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
