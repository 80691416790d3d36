/* test_keys_runtime.c: key points at run time, on handmade keys with known results: the map is 0, so the reconstruction
   is the mean, and the misfit is the keys' distance from theirs. And their file, written only from
   docs/keys-format.md. */

#include "test/test.h"
#include <pelt/keys.h>
#include <stdbool.h>

enum { POINTS = 40, KEYS = 6, REGIONS = 3, BLOCKS = (3 * POINTS + 15) / 16, FRAMES = 90, WITNESSES = 7 };

typedef struct subject {
    pelt_keys keys;
    uint32_t key_points[KEYS];
    float mean[16 * BLOCKS], key_mean[3 * KEYS], basis[BLOCKS * 16] __attribute__((aligned(64)));
    float map[3 * KEYS * 16] __attribute__((aligned(64))), misfit[2 * 3 * KEYS * 16] __attribute__((aligned(64)));
    pelt_misfit_bound bounds[REGIONS];
    uint16_t regions[POINTS][4];
    float weights[POINTS][4];
    float bias[POINTS][3]; /* the truth of every point but keys is its mean and this, */
    float swell[FRAMES];   /* times this */
    uint32_t witness_points[WITNESSES];
    pelt_witness_rule rule;
    pelt_control_range ranges[2];
    float shift[FRAMES][KEYS];                  /* of the keys along x, frame by frame: the misfit */
    uint32_t calls, evaluated, evaluated_twice; /* what the engine was asked for; points requested twice in one call */
    bool fails, not_finite;
} subject;

static int key_of(const subject *s, uint32_t point) {
    for (int k = 0; k < KEYS; k++)
        if (s->key_points[k] == point) return k;
    return -1;
}

static void truth(const subject *s, uint32_t frame, uint32_t point, float out[3]) {
    int key = key_of(s, point);
    for (uint32_t c = 0; c < 3; c++)
        out[c] = s->mean[3 * point + c] + (key < 0  ? s->swell[frame] * s->bias[point][c]
                                           : c == 0 ? s->shift[frame][key]
                                                    : 0);
}

static int evaluate(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    subject *s = user;
    uint8_t seen[POINTS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        s->evaluated_twice += seen[points[i]]++;
        truth(s, (uint32_t)controls[0], points[i], values + 3 * i);
    }
    s->evaluated += count, s->calls++;
    if (s->not_finite) values[3 * count - 1] = NAN;
    return s->fails;
}

static void make(subject *s, uint64_t seed) {
    memset(s, 0, sizeof *s);
    for (uint32_t k = 0; k < KEYS; k++) s->key_points[k] = 37 - 7 * k; /* not in order */
    for (int i = 0; i < 3 * POINTS; i++) s->mean[i] = (float)test_random(&seed) - 0.5f;
    for (uint32_t i = 0; i < 3 * KEYS; i++) s->key_mean[i] = s->mean[3 * s->key_points[i / 3] + i % 3];
    for (int i = 0; i < 3 * KEYS; i++) s->misfit[(i / 16 * 3 * KEYS + i) * 16 + i % 16] = 1;
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < 3; i++) s->bias[p][i] = 0.02f * (float)(test_random(&seed) - 0.5);
        s->regions[p][0] = (uint16_t)(3 * p / POINTS), s->regions[p][1] = (uint16_t)((3 * p / POINTS + 1) % REGIONS);
        s->weights[p][1] = p % 4 ? 0 : 0.25f;
        s->weights[p][0] = 1 - s->weights[p][1];
    }
    for (int g = 0; g < REGIONS; g++) s->bounds[g] = (pelt_misfit_bound){0.01f + 0.005f * (float)g, 0.02f};
    for (int f = 0; f < FRAMES; f++) s->swell[f] = 1;
    s->keys = (pelt_keys){.point_count = POINTS,
                          .component_count = 3,
                          .key_count = KEYS,
                          .basis_count = 1,
                          .region_count = REGIONS,
                          .engine_point_count = POINTS,
                          .diagonal = 2,
                          .row_count = 3 * POINTS,
                          .key_row_count = 3 * KEYS,
                          .block_count = BLOCKS,
                          .key_points = s->key_points,
                          .mean = s->mean,
                          .key_mean = s->key_mean,
                          .basis = s->basis,
                          .map = s->map,
                          .misfit = s->misfit,
                          .bounds = s->bounds,
                          .point_regions = s->regions[0],
                          .point_region_weights = s->weights[0]};
}

/* Quiet, then one region after another far off, then in the zone between full and no trust, then quiet again. */
static void make_motion(subject *s, uint64_t seed) {
    for (int f = 0; f < FRAMES; f++)
        for (int k = 0; k < KEYS; k++) {
            uint32_t region = s->regions[s->key_points[k]][0];
            bool far = (f >= 10 && f < 25 && region == 0) || (f >= 20 && f < 40 && region == 2) || (f >= 60 && f < 72);
            bool between = f >= 40 && f < 55;
            s->shift[f][k] = far       ? 0.1f
                             : between ? (float)(0.01 + 0.012 * test_random(&seed))
                                       : (float)(0.004 * test_random(&seed));
        }
}

