/* test_sculpts.c: sculpted shapes: in the rest pose and in others, tied to poses by keys, weight tracks and JSON;
   muted, weighted, masked and mirrored. Expected shapes are computed here, vertex by vertex. */

#include "fit/fitting.h"
#include "io/io.h"
#include "rig/sculpt.h"
#include "test/program.h"
#include "test/sampled.h"

static const char *path_of(const char *name) {
    static char paths[4][300];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    for (const char *c = text; *c; c++) fputc(*c == '\'' ? '"' : *c, file);
    fclose(file);
}

/* -- Where shapes were made ---------------------------------------------------------------------------------------- */

/* Smooth displacements of some vertices, different ones in every frame. */
static void displacement(const float *rest, uint32_t frame, double out[3]) {
    double bump = 0.1 * exp(-0.1 * pow(rest[0] - 0.3 * frame, 2));
    out[0] = 0.2 * bump, out[1] = bump * sin(2 * rest[1]), out[2] = -bump * rest[2];
}

/* S_p(v0 + d) in double. */
static void expected_shape(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame, uint32_t v,
                           double out[3]) {
    const pelt_mesh *mesh = &bundle->mesh;
    pelt_transform locals[64];
    pelt_affine matrices[64];
    const float *rest = mesh->positions + 3 * (size_t)v;
    double d[3], at[3], moved[3];
    pelt_clip_pose(clip, &bundle->skeleton, frame, locals);
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    displacement(rest, frame, d);
    for (int i = 0; i < 3; i++) at[i] = rest[i] + d[i], out[i] = 0;
    for (uint32_t k = mesh->influences.first[v]; k < mesh->influences.first[v + 1]; k++) {
        pelt_affine_point(&matrices[mesh->influences.joints[k]], at, moved);
        for (int i = 0; i < 3; i++) out[i] += mesh->influences.weights[k] * moved[i];
    }
}

/* The elbow with a morph target for each key of its training clip, in the rest pose or in that of the key. */
static pelt_bundle *with_targets(bool at_rest, pelt_clip **clip) {
    pelt_bundle *bundle = sampled("elbow", 300);
    uint32_t n = bundle->mesh.vertex_count;
    *clip = (pelt_clip *)bundle->clips[0];
    (*clip)->positions = NULL, (*clip)->normals = NULL;
    bundle->mesh.target_count = (*clip)->frame_count;
    bundle->mesh.targets = PELT_NEW(bundle->arena, (*clip)->frame_count, pelt_target);
    for (uint32_t f = 0; f < (*clip)->frame_count; f++) {
        uint32_t *vertices = PELT_NEW(bundle->arena, n, uint32_t);
        float *deltas = PELT_NEW(bundle->arena, 3 * (size_t)n, float);
        for (uint32_t v = 0; v < n; v++) {
            const float *rest = bundle->mesh.positions + 3 * (size_t)v;
            double d[3], shape[3];
            displacement(rest, f, d);
            expected_shape(bundle, *clip, f, v, shape);
            vertices[v] = v;
            for (int i = 0; i < 3; i++) deltas[3 * v + (uint32_t)i] = (float)(at_rest ? d[i] : shape[i] - rest[i]);
        }
        bundle->mesh.targets[f] = (pelt_target){"shape", n, vertices, deltas};
    }
    return bundle;
}

static void check_shapes(const pelt_bundle *bundle, const pelt_clip *clip) {
    for (uint32_t f = 0; f < clip->frame_count; f++)
        for (uint32_t v = 0; v < bundle->mesh.vertex_count; v += 7) {
            double shape[3];
            expected_shape(bundle, clip, f, v, shape);
            for (int i = 0; i < 3; i++)
                assert_near(clip->positions[3 * ((size_t)f * bundle->mesh.vertex_count + v) + (size_t)i], shape[i],
                            1e-5);
        }
}

