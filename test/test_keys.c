/* test_keys.c: key points as a whole: training, files, the run time on every instruction set, the soft cache. */

#include "rig/linear.h"
#include "io/io.h"
#include "runtime/half.h"
#include "runtime/keys_format.h"
#include "test/allocations.h"
#include "test/frames.h"
#include <time.h>

/* -- Helpers ------------------------------------------------------------------------------------------------------- */

typedef struct trained {
    test_frames *t;
    pelt_bytes *bytes;
    pelt_keys keys;
    pelt_keys_report report;
} trained;

static void train(trained *m, test_frames *t, pelt_keys_options options) {
    pelt_error error = {0};
    m->t = t;
    m->bytes = pelt_keys_train(&t->frames, &options, &m->report, &error);
    if (!m->bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_keys_open(m->bytes->bytes, m->bytes->size, &m->keys), PELT_OK);
}

static void finish(trained *m) {
    pelt_bytes_free(m->bytes);
    test_frames_free(m->t);
}

static float *key_values_of(const pelt_keys *keys, const float *frame) {
    size_t each = keys->component_count;
    float *out = malloc(keys->key_count * each * sizeof *out);
    for (size_t k = 0; k < keys->key_count; k++)
        memcpy(out + k * each, frame + keys->key_points[k] * each, each * sizeof *out);
    return out;
}

/* The formula in double, straight from the arrays of the file. */
static void reference(const pelt_keys *keys, const float *key_values, double *out) {
    size_t columns = keys->shared ? keys->component_count : 1, rows = keys->key_row_count;
    double *b = malloc(keys->basis_count * sizeof *b);
    for (size_t c = 0; c < columns; c++) {
        for (size_t m = 0; m < keys->basis_count; m++) {
            b[m] = 0;
            for (size_t i = 0; i < rows; i++)
                b[m] += (double)keys->map[(m / 16 * rows + i) * 16 + m % 16] *
                        ((double)key_values[i * columns + c] - keys->key_mean[i]);
        }
        for (size_t r = 0; r < keys->row_count; r++) {
            double sum = keys->mean[r / 16 * 16 + r % 16];
            for (size_t m = 0; m < keys->basis_count; m++) {
                size_t at = (r / 16 * keys->basis_count + m) * 16 + r % 16;
                sum += b[m] * (keys->half ? pelt_half_value(((const uint16_t *)keys->basis)[at])
                                          : ((const float *)keys->basis)[at]);
            }
            out[r * columns + c] = sum;
        }
    }
    free(b);
}

static float *fill(const pelt_keys *keys, const float *key_values, uint32_t frames, pelt_misfit *misfits) {
    size_t size = (size_t)keys->point_count * keys->component_count;
    void *scratch = aligned_alloc(64, (pelt_keys_scratch_size(keys, frames) + 63) / 64 * 64);
    float *out = malloc(frames * size * sizeof *out);
    pelt_keys_solve(keys, key_values, frames, scratch, misfits);
    pelt_keys_fill(keys, scratch, frames, pelt_keys_all_blocks(keys), out);
    free(scratch);
    return out;
}

/* -- Reconstruction ------------------------------------------------------------------------------------------------ */

static void frames_in_the_subspace_come_back_exactly(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(120, 60, 3, 7, 0, 1), (pelt_keys_options){.keys = 12, .exact = true, .diagonal = 1});
    for (uint32_t f = 0; f < 120; f += 7) {
        const float *truth = m.t->values + f * 180;
        pelt_misfit misfit;
        float *key_values = key_values_of(&m.keys, truth), *out = fill(&m.keys, key_values, 1, &misfit);
        for (int i = 0; i < 180; i++) assert_near(out[i], truth[i], 3e-5);
        assert_true(misfit.rms < 1e-4);
        free(key_values), free(out);
    }
    finish(&m);
}

