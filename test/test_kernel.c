/* test_kernel.c: the kernel corrective against brute force, its bound, and characters whose truth is known. */

#include "test/svd.h"
#include "test/corrected.h"
#include "fit/corrective/kernel.h"
#include "rig/linear.h"

enum { JOINTS = 4, VERTICES = 160, MOST = 192 };

/* The kernel corrective without learned features (test_features.c). */
static pelt_result fit_kernels(pelt_fitting *f, pelt_error *error) {
    f->options.kernel.family = PELT_FAMILY_KERNEL;
    return pelt_fit_kernel(f, error);
}

/* Bulges that grow with the angle, and products of neighbours. */
static void bulges(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double sizes[JOINTS];
        corrected_sizes(bundle, v, sizes);
        for (int j = 1; j < JOINTS; j++) {
            double alone = sizes[j] * (1 - cos(angles[j] * acos(-1) / 180));
            double together = j > 1 ? 4 * sizes[j] * sizes[j - 1] * angles[j] * angles[j - 1] / 8100 : 0;
            d[3 * v] += (0.6 * alone + 0.6 * together) * x[0];
            d[3 * v + 1] += 0.1 * sizes[j] * angles[j] / 90;
            d[3 * v + 2] += (0.9 * alone - 0.6 * together) * x[2];
        }
    }
}

static uint32_t examples(double angles[][JOINTS], uint32_t more) {
    return corrected_poses(JOINTS, 30, more, 5, angles[0]);
}

/* `more` poses of all joints, in addition to those of one. */
static corrected_parts make_parts(uint32_t vertices, uint32_t more) {
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, vertices);
    return corrected_parts_of(bundle, corrected_clip(bundle, "train", examples(angles, more), angles[0], bulges));
}

static pelt_kernel_inputs inputs_of(const corrected_parts *p) {
    return pelt_kernel_inputs_of(p->f.arena, &p->bundle->skeleton, &p->poses, &p->supports);
}

static float *room_for_tables(const corrected_parts *p, const pelt_kernel_inputs *inputs) {
    return PELT_NEW(p->f.arena, (size_t)p->poses.count * p->poses.count * inputs->count, float);
}

static float *tables_of(const corrected_parts *p, const pelt_kernel_inputs *inputs,
                        const pelt_kernel_settings *settings) {
    float *tables = room_for_tables(p, inputs);
    pelt_kernel_tables(p->f.arena, &p->poses, inputs, settings, 1, tables);
    return tables;
}

