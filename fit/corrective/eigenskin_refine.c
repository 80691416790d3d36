/* eigenskin_refine.c: EigenSkin learning from examples that move several joints (the paper's future work: general sets
   of poses).

   The coordinates a_jk(p) = sum_q W_j(p, q) b_qjk interpolate values b at the joints' own examples q, with W_j =
   phi_j(p) phi_j^-1. Examples that move one joint alone fix b; examples that move several leave the residual

       r_p = u_p - sum_jk a_jk(p) U_jk,

   because the displacements of joints that move together do not simply add up. The values are shifted by d to fit both,

       min  sum_p | r_p - sum_jk (W_j(p) d_jk) U_jk |^2 + mu |d|^2,

   where mu = 1 would weight all examples equally; cross-validation over the examples that move several joints (a
   subset, if there are many) chooses mu, or leaves the values unchanged. The normal equations are never formed: with
   the overlaps O = U^T U of all eigendisplacements, conjugate gradients need only W d O. */

#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include <math.h>
#include <string.h>

enum { FOLDS = 5, STEPS = 60, VALIDATED = 60 };

typedef struct refinement {
    const pelt_poses *poses;
    const pelt_eigen_basis *basis;
    pelt_coordinates *coordinates;
    size_t pose_count, shape_count, value_count; /* examples of several joints; eigendisplacements; values b */
    uint32_t *examples;                          /* [pose] */
    double **weights;                            /* [joint] -> [pose][center_count]: W_j */
    double *overlaps;                            /* [shape][shape]: O */
    double *left;                                /* [pose][shape]: <U_jk, r_p> */
    /* Each fit has its own: */
    bool *used;              /* [pose] whether the fit uses it */
    double *image, *mixed;   /* [pose][shape] */
    double *d;               /* [value] the solution */
    double *r, *p, *applied; /* work space of conjugate gradients */
} refinement;

/* -- The operator -------------------------------------------------------------------------------------------------- */

/* image = W d: coordinates of all eigendisplacements in all poses. Values of the rest pose stay 0. */
static void coordinates_of(const refinement *c, const double *d, double *image) {
    size_t shape = 0;
    memset(image, 0, c->pose_count * c->shape_count * sizeof *image);
    for (uint32_t j = 0; j < c->basis->joint_count; j++) {
        size_t kept = c->basis->joints[j].kept, centers = c->coordinates[j].center_count;
        for (size_t p = 0; p < c->pose_count; p++)
            for (size_t q = 1; q < centers; q++)
                for (size_t k = 0; k < kept; k++)
                    image[p * c->shape_count + shape + k] += c->weights[j][p * centers + q] * d[(q - 1) * kept + k];
        d += (centers - 1) * kept;
        shape += kept;
    }
}

/* out = W^T image, over the poses in use. */
static void values_of(const refinement *c, const double *image, double *out) {
    size_t shape = 0;
    memset(out, 0, c->value_count * sizeof *out);
    for (uint32_t j = 0; j < c->basis->joint_count; j++) {
        size_t kept = c->basis->joints[j].kept, centers = c->coordinates[j].center_count;
        for (size_t p = 0; p < c->pose_count; p++)
            for (size_t q = 1; q < centers && c->used[p]; q++)
                for (size_t k = 0; k < kept; k++)
                    out[(q - 1) * kept + k] += c->weights[j][p * centers + q] * image[p * c->shape_count + shape + k];
        out += (centers - 1) * kept;
        shape += kept;
    }
}

