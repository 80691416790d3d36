/* test_joints.c: Mohr & Gleicher's blend on the samples of their figures, and its options. */

#include "fit/blend/bilinear.h"
#include "fit/blend/sharing.h"
#include "fit/fitting.h"
#include "model/driven.h"
#include "rig/linear.h"
#include "samples/samples.h"
#include "test/character.h"

typedef struct fitted {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_examples examples;
    pelt_bytes *bytes;
    pelt_skin skin;
    pelt_player *player;
    float *positions;
} fitted;

static fitted *fit_vertices(uint32_t vertices, const char *sample, const char *clip, pelt_fit_options options) {
    fitted *f = calloc(1, sizeof *f); /* the player keeps a pointer to the skin in it */
    pelt_error error = {0};
    options.threads = 1;
    f->bundle = pelt_sample_make(&(pelt_sample_options){.name = sample, .vertices = vertices}, &error);
    assert_non_null(f->bundle);
    const pelt_clip *train = pelt_bundle_clip(f->bundle, "train", PELT_NEED_POSITIONS, &error);
    f->clip = pelt_bundle_clip(f->bundle, clip, PELT_NEED_POSITIONS, &error);
    assert_true(train && f->clip);
    f->examples = pelt_bundle_examples(f->bundle, &train, 1);
    f->bytes = pelt_fit(f->bundle, f->examples, &options, NULL, &error);
    if (!f->bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(f->bytes->bytes, f->bytes->size, &f->skin), PELT_OK);
    f->player = pelt_player_new(&f->skin, f->bundle, &error);
    f->positions = malloc(3 * (size_t)f->skin.vertex_count * sizeof(float));
    return f;
}

static fitted *fit(const char *sample, const char *clip, pelt_fit_options options) {
    return fit_vertices(700, sample, clip, options);
}

static void drop(fitted *f) {
    free(f->positions);
    pelt_player_free(f->player);
    pelt_bytes_free(f->bytes);
    pelt_bundle_free(f->bundle);
    free(f);
}

static double rel_err(const fitted *f, const char *clip_name) {
    pelt_error error;
    const pelt_clip *clip = pelt_bundle_clip(f->bundle, clip_name, PELT_NEED_POSITIONS, &error);
    pelt_measure *m = pelt_measure_examples(&f->skin, f->bundle, pelt_bundle_examples(f->bundle, &clip, 1), 1, &error);
    assert_non_null(m);
    double value = m->rel_err;
    pelt_measure_free(m);
    return value;
}

/* -- Figure 3: the twisting box ------------------------------------------------------------------------------------ */

/* Mean squared distance from the axis of the vertices near the middle section; scaling the section by s scales this,
   and the area, by s^2. */
static double section_size(const fitted *f, const float *positions) {
    double sum = 0, count = 0;
    for (size_t v = 0; v < f->skin.vertex_count; v++) {
        if (fabsf(f->bundle->mesh.positions[3 * v]) > 0.12f) continue;
        sum +=
            (double)positions[3 * v + 1] * positions[3 * v + 1] + (double)positions[3 * v + 2] * positions[3 * v + 2];
        count++;
    }
    assert_true(count > 10);
    return sum / count;
}

/* The smallest area of the middle section over the clip, relative to the area at rest. */
static double smallest_section(fitted *f) {
    double rest = section_size(f, f->bundle->mesh.positions), least = INFINITY;
    for (uint32_t frame = 0; frame < f->clip->frame_count; frame++) {
        pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
        least = fmin(least, section_size(f, f->positions) / rest);
    }
    return least;
}

static const pelt_drive_rules half_twist = {
    1, &(pelt_drive_rule){.joints = "twist", .turn_count = 1, .turns = (float[]){0.5f}}};

static void one_half_joint_removes_the_collapse_of_the_twisting_box(void **state) {
    (void)state;
    fitted *linear = fit("box", "train", (pelt_fit_options){.blend = PELT_BLEND_FIT});
    fitted *joints = fit("box", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.drive = &half_twist});
    assert_int_equal(joints->skin.driven_count, 1);
    assert_true(smallest_section(linear) < 0.5);
    assert_near(smallest_section(joints), 1, 0.03);
    assert_true(rel_err(joints, "test") < 0.1);
    drop(linear), drop(joints);
}

/* -- Figure 5: the elbow ------------------------------------------------------------------------------------------- */

/* How far vertices of the upper half pass through the plane that bisects the angle between the bones, over the clip:
   then the two halves of the skin interpenetrate. */
static double penetration(fitted *f, double most_degrees) {
    double worst = 0;
    pelt_transform locals[2];
    for (uint32_t frame = 0; frame < f->clip->frame_count; frame++) {
        pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
        pelt_clip_pose(f->clip, &f->bundle->skeleton, frame, locals);
        const float *q = locals[1].rotation;
        double angle = 2 * atan2(q[2], q[3]), n[2] = {cos(angle) + 1, sin(angle)}, length = hypot(n[0], n[1]);
        if (angle > (most_degrees + 0.1) * acos(-1) / 180) continue;
        for (size_t v = 0; v < f->skin.vertex_count; v++) {
            const float *p = f->positions + 3 * v;
            double side = f->bundle->mesh.positions[3 * v] < 0 ? 1 : -1;
            if (fabsf(f->bundle->mesh.positions[3 * v]) < 0.02f) continue;
            worst = fmax(worst, side * (p[0] * n[0] + p[1] * n[1]) / length);
        }
    }
    return worst;
}

/* One half joint, as in the figure, or as many as the fit chooses. Folded further, the halves do meet, but less than half
   as deep. */
static void the_elbow_does_not_go_through_itself(void **state) {
    (void)state;
    fitted *linear = fit("elbow", "train", (pelt_fit_options){.blend = PELT_BLEND_FILE});
    const pelt_drive_rules half = {1, &(pelt_drive_rule){.joints = "lower", .turn_count = 1, .turns = (float[]){0.5f}}};
    assert_true(penetration(linear, 130) > 0.1);
    for (int chosen = 0; chosen < 2; chosen++) {
        fitted *joints = fit("elbow", "train",
                             (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.drive = chosen ? NULL : &half});
        assert_int_equal(joints->skin.driven_count, chosen ? 3 : 1);
        assert_true(penetration(joints, 130) == 0);
        assert_true(penetration(joints, 150) < 0.5 * penetration(linear, 150));
        assert_true(rel_err(joints, "test") < 0.3);
        drop(joints);
    }
    drop(linear);
}

/* -- Choices and options ------------------------------------------------------------------------------------------- */

