/* test_kernel.c: the kernel corrective against brute force, its bound, and characters whose truth is known. */

#include "test/corrected.h"
#include "fit/corrective/kernel.h"
#include "rig/linear.h"

enum { JOINTS = 4, VERTICES = 160, MOST = 128 };

/* Bulges that grow with the angle, and products of neighbours. */
static void bulges(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double sizes[JOINTS + 1] = {0};
        for (int j = 1; j < JOINTS; j++) {
            double away = fabs(x[1] - j);
            sizes[j] = away < 1 ? pow(cos(away * acos(-1) / 2), 2) : 0;
        }
        for (int j = 1; j < JOINTS; j++) {
            double alone = sizes[j] * (1 - cos(angles[j] * acos(-1) / 180));
            double together = j > 1 ? 4 * sizes[j] * sizes[j - 1] * angles[j] * angles[j - 1] / 8100 : 0;
            d[3 * v] += (0.6 * alone + 0.6 * together) * x[0];
            d[3 * v + 1] += 0.1 * sizes[j] * angles[j] / 90;
            d[3 * v + 2] += (0.9 * alone - 0.6 * together) * x[2];
        }
    }
}

static uint32_t examples(double angles[][JOINTS], uint32_t more) {
    return corrected_poses(JOINTS, 30, more, 5, angles[0]);
}

typedef struct parts {
    pelt_bundle *bundle;
    pelt_fitting f;
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
    pelt_kernel_inputs inputs;
    float *tables;
} parts;

static parts make_parts(uint32_t vertices) {
    double angles[MOST][JOINTS];
    parts p = {.bundle = character_chain(JOINTS, vertices)};
    pelt_clip *clip = corrected_clip(p.bundle, "train", examples(angles, 40), angles[0], bulges);
    pelt_error error = {0};
    p.f = corrected_fitting(p.bundle, clip);
    assert_int_equal(pelt_poses_of(p.f.arena, p.bundle, p.f.examples, NULL, &p.poses, &error), PELT_OK);
    assert_int_equal(pelt_displacements_of(&p.f, &p.u, &error), PELT_OK);
    assert_int_equal(pelt_supports_of(p.f.arena, &p.f.model, &p.poses, &p.u, &p.supports, &error), PELT_OK);
    assert_int_equal(pelt_kernel_inputs_of(p.f.arena, &p.bundle->skeleton, &p.poses, &p.supports, &p.inputs, &error),
                     PELT_OK);
    p.tables = PELT_NEW(p.f.arena, (size_t)p.poses.count * p.poses.count * p.inputs.count, float);
    return p;
}

static void free_parts(parts *p) {
    pelt_arena_free(p->f.arena);
    character_free(p->bundle);
}

static void rotation_matrix(const float q[4], double m[9]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                   2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                   2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(m, r, sizeof r);
}

/* exp(-(3 - tr A^T B) scale), from matrices. */
static double kernel_of(const float *a, const float *b, double scale) {
    double m[9], n[9], trace = 0;
    rotation_matrix(a, m), rotation_matrix(b, n);
    for (int i = 0; i < 9; i++) trace += m[i] * n[i];
    return exp(-(3 - trace) * scale);
}

