/* spill.c: memory under a limit.

   Linear algebra takes its share of the limit, for each thread. A third of the rest is for what stays in memory. Beyond it, a large allocation is a file that is unlinked from the
   start, so nothing is left however the program ends; its room on the disk is taken at once, since a mapped page that
   finds the disk full would kill the program instead of failing. A file costs no descriptor once it is mapped.

   The other two thirds are for pages of these files and of mapped caches. A warden looks every few milliseconds how much is
   resident, and unmaps those pages when it is more than the limit: they stay in the system's cache while there is room,
   and come back from there or from the disk when they are touched. */

#define _GNU_SOURCE /* O_TMPFILE */
#include "rig/spill.h"
#include "rig/linear.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __wasm__ /* has no disk to spill to */

pelt_result pelt_limit_memory(size_t bytes, const char *folder, pelt_error *error) {
    (void)folder;
    return bytes ? pelt_fail(error, PELT_ERROR_UNSUPPORTED, "memory cannot be limited on this system") : PELT_OK;
}
size_t pelt_memory_limit(void) { return 0; }
const char *pelt_spill_folder(void) { return ""; }
int pelt_memory_threads(int wanted) { return wanted; }
size_t pelt_machine_memory(void) { return (size_t)1 << 31; }
size_t pelt_spilled(size_t *most) { return *most = 0; }
size_t pelt_spill_room(void) { return 0; }
size_t pelt_spill_share(void) { return 0; }
void pelt_spill_beyond(size_t share) { (void)share; }
void pelt_spill_count(ptrdiff_t bytes) { (void)bytes; }
bool pelt_spill_wanted(size_t bytes) { return (void)bytes, false; }
void *pelt_spill_new(size_t bytes) { return (void)bytes, NULL; }
void *pelt_spill_map(int descriptor, size_t bytes) { return (void)descriptor, (void)bytes, NULL; }
void pelt_spill_free(void *memory, size_t bytes, bool owned) { (void)memory, (void)bytes, (void)owned; }
const char *pelt_spill_blame(void) { return NULL; }

#else

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { TMPFS = 0x01021994, WARDEN_SLEEP = 1000 /* microseconds */, TOO_LONG = 1000 /* looks in a row */ };

typedef struct stretch {
    void *memory;
    size_t bytes;
} stretch;

static struct {
    atomic_size_t limit, share; /* of arenas */
    char folder[4096];
    atomic_size_t taken;   /* by arenas, in memory */
    atomic_size_t missing; /* bytes that did not fit on the disk */
    atomic_size_t needed;  /* memory that is there, though all pages were given back; 0: less than the limit */
    pthread_mutex_t lock;  /* of what follows */
    stretch *list;         /* all mapped memory */
    size_t count, room, spilled, most;
    bool watched;
    atomic_int missing_why;
    char blame[4400];
} spill = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- The limit ------------------------------------------------------------------------------------------------------ */

/* A number in a file, or `otherwise`: "max" is none. */
static size_t number_in(const char *path, size_t otherwise) {
    FILE *file = fopen(path, "r");
    unsigned long long number = 0;
    if (!file) return otherwise;
    if (fscanf(file, "%llu", &number) != 1 || !number || number > SIZE_MAX) number = otherwise;
    fclose(file);
    return (size_t)number;
}

size_t pelt_machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
    /* Where groups have a view of their own, as in containers and batch jobs, theirs is at the root. */
    size_t group = number_in("/sys/fs/cgroup/memory.max", SIZE_MAX);
    size_t older = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", SIZE_MAX);
    group = older < group ? older : group;
    return group < all ? group : all;
}

size_t pelt_memory_limit(void) { return spill.limit; }

const char *pelt_spill_folder(void) { return spill.folder; }

/* A file without a name, open for reading and writing; -1: errno says why not. */
static int open_unnamed(void) {
    int descriptor = open(spill.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
    char path[sizeof spill.folder + 20];
    snprintf(path, sizeof path, "%s/pelt-XXXXXX", spill.folder);
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0) unlink(path);
    return descriptor;
}

pelt_result pelt_limit_memory(size_t bytes, const char *folder, pelt_error *error) {
    struct statfs status;
    if (!bytes) {
        spill.limit = 0;
        return PELT_OK;
    }
    if (bytes < PELT_LEAST_MEMORY)
        return pelt_fail_option(error, "memory", "%zu bytes are too few; the least that works is %zuM", bytes,
                                PELT_LEAST_MEMORY >> 20);
    if (!folder || snprintf(spill.folder, sizeof spill.folder, "%s", folder) >= (int)sizeof spill.folder)
        return pelt_fail_option(error, "scratch", "the name of the folder is missing, or too long");
    int descriptor = open_unnamed();
    if (descriptor < 0)
        return pelt_fail_option(error, "scratch", "cannot create a file in %s: %s", folder, strerror(errno));
    close(descriptor);
    if (!statfs(folder, &status) && status.f_type == TMPFS)
        return pelt_fail_option(error, "scratch", "%s is itself in memory (tmpfs); name a folder on a disk", folder);
    spill.limit = bytes;
    int threads = pelt_memory_threads((int)sysconf(_SC_NPROCESSORS_ONLN));
    spill.share = (bytes - ((size_t)threads * PELT_BLAS_MEGABYTES << 20)) / 3;
    spill.missing = 0;
    spill.needed = 0;
    spill.most = spill.spilled;
    return PELT_OK;
}

size_t pelt_spill_share(void) { return spill.share; }

