/* test_diagnose.c: every finding has a synthetic case that triggers it and nothing else, and sound input triggers
   none. */

#include "test/character.h"

enum { JOINTS = 4, VERTICES = 200, FRAMES = 12 };

/* -- Subjects ----------------------------------------------------------------------------------------------------- */

typedef struct subject {
    pelt_bundle *bundle;
    pelt_clip *clip;
    float *positions;
    pelt_transform locals[FRAMES][JOINTS];
} subject;

/* Every joint rotates in every frame, up to `degrees`; the frame in the middle is the calmest. */
static void pose_subject(subject *s, double degrees) {
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            double much = 0.1 + abs(f - FRAMES / 2) / (FRAMES / 2.0), way = (f + j) % 2 ? 1 : -1;
            s->locals[f][j] = character_turn(1, 0.2 * j, 0.5 - 0.1 * f, way * much * degrees);
            memcpy(s->locals[f][j].translation, s->bundle->skeleton.rest[j].translation, 12);
        }
}

static void finish_subject(subject *s) {
    s->clip = character_clip(s->bundle, "train", FRAMES, s->locals[0]);
    s->positions = character_blend(s->bundle, s->clip);
}

static subject subject_new(uint32_t vertices, double degrees) {
    subject s = {.bundle = character_chain(JOINTS, vertices)};
    pose_subject(&s, degrees);
    finish_subject(&s);
    return s;
}

static float *point(subject *s, uint32_t frame, uint32_t vertex) {
    return s->positions + 3 * ((size_t)frame * s->bundle->mesh.vertex_count + vertex);
}

static pelt_findings diagnose(subject *s) {
    const pelt_clip *clip = s->clip;
    return pelt_diagnose(s->bundle, &clip, 1);
}

static void expect_nothing(subject *s) {
    pelt_findings found = diagnose(s);
    if (found.count) fail_msg("%s: %s", found.list[0].what, found.list[0].text);
    character_free(s->bundle);
}

/* Expects exactly one finding, of this kind, with all these pieces in its text (NULL-terminated). */
static void expect(subject *s, pelt_severity severity, const char *what, const char *const *pieces) {
    pelt_findings found = diagnose(s);
    for (size_t i = 0; i < found.count; i++)
        if (found.count > 1) print_error("%s: %s\n", found.list[i].what, found.list[i].text);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].what, what);
    assert_int_equal(found.list[0].severity, severity);
    for (; *pieces; pieces++)
        if (!strstr(found.list[0].text, *pieces)) fail_msg("\"%s\" is not in: %s", *pieces, found.list[0].text);
    character_free(s->bundle);
}

#define EXPECT(s, severity, what, ...) expect(s, severity, what, (const char *const[]){__VA_ARGS__, NULL})

/* Maps every point of every frame by out[i] = sign[i] * in[axis[i]] * scale + move[i]. */
static void spoil(subject *s, const int axis[3], const int sign[3], double scale, const double move[3]) {
    for (size_t p = 0; p < (size_t)FRAMES * s->bundle->mesh.vertex_count; p++) {
        float *x = s->positions + 3 * p, in[3] = {x[0], x[1], x[2]};
        for (int i = 0; i < 3; i++) x[i] = (float)(sign[i] * scale * in[axis[i]] + move[i]);
    }
}

static const int xyz[3] = {0, 1, 2}, xzy[3] = {0, 2, 1}, plus[3] = {1, 1, 1};
static const double nowhere[3] = {0, 0, 0};

/* -- Sound input -------------------------------------------------------------------------------------------------- */

static void sound_input_gives_no_finding(void **state) {
    (void)state;
    for (uint32_t vertices = 1; vertices <= VERTICES; vertices += vertices < 10 ? 1 : 63) {
        subject s = subject_new(vertices, 40);
        if (vertices < 32) /* so few are all on the first ring: let every joint have one */
            for (uint32_t v = 0; v < vertices; v++) s.bundle->mesh.influences.joints[2 * v + 1] = v % JOINTS;
        if (vertices < 32) s.positions = character_blend(s.bundle, s.clip);
        expect_nothing(&s);
    }
}