static double at_rest_zero(const float *a, const float *b, double scale) {
    static const float rest[4] = {0, 0, 0, 1};
    return kernel_of(a, b, scale) - kernel_of(a, rest, scale) - kernel_of(rest, b, scale) + 1;
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

static void tables_hold_the_formula_of_rotation_matrices(void **state) {
    (void)state;
    parts p = make_parts(VERTICES);
    pelt_kernel_settings settings = {.width = 1.3, .range = 1, .pair = 0.5, .lambda = 0.01};
    pelt_kernel_tables(&p.poses, &p.inputs, &settings, 1, p.tables);
    size_t n = p.poses.count;
    assert_int_equal(p.inputs.count, JOINTS - 1);
    for (uint32_t g = 0; g < p.inputs.count; g++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++) {
                const float *x = p.poses.rotations + 4 * (a * JOINTS + p.inputs.joints[g]);
                const float *y = p.poses.rotations + 4 * (b * JOINTS + p.inputs.joints[g]);
                double wanted = at_rest_zero(x, y, pelt_kernel_scale(&p.inputs, &settings, g));
                assert_near(p.tables[(g * n + a) * n + b], wanted, 2e-6);
            }
    free_parts(&p);
}

static void without_ridge_the_regression_interpolates(void **state) {
    (void)state;
    parts p = make_parts(VERTICES);
    pelt_kernel_settings settings = {.width = 0.7, .range = 0, .pair = 0.5};
    memset(p.inputs.supports, 1, (size_t)p.u.point_count * p.inputs.count); /* or what others do would be left */
    pelt_kernel_tables(&p.poses, &p.inputs, &settings, 1, p.tables);
    double before = INFINITY;
    for (double lambda = 1; lambda > 1e-6; lambda *= 0.01) {
        double worst = 0;
        for (uint32_t i = 0; i < p.u.point_count; i += 17) {
            pelt_ridge ridge;
            assert_int_equal(pelt_ridge_of(&p.inputs, p.poses.count, 1, &i, &(double){1}, &ridge), PELT_OK);
            size_t n = ridge.example_count;
            double *k = calloc(2 * n * n + 1, sizeof *k), *c = calloc(3 * n + 1, sizeof *c);
            pelt_ridge_matrix(&ridge, p.tables, p.poses.count, settings.pair, k);
            memcpy(k + n * n, k, n * n * sizeof *k);
            for (size_t a = 0; a < n; a++) {
                k[a * n + a] += lambda;
                for (size_t x = 0; x < 3; x++)
                    c[3 * a + x] = p.u.positions[3 * ((size_t)ridge.examples[a] * p.u.point_count + i) + x];
            }
            assert_true(!n || pelt_cholesky(n, k)); /* positive definite: the bound rests on it */
            if (n) pelt_cholesky_solve(n, k, 3, c);
            for (size_t a = 0; a < n; a++)
                for (size_t x = 0; x < 3; x++) {
                    double sum = -p.u.positions[3 * ((size_t)ridge.examples[a] * p.u.point_count + i) + x];
                    for (size_t b = 0; b < n; b++) sum += k[n * n + a * n + b] * c[3 * b + x];
                    worst = fmax(worst, fabs(sum));
                }
            free(k), free(c);
            pelt_ridge_free(&ridge);
        }
        assert_true(worst < before);
        before = worst;
    }
    assert_true(before < 1e-3);
    free_parts(&p);
}

static void with_all_centres_the_solution_is_that_of_the_whole_system(void **state) {
    (void)state;
    parts p = make_parts(VERTICES);
    pelt_kernel_settings settings = {.width = 1, .range = 0, .pair = 0.5};
    pelt_kernel_tables(&p.poses, &p.inputs, &settings, 1, p.tables);
    pelt_ridge ridge;
    uint32_t point = 70, centers[MOST];
    assert_int_equal(pelt_ridge_of(&p.inputs, p.poses.count, 1, &point, &(double){1}, &ridge), PELT_OK);
    size_t n = ridge.example_count;
    double *k = calloc(n * n, sizeof *k), *whole = calloc(n * n, sizeof *whole), *c = calloc(n, sizeof *c), a[MOST];
    for (double tolerance = 1e-9; tolerance < 0.1; tolerance *= 1e4) {
        pelt_ridge few = {ridge.unit_count, ridge.example_count, ridge.units, centers};
        memcpy(centers, ridge.examples, n * sizeof *centers);
        pelt_ridge_matrix(&ridge, p.tables, p.poses.count, settings.pair, k);
        memcpy(whole, k, n * n * sizeof *k);
        for (size_t i = 0; i < n; i++) {
            a[i] = c[i] = p.u.positions[3 * ((size_t)ridge.examples[i] * p.u.point_count + point)];
            whole[i * n + i] += 0.01;
        }
        assert_true(pelt_cholesky(n, whole));
        pelt_cholesky_solve(n, whole, 1, c);
        assert_true(pelt_ridge_solve(&few, k, 0.01, tolerance, 1, &(pelt_ridge_values){1, a}));
        double worst = 0, most = 0;
        for (size_t i = 0; i < n; i++) { /* compare predictions: coefficients of close examples may trade places */
            double x = 0, y = 0;
            for (size_t b = 0; b < n; b++) x += k[i * n + b] * c[b];
            for (size_t b = 0; b < few.example_count; b++) {
                size_t at = 0;
                while (ridge.examples[at] != few.examples[b]) at++;
                y += k[i * n + at] * a[b];
            }
            worst = fmax(worst, fabs(x - y)), most = fmax(most, fabs(x));
        }
        assert_true(worst < (tolerance < 1e-6 ? 1e-4 : 0.02) * most);
    }
    free(k), free(whole), free(c);
    pelt_ridge_free(&ridge);
    free_parts(&p);
}

/* Cross-validation by refitting without the fold, plainly, for every point. */
static double brute_validation(const parts *p, const pelt_kernel_settings *s) {
    double left = 0, all = 0;
    int fold_of[MOST], next = 0;
    for (uint32_t e = 0; e < p->poses.count; e++) {
        bool several = !p->poses.rest[e] && p->poses.sweep_of[e] == PELT_NO_MOVER;
        fold_of[e] = several ? next++ % 5 : -1;
    }
    for (uint32_t i = 0; i < p->u.point_count; i++)
        for (int fold = 0; fold < 5; fold++) {
            uint32_t in[MOST], n = 0;
            const uint8_t *support = p->inputs.supports + (size_t)i * p->inputs.count;
            for (uint32_t e = 0; e < p->poses.count; e++)
                if (fold_of[e] != fold && !p->poses.rest[e]) in[n++] = e;
            double *k = calloc((size_t)n * n, sizeof *k), *c = calloc(3 * (size_t)n, sizeof *c);
            double row[MOST];
            for (uint32_t a = 0; a < n + p->poses.count; a++) {
                uint32_t e = a < n ? in[a] : a - n;
                if (a >= n && fold_of[e] != fold) continue;
                for (uint32_t b = 0; b < n; b++) {
                    double single[JOINTS] = {0};
                    row[b] = 0;
                    for (uint32_t g = 0; g < p->inputs.count; g++)
                        if (support[g])
                            row[b] += single[g] =
                                at_rest_zero(p->poses.rotations + 4 * ((size_t)e * JOINTS + p->inputs.joints[g]),
                                             p->poses.rotations + 4 * ((size_t)in[b] * JOINTS + p->inputs.joints[g]),
                                             pelt_kernel_scale(&p->inputs, s, g));
                    for (uint32_t g = 1; g < p->inputs.count; g++) /* a chain: above is one less, and two less */
                        row[b] += s->pair * single[g] * (single[g - 1] + (g > 1 ? single[g - 2] : 0));
                    if (a < n) k[(size_t)a * n + b] = row[b] + (a == b ? s->lambda : 0);
                }
                const float *u = p->u.positions + 3 * ((size_t)e * p->u.point_count + i);
                if (a < n) {
                    for (int x = 0; x < 3; x++) c[3 * a + x] = u[x];
                    if (a == n - 1) {
                        assert_true(pelt_cholesky(n, k));
                        pelt_cholesky_solve(n, k, 3, c);
                    }
                    continue;
                }
                for (int x = 0; x < 3; x++) {
                    double miss = u[x];
                    bool driven = false;
                    for (uint32_t g = 0; g < p->inputs.count; g++) driven |= support[g];
                    for (uint32_t b = 0; b < n; b++) miss -= row[b] * c[3 * b + x];
                    if (driven) left += miss * miss, all += (double)u[x] * u[x];
                }
            }
            free(k), free(c);
        }
    return sqrt(left / all);
}

static void validation_from_one_inverse_equals_refitting(void **state) {
    (void)state;
    parts p = make_parts(40);
    pelt_kernel_settings settings = {.width = 2, .range = 0, .pair = 0.5, .lambda = 0.005};
    double left = 0;
    assert_int_equal(pelt_kernel_validate(&p.poses, &p.u, &p.inputs, 1, p.tables, &settings, &left), PELT_OK);
    assert_near(left, brute_validation(&p, &settings), 1e-3 * left + 1e-6);
    free_parts(&p);
}

/* -- Clusters ------------------------------------------------------------------------------------------------------ */

/* Two halves of a cloud, each with a shape of its own times its own signal. */
static void planted_clusters_are_found(void **state) {
    (void)state;
    enum { POINTS = 120, EXAMPLES = 30 };
    pelt_arena *arena = pelt_arena_new(0);
    pelt_example_displacements u = {.example_count = EXAMPLES,
                                    .vertex_count = POINTS,
                                    .point_count = POINTS,
                                    .vertex_of = PELT_NEW(arena, POINTS, uint32_t),
                                    .positions = PELT_NEW(arena, 3 * POINTS * EXAMPLES, float)};
    float *places = PELT_NEW(arena, 3 * POINTS, float);
    uint64_t seed = 7;
    double shape[3 * POINTS];
    for (int i = 0; i < 3 * POINTS; i++) shape[i] = test_random(&seed) - 0.5, places[i] = (float)test_random(&seed);
    for (uint32_t i = 0; i < POINTS; i++) u.vertex_of[i] = i;
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        double signals[2] = {test_random(&seed) - 0.5, test_random(&seed) - 0.5};
        for (uint32_t i = 0; i < POINTS; i++)
            for (uint32_t c = 0; c < 3; c++)
                u.positions[3 * (e * POINTS + i) + c] = (float)(shape[3 * i + c] * signals[i % 2]);
    }
    pelt_clusters clusters;
    pelt_mesh mesh = {.vertex_count = POINTS};
    pelt_error error = {0};
    assert_int_equal(pelt_cluster(arena, &u, &mesh, places, 2, 1, 1, &clusters, &error), PELT_OK);
    for (uint32_t q = 0; q < 2; q++)
        for (uint32_t m = clusters.first[q]; m < clusters.first[q + 1]; m++)
            assert_int_equal(clusters.points[m] % 2, clusters.points[clusters.first[q]] % 2);
    for (uint32_t q = 0; q < 2; q++) { /* orthonormal, and along the planted shape */
        double dot = 0, length = 0, norm = 0;
        uint32_t count = clusters.first[q + 1] - clusters.first[q];
        assert_int_equal(clusters.ranks[q], 1);
        for (uint32_t m = 0; m < count; m++)
            for (uint32_t c = 0; c < 3; c++) {
                double x = clusters.shapes[q][3 * m + c], y = shape[3 * clusters.points[clusters.first[q] + m] + c];
                dot += x * y, length += x * x, norm += y * y;
            }
        assert_near(length, 1, 1e-9);
        assert_near(fabs(dot), sqrt(norm), 1e-5);
    }
    pelt_arena_free(arena);
}