/* out = (W^T O W + mu) d. */
static void apply(const refinement *c, double mu, const double *d, double *out) {
    coordinates_of(c, d, c->image);
    pelt_gemm(false, false, c->pose_count, c->shape_count, c->shape_count, 1, c->image, c->overlaps, 0, c->mixed);
    values_of(c, c->mixed, out);
    for (size_t i = 0; i < c->value_count; i++) out[i] += mu * d[i];
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Solves for d by conjugate gradients, starting from 0. */
static void solve(const refinement *c, double mu) {
    size_t n = c->value_count;
    memset(c->d, 0, n * sizeof *c->d);
    values_of(c, c->left, c->r);
    memcpy(c->p, c->r, n * sizeof *c->p);
    double square = dot(n, c->r, c->r), stop = 1e-12 * square;
    for (int step = 0; step < STEPS && square > stop; step++) {
        apply(c, mu, c->p, c->applied);
        double alpha = square / dot(n, c->p, c->applied), before = square;
        for (size_t i = 0; i < n; i++) c->d[i] += alpha * c->p[i], c->r[i] -= alpha * c->applied[i];
        square = dot(n, c->r, c->r);
        for (size_t i = 0; i < n; i++) c->p[i] = c->r[i] + square / before * c->p[i];
    }
}

/* How much d changes the squared error of the poses not in use. */
static double change(const refinement *c) {
    double sum = 0;
    coordinates_of(c, c->d, c->image);
    pelt_gemm(false, false, c->pose_count, c->shape_count, c->shape_count, 1, c->image, c->overlaps, 0, c->mixed);
    for (size_t p = 0; p < c->pose_count; p++)
        for (size_t s = 0; s < c->shape_count && !c->used[p]; s++) {
            size_t at = p * c->shape_count + s;
            sum += c->image[at] * (c->mixed[at] - 2 * c->left[at]);
        }
    return sum;
}

/* -- Setting up ---------------------------------------------------------------------------------------------------- */

/* W_j = phi_pc phi_cc^-1; phi is symmetric. False when phi has no inverse. */
static bool make_weights(refinement *c, pelt_arena *work, double width) {
    c->weights = PELT_NEW(work, c->basis->joint_count, double *);
    for (uint32_t j = 0; j < c->basis->joint_count; j++) {
        const uint32_t *mover = &c->basis->joints[j].mover;
        const pelt_coordinates *own = &c->coordinates[j];
        size_t n = own->center_count;
        const double *inverse = pelt_eigen_inverse(work, c->poses, *mover, own, width);
        if (!inverse) return false;
        double *across = PELT_NEW(work, c->pose_count * n, double);
        c->weights[j] = PELT_NEW(work, c->pose_count * n, double);
        pelt_eigen_functions(c->poses, 1, mover, c->pose_count, c->examples, n, own->centers, width, across);
        pelt_gemm(false, false, c->pose_count, n, n, 1, across, inverse, 0, c->weights[j]);
    }
    return true;
}

static double dot3(const float *x, const float *y) {
    return (double)x[0] * y[0] + (double)x[1] * y[1] + (double)x[2] * y[2];
}

/* O, and <U_jk, u_p>, in one pass over the points. */
static void make_products(refinement *c, pelt_arena *work, const pelt_example_displacements *u,
                          const pelt_entry *entries, size_t entry_count) {
    uint32_t *first = PELT_NEW(work, (size_t)u->point_count + 2, uint32_t);
    const pelt_entry **list = PELT_NEW(work, entry_count, const pelt_entry *);
    for (size_t e = 0; e < entry_count; e++) first[entries[e].point + 2]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 2] += first[i + 1];
    for (size_t e = 0; e < entry_count; e++) list[first[entries[e].point + 1]++] = &entries[e];
    for (uint32_t i = 0; i < u->point_count; i++)
        for (uint32_t a = first[i]; a < first[i + 1]; a++) {
            for (uint32_t b = first[i]; b < first[i + 1]; b++)
                c->overlaps[list[a]->coefficient * c->shape_count + list[b]->coefficient] +=
                    dot3(list[a]->position, list[b]->position);
            for (size_t p = 0; p < c->pose_count; p++)
                c->left[p * c->shape_count + list[a]->coefficient] +=
                    dot3(list[a]->position, u->positions + 3 * ((size_t)c->examples[p] * u->point_count + i));
        }
}

/* Subtracts what the current values explain from <U_jk, u_p>. */
static void subtract_explained(refinement *c) {
    double *to = c->d;
    for (uint32_t j = 0; j < c->basis->joint_count; j++) {
        size_t kept = c->basis->joints[j].kept, size = (c->coordinates[j].center_count - 1) * kept;
        memcpy(to, c->coordinates[j].values + kept, size * sizeof *to);
        to += size;
    }
    coordinates_of(c, c->d, c->image);
    pelt_gemm(false, false, c->pose_count, c->shape_count, c->shape_count, -1, c->image, c->overlaps, 1, c->left);
}

static void give_room(refinement *c, pelt_arena *arena) {
    size_t size = c->pose_count * c->shape_count;
    c->used = PELT_NEW(arena, c->pose_count, bool);
    c->image = PELT_NEW(arena, size, double), c->mixed = PELT_NEW(arena, size, double);
    c->d = PELT_NEW(arena, c->value_count, double), c->r = PELT_NEW(arena, c->value_count, double);
    c->p = PELT_NEW(arena, c->value_count, double), c->applied = PELT_NEW(arena, c->value_count, double);
}

