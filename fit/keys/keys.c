/* keys.c: training of key points, in order: the subspace of the frames, the keys, the map from keys to coordinates,
   and, from trials on left-out frames, its regularisation, the expected error and the bounds of the soft cache. */

#include "fit/keys/model.h"
#include "rig/linear.h"
#include "rig/json.h"
#include "runtime/half.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double quick_look = 0.1; /* of a fold's frames, to compare ridges */
static const double as_good = 1.1;    /* a stronger ridge may err by this factor more */
/* Keys that a bound on the error may ask for, and directions beyond those of the keys, which their errors are known by. */
enum { MOST_KEYS = 250, SPARE = 64 };

/* -- Frames that represent a previous training
   ---------------------------------------------------------------------- */

/* Retraining: two frames for each vector of the previous basis, mean +- sqrt(basis) standard deviations along it.
   Weighted by the previous number of frames, they have the mean and covariance of the previous training. */
typedef struct remembered {
    const pelt_keys *keys;
    const pelt_frames *fresh;
    pelt_frames all;
} remembered;

static void remembered_frame(const remembered *r, uint32_t index, float *values) {
    const pelt_keys *keys = r->keys;
    uint32_t vector = index / 2;
    size_t columns = keys->shared ? keys->component_count : 1;
    float step = (index % 2 ? -1 : 1) * sqrtf((float)keys->basis_count) * keys->diagonal;
    for (size_t row = 0; row < keys->row_count; row++) {
        size_t block = row / PELT_BLOCK, at = (block * keys->basis_count + vector) * PELT_BLOCK + row % PELT_BLOCK;
        float a = keys->half ? pelt_half_value(((const uint16_t *)keys->basis)[at]) : ((const float *)keys->basis)[at];
        for (size_t c = 0; c < columns; c++) values[row * columns + c] = keys->mean[row] + step * a;
    }
}

static pelt_result read_remembered(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const remembered *r = user;
    size_t frame = (size_t)r->all.point_count * r->all.component_count;
    uint32_t old = 2 * r->keys->basis_count;
    for (; count && first < old; first++, count--, values += frame) remembered_frame(r, first, values);
    return count ? r->fresh->read(r->fresh->user, first - old, count, values, error) : PELT_OK;
}

/* Nobody knows the controls of the old frames: they are put in the middle of their ranges. NULL if the ranges are not
   known, or those of other controls. */
static float *remembered_controls(pelt_arena *arena, const pelt_frames *frames, const pelt_keys *keys, uint32_t old) {
    size_t each = frames->control_count;
    if (!frames->controls || !each || keys->control_count != each) return NULL;
    float *controls = PELT_NEW(arena, (old + (size_t)frames->frame_count) * each, float);
    for (size_t i = 0; i < old * each; i++)
        controls[i] = keys->control_ranges[i % each].low / 2 + keys->control_ranges[i % each].high / 2;
    memcpy(controls + old * each, frames->controls, frames->frame_count * each * sizeof *controls);
    return controls;
}

static void remember(pelt_arena *arena, remembered *r, const pelt_frames *frames, const pelt_keys *keys) {
    uint32_t old = 2 * keys->basis_count, count = old + frames->frame_count;
    float *weights = PELT_NEW(arena, count, float);
    uint32_t *shots = PELT_NEW(arena, count, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = i < old ? (float)keys->frame_count / (float)old : frames->weights ? frames->weights[i - old] : 1;
        shots[i] = i < old ? UINT32_MAX : frames->shots ? frames->shots[i - old] : (i - old) / 60;
    }
    *r = (remembered){.keys = keys, .fresh = frames, .all = *frames};
    r->all.frame_count = count, r->all.read = read_remembered, r->all.user = r;
    r->all.weights = weights, r->all.shots = shots;
    r->all.controls = remembered_controls(arena, frames, keys, old);
}

/* What the previous training left out is missing from those frames. It may lie in the new subspace, but nobody knows. */
static void remember_tail(pelt_keys_training *t, const pelt_keys *keys, pelt_keys_report *report) {
    double share = (double)keys->frame_count * t->columns_per_frame / t->s.weight, sum = 0;
    t->s.tail_known = keys->left_out && keys->row_count == t->s.row_count;
    for (size_t r = 0; r < t->s.row_count && t->s.tail_known; r++) {
        t->s.tail[r] += share * keys->left_out[r];
        sum += keys->left_out[r];
    }
    report->forgotten = t->s.tail_known ? sqrt(sum * t->columns_per_frame / t->point_count) / keys->diagonal : -1;
}

/* -- Setting up ---------------------------------------------------------------------------------------------------- */

