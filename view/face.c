/* face.c: key points of a face: their reconstruction of its clips, next to the truth. */

#include "view/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char BINARY[] = "application/octet-stream";

static const pelt_clip *bundle_clip(const view_box *box, const view_face_clip *clip) {
    return clip->file ? NULL : box->character->bundle->clips[clip->clip];
}

static uint32_t frame_count(const view_box *box, const view_face_clip *clip) {
    const pelt_clip *own = bundle_clip(box, clip);
    return own ? own->frame_count : clip->frames.frame_count;
}

/* The true points of a frame, [point_count][3]. */
static pelt_result read_truth(view_box *box, const view_face_clip *clip, uint32_t frame, float *values,
                              pelt_error *error) {
    const pelt_clip *own = bundle_clip(box, clip);
    size_t row = 3 * (size_t)box->keys.point_count;
    if (own) return memcpy(values, own->positions + frame * row, row * sizeof *values), PELT_OK;
    pthread_mutex_lock(&box->reading);
    pelt_result result = clip->frames.read(clip->frames.user, frame, 1, values, error);
    pthread_mutex_unlock(&box->reading);
    return result;
}

/* -- Show -------------------------------------------------------------------------------------------------------- */

static json_t *clip_json(const view_box *box, uint32_t b, uint32_t i) {
    return pelt_json_pack("{name:s, frames:u, truth:o, keyed:o, verdicts:o}", box->clips[i].name,
                          frame_count(box, &box->clips[i]), pelt_json_format("data/b%u/clip%u/truth/%%d.bin", b, i),
                          pelt_json_format("data/b%u/clip%u/keyed/%%d.bin", b, i),
                          pelt_json_format("data/b%u/clip%u/verdicts.json", b, i));
}

json_t *view_face_json(view_box *box, uint32_t b) {
    const pelt_keys *keys = &box->keys;
    json_t *clips = json_array();
    for (uint32_t i = 0; i < box->clip_count; i++) clips = pelt_json_append(clips, clip_json(box, b, i));
    return pelt_json_pack("{kind:s, name:s, mesh:o, points:u, basis:u, diagonal:f, keys:o, clips:o}", "face", box->name,
                          pelt_json_format("data/b%u/mesh.bin", b), keys->point_count, keys->basis_count,
                          keys->diagonal, pelt_json_integers(keys->key_points, keys->key_count), clips);
}

/* The mesh of the character, or the mean of the points. */
pelt_result view_make_box_mesh(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_box *box = view_box_at(view, place.numbers[0]);
    if (!box || box->lamp) return view_absent(error);
    const pelt_mesh *mesh = box->character ? &box->character->bundle->mesh : NULL;
    if (mesh)
        return view_pack_mesh(mesh->positions, mesh->normals, mesh->vertex_count, mesh->triangles, mesh->triangle_count,
                              out, error);
    size_t count = 3 * (size_t)box->keys.point_count;
    float *values = calloc(2 * count, sizeof *values);
    if (!values) return pelt_no_memory(error);
    for (size_t i = 0; i < count && !box->keys.shared; i++) values[i] = box->keys.mean[i];
    for (size_t v = 0; v < count; v += 3) values[count + v + 2] = 1;
    pelt_result result = view_pack_mesh(values, values + count, box->keys.point_count, NULL, 0, out, error);
    free(values);
    return result;
}

/* -- Frames ------------------------------------------------------------------------------------------------------ */

static view_face_clip *clip_at(pelt_view *view, view_place place, view_box **box) {
    *box = view_box_at(view, place.numbers[0]);
    if (!*box || (*box)->lamp || place.numbers[1] >= (*box)->clip_count) return NULL;
    return &(*box)->clips[place.numbers[1]];
}

pelt_result view_make_face_truth(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    const view_face_clip *clip = clip_at(view, place, &box);
    if (!clip || place.numbers[2] >= frame_count(box, clip)) return view_absent(error);
    float *values = view_bytes(out, 3 * (size_t)box->keys.point_count * sizeof *values, BINARY, error);
    return values ? read_truth(box, clip, place.numbers[2], values, error) : PELT_ERROR_MEMORY;
}

/* All points from those at the keys. */
typedef struct keyed {
    const pelt_keys *keys;
    float *truth, *at_keys, *points;
    void *scratch;
} keyed;

static bool keyed_open(keyed *k, const pelt_keys *keys) {
    size_t row = 3 * (size_t)keys->point_count;
    *k = (keyed){keys, malloc(row * sizeof(float)), malloc(3 * (size_t)keys->key_count * sizeof(float)),
                 malloc(row * sizeof(float)), aligned_alloc(64, pelt_keys_scratch_size(keys, 1))};
    return k->truth && k->at_keys && k->points && k->scratch;
}

static void keyed_close(keyed *k) { free(k->truth), free(k->at_keys), free(k->points), free(k->scratch); }

