/* keys_measure.c: plays clips whose truth is known through key points and the soft cache. The truth stands in for the
   engine: a frame's number is its only control. */

#include "cli/keys_measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct playback {
    const pelt_keys *keys;
    size_t frame_size;
    uint32_t current;
    float *now, *before; /* truth of this frame and of the one before */
    float *fill, *fill_before, *final, *final_before;
    float *key_values;
    void *scratch, *memory;
    double square;
} playback;

static int play(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const playback *p = user;
    const float *truth = (uint32_t)controls[0] == p->current ? p->now : p->before;
    size_t each = p->keys->component_count;
    for (uint32_t i = 0; i < count; i++) memcpy(values + i * each, truth + points[i] * each, each * sizeof *values);
    return 0;
}

static bool allocate(playback *p, pelt_arena *arena) {
    size_t n = p->frame_size;
    float **buffers[] = {&p->now, &p->before, &p->fill, &p->fill_before, &p->final, &p->final_before};
    bool enough = true;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        enough = (*buffers[i] = PELT_NEW(arena, n, float)) && enough;
    p->key_values = PELT_NEW(arena, (size_t)p->keys->key_count * p->keys->component_count, float);
    p->scratch = pelt_alloc(arena, pelt_keys_scratch_size(p->keys, 1), 1);
    p->memory = pelt_alloc(arena, pelt_soft_cache_size(p->keys, 1), 1);
    return enough && p->key_values && p->scratch && p->memory;
}

static void swap(float **a, float **b) {
    float *c = *a;
    *a = *b, *b = c;
}

static double point_length(const float *a, const float *b, const float *c, const float *d, size_t each) {
    double square = 0;
    for (size_t k = 0; k < each; k++) {
        double x = (double)a[k] - b[k] - (c ? (double)c[k] - d[k] : 0);
        square += x * x;
    }
    return sqrt(square);
}

/* The largest length of a - b - (c - d) over the points; c and d may be NULL. */
static double largest_change(const playback *p, const float *a, const float *b, const float *c, const float *d,
                             uint32_t *where) {
    size_t each = p->keys->component_count;
    double most = 0;
    for (uint32_t i = 0; i < p->keys->point_count; i++) {
        size_t at = i * each;
        double length = point_length(a + at, b + at, c ? c + at : NULL, c ? d + at : NULL, each);
        if (length > most) {
            most = length;
            if (where) *where = i;
        }
    }
    return most / p->keys->diagonal;
}

/* How far switching moved a point against the truth since the frame before: of points that are neither left to the keys
   nor back at what these say. */
static double switching_jump(const playback *p) {
    size_t each = p->keys->component_count;
    double most = 0;
    for (size_t at = 0; at < p->frame_size; at += each) {
        if (point_length(p->final + at, p->fill + at, NULL, NULL, each) < 1e-6 * p->keys->diagonal) continue;
        most = fmax(most, point_length(p->final + at, p->now + at, p->final_before + at, p->before + at, each));
    }
    return most / p->keys->diagonal;
}

