/* test_wpsd.c: weighted pose space deformation: the folded form against the formula it was folded from, interpolation,
   normals, and what drives a vertex. */

#include "fit/corrective/correctives.h"
#include "fit/corrective/rbf.h"
#include "fit/examples/displacement.h"
#include "fit/examples/poses.h"
#include "rig/linear.h"
#include "test/corrected.h"
#include "test/sampled.h"

static pelt_fitting fitted(pelt_bundle *bundle, pelt_fit_options options) {
    pelt_error error;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = options};
    f.examples = all_of(bundle, "train");
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    if (pelt_fit_corrective(&f, &error)) fail_msg("%s", error.text);
    return f;
}

/* -- The papers' equations ------------------------------------------------------------------------------------------ */

/* Rhee et al.'s formula as they write it, for one vertex and pose: r_t = sum_k lambda_tk phi_k / sum, D = sum r_t d_t,
   over the poses this vertex distinguishes. distances [center][center] and [center] are squared. */
static void unfolded(pelt_phi kind, double width, const double *between, const double *to_pose, const double *shapes,
                     size_t n, double out[3]) {
    double *phi = malloc(n * n * sizeof *phi), *lambda = calloc(n * n, sizeof *lambda), *f = calloc(n, sizeof *f),
           sum = 0;
    for (size_t i = 0; i < n * n; i++) phi[i] = pelt_phi_value(kind, width, between[i]);
    for (size_t i = 0; i < n; i++) lambda[i * n + i] = 1;
    assert_true(pelt_cholesky(n, phi));
    pelt_cholesky_solve(n, phi, n, lambda);
    for (size_t t = 0; t < n; t++) {
        for (size_t k = 0; k < n; k++) f[t] += lambda[t * n + k] * pelt_phi_value(kind, width, to_pose[k]);
        sum += f[t];
    }
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (size_t t = 0; t < n; t++)
            out[i] += f[t] * (sum > 1.0 / 32 ? 1 / sum : 1024 * fmax(sum, 0)) * shapes[3 * t + (size_t)i];
    }
    free(phi), free(lambda), free(f);
}

