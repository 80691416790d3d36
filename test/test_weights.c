/* test_weights.c: convex weights against brute force, against weights that are known, and under every option. */

#include "fit/blend/blend.h"
#include "rig/linear.h"
#include "test/character.h"

/* -- The solver ---------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 7, ROWS = 12 };

/* A problem with random columns; the target is a mixture of them plus noise. */
static pelt_problem *random_problem(uint64_t *seed, double noise) {
    double a[ROWS][COLUMNS];
    pelt_problem *p = pelt_problem_new(COLUMNS);
    for (int r = 0; r < ROWS; r++) {
        double target = 0, sum = 0;
        for (int c = 0; c < COLUMNS; c++) a[r][c] = test_random(seed) - 0.5;
        for (int c = 0; c < COLUMNS; c++) target += (c % 2) * a[r][c] * (c + 1), sum += (c % 2) * (c + 1);
        target = target / sum + noise * (test_random(seed) - 0.5);
        for (int c = 0; c < COLUMNS; c++) a[r][c] -= target;
    }
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int r = 0; r < ROWS; r++) sum += a[r][i] * a[r][j];
            p->columns[i * COLUMNS + j] = sum;
        }
    for (int i = 0; i < COLUMNS; i++) p->known[i] = true;
    return p;
}

/* The affine minimum over a set of columns, by elimination with pivoting on the bordered system; false when a weight is
   negative. */
static bool affine_minimum(const pelt_problem *p, unsigned set, double *error) {
    double m[COLUMNS + 1][COLUMNS + 2] = {{0}};
    int index[COLUMNS], n = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (set >> c & 1) index[n++] = c;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) m[i][j] = 2 * p->columns[index[i] * COLUMNS + index[j]];
        m[i][n] = m[n][i] = 1;
    }
    m[n][n + 1] = 1;
    for (int k = 0; k <= n; k++) {
        int best = k;
        for (int i = k; i <= n; i++)
            if (fabs(m[i][k]) > fabs(m[best][k])) best = i;
        for (int j = 0; j <= n + 1; j++) {
            double swap = m[k][j];
            m[k][j] = m[best][j], m[best][j] = swap;
        }
        for (int i = 0; i <= n; i++) {
            double f = i == k ? 0 : m[i][k] / m[k][k];
            for (int j = k; j <= n + 1; j++) m[i][j] -= f * m[k][j];
        }
    }
    double w[COLUMNS];
    *error = 0;
    for (int i = 0; i < n; i++) {
        w[i] = m[i][n + 1] / m[i][i];
        if (w[i] < 0) return false;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) *error += w[i] * w[j] * p->columns[index[i] * COLUMNS + index[j]];
    return true;
}

static int bits(unsigned set) {
    int count = 0;
    for (; set; set &= set - 1) count++;
    return count;
}

/* The best convex error over all sets inside `within` of at most `most` columns. */
static double brute_force(const pelt_problem *p, unsigned within, int most) {
    double best = INFINITY, error;
    for (unsigned set = 1; set < 1u << COLUMNS; set++)
        if (!(set & ~within) && bits(set) <= most && affine_minimum(p, set, &error) && error < best) best = error;
    return best;
}

static void convex_weights_are_the_minimum_that_brute_force_finds(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        pelt_problem *p = random_problem(&seed, round % 2 ? 1 : 0.01);
        pelt_weights w;
        double sum = 0;
        assert_true(pelt_convex_weights(p, NULL, &w));
        for (uint32_t i = 0; i < w.count; i++) sum += w.weights[i], assert_true(w.weights[i] >= 0);
        assert_near(sum, 1, 1e-12);
        assert_near(w.error, brute_force(p, ~0u >> (32 - COLUMNS), COLUMNS), 1e-9);
        pelt_problem_free(p);
    }
}

