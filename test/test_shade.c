/* test_shade.c: normals of the deformed surface. What pelt_deform and pelt_shade put out is compared with sums over
   triangles in double precision, from the definition: over all corners that lie at the vertex and have its normal in
   the file. Meshes have seams, hard edges, fans that touch in one vertex, sheets that overlap, vertices with hundreds
   of neighbours, and normals that lean. */

#include "samples/samples.h"
#include "test/character.h"

enum { JOINTS = 3 };

/* -- Meshes: corners with a position and a normal each, three to a triangle -------------------------------------------- */

typedef struct corners {
    uint32_t count;
    double (*at)[3];
} corners;

static void add_triangle(corners *c, const double *x, const double *y, const double *z) {
    const double *three[] = {x, y, z};
    c->at = realloc(c->at, (c->count + 3) * sizeof *c->at);
    for (int i = 0; i < 3; i++) memcpy(c->at[c->count++], three[i], sizeof *c->at);
}

static void point_of(double u, double v, double out[3]) {
    out[0] = 0.4 * cos(u) * (1 + 0.2 * sin(3 * v)), out[1] = v, out[2] = 0.4 * sin(u) * (1 + 0.1 * cos(5 * u));
}

/* A bumpy tube whose triangles are not alike. */
static void add_tube(corners *c, int around, int along) {
    const double turn = 2 * acos(-1) / around;
    for (int k = 0; k < around * along; k++) {
        double u = turn * (k % around), next = turn * ((k + 1) % around), v = 2.8 * (k / around) / along,
               up = 2.8 * (k / around + 1) / along, p[4][3];
        point_of(u, v, p[0]), point_of(next, v, p[1]), point_of(next, up, p[2]), point_of(u, up, p[3]);
        add_triangle(c, p[0], p[3], p[1]), add_triangle(c, p[1], p[3], p[2]);
    }
}

/* A cone with many sides: its tip has that many neighbours. */
static void add_cone(corners *c, int sides, double height, double end) {
    for (int k = 0; k < sides; k++) {
        double a = end * k / sides, b = end * (k + 1) / sides;
        double tip[3] = {0, 1.5, 0}, p[3] = {cos(a), 1.5 + height, sin(a)}, q[3] = {cos(b), 1.5 + height, sin(b)};
        add_triangle(c, tip, p, q);
    }
}

/* A sheet of three triangles at one edge, which no surface has. */
static void add_pages(corners *c) {
    const double a[3] = {0, 0.2, 0}, b[3] = {0.5, 0.3, 0}, p[3] = {0.2, 0.9, 0}, q[3] = {0.2, 0.6, 0.4},
                 r[3] = {0.1, 0.5, -0.5};
    add_triangle(c, a, b, p), add_triangle(c, a, b, q), add_triangle(c, a, b, r);
}

/* How the file shades: all smooth, by area or by angle; each face by itself; smooth, but leaning. */
typedef enum shading { BY_AREA, BY_ANGLE, FLAT, LEANING } shading;

static void cross_of(const double *a, const double *b, const double *c, double out[3]) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
}

