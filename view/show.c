/* show.c: data/show.json: the contents, and the names of everything else. */

#include "view/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *text_or_null(const char *text) { return text ? pelt_json_text(text) : json_null(); }

static json_t *named(const char *format, ...) __attribute__((format(printf, 1, 2)));
static json_t *named(const char *format, ...) {
    char name[100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return json_string(name);
}

static json_t *floats(const float *values, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, pelt_json_number(values[i]));
    return list;
}

/* -- Skeletons --------------------------------------------------------------------------------------------------- */

static json_t *joint_json(const char *name, int32_t parent, const pelt_transform *rest, const float inverse_bind[12]) {
    return json_pack("{s:o, s:i, s:{s:o, s:o, s:o}, s:o}", "name", pelt_json_text(name), "parent", (int)parent, "rest",
                     "rotation", floats(rest->rotation, 4), "translation", floats(rest->translation, 3), "scale",
                     floats(rest->scale, 3), "inverse_bind", floats(inverse_bind, 12));
}

static json_t *bundle_joints(const pelt_skeleton *skeleton) {
    json_t *list = json_array();
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        float bind[12];
        for (int i = 0; i < 12; i++) bind[i] = (float)skeleton->inverse_bind[j][i];
        json_array_append_new(list, joint_json(skeleton->names[j], skeleton->parents[j], &skeleton->rest[j], bind));
    }
    return list;
}

static json_t *skin_joints(const pelt_skin *skin) {
    json_t *list = json_array();
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        const pelt_joint *joint = &skin->joints[j];
        json_array_append_new(list,
                              joint_json(skin->names + joint->name, joint->parent, &joint->rest, joint->inverse_bind));
    }
    return list;
}

static json_t *control_json(const char *name, double rest, double least, double most) {
    return json_pack("{s:o, s:o, s:o, s:o}", "name", pelt_json_text(name), "rest", pelt_json_number(rest), "least",
                     pelt_json_number(least), "most", pelt_json_number(most));
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
        json_array_append_new(list, control_json(bundle->controls.names[k], rest, least, most));
    }
    return list;
}

static json_t *skin_controls(const pelt_skin *skin) {
    json_t *list = json_array();
    for (uint32_t k = 0; k < skin->control_count; k++) {
        const pelt_control *control = &skin->controls[k];
        json_array_append_new(list,
                              control_json(skin->names + control->name, control->rest, control->least, control->most));
    }
    return list;
}

/* -- Characters -------------------------------------------------------------------------------------------------- */

static json_t *clip_json(const view_character *character, uint32_t c, uint32_t i) {
    const pelt_bundle *bundle = character->bundle;
    const pelt_clip *clip = bundle->clips[i];
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "name", pelt_json_text(clip->name), "frames",
                     (int)clip->frame_count, "seconds",
                     clip->times ? floats(clip->times, clip->frame_count) : json_null(), "poses",
                     named("data/c%u/clip%u/poses.bin", c, i), "controls",
                     bundle->controls.count ? named("data/c%u/clip%u/controls.bin", c, i) : json_null(), "truth",
                     character->has_truth[i] ? named("data/c%u/clip%u/truth/%%d.bin", c, i) : json_null());
}

static json_t *clips_json(const view_character *character, uint32_t c) {
    json_t *list = json_array();
    for (uint32_t i = 0; character->bundle && i < character->bundle->clip_count; i++)
        json_array_append_new(list, clip_json(character, c, i));
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
    const char *bundle = pelt_facts_text(f, PELT_FACT_BUNDLE), *slash = strrchr(bundle, '/');
    json_t *clips = json_array();
    for (uint32_t i = 0; i < f->clip_count; i++)
        json_array_append_new(clips, pelt_json_text(pelt_facts_text(f, PELT_FACT_CLIPS + i)));
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "made_by",
                     pelt_json_text(pelt_facts_text(f, PELT_FACT_MADE_BY)), "bundle",
                     pelt_json_text(slash ? slash + 1 : bundle), "method", pelt_method_name((pelt_method)f->method),
                     "blend", pelt_blend_name((pelt_blend)f->blend), "corrective",
                     pelt_corrective_name((pelt_corrective_kind)f->corrective), "examples", (int)f->example_count,
                     "clips", clips, "train", measure_or_null(&f->train), "holdout", measure_or_null(&f->holdout));
}

static json_t *skins_json(const view_character *character, uint32_t c) {
    json_t *list = json_array();
    for (uint32_t s = 0; s < character->skin_count; s++) {
        const view_skin *skin = character->skins[s];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "name", pelt_json_text(skin->name), "file",
                            named("data/c%u/skin%u.pelt", c, s), "bytes", (json_int_t)skin->bytes->size, "facts",
                            facts_json(skin->skin.facts), "figures", named("data/c%u/skin%u/figures.json", c, s),
                            "errors", any_truth(character) ? named("data/c%u/skin%u/clip%%d.json", c, s) : json_null(),
                            "inside", named("data/c%u/skin%u/inside.json", c, s)));
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
    return json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", pelt_json_text(character->name),
                     "file", text_or_null(character->file), "vertices",
                     (int)(bundle ? bundle->mesh.vertex_count : first->vertex_count), "triangles",
                     (int)(bundle ? bundle->mesh.triangle_count : 0), "diagonal",
                     pelt_json_number(bundle ? bundle->mesh.diagonal : skin_diagonal(first)), "mesh",
                     named("data/c%u/mesh.bin", c), "surface", bundle ? named("data/c%u/surface.json", c) : json_null(),
                     "joints", bundle ? bundle_joints(&bundle->skeleton) : skin_joints(first), "controls",
                     bundle ? bundle_controls(bundle) : skin_controls(first), "clips", clips_json(character, c),
                     "skins", skins_json(character, c));
}

/* -- All of it --------------------------------------------------------------------------------------------------- */

pelt_result view_make_show(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)place;
    json_t *characters = json_array(), *boxes = json_array();
    bool light = false, serving = view->options.serving;
    for (uint32_t c = 0; c < view->character_count; c++)
        json_array_append_new(characters, character_json(view->characters[c], c));
    for (uint32_t b = 0; b < view->box_count; b++) {
        view_box *box = view->boxes[b];
        light |= box->lamp != NULL;
        json_array_append_new(boxes, box->lamp ? view_lamp_json(box, b) : view_face_json(box, b));
    }
    bool whole = json_array_size(characters) == view->character_count && json_array_size(boxes) == view->box_count;
    json_t *show =
        json_pack("{s:s, s:b, s:{s:b, s:b}, s:o, s:o}", "pelt", PELT_VERSION, "server", serving, "can", "fit",
                  serving && view->options.fit, "light", serving && light, "characters", characters, "boxes", boxes);
    if (whole) return view_json(out, show, error);
    json_decref(show);
    return pelt_no_memory(error);
}