/* Whole shots are left out together, round-robin; if there are too few, stretches of frames. Remembered frames are
   never left out. */
static void set_folds(pelt_keys_training *t, const pelt_frames *frames) {
    t->fold = PELT_NEW(t->arena, t->s.column_count, uint32_t);
    t->shot = PELT_NEW(t->arena, t->s.column_count, uint32_t);
    t->lone = PELT_NEW(t->arena, t->s.column_count, uint8_t);
    uint32_t shots = 0, n = frames->frame_count, stretches = 2 * PELT_FOLDS, shot = 0, lone_count = 0;
    const uint32_t *number = frames->shots;
    for (uint32_t f = 0; number && f < n; f++) shots += f == 0 || number[f] != number[f - 1];
    bool few = shots < stretches;
    for (uint32_t f = 0; f < n; f++) {
        bool begins = !few && f && number[f] != number[f - 1], ends = few || f + 1 == n || number[f] != number[f + 1];
        bool remembered_one = number && number[f] == UINT32_MAX, lone = !few && (begins || !f) && ends;
        shot = few ? (uint32_t)((uint64_t)f * stretches / n) : shot + begins;
        lone_count += lone;
        for (uint32_t c = f * t->columns_per_frame; c < (f + 1) * t->columns_per_frame; c++) {
            t->shot[c] = remembered_one ? UINT32_MAX : shot, t->lone[c] = lone;
            t->fold[c] = remembered_one ? PELT_FOLDS : shot % PELT_FOLDS;
        }
    }
    if (lone_count == n) memset(t->lone, 0, t->s.column_count); /* only poses: then they are the typical frames */
}

static pelt_result set_places(pelt_keys_training *t, const pelt_frames *frames, pelt_error *error) {
    const pelt_keys_options *o = t->options;
    t->positions = o->positions;
    if (!t->positions && frames->component_count == 3 && t->s.each == 3 && !o->uncentred) {
        float *mean = PELT_NEW(t->arena, t->s.row_count, float);
        for (size_t r = 0; r < t->s.row_count; r++) mean[r] = (float)t->s.mean[r];
        t->positions = mean;
    }
    t->diagonal = o->diagonal > 0 ? o->diagonal : t->positions ? pelt_diagonal(t->positions, t->point_count) : 0;
    if (!(t->diagonal > 0)) { /* no positions: use the size of the values themselves */
        double square = 0;
        for (size_t m = 0; m < t->s.rank; m++) square += t->s.values[m] * t->s.values[m] / t->s.weight;
        t->diagonal = sqrt(square / t->point_count);
    }
    if (!(t->diagonal > 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: all values are 0; there is nothing to train on",
                         pelt_frames_name(frames));
    return PELT_OK;
}

/* -- Trials -------------------------------------------------------------------------------------------------------- */

static pelt_result error_by_shots(const pelt_keys_training *t, const pelt_map *map, double *p995, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    pelt_trials trials = {0};
    pelt_result result = pelt_try_shots(t, map, quick_look, work, &trials, error);
    if (!result) *p995 = pelt_trial_quantile(work, &trials, 0.995);
    return result;
}

/* The strongest regularisation whose error on left-out frames is within a tenth of the smallest. */
static pelt_result choose_ridge(const pelt_keys_training *t, pelt_map *map, double *p995, pelt_error *error) {
    static const double tried[] = {1e-4, 1e-5, 1e-6};
    double found[3], best = INFINITY;
    for (int i = 0; i < 3; i++) {
        map->ridge = tried[i];
        pelt_result result = error_by_shots(t, map, &found[i], error);
        if (result) return result;
        best = fmin(best, found[i]);
    }
    int chosen = 0;
    while (chosen < 2 && found[chosen] > as_good * best) chosen++;
    map->ridge = tried[chosen];
    *p995 = found[chosen];
    return PELT_OK;
}

/* -- The model ----------------------------------------------------------------------------------------------------- */

static pelt_result choose(pelt_keys_training *t, pelt_keys_model *m, pelt_map *map, uint32_t count, double *p995,
                          pelt_error *error) {
    bool paper = t->options->recipe == PELT_KEYS_PAPER, given = t->options->ridge > 0;
    m->keys = PELT_NEW(t->arena, count, uint32_t);
    pelt_result result = pelt_choose_keys(t, count, m->keys, &count, error);
    m->key_count = count;
    m->basis = pelt_keys_basis(t, count);
    *map = (pelt_map){m->keys, count, m->basis, paper ? 0 : t->options->ridge};
    if (result) return result;
    return paper || given ? error_by_shots(t, map, p995, error) : choose_ridge(t, map, p995, error);
}

/* The fewest keys that meet the bound, trying from few to many. */
static pelt_result choose_by_error(pelt_keys_training *t, pelt_keys_model *m, pelt_map *map, pelt_keys_report *report,
                                   pelt_error *error) {
    static const uint32_t counts[PELT_KEYS_CURVE] = {25, 40, 60, 85, 120, 170, 250, 350};
    const pelt_keys_options *o = t->options;
    uint32_t tried = 0, least = o->previous && o->previous->key_count > o->fiducial_count ? o->previous->key_count
                                                                                          : o->fiducial_count;
    for (int i = 0; i < PELT_KEYS_CURVE; i++) {
        uint32_t count = counts[i] > least ? counts[i] : least;
        if (count > t->candidates) count = t->candidates;
        if (tried && report->curve_keys[tried - 1] == count) continue;
        pelt_result result = choose(t, m, map, count, &report->error_p995, error);
        if (result) return result;
        report->curve_keys[tried] = count, report->curve_error[tried++] = report->error_p995;
        if (report->error_p995 <= o->error) return PELT_OK;
    }
    return pelt_fail(error, PELT_ERROR_DATA,
                     "no number of keys up to %u brings the error below %.3g%% of the diagonal in 99.5%% of the "
                     "held-out frames (the best was %.3g%%); train on more frames, or allow a larger error",
                     m->key_count, 100 * o->error, 100 * report->error_p995);
}

/* The error with only the first keys: fewer keys, same order. */
static pelt_result measure_curve(const pelt_keys_training *t, const pelt_map *map, pelt_keys_report *report,
                                 pelt_error *error) {
    static const double parts[] = {0.2, 0.4, 0.6, 0.8, 1};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        pelt_map part = *map;
        part.key_count = (uint32_t)ceil(parts[i] * map->key_count);
        part.basis = pelt_keys_basis(t, part.key_count);
        report->curve_keys[i] = part.key_count;
        report->curve_error[i] = report->error_p995;
        pelt_result result =
            part.key_count < map->key_count ? error_by_shots(t, &part, &report->curve_error[i], error) : PELT_OK;
        if (result) return result;
    }
    return PELT_OK;
}

