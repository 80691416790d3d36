/* test_key_training.c: training with trials: which frames are left out, their error, regions, bounds, and the report;
   each against a brute-force version of its definition. */

#include "fit/keys/model.h"
#include "rig/linear.h"
#include "rig/sort.h"
#include "runtime/half.h"
#include "test/frames.h"

/* -- A training's inside ------------------------------------------------------------------------------------------- */

typedef struct setup {
    test_frames *t;
    pelt_keys_options options;
    pelt_keys_training training;
} setup;

static void start(setup *s, test_frames *t, bool shared, uint32_t rank) {
    pelt_error error;
    memset(s, 0, sizeof *s);
    s->t = t;
    uint32_t points = t->frames.point_count, per = shared ? t->frames.component_count : 1;
    s->training = (pelt_keys_training){.options = &s->options,
                                       .arena = pelt_arena_new(0),
                                       .columns_per_frame = per,
                                       .point_count = points,
                                       .candidates = points,
                                       .diagonal = 2};
    pelt_keys_training *g = &s->training;
    pelt_columns *columns = NULL;
    pelt_columns_open(g->arena, &t->frames, shared, 1 << 30, &columns, &error);
    assert_int_equal(pelt_subspace_find(g->arena, columns, rank, true, 1, NULL, &g->s, &error), PELT_OK);
    g->fold = PELT_NEW(g->arena, g->s.column_count, uint32_t);
    g->lone = PELT_NEW(g->arena, g->s.column_count, uint8_t);
    for (uint32_t c = 0; c < g->s.column_count; c++) g->fold[c] = c / per / 10 % PELT_FOLDS;
    float *places = PELT_NEW(g->arena, 3 * points, float);
    for (uint32_t p = 0; p < points; p++) places[3 * p] = (float)p / (float)points;
    g->positions = places;
}

static void stop(setup *s) {
    pelt_arena_free(s->training.arena);
    test_frames_free(s->t);
}

/* b - P U b for a column's coordinates b, and the keys' values U b, in plain loops. */
static void reconstruct(const pelt_keys_training *t, const pelt_map *map, const double *p, const double *b,
                        double *left, double *values) {
    size_t rank = t->s.rank, each = t->s.each, n = map->key_count * each;
    for (size_t i = 0; i < n; i++) {
        values[i] = 0;
        for (size_t m = 0; m < rank; m++)
            values[i] += t->s.vectors[(map->keys[i / each] * each + i % each) * rank + m] * b[m];
    }
    for (size_t m = 0; m < rank; m++) {
        left[m] = b[m];
        for (size_t i = 0; i < n; i++) left[m] -= p[m * n + i] * values[i];
    }
}

/* Largest error of a point over a frame, and the squared sum of the coordinates' errors. */
static double frame_error(const pelt_keys_training *t, const pelt_map *map, const double *p, size_t frame,
                          double *size) {
    size_t rank = t->s.rank, each = t->s.each, per = t->columns_per_frame;
    double *left = calloc(rank, sizeof *left), *values = calloc(map->key_count * each, sizeof *values),
           *square = calloc(t->point_count, sizeof *square), most = 0;
    *size = 0;
    for (size_t c = 0; c < per; c++) {
        reconstruct(t, map, p, t->s.coordinates + (frame * per + c) * rank, left, values);
        for (size_t m = 0; m < rank; m++) *size += left[m] * left[m];
        for (size_t r = 0; r < t->s.row_count; r++) {
            double e = 0;
            for (size_t m = 0; m < rank; m++) e += t->s.vectors[r * rank + m] * left[m];
            square[r / each] += e * e;
        }
    }
    for (size_t q = 0; q < t->point_count; q++) most = fmax(most, sqrt(square[q]));
    free(left), free(values), free(square);
    return most / t->diagonal;
}

static double *fit_without(const pelt_keys_training *t, const pelt_map *map, uint32_t fold) {
    size_t rank = t->s.rank;
    double *covariance = PELT_NEW(t->arena, rank * rank, double),
           *p = PELT_NEW(t->arena, rank * map->key_count * t->s.each, double);
    double weight = pelt_fold_covariance(t, t->fold, fold, covariance);
    assert_int_equal(pelt_map_fit(t, map, covariance, weight, p, NULL), PELT_OK);
    return p;
}

/* -- Trials -------------------------------------------------------------------------------------------------------- */

static void check_trials(bool shared, bool paper) {
    setup s;
    start(&s, test_frames_make(80, 30, 3, 12, 2e-3, 5), shared, 14);
    const pelt_keys_training *t = &s.training;
    if (paper) s.options.recipe = PELT_KEYS_PAPER;
    uint32_t keys[6] = {1, 7, 12, 18, 23, 29};
    pelt_map map = {keys, 6, 5, paper ? 0 : 1e-5}, least = {keys, 6, paper ? 5 : 6 * t->s.each / 3, 0};
    pelt_trials trials = {.with_misfits = true};
    s.training.lone[10 * t->columns_per_frame] = 1; /* the first frame of the fold */
    assert_int_equal(pelt_try_fold(t, &map, t->fold, 1, false, 1, t->arena, &trials, NULL), PELT_OK);
    assert_int_equal(trials.count, 20);
    double *p = fit_without(t, &map, 1), *detector = fit_without(t, &least, 1), size, left[20], values[20];
    size_t rank = t->s.rank, n = 6 * t->s.each;
    for (size_t i = 0; i < 20; i++) {
        size_t frame = i < 10 ? 10 + i : 40 + i;
        assert_near(trials.errors[i], frame_error(t, &map, p, frame, &size), 1e-6);
        assert_int_equal(trials.novel[i], i == 0);
        double lengths[6] = {0};
        for (size_t c = 0; c < t->columns_per_frame; c++) {
            reconstruct(t, &least, detector, t->s.coordinates + (frame * t->columns_per_frame + c) * rank, left,
                        values);
            for (size_t k = 0; k < n; k++) { /* values - U P' values = U (b - P' U b) */
                double miss = 0;
                for (size_t m = 0; m < rank; m++)
                    miss += t->s.vectors[(keys[k / t->s.each] * t->s.each + k % t->s.each) * rank + m] * left[m];
                lengths[k / t->s.each] += miss * miss;
            }
        }
        for (int k = 0; k < 6; k++)
            assert_near(trials.lengths[i * 6 + (size_t)k], lengths[k], 1e-6 * (1e-3 + lengths[k]));
    }
    /* Another fold is appended; with a share, only the frames with the largest residuals are examined. */
    assert_int_equal(pelt_try_fold(t, &map, t->fold, 2, true, 0.3, t->arena, &trials, NULL), PELT_OK);
    assert_int_equal(trials.count, 40);
    p = fit_without(t, &map, 2);
    double sizes[20], errors[20];
    for (size_t i = 0; i < 20; i++) errors[i] = frame_error(t, &map, p, i < 10 ? 20 + i : 50 + i, &sizes[i]);
    for (size_t i = 0; i < 20; i++) {
        size_t larger = 0;
        for (size_t k = 0; k < 20; k++) larger += sizes[k] > sizes[i];
        assert_near(trials.errors[20 + i], larger < 7 ? errors[i] : 0, 1e-6);
        assert_int_equal(trials.novel[20 + i], 1);
    }
    /* Only what is part of a shot counts. */
    float plain[19];
    memcpy(plain, trials.errors + 1, sizeof plain);
    qsort(plain, 19, sizeof *plain, pelt_rising_floats);
    assert_near(pelt_trial_quantile(t->arena, &trials, 0.995), plain[18], 0);
    assert_near(pelt_trial_quantile(t->arena, &trials, 0.5), plain[9], 0);
    assert_near(pelt_trial_quantile(t->arena, &trials, 0), plain[0], 0);
    trials.count = 1;
    assert_true(isinf(pelt_trial_quantile(t->arena, &trials, 0.5)));
    stop(&s);
}

