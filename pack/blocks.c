/* blocks.c: which vertices share a block of 16.

   A block pays for every *column* (joint, or coefficient of a corrective) that any of its vertices uses, so vertices
   with the same set of columns belong together:

   1. Vertices are grouped by set; every 16 of a group make a block.
   2. The leftovers, fewer than 16 of each set, fill blocks greedily. A block starts with the set whose columns are
      rarest, and repeatedly adds the set with the least extra cost; ties go to sets that share rare columns with the
      block, since these would be paid for again elsewhere. Only sets that share a column are considered, rarest columns
      first, and at most a window of them, so that the work stays linear.
   3. Vertices of these blocks are swapped where that makes the two blocks cheaper in total.

   Steps 2 and 3 compare large sets by a sample of their columns, so that the work does not grow with their size.

   Small meshes whose original order is already good can come out slightly more expensive; those keep their order. */

#include "model/model.h"
#include "rig/sort.h"
#include <stdlib.h>
#include <string.h>

/* Sets considered for a place in a block; blocks considered for moving a vertex, and how many of them are tried. */
enum { WINDOW = 512, BLOCKS_SEEN = 64, BLOCKS_TRIED = 8 };

/* This many columns are enough to estimate the similarity of two sets. */
enum { COMPARED = 160 };

/* The value of sharing a column that nobody else uses, in units of cost. */
static const float premium = 3;

/* Sets of columns; zero weights are ignored. */
typedef struct column_set {
    uint32_t *columns; /* sorted */
    uint32_t count;
    uint32_t vertex;
} column_set;

static int compare_lists(const column_set *a, const column_set *b) {
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (a->columns[i] != b->columns[i]) return a->columns[i] < b->columns[i] ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

/* By set, then by vertex, which keeps mesh neighbours together and makes the order unique. */
static int compare_sets(const void *a, const void *b) {
    const column_set *x = a, *y = b;
    int order = compare_lists(x, y);
    return order ? order : (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

static column_set *sorted_sets(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count) {
    column_set *sets = PELT_NEW(arena, vertex_count, column_set);
    uint32_t *columns = PELT_NEW(arena, influences->first[vertex_count], uint32_t);
    for (uint32_t v = 0; v < vertex_count; v++) {
        uint32_t first = influences->first[v], count = 0;
        for (uint32_t i = first; i < influences->first[v + 1]; i++)
            if (influences->weights[i] != 0) columns[first + count++] = influences->joints[i];
        qsort(columns + first, count, sizeof *columns, pelt_rising_integers);
        uint32_t distinct = 0;
        for (uint32_t i = first; i < first + count; i++)
            if (i == first || columns[i] != columns[i - 1]) columns[first + distinct++] = columns[i];
        sets[v] = (column_set){columns + first, distinct, v};
    }
    qsort(sets, vertex_count, sizeof *sets, compare_sets);
    return sets;
}

/* -- Large sets ---------------------------------------------------------------------------------------------------- */

/* The columns used for comparison: joints, and every n-th of the others, which represents n columns. */
typedef struct compared {
    uint32_t joints, count, every;
} compared;

static uint32_t cost_of(compared columns, uint32_t column) {
    return column < columns.joints ? PELT_JOINT_COST : columns.every;
}

/* Reduces sets to the columns used for comparison. */
static compared thin_sets(pelt_block_columns columns, uint32_t count, column_set *sets) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) total += sets[i].count;
    compared out = {columns.joints, columns.count, 1 + (uint32_t)(count ? total / count / COMPARED : 0)};
    for (uint32_t i = 0; i < count && out.every > 1; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < sets[i].count; k++) {
            uint32_t c = sets[i].columns[k];
            if (c < out.joints || (c - out.joints) % out.every == 0) sets[i].columns[kept++] = c;
        }
        sets[i].count = kept;
    }
    return out;
}

/* -- Filling blocks ------------------------------------------------------------------------------------------------ */

/* Vertices of one set that did not fill a block. */
typedef struct leftover {
    const column_set *sets; /* `count` equal ones */
    uint32_t count;
    float rarity;
} leftover;

