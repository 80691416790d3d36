/* test_weights.c: convex weights against brute force, against known weights, and with every option. */

#include "fit/blend/ahead.h"
#include "fit/blend/blend.h"
#include "rig/linear.h"
#include "test/character.h"

/* -- The solver ---------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 7, ROWS = 12 };

/* A problem with random columns; the target is a mixture of them plus noise. */
static pelt_problem *random_problem(pelt_arena *arena, uint64_t *seed, double noise) {
    bool flat = noise == 0; /* nearly in space: then there are many ways to reach the target with a few columns */
    double a[ROWS][COLUMNS];
    pelt_problem *p = pelt_problem_new(arena, COLUMNS);
    for (int r = 0; r < ROWS; r++) {
        double target = 0, sum = 0;
        for (int c = 0; c < COLUMNS; c++) /* alike, when they are noisier than they are long */
            a[r][c] = noise > 1 && c ? 0.7 * a[r][c - 1] + 0.3 * (test_random(seed) - 0.5) : test_random(seed) - 0.5;
        for (int c = 0; c < COLUMNS; c++) target += (c % 2) * a[r][c] * (c + 1), sum += (c % 2) * (c + 1);
        target = target / sum + noise * (test_random(seed) - 0.5);
        for (int c = 0; c < COLUMNS; c++) a[r][c] = (a[r][c] - target) * (flat && r > 2 ? 0.02 : 1);
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

static const double noises[] = {0.01, 1, 1.5, 0};

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
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        pelt_problem *p = random_problem(arena, &seed, noises[round % 4]);
        pelt_weights w;
        double sum = 0;
        assert_true(pelt_convex_weights(p, NULL, &w));
        for (uint32_t i = 0; i < w.count; i++) sum += w.weights[i], assert_true(w.weights[i] >= 0);
        assert_near(sum, 1, 1e-12);
        assert_near(w.error, brute_force(p, ~0u >> (32 - COLUMNS), COLUMNS), 1e-9);
    }
    pelt_arena_free(arena);
}

/* Naive backward elimination, with brute force as its solver: ours must match or beat it. */
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
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 2;
    int better = 0;
    for (int round = 0; round < 100; round++) {
        pelt_problem *p = random_problem(arena, &seed, noises[round % 4]);
        pelt_weights w;
        assert_true(pelt_convex_weights(p, NULL, &w));
        double naive = naive_elimination(p, &w, 2), best = brute_force(p, ~0u, 2);
        pelt_convex_limit(p, NULL, 2, 0, &w);
        assert_true(w.count <= 2);
        assert_true(w.error <= naive + 1e-9);
        better += w.error < naive - 1e-6;
        assert_true(w.error >= best - 1e-9);
    }
    assert_true(better > 0); /* exchanging joints afterwards pays */
    pelt_arena_free(arena);
}

static void only_allowed_joints_get_weight(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 3;
    bool allowed[COLUMNS] = {true, false, true, false, true, false, false};
    pelt_problem *p = random_problem(arena, &seed, 1);
    pelt_weights w;
    assert_true(pelt_convex_weights(p, allowed, &w));
    for (uint32_t i = 0; i < w.count; i++) assert_true(allowed[w.joints[i]]);
    assert_near(w.error, brute_force(p, 1 | 4 | 16, COLUMNS), 1e-9);
    memset(allowed, 0, sizeof allowed);
    assert_false(pelt_convex_weights(p, allowed, &w));
    pelt_arena_free(arena);
}

/* Two equal columns: any split is as good; nothing may blow up. */
static void copies_of_a_joint_do_no_harm(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 4;
    pelt_problem *p = random_problem(arena, &seed, 1);
    for (int i = 0; i < COLUMNS; i++) p->columns[6 * COLUMNS + i] = p->columns[5 * COLUMNS + i];
    for (int i = 0; i < COLUMNS; i++) p->columns[i * COLUMNS + 6] = p->columns[i * COLUMNS + 5];
    pelt_weights w;
    assert_true(pelt_convex_weights(p, NULL, &w));
    assert_near(w.error, brute_force(p, 0x3f, COLUMNS), 1e-9);
    pelt_arena_free(arena);
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

enum { JOINTS = 6, FRAMES = 30 };

/* A chain in a tube in random poses, whose truth is its own blend with random weights, plus noise. The file then
   forgets the weights: everything is on the strongest joint. */
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
    if (!f.options.blend) f.options.blend = PELT_BLEND_FIT;
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
    pelt_bytes *bytes = pelt_model_pack(&f->model, "{}", &error);
    assert_non_null(bytes);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, s->bundle, s->examples, 1, &error);
    assert_non_null(m);
    double rms = m->rms;
    pelt_measure_free(m);
    pelt_bytes_free(bytes);
    return rms;
}

static bool found(const pelt_fitting *f, const char *what) {
    for (size_t i = 0; i < f->report.findings.count; i++)
        if (!strcmp(f->report.findings.list[i].what, what)) return true;
    return false;
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

/* Noise of amplitude a has the RMS length a / 2 in three dimensions; no fit can do better, and ours not much worse. */
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
    pelt_fitting smooth = fit(&s, (pelt_fit_options){.influences = 2, .fitted.smooth = 0.3});
    pelt_fitting pruned = fit(&s, (pelt_fit_options){.influences = 5, .convex.prune = 0.2});
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) {
        assert_true(two.model.influences.first[v + 1] - two.model.influences.first[v] <= 2);
        assert_true(smooth.model.influences.first[v + 1] - smooth.model.influences.first[v] <= 2);
        for (uint32_t i = pruned.model.influences.first[v]; i < pruned.model.influences.first[v + 1]; i++)
            assert_true(pruned.model.influences.weights[i] >= 0.2f);
    }
    character_free(s.bundle);
}

