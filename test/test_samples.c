/* test_samples.c: the samples are clean meshes, and their truths have the intended properties. */

#include "samples/samples.h"
#include "test/test.h"
#include <pelt/export.h>

static pelt_bundle *make(const char *name, uint32_t vertices, uint32_t frames) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(
        &(pelt_sample_options){.name = name, .vertices = vertices, .frames = frames, .seed = 1}, &error);
    if (!bundle) print_error("%s\n", error.text);
    assert_non_null(bundle);
    return bundle;
}

static const float *frame_positions(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame) {
    return clip->positions + 3 * (size_t)bundle->mesh.vertex_count * frame;
}

/* Joint matrices and linear blend of a frame. */
static void blend_frame(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame, pelt_affine matrices[64],
                        double *blended) {
    pelt_transform locals[64];
    pelt_clip_pose(clip, &bundle->skeleton, frame, locals);
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    if (blended) pelt_blend_mesh(&bundle->mesh, matrices, blended);
}

static double volume(const pelt_mesh *mesh, const float *positions) {
    double sum = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const float *p[3];
        for (int k = 0; k < 3; k++) p[k] = positions + 3 * (size_t)mesh->triangles[3 * t + (size_t)k];
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            sum += p[0][i] * ((double)p[1][j] * p[2][k] - (double)p[1][k] * p[2][j]) / 6;
        }
    }
    return sum;
}

static float *rounded(const double *values, size_t count) {
    float *out = malloc(count * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) out[i] = (float)values[i];
    return out;
}

/* -- Meshes -------------------------------------------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every directed edge occurs once, and so does its reverse. Checks Euler's formula for this many closed surfaces. */
static void assert_closed(const pelt_mesh *mesh, uint32_t surfaces) {
    size_t count = 3 * (size_t)mesh->triangle_count;
    uint64_t *edges = malloc(count * sizeof *edges);
    assert_non_null(edges);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = mesh->triangles[i], to = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        assert_true(from < mesh->vertex_count && from != to);
        edges[i] = from << 32 | to;
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        uint64_t reverse = edges[i] << 32 | edges[i] >> 32;
        if (i) assert_true(edges[i] != edges[i - 1]);
        assert_non_null(bsearch(&reverse, edges, count, sizeof *edges, compare_edges));
    }
    assert_int_equal(mesh->vertex_count + mesh->triangle_count - count / 2, 2 * surfaces);
    free(edges);
}

static void meshes_are_closed_outward_and_have_the_exact_number_of_vertices(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t vertices, surfaces;
    } cases[] = {{"arm", 2972, 1},       {"arm", 11574, 1},      {"arm", 46036, 1}, {"arm", 100, 1},
                 {"box", 3001, 1},       {"box", 100, 1},        {"elbow", 997, 1}, {"humanoid", 100, 15},
                 {"humanoid", 4099, 15}, {"humanoid", 11574, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_bundle *bundle = make(cases[i].name, cases[i].vertices, 1);
        assert_int_equal(bundle->mesh.vertex_count, cases[i].vertices);
        assert_closed(&bundle->mesh, cases[i].surfaces);
        assert_true(volume(&bundle->mesh, bundle->mesh.positions) > 0);
        pelt_arena_free(bundle->arena);
    }
}

static void the_volume_of_the_tube_and_of_the_arm_is_that_of_their_shapes(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", 20000, 1);
    double pi = acos(-1), r = 0.5, length = 6.5;
    double capsule = pi * r * r * (length - 2 * r) + 4 * pi * r * r * r / 3;
    assert_near(volume(&bundle->mesh, bundle->mesh.positions) / capsule, 1, 0.01);
    pelt_arena_free(bundle->arena);

    bundle = make("arm", 11574, 1); /* an arm and its shoulder: four to nine litres */
    double litres = 1000 * volume(&bundle->mesh, bundle->mesh.positions);
    assert_true(litres > 4 && litres < 9);
    pelt_arena_free(bundle->arena);
}

/* The hand is meshed on a grid: it is one closed surface at any fineness, with nearly as many vertices as asked for. */
static void the_hand_is_one_closed_surface(void **state) {
    (void)state;
    static const uint32_t sizes[] = {2000, 2500, 3300, 5000, 7001, 12000, 30000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pelt_bundle *bundle = make("hand", sizes[i], 1);
        assert_true(bundle->mesh.vertex_count <= sizes[i] && bundle->mesh.vertex_count > 0.95 * sizes[i]);
        assert_closed(&bundle->mesh, 1);
        double litres = 1000 * volume(&bundle->mesh, bundle->mesh.positions); /* with some of the forearm */
        assert_true(litres > 0.25 && litres < 0.5);
        pelt_arena_free(bundle->arena);
    }
}

