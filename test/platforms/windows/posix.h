/* posix.h: included first in tests on Windows: what its C library lacks. It has no aligned_alloc, and its free cannot
   free what _aligned_malloc gives. */

#include <stdlib.h>
#include <string.h>

void *aligned_alloc(size_t alignment, size_t size); /* for those who wrap it */
char *_mktemp(char *path);

static inline void *test_zeros(size_t count, size_t size) {
    void *memory = size && count > (size_t)-1 / size ? NULL : _aligned_malloc(count * size, 16);
    return memory ? memset(memory, 0, count * size) : NULL;
}

#define malloc(size) _aligned_malloc(size, 16)
#define calloc(count, size) test_zeros(count, size)
#define realloc(memory, size) _aligned_realloc(memory, size, 16)
#define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define posix_memalign(memory, alignment, size) (*(memory) = _aligned_malloc(size, alignment), !*(memory))
#define free(memory) _aligned_free(memory)
#define mkdtemp(path) _mktemp(path)
