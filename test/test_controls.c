/* test_controls.c: controls from examples to the run time: fits find what they drive, skins store them by name, and
   playing a clip plays its controls too. The characters' true correctives are known in closed form. */

#include "model/targets.h"
#include "fit/corrective/rbf.h"
#include "samples/samples.h"
#include "test/corrected.h"

/* -- A chain of three joints with one control ---------------------------------------------------------------------- */

enum { JOINTS = 3, VERTICES = 160 };

static const char *names[] = {"tension"};

/* Raises the tube above the last joint: 0.1 c + 0.05 c^2 at its middle, more when that joint is bent. */
static double lift(double y, double degrees, double c) {
    double place = fmax(1 - fabs(y - 2.5) / 0.4, 0);
    return place * (0.1 * c + 0.05 * c * c) * (1 + degrees / 180);
}

static double fold(double y, double degrees) { return fmax(1 - fabs(y - 2) / 0.8, 0) * degrees / 900; }

/* `values` [frame][joint]: degrees of the joints about z; the first joint, which never moves, holds the control
   instead. */
static void truth(const pelt_bundle *bundle, const double *values, double *displacements) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        double y = bundle->mesh.positions[3 * v + 1];
        displacements[3 * v] = fold(y, values[2]);
        displacements[3 * v + 2] = lift(y, values[2], values[0]);
    }
}

static void hidden_truth(const pelt_bundle *bundle, const double *angles, double *displacements) {
    double values[JOINTS] = {*(const double *)bundle->mesh.targets, angles[1], angles[2]};
    truth(bundle, values, displacements);
}

/* A clip of the chain: moves the control from the angles to the clip, plus `rest`. */
static pelt_clip *make_clip(pelt_bundle *bundle, const char *name, uint32_t frames, const double *values, double rest) {
    double angles[JOINTS] = {0};
    pelt_transform *locals = PELT_NEW(bundle->arena, (size_t)frames * JOINTS, pelt_transform);
    size_t size = 3 * (size_t)bundle->mesh.vertex_count;
    float *positions = PELT_NEW(bundle->arena, size * frames, float),
          *controls = PELT_NEW(bundle->arena, frames, float);
    for (uint32_t f = 0; f < frames; f++) { /* corrected_clip knows no controls: one frame at a time */
        double control = values[(size_t)f * JOINTS];
        memcpy(angles + 1, values + (size_t)f * JOINTS + 1, 2 * sizeof *angles);
        bundle->mesh.targets = (pelt_target *)&control;
        pelt_clip *one = corrected_clip(bundle, name, 1, angles, hidden_truth);
        memcpy(positions + size * f, one->positions, size * sizeof *positions);
        pelt_clip_pose(one, &bundle->skeleton, 0, locals + (size_t)f * JOINTS);
        controls[f] = (float)(control + rest);
    }
    bundle->mesh.targets = NULL;
    pelt_clip *clip = character_clip(bundle, name, frames, locals);
    clip->positions = positions, clip->controls = controls;
    return clip;
}

static pelt_bundle *make_bundle(double rest) {
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    bundle->controls = (pelt_controls){1, names, PELT_NEW(bundle->arena, 1, float)};
    bundle->controls.rest[0] = (float)rest;
    return bundle;
}

/* The last joint alone, the control alone, both on a grid. */
static uint32_t training_values(double *values) {
    uint32_t n = 0;
    for (int i = 0; i <= 6; i++)
        for (int k = 0; k <= 6; k++) {
            bool alone = i == 0 || k == 0;
            if (!alone && (i % 2 || k % 2)) continue;
            double *v = values + JOINTS * n++;
            v[0] = k / 6.0, v[1] = 0, v[2] = 15.0 * i;
        }
    return n;
}

static pelt_clip *training_clip(pelt_bundle *bundle, double rest) {
    double values[JOINTS * 64];
    uint32_t n = training_values(values);
    return make_clip(bundle, "train", n, values, rest);
}

