/* Options of a fit: what methods consist of, which values are refused, and that unused options are refused. */

#include "test/corrected.h"
#include "test/test.h"

/* -- Methods ------------------------------------------------------------------------------------------------------- */

static void a_method_is_a_blend_and_a_corrective_and_called_by_them(void **state) {
    (void)state;
    const struct {
        pelt_fit_options given;
        const char *method, *blend, *corrective;
    } cases[] = {
        {{0}, "ssd", "file", "none"},
        {{.method = PELT_METHOD_JOINTS}, "joints", "joints", "none"},
        {{.method = PELT_METHOD_PSD}, "psd", "file", "psd"},
        {{.method = PELT_METHOD_WPSD}, "wpsd", "file", "wpsd"},
        {{.method = PELT_METHOD_EIGEN}, "eigen", "file", "eigen"},
        {{.method = PELT_METHOD_KERNEL}, "kernel", "file", "kernel"},
        {{.method = PELT_METHOD_PSD, .corrective = PELT_CORRECTIVE_KERNEL}, "kernel", "file", "kernel"},
        {{.method = PELT_METHOD_PSD, .corrective = PELT_CORRECTIVE_NONE}, "ssd", "file", "none"},
        {{.method = PELT_METHOD_JOINTS, .corrective = PELT_CORRECTIVE_EIGEN}, "eigen", "joints", "eigen"},
        {{.blend = PELT_BLEND_DISTANCE}, "ssd", "distance", "none"},
        {{.blend = PELT_BLEND_JOINTS}, "joints", "joints", "none"},
        {{.method = PELT_METHOD_JOINTS, .blend = PELT_BLEND_FIT}, "ssd", "fit", "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int again = 0; again < 2; again++) { /* what is resolved stays as it is */
            pelt_fit_options o = cases[i].given;
            for (int k = 0; k <= again; k++) assert_int_equal(pelt_fit_resolve(&o, NULL), PELT_OK);
            assert_string_equal(pelt_method_name(o.method), cases[i].method);
            assert_string_equal(pelt_blend_name(o.blend), cases[i].blend);
            assert_string_equal(pelt_corrective_name(o.corrective), cases[i].corrective);
        }
}

static void rest_positions_are_kept_by_fit_and_refitted_by_joints(void **state) {
    (void)state;
    pelt_fit_options file = {0}, fit = {.blend = PELT_BLEND_FIT}, joints = {.blend = PELT_BLEND_JOINTS};
    assert_int_equal(pelt_fit_resolve(&file, NULL) | pelt_fit_resolve(&fit, NULL) | pelt_fit_resolve(&joints, NULL), 0);
    assert_int_equal(file.fitted.rest, PELT_REST_OF_BLEND);
    assert_int_equal(fit.fitted.rest, PELT_REST_KEEP);
    assert_int_equal(joints.fitted.rest, PELT_REST_REFIT);
}

/* -- What is refused ------------------------------------------------------------------------------------------------ */

static void refused(pelt_fit_options options, const char *option, const char *words) {
    pelt_error error = {0};
    if (pelt_fit_resolve(&options, &error) != PELT_ERROR_ARGUMENT) fail_msg("%s should be refused: %s", option, words);
    assert_string_equal(error.option, option);
    assert_int_equal(strncmp(error.text, option, strlen(option)), 0);
    if (!strstr(error.text, words)) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_null(strstr(error.text, "--"));
    assert_int_equal(pelt_fit_resolve(&options, NULL), PELT_ERROR_ARGUMENT); /* an error is not needed */
}

#define P .corrective = PELT_CORRECTIVE_PSD
#define W .corrective = PELT_CORRECTIVE_WPSD
#define E .corrective = PELT_CORRECTIVE_EIGEN
#define K .corrective = PELT_CORRECTIVE_KERNEL
#define F .blend = PELT_BLEND_FIT
#define J .blend = PELT_BLEND_JOINTS

static void options_that_nobody_uses_are_refused_with_those_who_do(void **state) {
    (void)state;
    static const char *const words[] = {"spine"};
    static const uint32_t vertices[] = {1};
    const pelt_names names = {1, words};
    const pelt_control_scale scale = {"x", 2};
    const pelt_drive_rules rules = {0};
    refused((pelt_fit_options){.fitted.rest = PELT_REST_KEEP}, "rest", "the blends fit and joints; the blend file");
    refused((pelt_fit_options){.fitted.drop_joints = names}, "drop_joints", "fit and joints");
    refused((pelt_fit_options){.fitted.smooth = 1}, "smooth", "the blends fit and joints; the blend file does not");
    refused((pelt_fit_options){J, .convex.prune = 0.1}, "prune", "the blend fit");
    refused((pelt_fit_options){J, .convex.lock_joints = names}, "lock_joints", "the blend fit");
    refused((pelt_fit_options){.convex = {.lock_vertices = vertices, .lock_vertex_count = 1}}, "lock_vertices", "fit");
    refused((pelt_fit_options){.convex.lock_color = PELT_COLOR_RED}, "lock_color", "the blends fit and joints");
    refused((pelt_fit_options){F, .joints.influence_choice = PELT_CHOICE_RIGIDITY}, "influence_choice", "blend joints");
    refused((pelt_fit_options){F, .joints.drive = &rules}, "drive", "blend joints");
    refused((pelt_fit_options){F, .joints.ridge = 1}, "ridge", "blend joints");
    refused((pelt_fit_options){F, .joints.ridge = -1}, "ridge", "blend joints");
    refused((pelt_fit_options){F, .joints.normal_scale = 1}, "normal_scale", "blend joints");
    refused((pelt_fit_options){.normals = PELT_NORMALS_ROWS}, "normals", "rows need a corrective");
    refused((pelt_fit_options){.displacement.displacements = 16}, "displacements", "there is no corrective");
    refused((pelt_fit_options){.displacement = {.control_scale = &scale, .control_scale_count = 1}}, "control_scale",
            "there is no corrective");
    refused((pelt_fit_options){.psd.poses = 8}, "poses", "the correctives psd and wpsd, and there is no corrective");
    refused((pelt_fit_options){E, .psd.poses = 8}, "poses", "psd and wpsd; eigen does not");
    refused((pelt_fit_options){E, .psd.rbf = PELT_RBF_EXP}, "rbf", "psd and wpsd");
    refused((pelt_fit_options){K, .psd.no_norm = 1}, "no_norm", "psd and wpsd");
    refused((pelt_fit_options){P, .wpsd.principal_joints = 4}, "principal_joints", "the corrective wpsd; psd");
    refused((pelt_fit_options){P, .wpsd.shared_width = 1}, "shared_width", "the corrective wpsd; psd");
    refused((pelt_fit_options){E, .psd.distance_weights = PELT_DISTANCE_EQUAL}, "distance_weights",
            "psd and wpsd; eigen");
    refused((pelt_fit_options){K, .psd.rotations = PELT_ROTATIONS_EULER}, "rotations", "psd and wpsd; kernel");
    refused((pelt_fit_options){K, .psd.pose_choice = PELT_POSE_CHOICE_PCA}, "pose_choice", "psd and wpsd; kernel");
    refused((pelt_fit_options){K, .psd.width = 1}, "width", "psd, wpsd and eigen; kernel");
    refused((pelt_fit_options){P, .eigen.width = 1}, "width", "psd, wpsd and eigen; psd");
    refused((pelt_fit_options){P, .eigen.threshold = 0.1}, "threshold", "eigen; psd");
    refused((pelt_fit_options){W, .eigen.fade = -1}, "fade", "eigen; wpsd");
    refused((pelt_fit_options){K, .eigen.per_joint = 3}, "per_joint", "the corrective eigen; kernel");
    refused((pelt_fit_options){K, .eigen.sweeps_only = 1}, "sweeps_only", "eigen; kernel");
    refused((pelt_fit_options){P, .eigen.per_vertex = 5}, "per_vertex", "eigen and kernel; psd");
    refused((pelt_fit_options){K, .eigen.per_vertex = 5}, "per_vertex", "eigen");
    refused((pelt_fit_options){E, .kernel.per_vertex = 5}, "per_vertex", "kernel");
    refused((pelt_fit_options){E, .kernel.balance = 0.5}, "balance", "kernel; eigen");
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    const pelt_control_scale small = {"x", 1e-4}, large = {"x", 1e4}, strange = {"x", NAN}, nameless = {NULL, 1};
    refused((pelt_fit_options){.method = (pelt_method)17}, "method", "17");
    refused((pelt_fit_options){.blend = (pelt_blend)9}, "blend", "9");
    refused((pelt_fit_options){.corrective = (pelt_corrective_kind)-1}, "corrective", "-1");
    refused((pelt_fit_options){J, .influences = 1000}, "influences", "must be between 1 and 64, not 1000");
    refused((pelt_fit_options){.influences = 65}, "influences", "65");
    refused((pelt_fit_options){.influences = UINT32_MAX}, "influences", "not 4294967295");
    refused((pelt_fit_options){F, .fitted.rest = (pelt_rest)3}, "rest", "no choice 3");
    refused((pelt_fit_options){F, .fitted.rest = (pelt_rest)-1}, "rest", "no choice -1");
    refused((pelt_fit_options){F, .fitted.smooth = 2e6}, "smooth", "at most 1e+06");
    refused((pelt_fit_options){F, .fitted.smooth = INFINITY}, "smooth", "inf");
    refused((pelt_fit_options){F, .fitted.smooth = NAN}, "smooth", "nan");
    refused((pelt_fit_options){F, .convex.prune = 0.6}, "prune", "must be between 0 and 0.5, not 0.6");
    refused((pelt_fit_options){J, .joints.ridge = 2e6}, "ridge", "at most 1e+06");
    refused((pelt_fit_options){J, .joints.normal_scale = NAN}, "normal_scale", "nan");
    refused((pelt_fit_options){P, .normals = PELT_NORMALS_COUNT}, "normals", "there is no choice 4");
    refused((pelt_fit_options){P, .displacement.displacements = 8}, "displacements", "8");
    refused((pelt_fit_options){P, .displacement.displacements = 24}, "displacements", "must be 16 or 32");
    refused((pelt_fit_options){P, .displacement = {.control_scale = &small, .control_scale_count = 1}}, "control_scale",
            "between 0.001 and 1000");
    refused((pelt_fit_options){P, .displacement = {.control_scale = &large, .control_scale_count = 1}}, "control_scale",
            "between 0.001 and 1000");
    refused((pelt_fit_options){P, .displacement = {.control_scale = &strange, .control_scale_count = 1}},
            "control_scale", "between 0.001 and 1000");
    refused((pelt_fit_options){P, .displacement = {.control_scale = &nameless, .control_scale_count = 1}},
            "control_scale", "missing");
    refused((pelt_fit_options){P, .displacement.control_scale_count = 2}, "control_scale", "missing");
    refused((pelt_fit_options){F, .convex.lock_joints.count = 2}, "lock_joints", "missing");
    refused((pelt_fit_options){F, .convex.lock_vertex_count = 2}, "lock_vertices", "missing");
    refused((pelt_fit_options){J, .convex.lock_color = PELT_COLOR_COUNT}, "lock_color", "no choice 9");
    refused((pelt_fit_options){W, .psd.poses = 2049}, "poses", "between 1 and 2048");
    refused((pelt_fit_options){W, .wpsd.principal_joints = 65}, "principal_joints", "between 1 and 64");
    refused((pelt_fit_options){W, .psd.width = 1e-4}, "width", "between 0.001 and 1000");
    refused((pelt_fit_options){W, .psd.rotations = (pelt_rotations)3}, "rotations", "no choice 3");
    refused((pelt_fit_options){E, .eigen.threshold = 0.6}, "threshold", "between 0.001 and 0.5");
    refused((pelt_fit_options){E, .eigen.fade = NAN}, "fade", "nan");
    refused((pelt_fit_options){E, .eigen.per_joint = 65}, "per_joint", "between 1 and 64");
    refused((pelt_fit_options){K, .kernel.per_vertex = 65}, "per_vertex", "between 1 and 64");
    refused((pelt_fit_options){K, .kernel.balance = 1.5}, "balance", "at most 1");
    refused((pelt_fit_options){K, .kernel.balance = NAN}, "balance", "nan");
    refused((pelt_fit_options){.holdout = 0.95}, "holdout", "at most 0.9");
    refused((pelt_fit_options){.holdout = NAN}, "holdout", "nan");
}

static void options_that_make_no_sense_together_are_refused(void **state) {
    (void)state;
    refused((pelt_fit_options){P, .psd.distance_weights = PELT_DISTANCE_BLEND}, "distance_weights", "use wpsd");
    refused((pelt_fit_options){W, .psd.distance_weights = PELT_DISTANCE_EQUAL}, "distance_weights", "use psd");
    refused((pelt_fit_options){W, .psd.pose_choice = PELT_POSE_CHOICE_PCA}, "pose_choice", "all poses are kept");
    refused((pelt_fit_options){W, .psd.poses = 8, .wpsd.shared_width = 1}, "shared_width", "few poses");
    refused((pelt_fit_options){P, .psd = {.no_norm = 1, .norm_floor = 0.1}}, "norm_floor", "remove no_norm");
    refused((pelt_fit_options){W, .psd = {.poses = 8, .norm_floor = 0.1}}, "norm_floor", "limited number of poses");
    refused((pelt_fit_options){W, .psd.width = 1, .wpsd.shared_width = 1}, "shared_width", "a fixed width");
}

static void presets_are_what_the_papers_say(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_fit_options o = {.preset = PELT_PRESET_LEWIS};
    for (int again = 0; again < 2; again++) {
        assert_int_equal(pelt_fit_resolve(&o, &error), PELT_OK);
        assert_true(o.method == PELT_METHOD_PSD && o.blend == PELT_BLEND_FILE && o.psd.rbf == PELT_RBF_GAUSSIAN);
        assert_true(o.psd.rotations == PELT_ROTATIONS_EULER && o.psd.distance_weights == PELT_DISTANCE_EQUAL);
        assert_true(o.psd.no_norm && !o.influences && !o.psd.poses);
    }
    o = (pelt_fit_options){.preset = PELT_PRESET_RHEE};
    assert_int_equal(pelt_fit_resolve(&o, &error), PELT_OK);
    assert_true(o.method == PELT_METHOD_WPSD && o.blend == PELT_BLEND_FIT && o.psd.rbf == PELT_RBF_GAUSSIAN);
    assert_true(o.psd.rotations == PELT_ROTATIONS_EULER && o.psd.distance_weights == PELT_DISTANCE_BLEND);
    assert_true(o.convex.weights_first && o.influences == 4 && o.wpsd.principal_joints == 4 && o.wpsd.shared_width &&
                o.psd.norm_floor == 1e-3);
    o = (pelt_fit_options){.preset = PELT_PRESET_RHEE, .psd = {.poses = 8, .pose_choice = PELT_POSE_CHOICE_PCA}};
    assert_int_equal(pelt_fit_resolve(&o, &error), PELT_OK);
    assert_true(o.psd.poses == 8 && !o.wpsd.shared_width && o.psd.norm_floor == 0);
    o = (pelt_fit_options){.preset = PELT_PRESET_KRY, .eigen.per_joint = 3};
    assert_int_equal(pelt_fit_resolve(&o, &error), PELT_OK);
    assert_true(o.method == PELT_METHOD_EIGEN && o.eigen.sweeps_only && o.eigen.threshold == 0.04);
    assert_true(o.eigen.fade < 0 && o.eigen.per_joint == 3 && !o.eigen.per_vertex);
    o = (pelt_fit_options){.preset = PELT_PRESET_VERTEX_PROGRAM, .eigen.per_vertex = 6};
    assert_int_equal(pelt_fit_resolve(&o, &error), PELT_OK);
    assert_true(o.eigen.per_vertex == 6 && o.influences == 4 && o.eigen.sweeps_only && o.eigen.fade == 0);
    assert_string_equal(pelt_preset_name(PELT_PRESET_RHEE), "rhee");
    assert_string_equal(pelt_preset_name((pelt_preset)99), "");
}

static void what_contradicts_a_preset_is_refused(void **state) {
    (void)state;
    const pelt_preset lewis = PELT_PRESET_LEWIS, rhee = PELT_PRESET_RHEE, vertex = PELT_PRESET_VERTEX_PROGRAM;
    refused((pelt_fit_options){.preset = lewis, .psd.rbf = PELT_RBF_EXP}, "rbf", "lewis sets it to gaussian");
    refused((pelt_fit_options){.preset = lewis, .psd.norm_floor = 0.1}, "norm_floor", "remove no_norm");
    refused((pelt_fit_options){.method = PELT_METHOD_KERNEL, .preset = lewis}, "method", "lewis sets it to psd");
    refused((pelt_fit_options){.preset = rhee, .influences = 8}, "influences", "rhee sets it to 4");
    refused((pelt_fit_options){.preset = rhee, .blend = PELT_BLEND_FILE}, "blend", "rhee sets it to fit");
    refused((pelt_fit_options){.preset = rhee, .corrective = PELT_CORRECTIVE_PSD}, "corrective", "sets it to wpsd");
    refused((pelt_fit_options){.preset = vertex, .eigen.per_vertex = 11}, "per_vertex", "11 are more than the 10");
    refused((pelt_fit_options){.preset = vertex, .influences = 5}, "influences", "the 4");
    refused((pelt_fit_options){K, .preset = vertex}, "corrective", "sets it to eigen");
    refused((pelt_fit_options){.preset = (pelt_preset)77}, "preset", "no preset 77");
}

static void ends_of_ranges_are_taken(void **state) {
    (void)state;
    const pelt_control_scale ends[] = {{"x", 1e-3}, {"y", 1e3}};
    pelt_fit_options good[] = {
        {J, .influences = 64, .joints = {.ridge = 1e6, .normal_scale = -3}, .holdout = 0.9},
        {F, .influences = 1, .convex.prune = 0.5, .fitted = {.smooth = 1e6, .rest = PELT_REST_REFIT}, .holdout = -1},
        {W, .psd = {2048, PELT_RBF_EXP, 1, PELT_DISTANCE_BLEND, PELT_ROTATIONS_EULER, PELT_POSE_CHOICE_PCA, 1e3},
         .wpsd = {64, 0}, .displacement.displacements = 32},
        {P, .psd.poses = 1, .displacement = {16, ends, 2}},
        {P, .psd.distance_weights = PELT_DISTANCE_EQUAL, .psd.width = 1e-3},
        {W, .wpsd.shared_width = 1},
        {E, .eigen = {64, 64, 1, 0.5, 0.95, 1e3}},
        {E, .eigen = {.threshold = 1e-3, .fade = -1, .width = 1e-3}},
        {K, .kernel.per_vertex = 64},
        {K, .kernel.balance = 1},
        {K, .kernel.balance = -1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        pelt_error error = {0};
        if (pelt_fit_resolve(&good[i], &error)) fail_msg("%zu: %s", i, error.text);
    }
}

static void programs_can_ask_who_uses_an_option_and_its_range(void **state) {
    (void)state;
    double low, high;
    assert_true(pelt_option_used("influences", PELT_BLEND_FILE, PELT_CORRECTIVE_NONE));
    assert_true(pelt_option_used("per_vertex", PELT_BLEND_FILE, PELT_CORRECTIVE_EIGEN));
    assert_true(pelt_option_used("per_vertex", PELT_BLEND_FILE, PELT_CORRECTIVE_KERNEL));
    assert_false(pelt_option_used("per_vertex", PELT_BLEND_FILE, PELT_CORRECTIVE_PSD));
    assert_false(pelt_option_used("nonsense", PELT_BLEND_FILE, PELT_CORRECTIVE_PSD));
    assert_true(pelt_option_range("poses", &low, &high));
    assert_true(low == 1 && high == 2048);
    assert_false(pelt_option_range("nonsense", &low, &high));
}

/* -- What a fit refuses ---------------------------------------------------------------------------------------------- */

static void truth(const pelt_bundle *bundle, const double *angles, double *displacements) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) displacements[3 * v + 2] = 0.001 * angles[1] * (v % 3);
}