static void shapes_in_the_rest_pose_are_told_from_posed_ones(void **state) {
    (void)state;
    for (int at_rest = 0; at_rest < 2; at_rest++)
        for (int said = 0; said < 2; said++) {
            pelt_clip *clip;
            pelt_error error = {0};
            pelt_bundle *bundle = with_targets(at_rest, &clip);
            if (said) bundle->cache.space = at_rest ? PELT_SPACE_REST : PELT_SPACE_POSED;
            if (!pelt_bundle_clip(bundle, clip->name, PELT_NEED_POSITIONS, &error)) fail_msg("%s", error.text);
            check_shapes(bundle, clip);
            pelt_bundle_free(bundle);
        }
    pelt_clip *clip; /* what is stated overrides what is detected */
    pelt_bundle *bundle = with_targets(true, &clip);
    bundle->cache.space = PELT_SPACE_POSED;
    assert_non_null(pelt_bundle_clip(bundle, clip->name, PELT_NEED_POSITIONS, NULL));
    assert_near(clip->positions[0], bundle->mesh.positions[0] + bundle->mesh.targets[0].deltas[0], 1e-6);
    pelt_bundle_free(bundle);
}

static void tracks_of_weights_drive_targets_before_the_blend(void **state) {
    (void)state;
    pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = with_targets(true, &clip);
    uint32_t n = clip->frame_count;
    float *weights = PELT_NEW(bundle->arena, (size_t)n * n, float);
    for (uint32_t f = 0; f < n; f++) { /* each target in two halves */
        for (size_t i = 0; i < 3 * (size_t)bundle->mesh.vertex_count; i++)
            ((float *)bundle->mesh.targets[f].deltas)[i] *= 2;
        weights[f * n + f] = 0.5f;
    }
    clip->target_weights = weights;
    if (!pelt_bundle_clip(bundle, clip->name, PELT_NEED_POSITIONS, &error)) fail_msg("%s", error.text);
    check_shapes(bundle, clip);
    pelt_bundle_free(bundle);
}

/* `pelt export` writes such a file: the skin's corrective as targets, with tracks. */
static void what_is_exported_is_read_back_as_it_plays(void **state) {
    (void)state;
    assert_int_equal(pelt("sample elbow --vertices 300 --frames 14 -o . --quiet"), 0);
    assert_int_equal(pelt("fit elbow.glb --train train --method psd --holdout 0 -o elbow.pelt --quiet"), 0);
    assert_int_equal(pelt("export elbow.pelt elbow.glb --clip test -o plain.glb --quiet"), 0);
    json_t *plain = pelt_json("measure elbow.pelt plain.glb --clip test");
    json_t *blend = pelt_json("fit elbow.glb --train test --method ssd --holdout 0 -o ssd.pelt");
    double left = number(plain, "rms") / number(json_object_get(blend, "train"), "rms");
    if (!(left < 0.05)) fail_msg("%g of the blend's error is between the skin and its own export", left);
    json_decref(plain), json_decref(blend);
}

/* A folder of .obj files in the rest pose, with one point per seam position, as most programs write them. */
static void sculpts_with_closed_seams_are_matched(void **state) {
    (void)state;
    pelt_error error = {0};
    assert_int_equal(pelt("sample elbow --variant seam --vertices 300 --frames 9 -o seam --quiet"), 0);
    pelt_bundle *bundle = pelt_bundle_read(path_of("seam/elbow.glb"), &error);
    if (!bundle) fail_msg("%s", error.text);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSE, &error);
    uint32_t *points = PELT_NEW(bundle->arena, bundle->mesh.vertex_count, uint32_t);
    pelt_mesh closed = {.vertex_count = pelt_weld(bundle->arena, &bundle->mesh, (pelt_examples){0}, 0, points)};
    float *shape = PELT_NEW(bundle->arena, 3 * (size_t)closed.vertex_count, float);
    assert_true(closed.vertex_count < bundle->mesh.vertex_count);
    pelt_cache_writer *writer = pelt_cache_writer_open(path_of("shapes/"), clip->frame_count, &closed, 24, &error);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
            double d[3];
            displacement(bundle->mesh.positions + 3 * (size_t)v, f, d);
            for (size_t i = 0; i < 3; i++) shape[3 * points[v] + i] = (float)(bundle->mesh.positions[3 * v + i] + d[i]);
        }
        pelt_cache_writer_frame(writer, shape);
    }
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    char request[400];
    snprintf(request, sizeof request, "train=%s", path_of("shapes"));
    if (!pelt_bundle_clip(bundle, request, PELT_NEED_POSITIONS, &error)) fail_msg("%s", error.text);
    check_shapes(bundle, clip);
    pelt_bundle_free(bundle);
}

