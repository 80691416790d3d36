/* test_tangents.c: tangents by MikkTSpace against closed forms, as glTF files give them, in skin files, and the error
   of those of deformed characters. test/js/tangents.sh compares with MikkTSpace itself. */

#include "fit/fitting.h"
#include "model/model.h"
#include "test/gltf_maker.h"
#include "test/textured.h"

/* -- Closed forms -------------------------------------------------------------------------------------------------- */

enum { ROWS = 24, COLUMNS = 48, MOST = (ROWS + 1) * (COLUMNS + 1) };

typedef struct surface {
    pelt_arena *arena;
    pelt_mesh mesh;
} surface;

/* A surface at (s, t), both 0 to 1: its position, normal, texture coordinates and tangent. */
typedef void surface_point(double s, double t, double position[3], double normal[3], double uv[2], double tangent[4]);

static double expected[MOST][4];

/* A grid of vertices, none of them shared across its borders. */
static surface make_surface(surface_point *point) {
    surface s = {.arena = pelt_arena_new(0)};
    pelt_mesh *m = &s.mesh;
    m->vertex_count = MOST, m->triangle_count = 2 * ROWS * COLUMNS;
    m->positions = PELT_NEW(s.arena, 3 * MOST, float), m->normals = PELT_NEW(s.arena, 3 * MOST, float);
    m->uvs = PELT_NEW(s.arena, 2 * MOST, float), m->tangents = PELT_NEW(s.arena, 4 * MOST, float);
    m->triangles = PELT_NEW(s.arena, 6 * ROWS * COLUMNS, uint32_t);
    uint32_t *out = m->triangles;
    for (uint32_t v = 0; v < MOST; v++) {
        uint32_t row = v / (COLUMNS + 1), column = v % (COLUMNS + 1);
        double p[3], n[3], uv[2];
        point((double)column / COLUMNS, (double)row / ROWS, p, n, uv, expected[v]);
        for (int i = 0; i < 3; i++) m->positions[3 * v + i] = (float)p[i], m->normals[3 * v + i] = (float)n[i];
        for (int i = 0; i < 2; i++) m->uvs[2 * v + i] = (float)uv[i];
        if (row == ROWS || column == COLUMNS) continue;
        uint32_t quad[] = {v, v + 1, v + COLUMNS + 2, v, v + COLUMNS + 2, v + COLUMNS + 1};
        memcpy(out, quad, sizeof quad), out += 6;
    }
    return s;
}

/* Vertices whose tangent is more than `degrees` from the expected one, or has the wrong handedness. */
static int count_wrong(const pelt_mesh *mesh, double degrees) {
    int wrong = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const float *t = mesh->tangents + 4 * (size_t)v, *n = mesh->normals + 3 * (size_t)v;
        double gap = 0, length = 0, depth = 0;
        for (int i = 0; i < 3; i++) {
            gap += pow(t[i] - expected[v][i], 2);
            length += (double)t[i] * t[i], depth += (double)t[i] * n[i];
        }
        assert_near(length, 1, 1e-6);
        assert_near(depth, 0, 1e-6);
        wrong += !(sqrt(gap) <= 2 * sin(degrees * acos(-1) / 360)) || t[3] != (float)expected[v][3];
    }
    return wrong;
}

/* A wall along x and y with an upright image on it, rotated by 30 degrees: v points down. */
static void wall(double s, double t, double p[3], double n[3], double uv[2], double tangent[4]) {
    double c = cos(acos(-1) / 6), d = sin(acos(-1) / 6);
    p[0] = 3 * s, p[1] = 2 * t, p[2] = 1;
    n[0] = n[1] = 0, n[2] = 1;
    uv[0] = 5 * (c * p[0] + d * p[1]), uv[1] = -0.5 * (c * p[1] - d * p[0]);
    tangent[0] = c, tangent[1] = d, tangent[2] = 0, tangent[3] = 1;
}

