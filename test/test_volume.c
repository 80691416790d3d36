/* test_volume.c: winding numbers, lattices, bones and embedded skins against closed forms and brute force. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include "test/test.h"
#include <pelt/fit.h>

enum { AROUND = 48, ALONG = 32 };

/* -- Surfaces ------------------------------------------------------------------------------------------------------- */

typedef struct maker {
    pelt_arena *arena;
    pelt_mesh mesh;
} maker;

static maker make(void) {
    maker m = {.arena = pelt_arena_new(0)};
    m.mesh.positions = PELT_NEW(m.arena, 3 * 20000, float);
    m.mesh.normals = PELT_NEW(m.arena, 3 * 20000, float);
    m.mesh.triangles = PELT_NEW(m.arena, 3 * 40000, uint32_t);
    return m;
}

static void triangle(pelt_mesh *m, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *t = m->triangles + 3 * m->triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
}

/* A capsule along x from the point on, open at its far end if asked: a sphere if it has no length. */
static void capsule(maker *made, double x, double y, double length, double radius, bool open) {
    pelt_mesh *m = &made->mesh;
    uint32_t base = m->vertex_count, rings = open ? ALONG / 2 : ALONG;
    for (uint32_t i = 0; i <= rings; i++)
        for (uint32_t k = 0; k < AROUND; k++) {
            double s = M_PI * i / ALONG, t = 2 * M_PI * k / AROUND;
            float n[3] = {(float)-cos(s), (float)(sin(s) * cos(t)), (float)(sin(s) * sin(t))};
            float *p = m->positions + 3 * m->vertex_count, shift = i > ALONG / 2 ? (float)length : 0;
            for (int c = 0; c < 3; c++)
                p[c] = (float)radius * n[c] + (c == 0 ? (float)x + shift : c == 1 ? (float)y : 0);
            memcpy(m->normals + 3 * m->vertex_count++, n, sizeof n);
        }
    for (uint32_t i = 0; i < rings; i++)
        for (uint32_t k = 0; k < AROUND; k++) {
            uint32_t a = base + i * AROUND + k, b = base + i * AROUND + (k + 1) % AROUND, c = a + AROUND,
                     d = b + AROUND;
            triangle(m, a, b, c), triangle(m, b, d, c);
        }
}

/* Joints along x, all of one chain, each vertex on the first. */
static pelt_bundle *bundle_of(maker *m, uint32_t joints, const double (*heads)[3], const int32_t *parents) {
    pelt_bundle *b = PELT_NEW(m->arena, 1, pelt_bundle);
    uint32_t n = m->mesh.vertex_count;
    b->arena = m->arena, b->path = "made", b->mesh = m->mesh;
    b->mesh.diagonal = (float)pelt_diagonal(m->mesh.positions, n);
    b->mesh.influences.first = PELT_NEW(m->arena, n + 1, uint32_t);
    b->mesh.influences.joints = PELT_NEW(m->arena, n, uint32_t);
    b->mesh.influences.weights = PELT_NEW(m->arena, n, float);
    for (uint32_t i = 0; i < n; i++)
        b->mesh.influences.first[i + 1] = i + 1, b->mesh.influences.weights[i] = 1,
                                     b->mesh.influences.joints[i] = joints > 1 ? i % (joints - 1) : 0;
    b->skeleton =
        (pelt_skeleton){joints, PELT_NEW(m->arena, joints, const char *), PELT_NEW(m->arena, joints, int32_t),
                        PELT_NEW(m->arena, joints, pelt_transform), pelt_alloc(m->arena, joints, 12 * sizeof(double))};
    for (uint32_t j = 0; j < joints; j++) {
        b->skeleton.names[j] = "joint", b->skeleton.parents[j] = parents ? parents[j] : (int32_t)j - 1;
        for (int k = 0; k < 3; k++)
            b->skeleton.inverse_bind[j][5 * k] = 1, b->skeleton.inverse_bind[j][4 * k + 3] = -heads[j][k];
    }
    return b;
}