static void every_instruction_set_and_batch_agrees_with_the_formula_in_double(void **state) {
    (void)state;
    static const struct {
        uint32_t points, components;
        bool exact, light;
    } cases[] = {
        {37, 3, true, false}, {37, 3, false, false}, {50, 1, false, false}, {41, 5, true, false}, {64, 3, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trained m;
        train(&m, test_frames_make(90, cases[i].points, cases[i].components, 20, 1e-3, 5),
              (pelt_keys_options){.keys = 9,
                                  .exact = cases[i].exact,
                                  .shared = cases[i].light,
                                  .uncentred = cases[i].light,
                                  .diagonal = 1});
        size_t size = (size_t)cases[i].points * cases[i].components, key_size = 9 * cases[i].components;
        float *key_values = malloc(13 * key_size * sizeof *key_values);
        double *wanted = malloc(13 * size * sizeof *wanted);
        for (size_t f = 0; f < 13; f++) {
            float *one = key_values_of(&m.keys, m.t->values + f * size);
            memcpy(key_values + f * key_size, one, key_size * sizeof *one);
            reference(&m.keys, one, wanted + f * size);
            free(one);
        }
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            m.keys.isa = (pelt_isa)isa;
            for (uint32_t frames = 1; frames <= 13; frames++) {
                pelt_misfit misfits[13];
                float *out = fill(&m.keys, key_values, frames, misfits);
                for (size_t k = 0; k < frames * size; k++) assert_near(out[k], wanted[k], 2e-5);
                free(out);
            }
        }
        free(key_values), free(wanted);
        finish(&m);
    }
}

static void a_range_of_blocks_fills_its_rows_alone(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(60, 40, 3, 8, 1e-3, 5), (pelt_keys_options){.keys = 8});
    float *key_values = key_values_of(&m.keys, m.t->values), *all = fill(&m.keys, key_values, 1, NULL), part[120];
    void *scratch = aligned_alloc(64, (pelt_keys_scratch_size(&m.keys, 1) + 63) / 64 * 64);
    pelt_keys_solve(&m.keys, key_values, 1, scratch, NULL);
    for (int i = 0; i < 120; i++) part[i] = -7;
    pelt_keys_fill(&m.keys, scratch, 1, (pelt_range){2, 3}, part);
    for (int i = 0; i < 120; i++) assert_true(part[i] == (i >= 32 && i < 80 ? all[i] : -7));
    pelt_keys_fill(&m.keys, scratch, 1, (pelt_range){7, 99}, part); /* the last block, and beyond */
    for (int i = 112; i < 120; i++) assert_true(part[i] == all[i]);
    free(scratch), free(key_values), free(all);
    finish(&m);
}

static void halves_round_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) { /* every finite half maps to itself, and rounding switches halfway between
                                               neighbours */
        float value = pelt_half_value((uint16_t)h), next = pelt_half_value((uint16_t)(h + 1));
        assert_int_equal(pelt_half_of(value), h);
        if (h == 0x7bff) break;
        float middle = (float)(((double)value + next) / 2);
        assert_int_equal(pelt_half_of(middle), h % 2 ? h + 1 : h);
        assert_int_equal(pelt_half_of(nextafterf(middle, 1e9f)), h + 1);
        assert_int_equal(pelt_half_of(-nextafterf(middle, 0)), h | 0x8000);
    }
    assert_near(pelt_half_value(0x3c00), 1, 0);
    assert_near(pelt_half_value(0xc500), -5, 0);
    assert_near(pelt_half_value(0x0001), 0x1p-24, 0);
}

/* -- Training ------------------------------------------------------------------------------------------------------ */

static void bad_requests_are_refused_with_a_sentence(void **state) {
    (void)state;
    test_frames *t = test_frames_make(20, 30, 3, 4, 1e-3, 1);
    uint32_t fiducial = 30;
    static const char *const words[] = {"31 keys were requested",
                                        "25 basis vectors were requested, but there are only 20", "fiducials: point 30",
                                        "recipe: there is no recipe", "first 31 points"};
    pelt_keys_options options[] = {{.keys = 31},
                                   {.basis = 25},
                                   {.fiducials = &fiducial, .fiducial_count = 1},
                                   {.recipe = (pelt_keys_recipe)7},
                                   {.engine_points = 31}};
    for (int i = 0; i < 5; i++) {
        pelt_error error = {0};
        assert_null(pelt_keys_train(&t->frames, &options[i], NULL, &error));
        if (!strstr(error.text, words[i])) fail_msg("\"%s\" does not say \"%s\"", error.text, words[i]);
    }
    memset(t->values, 0, 20 * 90 * sizeof(float));
    pelt_error error = {0};
    assert_null(pelt_keys_train(&t->frames, &(pelt_keys_options){.keys = 5}, NULL, &error));
    assert_non_null(strstr(error.text, "nothing to train on"));
    test_frames_free(t);
}

