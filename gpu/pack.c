/* pack.c: a skin as words, a pose as floats. Lists are the skin's own, with offsets instead of indices, so that shaders
   add and never multiply; rows of the weighted form come in fours, so that four pose distances are one load. */

#include "gpu/pack.h"
#include "runtime/loops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 4 }; /* centres of the weighted form that are processed together */

pelt_result pelt_gpu_check_crowd(uint32_t characters, pelt_error *error) {
    const uint32_t most = UINT32_MAX / 32;
    if (characters <= most) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "characters: %u are more than the %u that are possible", characters,
                     most);
}

pelt_result pelt_gpu_check_range(uint32_t first, uint32_t count, uint32_t most, pelt_error *error) {
    if ((uint64_t)first + count <= most) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "characters %u to %llu were requested, but there is room for %u",
                     first, (unsigned long long)first + count - 1, most);
}

pelt_result pelt_gpu_check_poses(const void *const *scratches, uint32_t count, pelt_error *error) {
    for (uint32_t i = 0; i < count; i++)
        if (!scratches || !scratches[i])
            return pelt_fail(error, PELT_ERROR_ARGUMENT, "scratches: the pose of character %u is NULL", i);
    return PELT_OK;
}

pelt_result pelt_gpu_check_outputs(unsigned outputs, pelt_error *error) {
    if (outputs <= 1) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "outputs: expected 0, or 1 for normals, not %u", outputs);
}

pelt_gpu_box pelt_gpu_rest_box(const pelt_skin *skin) {
    pelt_gpu_box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (uint32_t v = 0; v < skin->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            size_t slot = skin->vertex_slots[v];
            float x = skin->rest_positions[(slot / PELT_BLOCK * 3 + i) * PELT_BLOCK + slot % PELT_BLOCK];
            box.low[i] = fminf(box.low[i], x), box.high[i] = fmaxf(box.high[i], x);
        }
    return box;
}

/* -- Walks ----------------------------------------------------------------------------------------------------------- */

static const void *ring_array(const pelt_skin *skin, uint64_t offset) { return (const char *)skin->rings + offset; }

/* The steps of the walk around a slot, and how many: an odd number. Steps in place at the end, which fill up a block, do
   not count. */
static uint32_t walk_of(const pelt_skin *skin, uint32_t slot, uint32_t *steps) {
    const pelt_file_walks *walks = (const pelt_file_walks *)ring_array(skin, skin->rings->walks) + slot / PELT_BLOCK;
    const uint32_t *rows = ring_array(skin, skin->rings->rows);
    uint32_t lane = slot % PELT_BLOCK, length = 1;
    const uint32_t *row = rows + (size_t)walks->first_row * PELT_BLOCK + lane;
    for (uint32_t k = 0; k < walks->lengths[lane / 4]; k++)
        if (row[(size_t)k * PELT_BLOCK] / 3 != slot) length = (k + 1) | 1;
    for (uint32_t k = 0; steps && k < length; k++) steps[k] = row[(size_t)k * PELT_BLOCK] / 3;
    return length;
}

static uint64_t count_steps(const pelt_skin *skin) {
    uint64_t count = 0;
    for (uint32_t s = 0; skin->rings && s < skin->block_count * PELT_BLOCK; s++) count += walk_of(skin, s, NULL);
    return count;
}

/* -- Layout ----------------------------------------------------------------------------------------- */

static uint64_t rounded(uint64_t words) { return (words + 3) / 4 * 4; }

static uint32_t place(uint64_t *end, uint64_t words) {
    uint64_t at = *end;
    *end += rounded(words);
    return (uint32_t)at;
}

typedef struct lists {
    pelt_rows rows, tilts;
    pelt_block_axes axes;
    const pelt_file_weighted *weighted;
    uint64_t row_count, tilt_count, axis_count; /* as shaders count them: pairs in 16 bits, fours of the weighted
                                                   form */
} lists;