/* A tube cut in two at half its height: rings of edges are rings of the tube. */
static void clusters_overlap_by_rings_with_weights_that_sum_to_one(void **state) {
    (void)state;
    enum { SIDES = 8, RINGS = 20, POINTS = SIDES * RINGS };
    pelt_bundle *bundle = character_chain(JOINTS, POINTS);
    pelt_example_displacements u = {.vertex_count = POINTS, .point_count = POINTS};
    uint32_t first[] = {0, POINTS / 2, POINTS}, points[POINTS];
    u.point_of = points;
    for (uint32_t i = 0; i < POINTS; i++) points[i] = i;
    pelt_clusters grown = {.count = 2, .first = first, .points = points};
    assert_int_equal(pelt_overlap_clusters(bundle->arena, &bundle->mesh, &u, 3, 1.5, &grown), PELT_OK);
    assert_int_equal(grown.first[2], POINTS + 2 * 3 * SIDES); /* three rings of the other half in both */
    double sums[POINTS] = {0};
    for (uint32_t q = 0; q < 2; q++)
        for (uint32_t m = grown.first[q]; m < grown.first[q + 1]; m++) {
            int ring = (int)grown.points[m] / SIDES, depth = q ? RINGS / 2 - 1 - ring : ring - RINGS / 2;
            double own = 1, other = 1 - (depth + 1) / 4.0; /* of a foreign point, `depth` rings past the border */
            if (depth >= 0) assert_near(grown.weights[m], other / (own + other), 1e-6);
            sums[grown.points[m]] += grown.weights[m];
        }
    for (uint32_t i = 0; i < POINTS; i++) assert_near(sums[i], 1, 1e-6);
    pelt_clusters apart = {.count = 2, .first = first, .points = points};
    assert_int_equal(pelt_overlap_clusters(bundle->arena, &bundle->mesh, &u, 3, 1.05, &apart), PELT_OK);
    assert_int_equal(apart.first[2], POINTS); /* no room for even one ring */
    for (uint32_t i = 0; i < POINTS; i++) assert_near(apart.weights[i], 1, 0);
    character_free(bundle);
}

