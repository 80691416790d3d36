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

pelt_bytes *pelt_change_sections(pelt_arena *arena, const void *bytes, const pelt_packed_section *changes,
                                 uint32_t count, pelt_error *error) {
    const pelt_container *header = bytes;
    const pelt_file_section *table = (const pelt_file_section *)((const char *)bytes + PELT_HEADER_SIZE);
    pelt_packed_section *all = PELT_NEW(arena, (size_t)header->section_count + count, pelt_packed_section);
    uint32_t end = 0;
    if (!all) return pelt_no_memory(error), NULL;
    for (uint32_t i = 0; i < header->section_count; i++) {
        bool changed = false;
        for (uint32_t c = 0; c < count; c++) changed |= changes[c].kind == table[i].kind;
        if (!changed)
            all[end++] = (pelt_packed_section){table[i].kind, table[i].flags, table[i].size,
                                               (const char *)bytes + table[i].offset};
    }
    for (uint32_t c = 0; c < count; c++) all[end++] = changes[c];
    return pelt_pack_sections(bytes, all, end, error);
}
