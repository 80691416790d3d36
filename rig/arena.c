/* arena.c: memory that is freed all at once, and stages of work that end when it runs out.

   Small allocations share chunks; large ones get their own. Arenas form a tree: a failure propagates to the root, where
   the stage catches it. */

#include "rig/memory.h"
#include "rig/clock.h"
#include "rig/escape.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include "rig/spill.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __wasm__
#include <sys/mman.h>
#endif

/* Under the address sanitizer every allocation is a malloc, with the sanitizer's guards around it, unless a test that
   counts allocations wants them to share chunks; then a guard follows each. Memory that an arena no longer holds is
   poisoned. */
#ifdef PELT_GUARDS
#include <sanitizer/asan_interface.h>
enum { GUARD = PELT_ALIGN };
bool pelt_arena_shares_chunks;
#else
enum { GUARD = 0, pelt_arena_shares_chunks = 1 };
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { CHUNK = 64 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size; /* of the data */
    char *data;        /* aligned, after the chunk */
    bool fresh;        /* never used, so still zero */
    enum { IN_MEMORY, ON_DISK, A_FILE } where;
} chunk;

struct pelt_arena {
    chunk *chunks; /* the first one has room */
    chunk *spare;  /* of emptied ones */
    size_t used, limit;
    bool failed;
    pelt_way_out *stage; /* of a root: how to leave when memory runs out; NULL: not at all */
    pelt_watch *watch;
    pelt_arena *parent, *children, *next, *previous;
};

pelt_arena *pelt_arena_new(size_t limit) {
    pelt_arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->limit = limit ? limit : SIZE_MAX;
    return arena;
}

pelt_arena *pelt_arena_inside(pelt_arena *parent) {
    pelt_arena *arena = pelt_arena_new(0);
    if (!arena) return pelt_arena_fail(parent), NULL;
    pelt_arena_adopt(parent, arena);
    return arena;
}

void pelt_arena_adopt(pelt_arena *parent, pelt_arena *arena) {
    arena->parent = parent;
    arena->next = parent->children;
    if (arena->next) arena->next->previous = arena;
    parent->children = arena;
}

static void free_chunks(chunk *list) {
    for (chunk *c = list, *next; c; c = next) {
        next = c->next;
        ASAN_UNPOISON_MEMORY_REGION(c->data, c->size);
        if (c->where == IN_MEMORY)
            pelt_spill_count(-(ptrdiff_t)c->size);
        else
            pelt_spill_free(c->data, c->size, c->where == ON_DISK);
        free(c);
    }
}

void pelt_arena_free(pelt_arena *arena) {
    if (!arena) return;
    while (arena->children) pelt_arena_free(arena->children);
    if (arena->next) arena->next->previous = arena->previous;
    if (arena->previous)
        arena->previous->next = arena->next;
    else if (arena->parent)
        arena->parent->children = arena->next;
    free_chunks(arena->chunks), free_chunks(arena->spare);
    free(arena);
}

/* Keeps its memory for the next allocations. */
static void empty(pelt_arena *arena) {
    if (!pelt_arena_shares_chunks) free_chunks(arena->chunks), arena->chunks = NULL;
    while (arena->chunks) {
        chunk *c = arena->chunks;
        arena->chunks = c->next;
        c->used = 0, c->fresh = false;
        ASAN_POISON_MEMORY_REGION(c->data, c->size);
        c->next = arena->spare;
        arena->spare = c;
    }
    arena->used = 0;
}

/* -- Progress ------------------------------------------------------------------------------------------------------ */

