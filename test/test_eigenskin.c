/* test_eigenskin.c: EigenSkin against LAPACK's decomposition, closed forms, and a character whose truth is known. */

#include "test/corrected.h"
#include "fit/corrective/eigenskin.h"
#include "rig/linear.h"

enum { JOINTS = 4, VERTICES = 160 };

/* One shape per joint that moves: a bump around it, growing with the angle. */
static void bump(const pelt_bundle *bundle, uint32_t joint, uint32_t v, double out[3]) {
    const float *x = bundle->mesh.positions + 3 * (size_t)v;
    double away = x[1] - joint, size = fabs(away) < 0.6 ? pow(cos(away / 0.6 * acos(-1) / 2), 2) : 0;
    out[0] = 0.3 * size * x[0], out[1] = 0.05 * size * joint, out[2] = 0.5 * size * x[2];
}

static void one_shape_per_joint(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (uint32_t j = 1; j < bundle->skeleton.joint_count; j++) {
            double u[3];
            bump(bundle, j, v, u);
            for (int c = 0; c < 3; c++) d[3 * v + c] += angles[j] / 90 * u[c];
        }
}

/* Something that no small basis holds. */
static void rough(const pelt_bundle *bundle, const double *angles, double *d) {
    one_shape_per_joint(bundle, angles, d);
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (uint32_t j = 1; j < bundle->skeleton.joint_count; j++)
            for (int c = 0; c < 3; c++) {
                double u[3];
                bump(bundle, j, v, u);
                d[3 * v + c] += u[c] * sin(0.1 * angles[j] * (1 + v % 7) + c);
            }
}

/* Wide bumps, and where two of them meet, neighbours that bend together bulge. */
static void products(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double sizes[JOINTS + 1] = {0};
        for (int j = 1; j < JOINTS; j++) {
            double away = fabs(x[1] - j);
            sizes[j] = away < 1 ? pow(cos(away * acos(-1) / 2), 2) : 0;
        }
        for (int j = 1; j < JOINTS; j++) {
            double alone = sizes[j] * angles[j] / 90;
            double together = j > 1 ? 4 * sizes[j] * sizes[j - 1] * angles[j] * angles[j - 1] / 8100 : 0;
            d[3 * v] += (0.3 * alone + 0.6 * together) * x[0];
            d[3 * v + 2] += (0.5 * alone - 0.6 * together) * x[2];
        }
    }
}

static uint32_t with_random_poses(double angles[][JOINTS], uint32_t more) {
    return corrected_poses(JOINTS, 20, more, 3, angles[0]);
}

static uint32_t sweeps(double angles[][JOINTS]) { return with_random_poses(angles, 0); }

/* What EigenSkin is made of, for positions or for normals. */
typedef struct parts {
    pelt_bundle *bundle;
    pelt_fitting f;
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
    pelt_eigen_basis basis;
} parts;

/* Changes of normals in the place of displacements; every vertex is a point. */
static void use_normals(parts *p) {
    p->u.positions = pelt_normal_displacements_of(&p->f);
    p->u.point_count = p->u.vertex_count;
    for (uint32_t v = 0; v < p->u.vertex_count; v++) p->u.point_of[v] = p->u.vertex_of[v] = v;
}

static parts make_parts_of(corrected_truth *truth, double threshold, bool normals) {
    double angles[64][JOINTS];
    parts p = {.bundle = character_chain(JOINTS, VERTICES)};
    pelt_clip *clip = corrected_clip(p.bundle, "train", sweeps(angles), angles[0], truth);
    pelt_error error = {0};
    p.f = corrected_fitting(p.bundle, clip);
    assert_int_equal(pelt_poses_of(p.f.arena, p.bundle, p.f.examples, NULL, &p.poses, &error), PELT_OK);
    assert_int_equal(pelt_displacements_of(&p.f, &p.u, &error), PELT_OK);
    if (normals) use_normals(&p);
    assert_int_equal(pelt_supports_of(p.f.arena, &p.f.model, &p.poses, &p.u, &p.supports, &error), PELT_OK);
    assert_int_equal(pelt_eigen_basis_of(p.f.arena, &p.poses, &p.u, &p.supports, threshold, &p.basis, &error), PELT_OK);
    return p;
}

