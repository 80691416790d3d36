/* frame.h: the time of a whole frame of a skin on one core: pelt_pose, and pelt_deform of positions and normals. */

#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include "bench/bench.h"

typedef struct bench_frame {
    const char *isa_name;
    bench_time pose, deform; /* thread seconds */
} bench_frame;

/* For every instruction set, in poses around the rest pose in which all joints rotate; frames[PELT_ISA_COUNT]. Returns
   their number, 0 after an error. */
size_t bench_frames(const pelt_skin *skin, uint32_t seed, uint32_t rounds, bench_frame *frames, pelt_error *error);

#endif
