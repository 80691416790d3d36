/* test_driven.c: driven joints against closed forms, the run time against the fit, and malformed files. */

#include "fit/blend/blend.h"
#include "io/io.h"
#include "model/driven.h"
#include "plain/plain.h"
#include "runtime/format.h"
#include "runtime/loops.h"
#include "test/character.h"

typedef struct subject {
    pelt_bundle *bundle;
    pelt_model model;
    pelt_bytes *bytes;
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
                           .driven_names = names};
    pelt_error error = {0};
    s.bytes = pelt_model_pack(&s.model, "{}", &error);
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

/* The matrix of driven joint i in a pose, from the run time; also checks that all instruction sets agree. */
static const float *run(subject *s, const pelt_transform *locals, uint32_t i) {
    pelt_pose_offsets at = pelt_pose_layout(&s->skin);
    const float *palette = (const float *)((char *)s->scratch + at.palette),
                *normals = (const float *)((char *)s->scratch + at.normal_palette);
    size_t count = (size_t)pelt_matrix_count(&s->skin) * PALETTE_STRIDE;
    float *kept = malloc(2 * count * sizeof *kept);
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works(isa)) continue;
        s->skin.isa = isa;
        pelt_pose(&s->skin, locals, s->scratch);
        for (size_t k = 0; k < count && isa != PELT_ISA_SCALAR; k++)
            if (k % PELT_BLOCK < 12) {
                assert_near(palette[k], kept[k], 2e-5 * (1 + fabsf(kept[k])));
                assert_near(normals[k], kept[count + k], 2e-4 * (1 + fabsf(kept[count + k])));
            }
        memcpy(kept, palette, count * sizeof *kept), memcpy(kept + count, normals, count * sizeof *kept);
    }
    free(kept);
    return palette + ((size_t)s->skin.joint_count + i) * PALETTE_STRIDE;
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

/* A rotation by 270 degrees is one by -90: the shorter way; and q and -q are the same rotation. */
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

/* At exactly half a turn there are two ways; the choice does not depend on the sign of the quaternion. */
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

/* A bend by b about z after a twist by t about the bone decomposes into exactly these. */
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

/* Figure 6: straight, right angle, folded. b1 points from the joint to its parent, so a straight limb does not
   bulge. */
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

/* N^T M = I in the 3x3 parts, of all matrices of a pose that is not rigid. */
static void assert_inverse_transposes(const subject *s) {
    pelt_pose_offsets at = pelt_pose_layout(&s->skin);
    assert_false(((const pelt_pose_head *)s->scratch)->rigid);
    for (uint32_t j = 0; j < pelt_matrix_count(&s->skin); j++) {
        const float *m = (const float *)((char *)s->scratch + at.palette) + (size_t)j * PALETTE_STRIDE;
        const float *n = (const float *)((char *)s->scratch + at.normal_palette) + (size_t)j * PALETTE_STRIDE;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double sum = 0, size = 0;
                for (int k = 0; k < 3; k++)
                    sum += (double)n[4 * k + r] * m[4 * k + c], size += fabs((double)n[4 * k + r] * m[4 * k + c]);
                assert_near(sum, r == c, 1e-4 * (1 + size));
            }
    }
}

/* A skeleton with rotated and scaled rest frames, several children, and a joint at its parent's position. */
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

/* The driven joints that a fit to poses [count][joint] chooses, without dropping unused ones. */
static void choose_for(pelt_bundle *bundle, const pelt_drive_rules *drive, pelt_fitting *f, uint32_t count,
                       const pelt_transform *poses) {
    pelt_example *examples = PELT_NEW(bundle->arena, count, pelt_example);
    pelt_clip *clip = character_clip(bundle, "poses", count, poses);
    character_blend(bundle, clip);
    for (uint32_t i = 0; i < count; i++) examples[i] = (pelt_example){clip, i};
    bundle->mesh.diagonal = (float)pelt_diagonal(bundle->mesh.positions, bundle->mesh.vertex_count);
    *f = (pelt_fitting){.bundle = bundle, .examples = {count, examples}, .arena = bundle->arena};
    f->options = (pelt_fit_options){.method = PELT_METHOD_JOINTS, .joints.drive = drive};
    pelt_error error = {0};
    assert_int_equal(pelt_fit_resolve(&f->options, &error), PELT_OK);
    f->model.skeleton = &bundle->skeleton;
    if (pelt_choose_driven(f, &error)) fail_msg("%s", error.text);
}

