/* test_figures.c: what the fit of a corrective reports, against matrices built here from the formulas and decomposed by
   SVD, and against thousands of random poses. */

#include "test/svd.h"
#include "fit/corrective/correctives.h"
#include "rig/linear.h"
#include "fit/about.h"
#include "test/corrected.h"
#include <jansson.h>

enum { JOINTS = 3, VERTICES = 48, MOST = 64 };

/* -- The subject --------------------------------------------------------------------------------------------------- */

/* Bumps at the joints, and where two meet they grow together. */
static void bumps(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double both = sin(angles[1] * acos(-1) / 180) * sin(angles[2] * acos(-1) / 180);
        for (uint32_t j = 1; j < JOINTS; j++) {
            double away = x[1] - j, size = fabs(away) < 0.9 ? pow(cos(away / 0.9 * acos(-1) / 2), 2) : 0;
            double s = sin(angles[j] * acos(-1) / 180);
            d[3 * v] += 0.3 * size * x[0] * (s + both), d[3 * v + 1] += 0.05 * size * s * s;
        }
    }
}

/* Rest, each joint alone, both together; the last two frames are the closest. */
static uint32_t poses(double angles[MOST][JOINTS]) {
    uint32_t count = 1;
    uint64_t seed = 4;
    memset(angles, 0, MOST * sizeof *angles);
    for (int j = 1; j < JOINTS; j++)
        for (int a = -75; a <= 75; a += 25)
            if (a) angles[count++][j] = a;
    for (int i = 0; i < 12; i++, count++)
        for (int j = 1; j < JOINTS; j++) angles[count][j] = 150 * (test_random(&seed) - 0.5);
    angles[count][1] = angles[count - 1][1] + 0.3, angles[count][2] = angles[count - 1][2] - 0.2;
    return count + 1;
}

typedef struct fitted {
    pelt_bundle *bundle;
    pelt_fitting f;
    float *rotations; /* [example][joint][4] relative to rest, which is not turned here */
    uint32_t count;
} fitted;

static fitted fit(pelt_fit_options options) {
    double angles[MOST][JOINTS];
    fitted x = {.bundle = character_chain(JOINTS, VERTICES), .count = poses(angles)};
    pelt_clip *clip = corrected_clip(x.bundle, "train", x.count, angles[0], bumps);
    pelt_error error = {0};
    x.f = corrected_fitting(x.bundle, clip);
    x.f.options = options;
    x.f.options.threads = 2;
    assert_int_equal(pelt_fit_resolve(&x.f.options, &error), PELT_OK);
    if (pelt_fit_corrective(&x.f, &error)) fail_msg("%s", error.text);
    x.rotations = calloc(4 * (size_t)x.count * JOINTS, sizeof *x.rotations);
    for (uint32_t e = 0; e < x.count * JOINTS; e++)
        memcpy(x.rotations + 4 * (size_t)e, character_turn(0, 0, 1, angles[e / JOINTS][e % JOINTS]).rotation,
               4 * sizeof(float));
    return x;
}

static void finish(fitted *x) {
    free(x->rotations);
    pelt_arena_free(x->f.arena);
    character_free(x->bundle);
}

/* -- Brute force --------------------------------------------------------------------------------------------------- */

static double condition_by_svd(size_t n, const double *matrix) {
    double *a = malloc(n * n * sizeof *a), *u = malloc(n * n * sizeof *u), *s = malloc(n * sizeof *s),
           *vt = malloc(n * n * sizeof *vt);
    memcpy(a, matrix, n * n * sizeof *a);
    assert_true(test_svd(n, n, a, u, s, vt));
    double condition = s[0] / s[n - 1];
    free(a), free(u), free(s), free(vt);
    return condition;
}

/* (2 sin(angle / 2))^2, from the quaternions' dot product; in floats they are not exactly normalised. */
static double chord2(const float *a, const float *b) {
    double dot = 0, aa = 0, bb = 0;
    for (int i = 0; i < 4; i++) dot += (double)a[i] * b[i], aa += (double)a[i] * a[i], bb += (double)b[i] * b[i];
    return fmax(4 * (1 - dot * dot / (aa * bb)), 0);
}

