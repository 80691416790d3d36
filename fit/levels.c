/* levels.c: levels of detail for a packed skin, from examples (pelt.h).

   A displacement vector u_k, with coefficient a_k, is worth what it does in the examples for what it costs, the number
   of blocks that list it:

       sum over examples of a_k^2  sum over vertices of |u_ik|^2  /  blocks

   The worthiest half of the rows is level 1, the worthiest quarter level 2; then come none, two joints for each vertex,
   and one. Levels with displacements that are further from level 0 than a cheaper one are left out. */

#include "fit/measure/measure.h"
#include "model/posing.h"
#include "pack/pack.h"
#include "rig/sort.h"
#include "runtime/loops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Examples that are looked at, evenly spaced if there are more. */
enum { MOST_EXAMPLES = 128 };

static const double kept_shares[] = {1, 0.5, 0.25}; /* of the rows, level by level */
enum { KEPT_SHARES = sizeof kept_shares / sizeof *kept_shares };

typedef struct level_fit {
    pelt_arena *arena;
    const pelt_bytes *file;
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_skin skin;
    pelt_posing posing;
    void *scratch;
    pelt_level_plan plan;
    uint8_t *last; /* plan.last */
} level_fit;

static size_t example_count(const level_fit *f) {
    return f->examples.count < MOST_EXAMPLES ? f->examples.count : MOST_EXAMPLES;
}

static void pose_example(const level_fit *f, size_t i) {
    const pelt_example *example = &f->examples.list[i * f->examples.count / example_count(f)];
    pelt_posing_frame(&f->posing, example->clip, example->frame, f->arena, NULL, f->scratch);
}

/* -- Which displacements ------------------------------------------------------------------------------------------- */

/* energy [coefficient]: the sum over examples of a_k^2. */
static void sum_coefficients(const level_fit *f, uint32_t count, double *energy) {
    const float *a = (const float *)((const char *)f->scratch + pelt_pose_layout(&f->skin).size +
                                     pelt_corrective_outputs(&f->skin).coefficients);
    for (size_t e = 0; e < example_count(f); e++) {
        pose_example(f, e);
        for (uint32_t k = 0; k < count; k++) energy[k] += (double)a[k] * a[k];
    }
}

/* What is stored together and therefore stays together: a coefficient, or the two of a pair of rows. */
typedef struct unit {
    double worth;
    uint32_t blocks, first, second; /* coefficients */
} unit;

static int worthiest_first(const void *a, const void *b) {
    const unit *x = a, *y = b;
    double p = x->blocks ? x->worth / x->blocks : 0, q = y->blocks ? y->worth / y->blocks : 0;
    if (p < q || p > q) return p < q ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static double row_square(const pelt_rows *rows, uint32_t r) {
    double sum = 0, step = rows->shorts ? rows->factors[rows->sources[r]].step : 1;
    for (size_t i = 0; i < 3 * PELT_BLOCK; i++) {
        double x = rows->shorts ? rows->shorts[((size_t)(r / 2) * 3 * PELT_BLOCK + i) * 2 + r % 2]
                                : rows->floats[(size_t)r * 3 * PELT_BLOCK + i];
        sum += x * x;
    }
    return sum * step * step;
}

static unit *list_units(const level_fit *f, const pelt_rows *rows, const double *energy, uint32_t coefficients,
                        uint32_t *count) {
    *count = rows->shorts ? rows->factor_count / 2 : coefficients;
    unit *units = PELT_NEW(f->arena, *count, unit);
    for (uint32_t i = 0; i < *count; i++) {
        units[i].first = rows->shorts ? rows->factors[2 * i].coefficient : i;
        units[i].second = rows->shorts ? rows->factors[2 * i + 1].coefficient : i;
    }
    for (uint32_t r = 0; r < rows->first[f->skin.block_count]; r++) {
        uint32_t source = rows->sources[r];
        unit *u = &units[rows->shorts ? source / 2 : source];
        uint32_t k = rows->shorts ? rows->factors[source].coefficient : source;
        u->worth += energy[k] * row_square(rows, r);
        u->blocks += !rows->shorts || source % 2 == 0;
    }
    return units;
}

/* The last level of coefficients whose level is not known yet, by what these rows say. */
static void share_out(const level_fit *f, const pelt_rows *rows, const double *energy, uint32_t coefficients,
                      uint8_t *known) {
    uint32_t count, all = 0, sum = 0;
    unit *units = list_units(f, rows, energy, coefficients, &count);
    for (uint32_t i = 0; i < count; i++) all += units[i].blocks;
    qsort(units, count, sizeof *units, worthiest_first);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t level = 0;
        sum += units[i].blocks;
        while (level + 1 < KEPT_SHARES && sum <= kept_shares[level + 1] * all) level++;
        const uint32_t both[] = {units[i].first, units[i].second};
        for (int k = 0; units[i].blocks && k < 2; k++)
            if (!known[both[k]]) f->last[both[k]] = level, known[both[k]] = 1;
    }
}

