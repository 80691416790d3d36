/* judge.c: the soft cache along a clip: what it makes of every frame, and how far it trusts the key points there. */

#include "view/show.h"
#include <math.h>
#include <string.h>

const char *const view_verdicts[PELT_CACHE_VERDICTS] = {"hit", "part", "blend", "miss", "doubt"};

/* -- Playing ----------------------------------------------------------------------------------------------------- */

/* The soft cache computes points by looking them up in the clip: in this frame, or in the one before. */
struct view_player {
    view_box *box;
    const view_face_clip *clip;
    uint32_t next;          /* frame */
    float *now, *before;    /* [point_count][3] truth of this frame and of the one before */
    float *cached;          /* [point_count][3] what the soft cache made of this frame */
    const float *controls;  /* of this frame */
    float none;             /* a place to point at if they are unknown */
    uint32_t control_count; /* 0: unknown */
    pelt_soft_cache cache;
    void *memory;
    view_keyed keyed;
};

static int look_up(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const view_player *p = user;
    const float *truth = controls == p->controls ? p->now : p->before;
    for (uint32_t i = 0; i < count; i++)
        memcpy(values + 3 * (size_t)i, truth + 3 * (size_t)points[i], 3 * sizeof(float));
    return 0;
}

void view_player_free(view_player *p) {
    if (!p) return;
    view_keyed_close(&p->keyed);
    free(p->now), free(p->before), free(p->cached), free(p->memory);
    free(p);
}

static view_player *new_player(view_box *box, const view_face_clip *clip, pelt_error *error) {
    size_t row = 3 * (size_t)box->keys.point_count * sizeof(float);
    view_player *p = calloc(1, sizeof *p);
    if (!p) return pelt_no_memory(error), NULL;
    p->box = box, p->clip = clip;
    p->control_count = view_face_controls(box, clip, 0) ? view_face_control_count(box) : 0;
    p->now = malloc(row), p->before = malloc(row), p->cached = malloc(row);
    p->memory = aligned_alloc(64, pelt_soft_cache_size(&box->keys, p->control_count));
    if (view_keyed_open(&p->keyed, &box->keys) && p->now && p->before && p->cached && p->memory) return p;
    return view_player_free(p), pelt_no_memory(error), NULL;
}

static pelt_result play_next(view_player *p, pelt_soft_cache_frame_info *info, pelt_error *error) {
    const pelt_keys *keys = &p->box->keys;
    float *before = p->now;
    uint32_t frame = p->next;
    p->now = p->before, p->before = before;
    pelt_result result = view_face_read(p->box, p->clip, frame, p->now, error);
    if (result) return result;
    p->controls = p->control_count ? view_face_controls(p->box, p->clip, frame) : &p->none;
    if (!view_face_follows(p->box, p->clip, frame))
        result = pelt_soft_cache_init(&p->cache, keys, &(pelt_soft_cache_options){.step = 0.0008f},
                                      (pelt_engine_call){look_up, p, p->control_count}, p->memory);
    if (!result) result = pelt_soft_cache_next(&p->cache, p->controls, p->cached, info);
    if (result) return pelt_fail(error, result, "%s: frame %u: %s", p->clip->name, frame, pelt_result_text(result));
    p->next++;
    return PELT_OK;
}

/* The first frame of the shot that a frame belongs to. */
static uint32_t shot_start(const view_box *box, const view_face_clip *clip, uint32_t frame) {
    while (view_face_follows(box, clip, frame)) frame--;
    return frame;
}

/* What a frame becomes depends on those before it in its shot: goes on from the last one asked for, if it can. */
static pelt_result play_to(pelt_view *view, view_box *box, const view_face_clip *clip, uint32_t frame,
                           pelt_error *error) {
    view_player *p = box->player;
    if (!p || p->clip != clip) {
        view_player_free(p);
        box->player = p = new_player(box, clip, error);
        if (!p) return PELT_ERROR_MEMORY;
    }
    uint32_t start = shot_start(box, clip, frame);
    if (p->next > frame + 1 || p->next <= start) p->next = start;
    pelt_result result = PELT_OK;
    while (p->next <= frame && !result) {
        result = play_next(p, NULL, error);
        if (!result && atomic_load(&view->stop)) result = pelt_fail(error, PELT_ERROR_CANCELLED, "pelt view is ending");
    }
    if (result) view_player_free(p), box->player = NULL;
    return result;
}

pelt_result view_make_face_cached(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    pelt_error own;
    if (!error) error = &own;
    const view_face_clip *clip = view_face_clip_at(view, place, &box);
    if (!clip || place.numbers[2] >= view_face_frames(box, clip)) return view_absent(error);
    float *values =
        view_bytes(out, 3 * (size_t)box->keys.point_count * sizeof *values, "application/octet-stream", error);
    if (!values) return PELT_ERROR_MEMORY;
    pthread_mutex_lock(&box->playing);
    pelt_result result = play_to(view, box, clip, place.numbers[2], error);
    if (!result) memcpy(values, box->player->cached, out->size);
    pthread_mutex_unlock(&box->playing);
    return result;
}