/* Between the examples. */
static pelt_clip *unseen_clip(pelt_bundle *bundle, double rest) {
    double values[JOINTS * 20];
    for (int f = 0; f < 20; f++) {
        double *v = values + JOINTS * f;
        v[0] = 0.5 - 0.45 * cos(0.7 * f), v[1] = 0, v[2] = 45 - 40 * cos(0.43 * f + 1);
    }
    return make_clip(bundle, "unseen", 20, values, rest);
}

static pelt_bytes *fit(pelt_bundle *bundle, const pelt_clip *clip, pelt_fit_options options, pelt_skin *skin) {
    pelt_error error = {0};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static pelt_measure *measure(const pelt_skin *skin, pelt_bundle *bundle, const pelt_clip *clip) {
    pelt_error error = {0};
    pelt_measure *m = pelt_measure_examples(skin, bundle, pelt_bundle_examples(bundle, &clip, 1), 1, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

/* -- Fits ---------------------------------------------------------------------------------------------------------- */

static void psd_and_wpsd_reproduce_examples_that_differ_in_a_control(void **state) {
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            pelt_bundle *bundle = make_bundle(-2);
            pelt_clip *clip = training_clip(bundle, -2);
            pelt_skin skin;
            pelt_bytes *bytes = fit(bundle, clip,
                                    (pelt_fit_options){.method = weighted ? PELT_METHOD_WPSD : PELT_METHOD_PSD,
                                                       .displacement.displacements = 32,
                                                       .threads = 1},
                                    &skin);
            skin.isa = (pelt_isa)isa;
            pelt_measure *m = measure(&skin, bundle, clip);
            assert_near(m->max_fraction, 0, 1e-5);
            pelt_measure_free(m), pelt_bytes_free(bytes), character_free(bundle);
        }
}

static void every_corrective_follows_a_control_between_examples(void **state) {
    (void)state;
    static const struct {
        const char *method;
        double most; /* of the error of the blend */
    } cases[] = {{"psd", 0.06}, {"wpsd", 0.06}, {"kernel", 0.06}, {"eigen", 0.2}};
    for (size_t i = 0; i < 4; i++)
        for (int rest = 0; rest < 2; rest++) {
            pelt_bundle *bundle = make_bundle(5 * rest);
            pelt_clip *train = training_clip(bundle, 5 * rest), *unseen = unseen_clip(bundle, 5 * rest),
                      still = *unseen;
            pelt_skin skin;
            pelt_bytes *bytes = fit(bundle, train, (pelt_fit_options){.method = method_named(cases[i].method)}, &skin);
            pelt_measure *m = measure(&skin, bundle, unseen);
            if (!(m->rel_err < cases[i].most)) fail_msg("%s: rel_err %g", cases[i].method, m->rel_err);
            double with = m->rel_err;
            pelt_measure_free(m);
            character_own(bundle, &still);
            still.controls = NULL; /* the same motion with the control at rest misses the muscle */
            m = measure(&skin, bundle, &still);
            assert_true(m->rel_err > 3 * with && m->rel_err > 0.3);
            pelt_measure_free(m), pelt_bytes_free(bytes), character_free(bundle);
        }
}

/* A control measured in eighths has values eight times as large: the same skin, up to rounding. */
static void the_unit_of_a_control_does_not_matter(void **state) {
    (void)state;
    static const char *const methods[] = {"psd", "wpsd", "kernel", "eigen"};
    for (int i = 0; i < 4; i++) {
        double errors[2];
        for (int eighths = 0; eighths < 2; eighths++) {
            double unit = eighths ? 8 : 1;
            pelt_bundle *bundle = make_bundle(unit);
            pelt_clip *clips[] = {training_clip(bundle, 1), unseen_clip(bundle, 1)};
            for (int c = 0; c < 2; c++) {
                float *scaled = PELT_NEW(bundle->arena, clips[c]->frame_count, float);
                for (uint32_t f = 0; f < clips[c]->frame_count; f++) scaled[f] = (float)unit * clips[c]->controls[f];
                clips[c]->controls = scaled;
            }
            pelt_skin skin;
            pelt_bytes *bytes = fit(bundle, clips[0], (pelt_fit_options){.method = method_named(methods[i])}, &skin);
            pelt_measure *m = measure(&skin, bundle, clips[1]);
            errors[eighths] = m->rel_err;
            pelt_measure_free(m), pelt_bytes_free(bytes), character_free(bundle);
        }
        assert_near(errors[1], errors[0], 1e-3 * errors[0]);
    }
}

static void without_the_control_psd_says_that_one_is_missing_and_where_it_goes(void **state) {
    (void)state;
    pelt_bundle *bundle = make_bundle(0);
    pelt_clip *clip = training_clip(bundle, 0);
    pelt_error error = {0};
    clip->controls = NULL;
    const pelt_clip *clips[] = {clip};
    assert_null(pelt_fit(bundle, pelt_bundle_examples(bundle, clips, 1), &(pelt_fit_options){.method = PELT_METHOD_PSD},
                         NULL, &error));
    assert_int_equal(error.code, PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "same pose"));
    assert_non_null(strstr(error.text, "control"));
    assert_non_null(strstr(error.text, "hand.train.csv"));
    character_free(bundle);
}

static void a_skin_lists_the_controls_that_vary_with_their_ranges(void **state) {
    (void)state;
    pelt_bundle *bundle = make_bundle(-2);
    static const char *three[] = {"age", "tension", "smile"};
    pelt_clip *clip = training_clip(bundle, -2);
    float *rows = PELT_NEW(bundle->arena, 3 * (size_t)clip->frame_count, float);
    for (uint32_t f = 0; f < clip->frame_count; f++)
        rows[3 * f] = 30, rows[3 * f + 1] = clip->controls[f], rows[3 * f + 2] = 0.5f; /* the others never change */
    bundle->controls = (pelt_controls){3, three, (float[]){0, -2, 0.5f}};
    clip->controls = rows;
    pelt_skin skin;
    pelt_bytes *bytes = fit(bundle, clip, (pelt_fit_options){.method = PELT_METHOD_PSD}, &skin);
    assert_int_equal(skin.control_count, 1);
    assert_string_equal(skin.names + skin.controls[0].name, "tension");
    assert_true(skin.controls[0].rest == -2 && skin.controls[0].least == -2 && skin.controls[0].most == -1);
    pelt_bytes_free(bytes);
    bytes = fit(bundle, clip, (pelt_fit_options){.method = PELT_METHOD_SSD}, &skin);
    assert_int_equal(skin.control_count, 0);
    assert_null(skin.controls);
    pelt_bytes_free(bytes), character_free(bundle);
}

static void the_bytes_do_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    static const char *const methods[] = {"psd", "wpsd", "kernel", "eigen"};
    for (int i = 0; i < 4; i++) {
        pelt_bundle *bundle = make_bundle(0);
        corrected_same_bytes(bundle, training_clip(bundle, 0), (pelt_fit_options){.method = method_named(methods[i])});
        character_free(bundle);
    }
}

