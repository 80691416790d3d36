/* test_examples.c: the examples as correctives see them: what moves in their poses, which poses are equal,
   displacements in the rest pose, what moves which points, and which controls vary. Against closed forms. */

#include "fit/examples/support.h"
#include "test/corrected.h"

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static pelt_poses poses_of(pelt_bundle *bundle, uint32_t frames, const pelt_transform *locals) {
    const pelt_clip *clip = character_clip(bundle, "train", frames, locals);
    pelt_poses p;
    pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, &clip, 1), &(pelt_fit_options){0}, &p);
    return p;
}

/* A root has no offset from a parent, a prop may have a long one: neither says how visible a slide is. */
static void a_joint_slides_when_it_moves_by_a_ten_thousandth_of_the_character(void **state) {
    (void)state;
    static const double offsets[] = {0, 1, 100};
    for (uint32_t j = 0; j < 3; j++)
        for (int far = 0; far < 2; far++)
            for (int c = 0; c < 3; c++) {
                pelt_bundle *bundle = character_chain(3, 64);
                for (int i = 0; i < 3; i++) bundle->skeleton.rest[i].translation[1] = (float)offsets[i];
                pelt_transform locals[2][3];
                for (int i = 0; i < 6; i++) locals[i / 3][i % 3] = bundle->skeleton.rest[i % 3];
                locals[1][j].translation[c] += (float)((far ? 1.4e-4 : 0.7e-4) * bundle->mesh.diagonal);
                pelt_poses p = poses_of(bundle, 2, locals[0]);
                for (uint32_t i = 0; i < 3; i++) assert_int_equal(p.slides[i], far && i == j);
                for (uint32_t i = 0; i < 3; i++) assert_false(p.moves[i]);
                assert_true(p.rest[0] && p.rest[1] == !far);
                assert_int_equal(p.mover_count, 0);
                character_free(bundle);
            }
}

static void a_joint_moves_when_it_turns_by_a_ten_thousandth_of_a_radian(void **state) {
    (void)state;
    for (int far = 0; far < 2; far++) {
        pelt_bundle *bundle = character_chain(3, 64);
        pelt_transform locals[2][3];
        for (int i = 0; i < 6; i++) locals[i / 3][i % 3] = bundle->skeleton.rest[i % 3];
        double degrees = (far ? 1.4e-4 : 0.7e-4) * 180 / acos(-1);
        memcpy(locals[1][1].rotation, character_turn(1, 2, -1, degrees).rotation, sizeof locals[1][1].rotation);
        pelt_poses p = poses_of(bundle, 2, locals[0]);
        for (uint32_t i = 0; i < 3; i++) assert_true(p.moves[i] == (far && i == 1) && !p.slides[i]);
        assert_true(p.rest[0] && p.rest[1] == !far);
        assert_int_equal(p.mover_count, far);
        assert_int_equal(p.sweep_of[1], far ? 0 : PELT_NO_MOVER);
        character_free(bundle);
    }
}

/* A clip of sweeps and then a motion, and a list of poses. */
static void frames_of_a_motion_are_told_from_a_list_of_poses(void **state) {
    (void)state;
    enum { JOINTS = 4, SWEEPS = 6, MOTION = 58, LIST = 30 };
    pelt_bundle *bundle = character_chain(JOINTS, 64);
    static pelt_transform locals[SWEEPS + MOTION][JOINTS];
    uint64_t seed = 3;
    const pelt_clip *clips[2];
    for (int e = 0; e < SWEEPS + MOTION; e++)
        for (int j = 0; j < JOINTS; j++) {
            double sweep = j == 1 ? 10 * e : 0, motion = j ? 40 + 30 * sin(0.15 * e + j) : 0;
            locals[e][j] = bundle->skeleton.rest[j];
            memcpy(locals[e][j].rotation, character_turn(0, 0, 1, e < SWEEPS ? sweep : motion).rotation,
                   sizeof locals[e][j].rotation);
        }
    clips[0] = character_clip(bundle, "motion", SWEEPS + MOTION, locals[0]);
    for (int e = 0; e < LIST; e++)
        for (int j = 1; j < JOINTS; j++)
            memcpy(locals[e][j].rotation, character_turn(0, 0, 1, 10 + 60 * test_random(&seed)).rotation,
                   sizeof locals[e][j].rotation);
    clips[1] = character_clip(bundle, "list", LIST, locals[0]);
    pelt_poses p;
    pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, clips, 2), &(pelt_fit_options){0}, &p);
    for (uint32_t e = 0; e < p.count; e++) assert_int_equal(p.motion[e], e >= SWEEPS && e < SWEEPS + MOTION);
    character_free(bundle);
}

