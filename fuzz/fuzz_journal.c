/* fuzz_journal.c: any bytes at all as the checkpoint of a fit: it is refused with a sentence, or what it gives is whole
   records in order, and what is kept after that is there when it is opened again. */

#include "io/io.h"
#include "io/journal.h"
#include "rig/ranks.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOOPS = 4, SIZE = 24 };

static void fill(uint8_t *bytes, int loop) { memset(bytes, 'a' + loop, SIZE); }

static void make(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    ((uint8_t *)user)[i] = (uint8_t)('a' + i / SIZE);
}

/* Loops as a fit makes them; results that no checkpoint of them can have must not come from one: their checksums do not
   hold. Figures that differ from run to run are always kept. */
static int work(const char *path) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_error error = {0};
    pelt_journal_file *file = pelt_journal_open(arena, path, &error);
    if (!file && !error.text[0]) abort();
    for (int loop = 0; file && loop < LOOPS; loop++) {
        uint8_t figure[SIZE], rows[SIZE] = {0};
        fill(figure, loop);
        pelt_rank_first(figure, sizeof figure);
        if (!PELT_SPREAD(arena, 1, SIZE, make, rows, {rows, 1})) abort();
    }
    pelt_journal_close(file);
    return file != NULL;
}

static size_t size_of(int descriptor) { return (size_t)lseek(descriptor, 0, SEEK_END); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/fuzz_journal_XXXXXX";
    int descriptor = mkstemp(path);
    if (descriptor < 0) abort();
    /* Half of them belong to this work, so that records are read. */
    uint64_t owner = pelt_rank_notes();
    if (write(descriptor, data, size) != (ssize_t)size) abort();
    if (size >= 16 && data[size - 1] & 1 &&
        (pwrite(descriptor, "PELTKEPT", 8, 0) != 8 || pwrite(descriptor, &owner, sizeof owner, 8) != sizeof owner))
        abort();
    if (work(path)) {
        size_t first = size_of(descriptor);
        if (!work(path) || size_of(descriptor) < first) abort(); /* nothing is lost; slow loops may come in */
    } else if (size_of(descriptor) != size) {
        abort(); /* what is refused stays as it was */
    }
    close(descriptor), unlink(path);
    return 0;
}
