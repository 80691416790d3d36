/* rehearsal.c: the forecast of training about itself.

   Frames that are left out after the keys were chosen look too easy: the keys were put where these frames needed them.
   So parts of the frames are left out first, then everything is done as in training: the subspace, the keys, the maps,
   bounds and witnesses; and the real soft cache plays what was left out. Left out are whole shots, and frames in which
   some control is active: a clip that nobody trained on has both, other shots and other controls.

   An eighth of the shots is left out at a time: a training without a quarter of them knows clearly less than the whole
   one, and forecasts too few hits.

   The next clip will be other shots again, of which some are easy and some are not. So a forecast is a range: what
   becomes of ten shots at a time, drawn from those played. */

#include "fit/keys/model.h"
#include "rig/linear.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

enum { BY_SHOTS = 8, BY_CONTROLS = 2, MOST_REHEARSALS = BY_SHOTS + BY_CONTROLS };
enum { DRAWS = 1000, SHOTS_OF_A_CLIP = 10, CONTROLS_TURN = 4, MOST_PAIRS = 4 };

static const double noise = 1e-7; /* of the largest singular value: directions below are dropped */
static const float usual_step = 0.0008f;
static const double may_be_trusted = 0.01; /* of the bad frames */

/* -- Leaving out --------------------------------------------------------------------------------------------------- */

/* The frames of a training that are kept, and those that are played. */
typedef struct parting {
    uint32_t *kept, kept_count;     /* frames */
    uint32_t *played, played_count; /* left out, and not isolated poses */
} parting;

static parting part_frames(const pelt_keys_training *t, const uint32_t *fold, uint32_t left_out, uint32_t frame_count,
                           pelt_arena *arena) {
    parting p = {PELT_NEW(arena, frame_count, uint32_t), 0, PELT_NEW(arena, frame_count, uint32_t), 0};
    for (uint32_t f = 0; f < frame_count; f++) {
        size_t column = (size_t)f * t->columns_per_frame;
        if (fold[column] != left_out)
            p.kept[p.kept_count++] = f;
        else if (!t->lone[column])
            p.played[p.played_count++] = f;
    }
    return p;
}

/* Coordinates of the kept columns, minus their mean unless frames are not centred: [columns][rank]. */
static double *kept_coordinates(const pelt_keys_training *t, const parting *p, pelt_subspace *s, pelt_arena *arena) {
    size_t rank = t->s.rank, per = t->columns_per_frame;
    double *out = PELT_NEW(arena, s->column_count * rank, double), *mean = PELT_NEW(arena, rank, double);
    for (size_t c = 0; c < s->column_count; c++) {
        size_t from = p->kept[c / per] * per + c % per;
        s->weights[c] = t->s.weights[from], s->weight += s->weights[c];
        memcpy(out + c * rank, t->s.coordinates + from * rank, rank * sizeof *out);
        for (size_t m = 0; m < rank; m++) mean[m] += s->weights[c] * out[c * rank + m];
    }
    if (t->options->uncentred) return out;
    for (size_t m = 0; m < rank; m++) mean[m] /= s->weight;
    for (size_t i = 0; i < s->column_count * rank; i++) out[i] -= mean[i % rank];
    pelt_gemm(false, false, s->row_count, 1, rank, 1, t->s.vectors, mean, 1, s->mean);
    return out;
}