/* Backward elimination done naively, with the brute force as its solver: what ours must reach or beat. */
static double naive_elimination(const pelt_problem *p, const pelt_weights *full, int most) {
    unsigned set = 0;
    for (uint32_t i = 0; i < full->count; i++) set |= 1u << full->joints[i];
    double error = brute_force(p, set, COLUMNS);
    while (bits(set) > most) {
        double best = INFINITY;
        unsigned next = set;
        for (int c = 0; c < COLUMNS; c++) {
            if (!(set >> c & 1)) continue;
            double without = brute_force(p, set & ~(1u << c), COLUMNS);
            if (without < best) best = without, next = set & ~(1u << c);
        }
        set = next, error = best;
    }
    return error;
}

static void the_best_few_are_as_good_as_naive_elimination(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int round = 0; round < 100; round++) {
        pelt_problem *p = random_problem(&seed, round % 2 ? 1 : 0.01);
        pelt_weights w;
        assert_true(pelt_convex_weights(p, NULL, &w));
        double naive = naive_elimination(p, &w, 2), best = brute_force(p, ~0u, 2);
        pelt_convex_limit(p, NULL, 2, 0, &w);
        assert_true(w.count <= 2);
        assert_true(w.error <= naive + 1e-9);
        assert_true(w.error >= best - 1e-9);
        pelt_problem_free(p);
    }
}

static void only_allowed_joints_get_weight(void **state) {
    (void)state;
    uint64_t seed = 3;
    bool allowed[COLUMNS] = {true, false, true, false, true, false, false};
    pelt_problem *p = random_problem(&seed, 1);
    pelt_weights w;
    assert_true(pelt_convex_weights(p, allowed, &w));
    for (uint32_t i = 0; i < w.count; i++) assert_true(allowed[w.joints[i]]);
    assert_near(w.error, brute_force(p, 1 | 4 | 16, COLUMNS), 1e-9);
    memset(allowed, 0, sizeof allowed);
    assert_false(pelt_convex_weights(p, allowed, &w));
    pelt_problem_free(p);
}

/* Two columns that are the same: any split is as good; nothing may blow up. */
static void copies_of_a_joint_do_no_harm(void **state) {
    (void)state;
    uint64_t seed = 4;
    pelt_problem *p = random_problem(&seed, 1);
    for (int i = 0; i < COLUMNS; i++) p->columns[6 * COLUMNS + i] = p->columns[5 * COLUMNS + i];
    for (int i = 0; i < COLUMNS; i++) p->columns[i * COLUMNS + 6] = p->columns[i * COLUMNS + 5];
    pelt_weights w;
    assert_true(pelt_convex_weights(p, NULL, &w));
    assert_near(w.error, brute_force(p, 0x3f, COLUMNS), 1e-9);
    pelt_problem_free(p);
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

enum { JOINTS = 6, FRAMES = 30 };

/* A chain in a tube in random poses, whose truth is its own blend with random weights, plus noise. The file then
   forgets the weights: all is on the joint with most of them. */
typedef struct subject {
    pelt_bundle *bundle;
    pelt_clip *clip;
    pelt_examples examples;
    pelt_influences truth;
} subject;

static subject make(uint32_t per_vertex, double noise, uint64_t seed) {
    subject s = {.bundle = character_chain(JOINTS, 96)};
    pelt_bundle *b = s.bundle;
    pelt_transform poses[FRAMES * JOINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            poses[f * JOINTS + j] = character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5,
                                                   test_random(&seed) - 0.5, f ? 90 * test_random(&seed) : 0);
            poses[f * JOINTS + j].translation[1] = j ? 1 : 0;
        }
    character_random_weights(b, per_vertex, &seed);
    s.truth = b->mesh.influences;
    s.clip = character_clip(b, "train", FRAMES, poses);
    float *positions = character_blend(b, s.clip);
    for (size_t i = 0; i < 3 * (size_t)FRAMES * b->mesh.vertex_count; i++)
        positions[i] += (float)(noise * (test_random(&seed) - 0.5));
    character_chain_weights(b);
    b->mesh.diagonal = (float)pelt_diagonal(b->mesh.positions, b->mesh.vertex_count);
    pelt_example *list = PELT_NEW(b->arena, FRAMES, pelt_example);
    for (uint32_t f = 0; f < FRAMES; f++) list[f] = (pelt_example){s.clip, f};
    s.examples = (pelt_examples){FRAMES, list};
    return s;
}