static double mixed(double r2, double width) {
    return 0.97 * exp(-r2 / (2 * width * width)) + 0.03 * exp(-sqrt(r2) / width);
}

static void check_closest(const fitted *x, const pelt_condition *c, const char *first, const char *second) {
    pelt_fitting *f = (pelt_fitting *)&x->f;
    assert_string_equal(pelt_example_name(f, c->closest[0]), first);
    assert_string_equal(pelt_example_name(f, c->closest[1]), second);
}

/* -- Conditions ---------------------------------------------------------------------------------------------------- */

static void check_psd(uint32_t kept) {
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_PSD, .psd.poses = kept, .psd.rbf = PELT_RBF_MIXED});
    const pelt_rbf *rbf = x.f.model.corrective->rbfs;
    const pelt_condition *c = &x.f.report.condition;
    size_t n = rbf->center_count, axes = rbf->axis_count;
    double *phi = malloc(n * n * sizeof *phi), least = INFINITY;
    assert_int_equal(n, kept ? kept + 1 : x.count);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            double r2 = 0;
            for (size_t a = 0; a < axes; a++)
                r2 +=
                    rbf->axes[a].weight * chord2(rbf->centers + 4 * (i * axes + a), rbf->centers + 4 * (k * axes + a));
            phi[i * n + k] = mixed(fmax(r2, 0), rbf->width);
            if (i != k) least = fmin(least, r2);
        }
    assert_near(c->value, condition_by_svd(n, phi), 1e-3 * c->value);
    assert_near(c->distance, sqrt(least), 1e-3 * sqrt(least) + 1e-4);
    assert_null(c->where);
    if (!kept) check_closest(&x, c, "train:24", "train:25");
    free(phi);
    finish(&x);
}

static void psd_tells_the_condition_of_its_kernel_matrix_and_the_closest_examples(void **state) {
    (void)state;
    check_psd(0);
    check_psd(6);
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The kernel matrix of a vertex over the centres it distinguishes; returns their number. */
static size_t vertex_phi(const pelt_weighted *w, uint32_t v, double *phi) {
    size_t count = 0, *kept = malloc(w->center_count * sizeof *kept);
    double *r2 = malloc((size_t)w->center_count * w->center_count * sizeof *r2);
    for (size_t i = 0; i < w->center_count; i++) {
        bool same = false;
        for (size_t k = 0; k < w->center_count; k++) {
            double sum = 0;
            for (uint32_t a = w->first[v]; a < w->first[v + 1]; a++)
                sum += w->axis_weights[a] * chord2(w->centers + 4 * (i * w->axis_count + w->vertex_axes[a]),
                                                   w->centers + 4 * (k * w->axis_count + w->vertex_axes[a]));
            r2[i * w->center_count + k] = fmax(sum, 0);
        }
        for (size_t k = 0; k < count; k++) same |= r2[i * w->center_count + kept[k]] < 4e-6;
        if (!same) kept[count++] = i;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            phi[i * count + k] = mixed(r2[kept[i] * w->center_count + kept[k]], w->width);
    free(kept), free(r2);
    return count;
}

static void wpsd_tells_the_worst_vertex_and_the_median(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_WPSD});
    const pelt_weighted *w = x.f.model.corrective->weighted;
    const pelt_condition *c = &x.f.report.condition;
    double *phi = malloc((size_t)w->center_count * w->center_count * sizeof *phi), all[VERTICES], at_named = 0;
    size_t count = 0;
    unsigned named = 0;
    assert_int_equal(sscanf(c->where, "vertex %u", &named), 1);
    for (uint32_t v = 0; v < VERTICES; v++) {
        if (w->first[v] == w->first[v + 1]) continue;
        size_t n = vertex_phi(w, v, phi);
        all[count++] = condition_by_svd(n, phi);
        if (v == named) at_named = all[count - 1];
    }
    qsort(all, count, sizeof *all, rising);
    assert_true(count > VERTICES / 2);
    assert_near(c->value, all[count - 1], 1e-2 * c->value);
    assert_near(c->value, at_named, 1e-2 * c->value);
    assert_true(c->median > 0.5 * all[count / 2] && c->median < 2 * all[count / 2]);
    check_closest(&x, c, "train:24", "train:25");
    free(phi);
    finish(&x);
}

