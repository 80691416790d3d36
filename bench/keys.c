/* keys.c: how fast points are filled from key points, for any size, on every instruction set. The model is random: only
   its size matters. */

#include "bench/keys.h"
#include "rig/clock.h"

enum { BATCH = 32 };

typedef struct trial {
    pelt_keys keys;
    float *key_values, *values;
    void *scratch;
} trial;

static void make(trial *t, pelt_arena *arena, uint32_t points, uint32_t basis) {
    pelt_keys *k = &t->keys;
    *k = (pelt_keys){.point_count = points, .component_count = 3, .basis_count = basis, .region_count = 1, .half = 1};
    k->key_count = (basis + 2) / 3, k->key_row_count = 3 * k->key_count, k->row_count = 3 * points;
    k->engine_point_count = points, k->diagonal = 1;
    k->block_count = (k->row_count + PELT_BLOCK - 1) / PELT_BLOCK;
    size_t map = ((size_t)basis + 15) / 16 * 16 * k->key_row_count,
           misfit = ((size_t)k->key_row_count + 15) / 16 * 16 * k->key_row_count;
    uint32_t *key_points = PELT_NEW(arena, k->key_count, uint32_t);
    float *weights = PELT_NEW(arena, (size_t)points * PELT_POINT_REGIONS, float);
    pelt_misfit_bound *bound = PELT_NEW(arena, 1, pelt_misfit_bound);
    uint16_t *halves = PELT_NEW(arena, (size_t)k->block_count * basis * PELT_BLOCK, uint16_t);
    k->mean = PELT_NEW(arena, (size_t)k->block_count * PELT_BLOCK, float);
    k->key_mean = PELT_NEW(arena, k->key_row_count, float);
    float *numbers = PELT_NEW(arena, map + misfit, float);
    k->point_regions = PELT_NEW(arena, (size_t)points * PELT_POINT_REGIONS, uint16_t);
    t->key_values = PELT_NEW(arena, (size_t)BATCH * k->key_row_count, float);
    t->values = PELT_NEW(arena, (size_t)BATCH * 3 * points, float);
    for (size_t i = 0; i < (size_t)k->block_count * basis * PELT_BLOCK; i++)
        halves[i] = (uint16_t)(0x2000 + (i * 2654435761u >> 20 & 0x97ff)); /* small numbers of both signs */
    for (size_t i = 0; i < map + misfit; i++) numbers[i] = (float)((i * 2654435761u >> 16 & 255) - 128.0) / 4096;
    for (size_t i = 0; i < (size_t)BATCH * k->key_row_count; i++) t->key_values[i] = (float)(i % 17) / 17;
    for (uint32_t i = 0; i < k->key_count; i++) key_points[i] = (uint32_t)((uint64_t)i * points / k->key_count);
    for (size_t i = 0; i < points; i++) weights[i * PELT_POINT_REGIONS] = 1;
    *bound = (pelt_misfit_bound){1, 1};
    k->basis = halves, k->map = numbers, k->misfit = numbers + map, k->key_points = key_points;
    k->bounds = bound, k->point_region_weights = weights, k->about = "";
    t->scratch = pelt_alloc(arena, pelt_keys_scratch_size(k, BATCH), 1);
}

/* Median and best seconds per frame of one kind of work. */
static bench_time time_work(trial *t, int work) {
    enum { TURNS = 41 };
    double times[TURNS];
    pelt_misfit misfits[BATCH];
    uint32_t frames = work == BENCH_FILL_BATCH ? BATCH : 1;
    pelt_keys_solve(&t->keys, t->key_values, frames, t->scratch, misfits);
    for (int i = 0; i < TURNS; i++) {
        double start = pelt_wall_seconds();
        if (work == BENCH_SOLVE)
            pelt_keys_solve(&t->keys, t->key_values, 1, t->scratch, misfits);
        else
            pelt_keys_fill(&t->keys, t->scratch, frames, pelt_keys_all_blocks(&t->keys), t->values);
        times[i] = (pelt_wall_seconds() - start) / frames;
    }
    return bench_time_of(times, TURNS);
}

/* Input and output of the stage. */
typedef struct benching {
    pelt_arena *arena;
    uint32_t points, basis;
    bench_keys_row *rows;
    size_t count;
} benching;

static pelt_result run(void *user, pelt_error *error) {
    benching *b = user;
    trial t;
    (void)error;
    make(&t, b->arena, b->points, b->basis);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        bench_keys_row *row = &b->rows[b->count++];
        row->isa = t.keys.isa = (pelt_isa)isa;
        for (int w = 0; w < BENCH_KEYS_WORK; w++) row->times[w] = time_work(&t, w);
    }
    return PELT_OK;
}

size_t bench_keys(uint32_t points, uint32_t basis, bench_keys_row *rows, pelt_error *error) {
    if (pelt_check_range("points", points, 1, 10000000, error) || pelt_check_range("basis", basis, 1, 100000, error))
        return 0;
    benching b = {pelt_arena_new(0), points, basis, rows, 0};
    pelt_result result = pelt_stage(b.arena, run, &b, error);
    pelt_arena_free(b.arena);
    return result ? 0 : b.count;
}
