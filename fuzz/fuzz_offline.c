/* fuzz_offline.c: any bytes as a skin that is taken apart and put together again, as pelt export does. */

#include "fuzz/mutate.h"
#include "model/model.h"
#include "model/targets.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *bytes = NULL;
    pelt_skin skin;
    if (posix_memalign(&bytes, PELT_ALIGN, size ? size : 1)) return 0;
    memcpy(bytes, data, size);
    if (pelt_open(bytes, size, &skin) == PELT_OK && pelt_scratch_size(&skin) < (size_t)1 << 26) {
        pelt_arena *arena = pelt_arena_new((size_t)1 << 28);
        pelt_model model;
        pelt_skin_targets targets;
        pelt_error error = {0};
        if (!pelt_model_unpack(arena, &skin, &model, &error)) {
            pelt_bytes *again = pelt_model_pack(&model, "{}", &error);
            pelt_skin second;
            if (again && pelt_open(again->bytes, again->size, &second)) abort(); /* what is written can be opened */
            pelt_bytes_free(again);
        }
        if (!pelt_arena_failed(arena)) pelt_skin_targets_of(arena, &skin, true, &targets, &error);
        pelt_arena_free(arena);
    }
    free(bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return mutate_numbers(data, size, most, seed);
}
