/* kernel.c: the kernel corrective: kernel ridge regression on the rotations that drive a point, compressed.

   Beyond the papers (EigenSkin names general sets of poses and coupling between joints as future work), with the same
   run-time form: a few displacements per vertex, with coefficients from the pose.

   0. Displacements, of which those of small regions count more than their size (examples/displacement.h). All that
      follows minimises squares of what is so scaled; run-time vectors are scaled back.
   1. Joints that drive each point, and kernels on rotations that vanish at rest, for joints and pairs of joints
      (regression/inputs.c), or for joints together with their neighbours (regression/near.c).
   2. The regression settings, and which of the two kernels, by cross-validation (regression/ridge.c).
   3. Clusters of points with common displacements U_q, orthonormal, under a budget; normal changes get separate
      vectors, under an equal budget (kernel_cluster.c).
   4. For each group of similarly driven clusters, ridge regression of the coordinates U_q^T u on the mean kernel of
      their points; the kernel of point i is K_i = sum_g k_g + gamma sum_(g,h) k_g k_h over the joints that drive it;
      points are weighted by their energy. Examples that others span to within a tenth of the ridge are not centres.
      Normals share the kernel, centres and factorisation.

   Bound: K is positive definite, so a coefficient a = sum_q c_q K(., q) obeys |a(p)|^2 <= K(p, p) c^T K c, and
   k_g(p, p) = 2 - 2 E_g(p, rest) <= 2 - 2 exp(-2 / s_g^2) =: m_g, so K(p, p) <= sum of gain m_g over single joints +
   sum of gain m_g m_h over pairs. With neighbours, the arc-cosine kernel has K(p, p) = |x|^2, at most 4 for a joint and
   the squared range for a control; for the other two K(p, p) is at most 2. So displacements in any pose stay within a
   bound that is known once the fit is done. */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

enum {
    MOST_EXAMPLES = 1000,
    CLUSTERS = 96,
    LEAST_CLUSTERS = 32,
    COEFFICIENTS = 800,
    POINTS_PER_CLUSTER = 8,
    MANY_POINTS = 64
};
/* Tolerances relative to the ridge: how much of an example the centres may leave unexplained. Centres dominate the cost
   of a pose. Neighbourhood kernels have small ridges. */
static const double SPANNED = 0.1, SPANNED_NEAR = 1;
/* Clusters whose units differ by less than this fraction, and by less than the cross-validation error, share a kernel:
   most of a pose's time goes into kernel sums and centres. */
static const double ALIKE = 0.2;
enum { FEATURES = 64, MANY_FEATURES = 128, FEW_EXAMPLES = 300, LEAST_SEVERAL = 10 };
/* A small budget is better spent on displacements than on features to drive them. */
enum { NARROW_FEATURES = 32, NARROW_BUDGET = 10 };
static const double BALANCE = 0.5;
static const double SMALL = 0.03; /* cross-validation error below which learning more would not be visible */
static const pelt_kernel_settings START = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};

/* Displacements of points, or changes of vertex normals. */
typedef struct field {
    pelt_example_displacements u;
    pelt_clusters clusters; /* the same for both; shapes and ranks differ */
    double **coefficients;  /* [cluster] -> [centre][rank]: c */
} field;

typedef struct pelt_kernel_fit {
    pelt_fitting *f;
    pelt_poses poses;
    field positions, normals; /* with plain normals all ranks are 0 */
    pelt_supports supports;
    pelt_kernel_inputs inputs;
    pelt_kernel_inputs near;           /* the same with neighbours */
    const pelt_kernel_inputs *regress; /* the one the kernels use */
    pelt_kernel_settings settings;
    double left; /* relative cross-validation error */
    float *tables;
    double *energies; /* [point] squared displacements, summed over all examples */
    uint32_t group_count;
    uint32_t *groups;   /* [group_count + 1] the first cluster of each */
    pelt_ridge *ridges; /* [group] */
    double **fitted;    /* [cluster] -> [centre][rank]: K c, the coordinates of positions at the centres */
    double *sizes;      /* [group] Frobenius norm of K: the largest eigenvalue or slightly more */
    bool *unsolved;     /* [group] */
} kernel_fit;

/* -- Groups ---------------------------------------------------------------------------------------------------------
   Clusters that the same units drive similarly share one kernel and are stored consecutively. */

/* Coefficients of a cluster: positions first, then normals. */
static uint32_t cluster_size(const kernel_fit *k, size_t q) {
    return k->positions.clusters.ranks[q] + k->normals.clusters.ranks[q];
}

