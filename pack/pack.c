/* pack.c: packs a fitted model into a skin file: blocks of 16 vertices, each with its joints and one row of 16 weights
   per joint (docs/format.md). */

#include "model/model.h"
#include "pack/pack.h"
#include "pack/sections.h"
#include <math.h>
#include <string.h>

/* Pointers in `skin` refer to memory of the arena. */
typedef struct pelt_arrangement {
    pelt_arena *arena;
    const pelt_model *model;
    uint32_t *order; /* vertex of each slot; the last block is padded with its last vertex */
    pelt_skin skin;
    uint64_t sizes[PELT_SECTION_COUNT];
} packing;

static void order_slots(packing *p) {
    uint32_t n = p->model->vertex_count;
    p->skin.vertex_count = n;
    p->skin.block_count = (n + PELT_BLOCK - 1) / PELT_BLOCK;
    p->order = PELT_NEW(p->arena, (size_t)p->skin.block_count * PELT_BLOCK, uint32_t);
    uint32_t *slots = PELT_NEW(p->arena, n, uint32_t);
    pelt_model_order(p->arena, p->model, p->order);
    for (uint32_t s = 0; s < n; s++) slots[p->order[s]] = s;
    for (uint32_t s = n; s < p->skin.block_count * PELT_BLOCK; s++) p->order[s] = p->order[n - 1];
    p->skin.vertex_slots = slots;
}

/* Appends a name to those of the skin; returns where it begins. */
static uint32_t put_name(char *names, uint32_t *end, const char *name) {
    uint32_t at = *end;
    memcpy(names + at, name, strlen(name) + 1);
    *end += (uint32_t)strlen(name) + 1;
    return at;
}

static void pack_driven(packing *p, char *names, uint32_t *end) {
    uint32_t n = p->skin.driven_count = p->model->driven_count;
    if (!n) return;
    pelt_driven *driven = PELT_NEW(p->arena, n, pelt_driven);
    for (uint32_t i = 0; i < n; i++) {
        driven[i] = p->model->driven[i];
        driven[i].name = put_name(names, end, p->model->driven_names[i]);
    }
    p->skin.driven = driven;
    p->sizes[PELT_SECTION_DRIVEN] = n * sizeof *driven;
}

static void pack_controls(packing *p, char *names, uint32_t *end) {
    uint32_t n = p->skin.control_count = p->model->control_count;
    if (!n) return;
    pelt_control *controls = PELT_NEW(p->arena, n, pelt_control);
    for (uint32_t i = 0; i < n; i++) {
        const pelt_model_control *c = &p->model->controls[i];
        controls[i] = (pelt_control){put_name(names, end, c->name), c->rest, c->least, c->most};
    }
    p->skin.controls = controls;
    p->sizes[PELT_SECTION_CONTROLS] = n * sizeof *controls;
}

/* Names of joints come first, then those of driven joints and controls. */
static void pack_joints(packing *p) {
    const pelt_skeleton *skeleton = p->model->skeleton;
    uint32_t n = p->skin.joint_count = skeleton->joint_count, end = 0;
    pelt_joint *joints = PELT_NEW(p->arena, n, pelt_joint);
    size_t names_size = 0;
    for (uint32_t j = 0; j < n; j++) names_size += strlen(skeleton->names[j]) + 1;
    for (uint32_t i = 0; i < p->model->driven_count; i++) names_size += strlen(p->model->driven_names[i]) + 1;
    for (uint32_t i = 0; i < p->model->control_count; i++) names_size += strlen(p->model->controls[i].name) + 1;
    if (names_size > UINT32_MAX) pelt_arena_fail(p->arena);
    char *names = PELT_NEW(p->arena, names_size, char);
    for (uint32_t j = 0; j < n; j++) {
        joints[j].parent = skeleton->parents[j];
        joints[j].rest = skeleton->rest[j];
        joints[j].name = put_name(names, &end, skeleton->names[j]);
        for (int i = 0; i < 12; i++) joints[j].inverse_bind[i] = (float)skeleton->inverse_bind[j][i];
    }
    p->skin.joints = joints;
    p->skin.names = names;
    p->sizes[PELT_SECTION_NAMES] = names_size;
    pack_driven(p, names, &end);
    pack_controls(p, names, &end);
}

