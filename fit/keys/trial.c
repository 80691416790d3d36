/* trial.c: leaves frames out, fits the map to the rest, and measures the reconstruction error and the misfit. All in
   subspace coordinates:

       reconstruction error  (I - P U) b,   key values  U b,   misfit  (I - U P') U b */

#include "fit/keys/trial.h"
#include "rig/linear.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t pelt_detector_basis(const pelt_keys_training *t, uint32_t key_count) {
    uint32_t rows = key_count * t->s.each, basis = rows / 3 > 0 ? rows / 3 : 1;
    return t->options->recipe == PELT_KEYS_PAPER ? 0 : basis;
}

typedef struct trial {
    const pelt_keys_training *t;
    const pelt_map *map;
    pelt_arena *arena;
    size_t rank, rows;           /* rows of all keys */
    size_t per_frame;            /* columns per frame */
    size_t *frames, frame_count; /* first columns of the left-out frames */
    bool with_misfits;
    const pelt_point_regions *regions; /* or NULL */
    double *keep;                      /* [rank][rank] I - P U */
    double *miss;                      /* [rows][rank] (I - U P') U */
} trial;

static void prepare(trial *r, const double *p, const double *detector, const double *rows) {
    size_t rank = r->rank, n = r->rows;
    double *seen = PELT_NEW(r->arena, rank * rank, double);
    r->keep = PELT_NEW(r->arena, rank * rank, double);
    r->miss = PELT_NEW(r->arena, n * rank, double);
    pelt_gemm(false, false, rank, rank, n, -1, p, rows, 0, r->keep);
    for (size_t m = 0; m < rank; m++) r->keep[m * rank + m] += 1;
    pelt_gemm(false, false, rank, rank, n, -1, detector, rows, 0, seen);
    for (size_t m = 0; m < rank; m++) seen[m * rank + m] += 1;
    pelt_gemm(false, false, n, rank, rank, 1, rows, seen, 0, r->miss);
}

/* Raises the errors of a point's regions to its own. */
static void raise_region_errors(const pelt_point_regions *regions, size_t point, float error, float *errors) {
    for (size_t k = point * PELT_POINT_REGIONS; k < (point + 1) * PELT_POINT_REGIONS; k++)
        if (regions->weights[k] > 0) errors[regions->of_points[k]] = fmaxf(errors[regions->of_points[k]], error);
}

/* Largest point errors of some frames, and of their regions, given the coordinates of their errors
   [frames * per_frame][rank]. */
static void point_errors(const trial *r, const double *left, const size_t *which, size_t count, float *errors,
                         float *region_errors) {
    const pelt_subspace *s = &r->t->s;
    enum { AT_ONCE = 32 };
    size_t each = s->each, per = r->per_frame, width = AT_ONCE * per;
    double *some = PELT_NEW(r->arena, width * r->rank, double),
           *values = PELT_NEW(r->arena, s->row_count * width, double);
    for (size_t first = 0; first < count; first += AT_ONCE) {
        size_t now = count - first < AT_ONCE ? count - first : AT_ONCE, columns = now * per;
        for (size_t k = 0; k < now; k++)
            memcpy(some + k * per * r->rank, left + which[first + k] * per * r->rank, per * r->rank * sizeof *some);
        pelt_gemm(false, true, s->row_count, columns, r->rank, 1, s->vectors, some, 0, values);
        for (size_t k = 0; k < now; k++) {
            double most = 0;
            for (size_t q = 0; q < r->t->point_count; q++) {
                double square = 0;
                for (size_t i = 0; i < each; i++)
                    for (size_t c = 0; c < per; c++) square += pow(values[(q * each + i) * columns + k * per + c], 2);
                most = fmax(most, square);
                if (r->regions)
                    raise_region_errors(r->regions, q, (float)(sqrt(square) / r->t->diagonal),
                                        region_errors + which[first + k] * r->regions->count);
            }
            errors[which[first + k]] = (float)(sqrt(most) / r->t->diagonal);
        }
    }
}

