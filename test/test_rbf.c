/* test_rbf.c: poses and displacements of examples, and the kernels over poses shared by PSD and weighted PSD. */

#include "rig/linear.h"
#include "fit/corrective/rbf.h"
#include "test/corrected.h"

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* A limb (1) with a twist helper (2) that follows halfway, a spine of two joints (3, 4), and a head (5). */
static pelt_bundle *rigged(pelt_fitting *f, uint32_t frames, pelt_transform *locals, float **positions) {
    static const int32_t parents[] = {-1, 0, 1, 0, 3, 4};
    pelt_bundle *bundle = character_new(6, parents);
    character_bind(bundle);
    character_tube(bundle, 96, 0.3, 4);
    uint64_t seed = 4;
    character_random_weights(bundle, 2, &seed);
    pelt_clip *clip = character_clip(bundle, "train", frames, locals);
    float *blended = character_blend(bundle, clip);
    if (positions) *positions = blended;
    const pelt_clip *clips[] = {clip};
    pelt_error error;
    *f = (pelt_fitting){.bundle = bundle, .arena = bundle->arena, .options = {.method = PELT_METHOD_SSD}};
    f->examples = pelt_bundle_examples(bundle, clips, 1);
    assert_int_equal(pelt_fit_resolve(&f->options, &error), PELT_OK);
    assert_int_equal(pelt_fit_blend(f, &error), PELT_OK);
    return bundle;
}

/* Example 0 rest; 1, 2 the limb raised; 3, 4 the limb twisted with its helper; 5, 6 the spine; 7 to 9 all of it. */
static void limb_and_spine(pelt_transform locals[10][6]) {
    for (int e = 0; e < 10; e++)
        for (int j = 0; j < 6; j++) locals[e][j] = character_still, locals[e][j].translation[1] = j > 0;
    for (int e = 1; e < 10; e++) {
        double angle = 10 + 7 * e;
        bool all = e > 6;
        pelt_transform raise = character_turn(1, 0, 0, angle), twist = character_turn(0, 1, 0, 2 * angle),
                       half = character_turn(0, 1, 0, angle), bend = character_turn(0, 0, 1, angle / 3);
        if (e <= 2 || all) memcpy(locals[e][1].rotation, raise.rotation, sizeof raise.rotation);
        if (e == 3 || e == 4) memcpy(locals[e][1].rotation, twist.rotation, sizeof twist.rotation);
        if (e == 3 || e == 4) memcpy(locals[e][2].rotation, half.rotation, sizeof half.rotation);
        for (int j = 3; j < 5; j++)
            if (e == 5 || e == 6 || all) memcpy(locals[e][j].rotation, bend.rotation, sizeof bend.rotation);
        if (all) memcpy(locals[e][5].rotation, raise.rotation, sizeof raise.rotation);
    }
}

static void joints_that_always_move_together_are_one_mover(void **state) {
    (void)state;
    /* Four characters, which move all their joints at the same time, but not as functions of each other. */
    static const int poses[4][3] = {{7, 8, 9}, {8, 9, 7}, {9, 7, 8}, {9, 8, 7}};
    pelt_bundle *bundle = character_new(24, NULL);
    for (int j = 0; j < 24; j++)
        bundle->skeleton.parents[j] = j % 6 == 0 ? -1 : (int32_t[]){0, 0, 1, 0, 3, 4}[j % 6] + j / 6 * 6;
    for (int j = 0; j < 24; j++) bundle->skeleton.rest[j].translation[1] = j % 6 > 0;
    character_bind(bundle);
    pelt_transform part[10][6], (*locals)[24] = calloc(1 + 4 * 6 + 3, sizeof *locals);
    limb_and_spine(part);
    for (int e = 0; e < 28; e++)
        for (int j = 0; j < 24; j++) {
            int group = (e - 1) / 6, own = 1 + (e - 1) % 6;
            locals[e][j] = e == 0   ? part[0][j % 6]
                           : e > 24 ? part[poses[j / 6][e - 25]][j % 6]
                                    : part[j / 6 == group ? own : 0][j % 6];
        }
    pelt_clip *clip = character_clip(bundle, "train", 28, locals[0]);
    const pelt_clip *clips[] = {clip};
    pelt_poses p;
    pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, clips, 1), &(pelt_fit_options){0}, &p);
    assert_int_equal(p.mover_count, 4 * 3); /* limb, spine and head of each */
    for (uint32_t k = 0; k < 24; k += 6) {
        assert_int_equal(p.mover_of[k + 2], p.mover_of[k + 1]); /* the helper follows */
        assert_int_equal(p.mover_of[k + 4], p.mover_of[k + 3]);
        assert_true(p.mover_of[k + 1] != p.mover_of[k + 3]);
        const pelt_mover *limb = &p.movers[p.mover_of[k + 1]], *spine = &p.movers[p.mover_of[k + 3]],
                         *head = &p.movers[p.mover_of[k + 5]];
        assert_int_equal(limb->count, 1);
        assert_int_equal(spine->count, 2);
        assert_true(limb->swept && spine->swept && !head->swept);
        assert_int_equal(head->parent, p.mover_of[k + 3]);
        assert_int_equal(limb->parent, PELT_NO_MOVER);
    }
    assert_true(p.rest[0] && !p.rest[1]);
    assert_int_equal(p.sweep_of[3], p.mover_of[1]); /* twisting with the helper is still the limb alone */
    assert_int_equal(p.sweep_of[26], PELT_NO_MOVER);
    free(locals), character_free(bundle);
}