/* Of one point. */
static pelt_ridge ridge_of(const corrected_parts *p, const pelt_kernel_inputs *inputs, uint32_t point) {
    return pelt_ridge_of(p->f.arena, inputs, p->poses.count, 1, &point, &(double){1});
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

static void tables_hold_the_formula_of_rotation_matrices(void **state) {
    (void)state;
    corrected_parts p = make_parts(VERTICES, 40);
    pelt_kernel_inputs inputs = inputs_of(&p);
    pelt_kernel_settings settings = {.width = 1.3, .range = 1, .pair = 0.5, .lambda = 0.01};
    const float *tables = tables_of(&p, &inputs, &settings);
    size_t n = p.poses.count;
    assert_int_equal(inputs.count, JOINTS - 1);
    for (uint32_t g = 0; g < inputs.count; g++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++) {
                const float *x = p.poses.rotations + 4 * (a * JOINTS + inputs.joints[g]);
                const float *y = p.poses.rotations + 4 * (b * JOINTS + inputs.joints[g]);
                double wanted = corrected_kernel(x, y, pelt_kernel_scale(&inputs, &settings, g));
                assert_near(tables[(g * n + a) * n + b], wanted, 2e-6);
            }
    corrected_parts_free(&p);
}

/* -- Inputs -------------------------------------------------------------------------------------------------------- */

/* Four joints and a control in five examples. Joint 1 rotates by 20, 40, 60 degrees, joint 2 by half of that, joint 3
   independently; joint 0 rests. One mover has joints 1 and 2, the other joint 3, and no example moves that one
   alone. */
enum { HAND_JOINTS = 4, HAND_EXAMPLES = 5, HAND_POINTS = 6, HAND_MOVERS = 3 };

typedef struct by_hand {
    float rotations[4 * HAND_JOINTS * HAND_EXAMPLES], values[HAND_EXAMPLES];
    uint32_t members[3], mover_of[HAND_JOINTS];
    bool bent[HAND_JOINTS];
    pelt_mover movers[HAND_MOVERS];
    pelt_model_control control;
    int32_t above[HAND_JOINTS];
    float amplitudes[HAND_MOVERS * HAND_POINTS], peaks[HAND_MOVERS], carried[(HAND_MOVERS + 1) * HAND_POINTS];
    pelt_poses poses;
    pelt_supports supports;
    pelt_skeleton skeleton;
} by_hand;

static const double hand_angles[HAND_EXAMPLES][HAND_JOINTS] = {
    {0, 0, 0, 0}, {0, 20, 10, 0}, {0, 40, 20, 35}, {0, -60, -30, 5}, {0, 0, 0, -90}};

static by_hand *make_by_hand(void) {
    by_hand *h = calloc(1, sizeof *h);
    *h = (by_hand){.values = {0, 0.5f, -2, 1, 0},
                   .members = {1, 2, 3},
                   .mover_of = {PELT_NO_MOVER, 0, 0, 1},
                   .movers = {{.first = 0, .count = 2, .parent = PELT_NO_MOVER, .swept = true},
                              {.first = 2, .count = 1, .parent = 0},
                              {.first = 0, .count = 0, .parent = PELT_NO_MOVER}},
                   .control = {.scale = 0.5f},
                   .above = {-1, 0, 1, 2},
                   .peaks = {2, 0, 1},
                   .amplitudes = {2, 0.03f, 0.02f, 0.01f, 0, 0,   /* mover 0: more than a hundredth of 2 */
                                  0, 0, 0, 0, 0, 0,               /* mover 1 */
                                  0, 0, 0, 0.5f, 1, 0.01f},       /* the control: more than a hundredth of 1 */
                   .carried = {1, 1, 0.005f, 0.005f, 0,    0,     /* mover 0 */
                               0, 0, 0,      0.006f, 0.9f, 0.01f, /* mover 1: with the one above, more than 0.01 */
                               0, 0, 0,      0,      0,    0,     0, 0, 0, 0, 0, 0}};
    for (int i = 0; i < HAND_JOINTS * HAND_EXAMPLES; i++)
        memcpy(h->rotations + 4 * i, character_turn(0, 0, 1, hand_angles[i / HAND_JOINTS][i % HAND_JOINTS]).rotation,
               4 * sizeof(float));
    h->poses = (pelt_poses){.count = HAND_EXAMPLES,
                            .joint_count = HAND_JOINTS,
                            .rotations = h->rotations,
                            .control_count = 1,
                            .control_list = &h->control,
                            .controls = h->values,
                            .mover_count = HAND_MOVERS,
                            .movers = h->movers,
                            .members = h->members,
                            .mover_of = h->mover_of,
                            .bent = h->bent};
    h->supports = (pelt_supports){.mover_count = HAND_MOVERS,
                                  .point_count = HAND_POINTS,
                                  .amplitudes = h->amplitudes,
                                  .peaks = h->peaks,
                                  .noise = 1e-5f,
                                  .carried = h->carried};
    h->skeleton = (pelt_skeleton){.joint_count = HAND_JOINTS, .parents = h->above};
    return h;
}

/* Joint 3 follows joint 1, in bends: it is an input all the same, and drives what the mover drives. */
static void inputs_have_joints_that_follow_in_bends(void **state) {
    (void)state;
    by_hand *h = make_by_hand();
    pelt_arena *arena = pelt_arena_new(0);
    h->poses.mover_count = 1, h->poses.control_count = h->supports.mover_count = 0;
    h->mover_of[3] = 0;
    for (int bent = 0; bent < 2; bent++) {
        h->bent[3] = bent;
        pelt_kernel_inputs inputs = pelt_kernel_inputs_of(arena, &h->skeleton, &h->poses, &h->supports);
        assert_int_equal(inputs.count, 1 + bent);
        assert_int_equal(inputs.joints[0], 1);
        if (bent) assert_int_equal(inputs.joints[1], 3);
        for (int i = 0; i < HAND_POINTS * (1 + bent); i++)
            assert_int_equal(inputs.supports[i], h->amplitudes[i / (1 + bent)] > 0.02f);
    }
    pelt_arena_free(arena), free(h);
}

static double half_sine(double degrees) { return 4 * pow(sin(degrees * acos(-1) / 360), 2); } /* 3 - tr R */

static void inputs_leave_out_joints_that_repeat_others_and_end_with_controls(void **state) {
    (void)state;
    static const uint8_t drives[HAND_POINTS][3] = {{1, 1, 0}, {1, 1, 0}, {0, 0, 0}, {0, 1, 1}, {0, 1, 1}, {0, 0, 0}};
    by_hand *h = make_by_hand();
    pelt_arena *arena = pelt_arena_new(0);
    pelt_kernel_inputs inputs = pelt_kernel_inputs_of(arena, &h->skeleton, &h->poses, &h->supports);
    assert_int_equal(inputs.count, 3);
    assert_int_equal(inputs.control_count, 1);
    assert_int_equal(inputs.joints[0], 1); /* of 1 and 2 the one that turns most */
    assert_int_equal(inputs.joints[1], 3);
    assert_int_equal(inputs.joints[2], 0); /* the first control */
    assert_int_equal(inputs.parents[0], -1);
    assert_int_equal(inputs.parents[1], 0); /* past joint 2, which is none */
    assert_int_equal(inputs.parents[2], 1); /* joint 3 moves most of what the control moves */
    assert_near(inputs.ranges[0], half_sine(60), 1e-6);
    assert_near(inputs.ranges[1], half_sine(90), 1e-6);
    assert_near(inputs.ranges[2], 1, 1e-6); /* (-2 x 0.5)^2 */
    assert_near(inputs.median_range, 1, 1e-6);
    for (uint32_t i = 0; i < HAND_POINTS; i++)
        for (uint32_t g = 0; g < 3; g++) assert_int_equal(inputs.supports[i * 3 + g], drives[i][g]);
    for (uint32_t e = 0; e < HAND_EXAMPLES; e++) {
        assert_int_equal(inputs.moved[3 * e], hand_angles[e][1] != 0);
        assert_int_equal(inputs.moved[3 * e + 1], hand_angles[e][3] != 0);
        assert_int_equal(inputs.moved[3 * e + 2], h->values[e] != 0);
    }
    pelt_arena_free(arena);
    free(h);
}

static void tables_of_controls_and_widths_by_range_follow_the_formula(void **state) {
    (void)state;
    by_hand *h = make_by_hand();
    pelt_arena *arena = pelt_arena_new(0);
    pelt_kernel_inputs inputs = pelt_kernel_inputs_of(arena, &h->skeleton, &h->poses, &h->supports);
    pelt_kernel_settings settings = {.width = 1.5, .range = 1};
    float tables[3 * HAND_EXAMPLES * HAND_EXAMPLES];
    pelt_kernel_tables(arena, &h->poses, &inputs, &settings, 2, tables);
    double ranges[] = {half_sine(60), half_sine(90), 1}; /* the last one is the median */
    for (uint32_t g = 0; g < 3; g++) {
        double scale = 1 / (2 * 1.5 * 1.5 * ranges[g]);
        assert_near(pelt_kernel_scale(&inputs, &settings, g), scale, 1e-6);
        for (int a = 0; a < HAND_EXAMPLES; a++)
            for (int b = 0; b < HAND_EXAMPLES; b++) {
                int joint = g ? 3 : 1;
                double x = 0.5 * h->values[a], y = 0.5 * h->values[b];
                double aa = x * x, bb = y * y, ab = (x - y) * (x - y);
                if (g < 2)
                    aa = half_sine(hand_angles[a][joint]), bb = half_sine(hand_angles[b][joint]),
                    ab = half_sine(hand_angles[a][joint] - hand_angles[b][joint]);
                assert_near(tables[(g * HAND_EXAMPLES + a) * HAND_EXAMPLES + b],
                            exp(-ab * scale) - exp(-aa * scale) - exp(-bb * scale) + 1, 1e-6);
            }
    }
    settings.range = 0;
    for (uint32_t g = 0; g < 3; g++) assert_near(pelt_kernel_scale(&inputs, &settings, g), 1 / 4.5, 1e-12);
    inputs.ranges[0] = 0, settings.range = 1; /* a joint that hardly turns has a thousandth of the middle */
    assert_near(pelt_kernel_scale(&inputs, &settings, 0), 1000 / 4.5, 1e-3);
    inputs.median_range = 0;
    assert_near(pelt_kernel_scale(&inputs, &settings, 1), 1 / 4.5, 1e-12);
    pelt_arena_free(arena);
    free(h);
}

/* -- Regression ---------------------------------------------------------------------------------------------------- */

/* A chain of four inputs; three points that some of them drive; and a fourth input that drives next to nothing. */
static void units_are_joints_that_drive_points_and_pairs_up_to_two_above(void **state) {
    (void)state;
    int32_t above[] = {-1, 0, 1, 2};
    uint8_t supports[] = {1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1},
            moved[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};
    pelt_kernel_inputs inputs = {.count = 4, .parents = above, .supports = supports, .moved = moved};
    uint32_t points[] = {2, 0, 1};
    double weights[] = {0.004, 0.5, 0.496};
    static const pelt_kernel_unit wanted[] = {{0, 0, 0.5f}, {1, 1, 0.996f}, {1, 0, 0.5f},
                                              {2, 2, 1},    {2, 1, 0.996f}, {2, 0, 0.5f}};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_ridge ridge = pelt_ridge_of(arena, &inputs, 4, 3, points, weights);
    assert_int_equal(ridge.unit_count, 6);
    for (int u = 0; u < 6; u++) {
        assert_int_equal(ridge.units[u].first, wanted[u].first);
        assert_int_equal(ridge.units[u].second, wanted[u].second);
        assert_near(ridge.units[u].gain, wanted[u].gain, 1e-6);
    }
    assert_int_equal(ridge.example_count, 2); /* the third moves only the input that does not count */
    assert_int_equal(ridge.examples[0], 1);
    assert_int_equal(ridge.examples[1], 3);
    pelt_arena_free(arena);
}

/* A random positive definite matrix and its inverse. */
static void random_inverse(size_t n, uint64_t *seed, double *matrix, double *inverse) {
    double *a = calloc(n * n, sizeof *a), *factor = calloc(n * n, sizeof *factor);
    for (size_t i = 0; i < n * n; i++) a[i] = test_random(seed) - 0.5;
    pelt_gemm(false, true, n, n, n, 1, a, a, 0, matrix);
    for (size_t i = 0; i < n; i++) matrix[i * n + i] += 0.1;
    memcpy(factor, matrix, n * n * sizeof *factor);
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) inverse[i * n + i] = 1;
    assert_true(pelt_cholesky(n, factor));
    pelt_cholesky_solve(n, factor, n, inverse);
    free(a), free(factor);
}

static void a_fold_is_missed_as_by_a_fit_to_all_others(void **state) {
    (void)state;
    enum { N = 9, COLUMNS = 2, FOLD = 3, OTHERS = N - FOLD };
    double matrix[N * N], inverse[N * N], u[N * COLUMNS], product[N * COLUMNS], wanted = 0;
    uint32_t fold[FOLD] = {1, 4, 8}, others[OTHERS] = {0, 2, 3, 5, 6, 7};
    uint64_t seed = 13;
    pelt_arena *arena = pelt_arena_new(0);
    random_inverse(N, &seed, matrix, inverse);
    for (int i = 0; i < N * COLUMNS; i++) u[i] = test_random(&seed) - 0.5;
    pelt_gemm(false, false, N, COLUMNS, N, 1, inverse, u, 0, product);
    double small[OTHERS * OTHERS], right[OTHERS * COLUMNS];
    for (int i = 0; i < OTHERS * OTHERS; i++) small[i] = matrix[others[i / OTHERS] * N + others[i % OTHERS]];
    for (int i = 0; i < OTHERS * COLUMNS; i++) right[i] = u[others[i / COLUMNS] * COLUMNS + i % COLUMNS];
    assert_true(pelt_cholesky(OTHERS, small));
    pelt_cholesky_solve(OTHERS, small, COLUMNS, right);
    for (int f = 0; f < FOLD; f++)
        for (int c = 0; c < COLUMNS; c++) {
            double miss = u[fold[f] * COLUMNS + c];
            for (int i = 0; i < OTHERS; i++) miss -= matrix[fold[f] * N + others[i]] * right[i * COLUMNS + c];
            wanted += miss * miss;
        }
    assert_near(pelt_ridge_fold_error(arena, N, inverse, COLUMNS, product, FOLD, fold, NULL), wanted, 1e-9);
    assert_near(pelt_ridge_fold_error(arena, N, inverse, COLUMNS, product, 0, fold, NULL), 0, 0);
    pelt_arena_free(arena);
}