static void trials_have_the_errors_of_frames_left_out(void **state) {
    (void)state;
    check_trials(false, false);
    check_trials(true, false);
    check_trials(false, true);
}

static void the_regularised_map_solves_its_equations(void **state) {
    (void)state;
    setup s;
    start(&s, test_frames_make(80, 30, 3, 20, 2e-3, 5), false, 10);
    const pelt_keys_training *t = &s.training;
    uint32_t keys[4] = {2, 9, 17, 26};
    size_t rank = t->s.rank, n = 12;
    pelt_map map = {keys, 4, 0, 3e-3};
    double *c = PELT_NEW(t->arena, rank * rank, double), *p = PELT_NEW(t->arena, rank * n, double), gram[144],
           trace = 0;
    double weight = pelt_fold_covariance(t, t->fold, 3, c);
    assert_int_equal(pelt_map_fit(t, &map, c, weight, p, NULL), PELT_OK);
#define ROW(i) (t->s.vectors + (keys[(i) / 3] * 3 + (i) % 3) * rank)
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            double sum = 0;
            for (size_t a = 0; a < rank; a++)
                for (size_t b = 0; b < rank; b++) sum += ROW(i)[a] * c[a * rank + b] * ROW(k)[b];
            gram[i * n + k] = sum;
            if (i == k) trace += sum;
        }
    for (size_t i = 0; i < n; i++) gram[i * n + i] += weight * t->s.tail[keys[i / 3] * 3 + i % 3] + 3e-3 * trace / 12;
    for (size_t m = 0; m < rank; m++) /* P (U C U^T + T + ridge I) = C U^T */
        for (size_t k = 0; k < n; k++) {
            double left = 0, right = 0;
            for (size_t i = 0; i < n; i++) left += p[m * n + i] * gram[i * n + k];
            for (size_t b = 0; b < rank; b++) right += c[m * rank + b] * ROW(k)[b];
            assert_near(left, right, 1e-9 * trace);
        }
#undef ROW
    stop(&s);
}

/* -- Regions ------------------------------------------------------------------------------------------------------- */

static double feature_distance(const pelt_keys_training *t, size_t a, size_t b) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += pow((t->positions[3 * a + i] - t->positions[3 * b + i]) / t->diagonal, 2);
    for (size_t m = 0; m < 8 && m < t->s.rank; m++) {
        double moves[2] = {0};
        for (size_t i = 0; i < 3; i++) {
            moves[0] += pow(t->s.vectors[(a * 3 + i) * t->s.rank + m] * t->s.values[m], 2);
            moves[1] += pow(t->s.vectors[(b * 3 + i) * t->s.rank + m] * t->s.values[m], 2);
        }
        sum += pow(3 * (sqrt(moves[0] / t->s.weight) - sqrt(moves[1] / t->s.weight)) / t->diagonal, 2);
    }
    return sqrt(sum);
}

static void regions_lie_around_far_apart_keys_with_soft_borders(void **state) {
    (void)state;
    setup s;
    start(&s, test_frames_make(60, 50, 3, 12, 1e-3, 9), false, 20);
    const pelt_keys_training *t = &s.training;
    enum { REGIONS = 6 };
    uint32_t keys[12], middles[REGIONS] = {0};
    for (uint32_t k = 0; k < 12; k++) keys[k] = (k * 17 + 5) % 50;
    pelt_keys_model m = {.t = t, .keys = keys, .key_count = 12};
    pelt_keys_regions(&m, REGIONS);
    assert_int_equal(m.region_count, REGIONS);
    double spacing = INFINITY;
    middles[0] = keys[0];
    for (int g = 1; g < REGIONS; g++) {
        double most = -1;
        for (int k = 0; k < 12; k++) {
            double nearest = INFINITY;
            for (int h = 0; h < g; h++) nearest = fmin(nearest, feature_distance(t, keys[k], middles[h]));
            if (nearest > most + 1e-9) most = nearest, middles[g] = keys[k];
        }
        spacing = fmin(spacing, most);
    }
    int soft = 0;
    for (size_t p = 0; p < 50; p++) {
        double value[REGIONS], sorted[REGIONS], nearest = INFINITY, sum = 0, found = 0;
        for (int g = 0; g < REGIONS; g++) nearest = fmin(nearest, feature_distance(t, p, middles[g]));
        for (int g = 0; g < REGIONS; g++)
            value[g] = sorted[g] =
                pow(fmax(0, 1 - (feature_distance(t, p, middles[g]) - nearest) / (0.5 * spacing)), 2);
        qsort(sorted, REGIONS, sizeof *sorted, pelt_rising_doubles);
        for (int i = 0; i < 4; i++) sum += sorted[REGIONS - 1 - i];
        for (int i = 0; i < 4; i++) {
            double w = m.point_region_weights[4 * p + (size_t)i];
            found += w;
            soft += w > 0.01 && w < 0.99;
            if (w > 0) assert_near(w, value[m.point_regions[4 * p + (size_t)i]] / sum, 1e-4);
        }
        assert_near(found, 1, 1e-6);
    }
    assert_true(soft > 10);
    for (uint16_t g = 0; g < REGIONS; g++) /* a middle is all its own region's */
        for (size_t i = 0; i < 4; i++)
            if (m.point_region_weights[4 * middles[g] + i] > 0)
                assert_int_equal(m.point_regions[4 * middles[g] + i], g);
    pelt_keys_regions(&m, 40);
    assert_int_equal(m.region_count, 12);
    pelt_keys_regions(&m, 1);
    for (size_t p = 0; p < 50; p++) {
        double sum = 0;
        for (size_t i = 0; i < 4; i++) sum += m.point_region_weights[4 * p + i];
        assert_near(sum, 1, 0);
    }
    stop(&s);
}

/* -- Bounds -------------------------------------------------------------------------------------------------------- */

enum { ORDINARY = 600, NOVEL = 400, TRIALS = ORDINARY + NOVEL };

/* Three keys in two regions; the second key belongs to both. */
static const double share[2][3] = {{1, 0.4, 0}, {0, 0.6, 1}};

static void misfit_of(const float *lengths, int region, double *rms, double *largest) {
    double sum = 0, weight = 0;
    *largest = 0;
    for (int k = 0; k < 3; k++) {
        if (!(share[region][k] > 0)) continue;
        sum += share[region][k] * lengths[k], weight += share[region][k];
        *largest = fmax(*largest, sqrt(lengths[k]));
    }
    *rms = sqrt(sum / weight);
}

static double nearest_rank(double *values, size_t count, double part) {
    qsort(values, count, sizeof *values, pelt_rising_doubles);
    return values[(size_t)lround(part * (double)(count - 1))];
}