static void eigenskin_tells_the_worst_joint(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_EIGEN, .eigen.sweeps_only = 1});
    const pelt_corrective *corrective = x.f.model.corrective;
    const pelt_condition *c = &x.f.report.condition;
    double worst = 0;
    for (uint32_t j = 0; j < corrective->rbf_count; j++) {
        const pelt_rbf *rbf = &corrective->rbfs[j];
        size_t n = rbf->center_count;
        double *phi = malloc(n * n * sizeof *phi);
        for (size_t i = 0; i < n * n; i++) {
            double sine = 0.5 * sqrt(fmax(chord2(rbf->centers + 4 * (i / n), rbf->centers + 4 * (i % n)), 0));
            phi[i] = exp(-2 * asin(fmin(sine, 1)) / rbf->width);
        }
        worst = fmax(worst, condition_by_svd(n, phi));
        free(phi);
    }
    assert_int_equal(corrective->rbf_count, 2);
    assert_near(c->value, worst, 1e-3 * worst);
    assert_non_null(strstr(c->where, "joint"));
    assert_near(c->distance, 25 * acos(-1) / 180, 1e-5); /* the sweeps' step */
    finish(&x);
}

static double group_kernel(const fitted *x, const pelt_kernel *k, const pelt_kernel_group *group, uint32_t a,
                           uint32_t b) {
    float first[4 * JOINTS], second[4 * JOINTS];
    corrected_joints(k, x->rotations + 4 * (size_t)a * JOINTS, first);
    corrected_joints(k, x->rotations + 4 * (size_t)b * JOINTS, second);
    return corrected_group_kernel(k, group, first, second);
}

static void the_kernel_tells_the_worst_cluster(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_KERNEL});
    const pelt_kernel *k = x.f.model.corrective->kernel;
    const pelt_condition *c = &x.f.report.condition;
    double lambda = x.f.report.kernel->lambda, worst = 0;
    double *matrix = malloc((size_t)x.count * x.count * sizeof *matrix);
    for (uint32_t q = 0; q < k->group_count; q++) {
        size_t n = 0;
        uint32_t moved[MOST]; /* the others have kernel 0 with everything */
        for (uint32_t e = 0; e < x.count; e++)
            if (group_kernel(&x, k, &k->groups[q], e, e) > 1e-9) moved[n++] = e;
        for (size_t i = 0; i < n * n; i++)
            matrix[i] = group_kernel(&x, k, &k->groups[q], moved[i / n], moved[i % n]) + (i / n == i % n ? lambda : 0);
        worst = fmax(worst, condition_by_svd(n, matrix));
    }
    assert_near(c->value, worst, 1e-2 * worst);
    check_closest(&x, c, "train:24", "train:25");
    assert_non_null(strstr(c->where, "the cluster of vertex "));
    double nearest = INFINITY; /* of the last two examples, by what drives some cluster, at the reported distance */
    for (uint32_t q = 0; q < k->group_count; q++) {
        double sum = 0;
        for (uint32_t u = 0; u < k->groups[q].unit_count; u++) {
            const pelt_kernel_unit *unit = &k->units[k->groups[q].units[u]];
            const float *r = x.rotations + 4 * (size_t)k->joints[unit->first];
            if (unit->first == unit->second)
                sum += unit->gain * chord2(r + 4 * (size_t)24 * JOINTS, r + 4 * (size_t)25 * JOINTS);
        }
        nearest = fmin(nearest, fabs(sqrt(sum) - c->distance));
    }
    assert_true(nearest < 1e-3 * c->distance);
    free(matrix);
    finish(&x);
}