typedef struct filling {
    compared columns;
    leftover *list; /* in the order in which they start blocks */
    uint32_t count, next;
    uint32_t *column_first; /* [column + 1] of `holders` */
    uint32_t *holders;      /* leftovers with the column, */
    uint32_t *alive;        /* [column] how many of those may still have vertices */
    uint32_t *users;        /* [column] remaining vertices that use it */
    uint32_t *stamp;        /* [column] 1 + the block that has it */
    uint32_t *looked;       /* [leftover] the step that visited it */
    float *adds;            /* [column] cost added to the block by using it; negative if the block has it */
    uint32_t *of_block;     /* columns of the current block */
    uint32_t of_block_count, step;
} filling;

static int rarest_first(const void *a, const void *b) {
    const leftover *x = a, *y = b;
    if (x->rarity != y->rarity) return x->rarity > y->rarity ? -1 : 1;
    return compare_sets(x->sets, y->sets);
}

static void start_filling(pelt_arena *arena, filling *f) {
    uint32_t columns = f->columns.count, entries = 0;
    f->users = PELT_NEW(arena, columns, uint32_t), f->alive = PELT_NEW(arena, columns, uint32_t);
    f->stamp = PELT_NEW(arena, columns, uint32_t), f->of_block = PELT_NEW(arena, columns, uint32_t);
    f->looked = PELT_NEW(arena, f->count, uint32_t), f->adds = PELT_NEW(arena, columns, float);
    f->column_first = PELT_NEW(arena, (size_t)columns + 1, uint32_t);
    for (uint32_t g = 0; g < f->count; g++)
        for (uint32_t i = 0; i < f->list[g].sets->count; i++, entries++) {
            f->users[f->list[g].sets->columns[i]] += f->list[g].count;
            f->alive[f->list[g].sets->columns[i]]++;
        }
    for (uint32_t g = 0; g < f->count; g++)
        for (uint32_t i = 0; i < f->list[g].sets->count; i++)
            f->list[g].rarity += 1.0f / (float)f->users[f->list[g].sets->columns[i]];
    for (uint32_t c = 0; c < columns; c++) f->adds[c] = (float)cost_of(f->columns, c);
    qsort(f->list, f->count, sizeof *f->list, rarest_first);
    f->holders = PELT_NEW(arena, entries, uint32_t);
    for (uint32_t c = 0; c < columns; c++) f->column_first[c + 1] = f->column_first[c] + f->alive[c], f->alive[c] = 0;
    for (uint32_t g = 0; g < f->count; g++)
        for (uint32_t i = 0; i < f->list[g].sets->count; i++) {
            uint32_t c = f->list[g].sets->columns[i];
            f->holders[f->column_first[c] + f->alive[c]++] = g;
        }
}

/* The cost of adding each of four sets to the block, minus the premium for shared columns. Four at a time, to hide the
   latency of the sums. */
static void costs_to_add(const filling *f, const column_set *const sets[4], float costs[4]) {
    const float *adds = f->adds;
    const uint32_t *a = sets[0]->columns, *b = sets[1]->columns, *c = sets[2]->columns, *d = sets[3]->columns;
    uint32_t common = sets[0]->count;
    for (int k = 1; k < 4; k++) common = sets[k]->count < common ? sets[k]->count : common;
    float w = 0, x = 0, y = 0, z = 0;
    for (uint32_t i = 0; i < common; i++) w += adds[a[i]], x += adds[b[i]], y += adds[c[i]], z += adds[d[i]];
    costs[0] = w, costs[1] = x, costs[2] = y, costs[3] = z;
    for (int k = 0; k < 4; k++)
        for (uint32_t i = common; i < sets[k]->count; i++) costs[k] += adds[sets[k]->columns[i]];
}

/* Lists leftovers that share a column with the block, at most a window of them; returns their number. */
static uint32_t list_window(filling *f, uint32_t window[WINDOW]) {
    uint32_t looked = 0;
    f->step++;
    for (uint32_t i = 0; i < f->of_block_count && looked < WINDOW; i++) {
        uint32_t c = f->of_block[i], *holders = f->holders + f->column_first[c];
        for (uint32_t k = 0; k < f->alive[c] && looked < WINDOW;) {
            uint32_t g = holders[k];
            if (!f->list[g].count) {
                holders[k] = holders[--f->alive[c]];
                continue;
            }
            k++;
            if (f->looked[g] == f->step) continue;
            f->looked[g] = f->step, window[looked++] = g;
        }
    }
    return looked;
}

