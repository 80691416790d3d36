/* confidence.c: what a skin will say about its own errors, from a fit that has not seen some examples (confidence.h).

   The variance is that of a regression on all examples, since that is what the skin is; what it means in units of
   length comes from the blind fit and a regression on its examples. Plain blends make the same errors in poses that
   they have been fitted to as in others: what counts there is how far a pose is from rest, whatever the examples. */

#include "fit/confidence/confidence.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>

typedef struct doubting {
    pelt_fitting *f;
    const pelt_blind_fit *blind;
    pelt_arena *arena;
    pelt_doubt_model model;
    double *squares; /* [held-out example][region] */
    float *positions;
} doubting;

static pelt_result begin(void *user, pelt_error *error) {
    (void)error;
    doubting *d = user;
    pelt_doubt_regions(d->f, d->arena, &d->model);
    pelt_doubt_directions(d->arena, &d->model);
    d->squares = PELT_NEW(d->arena, d->blind->held.count * d->model.region_count, double);
    d->positions = PELT_NEW(d->arena, 3 * (size_t)d->model.vertex_count, float);
    return PELT_OK;
}

/* Mean squared errors of the blind skin, by region. */
static pelt_result measure_regions(doubting *d, const pelt_skin *skin, pelt_error *error) {
    const pelt_doubt_model *m = &d->model;
    pelt_player *player = pelt_player_new(skin, d->blind->bundle, error);
    if (!player) return error->code;
    for (size_t e = 0; e < d->blind->held.count; e++) {
        const pelt_example *example = &d->blind->held.list[e];
        const float *truth = example->clip->positions + 3 * (size_t)m->vertex_count * example->frame;
        double *squares = d->squares + e * m->region_count;
        pelt_player_frame(player, example->clip, example->frame, d->positions, NULL);
        for (uint32_t v = 0; v < m->vertex_count; v++)
            for (size_t c = 3 * (size_t)v; c < 3 * (size_t)v + 3; c++)
                squares[m->vertices[v]] += pow((double)d->positions[c] - truth[c], 2);
        for (uint32_t r = 0; r < m->region_count; r++)
            squares[r] *= d->blind->scale * d->blind->scale / m->regions[r].vertex_count;
    }
    pelt_player_free(player);
    return PELT_OK;
}

static pelt_result measure_blind(doubting *d, pelt_error *error) {
    pelt_bytes *bytes = pelt_lay_out(d->blind->arrangement, &(pelt_account){.about = "{}"}, error);
    pelt_skin skin;
    if (!bytes) return error->code;
    pelt_result result = pelt_open(bytes->bytes, bytes->size, &skin);
    if (result)
        pelt_fail(error, result, "the fitted skin cannot be opened: %s", pelt_result_text(result));
    else
        result = measure_regions(d, &skin, error);
    pelt_bytes_free(bytes);
    return result;
}

static uint32_t moving_inputs(const pelt_doubt_model *m, const double *numbers) {
    const double still = 1e-3;
    uint32_t moving = 0;
    for (uint32_t i = 0; i < m->input_count; i++) moving += pelt_length(numbers + 3 * (size_t)i) > still;
    return moving;
}

/* A spine that bends alone counts as several joints: such examples vary more than poses of a whole body, which makes
   margins wider, and unseen motion stays within them more often. */
static bool *find_several(pelt_arena *arena, const pelt_doubt_model *m, const double *numbers, size_t count) {
    bool *several = PELT_NEW(arena, count, bool);
    for (size_t e = 0; e < count; e++) several[e] = moving_inputs(m, numbers + e * 3 * m->input_count) > 1;
    return several;
}

static pelt_result finish(void *user, pelt_error *error) {
    (void)error;
    doubting *d = user;
    pelt_doubt_model *m = &d->model;
    pelt_examples kept = d->blind->kept, held = d->blind->held, all = d->f->examples;
    bool plain = d->f->options.corrective == PELT_CORRECTIVE_NONE;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(d->arena);
    pelt_doubt_fold(d->arena, m, pelt_doubt_numbers(d->f, work, m, kept), plain ? 0 : kept.count);
    const double *numbers = pelt_doubt_numbers(d->f, work, m, held);
    const bool *several = find_several(work, m, numbers, held.count);
    pelt_doubt_calibrate(work, m,
                         &(pelt_doubt_errors){.count = held.count,
                                              .squares = d->squares,
                                              .variances = pelt_doubt_variances(work, m, numbers, held.count),
                                              .several = several});
    pelt_doubt_fold(d->arena, m, pelt_doubt_numbers(d->f, work, m, all), plain ? 0 : all.count);
    return PELT_OK;
}

pelt_bytes *pelt_fit_confidence(pelt_fitting *f, const pelt_blind_fit *blind, pelt_error *error) {
    f->report.confidence.frames = (uint32_t)blind->held.count;
    if (blind->held.count < PELT_LEAST_HELD) return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    doubting d = {.f = f, .blind = blind, .arena = arena};
    if (!arena) return pelt_no_memory(error), NULL;
    if (pelt_stage(arena, begin, &d, error) || measure_blind(&d, error) || pelt_stage(arena, finish, &d, error))
        return NULL;
    f->report.confidence.frames = d.model.frame_count;
    if (d.model.frame_count < PELT_LEAST_HELD) return NULL;
    f->report.confidence = (pelt_confidence_findings){.regions = d.model.region_count,
                                                      .frames = d.model.frame_count,
                                                      .correlation = d.model.correlation,
                                                      .median = d.model.median};
    return pelt_pack_confidence(&d.model, error);
}
