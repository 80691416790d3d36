/* joints.c: Mohr & Gleicher's skins: joints driven by the pose are added to the skeleton (driven_choice.c), every point
   follows a few of them, and weights of any sign are fitted together with rest positions. The choice of joints, and how
   the points of a mesh depend on each other, follow the paper (joints_paper.c) or our own method, which keeps the skin
   smooth (joints_smooth.c). */

#include "fit/blend/joints.h"
#include "fit/blend/bilinear.h"
#include <math.h>
#include <string.h>

/* Default weight of normals. */
static const double usual_normal_scale = 0.01;

/* Default price of a squared weight. It hardly changes the error, but keeps weights small where joints move nearly
   alike: large ones that cancel would need more than single precision. */
static const double usual_ridge = 1e-7;

/* -- Normals ------------------------------------------------------------------------------------------------------- */

/* Vertices of a point that shade as one form a facet. */
static void find_facets(pelt_joining *w) {
    pelt_facets *t = &w->facets;
    const pelt_mesh *mesh = &w->f->bundle->mesh;
    const pelt_points *points = &w->f->points;
    uint32_t n = mesh->vertex_count, *next = PELT_NEW(w->f->arena, n, uint32_t);
    uint32_t *head = PELT_NEW(w->f->arena, points->count, uint32_t);
    *t = (pelt_facets){.first = PELT_NEW(w->f->arena, (size_t)points->count + 1, uint32_t),
                       .vertex = PELT_NEW(w->f->arena, n, uint32_t),
                       .of_vertex = PELT_NEW(w->f->arena, n, uint32_t),
                       .normals = pelt_alloc(w->f->arena, n, sizeof *t->normals)};
    for (uint32_t v = n; v-- > 0;) next[v] = head[points->of_vertex[v]], head[points->of_vertex[v]] = v + 1;
    for (uint32_t p = 0; p < points->count; p++) {
        t->first[p] = t->count;
        for (uint32_t v = head[p]; v; v = next[v - 1]) {
            uint32_t found = t->first[p], leader = pelt_shading_leader(w->smoothing, v - 1);
            while (found < t->count && t->vertex[found] != leader) found++;
            t->of_vertex[v - 1] = found;
            if (found < t->count) continue;
            t->vertex[t->count++] = leader;
        }
    }
    t->first[points->count] = t->count;
}

/* Initialises them from the file. */
static void set_normals(pelt_joining *w) {
    const float *file = w->f->bundle->mesh.normals;
    for (uint32_t i = 0; i < w->facets.count; i++)
        for (size_t c = 0; c < 3; c++) w->facets.normals[i][c] = file[3 * (size_t)w->facets.vertex[i] + c];
}

typedef struct shading {
    const pelt_smoothing *smoothing;
    const pelt_example *examples;
    float *computed; /* [example][vertex][3] of clips without normals of their own */
    size_t size;     /* of an example's */
} shading;

static void shade_example(void *user, size_t e, pelt_arena *scratch) {
    (void)scratch;
    const shading *s = user;
    pelt_true_normals(s->smoothing, &s->examples[e], s->computed + s->size * e);
}

/* The facets of some points of one home, which need the same rows. */
static void sum_piece(void *user, size_t at, pelt_arena *scratch) {
    pelt_joining *w = user;
    const pelt_piece *some = &w->homes.pieces[at];
    uint32_t near = w->homes.near_count[some->home], total = 0, *vertices, *facets;
    for (uint32_t i = 0; i < some->count; i++) {
        uint32_t p = w->homes.order[some->begin + i];
        total += w->facets.first[p + 1] - w->facets.first[p];
    }
    vertices = PELT_NEW(scratch, total, uint32_t), facets = PELT_NEW(scratch, total, uint32_t);
    total = 0;
    for (uint32_t i = 0; i < some->count; i++) {
        uint32_t p = w->homes.order[some->begin + i];
        for (uint32_t f = w->facets.first[p]; f < w->facets.first[p + 1]; f++)
            vertices[total] = w->facets.vertex[f], facets[total++] = f;
    }
    pelt_gram gram = pelt_gram_subset(scratch, &w->normal_gram, w->homes.known[some->home], near, true);
    double *work = PELT_NEW(scratch, total * 3 * w->gram.examples, double);
    double *moments = PELT_NEW(scratch, total * 4 * (size_t)near, double), *energy = PELT_NEW(scratch, total, double);
    pelt_gram_moments(&gram, vertices, total, work, moments, energy);
    for (uint32_t i = 0; i < total; i++) {
        memcpy(w->facets.moments[facets[i]], moments + i * 4 * (size_t)near, 4 * near * sizeof *moments);
        w->facets.energy[facets[i]] = energy[i];
    }
}