/* Rounding can destroy the definiteness of M: then the error is unknown, which must not look like a perfect setting. */
static void a_fold_that_cannot_be_solved_is_infinitely_wrong(void **state) {
    (void)state;
    double inverse[9] = {1, 2, 0, 2, 1, 0, 0, 0, 1}, product[3] = {1, 1, 1}; /* eigenvalues 3, -1, 1 */
    pelt_arena *arena = pelt_arena_new(0);
    assert_true(isinf(pelt_ridge_fold_error(arena, 3, inverse, 1, product, 2, (uint32_t[]){0, 1}, NULL)));
    assert_near(pelt_ridge_fold_error(arena, 3, inverse, 1, product, 2, (uint32_t[]){0, 2}, NULL), 2, 1e-12);
    pelt_arena_free(arena);
}

static void without_ridge_the_regression_interpolates(void **state) {
    (void)state;
    corrected_parts p = make_parts(VERTICES, 40);
    pelt_kernel_inputs inputs = inputs_of(&p);
    pelt_kernel_settings settings = {.width = 0.7, .range = 0, .pair = 0.5};
    memset(inputs.supports, 1, (size_t)p.u.point_count * inputs.count); /* or what others do would be left */
    const float *tables = tables_of(&p, &inputs, &settings);
    double before = INFINITY;
    for (double lambda = 1; lambda > 1e-6; lambda *= 0.01) {
        double worst = 0;
        for (uint32_t i = 0; i < p.u.point_count; i += 17) {
            pelt_ridge ridge = ridge_of(&p, &inputs, i);
            size_t n = ridge.example_count;
            const double *whole = pelt_ridge_matrix(p.f.arena, &ridge, tables, p.poses.count, settings.pair);
            double *k = calloc(n * n + 1, sizeof *k), *c = calloc(3 * n + 1, sizeof *c);
            memcpy(k, whole, n * n * sizeof *k);
            for (size_t a = 0; a < n; a++) {
                k[a * n + a] += lambda;
                for (size_t x = 0; x < 3; x++)
                    c[3 * a + x] = p.u.positions[3 * ((size_t)ridge.examples[a] * p.u.point_count + i) + x];
            }
            assert_true(!n || pelt_cholesky(n, k)); /* positive definite: the bound rests on it */
            if (n) pelt_cholesky_solve(n, k, 3, c);
            for (size_t a = 0; a < n; a++)
                for (size_t x = 0; x < 3; x++) {
                    double sum = -p.u.positions[3 * ((size_t)ridge.examples[a] * p.u.point_count + i) + x];
                    for (size_t b = 0; b < n; b++) sum += whole[a * n + b] * c[3 * b + x];
                    worst = fmax(worst, fabs(sum));
                }
            free(k), free(c);
        }
        assert_true(worst < before);
        before = worst;
    }
    assert_true(before < 1e-3);
    corrected_parts_free(&p);
}

static void with_all_centres_the_solution_is_that_of_the_whole_system(void **state) {
    (void)state;
    corrected_parts p = make_parts(VERTICES, 40);
    pelt_kernel_inputs inputs = inputs_of(&p);
    pelt_kernel_settings settings = {.width = 1, .range = 0, .pair = 0.5};
    const float *tables = tables_of(&p, &inputs, &settings);
    uint32_t point = 70, centers[MOST];
    pelt_ridge ridge = ridge_of(&p, &inputs, point);
    size_t n = ridge.example_count;
    const double *k = pelt_ridge_matrix(p.f.arena, &ridge, tables, p.poses.count, settings.pair);
    double *whole = calloc(n * n, sizeof *whole), *c = calloc(n, sizeof *c), a[MOST];
    for (double tolerance = 1e-9; tolerance < 0.1; tolerance *= 1e4) {
        pelt_ridge few = {ridge.unit_count, ridge.example_count, ridge.units, centers};
        memcpy(centers, ridge.examples, n * sizeof *centers);
        memcpy(whole, k, n * n * sizeof *k);
        for (size_t i = 0; i < n; i++) {
            a[i] = c[i] = p.u.positions[3 * ((size_t)ridge.examples[i] * p.u.point_count + point)];
            whole[i * n + i] += 0.01;
        }
        assert_true(pelt_cholesky(n, whole));
        pelt_cholesky_solve(n, whole, 1, c);
        assert_true(pelt_ridge_solve(p.f.arena, &few, k, 0.01, tolerance, 1, &(pelt_ridge_values){1, a}));
        double worst = 0, most = 0;
        for (size_t i = 0; i < n; i++) { /* compare predictions: coefficients of close examples may trade places */
            double x = 0, y = 0;
            for (size_t b = 0; b < n; b++) x += k[i * n + b] * c[b];
            for (size_t b = 0; b < few.example_count; b++) {
                size_t at = 0;
                while (ridge.examples[at] != few.examples[b]) at++;
                y += k[i * n + at] * a[b];
            }
            worst = fmax(worst, fabs(x - y)), most = fmax(most, fabs(x));
        }
        assert_true(worst < (tolerance < 1e-6 ? 1e-4 : 0.02) * most);
    }
    free(whole), free(c);
    corrected_parts_free(&p);
}

/* Cross-validation by brute force: refitting without the fold, for every point. */
static double brute_validation(const corrected_parts *p, const pelt_kernel_inputs *inputs,
                               const pelt_kernel_settings *s) {
    double left = 0, all = 0;
    int fold_of[MOST], next = 0, several = 0;
    for (uint32_t e = 0; e < p->poses.count; e++) several += p->poses.sweep_of[e] == PELT_NO_MOVER && !p->poses.rest[e];
    for (uint32_t e = 0; e < p->poses.count; e++) {
        bool left_out = !p->poses.rest[e] && (several < 10 || p->poses.sweep_of[e] == PELT_NO_MOVER);
        fold_of[e] = left_out ? next++ % 5 : -1;
    }
    for (uint32_t i = 0; i < p->u.point_count; i++)
        for (int fold = 0; fold < 5; fold++) {
            uint32_t in[MOST], n = 0;
            const uint8_t *support = inputs->supports + (size_t)i * inputs->count;
            for (uint32_t e = 0; e < p->poses.count; e++)
                if (fold_of[e] != fold && !p->poses.rest[e]) in[n++] = e;
            double *k = calloc((size_t)n * n, sizeof *k), *c = calloc(3 * (size_t)n, sizeof *c);
            double row[MOST];
            for (uint32_t a = 0; a < n + p->poses.count; a++) {
                uint32_t e = a < n ? in[a] : a - n;
                if (a >= n && fold_of[e] != fold) continue;
                for (uint32_t b = 0; b < n; b++) {
                    double single[JOINTS] = {0};
                    row[b] = 0;
                    for (uint32_t g = 0; g < inputs->count; g++)
                        if (support[g])
                            row[b] += single[g] =
                                corrected_kernel(p->poses.rotations + 4 * ((size_t)e * JOINTS + inputs->joints[g]),
                                                 p->poses.rotations + 4 * ((size_t)in[b] * JOINTS + inputs->joints[g]),
                                                 pelt_kernel_scale(inputs, s, g));
                    for (uint32_t g = 1; g < inputs->count; g++) /* a chain: above is one less, and two less */
                        row[b] += s->pair * single[g] * (single[g - 1] + (g > 1 ? single[g - 2] : 0));
                    if (a < n) k[(size_t)a * n + b] = row[b] + (a == b ? s->lambda : 0);
                }
                const float *u = p->u.positions + 3 * ((size_t)e * p->u.point_count + i);
                if (a < n) {
                    for (int x = 0; x < 3; x++) c[3 * a + x] = u[x];
                    if (a == n - 1) {
                        assert_true(pelt_cholesky(n, k));
                        pelt_cholesky_solve(n, k, 3, c);
                    }
                    continue;
                }
                for (int x = 0; x < 3; x++) {
                    double miss = u[x];
                    for (uint32_t b = 0; b < n; b++) miss -= row[b] * c[3 * b + x];
                    left += miss * miss, all += (double)u[x] * u[x];
                }
            }
            free(k), free(c);
        }
    return sqrt(left / all);
}