static double length_of(const double *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static double angle_at(const double *a, const double *b, const double *c) {
    double n[3], dot = 0;
    cross_of(a, b, c, n);
    for (int i = 0; i < 3; i++) dot += (b[i] - a[i]) * (c[i] - a[i]);
    return atan2(length_of(n), dot);
}

/* Adds the normal of a corner of a triangle, weighted, to a sum. */
static void add_corner(const double *a, const double *b, const double *c, bool by_angle, double sum[3]) {
    double n[3];
    cross_of(a, b, c, n);
    double scale = length_of(n) > 0 ? (by_angle ? angle_at(a, b, c) / length_of(n) : 1) : 0;
    for (int i = 0; i < 3; i++) sum[i] += scale * n[i];
}

static bool same_place(const double *a, const double *b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

/* The mesh of some corners: every third one has a vertex of its own, so that there are seams; the others share those
   with the same position and normal. */
static pelt_bundle *make(const corners *c, shading how) {
    pelt_bundle *bundle = character_new(JOINTS, NULL);
    pelt_mesh *mesh = &bundle->mesh;
    character_bind(bundle);
    mesh->positions = PELT_NEW(bundle->arena, 3 * (size_t)c->count, float);
    mesh->normals = PELT_NEW(bundle->arena, 3 * (size_t)c->count, float);
    mesh->triangles = PELT_NEW(bundle->arena, c->count, uint32_t);
    mesh->triangle_count = c->count / 3;
    for (uint32_t k = 0; k < c->count; k++) {
        double n[3] = {0}, lean = how == LEANING ? 0.5 : 0;
        for (uint32_t i = 0; i < c->count; i++) {
            uint32_t t = i / 3 * 3;
            if (how == FLAT ? t == k / 3 * 3 : same_place(c->at[i], c->at[k]))
                add_corner(c->at[i], c->at[t + (i + 1) % 3], c->at[t + (i + 2) % 3], how == BY_ANGLE, n);
        }
        double length = length_of(n);
        float position[3], normal[3];
        for (int i = 0; i < 3; i++) position[i] = (float)c->at[k][i], n[i] = n[i] / length + (i == 1) * lean;
        length = length_of(n);
        for (int i = 0; i < 3; i++) normal[i] = (float)(n[i] / length);
        uint32_t v = 0;
        for (; v < mesh->vertex_count; v++)
            if (k % 3 && !memcmp(mesh->positions + 3 * (size_t)v, position, sizeof position) &&
                !memcmp(mesh->normals + 3 * (size_t)v, normal, sizeof normal))
                break;
        if (v == mesh->vertex_count) {
            memcpy(mesh->positions + 3 * (size_t)v, position, sizeof position);
            memcpy(mesh->normals + 3 * (size_t)v, normal, sizeof normal);
            mesh->vertex_count++;
        }
        mesh->triangles[k] = v;
    }
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, mesh->vertex_count);
    character_chain_weights(bundle);
    return bundle;
}

static pelt_bytes *surface_skin(pelt_bundle *bundle, pelt_skin *skin) {
    pelt_error error = {0};
    pelt_bytes *bytes =
        pelt_fit(bundle, (pelt_examples){0}, &(pelt_fit_options){.normals = PELT_NORMALS_SURFACE}, NULL, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    assert_true(pelt_needs_shading(skin));
    return bytes;
}

static const pelt_transform *some_pose(const pelt_skin *skin) {
    static pelt_transform locals[JOINTS];
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        locals[j] = character_turn(1, 0.5, -0.3, 25.0 * (1 + j));
        memcpy(locals[j].translation, skin->joints[j].rest.translation, sizeof locals[j].translation);
    }
    return locals;
}

/* -- The definition ---------------------------------------------------------------------------------------------------- */

/* Normals within a tenth of a degree are one: files round them. */
static bool same_normal(const float *a, const float *b) {
    double apart = 0;
    for (int i = 0; i < 3; i++) apart += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return sqrt(apart) < 0.1 * acos(-1) / 180;
}

/* The normal at a vertex of the mesh in another shape, positions [vertex][3]. At rest a leaning normal has some
   coordinates in the frame of normal and edge; it keeps them. */
static void define_normal(const pelt_mesh *mesh, uint32_t v, bool by_angle, const float *positions, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (size_t k = 0; k < 3 * (size_t)mesh->triangle_count; k++) {
        const uint32_t *corner = mesh->triangles + k / 3 * 3, w = corner[k % 3];
        double p[3][3];
        if (memcmp(mesh->positions + 3 * (size_t)w, mesh->positions + 3 * (size_t)v, 12) ||
            !same_normal(mesh->normals + 3 * (size_t)w, mesh->normals + 3 * (size_t)v))
            continue;
        for (size_t i = 0; i < 3; i++)
            for (size_t c = 0; c < 3; c++) p[i][c] = positions[3 * (size_t)corner[(k + i) % 3] + c];
        add_corner(p[0], p[1], p[2], by_angle, out);
    }
    double length = length_of(out);
    for (int i = 0; i < 3; i++) out[i] /= length;
}

static double degrees_between(const float *a, const double *b) {
    double apart = 0;
    for (int i = 0; i < 3; i++) apart += (a[i] - b[i]) * (a[i] - b[i]);
    return 2 * asin(fmin(sqrt(apart) / 2, 1)) * 180 / acos(-1);
}

typedef struct frame {
    float *positions, *normals, *tangents; /* in slot order */
    void *scratch;
} frame;

static frame frame_new(const pelt_skin *skin) {
    return (frame){aligned_alloc(64, pelt_output_size(skin)), aligned_alloc(64, pelt_output_size(skin)),
                   aligned_alloc(64, pelt_tangents_size(skin)), aligned_alloc(64, pelt_scratch_size(skin))};
}

static void frame_free(frame *f) { free(f->positions), free(f->normals), free(f->tangents), free(f->scratch); }

/* Compares all vertices with the definition, on every instruction set. */
static void check_normals(const corners *c, shading how, double most) {
    pelt_bundle *bundle = make(c, how);
    const pelt_mesh *mesh = &bundle->mesh;
    pelt_skin skin;
    pelt_bytes *bytes = surface_skin(bundle, &skin);
    frame f = frame_new(&skin);
    float *positions = malloc(3 * (size_t)mesh->vertex_count * sizeof *positions);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        skin.isa = (pelt_isa)isa;
        pelt_pose(&skin, some_pose(&skin), f.scratch);
        pelt_deform(&skin, f.scratch, pelt_all_blocks(&skin), f.positions, f.normals);
        for (size_t v = 0; v < mesh->vertex_count; v++)
            memcpy(positions + 3 * v, f.positions + 3 * (size_t)skin.vertex_slots[v], 12);
        for (uint32_t v = 0; v < mesh->vertex_count; v++) {
            double n[3], off;
            define_normal(mesh, v, how == BY_ANGLE, positions, n);
            off = degrees_between(f.normals + 3 * (size_t)skin.vertex_slots[v], n);
            if (!(off < most)) fail_msg("%s: vertex %u is %g degrees off", pelt_isa_name((pelt_isa)isa), v, off);
        }
    }
    free(positions), frame_free(&f), pelt_bytes_free(bytes), character_free(bundle);
}

