/* test_holdout.c: which examples a fit does not see. */

#include "test/character.h"

typedef enum kind { MOTION, CYCLE, POSES } kind;

/* A clip whose shapes move smoothly, cycle several times, or are unrelated. */
static const pelt_clip *make_clip(pelt_bundle *bundle, kind what, uint32_t frames, uint64_t seed) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    pelt_clip *clip = PELT_NEW(bundle->arena, 1, pelt_clip);
    float *positions = PELT_NEW(bundle->arena, n * frames, float);
    for (size_t i = 0; i < n * frames; i++) {
        double t = (double)(i / n) / frames, phase = (double)(i % n);
        positions[i] = (float)(what == POSES    ? test_random(&seed)
                               : what == MOTION ? sin(5 * t + phase) + t
                                                : sin(2 * acos(-1) * 6 * t + phase));
    }
    *clip = (pelt_clip){.name = "clip", .frame_count = frames, .positions = positions};
    character_own(bundle, clip);
    return clip;
}

typedef struct split {
    pelt_bundle *bundle;
    pelt_examples all, kept, held;
    uint8_t out[2000]; /* 1 where example i of all is held out */
} split;

/* Splits, and checks that the two lists make up the whole list, in order. */
static split hold(uint32_t clip_count, kind what, uint32_t frames, double fraction) {
    split s = {.bundle = character_chain(1, 8)};
    const pelt_clip *clips[4];
    for (uint32_t c = 0; c < clip_count; c++) clips[c] = make_clip(s.bundle, what, frames, c + 1);
    s.all = pelt_bundle_examples(s.bundle, clips, clip_count);
    assert_int_equal(s.all.count, clip_count * frames);
    pelt_error error = {0};
    assert_int_equal(pelt_hold_out(s.bundle, s.all, fraction, &s.kept, &s.held, &error), PELT_OK);
    assert_int_equal(s.kept.count + s.held.count, s.all.count);
    size_t k = 0, h = 0;
    for (size_t i = 0; i < s.all.count; i++) {
        const pelt_example *e = &s.all.list[i];
        s.out[i] = h < s.held.count && s.held.list[h].clip == e->clip && s.held.list[h].frame == e->frame;
        if (s.out[i]) {
            h++;
        } else {
            assert_true(k < s.kept.count && s.kept.list[k].clip == e->clip && s.kept.list[k].frame == e->frame);
            k++;
        }
        if (e->frame == 0) assert_false(s.out[i]);
    }
    return s;
}

/* Runs of examples held out one after the other. */
static uint32_t stretches(const split *s) {
    uint32_t count = 0;
    for (size_t i = 1; i < s->all.count; i++) count += s->out[i] && !s->out[i - 1];
    return count;
}

static uint32_t longest_stretch(const split *s) {
    uint32_t run = 0, longest = 0;
    for (size_t i = 0; i < s->all.count; i++) {
        run = s->out[i] ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

static void a_motion_is_held_out_in_stretches(void **state) {
    (void)state;
    for (int what = MOTION; what <= CYCLE; what++)
        for (double fraction = 0.1; fraction < 0.55; fraction += 0.1) {
            split s = hold(1, (kind)what, 240, fraction);
            assert_near((double)s.held.count, 240 * fraction, 20); /* to a stretch */
            assert_int_equal(s.held.count % 20, 0);                /* of a twelfth each, */
            assert_true(longest_stretch(&s) <= 40);                /* two of them at the most side by side */
            character_free(s.bundle);
        }
}

static void poses_are_held_out_singly(void **state) {
    (void)state;
    for (double fraction = 0.05; fraction < 0.5; fraction += 0.05) {
        split s = hold(1, POSES, 200, fraction);
        assert_near((double)s.held.count, 200 * fraction, 1);
        assert_int_equal(stretches(&s), s.held.count);
        character_free(s.bundle);
    }
}

static void a_small_part_of_a_long_motion_is_one_short_stretch(void **state) {
    (void)state;
    split s = hold(1, MOTION, 1000, 0.02);
    assert_int_equal(s.held.count, 20);
    assert_int_equal(stretches(&s), 1);
    character_free(s.bundle);
    s = hold(1, MOTION, 24, 0.04);
    assert_int_equal(s.held.count, 1);
    character_free(s.bundle);
}

static void every_clip_keeps_its_first_frame_and_gives_its_share(void **state) {
    (void)state;
    for (int what = MOTION; what <= POSES; what++) {
        split s = hold(3, (kind)what, 60, 0.25);
        for (int c = 0; c < 3; c++) {
            uint32_t count = 0;
            for (int f = 0; f < 60; f++) count += s.out[60 * c + f];
            assert_near(count, 15, 5);
        }
        character_free(s.bundle);
    }
    split s = hold(1, POSES, 50, 0.99); /* the first frame is kept even when all is asked for */
    assert_true(s.kept.count >= 1 && s.held.count >= 45);
    character_free(s.bundle);
}

static void nothing_is_held_out_of_nothing(void **state) {
    (void)state;
    for (int what = MOTION; what <= POSES; what++) {
        split s = hold(2, (kind)what, 100, 0);
        assert_int_equal(s.held.count, 0);
        character_free(s.bundle);
    }
    split one = hold(1, POSES, 1, 0.5), empty = hold(0, POSES, 0, 0.5);
    assert_int_equal(one.held.count, 0);
    assert_int_equal(one.kept.count, 1);
    assert_int_equal(empty.kept.count, 0);
    character_free(one.bundle), character_free(empty.bundle);
}

static void fractions_that_mean_nothing_are_refused(void **state) {
    (void)state;
    static const double wrong[] = {1, 1.5, -0.1, NAN, INFINITY};
    pelt_bundle *bundle = character_chain(1, 8);
    const pelt_clip *clip = make_clip(bundle, POSES, 10, 1);
    pelt_examples all = pelt_bundle_examples(bundle, &clip, 1), kept, held;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pelt_error error = {0};
        assert_int_equal(pelt_hold_out(bundle, all, wrong[i], &kept, &held, &error), PELT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.text, "holdout must be"));
    }
    character_free(bundle);
}

static void clips_without_positions_are_refused(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(1, 8);
    const pelt_clip *posed = make_clip(bundle, POSES, 10, 1);
    pelt_examples all = pelt_bundle_examples(bundle, &posed, 1), kept, held;
    ((pelt_clip *)posed)->positions = NULL;
    pelt_error error = {0};
    assert_int_equal(pelt_hold_out(bundle, all, 0.2, &kept, &held, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "no true positions"));
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_motion_is_held_out_in_stretches),
        cmocka_unit_test(clips_without_positions_are_refused),
        cmocka_unit_test(poses_are_held_out_singly),
        cmocka_unit_test(a_small_part_of_a_long_motion_is_one_short_stretch),
        cmocka_unit_test(every_clip_keeps_its_first_frame_and_gives_its_share),
        cmocka_unit_test(nothing_is_held_out_of_nothing),
        cmocka_unit_test(fractions_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
