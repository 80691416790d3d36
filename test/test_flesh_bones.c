/* test_flesh_bones.c: bones from surfaces, stiffness by region, and the way of bones to a pose, against closed forms. */

#include "flesh/motion.h"
#include "flesh/volume.h"
#include "rig/maths.h"
#include "samples/samples.h"
#include "test/test.h"

enum { AROUND = 24, ALONG = 16 };

static pelt_bundle *make_arm(void) {
    pelt_error error;
    pelt_bundle *b = pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 600, .seed = 1}, &error);
    assert_non_null(b);
    return b;
}

/* -- Given bones ------------------------------------------------------------------------------------------------------ */

/* Appends a closed capsule between two points: half-balls of one radius, every vertex twice, as files split them. */
static void capsule(pelt_mesh *m, const double a[3], const double b[3], double radius) {
    double d[3], u[3], v[3], length = pelt_distance(a, b);
    for (int k = 0; k < 3; k++) d[k] = (b[k] - a[k]) / length;
    pelt_cross(d, fabs(d[0]) < 0.5 ? (double[3]){1, 0, 0} : (double[3]){0, 1, 0}, u);
    double unit = pelt_length(u);
    for (int k = 0; k < 3; k++) u[k] /= unit;
    pelt_cross(d, u, v);
    for (uint32_t i = 0; i <= ALONG; i++)
        for (uint32_t s = 0; s < AROUND; s++) {
            uint32_t base = m->vertex_count;
            for (uint32_t c = 0; c < 4; c++, m->vertex_count++) {   /* a quadrilateral of its own */
                uint32_t ring = i + c / 2, half = ring > ALONG / 2; /* the middle ring is there at both ends */
                double angle = M_PI * (ring - half) / ALONG, turn = 2 * M_PI * ((s + c % 2) % AROUND) / AROUND;
                for (int k = 0; k < 3; k++)
                    m->positions[3 * m->vertex_count + (uint32_t)k] =
                        (float)((half ? b : a)[k] +
                                radius * (-cos(angle) * d[k] + sin(angle) * (cos(turn) * u[k] + sin(turn) * v[k])));
            }
            uint32_t *t = m->triangles + 3 * m->triangle_count;
            t[0] = base, t[1] = base + 1, t[2] = base + 2, t[3] = base + 2, t[4] = base + 1, t[5] = base + 3;
            m->triangle_count += 2;
        }
}

static void surfaces_become_capsules_of_their_length_and_volume(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *arm = make_arm();
    const pelt_skin_tree *skin = pelt_skin_tree_of(arena, &arm->mesh, NULL);
    double x[3][3], far[2][3] = {{50, 0, 0}, {51, 0, 0}};
    for (int i = 0; i < 3; i++) { /* along the arm's own first joints, which are inside */
        pelt_affine bind, back;
        memcpy(bind.m, arm->skeleton.inverse_bind[1 + i], sizeof bind.m);
        pelt_affine_invert(&bind, &back);
        for (int k = 0; k < 3; k++) x[i][k] = back.m[4 * k + 3];
    }
    pelt_mesh m = {.positions = PELT_NEW(arena, 3 * 20000, float), .triangles = PELT_NEW(arena, 3 * 20000, uint32_t)};
    double radius = 0.2 * pelt_distance(x[0], x[1]);
    capsule(&m, x[0], x[1], radius);
    uint32_t second = m.vertex_count;
    capsule(&m, far[0], far[1], 0.1);
    uint32_t *joints = PELT_NEW(arena, m.vertex_count, uint32_t);
    for (uint32_t i = 0; i < m.vertex_count; i++) joints[i] = i < second ? 1 : 2;
    pelt_flesh_bones bones = pelt_flesh_bones_given(arena, &(pelt_bone_surfaces){&m, joints}, skin);
    assert_int_equal(bones.count, 1);
    assert_int_equal(bones.outside, 1);
    assert_int_equal(bones.missed, 2);
    assert_int_equal(bones.list[0].joint, 1);
    assert_non_null(bones.list[0].shape);
    assert_near(bones.list[0].radius / radius, 1, 0.03); /* facets lose a little volume */
    int turned = pelt_distance(bones.list[0].ends[0], x[0]) > pelt_distance(bones.list[0].ends[1], x[0]);
    for (int e = 0; e < 2; e++) assert_true(pelt_distance(bones.list[0].ends[e ^ turned], x[e]) < 0.1 * radius);
    pelt_bundle_free(arm);
}

