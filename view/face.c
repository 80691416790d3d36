/* face.c: key points of a face: its clips and controls, and their reconstruction next to the truth. */

#include "view/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char BINARY[] = "application/octet-stream";

pelt_result view_face_open(view_box *box, const char *path, pelt_error *error) {
    box->bytes = pelt_keys_read(path, &box->keys, error);
    if (!box->bytes) return error->code;
    if (box->keys.shared)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: its values are light, but its picture is not recorded; train it again with `pelt relight "
                         "train`",
                         path);
    if (box->keys.component_count == 3) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                     "%s: its points have %u values each; pelt view shows only positions, three values each, and light",
                     path, box->keys.component_count);
}

/* -- Clips ------------------------------------------------------------------------------------------------------- */

static const pelt_clip *bundle_clip(const view_box *box, const view_face_clip *clip) {
    return clip->input ? NULL : box->character->bundle->clips[clip->clip];
}

uint32_t view_face_frames(const view_box *box, const view_face_clip *clip) {
    const pelt_clip *own = bundle_clip(box, clip);
    return own ? own->frame_count : clip->input->frames.frame_count;
}

bool view_face_follows(const view_box *box, const view_face_clip *clip, uint32_t frame) {
    const uint32_t *shots = bundle_clip(box, clip) ? clip->shots : clip->input->frames.shots;
    return frame > 0 && shots[frame] == shots[frame - 1];
}

pelt_result view_face_read(view_box *box, const view_face_clip *clip, uint32_t frame, float *values,
                           pelt_error *error) {
    const pelt_clip *own = bundle_clip(box, clip);
    size_t row = 3 * (size_t)box->keys.point_count;
    if (own) return memcpy(values, own->positions + frame * row, row * sizeof *values), PELT_OK;
    pthread_mutex_lock(&box->reading);
    pelt_result result = clip->input->frames.read(clip->input->frames.user, frame, 1, values, error);
    pthread_mutex_unlock(&box->reading);
    return result;
}

view_face_clip *view_face_clip_at(pelt_view *view, view_place place, view_box **box) {
    *box = view_box_at(view, place.numbers[0]);
    if (!*box || (*box)->lamp || place.numbers[1] >= (*box)->clip_count) return NULL;
    return &(*box)->clips[place.numbers[1]];
}

/* -- Controls ---------------------------------------------------------------------------------------------------- */

static uint32_t clip_control_count(const view_box *box, const view_face_clip *clip) {
    if (bundle_clip(box, clip)) return clip->controls ? clip->control_count : 0;
    return clip->input->frames.controls ? clip->input->frames.control_count : 0;
}

/* Controls are matched by name with those of the training; where these have no names, all but "shot" are taken as they
   come. Returns where control c of the keys is among the bundle's, or the bundle's count. */
static uint32_t column_of(const pelt_keys *keys, const pelt_bundle *bundle, uint32_t c) {
    const char *name = pelt_keys_control_name(keys, c);
    uint32_t column = 0, count = bundle->controls.count;
    if (name) return pelt_control_named(&bundle->controls, name);
    for (; column < count; column++)
        if (strcmp(bundle->controls.names[column], "shot") && !c--) break;
    return column;
}

/* As engine/input.c numbers them: by the column "shot", or 60 frames each. */
static void number_shots(const pelt_bundle *bundle, const pelt_clip *own, uint32_t *shots) {
    uint32_t count = bundle->controls.count, column = pelt_control_named(&bundle->controls, "shot");
    for (uint32_t f = 0; f < own->frame_count; f++)
        shots[f] = own->controls && column < count ? (uint32_t)own->controls[(size_t)f * count + column] : f / 60;
}

pelt_result view_face_take_controls(const view_box *box, view_face_clip *clip, pelt_error *error) {
    const pelt_bundle *bundle = box->character->bundle;
    const pelt_clip *own = bundle->clips[clip->clip];
    uint32_t all = bundle->controls.count, others = all - (pelt_control_named(&bundle->controls, "shot") < all);
    uint32_t count = box->keys.control_count ? box->keys.control_count : others, *columns = NULL;
    clip->shots = malloc((own->frame_count + (size_t)1) * sizeof *clip->shots);
    if (!clip->shots) return pelt_no_memory(error);
    number_shots(bundle, own, clip->shots);
    if (!own->controls || !count) return PELT_OK;
    columns = malloc(count * sizeof *columns);
    clip->controls = malloc(((size_t)own->frame_count * count + 1) * sizeof *clip->controls);
    clip->control_count = count;
    pelt_result result = columns && clip->controls ? PELT_OK : pelt_no_memory(error);
    for (uint32_t c = 0; c < count && !result; c++) {
        columns[c] = column_of(&box->keys, bundle, c);
        if (columns[c] == all)
            result = pelt_fail(error, PELT_ERROR_DATA,
                               "clip %s: has no control \"%.80s\", which %s was trained with; controls are matched by "
                               "name: add a column for it",
                               own->name,
                               pelt_keys_control_name(&box->keys, c) ? pelt_keys_control_name(&box->keys, c)
                                                                     : "with that number",
                               box->name);
    }
    for (size_t i = 0; i < (size_t)own->frame_count * count && !result; i++)
        clip->controls[i] = own->controls[i / count * all + columns[i % count]];
    free(columns);
    return result;
}