/* The solid angles of all triangles by another formula: L'Huilier's, from the sides of the spherical triangle. */
static double winding_by_sides(const pelt_mesh *m, const double p[3]) {
    double sum = 0;
    for (uint32_t t = 0; t < m->triangle_count; t++) {
        double v[3][3], n[3], side[3];
        for (int c = 0; c < 3; c++) {
            for (int k = 0; k < 3; k++)
                v[c][k] = m->positions[3 * m->triangles[3 * t + (uint32_t)c] + (uint32_t)k] - p[k];
            double l = pelt_length(v[c]);
            for (int k = 0; k < 3; k++) v[c][k] /= l;
        }
        for (int c = 0; c < 3; c++) side[c] = 2 * asin(fmin(pelt_distance(v[(c + 1) % 3], v[(c + 2) % 3]) / 2, 1));
        double s = (side[0] + side[1] + side[2]) / 2;
        double x = tan(s / 2) * tan((s - side[0]) / 2) * tan((s - side[1]) / 2) * tan((s - side[2]) / 2);
        pelt_cross(v[1], v[2], n);
        sum += copysign(4 * atan(sqrt(fmax(x, 0))), pelt_dot(v[0], n));
    }
    return sum / (4 * M_PI);
}

/* -- Winding numbers ------------------------------------------------------------------------------------------------ */

static void winding_numbers_are_sums_of_solid_angles(void **state) {
    (void)state;
    uint64_t seed = 1;
    maker m = make();
    capsule(&m, 0, 0, 2, 1, true); /* open, and another one through it */
    capsule(&m, 0.5, 0.7, 1, 0.8, false);
    const pelt_skin_tree *tree = pelt_skin_tree_of(m.arena, &m.mesh, NULL);
    double worst = 0;
    for (int i = 0; i < 300; i++) {
        double p[3] = {6 * test_random(&seed) - 2, 6 * test_random(&seed) - 3, 6 * test_random(&seed) - 3};
        double truth = winding_by_sides(&m.mesh, p);
        assert_near(pelt_winding_number(tree, p, true), truth, 1e-5);
        worst = fmax(worst, fabs(pelt_winding_number(tree, p, false) - truth));
    }
    assert_true(worst > 1e-7 && worst < 0.02);
    pelt_arena_free(m.arena);
}

static void inside_is_known_of_open_and_crossing_surfaces(void **state) {
    (void)state;
    maker m = make();
    capsule(&m, 0, 0, 0, 1, true); /* half a sphere, x < 0 */
    capsule(&m, -0.5, 1.2, 1, 0.6, false);
    const pelt_skin_tree *tree = pelt_skin_tree_of(m.arena, &m.mesh, NULL);
    assert_true(pelt_winding_number(tree, (double[3]){-0.8, 0, 0}, false) > 0.5);
    assert_true(pelt_winding_number(tree, (double[3]){0.5, 0, 0}, false) < 0.5);
    assert_true(pelt_winding_number(tree, (double[3]){0.3, 1.2, 0}, false) > 0.5);
    assert_true(pelt_winding_number(tree, (double[3]){-0.3, 0.8, 0}, false) > 1.5); /* in both */
    assert_true(pelt_winding_number(tree, (double[3]){-0.3, 2, 0}, false) < 0.5);
    for (uint32_t t = 0; t < m.mesh.triangle_count; t++) { /* inside out, it counts the same */
        uint32_t *c = m.mesh.triangles + 3 * t, swap = c[0];
        c[0] = c[1], c[1] = swap;
    }
    tree = pelt_skin_tree_of(m.arena, &m.mesh, NULL);
    assert_true(pelt_winding_number(tree, (double[3]){-0.8, 0, 0}, false) > 0.5);
    pelt_arena_free(m.arena);
}

