/* sections.c: writes files made of sections (sections.h). */

#include "pack/sections.h"
#include <string.h>

static size_t round_up(uint64_t size) { return (size_t)(size + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN; }

pelt_bytes *pelt_pack_sections(const void *header, const pelt_packed_section *sections, uint32_t count,
                               pelt_error *error) {
    uint32_t there = 0;
    for (uint32_t k = 0; k < count; k++) there += sections[k].data != NULL;
    size_t first = round_up(PELT_HEADER_SIZE + there * sizeof(pelt_file_section)), size = first;
    for (uint32_t k = 0; k < count; k++) size += sections[k].data ? round_up(sections[k].size) : 0;
    pelt_bytes *out = pelt_bytes_new(size);
    if (!out) return pelt_no_memory(error), NULL;
    pelt_container *container = out->bytes;
    memcpy(container, header, PELT_HEADER_SIZE);
    container->section_count = there, container->file_size = size;
    pelt_file_section *entry = (pelt_file_section *)((char *)out->bytes + PELT_HEADER_SIZE);
    for (uint32_t k = 0; k < count; k++) {
        const pelt_packed_section *s = &sections[k];
        if (!s->data) continue;
        *entry++ = (pelt_file_section){.kind = s->kind, .flags = s->flags, .offset = first, .size = s->size};
        memcpy((char *)out->bytes + first, s->data, s->size);
        first += round_up(s->size);
    }
    return out;
}