static parts make_parts(corrected_truth *truth, double threshold) { return make_parts_of(truth, threshold, false); }

static void free_parts(parts *p) {
    pelt_arena_free(p->f.arena);
    character_free(p->bundle);
}

/* A_j as LAPACK wants it: [3 points][poses]. */
static double *joint_matrix(const parts *p, const pelt_eigen_joint *joint) {
    double *a = calloc(3 * (size_t)joint->point_count * joint->pose_count, sizeof *a);
    for (uint32_t i = 0; i < joint->point_count; i++)
        for (uint32_t c = 0; c < 3; c++)
            for (uint32_t e = 0; e < joint->pose_count; e++)
                a[(3 * (size_t)i + c) * joint->pose_count + e] =
                    p->u.positions[3 * ((size_t)joint->poses[e] * p->u.point_count + joint->points[i]) + c];
    return a;
}

/* -- Supports and eigendisplacements ------------------------------------------------------------------------------- */

static void a_support_holds_points_displaced_by_more_than_four_percent(void **state) {
    (void)state;
    parts p = make_parts(one_shape_per_joint, 0.04);
    assert_int_equal(p.basis.joint_count, JOINTS - 1);
    for (uint32_t j = 0; j < p.basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &p.basis.joints[j];
        double largest = 0;
        uint32_t inside = 0;
        for (int pass = 0; pass < 2; pass++)
            for (uint32_t v = 0; v < VERTICES; v++) {
                double u[3];
                bump(p.bundle, p.poses.members[p.poses.movers[joint->mover].first], v, u);
                double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
                if (!pass) largest = fmax(largest, length);
                if (pass && length > 0.0401 * largest) {
                    while (inside < joint->point_count && joint->points[inside] < p.u.point_of[v]) inside++;
                    assert_true(inside < joint->point_count && joint->points[inside] == p.u.point_of[v]);
                }
            }
        for (uint32_t i = 0; i < joint->point_count; i++) {
            double u[3];
            bump(p.bundle, p.poses.members[p.poses.movers[joint->mover].first], p.u.vertex_of[joint->points[i]], u);
            assert_true(sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) > 0.0399 * largest);
        }
    }
    free_parts(&p);
}

static void compare_with_lapack(bool normals) {
    parts p = make_parts_of(rough, 0.04, normals);
    assert_int_equal(p.basis.joint_count, JOINTS - 1);
    for (uint32_t j = 0; j < p.basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &p.basis.joints[j];
        size_t rows = 3 * (size_t)joint->point_count, n = joint->pose_count;
        double *a = joint_matrix(&p, joint), *u = calloc(rows * n, sizeof *u), *s = calloc(n, sizeof *s);
        double *vt = calloc(n * n, sizeof *vt);
        float *shape = calloc(rows, sizeof *shape);
        assert_true(pelt_svd(rows, n, a, u, s, vt));
        for (uint32_t k = 0; k < joint->rank; k++) {
            assert_near(joint->singular[k], s[k], 1e-6 * s[0]);
            if (k + 1 < n && s[k] - s[k + 1] < 0.01 * s[0]) break; /* vectors of close values may mix */
            double dot = 0;
            pelt_eigendisplacement(joint, &p.u, k, shape);
            for (size_t r = 0; r < rows; r++) dot += shape[r] * u[r * n + k];
            assert_near(fabs(dot), 1, 1e-5);
        }
        free(a), free(u), free(s), free(vt), free(shape);
    }
    free_parts(&p);
}

static void singular_values_and_vectors_are_those_of_lapack(void **state) {
    (void)state;
    compare_with_lapack(false);
    compare_with_lapack(true);
}

static void truncate_one_by_one(bool normals) {
    parts p = make_parts_of(rough, 0.04, normals);
    const pelt_eigen_joint *joint = &p.basis.joints[1];
    size_t rows = 3 * (size_t)joint->point_count, n = joint->pose_count;
    double *a = joint_matrix(&p, joint);
    float *shape = calloc(rows, sizeof *shape);
    for (uint32_t k = 0; k < joint->rank; k++) {
        double left = 0, dropped = 0;
        pelt_eigendisplacement(joint, &p.u, k, shape);
        for (size_t r = 0; r < rows; r++)
            for (size_t e = 0; e < n; e++) {
                a[r * n + e] -= shape[r] * joint->singular[k] * joint->right[k * n + e];
                left += a[r * n + e] * a[r * n + e];
            }
        for (uint32_t l = k + 1; l < joint->rank; l++) dropped += joint->singular[l] * joint->singular[l];
        assert_near(left, dropped, 1e-6 * joint->singular[0] * joint->singular[0]);
    }
    free(a), free(shape);
    free_parts(&p);
}

