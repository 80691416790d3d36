/* extrapolate.c: weights of any sign as weights from 0 to 1.

   A vertex follows the joints p with weights a_p > 0 and the joints q with weights -b_q < 0, which sum to 1. Nodes that
   extrapolate from q beyond p, by a reach s,

       M_pq = (1 + s) T_p - s T_q,        sum_p y_p T_p + sum_pq x_pq M_pq = sum_p a_p T_p - sum_q b_q T_q

   are equivalent if s sum_p x_pq = b_q and y_p + (1 + s) sum_q x_pq = a_p. All matrices on the left are affine
   combinations, so the weights y and x automatically sum to 1. There are as many equations as joints; each step below
   settles one of them for good, so a vertex needs no more nodes than it had joints. Nonnegative weights exist if s >=
   sum_q b_q. (Copies of joints scaled by +-W, plus a copy scaled to 0 to make up the sum of 1, would need one more
   node, and many players read only four.)

   The reach is a power of 4, so that vertices share nodes, and as small as possible, since it magnifies the
   interpolation errors of players between frames. */

#include "plain/extrapolate.h"
#include <math.h>

typedef struct pairing {
    pelt_extrapolated *list;
    uint32_t count, joint_count;
    uint32_t *first, *next; /* chains of pairs by their joint ahead: [joint], [pair] 1 + a pair's index, 0: end */
    pelt_influences *out;
    uint32_t entry_count;
} pairing;

/* UINT32_MAX if it does not exist yet. */
static uint32_t known_pair(const pairing *x, uint32_t ahead, uint32_t behind, double reach) {
    for (uint32_t i = x->first[ahead]; i; i = x->next[i - 1])
        if (x->list[i - 1].behind == behind && x->list[i - 1].reach == reach) return i - 1;
    return UINT32_MAX;
}

static uint32_t find_pair(pairing *x, uint32_t ahead, uint32_t behind, double reach) {
    uint32_t known = known_pair(x, ahead, behind, reach);
    if (known != UINT32_MAX) return known;
    x->list[x->count] = (pelt_extrapolated){ahead, behind, reach};
    x->next[x->count] = x->first[ahead];
    x->first[ahead] = ++x->count;
    return x->count - 1;
}

static void add_entry(pairing *x, uint32_t node, double weight) {
    x->out->joints[x->entry_count] = node;
    x->out->weights[x->entry_count++] = (float)weight;
}

/* The sum of a vertex's negative weights, negated. */
static double debt_of(const pelt_influences *in, uint32_t v) {
    double debt = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) debt -= fminf(in->weights[i], 0);
    return debt;
}

/* The entry of a vertex that compensates entry q: among those with enough weight left, the first whose pair with q
   already exists, to keep pairs few; otherwise the one with most left. */
static uint32_t giver(const pairing *x, const pelt_influences *in, uint32_t v, uint32_t q, double reach, double needed,
                      const double *left) {
    uint32_t best = in->first[v];
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        if (left[i] >= needed && known_pair(x, in->joints[i], in->joints[q], reach) != UINT32_MAX) return i;
        if (left[i] > left[best]) best = i;
    }
    return best;
}

/* `left` [entry] has room for the weights not given away yet. */
static void convert_vertex(pairing *x, const pelt_influences *in, uint32_t v, double *left) {
    double debt = debt_of(in, v), reach = 1;
    while (reach < debt) reach *= 4;
    uint32_t first = in->first[v], end = in->first[v + 1];
    for (uint32_t i = first; i < end; i++) left[i] = fmax(in->weights[i], 0);
    for (uint32_t q = first; q < end; q++) {
        double owed = -in->weights[q] / reach; /* required sum of x_pq */
        while (owed > 0) {
            uint32_t p = giver(x, in, v, q, reach, (1 + reach) * owed, left);
            double part = fmin(owed, left[p] / (1 + reach));
            if (!(part > 0)) break;
            add_entry(x, x->joint_count + find_pair(x, in->joints[p], in->joints[q], reach), part);
            left[p] = part < owed ? 0 : left[p] - (1 + reach) * part;
            owed -= part;
        }
    }
    for (uint32_t p = first; p < end; p++)
        if (left[p] > 0) add_entry(x, in->joints[p], left[p]);
    x->out->first[v + 1] = x->entry_count;
}

pelt_result pelt_extrapolate_weights(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count,
                                     uint32_t joint_count, pelt_extrapolation *out, pelt_error *error) {
    uint32_t entries = in->first[vertex_count];
    double debt = 0;
    *out = (pelt_extrapolation){.influences = *in};
    for (uint32_t v = 0; v < vertex_count; v++) debt = fmax(debt, debt_of(in, v));
    if (!(debt > 0)) return PELT_OK;
    out->influences = (pelt_influences){.first = PELT_NEW(arena, (size_t)vertex_count + 1, uint32_t),
                                        .joints = PELT_NEW(arena, entries, uint32_t),
                                        .weights = PELT_NEW(arena, entries, float)};
    pairing x = {.list = PELT_NEW(arena, entries, pelt_extrapolated),
                 .joint_count = joint_count,
                 .first = PELT_NEW(arena, joint_count, uint32_t),
                 .next = PELT_NEW(arena, entries, uint32_t),
                 .out = &out->influences};
    double *left = PELT_NEW(arena, entries, double);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    for (uint32_t v = 0; v < vertex_count; v++) convert_vertex(&x, in, v, left);
    out->count = x.count, out->list = x.list;
    return PELT_OK;
}
