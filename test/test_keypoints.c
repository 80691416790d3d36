/* test_keypoints.c: the choice of keys and the map, against brute force and closed forms. */

#include "fit/keys/keypoints.h"
#include "rig/linear.h"
#include "test/frames.h"

/* The varimax criterion: over the columns, sum of a^4 / rows - (sum of a^2 / rows)^2. */
static double varimax_criterion(size_t rows, size_t columns, const double *a) {
    double sum = 0, n = (double)rows;
    for (size_t c = 0; c < columns; c++) {
        double second = 0, fourth = 0;
        for (size_t r = 0; r < rows; r++) {
            double x = a[r * columns + c] * a[r * columns + c];
            second += x, fourth += x * x;
        }
        sum += fourth / n - second / n * second / n;
    }
    return sum;
}

typedef struct setup {
    test_frames *t;
    pelt_keys_options options;
    pelt_keys_training training;
} setup;

static void start(setup *s, uint32_t frames, uint32_t points, uint32_t modes, double noise, uint32_t rank) {
    pelt_error error;
    memset(s, 0, sizeof *s);
    s->t = test_frames_make(frames, points, 3, modes, noise, 21);
    pelt_keys_training *t = &s->training;
    *t = (pelt_keys_training){.options = &s->options,
                              .arena = pelt_arena_new(0),
                              .columns_per_frame = 1,
                              .point_count = points,
                              .candidates = points,
                              .diagonal = 1};
    pelt_columns *columns = NULL;
    pelt_columns_open(t->arena, &s->t->frames, false, 1 << 30, &columns, &error);
    assert_int_equal(pelt_subspace_find(t->arena, columns, rank, true, 1, NULL, &t->s, &error), PELT_OK);
    t->fold = PELT_NEW(t->arena, frames, uint32_t);
    t->lone = PELT_NEW(t->arena, frames, uint8_t);
    for (uint32_t f = 0; f < frames; f++) t->fold[f] = f / 10 % PELT_FOLDS;
    float *places = PELT_NEW(t->arena, 3 * points, float);
    for (uint32_t p = 0; p < points; p++) places[3 * p] = (float)p / (float)points;
    t->positions = places;
}

static void stop(setup *s) {
    pelt_arena_free(s->training.arena);
    test_frames_free(s->t);
}

static void varimax_never_lowers_its_criterion_and_only_rotates(void **state) {
    (void)state;
    uint64_t seed = 4;
    double a[90 * 6], first[90 * 6], gram[36], turned[36];
    for (int i = 0; i < 90 * 6; i++) first[i] = a[i] = test_random(&seed) - 0.5 + (i % 7 == 0);
    double before = varimax_criterion(90, 6, a), small[8] = {2, 1, 0, 1, 0, 1, 0, 1};
    assert_near(varimax_criterion(4, 2, small), 16 / 4.0 - 1, 1e-12); /* the second column is the same everywhere */
    for (int sweep = 0; sweep < 12; sweep++) {
        pelt_varimax(90, 6, a, 1);
        double now = varimax_criterion(90, 6, a);
        assert_true(now >= before - 1e-12 * fabs(before));
        before = now;
    }
    /* a rotation keeps a a^T */
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            gram[6 * i + k] = turned[6 * i + k] = 0;
            for (int c = 0; c < 6; c++) {
                gram[6 * i + k] += first[6 * (15 * i) + c] * first[6 * (14 * k + 3) + c];
                turned[6 * i + k] += a[6 * (15 * i) + c] * a[6 * (14 * k + 3) + c];
            }
            assert_near(gram[6 * i + k], turned[6 * i + k], 1e-9);
        }
}

static void varimax_finds_the_blocks_that_were_mixed(void **state) {
    (void)state;
    /* two columns, each alive in its own half, mixed by 30 degrees */
    double a[80];
    for (int r = 0; r < 40; r++) {
        double x = r < 20 ? 1 + 0.1 * r : 0, y = r < 20 ? 0 : 2 - 0.05 * r;
        a[2 * r] = cos(0.5236) * x - sin(0.5236) * y;
        a[2 * r + 1] = sin(0.5236) * x + cos(0.5236) * y;
    }
    pelt_varimax(40, 2, a, 20);
    for (int r = 0; r < 40; r++) assert_near(fmin(fabs(a[2 * r]), fabs(a[2 * r + 1])), 0, 1e-6);
}