static void lines_leave_flesh_across_a_gap_but_not_where_surfaces_cross(void **state) {
    (void)state;
    maker m = make();
    capsule(&m, 0, 0, 0, 1, false);
    capsule(&m, 0, 2.01, 0, 1, false); /* a gap of .01 */
    capsule(&m, 1.5, 0, 0, 1, false);  /* overlaps the first */
    const pelt_skin_tree *tree = pelt_skin_tree_of(m.arena, &m.mesh, NULL);
    assert_false(pelt_stays_inside(tree, (double[3]){0.001, 0.9, 0.002}, (double[3]){0.003, 1.1, 0}, 1));
    assert_true(pelt_stays_inside(tree, (double[3]){0.001, 0.1, 0.002}, (double[3]){1.9, 0.1, 0.003}, 1));
    assert_near(pelt_skin_distance(tree, (double[3]){0, 3.5, 0}), 0.49, 0.003);
    pelt_arena_free(m.arena);
}

/* -- Lattices ------------------------------------------------------------------------------------------------------- */

static pelt_volume build(maker *m, const pelt_bundle *b, double cell) {
    pelt_volume v;
    pelt_error error;
    if (pelt_volume_build(m->arena, b, &(pelt_volume_options){.cell = cell}, &v, &error)) fail_msg("%s", error.text);
    return v;
}

static double signed_volume(const pelt_volume *v, uint32_t e) {
    double m[9], c[9];
    const double *a = v->nodes + 3 * v->elements[4 * e];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            m[3 * i + k] = v->nodes[3 * v->elements[4 * e + 1 + (uint32_t)i] + (uint32_t)k] - a[k];
    return pelt_cofactors(m, c) / 6;
}

static void fractions_sum_up_to_the_volume_of_spheres_and_capsules(void **state) {
    (void)state;
    for (int length = 0; length < 3; length += 2) {
        maker m = make();
        capsule(&m, 0, 0, length, 1, false);
        const double heads[2][3] = {{-0.5, 0, 0}, {0.5 + length, 0, 0}};
        pelt_bundle *b = bundle_of(&m, 2, heads, NULL);
        pelt_volume v = build(&m, b, 0.2);
        double truth = M_PI * (4.0 / 3 + length), sum = 0;
        for (uint32_t e = 0; e < v.element_count; e++) {
            assert_near(signed_volume(&v, e), 0.2 * 0.2 * 0.2 / 12, 1e-9);
            assert_true(v.fractions[e] > 0 && v.fractions[e] <= 1);
            sum += v.fractions[e] * signed_volume(&v, e);
        }
        assert_near(v.volume, sum, 1e-9 * sum);
        assert_near(v.volume / truth, 1, 0.012); /* the mesh itself is .6% smaller */
        assert_near(v.volume / v.mesh_volume, 1, 0.005);
        assert_int_equal(v.copies, 0);
        pelt_arena_free(m.arena);
    }
}

static void place_of(const pelt_volume *v, const double *nodes, uint32_t i, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t k = 0; k < 3; k++)
            out[k] += v->skin_barycentrics[4 * i + c] * nodes[3 * v->elements[4 * v->skin_elements[i] + c] + k];
}

