/* test_driven.c: driven joints against closed forms, the run time against the fit, and files that lie about them. */

#include "pack/plain.h"
#include "runtime/format.h"
#include "runtime/loops.h"
#include "test/character.h"

typedef struct subject {
    pelt_bundle *bundle;
    pelt_model model;
    pelt_skin_bytes *bytes;
    pelt_skin skin;
    void *scratch;
} subject;

/* A skin on a bundle with some driven joints. */
static subject make(pelt_bundle *bundle, const pelt_driven *driven, uint32_t count) {
    subject s = {.bundle = bundle};
    const char **names = PELT_NEW(bundle->arena, count + 1, const char *);
    for (uint32_t i = 0; i < count; i++) names[i] = pelt_arena_format(bundle->arena, "driven%u", i);
    s.model = (pelt_model){.skeleton = &bundle->skeleton,
                           .vertex_count = bundle->mesh.vertex_count,
                           .positions = bundle->mesh.positions,
                           .normals = bundle->mesh.normals,
                           .influences = bundle->mesh.influences,
                           .driven_count = count,
                           .driven = driven,
                           .driven_names = names,
                           .about = "{}"};
    pelt_error error = {0};
    s.bytes = pelt_model_pack(&s.model, &error);
    if (!s.bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    assert_int_equal(s.skin.driven_count, count);
    s.scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&s.skin));
    return s;
}

static void drop(subject *s) {
    free(s->scratch);
    character_free_skin(s->bytes);
    character_free(s->bundle);
}

/* The matrix of driven joint i in a pose, as the run time has it. */
static const float *run(subject *s, const pelt_transform *locals, uint32_t i) {
    pelt_pose(&s->skin, locals, s->scratch);
    size_t at = pelt_pose_layout(&s->skin).palette;
    return (const float *)((char *)s->scratch + at) + ((size_t)s->skin.joint_count + i) * PALETTE_STRIDE;
}

static void assert_maps(const float *m, double x, double y, double z, double tx, double ty, double tz) {
    const double want[3] = {tx, ty, tz};
    for (int r = 0; r < 3; r++)
        assert_near(m[4 * r] * x + m[4 * r + 1] * y + m[4 * r + 2] * z + m[4 * r + 3], want[r], 2e-6);
}

/* Two joints: the second one unit above the first, at (0, 1, 0); the limb goes up. */
static pelt_bundle *limb(void) { return character_chain(3, 24); }

static const pelt_driven half = {.kind = PELT_DRIVEN_TURN,
                                 .parent = 0,
                                 .driver = 1,
                                 .host = 1,
                                 .amount = 0.5f,
                                 .origin = {0, 1, 0},
                                 .axis = {0, 1, 0}};

static void half_turns_have_their_closed_forms(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    const double angles[] = {0, 90, 179.99, -120};
    for (int i = 0; i < 4; i++) {
        pelt_transform locals[3] = {character_still, character_turn(0, 0, 1, angles[i]), character_still};
        locals[1].translation[1] = locals[2].translation[1] = 1;
        double a = angles[i] / 2 * acos(-1) / 180;
        const float *m = run(&s, locals, 0);
        assert_maps(m, 0, 1, 0, 0, 1, 0);                /* it is where the joint is */
        assert_maps(m, 0, 2, 0, -sin(a), 1 + cos(a), 0); /* half the angle */
        assert_maps(m, 0.5, 1, 0.25, 0.5 * cos(a), 1 + 0.5 * sin(a), 0.25);
    }
    drop(&s);
}

/* A turn of 270 degrees is one of -90: the shorter way; and q and -q are one rotation. */
static void turns_past_180_degrees_take_the_shorter_way(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    pelt_transform locals[3] = {character_still, character_turn(0, 0, 1, 270), character_still};
    locals[1].translation[1] = locals[2].translation[1] = 1;
    double a = -45 * acos(-1) / 180;
    assert_maps(run(&s, locals, 0), 0, 2, 0, -sin(a), 1 + cos(a), 0);
    for (int i = 0; i < 4; i++) locals[1].rotation[i] = -locals[1].rotation[i];
    assert_maps(run(&s, locals, 0), 0, 2, 0, -sin(a), 1 + cos(a), 0);
    drop(&s);
}

