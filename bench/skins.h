/* skins.h: how fast skins run here, compared with the plain loop and memory bandwidth. All contestants of a size
   alternate, so that any disturbance affects all. */

#ifndef BENCH_SKINS_H
#define BENCH_SKINS_H

#include "bench/corrective.h"

enum { BENCH_MOST_RUNS = 64, BENCH_LEAST_ROUNDS = 3, BENCH_MOST_ROUNDS = 201 };

/* The humanoid in one pose, with everything its contestants need. */
typedef struct bench_skins {
    pelt_bundle *bundle;
    pelt_bytes *bytes;
    pelt_skin skin;
    pelt_arena *arena; /* owns the arrays */
    pelt_transform *locals;
    void *scratch;
    float *positions, *normals, *tangents, *plain_positions, *plain_normals;
    uint32_t *vertices; /* [slot] */
    uint16_t *joints;   /* [vertex][4] */
    float *weights;     /* [vertex][4] */
    float *matrices;    /* [joint][12] */
    float *memory_to, *memory_a, *memory_b;
    size_t memory_count;
    bench_corrective correctives[BENCH_CORRECTIVES]; /* the same character with them */
} bench_skins;

/* One contestant. */
typedef struct bench_run {
    const char *method, *isa_name;
    pelt_isa isa;
    bool normals;
    const char *output; /* what it writes besides positions: "none", "normals", "tangents" with them; "box": the box
                           around them; "order": in the order of the file; "gather": brought into it afterwards;
                           "halves": as half floats; "+n": with normals */
    uint32_t threads;
    void (*once)(bench_skins *work, const struct bench_run *run);
    const bench_corrective *corrective; /* NULL: none */
    double bytes;                       /* per vertex, read and written */
    const struct bench_run *plain;      /* the matching plain blend, with or without normals */
    const struct bench_run *own_plain;  /* the plain loop that computes the same */
    double rounds[BENCH_MOST_ROUNDS];
    bench_time time; /* nanoseconds per vertex */
} bench_run;

bench_skins *bench_skins_new(uint32_t vertices, uint32_t seed, pelt_error *error);
void bench_skins_free(bench_skins *work);

/* The contestants, at most BENCH_MOST_RUNS; returns their number. They point into the list and into the work. */
size_t bench_skins_list(const bench_skins *work, uint32_t threads, bench_run *runs);

/* Runs them alternately, BENCH_LEAST_ROUNDS to BENCH_MOST_ROUNDS times. */
void bench_skins_time(bench_skins *work, bench_run *runs, size_t count, uint32_t rounds);

/* Both loops must compute the same thing, or their times mean nothing. */
bool bench_skins_agree(bench_skins *work);

#endif
