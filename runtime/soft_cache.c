/* soft_cache.c: the soft cache: uses the reconstruction where the misfit allows it, the calculation where it does not,
   without pops in between.

   Trust t(e) is 1 up to e_min, 0 from e_max, linear between; a point's trust t is the mean over its regions. With the
   reconstruction r and the true value f a point becomes

       f + o,   o = t (r - f)

   which is the paper's blend. When e jumps across the whole zone within a frame, o jumps too. So with a `step`, o moves
   by at most that much per frame; this requires its previous value: a point that was not computed in the previous frame
   is computed there too, once, when it starts (twice the cost for the first frame of a miss), and it is computed until
   o has returned to r - f.

   Untrained motion may move points between the keys without moving the keys. Therefore witnesses testify too: a list of
   points that fill the gaps between keys, the next few in every frame, many more when the controls leave their training
   range, all of them at the start of a shot. |r - f| of a witness, relative to their bound, raises e of its regions; so
   does that of any computed point, since it is known. A witness counts 1.5 times, since the worst point is seldom
   exactly there. So the computed area grows until it covers the error, and lasts from frame to frame until the error is
   gone. */

#include "runtime/format.h"
#include <math.h>
#include <pelt/keys.h>
#include <stdbool.h>
#include <string.h>

enum { NOT_COMPUTED, COMPUTED }; /* states of a point in the previous frame */

/* The memory of a cache, in order. */
typedef struct parts {
    void *scratch;
    float *key_values;
    float *reconstruction, *before; /* [values] of this frame, and the result of the previous one */
    float *offsets;                 /* [values] o */
    float *truth;                   /* [values] of the points in `list` */
    float *answer;                  /* [values] the engine's answer for the points in `asked` */
    float *trust;                   /* [points] */
    float *region_e, *region_trust; /* [regions] */
    float *region_before;           /* [regions] the largest |r - f| of the previous frame, relative to the bound */
    float *controls;                /* of the previous frame */
    uint32_t *list, *fresh, *asked; /* [points] those to compute; those of them that were not computed in the frame
                                       before; those whose truth is not known yet */
    uint8_t *state;                 /* [points] */
    uint8_t *known;                 /* [points] 1: the truth of this frame is known */
} parts;

/* Lays out the parts from `memory` on; with NULL, only counts their bytes. */
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
                {(void **)&p->region_e, keys->region_count * sizeof(float)},
                {(void **)&p->region_trust, keys->region_count * sizeof(float)},
                {(void **)&p->region_before, keys->region_count * sizeof(float)},
                {(void **)&p->controls, ((uint64_t)control_count + 1) * sizeof(float)},
                {(void **)&p->list, points * sizeof(uint32_t)},
                {(void **)&p->fresh, points * sizeof(uint32_t)},
                {(void **)&p->asked, points * sizeof(uint32_t)},
                {(void **)&p->state, points},
                {(void **)&p->known, points}};
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

/* False for NaN too. */
static bool is_from(float low, float value, float high) { return value >= low && value <= high; }

static pelt_soft_cache_options with_defaults(const pelt_soft_cache_options *options) {
    pelt_soft_cache_options o = {0};
    if (options) o = *options;
    if (o.e_min == 0) o.e_min = o.absolute ? 0.1f : 1;
    if (o.e_max == 0) o.e_max = 1.5f * o.e_min;
    return o;
}

const char *pelt_soft_cache_problem(const pelt_soft_cache_options *options) {
    const float low = 1e-6f, high = 1e6f;
    pelt_soft_cache_options o = with_defaults(options);
    if (!is_from(low, o.e_min, high)) return "e_min";
    if (!is_from(o.e_min, o.e_max, 1.5f * high)) return "e_max";
    return is_from(0, o.step, 1) ? NULL : "step";
}

pelt_result pelt_soft_cache_init(pelt_soft_cache *cache, const pelt_keys *keys, const pelt_soft_cache_options *options,
                                 pelt_engine_call engine, void *memory) {
    if (!cache) return PELT_ERROR_ARGUMENT;
    memset(cache, 0, sizeof *cache);
    if (!keys || !engine.evaluate || !memory) return PELT_ERROR_ARGUMENT;
    if ((uintptr_t)memory % PELT_ALIGN) return PELT_ERROR_ALIGNMENT;
    if (pelt_soft_cache_problem(options)) return PELT_ERROR_ARGUMENT;
    cache->options = with_defaults(options);
    cache->keys = keys;
    cache->engine = engine;
    cache->private_memory = memory;
    pelt_soft_cache_cut(cache);
    return PELT_OK;
}

