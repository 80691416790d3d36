/* format.h: the bytes of a skin file, as docs/format.md describes them.

   A header, a table of sections, and the sections, each at a multiple of 64 bytes. All numbers are little-endian; the
   arrays are used in place. A section that a reader does not know is skipped, unless it is marked as required: then the
   skin needs something that the reader cannot do, and the reader says so. */

#ifndef PELT_FORMAT_H
#define PELT_FORMAT_H

#include <pelt/pelt.h>

#define PELT_MAGIC "PELTSKIN"
#define PELT_FORMAT_VERSION 1u

typedef struct pelt_file_header {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_size;
    uint32_t vertex_count;
    uint32_t block_count;
    uint32_t joint_count;
    uint32_t entry_count;
    uint8_t reserved[24]; /* zero */
} pelt_file_header;

typedef struct pelt_file_section {
    uint32_t kind;  /* PELT_SECTION_... */
    uint32_t flags; /* PELT_SECTION_REQUIRED */
    uint64_t offset;
    uint64_t size;     /* bytes, without the padding to the next section */
    uint64_t reserved; /* zero */
} pelt_file_section;

#define PELT_SECTION_REQUIRED 1u
#define PELT_FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* Section, its four letters, the field of pelt_skin that points to it, the bytes that it has (0: any), and whether every
   skin has it: the field of a section that is not there is NULL. */
#define PELT_SECTIONS(X)                                                                                               \
    X(JOINTS, PELT_FOURCC('J', 'N', 'T', 'S'), joints, (uint64_t)skin->joint_count * sizeof(pelt_joint), 1)               \
    X(NAMES, PELT_FOURCC('N', 'A', 'M', 'E'), names, 0, 1)                                                                \
    X(SLOTS, PELT_FOURCC('S', 'L', 'O', 'T'), vertex_slots, (uint64_t)skin->vertex_count * 4, 1)                          \
    X(BLOCKS, PELT_FOURCC('B', 'L', 'O', 'K'), block_first, ((uint64_t)skin->block_count + 1) * 4, 1)                     \
    X(ENTRIES, PELT_FOURCC('E', 'N', 'T', 'R'), entry_joints, (uint64_t)skin->entry_count * 2, 1)                         \
    X(WEIGHTS, PELT_FOURCC('W', 'G', 'H', 'T'), entry_weights, (uint64_t)skin->entry_count * 4 * PELT_BLOCK, 1)           \
    X(POSITIONS, PELT_FOURCC('R', 'P', 'O', 'S'), rest_positions, (uint64_t)skin->block_count * 12 * PELT_BLOCK, 1)       \
    X(NORMALS, PELT_FOURCC('R', 'N', 'R', 'M'), rest_normals, (uint64_t)skin->block_count * 12 * PELT_BLOCK, 1)           \
    X(DRIVEN, PELT_FOURCC('D', 'R', 'V', 'N'), driven, 0, 0)                                                              \
    X(ABOUT, PELT_FOURCC('I', 'N', 'F', 'O'), about, 0, 1)

enum {
#define PELT_SECTION_ENUM(name, code, field, size, always) PELT_SECTION_##name,
    PELT_SECTIONS(PELT_SECTION_ENUM)
#undef PELT_SECTION_ENUM
        PELT_SECTION_COUNT
};

_Static_assert(sizeof(pelt_file_header) == 64, "the header is 64 bytes");
_Static_assert(sizeof(pelt_file_section) == 32, "a table entry is 32 bytes");
_Static_assert(sizeof(pelt_joint) == 96, "a joint is 96 bytes");
_Static_assert(sizeof(pelt_driven) == 72, "a driven joint is 72 bytes");

#endif