static void choose(pelt_bundle *bundle, const pelt_drive_rules *drive, pelt_fitting *f, uint64_t *seed) {
    enum { FRAMES = 6 };
    uint32_t n = bundle->skeleton.joint_count;
    pelt_transform *poses = PELT_NEW(bundle->arena, FRAMES * n, pelt_transform);
    for (int i = 0; i < FRAMES; i++) random_pose(bundle, seed, poses + i * n);
    choose_for(bundle, drive, f, FRAMES, poses);
}

static const pelt_drive_rules everything = {1, &(pelt_drive_rule){.joints = "*",
                                                                  .turn_count = 2,
                                                                  .twist_count = 2,
                                                                  .bend_count = 1,
                                                                  .turns = (float[]){0.5f, 0.3f},
                                                                  .twists = (float[]){1 / 3.f, 2 / 3.f},
                                                                  .bends = (float[]){0.5f},
                                                                  .upstream = 1,
                                                                  .downstream = 1,
                                                                  .k = 8}};

static void the_run_time_agrees_with_the_fit_on_awkward_skeletons(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        uint64_t random = seed;
        pelt_fitting f;
        pelt_bundle *bundle = awkward(&random);
        choose(bundle, &everything, &f, &random);
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
            assert_inverse_transposes(&s);
        }
        drop(&s);
    }
}

/* Joints that stretch, shear and mirror: then R is the nearest rotation. */
static void the_run_time_agrees_with_the_fit_where_joints_scale(void **state) {
    (void)state;
    uint64_t random = 11;
    pelt_fitting f;
    pelt_bundle *bundle = awkward(&random);
    choose(bundle, &everything, &f, &random);
    subject s = make(bundle, f.model.driven, f.model.driven_count);
    uint32_t joints = s.skin.joint_count, n = joints + s.skin.driven_count;
    pelt_affine *matrices = PELT_NEW(bundle->arena, n, pelt_affine);
    for (int frame = 0; frame < 20; frame++) {
        pelt_transform locals[8];
        random_pose(bundle, &random, locals);
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 3; i++) locals[j].scale[i] *= (float)(0.8 + 0.4 * test_random(&random));
        if (frame % 3 == 2) locals[2].scale[1] *= -1;
        pelt_model_matrices(&s.model, locals, matrices);
        for (uint32_t i = 0; i < s.skin.driven_count; i++) {
            const float *m = run(&s, locals, i);
            for (int k = 0; k < 12; k++) assert_near(m[k], matrices[joints + i].m[k], 1e-3 * (1 + fabs(m[k])));
        }
        assert_inverse_transposes(&s);
    }
    drop(&s);
}

/* A = R S with S symmetric and positive: the nearest rotation is R. For -A it is R too: mirroring is undone. */
static void the_nearest_rotation_is_that_of_the_polar_decomposition(void **state) {
    (void)state;
    uint64_t seed = 21;
    for (int trial = 0; trial < 50; trial++) {
        pelt_transform turn = character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5,
                                             test_random(&seed) - 0.5, 360 * test_random(&seed));
        pelt_affine r = pelt_affine_of(&turn), s = pelt_identity, motion, found;
        double b[3][3];
        for (int i = 0; i < 9; i++) b[i / 3][i % 3] = 0.6 * (test_random(&seed) - 0.5);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) /* 1/2 + b b^T */
                s.m[4 * i + j] = 0.5 * (i == j) + b[i][0] * b[j][0] + b[i][1] * b[j][1] + b[i][2] * b[j][2];
        pelt_affine a = pelt_affine_multiply(&r, &s), parent = pelt_affine_of(&turn);
        for (int i = 0; i < 3; i++) a.m[4 * i + 3] = test_random(&seed), parent.m[4 * i + 3] = test_random(&seed);
        for (int i = 0; i < 12 && trial % 2; i++) a.m[i] *= i % 4 == 3 ? 1 : -1;
        assert_true(pelt_relative_rotation(NULL, &a, &motion, &found));
        for (int i = 0; i < 12; i++) assert_near(found.m[i], i % 4 == 3 ? 0 : r.m[i], 1e-9);
        for (int i = 0; i < 12; i++) assert_near(motion.m[i], a.m[i], 1e-12);
        pelt_affine under = pelt_affine_multiply(&parent, &a); /* the parent's own motion does not count */
        assert_true(pelt_relative_rotation(&parent, &under, &motion, &found));
        for (int i = 0; i < 12; i++) assert_near(found.m[i], i % 4 == 3 ? 0 : r.m[i], 1e-9);
        for (int i = 0; i < 12; i++) assert_near(motion.m[i], a.m[i], 1e-9);
        for (int i = 0; i < 3; i++) a.m[i] = 0; /* flat */
        assert_false(pelt_relative_rotation(NULL, &a, &motion, &found));
        assert_false(pelt_relative_rotation(&a, &r, &motion, &found));
    }
}

