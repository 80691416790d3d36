/* test_gltf_details.c: rare details of glTF: tracks of integers, tangents without textures, bounds of sparse
   targets. */

#include "test/gltf_maker.h"
#include <jansson.h>

#define NODES "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"

/* Integers are fractions in rotations, whatever the file says, because nothing else makes sense there; elsewhere they
   are integers. */
static void whole_numbers_are_fractions_in_rotations_alone(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 1, .5f);
    make_array(&m, (const int16_t[]){0, 0, 32767, 0}, 8, SHORT, "VEC4", 1, false);
    make_array(&m, (const int16_t[]){3, -2, 1}, 6, SHORT, "VEC3", 1, false);
    pelt_bundle *bundle = make_bundle(
        &m, NODES "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],'animations':[{'samplers':[{'input':1,"
                  "'output':2},{'input':1,'output':3}],'channels':[{'sampler':0,'target':{'node':0,'path':'rotation'}},"
                  "{'sampler':1,'target':{'node':0,'path':'translation'}}]}]");
    const pelt_clip *clip = bundle->clips[0];
    assert_int_equal(clip->channel_count, 2);
    for (int i = 0; i < 4; i++) assert_near(clip->channels[0].values[i], i == 2, 0);
    assert_near(clip->channels[1].values[0], 3, 0);
    assert_near(clip->channels[1].values[1], -2, 0);
    assert_near(clip->channels[1].values[2], 1, 0);
    pelt_bundle_free(bundle);
}

/* Two triangles over an edge, the second textured like the first, mirrored, under a normal map. */
static pelt_bundle *torn(const char *attributes) {
    maker m = {0};
    char rest[600];
    MAKE_FLOATS(&m, "VEC3", 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 4, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    MAKE_FLOATS(&m, "VEC2", 4, 0, 1, 1, 1, 0, 0, 0, 1);
    MAKE_FLOATS(&m, "VEC4", 4, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
    make_array(&m, (const uint8_t[]){0, 1, 2, 2, 1, 3}, 6, UBYTE, "SCALAR", 6, false);
    snprintf(rest, sizeof rest,
             NODES "'materials':[{'normalTexture':{'index':0}}],'meshes':[{'primitives':[{'material':0,'indices':4,"
                   "'attributes':{'POSITION':0,'NORMAL':1%s}}]}]",
             attributes);
    return make_bundle(&m, rest);
}

static void a_file_with_tangents_of_its_own_is_not_told_that_its_texture_is_torn(void **state) {
    (void)state;
    pelt_bundle *without = torn(",'TEXCOORD_0':2"), *with = torn(",'TEXCOORD_0':2,'TANGENT':3");
    assert_non_null(find_note(without, "torn-texture"));
    assert_null(find_note(with, "torn-texture"));
    for (int v = 0; v < 4; v++) assert_near(with->mesh.tangents[4 * v + 1], 1, 1e-6);
    pelt_bundle_free(without), pelt_bundle_free(with);
}

static void tangents_may_come_without_a_texture(void **state) {
    (void)state;
    pelt_bundle *bundle = torn(",'TANGENT':3");
    assert_non_null(bundle->mesh.tangents);
    assert_null(bundle->mesh.uvs);
    pelt_bundle_free(bundle);
}

/* Bounds of a target as the file says them. */
static void read_bounds(const char *path, size_t target, double low[3], double high[3]) {
    uint8_t head[20];
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(head, 1, 20, file), 20);
    uint32_t length;
    memcpy(&length, head + 12, 4);
    char *text = malloc(length + 1);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    json_t *root = json_loadb(text, length, 0, NULL), *mesh = json_array_get(json_object_get(root, "meshes"), 0);
    json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    json_t *position = json_object_get(json_array_get(json_object_get(primitive, "targets"), target), "POSITION");
    json_t *accessor = json_array_get(json_object_get(root, "accessors"), (size_t)json_integer_value(position));
    assert_int_equal(json_array_size(json_object_get(accessor, "min")), 3);
    assert_int_equal(json_array_size(json_object_get(accessor, "max")), 3);
    for (size_t i = 0; i < 3; i++) {
        low[i] = json_number_value(json_array_get(json_object_get(accessor, "min"), i));
        high[i] = json_number_value(json_array_get(json_object_get(accessor, "max"), i));
    }
    json_decref(root), free(text);
}

/* Vertices that a target does not move are moved by 0, which the bounds must include; if it moves all, they must be
   tight. */
static void bounds_of_targets_hold_zero_only_where_something_stays(void **state) {
    (void)state;
    float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, normals[9] = {0, 0, 1, 0, 0, 1, 0, 0, 1},
          deltas[9] = {1, 2, -3, 4, 5, -6, 7, 8, -9};
    uint32_t triangles[3] = {0, 1, 2}, vertices[3] = {0, 1, 2};
    pelt_target targets[2] = {{.name = "some", .count = 2, .vertices = vertices, .deltas = deltas},
                              {.name = "all", .count = 3, .vertices = vertices, .deltas = deltas}};
    pelt_mesh mesh = {.vertex_count = 3,
                      .triangle_count = 1,
                      .positions = positions,
                      .normals = normals,
                      .triangles = triangles,
                      .target_count = 2,
                      .targets = targets};
    pelt_error error;
    char path[200];
    snprintf(path, sizeof path, "%s/bounds.glb", test_folder());
    if (pelt_gltf_write(path, &(pelt_gltf_content){.mesh = &mesh, .name = "bounds"}, &error))
        fail_msg("%s", error.text);
    static const double lows[2][3] = {{0, 0, -6}, {1, 2, -9}}, highs[2][3] = {{4, 5, 0}, {7, 8, -3}};
    for (size_t t = 0; t < 2; t++) {
        double low[3], high[3];
        read_bounds(path, t, low, high);
        for (int i = 0; i < 3; i++) {
            assert_near(low[i], lows[t][i], 0);
            assert_near(high[i], highs[t][i], 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_fractions_in_rotations_alone),
        cmocka_unit_test(a_file_with_tangents_of_its_own_is_not_told_that_its_texture_is_torn),
        cmocka_unit_test(tangents_may_come_without_a_texture),
        cmocka_unit_test(bounds_of_targets_hold_zero_only_where_something_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
