/* test_key_measure.c: figures of key points, against playing the frames by hand. */

#include "rig/sort.h"
#include "test/frames.h"

enum { FRAMES = 120, POINTS = 40 };

static double nearest_rank(double *values, size_t count, double part) {
    qsort(values, count, sizeof *values, pelt_rising_doubles);
    return values[(size_t)lround(part * (double)(count - 1))];
}

static int stop_at(void *user, const char *task, double fraction) {
    (void)fraction;
    return !strcmp(user, task);
}

/* The truth, as an engine whose control is the frame; and which points it was asked for. */
static bool asked[FRAMES][POINTS];

static int truth(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const test_frames *t = user;
    for (uint32_t i = 0; i < count; i++) asked[(size_t)controls[0]][points[i]] = true;
    for (uint32_t i = 0; i < count; i++)
        memcpy(values + 3 * i, t->values + ((size_t)controls[0] * t->frames.point_count + points[i]) * 3, 12);
    return 0;
}

static double length_of(const float *a, const float *b, const float *c, const float *d) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += pow((double)a[i] - b[i] - (c ? (double)c[i] - d[i] : 0), 2);
    return sqrt(sum);
}

/* Known motions, and in the second half some that training has not seen. */
static test_frames *frames_to_measure(void) {
    test_frames *t = test_frames_make(FRAMES, POINTS, 3, 4, 1e-3, 3);
    for (uint32_t f = FRAMES / 2; f < FRAMES; f++)
        for (uint32_t p = 0; p < POINTS; p++)
            t->values[(f * POINTS + p) * 3 + 2] += (float)(0.004 * (f % 15) * sin(0.9 * p));
    return t;
}

