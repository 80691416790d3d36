/* eval_confidence.c: pelt eval --confidence: the error to expect of every frame of a clip, without any truth. */

#include "cli/eval.h"
#include "io/io.h"
#include "rig/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [frame][1 + region_count]: the frame as a whole, then its regions; NULL: no memory. */
static float *expected_errors(cli_deformer *by, const pelt_clip *clip) {
    size_t columns = 1 + (size_t)pelt_confidence_region_count(by->skin);
    float *errors = malloc((clip->frame_count * columns + 1) * sizeof *errors);
    for (uint32_t f = 0; errors && f < clip->frame_count; f++) {
        float *row = errors + f * columns;
        row[0] = pelt_confidence(by->skin, pelt_player_pose(by->player, clip, f), row + 1);
    }
    return errors;
}

static const char *column_name(const pelt_skin *skin, uint32_t column) {
    return column ? pelt_confidence_region_name(skin, column - 1) : "all";
}

/* A name as a field of a table: in quotes where it has some of the table's own characters. */
static void put_name(FILE *to, const char *name) {
    if (!strpbrk(name, ",\"\r\n")) {
        fputs(name, to);
        return;
    }
    putc('"', to);
    for (; *name; name++) {
        if (*name == '"') putc('"', to);
        putc(*name, to);
    }
    putc('"', to);
}

/* The texts are made in memory, so that files appear whole or not at all. */
static char *table_text(const pelt_skin *skin, const float *errors, uint32_t frames, size_t *size) {
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    uint32_t columns = 1 + pelt_confidence_region_count(skin);
    if (!to) return NULL;
    fputs("frame", to);
    for (uint32_t c = 0; c < columns; c++) putc(',', to), put_name(to, column_name(skin, c));
    for (uint32_t f = 0; f < frames; f++) {
        fprintf(to, "\n%u", f);
        for (uint32_t c = 0; c < columns; c++) fprintf(to, ",%.6g", (double)errors[(size_t)f * columns + c]);
    }
    putc('\n', to);
    bool failed = ferror(to) != 0;
    if (!fclose(to) && !failed) return text;
    free(text);
    return NULL;
}

static json_t *series(const float *errors, uint32_t frames, size_t columns) {
    json_t *list = json_array();
    for (uint32_t f = 0; f < frames; f++) list = pelt_json_append(list, pelt_json_number(errors[f * columns]));
    return list;
}

static char *json_text(const pelt_skin *skin, const char *clip, const float *errors, uint32_t frames, size_t *size) {
    size_t columns = 1 + (size_t)pelt_confidence_region_count(skin);
    json_t *regions = json_array();
    for (uint32_t c = 1; c < columns; c++)
        regions = pelt_json_append(
            regions, pelt_json_pack("{name:s, errors:o}", column_name(skin, c), series(errors + c, frames, columns)));
    json_t *object = pelt_json_pack("{clip:s, frames:u, errors:o, regions:o}", clip, frames,
                                    series(errors, frames, columns), regions);
    char *text = object ? pelt_json_dump(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(object);
    *size = text ? strlen(text) : 0;
    return text;
}

static pelt_result write_text(char *text, size_t size, const char *path, pelt_error *error) {
    pelt_bytes bytes = {text, size};
    return cli_write_made(text ? PELT_OK : pelt_no_memory(error), &bytes, path, error);
}

bool cli_is_confidence_file(const char *path) {
    return pelt_ends_with(path, ".csv") || pelt_ends_with(path, ".json") || pelt_ends_with(path, ".npy");
}

int cli_write_confidence(const cli_args *args, cli_deformer *by, const pelt_clip *clip) {
    const char *path = cli_value(args, "confidence");
    uint32_t frames = clip->frame_count, sizes[3] = {frames, 1 + pelt_confidence_region_count(by->skin)};
    pelt_error error;
    pelt_result result;
    float *errors = expected_errors(by, clip);
    if (!errors) {
        result = pelt_no_memory(&error);
    } else if (pelt_ends_with(path, ".npy")) {
        result = pelt_npy_write(path, sizes, errors, &error);
    } else {
        size_t size = 0;
        bool table = pelt_ends_with(path, ".csv");
        char *text = table ? table_text(by->skin, errors, frames, &size)
                           : json_text(by->skin, clip->name, errors, frames, &size);
        result = write_text(text, size, path, &error);
    }
    free(errors);
    if (result) return cli_error(&error), CLI_FAILED;
    cli_say(args, "%s: the expected error of %u frames, overall and in %u regions\n", path, frames,
            pelt_confidence_region_count(by->skin));
    return CLI_DONE;
}