static void driven_joints_learn_what_convex_weights_cannot(void **state) {
    (void)state;
    test_only_at_full_speed();
    fitted *convex = fit("arm", "test", (pelt_fit_options){.blend = PELT_BLEND_FIT});
    fitted *joints = fit("arm", "test", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    fitted *more = fit("arm", "test", (pelt_fit_options){.method = PELT_METHOD_JOINTS, .influences = 8});
    assert_true(rel_err(convex, "train") < 1);
    assert_true(rel_err(joints, "test") < 0.9 * rel_err(convex, "test"));
    assert_true(rel_err(more, "train") < rel_err(joints, "train"));
    drop(convex), drop(joints), drop(more);
}

static void the_papers_choice_is_there(void **state) {
    (void)state;
    fitted *joints = fit("box", "train",
                         (pelt_fit_options){.method = PELT_METHOD_JOINTS,
                                            .joints.influence_choice = PELT_CHOICE_RIGIDITY,
                                            .influences = 3,
                                            .joints.drive = &half_twist});
    assert_near(smallest_section(joints), 1, 0.02);
    drop(joints);
}

static double normal_error(const fitted *f) {
    pelt_error error;
    pelt_measure *m = pelt_measure_examples(&f->skin, f->bundle, f->examples, 1, &error);
    double degrees = m->normal_rms_degrees;
    pelt_measure_free(m);
    return degrees;
}

static void normals_in_the_fit_get_better_normals(void **state) {
    (void)state;
    test_only_at_full_speed();
    fitted *without = fit("arm", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.normal_scale = -1});
    fitted *with = fit("arm", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    print_message("normals: %.2f degrees without, %.2f with\n", normal_error(without), normal_error(with));
    assert_true(normal_error(with) < 0.9 * normal_error(without));
    drop(without), drop(with);
}

static void rest_positions_stay_when_asked_to(void **state) {
    (void)state;
    fitted *keep =
        fit("elbow", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS, .fitted.rest = PELT_REST_KEEP});
    fitted *refit = fit("elbow", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    double moved[2] = {0};
    const fitted *both[2] = {keep, refit};
    for (int i = 0; i < 2; i++)
        for (uint32_t v = 0; v < keep->skin.vertex_count; v++)
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t slot = both[i]->skin.vertex_slots[v];
                float x = both[i]->skin.rest_positions[(slot / 16 * 3 + c) * 16 + slot % 16];
                moved[i] = fmax(moved[i], fabs(x - keep->bundle->mesh.positions[3 * v + c]));
            }
    assert_true(moved[0] == 0);
    assert_true(moved[1] > 1e-4);
    assert_true(rel_err(refit, "train") < rel_err(keep, "train"));
    drop(keep), drop(refit);
}

/* Two examples do not determine the bulges; the skin reports which vertices. */
static void rank_deficient_vertices_are_named(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 400}, &error);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);
    examples.count = 2;
    pelt_bytes *bytes =
        pelt_fit(bundle, examples,
                 &(pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.ridge = -1, .influences = 8}, NULL, &error);
    assert_non_null(bytes);
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    assert_non_null(strstr(skin.about, "rank-deficient"));
    assert_null(strstr(skin.about, "\"rank_deficient\":[]"));
    pelt_bytes_free(bytes);
    pelt_bundle_free(bundle);
}

static void driven_joints_nobody_uses_are_not_in_the_skin(void **state) {
    (void)state;
    fitted *f = fit("arm", "train", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    uint8_t used[65536] = {0};
    for (uint32_t e = 0; e < f->skin.entry_count; e++) used[f->skin.entry_joints[e]] = 1;
    for (uint32_t i = 0; i < f->skin.driven_count; i++) assert_true(used[f->skin.joint_count + i]);
    drop(f);
}

/* -- Sharing ------------------------------------------------------------------------------------------------------- */

/* The cost of a block is what its vertices have agreed on. Given are joints per block and errors when every vertex
   chooses independently. */
static void check_sharing(pelt_fit_options options, double joints, double on_train, double on_test) {
    fitted *f = fit("arm", "test", options);
    double each = (double)f->skin.entry_count / f->skin.block_count, train = rel_err(f, "train"),
           test = rel_err(f, "test");
    print_message("%.1f joints to a block, rel_err %.4f, on unseen motion %.4f\n", each, train, test);
    assert_true(each < 0.7 * joints && train < 1.005 * on_train && test < 1.006 * on_test);
    drop(f);
}

static void blocks_agree_on_few_joints_at_the_same_error(void **state) {
    (void)state;
    check_sharing((pelt_fit_options){.method = PELT_METHOD_JOINTS, .influences = 8}, 15.5, 0.600, 0.596);
    pelt_fit_options weights = {.method = PELT_METHOD_SSD, .blend = PELT_BLEND_FIT, .influences = 4};
    check_sharing(weights, 3.6, 0.8180, 0.8148);
    weights.fitted.smooth = 1;
    check_sharing(weights, 4.0, 0.8367, 0.8307);
}

/* The lists of blocks against a direct count. */
static void shared_joints_are_those_that_the_points_of_a_block_follow(void **state) {
    (void)state;
    enum { POINTS = 150, CANDIDATES = 40, EACH = 5 };
    pelt_arena *arena = pelt_arena_new(0);
    pelt_blend_result result = pelt_blend_result_new(arena, POINTS, EACH);
    uint64_t seed = 12;
    for (uint32_t p = 0; p < POINTS; p++) {
        pelt_weights set = {.count = 1 + p % EACH};
        uint32_t at = (uint32_t)(test_random(&seed) * (CANDIDATES - 3 * EACH));
        for (uint32_t k = 0; k < set.count; k++) set.joints[k] = at += 1 + (uint32_t)(test_random(&seed) * 3);
        pelt_blend_store(&result, p, &set, (double[3]){0});
    }
    pelt_sharing sharing = pelt_sharing_new(arena, &result, POINTS, CANDIDATES, 1);
    assert_true(pelt_sharing_group(&sharing, arena));
    uint64_t total = 0;
    for (uint32_t b = 0; b < (POINTS + 15) / 16; b++) {
        uint32_t users[CANDIDATES] = {0}, size = 0, distinct = 0, member = POINTS;
        for (uint32_t p = 0; p < POINTS; p++) {
            if (sharing.block_of[p] != b) continue;
            member = p, size++;
            for (uint32_t k = 0; k < result.counts[p]; k++) users[result.joints[p * EACH + k]]++;
        }
        assert_true(size == (b < POINTS / 16 ? 16 : POINTS % 16));
        pelt_shared_list list = pelt_sharing_list(&sharing, member);
        for (uint32_t c = 0; c < CANDIDATES; c++) {
            distinct += users[c] > 0;
            if (users[c]) assert_int_equal(pelt_sharing_users(list, c), users[c]);
        }
        assert_int_equal(list.count, distinct);
        for (uint32_t k = 1; k < list.count; k++) assert_true(list.joints[k].users <= list.joints[k - 1].users);
        total += distinct;
    }
    assert_true(sharing.total == total);
    pelt_shared_joint few = {3, 2}, many = {9, 5}, as_many = {10, 5};
    assert_true(pelt_sharing_allows(few, many) && !pelt_sharing_allows(many, few));
    assert_true(pelt_sharing_allows(as_many, many) != pelt_sharing_allows(many, as_many));
    assert_near(pelt_sharing_worth(&sharing, 5), pelt_sharing_worth(&sharing, 1) / 5, 1e-15);
    pelt_arena_free(arena);
}

/* -- Against brute force ------------------------------------------------------------------------------------------- */

enum { JOINTS = 7, FRAMES = 20, RINGS = 21, VERTICES = 8 * RINGS, MOST = 3 };

/* A chain in random poses, some of them scaled, whose vertices follow two joints about equally, so that one is nearly
   as good as the other; and everything needed for least squares. */
typedef struct limb {
    pelt_bundle *bundle;
    pelt_clip *clip;
    pelt_examples examples;
    pelt_affine matrices[FRAMES][JOINTS], turns[FRAMES][JOINTS]; /* of positions, and of normals */
    float normals[FRAMES][3 * VERTICES];
} limb;

static limb *make_limb(uint64_t seed, double noise) {
    limb *l = calloc(1, sizeof *l);
    pelt_bundle *b = l->bundle = character_chain(JOINTS, VERTICES);
    pelt_influences file = b->mesh.influences;
    pelt_transform poses[FRAMES * JOINTS];
    for (int i = 0; i < FRAMES * JOINTS; i++) {
        poses[i] = character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5, test_random(&seed) - 0.5,
                                  80 * test_random(&seed));
        poses[i].translation[1] = i % JOINTS ? 1 : 0;
        if (i % JOINTS == 2) poses[i].scale[0] = 1.3f, poses[i].scale[2] = 0.8f;
    }
    character_influences(b, 2);
    for (uint32_t v = 0; v < VERTICES; v++) {
        uint32_t lower = (uint32_t)fmin(b->mesh.positions[3 * v + 1], JOINTS - 2);
        double w = 0.3 + 0.4 * test_random(&seed);
        b->mesh.influences.joints[2 * v] = lower, b->mesh.influences.joints[2 * v + 1] = lower + 1;
        b->mesh.influences.weights[2 * v] = (float)w, b->mesh.influences.weights[2 * v + 1] = (float)(1 - w);
    }
    l->clip = character_clip(b, "train", FRAMES, poses);
    float *positions = character_blend(b, l->clip);
    for (int i = 0; i < FRAMES * 3 * VERTICES; i++) positions[i] += (float)(noise * (test_random(&seed) - 0.5));
    b->mesh.influences = file;
    const pelt_clip *clips[] = {l->clip};
    l->examples = pelt_bundle_examples(b, clips, 1);
    for (int e = 0; e < FRAMES; e++) {
        pelt_joint_matrices(&b->skeleton, poses + e * JOINTS, NULL, l->matrices[e]);
        for (int j = 0; j < JOINTS; j++) {
            pelt_affine inverse;
            assert_true(pelt_affine_invert(&l->matrices[e][j], &inverse));
            for (int k = 0; k < 12; k++) l->turns[e][j].m[k] = k % 4 == 3 ? 0 : inverse.m[k % 4 * 4 + k / 4];
        }
        pelt_mesh_normals(positions + 3 * VERTICES * e, VERTICES, b->mesh.triangles, b->mesh.triangle_count,
                          l->normals[e]);
    }
    return l;
}

