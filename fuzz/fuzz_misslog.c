/* fuzz_misslog.c: any bytes at all are read as a log of missed frames, whole records of finite numbers and nothing
   else. */

#include "io/io.h"
#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    pelt_misses misses;
    pelt_error error;
    if (!arena) return 0;
    if (pelt_misslog_parse(arena, &(pelt_file){data, size}, "fuzz.misses", &misses, &error) == PELT_OK) {
        if (misses.damaged > size) abort();
        for (size_t i = 0; i < misses.count; i++) {
            const pelt_miss *m = &misses.list[i];
            for (size_t k = 0; k < (size_t)m->point_count * m->component_count; k++)
                if (!isfinite(m->values[k])) abort();
            for (size_t k = 0; k < m->control_count; k++)
                if (!isfinite(m->controls[k])) abort();
        }
    }
    pelt_arena_free(arena);
    return 0;
}
