/* sections.h: finds and hides sections of a file in memory by their four letters. */

#ifndef PELT_TEST_SECTIONS_H
#define PELT_TEST_SECTIONS_H

#include "test/test.h"
#include <stdint.h>
#include <string.h>

/* The table entry of a section, or NULL. */
static inline uint8_t *section_entry(void *bytes, const char *kind) {
    uint32_t count;
    memcpy(&count, (uint8_t *)bytes + 12, 4);
    for (uint8_t *entry = (uint8_t *)bytes + 64; count--; entry += 32)
        if (!memcmp(entry, kind, 4)) return entry;
    return NULL;
}

static inline uint8_t *section_bytes(void *bytes, const char *kind) {
    uint64_t offset;
    uint8_t *entry = section_entry(bytes, kind);
    if (!entry) fail_msg("there is no section %s", kind);
    memcpy(&offset, entry + 8, 8);
    return (uint8_t *)bytes + offset;
}

/* Makes it look like a file of an older pelt: readers skip unknown sections. */
static inline void hide_section(void *bytes, const char *kind) {
    uint8_t *entry = section_entry(bytes, kind);
    if (!entry) fail_msg("there is no section %s", kind);
    memcpy(entry, "XXXX", 4);
}

#endif