pelt_result pelt_stopped(pelt_error *error) { return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request"); }

void pelt_arena_watch(pelt_arena *arena, pelt_watch *watch) {
    if (arena) arena->watch = watch;
}

pelt_watch *pelt_arena_watched(const pelt_arena *arena) {
    while (arena && !arena->watch) arena = arena->parent;
    return arena && arena->watch->task && arena->watch->progress->step ? arena->watch : NULL;
}

bool pelt_next_task(pelt_arena *arena, const char *task, double low, double high, uint32_t loops) {
    while (arena && !arena->watch) arena = arena->parent;
    if (!arena) return false;
    pelt_watch *watch = arena->watch;
    watch->task = task, watch->low = watch->told = low, watch->high = high;
    watch->loops = loops ? loops : 1, watch->finished = 0;
    return pelt_watch_ask(watch);
}

bool pelt_watch_ask(pelt_watch *watch) {
    watch->asked = pelt_wall_seconds();
    if (!watch->stopped) watch->stopped = pelt_should_stop(watch->progress, watch->task, watch->told);
    return watch->stopped;
}

/* Where the work of this thread ends when it has to; in a loop, the watch of its stage, and whether it is the stage's own
   thread, which alone may ask. */
static _Thread_local pelt_arena *staged;
static _Thread_local pelt_watch *loop_watch;
static _Thread_local bool loop_asks;

bool pelt_watch_loop(pelt_watch *watch, bool asks) {
    if (watch && loop_watch) return false;
    loop_watch = watch, loop_asks = asks;
    return true;
}

void pelt_poll(void) {
    const double often_enough = 0.05;
    pelt_watch *watch = loop_watch ? loop_watch : pelt_arena_watched(staged);
    if (!watch || !staged) return;
    if ((!loop_watch || loop_asks) && pelt_wall_seconds() - watch->asked > often_enough) pelt_watch_ask(watch);
    if (watch->stopped) pelt_arena_fail(staged);
}

/* -- Failure ------------------------------------------------------------------------------------------------------- */

bool pelt_arena_failed(const pelt_arena *arena) { return !arena || arena->failed; }

void pelt_arena_fail(pelt_arena *arena) {
    if (!arena) return;
    arena->failed = true;
    if (arena->parent) pelt_arena_fail(arena->parent);
    if (arena->stage) pelt_escape(arena->stage);
}

void pelt_fail_stage(void) { pelt_arena_fail(staged); }

pelt_result pelt_no_memory(pelt_error *error) {
    const char *blame = pelt_spill_blame();
    return pelt_fail(error, PELT_ERROR_MEMORY, "%s%s", blame ? "not enough memory: " : "not enough memory",
                     blame ? blame : "");
}

typedef struct stage_call {
    pelt_stage_body body;
    void *user;
    pelt_error *error;
    pelt_arena *arena;
    pelt_result result;
} stage_call;

static void call_stage(void *user) {
    stage_call *c = user;
    c->result = c->body(c->user, c->error);
    if (pelt_blas_failed()) pelt_arena_fail(c->arena);
}

pelt_result pelt_stage(pelt_arena *arena, pelt_stage_body body, void *user, pelt_error *error) {
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    pelt_way_out here;
    stage_call call = {body, user, error, arena, PELT_ERROR_MEMORY};
    if (!pelt_blas_enter())
        return pelt_fail(
            error, PELT_ERROR_MEMORY,
            "not enough memory: linear algebra needs %d MB of address space, which the limit does not allow; "
            "raise it (ulimit -v)",
            PELT_BLAS_MEGABYTES);
    pelt_arena *outer = staged;
    arena->stage = &here, staged = arena;
    pelt_escapable(&here, call_stage, &call);
    arena->stage = NULL, staged = outer;
    pelt_blas_leave();
    const pelt_watch *watch = pelt_arena_watched(arena);
    if (watch && watch->stopped) return pelt_stopped(error);
    return arena->failed ? pelt_no_memory(error) : call.result;
}

/* -- Allocation ---------------------------------------------------------------------------------------------------- */

/* Whether the last failed allocation in this thread exceeded its arena's limit. */
static _Thread_local bool beyond_limit;

bool pelt_memory_was_limited(void) { return beyond_limit; }

bool pelt_memory_is_there(size_t bytes) {
#ifdef __wasm__ /* has no mmap, and malloc touches nothing of what is new */
    void *room = malloc(bytes);
    free(room);
    return room != NULL;
#else
    if (pelt_spill_wanted(bytes)) return pelt_spill_room() > bytes;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && !munmap(room, bytes);
#endif
}

/* calloc knows when memory comes zeroed from the system: the bytes of a large file are then first touched by the read,
   not by a memset. */
static chunk *chunk_new(size_t size) {
    bool spills = pelt_spill_wanted(size);
    chunk *c = calloc(1, sizeof(chunk) + (spills ? 0 : PELT_ALIGN + size));
    if (!c) return NULL;
    char *behind = (char *)(c + 1);
    size_t step = (PELT_ALIGN - (uintptr_t)behind % PELT_ALIGN) % PELT_ALIGN;
    *c = (chunk){NULL, 0, size, spills ? pelt_spill_new(size) : behind + step, true, spills ? ON_DISK : IN_MEMORY};
    if (!c->data) return free(c), NULL;
    if (!spills) pelt_spill_count((ptrdiff_t)size);
    ASAN_POISON_MEMORY_REGION(c->data, c->size);
    return c;
}

/* A chunk with room, from the emptied ones or from the system. */
static chunk *chunk_for(pelt_arena *arena, size_t bytes) {
    for (chunk **link = &arena->spare; *link; link = &(*link)->next) {
        chunk *c = *link;
        if (c->size < bytes || c->where == A_FILE) continue;
        *link = c->next;
        return c;
    }
    return chunk_new(bytes > CHUNK / 4 || !pelt_arena_shares_chunks ? bytes : CHUNK);
}

static void *allocate(pelt_arena *arena, size_t count, size_t size) {
    size_t wanted;
    beyond_limit = true;
    if (__builtin_mul_overflow(count, size, &wanted) || wanted > SIZE_MAX - 4 * PELT_ALIGN - GUARD) return NULL;
    size_t bytes = wanted ? pelt_round_up(wanted) : PELT_ALIGN, guarded = bytes + GUARD;
    beyond_limit = bytes > arena->limit - arena->used;
    if (beyond_limit) return NULL;
    chunk *c = arena->chunks;
    if (!c || !pelt_arena_shares_chunks || c->size - c->used < guarded) {
        c = chunk_for(arena, guarded);
        if (!c) return NULL;
        if (c->size == guarded && arena->chunks) { /* keep the chunk with room in front */
            c->next = arena->chunks->next;
            arena->chunks->next = c;
        } else {
            c->next = arena->chunks;
            arena->chunks = c;
        }
    }
    void *memory = c->data + c->used;
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    if (!c->fresh) memset(memory, 0, bytes);
    ASAN_POISON_MEMORY_REGION((char *)memory + wanted, bytes - wanted);
    c->used += guarded;
    arena->used += bytes;
    return memory;
}

const void *pelt_arena_map_file(pelt_arena *arena, int descriptor, size_t size) {
    chunk *c = pelt_arena_failed(arena) || size > arena->limit - arena->used ? NULL : calloc(1, sizeof *c);
    void *bytes = c ? pelt_spill_map(descriptor, size) : NULL;
    if (!bytes) return free(c), NULL;
    *c = (chunk){.used = size, .size = size, .data = bytes, .where = A_FILE};
    c->next = arena->chunks ? arena->chunks->next : NULL; /* keep the chunk with room in front */
    *(arena->chunks ? &arena->chunks->next : &arena->chunks) = c;
    arena->used += size;
    return bytes;
}

void *pelt_alloc(pelt_arena *arena, size_t count, size_t size) {
    const pelt_arena *own = arena;
    while (own && own != staged) own = own->parent;
    if (own) pelt_poll();
    void *memory = pelt_arena_failed(arena) || pelt_spill_blame() ? NULL : allocate(arena, count, size);
    if (!memory) pelt_arena_fail(arena);
    return memory;
}

char *pelt_arena_format(pelt_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : PELT_NEW(arena, (size_t)length + 1, char);
    if (!text) return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t pelt_arena_used(const pelt_arena *arena) { return arena->used; }

void pelt_arena_raise_limit(pelt_arena *arena, size_t more) {
    if (!arena) return;
    arena->failed = false;
    arena->limit = more > SIZE_MAX - arena->limit ? SIZE_MAX : arena->limit + more;
}

/* -- Bytes for callers --------------------------------------------------------------------------------------------- */

pelt_bytes *pelt_bytes_new(size_t size) {
    size_t room = size > SIZE_MAX - 2 * PELT_ALIGN ? 0 : (size / PELT_ALIGN + 1) * PELT_ALIGN;
    pelt_bytes *out = malloc(sizeof *out);
    void *bytes = room ? aligned_alloc(PELT_ALIGN, room) : NULL;
    if (!out || !bytes) return free(out), free(bytes), NULL;
    memset(bytes, 0, room);
    *out = (pelt_bytes){bytes, size};
    return out;
}

void pelt_bytes_free(pelt_bytes *bytes) {
    if (!bytes) return;
    free(bytes->bytes);
    free(bytes);
}

/* -- One call of a parallel loop ----------------------------------------------------------------------------------- */

typedef struct loop_call {
    pelt_loop_body body;
    void *user;
    size_t i;
    pelt_arena *scratch;
} loop_call;

static void call_loop(void *user) {
    loop_call *c = user;
    pelt_poll();
    c->body(c->user, c->i, c->scratch);
    if (pelt_blas_failed()) pelt_arena_fail(c->scratch);
}

static _Thread_local unsigned calls;

bool pelt_in_loop(void) { return calls > 0; }

bool pelt_arena_call(pelt_arena *scratch, pelt_loop_body body, void *user, size_t i) {
    pelt_way_out here;
    if (pelt_arena_failed(scratch)) return false;
    pelt_arena *outer = staged;
    loop_call call = {body, user, i, scratch};
    scratch->stage = &here, staged = scratch;
    calls++;
    pelt_escapable(&here, call_loop, &call);
    calls--;
    scratch->stage = NULL, staged = outer;
    empty(scratch);
    while (scratch->children) pelt_arena_free(scratch->children);
    return !scratch->failed;
}