static void a_bad_condition_is_a_warning_with_the_pair_and_the_remedy(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_PSD});
    size_t before = x.f.report.findings.count;
    pelt_note_condition(&x.f, &(pelt_condition){.value = PELT_WORST_CONDITION, .closest = {3, PELT_REST_EXAMPLE}});
    assert_int_equal(x.f.report.findings.count, before);
    pelt_note_condition(&x.f, &(pelt_condition){.value = 5e6, .closest = {3, PELT_REST_EXAMPLE}, .distance = 0.01});
    assert_int_equal(x.f.report.findings.count, before + 1);
    const char *text = x.f.report.findings.list[before].text;
    assert_non_null(strstr(text, "condition 5e+06"));
    assert_non_null(strstr(text, "train:3 and the rest pose, 0.01 rad apart"));
    assert_non_null(strstr(text, "fewer frames"));
    assert_non_null(strstr(text, "fewer poses"));
    finish(&x);
}

/* -- Bounds -------------------------------------------------------------------------------------------------------- */

/* A uniformly random rotation of every joint. */
static void random_pose(const pelt_skeleton *skeleton, uint64_t *seed, pelt_transform *locals) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        double q[4], square = 0;
        do {
            square = 0;
            for (int i = 0; i < 4; i++) q[i] = 2 * test_random(seed) - 1, square += q[i] * q[i];
        } while (square > 1 || square < 1e-3);
        locals[j] = skeleton->rest[j];
        for (int i = 0; i < 4; i++) locals[j].rotation[i] = (float)(q[i] / sqrt(square));
    }
}

static double farthest(const fitted *x, uint32_t count) {
    pelt_transform locals[JOINTS];
    double d[3 * VERTICES], most = 0;
    uint64_t seed = 77;
    for (uint32_t i = 0; i < count; i++) {
        random_pose(&x->bundle->skeleton, &seed, locals);
        assert_true(pelt_corrective_eval(x->f.model.corrective, &x->bundle->skeleton, locals, NULL, VERTICES, d, NULL));
        for (uint32_t v = 0; v < VERTICES; v++)
            most = fmax(most, d[3 * v] * d[3 * v] + d[3 * v + 1] * d[3 * v + 1] + d[3 * v + 2] * d[3 * v + 2]);
    }
    return sqrt(most);
}

static void no_pose_displaces_a_vertex_beyond_the_bound(void **state) {
    (void)state;
    static const struct {
        const char *method;
        uint32_t poses;
    } fits[] = {{"psd", 0}, {"psd", 6}, {"wpsd", 0}, {"wpsd", 6}, {"eigen", 0}, {"kernel", 0}};
    const double loosest = 100;  /* of kernels of neighbourhoods, which this one chooses */
    const double of_norms = 400; /* sums of functions are divided by no less than 1/32 */
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        fitted x = fit((pelt_fit_options){.method = method_named(fits[i].method), .psd.poses = fits[i].poses});
        double most = farthest(&x, 10000), bound = x.f.report.bound;
        assert_true(most <= 1.001 * bound);
        assert_true(most > 0 &&
                    bound < (strcmp(fits[i].method, "kernel") ? of_norms : loosest) * most); /* and it is useful */
        finish(&x);
    }
}

/* The bounds, from the model: |sum_q c_q phi_q| with phi between that of half a turn of every axis and 1, and
   sqrt(K(p, p) c^T K c). */
static double eigen_bound(const pelt_rbf *rbf, uint32_t k) {
    double least = exp(-acos(-1) * sqrt(rbf->axis_count) / rbf->width), most[2] = {0};
    for (size_t q = 0; q < rbf->center_count; q++) {
        double x = rbf->matrix[q * rbf->coefficient_count + k];
        most[0] += fmax(x, x * least),
            most[1] -= fmin(x, x * least); /* the largest and the smallest sum there can be */
    }
    return fmax(most[0], most[1]);
}

static double kernel_bound(const pelt_kernel *k, const pelt_kernel_group *group, uint32_t r) {
    double ceiling = 0;
    for (uint32_t u = 0; u < group->unit_count; u++) {
        const pelt_kernel_unit *unit = &k->units[group->units[u]];
        double first = 2 - 2 * exp(-4 * k->scales[unit->first]), second = 2 - 2 * exp(-4 * k->scales[unit->second]);
        ceiling += unit->gain * first * (unit->first == unit->second ? 1 : second);
    }
    return sqrt(ceiling * fmax(corrected_kernel_norm(k, group, r), 0));
}

