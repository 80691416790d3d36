/* test_psd.c: pose space deformation: interpolation, unseen motion, principal poses. */

#include "fit/corrective/correctives.h"
#include "fit/examples/displacement.h"
#include "rig/linear.h"
#include "test/corrected.h"
#include "test/sampled.h"

static pelt_measure *fit_and_measure(pelt_bundle *bundle, pelt_examples train, pelt_examples test,
                                     pelt_fit_options options, size_t *bytes) {
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *file = pelt_fit(bundle, train, &options, NULL, &error);
    if (!file) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, test, 1, &error);
    if (!m) fail_msg("%s", error.text);
    if (bytes) *bytes = file->size;
    pelt_bytes_free(file);
    return m;
}

static double worst_fraction(pelt_bundle *bundle, pelt_examples train, pelt_examples test, pelt_fit_options options) {
    pelt_measure *m = fit_and_measure(bundle, train, test, options, NULL);
    double worst = m->max_fraction;
    pelt_measure_free(m);
    return worst;
}

static double rel_err(pelt_bundle *bundle, pelt_examples train, pelt_examples test, pelt_fit_options options) {
    pelt_measure *m = fit_and_measure(bundle, train, test, options, NULL);
    double error = m->rel_err;
    pelt_measure_free(m);
    return error;
}

static void every_example_is_interpolated(void **state) {
    (void)state;
    static const char *const names[] = {"elbow", "arm"};
    for (int i = 0; i < 2; i++)
        for (int half = 0; half < 2; half++) {
            pelt_bundle *bundle = sampled(names[i], 400);
            pelt_examples train = all_of(bundle, "train");
            pelt_fit_options options = {
                .method = PELT_METHOD_PSD, .psd.rbf = PELT_RBF_MIXED, .displacement.displacements = half ? 0 : 32};
            assert_true(worst_fraction(bundle, train, train, options) < 1e-5);
            pelt_bundle_free(bundle);
        }
}

/* Every function, divided by their sum or not, for plain and weighted PSD; a plain Gaussian comes close. */
static void every_function_interpolates_the_examples(void **state) {
    (void)state;
    static const pelt_rbf_kind functions[] = {PELT_RBF_MIXED, PELT_RBF_GAUSSIAN, PELT_RBF_EXP};
    pelt_bundle *bundle = sampled("elbow", 300);
    pelt_examples train = all_of(bundle, "train");
    for (int i = 0; i < 12; i++) {
        pelt_fit_options options = {.method = i % 2 ? PELT_METHOD_WPSD : PELT_METHOD_PSD,
                                    .psd.rbf = functions[i / 2 % 3]};
        options.psd.no_norm = i >= 6;
        double worst = worst_fraction(bundle, train, train, options);
        if (!(worst < (i / 2 % 3 == 1 ? 5e-3 : 1e-5)))
            fail_msg("%d %d %d: %g", options.method, options.psd.rbf, options.psd.no_norm, worst);
    }
    pelt_bundle_free(bundle);
}