static void least_squares_maps_are_those_of_the_normal_equations(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 12, 1e-4, 12);
    const pelt_keys_training *t = &s.training;
    pelt_error error;
    uint32_t keys[5] = {2, 11, 17, 25, 38};
    size_t rank = t->s.rank, rows = 15;
    double *p = PELT_NEW(t->arena, rank * rows, double), *covariance = PELT_NEW(t->arena, rank * rank, double);
    double weight = pelt_fold_covariance(t, NULL, 0, covariance);
    pelt_map map = {keys, 5, 6, 0};
    assert_int_equal(pelt_map_fit(t, &map, covariance, weight, p, &error), PELT_OK);
    /* by another route: the SVD of the keys' rows */
    double a[15 * 6], right[15];
    uint64_t seed = 1;
    for (int i = 0; i < 15; i++) right[i] = test_random(&seed) - 0.5;
    for (int i = 0; i < 15; i++)
        for (int m = 0; m < 6; m++) a[6 * i + m] = t->s.vectors[(keys[i / 3] * 3 + (size_t)i % 3) * rank + (size_t)m];
    double solution[15];
    memcpy(solution, right, sizeof right);
    assert_true(pelt_least_squares(15, 6, a, 1, solution, 1e-12));
    for (size_t m = 0; m < rank; m++) {
        double b = 0;
        for (size_t i = 0; i < rows; i++) b += p[m * rows + i] * right[i];
        assert_near(b, m < 6 ? solution[m] : 0, 1e-7 * (1 + fabs(b)));
    }
    stop(&s);
}

static void fewer_values_than_directions_are_met_exactly(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 12, 1e-4, 12);
    const pelt_keys_training *t = &s.training;
    uint32_t keys[2] = {7, 30};
    size_t rank = t->s.rank;
    double *p = PELT_NEW(t->arena, rank * 6, double), *covariance = PELT_NEW(t->arena, rank * rank, double);
    for (int folded = 0; folded < 2; folded++) { /* the axes themselves, and directions that are turned */
        double weight = pelt_fold_covariance(t, folded ? t->fold : NULL, 1, covariance);
        assert_int_equal(pelt_map_fit(t, &(pelt_map){keys, 2, 10, 0}, covariance, weight, p, NULL), PELT_OK);
        for (size_t i = 0; i < 6; i++)
            for (size_t k = 0; k < 6; k++) { /* U P = I */
                double sum = 0;
                for (size_t m = 0; m < rank; m++)
                    sum += t->s.vectors[(keys[i / 3] * 3 + i % 3) * rank + m] * p[m * 6 + k];
                assert_near(sum, i == k, 1e-6);
            }
    }
    stop(&s);
}

static void frames_in_the_subspace_are_mapped_exactly(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 6, 0, 6);
    const pelt_keys_training *t = &s.training;
    pelt_error error;
    uint32_t keys[8] = {1, 5, 10, 15, 20, 25, 30, 38};
    size_t rank = t->s.rank, rows = 24;
    double *p = PELT_NEW(t->arena, rank * rows, double), *covariance = PELT_NEW(t->arena, rank * rank, double);
    double weight = pelt_fold_covariance(t, NULL, 0, covariance);
    assert_int_equal(pelt_map_fit(t, &(pelt_map){keys, 8, 6, 0}, covariance, weight, p, &error), PELT_OK);
    for (uint32_t f = 0; f < 80; f++)
        for (size_t m = 0; m < rank; m++) {
            double b = 0;
            for (size_t i = 0; i < rows; i++) {
                size_t row = keys[i / 3] * 3 + i % 3;
                b += p[m * rows + i] * (s.t->values[f * 120 + row] - t->s.mean[row]);
            }
            assert_near(b, t->s.coordinates[f * rank + m], 1e-5);
        }
    stop(&s);
}

