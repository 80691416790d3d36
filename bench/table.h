/* table.h: the tables of Rhee, Lewis & Neumann 2006, with today's methods added: frames per second on the processor and
   on graphics devices, and memory. */

#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "bench/bench.h"

enum { BENCH_TABLE_METHODS = 6, BENCH_TABLE_DEVICES = 2 };
extern const char *const bench_table_devices[BENCH_TABLE_DEVICES];

/* One method at one size. A frame is a pose, with positions and normals. */
typedef struct bench_table_row {
    const char *method;
    double cpu_frame;                         /* seconds on one core */
    double device_frame[BENCH_TABLE_DEVICES]; /* pose, upload, work, waiting; 0: no such device here */
    size_t file_bytes, device_bytes;          /* of the skin */
    size_t pose_bytes, output_bytes;          /* of each character on a device */
} bench_table_row;

/* Fills in BENCH_TABLE_METHODS rows, on one device ("gl", "cuda", or by number: "gl:1"), or on all (NULL or "all").
   Missing devices are skipped. */
pelt_result bench_table(uint32_t vertices, uint32_t seed, uint32_t rounds, const char *device, bench_table_row *rows,
                        pelt_error *error);

#endif