/* Nothing moves the biceps' hand except the blend, which is exact there: displacements are rounding. */
static void parts_that_nothing_drives_need_no_kernel(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 100, .frames = 6}, &error);
    assert_non_null(bundle);
    pelt_skin skin;
    pelt_bytes *bytes = fit(bundle, bundle->clips[0], (pelt_fit_options){.method = PELT_METHOD_KERNEL}, &skin);
    pelt_measure *m = measure(&skin, bundle, bundle->clips[0]);
    assert_true(m->rel_err < 0.1);
    pelt_measure_free(m), pelt_bytes_free(bytes), pelt_bundle_free(bundle);
}

/* -- What controls drive ------------------------------------------------------------------------------------------- */

static void an_example_that_moves_a_control_is_a_sweep_of_it_or_of_nothing(void **state) {
    (void)state;
    pelt_bundle *bundle = make_bundle(7);
    double values[] = {0, 0, 0, /* rest */ 0, 0, 40, /* joint */ 1, 0, 0, /* control */ 1, 0, 40 /* both */};
    const pelt_clip *clip = make_clip(bundle, "train", 4, values, 7);
    pelt_poses p;
    pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, &clip, 1), &(pelt_fit_options){0}, &p);
    assert_int_equal(p.mover_count, 2);
    assert_true(!pelt_is_control(&p.movers[0]) && pelt_is_control(&p.movers[1]));
    assert_true(p.movers[0].swept && p.movers[1].swept);
    assert_true(p.rest[0] && !p.rest[1] && !p.rest[2] && !p.rest[3]);
    assert_int_equal(p.sweep_of[1], 0);
    assert_int_equal(p.sweep_of[2], 1);
    assert_int_equal(p.sweep_of[3], PELT_NO_MOVER);
    character_free(bundle);
}