static void constant_points_few_frames_and_all_points_as_keys_still_train(void **state) {
    (void)state;
    trained m;
    test_frames *t = test_frames_make(12, 25, 3, 3, 0, 3);
    for (int f = 0; f < 12; f++)
        for (int p = 0; p < 20; p++)
            t->values[f * 75 + p * 3] = (float)p, t->values[f * 75 + p * 3 + 1] = t->values[f * 75 + p * 3 + 2] = 2;
    train(&m, t, (pelt_keys_options){.keys = 25, .exact = true});
    float *key_values = key_values_of(&m.keys, t->values + 75), *out = fill(&m.keys, key_values, 1, NULL);
    for (int i = 0; i < 75; i++) assert_near(out[i], t->values[75 + i], 1e-3);
    free(key_values), free(out);
    finish(&m);
}

static void the_same_frames_give_the_same_bytes_whatever_thread_does_what(void **state) {
    (void)state;
    trained a, b;
    train(&a, test_frames_make(80, 40, 3, 9, 1e-3, 4), (pelt_keys_options){.keys = 10, .regions = 3});
    train(&b, test_frames_make(80, 40, 3, 9, 1e-3, 4), (pelt_keys_options){.keys = 10, .regions = 3});
    assert_int_equal(a.bytes->size, b.bytes->size);
    assert_memory_equal(a.bytes->bytes, b.bytes->bytes, a.bytes->size);
    finish(&a), finish(&b);
}

static void an_error_bound_takes_as_few_keys_as_reach_it(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(240, 60, 3, 12, 1e-4, 4), (pelt_keys_options){.error = 0.02, .diagonal = 1});
    assert_true(m.report.error_p995 <= 0.02);
    assert_true(m.keys.key_count <= 40);
    finish(&m);
    test_frames *noise = test_frames_make(100, 60, 3, 0, 0.5, 4); /* nothing can predict this */
    pelt_error error = {0};
    assert_null(pelt_keys_train(&noise->frames, &(pelt_keys_options){.error = 0.001, .diagonal = 1}, NULL, &error));
    assert_non_null(strstr(error.text, "train on more frames"));
    test_frames_free(noise);
}

static double largest_error(const pelt_keys *keys, const test_frames *t) {
    size_t size = (size_t)t->frames.point_count * t->frames.component_count;
    double most = 0;
    for (uint32_t f = 0; f < t->frames.frame_count; f++) {
        float *key_values = key_values_of(keys, t->values + f * size), *out = fill(keys, key_values, 1, NULL);
        for (size_t i = 0; i < size; i++) most = fmax(most, fabs(out[i] - t->values[f * size + i]));
        free(key_values), free(out);
    }
    return most;
}

static void retraining_learns_new_frames_and_keeps_the_old(void **state) {
    (void)state;
    trained old;
    train(&old, test_frames_make(150, 50, 3, 6, 0, 8), (pelt_keys_options){.keys = 12, .diagonal = 1, .exact = true});
    /* the same motions and a new one */
    test_frames *fresh = test_frames_make(40, 50, 3, 6, 0, 9);
    for (uint32_t f = 0; f < 40; f++)
        for (uint32_t p = 0; p < 50; p++)
            fresh->values[f * 150 + p * 3 + 2] += (float)(0.1 * sin(f) * exp(-0.02 * (p - 35.0) * (p - 35.0)));
    assert_true(largest_error(&old.keys, fresh) > 0.02);
    trained new;
    train(&new, fresh, (pelt_keys_options){.keys = 16, .diagonal = 1, .previous = &old.keys, .exact = true});
    assert_true(largest_error(&new.keys, fresh) < 0.004);
    assert_true(largest_error(&new.keys, old.t) < 0.004);
    assert_int_equal(new.keys.frame_count, 190);
    finish(&new), finish(&old);
}