static void a_real_hand_is_interpolated_and_unseen_poses_come_closer(void **state) {
    (void)state;
    const char *path = test_data("mhr_hand/mhr_hand.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    pelt_examples train = all_of(bundle, "train");
    pelt_fit_options options = {.method = PELT_METHOD_PSD, .psd.rbf = PELT_RBF_MIXED, .threads = 1};
    assert_true(worst_fraction(bundle, train, train, options) < 2e-5);
    assert_true(rel_err(bundle, train, all_of(bundle, "test"), (pelt_fit_options){.method = PELT_METHOD_PSD}) < 0.37);
    pelt_bundle_free(bundle);
}

static void more_principal_poses_fit_better_and_few_make_a_smaller_skin(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_examples train = all_of(bundle, "train");
    double last = 1;
    size_t few = 0, many = 0;
    for (uint32_t poses = 2; poses <= 16; poses *= 2) {
        pelt_measure *m =
            fit_and_measure(bundle, train, train, (pelt_fit_options){.method = PELT_METHOD_PSD, .psd.poses = poses},
                            poses == 2 ? &few : &many);
        assert_true(m->rel_err < last);
        last = m->rel_err;
        pelt_measure_free(m);
    }
    assert_true(last < 0.5 && few < many);
    pelt_bundle_free(bundle);
}

/* Far from all examples the correction stays in the range of the examples', and is finite in any pose. */
static void no_pose_makes_it_explode(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_error error;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = {.method = PELT_METHOD_PSD}};
    f.examples = all_of(bundle, "train");
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    assert_int_equal(pelt_fit_corrective(&f, &error), PELT_OK);
    pelt_example_displacements d;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < 3 * (size_t)d.point_count * d.example_count; i++)
        largest = fmax(largest, fabs(d.positions[i]));
    uint32_t joints = bundle->skeleton.joint_count, n = bundle->mesh.vertex_count;
    pelt_transform *locals = PELT_NEW(bundle->arena, joints, pelt_transform);
    double *out = PELT_NEW(bundle->arena, 3 * (size_t)n, double);
    uint64_t seed = 6;
    for (int pose = 0; pose < 60; pose++) {
        for (uint32_t j = 0; j < joints; j++) {
            pelt_transform turn =
                character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5, 0.1, 360 * test_random(&seed));
            locals[j] = bundle->skeleton.rest[j];
            memcpy(locals[j].rotation, turn.rotation, sizeof turn.rotation);
        }
        assert_true(pelt_corrective_eval(f.model.corrective, &bundle->skeleton, locals, NULL, n, out, NULL));
        for (size_t i = 0; i < 3 * (size_t)n; i++) worst = fmax(worst, fabs(out[i]));
    }
    assert_true(isfinite(worst) && worst < 8 * largest);
    pelt_bundle_free(bundle);
}

/* -- The formula --------------------------------------------------------------------------------------------------- */

enum { JOINTS = 4, TUBE = 48, POSES = 64 };

/* Joint 1 displaces all of the tube, joint 2 half as far, joint 3 nothing; two bumps make the shapes nonlinear. */
static void strong_weak_idle(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        d[3 * v] = 0.2 * angles[1] / 60, d[3 * v + 1] = 0.1 * angles[2] / 60;
        d[3 * v + 2] = v % 3 * 1e-3 * angles[1] * angles[2] / 3600;
    }
}

typedef struct subject {
    pelt_bundle *bundle;
    pelt_fitting f;
    pelt_example_displacements d;
    uint32_t count;
    const pelt_rbf *rbf;
    double r2[POSES][POSES]; /* of examples, as the corrective measures them */
    double angles[POSES][JOINTS];
} subject;

static subject fit_poses(pelt_fit_options options, uint32_t more) {
    subject x = {.bundle = character_chain(JOINTS, TUBE)};
    pelt_error error = {0};
    x.count = corrected_poses(JOINTS, 30, more, 5, x.angles[0]);
    x.f = corrected_fitting(x.bundle, corrected_clip(x.bundle, "train", x.count, x.angles[0], strong_weak_idle));
    options.method = PELT_METHOD_PSD, options.threads = 1;
    x.f.options = options;
    assert_int_equal(pelt_fit_resolve(&x.f.options, &error), PELT_OK);
    if (pelt_fit_psd(&x.f, &error)) fail_msg("%s", error.text);
    assert_int_equal(pelt_displacements_of(&x.f, &x.d, &error), PELT_OK);
    x.rbf = x.f.model.corrective->rbfs;
    for (uint32_t a = 0; a < x.count; a++)
        for (uint32_t b = 0; b < x.count; b++)
            for (uint32_t k = 0; k < x.rbf->axis_count; k++)
                x.r2[a][b] +=
                    x.rbf->axes[k].weight * pow(2 * sin((x.angles[a][k + 1] - x.angles[b][k + 1]) * acos(-1) / 360), 2);
    return x;
}

static subject fit_subject(pelt_fit_options options) {
    options.psd.rbf = PELT_RBF_MIXED;
    return fit_poses(options, 10);
}

static void free_subject(subject *x) { pelt_arena_free(x->f.arena), character_free(x->bundle); }

static double mixed(double r2, double width) {
    return 0.97 * exp(-r2 / (2 * width * width)) + 0.03 * exp(-sqrt(fmax(r2, 0)) / width);
}