/* Witnesses, one of them listed twice and one a key, and points that go astray while the keys are quiet. */
static void make_witnesses(subject *s) {
    const uint32_t points[WITNESSES] = {3, 18, 33, 37, 18, 29, 12};
    memcpy(s->witness_points, points, sizeof points);
    s->rule = (pelt_witness_rule){0.02f, 2};
    s->keys.witness_points = s->witness_points, s->keys.witness_rule = &s->rule, s->keys.witness_count = WITNESSES;
    for (int f = 0; f < FRAMES; f++)
        s->swell[f] = f == 0 ? 2.5f : f >= 3 && f < 10 ? 0.6f * (float)f : f >= 74 && f < 82 ? 4 : 1;
}

/* The only control is the number of the frame: 30 to 70 were seen. */
static void make_ranges(subject *s) {
    s->ranges[0] = (pelt_control_range){30, 70};
    s->keys.control_ranges = s->ranges, s->keys.control_count = 1;
}

/* -- Misfits ------------------------------------------------------------------------------------------------------- */

/* e of a region from the keys' misfits, as described in docs/keys-format.md. */
static double region_e(const subject *s, const double *lengths, uint32_t region) {
    double sum = 0, weight = 0, largest = 0;
    for (int k = 0; k < KEYS; k++)
        for (int i = 0; i < 4; i++) {
            double w = s->regions[s->key_points[k]][i] == region ? s->weights[s->key_points[k]][i] : 0;
            sum += w * lengths[k] * lengths[k], weight += w;
            if (w > 0) largest = fmax(largest, lengths[k]);
        }
    return weight > 0 ? fmax(sqrt(sum / weight) / s->bounds[region].rms, largest / s->bounds[region].largest) : 0;
}

static void misfits_are_judged_by_their_mean_and_by_the_largest(void **state) {
    (void)state;
    subject s;
    uint64_t seed = 5;
    make(&s, 3);
    void *scratch = aligned_alloc(64, pelt_keys_scratch_size(&s.keys, 3));
    for (int trial = 0; trial < 200; trial++) {
        float values[3][KEYS][3], e[REGIONS];
        double lengths[3][KEYS], worst[3] = {0};
        pelt_misfit misfits[3];
        for (int g = 0; g < REGIONS; g++) /* in turn the one and the other bound decides */
            s.bounds[g] = (pelt_misfit_bound){trial % 2 ? 10 : 0.01f, trial % 2 ? 0.02f : 10};
        for (int f = 0; f < 3; f++)
            for (int k = 0; k < KEYS; k++) {
                double square = 0;
                for (int c = 0; c < 3; c++) {
                    float off = (float)(test_random(&seed) - 0.5);
                    values[f][k][c] = s.key_mean[3 * k + c] + off;
                    square += pow((double)values[f][k][c] - s.key_mean[3 * k + c], 2);
                }
                lengths[f][k] = sqrt(square);
            }
        pelt_keys_solve(&s.keys, values[0][0], 3, scratch, misfits);
        pelt_keys_region_misfits(&s.keys, scratch, e);
        for (uint32_t g = 0; g < REGIONS; g++) {
            for (int f = 0; f < 3; f++) worst[f] = fmax(worst[f], region_e(&s, lengths[f], g));
            assert_near(e[g], region_e(&s, lengths[2], g), 1e-5 * e[g]); /* of the last frame */
        }
        for (int f = 0; f < 3; f++) {
            double sum = 0, largest = 0;
            for (int k = 0; k < KEYS; k++) sum += lengths[f][k] * lengths[f][k], largest = fmax(largest, lengths[f][k]);
            assert_near(misfits[f].rms, sqrt(sum / KEYS), 1e-6);
            assert_near(misfits[f].largest, largest, 1e-6);
            assert_near(misfits[f].e, worst[f], 1e-5 * worst[f]);
        }
    }
    /* A region without keys cannot be judged, and is trusted. */
    for (int p = 0; p < POINTS; p++) s.regions[p][0] = s.regions[p][1] = 1;
    pelt_misfit misfit;
    float values[3 * KEYS] = {0}, e[REGIONS];
    pelt_keys_solve(&s.keys, values, 1, scratch, &misfit);
    pelt_keys_region_misfits(&s.keys, scratch, e);
    assert_true(e[0] == 0 && e[1] > 0 && e[2] == 0);
    free(scratch);
}

/* -- The soft cache ------------------------------------------------------------------------------------------------ */

/* The cache again, one point at a time and in double, from the documentation in keys.h. */
typedef struct model {
    bool computed[POINTS], started;
    double offset[POINTS][3], before[POINTS][3], region_before[REGIONS];
    uint32_t frame_before, turn;
} model;

typedef struct expected {
    double values[POINTS][3];
    double e;
    uint32_t evaluated, listed, heard;
    bool any_trust;
} expected;

static double trust(double e, double low, double high) {
    return e <= low ? 1 : e >= high ? 0 : (high - e) / (high - low);
}

