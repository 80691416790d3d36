/* test_carry.c: skins carried to other meshes of the same character: to itself, to a finer mesh of the same surface, and
   to one beside it, compared with the definition in double. */

#include "fit/examples/displacement.h"
#include "pack/pack.h"
#include "test/corrective_maker.h"
#include "test/definition.h"
#include <pelt/fit.h>

/* Another mesh on the skeleton of a bundle. */
static pelt_bundle *with_mesh(const pelt_bundle *bundle, uint32_t vertex_count, uint32_t triangle_count) {
    pelt_bundle *out = character_new(bundle->skeleton.joint_count, bundle->skeleton.parents);
    character_bind(out);
    out->path = "low.glb";
    pelt_mesh *mesh = &out->mesh;
    mesh->vertex_count = vertex_count, mesh->triangle_count = triangle_count;
    mesh->positions = PELT_NEW(out->arena, 3 * (size_t)vertex_count, float);
    mesh->normals = PELT_NEW(out->arena, 3 * (size_t)vertex_count, float);
    mesh->triangles = PELT_NEW(out->arena, 3 * (size_t)triangle_count, uint32_t);
    character_influences(out, 1);
    return out;
}

/* What a vertex is made of, as the test puts it. */
typedef struct parts {
    uint32_t corners[3];
    double shares[3];
} parts;

/* The middles of all edges of all triangles. */
static pelt_bundle *middles(const pelt_bundle *bundle, parts **made) {
    const pelt_mesh *mesh = &bundle->mesh;
    uint32_t n = 3 * mesh->triangle_count;
    pelt_bundle *out = with_mesh(bundle, n, mesh->triangle_count);
    *made = PELT_NEW(out->arena, n, parts);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t a = mesh->triangles[v], b = mesh->triangles[v / 3 * 3 + (v + 1) % 3];
        (*made)[v] = (parts){{a, b, b}, {0.5, 0.5, 0}};
        out->mesh.triangles[v] = v;
        for (size_t i = 0; i < 3; i++) {
            out->mesh.positions[3 * (size_t)v + i] =
                (mesh->positions[3 * (size_t)a + i] + mesh->positions[3 * (size_t)b + i]) / 2;
            out->mesh.normals[3 * (size_t)v + i] = mesh->normals[3 * (size_t)a + i];
        }
    }
    return out;
}

static pelt_bundle *copy_of(const pelt_bundle *bundle, parts **made) {
    const pelt_mesh *mesh = &bundle->mesh;
    pelt_bundle *out = with_mesh(bundle, mesh->vertex_count, mesh->triangle_count);
    *made = PELT_NEW(out->arena, mesh->vertex_count, parts);
    memcpy(out->mesh.positions, mesh->positions, 12 * (size_t)mesh->vertex_count);
    memcpy(out->mesh.normals, mesh->normals, 12 * (size_t)mesh->vertex_count);
    memcpy(out->mesh.triangles, mesh->triangles, 12 * (size_t)mesh->triangle_count);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) (*made)[v] = (parts){{v, v, v}, {1, 0, 0}};
    return out;
}

/* Blended and displaced as the mix of the corners says, in double. */
static void define(const pelt_bundle *from, const pelt_corrective *c, const pelt_bundle *to, const parts *made,
                   const pelt_transform *locals, double *out) {
    const pelt_influences *in = &from->mesh.influences;
    uint32_t joints = from->skeleton.joint_count;
    double *moved = calloc(3 * (size_t)from->mesh.vertex_count, sizeof *moved);
    pelt_affine *matrices = calloc(joints, sizeof *matrices);
    float controls[MAKER_CONTROLS] = {0};
    pelt_corrective none = {0};
    assert_true(
        pelt_corrective_eval(c ? c : &none, &from->skeleton, locals, controls, from->mesh.vertex_count, moved, NULL));
    pelt_joint_matrices(&from->skeleton, locals, NULL, matrices);
    for (uint32_t v = 0; v < to->mesh.vertex_count; v++) {
        double weights[16] = {0}, p[3];
        for (size_t i = 0; i < 3; i++) p[i] = to->mesh.positions[3 * (size_t)v + i];
        for (int k = 0; k < 3; k++) {
            uint32_t corner = made[v].corners[k];
            for (size_t i = 0; i < 3; i++) p[i] += made[v].shares[k] * moved[3 * (size_t)corner + i];
            for (uint32_t i = in->first[corner]; i < in->first[corner + 1]; i++)
                weights[in->joints[i]] += made[v].shares[k] * in->weights[i];
        }
        for (size_t row = 0; row < 3; row++) {
            double *x = &out[3 * (size_t)v + row];
            *x = 0;
            for (uint32_t j = 0; j < joints; j++) {
                const double *m = matrices[j].m + 4 * row;
                *x += weights[j] * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
            }
        }
    }
    free(moved), free(matrices);
}