static void rotation_matrix(const float *q, double r[3][3]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double rows[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                         {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                         {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(r, rows, sizeof rows);
}

/* The joint vector of a rotation: all nine numbers over sqrt 2, whose distance is the chord; axis times angle, from the
   trace; or angles about x, y, z, from the matrix. */
static void joint_vector(pelt_rotations kind, const float *q, double out[9]) {
    double r[3][3];
    rotation_matrix(q, r);
    for (int i = 0; i < 9; i++) out[i] = kind == PELT_ROTATIONS_CHORD ? r[i / 3][i % 3] / sqrt(2) : 0;
    if (kind == PELT_ROTATIONS_VECTOR) {
        double angle = acos(fmin(fmax((r[0][0] + r[1][1] + r[2][2] - 1) / 2, -1), 1));
        double scale = angle > 1e-6 ? angle / (2 * sin(angle)) : 0.5;
        for (int i = 0; i < 3; i++) out[i] = scale * (r[(i + 2) % 3][(i + 1) % 3] - r[(i + 1) % 3][(i + 2) % 3]);
    } else if (kind == PELT_ROTATIONS_EULER) {
        double pi = acos(-1), best = INFINITY, b = asin(fmin(fmax(-r[2][0], -1), 1));
        for (int which = 0; which < 2; which++) { /* both solutions: the one nearer to 0 counts */
            double sign = which ? -1 : 1,
                   angles[3] = {atan2(sign * r[2][1], sign * r[2][2]), which ? (b < 0 ? -pi - b : pi - b) : b,
                                atan2(sign * r[1][0], sign * r[0][0])};
            double size = angles[0] * angles[0] + angles[1] * angles[1] + angles[2] * angles[2];
            if (size < best) best = size, memcpy(out, angles, sizeof angles);
        }
    }
}

/* Squared distance of two poses by joint vectors, joints weighted; rotations [joint][4]. */
static double pose_gap(pelt_rotations kind, size_t joints, const double *weights, const float *a, const float *b) {
    double sum = 0;
    for (size_t j = 0; j < joints; j++) {
        double x[9], y[9], gap = 0;
        joint_vector(kind, a + 4 * j, x), joint_vector(kind, b + 4 * j, y);
        for (int i = 0; i < 9; i++) gap += (x[i] - y[i]) * (x[i] - y[i]);
        sum += weights[j] * gap;
    }
    return sum;
}

/* What both formulas are compared on. */
typedef struct comparison {
    pelt_bundle *bundle;
    pelt_fitting f;
    pelt_poses poses, test;
    pelt_examples unseen;
    pelt_example_displacements d;
    double worst, most;
} comparison;

static comparison new_comparison(pelt_fit_options options) {
    pelt_error error;
    comparison c = {.bundle = sampled("arm", 200)};
    c.f = fitted(c.bundle, options);
    c.unseen = all_of(c.bundle, "test");
    assert_int_equal(pelt_displacements_of(&c.f, &c.d, &error), PELT_OK);
    pelt_poses_of(c.f.arena, c.bundle, c.f.examples, &(pelt_fit_options){0}, &c.poses);
    pelt_poses_of(c.f.arena, c.bundle, c.unseen, &(pelt_fit_options){0}, &c.test);
    return c;
}

/* One vertex, whose distance has these weights [joint], in every seventh unseen pose; poses that differ only in other
   joints are merged, with their mean shape. */
static void compare_vertex(comparison *c, uint32_t v, pelt_rotations kind, const double *weights, pelt_phi phi,
                           double width) {
    size_t joints = c->bundle->skeleton.joint_count, n = c->poses.count, count = 0;
    pelt_arena *arena = c->f.arena;
    double *out = PELT_NEW(arena, 3 * 200, double), *between = PELT_NEW(arena, n * n, double),
           *to_pose = PELT_NEW(arena, n, double), *shapes = PELT_NEW(arena, 3 * n, double);
    uint32_t *kept = PELT_NEW(arena, n, uint32_t), *tally = PELT_NEW(arena, n, uint32_t);
    pelt_transform *locals = PELT_NEW(arena, joints, pelt_transform);
    const float *train = c->poses.rotations;
    for (uint32_t e = 0; e < n; e++) {
        size_t k = 0;
        while (k < count &&
               pose_gap(kind, joints, weights, train + 4 * e * joints, train + 4 * kept[k] * joints) >= 1e-8)
            k++;
        if (k == count) kept[count++] = e;
        tally[k]++;
        for (size_t i = 0; i < 3; i++)
            shapes[3 * k + i] += c->d.positions[3 * (e * c->d.point_count + c->d.point_of[v]) + i];
    }
    for (size_t i = 0; i < 3 * count; i++) shapes[i] /= tally[i / 3];
    for (size_t i = 0; i < count * count; i++)
        between[i] =
            pose_gap(kind, joints, weights, train + 4 * kept[i / count] * joints, train + 4 * kept[i % count] * joints);
    for (uint32_t e = 0; e < c->test.count; e += 7) {
        double expected[3];
        for (size_t k = 0; k < count; k++)
            to_pose[k] =
                pose_gap(kind, joints, weights, c->test.rotations + 4 * e * joints, train + 4 * kept[k] * joints);
        unfolded(phi, width, between, to_pose, shapes, count, expected);
        pelt_clip_pose(c->unseen.list[e].clip, &c->bundle->skeleton, c->unseen.list[e].frame, locals);
        assert_true(pelt_corrective_eval(c->f.model.corrective, &c->bundle->skeleton, locals, NULL, 200, out, NULL));
        for (size_t i = 0; i < 3; i++) {
            c->worst = fmax(c->worst, fabs(out[3 * v + i] - expected[i]));
            c->most = fmax(c->most, fabs(expected[i]));
        }
    }
}

static void end_comparison(comparison *c) {
    assert_true(c->most > 1e-3 * c->bundle->mesh.diagonal); /* there was something to compare */
    assert_true(c->worst < 1e-5 * c->bundle->mesh.diagonal);
    pelt_bundle_free(c->bundle);
}

/* Equation 8, with per-vertex weights, and joint vectors of every kind. */
static void the_folded_form_equals_the_unfolded_formula(void **state) {
    (void)state;
    for (int kind = 0; kind < PELT_ROTATIONS_COUNT; kind++) {
        comparison c = new_comparison((pelt_fit_options){
            .method = PELT_METHOD_WPSD, .psd.rotations = (pelt_rotations)kind, .psd.width = kind == 1 ? 0.8 : 0});
        const pelt_weighted *w = c.f.model.corrective->weighted;
        double *weights = PELT_NEW(c.f.arena, c.bundle->skeleton.joint_count, double);
        if (kind == 1) assert_near(w->width, 0.8, 1e-6);
        for (uint32_t v = 3; v < 200; v += 23) {
            if (w->first[v] == w->first[v + 1]) continue;
            memset(weights, 0, c.bundle->skeleton.joint_count * sizeof *weights);
            for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
                weights[w->axes[w->vertex_axes[i]].joint] += w->axis_weights[i];
            compare_vertex(&c, v, (pelt_rotations)kind, weights, w->phi, w->width);
        }
        end_comparison(&c);
    }
}

/* Equation 7: all joints equal, one distance for all vertices. */
static void psd_of_unweighted_joints_equals_the_formula(void **state) {
    (void)state;
    for (int kind = 0; kind < PELT_ROTATIONS_COUNT; kind++) {
        comparison c = new_comparison((pelt_fit_options){.method = PELT_METHOD_PSD,
                                                         .psd = {.rbf = PELT_RBF_MIXED,
                                                                 .distance_weights = PELT_DISTANCE_EQUAL,
                                                                 .rotations = (pelt_rotations)kind,
                                                                 .width = kind == 2 ? 1.1 : 0}});
        const pelt_rbf *rbf = c.f.model.corrective->rbfs;
        size_t joints = c.bundle->skeleton.joint_count;
        double *weights = PELT_NEW(c.f.arena, joints, double);
        for (size_t j = 0; j < joints; j++) weights[j] = 1;
        if (kind == 2) assert_near(rbf->width, 1.1, 1e-6);
        for (uint32_t v = 3; v < 200; v += 23)
            compare_vertex(&c, v, (pelt_rotations)kind, weights, rbf->phi, rbf->width);
        end_comparison(&c);
    }
}

/* Squared distance of two poses as vertex v sees it, chords; rotations [joint][4]. */
static double vertex_distance(const pelt_weighted *w, uint32_t v, const float *a, const float *b) {
    double sum = 0;
    for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
        const pelt_axis *axis = &w->axes[w->vertex_axes[i]];
        sum += w->axis_weights[i] * pelt_axis_distance2(axis, &(pelt_pose_state){.rotations = a}, b + 4 * axis->joint);
    }
    return sum;
}

/* -- Interpolation ------------------------------------------------------------------------------------------------- */

/* Every n-th of the examples. */
static pelt_examples some_of(pelt_bundle *bundle, pelt_examples all, size_t step) {
    pelt_examples some = {.list = PELT_NEW(bundle->arena, all.count, pelt_example)};
    for (size_t i = 0; i < all.count; i += step) some.list[some.count++] = all.list[i];
    return some;
}

static pelt_bytes *fitted_file(pelt_bundle *bundle, uint32_t bits) {
    pelt_error error;
    pelt_fit_options options = {.method = PELT_METHOD_WPSD, .displacement.displacements = bits};
    pelt_bytes *file = pelt_fit(bundle, all_of(bundle, "train"), &options, NULL, &error);
    if (!file) fail_msg("%s", error.text);
    return file;
}

/* The largest error of any example, of the diagonal; other instruction sets than the best run every `step`. one. */
static double worst_example(pelt_bundle *bundle, uint32_t bits, size_t step) {
    pelt_error error;
    pelt_skin skin;
    pelt_examples train = all_of(bundle, "train"), some = some_of(bundle, train, step);
    pelt_bytes *file = fitted_file(bundle, bits);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    pelt_isa best = skin.isa;
    double worst = 0;
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        skin.isa = (pelt_isa)isa;
        pelt_measure *m = pelt_measure_examples(&skin, bundle, skin.isa == best ? train : some, 0, &error);
        worst = fmax(worst, m->max_fraction);
        pelt_measure_free(m);
    }
    pelt_bytes_free(file);
    return worst;
}

static void every_example_is_interpolated_on_every_instruction_set(void **state) {
    (void)state;
    static const char *const names[] = {"elbow", "arm"};
    for (int i = 0; i < 2; i++) {
        pelt_bundle *bundle = sampled(names[i], 300);
        for (uint32_t bits = 16; bits <= 32; bits += 16) assert_true(worst_example(bundle, bits, 1) < 1e-5);
        pelt_bundle_free(bundle);
    }
}

/* Rounding has the same effect between the examples as at them, and no more. */
static void sixteen_bits_move_no_vertex_between_the_examples(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 300);
    pelt_examples unseen = all_of(bundle, "test");
    pelt_bytes *files[2] = {fitted_file(bundle, 16), fitted_file(bundle, 32)};
    pelt_skin skins[2];
    float *positions[2];
    double worst = 0;
    pelt_transform *locals = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_transform);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pelt_open(files[i]->bytes, files[i]->size, &skins[i]), PELT_OK);
        positions[i] = aligned_alloc(PELT_ALIGN, pelt_output_size(&skins[i]));
    }
    assert_true(files[0]->size < 0.65 * files[1]->size);
    for (size_t e = 0; e < unseen.count; e++) {
        pelt_clip_pose(unseen.list[e].clip, &bundle->skeleton, unseen.list[e].frame, locals);
        for (int i = 0; i < 2; i++) {
            void *scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&skins[i]));
            pelt_pose(&skins[i], locals, scratch);
            pelt_deform(&skins[i], scratch, pelt_all_blocks(&skins[i]), positions[i], NULL);
            free(scratch);
        }
        for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
            for (int c = 0; c < 3; c++)
                worst = fmax(worst, fabs(positions[0][3 * skins[0].vertex_slots[v] + (uint32_t)c] -
                                         positions[1][3 * skins[1].vertex_slots[v] + (uint32_t)c]));
    }
    assert_true(worst < 2e-5 * bundle->mesh.diagonal);
    for (int i = 0; i < 2; i++) free(positions[i]), pelt_bytes_free(files[i]);
    pelt_bundle_free(bundle);
}

