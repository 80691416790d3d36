/* skin.c: opens a skin file in memory. Everything is checked here, once, and never again. */

#include "runtime/container.h"
#include "runtime/loops.h"
#include <string.h>

_Static_assert(PELT_SECTION_COUNT <= 64, "pelt_find_sections keeps a bit for each");

static pelt_result find_sections(const void *bytes, pelt_skin *skin, uint64_t sizes[PELT_SECTION_COUNT]) {
    const pelt_known_section known[PELT_SECTION_COUNT] = {
#define KNOWN(name, code, member, size, always) {code, always, offsetof(pelt_skin, member), size},
        PELT_SECTIONS(KNOWN)
#undef KNOWN
    };
    return pelt_find_sections(bytes, known, PELT_SECTION_COUNT, skin, sizes);
}

static int is_rigid(const float *m) {
    int rigid = 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            float d = m[4 * a] * m[4 * b] + m[4 * a + 1] * m[4 * b + 1] + m[4 * a + 2] * m[4 * b + 2] - (float)(a == b);
            rigid &= d < 2e-5f && d > -2e-5f;
        }
    return rigid;
}

/* Sets rigid_binds. */
static pelt_result check_joints(pelt_skin *skin, uint64_t names_size) {
    if (!pelt_is_text(skin->names, names_size)) return PELT_ERROR_FORMAT;
    skin->rigid_binds = 1;
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        const pelt_joint *joint = &skin->joints[j];
        if (joint->parent < -1 || joint->parent >= (int64_t)j || joint->name >= names_size) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&joint->rest, 10) || !pelt_all_finite(joint->inverse_bind, 12)) return PELT_ERROR_NUMBER;
        skin->rigid_binds &= (uint32_t)is_rigid(joint->inverse_bind);
    }
    return PELT_OK;
}

/* Sets driven_count from the size of the section. */
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
        if (!pelt_all_finite(&d->amount, 1) || !pelt_all_finite(d->origin, 12) || (bulges && d->amount < 0))
            return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

/* Sets control_count from the size of the section. */
static pelt_result check_controls(pelt_skin *skin, uint64_t size, uint64_t names_size) {
    if (!skin->controls) return PELT_OK;
    if (!size || size % sizeof(pelt_control) || size / sizeof(pelt_control) > 65536) return PELT_ERROR_FORMAT;
    skin->control_count = (uint32_t)(size / sizeof(pelt_control));
    for (uint32_t i = 0; i < skin->control_count; i++) {
        if (skin->controls[i].name >= names_size) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&skin->controls[i].rest, 3)) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_blocks(const pelt_skin *skin) {
    const uint32_t *first = skin->block_first;
    int ordered = first[0] == 0 && first[skin->block_count] == skin->entry_count;
    for (uint32_t b = 0; b < skin->block_count; b++) ordered &= first[b] < first[b + 1];
    if (!ordered) return PELT_ERROR_INDEX;
    uint64_t entries = skin->entry_count, slots = (uint64_t)skin->block_count * PELT_BLOCK;
    if (!pelt_all_below_u16(skin->entry_joints, entries, pelt_matrix_count(skin)) ||
        !pelt_all_below_u32(skin->vertex_slots, skin->vertex_count, slots))
        return PELT_ERROR_INDEX;
    if (!pelt_all_finite(skin->entry_weights, entries * PELT_BLOCK) ||
        !pelt_all_finite(skin->rest_positions, 3 * slots) || !pelt_all_finite(skin->rest_normals, 3 * slots) ||
        (skin->rest_tangents && !pelt_all_finite(skin->rest_tangents, 4 * slots)))
        return PELT_ERROR_NUMBER;
    return PELT_OK;
}

static int are_sound_lengths(const pelt_file_walks *w) {
    uint32_t most = w[1].first_row - w[0].first_row;
    int sound = w[0].first_row < w[1].first_row && w->careful <= 1;
    for (int i = 0; i < 4; most = w->lengths[i++]) sound &= w->lengths[i] % 2 == 1 && w->lengths[i] <= most;
    return sound;
}

/* Only blocks that say so have the last slot of all. */
static pelt_result check_walks(const pelt_section *s, const pelt_skin *skin) {
    const pelt_file_rings *r = skin->rings;
    uint64_t end = 3 * (uint64_t)skin->block_count * PELT_BLOCK;
    const pelt_file_walks *walks = pelt_array_at(s, r->walks, (uint64_t)skin->block_count + 1, sizeof *walks, 1);
    if (!walks) return PELT_ERROR_FORMAT;
    int sound = walks[0].first_row == 0 && walks[skin->block_count - 1].careful;
    for (uint32_t b = 0; b < skin->block_count; b++) sound &= are_sound_lengths(&walks[b]);
    if (!sound) return PELT_ERROR_INDEX;
    const uint32_t *rows = pelt_array_at(s, r->rows, walks[skin->block_count].first_row, PELT_BLOCK, sizeof *rows);
    if (!rows) return PELT_ERROR_FORMAT;
    for (uint32_t b = 0; b < skin->block_count; b++)
        for (uint64_t i = (uint64_t)walks[b].first_row * PELT_BLOCK; i < (uint64_t)walks[b + 1].first_row * PELT_BLOCK;
             i++)
            sound &= rows[i] % 3 == 0 && rows[i] < (walks[b].careful ? end : end - 3);
    return sound ? PELT_OK : PELT_ERROR_INDEX;
}