enum { FRAMES = 12 };

static pelt_bundle *bent_chain(pelt_clip **clip) {
    double angles[FRAMES][3] = {{0}};
    for (int f = 0; f < FRAMES; f++) angles[f][1] = 5.0 * f;
    pelt_bundle *bundle = character_chain(3, 60);
    *clip = corrected_clip(bundle, "train", FRAMES, angles[0], truth);
    return bundle;
}

static void clips_without_positions_are_refused_by_all_that_need_them(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_bundle *bundle = bent_chain(&clip);
    const pelt_clip *clips[] = {clip};
    pelt_examples examples = pelt_bundle_examples(bundle, clips, 1);
    pelt_fit_report report;
    clip->positions = NULL;
    for (int method = 0; method < PELT_METHOD_COUNT; method++) {
        pelt_error error = {0};
        pelt_fit_options options = {.method = (pelt_method)method};
        assert_null(pelt_fit(bundle, examples, &options, &report, &error)); /* a report needs the truth */
        assert_int_equal(error.code, PELT_ERROR_DATA);
        assert_non_null(strstr(error.text, "clip \"train\" has no true positions"));
        pelt_bytes *bytes = pelt_fit(bundle, examples, &options, NULL, &error);
        assert_int_equal(bytes != NULL, method == PELT_METHOD_SSD);
        pelt_bytes_free(bytes);
    }
    assert_null(pelt_fit(bundle, examples, &(pelt_fit_options){F}, NULL, NULL));
    character_free(bundle);
}

