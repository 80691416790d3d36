/* ranks.h: one program on several machines.

   Every rank runs the whole program on the same files, so all of them know everything and decide alike. Only loops that
   take long are divided: each rank makes its share of the results and then gets those of the others. So the result has
   the same bytes for any number of ranks, as for any number of threads, and nothing has to be summed in another order.
   How bytes get from rank to rank is not known here: the program brings it along (cli/mpi.c). */

#ifndef PELT_RANKS_H
#define PELT_RANKS_H

#include "rig/rig.h"

typedef struct pelt_ranks {
    uint32_t rank, count;
    void *user;
    /* Rank r has bytes[ends[r - 1]] to bytes[ends[r] - 1]; afterwards every rank has all of them. */
    void (*gather)(void *user, void *bytes, const size_t *ends);
    /* Every rank gets the exclusive or of the bytes of all. */
    void (*combine)(void *user, void *bytes, size_t size);
    /* Ends all ranks with this sentence, told by one of them. Does not return. */
    void (*refuse)(void *user, const char *sentence);
} pelt_ranks;

/* NULL: this process works alone, as before the first call. The struct is copied. */
void pelt_use_ranks(const pelt_ranks *ranks);
uint32_t pelt_rank(void);
uint32_t pelt_rank_count(void);

/* Where the results of a loop's calls are. Those of call i are one of
     - `size` bytes from base + i * size on; `total`: bytes of all calls, 0: all of them have `size`;
     - with an index, `per` elements of `size` bytes, index[i * per] and those after it; `total`: elements of all calls;
     - with size 0, anywhere in `total` bytes that were the same on all ranks before. */
typedef struct pelt_made {
    void *base;
    size_t size, total;
    const uint32_t *index;
    uint32_t per;
} pelt_made;

/* pelt_parallel over all ranks: call i is made by one of them, and then all have its results, which are these rows and
   nothing else. On one rank, and within another loop, it is pelt_parallel. */
bool pelt_spread(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user, size_t row_count,
                 const pelt_made *rows);
#define PELT_SPREAD(arena, threads, count, body, user, ...)                                                            \
    pelt_spread((arena), (threads), (count), (body), (user), sizeof((pelt_made[]){__VA_ARGS__}) / sizeof(pelt_made),   \
                (pelt_made[]){__VA_ARGS__})

/* The share of this rank in so many calls: from *begin to *end - 1. */
void pelt_rank_share(size_t count, size_t *begin, size_t *end);
/* Gives all ranks what each has made of its share. */
void pelt_rank_exchange(size_t count, size_t row_count, const pelt_made *rows);
/* Gives all ranks what the first one has: figures that no two machines, and no two runs, measure alike. */
void pelt_rank_first(void *bytes, size_t size);
/* Returns when all ranks have called it. */
void pelt_rank_wait(void);

/* Something that all ranks must have seen alike, in any order: files and options. Compared when they next exchange
   something. */
void pelt_rank_note(const void *bytes, size_t size);
/* A hash of all that was noted. */
uint64_t pelt_rank_notes(void);

/* -- Checkpoints --------------------------------------------------------------------------------------------------- */

/* Results of loops, kept by number, so that work that was ended goes on: what is there is not computed again. All that
   is not in a divided loop is, so the result has the same bytes. */
typedef struct pelt_journal {
    void *user;
    /* The bytes of loop `number`, if they are the next; false: they are not there. */
    bool (*get)(void *user, uint64_t number, void *bytes, size_t size);
    void (*put)(void *user, uint64_t number, const void *bytes, size_t size);
} pelt_journal;

/* On all ranks; only the first one's is used. NULL: none. The struct is copied. */
void pelt_use_journal(const pelt_journal *journal);

/* Only the first rank writes files, except while these are kept: results of single calls, by whoever made them. */
bool pelt_rank_writes(void);
void pelt_rank_keeps(bool keeps);

#endif
