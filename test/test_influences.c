/* test_influences.c: the choice of joints and the affine fit, against brute force and LAPACK. */

#include "fit/blend/bilinear.h"
#include "fit/blend/influences.h"
#include "rig/linear.h"
#include "test/test.h"

static double brute_diameter(const double *xyz, size_t n) {
    double best = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double x = xyz[i] - xyz[j], y = xyz[n + i] - xyz[n + j], z = xyz[2 * n + i] - xyz[2 * n + j];
            best = fmax(best, sqrt(x * x + y * y + z * z));
        }
    return best;
}

/* Balls, spheres, flat and thin clouds, and coinciding points. */
static void diameters_are_those_of_brute_force(void **state) {
    (void)state;
    uint64_t seed = 1;
    enum { MOST = 300 };
    double xyz[3 * MOST], room[2 * MOST];
    for (int round = 0; round < 120; round++) {
        size_t n = 1 + (size_t)(test_random(&seed) * (MOST - 1));
        for (size_t i = 0; i < n; i++) {
            double p[3], length = 0;
            for (int c = 0; c < 3; c++) p[c] = test_random(&seed) - 0.5, length += p[c] * p[c];
            for (size_t c = 0; c < 3; c++) {
                double squeeze = round % 5 == 1 && c ? 1e-3 : round % 5 == 2 && c == 2 ? 0 : 1;
                xyz[c * n + i] = round % 5 == 3 ? p[c] / sqrt(length) : round % 5 == 4 ? 0.25 : p[c] * squeeze;
            }
        }
        assert_near(pelt_cloud_diameter(xyz, n, INFINITY, room), brute_diameter(xyz, n), 1e-12);
    }
}

static void a_diameter_beyond_what_is_enough_is_told_as_such(void **state) {
    (void)state;
    uint64_t seed = 2;
    double xyz[300], room[200];
    for (int i = 0; i < 300; i++) xyz[i] = test_random(&seed);
    double exact = brute_diameter(xyz, 100);
    assert_true(pelt_cloud_diameter(xyz, 100, exact / 2, room) > exact / 2);
    assert_near(pelt_cloud_diameter(xyz, 100, exact * 1.01, room), exact, 1e-12);
}

/* Translations by random vectors: the cloud of joint j is path - translation_j. */
static void the_most_rigid_joints_are_those_with_the_smallest_clouds(void **state) {
    (void)state;
    enum { JOINTS = 9, EXAMPLES = 70, MOST = 4 };
    uint64_t seed = 3;
    static double inverses[JOINTS][12][EXAMPLES];
    double path[3][EXAMPLES], room[5 * EXAMPLES], sizes[JOINTS], cloud[3 * EXAMPLES];
    bool usable[JOINTS];
    for (int round = 0; round < 30; round++) {
        for (int c = 0; c < 3; c++)
            for (int e = 0; e < EXAMPLES; e++) path[c][e] = test_random(&seed);
        for (int j = 0; j < JOINTS; j++) {
            usable[j] = j != 4;
            for (int k = 0; k < 12; k++)
                for (int e = 0; e < EXAMPLES; e++)
                    inverses[j][k][e] = k % 4 == 3 ? (j - 4.5) * test_random(&seed) : k % 5 == 0;
            for (int c = 0; c < 3; c++)
                for (int e = 0; e < EXAMPLES; e++) cloud[c * EXAMPLES + e] = path[c][e] + inverses[j][4 * c + 3][e];
            sizes[j] = usable[j] ? brute_diameter(cloud, EXAMPLES) : INFINITY;
        }
        pelt_weights out;
        pelt_choose_rigid(inverses[0][0], usable, JOINTS, path[0], EXAMPLES, MOST, room, &out);
        assert_int_equal(out.count, MOST);
        for (uint32_t i = 0; i < MOST; i++) {
            int best = 0;
            for (int j = 0; j < JOINTS; j++)
                if (sizes[j] < sizes[best]) best = j;
            assert_int_equal(out.joints[i], best);
            sizes[best] = INFINITY;
        }
    }
}

/* -- Problems from random columns ---------------------------------------------------------------------------------- */

enum { COLUMNS = 9, ROWS = 40 };

static pelt_problem *random_problem(pelt_arena *arena, uint64_t *seed, double (*a)[COLUMNS], bool deficient) {
    pelt_problem *p = pelt_problem_new(arena, COLUMNS);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            a[r][c] = deficient && c == 3 ? (a[r][1] + a[r][2]) / 2 : test_random(seed) - 0.4;
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int r = 0; r < ROWS; r++) sum += a[r][i] * a[r][j];
            p->columns[i * COLUMNS + j] = sum;
        }
    for (int i = 0; i < COLUMNS; i++) p->known[i] = true;
    return p;
}