static uint64_t groups_of(uint64_t rows) { return (rows + GROUP - 1) / GROUP; }

static lists lists_of(const pelt_skin *skin) {
    lists l = {0};
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    if (!head) return l;
    uint32_t blocks = skin->block_count;
    l.rows = pelt_skin_rows(skin), l.tilts = pelt_skin_tilts(skin);
    if (head->weighted) {
        l.weighted = (const void *)((const char *)head + head->weighted);
        l.axes = pelt_skin_axes(skin), l.axis_count = l.axes.first[blocks];
        for (uint32_t b = 0; b < blocks; b++) l.row_count += groups_of(l.rows.first[b + 1] - l.rows.first[b]);
        return l;
    }
    l.row_count = l.rows.first[blocks] / (l.rows.shorts ? 2 : 1);
    if (l.tilts.first) l.tilt_count = l.tilts.first[blocks] / (l.tilts.shorts ? 2 : 1);
    return l;
}

static uint64_t factor_count(const pelt_skin *skin, const pelt_rows *rows) {
    return rows->shorts ? rows->factor_count : pelt_skin_corrective(skin)->coefficient_count;
}

static void place_pose(const pelt_skin *skin, const lists *l, pelt_gpu_skin *out) {
    pelt_gpu_numbers *n = &out->numbers;
    uint64_t end = 12 * (uint64_t)out->matrix_count;
    if (l->weighted) {
        n->distance_stride = (uint32_t)rounded(l->weighted->center_count);
        n->at_row_factors = place(&end, l->weighted->axis_count * (uint64_t)n->distance_stride);
    } else if (out->form != PELT_GPU_BLEND) {
        n->at_row_factors = place(&end, factor_count(skin, &l->rows));
        /* Turns in floats have the coefficients of rows in floats. */
        int same = l->rows.floats && l->tilts.floats;
        n->at_tilt_factors = same || !out->tilts ? n->at_row_factors : place(&end, factor_count(skin, &l->tilts));
        if (l->rows.shorts || l->tilts.shorts) n->at_factor_scales = place(&end, 2);
    }
    if (out->levels) n->at_level = place(&end, 2);
    out->own_vec4s = (uint32_t)(end / 4);
    n->at_normal_matrices = out->own_vec4s;
    n->pose_stride = out->own_vec4s + 3 * out->matrix_count;
}

static void place_skin(const pelt_skin *skin, const lists *l, pelt_gpu_skin *out, uint64_t *end) {
    pelt_gpu_numbers *n = &out->numbers;
    uint64_t blocks = skin->block_count, entries = skin->entry_count, lane = PELT_BLOCK;
    uint64_t row = l->weighted ? (l->rows.shorts ? GROUP / 2 : GROUP) * (uint64_t)out->parts * lane : 3 * lane;
    uint64_t tilt = l->weighted ? (l->rows.shorts ? GROUP / 2 : GROUP) * 3 * lane : 3 * lane;
    uint64_t tilts = l->weighted && out->tilts ? l->row_count : l->tilt_count;
    n->block_count = skin->block_count;
    n->at_heads = place(end, 4 * (blocks + 1));
    n->at_joints = place(end, entries);
    n->at_weights = place(end, entries * lane);
    n->at_rest = place(end, 3 * blocks * lane);
    n->at_rest_normals = place(end, 3 * blocks * lane);
    n->at_row_sources = place(end, l->row_count * (l->weighted ? GROUP : 1));
    n->at_rows = place(end, l->row_count * row);
    n->at_tilt_sources = place(end, l->weighted ? 0 : tilts);
    n->at_tilts = place(end, tilts * tilt);
    n->at_axes = place(end, l->axis_count);
    n->at_axis_weights = place(end, l->axis_count * lane);
    n->at_steps = place(end, l->weighted ? 4 * blocks : 0);
    n->at_ring_first = place(end, out->rings ? blocks * lane + 1 : 0);
    n->at_rings = place(end, count_steps(skin));
    n->at_bends = place(end, out->bends ? 4 * blocks * lane : 0);
    n->at_ends = place(end, 2 * blocks * out->levels);
    if (out->rings) memcpy(&n->ring_scale, &skin->rings->scale, sizeof n->ring_scale);
}