static void nodes_in_a_wide_surface_are_held_and_no_others(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *arm = make_arm();
    pelt_error error;
    pelt_volume plain, v;
    pelt_volume_options options = {.cell = pelt_volume_cell(&arm->mesh, 20000)};
    assert_int_equal(pelt_volume_build(arena, arm, &options, &plain, &error), 0);
    pelt_mesh m = {.positions = PELT_NEW(arena, 3 * 20000, float), .triangles = PELT_NEW(arena, 3 * 20000, uint32_t)};
    const pelt_flesh_bone *widest = &plain.bones.list[0];
    for (uint32_t b = 1; b < plain.bones.count; b++)
        if (plain.bones.list[b].radius > widest->radius) widest = &plain.bones.list[b];
    assert_true(widest->radius > 0.56 * plain.cell);
    capsule(&m, widest->ends[0], widest->ends[1], widest->radius);
    uint32_t *joints = PELT_NEW(arena, m.vertex_count, uint32_t), held = 0, expected = 0;
    for (uint32_t i = 0; i < m.vertex_count; i++) joints[i] = widest->joint;
    options.bones = &(pelt_bone_surfaces){&m, joints};
    assert_int_equal(pelt_volume_build(arena, arm, &options, &v, &error), 0);
    assert_int_equal(v.node_count, plain.node_count);
    for (uint32_t i = 0; i < v.node_count; i++) {
        double d[3], s[3], t, far[3];
        for (int k = 0; k < 3; k++)
            d[k] = widest->ends[1][k] - widest->ends[0][k], s[k] = v.nodes[3 * i + (uint32_t)k] - widest->ends[0][k];
        t = fmin(fmax(pelt_dot(s, d) / pelt_dot(d, d), 0), 1);
        for (int k = 0; k < 3; k++) far[k] = s[k] - t * d[k];
        double part = pelt_length(far) / widest->radius;
        held += v.node_bones[i] >= 0, expected += part < 1;
        if (part < 0.97) assert_int_equal(v.node_bones[i], 0);
        if (part > 1.01) assert_int_equal(v.node_bones[i], -1);
    }
    assert_true(held > 20 && held <= expected);
    joints[5] = 1000;
    assert_int_not_equal(pelt_volume_build(arena, arm, &options, &v, &error), 0);
    assert_non_null(strstr(error.text, "vertex 5 is not finite, or belongs to a joint that does not exist"));
    pelt_bundle_free(arm);
}