static uint32_t group_size(const kernel_fit *k, size_t g) {
    uint32_t sum = 0;
    for (uint32_t q = k->groups[g]; q < k->groups[g + 1]; q++) sum += cluster_size(k, q);
    return sum;
}

static double *point_energies(const kernel_fit *k) {
    const pelt_example_displacements *u = &k->positions.u;
    double *out = PELT_NEW(k->f->arena, u->point_count, double);
    for (size_t e = 0; e < u->example_count; e++)
        for (size_t i = 0; i < u->point_count; i++) {
            const float *d = u->positions + 3 * (e * u->point_count + i);
            out[i] += pelt_square_length(d);
        }
    return out;
}

/* Units and examples of some clusters; points are weighted by their energy. */
static pelt_ridge ridge_of(pelt_arena *arena, const kernel_fit *k, uint32_t first, uint32_t end) {
    const pelt_clusters *clusters = &k->positions.clusters;
    const uint32_t *points = clusters->points + clusters->first[first];
    size_t count = clusters->first[end] - clusters->first[first];
    double *weights = PELT_NEW(arena, count, double), sum = 0;
    for (size_t i = 0; i < count; i++) sum += weights[i] = k->energies[points[i]];
    for (size_t i = 0; i < count && sum > 0; i++) weights[i] /= sum;
    return pelt_ridge_of(arena, k->regress, k->poses.count, count, points, weights);
}

static pelt_ridge group_ridge(pelt_arena *arena, const kernel_fit *k, size_t g) {
    return ridge_of(arena, k, k->groups[g], k->groups[g + 1]);
}

static double gain_of(const pelt_ridge *ridge, pelt_kernel_unit unit) {
    for (uint32_t i = 0; i < ridge->unit_count; i++)
        if (ridge->units[i].first == unit.first && ridge->units[i].second == unit.second) return ridge->units[i].gain;
    return 0;
}

/* How much the units of two clusters differ, relative to those of the first. */
static double unlike(const pelt_ridge *a, const pelt_ridge *b) {
    double sum = 0, apart = 0;
    for (uint32_t i = 0; i < a->unit_count; i++) {
        sum += a->units[i].gain;
        apart += fabs(a->units[i].gain - gain_of(b, a->units[i]));
    }
    for (uint32_t i = 0; i < b->unit_count; i++)
        if (gain_of(a, b->units[i]) == 0) apart += b->units[i].gain;
    return sum > 0 ? apart / sum : INFINITY;
}

static void sort_clusters(pelt_arena *arena, const uint32_t *order, pelt_clusters *c) {
    pelt_clusters old = *c;
    c->ranks = PELT_NEW(arena, c->count, uint32_t);
    for (uint32_t q = 0; q < c->count; q++) c->ranks[q] = old.ranks[order[q]];
    if (!old.first) return; /* plain normals have only ranks */
    c->first = PELT_NEW(arena, (size_t)c->count + 1, uint32_t);
    c->points = PELT_NEW(arena, old.first[c->count], uint32_t);
    c->weights = PELT_NEW(arena, old.first[c->count], float);
    c->shapes = PELT_NEW(arena, c->count, double *);
    for (uint32_t q = 0; q < c->count; q++) {
        uint32_t from = old.first[order[q]], count = old.first[order[q] + 1] - from;
        c->first[q + 1] = c->first[q] + count, c->shapes[q] = old.shapes[order[q]];
        for (uint32_t i = 0; i < count; i++) {
            c->points[c->first[q] + i] = old.points[from + i];
            c->weights[c->first[q] + i] = old.weights[from + i];
        }
    }
}

/* A cluster joins the first group whose first cluster resembles it, or starts a new one. */
static void find_groups(kernel_fit *k) {
    pelt_arena *arena = k->f->arena, *work = pelt_arena_inside(arena);
    uint32_t count = k->positions.clusters.count, *order = PELT_NEW(work, count, uint32_t), placed = 0;
    uint32_t *group_of = PELT_NEW(work, count, uint32_t), *leaders = PELT_NEW(work, count, uint32_t);
    pelt_ridge *ridges = PELT_NEW(work, count, pelt_ridge);
    double alike = fmin(ALIKE, k->left);
    k->energies = point_energies(k);
    k->groups = PELT_NEW(arena, (size_t)count + 1, uint32_t);
    for (uint32_t q = 0; q < count; q++) {
        uint32_t g = 0;
        ridges[q] = ridge_of(work, k, q, q + 1);
        while (g < k->group_count && !(unlike(&ridges[leaders[g]], &ridges[q]) < alike)) g++;
        if (g == k->group_count) leaders[k->group_count++] = q;
        group_of[q] = g;
    }
    for (uint32_t g = 0; g < k->group_count; g++, k->groups[g] = placed)
        for (uint32_t q = 0; q < count; q++)
            if (group_of[q] == g) order[placed++] = q;
    sort_clusters(arena, order, &k->positions.clusters);
    k->normals.clusters.count = count;
    sort_clusters(arena, order, &k->normals.clusters);
    pelt_arena_free(work);
}