typedef enum badness { NEVER, EARLY, BETWEEN } badness;

/* Trials with random misfits; novel ones are bad above a misfit: never, above half of what 95% of the ordinary frames
   have, or between that and what 99.5% have. */
static void check_bounds(badness bad_from) {
    static float lengths[TRIALS * 3], errors[TRIALS];
    static uint8_t novel[TRIALS];
    static double list[TRIALS], e[TRIALS];
    pelt_arena *arena = pelt_arena_new(0);
    pelt_keys_options options = {0};
    pelt_keys_training t = {.options = &options, .arena = arena, .point_count = 6, .diagonal = 2};
    uint32_t keys[3] = {0, 3, 5};
    uint16_t regions[24] = {[12] = 0, [13] = 1, [20] = 1};
    float weights[24] = {[0] = 1, [12] = 0.4f, [13] = 0.6f, [20] = 1};
    pelt_misfit_bound bounds[2];
    pelt_keys_model m = {.t = &t, .keys = keys, .key_count = 3, .region_count = 2, .point_regions = regions};
    m.point_region_weights = weights, m.bounds = bounds;
    pelt_trials trials = {.count = TRIALS, .key_count = 3, .errors = errors, .lengths = lengths, .novel = novel};
    uint64_t seed = 12;
    for (int i = 0; i < TRIALS; i++) {
        novel[i] = i % 5 >= 3; /* mixed, two of five */
        for (int k = 0; k < 3; k++) lengths[3 * i + k] = (float)((k + 1) * pow(test_random(&seed), 2));
    }
    double scale[2][2];
    for (int g = 0; g < 2; g++)
        for (int kind = 0; kind < 2; kind++) {
            size_t count = 0;
            for (int i = 0; i < TRIALS; i++) {
                double value[2];
                misfit_of(lengths + 3 * i, g, &value[0], &value[1]);
                if (!novel[i]) list[count++] = value[kind];
            }
            assert_int_equal(count, ORDINARY);
            scale[g][kind] = nearest_rank(list, count, 0.98);
        }
    size_t count = 0;
    for (int i = 0; i < TRIALS; i++) {
        e[i] = 0;
        for (int g = 0; g < 2; g++) {
            double rms, largest;
            misfit_of(lengths + 3 * i, g, &rms, &largest);
            e[i] = fmax(e[i], fmax(rms / scale[g][0], largest / scale[g][1]));
        }
        if (!novel[i]) list[count++] = e[i];
    }
    double low = nearest_rank(list, count, 0.95), high = nearest_rank(list, count, 0.995), factor = 0;
    double from = bad_from == NEVER ? INFINITY : bad_from == EARLY ? low / 2 : (low + high) / 2;
    for (int i = 0; i < TRIALS; i++) errors[i] = novel[i] && e[i] > from ? 0.03f : 0.005f;
    for (int i = 0; i < TRIALS; i++) { /* the largest that lets one bad frame in a thousand pass */
        int passed = 0;
        for (int k = 0; k < TRIALS; k++) passed += e[k] <= e[i] && errors[k] > 0.02;
        if (passed <= 1) factor = fmax(factor, e[i]);
    }
    factor = fmax(fmin(factor, high), low);
    if (bad_from == BETWEEN) assert_true(factor > low + 1e-3 && factor < high - 1e-3); /* they decide */
    int hits = 0, bad = 0, caught = 0;
    for (int i = 0; i < TRIALS; i++) {
        hits += !novel[i] && e[i] <= factor * (1 + 1e-6);
        bad += novel[i] && errors[i] > 0.02;
        caught += novel[i] && errors[i] > 0.02 && e[i] > factor * (1 + 1e-6);
    }
    pelt_keys_report report = {0};
    pelt_keys_bounds(&m, &trials, 0.02, &report);
    for (int g = 0; g < 2; g++) {
        assert_near(bounds[g].rms, factor * scale[g][0], 1e-5);
        assert_near(bounds[g].largest, factor * scale[g][1], 1e-5);
    }
    assert_near(report.hit_rate, hits / (double)ORDINARY, 1e-12);
    assert_int_equal(report.bad_frames, bad);
    assert_near(report.bad_caught, bad ? caught / (double)bad : 1, 1e-12);
    /* No misfit at all: then rounding sets the bound. */
    memset(lengths, 0, sizeof lengths);
    pelt_keys_bounds(&m, &trials, 0.02, &report);
    for (int g = 0; g < 2; g++) {
        assert_near(bounds[g].rms, 2e-5, 1e-11);
        assert_near(bounds[g].largest, 2e-5, 1e-11);
    }
    assert_near(report.hit_rate, 1, 0);
    trials.count = 0;
    pelt_keys_bounds(&m, &trials, 0.02, &report);
    assert_near(report.hit_rate, 1, 0);
    assert_near(report.bad_caught, 1, 0);
    pelt_arena_free(arena);
}

static void bounds_let_hardly_any_bad_frame_pass(void **state) {
    (void)state;
    check_bounds(NEVER);   /* nothing is bad: 5 of 1000 ordinary frames miss */
    check_bounds(EARLY);   /* much is bad: no more than 50 of 1000 miss */
    check_bounds(BETWEEN); /* the bad frames decide */
}

/* One region, one key; errors are three times the misfit in most frames. */
static void bounds_are_raised_to_where_errors_reach_the_bar(void **state) {
    (void)state;
    enum { N = 9 };
    pelt_arena *arena = pelt_arena_new(0);
    pelt_keys_options options = {0};
    pelt_keys_training t = {.options = &options, .arena = arena, .point_count = 1, .diagonal = 2};
    uint32_t keys[1] = {0};
    uint16_t regions[4] = {0};
    float weights[4] = {1}, lengths[N], wrong[N], errors[N] = {0};
    uint8_t novel[N] = {0};
    for (int i = 0; i < N; i++) {
        float misfit = 1e-3f * (float)(i + 1);
        lengths[i] = misfit * misfit, wrong[i] = (i < 2 ? 30 : i < 4 ? 0.3f : 3) * misfit;
    }
    pelt_misfit_bound bounds[1] = {{1e-4f, 1}};
    pelt_keys_model m = {.t = &t, .keys = keys, .key_count = 1, .region_count = 1, .point_regions = regions};
    m.point_region_weights = weights, m.bounds = bounds;
    pelt_trials trials = {.count = N, .key_count = 1, .errors = errors, .lengths = lengths, .novel = novel};
    trials.region_errors = wrong;
    pelt_keys_raise_bounds(&m, &trials, 0.06);
    assert_near(bounds[0].rms, 0.02, 1e-6);
    assert_near(bounds[0].largest, 1, 0); /* never lowered */
    memset(wrong, 0, sizeof wrong);       /* no errors: nothing is known, nothing changes */
    pelt_keys_raise_bounds(&m, &trials, 0.06);
    assert_near(bounds[0].rms, 0.02, 1e-6);
    pelt_arena_free(arena);
}

/* How likely at most `hits` of ten shots are hits after eleven hits of twelve (beta-binomial), or after one. */
static double chance_up_to(int hits, bool most_were_hits) {
    double a = most_were_hits ? 11 : 1, b = 12 - a, sum = 0;
    for (int k = 0; k <= hits; k++)
        sum += exp(lgamma(11) - lgamma(k + 1) - lgamma(11 - k) + lgamma(k + a) + lgamma(10 - k + b) - lgamma(22) +
                   lgamma(12) - lgamma(a) - lgamma(b));
    return sum;
}

