/* joints.c: Mohr & Gleicher's skins: joints driven by the pose are added to the skeleton (drive.c), every vertex
   chooses a few (influences.c), and weights and rest positions are fitted in alternation (bilinear.c), weights first.

   Greedy choice is limited to joints near the vertex in the skeleton, or it would take joints of other limbs that
   happen to move alike in the examples. So points that the file binds to the same joint share their candidates, and are
   worked on together with sums of just those.

   Among many candidates there are always some that are nearly as good as each other. Vertices that choose alone then
   differ from their neighbours for nothing, and the skin is rough where it should be smooth. So after the choice a
   vertex takes over the joints of a neighbour when that costs it little: it minimises

       error of its own fit with those joints  x  (1 + agreement x part of the neighbours that have other joints). */

#include "fit/blend/bilinear.h"
#include "fit/blend/blend.h"
#include "fit/blend/influences.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512, ROUNDS = 3, REACH = 3, AGREE_ROUNDS = 6 };

/* What a squared weight costs, in squared diagonals per example; and the smallest singular value, as a part of the
   largest, that is not taken as 0. */
static const double usual_ridge = 1e-5, singular_cut = 1e-3;

/* How much normals count, when nothing is said, and how much it is worth to a vertex to have its neighbours' joints. */
static const double usual_normal_scale = 0.01, agreement = 0.5;

/* Points with the same home, which share their candidates; few enough for one piece of parallel work. */
typedef struct chunk {
    uint32_t home, begin, count; /* points order[begin], ... */
} chunk;

typedef struct joining {
    pelt_fitting *f;
    pelt_candidates candidates;
    pelt_gram gram, normal_gram;
    bool with_normals, refit, rigid;
    uint32_t most;
    double ridge;
    uint32_t *near_first, *near; /* candidates near each joint */
    uint32_t *home;              /* [point] the joint that the file binds it to most */
    uint32_t *order;             /* [point] points by home */
    chunk *chunks;
    uint32_t chunk_count;
    double **moments;               /* [chunk][point of it][4 near]; of positions, then of normals */
    double **normal_moments;        /* the same, or NULL */
    double *energy, *normal_energy; /* [place in the order] */
    pelt_neighbours neighbours;
    uint32_t *identity;              /* [candidate] its own number */
    uint8_t *changed, *next_changed; /* [point] its set changed in the last round */
    uint32_t *sets, *next_sets; /* [point][most + 1]: number of joints, joints; what the neighbours see, and the next */
    double normal_scale;
    double *inverses; /* rigidity: [candidate][12][examples] */
    bool *usable;     /* rigidity: [candidate] */
    pelt_blend_result result;
    double (*errors)[ROUNDS + 1]; /* [point] before each change of the rest position */
    uint8_t *deficient;           /* [point] singular values that were zeroed */
    float *normals;               /* [point][3] fitted rest normals, or NULL */
} joining;

/* -- Near in the skeleton ------------------------------------------------------------------------------------------ */

/* The joint that a matrix belongs to. */
static uint32_t home_of(const pelt_model *model, uint32_t matrix) {
    uint32_t joints = model->skeleton->joint_count;
    return matrix < joints ? matrix : model->driven[matrix - joints].driver;
}

/* Steps between two joints along the skeleton, over a common ancestor. */
static uint32_t steps_between(const pelt_skeleton *skeleton, uint32_t a, uint32_t b) {
    uint32_t steps = 0;
    while (a != b) { /* parents come first: the later of the two is not an ancestor of the other */
        uint32_t *later = a > b ? &a : &b;
        if (skeleton->parents[*later] < 0) return UINT32_MAX;
        *later = (uint32_t)skeleton->parents[*later], steps++;
    }
    return steps;
}

static void list_near(joining *w) {
    const pelt_model *model = &w->f->model;
    uint32_t joints = model->skeleton->joint_count, count = 0;
    w->near_first = PELT_NEW(w->f->arena, (size_t)joints + 1, uint32_t);
    w->near = PELT_NEW(w->f->arena, (size_t)joints * w->candidates.count, uint32_t);
    for (uint32_t j = 0; j < joints; j++) {
        for (uint32_t c = 0; c < w->candidates.count; c++) {
            bool is_near = false; /* a candidate is as near as the nearest of its twins */
            for (uint32_t m = w->candidates.first[c]; m < w->candidates.first[c + 1] && !is_near; m++)
                is_near =
                    w->rigid || steps_between(model->skeleton, j, home_of(model, w->candidates.members[m])) <= REACH;
            if (is_near) w->near[count++] = c;
        }
        if (count == w->near_first[j]) /* nothing is near: then everything is */
            for (uint32_t c = 0; c < w->candidates.count; c++) w->near[count++] = c;
        w->near_first[j + 1] = count;
    }
}