/* The same with the image mirrored from s = 1/2 on; `unsplit` tells what is expected in the middle column. */
static void mirrored_wall(double s, double t, double p[3], double n[3], double uv[2], double tangent[4]) {
    wall(s, t, p, n, uv, tangent);
    bool mirrored = s >= 0.5;
    uv[0] = mirrored ? 3 - p[0] : p[0], uv[1] = -p[1];
    tangent[0] = mirrored ? -1 : 1, tangent[1] = 0, tangent[3] = mirrored ? -1 : 1;
}

static void cylinder(double s, double t, double p[3], double n[3], double uv[2], double tangent[4]) {
    double a = 2 * acos(-1) * s;
    n[0] = sin(a), n[1] = 0, n[2] = cos(a);
    p[0] = n[0], p[1] = 2 * t, p[2] = n[2];
    uv[0] = 2 * s, uv[1] = 1 - t;
    tangent[0] = cos(a), tangent[1] = 0, tangent[2] = -sin(a), tangent[3] = 1;
}

static void sphere(double s, double t, double p[3], double n[3], double uv[2], double tangent[4]) {
    double a = 2 * acos(-1) * s, b = acos(-1) * (0.05 + 0.9 * t);
    n[0] = sin(b) * sin(a), n[1] = -cos(b), n[2] = sin(b) * cos(a);
    for (int i = 0; i < 3; i++) p[i] = 4 * n[i];
    uv[0] = s, uv[1] = 1 - t;
    tangent[0] = cos(a), tangent[1] = 0, tangent[2] = -sin(a), tangent[3] = 1;
}

static void check_surface(surface_point *point, double degrees) {
    surface s = make_surface(point);
    assert_int_equal(pelt_mesh_tangents(s.arena, &s.mesh, s.mesh.tangents), 0);
    assert_int_equal(count_wrong(&s.mesh, degrees), 0);
    pelt_arena_free(s.arena);
}

static void a_wall_has_the_direction_of_its_texture(void **state) { (void)state, check_surface(wall, 1e-3); }
static void a_cylinder_has_tangents_around_it(void **state) { (void)state, check_surface(cylinder, 1e-3); }
/* Triangles at its borders have no neighbours that lean the other way: by half a column, 3.75 degrees. */
static void a_sphere_has_tangents_along_its_parallels(void **state) { (void)state, check_surface(sphere, 3.75); }

static void a_mirrored_texture_that_is_not_split_is_told_of(void **state) {
    (void)state;
    surface s = make_surface(mirrored_wall);
    assert_int_equal(pelt_mesh_tangents(s.arena, &s.mesh, s.mesh.tangents), ROWS + 1);
    /* All except the column between both halves are correct, and that column has one of its two values. */
    int wrong = count_wrong(&s.mesh, 1e-3);
    assert_in_range(wrong, 0, ROWS + 1);
    pelt_arena_free(s.arena);
}

/* Split into the vertices of two meshes, both halves are correct, including where they touch. */
static void a_mirrored_texture_that_is_split_is_right_on_both_sides(void **state) {
    (void)state;
    surface s = make_surface(mirrored_wall);
    pelt_mesh *m = &s.mesh;
    uint32_t n = m->vertex_count;
    float *positions = PELT_NEW(s.arena, 6 * (size_t)n, float), *normals = PELT_NEW(s.arena, 6 * (size_t)n, float);
    float *uvs = PELT_NEW(s.arena, 4 * (size_t)n, float), *tangents = PELT_NEW(s.arena, 8 * (size_t)n, float);
    for (size_t v = 0; v < 2 * (size_t)n; v++) {
        memcpy(positions + 3 * v, m->positions + 3 * (v % n), 12),
            memcpy(normals + 3 * v, m->normals + 3 * (v % n), 12);
        memcpy(uvs + 2 * v, m->uvs + 2 * (v % n), 8);
    }
    for (size_t i = 0; i < 3 * (size_t)m->triangle_count; i++)
        if (m->triangles[i / 3 * 3] % (COLUMNS + 1) >= COLUMNS / 2) m->triangles[i] += n;
    m->vertex_count = 2 * n, m->positions = positions, m->normals = normals, m->uvs = uvs;
    assert_int_equal(pelt_mesh_tangents(s.arena, m, tangents), 0);
    for (uint32_t row = 0; row <= ROWS; row++) {
        uint32_t v = row * (COLUMNS + 1) + COLUMNS / 2; /* u is 3/2 on both sides of it */
        assert_near(tangents[4 * v], 1, 1e-6);
        assert_true(tangents[4 * v + 3] == 1);
        assert_near(tangents[4 * (v + n)], -1, 1e-6);
        assert_true(tangents[4 * (v + n) + 3] == -1);
    }
    pelt_arena_free(s.arena);
}