/* With controls: the number of the frame; training covered the second half. Returns the witnesses used per frame. */
static double check_measuring(bool with_controls) {
    static uint32_t shots[FRAMES];
    static float numbers[FRAMES], seen[FRAMES];
    memset(asked, 0, sizeof asked);
    for (uint32_t f = 0; f < FRAMES; f++) shots[f] = f / 15, numbers[f] = (float)f, seen[f] = (float)(60 + f / 2);
    test_frames *t = frames_to_measure(), *known = test_frames_make(FRAMES, POINTS, 3, 4, 1e-3, 4);
    t->frames.shots = known->frames.shots = shots;
    if (with_controls) t->frames.controls = numbers, known->frames.controls = seen;
    t->frames.control_count = known->frames.control_count = with_controls;
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_train(
        &known->frames, &(pelt_keys_options){.keys = 8, .diagonal = 2, .exact = true, .regions = 2}, NULL, NULL);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    pelt_keys_measure_options options = {.soft_cache = {.e_min = 1, .e_max = 3, .step = 0.002f}, .bar = 0.01};
    options.point_cost = 1e-3, options.call_cost = 5e-3;
    pelt_keys_measure *m = pelt_keys_measure_frames(&keys, &t->frames, &options, NULL);
    assert_non_null(m);
    /* by hand */
    enum { SIZE = POINTS * 3 };
    static float fill[FRAMES][SIZE], final[FRAMES][SIZE];
    double errors[FRAMES], finals[FRAMES], e[FRAMES], square = 0, evaluated = 0, jump = 0, switch_jump = 0;
    double witnesses = 0, calls = 0, still_jump = 0;
    uint32_t verdicts[PELT_CACHE_VERDICTS] = {0}, still_frames = 0;
    int hits = 0, good_shots = 0, missed = 0, shot_good = 0, under = 0, final_under = 0;
    pelt_soft_cache cache;
    void *memory = aligned_alloc(64, (pelt_soft_cache_size(&keys, 1) + 63) / 64 * 64),
         *scratch = aligned_alloc(64, (pelt_keys_scratch_size(&keys, 1) + 63) / 64 * 64);
    for (uint32_t f = 0; f < FRAMES; f++) {
        const float *now = t->values + f * SIZE, *before = now - SIZE;
        float key_values[24];
        pelt_soft_cache_frame_info info;
        if (f % 15 == 0)
            pelt_soft_cache_init(&cache, &keys, &options.soft_cache, (pelt_engine_call){truth, t, 1}, memory);
        for (int k = 0; k < 8; k++) memcpy(key_values + 3 * k, now + 3 * keys.key_points[k], 12);
        pelt_keys_solve(&keys, key_values, 1, scratch, NULL);
        pelt_keys_fill(&keys, scratch, 1, pelt_keys_all_blocks(&keys), fill[f]);
        assert_int_equal(pelt_soft_cache_next(&cache, &(float){(float)f}, final[f], &info), PELT_OK);
        errors[f] = finals[f] = 0, e[f] = info.e;
        double own_jump = 0, own_switch = 0, own_still = 0;
        bool trusted_bad = false;
        uint32_t worst = 0;
        for (uint32_t p = 0; p < POINTS; p++) {
            size_t at = 3 * p;
            double length = length_of(fill[f] + at, now + at, NULL, NULL);
            if (length / 2 > errors[f]) errors[f] = length / 2, worst = p;
            finals[f] = fmax(finals[f], length_of(final[f] + at, now + at, NULL, NULL) / 2);
            square += length * length;
            trusted_bad |= length / 2 > 0.01 && !asked[f][p];
            if (f % 15 == 0) continue;
            own_still = fmax(own_still, (length_of(final[f] + at, final[f - 1] + at, NULL, NULL) -
                                         length_of(now + at, before + at, NULL, NULL)) /
                                            2);
            own_jump = fmax(own_jump, length_of(fill[f] + at, now + at, fill[f - 1] + at, before + at) / 2);
            if (length_of(final[f] + at, fill[f] + at, NULL, NULL) >= 2e-6)
                own_switch = fmax(own_switch, length_of(final[f] + at, now + at, final[f - 1] + at, before + at) / 2);
        }
        const pelt_keys_frame *k = &m->frames[f];
        assert_near(k->error, errors[f], 1e-7);
        assert_near(k->final, finals[f], 1e-7);
        assert_near(k->e, e[f], 0);
        assert_near(k->jump, own_jump, 1e-7);
        assert_near(k->switch_jump, own_switch, 1e-7);
        assert_near(k->still, own_still, 1e-7);
        assert_int_equal(k->trusted_bad, trusted_bad);
        still_jump = fmax(still_jump, own_still), still_frames += k->still > 1e-3,
        witnesses += info.witnesses / (double)FRAMES;
        calls += info.calls / (double)FRAMES;
        verdicts[info.verdict]++;
        assert_int_equal(k->worst_point, worst);
        assert_int_equal(k->verdict, info.verdict);
        assert_int_equal(k->evaluated, info.evaluated);
        assert_int_equal(k->shot, f / 15);
        jump = fmax(jump, own_jump), switch_jump = fmax(switch_jump, own_switch);
        hits += info.verdict == PELT_CACHE_HIT, missed += trusted_bad;
        under += errors[f] <= 0.01, final_under += finals[f] <= 0.01;
        shot_good = (f % 15 == 0 || shot_good) && errors[f] <= 0.01;
        good_shots += f % 15 == 14 && shot_good;
        evaluated += info.evaluated / (double)FRAMES;
    }
    assert_true(hits > 20 && hits < FRAMES - 20 && good_shots > 0 && good_shots < 8);
    assert_int_equal(m->frame_count, FRAMES);
    assert_int_equal(m->shot_count, 8);
    assert_int_equal(m->good_shots, good_shots);
    assert_int_equal(m->missed_bad, missed);
    assert_memory_equal(m->verdicts, verdicts, sizeof verdicts);
    assert_near(m->witnesses, witnesses, 1e-9);
    assert_near(m->still_jump, still_jump, 1e-7);
    assert_int_equal(m->still_frames, still_frames);
    assert_true(witnesses > 0.5 && still_jump > 0);
    assert_int_equal(m->bad_frames, FRAMES - under);
    assert_near(m->hit_rate, hits / (double)FRAMES, 1e-12);
    assert_near(m->under_bar, under / (double)FRAMES, 1e-12);
    assert_near(m->final_under_bar, final_under / (double)FRAMES, 1e-12);
    assert_near(m->rms, sqrt(square / FRAMES / POINTS) / 2, 1e-9);
    assert_near(m->jump, jump, 1e-7);
    assert_near(m->switch_jump, switch_jump, 1e-7);
    assert_near(m->evaluated, evaluated, 1e-9);
    assert_near(m->calls, calls, 1e-9);
    assert_near(m->speedup, (5e-3 + POINTS * 1e-3) / (calls * 5e-3 + evaluated * 1e-3 + m->fill_seconds), 1e-9);
    assert_true(m->fill_seconds > 0 && m->fill_seconds < 0.1);
    /* The misfit as a detector: where 5% of the good frames are flagged. */
    double good[FRAMES], threshold, mean[2] = {0}, spread[3] = {0};
    size_t count = 0;
    int flagged = 0, caught = 0;
    for (int f = 0; f < FRAMES; f++)
        if (errors[f] < 0.005) good[count++] = e[f];
    threshold = nearest_rank(good, count, 0.95);
    for (int f = 0; f < FRAMES; f++) {
        flagged += e[f] > threshold, caught += e[f] > threshold && errors[f] > 0.01;
        mean[0] += log(e[f] + 1e-9) / FRAMES, mean[1] += log(errors[f] + 1e-9) / FRAMES;
    }
    for (int f = 0; f < FRAMES; f++) {
        double x = log(e[f] + 1e-9) - mean[0], y = log(errors[f] + 1e-9) - mean[1];
        spread[0] += x * x, spread[1] += y * y, spread[2] += x * y;
    }
    assert_near(m->recall, caught / (double)(FRAMES - under), 1e-12);
    assert_near(m->precision, caught / (double)flagged, 1e-12);
    assert_near(m->correlation, spread[2] / sqrt(spread[0] * spread[1]), 1e-4);
    assert_near(m->p50, nearest_rank(errors, FRAMES, 0.5), 1e-7);
    assert_near(m->p99, nearest_rank(errors, FRAMES, 0.99), 1e-7);
    assert_near(m->p995, nearest_rank(errors, FRAMES, 0.995), 1e-7);
    assert_near(m->largest, errors[FRAMES - 1], 1e-7);
    assert_near(m->final_p999, nearest_rank(finals, FRAMES, 0.999), 1e-7);
    assert_near(m->final_largest, finals[FRAMES - 1], 1e-7);
    pelt_keys_measure_free(m);
    /* Without shots all frames are consecutive; without a cost no speed is claimed. */
    t->frames.shots = NULL;
    m = pelt_keys_measure_frames(&keys, &t->frames, NULL, NULL);
    assert_int_equal(m->shot_count, 1);
    assert_near(m->speedup, 0, 0);
    assert_true(m->frames[15].jump > 0);
    pelt_keys_measure_free(m);
    t->frames.frame_count = 1; /* nothing to correlate, nothing bad to find */
    m = pelt_keys_measure_frames(&keys, &t->frames, &(pelt_keys_measure_options){.bar = 0.5}, NULL);
    assert_near(m->correlation, 0, 0);
    assert_near(m->recall, 1, 0);
    assert_near(m->precision, 1, 0);
    pelt_keys_measure_free(m);
    free(memory), free(scratch);
    pelt_bytes_free(bytes);
    test_frames_free(t), test_frames_free(known);
    return witnesses;
}

