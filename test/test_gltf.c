/* test_gltf.c: the reader on small files with contents known by hand. */

#include "test/gltf_maker.h"
#include <sys/stat.h>

/* One triangle in an unskinned node, whose positions are accessor 0. */
static const char PLAIN[] = "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"
                            "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]";

static void assert_positions(const pelt_bundle *bundle, const float *expected, uint32_t count, double tolerance) {
    assert_int_equal(bundle->mesh.vertex_count, count);
    for (uint32_t i = 0; i < 3 * count; i++) assert_near(bundle->mesh.positions[i], expected[i], tolerance);
}

static void assert_triangle(const pelt_mesh *mesh, uint32_t t, uint32_t a, uint32_t b, uint32_t c) {
    assert_int_equal(mesh->triangles[3 * t], a);
    assert_int_equal(mesh->triangles[3 * t + 1], b);
    assert_int_equal(mesh->triangles[3 * t + 2], c);
}

/* -- Accessors ----------------------------------------------------------------------------------------------------- */

static void check_type(const void *bytes, size_t size, int type, bool normalized, const float *expected) {
    maker m = {0};
    make_array(&m, bytes, size, type, "VEC3", 3, normalized);
    pelt_bundle *bundle = make_bundle(&m, PLAIN);
    assert_positions(bundle, expected, 3, 1e-7);
    pelt_bundle_free(bundle);
}

static void every_component_type_is_read(void **state) {
    (void)state;
    const int8_t i8[9] = {-128, -127, 0, 64, 127, 1, 2, 3, 4};
    const uint8_t u8[9] = {0, 255, 51, 1, 2, 3, 4, 5, 6};
    const int16_t i16[9] = {-32768, -32767, 0, 32767, 1, 2, 3, 4, 5};
    const uint16_t u16[9] = {0, 65535, 13107, 1, 2, 3, 4, 5, 6};
    const float f32[9] = {0, -1, 2.5f, 1e-3f, 1e6f, 3, 4, 5, 6};
    float plain[9], fraction[9];
    for (int i = 0; i < 9; i++) plain[i] = i8[i], fraction[i] = i8[i] < -127 ? -1 : i8[i] / 127.0f;
    check_type(i8, sizeof i8, BYTE, false, plain);
    check_type(i8, sizeof i8, BYTE, true, fraction);
    for (int i = 0; i < 9; i++) plain[i] = u8[i], fraction[i] = u8[i] / 255.0f;
    check_type(u8, sizeof u8, UBYTE, false, plain);
    check_type(u8, sizeof u8, UBYTE, true, fraction);
    for (int i = 0; i < 9; i++) plain[i] = i16[i], fraction[i] = i16[i] < -32767 ? -1 : i16[i] / 32767.0f;
    check_type(i16, sizeof i16, SHORT, false, plain);
    check_type(i16, sizeof i16, SHORT, true, fraction);
    for (int i = 0; i < 9; i++) plain[i] = u16[i], fraction[i] = u16[i] / 65535.0f;
    check_type(u16, sizeof u16, USHORT, false, plain);
    check_type(u16, sizeof u16, USHORT, true, fraction);
    check_type(f32, sizeof f32, FLOAT, false, f32);
}

static void interleaved_arrays_are_read_with_their_stride(void **state) {
    (void)state;
    const float both[3][6] = {{0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}, {0, 0, 1, 0, 1, 0}};
    maker m = {0};
    make_view(&m, both, sizeof both, 24);
    make_accessor(&m, "'bufferView':0,'componentType':5126,'type':'VEC3','count':3");
    make_accessor(&m, "'bufferView':0,'byteOffset':12,'componentType':5126,'type':'VEC3','count':3");
    pelt_bundle *bundle = make_bundle(&m, "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"
                                          "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]");
    assert_positions(bundle, (const float[]){0, 0, 0, 1, 0, 0, 0, 0, 1}, 3, 0);
    for (int v = 0; v < 3; v++) assert_near(bundle->mesh.normals[3 * v + 1], 1, 0);
    pelt_bundle_free(bundle);
}