/* The largest sum over a vertex of |vector| x bound of its coefficient. */
static double bound_of_vectors(const pelt_displacements *d, const double *most) {
    double worst = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        double sum = 0;
        for (uint32_t i = d->first[v]; i < d->first[v + 1]; i++) {
            const float *u = d->vectors + 3 * (size_t)i;
            sum += most[d->coefficients[i]] * sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        }
        worst = fmax(worst, sum);
    }
    return worst;
}

static void bounds_are_those_of_the_formulas(void **state) {
    (void)state;
    double most[1024];
    for (int kernel = 0; kernel < 2; kernel++) {
        fitted x = fit(kernel ? (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_KERNEL}
                              : (pelt_fit_options){.method = PELT_METHOD_EIGEN});
        const pelt_corrective *c = x.f.model.corrective;
        uint32_t at = 0;
        for (uint32_t i = 0; i < c->rbf_count; i++)
            for (uint32_t k = 0; k < c->rbfs[i].coefficient_count; k++) most[at++] = eigen_bound(&c->rbfs[i], k);
        for (uint32_t q = 0; kernel && q < c->kernel->group_count; q++)
            for (uint32_t r = 0; r < c->kernel->groups[q].coefficient_count; r++)
                most[at++] = kernel_bound(c->kernel, &c->kernel->groups[q], r);
        assert_true(at < 1024);
        assert_near(x.f.report.bound, bound_of_vectors(c->displacements, most), 2e-3 * x.f.report.bound);
        finish(&x);
    }
}

/* |f|^2 <= d^T phi^-1 d of the worst vertex, and the guard of the norm multiplies that by at most 4; with few poses,
   without a norm, c^T phi c. */