/* Whether some share of ten shots is a quantile of their distribution, give or take what 1000 draws allow. */
static void assert_hits(double rate, double quantile, bool most_were_hits) {
    int hits = (int)lround(10 * rate);
    assert_near(10 * rate, hits, 1e-9);
    assert_true(chance_up_to(hits, most_were_hits) > quantile - 0.04);
    assert_true(hits == 0 || chance_up_to(hits - 1, most_were_hits) < quantile + 0.04);
}

/* Ten shots of twelve frames: of the same motions, or each with a bump of its own where nothing else moves. */
static void the_forecast_knows_whether_shots_are_alike(void **state) {
    (void)state;
    enum { SHOTS = 10, EACH = 12, N = SHOTS * EACH, P = 60 };
    static uint32_t shots[N];
    for (int own = 0; own < 2; own++) {
        test_frames *t = test_frames_make(N, P, 3, 4, 0, 3);
        for (uint32_t f = 0; f < N; f++) {
            shots[f] = f / EACH;
            for (uint32_t p = 6 * shots[f]; own && p < 6 * shots[f] + 3; p++) t->values[(f * P + p) * 3 + 1] += 0.05f;
        }
        t->frames.shots = shots;
        pelt_keys_report report;
        pelt_bytes *bytes = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 14, .diagonal = 1}, &report, NULL);
        assert_non_null(bytes);
        const pelt_keys_forecast *f = &report.forecast;
        assert_int_equal(f->rehearsals, 8);
        assert_int_equal(f->frames, N); /* each is left out once */
        /* Ten shots were seen, and two are imagined: a hit and a miss. */
        assert_hits(f->hit_rate.low, 0.05, !own);
        assert_hits(f->hit_rate.expected, 0.5, !own);
        assert_hits(f->hit_rate.high, 0.95, !own);
        assert_true(f->error_p995.low <= f->error_p995.expected && f->error_p995.expected <= f->error_p995.high);
        if (own) { /* the bump of a shot left out cannot be foreseen: 5% of the diagonal */
            assert_true(f->bad_frames == N && f->missed_bad == 0);
            assert_true(f->error_p995.low < 0.055 && f->error_p995.high > 0.045);
        } else {
            assert_true(f->error_p995.high < 1e-3 && f->bad_frames == 0);
        }
        pelt_bytes_free(bytes);
        test_frames_free(t);
    }
}

/* Points on a line, a hundredth of its length apart: as wide a spacing as that of every third point. */
static void keys_keep_the_distance_that_is_asked_for(void **state) {
    (void)state;
    enum { N = 40, P = 101, KEYS_OF_LINE = 12 };
    test_frames *t = test_frames_make(N, P, 3, 8, 0, 5);
    static float places[3 * P];
    for (int p = 0; p < P; p++) places[3 * p] = (float)p;
    for (int wide = 0; wide < 2; wide++) {
        pelt_keys_options options = {.keys = KEYS_OF_LINE, .positions = places, .spacing = wide ? 0.0295 : 1e-6};
        pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, NULL, NULL);
        assert_non_null(bytes);
        pelt_keys keys;
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
        int nearest = P;
        for (uint32_t a = 0; a < keys.key_count; a++)
            for (uint32_t b = 0; b < a; b++) {
                int apart = abs((int)keys.key_points[a] - (int)keys.key_points[b]);
                nearest = apart < nearest ? apart : nearest;
            }
        assert_true(wide ? nearest >= 3 : nearest < 3);
        pelt_bytes_free(bytes);
    }
    test_frames_free(t);
}

/* -- Training as a whole ------------------------------------------------------------------------------------------- */

enum { FRAMES = 120, POINTS = 40, KEYS = 10 };

/* Shots of ten frames, and five isolated poses; eight shots; seven, which are too few to be used; poses only. */
typedef enum cutting { TEN_AND_POSES, EIGHT, SEVEN, POSES, CUTTINGS } cutting;

/* Numbers the shots, and says in which of four folds a frame is left out. */
static void cut(cutting how, uint32_t *shots, uint32_t *fold) {
    for (uint32_t f = 0; f < FRAMES; f++) {
        shots[f] = how == TEN_AND_POSES ? (f < FRAMES - 5 ? f / 10 : 100 + f)
                   : how == EIGHT       ? (f < 70 ? f / 10 : 7)
                   : how == SEVEN       ? (f < 60 ? f / 10 : 6)
                                        : f;
        fold[f] = how == SEVEN ? f * 8 / FRAMES % 4 : !f ? 0 : (fold[f - 1] + (shots[f] != shots[f - 1])) % 4;
    }
}

/* The error that 99.5% of the first frames stay under, each left out with its fold. */
static double error_by_definition(setup *s, const pelt_map *map, size_t ordinary) {
    static float errors[FRAMES];
    pelt_keys_training *t = &s->training;
    size_t count = 0;
    for (uint32_t fold = 0; fold < 4; fold++) {
        double *p = fit_without(t, map, fold), size[FRAMES], e[FRAMES];
        size_t frames = 0, index[FRAMES];
        for (size_t f = 0; f < FRAMES; f++)
            if (t->fold[f] == fold) index[frames] = f, e[frames] = frame_error(t, map, p, f, &size[frames]), frames++;
        for (size_t i = 0; i < frames; i++) {
            size_t larger = 0;
            for (size_t k = 0; k < frames; k++) larger += size[k] > size[i];
            if (index[i] < ordinary) errors[count++] = larger < (size_t)(0.1 * (double)frames + 1) ? (float)e[i] : 0;
        }
    }
    assert_int_equal(count, ordinary);
    return pelt_quantile_floats(errors, count, 0.995);
}

static void the_report_has_the_errors_of_shots_held_out(void **state) {
    (void)state;
    static uint32_t shots[FRAMES], fold[FRAMES];
    for (cutting how = 0; how < CUTTINGS; how++) {
        size_t ordinary = how == TEN_AND_POSES ? FRAMES - 5 : FRAMES;
        cut(how, shots, fold);
        test_frames *t = test_frames_make(FRAMES, POINTS, 3, 14, how % 2 ? 3e-2 : 1e-4, 3);
        for (size_t f = FRAMES - 5; f < FRAMES; f++) /* poses like no other, which do not count as errors of shots */
            t->values[f * 3 * POINTS + 3 * (7 * f % POINTS) + 1] += 0.2f;
        t->frames.shots = shots;
        pelt_keys_report report;
        pelt_keys keys;
        pelt_bytes *bytes = pelt_keys_train(
            &t->frames, &(pelt_keys_options){.keys = KEYS, .diagonal = 2, .seed = 1, .exact = true}, &report, NULL);
        assert_non_null(bytes);
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
        setup s;
        start(&s, t, false, 3 * KEYS + 64);
        uint32_t chosen[KEYS];
        memcpy(s.training.fold, fold, sizeof fold);
        memcpy(chosen, keys.key_points, sizeof chosen);
        double found[3], best = INFINITY, tried[3] = {1e-4, 1e-5, 1e-6};
        for (int i = 0; i < 3; i++) {
            found[i] = error_by_definition(&s, &(pelt_map){chosen, KEYS, 3 * KEYS, tried[i]}, ordinary);
            best = fmin(best, found[i]);
        }
        int strongest = found[0] <= 1.1 * best ? 0 : found[1] <= 1.1 * best ? 1 : 2;
        assert_near(report.ridge, tried[strongest], 1e-12);
        assert_near(report.error_p995, found[strongest], 1e-5 * found[strongest]);
        assert_int_equal(report.frames, FRAMES);
        assert_int_equal(report.keys, KEYS);
        assert_int_equal(report.basis, 3 * KEYS);
        assert_int_equal(keys.frame_count, FRAMES);
        for (uint32_t i = 0; i < 5; i++) { /* the first keys alone */
            uint32_t count = 2 * (i + 1);
            assert_int_equal(report.curve_keys[i], count);
            pelt_map part = {chosen, count, 3 * count, tried[strongest]};
            assert_near(report.curve_error[i], error_by_definition(&s, &part, ordinary), 1e-5 * report.curve_error[i]);
        }
        assert_int_equal(report.curve_keys[5], 0);
        pelt_bytes_free(bytes);
        stop(&s);
    }
}