/* Each example but the first moves one joint, over the range of one degree of freedom; grasps move all 15 of the
   fingers, never the palm, and stay within the ranges. */
static void the_hand_sweeps_one_joint_at_a_time_and_grasps_with_all(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = "hand", .vertices = 2000, .seed = 1}, &error);
    assert_non_null(bundle);
    uint32_t joints = bundle->skeleton.joint_count, by_joint[64] = {0};
    assert_int_equal(joints, 16);
    for (uint32_t c = 0; c < 2; c++)
        for (uint32_t f = 0; f < bundle->clips[c]->frame_count; f++) {
            pelt_transform locals[64];
            uint32_t moved = 0;
            pelt_clip_pose(bundle->clips[c], &bundle->skeleton, f, locals);
            for (uint32_t j = 0; j < joints; j++) {
                double angle = 2 * acos(fmin(1, fabs((double)locals[j].rotation[3]))) * 180 / acos(-1);
                if (angle > 0.5) moved++, by_joint[j] += c == 0;
                assert_true(angle < 75);
            }
            if (c == 0) assert_int_equal(moved, f > 0);
            if (c == 1) assert_true(moved >= 12);
        }
    assert_int_equal(by_joint[0], 0);
    for (uint32_t j = 1; j < joints; j++) assert_int_equal(by_joint[j], j % 3 == 1 ? 10 : 5);
    pelt_arena_free(bundle->arena);
}

/* 1 for an equilateral triangle, 0 for a sliver. */
static double triangle_quality(const pelt_mesh *mesh, size_t t) {
    double u[3], v[3], squares = 0, area = 0;
    const float *p[3];
    for (size_t k = 0; k < 3; k++) p[k] = mesh->positions + 3 * (size_t)mesh->triangles[3 * t + k];
    for (int i = 0; i < 3; i++) {
        u[i] = p[1][i] - p[0][i], v[i] = p[2][i] - p[0][i];
        squares += u[i] * u[i] + v[i] * v[i] + (u[i] - v[i]) * (u[i] - v[i]);
    }
    for (int i = 0; i < 3; i++) area += pow(u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3], 2);
    return 2 * sqrt(3) * sqrt(area) / squares;
}

static void triangles_are_even(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) { /* a right-angled half of a square has 0.866 */
        pelt_bundle *bundle = make(pelt_sample_names[i], 2972, 1);
        double sum = 0;
        for (size_t t = 0; t < bundle->mesh.triangle_count; t++) sum += triangle_quality(&bundle->mesh, t);
        assert_true(sum / bundle->mesh.triangle_count > 0.8);
        pelt_arena_free(bundle->arena);
    }
}

/* -- Bundles ------------------------------------------------------------------------------------------------------- */

static void the_rest_pose_gives_the_rest_mesh_in_truth_and_in_the_blend(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++) {
        pelt_bundle *bundle = make(pelt_sample_names[i], 1500, 3);
        size_t count = 3 * (size_t)bundle->mesh.vertex_count;
        double *blended = malloc(count * sizeof *blended);
        pelt_affine matrices[64];
        blend_frame(bundle, bundle->clips[0], 0, matrices, blended);
        for (size_t k = 0; k < count; k++) {
            assert_near(bundle->clips[0]->positions[k], bundle->mesh.positions[k], 1e-6);
            assert_near(blended[k], bundle->mesh.positions[k], 1e-6);
        }
        free(blended);
        pelt_arena_free(bundle->arena);
    }
}

static void influences_are_at_most_four_sum_to_one_and_come_largest_first(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++) {
        pelt_bundle *bundle = make(pelt_sample_names[i], 1000, 1);
        const pelt_influences *in = &bundle->mesh.influences;
        for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
            double sum = 0;
            uint32_t count = in->first[v + 1] - in->first[v];
            assert_true(count >= 1 && count <= 4);
            if (!strcmp(pelt_sample_names[i], "humanoid")) assert_int_equal(count, 4);
            for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) {
                assert_true(in->joints[k] < bundle->skeleton.joint_count && in->weights[k] >= 0);
                if (k > in->first[v]) assert_true(in->weights[k] <= in->weights[k - 1]);
                sum += in->weights[k];
            }
            assert_near(sum, 1, 1e-6);
        }
        pelt_arena_free(bundle->arena);
    }
}

