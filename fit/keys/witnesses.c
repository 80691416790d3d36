/* witnesses.c: points that the soft cache checks in addition to the keys, and the ranges of controls that say how many.

   Something that training never saw may move points between the keys and leave the keys in peace. Errors are smooth
   where the skin moves as one, so witnesses need not be close there; but at lids and lips, points a hair apart move
   differently and err differently. So gaps are measured in a space that has both: where a point is, and how it moved. */

#include "fit/keys/model.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

static const double gaps_tried[] = {0.03, 0.022, 0.016}; /* of the diagonal: witnesses fill gaps that are wider */
static const double motion = 8;  /* how far apart a difference in motion puts two points, in units of that difference */
static const double alarm = 0.6; /* of the bar: a computed point that is off by more calls for a miss */
static const float margin = 0.05f; /* of a control's range, beyond which it is unknown */

bool pelt_keys_has_witnesses(const pelt_keys_training *t) {
    return t->positions && t->options->witnesses != PELT_KEYS_NO_WITNESSES;
}

static double gap_of(const pelt_keys_training *t) { return t->gap > 0 ? t->gap : gaps_tried[0]; }

bool pelt_keys_narrow_gap(pelt_keys_training *t) {
    for (size_t i = 0; i < sizeof gaps_tried / sizeof *gaps_tried; i++)
        if (gaps_tried[i] < gap_of(t)) return t->gap = gaps_tried[i], true;
    return false;
}

/* Points where errors peak and points in the gaps, interleaved in proportion. */
static uint32_t mix(const uint32_t *peaks, uint32_t peak_count, const uint32_t *gaps, uint32_t gap_count,
                    uint32_t *list) {
    uint32_t count = 0;
    for (uint64_t i = 0, k = 0; i < peak_count || k < gap_count;) {
        bool peak = i < peak_count && (k == gap_count || i * gap_count <= k * peak_count);
        list[count++] = peak ? peaks[i++] : gaps[k++];
    }
    return count;
}

pelt_result pelt_keys_witnesses(pelt_keys_model *m, pelt_error *error) {
    enum { MOST_IN_GAPS = 4096, TURN = 25 };
    const pelt_keys_training *t = m->t;
    const pelt_keys_options *o = t->options;
    uint32_t left = t->candidates - m->key_count, peaks = (m->key_count + 1) / 2;
    if (!pelt_keys_has_witnesses(t) || !left) return PELT_OK;
    if (peaks > left) peaks = left;
    uint32_t most = left - peaks < MOST_IN_GAPS ? left - peaks : MOST_IN_GAPS, known = m->key_count + peaks;
    uint32_t *all = PELT_NEW(t->arena, known + most, uint32_t), *points = PELT_NEW(t->arena, peaks + most, uint32_t);
    memcpy(all, m->keys, m->key_count * sizeof *all);
    pelt_result result = pelt_peak_points(t, m->keys, m->key_count, peaks, all + m->key_count, error);
    if (result) return result;
    uint32_t gaps = pelt_farthest_points(t, all, known, motion, gap_of(t) * t->diagonal, most, all + known);
    uint32_t count = mix(all + m->key_count, peaks, all + known, gaps, points);
    double usual = ceil((double)count / TURN * fmin(1, m->expected / (0.5 * o->bar)));
    uint32_t each_frame = o->witnesses ? o->witnesses : usual > 1 ? (uint32_t)usual : 1;
    m->witnesses = points, m->witness_count = count;
    m->witness_rule = PELT_NEW(t->arena, 1, pelt_witness_rule);
    *m->witness_rule =
        (pelt_witness_rule){(float)(alarm * o->bar * t->diagonal), each_frame < count ? each_frame : count};
    return PELT_OK;
}

/* -- Controls ------------------------------------------------------------------------------------------------------ */

/* Extends a range to include another. */
static void widen(pelt_control_range *range, float low, float high) {
    range->low = fminf(range->low, low), range->high = fmaxf(range->high, high);
}

/* Frames without weight and those that stand for a previous training say nothing about controls. */
static bool counts(const pelt_frames *frames, size_t f) {
    return !(frames->weights && !(frames->weights[f] > 0)) && !(frames->shots && frames->shots[f] == UINT32_MAX);
}

/* The names of the controls, or those of the previous training. */
static void name_controls(pelt_keys_model *m, const pelt_frames *frames) {
    const pelt_keys *previous = m->t->options->previous;
    size_t size = 0;
    for (uint32_t c = 0; frames->control_names && c < frames->control_count; c++)
        size += strlen(frames->control_names[c]) + 1;
    if (!frames->control_names && previous && previous->control_names) size = previous->control_names_size;
    if (!size || size > UINT32_MAX) return;
    char *to = m->control_names = PELT_NEW(m->t->arena, size, char);
    m->control_names_size = size;
    if (!frames->control_names) memcpy(to, previous->control_names, size);
    for (uint32_t c = 0; frames->control_names && c < frames->control_count; c++) {
        size_t length = strlen(frames->control_names[c]) + 1;
        memcpy(to, frames->control_names[c], length);
        to += length;
    }
}

void pelt_keys_controls(pelt_keys_model *m, const pelt_frames *frames) {
    const pelt_keys *previous = m->t->options->previous;
    uint32_t count = frames->controls ? frames->control_count : 0, moved = 0;
    if (!count || !m->witness_count || (previous && previous->control_count != count)) return;
    pelt_control_range *ranges = PELT_NEW(m->t->arena, count, pelt_control_range);
    float *widths = PELT_NEW(m->t->arena, count, float);
    for (uint32_t c = 0; c < count; c++) ranges[c] = (pelt_control_range){INFINITY, -INFINITY};
    for (size_t f = 0; f < frames->frame_count; f++)
        for (uint32_t c = 0; c < count && counts(frames, f); c++)
            widen(&ranges[c], frames->controls[f * count + c], frames->controls[f * count + c]);
    for (uint32_t c = 0; c < count; c++)
        if (ranges[c].high > ranges[c].low) widths[moved++] = ranges[c].high - ranges[c].low;
    float usual = moved ? pelt_quantile_floats(widths, moved, 0.5) : 0;
    for (uint32_t c = 0; c < count; c++) {
        float width = ranges[c].high - ranges[c].low, beyond = margin * (width > 0 ? width : usual);
        ranges[c].low -= beyond, ranges[c].high += beyond;
        if (previous) widen(&ranges[c], previous->control_ranges[c].low, previous->control_ranges[c].high);
        if (!isfinite(ranges[c].low) || !isfinite(ranges[c].high)) return; /* overflow: ranges stay unknown */
    }
    m->control_ranges = ranges, m->control_count = count;
    name_controls(m, frames);
}