/* -- The JSON text ------------------------------------------------------------------------------------------------- */

/* Two sculpts of the sample's training clip as .obj, one posed, one in the rest pose. */
static void write_sculpts(pelt_bundle *bundle, const pelt_clip *clip, float *posed, float *rest) {
    pelt_error error;
    uint32_t n = bundle->mesh.vertex_count;
    for (uint32_t v = 0; v < n; v++) {
        double shape[3], d[3];
        expected_shape(bundle, clip, 3, v, shape);
        displacement(bundle->mesh.positions + 3 * (size_t)v, 5, d);
        for (size_t i = 0; i < 3; i++) posed[3 * v + i] = (float)shape[i];
        for (size_t i = 0; i < 3; i++) rest[3 * v + i] = (float)(bundle->mesh.positions[3 * v + i] + d[i]);
    }
    for (int k = 0; k < 2; k++) {
        pelt_cache_writer *writer =
            pelt_cache_writer_open(path_of(k ? "rest/" : "posed/"), 1, &bundle->mesh, 24, &error);
        pelt_cache_writer_frame(writer, k ? rest : posed);
        assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    }
}

static void sculpts_become_a_clip(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path_of("elbow.glb"), &error);
    if (!bundle) fail_msg("%s", error.text);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSE, &error);
    uint32_t n = bundle->mesh.vertex_count;
    float *posed = PELT_NEW(bundle->arena, 3 * (size_t)n, float), *rest = PELT_NEW(bundle->arena, 3 * (size_t)n, float);
    write_sculpts(bundle, train, posed, rest);
    pelt_transform pose[8];
    pelt_clip_pose(train, &bundle->skeleton, 5, pose);
    char text[1000];
    const float *q = pose[1].rotation, *upper = pose[0].rotation;
    snprintf(
        text, sizeof text,
        "{'sculpts': [{'shape': 'posed/frame_000000.obj', 'clip': 'train', 'frame': 3},"
        "{'shape': 'nothing.obj', 'mute': true},"
        "{'shape': 'rest/frame_000000.obj', 'pose': {'lower': [%.9g, %.9g, %.9g, %.9g], 'upper': [%.9g, %.9g, %.9g, "
        "%.9g]}, 'weight': 2, 'mask': {'joints': ['lower']}}]}",
        q[0], q[1], q[2], q[3], upper[0], upper[1], upper[2], upper[3]);
    write_text("sculpts.json", text);
    const pelt_clip *clip = pelt_bundle_clip(bundle, path_of("sculpts.json"), PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    assert_int_equal(clip->frame_count, 2);
    pelt_examples examples = pelt_bundle_examples(bundle, &clip, 1);
    assert_true(examples.list[0].weight == 1 && examples.list[1].weight == 2);
    pelt_affine matrices[8];
    pelt_joint_matrices(&bundle->skeleton, pose, NULL, matrices);
    double *blend = PELT_NEW(bundle->arena, 3 * (size_t)n, double);
    pelt_blend_mesh(&bundle->mesh, matrices, blend);
    for (uint32_t v = 0; v < n; v++) {
        double shape[3], mask = 0;
        const pelt_influences *in = &bundle->mesh.influences;
        for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) mask += in->joints[k] == 1 ? in->weights[k] : 0;
        expected_shape(bundle, train, 5, v, shape);
        for (size_t i = 0; i < 3; i++) {
            assert_near(clip->positions[3 * v + i], posed[3 * v + i], 1e-5);
            assert_near(clip->positions[3 * ((size_t)n + v) + i],
                        blend[3 * v + i] + mask * (shape[i] - blend[3 * v + i]), 1e-5);
        }
    }
    pelt_bundle_free(bundle);
    assert_int_equal(pelt("fit elbow.glb --train train,sculpts.json --blend fit --holdout 0 -o x.pelt"), 0);
    assert_non_null(strstr(program_errors, "1 of the 2 sculpts were made in the rest pose"));
    assert_int_equal(pelt("fit elbow.glb --train train,sculpts.json --method kernel --holdout 0 -o x.pelt"), 1);
    assert_non_null(strstr(program_errors, "frame 1 of clip \"sculpts.json\" has weight 2"));
}