/* At exactly half a turn there are two ways; one is taken, whichever sign the quaternion has. */
static void half_of_half_a_turn_does_not_depend_on_the_sign(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    pelt_transform locals[3] = {character_still, {{0, 0, 1, 0}, {0, 1, 0}, {1, 1, 1}}, character_still};
    locals[2].translation[1] = 1;
    float first[12];
    memcpy(first, run(&s, locals, 0), sizeof first);
    locals[1].rotation[2] = -1;
    const float *second = run(&s, locals, 0);
    for (int i = 0; i < 12; i++) assert_near(first[i], second[i], 1e-6);
    assert_near(fabs(first[4]), 1, 1e-6); /* a quarter turn */
    drop(&s);
}

/* A bend of b about z after a twist of t about the bone comes apart into just these. */
static void twist_and_bend_come_apart(void **state) {
    (void)state;
    pelt_driven list[2] = {half, half};
    list[0].kind = PELT_DRIVEN_TWIST, list[0].amount = 0.5f;
    list[1].kind = PELT_DRIVEN_BEND, list[1].amount = 1;
    subject s = make(limb(), list, 2);
    double twist = 140, bend = 70, degree = acos(-1) / 180;
    double c = cos(bend / 2 * degree), n = sin(bend / 2 * degree), p = cos(twist / 2 * degree),
           q = sin(twist / 2 * degree);
    pelt_transform locals[3] = {character_still, character_still, character_still};
    const double product[4] = {-n * q, c * q, n * p, c * p}; /* (0,0,n,c) (0,q,0,p) */
    for (int i = 0; i < 4; i++) locals[1].rotation[i] = (float)product[i];
    locals[1].translation[1] = locals[2].translation[1] = 1;
    double a = twist / 2 * degree, b = bend * degree;
    assert_maps(run(&s, locals, 0), 1, 2, 0, cos(a), 2, -sin(a));
    assert_maps(run(&s, locals, 1), 1, 2, 0, cos(b) - sin(b), 1 + sin(b) + cos(b), 0);
    drop(&s);
}

/* Figure 6: straight, right angle, folded. b1 goes from the joint to its parent, so a straight limb does not bulge. */
static void bulges_grow_as_the_limb_folds(void **state) {
    (void)state;
    pelt_driven list[2] = {{.kind = PELT_DRIVEN_BULGE,
                            .parent = 0,
                            .driver = 1,
                            .host = 0,
                            .amount = 8,
                            .origin = {0, 0.5f, 0},
                            .axis = {1, 0, 0},
                            .upstream = {0, -1, 0},
                            .downstream = {0, 1, 0}}};
    list[1] = list[0], list[1].kind = PELT_DRIVEN_DENT;
    subject s = make(limb(), list, 2);
    const double angles[] = {0, 60, 90, 180};
    for (int i = 0; i < 4; i++) {
        pelt_transform locals[3] = {character_still, character_turn(0, 0, 1, angles[i]), character_still};
        locals[1].translation[1] = locals[2].translation[1] = 1;
        double scale = 1 + 4 * (1 - cos(angles[i] * acos(-1) / 180));
        assert_maps(run(&s, locals, 0), 0.2, 0.7, 0.3, 0.2 * scale, 0.7, 0.3);
        assert_maps(run(&s, locals, 1), 0.2, 0.7, 0.3, 0.2 / scale, 0.7, 0.3);
    }
    drop(&s);
}

