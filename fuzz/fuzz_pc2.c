/* fuzz_pc2.c: any bytes as a .pc2 file. */

#include "fuzz/fuzz_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_cache(data, size, pelt_pc2_parse); }