/* The subspace of the kept frames: within that of all, whose coordinates are turned to their own leading directions. */
static bool keep_subspace(const pelt_keys_training *t, const parting *p, pelt_arena *arena, pelt_subspace *s) {
    size_t rank = t->s.rank, rows = t->s.row_count;
    *s = t->s;
    s->column_count = p->kept_count * t->columns_per_frame, s->weight = 0;
    s->mean = PELT_NEW(arena, rows, double), s->weights = PELT_NEW(arena, s->column_count, double);
    memcpy(s->mean, t->s.mean, rows * sizeof *s->mean);
    double *b = kept_coordinates(t, p, s, arena), *weighted = PELT_NEW(arena, s->column_count * rank, double),
           *gram = PELT_NEW(arena, rank * rank, double), *values = PELT_NEW(arena, rank, double);
    for (size_t i = 0; i < s->column_count * rank; i++) weighted[i] = sqrt(s->weights[i / rank]) * b[i];
    pelt_gemm(true, false, rank, rank, s->column_count, 1, weighted, weighted, 0, gram);
    if (!pelt_eigen(rank, gram, values) || !(values[rank - 1] > 0)) return false;
    s->values = PELT_NEW(arena, rank, double);
    for (s->rank = 0; s->rank < rank && s->rank < s->column_count; s->rank++) {
        double value = values[rank - 1 - s->rank];
        if (!(value > noise * noise * values[rank - 1])) break;
        s->values[s->rank] = sqrt(value);
    }
    double *turned = PELT_NEW(arena, rank * s->rank, double);
    for (size_t i = 0; i < rank; i++)
        for (size_t m = 0; m < s->rank; m++) turned[i * s->rank + m] = gram[i * rank + rank - 1 - m];
    s->vectors = PELT_NEW(arena, rows * s->rank, double);
    s->coordinates = PELT_NEW(arena, s->column_count * s->rank, double);
    pelt_gemm(false, false, rows, s->rank, rank, 1, t->s.vectors, turned, 0, s->vectors);
    pelt_gemm(false, false, s->column_count, s->rank, rank, 1, b, turned, 0, s->coordinates);
    return true;
}

/* What training would know of the kept frames. */
static bool keep_training(const pelt_keys_training *t, const parting *p, pelt_arena *arena, pelt_keys_training *out) {
    *out = *t;
    out->arena = arena;
    if (!keep_subspace(t, p, arena, &out->s)) return false;
    size_t per = t->columns_per_frame;
    out->fold = PELT_NEW(arena, out->s.column_count, uint32_t);
    out->lone = PELT_NEW(arena, out->s.column_count, uint8_t);
    for (size_t c = 0; c < out->s.column_count; c++) {
        out->fold[c] = t->fold[p->kept[c / per] * per];
        out->lone[c] = t->lone[p->kept[c / per] * per];
    }
    return true;
}

/* Controls, weights and shots of some frames. */
static pelt_frames some_frames(const pelt_frames *all, const uint32_t *which, uint32_t count, pelt_arena *arena) {
    pelt_frames out = *all;
    size_t each = all->control_count;
    float *controls = all->controls ? PELT_NEW(arena, count * each, float) : NULL,
          *weights = all->weights ? PELT_NEW(arena, count, float) : NULL;
    uint32_t *shots = PELT_NEW(arena, count, uint32_t);
    for (uint32_t i = 0, shot = 0; i < count; i++) {
        uint32_t f = which[i];
        bool follows = i && which[i - 1] + 1 == f && (!all->shots || all->shots[f] == all->shots[f - 1]);
        shot += !follows;
        shots[i] = all->shots && all->shots[f] == UINT32_MAX ? UINT32_MAX : shot;
        if (controls) memcpy(controls + i * each, all->controls + f * each, each * sizeof *controls);
        if (weights) weights[i] = all->weights[f];
    }
    out.frame_count = count, out.controls = controls, out.weights = weights, out.shots = shots;
    return out;
}

/* -- Playing ------------------------------------------------------------------------------------------------------- */

/* Frames that the soft cache played, of all rehearsals. */
typedef struct played {
    uint32_t count, shot_count;
    uint32_t *first; /* [shot_count + 1] */
    uint8_t *hit;
    float *error, *evaluated;
} played;

typedef struct left_frames {
    const pelt_columns *columns;
    const uint32_t *frames;
} left_frames;