/* A skeleton with turned and scaled rest frames, several children, and a joint at its parent's place. */
static pelt_bundle *awkward(uint64_t *seed) {
    static const int32_t parents[] = {-1, 0, 1, 1, 2, 4, 5, 5};
    pelt_bundle *bundle = character_new(8, parents);
    for (uint32_t j = 0; j < 8; j++) {
        pelt_transform t = character_turn(test_random(seed) - 0.5, test_random(seed) - 0.5, test_random(seed) + 0.1,
                                          200 * test_random(seed));
        for (int i = 0; i < 3; i++) t.translation[i] = j == 4 ? 0 : (float)(2 * test_random(seed) - 1);
        for (int i = 0; i < 3; i++) t.scale[i] = j == 1 ? 1.7f : 1;
        bundle->skeleton.rest[j] = t;
    }
    character_bind(bundle);
    character_tube(bundle, 40, 0.25, 2);
    character_random_weights(bundle, 2, seed);
    return bundle;
}

static void random_pose(const pelt_bundle *bundle, uint64_t *seed, pelt_transform *locals) {
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) {
        locals[j] = bundle->skeleton.rest[j];
        pelt_transform t = character_turn(test_random(seed) - 0.5, test_random(seed) - 0.5, test_random(seed) - 0.5,
                                          340 * test_random(seed));
        memcpy(locals[j].rotation, t.rotation, sizeof t.rotation);
    }
}

/* The automatic set of a fit to random poses, without dropping what is not used. */
static void choose(pelt_bundle *bundle, const char *drive, pelt_fitting *f, uint64_t *seed) {
    enum { FRAMES = 6 };
    uint32_t n = bundle->skeleton.joint_count;
    pelt_transform *poses = PELT_NEW(bundle->arena, FRAMES * n, pelt_transform);
    pelt_example *examples = PELT_NEW(bundle->arena, FRAMES, pelt_example);
    for (int i = 0; i < FRAMES; i++) random_pose(bundle, seed, poses + i * n);
    pelt_clip *clip = character_clip(bundle, "poses", FRAMES, poses);
    character_blend(bundle, clip);
    for (uint32_t i = 0; i < FRAMES; i++) examples[i] = (pelt_example){clip, i};
    bundle->mesh.diagonal = (float)pelt_diagonal(bundle->mesh.positions, bundle->mesh.vertex_count);
    *f = (pelt_fitting){.bundle = bundle, .examples = {FRAMES, examples}, .arena = bundle->arena};
    f->options = (pelt_fit_options){.method = "joints", .drive = drive};
    pelt_error error = {0};
    assert_int_equal(pelt_fit_resolve(&f->options, &error), PELT_OK);
    f->model.skeleton = &bundle->skeleton;
    if (pelt_choose_driven(f, &error)) fail_msg("%s", error.text);
}

static const char everything[] =
    "[{\"joints\": \"*\", \"turn\": [0.5, 0.3], \"twist\": 2, \"bend\": [0.5], \"bulge\": true}]";

static void the_run_time_agrees_with_the_fit_on_awkward_skeletons(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        uint64_t random = seed;
        pelt_fitting f;
        pelt_bundle *bundle = awkward(&random);
        choose(bundle, everything, &f, &random);
        assert_true(f.model.driven_count > 40);
        subject s = make(bundle, f.model.driven, f.model.driven_count);
        uint32_t joints = s.skin.joint_count, n = joints + s.skin.driven_count;
        pelt_affine *matrices = PELT_NEW(bundle->arena, n, pelt_affine);
        pelt_transform locals[8];
        for (int frame = 0; frame < 10; frame++) {
            random_pose(bundle, &random, locals);
            pelt_model_matrices(&s.model, locals, matrices);
            for (uint32_t i = 0; i < s.skin.driven_count; i++) {
                const float *m = run(&s, locals, i);
                for (int k = 0; k < 12; k++) assert_near(m[k], matrices[joints + i].m[k], 2e-4 * (1 + fabs(m[k])));
            }
        }
        drop(&s);
    }
}

