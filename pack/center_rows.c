/* center_rows.c: rows of the weighted form in 16 bits, where D is a sum of large terms that cancel.

   Rounding the c_q of a vertex one by one would change its sum by e(p) = sum_q delta_q phi_q(p), many steps, since all
   phi are about 1. But later numbers can compensate for the rounding of earlier ones: with phi = L L^T over the
   centres,

       delta^T phi delta = sum_q z_q^2,     z_q = L_qq delta_q + sum_{k > q} L_kq delta_k

   and from the last centre to the first, each number is rounded to minimise its z_q (Babai's nearest plane). Since e is
   a sum of phi too, it is small everywhere once it is small at the centres, where it is L z.

   What remains is about half a step of the first centres, whose L_qq is near 1. These are stored *finer*: such a centre
   is paired with itself, and since the run time reads the second number of a pair from all 32 bits, both together
   represent

       k + t + (k mod 65536) / 65536      steps

   which is almost continuous. Centres are ordered farthest first, so that few of them need this; how many is found by
   trial. */

#include "pack/pack.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

/* Per vertex and centre: x, y, z, norm, the tilt of the normal, and padding to a multiple of eight. */
enum { MOST = 32767, COLUMNS = 8 };

static int kind_of(size_t column) { return column < 3 ? 0 : column == 3 ? 1 : 2; }

/* Largest rounding errors: of vectors, relative to the diagonal; of norms; of normals. All of what is
   in the examples where the norm is 1. */
static const double MOST_SHIFT = 4e-6, MOST_NORM = 1e-4, MOST_TURN = 2e-3;

typedef struct rounding {
    const pelt_model *model;
    const pelt_weighted *w;
    const uint32_t *order, *links;
    const float *distances; /* [axis][center][center] squared */
    const pelt_row_lists *used;
    bool *linked;      /* [block] whether it is linked with another */
    float *steps[3];   /* [block] of vectors, norms, tilts: the same for linked blocks */
    double most[3];    /* tolerance of each */
    uint32_t *pairs;   /* [block] its number of pairs */
    uint16_t *sources; /* [block][2 x its centres], and so on: allocated at twice the size used */
    int16_t *shorts, *tilts;
} rounding;

/* -- Distances ----------------------------------------------------------------------------------------------------- */

static double center_distance2(pelt_axis_kind kind, const float *a, const float *b) {
    double minus = 0, plus = 0;
    for (int i = 0; i < 4; i++) {
        minus += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        plus += ((double)a[i] + b[i]) * ((double)a[i] + b[i]);
    }
    double x = fmin(minus, plus) / 4, angle = 4 * asin(sqrt(fmin(x, 1)));
    return kind == PELT_AXIS_CHORD ? 16 * x * (1 - x) : kind == PELT_AXIS_ROTATION ? angle * angle : minus;
}

