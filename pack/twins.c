/* twins.c: vertices that shade as one come out identical at run time, bit for bit.

   Twins have one rest position, one normal, one blend and one corrective. In different blocks they are summed over
   different lists of joints and rows; but lists have the same order everywhere, and what a vertex does not use is zero
   and adds exactly nothing. The weighted form in 16 bits is the exception: its rounding depends on the step of the
   block and on the row it is paired with. So twins are moved into one block where that costs nothing, and blocks that
   still share twins are *linked*: they share one step, and partners that do not depend on the block. */

#include "pack/pack.h"
#include <string.h>

/* The first vertex with the same rest position and normal as each vertex. */
static uint32_t *find_twins(pelt_arena *arena, const pelt_model *model) {
    uint32_t n = model->vertex_count, *first = PELT_NEW(arena, n, uint32_t), *point_of = PELT_NEW(arena, n, uint32_t);
    uint32_t *newest = PELT_NEW(arena, n, uint32_t), *older = PELT_NEW(arena, n, uint32_t); /* chains, by index + 1 */
    pelt_mesh mesh = {.vertex_count = n, .positions = (float *)model->positions};
    pelt_weld(arena, &mesh, (pelt_examples){0}, 0, point_of);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t *chain = &newest[point_of[v]], found = *chain;
        const float *own = model->normals + 3 * (size_t)v;
        for (; found; found = older[found - 1]) {
            const float *other = model->normals + 3 * (size_t)(found - 1);
            if (own[0] == other[0] && own[1] == other[1] && own[2] == other[2]) break;
        }
        if (!found) older[v] = *chain, *chain = found = v + 1;
        first[v] = found - 1;
    }
    return first;
}

static bool follows(const pelt_influences *in, uint32_t vertex, uint32_t joint) {
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        if (in->joints[i] == joint && in->weights[i] != 0) return true;
    return false;
}

static bool same_joints(const pelt_influences *in, uint32_t a, uint32_t b) {
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = in->first[a]; i < in->first[a + 1]; i++)
            if (in->weights[i] != 0 && !follows(in, b, in->joints[i])) return false;
        uint32_t swapped = a;
        a = b, b = swapped;
    }
    return true;
}

void pelt_gather_twins(pelt_arena *arena, const pelt_model *model, uint32_t *order) {
    uint32_t n = model->vertex_count, *first = find_twins(arena, model);
    uint32_t *sizes = PELT_NEW(arena, n, uint32_t), *slots = PELT_NEW(arena, n, uint32_t);
    for (uint32_t v = 0; v < n; v++) sizes[first[v]]++;
    for (uint32_t s = 0; s < n; s++) slots[order[s]] = s;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t begin = slots[first[v]] / PELT_BLOCK * PELT_BLOCK,
                 end = begin + PELT_BLOCK < n ? begin + PELT_BLOCK : n;
        if (slots[v] / PELT_BLOCK == begin / PELT_BLOCK) continue;
        for (uint32_t s = begin; s < end; s++) { /* swap with one that has no twin and follows the same joints */
            uint32_t other = order[s];
            if (sizes[first[other]] > 1 || !same_joints(&model->influences, v, other)) continue;
            order[slots[v]] = other, order[s] = v;
            slots[other] = slots[v], slots[v] = s;
            break;
        }
    }
}

static uint32_t root_of(uint32_t *parents, uint32_t block) {
    while (parents[block] != block) block = parents[block] = parents[parents[block]];
    return block;
}

uint32_t *pelt_link_blocks(pelt_arena *arena, const pelt_model *model, const uint32_t *order, uint32_t block_count) {
    uint32_t n = model->vertex_count, *first = find_twins(arena, model), *slots = PELT_NEW(arena, n, uint32_t);
    uint32_t *links = PELT_NEW(arena, block_count, uint32_t);
    for (uint32_t b = 0; b < block_count; b++) links[b] = b;
    for (uint32_t s = 0; s < n; s++) slots[order[s]] = s;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t a = root_of(links, slots[v] / PELT_BLOCK), b = root_of(links, slots[first[v]] / PELT_BLOCK);
        if (a < b) links[b] = a; /* the first of the linked blocks represents all */
        if (b < a) links[a] = b;
    }
    for (uint32_t b = 0; b < block_count; b++) links[b] = root_of(links, b);
    return links;
}