/* How far a point is from its truth, relative to the witnesses' bound, counts in all its regions. */
static void testify(const subject *s, const pelt_soft_cache_options *o, uint32_t frame, uint32_t p, double weight,
                    double *e) {
    float f[3];
    double square = 0;
    truth(s, frame, p, f);
    for (uint32_t c = 0; c < 3; c++) square += pow((double)f[c] - s->mean[3 * p + c], 2);
    for (uint32_t g = 0; g < REGIONS; g++) {
        bool here = o->whole;
        for (int i = 0; i < 4; i++) here |= s->regions[p][i] == g && s->weights[p][i] > 0;
        if (here) e[g] = fmax(e[g], weight * sqrt(square) / s->rule.bound);
    }
}

static bool is_listed(const subject *s, const pelt_soft_cache_options *o, const model *m, const double *e, uint32_t p) {
    double t = 0;
    for (int i = 0; i < 4; i++) t += s->weights[p][i] * trust(e[s->regions[p][i]], o->e_min, o->e_max);
    return t <= 1 - 1e-7 || m->computed[p];
}

/* e of the regions after all testimony; heard[p]: a witness was asked. */
static void judge_regions(const subject *s, const pelt_soft_cache_options *o, uint32_t frame, model *m, double *e,
                          bool *heard) {
    double lengths[KEYS], square = 0, most = 0;
    bool witnessed = s->keys.witness_count && !o->no_witnesses && !o->absolute;
    for (int k = 0; k < KEYS; k++) lengths[k] = fabs((double)s->shift[frame][k]), square += lengths[k] * lengths[k];
    for (uint32_t g = 0; g < REGIONS; g++) {
        e[g] = o->absolute ? sqrt(square / KEYS) : region_e(s, lengths, g);
        if (witnessed && m->started && !o->new_each_frame) e[g] = fmax(e[g], m->region_before[g]);
        most = fmax(most, e[g]);
    }
    for (uint32_t g = 0; g < REGIONS && o->whole; g++) e[g] = most;
    if (!witnessed) return;
    uint32_t wanted = m->started ? s->rule.each_frame : WITNESSES, count = 0;
    if (m->started && s->keys.control_count == 1 && (frame < 30 || frame > 70)) wanted = 3; /* a third of 7 */
    for (int tried = 0; tried < WITNESSES && count < wanted; tried++) {
        uint32_t p = s->witness_points[m->turn++ % WITNESSES];
        if (m->computed[p] || key_of(s, p) >= 0 || heard[p]) continue;
        heard[p] = true, count++;
    }
    for (uint32_t p = 0; p < POINTS; p++)
        if (heard[p]) testify(s, o, frame, p, 1.5, e);
    for (int round = 0; round < POINTS; round++) /* more and more points are computed, until nothing changes */
        for (uint32_t p = 0; p < POINTS; p++)
            if (is_listed(s, o, m, e, p)) testify(s, o, frame, p, 1, e);
    memset(m->region_before, 0, sizeof m->region_before);
    for (uint32_t p = 0; p < POINTS; p++)
        if (is_listed(s, o, m, e, p)) testify(s, o, frame, p, 1, m->region_before);
}

static void model_frame(const subject *s, const pelt_soft_cache_options *o, uint32_t frame, model *m, expected *out) {
    double e[REGIONS], region_trust[REGIONS];
    bool limited = o->step > 0 && !o->new_each_frame, heard[POINTS] = {false};
    judge_regions(s, o, frame, m, e, heard);
    *out = (expected){.evaluated = KEYS};
    for (uint32_t g = 0; g < REGIONS; g++) {
        region_trust[g] = trust(e[g], o->e_min, o->e_max);
        out->e = fmax(out->e, e[g]);
    }
    for (uint32_t p = 0; p < POINTS; p++) out->heard += heard[p], out->evaluated += heard[p];
    for (uint32_t p = 0; p < POINTS; p++) {
        double t = 0, distance = 0;
        float f[3], f_before[3];
        for (int i = 0; i < 4; i++) t += s->weights[p][i] * region_trust[s->regions[p][i]];
        bool trusted = t > 1 - 1e-7;
        truth(s, frame, p, f), truth(s, m->frame_before, p, f_before);
        for (uint32_t c = 0; c < 3; c++) out->values[p][c] = s->mean[3 * p + c];
        if (!trusted || m->computed[p]) {
            double aim[3], most = limited && m->started ? o->step * s->keys.diagonal : INFINITY;
            out->listed++, out->any_trust |= t > 1e-7;
            if (key_of(s, p) < 0 && !heard[p]) out->evaluated++;
            if (limited && m->started && !m->computed[p]) {
                out->evaluated++;
                for (int c = 0; c < 3; c++) m->offset[p][c] = m->before[p][c] - f_before[c];
            }
            for (uint32_t c = 0; c < 3; c++) {
                aim[c] = t * (s->mean[3 * p + c] - (double)f[c]);
                distance += pow(aim[c] - m->offset[p][c], 2);
            }
            double part = sqrt(distance) > most ? most / sqrt(distance) : 1;
            for (int c = 0; c < 3; c++) {
                m->offset[p][c] = part == 1 ? aim[c] : m->offset[p][c] + part * (aim[c] - m->offset[p][c]);
                out->values[p][c] = f[c] + m->offset[p][c];
            }
            m->computed[p] = limited && !(trusted && part == 1);
        }
        memcpy(m->before[p], out->values[p], sizeof m->before[p]);
    }
    m->started = true, m->frame_before = frame;
}

