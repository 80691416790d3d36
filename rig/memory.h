/* memory.h: shared by arena.c, the loops, and what maps files. */

#ifndef PELT_MEMORY_H
#define PELT_MEMORY_H

#include "rig/rig.h"

/* Calls body(user, i, scratch) and empties the scratch. False if memory ran out. */
bool pelt_arena_call(pelt_arena *scratch, pelt_loop_body body, void *user, size_t i);

/* Whether this thread is within a call of a loop. */
bool pelt_in_loop(void);

/* The bytes of a file, mapped to be read only; they belong to the arena. NULL if that is not possible, which is no
   failure of the arena. */
const void *pelt_arena_map_file(pelt_arena *arena, int descriptor, size_t size);

/* Ends the stage, or the call of a loop, that this thread is in, for want of memory. */
void pelt_fail_stage(void);

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