/* Joints are weighted by the root of how far they displace the mesh, at least a hundredth, and 1 on average. */
static void joints_weigh_by_what_they_displace(void **state) {
    (void)state;
    subject x = fit_subject((pelt_fit_options){0});
    assert_int_equal(x.rbf->axis_count, 3);
    double strengths[] = {1, sqrt(0.5), 0.01}, mean = (strengths[0] + strengths[1] + strengths[2]) / 3;
    for (int k = 0; k < 3; k++) assert_near(x.rbf->axes[k].weight, strengths[k] / mean, 1e-3);
    free_subject(&x);
}

/* Equation 6 of Rhee et al. down to a norm of 1/32; below, it fades. */
static double one_over(double norm) { return norm > 1.0 / 32 ? 1 / norm : 1024 * fmax(norm, 0); }

/* The run time divides by no less than 1/4: what is stored is eight times as large. */
enum { STORED = 8 };

/* lambda = phi^-1, without the column of the rest pose, which needs no displacement; the norm is its row sum. */
static void the_matrix_is_the_inverse_of_the_kernels(void **state) {
    (void)state;
    subject x = fit_subject((pelt_fit_options){0});
    uint32_t n = x.count;
    assert_int_equal(x.rbf->center_count, n);
    assert_int_equal(x.rbf->coefficient_count, n - 1);
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        double row = 0, norm = 0;
        for (uint32_t k = 0; k < n - 1; k++) {
            double sum = 0;
            for (uint32_t q = 0; q < n; q++) sum += mixed(x.r2[i][q], x.rbf->width) * x.rbf->matrix[q * (n - 1) + k];
            assert_near(sum / STORED, i == k + 1, 1e-2);
        }
        for (uint32_t k = 0; k < n - 1; k++) row += fabs(x.rbf->matrix[i * (n - 1) + k]) / STORED;
        for (uint32_t q = 0; q < n; q++) norm += mixed(x.r2[i][q], x.rbf->width) * x.rbf->norm[q];
        assert_near(norm / STORED, 1, 1e-3);
        largest = fmax(largest, row);
    }
    assert_true(x.f.report.poses.growth >= largest && x.f.report.poses.growth < 2 * largest);
    assert_int_equal(x.f.report.poses.poses, n);
    assert_near(x.f.report.poses.width, x.rbf->width, 1e-6);
    assert_true(x.f.report.poses.not_told_apart < 0);
    free_subject(&x);
}

/* Solves without each pose that is between others, and measures the predicted shape there. */
static double left_out_error(const subject *x, double width, double *growth) {
    size_t n = x->count, m = n - 1, size = 3 * (size_t)x->d.point_count;
    double *phi = malloc(n * n * sizeof *phi), *right = malloc(n * (size + 1) * sizeof *right), total = 0;
    for (size_t e = 1; e < n; e++) {
        uint32_t several = 0, joint = 0;
        bool between = false;
        for (uint32_t j = 1; j < JOINTS; j++) several += x->angles[e][j] != 0, joint = x->angles[e][j] != 0 ? j : joint;
        for (size_t o = 1; o < n; o++) {
            uint32_t others = 0;
            for (uint32_t j = 1; j < JOINTS; j++) others += x->angles[o][j] != 0;
            between |= others == 1 && x->angles[o][joint] * x->angles[e][joint] > 0 &&
                       fabs(x->angles[o][joint]) > fabs(x->angles[e][joint]);
        }
        if (several == 1 && !between) continue;
        for (size_t i = 0, r = 0; i < n; i++) {
            if (i == e) continue;
            for (size_t k = 0, c = 0; k < n; k++)
                if (k != e) phi[r * m + c++] = mixed(x->r2[i][k], width);
            for (size_t k = 0; k < size; k++) right[r * (size + 1) + k] = x->d.positions[i * size + k];
            right[r++ * (size + 1) + size] = 1;
        }
        assert_true(pelt_cholesky(m, phi));
        pelt_cholesky_solve(m, phi, size + 1, right);
        double norm = 0;
        for (size_t i = 0, r = 0; i < n; i++)
            if (i != e) norm += mixed(x->r2[i][e], width) * right[r++ * (size + 1) + size];
        for (size_t k = 0; k < size; k++) {
            double sum = 0;
            for (size_t i = 0, r = 0; i < n; i++)
                if (i != e) sum += mixed(x->r2[i][e], width) * right[r++ * (size + 1) + k];
            total += pow(sum * one_over(norm) - x->d.positions[e * size + k], 2);
        }
    }
    *growth = 0;
    for (size_t i = 0; i < n * n; i++) phi[i] = mixed(x->r2[i / n][i % n], width), right[i] = i / n == i % n;
    if (pelt_cholesky(n, phi)) pelt_cholesky_solve(n, phi, n, right);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += fabs(right[i * n + k]);
        *growth = fmax(*growth, sum);
    }
    free(phi), free(right);
    return total;
}

