/* fuzz_drive.c: any text at all is a list of rules for driven joints, or is refused with a sentence. */

#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    char *text = malloc(size + 1);
    pelt_drive_rules rules;
    pelt_error error = {0};
    if (arena && text) {
        memcpy(text, data, size);
        text[size] = 0;
        if (pelt_drive_rules_parse(arena, text, "fuzz.json", &rules, &error) != PELT_OK) {
            if (!error.text[0]) abort();
            rules.count = 0;
        }
        for (size_t i = 0; i < rules.count; i++) {
            const pelt_drive_rule *r = &rules.list[i];
            uint32_t counts[] = {r->turn_count, r->twist_count, r->bend_count};
            const float *lists[] = {r->turns, r->twists, r->bends};
            if (!*r->joints || strchr(r->joints, ',')) abort();
            for (int kind = 0; kind < 3; kind++) {
                if (counts[kind] > PELT_MOST_FRACTIONS) abort();
                for (uint32_t k = 0; k < counts[kind]; k++)
                    if (isnan(lists[kind][k])) abort();
            }
            if (isnan(r->k)) abort();
        }
    }
    free(text);
    pelt_arena_free(arena);
    return 0;
}
