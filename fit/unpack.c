/* unpack.c: a skin file becomes a model again: what pack.c did, backwards; and a skin with weights of any sign becomes
   one without negative ones. */

#include "fit/bilinear.h"
#include "fit/blend.h"
#include "fit/plain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *from_blocks(pelt_arena *arena, const pelt_skin *skin, const float *blocks) {
    float *out = PELT_NEW(arena, float, 3 * (size_t)skin->vertex_count);
    for (size_t v = 0; out && v < skin->vertex_count; v++) {
        size_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        for (size_t c = 0; c < 3; c++) out[3 * v + c] = blocks[(block * 3 + c) * PELT_BLOCK + lane];
    }
    return out;
}

static bool unpack_influences(pelt_arena *arena, const pelt_skin *skin, pelt_influences *out) {
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        uint32_t filled = 0;
        if (!pass) out->first = PELT_NEW(arena, uint32_t, (size_t)skin->vertex_count + 1);
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
        out->joints = PELT_NEW(arena, uint32_t, filled);
        out->weights = PELT_NEW(arena, float, filled);
        if (!out->joints || !out->weights) return false;
    }
    return true;
}

static pelt_skeleton *unpack_skeleton(pelt_arena *arena, const pelt_skin *skin) {
    uint32_t n = skin->joint_count;
    pelt_skeleton *s = PELT_NEW(arena, pelt_skeleton, 1);
    if (!s) return NULL;
    s->joint_count = n;
    s->names = PELT_NEW(arena, const char *, n);
    s->parents = PELT_NEW(arena, int32_t, n);
    s->rest = PELT_NEW(arena, pelt_transform, n);
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
    const char **names = PELT_NEW(arena, const char *, (size_t)skin->driven_count + 1);
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

/* -- Without negative weights ---------------------------------------------------------------------------------------
 */

enum { BATCH = 128 };

typedef struct mending {
    pelt_fitting f;
    pelt_candidates candidates;
    pelt_gram gram;
    uint32_t *candidate_of; /* [matrix] */
    float *weights;         /* of the model's influences; refitted in place */
    bool failed;
} mending;

/* The convex fit on the joints that the vertex has, with its rest position. */
static void mend_vertex(mending *m, pelt_problem *problem, uint32_t v, const double *moments, double energy,
                        bool *allowed) {
    pelt_influences *in = &m->f.model.influences;
    double rest[3];
    pelt_weights set;
    for (size_t c = 0; c < 3; c++)
        rest[c] = (m->f.model.positions[3 * (size_t)v + c] - m->gram.center[c]) / m->gram.scale;
    pelt_problem_set(problem, &m->gram, rest, moments, energy);
    memset(allowed, 0, m->gram.count * sizeof *allowed);
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) allowed[m->candidate_of[in->joints[i]]] = true;
    if (!pelt_convex_weights(problem, allowed, &set)) return;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        m->weights[i] = 0;
        for (uint32_t k = 0; k < set.count; k++)
            if (set.joints[k] == m->candidate_of[in->joints[i]]) {
                m->weights[i] = (float)set.weights[k];
                set.weights[k] = 0; /* a twin gets nothing more */
            }
    }
}

static void mend_batch(void *user, size_t batch) {
    mending *m = user;
    uint32_t begin = (uint32_t)batch * BATCH, left = m->f.model.vertex_count - begin,
             count = left < BATCH ? left : BATCH;
    size_t n = m->gram.count;
    pelt_problem *problem = pelt_problem_new(m->gram.count);
    double *work = malloc(BATCH * 3 * m->gram.examples * sizeof *work);
    double *moments = malloc(BATCH * 4 * n * sizeof *moments), energy[BATCH];
    bool *allowed = malloc(n * sizeof *allowed);
    uint32_t vertices[BATCH];
    if (problem && work && moments && allowed) {
        for (uint32_t i = 0; i < count; i++) vertices[i] = begin + i;
        pelt_gram_moments(&m->gram, vertices, count, work, moments, energy);
        for (uint32_t i = 0; i < count; i++)
            mend_vertex(m, problem, begin + i, moments + i * 4 * n, energy[i], allowed);
    } else {
        m->failed = true;
    }
    pelt_problem_free(problem);
    free(work), free(moments), free(allowed);
}

static pelt_result mend(mending *m, const pelt_skin *skin, pelt_error *error) {
    pelt_affine *matrices = NULL;
    pelt_result result = pelt_model_unpack(m->f.arena, skin, &m->f.model, error);
    if (result) return result;
    if (skin->vertex_count != m->f.bundle->mesh.vertex_count || skin->joint_count != m->f.bundle->skeleton.joint_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the skin was made for another character than %s", m->f.bundle->path);
    if (!m->f.examples.count) return pelt_fail(error, PELT_ERROR_DATA, "there are no examples to refit the weights to");
    result = pelt_example_matrices(&m->f, &matrices, error);
    if (!result) result = pelt_find_candidates(&m->f, matrices, NULL, &m->candidates, error);
    if (!result) result = pelt_gram_new(&m->f, matrices, &m->candidates, NULL, &m->gram, error);
    if (result) return result;
    m->candidate_of = PELT_NEW(m->f.arena, uint32_t, pelt_model_matrix_count(&m->f.model));
    if (!m->candidate_of) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to refit the weights");
    for (uint32_t c = 0; c < m->candidates.count; c++)
        for (uint32_t k = m->candidates.first[c]; k < m->candidates.first[c + 1]; k++)
            m->candidate_of[m->candidates.members[k]] = c;
    m->weights = m->f.model.influences.weights;
    pelt_parallel(m->f.options.threads, (skin->vertex_count + BATCH - 1) / BATCH, mend_batch, m);
    return m->failed ? pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory to refit the weights") : PELT_OK;
}

pelt_skin_bytes *pelt_fit_convex(const pelt_skin *skin, pelt_bundle *bundle, pelt_examples examples, uint32_t threads,
                                 pelt_error *error) {
    mending m = {.f = {.bundle = bundle, .examples = examples, .options = {.threads = threads}}};
    m.f.arena = pelt_arena_new(0);
    pelt_skin_bytes *out = NULL;
    if (!m.f.arena)
        pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    else if (!mend(&m, skin, error) && !pelt_drop_unused_driven(&m.f, error))
        out = pelt_model_pack(&m.f.model, error);
    pelt_arena_free(m.f.arena);
    return out;
}