static void driven_joints_are_still_at_rest(void **state) {
    (void)state;
    uint64_t seed = 9;
    pelt_fitting f;
    pelt_bundle *bundle = awkward(&seed);
    choose(bundle, everything, &f, &seed);
    subject s = make(bundle, f.model.driven, f.model.driven_count);
    for (uint32_t i = 0; i < s.skin.driven_count; i++) {
        const float *m = run(&s, bundle->skeleton.rest, i);
        for (int k = 0; k < 12; k++) assert_near(m[k], k % 5 == 0, 1e-5);
    }
    drop(&s);
}

static void matrices_and_locals_give_the_same_pose(void **state) {
    (void)state;
    uint64_t seed = 3;
    pelt_fitting f;
    pelt_bundle *bundle = awkward(&seed);
    choose(bundle, NULL, &f, &seed);
    subject s = make(bundle, f.model.driven, f.model.driven_count);
    pelt_transform locals[8];
    pelt_affine globals[8], matrices[8];
    float given[8][12];
    random_pose(bundle, &seed, locals);
    pelt_joint_matrices(&bundle->skeleton, locals, globals, matrices);
    for (int j = 0; j < 8; j++)
        for (int k = 0; k < 12; k++) given[j][k] = (float)globals[j].m[k];
    for (uint32_t i = 0; i < s.skin.driven_count; i++) {
        float by_locals[12];
        memcpy(by_locals, run(&s, locals, i), sizeof by_locals);
        pelt_pose_matrices(&s.skin, (const float(*)[12])given, s.scratch);
        const float *m = (const float *)((char *)s.scratch + pelt_pose_layout(&s.skin).palette) +
                         (s.skin.joint_count + i) * (size_t)PALETTE_STRIDE;
        for (int k = 0; k < 12; k++) assert_near(m[k], by_locals[k], 2e-4 * (1 + fabsf(m[k])));
    }
    drop(&s);
}

/* A bone of no length is stepped over, an end joint has no bulge, and a joint with two children bulges in both bones.
 */
static void the_automatic_set_follows_the_bones(void **state) {
    (void)state;
    static const int32_t parents[] = {-1, 0, 1, 2, 2};
    uint64_t seed = 4;
    pelt_bundle *bundle = character_new(5, parents);
    bundle->skeleton.rest[2].translation[1] = 0; /* joint2 is at joint1's place */
    bundle->skeleton.rest[4].translation[0] = 1;
    character_bind(bundle);
    character_tube(bundle, 40, 0.25, 3);
    character_random_weights(bundle, 2, &seed);
    pelt_fitting f;
    choose(bundle, NULL, &f, &seed);
    uint32_t turns = 0, bulges[5] = {0};
    for (uint32_t i = 0; i < f.model.driven_count; i++) {
        const pelt_driven *d = &f.model.driven[i];
        turns += d->kind == PELT_DRIVEN_TURN;
        if (d->kind >= PELT_DRIVEN_BULGE) bulges[d->driver]++;
        if (d->driver == 1 && d->kind == PELT_DRIVEN_BULGE) assert_near(fabsf(d->downstream[1]), 2, 1e-5);
    }
    assert_int_equal(turns, 5);
    assert_int_equal(bulges[0], 0);
    assert_int_equal(bulges[1], 12); /* upstream, and in both bones behind joint2, which is at the same place */
    assert_int_equal(bulges[2], 12);
    assert_int_equal(bulges[3] + bulges[4], 0);
    character_free(bundle);
}