static void refitting_rest_positions_never_hurts_in_training(void **state) {
    (void)state;
    subject s = make(4, 0.05, 8);
    pelt_fitting keep = fit(&s, (pelt_fit_options){.influences = 2});
    pelt_fitting refit = fit(&s, (pelt_fit_options){.influences = 2, .fitted.rest = PELT_REST_REFIT});
    assert_memory_equal(keep.model.positions, s.bundle->mesh.positions, 12 * s.bundle->mesh.vertex_count);
    assert_true(rms_of(&s, &refit) < rms_of(&s, &keep));
    character_free(s.bundle);
}

#define NAMES(...)                                                                                                     \
    (pelt_names) {                                                                                                     \
        sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]) { __VA_ARGS__ }                       \
    }

static void locks_keep_the_files_weights(void **state) {
    (void)state;
    subject s = make(3, 0.01, 9);
    const uint32_t vertices[] = {5, 17};
    pelt_fitting f = fit(&s, (pelt_fit_options){.convex.lock_joints = NAMES("joint2", "joint4"), .influences = 4});
    const pelt_influences *file = &s.bundle->mesh.influences;
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) {
        assert_near(weight_of(&f.model.influences, v, 2), weight_of(file, v, 2), 1e-6);
        assert_near(weight_of(&f.model.influences, v, 4), weight_of(file, v, 4), 1e-6);
    }
    f = fit(&s, (pelt_fit_options){.convex.lock_vertices = vertices, .convex.lock_vertex_count = 2});
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < JOINTS; j++)
            assert_near(weight_of(&f.model.influences, vertices[i], j), weight_of(file, vertices[i], j), 1e-6);
    character_free(s.bundle);
}

/* Every vertex has one of eight colours, however pure; those of one colour are locked like those of a list. */
static void painted_vertices_are_locked(void **state) {
    (void)state;
    subject s = make(3, 0.01, 9);
    pelt_mesh *mesh = &s.bundle->mesh;
    mesh->colors = PELT_NEW(s.bundle->arena, 3 * (size_t)mesh->vertex_count, float);
    for (uint32_t c = PELT_COLOR_BLACK; c < PELT_COLOR_COUNT; c++) {
        uint32_t listed[96], count = 0;
        for (uint32_t v = 0; v < mesh->vertex_count; v++) {
            uint32_t bits = v % 8;
            for (uint32_t k = 0; k < 3; k++)
                mesh->colors[3 * v + k] = bits >> k & 1 ? (v % 3 ? 0.5f : 1) : (v % 5 ? 0.499f : 0);
            if (bits == c - PELT_COLOR_BLACK) listed[count++] = v;
        }
        pelt_fitting painted = fit(&s, (pelt_fit_options){.convex.lock_color = (pelt_color)c});
        pelt_fitting by_list =
            fit(&s, (pelt_fit_options){.convex.lock_vertices = listed, .convex.lock_vertex_count = count});
        const pelt_influences *a = &painted.model.influences, *b = &by_list.model.influences;
        assert_int_equal(a->first[mesh->vertex_count], b->first[mesh->vertex_count]);
        assert_memory_equal(a->weights, b->weights, a->first[mesh->vertex_count] * sizeof *a->weights);
        assert_memory_equal(a->joints, b->joints, a->first[mesh->vertex_count] * sizeof *a->joints);
    }
    pelt_error error = {0};
    const pelt_fit_options red = {.blend = PELT_BLEND_FIT, .convex.lock_color = PELT_COLOR_RED};
    memset(mesh->colors, 0, 3 * (size_t)mesh->vertex_count * sizeof *mesh->colors);
    assert_null(pelt_fit(s.bundle, s.examples, &red, NULL, &error));
    assert_non_null(strstr(error.text, "no vertex is painted red"));
    mesh->colors = NULL;
    assert_null(pelt_fit(s.bundle, s.examples, &red, NULL, &error));
    assert_non_null(strstr(error.text, "COLOR_0"));
    character_free(s.bundle);
}

/* Where joint j alone puts vertex v in an example, minus the truth. */
static double residual(const subject *s, uint32_t v, uint32_t example, uint32_t joint, int c) {
    const float *rest = s->bundle->mesh.positions + 3 * v;
    pelt_transform locals[JOINTS];
    pelt_affine t[JOINTS];
    double at[3];
    pelt_clip_pose(s->clip, &s->bundle->skeleton, example, locals);
    pelt_joint_matrices(&s->bundle->skeleton, locals, NULL, t);
    pelt_affine_point(&t[joint], (double[3]){rest[0], rest[1], rest[2]}, at);
    return at[c] - s->clip->positions[3 * ((size_t)example * s->bundle->mesh.vertex_count + v) + (size_t)c];
}

/* With everything but two joints locked at 0, the fit has two columns: a line, whose minimum is known. */
static void a_locked_fit_is_the_best_with_what_is_free(void **state) {
    (void)state;
    subject s = make(3, 0.02, 10);
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) { /* the file: 0.3 on joint 0, 0.7 on joint 1 */
        uint32_t at = s.bundle->mesh.influences.first[v];
        s.bundle->mesh.influences.joints[at] = 0, s.bundle->mesh.influences.joints[at + 1] = 1;
        s.bundle->mesh.influences.weights[at] = 0.3f, s.bundle->mesh.influences.weights[at + 1] = 0.7f;
    }
    pelt_fitting f = fit(&s, (pelt_fit_options){.convex.lock_joints = NAMES("joint0", "joint3", "joint4", "joint5")});
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++) {
        double top = 0, bottom = 0;
        for (uint32_t e = 0; e < FRAMES; e++) /* residual r0 + u d over u = the weight of joint 2 */
            for (int c = 0; c < 3; c++) {
                double r0 = 0.3f * residual(&s, v, e, 0, c) + 0.7f * residual(&s, v, e, 1, c);
                double d = residual(&s, v, e, 2, c) - residual(&s, v, e, 1, c);
                top -= r0 * d, bottom += d * d;
            }
        assert_near(weight_of(&f.model.influences, v, 2), fmin(fmax(top / bottom, 0), 0.7), 1e-5);
    }
    pelt_fitting refit = fit(&s, (pelt_fit_options){.convex.lock_joints = NAMES("joint0", "joint3", "joint4", "joint5"),
                                                    .fitted.rest = PELT_REST_REFIT});
    assert_true(rms_of(&s, &refit) < 0.92 * rms_of(&s, &f));
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
        assert_near(weight_of(&refit.model.influences, v, 0), 0.3, 1e-6);
    character_free(s.bundle);
}