static void every_example_of_a_real_body_and_hand_is_interpolated(void **state) {
    (void)state;
    test_only_at_full_speed();
    const char *paths[] = {test_data("mhr_body/mhr_body.glb"), test_data("mhr_hand/mhr_hand.glb")};
    if (!paths[0] || !paths[1]) skip();
    for (int i = 0; i < 2; i++) {
        pelt_error error;
        pelt_bundle *bundle = pelt_bundle_read(paths[i], &error);
        assert_non_null(bundle);
        assert_true(worst_example(bundle, 32, 16) < 1e-5);
        assert_true(worst_example(bundle, 16, 16) < 1e-4); /* where examples are close, vectors are long */
        pelt_bundle_free(bundle);
    }
}

/* Examples of a chain of three joints, of which two turn: sweeps of both, and some of both together. */
enum { TURNS = 9 };
static const double turns[TURNS][3] = {{0, 20, 0}, {0, 40, 0},  {0, 60, 0},  {0, 0, 20}, {0, 0, 40},
                                       {0, 0, 60}, {0, 60, 60}, {0, 60, 30}, {0, 30, 60}};

/* The second joint displaces everything; the effect of the third is a ten-thousandth of that. */
static void a_strong_and_a_weak_joint(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++) d[3 * v] = 0.2 * angles[1] / 60 + 5e-5 * angles[2] / 60;
}