static void a_mask_file_lists_the_vertices_that_are_sculpted(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path_of("elbow.glb"), &error);
    if (!bundle) fail_msg("%s", error.text);
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSE, &error);
    uint32_t n = bundle->mesh.vertex_count;
    float *posed = PELT_NEW(bundle->arena, 3 * (size_t)n, float), *rest = PELT_NEW(bundle->arena, 3 * (size_t)n, float);
    write_sculpts(bundle, train, posed, rest);
    char text[200];
    snprintf(text, sizeof text, "# vertices\n7\n\n3 \r\n%u\t\n \t\r\n", n - 1);
    write_text("mask.txt", text);
    write_text("masked.json", "{'sculpts': [{'shape': 'posed/frame_000000.obj', 'clip': 'train', 'frame': 3, 'mask': "
                              "'mask.txt'}]}");
    const pelt_clip *clip = pelt_bundle_clip(bundle, path_of("masked.json"), PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    pelt_transform pose[8];
    pelt_affine matrices[8];
    pelt_clip_pose(train, &bundle->skeleton, 3, pose);
    pelt_joint_matrices(&bundle->skeleton, pose, NULL, matrices);
    double *blend = PELT_NEW(bundle->arena, 3 * (size_t)n, double);
    pelt_blend_mesh(&bundle->mesh, matrices, blend);
    for (uint32_t v = 0; v < n; v++)
        for (size_t i = 3 * v; i < 3 * v + 3; i++)
            assert_near(clip->positions[i], v == 3 || v == 7 || v == n - 1 ? posed[i] : blend[i], 1e-5);
    pelt_bundle_free(bundle);
    static const char *const bad[] = {"7\n-1", "7\n7 8", "7\nseven", "7\n100000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("mask.txt", bad[i]);
        assert_int_equal(pelt("fit elbow.glb --train masked.json -o x.pelt"), 1);
        assert_non_null(strstr(program_errors, "line 2 is not a vertex number, 0 to"));
    }
}

