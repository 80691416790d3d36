/* test_measure.c: known errors are measured correctly. */

#include "plain/plain.h"
#include "test/character.h"
#include "test/sampled.h"
#include <pelt/bind.h>

enum { JOINTS = 3, VERTICES = 40, FRAMES = 37 };

/* A chain that bends in every frame, with its linear blend as truth. */
static pelt_clip *bending(pelt_bundle *bundle) {
    pelt_transform locals[FRAMES][JOINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            locals[f][j] = character_turn(1, j, 0.5, 3.0 * f - 20 * j);
            memcpy(locals[f][j].translation, bundle->skeleton.rest[j].translation, 12);
        }
    pelt_clip *clip = character_clip(bundle, "bend", FRAMES, locals[0]);
    character_blend(bundle, clip);
    return clip;
}

static float *positions_of(pelt_clip *clip) { return (float *)clip->positions; }

static pelt_measure *measure(const pelt_skin *skin, pelt_bundle *bundle, const pelt_clip *clip, uint32_t threads) {
    pelt_error error = {0};
    pelt_examples all = pelt_bundle_examples(bundle, &clip, 1);
    pelt_measure *m = pelt_measure_examples(skin, bundle, all, threads, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

static void a_constant_offset_is_the_rms_and_the_max_of_every_frame_and_vertex(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) positions_of(clip)[i] += (float[]){0.3f, 0.4f, 0}[i % 3];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 0);
    assert_int_equal(m->frame_count, FRAMES);
    assert_int_equal(m->vertex_count, VERTICES);
    assert_near(m->rms, 0.5, 1e-6);
    assert_near(m->max, 0.5, 2e-6);
    assert_near(m->rms_fraction, 0.5 / bundle->mesh.diagonal, 1e-6);
    assert_near(m->max_fraction, 0.5 / bundle->mesh.diagonal, 2e-6);
    assert_near(m->rel_err, 1, 1e-6); /* the skin is the file's own blend */
    for (int f = 0; f < FRAMES; f++) {
        assert_near(m->frame_rms[f], 0.5, 1e-6);
        assert_near(m->frame_max[f], 0.5, 2e-6);
    }
    for (int v = 0; v < VERTICES; v++) assert_near(m->vertex_rms[v], 0.5, 1e-6);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void a_skin_half_as_wrong_as_the_blend_has_rel_err_one_half(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_transform locals[4][JOINTS];
    for (int f = 0; f < 4; f++) {
        memcpy(locals[f], bundle->skeleton.rest, sizeof locals[f]);
        locals[f][0].translation[0] = (float)f; /* translations only, so that rest offsets stay as they are */
    }
    pelt_clip *clip = character_clip(bundle, "move", 4, locals[0]);
    character_blend(bundle, clip);
    for (size_t i = 0; i < 3 * VERTICES * 4; i++) positions_of(clip)[i] += (float[]){0.3f, 0.4f, 0}[i % 3];
    for (size_t i = 0; i < 3 * VERTICES; i++) bundle->mesh.positions[i] += (float[]){0.3f, 0.4f, 0.25f}[i % 3];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    for (size_t i = 0; i < 3 * VERTICES; i++) bundle->mesh.positions[i] -= (float[]){0.3f, 0.4f, 0.25f}[i % 3];
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_near(m->rms, 0.25, 1e-6);
    assert_near(m->rel_err, 0.5, 1e-6);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void the_worst_frame_and_vertex_are_found(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    positions_of(clip)[3 * (33 * VERTICES + 17) + 1] += 2;
    positions_of(clip)[3 * (5 * VERTICES + 31) + 2] -= 1;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_int_equal(m->worst_frame, 33);
    assert_int_equal(m->worst_vertex, 17);
    assert_near(m->max, 2, 1e-5);
    assert_near(m->frame_max[5], 1, 1e-5);
    assert_near(m->frame_rms[33], 2 / sqrt(VERTICES), 1e-5);
    assert_near(m->vertex_rms[31], 1 / sqrt(FRAMES), 1e-5);
    assert_near(m->rms, sqrt(5.0 / (FRAMES * VERTICES)), 1e-5);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

static void the_number_of_threads_does_not_change_a_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    uint64_t seed = 4;
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) positions_of(clip)[i] += (float)(0.1 * test_random(&seed));
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *a = measure(&skin, bundle, clip, 1), *b = measure(&skin, bundle, clip, 2);
    assert_memory_equal(a, b, offsetof(pelt_measure, frame_rms));
    assert_memory_equal(a->frame_rms, b->frame_rms, FRAMES * sizeof(float));
    assert_memory_equal(a->frame_max, b->frame_max, FRAMES * sizeof(float));
    assert_memory_equal(a->vertex_rms, b->vertex_rms, VERTICES * sizeof(float));
    assert_memory_equal(a->vertex_rough, b->vertex_rough, VERTICES * sizeof(float));
    pelt_measure_free(a), pelt_measure_free(b), character_free_skin(bytes), character_free(bundle);
}

/* Every vertex of frame f is off by (1 + v % 7) (1 + f % 3) / 100 along x; the skin is the file's own blend. */
static void regions_are_what_a_joint_moves_most_and_what_is_painted_alike(void **state) {
    (void)state;
    static const char *const colors[] = {"red", "cyan"};
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    const pelt_influences *in = &bundle->mesh.influences;
    double sums[JOINTS + 2] = {0}, most[JOINTS + 2] = {0};
    uint32_t counts[JOINTS + 2] = {0}, found = 0;
    float(*paint)[3] = calloc(VERTICES, sizeof *paint);
    for (uint32_t v = 0; v < VERTICES; v++) {
        uint32_t best = in->first[v], cyan = v % 4 == 0;
        for (uint32_t i = best; i < in->first[v + 1]; i++)
            if (in->weights[i] > in->weights[best]) best = i;
        memcpy(paint[v], cyan ? (float[]){0.1f, 0.9f, 0.6f} : (float[]){0.7f, 0.2f, 0}, 12);
        uint32_t own[2] = {in->joints[best], JOINTS + cyan};
        for (int k = 0; k < 2; k++) counts[own[k]]++;
        for (int f = 0; f < FRAMES; f++) {
            double off = 0.01 * (1 + v % 7) * (1 + f % 3);
            positions_of(clip)[3 * (f * VERTICES + v)] += (float)off;
            for (int k = 0; k < 2; k++) sums[own[k]] += off * off, most[own[k]] = fmax(most[own[k]], off);
        }
    }
    bundle->mesh.colors = paint[0];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    for (uint32_t i = 0; i < m->region_count; i++) {
        const pelt_region *r = &m->regions[i];
        int k = 0;
        while (k < JOINTS + 1 && strcmp(r->name, k < JOINTS ? bundle->skeleton.names[k] : colors[k - JOINTS])) k++;
        assert_int_equal(r->painted, k >= JOINTS);
        assert_int_equal(r->vertex_count, counts[k]);
        assert_near(r->rms, sqrt(sums[k] / ((double)FRAMES * counts[k])), 1e-6);
        assert_near(r->max, most[k], 1e-5);
        assert_near(r->rel_err, 1, 1e-4);
        if (i > 0 && m->regions[i - 1].painted == r->painted) assert_true(m->regions[i - 1].rms >= r->rms);
        found += counts[k];
    }
    assert_int_equal(found, 2 * VERTICES); /* all of them, by joint and by colour */
    pelt_measure_free(m);
    for (uint32_t v = 0; v < VERTICES; v++) memset(paint[v], 0, sizeof paint[v]); /* one colour says nothing */
    m = measure(&skin, bundle, clip, 1);
    for (uint32_t i = 0; i < m->region_count; i++) assert_int_equal(m->regions[i].painted, 0);
    bundle->mesh.colors = NULL;
    free(paint), pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

/* A flat square that the skin leaves alone, while the true one is tilted: by 10 degrees, by 30, and not at all. */
static void a_tilt_of_the_truth_is_the_angle_of_the_normals_in_degrees(void **state) {
    (void)state;
    static const double tilts[] = {10, 30, 0};
    static float corners[4][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}}, up[4][3];
    static uint32_t triangles[2][3] = {{0, 1, 2}, {0, 2, 3}};
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    for (int v = 0; v < 4; v++) up[v][2] = 1;
    bundle->mesh = (pelt_mesh){.vertex_count = 4, .triangle_count = 2, .positions = corners[0], .normals = up[0]};
    bundle->mesh.triangles = triangles[0];
    bundle->mesh.diagonal = (float)sqrt(8);
    character_influences(bundle, 1);
    for (int v = 0; v < 4; v++) bundle->mesh.influences.weights[v] = 1;
    pelt_transform still[3] = {character_still, character_still, character_still};
    pelt_clip *clip = character_clip(bundle, "tilt", 3, still);
    float truth[3][4][3];
    for (int f = 0; f < 3; f++)
        for (int v = 0; v < 4; v++) {
            double angle = tilts[f] * acos(-1) / 180, y = corners[v][1];
            truth[f][v][0] = corners[v][0];
            truth[f][v][1] = (float)(y * cos(angle)), truth[f][v][2] = (float)(y * sin(angle));
        }
    clip->positions = truth[0][0];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_measure *m = measure(&skin, bundle, clip, 2);
    assert_near(m->normal_max_degrees, 30, 1e-4);
    assert_near(m->normal_rms_degrees, sqrt((10 * 10 + 30 * 30) / 3.0), 1e-4);
    assert_near(m->rms, sqrt((2 - 2 * cos(acos(-1) / 18) + 2 - 2 * cos(acos(-1) / 6)) / 3), 1e-6);
    assert_near(m->rel_err, 1, 1e-6);
    pelt_measure_free(m);
    bundle->mesh.influences.first = PELT_NEW(bundle->arena, 5, uint32_t); /* without weights there is no baseline */
    m = measure(&skin, bundle, clip, 2);
    assert_near(m->rel_err, 0, 0);
    assert_near(m->roughness, 0, 0);
    assert_near(m->normal_max_degrees, 30, 1e-4);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

/* The arm with its mesh 100 times as large, and inverse bind matrices that undo that: the same character in the scene. */
static pelt_bundle *arm_bound_large(void) {
    pelt_bundle *bundle = sampled("arm", 300);
    for (size_t i = 0; i < 3 * (size_t)bundle->mesh.vertex_count; i++) bundle->mesh.positions[i] *= 100;
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++)
        for (int i = 0; i < 12; i++)
            if (i % 4 < 3) bundle->skeleton.inverse_bind[j][i] /= 100;
    bundle->mesh.diagonal *= 100;
    assert_true(pelt_find_scene_diagonal(bundle));
    return bundle;
}

static void percentages_are_of_the_mesh_in_the_scene_however_large_it_was_bound(void **state) {
    (void)state;
    test_only_at_full_speed();
    static const char *const methods[] = {"ssd", "joints", "psd", "wpsd", "eigen", "kernel"};
    pelt_bundle *plain = sampled("arm", 300), *large = arm_bound_large();
    pelt_error error;
    assert_near(large->mesh.diagonal, 100 * plain->mesh.diagonal, 1e-3);
    assert_near(pelt_scene_diagonal(&large->mesh), plain->mesh.diagonal, 1e-5 * plain->mesh.diagonal);
    assert_near(pelt_bundle_diagonal(large), pelt_scene_diagonal(&large->mesh), 0);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        pelt_fit_options options = {.method = method_named(methods[i]), .threads = 2};
        pelt_measure *measures[2];
        for (int k = 0; k < 2; k++) {
            pelt_bundle *bundle = k ? large : plain;
            pelt_fit_report report;
            pelt_skin skin;
            pelt_bytes *bytes = pelt_fit(bundle, all_of(bundle, "train"), &options, &report, &error);
            if (!bytes) fail_msg("%s: %s", methods[i], error.text);
            assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
            measures[k] = pelt_measure_examples(&skin, bundle, all_of(bundle, "test"), 2, &error);
            assert_non_null(measures[k]);
            assert_near(measures[k]->rms_fraction, measures[k]->rms / plain->mesh.diagonal, 1e-4 * measures[k]->rms);
            pelt_bytes_free(bytes), pelt_fit_report_free(&report);
        }
        assert_near(measures[1]->rms_fraction, measures[0]->rms_fraction, 0.02 * measures[0]->rms_fraction);
        assert_near(measures[1]->blend_fraction, measures[0]->blend_fraction, 1e-4 * measures[0]->blend_fraction);
        assert_near(measures[1]->rel_err, measures[0]->rel_err, 0.02 * measures[0]->rel_err);
        pelt_measure_free(measures[0]), pelt_measure_free(measures[1]);
    }
    pelt_bundle_free(plain), pelt_bundle_free(large);
}

