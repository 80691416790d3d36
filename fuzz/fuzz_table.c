/* fuzz_table.c: any text at all is a table of finite numbers, or is refused with a sentence; and as controls of a clip
   with as many frames it is taken or refused. */

#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Twice, as by two clips: the bundle knows the names of the second already. */
static void as_controls(pelt_arena *arena, const pelt_table *table) {
    pelt_clip clips[2] = {{.name = "a", .frame_count = table->row_count},
                          {.name = "b", .frame_count = table->row_count}};
    const pelt_clip *list[2] = {&clips[0], &clips[1]};
    pelt_bundle bundle = {.arena = arena, .clip_count = 2, .clips = list};
    pelt_error error = {0};
    for (int c = 0; c < 2; c++) {
        if (pelt_controls_from_table(&bundle, &clips[c], table, "fuzz.a.csv", &error) != PELT_OK) {
            if (!error.text[0]) abort();
            return;
        }
        for (size_t i = 0; i < (size_t)table->row_count * bundle.controls.count; i++)
            if (clips[c].controls[i] != table->values[i]) abort();
    }
    if (bundle.controls.count != table->column_count) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    uint8_t *copy = malloc(size + 1);
    pelt_table table;
    pelt_error error = {0};
    if (arena && copy) {
        memcpy(copy, data, size);
        copy[size] = 0;
        if (pelt_table_parse(arena, &(pelt_file){copy, size}, "fuzz.csv", &table, &error) != PELT_OK) {
            if (!error.text[0]) abort();
        } else {
            for (size_t i = 0; i < (size_t)table.row_count * table.column_count; i++)
                if (!isfinite(table.values[i])) abort();
            for (uint32_t c = 0; c < table.column_count; c++)
                if (strlen(table.names[c]) > 200) abort();
            as_controls(arena, &table);
        }
    }
    free(copy);
    pelt_arena_free(arena);
    return 0;
}
