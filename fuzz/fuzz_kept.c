/* fuzz_kept.c: any bytes at all are kept examples of a small character, or are refused with a sentence. The first bytes that
   say for which character they were kept are made good, so that what follows is read. */

#include "fuzz/fuzz_cache.h"
#include "io/kept.h"
#include "samples/samples.h"
#include <unistd.h>

/* The head up to the bound, as test/make_seeds writes it for the same character. */
enum { HEAD = 48 };

static void make_good(pelt_bundle *bundle, uint8_t *bytes, size_t size) {
    static uint8_t head[HEAD];
    if (!head[0]) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_kept kept;
        pelt_file file;
        char path[] = "/tmp/fuzz_kept_XXXXXX";
        int descriptor = mkstemp(path);
        if (descriptor < 0 || pelt_kept_begin(arena, bundle, &kept, NULL) ||
            pelt_kept_write(path, bundle, &kept, NULL) || pelt_file_read(arena, path, &file, NULL) || file.size < HEAD)
            abort();
        memcpy(head, file.bytes, HEAD);
        close(descriptor), unlink(path);
    }
    for (size_t i = 0; i < HEAD && i < size; i++)
        if (i < 20 || i >= 28) bytes[i] = head[i]; /* the numbers of controls and clips are anything */
}

static pelt_bundle *make_character(void) {
    return pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 100, .frames = 4}, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static pelt_bundle *bundle; /* making it takes longer than reading */
    if (!bundle) bundle = make_character();
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * size);
    pelt_file file = fuzz_file(data, size);
    pelt_error error = {0};
    pelt_kept kept = {0};
    if (!bundle || !arena) abort();
    make_good(bundle, (uint8_t *)(uintptr_t)file.bytes, size);
    if (pelt_kept_parse(arena, &file, "fuzz.examples", bundle, &kept, &error) == PELT_OK) {
        const pelt_clip **clips = calloc(kept.clip_count + 1, sizeof *clips);
        for (uint32_t b = 0; b < kept.block_count; b++)
            for (uint32_t c = 0; c < kept.clip_count; c++)
                if (kept.blocks[b].parts[c].used > kept.blocks[b].shape_count) abort();
        /* Poses may be no rotations, which the bundle refuses. */
        pelt_bundle *grown = make_character();
        if (!grown || (pelt_kept_clips(&kept, grown, 1, clips, &error) && !error.text[0])) abort();
        pelt_bundle_free(grown);
        free(clips);
    } else if (!error.text[0]) {
        abort();
    }
    free((void *)(uintptr_t)file.bytes);
    pelt_arena_free(arena);
    return 0;
}