static void the_width_is_the_one_that_best_predicts_poses_left_out(void **state) {
    (void)state;
    static const double factors[] = {0.35, 0.5, 0.7, 1, 1.4, 2, 2.8};
    subject x = fit_subject((pelt_fit_options){0});
    double square = 0, best = INFINITY, width = 0;
    for (uint32_t i = 0; i < x.count * x.count; i++) square += x.r2[i / x.count][i % x.count];
    double typical = sqrt(square / (x.count * (x.count - 1.0)));
    for (int k = 0; k < 7; k++) {
        double growth, error = left_out_error(&x, factors[k] * typical, &growth);
        if (error < best && growth < 1.6e4) best = error, width = factors[k] * typical;
    }
    assert_near(x.rbf->width, width, 1e-4 * width);
    free_subject(&x);
}

/* Shapes nearly linear in the angles are predicted best without the exponential's cusps, which poses of several joints
   show: examples of them, or made from sweeps. */
static void the_function_is_the_one_that_best_predicts_poses_left_out(void **state) {
    (void)state;
    static const struct {
        uint32_t more;
        pelt_rbf_kind asked;
        pelt_phi phi;
    } cases[] = {{10, 0, PELT_PHI_GAUSSIAN}, {9, 0, PELT_PHI_GAUSSIAN}, {10, PELT_RBF_EXP, PELT_PHI_EXP}};
    for (int i = 0; i < 3; i++) {
        subject x = fit_poses((pelt_fit_options){.psd.rbf = cases[i].asked}, cases[i].more);
        assert_int_equal(x.rbf->phi, cases[i].phi);
        free_subject(&x);
    }
}

/* What several joints do together is the sum of what they do alone: sweeps cannot show that, and a width that only joins
   the poses of a sweep is too narrow. */
static void sweeps_alone_choose_a_width_that_adds_them_up(void **state) {
    (void)state;
    enum { TOGETHER = 8 };
    subject x = fit_poses((pelt_fit_options){0}, 0), narrow = fit_poses((pelt_fit_options){.psd.width = 1}, 0);
    double missed[2] = {0}, all = 0;
    uint64_t seed = 8;
    for (int i = 0; i < TOGETHER; i++) {
        double angles[JOINTS] = {0}, d[3 * TUBE], out[3 * TUBE];
        pelt_transform locals[JOINTS];
        for (uint32_t j = 0; j < JOINTS; j++) {
            angles[j] = j ? 120 * test_random(&seed) - 60 : 0;
            locals[j] = x.bundle->skeleton.rest[j];
            memcpy(locals[j].rotation, character_turn(0, 0, 1, angles[j]).rotation, sizeof locals[j].rotation);
        }
        strong_weak_idle(x.bundle, angles, d);
        for (int k = 0; k < 2; k++) {
            subject *s = k ? &narrow : &x;
            assert_true(
                pelt_corrective_eval(s->f.model.corrective, &s->bundle->skeleton, locals, NULL, TUBE, out, NULL));
            for (size_t c = 0; c < 3 * TUBE; c++) missed[k] += pow(out[c] - d[c], 2), all += d[c] * d[c] / 2;
        }
    }
    assert_true(sqrt(missed[0] / all) < 0.1 && missed[1] > 4 * missed[0]);
    free_subject(&x), free_subject(&narrow);
}

