/* keys_file.c: opens a .keys file in memory. Everything is checked here, once. */

#include "runtime/keys_format.h"
#include <string.h>

typedef uint32_t __attribute__((may_alias)) float_bits;

/* Exponent bits that are all ones mean infinity or not-a-number, in floats and in half floats. */
static int all_finite(const void *floats, uint64_t count) {
    const float_bits *bits = floats;
    uint32_t bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return !bad;
}

static int all_halves_finite(const uint16_t *halves, uint64_t count) {
    uint32_t bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= (halves[i] & 0x7c00u) == 0x7c00u;
    return !bad;
}

int pelt_keys_counts(const pelt_keys_header *h, pelt_keys *keys) {
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

static pelt_result find_sections(const uint8_t *bytes, const pelt_keys_header *header, pelt_keys *keys) {
    static const struct {
        uint32_t kind;
        size_t field;
    } known[PELT_KEYS_SECTION_COUNT] = {
#define KNOWN(name, code, member, size) {code, offsetof(pelt_keys, member)},
        PELT_KEYS_SECTIONS(KNOWN)
#undef KNOWN
    };
    const uint64_t wanted[PELT_KEYS_SECTION_COUNT] = {
#define WANTED(name, code, member, size) size,
        PELT_KEYS_SECTIONS(WANTED)
#undef WANTED
    };
    uint32_t found = 0;
    const pelt_file_section *table = (const pelt_file_section *)(bytes + sizeof *header);
    for (uint32_t i = 0; i < header->section_count; i++) {
        const pelt_file_section *section = &table[i];
        if (section->offset % PELT_ALIGN || section->offset > header->file_size ||
            section->size > header->file_size - section->offset)
            return PELT_ERROR_FORMAT;
        int k = 0;
        while (k < PELT_KEYS_SECTION_COUNT && known[k].kind != section->kind) k++;
        if (k == PELT_KEYS_SECTION_COUNT) {
            if (section->flags & PELT_SECTION_REQUIRED) return PELT_ERROR_UNSUPPORTED;
            continue;
        }
        if (found & 1u << k || (wanted[k] && section->size != wanted[k])) return PELT_ERROR_FORMAT;
        const void *data = bytes + section->offset;
        memcpy((char *)keys + known[k].field, &data, sizeof data);
        if (k == PELT_KEYS_SECTION_ABOUT) {
            if (!section->size || section->size > UINT32_MAX || keys->about[section->size - 1])
                return PELT_ERROR_FORMAT;
            keys->about_size = (uint32_t)section->size - 1;
        }
        found |= 1u << k;
    }
    return found == (1u << PELT_KEYS_SECTION_COUNT) - 1 ? PELT_OK : PELT_ERROR_FORMAT;
}

static pelt_result check_numbers(const pelt_keys *keys) {
    for (uint32_t k = 0; k < keys->key_count; k++)
        if (keys->key_points[k] >= keys->engine_point_count) return PELT_ERROR_INDEX;
    uint32_t most = 0;
    uint64_t memberships = (uint64_t)keys->point_count * PELT_POINT_REGIONS;
    for (uint64_t i = 0; i < memberships; i++) most = keys->point_regions[i] > most ? keys->point_regions[i] : most;
    if (most >= keys->region_count) return PELT_ERROR_INDEX;
    uint64_t key_rows = keys->key_row_count, basis = (uint64_t)keys->block_count * keys->basis_count * PELT_BLOCK;
    int finite = all_finite(keys->mean, (uint64_t)keys->block_count * PELT_BLOCK) &&
                 all_finite(keys->key_mean, key_rows) &&
                 all_finite(keys->map, PELT_KEYS_MATRIX(keys->basis_count, key_rows) / 4) &&
                 all_finite(keys->misfit, PELT_KEYS_MATRIX(key_rows, key_rows) / 4) &&
                 all_finite(keys->bounds, 2 * (uint64_t)keys->region_count) &&
                 all_finite(keys->point_region_weights, memberships) && all_finite(&keys->diagonal, 1) &&
                 (keys->half ? all_halves_finite(keys->basis, basis) : all_finite(keys->basis, basis));
    for (uint32_t g = 0; finite && g < keys->region_count; g++)
        finite = keys->bounds[g].rms > 0 && keys->bounds[g].largest > 0;
    return finite && keys->diagonal > 0 ? PELT_OK : PELT_ERROR_NUMBER;
}

pelt_result pelt_keys_open(const void *bytes, size_t size, pelt_keys *keys) {
    if (!keys) return PELT_ERROR_ARGUMENT;
    memset(keys, 0, sizeof *keys);
    const pelt_keys_header *header = bytes;
    if (!bytes) return PELT_ERROR_ARGUMENT;
    if ((uintptr_t)bytes % PELT_ALIGN) return PELT_ERROR_ALIGNMENT;
    if (size < sizeof header->magic || memcmp(header->magic, PELT_KEYS_MAGIC, sizeof header->magic))
        return PELT_ERROR_FORMAT;
    if (size < sizeof *header) return PELT_ERROR_TRUNCATED;
    if (header->version != PELT_KEYS_VERSION) return PELT_ERROR_VERSION;
    if (header->file_size > size) return PELT_ERROR_TRUNCATED;
    if (header->file_size != size || header->section_count > (size - sizeof *header) / sizeof(pelt_file_section))
        return PELT_ERROR_FORMAT;
    pelt_keys opened = {0};
    if (!pelt_keys_counts(header, &opened)) return PELT_ERROR_FORMAT;
    pelt_result result = find_sections(bytes, header, &opened);
    if (result == PELT_OK) result = check_numbers(&opened);
    if (result != PELT_OK) return result;
    opened.isa = pelt_isa_works(PELT_ISA_AVX512) ? PELT_ISA_AVX512
                 : pelt_isa_works(PELT_ISA_AVX2) ? PELT_ISA_AVX2
                                                 : PELT_ISA_SIMD128;
    *keys = opened;
    return PELT_OK;
}
