/* samples.h: procedural characters with a known true deformation that linear blending cannot match. For the demo, tests
   and benchmarks. */

#ifndef PELT_SAMPLES_H
#define PELT_SAMPLES_H

#include "rig/rig.h"

/* "box" (Mohr & Gleicher's twisting box), "elbow" (a bending tube), "arm" (collar, shoulder, elbow, wrist),
   "biceps" (the arm's elbow, and a muscle that the control "tension" raises in any pose), "wrist" (the arm's wrist,
   twisting by 170 degrees), "humanoid" (53 joints, for speed; its truth is its own linear blend), "hand" (16 joints,
   sweeps and grasps; it has no truth of its own: `pelt flesh` makes that). */
typedef struct pelt_sample_options {
    const char *name;
    uint32_t vertices; /* exact count, "hand": at most; 0: the sample's default */
    uint32_t frames;   /* examples per clip; 0: the sample's default */
    uint32_t seed;
    /* How vertices are split, as files split them: "seam" (a texture wrapped around once; twins have equal normals),
       "mirror" (half a texture, used on both sides), "split" (every triangle alone, with smooth normals), "flat" (every
       triangle alone, with its own normal), "edges" (hard edges between the sides that face along different axes).
       NULL: none is. */
    const char *variant;
    const char *truth; /* of pelt_sample_known: "swell", "dual" or "mush"; NULL: swell */
} pelt_sample_options;

/* Names of the samples that have a truth, and of variants, NULL-terminated. */
extern const char *const pelt_sample_names[], *const pelt_sample_variants[];

/* Makes a sample: a bundle as if it had been read from files, with clips "train" and "test" that have positions. */
pelt_bundle *pelt_sample_make(const pelt_sample_options *options, pelt_error *error);

/* Puts a known deformation on a user's character, to measure skins on it without sculpted or simulated examples. The
   bundle, which needs weights, is rebound in its rest pose, and its clips are replaced by "train" (every joint rotated
   alone, then several at random) and "test" (a smooth motion of all). The truth "swell" (known.c): limbs twist evenly
   along their length instead of at the joint, and swell where joints bend. "dual": the file's weights by dual quaternions;
   "mush": its linear blend after delta mush (truths.c). Only the options `frames`, `seed` and `truth` apply. */
pelt_result pelt_sample_known(pelt_bundle *bundle, const pelt_sample_options *options, pelt_error *error);

#endif
