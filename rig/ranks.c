/* ranks.c: loops that are divided among ranks, and whose results can be kept. Before each exchange the ranks compare what they have seen and are about to
   do: those that differ would wait for each other for ever, or agree on nonsense. */

#include "rig/ranks.h"
#include "rig/clock.h"
#include "rig/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 65536, MOST_ROWS = 16 };

static pelt_ranks all = {.count = 1};
static _Atomic uint64_t seen; /* a sum of hashes: in any order */
static uint64_t exchanges;
static bool keeping;
static pelt_journal journal;
static bool journaling;
static uint64_t loops; /* since the journal is used */

void pelt_use_ranks(const pelt_ranks *ranks) {
    all = ranks && ranks->count > 1 && ranks->count <= MOST_RANKS ? *ranks : (pelt_ranks){.count = 1};
    exchanges = 0;
}

uint32_t pelt_rank(void) { return all.rank; }

uint32_t pelt_rank_count(void) { return all.count; }

/* 64-bit FNV hash. */
static uint64_t hash_of(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

void pelt_rank_note(const void *bytes, size_t size) { seen += hash_of(0xcbf29ce484222325u, bytes, size); }

uint64_t pelt_rank_notes(void) { return seen; }

void pelt_use_journal(const pelt_journal *used) {
    journaling = used != NULL;
    if (used) journal = *used;
    loops = 0;
}

bool pelt_rank_writes(void) { return !all.rank || keeping; }

void pelt_rank_keeps(bool keeps) { keeping = keeps; }

static size_t share_end(size_t count, uint32_t rank) {
    return (size_t)((unsigned __int128)count * (rank + 1) / all.count);
}

void pelt_rank_share(size_t count, size_t *begin, size_t *end) {
    *begin = all.rank ? share_end(count, all.rank - 1) : 0;
    *end = share_end(count, all.rank);
}

/* Without memory this rank ends the stage, or else the program. */
static void *room_for(size_t size) {
    void *room = malloc(size ? size : 1);
    if (!room) pelt_fail_stage();
    if (!room && all.refuse) all.refuse(all.user, "not enough memory");
    if (!room) abort();
    return room;
}

/* Ends the program if ranks differ. */
static void agree(size_t count, size_t row_count, const pelt_made *rows) {
    uint64_t *hashes = room_for(all.count * sizeof *hashes), mine[] = {seen, exchanges++, count, row_count};
    size_t *ends = room_for(all.count * sizeof *ends);
    char sentence[300];
    uint64_t hash = hash_of(0xcbf29ce484222325u, mine, sizeof mine);
    for (size_t r = 0; r < row_count; r++) {
        uint64_t row[] = {rows[r].size, rows[r].total};
        hash = hash_of(hash, row, sizeof row);
    }
    hashes[all.rank] = hash;
    for (uint32_t r = 0; r < all.count; r++) ends[r] = (r + 1) * sizeof *hashes;
    all.gather(all.user, hashes, ends);
    uint32_t other = 0;
    while (other < all.count && hashes[other] == hashes[0]) other++;
    if (other < all.count) {
        snprintf(sentence, sizeof sentence,
                 "rank %u does not do the same work as rank 0: their versions of pelt, options, files or processors "
                 "differ; make them the same",
                 other);
        all.refuse(all.user, sentence);
    }
    free(hashes), free(ends);
}

/* Packs elements by their index, or unpacks them. */
static void pack(const pelt_made *row, size_t begin, size_t end, char *packed, bool back) {
    for (size_t i = begin; i < end; i++, packed += row->size) {
        char *element = (char *)row->base + row->index[i] * row->size;
        memcpy(back ? element : packed, back ? packed : element, row->size);
    }
}

/* The bytes of a row that a rank makes end here. */
static size_t row_end(const pelt_made *row, size_t count, uint32_t rank) {
    size_t each = row->index ? row->per * row->size : row->size, end = share_end(count, rank) * each;
    size_t total = !row->total ? each * count : row->index ? row->total * row->size : row->total;
    return end < total ? end : total;
}

static size_t row_begin(const pelt_made *row, size_t count, uint32_t rank) {
    return rank ? row_end(row, count, rank - 1) : 0;
}

static void exchange(const pelt_made *row, size_t count) {
    if (!row->size) return;
    size_t *ends = room_for(all.count * sizeof *ends), begin = row_begin(row, count, all.rank);
    for (uint32_t r = 0; r < all.count; r++) ends[r] = row_end(row, count, r);
    size_t total = ends[all.count - 1];
    char *packed = row->index ? room_for(total) : NULL;
    if (packed) pack(row, begin / row->size, ends[all.rank] / row->size, packed + begin, false);
    all.gather(all.user, packed ? packed : row->base, ends);
    if (packed) pack(row, 0, total / row->size, packed, true);
    free(packed), free(ends);
}

/* What a rank makes of all rows, to or from one stretch of bytes; returns its end. */
static char *pack_share(size_t count, size_t row_count, const pelt_made *rows, uint32_t rank, char *packed, bool back) {
    for (size_t r = 0; r < row_count; r++) {
        const pelt_made *row = &rows[r];
        if (!row->size) continue;
        size_t begin = row_begin(row, count, rank), size = row_end(row, count, rank) - begin;
        if (row->index)
            pack(row, begin / row->size, (begin + size) / row->size, packed, back);
        else
            memcpy(back ? (char *)row->base + begin : packed, back ? packed : (char *)row->base + begin, size);
        packed += size;
    }
    return packed;
}

/* All rows at once, if they are small: then an exchange takes as long as getting through at all. */
static bool exchange_together(size_t count, size_t row_count, const pelt_made *rows) {
    const size_t small = (size_t)4 << 20;
    size_t total = 0, *ends;
    for (size_t r = 0; r < row_count; r++) total += rows[r].size ? row_end(&rows[r], count, all.count - 1) : 0;
    if (total > small) return false;
    char *packed = room_for(total), *at = packed;
    ends = room_for(all.count * sizeof *ends);
    for (uint32_t k = 0; k < all.count; k++) {
        size_t size = 0;
        for (size_t r = 0; r < row_count; r++)
            size += rows[r].size ? row_end(&rows[r], count, k) - row_begin(&rows[r], count, k) : 0;
        ends[k] = (k ? ends[k - 1] : 0) + size;
    }
    pack_share(count, row_count, rows, all.rank, packed + (all.rank ? ends[all.rank - 1] : 0), false);
    if (total) all.gather(all.user, packed, ends);
    for (uint32_t k = 0; k < all.count; k++) at = pack_share(count, row_count, rows, k, at, true);
    free(packed), free(ends);
    return true;
}

/* What only its maker has changed is the exclusive or of everybody's changes. */
static void combine(const pelt_made *row, uint8_t *before) {
    uint8_t *now = row->base;
    for (size_t i = 0; i < row->total; i++) now[i] ^= before[i];
    all.combine(all.user, now, row->total);
    for (size_t i = 0; i < row->total; i++) now[i] ^= before[i];
    free(before);
}

void pelt_rank_exchange(size_t count, size_t row_count, const pelt_made *rows) {
    if (all.count == 1 || pelt_in_loop()) return;
    agree(count, row_count, rows);
    if (exchange_together(count, row_count, rows)) return;
    for (size_t r = 0; r < row_count; r++) exchange(&rows[r], count);
}

/* From the first rank to all. */
static void send(void *bytes, size_t size) {
    if (all.count == 1) return;
    size_t *ends = room_for(all.count * sizeof *ends);
    for (uint32_t r = 0; r < all.count; r++) ends[r] = size;
    all.gather(all.user, bytes, ends);
    free(ends);
}

void pelt_rank_wait(void) { pelt_rank_exchange(0, 0, NULL); }

/* -- Checkpoints --------------------------------------------------------------------------------------------------- */

/* Results are kept if making them again takes longer than writing them, at this many bytes a second. */
static const double worth_keeping = 10e6;

static size_t bytes_of(const pelt_made *row, size_t count) {
    return !row->total ? row->size * count : row->index ? row->total * row->size : row->total;
}

/* All results of a loop as one block, or from one. */
static void copy_results(size_t count, size_t row_count, const pelt_made *rows, char *block, bool back) {
    for (size_t r = 0; r < row_count; r++) {
        size_t size = bytes_of(&rows[r], count);
        if (rows[r].index)
            pack(&rows[r], 0, rows[r].total, block, back);
        else if (size)
            memcpy(back ? rows[r].base : block, back ? block : rows[r].base, size);
        block += size;
    }
}

/* The results of loop `number` from the journal. */
static bool recall(uint64_t number, size_t count, size_t row_count, const pelt_made *rows) {
    size_t size = 0;
    uint64_t found = 0;
    for (size_t r = 0; r < row_count; r++) size += bytes_of(&rows[r], count);
    char *block = room_for(size);
    if (!all.rank) found = journal.get(journal.user, number, block, size);
    send(&found, sizeof found);
    if (found) send(block, size), copy_results(count, row_count, rows, block, true);
    free(block);
    return found != 0;
}

static void keep(uint64_t number, double seconds, size_t count, size_t row_count, const pelt_made *rows) {
    size_t size = 0;
    for (size_t r = 0; r < row_count; r++) size += bytes_of(&rows[r], count);
    if (all.rank || seconds * worth_keeping < (double)size) return;
    char *block = malloc(size ? size : 1);
    if (!block) return; /* it is made again */
    copy_results(count, row_count, rows, block, false);
    journal.put(journal.user, number, block, size);
    free(block);
}

void pelt_rank_first(void *bytes, size_t size) {
    pelt_made row = {bytes, .total = size};
    if (pelt_in_loop() || (all.count == 1 && !journaling)) return;
    uint64_t number = loops++;
    if (journaling && recall(number, 1, 1, &row)) return;
    send(bytes, size);
    if (journaling) keep(number, INFINITY, 1, 1, &row);
}

/* -- Loops --------------------------------------------------------------------------------------------------------- */

typedef struct part {
    pelt_loop_body body;
    void *user;
    size_t begin, step;
} part;

static void call_part(void *user, size_t i, pelt_arena *scratch) {
    const part *p = user;
    p->body(p->user, p->begin + i * p->step, scratch);
}

static bool divide(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user, size_t row_count,
                   const pelt_made *rows) {
    size_t begin, end, calls;
    uint8_t *before[MOST_ROWS] = {NULL};
    bool anywhere = true;
    if (row_count > MOST_ROWS) all.refuse(all.user, "a loop has too many results");
    for (size_t r = 0; r < row_count; r++) {
        anywhere &= !rows[r].size;
        if (!rows[r].size) before[r] = memcpy(room_for(rows[r].total), rows[r].base, rows[r].total);
    }
    pelt_rank_share(count, &begin, &end);
    part p = {body, user, begin, 1};
    calls = end - begin;
    if (anywhere) { /* in turns: late calls are often longer than early ones */
        p.begin = all.rank, p.step = all.count;
        calls = count > all.rank ? (count - all.rank - 1) / all.count + 1 : 0;
    }
    if (!pelt_parallel(arena, threads, calls, call_part, &p)) return false;
    pelt_rank_exchange(count, row_count, rows);
    for (size_t r = 0; r < row_count; r++)
        if (before[r]) combine(&rows[r], before[r]);
    return true;
}

bool pelt_spread(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user, size_t row_count,
                 const pelt_made *rows) {
    if (pelt_in_loop() || (all.count == 1 && !journaling)) return pelt_parallel(arena, threads, count, body, user);
    uint64_t number = loops++;
    if (journaling && recall(number, count, row_count, rows)) return true;
    double start = pelt_wall_seconds();
    bool done = all.count == 1 ? pelt_parallel(arena, threads, count, body, user)
                               : divide(arena, threads, count, body, user, row_count, rows);
    if (done && journaling) keep(number, pelt_wall_seconds() - start, count, row_count, rows);
    return done;
}