static void a_clip_that_begins_in_an_extreme_pose_gives_no_finding(void **state) {
    (void)state;
    /* A thick tube whose upper end is twisted by 180 degrees in the first frame. The blend collapses; the truth turns
       every vertex by its share of the angle. */
    subject s = {.bundle = character_chain(2, VERTICES)};
    pelt_transform locals[FRAMES][2];
    character_tube(s.bundle, VERTICES, 1, 2);
    float *weights = s.bundle->mesh.influences.weights;
    for (uint32_t v = 0; v < VERTICES; v++) {
        weights[2 * v + 1] = s.bundle->mesh.positions[3 * v + 1] / 2;
        weights[2 * v] = 1 - weights[2 * v + 1];
    }
    for (int f = 0; f < FRAMES; f++) {
        locals[f][0] = character_turn(1, 0, 0, f);
        locals[f][1] = character_turn(0, 1, 0, 180 - 16 * f);
        locals[f][1].translation[1] = 1;
    }
    s.clip = character_clip(s.bundle, "train", FRAMES, locals[0]);
    s.positions = character_blend(s.bundle, s.clip);
    for (int f = 0; f < FRAMES; f++)
        for (uint32_t v = 0; v < VERTICES; v++) {
            const float *rest = s.bundle->mesh.positions + 3 * v;
            pelt_transform twist = character_turn(0, 1, 0, (180 - 16 * f) * weights[2 * v + 1]);
            pelt_affine a = pelt_affine_of(&twist), tilt = pelt_affine_of(&locals[f][0]);
            double p[3] = {rest[0], rest[1], rest[2]};
            pelt_affine_point(&a, p, p), pelt_affine_point(&tilt, p, p);
            for (int i = 0; i < 3; i++) point(&s, (uint32_t)f, v)[i] = (float)p[i];
        }
    expect_nothing(&s);
}

static void flat_meshes_far_places_and_missing_weights_give_no_finding(void **state) {
    (void)state;
    subject flat = {.bundle = character_chain(JOINTS, VERTICES)};
    for (uint32_t v = 0; v < VERTICES; v++) flat.bundle->mesh.positions[3 * v + 2] = 0;
    pose_subject(&flat, 40), finish_subject(&flat);
    expect_nothing(&flat);

    subject walk = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&walk, 40);
    for (int f = 0; f < FRAMES; f++) walk.locals[f][0].translation[2] = (float)(1000 * f);
    finish_subject(&walk);
    expect_nothing(&walk);

    subject bare = subject_new(VERTICES, 40); /* no weights: the mesh stays at rest */
    character_influences(bare.bundle, 0);
    for (int f = 0; f < FRAMES; f++)
        memcpy(point(&bare, (uint32_t)f, 0), bare.bundle->mesh.positions, 3 * VERTICES * sizeof(float));
    expect_nothing(&bare);

    subject poses = subject_new(VERTICES, 40); /* a clip without true positions */
    poses.clip->positions = NULL;
    expect_nothing(&poses);

    subject single = subject_new(VERTICES, 40); /* one pose can neither repeat nor move */
    single.clip->frame_count = 1;
    expect_nothing(&single);

    subject corrected = subject_new(VERTICES, 40); /* a truth a few percent away from the blend: the normal case */
    for (size_t i = 0; i < 3 * VERTICES * FRAMES; i++) corrected.positions[i] += (float)(0.05 * sin((double)i));
    expect_nothing(&corrected);
}

static void empty_clips_are_harmless(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    pelt_clip empty = {.name = "empty", .source = "empty.pc2", .positions = s.positions};
    const pelt_clip *clips[] = {&empty, s.clip};
    character_own(s.bundle, &empty);
    assert_int_equal(pelt_diagnose(s.bundle, clips, 2).count, 0);
    assert_int_equal(pelt_diagnose(s.bundle, clips, 1).count, 0);
    assert_int_equal(pelt_diagnose(s.bundle, NULL, 0).count, 0);
    character_free(s.bundle);
}

