/* test_wpsd.c: weighted pose space deformation: the folded form against the formula it was folded from, interpolation,
   and what drives a vertex. */

#include "fit/correctives.h"
#include "fit/displacement.h"
#include "fit/linear.h"
#include "samples/samples.h"
#include "test/character.h"

static pelt_examples all_of(pelt_bundle *bundle, const char *name) {
    pelt_error error;
    const pelt_clip *clip = pelt_bundle_clip(bundle, name, PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    return pelt_bundle_examples(bundle, &clip, 1);
}

static pelt_fitting fitted(pelt_bundle *bundle, pelt_fit_options options) {
    pelt_error error;
    options.method = "wpsd";
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = options};
    f.examples = all_of(bundle, "train");
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    if (pelt_fit_corrective(&f, &error)) fail_msg("%s", error.text);
    return f;
}

static pelt_bundle *sample(const char *name, uint32_t vertices) {
    pelt_error error;
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = name, .vertices = vertices}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* Rhee et al.'s formula as they write it, for one vertex and pose: r_t = sum_k lambda_tk phi_k / sum, D = sum r_t d_t,
   over the poses that differ for this vertex. distances [center][center] and [center] are squared. */
static void unfolded(const pelt_weighted *w, const double *between, const double *to_pose, const double *shapes,
                     size_t n, double out[3]) {
    double *phi = malloc(n * n * sizeof *phi), *lambda = calloc(n * n, sizeof *lambda), *f = calloc(n, sizeof *f),
           sum = 0;
    for (size_t i = 0; i < n * n; i++) phi[i] = pelt_phi_value(w->phi, w->width, between[i]);
    for (size_t i = 0; i < n; i++) lambda[i * n + i] = 1;
    assert_true(pelt_cholesky(n, phi));
    pelt_cholesky_solve(n, phi, n, lambda);
    for (size_t t = 0; t < n; t++) {
        for (size_t k = 0; k < n; k++) f[t] += lambda[t * n + k] * pelt_phi_value(w->phi, w->width, to_pose[k]);
        sum += f[t];
    }
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (size_t t = 0; t < n; t++) out[i] += f[t] * pelt_norm_guard(sum) * shapes[3 * t + (size_t)i];
    }
    free(phi), free(lambda), free(f);
}

/* Squared distance of two poses as vertex v sees it; rotations [joint][4]. */
static double vertex_distance(const pelt_weighted *w, uint32_t v, const float *a, const float *b) {
    double sum = 0;
    for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
        const pelt_axis *axis = &w->axes[w->vertex_axes[i]];
        sum += w->axis_weights[i] * pelt_axis_distance2(axis, &(pelt_pose_state){.rotations = a}, b + 4 * axis->joint);
    }
    return sum;
}