static float *all_distances(pelt_arena *arena, const pelt_weighted *w) {
    size_t n = w->center_count, axes = w->axis_count;
    float *out = PELT_NEW(arena, axes * n * n, float);
    for (size_t a = 0; a < axes; a++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                out[(a * n + i) * n + k] = out[(a * n + k) * n + i] = (float)center_distance2(
                    w->axes[a].kind, w->centers + 4 * (i * axes + a), w->centers + 4 * (k * axes + a));
    return out;
}

/* -- One vertex ---------------------------------------------------------------------------------------------------- */

/* The centres that a vertex uses, in the order of its block, and its numbers there. */
typedef struct lane {
    uint32_t count, *places; /* indices among the centres of the block */
    uint32_t *of;            /* [center of the block] its index in the lane */
    float *factor;           /* [count][count] L; NULL: not positive definite, so numbers are rounded independently */
    double *numbers;         /* [count][COLUMNS] in steps */
    int16_t *rounded;        /* [count][COLUMNS][2]; the second is for finer ones */
    float *sums;             /* [count][COLUMNS] z */
} lane;

static const float *folded_at(const pelt_weighted *w, uint32_t v, size_t q) {
    return w->folded + 4 * ((size_t)v * w->center_count + q);
}

static const float *tilt_at(const pelt_weighted *w, uint32_t v, size_t q) {
    return w->folded_tilts ? w->folded_tilts + 3 * ((size_t)v * w->center_count + q) : NULL;
}

static bool uses(const pelt_weighted *w, uint32_t v, size_t q) {
    const float *c = folded_at(w, v, q), *t = tilt_at(w, v, q);
    return c[0] != 0 || c[1] != 0 || c[2] != 0 || c[3] != 0 || (t && (t[0] != 0 || t[1] != 0 || t[2] != 0));
}

/* Adds weight times the squared distances of a centre from others along an axis to r2 [count]. */
static void add_distances(const rounding *r, size_t axis, float weight, size_t q, const uint32_t *centers, size_t count,
                          float *r2) {
    const float *row = r->distances + (axis * r->w->center_count + q) * r->w->center_count;
    for (size_t k = 0; k < count; k++) r2[k] += weight * row[centers[k]];
}

/* L in floats, which are precise enough for rounding; NULL where phi is not positive definite in floats. */
static float *factor_phi(const rounding *r, uint32_t v, const uint32_t *centers, size_t m, pelt_arena *scratch) {
    float *factor = PELT_NEW(scratch, m * m, float), *r2 = PELT_NEW(scratch, m, float);
    double *row = PELT_NEW(scratch, m, double);
    const float least_ridge = 1e-5f, most_ridge = 1e-2f; /* beyond, it would no longer be the same phi */
    for (float ridge = least_ridge; m && ridge < most_ridge; ridge *= 10) {
        for (size_t i = 0; i < m; i++) {
            memset(r2, 0, (i + 1) * sizeof *r2);
            for (uint32_t a = r->w->first[v]; a < r->w->first[v + 1]; a++)
                add_distances(r, r->w->vertex_axes[a], r->w->axis_weights[a], centers[i], centers, i + 1, r2);
            pelt_phi_row(r->w->phi, r->w->width, i + 1, r2, row);
            for (size_t k = 0; k <= i; k++) factor[i * m + k] = (float)row[k];
            factor[i * m + i] += ridge;
        }
        if (pelt_cholesky_float(m, factor)) return factor;
    }
    return NULL;
}

static lane make_lane(const rounding *r, uint32_t block, uint32_t v, const uint32_t *centers, size_t count,
                      pelt_arena *scratch) {
    lane l = {.places = PELT_NEW(scratch, count, uint32_t), .of = PELT_NEW(scratch, count, uint32_t)};
    uint32_t *own = PELT_NEW(scratch, count, uint32_t);
    for (uint32_t i = 0; i < count; i++)
        if (uses(r->w, v, centers[i])) l.of[i] = l.count, own[l.count] = centers[i], l.places[l.count++] = i;
    l.factor = factor_phi(r, v, own, l.count, scratch);
    l.numbers = PELT_NEW(scratch, COLUMNS * (size_t)l.count, double);
    l.rounded = PELT_NEW(scratch, 2 * COLUMNS * (size_t)l.count, int16_t);
    l.sums = PELT_NEW(scratch, COLUMNS * (size_t)l.count, float);
    for (size_t i = 0; i < l.count; i++)
        for (size_t c = 0; c < COLUMNS - 1; c++) {
            double step = r->steps[kind_of(c)][block];
            if (step > 0)
                l.numbers[COLUMNS * i + c] =
                    (c < 4 ? folded_at(r->w, v, own[i])[c] : tilt_at(r->w, v, own[i])[c - 4]) / step;
        }
    return l;
}

static double between(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* The nearest value that two numbers of one centre can represent; clamps those that would not fit. */
static double round_finely(double x, int16_t two[2]) {
    double best = INFINITY, value = 0;
    for (int way = 0; way < 3; way++) {
        double whole = floor(x), part = rint((x - whole) * 65536), k, t;
        if (part > 65535) part = 0, whole++;
        k = part < 32768 ? part : part - 65536;
        if (way == 1) k = between(k, whole - MOST, whole + MOST);
        if (way == 2) k = whole < 0 ? -MOST : MOST;
        t = between(whole - k, -MOST, MOST);
        double v = k + t + (k < 0 ? 65536 + k : k) / 65536;
        if (fabs(v - x) < best) best = fabs(v - x), value = v, two[0] = (int16_t)k, two[1] = (int16_t)t;
    }
    return value;
}

/* Rounds number i of a column. The later one of a pair is stored first, and the other is read with it as its
   fraction. */
static double round_number(const lane *l, size_t i, size_t column, double x, const uint32_t *partners) {
    int16_t *two = l->rounded + 2 * (COLUMNS * i + column);
    uint32_t place = l->places[i], partner = partners[place];
    if (partner == place) return round_finely(x, two);
    double fraction = 0;
    if (partner > place) fraction = (uint16_t)l->rounded[2 * (COLUMNS * l->of[partner] + column)] / 65536.0;
    two[0] = (int16_t)between(rint(x - fraction), -MOST, MOST);
    return two[0] + fraction;
}

/* Rounds from the last centre to the first; most [COLUMNS] gets the largest change of the sums at the centres, in
   steps. */
static void round_lane(const lane *l, const uint32_t *partners, double *most) {
    size_t m = l->count;
    memset(l->sums, 0, COLUMNS * m * sizeof *l->sums);
    memset(most, 0, COLUMNS * sizeof *most);
    for (size_t i = m; i-- > 0;) {
        const float *row = l->factor ? l->factor + i * m : NULL;
        const double *numbers = l->numbers + COLUMNS * i;
        float delta[COLUMNS] = {0};
        for (size_t c = 0; c < COLUMNS - 1; c++) {
            double wanted = numbers[c] - (row ? l->sums[COLUMNS * i + c] / row[i] : 0);
            delta[c] = (float)(round_number(l, i, c, wanted, partners) - numbers[c]);
            if (!row) most[c] += fabsf(delta[c]);
        }
        for (size_t k = 0; row && k <= i; k++)
            for (size_t c = 0; c < COLUMNS; c++) l->sums[COLUMNS * k + c] += row[k] * delta[c];
    }
    for (size_t i = 0; l->factor && i < m; i++) {
        float e[COLUMNS] = {0};
        for (size_t k = 0; k <= i; k++)
            for (size_t c = 0; c < COLUMNS; c++) e[c] += l->factor[i * m + k] * l->sums[COLUMNS * k + c];
        for (size_t c = 0; c < COLUMNS; c++) most[c] = fmax(most[c], fabsf(e[c]));
    }
}

/* -- One block ----------------------------------------------------------------------------------------------------- */

/* Centres of the block, each the farthest from the previous ones; for linked blocks in index order, so that twins
   agree. */
static void order_centers(const rounding *r, uint32_t block, uint32_t *centers, size_t count, pelt_arena *scratch) {
    float *least = PELT_NEW(scratch, count, float), *r2 = PELT_NEW(scratch, count, float);
    float *weights = PELT_NEW(scratch, r->w->axis_count, float);
    for (size_t slot = (size_t)block * PELT_BLOCK; slot < ((size_t)block + 1) * PELT_BLOCK; slot++)
        for (uint32_t i = r->w->first[r->order[slot]]; i < r->w->first[r->order[slot] + 1]; i++)
            weights[r->w->vertex_axes[i]] += r->w->axis_weights[i];
    for (size_t i = 0; i < count; i++) centers[i] = r->used->sources[r->used->first[block] + i], least[i] = INFINITY;
    for (size_t i = 0; i < count && !r->linked[block]; i++) {
        size_t farthest = i;
        for (size_t k = i; k < count; k++)
            if (least[k] > least[farthest]) farthest = k;
        uint32_t center = centers[farthest];
        centers[farthest] = centers[i], centers[i] = center;
        least[farthest] = least[i];
        memset(r2, 0, count * sizeof *r2);
        for (uint32_t a = 0; a < r->w->axis_count; a++)
            if (weights[a] > 0) add_distances(r, a, weights[a], center, centers + i + 1, count - i - 1, r2 + i + 1);
        for (size_t k = i + 1; k < count; k++) least[k] = fminf(least[k], r2[k]);
    }
}

/* Pairs centres: [place] the place of its partner, or its own if a centre is finer. Partners are used by the same
   vertices, since an absent number would be read with a fraction. */
static void match_centers(const lane *lanes, uint32_t count, uint32_t finer, uint32_t *masks, uint32_t *partners) {
    memset(masks, 0, count * sizeof *masks);
    for (uint32_t slot = 0; slot < PELT_BLOCK; slot++)
        for (uint32_t i = 0; i < lanes[slot].count; i++) masks[lanes[slot].places[i]] |= 1u << slot;
    for (uint32_t i = 0; i < count; i++) partners[i] = i;
    for (uint32_t i = finer; i < count; i++) {
        uint32_t k = i + 1;
        while (k < count && (partners[k] != k || masks[k] != masks[i])) k++;
        if (partners[i] == i && k < count) partners[i] = k, partners[k] = i;
    }
}

/* Rounds the numbers of the block, all of them if `anyhow`; false when some sum is too far off. */
static bool round_lanes(const rounding *r, uint32_t block, const lane *lanes, const uint32_t *partners, bool anyhow) {
    bool well = true;
    for (size_t slot = 0; slot < PELT_BLOCK && (well || anyhow); slot++) {
        double most[COLUMNS];
        round_lane(&lanes[slot], partners, most);
        for (size_t c = 0; c < COLUMNS; c++) well &= most[c] * r->steps[kind_of(c)][block] <= r->most[kind_of(c)];
    }
    return well;
}

/* Writes the numbers of a centre to its pair of rows. */
static void write_center(const rounding *r, const lane *lanes, uint32_t place, size_t row, bool finer, bool second) {
    for (size_t slot = 0; slot < PELT_BLOCK; slot++) {
        const lane *l = &lanes[slot];
        size_t i = l->of[place];
        if (i >= l->count || l->places[i] != place) continue;
        for (size_t c = 0; c < (r->tilts ? COLUMNS - 1 : 4); c++) {
            const int16_t *two = l->rounded + 2 * (COLUMNS * i + c);
            int16_t *to = c < 4 ? r->shorts + 4 * PELT_BLOCK * row + 2 * (c * PELT_BLOCK + slot)
                                : r->tilts + 3 * PELT_BLOCK * row + 2 * ((c - 4) * PELT_BLOCK + slot);
            to[second] = two[0];
            if (finer) to[1] = two[1];
        }
    }
}

/* Centres paired with themselves come first: the run time computes phi once for each of these. */
static void write_block(rounding *r, uint32_t block, const uint32_t *centers, uint32_t count, const uint32_t *partners,
                        const lane *lanes) {
    size_t row = 2 * (size_t)r->used->first[block];
    for (uint32_t k = 0; k < 2 * count; k++) {
        uint32_t i = k % count, partner = partners[i];
        if (partner < i || (k < count) != (partner == i)) continue;
        r->sources[row] = (uint16_t)centers[partner], r->sources[row + 1] = (uint16_t)centers[i];
        write_center(r, lanes, i, row, partner == i, partner != i);
        if (partner != i) write_center(r, lanes, partner, row, false, false);
        row += 2, r->pairs[block]++;
    }
}

/* Uses as few finer centres as possible. In linked blocks all are finer, so that pairs are the same for twins. */
static void round_block(void *user, size_t block, pelt_arena *scratch) {
    rounding *r = user;
    uint32_t b = (uint32_t)block, count = r->used->first[b + 1] - r->used->first[b], finer = r->linked[b] ? count : 0;
    uint32_t *centers = PELT_NEW(scratch, count, uint32_t), *masks = PELT_NEW(scratch, count, uint32_t),
             *partners = PELT_NEW(scratch, count, uint32_t);
    lane lanes[PELT_BLOCK];
    order_centers(r, b, centers, count, scratch);
    for (size_t slot = 0; slot < PELT_BLOCK; slot++)
        lanes[slot] = make_lane(r, b, r->order[block * PELT_BLOCK + slot], centers, count, scratch);
    for (bool well = false; !well; finer += 1 + finer / 2) {
        match_centers(lanes, count, finer, masks, partners);
        well = round_lanes(r, b, lanes, partners, finer >= count) || finer >= count;
    }
    write_block(r, b, centers, count, partners, lanes);
}

/* -- All blocks ---------------------------------------------------------------------------------------------------- */

static void find_steps(rounding *r, uint32_t block_count) {
    for (size_t slot = 0; slot < (size_t)block_count * PELT_BLOCK; slot++) {
        uint32_t v = r->order[slot], b = r->links[slot / PELT_BLOCK];
        for (size_t q = 0; q < r->w->center_count; q++)
            for (size_t c = 0; c < (r->w->folded_tilts ? COLUMNS - 1 : 4); c++) {
                float x = fabsf(c < 4 ? folded_at(r->w, v, q)[c] : tilt_at(r->w, v, q)[c - 4]);
                float *step = &r->steps[kind_of(c)][b];
                *step = fmaxf(*step, x / (MOST - 8)); /* leaves room for compensating the rounding of others */
            }
    }
    for (uint32_t b = 0; b < block_count; b++)
        for (int i = 0; i < 3; i++) r->steps[i][b] = r->steps[i][r->links[b]];
}

static pelt_factor *make_factors(pelt_arena *arena, uint32_t block_count, const float *vectors, const float *norms) {
    pelt_factor *out = PELT_NEW(arena, 2 * (size_t)block_count, pelt_factor);
    for (uint32_t b = 0; b < block_count; b++) {
        out[2 * b].step = vectors[b] / 65536; /* the run time reads 65536ths */
        if (norms) out[2 * b + 1].step = norms[b] / 65536;
    }
    return out;
}

/* Compacts the rows of all blocks. */
static void close_gaps(const rounding *r, uint32_t block_count, pelt_row_lists *lists) {
    for (uint32_t b = 0; b < block_count; b++) {
        size_t from = 2 * (size_t)r->used->first[b], to = lists->first[b], count = 2 * (size_t)r->pairs[b];
        memmove(r->sources + to, r->sources + from, count * sizeof *r->sources);
        memmove(r->shorts + 4 * PELT_BLOCK * to, r->shorts + 4 * PELT_BLOCK * from,
                4 * PELT_BLOCK * count * sizeof *r->shorts);
        if (r->tilts)
            memmove(r->tilts + 3 * PELT_BLOCK * to, r->tilts + 3 * PELT_BLOCK * from,
                    3 * PELT_BLOCK * count * sizeof *r->tilts);
        lists->first[b + 1] = (uint32_t)(to + count);
    }
    lists->count = lists->first[block_count], lists->sources = r->sources;
}

static double diagonal_of(const pelt_model *model) {
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t v = 0; v < model->vertex_count; v++) {
            low = fminf(low, model->positions[3 * (size_t)v + c]);
            high = fmaxf(high, model->positions[3 * (size_t)v + c]);
        }
        sum += ((double)high - low) * ((double)high - low);
    }
    return sqrt(sum);
}