static void bad_sculpts_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{'sculpts': [", "line 1"},
        {"[]", "{\"sculpts\": [...]}"},
        {"{'sculpts': []}", "1 to 4096"},
        {"{'sculpts': [7]}", "sculpt 1 is not an object"},
        {"{'sculpts': [{'shape': 'smile', 'clip': 'train', 'frame': 0}]}", "no morph target \"smile\""},
        {"{'sculpts': [{'clip': 'train', 'frame': 0}]}", "\"shape\""},
        {"{'sculpts': [{'shape': 'no.obj', 'clip': 'train', 'frame': 0}]}", "no.obj: cannot be opened"},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj'}]}", "either as \"clip\""},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'clip': 'train', 'frame': 99}]}", "0 to 13"},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {'knee': [0, 0, 0, 1]}}]}", "no joint \"knee\""},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {'lower': [0, 0, 0]}}]}", "four numbers"},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {}, 'weight': -1}]}", "\"weight\""},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {}, 'mask': 'bad.json'}]}", "line 1 is not"},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {}, 'wieght': 1}]}", "\"wieght\" is not a key"},
        {"{'sculpts': [{'shape': 'rest/frame_000000.obj', 'pose': {}, 'space': 'outer'}]}", "\"space\""},
        {"{'sculpts': [{'shape': 'x', 'mute': true}]}", "all sculpts are muted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("bad.json", cases[i].text);
        int code = pelt("fit elbow.glb --train bad.json -o x.pelt");
        if (code != 1 || !strstr(program_errors, cases[i].said))
            fail_msg("%s: %d, %s", cases[i].text, code, program_errors);
    }
}

/* -- Weights ------------------------------------------------------------------------------------------------------- */

/* Least squares cannot tell an example of weight 3 from the same example three times. */
static void a_weight_counts_as_so_many_examples(void **state) {
    (void)state;
    pelt_bundle *bundle = sampled("elbow", 200);
    pelt_examples all = all_of(bundle, "train");
    pelt_error error = {0};
    enum { MOST = 64 };
    pelt_example many[MOST], weighted[MOST];
    size_t count = all.count < 20 ? all.count : 20, repeated = 0;
    assert_true(count > 5);
    for (size_t i = 0; i < count; i++) {
        weighted[i] = all.list[i], weighted[i].weight = i == 4 ? 30 : 1;
        for (int k = 0; k < (i == 4 ? 30 : 1); k++) many[repeated++] = all.list[i];
    }
    static const pelt_fit_options ways[] = {{.blend = PELT_BLEND_FIT, .influences = 2},
                                            {.blend = PELT_BLEND_JOINTS, .fitted.smooth = -1}};
    for (int i = 0; i < 2; i++) {
        pelt_measure *errors[3];
        for (int k = 0; k < 3; k++) {
            pelt_examples train = {k == 1 ? repeated : count, k == 0 ? all.list : k == 1 ? many : weighted};
            pelt_bytes *bytes = pelt_fit(bundle, train, &ways[i], NULL, &error);
            pelt_skin skin;
            if (!bytes) fail_msg("%s", error.text);
            assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
            errors[k] = pelt_measure_examples(&skin, bundle, (pelt_examples){1, &all.list[4]}, 1, &error);
            pelt_bytes_free(bytes);
        }
        /* The normal equations are those of the repeated examples; where rounding decides, the choice may differ. */
        assert_near(errors[2]->rms, errors[1]->rms, 1e-4 * errors[1]->rms);
        assert_true(errors[2]->rms < 0.998 * errors[0]->rms);
        for (int k = 0; k < 3; k++) pelt_measure_free(errors[k]);
    }
    assert_null(pelt_fit(bundle, (pelt_examples){count, weighted}, &(pelt_fit_options){.method = PELT_METHOD_PSD}, NULL,
                         &error));
    assert_non_null(strstr(error.text, "treats all examples alike"));
    weighted[2].weight = -1;
    assert_null(pelt_fit(bundle, (pelt_examples){count, weighted}, &ways[0], NULL, &error));
    pelt_bundle_free(bundle);
}

static void frames_are_left_out_by_a_weight_of_nothing(void **state) {
    (void)state;
    json_t *fit =
        pelt_json("fit elbow.glb --train train --weigh train:2=0,train:7=0 --method kernel --holdout 0 -o x.pelt");
    assert_int_equal(number(json_object_get(fit, "train"), "frames"), 12);
    json_decref(fit);
    assert_int_not_equal(pelt("fit elbow.glb --train train --weigh train:99=0 -o x.pelt"), 0);
    assert_non_null(strstr(program_errors, "no frame 99"));
    assert_int_not_equal(pelt("fit elbow.glb --train train --weigh train=0 -o x.pelt"), 0);
}

/* -- Mirrors ------------------------------------------------------------------------------------------------------- */

enum { WIDE = 9, HIGH = 5, GRID = WIDE * HIGH, POSES = 4 };

/* A bent sheet that is symmetric in x, on joints on both sides with unrelated axes. */
static pelt_bundle *winged(const char *left, const char *right, int odd_vertex, const pelt_clip **clip) {
    float positions[GRID][3], weights[GRID][2], shapes[POSES][GRID][3];
    uint32_t joints[GRID][2], triangles[8 * GRID], corners = 0;
    pelt_transform poses[POSES][3];
    for (uint32_t v = 0; v < GRID; v++) {
        float x = (float)(v % WIDE) - (WIDE - 1) / 2, y = (float)(v / WIDE);
        memcpy(positions[v], (float[]){x, y, 0.1f * x * x - 0.2f * y}, 12);
        if ((int)v == odd_vertex) positions[v][1] += 0.3f;
        float out = fminf(1, fmaxf(0, (fabsf(x) - 0.5f) / 2));
        weights[v][0] = 1 - out, weights[v][1] = out;
        joints[v][0] = 0, joints[v][1] = x < 0 ? 2 : 1;
        if (v % WIDE + 1 == WIDE || v + WIDE >= GRID) continue;
        uint32_t quad[6] = {v, v + 1, v + WIDE, v + 1, v + WIDE + 1, v + WIDE};
        for (int i = 0; i < 6; i++) triangles[corners++] = quad[i];
    }
    const pelt_transform rest[3] = {
        {.translation = {0, 1, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}},
        {.translation = {1, 0, 0}, .rotation = {0.1f, 0.7f, -0.1f, 0.7f}, .scale = {1, 1, 1}},
        {.translation = {-1, 0, 0}, .rotation = {0.5f, -0.5f, 0.5f, 0.5f}, .scale = {1, 1, 1}}};
    uint64_t seed = 9;
    for (int f = 0; f < POSES; f++)
        for (int j = 0; j < 3; j++) {
            poses[f][j] = rest[j];
            for (int i = 0; i < 4; i++) poses[f][j].rotation[i] += (float)(test_random(&seed) - 0.5);
            for (int i = 0; i < 3; i++) poses[f][j].translation[i] += 0.2f * (float)(test_random(&seed) - 0.5);
        }
    float *numbers = (float *)shapes;
    for (size_t i = 0; i < sizeof shapes / 4; i++) numbers[i] = (float)test_random(&seed);
    pelt_error error;
    pelt_character c = {.vertex_count = GRID,
                        .triangle_count = corners / 3,
                        .joint_count = 3,
                        .influences_per_vertex = 2,
                        .positions = positions[0],
                        .triangles = triangles,
                        .joints = joints[0],
                        .weights = weights[0],
                        .joint_names = (const char *const[]){"root", left, right},
                        .parents = (const int32_t[]){-1, 0, 0},
                        .rest = rest};
    pelt_bundle *bundle = pelt_bundle_new(&c, &error);
    if (!bundle) fail_msg("%s", error.text);
    *clip = pelt_bundle_add_clip(
        bundle, &(pelt_clip_input){.name = "poses", .frame_count = POSES, .poses = poses[0], .positions = shapes[0][0]},
        &error);
    return bundle;
}

static void blend_of(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame, double *out) {
    pelt_transform locals[3];
    pelt_affine matrices[3];
    pelt_clip_pose(clip, &bundle->skeleton, frame, locals);
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    pelt_blend_mesh(&bundle->mesh, matrices, out);
}

static uint32_t across(uint32_t v) { return v / WIDE * WIDE + (WIDE - 1 - v % WIDE); }

static void a_mirrored_clip_moves_the_other_side(void **state) {
    (void)state;
    static const char *const sides[][2] = {{"arm.L", "arm.R"},          {"arm_l", "arm_r"},
                                           {"L_arm", "R_arm"},          {"mixamorig:LeftArm", "mixamorig:RightArm"},
                                           {"LEFT_WING", "RIGHT_WING"}, {"wing.l.001", "wing.r.001"}};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        const pelt_clip *clip;
        pelt_error error = {0};
        pelt_bundle *bundle = winged(sides[s][0], sides[s][1], -1, &clip);
        const pelt_clip *mirrored = pelt_bundle_mirror(bundle, clip, 0, &error);
        if (!mirrored) fail_msg("%s: %s", sides[s][0], error.text);
        for (uint32_t f = 0; f < POSES; f++) {
            double a[3 * GRID], b[3 * GRID];
            blend_of(bundle, clip, f, a), blend_of(bundle, mirrored, f, b);
            for (uint32_t v = 0; v < GRID; v++)
                for (uint32_t i = 0; i < 3; i++) {
                    double sign = i ? 1 : -1;
                    assert_near(b[3 * v + i], sign * a[3 * across(v) + i], 1e-5);
                    assert_near(mirrored->positions[3 * (f * GRID + v) + i],
                                sign * clip->positions[3 * (f * GRID + across(v)) + i], 1e-6);
                }
        }
        pelt_bundle_free(bundle);
    }
}