/* Trembling joints do not hide the motion of a control that goes far. */
static void a_moving_control_makes_a_motion(void **state) {
    (void)state;
    enum { JOINTS = 4, FRAMES = 60 };
    static const char *names[] = {"tension"};
    pelt_bundle *bundle = character_chain(JOINTS, 64);
    pelt_transform *locals = PELT_NEW(bundle->arena, FRAMES * JOINTS, pelt_transform);
    float *controls = PELT_NEW(bundle->arena, FRAMES, float);
    uint64_t seed = 4;
    for (int i = 0; i < FRAMES * JOINTS; i++) {
        locals[i] = bundle->skeleton.rest[i % JOINTS];
        if (i % JOINTS)
            memcpy(locals[i].rotation, character_turn(0, 0, 1, 1 + test_random(&seed)).rotation,
                   sizeof locals[i].rotation);
        controls[i / JOINTS] = (float)(2 + sin(0.1 * (i / JOINTS)));
    }
    pelt_clip *clip = character_clip(bundle, "motion", FRAMES, locals);
    const pelt_clip *clips[] = {clip};
    for (int still = 0; still < 2; still++) {
        bundle->controls = (pelt_controls){1, names, PELT_NEW(bundle->arena, 1, float)};
        clip->controls = still ? NULL : controls;
        pelt_poses p;
        pelt_poses_of(bundle->arena, bundle, pelt_bundle_examples(bundle, clips, 1), &(pelt_fit_options){0}, &p);
        for (uint32_t e = 0; e < p.count; e++) assert_int_equal(p.motion[e], !still);
    }
    character_free(bundle);
}

/* Three joints that always rotate together, and a fourth below them that rotates alone, also in poses of all. */
static void a_mover_lies_below_the_nearest_mover_that_is_not_itself(void **state) {
    (void)state;
    enum { JOINTS = 24, FRAMES = 9 };
    pelt_bundle *bundle = character_new(JOINTS, NULL);
    pelt_transform locals[FRAMES][JOINTS];
    for (int e = 0; e < FRAMES; e++)
        for (int j = 0; j < JOINTS; j++) {
            bool together = j >= 2 && j <= 4;
            bool turned = e == 0 ? false : e < 3 ? together : e < 5 ? j == 6 : e < 7 ? j == 1 : true;
            locals[e][j] = turned ? character_turn(0, 0, 1, 10 * e) : character_still;
            locals[e][j].translation[1] = j > 0;
        }
    pelt_poses p = poses_of(bundle, FRAMES, locals[0]);
    uint32_t arm = p.mover_of[2], hand = p.mover_of[6], above = p.mover_of[1];
    assert_true(p.mover_of[3] == arm && p.mover_of[4] == arm && hand != arm && above != arm);
    assert_int_equal(p.movers[arm].count, 3);
    for (uint32_t k = 0; k < 3; k++) assert_int_equal(p.members[p.movers[arm].first + k], 2 + k);
    assert_int_equal(p.movers[arm].parent, above);
    assert_int_equal(p.movers[hand].parent, p.mover_of[5]);
    assert_int_equal(p.movers[p.mover_of[5]].parent, arm);
    assert_true(p.movers[arm].swept && p.movers[hand].swept && p.movers[above].swept);
    assert_false(p.movers[p.mover_of[5]].swept);
    for (int e = 0; e < FRAMES; e++)
        assert_int_equal(p.sweep_of[e], e == 0  ? PELT_NO_MOVER
                                        : e < 3 ? arm
                                        : e < 5 ? hand
                                        : e < 7 ? above
                                                : PELT_NO_MOVER);
    character_free(bundle);
}

/* Joint 10 rotates as a part of both 2 and 8 does, which differ otherwise: it follows 8, its ancestor. */
static void a_follower_belongs_to_the_mover_above_it(void **state) {
    (void)state;
    enum { JOINTS = 24, FRAMES = 12 };
    pelt_bundle *bundle = character_new(JOINTS, NULL);
    bundle->skeleton.parents[8] = 0;
    pelt_transform locals[FRAMES][JOINTS];
    for (int e = 0; e < FRAMES; e++)
        for (int j = 0; j < JOINTS; j++) {
            double common = 40 * sin(e), own = 30 * sin(j == 2 ? 3 * e : 0.7 * e), both = hypot(common, own);
            locals[e][j] = j == 10                          ? character_turn(0, 0, 1, 0.5 * common)
                           : (j == 2 || j == 8) && both > 0 ? character_turn(own, 0, common, both)
                                                            : character_still;
            locals[e][j].translation[1] = j > 0;
        }
    pelt_poses p = poses_of(bundle, FRAMES, locals[0]);
    assert_int_equal(p.mover_count, 2);
    assert_true(p.mover_of[2] == 0 && p.mover_of[8] == 1);
    assert_int_equal(p.mover_of[10], 1);
    assert_true(p.movers[0].count == 1 && p.movers[1].count == 1);
    character_free(bundle);
}

