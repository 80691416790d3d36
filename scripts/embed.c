/* embed.c: writes the files of a folder as compressed C source, to be built into the program.

       embed page.c web/page/dist

   A folder without index.html yields a source without files. */

#define _GNU_SOURCE /* nftw */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST_FILES = 1000 };
static char *paths[MOST_FILES];
static int count;

static int note(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)where;
    if (kind == FTW_F && count < MOST_FILES) paths[count++] = strdup(path);
    return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const char *type_of(const char *name) {
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".wasm", "application/wasm"},
                                           {".svg", "image/svg+xml"},
                                           {".png", "image/png"},
                                           {".webp", "image/webp"},
                                           {".woff2", "font/woff2"},
                                           {".json", "application/json"},
                                           {".ico", "image/x-icon"},
                                           {".wgsl", "text/plain; charset=utf-8"},
                                           {".glsl", "text/plain; charset=utf-8"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (!strcmp(dot, types[i][0])) return types[i][1];
    return "application/octet-stream";
}

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) exit(1);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) exit(1);
    fclose(file);
    return bytes;
}

static size_t compress_bytes(unsigned char *bytes, size_t size, unsigned char **out) {
    enum { GZIP = 16, BEST = 9 };
    z_stream stream = {.next_in = bytes, .avail_in = (unsigned)size};
    if (deflateInit2(&stream, BEST, Z_DEFLATED, MAX_WBITS + GZIP, BEST, Z_DEFAULT_STRATEGY)) exit(1);
    size_t room = deflateBound(&stream, size);
    *out = malloc(room);
    stream.next_out = *out, stream.avail_out = (unsigned)room;
    if (!*out || deflate(&stream, Z_FINISH) != Z_STREAM_END) exit(1);
    deflateEnd(&stream);
    return stream.total_out;
}

/* A string constant is compiled faster than a list of numbers. */
static void write_bytes(FILE *out, int index, const unsigned char *bytes, size_t size) {
    fprintf(out, "static const unsigned char file%d[] = {", index);
    for (size_t i = 0; i < size; i++) fprintf(out, "%s%u,", i % 32 ? "" : "\n", bytes[i]);
    fprintf(out, "};\n");
}

int main(int words, char **word) {
    if (words != 3) return fprintf(stderr, "usage: embed OUT.c FOLDER\n"), 2;
    nftw(word[2], note, 16, FTW_PHYS);
    if (count) qsort(paths, (size_t)count, sizeof *paths, by_name);
    size_t folder = strlen(word[2]), sizes[MOST_FILES], packed[MOST_FILES];
    FILE *out = fopen(word[1], "wb");
    if (!out) return perror(word[1]), 1;
    fprintf(out, "/* %s as bytes, by scripts/embed.c */\n#include \"view/page.h\"\n", "the page");
    for (int i = 0; i < count; i++) {
        unsigned char *gzip, *bytes = read_file(paths[i], &sizes[i]);
        packed[i] = compress_bytes(bytes, sizes[i], &gzip);
        write_bytes(out, i, gzip, packed[i]);
        free(gzip), free(bytes);
    }
    fprintf(out, "const size_t pelt_page_file_count = %d;\nconst pelt_page_file pelt_page_files[] = {\n", count);
    for (int i = 0; i < count; i++)
        fprintf(out, "    {\"%s\", \"%s\", file%d, %zu, %zu},\n", paths[i] + folder + 1, type_of(paths[i]), i,
                packed[i], sizes[i]);
    fprintf(out, "    {0}};\n");
    return ferror(out) || fclose(out);
}