static void skin_stays_in_place_and_follows_affine_maps(void **state) {
    (void)state;
    static const double map[12] = {0.3, -1.2, 0.1, 2, 0.9, 0.2, 0.4, -1, -0.2, 0.5, 1.1, 3};
    maker m = make();
    capsule(&m, 0, 0, 2, 0.3, false);
    const double heads[3][3] = {{-0.1, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    pelt_volume v =
        build(&m, bundle_of(&m, 3, heads, NULL), 0.31); /* coarse: half of the skin lies outside of its cell */
    double *moved = PELT_NEW(m.arena, 3 * v.node_count, double);
    pelt_affine a;
    memcpy(a.m, map, sizeof map);
    for (uint32_t i = 0; i < v.node_count; i++) pelt_affine_point(&a, v.nodes + 3 * i, moved + 3 * i);
    assert_int_equal(v.skin_count, m.mesh.vertex_count);
    for (uint32_t i = 0; i < v.skin_count; i++) {
        const float *p = m.mesh.positions + 3 * v.skin[i];
        double at[3] = {p[0], p[1], p[2]}, want[3], got[3];
        place_of(&v, v.nodes, i, got);
        for (int k = 0; k < 3; k++) assert_near(got[k], at[k], 1e-12);
        pelt_affine_point(&a, at, want);
        place_of(&v, moved, i, got);
        for (int k = 0; k < 3; k++) assert_near(got[k], want[k], 1e-11);
    }
    pelt_arena_free(m.arena);
}

/* Nodes that elements connect, as a set for each. */
static uint32_t *pieces(maker *m, const pelt_volume *v, uint32_t *count) {
    uint32_t *piece = PELT_NEW(m->arena, v->node_count, uint32_t);
    for (uint32_t i = 0; i < v->node_count; i++) piece[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < v->element_count; e++) {
            uint32_t least = UINT32_MAX;
            for (int c = 0; c < 4; c++)
                if (piece[v->elements[4 * e + (uint32_t)c]] < least) least = piece[v->elements[4 * e + (uint32_t)c]];
            for (int c = 0; c < 4; c++)
                if (piece[v->elements[4 * e + (uint32_t)c]] != least)
                    piece[v->elements[4 * e + (uint32_t)c]] = least, changed = true;
        }
    }
    *count = 0;
    for (uint32_t i = 0; i < v->node_count; i++) *count += piece[i] == i;
    return piece;
}

static void fingers_side_by_side_do_not_stick_together(void **state) {
    (void)state;
    maker m = make();
    capsule(&m, 0, 0, 2, 0.3, false);
    uint32_t own = m.mesh.vertex_count, count;
    capsule(&m, 0, 0.62, 2, 0.3, false); /* a gap of .02, cells of .25 */
    const double heads[4][3] = {{0, 0, 0}, {2, 0, 0}, {0, 0.62, 0}, {2, 0.62, 0}};
    pelt_volume v = build(&m, bundle_of(&m, 4, heads, (const int32_t[4]){-1, 0, -1, 2}), 0.25);
    uint32_t *piece = pieces(&m, &v, &count);
    assert_true(v.copies > 20);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < v.skin_count; i++) {
        uint32_t here = piece[v.elements[4 * v.skin_elements[i]]];
        uint32_t want = piece[v.elements[4 * v.skin_elements[v.skin[i] < own ? 0 : v.skin_count - 1]]];
        assert_int_equal(here, want);
    }
    for (uint32_t i = 0; i < v.node_count; i++) { /* no bone carries the other finger */
        if (v.node_bones[i] < 0) continue;
        double middle = v.bones.list[v.node_bones[i]].ends[0][1];
        for (uint32_t k = 0; k < v.node_count; k++)
            if (v.node_bones[k] >= 0 && piece[k] == piece[i])
                assert_near(v.bones.list[v.node_bones[k]].ends[0][1], middle, 1e-9);
        if (i > 400) break;
    }
    pelt_arena_free(m.arena);
}

static void parts_that_cross_become_one(void **state) {
    (void)state;
    maker m = make();
    uint32_t count;
    capsule(&m, 0, 0, 2, 0.4, false);
    capsule(&m, 1, 0.5, 2, 0.4, false);
    const double heads[2][3] = {{0, 0, 0}, {2, 0, 0}};
    pelt_volume v = build(&m, bundle_of(&m, 2, heads, NULL), 0.2);
    pieces(&m, &v, &count);
    assert_int_equal(count, 1);
    pelt_arena_free(m.arena);
}

/* -- Bones ---------------------------------------------------------------------------------------------------------- */

