/* soft_cache.c: the soft cache: use the reconstruction where the misfit allows it, the calculation where it does not,
   and nothing that pops between.

   Trust t(e) is 1 up to e_min, 0 from e_max, linear between; a point's trust t is the mean over its regions. With the
   reconstruction r and the true value f a point becomes

       f + o,   o = t (r - f)

   which is the paper's blend. When e leaps over the whole zone within a frame, o leaps too. With a `step`, o therefore
   moves by at most so much per frame; for that, it must be known where it was: a point that was not computed in the
   frame before is computed there too, once, when it begins to be (twice the cost for the first frame of a miss), and
   it is computed until o has come back to r - f. */

#include "runtime/format.h"
#include <math.h>
#include <pelt/keys.h>
#include <stdbool.h>
#include <string.h>

enum { NOT_COMPUTED, COMPUTED }; /* states of a point in the frame before */

/* The memory of a cache, in the order in which it lies there. */
typedef struct parts {
    void *scratch;
    float *key_values;
    float *reconstruction, *before; /* [values] of this frame, and the result of the frame before */
    float *offsets;                 /* [values] o */
    float *truth;                   /* [values] of the points in `list` */
    float *answer;                  /* [values] what the engine gave for the points in `asked` */
    float *trust;                   /* [points] */
    float *region_trust;            /* [regions] */
    float *controls;                /* of the frame before */
    uint32_t *list, *fresh, *asked; /* [points] those to compute; those of them that were not computed before; those of
                                       them that are not keys, whose values are known already */
    uint8_t *state;                 /* [points] */
    uint8_t *is_key;                /* [points] */
} parts;

/* Lays the parts out from `memory` on, or, with NULL, only counts their bytes. */
static uint64_t lay_out(const pelt_keys *keys, uint32_t control_count, char *memory, parts *p) {
    uint64_t points = keys->point_count, floats = points * keys->component_count * sizeof(float), at = 0;
    struct {
        void **part;
        uint64_t bytes;
    } list[] = {{&p->scratch, pelt_keys_scratch_size(keys, 1)},
                {(void **)&p->key_values, (uint64_t)keys->key_count * keys->component_count * sizeof(float)},
                {(void **)&p->reconstruction, floats},
                {(void **)&p->before, floats},
                {(void **)&p->offsets, floats},
                {(void **)&p->truth, floats},
                {(void **)&p->answer, floats},
                {(void **)&p->trust, points * sizeof(float)},
                {(void **)&p->region_trust, keys->region_count * sizeof(float)},
                {(void **)&p->controls, ((uint64_t)control_count + 1) * sizeof(float)},
                {(void **)&p->list, points * sizeof(uint32_t)},
                {(void **)&p->fresh, points * sizeof(uint32_t)},
                {(void **)&p->asked, points * sizeof(uint32_t)},
                {(void **)&p->state, points},
                {(void **)&p->is_key, points}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (memory) *list[i].part = memory + at;
        at += pelt_aligned(list[i].bytes);
    }
    return at;
}

size_t pelt_soft_cache_size(const pelt_keys *keys, uint32_t control_count) {
    parts unused;
    return pelt_memory_size(lay_out(keys, control_count, NULL, &unused));
}

pelt_result pelt_soft_cache_init(pelt_soft_cache *cache, const pelt_keys *keys, const pelt_soft_cache_options *options,
                                 pelt_engine_call engine, void *memory) {
    if (!cache || !keys || !engine.evaluate || !memory) return PELT_ERROR_ARGUMENT;
    if ((uintptr_t)memory % PELT_ALIGN) return PELT_ERROR_ALIGNMENT;
    memset(cache, 0, sizeof *cache);
    if (options) cache->options = *options;
    if (!(cache->options.e_min > 0)) cache->options.e_min = 1;
    if (!(cache->options.e_max > 0)) cache->options.e_max = 1.5f * cache->options.e_min;
    if (cache->options.e_max < cache->options.e_min || cache->options.step < 0) return PELT_ERROR_ARGUMENT;
    cache->keys = keys;
    cache->engine = engine;
    cache->private_memory = memory;
    parts p;
    lay_out(keys, engine.control_count, memory, &p);
    memset(p.state, NOT_COMPUTED, keys->point_count);
    memset(p.is_key, 0, keys->point_count);
    for (uint32_t k = 0; k < keys->key_count; k++) p.is_key[keys->key_points[k]] = 1;
    return PELT_OK;
}