/* Controls that each cause a separate motion, in a few frames. */
static void controls_held_out_set_the_bounds_where_they_can(void **state) {
    (void)state;
    enum { CONTROLS = 9 };
    static float controls[(FRAMES + 1) * CONTROLS]; /* what is behind the last frame is not looked at */
    static uint32_t shots[FRAMES];
    for (int c = 0; c < CONTROLS; c++) controls[FRAMES * CONTROLS + c] = 1e6f;
    for (int always = 0; always < 2; always++) {
        test_frames *t = test_frames_make(FRAMES, POINTS, 3, 4, 1e-5, 3);
        for (uint32_t f = 0; f < FRAMES; f++) {
            shots[f] = f / 10;
            for (uint32_t c = 0; c < CONTROLS; c++) {
                bool on = always || f / 2 % CONTROLS == c;
                controls[f * CONTROLS + c] = on ? 0.5f : 0.01f;
                for (uint32_t p = 4 * c; on && p < 4 * c + 4; p++)
                    t->values[(f * POINTS + p) * 3 + 1] += always ? 0 : 0.3f;
            }
        }
        t->frames.shots = shots, t->frames.controls = controls, t->frames.control_count = CONTROLS;
        pelt_keys_report report;
        pelt_bytes *bytes = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 12, .diagonal = 1}, &report, NULL);
        assert_non_null(bytes);
        assert_int_equal(report.by_controls, !always);
        /* An unseen motion is bad, and its keys do not fit. At least two groups of three controls are left out, 6 of 9
           frames in 18 each. */
        if (!always) assert_true(report.bad_frames >= 60 && report.bad_caught > 0.9);
        if (always) assert_int_equal(report.bad_frames, 0);
        pelt_bytes_free(bytes);
        t->frames.control_count = 0; /* a table with shots alone */
        bytes = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 12, .diagonal = 1}, &report, NULL);
        assert_non_null(bytes);
        assert_false(report.by_controls);
        pelt_bytes_free(bytes);
        test_frames_free(t);
    }
}

static void an_error_bound_keeps_fiducials_and_tries_each_number_once(void **state) {
    (void)state;
    test_frames *t = test_frames_make(160, 50, 3, 10, 1e-4, 6);
    uint32_t fiducials[30];
    for (uint32_t i = 0; i < 30; i++) fiducials[i] = 49 - i;
    pelt_keys_options options = {.error = 0.2, .diagonal = 1, .fiducials = fiducials, .fiducial_count = 30};
    pelt_keys_report report;
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, &report, NULL);
    assert_non_null(bytes);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_int_equal(keys.key_count, 30);
    for (int i = 0; i < 30; i++) assert_int_equal(keys.key_points[i], fiducials[i]);
    pelt_bytes_free(bytes);
    options.error = 1e-9;
    assert_null(pelt_keys_train(&t->frames, &options, &report, NULL));
    static const uint32_t tried[PELT_KEYS_CURVE] = {30, 40, 50};
    for (int i = 0; i < PELT_KEYS_CURVE; i++) assert_int_equal(report.curve_keys[i], tried[i]);
    test_frames_free(t);
    static const uint32_t all[PELT_KEYS_CURVE] = {25, 40, 60, 85, 120, 170, 250, 350};
    t = test_frames_make(60, 400, 1, 3, 0.5, 6);
    assert_null(pelt_keys_train(&t->frames, &(pelt_keys_options){.error = 1e-9, .diagonal = 1}, &report, NULL));
    for (int i = 0; i < PELT_KEYS_CURVE; i++) assert_int_equal(report.curve_keys[i], all[i]);
    test_frames_free(t);
}

/* How far apart two points are for witnesses: position, and eight times how differently they moved. */
static double apart(const test_frames *t, const float *places, uint32_t a, uint32_t b) {
    uint32_t frames = t->frames.frame_count, points = t->frames.point_count;
    double sum = pow(places[3 * a] - places[3 * b], 2);
    for (uint32_t i = 0; i < 3; i++) {
        double mean = 0, square = 0;
        for (uint32_t f = 0; f < frames; f++)
            mean += (t->values[(f * points + a) * 3 + i] - t->values[(f * points + b) * 3 + i]) / frames;
        for (uint32_t f = 0; f < frames; f++)
            square += pow(t->values[(f * points + a) * 3 + i] - t->values[(f * points + b) * 3 + i] - mean, 2) / frames;
        sum += 64 * square;
    }
    return sqrt(sum);
}

/* Points of a line, keys and witnesses: none is further from one of them than 3% of the diagonal. */
static void witnesses_fill_the_gaps_between_keys(void **state) {
    (void)state;
    enum { LINE = 60 };
    test_frames *t = test_frames_make(80, LINE, 3, 6, 1e-3, 5);
    for (int i = 0; i < 80 * 3 * LINE; i++) t->values[i] *= 0.02f; /* position and motion count alike */
    float places[3 * LINE] = {0};
    for (int p = 0; p < LINE; p++) places[3 * p] = (float)(p * p) / (LINE * LINE); /* closer at one end */
    pelt_keys_report report;
    pelt_keys_options options = {.keys = 12, .positions = places, .diagonal = 1, .bar = 0.02};
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, &report, NULL);
    pelt_keys keys;
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_true(keys.region_count == 4 && report.regions == 4);
    assert_true(keys.witness_count > 2 && keys.witness_count < LINE - 12);
    assert_int_equal(report.witnesses, keys.witness_count);
    assert_int_equal(report.witnesses_each_frame, keys.witness_rule->each_frame);
    assert_near(keys.witness_rule->bound, 0.012, 1e-9);
    double usual = keys.witness_count / 25.0 * fmin(1, report.error_p995 / 0.01);
    assert_int_equal(keys.witness_rule->each_frame, fmax(1, ceil(usual)));
    for (uint32_t p = 0; p < LINE; p++) {
        double nearest = INFINITY;
        for (uint32_t k = 0; k < 12; k++) nearest = fmin(nearest, apart(t, places, p, keys.key_points[k]));
        for (uint32_t w = 0; w < keys.witness_count; w++)
            nearest = fmin(nearest, apart(t, places, p, keys.witness_points[w]));
        assert_true(nearest <= 0.03 + 1e-4);
    }
    for (uint32_t k = 0; k < 12; k++) /* keys keep their distance */
        for (uint32_t i = 0; i < k; i++)
            assert_true(fabs(places[3 * keys.key_points[k]] - places[3 * keys.key_points[i]]) >= 0.012 - 1e-7);
    pelt_bytes_free(bytes);
    const struct {
        pelt_keys_options options;
        uint32_t regions, each_frame;
    } cases[] = {{{.keys = 12, .witnesses = 3, .regions = 2}, 2, 3},
                 {{.keys = 12, .witnesses = 10000}, 4, UINT32_MAX}, /* all of them */
                 {{.keys = 12, .witnesses = PELT_KEYS_NO_WITNESSES}, 4, 0},
                 {{.keys = 12, .recipe = PELT_KEYS_PAPER}, 1, 0},
                 {{.keys = 12, .shared = true}, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes = pelt_keys_train(&t->frames, &cases[i].options, &report, NULL);
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
        assert_int_equal(keys.region_count, cases[i].regions);
        uint32_t each_frame = keys.witness_rule ? keys.witness_rule->each_frame : 0;
        assert_int_equal(each_frame, cases[i].each_frame == UINT32_MAX ? keys.witness_count : cases[i].each_frame);
        assert_true((keys.witness_count > 0) == (each_frame > 0));
        pelt_bytes_free(bytes);
    }
    test_frames_free(t);
}