enum { POSED = 3, CONTROLS = 2, COUNT = 80, KINDS = 9 };

/* Nine kinds of poses: rest, and poses that differ from it and each other by three thousandths in a single value. Poses
   of the same kind differ by less than half a thousandth. */
static void poses_are_the_same_within_a_thousandth_of_a_radian(void **state) {
    (void)state;
    float rotations[COUNT][POSED][4], translations[COUNT][POSED][3], controls[COUNT][CONTROLS];
    bool moves[POSED] = {true, true, true}, slides[POSED] = {true, true, true};
    pelt_model_control list[CONTROLS] = {{.scale = 0.5f}, {.scale = 20}};
    uint64_t seed = 11;
    uint32_t kinds[COUNT], first[KINDS], first_of[COUNT];
    for (int k = 0; k < KINDS; k++) first[k] = UINT32_MAX;
    for (uint32_t e = 0; e < COUNT; e++) {
        uint32_t kind = kinds[e] = (uint32_t)(test_random(&seed) * KINDS), what = (uint32_t)(test_random(&seed) * 8);
        double offsets[8] = {0}; /* angles of the joints, slides, controls */
        if (kind) offsets[kind - 1] = 3e-3;
        offsets[what] += 4e-4 * (test_random(&seed) - 0.5);
        for (int j = 0; j < POSED; j++) {
            memcpy(rotations[e][j], character_turn(j == 0, j == 1, 1, offsets[j] * 180 / acos(-1)).rotation,
                   sizeof rotations[e][j]);
            for (int i = 0; i < 3; i++) translations[e][j][i] = i == j ? (float)(7 * offsets[3 + j]) : 0;
        }
        for (int c = 0; c < CONTROLS; c++) controls[e][c] = (float)(offsets[6 + c] / list[c].scale);
        if (first[kind] == UINT32_MAX) first[kind] = e;
    }
    first[0] = PELT_REST_EXAMPLE;
    pelt_poses p = {.count = COUNT,
                    .joint_count = POSED,
                    .size = 7,
                    .rotations = rotations[0][0],
                    .translations = translations[0][0],
                    .moves = moves,
                    .slides = slides,
                    .control_count = CONTROLS,
                    .control_list = list,
                    .controls = controls[0]};
    pelt_arena *arena = pelt_arena_new(0);
    pelt_same_poses(arena, &p, first_of);
    for (uint32_t e = 0; e < COUNT; e++) assert_int_equal(first_of[e], first[kinds[e]]);
    pelt_arena_free(arena);
}

/* -- Displacements ------------------------------------------------------------------------------------------------- */

enum { TUBE = 64 };

/* Half of one joint and half of another that is turned about y by an angle with cosine c of its half: A is c times a
   turn by half the angle across y, and 1 along it. So A^T A = diag(c^2, 1, c^2), and all of the formula is known. */
/* One joint on a line: sweeps come first, up to half, then the farthest, by hand. */
static void poses_that_lie_apart_are_found(void **state) {
    (void)state;
    enum { LISTED = 8 };
    const float places[LISTED] = {0.1f, 0.9f, 0.45f, 0, 0.48f, 0.2f, -0.3f, 0.9f};
    float rotations[LISTED][4], translations[LISTED][3] = {{0}};
    bool moves = true, slides = false;
    uint32_t sweeps[LISTED], chosen[LISTED];
    for (int e = 0; e < LISTED; e++) {
        rotations[e][0] = places[e], rotations[e][1] = rotations[e][2] = 0, rotations[e][3] = 1;
        sweeps[e] = e == 0 || e == 5 ? 0 : PELT_NO_MOVER;
    }
    pelt_poses p = {.count = LISTED,
                    .joint_count = 1,
                    .size = 1,
                    .rotations = rotations[0],
                    .translations = translations[0],
                    .moves = &moves,
                    .slides = &slides,
                    .sweep_of = sweeps};
    pelt_arena *arena = pelt_arena_new(0);
    assert_int_equal(pelt_spread_poses(arena, &p, 2, chosen), 2); /* .2 of the sweeps, then .9 */
    assert_true(chosen[0] == 1 && chosen[1] == 5);
    assert_int_equal(pelt_spread_poses(arena, &p, 4, chosen), 4); /* .2 and .1, .9, then -.3 */
    assert_true(chosen[0] == 0 && chosen[1] == 1 && chosen[2] == 5 && chosen[3] == 6);
    assert_int_equal(pelt_spread_poses(arena, &p, LISTED, chosen), 6); /* one is at rest, two are the same */
    pelt_arena_free(arena);
}

