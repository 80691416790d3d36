/* figures.c: the error of a skin on a clip, in total, per frame and per vertex, and its time per vertex. */

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

static pelt_result ended(const pelt_view *view, pelt_error *error) {
    return atomic_load(&view->stop) ? pelt_fail(error, PELT_ERROR_CANCELLED, "pelt view is ending")
                                    : pelt_no_memory(error);
}

/* A skin along a clip: `call` gets the positions and the truth of every frame. */
typedef void (*frame_call)(void *user, const float *positions, const float *truth, uint32_t vertex_count);

static pelt_result play_clip(pelt_view *view, view_place place, frame_call call, void *user, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    const pelt_bundle *bundle = view->characters[place.numbers[0]]->bundle;
    const pelt_clip *clip = bundle->clips[place.numbers[2]];
    size_t row = 3 * (size_t)bundle->mesh.vertex_count;
    pelt_error own;
    if (!error) error = &own;
    pelt_player *player = pelt_player_new(&skin->skin, bundle, error);
    if (!player) return error->code;
    float *positions = malloc(row * sizeof *positions);
    uint32_t f = 0;
    for (; positions && f < clip->frame_count && !atomic_load(&view->stop); f++) {
        pelt_player_frame(player, clip, f, positions, NULL);
        call(user, positions, clip->positions + f * row, bundle->mesh.vertex_count);
    }
    pelt_player_free(player);
    bool whole = positions && f == clip->frame_count;
    free(positions);
    return whole ? PELT_OK : ended(view, error);
}

typedef struct frame_lists {
    json_t *rms, *max, *worst;
} frame_lists;

static void list_frame(void *user, const float *positions, const float *truth, uint32_t vertex_count) {
    frame_lists *lists = user;
    frame_error e = error_of(positions, truth, vertex_count);
    lists->rms = pelt_json_append(lists->rms, pelt_json_number(e.rms));
    lists->max = pelt_json_append(lists->max, pelt_json_number(e.max));
    lists->worst = pelt_json_append(lists->worst, json_integer(e.worst));
}

static pelt_result measure_frames(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    frame_lists lists = {json_array(), json_array(), json_array()};
    pelt_result result = play_clip(view, place, list_frame, &lists, error);
    json_t *object = pelt_json_pack("{rms:o, max:o, worst_vertex:o}", lists.rms, lists.max, lists.worst);
    if (!result) return view_json(out, object, error);
    json_decref(object);
    return result;
}

pelt_result view_make_errors(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (!skin) return view_absent(error);
    return view_stored(view, &skin->errors[place.numbers[2]], out, measure_frames, place, error);
}

/* -- Vertex by vertex -------------------------------------------------------------------------------------------- */

typedef struct vertex_sums {
    double *squares;
    uint32_t frame_count;
} vertex_sums;

static void add_frame(void *user, const float *positions, const float *truth, uint32_t vertex_count) {
    vertex_sums *sums = user;
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++) {
        double d = (double)positions[i] - truth[i];
        sums->squares[i / 3] += d * d;
    }
    sums->frame_count++;
}

pelt_result view_make_vertices(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    if (!view_skin_at(view, place.numbers[0], place.numbers[1])) return view_absent(error);
    uint32_t n = view->characters[place.numbers[0]]->bundle->mesh.vertex_count;
    vertex_sums sums = {calloc(n + 1, sizeof *sums.squares), 0};
    pelt_result result = sums.squares ? play_clip(view, place, add_frame, &sums, error) : pelt_no_memory(error);
    float *rms = result ? NULL : view_bytes(out, n * sizeof *rms, "application/octet-stream", error);
    for (uint32_t v = 0; rms && v < n; v++) rms[v] = (float)sqrt(sums.squares[v] / fmax(sums.frame_count, 1));
    free(sums.squares);
    return result ? result : rms ? PELT_OK : PELT_ERROR_MEMORY;
}

/* -- In total ---------------------------------------------------------------------------------------------------- */

static json_t *known(double value) { return value < 0 ? json_null() : pelt_json_number(value); }

json_t *view_measure_json(const pelt_fact_measure *m) {
    return pelt_json_pack("{rel_err:o, rms:o, max:o, roughness:o, normals:o, frames:u}", known(m->rel_err),
                          known(m->rms), known(m->max), known(m->roughness), known(m->normal_rms_degrees),
                          m->frame_count);
}

/* The frames of a clip that count, as for `pelt measure`; from malloc. */
static pelt_examples examples_of(const pelt_clip *clip) {
    pelt_examples all = {.list = calloc(clip->frame_count + 1, sizeof *all.list)};
    for (uint32_t f = 0; all.list && f < clip->frame_count; f++)
        if (!clip->example_weights || clip->example_weights[f] != 0)
            all.list[all.count++] = (pelt_example){.clip = clip, .frame = f};
    return all;
}

static pelt_result measure_clip(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view->characters[place.numbers[0]];
    const view_skin *skin = c->skins[place.numbers[1]];
    pelt_examples examples = examples_of(c->bundle->clips[place.numbers[2]]);
    pelt_progress progress = view_progress(view);
    pelt_error own;
    if (!error) error = &own;
    pelt_result result = examples.list ? PELT_OK : pelt_no_memory(error);
    pelt_measure *m =
        result ? NULL : pelt_measure_watched(&skin->skin, c->bundle, examples, view->options.threads, &progress, error);
    if (!result && !m) result = error->code;
    if (result == PELT_ERROR_CANCELLED) result = ended(view, error);
    pelt_fact_measure figures = pelt_measure_facts(m);
    pelt_measure_free(m);
    free(examples.list);
    return result ? result : view_json(out, view_measure_json(&figures), error);
}

pelt_result view_make_measure(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (!skin) return view_absent(error);
    return view_stored(view, &skin->measures[place.numbers[2]], out, measure_clip, place, error);
}

/* -- Speed ------------------------------------------------------------------------------------------------------- */

static pelt_result time_skin(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view->characters[place.numbers[0]];
    const pelt_bundle *bundle = c->bundle;
    pelt_frame_times t = pelt_time_frames(&c->skins[place.numbers[1]]->skin, bundle ? &bundle->skeleton : NULL,
                                          bundle && bundle->clip_count ? bundle->clips[0] : NULL);
    if (!t.count) return pelt_no_memory(error);
    return view_json(out,
                     pelt_json_pack("{nanoseconds:f, nanoseconds_low:f, nanoseconds_high:f, timed_frames:u}", t.median,
                                    t.low, t.high, t.count),
                     error);
}

pelt_result view_make_figures(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (!skin) return view_absent(error);
    return view_stored(view, &skin->figures, out, time_skin, place, error);
}