/* A ball far from all bones hangs on to the nearest instead of floating. */
static void pieces_without_a_bone_go_with_the_nearest(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *arm = make_arm();
    pelt_error error;
    pelt_volume v;
    pelt_mesh *m = &arm->mesh;
    uint32_t n = m->vertex_count, more = 4 * (ALONG + 1) * AROUND, kept = m->triangle_count;
    float *positions = PELT_NEW(arena, 3 * (n + more), float), *normals = PELT_NEW(arena, 3 * (n + more), float);
    uint32_t *triangles = PELT_NEW(arena, 3 * (kept + 2 * (ALONG + 1) * AROUND), uint32_t);
    memcpy(positions, m->positions, 12 * n), memcpy(normals, m->normals, 12 * n);
    memcpy(triangles, m->triangles, 12 * kept);
    m->positions = positions, m->normals = normals, m->triangles = triangles;
    double size = m->diagonal, from[3] = {0, 0.8 * size, 0}, to[3] = {0.05 * size, 0.8 * size, 0};
    capsule(m, from, to, 0.08 * size);
    uint32_t *first = PELT_NEW(arena, n + more + 1, uint32_t), *joints = PELT_NEW(arena, 4 * n + more, uint32_t);
    float *weights = PELT_NEW(arena, 4 * n + more, float);
    memcpy(first, m->influences.first, 4 * (n + 1));
    memcpy(joints, m->influences.joints, 4 * first[n]), memcpy(weights, m->influences.weights, 4 * first[n]);
    for (uint32_t i = n; i < n + more; i++) first[i + 1] = first[i] + 1, weights[first[i]] = 1;
    m->influences = (pelt_influences){first, joints, weights};
    assert_int_equal(pelt_volume_build(arena, arm, &(pelt_volume_options){0}, &v, &error), 0);
    assert_int_equal(v.loose, 1);
    uint32_t held = 0;
    for (uint32_t i = 0; i < v.node_count; i++) {
        if (v.nodes[3 * i + 1] < 0.6 * size) continue;
        assert_true(v.node_bones[i] >= 0);
        held++;
    }
    assert_true(held > 20);
    pelt_bundle_free(arm);
}

/* -- Stiffness ---------------------------------------------------------------------------------------------------------- */

static void elements_are_as_stiff_as_the_nearest_skin(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *arm = make_arm();
    pelt_error error;
    pelt_volume v;
    float *stiffness = PELT_NEW(arena, arm->mesh.vertex_count, float);
    for (uint32_t i = 0; i < arm->mesh.vertex_count; i++) stiffness[i] = 1 + (float)i;
    pelt_volume_options options = {.cell = pelt_volume_cell(&arm->mesh, 2000), .stiffness = stiffness};
    assert_int_equal(pelt_volume_build(arena, arm, &options, &v, &error), 0);
    for (uint32_t e = 0; e < v.element_count; e += 7) {
        double middle[3] = {0}, best = INFINITY, got = INFINITY;
        for (uint32_t c = 0; c < 12; c++) middle[c % 3] += v.nodes[3 * v.elements[4 * e + c / 3] + c % 3] / 4;
        for (uint32_t i = 0; i < arm->mesh.vertex_count; i++) {
            const float *p = arm->mesh.positions + 3 * i;
            double far = pelt_distance(middle, (double[3]){p[0], p[1], p[2]});
            best = fmin(best, far);
            if (stiffness[i] == (float)v.stiffness[e]) got = far;
        }
        assert_near(got, best, 1e-9);
    }
    stiffness[3] = 0;
    assert_int_not_equal(pelt_volume_build(arena, arm, &options, &v, &error), 0);
    assert_non_null(strstr(error.text, "stiffness"));
    pelt_bundle_free(arm);
}

/* -- The way to a pose -------------------------------------------------------------------------------------------------- */