/* The best of those to add next; f->count when there is none. */
static uint32_t best_to_add(filling *f) {
    uint32_t window[WINDOW], best = f->count, count = list_window(f, window);
    float least = 0;
    for (uint32_t i = 0; i < count; i += 4) {
        const column_set *sets[4];
        float costs[4];
        for (uint32_t k = 0; k < 4; k++) sets[k] = f->list[window[i + k < count ? i + k : i]].sets;
        costs_to_add(f, sets, costs);
        for (uint32_t k = 0; k < 4 && i + k < count; k++) {
            uint32_t g = window[i + k];
            if (best == f->count || costs[k] < least || (costs[k] == least && g < best)) least = costs[k], best = g;
        }
    }
    return best;
}

/* Adds the columns of a set to the block, whose list is sorted by rarity. */
static void add_columns(filling *f, const column_set *set, uint32_t block) {
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t c = set->columns[i], at;
        if (f->stamp[c] == block + 1) continue;
        f->stamp[c] = block + 1;
        for (at = f->of_block_count++; at > 0 && f->alive[f->of_block[at - 1]] > f->alive[c]; at--)
            f->of_block[at] = f->of_block[at - 1];
        f->of_block[at] = c;
    }
}

/* Adds vertices until the block is full or nothing is left; returns the number added. */
static uint32_t fill_block(filling *f, uint32_t block, const column_set **slots) {
    uint32_t filled = 0;
    for (uint32_t i = 0; i < f->of_block_count; i++)
        f->adds[f->of_block[i]] = (float)cost_of(f->columns, f->of_block[i]);
    f->of_block_count = 0;
    while (filled < PELT_BLOCK) {
        uint32_t chosen = filled ? best_to_add(f) : f->count;
        if (chosen == f->count) {
            while (f->next < f->count && !f->list[f->next].count) f->next++;
            if (f->next == f->count) break;
            chosen = f->next;
        }
        leftover *from = &f->list[chosen];
        add_columns(f, from->sets, block);
        while (filled < PELT_BLOCK && from->count) {
            for (uint32_t i = 0; i < from->sets->count; i++) {
                uint32_t c = from->sets->columns[i], users = --f->users[c];
                float stands_for = c < f->columns.joints ? 1 : (float)f->columns.every;
                f->adds[c] = users ? -premium * stands_for / (float)users : 0;
            }
            slots[filled++] = from->sets++, from->count--;
        }
    }
    return filled;
}

/* -- Swapping vertices
   ----------------------------------------------------------------------------------------------- */

/* A table of how many vertices of one block use each column. */
typedef struct tally {
    uint8_t *counts; /* [column] */
    uint32_t block;
} tally;

typedef struct exchange {
    compared columns;
    const column_set **slots;
    uint32_t slot_count, block_count;
    uint32_t *column_first, *holders; /* blocks with each column, as they were initially */
    uint32_t *looked;                 /* [block] the slot that visited it */
    tally here, there;
} exchange;

static uint32_t block_size(const exchange *x, uint32_t block) {
    uint32_t left = x->slot_count - block * PELT_BLOCK;
    return left < PELT_BLOCK ? left : PELT_BLOCK;
}

static void count_block(const exchange *x, tally *t, uint32_t block, int by) {
    const column_set **slots = x->slots + (size_t)block * PELT_BLOCK;
    t->block = block;
    for (uint32_t k = 0; k < block_size(x, block); k++)
        for (uint32_t i = 0; i < slots[k]->count; i++)
            t->counts[slots[k]->columns[i]] = (uint8_t)(t->counts[slots[k]->columns[i]] + by);
}

/* Cost of the columns of a set that exactly `users` of the block's vertices use. */
static uint32_t cost_used_by(const exchange *x, const tally *t, const column_set *set, uint8_t users) {
    uint32_t cost = 0;
    for (uint32_t i = 0; i < set->count; i++)
        if (t->counts[set->columns[i]] == users) cost += cost_of(x->columns, set->columns[i]);
    return cost;
}