static void compare_validation(uint32_t more) {
    corrected_parts p = make_parts(40, more);
    pelt_kernel_inputs inputs = inputs_of(&p);
    uint64_t seed = 3;
    for (size_t i = 0; i < 3 * (size_t)p.u.point_count * p.poses.count; i++) /* so that some ridge is best */
        p.u.positions[i] += (float)(0.03 * (test_random(&seed) - 0.5));
    const pelt_kernel_settings start = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};
    pelt_kernel_settings settings = start;
    double left = pelt_kernel_validate(p.f.arena, &p.poses, &p.u, &inputs, 1, &settings);
    assert_near(left, brute_validation(&p, &inputs, &settings), 1e-3 * left + 1e-6);
    double factors[] = {0.5, 2};
    for (int k = 0; k < 2; k++) { /* the last walk was along lambda: no step from here helps */
        pelt_kernel_settings next = settings;
        next.lambda *= factors[k];
        assert_true(brute_validation(&p, &inputs, &next) > 0.9998 * left);
        next = start, next.range = k;
        assert_true(left < brute_validation(&p, &inputs, &next));
    }
    corrected_parts_free(&p);
}

/* Leaves out poses of several joints; if there are fewer than ten of them, all but the rest pose. */
static void validation_from_one_inverse_equals_refitting(void **state) {
    (void)state;
    compare_validation(40);
    compare_validation(9);
}

/* Two sweeps in between belong to no fold. Of one motion a fold gets twelfths; of several, whole ones. */
static void motions_are_left_out_as_a_whole(void **state) {
    (void)state;
    enum { COUNT = 43 };
    uint32_t motion[COUNT], sweeps[COUNT];
    bool rest[COUNT] = {true};
    int fold[COUNT];
    pelt_poses poses = {.count = COUNT, .rest = rest, .sweep_of = sweeps, .motion = motion};
    for (uint32_t e = 0; e < COUNT; e++) {
        sweeps[e] = e == 9 || e == 20 ? 0 : PELT_NO_MOVER;
        motion[e] = rest[e] || sweeps[e] == 0 ? 0 : 1;
    }
    assert_int_equal(pelt_deal_folds(&poses, fold), COUNT - 3);
    for (uint32_t e = 0, place = 0; e < COUNT; e++)
        assert_int_equal(fold[e], motion[e] ? (int)(place++ * 12 / 40 % 5) : -1);
    for (uint32_t e = 0; e < COUNT; e++) motion[e] = motion[e] && e < 37 ? 1 + e / 6 : 0;
    assert_int_equal(pelt_deal_folds(&poses, fold), COUNT - 3);
    for (uint32_t e = 0; e < COUNT; e++) {
        bool still = rest[e] || sweeps[e] == 0;
        assert_int_equal(fold[e], still ? -1 : motion[e] ? (int)(e / 6 % 5) : (int)((e - 37) % 5));
    }
}

/* The training error is that of the examples that take part. */
static void of_many_examples_those_that_take_part_tell_what_is_left(void **state) {
    (void)state;
    corrected_parts p = make_parts(40, 140);
    pelt_kernel_inputs inputs = inputs_of(&p);
    pelt_kernel_settings settings = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};
    double left = pelt_kernel_validate(p.f.arena, &p.poses, &p.u, &inputs, 1, &settings);
    assert_true(left > 0 && left < 0.1);
    assert_true(settings.missed > 0 && settings.missed < 1.2 * left);
    corrected_parts_free(&p);
}

/* -- Linear algebra ------------------------------------------------------------------------------------------------ */

/* A v = value v with A = M M^T, of few eigenvalues and of most; A = 2 M M^T - M M^T comes out of sums, too. */
static void leading_eigenvectors_belong_to_the_largest_values(void **state) {
    (void)state;
    enum { N = 40, INNER = 25 };
    double m[N * INNER], a[N * N] = {0}, across[INNER * N], copy[N * N], all[N], values[N], vectors[N * N];
    uint64_t seed = 5;
    for (int i = 0; i < N * INNER; i++) m[i] = test_random(&seed) - 0.3, across[i % INNER * N + i / INNER] = m[i];
    for (int i = 0; i < N * N; i++)
        for (int k = 0; k < INNER; k++) a[i] += m[i / N * INNER + k] * m[i % N * INNER + k];
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < N * N; i++) copy[i] = -a[i];
        pelt_syrk(transposed, N, INNER, 2, transposed ? across : m, 1, copy);
        double image[N * INNER], wanted[N * INNER] = {0};
        for (int i = 0; i < N * N; i++)
            if (i % N <= i / N) assert_near(copy[i], a[i], 1e-12);
        for (int i = 0; i < N * INNER; i++)
            for (int k = 0; k < N; k++) wanted[i] += a[i / INNER * N + k] * m[k * INNER + i % INNER];
        pelt_symm(N, INNER, 1, copy, m, image);
        for (int i = 0; i < N * INNER; i++) assert_near(image[i], wanted[i], 1e-10);
    }
    memcpy(copy, a, sizeof a);
    assert_true(pelt_eigen(N, copy, all));
    for (size_t count = 3; count < 21; count += 17) {
        memcpy(copy, a, sizeof a);
        assert_true(pelt_eigen_leading(N, copy, count, values, vectors));
        for (size_t k = 0; k < count; k++) {
            double length = 0;
            assert_near(values[k], all[N - 1 - k], 1e-10);
            for (int i = 0; i < N; i++) {
                double product = 0;
                for (int j = 0; j < N; j++) product += a[i * N + j] * vectors[k * N + j];
                assert_near(product, values[k] * vectors[k * N + i], 1e-9);
                length += vectors[k * N + i] * vectors[k * N + i];
            }
            assert_near(length, 1, 1e-12);
        }
    }
}

/* -- Clusters ------------------------------------------------------------------------------------------------------ */

/* Two halves of a cloud, each with its own shape times its own signal. */
static void find_planted_clusters(uint32_t examples) {
    enum { POINTS = 120 };
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t same[POINTS];
    for (uint32_t i = 0; i < POINTS; i++) same[i] = i;
    pelt_example_displacements u = {.example_count = examples,
                                    .vertex_count = POINTS,
                                    .point_count = POINTS,
                                    .vertex_of = same,
                                    .positions = PELT_NEW(arena, 3 * POINTS * examples, float)};
    float *places = PELT_NEW(arena, 3 * POINTS, float);
    uint64_t seed = 7;
    double shape[3 * POINTS];
    for (int i = 0; i < 3 * POINTS; i++) shape[i] = test_random(&seed) - 0.5, places[i] = (float)test_random(&seed);
    for (uint32_t e = 0; e < examples; e++) {
        double signals[2] = {test_random(&seed) - 0.5, test_random(&seed) - 0.5};
        for (uint32_t i = 0; i < POINTS; i++)
            for (uint32_t c = 0; c < 3; c++)
                u.positions[3 * (e * POINTS + i) + c] = (float)(shape[3 * i + c] * signals[i % 2]);
    }
    pelt_mesh mesh = {.vertex_count = POINTS};
    pelt_clusters clusters = pelt_cluster(arena, &u, &mesh, places, 2, 1, 1);
    for (uint32_t q = 0; q < 2; q++)
        for (uint32_t m = clusters.first[q]; m < clusters.first[q + 1]; m++)
            assert_int_equal(clusters.points[m] % 2, clusters.points[clusters.first[q]] % 2);
    for (uint32_t q = 0; q < 2; q++) { /* orthonormal, and along the planted shape */
        double dot = 0, length = 0, norm = 0;
        uint32_t count = clusters.first[q + 1] - clusters.first[q];
        assert_int_equal(clusters.ranks[q], 1);
        for (uint32_t m = 0; m < count; m++)
            for (uint32_t c = 0; c < 3; c++) {
                double x = clusters.shapes[q][3 * m + c], y = shape[3 * clusters.points[clusters.first[q] + m] + c];
                dot += x * y, length += x * x, norm += y * y;
            }
        assert_near(length, 1, 1e-9);
        assert_near(fabs(dot), sqrt(norm), 1e-5);
    }
    pelt_arena_free(arena);
}

/* Of 600 examples rounds see sums. */
static void planted_clusters_are_found(void **state) {
    (void)state;
    find_planted_clusters(30);
    find_planted_clusters(600);
}

