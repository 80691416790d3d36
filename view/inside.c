/* inside.c: the contents of a corrective: joint supports and their eigendisplacements (Kry, James & Pai 2002, figures 3
   and 5), read back from the skin. */

#include "view/show.h"
#include "runtime/skin.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- Reading ----------------------------------------------------------------------------------------------------- */

static bool displaces(const view_inside *in, uint32_t coefficient) {
    uint32_t t = in->target_of[coefficient];
    return t != UINT32_MAX && in->targets.positions[t].count;
}

static bool moves(const view_inside *in, const pelt_source *s) {
    for (uint32_t k = s->first; k < s->first + s->count; k++)
        if (displaces(in, k)) return true;
    return s->kind == PELT_SOURCE_WEIGHTED;
}

/* "spine0+spine1"; or a control if there is no joint. */
static void name_source(const pelt_skin *skin, const pelt_source *s, char *name, size_t size) {
    size_t used = 0;
    *name = 0;
    for (uint32_t i = 0; i < s->joint_count + s->control_count && used + 1 < size; i++) {
        uint32_t at =
            i < s->joint_count ? skin->joints[s->joints[i]].name : skin->controls[s->controls[i - s->joint_count]].name;
        int length = snprintf(name + used, size - used, "%s%s", used ? "+" : "", skin->names + at);
        used += length > 0 ? (size_t)length : 0;
    }
}

static pelt_result read_inside(view_inside *in, const pelt_skin *skin, pelt_error *error) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    char name[1000];
    in->sources = pelt_skin_sources(in->arena, skin);
    if (head && !head->weighted) {
        pelt_result result = pelt_skin_targets_of(in->arena, skin, false, &in->targets, error);
        if (result) return result;
        in->coefficient_count = head->coefficient_count;
    }
    in->target_of = PELT_NEW(in->arena, in->coefficient_count, uint32_t);
    in->supports = PELT_NEW(in->arena, in->sources.count, uint32_t);
    in->singular = PELT_NEW(in->arena, in->sources.count, view_singular);
    if (pelt_arena_failed(in->arena)) return pelt_no_memory(error);
    for (uint32_t k = 0; k < in->coefficient_count; k++) in->target_of[k] = UINT32_MAX;
    for (uint32_t t = 0; t < in->targets.count; t++) in->target_of[in->targets.coefficients[t]] = t;
    for (uint32_t i = 0; i < in->sources.count; i++) {
        const pelt_source *s = &in->sources.list[i];
        if (!moves(in, s)) continue;
        name_source(skin, s, name, sizeof name);
        view_singular *singular = &in->singular[in->support_count];
        if (s->kind == PELT_SOURCE_RBF) singular->values = pelt_facts_singular(skin->facts, name, &singular->count);
        in->supports[in->support_count++] = i;
    }
    return PELT_OK;
}

pelt_result view_read_inside(view_skin *skin, pelt_error *error) {
    if (skin->inside) return PELT_OK;
    view_inside *in = calloc(1, sizeof *in);
    if (!in) return pelt_no_memory(error);
    in->arena = pelt_arena_new(0);
    pelt_result result = read_inside(in, &skin->skin, error);
    if (result)
        view_inside_free(in);
    else
        skin->inside = in;
    return result;
}

void view_inside_free(view_inside *in) {
    if (!in) return;
    pelt_arena_free(in->arena);
    free(in);
}

/* -- JSON -------------------------------------------------------------------------------------------------------- */

static const char *kind_name(const pelt_skin *skin, const pelt_source *s) {
    switch (s->kind) {
    case PELT_SOURCE_RBF:
        return skin->facts && skin->facts->corrective == PELT_CORRECTIVE_EIGEN ? "eigen" : "psd";
    case PELT_SOURCE_KERNEL:
        return "kernel";
    case PELT_SOURCE_FEATURES:
        return "features";
    default:
        return "weighted";
    }
}

/* How far a source displaces each vertex, [vertex_count]: its largest displacement, scaled to the size in the examples
   if known. Returns the maximum. */