static void find_homes(joining *w) {
    const pelt_influences *in = &w->f->bundle->mesh.influences;
    w->home = PELT_NEW(w->f->arena, w->f->points.count, uint32_t);
    for (uint32_t p = 0; p < w->f->points.count; p++) {
        float most = 0;
        for (uint32_t i = in->first[w->f->points.vertex[p]]; i < in->first[w->f->points.vertex[p] + 1]; i++)
            if (in->weights[i] > most) most = in->weights[i], w->home[p] = in->joints[i];
    }
}

/* -- Rigidity ------------------------------------------------------------------------------------------------------ */

/* Where example e stands in an order in which any few in a row are spread over all: every 17th, then the next ones. */
static size_t mixed(size_t e, size_t count) {
    enum { STEP = 17 };
    size_t full = count / STEP, longer = count % STEP, turn = e % STEP;
    return turn * full + (turn < longer ? turn : longer) + e / STEP;
}

static void invert_matrices(joining *w, const pelt_affine *matrices) {
    uint32_t stride = pelt_model_matrix_count(&w->f->model), n = w->candidates.count;
    size_t examples = w->gram.examples;
    w->inverses = PELT_NEW(w->f->arena, (size_t)n * 12 * examples, double);
    w->usable = PELT_NEW(w->f->arena, n, bool);
    for (uint32_t c = 0; c < n; c++) {
        w->usable[c] = true;
        for (size_t e = 0; e < examples; e++) {
            pelt_affine inverse;
            w->usable[c] &=
                pelt_affine_invert(&matrices[e * stride + w->candidates.members[w->candidates.first[c]]], &inverse);
            for (size_t k = 0; k < 12; k++)
                w->inverses[((size_t)c * 12 + k) * examples + mixed(e, examples)] = inverse.m[k];
        }
    }
}

/* -- Chunks -------------------------------------------------------------------------------------------------------- */

/* Points by home, cut into chunks. */
static void make_chunks(joining *w) {
    uint32_t joints = w->f->model.skeleton->joint_count, n = w->f->points.count;
    uint32_t *first = PELT_NEW(w->f->arena, (size_t)joints + 1, uint32_t);
    w->order = PELT_NEW(w->f->arena, n, uint32_t);
    w->chunks = PELT_NEW(w->f->arena, (size_t)joints + n / CHUNK + 1, chunk);
    for (uint32_t p = 0; p < n; p++) first[w->home[p] + 1]++;
    for (uint32_t j = 0; j < joints; j++) {
        for (uint32_t at = first[j]; at < first[j] + first[j + 1]; at += CHUNK) {
            uint32_t left = first[j] + first[j + 1] - at;
            w->chunks[w->chunk_count++] = (chunk){j, at, left < CHUNK ? left : CHUNK};
        }
        first[j + 1] += first[j];
    }
    for (uint32_t p = 0; p < n; p++) w->order[first[w->home[p]]++] = p;
    w->moments = PELT_NEW(w->f->arena, w->chunk_count, double *);
    w->normal_moments = PELT_NEW(w->f->arena, w->chunk_count, double *);
    w->energy = PELT_NEW(w->f->arena, n, double);
    w->normal_energy = PELT_NEW(w->f->arena, n, double);
    for (uint32_t c = 0; c < w->chunk_count; c++) {
        size_t near = w->near_first[w->chunks[c].home + 1] - w->near_first[w->chunks[c].home];
        w->moments[c] = PELT_NEW(w->f->arena, w->chunks[c].count * 4 * near, double);
        if (w->with_normals) w->normal_moments[c] = PELT_NEW(w->f->arena, w->chunks[c].count * 4 * near, double);
    }
}

