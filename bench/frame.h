/* frame.h: what a whole frame of a skin takes on one core: pelt_pose, and pelt_deform of positions and normals. */

#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include "bench/bench.h"

typedef struct bench_frame {
    const char *isa_name;
    bench_time pose, deform; /* seconds of the thread */
} bench_frame;

/* On every instruction set, in poses around the rest pose in which all joints turn; frames[PELT_ISA_COUNT]. Returns how
   many there are, 0 after an error. */
size_t bench_frames(const pelt_skin *skin, uint32_t seed, uint32_t turns, bench_frame *frames, pelt_error *error);

#endif
