/* show.c: data/show.json: the contents, and the names of everything else. */

#include "view/show.h"
#include "rig/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- Skeletons --------------------------------------------------------------------------------------------------- */

static json_t *joint_json(const char *name, int32_t parent, const pelt_transform *rest, const float inverse_bind[12]) {
    return pelt_json_pack("{name:s, parent:i, rest:{rotation:v4, translation:v3, scale:v3}, inverse_bind:v12}", name,
                          parent, rest->rotation, rest->translation, rest->scale, inverse_bind);
}

static json_t *bundle_joints(const pelt_skeleton *skeleton) {
    json_t *list = json_array();
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        float bind[12];
        for (int i = 0; i < 12; i++) bind[i] = (float)skeleton->inverse_bind[j][i];
        list = pelt_json_append(list, joint_json(skeleton->names[j], skeleton->parents[j], &skeleton->rest[j], bind));
    }
    return list;
}

static json_t *skin_joints(const pelt_skin *skin) {
    json_t *list = json_array();
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        const pelt_joint *joint = &skin->joints[j];
        list = pelt_json_append(
            list, joint_json(skin->names + joint->name, joint->parent, &joint->rest, joint->inverse_bind));
    }
    return list;
}

static json_t *control_json(const char *name, double rest, double least, double most) {
    return pelt_json_pack("{name:s, rest:f, least:f, most:f}", name, rest, least, most);
}

/* Their ranges over the clips. */
static json_t *bundle_controls(const pelt_bundle *bundle) {
    json_t *list = json_array();
    uint32_t count = bundle->controls.count;
    for (uint32_t k = 0; k < count; k++) {
        double rest = bundle->controls.rest[k], least = rest, most = rest;
        for (uint32_t c = 0; c < bundle->clip_count; c++) {
            const pelt_clip *clip = bundle->clips[c];
            for (size_t f = 0; clip->controls && f < clip->frame_count; f++) {
                double value = clip->controls[f * count + k];
                least = fmin(least, value), most = fmax(most, value);
            }
        }
        list = pelt_json_append(list, control_json(bundle->controls.names[k], rest, least, most));
    }
    return list;
}

static json_t *skin_controls(const pelt_skin *skin) {
    json_t *list = json_array();
    for (uint32_t k = 0; k < skin->control_count; k++) {
        const pelt_control *control = &skin->controls[k];
        list = pelt_json_append(
            list, control_json(skin->names + control->name, control->rest, control->least, control->most));
    }
    return list;
}

/* -- Characters -------------------------------------------------------------------------------------------------- */

static json_t *clip_json(const view_character *character, uint32_t c, uint32_t i) {
    const pelt_bundle *bundle = character->bundle;
    const pelt_clip *clip = bundle->clips[i];
    return pelt_json_pack("{name:s, frames:u, seconds:o, poses:o, controls:o, truth:o}", clip->name, clip->frame_count,
                          clip->times ? pelt_json_floats(clip->times, clip->frame_count) : json_null(),
                          pelt_json_format("data/c%u/clip%u/poses.bin", c, i),
                          bundle->controls.count ? pelt_json_format("data/c%u/clip%u/controls.bin", c, i) : json_null(),
                          character->has_truth[i] ? pelt_json_format("data/c%u/clip%u/truth/%%d.bin", c, i)
                                                  : json_null());
}

static json_t *clips_json(const view_character *character, uint32_t c) {
    json_t *list = json_array();
    for (uint32_t i = 0; character->bundle && i < character->bundle->clip_count; i++)
        list = pelt_json_append(list, clip_json(character, c, i));
    return list;
}

static bool any_truth(const view_character *character) {
    bool any = false;
    for (uint32_t i = 0; character->bundle && i < character->bundle->clip_count; i++) any |= character->has_truth[i];
    return any;
}

static json_t *measure_or_null(const pelt_fact_measure *m) {
    return m->frame_count ? view_measure_json(m) : json_null();
}

/* A skin's facts about its fit; null: made by an older pelt, or not by a fit. */
static json_t *facts_json(const pelt_facts *f) {
    if (!f) return json_null();
    const char *bundle = pelt_facts_text(f, PELT_FACT_BUNDLE);
    json_t *clips = json_array();
    for (uint32_t i = 0; i < f->clip_count; i++)
        clips = pelt_json_append(clips, pelt_json_text(pelt_facts_text(f, PELT_FACT_CLIPS + i)));
    return pelt_json_pack(
        "{made_by:s, bundle:s, method:s, blend:s, corrective:s, examples:u, clips:o, train:o, holdout:o}",
        pelt_facts_text(f, PELT_FACT_MADE_BY), pelt_base_name(bundle), pelt_method_name((pelt_method)f->method),
        pelt_blend_name((pelt_blend)f->blend), pelt_corrective_name((pelt_corrective_kind)f->corrective),
        f->example_count, clips, measure_or_null(&f->train), measure_or_null(&f->holdout));
}

