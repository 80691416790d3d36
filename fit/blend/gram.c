/* gram.c: sums over the examples, from which every vertex's least squares problem is assembled (gram.h). */

#include "fit/blend/gram.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tolerance for twins: relative to the diagonal, and absolute for rotations. Poses in files have about seven digits. */
static const double never_apart = 2e-5;

/* Cost of a useless weight, per example: keeps C positive definite where joints hardly differ; the square of a
   millionth of the diagonal. */
static const double jitter = 1e-12;

/* -- Matrices, candidates ------------------------------------------------------------------------------------------ */

typedef struct posing {
    pelt_fitting *fitting;
    pelt_affine *matrices;
    uint32_t count;
} posing;

static void pose_example(void *user, size_t e, pelt_arena *scratch) {
    posing *p = user;
    const pelt_example *example = &p->fitting->examples.list[e];
    const pelt_skeleton *skeleton = p->fitting->model.skeleton;
    pelt_transform *locals = PELT_NEW(scratch, skeleton->joint_count, pelt_transform);
    pelt_clip_pose(example->clip, skeleton, example->frame, locals);
    pelt_model_matrices(&p->fitting->model, locals, p->matrices + e * p->count);
}

pelt_result pelt_example_matrices(pelt_fitting *f, pelt_affine **matrices, pelt_error *error) {
    size_t examples = f->examples.count;
    posing p = {.fitting = f, .count = pelt_model_matrix_count(&f->model)};
    p.matrices = PELT_NEW(f->arena, examples * p.count, pelt_affine);
    pelt_parallel(f->arena, f->options.threads, examples, pose_example, &p);
    for (size_t i = 0; i < examples * p.count; i++)
        for (int k = 0; k < 12; k++)
            if (!isfinite(p.matrices[i].m[k]))
                return pelt_fail(error, PELT_ERROR_NUMBER,
                                 "example %zu has a pose that is not finite: leave out that frame", i / p.count);
    *matrices = p.matrices;
    return PELT_OK;
}

/* The total weight of each matrix in the file; 0 for driven joints. */
static double *carried_weight(pelt_fitting *f, uint32_t matrix_count) {
    const pelt_influences *in = &f->bundle->mesh.influences;
    double *carried = PELT_NEW(f->arena, matrix_count, double);
    for (uint32_t i = 0; i < in->first[f->bundle->mesh.vertex_count]; i++) carried[in->joints[i]] += in->weights[i];
    return carried;
}

static bool are_twins(const pelt_affine *matrices, size_t examples, uint32_t stride, const double middle[3],
                      const pelt_mesh *mesh, uint32_t a, uint32_t b) {
    double diagonal = pelt_scene_diagonal(mesh), stretch = diagonal > 0 ? mesh->diagonal / diagonal : 1;
    for (size_t e = 0; e < examples; e++) {
        const double *p = matrices[e * stride + a].m, *q = matrices[e * stride + b].m;
        for (int r = 0; r < 3; r++) {
            double moved = p[4 * r + 3] - q[4 * r + 3];
            for (int c = 0; c < 3; c++) {
                double turned = p[4 * r + c] - q[4 * r + c];
                if (fabs(turned) * stretch > never_apart) return false;
                moved += turned * middle[c];
            }
            if (fabs(moved) > never_apart * diagonal) return false;
        }
    }
    return true;
}

static void middle_of(const float *positions, size_t count, double middle[3]) {
    double sum[3] = {0};
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) sum[i] += positions[3 * v + (size_t)i];
    for (int i = 0; i < 3; i++) middle[i] = sum[i] / (double)count;
}