static void sparse_elements_replace_those_of_the_array_or_zeros(void **state) {
    (void)state;
    for (int with_base = 0; with_base < 2; with_base++) {
        maker m = {0};
        char text[300];
        int indices = make_view(&m, (const uint8_t[]){0, 2}, 2, 0);
        int values = make_view(&m, (const float[]){7, 8, 9, 1, 2, 3}, 24, 0);
        int base = make_view(&m, (const float[]){0, 0, 0, 4, 5, 6, 0, 0, 0}, 36, 0);
        int length = snprintf(text, sizeof text,
                              "'componentType':5126,'type':'VEC3','count':3,'sparse':{'count':2,'indices':{'bufferView'"
                              ":%d,'componentType':5121},'values':{'bufferView':%d}}",
                              indices, values);
        if (with_base) snprintf(text + length, sizeof text - (size_t)length, ",'bufferView':%d", base);
        make_accessor(&m, text);
        pelt_bundle *bundle = make_bundle(&m, PLAIN);
        const float *middle = with_base ? (const float[]){4, 5, 6} : (const float[]){0, 0, 0};
        assert_positions(bundle, (const float[]){7, 8, 9, middle[0], middle[1], middle[2], 1, 2, 3}, 3, 0);
        pelt_bundle_free(bundle);
    }
}

/* -- Buffers ------------------------------------------------------------------------------------------------------- */

static pelt_bundle *read_text(const char *json, const char *path, pelt_error *error) {
    return read_bytes((pelt_file){(const uint8_t *)json, strlen(json)}, path, error);
}

static void buffers_may_be_base64(void **state) {
    (void)state;
    maker m = {0};
    pelt_error error = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 1, 2, 3, 4, 5, 6, 0, 0, 0);
    /* python3: base64.b64encode(struct.pack('<9f', 1, 2, 3, 4, 5, 6, 0, 0, 0)) */
    const char *uri = ",'uri':'data:application/octet-stream;base64,AACAPwAAAEAAAEBAAACAQAAAoEAAAMBAAAAAAAAAAAAAAAAA'";
    pelt_bundle *bundle = read_text(make_json(&m, uri, PLAIN), NULL, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_positions(bundle, (const float[]){1, 2, 3, 4, 5, 6, 0, 0, 0}, 3, 0);
    pelt_bundle_free(bundle);
}

static void buffers_may_be_files_in_the_same_folder_or_below(void **state) {
    (void)state;
    char folder[200], path[300];
    snprintf(folder, sizeof folder, "%s/a b", test_folder());
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/mesh.bin", folder);
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 1, 2, 3, 4, 5, 6, 0, 0, 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(m.binary, 1, m.size, file);
    fclose(file);
    pelt_error error = {0};
    snprintf(path, sizeof path, "%s/mesh.gltf", test_folder());
    pelt_bundle *bundle = read_text(make_json(&m, ",'uri':'./a%20b/mesh.bin'", PLAIN), path, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_positions(bundle, (const float[]){1, 2, 3, 4, 5, 6, 0, 0, 0}, 3, 0);
    assert_string_equal(bundle->path, path);
    pelt_bundle_free(bundle);
}

static void buffers_outside_the_folder_are_refused(void **state) {
    (void)state;
    const char *const uris[] = {
        "../x.bin",    "a/../../x.bin",      "%2e%2e/x.bin", "/etc/passwd", "%2Fx.bin", "http://a/x.bin",
        "C:\\\\x.bin", "file:///etc/passwd", "\\\\x.bin",    "a/..",        "",         "a%zz",
        "a%00b",       "data:text/plain,"};
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        char uri[100];
        pelt_error error = {0};
        snprintf(uri, sizeof uri, ",'uri':'%s'", uris[i]);
        assert_null(read_text(make_json(&m, uri, PLAIN), "/tmp/mesh.gltf", &error));
        assert_non_null(strstr(error.text, "/tmp/mesh.gltf: buffers[0].uri: "));
    }
}

