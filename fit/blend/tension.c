/* tension.c: the pull of a point's neighbours (tension.h), assembled from sums over the examples.

   With g_j = sum_u w_uj h_u over the neighbours u, their residuals sum to sum_j T_j g_j - z, where z is the sum of
   their paths. So all required products are known: <T_i, T_j g_j> from the couplings K_ij, <T_i, y> and <T_i, z> from
   precomputed moments. */

#include "fit/blend/tension.h"
#include "rig/linear.h"
#include <string.h>

enum { CHUNK = 256, BATCH = 64 };

/* -- Moments ------------------------------------------------------------------------------------------------------- */

void pelt_cut_homes(pelt_arena *arena, pelt_homes *homes) {
    homes->pieces = PELT_NEW(arena, homes->count + homes->first[homes->count] / CHUNK + 1, pelt_piece);
    for (uint32_t h = 0; h < homes->count; h++)
        for (uint32_t at = homes->first[h], end = homes->first[h + 1]; at < end; at += CHUNK)
            homes->pieces[homes->piece_count++] = (pelt_piece){h, at, end - at < CHUNK ? end - at : CHUNK};
}

typedef struct summing {
    const pelt_fitting *f;
    pelt_tension *t;
} summing;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Adds the path of a point over the examples, in the gram's units. */
static void add_path(const pelt_gram *g, uint32_t vertex, double *path) {
    double inverse = 1 / g->scale;
    for (size_t e = 0; e < g->examples; e++) {
        const float *p = g->frames[e] + 3 * (size_t)vertex;
        for (size_t c = 0; c < 3; c++) path[3 * e + c] += g->factors[e] * ((p[c] - g->centers[e][c]) * inverse);
    }
}

static void sum_piece(void *user, size_t at, pelt_arena *scratch) {
    summing *s = user;
    pelt_tension *t = s->t;
    const pelt_piece *some = &s->t->homes->pieces[at];
    const pelt_homes *homes = t->homes;
    const pelt_gram *g = t->gram;
    size_t inner = 3 * g->examples, known = homes->known_count[some->home];
    double *rows = PELT_NEW(scratch, 4 * known * inner, double),
           *paths = PELT_NEW(scratch, some->count * inner, double);
    double *sums = PELT_NEW(scratch, some->count * inner, double);
    for (size_t i = 0; i < known; i++)
        memcpy(rows + 4 * i * inner, g->rows + 4 * (size_t)homes->known[some->home][i] * inner,
               4 * inner * sizeof *rows);
    for (size_t i = 0; i < some->count; i++) {
        uint32_t point = homes->order[some->begin + i];
        add_path(g, s->f->points.vertex[point], paths + i * inner);
        for (uint32_t n = t->neighbours.first[point]; n < t->neighbours.first[point + 1] && t->strength > 0; n++)
            add_path(g, s->f->points.vertex[t->neighbours.list[n]], sums + i * inner);
        const double *path = paths + i * inner, *sum = sums + i * inner;
        t->energy[point][0] = dot(path, path, inner);
        t->energy[point][1] = dot(sum, sum, inner);
        t->energy[point][2] = dot(path, sum, inner);
    }
    uint32_t first = homes->order[some->begin]; /* the moments of a piece are contiguous */
    pelt_gemm(false, true, some->count, 4 * known, inner, 1, paths, rows, 0, t->own[first]);
    if (t->strength > 0) pelt_gemm(false, true, some->count, 4 * known, inner, 1, sums, rows, 0, t->around[first]);
}