/* A tube cut in two at half its height: rings of edges are rings of the tube. */
static void clusters_overlap_by_rings_with_weights_that_sum_to_one(void **state) {
    (void)state;
    enum { SIDES = 8, RINGS = 20, POINTS = SIDES * RINGS };
    pelt_bundle *bundle = character_chain(JOINTS, POINTS);
    pelt_example_displacements u = {.vertex_count = POINTS, .point_count = POINTS};
    uint32_t first[] = {0, POINTS / 2, POINTS}, points[POINTS];
    u.point_of = points;
    for (uint32_t i = 0; i < POINTS; i++) points[i] = i;
    pelt_clusters grown = {.count = 2, .first = first, .points = points};
    pelt_overlap_clusters(bundle->arena, &bundle->mesh, &u, 3, 1.5, &grown);
    assert_int_equal(grown.first[2], POINTS + 2 * 3 * SIDES); /* three rings of the other half in both */
    double sums[POINTS] = {0};
    for (uint32_t q = 0; q < 2; q++)
        for (uint32_t m = grown.first[q]; m < grown.first[q + 1]; m++) {
            int ring = (int)grown.points[m] / SIDES, depth = q ? RINGS / 2 - 1 - ring : ring - RINGS / 2;
            double own = 1, other = 1 - (depth + 1) / 4.0; /* of a foreign point, `depth` rings past the border */
            if (depth >= 0) assert_near(grown.weights[m], other / (own + other), 1e-6);
            sums[grown.points[m]] += grown.weights[m];
        }
    for (uint32_t i = 0; i < POINTS; i++) assert_near(sums[i], 1, 1e-6);
    pelt_clusters apart = {.count = 2, .first = first, .points = points};
    pelt_overlap_clusters(bundle->arena, &bundle->mesh, &u, 3, 1.05, &apart);
    assert_int_equal(apart.first[2], POINTS); /* no room for even one ring */
    for (uint32_t i = 0; i < POINTS; i++) assert_near(apart.weights[i], 1, 0);
    character_free(bundle);
}

/* The shapes of a cluster are its principal components, and the budget goes to the components that explain most per
   point, across clusters: one has fewer rows than examples, the other more. */
static void components_are_those_of_lapack_and_the_budget_goes_to_the_best(void **state) {
    (void)state;
    enum { POINTS = 8, EXAMPLES = 10, CLUSTERS = 2 };
    uint32_t same[POINTS], first[] = {0, 2, POINTS};
    float moved[3 * POINTS * EXAMPLES], weights[POINTS];
    uint64_t seed = 23;
    for (uint32_t i = 0; i < POINTS; i++) same[i] = i, weights[i] = 1;
    for (int i = 0; i < 3 * POINTS * EXAMPLES; i++) moved[i] = (float)(test_random(&seed) - 0.5) * (i % 24 < 6 ? 2 : 1);
    pelt_example_displacements u = {EXAMPLES, POINTS, POINTS, same, same, moved};
    pelt_clusters clusters = {.count = CLUSTERS, .first = first, .points = same, .weights = weights};
    for (double budget = 0.5; budget < 12; budget += 1.25) {
        pelt_arena *arena = pelt_arena_new(0);
        pelt_clusters out = pelt_cluster_tilts(arena, &u, &clusters, &u, budget, 2);
        double squares[CLUSTERS][3 * POINTS], left = budget * POINTS;
        uint32_t ranks[CLUSTERS] = {0};
        for (uint32_t q = 0; q < CLUSTERS; q++) {
            size_t rows = 3 * (first[q + 1] - first[q]), n = rows < EXAMPLES ? rows : EXAMPLES;
            double *m = calloc(rows * EXAMPLES, sizeof *m), *a = calloc(rows * EXAMPLES, sizeof *a);
            double *left_vectors = calloc(rows * n, sizeof *m), *vt = calloc(n * EXAMPLES, sizeof *vt), sum = 0;
            for (size_t r = 0; r < rows; r++)
                for (size_t e = 0; e < EXAMPLES; e++) m[r * EXAMPLES + e] = moved[24 * e + 3 * first[q] + r];
            memcpy(a, m, rows * EXAMPLES * sizeof *a);
            assert_true(test_svd(rows, EXAMPLES, a, left_vectors, squares[q], vt));
            for (size_t k = 0; k < n; k++) squares[q][k] *= squares[q][k], sum += squares[q][k];
            for (size_t k = n; k < 3 * POINTS; k++) squares[q][k] = 0;
            for (uint32_t k = 0; k < out.ranks[q]; k++) {
                double dot = 0;
                for (size_t r = 0; r < rows; r++) dot += out.shapes[q][k * rows + r] * left_vectors[r * n + k];
                assert_near(fabs(dot), 1, 1e-6);
            }
            free(m), free(a), free(left_vectors), free(vt);
        }
        for (;;) {
            int best = -1;
            for (int q = 0; q < CLUSTERS; q++) {
                double count = first[q + 1] - first[q];
                if (count <= left && squares[q][ranks[q]] > 1e-9 &&
                    (best < 0 ||
                     squares[q][ranks[q]] / count > squares[best][ranks[best]] / (first[best + 1] - first[best])))
                    best = q;
            }
            if (best < 0) break;
            left -= first[best + 1] - first[best], ranks[best]++;
        }
        for (int q = 0; q < CLUSTERS; q++) assert_int_equal(out.ranks[q], ranks[q]);
        pelt_arena_free(arena);
    }
}

/* Six locations with points of two kinds each, each kind with its own shape and signal. Rounds may end in another
   optimum; from this seed they find the planted one. */
static void kinds_of_points_are_told_apart_at_every_place(void **state) {
    (void)state;
    enum { PLACES = 6, EACH = 20, POINTS = PLACES * EACH, KINDS = 2 * PLACES, EXAMPLES = 40 };
    static float moved[3 * POINTS * EXAMPLES], places[3 * POINTS];
    uint32_t same[POINTS], label[POINTS];
    double shape[3 * POINTS], signal[KINDS];
    uint64_t seed = 36;
    for (uint32_t i = 0; i < POINTS; i++) same[i] = i;
    for (int i = 0; i < 3 * POINTS; i++)
        shape[i] = test_random(&seed) - 0.5,
        places[i] = (float)(test_random(&seed) + (i % 3 ? 0 : 10 * (i / 3 / EACH)));
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        for (int k = 0; k < KINDS; k++) signal[k] = test_random(&seed) - 0.5;
        for (uint32_t i = 0; i < 3 * POINTS; i++)
            moved[3 * POINTS * e + i] = (float)(signal[2 * (i / 3 / EACH) + i / 3 % 2] * shape[i]);
    }
    pelt_example_displacements u = {EXAMPLES, POINTS, POINTS, same, same, moved};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_clusters out = pelt_cluster(arena, &u, &(pelt_mesh){.vertex_count = POINTS}, places, KINDS, 1, 2);
    assert_int_equal(out.first[KINDS], POINTS);
    for (uint32_t q = 0; q < KINDS; q++)
        for (uint32_t m = out.first[q]; m < out.first[q + 1]; m++) label[out.points[m]] = q;
    for (uint32_t i = 0; i < POINTS; i++)
        for (uint32_t k = 0; k < POINTS; k++)
            assert_int_equal(label[i] == label[k], i / EACH == k / EACH && i % 2 == k % 2);
    pelt_arena_free(arena);
}

static void the_budget_is_the_mean_over_all_vertices(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    for (uint32_t n = 1; n <= 9; n += 4) {
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        f.options.kernel.per_vertex = n;
        assert_int_equal(fit_kernels(&f, &error), PELT_OK);
        assert_true(f.model.corrective->displacements->first[VERTICES] <= n * VERTICES);
        pelt_arena_free(f.arena);
    }
    character_free(bundle);
}

/* -- Regions ------------------------------------------------------------------------------------------------------- */

/* The joint that moves a vertex of a chain most: the upper of its two from half of the weight on. */
static uint32_t region_of(const pelt_bundle *bundle, uint32_t v) {
    const pelt_influences *in = &bundle->mesh.influences;
    return in->joints[2 * (size_t)v + (in->weights[2 * (size_t)v + 1] > in->weights[2 * (size_t)v])];
}

/* Bulges that are 40 times smaller at the end of the chain. */
static void uneven(const pelt_bundle *bundle, const double *angles, double *d) {
    bulges(bundle, angles, d);
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (int c = 0; c < 3 && region_of(bundle, v) == JOINTS - 1; c++) d[3 * v + c] /= 40;
}