/* -- Numbers ------------------------------------------------------------------------------------------------------ */

static void numbers_that_are_none_are_found_with_frame_and_vertex(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        subject s = subject_new(VERTICES, 40);
        point(&s, 3, 57)[i] = bad[i];
        EXPECT(&s, PELT_FATAL, "not-finite", "hand.train.pc2", "frame 3, vertex 57 ");
    }
}

static void huge_numbers_are_found_with_frame_vertex_and_value(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    point(&s, 2, 9)[1] = -1e9f;
    EXPECT(&s, PELT_FATAL, "huge-value", "frame 2, vertex 9 ", "y = -1e+09");
}

static void a_collapsed_frame_is_found_wherever_it_is(void **state) {
    (void)state;
    for (uint32_t frame = 0; frame < FRAMES; frame += 5) {
        subject s = subject_new(VERTICES, 40);
        for (uint32_t v = 0; v < VERTICES; v++) memcpy(point(&s, frame, v), (float[]){1, 2, 3}, 12);
        char text[32];
        snprintf(text, sizeof text, "frame %u:", frame);
        EXPECT(&s, PELT_FATAL, "collapsed", text, "(1, 2, 3)");
    }
}

/* -- Scale, axes, place, order ------------------------------------------------------------------------------------ */

static void other_units_are_named(void **state) {
    (void)state;
    static const struct {
        double scale;
        const char *times, *units, *remedy;
    } cases[] = {
        {100, " 100 times", "(centimetres against metres)", "by 0.01"},
        {0.01, " 0.01 times", "(metres against centimetres)", "by 100"},
        {1000, " 1000 times", "(millimetres against metres)", "by 0.001"},
        {0.1, " 0.1 times", "(centimetres against millimetres)", "by 10"},
        {2.54, " 2.54 times", "(centimetres against inches)", "by 0.3937"},
        {1 / 0.3048, " 3.281 times", "(feet against metres)", "by 0.3048"},
        {12, " 12 times", "(inches against feet)", "by 0.08333"},
        {7, " 7 times", "hand.glb; ", "by 0.1429"}, /* no two units: none is named */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject s = subject_new(VERTICES, 40);
        spoil(&s, xyz, plus, cases[i].scale, nowhere);
        EXPECT(&s, PELT_FATAL, "scale", cases[i].times, cases[i].units, cases[i].remedy);
    }
}

static void other_axes_are_named_with_the_remedy(void **state) {
    (void)state;
    subject z_up = subject_new(VERTICES, 40);
    spoil(&z_up, xzy, (int[]){1, -1, 1}, 1, nowhere);
    EXPECT(&z_up, PELT_FATAL, "axes", "the cache is z-up, the rig y-up", "(x, z, -y) as (x, y, z)");
    subject y_up = subject_new(VERTICES, 40);
    spoil(&y_up, xzy, (int[]){1, 1, -1}, 1, nowhere);
    EXPECT(&y_up, PELT_FATAL, "axes", "the cache is y-up, the rig z-up", "(x, -z, y) as (x, y, z)");
    subject mirrored = subject_new(VERTICES, 40);
    spoil(&mirrored, xyz, (int[]){1, 1, -1}, 1, nowhere);
    EXPECT(&mirrored, PELT_FATAL, "axes", "mirrored", "(x, y, -z) as (x, y, z)");
    subject turned = subject_new(VERTICES, 40);
    spoil(&turned, (int[]){1, 2, 0}, plus, 1, nowhere);
    EXPECT(&turned, PELT_FATAL, "axes", "(z, x, y) as (x, y, z)");
}

