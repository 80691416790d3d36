/* pack_corrective.c: packs a corrective into sections of a skin file: for each block of 16 vertices the coefficients
   (or centres) that any of them uses, each with 16-wide rows of displacements; and the functions that compute
   coefficients from a pose, laid out to process sixteen centres at a time (docs/format.md). */

#include "pack/builder.h"
#include <math.h>
#include <string.h>

/* -- The order of vertices ----------------------------------------------------------------------------------------- */

static bool uses_center(const pelt_weighted *w, uint32_t v, size_t q) {
    const float *c = w->folded + 4 * ((size_t)v * w->center_count + q);
    const float *t = w->folded_tilts ? w->folded_tilts + 3 * ((size_t)v * w->center_count + q) : c;
    return c[0] != 0 || c[1] != 0 || c[2] != 0 || (c[3] != 0 && !w->unnormalised) || t[0] != 0 || t[1] != 0 ||
           t[2] != 0;
}

/* The parts of a corrective that a vertex uses: coefficients, with those of tilts last, or centres and axes of the
   weighted form. Lists them at `out` (NULL: only counts). */
static uint32_t list_columns(const pelt_corrective *c, uint32_t v, uint32_t *out) {
    const pelt_displacements *rows[2] = {c->displacements, c->tilts};
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

/* Joints and other columns of each vertex as one list: column k of the corrective is column joint_count + k. */
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
        /* A row of the weighted form costs at least as much as a joint: it is a function of a distance. */
        uint32_t columns = c->weighted ? c->weighted->center_count + c->weighted->axis_count
                                       : 2 * pelt_corrective_coefficient_count(c);
        pelt_influences all = combined_columns(arena, model, joints);
        pelt_block_order(arena, &all, n, (pelt_block_columns){c->weighted ? 0 : joints, joints + columns}, order);
    } else {
        pelt_block_order(arena, &model->influences, n, (pelt_block_columns){joints, joints}, order);
    }
    if (!c || !c->displacements) pelt_gather_twins(arena, model, order);
    if (model->rings) pelt_sort_walks(model, order);
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

typedef void mark_vertex(const void *user, uint32_t vertex, uint8_t *used);

/* How rows are grouped: not at all; sources 2 i and 2 i + 1 together; or any two consecutive ones. An odd last one is
   paired with a filler of the same source. */
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

/* Turns a bitmap of sources into sorted lists, in two passes: count, then list. Where arbitrary pairs are allowed,
   linked blocks (NULL: none) still use NEIGHBOURS, so that their pairs agree. */
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

/* The row of a source in a block; lists are sorted. */
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
            if (l->sources[row] != d->coefficients[i]) continue; /* all zeros in this block */
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

/* Sets the row sections, from `section` on. */
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
    if (c->tilts) pack_displacements(p, c->tilts, PELT_SECTION_TILT_FIRST);
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

/* Rows of `parts` numbers from folded ones with `stride` numbers per centre. */
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

/* What the blocks use, rounded together; reuses the result if the fit has it. */
static void pack_rounded(corrective_packing *p, const uint32_t *links) {
    const pelt_weighted *w = p->model->corrective->weighted;
    uint32_t blocks = p->skin->block_count;
    pelt_center_rows made = {0};
    if (!w->rounded) {
        pelt_row_lists used = list_sources(p->arena, blocks, p->order, w->center_count, mark_centers, w, SINGLE, NULL);
        made = pelt_round_centers(p->arena, 1, p->model, p->order, blocks, links, &used);
    }
    const pelt_center_rows *c = w->rounded ? w->rounded : &made;
    uint64_t *row_sizes = p->sizes + PELT_SECTION_ROW_FIRST, *tilt_sizes = p->sizes + PELT_SECTION_TILT_FIRST;
    row_sizes[PELT_ROW_SOURCES] = c->lists.count * sizeof *c->lists.sources;
    row_sizes[PELT_ROW_SHORTS] = (uint64_t)c->lists.count * 4 * PELT_BLOCK * sizeof *c->shorts;
    row_sizes[PELT_ROW_FACTORS] = 2 * (uint64_t)blocks * sizeof *c->factors;
    put_rows(
        p, PELT_SECTION_ROW_FIRST,
        &(pelt_rows){.first = c->lists.first, .sources = c->lists.sources, .shorts = c->shorts, .factors = c->factors});
    if (!c->tilts) return;
    tilt_sizes[PELT_ROW_SHORTS] = (uint64_t)c->lists.count * 3 * PELT_BLOCK * sizeof *c->tilts;
    tilt_sizes[PELT_ROW_FACTORS] = row_sizes[PELT_ROW_FACTORS];
    put_rows(p, PELT_SECTION_TILT_FIRST, &(pelt_rows){.shorts = c->tilts, .factors = c->tilt_factors});
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
    if (!w->folded_tilts) return;
    pelt_rows tilts = pack_centers(p, &centers, links, w->folded_tilts, 3, 3, p->sizes + PELT_SECTION_TILT_FIRST);
    put_rows(p, PELT_SECTION_TILT_FIRST, &tilts);
}

/* -- Coefficients -------------------------------------------------------------------------------------------------- */

/* Sums over the centres, for each column and for `extra`. */
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

/* Which groups of sixteen centres differ from the first centre, along every axis. */
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
    if (c->kernel) head.kernel = pelt_append_kernel(&b, c->kernel, p->skin->joint_count, &head.coefficient_count);
    if (c->kernel && c->kernel->near) pelt_pack_neighbors(p->arena, c->kernel, p->skin, p->sizes);
    if (c->features)
        pelt_pack_features(p->arena, c->features, p->model->in_16_bits, p->skin, p->sizes, &head.coefficient_count);
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
                         "a skin holds either basis displacements or weighted ones, not both");
    uint32_t sources = c->weighted ? c->weighted->center_count : pelt_corrective_coefficient_count(c);
    uint32_t axes = c->weighted ? c->weighted->axis_count : 0;
    if (sources > 65536 || axes > 65536)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "the corrective has %u coefficients and %u axes, but a skin can hold 65536 of each: use fewer "
                         "examples or fewer poses",
                         sources, axes);
    if (!sources) return PELT_OK;
    corrective_packing p = {arena, model, order, skin, sizes};
    (c->weighted ? pack_weighted : pack_basis)(&p);
    pack_coefficients(&p);
    return PELT_OK;
}