static void the_budget_is_the_mean_over_all_vertices(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    for (uint32_t n = 1; n <= 9; n += 4) {
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        f.options.per_vertex = n;
        assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
        assert_true(f.model.corrective->displacements->first[VERTICES] <= n * VERTICES);
        pelt_arena_free(f.arena);
    }
    character_free(bundle);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static void the_truth_is_learned_and_the_rest_pose_kept(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 80), angles[0], bulges);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
    assert_true(corrected_error(&f, (double[JOINTS]){0}, bulges) < 1e-6);
    uint64_t seed = 77;
    for (int i = 0; i < 50; i++) {
        double pose[JOINTS] = {0}, nothing = 0;
        double truth[3 * VERTICES] = {0};
        for (int j = 1; j < JOINTS; j++) pose[j] = 100 * (test_random(&seed) - 0.5);
        bulges(bundle, pose, truth);
        for (int k = 0; k < 3 * VERTICES; k++) nothing = fmax(nothing, fabs(truth[k]));
        assert_true(corrected_error(&f, pose, bulges) < 0.1 * nothing + 0.005);
    }
    pelt_arena_free(f.arena);
    character_free(bundle);
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

/* How far the tube is stretched along x when its root is turned. */
static double stretch_of(double angle) { return 1 + 0.6 * (1 - cos(angle * acos(-1) / 180)); }

