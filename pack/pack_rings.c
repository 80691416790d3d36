/* pack_rings.c: the section RING: the walks around the vertices of each block, by places in a tile of slots. */

#include "pack/builder.h"
#include <math.h>

/* The walks in the order of slots. */
typedef struct walker {
    const pelt_rings *rings;
    const uint32_t *order, *slots; /* vertex of each slot, slot of each vertex */
} walker;

static uint32_t walk_length(const pelt_rings *rings, uint32_t vertex) {
    uint32_t leader = rings->leaders[vertex];
    return rings->first[leader + 1] - rings->first[leader];
}

void pelt_sort_walks(const pelt_model *model, uint32_t *order) {
    for (uint32_t first = 0; first < model->vertex_count; first += PELT_BLOCK) {
        uint32_t left = model->vertex_count - first, count = left < PELT_BLOCK ? left : PELT_BLOCK;
        for (uint32_t i = 1; i < count; i++) { /* by insertion, which keeps the order of equals */
            uint32_t vertex = order[first + i], length = walk_length(model->rings, vertex), k = i;
            for (; k && walk_length(model->rings, order[first + k - 1]) < length; k--)
                order[first + k] = order[first + k - 1];
            order[first + k] = vertex;
        }
    }
}

/* The rows that some four vertices of a block and those after them need: an odd number. */
static uint32_t rows_of_four(const walker *w, uint32_t block, uint32_t four) {
    uint32_t most = 1;
    for (uint32_t lane = 4 * four; lane < PELT_BLOCK; lane++) {
        uint32_t length = walk_length(w->rings, w->order[block * PELT_BLOCK + lane]);
        most = length > most ? length : most;
    }
    return most | 1;
}

/* The slot of step k of the walk around a slot. Past its end, and between walks, that is the slot itself. */
static uint32_t step_of(const walker *w, uint32_t own, uint32_t k) {
    uint32_t leader = w->rings->leaders[w->order[own]];
    const uint32_t *first = w->rings->first + leader;
    if (k >= first[1] - first[0]) return own;
    uint32_t vertex = w->rings->walks[first[0] + k];
    return vertex == PELT_SELF ? own : w->slots[vertex];
}

static void fill_rows(const walker *w, uint32_t block, uint32_t last, pelt_file_walks *walks, uint32_t *rows) {
    walks->careful = block == last / PELT_BLOCK;
    for (uint32_t k = 0; k < walks->lengths[0]; k++)
        for (uint32_t lane = 0; lane < PELT_BLOCK; lane++) {
            uint32_t slot = step_of(w, block * PELT_BLOCK + lane, k);
            rows[k * PELT_BLOCK + lane] = 3 * slot;
            if (slot == last) walks->careful = 1;
        }
}

/* 1 over the mean square of edges, so that squares of sums over triangles stay in range, whatever the unit of length. */
static float scale_of(const pelt_rings *rings, const pelt_model *model) {
    double sum = 0;
    size_t count = 0;
    if (rings->by_angle) return 1;
    for (uint32_t v = 0; v < model->vertex_count; v++)
        for (uint32_t i = rings->first[v]; i < rings->first[v + 1]; i++) {
            if (rings->walks[i] == PELT_SELF) continue;
            const float *a = model->positions + 3 * (size_t)v, *b = model->positions + 3 * (size_t)rings->walks[i];
            for (int c = 0; c < 3; c++) sum += ((double)b[c] - a[c]) * ((double)b[c] - a[c]);
            count++;
        }
    double scale = (double)count / sum;
    return scale > 1e-30 && scale < 1e30 ? (float)scale : 1;
}

static void append_bends(builder *b, const walker *w, uint32_t block_count, pelt_file_rings *head) {
    size_t slots = (size_t)block_count * PELT_BLOCK;
    head->bends = append(b, 3 * slots, sizeof(float));
    head->across = append(b, slots, sizeof(uint32_t));
    float *bends = (float *)(b->bytes + head->bends);
    uint32_t *across = (uint32_t *)(b->bytes + head->across);
    for (size_t s = 0; s < slots; s++) {
        uint32_t leader = w->rings->leaders[w->order[s]];
        for (size_t c = 0; c < 3; c++)
            bends[(s / PELT_BLOCK * 3 + c) * PELT_BLOCK + s % PELT_BLOCK] = w->rings->bends[3 * (size_t)leader + c];
        across[s] = w->slots[w->rings->across[leader]];
    }
}

void pelt_pack_rings(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                     uint64_t *sizes) {
    const walker w = {model->rings, order, skin->vertex_slots};
    uint32_t blocks = skin->block_count, last = blocks * PELT_BLOCK - 1;
    pelt_file_walks *walks = PELT_NEW(arena, (size_t)blocks + 1, pelt_file_walks);
    for (uint32_t b = 0; b < blocks; b++) {
        for (uint32_t i = 0; i < 4; i++) walks[b].lengths[i] = rows_of_four(&w, b, i);
        walks[b + 1].first_row = walks[b].first_row + walks[b].lengths[0];
    }
    builder b = {.arena = arena};
    pelt_file_rings head = {.by_angle = w.rings->by_angle, .scale = scale_of(w.rings, model)};
    append(&b, 1, sizeof head);
    head.rows = append(&b, (size_t)walks[blocks].first_row * PELT_BLOCK, sizeof(uint32_t));
    for (uint32_t i = 0; i < blocks; i++)
        fill_rows(&w, i, last, &walks[i], (uint32_t *)(b.bytes + head.rows) + (size_t)walks[i].first_row * PELT_BLOCK);
    head.walks = append_copy(&b, walks, (size_t)blocks + 1, sizeof *walks);
    if (w.rings->bends) append_bends(&b, &w, blocks, &head);
    memcpy(b.bytes, &head, sizeof head);
    skin->rings = (const pelt_file_rings *)b.bytes;
    sizes[PELT_SECTION_RINGS] = b.size;
}
