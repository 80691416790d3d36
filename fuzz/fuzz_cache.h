/* fuzz_cache.h: what the fuzzers of the point caches share. The bytes go to the parser under the limit on memory that
   every reader has, and every value that comes back is read. */

#ifndef PELT_FUZZ_CACHE_H
#define PELT_FUZZ_CACHE_H

#include "io/io.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes in memory of exactly their size and the zero byte behind them, so that the sanitizer sees a step too far.
 */
static inline pelt_file fuzz_file(const uint8_t *data, size_t size) {
    void *bytes = NULL;
    if (posix_memalign(&bytes, PELT_ALIGN, size + 1) != 0) abort();
    if (size) memcpy(bytes, data, size);
    ((uint8_t *)bytes)[size] = 0;
    return (pelt_file){bytes, size};
}

static inline int fuzz_cache(const uint8_t *data, size_t size,
                             pelt_result (*parse)(pelt_arena *, const pelt_file *, const char *, pelt_cache *,
                                                  pelt_error *)) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    pelt_file file = fuzz_file(data, size);
    pelt_cache cache = {0};
    pelt_error error = {0};
    if (parse(arena, &file, "fuzz", &cache, &error) == PELT_OK) {
        volatile float last = 0;
        for (size_t i = 0; i < 3 * (size_t)cache.frame_count * cache.point_count; i++) last = cache.positions[i];
        (void)last;
    } else if (!error.code || !error.text[0]) {
        abort(); /* a failure without a sentence */
    }
    pelt_arena_free(arena);
    free((void *)file.bytes);
    return 0;
}

#endif
