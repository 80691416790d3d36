/* keys.c: training of key points, in order: the subspace of the frames, the keys, the map from keys to coordinates, and
   from trials on frames left out, its regularisation, the error to expect, and the bounds of the soft cache. */

#include "fit/keys/model.h"
#include "rig/linear.h"
#include "runtime/half.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Frames that a former training stands for ---------------------------------------------------------------------- */

/* Retraining: for each vector of the former basis two frames, mean + and - sqrt(basis) standard deviations along it.
   Weighted by the former number of frames they have the mean and covariance that the former training found. */
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

static pelt_result remember(pelt_arena *arena, remembered *r, const pelt_frames *frames, const pelt_keys *keys,
                            pelt_error *error) {
    if (keys->point_count != frames->point_count || keys->component_count != frames->component_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: %u points of %u values, but the key points to retrain have %u points of %u",
                         frames->name ? frames->name : "training frames", frames->point_count, frames->component_count,
                         keys->point_count, keys->component_count);
    uint32_t old = 2 * keys->basis_count, count = old + frames->frame_count;
    float *weights = PELT_NEW(arena, count, float);
    uint32_t *shots = PELT_NEW(arena, count, uint32_t);
    if (!weights || !shots) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to train");
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = i < old ? (float)keys->frame_count / (float)old : frames->weights ? frames->weights[i - old] : 1;
        shots[i] = i < old ? UINT32_MAX : frames->shots ? frames->shots[i - old] : (i - old) / 60;
    }
    *r = (remembered){.keys = keys, .fresh = frames, .all = *frames};
    r->all.frame_count = count, r->all.read = read_remembered, r->all.user = r;
    r->all.weights = weights, r->all.shots = shots, r->all.controls = NULL;
    return PELT_OK;
}

/* -- Setting up ---------------------------------------------------------------------------------------------------- */

static pelt_result check_input(const pelt_frames *f, const pelt_keys_options *o, pelt_error *error) {
    const char *name = f->name ? f->name : "training frames";
    uint32_t candidates = o->engine_points ? o->engine_points : f->point_count;
    if (!f->frame_count || !f->point_count || !f->component_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: there are no frames to train on", name);
    if (f->component_count > 64)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u values per point; at most 64 are possible", name,
                         f->component_count);
    if (candidates > f->point_count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: keys are to come from the first %u points, but there are %u",
                         name, candidates, f->point_count);
    if (o->keys > candidates)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: %u keys are asked for, but there are %u points", name,
                         o->keys, candidates);
    uint32_t columns = o->shared ? f->frame_count * f->component_count : f->frame_count;
    if (o->basis > columns)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: %u basis vectors are asked for, but there are only %u frames; give more frames or fewer "
                         "vectors",
                         name, o->basis, columns);
    for (uint32_t i = 0; i < o->fiducial_count; i++)
        if (o->fiducials[i] >= candidates)
            return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: fiducial point %u does not exist; there are %u", name,
                             o->fiducials[i], candidates);
    if (o->recipe && strcmp(o->recipe, "pelt") && strcmp(o->recipe, "paper"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--recipe %s: there is no such recipe; choose pelt or paper",
                         o->recipe);
    return PELT_OK;
}

/* Whole shots are left out together, in turns; where there are too few, stretches of frames. Remembered frames are
   never left out. */
static bool set_folds(pelt_keys_training *t, const pelt_frames *frames) {
    t->fold = PELT_NEW(t->arena, t->s.column_count, uint32_t);
    t->lone = PELT_NEW(t->arena, t->s.column_count, uint8_t);
    uint32_t shots = 0, n = frames->frame_count, stretches = 2 * PELT_FOLDS, shot = 0, lone_count = 0;
    const uint32_t *number = frames->shots;
    if (!t->fold || !t->lone) return false;
    for (uint32_t f = 0; number && f < n; f++) shots += f == 0 || number[f] != number[f - 1];
    bool few = shots < stretches;
    for (uint32_t f = 0; f < n; f++) {
        bool begins = !few && f && number[f] != number[f - 1], ends = few || f + 1 == n || number[f] != number[f + 1];
        bool remembered_one = number && number[f] == UINT32_MAX, lone = !few && (begins || !f) && ends;
        shot = few ? (uint32_t)((uint64_t)f * stretches / n) : shot + begins;
        lone_count += lone;
        for (uint32_t c = f * t->columns_per_frame; c < (f + 1) * t->columns_per_frame; c++)
            t->fold[c] = remembered_one ? PELT_FOLDS : shot % PELT_FOLDS, t->lone[c] = lone;
    }
    if (lone_count == n) memset(t->lone, 0, t->s.column_count); /* nothing but poses: they are what will be posed */
    return true;
}