/* The third joint does nothing by itself. */
static void a_joint_that_works_through_another(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++)
        d[3 * v] = 0.2 * angles[1] / 60 + 0.05 * angles[1] * angles[2] / 3600;
}

static void two_joints_that_displace(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++) d[3 * v] = 0.2 * angles[1] / 60 + 0.1 * angles[2] / 60;
}

static void the_upper_half_alone(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++)
        d[3 * v] = bundle->mesh.positions[3 * v + 1] > 1.5 ? 0.2 * angles[1] / 60 : 0;
}

static void examples_that_only_a_weak_joint_tells_apart_are_interpolated(void **state) {
    (void)state;
    static corrected_truth *const truths[] = {a_strong_and_a_weak_joint, a_joint_that_works_through_another};
    for (int i = 0; i < 2; i++) {
        pelt_error error;
        pelt_bundle *bundle = character_chain(3, 64);
        pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS, turns[0], truths[i]));
        assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
        for (int e = 0; e < TURNS; e++)
            assert_near(corrected_error(&f, turns[e], truths[i]), 0, 1e-5 * bundle->mesh.diagonal);
        pelt_arena_free(f.arena), character_free(bundle);
    }
}

/* With blend weights, a vertex that does not follow the third joint cannot see it: poses that differ only there get the
   mean of their displacements. The fit reports the largest difference between such examples: the full displacement, if
   a vertex follows neither joint. */
static void examples_that_nothing_tells_apart_get_their_mean(void **state) {
    (void)state;
    pelt_error error;
    pelt_bundle *bundle = character_chain(3, 64);
    pelt_fitting f =
        corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS, turns[0], two_joints_that_displace));
    f.options.psd.distance_weights = PELT_DISTANCE_BLEND;
    assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
    const pelt_weighted *w = f.model.corrective->weighted;
    double out[3 * 64], mean = 0.2 + 0.1 * (0 + 60 + 30) / 3 / 60; /* of those with the second joint at 60 degrees */
    pelt_transform locals[3];
    for (int j = 0; j < 3; j++) locals[j] = bundle->skeleton.rest[j];
    memcpy(locals[1].rotation, character_turn(0, 0, 1, 60).rotation, sizeof locals[1].rotation);
    assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, 64, out, NULL));
    int seen = 0;
    for (uint32_t v = 0; v < 64; v++) {
        if (w->first[v + 1] - w->first[v] != 1 || w->axes[w->vertex_axes[w->first[v]]].joint != 1) continue;
        assert_near(out[3 * v], mean, 1e-5);
        seen++;
    }
    assert_true(seen > 0);
    assert_near(f.report.poses.not_told_apart, 0.3 / bundle->mesh.diagonal, 1e-6);
    pelt_arena_free(f.arena), character_free(bundle);
}

/* Two examples a tenth of a degree apart, with a step between them that grows from vertex to vertex. */
static void a_step(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++)
        d[3 * v] = (double)(v + 1) / 64 * (0.2 * angles[1] / 60 + 0.018 * (angles[1] > 60));
}

/* The sum of phi c is rounded by 2^-24 |c| in floats. Where that is more than 4e-6 of the diagonal, but not four times
   as much, distances are made longer by as much: their squares, and so the weights, by the square of it. */
/* With one width for all vertices none are. */
static void no_kernel_is_narrower_with_a_shared_width(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        double angles[TURNS + 2][3] = {{0}};
        memcpy(angles[1], turns, sizeof turns);
        angles[TURNS + 1][1] = 60.1;
        pelt_error error;
        pelt_bundle *bundle = character_chain(3, 64);
        pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS + 2, angles[0], a_step));
        f.options.wpsd.shared_width = !given, f.options.psd.width = given ? 1.5 : 0;
        assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
        const pelt_weighted *w = f.model.corrective->weighted;
        for (uint32_t v = 0; v < 64; v++) {
            double all = 0;
            for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) all += w->axis_weights[i];
            assert_near(all, 1, 1e-5);
        }
        if (given) assert_near(w->width, 1.5, 1e-6);
        pelt_arena_free(f.arena), character_free(bundle);
    }
}