/* Sums over the normals of the examples. */
static void sum_normals(pelt_joining *w, const pelt_affine *matrices) {
    pelt_fitting *f = w->f;
    size_t n = 3 * (size_t)f->bundle->mesh.vertex_count, examples = f->examples.count;
    const float **normals = PELT_NEW(f->arena, examples, const float *);
    float *all = PELT_NEW(f->arena, n * examples, float);
    shading shade = {w->smoothing, f->examples.list, all, n};
    PELT_SPREAD(f->arena, f->options.threads, examples, shade_example, &shade, {all, n * sizeof *all});
    for (size_t e = 0; e < examples; e++) {
        const pelt_clip *clip = f->examples.list[e].clip;
        normals[e] = clip->normals ? clip->normals + n * f->examples.list[e].frame : all + n * e;
    }
    pelt_gram_new(f, matrices, &w->candidates, false, normals, &w->normal_gram);
    w->facets.energy = PELT_NEW(f->arena, w->facets.count, double);
    w->facets.moments = PELT_NEW(f->arena, w->facets.count, double *);
    size_t room = 0, at = 0;
    for (uint32_t p = 0; p < f->points.count; p++)
        room += (w->facets.first[p + 1] - w->facets.first[p]) * 4 * (size_t)w->homes.near_count[w->homes.home[p]];
    double *moments = PELT_NEW(f->arena, room, double);
    for (uint32_t p = 0; p < f->points.count; p++)
        for (uint32_t i = w->facets.first[p]; i < w->facets.first[p + 1]; i++) {
            w->facets.moments[i] = moments + at;
            at += 4 * (size_t)w->homes.near_count[w->homes.home[p]];
        }
    PELT_SPREAD(f->arena, f->options.threads, w->homes.piece_count, sum_piece, w,
                {moments, .total = room * sizeof *moments},
                {w->facets.energy, .total = w->facets.count * sizeof *w->facets.energy});
}

void pelt_joining_fit_normals(pelt_joining *w, uint32_t point, const pelt_weights *set) {
    const uint32_t *place = w->homes.place[w->homes.home[point]];
    double moments[4 * PELT_MOST_WEIGHTS];
    for (uint32_t i = w->facets.first[point]; i < w->facets.first[point + 1]; i++) {
        for (uint32_t k = 0; k < set->count; k++)
            memcpy(moments + 4 * k, w->facets.moments[i] + 4 * (size_t)place[set->joints[k]], 4 * sizeof *moments);
        pelt_rest_fit(&w->normal_gram, set, moments, false, w->facets.normals[i]);
    }
}

static void store_normals(pelt_joining *w) {
    size_t n = w->f->bundle->mesh.vertex_count;
    float *normals = PELT_NEW(w->f->arena, 3 * n, float);
    for (size_t v = 0; v < n; v++) {
        const double *fitted = w->facets.normals[w->facets.of_vertex[v]];
        const float *file = w->f->model.normals + 3 * v;
        double length = sqrt(fitted[0] * fitted[0] + fitted[1] * fitted[1] + fitted[2] * fitted[2]);
        bool locked = w->locks.points && w->locks.points[w->f->points.of_vertex[v]];
        bool sound = !locked && isfinite(length) && length > 1e-6;
        for (size_t c = 0; c < 3; c++) normals[3 * v + c] = sound ? (float)(fitted[c] / length) : file[c];
    }
    w->f->model.normals = normals;
}

/* -- Problems ------------------------------------------------------------------------------------------------------ */

void pelt_joining_rest(const pelt_joining *w, uint32_t point, double rest[3]) {
    const float *position = w->f->bundle->mesh.positions + 3 * (size_t)w->f->points.vertex[point];
    for (int c = 0; c < 3; c++) rest[c] = (position[c] - w->gram.center[c]) / w->gram.rest_scale;
}