static pelt_result set_places(pelt_keys_training *t, const pelt_frames *frames, pelt_error *error) {
    const pelt_keys_options *o = t->options;
    t->positions = o->positions;
    if (!t->positions && frames->component_count == 3 && t->s.each == 3 && !o->uncentred) {
        float *mean = PELT_NEW(t->arena, t->s.row_count, float);
        if (!mean) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to train");
        for (size_t r = 0; r < t->s.row_count; r++) mean[r] = (float)t->s.mean[r];
        t->positions = mean;
    }
    t->diagonal = o->diagonal > 0 ? o->diagonal : t->positions ? pelt_diagonal(t->positions, t->point_count) : 0;
    if (!(t->diagonal > 0)) { /* no places: the size of the values themselves */
        double square = 0;
        for (size_t m = 0; m < t->s.rank; m++) square += t->s.values[m] * t->s.values[m] / t->s.weight;
        t->diagonal = sqrt(square / t->point_count);
    }
    if (!(t->diagonal > 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: all values are 0; there is nothing to train on",
                         frames->name ? frames->name : "training frames");
    return PELT_OK;
}

/* -- Trials -------------------------------------------------------------------------------------------------------- */

static pelt_result try_shots(const pelt_keys_training *t, const pelt_map *map, double share, pelt_arena *arena,
                             pelt_trials *trials, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t f = 0; f < PELT_FOLDS && !result; f++)
        result = pelt_try_fold(t, map, t->fold, f, false, share, arena, trials, error);
    return result;
}

static pelt_result error_by_shots(const pelt_keys_training *t, const pelt_map *map, double *p995, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_trials trials = {0};
    pelt_result result = arena ? try_shots(t, map, 0.1, arena, &trials, error)
                               : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for a trial");
    if (!result) *p995 = pelt_trial_quantile(&trials, 0.995);
    pelt_arena_free(arena);
    return result;
}

/* The strongest regularisation whose error on frames left out is within a tenth of the least. */
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
    while (chosen < 2 && found[chosen] > 1.1 * best) chosen++;
    map->ridge = tried[chosen];
    *p995 = found[chosen];
    return PELT_OK;
}

/* Groups of three controls that are at work in some frames but not in most: frames where one of them is. */
static pelt_result try_controls(const pelt_keys_training *t, const pelt_map *map, const pelt_frames *frames,
                                pelt_arena *arena, pelt_trials *trials, pelt_keys_report *report, pelt_error *error) {
    enum { GROUPS = 6, IN_GROUP = 3 };
    uint32_t n = frames->frame_count, columns = t->s.column_count, chosen[GROUPS * IN_GROUP], count = 0;
    uint32_t *fold = PELT_NEW(arena, columns, uint32_t);
    float *most = PELT_NEW(arena, frames->control_count, float);
    if (!fold || !most) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for a trial");
    uint64_t random = 88172645463325252u + t->options->seed;
    for (uint32_t c = 0; c < frames->control_count; c++)
        for (size_t f = 0; f < n; f++) most[c] = fmaxf(most[c], fabsf(frames->controls[f * frames->control_count + c]));
    for (uint32_t attempt = 0; attempt < 400 && count < GROUPS * IN_GROUP; attempt++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t c = (uint32_t)((random >> 33) % frames->control_count), active = 0;
        bool known = !(most[c] > 0);
        for (uint32_t i = 0; i < count; i++) known |= chosen[i] == c;
        for (size_t f = 0; f < n; f++)
            active += fabsf(frames->controls[f * frames->control_count + c]) > 0.1f * most[c];
        if (!known && active > n / 100 && active < n / 4) chosen[count++] = c;
    }
    for (uint32_t g = 0; g + 1 <= count / IN_GROUP; g++) {
        uint32_t held = 0;
        for (uint32_t k = 0; k < columns; k++) {
            const float *x = frames->controls + (size_t)(k / t->columns_per_frame) * frames->control_count;
            fold[k] = 0;
            for (uint32_t i = g * IN_GROUP; i < (g + 1) * IN_GROUP; i++)
                fold[k] |= fabsf(x[chosen[i]]) > 0.1f * most[chosen[i]];
            held += fold[k];
        }
        if (held > columns / 2) continue;
        pelt_result result = pelt_try_fold(t, map, fold, 1, true, 0.5, arena, trials, error);
        if (result) return result;
        report->by_controls = true;
    }
    return PELT_OK;
}

/* -- The model ----------------------------------------------------------------------------------------------------- */