static void the_bound_of_wpsd_is_the_norm_of_the_worst_function(void **state) {
    (void)state;
    for (uint32_t kept = 0; kept <= 6; kept += 6) {
        fitted x = fit((pelt_fit_options){.method = PELT_METHOD_WPSD, .psd.poses = kept});
        const pelt_weighted *w = x.f.model.corrective->weighted;
        double most = 0;
        for (uint32_t v = 0; v < VERTICES; v++) {
            const float *c = w->folded + 4 * (size_t)v * w->center_count;
            double sum = 0;
            for (size_t i = 0; i < w->center_count; i++)
                for (size_t k = 0; k < w->center_count; k++) {
                    double r2 = 0;
                    for (uint32_t a = w->first[v]; a < w->first[v + 1]; a++)
                        r2 += w->axis_weights[a] * chord2(w->centers + 4 * (i * w->axis_count + w->vertex_axes[a]),
                                                          w->centers + 4 * (k * w->axis_count + w->vertex_axes[a]));
                    double phi = kept ? exp(-r2 / (2 * w->width * w->width)) : mixed(r2, w->width);
                    for (int n = 0; n < 3; n++) sum += c[4 * i + n] * phi * c[4 * k + n];
                }
            most = fmax(most, sum);
        }
        assert_near(x.f.report.bound, (kept ? 1 : 4) * sqrt(most), 1e-2 * x.f.report.bound);
        finish(&x);
    }
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_field(const json_t *json, const pelt_eigen_field_findings *x) {
    json_t *joints = json_object_get(json, "joints"), *pairs = json_object_get(json, "pairs");
    assert_near(number_of(json, "width"), x->width, 1e-8 * fabs(x->width));
    assert_int_equal(json_array_size(joints), x->joint_count);
    assert_int_equal(json_array_size(pairs), x->pair_count);
    for (uint32_t j = 0; j < x->joint_count; j++) {
        const json_t *joint = json_array_get(joints, j), *singular = json_object_get(joint, "singular_values");
        assert_string_equal(json_string_value(json_object_get(joint, "joint")), x->joints[j].name);
        assert_near(number_of(joint, "examples"), x->joints[j].examples, 0);
        assert_near(number_of(joint, "support"), x->joints[j].support, 0);
        assert_near(number_of(joint, "kept"), x->joints[j].kept, 0);
        assert_int_equal(json_array_size(singular), x->joints[j].rank < 12 ? x->joints[j].rank : 12);
        for (size_t k = 0; k < json_array_size(singular); k++)
            assert_near(json_number_value(json_array_get(singular, k)), x->joints[j].singular[k],
                        1e-8 * x->joints[j].singular[k]);
    }
    for (uint32_t p = 0; p < x->pair_count; p++) {
        const json_t *pair = json_array_get(pairs, p);
        assert_string_equal(json_string_value(json_object_get(pair, "joint")), x->pairs[p].name);
        assert_string_equal(json_string_value(json_object_get(pair, "above")), x->pairs[p].above);
        assert_near(number_of(pair, "support"), x->pairs[p].support, 0);
        assert_near(number_of(pair, "kept"), x->pairs[p].kept, 0);
    }
}

/* The skin's description of itself. */
static json_t *told(fitted *x) {
    pelt_error error = {0};
    x->f.report.options = x->f.options;
    char *text = pelt_about_text(&x->f.report, NULL, x->bundle, x->f.examples, &error);
    assert_non_null(text);
    json_t *about = json_loads(text, 0, NULL);
    free(text);
    return about;
}

/* The skin reports what the fit found. Each of the two joints is swept by six examples and the rest pose. */
static void a_skin_tells_what_eigenskin_found(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_EIGEN, .eigen.per_joint = 3});
    const pelt_eigen_findings *g = x.f.report.eigen;
    json_t *about = told(&x), *json = json_object_get(about, "details");
    const pelt_eigen_field_findings *fields[] = {&g->positions, &g->normals};
    uint32_t coefficients = 0;
    check_field(json, &g->positions);
    check_field(json_object_get(json, "normals"), &g->normals);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fields[i]->joint_count, JOINTS - 1);
        assert_near(fields[i]->width, g->positions.width, 0); /* normals share it */
        for (uint32_t j = 0; j < JOINTS - 1; j++) {
            assert_string_equal(fields[i]->joints[j].name, x.bundle->skeleton.names[j + 1]);
            assert_int_equal(fields[i]->joints[j].examples, 6);
            assert_true(fields[i]->joints[j].kept <= 3 && fields[i]->joints[j].kept <= fields[i]->joints[j].rank);
            assert_true(fields[i]->joints[j].support > 0 && fields[i]->joints[j].support < VERTICES);
            coefficients += fields[i]->joints[j].kept;
        }
        for (uint32_t p = 0; p < fields[i]->pair_count; p++) {
            assert_string_equal(fields[i]->pairs[p].name, x.bundle->skeleton.names[2]);
            assert_string_equal(fields[i]->pairs[p].above, x.bundle->skeleton.names[1]);
            assert_true(fields[i]->pairs[p].support > 0 && fields[i]->pairs[p].support < VERTICES);
            coefficients += fields[i]->pairs[p].kept;
        }
    }
    assert_int_equal(coefficients, pelt_corrective_coefficient_count(x.f.model.corrective));
    json_decref(about);
    finish(&x);
}

static void a_skin_tells_what_the_kernel_found(void **state) {
    (void)state;
    fitted x = fit((pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_KERNEL});
    const pelt_kernel_findings *g = x.f.report.kernel;
    json_t *about = told(&x), *json = json_object_get(about, "details");
    assert_near(number_of(json, "width"), g->width, 1e-8 * fabs(g->width));
    assert_near(number_of(json, "range"), g->range, 1e-8 * fabs(g->range));
    assert_near(number_of(json, "pair"), g->pair, 1e-8 * fabs(g->pair));
    assert_near(number_of(json, "lambda"), g->lambda, 1e-8 * fabs(g->lambda));
    assert_near(number_of(json, "validation_error"), g->validation_error, 1e-8 * fabs(g->validation_error));
    assert_near(number_of(json, "joints"), JOINTS - 1, 0);
    assert_near(number_of(json, "clusters"), g->clusters, 0);
    assert_in_range(x.f.model.corrective->kernel->group_count, 1, g->clusters); /* some share a kernel */
    assert_near(number_of(json, "bound"), x.f.report.bound, 1e-8 * x.f.report.bound);
    json_decref(about);
    finish(&x);
}