/* Expected squared error of all points, whitened as in the choice, when some keys are known: brute force. */
static double expected_error(const pelt_keys_training *t, size_t rank, const uint32_t *keys, uint32_t count,
                             const double *noise) {
    double *a = calloc(rank * rank, sizeof *a), trace = 0;
    for (size_t m = 0; m < rank; m++) a[m * rank + m] = t->s.weight / (t->s.values[m] * t->s.values[m]);
    for (uint32_t k = 0; k < count; k++)
        for (size_t i = 0; i < 3; i++) {
            const double *u = t->s.vectors + (keys[k] * 3 + i) * t->s.rank;
            for (size_t m = 0; m < rank; m++)
                for (size_t n = 0; n < rank; n++) a[m * rank + n] += u[m] * u[n] / noise[keys[k]];
        }
    double *unit = calloc(rank * rank, sizeof *unit);
    for (size_t m = 0; m < rank; m++) unit[m * rank + m] = 1;
    assert_true(pelt_cholesky(rank, a));
    pelt_cholesky_solve(rank, a, rank, unit);
    for (size_t m = 0; m < rank; m++) trace += unit[m * rank + m];
    free(a), free(unit);
    return trace;
}

static void the_first_optimal_keys_are_those_that_brute_force_finds(void **state) {
    (void)state;
    setup s;
    start(&s, 120, 30, 10, 2e-3, 9);
    const pelt_keys_training *t = &s.training;
    uint32_t keys[5], best[3];
    pelt_error error;
    assert_int_equal(pelt_choose_keys(&s.training, 5, keys, NULL, &error), PELT_OK); /* 3 of 5 are A-optimal */
    size_t rank = 5 * 3 / 2 + 1 < t->s.rank ? 5 * 3 / 2 + 1 : t->s.rank;
    double noise[30] = {0}, mean = 0;
    for (size_t r = 0; r < 90; r++) {
        double tail = t->s.tail[r];
        for (size_t m = rank; m < t->s.rank; m++)
            tail += pow(t->s.vectors[r * t->s.rank + m] * t->s.values[m], 2) / t->s.weight;
        noise[r / 3] += tail / 3, mean += tail / 90;
    }
    for (int p = 0; p < 30; p++) noise[p] += 1e-3 * mean + 1e-9 * t->s.values[0] * t->s.values[0] / t->s.weight / 90;
    for (uint32_t k = 0; k < 3; k++) {
        double least = INFINITY;
        for (uint32_t p = 0; p < 30; p++) {
            bool used = false;
            uint32_t tried[3];
            for (uint32_t i = 0; i < k; i++) tried[i] = best[i], used |= best[i] == p;
            tried[k] = p;
            double e = used ? INFINITY : expected_error(t, rank, tried, k + 1, noise);
            if (e < least) least = e, best[k] = p;
        }
        assert_int_equal(keys[k], best[k]);
    }
    stop(&s);
}

static void keys_are_distinct_and_fiducials_come_first_in_both_recipes(void **state) {
    (void)state;
    for (int paper = 0; paper < 2; paper++) {
        setup s;
        start(&s, 80, 50, 12, 1e-3, 40);
        uint32_t keys[20], fiducials[3] = {49, 0, 7};
        pelt_error error;
        s.options.recipe = paper ? PELT_KEYS_PAPER : PELT_KEYS_PELT;
        s.options.fiducials = fiducials, s.options.fiducial_count = 3, s.options.grid = 4;
        assert_int_equal(pelt_choose_keys(&s.training, 20, keys, NULL, &error), PELT_OK);
        for (int i = 0; i < 3; i++) assert_int_equal(keys[i], fiducials[i]);
        for (int i = 0; i < 20; i++)
            for (int k = 0; k < i; k++) assert_int_not_equal(keys[i], keys[k]);
        stop(&s);
    }
}

