/* frames.h: small synthetic frames for tests of key points. */

#ifndef PELT_TEST_FRAMES_H
#define PELT_TEST_FRAMES_H

#include "test/test.h"
#include <pelt/keys_fit.h>

typedef struct test_frames {
    pelt_frames frames;
    float *values;    /* [frame][point][component] */
    uint32_t batches; /* how often read was called */
} test_frames;

static inline pelt_result test_frames_read(void *user, uint32_t first, uint32_t count, float *values,
                                           pelt_error *error) {
    test_frames *t = user;
    size_t frame = (size_t)t->frames.point_count * t->frames.component_count;
    (void)error;
    assert_true(first + count <= t->frames.frame_count);
    memcpy(values, t->values + first * frame, count * frame * sizeof *values);
    t->batches++;
    return PELT_OK;
}

/* Smooth motions of points on a line: `modes` waves with random strength per frame, each much weaker than the previous
   one, around points at (x, 0, 0); components beyond three are waves too. */
static inline test_frames *test_frames_make(uint32_t frame_count, uint32_t point_count, uint32_t components,
                                            uint32_t modes, double noise, uint64_t seed) {
    test_frames *t = calloc(1, sizeof *t);
    size_t frame = (size_t)point_count * components;
    t->values = calloc(frame_count * frame, sizeof *t->values);
    t->frames = (pelt_frames){.frame_count = frame_count,
                              .point_count = point_count,
                              .component_count = components,
                              .read = test_frames_read,
                              .user = t,
                              .name = "made-up frames"};
    for (uint32_t f = 0; f < frame_count; f++) {
        float *out = t->values + f * frame;
        for (uint32_t p = 0; p < point_count; p++) out[p * components] = (float)p / (float)point_count;
        for (uint32_t m = 0; m < modes; m++) {
            double strength = 0.2 * (test_random(&seed) - 0.5) / (1 + 0.4 * m);
            for (uint32_t p = 0; p < point_count; p++)
                for (uint32_t c = 0; c < components; c++)
                    out[p * components + c] +=
                        (float)(strength * sin((m + 1) * (p + 0.5) * 3.1 / point_count + c + m * c));
        }
        for (size_t i = 0; i < frame; i++) out[i] += (float)(noise * (test_random(&seed) - 0.5));
    }
    return t;
}

static inline void test_frames_free(test_frames *t) {
    free(t->values);
    free(t);
}

#endif