/* The residual of a vertex in one coordinate of an example, with its own weights, in diagonals. */
static double left_of(const subject *s, const pelt_influences *in, uint32_t v, uint32_t e, int c) {
    double sum = 0;
    for (uint32_t j = 0; j < JOINTS; j++) sum += weight_of(in, v, j) * residual(s, v, e, j, c);
    return sum / s->bundle->mesh.diagonal;
}

/* Squared difference of the error along the edges. */
static double roughness(const subject *s, const pelt_influences *in) {
    double sum = 0;
    for (size_t t = 0; t < s->bundle->mesh.triangle_count; t += 3) /* a third of them will do */
        for (int k = 0; k < 3; k++) {
            const uint32_t *corner = s->bundle->mesh.triangles + 3 * t;
            for (int r = 0; r < 3 * FRAMES; r++)
                sum += pow(left_of(s, in, corner[k], (uint32_t)r / 3, r % 3) -
                               left_of(s, in, corner[(k + 1) % 3], (uint32_t)r / 3, r % 3),
                           2);
        }
    return sum;
}

static void smoothness_evens_out_errors(void **state) {
    (void)state;
    subject s = make(5, 0, 11);
    pelt_fitting rough = fit(&s, (pelt_fit_options){.influences = 2});
    pelt_fitting smooth = fit(&s, (pelt_fit_options){.influences = 2, .fitted.smooth = 0.3});
    pelt_fitting smoother = fit(&s, (pelt_fit_options){.influences = 2, .fitted.smooth = 10});
    double a = roughness(&s, &rough.model.influences), b = roughness(&s, &smooth.model.influences),
           c = roughness(&s, &smoother.model.influences);
    assert_true(b < 0.9 * a);
    assert_true(c < 0.95 * b);
    assert_true(rms_of(&s, &rough) < rms_of(&s, &smooth) && rms_of(&s, &smooth) < rms_of(&s, &smoother));
    character_free(s.bundle);
}

/* The share of one vertex in what a smooth fit minimises: its squared error, and the squared differences to its
   neighbours'. */
static double smooth_cost(const double (*columns)[3 * FRAMES], double smooth, const double *own,
                          double (*others)[3 * FRAMES], uint32_t count) {
    double sum = 0;
    for (int r = 0; r < 3 * FRAMES; r++) {
        double left = 0;
        for (int j = 0; j < JOINTS; j++) left += own[j] * columns[j][r];
        sum += left * left;
        for (uint32_t n = 0; n < count; n++) sum += smooth * pow(left - others[n][r], 2);
    }
    return sum;
}

/* Moving weight from one joint of a vertex to another never lowers the cost. */
static void a_smooth_fit_is_the_minimum_of_error_and_its_differences(void **state) {
    (void)state;
    static const double amount = 0.01, smooth = 2;
    subject s = make(2, 0.02, 11);
    pelt_fitting f = fit(&s, (pelt_fit_options){.influences = JOINTS, .fitted.smooth = smooth});
    const pelt_mesh *mesh = &s.bundle->mesh;
    uint32_t tried = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v += 8) {
        double columns[JOINTS][3 * FRAMES], own[JOINTS], others[16][3 * FRAMES];
        uint32_t count = 0;
        for (uint32_t n = 0; n < mesh->vertex_count; n++) {
            bool joined = false;
            for (uint32_t t = 0; t < 3 * mesh->triangle_count; t++) {
                uint32_t a = mesh->triangles[t], b = mesh->triangles[t % 3 == 2 ? t - 2 : t + 1];
                joined |= (a == v && b == n) || (a == n && b == v);
            }
            for (int r = 0; r < 3 * FRAMES && joined; r++)
                others[count][r] = left_of(&s, &f.model.influences, n, (uint32_t)r / 3, r % 3);
            count += joined;
        }
        for (uint32_t j = 0; j < JOINTS; j++) {
            own[j] = weight_of(&f.model.influences, v, j);
            for (int r = 0; r < 3 * FRAMES; r++)
                columns[j][r] = residual(&s, v, (uint32_t)r / 3, j, r % 3) / mesh->diagonal;
        }
        double cost = smooth_cost((const double(*)[3 * FRAMES]) columns, smooth, own, others, count);
        for (int k = 0; k < JOINTS * JOINTS; k++) {
            double moved[JOINTS];
            memcpy(moved, own, sizeof own);
            moved[k / JOINTS] -= amount, moved[k % JOINTS] += amount;
            if (k / JOINTS == k % JOINTS || moved[k / JOINTS] < 0) continue;
            double other = smooth_cost((const double(*)[3 * FRAMES]) columns, smooth, moved, others, count);
            if (!(other > cost)) fail_msg("vertex %u: %.9g, was %.9g", v, other, cost);
            tried++;
        }
    }
    assert_true(tried > 100);
    character_free(s.bundle);
}