static void other_axes_and_other_units_are_both_said(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    spoil(&s, xzy, (int[]){1, -1, 1}, 100, nowhere);
    pelt_findings found = diagnose(&s);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.list[0].what, "axes");
    assert_string_equal(found.list[1].what, "scale");
    character_free(s.bundle);
}

static void a_cache_that_stands_elsewhere_is_found_with_the_way_back(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    spoil(&s, xyz, plus, 1, (double[]){0, 3, -4});
    EXPECT(&s, PELT_WARNING, "offset", "frame 6 is 5 away", "(0, 3, -4)");
    subject flat = {.bundle = character_chain(JOINTS, VERTICES)};
    for (uint32_t v = 0; v < VERTICES; v++) flat.bundle->mesh.positions[3 * v] = 0;
    pose_subject(&flat, 40), finish_subject(&flat);
    spoil(&flat, xyz, plus, 1, (double[]){2, 0, 0});
    EXPECT(&flat, PELT_WARNING, "offset", "2 away", "(2, 0, 0)");
}

static void vertices_in_another_order_are_found_also_when_moved(void **state) {
    (void)state;
    for (int moved = 0; moved < 2; moved++) {
        subject s = subject_new(VERTICES, 40);
        float copy[3 * VERTICES];
        for (uint32_t f = 0; f < FRAMES; f++) {
            memcpy(copy, point(&s, f, 0), sizeof copy);
            for (uint32_t v = 0; v < VERTICES; v++) memcpy(point(&s, f, v), copy + 3 * (77 * v % VERTICES), 12);
        }
        spoil(&s, xyz, plus, 1, (double[]){0, 0, moved});
        EXPECT(&s, PELT_FATAL, "vertex-order", "hand.train.pc2", "another order");
    }
}

static void frames_of_another_motion_are_far_from_the_blend(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    memcpy(point(&s, FRAMES / 2, 0), point(&s, 0, 0), 3 * VERTICES * sizeof(float));
    EXPECT(&s, PELT_WARNING, "far-from-blend", "frame 6 ", "key i of clip \"train\"");
}

static void a_surface_that_slides_along_itself_is_not_called_another_order(void **state) {
    (void)state;
    /* Rotated by one of its eight sides, the tube coincides with itself, but its edges do not. */
    subject s = subject_new(VERTICES, 40);
    float copy[3 * VERTICES];
    memcpy(copy, point(&s, FRAMES / 2, 0), sizeof copy);
    for (uint32_t v = 0; v < VERTICES; v++) memcpy(point(&s, FRAMES / 2, v), copy + 3 * (v / 8 * 8 + (v + 1) % 8), 12);
    EXPECT(&s, PELT_WARNING, "far-from-blend", "frame 6 ");
}

/* -- Rest and poses ----------------------------------------------------------------------------------------------- */

static void a_mesh_bound_in_another_pose_is_found_with_its_worst_vertex(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    s.bundle->mesh.positions[3 * 197 + 1] += 0.5f; /* one vertex sticks out */
    pose_subject(&s, 40), finish_subject(&s);
    /* Only the last joint is rotated at rest; the vertex farthest from its axis through (0, 3, 0) moves most. */
    pelt_transform turn = character_turn(1, 0, 0, 30);
    memcpy(s.bundle->skeleton.rest[3].rotation, turn.rotation, 16);
    double worst = 0;
    uint32_t where = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        const float *p = s.bundle->mesh.positions + 3 * v;
        double chord = 2 * sin(acos(-1) / 12) * hypot(p[1] - 3, p[2]) * s.bundle->mesh.influences.weights[2 * v + 1];
        if (s.bundle->mesh.influences.joints[2 * v + 1] == 3 && chord > worst) worst = chord, where = v;
    }
    assert_int_equal(where, 197);
    char vertex[32], amount[32];
    snprintf(vertex, sizeof vertex, "vertex %u ", where), snprintf(amount, sizeof amount, "off by %.3g", worst);
    EXPECT(&s, PELT_WARNING, "rest-pose", "hand.glb", vertex, amount);
}