static void clips_have_keys_30_times_a_second_for_the_joints_that_move(void **state) {
    (void)state;
    pelt_bundle *bundle = make("arm", 500, 0);
    assert_string_equal(bundle->path, "arm.glb");
    assert_int_equal(bundle->clip_count, 2);
    for (int c = 0; c < 2; c++) {
        const pelt_clip *clip = bundle->clips[c];
        assert_string_equal(clip->name, c ? "test" : "train");
        assert_int_equal(clip->frame_count, c ? 60 : 100);
        assert_int_equal(clip->channel_count, bundle->skeleton.joint_count - 1); /* the collar stays */
        for (uint32_t k = 0; k < clip->channel_count; k++) {
            assert_int_equal(clip->channels[k].interpolation, c ? PELT_LINEAR : PELT_STEP);
            assert_int_equal(clip->channels[k].key_count, clip->frame_count);
            assert_true(clip->channels[k].joint != 0);
        }
        for (uint32_t f = 0; f < clip->frame_count; f++) assert_near(clip->times[f], f / 30.0, 1e-6);
    }
    pelt_arena_free(bundle->arena);

    bundle = make("humanoid", 500, 0);
    assert_int_equal(bundle->skeleton.joint_count, 53);
    pelt_arena_free(bundle->arena);
}

/* Largest angle between the rotations of two poses, or difference of their controls. */
static double pose_distance(const pelt_bundle *bundle, uint32_t train_frame, uint32_t test_frame) {
    pelt_transform a[64], b[64];
    double largest = 0;
    pelt_clip_pose(bundle->clips[0], &bundle->skeleton, train_frame, a);
    pelt_clip_pose(bundle->clips[1], &bundle->skeleton, test_frame, b);
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) {
        double dot = 0;
        for (int i = 0; i < 4; i++) dot += (double)a[j].rotation[i] * b[j].rotation[i];
        largest = fmax(largest, 2 * acos(fmin(1, fabs(dot))));
    }
    for (uint32_t i = 0; i < bundle->controls.count; i++)
        largest = fmax(largest, fabs(bundle->clips[0]->controls[train_frame * bundle->controls.count + i] -
                                     bundle->clips[1]->controls[test_frame * bundle->controls.count + i]));
    return largest;
}

static void no_test_pose_is_a_training_pose(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++) {
        pelt_bundle *bundle = make(pelt_sample_names[i], 100, 0);
        for (uint32_t a = 0; a < bundle->clips[0]->frame_count; a++)
            for (uint32_t b = 0; b < bundle->clips[1]->frame_count; b++)
                assert_true(pose_distance(bundle, a, b) > 1e-3);
        pelt_arena_free(bundle->arena);
    }
}

static void motions_are_smooth(void **state) {
    (void)state;
    pelt_bundle *bundle = make("arm", 500, 0);
    const pelt_clip *test = bundle->clips[1];
    size_t count = 3 * (size_t)bundle->mesh.vertex_count;
    for (uint32_t f = 1; f < test->frame_count; f++) { /* no vertex moves by more than a tenth of the arm in a frame */
        const float *a = frame_positions(bundle, test, f - 1), *b = frame_positions(bundle, test, f);
        for (size_t k = 0; k < count; k++) assert_near(a[k], b[k], 0.1);
    }
    pelt_arena_free(bundle->arena);
}

/* -- Truths -------------------------------------------------------------------------------------------------------- */

/* Where low < x < high at rest, the truth is the motion of that joint. */
static void assert_rigid(const pelt_bundle *bundle, double low, double high, uint32_t joint) {
    uint32_t checked = 0;
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        for (uint32_t f = 0; f < bundle->clips[c]->frame_count; f++) {
            const float *truth = frame_positions(bundle, bundle->clips[c], f);
            pelt_affine matrices[64];
            blend_frame(bundle, bundle->clips[c], f, matrices, NULL);
            for (size_t v = 0; v < bundle->mesh.vertex_count; v++) {
                const float *p = bundle->mesh.positions + 3 * v;
                double moved[3];
                if (p[0] <= low || p[0] >= high) continue;
                pelt_affine_point(&matrices[joint], (double[3]){p[0], p[1], p[2]}, moved);
                for (size_t i = 0; i < 3; i++) assert_near(truth[3 * v + i], moved[i], 2e-6 * bundle->mesh.diagonal);
                checked++;
            }
        }
    assert_true(checked > 0);
}

