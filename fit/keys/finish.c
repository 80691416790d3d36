/* finish.c: from chosen keys to a model: the maps, and, from trials on left-out frames, the bounds of the soft cache. */

#include "fit/keys/model.h"
#include "rig/linear.h"
#include <math.h>

static const double long_look = 0.3;   /* of a fold's frames, to set bounds */
static const float active_part = 0.1f; /* of its largest value: a control is active in a frame */

uint32_t pelt_keys_basis(const pelt_keys_training *t, uint32_t keys) {
    uint32_t rows = keys * t->s.each, basis = t->options->basis;
    if (!basis) basis = t->options->recipe == PELT_KEYS_PAPER ? (keys > 1 ? keys / 2 : 1) : rows;
    if (basis > rows) basis = rows;
    return basis < t->s.rank ? basis : t->s.rank;
}

static pelt_result fit_maps(const pelt_keys_training *t, const pelt_map *map, pelt_keys_model *m, pelt_error *error) {
    size_t rank = t->s.rank, rows = (size_t)map->key_count * t->s.each;
    double *covariance = PELT_NEW(t->arena, rank * rank, double), *detector = PELT_NEW(t->arena, rank * rows, double),
           *key_rows = PELT_NEW(t->arena, rows * rank, double);
    m->map = PELT_NEW(t->arena, rank * rows, double);
    m->misfit = PELT_NEW(t->arena, rows * rows, double);
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

/* -- Trials -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_try_shots(const pelt_keys_training *t, const pelt_map *map, double share, pelt_arena *arena,
                           pelt_trials *trials, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t f = 0; f < PELT_FOLDS && !result; f++)
        result = pelt_try_fold(t, map, t->fold, f, false, share, arena, trials, error);
    return result;
}

/* The largest absolute value of each control. */
static float *largest_controls(const pelt_frames *frames, pelt_arena *arena) {
    float *most = PELT_NEW(arena, frames->control_count, float);
    for (size_t i = 0; i < (size_t)frames->frame_count * frames->control_count; i++)
        most[i % frames->control_count] = fmaxf(most[i % frames->control_count], fabsf(frames->controls[i]));
    return most;
}

/* Different controls, at random, that are active in some frames but not in most. */
static uint32_t choose_controls(const pelt_frames *frames, const float *most, uint32_t seed, uint32_t wanted,
                                uint32_t *chosen) {
    enum { ATTEMPTS = 400 };
    uint32_t n = frames->frame_count, count = 0;
    uint64_t random = 88172645463325252u + seed;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && count < wanted; attempt++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t c = (uint32_t)((random >> 33) % frames->control_count), active = 0;
        bool known = !(most[c] > 0);
        for (uint32_t i = 0; i < count; i++) known |= chosen[i] == c;
        for (size_t f = 0; f < n; f++)
            active += fabsf(frames->controls[f * frames->control_count + c]) > active_part * most[c];
        if (!known && active > n / 100 && active < n / 4) chosen[count++] = c;
    }
    return count;
}

uint32_t pelt_control_folds(const pelt_keys_training *t, const pelt_frames *frames, uint32_t wanted, pelt_arena *arena,
                            uint32_t **folds) {
    enum { IN_GROUP = 3 };
    uint32_t columns = t->s.column_count, found = 0;
    if (!frames->controls || !frames->control_count) return 0;
    float *most = largest_controls(frames, arena);
    uint32_t *chosen = PELT_NEW(arena, wanted * IN_GROUP, uint32_t);
    uint32_t groups = choose_controls(frames, most, t->options->seed, wanted * IN_GROUP, chosen) / IN_GROUP;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t held = 0, *fold = folds[found] = PELT_NEW(arena, columns, uint32_t);
        for (uint32_t k = 0; k < columns; k++) {
            const float *x = frames->controls + (size_t)(k / t->columns_per_frame) * frames->control_count;
            for (uint32_t i = g * IN_GROUP; i < (g + 1) * IN_GROUP && t->fold[k] < PELT_FOLDS; i++)
                fold[k] |= fabsf(x[chosen[i]]) > active_part * most[chosen[i]];
            held += fold[k];
        }
        found += held <= columns / 2;
    }
    return found;
}

static pelt_result try_controls(const pelt_keys_training *t, const pelt_map *map, const pelt_frames *frames,
                                pelt_arena *arena, pelt_trials *trials, pelt_keys_report *report, pelt_error *error) {
    enum { GROUPS = 6 };
    uint32_t *folds[GROUPS], count = pelt_control_folds(t, frames, GROUPS, arena, folds);
    pelt_result result = PELT_OK;
    for (uint32_t g = 0; g < count && !result; g++)
        result = pelt_try_fold(t, map, folds[g], 1, true, 0.5, arena, trials, error);
    report->by_controls = count > 0;
    return result;
}

/* -- All together -------------------------------------------------------------------------------------------------- */

/* Regions, and bounds from what happens to frames that are left out. */
static pelt_result set_bounds(pelt_keys_model *m, const pelt_map *map, const pelt_frames *frames,
                              pelt_keys_report *report, pelt_error *error) {
    const pelt_keys_training *t = m->t;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    pelt_keys_regions(m, t->options->regions);
    pelt_point_regions regions = {m->region_count, m->point_regions, m->point_region_weights};
    pelt_trials trials = {.with_misfits = true, .regions = &regions};
    pelt_result result = pelt_try_shots(t, map, long_look, work, &trials, error);
    if (!result) m->expected = pelt_trial_quantile(work, &trials, 0.995);
    if (!result) result = try_controls(t, map, frames, work, &trials, report, error);
    if (result) return result;
    pelt_keys_bounds(m, &trials, t->options->bar, report);
    if (pelt_keys_has_witnesses(t)) pelt_keys_raise_bounds(m, &trials, t->options->bar);
    return PELT_OK;
}

pelt_result pelt_keys_finish(pelt_keys_model *m, const pelt_map *map, const pelt_frames *frames,
                             pelt_keys_report *report, pelt_error *error) {
    pelt_result result = fit_maps(m->t, map, m, error);
    if (!result) result = set_bounds(m, map, frames, report, error);
    if (!result) result = pelt_keys_witnesses(m, error);
    if (!result) pelt_keys_controls(m, frames);
    return result;
}