static void repeated_poses_are_found_with_their_frames(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&s, 40);
    memcpy(s.locals[9], s.locals[2], sizeof s.locals[2]);
    for (int i = 0; i < 4; i++) s.locals[9][1].rotation[i] *= -1; /* -q is the same rotation */
    finish_subject(&s);
    EXPECT(&s, PELT_NOTE, "duplicate-pose", "1 of 12 frames", "frame 2 of \"train\" and frame 9 of \"train\"");
}

static void repeated_poses_with_other_shapes_are_a_warning_with_the_difference(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&s, 40);
    memcpy(s.locals[9], s.locals[2], sizeof s.locals[2]);
    finish_subject(&s);
    point(&s, 9, 31)[0] += 0.3f, point(&s, 9, 31)[2] -= 0.4f;
    EXPECT(&s, PELT_WARNING, "duplicate-pose-different-shape", "frame 2 of \"train\" and frame 9 of \"train\"",
           "differ by 0.5 ");
}

static void poses_repeated_in_another_clip_are_found(void **state) {
    (void)state;
    subject s = subject_new(VERTICES, 40);
    pelt_clip *other = character_clip(s.bundle, "test", 1, s.locals[5]);
    const pelt_clip *clips[] = {s.clip, other};
    pelt_findings found = pelt_diagnose(s.bundle, clips, 2);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].what, "duplicate-pose");
    assert_non_null(strstr(found.list[0].text, "frame 5 of \"train\" and frame 0 of \"test\""));
    character_free(s.bundle);
}

static void joints_that_never_move_are_named(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&s, 40);
    for (int f = 0; f < FRAMES; f++) {
        s.locals[f][2] = s.bundle->skeleton.rest[2];
        s.locals[f][2].rotation[0] = 1e-6f * (float)f; /* an exporter's rounding is not movement */
        s.locals[f][2].translation[1] += 1e-5f * (float)(f % 2);
    }
    finish_subject(&s);
    EXPECT(&s, PELT_NOTE, "still-joints", "1 of the 4 joints", ": joint2;");
}

/* -- Frames at the wrong time --------------------------------------------------------------------------------------- */

/* A motion: every joint swings, each at its own pace. */
static subject swinging(void) {
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < JOINTS; j++) {
            s.locals[f][j] = character_turn(1, 0.2 * j, 0.3, 30 * sin(0.4 * f + j));
            memcpy(s.locals[f][j].translation, s.bundle->skeleton.rest[j].translation, 12);
        }
    finish_subject(&s);
    return s;
}

/* The cache of a simulation that started `late` frames after the first key; before that it stands still. */
static void shift_frames(subject *s, int late) {
    static float moved[FRAMES][3 * VERTICES];
    for (int f = 0; f < FRAMES; f++) {
        int from = f - late < 0 ? 0 : f - late >= FRAMES ? FRAMES - 1 : f - late;
        memcpy(moved[f], point(s, (uint32_t)from, 0), sizeof moved[f]);
    }
    memcpy(s->positions, moved, sizeof moved);
}

static void a_cache_that_is_late_or_early_is_named_with_its_shift(void **state) {
    (void)state;
    static const struct {
        int late;
        const char *what, *frames;
    } cases[] = {{1, "is 1 frame late", "its frame 1 has the shape of key 0"},
                 {3, "is 3 frames late", "its frame 3 has the shape of key 0"},
                 {-1, "is 1 frame early", "its frame 0 has the shape of key 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject s = swinging();
        shift_frames(&s, cases[i].late);
        EXPECT(&s, PELT_WARNING, "shifted", "hand.train.pc2", cases[i].what, cases[i].frames,
               cases[i].late > 0 ? "later" : "earlier");
    }
    subject s = swinging();
    expect_nothing(&s);
}

static void flesh_that_lags_a_little_is_not_called_late(void **state) {
    (void)state;
    subject s = swinging();
    static float lagging[FRAMES][3 * VERTICES];
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < 3 * VERTICES; i++)
            lagging[f][i] = 0.7f * point(&s, (uint32_t)f, 0)[i] + 0.3f * point(&s, (uint32_t)(f ? f - 1 : 0), 0)[i];
    memcpy(s.positions, lagging, sizeof lagging);
    expect_nothing(&s);
}