static void unknown_chunks_are_skipped(void **state) {
    (void)state;
    maker m = {0};
    pelt_error error = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 1, 2, 3, 4, 5, 6, 0, 0, 0);
    pelt_file file = make_glb(&m, PLAIN);
    uint32_t json_size, total = (uint32_t)file.size + 16;
    memcpy(&json_size, file.bytes + 12, 4);
    uint8_t *bytes = calloc(1, total);
    size_t json_end = 20 + json_size;
    const uint32_t odd[4] = {8, 0x12345678, 0xffffffff, 0xffffffff};
    memcpy(bytes, file.bytes, json_end);
    memcpy(bytes + json_end, odd, sizeof odd);
    memcpy(bytes + json_end + 16, file.bytes + json_end, file.size - json_end);
    memcpy(bytes + 8, &total, 4);
    pelt_bundle *bundle = read_bytes((pelt_file){bytes, total}, NULL, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_positions(bundle, (const float[]){1, 2, 3, 4, 5, 6, 0, 0, 0}, 3, 0);
    pelt_bundle_free(bundle);
    free(bytes);
}

/* -- Meshes -------------------------------------------------------------------------------------------------------- */

static void strips_and_fans_become_triangles_of_one_sense(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0);
    make_array(&m, (const uint16_t[]){0, 1, 2, 3, 4}, 10, USHORT, "SCALAR", 5, false);
    make_array(&m, (const uint32_t[]){0, 1, 3, 4}, 16, UINT, "SCALAR", 4, false);
    pelt_bundle *bundle = make_bundle(&m, "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],'meshes':[{'primitives':["
                                          "{'attributes':{'POSITION':0},'indices':1,'mode':5},"
                                          "{'attributes':{'POSITION':0},'indices':2,'mode':6},"
                                          "{'attributes':{'POSITION':0},'mode':4},"
                                          "{'attributes':{'POSITION':0},'mode':1}]}]");
    const pelt_mesh *mesh = &bundle->mesh;
    assert_int_equal(mesh->vertex_count, 5); /* all primitives share them */
    assert_int_equal(mesh->triangle_count, 6);
    assert_triangle(mesh, 0, 0, 1, 2);
    assert_triangle(mesh, 1, 1, 3, 2);
    assert_triangle(mesh, 2, 2, 3, 4);
    assert_triangle(mesh, 3, 0, 1, 3);
    assert_triangle(mesh, 4, 0, 3, 4);
    assert_triangle(mesh, 5, 0, 1, 2);
    for (int v = 0; v < 5; v++) assert_near(mesh->normals[3 * v + 2], 1, 1e-6);
    assert_non_null(find_note(bundle, "not-triangles"));
    pelt_bundle_free(bundle);
}

static void unskinned_meshes_follow_their_node(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 2, 0, 1);
    MAKE_FLOATS(&m, "VEC3", 2, 10, 0, 0, 20, 0, 0);
    /* The mesh occurs twice in the scene: at (10, 0, 0) doubled, and mirrored in x. */
    pelt_bundle *bundle = make_bundle(
        &m, "'scenes':[{'nodes':[0,2]}],'nodes':[{'children':[1],'translation':[10,0,0]},{'mesh':0,'scale':[2,2,2]},"
            "{'mesh':0,'scale':[-1,1,1]}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
            "'animations':[{'samplers':[{'input':1,'output':2}],'channels':[{'sampler':0,'target':{'node':0,'path':"
            "'translation'}}]},{'samplers':[],'channels':[]}]");
    assert_positions(bundle, (const float[]){10, 0, 0, 12, 0, 0, 10, 2, 0, 0, 0, 0, -1, 0, 0, 0, 1, 0}, 6, 1e-6);
    assert_int_equal(bundle->skeleton.joint_count, 3);
    assert_triangle(&bundle->mesh, 0, 0, 1, 2);
    assert_triangle(&bundle->mesh, 1, 3, 5, 4); /* still counter-clockwise */
    assert_int_equal(bundle->clip_count, 1);
    assert_string_equal(bundle->clips[0]->name, "clip0");
    double *moved = blend_frame(bundle, bundle->clips[0], 1);
    const double expected[] = {20, 0, 0, 22, 0, 0, 20, 2, 0, 0, 0, 0, -1, 0, 0, 0, 1, 0};
    for (int i = 0; i < 18; i++) assert_near(moved[i], expected[i], 1e-6);
    free(moved);
    pelt_bundle_free(bundle);
}