void pelt_spill_beyond(size_t share) { spill.share = share; }

int pelt_memory_threads(int wanted) {
    const size_t each = (size_t)2 * PELT_BLAS_MEGABYTES << 20; /* as much for its data */
    size_t most = spill.limit / each;
    return !spill.limit || most > (size_t)wanted ? wanted : most ? (int)most : 1;
}

void pelt_spill_count(ptrdiff_t bytes) { spill.taken += (size_t)bytes; }

bool pelt_spill_wanted(size_t bytes) {
    return spill.limit && bytes >= PELT_LEAST_SPILL && spill.taken + bytes > spill.share;
}

size_t pelt_spilled(size_t *most) {
    pthread_mutex_lock(&spill.lock);
    size_t now = spill.spilled;
    *most = spill.most;
    pthread_mutex_unlock(&spill.lock);
    return now;
}

size_t pelt_spill_room(void) {
    struct statvfs status;
    return statvfs(spill.folder, &status) ? 0 : (size_t)status.f_bavail * status.f_frsize;
}

const char *pelt_spill_blame(void) {
    size_t missing = spill.missing, needed = spill.needed;
    if (!missing && !needed) return NULL;
    pthread_mutex_lock(&spill.lock);
    if (missing)
        snprintf(spill.blame, sizeof spill.blame,
                 "%s: cannot hold the %.0f MB that do not fit into memory: %s; make room, name another folder "
                 "(--scratch), or allow more memory (--memory)",
                 spill.folder, (double)missing * 1e-6, strerror(spill.missing_why));
    else
        snprintf(spill.blame, sizeof spill.blame,
                 "the memory limit of %zu MiB is too small: %zu MiB of this work cannot be moved to disk; %zuM would "
                 "be enough so far (--memory)",
                 spill.limit >> 20, needed >> 20, (needed + needed / 2) / (1 << 20) + 1);
    pthread_mutex_unlock(&spill.lock);
    return spill.blame;
}

/* -- The warden ------------------------------------------------------------------------------------------------------ */

static size_t resident(int statm) {
    char text[100];
    unsigned long long pages;
    ssize_t length = pread(statm, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    return sscanf(text, "%*u %llu", &pages) == 1 ? (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static void *watch(void *nothing) {
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    for (unsigned too_much = 0;;) {
        usleep(WARDEN_SLEEP);
        /* Pages are given back before the limit is met, since more of them come while they are counted. */
        if (!spill.limit || resident(statm) < spill.limit - spill.limit / 4) {
            too_much = 0;
            continue;
        }
        pthread_mutex_lock(&spill.lock);
        for (size_t i = 0; i < spill.count; i++) madvise(spill.list[i].memory, spill.list[i].bytes, MADV_DONTNEED);
        pthread_mutex_unlock(&spill.lock);
        size_t left = resident(statm);
        too_much = left > spill.limit ? too_much + 1 : 0;
        if (too_much > TOO_LONG) spill.needed = left;
    }
    return nothing;
}

/* True if this memory is watched from now on. */
static bool watch_stretch(void *memory, size_t bytes, bool owned) {
    bool done = true;
    pthread_mutex_lock(&spill.lock);
    if (spill.count == spill.room) {
        size_t room = spill.room ? 2 * spill.room : 64;
        stretch *list = realloc(spill.list, room * sizeof *list);
        if (list) spill.list = list, spill.room = room;
        done = list != NULL;
    }
    if (done) {
        spill.list[spill.count++] = (stretch){memory, bytes};
        if (owned) spill.spilled += bytes;
        if (spill.spilled > spill.most) spill.most = spill.spilled;
    }
    if (done && !spill.watched) {
        pthread_t warden;
#ifdef M_MMAP_THRESHOLD /* or the C library would keep what it is given back, up to 32 MB each */
        mallopt(M_MMAP_THRESHOLD, (int)PELT_LEAST_SPILL);
#endif
        spill.watched = !pthread_create(&warden, NULL, watch, NULL) && !pthread_detach(warden);
    }
    pthread_mutex_unlock(&spill.lock);
    return done;
}

static void forget_stretch(const void *memory, size_t bytes, bool owned) {
    pthread_mutex_lock(&spill.lock);
    size_t i = 0;
    while (i < spill.count && spill.list[i].memory != memory) i++;
    if (i < spill.count) spill.list[i] = spill.list[--spill.count];
    if (owned) spill.spilled -= bytes;
    pthread_mutex_unlock(&spill.lock);
}

/* -- Mapped memory --------------------------------------------------------------------------------------------------- */

static void *map(int descriptor, size_t bytes, bool owned) {
    int protection = owned ? PROT_READ | PROT_WRITE : PROT_READ;
    void *memory = mmap(NULL, bytes, protection, owned ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) return NULL;
    if (watch_stretch(memory, bytes, owned)) return memory;
    munmap(memory, bytes);
    return NULL;
}

void *pelt_spill_new(size_t bytes) {
    int descriptor = open_unnamed();
    int why = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, (off_t)bytes);
    void *memory = why ? NULL : map(descriptor, bytes, true);
    if (why) {
        spill.missing_why = why;
        spill.missing += bytes;
    }
    if (descriptor >= 0) close(descriptor);
    return memory;
}

void *pelt_spill_map(int descriptor, size_t bytes) { return map(descriptor, bytes, false); }

void pelt_spill_free(void *memory, size_t bytes, bool owned) {
    forget_stretch(memory, bytes, owned);
    munmap(memory, bytes);
}

#endif
