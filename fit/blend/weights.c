/* weights.c: convex weights on the skeleton's own joints, fitted to the examples (Rhee et al. section 4).

   Each point of the mesh is a problem of its own (convex.c); what joins them are options: smoothness over the edges of
   the mesh, which adds X sum_edges |w_u - w_v|^2 per example and is found by sweeps that hold the neighbours; and
   locks, which keep the file's weights of some joints or vertices. Both only shift C: with locked weights l, s = 1 -
   sum l and w = s u the residual is s sum_j u_j (p_j + q / s), q = sum l p, which is the same problem with

       C'_jk = C_jk + d_j + d_k + |q|^2 / s^2,   d_j = <p_j, q> / s. */

#include "fit/blend/bilinear.h"
#include "fit/blend/blend.h"
#include <math.h>
#include <string.h>

enum { BATCH = 256, SWEEPS = 12, REST_ROUNDS = 3, SWEEP_MOST = 16 };

/* Points whose error is more than this part of the diagonal are not explained by any joint. */
static const double unexplained = 0.05;

typedef struct weighing {
    pelt_fitting *f;
    pelt_candidates candidates;
    pelt_gram gram;
    bool *locked;               /* [candidate] or NULL */
    bool *allowed;              /* [candidate] those not locked; NULL: all */
    bool *locked_points;        /* [point] or NULL */
    pelt_neighbours neighbours; /* when smooth */
    pelt_blend_result result;
    pelt_blend_result before; /* of the sweep before, when smooth */
    uint32_t most;
    double smooth;
    bool final;
} weighing;

/* -- Locks --------------------------------------------------------------------------------------------------------- */

static pelt_result find_locks(weighing *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_names names = f->options.convex.lock_joints;
    if (names.count) {
        w->locked = PELT_NEW(f->arena, w->candidates.count, bool);
        w->allowed = PELT_NEW(f->arena, w->candidates.count, bool);
        const char *unknown = pelt_unknown_name(names, f->model.skeleton);
        if (unknown) return pelt_fail_option(error, "lock_joints", "the skeleton has no joint \"%.200s\"", unknown);
        for (uint32_t c = 0; c < w->candidates.count; c++) {
            for (uint32_t m = w->candidates.first[c]; m < w->candidates.first[c + 1]; m++)
                w->locked[c] |= pelt_name_listed(names, f->model.skeleton->names[w->candidates.members[m]]);
            w->allowed[c] = !w->locked[c];
        }
    }
    if (!f->options.convex.lock_vertex_count) return PELT_OK;
    w->locked_points = PELT_NEW(f->arena, w->f->points.count, bool);
    for (size_t i = 0; i < f->options.convex.lock_vertex_count; i++) {
        if (f->options.convex.lock_vertices[i] >= f->model.vertex_count)
            return pelt_fail_option(error, "lock_vertices", "there is no vertex %u; the mesh has %u",
                                    f->options.convex.lock_vertices[i], f->model.vertex_count);
        w->locked_points[w->f->points.of_vertex[f->options.convex.lock_vertices[i]]] = true;
    }
    return PELT_OK;
}

/* The locked weights of a point: filled in from the file; returns their sum. */
static double locked_weights(const weighing *w, uint32_t vertex, pelt_weights *locked) {
    const pelt_influences *in = &w->f->bundle->mesh.influences;
    double sum = 0;
    locked->count = 0;
    for (uint32_t c = 0; w->locked && c < w->candidates.count; c++) {
        double weight = 0;
        if (!w->locked[c]) continue;
        for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
            for (uint32_t m = w->candidates.first[c]; m < w->candidates.first[c + 1]; m++)
                if (w->candidates.members[m] == in->joints[i]) weight += in->weights[i];
        if (weight > 0 && locked->count < PELT_MOST_WEIGHTS) {
            locked->joints[locked->count] = c, locked->weights[locked->count++] = weight;
            sum += weight;
        }
    }
    return sum;
}

static void apply_locks(pelt_problem *p, const pelt_weights *locked, double free_share) {
    double square = 0;
    if (!locked->count) return;
    memset(p->gradient, 0, p->count * sizeof *p->gradient);
    for (uint32_t i = 0; i < locked->count; i++) {
        const double *column = pelt_problem_column(p, locked->joints[i]);
        for (uint32_t j = 0; j < p->count; j++) p->gradient[j] += locked->weights[i] * column[j];
    }
    for (uint32_t i = 0; i < locked->count; i++) square += locked->weights[i] * p->gradient[locked->joints[i]];
    for (uint32_t j = 0; j < p->count; j++) p->linear[j] -= p->gradient[j] / free_share;
    p->constant += square / (free_share * free_share);
    pelt_problem_forget(p);
}