static void look(trial *r, double share, float *errors, float *region_errors, float *lengths) {
    const pelt_subspace *s = &r->t->s;
    size_t rank = r->rank, per = r->per_frame, columns = r->frame_count * per, each = s->each;
    double *held = PELT_NEW(r->arena, columns * rank, double), *left = PELT_NEW(r->arena, columns * rank, double),
           *missed = PELT_NEW(r->arena, columns * r->rows, double);
    pelt_ranked *order = PELT_NEW(r->arena, r->frame_count, pelt_ranked);
    size_t *which = PELT_NEW(r->arena, r->frame_count, size_t), looked = (size_t)(share * (double)r->frame_count + 1);
    for (size_t f = 0; f < r->frame_count; f++)
        memcpy(held + f * per * rank, s->coordinates + r->frames[f] * rank, per * rank * sizeof *held);
    pelt_gemm(false, true, columns, rank, rank, 1, held, r->keep, 0, left);
    if (r->with_misfits) pelt_gemm(false, true, columns, r->rows, rank, 1, held, r->miss, 0, missed);
    for (size_t f = 0; f < r->frame_count; f++) {
        order[f] = (pelt_ranked){0, (uint32_t)f};
        for (size_t i = 0; i < per * rank; i++) order[f].value += pow(left[f * per * rank + i], 2);
        for (size_t c = 0; c < per; c++)
            for (size_t i = 0; i < r->rows; i++)
                lengths[f * (r->rows / each) + i / each] += (float)pow(missed[(f * per + c) * r->rows + i], 2);
    }
    qsort(order, r->frame_count, sizeof *order, pelt_falling_ranks);
    if (looked > r->frame_count) looked = r->frame_count;
    for (size_t k = 0; k < looked; k++) which[k] = order[k].index;
    point_errors(r, left, which, looked, errors, region_errors);
}

static void make_room(pelt_arena *arena, pelt_trials *t, size_t more) {
    if (t->count + more <= t->room) return;
    size_t room = 2 * (t->count + more);
    float *errors = PELT_NEW(arena, room, float), *lengths = PELT_NEW(arena, room * t->key_count, float);
    uint8_t *novel = PELT_NEW(arena, room, uint8_t);
    size_t regions = t->regions ? t->regions->count : 0;
    float *region_errors = PELT_NEW(arena, room * regions, float);
    if (t->count) {
        memcpy(region_errors, t->region_errors, t->count * regions * sizeof *region_errors);
        memcpy(errors, t->errors, t->count * sizeof *errors);
        memcpy(lengths, t->lengths, t->count * t->key_count * sizeof *lengths);
        memcpy(novel, t->novel, t->count);
    }
    t->errors = errors, t->lengths = lengths, t->novel = novel, t->room = room, t->region_errors = region_errors;
}

static pelt_result try_frames(trial *r, const uint32_t *fold, uint32_t left_out, double share, float *errors,
                              float *region_errors, float *lengths, pelt_error *error) {
    const pelt_keys_training *t = r->t;
    double *covariance = PELT_NEW(r->arena, r->rank * r->rank, double),
           *p = PELT_NEW(r->arena, r->rank * r->rows, double),
           *detector = PELT_NEW(r->arena, r->rank * r->rows, double),
           *rows = PELT_NEW(r->arena, r->rows * r->rank, double);
    double weight = pelt_fold_covariance(t, fold, left_out, covariance);
    pelt_result result = pelt_map_fit(t, r->map, covariance, weight, p, error);
    pelt_map least = *r->map;
    least.basis = pelt_detector_basis(t, r->map->key_count), least.ridge = 0;
    if (result) return result;
    if (least.basis && r->with_misfits)
        result = pelt_map_fit(t, &least, covariance, weight, detector, error);
    else
        memcpy(detector, p, r->rank * r->rows * sizeof *p);
    if (result) return result;
    pelt_key_rows(t, r->map->keys, r->map->key_count, rows);
    prepare(r, p, detector, rows);
    look(r, share, errors, region_errors, lengths);
    return PELT_OK;
}

pelt_result pelt_try_fold(const pelt_keys_training *t, const pelt_map *map, const uint32_t *fold, uint32_t left_out,
                          bool novel, double share, pelt_arena *arena, pelt_trials *trials, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    trial r = {.t = t, .map = map, .arena = work, .rank = t->s.rank};
    r.rows = (size_t)map->key_count * t->s.each;
    r.per_frame = t->columns_per_frame;
    r.with_misfits = trials->with_misfits, r.regions = trials->regions;
    r.frames = PELT_NEW(r.arena, t->s.column_count, size_t);
    for (size_t c = 0; c < t->s.column_count; c += r.per_frame)
        if (fold[c] == left_out) r.frames[r.frame_count++] = c;
    trials->key_count = map->key_count;
    make_room(arena, trials, r.frame_count);
    pelt_result result = PELT_OK;
    if (r.frame_count)
        result = try_frames(&r, fold, left_out, share, trials->errors + trials->count,
                            r.regions ? trials->region_errors + trials->count * r.regions->count : NULL,
                            trials->lengths + trials->count * map->key_count, error);
    if (result) return result;
    for (size_t f = 0; f < r.frame_count; f++) trials->novel[trials->count + f] = novel || t->lone[r.frames[f]];
    trials->count += r.frame_count;
    return PELT_OK;
}

double pelt_trial_quantile(pelt_arena *arena, const pelt_trials *trials, double share) {
    float *errors = PELT_NEW(arena, trials->count, float);
    size_t count = 0;
    for (size_t i = 0; i < trials->count; i++)
        if (!trials->novel[i]) errors[count++] = trials->errors[i];
    return count ? pelt_quantile_floats(errors, count, share) : INFINITY;
}
