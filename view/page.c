/* page.c: the files of the page, built into the program and compressed (scripts/embed.c). */

#include "view/page.h"
#include "io/io.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

size_t pelt_page_count(void) { return pelt_page_file_count; }
const pelt_page_file *pelt_page_at(size_t i) { return &pelt_page_files[i]; }

const pelt_page_file *pelt_page_find(const char *name) {
    for (size_t i = 0; i < pelt_page_file_count; i++)
        if (!strcmp(pelt_page_files[i].name, name)) return &pelt_page_files[i];
    return NULL;
}

bool pelt_page_is_fitter(const pelt_page_file *file) {
    return !strncmp(file->name, "fit/", 4) || !strcmp(file->name, "offline.js");
}

bool pelt_page_has_fitter(void) {
    for (size_t i = 0; i < pelt_page_file_count; i++)
        if (pelt_ends_with(pelt_page_files[i].name, ".wasm") && pelt_page_is_fitter(&pelt_page_files[i])) return true;
    return false;
}

unsigned char *pelt_page_bytes(const pelt_page_file *file) {
    enum { GZIP = 16 };
    z_stream stream = {.next_in = (unsigned char *)file->gzip, .avail_in = (unsigned)file->gzip_size};
    unsigned char *bytes = malloc(file->size + 1);
    if (!bytes || inflateInit2(&stream, MAX_WBITS + GZIP)) return free(bytes), NULL;
    stream.next_out = bytes, stream.avail_out = (unsigned)file->size + 1;
    int end = inflate(&stream, Z_FINISH);
    bool whole = end == Z_STREAM_END && stream.total_out == file->size;
    inflateEnd(&stream);
    if (!whole) free(bytes);
    return whole ? bytes : NULL;
}
