/* pack_levels.c: adds levels of detail to a packed skin: the section LEVL.

   Rows of each block are sorted by the last level that has them, the longest first, so that every level is the
   beginning of each list; between equals the order stays, which is the same in all blocks, so twins stay together. */

#include "pack/builder.h"
#include "pack/sections.h"
#include <math.h>

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

/* Rows in another order. */
typedef struct sorted_rows {
    uint16_t *sources;
    void *numbers; /* floats or shorts */
    uint8_t *last; /* [row] */
} sorted_rows;

static uint8_t last_of_row(const pelt_rows *rows, const uint8_t *last, uint32_t r) {
    return last[rows->shorts ? rows->factors[rows->sources[r]].coefficient : rows->sources[r]];
}

/* Two interleaved rows last as long as one of them does. */
static uint8_t last_of_unit(const pelt_rows *rows, const uint8_t *last, uint32_t r) {
    uint8_t a = last_of_row(rows, last, r), b = rows->shorts ? last_of_row(rows, last, r + 1) : a;
    return a > b ? a : b;
}

static sorted_rows sort_rows(pelt_arena *arena, const pelt_skin *skin, const pelt_rows *rows,
                             const pelt_level_plan *plan) {
    uint32_t unit = rows->shorts ? 2 : 1, count = rows->first[skin->block_count];
    size_t each =
        (size_t)unit * 3 * PELT_BLOCK * (rows->shorts ? sizeof(int16_t) : sizeof(float)); /* bytes of a unit */
    const char *from = rows->shorts ? (const char *)rows->shorts : (const char *)rows->floats;
    sorted_rows out = {PELT_NEW(arena, count, uint16_t), pelt_alloc(arena, count / unit, each),
                       PELT_NEW(arena, count, uint8_t)};
    for (uint32_t b = 0; b < skin->block_count; b++) {
        uint32_t to = rows->first[b];
        for (uint32_t level = plan->displaced_count; level--;)
            for (uint32_t r = rows->first[b]; r < rows->first[b + 1]; r += unit) {
                if (last_of_unit(rows, plan->last, r) != level) continue;
                for (uint32_t i = 0; i < unit; i++)
                    out.sources[to + i] = rows->sources[r + i], out.last[to + i] = (uint8_t)level;
                memcpy((char *)out.numbers + to / unit * each, from + r / unit * each, each);
                to += unit;
            }
    }
    return out;
}

static uint64_t append_ends(builder *b, const pelt_skin *skin, const pelt_rows *rows, const uint8_t *last,
                            uint32_t level) {
    uint64_t at = append(b, skin->block_count, sizeof(uint32_t));
    uint32_t *ends = (uint32_t *)(b->bytes + at);
    for (uint32_t k = 0; k < skin->block_count; k++) {
        ends[k] = rows->first[k];
        while (ends[k] < rows->first[k + 1] && last[ends[k]] >= level) ends[k]++;
    }
    return at;
}

/* -- Fewer joints -------------------------------------------------------------------------------------------------- */

/* Keeps the largest weights of a lane, made to sum to what all of them do; others become 0. weights: [entry][16]. Equal
   ones: the first joints, so that fewer joints are always some of more. */
static void keep_largest(float *weights, uint32_t count, uint32_t lane, uint32_t most) {
    float all = 0, kept = 0;
    uint64_t used[2] = {0, 0}; /* a bit for each of up to PELT_MOST_MERGED entries */
    for (uint32_t e = 0; e < count; e++) all += weights[(size_t)e * PELT_BLOCK + lane];
    for (uint32_t i = 0; i < most; i++) {
        uint32_t best = count;
        for (uint32_t e = 0; e < count; e++) {
            float w = weights[(size_t)e * PELT_BLOCK + lane];
            bool taken = used[e / 64] >> e % 64 & 1;
            if (!taken && w > 0 && (best == count || w > weights[(size_t)best * PELT_BLOCK + lane])) best = e;
        }
        if (best == count) break;
        used[best / 64] |= 1ull << best % 64;
        kept += weights[(size_t)best * PELT_BLOCK + lane];
    }
    for (uint32_t e = 0; e < count; e++) {
        float *w = &weights[(size_t)e * PELT_BLOCK + lane];
        *w = used[e / 64] >> e % 64 & 1 ? *w / kept * all : 0;
    }
}

static bool is_used(const float *row) {
    bool used = false;
    for (int lane = 0; lane < PELT_BLOCK; lane++) used |= row[lane] != 0;
    return used;
}

