/* measure.h: measuring with progress reports (<pelt/fit.h> has the call without). */

#ifndef PELT_MEASURE_H
#define PELT_MEASURE_H

#include "rig/rig.h"
#include "runtime/format.h"

pelt_measure *pelt_measure_watched(const pelt_skin *skin, const pelt_bundle *bundle, pelt_examples examples,
                                   uint32_t threads, const pelt_progress *progress, pelt_error *error);

/* Nanoseconds per vertex of a whole frame (pose, positions, normals) on one thread, over many frames of a clip. */
typedef struct pelt_frame_times {
    double median, low, high; /* half of the frames took from low to high */
    uint32_t count;           /* timed frames; 0: out of memory */
} pelt_frame_times;

/* `clip` NULL: of the rest pose. */
pelt_frame_times pelt_time_frames(const pelt_skin *skin, const pelt_skeleton *skeleton, const pelt_clip *clip);

/* Compares frame_expected with frame_rms (expected.c). Runs in a stage. */
void pelt_measure_expectation(pelt_measure *measure);

/* The correlation of two series; 0 if one is constant. */
double pelt_correlation(const double *a, const double *b, size_t count);

/* The part of a measure that files store; for NULL, all unknown. */
pelt_fact_measure pelt_measure_facts(const pelt_measure *measure);

#endif