static pelt_result read_left(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const left_frames *l = user;
    (void)count; /* they are measured one by one */
    return pelt_columns_frame(l->columns, l->frames[first], values, error);
}

static void add_played(const pelt_keys_measure *m, played *out, pelt_keys_forecast *forecast) {
    for (uint32_t f = 0; f < m->frame_count; f++) {
        const pelt_keys_frame *k = &m->frames[f];
        if (!f || k->shot != m->frames[f - 1].shot) out->first[out->shot_count++] = out->count;
        out->hit[out->count] = k->verdict == PELT_CACHE_HIT;
        out->error[out->count] = k->error, out->evaluated[out->count++] = (float)k->evaluated;
    }
    out->first[out->shot_count] = out->count;
    forecast->bad_frames += m->bad_frames, forecast->missed_bad += m->missed_bad;
}

/* Plays frames through the soft cache, with narrower and narrower gaps between witnesses until hardly any bad frame is
   trusted. *gap is the one in the end. */
static pelt_result play(pelt_keys_model *m, pelt_keys_training *t, const pelt_frames *left, double *gap, played *out,
                        pelt_keys_forecast *forecast, pelt_error *error) {
    pelt_keys_measure_options options = {.soft_cache = {.step = usual_step}, .bar = t->options->bar};
    for (;;) {
        pelt_keys keys;
        pelt_result result = pelt_keys_form(m, &keys, error);
        if (result) return result;
        pelt_keys_measure *measured = pelt_keys_measure_frames(&keys, left, &options, error);
        if (!measured) return PELT_ERROR_DATA;
        bool enough = measured->missed_bad <= may_be_trusted * measured->bad_frames || !m->witness_count ||
                      !pelt_keys_narrow_gap(t);
        if (enough) add_played(measured, out, forecast), forecast->rehearsals++;
        pelt_keys_measure_free(measured);
        *gap = t->gap;
        if (enough) return PELT_OK;
        result = pelt_keys_witnesses(m, error);
        if (result) return result;
    }
}

/* Trains on the frames outside of a fold, and plays those inside. */
static pelt_result rehearse(const pelt_keys_model *whole, const pelt_map *map, const pelt_frames *frames,
                            const pelt_columns *columns, const uint32_t *fold, uint32_t left_out, double *gap,
                            played *out, pelt_keys_forecast *forecast, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(whole->t->arena);
    parting parts = part_frames(whole->t, fold, left_out, frames->frame_count, work);
    pelt_keys_training t;
    if (!parts.played_count || parts.kept_count < 2 || !keep_training(whole->t, &parts, work, &t)) return PELT_OK;
    pelt_keys_model m = {.t = &t, .component_count = whole->component_count, .frame_count = parts.kept_count};
    pelt_frames kept = some_frames(frames, parts.kept, parts.kept_count, work);
    pelt_keys_report report = {0};
    m.keys = PELT_NEW(work, map->key_count, uint32_t);
    pelt_result result = pelt_choose_keys(&t, map->key_count, m.keys, &m.key_count, error);
    m.basis = pelt_keys_basis(&t, m.key_count);
    pelt_map own = {m.keys, m.key_count, m.basis, map->ridge};
    if (!result) result = pelt_keys_finish(&m, &own, &kept, &report, error);
    left_frames source = {columns, parts.played};
    pelt_frames left = some_frames(frames, parts.played, parts.played_count, work);
    left.read = read_left, left.user = &source, left.weights = NULL;
    return result ? result : play(&m, &t, &left, gap, out, forecast, error);
}

/* -- The forecast -------------------------------------------------------------------------------------------------- */

/* Above 0, below 1. */
static double draw_uniform(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*random >> 33) + 0.5) / 2147483648.0;
}

static double draw_normal(uint64_t *random) {
    double length = sqrt(-2 * log(draw_uniform(random)));
    return length * cos(2 * M_PI * draw_uniform(random));
}