/* A control that never moves alone: joints and control at random, no two examples similar except one pair. */
static void what_a_control_drives_is_seen_through_the_motion_of_joints(void **state) {
    (void)state;
    for (int paired = 0; paired < 2; paired++) {
        pelt_bundle *bundle = make_bundle(0);
        double values[JOINTS * 60];
        uint64_t seed = 5;
        for (int f = 0; f < 60; f++) {
            double *v = values + JOINTS * f;
            v[0] = 0.1 + 0.9 * test_random(&seed), v[1] = 0, v[2] = 5 + 80 * test_random(&seed);
        }
        uint32_t frames = paired ? 2 : 60;
        if (paired) values[0] = 0.25, values[JOINTS] = 1, values[2] = values[JOINTS + 2] = 60;
        const pelt_clip *clip = make_clip(bundle, "train", frames, values, 0);
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_poses p;
        pelt_example_displacements u;
        pelt_error error = {0};
        pelt_poses_of(f.arena, bundle, f.examples, &(pelt_fit_options){0}, &p);
        assert_int_equal(pelt_displacements_of(&f, &u, &error), PELT_OK);
        pelt_supports supports;
        pelt_supports_of(f.arena, &f.model, &p, &u, 1, &supports);
        const float *found = supports.amplitudes + (size_t)(p.mover_count - 1) * u.point_count;
        for (uint32_t i = 0; i < u.point_count; i++) {
            double y = bundle->mesh.positions[3 * u.vertex_of[i] + 1];
            if (paired) /* exactly what distinguishes the two */
                assert_near(found[i], lift(y, 60, 1) - lift(y, 60, 0.25), 1e-5);
            else /* at full tension and a middling bend */
                assert_near(found[i], lift(y, 45, 1), 0.15 * lift(y, 45, 1) + 2e-3);
        }
        pelt_arena_free(f.arena), character_free(bundle);
    }
}

static void a_scale_makes_distances_along_a_control_longer(void **state) {
    (void)state;
    double weights[2];
    for (int i = 0; i < 2; i++) {
        pelt_bundle *bundle = make_bundle(0);
        double values[] = {0, 0, 0, 4, 0, 0, 0, 0, 50, 2, 0, 50};
        const pelt_clip *clip = make_clip(bundle, "train", 4, values, 0);
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_distinct_poses t;
        pelt_sources s;
        pelt_error error = {0};
        f.options.displacement.control_scale = (pelt_control_scale[]){{"tension", 3}},
        f.options.displacement.control_scale_count = (size_t)i;
        assert_int_equal(pelt_distinct_poses_of(&f, &t, &error), PELT_OK);
        pelt_sources_of(&f, &t, &s);
        pelt_distances_apart(f.arena, &t, &s);
        assert_int_equal(s.axes[1].kind, PELT_AXIS_CONTROL);
        weights[i] = s.axes[1].weight;
        assert_near(s.distances[t.count * t.count + 1], i ? 9 : 1, 1e-6); /* rest and the farthest */
        pelt_arena_free(f.arena), character_free(bundle);
    }
    assert_near(weights[0], 1 / 16.0, 1e-7);
    assert_near(weights[1], 9 / 16.0, 1e-7);
}

