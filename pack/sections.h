/* sections.h: writes files made of sections, skins and .keys alike (runtime/container.h): header, table, sections. */

#ifndef PELT_SECTIONS_H
#define PELT_SECTIONS_H

#include "rig/rig.h"
#include "runtime/container.h"

typedef struct pelt_packed_section {
    uint32_t kind, flags;
    uint64_t size;
    const void *data; /* NULL: the section is omitted */
} pelt_packed_section;

/* `header` is PELT_HEADER_SIZE bytes that start with a pelt_container, whose section_count and file_size are set here.
   NULL when out of memory. */
pelt_bytes *pelt_pack_sections(const void *header, const pelt_packed_section *sections, uint32_t count,
                               pelt_error *error);

/* A copy of a checked file in which some sections, by their kinds, are others, or new; data NULL: it goes. */
pelt_bytes *pelt_change_sections(pelt_arena *arena, const void *bytes, const pelt_packed_section *changes,
                                 uint32_t count, pelt_error *error);

#endif