/* Four joints displace every vertex, each in its own way, and what they do adds up. */
static void a_sum_of_waves(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (size_t c = 0; c < 3; c++) {
            d[3 * v + c] = 0;
            for (size_t j = 1; j < 5; j++) d[3 * v + c] += 0.1 * sin(angles[j] * 0.02 + (double)(c + j));
            for (size_t j = 1; j < 5; j++) d[3 * v + c] -= 0.1 * sin((double)(c + j));
        }
}

/* The squared error of a fit to sweeps, with a width or 0 to choose one, where joints move together. */
static double missed_together(double width, double *chosen) {
    enum { JOINTS = 5, SWEEP = 6, TOGETHER = 12, TUBE = 24 };
    double angles[(JOINTS - 1) * SWEEP][JOINTS] = {{0}}, sum = 0, d[3 * TUBE], out[3 * TUBE];
    for (size_t i = 0; i < (JOINTS - 1) * SWEEP; i++) angles[i][1 + i / SWEEP] = 10 * (double)(i % SWEEP + 1);
    pelt_error error;
    pelt_bundle *bundle = character_chain(JOINTS, TUBE);
    pelt_fitting f =
        corrected_fitting(bundle, corrected_clip(bundle, "train", (JOINTS - 1) * SWEEP, angles[0], a_sum_of_waves));
    f.options.psd.width = width;
    assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
    *chosen = f.model.corrective->weighted->width;
    uint64_t seed = 4;
    for (int i = 0; i < TOGETHER; i++) {
        double pose[JOINTS] = {0};
        pelt_transform locals[JOINTS];
        for (uint32_t j = 0; j < JOINTS; j++) {
            if (j) pose[j] = 60 * test_random(&seed);
            locals[j] = bundle->skeleton.rest[j];
            memcpy(locals[j].rotation, character_turn(0, 0, 1, pose[j]).rotation, sizeof locals[j].rotation);
        }
        a_sum_of_waves(bundle, pose, d);
        assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, TUBE, out, NULL));
        for (size_t c = 0; c < 3 * TUBE; c++) sum += pow(out[c] - d[c], 2);
    }
    pelt_arena_free(f.arena), character_free(bundle);
    return sum;
}

/* Sweeps do not show what joints do together; leaving out their poses asks only how one joint's are joined. */
static void sweeps_alone_choose_the_width_that_adds_them_up_best(void **state) {
    (void)state;
    static const double widths[] = {0.5, 0.75, 1, 1.5, 2, 3, 4};
    double least = INFINITY, best = 0, chosen, given;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        double missed = missed_together(widths[i], &given);
        if (missed < least) least = missed, best = widths[i];
    }
    assert_true(missed_together(0, &chosen) < 1.1 * least);
    assert_near(chosen, best, 1e-6);
    assert_true(missed_together(0.5, &given) > 2 * least);
}

static void kernels_are_narrower_where_floats_would_not_quite_give_examples_back(void **state) {
    (void)state;
    enum { POSES = TURNS + 2 };
    double angles[POSES][3] = {{0}};
    memcpy(angles[1], turns, sizeof turns);
    angles[POSES - 1][1] = 60.1;
    pelt_error error;
    pelt_bundle *bundle = character_chain(3, 64);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", POSES, angles[0], a_step));
    f.options.normals = PELT_NORMALS_BLEND;
    assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
    const pelt_weighted *w = f.model.corrective->weighted;
    int narrower = 0, not = 0, no_more = 0;
    for (uint32_t v = 0; v < 64; v++) {
        double phi[POSES * POSES], c[POSES], all = 0, d[3 * 64] = {0}, sum = 0;
        float rotations[POSES][3][4];
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) all += w->axis_weights[i];
        size_t n = 0;
        for (int e = 0; e < POSES; e++) {
            for (int j = 0; j < 3; j++)
                memcpy(rotations[n][j], character_turn(0, 0, 1, angles[e][j]).rotation, sizeof rotations[n][j]);
            size_t same = 0; /* poses that differ in nothing that drives the vertex have one shape here */
            while (same < n && vertex_distance(w, v, rotations[n][0], rotations[same][0]) / all >= 1e-8) same++;
            if (same < n) continue;
            a_step(bundle, angles[e], d);
            c[n++] = d[3 * v];
        }
        for (size_t i = 0; i < n * n; i++)
            phi[i] = pelt_phi_value(w->phi, w->width,
                                    (float)(vertex_distance(w, v, rotations[i / n][0], rotations[i % n][0]) / all));
        assert_true(pelt_cholesky(n, phi));
        pelt_cholesky_solve(n, phi, 1, c);
        for (size_t i = 0; i < n; i++) sum += fabs(c[i]);
        double excess = 0x1p-24 * sum / (4e-6 * bundle->mesh.diagonal);
        if (fabs(excess - 1) < 0.03 || fabs(excess - 4) < 0.1) continue;
        assert_near(all, excess > 1 && excess < 4 ? excess * excess : 1, 0.03 * all);
        narrower += excess > 1 && excess < 4, not += excess<1, no_more += excess> 4;
    }
    assert_true(narrower > 5 && not > 5 && no_more > 5);
    pelt_arena_free(f.arena), character_free(bundle);
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

