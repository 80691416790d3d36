/* pack_corrective.c: a corrective becomes sections of a skin file: for each block of 16 vertices the coefficients (or
   centres) that any of them uses, each with 16-wide rows of displacements; and what makes coefficients
   of a pose, laid out so that centres are worked on sixteen at a time (docs/format.md). */

#include "pack/pack.h"
#include <math.h>
#include <string.h>

/* -- The order of vertices ----------------------------------------------------------------------------------------- */

static bool uses_center(const pelt_weighted *w, uint32_t v, size_t q) {
    const float *c = w->folded + 4 * ((size_t)v * w->center_count + q);
    const float *t = w->folded_turns ? w->folded_turns + 3 * ((size_t)v * w->center_count + q) : c;
    return c[0] != 0 || c[1] != 0 || c[2] != 0 || (c[3] != 0 && !w->unnormalised) || t[0] != 0 || t[1] != 0 ||
           t[2] != 0;
}

/* What a vertex uses of a corrective: coefficients, those of turns after the others, or centres and axes of the weighted
   form. Lists it at `out` (NULL: only counts). */
static uint32_t list_columns(const pelt_corrective *c, uint32_t v, uint32_t *out) {
    const pelt_displacements *rows[2] = {c->displacements, c->turns};
    const pelt_weighted *w = c->weighted;
    uint32_t count = 0;
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = rows[r] ? rows[r]->first[v] : 0; rows[r] && i < rows[r]->first[v + 1]; i++, count++)
            if (out) out[count] = r * pelt_corrective_coefficient_count(c) + rows[r]->coefficients[i];
    for (uint32_t q = 0; w && q < w->center_count; q++)
        if (uses_center(w, v, q)) {
            if (out) out[count] = q;
            count++;
        }
    for (uint32_t i = w ? w->first[v] : 0; w && i < w->first[v + 1]; i++, count++)
        if (out) out[count] = w->center_count + w->vertex_axes[i];
    return count;
}

/* Joints and what else each vertex uses as one list: column k of the corrective is column joint_count + k. */
static pelt_influences combined_columns(pelt_arena *arena, const pelt_model *model, uint32_t joint_count) {
    const pelt_influences *in = &model->influences;
    uint32_t n = model->vertex_count, at = 0;
    uint64_t total = in->first[n];
    for (uint32_t v = 0; v < n; v++) total += list_columns(model->corrective, v, NULL);
    if (total > UINT32_MAX) pelt_arena_fail(arena);
    pelt_influences out = {.first = PELT_NEW(arena, (size_t)n + 1, uint32_t),
                           .joints = PELT_NEW(arena, total, uint32_t),
                           .weights = PELT_NEW(arena, total, float)};
    for (uint32_t v = 0; v < n; v++) {
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++, at++)
            out.joints[at] = in->joints[i], out.weights[at] = in->weights[i];
        uint32_t count = list_columns(model->corrective, v, out.joints + at);
        for (uint32_t end = at + count; at < end; at++) out.joints[at] += joint_count, out.weights[at] = 1;
        out.first[v + 1] = at;
    }
    return out;
}

