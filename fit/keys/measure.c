/* measure.c: plays frames with known truth through key points and the soft cache. The truth replaces the engine, which
   is asked for this frame or the previous one. */

#include "fit/keys/model.h"
#include "rig/clock.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

static const double FILLED = 1e-6;      /* of the diagonal: nearer to the fill, a point is filled */
static const double LEAST_ERROR = 1e-9; /* whose logarithm is taken */
static const double MOVED = 1e-3;       /* of the diagonal: frames where a point moved farther by itself count */

typedef struct playback {
    const pelt_keys *keys;
    size_t frame_size;
    const float *controls; /* of this frame, as passed to the soft cache, which asks for the previous frame with its
                              own */
    float none;            /* passed if no controls are known */
    float *now, *before;   /* truth of this frame and of the previous one */
    float *fill, *fill_before, *final, *final_before;
    float *key_values;
    uint8_t *computed; /* [points] 1: the soft cache asked for this frame's truth */
    void *scratch, *memory;
    double square, bar;
    pelt_soft_cache_frame_info info;
} playback;

static int play(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const playback *p = user;
    bool now = controls == p->controls;
    const float *truth = now ? p->now : p->before;
    size_t each = p->keys->component_count;
    for (uint32_t i = 0; i < count && now; i++) p->computed[points[i]] = 1;
    for (uint32_t i = 0; i < count; i++) memcpy(values + i * each, truth + points[i] * each, each * sizeof *values);
    return 0;
}

static uint32_t control_count(const pelt_frames *frames) { return frames->controls ? frames->control_count : 0; }

static void allocate(playback *p, const pelt_frames *frames, pelt_arena *arena) {
    float **buffers[] = {&p->now, &p->before, &p->fill, &p->fill_before, &p->final, &p->final_before};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) *buffers[i] = PELT_NEW(arena, p->frame_size, float);
    p->key_values = PELT_NEW(arena, (size_t)p->keys->key_count * p->keys->component_count, float);
    p->computed = PELT_NEW(arena, p->keys->point_count, uint8_t);
    p->scratch = pelt_alloc(arena, pelt_keys_scratch_size(p->keys, 1), 1);
    p->memory = pelt_alloc(arena, pelt_soft_cache_size(p->keys, control_count(frames)), 1);
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

/* How far switching moved a point relative to the truth since the previous frame, over points that are not where
   the keys alone would put them. */
static double switching_jump(const playback *p) {
    size_t each = p->keys->component_count;
    double most = 0;
    for (size_t at = 0; at < p->frame_size; at += each) {
        if (point_length(p->final + at, p->fill + at, NULL, NULL, each) < FILLED * p->keys->diagonal) continue;
        most = fmax(most, point_length(p->final + at, p->now + at, p->final_before + at, p->before + at, each));
    }
    return most / p->keys->diagonal;
}

/* How much farther than the truth a point moved since the previous frame: a pop where the truth has none. */
static double moved_by_itself(const playback *p) {
    size_t each = p->keys->component_count;
    double most = 0;
    for (size_t at = 0; at < p->frame_size; at += each)
        most = fmax(most, point_length(p->final + at, p->final_before + at, NULL, NULL, each) -
                              point_length(p->now + at, p->before + at, NULL, NULL, each));
    return most / p->keys->diagonal;
}

/* True if the keys alone exceed the bar somewhere the soft cache did not even check. Who is in doubt does not trust. */
static bool trusts_a_bad_point(const playback *p) {
    if (p->info.verdict == PELT_CACHE_DOUBT) return false;
    size_t each = p->keys->component_count;
    for (uint32_t i = 0; i < p->keys->point_count; i++)
        if (!p->computed[i] &&
            point_length(p->fill + i * each, p->now + i * each, NULL, NULL, each) > p->bar * p->keys->diagonal)
            return true;
    return false;
}

static void fill_from_keys(playback *p, double *seconds) {
    const pelt_keys *keys = p->keys;
    size_t each = keys->component_count;
    pelt_misfit misfit;
    for (size_t k = 0; k < keys->key_count; k++)
        memcpy(p->key_values + k * each, p->now + keys->key_points[k] * each, each * sizeof *p->now);
    double start = pelt_wall_seconds();
    pelt_keys_solve(keys, p->key_values, 1, p->scratch, &misfit);
    pelt_keys_fill(keys, p->scratch, 1, pelt_keys_all_blocks(keys), p->fill);
    *seconds = pelt_wall_seconds() - start;
}

/* -- Summary ------------------------------------------------------------------------------------------------------- */