void pelt_soft_cache_cut(pelt_soft_cache *cache) {
    if (!cache || !cache->keys) return;
    parts p;
    lay_out(cache->keys, cache->engine.control_count, cache->private_memory, &p);
    memset(p.state, NOT_COMPUTED, cache->keys->point_count);
    memset(p.region_before, 0, cache->keys->region_count * sizeof *p.region_before);
    cache->private_started = 0, cache->private_witness = 0;
}

float pelt_soft_cache_trust(const pelt_soft_cache_options *options, float e) {
    if (e <= options->e_min) return 1;
    if (!(e < options->e_max)) return 0;
    return (options->e_max - e) / (options->e_max - options->e_min);
}

void pelt_soft_cache_regions(const pelt_soft_cache *cache, float *e) {
    parts p;
    lay_out(cache->keys, cache->engine.control_count, cache->private_memory, &p);
    memcpy(e, p.region_e, cache->keys->region_count * sizeof *e);
}

/* -- Computing ----------------------------------------------------------------------------------------------------- */

static int all_finite(const float *values, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * 0.0f; /* 0, unless some value is not finite */
    return sum == 0;
}

static pelt_result compute(pelt_soft_cache *cache, const float *controls, const uint32_t *points, uint32_t count,
                           float *values) {
    if (!count) return PELT_OK;
    cache->evaluated += count, cache->calls++;
    if (cache->engine.evaluate(cache->engine.user, controls, points, count, values)) return PELT_ERROR_DATA;
    return all_finite(values, (size_t)count * cache->keys->component_count) ? PELT_OK : PELT_ERROR_NUMBER;
}

/* The truth of some points, of those in `asked`. */
static pelt_result compute_asked(pelt_soft_cache *cache, const parts *p, const float *controls, uint32_t asked) {
    size_t each = cache->keys->component_count;
    pelt_result result = compute(cache, controls, p->asked, asked, p->answer);
    for (size_t i = 0; i < asked && !result; i++) {
        memcpy(p->truth + p->asked[i] * each, p->answer + i * each, each * sizeof *p->truth);
        p->known[p->asked[i]] = 1;
    }
    return result;
}

/* The truth of the points in the list that is not known yet. */
static pelt_result compute_list(pelt_soft_cache *cache, const parts *p, const float *controls, uint32_t count) {
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!p->known[p->list[i]]) p->asked[asked++] = p->list[i];
    return compute_asked(cache, p, controls, asked);
}

/* -- Testimony ----------------------------------------------------------------------------------------------------- */

/* Whether errors found at points count, in addition to the misfit at the keys. */
static bool testifies(const pelt_soft_cache *cache) {
    return cache->keys->witness_count && !cache->options.no_witnesses && !cache->options.absolute;
}

/* e of every region, from the keys and from errors found in the previous frame. */
static void judge_keys(const pelt_soft_cache *cache, const parts *p, const pelt_misfit *misfit) {
    const pelt_keys *keys = cache->keys;
    bool follows = testifies(cache) && cache->private_started && !cache->options.new_each_frame;
    float most = 0;
    pelt_keys_region_misfits(keys, p->scratch, p->region_e);
    for (uint32_t g = 0; g < keys->region_count; g++) {
        if (cache->options.absolute) p->region_e[g] = misfit->rms;
        if (follows) p->region_e[g] = fmaxf(p->region_e[g], p->region_before[g]);
        most = fmaxf(most, p->region_e[g]);
    }
    for (uint32_t g = 0; g < keys->region_count && cache->options.whole; g++) p->region_e[g] = most;
}

/* |r - f| of a point whose truth is known, relative to the witnesses' bound. */
static float error_at(const pelt_keys *keys, const parts *p, uint32_t point) {
    size_t each = keys->component_count, at = point * each;
    float square = 0;
    for (size_t c = 0; c < each; c++) {
        float d = p->reconstruction[at + c] - p->truth[at + c];
        square += d * d;
    }
    return sqrtf(square) / keys->witness_rule->bound;
}