static void free_limb(limb *l) {
    character_free(l->bundle);
    free(l);
}

static pelt_fitting fit_limb(const limb *l, pelt_fit_options options) {
    static const pelt_drive_rules none;
    pelt_error error = {0};
    pelt_fitting f = {.bundle = l->bundle, .examples = l->examples, .options = options, .arena = l->bundle->arena};
    f.options.method = PELT_METHOD_JOINTS;
    f.options.joints.drive = &none;
    assert_int_equal(pelt_fit_resolve(&f.options, &error), PELT_OK);
    if (pelt_fit_blend(&f, &error)) fail_msg("%s", error.text);
    return f;
}

static const float *true_place(const limb *l, int e, uint32_t v) {
    return l->clip->positions + 3 * (VERTICES * (uint32_t)e + v);
}

/* Where joint j alone puts vertex v, minus the truth, squared and summed. */
static double error_alone(const limb *l, uint32_t v, uint32_t j) {
    const float *rest = l->bundle->mesh.positions + 3 * v;
    double sum = 0, at[3];
    for (int e = 0; e < FRAMES; e++) {
        pelt_affine_point(&l->matrices[e][j], (double[3]){rest[0], rest[1], rest[2]}, at);
        for (int c = 0; c < 3; c++) sum += pow(at[c] - true_place(l, e, v)[c], 2);
    }
    return sum;
}

static uint32_t home_of(const limb *l, uint32_t v) {
    const pelt_influences *in = &l->bundle->mesh.influences;
    return in->joints[2 * v + (in->weights[2 * v + 1] > in->weights[2 * v])];
}

static bool is_near(const limb *l, uint32_t v, uint32_t j) { return abs((int)home_of(l, v) - (int)j) <= 3; }

/* Without edges there is no tension: every vertex takes the best joint at most three steps away, or one as good within
   the two percent that make a swap worthwhile. */
static void a_vertex_alone_takes_the_best_joint_near_it(void **state) {
    (void)state;
    limb *l = make_limb(1, 0.01);
    l->bundle->mesh.triangle_count = 0;
    uint32_t far = 0, exact = 0;
    for (int stump = 0; stump < 2; stump++) { /* as the file has it, then all on the first joint */
        for (uint32_t v = 0; v < VERTICES && stump; v++)
            l->bundle->mesh.influences.weights[2 * v] = 1, l->bundle->mesh.influences.weights[2 * v + 1] = 0,
                                                   l->bundle->mesh.influences.joints[2 * v] = 0;
        pelt_fitting f = fit_limb(l, (pelt_fit_options){.influences = 1,
                                                        .fitted.rest = PELT_REST_KEEP,
                                                        .joints = {.ridge = -1, .normal_scale = -1}});
        for (uint32_t v = 0; v < VERTICES; v++) {
            uint32_t best = home_of(l, v);
            for (uint32_t j = 0; j < JOINTS; j++) {
                far += !is_near(l, v, j) && error_alone(l, v, j) < error_alone(l, v, best);
                if (is_near(l, v, j) && error_alone(l, v, j) < error_alone(l, v, best)) best = j;
            }
            assert_int_equal(f.model.influences.first[v + 1], v + 1);
            uint32_t chosen = f.model.influences.joints[v];
            assert_true(is_near(l, v, chosen) && 0.98 * error_alone(l, v, chosen) <= error_alone(l, v, best));
            exact += chosen == best;
        }
    }
    assert_true(exact > 1.9 * VERTICES);
    assert_true(far > 20); /* some would have preferred others */
    free_limb(l);
}

/* -- Smoothness by brute force ------------------------------------------------------------------------------------- */

