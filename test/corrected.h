/* corrected.h: characters whose true corrective is known: v = S_p(v0 + D(p)), for tests of correctives. */

#ifndef PELT_TEST_CORRECTED_H
#define PELT_TEST_CORRECTED_H

#include "fit/examples/support.h"
#include "test/character.h"

/* Sets the displacement of every vertex, [vertex_count][3], for the joints' angles about z, in degrees. */
typedef void corrected_truth(const pelt_bundle *bundle, const double *angles, double *displacements);

/* A chain of joints with a clip of examples: angles [frame][joint] in degrees about z. */
static inline pelt_clip *corrected_clip(pelt_bundle *bundle, const char *name, uint32_t frames, const double *angles,
                                        corrected_truth *truth) {
    uint32_t joints = bundle->skeleton.joint_count, n = bundle->mesh.vertex_count;
    pelt_transform *locals = PELT_NEW(bundle->arena, (size_t)frames * joints, pelt_transform);
    for (uint32_t f = 0; f < frames; f++)
        for (uint32_t j = 0; j < joints; j++) {
            pelt_transform *to = &locals[(size_t)f * joints + j];
            *to = bundle->skeleton.rest[j];
            memcpy(to->rotation, character_turn(0, 0, 1, angles[(size_t)f * joints + j]).rotation, sizeof to->rotation);
        }
    pelt_clip *clip = character_clip(bundle, name, frames, locals);
    float *positions = PELT_NEW(bundle->arena, 3 * (size_t)n * frames, float);
    pelt_affine *matrices = PELT_NEW(bundle->arena, joints, pelt_affine);
    double *d = PELT_NEW(bundle->arena, 3 * (size_t)n, double);
    const pelt_influences *in = &bundle->mesh.influences;
    for (uint32_t f = 0; f < frames; f++) {
        memset(d, 0, 3 * (size_t)n * sizeof *d);
        truth(bundle, angles + (size_t)f * joints, d);
        pelt_joint_matrices(&bundle->skeleton, locals + (size_t)f * joints, NULL, matrices);
        for (uint32_t v = 0; v < n; v++) {
            double x[3], y[3], sum[3] = {0};
            for (int c = 0; c < 3; c++) x[c] = bundle->mesh.positions[3 * v + c] + d[3 * v + c];
            for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
                pelt_affine_point(&matrices[in->joints[i]], x, y);
                for (int c = 0; c < 3; c++) sum[c] += in->weights[i] * y[c];
            }
            for (int c = 0; c < 3; c++) positions[3 * ((size_t)f * n + v) + c] = (float)sum[c];
        }
    }
    clip->positions = positions;
    return clip;
}

/* A fit in progress: the blend is done, the corrective is not. */
static inline pelt_fitting corrected_fitting(pelt_bundle *bundle, const pelt_clip *clip) {
    pelt_fitting f = {.bundle = bundle,
                      .examples = pelt_bundle_examples(bundle, &clip, 1),
                      .options = {.method = PELT_METHOD_SSD, .threads = 1},
                      .arena = pelt_arena_new(0)};
    pelt_error error = {0};
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    return f;
}

/* Largest difference between the fitted corrective and the truth in a pose. */
static inline double corrected_error(const pelt_fitting *f, const double *angles, corrected_truth *truth) {
    uint32_t n = f->model.vertex_count, joints = f->bundle->skeleton.joint_count;
    double *d = calloc(3 * (size_t)n, sizeof *d), *t = calloc(3 * (size_t)n, sizeof *t), worst = 0;
    pelt_transform *locals = malloc(joints * sizeof *locals);
    for (uint32_t j = 0; j < joints; j++) {
        locals[j] = f->bundle->skeleton.rest[j];
        memcpy(locals[j].rotation, character_turn(0, 0, 1, angles[j]).rotation, sizeof locals[j].rotation);
    }
    truth(f->bundle, angles, t);
    assert_true(pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, NULL, n, d, NULL));
    for (size_t i = 0; i < 3 * (size_t)n; i++) worst = fmax(worst, fabs(d[i] - t[i]));
    free(d), free(t), free(locals);
    return worst;
}

