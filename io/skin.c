/* skin.c: skin files. */

#include "io/io.h"
#include <stdlib.h>
#include <string.h>

static pelt_skin_bytes *copy_bytes(const pelt_file *file) {
    size_t room = (file->size + PELT_ALIGN) / PELT_ALIGN * PELT_ALIGN;
    pelt_skin_bytes *skin = calloc(1, sizeof *skin);
    void *bytes = aligned_alloc(PELT_ALIGN, room);
    if (!skin || !bytes) {
        free(skin), free(bytes);
        return NULL;
    }
    memcpy(bytes, file->bytes, file->size);
    *skin = (pelt_skin_bytes){bytes, file->size};
    return skin;
}

pelt_skin_bytes *pelt_skin_read(const char *path, pelt_skin *skin, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    pelt_skin_bytes *bytes = NULL;
    if (!arena || pelt_file_read(arena, path, &file, error) == PELT_OK) {
        bytes = arena ? copy_bytes(&file) : NULL;
        if (!bytes) pelt_fail(error, PELT_ERROR_MEMORY, "%s: out of memory", path);
    }
    pelt_arena_free(arena);
    pelt_result result = bytes ? pelt_open(bytes->bytes, bytes->size, skin) : PELT_OK;
    if (result == PELT_OK) return bytes;
    pelt_fail(error, result, "%s: is not a skin that pelt can run: %s; fit it again", path, pelt_result_text(result));
    pelt_skin_free(bytes);
    return NULL;
}

pelt_result pelt_skin_write(const pelt_skin_bytes *skin, const char *path, pelt_error *error) {
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return PELT_ERROR_FILE;
    pelt_writer_put(writer, skin->bytes, skin->size);
    return pelt_writer_commit(writer, error);
}

void pelt_skin_free(pelt_skin_bytes *skin) {
    if (!skin) return;
    free(skin->bytes);
    free(skin);
}