/* The fitted model, in the bundle's arena. */
static pelt_fitting fit(const subject *s, pelt_fit_options options) {
    pelt_error error = {0};
    pelt_fitting f = {.bundle = s->bundle, .examples = s->examples, .options = options, .arena = s->bundle->arena};
    if (!f.options.blend) f.options.blend = "fit";
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    if (pelt_fit_blend(&f, &error)) fail_msg("%s", error.text);
    return f;
}

static double weight_of(const pelt_influences *in, uint32_t v, uint32_t joint) {
    double sum = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        if (in->joints[i] == joint) sum += in->weights[i];
    return sum;
}

static double rms_of(const subject *s, const pelt_fitting *f) {
    pelt_error error;
    pelt_skin skin;
    pelt_skin_bytes *bytes = pelt_model_pack(&f->model, &error);
    assert_non_null(bytes);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, s->bundle, s->examples, 1, &error);
    assert_non_null(m);
    double rms = m->rms;
    pelt_measure_free(m);
    pelt_skin_free(bytes);
    return rms;
}

static void known_weights_are_found_again(void **state) {
    (void)state;
    subject s = make(3, 0, 5);
    pelt_fitting f = fit(&s, (pelt_fit_options){0});
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
        for (uint32_t j = 0; j < JOINTS; j++)
            assert_near(weight_of(&f.model.influences, v, j), weight_of(&s.truth, v, j), 2e-4);
    assert_true(rms_of(&s, &f) < 1e-5);
    character_free(s.bundle);
}

/* Noise of amplitude a has the RMS length a / 2 in three dimensions; no fit can do better, ours not much worse. */
static void noise_is_all_that_is_left(void **state) {
    (void)state;
    subject s = make(4, 0.02, 6);
    pelt_fitting f = fit(&s, (pelt_fit_options){0});
    double floor_of_noise = 0.02 * sqrt(3.0 / 12), rms = rms_of(&s, &f);
    assert_true(rms < 1.01 * floor_of_noise);
    assert_true(rms > 0.9 * floor_of_noise);
    character_free(s.bundle);
}

static void no_vertex_has_more_joints_than_asked_for_nor_less_weight_than_pruned(void **state) {
    (void)state;
    subject s = make(5, 0.01, 7);
    pelt_fitting two = fit(&s, (pelt_fit_options){.influences = 2});
    pelt_fitting pruned = fit(&s, (pelt_fit_options){.influences = 5, .prune = 0.2});
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) {
        assert_true(two.model.influences.first[v + 1] - two.model.influences.first[v] <= 2);
        for (uint32_t i = pruned.model.influences.first[v]; i < pruned.model.influences.first[v + 1]; i++)
            assert_true(pruned.model.influences.weights[i] >= 0.2f);
    }
    character_free(s.bundle);
}

static void refitting_rest_positions_never_hurts_in_training(void **state) {
    (void)state;
    subject s = make(4, 0.05, 8);
    pelt_fitting keep = fit(&s, (pelt_fit_options){.influences = 2});
    pelt_fitting refit = fit(&s, (pelt_fit_options){.influences = 2, .rest = "refit"});
    assert_memory_equal(keep.model.positions, s.bundle->mesh.positions, 12 * s.bundle->mesh.vertex_count);
    assert_true(rms_of(&s, &refit) < rms_of(&s, &keep));
    character_free(s.bundle);
}

