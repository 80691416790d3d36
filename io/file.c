/* file.c: reading and writing whole files.

   Reading: the memory limit of all readers is enforced here. A reading arena starts at PELT_READ_LIMIT, and each file
   read into it adds 64 times its size, including the bytes themselves; allocations beyond that fail.

   Writing: the bytes go to TARGET.tmp-XXXXXX; commit syncs it, renames it to TARGET and syncs the folder, so that even
   after a power failure the old file or the new one is there, whole. Anything but a regular file (/dev/stdout, a pipe)
   cannot be renamed and is written directly. */

#define _GNU_SOURCE /* SEEK_HOLE */
#include "io/io.h"
#include "io/bytes.h"
#include "io/temporary.h"
#include "rig/memory.h"
#include "rig/ranks.h"
#include "rig/spill.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- Reading ----------------------------------------------------------------------------------------------------- */

pelt_result pelt_read_all(int descriptor, uint64_t offset, void *bytes, size_t size, const char *path,
                          pelt_error *error) {
    for (size_t filled = 0; filled < size;) {
        ssize_t got = pread(descriptor, (char *)bytes + filled, size - filled, (off_t)(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be read: %s", path, strerror(errno));
        if (got == 0) return pelt_fail(error, PELT_ERROR_FILE, "%s: was truncated while being read; try again", path);
        filled += (size_t)got;
    }
    return PELT_OK;
}

static bool ends_with_any(const char *path, const char *const *endings) {
    while (*endings && !pelt_ends_with(path, *endings)) endings++;
    return *endings != NULL;
}

/* What a large file says of itself is checked before all of it is read: letters and sizes at its beginning, and no zeros
   in a text, where a hole is full of them. */
static pelt_result check_beginning(int descriptor, const char *path, uint64_t size, pelt_error *error) {
    enum { LARGE = 16 << 20 };
    static const char *const texts[] = {".csv", ".obj", ".gltf", ".json", NULL};
    static const char *const binary[] = {".pelt", ".keys", ".glb", ".npy", ".pc2", NULL};
    uint8_t head[4096];
    uint64_t told = size;
    if (size < LARGE) return PELT_OK;
    pelt_result result = pelt_read_all(descriptor, 0, head, sizeof head, path, error);
    if (result) return result;
    if (ends_with_any(path, texts)) {
        off_t hole = lseek(descriptor, 0, SEEK_HOLE);
        if (!memchr(head, 0, sizeof head) && (hole < 0 || (uint64_t)hole >= size)) return PELT_OK;
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not text: it contains zero bytes", path);
    }
    bool pelt = !memcmp(head, "PELTSKIN", 8) || !memcmp(head, "PELTKEYS", 8), gltf = !memcmp(head, "glTF", 4);
    if (pelt) memcpy(&told, head + 16, sizeof told);
    if (gltf) told = pelt_u32_little(head + 8);
    if (told != size)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: claims to have %llu bytes, but has %llu; it is damaged", path,
                         (unsigned long long)told, (unsigned long long)size);
    bool cache = !memcmp(head, "\x93NUMPY", 6) || !memcmp(head, "POINTCACHE2", 11);
    if (pelt || gltf || cache || !ends_with_any(path, binary)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_FORMAT, "%s: does not begin like such a file; it is damaged, or of another kind",
                     path);
}

/* Its size, its beginning and its end are what ranks and checkpoints compare: all of a large cache would take as long as
   reading it. */
static void note_file(int descriptor, uint64_t size) {
    enum { PIECE = 4096 };
    uint8_t bytes[2 * PIECE] = {0};
    uint64_t last = size > PIECE ? size - PIECE : 0;
    bool read = pread(descriptor, bytes, PIECE, 0) >= 0 && pread(descriptor, bytes + PIECE, PIECE, (off_t)last) >= 0;
    pelt_rank_note(&size, sizeof size);
    if (read) pelt_rank_note(bytes, sizeof bytes);
}

static pelt_result read_open_file(pelt_arena *arena, int descriptor, const char *path, bool view, pelt_file *file,
                                  pelt_error *error) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode)) return pelt_fail(error, PELT_ERROR_FILE, "%s: is a folder, not a file", path);
    if (!S_ISREG(status.st_mode))
        return pelt_fail(error, PELT_ERROR_FILE, "%s: is a pipe or a device; save it to a file first", path);
    uint64_t size = (uint64_t)status.st_size;
    pelt_result result = check_beginning(descriptor, path, size, error);
    if (result) return result;
    note_file(descriptor, size);
    size_t allowed;
    if (size >= SIZE_MAX || __builtin_mul_overflow((size_t)size, (size_t)PELT_READ_FACTOR, &allowed))
        allowed = SIZE_MAX;
    pelt_arena_raise_limit(arena, allowed);
    const void *mapped = view && size < SIZE_MAX && pelt_spill_wanted((size_t)size)
                             ? pelt_arena_map_file(arena, descriptor, (size_t)size)
                             : NULL;
    if (mapped) return *file = (pelt_file){mapped, (size_t)size}, PELT_OK;
    uint8_t *bytes = size < SIZE_MAX ? PELT_NEW(arena, (size_t)size + 1, uint8_t) : NULL;
    if (!bytes)
        return pelt_fail(error, PELT_ERROR_MEMORY, "%s: its %llu bytes do not fit in memory", path,
                         (unsigned long long)size);
    *file = (pelt_file){bytes, (size_t)size};
    return pelt_read_all(descriptor, 0, bytes, (size_t)size, path, error);
}