/* Where both sizes agree within rounding, results stay the same to the bit; a skeleton that gives no size is no measure. */
static void the_size_in_the_scene_is_that_at_rest_where_nothing_scales(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 300);
    bundle->mesh.scene_diagonal = 7;
    assert_true(pelt_find_scene_diagonal(bundle));
    assert_true(bundle->mesh.scene_diagonal == bundle->mesh.diagonal);
    for (int i = 0; i < 3; i++) bundle->skeleton.rest[0].scale[i] = 0;
    assert_true(pelt_find_scene_diagonal(bundle));
    assert_true(bundle->mesh.scene_diagonal == bundle->mesh.diagonal);
    pelt_bundle_free(bundle);
}

/* Two arms side by side, with their joints in one order or the other. */
static pelt_bundle *arms(int swapped) {
    static const int32_t parents[] = {-1, -1, 0, 1};
    static const char *const names[2][4] = {{"left", "right", "left_hand", "right_hand"},
                                            {"right", "left", "right_hand", "left_hand"}};
    pelt_bundle *bundle = character_new(4, parents);
    for (int j = 0; j < 4; j++) {
        bundle->skeleton.names[j] = names[swapped][j];
        bundle->skeleton.rest[j].translation[0] = (j + swapped) % 2 ? -2.0f : 2.0f;
    }
    character_bind(bundle);
    character_tube(bundle, 16, 0.5, 2);
    character_influences(bundle, 1);
    for (uint32_t v = 0; v < 16; v++) bundle->mesh.influences.joints[v] = (v % 4) ^ (uint32_t)swapped;
    for (uint32_t v = 0; v < 16; v++) bundle->mesh.influences.weights[v] = 1;
    return bundle;
}

