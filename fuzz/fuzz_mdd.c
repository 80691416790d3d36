/* fuzz_mdd.c: any bytes as a .mdd file. */

#include "fuzz/fuzz_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_cache(data, size, pelt_mdd_parse); }