/* What the work on a chunk needs; candidates are numbered as in the list of those near its home. */
typedef struct workspace {
    const chunk *chunk;
    const uint32_t *near; /* candidates of the fit */
    uint32_t count;
    pelt_gram gram, normal_gram;
    pelt_problem *problem;
    double *room;
    uint32_t *local; /* [candidate of the fit] its number here, UINT32_MAX: not near */
    double *moments, *normal_moments;
} workspace;

static workspace workspace_of(const joining *w, size_t c, bool with_rows, pelt_arena *scratch) {
    uint32_t first = w->near_first[w->chunks[c].home], n = w->near_first[w->chunks[c].home + 1] - first;
    size_t room = (w->most + 2) * (size_t)n, rigid_room = 8 * w->gram.examples;
    workspace b = {.chunk = &w->chunks[c],
                   .near = w->near + first,
                   .count = n,
                   .problem = pelt_problem_new(scratch, n),
                   .room = PELT_NEW(scratch, room > rigid_room ? room : rigid_room, double),
                   .local = PELT_NEW(scratch, w->gram.count, uint32_t),
                   .moments = w->moments[c],
                   .normal_moments = w->normal_moments[c]};
    b.gram = pelt_gram_subset(scratch, &w->gram, b.near, n, with_rows);
    if (w->with_normals) b.normal_gram = pelt_gram_subset(scratch, &w->normal_gram, b.near, n, with_rows);
    memset(b.local, 0xff, w->gram.count * sizeof *b.local);
    for (uint32_t i = 0; i < n; i++) b.local[b.near[i]] = i;
    return b;
}

static void set_problem(const joining *w, workspace *b, uint32_t i, const double rest[3], const double normal[3]) {
    size_t place = b->chunk->begin + i, at = (size_t)i * 4 * b->count;
    pelt_problem_set(b->problem, &b->gram, rest, b->moments + at, w->energy[place]);
    if (w->with_normals)
        pelt_problem_add_normals(b->problem, &b->normal_gram, normal, b->normal_moments + at, w->normal_energy[place],
                                 w->normal_scale);
}

static void rest_of(const joining *w, uint32_t point, double rest[3], double normal[3]) {
    const pelt_mesh *mesh = &w->f->bundle->mesh;
    size_t vertex = w->f->points.vertex[point];
    for (size_t c = 0; c < 3; c++) {
        rest[c] = (mesh->positions[3 * vertex + c] - w->gram.center[c]) / w->gram.scale;
        normal[c] = mesh->normals[3 * vertex + c];
    }
}

/* -- Choice -------------------------------------------------------------------------------------------------------- */

static void choose_joints(const joining *w, workspace *b, uint32_t point, pelt_weights *set) {
    set->count = 0;
    if (w->rigid) {
        size_t n = w->gram.examples;
        double *path = b->room + 5 * n;
        for (size_t e = 0; e < n; e++)
            for (size_t c = 0; c < 3; c++)
                path[c * n + mixed(e, n)] = w->gram.frames[e][3 * (size_t)w->f->points.vertex[point] + c];
        pelt_choose_rigid(w->inverses, w->usable, w->gram.count, path, n, w->most, b->room, set);
    }
    if (set->count) return; /* with rigidity everything is near, so the numbers are the same */
    pelt_choose_greedy(b->problem, w->identity, b->count, w->most, w->ridge, b->room, set);
}

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The first joint of a set is the one that the others are measured against; the order of the others means nothing. */
static void put_set(const joining *w, const workspace *b, uint32_t point, const pelt_weights *set) {
    uint32_t *to = w->sets + (size_t)point * (w->most + 1);
    to[0] = set->count;
    for (uint32_t k = 0; k < set->count; k++) to[k + 1] = b->near[set->joints[k]];
    if (set->count > 2) qsort(to + 2, set->count - 1, sizeof *to, compare_u32);
}

/* False when a joint of the set is not near. */
static bool get_set(const workspace *b, const uint32_t *from, pelt_weights *set) {
    set->count = from[0];
    for (uint32_t k = 0; k < set->count; k++) {
        set->joints[k] = b->local[from[k + 1]];
        if (set->joints[k] == UINT32_MAX) return false;
    }
    return set->count > 0;
}

