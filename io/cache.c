/* cache.c: point caches of any format, chosen by the ending of the name. */

#include "io/bytes.h"
#include "io/cache.h"
#include "rig/text.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef pelt_result parse_function(pelt_arena *, const pelt_file *, const char *path, pelt_cache *, pelt_error *);

/* Formats that keep all frames in one file. */
typedef struct cache_format {
    const char *ending;
    parse_function *parse;
    void (*begin)(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second);
    void (*put)(pelt_writer *writer, const float *values, size_t count);
} cache_format;

static const cache_format formats[] = {
    {".pc2", pelt_pc2_parse, pelt_pc2_begin, pelt_put_floats_little},
    {".mdd", pelt_mdd_parse, pelt_mdd_begin, pelt_put_floats_big},
    {".npy", pelt_npy_parse, pelt_npy_begin, pelt_put_floats_little},
};

static const cache_format *format_of(const char *path) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (pelt_ends_with(path, formats[i].ending)) return &formats[i];
    return NULL;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* -- What the formats share -------------------------------------------------------------------------------------- */

pelt_result pelt_cache_check(const char *path, int64_t frame_count, int64_t point_count, size_t value_size,
                             size_t bytes_left, pelt_error *error) {
    long long frames = frame_count, points = point_count;
    if (frames < 1 || points < 1)
        return pelt_fail(error, PELT_ERROR_FORMAT,
                         "%s: its header claims %lld frames of %lld points; a cache has at least one of each", path,
                         frames, points);
    size_t needed;
    bool too_large = frames > INT32_MAX || points > INT32_MAX ||
                     __builtin_mul_overflow((size_t)frames, (size_t)points * 3 * value_size, &needed);
    if (too_large || needed > bytes_left)
        return pelt_fail(error, PELT_ERROR_TRUNCATED,
                         "%s: its header claims %lld frames of %lld points, but only %zu bytes follow, enough for %zu "
                         "frames: the file is truncated; export it again",
                         path, frames, points, bytes_left, bytes_left / 3 / value_size / (size_t)points);
    if (needed < bytes_left)
        return pelt_fail(error, PELT_ERROR_FORMAT,
                         "%s: its header claims %lld frames of %lld points, which need %zu bytes, but %zu follow: the "
                         "counts are wrong; export it again",
                         path, frames, points, needed, bytes_left);
    return PELT_OK;
}

float *pelt_cache_positions(pelt_arena *arena, const char *path, uint32_t frame_count, uint32_t point_count,
                            pelt_error *error) {
    size_t row = 3 * (size_t)point_count, count;
    float *positions = __builtin_mul_overflow(row, frame_count, &count) ? NULL : PELT_NEW(arena, count, float);
    if (!positions)
        pelt_fail(error, PELT_ERROR_MEMORY,
                  "%s: %u frames of %u points need %.0f MB, more than is available or allowed for a file of this size",
                  path, frame_count, point_count, 1.2e-5 * frame_count * point_count);
    return positions;
}

/* Bytes are swapped in chunks, so frames of any size need no memory. */
static void put_floats(pelt_writer *writer, const float *values, size_t count, void (*put)(uint8_t *, uint32_t)) {
    uint8_t piece[4096];
    for (size_t done = 0; done < count;) {
        size_t filled = 0;
        for (; filled < sizeof piece && done < count; filled += 4)
            put(piece + filled, pelt_bits_of_float(values[done++]));
        pelt_writer_put(writer, piece, filled);
    }
}

void pelt_put_floats_big(pelt_writer *writer, const float *values, size_t count) {
    put_floats(writer, values, count, pelt_put_u32_big);
}

void pelt_put_floats_little(pelt_writer *writer, const float *values, size_t count) {
    if (PELT_HOST_IS_LITTLE_ENDIAN)
        pelt_writer_put(writer, values, count * sizeof *values);
    else
        put_floats(writer, values, count, pelt_put_u32_little);
}

/* -- Reading ----------------------------------------------------------------------------------------------------- */

static pelt_result parse_obj_cache(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *cache,
                                   pelt_error *error) {
    float *positions = NULL, *normals = NULL;
    *cache = (pelt_cache){.frame_count = 1, .format = "obj"};
    pelt_result result =
        pelt_obj_parse(arena, file, path, &cache->point_count, &positions, &normals, NULL, NULL, error);
    cache->positions = positions, cache->normals = normals;
    return result;
}