static void scales_that_make_no_sense_are_refused_whatever_the_method(void **state) {
    (void)state;
    static const pelt_control_scale wrong[] = {{"tension", 0},    {"tension", -1},  {"tension", 9.9e-4},
                                               {"tension", 1001}, {"tension", NAN}, {"tenson", 2},
                                               {"", 2},           {NULL, 2}};
    static const char *const methods[] = {"wpsd", "eigen", "psd", "kernel"};
    pelt_bundle *bundle = make_bundle(0);
    const pelt_clip *clip = training_clip(bundle, 0);
    pelt_clip still = *clip;
    still.controls = NULL; /* the control does not vary */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pelt_control_scale two[] = {{"tension", 2}, wrong[i]};
        const pelt_clip *one = i % 2 ? clip : &still;
        pelt_fit_options options = {.method = method_named(methods[i % 4]),
                                    .displacement.control_scale = two,
                                    .displacement.control_scale_count = 2};
        pelt_error error = {0};
        assert_null(pelt_fit(bundle, pelt_bundle_examples(bundle, &one, 1), &options, NULL, &error));
        assert_int_equal(error.code, PELT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.text, wrong[i].name ? wrong[i].name : ""));
        if (wrong[i].name) assert_non_null(strstr(error.text, "tension")); /* the name that there is */
    }
    pelt_control_scale ends[] = {{"tension", 0.001}, {"tension", 1000}};
    assert_int_equal(pelt_check_control_scales(
                         bundle,
                         &(pelt_fit_options){.displacement.control_scale = ends, .displacement.control_scale_count = 2},
                         NULL),
                     PELT_OK);
    character_free(bundle);
}

/* -- The run time -------------------------------------------------------------------------------------------------- */

typedef struct runner {
    pelt_bundle *bundle;
    pelt_skin skin;
    pelt_bytes *bytes;
    void *scratch;
    float *positions;
    size_t size;
} runner;

static runner open_runner(const char *method) {
    runner r = {.bundle = make_bundle(-2)};
    r.bytes = fit(r.bundle, training_clip(r.bundle, -2), (pelt_fit_options){.method = method_named(method)}, &r.skin);
    r.scratch = aligned_alloc(64, pelt_scratch_size(&r.skin));
    r.size = pelt_output_size(&r.skin);
    r.positions = aligned_alloc(64, r.size);
    return r;
}

static void close_runner(runner *r) {
    free(r->scratch), free(r->positions), pelt_bytes_free(r->bytes), character_free(r->bundle);
}

static float *run(runner *r, const float *control) {
    pelt_transform locals[JOINTS];
    for (int j = 0; j < JOINTS; j++) locals[j] = r->skin.joints[j].rest;
    memcpy(locals[2].rotation, character_turn(0, 0, 1, 40).rotation, sizeof locals[2].rotation);
    pelt_pose_from(&r->skin, &(pelt_pose_input){.locals = locals, .controls = control}, r->scratch);
    pelt_deform(&r->skin, r->scratch, pelt_all_blocks(&r->skin), r->positions, NULL);
    float *copy = malloc(r->size);
    memcpy(copy, r->positions, r->size);
    return copy;
}

static void a_control_that_is_not_given_or_not_finite_is_at_rest(void **state) {
    (void)state;
    static const char *const methods[] = {"psd", "wpsd", "kernel", "eigen"};
    for (int m = 0; m < 4; m++) {
        runner r = open_runner(methods[m]);
        const float odd[] = {NAN, INFINITY, -INFINITY}, rest = -2, tense = -1;
        float *at_rest = run(&r, &rest), *none = run(&r, NULL), *tensed = run(&r, &tense);
        assert_memory_equal(none, at_rest, r.size);
        assert_true(memcmp(tensed, at_rest, r.size) != 0);
        for (int i = 0; i < 3; i++) {
            float *out = run(&r, &odd[i]);
            assert_memory_equal(out, at_rest, r.size);
            free(out);
        }
        free(at_rest), free(none), free(tensed), close_runner(&r);
    }
}