/* -- Filling in ---------------------------------------------------------------------------------------------------- */

static void copy_words(uint32_t *to, const void *from, uint64_t words) {
    if (words) memcpy(to, from, (size_t)words * sizeof *to);
}

static void fill_blend(const pelt_skin *skin, const pelt_gpu_numbers *n, uint32_t *words) {
    uint64_t slots = 3 * (uint64_t)skin->block_count * PELT_BLOCK;
    for (uint32_t b = 0; b <= skin->block_count; b++) words[n->at_heads + 4 * (size_t)b] = skin->block_first[b];
    for (uint32_t e = 0; e < skin->entry_count; e++) words[n->at_joints + e] = 3 * (uint32_t)skin->entry_joints[e];
    copy_words(words + n->at_weights, skin->entry_weights, (uint64_t)skin->entry_count * PELT_BLOCK);
    copy_words(words + n->at_rest, skin->rest_positions, slots);
    copy_words(words + n->at_rest_normals, skin->rest_normals, slots);
}

/* `which` is the component of a head: 1 rows, 2 tilts. Two interleaved rows of 16 bits already are a row of words. */
static void fill_rows(const pelt_skin *skin, const pelt_rows *rows, uint32_t which, uint32_t at_heads,
                      uint32_t at_sources, uint32_t at_rows, uint32_t *words) {
    uint32_t step = rows->shorts ? 2 : 1;
    if (!rows->first) return;
    for (uint32_t b = 0; b <= skin->block_count; b++) words[at_heads + 4 * (size_t)b + which] = rows->first[b] / step;
    uint64_t count = rows->first[skin->block_count] / step;
    for (uint64_t r = 0; r < count; r++) words[at_sources + r] = rows->sources[r * step];
    copy_words(words + at_rows, rows->shorts ? (const void *)rows->shorts : rows->floats, count * 3 * PELT_BLOCK);
}

/* The rows of a block in fours, the last padded with zeros for the last centre. */
static void fill_group_rows(const pelt_skin *skin, const pelt_rows *from, const uint32_t *first, uint32_t parts,
                            uint32_t at_rows, uint32_t *words) {
    uint32_t step = from->shorts ? 2 : 1;
    uint64_t row = parts * PELT_BLOCK, group = 0;
    for (uint32_t b = 0; b < skin->block_count; b++) {
        uint64_t rows = (first[b + 1] - first[b]) / step, at = at_rows + group * (GROUP / step) * row;
        const void *numbers = from->shorts ? (const void *)(from->shorts + (size_t)first[b] * row)
                                           : (const void *)(from->floats + (size_t)first[b] * row);
        copy_words(words + at, numbers, rows * row);
        group += groups_of(first[b + 1] - first[b]);
    }
}

static void fill_weighted(const pelt_skin *skin, const lists *l, const pelt_gpu_skin *packed, uint32_t *words) {
    const pelt_gpu_numbers *n = &packed->numbers;
    uint64_t group = 0;
    for (uint32_t b = 0; b <= skin->block_count; b++) {
        uint32_t *head = words + n->at_heads + 4 * (size_t)b;
        head[1] = (uint32_t)group, head[3] = l->axes.first[b];
        if (b == skin->block_count) break;
        uint32_t first = l->rows.first[b], end = l->rows.first[b + 1];
        for (uint32_t r = first; r < first + GROUP * groups_of(end - first); r++)
            words[n->at_row_sources + GROUP * group + (r - first)] = l->rows.sources[r < end ? r : end - 1];
        group += groups_of(end - first);
        if (!l->rows.shorts) continue;
        float steps[4] = {l->rows.factors[2 * (size_t)b].step, l->rows.factors[2 * (size_t)b + 1].step,
                          packed->tilts ? l->tilts.factors[2 * (size_t)b].step : 0, 0};
        copy_words(words + n->at_steps + 4 * (size_t)b, steps, 4);
    }
    fill_group_rows(skin, &l->rows, l->rows.first, packed->parts, n->at_rows, words);
    if (packed->tilts) fill_group_rows(skin, &l->tilts, l->rows.first, 3, n->at_tilts, words);
    for (uint64_t e = 0; e < l->axis_count; e++)
        words[n->at_axes + e] = n->at_row_factors + l->axes.sources[e] * n->distance_stride;
    copy_words(words + n->at_axis_weights, l->axes.weights, l->axis_count * PELT_BLOCK);
}

