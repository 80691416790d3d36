/* bounds.c: regions of the soft cache, and the misfit tolerated in each.

   Bounds are set on frames left out of training, both whole shots and frames with unseen controls, because training
   frames fit too well to tell. In each region the misfit of the shots sets the scale; then one factor for all regions
   is chosen as large as possible while letting hardly any bad frame pass.

   Where the frames left out were right by far, that would call for a computation at misfits that nobody could see. So
   where witnesses watch too, bounds are raised to the misfit at which the error would reach the bar: errors and misfits
   are linear in the motion that is missing from training, so that their ratio can be found on small errors. */

#include "fit/keys/model.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double invisible = 1e-5;    /* of the diagonal: a misfit of the order of rounding */
static const double usual_frames = 0.98; /* of the held-out frames stay under a region's scale */
/* Frames that may be wrong and pass, and the least and the most ordinary ones that should hit. */
static const double bad_passes = 0.001, least_hits = 0.95, most_hits = 0.995;
static const float least_factor = 1e-3f;

/* -- Regions ------------------------------------------------------------------------------------------------------- */

enum { FEATURES = 3 + 8 }; /* position, and how much the point moves in the leading directions */

static float *point_features(const pelt_keys_training *t, pelt_arena *arena) {
    float *out = PELT_NEW(arena, (size_t)t->point_count * FEATURES, float);
    const pelt_subspace *s = &t->s;
    for (size_t p = 0; p < t->point_count; p++) {
        for (size_t i = 0; i < 3 && t->positions; i++)
            out[p * FEATURES + i] = (float)(t->positions[3 * p + i] / t->diagonal);
        for (size_t m = 0; m < FEATURES - 3 && m < s->rank; m++) {
            double square = 0;
            for (size_t i = 0; i < s->each; i++)
                square += pow(s->vectors[(p * s->each + i) * s->rank + m] * s->values[m], 2) / s->weight;
            out[p * FEATURES + 3 + m] = (float)(3 * sqrt(square) / t->diagonal);
        }
    }
    return out;
}

