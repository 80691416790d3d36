/* unpack.c: turns a skin file back into a model, the inverse of pack.c. */

#include "model/model.h"

/* [block][size][16] in slot order to [vertex][size]. */
static float *from_blocks(pelt_arena *arena, const pelt_skin *skin, const float *blocks, size_t size) {
    float *out = PELT_NEW(arena, size * (size_t)skin->vertex_count, float);
    for (size_t v = 0; !pelt_arena_failed(arena) && v < skin->vertex_count; v++) {
        size_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        for (size_t c = 0; c < size; c++) out[size * v + c] = blocks[(block * size + c) * PELT_BLOCK + lane];
    }
    return out;
}

/* Visits the nonzero weights, vertex by vertex: counts them, and lists them if there is room. */
static uint32_t list_influences(const pelt_skin *skin, pelt_influences *out) {
    uint32_t count = 0;
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        for (uint32_t e = skin->block_first[block]; e < skin->block_first[block + 1]; e++) {
            float weight = skin->entry_weights[(size_t)e * PELT_BLOCK + lane];
            if (weight == 0) continue;
            if (out->joints) out->joints[count] = skin->entry_joints[e], out->weights[count] = weight;
            count++;
        }
        out->first[v + 1] = count;
    }
    return count;
}

static void unpack_influences(pelt_arena *arena, const pelt_skin *skin, pelt_influences *out) {
    out->first = PELT_NEW(arena, (size_t)skin->vertex_count + 1, uint32_t);
    if (pelt_arena_failed(arena)) return;
    uint32_t count = list_influences(skin, out);
    out->joints = PELT_NEW(arena, count, uint32_t);
    out->weights = PELT_NEW(arena, count, float);
    if (!pelt_arena_failed(arena)) list_influences(skin, out);
}

static pelt_skeleton *unpack_skeleton(pelt_arena *arena, const pelt_skin *skin) {
    uint32_t n = skin->joint_count;
    pelt_skeleton *s = PELT_NEW(arena, 1, pelt_skeleton);
    const char **names = PELT_NEW(arena, n, const char *);
    int32_t *parents = PELT_NEW(arena, n, int32_t);
    pelt_transform *rest = PELT_NEW(arena, n, pelt_transform);
    double(*inverse_bind)[12] = pelt_alloc(arena, n, sizeof *inverse_bind);
    if (pelt_arena_failed(arena)) return NULL;
    s->joint_count = n, s->names = names, s->parents = parents, s->rest = rest, s->inverse_bind = inverse_bind;
    for (uint32_t j = 0; j < n; j++) {
        s->names[j] = skin->names + skin->joints[j].name;
        s->parents[j] = skin->joints[j].parent;
        s->rest[j] = skin->joints[j].rest;
        for (int i = 0; i < 12; i++) s->inverse_bind[j][i] = skin->joints[j].inverse_bind[i];
    }
    return s;
}

pelt_result pelt_model_unpack(pelt_arena *arena, const pelt_skin *skin, pelt_model *model, pelt_error *error) {
    const char **names = PELT_NEW(arena, skin->driven_count, const char *);
    *model = (pelt_model){.skeleton = unpack_skeleton(arena, skin),
                          .vertex_count = skin->vertex_count,
                          .positions = from_blocks(arena, skin, skin->rest_positions, 3),
                          .normals = from_blocks(arena, skin, skin->rest_normals, 3),
                          .mesh_hash = skin->mesh_hash ? *skin->mesh_hash : 0,
                          .driven_count = skin->driven_count,
                          .driven = skin->driven,
                          .driven_names = names};
    if (skin->rest_tangents) model->tangents = from_blocks(arena, skin, skin->rest_tangents, 4);
    unpack_influences(arena, skin, &model->influences);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    for (uint32_t i = 0; i < skin->driven_count; i++) names[i] = skin->names + skin->driven[i].name;
    return PELT_OK;
}
