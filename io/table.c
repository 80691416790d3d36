/* table.c: controls per frame as CSV: a line of names, then numbers. Commas, semicolons or tabs; an empty cell is 0. */

#include "io/io.h"
#include "rig/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 100000 };

typedef struct reader {
    const char *at, *end;
    char separator;
    size_t line;
} reader;

static bool ends_cell(const reader *r) {
    return r->at == r->end || *r->at == r->separator || *r->at == '\n' || *r->at == '\r';
}

static void end_line(reader *r) {
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) r->at++;
    r->line++;
}

/* The text is followed by a zero byte (pelt_file). */
static bool read_number(reader *r, float *value) {
    while (*r->at == ' ') r->at++;
    double number = 0;
    bool negative = *r->at == '-';
    const char *end = pelt_read_decimal(r->at + (negative || *r->at == '+'), &number);
    if (end) r->at = end;
    while (*r->at == ' ') r->at++;
    *value = (float)(negative ? -number : number);
    return ends_cell(r) && isfinite(*value);
}

static char find_separator(const char *at, const char *end) {
    for (; at < end && *at != '\n'; at++)
        if (*at == ',' || *at == ';' || *at == '\t') return *at;
    return ',';
}

static pelt_result read_names(pelt_arena *arena, reader *r, const char *path, pelt_table *table, pelt_error *error) {
    uint32_t columns = 1, count = 0;
    for (const char *c = r->at; c < r->end && *c != '\n'; c++) columns += *c == r->separator;
    table->names = PELT_NEW(arena, columns, const char *);
    if (!table->names) return pelt_file_no_memory(path, error);
    if (columns > MOST_COLUMNS)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: has %u columns, too many for a table of controls", path,
                         columns);
    while (count < columns) {
        const char *begin = r->at;
        for (; !ends_cell(r); r->at++)
            if ((unsigned char)*r->at < ' ' && *r->at != '\t')
                return pelt_fail(error, PELT_ERROR_FORMAT,
                                 "%s: line 1 is not text: the table must be a CSV file, with names in the first line",
                                 path);
        table->names[count++] =
            pelt_arena_format(arena, "%.*s", (int)(r->at - begin < 200 ? r->at - begin : 200), begin);
        if (r->at < r->end && *r->at == r->separator) r->at++;
    }
    table->column_count = columns;
    end_line(r);
    return pelt_arena_failed(arena) ? pelt_file_no_memory(path, error) : PELT_OK;
}

static bool blank_line(const reader *r) { return r->at < r->end && (*r->at == '\n' || *r->at == '\r'); }

static bool empty_cell(reader r) {
    while (!ends_cell(&r) && *r.at == ' ') r.at++;
    return ends_cell(&r);
}

static pelt_result not_a_number(reader cell, const char *path, const char *column, pelt_error *error) {
    const char *begin = cell.at;
    while (!ends_cell(&cell)) cell.at++;
    ptrdiff_t length = cell.at - begin;
    return pelt_fail(error, PELT_ERROR_FORMAT, "%s: line %zu, column \"%s\": \"%.*s\" is not a number", path, cell.line,
                     column, (int)(length < 40 ? length : 40), begin);
}

static pelt_result read_row(reader *r, const char *path, pelt_table *table, float *row, pelt_error *error) {
    for (uint32_t c = 0; c < table->column_count; c++) {
        if (!table->empty_line && empty_cell(*r)) table->empty_line = r->line;
        reader cell = *r;
        if (!read_number(r, &row[c])) return not_a_number(cell, path, table->names[c], error);
        bool more = r->at < r->end && *r->at == r->separator;
        if (more != (c + 1 < table->column_count))
            return more ? pelt_fail(error, PELT_ERROR_FORMAT,
                                    "%s: line %zu: has more than the %u cells of the first line", path, r->line,
                                    table->column_count)
                        : pelt_fail(
                              error, PELT_ERROR_FORMAT,
                              "%s: line %zu: has %u cell%s, fewer than the %u of the first line; \"%s\" is missing",
                              path, r->line, c + 1, c ? "s" : "", table->column_count, table->names[c + 1]);
        if (more) r->at++;
    }
    end_line(r);
    return PELT_OK;
}

pelt_result pelt_table_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_table *table,
                             pelt_error *error) {
    const char *text = (const char *)file->bytes;
    reader r = {text, text + file->size, ',', 1};
    *table = (pelt_table){0};
    if (file->size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) r.at += 3; /* byte order mark */
    r.separator = find_separator(r.at, r.end);
    pelt_result result = read_names(arena, &r, path, table, error);
    if (result) return result;
    size_t rows = 0;
    for (const char *c = r.at; c < r.end; c++) rows += *c == '\n' || c + 1 == r.end;
    table->values = PELT_NEW(arena, rows * table->column_count + 1, float);
    if (!table->values) return pelt_file_no_memory(path, error);
    while (r.at < r.end) {
        if (blank_line(&r)) {
            end_line(&r);
            continue;
        }
        result = read_row(&r, path, table, table->values + (size_t)table->row_count * table->column_count, error);
        if (result) return result;
        table->row_count++;
    }
    if (!table->row_count) return pelt_fail(error, PELT_ERROR_FORMAT, "%s: has names but no frames", path);
    return PELT_OK;
}

pelt_result pelt_table_read(pelt_arena *arena, const char *path, pelt_table *table, pelt_error *error) {
    pelt_file file;
    pelt_result result = pelt_file_read(arena, path, &file, error);
    return result ? result : pelt_table_parse(arena, &file, path, table, error);
}

pelt_result pelt_table_write(const char *path, const pelt_table *table, pelt_error *error) {
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return PELT_ERROR_FILE;
    for (uint32_t c = 0; c < table->column_count; c++) {
        if (c) pelt_writer_put(writer, ",", 1);
        pelt_writer_put(writer, table->names[c], strlen(table->names[c]));
    }
    for (size_t r = 0; r < table->row_count; r++)
        for (uint32_t c = 0; c < table->column_count; c++) {
            char cell[48];
            int n = snprintf(cell, sizeof cell, "%s%.9g", c ? "," : "\n",
                             (double)table->values[r * table->column_count + c]);
            for (int i = 1; i < n; i++) /* some locales write a comma */
                if (cell[i] == ',') cell[i] = '.';
            pelt_writer_put(writer, cell, (size_t)n);
        }
    pelt_writer_put(writer, "\n", 1);
    return pelt_writer_commit(writer, error);
}