/* Error of the normals in degrees, root of the mean square. */
static double normal_error(pelt_bundle *bundle, const char *clip, pelt_fit_options options) {
    pelt_error error;
    pelt_skin skin;
    options.method = PELT_METHOD_WPSD;
    pelt_bytes *file = pelt_fit(bundle, all_of(bundle, "train"), &options, NULL, &error);
    if (!file) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, all_of(bundle, clip), 1, &error);
    double degrees = m->normal_rms_degrees;
    pelt_measure_free(m), pelt_bytes_free(file);
    return degrees;
}

static void normals_of_the_examples_come_back_and_unseen_ones_come_closer(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 300);
    double plain = normal_error(bundle, "test", (pelt_fit_options){.normals = PELT_NORMALS_BLEND});
    assert_true(normal_error(bundle, "train", (pelt_fit_options){0}) < 0.05);
    assert_true(normal_error(bundle, "test", (pelt_fit_options){0}) < 0.1 * plain);
    assert_true(normal_error(bundle, "test", (pelt_fit_options){.psd.poses = 8}) < 0.3 * plain);
    pelt_bundle_free(bundle);
}

/* -- What drives a vertex ------------------------------------------------------------------------------------------ */

static void principal_joints_bound_the_axes_and_principal_poses_the_centres(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 300);
    pelt_fitting f =
        fitted(bundle, (pelt_fit_options){.method = PELT_METHOD_WPSD, .wpsd.principal_joints = 2, .psd.poses = 5});
    const pelt_weighted *w = f.model.corrective->weighted;
    for (uint32_t v = 0; v < 300; v++) {
        uint32_t used = 0;
        double sum = 0;
        assert_true(w->first[v + 1] - w->first[v] <= 2);
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) sum += w->axis_weights[i];
        if (w->first[v + 1] > w->first[v]) assert_near(sum, 1, 1e-5);
        for (uint32_t q = 0; q < w->center_count; q++) {
            const float *c = w->folded + 4 * ((size_t)v * w->center_count + q);
            used += c[0] != 0 || c[1] != 0 || c[2] != 0 || c[3] != 0;
        }
        assert_true(used <= 5);
    }
    pelt_bundle_free(bundle);
}

/* Sources are weighted by how far they displace a vertex; below a thousandth of the strongest they are dropped, if all
   examples are distinguished without them or need not be. */
static void weights_are_shares_of_what_displaces_a_vertex(void **state) {
    (void)state;
    static corrected_truth *const truths[] = {two_joints_that_displace, a_strong_and_a_weak_joint};
    for (int i = 0; i < 2; i++) {
        pelt_error error;
        pelt_bundle *bundle = character_chain(3, 64);
        pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS, turns[0], truths[i]));
        f.options.psd.poses = 4;
        assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
        const pelt_weighted *w = f.model.corrective->weighted;
        for (uint32_t v = 0; v < 64; v++) {
            assert_int_equal(w->first[v + 1] - w->first[v], i ? 1 : 2);
            assert_near(w->axis_weights[w->first[v]], i ? 1 : 2 / 3.0, 1e-4);
            assert_int_equal(w->axes[w->vertex_axes[w->first[v]]].joint, 1);
            if (!i) assert_near(w->axis_weights[w->first[v] + 1], 1 / 3.0, 1e-4);
        }
        assert_int_equal(f.report.poses.poses, 4);
        assert_true(f.report.poses.not_told_apart < 0);
        pelt_arena_free(f.arena), character_free(bundle);
    }
}

static void a_vertex_that_nothing_displaces_is_not_driven(void **state) {
    (void)state;
    pelt_error error;
    pelt_bundle *bundle = character_chain(3, 64);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS, turns[0], the_upper_half_alone));
    f.options.normals = PELT_NORMALS_BLEND;
    assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
    const pelt_weighted *w = f.model.corrective->weighted;
    for (uint32_t v = 0; v < 64; v++)
        assert_int_equal(w->first[v + 1] > w->first[v], bundle->mesh.positions[3 * v + 1] > 1.5);
    assert_null(w->folded_tilts);
    pelt_arena_free(f.arena), character_free(bundle);
}