static void a_rotation_and_its_negative_are_the_same_distance(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 200; i++) {
        double angle = 360 * test_random(&seed), x = test_random(&seed), y = test_random(&seed), z = 0.1;
        pelt_transform a = character_turn(x, y, z, angle), b = character_turn(x, y, z, angle + 50);
        float negative[4] = {-b.rotation[0], -b.rotation[1], -b.rotation[2], -b.rotation[3]};
        assert_near(pelt_rotation_angle(a.rotation, b.rotation), 50 * acos(-1) / 180, 1e-6);
        assert_near(pelt_rotation_angle(a.rotation, negative), 50 * acos(-1) / 180, 1e-6);
    }
    pelt_transform a = character_turn(1, 2, 3, 10), b = character_turn(1, 2, 3, 340);
    assert_near(pelt_rotation_angle(a.rotation, b.rotation), 30 * acos(-1) / 180, 1e-6); /* the short way round */
}

/* -- Displacements ------------------------------------------------------------------------------------------------- */

static void displacements_carry_the_rest_pose_to_every_example(void **state) {
    (void)state;
    pelt_transform locals[10][6];
    pelt_fitting f;
    float *positions;
    pelt_example_displacements d;
    pelt_error error;
    uint64_t seed = 8;
    limb_and_spine(locals);
    pelt_bundle *bundle = rigged(&f, 10, locals[0], &positions);
    size_t n = bundle->mesh.vertex_count;
    for (size_t i = 3 * n; i < 30 * n; i++) positions[i] += (float)(0.1 * test_random(&seed));
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    assert_int_equal(f.report.damped, 0);
    pelt_affine matrices[6];
    for (uint32_t e = 0; e < 10; e++) {
        pelt_mesh moved = bundle->mesh;
        moved.positions = malloc(3 * n * sizeof(float));
        double *out = malloc(3 * n * sizeof *out);
        for (size_t i = 0; i < 3 * n; i++)
            moved.positions[i] =
                bundle->mesh.positions[i] + d.positions[3 * ((size_t)e * d.point_count + d.point_of[i / 3]) + i % 3];
        pelt_joint_matrices(&bundle->skeleton, locals[e], NULL, matrices);
        pelt_blend_mesh(&moved, matrices, out);
        for (size_t i = 0; i < 3 * n; i++) assert_near(out[i], positions[3 * n * e + i], 2e-5);
        free(moved.positions), free(out);
    }
    character_free(bundle);
}

