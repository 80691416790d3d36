/* levels.c: levels of detail: checks the section LEVL once, then says what each level consists of.

   At level x = l + f, 0 <= f < 1, a coefficient whose last level is m counts

       1 for m > l,   1 - f for m = l,   0 for m < l

   and a weight w_l + f (w_(l+1) - w_l): everything is continuous in x, and what counts 0 is not computed. */

#include "runtime/container.h"
#include "runtime/loops.h"
#include <math.h>
#include <string.h>

/* -- Checks -------------------------------------------------------------------------------------------------------- */

/* Ends of rows: of every block, not before its first row, not after the end at the level before; two rows of 16 bits
   stay together. */
static pelt_result check_ends(const pelt_section *s, uint64_t offset, const pelt_skin *skin, const pelt_rows *before) {
    const uint32_t *ends = offset ? pelt_array_at(s, offset, skin->block_count, sizeof *ends, 1) : NULL;
    if (!offset != !before->first) return PELT_ERROR_FORMAT;
    if (!offset) return PELT_OK;
    if (!ends) return PELT_ERROR_FORMAT;
    int inside = 1;
    for (uint32_t b = 0; b < skin->block_count; b++)
        inside &= ends[b] >= before->first[b] && ends[b] <= before->ends[b] && !(before->shorts && ends[b] % 2);
    return inside ? PELT_OK : PELT_ERROR_INDEX;
}

/* Joints are some of those of the level before, in their order, and these are few enough to be merged. */
static pelt_result check_entries(const pelt_section *s, const pelt_file_level *level, const pelt_skin *skin,
                                 const pelt_entries *before) {
    const uint32_t *first = pelt_array_at(s, level->block_first, (uint64_t)skin->block_count + 1, sizeof *first, 1);
    if (!first || first[0]) return PELT_ERROR_FORMAT;
    for (uint32_t b = 0; b < skin->block_count; b++)
        if (first[b] >= first[b + 1]) return PELT_ERROR_INDEX;
    uint32_t count = first[skin->block_count];
    const uint16_t *joints = pelt_array_at(s, level->entry_joints, count, sizeof *joints, 1);
    if (!joints || !level->entry_joints || !level->entry_weights) return PELT_ERROR_FORMAT;
    for (uint32_t b = 0; b < skin->block_count; b++) {
        uint32_t next = first[b];
        if (before->first[b + 1] - before->first[b] > PELT_MOST_MERGED) return PELT_ERROR_FORMAT;
        for (uint32_t e = before->first[b]; e < before->first[b + 1]; e++)
            next += next < first[b + 1] && joints[next] == before->joints[e];
        if (next != first[b + 1]) return PELT_ERROR_INDEX;
    }
    return pelt_check_floats(s, level->entry_weights, count, PELT_BLOCK);
}

static pelt_result check_level(const pelt_section *s, const pelt_skin *skin, uint32_t l) {
    const pelt_file_levels *head = skin->levels;
    const pelt_file_level *level = (const pelt_file_level *)(s->bytes + head->levels) + l;
    int by_rows = l && head->last && l < head->displaced_count;
    if (!pelt_all_finite(&level->rms, 2) || level->rms < 0 || level->p95 < 0) return PELT_ERROR_NUMBER;
    if (l ? level->rms < level[-1].rms || level->p95 < level[-1].p95 : level->rms > 0 || level->p95 > 0)
        return PELT_ERROR_NUMBER;
    if (!by_rows && (level->row_ends || level->tilt_ends)) return PELT_ERROR_FORMAT;
    if (!level->block_first && (level->entry_joints || level->entry_weights)) return PELT_ERROR_FORMAT;
    if (!l && level->block_first) return PELT_ERROR_FORMAT;
    pelt_result result = PELT_OK;
    if (by_rows) {
        pelt_rows rows = pelt_level_rows(skin, l - 1), tilts = pelt_level_tilts(skin, l - 1);
        result = check_ends(s, level->row_ends, skin, &rows);
        if (!result) result = check_ends(s, level->tilt_ends, skin, &tilts);
    }
    if (result || !level->block_first) return result;
    pelt_entries before = pelt_level_entries(skin, l - 1);
    return check_entries(s, level, skin, &before);
}