static void displacements_are_balanced_by_the_root_mean_square_of_their_region(void **state) {
    (void)state;
    double angles[MOST][JOINTS], energies[JOINTS] = {0}, all = 0, scales[JOINTS];
    uint32_t count = examples(angles, 20), vertices[JOINTS] = {0};
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    corrected_parts p = corrected_parts_of(bundle, corrected_clip(bundle, "train", count, angles[0], uneven));
    const pelt_influences *in = &bundle->mesh.influences;
    pelt_example_displacements balanced = p.u;
    size_t size = 3 * (size_t)count * p.u.point_count;
    balanced.positions = malloc(size * sizeof *balanced.positions);
    memcpy(balanced.positions, p.u.positions, size * sizeof *balanced.positions);
    assert_int_equal(p.u.point_count, VERTICES);
    for (uint32_t v = 0; v < VERTICES; v++, vertices[region_of(bundle, v - 1)]++)
        for (uint32_t e = 0; e < count; e++)
            for (int c = 0; c < 3; c++) {
                double x = pelt_displacement(&p.u, e, p.u.point_of[v])[c];
                energies[region_of(bundle, v)] += x * x, all += x * x / VERTICES;
            }
    for (int j = 0; j < JOINTS; j++) scales[j] = pow(all / (energies[j] / vertices[j]), 0.7 / 2);
    assert_true(scales[JOINTS - 1] > 4 && scales[JOINTS - 1] < 32);
    pelt_balance_regions(&p.f, 0.7, &balanced);
    for (uint32_t v = 0; v < VERTICES; v++) {
        double wanted = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) wanted += in->weights[i] * scales[in->joints[i]];
        assert_near(balanced.scales[p.u.point_of[v]], wanted, 1e-4 * wanted);
        for (uint32_t e = 0; e < count; e++)
            for (int c = 0; c < 3; c++) {
                double x = pelt_displacement(&p.u, e, p.u.point_of[v])[c];
                assert_near(pelt_displacement(&balanced, e, p.u.point_of[v])[c], wanted * x, 1e-4 * fabs(wanted * x));
            }
    }
    free(balanced.positions), corrected_parts_free(&p);
}

/* With one displacement per vertex something must be left; whose error that is depends on the balance. */
static void a_small_region_is_not_sacrificed_to_large_ones(void **state) {
    (void)state;
    double angles[MOST][JOINTS], missed[2], others[2];
    uint32_t count = examples(angles, 40);
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], uneven);
    for (int balanced = 0; balanced < 2; balanced++) {
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        double left[2] = {0}, none[2] = {0};
        f.options.kernel.per_vertex = 1, f.options.kernel.balance = balanced ? 1 : -1;
        assert_int_equal(fit_kernels(&f, &error), PELT_OK);
        for (uint32_t e = 0; e < count; e++) {
            double truth[3 * VERTICES] = {0}, made[3 * VERTICES] = {0};
            pelt_transform locals[JOINTS];
            for (uint32_t j = 0; j < JOINTS; j++) {
                locals[j] = bundle->skeleton.rest[j];
                memcpy(locals[j].rotation, character_turn(0, 0, 1, angles[e][j]).rotation, sizeof locals[j].rotation);
            }
            uneven(bundle, angles[e], truth);
            assert_true(
                pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, VERTICES, made, NULL));
            for (size_t i = 0; i < 3 * VERTICES; i++) {
                int small = region_of(bundle, (uint32_t)(i / 3)) == JOINTS - 1;
                left[small] += pow(made[i] - truth[i], 2), none[small] += truth[i] * truth[i];
            }
        }
        missed[balanced] = sqrt(left[1] / none[1]), others[balanced] = sqrt(left[0] / none[0]);
        pelt_arena_free(f.arena);
    }
    assert_true(missed[1] < 0.6 * missed[0]);
    assert_true(others[1] < 2 * others[0]); /* scaled back: the large ones are still right */
    character_free(bundle);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static void the_truth_is_learned_and_the_rest_pose_kept(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 80), angles[0], bulges);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    assert_int_equal(fit_kernels(&f, &error), PELT_OK);
    assert_true(corrected_error(&f, (double[JOINTS]){0}, bulges) < 1e-6);
    uint64_t seed = 77;
    for (int i = 0; i < 50; i++) {
        double pose[JOINTS] = {0}, nothing = 0;
        double truth[3 * VERTICES] = {0};
        for (int j = 1; j < JOINTS; j++) pose[j] = 100 * (test_random(&seed) - 0.5);
        bulges(bundle, pose, truth);
        for (int k = 0; k < 3 * VERTICES; k++) nothing = fmax(nothing, fabs(truth[k]));
        assert_true(corrected_error(&f, pose, bulges) < 0.1 * nothing + 0.005);
    }
    pelt_arena_free(f.arena);
    character_free(bundle);
}

/* Without triangles clusters do not overlap and vectors are the shapes U, orthonormal. Then the coefficients c of every
   cluster, with the kernel that its group shares, solve min |a - K_nm c|^2 + lambda c^T K_mm c with a = U^T u, the
   centres m span the examples n to within a tenth of lambda, and gains are parts of the energy: checked on the model's
   data. */
static void coefficients_of_a_cluster_solve_its_normal_equations(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    bundle->mesh.triangle_count = 0;
    uint32_t count = examples(angles, 40);
    corrected_parts p = corrected_parts_of(bundle, corrected_clip(bundle, "train", count, angles[0], bulges));
    pelt_error error = {0};
    p.f.options.normals = PELT_NORMALS_BLEND;
    p.f.options.kernel.balance = -1; /* vectors are then orthonormal */
    assert_int_equal(fit_kernels(&p.f, &error), PELT_OK);
    const pelt_kernel *k = p.f.model.corrective->kernel;
    const pelt_displacements *d = p.f.model.corrective->displacements;
    double lambda = p.f.report.kernel->lambda;
    uint32_t coefficient = 0, checked = 0;
    assert_true(p.f.report.kernel->clusters > k->group_count && k->group_count > 1); /* some clusters share */
    assert_int_equal(p.f.report.kernel->joints, JOINTS - 1);
    for (uint32_t q = 0; q < k->group_count; q++) {
        const pelt_kernel_group *group = &k->groups[q];
        size_t n = count, m = group->center_count, ranks = group->coefficient_count, checks = ranks;
        double *across = calloc(n * m, sizeof *across), *a = calloc(n, sizeof *a), *square = calloc(m * m, sizeof *a);
        for (size_t e = 0; e < n + m; e++) { /* rows of examples, then of centres */
            float pose[4 * JOINTS];
            if (e < n)
                corrected_joints(k, p.poses.rotations + 4 * e * JOINTS, pose);
            else
                memcpy(pose, corrected_center(k, group, e - n), 4 * k->joint_count * sizeof *pose);
            for (size_t b = 0; b < m; b++)
                *(e < n ? &across[e * m + b] : &square[(e - n) * m + b]) =
                    corrected_group_kernel(k, group, pose, corrected_center(k, group, b));
        }
        for (uint32_t r = 0; r < checks; r++) {
            double size = 0, length = 0;
            for (size_t e = 0; e < n; e++) {
                a[e] = length = 0;
                for (uint32_t v = 0; v < VERTICES; v++)
                    for (uint32_t i = d->first[v]; i < d->first[v + 1]; i++)
                        for (uint32_t c = 0; c < 3 && d->coefficients[i] == coefficient + r; c++)
                            a[e] +=
                                d->vectors[3 * i + c] * p.u.positions[3 * (e * p.u.point_count + p.u.point_of[v]) + c],
                                length += d->vectors[3 * i + c] * d->vectors[3 * i + c];
            }
            assert_near(length, 1, 1e-3);
            for (size_t b = 0; b < m; b++) {
                double gradient = 0;
                for (size_t e = 0; e < n; e++) {
                    double miss = -a[e];
                    for (size_t l = 0; l < m; l++) miss += across[e * m + l] * group->matrix[l * ranks + r];
                    gradient += across[e * m + b] * miss, size += fabs(across[e * m + b] * a[e]);
                }
                for (size_t l = 0; l < m; l++) gradient += lambda * square[b * m + l] * group->matrix[l * ranks + r];
                assert_near(gradient, 0, 1e-3 * size / (double)(b + 1) + 1e-5);
                checked++;
            }
        }
        coefficient += group->coefficient_count;
        free(across), free(a), free(square);
    }
    assert_true(checked > 100);
    corrected_parts_free(&p);
}