static double feature_distance(const float *a, const float *b) {
    double sum = 0;
    for (int i = 0; i < FEATURES; i++) sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* The centres of the regions are keys, so that every region has one. Returns the smallest distance between two
   centres. */
static double choose_middles(const pelt_keys_model *m, const float *features, uint32_t count, uint32_t *middles) {
    double spacing = INFINITY;
    middles[0] = m->keys[0];
    for (uint32_t g = 1; g < count; g++) {
        double most = -1;
        for (uint32_t k = 0; k < m->key_count; k++) {
            double nearest = INFINITY;
            for (uint32_t h = 0; h < g; h++)
                nearest = fmin(nearest, feature_distance(features + (size_t)m->keys[k] * FEATURES,
                                                         features + (size_t)middles[h] * FEATURES));
            if (nearest > most) most = nearest, middles[g] = m->keys[k];
        }
        spacing = fmin(spacing, most);
    }
    return spacing;
}

/* Weights of the nearest regions: 1 at a region's centre, falling to 0 where another is closer by half the spacing. */
static void weigh_point(const double *distances, uint32_t count, double border, uint16_t *regions, float *weights) {
    double nearest = INFINITY, sum = 0;
    bool used[PELT_POINT_REGIONS] = {false};
    for (uint32_t g = 0; g < count; g++) nearest = fmin(nearest, distances[g]);
    double value[PELT_POINT_REGIONS] = {0};
    for (uint32_t g = 0; g < count; g++) {
        double w = border > 0 ? fmax(0, 1 - (distances[g] - nearest) / border) : distances[g] <= nearest;
        int least = 0;
        for (int i = 1; i < PELT_POINT_REGIONS; i++)
            if (value[i] < value[least]) least = i;
        if (w * w > value[least]) value[least] = w * w, regions[least] = (uint16_t)g, used[least] = true;
    }
    for (int i = 0; i < PELT_POINT_REGIONS; i++) sum += value[i];
    for (int i = 0; i < PELT_POINT_REGIONS; i++) weights[i] = used[i] ? (float)(value[i] / sum) : 0;
}

void pelt_keys_regions(pelt_keys_model *m, uint32_t count) {
    const pelt_keys_training *t = m->t;
    if (count > m->key_count) count = m->key_count;
    m->region_count = count;
    m->point_regions = PELT_NEW(t->arena, (size_t)t->point_count * PELT_POINT_REGIONS, uint16_t);
    m->point_region_weights = PELT_NEW(t->arena, (size_t)t->point_count * PELT_POINT_REGIONS, float);
    m->bounds = PELT_NEW(t->arena, count, pelt_misfit_bound);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    float *features = point_features(t, work);
    uint32_t *middles = PELT_NEW(work, count, uint32_t);
    double *distances = PELT_NEW(work, count, double), spacing = choose_middles(m, features, count, middles);
    for (size_t p = 0; p < t->point_count; p++) {
        for (uint32_t g = 0; g < count; g++)
            distances[g] = feature_distance(features + p * FEATURES, features + (size_t)middles[g] * FEATURES);
        weigh_point(distances, count, count > 1 ? 0.5 * spacing : 0, m->point_regions + p * PELT_POINT_REGIONS,
                    m->point_region_weights + p * PELT_POINT_REGIONS);
    }
}

/* -- Bounds -------------------------------------------------------------------------------------------------------- */

/* RMS and largest misfit of a region in a trial, computed as in runtime/keys.c. */
static pelt_misfit_bound region_misfit(const pelt_keys_model *m, const float *lengths, uint32_t region) {
    double sum = 0, weight = 0, largest = 0;
    for (uint32_t k = 0; k < m->key_count; k++) {
        size_t at = (size_t)m->keys[k] * PELT_POINT_REGIONS;
        for (size_t i = 0; i < PELT_POINT_REGIONS; i++) {
            double w = m->point_regions[at + i] == region ? m->point_region_weights[at + i] : 0;
            if (!(w > 0)) continue;
            sum += w * lengths[k], weight += w;
            largest = fmax(largest, lengths[k]);
        }
    }
    return (pelt_misfit_bound){(float)(weight > 0 ? sqrt(sum / weight) : 0), (float)sqrt(largest)};
}

/* An invisible misfit, of the order of rounding. */
static float least_misfit(const pelt_keys_model *m) { return (float)(invisible * m->t->diagonal); }

/* For each region, the misfit that 98% of the held-out shot frames stay under. */
static void set_scales(pelt_keys_model *m, const pelt_trials *trials, float *rms, float *largest) {
    for (uint32_t g = 0; g < m->region_count; g++) {
        size_t count = 0;
        for (size_t i = 0; i < trials->count; i++) {
            if (trials->novel[i]) continue;
            pelt_misfit_bound e = region_misfit(m, trials->lengths + i * m->key_count, g);
            rms[count] = e.rms, largest[count++] = e.largest;
        }
        m->bounds[g].rms = fmaxf(pelt_quantile_floats(rms, count, usual_frames), least_misfit(m));
        m->bounds[g].largest = fmaxf(pelt_quantile_floats(largest, count, usual_frames), least_misfit(m));
    }
}

static float worst_region(const pelt_keys_model *m, const float *lengths) {
    float most = 0;
    for (uint32_t g = 0; g < m->region_count; g++) {
        pelt_misfit_bound e = region_misfit(m, lengths, g);
        most = fmaxf(most, fmaxf(e.rms / m->bounds[g].rms, e.largest / m->bounds[g].largest));
    }
    return most;
}

typedef struct judged {
    float e, error;
    uint8_t novel;
} judged;

static int by_e(const void *a, const void *b) {
    const judged *x = a, *y = b;
    return x->e < y->e ? -1 : x->e > y->e;
}

/* The largest factor that passes at most one bad frame in a thousand, but not so small that more than 50 in a thousand
   ordinary frames miss, nor so large that fewer than 5 do: rarer misses are hardly tested. */
static float find_factor(judged *list, size_t count, double bar, float *ordinary) {
    size_t bad = 0, plain = 0, passed = 0;
    float factor = 0;
    qsort(list, count, sizeof *list, by_e);
    for (size_t i = 0; i < count; i++)
        if (!list[i].novel) ordinary[plain++] = list[i].e;
    for (; passed < count; passed++) {
        bad += list[passed].error > bar;
        if ((double)bad > bad_passes * (double)count) break;
        factor = list[passed].e;
    }
    float enough = pelt_quantile_floats(ordinary, plain, least_hits),
          most = plain ? pelt_quantile_floats(ordinary, plain, most_hits) : factor;
    return fmaxf(fminf(factor, most), enough);
}

void pelt_keys_bounds(pelt_keys_model *m, const pelt_trials *trials, double bar, pelt_keys_report *report) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(m->t->arena);
    float *rms = PELT_NEW(work, trials->count, float), *largest = PELT_NEW(work, trials->count, float);
    judged *list = PELT_NEW(work, trials->count, judged);
    set_scales(m, trials, rms, largest);
    for (size_t i = 0; i < trials->count; i++)
        list[i] = (judged){worst_region(m, trials->lengths + i * m->key_count), trials->errors[i], trials->novel[i]};
    float factor = fmaxf(find_factor(list, trials->count, bar, rms), least_factor);
    size_t plain = 0, hits = 0, bad = 0, caught = 0;
    for (size_t i = 0; i < trials->count; i++) {
        bool flagged = list[i].e > factor;
        if (list[i].novel)
            bad += list[i].error > bar, caught += list[i].error > bar && flagged;
        else
            plain++, hits += !flagged;
    }
    for (uint32_t g = 0; g < m->region_count; g++) {
        m->bounds[g].rms = fmaxf(factor * m->bounds[g].rms, least_misfit(m));
        m->bounds[g].largest = fmaxf(factor * m->bounds[g].largest, least_misfit(m));
    }
    report->hit_rate = plain ? (double)hits / (double)plain : 1;
    report->bad_frames = (uint32_t)bad;
    report->bad_caught = bad ? (double)caught / (double)bad : 1;
}

/* The misfit at which a region would err by `error` (a fraction of the diagonal), by the median ratio of the
   two in the trials; 0 if none tells. `largest`: the misfit of one key, otherwise RMS. */
static float misfit_for(const pelt_keys_model *m, const pelt_trials *trials, uint32_t region, bool largest,
                        double error, float *ratios) {
    size_t count = 0;
    for (size_t i = 0; i < trials->count; i++) {
        pelt_misfit_bound e = region_misfit(m, trials->lengths + i * m->key_count, region);
        float misfit = largest ? e.largest : e.rms, wrong = trials->region_errors[i * m->region_count + region];
        if (wrong > 0 && misfit > least_misfit(m)) ratios[count++] = wrong / misfit;
    }
    float ratio = pelt_quantile_floats(ratios, count, 0.5);
    return ratio > 0 ? (float)(error / ratio) : 0;
}

void pelt_keys_raise_bounds(pelt_keys_model *m, const pelt_trials *trials, double error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(m->t->arena);
    float *ratios = PELT_NEW(work, trials->count, float);
    for (uint32_t g = 0; g < m->region_count; g++) {
        pelt_misfit_bound *bound = &m->bounds[g];
        bound->rms = fmaxf(bound->rms, misfit_for(m, trials, g, false, error, ratios));
        bound->largest = fmaxf(bound->largest, misfit_for(m, trials, g, true, error, ratios));
    }
}