/* Two joints rotated half a turn apart flatten the vertices between them. */
static void a_blend_that_collapses_gives_bounded_displacements_and_is_counted(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(2, 64);
    for (uint32_t i = 0; i < bundle->mesh.influences.first[64]; i++) bundle->mesh.influences.weights[i] = 0.5f;
    pelt_transform locals[2][2] = {{character_still, character_still}, {character_still, character_turn(0, 1, 0, 180)}};
    locals[0][1].translation[1] = locals[1][1].translation[1] = 1;
    pelt_clip *clip = character_clip(bundle, "train", 2, locals[0]);
    float *positions = character_blend(bundle, clip);
    for (size_t i = 0; i < 3 * 64; i++) positions[3 * 64 + i] = bundle->mesh.positions[i] + 0.1f; /* not flat at all */
    const pelt_clip *clips[] = {clip};
    pelt_error error;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = {.method = PELT_METHOD_SSD}};
    f.examples = pelt_bundle_examples(bundle, clips, 1);
    pelt_fit_resolve(&f.options, &error);
    assert_int_equal(pelt_fit_blend(&f, &error), PELT_OK);
    pelt_example_displacements d;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    assert_int_equal(f.report.damped, 64);
    assert_int_equal(f.report.damped_points, 64);
    assert_int_equal(f.report.findings.count, 1);
    assert_non_null(strstr(f.report.findings.list[0].text, "64 points"));
    assert_non_null(strstr(f.report.findings.list[0].text, "in train:1)"));
    for (size_t i = 0; i < 3 * 2 * (size_t)d.point_count; i++) assert_true(fabsf(d.positions[i]) < 17 * 0.7);
    character_free(bundle);
}

/* Four vertices in the same place: two move and blend alike, one moves away, one has other weights. */
static void vertices_of_a_seam_are_one_point_unless_something_tells_them_apart(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(2, 64);
    pelt_mesh *mesh = &bundle->mesh;
    for (int v = 61; v < 64; v++) {
        memcpy(mesh->positions + 3 * v, mesh->positions + 3 * 60, 3 * sizeof(float));
        memcpy(mesh->influences.weights + 2 * v, mesh->influences.weights + 2 * 60, 2 * sizeof(float));
        memcpy(mesh->influences.joints + 2 * v, mesh->influences.joints + 2 * 60, 2 * sizeof(uint32_t));
    }
    mesh->influences.weights[2 * 63] = 0.75f, mesh->influences.weights[2 * 63 + 1] = 0.25f;
    pelt_transform locals[2] = {character_still, character_still};
    locals[1].translation[1] = 1;
    pelt_clip *clip = character_clip(bundle, "train", 1, locals);
    float *positions = character_blend(bundle, clip);
    positions[3 * 62] += 0.5f;
    const pelt_clip *clips[] = {clip};
    pelt_error error;
    pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .options = {.method = PELT_METHOD_SSD}};
    f.examples = pelt_bundle_examples(bundle, clips, 1);
    pelt_fit_resolve(&f.options, &error);
    pelt_fit_blend(&f, &error);
    pelt_example_displacements d;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    assert_int_equal(d.point_of[61], d.point_of[60]);
    assert_true(d.point_of[62] != d.point_of[60] && d.point_of[63] != d.point_of[60]);
    assert_int_equal(d.point_count, 63);
    character_free(bundle);
}

static void examples_in_one_pose_are_merged_or_refused(void **state) {
    (void)state;
    pelt_transform locals[10][6];
    pelt_fitting f;
    float *positions;
    pelt_distinct_poses t;
    pelt_error error;
    limb_and_spine(locals);
    memcpy(locals[9], locals[4], sizeof locals[4]);
    for (int i = 0; i < 4; i++) locals[9][1].rotation[i] *= -1; /* the same rotation */
    pelt_bundle *bundle = rigged(&f, 10, locals[0], &positions);
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_OK);
    assert_int_equal(t.count, 9);
    assert_int_equal(t.pose_of[9], t.pose_of[4]);
    assert_int_equal(t.pose_of[0], 0);
    positions[9 * n + 5] += 0.1f;
    assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "train:4"));
    assert_non_null(strstr(error.text, "train:9"));
    character_free(bundle);
}

static void an_example_set_without_the_rest_pose_gets_it(void **state) {
    (void)state;
    pelt_transform locals[10][6];
    pelt_fitting f;
    pelt_distinct_poses t;
    pelt_error error;
    limb_and_spine(locals);
    pelt_bundle *bundle = rigged(&f, 9, locals[1], NULL);
    assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_OK);
    assert_int_equal(t.count, 10);
    for (size_t i = 0; i < 3 * (size_t)t.displacements.point_count; i++) assert_true(t.shapes[i] == 0);
    character_free(bundle);
}