static void append_entries(builder *b, const pelt_skin *skin, uint32_t most, pelt_file_level *out) {
    uint32_t *first = PELT_NEW(b->arena, (size_t)skin->block_count + 1, uint32_t), count = 0;
    uint16_t *joints = PELT_NEW(b->arena, skin->entry_count, uint16_t);
    float *weights = PELT_NEW(b->arena, (size_t)skin->entry_count * PELT_BLOCK, float);
    for (uint32_t k = 0; k < skin->block_count; k++) {
        uint32_t own = skin->block_first[k], n = skin->block_first[k + 1] - own;
        float work[PELT_MOST_MERGED * PELT_BLOCK];
        memcpy(work, skin->entry_weights + (size_t)own * PELT_BLOCK, n * PELT_BLOCK * sizeof *work);
        for (uint32_t lane = 0; lane < PELT_BLOCK; lane++) keep_largest(work, n, lane, most);
        for (uint32_t e = 0; e < n; e++) {
            if (!is_used(work + (size_t)e * PELT_BLOCK) && (count > first[k] || e + 1 < n)) continue;
            joints[count] = skin->entry_joints[own + e];
            memcpy(weights + (size_t)count++ * PELT_BLOCK, work + (size_t)e * PELT_BLOCK, PELT_BLOCK * sizeof *work);
        }
        first[k + 1] = count;
    }
    out->block_first = append_copy(b, first, (size_t)skin->block_count + 1, sizeof *first);
    out->entry_joints = append_copy(b, joints, count, sizeof *joints);
    out->entry_weights = append_copy(b, weights, (size_t)count * PELT_BLOCK, sizeof *weights);
}

/* -- The file ------------------------------------------------------------------------------------------------------ */

typedef struct level_packing {
    pelt_arena *arena;
    const pelt_skin *skin;
    const pelt_level_plan *plan;
    pelt_packed_section changes[5];
    uint32_t count;
} level_packing;

static void change(level_packing *p, uint32_t kind, uint32_t flags, const void *data, uint64_t size) {
    p->changes[p->count++] = (pelt_packed_section){kind, flags, size, data};
}

static const uint32_t row_kinds[][PELT_ROW_FACTORS + 1] = {
    {0, PELT_FOURCC('C', 'S', 'R', 'C'), PELT_FOURCC('C', 'F', '3', '2'), PELT_FOURCC('C', 'I', '1', '6')},
    {0, PELT_FOURCC('T', 'S', 'R', 'C'), PELT_FOURCC('T', 'F', '3', '2'), PELT_FOURCC('T', 'I', '1', '6')}};

static sorted_rows change_rows(level_packing *p, const pelt_rows *rows, const uint32_t *kinds) {
    sorted_rows sorted = sort_rows(p->arena, p->skin, rows, p->plan);
    uint64_t count = rows->first[p->skin->block_count];
    change(p, kinds[PELT_ROW_SOURCES], PELT_SECTION_REQUIRED, sorted.sources, count * sizeof *sorted.sources);
    change(p, kinds[rows->shorts ? PELT_ROW_SHORTS : PELT_ROW_FLOATS], PELT_SECTION_REQUIRED, sorted.numbers,
           count * 3 * PELT_BLOCK * (rows->shorts ? sizeof(int16_t) : sizeof(float)));
    return sorted;
}

static pelt_result pack_levels(void *user, pelt_error *error) {
    level_packing *p = user;
    const pelt_level_plan *plan = p->plan;
    pelt_rows rows = pelt_skin_rows(p->skin), tilts = pelt_skin_tilts(p->skin);
    pelt_file_level *levels = PELT_NEW(p->arena, plan->level_count, pelt_file_level);
    builder b = {.arena = p->arena};
    pelt_file_levels head = {.level_count = plan->level_count, .displaced_count = plan->displaced_count};
    (void)error;
    append(&b, 1, sizeof head);
    head.levels = append(&b, plan->level_count, sizeof *levels);
    sorted_rows of_rows = {0}, of_tilts = {0};
    if (plan->last) {
        head.last = append_copy(&b, plan->last, pelt_skin_corrective(p->skin)->coefficient_count, 1);
        of_rows = change_rows(p, &rows, row_kinds[0]);
        if (tilts.first) of_tilts = change_rows(p, &tilts, row_kinds[1]);
    }
    for (uint32_t l = 0; l < plan->level_count; l++) {
        levels[l].rms = plan->rms[l], levels[l].p95 = plan->p95[l];
        if (l && plan->last && l < plan->displaced_count) {
            levels[l].row_ends = append_ends(&b, p->skin, &rows, of_rows.last, l);
            if (tilts.first) levels[l].tilt_ends = append_ends(&b, p->skin, &tilts, of_tilts.last, l);
        }
        if (l && plan->influences[l] != plan->influences[l - 1])
            append_entries(&b, p->skin, plan->influences[l], &levels[l]);
    }
    memcpy(b.bytes, &head, sizeof head);
    memcpy(b.bytes + head.levels, levels, plan->level_count * sizeof *levels);
    change(p, PELT_FOURCC('L', 'E', 'V', 'L'), 0, b.bytes, b.size);
    return PELT_OK;
}

pelt_bytes *pelt_pack_levels(const void *bytes, const pelt_skin *skin, const pelt_level_plan *plan, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    level_packing p = {.arena = arena, .skin = skin, .plan = plan};
    if (pelt_stage(arena, pack_levels, &p, error)) return NULL;
    return pelt_change_sections(arena, bytes, p.changes, p.count, error);
}
