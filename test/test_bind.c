/* test_bind.c: bind.h and what pelt.h, keys.h and error.h offer other languages: struct fields are only read for
   comparison. */

#include "samples/samples.h"
#include "test/test.h"
#include <pelt/bind.h>
#include <pelt/keys.h>

static void a_skin_is_made_and_run_by_functions_alone(void **state) {
    (void)state;
    pelt_error *error = calloc(1, pelt_sizeof_error());
    pelt_bundle *body =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 200, .frames = 24}, error);
    if (!body) fail_msg("%s", pelt_error_text(error));
    const pelt_clip *train = pelt_bundle_clip(body, "train", PELT_NEED_POSITIONS, error);
    pelt_fit_options *options = calloc(1, pelt_sizeof_fit_options());
    pelt_fit_report *report = calloc(1, pelt_sizeof_fit_report());
    assert_int_equal(pelt_fit_options_set(options, "method", "psd", error), PELT_OK);
    assert_int_equal(pelt_fit_options_set(options, "holdout", "0.25", error), PELT_OK);
    pelt_bytes *bytes = pelt_fit(body, pelt_bundle_examples(body, &train, 1), options, report, error);
    if (!bytes) fail_msg("%s", pelt_error_text(error));
    const pelt_measure *held = pelt_fit_report_holdout(report);
    assert_near(pelt_measure_number(held, "rel_err"), report->holdout->rel_err, 0);
    assert_near(pelt_measure_number(held, "frame_count"), 0.25 * pelt_clip_frame_count(train), 1);
    assert_near(pelt_measure_number(pelt_fit_report_train(report), "worst_vertex"), report->train->worst_vertex, 0);
    assert_true(isnan(pelt_measure_number(held, "colour")));
    size_t count;
    assert_ptr_equal(pelt_measure_array(held, "vertex_rough", &count), report->holdout->vertex_rough);
    assert_int_equal(count, pelt_bundle_vertex_count(body));
    assert_ptr_equal(pelt_measure_array(held, "frame_rms", &count), report->holdout->frame_rms);
    assert_int_equal(count, report->holdout->frame_count);
    assert_null(pelt_measure_array(held, "frame_rough", &count));
    const pelt_region *region = &report->holdout->regions[1];
    assert_true(pelt_measure_region_count(held) == report->holdout->region_count && held->region_count > 1);
    assert_string_equal(pelt_measure_region_name(held, 1), region->name);
    assert_near(pelt_measure_region_number(held, 1, "rms"), region->rms, 0);
    assert_near(pelt_measure_region_number(held, 1, "max"), region->max, 0);
    assert_near(pelt_measure_region_number(held, 1, "rel_err"), region->rel_err, 0);
    assert_near(pelt_measure_region_number(held, 1, "vertex_count"), region->vertex_count, 0);
    assert_near(pelt_measure_region_number(held, 1, "painted"), 0, 0);
    assert_true(isnan(pelt_measure_region_number(held, 1, "colour")));
    assert_null(pelt_measure_region_name(held, held->region_count));
    assert_null(pelt_measure_region_name(NULL, 0));
    assert_int_equal(count, 0);
    assert_string_equal(pelt_fit_report_choice(report, "method"), "psd");
    assert_string_equal(pelt_fit_report_choice(report, "blend"), "file");
    assert_null(pelt_fit_report_choice(report, "colour"));
    assert_near(pelt_fit_report_number(report, "bound"), report->bound, 0);
    assert_near(pelt_fit_report_number(report, "condition"), report->condition.value, 0);
    assert_true(isnan(pelt_fit_report_number(report, "colour")) && isnan(pelt_fit_report_number(NULL, "bound")));
    assert_int_equal(pelt_fit_report_held(report).count, report->holdout->frame_count);
    assert_ptr_equal(pelt_fit_report_kept(report).list, report->kept.list);

    pelt_skin *skin = calloc(1, pelt_sizeof_skin());
    assert_int_equal(pelt_open(pelt_bytes_data(bytes), pelt_bytes_size(bytes), skin), PELT_OK);
    assert_int_equal(pelt_skin_vertex_count(skin), 200);
    assert_true(pelt_skin_has_corrective(skin) && !pelt_skin_has_tangents(skin));
    assert_int_equal(pelt_skin_joint_count(skin), pelt_bundle_joint_count(body));
    uint32_t joints = pelt_skin_joint_count(skin);
    pelt_transform *locals = malloc(joints * sizeof *locals);
    for (uint32_t j = 0; j < joints; j++) {
        assert_string_equal(pelt_skin_joint_name(skin, j), pelt_bundle_joint_name(body, j));
        assert_int_equal(pelt_skin_joint_parent(skin, j), pelt_bundle_joint_parent(body, j));
        assert_memory_equal(pelt_skin_joint_rest(skin, j), pelt_bundle_rest_pose(body) + j, sizeof *locals);
    }
    assert_null(pelt_skin_joint_name(skin, joints));
    assert_null(pelt_skin_joint_rest(skin, joints));
    assert_int_equal(pelt_skin_joint_parent(skin, joints), -1);
    assert_true(pelt_bundle_control_count(body) == 1 && pelt_skin_control_count(skin) == 1);
    assert_string_equal(pelt_skin_control_name(skin, 0), pelt_bundle_control_name(body, 0));
    assert_near(pelt_skin_control_rest(skin, 0), body->controls.rest[0], 0);
    assert_null(pelt_skin_control_name(skin, 1));

    float *slots = aligned_alloc(PELT_ALIGN, pelt_output_size(skin)), played[200][3], tension[1];
    pelt_player *player = pelt_player_new(skin, body, error);
    pelt_bundle_pose(body, train, 5, locals, tension);
    const void *pose = pelt_player_pose_of(player, locals, tension);
    pelt_deform(skin, pose, (pelt_range){0, pelt_skin_block_count(skin)}, slots, NULL);
    pelt_player_frame(player, train, 5, played[0], NULL);
    for (uint32_t v = 0; v < 200; v++)
        assert_memory_equal(slots + 3 * pelt_skin_vertex_slots(skin)[v], played[v], sizeof *played);
    /* Many poses, by several threads: the same bits as one by one. */
    pelt_transform *poses = malloc(8 * joints * sizeof *poses);
    float tensions[8], *many = malloc(8 * sizeof played), *turned = malloc(8 * sizeof played);
    for (uint32_t f = 0; f < 8; f++) pelt_bundle_pose(body, train, f, poses + f * joints, tensions + f);
    assert_int_equal(pelt_deform_poses(skin, 8, poses, NULL, tensions, 3, many, turned, error), PELT_OK);
    for (uint32_t f = 0; f < 8; f++) {
        static float normals[200][3];
        pelt_player_frame(player, train, f, played[0], normals[0]);
        assert_memory_equal(many + f * 600, played, sizeof played);
        assert_memory_equal(turned + f * 600, normals, sizeof normals);
    }
    assert_int_equal(pelt_deform_poses(skin, 8, NULL, NULL, NULL, 1, many, NULL, error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_deform_poses(NULL, 8, poses, NULL, NULL, 1, many, NULL, error), PELT_ERROR_ARGUMENT);
    free(poses), free(many), free(turned);
    free(slots), free(locals), pelt_player_free(player);
    pelt_fit_report_free(report), pelt_bytes_free(bytes), pelt_bundle_free(body);
    free(skin), free(report), free(options), free(error);
}