static void measuring_says_what_playing_by_hand_finds(void **state) {
    (void)state;
    double few = check_measuring(false);
    assert_true(check_measuring(true) > 1.2 * few);
}

static void measuring_refuses_what_does_not_fit(void **state) {
    (void)state;
    test_frames *t = test_frames_make(40, 30, 3, 4, 1e-3, 1), *other = test_frames_make(40, 31, 3, 4, 1e-3, 1);
    pelt_keys keys;
    pelt_error error = {0};
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 5}, NULL, NULL);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_null(pelt_keys_measure_frames(&keys, &other->frames, NULL, &error));
    assert_string_equal(error.text, "made-up frames: 31 points of 3 values, but the key points are for 30 of 3");
    pelt_keys_measure_options wrong[] = {{.bar = 1},
                                         {.bar = -0.1},
                                         {.point_cost = -1},
                                         {.point_cost = INFINITY},
                                         {.call_cost = -1},
                                         {.call_cost = NAN},
                                         {.progress = {stop_at, "measuring"}}};
    static const char *const words[] = {"bar must",       "bar must",       "point_cost must", "point_cost must",
                                        "call_cost must", "call_cost must", "stopped"};
    for (int i = 0; i < 5; i++) {
        assert_null(pelt_keys_measure_frames(&keys, &t->frames, &wrong[i], &error));
        assert_ptr_equal(strstr(error.text, words[i]), error.text);
    }
    t->values[7 * 90 + 3 * keys.key_points[0]] = INFINITY;
    assert_null(pelt_keys_measure_frames(&keys, &t->frames, NULL, &error));
    assert_non_null(strstr(error.text, "frame 7"));
    t->frames.frame_count = 0;
    assert_null(pelt_keys_measure_frames(&keys, &t->frames, NULL, &error));
    assert_non_null(strstr(error.text, "no frames to measure"));
    pelt_bytes_free(bytes);
    test_frames_free(t), test_frames_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measuring_says_what_playing_by_hand_finds),
        cmocka_unit_test(measuring_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