static void joints_are_matched_by_name_when_their_order_differs(void **state) {
    (void)state;
    pelt_bundle *made = arms(0), *played = arms(1);
    pelt_transform locals[2][4];
    for (int f = 0; f < 2; f++)
        for (int j = 0; j < 4; j++) {
            locals[f][j] = character_turn(1, 2, 3, 20 * (j + 1) * (f + 1));
            memcpy(locals[f][j].translation, played->skeleton.rest[j].translation, 12);
        }
    pelt_clip *clip = character_clip(played, "wave", 2, locals[0]);
    character_blend(played, clip);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(made, &skin);
    pelt_measure *m = measure(&skin, played, clip, 1);
    assert_near(m->max, 0, 1e-5);
    pelt_measure_free(m), character_free_skin(bytes), character_free(made), character_free(played);
}

static void a_player_gives_the_mesh_in_its_own_order(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    pelt_skin skin;
    pelt_error error;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    float positions[3 * VERTICES], alone[3 * VERTICES], normals[3 * VERTICES];
    for (uint32_t f = 0; f < FRAMES; f += 9) {
        pelt_player_frame(player, clip, f, positions, normals);
        pelt_player_frame(player, clip, f, alone, NULL);
        for (int i = 0; i < 3 * VERTICES; i++) {
            assert_near(positions[i], clip->positions[3 * VERTICES * f + (size_t)i], 1e-5);
            assert_near(alone[i], positions[i], 1e-6);
        }
        for (int v = 0; v < VERTICES; v++) {
            const float *n = normals + 3 * v;
            assert_near(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-5);
        }
    }
    pelt_player_free(player), pelt_player_free(NULL), character_free_skin(bytes), character_free(bundle);
}