/* -- Sources of movement ------------------------------------------------------------------------------------------- */

enum { JOINTS = 4, TUBE = 64, FRAMES = 9, SLID = 7 };

/* Rest; joint 1 alone; joint 2 alone; both; joint 3, which never turns alone; joint 2 slides; frame 2 once more. */
static const double turned[FRAMES][JOINTS] = {{0},           {0, 20, 0, 0},  {0, 40, 0, 0},  {0, -30, 0, 0},
                                              {0, 0, 30, 0}, {0, 40, 30, 0}, {0, 20, 0, 25}, {0},
                                              {0, 40, 0, 0}};

/* The effect of joint 3 shows only at the lower end, which follows the root. */
static void known_bumps(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        double y = bundle->mesh.positions[3 * v + 1];
        d[3 * v] = 0.004 * angles[1] * (y > 1) + 0.002 * angles[2] * (y > 2);
        d[3 * v + 2] = 0.01 * (y < 0.3) * (angles[3] > 0);
    }
}

static pelt_fitting known_fitting(pelt_bundle *bundle) {
    pelt_clip *clip = corrected_clip(bundle, "train", FRAMES, turned[0], known_bumps);
    float *slides = (float *)clip->channels[3 * 2 + PELT_TRANSLATION].values;
    slides[3 * SLID] += 0.24f, slides[3 * SLID + 2] -= 0.18f;
    for (uint32_t v = 8; v < 16; v++) /* the second ring follows the root: the last frame is not quite the third */
        ((float *)clip->positions)[3 * (8 * TUBE + v)] += 4e-4f * bundle->mesh.diagonal;
    return corrected_fitting(bundle, clip);
}

static void distinct_poses_are_means_and_know_which_lie_between_others(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, TUBE);
    pelt_fitting f = known_fitting(bundle);
    pelt_distinct_poses t;
    pelt_error error;
    assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_OK);
    assert_int_equal(t.count, FRAMES - 1);
    static const bool interior[] = {false, true, false, false, false, true, true, true};
    for (uint32_t p = 0; p < t.count; p++) {
        assert_int_equal(t.pose_of[p], p);
        assert_int_equal(t.interior[p], interior[p]);
        for (uint32_t j = 0; j < JOINTS; j++) {
            const float *r = t.rotations + 4 * (p * JOINTS + j), *x = t.translations + 3 * (p * JOINTS + j);
            assert_near(pelt_rotation_angle(r, character_turn(0, 0, 1, turned[p][j]).rotation), 0, 1e-6);
            assert_near(x[0], p == SLID && j == 2 ? 0.24 : 0, 1e-6);
            assert_near(x[1], j > 0, 1e-6);
            assert_near(x[2], p == SLID && j == 2 ? -0.18 : 0, 1e-6);
        }
        for (uint32_t v = 0; v < TUBE && p != SLID; v++) {
            double d[3 * TUBE] = {0}, extra = p == 2 && v >= 8 && v < 16 ? 2e-4 * bundle->mesh.diagonal : 0;
            known_bumps(bundle, turned[p], d);
            const double *own = t.shapes + 3 * (p * t.displacements.point_count + t.displacements.point_of[v]);
            for (int i = 0; i < 3; i++) assert_near(own[i], d[3 * v + i] + (i ? 0 : extra), 1e-5);
        }
    }
    assert_int_equal(t.pose_of[8], 2);
    assert_int_equal(pelt_pose_example(&t, 2), 2);
    pelt_arena_free(f.arena), character_free(bundle);
}