static void locks_keep_the_files_weights(void **state) {
    (void)state;
    subject s = make(3, 0.01, 9);
    const uint32_t vertices[] = {5, 17};
    pelt_fitting f = fit(&s, (pelt_fit_options){.lock_joints = "joint2,joint4", .influences = 4});
    const pelt_influences *file = &s.bundle->mesh.influences;
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) {
        assert_near(weight_of(&f.model.influences, v, 2), weight_of(file, v, 2), 1e-6);
        assert_near(weight_of(&f.model.influences, v, 4), weight_of(file, v, 4), 1e-6);
    }
    f = fit(&s, (pelt_fit_options){.lock_vertices = vertices, .lock_vertex_count = 2});
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < JOINTS; j++)
            assert_near(weight_of(&f.model.influences, vertices[i], j), weight_of(file, vertices[i], j), 1e-6);
    character_free(s.bundle);
}

/* With everything but two joints locked at nothing the fit is that of two columns: a line, whose minimum is known. */
static void a_locked_fit_is_the_best_with_what_is_free(void **state) {
    (void)state;
    subject s = make(3, 0.02, 10);
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) { /* the file: 0.3 on joint 0, 0.7 on joint 1 */
        uint32_t at = s.bundle->mesh.influences.first[v];
        s.bundle->mesh.influences.joints[at] = 0, s.bundle->mesh.influences.joints[at + 1] = 1;
        s.bundle->mesh.influences.weights[at] = 0.3f, s.bundle->mesh.influences.weights[at + 1] = 0.7f;
    }
    pelt_fitting f = fit(&s, (pelt_fit_options){.lock_joints = "joint0,joint3,joint4,joint5"});
    pelt_transform locals[JOINTS];
    pelt_affine t[JOINTS];
    uint32_t v = 40;
    const float *rest = s.bundle->mesh.positions + 3 * v;
    double top = 0, bottom = 0;
    for (uint32_t e = 0; e < FRAMES; e++) { /* residual r0 + u d over u = the weight of joint 2 */
        double p[3][3];
        pelt_clip_pose(s.clip, &s.bundle->skeleton, e, locals);
        pelt_joint_matrices(&s.bundle->skeleton, locals, NULL, t);
        for (int j = 0; j < 3; j++) pelt_affine_point(&t[j], (double[3]){rest[0], rest[1], rest[2]}, p[j]);
        for (int c = 0; c < 3; c++) {
            double r0 = 0.3f * p[0][c] + 0.7f * p[1][c] -
                        s.clip->positions[3 * ((size_t)e * s.bundle->mesh.vertex_count + v) + (size_t)c];
            double d = p[2][c] - p[1][c];
            top -= r0 * d, bottom += d * d;
        }
    }
    assert_near(weight_of(&f.model.influences, v, 2), fmin(fmax(top / bottom, 0), 0.7), 1e-5);
    character_free(s.bundle);
}

/* Squared difference of weights along the edges. */
static double roughness(const subject *s, const pelt_influences *in) {
    double sum = 0;
    for (size_t t = 0; t < s->bundle->mesh.triangle_count; t++)
        for (int k = 0; k < 3; k++)
            for (uint32_t j = 0; j < JOINTS; j++) {
                const uint32_t *corner = s->bundle->mesh.triangles + 3 * t;
                double d = weight_of(in, corner[k], j) - weight_of(in, corner[(k + 1) % 3], j);
                sum += d * d;
            }
    return sum;
}

static void smoothness_evens_out_weights(void **state) {
    (void)state;
    subject s = make(2, 0.02, 11);
    pelt_fitting rough = fit(&s, (pelt_fit_options){.influences = 6});
    pelt_fitting smooth = fit(&s, (pelt_fit_options){.influences = 6, .smooth = 1e-2});
    pelt_fitting smoother = fit(&s, (pelt_fit_options){.influences = 6, .smooth = 1});
    double a = roughness(&s, &rough.model.influences), b = roughness(&s, &smooth.model.influences),
           c = roughness(&s, &smoother.model.influences);
    assert_true(b < 0.9 * a);
    assert_true(c < 0.5 * b);
    character_free(s.bundle);
}

