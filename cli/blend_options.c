/* blend_options.c: the options of fitted blends, which `pelt fit`, `pelt compare` and `pelt export` share. */

#include "cli/cli.h"
#include "io/io.h"
#include <stdlib.h>
#include <string.h>

/* A text file of vertex numbers, one a line; empty lines and lines that begin with # are skipped. */
static bool read_vertices(pelt_arena *arena, const char *path, pelt_fit_options *options) {
    pelt_error error;
    pelt_file file;
    if (pelt_file_read(arena, path, &file, &error)) return cli_error(&error), false;
    const char *text = (const char *)file.bytes; /* ends with a zero */
    size_t lines = 1, line = 1;
    for (size_t i = 0; i < file.size; i++) lines += text[i] == '\n';
    uint32_t *list = PELT_NEW(arena, lines, uint32_t);
    if (!list) return cli_fail("not enough memory for %s", path), false;
    options->lock_vertices = list;
    for (const char *at = text; at < text + file.size; line++) {
        size_t length = strcspn(at, "\n");
        if (length && *at != '#' && *at != '\r') {
            char *end;
            unsigned long value = strtoul(at, &end, 10);
            end += strspn(end, " \t\r");
            if (end == at || (*end && *end != '\n') || value >= UINT32_MAX || *at == '-')
                return cli_fail("%s: line %zu is not the number of a vertex", path, line), false;
            list[options->lock_vertex_count++] = (uint32_t)value;
        }
        at += length + 1;
    }
    if (options->lock_vertex_count) return true;
    return cli_fail("%s: no vertices are listed; one number a line is meant", path), false;
}

bool cli_blend_options(const cli_args *args, pelt_arena *arena, pelt_fit_options *options) {
    options->rest = cli_value(args, "rest");
    options->influence_choice = cli_value(args, "influence-choice");
    options->lock_joints = cli_value(args, "lock-joints");
    options->drop_joints = cli_value(args, "drop-joints");
    if (!cli_number(args, "smooth", 0, 1e6, &options->smooth) || !cli_number(args, "prune", 0, 0.5, &options->prune) ||
        !cli_number(args, "normal-scale", 0, 1e6, &options->normal_scale) ||
        !cli_number(args, "ridge", 0, 1e6, &options->ridge))
        return false;
    if (cli_value(args, "ridge") && options->ridge == 0) options->ridge = -1;
    if (cli_value(args, "normal-scale") && options->normal_scale == 0) options->normal_scale = -1;
    const char *vertices = cli_value(args, "lock-vertices"), *drive = cli_value(args, "drive");
    if (vertices && !read_vertices(arena, vertices, options)) return false;
    if (!drive) return true;
    pelt_error error;
    pelt_file file;
    if (pelt_file_read(arena, drive, &file, &error)) return cli_error(&error), false;
    if (strlen((const char *)file.bytes) != file.size) return cli_fail("%s: is not a JSON text", drive), false;
    options->drive = (const char *)file.bytes;
    return true;
}