typedef enum testimony { KEYS_ALONE, WITNESSED, WITH_RANGES, WITH_OTHER_RANGES } testimony;

/* Returns how many witnesses were asked. */
static uint32_t follow(pelt_soft_cache_options options, testimony witnesses, uint32_t cut, uint64_t counts[4]) {
    subject s;
    model m = {0};
    pelt_soft_cache cache;
    make(&s, 7), make_motion(&s, 9);
    if (witnesses != KEYS_ALONE) make_witnesses(&s);
    if (witnesses >= WITH_RANGES) make_ranges(&s);
    if (witnesses == WITH_OTHER_RANGES) s.keys.control_count = 2; /* not the engine's: they say nothing */
    void *memory = aligned_alloc(64, pelt_soft_cache_size(&s.keys, 1));
    memset(memory, 0xff, pelt_soft_cache_size(&s.keys, 1));
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, &options, (pelt_engine_call){evaluate, &s, 1}, memory),
                     PELT_OK);
    assert_near(cache.options.e_max, options.e_max > 0 ? options.e_max : 1.5 * cache.options.e_min, 1e-6);
    uint32_t verdicts[4] = {0}, asked = 0, heard = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        float out[POINTS][3];
        pelt_soft_cache_frame_info info;
        expected wanted;
        s.evaluated = s.calls = 0;
        if (f == cut) pelt_soft_cache_cut(&cache), m = (model){0}; /* as if it were the first frame */
        assert_int_equal(pelt_soft_cache_next(&cache, &(float){(float)f}, out[0], &info), PELT_OK);
        model_frame(&s, &cache.options, f, &m, &wanted);
        for (int p = 0; p < POINTS; p++)
            for (int c = 0; c < 3; c++) assert_near(out[p][c], wanted.values[p][c], 2e-6);
        assert_int_equal(info.evaluated, wanted.evaluated);
        assert_int_equal(s.evaluated, wanted.evaluated);
        assert_int_equal(info.witnesses, wanted.heard);
        assert_int_equal(info.calls, s.calls);
        if (!wanted.listed) assert_int_equal(s.calls, 1); /* keys and witnesses at once */
        assert_near(info.e, wanted.e, 1e-5 * wanted.e);
        heard += wanted.heard;
        pelt_soft_cache_verdict verdict = !wanted.listed           ? PELT_CACHE_HIT
                                          : wanted.listed < POINTS ? PELT_CACHE_PART
                                          : wanted.any_trust       ? PELT_CACHE_BLEND
                                                                   : PELT_CACHE_MISS;
        assert_int_equal(info.verdict, verdict);
        verdicts[verdict]++, asked += s.evaluated;
    }
    assert_int_equal(s.evaluated_twice, 0);
    assert_int_equal(cache.evaluated, asked);
    assert_int_equal(cache.witnesses, heard);
    counts[0] += cache.hits, counts[1] += cache.parts, counts[2] += cache.blends, counts[3] += cache.misses;
    assert_true(cache.hits == verdicts[0] && cache.parts == verdicts[1] && cache.blends == verdicts[2] &&
                cache.misses == verdicts[3]);
    free(memory);
    return heard;
}

static void every_frame_is_what_the_words_say(void **state) {
    (void)state;
    uint64_t counts[4] = {0};
    follow((pelt_soft_cache_options){0}, KEYS_ALONE, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.e_min = 0.5f, .e_max = 2}, KEYS_ALONE, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.whole = 1}, KEYS_ALONE, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.step = 0.001f}, KEYS_ALONE, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.step = 0.001f}, KEYS_ALONE, 12, counts);
    follow((pelt_soft_cache_options){.step = 0.0013f, .whole = 1}, KEYS_ALONE, 62, counts);
    follow((pelt_soft_cache_options){.step = 0.001f, .new_each_frame = 1}, KEYS_ALONE, UINT32_MAX, counts);
    for (int i = 0; i < 4; i++) assert_true(counts[i] >= 10); /* all of it happened */
}

