/* kernel.c: the kernel corrective: kernel ridge regression on the rotations that drive a point, compressed.

   Beyond the papers (EigenSkin names general sets of poses and coupling between joints as future work), with the same
   run-time form: a few displacements per vertex, with coefficients from the pose.

   1. Joints that drive each point, and kernels on rotations that vanish at rest (kernel_movers.c).
   2. The settings of the regression, by cross-validation (kernel_ridge.c).
   3. Clusters of points with common displacements U_q, orthonormal, under a budget; the changes of their normals have
      vectors of their own, under a budget as large (cluster.c).
   4. Per cluster, the ridge regression of the coordinates U_q^T u on the mean kernel of its points: that of point i is
      K_i = sum_g k_g + gamma sum_(g,h) k_g k_h over the joints that drive it; points count by their energy.
      Examples that others span to within a tenth of the ridge are not centres. Normals share kernel, centres and
      factorisation.

   Bound: K is positive definite, so a coefficient a = sum_q c_q K(., q) obeys |a(p)|^2 <= K(p, p) c^T K c, and
   k_g(p, p) = 2 - 2 E_g(p, rest) <= 2 - 2 exp(-2 / s_g^2) =: m_g, so K(p, p) <= sum of gain m_g over single joints +
   sum of gain m_g m_h over pairs: whatever the pose, displacements stay within a bound that is known when the fit is
   done. */

#include "fit/corrective/kernel.h"
#include "rig/linear.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXAMPLES = 1000, MOST_CLUSTERS = 96, POINTS_PER_CLUSTER = 8 };
static const double SPANNED = 0.1; /* of the ridge: what centres may leave of an example; they are the cost of a pose */
static const pelt_kernel_settings START = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};

/* Displacements of points, or changes of the normals of vertices. */
typedef struct field {
    pelt_example_displacements u;
    pelt_clusters clusters; /* the same for both; shapes and ranks differ */
    double **coefficients;  /* [cluster] malloc'ed [centre][rank]: c */
} field;

typedef struct kernel_fit {
    pelt_fitting *f;
    pelt_poses poses;
    field positions, normals; /* of plain normals all ranks are 0 */
    pelt_supports supports;
    pelt_kernel_inputs inputs;
    pelt_kernel_settings settings;
    double left; /* of the error, in cross-validation */
    float *tables;
    pelt_ridge *ridges; /* [cluster] */
    double **fitted;    /* [cluster] malloc'ed [centre][rank]: K c, the coordinates of positions at the centres */
    double *sizes;      /* [cluster] |K|, the root of the sum of squares: the largest eigenvalue or little more */
    _Atomic bool no_memory;
} kernel_fit;

/* -- Clusters ------------------------------------------------------------------------------------------------------ */