static double *group_matrix(pelt_arena *arena, const kernel_fit *k, const pelt_ridge *ridge) {
    return pelt_ridge_matrix(arena, ridge, k->tables, k->poses.count, k->settings.pair);
}

/* Coordinates U^T u of the ridge's examples, [example][rank]. */
static void project(const field *x, size_t q, const pelt_ridge *ridge, double *out) {
    const uint32_t *points = x->clusters.points + x->clusters.first[q];
    size_t count = x->clusters.first[q + 1] - x->clusters.first[q], rank = x->clusters.ranks[q];
    for (size_t a = 0; a < ridge->example_count; a++)
        for (size_t r = 0; r < rank; r++) {
            const double *shape = x->clusters.shapes[q] + r * 3 * count;
            double sum = 0;
            for (size_t i = 0; i < count; i++)
                for (size_t c = 0; c < 3; c++)
                    sum += shape[3 * i + c] *
                           x->u.positions[3 * ((size_t)ridge->examples[a] * x->u.point_count + points[i]) + c];
            out[a * rank + r] = sum;
        }
}

/* Allocates what fit_group fills in, one cluster after another; clusters that nothing drives hold only rounding
   error. */
static void prepare_groups(kernel_fit *k) {
    pelt_arena *arena = k->f->arena;
    uint32_t count = k->positions.clusters.count;
    field *fields[] = {&k->positions, &k->normals};
    k->ridges = PELT_NEW(arena, k->group_count, pelt_ridge);
    k->fitted = PELT_NEW(arena, count, double *);
    k->sizes = PELT_NEW(arena, k->group_count, double);
    k->unsolved = PELT_NEW(arena, k->group_count, bool);
    for (int i = 0; i < 2; i++) fields[i]->coefficients = PELT_NEW(arena, count, double *);
    for (uint32_t g = 0; g < k->group_count; g++) {
        if (!group_size(k, g)) continue;
        k->ridges[g] = group_ridge(arena, k, g);
        size_t n = k->ridges[g].example_count;
        for (uint32_t q = k->groups[g]; q < k->groups[g + 1]; q++) {
            for (int i = 0; i < 2; i++) {
                if (!n) fields[i]->clusters.ranks[q] = 0;
                fields[i]->coefficients[q] = PELT_NEW(arena, n * fields[i]->clusters.ranks[q], double);
            }
            k->fitted[q] = PELT_NEW(arena, n * k->positions.clusters.ranks[q], double);
        }
    }
}

