/* test_twins.c: vertices that shade as one stay identical: with every method, precision and instruction set, the twins
   of a seam have bit-identical positions and normals, and the two sides of a hard edge have one normal each. */

#include "samples/samples.h"
#include "test/test.h"

static pelt_bundle *make(const char *name, const char *variant, uint32_t vertices, uint32_t frames) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(
        &(pelt_sample_options){.name = name, .variant = variant, .vertices = vertices, .frames = frames}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

static const struct {
    const char *name;
    pelt_fit_options options;
    double worst; /* degrees that normals are off in the examples themselves, at most */
} fits[] = {
    {"ssd", {.method = PELT_METHOD_SSD}, 10},
    {"distance", {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_DISTANCE}, 30},
    {"fit", {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT}, 12},
    {"joints", {.method = PELT_METHOD_JOINTS}, 8},
    {"psd", {.method = PELT_METHOD_PSD}, 0.1},
    {"psd on joints", {.method = PELT_METHOD_PSD, .blend = PELT_BLEND_JOINTS}, 2},
    {"few poses", {.method = PELT_METHOD_PSD, .psd.poses = 4}, 1},
    {"wpsd", {.method = PELT_METHOD_WPSD}, 0.15},
    {"wpsd of few poses", {.method = PELT_METHOD_WPSD, .psd.poses = 4}, 8},
    {"eigen", {.method = PELT_METHOD_EIGEN}, 0.6},
    {"eigen within a budget", {.method = PELT_METHOD_EIGEN, .eigen.per_vertex = 4}, 5},
    {"kernel", {.method = PELT_METHOD_KERNEL}, 5},
    {"ssd, surface", {.method = PELT_METHOD_SSD, .normals = PELT_NORMALS_SURFACE}, 10},
    {"psd, surface", {.method = PELT_METHOD_PSD, .normals = PELT_NORMALS_SURFACE}, 0.2},
    {"wpsd, surface", {.method = PELT_METHOD_WPSD, .normals = PELT_NORMALS_SURFACE}, 0.2},
};
enum { FITS = sizeof fits / sizeof *fits };

/* Within a twentieth of a degree, the rounding of files. */
static bool same_normal(const float *a, const float *b) {
    return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]) < 0.05 * acos(-1) / 180;
}

/* The first vertex with the same rest position, normal and influences as each one; returns how many have one before
   them. */
static uint32_t find_twins(const pelt_mesh *mesh, uint32_t *first) {
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const pelt_influences *in = &mesh->influences;
        for (first[v] = 0; first[v] < v; first[v]++) {
            uint32_t w = first[v], n = in->first[v + 1] - in->first[v], alike = 0;
            if (memcmp(mesh->positions + 3 * v, mesh->positions + 3 * w, 12) ||
                !same_normal(mesh->normals + 3 * v, mesh->normals + 3 * w) || in->first[w + 1] - in->first[w] != n)
                continue;
            for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
                for (uint32_t k = in->first[w]; k < in->first[w + 1]; k++)
                    alike += in->joints[i] == in->joints[k] && in->weights[i] == in->weights[k];
            if (alike == n) break;
        }
        count += first[v] < v;
    }
    return count;
}

/* Numerically equal: 0 and -0 are the same. */
static bool same_point(const float *a, const float *b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static void assert_twins(const pelt_bundle *bundle, pelt_skin *skin, const pelt_clip *clip, const uint32_t *first,
                         const char *what) {
    uint32_t n = bundle->mesh.vertex_count;
    float *out = malloc(9 * n * sizeof *out), *normals = out + 3 * n, *alone = out + 6 * n;
    pelt_error error = {0};
    pelt_player *player = pelt_player_new(skin, bundle, &error);
    assert_non_null(player);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        skin->isa = (pelt_isa)isa;
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            pelt_player_frame(player, clip, f, out, normals);
            pelt_player_frame(player, clip, f, alone, NULL); /* positions alone take a different path */
            for (uint32_t v = 0; v < n; v++) {
                uint32_t w = first[v];
                if (!same_point(out + 3 * v, out + 3 * w) || !same_point(alone + 3 * v, alone + 3 * w))
                    fail_msg("%s, %s: vertices %u and %u come apart in frame %u", what, pelt_isa_name((pelt_isa)isa), v,
                             w, f);
                if (!same_point(normals + 3 * v, normals + 3 * w))
                    fail_msg("%s, %s: vertices %u and %u have two normals in frame %u", what,
                             pelt_isa_name((pelt_isa)isa), v, w, f);
            }
        }
    }
    pelt_player_free(player), free(out);
}

static bool has_corrective(int which) {
    pelt_error error = {0};
    pelt_fit_options options = fits[which].options;
    assert_int_equal(pelt_fit_resolve(&options, &error), PELT_OK);
    return options.corrective != PELT_CORRECTIVE_NONE;
}