static void frames_that_a_clip_does_not_have_are_refused(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = bent_chain(&clip);
    pelt_example list[] = {{clip, 0}, {clip, FRAMES}};
    pelt_fit_options options = {P};
    assert_null(pelt_fit(bundle, (pelt_examples){2, list}, &options, NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_INDEX);
    assert_non_null(strstr(error.text, "example 1 is frame 12 of clip \"train\", which has 12"));
    character_free(bundle);
}

/* -- The report ------------------------------------------------------------------------------------------------------ */

static void a_report_has_what_the_skin_says_and_what_measuring_says(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = bent_chain(&clip);
    const pelt_clip *clips[] = {clip};
    pelt_examples examples = pelt_bundle_examples(bundle, clips, 1);
    for (int method = 0; method < PELT_METHOD_COUNT; method++) {
        pelt_fit_report report;
        pelt_fit_options options = {.method = (pelt_method)method, .threads = 1};
        pelt_bytes *bytes = pelt_fit(bundle, examples, &options, &report, &error);
        if (!bytes) fail_msg("%s", error.text);
        pelt_skin skin;
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        pelt_measure *measure = pelt_measure_examples(&skin, bundle, examples, 1, &error);
        assert_true(report.train->rms == measure->rms && report.train->max == measure->max);
        pelt_measure_free(measure);
        assert_int_equal(report.kept.count + report.held.count, FRAMES);
        assert_int_equal(report.holdout->frame_count, report.held.count);
        /* The hold-out figure is that of a fit to the kept examples alone. */
        pelt_bytes *blind = pelt_fit(bundle, report.kept, &options, NULL, &error);
        assert_int_equal(pelt_open(blind->bytes, blind->size, &skin), PELT_OK);
        measure = pelt_measure_examples(&skin, bundle, report.held, 1, &error);
        assert_true(report.holdout->rms == measure->rms);
        pelt_measure_free(measure), pelt_bytes_free(blind);
        assert_int_equal(report.has_corrective, report.options.corrective != PELT_CORRECTIVE_NONE);
        assert_int_equal(report.bound > 0, report.has_corrective);
        assert_int_equal(report.blend_fit.round_count > 0, method == PELT_METHOD_JOINTS);
        assert_true(report.seconds >= 0 && report.cpu_seconds >= 0); /* clocks tick */
        /* Without a report: the same bytes but for the text. */
        pelt_bytes *plain = pelt_fit(bundle, examples, &options, NULL, &error);
        pelt_skin other;
        assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
        assert_int_equal(pelt_open(plain->bytes, plain->size, &other), PELT_OK);
        assert_non_null(strstr(skin.about, "\"holdout\":{"));
        assert_null(strstr(other.about, "\"train\":{"));
        assert_memory_equal(skin.rest_positions, other.rest_positions, (size_t)skin.block_count * 192);
        pelt_bytes_free(plain), pelt_bytes_free(bytes);
        pelt_fit_report_free(&report);
    }
    character_free(bundle);
}

static void nothing_is_held_out_when_that_is_asked_for(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = bent_chain(&clip);
    const pelt_clip *clips[] = {clip};
    pelt_fit_report report;
    pelt_bytes *bytes =
        pelt_fit(bundle, pelt_bundle_examples(bundle, clips, 1), &(pelt_fit_options){.holdout = -1}, &report, &error);
    assert_non_null(bytes);
    assert_null(report.holdout);
    assert_int_equal(report.held.count, 0);
    assert_non_null(report.train);
    pelt_bytes_free(bytes), pelt_fit_report_free(&report), character_free(bundle);
}

static int stop_at(void *user, const char *task, double fraction) {
    (void)task, (void)fraction;
    return --*(int *)user == 0;
}

static void a_fit_can_be_stopped_wherever_it_tells_of_itself(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_bundle *bundle = bent_chain(&clip);
    const pelt_clip *clips[] = {clip};
    pelt_examples examples = pelt_bundle_examples(bundle, clips, 1);
    for (int method = 0; method < PELT_METHOD_COUNT; method++)
        for (int at = 1; at < 100; at++) {
            pelt_error error = {0};
            int left = at;
            pelt_fit_options options = {.method = (pelt_method)method, .progress = {stop_at, &left}};
            pelt_bytes *bytes = pelt_fit(bundle, examples, &options, NULL, &error);
            if (bytes) {
                assert_true(at > 1);
                pelt_bytes_free(bytes);
                break;
            }
            assert_int_equal(error.code, PELT_ERROR_CANCELLED);
        }
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_is_a_blend_and_a_corrective_and_called_by_them),
        cmocka_unit_test(rest_positions_are_kept_by_fit_and_refitted_by_joints),
        cmocka_unit_test(options_that_nobody_uses_are_refused_with_those_who_do),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(options_that_make_no_sense_together_are_refused),
        cmocka_unit_test(presets_are_what_the_papers_say),
        cmocka_unit_test(what_contradicts_a_preset_is_refused),
        cmocka_unit_test(ends_of_ranges_are_taken),
        cmocka_unit_test(programs_can_ask_who_uses_an_option_and_its_range),
        cmocka_unit_test(clips_without_positions_are_refused_by_all_that_need_them),
        cmocka_unit_test(frames_that_a_clip_does_not_have_are_refused),
        cmocka_unit_test(a_report_has_what_the_skin_says_and_what_measuring_says),
        cmocka_unit_test(nothing_is_held_out_when_that_is_asked_for),
        cmocka_unit_test(a_fit_can_be_stopped_wherever_it_tells_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
