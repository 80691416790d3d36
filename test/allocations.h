/* allocations.h: counts allocations, and makes them fail. The linker redirects every call to the functions below, for
   the programs listed in test/CMakeLists.txt. */

#ifndef PELT_TEST_ALLOCATIONS_H
#define PELT_TEST_ALLOCATIONS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "rig/memory.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static _Atomic int allocations;            /* loops allocate in every thread */
static _Atomic long allocations_left = -1; /* this many succeed; negative: all */
static _Atomic bool allocations_fail_once; /* only the next one after those fails */
static _Atomic bool allocations_failed;

static bool runs_out(void) {
    allocations++;
    long left = allocations_left; /* exactly one of several threads takes each step */
    while (left > 0 && !atomic_compare_exchange_weak(&allocations_left, &left, left - 1)) continue;
    if (left != 0) return false;
    if (allocations_fail_once && !atomic_compare_exchange_strong(&allocations_left, &left, -1)) return false;
    allocations_failed = true;
    errno = ENOMEM;
    return true;
}

/* Makes allocation `allowed` + 1 fail, with all that follow it or alone. */
static inline void allocations_begin(long allowed, bool once) {
#ifdef PELT_GUARDS
    pelt_arena_shares_chunks = true; /* as for users: far fewer */
#endif
    allocations_fail_once = once;
    allocations_failed = false;
    allocations_left = allowed;
}

/* All succeed again; false if none has failed. */
static inline bool allocations_end(void) {
    allocations_left = -1;
    return allocations_failed;
}

void *__wrap_malloc(size_t size) { return runs_out() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return runs_out() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return runs_out() ? NULL : __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return runs_out() ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