static corners usual_corners(void) {
    corners c = {0};
    add_tube(&c, 13, 9);
    add_pages(&c);
    return c;
}

static void a_smooth_mesh_with_seams_by_area(void **state) {
    (void)state;
    corners c = usual_corners();
    check_normals(&c, BY_AREA, 0.02);
    free(c.at);
}

static void a_smooth_mesh_with_seams_by_angle(void **state) {
    (void)state;
    corners c = usual_corners();
    check_normals(&c, BY_ANGLE, 0.02);
    free(c.at);
}

static void every_face_with_an_edge_of_its_own(void **state) {
    (void)state;
    corners c = usual_corners();
    check_normals(&c, FLAT, 0.02);
    free(c.at);
}

/* One closed, one open fan that touch in their tips, and many more neighbours than vertices in a block. */
static void fans_that_touch_and_vertices_with_many_neighbours(void **state) {
    (void)state;
    for (int sides = 5; sides < 700; sides *= 5) {
        corners c = {0};
        add_cone(&c, sides, 0.7, 2 * acos(-1)), add_cone(&c, 7, -0.8, 4), add_tube(&c, 5, 3);
        check_normals(&c, BY_AREA, 0.02);
        check_normals(&c, BY_ANGLE, 0.05);
        free(c.at);
    }
}