static void far_from_the_joints_the_truth_is_the_motion_of_the_bone(void **state) {
    (void)state;
    pelt_bundle *bundle = make("box", 1000, 0);
    assert_rigid(bundle, -4, -2.01, 0);
    assert_rigid(bundle, 2.01, 4, 1);
    pelt_arena_free(bundle->arena);
    bundle = make("elbow", 1000, 0);
    assert_rigid(bundle, -4, -2.26, 0);
    assert_rigid(bundle, 2.26, 4, 1);
    pelt_arena_free(bundle->arena);
    bundle = make("arm", 2972, 30);
    assert_rigid(bundle, -0.015, 0.1, 0);    /* the cut */
    assert_rigid(bundle, -0.776, -0.761, 3); /* the palm */
    assert_rigid(bundle, -1, -0.865, 4);     /* the finger tips */
    pelt_arena_free(bundle->arena);
}

/* Vertices of a ring follow each other and share their rest x. */
static uint32_t ring_end(const pelt_mesh *mesh, uint32_t begin) {
    uint32_t end = begin + 1;
    while (end < mesh->vertex_count && mesh->positions[3 * (size_t)end] == mesh->positions[3 * (size_t)begin]) end++;
    return end;
}

static double ring_area(const float *positions, uint32_t begin, uint32_t end) {
    double sum = 0;
    for (uint32_t v = begin; v < end; v++) {
        const float *p = positions + 3 * (size_t)v, *q = positions + 3 * (size_t)(v + 1 < end ? v + 1 : begin);
        sum += ((double)p[1] * q[2] - (double)p[2] * q[1]) / 2;
    }
    return sum;
}

static void the_twisting_box_keeps_its_section_and_the_linear_blend_loses_it(void **state) {
    (void)state;
    pelt_bundle *bundle = make("box", 3000, 0);
    const pelt_mesh *mesh = &bundle->mesh;
    const pelt_clip *train = bundle->clips[0];
    double corner = 0.12, area = 1 - (4 - acos(-1)) * corner * corner; /* unit square with rounded corners */
    double *blended = malloc(3 * (size_t)mesh->vertex_count * sizeof *blended), least = 1;
    pelt_affine matrices[64];
    blend_frame(bundle, train, train->frame_count - 1, matrices, blended);
    float *blend = rounded(blended, 3 * (size_t)mesh->vertex_count);
    for (uint32_t v = 0, end; v < mesh->vertex_count; v = end) {
        end = ring_end(mesh, v);
        if (fabs(mesh->positions[3 * (size_t)v]) > 2.8) continue;
        for (uint32_t f = 0; f < train->frame_count; f++)
            assert_near(ring_area(frame_positions(bundle, train, f), v, end) / area, 1, 0.005);
        least = fmin(least, ring_area(blend, v, end) / area);
    }
    assert_true(least < 0.5);
    free(blend);
    free(blended);
    pelt_arena_free(bundle->arena);
}

static void the_bending_tube_keeps_its_volume_and_the_linear_blend_does_not(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", 2000, 0);
    const pelt_mesh *mesh = &bundle->mesh;
    double whole = volume(mesh, mesh->positions), least = 1;
    double *blended = malloc(3 * (size_t)mesh->vertex_count * sizeof *blended);
    pelt_affine matrices[64];
    for (uint32_t c = 0; c < 2; c++)
        for (uint32_t f = 0; f < bundle->clips[c]->frame_count; f++) {
            assert_near(volume(mesh, frame_positions(bundle, bundle->clips[c], f)) / whole, 1, 0.01);
            blend_frame(bundle, bundle->clips[c], f, matrices, blended);
            float *blend = rounded(blended, 3 * (size_t)mesh->vertex_count);
            least = fmin(least, volume(mesh, blend) / whole);
            free(blend);
        }
    assert_true(least < 0.93);
    free(blended);
    pelt_arena_free(bundle->arena);
}

/* Middle of a ring and its normal (by Newell's sum). */
static void ring_plane(const float *positions, uint32_t begin, uint32_t end, double middle[3], double normal[3]) {
    double length = 0;
    for (int i = 0; i < 3; i++) middle[i] = normal[i] = 0;
    for (uint32_t v = begin; v < end; v++) {
        const float *p = positions + 3 * (size_t)v, *q = positions + 3 * (size_t)(v + 1 < end ? v + 1 : begin);
        for (int i = 0; i < 3; i++) {
            middle[i] += p[i] / (double)(end - begin);
            normal[i] += (double)p[(i + 1) % 3] * q[(i + 2) % 3] - (double)p[(i + 2) % 3] * q[(i + 1) % 3];
        }
    }
    for (int i = 0; i < 3; i++) length += normal[i] * normal[i];
    for (int i = 0; i < 3; i++) normal[i] /= sqrt(length);
}