static void what_does_not_fit_together_is_said(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES), *other = character_chain(JOINTS, VERTICES + 1);
    pelt_clip *clip = bending(bundle);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_error error;
    pelt_examples all = pelt_bundle_examples(bundle, (const pelt_clip *[]){clip}, 1), none = {0};
    assert_int_equal(all.count, FRAMES);
    assert_null(pelt_measure_examples(&skin, bundle, none, 1, &error));
    assert_non_null(strstr(error.text, "no examples"));
    character_own(other, clip);
    assert_null(pelt_measure_examples(&skin, other, all, 1, &error));
    assert_non_null(strstr(error.text, "40 vertices"));
    assert_non_null(strstr(error.text, "41"));
    bundle->skeleton.names[0] = "pelvis";
    assert_null(pelt_measure_examples(&skin, bundle, all, 1, &error));
    assert_non_null(strstr(error.text, "hand.glb has no joint \"joint0\""));
    assert_int_equal(error.code, PELT_ERROR_DATA);
    character_free_skin(bytes), character_free(bundle), character_free(other);
}

/* A skin identifies its mesh to the last bit; one without a hash is trusted. */
static void a_skin_is_refused_by_another_mesh(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_clip *clip = bending(bundle);
    pelt_examples all = pelt_bundle_examples(bundle, (const pelt_clip *[]){clip}, 1);
    pelt_error error;
    pelt_skin skin, silent;
    pelt_bytes *bytes = pelt_fit(bundle, all, &(pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &error);
    pelt_bytes *without = character_pack(bundle, &silent);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_model model;
    pelt_plain plain;
    assert_int_equal(pelt_model_unpack(arena, &skin, &model, &error), PELT_OK);
    assert_non_null(skin.mesh_hash), assert_null(silent.mesh_hash);
    for (int change = 0; change < 3; change++) {
        float *x = bundle->mesh.positions + 7, kept = *x;
        uint32_t *corner = bundle->mesh.triangles + 4, kept_corner = *corner;
        if (change == 1) *x = nextafterf(*x, 9);
        if (change == 2) *corner = (*corner + 1) % VERTICES;
        pelt_player *player = pelt_player_new(&skin, bundle, &error), *other = pelt_player_new(&silent, bundle, NULL);
        assert_int_equal(player == NULL, change > 0);
        if (change) assert_non_null(strstr(error.text, "hand.glb has other rest positions or triangles"));
        assert_int_equal(pelt_plain_make(arena, &model, bundle, NULL, 0, &plain, NULL),
                         change ? PELT_ERROR_DATA : PELT_OK);
        pelt_bytes *convex = pelt_fit_convex(&skin, bundle, all, 1, NULL);
        assert_int_equal(convex == NULL, change > 0);
        assert_non_null(other);
        pelt_player_free(player), pelt_player_free(other), pelt_bytes_free(convex);
        *x = kept, *corner = kept_corner;
    }
    pelt_arena_free(arena), pelt_bytes_free(bytes), character_free_skin(without), character_free(bundle);
}

/* -- The look ------------------------------------------------------------------------------------------------------ */

/* A square with its middle M: corners A, B, C, D. M is two vertices, one for the lower right half of the square. */
enum { A, B, C, D, M, M_TWIN, SQUARE };

static pelt_bundle *square(pelt_skin *skin, pelt_bytes **bytes, const float moved[SQUARE]) {
    static const float corners[SQUARE][3] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0.5f, 0.5f}, {0.5f, 0.5f}};
    static const uint32_t triangles[4][3] = {{M, A, B}, {M, B, C}, {M_TWIN, C, D}, {M_TWIN, D, A}};
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    pelt_mesh *mesh = &bundle->mesh;
    *mesh = (pelt_mesh){.vertex_count = SQUARE, .triangle_count = 4, .diagonal = (float)sqrt(2)};
    mesh->positions = PELT_NEW(bundle->arena, 3 * SQUARE, float);
    mesh->normals = PELT_NEW(bundle->arena, 3 * SQUARE, float);
    mesh->triangles = PELT_NEW(bundle->arena, 12, uint32_t);
    memcpy(mesh->positions, corners, sizeof corners), memcpy(mesh->triangles, triangles, sizeof triangles);
    character_influences(bundle, 1);
    for (int v = 0; v < SQUARE; v++) mesh->normals[3 * v + 2] = mesh->influences.weights[v] = 1;
    for (int v = 0; v < SQUARE; v++) mesh->positions[3 * v + 2] = moved[v];
    *bytes = character_pack(bundle, skin);
    for (int v = 0; v < SQUARE; v++) mesh->positions[3 * v + 2] = 0;
    return bundle;
}