/* -- Training ------------------------------------------------------------------------------------------------------ */

/* Input and output of the stage. */
typedef struct training {
    pelt_keys_training t;
    const pelt_frames *frames;
    pelt_keys_report *report;
    pelt_keys keys; /* in run-time form; in the arena */
} training;

static pelt_result find_model(training *g, const pelt_frames *frames, pelt_columns *columns, pelt_keys_model *model,
                              pelt_error *error) {
    pelt_keys_training *t = &g->t;
    const pelt_keys_options *o = t->options;
    pelt_map map;
    uint32_t most = o->error > 0 ? MOST_KEYS : o->keys, each = o->shared ? 1 : frames->component_count;
    uint32_t rank = most * each + SPARE > o->basis ? most * each + SPARE : o->basis;
    pelt_result result =
        pelt_subspace_find(t->arena, columns, rank, !o->uncentred, o->seed, &o->progress, &t->s, error);
    if (result) return result;
    if (o->previous) remember_tail(t, o->previous, g->report);
    set_folds(t, frames);
    result = set_places(t, frames, error);
    if (!result && o->error > 0) result = choose_by_error(t, model, &map, g->report, error);
    if (!result && !(o->error > 0)) {
        result = choose(t, model, &map, most, &g->report->error_p995, error);
        if (!result) result = measure_curve(t, &map, g->report, error);
    }
    if (!result) result = pelt_keys_finish(model, &map, frames, g->report, error);
    if (!result) g->report->ridge = map.ridge;
    if (!result) result = pelt_keys_rehearse(t, model, &map, frames, columns, g->report, error);
    if (!result && t->gap > 0) result = pelt_keys_witnesses(model, error);
    return result;
}

static pelt_result train(void *user, pelt_error *error) {
    training *g = user;
    const pelt_keys_options *o = g->t.options;
    const pelt_frames *frames = g->frames;
    remembered memory;
    if (o->previous) remember(g->t.arena, &memory, frames, o->previous), frames = &memory.all;
    pelt_columns *columns;
    pelt_keys_model model = {.t = &g->t, .component_count = frames->component_count};
    pelt_result result = pelt_columns_open(g->t.arena, frames, o->shared, o->memory, &columns, error);
    if (!result) result = find_model(g, frames, columns, &model, error);
    if (result) return result;
    double weight = g->t.s.weight / g->t.columns_per_frame;
    model.frame_count = weight < UINT32_MAX ? (uint32_t)(weight + 0.5) : UINT32_MAX;
    g->report->frames = model.frame_count, g->report->keys = model.key_count, g->report->basis = model.basis;
    g->report->regions = model.region_count, g->report->witnesses = model.witness_count;
    g->report->witnesses_each_frame = model.witness_rule ? model.witness_rule->each_frame : 0;
    return pelt_keys_form(&model, &g->keys, error);
}