/* The node scales by (2, 3, -1/2), then maps x to y, y to z and z to x; a normal is divided where a point is
   multiplied. */
static void normals_stay_perpendicular_to_the_surface_under_any_node(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 3, 1, 2, 3, -4, 0, 1, 0, 0, 0);
    pelt_bundle *bundle =
        make_bundle(&m, "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0,'scale':[2,3,-0.5],'rotation':[0.5,0.5,0.5,0.5],"
                        "'translation':[7,8,9]}],'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]");
    assert_positions(bundle, (const float[]){7, 8, 9, 7, 10, 9, 7, 8, 12}, 3, 1e-5);
    const double turned[3][3] = {{-6, 0.5, 2 / 3.0}, {-2, -2, 0}, {-1, 0, 0}}; /* the last is the triangle's own */
    for (int v = 0; v < 3; v++) {
        const double *n = turned[v], length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int i = 0; i < 3; i++) assert_near(bundle->mesh.normals[3 * v + i], n[i] / length, 1e-6);
    }
    pelt_bundle_free(bundle);
}

/* Two triangles of which the second has no colours, or is the only one that has (`first` 1). */
static void check_colors(const void *bytes, size_t size, int type, const char *shape, bool normalized, int first) {
    const float expected[9] = {1, 0, 0, 0.2f, 0.6f, 0, 1, 1, 1};
    char rest[500];
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 1, 1, 0, 1, 0, 1, 1);
    make_array(&m, bytes, size, type, shape, 3, normalized);
    snprintf(rest, sizeof rest,
             "'nodes':[{'mesh':0}],'scenes':[{'nodes':[0]}],'meshes':[{'primitives':[{'attributes':{'POSITION':0%s}},"
             "{'attributes':{'POSITION':1%s}}]}]",
             first ? "" : ",'COLOR_0':2", first ? ",'COLOR_0':2" : "");
    pelt_bundle *bundle = make_bundle(&m, rest);
    assert_non_null(bundle->mesh.colors);
    for (int i = 0; i < 9; i++) assert_near(bundle->mesh.colors[9 * first + i], expected[i], 1e-6);
    for (int i = 0; i < 9; i++) assert_true(bundle->mesh.colors[9 * !first + i] == 1);
    pelt_bundle_free(bundle);
}

static void colours_of_vertices_are_read_from_every_type(void **state) {
    (void)state;
    const uint8_t u8[12] = {255, 0, 0, 9, 51, 153, 0, 9, 255, 255, 255, 9};
    const uint16_t u16[12] = {65535, 0, 0, 9, 13107, 39321, 0, 9, 65535, 65535, 65535, 9};
    const uint16_t three[9] = {65535, 0, 0, 13107, 39321, 0, 65535, 65535, 65535};
    const float f32[12] = {1, 0, 0, 0.1f, 0.2f, 0.6f, 0, 0.1f, 1, 1, 1, 0.1f};
    const float opaque[9] = {1, 0, 0, 0.2f, 0.6f, 0, 1, 1, 1};
    for (int first = 0; first < 2; first++) {
        check_colors(u8, sizeof u8, UBYTE, "VEC4", true, first);
        check_colors(u8, sizeof u8, UBYTE, "VEC4", false, first); /* as written by careless exporters */
        check_colors(u16, sizeof u16, USHORT, "VEC4", true, first);
        check_colors(three, sizeof three, USHORT, "VEC3", true, first);
        check_colors(f32, sizeof f32, FLOAT, "VEC4", false, first);
        check_colors(opaque, sizeof opaque, FLOAT, "VEC3", false, first);
    }
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    pelt_bundle *bundle = make_bundle(&m, PLAIN);
    assert_null(bundle->mesh.colors);
    pelt_bundle_free(bundle);
}