static void what_witnesses_see_is_computed_to_where_it_ends(void **state) {
    (void)state;
    uint64_t counts[4] = {0}, without[4] = {0};
    follow((pelt_soft_cache_options){0}, WITNESSED, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.e_min = 0.5f, .e_max = 2}, WITNESSED, 5, counts);
    follow((pelt_soft_cache_options){.step = 0.001f}, WITNESSED, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.step = 0.001f}, WITNESSED, 76, counts);
    follow((pelt_soft_cache_options){.step = 0.001f, .whole = 1}, WITNESSED, UINT32_MAX, counts);
    follow((pelt_soft_cache_options){.new_each_frame = 1}, WITNESSED, UINT32_MAX, counts);
    for (int i = 0; i < 4; i++) assert_true(counts[i] >= 5);
    follow((pelt_soft_cache_options){.no_witnesses = 1, .step = 0.001f}, WITNESSED, UINT32_MAX, without);
    uint64_t absolute[4] = {0};
    follow((pelt_soft_cache_options){.absolute = 1, .e_min = 0.01f, .e_max = 0.02f}, WITNESSED, UINT32_MAX, absolute);
    assert_true(absolute[0] > 10 && absolute[1] == 0 && absolute[2] > 5 && absolute[3] > 5); /* one decision */
}

static void more_witnesses_are_heard_where_controls_leave_their_ranges(void **state) {
    (void)state;
    uint64_t counts[4] = {0};
    const pelt_soft_cache_options options[] = {{0}, {.step = 0.001f}, {.whole = 1}};
    for (int i = 0; i < 3; i++) {
        uint32_t few = follow(options[i], WITNESSED, UINT32_MAX, counts);
        assert_true(follow(options[i], WITH_RANGES, UINT32_MAX, counts) > few);
        assert_int_equal(follow(options[i], WITH_OTHER_RANGES, UINT32_MAX, counts), few);
    }
    follow((pelt_soft_cache_options){.step = 0.001f}, WITH_RANGES, 80, counts);
}

/* The reconstruction of a point is off by a constant. While it is computed, that fades by a step per frame, and
   afterwards it returns by a step per frame: nothing pops, in either direction. */
static void a_point_comes_back_as_slowly_as_it_left(void **state) {
    (void)state;
    subject s;
    pelt_soft_cache cache;
    make(&s, 7);
    for (int p = 0; p < POINTS; p++)
        for (int c = 0; c < 3; c++) s.bias[p][c] *= 2.5f;
    for (int f = 20; f < 40; f++)
        for (int k = 0; k < KEYS; k++) s.shift[f][k] = 1;
    void *memory = aligned_alloc(64, pelt_soft_cache_size(&s.keys, 1));
    const float step = 0.001f;
    pelt_soft_cache_init(&cache, &s.keys, &(pelt_soft_cache_options){.step = step}, (pelt_engine_call){evaluate, &s, 1},
                         memory);
    double off[POINTS] = {0}, most = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        float out[POINTS][3];
        assert_int_equal(pelt_soft_cache_next(&cache, &(float){(float)f}, out[0], NULL), PELT_OK);
        for (uint32_t p = 0; p < POINTS; p++) {
            float *b = s.bias[p], t[3];
            if (key_of(&s, p) >= 0) continue;
            double size = sqrt((double)b[0] * b[0] + (double)b[1] * b[1] + (double)b[2] * b[2]), distance = 0;
            double faded = f < 20 ? 0 : f < 40 ? f - 19 : 0, left = fmax(0, size - 2 * step * faded);
            if (f >= 40) left = fmin(size, fmax(0, size - 2 * step * 20) + 2 * step * (f - 39));
            truth(&s, f, p, t);
            for (int c = 0; c < 3; c++) distance += pow((double)out[p][c] - t[c], 2);
            assert_near(sqrt(distance), left, 1e-6);
            if (f) assert_true(fabs(sqrt(distance) - off[p]) < 2 * step + 1e-6);
            off[p] = sqrt(distance), most = fmax(most, size);
        }
    }
    assert_true(most > 20 * step); /* it took a while */
    free(memory);
}

static void a_mesh_that_nobody_can_compute_is_never_asked_for(void **state) {
    (void)state;
    subject s;
    pelt_soft_cache cache;
    make(&s, 7), make_motion(&s, 9);
    make_witnesses(&s);
    s.keys.engine_point_count = POINTS - 2;
    void *memory = aligned_alloc(64, pelt_soft_cache_size(&s.keys, 1));
    pelt_soft_cache_init(&cache, &s.keys, NULL, (pelt_engine_call){evaluate, &s, 1}, memory);
    for (uint32_t f = 0; f < FRAMES; f++) {
        float out[POINTS][3];
        pelt_soft_cache_frame_info info;
        assert_int_equal(pelt_soft_cache_next(&cache, &(float){(float)f}, out[0], &info), PELT_OK);
        for (int p = 0; p < POINTS; p++)
            for (int c = 0; c < 3; c++) assert_near(out[p][c], s.mean[3 * p + c], 1e-7);
        assert_int_equal(info.verdict, info.e > 1 ? PELT_CACHE_DOUBT : PELT_CACHE_HIT); /* it is only reported */
        assert_int_equal(info.evaluated, KEYS + info.witnesses);
        if (f == 0) assert_true(info.e > 1 && info.misfit.e < 1 && info.witnesses == WITNESSES - 2);
        if (f == 15) assert_true(info.misfit.e > 1);
    }
    assert_true(cache.hits > 10 && cache.doubts > 10 && cache.hits + cache.doubts == FRAMES);
    free(memory);
}