void pelt_joining_problem(const pelt_joining *w, uint32_t point, const double rest[3], const pelt_gram *gram,
                          const pelt_gram *normal_gram, pelt_problem *problem) {
    uint32_t begin = w->facets.first[point], end = w->facets.first[point + 1];
    pelt_problem_set(problem, gram, rest, w->tension.own[point], w->tension.energy[point][0]);
    for (uint32_t i = begin; i < end && w->with_normals; i++) /* together they have the weight of one */
        pelt_problem_add_normals(problem, normal_gram, w->facets.normals[i], w->facets.moments[i], w->facets.energy[i],
                                 w->normal_scale / sqrt(end - begin));
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

/* An option: its value if above 0, off if below, otherwise the default, which is 0 for the paper's method. */
static double setting(double option, double usual, bool rigid) {
    return option > 0 ? option : option < 0 || rigid ? 0 : usual;
}

static pelt_result prepare(pelt_joining *w, pelt_affine **matrices, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_result result = pelt_choose_driven(f, error);
    if (!result) result = pelt_begin_blend(f, matrices, &w->candidates, &w->locks, error);
    if (result) return result;
    pelt_gram_new(f, *matrices, &w->candidates, !w->rigid || f->options.fitted.smooth > 0, NULL, &w->gram);
    w->neighbours = pelt_find_neighbours(f->arena, &f->bundle->mesh, &f->points);
    pelt_find_homes(w);
    if (!w->rigid) pelt_know_neighbours(&w->homes, &w->neighbours, f->points.count);
    double strength = setting(f->options.fitted.smooth, PELT_LEAST_STRENGTH, w->rigid);
    pelt_tension_new(f, &w->gram, &w->homes, w->neighbours, strength, &w->tension);
    w->find_strength = strength > 0 && f->options.fitted.smooth == 0;
    w->smoothing = pelt_smoothing_of(f->arena, &f->bundle->mesh, f->examples);
    find_facets(w);
    set_normals(w);
    if (w->with_normals) sum_normals(w, *matrices);
    w->result = pelt_blend_result_new(f->arena, f->points.count, w->most);
    w->deficient = PELT_NEW(f->arena, w->f->points.count, uint8_t);
    w->rest_deficient = PELT_NEW(f->arena, w->f->points.count, uint8_t);
    return PELT_OK;
}

/* Reports how the fit converged, and where it was rank-deficient. */
static void report(pelt_joining *w) {
    pelt_fitting *f = w->f;
    double *rms = PELT_NEW(f->arena, w->round_count, double), largest = 0;
    uint32_t *deficient = PELT_NEW(f->arena, f->points.count, uint32_t), count = 0;
    uint32_t *rest = PELT_NEW(f->arena, f->points.count, uint32_t), rest_count = 0;
    for (uint32_t round = 0; round < w->round_count; round++)
        rms[round] = sqrt(w->rounds[round] / ((double)f->points.count * (double)w->gram.examples));
    for (size_t i = 0; i < (size_t)f->points.count * w->most; i++) largest = fmax(largest, fabs(w->result.weights[i]));
    for (uint32_t p = 0; p < f->points.count; p++)
        if (w->deficient[p]) deficient[count++] = f->points.vertex[p];
    for (uint32_t p = 0; p < f->points.count && w->refit; p++)
        if (w->rest_deficient[p]) rest[rest_count++] = f->points.vertex[p];
    f->report.blend_fit = (pelt_blend_findings){.candidate_count = w->candidates.count,
                                                .driven_count = f->model.driven_count,
                                                .round_count = w->round_count,
                                                .round_rms = rms,
                                                .largest_weight = largest,
                                                .ridge = w->ridge,
                                                .deficient_count = count,
                                                .deficient = deficient,
                                                .rest_deficient_count = rest_count,
                                                .rest_deficient = rest};
    if (count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "rank-deficient",
                  "%u vertices are rank-deficient (the first is vertex %u): their joints move too similarly in the "
                  "examples to determine their weights, so the smallest weights that fit were used",
                  count, deficient[0]);
    if (rest_count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "rest-deficient",
                  "the rest positions of %u vertices are rank-deficient (the first is vertex %u): their blend is "
                  "singular in all examples, so they keep the file's position in the undetermined directions",
                  rest_count, rest[0]);
    if (3 * w->gram.examples < w->most + 2)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "few-examples",
                  "%zu examples are too few for the unknowns of a vertex: add examples, or allow fewer influences",
                  w->gram.examples);
    pelt_report_twins(f, &w->candidates);
}

static void finish(pelt_joining *w) {
    pelt_blend_finish(w->f, &w->candidates, &w->gram, &w->result, w->locks.points);
    if (w->with_normals && w->refit) store_normals(w);
    pelt_drop_unused_driven(w->f->arena, &w->f->model);
}

pelt_result pelt_fit_joints(pelt_fitting *f, pelt_error *error) {
    const pelt_fit_options *o = &f->options;
    bool rigid = o->joints.influence_choice == PELT_CHOICE_RIGIDITY;
    pelt_joining w = {.f = f,
                      .most = o->influences ? o->influences : 4,
                      .refit = o->fitted.rest == PELT_REST_REFIT,
                      .rigid = rigid,
                      .ridge = setting(o->joints.ridge, usual_ridge, rigid),
                      .normal_scale = setting(o->joints.normal_scale, usual_normal_scale, rigid)};
    w.with_normals = w.normal_scale > 0;
    pelt_affine *matrices = NULL;
    pelt_result result = prepare(&w, &matrices, error);
    if (!result) result = rigid ? pelt_join_rigid(&w, matrices, error) : pelt_join_smooth(&w, error);
    if (result) return result;
    report(&w);
    finish(&w);
    return PELT_OK;
}