static void sum_moments(pelt_fitting *f, pelt_tension *t) {
    const pelt_homes *homes = t->homes;
    uint32_t n = f->points.count;
    t->own = PELT_NEW(f->arena, n, double *), t->around = PELT_NEW(f->arena, n, double *);
    t->energy = pelt_alloc(f->arena, n, sizeof *t->energy);
    summing s = {f, t};
    size_t room = 0, at = 0;
    for (uint32_t h = 0; h < homes->count; h++)
        room += (homes->first[h + 1] - homes->first[h]) * 4 * (size_t)homes->known_count[h];
    double *own = PELT_NEW(f->arena, room, double);
    double *around = t->strength > 0 ? PELT_NEW(f->arena, room, double) : NULL;
    for (uint32_t h = 0; h < homes->count; h++)
        for (uint32_t i = homes->first[h]; i < homes->first[h + 1]; i++, at += 4 * (size_t)homes->known_count[h]) {
            t->own[homes->order[i]] = own + at;
            t->around[homes->order[i]] = around ? around + at : NULL;
        }
    const pelt_made made[] = {{t->energy, .total = n * sizeof *t->energy},
                              {own, .total = room * sizeof *own},
                              {around, .total = room * sizeof *around}};
    pelt_spread(f->arena, f->options.threads, homes->piece_count, sum_piece, &s, around ? 3 : 2, made);
}

/* -- Colours ------------------------------------------------------------------------------------------------------- */

/* Greedy colouring: the first colour that no neighbour has. */
static void find_colours(pelt_fitting *f, pelt_tension *t) {
    uint32_t n = f->points.count;
    uint32_t *colour = PELT_NEW(f->arena, n, uint32_t), *seen = PELT_NEW(f->arena, (size_t)n + 1, uint32_t);
    t->colours = PELT_NEW(f->arena, n, uint32_t);
    t->colour_first = PELT_NEW(f->arena, (size_t)n + 3, uint32_t);
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = t->neighbours.first[p]; i < t->neighbours.first[p + 1]; i++)
            if (t->neighbours.list[i] < p) seen[colour[t->neighbours.list[i]]] = p + 1;
        while (seen[colour[p]] == p + 1) colour[p]++;
        if (colour[p] >= t->colour_count) t->colour_count = colour[p] + 1;
        t->colour_first[colour[p] + 2]++;
    }
    for (uint32_t c = 0; c < t->colour_count; c++) t->colour_first[c + 2] += t->colour_first[c + 1];
    for (uint32_t p = 0; p < n; p++) t->colours[t->colour_first[colour[p] + 1]++] = p;
}

void pelt_tension_new(pelt_fitting *f, const pelt_gram *gram, const pelt_homes *homes, pelt_neighbours neighbours,
                      double strength, pelt_tension *out) {
    *out = (pelt_tension){.gram = gram, .homes = homes, .neighbours = neighbours, .strength = strength};
    find_colours(f, out);
    sum_moments(f, out);
}

/* -- One point ----------------------------------------------------------------------------------------------------- */

pelt_pull pelt_pull_new(pelt_arena *arena, const pelt_tension *t, uint32_t most) {
    size_t n = t->gram->count;
    pelt_pull out = {.moments = PELT_NEW(arena, 4 * (size_t)most, double),
                     .pulled = PELT_NEW(arena, 4 * (size_t)most, double),
                     .felt = PELT_NEW(arena, n, uint32_t),
                     .sums = pelt_alloc(arena, n, sizeof *out.sums),
                     .slot = PELT_NEW(arena, n, uint32_t)};
    return out;
}

static void feel(const pelt_tension *t, const pelt_blend_result *r, uint32_t point, pelt_pull *out) {
    for (uint32_t i = 0; i < out->felt_count; i++) out->slot[out->felt[i]] = 0; /* from the previous point */
    out->felt_count = 0;
    for (uint32_t n = t->neighbours.first[point]; n < t->neighbours.first[point + 1]; n++) {
        uint32_t u = t->neighbours.list[n];
        for (uint32_t k = 0; k < r->counts[u]; k++) {
            uint32_t j = r->joints[(size_t)u * r->most + k];
            double weight = r->weights[(size_t)u * r->most + k];
            if (!out->slot[j]) {
                out->felt[out->felt_count] = j;
                memset(out->sums[out->felt_count], 0, sizeof *out->sums);
                out->slot[j] = ++out->felt_count;
            }
            double *sum = out->sums[out->slot[j] - 1];
            for (int c = 0; c < 3; c++) sum[c] += weight * r->rest[u][c];
            sum[3] += weight;
        }
    }
}