static void what_truncation_leaves_is_the_sum_of_the_dropped_squares(void **state) {
    (void)state;
    truncate_one_by_one(false);
    truncate_one_by_one(true);
}

/* -- Budgets ------------------------------------------------------------------------------------------------------- */

static uint32_t most_per_vertex(const pelt_displacements *d, uint32_t n) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < n; v++)
        if (d->first[v + 1] - d->first[v] > most) most = d->first[v + 1] - d->first[v];
    return most;
}

/* Positions have the odd one when a budget cannot be halved. */
static void no_vertex_has_more_displacements_than_its_budget(void **state) {
    (void)state;
    double angles[64][JOINTS];
    for (uint32_t per_vertex = 1; per_vertex <= 6; per_vertex++)
        for (uint32_t per_joint = 0; per_joint <= 4; per_joint++) {
            pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
            pelt_clip *clip = corrected_clip(bundle, "train", sweeps(angles), angles[0], rough);
            pelt_fitting f = corrected_fitting(bundle, clip);
            pelt_error error = {0};
            f.options.per_vertex = per_vertex, f.options.per_joint = per_joint;
            f.options.plain_normals = per_joint == 4;
            uint32_t for_normals = f.options.plain_normals ? 0 : per_vertex / 2;
            assert_int_equal(pelt_fit_eigenskin(&f, &error), PELT_OK);
            const pelt_corrective *c = f.model.corrective;
            assert_true(most_per_vertex(c->displacements, VERTICES) <= per_vertex - for_normals);
            assert_int_equal(c->turns != NULL, for_normals > 0);
            if (c->turns) assert_true(most_per_vertex(c->turns, VERTICES) <= for_normals);
            pelt_arena_free(f.arena);
            character_free(bundle);
        }
}

/* Coefficients of two joints, and vectors of random length at five points. */
static void a_point_keeps_what_moves_it_most_and_the_rest_fades_to_nothing(void **state) {
    (void)state;
    enum { COEFFICIENTS = 4, POINTS = 5, MOST = 2 };
    parts p = make_parts(rough, 0.04);
    pelt_error error = {0};
    pelt_coordinates *c = PELT_NEW(p.f.arena, p.basis.joint_count, pelt_coordinates);
    pelt_rbf rbfs[2];
    pelt_entry entries[COEFFICIENTS * POINTS] = {0}, before[COEFFICIENTS * POINTS];
    double width = 0, sizes[COEFFICIENTS] = {0}, a[COEFFICIENTS];
    uint64_t seed = 5;
    pelt_eigen_keep(&p.basis, 2);
    assert_int_equal(pelt_eigen_coordinates(p.f.arena, &p.poses, &p.basis, 1, c, &width, &error), PELT_OK);
    for (int j = 0; j < 2; j++) pelt_eigen_rbf(p.f.arena, &p.poses, &p.basis.joints[j], &c[j], width, &rbfs[j]);
    for (uint32_t e = 0; e < p.poses.count; e++) {
        pelt_corrective_coefficients(&(pelt_corrective){.rbf_count = 2, .rbfs = rbfs},
                                     &(pelt_pose_state){p.poses.rotations + 4 * e * p.poses.joint_count,
                                                        p.poses.translations + 3 * e * p.poses.joint_count, NULL},
                                     a);
        for (int k = 0; k < COEFFICIENTS; k++) sizes[k] += a[k] * a[k];
    }
    for (uint32_t i = 0; i < COEFFICIENTS * POINTS; i++) {
        entries[i].point = i / COEFFICIENTS, entries[i].coefficient = i % COEFFICIENTS;
        entries[i].position[i % 3] = (float)(test_random(&seed) / sqrt(sizes[i % COEFFICIENTS]));
    }
    memcpy(before, entries, sizeof before);
    pelt_eigen_part part = {2, rbfs, COEFFICIENTS * POINTS, entries};
    assert_int_equal(pelt_eigen_budget(&p.poses, POINTS, MOST, &part), PELT_OK);
    assert_int_equal(part.entry_count, MOST * POINTS);
    for (size_t e = 0; e < part.entry_count; e++) {
        const pelt_entry *first = &before[COEFFICIENTS * entries[e].point];
        double strengths[COEFFICIENTS], own = 0, third = 0;
        for (uint32_t k = 0; k < COEFFICIENTS; k++)
            strengths[k] = first[k].position[(COEFFICIENTS * first[k].point + k) % 3] * sqrt(sizes[k]);
        own = strengths[entries[e].coefficient];
        for (int k = 0; k < COEFFICIENTS; k++) {
            int stronger = 0;
            for (int l = 0; l < COEFFICIENTS; l++) stronger += strengths[l] > strengths[k];
            if (stronger == MOST) third = strengths[k];
        }
        assert_true(own > third);
        for (int i = 0; i < 3; i++)
            assert_near(entries[e].position[i], first[entries[e].coefficient].position[i] * (1 - pow(third / own, 4)),
                        1e-5);
    }
    free_parts(&p);
}

