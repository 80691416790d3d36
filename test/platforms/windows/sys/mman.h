/* mman.h: rig/arena.c asks for address space by mmap; tests on Windows have enough. */

#include <stddef.h>

#define PROT_READ 0
#define PROT_WRITE 0
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_FAILED NULL
#define mmap(address, size, protection, flags, file, offset) ((void)(size), (void *)"room")
#define munmap(memory, size) 0
