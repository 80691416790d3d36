/* keys.c: .keys files. */

#include "io/io.h"
#include <stdlib.h>
#include <string.h>

pelt_skin_bytes *pelt_keys_read(const char *path, pelt_keys *keys, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    pelt_skin_bytes *out = NULL;
    pelt_result result = arena ? pelt_file_read(arena, path, &file, error)
                               : pelt_fail(error, PELT_ERROR_MEMORY, "%s: out of memory", path);
    if (!result) {
        out = calloc(1, sizeof *out);
        void *bytes = aligned_alloc(PELT_ALIGN, (file.size + PELT_ALIGN) / PELT_ALIGN * PELT_ALIGN);
        if (out && bytes) {
            memcpy(bytes, file.bytes, file.size);
            *out = (pelt_skin_bytes){bytes, file.size};
        } else {
            free(out), free(bytes);
            out = NULL;
            pelt_fail(error, PELT_ERROR_MEMORY, "%s: out of memory", path);
        }
    }
    pelt_arena_free(arena);
    result = out ? pelt_keys_open(out->bytes, out->size, keys) : PELT_OK;
    if (result == PELT_OK) return out;
    pelt_fail(error, result, "%s: these are not key points that pelt can run: %s; train them again", path,
              pelt_result_text(result));
    pelt_skin_free(out);
    return NULL;
}

pelt_result pelt_keys_write(const pelt_skin_bytes *bytes, const char *path, pelt_error *error) {
    return pelt_skin_write(bytes, path, error);
}