static void what_cannot_work_is_refused(void **state) {
    (void)state;
    subject s;
    pelt_soft_cache cache;
    make(&s, 7);
    char *memory = aligned_alloc(64, pelt_soft_cache_size(&s.keys, 1) + 64);
    const pelt_engine_call engine = {evaluate, &s, 1};
    assert_int_equal(pelt_soft_cache_init(NULL, &s.keys, NULL, engine, memory), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, NULL, NULL, engine, memory), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, NULL, (pelt_engine_call){0}, memory), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, NULL, engine, NULL), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, NULL, engine, memory + 4), PELT_ERROR_ALIGNMENT);
    pelt_soft_cache_options backwards = {.e_min = 2, .e_max = 1}, negative = {.step = -1},
                            point = {.e_min = 2, .e_max = 2};
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, &backwards, engine, memory), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, &negative, engine, memory), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_soft_cache_init(&cache, &s.keys, &point, engine, memory), PELT_OK);
    float out[POINTS][3];
    s.fails = true;
    assert_int_equal(pelt_soft_cache_next(&cache, &(float){0}, out[0], NULL), PELT_ERROR_DATA);
    s.fails = false, s.not_finite = true;
    assert_int_equal(pelt_soft_cache_next(&cache, &(float){0}, out[0], NULL), PELT_ERROR_NUMBER);
    assert_int_equal(cache.hits + cache.parts + cache.blends + cache.misses, 0);
    assert_int_equal(cache.evaluated, 2 * KEYS);
    free(memory);
}

/* -- The file ------------------------------------------------------------------------------------------------------ */

/* Where the sections of the handmade file start. */
enum {
    KPNT = 64 + 10 * 32, /* the table ends there, at a multiple of 64 */
    KAVG = KPNT + 64,
    KAVK = KAVG + 64 * BLOCKS,
    KBAS = KAVK + 128,
    KMAP = KBAS + 64 * BLOCKS,
    KMIS = KMAP + 64 * 3 * KEYS,
    KBND = KMIS + 2 * 64 * 3 * KEYS,
    KREG = KBND + 64,
    KRWT = KREG + 8 * POINTS,
    INFO = KRWT + 16 * POINTS,
    FILE_SIZE = INFO + 64,
    /* With witnesses and controls the table has three entries more, for which there are the next 128 bytes. */
    KWIT = FILE_SIZE + 128,
    KWRL = KWIT + 64,
    KCTL = KWRL + 64,
    WITNESSED_SIZE = KCTL + 64
};

static void put_section(uint8_t *file, int i, const char *kind, uint64_t offset, const void *data, uint64_t size) {
    uint32_t required = strcmp(kind, "INFO") != 0;
    memcpy(file + 64 + 32 * i, kind, 4), memcpy(file + 68 + 32 * i, &required, 4);
    memcpy(file + 72 + 32 * i, &offset, 8), memcpy(file + 80 + 32 * i, &size, 8);
    memcpy(file + offset, data, size);
}

static void write_keys(const subject *s, uint8_t *file) {
    const uint32_t counts[] = {1, 10, FILE_SIZE, 0, POINTS, 3, KEYS, 1, REGIONS, POINTS, 0};
    memset(file, 0, FILE_SIZE);
    memcpy(file, "PELTKEYS", 8), memcpy(file + 8, counts, sizeof counts);
    memcpy(file + 52, &(float){2}, 4), memcpy(file + 56, &(uint32_t){77}, 4);
    put_section(file, 0, "KPNT", KPNT, s->key_points, sizeof s->key_points);
    put_section(file, 1, "KAVG", KAVG, s->mean, sizeof s->mean);
    put_section(file, 2, "KAVK", KAVK, s->key_mean, sizeof s->key_mean);
    put_section(file, 3, "KBAS", KBAS, s->basis, sizeof s->basis);
    put_section(file, 4, "KMAP", KMAP, s->map, sizeof s->map);
    put_section(file, 5, "KMIS", KMIS, s->misfit, sizeof s->misfit);
    put_section(file, 6, "KBND", KBND, s->bounds, sizeof s->bounds);
    put_section(file, 7, "KREG", KREG, s->regions, sizeof s->regions);
    put_section(file, 8, "KRWT", KRWT, s->weights, sizeof s->weights);
    put_section(file, 9, "INFO", INFO, "{}", 3);
}

static void a_file_written_from_the_document_opens(void **state) {
    (void)state;
    static uint8_t file[FILE_SIZE] __attribute__((aligned(64)));
    subject s;
    pelt_keys keys;
    make(&s, 7), write_keys(&s, file);
    assert_int_equal(pelt_keys_open(file, FILE_SIZE, &keys), PELT_OK);
    assert_true(keys.point_count == POINTS && keys.component_count == 3 && keys.key_count == KEYS &&
                keys.basis_count == 1 && keys.region_count == REGIONS && keys.engine_point_count == POINTS);
    assert_true(keys.shared == 0 && keys.half == 0 && keys.diagonal == 2 && keys.frame_count == 77);
    assert_true(keys.row_count == 3 * POINTS && keys.key_row_count == 3 * KEYS && keys.block_count == BLOCKS);
    assert_memory_equal(keys.key_points, s.key_points, sizeof s.key_points);
    assert_memory_equal(keys.misfit, s.misfit, sizeof s.misfit);
    assert_memory_equal(keys.point_region_weights, s.weights, sizeof s.weights);
    assert_string_equal(keys.about, "{}");
    assert_int_equal(keys.about_size, 2);
    assert_true(pelt_isa_works(keys.isa));
    assert_int_equal(pelt_keys_open(file, FILE_SIZE, NULL), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_keys_open(NULL, 0, &keys), PELT_ERROR_ARGUMENT);
}

