/* figures.c: the error of a skin, in total and per frame, and its time per vertex. */

#include "fit/measure/measure.h"
#include "runtime/format.h"
#include "view/show.h"
#include <math.h>
#include <string.h>

/* -- Frame by frame ---------------------------------------------------------------------------------------------- */

typedef struct frame_error {
    double rms, max;
    uint32_t worst;
} frame_error;

static frame_error error_of(const float *positions, const float *truth, uint32_t vertex_count) {
    double sum = 0, most = -1;
    uint32_t worst = 0;
    for (size_t v = 0; v < vertex_count; v++) {
        double square = 0;
        for (size_t i = 3 * v; i < 3 * v + 3; i++) {
            double d = (double)positions[i] - truth[i];
            square += d * d;
        }
        sum += square;
        if (square > most) most = square, worst = (uint32_t)v;
    }
    return (frame_error){sqrt(sum / vertex_count), sqrt(fmax(most, 0)), worst};
}

static pelt_result measure_frames(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    const pelt_bundle *bundle = view->characters[place.numbers[0]]->bundle;
    const pelt_clip *clip = bundle->clips[place.numbers[2]];
    size_t row = 3 * (size_t)bundle->mesh.vertex_count;
    pelt_error own;
    if (!error) error = &own;
    pelt_player *player = pelt_player_new(&skin->skin, bundle, error);
    if (!player) return error->code;
    float *positions = malloc(row * sizeof *positions);
    json_t *rms = json_array(), *most = json_array(), *worst = json_array();
    for (uint32_t f = 0; positions && f < clip->frame_count && !atomic_load(&view->stop); f++) {
        pelt_player_frame(player, clip, f, positions, NULL);
        frame_error e = error_of(positions, clip->positions + f * row, bundle->mesh.vertex_count);
        rms = pelt_json_append(rms, pelt_json_number(e.rms));
        most = pelt_json_append(most, pelt_json_number(e.max));
        worst = pelt_json_append(worst, json_integer(e.worst));
    }
    free(positions);
    pelt_player_free(player);
    bool whole = json_array_size(worst) == clip->frame_count;
    json_t *object = pelt_json_pack("{rms:o, max:o, worst_vertex:o}", rms, most, worst);
    if (whole) return view_json(out, object, error);
    json_decref(object);
    return atomic_load(&view->stop) ? pelt_fail(error, PELT_ERROR_CANCELLED, "pelt view is ending")
                                    : pelt_no_memory(error);
}

pelt_result view_make_errors(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (!skin) return view_absent(error);
    return view_stored(view, &skin->errors[place.numbers[2]], out, measure_frames, place, error);
}

/* -- In total ---------------------------------------------------------------------------------------------------- */

static json_t *known(double value) { return value < 0 ? json_null() : pelt_json_number(value); }

json_t *view_measure_json(const pelt_fact_measure *m) {
    return pelt_json_pack("{rel_err:o, rms:o, max:o, roughness:o, normals:o, frames:u}", known(m->rel_err),
                          known(m->rms), known(m->max), known(m->roughness), known(m->normal_rms_degrees),
                          m->frame_count);
}

/* All frames of all clips with truth; from malloc. */
static pelt_examples all_examples(const view_character *c) {
    pelt_examples all = {0};
    for (uint32_t i = 0; i < c->bundle->clip_count; i++)
        if (c->bundle->clips[i]->positions) all.count += c->bundle->clips[i]->frame_count;
    all.list = calloc(all.count + 1, sizeof *all.list);
    all.count = 0;
    for (uint32_t i = 0; all.list && i < c->bundle->clip_count; i++)
        for (uint32_t f = 0; c->bundle->clips[i]->positions && f < c->bundle->clips[i]->frame_count; f++)
            all.list[all.count++] = (pelt_example){.clip = c->bundle->clips[i], .frame = f};
    return all;
}

static pelt_result measure_all(pelt_view *view, const view_character *c, const view_skin *skin,
                               pelt_fact_measure *figures, pelt_error *error) {
    *figures = pelt_measure_facts(NULL);
    if (!c->bundle) return PELT_OK;
    pelt_examples all = all_examples(c);
    pelt_progress progress = view_progress(view);
    pelt_result result = all.list ? PELT_OK : pelt_no_memory(error);
    pelt_measure *m = NULL;
    if (!result && all.count) {
        m = pelt_measure_watched(&skin->skin, c->bundle, all, view->options.threads, &progress, error);
        if (!m) result = error ? error->code : PELT_ERROR_DATA;
    }
    *figures = pelt_measure_facts(m);
    pelt_measure_free(m);
    free(all.list);
    return result;
}

static pelt_result measure_skin(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view->characters[place.numbers[0]];
    const view_skin *skin = c->skins[place.numbers[1]];
    const pelt_fact_measure *told = pelt_facts_measure(skin->skin.facts);
    pelt_fact_measure figures = {0};
    pelt_error own;
    pelt_result result = told ? PELT_OK : measure_all(view, c, skin, &figures, error ? error : &own);
    if (result) return result;
    const char *on = !told ? "measured" : told == &skin->skin.facts->holdout ? "held out" : "training";
    json_t *json = view_measure_json(told ? told : &figures);
    int failed = json_object_set_new(json, "on", told || figures.frame_count ? json_string(on) : json_null());
    const pelt_bundle *bundle = c->bundle;
    double time = pelt_frame_nanoseconds(&skin->skin, bundle ? &bundle->skeleton : NULL,
                                         bundle && bundle->clip_count ? bundle->clips[0] : NULL);
    failed |= json_object_set_new(json, "nanoseconds", pelt_json_number(time));
    if (!failed && !isnan(time)) return view_json(out, json, error);
    json_decref(json);
    return pelt_no_memory(error);
}

pelt_result view_make_figures(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    return view_stored(view, &skin->figures, out, measure_skin, place, error);
}