/* All errors are along z. Frame 0: the blend is off by 4 at M; the skin by 3 at A, and by 1 and -1 at the two vertices
   of M, which average to 0. Frame 1: the blend is exact; the skin is off by 3 at A and -3 and -5 at M. So

                        A       B      C      D      M
       L blend, 0     -4/3    -4/3   -4/3   -4/3     4       squares: 208/9
       L skin,  0       3      -1      0     -1    -3/4               185/16
       L skin,  1     13/3     1/3    4/3    1/3  -19/4               187/9 + 361/16 */
static void roughness_is_as_computed_by_hand_across_a_seam(void **state) {
    (void)state;
    static const float skin_moved[SQUARE] = {3, 0, 0, 0, -3, -5};
    pelt_skin skin;
    pelt_bytes *bytes;
    pelt_bundle *bundle = square(&skin, &bytes, skin_moved);
    pelt_transform still[2] = {character_still, character_still};
    pelt_clip *clip = character_clip(bundle, "still", 2, still);
    character_blend(bundle, clip);
    positions_of(clip)[3 * M + 2] = positions_of(clip)[3 * M_TWIN + 2] = -4;
    pelt_measure *m = measure(&skin, bundle, clip, 1);
    assert_near(m->roughness, sqrt((185.0 / 16 + 187.0 / 9 + 361.0 / 16) / (208.0 / 9)), 1e-6);
    assert_int_equal(m->point_count, 5);
    assert_near(m->mean_edge, (4 + 4 * sqrt(0.5)) / 8, 1e-7);
    assert_near(m->vertex_rough[A], sqrt((9 + 169.0 / 9) / 2), 1e-6);
    assert_near(m->vertex_rough[B], sqrt((1 + 1.0 / 9) / 2), 1e-6);
    assert_near(m->vertex_rough[C], sqrt((0 + 16.0 / 9) / 2), 1e-6);
    assert_near(m->vertex_rough[M], sqrt((9.0 / 16 + 361.0 / 16) / 2), 1e-6);
    assert_near(m->vertex_rough[M_TWIN], m->vertex_rough[M], 0);
    assert_true(isnan(m->jump) && isnan(m->jump_max)); /* two frames are not a motion */
    pelt_measure_free(m);
    bundle->mesh.triangle_count = 0; /* without edges nothing is rough */
    m = measure(&skin, bundle, clip, 1);
    assert_near(m->roughness, 0, 0);
    assert_near(m->mean_edge, 0, 0);
    assert_near(m->vertex_rough[A], 0, 0);
    pelt_measure_free(m), character_free_skin(bytes), character_free(bundle);
}