static void a_cache_that_does_not_move_is_refused(void **state) {
    (void)state;
    subject s = swinging();
    for (uint32_t f = 1; f < FRAMES; f++) memcpy(point(&s, f, 0), point(&s, 0, 0), 3 * VERTICES * sizeof(float));
    EXPECT(&s, PELT_FATAL, "frozen", "hand.train.pc2", "all 12 frames have the same shape", "clip \"train\"");
    s = swinging(); /* one vertex that follows is motion */
    for (uint32_t f = 1; f < FRAMES; f++) memcpy(point(&s, f, 0), point(&s, 0, 0), 3 * (VERTICES - 1) * sizeof(float));
    pelt_findings found = diagnose(&s);
    for (size_t i = 0; i < found.count; i++) assert_string_not_equal(found.list[i].what, "frozen");
    character_free(s.bundle);
}

/* -- What is no mistake ---------------------------------------------------------------------------------------------- */

/* z-up, in other units, under a node that rotates and scales it: the inverse binds do not include that node. Only that
   percentages are of another size is worth saying. */
static void a_mesh_under_a_node_that_scales_it_is_told_of_its_size_alone(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&s, 40);
    pelt_transform turn = character_turn(1, 0, 0, -90);
    for (int f = -1; f < FRAMES; f++) {
        pelt_transform *root = f < 0 ? &s.bundle->skeleton.rest[0] : &s.locals[f][0];
        memcpy(root->rotation, turn.rotation, sizeof turn.rotation);
        for (int i = 0; i < 3; i++) root->scale[i] = 0.01f;
    }
    assert_true(pelt_find_scene_diagonal(s.bundle));
    finish_subject(&s);
    pelt_findings found = diagnose(&s);
    bool told = false;
    for (size_t i = 0; i < found.count; i++)
        if (!strcmp(found.list[i].what, "bind-size"))
            told = strstr(found.list[i].text, "at 100 times its size") != NULL;
        else if (strcmp(found.list[i].what, "still-joints"))
            fail_msg("%s", found.list[i].text);
    assert_true(told);
    character_free(s.bundle);
}

/* The last joint carries a separate piece, and nothing moves it. */
static void a_mesh_on_a_node_is_no_joint_that_never_moves(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pelt_mesh *mesh = &s.bundle->mesh;
    uint32_t cut = VERTICES - 16, kept = 0;
    for (uint32_t v = 0; v < VERTICES; v++)
        for (uint32_t i = 2 * v; i < 2 * v + 2; i++) {
            if (v >= cut)
                mesh->influences.joints[i] = JOINTS - 1;
            else if (mesh->influences.joints[i] == JOINTS - 1)
                mesh->influences.joints[i] = JOINTS - 2;
        }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) { /* a gap between the two */
        const uint32_t *corner = mesh->triangles + 3 * t;
        if ((corner[0] >= cut) != (corner[1] >= cut) || (corner[1] >= cut) != (corner[2] >= cut)) continue;
        memmove(mesh->triangles + 3 * kept++, corner, 3 * sizeof *corner);
    }
    mesh->triangle_count = kept;
    pose_subject(&s, 40);
    for (int f = 0; f < FRAMES; f++) s.locals[f][JOINTS - 1] = s.bundle->skeleton.rest[JOINTS - 1];
    finish_subject(&s);
    expect_nothing(&s);
}