static void keys_on_one_mesh_drive_another(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(120, 80, 3, 7, 0, 1),
          (pelt_keys_options){.keys = 12, .engine_points = 30, .diagonal = 1, .exact = true});
    for (int k = 0; k < 12; k++) assert_true(m.keys.key_points[k] < 30);
    assert_int_equal(m.keys.engine_point_count, 30);
    assert_true(largest_error(&m.keys, m.t) < 1e-3);
    finish(&m);
}

/* -- Files --------------------------------------------------------------------------------------------------------- */

static pelt_result open_copy(const void *bytes, size_t size) {
    void *copy = NULL;
    pelt_keys keys;
    assert_int_equal(posix_memalign(&copy, 64, size ? size : 1), 0);
    memcpy(copy, bytes, size);
    pelt_result result = pelt_keys_open(copy, size, &keys);
    if (result == PELT_OK) {
        float *zeros = calloc((size_t)keys.key_count * keys.component_count, sizeof *zeros);
        pelt_misfit misfit;
        free(fill(&keys, zeros, 1, &misfit));
        assert_true(strlen(keys.about) <= keys.about_size);
        free(zeros);
    }
    free(copy);
    return result;
}

static void damaged_files_are_refused_or_harmless(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(40, 20, 3, 5, 1e-3, 4), (pelt_keys_options){.keys = 5, .regions = 2});
    const uint8_t *bytes = m.bytes->bytes;
    size_t size = m.bytes->size;
    for (size_t cut = 0; cut < size; cut += 61) assert_int_not_equal(open_copy(bytes, cut), PELT_OK);
    uint8_t *copy = malloc(size + 64);
    for (size_t at = 0; at < size; at++) {
        memcpy(copy, bytes, size);
        copy[at] ^= at % 3 ? 0xff : 0x80;
        open_copy(copy, size);
    }
    memcpy(copy, bytes, size);
    memset(copy + size, 0, 64);
    assert_int_equal(open_copy(copy, size + 64), PELT_ERROR_FORMAT);
    assert_int_equal(open_copy("PELTSKIN", 8), PELT_ERROR_FORMAT);
    pelt_keys keys;
    assert_int_equal(pelt_keys_open(bytes + 4, size - 4, &keys), PELT_ERROR_ALIGNMENT);
    free(copy);
    finish(&m);
}

static void every_count_in_the_header_is_checked(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(40, 20, 3, 5, 1e-3, 4), (pelt_keys_options){.keys = 5});
    uint8_t *copy = malloc(m.bytes->size);
    for (size_t field = 24; field < 52; field += 4)
        for (int kind = 0; kind < 4; kind++) {
            uint32_t values[] = {0, 0xffffffffu, 0x80000000u, 0x00010001u};
            memcpy(copy, m.bytes->bytes, m.bytes->size);
            memcpy(copy + field, &values[kind], 4);
            if (field == 48 && kind == 0) continue; /* no flags: floats where halves lie, a matter of size */
            assert_int_not_equal(open_copy(copy, m.bytes->size), PELT_OK);
        }
    free(copy);
    finish(&m);
}

static void files_are_written_and_read(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(40, 20, 3, 5, 1e-3, 4), (pelt_keys_options){.keys = 5});
    char path[300];
    snprintf(path, sizeof path, "%s/face.keys", test_folder());
    pelt_error error;
    pelt_keys keys;
    assert_int_equal(pelt_bytes_write(m.bytes, path, &error), PELT_OK);
    pelt_bytes *back = pelt_keys_read(path, &keys, &error);
    assert_non_null(back);
    assert_int_equal(keys.key_count, 5);
    pelt_bytes_free(back);
    snprintf(path, sizeof path, "%s/nothing.keys", test_folder());
    assert_null(pelt_keys_read(path, &keys, &error));
    finish(&m);
}