static void a_flat_blend_is_inverted_as_the_formula_says(void **state) {
    (void)state;
    static const double cosines[] = {1, 0.3, 0.15, 0.1, 0.05, 0.02, 0};
    enum { FRAMES = 7, UNDAMPED = 3 };
    pelt_bundle *bundle = character_chain(2, TUBE);
    for (uint32_t i = 0; i < bundle->mesh.influences.first[TUBE]; i++) bundle->mesh.influences.weights[i] = 0.5f;
    pelt_transform locals[FRAMES][2];
    for (int f = 0; f < FRAMES; f++) {
        locals[f][0] = character_still, locals[f][1] = character_turn(0, 1, 0, 360 / acos(-1) * acos(cosines[f]));
        locals[f][1].translation[1] = 1;
    }
    pelt_clip *clip = character_clip(bundle, "train", FRAMES, locals[0]);
    float *positions = character_blend(bundle, clip);
    uint64_t seed = 3;
    for (size_t i = 0; i < 3 * TUBE * FRAMES; i++) positions[i] += (float)(0.2 * (test_random(&seed) - 0.5));
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_example_displacements d;
    pelt_error error;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    for (uint32_t e = 0; e < FRAMES; e++) {
        double c = cosines[e], s = sqrt(1 - c * c), size = (2 * c * c + 1) / 3, flatness = c * c / pow(size, 1.5);
        double m = flatness < 0.1 ? 1e-3 * size * pow(1 - flatness / 0.1, 2) : 0;
        assert_int_equal(flatness < 0.1, e >= UNDAMPED);
        for (uint32_t v = 0; v < TUBE; v++) {
            const float *x = bundle->mesh.positions + 3 * v, *y = positions + 3 * (TUBE * e + v);
            const float *found = d.positions + 3 * (d.point_count * e + d.point_of[v]);
            double ex = y[0] - c * (c * x[0] + s * x[2]), ey = (double)y[1] - x[1],
                   ez = y[2] - c * (c * x[2] - s * x[0]);
            double scale = c / (c * c + m), tolerance = 1e-6 + 1e-5 * scale;
            assert_near(found[0], scale * (c * ex - s * ez), tolerance);
            assert_near(found[1], ey / (1 + m), 1e-6);
            assert_near(found[2], scale * (c * ez + s * ex), tolerance);
        }
    }
    assert_int_equal(f.report.damped, (FRAMES - UNDAMPED) * d.point_count);
    assert_int_equal(f.report.damped_points, d.point_count);
    assert_int_equal(f.report.findings.count, 1);
    assert_non_null(strstr(f.report.findings.list[0].text, "in train:6)"));
    pelt_arena_free(f.arena), character_free(bundle);
}

static void a_blend_that_mirrors_is_not_flat(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(1, TUBE);
    character_influences(bundle, 1);
    for (int v = 0; v < TUBE; v++) bundle->mesh.influences.weights[v] = 1;
    pelt_transform local = character_still;
    local.scale[0] = 2, local.scale[2] = -0.5f;
    pelt_clip *clip = character_clip(bundle, "train", 1, &local);
    float *positions = character_blend(bundle, clip);
    for (int i = 0; i < 3 * TUBE; i++) positions[i] += 0.1f * (float)(1 + i % 3);
    pelt_fitting f = corrected_fitting(bundle, clip);
    pelt_example_displacements d;
    pelt_error error;
    assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_OK);
    assert_int_equal(f.report.damped, 0);
    static const double expected[] = {0.05, 0.2, -0.6};
    for (uint32_t i = 0; i < 3 * d.point_count; i++) assert_near(d.positions[i], expected[i % 3], 1e-5);
    pelt_arena_free(f.arena), character_free(bundle);
}

static void a_position_that_is_no_number_is_refused_with_its_example_and_vertex(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(2, TUBE);
    pelt_transform locals[3][2];
    for (int i = 0; i < 6; i++) locals[i / 2][i % 2] = bundle->skeleton.rest[i % 2];
    for (int c = 0; c < 3; c++) {
        pelt_clip *clip = character_clip(bundle, "train", 3, locals[0]);
        character_blend(bundle, clip)[3 * (TUBE + 7) + c] = c ? NAN : INFINITY;
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_example_displacements d;
        pelt_error error = {0};
        assert_int_equal(pelt_displacements_of(&f, &d, &error), PELT_ERROR_NUMBER);
        assert_non_null(strstr(error.text, "train:1"));
        assert_non_null(strstr(error.text, "vertex 7 "));
        pelt_arena_free(f.arena);
    }
    character_free(bundle);
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void normalise(double v[3]) {
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++) v[i] /= length;
}