/* At rest leaning normals are the file's own; a rigid turn turns them. */
static void normals_that_lean_keep_leaning(void **state) {
    (void)state;
    corners c = usual_corners();
    pelt_bundle *bundle = make(&c, LEANING);
    pelt_skin skin;
    pelt_bytes *bytes = surface_skin(bundle, &skin);
    frame f = frame_new(&skin);
    pelt_transform locals[JOINTS];
    for (uint32_t j = 0; j < JOINTS; j++) locals[j] = skin.joints[j].rest;
    for (int turned = 0; turned < 2; turned++) {
        pelt_transform turn = character_turn(0, 0, 1, turned ? 90 : 0); /* x to y, y to -x */
        memcpy(locals[0].rotation, turn.rotation, sizeof turn.rotation);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            skin.isa = (pelt_isa)isa;
            pelt_pose(&skin, locals, f.scratch);
            pelt_deform(&skin, f.scratch, pelt_all_blocks(&skin), f.positions, f.normals);
            for (size_t v = 0; v < skin.vertex_count; v++) {
                const float *n = bundle->mesh.normals + 3 * v;
                double expected[3] = {turned ? -n[1] : n[0], turned ? n[0] : n[1], n[2]};
                assert_true(degrees_between(f.normals + 3 * (size_t)skin.vertex_slots[v], expected) < 0.1);
            }
        }
    }
    frame_free(&f), pelt_bytes_free(bytes), character_free(bundle), free(c.at);
}

/* -- Ranges, layouts, twins -------------------------------------------------------------------------------------------- */

static void check_same_bits(const pelt_skin *skin, void *scratch, const frame *whole, const uint32_t *cuts,
                            uint32_t count) {
    frame f = frame_new(skin);
    pelt_output out = {{f.positions}, {f.normals}, {f.tangents}};
    memset(f.normals, 0x5a, pelt_output_size(skin));
    for (uint32_t i = 0; i + 1 < count; i++)
        pelt_deform_to(skin, scratch, (pelt_range){cuts[i], cuts[i + 1] - cuts[i]}, &out);
    for (uint32_t i = count - 1; i--;) pelt_shade(skin, scratch, (pelt_range){cuts[i], cuts[i + 1] - cuts[i]}, &out);
    assert_memory_equal(f.positions, whole->positions, pelt_output_size(skin));
    assert_memory_equal(f.normals, whole->normals, pelt_output_size(skin));
    assert_memory_equal(f.tangents, whole->tangents, pelt_tangents_size(skin));
    frame_free(&f);
}

/* File order, with a stride; then half floats. */
static void check_layouts(const pelt_skin *skin, void *scratch, const frame *whole) {
    size_t slots = (size_t)skin->block_count * 16;
    uint32_t *vertices = malloc(slots * sizeof *vertices);
    float *buffer = calloc(skin->vertex_count, 48);
    uint16_t *halves = calloc(slots, 16), *half_normals = halves + 4 * slots;
    pelt_slot_vertices(skin, vertices);
    pelt_output out = {{buffer, 48}, {buffer + 3, 48}, {buffer + 6, 48}, vertices};
    pelt_deform_to(skin, scratch, pelt_all_blocks(skin), &out);
    for (size_t v = 0; v < skin->vertex_count; v++) {
        size_t slot = skin->vertex_slots[v];
        assert_memory_equal(buffer + 12 * v, whole->positions + 3 * slot, 12);
        assert_memory_equal(buffer + 12 * v + 3, whole->normals + 3 * slot, 12);
        assert_memory_equal(buffer + 12 * v + 6, whole->tangents + 4 * slot, 16);
    }
    pelt_deform_to(skin, scratch, pelt_all_blocks(skin), &(pelt_output){{halves, 0, 1}, {half_normals, 0, 1}});
    for (size_t s = 0; s < 3 * slots; s++) { /* as test_runtime compares them: by the bits of the nearest half */
        uint16_t bits = half_normals[s / 3 * 4 + s % 3];
        double sign = bits >> 15 ? -1 : 1, size = (bits & 0x7fff) >> 10
                                                      ? ldexp(1024 + (bits & 1023), ((bits & 0x7fff) >> 10) - 25)
                                                      : ldexp(bits & 1023, -24);
        assert_true(fabs(sign * size - (double)whole->normals[s]) < 5e-4);
    }
    free(vertices), free(buffer), free(halves);
}