static void every_field_of_a_keys_file_has_its_range(void **state) {
    (void)state;
    const uint32_t NOT_A_NUMBER = 0x7fc00000u, FINE = PELT_OK, WRONG = PELT_ERROR_FORMAT, INDEX = PELT_ERROR_INDEX,
                   NUMBER = PELT_ERROR_NUMBER;
    const struct {
        size_t offset;
        uint32_t value, result;
    } cases[] = {
        {0, 0, WRONG},              /* magic */
        {8, 2, PELT_ERROR_VERSION}, /* version */
        {12, 9, WRONG},             /* section_count: one is missing */
        {16, FILE_SIZE + 64, PELT_ERROR_TRUNCATED},
        {16, FILE_SIZE - 64, WRONG},
        {24, 0, WRONG}, /* point_count */
        {28, 0, WRONG}, /* component_count */
        {28, 65, WRONG},
        {32, 0, WRONG}, /* key_count */
        {32, POINTS + 1, WRONG},
        {36, 0, WRONG}, /* basis_count */
        {36, 3 * KEYS + 1, WRONG},
        {40, 0, WRONG},          /* region_count */
        {44, POINTS - 2, FINE},  /* engine_point_count: keys are 37 and below */
        {44, POINTS - 3, INDEX}, /* 37 is not below it */
        {44, KEYS - 1, WRONG},
        {44, POINTS + 1, WRONG},
        {48, 1, WRONG}, /* flags: shared, half, and one that nobody knows */
        {48, 2, WRONG},
        {48, 4, WRONG},
        {52, 0, NUMBER}, /* diagonal */
        {52, 0xbf800000u, NUMBER},
        {52, NOT_A_NUMBER, NUMBER},
        {52, 0x7f800000u, NUMBER},
        {KPNT + 4 * (KEYS - 1), POINTS - 1, FINE},
        {KPNT + 4 * (KEYS - 1), POINTS, INDEX},
        {KAVG + 64 * BLOCKS - 4, NOT_A_NUMBER, NUMBER},
        {KAVK + 4 * (3 * KEYS - 1), NOT_A_NUMBER, NUMBER},
        {KBAS + 64 * BLOCKS - 4, NOT_A_NUMBER, NUMBER},
        {KMAP + 64 * 3 * KEYS - 4, NOT_A_NUMBER, NUMBER},
        {KMIS + 2 * 64 * 3 * KEYS - 4, NOT_A_NUMBER, NUMBER},
        {KBND + 8 * REGIONS - 8, 0, NUMBER}, /* a bound that nothing keeps: rms, then largest */
        {KBND + 8 * REGIONS - 4, 0, NUMBER},
        {KBND + 8 * REGIONS - 4, NOT_A_NUMBER, NUMBER},
        {KREG + 8 * POINTS - 4, REGIONS - 1, FINE}, /* two regions at once, of which the second is 0 */
        {KREG + 8 * POINTS - 4, REGIONS, INDEX},
        {KRWT + 16 * POINTS - 4, NOT_A_NUMBER, NUMBER},
        {INFO, 0x41414141u, WRONG}, /* text without an end */
    };
    static uint8_t file[FILE_SIZE] __attribute__((aligned(64)));
    subject s;
    make(&s, 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_keys keys;
        write_keys(&s, file);
        memcpy(file + cases[i].offset, &cases[i].value, 4);
        pelt_result result = pelt_keys_open(file, FILE_SIZE, &keys);
        if (result != (pelt_result)cases[i].result)
            fail_msg("case %zu (offset %zu, value %u): %s", i, cases[i].offset, cases[i].value,
                     pelt_result_text(result));
    }
    for (int section = 0; section < 9; section++)
        for (int more = -4; more <= 4; more += 8) { /* a number less, a number more */
            pelt_keys keys;
            write_keys(&s, file);
            file[80 + 32 * section] = (uint8_t)(file[80 + 32 * section] + more);
            assert_int_equal(pelt_keys_open(file, FILE_SIZE, &keys), PELT_ERROR_FORMAT);
        }
}