/* The blend carries a turned rest normal to the true normal: it leans from the surface as the file's normal n leans
   from the rest surface s. If the whole body rotates and nothing else changes, nothing is turned. */
static void normals_are_turned_as_the_surface_is(void **state) {
    (void)state;
    enum { JOINTS = 3, FRAMES = 4 };
    for (int own = 0; own < 2; own++) {
        pelt_bundle *bundle = character_chain(JOINTS, TUBE);
        pelt_mesh *mesh = &bundle->mesh;
        uint64_t seed = 9;
        character_random_weights(bundle, 2, &seed);
        float surface[3 * TUBE], truth[3 * TUBE];
        pelt_mesh_normals(mesh->positions, TUBE, mesh->triangles, mesh->triangle_count, surface);
        memcpy(mesh->normals, surface, sizeof surface);
        for (uint32_t v = 0; v < TUBE && own; v++) {
            double n[3];
            for (int i = 0; i < 3; i++) n[i] = surface[3 * v + i] + (v % 2 ? 0.3 : -0.3) * sin((double)i + v / 2);
            normalise(n);
            for (int i = 0; i < 3; i++) mesh->normals[3 * v + i] = (float)n[i];
        }
        pelt_transform locals[FRAMES][JOINTS];
        for (int i = 0; i < FRAMES * JOINTS; i++) {
            pelt_transform *t = &locals[i / JOINTS][i % JOINTS];
            bool moves = i / JOINTS > 1 || i == JOINTS;
            *t = character_turn(test_random(&seed), 1, test_random(&seed), moves ? 40 * test_random(&seed) : 0);
            memcpy(t->translation, bundle->skeleton.rest[i % JOINTS].translation, sizeof t->translation);
            t->scale[i % 3] = i == 2 * JOINTS + 1 ? 1.3f : 1;
        }
        pelt_clip *clip = character_clip(bundle, "train", FRAMES, locals[0]);
        float *positions = character_blend(bundle, clip);
        for (size_t i = 3 * TUBE * 2; i < 3 * TUBE * FRAMES; i++) positions[i] += (float)(0.03 * test_random(&seed));
        pelt_fitting f = corrected_fitting(bundle, clip);
        pelt_example_displacements turns = pelt_tilts_of(&f);
        assert_int_equal(turns.point_count, TUBE);
        for (uint32_t e = 0; e < FRAMES; e++) {
            pelt_affine matrices[JOINTS], inverse;
            pelt_joint_matrices(&bundle->skeleton, locals[e], NULL, matrices);
            pelt_mesh_normals(positions + 3 * TUBE * e, TUBE, mesh->triangles, mesh->triangle_count, truth);
            for (uint32_t v = 0; v < TUBE; v++) {
                pelt_affine blend = {{0}};
                for (uint32_t k = mesh->influences.first[v]; k < mesh->influences.first[v + 1]; k++) {
                    assert_true(pelt_affine_invert(&matrices[mesh->influences.joints[k]], &inverse));
                    for (int i = 0; i < 9; i++)
                        blend.m[4 * (i / 3) + i % 3] += mesh->influences.weights[k] * inverse.m[4 * (i % 3) + i / 3];
                }
                double s[3], n[3], turned[3], t[3], g[3];
                for (int i = 0; i < 3; i++) {
                    float turn = turns.positions[3 * (TUBE * e + turns.point_of[v]) + i];
                    s[i] = surface[3 * v + i], g[i] = truth[3 * v + i], n[i] = mesh->normals[3 * v + i];
                    turned[i] = n[i] + turn;
                    if (e < 2) assert_near(turn, 0, 2e-5);
                }
                assert_near(dot(turned, turned), 1, 1e-5);
                pelt_affine_point(&blend, turned, t);
                normalise(t);
                assert_near(dot(t, g), dot(n, s), 1e-5);
            }
        }
        pelt_arena_free(f.arena), character_free(bundle);
    }
}

/* -- Supports ------------------------------------------------------------------------------------------------------ */

/* Joint 1 and joint 3 displace the skin in x, in separate areas; joint 2, between them, never rotates. */
static void two_bumps(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        double y = bundle->mesh.positions[3 * v + 1];
        d[3 * v] = angles[1] / 300 * (y < 2) + angles[3] / 200 * (y > 1);
        d[3 * v + 2] = angles[3] / 400 * (y > 1);
    }
}