static pelt_bytes *fit(pelt_bundle *bundle, const pelt_clip *clip, int which, uint32_t bits, pelt_skin *skin) {
    pelt_error error = {0};
    pelt_fit_options options = fits[which].options;
    options.threads = 1;
    options.displacement.displacements = bits;
    if (!options.normals && has_corrective(which)) options.normals = PELT_NORMALS_ROWS;
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options, NULL, &error);
    if (!bytes) fail_msg("%s: %s", fits[which].name, error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static void fit_and_assert_twins(pelt_bundle *bundle, const pelt_clip *train, const pelt_clip *test,
                                 const uint32_t *first, int which, const char *where) {
    for (uint32_t bits = 16; bits <= 32; bits += 16) {
        pelt_skin skin;
        char what[100];
        if (!has_corrective(which) && bits == 32) continue;
        snprintf(what, sizeof what, "%s, %s of %u bits", where, fits[which].name, bits);
        pelt_bytes *bytes = fit(bundle, train, which, has_corrective(which) ? bits : 0, &skin);
        assert_twins(bundle, &skin, test, first, what);
        pelt_bytes_free(bytes);
    }
}

static void twins_of_a_seam_stay_one(void **state) {
    (void)state;
    static const struct {
        const char *name, *variant;
        uint32_t vertices, frames;
    } samples[] = {
        {"elbow", "seam", 500, 7}, {"elbow", "split", 200, 7}, {"arm", "seam", 500, 24}, {"arm", "split", 130, 24}};
    for (int s = 0; s < 4; s++) {
        pelt_bundle *bundle = make(samples[s].name, samples[s].variant, samples[s].vertices, samples[s].frames);
        uint32_t *first = malloc(bundle->mesh.vertex_count * sizeof *first);
        char where[40];
        assert_true(find_twins(&bundle->mesh, first) > 15);
        snprintf(where, sizeof where, "%s, %s", samples[s].name, samples[s].variant);
        for (int which = 0; which < FITS; which++)
            fit_and_assert_twins(bundle, bundle->clips[0], bundle->clips[1], first, which, where);
        free(first), pelt_bundle_free(bundle);
    }
}

/* Weights of twins in different orders, as in some files. */
static void twins_may_list_their_joints_in_any_order(void **state) {
    (void)state;
    pelt_bundle *bundle = make("arm", "seam", 300, 24);
    pelt_influences *in = &bundle->mesh.influences;
    uint32_t *first = malloc(bundle->mesh.vertex_count * sizeof *first);
    find_twins(&bundle->mesh, first);
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++)
        for (uint32_t a = in->first[v], b = in->first[v + 1]; first[v] < v && a + 1 < b--; a++) {
            uint32_t joint = in->joints[a];
            float weight = in->weights[a];
            in->joints[a] = in->joints[b], in->weights[a] = in->weights[b];
            in->joints[b] = joint, in->weights[b] = weight;
        }
    for (int which = 0; which < FITS; which++)
        fit_and_assert_twins(bundle, bundle->clips[0], bundle->clips[1], first, which, "turned around");
    free(first), pelt_bundle_free(bundle);
}

/* -- Hard edges ---------------------------------------------------------------------------------------------------- */

/* The normal of each vertex in another shape, by the definition: its own triangle's, and those of its twins (triangles
   that lie in one plane at rest shade as one), weighted by their angles at the corner. */
static void brute_force(const pelt_mesh *mesh, const uint32_t *first, const float *positions, double *normals) {
    memset(normals, 0, 3 * mesh->vertex_count * sizeof *normals);
    for (uint32_t i = 0; i < 3 * mesh->triangle_count; i++) {
        const uint32_t *corner = mesh->triangles + i / 3 * 3;
        const float *at = positions + 3 * corner[i % 3], *to = positions + 3 * corner[(i + 1) % 3],
                    *other = positions + 3 * corner[(i + 2) % 3];
        double u[3], v[3], n[3], uu = 0, vv = 0, uv = 0, nn = 0;
        for (int k = 0; k < 3; k++) u[k] = (double)to[k] - at[k], v[k] = (double)other[k] - at[k];
        for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
        for (int k = 0; k < 3; k++) uu += u[k] * u[k], vv += v[k] * v[k], uv += u[k] * v[k], nn += n[k] * n[k];
        for (uint32_t k = 0; k < 3; k++)
            normals[3 * first[corner[i % 3]] + k] += n[k] * acos(uv / sqrt(uu * vv)) / sqrt(nn);
    }
    for (uint32_t v = mesh->vertex_count; v-- > 0;) {
        const double *n = normals + 3 * first[v];
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), unit[3] = {n[0], n[1], n[2]};
        for (uint32_t k = 0; k < 3; k++) normals[3 * v + k] = unit[k] / length;
    }
}

