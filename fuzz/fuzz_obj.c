/* fuzz_obj.c: any bytes as an .obj file, with and without its faces. */

#include "fuzz/fuzz_cache.h"

static void parse(const pelt_file *file, bool with_faces) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * file->size);
    uint32_t points = 0, triangle_count = 0, *triangles = NULL;
    float *positions = NULL, *normals = NULL;
    pelt_error error = {0};
    pelt_result result = pelt_obj_parse(arena, file, "fuzz", &points, &positions, &normals,
                                        with_faces ? &triangle_count : NULL, with_faces ? &triangles : NULL, &error);
    if (result != PELT_OK && !error.text[0]) abort(); /* a failure without a sentence */
    volatile float last = 0;
    for (size_t i = 0; result == PELT_OK && i < 3 * (size_t)points; i++)
        last = positions[i] + (normals ? normals[i] : 0);
    (void)last;
    for (size_t i = 0; result == PELT_OK && i < 3 * (size_t)triangle_count; i++)
        if (triangles[i] >= points) abort();
    pelt_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_file file = fuzz_file(data, size);
    parse(&file, true);
    parse(&file, false);
    free((void *)file.bytes);
    return 0;
}