static void any_split_and_layout_has_the_same_bits(void **state) {
    (void)state;
    corners c = usual_corners();
    uint64_t seed = 3;
    pelt_bundle *bundle = make(&c, BY_AREA);
    character_random_tangents(bundle, &seed);
    pelt_skin skin;
    pelt_bytes *bytes = surface_skin(bundle, &skin);
    frame f = frame_new(&skin);
    uint32_t n = skin.block_count, cuts[][4] = {{0, 1, 2, n}, {0, n / 2, n / 2, n}, {0, n - 1, n - 1, n}};
    assert_true(n > 8);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        skin.isa = (pelt_isa)isa;
        pelt_pose(&skin, some_pose(&skin), f.scratch);
        pelt_deform_to(&skin, f.scratch, pelt_all_blocks(&skin),
                       &(pelt_output){{f.positions}, {f.normals}, {f.tangents}});
        for (int i = 0; i < 3; i++) check_same_bits(&skin, f.scratch, &f, cuts[i], 4);
        check_layouts(&skin, f.scratch, &f);
        for (size_t v = 0; v < skin.vertex_count; v++) {
            const float *normal = f.normals + 3 * (size_t)skin.vertex_slots[v],
                        *tangent = f.tangents + 4 * (size_t)skin.vertex_slots[v];
            double dot = 0, length = 0;
            for (int i = 0; i < 3; i++)
                dot += (double)normal[i] * tangent[i], length += (double)tangent[i] * tangent[i];
            assert_true(fabs(dot) < 1e-5 && fabs(length - 1) < 1e-5);
            assert_true(tangent[3] == bundle->mesh.tangents[4 * v + 3]);
        }
    }
    frame_free(&f), pelt_bytes_free(bytes), character_free(bundle), free(c.at);
}

static void twins_have_one_normal_bit_for_bit(void **state) {
    (void)state;
    for (int how = BY_AREA; how <= LEANING; how++) {
        corners c = usual_corners();
        pelt_bundle *bundle = make(&c, (shading)how);
        const pelt_mesh *mesh = &bundle->mesh;
        pelt_skin skin;
        pelt_bytes *bytes = surface_skin(bundle, &skin);
        frame f = frame_new(&skin);
        uint32_t twins = 0;
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            skin.isa = (pelt_isa)isa;
            pelt_pose(&skin, some_pose(&skin), f.scratch);
            pelt_deform(&skin, f.scratch, pelt_all_blocks(&skin), f.positions, f.normals);
            for (uint32_t v = 0; v < mesh->vertex_count; v++)
                for (uint32_t w = 0; w < v; w++) {
                    if (memcmp(mesh->positions + 3 * (size_t)w, mesh->positions + 3 * (size_t)v, 12) ||
                        memcmp(mesh->normals + 3 * (size_t)w, mesh->normals + 3 * (size_t)v, 12))
                        continue;
                    const float *a = f.normals + 3 * (size_t)skin.vertex_slots[v],
                                *b = f.normals + 3 * (size_t)skin.vertex_slots[w];
                    twins++;
                    assert_true(a[0] == b[0] && a[1] == b[1] && a[2] == b[2]);
                }
        }
        assert_true(twins > 0 || how == FLAT);
        frame_free(&f), pelt_bytes_free(bytes), character_free(bundle), free(c.at);
    }
}

/* -- Which normals a fit takes, and what it refuses ---------------------------------------------------------------------- */

