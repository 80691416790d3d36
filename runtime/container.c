/* container.c: checks files of sections (container.h). The loops over numbers use plain integer arithmetic, so that
   compiled code runs at memory speed. */

#include "runtime/container.h"
#include <string.h>

pelt_result pelt_check_container(const void *bytes, size_t size, const char *magic, uint32_t version) {
    const pelt_container *header = bytes;
    if (!bytes) return PELT_ERROR_ARGUMENT;
    if ((uintptr_t)bytes % PELT_ALIGN) return PELT_ERROR_ALIGNMENT;
    if (size < sizeof header->magic || memcmp(header->magic, magic, sizeof header->magic)) return PELT_ERROR_FORMAT;
    if (size < PELT_HEADER_SIZE) return PELT_ERROR_TRUNCATED;
    if (header->version != version) return PELT_ERROR_VERSION;
    if (header->file_size > size) return PELT_ERROR_TRUNCATED;
    if (header->file_size != size || header->section_count > (size - PELT_HEADER_SIZE) / sizeof(pelt_file_section))
        return PELT_ERROR_FORMAT;
    return PELT_OK;
}

static int find_kind(const pelt_known_section *known, int count, uint32_t kind) {
    int k = 0;
    while (k < count && known[k].kind != kind) k++;
    return k;
}

pelt_result pelt_find_sections(const void *bytes, const pelt_known_section *known, int count, void *object,
                               uint64_t *sizes) {
    const pelt_container *header = bytes;
    const pelt_file_section *table = (const pelt_file_section *)((const char *)bytes + PELT_HEADER_SIZE);
    uint64_t found = 0, needed = 0;
    for (int k = 0; k < count; k++) needed |= (uint64_t)(known[k].always != 0) << k;
    for (uint32_t i = 0; i < header->section_count; i++) {
        const pelt_file_section *section = &table[i];
        if (section->offset % PELT_ALIGN || section->offset > header->file_size ||
            section->size > header->file_size - section->offset)
            return PELT_ERROR_FORMAT;
        int k = find_kind(known, count, section->kind);
        if (k == count) {
            if (section->flags & PELT_SECTION_REQUIRED) return PELT_ERROR_UNSUPPORTED;
            continue;
        }
        if (found & UINT64_C(1) << k || (known[k].size && section->size != known[k].size)) return PELT_ERROR_FORMAT;
        const void *data = (const char *)bytes + section->offset;
        memcpy((char *)object + known[k].field, &data, sizeof data);
        sizes[k] = section->size;
        found |= UINT64_C(1) << k;
    }
    return (found & needed) == needed ? PELT_OK : PELT_ERROR_FORMAT;
}

int pelt_is_text(const char *text, uint64_t size) { return size && size <= UINT32_MAX && text[size - 1] == 0; }

/* The bits of floats; may_alias, because they are the same objects. */
typedef uint32_t __attribute__((may_alias)) float_bits;

/* An exponent of all ones means infinity or NaN. */
int pelt_all_finite(const void *floats, uint64_t count) {
    const float_bits *bits = floats;
    uint32_t bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return !bad;
}

int pelt_all_finite_doubles(const double *values, uint64_t count) {
    int bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= !(values[i] - values[i] == 0);
    return !bad;
}

int pelt_none_negative(const float *floats, uint64_t count) {
    int bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= floats[i] < 0;
    return !bad;
}

int pelt_all_below_u16(const uint16_t *values, uint64_t count, uint64_t limit) {
    uint16_t most = 0;
    for (uint64_t i = 0; i < count; i++) most = values[i] > most ? values[i] : most;
    return !count || most < limit;
}

int pelt_all_below_u32(const uint32_t *values, uint64_t count, uint64_t limit) {
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) most = values[i] > most ? values[i] : most;
    return !count || most < limit;
}

const void *pelt_array_at(const pelt_section *s, uint64_t offset, uint64_t a, uint64_t b, uint64_t c) {
    if (offset % PELT_ALIGN || offset > s->size) return NULL;
    uint64_t room = s->size - offset;
    if (a && b && c && (a > room || b > room / a || c > room / (a * b))) return NULL;
    return s->bytes + offset;
}

pelt_result pelt_check_floats(const pelt_section *s, uint64_t offset, uint64_t rows, uint64_t columns) {
    const void *floats = pelt_array_at(s, offset, rows, columns, sizeof(float));
    if (!floats) return PELT_ERROR_FORMAT;
    return pelt_all_finite(floats, rows * columns) ? PELT_OK : PELT_ERROR_NUMBER;
}