static void no_value_of_a_control_takes_the_skin_far(void **state) {
    (void)state;
    static const char *const methods[] = {"psd", "wpsd", "kernel", "eigen"};
    for (int m = 0; m < 4; m++) {
        runner r = open_runner(methods[m]);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            r.skin.isa = (pelt_isa)isa;
            for (float value = 1e-3f; value < 1e38f; value *= 30)
                for (int sign = -1; sign < 2; sign += 2) {
                    float *out = run(&r, &(float){(float)sign * value});
                    for (size_t i = 0; i < 3 * VERTICES; i++) assert_near(out[i], 0, 5);
                    free(out);
                }
        }
        close_runner(&r);
    }
}

static void matrices_and_transforms_take_controls_alike(void **state) {
    (void)state;
    runner r = open_runner("psd");
    pelt_transform locals[JOINTS];
    pelt_affine affine[JOINTS], unused[JOINTS];
    float globals[JOINTS][12], value = -1.3f, *first = run(&r, &value);
    for (int j = 0; j < JOINTS; j++) locals[j] = r.skin.joints[j].rest;
    memcpy(locals[2].rotation, character_turn(0, 0, 1, 40).rotation, sizeof locals[2].rotation);
    pelt_joint_matrices(&r.bundle->skeleton, locals, affine, unused);
    for (int j = 0; j < JOINTS; j++)
        for (int i = 0; i < 12; i++) globals[j][i] = (float)affine[j].m[i];
    pelt_pose_from(&r.skin, &(pelt_pose_input){.globals = (const float(*)[12])globals, .controls = &value}, r.scratch);
    pelt_deform(&r.skin, r.scratch, pelt_all_blocks(&r.skin), r.positions, NULL);
    for (size_t i = 0; i < 3 * VERTICES; i++) assert_near(r.positions[i], first[i], 1e-5);
    free(first), close_runner(&r);
}

/* -- Playing clips ------------------------------------------------------------------------------------------------- */

static void a_skin_finds_its_controls_by_name_also_when_the_bundle_gets_more(void **state) {
    (void)state;
    runner r = open_runner("psd");
    pelt_clip *clip = unseen_clip(r.bundle, -2), other = *clip;
    character_own(r.bundle, &other);
    size_t size = 3 * VERTICES;
    float *first = malloc(size * sizeof *first), *second = malloc(size * sizeof *second);
    pelt_error error = {0};
    pelt_player *player = pelt_player_new(&r.skin, r.bundle, &error);
    assert_non_null(player);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_player_frame(player, clip, f, first, NULL);
        static const char *three[] = {"smile", "tension", "age"};
        float rows[3 * 20] = {0}, rest[] = {0, -2, 0};
        pelt_controls before = r.bundle->controls;
        for (uint32_t k = 0; k < 20; k++) rows[3 * k] = 9, rows[3 * k + 1] = clip->controls[k];
        r.bundle->controls = (pelt_controls){3, three, rest};
        other.controls = rows;
        pelt_player_frame(player, &other, f, second, NULL);
        r.bundle->controls = before;
        assert_memory_equal(first, second, size * sizeof *first);
    }
    free(first), free(second), pelt_player_free(player), close_runner(&r);
}