/* Raises the regions of a point to e; returns whether one rose. */
static bool raise_regions(const pelt_soft_cache *cache, uint32_t point, float e, float *region_e) {
    const pelt_keys *keys = cache->keys;
    size_t at = (size_t)point * PELT_POINT_REGIONS;
    bool rose = false;
    for (uint32_t g = 0; g < keys->region_count && cache->options.whole; g++)
        if (region_e[g] < e) region_e[g] = e, rose = true;
    for (size_t k = 0; k < PELT_POINT_REGIONS; k++) {
        float *old = &region_e[keys->point_regions[at + k]];
        if (keys->point_region_weights[at + k] > 0 && *old < e) *old = e, rose = true;
    }
    return rose;
}

/* Whether a control is outside its training range: the source of most errors the reconstruction cannot see. */
static bool leaves_training(const pelt_soft_cache *cache, const float *controls) {
    const pelt_keys *keys = cache->keys;
    if (keys->control_count != cache->engine.control_count) return false;
    for (uint32_t c = 0; c < keys->control_count; c++)
        if (!(controls[c] >= keys->control_ranges[c].low && controls[c] <= keys->control_ranges[c].high)) return true;
    return false;
}

/* The keys and the next witnesses, in one call, without those that were computed in the previous frame and will be
   again anyway. *next is the next witness afterwards; returns the number of witnesses, which follow the keys in
   `asked`. */
static uint32_t choose_asked(const pelt_soft_cache *cache, const parts *p, const float *controls, uint32_t *next) {
    const pelt_keys *keys = cache->keys;
    uint32_t count = keys->key_count;
    memset(p->known, 0, keys->point_count);
    for (uint32_t k = 0; k < count; k++) p->asked[k] = keys->key_points[k], p->known[keys->key_points[k]] = 1;
    if (!testifies(cache)) return 0;
    uint32_t most = keys->witness_rule->each_frame, third = (keys->witness_count + 2) / 3;
    if (most < third && leaves_training(cache, controls)) most = third;
    if (!cache->private_started) most = keys->witness_count;
    if (most > keys->point_count - count) most = keys->point_count - count;
    for (uint32_t tried = 0; tried < keys->witness_count && count < keys->key_count + most; tried++) {
        uint32_t point = keys->witness_points[*next];
        *next = *next + 1 < keys->witness_count ? *next + 1 : 0;
        if (p->state[point] == NOT_COMPUTED && !p->known[point]) p->asked[count++] = point, p->known[point] = 1;
    }
    return count - keys->key_count;
}

/* Lets the points in the list testify about their regions; returns whether e rose anywhere. */
static bool hear_computed(const pelt_soft_cache *cache, const parts *p, uint32_t count, float *region_e) {
    bool rose = false;
    for (uint32_t i = 0; i < count; i++)
        rose |= raise_regions(cache, p->list[i], error_at(cache->keys, p, p->list[i]), region_e);
    return rose;
}

/* -- Deciding ------------------------------------------------------------------------------------------------------ */

/* The trust of every point, and the lists of points to compute. Returns their number; *fresh_count of them are new. */
static uint32_t decide(const pelt_soft_cache *cache, const parts *p, uint32_t *fresh_count) {
    const pelt_keys *keys = cache->keys;
    bool possible = keys->engine_point_count == keys->point_count; /* otherwise nobody can compute the other mesh */
    uint32_t count = 0;
    *fresh_count = 0;
    for (uint32_t g = 0; g < keys->region_count; g++)
        p->region_trust[g] = pelt_soft_cache_trust(&cache->options, p->region_e[g]);
    for (uint32_t i = 0; i < keys->point_count; i++) {
        size_t at = (size_t)i * PELT_POINT_REGIONS;
        float doubt = 0;
        for (size_t k = 0; k < PELT_POINT_REGIONS; k++)
            doubt += keys->point_region_weights[at + k] * (1 - p->region_trust[keys->point_regions[at + k]]);
        p->trust[i] = doubt < 0 ? 1 : doubt > 1 ? 0 : 1 - doubt;
        if (!possible || (p->trust[i] == 1 && p->state[i] == NOT_COMPUTED)) continue;
        if (p->state[i] == NOT_COMPUTED) p->fresh[(*fresh_count)++] = i;
        p->list[count++] = i;
    }
    return count;
}