/* What a smooth fit minimises, from its definition: errors, their differences along edges, weights. */
typedef struct skin_state {
    uint32_t counts[VERTICES], joints[VERTICES][MOST];
    double weights[VERTICES][MOST], rest[VERTICES][3];
} skin_state;

static void state_of(const limb *l, const pelt_fitting *f, skin_state *out) {
    for (uint32_t v = 0; v < VERTICES; v++) {
        const pelt_influences *in = &f->model.influences;
        out->counts[v] = in->first[v + 1] - in->first[v];
        for (uint32_t k = 0; k < out->counts[v]; k++) {
            out->joints[v][k] = in->joints[in->first[v] + k];
            out->weights[v][k] = in->weights[in->first[v] + k];
        }
        for (int c = 0; c < 3; c++) out->rest[v][c] = f->model.positions[3 * v + (uint32_t)c];
    }
    (void)l;
}

static void residual_of(const limb *l, const skin_state *s, uint32_t v, double out[3 * FRAMES]) {
    for (int e = 0; e < FRAMES; e++) {
        double sum[3] = {0}, at[3];
        for (uint32_t k = 0; k < s->counts[v]; k++) {
            pelt_affine_point(&l->matrices[e][s->joints[v][k]], s->rest[v], at);
            for (int c = 0; c < 3; c++) sum[c] += s->weights[v][k] * at[c];
        }
        for (int c = 0; c < 3; c++) out[3 * e + c] = (sum[c] - true_place(l, e, v)[c]) / l->bundle->mesh.diagonal;
    }
}

/* The part of it that vertex v has a share in. */
static double local_energy(const limb *l, const skin_state *s, const bool *edges, uint32_t v, double smooth,
                           double ridge) {
    double own[3 * FRAMES], other[3 * FRAMES], sum = 0;
    residual_of(l, s, v, own);
    for (int r = 0; r < 3 * FRAMES; r++) sum += own[r] * own[r];
    for (uint32_t k = 0; k < s->counts[v]; k++) sum += ridge * FRAMES * s->weights[v][k] * s->weights[v][k];
    for (uint32_t n = 0; n < VERTICES; n++) {
        if (!edges[v * VERTICES + n]) continue;
        residual_of(l, s, n, other);
        for (int r = 0; r < 3 * FRAMES; r++) sum += smooth * pow(own[r] - other[r], 2);
    }
    return sum;
}

static double all_energy(const limb *l, const skin_state *s, const bool *edges, double smooth, double ridge) {
    double sum = 0;
    for (uint32_t v = 0; v < VERTICES; v++) /* every edge is shared by two */
        sum += (local_energy(l, s, edges, v, smooth, ridge) + local_energy(l, s, edges, v, 0, ridge)) / 2;
    return sum;
}

static bool *edges_of(const pelt_mesh *mesh) {
    bool *edges = calloc(VERTICES * VERTICES, sizeof *edges);
    for (uint32_t t = 0; t < 3 * mesh->triangle_count; t++) {
        uint32_t a = mesh->triangles[t], b = mesh->triangles[t % 3 == 2 ? t - 2 : t + 1];
        edges[a * VERTICES + b] = edges[b * VERTICES + a] = true;
    }
    return edges;
}

/* Moving weight from one joint of a vertex to another, or moving its rest position, never lowers the cost; the reported
   error is the actual one; and it never rose. */
static void a_smooth_fit_is_the_minimum_of_error_and_its_differences(void **state) {
    (void)state;
    static const double ridge = 1e-5, smooth = 3;
    limb *l = make_limb(2, 0.05);
    bool *edges = edges_of(&l->bundle->mesh);
    skin_state *s = calloc(1, sizeof *s);
    for (int refit = 0; refit < 2; refit++) {
        pelt_fitting f = fit_limb(
            l, (pelt_fit_options){.influences = MOST,
                                  .fitted = {.smooth = smooth, .rest = refit ? PELT_REST_REFIT : PELT_REST_KEEP},
                                  .joints = {.ridge = ridge, .normal_scale = -1}});
        uint32_t tried = 0;
        state_of(l, &f, s);
        const pelt_blend_findings *figures = &f.report.blend_fit;
        double left = all_energy(l, s, edges, smooth, ridge);
        assert_near(figures->round_rms[figures->round_count - 1] / sqrt(left / (VERTICES * FRAMES)), 1, 1e-4);
        for (uint32_t r = 1; r < figures->round_count; r++)
            assert_true(figures->round_rms[r] <= figures->round_rms[r - 1] * (1 + 1e-12));
        for (uint32_t v = 0; v < VERTICES; v++) {
            double cost = local_energy(l, s, edges, v, smooth, ridge);
            for (uint32_t k = 0; k < s->counts[v] * s->counts[v]; k++) {
                double *from = &s->weights[v][k / s->counts[v]], *to = &s->weights[v][k % s->counts[v]];
                if (from == to) continue;
                *from -= 0.01, *to += 0.01;
                assert_true(local_energy(l, s, edges, v, smooth, ridge) > cost);
                *from += 0.01, *to -= 0.01, tried++;
            }
            for (int c = 0; c < 6 && refit; c++) {
                double step = (c < 3 ? 0.01 : -0.01) * l->bundle->mesh.diagonal;
                s->rest[v][c % 3] += step;
                assert_true(local_energy(l, s, edges, v, smooth, ridge) > cost);
                s->rest[v][c % 3] -= step, tried++;
            }
        }
        assert_true(tried > 2 * VERTICES);
    }
    free(edges), free(s);
    free_limb(l);
}

/* With one joint per vertex the choice can be checked: hardly any vertex could lower the cost by more than the swap
   threshold, and some have other joints than they would choose alone. */
static void joints_are_chosen_for_the_neighbours_too(void **state) {
    (void)state;
    static const double smooth = 1, ridge = 1e-7;
    limb *l = make_limb(2, 0.01);
    bool *edges = edges_of(&l->bundle->mesh);
    skin_state *s = calloc(1, sizeof *s);
    pelt_fitting f = fit_limb(l, (pelt_fit_options){.influences = 1,
                                                    .fitted = {.smooth = smooth, .rest = PELT_REST_KEEP},
                                                    .joints.normal_scale = -1});
    uint32_t unhappy = 0, given_in = 0;
    state_of(l, &f, s);
    for (uint32_t v = 0; v < VERTICES; v++) {
        uint32_t own = s->joints[v][0];
        double cost = local_energy(l, s, edges, v, smooth, ridge), alone = error_alone(l, v, own);
        bool better = false, other = false;
        for (uint32_t j = 0; j < JOINTS; j++) {
            s->joints[v][0] = j;
            if (!is_near(l, v, j)) continue;
            better |= local_energy(l, s, edges, v, smooth, ridge) < 0.97 * cost;
            other |= error_alone(l, v, j) < 0.97 * alone;
        }
        s->joints[v][0] = own;
        unhappy += better, given_in += other;
    }
    assert_true(unhappy <= VERTICES / 25);
    assert_true(given_in > VERTICES / 20);
    free(edges), free(s);
    free_limb(l);
}