pelt_result pelt_file_no_memory(const char *path, pelt_error *error) {
    if (!pelt_memory_was_limited())
        return pelt_fail(error, PELT_ERROR_MEMORY, "%s: not enough memory to read it", path);
    return pelt_fail(error, PELT_ERROR_MEMORY,
                     "%s: needs more memory than a file of its size should; it may be damaged", path);
}

bool pelt_ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && !strcasecmp(path + length - tail, ending);
}

const char *pelt_foreign_format(const char *path) {
    static const struct {
        const char *ending, *words;
    } formats[] = {
        {".fbx",
         "is an FBX file, which pelt does not read: export the character as glTF (.glb), for instance from Blender"},
        {".bvh",
         "is a BVH file, which has motion but no mesh: apply it to the character and export both as glTF (.glb)"},
        {".blend", "is a Blender file: export the character from Blender as glTF (.glb)"},
        {".dae", "is a COLLADA file, which pelt does not read: export the character as glTF (.glb)"},
        {".usd", "is a USD file, which pelt does not read: export the character as glTF (.glb)"},
        {".usdz", "is a USD file, which pelt does not read: export the character as glTF (.glb)"},
        {".usdc", "is a USD file, which pelt does not read: export the character as glTF (.glb)"},
        {".usda", "is a USD file, which pelt does not read: export the character as glTF (.glb)"}};
    for (size_t i = 0; path && i < sizeof formats / sizeof *formats; i++)
        if (pelt_ends_with(path, formats[i].ending)) return formats[i].words;
    return NULL;
}

bool pelt_is_gltf(const char *path) { return pelt_ends_with(path, ".glb") || pelt_ends_with(path, ".gltf"); }

