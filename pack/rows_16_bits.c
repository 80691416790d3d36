/* rows_16_bits.c: rows of displacements in 16 bits: integer multiples of a step, two rows interleaved, because
   processors multiply pairs of such numbers and add the products.

   Vectors that round to 0 are dropped first, so that blocks have fewer rows.

   Partners, whose rows are interleaved, are chosen here. A block that uses one of them stores both, so they are matched
   greedily: the most used coefficient gets the one that is most often in the same blocks, and so on. Then pairs swap
   partners as long as that helps. */

#include "pack/pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float MOST_STEPS = 32767;

/* -- Invisible displacements
   ----------------------------------------------------------------------------------------------- */

static float largest(const float *row, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(row[i]));
    return most;
}

pelt_displacements pelt_visible_displacements(pelt_arena *arena, const pelt_displacements *d, uint32_t vertex_count,
                                              uint32_t coefficient_count) {
    size_t count = d->first[vertex_count];
    float *most = PELT_NEW(arena, coefficient_count, float);
    pelt_displacements out = {PELT_NEW(arena, (size_t)vertex_count + 1, uint32_t), PELT_NEW(arena, count, uint32_t),
                              PELT_NEW(arena, 3 * count, float)};
    for (size_t i = 0; i < count; i++)
        most[d->coefficients[i]] = fmaxf(most[d->coefficients[i]], largest(d->vectors + 3 * i, 3));
    uint32_t kept = 0;
    for (uint32_t v = 0; v < vertex_count; v++) {
        for (uint32_t i = d->first[v]; i < d->first[v + 1]; i++) {
            if (2 * MOST_STEPS * largest(d->vectors + 3 * (size_t)i, 3) < most[d->coefficients[i]]) continue;
            out.coefficients[kept] = d->coefficients[i];
            memcpy(out.vectors + 3 * (size_t)kept++, d->vectors + 3 * (size_t)i, 3 * sizeof *out.vectors);
        }
        out.first[v + 1] = kept;
    }
    return out;
}

/* -- Partners ------------------------------------------------------------------------------------------------------ */

/* Beyond this the co-occurrence table is too large, and neighbours are partners. */
enum { MOST_MATCHED = 4096, MOST_EXCHANGES = 8 };

/* together[a][b]: number of blocks that use both; on the diagonal, that use it. */
static uint32_t *count_together(pelt_arena *arena, const pelt_row_lists *used, uint32_t block_count, uint32_t n) {
    uint32_t *together = PELT_NEW(arena, (size_t)n * n, uint32_t);
    for (uint32_t b = 0; b < block_count; b++)
        for (uint32_t r = used->first[b]; r < used->first[b + 1]; r++)
            for (uint32_t s = used->first[b]; s < used->first[b + 1]; s++)
                together[(size_t)used->sources[r] * n + used->sources[s]]++;
    return together;
}

typedef struct usage {
    uint32_t coefficient, blocks;
} usage;

static int most_used_first(const void *a, const void *b) {
    const usage *x = a, *y = b;
    if (x->blocks != y->blocks) return x->blocks < y->blocks ? 1 : -1;
    return (x->coefficient > y->coefficient) - (x->coefficient < y->coefficient);
}

/* The free coefficient that is most often used together with `a`; n when none is left. */
static uint32_t best_partner(const uint32_t *together, uint32_t n, uint32_t a, const uint8_t *taken) {
    uint32_t best = n;
    for (uint32_t b = 0; b < n; b++)
        if (!taken[b] && b != a && (best == n || together[(size_t)a * n + b] > together[(size_t)a * n + best]))
            best = b;
    return best;
}

static void add_partners(pelt_partners *p, uint32_t a, uint32_t b, uint32_t n) {
    p->factors[p->count] = (pelt_factor){a, 0};
    p->factors[p->count + 1] = (pelt_factor){b < n ? b : a, 0};
    p->factor_of[a] = p->count;
    if (b < n) p->factor_of[b] = p->count + 1;
    p->count += 2;
}

/* Swaps factors b and c of different pairs (a, b) and (c, d) if then more blocks use both of a pair. */
static bool exchange_partners(const uint32_t *together, uint32_t n, pelt_partners *p, uint32_t b, uint32_t c) {
    uint32_t one = p->factors[b ^ 1].coefficient, two = p->factors[b].coefficient;
    uint32_t three = p->factors[c].coefficient, four = p->factors[c ^ 1].coefficient;
    const uint32_t *with_one = together + (size_t)one * n, *with_four = together + (size_t)four * n;
    if (one == two || three == four || with_one[three] + with_four[two] <= with_one[two] + with_four[three])
        return false;
    p->factors[b].coefficient = three, p->factors[c].coefficient = two;
    p->factor_of[three] = b, p->factor_of[two] = c;
    return true;
}

static bool exchange_all_partners(const uint32_t *together, uint32_t n, pelt_partners *p) {
    bool better = false;
    for (uint32_t b = 1; b < p->count; b += 2)
        for (uint32_t c = b + 1; c < p->count; c++) better |= exchange_partners(together, n, p, b, c);
    return better;
}