static void the_folded_form_equals_the_unfolded_formula(void **state) {
    (void)state;
    pelt_bundle *bundle = sample("arm", 200);
    pelt_fitting f = fitted(bundle, (pelt_fit_options){0});
    const pelt_weighted *w = f.model.corrective->weighted;
    pelt_poses poses, test;
    pelt_error error;
    pelt_example_displacements d;
    pelt_examples unseen = all_of(bundle, "test");
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    assert_int_equal(pelt_poses_of(f.arena, bundle, f.examples, NULL, &poses, &error), PELT_OK);
    assert_int_equal(pelt_poses_of(f.arena, bundle, unseen, NULL, &test, &error), PELT_OK);
    size_t joints = bundle->skeleton.joint_count, n = f.examples.count, points = d.point_count;
    pelt_transform *locals = PELT_NEW(f.arena, pelt_transform, joints);
    double *out = PELT_NEW(f.arena, double, 3 * 200), *between = PELT_NEW(f.arena, double, n *n),
           *to_pose = PELT_NEW(f.arena, double, n), *shapes = PELT_NEW(f.arena, double, 3 * n), worst = 0, most = 0;
    uint32_t *kept = PELT_NEW(f.arena, uint32_t, n);
    for (uint32_t v = 3; v < 200; v += 23) {
        if (w->first[v] == w->first[v + 1]) continue;
        size_t count = 0; /* the poses that are not the same to this vertex, and mean shapes */
        uint32_t *tally = calloc(n, sizeof *tally);
        memset(shapes, 0, 3 * n * sizeof *shapes);
        for (uint32_t e = 0; e < n; e++) {
            size_t c = 0;
            while (c < count && vertex_distance(w, v, poses.rotations + 4 * e * joints,
                                                poses.rotations + 4 * kept[c] * joints) >= 4e-6)
                c++;
            if (c == count) kept[count++] = e;
            tally[c]++;
            for (size_t i = 0; i < 3; i++) shapes[3 * c + i] += d.positions[3 * (e * points + d.point_of[v]) + i];
        }
        for (size_t i = 0; i < 3 * count; i++) shapes[i] /= tally[i / 3];
        for (size_t i = 0; i < count * count; i++)
            between[i] = vertex_distance(w, v, poses.rotations + 4 * kept[i / count] * joints,
                                         poses.rotations + 4 * kept[i % count] * joints);
        for (uint32_t e = 0; e < test.count; e += 7) {
            double expected[3];
            for (size_t k = 0; k < count; k++)
                to_pose[k] =
                    vertex_distance(w, v, test.rotations + 4 * e * joints, poses.rotations + 4 * kept[k] * joints);
            unfolded(w, between, to_pose, shapes, count, expected);
            pelt_clip_pose(unseen.list[e].clip, &bundle->skeleton, unseen.list[e].frame, locals);
            assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, 200, out, NULL));
            for (size_t i = 0; i < 3; i++) {
                worst = fmax(worst, fabs(out[3 * v + i] - expected[i]));
                most = fmax(most, fabs(expected[i]));
            }
        }
        free(tally);
    }
    assert_true(most > 1e-3 * bundle->mesh.diagonal); /* there was something to compare */
    assert_true(worst < 1e-5 * bundle->mesh.diagonal);
    pelt_bundle_free(bundle);
}

/* One joint drives everything: every example differs for every vertex that moves. */
static void every_example_is_interpolated(void **state) {
    (void)state;
    pelt_bundle *bundle = sample("elbow", 300);
    pelt_error error;
    pelt_skin skin;
    pelt_examples train = all_of(bundle, "train");
    pelt_skin_bytes *file = pelt_fit(bundle, train, &(pelt_fit_options){.method = "wpsd"}, &error);
    assert_non_null(file);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, train, 1, &error);
    assert_true(m->max_fraction < 1e-5);
    pelt_measure_free(m), pelt_skin_free(file), pelt_bundle_free(bundle);
}

static void principal_joints_bound_the_axes_and_principal_poses_the_centres(void **state) {
    (void)state;
    pelt_bundle *bundle = sample("arm", 300);
    pelt_fitting f = fitted(bundle, (pelt_fit_options){.principal_joints = 2, .poses = 5});
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

/* The arm's shoulder vertices are displaced by the shoulder, whoever carries them. */
static void driving_weights_beat_blend_weights_on_unseen_poses_of_a_real_body(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    double errors[2];
    for (int blend = 0; blend < 2; blend++) {
        pelt_fit_options options = {.method = "wpsd", .distance_weights = blend ? "blend" : "driving"};
        pelt_skin skin;
        pelt_skin_bytes *file = pelt_fit(bundle, all_of(bundle, "train"), &options, &error);
        assert_non_null(file);
        assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
        pelt_measure *m = pelt_measure_examples(&skin, bundle, all_of(bundle, "test"), 0, &error);
        errors[blend] = m->rel_err;
        pelt_measure_free(m), pelt_skin_free(file);
    }
    assert_true(errors[0] < 0.26);
    assert_true(errors[0] < errors[1]);
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folded_form_equals_the_unfolded_formula),
        cmocka_unit_test(every_example_is_interpolated),
        cmocka_unit_test(principal_joints_bound_the_axes_and_principal_poses_the_centres),
        cmocka_unit_test(driving_weights_beat_blend_weights_on_unseen_poses_of_a_real_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
