/* pc2.c: PC2 point caches (3ds Max, Blender). All little-endian:

       char[12] "POINTCACHE2\0", int32 version = 1, int32 points, float start, float rate, int32 frames,
       float[frames][points][3]

   The header has 32 bytes, so the floats are aligned and are used in place. `start` is the time of the first frame and
   `rate` the step from frame to frame, both in frames; keyframe i is frame i to pelt, so the reader ignores them. */

#include "io/bytes.h"
#include "io/cache.h"

enum { HEADER = 32 };
static const char magic[12] = "POINTCACHE2";

pelt_result pelt_pc2_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *cache,
                           pelt_error *error) {
    const uint8_t *bytes = file->bytes;
    if (file->size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not a PC2 file: it does not begin with POINTCACHE2", path);
    if (file->size < HEADER)
        return pelt_fail(error, PELT_ERROR_TRUNCATED, "%s: ends within its header; export it again", path);
    int32_t version = (int32_t)pelt_u32_little(bytes + 12);
    if (version != 1)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: is a PC2 file of version %d; pelt reads version 1", path,
                         version);
    int32_t points = (int32_t)pelt_u32_little(bytes + 16), frames = (int32_t)pelt_u32_little(bytes + 28);
    pelt_result result = pelt_cache_check(path, frames, points, sizeof(float), file->size - HEADER, error);
    if (result) return result;
    *cache = (pelt_cache){(uint32_t)frames, (uint32_t)points, NULL, "pc2"};
    if (PELT_HOST_IS_LITTLE_ENDIAN) {
        cache->positions = (const float *)(const void *)(bytes + HEADER);
        return PELT_OK;
    }
    float *positions = pelt_cache_positions(arena, path, cache->frame_count, cache->point_count, error);
    if (!positions) return PELT_ERROR_MEMORY;
    for (size_t i = 0, count = (file->size - HEADER) / 4; i < count; i++)
        positions[i] = pelt_float_of_bits(pelt_u32_little(bytes + HEADER + 4 * i));
    cache->positions = positions;
    return PELT_OK;
}

void pelt_pc2_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second) {
    (void)frames_per_second; /* times are counted in frames */
    uint8_t header[HEADER];
    memcpy(header, magic, sizeof magic);
    pelt_put_u32_little(header + 12, 1);
    pelt_put_u32_little(header + 16, point_count);
    pelt_put_u32_little(header + 20, pelt_bits_of_float(0));
    pelt_put_u32_little(header + 24, pelt_bits_of_float(1));
    pelt_put_u32_little(header + 28, frame_count);
    pelt_writer_put(writer, header, sizeof header);
}