static void recount(const tally *t, const column_set *set, int by) {
    for (uint32_t i = 0; i < set->count; i++) t->counts[set->columns[i]] = (uint8_t)(t->counts[set->columns[i]] + by);
}

static void index_blocks(pelt_arena *arena, exchange *x) {
    uint32_t columns = x->columns.count, *last = PELT_NEW(arena, columns, uint32_t);
    x->column_first = PELT_NEW(arena, (size_t)columns + 2, uint32_t);
    for (int filled = 0; filled < 2; filled++) {
        memset(last, 0, columns * sizeof *last);
        for (uint32_t s = 0; s < x->slot_count; s++)
            for (uint32_t i = 0; i < x->slots[s]->count; i++) {
                uint32_t c = x->slots[s]->columns[i], block = s / PELT_BLOCK;
                if (last[c] == block + 1) continue;
                last[c] = block + 1;
                if (filled)
                    x->holders[x->column_first[c + 1]++] = block;
                else
                    x->column_first[c + 2]++;
            }
        if (filled) break;
        for (uint32_t c = 0; c < columns; c++) x->column_first[c + 2] += x->column_first[c + 1];
        x->holders = PELT_NEW(arena, x->column_first[columns + 1], uint32_t);
    }
}

typedef struct target {
    uint32_t block, cost;
} target;

/* Cost of adding a set, by its first 64 columns, to a block without a tally. */
static uint32_t cost_in(const exchange *x, const column_set *set, uint32_t block) {
    const column_set **slots = x->slots + (size_t)block * PELT_BLOCK;
    uint64_t missing = set->count < 64 ? (1ull << set->count) - 1 : ~0ull;
    for (uint32_t k = 0; k < block_size(x, block) && missing; k++)
        for (uint32_t i = 0, m = 0; i < slots[k]->count && m < set->count && m < 64;) {
            uint32_t a = slots[k]->columns[i], b = set->columns[m];
            if (a == b) missing &= ~(1ull << m);
            i += a <= b, m += b <= a;
        }
    uint32_t cost = 0;
    for (uint32_t m = 0; m < set->count && m < 64; m++)
        if (missing >> m & 1) cost += cost_of(x->columns, set->columns[m]);
    return cost;
}