/* -- Options ------------------------------------------------------------------------------------------------------- */

/* The range seen, extended by a twentieth on either side, or of the others' median if a control was constant;
   retraining keeps what was known. */
static void the_file_knows_where_the_controls_were(void **state) {
    (void)state;
    enum { N = 40, CONTROLS = 5 };
    static const float low[CONTROLS] = {0, -1, 0.25f, 2, 0}, high[CONTROLS] = {1, 1, 0.25f, 6, 10};
    const double beyond[CONTROLS] = {0.05, 0.1, 0.05 * 4, 0.2, 0.5}; /* widths 1 2 4 10: of these the upper middle */
    float controls[N * CONTROLS], weights[N];
    test_frames *t = test_frames_make(N, POINTS, 3, 4, 1e-3, 5);
    for (int f = 0; f < N; f++) {
        weights[f] = f != 7;
        for (int c = 0; c < CONTROLS; c++)
            controls[f * CONTROLS + c] = f == 7        ? 99
                                         : f == 10 + c ? low[c]
                                         : f == 30     ? high[c]
                                                       : (low[c] + high[c]) / 2;
    }
    t->frames.controls = controls, t->frames.control_count = CONTROLS, t->frames.weights = weights;
    pelt_keys keys, again;
    pelt_keys_options options = {.keys = 8, .diagonal = 1};
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, NULL, NULL), *more;
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_int_equal(keys.control_count, CONTROLS);
    for (int c = 0; c < CONTROLS; c++) {
        assert_near(keys.control_ranges[c].low, low[c] - beyond[c], 1e-6);
        assert_near(keys.control_ranges[c].high, high[c] + beyond[c], 1e-6);
    }
    for (int f = 0; f < N; f++) controls[f * CONTROLS] += 5; /* all but one stay where they were */
    options.previous = &keys;
    more = pelt_keys_train(&t->frames, &options, NULL, NULL);
    assert_int_equal(pelt_keys_open(more->bytes, more->size, &again), PELT_OK);
    assert_near(again.control_ranges[0].low, -0.05, 1e-6);
    assert_near(again.control_ranges[0].high, 6.05, 1e-5);
    assert_memory_equal(again.control_ranges + 1, keys.control_ranges + 1,
                        (CONTROLS - 1) * sizeof *keys.control_ranges);
    pelt_bytes_free(more);
    keys.control_ranges = NULL, keys.control_count = 0; /* an older file: the ranges are unknown */
    for (int i = 0; i < 3; i++) {
        if (i == 1) options = (pelt_keys_options){.keys = 8, .diagonal = 1, .witnesses = PELT_KEYS_NO_WITNESSES};
        if (i == 2) options.witnesses = 0, controls[0] = -3e38f, controls[CONTROLS] = 3e38f; /* too wide for a float */
        more = pelt_keys_train(&t->frames, &options, NULL, NULL);
        assert_int_equal(pelt_keys_open(more->bytes, more->size, &again), PELT_OK);
        assert_true(!again.control_count && !again.control_ranges);
        pelt_bytes_free(more);
    }
    pelt_bytes_free(bytes);
    test_frames_free(t);
}

/* -- Appending ----------------------------------------------------------------------------------------------------- */

enum { APPENDED_POINTS = 40, APPENDED_ROWS = 3 * APPENDED_POINTS };

static double entry_of(const pelt_keys *keys, size_t row, size_t m) {
    size_t at = (row / 16 * keys->basis_count + m) * 16 + row % 16;
    return keys->half ? pelt_half_value(((const uint16_t *)keys->basis)[at]) : ((const float *)keys->basis)[at];
}

/* The mean square of a point's distance to the subspace of a file, over some frames; by Gram and Schmidt, twice. */
static double left_out_of(const pelt_keys *keys, const test_frames *t, uint32_t first, uint32_t end) {
    static double u[APPENDED_ROWS][APPENDED_ROWS];
    double sum = 0;
    for (size_t m = 0; m < keys->basis_count; m++) {
        for (size_t r = 0; r < APPENDED_ROWS; r++) u[m][r] = entry_of(keys, r, m);
        for (size_t k = 0; k < 2 * m; k++) {
            double along = 0;
            for (size_t r = 0; r < APPENDED_ROWS; r++) along += u[m][r] * u[k % m][r];
            for (size_t r = 0; r < APPENDED_ROWS; r++) u[m][r] -= along * u[k % m][r];
        }
        double square = 0;
        for (size_t r = 0; r < APPENDED_ROWS; r++) square += u[m][r] * u[m][r];
        for (size_t r = 0; r < APPENDED_ROWS; r++) u[m][r] /= sqrt(square);
    }
    for (uint32_t f = first; f < end; f++) {
        double x[APPENDED_ROWS];
        for (size_t r = 0; r < APPENDED_ROWS; r++) x[r] = (double)t->values[f * APPENDED_ROWS + r] - keys->mean[r];
        for (size_t m = 0; m < keys->basis_count; m++) {
            double along = 0;
            for (size_t r = 0; r < APPENDED_ROWS; r++) along += x[r] * u[m][r];
            for (size_t r = 0; r < APPENDED_ROWS; r++) x[r] -= along * u[m][r];
        }
        for (size_t r = 0; r < APPENDED_ROWS; r++) sum += x[r] * x[r] / APPENDED_POINTS;
    }
    return sum / (end - first);
}

static double says_left_out(const pelt_keys *keys) {
    double sum = 0;
    for (size_t r = 0; r < APPENDED_ROWS; r++) sum += keys->left_out[r] / APPENDED_POINTS;
    return sum;
}

static pelt_bytes *train_on(const test_frames *t, uint32_t first, uint32_t end, const pelt_keys *previous, bool exact,
                            pelt_keys_report *report, pelt_keys *keys) {
    test_frames some = *t;
    pelt_keys_options options = {.keys = 6, .diagonal = 2, .exact = exact, .previous = previous};
    some.values += first * (size_t)APPENDED_ROWS, some.frames.user = &some, some.frames.frame_count = end - first;
    pelt_bytes *bytes = pelt_keys_train(&some.frames, &options, report, NULL);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, keys), PELT_OK);
    return bytes;
}