static void a_mesh_that_is_flat_at_rest_still_moves_rightly(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 2, 0, 1);
    MAKE_FLOATS(&m, "VEC3", 2, 0, 0, 0, 3, 3, 3);
    pelt_bundle *bundle = make_bundle(
        &m,
        "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0,'scale':[0,0,0]}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],'animations':[{'samplers':[{'input':1,'output':2}"
        "],'channels':[{'sampler':0,'target':{'node':0,'path':'scale'}}]}]");
    double *moved = blend_frame(bundle, bundle->clips[0], 1);
    assert_near(moved[3], 3, 1e-6);
    assert_near(moved[7], 3, 1e-6);
    assert_non_null(find_note(bundle, "flat-node"));
    free(moved);
    pelt_bundle_free(bundle);
}

/* -- Weights ------------------------------------------------------------------------------------------------------- */

static void assert_influence(const pelt_bundle *bundle, uint32_t vertex, uint32_t slot, const char *joint,
                             double weight) {
    const pelt_influences *in = &bundle->mesh.influences;
    uint32_t i = in->first[vertex] + slot;
    assert_true(i < in->first[vertex + 1]);
    assert_string_equal(bundle->skeleton.names[in->joints[i]], joint);
    assert_near(in->weights[i], weight, 1e-7);
}

static const char WEIGHTED[] = "'scenes':[{'nodes':[0,3]}],'nodes':[{'name':'a','children':[1]},{'name':'b','children':"
                               "[2]},{'name':'c'},{'mesh':0,'skin':0}],'skins':[{'joints':[2,0,1]}],"
                               "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2,"
                               "'JOINTS_1':3,'WEIGHTS_1':4}}]}]";