static void fill_from_keys(playback *p, double *seconds) {
    const pelt_keys *keys = p->keys;
    size_t each = keys->component_count;
    pelt_misfit misfit;
    for (size_t k = 0; k < keys->key_count; k++)
        memcpy(p->key_values + k * each, p->now + keys->key_points[k] * each, each * sizeof *p->now);
    double start = cli_wall_seconds();
    pelt_keys_solve(keys, p->key_values, 1, p->scratch, &misfit);
    pelt_keys_fill(keys, p->scratch, 1, pelt_keys_all_blocks(keys), p->fill);
    *seconds = cli_wall_seconds() - start;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(double *sorted, size_t count, double share) {
    return count ? sorted[(size_t)(share * (double)(count - 1) + 0.5)] : 0;
}

/* -- Summary ------------------------------------------------------------------------------------------------------- */

/* The misfit that 95 of 100 good frames stay under flags how many of the bad ones? */
static void rate_detector(keys_measure *m, double bar, double *list) {
    size_t good = 0;
    uint32_t flagged = 0, caught = 0, bad = 0;
    for (uint32_t f = 0; f < m->frame_count; f++)
        if (m->frames[f].error < bar / 2) list[good++] = m->frames[f].e;
    qsort(list, good, sizeof *list, ascending);
    double threshold = quantile(list, good, 0.95);
    for (uint32_t f = 0; f < m->frame_count; f++) {
        bool is_bad = m->frames[f].error > bar, flag = m->frames[f].e > threshold;
        bad += is_bad, flagged += flag, caught += is_bad && flag;
    }
    m->bad_frames = bad;
    m->recall = bad ? (double)caught / bad : 1;
    m->precision = flagged ? (double)caught / flagged : 1;
}

static void correlate(keys_measure *m) {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, n = m->frame_count;
    for (uint32_t f = 0; f < m->frame_count; f++) {
        double a = log(m->frames[f].e + 1e-9), b = log(m->frames[f].error + 1e-9);
        x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    double spread = (xx - x * x / n) * (yy - y * y / n);
    m->correlation = spread > 0 ? (xy - x * y / n) / sqrt(spread) : 0;
}

static bool summarise(keys_measure *m, double bar) {
    double *list = malloc((m->frame_count + 1) * sizeof *list), n = m->frame_count, hits = 0, under = 0, final = 0;
    if (!list) return false;
    bool shot_good = true;
    for (uint32_t f = 0; f < m->frame_count; f++) {
        const keys_frame *k = &m->frames[f];
        bool begins = f == 0 || k->shot != m->frames[f - 1].shot;
        if (begins) m->shot_count++, shot_good = true;
        shot_good = shot_good && k->error <= bar;
        if (f + 1 == m->frame_count || m->frames[f + 1].shot != k->shot) m->good_shots += shot_good;
        hits += k->verdict == PELT_CACHE_HIT, under += k->error <= bar, final += k->final <= bar;
        m->missed_bad += k->error > bar && k->verdict == PELT_CACHE_HIT;
        m->jump = fmax(m->jump, k->jump);
        m->switch_jump = fmax(m->switch_jump, k->switch_jump);
        m->evaluated += k->evaluated / n;
    }
    m->hit_rate = hits / n, m->under_bar = under / n, m->final_under_bar = final / n;
    for (uint32_t f = 0; f < m->frame_count; f++) list[f] = m->frames[f].error;
    qsort(list, m->frame_count, sizeof *list, ascending);
    m->p50 = quantile(list, m->frame_count, 0.5), m->p99 = quantile(list, m->frame_count, 0.99);
    m->p995 = quantile(list, m->frame_count, 0.995), m->largest = quantile(list, m->frame_count, 1);
    for (uint32_t f = 0; f < m->frame_count; f++) list[f] = m->frames[f].final;
    qsort(list, m->frame_count, sizeof *list, ascending);
    m->final_p999 = quantile(list, m->frame_count, 0.999), m->final_largest = quantile(list, m->frame_count, 1);
    rate_detector(m, bar, list);
    correlate(m);
    free(list);
    return true;
}

/* -- Playing ------------------------------------------------------------------------------------------------------- */

static pelt_result play_frame(playback *p, pelt_soft_cache *cache, const pelt_soft_cache_options *options,
                              const pelt_frames *frames, uint32_t f, keys_measure *m, double *seconds,
                              pelt_error *error) {
    keys_frame *k = &m->frames[f];
    pelt_soft_cache_frame_info info;
    bool follows = f > 0 && frames->shots[f] == frames->shots[f - 1];
    swap(&p->now, &p->before), swap(&p->fill, &p->fill_before), swap(&p->final, &p->final_before);
    pelt_result result = frames->read(frames->user, f, 1, p->now, error);
    if (result) return result;
    p->current = f;
    if (!follows) pelt_soft_cache_init(cache, p->keys, options, (pelt_engine_call){play, p, 1}, p->memory);
    fill_from_keys(p, seconds);
    result = pelt_soft_cache_next(cache, &(float){(float)f}, p->final, &info);
    if (result) return pelt_fail(error, result, "%s: frame %u: %s", frames->name, f, pelt_result_text(result));
    *k = (keys_frame){
        .shot = frames->shots[f], .e = info.misfit.e, .evaluated = info.evaluated, .verdict = info.verdict};
    k->error = (float)largest_change(p, p->fill, p->now, NULL, NULL, &k->worst_point);
    k->final = (float)largest_change(p, p->final, p->now, NULL, NULL, NULL);
    if (follows) {
        k->jump = (float)largest_change(p, p->fill, p->now, p->fill_before, p->before, NULL);
        k->switch_jump = (float)switching_jump(p);
    }
    for (size_t i = 0; i < p->frame_size; i++) p->square += pow((double)p->fill[i] - p->now[i], 2);
    return PELT_OK;
}

bool keys_measure_run(const pelt_keys *keys, keys_input *input, const pelt_soft_cache_options *options, double bar,
                      const pelt_progress *progress, keys_measure *out, pelt_error *error) {
    const pelt_frames *frames = &input->frames;
    playback p = {.keys = keys, .frame_size = (size_t)keys->point_count * keys->component_count};
    *out = (keys_measure){.frame_count = frames->frame_count};
    if (frames->point_count != keys->point_count || frames->component_count != keys->component_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u points of %u values, but the key points are for %u of %u",
                         frames->name, frames->point_count, frames->component_count, keys->point_count,
                         keys->component_count),
               false;
    out->frames = calloc(frames->frame_count, sizeof *out->frames);
    double *times = malloc(frames->frame_count * sizeof *times);
    bool done = out->frames && times && allocate(&p, input->arena);
    if (!done) pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to measure");
    pelt_soft_cache cache;
    for (uint32_t f = 0; done && f < frames->frame_count; f++) {
        pelt_should_stop(progress, "measuring", (double)f / frames->frame_count);
        done = play_frame(&p, &cache, options, frames, f, out, &times[f], error) == PELT_OK;
    }
    if (done) {
        qsort(times, frames->frame_count, sizeof *times, ascending);
        out->fill_seconds = quantile(times, frames->frame_count, 0.5);
        out->rms = sqrt(p.square / frames->frame_count / keys->point_count) / keys->diagonal;
        done = summarise(out, bar) || (pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to measure"), false);
    }
    free(times);
    return done;
}

void keys_measure_free(keys_measure *measure) { free(measure->frames); }