static void choose_chunk(void *user, size_t c, pelt_arena *scratch) {
    joining *w = user;
    workspace b = workspace_of(w, c, true, scratch);
    uint32_t vertices[CHUNK], begin = b.chunk->begin, count = b.chunk->count;
    double *work = PELT_NEW(scratch, count * 3 * w->gram.examples, double), rest[3], normal[3];
    for (uint32_t i = 0; i < count; i++) vertices[i] = w->f->points.vertex[w->order[begin + i]];
    pelt_gram_moments(&b.gram, vertices, count, work, b.moments, w->energy + begin);
    if (w->with_normals)
        pelt_gram_moments(&b.normal_gram, vertices, count, work, b.normal_moments, w->normal_energy + begin);
    for (uint32_t i = 0; i < count; i++) {
        pelt_weights set;
        rest_of(w, w->order[begin + i], rest, normal);
        set_problem(w, &b, i, rest, normal);
        choose_joints(w, &b, w->order[begin + i], &set);
        put_set(w, &b, w->order[begin + i], &set);
    }
}

/* -- Agreement ----------------------------------------------------------------------------------------------------- */

static const uint32_t *set_of(const joining *w, uint32_t point) { return w->sets + (size_t)point * (w->most + 1); }

static bool same_set(const joining *w, const uint32_t *a, const uint32_t *b) {
    return !memcmp(a, b, (w->most + 1) * sizeof *a);
}

/* The part of the neighbours whose joints are not these. */
static double disagreement(const joining *w, uint32_t point, const uint32_t *set) {
    uint32_t begin = w->neighbours.first[point], end = w->neighbours.first[point + 1], others = 0;
    for (uint32_t i = begin; i < end; i++) others += !same_set(w, set, set_of(w, w->neighbours.list[i]));
    return end > begin ? (double)others / (end - begin) : 0;
}

static double price(joining *w, workspace *b, uint32_t point, const uint32_t *from) {
    pelt_weights set;
    if (!get_set(b, from, &set)) return INFINITY;
    pelt_affine_weights(b->problem, w->ridge, singular_cut, &set);
    return fmax(set.error, 0) * (1 + agreement * disagreement(w, point, from));
}

/* It has other joints than a neighbour, and something around it changed: otherwise it would choose the same again. */
static bool is_stirred(const joining *w, uint32_t point) {
    bool stirred = w->changed[point];
    for (uint32_t k = w->neighbours.first[point]; k < w->neighbours.first[point + 1]; k++)
        stirred |= w->changed[w->neighbours.list[k]];
    return stirred && disagreement(w, point, set_of(w, point)) > 0;
}

static void agree_point(joining *w, workspace *b, uint32_t i) {
    uint32_t point = w->order[b->chunk->begin + i];
    const uint32_t *own = set_of(w, point), *best = own;
    uint32_t *next = w->next_sets + (size_t)point * (w->most + 1);
    double rest[3], normal[3];
    if (is_stirred(w, point)) {
        rest_of(w, point, rest, normal);
        set_problem(w, b, i, rest, normal);
        double least = price(w, b, point, own);
        for (uint32_t k = w->neighbours.first[point]; k < w->neighbours.first[point + 1]; k++) {
            const uint32_t *other = set_of(w, w->neighbours.list[k]);
            bool seen = same_set(w, other, own);
            for (uint32_t m = w->neighbours.first[point]; m < k && !seen; m++)
                seen = same_set(w, other, set_of(w, w->neighbours.list[m]));
            double cost = seen ? INFINITY : price(w, b, point, other);
            if (cost < least) least = cost, best = other;
        }
    }
    memcpy(next, best, (w->most + 1) * sizeof *next);
    w->next_changed[point] = best != own;
}

static void agree_chunk(void *user, size_t c, pelt_arena *scratch) {
    joining *w = user;
    const chunk *points = &w->chunks[c];
    bool stirred = false;
    for (uint32_t i = 0; i < points->count && !stirred; i++) stirred = is_stirred(w, w->order[points->begin + i]);
    workspace b = stirred ? workspace_of(w, c, false, scratch) : (workspace){.chunk = points};
    for (uint32_t i = 0; i < points->count; i++) agree_point(w, &b, i);
}

/* -- Fit ----------------------------------------------------------------------------------------------------------- */