static void fill_rings(const pelt_skin *skin, const pelt_gpu_skin *packed, uint32_t *words) {
    const pelt_gpu_numbers *n = &packed->numbers;
    uint32_t slots = skin->block_count * PELT_BLOCK, first = 0;
    for (uint32_t s = 0; s < slots; s++) {
        words[n->at_ring_first + s] = first;
        first += walk_of(skin, s, words + n->at_rings + first);
    }
    words[n->at_ring_first + slots] = first;
    if (!packed->bends) return;
    const uint32_t *bends = ring_array(skin, skin->rings->bends), *across = ring_array(skin, skin->rings->across);
    for (uint32_t b = 0; b < skin->block_count; b++) {
        uint32_t *to = words + n->at_bends + 4 * PELT_BLOCK * (size_t)b;
        copy_words(to, bends + 3 * PELT_BLOCK * (size_t)b, 3 * PELT_BLOCK);
        copy_words(to + 3 * PELT_BLOCK, across + PELT_BLOCK * (size_t)b, PELT_BLOCK);
    }
}

/* Ends as shaders count them; a block without displacements ends where it begins. */
static void fill_ends(const pelt_skin *skin, const lists *l, const pelt_gpu_skin *packed, uint32_t *words) {
    const pelt_gpu_numbers *n = &packed->numbers;
    uint32_t *to = words + n->at_ends;
    for (uint32_t level = 1; level <= packed->levels; level++)
        for (uint32_t b = 0; b < skin->block_count; b++, to += 2) {
            const uint32_t *head = words + n->at_heads + 4 * (size_t)b;
            to[0] = head[1], to[1] = head[2];
            if (level == packed->levels) continue;
            to[0] = pelt_level_rows(skin, level).ends[b] / (l->rows.shorts ? 2 : 1);
            if (l->tilts.first) to[1] = pelt_level_tilts(skin, level).ends[b] / (l->tilts.shorts ? 2 : 1);
        }
}

static pelt_gpu_form form_of(const lists *l) {
    if (l->weighted) return l->rows.shorts ? PELT_GPU_WEIGHTED_SHORTS : PELT_GPU_WEIGHTED_FLOATS;
    if (!l->rows.first) return PELT_GPU_BLEND;
    return l->rows.shorts ? PELT_GPU_SHORTS : PELT_GPU_FLOATS;
}

int pelt_gpu_pack(const pelt_skin *skin, pelt_gpu_skin *out) {
    lists l = lists_of(skin);
    uint64_t end = 0;
    *out = (pelt_gpu_skin){.form = form_of(&l), .matrix_count = pelt_matrix_count(skin), .parts = 3};
    if (l.weighted) out->phi = l.weighted->phi, out->parts = l.weighted->normalised ? 4 : 3;
    out->tilts = l.tilts.floats ? 1 : l.tilts.shorts ? 2 : 0;
    if (skin->levels && out->form != PELT_GPU_BLEND) out->levels = skin->levels->displaced_count;
    if (skin->rings) out->rings = 1 + skin->rings->by_angle, out->bends = skin->rings->bends != 0;
    place_pose(skin, &l, out);
    place_skin(skin, &l, out, &end);
    if (end > UINT32_MAX / 2 || !(out->words = calloc((size_t)end, sizeof *out->words))) return 0;
    out->word_count = (size_t)end;
    const pelt_gpu_numbers *n = &out->numbers;
    fill_blend(skin, n, out->words);
    if (l.weighted) {
        fill_weighted(skin, &l, out, out->words);
    } else {
        fill_rows(skin, &l.rows, 1, n->at_heads, n->at_row_sources, n->at_rows, out->words);
        fill_rows(skin, &l.tilts, 2, n->at_heads, n->at_tilt_sources, n->at_tilts, out->words);
    }
    if (out->levels) fill_ends(skin, &l, out, out->words);
    if (out->rings) fill_rings(skin, out, out->words);
    return 1;
}

