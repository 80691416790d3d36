/* journal.c: results of loops in a file, so that a fit that was ended goes on (rig/ranks.h).

       "PELTKEPT", u64 what it belongs to; then for each loop that was kept: u64 number, u64 size, u64 checksum, bytes

   in the byte order of the machine: it is read where it was written. The end may be missing, since whoever wrote it was
   ended; what does not match its checksum, and all that follows, is written again. */

#include "io/journal.h"
#include "io/io.h"
#include "rig/ranks.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct record {
    uint64_t number, size, checksum;
} record;

struct pelt_journal_file {
    const char *path;
    int descriptor;
    uint64_t at, end; /* the next record, and the length of the file */
    bool broken;      /* nothing more can be kept: the disk is full, perhaps */
};

static const char magic[8] = "PELTKEPT";
enum { HEADER = 16 };

static uint64_t checksum(uint64_t number, const void *bytes, size_t size) {
    uint64_t sum = number * 0x9e3779b97f4a7c15u + size, word;
    for (size_t i = 0; i < size; i += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)bytes + i, size - i < sizeof word ? size - i : sizeof word);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
    }
    return sum;
}

static bool get(void *user, uint64_t number, void *bytes, size_t size) {
    pelt_journal_file *file = user;
    record next;
    if (file->at + sizeof next > file->end || pelt_read_all(file->descriptor, file->at, &next, sizeof next, "", NULL) ||
        next.number > number)
        return false;
    bool whole = next.number == number && next.size == size && size <= file->end - file->at - sizeof next &&
                 !pelt_read_all(file->descriptor, file->at + sizeof next, bytes, size, "", NULL) &&
                 next.checksum == checksum(number, bytes, size);
    if (whole)
        file->at += sizeof next + size;
    else
        file->end = file->at, file->broken |= ftruncate(file->descriptor, (off_t)file->at) != 0;
    return whole;
}

static bool write_at(int descriptor, const void *bytes, size_t size, uint64_t offset) {
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(descriptor, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += (size_t)wrote;
    }
    return true;
}

static void put(void *user, uint64_t number, const void *bytes, size_t size) {
    pelt_journal_file *file = user;
    record one = {number, size, checksum(number, bytes, size)};
    if (file->broken) return;
    /* What follows was kept by a run that kept less: it is passed by when its turn comes, so it must not be lost. */
    if (file->at < file->end) return;
    file->broken = !write_at(file->descriptor, bytes, size, file->at + sizeof one) ||
                   !write_at(file->descriptor, &one, sizeof one, file->at);
    if (file->broken) return;
    file->at += sizeof one + size, file->end = file->at;
}

static pelt_result open_journal(pelt_journal_file *file, const char *path, uint64_t owner, pelt_error *error) {
    char head[HEADER];
    uint64_t of;
    struct stat status;
    file->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file->descriptor < 0 || fstat(file->descriptor, &status))
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    file->at = HEADER, file->end = (uint64_t)status.st_size;
    if (file->end >= HEADER) {
        pelt_result result = pelt_read_all(file->descriptor, 0, head, HEADER, path, error);
        if (result) return result;
        memcpy(&of, head + 8, sizeof of);
        if (memcmp(head, magic, sizeof magic) != 0)
            return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not a pelt checkpoint; name another output", path);
        if (of == owner) return PELT_OK;
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: is the checkpoint of a fit with other options or files, another kind of processor, or "
                         "another version of pelt; remove it to start again",
                         path);
    }
    memcpy(head, magic, sizeof magic), memcpy(head + 8, &owner, sizeof owner);
    file->end = HEADER;
    if (!ftruncate(file->descriptor, 0) && write_at(file->descriptor, head, HEADER, 0)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", path, strerror(errno));
}

pelt_journal_file *pelt_journal_open(pelt_arena *arena, const char *path, pelt_error *error) {
    pelt_journal_file *file = PELT_NEW(arena, 1, pelt_journal_file);
    char *copy = pelt_arena_format(arena, "%s", path);
    if (!copy) return pelt_no_memory(error), NULL;
    file->path = copy, file->descriptor = -1;
    if (pelt_rank_writes() && open_journal(file, path, pelt_rank_notes(), error)) {
        if (file->descriptor >= 0) close(file->descriptor);
        return NULL;
    }
    pelt_use_journal(&(pelt_journal){file, get, put});
    return file;
}

void pelt_journal_close(pelt_journal_file *file) {
    if (!file) return;
    pelt_use_journal(NULL);
    if (file->descriptor >= 0) close(file->descriptor);
    file->descriptor = -1;
}

void pelt_journal_remove(const pelt_journal_file *file) {
    if (file) pelt_file_remove(file->path, NULL);
}
