/* samples.h: characters made by formula, whose true deformation is known and linear blending cannot reach. For the
   demo, for tests, for benchmarks. */

#ifndef PELT_SAMPLES_H
#define PELT_SAMPLES_H

#include "rig/rig.h"

/* "box" (Mohr & Gleicher's twisting box), "elbow" (a bending tube), "arm" (collar, shoulder, elbow, wrist),
   "biceps" (the arm's elbow, and a muscle that the control "tension" raises in any pose), "humanoid" (53 joints, for
   speed; its truth is its own linear blend). */
typedef struct pelt_sample_options {
    const char *name;
    uint32_t vertices; /* exactly so many; 0: the sample's own default */
    uint32_t frames;   /* examples per clip; 0: the default of the sample */
    uint32_t seed;
} pelt_sample_options;

/* Names of the samples, NULL at the end. */
extern const char *const pelt_sample_names[];

/* Makes a sample: a bundle as if it had been read from files, with clips "train" and "test" that have positions. */
pelt_bundle *pelt_sample_make(const pelt_sample_options *options, pelt_error *error);

#endif
