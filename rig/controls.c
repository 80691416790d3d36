/* controls.c: named numbers that accompany clips. The bundle lists their names; a clip has a row of values per frame,
   as wide as that list, or none if all are at rest. */

#include "rig/rig.h"
#include <string.h>

uint32_t pelt_control_named(const pelt_controls *controls, const char *name) {
    uint32_t i = 0;
    while (i < controls->count && strcmp(controls->names[i], name)) i++;
    return i;
}

void pelt_clip_controls(const pelt_clip *clip, const pelt_controls *controls, uint32_t frame, float *values) {
    const float *row = controls->rest;
    if (clip && clip->controls && clip->frame_count)
        row = clip->controls + (size_t)(frame < clip->frame_count ? frame : clip->frame_count - 1) * controls->count;
    if (controls->count) memcpy(values, row, controls->count * sizeof *values);
}

/* Rows of a clip with room for more controls, which are at rest; NULL if out of memory. */
static float *widen(pelt_arena *arena, const pelt_clip *clip, const pelt_controls *before, const pelt_controls *after) {
    float *rows = PELT_NEW(arena, (size_t)clip->frame_count * after->count, float);
    for (uint32_t f = 0; rows && f < clip->frame_count; f++) {
        float *row = rows + (size_t)f * after->count;
        memcpy(row, after->rest, after->count * sizeof *row);
        pelt_clip_controls(clip, before, f, row);
    }
    return rows;
}

/* Adds the new names. Clips that already have controls get room for them, all clips or none. */
static pelt_result add_names(pelt_bundle *bundle, uint32_t count, const char *const *names) {
    pelt_controls *now = &bundle->controls, more = *now;
    if (count > PELT_MOST_CONTROLS) return PELT_ERROR_DATA;
    more.names = PELT_NEW(bundle->arena, (size_t)now->count + count, const char *);
    more.rest = PELT_NEW(bundle->arena, (size_t)now->count + count, float);
    float **rows = PELT_NEW(bundle->arena, bundle->clip_count, float *);
    if (pelt_arena_failed(bundle->arena)) return PELT_ERROR_MEMORY;
    if (now->count) {
        memcpy(more.names, now->names, now->count * sizeof *more.names);
        memcpy(more.rest, now->rest, now->count * sizeof *more.rest);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (pelt_control_named(now, names[i]) < now->count) continue;
        uint32_t extra = pelt_control_named(&bundle->extras, names[i]);
        more.names[more.count] = names[i];
        more.rest[more.count++] = extra < bundle->extras.count ? bundle->extras.rest[extra] : 0;
    }
    if (more.count > PELT_MOST_CONTROLS) return PELT_ERROR_DATA;
    for (uint32_t c = 0; c < bundle->clip_count && more.count > now->count; c++)
        if (bundle->clips[c]->controls) rows[c] = widen(bundle->arena, bundle->clips[c], now, &more);
    if (pelt_arena_failed(bundle->arena)) return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        if (rows[c]) ((pelt_clip *)bundle->clips[c])->controls = rows[c]; /* the bundle's own clip */
    *now = more;
    return PELT_OK;
}

pelt_result pelt_clip_set_controls(pelt_bundle *bundle, pelt_clip *clip, uint32_t count, const char *const *names,
                                   const float *values) {
    pelt_result result = add_names(bundle, count, names);
    if (result) return result;
    float *rows = widen(bundle->arena, clip, &bundle->controls, &bundle->controls);
    if (!rows) return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        size_t place = pelt_control_named(&bundle->controls, names[i]), width = bundle->controls.count;
        for (size_t f = 0; f < clip->frame_count; f++) rows[f * width + place] = values[f * count + i];
    }
    clip->controls = rows;
    return PELT_OK;
}

/* -- Playing a skin ------------------------------------------------------------------------------------------------ */

void pelt_match_controls(const pelt_skin *skin, const pelt_controls *controls, uint32_t *sources) {
    for (uint32_t i = 0; i < skin->control_count; i++)
        sources[i] = pelt_control_named(controls, skin->names + skin->controls[i].name);
}

void pelt_matched_controls(const pelt_skin *skin, const pelt_controls *controls, const uint32_t *sources,
                           const pelt_clip *clip, uint32_t frame, float *row, float *values) {
    pelt_clip_controls(clip, controls, frame, row);
    for (uint32_t i = 0; i < skin->control_count; i++) {
        bool known = sources[i] < controls->count && clip && clip->controls;
        values[i] = known ? row[sources[i]] : skin->controls[i].rest;
    }
}