/* Two joints with the smallest clouds. */
static void rigid_choice_takes_the_joints_that_see_the_vertex_move_least(void **state) {
    (void)state;
    limb *l = make_limb(3, 0.02);
    pelt_fitting f = fit_limb(l, (pelt_fit_options){.influences = 2,
                                                    .joints.influence_choice = PELT_CHOICE_RIGIDITY,
                                                    .fitted.rest = PELT_REST_KEEP});
    for (uint32_t v = 0; v < VERTICES; v++) {
        double sizes[JOINTS] = {0}, seen[FRAMES][3];
        for (int j = 0; j < JOINTS; j++)
            for (int e = 0; e < FRAMES; e++) {
                const float *p = true_place(l, e, v);
                pelt_affine inverse;
                pelt_affine_invert(&l->matrices[e][j], &inverse);
                pelt_affine_point(&inverse, (double[3]){p[0], p[1], p[2]}, seen[e]);
                for (int d = 0; d < e; d++)
                    sizes[j] = fmax(sizes[j], hypot(hypot(seen[e][0] - seen[d][0], seen[e][1] - seen[d][1]),
                                                    seen[e][2] - seen[d][2]));
            }
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t at = f.model.influences.first[v] + k, smaller = 0;
            for (int j = 0; j < JOINTS; j++) smaller += sizes[j] < sizes[f.model.influences.joints[at]];
            assert_true(smaller < 2);
        }
    }
    free_limb(l);
}

/* -- The fit by LAPACK --------------------------------------------------------------------------------------------- */

/* Weights of some joints for a vertex, in units of the diagonal: rows of positions, of normals, and of the ridge on all
   but the first. Returns the squared error without the ridge. */
static double weights_by_lapack(const limb *l, uint32_t v, const double rest[3], const uint32_t *joints, uint32_t count,
                                double normal_scale, double ridge, double *weights) {
    enum { ROWS = 6 * FRAMES + JOINTS };
    double columns[MOST + 1][ROWS] = {{0}}, a[ROWS * MOST] = {0}, b[ROWS] = {0}, diagonal = l->bundle->mesh.diagonal;
    const float *n = l->bundle->mesh.normals + 3 * v;
    for (uint32_t k = 0; k < count; k++)
        for (int e = 0; e < FRAMES; e++) {
            double at[3], turned[3];
            pelt_affine_point(&l->matrices[e][joints[k]], rest, at);
            pelt_affine_point(&l->turns[e][joints[k]], (double[3]){n[0], n[1], n[2]}, turned);
            for (int c = 0; c < 3; c++) {
                columns[k][6 * e + c] = (at[c] - true_place(l, e, v)[c]) / diagonal;
                columns[k][6 * e + 3 + c] = normal_scale * (turned[c] - l->normals[e][3 * v + (uint32_t)c]);
            }
        }
    uint32_t unknowns = count - 1;
    for (uint32_t r = 0; r < 6 * FRAMES; r++) {
        for (uint32_t k = 0; k < unknowns; k++) a[r * unknowns + k] = columns[k + 1][r] - columns[0][r];
        b[r] = -columns[0][r];
    }
    for (uint32_t k = 0; k < unknowns; k++) a[(6 * FRAMES + k) * unknowns + k] = sqrt(ridge * FRAMES);
    if (unknowns) assert_true(pelt_least_squares(ROWS, unknowns, a, 1, b, 1e-12));
    weights[0] = 1;
    for (uint32_t k = 0; k < unknowns; k++) weights[k + 1] = b[k], weights[0] -= b[k];
    double sum = 0;
    for (int r = 0; r < 6 * FRAMES; r++) {
        double left = 0;
        for (uint32_t k = 0; k < count; k++) left += weights[k] * columns[k][r];
        sum += left * left;
    }
    return sum;
}

static void weights_are_the_least_squares_of_positions_and_normals(void **state) {
    (void)state;
    static const double ridges[] = {1e-3, 0, 1e-5}, scales[] = {0.3, 0, 0};
    limb *l = make_limb(4, 0.05);
    for (int given = 0; given < 3; given++) { /* as told, the defaults, no normals */
        pelt_fit_options options = {.influences = MOST, .fitted.rest = PELT_REST_KEEP};
        options.joints.influence_choice = PELT_CHOICE_RIGIDITY;
        if (given == 0) options.joints.ridge = 1e-3, options.joints.normal_scale = 0.3;
        if (given == 2) options.joints.ridge = 1e-5;
        pelt_fitting f = fit_limb(l, options);
        const pelt_influences *in = &f.model.influences;
        double sum = 0, largest = 0;
        for (uint32_t v = 0; v < VERTICES; v++) {
            const float *p = l->bundle->mesh.positions + 3 * v;
            double weights[MOST];
            assert_int_equal(in->first[v + 1], MOST * (v + 1));
            sum += weights_by_lapack(l, v, (double[3]){p[0], p[1], p[2]}, in->joints + in->first[v], MOST,
                                     scales[given], ridges[given], weights);
            for (uint32_t k = 0; k < MOST; k++) {
                assert_near(in->weights[in->first[v] + k], weights[k], 2e-5);
                largest = fmax(largest, fabs(weights[k]));
            }
        }
        assert_int_equal(f.report.blend_fit.candidate_count, JOINTS);
        assert_int_equal(f.report.blend_fit.driven_count, 0);
        assert_int_equal(f.report.blend_fit.deficient_count, 0);
        assert_near(f.report.blend_fit.largest_weight, largest, 2e-5);
        assert_int_equal(f.report.blend_fit.round_count, 1); /* with the rest positions kept there is one solution */
        assert_near(f.report.blend_fit.round_rms[0] / sqrt(sum / (VERTICES * FRAMES)), 1, 1e-5);
    }
    free_limb(l);
}

/* The rest position that the weights fit best: sum_j w_j T_j (v, 1) = truth. */
static void rest_by_lapack(const limb *l, uint32_t v, const uint32_t *joints, const double *weights, double rest[3]) {
    double a[9 * FRAMES] = {0}, b[3 * FRAMES];
    for (int r = 0; r < 3 * FRAMES; r++) {
        b[r] = true_place(l, r / 3, v)[r % 3];
        for (uint32_t k = 0; k < MOST; k++) {
            const double *row = l->matrices[r / 3][joints[k]].m + 4 * (r % 3);
            for (int c = 0; c < 3; c++) a[3 * r + c] += weights[k] * row[c];
            b[r] -= weights[k] * row[3];
        }
    }
    assert_true(pelt_least_squares(3 * FRAMES, 3, a, 1, b, 1e-12));
    memcpy(rest, b, 3 * sizeof *rest);
}