static void stretch(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        d[3 * v] = (stretch_of(angles[0]) - 1) * bundle->mesh.positions[3 * v];
}

/* Sums of squares over all vertices of what normals miss when the root is turned: with the corrective, [0], and
   without, [1]. The root turns all vertices as one, so the blend keeps normals as they are at rest; those of the
   stretched surface are (n_x / stretch, n_y, n_z), made unit: sums of cross products follow linear maps exactly. */
static void add_misses(const pelt_fitting *f, double angle, double misses[2]) {
    uint32_t n = f->model.vertex_count;
    double *d = calloc(6 * (size_t)n, sizeof *d), *turns = d + 3 * (size_t)n;
    pelt_transform locals[JOINTS];
    memcpy(locals, f->bundle->skeleton.rest, sizeof locals);
    memcpy(locals[0].rotation, character_turn(0, 0, 1, angle).rotation, sizeof locals[0].rotation);
    assert_true(pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, NULL, n, d, turns));
    for (uint32_t v = 0; v < n; v++) {
        const float *rest = f->model.normals + 3 * (size_t)v;
        double truth[3] = {rest[0] / stretch_of(angle), rest[1], rest[2]}, fitted[3], length = 0, own = 0;
        for (uint32_t c = 0; c < 3; c++) {
            fitted[c] = rest[c] + turns[3 * v + c];
            length += truth[c] * truth[c], own += fitted[c] * fitted[c];
        }
        for (uint32_t c = 0; c < 3; c++) {
            misses[0] += pow(fitted[c] / sqrt(own) - truth[c] / sqrt(length), 2);
            misses[1] += pow(rest[c] - truth[c] / sqrt(length), 2);
        }
    }
    free(d);
}

static void normals_of_a_stretched_tube_follow_the_closed_form(void **state) {
    (void)state;
    double angles[25][JOINTS] = {{0}}, misses[2] = {0};
    for (int e = 0; e < 25; e++) angles[e][0] = 5 * (e - 12);
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_mesh *mesh = &bundle->mesh;
    pelt_mesh_normals(mesh->positions, VERTICES, mesh->triangles, mesh->triangle_count, mesh->normals);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", 25, angles[0], stretch));
    pelt_error error = {0};
    if (pelt_fit_kernel(&f, &error)) fail_msg("%s", error.text);
    for (double angle = -57.5; angle < 60; angle += 5) add_misses(&f, angle, misses); /* between the examples */
    assert_true(sqrt(misses[0]) < 0.02 * sqrt(misses[1]));
    pelt_arena_free(f.arena);
    character_free(bundle);
}