/* The same bundle with a separate vertex for every corner of every triangle. */
static pelt_bundle *split_at_every_edge(pelt_bundle *bundle, pelt_clip **clip) {
    const pelt_mesh *from = &bundle->mesh;
    uint32_t corners = 3 * from->triangle_count;
    pelt_bundle *out = PELT_NEW(bundle->arena, 1, pelt_bundle);
    *out = *bundle;
    pelt_mesh *mesh = &out->mesh;
    mesh->vertex_count = corners;
    mesh->positions = PELT_NEW(bundle->arena, 3 * (size_t)corners, float);
    mesh->normals = PELT_NEW(bundle->arena, 3 * (size_t)corners, float);
    mesh->triangles = PELT_NEW(bundle->arena, corners, uint32_t);
    float *truth = PELT_NEW(bundle->arena, 3 * (size_t)corners * (*clip)->frame_count, float);
    mesh->influences.first = PELT_NEW(bundle->arena, corners + 1, uint32_t);
    mesh->influences.joints = PELT_NEW(bundle->arena, (size_t)corners * bundle->skeleton.joint_count, uint32_t);
    mesh->influences.weights = PELT_NEW(bundle->arena, (size_t)corners * bundle->skeleton.joint_count, float);
    for (uint32_t v = 0; v < corners; v++) {
        uint32_t old = from->triangles[v], to = mesh->influences.first[v];
        mesh->triangles[v] = v;
        memcpy(mesh->positions + 3 * v, from->positions + 3 * old, 12);
        memcpy(mesh->normals + 3 * v, from->normals + 3 * old, 12);
        for (uint32_t i = from->influences.first[old]; i < from->influences.first[old + 1]; i++, to++) {
            mesh->influences.joints[to] = from->influences.joints[i];
            mesh->influences.weights[to] = from->influences.weights[i];
        }
        mesh->influences.first[v + 1] = to;
        for (size_t f = 0; f < (*clip)->frame_count; f++)
            memcpy(truth + 3 * (f * corners + v), (*clip)->positions + 3 * (f * from->vertex_count + old), 12);
    }
    pelt_clip *split = PELT_NEW(bundle->arena, 1, pelt_clip);
    *split = **clip;
    character_own(out, split);
    split->positions = truth;
    *clip = split;
    return out;
}

/* Squared Laplacians and largest jump, by definition, of errors [frame][vertex][3] on a mesh without seams. */
static double laplacian_by_force(const pelt_mesh *mesh, const double *errors, uint32_t frames, double *jump) {
    uint32_t n = mesh->vertex_count;
    char *joined = calloc(n, n);
    double sum = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                if (a != b) joined[mesh->triangles[3 * t + a] * n + mesh->triangles[3 * t + b]] = 1;
    *jump = 0;
    for (uint32_t f = 0; f < frames; f++)
        for (uint32_t v = 0; v < n; v++) {
            const double *e = errors + 3 * (size_t)(f * n + v);
            double mean[3] = {0}, count = 0, square = 0, change = 0;
            for (uint32_t w = 0; w < n; w++)
                for (int c = 0; c < 3 && joined[v * n + w]; c++)
                    mean[c] += errors[3 * (size_t)(f * n + w) + (size_t)c], count += c == 0;
            for (int c = 0; c < 3; c++) {
                square += (e[c] - mean[c] / count) * (e[c] - mean[c] / count);
                if (f) change += (e[c] - (e - 3 * (size_t)n)[c]) * (e[c] - (e - 3 * (size_t)n)[c]);
            }
            sum += square;
            *jump = fmax(*jump, sqrt(change));
        }
    free(joined);
    return sum;
}

/* The mesh's own weights with a perturbed rest pose. */
static pelt_bytes *pack_shaken(const pelt_bundle *bundle, const float *shaken, pelt_skin *skin) {
    pelt_bundle copy = *bundle;
    copy.mesh.positions = (float *)shaken;
    return character_pack(&copy, skin);
}

/* errors[0] of the skin and errors[1] of the blend, [frame][vertex][3]. */
static void find_errors(pelt_bundle *bundle, const pelt_skin *skin, const pelt_clip *clip, double *const errors[2]) {
    pelt_error error;
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    float *positions = PELT_NEW(bundle->arena, n, float);
    double *blended = PELT_NEW(bundle->arena, n, double);
    pelt_transform *locals = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_affine);
    pelt_player *player = pelt_player_new(skin, bundle, &error);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_player_frame(player, clip, f, positions, NULL);
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
        pelt_blend_mesh(&bundle->mesh, matrices, blended);
        for (size_t i = 0; i < n; i++) {
            errors[0][n * f + i] = (double)positions[i] - clip->positions[n * f + i];
            errors[1][n * f + i] = blended[i] - clip->positions[n * f + i];
        }
    }
    pelt_player_free(player);
}

