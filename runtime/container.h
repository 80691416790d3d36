/* container.h: shared by skin files and .keys files: a header, a table of sections, and the sections, each at a
   multiple of 64 bytes; and the checks that both need. */

#ifndef PELT_CONTAINER_H
#define PELT_CONTAINER_H

#include "runtime/format.h"

/* The first 24 of the 64 bytes of a header; counts follow. */
typedef struct pelt_container {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_size;
} pelt_container;

enum { PELT_HEADER_SIZE = 64 };

/* Checks alignment, magic, version and sizes. */
pelt_result pelt_check_container(const void *bytes, size_t size, const char *magic, uint32_t version);

/* A section that a reader knows. */
typedef struct pelt_known_section {
    uint32_t kind;
    int always;    /* required in every file */
    size_t field;  /* offset of the pointer to it in the opened object */
    uint64_t size; /* required size in bytes; 0: any */
} pelt_known_section;

/* Sets the fields of `object` to the sections of a checked container; sizes [count] gets their bytes. At most 64
   sections can be known. */
pelt_result pelt_find_sections(const void *bytes, const pelt_known_section *known, int count, void *object,
                               uint64_t *sizes);

/* A text section: not empty, and zero-terminated. */
int pelt_is_text(const char *text, uint64_t size);

int pelt_all_finite(const void *floats, uint64_t count);
int pelt_all_finite_doubles(const double *values, uint64_t count);
int pelt_none_negative(const float *floats, uint64_t count);
int pelt_all_below_u16(const uint16_t *values, uint64_t count, uint64_t limit);
int pelt_all_below_u32(const uint32_t *values, uint64_t count, uint64_t limit);

/* A section with arrays inside, while it is being checked. */
typedef struct pelt_section {
    const char *bytes;
    uint64_t size;
} pelt_section;

/* An array of a x b x c bytes at an offset of a section, or NULL when it is not inside. */
const void *pelt_array_at(const pelt_section *section, uint64_t offset, uint64_t a, uint64_t b, uint64_t c);
/* An array of finite floats. */
pelt_result pelt_check_floats(const pelt_section *section, uint64_t offset, uint64_t rows, uint64_t columns);

/* The fastest instruction set on this machine. */
static inline pelt_isa pelt_best_isa(void) {
    return pelt_isa_works(PELT_ISA_AVX512) ? PELT_ISA_AVX512
           : pelt_isa_works(PELT_ISA_AVX2) ? PELT_ISA_AVX2
                                           : PELT_ISA_SIMD128;
}

#endif