/* The same file with witnesses and controls: sections that older readers skip. */
static void write_witnessed(const subject *s, uint8_t *file) {
    write_keys(s, file);
    memmove(file + KPNT + 128, file + KPNT, FILE_SIZE - KPNT);
    memset(file + KPNT, 0, 128), memset(file + KWIT, 0, WITNESSED_SIZE - KWIT);
    for (int i = 0; i < 10; i++) {
        uint64_t offset;
        memcpy(&offset, file + 72 + 32 * i, 8), offset += 128, memcpy(file + 72 + 32 * i, &offset, 8);
    }
    memcpy(file + 12, &(uint32_t){13}, 4), memcpy(file + 16, &(uint64_t){WITNESSED_SIZE}, 8);
    put_section(file, 10, "KWIT", KWIT, s->witness_points, sizeof s->witness_points);
    put_section(file, 11, "KWRL", KWRL, &s->rule, sizeof s->rule);
    put_section(file, 12, "KCTL", KCTL, s->ranges, sizeof s->ranges);
}

static void witnesses_and_controls_of_a_file_have_their_ranges(void **state) {
    (void)state;
    static uint8_t file[WITNESSED_SIZE] __attribute__((aligned(64)));
    const struct {
        size_t offset;
        uint32_t value, result;
    } cases[] = {
        {KWIT, 5, PELT_OK},
        {KWIT + 4 * WITNESSES - 4, POINTS - 1, PELT_OK},
        {KWIT + 4 * WITNESSES - 4, POINTS, PELT_ERROR_INDEX},
        {KWRL, 0, PELT_ERROR_NUMBER}, /* bound */
        {KWRL, 0xbf800000u, PELT_ERROR_NUMBER},
        {KWRL, 0x7fc00000u, PELT_ERROR_NUMBER},
        {KWRL + 4, 0, PELT_ERROR_FORMAT}, /* each_frame */
        {KWRL + 4, WITNESSES, PELT_OK},
        {KWRL + 4, WITNESSES + 1, PELT_ERROR_FORMAT},
        {12, 11, PELT_ERROR_FORMAT},                          /* points without their rule */
        {80 + 32 * 10, 4 * WITNESSES + 2, PELT_ERROR_FORMAT}, /* half a number more */
        {80 + 32 * 10, 0, PELT_ERROR_FORMAT},                 /* nobody */
        {80 + 32 * 11, 12, PELT_ERROR_FORMAT},
        {12, 12, PELT_OK},            /* no controls */
        {KCTL, 0x40400000u, PELT_OK}, /* low 3, high 3 */
        {KCTL, 0x40400001u, PELT_ERROR_NUMBER},
        {KCTL + 12, 0x7f800000u, PELT_ERROR_NUMBER},
        {KCTL + 8, 0xff800000u, PELT_ERROR_NUMBER},
        {80 + 32 * 12, 8, PELT_OK}, /* one of the two */
        {80 + 32 * 12, 12, PELT_ERROR_FORMAT},
        {80 + 32 * 12, 0, PELT_ERROR_FORMAT},
    };
    subject s;
    make(&s, 7), make_witnesses(&s);
    s.ranges[0] = (pelt_control_range){-1, 3}, s.ranges[1] = (pelt_control_range){0, 0.5f};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_keys keys;
        write_witnessed(&s, file);
        memcpy(file + cases[i].offset, &cases[i].value, 4);
        pelt_result result = pelt_keys_open(file, WITNESSED_SIZE, &keys);
        if (result != (pelt_result)cases[i].result) fail_msg("case %zu: %s", i, pelt_result_text(result));
        if (result || i) continue;
        assert_true(keys.witness_count == WITNESSES && keys.witness_points[0] == 5 && keys.witness_points[1] == 18);
        assert_true(keys.witness_rule->each_frame == 2 && keys.witness_rule->bound == s.rule.bound);
        assert_true(keys.control_count == 2 && keys.control_ranges[0].high == 3 && keys.control_ranges[1].high == 0.5f);
    }
}

static void keys_that_could_not_be_opened_are_empty(void **state) {
    (void)state;
    static const _Alignas(64) uint8_t nothing[128];
    pelt_keys keys, empty;
    memset(&keys, 0xff, sizeof keys), memset(&empty, 0, sizeof empty);
    assert_int_not_equal(pelt_keys_open(nothing, sizeof nothing, &keys), PELT_OK);
    assert_memory_equal(&keys, &empty, sizeof keys);
    assert_int_equal(pelt_keys_open(nothing, sizeof nothing, NULL), PELT_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misfits_are_judged_by_their_mean_and_by_the_largest),
        cmocka_unit_test(every_frame_is_what_the_words_say),
        cmocka_unit_test(what_witnesses_see_is_computed_to_where_it_ends),
        cmocka_unit_test(more_witnesses_are_heard_where_controls_leave_their_ranges),
        cmocka_unit_test(a_point_comes_back_as_slowly_as_it_left),
        cmocka_unit_test(a_mesh_that_nobody_can_compute_is_never_asked_for),
        cmocka_unit_test(what_cannot_work_is_refused),
        cmocka_unit_test(a_file_written_from_the_document_opens),
        cmocka_unit_test(every_field_of_a_keys_file_has_its_range),
        cmocka_unit_test(witnesses_and_controls_of_a_file_have_their_ranges),
        cmocka_unit_test(keys_that_could_not_be_opened_are_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