void pelt_soft_cache_cut(pelt_soft_cache *cache) { cache->private_started = 0; }

float pelt_soft_cache_trust(const pelt_soft_cache_options *options, float e) {
    if (e <= options->e_min) return 1;
    if (!(e < options->e_max)) return 0;
    return (options->e_max - e) / (options->e_max - options->e_min);
}

/* -- Computing ----------------------------------------------------------------------------------------------------- */

static int all_finite(const float *values, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * 0.0f; /* 0, unless one is not finite */
    return sum == 0;
}

static pelt_result compute(pelt_soft_cache *cache, const float *controls, const uint32_t *points, uint32_t count,
                           float *values) {
    if (!count) return PELT_OK;
    cache->evaluated += count;
    if (cache->engine.evaluate(cache->engine.user, controls, points, count, values)) return PELT_ERROR_DATA;
    return all_finite(values, (size_t)count * cache->keys->component_count) ? PELT_OK : PELT_ERROR_NUMBER;
}

/* The truth of the points in the list: of keys it is known, the others are computed. */
static pelt_result compute_list(pelt_soft_cache *cache, const parts *p, const float *controls, uint32_t count) {
    const pelt_keys *keys = cache->keys;
    size_t each = keys->component_count;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!p->is_key[p->list[i]]) p->asked[asked++] = p->list[i];
    pelt_result result = compute(cache, controls, p->asked, asked, p->answer);
    for (size_t i = 0; i < asked && !result; i++)
        memcpy(p->truth + p->asked[i] * each, p->answer + i * each, each * sizeof *p->truth);
    for (size_t k = 0; k < keys->key_count && !result; k++)
        memcpy(p->truth + keys->key_points[k] * each, p->key_values + k * each, each * sizeof *p->truth);
    return result;
}

/* -- Deciding ------------------------------------------------------------------------------------------------------ */

/* The trust of every point, and the lists of points to compute. Returns how many; *fresh_count of them are new. */
static uint32_t decide(pelt_soft_cache *cache, const parts *p, const pelt_misfit *misfit, uint32_t *fresh_count) {
    const pelt_keys *keys = cache->keys;
    uint32_t count = 0;
    *fresh_count = 0;
    if (keys->engine_point_count < keys->point_count) return 0; /* nobody can compute the other mesh */
    float whole = pelt_soft_cache_trust(&cache->options, misfit->e);
    pelt_keys_region_misfits(keys, p->scratch, p->region_trust);
    for (uint32_t g = 0; g < keys->region_count; g++)
        p->region_trust[g] = cache->options.whole ? whole : pelt_soft_cache_trust(&cache->options, p->region_trust[g]);
    for (uint32_t i = 0; i < keys->point_count; i++) {
        size_t at = (size_t)i * PELT_POINT_REGIONS;
        float doubt = 0;
        for (int k = 0; k < PELT_POINT_REGIONS; k++)
            doubt +=
                keys->point_region_weights[at + (size_t)k] * (1 - p->region_trust[keys->point_regions[at + (size_t)k]]);
        p->trust[i] = doubt < 0 ? 1 : doubt > 1 ? 0 : 1 - doubt;
        if (p->trust[i] == 1 && p->state[i] == NOT_COMPUTED) continue;
        if (p->state[i] == NOT_COMPUTED) p->fresh[(*fresh_count)++] = i;
        p->list[count++] = i;
    }
    return count;
}

/* -- Blending ------------------------------------------------------------------------------------------------------ */

