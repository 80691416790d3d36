/* rows_16_bits.c: rows of displacements in 16 bits: whole numbers that count steps, two rows side by side, because
   processors multiply two such numbers at a time and add the products.

   Which two coefficients are partners, whose rows lie side by side, is chosen here. A block that uses one of them
   stores both, so they are matched greedily: the coefficient used most takes the one that most often is in the same
   blocks, and so on. */

#include "pack/pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Partners ------------------------------------------------------------------------------------------------------ */

/* Beyond this the table of who is used with whom is too large, and neighbours are partners. */
enum { MOST_MATCHED = 4096 };

/* together[a][b]: blocks that use both; on the diagonal, blocks that use it. */
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

/* The free coefficient that is most often used where `a` is; n when none is left. */
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

static const float MOST_STEPS = 32767;

static int16_t nearest_step(double x) { return (int16_t)fmax(-MOST_STEPS, rint(x)); }

static float largest(const float *row, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(row[i]));
    return most;
}

int16_t *pelt_factor_shorts(pelt_arena *arena, const float *rows, const pelt_row_lists *l, pelt_partners *partners) {
    const size_t each = (size_t)3 * PELT_BLOCK;
    int16_t *shorts = PELT_NEW(arena, l->count * each, int16_t);
    for (size_t r = 0; r < l->count; r++) {
        pelt_factor *factor = &partners->factors[l->sources[r]];
        factor->step = fmaxf(factor->step, largest(rows + r * each, each) / MOST_STEPS);
    }
    for (size_t r = 0; r < l->count; r++) {
        double step = partners->factors[l->sources[r]].step;
        for (size_t i = 0; i < each && step > 0; i++)
            shorts[r / 2 * 2 * each + 2 * i + r % 2] = nearest_step(rows[r * each + i] / step);
    }
    return shorts;
}

/* Steps of a block, or of those linked: the largest number is 32767 of them, in 65536ths, which is what the run time
   reads. */
static void find_steps(const float *rows, size_t row_count, size_t parts, pelt_factor steps[2]) {
    for (size_t i = 0; i < row_count * parts; i++) {
        float *step = &steps[i % parts == 3].step;
        *step = fmaxf(*step, largest(rows + i * PELT_BLOCK, PELT_BLOCK) / MOST_STEPS / 65536);
    }
}

/* The second of two numbers side by side is read from all 32 bits, so the first one, as an unsigned fraction, is taken
   off it. */
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