/* -- Smoothness ---------------------------------------------------------------------------------------------------- */

static void apply_smoothness(const weighing *w, pelt_problem *p, uint32_t point, double free_share) {
    uint32_t begin = w->neighbours.first[point], end = w->neighbours.first[point + 1];
    double strength = w->smooth * (double)w->gram.examples, square = 0;
    if (begin == end || !w->before.counts) return;
    memset(p->gradient, 0, p->count * sizeof *p->gradient);
    for (uint32_t e = begin; e < end; e++)
        for (uint32_t i = 0; i < w->before.counts[w->neighbours.list[e]]; i++) {
            size_t at = (size_t)w->neighbours.list[e] * w->before.most + i;
            p->gradient[w->before.joints[at]] += w->before.weights[at] / free_share;
        }
    for (uint32_t j = 0; j < p->count; j++) {
        square += p->gradient[j] * p->gradient[j];
        p->linear[j] += strength * p->gradient[j];
    }
    p->diagonal += strength * (end - begin);
    p->constant += strength * square / (end - begin);
    pelt_problem_forget(p);
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

typedef struct workspace {
    pelt_problem *problem;
    double *moments, *energy;
    bool *support; /* [candidate] */
} workspace;

static void set_problem(const weighing *w, workspace *b, uint32_t point, size_t i, const double rest[3],
                        const pelt_weights *locked, double share) {
    pelt_problem_set(b->problem, &w->gram, rest, b->moments + i * 4 * w->gram.count, b->energy[i]);
    apply_locks(b->problem, locked, share);
    if (w->smooth > 0) apply_smoothness(w, b->problem, point, share);
}

/* Weights and rest position in alternation, on the joints that were chosen. */
static void refit_rest(const weighing *w, workspace *b, uint32_t point, size_t i, const pelt_weights *locked,
                       double share, double rest[3], pelt_weights *set) {
    for (int round = 0; round < REST_ROUNDS; round++) {
        pelt_weights all = *set;
        for (uint32_t k = 0; k < set->count; k++) all.weights[k] *= share;
        for (uint32_t k = 0; k < locked->count && all.count < PELT_MOST_WEIGHTS; k++) {
            all.joints[all.count] = locked->joints[k];
            all.weights[all.count++] = locked->weights[k];
        }
        pelt_rest_fit(&w->gram, &all, b->moments + i * 4 * w->gram.count, true, rest);
        set_problem(w, b, point, i, rest, locked, share);
        memset(b->support, 0, w->gram.count * sizeof *b->support);
        for (uint32_t k = 0; k < set->count; k++) b->support[set->joints[k]] = true;
        pelt_convex_weights(b->problem, b->support, set);
    }
}

/* The squared error of weights and rest position alone, without what smoothness costs. */
static double misfit(const weighing *w, workspace *b, size_t i, const double rest[3], const pelt_weights *set) {
    double sum = 0;
    pelt_problem_set(b->problem, &w->gram, rest, b->moments + i * 4 * w->gram.count, b->energy[i]);
    for (uint32_t k = 0; k < set->count; k++)
        for (uint32_t m = 0; m < set->count; m++)
            sum += set->weights[k] * set->weights[m] * pelt_problem_entry(b->problem, set->joints[k], set->joints[m]);
    return fmax(sum, 0);
}

static void fit_point(weighing *w, workspace *b, uint32_t point, size_t i) {
    uint32_t vertex = w->f->points.vertex[point];
    pelt_weights locked, set = {0};
    double held = locked_weights(w, vertex, &locked), share = 1 - held, rest[3];
    for (size_t c = 0; c < 3; c++)
        rest[c] = (w->f->bundle->mesh.positions[3 * (size_t)vertex + c] - w->gram.center[c]) / w->gram.scale;
    if (share > 1e-6) {
        set_problem(w, b, point, i, rest, &locked, share);
        uint32_t most = w->most > locked.count ? w->most - locked.count : 1;
        if (pelt_convex_weights(b->problem, w->allowed, &set)) {
            if (w->final) pelt_convex_limit(b->problem, w->allowed, most, w->f->options.convex.prune, &set);
            if (w->final && w->f->options.fitted.rest == PELT_REST_REFIT)
                refit_rest(w, b, point, i, &locked, share, rest, &set);
        } else { /* every joint is locked: the file's weights are all there is */
            for (uint32_t k = 0; k < locked.count; k++) locked.weights[k] /= held;
        }
    }
    for (uint32_t k = 0; k < set.count; k++) set.weights[k] *= share;
    for (uint32_t k = 0; k < locked.count && set.count < PELT_MOST_WEIGHTS; k++) {
        set.joints[set.count] = locked.joints[k];
        set.weights[set.count++] = locked.weights[k];
    }
    if (w->final) set.error = misfit(w, b, i, rest, &set);
    pelt_blend_store(&w->result, point, &set, rest);
}

static void fit_batch(void *user, size_t batch, pelt_arena *scratch) {
    weighing *w = user;
    uint32_t begin = (uint32_t)batch * BATCH, left = w->f->points.count - begin, count = left < BATCH ? left : BATCH;
    workspace b = {.problem = pelt_problem_new(scratch, w->gram.count),
                   .moments = PELT_NEW(scratch, BATCH * 4 * (size_t)w->gram.count, double),
                   .energy = PELT_NEW(scratch, BATCH, double),
                   .support = PELT_NEW(scratch, w->gram.count, bool)};
    double *work = PELT_NEW(scratch, BATCH * 3 * w->gram.examples, double);
    pelt_gram_moments(&w->gram, w->f->points.vertex + begin, count, work, b.moments, b.energy);
    for (uint32_t i = 0; i < count; i++) fit_point(w, &b, begin + i, i);
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

static void report(weighing *w) {
    pelt_fitting *f = w->f;
    uint32_t count = 0, first = 0;
    for (uint32_t p = w->f->points.count; p-- > 0;)
        if (sqrt(w->result.errors[p] / (double)w->gram.examples) > unexplained) count++, first = w->f->points.vertex[p];
    if (count)
        pelt_find(
            &f->report.findings, f->arena, PELT_WARNING, "unexplained",
            "%u vertices are farther than %g%% of the diagonal from where any weights put them, the first is vertex "
            "%u: no joint explains how they move",
            count, 100 * unexplained, first);
    if (3 * w->gram.examples < w->most)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "few-examples",
                  "%zu examples are fewer than the weights of a vertex need: give more, or ask for fewer influences",
                  w->gram.examples);
    pelt_report_twins(f, &w->candidates);
}

static pelt_result prepare(weighing *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_affine *matrices = NULL;
    bool *allowed = NULL;
    pelt_result result = pelt_usable_matrices(f, &allowed, error);
    if (!result) result = pelt_example_matrices(f, &matrices, error);
    if (!result) result = pelt_find_candidates(f, matrices, allowed, &w->candidates, error);
    if (!result) result = find_locks(w, error);
    if (result) return result;
    pelt_gram_new(f, matrices, &w->candidates, NULL, &w->gram);
    if (w->smooth > 0) w->neighbours = pelt_find_neighbours(f->arena, &f->bundle->mesh, &f->points);
    return PELT_OK;
}

pelt_result pelt_fit_weights(pelt_fitting *f, pelt_error *error) {
    weighing w = {
        .f = f, .most = f->options.influences ? f->options.influences : 4, .smooth = f->options.convex.smooth};
    pelt_result result = prepare(&w, error);
    if (result) return result;
    for (int round = 0; round < (w.smooth > 0 ? SWEEPS : 1); round++) {
        w.final = w.smooth <= 0 || round == SWEEPS - 1;
        w.before = w.result;
        uint32_t room = (w.final ? w.most : SWEEP_MOST) + (f->options.convex.lock_joints.count ? PELT_MOST_WEIGHTS : 0);
        w.result = pelt_blend_result_new(f->arena, f->points.count, room); /* locked joints come on top */
        if (pelt_should_stop(&f->options.progress, "weights", (double)round / SWEEPS))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        pelt_parallel(f->arena, f->options.threads, (f->points.count + BATCH - 1) / BATCH, fit_batch, &w);
    }
    report(&w);
    pelt_blend_finish(f, &w.candidates, &w.gram, &w.result, w.locked_points);
    return PELT_OK;
}
