/* test_joints.c: Mohr & Gleicher's blend on the samples that their figures show, and its options. */

#include "pack/driven.h"
#include "samples/samples.h"
#include "test/character.h"

typedef struct fitted {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_examples examples;
    pelt_skin_bytes *bytes;
    pelt_skin skin;
    pelt_player *player;
    float *positions;
} fitted;

static fitted *fit(const char *sample, const char *clip, pelt_fit_options options) {
    fitted *f = calloc(1, sizeof *f); /* the player keeps pointing to the skin in it */
    pelt_error error = {0};
    f->bundle = pelt_sample_make(&(pelt_sample_options){.name = sample, .vertices = 1200}, &error);
    assert_non_null(f->bundle);
    const pelt_clip *train = pelt_bundle_clip(f->bundle, "train", PELT_NEED_POSITIONS, &error);
    f->clip = pelt_bundle_clip(f->bundle, clip, PELT_NEED_POSITIONS, &error);
    assert_true(train && f->clip);
    f->examples = pelt_bundle_examples(f->bundle, &train, 1);
    f->bytes = pelt_fit(f->bundle, f->examples, &options, &error);
    if (!f->bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(f->bytes->bytes, f->bytes->size, &f->skin), PELT_OK);
    f->player = pelt_player_new(&f->skin, f->bundle, &error);
    f->positions = malloc(3 * (size_t)f->skin.vertex_count * sizeof(float));
    return f;
}

static void drop(fitted *f) {
    free(f->positions);
    pelt_player_free(f->player);
    pelt_skin_free(f->bytes);
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

/* Mean squared distance from the axis of the vertices near the middle section; a section that shrinks by s has s^2 of
   it, as of the area. */
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

/* The smallest area of the middle section over the clip, as a part of the area at rest. */
static double smallest_section(fitted *f) {
    double rest = section_size(f, f->bundle->mesh.positions), least = INFINITY;
    for (uint32_t frame = 0; frame < f->clip->frame_count; frame++) {
        pelt_player_frame(f->player, f->clip, frame, f->positions, NULL);
        least = fmin(least, section_size(f, f->positions) / rest);
    }
    return least;
}

static void one_half_joint_removes_the_collapse_of_the_twisting_box(void **state) {
    (void)state;
    fitted *linear = fit("box", "train", (pelt_fit_options){.blend = "fit"});
    fitted *joints = fit("box", "train",
                         (pelt_fit_options){.method = "joints", .drive = "[{\"joints\": \"twist\", \"turn\": [0.5]}]"});
    assert_int_equal(joints->skin.driven_count, 1);
    assert_true(smallest_section(linear) < 0.5);
    assert_near(smallest_section(joints), 1, 0.02);
    assert_true(rel_err(joints, "test") < 0.1);
    drop(linear), drop(joints);
}

/* -- Figure 5: the elbow ------------------------------------------------------------------------------------------- */

/* How far vertices of the upper half get through the plane that halves the angle between the bones, over the clip: the
   skins of the two halves then are inside each other. */
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

/* One half joint, as in the figure. Folded further the halves do meet, but less than half as deep. */
static void the_elbow_does_not_go_through_itself(void **state) {
    (void)state;
    fitted *linear = fit("elbow", "train", (pelt_fit_options){.blend = "file"});
    fitted *joints = fit("elbow", "train", (pelt_fit_options){.method = "joints"});
    assert_int_equal(joints->skin.driven_count, 1);
    assert_true(penetration(linear, 130) > 0.1);
    assert_true(penetration(joints, 130) == 0);
    assert_true(penetration(joints, 150) < 0.5 * penetration(linear, 150));
    assert_true(rel_err(joints, "test") < 0.3);
    drop(linear), drop(joints);
}

/* -- Choices and options ------------------------------------------------------------------------------------------- */

static void driven_joints_learn_what_convex_weights_cannot(void **state) {
    (void)state;
    fitted *convex = fit("arm", "test", (pelt_fit_options){.blend = "fit"});
    fitted *joints = fit("arm", "test", (pelt_fit_options){.method = "joints"});
    fitted *more = fit("arm", "test", (pelt_fit_options){.method = "joints", .influences = 8});
    assert_true(rel_err(convex, "train") < 1);
    assert_true(rel_err(joints, "test") < 0.9 * rel_err(convex, "test"));
    assert_true(rel_err(more, "train") < rel_err(joints, "train"));
    drop(convex), drop(joints), drop(more);
}

static void the_papers_choice_is_there(void **state) {
    (void)state;
    fitted *joints = fit("box", "train",
                         (pelt_fit_options){.method = "joints",
                                            .influence_choice = "rigidity",
                                            .influences = 3,
                                            .drive = "[{\"joints\": \"twist\", \"turn\": [0.5]}]"});
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
    fitted *without = fit("arm", "train", (pelt_fit_options){.method = "joints"});
    fitted *with = fit("arm", "train", (pelt_fit_options){.method = "joints", .normal_scale = 0.02});
    print_message("normals: %.2f degrees without, %.2f with\n", normal_error(without), normal_error(with));
    assert_true(normal_error(with) < 0.9 * normal_error(without));
    drop(without), drop(with);
}

static void rest_positions_stay_when_asked_to(void **state) {
    (void)state;
    fitted *keep = fit("elbow", "train", (pelt_fit_options){.method = "joints", .rest = "keep"});
    fitted *refit = fit("elbow", "train", (pelt_fit_options){.method = "joints"});
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

/* Two examples cannot tell the bulges apart; the skin says which vertices. */
static void rank_deficient_vertices_are_named(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 400}, &error);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);
    examples.count = 2;
    pelt_skin_bytes *bytes =
        pelt_fit(bundle, examples, &(pelt_fit_options){.method = "joints", .ridge = -1, .influences = 8}, &error);
    assert_non_null(bytes);
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    assert_non_null(strstr(skin.about, "rank-deficient"));
    assert_null(strstr(skin.about, "\"rank_deficient\":[]"));
    pelt_skin_free(bytes);
    pelt_bundle_free(bundle);
}

static void driven_joints_nobody_uses_are_not_in_the_skin(void **state) {
    (void)state;
    fitted *f = fit("arm", "train", (pelt_fit_options){.method = "joints"});
    uint8_t used[65536] = {0};
    for (uint32_t e = 0; e < f->skin.entry_count; e++) used[f->skin.entry_joints[e]] = 1;
    for (uint32_t i = 0; i < f->skin.driven_count; i++) assert_true(used[f->skin.joint_count + i]);
    drop(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_half_joint_removes_the_collapse_of_the_twisting_box),
        cmocka_unit_test(the_elbow_does_not_go_through_itself),
        cmocka_unit_test(driven_joints_learn_what_convex_weights_cannot),
        cmocka_unit_test(the_papers_choice_is_there),
        cmocka_unit_test(normals_in_the_fit_get_better_normals),
        cmocka_unit_test(rest_positions_stay_when_asked_to),
        cmocka_unit_test(rank_deficient_vertices_are_named),
        cmocka_unit_test(driven_joints_nobody_uses_are_not_in_the_skin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