static void displacements_have_the_same_bits_with_plain_normals(void **state) {
    (void)state;
    double angles[MOST][JOINTS], *d[2];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    for (int plain = 0; plain < 2; plain++) {
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        f.options.plain_normals = plain;
        assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
        assert_true((f.model.corrective->turns == NULL) == plain);
        d[plain] = calloc(3 * VERTICES * clip->frame_count, sizeof **d);
        for (uint32_t e = 0; e < clip->frame_count; e++) {
            pelt_transform locals[JOINTS];
            pelt_clip_pose(clip, &bundle->skeleton, e, locals);
            assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, VERTICES,
                                             d[plain] + 3 * VERTICES * (size_t)e, NULL));
        }
        pelt_arena_free(f.arena);
    }
    assert_memory_equal(d[0], d[1], 3 * VERTICES * clip->frame_count * sizeof **d);
    free(d[0]), free(d[1]);
    character_free(bundle);
}

/* Vertices 1 and 3 are one point in two clusters; their normals turn in ways of their own. With as many vectors as
   there are ways, shapes times coordinates are the turns, and the weights of each vertex sum to 1. */
static void the_sides_of_a_seam_turn_apart_in_every_cluster_of_their_point(void **state) {
    (void)state;
    enum { CORNERS = 5, NUMBERS = 3 * CORNERS, EXAMPLES = 7, WAYS = 2 };
    uint32_t point_of[] = {0, 1, 2, 1, 3}, same[] = {0, 1, 2, 3, 4}, first[] = {0, 2, 5}, points[] = {0, 1, 1, 2, 3};
    float weights[] = {1, 0.25F, 0.75F, 1, 1}, turned[NUMBERS * EXAMPLES] = {0};
    double ways[WAYS][NUMBERS], sums[CORNERS] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < WAYS * NUMBERS; i++) ways[i / NUMBERS][i % NUMBERS] = test_random(&seed) - 0.5;
    for (int e = 0; e < EXAMPLES; e++)
        for (int w = 0; w < WAYS; w++) {
            double much = test_random(&seed) - 0.5;
            for (int i = 0; i < NUMBERS; i++) turned[e * NUMBERS + i] += (float)(much * ways[w][i]);
        }
    pelt_example_displacements u = {.vertex_count = CORNERS, .point_count = 4, .point_of = point_of};
    pelt_example_displacements turns = {EXAMPLES, CORNERS, CORNERS, same, same, turned, 0, 0};
    pelt_clusters clusters = {.count = 2, .first = first, .points = points, .weights = weights}, out;
    pelt_arena *arena = pelt_arena_new(0);
    assert_int_equal(pelt_cluster_turns(arena, &u, &clusters, &turns, 4, 1, &out), PELT_OK);
    for (uint32_t q = 0; q < 2; q++) {
        uint32_t count = out.first[q + 1] - out.first[q], *list = out.points + out.first[q];
        assert_int_equal(count, q ? 4 : 3);
        assert_int_equal(out.ranks[q], WAYS);
        for (uint32_t m = 0; m < count; m++) sums[list[m]] += out.weights[out.first[q] + m];
        for (uint32_t e = 0; e < EXAMPLES; e++)
            for (uint32_t i = 0; i < 3 * count; i++) {
                double sum = 0;
                for (uint32_t r = 0; r < WAYS; r++)
                    for (uint32_t k = 0; k < 3 * count; k++)
                        sum += out.shapes[q][r * 3 * count + i] * out.shapes[q][r * 3 * count + k] *
                               turned[e * NUMBERS + 3 * list[k / 3] + k % 3];
                assert_near(sum, turned[e * NUMBERS + 3 * list[i / 3] + i % 3], 1e-6);
            }
    }
    for (uint32_t v = 0; v < CORNERS; v++) assert_near(sums[v], 1, 0);
    pelt_arena_free(arena);
}

/* -- Bounds and bytes ---------------------------------------------------------------------------------------------- */