/* Known from sweeps if there are any; otherwise estimated from the blend, as a fraction of what is known there. */
static void sources_have_distances_and_drive_points(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, TUBE);
    pelt_fitting f = known_fitting(bundle);
    pelt_distinct_poses t;
    pelt_sources s;
    pelt_error error;
    assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_OK);
    pelt_sources_of(&f, &t, &s);
    pelt_distances_apart(f.arena, &t, &s);
    const double weights[4] = {1, 0.5, 2, 3}, *together = pelt_distances_together(f.arena, &t, &s, weights);
    size_t n = t.count;
    double *sums = PELT_NEW(f.arena, n * n, double);
    assert_true(s.count == 4 && s.axis_count == 4);
    for (uint32_t k = 0; k < 4; k++) {
        assert_true(s.list[k].first_axis == k && s.list[k].axis_count == 1);
        assert_int_equal(s.axes[k].kind, k < 3 ? PELT_AXIS_CHORD : PELT_AXIS_TRANSLATION);
        assert_int_equal(s.axes[k].joint, k < 3 ? k + 1 : 2);
        assert_near(s.axes[k].weight, k < 3 ? 1 : 1 / 0.09, 1e-4);
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++) {
                double chord =
                    k < 3 ? 2 * sin((turned[a][k + 1] - turned[b][k + 1]) * acos(-1) / 360) : (a == SLID) - (b == SLID);
                assert_near(s.distances[(k * n + a) * n + b], chord * chord, 1e-5);
                sums[a * n + b] += weights[k] * chord * chord;
            }
    }
    for (size_t i = 0; i < n * n; i++) assert_near(together[i], sums[i], 2e-5);
    const pelt_influences *in = &bundle->mesh.influences;
    double diagonal = bundle->mesh.diagonal;
    for (uint32_t i = 0; i < t.displacements.point_count; i++) {
        uint32_t v = t.displacements.vertex_of[i];
        const float *row = s.driving + 4 * (size_t)i;
        double y = bundle->mesh.positions[3 * v + 1], on[JOINTS] = {0};
        for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) on[in->joints[k]] += in->weights[k];
        double first = y > 1 ? 0.16 : v >= 8 && v < 16 ? 4e-4 * diagonal : 0, second = y > 2 ? 0.06 : 0;
        double part = fmin(0.5 * fmax(first, second) + 2e-4 * diagonal, 1e-3 * diagonal);
        bool unknown = v < 8; /* displaced, but by nothing known, and no moving joint carries it */
        assert_near(row[0], first, 2e-6);
        assert_near(row[1], second, 2e-6);
        assert_near(row[2], unknown ? 1e-4 * diagonal : (on[3] + on[2]) * part, 2e-6);
        assert_near(row[3], (on[2] + on[1]) * part, 2e-6);
    }
    pelt_arena_free(f.arena), character_free(bundle);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

enum { N = 12, M = 5 };

static void random_problem(double phi[N * N], double values[N * M], uint64_t *seed) {
    double x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = 3 * test_random(seed), y[i] = 3 * test_random(seed);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            phi[i * N + k] = exp(-sqrt((x[i] - x[k]) * (x[i] - x[k]) + (y[i] - y[k]) * (y[i] - y[k])));
    for (int i = 0; i < N * M; i++) values[i] = test_random(seed) - 0.5;
}

/* Solves the interpolation without pose e and evaluates it there, normalised. */
static double left_out_error(const double *phi, const double *values, size_t e, double norm_floor) {
    double part[(N - 1) * (N - 1)], right[(N - 1) * (M + 1)], sum = 0, norm = 0, d[M] = {0};
    for (size_t i = 0, r = 0; i < N; i++) {
        if (i == e) continue;
        for (size_t k = 0, c = 0; k < N; k++)
            if (k != e) part[r * (N - 1) + c++] = phi[i * N + k];
        for (size_t k = 0; k < M; k++) right[r * (M + 1) + k] = values[i * M + k];
        right[r++ * (M + 1) + M] = 1;
    }
    assert_true(pelt_cholesky(N - 1, part));
    pelt_cholesky_solve(N - 1, part, M + 1, right);
    for (size_t i = 0, r = 0; i < N; i++) {
        if (i == e) continue;
        for (size_t k = 0; k < M; k++) d[k] += phi[e * N + i] * right[r * (M + 1) + k];
        norm += phi[e * N + i] * right[r++ * (M + 1) + M];
    }
    double guard = !(norm_floor > 0) ? 1 : norm > norm_floor ? 1 / norm : fmax(norm, 0) / (norm_floor * norm_floor);
    for (size_t k = 0; k < M; k++) sum += pow(d[k] * guard - values[e * M + k], 2);
    return sum;
}