static void neighbouring_sections_of_the_bent_tube_never_cross(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", 2000, 0);
    const pelt_mesh *mesh = &bundle->mesh;
    for (uint32_t f = 0; f < bundle->clips[0]->frame_count; f++) {
        const float *truth = frame_positions(bundle, bundle->clips[0], f);
        for (uint32_t v = 1, end; v < mesh->vertex_count - 1; v = end) {
            double middle[3], normal[3];
            end = ring_end(mesh, v);
            ring_plane(truth, v, end, middle, normal);
            for (uint32_t next = end; next < ring_end(mesh, end < mesh->vertex_count ? end : end - 1); next++) {
                double ahead = 0;
                for (int i = 0; i < 3; i++) ahead += (truth[3 * (size_t)next + (size_t)i] - middle[i]) * normal[i];
                assert_true(ahead > 0);
            }
        }
    }
    pelt_arena_free(bundle->arena);
}

static void the_limbs_of_the_bent_tube_touch_but_do_not_enter_each_other(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", 4000, 0);
    for (uint32_t f = 1; f < bundle->clips[0]->frame_count; f++) {
        const float *truth = frame_positions(bundle, bundle->clips[0], f);
        double angle = acos(-1) * 150 / 180 * f / (bundle->clips[0]->frame_count - 1);
        double across[2] = {cos(angle) + 1, sin(angle)}; /* the plane half-way between the bones at 180 and at angle */
        for (size_t v = 0; v < bundle->mesh.vertex_count; v++) {
            double x = bundle->mesh.positions[3 * v];
            double side = truth[3 * v] * across[0] + truth[3 * v + 1] * across[1];
            if (fabs(x) > 1e-4) assert_true(side * x > 0);
        }
    }
    pelt_arena_free(bundle->arena);
}

/* RMS and largest distance of the linear blend from the truth, as fractions of the diagonal. */
static void blend_error(const pelt_bundle *bundle, const pelt_clip *clip, double *rms, double *largest) {
    size_t n = bundle->mesh.vertex_count;
    double *blended = malloc(3 * n * sizeof *blended), sum = 0;
    pelt_affine matrices[64];
    *largest = 0;
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        const float *truth = frame_positions(bundle, clip, f);
        blend_frame(bundle, clip, f, matrices, blended);
        for (size_t v = 0; v < n; v++) {
            double square = 0;
            for (size_t i = 0; i < 3; i++) square += pow(truth[3 * v + i] - blended[3 * v + i], 2);
            sum += square;
            *largest = fmax(*largest, sqrt(square) / bundle->mesh.diagonal);
        }
    }
    *rms = sqrt(sum / (double)n / clip->frame_count) / bundle->mesh.diagonal;
    free(blended);
}

static void the_linear_blend_is_visibly_wrong_except_on_the_humanoid(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++) {
        pelt_bundle *bundle = make(pelt_sample_names[i], 2000, 0);
        bool exact = !strcmp(pelt_sample_names[i], "humanoid");
        double least = strcmp(pelt_sample_names[i], "biceps") ? 0.01 : 0.005; /* most of that arm never moves */
        for (int c = 0; c < 2; c++) {
            double rms, largest;
            blend_error(bundle, bundle->clips[c], &rms, &largest);
            if (exact)
                assert_near(largest, 0, 1e-6);
            else
                assert_true(rms > least && rms < 0.03 && largest > 0.04 && largest < 0.15);
        }
        pelt_arena_free(bundle->arena);
    }
}

static double edge_length(const float *positions, size_t a, size_t b) {
    const float *p = positions + 3 * a, *q = positions + 3 * b;
    return sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
}

/* A discontinuous deformation would stretch the edges across it without bound as the mesh is refined. */
static void the_skin_of_tube_and_arm_never_tears(void **state) {
    (void)state;
    for (int i = 1; i < 3; i++) {
        pelt_bundle *bundle = make(pelt_sample_names[i], 11574, 0);
        const pelt_mesh *mesh = &bundle->mesh;
        for (uint32_t f = 0; f < bundle->clips[0]->frame_count; f++) {
            const float *truth = frame_positions(bundle, bundle->clips[0], f);
            for (size_t t = 0; t < mesh->triangle_count; t++) {
                const uint32_t *corner = mesh->triangles + 3 * t;
                for (int k = 0; k < 3; k++) {
                    uint32_t a = corner[k], b = corner[(k + 1) % 3];
                    assert_true(edge_length(truth, a, b) < 2.5 * edge_length(mesh->positions, a, b));
                }
            }
        }
        pelt_arena_free(bundle->arena);
    }
}

