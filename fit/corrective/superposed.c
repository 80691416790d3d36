/* superposed.c: poses of several movers from sweeps of one each (superposed.h). The same ones for the same examples. */

#include "fit/corrective/superposed.h"

enum { LEAST_SEVERAL = 10, SUPERPOSED = 60 };

bool pelt_shows_several(const pelt_poses *poses) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < poses->count; e++) count += !poses->rest[e] && poses->sweep_of[e] == PELT_NO_MOVER;
    return count >= LEAST_SEVERAL;
}

static uint32_t swept_count(const pelt_poses *poses) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < poses->mover_count; g++) count += poses->movers[g].swept;
    return count;
}

/* Lists the examples that move a mover alone; returns how many. */
static uint32_t sweeps_of(const pelt_poses *poses, uint32_t mover, uint32_t *list) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < poses->count; e++)
        if (poses->sweep_of[e] == mover && !poses->rest[e]) list[count++] = e;
    return count;
}

pelt_superposed pelt_superpose_sweeps(pelt_arena *arena, const pelt_poses *poses) {
    pelt_superposed out = {.count = !pelt_shows_several(poses) && swept_count(poses) > 1 ? SUPERPOSED : 0};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t *list = PELT_NEW(work, poses->count, uint32_t);
    uint64_t random = 1;
    out.examples = PELT_NEW(arena, out.count * poses->mover_count, uint32_t);
    for (size_t i = 0; i < out.count; i++)
        for (uint32_t g = 0; g < poses->mover_count; g++) {
            uint32_t count = sweeps_of(poses, g, list);
            random = random * 6364136223846793005u + 1442695040888963407u;
            out.examples[i * poses->mover_count + g] =
                count && !(random >> 63) ? list[(random >> 33) % count] : PELT_REST_EXAMPLE;
        }
    return out;
}
