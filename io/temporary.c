/* temporary.c: the table of unfinished files and folders.

   A name enters the table before the file is created and leaves it after the file is renamed or removed, so a signal
   never finds a file that the table does not know. Everything that the signal handler calls (unlink, unlinkat, rmdir,
   open, close, getdents64, lock-free atomics) is async-signal-safe.

   A killed process cleans up nothing. Hence every unfinished file is locked (flock) while it grows, and a lock ends
   with its process: a file next to the target that is named like an unfinished one and can be locked is abandoned. The
   next writer of the same target removes it. */

#define _GNU_SOURCE /* renameat2 */
#include "io/temporary.h"
#include "io/io.h"
#include "io/tree.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { UNUSED, CLAIMED, UNFINISHED_FILE, UNFINISHED_FOLDER, UNFINISHED_TREE };

struct pelt_temporary {
    atomic_int state;
    atomic_uint frame_count;
    int lock; /* a descriptor that holds the lock; -1: none */
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

static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
static const char mark[] = ".tmp-", old_mark[] = ".old-";
enum { UNIQUE = 6, MARKED = 5 + UNIQUE };

/* How much of the target's path starts the temporary's name: all of it, unless the name would become too long. */
static int kept_of(const char *target) {
    const char *slash = strrchr(target, '/');
    size_t folder = slash ? (size_t)(slash + 1 - target) : 0, name = strlen(target) - folder;
    return (int)(folder + (name > NAME_MAX || name <= NAME_MAX - MARKED ? name : NAME_MAX - MARKED));
}

static bool name_beside(const char *target, const char *with, char path[PATH_MAX]) {
    static atomic_uint counter;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mix = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 16 ^
                   (uint64_t)atomic_fetch_add(&counter, 1) << 48;
    char unique[UNIQUE + 1] = {0};
    for (int i = 0; i < UNIQUE; i++) {
        mix = (mix ^ mix >> 31) * 0x9e3779b97f4a7c15u;
        unique[i] = letters[mix >> 59];
    }
    int length = snprintf(path, PATH_MAX, "%.*s%s%s", kept_of(target), target, with, unique);
    return length > 0 && length < PATH_MAX;
}

/* Whether a name is `begin`, a mark, and six of the letters. */
static bool is_marked(const char *name, const char *begin, size_t begin_length, const char *with) {
    size_t length = strlen(name);
    return length == begin_length + MARKED && !memcmp(name, begin, begin_length) &&
           !memcmp(name + begin_length, with, strlen(with)) && strspn(name + length - UNIQUE, letters) == UNIQUE;
}

bool pelt_is_frame_name(const char *name) {
    static const char before[] = "frame_";
    if (strncmp(name, before, strlen(before)) != 0) return false;
    const char *digits = name + strlen(before);
    size_t count = strspn(digits, "0123456789");
    return count >= 6 && strcmp(digits + count, ".obj") == 0;
}

/* -- Leftovers of killed programs ---------------------------------------------------------------------------------- */

/* frame_000007.obj, or frame_000007.obj.tmp-abcdef. */
static bool is_frame_or_unfinished(const char *name) {
    char frame[64];
    size_t length = strlen(name);
    if (length <= MARKED || length >= sizeof frame || pelt_is_frame_name(name)) return pelt_is_frame_name(name);
    memcpy(frame, name, length - MARKED);
    frame[length - MARKED] = 0;
    return pelt_is_frame_name(frame) && is_marked(name, frame, length - MARKED, mark);
}

/* Removes the frames in a folder, and the folder if nothing else is in it. */
static void remove_frames(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_frame_or_unfinished(entry->d_name)) unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    rmdir(path);
}

/* Everything in a folder, without memory and without following links, so that a signal handler and a program that has run
   out of memory can call it. Reads the folder again until nothing more goes: others may still be writing into it. */