static void what_is_not_symmetric_is_refused(void **state) {
    (void)state;
    const pelt_clip *clip;
    pelt_error error = {0};
    pelt_bundle *bundle = winged("arm.L", "arm.R", 11, &clip);
    assert_null(pelt_bundle_mirror(bundle, clip, 0, &error));
    assert_non_null(strstr(error.text, "2 of the 45 vertices have no partner on the other side of x"));
    pelt_bundle_free(bundle);
    bundle = winged("arm.L", "wing", -1, &clip);
    assert_null(pelt_bundle_mirror(bundle, clip, 0, &error));
    assert_non_null(strstr(error.text, "joint \"arm.L\" is not at the mirror image"));
    assert_null(pelt_bundle_mirror(bundle, clip, 1, &error));
    assert_null(pelt_bundle_mirror(bundle, clip, 3, &error));
    pelt_bundle_free(bundle);
}

static void a_fit_trains_on_both_sides(void **state) {
    (void)state;
    assert_int_equal(pelt("sample box --frames 6 -o . --quiet"), 0); /* it has no sides, but is symmetric */
    json_t *fit = pelt_json("fit box.glb --train train --mirror z --blend fit --holdout 0 -o x.pelt");
    assert_int_equal((int)number(json_object_get(fit, "train"), "frames") % 2, 0);
    json_t *half = pelt_json("fit box.glb --train train --blend fit --holdout 0 -o x.pelt");
    assert_near(number(json_object_get(fit, "train"), "frames"), 2 * number(json_object_get(half, "train"), "frames"),
                0);
    json_decref(fit), json_decref(half);
    assert_int_not_equal(pelt("fit box.glb --train train --mirror up -o x.pelt"), 0);
}