pelt_result pelt_find_candidates(pelt_fitting *f, const pelt_affine *matrices, const bool *allowed,
                                 pelt_candidates *out, pelt_error *error) {
    uint32_t n = pelt_model_matrix_count(&f->model), kept = 0, order_count = 0;
    double *carried = carried_weight(f, n), middle[3];
    pelt_ranked *order = PELT_NEW(f->arena, n, pelt_ranked);
    uint32_t *leaders = PELT_NEW(f->arena, n, uint32_t), *group = PELT_NEW(f->arena, n, uint32_t);
    uint32_t *first = PELT_NEW(f->arena, (size_t)n + 1, uint32_t), *members = PELT_NEW(f->arena, n, uint32_t);
    middle_of(f->bundle->mesh.positions, f->bundle->mesh.vertex_count, middle);
    for (uint32_t j = 0; j < n; j++)
        if (!allowed || allowed[j]) order[order_count++] = (pelt_ranked){carried[j], j};
    qsort(order, order_count, sizeof *order, pelt_falling_ranks);
    for (uint32_t i = 0; i < order_count; i++) {
        uint32_t j = order[i].index, g = 0;
        while (g < kept && !are_twins(matrices, f->examples.count, n, middle, &f->bundle->mesh, leaders[g], j)) g++;
        if (g == kept) leaders[kept++] = j;
        group[i] = g, first[g + 1]++;
    }
    for (uint32_t g = 0; g < kept; g++) first[g + 1] += first[g];
    uint32_t *fill = PELT_NEW(f->arena, n, uint32_t);
    for (uint32_t i = 0; i < order_count; i++) members[first[group[i]] + fill[group[i]]++] = order[i].index;
    *out = (pelt_candidates){kept, first, members};
    if (!kept) return pelt_fail(error, PELT_ERROR_DATA, "no joint is left for the fit to use; drop fewer");
    return PELT_OK;
}

uint32_t pelt_candidate_matrix(const pelt_fitting *f, const pelt_candidates *candidates, uint32_t candidate,
                               uint32_t vertex) {
    const pelt_influences *in = &f->bundle->mesh.influences;
    uint32_t begin = candidates->first[candidate], end = candidates->first[candidate + 1];
    uint32_t best = candidates->members[begin];
    float most = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1] && end - begin > 1; i++)
        for (uint32_t m = begin; m < end; m++)
            if (candidates->members[m] == in->joints[i] && in->weights[i] > most)
                most = in->weights[i], best = in->joints[i];
    return best;
}

/* -- Sums ---------------------------------------------------------------------------------------------------------- */

void pelt_monomials(const double p[3], double w, double out[PELT_MONOMIALS]) {
    double x = p[0], y = p[1], z = p[2];
    const double all[PELT_MONOMIALS] = {x * x, x * y, x * z, x * w, y * y, y * z, y * w, z * z, z * w, w * w};
    memcpy(out, all, sizeof all);
}

/* The rows of T in the gram's units: T' (x') = (T (rest_scale x' + center) - center_e) / scale. Normals move by T'^-T. */
static void fill_rows(const pelt_gram *g, const pelt_affine *matrices, const pelt_candidates *candidates,
                      uint32_t matrix_count, bool normals, double *rows) {
    size_t columns = 3 * g->examples;
    double stretch = normals ? g->scale / g->rest_scale : g->rest_scale / g->scale;
    for (size_t e = 0; e < g->examples; e++)
        for (uint32_t j = 0; j < g->count; j++) {
            pelt_affine t = matrices[e * matrix_count + candidates->members[candidates->first[j]]], inverse;
            if (normals) {
                pelt_affine_invert(&t, &inverse);
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < 4; c++) t.m[4 * r + c] = c < 3 ? inverse.m[4 * c + r] : 0;
            }
            for (size_t r = 0; r < 3; r++) {
                const double *row = t.m + 4 * r;
                double moved = row[0] * g->center[0] + row[1] * g->center[1] + row[2] * g->center[2] + row[3];
                for (size_t c = 0; c < 3; c++)
                    rows[(4 * j + c) * columns + 3 * e + r] = g->factors[e] * (row[c] * stretch);
                rows[(4 * j + 3) * columns + 3 * e + r] =
                    normals ? 0 : g->factors[e] * ((moved - g->centers[e][r]) / g->scale);
            }
        }
}

enum { PRODUCT_ROWS = 16 }; /* candidates whose products with all previous ones are computed at once */

typedef struct summing {
    const pelt_gram *gram;
    double *products, *couplings;
} summing;

/* The symmetric part of a 4x4 matrix as coefficients of the monomials. */
static void to_quadratic(const double *k, size_t stride, double out[PELT_MONOMIALS]) {
    int m = 0;
    for (size_t a = 0; a < 4; a++)
        for (size_t b = a; b < 4; b++) out[m++] = a == b ? k[a * stride + a] : k[a * stride + b] + k[b * stride + a];
}