static pelt_result read_file(pelt_arena *arena, const char *path, bool view, pelt_file *file, pelt_error *error) {
    *file = (pelt_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang */
    if (descriptor < 0) return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    pelt_result result = read_open_file(arena, descriptor, path, view, file, error);
    close(descriptor);
    return result;
}

pelt_result pelt_file_read(pelt_arena *arena, const char *path, pelt_file *file, pelt_error *error) {
    return read_file(arena, path, false, file, error);
}

pelt_result pelt_file_view(pelt_arena *arena, const char *path, pelt_file *file, pelt_error *error) {
    return read_file(arena, path, true, file, error);
}

/* -- Writing ----------------------------------------------------------------------------------------------------- */

struct pelt_writer {
    char *path;                /* as the caller wrote it, for messages */
    char *target;              /* with symbolic links resolved; NULL when written directly */
    pelt_temporary *temporary; /* NULL when written directly */
    int descriptor;
    pelt_error failure; /* the first one */
    size_t buffered;
    uint8_t buffer[1 << 16];
};

static void fail_with_errno(pelt_writer *writer) {
    if (writer->failure.code) return;
    if (errno == ENOMEM)
        pelt_no_memory(&writer->failure);
    else
        pelt_fail(&writer->failure, PELT_ERROR_FILE, "%s: cannot be written: %s", writer->path, strerror(errno));
}

static void open_directly(pelt_writer *writer, const char *path) {
    writer->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (writer->descriptor < 0) fail_with_errno(writer);
}

static void open_beside(pelt_writer *writer, const struct stat *existing) {
    /* An existing file keeps its location behind a symbolic link, its write protection and its permissions. */
    writer->target = existing ? realpath(writer->path, NULL) : strdup(writer->path);
    if (!writer->target || (existing && access(writer->path, W_OK) != 0)) {
        fail_with_errno(writer);
        return;
    }
    writer->temporary = pelt_temporary_file(writer->target, &writer->descriptor);
    if (!writer->temporary)
        fail_with_errno(writer);
    else if (existing && fchmod(writer->descriptor, existing->st_mode & 07777) != 0)
        fail_with_errno(writer);
}

static void open_target(pelt_writer *writer) {
    struct stat status;
    if (!pelt_rank_writes()) {
        open_directly(writer, "/dev/null");
    } else if (!*writer->path) {
        pelt_fail(&writer->failure, PELT_ERROR_FILE, "an empty name cannot be written to; name a file");
    } else if (stat(writer->path, &status) != 0) {
        if (errno == ENOENT)
            open_beside(writer, NULL);
        else
            fail_with_errno(writer);
    } else if (S_ISDIR(status.st_mode)) {
        pelt_fail(&writer->failure, PELT_ERROR_FILE, "%s: is a folder; name a file in it", writer->path);
    } else if (S_ISREG(status.st_mode)) {
        open_beside(writer, &status);
    } else {
        open_directly(writer, writer->path);
    }
}

static void free_writer(pelt_writer *writer) {
    if (writer->descriptor >= 0) close(writer->descriptor);
    if (writer->temporary) pelt_temporary_remove(writer->temporary);
    free(writer->target);
    free(writer->path);
    free(writer);
}

pelt_writer *pelt_writer_open(const char *path, pelt_error *error) {
    pelt_writer *writer = calloc(1, sizeof *writer);
    char *copy = strdup(path);
    if (!writer || !copy) {
        free(writer), free(copy);
        pelt_no_memory(error);
        return NULL;
    }
    writer->path = copy;
    writer->descriptor = -1;
    open_target(writer);
    if (!writer->failure.code) return writer;
    pelt_fail(error, writer->failure.code, "%s", writer->failure.text);
    free_writer(writer);
    return NULL;
}

pelt_writer *pelt_writer_standard(pelt_error *error) {
    pelt_writer *writer = calloc(1, sizeof *writer);
    char *name = strdup("standard output");
    int descriptor = dup(1);
    if (writer && name && descriptor >= 0) {
        writer->path = name, writer->descriptor = descriptor;
        return writer;
    }
    if (descriptor >= 0) close(descriptor);
    free(writer), free(name);
    pelt_fail(error, PELT_ERROR_FILE, "standard output cannot be written");
    return NULL;
}

static void write_all(pelt_writer *writer, const uint8_t *bytes, size_t size) {
    if (!writer->failure.code && pelt_write_all(writer->descriptor, bytes, size)) fail_with_errno(writer);
}

static void flush(pelt_writer *writer) {
    write_all(writer, writer->buffer, writer->buffered);
    writer->buffered = 0;
}

void pelt_writer_put(pelt_writer *writer, const void *bytes, size_t size) {
    if (writer->failure.code || !size) return;
    if (size > sizeof writer->buffer - writer->buffered) flush(writer);
    if (size >= sizeof writer->buffer) {
        write_all(writer, bytes, size);
    } else {
        memcpy(writer->buffer + writer->buffered, bytes, size);
        writer->buffered += size;
    }
}

pelt_result pelt_writer_flush(pelt_writer *writer, pelt_error *error) {
    flush(writer);
    if (!writer->failure.code) return PELT_OK;
    return pelt_fail(error, writer->failure.code, "%s", writer->failure.text);
}

void pelt_writer_put_first(pelt_writer *writer, const void *bytes, size_t size) {
    flush(writer);
    if (writer->failure.code) return;
    if (pwrite(writer->descriptor, bytes, size, 0) != (ssize_t)size) fail_with_errno(writer);
}

/* Gets all bytes onto the disk, still under the temporary name. */
static void finish(pelt_writer *writer) {
    flush(writer);
    if (!writer->failure.code && writer->temporary && pelt_sync(writer->descriptor)) fail_with_errno(writer);
    /* Some file systems report a full disk or quota only here. */
    if (close(writer->descriptor) != 0) fail_with_errno(writer);
    writer->descriptor = -1;
}

static void appear(pelt_writer *writer) {
    if (writer->failure.code || !writer->temporary) return;
    if (pelt_temporary_rename(writer->temporary, writer->target) != 0) fail_with_errno(writer);
    writer->temporary = NULL;
}

static pelt_result end(pelt_writer *writer, pelt_error *error) {
    pelt_result result = writer->failure.code;
    if (result) pelt_fail(error, result, "%s", writer->failure.text);
    free_writer(writer);
    return result;
}

pelt_result pelt_writer_commit(pelt_writer *writer, pelt_error *error) {
    finish(writer);
    appear(writer);
    return end(writer, error);
}

/* Two files cannot be renamed at once. If both exist, the old second one is removed first, or it would refer to the
   wrong first one. */
pelt_result pelt_writer_commit_pair(pelt_writer *first, pelt_writer *second, pelt_error *error) {
    finish(first);
    finish(second);
    if (!first->failure.code) first->failure = second->failure;
    if (!first->failure.code && second->target && unlink(second->target) && errno != ENOENT) fail_with_errno(second);
    if (!first->failure.code) first->failure = second->failure;
    appear(first);
    if (!first->failure.code) appear(second);
    pelt_result result = end(first, error);
    if (!result) return end(second, error);
    pelt_writer_drop(second);
    return result;
}

void pelt_writer_drop(pelt_writer *writer) {
    if (writer) free_writer(writer);
}