/* Affine least squares over some columns by LAPACK; returns the squared error. */
static double reference(double (*a)[COLUMNS], const uint32_t *set, uint32_t count, double ridge, double cut,
                        double *weights) {
    double m[(ROWS + COLUMNS) * COLUMNS] = {0}, b[ROWS + COLUMNS] = {0}, error = 0;
    uint32_t n = count - 1;
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t i = 0; i < n; i++) m[r * n + i] = a[r][set[i + 1]] - a[r][set[0]];
        b[r] = -a[r][set[0]];
    }
    for (uint32_t i = 0; i < n; i++) m[(ROWS + i) * n + i] = sqrt(ridge);
    if (n) assert_true(pelt_least_squares(ROWS + COLUMNS, n, m, 1, b, cut));
    weights[0] = 1;
    for (uint32_t i = 0; i < n; i++) weights[i + 1] = b[i], weights[0] -= b[i];
    for (uint32_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) sum += weights[i] * a[r][set[i]];
        error += sum * sum;
    }
    return error;
}

static void affine_weights_are_those_of_lapack(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 4;
    double a[ROWS][COLUMNS], weights[COLUMNS];
    for (int round = 0; round < 50; round++) {
        bool deficient = round % 2;
        double ridge = round % 4 > 1 ? 0.1 : 0;
        pelt_problem *p = random_problem(arena, &seed, a, deficient);
        pelt_weights w = {.count = 5, .joints = {0, 1, 2, 3, 7}};
        uint32_t zeroed = pelt_affine_weights(p, ridge, 1e-6, &w);
        assert_int_equal(zeroed, deficient && ridge == 0);
        double error = reference(a, w.joints, 5, ridge, 1e-6, weights);
        for (int i = 0; i < 5; i++) assert_near(w.weights[i], weights[i], 1e-6);
        assert_near(w.error, error, 1e-8);
    }
    pelt_arena_free(arena);
}

/* Orthogonal columns of length 1, 1/100 and 1/1000: a cut between the last two zeroes one, and only the component along
   the other two is fitted. */
static void singular_values_below_the_cut_are_zeroed(void **state) {
    (void)state;
    static const double sizes[] = {0, 1, 1e-2, 1e-3}, wanted[] = {0, 0.3, 0.2, 0.1}, cuts[] = {5e-3, 5e-4, 0.1};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_problem *p = pelt_problem_new(arena, 4);
    for (int i = 0; i < 4; i++) /* residual of joint i: sizes_i e_i - sum_k wanted_k sizes_k e_k */
        for (int j = 0; j < 4; j++)
            for (int k = 1; k < 4; k++)
                p->columns[4 * i + j] += ((i == k) - wanted[k]) * ((j == k) - wanted[k]) * sizes[k] * sizes[k];
    for (int i = 0; i < 4; i++) p->known[i] = true;
    for (uint32_t c = 0; c < 3; c++) {
        pelt_weights w = {.count = 4, .joints = {0, 1, 2, 3}};
        assert_int_equal(pelt_affine_weights(p, 0, cuts[c], &w), c == 1 ? 0 : c == 0 ? 1 : 2);
        assert_near(w.weights[1], 0.3, 1e-6);
        assert_near(w.weights[2], c == 2 ? 0 : 0.2, 1e-6);
        assert_near(w.weights[3], c == 1 ? 0.1 : 0, 1e-6);
    }
    pelt_arena_free(arena);
}

/* NaNs yield the first joint alone, not uninitialised memory. */
static void weights_of_no_numbers_are_those_of_one_joint(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 9;
    double a[ROWS][COLUMNS];
    pelt_problem *p = random_problem(arena, &seed, a, false);
    for (int i = 0; i < COLUMNS * COLUMNS; i++) p->columns[i] = NAN;
    pelt_weights w = {.count = 3, .joints = {4, 1, 2}};
    assert_int_equal(pelt_affine_weights(p, 0, 1e-6, &w), 2);
    for (int i = 0; i < 3; i++) assert_near(w.weights[i], i == 0, 0);
    pelt_arena_free(arena);
}