void pelt_model_order(pelt_arena *arena, const pelt_model *model, uint32_t *order) {
    uint32_t n = model->vertex_count, joints = pelt_model_matrix_count(model);
    const pelt_corrective *c = model->corrective;
    if (model->order) {
        memcpy(order, model->order, n * sizeof *order);
        return;
    }
    if (c && (c->displacements || c->weighted)) {
        /* A row of the weighted form costs no less than a joint: it is a function of a distance. */
        uint32_t columns = c->weighted ? c->weighted->center_count + c->weighted->axis_count
                                       : 2 * pelt_corrective_coefficient_count(c);
        pelt_influences all = combined_columns(arena, model, joints);
        pelt_block_order(arena, &all, n, (pelt_block_columns){c->weighted ? 0 : joints, joints + columns}, order);
    } else {
        pelt_block_order(arena, &model->influences, n, (pelt_block_columns){joints, joints}, order);
    }
    if (!c || !c->displacements) pelt_gather_twins(arena, model, order);
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

typedef void mark_vertex(const void *user, uint32_t vertex, uint8_t *used);

/* How rows are grouped: not at all; sources 2 i and 2 i + 1 together; or any two that follow one another. The last of
   an odd number has a filler of the same source beside it. */
typedef enum grouping { SINGLE, NEIGHBOURS, TWOS } grouping;

/* Lists the sources marked in `used` at `out` (NULL: only counts) and clears the marks. */
static uint64_t take_marked(uint8_t *used, uint32_t source_count, grouping group, uint16_t *out) {
    uint64_t count = 0;
    for (uint32_t s = 0; s < source_count; s++) {
        if (group == NEIGHBOURS && s % 2 == 0 && s + 1 < source_count) used[s] = used[s + 1] |= used[s];
        if (!used[s]) continue;
        if (out) out[count] = (uint16_t)s;
        count++;
    }
    if (group != SINGLE && count % 2) {
        if (out) out[count] = out[count - 1];
        count++;
    }
    memset(used, 0, source_count);
    return count;
}

/* A bitmap of sources is turned into sorted lists. Two passes: count, then list. Where any two may be together, linked
   blocks (NULL: none are) still have neighbours, so that the same ones are everywhere. */
static pelt_row_lists list_sources(pelt_arena *arena, uint32_t block_count, const uint32_t *order,
                                   uint32_t source_count, mark_vertex *mark, const void *user, grouping group,
                                   const uint32_t *links) {
    uint8_t *linked = PELT_NEW(arena, block_count, uint8_t);
    for (uint32_t b = 0; links && b < block_count; b++)
        if (links[b] != b) linked[b] = linked[links[b]] = 1;
    uint8_t *used = PELT_NEW(arena, source_count, uint8_t);
    pelt_row_lists out = {.first = PELT_NEW(arena, (size_t)block_count + 1, uint32_t)};
    for (int filling = 0; filling < 2; filling++) {
        uint64_t count = 0;
        for (uint32_t b = 0; b < block_count; b++) {
            for (int lane = 0; lane < PELT_BLOCK; lane++)
                mark(user, order[(size_t)b * PELT_BLOCK + (size_t)lane], used);
            count +=
                take_marked(used, source_count, linked[b] ? NEIGHBOURS : group, filling ? out.sources + count : NULL);
            if (count > UINT32_MAX) pelt_arena_fail(arena);
            out.first[b + 1] = (uint32_t)count;
        }
        out.count = (uint32_t)count;
        if (!filling) out.sources = PELT_NEW(arena, count, uint16_t);
    }
    return out;
}

/* The row of a source in a block: lists are sorted. */
static uint32_t row_of(const pelt_row_lists *l, uint32_t block, uint32_t source) {
    uint32_t low = l->first[block], high = l->first[block + 1] - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (l->sources[middle] < source)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void mark_displacements(const void *user, uint32_t v, uint8_t *used) {
    const pelt_displacements *d = user;
    for (size_t i = d->first[v]; i < d->first[v + 1]; i++) {
        const float *u = d->vectors + 3 * i;
        if (u[0] != 0 || u[1] != 0 || u[2] != 0) used[d->coefficients[i]] = 1;
    }
}

/* [row][3][16] from one vector per entry. */
static float *displacement_rows(pelt_arena *arena, const pelt_displacements *d, const pelt_row_lists *l,
                                const uint32_t *order, uint32_t block_count) {
    float *rows = PELT_NEW(arena, (size_t)l->count * 3 * PELT_BLOCK, float);
    for (size_t slot = 0; slot < (size_t)block_count * PELT_BLOCK; slot++) {
        uint32_t v = order[slot], block = (uint32_t)(slot / PELT_BLOCK);
        for (size_t i = d->first[v]; i < d->first[v + 1]; i++) {
            if (l->first[block] == l->first[block + 1]) continue;
            uint32_t row = row_of(l, block, d->coefficients[i]);
            if (l->sources[row] != d->coefficients[i]) continue; /* nothing but zeros in this block */
            for (size_t c = 0; c < 3; c++)
                rows[((size_t)row * 3 + c) * PELT_BLOCK + slot % PELT_BLOCK] += d->vectors[3 * i + c];
        }
    }
    return rows;
}

typedef struct corrective_packing {
    pelt_arena *arena;
    const pelt_model *model;
    const uint32_t *order;
    pelt_skin *skin;
    uint64_t *sizes;
} corrective_packing;

/* -- The basis form ------------------------------------------------------------------------------------------------ */

/* Points the sections of rows, from `section` on, at their arrays. */
static void put_rows(corrective_packing *p, int section, const pelt_rows *rows) {
    const void **to = &p->skin->corrective[section - PELT_SECTION_CORRECTIVE];
    to[PELT_ROW_FIRST] = rows->first, to[PELT_ROW_SOURCES] = rows->sources;
    to[PELT_ROW_FLOATS] = rows->floats, to[PELT_ROW_SHORTS] = rows->shorts, to[PELT_ROW_FACTORS] = rows->factors;
}

static pelt_row_lists list_displacements(corrective_packing *p, const pelt_displacements *d, uint32_t sources,
                                         grouping group) {
    return list_sources(p->arena, p->skin->block_count, p->order, sources, mark_displacements, d, group, NULL);
}

static pelt_rows pack_floats(corrective_packing *p, const pelt_displacements *d, uint32_t coefficients,
                             uint64_t *sizes) {
    pelt_row_lists l = list_displacements(p, d, coefficients, SINGLE);
    float *rows = displacement_rows(p->arena, d, &l, p->order, p->skin->block_count);
    sizes[PELT_ROW_SOURCES] = l.count * sizeof *l.sources;
    sizes[PELT_ROW_FLOATS] = (uint64_t)l.count * 3 * PELT_BLOCK * sizeof *rows;
    return (pelt_rows){.first = l.first, .sources = l.sources, .floats = rows};
}

static pelt_rows pack_shorts(corrective_packing *p, const pelt_displacements *d, uint32_t coefficients,
                             uint64_t *sizes) {
    uint32_t blocks = p->skin->block_count;
    pelt_row_lists used = list_displacements(p, d, coefficients, SINGLE);
    pelt_partners partners = pelt_choose_partners(p->arena, &used, blocks, coefficients);
    pelt_displacements of_factors = pelt_displacements_of_factors(p->arena, d, p->model->vertex_count, &partners);
    pelt_row_lists l = list_displacements(p, &of_factors, partners.count, NEIGHBOURS);
    float *rows = displacement_rows(p->arena, &of_factors, &l, p->order, blocks);
    int16_t *shorts = pelt_factor_shorts(p->arena, rows, &l, &partners);
    sizes[PELT_ROW_SOURCES] = l.count * sizeof *l.sources;
    sizes[PELT_ROW_SHORTS] = (uint64_t)l.count * 3 * PELT_BLOCK * sizeof *shorts;
    sizes[PELT_ROW_FACTORS] = partners.count * sizeof *partners.factors;
    return (pelt_rows){.first = l.first, .sources = l.sources, .shorts = shorts, .factors = partners.factors};
}

static void pack_displacements(corrective_packing *p, const pelt_displacements *d, int section) {
    uint32_t coefficients = pelt_corrective_coefficient_count(p->model->corrective);
    pelt_rows rows = (p->model->in_16_bits ? pack_shorts : pack_floats)(p, d, coefficients, p->sizes + section);
    put_rows(p, section, &rows);
}

static void pack_basis(corrective_packing *p) {
    const pelt_corrective *c = p->model->corrective;
    pack_displacements(p, c->displacements, PELT_SECTION_ROW_FIRST);
    if (c->turns) pack_displacements(p, c->turns, PELT_SECTION_TURN_FIRST);
}

/* -- The weighted form --------------------------------------------------------------------------------------------- */

static void mark_centers(const void *user, uint32_t v, uint8_t *used) {
    const pelt_weighted *w = user;
    for (size_t q = 0; q < w->center_count; q++) used[q] |= uses_center(w, v, q);
}

static void mark_axes(const void *user, uint32_t v, uint8_t *used) {
    const pelt_weighted *w = user;
    for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) used[w->vertex_axes[i]] |= w->axis_weights[i] != 0;
}

/* Rows of `parts` numbers out of folded ones, of which a centre has `stride`. */
static pelt_rows pack_centers(corrective_packing *p, const pelt_row_lists *l, const uint32_t *links,
                              const float *folded, size_t stride, size_t parts, uint64_t *sizes) {
    size_t centers = p->model->corrective->weighted->center_count, numbers = (size_t)l->count * parts * PELT_BLOCK;
    float *rows = PELT_NEW(p->arena, numbers, float);
    for (size_t slot = 0; slot < (size_t)p->skin->block_count * PELT_BLOCK; slot++)
        for (uint32_t r = l->first[slot / PELT_BLOCK]; r < l->first[slot / PELT_BLOCK + 1]; r++) {
            bool filler = r > l->first[slot / PELT_BLOCK] && l->sources[r] == l->sources[r - 1];
            for (size_t c = 0; c < parts && !filler; c++)
                rows[(parts * r + c) * PELT_BLOCK + slot % PELT_BLOCK] =
                    folded[stride * (p->order[slot] * centers + l->sources[r]) + c];
        }
    if (!p->model->in_16_bits) {
        sizes[PELT_ROW_FLOATS] = numbers * sizeof *rows;
        return (pelt_rows){.floats = rows};
    }
    uint32_t blocks = p->skin->block_count;
    pelt_factor *factors = PELT_NEW(p->arena, 2 * (size_t)blocks, pelt_factor);
    int16_t *shorts = pelt_center_shorts(p->arena, rows, l, blocks, links, parts, factors);
    sizes[PELT_ROW_SHORTS] = numbers * sizeof *shorts;
    sizes[PELT_ROW_FACTORS] = 2 * (uint64_t)blocks * sizeof *factors;
    return (pelt_rows){.shorts = shorts, .factors = factors};
}

static void pack_axes(corrective_packing *p, const pelt_weighted *w) {
    pelt_skin *skin = p->skin;
    pelt_row_lists axes =
        list_sources(p->arena, skin->block_count, p->order, w->axis_count, mark_axes, w, SINGLE, NULL);
    float *weights = PELT_NEW(p->arena, (size_t)axes.count * PELT_BLOCK, float);
    for (size_t slot = 0; slot < (size_t)skin->block_count * PELT_BLOCK; slot++) {
        uint32_t v = p->order[slot], block = (uint32_t)(slot / PELT_BLOCK);
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
            if (w->axis_weights[i] != 0)
                weights[row_of(&axes, block, w->vertex_axes[i]) * (size_t)PELT_BLOCK + slot % PELT_BLOCK] +=
                    w->axis_weights[i];
    }
    skin->PELT_PRIVATE(AXIS_FIRST) = axes.first;
    skin->PELT_PRIVATE(AXIS_SOURCES) = axes.sources;
    skin->PELT_PRIVATE(AXIS_WEIGHTS) = weights;
    p->sizes[PELT_SECTION_AXIS_SOURCES] = axes.count * sizeof *axes.sources;
    p->sizes[PELT_SECTION_AXIS_WEIGHTS] = (uint64_t)axes.count * PELT_BLOCK * sizeof *weights;
}

/* What the blocks use, rounded together; made once where a fit has it made. */
static void pack_rounded(corrective_packing *p, const uint32_t *links) {
    const pelt_weighted *w = p->model->corrective->weighted;
    uint32_t blocks = p->skin->block_count;
    pelt_center_rows made = {0};
    if (!w->rounded) {
        pelt_row_lists used = list_sources(p->arena, blocks, p->order, w->center_count, mark_centers, w, SINGLE, NULL);
        made = pelt_round_centers(p->arena, 1, p->model, p->order, blocks, links, &used);
    }
    const pelt_center_rows *c = w->rounded ? w->rounded : &made;
    uint64_t *row_sizes = p->sizes + PELT_SECTION_ROW_FIRST, *turn_sizes = p->sizes + PELT_SECTION_TURN_FIRST;
    row_sizes[PELT_ROW_SOURCES] = c->lists.count * sizeof *c->lists.sources;
    row_sizes[PELT_ROW_SHORTS] = (uint64_t)c->lists.count * 4 * PELT_BLOCK * sizeof *c->shorts;
    row_sizes[PELT_ROW_FACTORS] = 2 * (uint64_t)blocks * sizeof *c->factors;
    put_rows(
        p, PELT_SECTION_ROW_FIRST,
        &(pelt_rows){.first = c->lists.first, .sources = c->lists.sources, .shorts = c->shorts, .factors = c->factors});
    if (!c->turns) return;
    turn_sizes[PELT_ROW_SHORTS] = (uint64_t)c->lists.count * 3 * PELT_BLOCK * sizeof *c->turns;
    turn_sizes[PELT_ROW_FACTORS] = row_sizes[PELT_ROW_FACTORS];
    put_rows(p, PELT_SECTION_TURN_FIRST, &(pelt_rows){.shorts = c->turns, .factors = c->turn_factors});
}

const pelt_center_rows *pelt_model_center_rows(pelt_arena *arena, uint32_t threads, const pelt_model *model) {
    const pelt_weighted *w = model->corrective->weighted;
    uint32_t n = model->vertex_count, blocks = (n + PELT_BLOCK - 1) / PELT_BLOCK;
    uint32_t *order = PELT_NEW(arena, (size_t)blocks * PELT_BLOCK, uint32_t);
    pelt_center_rows *out = PELT_NEW(arena, 1, pelt_center_rows);
    pelt_model_order(arena, model, order);
    for (uint32_t s = n; s < blocks * PELT_BLOCK; s++) order[s] = order[n - 1];
    pelt_row_lists used = list_sources(arena, blocks, order, w->center_count, mark_centers, w, SINGLE, NULL);
    *out =
        pelt_round_centers(arena, threads, model, order, blocks, pelt_link_blocks(arena, model, order, blocks), &used);
    return out;
}

static void pack_weighted(corrective_packing *p) {
    const pelt_weighted *w = p->model->corrective->weighted;
    bool shorts = p->model->in_16_bits;
    uint32_t blocks = p->skin->block_count, *links = pelt_link_blocks(p->arena, p->model, p->order, blocks);
    pack_axes(p, w);
    if (shorts && !w->unnormalised) {
        pack_rounded(p, links);
        return;
    }
    pelt_row_lists centers = list_sources(p->arena, blocks, p->order, w->center_count, mark_centers, w,
                                          shorts ? TWOS : SINGLE, shorts ? links : NULL);
    pelt_rows rows =
        pack_centers(p, &centers, links, w->folded, 4, w->unnormalised ? 3 : 4, p->sizes + PELT_SECTION_ROW_FIRST);
    rows.first = centers.first, rows.sources = centers.sources;
    p->sizes[PELT_SECTION_ROW_SOURCES] = centers.count * sizeof *centers.sources;
    put_rows(p, PELT_SECTION_ROW_FIRST, &rows);
    if (!w->folded_turns) return;
    pelt_rows turns = pack_centers(p, &centers, links, w->folded_turns, 3, 3, p->sizes + PELT_SECTION_TURN_FIRST);
    put_rows(p, PELT_SECTION_TURN_FIRST, &turns);
}

/* -- Coefficients -------------------------------------------------------------------------------------------------- */

/* The section DRIV while it grows. Places are given by offset, since it moves. */
typedef struct builder {
    pelt_arena *arena;
    char *bytes;
    size_t size, capacity;
} builder;

/* Room for an array; returns its offset. */
static uint64_t append(builder *b, size_t count, size_t each) {
    size_t at = b->size, more = (size_t)pelt_aligned(count * each);
    if (at + more > b->capacity) {
        char *bytes = PELT_NEW(b->arena, 2 * (at + more), char);
        if (at) memcpy(bytes, b->bytes, at);
        b->bytes = bytes, b->capacity = 2 * (at + more);
    }
    b->size += more;
    return at;
}

static uint64_t append_copy(builder *b, const void *data, size_t count, size_t each) {
    uint64_t at = append(b, count, each);
    if (count) memcpy(b->bytes + at, data, count * each);
    return at;
}

/* Centres [center][axis][4] become [axis][4][center], padded. */
static uint64_t append_centers(builder *b, const float *centers, size_t center_count, size_t axis_count) {
    size_t stride = (size_t)pelt_padded(center_count);
    uint64_t at = append(b, 4 * axis_count * stride, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (size_t c = 0; c < center_count; c++)
        for (size_t i = 0; i < 4 * axis_count; i++) out[i * stride + c] = centers[c * 4 * axis_count + i];
    return at;
}

/* [center][column] becomes [column][center], padded; `extra` [center] is one column more, or NULL. */
static uint64_t append_matrix(builder *b, const float *matrix, size_t center_count, size_t columns,
                              const float *extra) {
    size_t stride = (size_t)pelt_padded(center_count);
    uint64_t at = append(b, (columns + (extra != NULL)) * stride, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (size_t c = 0; c < center_count; c++) {
        for (size_t k = 0; k < columns; k++) out[k * stride + c] = matrix[c * columns + k];
        if (extra) out[columns * stride + c] = extra[c];
    }
    return at;
}

/* Sums over the centres, of each column and of `extra`. */
static uint64_t append_sums(builder *b, const float *matrix, size_t center_count, size_t columns, const float *extra) {
    uint64_t at = append(b, columns + (extra != NULL), sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (size_t k = 0; k < columns + (extra != NULL); k++) {
        double sum = 0;
        for (size_t c = 0; c < center_count; c++) sum += k < columns ? matrix[c * columns + k] : extra[c];
        out[k] = (float)sum;
    }
    return at;
}

static void put_axes(pelt_file_axis *out, const pelt_axis *axes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = (pelt_file_axis){.kind = (uint32_t)axes[i].kind,
                                  .joint = axes[i].joint,
                                  .direction = {axes[i].direction[0], axes[i].direction[1], axes[i].direction[2]},
                                  .weight = axes[i].weight,
                                  .middle = axes[i].middle,
                                  .reach = axes[i].reach};
}

static void append_rbfs(builder *b, const pelt_corrective *c, uint64_t at, uint32_t *axis, uint32_t *coefficient) {
    for (uint32_t i = 0; i < c->rbf_count; i++) {
        const pelt_rbf *rbf = &c->rbfs[i];
        pelt_file_rbf out = {.first_axis = *axis,
                             .axis_count = rbf->axis_count,
                             .center_count = rbf->center_count,
                             .coefficient_count = rbf->coefficient_count,
                             .first_coefficient = *coefficient,
                             .phi = (uint32_t)rbf->phi,
                             .normalised = rbf->norm != NULL,
                             .width = rbf->width};
        out.centers = append_centers(b, rbf->centers, rbf->center_count, rbf->axis_count);
        out.matrix = append_matrix(b, rbf->matrix, rbf->center_count, rbf->coefficient_count, rbf->norm);
        out.bias = append_sums(b, rbf->matrix, rbf->center_count, rbf->coefficient_count, rbf->norm);
        memcpy(b->bytes + at + i * sizeof out, &out, sizeof out);
        *axis += rbf->axis_count, *coefficient += rbf->coefficient_count;
    }
}

/* Of a kernel's centres and units, as the file has them. */
typedef struct kernel_order {
    uint32_t *centers;     /* [new] which centre it was */
    uint32_t *new_centers; /* [old] */
    uint32_t *lone_joints; /* [old] the only kernel joint that it moves, or UINT32_MAX */
    uint32_t shared_count; /* centres that may move several; those after them are lone */
    pelt_kernel_unit *units;
    uint32_t unit_count;
    uint32_t *new_units; /* [old] */
} kernel_order;

/* Whether a centre moves a kernel joint: by more than floats make of nothing. */
static bool moves(const pelt_kernel *kernel, uint32_t center, uint32_t joint) {
    const float *q = kernel->centers + 4 * ((size_t)center * kernel->joint_count + joint);
    return fabsf(q[0]) + fabsf(q[1]) + fabsf(q[2]) > (joint < kernel->joint_count - kernel->control_count ? 1e-6f : 0);
}

/* Most examples move one joint alone: their kernels are those of that joint, in all groups, and not worth a sum over
   units. They come last; the first of them fill up what is worked on sixteen at a time. */
static void order_centers(pelt_arena *arena, const pelt_kernel *kernel, kernel_order *order) {
    uint32_t n = kernel->center_count, placed = 0;
    order->centers = PELT_NEW(arena, n, uint32_t), order->new_centers = PELT_NEW(arena, n, uint32_t);
    order->lone_joints = PELT_NEW(arena, n, uint32_t);
    for (uint32_t c = 0; c < n; c++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < kernel->joint_count; j++)
            if (moves(kernel, c, j)) count++, order->lone_joints[c] = j;
        if (count == 1) continue;
        order->lone_joints[c] = UINT32_MAX;
        order->centers[placed++] = c;
    }
    order->shared_count = (uint32_t)pelt_padded(placed) < n ? (uint32_t)pelt_padded(placed) : n;
    for (uint32_t c = 0; c < n; c++)
        if (order->lone_joints[c] != UINT32_MAX) order->centers[placed++] = c;
    for (uint32_t c = 0; c < n; c++) order->new_centers[order->centers[c]] = c;
}

/* Groups share units: each is in the file once. */
static void share_units(pelt_arena *arena, const pelt_kernel *kernel, kernel_order *order) {
    order->units = PELT_NEW(arena, kernel->unit_count, pelt_kernel_unit);
    order->new_units = PELT_NEW(arena, kernel->unit_count, uint32_t);
    for (uint32_t u = 0; u < kernel->unit_count; u++) {
        const pelt_kernel_unit *unit = &kernel->units[u];
        uint32_t same = 0;
        while (same < order->unit_count &&
               (order->units[same].first != unit->first || order->units[same].second != unit->second ||
                order->units[same].gain != unit->gain))
            same++;
        if (same == order->unit_count) order->units[order->unit_count++] = *unit;
        order->new_units[u] = same;
    }
}

static uint64_t append_indices(builder *b, const uint32_t *list, uint32_t count, const uint32_t *new_index) {
    uint64_t at = append(b, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++) ((uint32_t *)(b->bytes + at))[i] = new_index[list[i]];
    return at;
}

/* A group as the file has it. With neighbours it is what it was; without them lone centres take their unit's gain with them, and those of joints that the group does
   not know, whose kernels are 0 to it, are left out. */
static pelt_kernel_group own_group(pelt_arena *arena, const pelt_kernel *kernel, const pelt_kernel_group *group,
                                   const kernel_order *order) {
    uint32_t *centers = PELT_NEW(arena, (size_t)group->center_count + 1, uint32_t), columns = group->coefficient_count;
    float *matrix = PELT_NEW(arena, ((size_t)group->center_count + 1) * columns, float);
    pelt_kernel_group own = *group;
    own.center_count = 0, own.centers = centers, own.matrix = matrix;
    for (uint32_t i = 0; i < group->center_count; i++) {
        uint32_t center = group->centers[i];
        bool lone = !kernel->near && order->new_centers[center] >= order->shared_count;
        float gain = lone ? 0 : 1;
        for (uint32_t u = 0; u < group->unit_count && lone; u++) {
            const pelt_kernel_unit *unit = &kernel->units[group->units[u]];
            if (unit->first == unit->second && unit->first == order->lone_joints[center]) gain += unit->gain;
        }
        if (gain == 0) continue;
        for (uint32_t k = 0; k < columns; k++)
            matrix[(size_t)own.center_count * columns + k] = gain * group->matrix[(size_t)i * columns + k];
        centers[own.center_count++] = center;
    }
    if (!own.center_count) centers[own.center_count++] = group->centers[0]; /* of no weight: a group has one */
    return own;
}

static void append_groups(builder *b, const pelt_kernel *kernel, const kernel_order *order, uint64_t at,
                          uint32_t *coefficient) {
    for (uint32_t g = 0; g < kernel->group_count; g++) {
        pelt_kernel_group group = own_group(b->arena, kernel, &kernel->groups[g], order);
        pelt_file_kernel_group out = {.unit_count = group.unit_count,
                                      .center_count = group.center_count,
                                      .coefficient_count = group.coefficient_count,
                                      .first_coefficient = *coefficient};
        out.units = append_indices(b, group.units, group.unit_count, order->new_units);
        out.centers = append_indices(b, group.centers, group.center_count, order->new_centers);
        out.matrix = append_matrix(b, group.matrix, group.center_count, group.coefficient_count, NULL);
        memcpy(b->bytes + at + g * sizeof out, &out, sizeof out);
        *coefficient += group.coefficient_count;
    }
}

/* 1 - E(rest, center) of a kernel joint; 0 where that is too small to be told from 0: processors are slow with numbers that
   are all but 0. */
static float rest_kernel(const pelt_kernel *kernel, uint32_t joint, const float *pose) {
    bool control = joint >= kernel->joint_count - kernel->control_count;
    double gap = 0;
    for (int i = 0; i < (control ? 1 : 3); i++) gap += (control ? 1.0 : 4.0) * pose[i] * pose[i];
    double rest = -expm1(-kernel->scales[joint] * gap);
    return rest > 1e-12 ? (float)rest : 0;
}

static uint64_t append_shared(builder *b, const pelt_kernel *kernel, const kernel_order *order) {
    size_t stride = (size_t)pelt_padded(order->shared_count);
    uint64_t at = append(b, 5 * kernel->joint_count * stride, sizeof(float));
    for (uint32_t j = 0; j < kernel->joint_count; j++)
        for (size_t c = 0; c < order->shared_count; c++) {
            const float *pose = kernel->centers + 4 * ((size_t)order->centers[c] * kernel->joint_count + j);
            float *out = (float *)(b->bytes + at) + 5 * j * stride + c;
            for (size_t i = 0; i < 4; i++) out[i * stride] = pose[i];
            out[4 * stride] = rest_kernel(kernel, j, pose);
        }
    return at;
}

static uint64_t append_lone(builder *b, const pelt_kernel *kernel, const kernel_order *order) {
    uint32_t count = kernel->center_count - order->shared_count;
    if (!count) return 0;
    uint64_t at = append(b, count, sizeof(pelt_file_lone_center));
    pelt_file_lone_center *out = (pelt_file_lone_center *)(b->bytes + at);
    for (uint32_t i = 0; i < count; i++) {
        size_t center = order->centers[order->shared_count + i];
        out[i].joint = order->lone_joints[center];
        memcpy(out[i].pose, kernel->centers + 4 * (center * kernel->joint_count + out[i].joint), sizeof out[i].pose);
        out[i].rest = rest_kernel(kernel, out[i].joint, out[i].pose);
    }
    return at;
}

/* Controls are numbered on from the joints of the skeleton. */
static uint64_t append_kernel(builder *b, const pelt_kernel *kernel, uint32_t joint_count, uint32_t *coefficient) {
    kernel_order order = {0};
    order_centers(b->arena, kernel, &order);
    share_units(b->arena, kernel, &order);
    pelt_file_kernel out = {.joint_count = kernel->joint_count,
                            .center_count = kernel->center_count,
                            .unit_count = order.unit_count,
                            .group_count = kernel->group_count};
    uint64_t at = append(b, 1, sizeof out);
    out.joints = append(b, kernel->joint_count, sizeof(pelt_file_kernel_joint));
    out.units = append(b, order.unit_count, sizeof(pelt_file_kernel_unit));
    out.groups = append(b, kernel->group_count, sizeof(pelt_file_kernel_group));
    out.centers = append_shared(b, kernel, &order);
    out.lone = append_lone(b, kernel, &order);
    if (out.lone) out.shared_count = order.shared_count;
    for (uint32_t j = 0; j < kernel->joint_count; j++)
        ((pelt_file_kernel_joint *)(b->bytes + out.joints))[j] = (pelt_file_kernel_joint){
            kernel->joints[j] + (j < kernel->joint_count - kernel->control_count ? 0 : joint_count), kernel->scales[j]};
    for (uint32_t u = 0; u < order.unit_count; u++)
        ((pelt_file_kernel_unit *)(b->bytes + out.units))[u] =
            (pelt_file_kernel_unit){order.units[u].first, order.units[u].second, order.units[u].gain, 0};
    append_groups(b, kernel, &order, out.groups, coefficient);
    memcpy(b->bytes + at, &out, sizeof out);
    return at;
}

/* -- Learned features ---------------------------------------------------------------------------------------------- */

/* The step in which numbers, the largest of which is `most` and which are `sum` in all, fit 16 bits, and their sum
   PELT_ROW_MOST when they are rounded. */
static double step_of(double most, double sum, size_t count) {
    return fmax(most / PELT_SHORT_MOST, sum / fmax(PELT_ROW_MOST - 0.5 * (double)count, 1));
}

static int16_t steps_in(double x, double step) {
    return step > 0 ? (int16_t)fmin(fmax(rint(x / step), -PELT_SHORT_MOST), PELT_SHORT_MOST) : 0;
}

/* A matrix of whole numbers in tiles of four rows and eight columns, and the steps of its rows; both are padded with zeros.
   Number r, c is at rows[r * next_row + c * next_column]. */
static void append_tiles(builder *b, const double *rows, size_t row_count, size_t column_count, size_t next_row,
                         size_t next_column, uint64_t *tiles, uint64_t *steps) {
    size_t padded_rows = (size_t)pelt_tiled_rows(row_count), eights = (column_count + 7) / 8;
    *tiles = append(b, padded_rows * eights * 8, sizeof(int16_t));
    *steps = append(b, padded_rows, sizeof(float));
    int16_t *out = (int16_t *)(b->bytes + *tiles);
    for (size_t r = 0; r < row_count; r++) {
        const double *row = rows + r * next_row;
        double most = 0, sum = 0;
        for (size_t c = 0; c < column_count; c++) {
            double size = fabs(row[c * next_column]);
            most = fmax(most, size), sum += size;
        }
        double step = step_of(most, sum, column_count);
        ((float *)(b->bytes + *steps))[r] = (float)step;
        for (size_t c = 0; c < column_count; c++)
            out[((r / 4 * eights + c / 8) * 4 + r % 4) * 8 + c % 8] = steps_in(row[c * next_column], step);
    }
}

/* Rows of floats, with zeros behind each. */
static uint64_t append_rows(builder *b, const float *rows, size_t count, size_t own, size_t columns) {
    uint64_t at = append(b, count * columns, sizeof(float));
    for (size_t r = 0; r < count && own; r++)
        memcpy((float *)(b->bytes + at) + r * columns, rows + r * own, own * sizeof(float));
    return at;
}

/* The most that a number of an input can be. */
static double most_of_input(const pelt_features *f, uint32_t input) {
    const pelt_feature_input *in = &f->inputs[input];
    return input < f->input_count - f->control_count ? PELT_MOST_TURN : fmax(in->most, -in->least);
}

static uint32_t numbers_of_input(const pelt_features *f, uint32_t input) {
    return input < f->input_count - f->control_count ? 6 : 1;
}

/* The step of whole numbers of W for a feature: |x W| is what most[] times them is at the most. Offsets that are much larger
   than that leave W fewer bits, since what floats round off them must not show in steps. */
static double matrix_step(const pelt_features *f, const pelt_feature_set *set, uint32_t k) {
    const float *row = set->matrix + k;
    double most = 0, sum = 0, offset = hypot(set->offsets[k], sqrt(f->bends[k]));
    for (uint32_t i = 0; i < set->input_count; i++)
        for (uint32_t n = 0; n < numbers_of_input(f, set->inputs[i]); n++, row += f->width) {
            double size = fabs(*row) * most_of_input(f, set->inputs[i]);
            most = fmax(most, size), sum += size;
        }
    return step_of(most, fmax(sum, offset / 64), set->size);
}

/* What z and its like are divided by in the file, [width]: 2, or in 16 bits what makes them steps. */
static double *units_of(builder *b, const pelt_features *f, const pelt_feature_set *set, bool shorts) {
    double *units = PELT_NEW(b->arena, f->width, double);
    for (uint32_t k = 0; k < f->width; k++)
        units[k] = shorts ? matrix_step(f, set, k) / (PELT_FEATURE_STEP * PELT_SHORT_MOST) : 2;
    return units;
}

static uint64_t append_offsets(builder *b, const pelt_features *f, const pelt_feature_set *set, const double *units) {
    uint64_t at = append(b, 3 * (size_t)f->width, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (uint32_t k = 0; k < f->width; k++) {
        if (!(units[k] > 0)) continue; /* a feature that is always 0 */
        double offset = set->offsets[k] / units[k], bend = f->bends[k] / (units[k] * units[k]);
        out[k] = (float)offset, out[f->width + k] = (float)bend;
        out[2 * f->width + k] = (float)sqrt(offset * offset + bend);
    }
    return at;
}

/* The rows of a set's inputs, two and two side by side, six for a joint, one for a control with zeros beside it. */
static uint64_t append_pairs(builder *b, const pelt_features *f, const pelt_feature_set *set) {
    uint64_t at = append(b, (size_t)(set->size + set->input_count) * f->width, sizeof(int16_t));
    uint32_t row = 0, pair = 0;
    int16_t *out = (int16_t *)(b->bytes + at);
    for (uint32_t i = 0; i < set->input_count; i++) {
        uint32_t numbers = numbers_of_input(f, set->inputs[i]);
        double most = most_of_input(f, set->inputs[i]);
        for (uint32_t k = 0; k < f->width; k++) {
            double step = matrix_step(f, set, k);
            for (uint32_t n = 0; n < numbers; n++)
                out[((pair + n / 2) * (size_t)f->width + k) * 2 + n % 2] =
                    steps_in(set->matrix[(row + n) * (size_t)f->width + k] * most, step);
        }
        row += numbers, pair += (numbers + 1) / 2;
    }
    return at;
}

/* What is one to groups, [set][what they can see]: a step of a feature; or of sums, which have a common step in 16 bits, what
   makes those larger that do more. Half of that is done by the sum and half by the groups, since both are rounded. */
static double *worths_of(builder *b, const pelt_features *f) {
    size_t seen = f->rank ? f->rank : f->width;
    double *worths = PELT_NEW(b->arena, f->set_count * seen, double);
    for (uint32_t g = 0; g < f->group_count && f->rank; g++)
        for (size_t i = 0; i < 8 * (size_t)f->groups[g].coefficient_count * f->groups[g].eight_count; i++)
            worths[8 * (size_t)f->groups[g].eights[i / 8 % f->groups[g].eight_count] + i % 8] +=
                pow(f->groups[g].matrix[i], 2);
    for (size_t i = 0; i < f->set_count * seen && f->rank; i++) worths[i] = worths[i] > 0 ? pow(worths[i], -0.25) : 1;
    for (uint32_t s = 0; s < f->set_count && !f->rank; s++) {
        const double *units = units_of(b, f, &f->sets[s], true);
        for (size_t k = 0; k < seen; k++) worths[s * seen + k] = units[k] / 2;
    }
    return worths;
}

/* M in 16 bits; what a step of a feature is worth goes with it. */
static void append_mix(builder *b, const pelt_features *f, const pelt_feature_set *set, const double *units,
                       const double *worths, pelt_file_feature_set *out) {
    double *mix = PELT_NEW(b->arena, (size_t)f->width * set->rank, double);
    for (size_t k = 0; k < f->width; k++)
        for (size_t r = 0; r < set->rank; r++)
            mix[k * set->rank + r] = set->mix[k * set->rank + r] * units[k] / 2 / worths[r];
    append_tiles(b, mix, set->rank, f->width, 1, set->rank, &out->mix, &out->mix_steps);
}

static void append_sets(builder *b, const pelt_features *f, bool shorts, const double *worths, uint64_t at) {
    for (uint32_t s = 0; s < f->set_count; s++) {
        const pelt_feature_set *set = &f->sets[s];
        const double *units = units_of(b, f, set, shorts);
        pelt_file_feature_set out = {.input_count = set->input_count, .size = set->size, .rank = set->rank};
        out.inputs = append_copy(b, set->inputs, set->input_count, sizeof *set->inputs);
        out.offsets = append_offsets(b, f, set, units);
        if (shorts) {
            out.matrix = append_pairs(b, f, set);
            if (f->rank) append_mix(b, f, set, units, worths + (size_t)s * f->rank, &out);
        } else {
            out.matrix = append_copy(b, set->matrix, (size_t)set->size * f->width, sizeof(float));
            if (f->rank) out.mix = append_rows(b, set->mix, f->width, set->rank, (size_t)pelt_padded(set->rank));
        }
        memcpy(b->bytes + at + s * sizeof out, &out, sizeof out);
    }
}

static void append_group_tiles(builder *b, const pelt_feature_group *group, const double *worths,
                               pelt_file_feature_group *out) {
    size_t rows = group->coefficient_count, columns = 8 * (size_t)group->eight_count;
    double *matrix = PELT_NEW(b->arena, rows * columns, double);
    for (size_t i = 0; i < rows * columns; i++)
        matrix[i] = group->matrix[i] * worths[8 * (size_t)group->eights[i % columns / 8] + i % 8];
    append_tiles(b, matrix, rows, columns, columns, 1, &out->matrix, &out->steps);
}

static void append_feature_groups(builder *b, const pelt_features *f, bool shorts, const double *worths, uint64_t at,
                                  uint32_t *coefficient) {
    for (uint32_t g = 0; g < f->group_count; g++) {
        const pelt_feature_group *group = &f->groups[g];
        size_t own = 8 * (size_t)group->eight_count, columns = (size_t)pelt_feature_columns(group->eight_count);
        pelt_file_feature_group out = {.eight_count = group->eight_count,
                                       .coefficient_count = group->coefficient_count,
                                       .first_coefficient = *coefficient};
        out.eights = append_copy(b, group->eights, group->eight_count, sizeof *group->eights);
        if (shorts)
            append_group_tiles(b, group, worths, &out);
        else
            out.matrix = append_rows(b, group->matrix, group->coefficient_count, own, columns);
        memcpy(b->bytes + at + g * sizeof out, &out, sizeof out);
        *coefficient += group->coefficient_count;
    }
}

/* The section FTSU. Controls are numbered on from the joints of the skeleton. */
static void pack_features(corrective_packing *p, const pelt_features *f, uint32_t *coefficient) {
    builder b = {.arena = p->arena};
    pelt_file_features head = {.width = f->width,
                               .input_count = f->input_count,
                               .set_count = f->set_count,
                               .group_count = f->group_count,
                               .rank = f->rank,
                               .in_16_bits = p->model->in_16_bits};
    append(&b, 1, sizeof head);
    head.inputs = append(&b, f->input_count, sizeof(pelt_file_feature_input));
    head.sets = append(&b, f->set_count, sizeof(pelt_file_feature_set));
    head.groups = append(&b, f->group_count, sizeof(pelt_file_feature_group));
    for (uint32_t i = 0; i < f->input_count; i++) {
        uint32_t first = i < f->input_count - f->control_count ? 0 : p->skin->joint_count;
        ((pelt_file_feature_input *)(b.bytes + head.inputs))[i] =
            (pelt_file_feature_input){first + f->inputs[i].source, f->inputs[i].least, f->inputs[i].most, 0};
    }
    const double *worths = p->model->in_16_bits ? worths_of(&b, f) : NULL;
    append_sets(&b, f, p->model->in_16_bits, worths, head.sets);
    append_feature_groups(&b, f, p->model->in_16_bits, worths, head.groups, coefficient);
    memcpy(b.bytes, &head, sizeof head);
    p->skin->PELT_PRIVATE(FEATURES) = b.bytes;
    p->sizes[PELT_SECTION_FEATURES] = b.size;
}

/* The section NEAR. */
static void pack_near(corrective_packing *p, const pelt_kernel *kernel) {
    builder b = {.arena = p->arena};
    const pelt_near *near = kernel->near;
    uint32_t joints = kernel->joint_count;
    pelt_file_near head = {.form = (uint32_t)near->form, .joint_count = joints, .single = near->single};
    append(&b, 1, sizeof head);
    head.first = append_copy(&b, near->first, (size_t)joints + 1, sizeof *near->first);
    head.list = append_copy(&b, near->list, near->first[joints], sizeof *near->list);
    memcpy(b.bytes, &head, sizeof head);
    p->skin->PELT_PRIVATE(NEAR) = b.bytes;
    p->sizes[PELT_SECTION_NEAR] = b.size;
}

/* Which sixteens of the centres are not all where the first centre is, along every axis. */
static uint64_t append_moving(builder *b, const pelt_weighted *w) {
    size_t axes = w->axis_count, words = (size_t)pelt_moving_words(w->center_count);
    uint64_t at = append(b, axes * words, sizeof(uint64_t)), *out = (uint64_t *)(b->bytes + at);
    for (size_t c = 0; c < w->center_count; c++)
        for (size_t a = 0; a < axes; a++)
            if (memcmp(w->centers + 4 * (c * axes + a), w->centers + 4 * a, 4 * sizeof *w->centers) != 0)
                out[a * words + c / 1024] |= 1ull << (c / PELT_BLOCK % 64);
    return at;
}

static uint64_t append_weighted(builder *b, const pelt_weighted *w, uint32_t first_axis) {
    pelt_file_weighted out = {.first_axis = first_axis,
                              .axis_count = w->axis_count,
                              .center_count = w->center_count,
                              .phi = (uint32_t)w->phi,
                              .width = w->width,
                              .normalised = !w->unnormalised};
    uint64_t at = append(b, 1, sizeof out);
    out.centers = append_centers(b, w->centers, w->center_count, w->axis_count);
    out.moving = append_moving(b, w);
    memcpy(b->bytes + at, &out, sizeof out);
    return at;
}

static void pack_coefficients(corrective_packing *p) {
    const pelt_corrective *c = p->model->corrective;
    builder b = {.arena = p->arena};
    pelt_file_corrective head = {.rbf_count = c->rbf_count};
    uint32_t axis = 0;
    for (uint32_t i = 0; i < c->rbf_count; i++) head.axis_count += c->rbfs[i].axis_count;
    if (c->weighted) head.axis_count += c->weighted->axis_count;
    append(&b, 1, sizeof head);
    head.axes = append(&b, head.axis_count, sizeof(pelt_file_axis));
    head.rbfs = append(&b, c->rbf_count, sizeof(pelt_file_rbf));
    pelt_file_axis *axes = (pelt_file_axis *)(b.bytes + head.axes);
    for (uint32_t i = 0; i < c->rbf_count; axes += c->rbfs[i++].axis_count)
        put_axes(axes, c->rbfs[i].axes, c->rbfs[i].axis_count);
    if (c->weighted) put_axes(axes, c->weighted->axes, c->weighted->axis_count);
    append_rbfs(&b, c, head.rbfs, &axis, &head.coefficient_count);
    if (c->kernel) head.kernel = append_kernel(&b, c->kernel, p->skin->joint_count, &head.coefficient_count);
    if (c->kernel && c->kernel->near) pack_near(p, c->kernel);
    if (c->features) pack_features(p, c->features, &head.coefficient_count);
    if (c->weighted) head.weighted = append_weighted(&b, c->weighted, axis);
    memcpy(b.bytes, &head, sizeof head);
    p->skin->PELT_PRIVATE(CORRECTIVE) = b.bytes;
    p->sizes[PELT_SECTION_CORRECTIVE] = b.size;
}

pelt_result pelt_pack_corrective(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                                 uint64_t *sizes, pelt_error *error) {
    const pelt_corrective *c = model->corrective;
    if (!c || (!c->displacements && !c->weighted)) return PELT_OK;
    if (c->displacements && c->weighted)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "a skin holds displacements of a basis or weighted ones, not both");
    uint32_t sources = c->weighted ? c->weighted->center_count : pelt_corrective_coefficient_count(c);
    uint32_t axes = c->weighted ? c->weighted->axis_count : 0;
    if (sources > 65536 || axes > 65536)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "the corrective has %u coefficients and %u axes; a skin can hold 65536 of each: give it fewer "
                         "examples or ask for fewer poses",
                         sources, axes);
    if (!sources) return PELT_OK;
    corrective_packing p = {arena, model, order, skin, sizes};
    (c->weighted ? pack_weighted : pack_basis)(&p);
    pack_coefficients(&p);
    return PELT_OK;
}
