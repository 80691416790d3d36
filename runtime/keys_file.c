/* keys_file.c: opens a .keys file in memory. Everything is checked here, once. */

#include "runtime/container.h"
#include "runtime/keys_format.h"
#include <string.h>

static int all_halves_finite(const uint16_t *halves, uint64_t count) {
    uint32_t bad = 0;
    for (uint64_t i = 0; i < count; i++) bad |= (halves[i] & 0x7c00u) == 0x7c00u;
    return !bad;
}

/* As many names as controls, each ended by a zero. */
static int are_names(const char *names, uint64_t size, uint64_t count) {
    uint64_t ends = 0;
    for (uint64_t i = 0; i < size; i++) ends += !names[i];
    return count && ends == count && pelt_is_text(names, size);
}

static pelt_result find_sections(const void *bytes, pelt_keys *keys) {
    const pelt_known_section known[PELT_KEYS_SECTION_COUNT] = {
#define KNOWN(name, code, member, size, always) {code, always, offsetof(pelt_keys, member), size},
        PELT_KEYS_SECTIONS(KNOWN)
#undef KNOWN
    };
    uint64_t sizes[PELT_KEYS_SECTION_COUNT] = {0};
    pelt_result result = pelt_find_sections(bytes, known, PELT_KEYS_SECTION_COUNT, keys, sizes);
    if (result != PELT_OK) return result;
    if (!pelt_is_text(keys->about, sizes[PELT_KEYS_SECTION_ABOUT])) return PELT_ERROR_FORMAT;
    keys->about_size = (uint32_t)sizes[PELT_KEYS_SECTION_ABOUT] - 1;
    uint64_t witnesses = sizes[PELT_KEYS_SECTION_WITNESSES];
    if (!keys->witness_rule != !keys->witness_points || witnesses % 4 || witnesses / 4 > keys->engine_point_count)
        return PELT_ERROR_FORMAT;
    keys->witness_count = (uint32_t)(witnesses / 4);
    uint64_t controls = sizes[PELT_KEYS_SECTION_CONTROLS] / sizeof(pelt_control_range);
    if (controls * sizeof(pelt_control_range) != sizes[PELT_KEYS_SECTION_CONTROLS] || controls > UINT32_MAX ||
        !keys->control_ranges != !controls)
        return PELT_ERROR_FORMAT;
    keys->control_count = (uint32_t)controls;
    uint64_t names = sizes[PELT_KEYS_SECTION_CONTROL_NAMES];
    if (keys->control_names && !are_names(keys->control_names, names, controls)) return PELT_ERROR_FORMAT;
    keys->control_names_size = (uint32_t)names;
    uint64_t curve = sizes[PELT_KEYS_SECTION_CURVE] / sizeof(pelt_keys_error), user = sizes[PELT_KEYS_SECTION_USER];
    if (curve * sizeof(pelt_keys_error) != sizes[PELT_KEYS_SECTION_CURVE] || curve > UINT32_MAX ||
        !keys->curve != !curve || user > UINT32_MAX || !keys->user_data != !user)
        return PELT_ERROR_FORMAT;
    keys->curve_count = (uint32_t)curve, keys->user_size = (uint32_t)user;
    if (keys->witness_rule && (!keys->witness_rule->each_frame || keys->witness_rule->each_frame > keys->witness_count))
        return PELT_ERROR_FORMAT;
    return PELT_OK;
}

static pelt_result check_numbers(const pelt_keys *keys) {
    uint64_t memberships = (uint64_t)keys->point_count * PELT_POINT_REGIONS;
    if (!pelt_all_below_u32(keys->key_points, keys->key_count, keys->engine_point_count) ||
        !pelt_all_below_u32(keys->witness_points, keys->witness_count, keys->engine_point_count) ||
        !pelt_all_below_u16(keys->point_regions, memberships, keys->region_count))
        return PELT_ERROR_INDEX;
    uint64_t key_rows = keys->key_row_count, basis = (uint64_t)keys->block_count * keys->basis_count * PELT_BLOCK;
    int finite = pelt_all_finite(keys->mean, (uint64_t)keys->block_count * PELT_BLOCK) &&
                 pelt_all_finite(keys->key_mean, key_rows) &&
                 pelt_all_finite(keys->map, PELT_KEYS_MATRIX(keys->basis_count, key_rows) / 4) &&
                 pelt_all_finite(keys->misfit, PELT_KEYS_MATRIX(key_rows, key_rows) / 4) &&
                 pelt_all_finite(keys->bounds, 2 * (uint64_t)keys->region_count) &&
                 pelt_all_finite(keys->point_region_weights, memberships) && pelt_all_finite(&keys->diagonal, 1) &&
                 (keys->half ? all_halves_finite(keys->basis, basis) : pelt_all_finite(keys->basis, basis));
    for (uint32_t g = 0; finite && g < keys->region_count; g++)
        finite = keys->bounds[g].rms > 0 && keys->bounds[g].largest > 0;
    if (finite && keys->witness_rule)
        finite = pelt_all_finite(&keys->witness_rule->bound, 1) && keys->witness_rule->bound > 0;
    if (finite && keys->control_ranges)
        finite = pelt_all_finite(keys->control_ranges, 2 * (uint64_t)keys->control_count);
    for (uint32_t c = 0; finite && c < keys->control_count; c++)
        finite = keys->control_ranges[c].low <= keys->control_ranges[c].high;
    for (uint32_t i = 0; finite && i < keys->curve_count; i++)
        finite = pelt_all_finite(&keys->curve[i].error, 1) && keys->curve[i].error >= 0 && keys->curve[i].keys;
    if (finite && keys->left_out) finite = pelt_all_finite(keys->left_out, (uint64_t)keys->block_count * PELT_BLOCK);
    for (uint32_t r = 0; finite && keys->left_out && r < keys->row_count; r++) finite = keys->left_out[r] >= 0;
    return finite && keys->diagonal > 0 ? PELT_OK : PELT_ERROR_NUMBER;
}

pelt_result pelt_keys_open(const void *bytes, size_t size, pelt_keys *keys) {
    if (!keys) return PELT_ERROR_ARGUMENT;
    memset(keys, 0, sizeof *keys);
    pelt_result result = pelt_check_container(bytes, size, PELT_KEYS_MAGIC, PELT_KEYS_VERSION);
    if (result != PELT_OK) return result;
    const pelt_keys_header *header = bytes;
    pelt_keys opened = {0};
    if (!pelt_keys_counts(header, &opened)) return PELT_ERROR_FORMAT;
    result = find_sections(bytes, &opened);
    if (result == PELT_OK) result = check_numbers(&opened);
    if (result != PELT_OK) return result;
    opened.isa = pelt_best_isa();
    *keys = opened;
    return PELT_OK;
}