/* Of joints that always move together, the one the file binds to gets the weight, in any order. */
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
        assert_false(found(&f, "twins"));
        for (uint32_t i = 0; i < in->first[s.bundle->mesh.vertex_count]; i++)
            in->joints[i] = i % 2 ? bound : 2 + bound % 3;
        f = fit(&s, (pelt_fit_options){0});
        assert_true(found(&f, "twins")); /* two of them carry skin, and no example distinguishes them */
        character_free(s.bundle);
    }
}

/* Twins are judged from the centre of the character, wherever it is in the scene: 1000 diagonals away, a rotation below
   the tolerance moves the origin by more. */
static void twins_never_part_at_the_character(void **state) {
    (void)state;
    enum { EXAMPLES = 2, N = 5 };
    pelt_bundle *bundle = character_chain(N, 64);
    pelt_mesh *mesh = &bundle->mesh;
    double middle = 1000 * mesh->diagonal, center = 0, y = 0;
    for (uint32_t v = 0; v < 64; v++) {
        mesh->positions[3 * v] += (float)middle;
        center += mesh->positions[3 * v] / 64, y += mesh->positions[3 * v + 1] / 64;
    }
    pelt_affine matrices[EXAMPLES * N];
    for (int i = 0; i < EXAMPLES * N; i++) matrices[i] = pelt_identity;
    /* In the second example joint 1 turns by 1.5e-5 about the middle, joint 2 by 3e-5, joint 3 moves by 1.5e-5 of the
       diagonal and joint 4 by 3e-5 of it. */
    for (int j = 1; j < 3; j++) {
        double turn = 1.5e-5 * j, *m = matrices[N + j].m;
        m[1] = -turn, m[4] = turn, m[3] = turn * y, m[7] = -turn * center;
    }
    matrices[N + 3].m[3] = 1.5e-5 * mesh->diagonal, matrices[N + 4].m[11] = -3e-5 * mesh->diagonal;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .model.skeleton = &bundle->skeleton};
    f.examples = (pelt_examples){EXAMPLES, PELT_NEW(bundle->arena, EXAMPLES, pelt_example)};
    pelt_candidates found_ones;
    pelt_error error;
    for (uint32_t i = 0; i < mesh->influences.first[64]; i++) mesh->influences.joints[i] = 0;
    assert_int_equal(pelt_find_candidates(&f, matrices, NULL, &found_ones, &error), PELT_OK);
    assert_int_equal(found_ones.count, 3);
    static const uint32_t first[] = {0, 3, 4, 5}, members[] = {0, 1, 3, 2, 4};
    assert_memory_equal(found_ones.first, first, sizeof first);
    assert_memory_equal(found_ones.members, members, sizeof members);
    bool allowed[N] = {false, false, true, true, true};
    assert_int_equal(pelt_find_candidates(&f, matrices, allowed, &found_ones, &error), PELT_OK);
    assert_int_equal(found_ones.count, 3);
    assert_memory_equal(found_ones.members, ((uint32_t[]){2, 3, 4}), 12);
    memset(allowed, 0, sizeof allowed);
    assert_int_equal(pelt_find_candidates(&f, matrices, allowed, &found_ones, &error), PELT_ERROR_DATA);
    character_free(bundle);
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++) {
        subject s = make(4, 0.02, 13);
        pelt_error error;
        pelt_bytes *skins[3];
        for (uint32_t threads = 1; threads < 4; threads++) {
            pelt_fit_options options = {.blend = blend_named(blends[b]), .threads = threads};
            if (!b) options.fitted.smooth = 0.3;
            skins[threads - 1] = pelt_fit(s.bundle, s.examples, &options, NULL, &error);
            assert_non_null(skins[threads - 1]);
        }
        for (int i = 1; i < 3; i++) {
            assert_int_equal(skins[0]->size, skins[i]->size);
            assert_memory_equal(skins[0]->bytes, skins[i]->bytes, skins[0]->size);
        }
        for (int i = 0; i < 3; i++) pelt_bytes_free(skins[i]);
        character_free(s.bundle);
    }
}

/* Two vertices in the same place that separate only in the last frame: a fit that does not see that frame merges
   them. */
static void frames_that_are_held_out_do_not_part_a_seam(void **state) {
    (void)state;
    subject s = make(2, 0.02, 22);
    uint32_t n = s.bundle->mesh.vertex_count;
    memcpy(s.bundle->mesh.positions + 3 * 41, s.bundle->mesh.positions + 3 * 40, 12);
    for (uint32_t e = 0; e + 1 < FRAMES; e++)
        memcpy((float *)s.clip->positions + 3 * (e * n + 41), s.clip->positions + 3 * (e * n + 40), 12);
    for (uint32_t count = FRAMES - 1; count <= FRAMES; count++) {
        s.examples.count = count;
        pelt_fitting f = fit(&s, (pelt_fit_options){0});
        assert_int_equal(f.points.count, count == FRAMES ? n : n - 1);
        assert_int_equal(f.points.of_vertex[41], count == FRAMES ? 41 : 40);
        assert_int_equal(f.points.of_vertex[n - 1], f.points.count - 1);
        assert_int_equal(f.points.vertex[f.points.count - 1], n - 1);
        for (uint32_t j = 0; j < JOINTS && count < FRAMES; j++)
            assert_near(weight_of(&f.model.influences, 41, j), weight_of(&f.model.influences, 40, j), 0);
    }
    character_free(s.bundle);
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

static void no_examples_are_refused(void **state) {
    (void)state;
    subject s = make(2, 0, 14);
    pelt_error error = {0};
    pelt_examples none = {0};
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++) {
        assert_null(pelt_fit(s.bundle, none, &(pelt_fit_options){.blend = blend_named(blends[b])}, NULL, &error));
        assert_non_null(strstr(error.text, "no examples"));
    }
    character_free(s.bundle);
}

