/* test_fewer.c: exports whose vertices follow at most four nodes are as near to the skin as four of its weights allow. */

#include "test/character.h"
#include "test/sampled.h"
#include <pelt/export.h>

enum { VERTICES = 100, JOINTS = 5, MOST = 4 };

/* An arm whose vertices all follow all five joints, and the plain blend of it. */
typedef struct subject {
    pelt_bundle *bundle;
    pelt_bytes *bytes;
    pelt_skin skin;
    char path[1024];
} subject;

static subject make(void) {
    subject s = {.bundle = sampled("arm", VERTICES)};
    pelt_error error;
    uint64_t seed = 5;
    assert_int_equal(s.bundle->skeleton.joint_count, JOINTS);
    character_random_weights(s.bundle, JOINTS, &seed);
    s.bytes =
        pelt_fit(s.bundle, all_of(s.bundle, "train"), &(pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &error);
    if (!s.bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    snprintf(s.path, sizeof s.path, "%s/fewer.glb", test_folder());
    return s;
}

static void drop(subject *s) { pelt_bytes_free(s->bytes), pelt_bundle_free(s->bundle); }

/* -- By brute force ------------------------------------------------------------------------------------------------ */

/* C of a vertex over all frames: products of T_j v0 - v. */
static void products_of(pelt_bundle *bundle, uint32_t v, double c[JOINTS][JOINTS], uint32_t *frames) {
    const float *p = bundle->mesh.positions + 3 * (size_t)v;
    memset(c, 0, JOINTS * sizeof *c), *frames = 0;
    for (uint32_t k = 0; k < bundle->clip_count; k++)
        for (uint32_t f = 0; f < bundle->clips[k]->frame_count; f++, ++*frames) {
            PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
            const pelt_affine *t = pelt_frame_matrices(arena, &bundle->skeleton, bundle->clips[k], f);
            pelt_affine blend = pelt_blend_matrix(&bundle->mesh.influences, v, t);
            double at[JOINTS][3], whole[3], rest[3] = {p[0], p[1], p[2]};
            pelt_affine_point(&blend, rest, whole);
            for (int j = 0; j < JOINTS; j++) {
                pelt_affine_point(&t[j], rest, at[j]);
                for (int i = 0; i < 3; i++) at[j][i] -= whole[i];
            }
            for (int a = 0; a < JOINTS; a++)
                for (int b = 0; b < JOINTS; b++)
                    for (int i = 0; i < 3; i++) c[a][b] += at[a][i] * at[b][i];
        }
}

/* The least w^T C w over sum w = 1 on a set of joints, by Gaussian elimination; INFINITY where a weight is negative. */
static double least_on(double c[JOINTS][JOINTS], const int *set, int n) {
    double m[JOINTS + 1][JOINTS + 2] = {{0}}, value = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) m[i][j] = c[set[i]][set[j]] + (i == j ? 1e-13 : 0);
        m[i][n] = m[n][i] = 1;
    }
    m[n][n + 1] = 1;
    for (int i = 0; i <= n; i++) {
        int pivot = i;
        for (int r = i; r <= n; r++)
            if (fabs(m[r][i]) > fabs(m[pivot][i])) pivot = r;
        for (int k = 0; k <= n + 1; k++) {
            double swap = m[i][k];
            m[i][k] = m[pivot][k], m[pivot][k] = swap;
        }
        for (int r = 0; r <= n; r++)
            for (int k = n + 1; r != i && k >= i; k--) m[r][k] -= m[r][i] / m[i][i] * m[i][k];
    }
    double w[JOINTS];
    for (int i = 0; i < n; i++)
        if ((w[i] = m[i][n + 1] / m[i][i]) < -1e-9) return INFINITY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) value += w[i] * w[j] * c[set[i]][set[j]];
    return value;
}

static double least_of(double c[JOINTS][JOINTS]) {
    double least = INFINITY;
    for (int mask = 1; mask < 1 << JOINTS; mask++) {
        int set[JOINTS], n = 0;
        for (int j = 0; j < JOINTS; j++)
            if (mask >> j & 1) set[n++] = j;
        if (n <= MOST) least = fmin(least, least_on(c, set, n));
    }
    return least;
}

/* -- Tests --------------------------------------------------------------------------------------------------------- */