/* The skin of the forearm rotates with the wrist gradually; a section near the wrist keeps its size. */
static void a_twisted_wrist_does_not_pinch_the_forearm(void **state) {
    (void)state;
    pelt_bundle *bundle = make("arm", 2972, 0);
    const pelt_mesh *mesh = &bundle->mesh;
    for (uint32_t f = 0; f < bundle->clips[0]->frame_count; f++) {
        pelt_transform locals[64];
        pelt_clip_pose(bundle->clips[0], &bundle->skeleton, f, locals);
        bool only_twist = fabsf(locals[3].rotation[0]) > 0.1f;
        for (int j = 1; j < 5; j++)
            for (int i = 0; i < 3; i++) only_twist &= (j == 3 && i == 0) || fabsf(locals[j].rotation[i]) < 1e-6f;
        if (!only_twist) continue;
        const float *truth = frame_positions(bundle, bundle->clips[0], f);
        for (size_t v = 0; v < mesh->vertex_count; v++) {
            const float *p = mesh->positions + 3 * v, *q = truth + 3 * v;
            if (p[0] < -0.45) assert_near(hypot(p[1], p[2]), hypot(q[1], q[2]), 1e-6);
        }
    }
    pelt_arena_free(bundle->arena);
}

/* A frame that tenses the muscle of the straight arm differs from the rest pose only in the biceps. */
static void the_tension_of_the_biceps_shows_in_no_joint(void **state) {
    (void)state;
    pelt_bundle *bundle = make("biceps", 2972, 0);
    const pelt_clip *clip = bundle->clips[0];
    uint32_t seen = 0;
    assert_int_equal(bundle->controls.count, 1);
    assert_string_equal(bundle->controls.names[0], "tension");
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_transform locals[64];
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        if (clip->controls[f] < 0.5f || fabsf(locals[2].rotation[2]) > 1e-6f) continue;
        const float *truth = frame_positions(bundle, clip, f);
        double largest = 0;
        for (size_t v = 0; v < bundle->mesh.vertex_count; v++) {
            const float *p = bundle->mesh.positions + 3 * v, *q = truth + 3 * v;
            double moved = sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
            if (p[0] > -0.20 || p[0] < -0.44) assert_near(moved, 0, 1e-6);
            largest = fmax(largest, moved);
        }
        assert_near(largest, 0.022 * clip->controls[f], 0.004); /* the rise; where it is highest a little is across */
        seen++;
    }
    assert_true(seen >= 4);
    pelt_arena_free(bundle->arena);
}

/* -- Determinism and refusals -------------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

static uint64_t sample_hash(const char *name, uint32_t seed) {
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){name, 500, 20, seed}, NULL);
    assert_non_null(bundle);
    const pelt_mesh *mesh = &bundle->mesh;
    uint64_t h = hash(14695981039346656037u, mesh->positions, 12 * (size_t)mesh->vertex_count);
    h = hash(h, mesh->triangles, 12 * (size_t)mesh->triangle_count);
    h = hash(h, mesh->influences.weights, 4 * (size_t)mesh->influences.first[mesh->vertex_count]);
    for (int c = 0; c < 2; c++)
        h = hash(h, bundle->clips[c]->positions, 12 * (size_t)mesh->vertex_count * bundle->clips[c]->frame_count);
    pelt_arena_free(bundle->arena);
    return h;
}

static void the_same_seed_gives_the_same_bytes_and_another_seed_other_poses(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++)
        assert_true(sample_hash(pelt_sample_names[i], 7) == sample_hash(pelt_sample_names[i], 7));
    assert_true(sample_hash("arm", 7) != sample_hash("arm", 8));
}

static void assert_refused(pelt_sample_options options, const char *word) {
    pelt_error error = {0};
    assert_null(pelt_sample_make(&options, &error));
    assert_int_equal(error.code, PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, word));
    assert_null(pelt_sample_make(&options, NULL));
}

static void unknown_names_and_absurd_sizes_are_refused_with_a_sentence(void **state) {
    (void)state;
    for (int i = 0; pelt_sample_names[i]; i++)
        assert_refused((pelt_sample_options){.name = "leg"}, pelt_sample_names[i]);
    assert_refused((pelt_sample_options){0}, "humanoid");
    assert_refused((pelt_sample_options){.name = "arm", .vertices = 99}, "99");
    assert_refused((pelt_sample_options){.name = "box", .vertices = 4000001}, "4000000");
    assert_refused((pelt_sample_options){.name = "elbow", .vertices = 100, .frames = UINT32_MAX}, "fewer");
    assert_refused((pelt_sample_options){.name = "arm", .vertices = 4000000, .frames = 1000}, "fewer");
}

/* -- Split vertices ------------------------------------------------------------------------------------------------ */