/* Where the points that begin to be computed were in the frame before. */
static pelt_result look_back(pelt_soft_cache *cache, const parts *p, uint32_t fresh_count) {
    size_t each = cache->keys->component_count;
    pelt_result result = compute(cache, p->controls, p->fresh, fresh_count, p->answer);
    for (size_t i = 0; i < fresh_count && !result; i++)
        for (size_t c = 0; c < each; c++) {
            size_t at = p->fresh[i] * each + c;
            p->offsets[at] = p->before[at] - p->answer[i * each + c];
        }
    return result;
}

/* Moves the offset of one point towards its aim; returns its new state. */
static uint8_t move_offset(const float *reconstruction, const float *truth, float trust, float most, size_t each,
                           float *offset) {
    float distance = 0, part = 1;
    if (most < INFINITY) {
        for (size_t c = 0; c < each; c++) {
            float d = trust * (reconstruction[c] - truth[c]) - offset[c];
            distance += d * d;
        }
        distance = sqrtf(distance);
        if (distance > most) part = most / distance;
    }
    for (size_t c = 0; c < each; c++) {
        float aim = trust * (reconstruction[c] - truth[c]);
        offset[c] = part < 1 ? offset[c] + part * (aim - offset[c]) : aim;
    }
    return trust == 1 && part == 1 ? NOT_COMPUTED : COMPUTED;
}

static void blend(const pelt_soft_cache *cache, const parts *p, uint32_t count, bool limited, float *values) {
    const pelt_keys *keys = cache->keys;
    size_t each = keys->component_count;
    float most = limited && cache->private_started ? cache->options.step * keys->diagonal : INFINITY;
    for (size_t i = 0; i < count; i++) {
        size_t at = p->list[i] * each;
        uint8_t state =
            move_offset(p->reconstruction + at, p->truth + at, p->trust[p->list[i]], most, each, p->offsets + at);
        p->state[p->list[i]] = limited ? state : NOT_COMPUTED;
        for (size_t c = 0; c < each; c++) values[at + c] = p->truth[at + c] + p->offsets[at + c];
    }
}

static pelt_soft_cache_verdict name_verdict(pelt_soft_cache *cache, const parts *p, uint32_t count) {
    if (!count) return cache->hits++, PELT_CACHE_HIT;
    if (count < cache->keys->point_count) return cache->parts++, PELT_CACHE_PART;
    for (uint32_t i = 0; i < count; i++)
        if (p->trust[i] > 0) return cache->blends++, PELT_CACHE_BLEND;
    return cache->misses++, PELT_CACHE_MISS;
}

pelt_result pelt_soft_cache_next(pelt_soft_cache *cache, const float *controls, float *values,
                                 pelt_soft_cache_frame_info *info) {
    const pelt_keys *keys = cache->keys;
    size_t size = (size_t)keys->point_count * keys->component_count;
    parts p;
    lay_out(keys, cache->engine.control_count, cache->private_memory, &p);
    uint64_t evaluated = cache->evaluated;
    pelt_misfit misfit;
    pelt_result result = compute(cache, controls, keys->key_points, keys->key_count, p.key_values);
    if (result) return result;
    pelt_keys_solve(keys, p.key_values, 1, p.scratch, &misfit);
    pelt_keys_fill(keys, p.scratch, 1, pelt_keys_all_blocks(keys), p.reconstruction);
    uint32_t fresh_count, count = decide(cache, &p, &misfit, &fresh_count);
    bool limited = cache->options.step > 0 && !cache->options.new_each_frame;
    if (limited && cache->private_started) result = look_back(cache, &p, fresh_count);
    if (!result) result = compute_list(cache, &p, controls, count);
    if (result) return result;

    memcpy(values, p.reconstruction, size * sizeof *values);
    blend(cache, &p, count, limited, values);
    memcpy(p.before, values, size * sizeof *values);
    memcpy(p.controls, controls, cache->engine.control_count * sizeof *controls);
    cache->private_started = 1;
    pelt_soft_cache_verdict verdict = name_verdict(cache, &p, count);
    if (info) *info = (pelt_soft_cache_frame_info){verdict, misfit, (uint32_t)(cache->evaluated - evaluated)};
    return PELT_OK;
}