static void weights_and_rest_positions_are_fitted_in_turns(void **state) {
    (void)state;
    limb *l = make_limb(5, 0.05);
    pelt_fitting f = fit_limb(
        l, (pelt_fit_options){.influences = MOST, .joints = {.ridge = 1e-4, .influence_choice = PELT_CHOICE_RIGIDITY}});
    const pelt_influences *in = &f.model.influences;
    enum { ROUNDS = 21 };
    double sums[ROUNDS] = {0};
    uint32_t rounds = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        const float *p = l->bundle->mesh.positions + 3 * v;
        double rest[3] = {p[0], p[1], p[2]}, weights[MOST], error = 0, before = INFINITY;
        for (uint32_t round = 0; round < ROUNDS; round++) { /* until one lowers the error by less than a thousandth */
            if (error < 0.999 * before) {
                if (round) before = error, rest_by_lapack(l, v, in->joints + in->first[v], weights, rest);
                error = weights_by_lapack(l, v, rest, in->joints + in->first[v], MOST, 0, 1e-4, weights);
                if (round + 1 > rounds) rounds = round + 1;
            }
            sums[round] += error;
        }
        for (uint32_t k = 0; k < MOST; k++) assert_near(in->weights[in->first[v] + k], weights[k], 1e-4);
        for (int c = 0; c < 3; c++) assert_near(f.model.positions[3 * v + (uint32_t)c], rest[c], 1e-4);
    }
    assert_int_equal(f.report.blend_fit.round_count, rounds);
    for (uint32_t r = 0; r < rounds; r++)
        assert_near(f.report.blend_fit.round_rms[r] / sqrt(sums[r] / (VERTICES * FRAMES)), 1, 1e-4);
    assert_true(rounds > 4 && sums[rounds - 1] < 0.97 * sums[0]);
    assert_int_equal(f.report.blend_fit.rest_deficient_count, 0);
    free_limb(l);
}

/* K = [1 c 0; c 1 0; 0 0 1] has the eigenvalues 1 - c, 1 and 1 + c, the squares of the singular values. */
static void a_rest_position_that_the_examples_do_not_show_is_deficient(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const double c = i ? 1 - 4e-6 : 1 - 1e-6, products[PELT_MONOMIALS] = {1, 2 * c, 0, 0, 1, 0, 0, 1, 0, 1};
        const pelt_gram gram = {.count = 1, .examples = 1, .products = products};
        const pelt_weights one = {.count = 1, .joints = {0}, .weights = {1}};
        assert_int_equal(pelt_rest_is_deficient(&gram, &one, 1e-3), i == 0);
    }
}

/* A joint that bends about (1, 0, 1) has bulges and dents along it and perpendicular to it, not along x and z. */
static void bulges_lie_in_the_plane_of_the_bend(void **state) {
    (void)state;
    enum { BENT = 6 };
    pelt_bundle *b = character_chain(3, 24);
    pelt_transform poses[3 * BENT];
    pelt_example list[BENT];
    pelt_error error;
    for (int f = 0; f < BENT; f++)
        for (int j = 0; j < 3; j++) {
            poses[3 * f + j] = character_turn(1, 0.3, 1, j == 1 ? 15 * f - 30 : 0); /* it twists a little too */
            poses[3 * f + j].translation[1] = j ? 1 : 0;
        }
    const pelt_clip *clip = character_clip(b, "train", BENT, poses);
    for (uint32_t f = 0; f < BENT; f++) list[f] = (pelt_example){clip, f};
    pelt_fitting f = {.bundle = b, .examples = {BENT, list}, .arena = b->arena};
    f.options.corrective = PELT_CORRECTIVE_NONE;
    f.model.skeleton = &b->skeleton;
    assert_int_equal(pelt_choose_driven(&f, &error), PELT_OK);
    int along = 0, across = 0;
    for (uint32_t i = 0; i < f.model.driven_count; i++) {
        const pelt_driven *d = &f.model.driven[i];
        if (d->kind != PELT_DRIVEN_BULGE && d->kind != PELT_DRIVEN_DENT) continue;
        double x = fabs(d->axis[0] + d->axis[2]) * sqrt(0.5), z = fabs(d->axis[0] - d->axis[2]) * sqrt(0.5);
        along += fabs(x - 1) < 1e-5, across += fabs(z - 1) < 1e-5;
        assert_near(x + z, 1, 1e-5);
    }
    assert_true(along == across && along >= 4);
    character_free(b);
}

/* Locked vertices, by list or painted, keep the file's weights, position and normal; the others are fitted. */
static void locked_vertices_are_as_in_the_file(void **state) {
    (void)state;
    const uint32_t listed[] = {3, 17, 18};
    float colors[3 * VERTICES] = {0};
    for (int choice = 0; choice < 2; choice++) {
        limb *l = make_limb(7, 0.02);
        const pelt_mesh *file = &l->bundle->mesh;
        pelt_fit_options options = {.influences = MOST,
                                    .fitted.rest = PELT_REST_REFIT,
                                    .joints.influence_choice = choice ? PELT_CHOICE_RIGIDITY : PELT_CHOICE_GREEDY,
                                    .joints.normal_scale = 0.3,
                                    .convex.lock_vertices = listed,
                                    .convex.lock_vertex_count = 3};
        pelt_fitting f = fit_limb(l, options);
        const pelt_influences *in = &f.model.influences;
        uint32_t kept = 0;
        for (uint32_t v = 0; v < VERTICES; v++) {
            double difference = 0;
            for (uint32_t j = 0; j < JOINTS; j++) {
                double own = 0, files = 0;
                for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
                    own += in->joints[i] == j ? in->weights[i] : 0;
                for (uint32_t i = file->influences.first[v]; i < file->influences.first[v + 1]; i++)
                    files += file->influences.joints[i] == j ? file->influences.weights[i] : 0;
                difference += fabs(own - files);
            }
            bool same = difference < 1e-6 && !memcmp(f.model.positions + 3 * v, file->positions + 3 * v, 12) &&
                        !memcmp(f.model.normals + 3 * v, file->normals + 3 * v, 12);
            if (v == 3 || v == 17 || v == 18) assert_true(same);
            kept += same;
        }
        assert_int_equal(kept, 3);
        for (int i = 0; i < 3; i++) colors[3 * listed[i] + 2] = 0.9f;
        l->bundle->mesh.colors = colors;
        options.convex = (pelt_convex_options){.lock_color = PELT_COLOR_BLUE};
        pelt_fitting painted = fit_limb(l, options);
        assert_memory_equal(painted.model.positions, f.model.positions, 12 * VERTICES);
        assert_memory_equal(painted.model.influences.weights, in->weights, in->first[VERTICES] * sizeof *in->weights);
        free_limb(l);
    }
}