static void the_look_of_an_arm_whole_or_split_at_every_edge_is_found_by_brute_force(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("arm", 300);
    const pelt_clip *clip = all_of(bundle, "test").list[0].clip;
    pelt_clip *split_clip = (pelt_clip *)clip;
    pelt_bundle *split = split_at_every_edge(bundle, &split_clip);
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    double *errors[2], rough[2], jumps[2];
    float *shaken = PELT_NEW(bundle->arena, n, float);
    float *shaken_corners = PELT_NEW(bundle->arena, 3 * (size_t)split->mesh.vertex_count, float);
    uint64_t seed = 11;
    for (size_t i = 0; i < n; i++)
        shaken[i] = bundle->mesh.positions[i] + (float)(0.02 * bundle->mesh.diagonal * (test_random(&seed) - 0.5));
    for (size_t v = 0; v < split->mesh.vertex_count; v++)
        memcpy(shaken_corners + 3 * v, shaken + 3 * bundle->mesh.triangles[v], 12);
    pelt_skin whole_skin, split_skin, plain_skin;
    pelt_bytes *whole_bytes = pack_shaken(bundle, shaken, &whole_skin);
    pelt_bytes *split_bytes = pack_shaken(split, shaken_corners, &split_skin);
    pelt_bytes *plain_bytes = character_pack(split, &plain_skin);

    for (int k = 0; k < 2; k++) errors[k] = PELT_NEW(bundle->arena, n * clip->frame_count, double);
    find_errors(bundle, &whole_skin, clip, errors);
    for (int k = 0; k < 2; k++) rough[k] = laplacian_by_force(&bundle->mesh, errors[k], clip->frame_count, &jumps[k]);
    pelt_measure *measures[] = {measure(&whole_skin, bundle, clip, 2), measure(&split_skin, split, split_clip, 2),
                                measure(&plain_skin, split, split_clip, 2)};
    for (int i = 0; i < 3; i++) {
        double tolerance = i ? 1e-4 : 1e-6; /* packed in another order, the run time rounds differently */
        int which = i == 2;
        assert_int_equal(3 * measures[i]->point_count, n);
        assert_near(measures[i]->roughness, sqrt(rough[which] / rough[1]), tolerance);
        assert_near(measures[i]->jump, jumps[which] / jumps[1], tolerance);
        assert_near(measures[i]->jump_max, jumps[which], tolerance * jumps[which]);
        pelt_measure_free(measures[i]);
    }
    assert_true(rough[0] > 1.1 * rough[1] && jumps[0] > 1.01 * jumps[1]); /* otherwise the test would prove nothing */
    character_free_skin(whole_bytes), character_free_skin(split_bytes), character_free_skin(plain_bytes);
    pelt_bundle_free(bundle);
}

static void a_step_of_the_truth_is_the_jump_of_the_frame_where_it_is(void **state) {
    (void)state;
    static const uint32_t steps[] = {1, 15, 16, 17, 32, 36};
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        pelt_clip *clip = bending(bundle);
        for (size_t f = steps[i]; f < FRAMES; f++) positions_of(clip)[3 * (f * VERTICES + 17) + 1] += 0.25f;
        pelt_measure *m = measure(&skin, bundle, clip, 2);
        assert_near(m->jump_max, 0.25, 1e-5);
        assert_near(m->jump, 1, 1e-5); /* the skin is the blend */
        assert_int_equal(m->jump_frame, steps[i]);
        assert_int_equal(m->jump_vertex, 17);
        pelt_measure_free(m);
    }
    character_free_skin(bytes), character_free(bundle);
}

static void only_frames_that_follow_one_another_in_a_motion_jump(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_skin skin;
    pelt_error error;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    pelt_clip *clip = bending(bundle), *other = bending(bundle), *shuffled = bending(bundle);
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) positions_of(other)[i] += 0.5f;
    for (size_t f = 0; f < FRAMES; f++) /* 37 is a prime: every frame once, never a neighbour */
        memcpy(positions_of(shuffled) + 3 * VERTICES * f, positions_of(clip) + 3 * VERTICES * (f * 11 % FRAMES),
               3 * VERTICES * sizeof(float));
    pelt_example apart[FRAMES], across[] = {{clip, 7}, {clip, 8}, {other, 9}, {other, 10}, {clip, 11}, {clip, 4}};
    for (uint32_t i = 0; i < FRAMES; i++) apart[i] = (pelt_example){clip, FRAMES - 1 - i};
    const struct {
        pelt_examples examples;
        int has_jump;
    } cases[] = {{{FRAMES, apart}, 0}, {{6, across}, 1}, {pelt_bundle_examples(bundle, (void *)&shuffled, 1), 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_measure *m = pelt_measure_examples(&skin, bundle, cases[i].examples, 1, &error);
        if (cases[i].has_jump)
            assert_near(m->jump_max, 0, 1e-5);
        else
            assert_true(isnan(m->jump) && isnan(m->jump_max));
        pelt_measure_free(m);
    }
    character_free_skin(bytes), character_free(bundle);
}

/* A pose between two others: joints rotate the shorter way. */
static void pose_between(const pelt_transform *a, const pelt_transform *b, double t, pelt_transform *out) {
    double dot = 0;
    for (int i = 0; i < 4; i++) dot += (double)a->rotation[i] * b->rotation[i];
    *out = *a;
    for (int i = 0; i < 4; i++)
        out->rotation[i] = (float)((1 - t) * a->rotation[i] + (dot < 0 ? -t : t) * b->rotation[i]);
    for (int i = 0; i < 3; i++) out->translation[i] = (float)((1 - t) * a->translation[i] + t * b->translation[i]);
}