static void fit_group(void *user, size_t g, pelt_arena *scratch) {
    kernel_fit *k = user;
    pelt_ridge *ridge = &k->ridges[g];
    size_t n = ridge->example_count, clusters = k->groups[g + 1] - k->groups[g];
    if (!group_size(k, g)) return;
    double lambda = k->settings.lambda, spanned = k->regress->near_first ? SPANNED_NEAR : SPANNED;
    double *matrix = group_matrix(scratch, k, ridge), size = 0;
    uint32_t *place = PELT_NEW(scratch, k->poses.count, uint32_t);
    pelt_ridge_values *sets = PELT_NEW(scratch, 2 * clusters, pelt_ridge_values);
    for (uint32_t a = 0; a < n; a++) place[ridge->examples[a]] = a;
    for (size_t i = 0; i < 2 * clusters; i++) {
        const field *x = i % 2 ? &k->normals : &k->positions;
        size_t q = k->groups[g] + i / 2;
        sets[i] = (pelt_ridge_values){x->clusters.ranks[q], x->coefficients[q]};
        if (sets[i].columns) project(x, q, ridge, sets[i].values);
    }
    for (size_t i = 0; i < n * n; i++) size += matrix[i] * matrix[i];
    k->sizes[g] = sqrt(size);
    k->unsolved[g] = !pelt_ridge_solve(scratch, ridge, matrix, lambda, spanned * lambda, 2 * clusters, sets);
    size_t m = ridge->example_count; /* number of centres among the n examples; a large ridge may leave 0 */
    double *own = PELT_NEW(scratch, m * m, double);
    for (size_t i = 0; i < m * m; i++)
        own[i] = matrix[place[ridge->examples[i / m]] * n + place[ridge->examples[i % m]]];
    for (uint32_t q = k->groups[g]; q < k->groups[g + 1]; q++) {
        size_t rank = k->positions.clusters.ranks[q];
        if (m && rank) pelt_gemm(false, false, m, rank, m, 1, own, k->positions.coefficients[q], 0, k->fitted[q]);
        if (!m) k->positions.clusters.ranks[q] = k->normals.clusters.ranks[q] = 0;
    }
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* 2 sin(angle / 2) of a joint between two examples, or the difference of a scaled control. */
static double input_distance(const kernel_fit *k, uint32_t g, size_t a, size_t b) {
    const pelt_poses *p = &k->poses;
    size_t joint = k->inputs.joints[g];
    if (pelt_kernel_control(&k->inputs, g))
        return ((double)p->controls[a * p->control_count + joint] - p->controls[b * p->control_count + joint]) *
               p->control_list[joint].scale;
    return pelt_rotation_chord(p->rotations + 4 * (a * p->joint_count + joint),
                               p->rotations + 4 * (b * p->joint_count + joint));
}

/* The squared distance between two examples as the kernel of an input measures it. */
static double unit_distance2(const kernel_fit *k, uint32_t g, size_t a, size_t b) {
    const pelt_kernel_inputs *in = k->regress;
    if (!in->near_first) return pow(input_distance(k, g, a, b), 2);
    double sum = 0;
    for (uint32_t i = in->near_first[g]; i < in->near_first[g + 1]; i++)
        sum += pow(input_distance(k, in->near[i], a, b), 2);
    return sum;
}

/* The two closest examples of a group; every input is weighted by its share in the kernel. */
static void find_closest(const kernel_fit *k, size_t g, pelt_condition *out) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(k->f->arena);
    pelt_ridge ridge = group_ridge(work, k, g);
    out->distance = INFINITY;
    for (uint32_t a = 0; a < ridge.example_count; a++)
        for (uint32_t b = a + 1; b < ridge.example_count; b++) {
            double sum = 0;
            for (uint32_t u = 0; u < ridge.unit_count; u++) {
                const pelt_kernel_unit *unit = &ridge.units[u];
                if (unit->first != unit->second) continue;
                sum += unit->gain * unit_distance2(k, unit->first, ridge.examples[a], ridge.examples[b]);
            }
            if (!(sqrt(sum) < out->distance)) continue;
            out->distance = sqrt(sum);
            out->closest[0] = ridge.examples[a], out->closest[1] = ridge.examples[b];
        }
}

/* A vertex that lets users locate a group. */
static uint32_t group_vertex(const kernel_fit *k, size_t g) {
    const field *x = &k->positions;
    return x->u.vertex_of[x->clusters.points[x->clusters.first[k->groups[g]]]];
}

/* The condition number of K + lambda I of a group, over all its examples. */
static double group_condition(const kernel_fit *k, size_t g) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(k->f->arena);
    pelt_ridge ridge = group_ridge(work, k, g);
    double *matrix = group_matrix(work, k, &ridge);
    size_t n = ridge.example_count;
    for (size_t a = 0; a < n; a++) matrix[a * n + a] += k->settings.lambda;
    return pelt_condition_of(n, matrix);
}

static uint32_t largest_group(const kernel_fit *k) {
    uint32_t largest = 0;
    for (uint32_t g = 1; g < k->group_count; g++)
        if (k->sizes[g] > k->sizes[largest]) largest = g;
    return largest;
}

/* For the worst group: the smallest eigenvalue of K + lambda I is barely more than lambda, so it is one with the
   largest K. */
static void note_condition(kernel_fit *k) {
    enum { MEASURED = 4 };
    pelt_condition worst = {0};
    uint32_t where = 0;
    for (int i = 0; i < MEASURED; i++) {
        uint32_t g = largest_group(k);
        if (!(k->sizes[g] > 0)) break;
        k->sizes[g] = 0;
        double condition = group_condition(k, g);
        if (condition > worst.value) worst.value = condition, where = g;
    }
    if (!(worst.value > 0)) return;
    worst.where = pelt_arena_format(k->f->arena, "the cluster of vertex %u", group_vertex(k, where));
    find_closest(k, where, &worst);
    pelt_note_condition(k->f, &worst);
}

/* Upper bound of k_g(p, p) = 2 - 2 E_g(p, rest): 3 - tr R is at most 4, a control is unbounded. */
static double largest_near(const kernel_fit *k, uint32_t g) {
    const pelt_kernel_inputs *in = k->regress;
    double gain = pelt_neighbor_gain(&k->settings), sum = 0;
    if (k->settings.form != PELT_NEAR_ARC) return gain * 2 * (1 + k->settings.pair);
    for (uint32_t i = in->near_first[g]; i < in->near_first[g + 1]; i++) {
        uint32_t joint = in->near[i];
        double most = pelt_kernel_control(in, joint) ? in->ranges[joint] : 4;
        sum += (joint == g ? 1 + k->settings.pair : 1) * most;
    }
    return gain * sum;
}

