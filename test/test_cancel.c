/* test_cancel.c: a fit can be stopped soon, wherever it is and whatever it does, and leaves nothing. */

#include "rig/clock.h"
#include "test/sampled.h"

typedef struct caller {
    int calls, last; /* the call that asks to stop; 0: none */
    double asked, longest;
    char task[60], longest_task[60];
} caller;

static int step(void *user, const char *task, double fraction) {
    caller *c = user;
    double now = pelt_cpu_seconds();
    (void)fraction;
    if (now - c->asked > c->longest) {
        c->longest = now - c->asked;
        snprintf(c->longest_task, sizeof c->longest_task, "%s", c->task);
    }
    c->asked = now;
    snprintf(c->task, sizeof c->task, "%s", task);
    return ++c->calls == c->last;
}

static const pelt_fit_options fits[] = {
    {.method = PELT_METHOD_PSD},
    {.method = PELT_METHOD_WPSD},
    {.method = PELT_METHOD_EIGEN},
    {.method = PELT_METHOD_JOINTS},
    {.method = PELT_METHOD_KERNEL},
    {.blend = PELT_BLEND_FIT, .corrective = PELT_CORRECTIVE_NONE},
    {.blend = PELT_BLEND_JOINTS, .corrective = PELT_CORRECTIVE_KERNEL},
};
enum { FITS = sizeof fits / sizeof *fits };

static pelt_bytes *fit(pelt_bundle *bundle, pelt_fit_options options, caller *c, pelt_error *error) {
    pelt_examples train = all_of(bundle, "train");
    options.progress = (pelt_progress){step, c};
    return pelt_fit(bundle, train, &options, NULL, error);
}

static pelt_bundle *make(uint32_t vertices, uint32_t frames) {
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = vertices, .frames = frames}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* Under sanitizers, many times. */
static bool slow(void) { return getenv("ASAN_OPTIONS") || getenv("TSAN_OPTIONS"); }

/* Half a second of one core. */
static void every_fit_asks_often(void **state) {
    pelt_error error;
    (void)state;
    if (slow()) skip();
    pelt_bundle *bundle = make(6000, 160);
    for (int i = 0; i < FITS; i++) {
        caller c = {.asked = pelt_cpu_seconds(), .task = "its beginning"};
        pelt_fit_options options = fits[i];
        options.threads = 1;
        pelt_bytes *skin = fit(bundle, options, &c, &error);
        if (!skin) fail_msg("%s", error.text);
        step(&c, "the end", 1);
        if (c.longest > 0.5) fail_msg("fit %d: %.2f s in %s", i, c.longest, c.longest_task);
        pelt_bytes_free(skin);
    }
    pelt_bundle_free(bundle);
}

/* At each of its calls in turn, or at every so manieth. */
static void whoever_says_stop_is_obeyed(void **state) {
    pelt_bundle *bundle = make(200, 24);
    pelt_error error;
    (void)state;
    for (int i = 0; i < FITS; i++)
        for (uint32_t threads = 1; threads < 4; threads += 2) {
            caller all = {0};
            pelt_fit_options options = fits[i];
            options.threads = threads;
            pelt_bytes *skin = fit(bundle, options, &all, &error);
            if (!skin) fail_msg("%s", error.text);
            for (int last = 1; last <= all.calls; last += 1 + all.calls / (slow() ? 3 : 12)) {
                caller c = {.last = last};
                pelt_bytes *none = fit(bundle, options, &c, &error);
                if (none && c.calls >= last) fail_msg("fit %d goes on after call %d in %s", i, last, c.task);
                pelt_bytes_free(none);
                if (c.calls < last) continue; /* how often it asks depends on its threads, and the time */
                assert_int_equal(error.code, PELT_ERROR_CANCELLED);
                assert_string_equal(error.text, "stopped on request");
                assert_int_equal(c.calls, last); /* and is not asked again */
            }
            caller again = {0};
            pelt_bytes *same = fit(bundle, options, &again, &error);
            assert_non_null(same);
            assert_int_equal(same->size, skin->size);
            assert_memory_equal(same->bytes, skin->bytes, skin->size);
            pelt_bytes_free(same), pelt_bytes_free(skin);
        }
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fit_asks_often),
                                       cmocka_unit_test(whoever_says_stop_is_obeyed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