/* The engine's, those that were trained with, or the first that a clip has. */
uint32_t view_face_control_count(const view_box *box) {
    if (box->rig) return view_rig_control_count(box->rig);
    if (box->keys.control_count) return box->keys.control_count;
    for (uint32_t i = 0; i < box->clip_count; i++)
        if (clip_control_count(box, &box->clips[i])) return clip_control_count(box, &box->clips[i]);
    return 0;
}

const float *view_face_controls(const view_box *box, const view_face_clip *clip, uint32_t frame) {
    uint32_t count = clip_control_count(box, clip);
    if (!count || count != view_face_control_count(box)) return NULL;
    return (clip->input ? clip->input->frames.controls : clip->controls) + (size_t)frame * count;
}

static const char *name_of_control(const view_box *box, uint32_t control, char *own, size_t size) {
    const char *name = box->rig ? view_rig_control_name(box->rig, control) : NULL;
    if (!name) name = pelt_keys_control_name(&box->keys, control);
    for (uint32_t i = 0; i < box->clip_count && !name; i++) {
        const view_face_clip *clip = &box->clips[i];
        if (!clip->input || !view_face_controls(box, clip, 0)) continue;
        const char *const *names = clip->input->frames.control_names;
        if (names) name = names[control];
    }
    if (!name) snprintf(own, size, "control %u", control + 1);
    return name ? name : own;
}

/* Its range in training, else in the clips, else from 0 to 1. */
static pelt_control_range range_of_control(const view_box *box, uint32_t control) {
    pelt_control_range range = {INFINITY, -INFINITY};
    if (box->keys.control_count == view_face_control_count(box)) return box->keys.control_ranges[control];
    for (uint32_t i = 0; i < box->clip_count; i++) {
        const float *values = view_face_controls(box, &box->clips[i], 0);
        uint32_t count = view_face_control_count(box), frames = view_face_frames(box, &box->clips[i]);
        for (size_t f = 0; values && f < frames; f++) {
            float value = values[f * count + control];
            range.low = fminf(range.low, value), range.high = fmaxf(range.high, value);
        }
    }
    return range.low <= range.high ? range : (pelt_control_range){0, 1};
}

static json_t *controls_json(const view_box *box) {
    json_t *list = json_array();
    for (uint32_t k = 0; k < view_face_control_count(box); k++) {
        char own[30];
        pelt_control_range range = range_of_control(box, k);
        double rest = fmin(fmax(0, range.low), range.high);
        list = pelt_json_append(list,
                                pelt_json_pack("{name:s, rest:f, least:f, most:f}",
                                               name_of_control(box, k, own, sizeof own), rest, range.low, range.high));
    }
    return list;
}

pelt_result view_make_face_controls(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    const view_face_clip *clip = view_face_clip_at(view, place, &box);
    const float *controls = clip ? view_face_controls(box, clip, 0) : NULL;
    if (!controls) return view_absent(error);
    size_t size = (size_t)view_face_frames(box, clip) * view_face_control_count(box) * sizeof *controls;
    void *bytes = view_bytes(out, size, BINARY, error);
    return bytes ? memcpy(bytes, controls, size), PELT_OK : PELT_ERROR_MEMORY;
}

/* -- Show -------------------------------------------------------------------------------------------------------- */

static json_t *clip_json(const view_box *box, uint32_t b, uint32_t i) {
    return pelt_json_pack(
        "{name:s, frames:u, truth:o, keyed:o, cached:o, controls:o, verdicts:o, trust:o}", box->clips[i].name,
        view_face_frames(box, &box->clips[i]), pelt_json_format("data/b%u/clip%u/truth/%%d.bin", b, i),
        pelt_json_format("data/b%u/clip%u/keyed/%%d.bin", b, i),
        pelt_json_format("data/b%u/clip%u/cached/%%d.bin", b, i),
        view_face_controls(box, &box->clips[i], 0) ? pelt_json_format("data/b%u/clip%u/controls.bin", b, i)
                                                   : json_null(),
        pelt_json_format("data/b%u/clip%u/verdicts.json", b, i), pelt_json_format("data/b%u/clip%u/trust.bin", b, i));
}