/* r_t = f_t / sum f where the sum is at least the floor; below, r_t fades with it. */
static void the_norm_is_that_of_the_paper_down_to_its_floor(void **state) {
    (void)state;
    static const double floors[] = {0.001, 0.25};
    double least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < 2; i++) {
        subject x =
            fit_poses((pelt_fit_options){.psd = {.norm_floor = floors[i], .width = 0.3, .rbf = PELT_RBF_MIXED}}, 10);
        float rotations[4 * JOINTS] = {0}, translations[3 * JOINTS] = {0};
        double a[POSES], f[POSES];
        for (int pose = 0; pose < 40; pose++) {
            double sum = 0, norm = 0;
            for (uint32_t j = 0; j < JOINTS; j++)
                rotations[4 * j + 2] = sinf(0.1f * (float)pose), rotations[4 * j + 3] = cosf(0.1f * (float)pose);
            pelt_pose_state at = {rotations, translations, NULL};
            pelt_corrective_coefficients(x.f.model.corrective, &at, a);
            for (uint32_t k = 0; k < x.rbf->coefficient_count; k++) f[k] = 0;
            for (uint32_t q = 0; q < x.rbf->center_count; q++) {
                double r2 = 0;
                for (uint32_t k = 0; k < x.rbf->axis_count; k++)
                    r2 += x.rbf->axes[k].weight *
                          pelt_axis_distance2(&x.rbf->axes[k], &at, x.rbf->centers + 4 * (q * x.rbf->axis_count + k));
                for (uint32_t k = 0; k < x.rbf->coefficient_count; k++)
                    f[k] +=
                        mixed(r2, x.rbf->width) * x.rbf->matrix[q * x.rbf->coefficient_count + k] * floors[i] / 0.25;
                sum += mixed(r2, x.rbf->width) * x.rbf->norm[q] * floors[i] / 0.25;
            }
            norm = sum > floors[i] ? 1 / sum : fmax(sum, 0) / (floors[i] * floors[i]);
            for (uint32_t k = 0; k < x.rbf->coefficient_count; k++) assert_near(a[k], f[k] * norm, 1e-6);
            least[i] = fmin(least[i], sum);
        }
        free_subject(&x);
    }
    assert_true(least[0] < 0.25 && least[1] < 0.25); /* so that floors differ */
}

/* |f|^2 <= d^T phi^-1 d of the worst point, and dividing by the norm multiplies that by at most 32. */
static void the_bound_is_the_norm_of_the_function(void **state) {
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        subject x = fit_subject((pelt_fit_options){.psd.no_norm = plain});
        size_t n = x.count, points = x.d.point_count;
        double *phi = malloc(n * n * sizeof *phi), *c = malloc(3 * n * sizeof *c), most = 0;
        for (size_t i = 0; i < n * n; i++) phi[i] = mixed(x.r2[i / n][i % n], x.rbf->width);
        assert_true(pelt_cholesky(n, phi));
        for (size_t p = 0; p < points; p++) {
            double sum = 0;
            for (size_t i = 0; i < 3 * n; i++) c[i] = x.d.positions[3 * (i / 3 * points + p) + i % 3];
            pelt_cholesky_solve(n, phi, 3, c);
            for (size_t i = 0; i < 3 * n; i++) sum += c[i] * x.d.positions[3 * (i / 3 * points + p) + i % 3];
            most = fmax(most, sum);
        }
        assert_near(x.f.report.bound, (plain ? 1 : 32) * sqrt(most), 2e-3 * x.f.report.bound);
        free(phi), free(c), free_subject(&x);
    }
}

/* With few poses the displacements are the least squares over all examples: the residual is orthogonal to every
   function of the pose, up to the small ridge. Vertices list what is not too small, and nothing else. */