/* The shots played are a sample themselves: how common each kind is among all shots is only known as far as they tell.
   So every clip is drawn with other weights (a Bayesian bootstrap). */
static void draw_weights(uint64_t *random, double *weights, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) weights[i] = -log(draw_uniform(random));
}

static uint32_t draw_one(uint64_t *random, const double *weights, uint32_t count) {
    double sum = 0;
    uint32_t i = 0;
    for (uint32_t k = 0; k < count; k++) sum += weights[k];
    for (sum *= draw_uniform(random); i + 1 < count && sum >= weights[i]; i++) sum -= weights[i];
    return i;
}

/* The middle, and what 9 in 10 are within. */
static pelt_forecast range_of(double *draws) {
    return (pelt_forecast){pelt_quantile(draws, DRAWS, 0.5), pelt_quantile(draws, DRAWS, 0.05),
                           pelt_quantile(draws, DRAWS, 0.95)};
}

/* Shots of one kind: those left out as shots, or those left out by controls. */
typedef struct pool {
    uint32_t first, count;
    double *weights; /* [count + imagined ones] */
} pool;

/* Clips of ten shots, one in CONTROLS_TURN of which is from those left out by controls if there are some.

   Few shots say little: all may have been easy by chance, and leaving out shots of a training says less about that
   training than about others like it, since one whose shots are hard to do without has learnt more from them. So to the
   shots played pairs are added that nobody has seen, one all hits and one without (Laplace's rule of succession): one
   pair, and more where the shots disagree. */
static uint32_t imagined_pairs(const played *p, uint32_t count) {
    static const double for_disagreement = 12; /* pairs for a variance of 1; that of hits or none is 1/4 */
    double sum = 0, squares = 0;
    for (uint32_t s = 0; s < count; s++) {
        double hits = 0, frames = p->first[s + 1] - p->first[s];
        for (uint32_t f = p->first[s]; f < p->first[s + 1]; f++) hits += p->hit[f];
        sum += hits / frames, squares += hits / frames * hits / frames;
    }
    double variance = count > 1 ? fmax(0, squares - sum * sum / count) / (count - 1) : 0;
    return 1 + (uint32_t)fmin(for_disagreement * variance + 0.5, MOST_PAIRS - 1);
}

static void draw_clips(const played *p, uint32_t by_controls, uint64_t *random, pelt_arena *arena,
                       pelt_keys_forecast *forecast) {
    double *hits = PELT_NEW(arena, DRAWS, double), *evaluated = PELT_NEW(arena, DRAWS, double);
    bool both = by_controls && by_controls < p->shot_count;
    pool pools[2] = {{0, both ? by_controls : p->shot_count, NULL}, {by_controls, p->shot_count - by_controls, NULL}};
    uint32_t imagined = 2 * imagined_pairs(p, pools[0].count);
    for (int i = 0; i < 2; i++) pools[i].weights = PELT_NEW(arena, pools[i].count + imagined, double);
    double usual_length = (double)p->count / p->shot_count;
    for (int d = 0; d < DRAWS; d++) {
        double frames = 0, real = 0;
        for (int i = 0; i < 1 + both; i++) draw_weights(random, pools[i].weights, pools[i].count + imagined);
        for (int s = 0; s < SHOTS_OF_A_CLIP || !(real > 0); s++) {
            const pool *from = &pools[both && s % CONTROLS_TURN == CONTROLS_TURN - 1];
            uint32_t shot = draw_one(random, from->weights, from->count + imagined);
            if (shot >= from->count) {
                hits[d] += (shot - from->count) % 2 ? usual_length : 0, frames += usual_length;
                continue;
            }
            for (uint32_t f = p->first[from->first + shot]; f < p->first[from->first + shot + 1]; f++)
                hits[d] += p->hit[f], evaluated[d] += p->evaluated[f], frames++, real++;
        }
        hits[d] /= frames, evaluated[d] /= real;
    }
    forecast->hit_rate = range_of(hits), forecast->evaluated = range_of(evaluated);
}

