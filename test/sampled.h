/* sampled.h: the built-in characters, small. */

#ifndef PELT_TEST_SAMPLED_H
#define PELT_TEST_SAMPLED_H

#include "samples/samples.h"
#include "test/test.h"
#include <pelt/fit.h>

static inline pelt_bundle *sampled(const char *name, uint32_t vertices) {
    pelt_error error;
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = name, .vertices = vertices}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* All frames of a clip. */
static inline pelt_examples all_of(pelt_bundle *bundle, const char *name) {
    pelt_error error;
    const pelt_clip *clip = pelt_bundle_clip(bundle, name, PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    return pelt_bundle_examples(bundle, &clip, 1);
}

#endif