/* The same frame repeatedly, one frame, only the rest pose: still a skin with finite numbers. */
static void few_and_identical_examples_give_a_sound_skin(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    for (int b = 0; b < 2; b++)
        for (int kind = 0; kind < 3; kind++) {
            subject s = make(3, 0.01, 15);
            for (uint32_t e = 0; e < FRAMES; e++) s.examples.list[e].frame = kind == 2 ? 0 : 7;
            if (kind) s.examples.count = 1;
            pelt_fitting f = fit(
                &s,
                (pelt_fit_options){.blend = blend_named(blends[b]), .influences = 6, .fitted.rest = PELT_REST_REFIT});
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
    for (size_t i = 0; i < f.report.findings.count; i++)
        named |= strstr(f.report.findings.list[i].text, "vertex 11") != NULL;
    assert_true(named);
    character_free(s.bundle);
}

/* Counts those farther away than a twentieth of the diagonal, however they were fitted; names the first one. */
static void unexplained_vertices_are_counted(void **state) {
    (void)state;
    const pelt_fit_options all[] = {
        {0}, {.fitted.rest = PELT_REST_REFIT}, {.fitted.smooth = 0.5}, {.convex.lock_joints = NAMES("joint0")}};
    for (int k = 0; k < 4; k++) {
        subject s = make(3, 0, 20);
        uint64_t seed = 21;
        uint32_t n = s.bundle->mesh.vertex_count, count = 0, first = 0;
        for (uint32_t v = 0; v < n; v++) {
            double size = s.bundle->mesh.diagonal * 0.2 * test_random(&seed);
            for (uint32_t e = 0; e < FRAMES; e++)
                for (uint32_t c = 0; c < 3; c++)
                    ((float *)s.clip->positions)[3 * (e * n + v) + c] += (float)(size * (test_random(&seed) - 0.5));
        }
        pelt_fitting f = fit(&s, all[k]);
        for (uint32_t v = n; v-- > 0;) {
            double sum = 0;
            memcpy(s.bundle->mesh.positions + 3 * v, f.model.positions + 3 * v, 12); /* for residual() */
            for (uint32_t e = 0; e < FRAMES; e++)
                for (int c = 0; c < 3; c++) {
                    double left = 0;
                    for (uint32_t i = f.model.influences.first[v]; i < f.model.influences.first[v + 1]; i++)
                        left += f.model.influences.weights[i] * residual(&s, v, e, f.model.influences.joints[i], c);
                    sum += left * left;
                }
            if (sqrt(sum / FRAMES) > 0.05 * s.bundle->mesh.diagonal) count++, first = v;
        }
        char text[100];
        snprintf(text, sizeof text, "%u vertices are more than", count);
        bool counted = false, named = false;
        for (size_t i = 0; i < f.report.findings.count; i++)
            counted |= strstr(f.report.findings.list[i].text, text) != NULL;
        snprintf(text, sizeof text, "the first is vertex %u)", first);
        for (size_t i = 0; i < f.report.findings.count; i++)
            named |= strstr(f.report.findings.list[i].text, text) != NULL;
        assert_true(count > 5 && count < n - 5);
        assert_true(counted && named);
        character_free(s.bundle);
    }
}

static void one_joint_takes_all(void **state) {
    (void)state;
    static const char *const blends[] = {"fit", "joints"};
    const pelt_drive_rules no_rules = {0};
    for (int b = 0; b < 2; b++) {
        subject s = make(2, 0.01, 18);
        pelt_fit_options options = {.blend = blend_named(blends[b]),
                                    .fitted.drop_joints = NAMES("joint1", "joint2", "joint3", "joint4", "joint5")};
        if (b) options.joints.drive = &no_rules;
        pelt_fitting f = fit(&s, options);
        for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
            assert_near(weight_of(&f.model.influences, v, 0), 1, 1e-6);
        character_free(s.bundle);
    }
}

/* Points without weights, with weights that cancel or are NaN, or with such a rest position keep the file's; so do
   locked ones, which are not counted. */
static void vertices_without_a_fit_keep_the_files_weights(void **state) {
    (void)state;
    enum { N = 16 };
    pelt_bundle *bundle = character_chain(3, N);
    pelt_fitting f = {.bundle = bundle,
                      .arena = bundle->arena,
                      .model.skeleton = &bundle->skeleton,
                      .options.fitted.rest = PELT_REST_REFIT};
    f.points = pelt_find_points(f.arena, &bundle->mesh, f.examples);
    const uint32_t first[] = {0, 1, 2, 3}, members[] = {2, 0, 1};
    pelt_candidates candidates = {3, first, members};
    pelt_gram gram = {.count = 3, .scale = 7, .rest_scale = 2, .center = {1, 2, 3}};
    pelt_blend_result result = pelt_blend_result_new(f.arena, N, 2);
    bool locked[N] = {[3] = true, [7] = true};
    for (uint32_t v = 0; v < N; v++) {
        pelt_weights set = {.count = 2, .joints = {1, 0}, .weights = {3, -1}}; /* made to sum to 1 */
        double rest[3] = {0.5, 0.25, v == 10 ? NAN : v};
        if (v == 7) set.count = 0;
        if (v == 9) set.weights[0] = INFINITY;
        if (v == 12) set.count = 0;
        if (v == 13) set.weights[1] = -3;
        if (v == 14) set.weights[1] = 0;
        pelt_blend_store(&result, v, &set, rest);
    }
    pelt_blend_finish(&f, &candidates, &gram, &result, locked);
    const pelt_influences *in = &f.model.influences, *file = &bundle->mesh.influences;
    for (uint32_t v = 0; v < N; v++) {
        bool kept = v == 3 || v == 7 || v == 9 || v == 10 || v == 12 || v == 13;
        const float *p = f.model.positions + 3 * v;
        for (uint32_t j = 0; j < 3 && kept; j++) assert_near(weight_of(in, v, j), weight_of(file, v, j), 0);
        if (kept) assert_memory_equal(p, bundle->mesh.positions + 3 * v, 12);
        if (kept) continue;
        assert_int_equal(in->first[v + 1] - in->first[v], v == 14 ? 1 : 2);
        assert_near(weight_of(in, v, 0), v == 14 ? 1 : 1.5, 1e-6);
        assert_near(weight_of(in, v, 2), v == 14 ? 0 : -0.5, 1e-6);
        assert_true(p[0] == 2 && p[1] == 2.5f && p[2] == (float)(3 + 2 * v));
    }
    assert_int_equal(f.report.findings.count, 1);
    assert_non_null(strstr(f.report.findings.list[0].text, "4 vertices could not be fitted"));
    assert_non_null(strstr(f.report.findings.list[0].text, "the first is vertex 9:"));
    f.report.findings.count = 0;
    f.options.fitted.rest = PELT_REST_KEEP;
    pelt_blend_finish(&f, &candidates, &gram, &result, NULL);
    assert_memory_equal(f.model.positions, bundle->mesh.positions, 12 * N);
    assert_non_null(strstr(f.report.findings.list[0].text, "5 vertices could not be fitted"));
    assert_near(weight_of(&f.model.influences, 3, 0), 1.5, 1e-6);
    character_free(bundle);
}

static void names_that_do_not_exist_are_refused(void **state) {
    (void)state;
    subject s = make(2, 0, 19);
    pelt_error error = {0};
    uint32_t vertex = 1000000;
    const pelt_fit_options bad[] = {
        {.blend = PELT_BLEND_FIT, .convex.lock_joints = NAMES("nobody")},
        {.blend = PELT_BLEND_FIT, .fitted.drop_joints = NAMES("no*")},
        {.blend = PELT_BLEND_FIT, .fitted.drop_joints = NAMES("*")},
        {.blend = PELT_BLEND_FIT, .convex.lock_vertices = &vertex, .convex.lock_vertex_count = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error.text[0] = 0;
        assert_null(pelt_fit(s.bundle, s.examples, &bad[i], NULL, &error));
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

/* -- Before a corrective ------------------------------------------------------------------------------------------- */

/* The residual of every example when a regression has not seen its group, by repeating the regression without it. */
static void leaving_groups_out_is_fitting_without_them(void **state) {
    (void)state;
    enum { N = 9 };
    const int group[N] = {0, -1, 1, 0, -1, 1, 0, 2, -1};
    uint64_t seed = 3;
    double k[N][N], inverse[N * N], left_out[N * N], values[N], places[N], u[3 * N], d[3 * N];
    pelt_arena *arena = pelt_arena_new(0);
    for (int i = 0; i < N; i++) places[i] = 3 * test_random(&seed), values[i] = test_random(&seed) - 0.5;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            inverse[i * N + j] = k[i][j] = exp(-pow(places[i] - places[j], 2)) + (i == j ? 0.05 : 0);
    assert_true(pelt_cholesky(N, inverse));
    pelt_cholesky_invert(N, inverse);
    assert_true(pelt_left_out(arena, N, inverse, group, left_out));
    for (int i = 0; i < 3 * N; i++) u[i] = (1 + i % 3) * values[i / 3];
    pelt_predicted(N, left_out, u, d);
    for (int i = 0; i < N; i++) {
        int seen[N], n = 0;
        double a[N][N + 1], predicted = 0, missed = 0;
        for (int j = 0; j < N; j++)
            if (j != i && (group[i] < 0 || group[j] != group[i])) seen[n++] = j;
        for (int r = 0; r < n; r++) {
            for (int c = 0; c < n; c++) a[r][c] = k[seen[r]][seen[c]];
            a[r][n] = values[seen[r]];
        }
        for (int c = 0; c < n; c++) /* elimination: the matrix is positive definite */
            for (int r = 0; r < n; r++)
                for (int m = n; r != c && m >= c; m--) a[r][m] -= a[r][c] / a[c][c] * a[c][m];
        for (int r = 0; r < n; r++) predicted += k[i][seen[r]] * a[r][n] / a[r][r];
        for (int j = 0; j < N; j++) missed += left_out[i * N + j] * values[j];
        assert_near(missed, values[i] - predicted, 1e-10);
        for (int c = 0; c < 3; c++) assert_near(d[3 * i + c], (1 + c) * predicted, 1e-10);
    }
    pelt_arena_free(arena);
}

/* The blend of three joints, and the displacement A^-1 (v - S v0) by Cramer's rule. */
static pelt_affine mixed(const pelt_affine t[3], const double w[3]) {
    pelt_affine s = {{0}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 12; i++) s.m[i] += w[j] * t[j].m[i];
    return s;
}

static void exact_displacement(const pelt_affine t[3], const double w[3], const double rest[3], const double truth[3],
                               double u[3]) {
    pelt_affine s = mixed(t, w);
    double a[3][4], det[4];
    for (int r = 0; r < 3; r++) {
        const double *m = s.m + 4 * r;
        memcpy(a[r], m, 3 * sizeof *m);
        a[r][3] = truth[r] - m[0] * rest[0] - m[1] * rest[1] - m[2] * rest[2] - m[3];
    }
    for (int k = 0; k < 4; k++) { /* with the last column in the place of column k; 3: as it is */
        int x = k == 0 ? 3 : 0, y = k == 1 ? 3 : 1, z = k == 2 ? 3 : 2;
        det[k] = a[0][x] * (a[1][y] * a[2][z] - a[1][z] * a[2][y]) - a[0][y] * (a[1][x] * a[2][z] - a[1][z] * a[2][x]) +
                 a[0][z] * (a[1][x] * a[2][y] - a[1][y] * a[2][x]);
    }
    for (int c = 0; c < 3; c++) u[c] = det[c] / det[3];
}

/* With its original weights the linear form is exact for any prediction; if the prediction is exact, its slope is
   too. */
static void the_linear_form_of_displacements_is_exact_where_it_is_made(void **state) {
    (void)state;
    uint64_t seed = 12;
    for (int round = 0; round < 20; round++) {
        pelt_affine t[3], inverse;
        double w[3] = {0.2, 0.5, 0.3}, rest[3], truth[3], any[3], u[3], columns[3][3], high[3], low[3];
        const double step = 1e-5;
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 12; i++) t[j].m[i] = (i % 5 == 0 ? 2 : 0) + test_random(&seed) - 0.5;
        for (int c = 0; c < 3; c++)
            rest[c] = test_random(&seed), truth[c] = test_random(&seed), any[c] = test_random(&seed);
        pelt_affine blend = mixed(t, w);
        assert_true(pelt_affine_invert(&blend, &inverse));
        exact_displacement(t, w, rest, truth, u);
        for (int j = 0; j < 3; j++) pelt_linear_displacement(&inverse, &t[j], rest, any, truth, columns[j]);
        for (int c = 0; c < 3; c++)
            assert_near(w[0] * columns[0][c] + w[1] * columns[1][c] + w[2] * columns[2][c], u[c], 1e-12);
        for (int j = 0; j < 3; j++) pelt_linear_displacement(&inverse, &t[j], rest, u, truth, columns[j]);
        exact_displacement(t, (double[3]){w[0] + step, w[1] - step, w[2]}, rest, truth, high);
        exact_displacement(t, (double[3]){w[0] - step, w[1] + step, w[2]}, rest, truth, low);
        for (int c = 0; c < 3; c++) assert_near((high[c] - low[c]) / (2 * step), columns[0][c] - columns[1][c], 1e-7);
    }
}

enum { SWEPT = 7, AHEAD = 4 * SWEPT + 32, UNSEEN = 20 }; /* two joints about two axes each, then both; both again */

/* Three joints in a tube that swells on the inside where it bends: the truth is the blend of the displaced rest pose.
   `spoiled` weights are those of a tube whose joints are elsewhere. */
static subject make_ahead(double spoiled) {
    subject s = {.bundle = character_chain(3, 48)};
    pelt_bundle *b = s.bundle;
    uint64_t seed = 4;
    pelt_transform poses[(AHEAD + UNSEEN) * 3];
    double angles[AHEAD + UNSEEN][2];
    for (int f = 0; f < AHEAD + UNSEEN; f++) {
        bool both = f >= 4 * SWEPT;
        int k = 11 * f % (4 * SWEPT); /* in no order, so that no stretch of frames is a motion */
        for (int j = 0; j < 3; j++) {
            bool turned = both ? j > 0 : j == 1 + k / (2 * SWEPT);
            double angle = both ? 140 * test_random(&seed) - 70 : 20.0 * (k % SWEPT) - 60;
            double mix = both ? test_random(&seed) : k / SWEPT % 2;
            poses[3 * f + j] = character_turn(mix, 0, 1 - mix, turned ? angle : 0);
            poses[3 * f + j].translation[1] = j ? 1 : 0;
            if (j) angles[f][j - 1] = turned ? angle : 0;
        }
    }
    s.truth = b->mesh.influences;
    s.clip = character_clip(b, "train", AHEAD + UNSEEN, poses);
    size_t n = 3 * (size_t)b->mesh.vertex_count;
    float *positions = PELT_NEW(b->arena, n * (AHEAD + UNSEEN), float), *rest = PELT_NEW(b->arena, n, float);
    double *blended = PELT_NEW(b->arena, n, double);
    memcpy(rest, b->mesh.positions, n * sizeof *rest);
    for (uint32_t f = 0; f < AHEAD + UNSEEN; f++) {
        pelt_transform locals[3];
        pelt_affine t[3];
        pelt_clip_pose(s.clip, &b->skeleton, f, locals);
        pelt_joint_matrices(&b->skeleton, locals, NULL, t);
        for (size_t v = 0; v < n / 3; v++)
            for (int j = 0; j < 2; j++) {
                double near = exp(-8 * pow(rest[3 * v + 1] - 1 - j, 2)), bend = angles[f][j] / 70;
                b->mesh.positions[3 * v] += (float)(0.15 * near * bend * bend);
                b->mesh.positions[3 * v + 1] -= (float)(0.3 * near * bend * rest[3 * v]);
            }
        pelt_blend_mesh(&b->mesh, t, blended);
        for (size_t i = 0; i < n; i++) positions[n * f + i] = (float)blended[i];
        memcpy(b->mesh.positions, rest, n * sizeof *rest);
    }
    s.clip->positions = positions;
    for (size_t v = 0; v < n / 3; v++) b->mesh.positions[3 * v + 1] += (float)spoiled;
    character_chain_weights(b);
    memcpy(b->mesh.positions, rest, n * sizeof *rest);
    pelt_example *list = PELT_NEW(b->arena, AHEAD + UNSEEN, pelt_example);
    for (uint32_t f = 0; f < AHEAD + UNSEEN; f++) list[f] = (pelt_example){s.clip, f};
    s.examples = (pelt_examples){AHEAD, list};
    return s;
}

static double distance_of_weights(const subject *s, const pelt_influences *in) {
    double sum = 0;
    for (uint32_t v = 0; v < s->bundle->mesh.vertex_count; v++)
        for (uint32_t j = 0; j < 3; j++) sum += fabs(weight_of(in, v, j) - weight_of(&s->truth, v, j));
    return sum / s->bundle->mesh.vertex_count;
}

/* The error of a skin in unseen poses. */
static double unseen_error(const subject *s, pelt_blend blend) {
    pelt_error error = {0};
    pelt_skin skin;
    pelt_fit_options options = {.blend = blend, .corrective = PELT_CORRECTIVE_EIGEN, .holdout = -1, .threads = 1};
    pelt_bytes *bytes = pelt_fit(s->bundle, s->examples, &options, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_examples unseen = {UNSEEN, s->examples.list + AHEAD};
    pelt_measure *m = pelt_measure_examples(&skin, s->bundle, unseen, 1, &error);
    assert_non_null(m);
    double rms = m->rms;
    pelt_measure_free(m);
    pelt_bytes_free(bytes);
    return rms;
}

/* Weights that make displacements predictable are close to the true ones, even if the file's are not; locks hold. In
   unseen poses a skin with them is no worse than with the file's, which are used otherwise. */
static void before_a_corrective_the_weights_of_the_truth_are_found(void **state) {
    (void)state;
    subject s = make_ahead(0.2);
    const uint32_t vertices[] = {20, 30};
    pelt_fit_options options = {.corrective = PELT_CORRECTIVE_EIGEN, .threads = 1};
    pelt_fitting ahead = fit(&s, options);
    options.convex.lock_vertices = vertices, options.convex.lock_vertex_count = 2;
    options.convex.lock_joints = NAMES("joint0");
    pelt_fitting locked = fit(&s, options);
    const pelt_influences *file = &s.bundle->mesh.influences;
    double spoiled = distance_of_weights(&s, file), found_by = distance_of_weights(&s, &ahead.model.influences);
    assert_true(ahead.report.blend_fit.pull > 0 && ahead.report.blend_fit.missed < 0.8);
    assert_true(found_by < 0.28 * spoiled);
    assert_true(unseen_error(&s, PELT_BLEND_FIT) < 1.01 * unseen_error(&s, PELT_BLEND_FILE));
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
        assert_near(weight_of(&locked.model.influences, v, 0), weight_of(file, v, 0), 1e-6);
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < 3; j++)
            assert_near(weight_of(&locked.model.influences, vertices[i], j), weight_of(file, vertices[i], j), 1e-6);
    character_free(s.bundle);
}

/* With more than 256 examples, keeps those whose poses differ: duplicates change nothing. */
static void before_a_corrective_a_crowd_of_equal_poses_counts_once(void **state) {
    (void)state;
    subject s = make_ahead(0.2), crowd = s;
    pelt_example *list = PELT_NEW(s.bundle->arena, 300, pelt_example);
    for (uint32_t e = 0; e < 300; e++) list[e] = s.examples.list[e < AHEAD ? e : 1];
    crowd.examples = (pelt_examples){300, list};
    pelt_fit_options options = {.corrective = PELT_CORRECTIVE_EIGEN, .threads = 1};
    pelt_fitting once = fit(&s, options), often = fit(&crowd, options);
    assert_true(once.report.blend_fit.pull > 0 && often.report.blend_fit.pull == once.report.blend_fit.pull);
    for (uint32_t v = 0; v < s.bundle->mesh.vertex_count; v++)
        for (uint32_t j = 0; j < 3; j++)
            assert_near(weight_of(&often.model.influences, v, j), weight_of(&once.model.influences, v, j), 1e-6);
    character_free(s.bundle);
}

/* If the file has the true weights, they stay, bit for bit. */
static void before_a_corrective_good_weights_stay(void **state) {
    (void)state;
    subject s = make_ahead(0);
    pelt_fitting f = fit(&s, (pelt_fit_options){.corrective = PELT_CORRECTIVE_KERNEL, .threads = 1});
    const pelt_influences *file = &s.bundle->mesh.influences;
    assert_true(f.report.blend_fit.pull == 0 && f.report.blend_fit.missed > 0);
    assert_memory_equal(f.model.influences.weights, file->weights,
                        file->first[s.bundle->mesh.vertex_count] * sizeof *file->weights);
    character_free(s.bundle);
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
        cmocka_unit_test(painted_vertices_are_locked),
        cmocka_unit_test(a_locked_fit_is_the_best_with_what_is_free),
        cmocka_unit_test(smoothness_evens_out_errors),
        cmocka_unit_test(a_smooth_fit_is_the_minimum_of_error_and_its_differences),
        cmocka_unit_test(twins_keep_the_joint_that_carries_the_skin),
        cmocka_unit_test(twins_never_part_at_the_character),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(frames_that_are_held_out_do_not_part_a_seam),
        cmocka_unit_test(no_examples_are_refused),
        cmocka_unit_test(few_and_identical_examples_give_a_sound_skin),
        cmocka_unit_test(a_vertex_that_no_joint_explains_is_named),
        cmocka_unit_test(unexplained_vertices_are_counted),
        cmocka_unit_test(one_joint_takes_all),
        cmocka_unit_test(vertices_without_a_fit_keep_the_files_weights),
        cmocka_unit_test(names_that_do_not_exist_are_refused),
        cmocka_unit_test(leaving_groups_out_is_fitting_without_them),
        cmocka_unit_test(the_linear_form_of_displacements_is_exact_where_it_is_made),
        cmocka_unit_test(before_a_corrective_the_weights_of_the_truth_are_found),
        cmocka_unit_test(before_a_corrective_a_crowd_of_equal_poses_counts_once),
        cmocka_unit_test(before_a_corrective_good_weights_stay),
        cmocka_unit_test(the_workload_of_the_peers_is_fitted_better_than_they_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