/* Of joints that never part, the one that the file binds to gets the weight, whatever the order. */
static void twins_keep_the_joint_that_carries_the_skin(void **state) {
    (void)state;
    for (uint32_t bound = 2; bound < 5; bound++) {
        subject s = make(1, 0, 12);
        pelt_channel *channels = (pelt_channel *)s.clip->channels;
        for (uint32_t c = 3 * 3; c < 3 * 5; c++) channels[c].key_count = 0; /* joints 3 and 4 do not move at all */
        pelt_influences *in = &s.bundle->mesh.influences;
        for (uint32_t i = 0; i < in->first[s.bundle->mesh.vertex_count]; i++) {
            in->joints[i] = i % 2 ? bound : 0;
            in->weights[i] = 0.5f;
        }
        pelt_influences file = *in;
        s.bundle->mesh.influences = s.truth;
        for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
            s.bundle->mesh.influences.joints[v] = bound, s.bundle->mesh.influences.weights[v] = 1;
        character_blend(s.bundle, s.clip);
        s.bundle->mesh.influences = file;
        pelt_fitting f = fit(&s, (pelt_fit_options){0});
        for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
            assert_near(weight_of(&f.model.influences, v, bound), 1, 1e-3);
        character_free(s.bundle);
    }
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++) {
        subject s = make(4, 0.02, 13);
        pelt_error error;
        pelt_skin_bytes *skins[3];
        for (uint32_t threads = 1; threads < 4; threads++) {
            pelt_fit_options options = {.blend = blends[b], .threads = threads, .smooth = 1e-3};
            skins[threads - 1] = pelt_fit(s.bundle, s.examples, &options, &error);
            assert_non_null(skins[threads - 1]);
        }
        for (int i = 1; i < 3; i++) {
            assert_int_equal(skins[0]->size, skins[i]->size);
            assert_memory_equal(skins[0]->bytes, skins[i]->bytes, skins[0]->size);
        }
        for (int i = 0; i < 3; i++) pelt_skin_free(skins[i]);
        character_free(s.bundle);
    }
}

/* -- Bad input ----------------------------------------------------------------------------------------------------- */

static void assert_finite(const pelt_fitting *f) {
    const pelt_model *m = &f->model;
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        double sum = 0;
        for (uint32_t i = m->influences.first[v]; i < m->influences.first[v + 1]; i++) sum += m->influences.weights[i];
        assert_near(sum, 1, 1e-4);
        for (int c = 0; c < 3; c++) assert_true(isfinite(m->positions[3 * v + (uint32_t)c]));
    }
}

static bool found(const pelt_fitting *f, const char *what) {
    for (size_t i = 0; i < f->findings.count; i++)
        if (!strcmp(f->findings.list[i].what, what)) return true;
    return false;
}

static void no_examples_are_refused(void **state) {
    (void)state;
    subject s = make(2, 0, 14);
    pelt_error error = {0};
    pelt_examples none = {0};
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++) {
        assert_null(pelt_fit(s.bundle, none, &(pelt_fit_options){.blend = blends[b]}, &error));
        assert_non_null(strstr(error.text, "no examples"));
    }
    character_free(s.bundle);
}

/* The same frame over and over, one frame, the rest pose alone: still a skin with finite numbers. */
static void few_and_identical_examples_give_a_sound_skin(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++)
        for (int kind = 0; kind < 3; kind++) {
            subject s = make(3, 0.01, 15);
            for (uint32_t e = 0; e < FRAMES; e++) s.examples.list[e].frame = kind == 2 ? 0 : 7;
            if (kind) s.examples.count = 1;
            pelt_fitting f = fit(&s, (pelt_fit_options){.blend = blends[b], .influences = 6, .rest = "refit"});
            assert_finite(&f);
            if (kind) assert_true(found(&f, "few-examples") || found(&f, "rank-deficient"));
            character_free(s.bundle);
        }
}

