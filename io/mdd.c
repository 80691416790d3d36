/* mdd.c: MDD point caches (LightWave, Blender). All big-endian, without a magic number:

       int32 frames, int32 points, float times[frames] in seconds, float[frames][points][3]

   Keyframe i is frame i to pelt, so the reader ignores the times. */

#include "io/bytes.h"
#include "io/cache.h"

enum { HEADER = 8 };

pelt_result pelt_mdd_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *cache,
                           pelt_error *error) {
    if (file->size < HEADER)
        return pelt_fail(error, PELT_ERROR_TRUNCATED, "%s: ends within its header; export it again", path);
    int32_t frames = (int32_t)pelt_u32_big(file->bytes), points = (int32_t)pelt_u32_big(file->bytes + 4);
    size_t times = frames > 0 ? 4 * (size_t)frames : 0, left = file->size - HEADER;
    if (times > left)
        return pelt_fail(error, PELT_ERROR_TRUNCATED,
                         "%s: its header claims %d frames, but only %zu bytes follow: it is truncated or not an MDD "
                         "file; export it again",
                         path, frames, left);
    pelt_result result = pelt_cache_check(path, frames, points, sizeof(float), left - times, error);
    if (result) return result;
    float *positions = pelt_cache_positions(arena, path, (uint32_t)frames, (uint32_t)points, error);
    if (!positions) return PELT_ERROR_MEMORY;
    const uint8_t *values = file->bytes + HEADER + times;
    for (size_t i = 0, count = (left - times) / 4; i < count; i++)
        positions[i] = pelt_float_of_bits(pelt_u32_big(values + 4 * i));
    *cache = (pelt_cache){(uint32_t)frames, (uint32_t)points, positions, "mdd"};
    return PELT_OK;
}

void pelt_mdd_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second) {
    uint8_t header[HEADER];
    pelt_put_u32_big(header, frame_count);
    pelt_put_u32_big(header + 4, point_count);
    pelt_writer_put(writer, header, sizeof header);
    for (uint32_t i = 0; i < frame_count; i++) pelt_put_floats_big(writer, &(float){(float)(i / frames_per_second)}, 1);
}
