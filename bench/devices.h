/* devices.h: how fast skins run on graphics devices, compared with writing and copying the same bytes there. */

#ifndef BENCH_DEVICES_H
#define BENCH_DEVICES_H

#include "bench/bench.h"

/* One skin, with this many characters in different poses. */
typedef struct bench_device_row {
    uint32_t characters;
    bool normals;
    bench_time skin, fill, copy; /* seconds on the device for all of them */
    double bytes;                /* of output: 12 per slot, 24 with normals */
    double frame;                /* wall-clock seconds on the processor for upload, work and waiting */
    double gap;                  /* largest difference from pelt_deform, in diagonals of the rest mesh */
    double normal_gap;           /* of unit normals */
} bench_device_row;

enum { BENCH_MOST_CROWDS = 8 };

/* Characters of a skin, posed at random around its rest pose. */
typedef struct bench_crowd bench_crowd;
bench_crowd *bench_crowd_new(const pelt_skin *skin, uint32_t characters, uint32_t seed, pelt_error *error);
void bench_crowd_free(bench_crowd *crowd);

/* Times crowds of the given sizes, at most that of `crowd`, without and with normals: 2 * count rows. The title is the
   driver's name for the device. Results are checked against the processor's in the same run. */
pelt_result bench_device(const char *device, const pelt_skin *skin, const bench_crowd *crowd, const uint32_t *sizes,
                         size_t count, uint32_t rounds, bench_device_row *rows, char title[200], pelt_error *error);

/* Whether a device and the processor agree: to 2e-6 of the diagonal, and normals to within cancellation error. */
static inline bool bench_device_agrees(const bench_device_row *row) {
    return row->gap <= 2e-6 && row->normal_gap <= 1e-4;
}

/* Only the frame time, for the whole crowd with normals, and the gaps. */
pelt_result bench_device_frame(const char *device, const pelt_skin *skin, const bench_crowd *crowd, uint32_t rounds,
                               bench_device_row *row, pelt_error *error);

#endif