static void supports_are_what_sweeps_displace_and_what_joints_carry(void **state) {
    (void)state;
    enum { JOINTS = 4, FRAMES = 6 };
    static const double angles[FRAMES][JOINTS] = {{0},           {0, 30, 0, 0},  {0, -60, 0, 0},
                                                  {0, 0, 0, 40}, {0, 0, 0, -20}, {0, 90, 0, 90}};
    pelt_bundle *bundle = character_chain(JOINTS, TUBE);
    uint64_t seed = 2;
    character_random_weights(bundle, 3, &seed);
    pelt_fitting f = corrected_fitting(bundle, corrected_clip(bundle, "train", FRAMES, angles[0], two_bumps));
    const pelt_influences *in = &bundle->mesh.influences;
    pelt_poses p;
    pelt_example_displacements u;
    pelt_supports s;
    pelt_error error;
    pelt_poses_of(f.arena, bundle, f.examples, &f.options, &p);
    assert_int_equal(pelt_displacements_of(&f, &u, &error), PELT_OK);
    pelt_supports_of(f.arena, &f.model, &p, &u, 1, &s);
    assert_int_equal(p.mover_count, 2);
    assert_int_equal(p.mover_of[2], PELT_NO_MOVER);
    assert_near(s.noise, 1e-5 * bundle->mesh.diagonal, 1e-9);
    assert_near(s.peaks[0], 0.2, 1e-5);
    assert_near(s.peaks[1], hypot(0.2, 0.1), 1e-5);
    for (uint32_t i = 0; i < u.point_count; i++) {
        uint32_t v = u.vertex_of[i];
        double y = bundle->mesh.positions[3 * v + 1], on[JOINTS] = {0};
        for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) on[in->joints[k]] += in->weights[k];
        assert_near(s.amplitudes[i], y < 2 ? 0.2 : 0, 1e-5);
        assert_near(s.amplitudes[u.point_count + i], y > 1 ? hypot(0.2, 0.1) : 0, 1e-5);
        assert_near(s.carried[i], on[1] + on[2], 1e-6);
        assert_near(s.carried[u.point_count + i], on[3], 1e-6);
        assert_near(s.carried[2 * u.point_count + i], on[0], 1e-6);
        assert_near(pelt_carried_around(&s, &p, 0, i), on[0] + on[1] + on[2], 1e-6);
        assert_near(pelt_carried_around(&s, &p, 1, i), on[1] + on[2] + on[3], 1e-6);
    }
    assert_string_equal(pelt_mover_name(f.arena, &bundle->skeleton, &p, 1), "joint3");
    pelt_arena_free(f.arena), character_free(bundle);
}

/* A control is paired with the joints that move most of what it moves, by sweeps if there are any, else by weight. */
static void the_partner_of_a_control_moves_most_of_what_it_moves(void **state) {
    (void)state;
    enum { POINTS = 4, MOVERS = 3 };
    for (int which = 0; which < 3; which++) {
        float amplitudes[MOVERS][POINTS] = {{4, 4, 0, 0}, {0}, {0}}, carried[MOVERS + 1][POINTS] = {{0}, {0, 0, 1, 1}};
        float peaks[MOVERS] = {4, 0, 1};
        for (int i = 0; i < POINTS; i++) amplitudes[2][i] = which < 2 && (i < 2) == (which == 0) ? 1 : 0;
        pelt_mover movers[MOVERS] = {{.count = 1, .swept = true}, {.first = 1, .count = 1}, {.first = 0}};
        pelt_poses p = {.mover_count = MOVERS, .movers = movers, .control_count = 1};
        pelt_supports s = {MOVERS, POINTS, amplitudes[0], peaks, 0, carried[0]};
        assert_int_equal(pelt_control_partner(&s, &p, 2), which == 0 ? 0 : which == 1 ? 1 : PELT_NO_MOVER);
    }
    /* A sweep counts relative to its peak: 4 of 4 is no more than the full weight. */
    float amplitudes[MOVERS][POINTS] = {{4, 2, 0, 0}, {0}, {1, 1, 1, 1}},
          carried[MOVERS + 1][POINTS] = {{0}, {0, 0, 1, 1}};
    float peaks[MOVERS] = {4, 0, 1};
    pelt_mover movers[MOVERS] = {{.count = 1, .swept = true}, {.first = 1, .count = 1}, {.first = 0}};
    pelt_poses p = {.mover_count = MOVERS, .movers = movers, .control_count = 1};
    pelt_supports s = {MOVERS, POINTS, amplitudes[0], peaks, 0, carried[0]};
    assert_int_equal(pelt_control_partner(&s, &p, 2), 1);
}

