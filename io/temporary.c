/* temporary.c: the table of unfinished files and folders.

   A name enters the table before the file is made and leaves it after the file is renamed or removed, so that at no
   moment a signal finds a file that the table does not know. Everything that the signal handler calls (unlink,
   unlinkat, rmdir, open, close, lock-free atomics) is async-signal-safe. */

#include "io/temporary.h"
#include "io/io.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { UNUSED, CLAIMED, UNFINISHED_FILE, UNFINISHED_FOLDER };

struct pelt_temporary {
    atomic_int state;
    atomic_uint frame_count;
    char path[PATH_MAX];
};

static pelt_temporary table[16];
enum { TABLE_SIZE = sizeof table / sizeof *table };

/* -- Names ------------------------------------------------------------------------------------------------------- */

/* Formatted by hand: printf may not be called in a signal handler. */
void pelt_frame_name(uint32_t frame, char name[PELT_FRAME_NAME_SIZE]) {
    static const char before[] = "frame_", after[] = ".obj";
    char digits[10];
    int count = 0;
    for (; count < 6 || frame; frame /= 10) digits[count++] = (char)('0' + frame % 10);
    for (const char *c = before; *c; c++) *name++ = *c;
    while (count) *name++ = digits[--count];
    for (const char *c = after; *c; c++) *name++ = *c;
    *name = 0;
}

static bool name_beside(const char *target, char path[PATH_MAX]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    static atomic_uint counter;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mix = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 16 ^
                   (uint64_t)atomic_fetch_add(&counter, 1) << 48;
    char unique[7] = {0};
    for (int i = 0; i < 6; i++) {
        mix = (mix ^ mix >> 31) * 0x9e3779b97f4a7c15u;
        unique[i] = letters[mix >> 59];
    }
    int length = snprintf(path, PATH_MAX, "%s.tmp-%s", target, unique);
    return length > 0 && length < PATH_MAX;
}

/* -- Making ------------------------------------------------------------------------------------------------------ */

static pelt_temporary *claim(void) {
    for (int i = 0; i < TABLE_SIZE; i++) {
        int unused = UNUSED;
        if (atomic_compare_exchange_strong(&table[i].state, &unused, CLAIMED)) return &table[i];
    }
    errno = EMFILE;
    return NULL;
}

static int make_file(const char *path) { return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }
static int make_folder(const char *path) { return mkdir(path, 0777); }

static pelt_temporary *make(const char *target, int state, int (*make_path)(const char *path), int *made) {
    pelt_temporary *temporary = claim();
    if (!temporary) return NULL;
    *made = -1;
    for (int attempt = 0; attempt < 100 && *made < 0; attempt++) {
        if (!name_beside(target, temporary->path)) {
            errno = ENAMETOOLONG;
            break;
        }
        atomic_store(&temporary->frame_count, 0);
        atomic_store(&temporary->state, state);
        *made = make_path(temporary->path);
        if (*made < 0) atomic_store(&temporary->state, CLAIMED);
        if (*made < 0 && errno != EEXIST) break;
    }
    if (*made >= 0) return temporary;
    pelt_temporary_forget(temporary);
    return NULL;
}

pelt_temporary *pelt_temporary_file(const char *target, int *descriptor) {
    return make(target, UNFINISHED_FILE, make_file, descriptor);
}

pelt_temporary *pelt_temporary_folder(const char *target) {
    int made;
    return make(target, UNFINISHED_FOLDER, make_folder, &made);
}

const char *pelt_temporary_path(const pelt_temporary *temporary) { return temporary->path; }

void pelt_temporary_set_frames(pelt_temporary *temporary, uint32_t count) {
    atomic_store(&temporary->frame_count, count);
}

/* -- Ending ------------------------------------------------------------------------------------------------------ */

static void remove_folder(pelt_temporary *temporary) {
    int folder = open(temporary->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint32_t i = 0; folder >= 0 && i < atomic_load(&temporary->frame_count); i++) {
        char name[PELT_FRAME_NAME_SIZE];
        pelt_frame_name(i, name);
        unlinkat(folder, name, 0);
    }
    if (folder >= 0) close(folder);
    rmdir(temporary->path);
}

int pelt_temporary_rename(pelt_temporary *temporary, const char *target) {
    if (rename(temporary->path, target) == 0) {
        pelt_temporary_forget(temporary);
        return 0;
    }
    int reason = errno;
    pelt_temporary_remove(temporary);
    errno = reason;
    return -1;
}

void pelt_temporary_remove(pelt_temporary *temporary) {
    if (atomic_load(&temporary->state) == UNFINISHED_FOLDER)
        remove_folder(temporary);
    else
        unlink(temporary->path);
    pelt_temporary_forget(temporary);
}

void pelt_temporary_forget(pelt_temporary *temporary) { atomic_store(&temporary->state, UNUSED); }

void pelt_writer_abandon_all(void) {
    int reason = errno;                  /* the interrupted code may be about to look at it */
    for (int i = 0; i < TABLE_SIZE; i++) /* files first: some lie in the folders */
        if (atomic_load(&table[i].state) == UNFINISHED_FILE) unlink(table[i].path);
    for (int i = 0; i < TABLE_SIZE; i++)
        if (atomic_load(&table[i].state) == UNFINISHED_FOLDER) remove_folder(&table[i]);
    errno = reason;
}