/* -- The soft cache ------------------------------------------------------------------------------------------------ */

typedef struct engine {
    const test_frames *t;
    uint32_t calls, points;
    int fails, not_finite;
} engine;

/* The only control is the frame. */
static int evaluate(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    engine *e = user;
    e->calls++, e->points += count;
    if (e->fails) return 1;
    for (uint32_t i = 0; i < count; i++)
        memcpy(values + 3 * i, e->t->values + (size_t)controls[0] * e->t->frames.point_count * 3 + 3 * points[i],
               3 * sizeof(float));
    if (e->not_finite && count) values[0] = INFINITY;
    return 0;
}

/* Frames whose last third has a motion that training never saw, swelling and fading. */
static test_frames *novel_frames(uint32_t frames, uint32_t points) {
    test_frames *t = test_frames_make(frames, points, 3, 6, 0, 77);
    for (uint32_t f = 0; f < frames; f++) {
        double turn = 6.28 * f / frames,
               swell = f * 3 < 2 * frames ? 0 : 0.3 * pow(sin(3.14 * (3.0 * f / frames - 2)), 2);
        float *out = t->values + f * points * 3;
        memset(out, 0, points * 3 * sizeof *out);
        for (uint32_t p = 0; p < points; p++) {
            double x = (double)p / points;
            out[3 * p] = (float)x;
            for (int m = 0; m < 4; m++)
                out[3 * p + 1] += (float)(0.1 / (m + 1) * sin((m + 1) * turn) * sin((m + 1) * (x * 3.1 + 0.05)));
            out[3 * p + 2] = (float)(swell * exp(-pow((x - 0.7) / 0.05, 2)) * ((p % 2) ? 1 : -1));
        }
    }
    return t;
}

typedef struct soft {
    trained m;
    test_frames *play;
    engine engine;
    pelt_soft_cache cache;
    void *memory;
} soft;

static void start_soft(soft *s, pelt_soft_cache_options options, uint32_t regions) {
    memset(s, 0, sizeof *s);
    s->play = novel_frames(120, 60);
    test_frames *known = novel_frames(120, 60);
    known->frames.frame_count = 80; /* without the new motion */
    train(&s->m, known, (pelt_keys_options){.keys = 20, .basis = 8, .diagonal = 1, .regions = regions, .exact = true});
    s->engine.t = s->play;
    s->memory = aligned_alloc(64, (pelt_soft_cache_size(&s->m.keys, 1) + 63) / 64 * 64);
    memset(s->memory, 0xff, pelt_soft_cache_size(&s->m.keys, 1)); /* not-a-number everywhere */
    assert_int_equal(
        pelt_soft_cache_init(&s->cache, &s->m.keys, &options, (pelt_engine_call){evaluate, &s->engine, 1}, s->memory),
        PELT_OK);
}

static void stop_soft(soft *s) {
    free(s->memory);
    test_frames_free(s->play);
    finish(&s->m);
}

static double worst(const float *a, const float *b, const float *c, const float *d, uint32_t points) {
    double most = 0;
    for (uint32_t p = 0; p < points; p++) {
        double sum = 0;
        for (int i = 0; i < 3; i++)
            sum += pow((double)a[3 * p + i] - b[3 * p + i] - (c ? (double)c[3 * p + i] - d[3 * p + i] : 0), 2);
        most = fmax(most, sqrt(sum));
    }
    return most;
}