/* v = blend (v0 + sum of weights times targets), which is what glTF does. */
static void baked_weights_follow_the_controls(void **state) {
    (void)state;
    runner r = open_runner("psd");
    const pelt_clip *clip = unseen_clip(r.bundle, -2);
    pelt_error error = {0};
    pelt_skin_targets all;
    assert_int_equal(pelt_skin_targets_of(r.bundle->arena, &r.skin, false, &all, &error), PELT_OK);
    float *weights = pelt_skin_target_weights(r.bundle->arena, &r.skin, &all, r.bundle, clip, &error);
    const pelt_target *targets = all.positions;
    uint32_t count = all.count;
    pelt_player *player = pelt_player_new(&r.skin, r.bundle, &error);
    float own[3 * VERTICES], rest[3 * VERTICES];
    double played[3 * VERTICES];
    pelt_transform locals[JOINTS];
    pelt_affine matrices[JOINTS];
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_mesh mesh = r.bundle->mesh;
        memcpy(rest, mesh.positions, sizeof rest);
        mesh.positions = rest;
        for (uint32_t t = 0; t < count; t++)
            for (size_t i = 0; i < 3 * (size_t)targets[t].count; i++)
                rest[3 * targets[t].vertices[i / 3] + i % 3] += weights[(size_t)f * count + t] * targets[t].deltas[i];
        pelt_clip_pose(clip, &r.bundle->skeleton, f, locals);
        pelt_joint_matrices(&r.bundle->skeleton, locals, NULL, matrices);
        pelt_blend_mesh(&mesh, matrices, played);
        pelt_player_frame(player, clip, f, own, NULL);
        for (size_t i = 0; i < 3 * VERTICES; i++) assert_near(own[i], played[i], 2e-5);
    }
    pelt_player_free(player), close_runner(&r);
}

/* -- Diagnosis ----------------------------------------------------------------------------------------------------- */

static const char *finding(pelt_findings findings, const char *what) {
    for (size_t i = 0; i < findings.count; i++)
        if (!strcmp(findings.list[i].what, what)) return findings.list[i].text;
    return NULL;
}

static void examples_that_differ_in_a_control_are_no_duplicates(void **state) {
    (void)state;
    pelt_bundle *bundle = make_bundle(0);
    pelt_clip *clip = training_clip(bundle, 0), *still = unseen_clip(bundle, 0);
    const pelt_clip *clips[] = {clip, still};
    assert_null(finding(pelt_diagnose(bundle, clips, 1), "duplicate-pose-different-shape"));
    assert_null(finding(pelt_diagnose(bundle, clips, 2), "still-controls"));
    still->controls = NULL;
    const char *text = finding(pelt_diagnose(bundle, clips, 2), "still-controls");
    assert_true(text && strstr(text, "unseen") && strstr(text, "tension"));
    clip->controls = NULL;
    text = finding(pelt_diagnose(bundle, clips, 1), "duplicate-pose-different-shape");
    assert_true(text && strstr(text, "control") && strstr(text, ".csv"));
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(psd_and_wpsd_reproduce_examples_that_differ_in_a_control),
        cmocka_unit_test(every_corrective_follows_a_control_between_examples),
        cmocka_unit_test(the_unit_of_a_control_does_not_matter),
        cmocka_unit_test(without_the_control_psd_says_that_one_is_missing_and_where_it_goes),
        cmocka_unit_test(a_skin_lists_the_controls_that_vary_with_their_ranges),
        cmocka_unit_test(the_bytes_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(parts_that_nothing_drives_need_no_kernel),
        cmocka_unit_test(an_example_that_moves_a_control_is_a_sweep_of_it_or_of_nothing),
        cmocka_unit_test(what_a_control_drives_is_seen_through_the_motion_of_joints),
        cmocka_unit_test(a_scale_makes_distances_along_a_control_longer),
        cmocka_unit_test(scales_that_make_no_sense_are_refused_whatever_the_method),
        cmocka_unit_test(a_control_that_is_not_given_or_not_finite_is_at_rest),
        cmocka_unit_test(no_value_of_a_control_takes_the_skin_far),
        cmocka_unit_test(matrices_and_transforms_take_controls_alike),
        cmocka_unit_test(a_skin_finds_its_controls_by_name_also_when_the_bundle_gets_more),
        cmocka_unit_test(baked_weights_follow_the_controls),
        cmocka_unit_test(examples_that_differ_in_a_control_are_no_duplicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