/* Poses of two joints and two controls, and one point; the last control is asked about. */
typedef struct watched {
    float rotations[20][2][4], translations[20][2][3], controls[20][2], displacements[20][3];
} watched;

static double amplitude(watched *w, uint32_t count) {
    bool moves[2] = {true, false}, slides[2] = {false, true};
    uint32_t mover_of[2] = {0, PELT_NO_MOVER};
    pelt_mover movers[3] = {{.count = 1}, {.first = 0}, {.first = 1}};
    pelt_model_control list[2] = {{.scale = 0.5f}, {.scale = 2}};
    pelt_poses p = {.count = count,
                    .joint_count = 2,
                    .size = 5,
                    .rotations = w->rotations[0][0],
                    .translations = w->translations[0][0],
                    .moves = moves,
                    .slides = slides,
                    .control_count = 2,
                    .control_list = list,
                    .controls = w->controls[0],
                    .mover_count = 3,
                    .movers = movers,
                    .mover_of = mover_of};
    uint32_t sweep_of[20], motion[20] = {0}, vertex_of[1] = {0}, first[2] = {0, 0};
    bool rest[20] = {false};
    for (int e = 0; e < 20; e++) sweep_of[e] = PELT_NO_MOVER;
    p.sweep_of = sweep_of, p.motion = motion, p.rest = rest;
    pelt_example_displacements u = {
        .example_count = count, .point_count = 1, .vertex_of = vertex_of, .positions = w->displacements[0]};
    int32_t parents[2] = {-1, 0};
    pelt_skeleton skeleton = {.joint_count = 2, .parents = parents};
    float positions[3] = {0};
    pelt_model model = {
        .skeleton = &skeleton, .vertex_count = 1, .positions = positions, .influences = {.first = first}};
    pelt_supports s;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_supports_of(arena, &model, &p, &u, 1, &s);
    double found = s.amplitudes[2];
    pelt_arena_free(arena);
    return found;
}

static watched still_poses(void) {
    watched w = {0};
    for (int e = 0; e < 40; e++) w.rotations[e / 2][e % 2][3] = 1;
    return w;
}

/* Two examples in which the control differs: their difference is its effect, unless something else differs too. */
static void pairs_of_examples_tell_what_a_control_does_where_all_else_is_the_same(void **state) {
    (void)state;
    for (int what = 0; what < 6; what++)
        for (int far = 0; far < 2; far++) {
            watched w = still_poses();
            double gap = far ? 1.3e-3 : 0.7e-3;
            w.controls[1][1] = 1;
            w.displacements[0][1] = 1, w.displacements[1][0] = 2, w.displacements[1][1] = 3, w.displacements[1][2] = 1;
            if (what == 0)
                memcpy(w.rotations[1][0], character_turn(1, 1, 0, gap * 180 / acos(-1)).rotation, 4 * sizeof(float));
            if (what == 1) w.controls[1][0] = (float)(gap / 0.5);
            if (what >= 2 && what < 5) w.translations[1][1][what - 2] = (float)(-5 * gap);
            if (what == 5) w.translations[1][0][0] = 100; /* slides do not count where a joint does not slide */
            assert_near(amplitude(&w, 2), far && what < 5 ? 0 : 3, 1e-6);
        }
}

static void entries_of_points_become_displacements_of_vertices(void **state) {
    (void)state;
    static const uint32_t point_of[] = {0, 1, 1, 2, 0}, vertex_of[] = {0, 1, 3};
    static const pelt_entry entries[] = {
        {2, 5, {1, 2, 2}}, {0, 1, {0, 3, 4}}, {2, 0, {6, 0, 0}}, {0, 4, {0, 0, 1}}, {2, 3, {7, 8, 9}}};
    static const uint32_t first[] = {0, 2, 2, 2, 5, 7};
    static const uint32_t order[] = {1, 3, 0, 2, 4, 1, 3}; /* entries by vertex */
    pelt_example_displacements u = {.vertex_count = 5, .point_count = 3, .point_of = point_of, .vertex_of = vertex_of};
    pelt_arena *arena = pelt_arena_new(0);
    const pelt_displacements *d = pelt_gather_displacements(arena, &u, entries, 5);
    for (int v = 0; v <= 5; v++) assert_int_equal(d->first[v], first[v]);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(d->coefficients[i], entries[order[i]].coefficient);
        assert_memory_equal(d->vectors + 3 * i, entries[order[i]].position, 3 * sizeof(float));
    }
    const double most[] = {0.5, 2, 9, 0.1, 1, 3};
    assert_near(pelt_largest_displacement(d, 5, most), 3 * 3 + 0.5 * 6 + 0.1 * sqrt(49 + 64 + 81), 1e-6);
    assert_near(pelt_largest_displacement(d, 2, most), 2 * 5 + 1 * 1, 1e-6);
    pelt_arena_free(arena);
}

