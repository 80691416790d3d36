/* skin.c: opens a skin file in memory. Everything is checked here, once; after that nothing is checked again. */

#include "runtime/format.h"
#include "runtime/kernel.h"
#include <string.h>

/* The bits of floats, which the compiler must not take for other objects than the floats themselves. */
typedef uint32_t __attribute__((may_alias)) float_bits;

/* 1 when every float is finite: the exponent bits are never all ones. Plain integer work, so that the compiler makes it
   as fast as memory. */
static int all_finite(const void *floats, uint64_t count) {
    const float_bits *bits = floats;
    uint32_t bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return !bad;
}

static uint32_t largest_u16(const uint16_t *values, uint64_t count) {
    uint16_t most = 0;
    for (uint64_t i = 0; i < count; i++) most = values[i] > most ? values[i] : most;
    return most;
}

static uint32_t largest_u32(const uint32_t *values, uint64_t count) {
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) most = values[i] > most ? values[i] : most;
    return most;
}

/* Points *field at each section, after checking that it lies in the file and has the size that the counts ask for. */
static pelt_result find_sections(const uint8_t *bytes, const pelt_file_header *header, pelt_skin *skin,
                                 uint64_t sizes[PELT_SECTION_COUNT]) {
    static const struct {
        uint32_t kind;
        size_t field;
    } known[PELT_SECTION_COUNT] = {
#define KNOWN(name, code, member, size, always) {code, offsetof(pelt_skin, member)},
        PELT_SECTIONS(KNOWN)
#undef KNOWN
    };
    const uint64_t wanted[PELT_SECTION_COUNT] = {
#define WANTED(name, code, member, size, always) size,
        PELT_SECTIONS(WANTED)
#undef WANTED
    };
    const uint32_t always = 0
#define ALWAYS(name, code, member, size, every) | (uint32_t)(every) << PELT_SECTION_##name
        PELT_SECTIONS(ALWAYS)
#undef ALWAYS
        ;
    uint32_t found = 0;
    const pelt_file_section *table = (const pelt_file_section *)(bytes + sizeof *header);
    for (uint32_t i = 0; i < header->section_count; i++) {
        const pelt_file_section *section = &table[i];
        if (section->offset % PELT_ALIGN || section->offset > header->file_size ||
            section->size > header->file_size - section->offset)
            return PELT_ERROR_FORMAT;
        int k = 0;
        while (k < PELT_SECTION_COUNT && known[k].kind != section->kind) k++;
        if (k == PELT_SECTION_COUNT) {
            if (section->flags & PELT_SECTION_REQUIRED) return PELT_ERROR_UNSUPPORTED;
            continue;
        }
        if (found & 1u << k || (wanted[k] && section->size != wanted[k])) return PELT_ERROR_FORMAT;
        const void *data = bytes + section->offset;
        memcpy((char *)skin + known[k].field, &data, sizeof data);
        sizes[k] = section->size;
        found |= 1u << k;
    }
    return (found & always) == always ? PELT_OK : PELT_ERROR_FORMAT;
}