static void remove_all(int parent, const char *name, int depth) {
    enum { MOST_DEPTH = 16, HEAD = offsetof(struct dirent64, d_name) };
    _Alignas(struct dirent64) char entries[2048];
    int folder = depth < MOST_DEPTH ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    for (bool gone = folder >= 0; gone;) {
        gone = false;
        lseek(folder, 0, SEEK_SET);
        for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
            for (long at = 0; at + HEAD < got;) {
                const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
                const char *inside = entry->d_name;
                at += entry->d_reclen;
                if (inside[0] == '.' && (!inside[1] || (inside[1] == '.' && !inside[2]))) continue;
                if (unlinkat(folder, inside, 0)) remove_all(folder, inside, depth + 1);
                gone |= faccessat(folder, inside, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
            }
    }
    if (folder >= 0) close(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* A folder that was moved aside for one that never arrived is moved back. */
static void collect(const char *path, const char *target, bool stepped_aside) {
    struct stat status, there;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0) {
        if (stepped_aside && stat(target, &there) != 0)
            rename(path, target);
        else if (S_ISDIR(status.st_mode) && !stepped_aside && !faccessat(descriptor, PELT_ALL_OURS, F_OK, 0) &&
                 status.st_uid == geteuid())
            remove_all(AT_FDCWD, path, 0);
        else if (S_ISDIR(status.st_mode))
            remove_frames(path);
        else if (S_ISREG(status.st_mode) && !stepped_aside)
            unlink(path);
    }
    close(descriptor);
}

static void collect_beside(const char *target) {
    char path[PATH_MAX];
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    int folder_length = slash ? (int)(slash + 1 - target) : 0, kept = kept_of(target) - folder_length;
    snprintf(path, sizeof path, "%.*s", folder_length, folder_length ? target : "");
    DIR *folder = opendir(folder_length ? path : ".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        bool aside = is_marked(entry->d_name, name, (size_t)kept, old_mark);
        if (!aside && !is_marked(entry->d_name, name, (size_t)kept, mark)) continue;
        if (snprintf(path, sizeof path, "%.*s%s", folder_length, target, entry->d_name) < PATH_MAX)
            collect(path, target, aside);
    }
    if (folder) closedir(folder);
}

/* A file in an unfinished folder has no leftovers next to it, and becomes durable with the folder. */
static bool is_inside(const char *target) {
    for (int i = 0; i < TABLE_SIZE; i++) {
        size_t length = strnlen(table[i].path, PATH_MAX);
        if (atomic_load(&table[i].state) >= UNFINISHED_FOLDER && !strncmp(target, table[i].path, length) &&
            target[length] == '/')
            return true;
    }
    return false;
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
static int make_folder(const char *path) {
    return mkdir(path, 0777) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int make_marked(const char *path, mode_t mode) {
    int folder = mkdir(path, mode) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int marker = folder < 0 ? -1 : openat(folder, PELT_ALL_OURS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (marker >= 0) close(marker);
    if (folder < 0 || marker >= 0) return folder;
    int reason = errno;
    close(folder), rmdir(path);
    errno = reason;
    return -1;
}

static int make_tree(const char *path) { return make_marked(path, 0777); }
static int make_private(const char *path) { return make_marked(path, 0700); }

/* Another program may have collected the file between its creation and its lock. Where locks are not supported, nobody
   collects. */
static bool lock_made(pelt_temporary *temporary, int made) {
    struct stat status, there;
    temporary->lock = fcntl(made, F_DUPFD_CLOEXEC, 0);
    if (temporary->lock < 0) return false;
    if (flock(temporary->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) return errno = EEXIST, false;
    if (!fstat(temporary->lock, &status) && !stat(temporary->path, &there) && status.st_ino == there.st_ino)
        return true;
    errno = EEXIST;
    return false;
}

/* Leaves the file or folder in place, and drops it from the table. */
static void forget(pelt_temporary *temporary) {
    if (temporary->lock >= 0) close(temporary->lock);
    temporary->lock = -1;
    atomic_store(&temporary->state, UNUSED);
}

static pelt_temporary *make(const char *target, int state, int (*make_path)(const char *path), int *made) {
    pelt_temporary *temporary = claim();
    if (!temporary) return NULL;
    *made = -1;
    temporary->lock = -1;
    if (!is_inside(target)) collect_beside(target);
    for (int attempt = 0; attempt < 100; attempt++) {
        if (!name_beside(target, mark, temporary->path)) {
            errno = ENAMETOOLONG;
            break;
        }
        atomic_store(&temporary->frame_count, 0);
        atomic_store(&temporary->state, state);
        *made = make_path(temporary->path);
        if (*made >= 0 && lock_made(temporary, *made)) return temporary;
        int reason = errno;
        atomic_store(&temporary->state, CLAIMED);
        if (*made >= 0) close(*made);
        if (*made >= 0 && reason != EEXIST) {
            if (state == UNFINISHED_TREE) remove_all(AT_FDCWD, temporary->path, 0);
            state == UNFINISHED_FILE ? unlink(temporary->path) : rmdir(temporary->path);
        }
        if (temporary->lock >= 0) close(temporary->lock);
        temporary->lock = *made = -1;
        errno = reason;
        if (reason != EEXIST) break;
    }
    int reason = errno;
    forget(temporary);
    errno = reason;
    return NULL;
}

pelt_temporary *pelt_temporary_file(const char *target, int *descriptor) {
    return make(target, UNFINISHED_FILE, make_file, descriptor);
}

pelt_temporary *pelt_temporary_folder(const char *target) {
    int made;
    pelt_temporary *temporary = make(target, UNFINISHED_FOLDER, make_folder, &made);
    if (temporary) close(made); /* the lock holds it */
    return temporary;
}

pelt_temporary *pelt_temporary_tree(const char *target, bool private) {
    int made;
    pelt_temporary *temporary = make(target, UNFINISHED_TREE, private ? make_private : make_tree, &made);
    if (temporary) close(made);
    return temporary;
}

/* Also of those in the table, which lists them no more. */
void pelt_folder_remove(const char *path) {
    remove_all(AT_FDCWD, path, 0);
    for (int i = 0; i < TABLE_SIZE; i++)
        if (atomic_load(&table[i].state) == UNFINISHED_TREE && !strcmp(table[i].path, path)) forget(&table[i]);
}

const char *pelt_temporary_path(const pelt_temporary *temporary) { return temporary->path; }

void pelt_temporary_set_frames(pelt_temporary *temporary, uint32_t count) {
    atomic_store(&temporary->frame_count, count);
}

/* -- Ending ------------------------------------------------------------------------------------------------------ */

static void remove_folder(pelt_temporary *temporary) {
    if (atomic_load(&temporary->state) == UNFINISHED_TREE) {
        remove_all(AT_FDCWD, temporary->path, 0);
        return;
    }
    int folder = open(temporary->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint32_t i = 0; folder >= 0 && i < atomic_load(&temporary->frame_count); i++) {
        char name[PELT_FRAME_NAME_SIZE];
        pelt_frame_name(i, name);
        unlinkat(folder, name, 0);
    }
    if (folder >= 0) close(folder);
    rmdir(temporary->path);
}

int pelt_write_all(int descriptor, const void *bytes, size_t size) {
    for (const char *at = bytes, *end = at + size; at < end;) {
        ssize_t put = write(descriptor, at, (size_t)(end - at));
        if (put < 0 && errno != EINTR) return -1;
        if (put > 0) at += put;
    }
    return 0;
}

int pelt_sync(int descriptor) {
    /* Not being able to sync at all (a pipe, folders on some file systems) is not a failure. */
    return fsync(descriptor) && errno != EINVAL && errno != EROFS && errno != ENOTSUP ? -1 : 0;
}

/* A new name is durable once its folder is synced. */
static int sync_folder_of(const char *target) {
    char path[PATH_MAX];
    const char *slash = strrchr(target, '/');
    int length = slash ? (int)(slash + 1 - target) : 0;
    if (is_inside(target) || snprintf(path, sizeof path, "%.*s", length, target) >= PATH_MAX) return 0;
    int folder = open(length ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return 0; /* a folder may be writable but not readable */
    int synced = pelt_sync(folder), reason = errno;
    close(folder);
    errno = reason;
    return synced;
}

int pelt_temporary_rename(pelt_temporary *temporary, const char *target) {
    bool folder = atomic_load(&temporary->state) >= UNFINISHED_FOLDER;
    if ((!folder || !pelt_sync(temporary->lock)) && rename(temporary->path, target) == 0) {
        forget(temporary);
        return sync_folder_of(target);
    }
    int reason = errno;
    pelt_temporary_remove(temporary);
    errno = reason;
    return -1;
}

/* -- Replacing a folder -------------------------------------------------------------------------------------------- */

static int exchange(const char *a, const char *b) {
#ifdef RENAME_EXCHANGE
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#else
    (void)a, (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

/* One more than the last frame number, within what a signal handler should search. */
static uint32_t count_frames(const char *path) {
    enum { MOST = 1 << 20 };
    uint32_t count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        unsigned long number =
            pelt_is_frame_name(entry->d_name) ? strtoul(entry->d_name + strlen("frame_"), NULL, 10) : 0;
        if (number < MOST && number >= count) count = (uint32_t)number + 1;
    }
    if (folder) closedir(folder);
    return count;
}

/* For file systems that cannot exchange: the old folder is moved aside under a name that nothing removes while the
   target is missing, and moved back if the new one cannot take its place. */
static int replace_in_steps(pelt_temporary *fresh, const char *target) {
    char aside[PATH_MAX];
    int reason = ENAMETOOLONG, lock = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC), renamed = -1;
    if (lock >= 0) flock(lock, LOCK_EX | LOCK_NB);
    if (name_beside(target, old_mark, aside) && rename(target, aside) == 0) {
        renamed = pelt_temporary_rename(fresh, target), reason = errno;
        if (renamed == 0)
            remove_frames(aside);
        else
            rename(aside, target);
    } else {
        reason = errno;
        pelt_temporary_remove(fresh);
    }
    if (lock >= 0) close(lock);
    errno = reason;
    return renamed;
}

int pelt_temporary_replace_folder(pelt_temporary *fresh, const char *target) {
    uint32_t old = count_frames(target), now = atomic_load(&fresh->frame_count);
    if (pelt_sync(fresh->lock)) {
        int reason = errno;
        pelt_temporary_remove(fresh);
        errno = reason;
        return -1;
    }
    if (old > now) pelt_temporary_set_frames(fresh, old);
    if (exchange(fresh->path, target) != 0) return replace_in_steps(fresh, target);
    int synced = sync_folder_of(target), reason = errno;
    remove_frames(fresh->path); /* the old one */
    forget(fresh);
    errno = reason;
    return synced;
}

void pelt_temporary_remove(pelt_temporary *temporary) {
    if (atomic_load(&temporary->state) >= UNFINISHED_FOLDER)
        remove_folder(temporary);
    else
        unlink(temporary->path);
    forget(temporary);
}

void pelt_writer_abandon_all(void) {
    int reason = errno;                  /* the interrupted code may be about to read it */
    for (int i = 0; i < TABLE_SIZE; i++) /* files first: some are inside the folders */
        if (atomic_load(&table[i].state) == UNFINISHED_FILE) unlink(table[i].path);
    for (int i = 0; i < TABLE_SIZE; i++)
        if (atomic_load(&table[i].state) >= UNFINISHED_FOLDER) remove_folder(&table[i]);
    errno = reason;
}
