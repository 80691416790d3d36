/* keys_format.h: the bytes of a .keys file. The container is that of skins (format.h): a header, a table of sections,
   sections at multiples of 64 bytes; with a different magic and counts. */

#ifndef PELT_KEYS_FORMAT_H
#define PELT_KEYS_FORMAT_H

#include "runtime/format.h"
#include <pelt/keys.h>

#define PELT_KEYS_MAGIC "PELTKEYS"
#define PELT_KEYS_VERSION 1u

typedef struct pelt_keys_header {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_size;
    uint32_t point_count, component_count, key_count, basis_count, region_count, engine_point_count;
    uint32_t flags; /* PELT_KEYS_SHARED, PELT_KEYS_HALF */
    float diagonal;
    uint32_t frame_count; /* training frames */
    uint8_t reserved[4];  /* zero */
} pelt_keys_header;

enum { PELT_KEYS_SHARED = 1, PELT_KEYS_HALF = 2, PELT_KEYS_MOST_COMPONENTS = 64 };

/* Bytes of a float matrix stored as [block of 16 rows][column][16]. */
#define PELT_KEYS_MATRIX(rows, columns)                                                                                \
    (((uint64_t)(rows) + PELT_BLOCK - 1) / PELT_BLOCK * PELT_BLOCK * (uint64_t)(columns)*4)

/* Section, its four letters, the field of pelt_keys that points to it, its size in bytes (0: any), and whether every
   file has it. */
#define PELT_KEYS_SECTIONS(X)                                                                                          \
    X(POINTS, PELT_FOURCC('K', 'P', 'N', 'T'), key_points, (uint64_t)keys->key_count * 4, 1)                           \
    X(MEAN, PELT_FOURCC('K', 'A', 'V', 'G'), mean, (uint64_t)keys->block_count * 4 * PELT_BLOCK, 1)                    \
    X(KEY_MEAN, PELT_FOURCC('K', 'A', 'V', 'K'), key_mean, (uint64_t)keys->key_row_count * 4, 1)                       \
    X(BASIS, PELT_FOURCC('K', 'B', 'A', 'S'), basis,                                                                   \
      (uint64_t)keys->block_count * keys->basis_count * PELT_BLOCK * (keys->half ? 2 : 4), 1)                          \
    X(MAP, PELT_FOURCC('K', 'M', 'A', 'P'), map, PELT_KEYS_MATRIX(keys->basis_count, keys->key_row_count), 1)          \
    X(MISFIT, PELT_FOURCC('K', 'M', 'I', 'S'), misfit, PELT_KEYS_MATRIX(keys->key_row_count, keys->key_row_count), 1)  \
    X(BOUNDS, PELT_FOURCC('K', 'B', 'N', 'D'), bounds, (uint64_t)keys->region_count * sizeof(pelt_misfit_bound), 1)    \
    X(REGIONS, PELT_FOURCC('K', 'R', 'E', 'G'), point_regions, (uint64_t)keys->point_count * 2 * PELT_POINT_REGIONS,   \
      1)                                                                                                               \
    X(REGION_WEIGHTS, PELT_FOURCC('K', 'R', 'W', 'T'), point_region_weights,                                           \
      (uint64_t)keys->point_count * 4 * PELT_POINT_REGIONS, 1)                                                         \
    X(WITNESSES, PELT_FOURCC('K', 'W', 'I', 'T'), witness_points, 0, 0)                                                \
    X(WITNESS_RULE, PELT_FOURCC('K', 'W', 'R', 'L'), witness_rule, sizeof(pelt_witness_rule), 0)                       \
    X(CONTROLS, PELT_FOURCC('K', 'C', 'T', 'L'), control_ranges, 0, 0)                                                 \
    X(CONTROL_NAMES, PELT_FOURCC('K', 'C', 'N', 'M'), control_names, 0, 0)                                             \
    X(CURVE, PELT_FOURCC('K', 'E', 'R', 'R'), curve, 0, 0)                                                             \
    X(LEFT_OUT, PELT_FOURCC('K', 'O', 'U', 'T'), left_out, (uint64_t)keys->block_count * 4 * PELT_BLOCK, 0)            \
    X(USER, PELT_FOURCC('U', 'S', 'E', 'R'), user_data, 0, 0)                                                          \
    X(ABOUT, PELT_FOURCC('I', 'N', 'F', 'O'), about, 0, 1)

enum {
#define PELT_KEYS_SECTION_ENUM(name, code, field, size, always) PELT_KEYS_SECTION_##name,
    PELT_KEYS_SECTIONS(PELT_KEYS_SECTION_ENUM)
#undef PELT_KEYS_SECTION_ENUM
        PELT_KEYS_SECTION_COUNT
};

/* Derives the remaining counts. False when they are inconsistent. */
static inline int pelt_keys_counts(const pelt_keys_header *h, pelt_keys *keys) {
    uint64_t each = h->flags & PELT_KEYS_SHARED ? 1 : h->component_count;
    uint64_t rows = h->point_count * each, key_rows = h->key_count * each;
    if (!h->point_count || !h->component_count || h->component_count > PELT_KEYS_MOST_COMPONENTS || !h->key_count ||
        !h->basis_count || !h->region_count || h->region_count > 65536 || h->key_count > h->engine_point_count ||
        h->engine_point_count > h->point_count || rows > UINT32_MAX - PELT_BLOCK || h->basis_count > key_rows ||
        key_rows > 1 << 20 || (h->flags & ~(uint32_t)(PELT_KEYS_SHARED | PELT_KEYS_HALF)))
        return 0;
    keys->point_count = h->point_count;
    keys->component_count = h->component_count;
    keys->key_count = h->key_count;
    keys->basis_count = h->basis_count;
    keys->region_count = h->region_count;
    keys->engine_point_count = h->engine_point_count;
    keys->shared = (h->flags & PELT_KEYS_SHARED) != 0;
    keys->half = (h->flags & PELT_KEYS_HALF) != 0;
    keys->diagonal = h->diagonal;
    keys->frame_count = h->frame_count;
    keys->row_count = (uint32_t)rows;
    keys->key_row_count = (uint32_t)key_rows;
    keys->block_count = (uint32_t)((rows + PELT_BLOCK - 1) / PELT_BLOCK);
    return 1;
}

_Static_assert(sizeof(pelt_keys_header) == 64, "the header is 64 bytes");

#endif