pelt_result pelt_check_levels(const pelt_skin *skin, uint64_t size) {
    const pelt_file_levels *head = skin->levels;
    const pelt_file_corrective *corrective = pelt_skin_corrective(skin);
    pelt_section s = {(const char *)head, size};
    if (!head) return PELT_OK;
    if (size < sizeof *head || head->level_count < 2 || head->level_count > PELT_MOST_LEVELS ||
        head->displaced_count > head->level_count || !head->displaced_count != !corrective ||
        !pelt_array_at(&s, head->levels, head->level_count, sizeof(pelt_file_level), 1))
        return PELT_ERROR_FORMAT;
    if (!head->last != (!corrective || corrective->weighted)) return PELT_ERROR_FORMAT;
    if (head->last) {
        const uint8_t *last = pelt_array_at(&s, head->last, corrective->coefficient_count, 1, 1);
        if (!last) return PELT_ERROR_FORMAT;
        for (uint32_t k = 0; k < corrective->coefficient_count; k++)
            if (last[k] >= head->displaced_count) return PELT_ERROR_INDEX;
    }
    pelt_result result = PELT_OK;
    for (uint32_t l = 0; l < head->level_count && !result; l++) result = check_level(&s, skin, l);
    return result;
}

/* -- What a level consists of -------------------------------------------------------------------------------------- */

uint32_t pelt_level_count(const pelt_skin *skin) { return skin->levels ? skin->levels->level_count : 1; }

/* -- Which level --------------------------------------------------------------------------------------------------- */

void pelt_get_level(const pelt_skin *skin, uint32_t level, pelt_level_facts *facts) {
    uint32_t count = pelt_level_count(skin), most = 0;
    level = level < count ? level : count - 1;
    *facts = (pelt_level_facts){0};
    pelt_entries entries = pelt_level_entries(skin, level);
    facts->joints = (float)entries.first[skin->block_count] / (float)skin->block_count;
    if (pelt_is_displaced(skin, level)) {
        pelt_rows rows = pelt_level_rows(skin, level);
        uint64_t sum = 0;
        for (uint32_t b = 0; b < skin->block_count; b++) sum += rows.ends[b] - rows.first[b];
        facts->vectors = (float)sum / (float)skin->block_count;
    }
    for (uint32_t b = 0; b < skin->block_count; b++)
        for (int lane = 0; lane < PELT_BLOCK; lane++) {
            uint32_t used = 0;
            for (uint32_t e = entries.first[b]; e < entries.first[b + 1]; e++)
                used += entries.weights[(size_t)e * PELT_BLOCK + (size_t)lane] != 0;
            most = used > most ? used : most;
        }
    facts->influences = most;
    if (skin->levels) facts->rms = pelt_levels_of(skin)[level].rms, facts->p95 = pelt_levels_of(skin)[level].p95;
}

/* Between levels l and l + 1 vertices are at most (1 - f) p95_l + f p95_(l+1) away, so fading along with the allowed
   error never exceeds it; it is over when the next level alone would do. */
float pelt_level(const pelt_skin *skin, const pelt_level_view *view) {
    float pixels = view->pixels > 0 ? view->pixels : 1, zone = view->zone > 0 ? fminf(view->zone, 1) : 0.25f;
    if (!skin->levels || !(view->distance > 0) || !(view->height > 0) || !(view->field_of_view > 0) ||
        !(view->field_of_view < 3.14159265f))
        return 0;
    float half = view->field_of_view / 2,
          allowed = pixels * 2 * view->distance * sinf(half) / cosf(half) / view->height;
    const pelt_file_level *levels = pelt_levels_of(skin);
    uint32_t l = 0, last = skin->levels->level_count - 1;
    while (l < last && levels[l + 1].p95 <= allowed) l++;
    if (l == last) return (float)last;
    float way = (allowed - levels[l].p95) / (levels[l + 1].p95 - levels[l].p95), f = (way - (1 - zone)) / zone;
    return (float)l + fminf(fmaxf(f, 0), 0.999999f);
}