static void bones_are_as_wide_as_the_skin_is_far(void **state) {
    (void)state;
    maker m = make();
    capsule(&m, 0, 0, 10, 1, false);
    const double heads[3][3] = {{0, 0, 0.2}, {5, 0, 0.2}, {8, 0, 0.2}};
    pelt_bundle *b = bundle_of(&m, 3, heads, NULL);
    for (uint32_t i = 0; i < m.mesh.vertex_count; i++) b->mesh.influences.joints[i] = i % 2; /* the tip has no weight */
    pelt_volume v = build(&m, b, 0.4);
    assert_int_equal(v.bones.count, 2);
    assert_near(v.bones.list[0].radius, 0.45 * 0.8, 0.003);
    double gap = 1.35 * v.bones.list[0].radius + 0.05;
    assert_near(v.bones.list[0].ends[0][0], gap, 1e-6);
    assert_near(v.bones.list[0].ends[1][0], 5 - gap, 1e-6);
    assert_true(v.bones.list[1].ends[1][0] > 9 && v.bones.list[1].ends[1][0] < 10.8); /* beyond the tip's joint */
    assert_int_equal(v.bare, 0);
    for (uint32_t i = 0; i < v.node_count; i++)
        if (v.node_bones[i] >= 0)
            assert_true(fabs(v.nodes[3 * i + 1]) <= 0.37 && fabs(v.nodes[3 * i + 2] - 0.2) <= 0.37);
    pelt_arena_free(m.arena);
}

static void the_same_for_any_number_of_threads(void **state) {
    (void)state;
    maker m = make();
    pelt_error error;
    pelt_volume a, b;
    capsule(&m, 0, 0, 2, 0.3, false);
    const double heads[2][3] = {{0, 0, 0}, {2, 0, 0}};
    pelt_bundle *bundle = bundle_of(&m, 2, heads, NULL);
    assert_int_equal(pelt_volume_build(m.arena, bundle, &(pelt_volume_options){.threads = 1, .cell = 0.1}, &a, &error),
                     0);
    assert_int_equal(pelt_volume_build(m.arena, bundle, &(pelt_volume_options){.threads = 4, .cell = 0.1}, &b, &error),
                     0);
    assert_int_equal(a.element_count, b.element_count);
    assert_memory_equal(a.elements, b.elements, 16 * (size_t)a.element_count);
    assert_memory_equal(a.node_bones, b.node_bones, 4 * (size_t)a.node_count);
    assert_memory_equal(a.skin_barycentrics, b.skin_barycentrics, 32 * (size_t)a.skin_count);
    pelt_arena_free(m.arena);
}

/* -- Bad input -------------------------------------------------------------------------------------------------------- */

static void refused(maker *m, const pelt_bundle *b, double cell, const char *words) {
    pelt_volume v;
    pelt_error error = {0};
    assert_int_not_equal(pelt_volume_build(m->arena, b, &(pelt_volume_options){.cell = cell}, &v, &error), 0);
    if (!strstr(error.text, words)) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

static void bad_input_is_refused_with_a_sentence(void **state) {
    (void)state;
    maker m = make();
    capsule(&m, 0, 0, 2, 0.3, false);
    const double in[2][3] = {{0, 0, 0}, {2, 0, 0}}, out[2][3] = {{0, 5, 0}, {2, 5, 0}};
    refused(&m, bundle_of(&m, 2, out, NULL), 0.1, "no bone of the skeleton lies inside");
    refused(&m, bundle_of(&m, 2, in, NULL), 1e-5, "use larger ones");
    refused(&m, bundle_of(&m, 2, in, NULL), -1, "must be above 0");
    pelt_bundle *b = bundle_of(&m, 2, in, NULL);
    b->skeleton.joint_count = 0;
    refused(&m, b, 0.1, "no skeleton");
    m.mesh.positions[7] = NAN;
    refused(&m, bundle_of(&m, 2, in, NULL), 0.1, "vertex 2 is not finite");
    pelt_arena_free(m.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winding_numbers_are_sums_of_solid_angles),
        cmocka_unit_test(inside_is_known_of_open_and_crossing_surfaces),
        cmocka_unit_test(lines_leave_flesh_across_a_gap_but_not_where_surfaces_cross),
        cmocka_unit_test(fractions_sum_up_to_the_volume_of_spheres_and_capsules),
        cmocka_unit_test(skin_stays_in_place_and_follows_affine_maps),
        cmocka_unit_test(fingers_side_by_side_do_not_stick_together),
        cmocka_unit_test(parts_that_cross_become_one),
        cmocka_unit_test(bones_are_as_wide_as_the_skin_is_far),
        cmocka_unit_test(the_same_for_any_number_of_threads),
        cmocka_unit_test(bad_input_is_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