static uint32_t basis_for(const pelt_keys_training *t, uint32_t keys) {
    uint32_t rows = keys * t->s.each, basis = t->options->basis;
    if (!basis) basis = t->paper ? (keys > 1 ? keys / 2 : 1) : rows;
    if (basis > rows) basis = rows;
    return basis < t->s.rank ? basis : t->s.rank;
}

static pelt_result choose(pelt_keys_training *t, pelt_keys_model *m, pelt_map *map, uint32_t count, double *p995,
                          pelt_error *error) {
    m->keys = PELT_NEW(t->arena, count, uint32_t);
    if (!m->keys) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to choose keys");
    pelt_result result = pelt_choose_keys(t, count, m->keys, error);
    m->key_count = count;
    m->basis = basis_for(t, count);
    *map = (pelt_map){m->keys, count, m->basis, t->paper ? 0 : t->options->ridge > 0 ? t->options->ridge : 1e-5};
    if (result) return result;
    return t->paper || t->options->ridge > 0 ? error_by_shots(t, map, p995, error) : choose_ridge(t, map, p995, error);
}

/* As few keys as meet the bound, tried from few to many. */
static pelt_result choose_by_error(pelt_keys_training *t, pelt_keys_model *m, pelt_map *map, pelt_keys_report *report,
                                   pelt_error *error) {
    static const uint32_t counts[PELT_KEYS_CURVE] = {25, 40, 60, 85, 120, 170, 250, 350};
    for (int i = 0; i < PELT_KEYS_CURVE; i++) {
        uint32_t count = counts[i] < t->candidates ? counts[i] : t->candidates;
        pelt_result result = choose(t, m, map, count, &report->error_p995, error);
        if (result) return result;
        report->curve_keys[i] = count, report->curve_error[i] = report->error_p995;
        if (report->error_p995 <= t->options->error) return PELT_OK;
        if (count == t->candidates) break;
    }
    return pelt_fail(error, PELT_ERROR_DATA,
                     "no number of keys up to %u brings the error under %.3g%% of the diagonal in 99.5%% of the frames "
                     "left out (%.3g%% was reached); train on more frames, or ask for less",
                     m->key_count, 100 * t->options->error, 100 * report->error_p995);
}

/* The error that the first keys alone would give: fewer keys, same order. */
static pelt_result measure_curve(const pelt_keys_training *t, const pelt_map *map, pelt_keys_report *report,
                                 pelt_error *error) {
    static const double parts[] = {0.2, 0.4, 0.6, 0.8, 1};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        pelt_map part = *map;
        part.key_count = (uint32_t)ceil(parts[i] * map->key_count);
        part.basis = basis_for(t, part.key_count);
        report->curve_keys[i] = part.key_count;
        report->curve_error[i] = report->error_p995;
        pelt_result result =
            part.key_count < map->key_count ? error_by_shots(t, &part, &report->curve_error[i], error) : PELT_OK;
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result fit_maps(const pelt_keys_training *t, const pelt_map *map, pelt_keys_model *m, pelt_error *error) {
    size_t rank = t->s.rank, rows = (size_t)map->key_count * t->s.each;
    double *covariance = PELT_NEW(t->arena, rank * rank, double), *detector = PELT_NEW(t->arena, rank * rows, double),
           *key_rows = PELT_NEW(t->arena, rows * rank, double);
    m->map = PELT_NEW(t->arena, rank * rows, double);
    m->misfit = PELT_NEW(t->arena, rows * rows, double);
    if (!covariance || !detector || !key_rows || !m->map || !m->misfit)
        return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to fit the map");
    pelt_map least = *map;
    least.basis = pelt_detector_basis(t, map->key_count), least.ridge = 0;
    double weight = pelt_fold_covariance(t, NULL, 0, covariance);
    pelt_result result = pelt_map_fit(t, map, covariance, weight, m->map, error);
    if (!result && least.basis) result = pelt_map_fit(t, &least, covariance, weight, detector, error);
    if (result) return result;
    pelt_key_rows(t, m->keys, m->key_count, key_rows);
    pelt_gemm(false, false, rows, rows, rank, -1, key_rows, least.basis ? detector : m->map, 0, m->misfit);
    for (size_t i = 0; i < rows; i++) m->misfit[i * rows + i] += 1;
    return PELT_OK;
}

static pelt_result set_bounds(const pelt_keys_training *t, const pelt_map *map, const pelt_frames *frames,
                              pelt_keys_model *m, pelt_keys_report *report, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_trials trials = {.with_misfits = true};
    pelt_result result = arena ? try_shots(t, map, 0.3, arena, &trials, error)
                               : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the bounds");
    if (!result && frames->controls) result = try_controls(t, map, frames, arena, &trials, report, error);
    if (!result) result = pelt_keys_regions(m, t->options->regions ? t->options->regions : 1, error);
    if (!result) result = pelt_keys_bounds(m, &trials, t->options->bar > 0 ? t->options->bar : 0.01, report, error);
    pelt_arena_free(arena);
    return result;
}

static char *describe(const pelt_keys_training *t, const pelt_keys_model *m, const pelt_keys_report *r) {
    json_t *curve = json_array();
    for (int i = 0; i < PELT_KEYS_CURVE && r->curve_keys[i]; i++)
        json_array_append_new(curve, json_pack("[i, f]", (int)r->curve_keys[i], r->curve_error[i]));
    json_t *about = json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:b, s:o}", "made_by",
                              "pelt " PELT_VERSION, "recipe", t->paper ? "paper" : "pelt", "frames", (int)r->frames,
                              "keys", (int)m->key_count, "basis", (int)m->basis, "ridge", r->ridge, "error_p995",
                              isfinite(r->error_p995) ? r->error_p995 : -1, "hit_rate", r->hit_rate, "bad_caught",
                              r->bad_caught, "by_controls", (int)r->by_controls, "error_by_keys", curve);
    char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
    json_decref(about);
    return text;
}