static void the_papers_first_key_moves_most_in_a_rotated_vector(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 10, 1e-4, 20);
    const pelt_keys_training *t = &s.training;
    uint32_t keys[2];
    pelt_error error;
    s.options.recipe = PELT_KEYS_PAPER;
    assert_int_equal(pelt_choose_keys(&s.training, 2, keys, NULL, &error), PELT_OK);
    /* Two keys per vector: the first principal one, which varimax of one column leaves alone. */
    uint32_t best = 0, against = 0;
    double most = -1, least = INFINITY;
    for (uint32_t p = 0; p < 40; p++) {
        double square = 0, inner = 0;
        for (size_t i = 0; i < 3; i++) square += pow(t->s.vectors[(p * 3 + i) * t->s.rank], 2);
        if (square > most) most = square, best = p;
        (void)inner;
    }
    assert_int_equal(keys[0], best);
    for (uint32_t p = 0; p < 40; p++) { /* rows over the frames themselves */
        double inner = 0;
        for (size_t f = 0; f < 80; f++)
            for (size_t i = 0; i < 3; i++)
                inner += (s.t->values[f * 120 + p * 3 + i] - t->s.mean[p * 3 + i]) *
                         (s.t->values[f * 120 + best * 3 + i] - t->s.mean[best * 3 + i]);
        if (p != best && inner < least) least = inner, against = p;
    }
    assert_int_equal(keys[1], against);
    stop(&s);
}

/* What the keys do not explain of a frame's coordinates: b - P U b. */
static void leave(const pelt_keys_training *t, const uint32_t *keys, uint32_t count, const double *p, const double *b,
                  double *left) {
    size_t rank = t->s.rank;
    memcpy(left, b, rank * sizeof *left);
    for (size_t i = 0; i < 3 * (size_t)count; i++) {
        double value = 0;
        for (size_t m = 0; m < rank; m++) value += t->s.vectors[(keys[i / 3] * 3 + i % 3) * rank + m] * b[m];
        for (size_t m = 0; m < rank; m++) left[m] -= p[m * 3 * count + i] * value;
    }
}

static void the_papers_next_keys_move_most_in_what_the_first_leave(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 12, 1e-4, 20);
    const pelt_keys_training *t = &s.training;
    uint32_t fiducials[5] = {4, 11, 19, 27, 36}, keys[7], best = 0, against = 0;
    pelt_error error;
    size_t rank = t->s.rank;
    s.options.recipe = PELT_KEYS_PAPER;
    s.options.fiducials = fiducials, s.options.fiducial_count = 5;
    assert_int_equal(pelt_choose_keys(&s.training, 7, keys, NULL, &error), PELT_OK);
    double *p = PELT_NEW(t->arena, rank * 15, double), *c = PELT_NEW(t->arena, rank * rank, double),
           *left = PELT_NEW(t->arena, 80 * rank, double), *v = PELT_NEW(t->arena, rank, double), most = -1,
           least = INFINITY;
    double weight = pelt_fold_covariance(t, NULL, 0, c);
    assert_int_equal(pelt_map_fit(t, &(pelt_map){fiducials, 5, 7 / 2, 0}, c, weight, p, &error), PELT_OK);
    for (size_t f = 0; f < 80; f++) leave(t, fiducials, 5, p, t->s.coordinates + f * rank, left + f * rank);
    for (size_t m = 0; m < rank; m++) v[m] = 1 + 0.1 * (double)m;
    for (int turn = 0; turn < 3000; turn++) { /* the leading direction, by iteration over the frames */
        double next[20] = {0}, length = 0;
        for (size_t f = 0; f < 80; f++) {
            double along = 0;
            for (size_t m = 0; m < rank; m++) along += left[f * rank + m] * v[m];
            for (size_t m = 0; m < rank; m++) next[m] += along * left[f * rank + m];
        }
        for (size_t m = 0; m < rank; m++) length += next[m] * next[m];
        for (size_t m = 0; m < rank; m++) v[m] = next[m] / sqrt(length);
    }
    for (uint32_t q = 0; q < 40; q++) {
        double square = 0;
        bool used = false;
        for (int i = 0; i < 5; i++) used |= fiducials[i] == q;
        for (size_t i = 0; i < 3; i++) {
            double move = 0;
            for (size_t m = 0; m < rank; m++) move += t->s.vectors[(q * 3 + i) * rank + m] * v[m];
            square += move * move;
        }
        if (!used && square > most) most = square, best = q;
    }
    assert_int_equal(keys[5], best);
    for (uint32_t q = 0; q < 40; q++) {
        double inner = 0;
        bool used = q == best;
        for (int i = 0; i < 5; i++) used |= fiducials[i] == q;
        for (size_t f = 0; f < 80; f++)
            for (size_t i = 0; i < 3; i++) {
                double a = 0, b = 0;
                for (size_t m = 0; m < rank; m++) {
                    a += t->s.vectors[(q * 3 + i) * rank + m] * left[f * rank + m];
                    b += t->s.vectors[(best * 3 + i) * rank + m] * left[f * rank + m];
                }
                inner += a * b;
            }
        if (!used && inner < least) least = inner, against = q;
    }
    assert_int_equal(keys[6], against);
    stop(&s);
}

