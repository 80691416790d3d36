/* blocks.c: which vertices share a block of 16.

   A block costs as much as the number of joints that any of its vertices uses, so vertices with the same set of joints
   belong together. Vertices are grouped by set; every 16 of a group make a block. What is left over, fewer than 16 of
   each set, is filled up greedily: start a block with the first set left, add the set that brings the fewest new
   joints, looking only at the next sets in sorted order (which share their first joints), so that the work stays
   linear. Small meshes whose own order is already good can come out a little dearer than they went in; those keep their
   order. */

#include "pack/model.h"
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512 };

typedef struct joint_set {
    const uint32_t *joints; /* sorted */
    uint32_t count;
    uint32_t vertex;
} joint_set;

static int compare_joints(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_joint_lists(const joint_set *a, const joint_set *b) {
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (a->joints[i] != b->joints[i]) return a->joints[i] < b->joints[i] ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

/* By set, then by vertex, which keeps neighbours of the mesh together and the order unique. */
static int compare_sets(const void *a, const void *b) {
    const joint_set *x = a, *y = b;
    int order = compare_joint_lists(x, y);
    return order ? order : (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

static joint_set *sorted_sets(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count) {
    joint_set *sets = PELT_NEW(arena, vertex_count, joint_set);
    uint32_t *joints = PELT_NEW(arena, influences->first[vertex_count], uint32_t);
    for (uint32_t v = 0; v < vertex_count; v++) {
        uint32_t first = influences->first[v], count = 0;
        for (uint32_t i = first; i < influences->first[v + 1]; i++)
            if (influences->weights[i] != 0) joints[first + count++] = influences->joints[i];
        qsort(joints + first, count, sizeof *joints, compare_joints);
        sets[v] = (joint_set){joints + first, count, v};
    }
    qsort(sets, vertex_count, sizeof *sets, compare_sets);
    return sets;
}

/* Vertices of one set that did not fill a block. */
typedef struct leftover {
    const joint_set *sets; /* `count` of them, all alike */
    uint32_t count;
    uint32_t next; /* of the list in sorted order; UINT32_MAX at the end */
} leftover;

static uint32_t new_joints(const joint_set *set, const uint32_t *stamp, uint32_t block) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->count; i++) count += stamp[set->joints[i]] != block;
    return count;
}

/* Takes vertices from the list of leftovers until a block is full or nothing is left; returns the number taken. */
static uint32_t fill_block(leftover *list, uint32_t *head, uint32_t *stamp, uint32_t block, uint32_t *order) {
    uint32_t filled = 0;
    while (filled < PELT_BLOCK && *head != UINT32_MAX) {
        uint32_t *best_link = head, best = UINT32_MAX, looked = 0;
        for (uint32_t *link = head; *link != UINT32_MAX && looked < WINDOW && best > 0; looked++) {
            uint32_t extra = filled ? new_joints(list[*link].sets, stamp, block) : 0;
            if (extra < best) best = extra, best_link = link;
            link = &list[*link].next;
        }
        leftover *chosen = &list[*best_link];
        for (uint32_t i = 0; i < chosen->sets->count; i++) stamp[chosen->sets->joints[i]] = block;
        while (filled < PELT_BLOCK && chosen->count) order[filled++] = (chosen->sets++)->vertex, chosen->count--;
        if (!chosen->count) *best_link = chosen->next;
    }
    return filled;
}

/* Entries that the blocks of an order need. `stamp` has a place for each joint. */
static uint64_t order_cost(const pelt_influences *influences, uint32_t vertex_count, uint32_t joint_count,
                           const uint32_t *order, uint32_t *stamp) {
    uint64_t cost = 0;
    memset(stamp, 0, joint_count * sizeof *stamp);
    for (uint32_t slot = 0; slot < vertex_count; slot++) {
        uint32_t block = slot / PELT_BLOCK + 1, v = order ? order[slot] : slot;
        for (uint32_t i = influences->first[v]; i < influences->first[v + 1]; i++) {
            uint32_t *seen = &stamp[influences->joints[i]];
            if (influences->weights[i] != 0 && *seen != block) *seen = block, cost++;
        }
    }
    return cost;
}

void pelt_block_order(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count, uint32_t joint_count,
                      uint32_t *order) {
    joint_set *sets = sorted_sets(arena, influences, vertex_count);
    leftover *list = PELT_NEW(arena, vertex_count, leftover);
    uint32_t *stamp = PELT_NEW(arena, joint_count, uint32_t);
    uint32_t placed = 0, left = 0;
    for (uint32_t begin = 0, end; begin < vertex_count; begin = end) {
        for (end = begin + 1; end < vertex_count && !compare_joint_lists(&sets[begin], &sets[end]);) end++;
        uint32_t full = (end - begin) / PELT_BLOCK * PELT_BLOCK;
        for (uint32_t i = begin; i < begin + full; i++) order[placed++] = sets[i].vertex;
        if (begin + full < end) {
            list[left] = (leftover){sets + begin + full, end - begin - full, left + 1};
            left++;
        }
    }
    uint32_t head = left ? 0 : UINT32_MAX;
    if (left) list[left - 1].next = UINT32_MAX;
    for (uint32_t block = 1; head != UINT32_MAX; block++)
        placed += fill_block(list, &head, stamp, block, order + placed);
    if (order_cost(influences, vertex_count, joint_count, NULL, stamp) <
        order_cost(influences, vertex_count, joint_count, order, stamp))
        for (uint32_t v = 0; v < vertex_count; v++) order[v] = v;
}