static void check_carried(pelt_bundle *(*make)(const pelt_bundle *, parts **), bool corrected, bool in_16_bits,
                          double tolerance) {
    uint64_t seed = 31;
    pelt_error error = {0};
    pelt_bundle *bundle = character_chain(5, 160);
    character_random_weights(bundle, 3, &seed);
    const pelt_corrective *c = corrected ? maker_basis(bundle, &seed) : NULL;
    pelt_skin skin, carried;
    pelt_bytes *bytes = c ? maker_pack(bundle, c, in_16_bits, &skin) : character_pack(bundle, &skin);
    parts *made;
    pelt_bundle *to = make(bundle, &made);
    pelt_bytes *low = pelt_carry_skin(bytes, bundle, to, &error);
    if (!low) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(low->bytes, low->size, &carried), PELT_OK);
    assert_int_equal(carried.vertex_count, to->mesh.vertex_count);
    assert_true(*carried.mesh_hash ==
                pelt_mesh_hash(to->mesh.positions, to->mesh.vertex_count, to->mesh.triangles, to->mesh.triangle_count));
    double *expected = calloc(3 * (size_t)to->mesh.vertex_count, sizeof *expected);
    float *positions = aligned_alloc(64, pelt_output_size(&carried));
    void *scratch = aligned_alloc(64, pelt_scratch_size(&carried));
    pelt_transform *locals = calloc(5, sizeof *locals);
    for (int pose = 0; pose < 3; pose++) {
        maker_pose(bundle, &seed, 0.4, locals);
        define(bundle, c, to, made, locals, expected);
        pelt_pose(&carried, locals, scratch);
        pelt_deform(&carried, scratch, pelt_all_blocks(&carried), positions, NULL);
        for (uint32_t v = 0; v < to->mesh.vertex_count; v++)
            for (size_t i = 0; i < 3; i++)
                assert_near(positions[3 * (size_t)carried.vertex_slots[v] + i], expected[3 * (size_t)v + i], tolerance);
    }
    free(expected), free(positions), free(scratch), free(locals);
    pelt_bytes_free(low), character_free_skin(bytes), character_free(to), character_free(bundle);
}

static void a_mesh_carried_to_itself_moves_as_before(void **state) {
    (void)state;
    check_carried(copy_of, false, false, 1e-5);
    check_carried(copy_of, true, false, 2e-5);
    check_carried(copy_of, true, true, 1e-4);
}

static void middles_of_edges_are_half_of_either_end(void **state) {
    (void)state;
    check_carried(middles, false, false, 1e-5);
    check_carried(middles, true, false, 2e-5);
    check_carried(middles, true, true, 2e-4);
}

/* A triangle in the plane z = 0, weights of joint 1 that are x, and points above, beside and beyond it. */
static void vertices_take_the_nearest_point_of_the_surface(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = character_new(2, NULL), *plane = with_mesh(bundle, 4, 2);
    static const float corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    static const uint32_t triangles[] = {0, 1, 2, 1, 3, 2};
    memcpy(plane->mesh.positions, corners, sizeof corners), memcpy(plane->mesh.triangles, triangles, sizeof triangles);
    character_influences(plane, 2);
    for (size_t v = 0; v < 4; v++) {
        plane->mesh.normals[3 * v + 2] = 1;
        plane->mesh.influences.joints[2 * v + 1] = 1;
        plane->mesh.influences.weights[2 * v] = 1 - corners[3 * v];
        plane->mesh.influences.weights[2 * v + 1] = corners[3 * v];
    }
    static const float points[][4] = {/* and the x of the nearest point */
                                      {0.25f, 0.25f, 0.5f, 0.25f},
                                      {0.75f, 0.9f, -2, 0.75f},
                                      {-3, 0.5f, 0, 0},
                                      {0.6f, -1, 1, 0.6f},
                                      {4, 5, 1, 1}};
    pelt_bundle *to = with_mesh(plane, 5, 0);
    for (size_t v = 0; v < 5; v++) memcpy(to->mesh.positions + 3 * v, points[v], 12), to->mesh.normals[3 * v + 2] = 1;
    pelt_skin skin, carried;
    pelt_bytes *bytes = character_pack(plane, &skin), *low = pelt_carry_skin(bytes, plane, to, &error);
    if (!low) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(low->bytes, low->size, &carried), PELT_OK);
    for (uint32_t v = 0; v < 5; v++) {
        double weight = 0;
        for (uint32_t e = carried.block_first[0]; e < carried.block_first[1]; e++)
            if (carried.entry_joints[e] == 1) weight = carried.entry_weights[16 * (size_t)e + carried.vertex_slots[v]];
        assert_near(weight, points[v][3], 1e-6);
    }
    pelt_bytes_free(low), character_free_skin(bytes);
    character_free(to), character_free(plane), character_free(bundle);
}