static void match(pelt_arena *arena, const uint32_t *together, uint32_t n, pelt_partners *out) {
    usage *order = PELT_NEW(arena, n, usage);
    uint8_t *taken = PELT_NEW(arena, n, uint8_t);
    for (uint32_t k = 0; k < n; k++) order[k] = (usage){k, together[(size_t)k * n + k]};
    qsort(order, n, sizeof *order, most_used_first);
    for (uint32_t i = 0; i < n && order[i].blocks; i++) {
        uint32_t a = order[i].coefficient;
        if (taken[a]) continue;
        uint32_t b = best_partner(together, n, a, taken);
        taken[a] = 1;
        if (b < n) taken[b] = 1;
        add_partners(out, a, b, n);
    }
    for (int turn = 0; turn < MOST_EXCHANGES && exchange_all_partners(together, n, out);) turn++;
}

pelt_partners pelt_choose_partners(pelt_arena *arena, const pelt_row_lists *used, uint32_t block_count,
                                   uint32_t coefficient_count) {
    uint32_t n = coefficient_count;
    pelt_partners out = {0, PELT_NEW(arena, n, uint32_t), PELT_NEW(arena, (size_t)n + 1, pelt_factor)};
    if (n > MOST_MATCHED)
        for (uint32_t k = 0; k < n; k += 2) add_partners(&out, k, k + 1, n);
    else
        match(arena, count_together(arena, used, block_count, n), n, &out);
    return out;
}

pelt_displacements pelt_displacements_of_factors(pelt_arena *arena, const pelt_displacements *d, uint32_t vertex_count,
                                                 const pelt_partners *partners) {
    size_t count = d->first[vertex_count];
    uint32_t *factors = PELT_NEW(arena, count, uint32_t);
    for (size_t i = 0; i < count; i++) factors[i] = partners->factor_of[d->coefficients[i]];
    return (pelt_displacements){d->first, factors, d->vectors};
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

static int16_t nearest_step(double x) { return (int16_t)fmax(-MOST_STEPS, rint(x)); }

int16_t *pelt_factor_shorts(pelt_arena *arena, const float *rows, const pelt_row_lists *l, pelt_partners *partners) {
    const size_t each = (size_t)3 * PELT_BLOCK;
    int16_t *shorts = PELT_NEW(arena, l->count * each, int16_t);
    for (size_t r = 0; r < l->count; r++) {
        if (r % 4096 == 0) pelt_poll();
        pelt_factor *factor = &partners->factors[l->sources[r]];
        factor->step = fmaxf(factor->step, largest(rows + r * each, each) / MOST_STEPS);
    }
    for (size_t r = 0; r < l->count; r++) {
        if (r % 4096 == 0) pelt_poll();
        double step = partners->factors[l->sources[r]].step;
        for (size_t i = 0; i < each && step > 0; i++)
            shorts[r / 2 * 2 * each + 2 * i + r % 2] = nearest_step(rows[r * each + i] / step);
    }
    return shorts;
}

/* Steps of a block, or of linked ones: the largest number is 32767 steps, in 65536ths, as the run time reads them. */
static void find_steps(const float *rows, size_t row_count, size_t parts, pelt_factor steps[2]) {
    for (size_t i = 0; i < row_count * parts; i++) {
        float *step = &steps[i % parts == 3].step;
        *step = fmaxf(*step, largest(rows + i * PELT_BLOCK, PELT_BLOCK) / MOST_STEPS / 65536);
    }
}

/* The second of two interleaved numbers is read from all 32 bits, so the first one, as an unsigned fraction, is
   subtracted from it. */
int16_t *pelt_center_shorts(pelt_arena *arena, const float *rows, const pelt_row_lists *l, uint32_t block_count,
                            const uint32_t *links, size_t parts, pelt_factor *factors) {
    size_t each = parts * PELT_BLOCK;
    int16_t *shorts = PELT_NEW(arena, l->count * each, int16_t);
    for (uint32_t b = 0; b < block_count; b++)
        find_steps(rows + l->first[b] * each, l->first[b + 1] - l->first[b], parts, factors + 2 * (size_t)links[b]);
    for (uint32_t b = 0; b < block_count; b++) {
        pelt_factor *steps = factors + 2 * (size_t)b;
        memcpy(steps, factors + 2 * (size_t)links[b], 2 * sizeof *steps);
        for (size_t r = l->first[b]; r < l->first[b + 1]; r += 2)
            for (size_t i = 0; i < each; i++) {
                double step = 65536.0 * steps[i / PELT_BLOCK == 3].step;
                int16_t *two = shorts + r * each + 2 * i;
                if (!(step > 0)) continue;
                two[0] = nearest_step(rows[r * each + i] / step);
                two[1] = nearest_step(rows[(r + 1) * each + i] / step - (uint16_t)two[0] / 65536.0);
            }
    }
    return shorts;
}