/* Puts the worst frame of each fold last: the keys stay the same. */
static void check_peaks(const setup *s, bool put_last) {
    const pelt_keys_training *t = &s->training;
    uint32_t keys[10];
    pelt_error error;
    size_t rank = t->s.rank;
    assert_int_equal(pelt_choose_keys((pelt_keys_training *)t, 10, keys, NULL, &error), PELT_OK); /* 6 are A-optimal */
    double score[40] = {0}, *p = PELT_NEW(t->arena, rank * 18, double), *c = PELT_NEW(t->arena, rank * rank, double),
           *left = PELT_NEW(t->arena, rank, double);
    for (uint32_t fold = 0; fold < PELT_FOLDS; fold++) {
        double weight = pelt_fold_covariance(t, t->fold, fold, c), sizes[120], fourth[120][40];
        assert_int_equal(pelt_map_fit(t, &(pelt_map){keys, 6, 0, 1e-5}, c, weight, p, &error), PELT_OK);
        size_t count = 0, worst = 0, last = 0;
        double most = -1;
        for (size_t f = 0; f < 120; f++) {
            if (t->fold[f] != fold) continue;
            last = f;
            leave(t, keys, 6, p, t->s.coordinates + f * rank, left);
            sizes[count] = 0;
            for (size_t m = 0; m < rank; m++) sizes[count] += left[m] * left[m];
            for (size_t q = 0; q < 40; q++) {
                double square = 0;
                for (size_t i = 0; i < 3; i++) {
                    double e = 0;
                    for (size_t m = 0; m < rank; m++) e += t->s.vectors[(q * 3 + i) * rank + m] * left[m];
                    square += e * e;
                }
                fourth[count][q] = square * square;
            }
            if (sizes[count] > most) most = sizes[count], worst = f;
            count++;
        }
        for (size_t m = 0; m < rank && put_last; m++) {
            double *a = t->s.coordinates + worst * rank + m, *b = t->s.coordinates + last * rank + m, swap = *a;
            *a = *b, *b = swap;
        }
        for (size_t f = 0; f < count; f++) { /* the five worst */
            size_t larger = 0;
            for (size_t k = 0; k < count; k++) larger += sizes[k] > sizes[f];
            for (size_t q = 0; q < 40 && larger < 5; q++) score[q] += fourth[f][q];
        }
    }
    for (int k = 6; k < 10; k++) {
        uint32_t best = 0;
        double most = -1;
        for (uint32_t q = 0; q < 40; q++) {
            bool used = false;
            for (int i = 0; i < k; i++) used |= keys[i] == q;
            if (!used && score[q] > most) most = score[q], best = q;
        }
        assert_int_equal(keys[k], best);
        for (uint32_t q = 0; q < 40; q++) score[q] *= 1 - exp(-pow((q / 40.0 - best / 40.0) / 0.032, 2));
    }
}

static void keys_at_peaks_are_where_the_worst_held_out_frames_are_worst(void **state) {
    (void)state;
    setup s;
    start(&s, 120, 40, 16, 2e-3, 30);
    check_peaks(&s, true);
    check_peaks(&s, false);
    stop(&s);
}

