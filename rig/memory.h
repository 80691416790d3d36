/* memory.h: what arena.c and parallel.c know of each other. */

#ifndef PELT_MEMORY_H
#define PELT_MEMORY_H

#include "rig/rig.h"

/* Makes an arena empty, but keeps its memory for the next allocations. */
void pelt_arena_empty(pelt_arena *arena);

/* Calls body(user, i, scratch) and empties the scratch. False when memory ran out in it. */
bool pelt_arena_call(pelt_arena *scratch, pelt_loop_body body, void *user, size_t i);

/* Who watches an arena; NULL: nobody. */
pelt_watch *pelt_arena_watched(const pelt_arena *arena);

#ifdef PELT_GUARDS
extern bool pelt_arena_shares_chunks; /* false: every allocation is one of malloc */
#endif

#endif