static double largest_unit(const kernel_fit *k, uint32_t g) {
    if (k->regress->near_first) return largest_near(k, g);
    if (pelt_kernel_control(&k->inputs, g)) return 2;
    return 2 - 2 * exp(-4 * pelt_kernel_scale(&k->inputs, &k->settings, g));
}

static double largest_kernel(const kernel_fit *k, const pelt_ridge *ridge) {
    double sum = 0;
    for (uint32_t u = 0; u < ridge->unit_count; u++) {
        const pelt_kernel_unit *unit = &ridge->units[u];
        double first = largest_unit(k, unit->first), second = largest_unit(k, unit->second);
        sum += unit->first == unit->second ? unit->gain * first : unit->gain * k->settings.pair * first * second;
    }
    return sum;
}

/* |a|^2 <= K(p, p) c^T K c for every position coefficient. */
static void note_bound(kernel_fit *k, const pelt_displacements *displacements) {
    const pelt_clusters *clusters = &k->positions.clusters;
    size_t total = 0, at = 0;
    for (uint32_t g = 0; g < k->group_count; g++) total += group_size(k, g);
    double *most = PELT_NEW(k->f->arena, total, double);
    for (uint32_t g = 0; g < k->group_count; g++) {
        size_t n = k->ridges[g].example_count;
        double ceiling = largest_kernel(k, &k->ridges[g]);
        for (uint32_t q = k->groups[g]; q < k->groups[g + 1]; at += cluster_size(k, q), q++) {
            size_t rank = clusters->ranks[q];
            const double *c = k->positions.coefficients[q], *fitted = k->fitted[q];
            for (size_t r = 0; r < rank; r++) {
                double square = 0;
                for (size_t a = 0; a < n; a++) square += c[a * rank + r] * fitted[a * rank + r];
                most[at + r] = sqrt(ceiling * fmax(square, 0));
            }
        }
    }
    k->f->report.bound = pelt_largest_displacement(displacements, k->f->model.vertex_count, most);
}

static const char *const FORMS[PELT_NEAR_FORM_COUNT] = {"arc-cosine", "Gaussian", "Matern"};

