/* fuzz_npy.c: any bytes as a .npy file. */

#include "fuzz/fuzz_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_cache(data, size, pelt_npy_parse); }
