/* arena.c: memory that is freed all at once. Small allocations share chunks; large ones have a chunk of their own. */

#include "rig/rig.h"
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 64 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size; /* of the data */
    char *data;        /* aligned, behind the chunk */
} chunk;

struct pelt_arena {
    chunk *chunks; /* the first one is the one with room */
    size_t used, limit;
};

pelt_arena *pelt_arena_new(size_t limit) {
    pelt_arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->limit = limit ? limit : SIZE_MAX;
    return arena;
}

void pelt_arena_free(pelt_arena *arena) {
    if (!arena) return;
    for (chunk *c = arena->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

/* calloc knows when memory is fresh from the system and zero already: the bytes of a large file are then touched first
   by the read, not by a memset before it. */
static chunk *chunk_new(size_t size) {
    chunk *c = calloc(1, sizeof(chunk) + PELT_ALIGN + size);
    if (!c) return NULL;
    char *behind = (char *)(c + 1);
    size_t step = (PELT_ALIGN - (uintptr_t)behind % PELT_ALIGN) % PELT_ALIGN;
    *c = (chunk){NULL, 0, size, behind + step};
    return c;
}

void *pelt_alloc(pelt_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 4 * PELT_ALIGN) return NULL;
    bytes = bytes ? (bytes + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN : PELT_ALIGN;
    if (bytes > arena->limit - arena->used) return NULL;
    chunk *c = arena->chunks;
    if (!c || c->size - c->used < bytes) {
        bool large = bytes > CHUNK / 4;
        c = chunk_new(large ? bytes : CHUNK);
        if (!c) return NULL;
        if (large && arena->chunks) { /* keep the chunk with room in front */
            c->next = arena->chunks->next;
            arena->chunks->next = c;
        } else {
            c->next = arena->chunks;
            arena->chunks = c;
        }
    }
    void *memory = c->data + c->used;
    c->used += bytes;
    arena->used += bytes;
    return memory;
}

char *pelt_arena_format(pelt_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : PELT_NEW(arena, char, (size_t)length + 1);
    if (!text) return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t pelt_arena_used(const pelt_arena *arena) { return arena->used; }

void pelt_arena_raise_limit(pelt_arena *arena, size_t more) {
    arena->limit = more > SIZE_MAX - arena->limit ? SIZE_MAX : arena->limit + more;
}