/* -- Coordinates --------------------------------------------------------------------------------------------------- */

/* exp(-|x - y| / w) interpolates sinh(x / w) exactly between examples (it solves f'' = f / w^2), so leaving out finds
 * w. */
static const double sinh_width = 0.5;

static void hyperbolic(const pelt_bundle *bundle, const double *angles, double *d) {
    double scaled[JOINTS];
    for (int j = 0; j < JOINTS; j++) scaled[j] = sinh(angles[j] * acos(-1) / 180 / sinh_width);
    one_shape_per_joint(bundle, scaled, d);
}

static void the_width_is_found_by_leaving_out(void **state) {
    (void)state;
    parts p = make_parts(hyperbolic, 0.04);
    pelt_coordinates *c = PELT_NEW(p.f.arena, p.basis.joint_count, pelt_coordinates);
    pelt_error error = {0};
    double width = 0;
    pelt_eigen_keep(&p.basis, 1);
    assert_int_equal(pelt_eigen_coordinates(p.f.arena, &p.poses, &p.basis, 9, c, &width, &error), PELT_OK);
    assert_near(width, sinh_width, 1e-9);
    free_parts(&p);
}

static void one_known_shape_per_joint_is_recovered(void **state) {
    (void)state;
    double angles[64][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = sweeps(angles);
    pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], one_shape_per_joint);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    f.options.per_joint = 1;
    assert_int_equal(pelt_fit_eigenskin(&f, &error), PELT_OK);
    double edge = 0.04 * 0.3; /* what may lie outside the supports, in scene units */
    for (uint32_t e = 0; e < count; e++) assert_true(corrected_error(&f, angles[e], one_shape_per_joint) < edge);
    /* several joints at once, at angles that were seen one by one: displacements add up */
    assert_true(corrected_error(&f, (double[JOINTS]){0, 60, -40, 20}, one_shape_per_joint) < 2 * edge);
    pelt_arena_free(f.arena);
    character_free(bundle);
}

/* With as many vectors as there are examples nothing is left of the changes of normals but what supports leave out. */
static void normals_of_the_examples_are_recovered_in_bases_of_their_own(void **state) {
    (void)state;
    double angles[64][JOINTS], *d = calloc(6 * VERTICES, sizeof *d), peak = 0, worst = 0;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = sweeps(angles);
    pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], one_shape_per_joint);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_transform *locals = calloc(JOINTS, sizeof *locals);
    pelt_error error = {0};
    f.options.per_joint = count;
    assert_int_equal(pelt_fit_eigenskin(&f, &error), PELT_OK);
    const pelt_corrective *c = f.model.corrective;
    assert_int_equal(c->rbf_count, JOINTS - 1); /* functions of a joint serve positions and normals */
    const float *wanted = pelt_normal_displacements_of(&f);
    for (uint32_t e = 0; e < count; e++) {
        pelt_clip_pose(clip, &bundle->skeleton, e, locals);
        assert_true(pelt_corrective_eval(c, &bundle->skeleton, locals, NULL, VERTICES, d, d + 3 * VERTICES));
        for (size_t i = 0; i < 3 * VERTICES; i++) {
            peak = fmax(peak, fabs(wanted[3 * VERTICES * e + i]));
            worst = fmax(worst, fabs(wanted[3 * VERTICES * e + i] - d[3 * VERTICES + i]));
        }
    }
    assert_true(peak > 0.1);
    assert_true(worst < 0.04 * sqrt(3) * peak);
    pelt_arena_free(f.arena);
    character_free(bundle);
    free(d), free(locals);
}