void pelt_gpu_unpack(pelt_gpu_skin *packed) { free(packed->words); }

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static void copy_matrices(const float *palette, uint32_t count, float *out) {
    for (uint32_t j = 0; j < count; j++) memcpy(out + 12 * (size_t)j, palette + PALETTE_STRIDE * (size_t)j, 48);
}

/* Rounds factors like the processor's loops, so that results agree. */
static void copy_factors(const pelt_rows *rows, const float *coefficients, const int16_t *factors, float scale,
                         uint64_t count, float *out) {
    for (uint64_t i = 0; i < count; i++) out[i] = rows->shorts ? factors[i] * scale : coefficients[i];
}

int pelt_gpu_pose(const pelt_skin *skin, const pelt_gpu_skin *packed, const void *scratch, float *out) {
    const pelt_gpu_numbers *n = &packed->numbers;
    pelt_pose_offsets at = pelt_pose_layout(skin);
    const pelt_pose_head *head = scratch;
    const char *bytes = scratch;
    const float *palette = (const float *)(bytes + at.palette);
    const float *normal_palette = head->rigid ? palette : (const float *)(bytes + at.normal_palette);
    copy_matrices(palette, packed->matrix_count, out);
    copy_matrices(normal_palette, packed->matrix_count, out + 4 * (size_t)n->at_normal_matrices);
    if (packed->form == PELT_GPU_BLEND) return !head->rigid;

    pelt_detail detail = pelt_detail_of(skin, head->level);
    if (packed->levels) {
        out[n->at_level] = (float)(detail.level < packed->levels ? detail.level : packed->levels);
        out[n->at_level + 1] = pelt_weighted_share(skin, detail);
    }
    if (!pelt_is_displaced(skin, detail.level)) { /* the pose has no factors */
        size_t end = packed->levels ? n->at_level : 4 * (size_t)packed->own_vec4s;
        memset(out + n->at_row_factors, 0, (end - n->at_row_factors) * sizeof *out);
        if (packed->levels) out[n->at_level + 1] = 0;
        return !head->rigid;
    }
    lists l = lists_of(skin);
    pelt_corrective_offsets c = pelt_corrective_outputs(skin);
    const char *own = bytes + at.size;
    const float *scales = (const float *)(own + c.factor_scales), *a = (const float *)(own + c.coefficients);
    if (l.weighted) {
        const float *distances = (const float *)(own + c.distances);
        size_t from = pelt_padded(l.weighted->center_count), to = n->distance_stride;
        for (size_t axis = 0; axis < l.weighted->axis_count; axis++)
            memcpy(out + n->at_row_factors + to * axis, distances + from * axis, to * sizeof *out);
        return !head->rigid;
    }
    copy_factors(&l.rows, a, (const int16_t *)(own + c.row_factors), scales[0], factor_count(skin, &l.rows),
                 out + n->at_row_factors);
    if (packed->tilts)
        copy_factors(&l.tilts, a, (const int16_t *)(own + c.tilt_factors), scales[1], factor_count(skin, &l.tilts),
                     out + n->at_tilt_factors);
    if (n->at_factor_scales) memcpy(out + n->at_factor_scales, scales, 2 * sizeof *scales);
    return !head->rigid;
}