static void what_was_never_trained_is_computed_in_full(void **state) {
    (void)state;
    soft s;
    start_soft(&s, (pelt_soft_cache_options){0}, 1);
    float out[180];
    uint32_t caught = 0, bad = 0;
    for (uint32_t f = 0; f < 120; f++) {
        const float *truth = s.play->values + f * 180;
        pelt_soft_cache_frame_info info;
        float *key_values = key_values_of(&s.m.keys, truth), *alone = fill(&s.m.keys, key_values, 1, NULL);
        assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){(float)f}, out, &info), PELT_OK);
        bool is_bad = worst(alone, truth, NULL, NULL, 60) > 0.01;
        bad += is_bad, caught += is_bad && info.verdict != PELT_CACHE_HIT;
        if (info.verdict == PELT_CACHE_MISS) assert_true(worst(out, truth, NULL, NULL, 60) < 1e-6);
        if (info.verdict == PELT_CACHE_HIT) {
            assert_int_equal(info.evaluated, 20 + info.witnesses);
            assert_memory_equal(out, alone, sizeof out);
        }
        free(key_values), free(alone);
    }
    assert_true(bad > 15 && caught >= 0.97 * bad);
    assert_int_equal(s.cache.hits + s.cache.parts + s.cache.blends + s.cache.misses, 120);
    assert_int_equal(s.cache.evaluated, s.engine.points);
    assert_true(s.cache.hits >= 70);
    stop_soft(&s);
}

static void the_run_time_allocates_nothing(void **state) {
    (void)state;
    soft s;
    start_soft(&s, (pelt_soft_cache_options){.step = 0.002f}, 3);
    float out[180];
    pelt_keys again;
    allocations = 0;
    void *volatile one = malloc(1);
    free(one);
    assert_int_equal(allocations, 1); /* the counter counts */
    assert_int_equal(pelt_keys_open(s.m.bytes->bytes, s.m.bytes->size, &again), PELT_OK);
    for (uint32_t f = 0; f < 120; f++)
        assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){(float)f}, out, NULL), PELT_OK);
    assert_int_equal(allocations, 1);
    stop_soft(&s);
}

static void trust_is_continuous_in_the_misfit(void **state) {
    (void)state;
    pelt_soft_cache_options o = {.e_min = 1, .e_max = 1.5f};
    assert_true(pelt_soft_cache_trust(&o, 0) == 1 && pelt_soft_cache_trust(&o, 1) == 1);
    assert_true(pelt_soft_cache_trust(&o, 1.5f) == 0 && pelt_soft_cache_trust(&o, INFINITY) == 0);
    assert_true(pelt_soft_cache_trust(&o, NAN) == 0);
    assert_near(pelt_soft_cache_trust(&o, 1.25f), 0.5, 1e-6);
    for (float e = 0; e < 2; e += 0.001f)
        assert_true(fabsf(pelt_soft_cache_trust(&o, e + 0.001f) - pelt_soft_cache_trust(&o, e)) < 0.0021f);
}

static void switching_moves_no_point_by_more_than_the_step(void **state) {
    (void)state;
    soft s;
    start_soft(&s, (pelt_soft_cache_options){.step = 0.002f}, 1);
    float out[180], before[180], *alone_before = NULL;
    uint32_t switched = 0;
    pelt_soft_cache_verdict last = PELT_CACHE_HIT;
    for (uint32_t f = 0; f < 120; f++) {
        const float *truth = s.play->values + f * 180, *truth_before = truth - 180;
        pelt_soft_cache_frame_info info;
        float *key_values = key_values_of(&s.m.keys, truth), *alone = fill(&s.m.keys, key_values, 1, NULL);
        assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){(float)f}, out, &info), PELT_OK);
        if (f && (info.verdict != PELT_CACHE_HIT || last != PELT_CACHE_HIT)) {
            double jump = worst(out, truth, before, truth_before, 60);
            double own = worst(alone, truth, alone_before, truth_before, 60); /* of the reconstruction itself */
            switched++;
            if (info.verdict != PELT_CACHE_HIT) assert_true(jump < 0.002 + 1e-5);
            assert_true(jump < 0.002 + own + 1e-5);
        }
        memcpy(before, out, sizeof out);
        free(key_values), free(alone_before);
        alone_before = alone, last = info.verdict;
    }
    assert_true(switched > 20);
    free(alone_before);
    stop_soft(&s);
}