static void choose_displacements(level_fit *f) {
    uint32_t count = pelt_skin_corrective(&f->skin)->coefficient_count;
    double *energy = PELT_NEW(f->arena, count, double);
    uint8_t *known = PELT_NEW(f->arena, count, uint8_t);
    pelt_rows rows = pelt_skin_rows(&f->skin), tilts = pelt_skin_tilts(&f->skin);
    f->plan.last = f->last = PELT_NEW(f->arena, count, uint8_t);
    sum_coefficients(f, count, energy);
    share_out(f, &rows, energy, count, known);
    if (tilts.first) share_out(f, &tilts, energy, count, known); /* some are of normals alone */
}

/* -- The plan ------------------------------------------------------------------------------------------------------ */

static bool can_merge(const pelt_skin *skin) {
    bool few = true;
    for (uint32_t b = 0; b < skin->block_count; b++)
        few &= skin->block_first[b + 1] - skin->block_first[b] <= PELT_MOST_MERGED;
    return few;
}

static void plan_levels(level_fit *f) {
    pelt_level_plan *p = &f->plan;
    pelt_level_facts whole;
    pelt_get_level(&f->skin, 0, &whole);
    if (!pelt_has_corrective(&f->skin)) {
        p->level_count = 1;
    } else if (pelt_skin_corrective(&f->skin)->weighted) {
        p->displaced_count = 1, p->level_count = 2;
    } else {
        choose_displacements(f);
        p->displaced_count = KEPT_SHARES, p->level_count = KEPT_SHARES + 1;
    }
    for (uint32_t most = 2; most && can_merge(&f->skin); most--)
        if (whole.influences > most) p->influences[p->level_count++] = most;
}

/* Without level l, which is not the first. */
static void remove_level(level_fit *f, uint32_t l) {
    pelt_level_plan *p = &f->plan;
    uint32_t coefficients = f->last ? pelt_skin_corrective(&f->skin)->coefficient_count : 0;
    for (uint32_t k = 0; k < coefficients; k++) f->last[k] = (uint8_t)(f->last[k] - (f->last[k] >= l));
    for (uint32_t i = l; i + 1 < p->level_count; i++) p->influences[i] = p->influences[i + 1];
    if (l < p->displaced_count) p->displaced_count--;
    p->level_count--;
}

/* -- Errors -------------------------------------------------------------------------------------------------------- */

static void deform_at(const level_fit *f, pelt_skin *skin, uint32_t level, size_t example, float *positions) {
    skin->least_level = (float)level;
    pelt_posing posing = f->posing;
    posing.skin = skin;
    const pelt_example *e = &f->examples.list[example * f->examples.count / example_count(f)];
    pelt_posing_frame(&posing, e->clip, e->frame, f->arena, NULL, f->scratch);
    pelt_deform(skin, f->scratch, pelt_all_blocks(skin), positions, NULL);
}

/* Distances from level 0 over the examples: distances[example_count][vertex_count]. */
static void measure_level(const level_fit *f, pelt_skin *skin, uint32_t level, float *positions[2], float *distances,
                          float *rms, float *p95) {
    size_t n = skin->vertex_count, count = n * example_count(f);
    double sum = 0;
    for (size_t e = 0; e < example_count(f); e++) {
        deform_at(f, skin, 0, e, positions[0]);
        deform_at(f, skin, level, e, positions[1]);
        for (size_t v = 0; v < n; v++) {
            double square = 0;
            for (size_t c = 0; c < 3; c++) {
                size_t at = 3 * (size_t)skin->vertex_slots[v] + c;
                square += pow((double)positions[1][at] - positions[0][at], 2);
            }
            sum += square;
            distances[e * n + v] = (float)sqrt(square);
        }
    }
    *rms = (float)sqrt(sum / (double)count);
    *p95 = pelt_quantile_floats(distances, count, 0.95);
}

