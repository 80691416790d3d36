/* beside.c: whether two paths name the same file, and which files belong to the clips of a bundle. */

#include "io/io.h"
#include "rig/text.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool pelt_same_file(const char *a, const char *b) {
    struct stat first, second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool pelt_file_begins(const char *path, const char *bytes) {
    char start[16] = "";
    size_t length = strlen(bytes), got;
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode)) return false;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    got = fread(start, 1, length < sizeof start ? length : sizeof start, file);
    fclose(file);
    return got == length && !memcmp(start, bytes, length);
}

/* The folder part of a path. */
static void folder_of(const char *path, char *folder, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, size, "%.*s", slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
}

/* Whether a path is this file or a file in this folder, or would be once it exists. */
static bool is_or_will_be(const char *path, const char *file) {
    char folder[4096], other[4096];
    struct stat status;
    if (pelt_same_file(path, file)) return true;
    folder_of(path, folder, sizeof folder), folder_of(file, other, sizeof other);
    if (!stat(path, &status)) return pelt_same_file(folder, file);
    return !strcmp(pelt_base_name(path), pelt_base_name(file)) && pelt_same_file(folder, other);
}

const pelt_clip *pelt_bundle_claims(const pelt_bundle *bundle, const char *path) {
    static const char *const endings[] = {".pc2", ".mdd", ".npy", ".abc", ".csv", ""};
    char file[4096];
    int stem = pelt_stem_length(bundle->path);
    for (uint32_t c = 0; c < bundle->clip_count && !bundle->in_memory; c++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            int length =
                snprintf(file, sizeof file, "%.*s.%s%s", stem, bundle->path, bundle->clips[c]->name, endings[e]);
            bool whole = length > 0 && (size_t)length < sizeof file && !strchr(bundle->clips[c]->name, '/');
            if (whole && is_or_will_be(path, file)) return bundle->clips[c];
        }
    return NULL;
}