static void the_grid_fills_the_largest_gaps(void **state) {
    (void)state;
    for (int paper = 0; paper < 2; paper++) {
        setup s;
        start(&s, 80, 50, 12, 1e-3, 40);
        float places[150];
        uint64_t seed = 8;
        for (int i = 0; i < 150; i++) places[i] = (float)test_random(&seed);
        s.training.positions = places;
        uint32_t keys[12];
        pelt_error error;
        s.options.recipe = paper ? PELT_KEYS_PAPER : PELT_KEYS_PELT;
        s.options.grid = paper ? 4 : 5; /* the paper's keys come in pairs */
        assert_int_equal(pelt_choose_keys(&s.training, 12, keys, NULL, &error), PELT_OK);
        for (int k = paper ? 0 : 7; k < (paper ? 4 : 12); k++) { /* the paper's come first */
            uint32_t best = 0;
            double most = -1;
            for (uint32_t q = 0; q < 50; q++) {
                double nearest = INFINITY;
                for (int i = 0; i < k; i++) {
                    double square = 0;
                    for (int a = 0; a < 3; a++) square += pow(places[3 * q + a] - places[3 * keys[i] + a], 2);
                    nearest = fmin(nearest, square);
                }
                if (nearest > most) most = nearest, best = q;
            }
            assert_int_equal(keys[k], best);
        }
        stop(&s);
    }
}

static void the_farthest_points_end_where_no_gap_is_left(void **state) {
    (void)state;
    setup s;
    start(&s, 20, 50, 3, 1e-3, 8);
    float places[150];
    uint64_t seed = 18;
    for (int i = 0; i < 150; i++) places[i] = (float)test_random(&seed);
    s.training.positions = places, s.training.candidates = 45;
    const uint32_t given[3] = {7, 30, 12};
    uint32_t all[48] = {7, 30, 12}, count = pelt_farthest_points(&s.training, given, 3, 0, 0.4, 42, all + 3);
    assert_true(count > 5 && count < 42);
    for (uint32_t k = 3; k <= 3 + count; k++) {
        uint32_t best = 0;
        double most = -1;
        for (uint32_t q = 0; q < 45; q++) {
            double nearest = INFINITY;
            for (uint32_t i = 0; i < k; i++) {
                double square = 0;
                for (int a = 0; a < 3; a++) square += pow((double)places[3 * q + a] - places[3 * all[i] + a], 2);
                nearest = fmin(nearest, sqrt(square));
            }
            if (nearest > most) most = nearest, best = q;
        }
        if (k < 3 + count) assert_int_equal(all[k], best);
        assert_true(k < 3 + count ? most > 0.4 : most <= 0.4);
    }
    assert_int_equal(pelt_farthest_points(&s.training, given, 3, 0, 0.4, 4, all + 3), 4);
    stop(&s);
}

/* Points at one place that move differently are as far apart as their motion says, frame by frame. */
static void points_that_move_differently_are_far_apart(void **state) {
    (void)state;
    setup s;
    start(&s, 20, 50, 3, 1e-3, 8);
    static float places[150];
    s.training.positions = places;
    const double motion = 3;
    const uint32_t given[1] = {7};
    uint32_t all[6] = {7};
    assert_int_equal(pelt_farthest_points(&s.training, given, 1, motion, 0, 5, all + 1), 5);
    const float *values = s.t->values;
    double mean[150] = {0};
    for (int i = 0; i < 20 * 150; i++) mean[i % 150] += values[i] / 20.0;
    for (uint32_t k = 1; k < 6; k++) {
        double most = -1, chosen = 0;
        for (uint32_t q = 0; q < 50; q++) {
            double nearest = INFINITY;
            for (uint32_t i = 0; i < k; i++) {
                double square = 0;
                for (uint32_t f = 0; f < 20; f++)
                    for (uint32_t a = 0; a < 3; a++)
                        square += pow((values[f * 150 + 3 * q + a] - mean[3 * q + a]) -
                                          (values[f * 150 + 3 * all[i] + a] - mean[3 * all[i] + a]),
                                      2);
                nearest = fmin(nearest, motion * sqrt(square / 20));
            }
            most = fmax(most, nearest);
            if (q == all[k]) chosen = nearest;
        }
        assert_near(chosen, most, 1e-5);
    }
    stop(&s);
}