json_t *view_face_json(const pelt_view *view, view_box *box, uint32_t b) {
    const pelt_keys *keys = &box->keys;
    json_t *clips = json_array();
    for (uint32_t i = 0; i < box->clip_count; i++) clips = pelt_json_append(clips, clip_json(box, b, i));
    const char *engine = box->rig && view->options.serving ? view_rig_name(box->rig) : NULL;
    return pelt_json_pack(
        "{kind:s, name:s, mesh:o, points:u, basis:u, diagonal:f, keys:o, regions:{count:u, file:o}, controls:o, "
        "engine:s, clips:o}",
        "face", box->name, pelt_json_format("data/b%u/mesh.bin", b), keys->point_count, keys->basis_count,
        keys->diagonal, pelt_json_integers(keys->key_points, keys->key_count), keys->region_count,
        pelt_json_format("data/b%u/regions.bin", b), controls_json(box), engine, clips);
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

pelt_result view_make_regions(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_box *box = view_box_at(view, place.numbers[0]);
    if (!box || box->lamp) return view_absent(error);
    size_t count = (size_t)box->keys.point_count * PELT_POINT_REGIONS;
    uint32_t *regions = view_bytes(out, 2 * count * sizeof *regions, BINARY, error);
    if (!regions) return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) regions[i] = box->keys.point_regions[i];
    memcpy(regions + count, box->keys.point_region_weights, count * sizeof(float));
    return PELT_OK;
}

/* -- Frames ------------------------------------------------------------------------------------------------------ */

pelt_result view_make_face_truth(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    const view_face_clip *clip = view_face_clip_at(view, place, &box);
    if (!clip || place.numbers[2] >= view_face_frames(box, clip)) return view_absent(error);
    float *values = view_bytes(out, 3 * (size_t)box->keys.point_count * sizeof *values, BINARY, error);
    return values ? view_face_read(box, clip, place.numbers[2], values, error) : PELT_ERROR_MEMORY;
}

bool view_keyed_open(view_keyed *k, const pelt_keys *keys) {
    *k = (view_keyed){keys, malloc(3 * (size_t)keys->key_count * sizeof(float)),
                      malloc(3 * (size_t)keys->point_count * sizeof(float)),
                      aligned_alloc(64, pelt_keys_scratch_size(keys, 1))};
    return k->at_keys && k->points && k->scratch;
}

void view_keyed_close(view_keyed *k) { free(k->at_keys), free(k->points), free(k->scratch); }

void view_keyed_fill(view_keyed *k, pelt_misfit *misfit) {
    pelt_keys_solve(k->keys, k->at_keys, 1, k->scratch, misfit);
    pelt_keys_fill(k->keys, k->scratch, 1, pelt_keys_all_blocks(k->keys), k->points);
}

void view_keyed_trust(const view_keyed *k, float *e) {
    const pelt_keys *keys = k->keys;
    for (size_t i = 0; i < keys->key_count; i++) {
        size_t point = keys->key_points[i];
        float square = 0;
        for (size_t c = 0; c < 3; c++) square += powf(k->points[3 * point + c] - k->at_keys[3 * i + c], 2);
        e[i] = 0;
        for (size_t r = point * PELT_POINT_REGIONS; r < (point + 1) * PELT_POINT_REGIONS; r++)
            if (keys->point_region_weights[r] > 0)
                e[i] = fmaxf(e[i], sqrtf(square) / keys->bounds[keys->point_regions[r]].largest);
    }
}

pelt_result view_make_face_keyed(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    view_box *box;
    view_keyed k;
    const view_face_clip *clip = view_face_clip_at(view, place, &box);
    if (!clip || place.numbers[2] >= view_face_frames(box, clip)) return view_absent(error);
    float *values = view_bytes(out, 3 * (size_t)box->keys.point_count * sizeof *values, BINARY, error);
    if (!values) return PELT_ERROR_MEMORY;
    pelt_result result = view_keyed_open(&k, &box->keys) ? view_face_read(box, clip, place.numbers[2], values, error)
                                                         : pelt_no_memory(error);
    if (!result) {
        for (size_t i = 0; i < box->keys.key_count; i++)
            memcpy(k.at_keys + 3 * i, values + 3 * (size_t)box->keys.key_points[i], 3 * sizeof(float));
        view_keyed_fill(&k, NULL);
        memcpy(values, k.points, out->size);
    }
    view_keyed_close(&k);
    return result;
}