/* The largest step of any vertex on a path through the poses of some frames, with this many steps between two of
   them. */
static double largest_step(pelt_bundle *bundle, const pelt_skin *skin, const pelt_clip *clip, uint32_t stride,
                           uint32_t steps) {
    pelt_error error;
    uint32_t joints = bundle->skeleton.joint_count, n = bundle->mesh.vertex_count;
    uint32_t legs = (clip->frame_count - 1) / stride, count = legs * steps + 1;
    pelt_transform *ends = calloc(2 * (size_t)joints, sizeof *ends);
    pelt_transform *poses = calloc((size_t)joints * count, sizeof *poses);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t leg = i / steps < legs ? i / steps : legs - 1;
        pelt_clip_pose(clip, &bundle->skeleton, leg * stride, ends);
        pelt_clip_pose(clip, &bundle->skeleton, (leg + 1) * stride, ends + joints);
        for (uint32_t j = 0; j < joints; j++)
            pose_between(&ends[j], &ends[joints + j], (double)(i - leg * steps) / steps,
                         &poses[(size_t)i * joints + j]);
    }
    char name[60];
    snprintf(name, sizeof name, "path %p %u", (const void *)skin, steps);
    const pelt_clip *path =
        pelt_bundle_add_clip(bundle, &(pelt_clip_input){.name = name, .frame_count = count, .poses = poses}, &error);
    if (!path) fail_msg("%s", error.text);
    pelt_player *player = pelt_player_new(skin, bundle, &error);
    float *positions = calloc(6 * (size_t)n, sizeof *positions);
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        float *now = positions + i % 2 * 3 * n, *before = positions + (1 - i % 2) * 3 * n;
        pelt_player_frame(player, path, i, now, NULL);
        for (uint32_t v = 0; v < 3 * n && i; v += 3)
            most = fmax(most, hypot(hypot(now[v] - before[v], now[v + 1] - before[v + 1]), now[v + 2] - before[v + 2]));
    }
    pelt_player_free(player), free(ends), free(poses), free(positions);
    return most;
}

/* Continuous motion takes half as long steps when there are twice as many; pops do not. */
static void no_method_pops_between_poses(void **state) {
    (void)state;
    static const pelt_method methods[] = {PELT_METHOD_SSD,  PELT_METHOD_JOINTS, PELT_METHOD_PSD,
                                          PELT_METHOD_WPSD, PELT_METHOD_EIGEN,  PELT_METHOD_KERNEL};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        pelt_error error;
        pelt_bundle *bundle = sampled("arm", 300);
        const pelt_clip *test = all_of(bundle, "test").list[0].clip;
        pelt_fit_options options = {.method = methods[i], .holdout = -1};
        pelt_bytes *bytes = pelt_fit(bundle, all_of(bundle, "train"), &options, NULL, &error);
        if (!bytes) fail_msg("%s", error.text);
        pelt_skin skin;
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        double coarse = largest_step(bundle, &skin, test, 7, 8), fine = largest_step(bundle, &skin, test, 7, 64);
        assert_near(coarse / fine, 8, 0.5);
        pelt_bytes_free(bytes), pelt_bundle_free(bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_offset_is_the_rms_and_the_max_of_every_frame_and_vertex),
        cmocka_unit_test(a_skin_half_as_wrong_as_the_blend_has_rel_err_one_half),
        cmocka_unit_test(the_worst_frame_and_vertex_are_found),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
        cmocka_unit_test(regions_are_what_a_joint_moves_most_and_what_is_painted_alike),
        cmocka_unit_test(a_tilt_of_the_truth_is_the_angle_of_the_normals_in_degrees),
        cmocka_unit_test(percentages_are_of_the_mesh_in_the_scene_however_large_it_was_bound),
        cmocka_unit_test(the_size_in_the_scene_is_that_at_rest_where_nothing_scales),
        cmocka_unit_test(joints_are_matched_by_name_when_their_order_differs),
        cmocka_unit_test(a_player_gives_the_mesh_in_its_own_order),
        cmocka_unit_test(what_does_not_fit_together_is_said),
        cmocka_unit_test(roughness_is_as_computed_by_hand_across_a_seam),
        cmocka_unit_test(the_look_of_an_arm_whole_or_split_at_every_edge_is_found_by_brute_force),
        cmocka_unit_test(a_step_of_the_truth_is_the_jump_of_the_frame_where_it_is),
        cmocka_unit_test(only_frames_that_follow_one_another_in_a_motion_jump),
        cmocka_unit_test(no_method_pops_between_poses),
        cmocka_unit_test(a_skin_is_refused_by_another_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