static void keyed_fill(keyed *k, pelt_misfit *misfit) {
    for (uint32_t i = 0; i < k->keys->key_count; i++)
        memcpy(k->at_keys + 3 * (size_t)i, k->truth + 3 * (size_t)k->keys->key_points[i], 3 * sizeof(float));
    pelt_keys_solve(k->keys, k->at_keys, 1, k->scratch, misfit);
    pelt_keys_fill(k->keys, k->scratch, 1, pelt_keys_all_blocks(k->keys), k->points);
}

pelt_result view_make_face_keyed(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    keyed k;
    const view_face_clip *clip = clip_at(view, place, &box);
    if (!clip || place.numbers[2] >= frame_count(box, clip)) return view_absent(error);
    pelt_result result =
        keyed_open(&k, &box->keys) ? read_truth(box, clip, place.numbers[2], k.truth, error) : pelt_no_memory(error);
    float *values = result ? NULL : view_bytes(out, 3 * (size_t)box->keys.point_count * sizeof *values, BINARY, error);
    if (values) {
        keyed_fill(&k, NULL);
        memcpy(values, k.points, out->size);
    }
    keyed_close(&k);
    return result ? result : values ? PELT_OK : PELT_ERROR_MEMORY;
}

/* -- Verdicts ---------------------------------------------------------------------------------------------------- */

/* The soft cache computes points by looking them up in the clip; the frame's number serves as its controls. */
typedef struct looking_up {
    view_box *box;
    const view_face_clip *clip;
    float *frame; /* values of the last frame read */
    uint32_t which;
    pelt_error error;
} looking_up;

static int look_up(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    looking_up *l = user;
    uint32_t frame = (uint32_t)controls[0];
    if (frame != l->which && read_truth(l->box, l->clip, frame, l->frame, &l->error)) return 1;
    l->which = frame;
    for (uint32_t i = 0; i < count; i++)
        memcpy(values + 3 * (size_t)i, l->frame + 3 * (size_t)points[i], 3 * sizeof(float));
    return 0;
}

static double largest_error(const float *a, const float *b, size_t points) {
    double most = 0;
    for (size_t p = 0; p < points; p++) {
        double square = 0;
        for (size_t i = 3 * p; i < 3 * p + 3; i++) square += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        most = fmax(most, square);
    }
    return sqrt(most);
}

typedef struct verdicts {
    json_t *verdict, *misfit, *error;
} verdicts;

static pelt_result judge_frame(pelt_soft_cache *cache, looking_up *l, keyed *k, uint32_t frame, float *values,
                               verdicts *v, pelt_error *error) {
    static const char *const names[PELT_CACHE_VERDICTS] = {"hit", "part", "blend", "miss", "doubt"};
    pelt_soft_cache_frame_info info;
    float number = (float)frame;
    pelt_result result = pelt_soft_cache_next(cache, &number, values, &info);
    if (result && l->error.code) return *error = l->error, l->error.code;
    if (result) return pelt_fail(error, result, "%s: frame %u: %s", l->clip->name, frame, pelt_result_text(result));
    result = read_truth(l->box, l->clip, frame, k->truth, error);
    if (result) return result;
    keyed_fill(k, NULL);
    v->verdict = pelt_json_append(v->verdict, json_string(names[info.verdict]));
    v->misfit = pelt_json_append(v->misfit, pelt_json_number(info.misfit.e));
    v->error = pelt_json_append(v->error, pelt_json_number(largest_error(k->points, k->truth, k->keys->point_count)));
    return PELT_OK;
}

static pelt_result judge(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    const view_face_clip *clip = clip_at(view, place, &box);
    const pelt_keys *keys = &box->keys;
    size_t row = 3 * (size_t)keys->point_count;
    pelt_error own;
    if (!error) error = &own;
    verdicts v = {json_array(), json_array(), json_array()};
    keyed k;
    bool ready = keyed_open(&k, keys);
    looking_up l = {.box = box, .clip = clip, .frame = malloc(row * sizeof(float)), .which = UINT32_MAX};
    void *memory = aligned_alloc(64, pelt_soft_cache_size(keys, 1));
    float *values = malloc(row * sizeof *values);
    pelt_soft_cache cache;
    pelt_result result = ready && l.frame && memory && values ? PELT_OK : pelt_no_memory(error);
    if (!result)
        result = pelt_soft_cache_init(&cache, keys, &(pelt_soft_cache_options){.step = 0.0008f},
                                      (pelt_engine_call){look_up, &l, 1}, memory);
    uint32_t count = frame_count(box, clip);
    for (uint32_t f = 0; f < count && !result; f++) {
        result = judge_frame(&cache, &l, &k, f, values, &v, error);
        if (atomic_load(&view->stop)) result = pelt_fail(error, PELT_ERROR_CANCELLED, "pelt view is ending");
    }
    keyed_close(&k);
    free(l.frame), free(memory), free(values);
    json_t *object = pelt_json_pack("{verdict:o, misfit:o, error:o}", v.verdict, v.misfit, v.error);
    if (!result) return view_json(out, object, error);
    json_decref(object);
    return result;
}

pelt_result view_make_face_verdicts(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    view_face_clip *clip = clip_at(view, place, &box);
    if (!clip) return view_absent(error);
    return view_stored(view, &clip->verdicts, out, judge, place, error);
}
