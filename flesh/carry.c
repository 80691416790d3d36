/* carry.c: which bones carry a free node's first guess: the nearest through the flesh, so that a finger does not follow the
   one beside it. Dijkstra's algorithm from all bones at once; a node is done when its PELT_CARRIERS nearest have come. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

typedef struct arrival {
    double distance;
    uint32_t row, bone;
} arrival;

typedef struct queue {
    arrival *heap;
    size_t count;
} queue;

/* By row and bone where distances are equal, so that there is one order. */
static bool before(const arrival *a, const arrival *b) {
    if (a->distance != b->distance) return a->distance < b->distance;
    return a->row != b->row ? a->row < b->row : a->bone < b->bone;
}

static void push(queue *q, arrival a) {
    size_t i = q->count++;
    for (; i && before(&a, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = a;
}

static arrival pop(queue *q) {
    arrival first = q->heap[0], last = q->heap[--q->count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < q->count) {
        if (child + 1 < q->count && before(&q->heap[child + 1], &q->heap[child])) child++;
        if (!before(&q->heap[child], &last)) break;
        q->heap[i] = q->heap[child];
        i = child;
    }
    q->heap[i] = last;
    return first;
}

/* Whether a bone is among the `count` carriers of a row. */
static bool carries(const uint32_t *carriers, uint32_t count, uint32_t bone) {
    for (uint32_t k = 0; k < count; k++)
        if (carriers[k] == bone) return true;
    return false;
}

static double apart(const pelt_solid *s, uint32_t a, uint32_t b) {
    return pelt_distance(s->shape.nodes + 3 * (size_t)a, s->shape.nodes + 3 * (size_t)b);
}

/* Free nodes that share an element with a bone's node. */
static void begin_at_bones(const pelt_solid *solid, queue *q) {
    const pelt_solid_shape *s = &solid->shape;
    uint32_t n = s->nodes_per_element;
    for (size_t e = 0; e < s->element_count; e++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++) {
                uint32_t fixed = s->elements[e * n + a], moved = s->elements[e * n + b];
                if (solid->unknowns[fixed] == PELT_NOWHERE && solid->unknowns[moved] != PELT_NOWHERE)
                    push(q,
                         (arrival){apart(solid, fixed, moved), solid->unknowns[moved], (uint32_t)s->node_bones[fixed]});
            }
}

static size_t most_arrivals(const pelt_solid *solid) {
    size_t n = solid->shape.nodes_per_element;
    return solid->shape.element_count * n * n / 4 + PELT_CARRIERS * (size_t)solid->row_starts[solid->free_count] + 1;
}

void pelt_solid_carry(pelt_arena *arena, pelt_solid *solid) {
    pelt_arena *inside = pelt_arena_inside(arena);
    queue q = {PELT_NEW(inside, most_arrivals(solid), arrival), 0};
    uint8_t *found = PELT_NEW(inside, (size_t)solid->free_count + 1, uint8_t);
    solid->carriers = PELT_NEW(arena, PELT_CARRIERS * (size_t)solid->free_count + 1, uint32_t);
    solid->carrier_weights = PELT_NEW(arena, PELT_CARRIERS * (size_t)solid->free_count + 1, double);
    begin_at_bones(solid, &q);
    while (q.count) {
        arrival a = pop(&q);
        uint32_t *carriers = solid->carriers + PELT_CARRIERS * (size_t)a.row;
        if (found[a.row] == PELT_CARRIERS || carries(carriers, found[a.row], a.bone)) continue;
        double square = a.distance * a.distance;
        solid->carrier_weights[PELT_CARRIERS * (size_t)a.row + found[a.row]] = 1 / (square * square + 1e-300);
        carriers[found[a.row]++] = a.bone;
        for (uint32_t k = solid->row_starts[a.row]; k < solid->row_starts[a.row + 1]; k++) {
            uint32_t row = solid->columns[k];
            if (found[row] == PELT_CARRIERS ||
                carries(solid->carriers + PELT_CARRIERS * (size_t)row, found[row], a.bone))
                continue;
            double further = apart(solid, solid->free_nodes[a.row], solid->free_nodes[row]);
            push(&q, (arrival){a.distance + further, row, a.bone});
        }
    }
    for (size_t row = 0; row < solid->free_count; row++) {
        double *weights = solid->carrier_weights + PELT_CARRIERS * row, sum = 0;
        if (!found[row]) weights[0] = 1; /* a piece without a bone goes with the first */
        for (int k = 0; k < PELT_CARRIERS; k++) sum += weights[k];
        for (int k = 0; k < PELT_CARRIERS; k++) weights[k] /= sum;
    }
    pelt_arena_free(inside);
}