static void levels_come_along(void **state) {
    (void)state;
    uint64_t seed = 32;
    pelt_error error = {0};
    pelt_bundle *bundle = character_chain(5, 160);
    character_random_weights(bundle, 3, &seed);
    const pelt_corrective *c = maker_basis(bundle, &seed);
    pelt_skin skin, high, low;
    pelt_bytes *bytes = maker_pack(bundle, c, true, &skin);
    uint8_t last[128];
    for (uint32_t k = 0; k < sizeof last; k++) last[k] = (uint8_t)(k % 2);
    pelt_level_plan plan = {4, 2, last, {0, 0, 0, 1}, {0, 1, 2, 3}, {0, 2, 3, 4}};
    pelt_bytes *with = pelt_pack_levels(bytes->bytes, &skin, &plan, &error);
    assert_int_equal(pelt_open(with->bytes, with->size, &high), PELT_OK);
    parts *made;
    pelt_bundle *to = copy_of(bundle, &made);
    pelt_bytes *carried = pelt_carry_skin(with, bundle, to, &error);
    if (!carried) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(carried->bytes, carried->size, &low), PELT_OK);
    assert_int_equal(pelt_level_count(&low), 4);
    float *positions[2] = {aligned_alloc(64, pelt_output_size(&high)), aligned_alloc(64, pelt_output_size(&low))};
    void *scratch[2] = {aligned_alloc(64, pelt_scratch_size(&high)), aligned_alloc(64, pelt_scratch_size(&low))};
    pelt_transform locals[5];
    maker_pose(bundle, &seed, 0.4, locals);
    for (float level = 0; level <= 3; level += 0.25f) {
        pelt_pose_input pose = {.locals = locals, .level = level};
        pelt_pose_from(&high, &pose, scratch[0]), pelt_pose_from(&low, &pose, scratch[1]);
        pelt_deform(&high, scratch[0], pelt_all_blocks(&high), positions[0], NULL);
        pelt_deform(&low, scratch[1], pelt_all_blocks(&low), positions[1], NULL);
        for (uint32_t v = 0; v < low.vertex_count; v++)
            for (size_t i = 0; i < 3; i++)
                assert_near(positions[0][3 * (size_t)high.vertex_slots[v] + i],
                            positions[1][3 * (size_t)low.vertex_slots[v] + i], 1e-5);
    }
    for (int i = 0; i < 2; i++) free(positions[i]), free(scratch[i]);
    pelt_bytes_free(carried), pelt_bytes_free(with), character_free_skin(bytes);
    character_free(to), character_free(bundle);
}

static void what_cannot_be_carried_is_refused_in_a_sentence(void **state) {
    (void)state;
    uint64_t seed = 33;
    pelt_error error = {0};
    pelt_bundle *bundle = character_chain(3, 40), *other = character_chain(3, 48);
    pelt_skin skin;
    pelt_bytes *weighted = maker_pack(bundle, maker_weighted(bundle, &seed, PELT_PHI_EXP), false, &skin);
    pelt_bytes *plain = character_pack(bundle, &skin);
    assert_null(pelt_carry_skin(weighted, bundle, other, &error));
    assert_non_null(strstr(error.text, "wpsd"));
    assert_null(pelt_carry_skin(plain, other, bundle, &error));
    assert_non_null(strstr(error.text, "made for another mesh"));
    bundle->mesh.triangle_count = 0;
    assert_null(pelt_carry_skin(plain, bundle, other, &error));
    assert_non_null(strstr(error.text, "no triangles"));
    assert_null(pelt_carry_skin(NULL, bundle, other, &error));
    character_free_skin(weighted), character_free_skin(plain), character_free(bundle), character_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mesh_carried_to_itself_moves_as_before),
        cmocka_unit_test(middles_of_edges_are_half_of_either_end),
        cmocka_unit_test(vertices_take_the_nearest_point_of_the_surface),
        cmocka_unit_test(levels_come_along),
        cmocka_unit_test(what_cannot_be_carried_is_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
