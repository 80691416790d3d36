/* fuzz_pfm.c: any bytes as a picture of floats. What is accepted has finite numbers for every pixel. */

#include "io/io.h"
#include "io/pfm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_error error;
    pelt_picture picture;
    pelt_arena *arena = pelt_arena_new(64 * size + ((size_t)16 << 20));
    uint8_t *bytes = PELT_NEW(arena, size + 1, uint8_t);
    memcpy(bytes, data, size);
    if (pelt_pfm_parse(arena, &(pelt_file){bytes, size}, "fuzz.pfm", &picture, &error) == PELT_OK)
        for (size_t i = 0; i < 3 * (size_t)picture.width * picture.height; i++)
            if (!isfinite(picture.rgb[i])) abort();
    pelt_arena_free(arena);
    return 0;
}
