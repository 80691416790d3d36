/* fuzz_limits.c: any text at all is a list of limits of joints with finite numbers, or is refused with a sentence. */

#include "io/io.h"
#include <math.h>
#include <pelt/poses.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    char *text = malloc(size + 1);
    const pelt_joint_limit *limits = NULL;
    size_t count = 0;
    pelt_error error = {0};
    if (arena && text) {
        memcpy(text, data, size);
        text[size] = 0;
        if (pelt_limits_parse(arena, text, "fuzz.json", &limits, &count, &error) != PELT_OK) {
            if (!error.text[0]) abort();
            count = 0;
        }
        for (size_t i = 0; i < count; i++)
            for (int a = 0; a < PELT_ANGLE_COUNT; a++)
                if (!limits[i].joint || !isfinite(limits[i].low[a]) || !isfinite(limits[i].high[a]) ||
                    !isfinite(limits[i].axis[a]))
                    abort();
    }
    free(text);
    pelt_arena_free(arena);
    return 0;
}
