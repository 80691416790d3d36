/* allocations.h: counts allocations, and lets them fail. The linker sends every call of these to the functions below, for
   the programs that test/CMakeLists.txt names. */

#ifndef PELT_TEST_ALLOCATIONS_H
#define PELT_TEST_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static _Atomic int allocations;            /* loops allocate in every thread */
static _Atomic long allocations_left = -1; /* so many succeed; negative: all */

static bool runs_out(void) {
    allocations++;
    if (allocations_left > 0)
        allocations_left--;
    else if (allocations_left == 0)
        return true;
    return false;
}

void *__wrap_malloc(size_t size) { return runs_out() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return runs_out() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return runs_out() ? NULL : __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return runs_out() ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