static void a_character_comes_from_arrays(void **state) {
    (void)state;
    const float positions[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, weights[3][1] = {{1}, {1}, {1}};
    const uint32_t triangle[3] = {0, 1, 2}, joints[3][1] = {{0}, {0}, {1}};
    const char *const names[2] = {"root", "tip"};
    const pelt_transform rest[2] = {{{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}}, {{0, 0, 0, 1}, {0, 1, 0}, {1, 1, 1}}};
    pelt_error error = {0};
    pelt_bundle *b = pelt_bundle_of_arrays("sheet", 3, positions[0], 1, triangle, 2, names, (int32_t[]){-1, 0}, rest, 1,
                                           joints[0], weights[0], &error);
    if (!b) fail_msg("%s", pelt_error_text(&error));
    assert_non_null(pelt_bundle_add_frames(b, "wave", 1, rest, positions[0], &error));
    assert_int_equal(pelt_bundle_triangle_count(b), 1);
    assert_memory_equal(pelt_bundle_positions(b), positions, sizeof positions);
    assert_memory_equal(pelt_bundle_triangles(b), triangle, sizeof triangle);
    assert_string_equal(pelt_bundle_joint_name(b, 1), "tip");
    assert_int_equal(pelt_bundle_clip_count(b), 1);
    assert_string_equal(pelt_clip_name(pelt_bundle_clip_at(b, 0)), "wave");
    assert_null(pelt_bundle_clip_at(b, 1));
    assert_non_null(pelt_clip_times(pelt_bundle_clip_at(b, 0)));
    assert_true(pelt_bundle_in_memory(b) && !pelt_bundle_uvs(b) && !pelt_clip_normals(pelt_bundle_clip_at(b, 0)));
    assert_string_equal(pelt_bundle_path(b), "sheet");
    assert_near(pelt_bundle_normals(b)[2], 1, 1e-6);
    assert_near(pelt_bundle_inverse_bind(b)[12 + 7], -1, 1e-12); /* the tip is at y = 1 */
    assert_int_equal(pelt_bundle_influences(b)->joints[2], 1);
    assert_true(pelt_bundle_object_count(b) == 0 && !pelt_bundle_object_at(b, 0));
    assert_null(pelt_clip_example_weights(pelt_bundle_clip_at(b, 0)));
    assert_near(pelt_bundle_control_rest(b, 0), 0, 0);
    pelt_bundle_set_cache(b, &(pelt_cache_options){.scale = 3});
    assert_near(b->cache.scale, 3, 0);
    pelt_bundle_set_cache(b, NULL);
    assert_near(b->cache.scale, 0, 0);
    assert_int_equal(pelt_sizeof("pelt_character"), sizeof(pelt_character));
    const pelt_findings *notes = pelt_bundle_notes(b), found = {1, &(pelt_finding){PELT_WARNING, "what", "text"}};
    assert_int_equal(pelt_finding_count(notes), b->notes.count);
    assert_int_equal(pelt_finding_severity(&found, 0), PELT_WARNING);
    assert_string_equal(pelt_finding_what(&found, 0), "what");
    assert_string_equal(pelt_finding_text(&found, 0), "text");
    assert_null(pelt_finding_text(&found, 1));
    pelt_bundle_free(b);
    assert_null(pelt_bundle_positions(NULL));
    assert_null(pelt_clip_name(NULL));
    assert_int_equal(pelt_finding_count(NULL), 0);
    assert_null(pelt_bytes_data(NULL));
}

static void options_are_set_by_name(void **state) {
    (void)state;
    pelt_fit_options o = {.method = PELT_METHOD_KERNEL};
    pelt_error error = {0};
#define SET(name, text) assert_int_equal(pelt_fit_options_set(&o, name, text, &error), PELT_OK)
    SET("per_vertex", "20"), SET("family", "arc"), SET("normals", "blend");
    assert_true(o.kernel.per_vertex == 20 && !o.eigen.per_vertex && o.kernel.family == PELT_FAMILY_ARC);
    assert_int_equal(o.normals, PELT_NORMALS_BLEND);
    SET("corrective", "eigen"), SET("per_vertex", "7"), SET("width", "0.5"), SET("fade", "0");
    assert_true(o.eigen.per_vertex == 7 && o.eigen.width == 0.5 && o.psd.width == 0 && o.eigen.fade < 0);
    SET("blend", "joints"), SET("smooth", "0.25"), SET("rest", "keep"), SET("holdout", "0"), SET("threads", "3");
    assert_true(o.blend == PELT_BLEND_JOINTS && o.fitted.smooth == 0.25 && o.fitted.rest == PELT_REST_KEEP);
    assert_true(o.holdout < 0 && o.threads == 3);
#undef SET
    const pelt_fit_options before = o;
    static const char *const wrong[][3] = {
        {"per_vertex", "65", "per_vertex must be between 1 and 64, not 65"},
        {"per_vertex", "2.5", "per_vertex must be an integer, not 2.5"},
        {"width", "wide", "width must be between 0.001 and 1000, not wide"},
        {"width", "nan", "width must be between 0.001 and 1000, not nan"},
        {"rbf", "soup", "rbf: there is no choice \"soup\"; choose from mixed, gaussian, exp"},
        {"method", "", "method: there is no choice \"\"; choose from ssd, joints, psd, wpsd, eigen, kernel"},
        {"drive", "x", "drive is a list and cannot be set from text: set it in the struct"},
        {"colour", "red", "name: there is no option called \"colour\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pelt_fit_options_set(&o, wrong[i][0], wrong[i][1], &error), PELT_ERROR_ARGUMENT);
        assert_string_equal(pelt_error_text(&error), wrong[i][2]);
    }
    assert_memory_equal(&o, &before, sizeof o);
    assert_int_equal(pelt_fit_options_set(&o, NULL, "1", &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_fit_options_set(NULL, "rbf", "exp", NULL), PELT_ERROR_ARGUMENT);
    o.method = (pelt_method)99;
    assert_int_equal(pelt_fit_options_set(&o, "rbf", "exp", &error), PELT_ERROR_ARGUMENT);
}

static int never(void *user, const char *task, double fraction) { return (void)user, (void)task, fraction > 2; }

static void lists_are_set_by_name(void **state) {
    (void)state;
    pelt_fit_options o = {0};
    pelt_error error = {0};
    pelt_drive_rules rules;
    const char *const names[] = {"a", "b"};
    const uint32_t vertices[] = {3};
    const pelt_control_scale scale = {"c", 2};
    const pelt_drive_rule rule = {.joints = "a"};
    assert_int_equal(pelt_fit_options_set_list(&o, "drop_joints", 2, names, NULL, &error), PELT_OK);
    assert_int_equal(pelt_fit_options_set_list(&o, "lock_joints", 1, names, NULL, &error), PELT_OK);
    assert_int_equal(pelt_fit_options_set_list(&o, "lock_vertices", 1, vertices, NULL, &error), PELT_OK);
    assert_int_equal(pelt_fit_options_set_list(&o, "control_scale", 1, &scale, NULL, &error), PELT_OK);
    assert_int_equal(pelt_fit_options_set_list(&o, "drive", 1, &rule, &rules, &error), PELT_OK);
    assert_true(o.fitted.drop_joints.count == 2 && o.fitted.drop_joints.list == names);
    assert_true(o.convex.lock_joints.count == 1 && o.convex.lock_joints.list == names);
    assert_true(o.convex.lock_vertex_count == 1 && o.convex.lock_vertices == vertices);
    assert_true(o.displacement.control_scale_count == 1 && o.displacement.control_scale == &scale);
    assert_true(o.joints.drive == &rules && rules.count == 1 && rules.list == &rule);
    assert_int_equal(pelt_fit_options_set_list(&o, "drive", 1, &rule, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_fit_options_set_list(&o, "drop_joints", 2, NULL, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_fit_options_set_list(&o, "colours", 2, names, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_string_equal(error.text, "name: there is no list called \"colours\"");
    pelt_fit_options_set_progress(&o, never, (void *)names);
    assert_true(o.progress.step == never && o.progress.user == names);
}

static void keys_say_what_is_in_them(void **state) {
    (void)state;
    const uint32_t points[2] = {5, 3};
    const pelt_keys keys = {.point_count = 9,
                            .component_count = 3,
                            .block_count = 2,
                            .key_count = 2,
                            .key_points = points,
                            .basis_count = 4,
                            .region_count = 5,
                            .engine_point_count = 8,
                            .control_count = 6,
                            .diagonal = 7,
                            .about = "{}"};
    assert_int_equal(pelt_sizeof_keys(), sizeof keys);
    assert_int_equal(pelt_keys_point_count(&keys), 9);
    assert_int_equal(pelt_keys_component_count(&keys), 3);
    assert_int_equal(pelt_keys_block_count(&keys), 2);
    assert_int_equal(pelt_keys_key_count(&keys), 2);
    assert_ptr_equal(pelt_keys_key_points(&keys), points);
    assert_int_equal(pelt_keys_basis_count(&keys), 4);
    assert_int_equal(pelt_keys_region_count(&keys), 5);
    assert_int_equal(pelt_keys_engine_point_count(&keys), 8);
    assert_int_equal(pelt_keys_control_count(&keys), 6);
    assert_near(pelt_keys_diagonal(&keys), 7, 0);
    assert_string_equal(pelt_keys_about(&keys), "{}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skin_is_made_and_run_by_functions_alone),
        cmocka_unit_test(a_character_comes_from_arrays),
        cmocka_unit_test(options_are_set_by_name),
        cmocka_unit_test(lists_are_set_by_name),
        cmocka_unit_test(keys_say_what_is_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
