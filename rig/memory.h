/* memory.h: shared by arena.c and parallel.c. */

#ifndef PELT_MEMORY_H
#define PELT_MEMORY_H

#include "rig/rig.h"

/* Empties an arena, but keeps its memory for the next allocations. */
void pelt_arena_empty(pelt_arena *arena);

/* Calls body(user, i, scratch) and empties the scratch. False if memory ran out. */
bool pelt_arena_call(pelt_arena *scratch, pelt_loop_body body, void *user, size_t i);

/* The watch of an arena, or NULL. */
pelt_watch *pelt_arena_watched(const pelt_arena *arena);

#ifdef PELT_GUARDS
extern bool pelt_arena_shares_chunks; /* false: every allocation is a malloc */
#endif

#endif