static void a_vertex_that_no_joint_explains_is_named(void **state) {
    (void)state;
    subject s = make(3, 0, 16);
    uint64_t seed = 17;
    for (uint32_t e = 0; e < FRAMES; e++)
        for (int c = 0; c < 3; c++)
            ((float *)s.clip->positions)[3 * ((size_t)e * s.bundle->mesh.vertex_count + 11) + (size_t)c] =
                (float)(9 * test_random(&seed));
    pelt_fitting f = fit(&s, (pelt_fit_options){0});
    assert_finite(&f);
    assert_true(found(&f, "unexplained"));
    bool named = false;
    for (size_t i = 0; i < f.findings.count; i++) named |= strstr(f.findings.list[i].text, "vertex 11") != NULL;
    assert_true(named);
    character_free(s.bundle);
}

static void one_joint_takes_all(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++) {
        subject s = make(2, 0.01, 18);
        pelt_fitting f = fit(
            &s,
            (pelt_fit_options){.blend = blends[b], .drop_joints = "joint1,joint2,joint3,joint4,joint5", .drive = "[]"});
        for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
            assert_near(weight_of(&f.model.influences, v, 0), 1, 1e-6);
        character_free(s.bundle);
    }
}

static void names_that_do_not_exist_are_refused(void **state) {
    (void)state;
    subject s = make(2, 0, 19);
    pelt_error error = {0};
    uint32_t vertex = 1000000;
    const pelt_fit_options bad[] = {{.blend = "fit", .lock_joints = "nobody"},
                                    {.blend = "fit", .drop_joints = "no*"},
                                    {.blend = "fit", .drop_joints = "*"},
                                    {.blend = "fit", .rest = "maybe"},
                                    {.blend = "joints", .influence_choice = "luck"},
                                    {.blend = "fit", .lock_vertices = &vertex, .lock_vertex_count = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error.text[0] = 0;
        assert_null(pelt_fit(s.bundle, s.examples, &bad[i], &error));
        assert_true(strlen(error.text) > 10);
    }
    character_free(s.bundle);
}

static void the_workload_of_the_peers_is_fitted_better_than_they_do(void **state) {
    (void)state;
    const char *path = test_data("limbs_M/limbs_M.glb");
    if (!path) skip();
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    assert_non_null(bundle);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    assert_non_null(clip);
    subject s = {.bundle = bundle, .examples = pelt_bundle_examples(bundle, &clip, 1)};
    pelt_fitting f = fit(&s, (pelt_fit_options){0});
    assert_true(rms_of(&s, &f) < 0.0555); /* Dem Bones reaches 0.05663 */
    pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convex_weights_are_the_minimum_that_brute_force_finds),
        cmocka_unit_test(the_best_few_are_as_good_as_naive_elimination),
        cmocka_unit_test(only_allowed_joints_get_weight),
        cmocka_unit_test(copies_of_a_joint_do_no_harm),
        cmocka_unit_test(known_weights_are_found_again),
        cmocka_unit_test(noise_is_all_that_is_left),
        cmocka_unit_test(no_vertex_has_more_joints_than_asked_for_nor_less_weight_than_pruned),
        cmocka_unit_test(refitting_rest_positions_never_hurts_in_training),
        cmocka_unit_test(locks_keep_the_files_weights),
        cmocka_unit_test(a_locked_fit_is_the_best_with_what_is_free),
        cmocka_unit_test(smoothness_evens_out_weights),
        cmocka_unit_test(twins_keep_the_joint_that_carries_the_skin),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(no_examples_are_refused),
        cmocka_unit_test(few_and_identical_examples_give_a_sound_skin),
        cmocka_unit_test(a_vertex_that_no_joint_explains_is_named),
        cmocka_unit_test(one_joint_takes_all),
        cmocka_unit_test(names_that_do_not_exist_are_refused),
        cmocka_unit_test(the_workload_of_the_peers_is_fitted_better_than_they_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