/* The joints of one block, sorted; returns their number, at least 1. `joints` has room for those of 16 vertices. */
static uint32_t block_joints(const pelt_influences *in, const uint32_t *vertices, uint8_t *used, uint32_t joint_count,
                             uint16_t *joints) {
    uint32_t count = 0;
    for (int lane = 0; lane < PELT_BLOCK; lane++)
        for (uint32_t i = in->first[vertices[lane]]; i < in->first[vertices[lane] + 1]; i++)
            if (in->weights[i] != 0) used[in->joints[i]] = 1;
    for (uint32_t j = 0; j < joint_count; j++)
        if (used[j]) joints[count++] = (uint16_t)j, used[j] = 0;
    if (!count) joints[count++] = 0; /* vertices without any weight: a block still lists one joint */
    return count;
}

static void pack_weights(packing *p) {
    const pelt_influences *in = &p->model->influences;
    uint32_t blocks = p->skin.block_count, joint_count = pelt_model_matrix_count(p->model);
    uint32_t *first = PELT_NEW(p->arena, (size_t)blocks + 1, uint32_t);
    uint16_t *scratch = PELT_NEW(p->arena, joint_count, uint16_t);
    uint8_t *used = PELT_NEW(p->arena, joint_count, uint8_t);
    for (uint32_t b = 0; b < blocks; b++)
        first[b + 1] = first[b] + block_joints(in, p->order + (size_t)b * PELT_BLOCK, used, joint_count, scratch);
    uint16_t *joints = PELT_NEW(p->arena, first[blocks], uint16_t);
    float *weights = PELT_NEW(p->arena, (size_t)first[blocks] * PELT_BLOCK, float);
    uint32_t *row_of = PELT_NEW(p->arena, joint_count, uint32_t);
    for (uint32_t b = 0; b < blocks; b++) {
        const uint32_t *vertices = p->order + (size_t)b * PELT_BLOCK;
        uint32_t count = block_joints(in, vertices, used, joint_count, joints + first[b]);
        for (uint32_t k = 0; k < count; k++) row_of[joints[first[b] + k]] = first[b] + k;
        for (uint32_t lane = 0; lane < PELT_BLOCK; lane++)
            for (uint32_t i = in->first[vertices[lane]]; i < in->first[vertices[lane] + 1]; i++)
                if (in->weights[i] != 0) weights[(size_t)row_of[in->joints[i]] * PELT_BLOCK + lane] += in->weights[i];
    }
    p->skin.entry_count = first[blocks];
    p->skin.block_first = first;
    p->skin.entry_joints = joints;
    p->skin.entry_weights = weights;
}

/* [vertex][size] to [block][size][16] in slot order. */
static float *to_blocks(packing *p, const float *vectors, size_t size) {
    float *out = PELT_NEW(p->arena, (size_t)p->skin.block_count * size * PELT_BLOCK, float);
    for (size_t s = 0; s < (size_t)p->skin.block_count * PELT_BLOCK; s++)
        for (size_t c = 0; c < size; c++)
            out[(s / PELT_BLOCK * size + c) * PELT_BLOCK + s % PELT_BLOCK] = vectors[size * (size_t)p->order[s] + c];
    return out;
}

/* Fits may turn rest normals; keeps tangents perpendicular to them. */
static const float *tangents_across_normals(pelt_arena *arena, const pelt_model *model) {
    float *out = PELT_NEW(arena, 4 * (size_t)model->vertex_count, float);
    for (size_t v = 0; v < model->vertex_count; v++)
        pelt_unit_tangent(model->normals + 3 * v, model->tangents + 4 * v, out + 4 * v);
    return out;
}

pelt_bytes *pelt_lay_out(const pelt_arrangement *p, const pelt_account *account, pelt_error *error) {
    const pelt_bytes *facts = account->facts, *confidence = account->confidence;
    pelt_skin described = p->skin;
    const pelt_skin *skin = &described;
    described.about = account->about, described.facts = facts ? facts->bytes : NULL;
    described.confidence = confidence ? confidence->bytes : NULL;
    pelt_packed_section sections[] = {
#define SECTION(name, code, field, size, always) {code, PELT_SECTION_REQUIRED, size, skin->field},
        PELT_SECTIONS(SECTION)
#undef SECTION
    };
    static const uint8_t not_needed[] = {PELT_SECTION_ABOUT, PELT_SECTION_FACTS, PELT_SECTION_TANGENTS,
                                         PELT_SECTION_MESH_HASH, PELT_SECTION_CONFIDENCE};
    for (size_t i = 0; i < sizeof not_needed; i++) sections[not_needed[i]].flags = 0;
    for (int k = 0; k < PELT_SECTION_COUNT; k++)
        if (!sections[k].size) sections[k].size = p->sizes[k];
    sections[PELT_SECTION_ABOUT].size = strlen(account->about) + 1;
    sections[PELT_SECTION_CONFIDENCE].size = confidence ? confidence->size : 0;
    sections[PELT_SECTION_FACTS].size = facts ? facts->size : 0;
    pelt_file_header header = {.magic = PELT_MAGIC,
                               .version = PELT_FORMAT_VERSION,
                               .vertex_count = skin->vertex_count,
                               .block_count = skin->block_count,
                               .joint_count = skin->joint_count,
                               .entry_count = skin->entry_count};
    return pelt_pack_sections(&header, sections, PELT_SECTION_COUNT, error);
}