/* The file's JSON description; NULL when out of memory. */
static json_t *describe(const pelt_keys_options *o, const pelt_keys_report *r) {
    json_t *curve = json_array();
    for (int i = 0; i < PELT_KEYS_CURVE && r->curve_keys[i]; i++)
        curve = pelt_json_append(curve, pelt_json_pack("[u f]", r->curve_keys[i], r->curve_error[i]));
    return pelt_json_pack(
        "{made_by:s, recipe:s, frames:u, keys:u, basis:u, regions:u, witnesses:u, witnesses_each_frame:u, ridge:f, "
        "error_p995:f, hit_rate:f, bad_caught:f, by_controls:b, error_by_keys:o}",
        "pelt " PELT_VERSION, pelt_keys_recipe_name(o->recipe), r->frames, r->keys, r->basis, r->regions, r->witnesses,
        r->witnesses_each_frame, r->ridge, isfinite(r->error_p995) ? r->error_p995 : -1, r->hit_rate, r->bad_caught,
        (int)r->by_controls, curve);
}

/* Asks the caller for its description, and adds the part for people. */
static pelt_result add_words(const pelt_keys_options *o, const pelt_keys *keys, pelt_keys_words *words, json_t *about,
                             pelt_error *error) {
    pelt_error told = {0};
    pelt_result result = o->describe ? o->describe(o->describe_user, keys, words, &told) : PELT_OK;
    if (result) pelt_fail(error, result, "%s", *told.text ? told.text : "describe: the function failed");
    json_t *more = !result && words->text ? json_loads(words->text, 0, NULL) : NULL;
    if (words->text && !result && json_object_update(about, more))
        result = pelt_fail_option(error, "describe", "expected a JSON object, not \"%.40s\"", words->text);
    json_decref(more);
    return result;
}

/* Without held-out frames the error is infinite, and omitted. */
static uint32_t make_curve(const pelt_keys_report *r, pelt_keys_error curve[PELT_KEYS_CURVE]) {
    uint32_t count = 0;
    for (int i = 0; i < PELT_KEYS_CURVE && r->curve_keys[i]; i++)
        if (isfinite((float)r->curve_error[i]))
            curve[count++] = (pelt_keys_error){r->curve_keys[i], (float)r->curve_error[i]};
    return count;
}

static pelt_bytes *pack(const training *g, pelt_error *error) {
    const pelt_keys_options *o = g->t.options;
    pelt_keys_error curve[PELT_KEYS_CURVE];
    pelt_keys_words words = {0};
    json_t *about = describe(o, g->report);
    pelt_bytes *bytes = NULL;
    pelt_result result = about ? add_words(o, &g->keys, &words, about, error) : pelt_no_memory(error);
    char *text = result ? NULL : pelt_json_dump(about, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text) {
        pelt_keys keys = g->keys;
        keys.curve_count = make_curve(g->report, curve), keys.curve = keys.curve_count ? curve : NULL;
        keys.user_size = words.data ? words.size : 0, keys.user_data = keys.user_size ? words.data : NULL;
        keys.about = text, keys.about_size = (uint32_t)strlen(text);
        bytes = pelt_keys_pack(&keys, error);
    } else if (!result) {
        pelt_no_memory(error);
    }
    json_decref(about);
    free(text), free(words.text), free(words.data);
    return bytes;
}

pelt_bytes *pelt_keys_train(const pelt_frames *frames, const pelt_keys_options *given, pelt_keys_report *report,
                            pelt_error *error) {
    pelt_keys_options options = given ? *given : (pelt_keys_options){0};
    pelt_keys_report own;
    if (!report) report = &own;
    *report = (pelt_keys_report){0};
    if (PELT_MISSING(frames, error) || pelt_keys_resolve(frames, &options, error)) return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    training g = {.t = {.options = &options,
                        .arena = arena,
                        .columns_per_frame = options.shared ? frames->component_count : 1,
                        .point_count = frames->point_count,
                        .candidates = options.engine_points},
                  .frames = frames,
                  .report = report};
    return pelt_stage(arena, train, &g, error) ? NULL : pack(&g, error);
}
