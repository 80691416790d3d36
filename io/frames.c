/* frames.c: frames of a calculation from files, a batch at a time. */

#include "io/bytes.h"
#include "io/cache.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 1 << 16 };

struct pelt_frame_file {
    pelt_arena *arena;
    int descriptor; /* -1: held in memory */
    size_t offset;
    const float *held;
    char *path;
    pelt_frames frames;
};

static pelt_result read_frames(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_frame_file *file = user;
    size_t frame = (size_t)file->frames.point_count * file->frames.component_count * sizeof(float);
    if (!file->held)
        return pelt_read_all(file->descriptor, file->offset + first * frame, values, count * frame, file->path, error);
    memcpy(values, (const char *)file->held + first * frame, count * frame);
    return PELT_OK;
}

/* *plain: whether the file can be read in place. */
static pelt_result locate(const pelt_file *head, const char *path, pelt_npy_layout *at, pelt_error *error) {
    if (pelt_ends_with(path, ".npy")) return pelt_npy_locate(head, path, at, error);
    at->plain = pelt_ends_with(path, ".pc2") && PELT_HOST_IS_LITTLE_ENDIAN && head->size >= 32 &&
                !memcmp(head->bytes, "POINTCACHE2", 12);
    if (!at->plain) return PELT_OK;
    at->points = (int32_t)pelt_u32_little(head->bytes + 16);
    at->frames = (int32_t)pelt_u32_little(head->bytes + 28);
    at->components = 3;
    at->offset = 32;
    return PELT_OK;
}

static pelt_result check_layout(const char *path, const pelt_npy_layout *at, uint64_t size, pelt_error *error) {
    uint64_t values;
    if (at->frames < 1 || at->points < 1 || at->components < 1 || at->frames > INT32_MAX || at->points > INT32_MAX ||
        at->components > 64 ||
        __builtin_mul_overflow((uint64_t)at->frames * (uint64_t)at->points, 4 * (uint64_t)at->components, &values))
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: its header claims %lld frames of %lld points of %lld values",
                         path, (long long)at->frames, (long long)at->points, (long long)at->components);
    if (values != size - at->offset)
        return pelt_fail(error, values > size - at->offset ? PELT_ERROR_TRUNCATED : PELT_ERROR_FORMAT,
                         "%s: its header claims %lld frames of %lld points of %lld values, which need %llu bytes, but "
                         "%llu follow; export it again",
                         path, (long long)at->frames, (long long)at->points, (long long)at->components,
                         (unsigned long long)values, (unsigned long long)(size - at->offset));
    return PELT_OK;
}

static pelt_result open_in_place(pelt_frame_file *file, bool *plain, pelt_error *error) {
    struct stat status;
    pelt_npy_layout at = {0};
    *plain = false;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0 || fstat(file->descriptor, &status))
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be opened: %s", file->path, strerror(errno));
    if (!S_ISREG(status.st_mode)) return PELT_OK; /* a folder of .obj files, perhaps */
    uint8_t *bytes = PELT_NEW(file->arena, HEAD + 1, uint8_t);
    if (!bytes) return pelt_file_no_memory(file->path, error);
    ssize_t got = pread(file->descriptor, bytes, HEAD, 0);
    pelt_file head = {bytes, got > 0 ? (size_t)got : 0};
    pelt_result result = locate(&head, file->path, &at, error);
    if (result || !at.plain) return result;
    if (check_layout(file->path, &at, (uint64_t)status.st_size, error)) return error ? error->code : PELT_ERROR_FORMAT;
    *plain = true;
    file->offset = at.offset;
    file->frames.frame_count = (uint32_t)at.frames;
    file->frames.point_count = (uint32_t)at.points;
    file->frames.component_count = (uint32_t)at.components;
    return PELT_OK;
}

static pelt_result open_file(pelt_frame_file *file, pelt_error *error) {
    bool plain;
    pelt_result result = open_in_place(file, &plain, error);
    if (result || plain) return result;
    pelt_cache cache;
    result = pelt_cache_read(file->arena, file->path, &cache, error);
    if (result) return result;
    file->held = cache.positions;
    file->frames.frame_count = cache.frame_count;
    file->frames.point_count = cache.point_count;
    file->frames.component_count = 3;
    return PELT_OK;
}

pelt_frame_file *pelt_frame_file_open(const char *path, pelt_frames *frames, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_frame_file *file = PELT_NEW(arena, 1, pelt_frame_file);
    char *copy = pelt_arena_format(arena, "%s", path);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    *file = (pelt_frame_file){.arena = arena, .descriptor = -1, .path = copy};
    if (open_file(file, error)) return pelt_frame_file_close(file), NULL;
    file->frames.read = read_frames;
    file->frames.user = file;
    file->frames.name = file->path;
    *frames = file->frames;
    return file;
}

void pelt_frame_file_close(pelt_frame_file *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    pelt_arena_free(file->arena);
}