static void regions_compute_only_their_own_points(void **state) {
    (void)state;
    soft s;
    start_soft(&s, (pelt_soft_cache_options){0}, 5);
    float out[180];
    for (uint32_t f = 0; f < 120; f++) {
        const float *truth = s.play->values + f * 180;
        float *key_values = key_values_of(&s.m.keys, truth), *alone = fill(&s.m.keys, key_values, 1, NULL);
        assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){(float)f}, out, NULL), PELT_OK);
        for (int i = 0; i < 180; i++) /* every value is between the truth and what the keys say */
            assert_true(fabsf(out[i] - truth[i]) <= fabsf(alone[i] - truth[i]) + 1e-6f);
        free(key_values), free(alone);
    }
    assert_true(s.cache.parts > 10);
    for (uint32_t p = 0; p < 60; p++) {
        float sum = 0;
        for (int i = 0; i < 4; i++) sum += s.m.keys.point_region_weights[4 * p + (uint32_t)i];
        assert_near(sum, 1, 1e-5);
    }
    double part = (double)s.cache.evaluated;
    stop_soft(&s);
    start_soft(&s, (pelt_soft_cache_options){.whole = 1}, 5);
    for (uint32_t f = 0; f < 120; f++)
        assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){(float)f}, out, NULL), PELT_OK);
    assert_int_equal(s.cache.parts, 0);
    assert_true(part < 0.9 * (double)s.cache.evaluated);
    stop_soft(&s);
}

static void a_failing_engine_leaves_the_cache_as_it_was(void **state) {
    (void)state;
    soft s;
    start_soft(&s, (pelt_soft_cache_options){.step = 0.001f}, 1);
    float out[180];
    pelt_soft_cache_frame_info info;
    assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){0}, out, &info), PELT_OK);
    s.engine.fails = 1;
    assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){1}, out, &info), PELT_ERROR_DATA);
    s.engine.fails = 0, s.engine.not_finite = 1;
    assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){1}, out, &info), PELT_ERROR_NUMBER);
    s.engine.not_finite = 0;
    assert_int_equal(pelt_soft_cache_next(&s.cache, &(float){1}, out, &info), PELT_OK);
    assert_int_equal(s.cache.hits + s.cache.misses + s.cache.blends + s.cache.parts, 2);
    stop_soft(&s);
}

static void key_values_that_are_not_finite_have_an_infinite_misfit(void **state) {
    (void)state;
    trained m;
    train(&m, test_frames_make(60, 40, 3, 8, 1e-3, 5), (pelt_keys_options){.keys = 8});
    float *key_values = key_values_of(&m.keys, m.t->values);
    key_values[5] = NAN;
    pelt_misfit misfit;
    free(fill(&m.keys, key_values, 1, &misfit));
    assert_true(isinf(misfit.e) && isinf(misfit.rms));
    free(key_values);
    finish(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_the_subspace_come_back_exactly),
        cmocka_unit_test(every_instruction_set_and_batch_agrees_with_the_formula_in_double),
        cmocka_unit_test(a_range_of_blocks_fills_its_rows_alone),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(bad_requests_are_refused_with_a_sentence),
        cmocka_unit_test(constant_points_few_frames_and_all_points_as_keys_still_train),
        cmocka_unit_test(the_same_frames_give_the_same_bytes_whatever_thread_does_what),
        cmocka_unit_test(an_error_bound_takes_as_few_keys_as_reach_it),
        cmocka_unit_test(retraining_learns_new_frames_and_keeps_the_old),
        cmocka_unit_test(keys_on_one_mesh_drive_another),
        cmocka_unit_test(damaged_files_are_refused_or_harmless),
        cmocka_unit_test(every_count_in_the_header_is_checked),
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(what_was_never_trained_is_computed_in_full),
        cmocka_unit_test(the_run_time_allocates_nothing),
        cmocka_unit_test(trust_is_continuous_in_the_misfit),
        cmocka_unit_test(switching_moves_no_point_by_more_than_the_step),
        cmocka_unit_test(regions_compute_only_their_own_points),
        cmocka_unit_test(a_failing_engine_leaves_the_cache_as_it_was),
        cmocka_unit_test(key_values_that_are_not_finite_have_an_infinite_misfit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