static int remove_folder(void **state) {
    (void)state;
    char line[200];
    snprintf(line, sizeof line, "rm -rf %s", test_folder());
    return system(line);
}

int main(void) {
    if (!getenv("PELT_PROGRAM")) setenv("PELT_PROGRAM", "build/pelt", 1);
    char absolute[4096];
    if (realpath(getenv("PELT_PROGRAM"), absolute)) setenv("PELT_PROGRAM", absolute, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_in_the_rest_pose_are_told_from_posed_ones),
        cmocka_unit_test(tracks_of_weights_drive_targets_before_the_blend),
        cmocka_unit_test(what_is_exported_is_read_back_as_it_plays),
        cmocka_unit_test(sculpts_with_closed_seams_are_matched),
        cmocka_unit_test(sculpts_become_a_clip),
        cmocka_unit_test(a_mask_file_lists_the_vertices_that_are_sculpted),
        cmocka_unit_test(bad_sculpts_are_refused_by_name),
        cmocka_unit_test(a_weight_counts_as_so_many_examples),
        cmocka_unit_test(frames_are_left_out_by_a_weight_of_nothing),
        cmocka_unit_test(a_mirrored_clip_moves_the_other_side),
        cmocka_unit_test(what_is_not_symmetric_is_refused),
        cmocka_unit_test(a_fit_trains_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