/* out += K_ij h; reads the block as K_ji^T, so that its rows are added contiguously. */
static void add_coupled(const pelt_gram *g, uint32_t i, uint32_t j, const double h[4], double out[4]) {
    const double *k = g->couplings + ((size_t)j * g->count + i) * 16;
    for (int r = 0; r < 4; r++) out[r] += k[r] * h[0] + k[4 + r] * h[1] + k[8 + r] * h[2] + k[12 + r] * h[3];
}

/* |sum of the neighbours' residuals|^2 */
static double square_of_pull(const pelt_tension *t, uint32_t point, const uint32_t *place, const pelt_pull *p) {
    double square = t->energy[point][1];
    for (uint32_t k = 0; k < p->felt_count; k++) {
        double coupled[4] = {0};
        for (uint32_t m = 0; m < p->felt_count; m++) add_coupled(t->gram, p->felt[k], p->felt[m], p->sums[m], coupled);
        square +=
            dot(p->sums[k], coupled, 4) - 2 * dot(p->sums[k], t->around[point] + 4 * (size_t)place[p->felt[k]], 4);
    }
    return square;
}

void pelt_pull_at(const pelt_tension *t, const pelt_blend_result *r, uint32_t point, const uint32_t *listed,
                  uint32_t count, bool with_energy, pelt_pull *out) {
    const uint32_t *place = t->homes->place[t->homes->home[point]];
    uint32_t degree = t->neighbours.first[point + 1] - t->neighbours.first[point];
    bool alone = !r || !degree || t->strength == 0;
    out->heaviness = alone ? 1 : 1 + t->strength * degree;
    out->share = alone ? 0 : t->strength / out->heaviness;
    out->energy = t->energy[point][0], out->along = 0;
    memset(out->pulled, 0, 4 * (size_t)count * sizeof *out->pulled);
    for (uint32_t i = 0; i < count; i++)
        memcpy(out->moments + 4 * (size_t)i, t->own[point] + 4 * (size_t)place[listed[i]], 4 * sizeof *out->moments);
    if (alone) return;
    feel(t, r, point, out);
    for (uint32_t k = 0; k < out->felt_count; k++)
        for (uint32_t i = 0; i < count; i++)
            add_coupled(t->gram, listed[i], out->felt[k], out->sums[k], out->pulled + 4 * (size_t)i);
    for (uint32_t i = 0; i < count; i++)
        for (size_t c = 0; c < 4; c++) {
            out->pulled[4 * i + c] -= t->around[point][4 * (size_t)place[listed[i]] + c];
            out->moments[4 * i + c] += out->share * out->pulled[4 * i + c];
        }
    if (!with_energy) return;
    out->along = -t->energy[point][2];
    for (uint32_t k = 0; k < out->felt_count; k++)
        out->along += dot(out->sums[k], t->own[point] + 4 * (size_t)place[out->felt[k]], 4);
    out->energy += 2 * out->share * out->along + out->share * out->share * square_of_pull(t, point, place, out);
}

/* -- Sweeps -------------------------------------------------------------------------------------------------------- */

typedef struct sweeping {
    const uint32_t *points;
    size_t count;
    pelt_points_body body;
    void *user;
} sweeping;

static void sweep_batch(void *user, size_t batch, pelt_arena *scratch) {
    const sweeping *s = user;
    size_t begin = batch * BATCH, left = s->count - begin;
    s->body(s->user, s->points + begin, left < BATCH ? left : BATCH, scratch);
}

void pelt_tension_sweep(const pelt_tension *t, pelt_arena *arena, uint32_t threads, pelt_points_body body, void *user,
                        size_t row_count, const pelt_made *rows) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_made *own = PELT_NEW(work, row_count, pelt_made);
    for (uint32_t c = 0; c < t->colour_count; c++) {
        size_t count = t->colour_first[c + 1] - t->colour_first[c];
        sweeping s = {t->colours + t->colour_first[c], count, body, user};
        for (size_t r = 0; r < row_count; r++)
            own[r] = rows[r].size ? (pelt_made){rows[r].base, rows[r].size, count, s.points, BATCH} : rows[r];
        pelt_spread(arena, threads, (count + BATCH - 1) / BATCH, sweep_batch, &s, row_count, own);
    }
}
