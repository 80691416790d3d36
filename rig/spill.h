/* spill.h: more memory than the machine has.

   Under a limit, large allocations of arenas are files without a name in a scratch folder, mapped into memory, and large
   caches are mapped where they lie. What computes cannot tell the difference, so results have the same bytes; the
   kernel's page is the tile. Pages that are mapped are given back whenever the program takes more than its limit. */

#ifndef PELT_SPILL_H
#define PELT_SPILL_H

#include "rig/rig.h"

/* The least limit: the program, linear algebra on one thread, and some room for data. */
#define PELT_LEAST_MEMORY ((size_t)320 << 20)

/* Allocations from this size on may spill. */
#define PELT_LEAST_SPILL ((size_t)1 << 20)

/* Limits the memory of this program from now on; `folder`, which has to be on a disk, takes what does not fit. 0 bytes:
   no limit, as before the first call. Not while other threads work. */
pelt_result pelt_limit_memory(size_t bytes, const char *folder, pelt_error *error);

/* The limit, 0: none; and its folder. */
size_t pelt_memory_limit(void);
const char *pelt_spill_folder(void);

/* How many threads it allows, of so many: each may take PELT_BLAS_MEGABYTES in linear algebra. */
int pelt_memory_threads(int wanted);

/* What this machine, or the group of processes that this one belongs to, may use. */
size_t pelt_machine_memory(void);

/* Bytes that are on disk now, and the most so far. */
size_t pelt_spilled(size_t *most);

/* How much arenas may keep in memory under the limit. */
size_t pelt_spill_share(void);
/* For tests: another share. */
void pelt_spill_beyond(size_t share);

/* Bytes that are free in the folder. */
size_t pelt_spill_room(void);

/* -- For arena.c --------------------------------------------------------------------------------------------------- */

/* Counts memory that was taken (negative: given back). */
void pelt_spill_count(ptrdiff_t bytes);
/* Whether this much more should be on disk. */
bool pelt_spill_wanted(size_t bytes);
/* Zeroed memory on disk; NULL if there is no room. */
void *pelt_spill_new(size_t bytes);
/* A file, to be read only; NULL if it cannot be mapped. */
void *pelt_spill_map(int descriptor, size_t bytes);
/* Gives either of them back; `owned`: it was made by pelt_spill_new. */
void pelt_spill_free(void *memory, size_t bytes, bool owned);
/* Why there was no memory, if a limit or its disk is to blame; NULL: it is not. */
const char *pelt_spill_blame(void);

#endif