typedef struct level_measuring {
    level_fit *f;
    pelt_skin skin; /* with levels */
} level_measuring;

static pelt_result measure_levels(void *user, pelt_error *error) {
    level_measuring *m = user;
    level_fit *f = m->f;
    float *positions[2] = {pelt_alloc(f->arena, 1, pelt_output_size(&m->skin)),
                           pelt_alloc(f->arena, 1, pelt_output_size(&m->skin))};
    float *distances = PELT_NEW(f->arena, (size_t)m->skin.vertex_count * example_count(f), float);
    (void)error;
    for (uint32_t l = 1; l < f->plan.level_count; l++)
        measure_level(f, &m->skin, l, positions, distances, &f->plan.rms[l], &f->plan.p95[l]);
    return PELT_OK;
}

/* A level with displacements that is further from level 0 than the cheaper one after it, or 0. */
static uint32_t pointless_level(const pelt_level_plan *p) {
    for (uint32_t l = 1; l < p->displaced_count; l++)
        if (p->rms[l] > p->rms[l + 1] || p->p95[l] > p->p95[l + 1]) return l;
    return 0;
}

/* Vertices that follow fewer joints may be nearer to level 0, but tear the surface: that is never better. */
static void raise_errors(pelt_level_plan *p) {
    for (uint32_t l = p->displaced_count + 1; l < p->level_count; l++) {
        p->rms[l] = fmaxf(p->rms[l], p->rms[l - 1]);
        p->p95[l] = fmaxf(p->p95[l], p->p95[l - 1]);
    }
}

/* -- The call ------------------------------------------------------------------------------------------------------ */

static pelt_result prepare(void *user, pelt_error *error) {
    level_fit *f = user;
    pelt_result result = pelt_posing_open(f->arena, &f->skin, f->bundle, &f->posing, error);
    if (result) return result;
    f->scratch = pelt_alloc(f->arena, 1, pelt_scratch_size(&f->skin));
    plan_levels(f);
    return PELT_OK;
}

/* Packs the plan, measures it, and does so again without levels that are not worth having. */
static pelt_bytes *pack_and_measure(level_fit *f, pelt_error *error) {
    for (;;) {
        pelt_level_plan trial = f->plan;
        for (uint32_t l = 0; l < trial.level_count; l++) trial.rms[l] = trial.p95[l] = 0;
        pelt_bytes *bytes = pelt_pack_levels(f->file->bytes, &f->skin, &trial, error);
        level_measuring m = {.f = f};
        pelt_result result = bytes ? pelt_open(bytes->bytes, bytes->size, &m.skin) : PELT_ERROR_MEMORY;
        if (bytes && result) pelt_fail(error, result, "the levels cannot be opened: %s", pelt_result_text(result));
        if (!result) result = pelt_stage(f->arena, measure_levels, &m, error);
        pelt_bytes_free(bytes);
        if (result) return NULL;
        raise_errors(&f->plan);
        uint32_t pointless = pointless_level(&f->plan);
        if (!pointless) return pelt_pack_levels(f->file->bytes, &f->skin, &f->plan, error);
        remove_level(f, pointless);
    }
}

pelt_bytes *pelt_fit_levels(const pelt_bytes *skin, pelt_bundle *bundle, pelt_examples examples, pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(bundle, error)) return NULL;
    if (!examples.count)
        return pelt_fail(
                   error, PELT_ERROR_DATA,
                   "levels: there are no examples that show which displacements matter; name clips that have frames"),
               NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    level_fit f = {.arena = arena, .file = skin, .bundle = bundle, .examples = examples};
    pelt_result result = pelt_open(skin->bytes, skin->size, &f.skin);
    if (result) return pelt_fail(error, result, "the skin cannot be opened: %s", pelt_result_text(result)), NULL;
    if (pelt_stage(arena, prepare, &f, error)) return NULL;
    if (f.plan.level_count < 2) { /* nothing can be left out */
        pelt_bytes *same = pelt_bytes_new(skin->size);
        if (!same) return pelt_no_memory(error), NULL;
        memcpy(same->bytes, skin->bytes, skin->size);
        return same;
    }
    return pack_and_measure(&f, error);
}