static pelt_result check_joints(const pelt_skin *skin, uint64_t names_size) {
    if (!names_size || skin->names[names_size - 1] != 0) return PELT_ERROR_FORMAT;
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        const pelt_joint *joint = &skin->joints[j];
        if (joint->parent < -1 || joint->parent >= (int64_t)j || joint->name >= names_size) return PELT_ERROR_INDEX;
        if (!all_finite(&joint->rest, 10) || !all_finite(joint->inverse_bind, 12)) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

/* Fills in driven_count from the size of the section. */
static pelt_result check_driven(pelt_skin *skin, uint64_t size, uint64_t names_size) {
    if (!skin->driven) return PELT_OK;
    if (!size || size % sizeof(pelt_driven) || size / sizeof(pelt_driven) > 65536 - skin->joint_count)
        return PELT_ERROR_FORMAT;
    skin->driven_count = (uint32_t)(size / sizeof(pelt_driven));
    for (uint32_t i = 0; i < skin->driven_count; i++) {
        const pelt_driven *d = &skin->driven[i];
        int bulges = d->kind == PELT_DRIVEN_BULGE || d->kind == PELT_DRIVEN_DENT;
        if (d->kind >= PELT_DRIVEN_KIND_COUNT) return PELT_ERROR_UNSUPPORTED;
        if (d->parent < (bulges ? 0 : -1) || d->parent >= (int64_t)skin->joint_count ||
            d->driver >= skin->joint_count || d->host >= skin->joint_count || d->name >= names_size)
            return PELT_ERROR_INDEX;
        if (!all_finite(&d->amount, 1) || !all_finite(d->origin, 12) || (bulges && d->amount < 0))
            return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

/* Fills in control_count from the size of the section. */
static pelt_result check_controls(pelt_skin *skin, uint64_t size, uint64_t names_size) {
    if (!skin->controls) return PELT_OK;
    if (!size || size % sizeof(pelt_control) || size / sizeof(pelt_control) > 65536) return PELT_ERROR_FORMAT;
    skin->control_count = (uint32_t)(size / sizeof(pelt_control));
    for (uint32_t i = 0; i < skin->control_count; i++) {
        if (skin->controls[i].name >= names_size) return PELT_ERROR_INDEX;
        if (!all_finite(&skin->controls[i].rest, 3)) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_blocks(const pelt_skin *skin) {
    const uint32_t *first = skin->block_first;
    int ordered = first[0] == 0 && first[skin->block_count] == skin->entry_count;
    for (uint32_t b = 0; b < skin->block_count; b++) ordered &= first[b] < first[b + 1];
    if (!ordered) return PELT_ERROR_INDEX;
    uint64_t entries = skin->entry_count, slots = (uint64_t)skin->block_count * PELT_BLOCK;
    if (largest_u16(skin->entry_joints, entries) >= pelt_matrix_count(skin)) return PELT_ERROR_INDEX;
    if (largest_u32(skin->vertex_slots, skin->vertex_count) >= slots) return PELT_ERROR_INDEX;
    if (!all_finite(skin->entry_weights, entries * PELT_BLOCK) || !all_finite(skin->rest_positions, 3 * slots) ||
        !all_finite(skin->rest_normals, 3 * slots))
        return PELT_ERROR_NUMBER;
    return PELT_OK;
}

pelt_result pelt_open(const void *bytes, size_t size, pelt_skin *skin) {
    if (!skin) return PELT_ERROR_ARGUMENT;
    memset(skin, 0, sizeof *skin);
    const pelt_file_header *header = bytes;
    if (!bytes) return PELT_ERROR_ARGUMENT;
    if ((uintptr_t)bytes % PELT_ALIGN) return PELT_ERROR_ALIGNMENT;
    if (size < sizeof header->magic || memcmp(header->magic, PELT_MAGIC, sizeof header->magic))
        return PELT_ERROR_FORMAT;
    if (size < sizeof *header) return PELT_ERROR_TRUNCATED;
    if (header->version != PELT_FORMAT_VERSION) return PELT_ERROR_VERSION;
    if (header->file_size > size) return PELT_ERROR_TRUNCATED;
    if (header->file_size != size || header->section_count > (size - sizeof *header) / sizeof(pelt_file_section))
        return PELT_ERROR_FORMAT;
    if (!header->vertex_count || !header->joint_count || header->joint_count > 65536 ||
        header->block_count != ((uint64_t)header->vertex_count + PELT_BLOCK - 1) / PELT_BLOCK)
        return PELT_ERROR_FORMAT;

    pelt_skin opened = {.vertex_count = header->vertex_count,
                        .block_count = header->block_count,
                        .joint_count = header->joint_count,
                        .entry_count = header->entry_count};
    uint64_t sizes[PELT_SECTION_COUNT] = {0};
    pelt_result result = find_sections(bytes, header, &opened, sizes);
    if (result == PELT_OK) result = check_joints(&opened, sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_driven(&opened, sizes[PELT_SECTION_DRIVEN], sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_controls(&opened, sizes[PELT_SECTION_CONTROLS], sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_blocks(&opened);
    if (result == PELT_OK) result = pelt_check_corrective(&opened, sizes);
    if (result != PELT_OK) return result;
    uint64_t about = sizes[PELT_SECTION_ABOUT];
    if (!about || about > UINT32_MAX || opened.about[about - 1] != 0) return PELT_ERROR_FORMAT;
    opened.about_size = (uint32_t)about - 1;
    opened.isa = pelt_isa_works(PELT_ISA_AVX512) ? PELT_ISA_AVX512
                 : pelt_isa_works(PELT_ISA_AVX2) ? PELT_ISA_AVX2
                                                 : PELT_ISA_SIMD128;
    *skin = opened;
    return PELT_OK;
}

size_t pelt_scratch_size(const pelt_skin *skin) {
    return pelt_pose_layout(skin).size + (skin->drivers ? pelt_drive_layout(skin).size : 0);
}

size_t pelt_output_size(const pelt_skin *skin) { return (size_t)skin->block_count * PELT_BLOCK * 3 * sizeof(float); }