/* How far a vertex of the file is from the skin's in all frames: squares, their sum, and the largest. */
static double apart(pelt_bundle *bundle, pelt_bundle *plain, uint32_t v, double *largest) {
    double sum = 0;
    for (uint32_t k = 0; k < bundle->clip_count; k++)
        for (uint32_t f = 0; f < bundle->clips[k]->frame_count; f++) {
            PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
            const double *a = pelt_blend_frame(arena, bundle, bundle->clips[k], f);
            const double *b = pelt_blend_frame(arena, plain, plain->clips[k], f);
            double square = 0;
            for (size_t i = 3 * (size_t)v; i < 3 * (size_t)v + 3; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
            sum += square, *largest = fmax(*largest, sqrt(square));
        }
    return sum;
}

static void four_weights_are_the_best_of_all_sets_of_four(void **state) {
    (void)state;
    subject s = make();
    pelt_error error;
    pelt_export_report report;
    pelt_export_options options = {.influences = MOST, .clips = s.bundle->clips, .clip_count = s.bundle->clip_count};
    if (pelt_export(&s.skin, s.bundle, &options, s.path, &report, &error)) fail_msg("%s", error.text);
    pelt_bundle *plain = pelt_bundle_read(s.path, &error);
    if (!plain) fail_msg("%s", error.text);
    double all = 0, best = 0, largest = 0;
    uint32_t frames = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        const pelt_influences *in = &plain->mesh.influences;
        double c[JOINTS][JOINTS], sum = 0;
        assert_true(in->first[v + 1] - in->first[v] <= MOST);
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            assert_true(in->weights[i] > 0);
            sum += in->weights[i];
        }
        assert_near(sum, 1, 1e-5);
        products_of(s.bundle, v, c, &frames);
        all += apart(s.bundle, plain, v, &largest), best += least_of(c);
    }
    double rms = sqrt(all / VERTICES / frames), least = sqrt(best / VERTICES / frames);
    assert_true(least > 1e-3 * s.bundle->mesh.diagonal);
    assert_true(rms > 0.999 * least && rms < 1.01 * least);
    assert_int_equal(report.refitted_count, VERTICES);
    assert_int_equal(report.refitted_frames, frames);
    assert_int_equal(report.beyond_four, 0);
    assert_near(report.refitted_rms, rms, 1e-3 * rms);
    assert_near(report.refitted_worst, largest, 1e-3 * largest);
    pelt_bundle_free(plain), drop(&s);
}

/* Without a pose that would tell, the largest weights stay. */
static void without_clips_the_smallest_weight_goes(void **state) {
    (void)state;
    subject s = make();
    pelt_error error;
    pelt_export_report report;
    uint32_t clips = s.bundle->clip_count;
    s.bundle->clip_count = 0;
    if (pelt_export(&s.skin, s.bundle, &(pelt_export_options){.influences = MOST}, s.path, &report, &error))
        fail_msg("%s", error.text);
    assert_int_equal(report.refitted_frames, 0);
    assert_near(report.refitted_worst, 0, 1e-6);
    pelt_bundle *plain = pelt_bundle_read(s.path, &error);
    for (uint32_t v = 0; v < VERTICES; v++) {
        const pelt_influences *in = &s.bundle->mesh.influences, *out = &plain->mesh.influences;
        uint32_t smallest = in->first[v];
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
            if (in->weights[i] < in->weights[smallest]) smallest = i;
        for (uint32_t i = out->first[v]; i < out->first[v + 1]; i++)
            assert_int_not_equal(out->joints[i], in->joints[smallest]);
    }
    s.bundle->clip_count = clips;
    pelt_bundle_free(plain), drop(&s);
}

static void any_number_stays_where_it_is_allowed(void **state) {
    (void)state;
    subject s = make();
    pelt_error error;
    pelt_export_report report;
    static const uint32_t allowed[] = {0, JOINTS};
    for (int i = 0; i < 2; i++) {
        pelt_export_options options = {.influences = allowed[i]};
        assert_int_equal(pelt_export(&s.skin, s.bundle, &options, s.path, &report, &error), PELT_OK);
        assert_int_equal(report.refitted_count, 0);
        assert_int_equal(report.beyond_four, VERTICES);
    }
    drop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_weights_are_the_best_of_all_sets_of_four),
        cmocka_unit_test(without_clips_the_smallest_weight_goes),
        cmocka_unit_test(any_number_stays_where_it_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