/* Degrees, RMS over all vertices of the examples, between the normals of a skin and the true ones. */
static double normal_error(const pelt_bundle *bundle, const pelt_skin *skin, const pelt_clip *clip,
                           const uint32_t *first) {
    uint32_t n = bundle->mesh.vertex_count, frames = clip->frame_count - 1; /* not the last: half a turn, where a blend
                                                                               has no inverse */
    pelt_error error = {0};
    pelt_player *player = pelt_player_new(skin, bundle, &error);
    float *out = malloc(6 * n * sizeof *out), *normals = out + 3 * n;
    double *truth = malloc(3 * n * sizeof *truth), sum = 0;
    for (uint32_t f = 0; f < frames; f++) {
        pelt_player_frame(player, clip, f, out, normals);
        brute_force(&bundle->mesh, first, clip->positions + 3 * n * f, truth);
        for (uint32_t v = 0; v < n; v++) {
            double gap = 0;
            for (uint32_t k = 3 * v; k < 3 * v + 3; k++) gap += pow(normals[k] - truth[k], 2);
            sum += pow(2 * asin(fmin(1, sqrt(gap) / 2)) * 180 / acos(-1), 2);
        }
    }
    pelt_player_free(player), free(out), free(truth);
    return sqrt(sum / ((double)n * frames));
}

static void boxes_are_shaded_as_their_files_shade_them(void **state) {
    (void)state;
    static const char *const variants[] = {"flat", "edges", "split"};
    for (int k = 0; k < 3; k++) {
        pelt_bundle *bundle = make("box", variants[k], 150, 9);
        uint32_t *first = malloc(bundle->mesh.vertex_count * sizeof *first);
        find_twins(&bundle->mesh, first);
        for (int which = 0; which < FITS; which++) {
            pelt_skin skin;
            pelt_bytes *bytes = fit(bundle, bundle->clips[0], which, 0, &skin);
            double degrees = normal_error(bundle, &skin, bundle->clips[0], first);
            if (!(degrees < fits[which].worst))
                fail_msg("%s, %s: normals are off by %g degrees", variants[k], fits[which].name, degrees);
            pelt_bytes_free(bytes);
        }
        free(first), pelt_bundle_free(bundle);
    }
}

/* -- Real characters ----------------------------------------------------------------------------------------------- */

/* Characters with split vertices, hard edges and several meshes, with a known deformation on top of their skeletons. */
static void twins_of_real_characters_stay_one(void **state) {
    (void)state;
    static const struct {
        const char *file;
        uint32_t twins; /* at least */
        double blend;   /* degrees that normals of the blend are off, at least; of correctives less than 0.8 of it */
    } characters[] = {{"chars/CesiumMan.glb", 900, 5}, {"chars/RobotExpressive.glb", 140, 8}};
    for (int c = 0; c < 2; c++) {
        const char *path = test_data(characters[c].file);
        if (!path) continue;
        pelt_error error = {0};
        pelt_bundle *bundle = pelt_bundle_read(path, &error);
        if (!bundle) fail_msg("%s", error.text);
        if (pelt_sample_known(bundle, &(pelt_sample_options){.frames = 8}, &error)) fail_msg("%s", error.text);
        const pelt_clip *train = bundle->clips[bundle->clip_count - 2], *test = bundle->clips[bundle->clip_count - 1];
        assert_string_equal(train->name, "train");
        uint32_t *first = malloc(bundle->mesh.vertex_count * sizeof *first), twins = find_twins(&bundle->mesh, first);
        if (twins < characters[c].twins) fail_msg("%s: %u twins", path, twins);
        double plain = 0;
        for (int which = 0; which < FITS; which++) {
            bool special = fits[which].options.blend && has_corrective(which);
            if (special || fits[which].options.psd.poses || fits[which].options.eigen.per_vertex) continue;
            pelt_skin skin;
            pelt_bytes *bytes = fit(bundle, train, which, 0, &skin);
            assert_twins(bundle, &skin, test, first, fits[which].name);
            pelt_measure *m = pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &test, 1), 1, &error);
            assert_non_null(m);
            if (!which) plain = m->normal_rms_degrees;
            if (has_corrective(which) && !(m->rel_err < 0.5 && m->normal_rms_degrees < 0.8 * plain))
                fail_msg("%s, %s: rel_err %g, normals %g degrees", path, fits[which].name, m->rel_err,
                         m->normal_rms_degrees);
            pelt_measure_free(m), pelt_bytes_free(bytes);
        }
        assert_true(plain > characters[c].blend);
        free(first), pelt_bundle_free(bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_of_a_seam_stay_one),
        cmocka_unit_test(twins_may_list_their_joints_in_any_order),
        cmocka_unit_test(boxes_are_shaded_as_their_files_shade_them),
        cmocka_unit_test(twins_of_real_characters_stay_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