static void fit_point(joining *w, workspace *b, uint32_t i) {
    uint32_t point = w->order[b->chunk->begin + i];
    size_t at = (size_t)i * 4 * b->count;
    pelt_weights set = {0};
    double rest[3], normal[3];
    rest_of(w, point, rest, normal);
    set_problem(w, b, i, rest, normal);
    if (!get_set(b, set_of(w, point), &set)) return;
    for (int round = 0; round <= ROUNDS; round++) {
        if (round && w->refit) {
            pelt_rest_fit(&b->gram, &set, b->moments + at, true, rest);
            if (w->with_normals) pelt_rest_fit(&b->normal_gram, &set, b->normal_moments + at, false, normal);
            set_problem(w, b, i, rest, normal);
        }
        if (!round || w->refit)
            w->deficient[point] = (uint8_t)pelt_affine_weights(b->problem, w->ridge, singular_cut, &set);
        w->errors[point][round] = set.error;
    }
    for (uint32_t k = 0; k < set.count; k++) set.joints[k] = b->near[set.joints[k]];
    for (size_t c = 0; c < 3 && w->normals; c++) w->normals[3 * (size_t)point + c] = (float)normal[c];
    pelt_blend_store(&w->result, point, &set, rest);
}

static void fit_chunk(void *user, size_t c, pelt_arena *scratch) {
    joining *w = user;
    workspace b = workspace_of(w, c, false, scratch);
    for (uint32_t i = 0; i < b.chunk->count; i++) fit_point(w, &b, i);
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

typedef struct shading {
    const pelt_mesh *mesh;
    const float **positions;
    float **normals;
} shading;

static void shade_example(void *user, size_t e, pelt_arena *scratch) {
    (void)scratch;
    shading *s = user;
    pelt_mesh_normals(s->positions[e], s->mesh->vertex_count, s->mesh->triangles, s->mesh->triangle_count,
                      s->normals[e]);
}

/* Sums for the normals of the examples, which are area-weighted like those of any mesh without its own. */
static void sum_normals(joining *w, const pelt_affine *matrices) {
    pelt_fitting *f = w->f;
    size_t n = 3 * (size_t)f->bundle->mesh.vertex_count, examples = f->examples.count;
    float **normals = PELT_NEW(f->arena, examples, float *), *all = PELT_NEW(f->arena, n * examples, float);
    w->normals = PELT_NEW(f->arena, n, float);
    for (size_t e = 0; e < examples; e++) normals[e] = all + n * e;
    shading s = {&f->bundle->mesh, w->gram.frames, normals};
    pelt_parallel(f->arena, f->options.threads, examples, shade_example, &s);
    pelt_gram_new(f, matrices, &w->candidates, (const float *const *)normals, &w->normal_gram);
}

static void store_normals(joining *w) {
    size_t n = w->f->bundle->mesh.vertex_count;
    float *normals = PELT_NEW(w->f->arena, 3 * n, float);
    for (size_t v = 0; v < n; v++) {
        const float *fitted = w->normals + 3 * (size_t)w->f->points.of_vertex[v], *file = w->f->model.normals + 3 * v;
        double length =
            sqrt((double)fitted[0] * fitted[0] + (double)fitted[1] * fitted[1] + (double)fitted[2] * fitted[2]);
        bool sound = isfinite(length) && length > 1e-6;
        for (size_t c = 0; c < 3; c++) normals[3 * v + c] = sound ? (float)(fitted[c] / length) : file[c];
    }
    w->f->model.normals = normals;
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

static pelt_result prepare(joining *w, pelt_error *error) {
    pelt_fitting *f = w->f;
    pelt_affine *matrices = NULL;
    bool *allowed = NULL;
    pelt_result result = pelt_choose_driven(f, error);
    if (!result) result = pelt_usable_matrices(f, &allowed, error);
    if (!result) result = pelt_example_matrices(f, &matrices, error);
    if (!result) result = pelt_find_candidates(f, matrices, allowed, &w->candidates, error);
    if (result) return result;
    pelt_gram_new(f, matrices, &w->candidates, NULL, &w->gram);
    if (w->with_normals) sum_normals(w, matrices);
    w->result = pelt_blend_result_new(f->arena, f->points.count, w->most);
    w->errors = pelt_alloc(f->arena, w->f->points.count, sizeof *w->errors);
    w->deficient = PELT_NEW(f->arena, w->f->points.count, uint8_t);
    w->identity = PELT_NEW(f->arena, w->candidates.count, uint32_t);
    w->changed = PELT_NEW(f->arena, w->f->points.count, uint8_t);
    w->next_changed = PELT_NEW(f->arena, w->f->points.count, uint8_t);
    w->sets = PELT_NEW(f->arena, (size_t)w->f->points.count * (w->most + 1), uint32_t);
    w->next_sets = PELT_NEW(f->arena, (size_t)w->f->points.count * (w->most + 1), uint32_t);
    list_near(w), find_homes(w), make_chunks(w);
    w->neighbours = pelt_find_neighbours(f->arena, &f->bundle->mesh, &f->points);
    for (uint32_t c = 0; c < w->candidates.count; c++) w->identity[c] = c;
    if (w->rigid) invert_matrices(w, matrices);
    return PELT_OK;
}

/* What the fit says of itself: how it converged, and where it was rank-deficient. */
static void report(joining *w) {
    pelt_fitting *f = w->f;
    double *rms = PELT_NEW(f->arena, ROUNDS + 1, double), largest = 0;
    uint32_t *deficient = PELT_NEW(f->arena, f->points.count, uint32_t), count = 0;
    for (int round = 0; round <= ROUNDS; round++) {
        double sum = 0;
        for (uint32_t p = 0; p < f->points.count; p++) sum += w->errors[p][round];
        rms[round] = sqrt(sum / ((double)f->points.count * (double)w->gram.examples));
    }
    for (size_t i = 0; i < (size_t)f->points.count * w->most; i++) largest = fmax(largest, fabs(w->result.weights[i]));
    for (uint32_t p = 0; p < f->points.count; p++)
        if (w->deficient[p]) deficient[count++] = f->points.vertex[p];
    f->report.blend_fit =
        (pelt_blend_figures){w->candidates.count, f->model.driven_count, ROUNDS + 1, rms, largest, count, deficient};
    if (count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "rank-deficient",
                  "%u vertices are rank-deficient, the first is vertex %u: their joints move too much alike in the "
                  "examples to tell their weights apart, and the smallest weights that fit were taken",
                  count, deficient[0]);
    if (3 * w->gram.examples < w->most + 2)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "few-examples",
                  "%zu examples are fewer than the unknowns of a vertex need: give more, or ask for fewer influences",
                  w->gram.examples);
    pelt_report_twins(f, &w->candidates);
}

/* Choice, agreement (not in the paper's recipe), fit. */
static pelt_result fit_points(joining *w, pelt_error *error) {
    const pelt_fit_options *o = &w->f->options;
    if (pelt_should_stop(&o->progress, "driven joints", 0.3))
        return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    pelt_parallel(w->f->arena, o->threads, w->chunk_count, choose_chunk, w);
    memset(w->changed, 1, w->f->points.count);
    for (int round = 0; round < AGREE_ROUNDS && !w->rigid; round++) {
        pelt_parallel(w->f->arena, o->threads, w->chunk_count, agree_chunk, w);
        uint32_t *sets = w->sets;
        uint8_t *changed = w->changed;
        w->sets = w->next_sets, w->next_sets = sets;
        w->changed = w->next_changed, w->next_changed = changed;
    }
    if (pelt_should_stop(&o->progress, "driven joints", 0.8))
        return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    pelt_parallel(w->f->arena, o->threads, w->chunk_count, fit_chunk, w);
    return PELT_OK;
}

pelt_result pelt_fit_joints(pelt_fitting *f, pelt_error *error) {
    joining w = {.f = f,
                 .most = f->options.influences ? f->options.influences : 4,
                 .refit = f->options.fitted.rest == PELT_REST_REFIT,
                 .rigid = f->options.joints.influence_choice == PELT_CHOICE_RIGIDITY};
    const pelt_fit_options *o = &f->options;
    w.ridge = o->joints.ridge > 0 ? o->joints.ridge : o->joints.ridge < 0 || w.rigid ? 0 : usual_ridge;
    w.normal_scale = o->joints.normal_scale > 0              ? o->joints.normal_scale
                     : o->joints.normal_scale < 0 || w.rigid ? 0
                                                             : usual_normal_scale;
    w.with_normals = w.normal_scale > 0;
    pelt_result result = prepare(&w, error);
    if (!result) result = fit_points(&w, error);
    if (result) return result;
    report(&w);
    pelt_blend_finish(f, &w.candidates, &w.gram, &w.result, NULL);
    if (w.with_normals && w.refit) store_normals(&w);
    pelt_drop_unused_driven(f->arena, &f->model);
    return PELT_OK;
}