/* How many bad frames are flagged by the misfit that 95% of the good frames stay under? */
static void rate_detector(pelt_keys_measure *m, double bar, double *list) {
    size_t good = 0;
    uint32_t flagged = 0, caught = 0, bad = 0;
    for (uint32_t f = 0; f < m->frame_count; f++)
        if (m->frames[f].error < bar / 2) list[good++] = m->frames[f].e;
    double threshold = pelt_quantile(list, good, 0.95);
    for (uint32_t f = 0; f < m->frame_count; f++) {
        bool is_bad = m->frames[f].error > bar, flag = m->frames[f].e > threshold;
        bad += is_bad, flagged += flag, caught += is_bad && flag;
    }
    m->bad_frames = bad;
    m->recall = bad ? (double)caught / bad : 1;
    m->precision = flagged ? (double)caught / flagged : 1;
}

static void correlate(pelt_keys_measure *m) {
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, n = m->frame_count;
    for (uint32_t f = 0; f < m->frame_count; f++) {
        double a = log(m->frames[f].e + LEAST_ERROR), b = log(m->frames[f].error + LEAST_ERROR);
        x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    double spread = (xx - x * x / n) * (yy - y * y / n);
    m->correlation = spread > 0 ? (xy - x * y / n) / sqrt(spread) : 0;
}

static void summarise(pelt_keys_measure *m, double bar, double *list) {
    double n = m->frame_count, hits = 0, under = 0, final = 0;
    bool shot_good = true;
    for (uint32_t f = 0; f < m->frame_count; f++) {
        const pelt_keys_frame *k = &m->frames[f];
        bool begins = f == 0 || k->shot != m->frames[f - 1].shot;
        if (begins) m->shot_count++, shot_good = true;
        shot_good = shot_good && k->error <= bar;
        if (f + 1 == m->frame_count || m->frames[f + 1].shot != k->shot) m->good_shots += shot_good;
        hits += k->verdict == PELT_CACHE_HIT, under += k->error <= bar, final += k->final <= bar;
        m->missed_bad += k->trusted_bad;
        m->verdicts[k->verdict]++;
        m->still_jump = fmax(m->still_jump, k->still), m->still_frames += k->still > MOVED;
        m->jump = fmax(m->jump, k->jump);
        m->switch_jump = fmax(m->switch_jump, k->switch_jump);
        m->evaluated += k->evaluated / n;
    }
    m->hit_rate = hits / n, m->under_bar = under / n, m->final_under_bar = final / n;
    for (uint32_t f = 0; f < m->frame_count; f++) list[f] = m->frames[f].error;
    m->p50 = pelt_quantile(list, m->frame_count, 0.5), m->p99 = pelt_quantile(list, m->frame_count, 0.99);
    m->p995 = pelt_quantile(list, m->frame_count, 0.995), m->largest = pelt_quantile(list, m->frame_count, 1);
    for (uint32_t f = 0; f < m->frame_count; f++) list[f] = m->frames[f].final;
    m->final_p999 = pelt_quantile(list, m->frame_count, 0.999),
    m->final_largest = pelt_quantile(list, m->frame_count, 1);
    rate_detector(m, bar, list);
    correlate(m);
}

/* -- Playing ------------------------------------------------------------------------------------------------------- */

static bool follows(const pelt_frames *frames, uint32_t f) {
    return f > 0 && (!frames->shots || frames->shots[f] == frames->shots[f - 1]);
}

static pelt_result play_frame(playback *p, pelt_soft_cache *cache, const pelt_frames *frames, uint32_t f,
                              pelt_keys_frame *k, double *seconds, pelt_error *error) {
    pelt_soft_cache_frame_info info;
    swap(&p->now, &p->before), swap(&p->fill, &p->fill_before), swap(&p->final, &p->final_before);
    pelt_result result = pelt_frames_read(frames, f, 1, p->now, error);
    if (result) return result;
    p->controls = frames->controls ? frames->controls + (size_t)f * frames->control_count : &p->none;
    if (!follows(frames, f)) pelt_soft_cache_cut(cache);
    fill_from_keys(p, seconds);
    memset(p->computed, 0, p->keys->point_count);
    result = pelt_soft_cache_next(cache, p->controls, p->final, &info);
    if (result)
        return pelt_fail(error, result, "%s: frame %u: %s", pelt_frames_name(frames), f, pelt_result_text(result));
    *k = (pelt_keys_frame){.shot = frames->shots ? frames->shots[f] : 0,
                           .e = info.e,
                           .evaluated = info.evaluated,
                           .verdict = info.verdict};
    k->error = (float)largest_change(p, p->fill, p->now, NULL, NULL, &k->worst_point);
    p->info = info;
    k->trusted_bad = trusts_a_bad_point(p);
    k->final = (float)largest_change(p, p->final, p->now, NULL, NULL, NULL);
    if (follows(frames, f)) {
        k->jump = (float)largest_change(p, p->fill, p->now, p->fill_before, p->before, NULL);
        k->switch_jump = (float)switching_jump(p);
        k->still = (float)moved_by_itself(p);
    }
    for (size_t i = 0; i < p->frame_size; i++) p->square += pow((double)p->fill[i] - p->now[i], 2);
    return PELT_OK;
}

typedef struct measuring {
    const pelt_keys *keys;
    const pelt_frames *frames;
    pelt_keys_measure_options options;
    pelt_arena *arena;
    pelt_keys_measure *out;
} measuring;

static pelt_result measure(void *user, pelt_error *error) {
    measuring *g = user;
    const pelt_keys *keys = g->keys;
    uint32_t count = g->frames->frame_count;
    pelt_keys_measure *m = g->out = PELT_NEW(g->arena, 1, pelt_keys_measure);
    *m = (pelt_keys_measure){.frame_count = count,
                             .point_cost = g->options.point_cost,
                             .call_cost = g->options.call_cost,
                             .arena = g->arena};
    m->frames = PELT_NEW(g->arena, count, pelt_keys_frame);
    playback p = {.keys = keys, .frame_size = (size_t)keys->point_count * keys->component_count, .bar = g->options.bar};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(g->arena);
    double *list = PELT_NEW(work, count, double);
    allocate(&p, g->frames, work);
    pelt_soft_cache cache;
    pelt_engine_call call = {play, &p, control_count(g->frames)};
    pelt_soft_cache_init(&cache, keys, &g->options.soft_cache, call, p.memory);
    for (uint32_t f = 0; f < count; f++) {
        if (pelt_should_stop(&g->options.progress, "measuring", (double)f / count)) return pelt_stopped(error);
        pelt_result result = play_frame(&p, &cache, g->frames, f, &m->frames[f], &list[f], error);
        if (result) return result;
        m->witnesses += (double)p.info.witnesses / count, m->calls += (double)p.info.calls / count;
        if (g->options.look) g->options.look(g->options.look_user, f, &m->frames[f], p.now, p.fill, p.final);
    }
    m->fill_seconds = pelt_quantile(list, count, 0.5);
    m->rms = sqrt(p.square / count / keys->point_count) / keys->diagonal;
    summarise(m, g->options.bar, list);
    double full = m->call_cost + keys->point_count * m->point_cost;
    double soft = m->calls * m->call_cost + m->evaluated * m->point_cost + m->fill_seconds;
    m->speedup = full > 0 ? full / soft : 0;
    return PELT_OK;
}

static pelt_result check(const pelt_keys *keys, const pelt_frames *frames, pelt_keys_measure_options *o,
                         pelt_error *error) {
    const char *name = pelt_frames_name(frames);
    if (!frames->frame_count || !frames->point_count || !frames->read)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: there are no frames to measure", name);
    if (frames->point_count != keys->point_count || frames->component_count != keys->component_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u points of %u values, but the key points are for %u of %u",
                         name, frames->point_count, frames->component_count, keys->point_count, keys->component_count);
    if (!(o->bar >= 0 && o->bar < 1))
        return pelt_fail_option(error, "bar", " must be a fraction of the diagonal between 0 and 1, not %g", o->bar);
    if (!(o->point_cost >= 0 && isfinite(o->point_cost)))
        return pelt_fail_option(error, "point_cost", " must be a number of seconds, not %g", o->point_cost);
    if (!(o->call_cost >= 0 && isfinite(o->call_cost)))
        return pelt_fail_option(error, "call_cost", " must be a number of seconds, not %g", o->call_cost);
    if (pelt_check_soft_cache(&o->soft_cache, error)) return PELT_ERROR_ARGUMENT;
    if (!(o->bar > 0)) o->bar = 0.01;
    return PELT_OK;
}

pelt_keys_measure *pelt_keys_measure_frames(const pelt_keys *keys, const pelt_frames *frames,
                                            const pelt_keys_measure_options *options, pelt_error *error) {
    measuring g = {.keys = keys, .frames = frames};
    if (options) g.options = *options;
    if (PELT_MISSING(keys, error) || PELT_MISSING(frames, error) || check(keys, frames, &g.options, error)) return NULL;
    g.arena = pelt_arena_new(0);
    if (pelt_stage(g.arena, measure, &g, error) == PELT_OK) return g.out;
    pelt_arena_free(g.arena);
    return NULL;
}

void pelt_keys_measure_free(pelt_keys_measure *measured) {
    if (measured) pelt_arena_free(measured->arena);
}