pelt_result pelt_cache_read(pelt_arena *arena, const char *path, pelt_cache *cache, pelt_error *error) {
    *cache = (pelt_cache){0};
    if (is_folder(path)) return pelt_obj_folder_read(arena, path, cache, error);
    const cache_format *format = format_of(path);
    parse_function *parse = format ? format->parse : pelt_ends_with(path, ".obj") ? parse_obj_cache : NULL;
    if (pelt_ends_with(path, ".abc"))
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: pelt cannot read Alembic yet; convert it to .pc2, .mdd, .npy or a folder of .obj", path);
    if (pelt_foreign_format(path))
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: %s", path, pelt_foreign_format(path));
    if (!parse)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: has no point cache extension; pelt reads .pc2, .mdd, .npy and folders of .obj", path);
    pelt_file file;
    pelt_result result = format ? pelt_file_view(arena, path, &file, error) : pelt_file_read(arena, path, &file, error);
    return result ? result : parse(arena, &file, path, cache, error);
}

/* -- Writing ----------------------------------------------------------------------------------------------------- */

struct pelt_cache_writer {
    const cache_format *format;
    pelt_writer *file;       /* with a format */
    pelt_obj_folder *folder; /* without */
    pelt_mesh mesh;          /* a copy: the caller's may be gone by the next frame, its arrays may not */
    uint32_t frame_count, frames_put;
    pelt_error failure; /* the first one */
};

static bool names_folder(const char *path) {
    return !strchr(pelt_base_name(path), '.') || is_folder(path); /* nothing follows a slash at the end */
}

static pelt_result check_new_cache(const char *path, uint32_t frame_count, const pelt_mesh *mesh, pelt_error *error) {
    if (!*path || (!format_of(path) && !names_folder(path)))
        return pelt_fail(
            error, PELT_ERROR_ARGUMENT,
            "%s: has no point cache extension; use .pc2, .mdd, .npy, or end the name with / for a folder of .obj files",
            path);
    if (!frame_count && !pelt_ends_with(path, ".npy"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: only .npy can be written while the number of frames is unknown; name a .npy file", path);
    if (!mesh->vertex_count || frame_count > INT32_MAX || mesh->vertex_count > INT32_MAX)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: a cache cannot hold %u frames of %u points", path,
                         frame_count, mesh->vertex_count);
    return PELT_OK;
}

pelt_cache_writer *pelt_cache_writer_open(const char *path, uint32_t frame_count, const pelt_mesh *mesh,
                                          double frames_per_second, pelt_error *error) {
    if (check_new_cache(path, frame_count, mesh, error)) return NULL;
    pelt_cache_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return pelt_no_memory(error), NULL;
    *writer = (pelt_cache_writer){.format = format_of(path), .mesh = *mesh, .frame_count = frame_count};
    if (writer->format)
        writer->file = pelt_writer_open(path, error);
    else
        writer->folder = pelt_obj_folder_open(path, error);
    if (!writer->file && !writer->folder) {
        free(writer);
        return NULL;
    }
    if (writer->file)
        writer->format->begin(writer->file, frame_count, mesh->vertex_count,
                              frames_per_second > 0 ? frames_per_second : 30);
    return writer;
}

void pelt_cache_writer_frame(pelt_cache_writer *writer, const float *positions) {
    if (writer->failure.code || (writer->frames_put++ >= writer->frame_count && writer->frame_count)) return;
    if (writer->file)
        writer->format->put(writer->file, positions, 3 * (size_t)writer->mesh.vertex_count);
    else
        pelt_obj_folder_frame(writer->folder, positions, &writer->mesh, &writer->failure);
}

pelt_result pelt_cache_writer_commit(pelt_cache_writer *writer, pelt_error *error) {
    if (!writer->failure.code && !writer->frame_count)
        pelt_npy_complete(writer->file, writer->frames_put, writer->mesh.vertex_count);
    else if (!writer->failure.code && writer->frames_put != writer->frame_count)
        pelt_fail(&writer->failure, PELT_ERROR_ARGUMENT, "a cache of %u frames received %u", writer->frame_count,
                  writer->frames_put);
    pelt_result result = writer->failure.code;
    if (result) {
        pelt_fail(error, result, "%s", writer->failure.text);
        pelt_cache_writer_drop(writer);
        return result;
    }
    result = writer->file ? pelt_writer_commit(writer->file, error) : pelt_obj_folder_commit(writer->folder, error);
    free(writer);
    return result;
}

void pelt_cache_writer_drop(pelt_cache_writer *writer) {
    if (!writer) return;
    pelt_writer_drop(writer->file);
    pelt_obj_folder_drop(writer->folder);
    free(writer);
}
