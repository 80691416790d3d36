/* corrective.h: synthetic correctives: their speed does not depend on their contents. */

#ifndef BENCH_CORRECTIVE_H
#define BENCH_CORRECTIVE_H

#include "bench/bench.h"

enum { BENCH_CORRECTIVES = 3 };

/* A skin with a corrective in one pose, and the same numbers for the plain loops. */
typedef struct bench_corrective {
    const char *name; /* "eigen-5", "psd-8", "wpsd-8" */
    uint32_t terms;   /* displacements per vertex */
    bool weighted;    /* terms are centres with folded coefficients */
    pelt_bytes *bytes;
    pelt_skin skin;
    pelt_arena *arena; /* owns everything below */
    void *scratch;
    uint16_t *sources;   /* [vertex][terms] coefficient of each displacement */
    float *vectors;      /* [vertex][terms][3] */
    float *coefficients; /* [coefficient] in this pose */
    float *distances;    /* [joint][terms] squared and scaled, in this pose */
} bench_corrective;

/* Makes the three for a character with 4 influences per vertex. Free them even on failure. */
pelt_result bench_correctives_make(const pelt_bundle *bundle, const pelt_transform *locals, bench_corrective *list,
                                   pelt_error *error);
void bench_correctives_free(bench_corrective *list);

/* Kernel ridge over 240 examples in 64 groups, five displacements per vertex; without data for the plain loops.
   The caller frees bytes and arena. */
pelt_result bench_kernel_make(const pelt_bundle *bundle, const pelt_transform *locals, bench_corrective *out,
                              pelt_error *error);

/* Seconds per pelt_pose with a corrective of `examples` examples: PSD, and kernel ridge with 64 groups. */
pelt_result bench_pose_seconds(const pelt_bundle *bundle, const pelt_transform *locals, uint32_t examples, double *psd,
                               double *kernel, pelt_error *error);

#endif