/* Joints of a chain keep their distances on the way of half turns, and turns of the whole do not matter. */
static void chains_of_bones_stay_together_on_the_way(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *arm = make_arm();
    pelt_error error;
    pelt_volume v;
    pelt_flesh_motion motion;
    assert_int_equal(
        pelt_volume_build(arena, arm, &(pelt_volume_options){.cell = pelt_volume_cell(&arm->mesh, 2000)}, &v, &error),
        0);
    const pelt_skeleton *s = &arm->skeleton;
    pelt_transform *pose = PELT_NEW(arena, s->joint_count, pelt_transform);
    memcpy(pose, s->rest, s->joint_count * sizeof *pose);
    assert_int_equal(pelt_flesh_motion_to(arena, s, &v.bones, NULL, pose, &motion, &error), 0);
    assert_true(motion.still);
    for (uint32_t j = 1; j < s->joint_count; j++) { /* 170 degrees about one axis and another */
        double turn[4] = {j % 2 ? sin(1.48) : 0, j % 2 ? 0 : sin(1.48), 0, cos(1.48)}, rest[4], out[4];
        for (int k = 0; k < 4; k++) rest[k] = s->rest[j].rotation[k];
        pelt_quaternion_multiply(rest, turn, out);
        for (int k = 0; k < 4; k++) pose[j].rotation[k] = (float)out[k];
    }
    pelt_affine *bones = PELT_NEW(arena, v.bones.count, pelt_affine);
    pose[0].translation[1] += 7; /* all of it */
    assert_int_equal(pelt_flesh_motion_to(arena, s, &v.bones, NULL, pose, &motion, &error), 0);
    assert_false(motion.still);
    /* From there back to rest: begins where that ends, ends at rest, and is as far. */
    pelt_flesh_motion back_again;
    pelt_affine *there = PELT_NEW(arena, v.bones.count, pelt_affine);
    assert_int_equal(pelt_flesh_motion_to(arena, s, &v.bones, pose, s->rest, &back_again, &error), 0);
    assert_true(back_again.still);
    for (int end = 0; end < 2; end++) {
        pelt_flesh_motion_at(&back_again, end, there);
        for (uint32_t b = 0; b < v.bones.count; b++)
            for (int k = 0; k < 12; k++)
                assert_float_equal(there[b].m[k], (end ? pelt_identity : motion.target[b]).m[k], 1e-5);
    }
    assert_float_equal(pelt_flesh_motion_turn(&v.bones, motion.target, back_again.target),
                       pelt_flesh_motion_turn(&v.bones, NULL, motion.target), 1e-5);
    for (double part = 0; part <= 1; part += 0.25) {
        pelt_flesh_motion_at(&motion, part, bones);
        for (uint32_t b = 0; b < v.bones.count; b++)
            for (uint32_t c = 0; c < v.bones.count; c++) { /* the head of a child is a point of both bones */
                uint32_t child = v.bones.list[c].joint;
                if (s->parents[child] != (int32_t)v.bones.list[b].joint) continue;
                pelt_affine bind, back;
                double x[3], y[3], head[3];
                memcpy(bind.m, s->inverse_bind[child], sizeof bind.m);
                pelt_affine_invert(&bind, &back);
                for (int k = 0; k < 3; k++) head[k] = back.m[4 * k + 3];
                pelt_affine_point(&bones[b], head, x), pelt_affine_point(&bones[c], head, y);
                assert_true(pelt_distance(x, y) < 1e-5 * arm->mesh.diagonal);
            }
    }
    pelt_affine *matrices = PELT_NEW(arena, s->joint_count, pelt_affine);
    pelt_joint_matrices(s, pose, NULL, matrices);
    for (uint32_t b = 0; b < v.bones.count; b++) { /* in the end they are where the skeleton puts them */
        pelt_affine end = pelt_affine_multiply(&motion.whole, &motion.target[b]);
        for (int k = 0; k < 12; k++) assert_near(end.m[k], matrices[v.bones.list[b].joint].m[k], 2e-5);
    }
    pose[2].scale[0] = 1.5f;
    assert_int_not_equal(pelt_flesh_motion_to(arena, s, &v.bones, NULL, pose, &motion, &error), 0);
    assert_non_null(strstr(error.text, "stretches or is not finite"));
    pose[2].scale[0] = 1, pose[2].rotation[1] = NAN;
    assert_int_not_equal(pelt_flesh_motion_to(arena, s, &v.bones, NULL, pose, &motion, &error), 0);
    pelt_bundle_free(arm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(surfaces_become_capsules_of_their_length_and_volume),
        cmocka_unit_test(nodes_in_a_wide_surface_are_held_and_no_others),
        cmocka_unit_test(pieces_without_a_bone_go_with_the_nearest),
        cmocka_unit_test(elements_are_as_stiff_as_the_nearest_skin),
        cmocka_unit_test(chains_of_bones_stay_together_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