/* |a(p)|^2 <= K(p, p) c^T K c, with K(p, p) < sum of gains x 2 for joints, x 4 for pairs. */
static double coefficient_bound(const pelt_kernel *k, const pelt_kernel_group *group, uint32_t coefficient) {
    double most = 0, square = 0;
    for (uint32_t u = 0; u < group->unit_count; u++) {
        const pelt_kernel_unit *unit = &k->units[group->units[u]];
        most += unit->gain * (unit->first == unit->second ? 2 : 4);
    }
    for (uint32_t a = 0; a < group->center_count; a++)
        for (uint32_t b = 0; b < group->center_count; b++) {
            double value = 0;
            for (uint32_t u = 0; u < group->unit_count; u++) {
                const pelt_kernel_unit *unit = &k->units[group->units[u]];
                double product = unit->gain;
                for (int side = 0; side < (unit->first == unit->second ? 1 : 2); side++) {
                    uint32_t g = side ? unit->second : unit->first;
                    product *=
                        at_rest_zero(k->centers + 4 * ((size_t)group->centers[a] * k->joint_count + g),
                                     k->centers + 4 * ((size_t)group->centers[b] * k->joint_count + g), k->scales[g]);
                }
                value += product;
            }
            square += (double)group->matrix[(size_t)a * group->coefficient_count + coefficient] * value *
                      (double)group->matrix[(size_t)b * group->coefficient_count + coefficient];
        }
    return sqrt(most * fmax(square, 0));
}

static void coefficients_stay_within_the_bound_in_any_pose(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
    const pelt_kernel *k = f.model.corrective->kernel;
    uint32_t count = pelt_corrective_coefficient_count(f.model.corrective), at = 0;
    double *bounds = calloc(count, sizeof *bounds), *a = calloc(count, sizeof *a);
    for (uint32_t q = 0; q < k->group_count; q++)
        for (uint32_t c = 0; c < k->groups[q].coefficient_count; c++)
            bounds[at++] = coefficient_bound(k, &k->groups[q], c);
    uint64_t seed = 11;
    float translations[3 * JOINTS] = {0};
    for (int i = 0; i < 5000; i++) {
        float rotations[4 * JOINTS];
        for (int j = 0; j < JOINTS; j++) {
            double q[4], length = 0;
            for (int x = 0; x < 4; x++) q[x] = test_random(&seed) - 0.5, length += q[x] * q[x];
            for (int x = 0; x < 4; x++) rotations[4 * j + x] = (float)(q[x] / sqrt(length));
        }
        pelt_corrective_coefficients(f.model.corrective, &(pelt_pose_state){rotations, translations, NULL}, a);
        for (uint32_t c = 0; c < count; c++) assert_true(fabs(a[c]) <= bounds[c] * 1.001 + 1e-6);
    }
    free(bounds), free(a);
    pelt_arena_free(f.arena);
    character_free(bundle);
}

static void one_thread_and_two_give_the_same_bytes(void **state) {
    (void)state;
    double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", examples(angles, 40), angles[0], bulges);
    corrected_same_bytes(bundle, clip, (pelt_fit_options){.method = "kernel"});
    character_free(bundle);
}

/* -- Any set of poses ---------------------------------------------------------------------------------------------- */

static double worst_in_training(uint32_t count, const double *angles) {
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", count, angles, bulges));
    pelt_error error = {0};
    double worst = 0;
    if (pelt_fit_kernel(&f, &error)) fail_msg("%s", error.text);
    for (uint32_t e = 0; e < count; e++) worst = fmax(worst, corrected_error(&f, angles + (size_t)e * JOINTS, bulges));
    pelt_arena_free(f.arena);
    character_free(bundle);
    return worst;
}

static void joints_need_not_move_alone_nor_rest_nor_stay_below_half_a_turn(void **state) {
    (void)state;
    double angles[60][JOINTS];
    uint64_t seed = 21;
    for (int e = 0; e < 60; e++)
        for (int j = 0; j < JOINTS; j++) angles[e][j] = j ? 80 * (test_random(&seed) - 0.5) : 0;
    assert_true(worst_in_training(60, angles[0]) < 0.05);
    for (int e = 0; e < 60; e++) angles[e][2] = 5.0 * e;
    assert_true(isfinite(worst_in_training(60, angles[0])));
}