/* A skin that pelt_open would refuse must not be written: reports the reason now. */
static pelt_result check_model(const pelt_model *model, pelt_error *error) {
    if (!model->vertex_count || !model->skeleton->joint_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the character has no vertices or no joints, so no skin can be made");
    if (pelt_model_matrix_count(model) > 65536)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "there are %u joints, including driven ones; a skin can hold at most 65536",
                         pelt_model_matrix_count(model));
    for (uint32_t j = 0; j < model->skeleton->joint_count; j++) {
        const pelt_transform *rest = &model->skeleton->rest[j];
        bool finite = true;
        for (int i = 0; i < 4; i++) finite &= isfinite(rest->rotation[i]) != 0;
        for (int i = 0; i < 3; i++) finite &= isfinite(rest->translation[i]) && isfinite(rest->scale[i]);
        for (int i = 0; i < 12; i++) finite &= isfinite((float)model->skeleton->inverse_bind[j][i]) != 0;
        if (!finite)
            return pelt_fail(error, PELT_ERROR_NUMBER,
                             "joint \"%s\" has a rest transform or an inverse bind matrix that is not finite",
                             model->skeleton->names[j]);
    }
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        const float *x = model->positions + 3 * (size_t)v, *n = model->normals + 3 * (size_t)v;
        bool finite = true;
        for (int i = 0; i < 3; i++) finite &= isfinite(x[i]) && isfinite(n[i]);
        for (uint32_t i = model->influences.first[v]; i < model->influences.first[v + 1]; i++)
            finite &= isfinite(model->influences.weights[i]) != 0;
        if (!finite)
            return pelt_fail(error, PELT_ERROR_NUMBER, "vertex %u has a position, normal or weight that is not finite",
                             v);
    }
    return PELT_OK;
}

/* The model without displacements that round to 0 when stored. */
static const pelt_model *visible_model(pelt_arena *arena, const pelt_model *model) {
    const pelt_corrective *from = model->corrective;
    if (!from || !from->displacements || !model->in_16_bits) return model;
    uint32_t coefficients = pelt_corrective_coefficient_count(from), n = model->vertex_count;
    pelt_displacements *rows = PELT_NEW(arena, 2, pelt_displacements);
    pelt_corrective *corrective = PELT_NEW(arena, 1, pelt_corrective);
    pelt_model *out = PELT_NEW(arena, 1, pelt_model);
    *out = *model, *corrective = *from;
    out->corrective = corrective;
    rows[0] = pelt_visible_displacements(arena, from->displacements, n, coefficients);
    corrective->displacements = &rows[0];
    if (from->tilts) {
        rows[1] = pelt_visible_displacements(arena, from->tilts, n, coefficients);
        corrective->tilts = &rows[1];
    }
    return out;
}

static pelt_result arrange(void *user, pelt_error *error) {
    packing *p = user;
    p->model = visible_model(p->arena, p->model);
    order_slots(p);
    pack_joints(p);
    pack_weights(p);
    p->skin.rest_positions = to_blocks(p, p->model->positions, 3);
    p->skin.rest_normals = to_blocks(p, p->model->normals, 3);
    if (p->model->mesh_hash) p->skin.mesh_hash = &p->model->mesh_hash;
    if (p->model->tangents) p->skin.rest_tangents = to_blocks(p, tangents_across_normals(p->arena, p->model), 4);
    if (p->model->rings) pelt_pack_rings(p->arena, p->model, p->order, &p->skin, p->sizes);
    return pelt_pack_corrective(p->arena, p->model, p->order, &p->skin, p->sizes, error);
}

const pelt_arrangement *pelt_model_arrange(pelt_arena *arena, const pelt_model *model, pelt_error *error) {
    if (check_model(model, error)) return NULL;
    packing *p = PELT_NEW(arena, 1, packing);
    if (!p) return pelt_no_memory(error), NULL;
    *p = (packing){.arena = arena, .model = model};
    return pelt_stage(arena, arrange, p, error) ? NULL : p;
}

pelt_bytes *pelt_model_pack(const pelt_model *model, const char *about, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_arrangement *arrangement = pelt_model_arrange(arena, model, error);
    return arrangement ? pelt_lay_out(arrangement, &(pelt_account){.about = about}, error) : NULL;
}