/* A subspace of all frames leaves out e of them. One learned from an old file and the new frames leaves out no more than
   sqrt(e^2 + f^2), where f is what the file says that it has left out, over all frames; and what the new file says is
   never too little. The rounding of half floats counts twice: it is not beside the subspace, but in it. */
static void appending_is_as_good_as_training_on_all_within_what_was_left_out(void **state) {
    (void)state;
    enum { OLD = 60, MORE = 20, N = OLD + 2 * MORE };
    for (int exact = 0; exact < 2; exact++) {
        test_frames *t = test_frames_make(N, APPENDED_POINTS, 3, 30, 1e-3, 7);
        for (size_t i = 0; i < (size_t)N * APPENDED_ROWS; i++) { /* later frames move parts alone */
            size_t p = i % APPENDED_ROWS / 3, frame = i / APPENDED_ROWS;
            float rest = i % 3 ? 0 : (float)p / APPENDED_POINTS;
            if (frame < OLD ? false : frame < OLD + MORE ? p <= 25 : p >= 9) t->values[i] = rest;
        }
        pelt_keys_report report;
        pelt_keys full, old, keys;
        pelt_bytes *bytes = train_on(t, 0, OLD, NULL, exact, &report, &old);
        assert_true(exact || old.half);
        assert_near(says_left_out(&old), left_out_of(&old, t, 0, OLD), (exact ? 1e-5 : 1e-3) * says_left_out(&old));
        for (uint32_t end = OLD + MORE; end <= N; end += MORE) {
            pelt_bytes *all = train_on(t, 0, end, NULL, exact, &report, &full);
            pelt_bytes *next = train_on(t, end - MORE, end, &old, exact, &report, &keys);
            double e = sqrt(left_out_of(&full, t, 0, end)), reached = sqrt(left_out_of(&keys, t, 0, end));
            double forgotten = says_left_out(&old), f = sqrt(forgotten * (end - MORE) / end);
            assert_int_equal(keys.frame_count, end);
            assert_near(report.forgotten, sqrt(forgotten) / 2, 1e-6 * sqrt(forgotten));
            assert_true(reached <= (exact ? hypot(e, f) : e + 2 * f) * 1.001);
            assert_true(reached >= e * 0.999 && f < e); /* the bound says something */
            assert_true(reached <= sqrt(says_left_out(&keys)) * 1.001);
            pelt_bytes_free(bytes), pelt_bytes_free(all);
            bytes = next, old = keys;
        }
        old.left_out = NULL; /* an older file */
        pelt_bytes *next = train_on(t, N - MORE, N, &old, exact, &report, &keys);
        assert_true(report.forgotten == -1 && !keys.left_out);
        pelt_bytes_free(next), pelt_bytes_free(bytes);
        test_frames_free(t);
    }
}

static void what_cannot_be_trained_with_is_refused_by_its_name(void **state) {
    (void)state;
    test_frames *t = test_frames_make(20, 30, 3, 4, 1e-3, 1);
    static float places[90];
    uint32_t fiducial = 12;
    pelt_keys_options cases[] = {{.recipe = PELT_KEYS_RECIPE_COUNT},
                                 {.recipe = (pelt_keys_recipe)-1},
                                 {.keys = 31},
                                 {.keys = 11, .engine_points = 10},
                                 {.basis = 21},
                                 {.basis = 61, .shared = true},
                                 {.error = -0.1},
                                 {.error = 1},
                                 {.error = NAN},
                                 {.error = 0.1, .keys = 5},
                                 {.grid = 5, .keys = 5},
                                 {.grid = 2, .keys = 5, .shared = true},
                                 {.grid = 2, .keys = 5, .uncentred = true},
                                 {.fiducials = &fiducial, .fiducial_count = 1, .engine_points = 12},
                                 {.engine_points = 31},
                                 {.regions = 65537},
                                 {.ridge = -1e-9},
                                 {.ridge = 1.5},
                                 {.ridge = 0.1, .recipe = PELT_KEYS_PAPER},
                                 {.bar = 1},
                                 {.bar = -1},
                                 {.diagonal = -1},
                                 {.diagonal = INFINITY},
                                 {.batch = 3},
                                 {.residual = 0.1},
                                 {.residual = 1, .recipe = PELT_KEYS_PAPER},
                                 {.residual = 0.1, .error = 0.1, .recipe = PELT_KEYS_PAPER},
                                 {.spacing = 1},
                                 {.spacing = 0.1, .recipe = PELT_KEYS_PAPER},
                                 {.positions = places}};
    static const char *const names[] = {"recipe",   "recipe",    "keys",          "keys",     "basis",    "basis",
                                        "error",    "error",     "error",         "keys",     "grid",     "grid",
                                        "grid",     "fiducials", "engine_points", "regions",  "ridge",    "ridge",
                                        "ridge",    "bar",       "bar",           "diagonal", "diagonal", "batch",
                                        "residual", "residual",  "residual",      "spacing",  "spacing",  "positions"};
    places[77] = NAN;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_error error = {0};
        assert_null(pelt_keys_train(&t->frames, &cases[i], NULL, &error));
        assert_int_equal(error.code, PELT_ERROR_ARGUMENT);
        size_t length = strlen(names[i]);
        if (strncmp(error.text, names[i], length) || (error.text[length] != ':' && error.text[length] != ' '))
            fail_msg("case %zu: \"%s\" does not begin with %s", i, error.text, names[i]);
    }
    /* The limits themselves are valid. */
    places[77] = 0;
    fiducial = 11;
    pelt_keys_options fine[] = {{.keys = 30},
                                {.keys = 12, .engine_points = 12, .fiducials = &fiducial, .fiducial_count = 1},
                                {.basis = 20},
                                {.grid = 4, .keys = 5},
                                {.keys = 5, .regions = 65536},
                                {.keys = 6, .batch = 1, .residual = 0.5, .recipe = PELT_KEYS_PAPER},
                                {.keys = 5, .ridge = 1},
                                {.keys = 5, .grid = 2, .shared = true, .positions = places, .diagonal = 1}};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        pelt_error error = {0};
        pelt_bytes *bytes = pelt_keys_train(&t->frames, &fine[i], NULL, &error);
        if (!bytes) fail_msg("case %zu: %s", i, error.text);
        pelt_bytes_free(bytes);
    }
    test_frames_free(t);
}