pelt_center_rows pelt_round_centers(pelt_arena *arena, uint32_t threads, const pelt_model *model, const uint32_t *order,
                                    uint32_t block_count, const uint32_t *links, const pelt_row_lists *used) {
    const pelt_weighted *w = model->corrective->weighted;
    size_t rows = 2 * (size_t)used->count;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double scale = w->scale > 0 ? w->scale : 1;
    rounding r = {.model = model,
                  .w = w,
                  .order = order,
                  .links = links,
                  .used = used,
                  .most = {scale * MOST_SHIFT * diagonal_of(model), scale * MOST_NORM, scale * MOST_TURN}};
    r.distances = all_distances(work, w);
    r.linked = PELT_NEW(work, block_count, bool);
    r.pairs = PELT_NEW(work, block_count, uint32_t);
    for (int i = 0; i < 3; i++) r.steps[i] = PELT_NEW(work, block_count, float);
    r.sources = PELT_NEW(arena, rows, uint16_t);
    r.shorts = PELT_NEW(arena, 4 * PELT_BLOCK * rows, int16_t);
    r.tilts = w->folded_tilts ? PELT_NEW(arena, 3 * PELT_BLOCK * rows, int16_t) : NULL;
    for (uint32_t b = 0; b < block_count; b++)
        if (links[b] != b) r.linked[b] = r.linked[links[b]] = true;
    find_steps(&r, block_count);
    const pelt_made made[] = {{r.pairs, sizeof *r.pairs},
                              {r.sources, .total = rows * sizeof *r.sources},
                              {r.shorts, .total = 4 * PELT_BLOCK * rows * sizeof *r.shorts},
                              {r.tilts, .total = 3 * PELT_BLOCK * rows * sizeof *r.tilts}};
    pelt_spread(work, threads, block_count, round_block, &r, r.tilts ? 4 : 3, made);
    pelt_center_rows out = {.lists.first = PELT_NEW(arena, (size_t)block_count + 1, uint32_t),
                            .shorts = r.shorts,
                            .tilts = r.tilts,
                            .factors = make_factors(arena, block_count, r.steps[0], r.steps[1]),
                            .tilt_factors = r.tilts ? make_factors(arena, block_count, r.steps[2], NULL) : NULL};
    close_gaps(&r, block_count, &out.lists);
    return out;
}