/* A vertex that is in no triangle takes the normal of the nearest one: here of a vertex at the same place. */
static void a_loose_vertex_takes_the_normal_beside_it(void **state) {
    (void)state;
    corners c = {0};
    add_tube(&c, 13, 9);
    pelt_bundle *bundle = make(&c, BY_AREA);
    pelt_mesh *mesh = &bundle->mesh;
    uint32_t loose = mesh->triangles[60], other = 0, kept = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) { /* all that it is in go */
        const uint32_t *corner = mesh->triangles + 3 * (size_t)t;
        if (corner[0] == loose || corner[1] == loose || corner[2] == loose) continue;
        memmove(mesh->triangles + 3 * (size_t)kept++, corner, 3 * sizeof *corner);
    }
    mesh->triangle_count = kept;
    while (other == loose || memcmp(mesh->positions + 3 * (size_t)other, mesh->positions + 3 * (size_t)loose, 12))
        other++;
    for (int i = 0; i < 3; i++) mesh->normals[3 * (size_t)loose + (size_t)i] *= -1; /* another group */
    pelt_skin skin;
    pelt_bytes *bytes = surface_skin(bundle, &skin);
    frame f = frame_new(&skin);
    pelt_pose(&skin, some_pose(&skin), f.scratch);
    pelt_deform(&skin, f.scratch, pelt_all_blocks(&skin), f.positions, f.normals);
    assert_memory_equal(f.normals + 3 * (size_t)skin.vertex_slots[loose],
                        f.normals + 3 * (size_t)skin.vertex_slots[other], 12);
    frame_free(&f), pelt_bytes_free(bytes);
    mesh->triangle_count = 0;
    pelt_error error = {0};
    assert_null(
        pelt_fit(bundle, (pelt_examples){0}, &(pelt_fit_options){.normals = PELT_NORMALS_SURFACE}, NULL, &error));
    assert_non_null(strstr(error.text, "no triangle of the mesh has an area"));
    character_free(bundle), free(c.at);
}

/* The error of normals in the clip "test", in degrees, of a skin that is fitted to the clip "train". */
static double error_of(pelt_bundle *bundle, pelt_normals normals, pelt_normals *chosen) {
    pelt_error error = {0};
    pelt_fit_report report;
    pelt_skin skin;
    pelt_fit_options options = {.method = PELT_METHOD_EIGEN, .normals = normals, .holdout = -1, .threads = 1};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &bundle->clips[0], 1), &options, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_measure *measure =
        pelt_measure_examples(&skin, bundle, pelt_bundle_examples(bundle, &bundle->clips[1], 1), 1, &error);
    assert_non_null(measure);
    double degrees = measure->normal_rms_degrees;
    *chosen = report.options.normals;
    assert_int_equal(pelt_needs_shading(&skin), *chosen == PELT_NORMALS_SURFACE);
    pelt_measure_free(measure), pelt_fit_report_free(&report), pelt_bytes_free(bytes);
    return degrees;
}

static pelt_normals check_choice(pelt_bundle *bundle) {
    pelt_normals chosen, unused;
    double surface = error_of(bundle, PELT_NORMALS_SURFACE, &unused),
           rows = error_of(bundle, PELT_NORMALS_ROWS, &unused), own = error_of(bundle, PELT_NORMALS_AUTO, &chosen);
    assert_true(own == (chosen == PELT_NORMALS_SURFACE ? surface : rows));
    assert_true(own == fmin(surface, rows));
    return chosen;
}

/* By examples that are held out, a fit takes what is better in motion that it has not seen. */
static void a_smooth_sample_keeps_its_rows(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 200, .frames = 40}, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_int_equal(check_choice(bundle), PELT_NORMALS_ROWS);
    pelt_bundle_free(bundle);
}

static void a_real_hand_takes_the_surface(void **state) {
    (void)state;
    test_only_at_full_speed();
    char path[1000];
    pelt_error error = {0};
    snprintf(path, sizeof path, "%s/mhr_hand/mhr_hand.glb", getenv("PELT_DATA") ? getenv("PELT_DATA") : "");
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle) {
        print_message("the hand is not here: skipped\n");
        skip();
    }
    assert_non_null(pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error));
    assert_non_null(pelt_bundle_clip(bundle, "test", PELT_NEED_POSITIONS, &error));
    assert_int_equal(check_choice(bundle), PELT_NORMALS_SURFACE);
    pelt_bundle_free(bundle);
}

