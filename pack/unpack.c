/* unpack.c: a skin file becomes a model again: what pack.c did, backwards. */

#include "pack/model.h"

static float *from_blocks(pelt_arena *arena, const pelt_skin *skin, const float *blocks) {
    float *out = PELT_NEW(arena, 3 * (size_t)skin->vertex_count, float);
    for (size_t v = 0; out && v < skin->vertex_count; v++) {
        size_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        for (size_t c = 0; c < 3; c++) out[3 * v + c] = blocks[(block * 3 + c) * PELT_BLOCK + lane];
    }
    return out;
}

static bool unpack_influences(pelt_arena *arena, const pelt_skin *skin, pelt_influences *out) {
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        uint32_t filled = 0;
        if (!pass) out->first = PELT_NEW(arena, (size_t)skin->vertex_count + 1, uint32_t);
        if (!out->first) return false;
        for (uint32_t v = 0; v < skin->vertex_count; v++) {
            uint32_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
            for (uint32_t e = skin->block_first[block]; e < skin->block_first[block + 1]; e++) {
                float weight = skin->entry_weights[(size_t)e * PELT_BLOCK + lane];
                if (weight == 0) continue;
                if (pass) out->joints[filled] = skin->entry_joints[e], out->weights[filled] = weight;
                filled++;
            }
            out->first[v + 1] = filled;
        }
        if (pass) return true;
        out->joints = PELT_NEW(arena, filled, uint32_t);
        out->weights = PELT_NEW(arena, filled, float);
        if (!out->joints || !out->weights) return false;
    }
    return true;
}

static pelt_skeleton *unpack_skeleton(pelt_arena *arena, const pelt_skin *skin) {
    uint32_t n = skin->joint_count;
    pelt_skeleton *s = PELT_NEW(arena, 1, pelt_skeleton);
    if (!s) return NULL;
    s->joint_count = n;
    s->names = PELT_NEW(arena, n, const char *);
    s->parents = PELT_NEW(arena, n, int32_t);
    s->rest = PELT_NEW(arena, n, pelt_transform);
    s->inverse_bind = pelt_alloc(arena, n, sizeof *s->inverse_bind);
    if (!s->names || !s->parents || !s->rest || !s->inverse_bind) return NULL;
    for (uint32_t j = 0; j < n; j++) {
        s->names[j] = skin->names + skin->joints[j].name;
        s->parents[j] = skin->joints[j].parent;
        s->rest[j] = skin->joints[j].rest;
        for (int i = 0; i < 12; i++) s->inverse_bind[j][i] = skin->joints[j].inverse_bind[i];
    }
    return s;
}

pelt_result pelt_model_unpack(pelt_arena *arena, const pelt_skin *skin, pelt_model *model, pelt_error *error) {
    const char **names = PELT_NEW(arena, (size_t)skin->driven_count + 1, const char *);
    *model = (pelt_model){.skeleton = unpack_skeleton(arena, skin),
                          .vertex_count = skin->vertex_count,
                          .positions = from_blocks(arena, skin, skin->rest_positions),
                          .normals = from_blocks(arena, skin, skin->rest_normals),
                          .driven_count = skin->driven_count,
                          .driven = skin->driven,
                          .driven_names = names,
                          .about = skin->about};
    if (!names || !model->skeleton || !model->positions || !model->normals ||
        !unpack_influences(arena, skin, &model->influences))
        return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to unpack the skin");
    for (uint32_t i = 0; i < skin->driven_count; i++) names[i] = skin->names + skin->driven[i].name;
    return PELT_OK;
}