/* A fan of unequal triangles around a vertex: the weights are angles, not areas, and not equal. */
static void tangents_are_weighted_by_angles(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    float positions[] = {0, 0, 0, 9, 0, 0, 0, 1, 0, -0.5f, -0.5f, 0},
          normals[12] = {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1};
    float uvs[] = {0, 0, 1, 0, 0.3f, -1, -1, 0.4f}, tangents[16];
    uint32_t triangles[] = {0, 1, 2, 0, 2, 3, 0, 3, 1};
    pelt_mesh mesh = {.vertex_count = 4,
                      .triangle_count = 3,
                      .positions = positions,
                      .normals = normals,
                      .uvs = uvs,
                      .triangles = triangles};
    pelt_mesh_tangents(arena, &mesh, tangents);
    double sum[2] = {0};
    for (int t = 0; t < 3; t++) { /* where u grows: the gradient's co-vector, by solving J T = (1, 0) */
        const uint32_t *c = triangles + 3 * t;
        double d[2][2], e[2][2];
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 2; i++)
                d[k][i] = positions[3 * c[k + 1] + i] - positions[3 * c[0] + i],
                e[k][i] = uvs[2 * c[k + 1] + i] - uvs[2 * c[0] + i];
        /* P = a + T u + B v: d_k = T e_k[0] + B e_k[1] */
        double det = e[0][0] * e[1][1] - e[1][0] * e[0][1], along[2];
        for (int i = 0; i < 2; i++) along[i] = (d[0][i] * e[1][1] - d[1][i] * e[0][1]) / det;
        double angle = fabs(remainder(atan2(d[1][1], d[1][0]) - atan2(d[0][1], d[0][0]), 2 * acos(-1)));
        for (int i = 0; i < 2; i++) sum[i] += angle * along[i] / hypot(along[0], along[1]);
    }
    for (int i = 0; i < 2; i++) assert_near(tangents[i], sum[i] / hypot(sum[0], sum[1]), 1e-6);
    pelt_arena_free(arena);
}

static void without_any_texture_tangents_are_across_the_normal(void **state) {
    (void)state;
    surface s = make_surface(sphere);
    memset(s.mesh.uvs, 0, 2 * MOST * sizeof(float));
    assert_int_equal(pelt_mesh_tangents(s.arena, &s.mesh, s.mesh.tangents), 0);
    count_wrong(&s.mesh, 180); /* unit length, and orthogonal to the normals */
    pelt_arena_free(s.arena);
}

/* A triangle whose corners share one texture coordinate takes the tangents of its neighbours. */
static void triangles_without_texture_follow_their_neighbours(void **state) {
    (void)state;
    surface s = make_surface(wall);
    uint32_t flat = 20 * COLUMNS / 2, *corners = s.mesh.triangles + 3 * flat;
    for (int k = 1; k < 3; k++) memcpy(s.mesh.uvs + 2 * corners[k], s.mesh.uvs + 2 * corners[0], 8);
    pelt_mesh_tangents(s.arena, &s.mesh, s.mesh.tangents);
    assert_in_range(count_wrong(&s.mesh, 89), 0, 0);
    pelt_arena_free(s.arena);
}