/* -- Controls ------------------------------------------------------------------------------------------------------ */

static void the_controls_that_vary_have_ranges_and_scales(void **state) {
    (void)state;
    enum { FRAMES = 3, ALL = 5 };
    static const char *names[ALL] = {"still", "up", "both", "tiny", "large"};
    static const float rows[FRAMES][ALL] = {
        {7, 1, -3, 0.5f, 5000}, {7, 2, 2, 0.5f + 0x1p-22f, 5000.00048828125f}, {7, 4, 0, 0.5f, 5000}};
    pelt_bundle *bundle = character_chain(1, 8);
    bundle->controls = (pelt_controls){ALL, names, (float[]){0, 1, 1, 0, 0}};
    pelt_clip clip = {.name = "clip", .frame_count = FRAMES, .controls = rows[0]};
    const pelt_clip *clips[] = {&clip};
    pelt_examples all = pelt_bundle_examples(bundle, clips, 1);
    pelt_control_scale scales[] = {{"both", 8}, {"both", 3}, {"still", 5}};
    uint32_t count;
    const pelt_model_control *list = pelt_varying_controls(
        bundle->arena, bundle, all,
        &(pelt_fit_options){.displacement.control_scale = scales, .displacement.control_scale_count = 3}, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "up");
    assert_string_equal(list[1].name, "both");
    assert_true(list[0].source == 1 && list[0].rest == 1 && list[0].least == 1 && list[0].most == 4);
    assert_true(list[1].source == 2 && list[1].rest == 1 && list[1].least == -3 && list[1].most == 2);
    assert_near(list[0].farthest, 3, 0);
    assert_near(list[1].farthest, 4, 0);
    assert_near(list[0].scale, 1 / 3.0, 1e-7);
    assert_near(list[1].scale, 3 / 4.0, 1e-7); /* the last one wins */
    float row[ALL], values[2];
    pelt_control_values(bundle, list, count, &all.list[1], row, values);
    assert_true(values[0] == 1 && values[1] == 1);
    /* In a clip without controls all are at rest; so one that has them makes the difference. */
    pelt_clip without = {.name = "without", .frame_count = 1},
              always = {.name = "always", .frame_count = 1, .controls = rows[2]};
    clips[0] = &always;
    pelt_varying_controls(bundle->arena, bundle, pelt_bundle_examples(bundle, clips, 1), &(pelt_fit_options){0},
                          &count);
    assert_int_equal(count, 0);
    const pelt_clip *both[] = {&always, &without};
    list = pelt_varying_controls(bundle->arena, bundle, pelt_bundle_examples(bundle, both, 2), &(pelt_fit_options){0},
                                 &count);
    assert_int_equal(count, ALL);
    assert_true(list[0].least == 0 && list[0].most == 7);
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joint_slides_when_it_moves_by_a_ten_thousandth_of_the_character),
        cmocka_unit_test(a_joint_moves_when_it_turns_by_a_ten_thousandth_of_a_radian),
        cmocka_unit_test(frames_of_a_motion_are_told_from_a_list_of_poses),
        cmocka_unit_test(a_moving_control_makes_a_motion),
        cmocka_unit_test(a_mover_lies_below_the_nearest_mover_that_is_not_itself),
        cmocka_unit_test(a_follower_belongs_to_the_mover_above_it),
        cmocka_unit_test(poses_are_the_same_within_a_thousandth_of_a_radian),
        cmocka_unit_test(poses_that_lie_apart_are_found),
        cmocka_unit_test(a_flat_blend_is_inverted_as_the_formula_says),
        cmocka_unit_test(a_blend_that_mirrors_is_not_flat),
        cmocka_unit_test(a_position_that_is_no_number_is_refused_with_its_example_and_vertex),
        cmocka_unit_test(normals_are_turned_as_the_surface_is),
        cmocka_unit_test(supports_are_what_sweeps_displace_and_what_joints_carry),
        cmocka_unit_test(the_partner_of_a_control_moves_most_of_what_it_moves),
        cmocka_unit_test(pairs_of_examples_tell_what_a_control_does_where_all_else_is_the_same),
        cmocka_unit_test(entries_of_points_become_displacements_of_vertices),
        cmocka_unit_test(the_controls_that_vary_have_ranges_and_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