static void note_findings(kernel_fit *k, const pelt_corrective *corrective) {
    pelt_kernel_findings *findings = PELT_NEW(k->f->arena, 1, pelt_kernel_findings);
    bool near = k->regress->near_first != NULL;
    uint32_t clusters = 0;
    for (uint32_t q = 0; q < k->positions.clusters.count; q++) clusters += cluster_size(k, q) > 0;
    *findings = (pelt_kernel_findings){.family = near ? PELT_FAMILY_ARC : PELT_FAMILY_KERNEL,
                                       .form = near ? FORMS[k->settings.form] : NULL,
                                       .width = k->settings.width,
                                       .range = k->settings.range,
                                       .pair = k->settings.pair,
                                       .lambda = k->settings.lambda,
                                       .validation_error = k->left,
                                       .joints = k->inputs.count,
                                       .clusters = clusters};
    k->f->report.kernel = findings;
    pelt_note_poses(k->f, &k->poses, &k->inputs, &k->positions.u, k->settings.missed, k->left);
    note_condition(k);
    note_bound(k, corrective->displacements);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static void fill_center(const kernel_fit *k, uint32_t e, uint32_t g, float center[4]) {
    uint32_t joint = k->inputs.joints[g];
    if (pelt_kernel_control(&k->inputs, g))
        center[0] = k->poses.controls[(size_t)e * k->poses.control_count + joint];
    else
        memcpy(center, k->poses.rotations + 4 * ((size_t)e * k->poses.joint_count + joint), 4 * sizeof *center);
}

/* The examples that are centres of at least one group. */
static float *make_centers(const kernel_fit *k, uint32_t *index_of, uint32_t *count) {
    for (uint32_t g = 0; g < k->group_count; g++)
        for (uint32_t a = 0; a < k->ridges[g].example_count; a++) index_of[k->ridges[g].examples[a]] = 1;
    float *centers = PELT_NEW(k->f->arena, 4 * (size_t)k->poses.count * k->inputs.count, float);
    *count = 0;
    for (uint32_t e = 0; e < k->poses.count; e++) {
        if (!index_of[e]) continue;
        for (uint32_t g = 0; g < k->inputs.count; g++)
            fill_center(k, e, g, centers + 4 * ((size_t)*count * k->inputs.count + g));
        index_of[e] = (*count)++;
    }
    return centers;
}

/* [centre][coefficient] of a group. */
static const float *make_matrix(const kernel_fit *k, size_t g) {
    size_t n = k->ridges[g].example_count, size = group_size(k, g), first = 0;
    float *matrix = PELT_NEW(k->f->arena, n * size, float);
    const field *fields[] = {&k->positions, &k->normals};
    for (size_t i = 0; i < 2 * (size_t)(k->groups[g + 1] - k->groups[g]); i++) {
        const field *x = fields[i % 2];
        size_t q = k->groups[g] + i / 2, rank = x->clusters.ranks[q];
        for (size_t a = 0; a < n; a++)
            for (size_t r = 0; r < rank; r++) matrix[a * size + first + r] = (float)x->coefficients[q][a * rank + r];
        first += rank;
    }
    return matrix;
}

static pelt_kernel_group make_group(const kernel_fit *k, size_t g, const uint32_t *index_of, pelt_kernel_unit *units,
                                    uint32_t *unit_count) {
    const pelt_ridge *ridge = &k->ridges[g];
    size_t n = ridge->example_count;
    uint32_t *list = PELT_NEW(k->f->arena, ridge->unit_count, uint32_t);
    uint32_t *centers = PELT_NEW(k->f->arena, n, uint32_t);
    for (uint32_t u = 0; u < ridge->unit_count; u++) {
        pelt_kernel_unit unit = ridge->units[u];
        if (unit.first != unit.second) unit.gain *= (float)k->settings.pair;
        if (k->regress->near_first) unit.gain *= (float)pelt_neighbor_gain(&k->settings);
        list[u] = *unit_count;
        units[(*unit_count)++] = unit;
    }
    for (size_t a = 0; a < n; a++) centers[a] = index_of[ridge->examples[a]];
    return (pelt_kernel_group){.unit_count = ridge->unit_count,
                               .center_count = (uint32_t)n,
                               .coefficient_count = group_size(k, g),
                               .units = list,
                               .centers = centers,
                               .matrix = make_matrix(k, g)};
}

static double run_time_scale(const kernel_fit *k, uint32_t g) {
    if (k->regress->near_first) return pelt_neighbor_scale(&k->poses, k->regress, &k->settings, g);
    double unit = pelt_kernel_control(&k->inputs, g) ? k->poses.control_list[k->inputs.joints[g]].scale : 1;
    return pelt_kernel_scale(&k->inputs, &k->settings, g) * unit * unit;
}

static pelt_neighbors *make_near(const kernel_fit *k) {
    const pelt_kernel_inputs *in = k->regress;
    pelt_neighbors *out = PELT_NEW(k->f->arena, 1, pelt_neighbors);
    float(*ranges)[2] = pelt_alloc(k->f->arena, in->count, sizeof *ranges);
    for (uint32_t g = in->count - in->control_count; g < in->count; g++) {
        const pelt_model_control *control = &k->poses.control_list[in->joints[g]];
        ranges[g][0] = control->least - control->rest, ranges[g][1] = control->most - control->rest;
    }
    *out = (pelt_neighbors){k->settings.form, (float)k->settings.pair, in->near_first, in->near,
                            (const float(*)[2])ranges};
    return out;
}

static pelt_kernel *make_kernel(const kernel_fit *k) {
    pelt_arena *arena = k->f->arena;
    size_t units = 0;
    for (uint32_t g = 0; g < k->group_count; g++) units += k->ridges[g].unit_count;
    pelt_kernel *out = PELT_NEW(arena, 1, pelt_kernel);
    uint32_t *index_of = PELT_NEW(arena, k->poses.count, uint32_t);
    pelt_kernel_unit *table = PELT_NEW(arena, units, pelt_kernel_unit);
    pelt_kernel_group *groups = PELT_NEW(arena, k->group_count, pelt_kernel_group);
    float *scales = PELT_NEW(arena, k->inputs.count, float);
    for (uint32_t g = 0; g < k->inputs.count; g++) scales[g] = (float)run_time_scale(k, g);
    *out = (pelt_kernel){.joint_count = k->inputs.count,
                         .control_count = k->inputs.control_count,
                         .joints = k->inputs.joints,
                         .scales = scales,
                         .units = table,
                         .groups = groups,
                         .near = k->regress->near_first ? make_near(k) : NULL};
    out->centers = make_centers(k, index_of, &out->center_count);
    for (uint32_t g = 0; g < k->group_count; g++)
        if (group_size(k, g)) groups[out->group_count++] = make_group(k, g, index_of, table, &out->unit_count);
    return out;
}

static void assemble(kernel_fit *k) {
    pelt_corrective *corrective = PELT_NEW(k->f->arena, 1, pelt_corrective);
    const uint32_t *ranks = k->positions.clusters.ranks, *tilts = k->normals.clusters.ranks;
    corrective->displacements =
        pelt_cluster_vectors(k->f->arena, &k->positions.u, &k->positions.clusters, ranks, tilts, false);
    if (pelt_has_tilts(k->f))
        corrective->tilts = pelt_cluster_vectors(k->f->arena, &k->normals.u, &k->normals.clusters, ranks, tilts, true);
    corrective->kernel = make_kernel(k);
    k->f->model.corrective = corrective;
    note_findings(k, corrective);
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

/* Uses more than `least` clusters only if each has enough points to make its coefficients negligible. */
static uint32_t cluster_count(uint32_t points, double budget, uint32_t least) {
    uint32_t more = points / MANY_POINTS, most = points / POINTS_PER_CLUSTER, wanted = CLUSTERS;
    if (budget * CLUSTERS < COEFFICIENTS) wanted = (uint32_t)(COEFFICIENTS / budget);
    more = more > wanted ? wanted : more < least ? least : more;
    return most < 1 ? 1 : most < more ? most : more;
}

/* Clusters of points, with basis vectors for displacements and for normals. */
static void cluster(kernel_fit *k) {
    pelt_fitting *f = k->f;
    field *x = &k->positions, *normals = &k->normals;
    double budget = f->options.kernel.per_vertex ? f->options.kernel.per_vertex : 10;
    uint32_t threads = f->options.threads;
    uint32_t count = cluster_count(x->u.point_count, budget, k->regress->near_first ? LEAST_CLUSTERS : CLUSTERS);
    x->clusters = pelt_cluster(f->arena, &x->u, &f->bundle->mesh, f->model.positions, count, budget, threads);
    if (!pelt_has_tilts(f)) {
        normals->clusters.ranks = PELT_NEW(f->arena, x->clusters.count, uint32_t);
        return;
    }
    normals->clusters = pelt_cluster_tilts(f->arena, &x->u, &x->clusters, &normals->u, budget, threads);
}

bool pelt_is_narrow(const pelt_fit_options *o) {
    return o->kernel.per_vertex > 0 && o->kernel.per_vertex <= NARROW_BUDGET;
}

static pelt_feature_settings feature_settings(const kernel_fit *k, pelt_feature_targets targets) {
    const pelt_fit_options *o = &k->f->options;
    pelt_feature_memory *memory = pelt_features_known(k->f);
    uint32_t width = k->poses.count > FEW_EXAMPLES ? FEATURES : MANY_FEATURES;
    if (pelt_is_narrow(o)) width = NARROW_FEATURES;
    if (memory && memory->settings.left > 0) return memory->settings;
    pelt_feature_settings settings =
        pelt_feature_validate(k->f->arena, &k->poses, &k->inputs, targets, width, k->left, o->seed, o->threads);
    if (memory) memory->settings = settings;
    return settings;
}

/* Learned features, if requested or if they predict better; *done says whether they became the fit. */
static pelt_result try_features(kernel_fit *k, bool *done, pelt_error *error) {
    pelt_fitting *f = k->f;
    pelt_family family = f->options.kernel.family;
    const pelt_example_displacements *tilts = pelt_has_tilts(f) ? &k->normals.u : NULL;
    uint32_t several = pelt_deal_folds(&k->poses, PELT_NEW(f->arena, k->poses.count, int));
    bool forced = family == PELT_FAMILY_FEATURES;
    *done = false;
    if (family == PELT_FAMILY_KERNEL || family == PELT_FAMILY_ARC ||
        (!forced && (several < LEAST_SEVERAL || k->left < SMALL)))
        return PELT_OK;
    pelt_feature_targets targets = {0};
    if (!f->memory || !pelt_features_known(f)->learned)
        targets = pelt_feature_targets_of(f->arena, &k->inputs, &k->positions.u, tilts, &f->bundle->mesh,
                                          f->model.positions, f->options.threads);
    pelt_feature_settings settings = feature_settings(k, targets);
    if (!forced && !(settings.left < k->left)) return PELT_OK;
    *done = true;
    return pelt_fit_features(f, &k->poses, &k->inputs, &k->positions.u, tilts, targets, &settings, error);
}

static void validate_pairs(kernel_fit *k) {
    pelt_kernel_memory none = {0}, *m = k->f->memory ? k->f->memory : &none;
    if (!(m->pairs_left > 0)) {
        m->pairs = START;
        m->pairs_left =
            pelt_kernel_validate(k->f->arena, &k->poses, &k->positions.u, &k->inputs, k->f->options.threads, &m->pairs);
    }
    k->left = m->pairs_left, k->settings = m->pairs;
}

/* If they are better. */
static void validate_near(kernel_fit *k) {
    pelt_kernel_memory none = {0}, *m = k->f->memory ? k->f->memory : &none;
    if (!(m->near_left > 0))
        m->near_left =
            pelt_neighbor_validate(k->f->arena, &k->poses, &k->positions.u, &k->near, k->f->options.threads, &m->near);
    if (m->near_left < k->left) k->left = m->near_left, k->settings = m->near, k->regress = &k->near;
}

/* Kernels of joints and pairs, or of neighbourhoods. If no example moves several joints, nothing shows how neighbours
   interact. */
static void choose_settings(kernel_fit *k) {
    pelt_arena *arena = k->f->arena;
    pelt_family family = k->f->options.kernel.family;
    k->settings = START, k->left = INFINITY, k->regress = &k->inputs;
    if (family == PELT_FAMILY_FEATURES) return;
    pelt_next_task(arena, "kernel: cross-validation", 0.05, 0.2, 16);
    if (family != PELT_FAMILY_ARC) validate_pairs(k);
    uint32_t several = pelt_deal_folds(&k->poses, PELT_NEW(arena, k->poses.count, int));
    if (family == PELT_FAMILY_KERNEL || (!family && (k->left < SMALL || !several))) return;
    validate_near(k);
}

static pelt_result regress(kernel_fit *k, pelt_error *error) {
    pelt_fitting *f = k->f;
    uint32_t threads = f->options.threads;
    bool done;
    choose_settings(k);
    if (pelt_has_tilts(f)) k->normals.u = pelt_tilts_of(f);
    pelt_result result = try_features(k, &done, error);
    if (done || result) return result;
    pelt_next_task(f->arena, "kernel: clusters", 0.2, 0.8, 30);
    cluster(k);
    k->tables = PELT_NEW(f->arena, (size_t)k->poses.count * k->poses.count * k->inputs.count, float);
    pelt_kernel_tables(f->arena, &k->poses, k->regress, &k->settings, threads, k->tables);
    find_groups(k);
    prepare_groups(k);
    if (pelt_next_task(f->arena, "kernel: fit", 0.8, 1, 1)) return pelt_stopped(error);
    pelt_parallel(f->arena, threads, k->group_count, fit_group, k);
    for (uint32_t g = 0; g < k->group_count; g++)
        if (k->unsolved[g])
            return pelt_fail(
                error, PELT_ERROR_DATA,
                "the poses of the examples cannot be distinguished by what moves the skin around vertex %u: "
                "train on fewer frames, or use the corrective \"eigen\"",
                group_vertex(k, g));
    assemble(k);
    return PELT_OK;
}

/* What the regression has to do with, whatever its family. */
static pelt_result begin(kernel_fit *k, pelt_error *error) {
    pelt_fitting *f = k->f;
    if (f->examples.count > MOST_EXAMPLES)
        return pelt_refuse_count(f, f->examples.count, "examples", MOST_EXAMPLES, error);
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &k->poses);
    if (!k->poses.mover_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "no joint turns and no control changes in any example, so there is nothing to drive a "
                         "corrective with: train on a clip in which the skeleton moves");
    pelt_result result = pelt_displacements_of(f, &k->positions.u, error);
    if (result) return result;
    pelt_supports_of(f->arena, &f->model, &k->poses, &k->positions.u, f->options.threads, &k->supports);
    k->inputs = pelt_kernel_inputs_of(f->arena, &f->bundle->skeleton, &k->poses, &k->supports);
    k->near = pelt_kernel_look_around(f->arena, &k->poses, &k->inputs);
    double balance = f->options.kernel.balance;
    pelt_balance_regions(f, balance == 0 ? BALANCE : fmax(balance, 0), &k->positions.u);
    return PELT_OK;
}

pelt_result pelt_fit_kernel(pelt_fitting *f, pelt_error *error) {
    kernel_fit *shared = f->memory ? f->memory->fit : NULL;
    if (!shared) {
        shared = PELT_NEW(f->arena, 1, kernel_fit);
        shared->f = f;
        pelt_result result = begin(shared, error);
        if (result) return result;
        if (f->memory) f->memory->fit = shared;
    }
    kernel_fit own = *shared;
    own.f = f;
    return regress(&own, error);
}