static void frames_that_cannot_be_trained_on_are_refused(void **state) {
    (void)state;
    test_frames *t = test_frames_make(20, 30, 3, 4, 1e-3, 1);
    float weights[20];
    for (int i = 0; i < 20; i++) weights[i] = 1;
    pelt_error error = {0};
    const pelt_frames whole = t->frames;
    t->frames.weights = weights;
    for (int i = 0; i < 20; i += 19) {
        weights[i] = i ? NAN : -1;
        assert_null(pelt_keys_train(&t->frames, NULL, NULL, &error));
        assert_int_equal(error.code, PELT_ERROR_NUMBER);
        weights[i] = 1;
    }
    weights[7] = -1;
    assert_null(pelt_keys_train(&t->frames, NULL, NULL, &error));
    assert_string_equal(error.text, "made-up frames: frame 7 has weight -1; weights must be 0 or more");
    memset(weights, 0, sizeof weights);
    assert_null(pelt_keys_train(&t->frames, NULL, NULL, &error));
    assert_non_null(strstr(error.text, "all frames have weight 0"));
    weights[3] = weights[11] = weights[17] = 2; /* a few are enough, and others are as if they were not there */
    t->values[5 * 90] = 1e6f;
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 4}, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_int_equal(keys.frame_count, 6);
    for (int r = 0; r < 90; r++)
        assert_near(keys.mean[r], (t->values[3 * 90 + r] + t->values[11 * 90 + r] + t->values[17 * 90 + r]) / 3, 1e-5);
    pelt_bytes_free(bytes);
    pelt_frames none[] = {whole, whole, whole, whole, whole};
    none[0].frame_count = none[1].point_count = none[2].component_count = 0, none[3].read = NULL;
    none[4].component_count = 65;
    for (int i = 0; i < 5; i++) {
        assert_null(pelt_keys_train(&none[i], NULL, NULL, &error));
        assert_int_equal(error.code, PELT_ERROR_DATA);
    }
    t->frames = whole;
    t->values[13 * 90 + 4 * 3 + 2] = NAN;
    assert_null(pelt_keys_train(&t->frames, NULL, NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_NUMBER);
    assert_non_null(strstr(error.text, "frame 13, point 4 "));
    test_frames_free(t);
}

static void frames_are_read_once_where_they_fit_and_again_where_not(void **state) {
    (void)state;
    test_frames *t = test_frames_make(200, 60, 3, 4, 1e-3, 1);
    pelt_bytes *bytes[2];
    for (int held = 0; held < 2; held++) { /* batches of 64 frames */
        size_t memory = held ? 0 : 200 * 60 * 3 * sizeof(float) - 1;
        t->batches = 0;
        bytes[held] = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 4, .memory = memory}, NULL, NULL);
        assert_int_equal(t->batches, held ? 4 : 5 * 4 + 200); /* each is played once, when it is left out */
    }
    assert_int_equal(bytes[0]->size, bytes[1]->size);
    assert_memory_equal(bytes[0]->bytes, bytes[1]->bytes, bytes[0]->size);
    pelt_bytes_free(bytes[0]), pelt_bytes_free(bytes[1]);
    test_frames_free(t);
}

static int stop_at(void *user, const char *task, double fraction) {
    (void)fraction;
    return !strcmp(user, task);
}

static pelt_result read_nothing(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    (void)first, (void)count, (void)values;
    return error->code = PELT_ERROR_FILE, strcpy(error->text, user), PELT_ERROR_FILE;
}

static void training_ends_when_it_is_told_to_or_cannot_read(void **state) {
    (void)state;
    test_frames *t = test_frames_make(200, 60, 3, 4, 1e-3, 1);
    pelt_error error = {0};
    char *tasks[] = {"subspace", "keys", "keys"};
    for (int i = 0; i < 3; i++) {
        pelt_keys_options options = {.keys = 20, .recipe = i == 2 ? PELT_KEYS_PAPER : PELT_KEYS_PELT};
        options.progress = (pelt_progress){stop_at, tasks[i]};
        options.keys = i ? 20 : 4; /* few directions, so that they are turned towards the frames */
        assert_null(pelt_keys_train(&t->frames, &options, NULL, &error));
        assert_int_equal(error.code, PELT_ERROR_CANCELLED);
    }
    for (int held = 0; held < 2; held++) {
        t->frames.read = read_nothing, t->frames.user = "the disk is gone";
        assert_null(pelt_keys_train(&t->frames, &(pelt_keys_options){.memory = held ? 0 : 1}, NULL, &error));
        assert_string_equal(error.text, "the disk is gone");
    }
    test_frames_free(t);
}

/* -- The text ------------------------------------------------------------------------------------------------------ */

static pelt_result say(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error) {
    if (!user) return error->code = PELT_ERROR_NUMBER, PELT_ERROR_NUMBER;
    float values[15] = {0}, out[90], sum = 0; /* the keys can be run here */
    void *scratch = aligned_alloc(64, (pelt_keys_scratch_size(keys, 1) + 63) / 64 * 64);
    assert_int_equal(keys->key_count, 5);
    pelt_keys_solve(keys, values, 1, scratch, NULL);
    pelt_keys_fill(keys, scratch, 1, pelt_keys_all_blocks(keys), out);
    free(scratch);
    for (int i = 0; i < 90; i++) sum += out[i];
    assert_true(isfinite(sum));
    words->text = strdup(user);
    return PELT_OK;
}

static void the_callers_words_are_added_to_the_files_text(void **state) {
    (void)state;
    test_frames *t = test_frames_make(40, 30, 3, 4, 1e-3, 1);
    pelt_keys_options options = {.keys = 5, .describe = say};
    pelt_error error = {0};
    pelt_keys keys;
    options.describe_user = "{\"who\": \"a \\\"face\\\"\", \"keys\": 7}";
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, NULL, &error);
    assert_non_null(bytes);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_non_null(strstr(keys.about, "\"who\":\"a \\\"face\\\"\""));
    assert_non_null(strstr(keys.about, "\"recipe\":\"pelt\""));
    assert_non_null(strstr(keys.about, "\"frames\":40"));
    assert_int_equal(strlen(keys.about), keys.about_size);
    pelt_bytes_free(bytes);
    options.describe_user = "[1, 2]";
    assert_null(pelt_keys_train(&t->frames, &options, NULL, &error));
    assert_non_null(strstr(error.text, "describe: expected a JSON object"));
    options.describe_user = NULL;
    assert_null(pelt_keys_train(&t->frames, &options, NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_NUMBER);
    test_frames_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_have_the_errors_of_frames_left_out),
        cmocka_unit_test(the_regularised_map_solves_its_equations),
        cmocka_unit_test(regions_lie_around_far_apart_keys_with_soft_borders),
        cmocka_unit_test(bounds_are_raised_to_where_errors_reach_the_bar),
        cmocka_unit_test(the_forecast_knows_whether_shots_are_alike),
        cmocka_unit_test(keys_keep_the_distance_that_is_asked_for),
        cmocka_unit_test(bounds_let_hardly_any_bad_frame_pass),
        cmocka_unit_test(the_report_has_the_errors_of_shots_held_out),
        cmocka_unit_test(controls_held_out_set_the_bounds_where_they_can),
        cmocka_unit_test(an_error_bound_keeps_fiducials_and_tries_each_number_once),
        cmocka_unit_test(witnesses_fill_the_gaps_between_keys),
        cmocka_unit_test(appending_is_as_good_as_training_on_all_within_what_was_left_out),
        cmocka_unit_test(the_file_knows_where_the_controls_were),
        cmocka_unit_test(what_cannot_be_trained_with_is_refused_by_its_name),
        cmocka_unit_test(frames_that_cannot_be_trained_on_are_refused),
        cmocka_unit_test(frames_are_read_once_where_they_fit_and_again_where_not),
        cmocka_unit_test(training_ends_when_it_is_told_to_or_cannot_read),
        cmocka_unit_test(the_callers_words_are_added_to_the_files_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