/* The bytes of two fits, with 1 and with 2 threads. */
static inline void corrected_same_bytes(pelt_bundle *bundle, pelt_clip *clip, pelt_fit_options options) {
    pelt_examples examples = pelt_bundle_examples(bundle, (const pelt_clip *const *)&clip, 1);
    pelt_bytes *skins[2];
    for (uint32_t k = 0; k < 2; k++) {
        pelt_error error = {0};
        options.threads = k + 1;
        skins[k] = pelt_fit(bundle, examples, &options, NULL, &error);
        if (!skins[k]) fail_msg("%s", error.text);
    }
    assert_int_equal(skins[0]->size, skins[1]->size);
    assert_memory_equal(skins[0]->bytes, skins[1]->bytes, skins[0]->size);
    for (int k = 0; k < 2; k++) pelt_bytes_free(skins[k]);
}

/* Fits a real character and measures it on a clip. */
static inline double corrected_rel_err(const char *path, const char *test, pelt_fit_options options, double *max) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle) fail_msg("%s", error.text);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    const pelt_clip *unseen = pelt_bundle_clip(bundle, test, PELT_NEED_POSITIONS, &error);
    if (!train || !unseen) fail_msg("%s", error.text);
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &options, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &unseen, 1), 0, &error);
    assert_non_null(m);
    double rel_err = m->rel_err;
    if (max) *max = m->max;
    pelt_measure_free(m);
    pelt_bytes_free(bytes);
    pelt_bundle_free(bundle);
    return rel_err;
}

/* Angles of poses, [pose][joints]: rest, each joint but the first alone from -60 to 60 degrees in steps, then `more`
   poses of all these joints at random. Returns their number. */
static inline uint32_t corrected_poses(uint32_t joints, int step, uint32_t more, uint64_t seed, double *angles) {
    uint32_t count = 1;
    for (uint32_t j = 0; j < joints; j++) angles[j] = 0;
    for (uint32_t moved = 1; moved < joints; moved++)
        for (int a = -60; a <= 60; a += step) {
            if (!a) continue;
            for (uint32_t j = 0; j < joints; j++) angles[count * joints + j] = j == moved ? a : 0;
            count++;
        }
    for (uint32_t i = 0; i < more; i++, count++)
        for (uint32_t j = 0; j < joints; j++) angles[count * joints + j] = j ? 120 * (test_random(&seed) - 0.5) : 0;
    return count;
}

/* The family that the kernel corrective chooses for a chain of joints by itself, and its validation error. */
static inline pelt_family corrected_family(uint32_t joints, uint32_t vertices, int step, uint32_t more,
                                           corrected_truth *truth, double *left) {
    pelt_error error = {0};
    pelt_fit_report report = {0};
    pelt_bundle *bundle = character_chain(joints, vertices);
    double *angles = calloc((size_t)(1 + joints * (120 / (uint32_t)step + 1) + more) * joints, sizeof *angles);
    uint32_t count = corrected_poses(joints, step, more, 5, angles);
    const pelt_clip *clip = corrected_clip(bundle, "train", count, angles, truth);
    pelt_bytes *bytes =
        pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1),
                 &(pelt_fit_options){.method = PELT_METHOD_KERNEL, .holdout = -1, .threads = 1}, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    pelt_family family = report.kernel->family;
    *left = report.kernel->validation_error;
    free(angles), pelt_bytes_free(bytes), pelt_fit_report_free(&report), character_free(bundle);
    return family;
}

/* How much a vertex of a chain belongs to each joint but the first: cos^2 of its distance, 0 from one unit on. */
static inline void corrected_sizes(const pelt_bundle *bundle, uint32_t vertex, double *sizes) {
    sizes[0] = 0;
    for (uint32_t j = 1; j < bundle->skeleton.joint_count; j++) {
        double away = fabs(bundle->mesh.positions[3 * (size_t)vertex + 1] - j);
        sizes[j] = away < 1 ? pow(cos(away * acos(-1) / 2), 2) : 0;
    }
}