/* -- Files --------------------------------------------------------------------------------------------------------- */

#define TRIANGLE_NODES(node) "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0" node "}],"

static maker triangle_file(void) {
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    MAKE_FLOATS(&m, "VEC2", 3, 0, 1, 1, 1, 0, 0); /* an upright image */
    MAKE_FLOATS(&m, "VEC2", 3, 1, 0, 1, 1, 0, 0); /* turned by a quarter, and mirrored */
    MAKE_FLOATS(&m, "VEC4", 3, 0, 2, 0.001f, 1, 0, 1, 0, -1, 0.6f, 0.8f, 0, 0.5f); /* the file's own */
    return m;
}

static void check_tangent(const pelt_bundle *bundle, uint32_t v, double x, double y, double z, double w) {
    const float *t = bundle->mesh.tangents + 4 * (size_t)v;
    const double expected_of[4] = {x, y, z, w};
    for (int i = 0; i < 4; i++) assert_near(t[i], expected_of[i], i < 3 ? 1e-6 : 0);
}

static void tangents_of_a_file_are_those_of_its_textures_or_its_own(void **state) {
    (void)state;
    maker m = triangle_file();
    pelt_bundle *b =
        make_bundle(&m, TRIANGLE_NODES("") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,"
                                           "'TEXCOORD_0':2,'TEXCOORD_1':3}}]}]");
    for (uint32_t v = 0; v < 3; v++) check_tangent(b, v, 1, 0, 0, 1);
    assert_near(b->mesh.uvs[3], 1, 0);
    pelt_bundle_free(b);
    /* A normal map on the other set: u grows downwards now. */
    b = make_bundle(&m,
                    TRIANGLE_NODES("") "'materials':[{'normalTexture':{'index':0,'texCoord':1}}],"
                                       "'meshes':[{'primitives':[{'material':0,'attributes':{'POSITION':0,'NORMAL':1,"
                                       "'TEXCOORD_0':2,'TEXCOORD_1':3}}]}]");
    for (uint32_t v = 0; v < 3; v++) check_tangent(b, v, 0, -1, 0, -1);
    pelt_bundle_free(b);
    b = make_bundle(&m,
                    TRIANGLE_NODES("") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,'TEXCOORD_0':2,"
                                       "'TANGENT':4}}]}]");
    check_tangent(b, 0, 0, 1, 0, 1), check_tangent(b, 1, 0, 1, 0, -1), check_tangent(b, 2, 0.6, 0.8, 0, 1);
    pelt_bundle_free(b);
    b = make_bundle(&m, TRIANGLE_NODES("") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1}}]}]");
    assert_null(b->mesh.tangents), assert_null(b->mesh.uvs);
    pelt_bundle_free(b);
}