/* Every variant is the same surface in the same motion: its triangles have the corners of the whole mesh, in order. */
static void variants_are_the_same_shape_with_more_vertices(void **state) {
    (void)state;
    pelt_bundle *whole = make("box", 400, 3);
    for (int k = 0; pelt_sample_variants[k]; k++) {
        pelt_error error = {0};
        pelt_sample_options options = {
            .name = "box", .vertices = 400, .frames = 3, .seed = 1, .variant = pelt_sample_variants[k]};
        pelt_bundle *split = pelt_sample_make(&options, &error);
        if (!split) fail_msg("%s", error.text);
        bool alone = !strcmp(options.variant, "split") || !strcmp(options.variant, "flat");
        uint32_t n = split->mesh.vertex_count;
        assert_int_equal(split->mesh.triangle_count, whole->mesh.triangle_count);
        assert_true(alone ? n == 3 * whole->mesh.triangle_count : n > 410 && n < 700);
        for (uint32_t i = 0; i < 3 * whole->mesh.triangle_count; i++) {
            uint32_t a = whole->mesh.triangles[i], b = split->mesh.triangles[i];
            assert_memory_equal(whole->mesh.positions + 3 * a, split->mesh.positions + 3 * b, 12);
            for (uint32_t f = 0; f < 3; f++)
                assert_memory_equal(frame_positions(whole, whole->clips[1], f) + 3 * a,
                                    frame_positions(split, split->clips[1], f) + 3 * b, 12);
            bool same = !memcmp(whole->mesh.normals + 3 * a, split->mesh.normals + 3 * b, 12);
            if (k < 3) assert_true(same); /* seam, mirror, split: twins shade as one */
        }
        pelt_bundle_free(split);
    }
    pelt_error error = {0};
    assert_null(pelt_sample_make(&(pelt_sample_options){.name = "box", .variant = "torn"}, &error));
    assert_non_null(strstr(error.text, "torn: there is no such variant"));
    pelt_bundle_free(whole);
}

/* -- A known deformation ------------------------------------------------------------------------------------------- */

/* A bone along x that twists by t: a vertex that follows only it, at s along it, is rotated by s t, the part before it
   on the parent not at all; bent by b it swells by 1 + 0.5 * 16 s^2 (1 - s)^2 sin^2(b / 2), and then follows the
   bone. */