/* Fitted rest normals have unit length and lower the error of the normals; otherwise they stay. */
static void rest_normals_are_fitted_with_the_rest_positions(void **state) {
    (void)state;
    limb *l = make_limb(6, 0.02);
    for (int refit = 0; refit < 3; refit++) {
        pelt_fit_options options = {.influences = MOST,
                                    .fitted.rest = refit ? PELT_REST_REFIT : PELT_REST_KEEP,
                                    .joints.normal_scale = refit > 1 ? -1 : 0.3};
        pelt_fitting f = fit_limb(l, options);
        const pelt_influences *in = &f.model.influences;
        double before = 0, after = 0;
        for (uint32_t v = 0; v < VERTICES; v++) {
            const float *file = l->bundle->mesh.normals + 3 * v, *own = f.model.normals + 3 * v;
            assert_near(sqrt((double)own[0] * own[0] + (double)own[1] * own[1] + (double)own[2] * own[2]), 1, 1e-6);
            for (int e = 0; e < FRAMES; e++)
                for (int c = 0; c < 3; c++) {
                    double kept = 0, turned = 0;
                    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
                        for (int k = 0; k < 3; k++) {
                            double m = in->weights[i] * l->turns[e][in->joints[i]].m[4 * c + k];
                            kept += m * file[k], turned += m * own[k];
                        }
                    before += pow(kept - l->normals[e][3 * v + (uint32_t)c], 2);
                    after += pow(turned - l->normals[e][3 * v + (uint32_t)c], 2);
                }
        }
        if (refit == 1) assert_true(after < 0.98 * before);
        if (refit != 1) assert_memory_equal(f.model.normals, l->bundle->mesh.normals, 12 * VERTICES);
    }
    free_limb(l);
}

/* -- The ridge ----------------------------------------------------------------------------------------------------- */

/* The largest distance between the run time, in single precision, and the same blend summed up in double precision. */
static double lost_to_rounding(const fitted *f) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_model model = {0};
    pelt_error error = {0};
    assert_int_equal(pelt_model_unpack(arena, &f->skin, &model, &error), PELT_OK);
    pelt_affine *matrices = PELT_NEW(arena, pelt_model_matrix_count(&model), pelt_affine);
    pelt_transform *locals = PELT_NEW(arena, f->bundle->skeleton.joint_count, pelt_transform);
    const pelt_influences *in = &model.influences;
    double worst = 0;
    for (uint32_t frame = 0; frame < f->clip->frame_count; frame++) {
        pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
        pelt_clip_pose(f->clip, &f->bundle->skeleton, frame, locals);
        pelt_model_matrices(&model, locals, matrices);
        for (size_t v = 0; v < model.vertex_count; v++) {
            const float *p = model.positions + 3 * v;
            double square = 0;
            for (int r = 0; r < 3; r++) {
                double sum = -f->positions[3 * v + (size_t)r];
                for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
                    const double *m = matrices[in->joints[i]].m + 4 * r;
                    sum += in->weights[i] * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
                }
                square += sum * sum;
            }
            worst = fmax(worst, square);
        }
    }
    pelt_arena_free(arena);
    return sqrt(worst) / f->bundle->mesh.diagonal;
}

/* Without a ridge, joints that move nearly alike get large weights that cancel, on this arm up to 300. */
static void single_precision_is_enough_for_the_weights(void **state) {
    (void)state;
    const pelt_drive_rule rule = {
        .joints = "*", .turn_count = 1, .turns = (float[]){0.5f}, .upstream = 1, .downstream = 1, .k = 8};
    pelt_fit_options options = {.method = PELT_METHOD_JOINTS, .joints.drive = &(pelt_drive_rules){1, &rule}};
    fitted *usual = fit_vertices(400, "arm", "train", options);
    options.joints.ridge = -1;
    fitted *none = fit_vertices(400, "arm", "train", options);
    assert_true(lost_to_rounding(none) > 1e-5);
    assert_true(lost_to_rounding(usual) < 2e-6);
    assert_true(rel_err(usual, "test") < 1.01 * rel_err(none, "test"));
    drop(usual), drop(none);
}

/* -- Twists -------------------------------------------------------------------------------------------------------- */

/* Whether some vertex follows a twist of the joint. */
static bool is_twisted(const fitted *f, const char *joint) {
    uint32_t number = pelt_joint_named(&f->bundle->skeleton, joint, 0);
    for (uint32_t i = 0; i < f->skin.driven_count; i++)
        if (f->skin.driven[i].kind == PELT_DRIVEN_TWIST && f->skin.driven[i].driver == number) return true;
    return false;
}

static double held_out_error(pelt_bundle *bundle, pelt_examples kept, pelt_examples held, pelt_fit_options options) {
    pelt_error error = {0};
    options.method = PELT_METHOD_JOINTS, options.holdout = -1, options.threads = 1;
    pelt_bytes *bytes = pelt_fit(bundle, kept, &options, NULL, &error);
    pelt_skin skin;
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, held, 1, &error);
    assert_non_null(m);
    double rms = m->rms;
    pelt_measure_free(m), pelt_bytes_free(bytes);
    return rms;
}