/* Angles between normals of the skin and of the true surface, which the fit has not seen in this pose. */
static void normals_of_unseen_poses_are_better_than_those_of_the_blend(void **state) {
    (void)state;
    double angles[64][JOINTS], unseen[1][JOINTS] = {{0, 50, -30, 50}}, degrees[2];
    for (int plain = 0; plain < 2; plain++) {
        pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
        const pelt_clip *train = corrected_clip(bundle, "train", sweeps(angles), angles[0], one_shape_per_joint);
        const pelt_clip *test = corrected_clip(bundle, "test", 1, unseen[0], one_shape_per_joint);
        pelt_error error = {0};
        pelt_fit_options options = {.method = "eigen", .per_joint = 3, .plain_normals = plain, .threads = 1};
        pelt_skin_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &options, &error);
        if (!bytes) fail_msg("%s", error.text);
        pelt_skin skin;
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        pelt_measure *m = pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &test, 1), 1, &error);
        degrees[plain] = m->normal_rms_degrees;
        pelt_measure_free(m), pelt_skin_free(bytes);
        character_free(bundle);
    }
    assert_true(degrees[0] < 0.5 * degrees[1]);
}

static void the_rest_pose_stays_as_it_is(void **state) {
    (void)state;
    double angles[128][JOINTS];
    for (int only = 0; only < 2; only++) {
        pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
        pelt_clip *clip = corrected_clip(bundle, "train", with_random_poses(angles, 40), angles[0], products);
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_error error = {0};
        f.options.sweeps_only = only;
        assert_int_equal(pelt_fit_eigenskin(&f, &error), PELT_OK);
        assert_true(corrected_error(&f, (double[JOINTS]){0}, products) < 1e-5);
        pelt_arena_free(f.arena);
        character_free(bundle);
    }
}

