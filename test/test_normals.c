/* test_normals.c: true normals: closed forms of boxes, smooth seams and hard edges, bent normals in files, and normals
   given with the examples. */

#include "io/io.h"
#include "samples/samples.h"
#include "test/test.h"

static const double degree = 3.14159265358979323846 / 180;

static void cross(const double a[3], const double b[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void normalise(double v[3]) {
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++) v[i] /= length;
}

/* Degrees between a unit vector and any other. */
static double degrees_between(const float *a, const double b[3]) {
    double unit[3] = {b[0], b[1], b[2]}, gap = 0;
    normalise(unit);
    for (int i = 0; i < 3; i++) gap += pow(a[i] - unit[i], 2);
    return 2 * asin(fmin(1, sqrt(gap) / 2)) / degree;
}

static pelt_bundle *make(const char *name, const char *variant, uint32_t vertices, uint32_t frames) {
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_sample_make(
        &(pelt_sample_options){.name = name, .variant = variant, .vertices = vertices, .frames = frames}, &error);
    if (!bundle) fail_msg("%s", error.text);
    return bundle;
}

/* -- Boxes --------------------------------------------------------------------------------------------------------- */

/* A box of 24 vertices, four per side, two triangles per side: side 2 i + 1 faces along axis i, 2 i against it. With
   hard edges every vertex has the normal of its side; otherwise the diagonal of its corner. */
typedef struct box {
    float positions[72], normals[72];
    uint32_t triangles[36];
    pelt_mesh mesh;
} box;

static void make_box(box *b, const double size[3], bool hard) {
    for (uint32_t v = 0; v < 24; v++) {
        int axis = (int)(v / 8), sign = v / 4 % 2 ? 1 : -1, u = (axis + 1) % 3, w = (axis + 2) % 3;
        double at[3] = {0};
        at[axis] = sign, at[u] = v % 4 == 1 || v % 4 == 2 ? 1 : -1, at[w] = v % 4 > 1 ? 1 : -1;
        for (int i = 0; i < 3; i++) {
            b->positions[3 * v + (uint32_t)i] = (float)(at[i] * size[i]);
            b->normals[3 * v + (uint32_t)i] = (float)(hard ? (i == axis) * sign : at[i] / sqrt(3));
        }
        if (v % 4) continue;
        uint32_t *t = b->triangles + 6 * (v / 4), two[6] = {v, v + 1, v + 2, v, v + 2, v + 3};
        for (int k = 0; k < 6; k++) t[sign > 0 ? k : 5 - k] = two[k];
    }
    b->mesh = (pelt_mesh){.vertex_count = 24,
                          .triangle_count = 12,
                          .positions = b->positions,
                          .normals = b->normals,
                          .triangles = b->triangles,
                          .diagonal = 1};
}

static void map_point(const double m[9], const double p[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = m[3 * i] * p[0] + m[3 * i + 1] * p[1] + m[3 * i + 2] * p[2];
}

/* The normal of a vertex's corner: sides weighted by their angles between the mapped edges; with hard edges its own
   side. */
static void closed_form(const box *b, const double m[9], uint32_t v, bool hard, double out[3]) {
    double edges[3][3], at[3];
    for (int i = 0; i < 3; i++) at[i] = b->positions[3 * v + (uint32_t)i];
    for (int i = 0; i < 3; i++) {
        double edge[3] = {0};
        edge[i] = -at[i];
        map_point(m, edge, edges[i]);
        out[i] = 0;
    }
    for (int axis = 0; axis < 3; axis++) {
        double *u = edges[(axis + 1) % 3], *w = edges[(axis + 2) % 3], n[3];
        cross(u, w, n), normalise(n);
        double outward = dot(n, edges[axis]) > 0 ? -1 : 1; /* away from the edge that leads into the box */
        double angle = acos(dot(u, w) / sqrt(dot(u, u) * dot(w, w)));
        for (int i = 0; i < 3 && (!hard || axis == (int)(v / 8)); i++) out[i] += outward * angle * n[i];
    }
}

static void normals_of_a_box_follow_the_closed_form(void **state) {
    (void)state;
    static const double size[3] = {1, 3, 0.4}, plain[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const double sheared[9] = {0.8, -0.5, 0.3, 0.6, 0.9, -0.2, -0.1, 0.4, 1.3};
    for (int hard = 0; hard < 2; hard++)
        for (int shape = 0; shape < 2; shape++) {
            const double *m = shape ? sheared : plain;
            box b;
            float moved[72], normals[72];
            make_box(&b, size, hard);
            for (uint32_t v = 0; v < 24; v++) {
                double out[3];
                map_point(m, (double[3]){b.positions[3 * v], b.positions[3 * v + 1], b.positions[3 * v + 2]}, out);
                for (uint32_t i = 0; i < 3; i++) moved[3 * v + i] = (float)out[i];
            }
            pelt_arena *arena = pelt_arena_new(0);
            const pelt_smoothing *s = pelt_smoothing_of(arena, &b.mesh, (pelt_examples){0});
            pelt_surface_normals(s, moved, normals);
            for (uint32_t v = 0; v < 24; v++) {
                double wanted[3];
                closed_form(&b, m, v, hard, wanted);
                assert_true(degrees_between(normals + 3 * v, wanted) < 1e-3);
            }
            pelt_arena_free(arena);
        }
}

/* What a file without normals gets: a seam is smooth, the two sides of a sheet are separate, and so are the sides of a
   box, which face 90 degrees apart. */
static void normals_that_a_file_lacks_are_smooth_across_seams(void **state) {
    (void)state;
    static const double size[3] = {1, 1, 1};
    box b;
    make_box(&b, size, true);
    float wanted[72];
    memcpy(wanted, b.normals, sizeof wanted);
    memset(b.normals, 0, sizeof b.normals);
    assert_true(pelt_smooth_normals(&b.mesh));
    for (int i = 0; i < 72; i++) assert_near(b.normals[i], wanted[i], 1e-6);

    pelt_bundle *whole = make("elbow", NULL, 300, 3), *seam = make("elbow", "seam", 300, 3);
    assert_true(seam->mesh.vertex_count > 310);
    memset(seam->mesh.normals, 0, 3 * seam->mesh.vertex_count * sizeof(float));
    assert_true(pelt_smooth_normals(&seam->mesh));
    for (uint32_t v = 0; v < seam->mesh.vertex_count; v++) {
        uint32_t w = 0;
        while (memcmp(whole->mesh.positions + 3 * w, seam->mesh.positions + 3 * v, 12)) w++;
        for (uint32_t i = 0; i < 3; i++)
            assert_near(seam->mesh.normals[3 * v + i], whole->mesh.normals[3 * w + i], 1e-6);
    }
    pelt_bundle_free(whole), pelt_bundle_free(seam);

    float sheet[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, sides[18];
    uint32_t triangles[6] = {0, 1, 2, 3, 5, 4};
    pelt_mesh two = {
        .vertex_count = 6, .triangle_count = 2, .positions = sheet, .normals = sides, .triangles = triangles};
    assert_true(pelt_smooth_normals(&two));
    for (int v = 0; v < 6; v++) assert_near(sides[3 * v + 2], v < 3 ? 1 : -1, 0);
}

/* -- Seams --------------------------------------------------------------------------------------------------------- */

/* However its vertices are split, the true normals of a shape are those of the unsplit shape: a brute-force sum over
   all triangles at a position. Twins have the same bits. */
static void a_seam_does_not_change_true_normals(void **state) {
    (void)state;
    static const char *const variants[] = {"seam", "mirror", "split"};
    pelt_bundle *whole = make("elbow", NULL, 300, 6);
    const pelt_clip *clip = whole->clips[0];
    uint32_t n = whole->mesh.vertex_count;
    float *plain = malloc(3 * n * sizeof *plain);
    for (int k = 0; k < 3; k++) {
        pelt_bundle *split = make("elbow", variants[k], 300, 6);
        uint32_t m = split->mesh.vertex_count, twins = 0;
        float *normals = malloc(3 * m * sizeof *normals);
        uint32_t *origin = malloc(m * sizeof *origin);
        pelt_examples examples = pelt_bundle_examples(split, &split->clips[0], 1);
        const pelt_smoothing *s = pelt_smoothing_of(split->arena, &split->mesh, examples);
        for (uint32_t v = 0; v < m; v++) {
            for (origin[v] = 0; memcmp(whole->mesh.positions + 3 * origin[v], split->mesh.positions + 3 * v, 12);)
                origin[v]++;
            for (uint32_t w = 0; w < v; w++) twins += origin[w] == origin[v];
        }
        assert_true(twins > 20);
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            pelt_mesh_normals(clip->positions + 3 * n * f, n, whole->mesh.triangles, whole->mesh.triangle_count, plain);
            assert_true(pelt_true_normals(s, &examples.list[f], normals) == normals);
            float *first = calloc(3 * n, sizeof *first);
            for (uint32_t v = 0; v < m; v++) {
                const float *wanted = plain + 3 * origin[v];
                assert_true(degrees_between(normals + 3 * v, (double[3]){wanted[0], wanted[1], wanted[2]}) < 0.01);
                float *twin = first + 3 * origin[v];
                if (twin[0] != 0 || twin[1] != 0 || twin[2] != 0) assert_memory_equal(twin, normals + 3 * v, 12);
                memcpy(twin, normals + 3 * v, 12);
            }
            free(first);
        }
        free(normals), free(origin), pelt_bundle_free(split);
    }
    free(plain), pelt_bundle_free(whole);
}

/* Vertices that separate in the examples are not twins: each side has the normal of its own triangle. */
static void what_moves_apart_does_not_shade_as_one(void **state) {
    (void)state;
    float rest[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -1, 0, 0}, up[18];
    for (int i = 0; i < 18; i++) up[i] = i % 3 == 2;
    uint32_t triangles[6] = {0, 1, 2, 3, 4, 5};
    pelt_mesh mesh = {.vertex_count = 6,
                      .triangle_count = 2,
                      .positions = rest,
                      .normals = up,
                      .triangles = triangles,
                      .diagonal = 2};
    for (int apart = 0; apart < 2; apart++) {
        float moved[18], normals[18];
        memcpy(moved, rest, sizeof moved);
        moved[17] = 1; /* the left triangle is lifted by 45 degrees */
        if (apart) moved[11] = moved[14] = 0.5f, moved[17] = 1.5f;
        pelt_clip clip = {.name = "lift", .frame_count = 1, .positions = moved};
        pelt_example example = {&clip, 0};
        pelt_arena *arena = pelt_arena_new(0);
        const pelt_smoothing *s = pelt_smoothing_of(arena, &mesh, (pelt_examples){1, &example});
        pelt_true_normals(s, &example, normals);
        double half = apart ? 0 : 22.5 * degree; /* equal angles: half way between both */
        assert_true(degrees_between(normals, (double[3]){sin(half), 0, cos(half)}) < 1e-3);
        assert_true(degrees_between(normals + 3, (double[3]){0, 0, 1}) < 1e-3);
        pelt_arena_free(arena);
    }
}

/* -- Normals of the file ------------------------------------------------------------------------------------------- */

/* Sums of cross products, whose lengths are areas. */
static void area_normals(const pelt_mesh *mesh, const float *positions, double *out) {
    memset(out, 0, 3 * mesh->vertex_count * sizeof *out);
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        double u[3], v[3], n[3];
        for (uint32_t i = 0; i < 3; i++) {
            u[i] = (double)positions[3 * corner[1] + i] - positions[3 * corner[0] + i];
            v[i] = (double)positions[3 * corner[2] + i] - positions[3 * corner[0] + i];
        }
        cross(u, v, n);
        for (uint32_t k = 0; k < 9; k++) out[3 * corner[k / 3] + k % 3] += n[k % 3];
    }
}

static void normals_that_a_file_weights_by_area_stay_so(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", NULL, 300, 4);
    pelt_mesh *mesh = &bundle->mesh;
    const float *bent = bundle->clips[0]->positions + 9 * mesh->vertex_count;
    double *wanted = malloc(3 * mesh->vertex_count * sizeof *wanted), gap = 0;
    float *normals = malloc(3 * mesh->vertex_count * sizeof *normals);
    area_normals(mesh, mesh->positions, wanted);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        gap = fmax(gap, degrees_between(mesh->normals + 3 * v, wanted + 3 * v));
        normalise(wanted + 3 * v);
        for (uint32_t i = 3 * v; i < 3 * v + 3; i++) mesh->normals[i] = (float)wanted[i];
    }
    assert_true(gap > 3); /* the weights matter */
    pelt_surface_normals(pelt_smoothing_of(bundle->arena, mesh, (pelt_examples){0}), bent, normals);
    area_normals(mesh, bent, wanted);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        assert_true(degrees_between(normals + 3 * v, wanted + 3 * v) < 0.01);
    free(wanted), free(normals), pelt_bundle_free(bundle);
}

/* At rest, true normals are the file's, however they lean; a rotating body takes them along; and they lean equally from
   any other shape. */
static void normals_that_a_file_bends_stay_bent(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", "seam", 300, 4);
    pelt_mesh *mesh = &bundle->mesh;
    uint32_t n = mesh->vertex_count;
    size_t size = 3 * n * sizeof(float);
    float *surface = malloc(size), *normals = malloc(size), *moved = malloc(size), *straight = malloc(size);
    memcpy(surface, mesh->normals, size);
    const pelt_smoothing *plain = pelt_smoothing_of(bundle->arena, mesh, (pelt_examples){0});
    pelt_surface_normals(plain, bundle->clips[0]->positions + 9 * n, straight);
    pelt_surface_normals(plain, mesh->positions, surface);
    for (uint32_t v = 0; v < n; v++) { /* as a function of position: twins stay equal */
        const float *p = mesh->positions + 3 * v;
        double bent[3];
        for (uint32_t i = 0; i < 3; i++) bent[i] = surface[3 * v + i] + 0.3 * sin(5 * p[(i + 1) % 3] + i);
        normalise(bent);
        for (uint32_t i = 0; i < 3; i++) mesh->normals[3 * v + i] = (float)bent[i];
    }
    const pelt_smoothing *s = pelt_smoothing_of(bundle->arena, mesh, (pelt_examples){0});
    pelt_surface_normals(s, mesh->positions, normals);
    for (uint32_t i = 0; i < 3 * n; i++) assert_near(normals[i], mesh->normals[i], 1e-6);
    double c = cos(1.1), t = sin(1.1);
    for (uint32_t v = 0; v < n; v++) {
        const float *p = mesh->positions + 3 * v;
        moved[3 * v] = (float)(c * p[0] - t * p[2] + 5), moved[3 * v + 1] = p[1];
        moved[3 * v + 2] = (float)(t * p[0] + c * p[2]);
    }
    pelt_surface_normals(s, moved, normals);
    for (uint32_t v = 0; v < n; v++) {
        const float *m = mesh->normals + 3 * v;
        assert_true(degrees_between(normals + 3 * v, (double[3]){c * m[0] - t * m[2], m[1], t * m[0] + c * m[2]}) <
                    0.01);
    }
    pelt_surface_normals(s, bundle->clips[0]->positions + 9 * n, normals);
    for (uint32_t v = 0; v < n; v++) {
        double lean = 0, rest = 0;
        for (uint32_t i = 3 * v; i < 3 * v + 3; i++)
            lean += normals[i] * straight[i], rest += mesh->normals[i] * surface[i];
        assert_near(lean, rest, 1e-5);
    }
    free(surface), free(normals), free(moved), free(straight), pelt_bundle_free(bundle);
}

/* -- Normals of the examples --------------------------------------------------------------------------------------- */

static const pelt_clip *add_clip(pelt_bundle *bundle, const char *name, const float *normals, pelt_error *error) {
    const pelt_clip *train = bundle->clips[0];
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_transform *poses = malloc(train->frame_count * joints * sizeof *poses);
    for (uint32_t f = 0; f < train->frame_count; f++) pelt_clip_pose(train, &bundle->skeleton, f, poses + f * joints);
    pelt_clip_input input = {.name = name,
                             .frame_count = train->frame_count,
                             .poses = poses,
                             .positions = train->positions,
                             .normals = normals};
    const pelt_clip *clip = pelt_bundle_add_clip(bundle, &input, error);
    free(poses);
    return clip;
}

/* Examples with given normals, here pointing sideways, teach them; missing ones are not measured. */
static void normals_of_examples_are_fitted_and_measured(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", NULL, 200, 5);
    uint32_t n = bundle->mesh.vertex_count;
    float *normals = calloc(5 * 3 * n, sizeof *normals);
    for (uint32_t i = 0; i < 5 * n; i++) /* from up to sideways, frame by frame, of length 3 */
        normals[3 * i + 1] = (float)(3 * cos(0.2 * (i / n))), normals[3 * i + 2] = (float)(3 * sin(0.2 * (i / n)));
    for (uint32_t i = 0; i < n; i++)
        bundle->mesh.normals[3 * i] = 0, bundle->mesh.normals[3 * i + 1] = 1, bundle->mesh.normals[3 * i + 2] = 0;
    memset(normals + 9 * n + 3 * 7, 0, 12); /* one that is not known */
    pelt_error error = {0};
    const pelt_clip *own = add_clip(bundle, "own", normals, &error);
    assert_non_null(own);
    assert_near(own->normals[3 * n + 1], cos(0.2), 1e-6);
    assert_near(own->normals[9 * n + 3 * 7 + 1], 0, 0);
    pelt_examples examples = pelt_bundle_examples(bundle, &own, 1);
    pelt_fit_options options = {.method = PELT_METHOD_PSD, .threads = 1};
    pelt_bytes *bytes = pelt_fit(bundle, examples, &options, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    pelt_skin skin;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *m = pelt_measure_examples(&skin, bundle, examples, 1, &error);
    assert_true(m->normal_max_degrees < 0.2);
    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    float *out = malloc(6 * n * sizeof *out);
    pelt_player_frame(player, own, 4, out, out + 3 * n);
    for (uint32_t v = 0; v < n; v++)
        if (v != 7) assert_true(degrees_between(out + 3 * n + 3 * v, (double[3]){0, cos(0.8), sin(0.8)}) < 0.2);
    pelt_player_free(player), pelt_measure_free(m), pelt_bytes_free(bytes);
    /* The same positions without given normals have different ones. */
    pelt_examples plain = pelt_bundle_examples(bundle, &bundle->clips[0], 1);
    const pelt_smoothing *s = pelt_smoothing_of(bundle->arena, &bundle->mesh, plain);
    assert_true(pelt_true_normals(s, &examples.list[2], out) == own->normals + 6 * n);
    assert_true(pelt_true_normals(s, &plain.list[2], out) == out);
    free(out);

    normals[12 * n + 5] = NAN;
    assert_null(add_clip(bundle, "bad", normals, &error));
    assert_non_null(strstr(error.text, "the normal of vertex 1 in frame 4 is not finite"));
    pelt_transform pose[2];
    memcpy(pose, bundle->skeleton.rest, sizeof pose);
    assert_null(pelt_bundle_add_clip(
        bundle, &(pelt_clip_input){.name = "b", .frame_count = 1, .poses = pose, .normals = normals}, &error));
    assert_non_null(strstr(error.text, "true normals but no true positions"));
    free(normals), pelt_bundle_free(bundle);
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static pelt_result read_folder(const char *folder, pelt_arena *arena, pelt_cache *cache, pelt_error *error) {
    *error = (pelt_error){0};
    return pelt_cache_read(arena, folder, cache, error);
}

/* Corners reference normals, which may come later and be counted from the end; a vertex has the mean of its
   corners'. */
static void normals_of_obj_files_are_read(void **state) {
    (void)state;
    static const char points[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
    char folder[200], first[240], second[240], text[400];
    snprintf(folder, sizeof folder, "%s/objs", test_folder());
    snprintf(first, sizeof first, "%s/a.obj", folder), snprintf(second, sizeof second, "%s/b.obj", folder);
    pelt_error error;
    assert_int_equal(pelt_folder_make(folder, &error), PELT_OK);
    snprintf(text, sizeof text, "%svt 0 0\nf 1/1/1 2//2 3/1/3\nvn 0 0 2\nvn 0 1 0\nvn 3 0 4\nf 1//-2 2//2 3//3\n",
             points);
    write_text(first, text);
    snprintf(text, sizeof text, "%svn 1 0 0\nvn 0 -1 0\nf 1//1 2//-1 3//1\n", points);
    write_text(second, text);
    static const double wanted[2][4][3] = {
        {{0, 0.70710678, 0.70710678}, {0, 1, 0}, {0.6, 0, 0.8}, {0, 0, 0}}, /* no corner gives the fourth one */
        {{1, 0, 0}, {0, -1, 0}, {1, 0, 0}, {0, 0, 0}},
    };
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache cache;
    if (read_folder(folder, arena, &cache, &error)) fail_msg("%s", error.text);
    assert_int_equal(cache.point_count, 4);
    for (int i = 0; i < 24; i++) assert_near(cache.normals[i], wanted[i / 12][i / 3 % 4][i % 3], 1e-6);
    assert_int_equal(pelt_cache_read(arena, second, &cache, &error), PELT_OK); /* one frame alone */
    for (int i = 0; i < 12; i++) assert_near(cache.normals[i], wanted[1][i / 3][i % 3], 1e-6);

    write_text(second, points); /* a frame without */
    assert_int_equal(read_folder(folder, arena, &cache, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "b.obj: has no normals, but a.obj has some"));
    write_text(first, points);
    assert_int_equal(read_folder(folder, arena, &cache, &error), PELT_OK);
    assert_null(cache.normals);
    static const char *const bad[] = {"vn 1 0 0\nf 1//1 2//2 3//1\n", "vn 1 0 0\nf 1//1 2//-2 3//1\n",
                                      "vn 1 0\nf 1//1 2//1 3//1\n"};
    static const char *const sentences[] = {"line 6: a face names normal 2, but there are 1",
                                            "line 6: a face names normal -2, but there are 1",
                                            "line 5: a normal needs three numbers"};
    for (int k = 0; k < 3; k++) {
        snprintf(text, sizeof text, "%s%s", points, bad[k]);
        write_text(first, text);
        assert_int_not_equal(read_folder(folder, arena, &cache, &error), PELT_OK);
        assert_non_null(strstr(error.text, sentences[k]));
    }
    pelt_arena_free(arena);
}

static void normals_of_morph_targets_are_read(void **state) {
    (void)state;
    pelt_bundle *bundle = make("elbow", "edges", 150, 3);
    pelt_mesh mesh = bundle->mesh;
    uint32_t n = mesh.vertex_count, frames = bundle->clips[0]->frame_count;
    pelt_target *shapes = calloc(frames, sizeof *shapes), *turns = calloc(frames, sizeof *turns);
    uint32_t *all = malloc(n * sizeof *all);
    float *deltas = calloc(6 * (size_t)n * frames, sizeof *deltas),
          *wanted = malloc(3 * (size_t)n * frames * sizeof *wanted);
    for (uint32_t v = 0; v < n; v++) all[v] = v;
    for (uint32_t f = 0; f < frames; f++) {
        float *d = deltas + 6 * n * f, *t = d + 3 * n;
        for (uint32_t i = 0; i < 3 * n; i++) {
            d[i] = bundle->clips[0]->positions[3 * n * f + i] - mesh.positions[i];
            t[i] = (float)(0.4 * f * sin(i)); /* not the normals of the shape: they must be taken as they are */
        }
        for (uint32_t v = 0; v < n; v++) {
            double unit[3];
            for (uint32_t i = 0; i < 3; i++) unit[i] = (double)mesh.normals[3 * v + i] + t[3 * v + i];
            normalise(unit);
            for (uint32_t i = 0; i < 3; i++) wanted[3 * (n * f + v) + i] = (float)unit[i];
        }
        shapes[f] = (pelt_target){"shape", n, all, d}, turns[f] = (pelt_target){"shape", n, all, t};
    }
    mesh.targets = shapes, mesh.target_count = frames;
    for (int with = 0; with < 2; with++) {
        char path[200];
        pelt_error error = {0};
        snprintf(path, sizeof path, "%s/targets%d.glb", test_folder(), with);
        pelt_gltf_content content = {.mesh = &mesh,
                                     .skeleton = &bundle->skeleton,
                                     .clips = bundle->clips,
                                     .clip_count = 1,
                                     .target_normals = with ? turns : NULL,
                                     .name = "elbow"};
        if (pelt_gltf_write(path, &content, &error)) fail_msg("%s", error.text);
        pelt_bundle *read = pelt_bundle_read(path, &error);
        if (!read) fail_msg("%s", error.text);
        const pelt_clip *clip = pelt_bundle_clip(read, "train", PELT_NEED_POSITIONS, &error);
        if (!clip) fail_msg("%s", error.text);
        assert_int_equal(clip->normals != NULL, with);
        for (uint32_t i = 0; with && i < 3 * n * frames; i++) assert_near(clip->normals[i], wanted[i], 1e-6);
        pelt_bundle_free(read);
    }
    free(shapes), free(turns), free(all), free(deltas), free(wanted), pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_of_a_box_follow_the_closed_form),
        cmocka_unit_test(normals_that_a_file_lacks_are_smooth_across_seams),
        cmocka_unit_test(a_seam_does_not_change_true_normals),
        cmocka_unit_test(what_moves_apart_does_not_shade_as_one),
        cmocka_unit_test(normals_that_a_file_weights_by_area_stay_so),
        cmocka_unit_test(normals_that_a_file_bends_stay_bent),
        cmocka_unit_test(normals_of_examples_are_fitted_and_measured),
        cmocka_unit_test(normals_of_obj_files_are_read),
        cmocka_unit_test(normals_of_morph_targets_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