/* By blend weight, joints count as they carry the vertex; a control has no weight, and here there is none. */
static void blend_weights_are_shares_of_what_carries_a_vertex(void **state) {
    (void)state;
    pelt_error error;
    pelt_bundle *bundle = character_chain(3, 64);
    const pelt_influences *in = &bundle->mesh.influences;
    pelt_fitting f =
        corrected_fitting(bundle, corrected_clip(bundle, "train", TURNS, turns[0], two_joints_that_displace));
    f.options.psd.distance_weights = PELT_DISTANCE_BLEND, f.options.psd.poses = 4;
    assert_int_equal(pelt_fit_wpsd(&f, &error), PELT_OK);
    const pelt_weighted *w = f.model.corrective->weighted;
    for (uint32_t v = 0; v < 64; v++) {
        double on[3] = {0}, found[3] = {0};
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) on[in->joints[i]] += in->weights[i];
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
            found[w->axes[w->vertex_axes[i]].joint] = w->axis_weights[i];
        for (int j = 1; j < 3; j++) assert_near(found[j], on[j] > 0 ? on[j] / (on[1] + on[2]) : 0, 1e-5);
    }
    pelt_arena_free(f.arena), character_free(bundle);
}

/* -- Few poses ----------------------------------------------------------------------------------------------------- */

/* Least squares over all examples with a ridge of 1e-4 of the diagonal: phi^T (d - phi c) = 1e-4 diag(phi^T phi) c, of
   positions and of normals. */
static void check_few_poses(pelt_pose_choice choice, double most) {
    enum { FEW = 5 };
    pelt_bundle *bundle = sampled("arm", 200);
    pelt_fitting f =
        fitted(bundle, (pelt_fit_options){.method = PELT_METHOD_WPSD, .psd.poses = FEW, .psd.pose_choice = choice});
    const pelt_weighted *w = f.model.corrective->weighted;
    pelt_poses poses;
    pelt_example_displacements d;
    pelt_error error;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    pelt_example_displacements turned = pelt_tilts_of(&f);
    pelt_poses_of(f.arena, bundle, f.examples, &(pelt_fit_options){0}, &poses);
    size_t joints = bundle->skeleton.joint_count, n = poses.count;
    double *phi = PELT_NEW(f.arena, n * FEW, double), plain = 0, left = 0;
    assert_true(w->unnormalised && w->phi == PELT_PHI_GAUSSIAN);
    for (uint32_t v = 0; v < 200; v++) {
        uint32_t chosen[FEW], m = 0;
        for (uint32_t q = 0; q < w->center_count; q++) {
            const float *c = w->folded + 4 * ((size_t)v * w->center_count + q);
            if (c[0] != 0 || c[1] != 0 || c[2] != 0) assert_true(m < FEW), chosen[m++] = q;
            assert_true(c[3] == 0);
        }
        if (m < FEW) continue; /* the rest pose has no example here, or nothing drives the vertex */
        for (size_t e = 0; e < n; e++)
            for (uint32_t k = 0; k < m; k++) {
                double r2 = 0;
                for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++)
                    r2 += w->axis_weights[i] *
                          pelt_axis_distance2(&w->axes[w->vertex_axes[i]],
                                              &(pelt_pose_state){.rotations = poses.rotations + 4 * e * joints},
                                              w->centers + 4 * ((size_t)chosen[k] * w->axis_count + w->vertex_axes[i]));
                phi[e * FEW + k] = exp(-r2 / (2 * w->width * w->width));
            }
        for (int c = 0; c < 6; c++) {
            double u[FEW], along[FEW] = {0}, square[FEW] = {0};
            for (uint32_t k = 0; k < m; k++)
                u[k] = c < 3 ? w->folded[4 * ((size_t)v * w->center_count + chosen[k]) + c]
                             : w->folded_tilts[3 * ((size_t)v * w->center_count + chosen[k]) + c - 3];
            for (size_t e = 0; e < n; e++) {
                double rest = c < 3 ? d.positions[3 * (e * d.point_count + d.point_of[v]) + c]
                                    : turned.positions[3 * (e * turned.point_count + turned.point_of[v]) + c - 3];
                if (poses.rest[e] && c > 2) rest = 0; /* normals are as they are at rest */
                plain += rest * rest;
                for (uint32_t k = 0; k < m; k++) rest -= phi[e * FEW + k] * u[k];
                left += rest * rest;
                for (uint32_t k = 0; k < m; k++)
                    along[k] += phi[e * FEW + k] * rest, square[k] += phi[e * FEW + k] * phi[e * FEW + k];
            }
            for (uint32_t k = 0; k < m; k++)
                assert_near(along[k], 1e-4 * square[k] * u[k], 1e-5 * (1 + fabs(u[k])) * sqrt(square[k] * n));
        }
    }
    assert_true(plain > 0 && left < most * plain);
    pelt_bundle_free(bundle);
}

static void few_poses_are_fitted_to_all_examples(void **state) {
    (void)state;
    check_few_poses(PELT_POSE_CHOICE_FORWARD, 0.2);
    check_few_poses(PELT_POSE_CHOICE_PCA, 0.3);
}