static void few_poses_are_fitted_to_all_examples(void **state) {
    (void)state;
    enum { FEW = 6 };
    subject x = fit_subject((pelt_fit_options){.psd.poses = FEW});
    const pelt_displacements *list = x.f.model.corrective->displacements;
    assert_true(x.rbf->center_count == FEW + 1 && x.rbf->coefficient_count == FEW);
    assert_int_equal(x.f.report.poses.poses, FEW + 1);
    double r[POSES][FEW] = {{0}}, plain = 0, left = 0;
    for (uint32_t e = 0; e < x.count; e++) {
        double norm = 0, phi[FEW + 1];
        for (uint32_t q = 0; q <= FEW; q++) {
            double r2 = 0;
            for (uint32_t k = 0; k < x.rbf->axis_count; k++) {
                const float *center = x.rbf->centers + 4 * (q * x.rbf->axis_count + k);
                double angle = 2 * atan2(center[2], center[3]);
                r2 += x.rbf->axes[k].weight * pow(2 * sin((x.angles[e][k + 1] * acos(-1) / 180 - angle) / 2), 2);
            }
            phi[q] = mixed(r2, x.rbf->width);
            norm += phi[q] * x.rbf->norm[q];
        }
        for (uint32_t q = 0; q <= FEW; q++)
            for (uint32_t k = 0; k < FEW; k++)
                r[e][k] += one_over(norm / STORED) * phi[q] * x.rbf->matrix[q * FEW + k] / STORED;
    }
    for (uint32_t v = 0; v < TUBE; v++) {
        double u[FEW][3] = {{0}};
        for (uint32_t i = list->first[v]; i < list->first[v + 1]; i++) {
            const float *own = list->vectors + 3 * (size_t)i;
            assert_true(fmax(fabsf(own[0]), fmax(fabsf(own[1]), fabsf(own[2]))) >= 1.9e-7 * x.bundle->mesh.diagonal);
            for (int c = 0; c < 3; c++) u[list->coefficients[i]][c] = own[c];
        }
        for (int c = 0; c < 3; c++) {
            double along[FEW] = {0}, size[FEW] = {0};
            for (uint32_t e = 0; e < x.count; e++) {
                double rest = x.d.positions[3 * (e * x.d.point_count + x.d.point_of[v]) + c];
                plain += rest * rest;
                for (int k = 0; k < FEW; k++) rest -= r[e][k] * u[k][c];
                left += rest * rest;
                for (int k = 0; k < FEW; k++) along[k] += r[e][k] * rest, size[k] += r[e][k] * r[e][k];
            }
            for (int k = 0; k < FEW; k++) assert_near(along[k], 1e-6 * size[k] * u[k][c], 2e-6 * size[k] + 1e-6);
        }
    }
    assert_true(left < 0.05 * plain);
    free_subject(&x);
}

/* -- The number of threads ----------------------------------------------------------------------------------------- */

static void the_number_of_threads_does_not_change_a_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 400);
    pelt_examples train = all_of(bundle, "train");
    pelt_error error;
    static const char *const methods[] = {"psd", "wpsd"};
    for (int i = 0; i < 2; i++)
        for (uint32_t poses = 0; poses < 8; poses += 7) {
            pelt_bytes *one =
                pelt_fit(bundle, train,
                         &(pelt_fit_options){.method = method_named(methods[i]), .psd.poses = poses, .threads = 1},
                         NULL, &error);
            pelt_bytes *four =
                pelt_fit(bundle, train,
                         &(pelt_fit_options){.method = method_named(methods[i]), .psd.poses = poses, .threads = 4},
                         NULL, &error);
            assert_true(one && four);
            assert_int_equal(one->size, four->size);
            assert_memory_equal(one->bytes, four->bytes, one->size);
            pelt_bytes_free(one), pelt_bytes_free(four);
        }
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_interpolated),
        cmocka_unit_test(every_function_interpolates_the_examples),
        cmocka_unit_test(a_real_hand_is_interpolated_and_unseen_poses_come_closer),
        cmocka_unit_test(more_principal_poses_fit_better_and_few_make_a_smaller_skin),
        cmocka_unit_test(no_pose_makes_it_explode),
        cmocka_unit_test(joints_weigh_by_what_they_displace),
        cmocka_unit_test(the_matrix_is_the_inverse_of_the_kernels),
        cmocka_unit_test(the_width_is_the_one_that_best_predicts_poses_left_out),
        cmocka_unit_test(the_function_is_the_one_that_best_predicts_poses_left_out),
        cmocka_unit_test(sweeps_alone_choose_a_width_that_adds_them_up),
        cmocka_unit_test(the_norm_is_that_of_the_paper_down_to_its_floor),
        cmocka_unit_test(the_bound_is_the_norm_of_the_function),
        cmocka_unit_test(few_poses_are_fitted_to_all_examples),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
