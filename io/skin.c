/* skin.c: skin and .keys files; skins may also be embedded in glTF files. */

#include "io/io.h"
#include <string.h>

static bool is_gltf(const pelt_file *file, const char *path) {
    return (file->size >= 4 && !memcmp(file->bytes, "glTF", 4)) || pelt_ends_with(path, ".gltf");
}

/* A whole file, or the skin embedded in a glTF file, in memory aligned for the run time. */
static pelt_bytes *read_bytes(const char *path, bool embedded, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    if (pelt_file_read(arena, path, &file, error)) return NULL;
    if (embedded && is_gltf(&file, path)) return pelt_embedded_skin(&file, path, error);
    pelt_bytes *bytes = pelt_bytes_new(file.size);
    if (!bytes) return pelt_no_memory(error), NULL;
    memcpy(bytes->bytes, file.bytes, file.size);
    return bytes;
}

static pelt_bytes *refuse(pelt_bytes *bytes, const char *path, pelt_result result, const char *what,
                          pelt_error *error) {
    pelt_fail(error, result, "%s: %s: %s; make it again", path, what, pelt_result_text(result));
    pelt_bytes_free(bytes);
    return NULL;
}

pelt_bytes *pelt_skin_read(const char *path, pelt_skin *skin, pelt_error *error) {
    if (PELT_MISSING(path, error) || PELT_MISSING(skin, error)) return NULL;
    pelt_bytes *bytes = read_bytes(path, true, error);
    pelt_result result = bytes ? pelt_open(bytes->bytes, bytes->size, skin) : PELT_OK;
    return result ? refuse(bytes, path, result, "is not a skin that pelt can run", error) : bytes;
}

pelt_bytes *pelt_keys_read(const char *path, pelt_keys *keys, pelt_error *error) {
    if (PELT_MISSING(path, error) || PELT_MISSING(keys, error)) return NULL;
    pelt_bytes *bytes = read_bytes(path, false, error);
    pelt_result result = bytes ? pelt_keys_open(bytes->bytes, bytes->size, keys) : PELT_OK;
    return result ? refuse(bytes, path, result, "has no key points that pelt can run", error) : bytes;
}

pelt_result pelt_bytes_write(const pelt_bytes *bytes, const char *path, pelt_error *error) {
    if (PELT_MISSING(bytes, error) || PELT_MISSING(path, error)) return PELT_ERROR_ARGUMENT;
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return PELT_ERROR_FILE;
    pelt_writer_put(writer, bytes->bytes, bytes->size);
    return pelt_writer_commit(writer, error);
}