static void findings_come_worst_first_after_those_of_the_reader(void **state) {
    (void)state;
    subject s = {.bundle = character_chain(JOINTS, VERTICES)};
    pose_subject(&s, 40);
    memcpy(s.locals[9], s.locals[2], sizeof s.locals[2]);
    finish_subject(&s);
    spoil(&s, xyz, plus, 100, nowhere);
    pelt_find(&s.bundle->notes, s.bundle->arena, PELT_NOTE, "from-reader", "weights did not sum to 1");
    pelt_find(&s.bundle->notes, s.bundle->arena, PELT_WARNING, "also-from-reader", "100%% of it");
    pelt_findings found = diagnose(&s);
    static const char *const order[] = {"scale", "also-from-reader", "from-reader", "duplicate-pose"};
    assert_int_equal(found.count, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(found.list[i].what, order[i]);
    assert_string_equal(found.list[1].text, "100% of it");
    character_free(s.bundle);
}

static void rotations_that_are_none_are_named(void **state) {
    (void)state;
    static const float factors[] = {1.005f, 1.02f, 0.5f, 0};
    static const pelt_severity severities[] = {PELT_NOTE, PELT_WARNING, PELT_WARNING, PELT_FATAL};
    for (int i = 0; i < 4; i++) {
        subject s = subject_new(VERTICES, 20);
        const pelt_channel *channel = s.clip->channels;
        while (channel->path != PELT_ROTATION) channel++;
        float *key = (float *)channel->values + 4 * 3;
        for (int k = 0; k < 4; k++) key[k] *= factors[i];
        pelt_findings found = diagnose(&s);
        const pelt_finding *named = NULL;
        for (size_t f = 0; f < found.count; f++)
            if (!strcmp(found.list[f].what, "rotations")) named = &found.list[f];
        assert_true((named != NULL) == (i > 0));
        if (named) assert_int_equal(named->severity, severities[i]);
        if (named) assert_non_null(strstr(named->text, "key 3"));
        character_free(s.bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_input_gives_no_finding),
        cmocka_unit_test(a_clip_that_begins_in_an_extreme_pose_gives_no_finding),
        cmocka_unit_test(flat_meshes_far_places_and_missing_weights_give_no_finding),
        cmocka_unit_test(empty_clips_are_harmless),
        cmocka_unit_test(numbers_that_are_none_are_found_with_frame_and_vertex),
        cmocka_unit_test(huge_numbers_are_found_with_frame_vertex_and_value),
        cmocka_unit_test(a_collapsed_frame_is_found_wherever_it_is),
        cmocka_unit_test(other_units_are_named),
        cmocka_unit_test(other_axes_are_named_with_the_remedy),
        cmocka_unit_test(other_axes_and_other_units_are_both_said),
        cmocka_unit_test(a_cache_that_stands_elsewhere_is_found_with_the_way_back),
        cmocka_unit_test(vertices_in_another_order_are_found_also_when_moved),
        cmocka_unit_test(frames_of_another_motion_are_far_from_the_blend),
        cmocka_unit_test(a_surface_that_slides_along_itself_is_not_called_another_order),
        cmocka_unit_test(a_mesh_bound_in_another_pose_is_found_with_its_worst_vertex),
        cmocka_unit_test(repeated_poses_are_found_with_their_frames),
        cmocka_unit_test(repeated_poses_with_other_shapes_are_a_warning_with_the_difference),
        cmocka_unit_test(poses_repeated_in_another_clip_are_found),
        cmocka_unit_test(joints_that_never_move_are_named),
        cmocka_unit_test(a_cache_that_is_late_or_early_is_named_with_its_shift),
        cmocka_unit_test(flesh_that_lags_a_little_is_not_called_late),
        cmocka_unit_test(a_cache_that_does_not_move_is_refused),
        cmocka_unit_test(a_mesh_under_a_node_that_scales_it_is_told_of_its_size_alone),
        cmocka_unit_test(a_mesh_on_a_node_is_no_joint_that_never_moves),
        cmocka_unit_test(findings_come_worst_first_after_those_of_the_reader),
        cmocka_unit_test(rotations_that_are_none_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