static void what_cannot_be_fitted_is_refused_with_advice(void **state) {
    (void)state;
    double angles[2][JOINTS] = {0};
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", 2, angles[0], bulges));
    pelt_error error = {0};
    pelt_example *many = PELT_NEW(f.arena, 1001, pelt_example);
    assert_int_equal(fit_kernels(&f, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "no joint turns"));
    for (int e = 0; e < 1001; e++) many[e] = f.examples.list[e % 2];
    f.options.corrective = PELT_CORRECTIVE_KERNEL, f.examples = (pelt_examples){1001, many};
    assert_int_equal(fit_kernels(&f, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "1001 examples are more than the 1000"));
    pelt_arena_free(f.arena);
    character_free(bundle);
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

/* How far the tube is stretched along x when its root is rotated. */
static double stretch_of(double angle) { return 1 + 0.6 * (1 - cos(angle * acos(-1) / 180)); }

static void stretch(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        d[3 * v] = (stretch_of(angles[0]) - 1) * bundle->mesh.positions[3 * v];
}

/* Sums of squares over all vertices of the normals' errors when the root is rotated: with the corrective, [0], and
   without, [1]. The root rotates all vertices together, so the blend keeps normals as they are at rest; those of the
   stretched surface are (n_x / stretch, n_y, n_z), normalised. */
static void add_misses(const pelt_fitting *f, double angle, double misses[2]) {
    uint32_t n = f->model.vertex_count;
    double *d = calloc(6 * (size_t)n, sizeof *d), *turns = d + 3 * (size_t)n;
    pelt_transform locals[JOINTS];
    memcpy(locals, f->bundle->skeleton.rest, sizeof locals);
    memcpy(locals[0].rotation, character_turn(0, 0, 1, angle).rotation, sizeof locals[0].rotation);
    assert_true(pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, NULL, n, d, turns));
    for (uint32_t v = 0; v < n; v++) {
        const float *rest = f->model.normals + 3 * (size_t)v;
        double truth[3] = {rest[0] / stretch_of(angle), rest[1], rest[2]}, fitted[3], length = 0, own = 0;
        for (uint32_t c = 0; c < 3; c++) {
            fitted[c] = rest[c] + turns[3 * v + c];
            length += truth[c] * truth[c], own += fitted[c] * fitted[c];
        }
        for (uint32_t c = 0; c < 3; c++) {
            misses[0] += pow(fitted[c] / sqrt(own) - truth[c] / sqrt(length), 2);
            misses[1] += pow(rest[c] - truth[c] / sqrt(length), 2);
        }
    }
    free(d);
}

/* Stretched, and turned with the root. */
static void true_normal(const pelt_mesh *mesh, uint32_t v, double angle, float out[3]) {
    const float *n = mesh->normals + 3 * (size_t)v;
    double x = n[0] / stretch_of(angle), c = cos(angle * acos(-1) / 180), s = sin(angle * acos(-1) / 180);
    double length = sqrt(x * x + n[1] * n[1] + n[2] * n[2]);
    out[0] = (float)((c * x - s * n[1]) / length), out[1] = (float)((s * x + c * n[1]) / length);
    out[2] = (float)(n[2] / length);
}

static void normals_of_a_stretched_tube_follow_the_closed_form(void **state) {
    (void)state;
    double angles[25][JOINTS] = {{0}}, misses[2] = {0};
    for (int e = 0; e < 25; e++) angles[e][0] = 5 * (e - 12);
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_mesh *mesh = &bundle->mesh;
    pelt_mesh_normals(mesh->positions, VERTICES, mesh->triangles, mesh->triangle_count, mesh->normals);
    pelt_clip *clip = corrected_clip(bundle, "train", 25, angles[0], stretch);
    float *normals = PELT_NEW(bundle->arena, 25 * 3 * VERTICES, float);
    for (uint32_t i = 0; i < 25 * VERTICES; i++)
        true_normal(mesh, i % VERTICES, angles[i / VERTICES][0], normals + 3 * i);
    clip->normals = normals; /* the examples bring their own */
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    if (fit_kernels(&f, &error)) fail_msg("%s", error.text);
    for (double angle = -57.5; angle < 60; angle += 5) add_misses(&f, angle, misses); /* between the examples */
    assert_true(sqrt(misses[0]) < 0.02 * sqrt(misses[1]));
    pelt_arena_free(f.arena);
    character_free(bundle);
}

static void displacements_have_the_same_bits_with_normals_of_the_blend(void **state) {
    (void)state;
    double angles[MOST][JOINTS], *d[2];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    for (int plain = 0; plain < 2; plain++) {
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        f.options.normals = plain ? PELT_NORMALS_BLEND : PELT_NORMALS_ROWS;
        assert_int_equal(fit_kernels(&f, &error), PELT_OK);
        assert_true((f.model.corrective->tilts == NULL) == plain);
        d[plain] = calloc(3 * VERTICES * clip->frame_count, sizeof **d);
        for (uint32_t e = 0; e < clip->frame_count; e++) {
            pelt_transform locals[JOINTS];
            pelt_clip_pose(clip, &bundle->skeleton, e, locals);
            assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, VERTICES,
                                             d[plain] + 3 * VERTICES * (size_t)e, NULL));
        }
        pelt_arena_free(f.arena);
    }
    assert_memory_equal(d[0], d[1], 3 * VERTICES * clip->frame_count * sizeof **d);
    free(d[0]), free(d[1]);
    character_free(bundle);
}

/* Vertices 1 and 3 are one point in two clusters; their normals turn independently. With as many vectors as there are
   turns, shapes times coordinates reproduce the turns, and the weights of each vertex sum to 1. */
static void the_sides_of_a_seam_turn_apart_in_every_cluster_of_their_point(void **state) {
    (void)state;
    enum { CORNERS = 5, NUMBERS = 3 * CORNERS, EXAMPLES = 7, WAYS = 2 };
    uint32_t point_of[] = {0, 1, 2, 1, 3}, same[] = {0, 1, 2, 3, 4}, first[] = {0, 2, 5}, points[] = {0, 1, 1, 2, 3};
    float weights[] = {1, 0.25F, 0.75F, 1, 1}, turned[NUMBERS * EXAMPLES] = {0};
    double ways[WAYS][NUMBERS], sums[CORNERS] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < WAYS * NUMBERS; i++) ways[i / NUMBERS][i % NUMBERS] = test_random(&seed) - 0.5;
    for (int e = 0; e < EXAMPLES; e++)
        for (int w = 0; w < WAYS; w++) {
            double much = test_random(&seed) - 0.5;
            for (int i = 0; i < NUMBERS; i++) turned[e * NUMBERS + i] += (float)(much * ways[w][i]);
        }
    pelt_example_displacements u = {.vertex_count = CORNERS, .point_count = 4, .point_of = point_of};
    pelt_example_displacements turns = {EXAMPLES, CORNERS, CORNERS, same, same, turned};
    pelt_clusters clusters = {.count = 2, .first = first, .points = points, .weights = weights};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_clusters out = pelt_cluster_tilts(arena, &u, &clusters, &turns, 4, 1);
    for (uint32_t q = 0; q < 2; q++) {
        uint32_t count = out.first[q + 1] - out.first[q], *list = out.points + out.first[q];
        assert_int_equal(count, q ? 4 : 3);
        assert_int_equal(out.ranks[q], WAYS);
        for (uint32_t m = 0; m < count; m++) sums[list[m]] += out.weights[out.first[q] + m];
        for (uint32_t e = 0; e < EXAMPLES; e++)
            for (uint32_t i = 0; i < 3 * count; i++) {
                double sum = 0;
                for (uint32_t r = 0; r < WAYS; r++)
                    for (uint32_t k = 0; k < 3 * count; k++)
                        sum += out.shapes[q][r * 3 * count + i] * out.shapes[q][r * 3 * count + k] *
                               turned[e * NUMBERS + 3 * list[k / 3] + k % 3];
                assert_near(sum, turned[e * NUMBERS + 3 * list[i / 3] + i % 3], 1e-6);
            }
    }
    for (uint32_t v = 0; v < CORNERS; v++) assert_near(sums[v], 1, 0);
    pelt_arena_free(arena);
}

/* -- Bounds and bytes ---------------------------------------------------------------------------------------------- */

/* |a(p)|^2 <= K(p, p) c^T K c, with K(p, p) < sum of gains x 2 for joints, x 4 for pairs. */
static double coefficient_bound(const pelt_kernel *k, const pelt_kernel_group *group, uint32_t coefficient) {
    double most = 0;
    for (uint32_t u = 0; u < group->unit_count; u++) {
        const pelt_kernel_unit *unit = &k->units[group->units[u]];
        most += unit->gain * (unit->first == unit->second ? 2 : 4);
    }
    return sqrt(most * fmax(corrected_kernel_norm(k, group, coefficient), 0));
}

static void coefficients_stay_within_the_bound_in_any_pose(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    assert_int_equal(fit_kernels(&f, &error), PELT_OK);
    const pelt_kernel *k = f.model.corrective->kernel;
    uint32_t count = pelt_corrective_coefficient_count(f.model.corrective), at = 0;
    double *bounds = calloc(count, sizeof *bounds), *a = calloc(count, sizeof *a);
    for (uint32_t q = 0; q < k->group_count; q++)
        for (uint32_t c = 0; c < k->groups[q].coefficient_count; c++)
            bounds[at++] = coefficient_bound(k, &k->groups[q], c);
    uint64_t seed = 11;
    float translations[3 * JOINTS] = {0};
    for (int i = 0; i < 5000; i++) {
        float rotations[4 * JOINTS];
        for (int j = 0; j < JOINTS; j++) {
            double q[4], length = 0;
            for (int x = 0; x < 4; x++) q[x] = test_random(&seed) - 0.5, length += q[x] * q[x];
            for (int x = 0; x < 4; x++) rotations[4 * j + x] = (float)(q[x] / sqrt(length));
        }
        pelt_corrective_coefficients(f.model.corrective, &(pelt_pose_state){rotations, translations, NULL}, a);
        for (uint32_t c = 0; c < count; c++) assert_true(fabs(a[c]) <= bounds[c] * 1.001 + 1e-6);
    }
    free(bounds), free(a);
    pelt_arena_free(f.arena);
    character_free(bundle);
}