/* Components by power iteration on V V^T, each removed before the next; and the rows with most of them. */
static void principal_poses_have_most_of_each_component(void **state) {
    (void)state;
    enum { MOST = 14 };
    static const size_t sizes[][2] = {{14, 6}, {6, 14}};
    for (int which = 0; which < 2; which++) {
        size_t rows = sizes[which][0], m = sizes[which][1];
        uint64_t seed = 5;
        double values[MOST * MOST], gram[MOST * MOST] = {0};
        uint32_t chosen[MOST] = {0}, expected[MOST] = {0};
        for (size_t i = 0; i < rows * m; i++) /* row 0 is the rest pose */
            values[i] = i < m ? 0 : (test_random(&seed) - 0.5) * (1 + (double)(i % m));
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < rows; b++)
                for (size_t k = 0; k < m; k++) gram[a * rows + b] += values[a * m + k] * values[b * m + k];
        for (uint32_t k = 1; k < 5; k++) {
            double x[MOST], y[MOST], length = 1;
            for (size_t a = 0; a < rows; a++) x[a] = 1 + (double)a;
            for (int round = 0; round < 20000; round++) {
                length = 0;
                for (size_t a = 0; a < rows; a++) {
                    y[a] = 0;
                    for (size_t b = 0; b < rows; b++) y[a] += gram[a * rows + b] * x[b];
                    length += y[a] * y[a];
                }
                length = sqrt(length);
                for (size_t a = 0; a < rows; a++) x[a] = y[a] / length;
            }
            for (size_t a = 0; a < rows * rows; a++) gram[a] -= length * x[a / rows] * x[a % rows];
            for (uint32_t a = 1; a < rows; a++) {
                bool taken = false;
                for (uint32_t i = 1; i < k; i++) taken |= expected[i] == a;
                if (!taken && (!expected[k] || fabs(x[a]) > fabs(x[expected[k]]))) expected[k] = a;
            }
        }
        pelt_arena *arena = pelt_arena_new(0);
        pelt_choose_by_components(arena, rows, m, values, 1, 5, chosen);
        for (int k = 0; k < 5; k++) assert_int_equal(chosen[k], expected[k]);
        uint32_t all[MOST] = {0}, seen = 0; /* more than there are components: all poses, each once */
        pelt_choose_by_components(arena, rows, m, values, 1, (uint32_t)rows, all);
        for (size_t k = 0; k < rows; k++) seen |= 1u << all[k];
        assert_int_equal(seen, (1u << rows) - 1);
        pelt_arena_free(arena);
    }
}

/* The arm's shoulder vertices are displaced by the shoulder, whatever carries them. */
static void driving_weights_beat_blend_weights_on_unseen_poses_of_a_real_body(void **state) {
    (void)state;
    test_only_at_full_speed();
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    double errors[2];
    for (int blend = 0; blend < 2; blend++) {
        pelt_fit_options options = {.method = PELT_METHOD_WPSD,
                                    .psd.distance_weights = blend ? PELT_DISTANCE_BLEND : PELT_DISTANCE_DRIVING};
        pelt_skin skin;
        pelt_bytes *file = pelt_fit(bundle, all_of(bundle, "train"), &options, NULL, &error);
        assert_non_null(file);
        assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
        pelt_measure *m = pelt_measure_examples(&skin, bundle, all_of(bundle, "test"), 0, &error);
        errors[blend] = m->rel_err;
        pelt_measure_free(m), pelt_bytes_free(file);
    }
    assert_true(errors[0] < 0.26);
    assert_true(errors[0] < errors[1]);
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folded_form_equals_the_unfolded_formula),
        cmocka_unit_test(psd_of_unweighted_joints_equals_the_formula),
        cmocka_unit_test(principal_poses_have_most_of_each_component),
        cmocka_unit_test(no_kernel_is_narrower_with_a_shared_width),
        cmocka_unit_test(sweeps_alone_choose_the_width_that_adds_them_up_best),
        cmocka_unit_test(every_example_is_interpolated_on_every_instruction_set),
        cmocka_unit_test(sixteen_bits_move_no_vertex_between_the_examples),
        cmocka_unit_test(every_example_of_a_real_body_and_hand_is_interpolated),
        cmocka_unit_test(examples_that_only_a_weak_joint_tells_apart_are_interpolated),
        cmocka_unit_test(examples_that_nothing_tells_apart_get_their_mean),
        cmocka_unit_test(kernels_are_narrower_where_floats_would_not_quite_give_examples_back),
        cmocka_unit_test(normals_of_the_examples_come_back_and_unseen_ones_come_closer),
        cmocka_unit_test(principal_joints_bound_the_axes_and_principal_poses_the_centres),
        cmocka_unit_test(weights_are_shares_of_what_displaces_a_vertex),
        cmocka_unit_test(a_vertex_that_nothing_displaces_is_not_driven),
        cmocka_unit_test(blend_weights_are_shares_of_what_carries_a_vertex),
        cmocka_unit_test(few_poses_are_fitted_to_all_examples),
        cmocka_unit_test(driving_weights_beat_blend_weights_on_unseen_poses_of_a_real_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
