/* memory.h: shared by arena.c and parallel.c. */

#ifndef PELT_MEMORY_H
#define PELT_MEMORY_H

#include "rig/rig.h"

/* Calls body(user, i, scratch) and empties the scratch. False if memory ran out. */
bool pelt_arena_call(pelt_arena *scratch, pelt_loop_body body, void *user, size_t i);

/* The watch of an arena, or NULL. */
pelt_watch *pelt_arena_watched(const pelt_arena *arena);
/* Tells its progress how far the work is; true if it should stop, or should have. */
bool pelt_watch_ask(pelt_watch *watch);
/* This thread works in a loop of a watched stage; NULL: no longer. False if it did already, and nothing changes. */
bool pelt_watch_loop(pelt_watch *watch, bool asks);

#ifdef PELT_GUARDS
extern bool pelt_arena_shares_chunks; /* false: every allocation is a malloc */
#endif

#endif