static void sum_products(void *user, size_t block, pelt_arena *scratch) {
    summing *p = user;
    const pelt_gram *g = p->gram;
    size_t begin = block * PRODUCT_ROWS, end = begin + PRODUCT_ROWS < g->count ? begin + PRODUCT_ROWS : g->count;
    size_t columns = 4 * end, inner = 3 * g->examples;
    double *k = PELT_NEW(scratch, 4 * (end - begin) * columns, double), q[PELT_MONOMIALS];
    pelt_gemm(false, true, 4 * (end - begin), columns, inner, 1, g->rows + 4 * begin * inner, g->rows, 0, k);
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j <= i; j++) {
            to_quadratic(k + 4 * (i - begin) * columns + 4 * j, columns, q);
            memcpy(p->products + (i * g->count + j) * PELT_MONOMIALS, q, sizeof q);
            memcpy(p->products + (j * g->count + i) * PELT_MONOMIALS, q, sizeof q);
            for (size_t m = 0; m < 16 && p->couplings; m++) {
                double entry = k[(4 * (i - begin) + m / 4) * columns + 4 * j + m % 4];
                p->couplings[(i * g->count + j) * 16 + m] = entry;
                p->couplings[(j * g->count + i) * 16 + m % 4 * 4 + m / 4] = entry;
            }
        }
}

static const double *factors_of(pelt_arena *arena, pelt_examples examples) {
    double *factors = PELT_NEW(arena, examples.count, double), sum = 0;
    for (size_t e = 0; e < examples.count; e++) sum += pelt_example_weight(&examples.list[e]);
    for (size_t e = 0; e < examples.count; e++)
        factors[e] = sqrt(pelt_example_weight(&examples.list[e]) * (double)examples.count / sum);
    return factors;
}

static void set_frames(pelt_fitting *f, const float *const *normals, pelt_gram *g) {
    size_t n = f->bundle->mesh.vertex_count;
    g->examples = f->examples.count;
    g->frames = PELT_NEW(f->arena, g->examples, const float *);
    g->factors = factors_of(f->arena, f->examples);
    g->centers = pelt_alloc(f->arena, g->examples, sizeof *g->centers);
    double size = pelt_scene_diagonal(&f->bundle->mesh), rest = f->bundle->mesh.diagonal;
    g->scale = size > 0 ? size : 1, g->rest_scale = rest > 0 ? rest : 1;
    if (normals) g->rest_scale /= g->scale, g->scale = 1; /* they have no size, but T has */
    for (size_t e = 0; e < g->examples; e++) {
        const pelt_example *example = &f->examples.list[e];
        g->frames[e] = normals ? normals[e] : example->clip->positions + 3 * n * example->frame;
        if (!normals) middle_of(g->frames[e], n, g->centers[e]);
    }
    if (!normals) middle_of(f->bundle->mesh.positions, n, g->center);
}

void pelt_gram_new(pelt_fitting *f, const pelt_affine *matrices, const pelt_candidates *candidates, bool coupled,
                   const float *const *normals, pelt_gram *g) {
    *g = (pelt_gram){.count = candidates->count};
    set_frames(f, normals, g);
    size_t n = g->count;
    double *rows = PELT_NEW(f->arena, 4 * n * 3 * g->examples, double);
    double *products = PELT_NEW(f->arena, n * PELT_MONOMIALS * n, double);
    fill_rows(g, matrices, candidates, pelt_model_matrix_count(&f->model), normals != NULL, rows);
    g->rows = rows;
    double *couplings = coupled ? PELT_NEW(f->arena, n * n * 16, double) : NULL;
    summing p = {.gram = g, .products = products, .couplings = couplings};
    const pelt_made made[] = {{products, .total = n * n * PELT_MONOMIALS * sizeof *products},
                              {couplings, .total = n * n * 16 * sizeof *couplings}};
    pelt_spread(f->arena, f->options.threads, (n + PRODUCT_ROWS - 1) / PRODUCT_ROWS, sum_products, &p, coupled ? 2 : 1,
                made);
    g->products = products, g->couplings = couplings;
}

pelt_gram pelt_gram_subset(pelt_arena *arena, const pelt_gram *g, const uint32_t *list, uint32_t count,
                           bool with_rows) {
    size_t n = count, inner = 3 * g->examples;
    pelt_gram out = *g;
    if (count == g->count) return out;
    double *products = PELT_NEW(arena, n * n * PELT_MONOMIALS, double);
    double *rows = with_rows ? PELT_NEW(arena, 4 * n * inner, double) : NULL;
    out.count = count, out.products = products, out.rows = rows;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            memcpy(products + (i * n + j) * PELT_MONOMIALS,
                   g->products + ((size_t)list[i] * g->count + list[j]) * PELT_MONOMIALS,
                   PELT_MONOMIALS * sizeof *products);
    for (size_t i = 0; i < n && with_rows; i++)
        memcpy(rows + 4 * i * inner, g->rows + 4 * (size_t)list[i] * inner, 4 * inner * sizeof *rows);
    return out;
}