/* Two triangles sharing an edge; the second has the texture of the first, mirrored. */
static void torn_textures_are_noted_where_a_normal_map_would_show_them(void **state) {
    (void)state;
    for (int mapped = 0; mapped < 2; mapped++) {
        maker m = {0};
        char rest[500];
        MAKE_FLOATS(&m, "VEC3", 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
        MAKE_FLOATS(&m, "VEC3", 4, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1);
        MAKE_FLOATS(&m, "VEC2", 4, 0, 1, 1, 1, 0, 0, 0, 1);
        make_array(&m, (const uint8_t[]){0, 1, 2, 2, 1, 3}, 6, UBYTE, "SCALAR", 6, false);
        snprintf(rest, sizeof rest,
                 TRIANGLE_NODES("") "'materials':[{%s}],'meshes':[{'primitives':[{'material':0,'indices':3,"
                                    "'attributes':{'POSITION':0,'NORMAL':1,'TEXCOORD_0':2}}]}]",
                 mapped ? "'normalTexture':{'index':0}" : "");
        pelt_bundle *b = make_bundle(&m, rest);
        const pelt_finding *note = find_note(b, "torn-texture");
        assert_int_equal(note != NULL, mapped);
        if (note) assert_non_null(strstr(note->text, "at 2 vertices"));
        assert_near(b->mesh.tangents[3], 1, 0);
        assert_near(b->mesh.tangents[15], -1, 0);
        pelt_bundle_free(b);
    }
}

/* A node that mirrors x: the image is mirrored with it, wherever the tangents come from. */
static void mirroring_nodes_change_the_hand_of_tangents(void **state) {
    (void)state;
    maker m = triangle_file();
    pelt_bundle *b =
        make_bundle(&m, TRIANGLE_NODES(",'scale':[-2,1,1]") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,"
                                                            "'NORMAL':1,'TEXCOORD_0':2}}]}]");
    for (uint32_t v = 0; v < 3; v++) check_tangent(b, v, -1, 0, 0, -1);
    pelt_bundle_free(b);
    b = make_bundle(
        &m, TRIANGLE_NODES(",'scale':[-2,1,1]") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'NORMAL':1,"
                                                "'TANGENT':4}}]}]");
    check_tangent(b, 0, 0, 1, 0, -1), check_tangent(b, 1, 0, 1, 0, 1);
    double length = hypot(-1.2, 0.8);
    check_tangent(b, 2, -1.2 / length, 0.8 / length, 0, -1);
    pelt_bundle_free(b);
}

static void files_with_too_few_tangents_are_refused(void **state) {
    (void)state;
    static const char *const attributes[] = {"TEXCOORD_0", "TANGENT"};
    for (int k = 0; k < 2; k++) {
        maker m = triangle_file();
        char rest[400];
        pelt_error error = {0};
        if (k)
            MAKE_FLOATS(&m, "VEC4", 2, 1, 0, 0, 1, 1, 0, 0, 1);
        else
            MAKE_FLOATS(&m, "VEC2", 2, 0, 0, 1, 1);
        snprintf(rest, sizeof rest,
                 TRIANGLE_NODES("") "'meshes':[{'primitives':[{'attributes':{'POSITION':0,'%s':5}}]}]", attributes[k]);
        assert_null(read_bytes(make_glb(&m, rest), "odd.glb", &error));
        assert_non_null(strstr(error.text, attributes[k]));
        assert_non_null(strstr(error.text, "2 entries for 3 vertices"));
    }
}

/* -- Skins --------------------------------------------------------------------------------------------------------- */

static pelt_bytes *fit_skin(pelt_bundle *bundle, pelt_method method, pelt_skin *skin) {
    const pelt_clip *train = bundle->clips[0];
    pelt_error error = {0};
    assert_string_equal(train->name, "train");
    pelt_bytes *bytes =
        pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &(pelt_fit_options){.method = method}, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static void skins_keep_the_tangents_of_their_character(void **state) {
    (void)state;
    textured t = textured_sample("elbow", 500, 8);
    for (int method = 0; method < PELT_METHOD_COUNT; method++) {
        pelt_skin skin;
        pelt_bytes *bytes = fit_skin(t.bundle, (pelt_method)method, &skin);
        pelt_arena *arena = pelt_arena_new(0);
        pelt_model model;
        assert_non_null(skin.rest_tangents);
        assert_int_equal(pelt_model_unpack(arena, &skin, &model, NULL), PELT_OK);
        for (uint32_t v = 0; v < skin.vertex_count; v++) {
            const float *a = model.tangents + 4 * (size_t)v, *b = t.bundle->mesh.tangents + 4 * (size_t)v;
            const float *n = model.normals + 3 * (size_t)v;
            assert_near(a[0] * n[0] + a[1] * n[1] + a[2] * n[2], 0, 1e-5);
            assert_true(a[3] == b[3]);
            if (method != PELT_METHOD_JOINTS) assert_near(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], 1, 1e-6);
        }
        pelt_arena_free(arena), pelt_bytes_free(bytes);
    }
    textured_free(&t);
}

typedef struct angles {
    double tangents, normals;
    size_t count;
} angles;

static double square_angle(const float *a, const float *b) {
    double cosine = (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2], degrees = 180 / acos(-1);
    return pow(degrees * acos(fmin(fmax(cosine, -1), 1)), 2);
}

/* RMS degrees of tangents and normals over a clip, against those of the true mesh. */
static angles measure(const textured *t, pelt_skin *skin, const pelt_clip *clip) {
    void *scratch = aligned_alloc(64, pelt_scratch_size(skin));
    float *positions = aligned_alloc(64, pelt_output_size(skin)), *normals = aligned_alloc(64, pelt_output_size(skin));
    float *tangents = aligned_alloc(64, pelt_tangents_size(skin));
    pelt_transform *locals = malloc(skin->joint_count * sizeof *locals);
    angles sum = {0};
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_arena *arena = pelt_arena_new(0);
        pelt_mesh truth = textured_truth(arena, t, clip, f);
        pelt_clip_pose(clip, &t->bundle->skeleton, f, locals);
        pelt_pose(skin, locals, scratch);
        pelt_deform_to(skin, scratch, pelt_all_blocks(skin), &(pelt_output){{positions}, {normals}, {tangents}});
        for (size_t v = 0; v < skin->vertex_count; v++) {
            if (textured_pole(t, v)) continue;
            sum.count++;
            sum.tangents += square_angle(tangents + 4 * (size_t)skin->vertex_slots[v], truth.tangents + 4 * v);
            sum.normals += square_angle(normals + 3 * (size_t)skin->vertex_slots[v], truth.normals + 3 * v);
        }
        pelt_arena_free(arena);
    }
    free(scratch), free(positions), free(normals), free(tangents), free(locals);
    return (angles){sqrt(sum.tangents / (double)sum.count), sqrt(sum.normals / (double)sum.count), sum.count};
}

