/* refit_convex.c: removes the negative weights from a skin by refitting. */

#include "fit/blend/blend.h"
#include <string.h>

enum { BATCH = 128 };

typedef struct mending {
    const pelt_skin *skin;
    pelt_fitting f;
    pelt_candidates candidates;
    pelt_gram gram;
    uint32_t *candidate_of; /* [matrix] */
    float *weights;         /* the model's influences, refitted in place */
} mending;

/* The convex fit over the vertex's joints, with its rest position fixed. */
static void mend_vertex(mending *m, pelt_problem *problem, uint32_t v, const double *moments, double energy,
                        bool *allowed) {
    pelt_influences *in = &m->f.model.influences;
    double rest[3];
    pelt_weights set;
    for (size_t c = 0; c < 3; c++)
        rest[c] = (m->f.model.positions[3 * (size_t)v + c] - m->gram.center[c]) / m->gram.rest_scale;
    pelt_problem_set(problem, &m->gram, rest, moments, energy);
    memset(allowed, 0, m->gram.count * sizeof *allowed);
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) allowed[m->candidate_of[in->joints[i]]] = true;
    if (!pelt_convex_weights(problem, allowed, &set)) return;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        m->weights[i] = 0;
        for (uint32_t k = 0; k < set.count; k++)
            if (set.joints[k] == m->candidate_of[in->joints[i]]) {
                m->weights[i] = (float)set.weights[k];
                set.weights[k] = 0; /* the rest of its twins get 0 */
            }
    }
}

static void mend_batch(void *user, size_t batch, pelt_arena *scratch) {
    mending *m = user;
    uint32_t begin = (uint32_t)batch * BATCH, left = m->f.model.vertex_count - begin,
             count = left < BATCH ? left : BATCH;
    size_t n = m->gram.count;
    pelt_problem *problem = pelt_problem_new(scratch, m->gram.count);
    double *work = PELT_NEW(scratch, BATCH * 3 * m->gram.examples, double);
    double *moments = PELT_NEW(scratch, BATCH * 4 * n, double), energy[BATCH];
    bool *allowed = PELT_NEW(scratch, n, bool);
    uint32_t vertices[BATCH];
    for (uint32_t i = 0; i < count; i++) vertices[i] = begin + i;
    pelt_gram_moments(&m->gram, vertices, count, work, moments, energy);
    for (uint32_t i = 0; i < count; i++) mend_vertex(m, problem, begin + i, moments + i * 4 * n, energy[i], allowed);
}

static pelt_result mend(void *user, pelt_error *error) {
    mending *m = user;
    const pelt_skin *skin = m->skin;
    pelt_affine *matrices = NULL;
    pelt_result result = pelt_model_unpack(m->f.arena, skin, &m->f.model, error);
    if (result) return result;
    if (skin->vertex_count != m->f.bundle->mesh.vertex_count || skin->joint_count != m->f.bundle->skeleton.joint_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the skin was made for a character other than %s", m->f.bundle->path);
    if ((result = pelt_check_mesh(m->f.model.mesh_hash, m->f.bundle, error))) return result;
    if (!m->f.examples.count) return pelt_fail(error, PELT_ERROR_DATA, "there are no examples to refit the weights to");
    if ((result = pelt_check_examples(m->f.bundle, m->f.examples, true, error))) return result;
    result = pelt_example_matrices(&m->f, &matrices, error);
    if (!result) result = pelt_find_candidates(&m->f, matrices, NULL, &m->candidates, error);
    if (result) return result;
    pelt_gram_new(&m->f, matrices, &m->candidates, false, NULL, &m->gram);
    m->candidate_of = PELT_NEW(m->f.arena, pelt_model_matrix_count(&m->f.model), uint32_t);
    for (uint32_t c = 0; c < m->candidates.count; c++)
        for (uint32_t k = m->candidates.first[c]; k < m->candidates.first[c + 1]; k++)
            m->candidate_of[m->candidates.members[k]] = c;
    m->weights = m->f.model.influences.weights;
    pelt_parallel(m->f.arena, m->f.options.threads, (skin->vertex_count + BATCH - 1) / BATCH, mend_batch, m);
    pelt_drop_unused_driven(m->f.arena, &m->f.model);
    return PELT_OK;
}

pelt_bytes *pelt_fit_convex(const pelt_skin *skin, pelt_bundle *bundle, pelt_examples examples, uint32_t threads,
                            pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(bundle, error)) return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    mending m = {.f = {.bundle = bundle, .examples = examples, .options = {.threads = threads}, .arena = arena},
                 .skin = skin};
    return pelt_stage(arena, mend, &m, error) ? NULL : pelt_model_pack(&m.f.model, "{}", error);
}