void pelt_gram_moments(const pelt_gram *g, const uint32_t *vertices, size_t count, double *work, double *moments,
                       double *energy) {
    size_t inner = 3 * g->examples;
    double inverse = 1 / g->scale;
    for (size_t e = 0; e < g->examples; e++)
        for (size_t i = 0; i < count; i++) {
            const float *p = g->frames[e] + 3 * (size_t)vertices[i];
            for (size_t c = 0; c < 3; c++)
                work[i * inner + 3 * e + c] = g->factors[e] * ((p[c] - g->centers[e][c]) * inverse);
        }
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t k = 0; k < inner; k++) sum += work[i * inner + k] * work[i * inner + k];
        energy[i] = sum;
    }
    pelt_gemm(false, true, count, 4 * (size_t)g->count, inner, 1, work, g->rows, 0, moments);
}

/* -- One vertex ---------------------------------------------------------------------------------------------------- */

pelt_problem *pelt_problem_new(pelt_arena *arena, uint32_t count) {
    pelt_problem *problem = PELT_NEW(arena, 1, pelt_problem);
    problem->count = count;
    problem->columns = PELT_NEW(arena, (size_t)count * count, double);
    problem->known = PELT_NEW(arena, count, bool);
    problem->linear = PELT_NEW(arena, count, double);
    problem->gradient = PELT_NEW(arena, count, double);
    return problem;
}

void pelt_problem_forget(pelt_problem *problem) { memset(problem->known, 0, problem->count * sizeof *problem->known); }

void pelt_problem_set(pelt_problem *problem, const pelt_gram *g, const double rest[3], const double *moments,
                      double energy) {
    problem->gram = g;
    problem->normals = NULL;
    memset(problem->normal_monomials, 0, sizeof problem->normal_monomials);
    problem->constant = energy;
    problem->diagonal = jitter * (double)g->examples;
    pelt_monomials(rest, 1, problem->monomials);
    for (size_t j = 0; j < g->count; j++) {
        const double *b = moments + 4 * j;
        problem->linear[j] = b[0] * rest[0] + b[1] * rest[1] + b[2] * rest[2] + b[3];
    }
    pelt_problem_forget(problem);
}

void pelt_problem_add_normals(pelt_problem *problem, const pelt_gram *normals, const double normal[3],
                              const double *moments, double energy, double scale) {
    double square = scale * scale, monomials[PELT_MONOMIALS];
    problem->normals = normals;
    problem->constant += square * energy;
    pelt_monomials(normal, 0, monomials);
    for (int m = 0; m < PELT_MONOMIALS; m++) problem->normal_monomials[m] += square * monomials[m];
    for (size_t j = 0; j < normals->count; j++) {
        const double *b = moments + 4 * j;
        problem->linear[j] += square * (b[0] * normal[0] + b[1] * normal[1] + b[2] * normal[2]);
    }
    pelt_problem_forget(problem);
}

double pelt_problem_entry(const pelt_problem *p, uint32_t r, uint32_t c) {
    if (p->known[c] || !p->gram) return p->columns[(size_t)c * p->count + r];
    double sum = p->constant - p->linear[c] - p->linear[r] + pelt_quadratic(p->gram, c, r, p->monomials);
    if (p->normals) sum += pelt_quadratic(p->normals, c, r, p->normal_monomials);
    return r == c ? sum + p->diagonal : sum;
}

const double *pelt_problem_column(pelt_problem *p, uint32_t c) {
    uint32_t n = p->count;
    double *column = p->columns + (size_t)c * n;
    if (p->known[c] || !p->gram) return column;
    double base = p->constant - p->linear[c];
    for (uint32_t j = 0; j < n; j++) column[j] = base - p->linear[j] + pelt_quadratic(p->gram, c, j, p->monomials);
    for (uint32_t j = 0; j < n && p->normals; j++) column[j] += pelt_quadratic(p->normals, c, j, p->normal_monomials);
    column[c] += p->diagonal;
    p->known[c] = true;
    return column;
}