static float displaced(const view_skin *skin, uint32_t support, float *amounts) {
    const view_inside *in = skin->inside;
    const pelt_source *s = &in->sources.list[in->supports[support]];
    const view_singular *singular = &in->singular[support];
    float most = 0;
    memset(amounts, 0, skin->skin.vertex_count * sizeof *amounts);
    if (s->kind == PELT_SOURCE_WEIGHTED) pelt_skin_axis_weights(&skin->skin, in->supports[support], amounts);
    for (uint32_t k = 0, rank = 0; k < s->count; k++) {
        if (!displaces(in, s->first + k)) continue;
        const pelt_target *target = &in->targets.positions[in->target_of[s->first + k]];
        double size = !singular->values ? 1 : rank < singular->count ? singular->values[rank++] : 0;
        for (uint32_t i = 0; i < target->count; i++) {
            const float *d = target->deltas + 3 * (size_t)i;
            float length = (float)size * sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            amounts[target->vertices[i]] = fmaxf(amounts[target->vertices[i]], length);
        }
    }
    for (uint32_t v = 0; v < skin->skin.vertex_count; v++) most = fmaxf(most, amounts[v]);
    return most;
}

static json_t *singular_json(const view_singular *s) {
    json_t *array = s->values ? json_array() : json_null();
    for (uint32_t i = 0; i < s->count; i++) array = pelt_json_append(array, pelt_json_number(s->values[i]));
    return array;
}

/* Coefficients that displace something; others only change normals. */
static json_t *displacing(const view_inside *in, const pelt_source *s) {
    json_t *array = json_array();
    for (uint32_t k = s->first; k < s->first + s->count; k++)
        if (displaces(in, k)) array = pelt_json_append(array, json_integer(k));
    return array;
}

static json_t *support_json(const view_skin *skin, view_place place, uint32_t support, float *amounts) {
    const view_inside *in = skin->inside;
    const pelt_source *s = &in->sources.list[in->supports[support]];
    char name[1000];
    uint32_t points = 0;
    displaced(skin, support, amounts);
    for (uint32_t v = 0; v < skin->skin.vertex_count; v++) points += amounts[v] > 0;
    name_source(&skin->skin, s, name, sizeof name);
    if (s->joint_count + s->control_count > 4) snprintf(name, sizeof name, "part %u", support + 1);
    return pelt_json_pack(
        "{joint:o, joints:o, controls:o, name:s, kind:s, singular_values:o, points:u, weights:o, coefficients:o}",
        s->joint_count ? json_integer(s->joints[0]) : json_null(), pelt_json_integers(s->joints, s->joint_count),
        pelt_json_integers(s->controls, s->control_count), name, kind_name(&skin->skin, s),
        singular_json(&in->singular[support]), points,
        pelt_json_format("data/c%u/skin%u/support%u.bin", place.numbers[0], place.numbers[1], support),
        displacing(in, s));
}

pelt_result view_make_inside(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    const view_inside *in = skin->inside;
    float *amounts = malloc((skin->skin.vertex_count + 1) * sizeof *amounts);
    json_t *supports = amounts ? json_array() : NULL;
    for (uint32_t i = 0; supports && i < in->support_count; i++)
        supports = pelt_json_append(supports, support_json(skin, place, i, amounts));
    free(amounts);
    json_t *file = in->coefficient_count
                       ? pelt_json_format("data/c%u/skin%u/displacement%%d.bin", place.numbers[0], place.numbers[1])
                       : json_null();
    json_t *object =
        pelt_json_pack("{supports:o, displacements:o, coefficients:u}", supports, file, in->coefficient_count);
    return view_json(out, object, error);
}

/* -- Arrays ------------------------------------------------------------------------------------------------------ */

pelt_result view_make_support(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (place.numbers[2] >= skin->inside->support_count) return view_absent(error);
    float *amounts = view_bytes(out, skin->skin.vertex_count * sizeof *amounts, "application/octet-stream", error);
    if (!amounts) return PELT_ERROR_MEMORY;
    float most = displaced(skin, place.numbers[2], amounts);
    for (uint32_t v = 0; v < skin->skin.vertex_count && most > 0; v++) amounts[v] /= most;
    return PELT_OK;
}

pelt_result view_make_displacement(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    const view_inside *in = skin->inside;
    if (place.numbers[2] >= in->coefficient_count) return view_absent(error);
    size_t size = 3 * (size_t)skin->skin.vertex_count * sizeof(float);
    float *all = view_bytes(out, size, "application/octet-stream", error);
    if (!all) return PELT_ERROR_MEMORY;
    memset(all, 0, size);
    uint32_t t = in->target_of[place.numbers[2]];
    const pelt_target *target = t == UINT32_MAX ? NULL : &in->targets.positions[t];
    for (uint32_t i = 0; target && i < target->count; i++)
        memcpy(all + 3 * (size_t)target->vertices[i], target->deltas + 3 * (size_t)i, 3 * sizeof *all);
    return PELT_OK;
}
