/* fuzz_keys.c: any bytes at all are refused by pelt_keys_open, or can be run on every instruction set. */

#ifdef PELT_WITH_LIGHT
#include "light/facts.h"
#endif
#include <pelt/keys.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int evaluate(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const pelt_keys *keys = user;
    (void)controls;
    for (size_t i = 0; i < (size_t)count * keys->component_count; i++)
        values[i] = (float)points[i / keys->component_count];
    return 0;
}

static void run(pelt_keys *keys) {
    size_t size = (size_t)keys->point_count * keys->component_count;
    void *scratch = aligned_alloc(PELT_ALIGN, pelt_keys_scratch_size(keys, 3));
    void *memory = aligned_alloc(PELT_ALIGN, pelt_soft_cache_size(keys, 1));
    float *values = malloc(3 * size * sizeof *values),
          *key_values = calloc((size_t)3 * keys->key_count * keys->component_count, sizeof *key_values);
    pelt_misfit misfits[3];
    pelt_soft_cache cache;
    if (scratch && memory && values && key_values) {
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            keys->isa = (pelt_isa)isa;
            pelt_keys_solve(keys, key_values, 3, scratch, misfits);
            pelt_keys_fill(keys, scratch, 3, pelt_keys_all_blocks(keys), values);
        }
        pelt_engine_call call = {evaluate, keys, 1};
        if (pelt_soft_cache_init(&cache, keys, &(pelt_soft_cache_options){.step = 0.01f}, call, memory) == PELT_OK)
            for (int f = 0; f < 3; f++) pelt_soft_cache_next(&cache, &(float){(float)f}, values, NULL);
        volatile size_t text = strlen(keys->about);
#ifdef PELT_WITH_LIGHT
        static pelt_relight_facts facts;
        if (pelt_relight_read_facts(keys, &facts)) {
            text += strlen(facts.scene) + (facts.arrangement.seen ? strlen(facts.arrangement.seen) : 0);
            for (uint32_t i = 0; i < facts.arrangement.move_count; i++) text += strlen(facts.arrangement.moves[i].name);
        }
#endif
        (void)text;
    }
    free(scratch), free(memory), free(values), free(key_values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *bytes = NULL;
    if (posix_memalign(&bytes, PELT_ALIGN, size ? size : 1)) return 0;
    memcpy(bytes, data, size);
    pelt_keys keys;
    if (pelt_keys_open(bytes, size, &keys) == PELT_OK && (uint64_t)keys.point_count * keys.component_count < 1 << 22)
        run(&keys);
    free(bytes);
    return 0;
}