static void rules_that_make_no_sense_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"{",
                                      "{}",
                                      "[{\"turn\": 1}]",
                                      "[{\"joints\": \"nobody\", \"turn\": 1}]",
                                      "[{\"joints\": \"*\", \"turn\": 17}]",
                                      "[{\"joints\": \"*\", \"turn\": [\"a\"]}]",
                                      "[{\"joints\": \"*\", \"bulge\": -1}]",
                                      "[{\"joints\": \"*\", \"bulge\": \"much\"}]",
                                      "[{\"joints\": \"*\", \"turns\": 1}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pelt_bundle *bundle = limb();
        pelt_error error = {0};
        pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .model.skeleton = &bundle->skeleton};
        f.options = (pelt_fit_options){.drive = bad[i], .corrective = "none"};
        assert_int_not_equal(pelt_choose_driven(&f, &error), PELT_OK);
        assert_non_null(strstr(error.text, "--drive"));
        character_free(bundle);
    }
}

/* Every field that could lead outside the file or to a number that is none. */
static void damaged_driven_joints_are_refused(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    size_t at = (size_t)((const char *)s.skin.driven - (const char *)s.bytes->bytes);
    const pelt_driven bulge = {.kind = PELT_DRIVEN_BULGE, .parent = 0, .driver = 1, .amount = 8};
    pelt_driven bad[10];
    for (int i = 0; i < 10; i++) bad[i] = i < 7 ? half : bulge;
    bad[0].kind = PELT_DRIVEN_KIND_COUNT, bad[1].parent = 3, bad[2].parent = -2, bad[3].driver = 3, bad[4].host = 99;
    bad[5].name = 1u << 30, bad[6].amount = NAN, bad[7].parent = -1, bad[8].amount = -1,
    bad[9].downstream[2] = INFINITY;
    for (int i = 0; i < 10; i++) {
        if (i != 5) bad[i].name = 0;
        memcpy((char *)s.bytes->bytes + at, &bad[i], sizeof bad[i]);
        assert_int_not_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    }
    memcpy((char *)s.bytes->bytes + at, &(pelt_driven){.kind = PELT_DRIVEN_TURN, .parent = -1}, sizeof half);
    assert_int_equal(pelt_open(s.bytes->bytes, s.bytes->size, &s.skin), PELT_OK);
    drop(&s);
}

static void a_flattened_parent_gives_finite_matrices(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    pelt_transform locals[3] = {character_still, character_turn(0, 0, 1, 50), character_still};
    for (int i = 0; i < 3; i++) locals[0].scale[i] = 0;
    const float *m = run(&s, locals, 0);
    for (int i = 0; i < 12; i++) assert_true(isfinite(m[i]));
    drop(&s);
}

static void unpacking_gives_back_what_was_packed(void **state) {
    (void)state;
    subject s = make(limb(), &half, 1);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_model model;
    pelt_error error;
    assert_int_equal(pelt_model_unpack(arena, &s.skin, &model, &error), PELT_OK);
    assert_int_equal(model.driven_count, 1);
    assert_string_equal(model.driven_names[0], "driven0");
    assert_memory_equal(model.positions, s.model.positions, 3 * sizeof(float) * model.vertex_count);
    for (uint32_t v = 0; v < model.vertex_count; v++) {
        double sum = 0;
        for (uint32_t i = model.influences.first[v]; i < model.influences.first[v + 1]; i++)
            sum += model.influences.weights[i];
        assert_near(sum, 1, 1e-6);
    }
    pelt_arena_free(arena);
    drop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_turns_have_their_closed_forms),
        cmocka_unit_test(turns_past_180_degrees_take_the_shorter_way),
        cmocka_unit_test(half_of_half_a_turn_does_not_depend_on_the_sign),
        cmocka_unit_test(twist_and_bend_come_apart),
        cmocka_unit_test(bulges_grow_as_the_limb_folds),
        cmocka_unit_test(the_run_time_agrees_with_the_fit_on_awkward_skeletons),
        cmocka_unit_test(driven_joints_are_still_at_rest),
        cmocka_unit_test(matrices_and_locals_give_the_same_pose),
        cmocka_unit_test(the_automatic_set_follows_the_bones),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(damaged_driven_joints_are_refused),
        cmocka_unit_test(a_flattened_parent_gives_finite_matrices),
        cmocka_unit_test(unpacking_gives_back_what_was_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
