/* pack_rings.c: the section RING: the walks around the vertices of each block, by places in a tile of slots. */

#include "pack/builder.h"
#include <math.h>

/* A patch in the making. */
typedef struct patch_list {
    const pelt_rings *rings;
    const uint32_t *order, *slots; /* vertex of each slot, slot of each vertex */
    uint32_t block, block_count;
    builder patches, neighbors, rows; /* arrays of pelt_file_patch, uint32_t, and 16 bytes */
    uint32_t patch_count, neighbor_count, row_count;
    uint32_t *patch_of; /* [slot] the patch it is in, plus 1 */
    uint8_t *place_of;  /* [slot] its place there, times two */
    uint32_t tile;      /* slots of the patch so far */
} patch_list;

static void *grow(builder *b, uint32_t *count, size_t each) {
    size_t needed = ((size_t)*count + 1) * each;
    while (b->size < needed) append(b, needed - b->size, 1);
    return b->bytes + each * (*count)++;
}

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

/* The rows from step k on that four vertices and those after them need: an odd number. */
static uint32_t rows_of_four(const patch_list *p, uint32_t four, uint32_t k) {
    uint32_t most = 0;
    for (uint32_t lane = 4 * four; lane < PELT_BLOCK; lane++) {
        uint32_t length = walk_length(p->rings, p->order[p->block * PELT_BLOCK + lane]);
        most = length > most ? length : most;
    }
    return most > k ? (most - k) | 1 : 1;
}

/* From step k on. */
static void begin_patch(patch_list *p, uint32_t k) {
    pelt_file_patch *patch = grow(&p->patches, &p->patch_count, sizeof *patch);
    *patch = (pelt_file_patch){p->neighbor_count, p->row_count, {0}};
    for (uint32_t i = 0; i < 4 && p->block < p->block_count; i++) patch->lengths[i] = rows_of_four(p, i, k);
    p->tile = PELT_BLOCK;
}

/* Fours whose walks go on in the next patch have all rows of this one. */
static void end_patch(patch_list *p) {
    pelt_file_patch *patch = (pelt_file_patch *)p->patches.bytes + p->patch_count - 1;
    uint32_t rows = p->row_count - patch->first_row;
    for (int i = 0; i < 4; i++)
        if (patch->lengths[i] > rows) patch->lengths[i] = rows;
}

static bool is_own(const patch_list *p, uint32_t slot) { return slot / PELT_BLOCK == p->block; }

/* The slot of step k of a lane's walk. Past its end, and between walks, that is the lane's own. */
static uint32_t step_of(const patch_list *p, uint32_t lane, uint32_t k) {
    uint32_t own = p->block * PELT_BLOCK + lane, leader = p->rings->leaders[p->order[own]];
    const uint32_t *first = p->rings->first + leader;
    if (k >= first[1] - first[0]) return own;
    uint32_t vertex = p->rings->walks[first[0] + k];
    return vertex == PELT_SELF ? own : p->slots[vertex];
}

static bool fits(const patch_list *p, uint32_t k, uint32_t steps) {
    uint32_t more = 0;
    for (uint32_t i = 0; i < steps * PELT_BLOCK; i++) {
        uint32_t slot = step_of(p, i % PELT_BLOCK, k + i / PELT_BLOCK);
        more += !is_own(p, slot) && p->patch_of[slot] != p->patch_count;
    }
    return p->tile + more <= PELT_TILE;
}

static void add_row(patch_list *p, uint32_t k) {
    uint8_t *row = grow(&p->rows, &p->row_count, PELT_BLOCK);
    for (uint32_t lane = 0; lane < PELT_BLOCK; lane++) {
        uint32_t slot = step_of(p, lane, k);
        if (is_own(p, slot)) {
            row[lane] = (uint8_t)(2 * (slot % PELT_BLOCK));
            continue;
        }
        if (p->patch_of[slot] != p->patch_count) {
            *(uint32_t *)grow(&p->neighbors, &p->neighbor_count, sizeof(uint32_t)) = slot;
            p->patch_of[slot] = p->patch_count, p->place_of[slot] = (uint8_t)(2 * p->tile++);
        }
        row[lane] = p->place_of[slot];
    }
}

/* Two steps at a time; a patch that is full ends, and the next begins with the step where it has ended. */
static void add_block(patch_list *p) {
    uint32_t longest = rows_of_four(p, 0, 0);
    begin_patch(p, 0);
    add_row(p, 0);
    for (uint32_t k = 1; k < longest; k += 2) {
        if (!fits(p, k, 2)) end_patch(p), begin_patch(p, k - 1), add_row(p, k - 1);
        add_row(p, k), add_row(p, k + 1);
    }
    end_patch(p);
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

static void append_bends(builder *b, const patch_list *p, uint32_t block_count, pelt_file_rings *head) {
    size_t slots = (size_t)block_count * PELT_BLOCK;
    head->bends = append(b, 3 * slots, sizeof(float));
    head->across = append(b, slots, sizeof(uint32_t));
    float *bends = (float *)(b->bytes + head->bends);
    uint32_t *across = (uint32_t *)(b->bytes + head->across);
    for (size_t s = 0; s < slots; s++) {
        uint32_t leader = p->rings->leaders[p->order[s]];
        for (size_t c = 0; c < 3; c++)
            bends[(s / PELT_BLOCK * 3 + c) * PELT_BLOCK + s % PELT_BLOCK] = p->rings->bends[3 * (size_t)leader + c];
        across[s] = p->slots[p->rings->across[leader]];
    }
}

void pelt_pack_rings(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                     uint64_t *sizes) {
    size_t slots = (size_t)skin->block_count * PELT_BLOCK;
    const builder none = {.arena = arena};
    patch_list p = {.rings = model->rings,
                    .order = order,
                    .slots = skin->vertex_slots,
                    .block_count = skin->block_count,
                    .patches = none,
                    .neighbors = none,
                    .rows = none,
                    .patch_of = PELT_NEW(arena, slots, uint32_t),
                    .place_of = PELT_NEW(arena, slots, uint8_t)};
    uint32_t *firsts = PELT_NEW(arena, (size_t)skin->block_count + 1, uint32_t);
    for (; p.block < skin->block_count; p.block++) {
        firsts[p.block] = p.patch_count;
        add_block(&p);
    }
    pelt_file_rings head = {
        .by_angle = p.rings->by_angle, .scale = scale_of(p.rings, model), .patch_count = p.patch_count};
    firsts[skin->block_count] = p.patch_count;
    begin_patch(&p, 0); /* the end of the last */
    for (int i = 0; i < PELT_BLOCK; i++)
        *(uint32_t *)grow(&p.neighbors, &p.neighbor_count, sizeof(uint32_t)) = 0; /* to read beyond it */
    builder b = none;
    append(&b, 1, sizeof head);
    head.firsts = append_copy(&b, firsts, (size_t)skin->block_count + 1, sizeof *firsts);
    head.patches = append_copy(&b, p.patches.bytes, p.patch_count, sizeof(pelt_file_patch));
    head.neighbors = append_copy(&b, p.neighbors.bytes, p.neighbor_count, sizeof(uint32_t));
    head.rows = append_copy(&b, p.rows.bytes, p.row_count, PELT_BLOCK);
    if (p.rings->bends) append_bends(&b, &p, skin->block_count, &head);
    memcpy(b.bytes, &head, sizeof head);
    skin->rings = (const pelt_file_rings *)b.bytes;
    sizes[PELT_SECTION_RINGS] = b.size;
}