static void one_thread_and_two_give_the_same_bytes(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    corrected_same_bytes(bundle, clip,
                         (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_KERNEL});
    character_free(bundle);
}

/* -- Any set of poses ---------------------------------------------------------------------------------------------- */

static double worst_in_training(uint32_t count, const double *angles) {
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", count, angles, bulges));
    pelt_error error = {0};
    double worst = 0;
    if (fit_kernels(&f, &error)) fail_msg("%s", error.text);
    for (uint32_t e = 0; e < count; e++) worst = fmax(worst, corrected_error(&f, angles + (size_t)e * JOINTS, bulges));
    pelt_arena_free(f.arena);
    character_free(bundle);
    return worst;
}

static void joints_need_not_move_alone_nor_rest_nor_stay_below_half_a_turn(void **state) {
    (void)state;
    double angles[60][JOINTS];
    uint64_t seed = 21;
    for (int e = 0; e < 60; e++)
        for (int j = 0; j < JOINTS; j++) angles[e][j] = j ? 80 * (test_random(&seed) - 0.5) : 0;
    assert_true(worst_in_training(60, angles[0]) < 0.05);
    for (int e = 0; e < 60; e++) angles[e][2] = 5.0 * e;
    assert_true(isfinite(worst_in_training(60, angles[0])));
}

/* -- Real characters ----------------------------------------------------------------------------------------------- */

static void unseen_poses_of_a_hand(void **state) {
    (void)state;
    test_only_at_full_speed();
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    double max;
    assert_true(corrected_rel_err(path, "test",
                                  (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel = {5, PELT_FAMILY_KERNEL}},
                                  &max) < 0.28);
    assert_true(corrected_rel_err(path, "test",
                                  (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel = {10, PELT_FAMILY_KERNEL}},
                                  &max) < 0.235);
    assert_true(max < 0.005);
}

/* Along every mesh edge, how far the difference of the two displacements is from the true one, relative to it: root of
   the sums over all edges across cluster borders, [1], and inside, [0]. */
static void edge_jumps(const pelt_fitting *f, const pelt_clip *clip, double relative[2]) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    const pelt_displacements *d = f->model.corrective->displacements;
    pelt_fitting unseen = *f;
    pelt_example_displacements u;
    pelt_error error = {0};
    unseen.examples = pelt_bundle_examples(f->bundle, &clip, 1);
    assert_int_equal(pelt_displacements_of(&unseen, &u, &error), PELT_OK);
    double *model = calloc(3 * (size_t)mesh->vertex_count, sizeof *model), miss[2] = {0}, all[2] = {0};
    pelt_transform *locals = calloc(f->bundle->skeleton.joint_count, sizeof *locals);
    for (uint32_t e = 0; e < clip->frame_count; e++) {
        pelt_clip_pose(clip, &f->bundle->skeleton, e, locals);
        pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, NULL, mesh->vertex_count, model, NULL);
        for (uint32_t c = 0; c < 3 * mesh->triangle_count; c++) {
            uint32_t a = mesh->triangles[c], b = mesh->triangles[c % 3 == 2 ? c - 2 : c + 1];
            int across = d->coefficients[d->first[a]] != d->coefficients[d->first[b]];
            for (uint32_t x = 0; x < 3; x++) {
                double truth = u.positions[3 * ((size_t)e * u.point_count + u.point_of[a]) + x] -
                               u.positions[3 * ((size_t)e * u.point_count + u.point_of[b]) + x];
                miss[across] += pow(model[3 * a + x] - model[3 * b + x] - truth, 2), all[across] += truth * truth;
            }
        }
    }
    for (int k = 0; k < 2; k++) relative[k] = sqrt(miss[k] / all[k]);
    free(model), free(locals);
}

static void borders_of_clusters_show_no_more_than_what_is_inside(void **state) {
    (void)state;
    test_only_at_full_speed();
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    const pelt_clip *unseen = pelt_bundle_clip(bundle, "test", PELT_NEED_POSITIONS, &error);
    pelt_fitting f = corrected_fitting(bundle, train);
    double relative[2];
    assert_int_equal(fit_kernels(&f, &error), PELT_OK);
    edge_jumps(&f, unseen, relative);
    assert_true(relative[1] < relative[0]);
    pelt_arena_free(f.arena);
    pelt_bundle_free(bundle);
}

/* On 81 frames of this motion features are expected to be 4% better in cross-validation, and on the other 19 they are 9%
   worse: of many lengths of training and ridges, the best looks better than it is. */
static void features_must_be_clearly_better_than_kernels(void **state) {
    (void)state;
    test_only_at_full_speed();
    const char *path = test_data("limbs_M/limbs_M.glb");
    if (!path) skip();
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    pelt_examples all = pelt_bundle_examples(bundle, &train, 1), few, held;
    assert_int_equal(pelt_hold_out(bundle, all, 0.2, &few, &held, &error), PELT_OK);
    pelt_fitting f = corrected_fitting(bundle, train);
    f.examples = few;
    f.options = (pelt_fit_options){.method = PELT_METHOD_KERNEL, .normals = PELT_NORMALS_BLEND, .threads = 1};
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
    assert_int_equal(f.report.kernel->family, PELT_FAMILY_ARC);
    pelt_arena_free(f.arena);
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_must_be_clearly_better_than_kernels),
        cmocka_unit_test(tables_hold_the_formula_of_rotation_matrices),
        cmocka_unit_test(inputs_leave_out_joints_that_repeat_others_and_end_with_controls),
        cmocka_unit_test(inputs_have_joints_that_follow_in_bends),
        cmocka_unit_test(tables_of_controls_and_widths_by_range_follow_the_formula),
        cmocka_unit_test(units_are_joints_that_drive_points_and_pairs_up_to_two_above),
        cmocka_unit_test(a_fold_is_missed_as_by_a_fit_to_all_others),
        cmocka_unit_test(a_fold_that_cannot_be_solved_is_infinitely_wrong),
        cmocka_unit_test(without_ridge_the_regression_interpolates),
        cmocka_unit_test(with_all_centres_the_solution_is_that_of_the_whole_system),
        cmocka_unit_test(validation_from_one_inverse_equals_refitting),
        cmocka_unit_test(motions_are_left_out_as_a_whole),
        cmocka_unit_test(of_many_examples_those_that_take_part_tell_what_is_left),
        cmocka_unit_test(leading_eigenvectors_belong_to_the_largest_values),
        cmocka_unit_test(planted_clusters_are_found),
        cmocka_unit_test(clusters_overlap_by_rings_with_weights_that_sum_to_one),
        cmocka_unit_test(components_are_those_of_lapack_and_the_budget_goes_to_the_best),
        cmocka_unit_test(kinds_of_points_are_told_apart_at_every_place),
        cmocka_unit_test(displacements_are_balanced_by_the_root_mean_square_of_their_region),
        cmocka_unit_test(a_small_region_is_not_sacrificed_to_large_ones),
        cmocka_unit_test(the_budget_is_the_mean_over_all_vertices),
        cmocka_unit_test(the_truth_is_learned_and_the_rest_pose_kept),
        cmocka_unit_test(coefficients_of_a_cluster_solve_its_normal_equations),
        cmocka_unit_test(what_cannot_be_fitted_is_refused_with_advice),
        cmocka_unit_test(normals_of_a_stretched_tube_follow_the_closed_form),
        cmocka_unit_test(displacements_have_the_same_bits_with_normals_of_the_blend),
        cmocka_unit_test(the_sides_of_a_seam_turn_apart_in_every_cluster_of_their_point),
        cmocka_unit_test(coefficients_stay_within_the_bound_in_any_pose),
        cmocka_unit_test(one_thread_and_two_give_the_same_bytes),
        cmocka_unit_test(joints_need_not_move_alone_nor_rest_nor_stay_below_half_a_turn),
        cmocka_unit_test(unseen_poses_of_a_hand),
        cmocka_unit_test(borders_of_clusters_show_no_more_than_what_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