static void a_known_deformation_twists_limbs_evenly_and_swells_them(void **state) {
    (void)state;
    enum { VERTICES = 6 };
    float rest[VERTICES][3] = {{-0.5f, 0.2f, 0}, {0.25f, 0.2f, 0}, {0.5f, 0.2f, 0},
                               {0.5f, 0, 0.2f},  {1, 0.2f, 0},     {0, 0, 0}};
    uint32_t triangles[2][3] = {{0, 1, 2}, {3, 4, 5}}, joints[VERTICES] = {0, 1, 1, 1, 1, 1};
    float weights[VERTICES] = {1, 1, 1, 1, 1, 1};
    pelt_transform bones[3] = {{{0, 0, 0, 1}, {-1, 0, 0}, {1, 1, 1}},
                               {{0, 0, 0, 1}, {1, 0, 0}, {1, 1, 1}},
                               {{0, 0, 0, 1}, {1, 0, 0}, {1, 1, 1}}};
    pelt_character character = {.vertex_count = VERTICES,
                                .triangle_count = 2,
                                .joint_count = 3,
                                .influences_per_vertex = 1,
                                .positions = rest[0],
                                .triangles = triangles[0],
                                .joints = joints,
                                .weights = weights,
                                .parents = (int32_t[]){-1, 0, 1},
                                .rest = bones};
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_new(&character, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_int_equal(pelt_sample_known(bundle, &(pelt_sample_options){.frames = 5}, &error), PELT_OK);
    const pelt_clip *clip = bundle->clips[0]; /* rest, bent, bent another way, twisted, both; then five */
    assert_int_equal(bundle->clip_count, 2);
    assert_int_equal(clip->frame_count, 10);
    for (uint32_t f = 0; f < 10; f++) {
        pelt_transform pose[3];
        pelt_clip_pose(clip, &bundle->skeleton, f, pose);
        const float *q = pose[1].rotation;
        double twist = 2 * atan2(q[0], q[3]), bend = 2 * acos(fmin(1, hypot(q[0], q[3])));
        if (f == 1 || f == 2) assert_near(bend * 180 / acos(-1), 35, 1e-3);
        if (f == 3) assert_near(twist * 180 / acos(-1), 45, 1e-3);
        pelt_affine matrices[3];
        pelt_joint_matrices(&bundle->skeleton, pose, NULL, matrices);
        for (int v = 0; v < VERTICES; v++) {
            double s = fmin(1, fmax(0, rest[v][0])), angle = (s - 1) * twist;
            double swell = 1 + 8 * s * s * (1 - s) * (1 - s) * pow(sin(bend / 2), 2);
            double y = swell * rest[v][1], z = swell * rest[v][2], out[3];
            double point[3] = {rest[v][0], cos(angle) * y - sin(angle) * z, sin(angle) * y + cos(angle) * z};
            if (v == 0) point[1] = rest[v][1], point[2] = rest[v][2]; /* the root does not move */
            pelt_affine_point(&matrices[joints[v]], point, out);
            for (int i = 0; i < 3; i++) assert_near(frame_positions(bundle, clip, f)[3 * v + i], out[i], 1e-5);
        }
    }
    pelt_bundle_free(bundle);
    joints[0] = 1; /* now nothing stays behind */
    bundle = pelt_bundle_new(&character, &error);
    assert_int_not_equal(pelt_sample_known(bundle, &(pelt_sample_options){0}, &error), PELT_OK);
    assert_non_null(strstr(error.text, "no joint moves part of its skin"));
    pelt_bundle_free(bundle);
}

/* Its file binds the mesh in another pose than the one at rest, which the sample is bound in. */
static void a_character_that_is_bound_anew_has_no_second_bind(void **state) {
    (void)state;
    pelt_error error = {0};
    const char *file = test_data("chars/CesiumMan.glb");
    char path[256];
    if (!file) skip();
    pelt_bundle *bundle = pelt_bundle_read(file, &error);
    if (!bundle) fail_msg("%s", error.text);
    uint32_t joints = bundle->skeleton.joint_count;
    assert_int_equal(pelt_sample_known(bundle, &(pelt_sample_options){.frames = 2}, &error), PELT_OK);
    snprintf(path, sizeof path, "%s/man.glb", test_folder());
    assert_int_equal(pelt_export_bundle(bundle, path, &error), PELT_OK);
    pelt_bundle *again = pelt_bundle_read(path, &error);
    if (!again) fail_msg("%s", error.text);
    assert_int_equal(again->skeleton.joint_count, joints);
    for (uint32_t j = 0; j < joints; j++)
        for (int i = 0; i < 12; i++)
            assert_near(again->skeleton.inverse_bind[j][i], bundle->skeleton.inverse_bind[j][i], 1e-5);
    pelt_bundle_free(again), pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_are_closed_outward_and_have_the_exact_number_of_vertices),
        cmocka_unit_test(the_volume_of_the_tube_and_of_the_arm_is_that_of_their_shapes),
        cmocka_unit_test(the_hand_is_one_closed_surface),
        cmocka_unit_test(the_hand_sweeps_one_joint_at_a_time_and_grasps_with_all),
        cmocka_unit_test(triangles_are_even),
        cmocka_unit_test(the_rest_pose_gives_the_rest_mesh_in_truth_and_in_the_blend),
        cmocka_unit_test(influences_are_at_most_four_sum_to_one_and_come_largest_first),
        cmocka_unit_test(clips_have_keys_30_times_a_second_for_the_joints_that_move),
        cmocka_unit_test(no_test_pose_is_a_training_pose),
        cmocka_unit_test(motions_are_smooth),
        cmocka_unit_test(far_from_the_joints_the_truth_is_the_motion_of_the_bone),
        cmocka_unit_test(the_twisting_box_keeps_its_section_and_the_linear_blend_loses_it),
        cmocka_unit_test(the_bending_tube_keeps_its_volume_and_the_linear_blend_does_not),
        cmocka_unit_test(neighbouring_sections_of_the_bent_tube_never_cross),
        cmocka_unit_test(the_limbs_of_the_bent_tube_touch_but_do_not_enter_each_other),
        cmocka_unit_test(the_linear_blend_is_visibly_wrong_except_on_the_humanoid),
        cmocka_unit_test(the_skin_of_tube_and_arm_never_tears),
        cmocka_unit_test(a_twisted_wrist_does_not_pinch_the_forearm),
        cmocka_unit_test(the_tension_of_the_biceps_shows_in_no_joint),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_and_another_seed_other_poses),
        cmocka_unit_test(unknown_names_and_absurd_sizes_are_refused_with_a_sentence),
        cmocka_unit_test(variants_are_the_same_shape_with_more_vertices),
        cmocka_unit_test(a_known_deformation_twists_limbs_evenly_and_swells_them),
        cmocka_unit_test(a_character_that_is_bound_anew_has_no_second_bind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