/* Blocks to which a set adds little, cheapest first, among those that share its rarest columns. */
static uint32_t find_targets(exchange *x, uint32_t slot, target *out) {
    const column_set *set = x->slots[slot];
    uint32_t count = 0, seen = 0, order[BLOCKS_SEEN], columns = 0;
    for (uint32_t i = 0; i < set->count; i++) { /* the columns in the fewest blocks first */
        uint32_t c = set->columns[i], width = x->column_first[c + 1] - x->column_first[c];
        uint32_t at = columns < BLOCKS_SEEN ? columns++ : BLOCKS_SEEN - 1;
        for (; at > 0 && x->column_first[order[at - 1] + 1] - x->column_first[order[at - 1]] > width; at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
    for (uint32_t i = 0; i < columns && seen < BLOCKS_SEEN; i++)
        for (uint32_t k = x->column_first[order[i]]; k < x->column_first[order[i] + 1] && seen < BLOCKS_SEEN; k++) {
            uint32_t block = x->holders[k];
            if (block == slot / PELT_BLOCK || x->looked[block] == slot + 1) continue;
            x->looked[block] = slot + 1, seen++;
            target t = {block, cost_in(x, set, block)};
            if (count == BLOCKS_TRIED && t.cost >= out[count - 1].cost) continue;
            uint32_t at = count < BLOCKS_TRIED ? count++ : count - 1;
            for (; at > 0 && out[at - 1].cost > t.cost; at--) out[at] = out[at - 1];
            out[at] = t;
        }
    return count;
}

/* Change of the cost of two blocks if their vertices a and b are swapped. `here` already excludes a. */
static int64_t change_of(exchange *x, const column_set *a, const column_set *b, int64_t saved) {
    int64_t change = -saved - (int64_t)cost_used_by(x, &x->there, b, 1);
    recount(&x->there, b, -1);
    change += cost_used_by(x, &x->here, b, 0) + cost_used_by(x, &x->there, a, 0);
    recount(&x->there, b, 1);
    return change;
}

/* Moves the vertex of a slot to where it makes two blocks cheapest, if anywhere. x->here is its block. */
static void move_vertex(exchange *x, uint32_t slot) {
    target targets[BLOCKS_TRIED];
    const column_set *own = x->slots[slot];
    int64_t saved = cost_used_by(x, &x->here, own, 1), best = 0;
    if (!saved) return;
    uint32_t place = slot, count = find_targets(x, slot, targets);
    recount(&x->here, own, -1);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t first = targets[t].block * PELT_BLOCK;
        count_block(x, &x->there, targets[t].block, 1);
        for (uint32_t k = first; k < first + block_size(x, targets[t].block); k++) {
            int64_t change = change_of(x, own, x->slots[k], saved);
            if (change < best) best = change, place = k;
        }
        count_block(x, &x->there, targets[t].block, -1);
    }
    x->slots[slot] = x->slots[place], x->slots[place] = own;
    recount(&x->here, x->slots[slot], 1);
}

static void change_places(pelt_arena *arena, exchange *x) {
    index_blocks(arena, x);
    x->looked = PELT_NEW(arena, x->block_count, uint32_t);
    x->here.counts = PELT_NEW(arena, x->columns.count, uint8_t);
    x->there.counts = PELT_NEW(arena, x->columns.count, uint8_t);
    for (uint32_t b = 0; b < x->block_count; b++) {
        count_block(x, &x->here, b, 1);
        for (uint32_t k = 0; k < block_size(x, b); k++) move_vertex(x, b * PELT_BLOCK + k);
        count_block(x, &x->here, b, -1);
    }
}

/* -- The order ----------------------------------------------------------------------------------------------------- */

/* Cost of an order; NULL is that of the mesh. `stamp` has an entry for each column. */
static uint64_t order_cost(const pelt_influences *influences, uint32_t vertex_count, pelt_block_columns columns,
                           const uint32_t *order, uint32_t *stamp) {
    uint64_t cost = 0;
    memset(stamp, 0, columns.count * sizeof *stamp);
    for (uint32_t slot = 0; slot < vertex_count; slot++) {
        uint32_t block = slot / PELT_BLOCK + 1, v = order ? order[slot] : slot;
        for (uint32_t i = influences->first[v]; i < influences->first[v + 1]; i++) {
            uint32_t *seen = &stamp[influences->joints[i]];
            if (influences->weights[i] != 0 && *seen != block)
                *seen = block, cost += cost_of((compared){columns.joints, columns.count, 1}, influences->joints[i]);
        }
    }
    return cost;
}

void pelt_block_order(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                      pelt_block_columns columns, uint32_t *order) {
    column_set *sets = sorted_sets(arena, influences, vertex_count);
    filling f = {.list = PELT_NEW(arena, vertex_count, leftover)};
    uint32_t placed = 0, filled = 0;
    for (uint32_t begin = 0, end; begin < vertex_count; begin = end) {
        for (end = begin + 1; end < vertex_count && !compare_lists(&sets[begin], &sets[end]);) end++;
        uint32_t full = (end - begin) / PELT_BLOCK * PELT_BLOCK;
        for (uint32_t i = begin; i < begin + full; i++) order[placed++] = sets[i].vertex;
        if (begin + full < end) f.list[f.count++] = (leftover){sets + begin + full, end - begin - full, 0};
    }
    f.columns = thin_sets(columns, vertex_count, sets);
    start_filling(arena, &f);
    exchange x = {.columns = f.columns, .slots = PELT_NEW(arena, vertex_count - placed, const column_set *)};
    x.slot_count = vertex_count - placed, x.block_count = (x.slot_count + PELT_BLOCK - 1) / PELT_BLOCK;
    for (uint32_t block = 0; block < x.block_count; block++) filled += fill_block(&f, block, x.slots + filled);
    change_places(arena, &x);
    for (uint32_t s = 0; s < x.slot_count; s++) order[placed + s] = x.slots[s]->vertex;
    if (order_cost(influences, vertex_count, columns, NULL, f.stamp) <
        order_cost(influences, vertex_count, columns, order, f.stamp))
        for (uint32_t v = 0; v < vertex_count; v++) order[v] = v;
}