static pelt_skin_bytes *train(pelt_keys_training *t, pelt_columns *columns, const pelt_frames *frames,
                              pelt_keys_report *report, pelt_error *error) {
    const pelt_keys_options *o = t->options;
    uint32_t most = o->error > 0 ? 250 : o->keys;
    pelt_keys_model model = {.t = t, .component_count = frames->component_count, .region_count = 1};
    pelt_map map;
    uint32_t each = o->shared ? 1 : frames->component_count;
    uint32_t rank = most * each + 64 > o->basis ? most * each + 64 : o->basis;
    pelt_result result =
        pelt_subspace_find(t->arena, columns, rank, !o->uncentred, o->seed, &o->progress, &t->s, error);
    if (!result && !set_folds(t, frames)) result = pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to train");
    if (!result) result = set_places(t, frames, error);
    if (!result && o->error > 0) result = choose_by_error(t, &model, &map, report, error);
    if (!result && !(o->error > 0)) {
        result = choose(t, &model, &map, most, &report->error_p995, error);
        if (!result) result = measure_curve(t, &map, report, error);
    }
    if (!result) result = fit_maps(t, &map, &model, error);
    if (!result) result = set_bounds(t, &map, frames, &model, report, error);
    if (result) return NULL;
    double frame_weight = t->s.weight / t->columns_per_frame;
    model.frame_count = frame_weight < UINT32_MAX ? (uint32_t)(frame_weight + 0.5) : UINT32_MAX;
    report->frames = model.frame_count, report->keys = model.key_count, report->basis = model.basis;
    report->ridge = map.ridge;
    char *about = describe(t, &model, report);
    model.about = about;
    pelt_skin_bytes *bytes = pelt_keys_pack(&model, error);
    free(about);
    return bytes;
}

pelt_skin_bytes *pelt_keys_train(const pelt_frames *frames, const pelt_keys_options *given, pelt_keys_report *report,
                                 pelt_error *error) {
    pelt_keys_options options = *given;
    pelt_keys_report own;
    if (!report) report = &own;
    *report = (pelt_keys_report){0};
    if (check_input(frames, &options, error)) return NULL;
    uint32_t candidates = options.engine_points ? options.engine_points : frames->point_count;
    if (!options.keys) options.keys = candidates < 170 ? candidates : 170;
    if (options.previous && options.keys < options.previous->key_count) options.keys = options.previous->key_count;
    if (options.keys < options.fiducial_count) options.keys = options.fiducial_count;
    pelt_keys_training t = {.options = &options,
                            .paper = options.recipe && !strcmp(options.recipe, "paper"),
                            .arena = pelt_arena_new(0),
                            .columns_per_frame = options.shared ? frames->component_count : 1,
                            .point_count = frames->point_count,
                            .candidates = candidates};
    remembered memory;
    pelt_result result = t.arena ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to train");
    if (!result && options.previous) {
        result = remember(t.arena, &memory, frames, options.previous, error);
        frames = &memory.all;
    }
    pelt_skin_bytes *bytes = NULL;
    size_t room = options.memory ? options.memory : (size_t)512 << 20;
    pelt_columns *columns = result ? NULL : pelt_columns_open(t.arena, frames, options.shared, room, error);
    if (columns) bytes = train(&t, columns, frames, report, error);
    pelt_arena_free(t.arena);
    return bytes;
}