static double largest_left(const setup *s, const uint32_t *keys, uint32_t count, uint32_t basis) {
    const pelt_keys_training *t = &s->training;
    size_t rank = t->s.rank;
    pelt_error error;
    double *p = PELT_NEW(t->arena, rank * 3 * count, double), *c = PELT_NEW(t->arena, rank * rank, double), most = 0;
    double weight = pelt_fold_covariance(t, NULL, 0, c), left[20];
    assert_true(rank == 20);
    assert_int_equal(pelt_map_fit(t, &(pelt_map){keys, count, basis, 0}, c, weight, p, &error), PELT_OK);
    for (size_t f = 0; f < t->s.column_count; f++) {
        leave(t, keys, count, p, t->s.coordinates + f * rank, left);
        for (size_t q = 0; q < t->point_count; q++) {
            double square = 0;
            for (size_t i = 0; i < 3; i++) {
                double value = 0;
                for (size_t m = 0; m < rank; m++) value += t->s.vectors[(q * 3 + i) * rank + m] * left[m];
                square += value * value;
            }
            most = fmax(most, sqrt(square));
        }
    }
    return most;
}

/* With batches of two vectors keys come in fours, until the largest residual of all points and frames is small. */
static void the_papers_choice_ends_where_the_largest_residual_is_small(void **state) {
    (void)state;
    setup s;
    start(&s, 80, 40, 12, 1e-4, 20);
    s.training.diagonal = 2;
    s.options.recipe = PELT_KEYS_PAPER, s.options.batch = 2, s.options.residual = 1e-12; /* that is never reached */
    uint32_t all[28], keys[28], chosen = 0;
    pelt_error error;
    assert_int_equal(pelt_choose_keys(&s.training, 28, all, &chosen, &error), PELT_OK);
    assert_int_equal(chosen, 28);
    double after_8 = largest_left(&s, all, 8, 4), after_12 = largest_left(&s, all, 12, 6);
    assert_true(after_12 < 0.98 * after_8);
    s.options.residual = 0.99 * after_8 / 2;
    assert_int_equal(pelt_choose_keys(&s.training, 28, keys, &chosen, &error), PELT_OK);
    assert_int_equal(chosen, 12);
    assert_memory_equal(keys, all, 12 * sizeof *keys);
    s.options.residual = 1.01 * after_8 / 2;
    assert_int_equal(pelt_choose_keys(&s.training, 28, keys, &chosen, &error), PELT_OK);
    assert_true(chosen <= 8);
    stop(&s);
}

static void a_fold_leaves_exactly_its_frames_out(void **state) {
    (void)state;
    setup s;
    start(&s, 60, 20, 8, 1e-3, 8);
    const pelt_keys_training *t = &s.training;
    size_t rank = t->s.rank;
    double *covariance = PELT_NEW(t->arena, rank * rank, double);
    double weight = pelt_fold_covariance(t, t->fold, 2, covariance), kept = 0;
    for (size_t a = 0; a < rank; a++)
        for (size_t b = 0; b < rank; b++) {
            double sum = 0;
            for (size_t f = 0; f < 60; f++)
                if (t->fold[f] != 2) sum += t->s.coordinates[f * rank + a] * t->s.coordinates[f * rank + b];
            assert_near(covariance[a * rank + b], sum, 1e-9 * t->s.values[0] * t->s.values[0]);
        }
    for (size_t f = 0; f < 60; f++) kept += t->fold[f] != 2;
    assert_near(weight, kept, 1e-12);
    stop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varimax_never_lowers_its_criterion_and_only_rotates),
        cmocka_unit_test(varimax_finds_the_blocks_that_were_mixed),
        cmocka_unit_test(least_squares_maps_are_those_of_the_normal_equations),
        cmocka_unit_test(fewer_values_than_directions_are_met_exactly),
        cmocka_unit_test(frames_in_the_subspace_are_mapped_exactly),
        cmocka_unit_test(the_first_optimal_keys_are_those_that_brute_force_finds),
        cmocka_unit_test(keys_are_distinct_and_fiducials_come_first_in_both_recipes),
        cmocka_unit_test(the_papers_first_key_moves_most_in_a_rotated_vector),
        cmocka_unit_test(the_papers_next_keys_move_most_in_what_the_first_leave),
        cmocka_unit_test(keys_at_peaks_are_where_the_worst_held_out_frames_are_worst),
        cmocka_unit_test(the_grid_fills_the_largest_gaps),
        cmocka_unit_test(the_farthest_points_end_where_no_gap_is_left),
        cmocka_unit_test(points_that_move_differently_are_far_apart),
        cmocka_unit_test(the_papers_choice_ends_where_the_largest_residual_is_small),
        cmocka_unit_test(a_fold_leaves_exactly_its_frames_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