/* Positions of a clip by a skin, [frame][vertex][3]; *told gets a figure that the skin reports. */
static float *run(pelt_bundle *bundle, const pelt_clip *train, const char *method, uint32_t stored,
                  const pelt_clip *clip, const char *figure, double *told) {
    pelt_error error = {0};
    pelt_fit_options options = {.method = method_named(method), .displacement.displacements = stored};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &options, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    float *out = malloc(3 * (size_t)VERTICES * clip->frame_count * sizeof *out);
    assert_true(player && out);
    for (uint32_t f = 0; f < clip->frame_count; f++)
        pelt_player_frame(player, clip, f, out + 3 * (size_t)VERTICES * f, NULL);
    json_t *about = json_loads(skin.about, 0, NULL);
    *told = json_number_value(json_object_get(json_object_get(about, "details"), figure));
    json_decref(about);
    pelt_player_free(player);
    pelt_bytes_free(bytes);
    return out;
}

/* The largest distance of a vertex between two runs. */
static double farthest_apart(const float *a, const float *b, uint32_t frames) {
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)VERTICES * frames; i += 3)
        most = fmax(most, hypot(hypot(a[i] - b[i], a[i + 1] - b[i + 1]), a[i + 2] - b[i + 2]));
    return most;
}

/* Blends of rotations with weights between 0 and 1 never lengthen anything: a corrected vertex is at most the bound
   away from the blended one, also in the run time's floats. */
static void the_run_time_stays_within_the_bound(void **state) {
    (void)state;
    enum { FRAMES = 2000 };
    static pelt_transform locals[FRAMES][JOINTS];
    double angles[MOST][JOINTS], bound;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint64_t seed = 8;
    pelt_clip *train = corrected_clip(bundle, "train", poses(angles), angles[0], bumps);
    for (int f = 0; f < FRAMES; f++) random_pose(&bundle->skeleton, &seed, locals[f]);
    pelt_clip *wild = character_clip(bundle, "wild", FRAMES, locals[0]);
    float *blended = run(bundle, train, "ssd", 0, wild, "bound", &bound);
    static const char *const methods[] = {"psd", "wpsd", "eigen", "kernel"};
    for (int m = 0; m < 4; m++) {
        float *corrected = run(bundle, train, methods[m], 0, wild, "bound", &bound);
        double most = farthest_apart(corrected, blended, FRAMES);
        assert_true(most > 0 && most <= 1.001 * bound + 1e-5);
        free(corrected);
    }
    free(blended);
    character_free(bundle);
}

/* -- Storage ------------------------------------------------------------------------------------------------------- */

/* Of a dozen examples all are tried. */
static void the_storage_error_is_what_16_bits_do_to_the_examples(void **state) {
    (void)state;
    enum { FRAMES = 12 };
    double angles[MOST][JOINTS], told[2];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    poses(angles);
    pelt_clip *clip = corrected_clip(bundle, "train", FRAMES, angles[0], bumps);
    float *exact = run(bundle, clip, "eigen", 32, clip, "storage_error", &told[0]);
    float *rounded = run(bundle, clip, "eigen", 16, clip, "storage_error", &told[1]);
    double most = farthest_apart(exact, rounded, FRAMES);
    free(exact), free(rounded);
    assert_true(told[0] == 0 && most > 0);
    assert_near(told[1], most, 1e-3 * most + 1e-8);
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(psd_tells_the_condition_of_its_kernel_matrix_and_the_closest_examples),
        cmocka_unit_test(wpsd_tells_the_worst_vertex_and_the_median),
        cmocka_unit_test(eigenskin_tells_the_worst_joint),
        cmocka_unit_test(the_kernel_tells_the_worst_cluster),
        cmocka_unit_test(a_bad_condition_is_a_warning_with_the_pair_and_the_remedy),
        cmocka_unit_test(no_pose_displaces_a_vertex_beyond_the_bound),
        cmocka_unit_test(bounds_are_those_of_the_formulas),
        cmocka_unit_test(a_skin_tells_what_eigenskin_found),
        cmocka_unit_test(a_skin_tells_what_the_kernel_found),
        cmocka_unit_test(the_bound_of_wpsd_is_the_norm_of_the_worst_function),
        cmocka_unit_test(the_run_time_stays_within_the_bound),
        cmocka_unit_test(the_storage_error_is_what_16_bits_do_to_the_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