/* -- Verdicts ---------------------------------------------------------------------------------------------------- */

typedef struct distances {
    json_t *rms, *max;
} distances;

static void add_distances(distances *d, const float *a, const float *b, size_t points) {
    double most = 0, sum = 0;
    for (size_t p = 0; p < points; p++) {
        double square = 0;
        for (size_t i = 3 * p; i < 3 * p + 3; i++) square += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        most = fmax(most, square), sum += square;
    }
    d->rms = pelt_json_append(d->rms, pelt_json_number(sqrt(sum / (double)points)));
    d->max = pelt_json_append(d->max, pelt_json_number(sqrt(most)));
}

typedef struct judging {
    json_t *verdict, *misfit, *e, *evaluated;
    distances keyed, cached;
    float *trust;
} judging;

static pelt_result judge_frame(view_player *p, judging *j, pelt_error *error) {
    const pelt_keys *keys = &p->box->keys;
    pelt_soft_cache_frame_info info;
    float *trust = j->trust + (size_t)p->next * (keys->region_count + keys->key_count);
    pelt_result result = play_next(p, &info, error);
    if (result) return result;
    for (size_t i = 0; i < keys->key_count; i++)
        memcpy(p->keyed.at_keys + 3 * i, p->now + 3 * (size_t)keys->key_points[i], 3 * sizeof(float));
    view_keyed_fill(&p->keyed, NULL);
    pelt_soft_cache_regions(&p->cache, trust);
    view_keyed_trust(&p->keyed, trust + keys->region_count);
    j->verdict = pelt_json_append(j->verdict, json_string(view_verdicts[info.verdict]));
    j->misfit = pelt_json_append(j->misfit, pelt_json_number(info.misfit.e));
    j->e = pelt_json_append(j->e, pelt_json_number(info.e));
    j->evaluated = pelt_json_append(j->evaluated, json_integer(info.evaluated));
    add_distances(&j->keyed, p->keyed.points, p->now, keys->point_count);
    add_distances(&j->cached, p->cached, p->now, keys->point_count);
    return PELT_OK;
}

/* Stores the trust too, unless someone else was faster. */
static void keep_trust(pelt_view *view, view_face_clip *clip, float *trust) {
    pthread_mutex_lock(&view->texts);
    if (!clip->trust) clip->trust = trust, trust = NULL;
    pthread_mutex_unlock(&view->texts);
    free(trust);
}

static pelt_result judge(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    pelt_error own;
    if (!error) error = &own;
    view_face_clip *clip = view_face_clip_at(view, place, &box);
    uint32_t count = view_face_frames(box, clip);
    size_t each = box->keys.region_count + box->keys.key_count;
    judging j = {json_array(),
                 json_array(),
                 json_array(),
                 json_array(),
                 {json_array(), json_array()},
                 {json_array(), json_array()},
                 calloc(count * each + 1, sizeof(float))};
    view_player *player = new_player(box, clip, error);
    pelt_result result = player && j.trust ? PELT_OK : pelt_no_memory(error);
    while (!result && player->next < count) {
        result = judge_frame(player, &j, error);
        if (atomic_load(&view->stop)) result = pelt_fail(error, PELT_ERROR_CANCELLED, "pelt view is ending");
    }
    view_player_free(player);
    json_t *object =
        pelt_json_pack("{verdict:o, misfit:o, e:o, evaluated:o, keyed:{rms:o, max:o}, cached:{rms:o, max:o}}",
                       j.verdict, j.misfit, j.e, j.evaluated, j.keyed.rms, j.keyed.max, j.cached.rms, j.cached.max);
    if (!result && object) keep_trust(view, clip, j.trust), j.trust = NULL;
    free(j.trust);
    if (!result) return view_json(out, object, error);
    json_decref(object);
    return result;
}

pelt_result view_make_face_verdicts(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    view_face_clip *clip = view_face_clip_at(view, place, &box);
    if (!clip) return view_absent(error);
    return view_stored(view, &clip->verdicts, out, judge, place, error);
}

/* Known as soon as the verdicts are. */
pelt_result view_make_face_trust(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    view_face_clip *clip = view_face_clip_at(view, place, &box);
    pelt_resource verdicts = {0};
    pelt_result result = view_make_face_verdicts(view, place, &verdicts, error);
    free(verdicts.bytes);
    if (result) return result;
    size_t size = (size_t)view_face_frames(box, clip) * (box->keys.region_count + box->keys.key_count) * sizeof(float);
    void *bytes = view_bytes(out, size, "application/octet-stream", error);
    return bytes ? memcpy(bytes, clip->trust, size), PELT_OK : PELT_ERROR_MEMORY;
}
