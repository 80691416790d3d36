/* test_facts.c: facts stored in files: every fact against the report it comes from, files without facts, and invalid
   facts. */

#include "fit/measure/measure.h"
#include "model/facts.h"
#include "rig/rig.h"
#include "test/frames.h"
#include "test/sampled.h"
#include "test/sections.h"
#include <math.h>
#include <pelt/keys_fit.h>

/* -- Skins --------------------------------------------------------------------------------------------------------- */

static pelt_bundle *elbow;

static int make_elbow(void **state) {
    (void)state;
    elbow = sampled("elbow", 300);
    return 0;
}

static int free_elbow(void **state) {
    (void)state;
    pelt_bundle_free(elbow);
    return 0;
}

/* Two clips, the first of them in two stretches. */
static pelt_examples mixed(pelt_example *list) {
    pelt_examples train = all_of(elbow, "train"), test = all_of(elbow, "test");
    size_t count = 0;
    for (size_t i = 0; i < train.count / 2; i++) list[count++] = train.list[i];
    for (size_t i = 0; i < 5; i++) list[count++] = test.list[i];
    for (size_t i = train.count / 2; i < train.count; i++) list[count++] = train.list[i];
    return (pelt_examples){count, list};
}

static pelt_bytes *fit(pelt_fit_options options, pelt_fit_report *report, pelt_skin *skin) {
    static pelt_example list[4000];
    pelt_error error;
    pelt_bytes *bytes = pelt_fit(elbow, mixed(list), &options, report, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static void assert_measure(const pelt_fact_measure *fact, const pelt_measure *m) {
    assert_true(fact->rms == m->rms && fact->max == m->max && fact->frame_count == m->frame_count);
    assert_true(pelt_measure_is_relative(m) && fact->rel_err == m->rel_err && fact->roughness == m->roughness);
    assert_true(fact->normal_rms_degrees == m->normal_rms_degrees);
}

static void a_skin_knows_what_its_report_says(void **state) {
    (void)state;
    pelt_fit_report report;
    pelt_skin skin;
    pelt_bytes *bytes =
        fit((pelt_fit_options){.method = PELT_METHOD_EIGEN, .blend = PELT_BLEND_FIT, .holdout = 0.3}, &report, &skin);
    const pelt_facts *f = skin.facts;
    assert_non_null(f);
    assert_int_equal(f->method, PELT_METHOD_EIGEN);
    assert_int_equal(f->blend, PELT_BLEND_FIT);
    assert_int_equal(f->corrective, PELT_CORRECTIVE_EIGEN);
    assert_int_equal(f->example_count, report.kept.count + report.held.count);
    assert_measure(&f->train, report.train);
    assert_measure(&f->holdout, report.holdout);
    assert_ptr_equal(pelt_facts_measure(f), &f->holdout);
    assert_string_equal(pelt_facts_text(f, PELT_FACT_MADE_BY), "pelt " PELT_VERSION);
    assert_string_equal(pelt_facts_text(f, PELT_FACT_BUNDLE), elbow->path);
    assert_int_equal(f->clip_count, 2);
    assert_string_equal(pelt_facts_text(f, PELT_FACT_CLIPS), "train");
    assert_string_equal(pelt_facts_text(f, PELT_FACT_CLIPS + 1), "test");
    const pelt_eigen_field_findings *eigen = &report.eigen->positions;
    assert_true(f->mover_count == eigen->joint_count && eigen->joint_count > 0);
    for (uint32_t j = 0; j < eigen->joint_count; j++) {
        uint32_t count;
        const double *values = pelt_facts_singular(f, eigen->joints[j].name, &count);
        assert_non_null(values);
        assert_true(count == eigen->joints[j].rank && count > 0);
        assert_memory_equal(values, eigen->joints[j].singular, count * sizeof *values);
    }
    uint32_t none = 1;
    assert_null(pelt_facts_singular(f, "no such mover", &none));
    assert_int_equal(none, 0);
    pelt_fit_report_free(&report), pelt_bytes_free(bytes);
}

static void what_was_not_measured_is_not_known(void **state) {
    (void)state;
    pelt_skin skin;
    pelt_bytes *bytes = fit((pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &skin);
    assert_int_equal(skin.facts->method, PELT_METHOD_SSD);
    assert_int_equal(skin.facts->clip_count, 2);
    assert_int_equal(skin.facts->mover_count, 0);
    assert_int_equal(skin.facts->train.frame_count, 0);
    assert_true(skin.facts->train.rel_err < 0 && skin.facts->holdout.rms < 0);
    assert_null(pelt_facts_measure(skin.facts));
    pelt_bytes_free(bytes);
    pelt_fit_report report;
    bytes = fit((pelt_fit_options){.method = PELT_METHOD_SSD, .holdout = -1}, &report, &skin);
    assert_ptr_equal(pelt_facts_measure(skin.facts), &skin.facts->train);
    pelt_fit_report_free(&report), pelt_bytes_free(bytes);
    pelt_measure exact = {.rms = 1, .roughness = NAN, .normal_rms_degrees = INFINITY, .frame_count = 1};
    pelt_fact_measure fact = pelt_measure_facts(&exact); /* nothing to be relative to, and numbers no file may have */
    assert_true(fact.rms == 1 && fact.rel_err == -1 && fact.roughness == -1 && fact.normal_rms_degrees == -1);
}

static void a_skin_of_an_older_pelt_opens_without_facts(void **state) {
    (void)state;
    pelt_skin skin;
    pelt_bytes *bytes = fit((pelt_fit_options){.method = PELT_METHOD_PSD}, NULL, &skin);
    hide_section(bytes->bytes, "FACT");
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    assert_null(skin.facts);
    uint32_t count = 1;
    assert_null(pelt_facts_measure(skin.facts));
    assert_null(pelt_facts_singular(skin.facts, "elbow", &count));
    assert_int_equal(count, 0);
    pelt_bytes_free(bytes);
}

/* The section as described in docs/format.md: two movers with two and one singular values, one clip. */
static void facts_that_lie_are_refused(void **state) {
    (void)state;
    enum { SIZE = 128 + 3 * 8 + 2 * 4 + 10 };
    static const char texts[10] = "p\0b\0c\0m\0n"; /* who made it, bundle, clip, movers */
    const uint32_t FINE = PELT_OK, WRONG = PELT_ERROR_FORMAT, NUMBER = PELT_ERROR_NUMBER;
    const struct {
        uint32_t offset, value, result;
    } cases[] = {
        {0, 77, FINE},                 /* a method that is not known yet */
        {16 + 36, 0x7ff00000, NUMBER}, /* training: normals are infinite */
        {64, 0x7ff80000, FINE},        /* the lower half of a number may be anything */
        {64 + 4, 0x7ff80000, NUMBER},
        {112, 2, WRONG}, /* one clip more, or none */
        {112, 0, WRONG},
        {112, 0xffffffff, WRONG},
        {116, 1, WRONG}, /* movers */
        {116, 0xffffffff, WRONG},
        {120, 2, WRONG}, /* values */
        {120, 0x20000001, WRONG},
        {128 + 20, 0x7ff80000, NUMBER},
        {128 + 24, 1, WRONG}, /* how many a mover has */
        {128 + 24, 0xffffffff, WRONG},
        {128 + 28, 2, WRONG},
        {128 + 32, 0x62006161, WRONG}, /* a text less */
        {SIZE - 4, 0x6e00006d, WRONG}, /* the last one has no end */
    };
    pelt_skin skin;
    pelt_bytes *bytes = fit((pelt_fit_options){.method = PELT_METHOD_EIGEN}, NULL, &skin);
    uint8_t *facts = section_bytes(bytes->bytes, "FACT");
    uint64_t size = SIZE;
    const double values[3] = {3, 2, 1};
    const uint32_t counts[4] = {1, 2, 3, 0}, ranks[2] = {2, 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(facts, 0, 128), memcpy(facts + 112, counts, 16), memcpy(facts + 128, values, 24);
        memcpy(facts + 152, ranks, 8), memcpy(facts + 160, texts, 10);
        memcpy(section_entry(bytes->bytes, "FACT") + 16, &size, 8);
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        uint32_t count;
        assert_true(pelt_facts_singular(skin.facts, "n", &count)[0] == 1 && count == 1);
        memcpy(facts + cases[i].offset, &cases[i].value, 4);
        if (pelt_open(bytes->bytes, bytes->size, &skin) != (pelt_result)cases[i].result)
            fail_msg("offset %u, value %x", cases[i].offset, cases[i].value);
    }
    for (uint64_t less = 0; less < SIZE; less++) { /* cut anywhere */
        memcpy(facts + 112, counts, 16), memcpy(facts + 128, values, 24), memcpy(facts + 152, ranks, 8);
        memcpy(facts + 160, texts, 10);
        memcpy(section_entry(bytes->bytes, "FACT") + 16, &less, 8);
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_ERROR_FORMAT);
    }
    uint64_t end[2] = {bytes->size - 64, 64}; /* half a struct at the end of the file: nothing is read beyond it */
    void *copy = NULL;
    memcpy(section_entry(bytes->bytes, "FACT") + 8, end, sizeof end);
    assert_int_equal(posix_memalign(&copy, 64, bytes->size), 0);
    memcpy(copy, bytes->bytes, bytes->size);
    assert_int_equal(pelt_open(copy, bytes->size, &skin), PELT_ERROR_FORMAT);
    free(copy), pelt_bytes_free(bytes);
}

/* -- Key points ---------------------------------------------------------------------------------------------------- */

static pelt_result give(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error) {
    (void)keys, (void)error;
    words->data = strdup(user), words->size = (uint32_t)strlen(user);
    return PELT_OK;
}

static void key_points_know_what_more_of_them_bring_and_what_their_trainer_gave(void **state) {
    (void)state;
    test_frames *t = test_frames_make(60, 30, 3, 6, 1e-3, 1);
    char mine[] = "my own bytes";
    pelt_keys_options options = {.keys = 8, .describe = give, .describe_user = mine};
    pelt_error error;
    pelt_keys_report report;
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_train(&t->frames, &options, &report, &error);
    assert_non_null(bytes);
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_int_equal(keys.user_size, strlen(mine));
    assert_memory_equal(keys.user_data, mine, strlen(mine));
    assert_true(keys.curve_count > 1 && keys.curve_count <= PELT_KEYS_CURVE);
    for (uint32_t i = 0; i < keys.curve_count; i++) {
        assert_int_equal(keys.curve[i].keys, report.curve_keys[i]);
        assert_true(keys.curve[i].error == (float)report.curve_error[i]);
    }
    assert_true(keys.curve_count == PELT_KEYS_CURVE || !report.curve_keys[keys.curve_count]);
    pelt_keys_error *last = (pelt_keys_error *)&keys.curve[keys.curve_count - 1], kept = *last;
    const pelt_keys_error wrong[] = {{0, 0.1f}, {1, NAN}, {1, INFINITY}, {1, -0.1f}};
    for (int i = 0; i < 4; i++) {
        *last = wrong[i];
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_ERROR_NUMBER);
    }
    *last = kept;
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    float *square = (float *)&keys.left_out[3], right = *square;
    for (int i = 0; i < 2; i++) {
        *square = i ? -1 : NAN;
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_ERROR_NUMBER);
    }
    *square = right;
    const char *const kinds[] = {"KERR", "KERR", "USER", "KOUT"};
    const uint64_t sizes[] = {0, 12, 0, 4};
    for (int i = 0; i < 4; i++) { /* sections are not empty, and hold whole points */
        uint64_t size;
        memcpy(&size, section_entry(bytes->bytes, kinds[i]) + 16, 8);
        memcpy(section_entry(bytes->bytes, kinds[i]) + 16, &sizes[i], 8);
        assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_ERROR_FORMAT);
        memcpy(section_entry(bytes->bytes, kinds[i]) + 16, &size, 8);
    }
    for (int i = 1; i < 4; i++) hide_section(bytes->bytes, kinds[i]); /* an older pelt's */
    assert_int_equal(pelt_keys_open(bytes->bytes, bytes->size, &keys), PELT_OK);
    assert_true(!keys.curve && !keys.curve_count && !keys.user_data && !keys.user_size && !keys.left_out);
    pelt_bytes_free(bytes), test_frames_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skin_knows_what_its_report_says),
        cmocka_unit_test(what_was_not_measured_is_not_known),
        cmocka_unit_test(a_skin_of_an_older_pelt_opens_without_facts),
        cmocka_unit_test(facts_that_lie_are_refused),
        cmocka_unit_test(key_points_know_what_more_of_them_bring_and_what_their_trainer_gave),
    };
    return cmocka_run_group_tests(tests, make_elbow, free_elbow);
}