/* The same with a subset of the poses, evenly spread. */
static refinement some_poses(pelt_arena *work, const refinement *all, size_t count) {
    refinement c = *all;
    c.pose_count = count;
    c.left = PELT_NEW(work, count * c.shape_count, double);
    c.weights = PELT_NEW(work, c.basis->joint_count, double *);
    for (uint32_t j = 0; j < c.basis->joint_count; j++) {
        size_t centers = c.coordinates[j].center_count;
        c.weights[j] = PELT_NEW(work, count * centers, double);
        for (size_t p = 0; p < count; p++)
            memcpy(c.weights[j] + p * centers, all->weights[j] + p * all->pose_count / count * centers,
                   centers * sizeof(double));
    }
    for (size_t p = 0; p < count; p++)
        memcpy(c.left + p * c.shape_count, all->left + p * all->pose_count / count * c.shape_count,
               c.shape_count * sizeof *c.left);
    return c;
}

/* One fit without the examples of a fold. */
typedef struct validation {
    const refinement *some;
    double *changes; /* [strength][fold] of the squared error of that fold */
} validation;

static const double strengths[] = {0.3, 1, 3, 10, 30, 100};
enum { STRENGTHS = sizeof strengths / sizeof *strengths };

static void validate(void *user, size_t i, pelt_arena *scratch) {
    const validation *v = user;
    refinement c = *v->some;
    give_room(&c, scratch);
    for (size_t p = 0; p < c.pose_count; p++) c.used[p] = p % FOLDS != i % FOLDS;
    solve(&c, strengths[i / FOLDS]);
    v->changes[i] = change(&c);
}

/* The strength that helps unseen examples most; infinity if none does. */
static double choose_strength(pelt_arena *work, uint32_t threads, const refinement *c) {
    double best = INFINITY, best_change = 0, changes[STRENGTHS * FOLDS];
    PELT_SPREAD(work, threads, STRENGTHS * FOLDS, validate, (&(validation){c, changes}), {changes, sizeof *changes});
    for (size_t s = 0; s < STRENGTHS; s++) {
        double sum = 0;
        for (size_t fold = 0; fold < FOLDS; fold++) sum += changes[FOLDS * s + fold];
        if (sum < best_change) best_change = sum, best = strengths[s];
    }
    return best;
}

/* The strength is relative to a sum over examples, which grows with their number. */
static void refine(pelt_arena *work, uint32_t threads, refinement *c) {
    subtract_explained(c);
    size_t validated = c->pose_count < VALIDATED ? c->pose_count : VALIDATED;
    refinement some = some_poses(work, c, validated);
    double strength = choose_strength(work, threads, &some) * (double)c->pose_count / (double)validated;
    if (isinf(strength)) return;
    for (size_t p = 0; p < c->pose_count; p++) c->used[p] = true;
    solve(c, strength);
    const double *d = c->d;
    for (uint32_t j = 0; j < c->basis->joint_count; j++) {
        size_t kept = c->basis->joints[j].kept, size = (c->coordinates[j].center_count - 1) * kept;
        for (size_t i = 0; i < size; i++) c->coordinates[j].values[kept + i] += d[i];
        d += size;
    }
}

size_t pelt_examples_of_several(pelt_arena *arena, const pelt_poses *poses, uint32_t **examples) {
    size_t count = 0;
    *examples = PELT_NEW(arena, poses->count, uint32_t);
    for (uint32_t e = 0; e < poses->count; e++)
        if (!poses->rest[e] && poses->sweep_of[e] == PELT_NO_MOVER) (*examples)[count++] = e;
    return count;
}

void pelt_eigen_refine(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                       const pelt_eigen_basis *basis, const pelt_entry *entries, size_t entry_count, double width,
                       uint32_t threads, pelt_coordinates *coordinates) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    refinement c = {.poses = poses, .basis = basis, .coordinates = coordinates};
    c.pose_count = pelt_examples_of_several(work, poses, &c.examples);
    for (uint32_t j = 0; j < basis->joint_count; j++) {
        c.shape_count += basis->joints[j].kept;
        c.value_count += (size_t)(coordinates[j].center_count - 1) * basis->joints[j].kept;
    }
    if (c.pose_count >= 2 * FOLDS && make_weights(&c, work, width)) {
        c.overlaps = PELT_NEW(work, c.shape_count * c.shape_count, double);
        c.left = PELT_NEW(work, c.pose_count * c.shape_count, double);
        give_room(&c, work);
        make_products(&c, work, u, entries, entry_count);
        refine(work, threads, &c);
    }
}