static void leave_one_out_equals_solving_without_each_pose(void **state) {
    (void)state;
    uint64_t seed = 21;
    double phi[N * N], values[N * M], copy[N * N], growth;
    bool marked[N];
    pelt_arena *arena = pelt_arena_new(0);
    random_problem(phi, values, &seed);
    for (int which = 0; which < 3; which++) {
        double expected = 0, norm_floor = 0.45 * which; /* some norms lie below the largest */
        for (size_t e = 0; e < N; e++) {
            marked[e] = e % 3 != 0;
            if (marked[e]) expected += left_out_error(phi, values, e, norm_floor);
        }
        memcpy(copy, phi, sizeof copy);
        assert_near(pelt_leave_one_out(arena, N, copy, M, values, marked, norm_floor, &growth), expected, 1e-9);
        double inverse[N * N] = {0}, most = 0;
        for (size_t i = 0; i < N; i++) inverse[i * N + i] = 1;
        memcpy(copy, phi, sizeof copy);
        assert_true(pelt_least_squares(N, N, copy, N, inverse, 1e-14));
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t k = 0; k < N; k++) sum += fabs(inverse[i * N + k]);
            most = fmax(most, sum);
        }
        assert_near(growth, most, 1e-6 * most);
    }
    assert_true(isinf(pelt_leave_one_out(arena, 2, (double[]){1, 1, 1, 1}, M, values, marked, 0.1, &growth)));
    assert_true(isinf(growth));
    pelt_arena_free(arena);
}

/* The residual of the values after the best fit by some columns. */
static double residual(const double *phi, const double *values, const uint32_t *columns, size_t count) {
    double a[N * N], b[N * M], sum = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < count; k++) a[i * count + k] = phi[i * N + columns[k]];
    memcpy(b, values, sizeof b);
    assert_true(pelt_least_squares(N, count, a, M, b, 1e-12));
    for (size_t i = 0; i < N; i++)
        for (size_t m = 0; m < M; m++) {
            double fitted = 0;
            for (size_t k = 0; k < count; k++) fitted += phi[i * N + columns[k]] * b[k * M + m];
            sum += pow(values[i * M + m] - fitted, 2);
        }
    return sum;
}

static void each_chosen_column_is_the_one_that_helps_most(void **state) {
    (void)state;
    uint64_t seed = 22;
    double phi[N * N], values[N * M], phi_copy[N * N], values_copy[N * M];
    uint32_t chosen[5] = {7};
    random_problem(phi, values, &seed);
    memcpy(phi_copy, phi, sizeof phi), memcpy(values_copy, values, sizeof values);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_choose_columns(arena, N, N, phi_copy, M, values_copy, 1, 5, chosen);
    pelt_arena_free(arena);
    assert_int_equal(chosen[0], 7);
    for (size_t k = 1; k < 5; k++) {
        double own = residual(phi, values, chosen, k + 1);
        for (uint32_t other = 0; other < N; other++) {
            uint32_t trial[5];
            memcpy(trial, chosen, sizeof trial);
            trial[k] = other;
            bool new = true;
            for (size_t i = 0; i < k; i++) new &= chosen[i] != other;
            if (new) assert_true(own <= residual(phi, values, trial, k + 1) + 1e-9);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_that_always_move_together_are_one_mover),
        cmocka_unit_test(a_rotation_and_its_negative_are_the_same_distance),
        cmocka_unit_test(displacements_carry_the_rest_pose_to_every_example),
        cmocka_unit_test(a_blend_that_collapses_gives_bounded_displacements_and_is_counted),
        cmocka_unit_test(vertices_of_a_seam_are_one_point_unless_something_tells_them_apart),
        cmocka_unit_test(examples_in_one_pose_are_merged_or_refused),
        cmocka_unit_test(an_example_set_without_the_rest_pose_gets_it),
        cmocka_unit_test(distinct_poses_are_means_and_know_which_lie_between_others),
        cmocka_unit_test(sources_have_distances_and_drive_points),
        cmocka_unit_test(leave_one_out_equals_solving_without_each_pose),
        cmocka_unit_test(each_chosen_column_is_the_one_that_helps_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