/* -- Real characters ----------------------------------------------------------------------------------------------- */

static void unseen_poses_of_a_hand(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    double max;
    assert_true(corrected_rel_err(path, "test", (pelt_fit_options){.method = "kernel", .per_vertex = 5}, &max) < 0.28);
    assert_true(corrected_rel_err(path, "test", (pelt_fit_options){.method = "kernel", .per_vertex = 10}, &max) <
                0.235);
    assert_true(max < 0.005);
}

/* Along every mesh edge, how far the difference of the two displacements is from the true one, relative to it: root of
   the sums over all edges across cluster borders, [1], and inside, [0]. */
static void edge_jumps(const pelt_fitting *f, const pelt_clip *clip, double relative[2]) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    const pelt_displacements *d = f->model.corrective->displacements;
    pelt_fitting unseen = *f;
    pelt_example_displacements u;
    pelt_error error = {0};
    unseen.examples = pelt_bundle_examples(f->bundle, &clip, 1);
    assert_int_equal(pelt_displacements_of(&unseen, &u, &error), PELT_OK);
    double *model = calloc(3 * (size_t)mesh->vertex_count, sizeof *model), miss[2] = {0}, all[2] = {0};
    pelt_transform *locals = calloc(f->bundle->skeleton.joint_count, sizeof *locals);
    for (uint32_t e = 0; e < clip->frame_count; e++) {
        pelt_clip_pose(clip, &f->bundle->skeleton, e, locals);
        pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, NULL, mesh->vertex_count, model, NULL);
        for (uint32_t c = 0; c < 3 * mesh->triangle_count; c++) {
            uint32_t a = mesh->triangles[c], b = mesh->triangles[c % 3 == 2 ? c - 2 : c + 1];
            int across = d->coefficients[d->first[a]] != d->coefficients[d->first[b]];
            for (uint32_t x = 0; x < 3; x++) {
                double truth = u.positions[3 * ((size_t)e * u.point_count + u.point_of[a]) + x] -
                               u.positions[3 * ((size_t)e * u.point_count + u.point_of[b]) + x];
                miss[across] += pow(model[3 * a + x] - model[3 * b + x] - truth, 2), all[across] += truth * truth;
            }
        }
    }
    for (int k = 0; k < 2; k++) relative[k] = sqrt(miss[k] / all[k]);
    free(model), free(locals);
}

static void borders_of_clusters_show_no_more_than_what_is_inside(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    const pelt_clip *unseen = pelt_bundle_clip(bundle, "test", PELT_NEED_POSITIONS, &error);
    pelt_fitting f = corrected_fitting(bundle, train);
    double relative[2];
    assert_int_equal(pelt_fit_kernel(&f, &error), PELT_OK);
    edge_jumps(&f, unseen, relative);
    assert_true(relative[1] < relative[0]);
    pelt_arena_free(f.arena);
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_formula_of_rotation_matrices),
        cmocka_unit_test(without_ridge_the_regression_interpolates),
        cmocka_unit_test(with_all_centres_the_solution_is_that_of_the_whole_system),
        cmocka_unit_test(validation_from_one_inverse_equals_refitting),
        cmocka_unit_test(planted_clusters_are_found),
        cmocka_unit_test(clusters_overlap_by_rings_with_weights_that_sum_to_one),
        cmocka_unit_test(the_budget_is_the_mean_over_all_vertices),
        cmocka_unit_test(the_truth_is_learned_and_the_rest_pose_kept),
        cmocka_unit_test(normals_of_a_stretched_tube_follow_the_closed_form),
        cmocka_unit_test(displacements_have_the_same_bits_with_plain_normals),
        cmocka_unit_test(the_sides_of_a_seam_turn_apart_in_every_cluster_of_their_point),
        cmocka_unit_test(coefficients_stay_within_the_bound_in_any_pose),
        cmocka_unit_test(one_thread_and_two_give_the_same_bytes),
        cmocka_unit_test(joints_need_not_move_alone_nor_rest_nor_stay_below_half_a_turn),
        cmocka_unit_test(unseen_poses_of_a_hand),
        cmocka_unit_test(borders_of_clusters_show_no_more_than_what_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