/* Weights of a cluster's points by energy. */
static double *energy_weights(const kernel_fit *k, const uint32_t *points, size_t count) {
    double *weights = calloc(count, sizeof *weights), sum = 0;
    for (size_t i = 0; weights && i < count; i++)
        for (uint32_t e = 0; e < k->positions.u.example_count; e++) {
            const float *d = k->positions.u.positions + 3 * ((size_t)e * k->positions.u.point_count + points[i]);
            weights[i] += (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
        }
    for (size_t i = 0; weights && i < count; i++) sum += weights[i];
    for (size_t i = 0; weights && i < count && sum > 0; i++) weights[i] /= sum;
    return weights;
}

/* Coordinates U^T u of the ridge's examples, [example][rank], to be freed; NULL when memory is out. */
static double *project(const field *x, size_t q, const pelt_ridge *ridge) {
    const uint32_t *points = x->clusters.points + x->clusters.first[q];
    size_t count = x->clusters.first[q + 1] - x->clusters.first[q], rank = x->clusters.ranks[q];
    double *out = malloc((ridge->example_count * rank + 1) * sizeof *out);
    for (size_t a = 0; out && a < ridge->example_count; a++)
        for (size_t r = 0; r < rank; r++) {
            const double *shape = x->clusters.shapes[q] + r * 3 * count;
            double sum = 0;
            for (size_t i = 0; i < count; i++)
                for (size_t c = 0; c < 3; c++)
                    sum += shape[3 * i + c] *
                           x->u.positions[3 * ((size_t)ridge->examples[a] * x->u.point_count + points[i]) + c];
            out[a * rank + r] = sum;
        }
    return out;
}

/* The units and examples of a cluster, and the kernel matrix between these, to be freed; NULL when memory is out. */
static double *cluster_matrix(const kernel_fit *k, size_t q, pelt_ridge *ridge) {
    const pelt_clusters *clusters = &k->positions.clusters;
    const uint32_t *points = clusters->points + clusters->first[q];
    size_t count = clusters->first[q + 1] - clusters->first[q];
    double *weights = energy_weights(k, points, count);
    bool done = weights && !pelt_ridge_of(&k->inputs, k->poses.count, count, points, weights, ridge);
    size_t n = done ? ridge->example_count : 0;
    double *matrix = done ? malloc((n * n + 1) * sizeof *matrix) : NULL;
    if (matrix) pelt_ridge_matrix(ridge, k->tables, k->poses.count, k->settings.pair, matrix);
    free(weights);
    return matrix;
}

static bool fit_cluster(kernel_fit *k, size_t q) {
    pelt_ridge *ridge = &k->ridges[q];
    double *matrix = cluster_matrix(k, q, ridge), size = 0;
    size_t n = matrix ? ridge->example_count : 0, rank = k->positions.clusters.ranks[q],
           turn_rank = k->normals.clusters.ranks[q];
    double *c = matrix ? project(&k->positions, q, ridge) : NULL;
    double *turns = matrix && turn_rank ? project(&k->normals, q, ridge) : NULL;
    k->positions.coefficients[q] = c, k->normals.coefficients[q] = turns;
    k->fitted[q] = malloc((n * rank + 1) * sizeof *k->fitted[q]);
    bool done = c && (turns || !turn_rank) && k->fitted[q];
    for (size_t i = 0; i < n * n; i++) size += matrix[i] * matrix[i];
    k->sizes[q] = sqrt(size);
    if (done && n) {
        done = pelt_ridge_solve(ridge, matrix, k->settings.lambda, SPANNED * k->settings.lambda, 2,
                                (pelt_ridge_values[]){{rank, c}, {turn_rank, turns}});
        size_t m = ridge->example_count; /* the centres, of the n examples */
        pelt_ridge_matrix(ridge, k->tables, k->poses.count, k->settings.pair, matrix);
        if (m && rank) pelt_gemm(false, false, m, rank, m, 1, matrix, c, 0, k->fitted[q]);
    }
    free(matrix);
    return done;
}

/* Coefficients of a cluster: those of positions, then those of normals. */
static uint32_t group_size(const kernel_fit *k, size_t q) {
    return k->positions.clusters.ranks[q] + k->normals.clusters.ranks[q];
}

static void fit_one(void *user, size_t q, pelt_arena *scratch) {
    (void)scratch;
    kernel_fit *k = user;
    if (!group_size(k, q)) return;
    if (!fit_cluster(k, q)) k->no_memory = true;
    if (!k->ridges[q].example_count) /* nothing drives it: all that is there is rounding */
        k->positions.clusters.ranks[q] = k->normals.clusters.ranks[q] = 0;
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* 2 sin(angle / 2) of a joint between two examples, or the difference of a scaled control. */
static double input_distance(const kernel_fit *k, uint32_t g, size_t a, size_t b) {
    const pelt_poses *p = &k->poses;
    size_t joint = k->inputs.joints[g];
    if (pelt_kernel_control(&k->inputs, g))
        return ((double)p->controls[a * p->control_count + joint] - p->controls[b * p->control_count + joint]) *
               p->control_list[joint].scale;
    double angle = pelt_rotation_angle(p->rotations + 4 * (a * p->joint_count + joint),
                                       p->rotations + 4 * (b * p->joint_count + joint));
    return 2 * sin(0.5 * angle);
}

/* The two closest examples of a cluster, each of what drives it counted by its part in the kernel. */
static void find_closest(const kernel_fit *k, const pelt_ridge *ridge, pelt_condition *out) {
    out->distance = INFINITY;
    for (uint32_t a = 0; a < ridge->example_count; a++)
        for (uint32_t b = a + 1; b < ridge->example_count; b++) {
            double sum = 0;
            for (uint32_t u = 0; u < ridge->unit_count; u++) {
                if (ridge->units[u].first != ridge->units[u].second) continue;
                sum += ridge->units[u].gain *
                       pow(input_distance(k, ridge->units[u].first, ridge->examples[a], ridge->examples[b]), 2);
            }
            if (!(sqrt(sum) < out->distance)) continue;
            out->distance = sqrt(sum);
            out->closest[0] = ridge->examples[a], out->closest[1] = ridge->examples[b];
        }
}

/* The condition of K + lambda I of a cluster; its units and examples go to `ridge`. 0 when memory is out. */
static double cluster_condition(const kernel_fit *k, size_t q, pelt_ridge *ridge) {
    double *matrix = cluster_matrix(k, q, ridge), condition = 0;
    size_t n = ridge->example_count;
    for (size_t a = 0; matrix && a < n; a++) matrix[a * n + a] += k->settings.lambda;
    if (matrix) condition = pelt_condition_of(n, matrix);
    free(matrix);
    return condition;
}

static uint32_t largest_cluster(const kernel_fit *k) {
    uint32_t largest = 0;
    for (uint32_t q = 1; q < k->positions.clusters.count; q++)
        if (k->sizes[q] > k->sizes[largest]) largest = q;
    return largest;
}

/* Of the worst cluster: the smallest eigenvalue of K + lambda I is hardly more than lambda, so it is one of those with
   the largest K. */
static bool note_condition(kernel_fit *k) {
    enum { MEASURED = 4 };
    pelt_condition worst = {0};
    pelt_ridge worst_ridge = {0};
    for (int i = 0; i < MEASURED; i++) {
        uint32_t q = largest_cluster(k);
        if (!(k->sizes[q] > 0)) break;
        k->sizes[q] = 0;
        pelt_ridge ridge = {0};
        double condition = cluster_condition(k, q, &ridge);
        if (condition > worst.value) {
            const field *x = &k->positions;
            uint32_t vertex = x->u.vertex_of[x->clusters.points[x->clusters.first[q]]];
            worst.value = condition;
            worst.where = pelt_arena_format(k->f->arena, "the cluster of vertex %u", vertex);
            pelt_ridge swap = ridge;
            ridge = worst_ridge, worst_ridge = swap;
        }
        pelt_ridge_free(&ridge);
        if (!(condition > 0)) return pelt_ridge_free(&worst_ridge), false;
    }
    if (worst.value > 0) {
        find_closest(k, &worst_ridge, &worst);
        pelt_note_condition(k->f, &worst);
    }
    pelt_ridge_free(&worst_ridge);
    return true;
}

/* The most that k_g(p, p) = 2 - 2 E_g(p, rest) can be: 3 - tr R is 4 at the most, a control goes anywhere. */
static double largest_unit(const kernel_fit *k, uint32_t g) {
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

/* |a|^2 <= K(p, p) c^T K c of every coefficient of positions. */
static bool note_bound(kernel_fit *k, const pelt_displacements *displacements) {
    const pelt_clusters *clusters = &k->positions.clusters;
    size_t total = 0, at = 0;
    for (uint32_t q = 0; q < clusters->count; q++) total += group_size(k, q);
    double *most = calloc(total + 1, sizeof *most);
    for (uint32_t q = 0; q < clusters->count && most; at += group_size(k, q), q++) {
        size_t n = k->ridges[q].example_count, rank = clusters->ranks[q];
        const double *c = k->positions.coefficients[q], *fitted = k->fitted[q];
        double ceiling = largest_kernel(k, &k->ridges[q]);
        for (size_t r = 0; r < rank; r++) {
            double square = 0;
            for (size_t a = 0; a < n; a++) square += c[a * rank + r] * fitted[a * rank + r];
            most[at + r] = sqrt(ceiling * fmax(square, 0));
        }
    }
    if (most) k->f->figures.bound = pelt_largest_displacement(displacements, k->f->model.vertex_count, most);
    bool done = most != NULL;
    free(most);
    return done;
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static void fill_center(const kernel_fit *k, uint32_t e, uint32_t g, float center[4]) {
    uint32_t joint = k->inputs.joints[g];
    if (pelt_kernel_control(&k->inputs, g))
        center[0] = k->poses.controls[(size_t)e * k->poses.control_count + joint];
    else
        memcpy(center, k->poses.rotations + 4 * ((size_t)e * k->poses.joint_count + joint), 4 * sizeof *center);
}

/* The examples that are centres of some cluster. */
static float *make_centers(const kernel_fit *k, uint32_t *index_of, uint32_t *count) {
    for (uint32_t q = 0; q < k->positions.clusters.count; q++)
        for (uint32_t a = 0; a < k->ridges[q].example_count; a++) index_of[k->ridges[q].examples[a]] = 1;
    float *centers = PELT_NEW(k->f->arena, 4 * (size_t)k->poses.count * k->inputs.count, float);
    *count = 0;
    for (uint32_t e = 0; centers && e < k->poses.count; e++) {
        if (!index_of[e]) continue;
        for (uint32_t g = 0; g < k->inputs.count; g++)
            fill_center(k, e, g, centers + 4 * ((size_t)*count * k->inputs.count + g));
        index_of[e] = (*count)++;
    }
    return centers;
}

/* [centre][coefficient] of a cluster; NULL when memory is out. */
static const float *make_matrix(const kernel_fit *k, size_t q) {
    size_t n = k->ridges[q].example_count, size = group_size(k, q), first = 0;
    float *matrix = PELT_NEW(k->f->arena, n * size, float);
    const field *fields[] = {&k->positions, &k->normals};
    for (int i = 0; i < 2 && matrix; first += fields[i++]->clusters.ranks[q]) {
        size_t rank = fields[i]->clusters.ranks[q];
        for (size_t a = 0; a < n; a++)
            for (size_t r = 0; r < rank; r++)
                matrix[a * size + first + r] = (float)fields[i]->coefficients[q][a * rank + r];
    }
    return matrix;
}

static bool make_group(const kernel_fit *k, size_t q, const uint32_t *index_of, pelt_kernel_unit *units,
                       uint32_t *unit_count, pelt_kernel_group *out) {
    const pelt_ridge *ridge = &k->ridges[q];
    size_t n = ridge->example_count;
    uint32_t *list = PELT_NEW(k->f->arena, ridge->unit_count, uint32_t);
    uint32_t *centers = PELT_NEW(k->f->arena, n, uint32_t);
    const float *matrix = make_matrix(k, q);
    if (!list || !centers || !matrix) return false;
    for (uint32_t u = 0; u < ridge->unit_count; u++) {
        pelt_kernel_unit unit = ridge->units[u];
        if (unit.first != unit.second) unit.gain *= (float)k->settings.pair;
        list[u] = *unit_count;
        units[(*unit_count)++] = unit;
    }
    for (size_t a = 0; a < n; a++) centers[a] = index_of[ridge->examples[a]];
    *out = (pelt_kernel_group){.unit_count = ridge->unit_count,
                               .center_count = (uint32_t)n,
                               .coefficient_count = group_size(k, q),
                               .units = list,
                               .centers = centers,
                               .matrix = matrix};
    return true;
}

static pelt_kernel *make_kernel(const kernel_fit *k) {
    pelt_arena *arena = k->f->arena;
    uint32_t clusters = k->positions.clusters.count;
    size_t units = 0;
    for (uint32_t q = 0; q < clusters; q++) units += k->ridges[q].unit_count;
    pelt_kernel *out = PELT_NEW(arena, 1, pelt_kernel);
    uint32_t *index_of = PELT_NEW(arena, k->poses.count, uint32_t);
    pelt_kernel_unit *table = PELT_NEW(arena, units, pelt_kernel_unit);
    pelt_kernel_group *groups = PELT_NEW(arena, clusters, pelt_kernel_group);
    float *scales = PELT_NEW(arena, k->inputs.count, float);
    if (!out || !index_of || !table || !groups || !scales) return NULL;
    for (uint32_t g = 0; g < k->inputs.count; g++) {
        bool control = pelt_kernel_control(&k->inputs, g);
        double unit = control ? k->poses.control_list[k->inputs.joints[g]].scale : 1;
        scales[g] = (float)(pelt_kernel_scale(&k->inputs, &k->settings, g) * unit * unit);
    }
    *out = (pelt_kernel){.joint_count = k->inputs.count,
                         .control_count = k->inputs.control_count,
                         .joints = k->inputs.joints,
                         .scales = scales,
                         .units = table,
                         .groups = groups};
    out->centers = make_centers(k, index_of, &out->center_count);
    if (!out->centers) return NULL;
    for (uint32_t q = 0; q < clusters; q++)
        if (group_size(k, q) && !make_group(k, q, index_of, table, &out->unit_count, &groups[out->group_count++]))
            return NULL;
    return out;
}

/* The vectors of a field, faded at the borders of clusters. */
static pelt_displacements *make_vectors(const kernel_fit *k, const field *x) {
    const pelt_clusters *c = &x->clusters;
    size_t total = 0, at = 0;
    for (uint32_t q = 0; q < c->count; q++) total += (size_t)c->ranks[q] * (c->first[q + 1] - c->first[q]);
    pelt_entry *entries = PELT_NEW(k->f->arena, total, pelt_entry);
    uint32_t first = 0;
    for (uint32_t q = 0; entries && q < c->count; first += group_size(k, q), q++)
        for (uint32_t r = 0; r < c->ranks[q]; r++) {
            uint32_t coefficient = first + r + (x == &k->normals ? k->positions.clusters.ranks[q] : 0);
            uint32_t count = c->first[q + 1] - c->first[q];
            for (uint32_t i = 0; i < count; i++) {
                pelt_entry *entry = &entries[at++];
                *entry = (pelt_entry){.point = c->points[c->first[q] + i], .coefficient = coefficient};
                for (size_t d = 0; d < 3; d++)
                    entry->position[d] =
                        c->weights[c->first[q] + i] * (float)c->shapes[q][((size_t)r * count + i) * 3 + d];
            }
        }
    return entries ? pelt_gather_displacements(k->f->arena, &x->u, entries, total) : NULL;
}

static pelt_result assemble(kernel_fit *k) {
    pelt_corrective *corrective = PELT_NEW(k->f->arena, 1, pelt_corrective);
    pelt_displacements *displacements = make_vectors(k, &k->positions);
    if (!corrective || !displacements) return PELT_ERROR_MEMORY;
    bool plain = k->f->options.plain_normals;
    corrective->kernel = make_kernel(k);
    corrective->displacements = displacements;
    if (!plain) corrective->turns = make_vectors(k, &k->normals);
    if (!corrective->kernel || (!plain && !corrective->turns)) return PELT_ERROR_MEMORY;
    if (!note_condition(k) || !note_bound(k, displacements)) return PELT_ERROR_MEMORY;
    k->f->model.corrective = corrective;
    k->f->details = pelt_arena_format(
        k->f->arena,
        "{\"width\":%.4g,\"range\":%.4g,\"pair\":%.4g,\"lambda\":%.4g,\"validation_error\":%.4f,\"joints\":%u,"
        "\"clusters\":%u}",
        k->settings.width, k->settings.range, k->settings.pair, k->settings.lambda, k->left, k->inputs.count,
        corrective->kernel->group_count);
    return k->f->details ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Clusters of points, and vectors for their displacements and for their normals. */
static pelt_result cluster(kernel_fit *k, pelt_error *error) {
    pelt_fitting *f = k->f;
    field *x = &k->positions, *normals = &k->normals;
    uint32_t threads = f->options.threads, count = x->u.point_count / POINTS_PER_CLUSTER;
    count = count < 1 ? 1 : count > MOST_CLUSTERS ? MOST_CLUSTERS : count;
    double budget = f->options.per_vertex ? f->options.per_vertex : 10;
    pelt_result result = pelt_cluster(f->arena, &x->u, &f->bundle->mesh, f->model.positions, count, budget, threads,
                                      &x->clusters, error);
    if (result) return result;
    if (f->options.plain_normals)
        normals->clusters.ranks = PELT_NEW(f->arena, x->clusters.count, uint32_t);
    else if (!pelt_turns_of(f, &normals->u))
        result = pelt_cluster_turns(f->arena, &x->u, &x->clusters, &normals->u, budget, threads, &normals->clusters);
    bool done = !result && normals->clusters.ranks;
    return done ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the normals of the examples");
}

static pelt_result regress(kernel_fit *k, pelt_error *error) {
    pelt_fitting *f = k->f;
    uint32_t threads = f->options.threads;
    size_t size = (size_t)k->poses.count * k->poses.count;
    k->tables = PELT_NEW(f->arena, size * k->inputs.count, float);
    k->settings = START;
    if (!k->tables ||
        pelt_kernel_validate(&k->poses, &k->positions.u, &k->inputs, threads, k->tables, &k->settings, &k->left))
        return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the kernels of %u joints in %u examples",
                         k->inputs.count, k->poses.count);
    pelt_result result = cluster(k, error);
    if (result) return result;
    uint32_t count = k->positions.clusters.count;
    k->ridges = PELT_NEW(f->arena, count, pelt_ridge);
    k->positions.coefficients = PELT_NEW(f->arena, count, double *);
    k->normals.coefficients = PELT_NEW(f->arena, count, double *);
    k->fitted = PELT_NEW(f->arena, count, double *);
    k->sizes = PELT_NEW(f->arena, count, double);
    bool ready = k->ridges && k->positions.coefficients && k->normals.coefficients && k->fitted && k->sizes;
    if (ready) pelt_parallel(NULL, threads, count, fit_one, k);
    bool done = ready && !k->no_memory && !assemble(k);
    for (uint32_t q = 0; ready && q < count; q++) {
        pelt_ridge_free(&k->ridges[q]);
        free(k->positions.coefficients[q]), free(k->normals.coefficients[q]), free(k->fitted[q]);
    }
    return done ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the kernel corrective");
}

pelt_result pelt_fit_kernel(pelt_fitting *f, pelt_error *error) {
    kernel_fit k = {.f = f};
    if (f->examples.count > MOST_EXAMPLES)
        return pelt_refuse_count(f, f->examples.count, "examples", MOST_EXAMPLES, error);
    pelt_result result = pelt_poses_of(f->arena, f->bundle, f->examples, f->options.control_scale, &k.poses, error);
    if (!result && !k.poses.mover_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "no joint turns and no control changes in any example, so there is nothing to drive a "
                         "corrective with: train on a "
                         "clip in which the skeleton moves");
    if (!result) result = pelt_displacements_of(f, &k.positions.u, error);
    if (!result) result = pelt_supports_of(f->arena, &f->model, &k.poses, &k.positions.u, &k.supports, error);
    if (!result)
        result = pelt_kernel_inputs_of(f->arena, &f->bundle->skeleton, &k.poses, &k.supports, &k.inputs, error);
    if (!result) result = regress(&k, error);
    return result;
}
