/* diagnosis.c: everything that looks wrong with a character and its examples, as `pelt info` says it. */

#include "view/show.h"
#include <string.h>

static json_t *finding_json(const char *severity, const char *what, const char *text, bool fix) {
    return pelt_json_pack("{severity:s, what:s, text:s, fix:b}", severity, what, text, fix);
}

/* Reads the true positions of all clips. Those that cannot be read are findings; others are left in `clips`. */
static pelt_result read_truths(pelt_view *view, uint32_t character, json_t **list, const pelt_clip **clips,
                               size_t *count, pelt_error *error) {
    const view_character *c = view->characters[character];
    for (uint32_t i = 0; i < c->bundle->clip_count; i++) {
        if (!c->has_truth[i]) continue;
        pelt_result result = view_load_truth(view, character, i, error);
        if (result == PELT_ERROR_MEMORY) return result;
        if (result)
            *list = pelt_json_append(*list,
                                     finding_json("fatal", "unreadable", error->text, !strcmp(error->option, "fix")));
        else
            clips[(*count)++] = c->bundle->clips[i];
    }
    return PELT_OK;
}

static json_t *add_findings(json_t *list, pelt_findings findings, bool fixed) {
    static const char *const severities[] = {"note", "warning", "fatal"};
    for (size_t i = 0; i < findings.count; i++) {
        const pelt_finding *f = &findings.list[i];
        list = pelt_json_append(
            list, finding_json(severities[f->severity], f->what, f->text, !fixed && pelt_finding_is_mended(f)));
    }
    return list;
}

pelt_result view_diagnose(pelt_view *view, uint32_t character, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    view_character *c = view->characters[character];
    const pelt_clip **clips = calloc(c->bundle->clip_count + 1, sizeof *clips);
    json_t *list = json_array();
    size_t count = 0;
    pelt_result result =
        clips && list ? read_truths(view, character, &list, clips, &count, error) : pelt_no_memory(error);
    if (!result) list = add_findings(list, pelt_diagnose(c->bundle, clips, count), c->bundle->cache.fix);
    free(clips);
    if (result) return json_decref(list), result;
    c->diagnosis = view_text(pelt_json_pack("{findings:o}", list));
    return c->diagnosis ? PELT_OK : pelt_no_memory(error);
}

pelt_result view_make_diagnosis(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const char *text = view->characters[place.numbers[0]]->diagnosis;
    size_t size = strlen(text);
    void *bytes = view_bytes(out, size, "application/json", error);
    if (!bytes) return PELT_ERROR_MEMORY;
    memcpy(bytes, text, size);
    return PELT_OK;
}