/* Tiny and huge meshes have the same normals: sums over triangles neither vanish nor overflow. */
static void any_unit_of_length_will_do(void **state) {
    (void)state;
    for (int power = -9; power <= 9; power += 9) {
        corners c = {0};
        add_tube(&c, 13, 9);
        pelt_bundle *bundle = make(&c, BY_AREA);
        for (size_t i = 0; i < 3 * (size_t)bundle->mesh.vertex_count; i++)
            bundle->mesh.positions[i] *= powf(10, (float)power);
        bundle->mesh.diagonal *= powf(10, (float)power);
        pelt_skin skin;
        pelt_bytes *bytes = surface_skin(bundle, &skin);
        frame f = frame_new(&skin);
        pelt_transform locals[JOINTS];
        for (uint32_t j = 0; j < JOINTS; j++) locals[j] = skin.joints[j].rest;
        pelt_pose(&skin, locals, f.scratch);
        pelt_deform(&skin, f.scratch, pelt_all_blocks(&skin), f.positions, f.normals);
        for (size_t v = 0; v < skin.vertex_count; v++) {
            double n[3];
            for (size_t i = 0; i < 3; i++) n[i] = bundle->mesh.normals[3 * v + i];
            assert_true(degrees_between(f.normals + 3 * (size_t)skin.vertex_slots[v], n) < 0.1);
        }
        frame_free(&f), pelt_bytes_free(bytes), character_free(bundle), free(c.at);
    }
}

/* A broken file is refused: what could lead outside of an array, or the careless to read behind the last position. */
static void walks_that_lead_astray_are_refused(void **state) {
    (void)state;
    corners c = usual_corners();
    pelt_bundle *bundle = make(&c, BY_AREA);
    pelt_skin skin, unused;
    pelt_bytes *bytes = surface_skin(bundle, &skin);
    pelt_file_rings *rings = (pelt_file_rings *)(uintptr_t)skin.rings;
    pelt_file_walks *walks = (pelt_file_walks *)((char *)rings + rings->walks);
    uint32_t *rows = (uint32_t *)((char *)rings + rings->rows), blocks = skin.block_count,
             end = 3 * PELT_BLOCK * blocks, plain = 0;
    while (walks[plain].careful) plain++;
    struct {
        uint32_t *number, value;
    } broken[] = {{&rings->by_angle, 2},
                  {&walks[0].first_row, 1},
                  {&walks[1].first_row, 0},
                  {&walks[blocks].first_row, UINT32_MAX},
                  {&walks[0].lengths[3], 2},
                  {&walks[0].lengths[0], walks[0].lengths[0] + 2},
                  {&walks[0].lengths[1], walks[0].lengths[0] + 2},
                  {&walks[plain].careful, 2},
                  {&walks[blocks - 1].careful, 0},
                  {&rows[0], 1},
                  {&rows[0], end},
                  {&rows[(size_t)walks[plain].first_row * PELT_BLOCK], end - 3}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        uint32_t kept = *broken[i].number;
        *broken[i].number = broken[i].value;
        if (pelt_open(bytes->bytes, bytes->size, &unused) == PELT_OK) fail_msg("number %zu is not checked", i);
        *broken[i].number = kept;
    }
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &unused), PELT_OK);
    pelt_bytes_free(bytes), character_free(bundle), free(c.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smooth_mesh_with_seams_by_area),
        cmocka_unit_test(a_smooth_mesh_with_seams_by_angle),
        cmocka_unit_test(every_face_with_an_edge_of_its_own),
        cmocka_unit_test(fans_that_touch_and_vertices_with_many_neighbours),
        cmocka_unit_test(normals_that_lean_keep_leaning),
        cmocka_unit_test(any_split_and_layout_has_the_same_bits),
        cmocka_unit_test(twins_have_one_normal_bit_for_bit),
        cmocka_unit_test(walks_that_lead_astray_are_refused),
        cmocka_unit_test(a_loose_vertex_takes_the_normal_beside_it),
        cmocka_unit_test(a_smooth_sample_keeps_its_rows),
        cmocka_unit_test(a_real_hand_takes_the_surface),
        cmocka_unit_test(any_unit_of_length_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