static void a_ridge_keeps_near_copies_from_large_opposite_weights(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 5;
    double a[ROWS][COLUMNS], largest[2] = {0};
    pelt_problem *p = random_problem(arena, &seed, a, true);
    for (int r = 0; r < ROWS; r++) a[r][3] += 1e-4 * (test_random(&seed) - 0.5);
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            p->columns[i * COLUMNS + j] = 0;
            for (int r = 0; r < ROWS; r++) p->columns[i * COLUMNS + j] += a[r][i] * a[r][j];
        }
    for (int k = 0; k < 2; k++) {
        pelt_weights w = {.count = 5, .joints = {0, 1, 2, 3, 7}};
        pelt_affine_weights(p, k ? 1e-3 : 0, 1e-9, &w);
        for (int i = 0; i < 5; i++) largest[k] = fmax(largest[k], fabs(w.weights[i]));
    }
    assert_true(largest[0] > 20 * largest[1]);
    assert_true(largest[1] < 2);
    pelt_arena_free(arena);
}

/* Each step must take the remaining column that yields the smallest error together with those already taken. */
static void greedy_takes_the_best_next_joint_each_time(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 6;
    double a[ROWS][COLUMNS], weights[COLUMNS], room[8 * COLUMNS];
    uint32_t near[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) near[i] = i;
    for (int round = 0; round < 30; round++) {
        pelt_problem *p = random_problem(arena, &seed, a, false);
        pelt_weights w;
        pelt_choose_greedy(p, near, COLUMNS, 5, 0, room, &w);
        assert_int_equal(w.count, 5);
        for (uint32_t step = 0; step < 5; step++) {
            uint32_t set[5], best = 0;
            double least = INFINITY;
            memcpy(set, w.joints, step * sizeof *set);
            for (uint32_t c = 0; c < COLUMNS; c++) {
                bool taken = false;
                for (uint32_t i = 0; i < step; i++) taken |= set[i] == c;
                set[step] = c;
                double error = taken ? INFINITY : reference(a, set, step + 1, 0, 1e-12, weights);
                if (error < least) least = error, best = c;
            }
            assert_int_equal(w.joints[step], best);
        }
    }
    pelt_arena_free(arena);
}

static void greedy_chooses_only_what_is_near(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 7;
    double a[ROWS][COLUMNS], room[8 * COLUMNS];
    const uint32_t near[3] = {2, 5, 8};
    pelt_problem *p = random_problem(arena, &seed, a, false);
    pelt_weights w;
    pelt_choose_greedy(p, near, 3, 5, 0, room, &w);
    assert_int_equal(w.count, 3);
    for (uint32_t i = 0; i < 3; i++) assert_true(w.joints[i] == 2 || w.joints[i] == 5 || w.joints[i] == 8);
    pelt_arena_free(arena);
}

/* A copy of a chosen joint brings nothing and must not be chosen. */
static void greedy_does_not_take_copies(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 8;
    double a[ROWS][COLUMNS], room[8 * COLUMNS];
    const uint32_t near[4] = {0, 1, 2, 3};
    pelt_problem *p = random_problem(arena, &seed, a, false);
    p->diagonal = 1e-10; /* as every real problem has */
    for (int i = 0; i < COLUMNS; i++) p->columns[3 * COLUMNS + i] = p->columns[i];
    for (int i = 0; i < COLUMNS; i++) p->columns[i * COLUMNS + 3] = p->columns[i * COLUMNS];
    p->columns[3 * COLUMNS + 3] = p->columns[0], p->columns[3 * COLUMNS] = p->columns[3] = p->columns[0];
    pelt_weights w;
    pelt_choose_greedy(p, near, 4, 3, 0, room, &w);
    assert_int_equal(w.count, 3);
    bool first = false, copy = false;
    for (uint32_t i = 0; i < 3; i++) first |= w.joints[i] == 0, copy |= w.joints[i] == 3;
    assert_false(first && copy);
    pelt_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diameters_are_those_of_brute_force),
        cmocka_unit_test(a_diameter_beyond_what_is_enough_is_told_as_such),
        cmocka_unit_test(the_most_rigid_joints_are_those_with_the_smallest_clouds),
        cmocka_unit_test(affine_weights_are_those_of_lapack),
        cmocka_unit_test(singular_values_below_the_cut_are_zeroed),
        cmocka_unit_test(weights_of_no_numbers_are_those_of_one_joint),
        cmocka_unit_test(a_ridge_keeps_near_copies_from_large_opposite_weights),
        cmocka_unit_test(greedy_takes_the_best_next_joint_each_time),
        cmocka_unit_test(greedy_chooses_only_what_is_near),
        cmocka_unit_test(greedy_does_not_take_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