/* Prints the table of docs/accuracy.md. Correctives bring tangents close to the truth although they store none. */
static void tangents_of_deformed_characters_are_near_the_truth(void **state) {
    (void)state;
    test_only_at_full_speed();
    static const char *const samples[] = {"arm", "elbow"};
    for (int s = 0; s < 2; s++) {
        textured t = textured_sample(samples[s], 1500, 40);
        char row[200];
        int length = snprintf(row, sizeof row, "| `%s` |", samples[s]);
        for (int method = 0; method < PELT_METHOD_COUNT; method++) {
            pelt_skin skin;
            pelt_bytes *bytes = fit_skin(t.bundle, (pelt_method)method, &skin);
            angles a = measure(&t, &skin, t.bundle->clips[1]);
            length += snprintf(row + length, sizeof row - (size_t)length, " %.2f (%.2f) |", a.tangents, a.normals);
            if (pelt_has_corrective(&skin)) assert_true(a.tangents < 4);
            assert_true(a.tangents < 26);
            pelt_bytes_free(bytes);
        }
        print_message("%s\n", row);
        textured_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wall_has_the_direction_of_its_texture),
        cmocka_unit_test(a_cylinder_has_tangents_around_it),
        cmocka_unit_test(a_sphere_has_tangents_along_its_parallels),
        cmocka_unit_test(a_mirrored_texture_that_is_not_split_is_told_of),
        cmocka_unit_test(a_mirrored_texture_that_is_split_is_right_on_both_sides),
        cmocka_unit_test(tangents_are_weighted_by_angles),
        cmocka_unit_test(without_any_texture_tangents_are_across_the_normal),
        cmocka_unit_test(triangles_without_texture_follow_their_neighbours),
        cmocka_unit_test(tangents_of_a_file_are_those_of_its_textures_or_its_own),
        cmocka_unit_test(torn_textures_are_noted_where_a_normal_map_would_show_them),
        cmocka_unit_test(mirroring_nodes_change_the_hand_of_tangents),
        cmocka_unit_test(files_with_too_few_tangents_are_refused),
        cmocka_unit_test(skins_keep_the_tangents_of_their_character),
        cmocka_unit_test(tangents_of_deformed_characters_are_near_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