static void weights_of_all_sets_are_merged_and_sum_to_one(void **state) {
    (void)state;
    maker m = {0};
    const uint16_t first[] = {0, 1, 2, 0, 0, 0, 0, 0, 1, 1, 9, 9}, second[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    make_array(&m, first, sizeof first, USHORT, "VEC4", 3, false);
    MAKE_FLOATS(&m, "VEC4", 3, .25f, .25f, 0, .125f, .5f, 0, 0, 0, 1, 1, 0, 0);
    make_array(&m, second, sizeof second, USHORT, "VEC4", 3, false);
    make_array(&m, (const uint8_t[]){0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0}, 12, UBYTE, "VEC4", 3, true);
    pelt_bundle *bundle = make_bundle(&m, WEIGHTED);
    assert_influence(bundle, 0, 0, "c", 0.6); /* (.25 + .125) / .625: listed twice */
    assert_influence(bundle, 0, 1, "a", 0.4);
    assert_influence(bundle, 1, 0, "c", 1 / 3.0); /* .5 / 1.5 */
    assert_influence(bundle, 1, 1, "b", 2 / 3.0);
    assert_influence(bundle, 2, 0, "a", 1);
    assert_int_equal(bundle->mesh.influences.first[3], 5);
    const pelt_finding *note = find_note(bundle, "weight-sum");
    assert_non_null(note);
    assert_int_equal(note->severity, PELT_WARNING);
    assert_non_null(strstr(note->text, "3 vertices"));
    assert_non_null(strstr(note->text, "worst: 2 at vertex 2"));
    pelt_bundle_free(bundle);
}

static void vertices_without_weight_follow_the_first_joint_they_name(void **state) {
    (void)state;
    maker m = {0};
    const uint8_t joints[] = {2, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, none[12] = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    make_array(&m, joints, sizeof joints, UBYTE, "VEC4", 3, false);
    make_array(&m, (const uint16_t[]){65535, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 24, USHORT, "VEC4", 3, true);
    make_array(&m, none, sizeof none, UBYTE, "VEC4", 3, false);
    MAKE_FLOATS(&m, "VEC4", 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    pelt_bundle *bundle = make_bundle(&m, WEIGHTED);
    assert_influence(bundle, 0, 0, "b", 1);
    assert_influence(bundle, 1, 0, "a", 1);
    assert_influence(bundle, 2, 0, "b", 1);
    const pelt_finding *note = find_note(bundle, "unweighted");
    assert_non_null(note);
    assert_non_null(strstr(note->text, "2 vertices"));
    assert_non_null(strstr(note->text, "vertex 1"));
    assert_null(find_note(bundle, "weight-sum"));
    pelt_bundle_free(bundle);
}

/* -- Skeleton ------------------------------------------------------------------------------------------------------ */

static void a_node_that_two_skins_bind_differently_becomes_two_joints(void **state) {
    (void)state;
    maker m = {0};
    const uint8_t joints[12] = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    make_array(&m, joints, sizeof joints, UBYTE, "VEC4", 3, false);
    MAKE_FLOATS(&m, "VEC4", 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0);
    MAKE_FLOATS(&m, "MAT4", 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1);
    /* Three meshes on one joint at (0, 2, 0): bound by the identity, by a shift of 5 in x, and by the identity again.
     */
    pelt_bundle *bundle = make_bundle(
        &m, "'scenes':[{'nodes':[0,1,2,3]}],'nodes':[{'name':'a','translation':[0,2,0]},{'mesh':0,'skin':0},"
            "{'mesh':0,'skin':1},{'mesh':0,'skin':2}],'skins':[{'joints':[0]},{'joints':[0],'inverseBindMatrices':3},"
            "{'joints':[0]}],'meshes':[{'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'WEIGHTS_0':2}}]}]");
    assert_int_equal(bundle->skeleton.joint_count, 2);
    assert_int_equal(bundle->skeleton.parents[1], 0);
    assert_int_equal(bundle->mesh.vertex_count, 9);
    double *moved = blend_frame(bundle, NULL, 0);
    const double x[] = {0, 5, 0};
    for (int v = 0; v < 3; v++) {
        assert_near(moved[9 * v], x[v], 1e-9);
        assert_near(moved[9 * v + 1], 2, 1e-9);
    }
    free(moved);
    pelt_bundle_free(bundle);
}

static void matrices_are_split_and_shear_is_told(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    /* A quarter turn about z, scaled by 2, at (5, 6, 7); then one with shear. */
    pelt_bundle *bundle = make_bundle(
        &m,
        "'scenes':[{'nodes':[1]}],'nodes':[{'mesh':0,'matrix':[0,2,0,0,-2,0,0,0,0,0,2,0,5,6,7,1]},{'children':[0]}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]");
    assert_positions(bundle, (const float[]){5, 6, 7, 5, 8, 7, 3, 6, 7}, 3, 1e-5);
    assert_int_equal(bundle->skeleton.parents[0], -1); /* parents first, though the file has them last */
    assert_int_equal(bundle->skeleton.parents[1], 0);
    assert_near(bundle->skeleton.rest[1].rotation[2], sqrt(0.5), 1e-6);
    assert_near(bundle->skeleton.rest[1].scale[0], 2, 1e-6);
    assert_null(find_note(bundle, "shear"));
    pelt_bundle_free(bundle);
    bundle =
        make_bundle(&m, "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0,'matrix':[1,0,0,0,0.5,1,0,0,0,0,1,0,0,0,0,1]}],"
                        "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]");
    assert_non_null(find_note(bundle, "shear"));
    pelt_bundle_free(bundle);
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

/* The spline has keys at 0 (value 0, slope 0) and 1 (value 1, slope 3), which make it t^3; another channel has keys at
   the quarters, where it is sampled. */
static void cubic_splines_follow_their_closed_form(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 2, 0, 1);
    MAKE_FLOATS(&m, "VEC3", 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 3, 0, 0);
    MAKE_FLOATS(&m, "VEC4", 2, 0, 0, 0, 1, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 5, 0, .25f, .5f, .75f, 1);
    MAKE_FLOATS(&m, "VEC3", 5, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5);
    char rest[2000];
    snprintf(
        rest, sizeof rest,
        "%s,'animations':[{'samplers':[{'input':1,'output':2,'interpolation':'CUBICSPLINE'},{'input':1,'output':3},"
        "{'input':4,'output':5,'interpolation':'STEP'}],'channels':["
        "{'sampler':0,'target':{'node':0,'path':'translation'}},"
        "{'sampler':1,'target':{'node':0,'path':'rotation'}},{'sampler':2,'target':{'node':0,'path':'scale'}}]}]",
        PLAIN);
    pelt_bundle *bundle = make_bundle(&m, rest);
    assert_int_equal(bundle->clips[0]->frame_count, 5);
    for (uint32_t frame = 0; frame < 5; frame++) {
        pelt_transform local;
        double t = frame / 4.0;
        pelt_clip_pose(bundle->clips[0], &bundle->skeleton, frame, &local);
        assert_near(local.translation[0], t * t * t, 1e-7);
        assert_near(local.rotation[2], sin(t * M_PI / 2), 1e-6); /* half a turn about z at constant speed */
        assert_near(local.rotation[3], cos(t * M_PI / 2), 1e-6);
        assert_near(local.scale[1], frame + 1, 0);
    }
    pelt_bundle_free(bundle);
}

static void integer_rotations_and_clip_names_are_mended(void **state) {
    (void)state;
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "SCALAR", 1, .5f);
    make_array(&m, (const int16_t[]){0, 0, 32767, 0}, 8, SHORT, "VEC4", 1, true);
    const char *clip = "'samplers':[{'input':1,'output':2,'interpolation':'STEP'}],'channels':[{'sampler':0,'target':"
                       "{'node':0,'path':'rotation'}},{'sampler':0,'target':{'node':0,'path':'weights'}}]}";
    char rest[2000];
    snprintf(rest, sizeof rest, "%s,'animations':[{'name':'walk',%s,{%s,{'name':'walk',%s]", PLAIN, clip, clip, clip);
    pelt_bundle *bundle = make_bundle(&m, rest);
    assert_int_equal(bundle->clip_count, 3);
    assert_string_equal(bundle->clips[0]->name, "walk");
    assert_string_equal(bundle->clips[1]->name, "clip1");
    assert_string_equal(bundle->clips[2]->name, "walk_2");
    assert_near(bundle->clips[0]->channels[0].values[2], 1, 0);
    assert_int_equal(bundle->clips[0]->channel_count, 1);
    pelt_bundle_free(bundle);
}

static void targets_keep_what_moves_and_their_names(void **state) {
    (void)state;
    maker m;
    const char *rest = make_character(&m);
    pelt_bundle *bundle = make_bundle(&m, rest);
    assert_int_equal(bundle->mesh.target_count, 1);
    const pelt_target *target = &bundle->mesh.targets[0];
    assert_string_equal(target->name, "smile");
    assert_int_equal(target->count, 1);
    assert_int_equal(target->vertices[0], 2);
    assert_near(target->deltas[2], 1, 0);
    pelt_bundle_free(bundle);
}

/* Under the same node as above: where n + d points is divided where a point is multiplied. */
static void targets_bring_normals_under_any_node(void **state) {
    (void)state;
    static const double normals[3][3] = {{0, 0, 1}, {0.6, 0.8, 0}, {0, 1, 0}};
    static const double changes[3][3] = {{0.5, 0, 0.1}, {-0.2, 0.3, 0.4}, {0, 0, 0}};
    static const char json[] =
        "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0,'scale':[2,3,-0.5],'rotation':[0.5,0.5,0.5,0.5]}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1},'targets':[{'POSITION':2%s}]}]}],"
        "'animations':[{'name':'one','samplers':[{'input':4,'output':5}],"
        "'channels':[{'sampler':0,'target':{'node':0,'path':'translation'}}]}]";
    for (int with = 0; with < 2; with++) {
        maker m = {0};
        char text[700];
        MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
        MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 1, 0.6f, 0.8f, 0, 0, 1, 0);
        MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 0, 0);
        MAKE_FLOATS(&m, "VEC3", 3, 0.5f, 0, 0.1f, -0.2f, 0.3f, 0.4f, 0, 0, 0);
        MAKE_FLOATS(&m, "SCALAR", 1, 0);
        MAKE_FLOATS(&m, "VEC3", 1, 0, 0, 0);
        snprintf(text, sizeof text, json, with ? ",'NORMAL':3" : "");
        pelt_bundle *bundle = make_bundle(&m, text);
        pelt_error error = {0};
        const pelt_clip *clip = pelt_bundle_clip(bundle, "one", PELT_NEED_POSITIONS, &error);
        if (!clip) fail_msg("%s", error.text);
        assert_near(clip->positions[4], 4, 1e-5); /* vertex 1 at x = 2, scaled, along y */
        assert_int_equal(clip->normals != NULL, with);
        for (int v = 0; v < 3 && with; v++) {
            double n[3], length = 0, divided[3];
            for (int i = 0; i < 3; i++) n[i] = normals[v][i] + changes[v][i];
            divided[0] = n[2] / -0.5, divided[1] = n[0] / 2, divided[2] = n[1] / 3;
            for (int i = 0; i < 3; i++) length += divided[i] * divided[i];
            for (int i = 0; i < 3; i++) assert_near(clip->normals[3 * v + i], divided[i] / sqrt(length), 1e-6);
        }
        pelt_bundle_free(bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_component_type_is_read),
        cmocka_unit_test(interleaved_arrays_are_read_with_their_stride),
        cmocka_unit_test(sparse_elements_replace_those_of_the_array_or_zeros),
        cmocka_unit_test(buffers_may_be_base64),
        cmocka_unit_test(buffers_may_be_files_in_the_same_folder_or_below),
        cmocka_unit_test(buffers_outside_the_folder_are_refused),
        cmocka_unit_test(unknown_chunks_are_skipped),
        cmocka_unit_test(strips_and_fans_become_triangles_of_one_sense),
        cmocka_unit_test(unskinned_meshes_follow_their_node),
        cmocka_unit_test(normals_stay_perpendicular_to_the_surface_under_any_node),
        cmocka_unit_test(colours_of_vertices_are_read_from_every_type),
        cmocka_unit_test(a_mesh_that_is_flat_at_rest_still_moves_rightly),
        cmocka_unit_test(weights_of_all_sets_are_merged_and_sum_to_one),
        cmocka_unit_test(vertices_without_weight_follow_the_first_joint_they_name),
        cmocka_unit_test(a_node_that_two_skins_bind_differently_becomes_two_joints),
        cmocka_unit_test(matrices_are_split_and_shear_is_told),
        cmocka_unit_test(cubic_splines_follow_their_closed_form),
        cmocka_unit_test(integer_rotations_and_clip_names_are_mended),
        cmocka_unit_test(targets_keep_what_moves_and_their_names),
        cmocka_unit_test(targets_bring_normals_under_any_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
