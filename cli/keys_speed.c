/* keys_speed.c: pelt keys speed: how fast points are filled from key points, for any sizes, on every instruction set.
   The model is random: only its sizes matter. */

#include "cli/keys_speed.h"
#include "rig/rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

typedef struct trial {
    pelt_keys keys;
    float *key_values, *values;
    void *scratch;
} trial;

static bool make(trial *t, pelt_arena *arena, uint32_t points, uint32_t basis) {
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
    if (!key_points || !weights || !bound || !halves || !k->mean || !k->key_mean || !numbers || !k->point_regions ||
        !t->key_values || !t->values)
        return false;
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
    return t->scratch != NULL;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

enum { SOLVE, FILL, FILL_BATCH, WORK };

/* Median and best seconds a frame of one kind of work. */
static void time_work(trial *t, int work, double *median, double *best) {
    enum { TURNS = 41 };
    double times[TURNS];
    pelt_misfit misfits[BATCH];
    uint32_t frames = work == FILL_BATCH ? BATCH : 1;
    pelt_keys_solve(&t->keys, t->key_values, frames, t->scratch, misfits);
    for (int i = 0; i < TURNS; i++) {
        double start = cli_wall_seconds();
        if (work == SOLVE)
            pelt_keys_solve(&t->keys, t->key_values, 1, t->scratch, misfits);
        else
            pelt_keys_fill(&t->keys, t->scratch, frames, pelt_keys_all_blocks(&t->keys), t->values);
        times[i] = (cli_wall_seconds() - start) / frames;
    }
    qsort(times, TURNS, sizeof *times, ascending);
    *median = times[TURNS / 2], *best = times[0];
}

int keys_speed(const cli_args *args) {
    uint32_t points = 2986, basis = 255;
    if (!cli_count(args, "points", 1, 10000000, &points) || !cli_count(args, "basis", 1, 100000, &basis))
        return CLI_MISUSE;
    pelt_arena *arena = pelt_arena_new(0);
    trial t;
    if (!arena || !make(&t, arena, points, basis)) {
        pelt_arena_free(arena);
        return cli_fail("not enough memory for %u points and %u vectors", points, basis);
    }
    cli_say(args, "%u points from %u vectors; milliseconds a frame, median (best)\n", points, basis);
    cli_say(args, "%-8s %18s %18s %18s\n", "", "keys to coordinates", "fill", "fill, 32 at once");
    json_t *rows = json_array();
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        double median[WORK], best[WORK];
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        t.keys.isa = (pelt_isa)isa;
        for (int w = 0; w < WORK; w++) time_work(&t, w, &median[w], &best[w]);
        cli_say(args, "%-8s", pelt_isa_name((pelt_isa)isa));
        for (int w = 0; w < WORK; w++) cli_say(args, "   %7.4f (%.4f)", 1e3 * median[w], 1e3 * best[w]);
        cli_say(args, "\n");
        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "isa", pelt_isa_name((pelt_isa)isa),
                                        "solve_ms", 1e3 * median[SOLVE], "solve_ms_best", 1e3 * best[SOLVE], "fill_ms",
                                        1e3 * median[FILL], "fill_ms_best", 1e3 * best[FILL], "fill_batch_ms",
                                        1e3 * median[FILL_BATCH], "fill_batch_ms_best", 1e3 * best[FILL_BATCH]));
    }
    pelt_arena_free(arena);
    return cli_print_json(args, json_pack("{s:i, s:i, s:o}", "points", (int)points, "basis", (int)basis, "rows", rows));
}