/* The forearm twists with the wrist; elbow and hand are hinges. Examples that were held out say the same. */
static void joints_whose_twists_predict_better_have_twists(void **state) {
    (void)state;
    test_only_at_full_speed();
    float half = 0.5f, quarters[] = {0.25f, 0.5f, 0.75f};
    pelt_drive_rule plain = {.joints = "*", .turn_count = 1, .turns = &half, .upstream = 1, .downstream = 1, .k = 8};
    pelt_drive_rule list[2] = {plain, {.joints = "wrist", .twist_count = 3, .twists = quarters}};
    fitted *f = fit("arm", "test", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    pelt_examples kept, held;
    pelt_error error = {0};
    assert_int_equal(pelt_hold_out(f->bundle, f->examples, 1.0 / 3, &kept, &held, &error), PELT_OK);
    double without =
        held_out_error(f->bundle, kept, held, (pelt_fit_options){.joints.drive = &(pelt_drive_rules){1, list}});
    double with =
        held_out_error(f->bundle, kept, held, (pelt_fit_options){.joints.drive = &(pelt_drive_rules){2, list}});
    assert_true(with < 0.9 * without);
    assert_true(is_twisted(f, "wrist"));
    assert_false(is_twisted(f, "elbow") || is_twisted(f, "hand"));
    assert_true(rel_err(f, "test") < 0.4);
    drop(f);
}

/* How far the wrist twists about its bone, which lies along x, in degrees. */
static double wrist_twist(const fitted *f, const pelt_example *example) {
    pelt_transform locals[8];
    pelt_clip_pose(example->clip, &f->bundle->skeleton, example->frame, locals);
    const float *q = locals[pelt_joint_named(&f->bundle->skeleton, "wrist", 0)].rotation;
    return 2 * fabs(atan((double)q[0] / q[3])) * 180 / acos(-1);
}

/* A blend that twists by less than 20 degrees loses next to nothing. */
static void joints_that_hardly_twist_have_no_twists(void **state) {
    (void)state;
    test_only_at_full_speed();
    fitted *f = fit("arm", "test", (pelt_fit_options){.blend = PELT_BLEND_FIT});
    for (int most = 19; most <= 25; most += 6) {
        pelt_examples few = {0, calloc(f->examples.count, sizeof *few.list)};
        pelt_error error = {0};
        bool beyond = false;
        for (size_t e = 0; e < f->examples.count; e++)
            if (wrist_twist(f, &f->examples.list[e]) < most)
                few.list[few.count++] = f->examples.list[e], beyond |= wrist_twist(f, &f->examples.list[e]) > 20;
        assert_true(few.count >= 40 && beyond == (most > 20));
        pelt_bytes_free(f->bytes);
        f->bytes =
            pelt_fit(f->bundle, few, &(pelt_fit_options){.method = PELT_METHOD_JOINTS, .holdout = -1, .threads = 1},
                     NULL, &error);
        assert_non_null(f->bytes);
        assert_int_equal(pelt_open(f->bytes->bytes, f->bytes->size, &f->skin), PELT_OK);
        assert_int_equal(is_twisted(f, "wrist"), most > 20);
        free(few.list);
    }
    drop(f);
}

/* The tube bends by 150 degrees: too far for one half turn. */
static void a_hinge_that_bends_far_gets_quarter_turns(void **state) {
    (void)state;
    fitted *usual = fit("elbow", "test", (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    const pelt_drive_rules half = {1, &(pelt_drive_rule){.joints = "lower", .turn_count = 1, .turns = (float[]){0.5f}}};
    fitted *paper = fit("elbow", "test", (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.drive = &half});
    bool quarter = false;
    for (uint32_t i = 0; i < usual->skin.driven_count; i++) {
        const pelt_driven *d = &usual->skin.driven[i];
        quarter |= d->kind == PELT_DRIVEN_TURN && d->amount == 0.25f;
    }
    assert_true(quarter && !is_twisted(usual, "lower"));
    assert_true(rel_err(usual, "test") < 0.95 * rel_err(paper, "test"));
    drop(usual), drop(paper);
}

/* Vertices 0 to 3 follow the steps of joints 0 to 3 by a half, and vertex 4 those of joints 2 and 3 by a quarter, the rest
   of it joint 0. Joint 0 gains, joint 1 gains a little, joint 2 gains but gets rougher, joint 3 gets smoother but loses.
   Joint 2 would lose too if vertex 4 counted as much as vertex 2 does. */
static void steps_must_gain_and_not_roughen(void **state) {
    (void)state;
    enum { DRIVERS = 4, COUNT = 5 };
    uint32_t first[] = {0, 2, 4, 6, 8, 11}, joints[] = {4, 0, 5, 0, 6, 0, 7, 0, 6, 7, 0};
    float weights[] = {0.5f, 0.5f, -0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.25f, 0.25f, 0.5f};
    float before[COUNT] = {1, 1, 10, 1, 1}, after[COUNT] = {0.7f, 0.9f, 6, 1.1f, 7.5f};
    float smooth[COUNT] = {1, 1, 1, 1, 1}, rough[COUNT] = {1, 0.95f, 1.1f, 0.3f, 1};
    pelt_driven driven[DRIVERS];
    for (uint32_t j = 0; j < DRIVERS; j++)
        driven[j] = (pelt_driven){
            .kind = j % 2 ? PELT_DRIVEN_TWIST : PELT_DRIVEN_TURN, .driver = j, .amount = j % 2 ? 0.5f : 0.25f};
    pelt_skeleton skeleton = {.joint_count = DRIVERS};
    pelt_model model = {.skeleton = &skeleton,
                        .vertex_count = COUNT,
                        .influences = {first, joints, weights},
                        .driven_count = DRIVERS,
                        .driven = driven};
    pelt_measure without = {.vertex_rms = before, .vertex_rough = smooth};
    pelt_measure with = {.vertex_rms = after, .vertex_rough = rough};
    static const pelt_steps all[DRIVERS] = {PELT_STEPS_TURN, PELT_STEPS_TWIST, PELT_STEPS_TURN, PELT_STEPS_TWIST};
    for (int round = 0; round < 3; round++) {
        pelt_steps steps[DRIVERS];
        memcpy(steps, all, sizeof steps);
        if (round == 1) rough[2] = 1; /* not rougher any more */
        for (uint32_t j = 0; j < DRIVERS && round == 2; j++) driven[j].kind = PELT_DRIVEN_TURN, driven[j].amount = 0.5f;
        assert_int_equal(pelt_weigh_steps(&model, &with, &without, steps, &(pelt_error){0}), PELT_OK);
        assert_int_equal(steps[0], round < 2 ? PELT_STEPS_TURN : PELT_STEPS_HALF); /* half turns are no steps */
        assert_int_equal(steps[1], PELT_STEPS_HALF);
        assert_int_equal(steps[2], round == 1 ? PELT_STEPS_TURN : PELT_STEPS_HALF);
        assert_int_equal(steps[3], PELT_STEPS_HALF);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_precision_is_enough_for_the_weights),
        cmocka_unit_test(joints_whose_twists_predict_better_have_twists),
        cmocka_unit_test(joints_that_hardly_twist_have_no_twists),
        cmocka_unit_test(steps_must_gain_and_not_roughen),
        cmocka_unit_test(a_hinge_that_bends_far_gets_quarter_turns),
        cmocka_unit_test(one_half_joint_removes_the_collapse_of_the_twisting_box),
        cmocka_unit_test(the_elbow_does_not_go_through_itself),
        cmocka_unit_test(driven_joints_learn_what_convex_weights_cannot),
        cmocka_unit_test(the_papers_choice_is_there),
        cmocka_unit_test(normals_in_the_fit_get_better_normals),
        cmocka_unit_test(rest_positions_stay_when_asked_to),
        cmocka_unit_test(rank_deficient_vertices_are_named),
        cmocka_unit_test(driven_joints_nobody_uses_are_not_in_the_skin),
        cmocka_unit_test(blocks_agree_on_few_joints_at_the_same_error),
        cmocka_unit_test(shared_joints_are_those_that_the_points_of_a_block_follow),
        cmocka_unit_test(a_vertex_alone_takes_the_best_joint_near_it),
        cmocka_unit_test(a_smooth_fit_is_the_minimum_of_error_and_its_differences),
        cmocka_unit_test(joints_are_chosen_for_the_neighbours_too),
        cmocka_unit_test(rigid_choice_takes_the_joints_that_see_the_vertex_move_least),
        cmocka_unit_test(weights_are_the_least_squares_of_positions_and_normals),
        cmocka_unit_test(weights_and_rest_positions_are_fitted_in_turns),
        cmocka_unit_test(a_rest_position_that_the_examples_do_not_show_is_deficient),
        cmocka_unit_test(bulges_lie_in_the_plane_of_the_bend),
        cmocka_unit_test(locked_vertices_are_as_in_the_file),
        cmocka_unit_test(rest_normals_are_fitted_with_the_rest_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