/* Decides and computes, repeatedly as long as what is computed casts doubt on more. */
static pelt_result settle(pelt_soft_cache *cache, const parts *p, const float *controls, uint32_t *count,
                          uint32_t *fresh_count) {
    for (;;) {
        *count = decide(cache, p, fresh_count);
        pelt_result result = compute_list(cache, p, controls, *count);
        if (result || !testifies(cache) || !hear_computed(cache, p, *count, p->region_e)) return result;
    }
}

/* -- Blending ------------------------------------------------------------------------------------------------------ */

/* The previous positions of the points that start being computed. */
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

/* Moves the offset of one point towards its target; returns its new state. */
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

static float worst_region(const parts *p, uint32_t region_count) {
    float most = 0;
    for (uint32_t g = 0; g < region_count; g++) most = fmaxf(most, p->region_e[g]);
    return most;
}

static pelt_soft_cache_verdict name_verdict(pelt_soft_cache *cache, const parts *p, uint32_t count, float e) {
    const pelt_keys *keys = cache->keys;
    if (keys->engine_point_count < keys->point_count && !(e <= cache->options.e_min))
        return cache->doubts++, PELT_CACHE_DOUBT;
    if (!count) return cache->hits++, PELT_CACHE_HIT;
    if (count < keys->point_count) return cache->parts++, PELT_CACHE_PART;
    for (uint32_t i = 0; i < count; i++)
        if (p->trust[i] > 0) return cache->blends++, PELT_CACHE_BLEND;
    return cache->misses++, PELT_CACHE_MISS;
}

/* Saves what the next frame needs. */
static void remember(pelt_soft_cache *cache, const parts *p, const float *controls, const float *values,
                     uint32_t count) {
    const pelt_keys *keys = cache->keys;
    memset(p->region_before, 0, keys->region_count * sizeof *p->region_before);
    if (testifies(cache)) hear_computed(cache, p, count, p->region_before);
    memcpy(p->before, values, (size_t)keys->point_count * keys->component_count * sizeof *values);
    if (controls) memcpy(p->controls, controls, cache->engine.control_count * sizeof *controls);
    cache->private_started = 1;
}

pelt_result pelt_soft_cache_next(pelt_soft_cache *cache, const float *controls, float *values,
                                 pelt_soft_cache_frame_info *info) {
    if (!cache || !cache->keys || !values || (cache->engine.control_count && !controls)) return PELT_ERROR_ARGUMENT;
    const pelt_keys *keys = cache->keys;
    size_t size = (size_t)keys->point_count * keys->component_count;
    parts p;
    lay_out(keys, cache->engine.control_count, cache->private_memory, &p);
    uint64_t evaluated = cache->evaluated, calls = cache->calls;
    uint32_t fresh_count, count, witness = cache->private_witness, heard;
    pelt_misfit misfit;
    heard = choose_asked(cache, &p, controls, &witness);
    pelt_result result = compute_asked(cache, &p, controls, keys->key_count + heard);
    if (result) return result;
    memcpy(p.key_values, p.answer, (size_t)keys->key_count * keys->component_count * sizeof *p.key_values);
    pelt_keys_solve(keys, p.key_values, 1, p.scratch, &misfit);
    pelt_keys_fill(keys, p.scratch, 1, pelt_keys_all_blocks(keys), p.reconstruction);
    judge_keys(cache, &p, &misfit);
    for (uint32_t i = keys->key_count; i < keys->key_count + heard; i++)
        raise_regions(cache, p.asked[i], PELT_WITNESS_WEIGHT * error_at(keys, &p, p.asked[i]), p.region_e);
    result = settle(cache, &p, controls, &count, &fresh_count);
    bool limited = cache->options.step > 0 && !cache->options.new_each_frame;
    if (!result && limited && cache->private_started) result = look_back(cache, &p, fresh_count);
    if (result) return result;

    memcpy(values, p.reconstruction, size * sizeof *values);
    blend(cache, &p, count, limited, values);
    remember(cache, &p, controls, values, count);
    cache->private_witness = witness;
    cache->witnesses += heard;
    float e = worst_region(&p, keys->region_count);
    pelt_soft_cache_verdict verdict = name_verdict(cache, &p, count, e);
    if (info)
        *info = (pelt_soft_cache_frame_info){
            verdict, misfit, e, (uint32_t)(cache->evaluated - evaluated), heard, (uint32_t)(cache->calls - calls)};
    return PELT_OK;
}
