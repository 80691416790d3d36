/* allocations.h: counts allocations. The linker sends every call of these to the functions below, for the programs that
   test/CMakeLists.txt names. */

#ifndef PELT_TEST_ALLOCATIONS_H
#define PELT_TEST_ALLOCATIONS_H

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static _Atomic int allocations; /* loops allocate in every thread */

void *__wrap_malloc(size_t size) { return allocations++, __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return allocations++, __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return allocations++, __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return allocations++, __real_aligned_alloc(alignment, size);
}

#endif