/* What fits of mover-based correctives start with. */
typedef struct corrected_parts {
    pelt_bundle *bundle;
    pelt_fitting f;
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
} corrected_parts;

static inline corrected_parts corrected_parts_of(pelt_bundle *bundle, const pelt_clip *clip) {
    corrected_parts p = {.bundle = bundle, .f = corrected_fitting(bundle, clip)};
    pelt_error error = {0};
    pelt_poses_of(p.f.arena, bundle, p.f.examples, &(pelt_fit_options){0}, &p.poses);
    assert_int_equal(pelt_displacements_of(&p.f, &p.u, &error), PELT_OK);
    pelt_supports_of(p.f.arena, &p.f.model, &p.poses, &p.u, 1, &p.supports);
    return p;
}

static inline void corrected_parts_free(corrected_parts *p) {
    pelt_arena_free(p->f.arena);
    character_free(p->bundle);
}

/* -- Kernels of rotations, from their matrices ---------------------------------------------------------------------- */

static inline void corrected_rotation(const float q[4], double m[9]) {
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                   2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                   2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(m, r, sizeof r);
}

/* exp(-(3 - tr A^T B) scale), from matrices. */
static inline double corrected_gaussian(const float *a, const float *b, double scale) {
    double m[9], n[9], trace = 0;
    corrected_rotation(a, m), corrected_rotation(b, n);
    for (int i = 0; i < 9; i++) trace += m[i] * n[i];
    return exp(-(3 - trace) * scale);
}

/* k(a, b) = E(a, b) - E(a, rest) - E(rest, b) + 1 of one joint. */
static inline double corrected_kernel(const float *a, const float *b, double scale) {
    static const float rest[4] = {0, 0, 0, 1};
    return corrected_gaussian(a, b, scale) - corrected_gaussian(a, rest, scale) - corrected_gaussian(rest, b, scale) +
           1;
}

/* The mean kernel of a group between two poses, each the rotations of the kernel's joints, [joint][4]. */
static inline double corrected_group_kernel(const pelt_kernel *k, const pelt_kernel_group *group, const float *a,
                                            const float *b) {
    double sum = 0;
    for (uint32_t u = 0; u < group->unit_count; u++) {
        const pelt_kernel_unit *unit = &k->units[group->units[u]];
        size_t first = unit->first, second = unit->second;
        double product = unit->gain * corrected_kernel(a + 4 * first, b + 4 * first, k->scales[first]);
        if (first != second) product *= corrected_kernel(a + 4 * second, b + 4 * second, k->scales[second]);
        sum += product;
    }
    return sum;
}

/* Centre c of a group, as such a pose; and the joints of a kernel out of all rotations of a pose. */
static inline const float *corrected_center(const pelt_kernel *k, const pelt_kernel_group *group, size_t c) {
    return k->centers + 4 * (size_t)group->centers[c] * k->joint_count;
}

static inline void corrected_joints(const pelt_kernel *k, const float *rotations, float *out) {
    for (uint32_t g = 0; g < k->joint_count; g++) memcpy(out + 4 * g, rotations + 4 * k->joints[g], 4 * sizeof *out);
}

/* c^T K c of coefficient r. */
static inline double corrected_kernel_norm(const pelt_kernel *k, const pelt_kernel_group *group, uint32_t r) {
    double square = 0;
    for (uint32_t a = 0; a < group->center_count; a++)
        for (uint32_t b = 0; b < group->center_count; b++)
            square += (double)group->matrix[(size_t)a * group->coefficient_count + r] *
                      corrected_group_kernel(k, group, corrected_center(k, group, a), corrected_center(k, group, b)) *
                      (double)group->matrix[(size_t)b * group->coefficient_count + r];
    return square;
}

#endif