static pelt_result check_rings(const pelt_skin *skin, uint64_t size) {
    const pelt_file_rings *r = skin->rings;
    pelt_section s = {(const char *)r, size};
    if (!r) return PELT_OK;
    if (size < sizeof *r || r->by_angle > 1 || !r->bends != !r->across) return PELT_ERROR_FORMAT;
    if (!pelt_all_finite(&r->scale, 1) || !(r->scale > 0)) return PELT_ERROR_NUMBER;
    pelt_result result = check_walks(&s, skin);
    if (result || !r->bends) return result;
    uint64_t slots = (uint64_t)skin->block_count * PELT_BLOCK;
    const uint32_t *across = pelt_array_at(&s, r->across, slots, sizeof *across, 1);
    if (!across) return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u32(across, slots, slots)) return PELT_ERROR_INDEX;
    return pelt_check_floats(&s, r->bends, slots, 3);
}

static pelt_result check_facts(const pelt_facts *f, uint64_t size) {
    const char *bytes = (const char *)f;
    if (!f) return PELT_OK;
    if (size < sizeof *f) return PELT_ERROR_FORMAT;
    uint64_t arrays = sizeof *f + 8 * (uint64_t)f->value_count + 4 * (uint64_t)f->mover_count;
    if (arrays >= size || bytes[size - 1]) return PELT_ERROR_FORMAT;
    const double *values = (const double *)(f + 1);
    const uint32_t *ranks = (const uint32_t *)(values + f->value_count);
    uint64_t value_count = 0, text_count = 0;
    for (uint32_t i = 0; i < f->mover_count; i++) value_count += ranks[i];
    for (uint64_t i = arrays; i < size; i++) text_count += !bytes[i];
    if (value_count != f->value_count || text_count != PELT_FACT_CLIPS + (uint64_t)f->clip_count + f->mover_count)
        return PELT_ERROR_FORMAT;
    return pelt_all_finite_doubles(&f->train.rms, 5) && pelt_all_finite_doubles(&f->holdout.rms, 5) &&
                   pelt_all_finite_doubles(values, value_count)
               ? PELT_OK
               : PELT_ERROR_NUMBER;
}

pelt_result pelt_open(const void *bytes, size_t size, pelt_skin *skin) {
    if (!skin) return PELT_ERROR_ARGUMENT;
    memset(skin, 0, sizeof *skin);
    pelt_result result = pelt_check_container(bytes, size, PELT_MAGIC, PELT_FORMAT_VERSION);
    if (result != PELT_OK) return result;
    const pelt_file_header *header = bytes;
    if (!header->vertex_count || !header->joint_count || header->joint_count > 65536 ||
        header->block_count != ((uint64_t)header->vertex_count + PELT_BLOCK - 1) / PELT_BLOCK)
        return PELT_ERROR_FORMAT;

    pelt_skin opened = {.vertex_count = header->vertex_count,
                        .block_count = header->block_count,
                        .joint_count = header->joint_count,
                        .entry_count = header->entry_count};
    uint64_t sizes[PELT_SECTION_COUNT] = {0};
    result = find_sections(bytes, &opened, sizes);
    if (result == PELT_OK) result = check_joints(&opened, sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_driven(&opened, sizes[PELT_SECTION_DRIVEN], sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_controls(&opened, sizes[PELT_SECTION_CONTROLS], sizes[PELT_SECTION_NAMES]);
    if (result == PELT_OK) result = check_blocks(&opened);
    if (result == PELT_OK) result = pelt_check_corrective(&opened, sizes);
    if (result == PELT_OK) result = check_rings(&opened, sizes[PELT_SECTION_RINGS]);
    if (result == PELT_OK) result = pelt_check_levels(&opened, sizes[PELT_SECTION_LEVELS]);
    if (result == PELT_OK) result = pelt_check_confidence(&opened, sizes[PELT_SECTION_CONFIDENCE]);
    if (result == PELT_OK) result = check_facts(opened.facts, sizes[PELT_SECTION_FACTS]);
    if (result == PELT_OK && !pelt_is_text(opened.about, sizes[PELT_SECTION_ABOUT])) result = PELT_ERROR_FORMAT;
    if (result != PELT_OK) return result;
    opened.about_size = (uint32_t)sizes[PELT_SECTION_ABOUT] - 1;
    opened.isa = pelt_best_isa();
    *skin = opened;
    return PELT_OK;
}

size_t pelt_scratch_size(const pelt_skin *skin) { return pelt_memory_size(pelt_surface_layout(skin).size); }

size_t pelt_tangents_size(const pelt_skin *skin) { return (size_t)skin->block_count * PELT_BLOCK * 4 * sizeof(float); }

size_t pelt_output_size(const pelt_skin *skin) { return (size_t)skin->block_count * PELT_BLOCK * 3 * sizeof(float); }