/* What the method was chosen from, as the skin's text says; null: it was given. */
static json_t *choice_json(const pelt_skin *skin) {
    json_t *about = skin->about ? json_loads(skin->about, 0, NULL) : NULL;
    json_t *choice = json_incref(json_object_get(about, "choice"));
    json_decref(about);
    return choice ? choice : json_null();
}

static json_t *skins_json(const view_character *character, uint32_t c) {
    json_t *list = json_array();
    bool any = any_truth(character);
    for (uint32_t s = 0; s < character->skin_count; s++) {
        const view_skin *skin = character->skins[s];
        if (atomic_load(&skin->unlisted)) continue;
        list = pelt_json_append(
            list,
            pelt_json_pack(
                "{index:u, name:s, file:o, bytes:z, facts:o, choice:o, figures:o, errors:o, measure:o, vertices:o, "
                "inside:o}",
                s, skin->name, pelt_json_format("data/c%u/skin%u.pelt", c, s), skin->bytes->size,
                facts_json(skin->skin.facts), choice_json(&skin->skin),
                pelt_json_format("data/c%u/skin%u/figures.json", c, s),
                any ? pelt_json_format("data/c%u/skin%u/clip%%d.json", c, s) : json_null(),
                any ? pelt_json_format("data/c%u/skin%u/clip%%d/measure.json", c, s) : json_null(),
                any ? pelt_json_format("data/c%u/skin%u/clip%%d/vertices.bin", c, s) : json_null(),
                pelt_json_format("data/c%u/skin%u/inside.json", c, s)));
    }
    return list;
}

static double skin_diagonal(const pelt_skin *skin) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double square = 0;
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t slot = skin->vertex_slots[v];
        for (uint32_t i = 0; i < 3; i++) {
            float x = skin->rest_positions[(3 * (slot / 16) + i) * 16 + slot % 16];
            low[i] = fminf(low[i], x), high[i] = fmaxf(high[i], x);
        }
    }
    for (int i = 0; i < 3; i++) square += ((double)high[i] - low[i]) * ((double)high[i] - low[i]);
    return sqrt(square);
}

static json_t *character_json(const view_character *character, uint32_t c) {
    const pelt_bundle *bundle = character->bundle;
    const pelt_skin *first = character->skin_count ? &character->skins[0]->skin : NULL;
    return pelt_json_pack(
        "{name:s, file:s, vertices:u, triangles:u, diagonal:f, fix:b, diagnosis:o, mesh:o, regions:o, surface:o, "
        "joints:o, "
        "controls:o, clips:o, skins:o}",
        character->name, character->file, bundle ? bundle->mesh.vertex_count : first->vertex_count,
        bundle ? bundle->mesh.triangle_count : 0, bundle ? pelt_scene_diagonal(&bundle->mesh) : skin_diagonal(first),
        bundle && bundle->cache.fix, bundle ? pelt_json_format("data/c%u/diagnosis.json", c) : json_null(),
        pelt_json_format("data/c%u/mesh.bin", c), bundle ? pelt_json_format("data/c%u/joints.bin", c) : json_null(),
        bundle ? pelt_json_format("data/c%u/surface.json", c) : json_null(),
        bundle ? bundle_joints(&bundle->skeleton) : skin_joints(first),
        bundle ? bundle_controls(bundle) : skin_controls(first), clips_json(character, c), skins_json(character, c));
}

/* -- All of it --------------------------------------------------------------------------------------------------- */

pelt_result view_make_show(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)place;
    json_t *characters = json_array(), *boxes = json_array();
    bool light = false, serving = view->options.serving;
    for (uint32_t c = 0; c < view->character_count; c++)
        characters = pelt_json_append(characters, character_json(view->characters[c], c));
    for (uint32_t b = 0; b < view->box_count; b++) {
        view_box *box = view->boxes[b];
        light |= box->lamp != NULL;
        bool file = box->lamp && view->relights && view_lamp_is_whole(box->lamp);
        boxes = pelt_json_append(boxes, box->lamp ? view_lamp_json(box, b, file) : view_face_json(view, box, b));
    }
    json_t *show =
        pelt_json_pack("{pelt:s, server:b, fitter:b, can:{fit:b, light:b, sample:b}, live:o, characters:o, boxes:o}",
                       PELT_VERSION, serving, view->options.with_fit, serving && view->options.fit, serving && light,
                       serving && view->options.sample, view_live_json(view->live), characters, boxes);
    return view_json(out, show, error);
}

/* How much there is: a page that was opened earlier asks this now and then, to learn of what has come since. */
pelt_result view_make_counts(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)place;
    uint32_t skins = 0;
    for (uint32_t c = 0; c < view->character_count; c++) skins += view->characters[c]->skin_count;
    return view_json(
        out, pelt_json_pack("{characters:u, skins:u, boxes:u}", view->character_count, skins, view->box_count), error);
}