static void driven_joints_are_still_at_rest(void **state) {
    (void)state;
    uint64_t seed = 9;
    pelt_fitting f;
    pelt_bundle *bundle = awkward(&seed);
    choose(bundle, &everything, &f, &seed);
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

/* A bone of zero length is skipped, an end joint has no bulge, and a joint with two children bulges in both bones.
 */
static void follow_bones(float size) {
    static const int32_t parents[] = {-1, 0, 1, 2, 2};
    uint64_t seed = 4;
    pelt_bundle *bundle = character_new(5, parents);
    bundle->skeleton.rest[2].translation[1] = 0; /* joint2 is at joint1's place */
    bundle->skeleton.rest[4].translation[0] = 1;
    for (int i = 0; i < 15; i++) bundle->skeleton.rest[i / 3].translation[i % 3] *= size;
    character_bind(bundle);
    character_tube(bundle, 40, 0.25 * size, 3 * size);
    character_random_weights(bundle, 2, &seed);
    pelt_fitting f;
    choose(bundle, NULL, &f, &seed);
    uint32_t turns = 0, bulges[5] = {0};
    for (uint32_t i = 0; i < f.model.driven_count; i++) {
        const pelt_driven *d = &f.model.driven[i];
        turns += d->kind == PELT_DRIVEN_TURN;
        if (d->kind >= PELT_DRIVEN_BULGE) bulges[d->driver]++;
        if (d->driver == 1 && d->kind == PELT_DRIVEN_BULGE) assert_near(fabsf(d->downstream[1]), 2 * size, 1e-5 * size);
    }
    assert_int_equal(turns, 5);
    assert_int_equal(bulges[0], 0);
    assert_int_equal(bulges[1], 12); /* upstream, and in both bones behind joint2, which is at the same place */
    assert_int_equal(bulges[2], 12);
    assert_int_equal(bulges[3] + bulges[4], 0);
    character_free(bundle);
}

static void the_automatic_set_follows_the_bones(void **state) {
    (void)state;
    follow_bones(1), follow_bones(1e-3f), follow_bones(1000);
}

/* Joints count as rotating relative to their parents, not when the whole character rotates. */
static void joints_that_a_turning_root_carries_along_drive_nothing(void **state) {
    (void)state;
    enum { FRAMES = 4, JOINTS = 3 };
    pelt_bundle *bundle = character_chain(JOINTS, 40);
    pelt_transform poses[FRAMES][JOINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            poses[f][j] = bundle->skeleton.rest[j];
            if (j != 1) memcpy(poses[f][j].rotation, character_turn(0, 0, 1, 30 * f).rotation, 4 * sizeof(float));
        }
    pelt_fitting f;
    choose_for(bundle, NULL, &f, FRAMES, poses[0]);
    bool drives[JOINTS] = {false};
    for (uint32_t i = 0; i < f.model.driven_count; i++) drives[f.model.driven[i].driver] = true;
    assert_true(drives[0] && !drives[1] && drives[2]);
    character_free(bundle);
}

static void rules_that_make_no_sense_are_refused(void **state) {
    (void)state;
    const float good[16] = {-4, 4}, low[] = {0, -4.1f}, high[] = {4.1f}, none[] = {NAN};
    const struct {
        pelt_drive_rule rule;
        const char *says; /* NULL: it is fine */
    } all[] = {
        {{.joints = "*", .turn_count = 16, .turns = good, .k = 1e4, .upstream = 1}, NULL},
        {{.joints = "*1", .bend_count = 2, .bends = good}, NULL},
        {{.turn_count = 1, .turns = good}, "\"joints\" is missing"},
        {{.joints = "nobody", .turn_count = 1, .turns = good}, "nobody"},
        {{.joints = "joint", .turn_count = 1, .turns = good}, "\"joint\""},
        {{.joints = "*", .turn_count = 17, .turns = good}, "\"turn\" takes at most 16"},
        {{.joints = "*", .twist_count = 17, .twists = good}, "\"twist\" takes at most 16"},
        {{.joints = "*", .bend_count = 17, .bends = good}, "\"bend\" takes at most 16"},
        {{.joints = "*", .turn_count = 2, .turns = low}, "from -4 to 4"},
        {{.joints = "*", .twist_count = 1, .twists = high}, "from -4 to 4"},
        {{.joints = "*", .bend_count = 1, .bends = none}, "from -4 to 4"},
        {{.joints = "*", .upstream = 1, .k = -1}, "\"bulge\""},
        {{.joints = "*", .downstream = 1, .k = 10001}, "\"bulge\""},
        {{.joints = "*", .downstream = 1, .k = NAN}, "\"bulge\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pelt_bundle *bundle = limb();
        pelt_error error = {0};
        pelt_fitting f = {.bundle = bundle, .arena = bundle->arena, .model.skeleton = &bundle->skeleton};
        pelt_drive_rule list[] = {{.joints = "*"}, all[i].rule};
        f.options =
            (pelt_fit_options){.joints.drive = &(pelt_drive_rules){2, list}, .corrective = PELT_CORRECTIVE_NONE};
        assert_int_equal(pelt_choose_driven(&f, &error), all[i].says ? PELT_ERROR_ARGUMENT : PELT_OK);
        if (all[i].says && (!strstr(error.text, all[i].says) || !strstr(error.text, "rule 2")))
            fail_msg("%s", error.text);
        character_free(bundle);
    }
}

/* Every * may match nothing, or something that looks like the letters after it. */
static void names_fit_patterns(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool fits;
    } all[] = {{"a", "a", true},
               {"a", "ab", false},
               {"ab", "a", false},
               {"", "", true},
               {"", "a", false},
               {"*", "", true},
               {"*", "any", true},
               {"a*", "a", true},
               {"a*", "ba", false},
               {"*a", "banana", true},
               {"*an*", "banana", true},
               {"*anb*", "banana", false},
               {"*nan*a", "banana", true},
               {"b*n*n*", "banana", true},
               {"b*na*na*na", "banana", false},
               {"**", "x", true},
               {"*ab", "aab", true},
               {"*aab", "aaaab", true},
               {"a*b", "a*b", true},
               {"A", "a", false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pelt_names one = {1, &all[i].pattern}, two = {2, (const char *const[]){"nobody", all[i].pattern}};
        if (pelt_name_listed(one, all[i].name) != all[i].fits || pelt_name_listed(two, all[i].name) != all[i].fits)
            fail_msg("%s and %s", all[i].pattern, all[i].name);
    }
    assert_false(pelt_name_listed((pelt_names){0}, ""));
    char name[2000];
    memset(name, 'a', sizeof name), name[sizeof name - 1] = 0;
    const char *hard = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"; /* exhaustive search would take forever */
    assert_false(pelt_name_listed((pelt_names){1, &hard}, name));
}

/* -- Rules as text ------------------------------------------------------------------------------------------------- */

static void texts_become_rules(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_drive_rules rules;
    pelt_error error = {0};
    const char *text = "[{\"joints\": \"*elbow,,knee\", \"turn\": [0.5, -2], \"twist\": 3, \"bulge\": {\"k\": 5, "
                       "\"downstream\": false}}, {\"joints\": \"\"}, {\"joints\": \"a\", \"bulge\": 2.5, \"bend\": 0}, "
                       "{\"joints\": \"b\", \"bulge\": {\"upstream\": false}, \"bend\": [1]}, {\"joints\": \"c\", "
                       "\"bulge\": true}, {\"joints\": \"d\", \"bulge\": false, \"turn\": 16}]";
    assert_int_equal(pelt_drive_rules_parse(arena, text, "rules.json", &rules, &error), PELT_OK);
    static const char *const names[] = {"*elbow", "knee", "a", "b", "c", "d"};
    static const double k[] = {5, 5, 2.5, 8, 8, 0};
    static const int upstream[] = {1, 1, 1, 0, 1, 0}, downstream[] = {0, 0, 1, 1, 1, 0};
    static const uint32_t counts[][3] = {{2, 3, 0}, {2, 3, 0}, {0}, {0, 0, 1}, {0}, {16, 0, 0}};
    assert_int_equal(rules.count, 6);
    for (int i = 0; i < 6; i++) {
        const pelt_drive_rule *r = &rules.list[i];
        assert_string_equal(r->joints, names[i]);
        assert_near(r->k, k[i], 0);
        assert_true(!r->upstream == !upstream[i] && !r->downstream == !downstream[i]);
        assert_int_equal(r->turn_count, counts[i][0]);
        assert_int_equal(r->twist_count, counts[i][1]);
        assert_int_equal(r->bend_count, counts[i][2]);
    }
    assert_near(rules.list[1].turns[0], 0.5, 0);
    assert_near(rules.list[1].turns[1], -2, 0);
    for (int i = 0; i < 3; i++) assert_near(rules.list[0].twists[i], (i + 1) / 4.0, 1e-7);
    for (int i = 0; i < 16; i++) assert_near(rules.list[5].turns[i], (i + 1) / 17.0, 1e-7);
    assert_near(rules.list[3].bends[0], 1, 0);
    pelt_arena_free(arena);
}

static void texts_that_are_no_rules_are_refused(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"[\n{", "line 2"},
        {"{}", "a list of rules"},
        {"[{\"joints\": \"a\", \"joints\": \"b\"}]", "line 1"},
        {"[7]", "rule 1: \"joints\" is missing"},
        {"[{\"joints\": \"a\"}, {\"turn\": 1}]", "rule 2: \"joints\" is missing"},
        {"[{\"joints\": 3}]", "\"joints\" is missing"},
        {"[{\"joints\": \"*\", \"turn\": 17}]", "\"turn\" takes 0 to 16"},
        {"[{\"joints\": \"*\", \"twist\": -1}]", "\"twist\" takes 0 to 16"},
        {"[{\"joints\": \"*\", \"bend\": [1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]}]", "\"bend\" takes a list of at most 16"},
        {"[{\"joints\": \"*\", \"turn\": true}]", "\"turn\" takes a list"},
        {"[{\"joints\": \"*\", \"turn\": [\"a\"]}]", "\"turn\" has a fraction"},
        {"[{\"joints\": \"*\", \"bulge\": \"much\"}]", "\"bulge\" takes true"},
        {"[{\"joints\": \"*\", \"bulge\": {\"k\": \"much\"}}]", "\"bulge\" has a k"},
        {"[{\"joints\": \"*\", \"turns\": 1}]", "\"turns\" is not a key"},
    };
    pelt_arena *arena = pelt_arena_new(0);
    pelt_drive_rules rules;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pelt_error error = {0};
        assert_int_equal(pelt_drive_rules_parse(arena, bad[i][0], "rules.json", &rules, &error), PELT_ERROR_FORMAT);
        if (!strstr(error.text, bad[i][1]) || strncmp(error.text, "rules.json: ", 12)) fail_msg("%s", error.text);
    }
    pelt_arena_free(arena);
    arena = pelt_arena_new(64); /* short of memory */
    assert_int_equal(pelt_drive_rules_parse(arena, "[{\"joints\": \"a\"}]", "", &rules, NULL), PELT_ERROR_MEMORY);
    pelt_arena_free(arena);
}

/* Every field that could lead outside the file or to an invalid number. */
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
        cmocka_unit_test(the_run_time_agrees_with_the_fit_where_joints_scale),
        cmocka_unit_test(the_nearest_rotation_is_that_of_the_polar_decomposition),
        cmocka_unit_test(driven_joints_are_still_at_rest),
        cmocka_unit_test(matrices_and_locals_give_the_same_pose),
        cmocka_unit_test(the_automatic_set_follows_the_bones),
        cmocka_unit_test(joints_that_a_turning_root_carries_along_drive_nothing),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(names_fit_patterns),
        cmocka_unit_test(texts_become_rules),
        cmocka_unit_test(texts_that_are_no_rules_are_refused),
        cmocka_unit_test(damaged_driven_joints_are_refused),
        cmocka_unit_test(a_flattened_parent_gives_finite_matrices),
        cmocka_unit_test(unpacking_gives_back_what_was_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