/* 0.5% of the frames of ten shots are 5% of one shot: the worst. How bad the worst of ten others will be is not in the
   shots played: the next one is as likely worse. So the logarithms of the errors of shots, the first `count` of those
   played, are taken to be normal, and the largest of ten such numbers is drawn. */
static pelt_forecast worst_of_ten(const played *p, uint32_t count, uint64_t *random, pelt_arena *arena) {
    static const double tiny = 1e-9;
    float *list = PELT_NEW(arena, p->count, float);
    double *logs = PELT_NEW(arena, count, double), *weights = PELT_NEW(arena, count, double),
           *worst = PELT_NEW(arena, DRAWS, double);
    for (uint32_t s = 0; s < count; s++) {
        size_t frames = p->first[s + 1] - p->first[s];
        memcpy(list, p->error + p->first[s], frames * sizeof *list);
        logs[s] = log(pelt_quantile_floats(list, frames, 0.95) + tiny);
    }
    for (int d = 0; d < DRAWS; d++) {
        double sum = 0, mean = 0, square = 0, most = -INFINITY;
        draw_weights(random, weights, count);
        for (uint32_t s = 0; s < count; s++) sum += weights[s], mean += weights[s] * logs[s];
        mean /= sum;
        for (uint32_t s = 0; s < count; s++) square += weights[s] * (logs[s] - mean) * (logs[s] - mean);
        double deviation = count > 1 ? sqrt(square / sum * count / (count - 1)) : 0;
        for (int s = 0; s < SHOTS_OF_A_CLIP; s++) most = fmax(most, mean + deviation * draw_normal(random));
        worst[d] = exp(most);
    }
    return range_of(worst);
}

pelt_result pelt_keys_rehearse(pelt_keys_training *t, const pelt_keys_model *model, const pelt_map *map,
                               const pelt_frames *frames, const pelt_columns *columns, pelt_keys_report *report,
                               pelt_error *error) {
    /* Lights are no shots; and missed frames are harder than others. */
    if (t->options->shared || t->options->previous) return PELT_OK;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    size_t room = (size_t)MOST_REHEARSALS * frames->frame_count;
    played all = {.first = PELT_NEW(work, room + 1, uint32_t),
                  .hit = PELT_NEW(work, room, uint8_t),
                  .error = PELT_NEW(work, room, float),
                  .evaluated = PELT_NEW(work, room, float)};
    uint32_t *by_shots = PELT_NEW(work, t->s.column_count, uint32_t);
    for (uint32_t c = 0; c < t->s.column_count; c++)
        by_shots[c] = t->shot[c] == UINT32_MAX ? BY_SHOTS : t->shot[c] % BY_SHOTS;
    uint32_t *folds[BY_CONTROLS], groups = pelt_control_folds(t, frames, BY_CONTROLS, work, folds);
    uint32_t by_controls = 0; /* the first shot left out by controls */
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < BY_SHOTS + groups && !result; i++) {
        if (pelt_should_stop(&t->options->progress, "rehearsing", (double)i / (BY_SHOTS + groups)))
            return pelt_stopped(error);
        bool shots = i < BY_SHOTS;
        if (i == BY_SHOTS) by_controls = all.shot_count;
        result = rehearse(model, map, frames, columns, shots ? by_shots : folds[i - BY_SHOTS], shots ? i : 1, &t->gap,
                          &all, &report->forecast, error);
    }
    if (result || !all.shot_count) return result;
    uint64_t random = 0x2545f4914f6cdd1du + t->options->seed;
    draw_clips(&all, by_controls, &random, work, &report->forecast);
    report->forecast.error_p995 = worst_of_ten(&all, by_controls ? by_controls : all.shot_count, &random, work);
    report->forecast.frames = all.count;
    return PELT_OK;
}