static double unseen_error(pelt_fit_options options, corrected_truth *truth) {
    double angles[128][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", with_random_poses(angles, 60), angles[0], truth);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_error error = {0};
    f.options.sweeps_only = options.sweeps_only;
    f.options.per_joint = options.per_joint, f.options.per_vertex = options.per_vertex;
    assert_int_equal(pelt_fit_eigenskin(&f, &error), PELT_OK);
    uint64_t seed = 99;
    double sum = 0;
    for (int i = 0; i < 40; i++) {
        double pose[JOINTS] = {0};
        for (int j = 1; j < JOINTS; j++) pose[j] = 110 * (test_random(&seed) - 0.5);
        sum += corrected_error(&f, pose, truth);
    }
    pelt_arena_free(f.arena);
    character_free(bundle);
    return sum / 40;
}

static void examples_of_several_joints_teach_how_neighbours_couple(void **state) {
    (void)state;
    assert_true(unseen_error((pelt_fit_options){0}, products) <
                0.6 * unseen_error((pelt_fit_options){.sweeps_only = 1}, products));
}

static void displacements_of_neighbours_compete_for_a_budget(void **state) {
    (void)state;
    pelt_fit_options options = {.per_joint = 2, .per_vertex = 8}, alone = options;
    alone.sweeps_only = 1;
    assert_true(unseen_error(options, products) < 0.75 * unseen_error(alone, products));
}

static void coupling_does_no_harm_where_there_is_none(void **state) {
    (void)state;
    assert_true(unseen_error((pelt_fit_options){0}, one_shape_per_joint) <
                1.1 * unseen_error((pelt_fit_options){.sweeps_only = 1}, one_shape_per_joint));
}

static void one_thread_and_two_give_the_same_bytes(void **state) {
    (void)state;
    double angles[128][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = corrected_clip(bundle, "train", with_random_poses(angles, 40), angles[0], products);
    corrected_same_bytes(bundle, clip, (pelt_fit_options){.method = "eigen"});
    character_free(bundle);
}

/* -- Real characters ----------------------------------------------------------------------------------------------- */

/* The paper's figure 7, on its data made again: thumb CMC, all 12 training poses, 1 to 5 eigendisplacements. */
static void figure_seven_of_the_paper(void **state) {
    (void)state;
    static const double wanted[] = {0.625, 0.153, 0.087, 0.045, 0.039}, at_10[] = {0.166, 0.140, 0.109, 0.053, 0.040};
    const char *path = test_data("fem_hand/fem_hand.glb");
    if (!path) skip();
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    assert_non_null(train);
    pelt_examples all = pelt_bundle_examples(bundle, &train, 1);
    pelt_example thumb[12];
    for (uint32_t e = 0; e < 12; e++) thumb[e] = (pelt_example){train, 1 + 6 * 16 + e}; /* its two degrees of freedom */
    for (uint32_t n = 1; n <= 5; n++) {
        pelt_skin skin;
        pelt_fit_options options = {.method = "eigen", .per_joint = n, .sweeps_only = 1};
        pelt_skin_bytes *bytes = pelt_fit(bundle, all, &options, &error);
        assert_non_null(bytes);
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        pelt_measure *m = pelt_measure_examples(&skin, bundle, (pelt_examples){12, thumb}, 0, &error);
        pelt_measure *one = pelt_measure_examples(&skin, bundle, (pelt_examples){1, thumb + 2}, 0, &error);
        assert_near(m->rel_err, wanted[n - 1], 0.1 * wanted[n - 1]);
        assert_near(one->rel_err, at_10[n - 1], 0.1 * at_10[n - 1]);
        pelt_measure_free(m), pelt_measure_free(one);
        pelt_skin_free(bytes);
    }
    pelt_bundle_free(bundle);
}

static void unseen_grasps_of_the_finite_element_hand(void **state) {
    (void)state;
    static const double most[] = {0.49, 0.27, 0.25};
    const char *path = test_data("fem_hand/fem_hand.glb");
    if (!path) skip();
    for (uint32_t n = 1; n <= 3; n++) {
        pelt_fit_options options = {.method = "eigen", .per_joint = n, .sweeps_only = 1};
        assert_true(corrected_rel_err(path, "test", options, NULL) < most[n - 1]);
    }
}

static void unseen_poses_of_a_hand(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_fit_options options = {.method = "eigen", .per_joint = 3, .sweeps_only = 1};
    assert_true(corrected_rel_err(path, "test", options, NULL) < 0.58);
    options.sweeps_only = 0;
    assert_true(corrected_rel_err(path, "test", options, NULL) < 0.40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_support_holds_points_displaced_by_more_than_four_percent),
        cmocka_unit_test(singular_values_and_vectors_are_those_of_lapack),
        cmocka_unit_test(what_truncation_leaves_is_the_sum_of_the_dropped_squares),
        cmocka_unit_test(no_vertex_has_more_displacements_than_its_budget),
        cmocka_unit_test(a_point_keeps_what_moves_it_most_and_the_rest_fades_to_nothing),
        cmocka_unit_test(the_width_is_found_by_leaving_out),
        cmocka_unit_test(one_known_shape_per_joint_is_recovered),
        cmocka_unit_test(normals_of_the_examples_are_recovered_in_bases_of_their_own),
        cmocka_unit_test(normals_of_unseen_poses_are_better_than_those_of_the_blend),
        cmocka_unit_test(the_rest_pose_stays_as_it_is),
        cmocka_unit_test(examples_of_several_joints_teach_how_neighbours_couple),
        cmocka_unit_test(displacements_of_neighbours_compete_for_a_budget),
        cmocka_unit_test(coupling_does_no_harm_where_there_is_none),
        cmocka_unit_test(one_thread_and_two_give_the_same_bytes),
        cmocka_unit_test(figure_seven_of_the_paper),
        cmocka_unit_test(unseen_grasps_of_the_finite_element_hand),
        cmocka_unit_test(unseen_poses_of_a_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
