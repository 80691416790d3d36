/* controls.c: the controls of a clip from a table next to the bundle: body.CLIP.csv, a column per control, a row per
   frame. */

#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spreadsheets put spaces and quotes around names. */
static const char *trimmed(pelt_arena *arena, const char *name) {
    static const char around[] = " \t\"'";
    size_t length = strlen(name);
    while (length && strchr(around, name[length - 1])) length--;
    while (length && strchr(around, *name)) name++, length--;
    return pelt_arena_format(arena, "%.*s", (int)length, name);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static pelt_result check_names(pelt_arena *arena, const pelt_table *table, const char *const *names, const char *path,
                               pelt_error *error) {
    for (uint32_t c = 0; c < table->column_count; c++)
        if (!*names[c])
            return pelt_fail(error, PELT_ERROR_FORMAT,
                             "%s: line 1: column %u has no name; the first line names the controls", path, c + 1);
    const char **sorted = PELT_NEW(arena, table->column_count, const char *);
    if (!sorted) return pelt_file_no_memory(path, error);
    memcpy(sorted, names, table->column_count * sizeof *sorted);
    qsort(sorted, table->column_count, sizeof *sorted, compare_names);
    for (uint32_t c = 1; c < table->column_count; c++)
        if (!strcmp(sorted[c - 1], sorted[c]))
            return pelt_fail(error, PELT_ERROR_FORMAT,
                             "%s: line 1: two columns are called \"%.80s\"; give each control a different name", path,
                             sorted[c]);
    return PELT_OK;
}

static pelt_result check_values(const pelt_table *table, const char *const *names, const char *path,
                                pelt_error *error) {
    size_t columns = table->column_count;
    for (size_t i = 0; i < table->row_count * columns; i++)
        if (!(fabsf(table->values[i]) <= PELT_LARGEST_CONTROL))
            return pelt_fail(error, PELT_ERROR_NUMBER,
                             "%s: frame %zu: \"%.80s\" is %g, which is too large; use other units", path, i / columns,
                             names[i % columns], (double)table->values[i]);
    return PELT_OK;
}

pelt_result pelt_controls_from_table(pelt_bundle *bundle, pelt_clip *clip, const pelt_table *table, const char *path,
                                     pelt_error *error) {
    if (table->row_count != clip->frame_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: %u rows of numbers, but clip %s has %u frames: write one row per key of the clip", path,
                         table->row_count, clip->name, clip->frame_count);
    if (table->empty_line)
        return pelt_fail(error, PELT_ERROR_FORMAT,
                         "%s: line %zu: a cell is empty; write the control's value in every frame", path,
                         table->empty_line);
    if (table->column_count > PELT_MOST_CONTROLS)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: has %u columns, but a clip can have at most %d controls", path,
                         table->column_count, PELT_MOST_CONTROLS);
    const char **names = PELT_NEW(bundle->arena, table->column_count, const char *);
    const char *source = pelt_arena_format(bundle->arena, "%s", path);
    for (uint32_t c = 0; c < table->column_count && names; c++) names[c] = trimmed(bundle->arena, table->names[c]);
    if (pelt_arena_failed(bundle->arena)) return pelt_file_no_memory(path, error);
    pelt_result result = check_names(bundle->arena, table, names, path, error);
    if (!result) result = check_values(table, names, path, error);
    if (result) return result;
    result = pelt_clip_set_controls(bundle, clip, table->column_count, names, table->values);
    if (result == PELT_ERROR_DATA)
        return pelt_fail(error, result, "%s: brings the clips to more than %d different controls", path,
                         PELT_MOST_CONTROLS);
    if (result) return pelt_file_no_memory(path, error);
    clip->controls_source = source;
    return PELT_OK;
}

pelt_result pelt_controls_read(pelt_bundle *bundle, pelt_clip *clip, const char *path, pelt_error *error) {
    pelt_table table;
    pelt_result result = pelt_table_read(bundle->arena, path, &table, error);
    return result ? result : pelt_controls_from_table(bundle, clip, &table, path, error);
}
