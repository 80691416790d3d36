/* test_view.c: `pelt view` shows what the library computes, and exports what it shows. */

#include "io/tree.h"
#include "model/facts.h"
#include "model/targets.h"
#include "rig/clock.h"
#include "test/sections.h"
#include "test/viewed.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* -- Resources --------------------------------------------------------------------------------------------------- */

static void show_lists_the_character_and_its_skin(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json"), *characters = json_object_get(show, "characters");
    assert_int_equal(json_array_size(characters), 1);
    json_t *c = json_array_get(characters, 0), *joints = json_object_get(c, "joints"),
           *clips = json_object_get(c, "clips");
    assert_string_equal(json_string_value(json_object_get(c, "file")), "box.glb");
    assert_int_equal(json_integer_value(json_object_get(c, "vertices")), sample->mesh.vertex_count);
    assert_int_equal(json_integer_value(json_object_get(c, "triangles")), sample->mesh.triangle_count);
    assert_near(json_number_value(json_object_get(c, "diagonal")), sample->mesh.diagonal, 1e-6);
    assert_int_equal(json_array_size(joints), sample->skeleton.joint_count);
    for (uint32_t j = 0; j < sample->skeleton.joint_count; j++) {
        const json_t *joint = json_array_get(joints, j);
        assert_string_equal(json_string_value(json_object_get(joint, "name")), sample->skeleton.names[j]);
        for (size_t i = 0; i < 12; i++)
            assert_near(number_in(json_object_get(joint, "inverse_bind"), i), sample->skeleton.inverse_bind[j][i],
                        1e-6);
    }
    assert_int_equal(json_array_size(clips), sample->clip_count);
    assert_int_equal(json_array_size(json_object_get(c, "skins")), 1);
    json_t *facts = json_object_get(json_array_get(json_object_get(c, "skins"), 0), "facts"),
           *trained = json_object_get(facts, "clips");
    assert_string_equal(json_string_value(json_object_get(facts, "method")), "eigen");
    assert_string_equal(json_string_value(json_object_get(facts, "blend")), "file");
    assert_string_equal(json_string_value(json_object_get(facts, "corrective")), "eigen");
    assert_string_equal(json_string_value(json_object_get(facts, "bundle")), "box.glb");
    assert_int_equal(json_array_size(trained), 1);
    assert_string_equal(json_string_value(json_array_get(trained, 0)), "train");
    assert_true(json_number_value(json_object_get(json_object_get(facts, "train"), "rms")) > 0);
    assert_true(json_is_null(json_object_get(facts, "holdout")));
    assert_true(json_is_true(json_object_get(show, "server")));
    json_t *can = json_pack("{s:b, s:b, s:b}", "fit", 1, "light", 0, "sample", 0);
    assert_true(json_equal(json_object_get(show, "can"), can));
    json_decref(show), json_decref(can);
}

static void meshes_poses_and_truth_are_the_librarys(void **state) {
    (void)state;
    const pelt_mesh *mesh = &sample->mesh;
    size_t row = 3 * sizeof(float) * mesh->vertex_count;
    pelt_resource bytes = get(view, "data/c0/mesh.bin");
    const char *at = bytes.bytes;
    assert_int_equal(bytes.size, 8 + 2 * row + 12 * (size_t)mesh->triangle_count);
    assert_memory_equal(at, &mesh->vertex_count, 4);
    assert_memory_equal(at + 8, mesh->positions, row);
    assert_memory_equal(at + 8 + 2 * row, mesh->triangles, 12 * (size_t)mesh->triangle_count);
    free(bytes.bytes);
    bytes = get(view, "data/c0/joints.bin");
    assert_int_equal(bytes.size, 4 * (size_t)mesh->vertex_count);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const pelt_influences *in = &mesh->influences;
        int32_t most = -1;
        for (uint32_t i = in->first[v], best = i; i < in->first[v + 1]; i++)
            if (most < 0 || in->weights[i] > in->weights[best]) best = i, most = (int32_t)in->joints[i];
        assert_int_equal(((const int32_t *)bytes.bytes)[v], most);
    }
    free(bytes.bytes);
    for (uint32_t c = 0; c < sample->clip_count; c++) {
        const pelt_clip *clip = sample->clips[c];
        pelt_transform locals[64];
        bytes = get(view, "data/c0/clip%u/poses.bin", c);
        assert_int_equal(bytes.size, (size_t)clip->frame_count * sample->skeleton.joint_count * sizeof *locals);
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            pelt_clip_pose(clip, &sample->skeleton, f, locals);
            const pelt_transform *got = (const pelt_transform *)bytes.bytes + (size_t)f * sample->skeleton.joint_count;
            for (uint32_t j = 0; j < sample->skeleton.joint_count; j++)
                for (int i = 0; i < 4; i++) {
                    assert_near(got[j].rotation[i], locals[j].rotation[i], 1e-6);
                    if (i == 3) continue;
                    assert_near(got[j].translation[i], locals[j].translation[i], 1e-6);
                    assert_near(got[j].scale[i], locals[j].scale[i], 1e-6);
                }
        }
        free(bytes.bytes);
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            bytes = get(view, "data/c0/clip%u/truth/%u.bin", c, f);
            assert_int_equal(bytes.size, row);
            assert_memory_equal(bytes.bytes, clip->positions + 3 * (size_t)f * mesh->vertex_count, row);
            free(bytes.bytes);
        }
    }
}

static void check_figure(const json_t *figures, const char *key, double expected) {
    if (!json_is_number(json_object_get(figures, key))) fail_msg("no %s", key);
    assert_near(json_number_value(json_object_get(figures, key)), expected, 1e-6 * expected);
}

/* The measure of a skin on a clip. */
static void check_measured(pelt_view *of, uint32_t clip, const char *name, const pelt_skin *skin, pelt_bundle *bundle) {
    pelt_error error;
    pelt_measure *m = pelt_measure_examples(skin, bundle, all_of(bundle, name), 1, &error);
    json_t *measure = get_json(of, clip ? "data/c0/skin0/clip1/measure.json" : "data/c0/skin0/clip0/measure.json");
    assert_int_equal(json_integer_value(json_object_get(measure, "frames")), m->frame_count);
    check_figure(measure, "rms", m->rms), check_figure(measure, "max", m->max);
    check_figure(measure, "rel_err", m->rel_err), check_figure(measure, "roughness", m->roughness);
    check_figure(measure, "normals", m->normal_rms_degrees);
    pelt_resource vertices = get(of, "data/c0/skin0/clip%u/vertices.bin", clip);
    assert_int_equal(vertices.size, m->vertex_count * sizeof(float));
    for (uint32_t v = 0; v < m->vertex_count; v++)
        assert_near(((const float *)vertices.bytes)[v], m->vertex_rms[v], 1e-5 * m->rms);
    free(vertices.bytes);
    json_decref(measure);
    pelt_measure_free(m);
}

/* A time that is neither that of a vertex alone nor that of the whole mesh: about what a frame takes here. */
static void check_time(const json_t *figures, const pelt_skin *skin) {
    double nanoseconds = json_number_value(json_object_get(figures, "nanoseconds")), best = INFINITY;
    void *scratch = aligned_alloc(64, pelt_scratch_size(skin));
    float *positions = aligned_alloc(64, pelt_output_size(skin)), *normals = aligned_alloc(64, pelt_output_size(skin));
    pelt_transform *rest = malloc(skin->joint_count * sizeof *rest);
    for (uint32_t j = 0; j < skin->joint_count; j++) rest[j] = skin->joints[j].rest;
    for (int i = 0; i < 25; i++) {
        double start = pelt_thread_seconds();
        pelt_pose(skin, rest, scratch);
        pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, normals);
        best = fmin(best, pelt_thread_seconds() - start);
    }
    best *= 1e9 / skin->vertex_count;
    if (nanoseconds < best / 8 || nanoseconds > 20 * best) fail_msg("%g ns, here %g ns", nanoseconds, best);
    double low = json_number_value(json_object_get(figures, "nanoseconds_low")),
           high = json_number_value(json_object_get(figures, "nanoseconds_high"));
    assert_true(0 < low && low <= nanoseconds && nanoseconds <= high);
    assert_true(json_integer_value(json_object_get(figures, "timed_frames")) >= 25);
    assert_int_equal(json_object_size(figures), 4);
    free(scratch), free(positions), free(normals), free(rest);
}

static void errors_are_those_of_a_measure(void **state) {
    (void)state;
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(eigen_path, &skin, &error);
    pelt_bundle *bundle = pelt_bundle_read(glb, &error);
    pelt_examples examples = all_of(bundle, "test");
    pelt_measure *m = pelt_measure_examples(&skin, bundle, examples, 1, &error);
    json_t *errors = get_json(view, "data/c0/skin0/clip1.json");
    assert_int_equal(json_array_size(json_object_get(errors, "rms")), m->frame_count);
    for (uint32_t f = 0; f < m->frame_count; f++) {
        assert_near(number_in(json_object_get(errors, "rms"), f), m->frame_rms[f], 1e-5 * m->rms);
        assert_near(number_in(json_object_get(errors, "max"), f), m->frame_max[f], 1e-5 * m->rms);
    }
    assert_int_equal(json_integer_value(json_array_get(json_object_get(errors, "worst_vertex"), m->worst_frame)),
                     m->worst_vertex);
    json_decref(errors);
    check_measured(view, 0, "train", &skin, bundle), check_measured(view, 1, "test", &skin, bundle);
    check_measured(view, 1, "test", &skin, bundle); /* as it was stored */
    json_t *figures = get_json(view, "data/c0/skin0/figures.json");
    check_time(figures, &skin);
    json_decref(figures);
    pelt_measure_free(m), pelt_bundle_free(bundle), pelt_bytes_free(bytes);
}

/* A skin of an older pelt: unknown facts are null, or measured. */
static void a_skin_without_facts_is_shown_all_the_same(void **state) {
    (void)state;
    char path[300];
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(eigen_path, &skin, &error); /* opened earlier: it still has them */
    hide_section(bytes->bytes, "FACT");
    snprintf(path, sizeof path, "%s/old.pelt", test_folder());
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_view *old = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(old, path), add(old, glb);
    assert_int_equal(pelt_view_arrange(old, &error), PELT_OK);
    json_t *show = get_json(old, "data/show.json"), *inside = get_json(old, "data/c0/skin0/inside.json"),
           *known = get_json(view, "data/c0/skin0/inside.json"), *figures;
    json_t *c = json_array_get(json_object_get(show, "characters"), 0);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(c, "skins"), 0), "facts")));
    pelt_bundle *bundle = pelt_bundle_read(glb, &error);
    check_measured(old, 1, "test", &skin, bundle);
    json_t *supports = json_object_get(inside, "supports"), *support;
    size_t i;
    assert_int_equal(json_array_size(supports), json_array_size(json_object_get(known, "supports")));
    json_array_foreach(supports, i, support) {
        json_t *other = json_array_get(json_object_get(known, "supports"), i),
               *singular = json_object_get(other, "singular_values");
        uint32_t count;
        const double *values =
            pelt_facts_singular(skin.facts, json_string_value(json_object_get(other, "name")), &count);
        assert_true(values && json_array_size(singular) == count);
        for (uint32_t k = 0; k < count; k++) assert_near(number_in(singular, k), values[k], 1e-8 * values[k]);
        assert_true(json_is_null(json_object_get(support, "singular_values")));
        assert_string_equal(json_string_value(json_object_get(support, "kind")), "psd");
        assert_string_equal(json_string_value(json_object_get(other, "kind")), "eigen");
    }
    json_decref(show), json_decref(inside), json_decref(known);
    pelt_view_free(old);
    /* The truth of one clip, and of none, for a skin alone. */
    char half[300];
    snprintf(half, sizeof half, "cd %s && cp box.glb half.glb && cp box.test.pc2 half.test.pc2", test_folder());
    assert_int_equal(system(half), 0);
    snprintf(half, sizeof half, "%s/half.glb", test_folder());
    old = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(old, path), add(old, half);
    assert_int_equal(pelt_view_arrange(old, &error), PELT_OK);
    figures = get_json(old, "data/c0/skin0/figures.json");
    check_measured(old, 1, "test", &skin, bundle);
    pelt_resource none;
    assert_int_equal(pelt_view_resource(old, "data/c0/skin0/clip0/measure.json", &none, &error), PELT_ERROR_ARGUMENT);
    check_time(figures, &skin);
    json_decref(figures), pelt_view_free(old);
    old = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(old, path);
    assert_int_equal(pelt_view_arrange(old, &error), PELT_OK);
    figures = get_json(old, "data/c0/skin0/figures.json");
    check_time(figures, &skin);
    json_decref(figures), pelt_view_free(old);
    pelt_bundle_free(bundle), pelt_bytes_free(bytes);
}

/* Slow work ends soon after the view is told to stop, and is not taken for done. */
static void a_stopped_view_measures_nothing(void **state) {
    static const char *const names[] = {"data/c0/skin0/clip0/measure.json", "data/c0/skin0/clip0.json",
                                        "data/c0/skin0/clip0/vertices.bin"};
    char path[300];
    pelt_error error;
    pelt_resource resource;
    (void)state;
    snprintf(path, sizeof path, "%s/old.pelt", test_folder());
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(own, path), add(own, glb);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    pelt_view_stop(own);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pelt_view_resource(own, names[i % 3], &resource, i < 3 ? &error : NULL), PELT_ERROR_CANCELLED);
        assert_null(resource.bytes);
    }
    assert_string_equal(error.text, "pelt view is ending");
    free(get(own, "data/c0/mesh.bin").bytes);
    pelt_view_free(own);
}

/* -- The page ---------------------------------------------------------------------------------------------------- */

static void a_page_that_is_not_whole_is_not_sent(void **state) {
    (void)state;
    if (!pelt_page_count()) skip();
    const pelt_page_file *page = pelt_page_find("index.html");
    assert_non_null(page);
    assert_null(pelt_page_find("index.htm"));
    pelt_page_file longer = *page, shorter = *page, cut = *page;
    longer.size++, shorter.size--, cut.gzip_size -= 9; /* more than the checksum at the end */
    unsigned char *bytes = pelt_page_bytes(page);
    assert_non_null(bytes);
    assert_memory_equal(bytes, "<!doctype html>", 15);
    assert_null(pelt_page_bytes(&longer));
    assert_null(pelt_page_bytes(&shorter));
    assert_null(pelt_page_bytes(&cut));
    free(bytes);
}

/* -- Names ------------------------------------------------------------------------------------------------------- */

/* S(v0 + sum a_k u_k), with the displacements shown, equals the run time's output in every pose. */
static void displacements_make_up_the_skin(void **state) {
    (void)state;
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(eigen_path, &skin, &error);
    pelt_bundle *bundle = pelt_bundle_read(glb, &error);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSE, &error);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_skin_targets targets;
    assert_int_equal(pelt_skin_targets_of(arena, &skin, false, &targets, &error), PELT_OK);
    const float *weights = pelt_skin_target_weights(arena, &skin, &targets, bundle, clip, &error);
    pelt_player *player = pelt_player_new(&skin, bundle, &error);
    size_t count = 3 * (size_t)bundle->mesh.vertex_count;
    json_t *inside = get_json(view, "data/c0/skin0/inside.json"), *supports = json_object_get(inside, "supports"),
           *support;
    float *rest = malloc(count * sizeof *rest), *positions = malloc(count * sizeof *positions);
    double *blended = malloc(count * sizeof *blended), most = 0;
    pelt_affine matrices[64];
    pelt_transform locals[64];
    assert_true(json_array_size(supports) > 0);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        size_t s, i;
        json_t *k;
        memcpy(rest, bundle->mesh.positions, count * sizeof *rest);
        json_array_foreach(supports, s, support) json_array_foreach(json_object_get(support, "coefficients"), i, k) {
            pelt_resource u = get(view, "data/c0/skin0/displacement%d.bin", (int)json_integer_value(k));
            assert_int_equal(u.size, count * sizeof(float));
            for (uint32_t t = 0; t < targets.count; t++)
                for (size_t x = 0; x < count && targets.coefficients[t] == (uint32_t)json_integer_value(k); x++) {
                    float d = weights[f * targets.count + t] * ((const float *)u.bytes)[x];
                    rest[x] += d, most = fmax(most, fabs(d));
                }
            free(u.bytes);
        }
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
        pelt_mesh mesh = bundle->mesh;
        mesh.positions = rest;
        pelt_blend_mesh(&mesh, matrices, blended);
        pelt_player_frame(player, clip, f, positions, NULL);
        for (size_t x = 0; x < count; x++) assert_near(positions[x], blended[x], 3e-5 * bundle->mesh.diagonal);
    }
    assert_true(most > 1e-3 * bundle->mesh.diagonal);
    /* A support is 1 where it is strongest, and has the singular values of the skin's text. */
    pelt_resource w = get(view, "data/c0/skin0/support0.bin");
    float largest = 0;
    for (size_t v = 0; v < w.size / sizeof(float); v++) largest = fmaxf(largest, ((const float *)w.bytes)[v]);
    assert_near(largest, 1, 1e-6);
    free(w.bytes);
    assert_true(number_in(json_object_get(json_array_get(supports, 0), "singular_values"), 0) > 0);
    json_decref(inside);
    free(rest), free(positions), free(blended);
    pelt_player_free(player), pelt_arena_free(arena), pelt_bundle_free(bundle), pelt_bytes_free(bytes);
}

/* Names are looked up, and never become paths. */
static void no_other_names_are_known(void **state) {
    static const char *const names[] = {"",
                                        "data",
                                        "data/",
                                        "data/c0",
                                        "data/c1/mesh.bin",
                                        "data/c1/surface.json",
                                        "data/c1/clip0/poses.bin",
                                        "data/c1/clip0/truth/0.bin",
                                        "data/c1/skin0.pelt",
                                        "data/c1/skin0/inside.json",
                                        "data/c1/skin0/figures.json",
                                        "data/c1/skin0/clip0.json",
                                        "data/c1/skin0/clip0/measure.json",
                                        "data/c0/skin1/clip0/measure.json",
                                        "data/c0/skin0/clip9/measure.json",
                                        "data/c0/skin1/clip0/vertices.bin",
                                        "data/c0/skin1/inside.json",
                                        "data/c0/skin1/figures.json",
                                        "data/c0/skin1/clip0.json",
                                        "data/b0/picture.bin",
                                        "data/b0/clip0/verdicts.json",
                                        "data/b0/clip0/keyed/0.bin",
                                        "data/c00/mesh.bin",
                                        "data/c-1/mesh.bin",
                                        "data/c+0/mesh.bin",
                                        "data/c0/mesh.bin/",
                                        "data/c0/mesh.bin ",
                                        "data/c4294967296/mesh.bin",
                                        "data/c99999999999999999999/mesh.bin",
                                        "data/c0/../show.json",
                                        "data/../data/show.json",
                                        "data//show.json",
                                        "/data/show.json",
                                        "data/c0/clip9/poses.bin",
                                        "data/c0/clip0/truth/6.bin",
                                        "data/c0/clip0/truth/999999999.bin",
                                        "data/c0/skin1.pelt",
                                        "data/c0/skin0/support999.bin",
                                        "data/c0/skin0/displacement9999.bin",
                                        "data/c0/skin0/clip7.json",
                                        "data/c0/uvs.bin",
                                        "data/c0/image0",
                                        "data/b0/mesh.bin",
                                        "data/c0/controls.bin",
                                        "data/c0/clip0/controls.bin",
                                        "../box.glb",
                                        "/etc/passwd",
                                        "data/%2e%2e/show.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pelt_error error;
        pelt_resource resource;
        if (pelt_view_resource(view, names[i], &resource, &error) != PELT_ERROR_ARGUMENT) fail_msg("%s", names[i]);
        assert_null(resource.bytes);
    }
}

static void more_characters_than_there_is_room_for_are_refused(void **state) {
    (void)state;
    pelt_error error;
    pelt_resource resource;
    pelt_view *full = open_box(false);
    for (int i = 1; i < 64; i++) add(full, glb);
    assert_int_equal(pelt_view_add(full, glb, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "more than 64 characters"));
    if (pelt_view_resource(full, "data/c63/mesh.bin", &resource, &error)) fail_msg("%s", error.text);
    free(resource.bytes);
    assert_int_equal(pelt_view_resource(full, "data/c64/mesh.bin", &resource, &error), PELT_ERROR_ARGUMENT);
    pelt_view_free(full);
}

/* -- Surfaces ---------------------------------------------------------------------------------------------------- */

static const char PNG[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/* Two triangles with two materials in one file, as text; texture coordinates are rotated by a quarter turn and
   moved. */
static void surfaces_are_the_files_own(void **state) {
    char path[300], base64[2000];
    float numbers[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, /* uv: */ 0.25f, 0.5f, 1, 0, 0, 1};
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *raw = (const unsigned char *)numbers;
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof numbers; i += 3)
        for (int k = 0; k < 4; k++)
            base64[n++] = digits[(raw[i] << 16 | raw[i + 1] << 8 | raw[i + 2]) >> (18 - 6 * k) & 63];
    base64[n] = 0;
    snprintf(path, sizeof path, "%s/leaf.gltf", test_folder());
    FILE *file = fopen(path, "w");
    fprintf(file,
            "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"name\":"
            "\"<b>\"}],"
            "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_1\":1},\"material\":0},"
            "{\"attributes\":{\"POSITION\":0},\"material\":1}]}],"
            "\"materials\":[{\"name\":\"skin\",\"doubleSided\":true,\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.5,"
            "0.25,0.75,0.125],\"roughnessFactor\":0.25,\"metallicFactor\":0.375,"
            "\"baseColorTexture\":{\"index\":0,\"texCoord\":1,\"extensions\":{\"KHR_texture_transform\":{\"rotation\":"
            "1.5707963267948966,\"offset\":[10,20],\"scale\":[2,4]}}}}},"
            "{\"alphaMode\":\"MASK\",\"alphaCutoff\":0.75}],"
            "\"textures\":[{\"source\":0,\"sampler\":0}],\"samplers\":[{\"wrapS\":33071,\"wrapT\":33648}],"
            "\"images\":[{\"uri\":\"data:image/png;base64,%s\"}],"
            "\"buffers\":[{\"byteLength\":60,\"uri\":\"data:application/octet-stream;base64,%s\"}],"
            "\"bufferViews\":[{\"buffer\":0,\"byteLength\":60}],"
            "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
            "{\"bufferView\":0,\"byteOffset\":36,\"componentType\":5126,\"count\":3,\"type\":\"VEC2\"}]}",
            PNG, base64);
    fclose(file);
    pelt_error error;
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *surface = get_json(own, "data/c0/surface.json");
    static const char whole[] =
        "{'uvs':'data/c0/uvs.bin','images':[{'file':'data/c0/image0','type':'image/png'}],'parts':["
        "{'name':'<b>','material':'skin','first_triangle':0,'triangles':1,'color':[0.5,0.25,0.75,0.125],'image':0,"
        "'normal':null,'metallic':0.375,'roughness':0.25,'alpha':'OPAQUE','cutoff':0.5,'two_sided':true,"
        "'wrap':['clamp','mirror']},"
        "{'name':'<b>','material':'material1','first_triangle':1,'triangles':1,'color':[1.0,1.0,1.0,1.0],'image':null,"
        "'normal':null,'metallic':1.0,'roughness':1.0,'alpha':'MASK','cutoff':0.75,'two_sided':false,"
        "'wrap':['repeat','repeat']}]}";
    char text[sizeof whole];
    for (size_t i = 0; i < sizeof whole; i++) text[i] = whole[i] == '\'' ? '"' : whole[i];
    json_t *expected = json_loads(text, 0, NULL);
    if (!json_equal(surface, expected)) fail_msg("%s", json_dumps(surface, 0));
    json_decref(expected);
    json_decref(surface);
    pelt_resource uvs = get(own, "data/c0/uvs.bin"), image = get(own, "data/c0/image0");
    const float *uv = uvs.bytes; /* (0.25, 0.5) times (2, 4) is (0.5, 2); a quarter turn makes (2, -0.5) of it */
    assert_near(uv[0], 12, 1e-5);
    assert_near(uv[1], 19.5, 1e-5);
    assert_string_equal(image.type, "image/png");
    assert_memory_equal(image.bytes, "\x89PNG", 4);
    free(uvs.bytes), free(image.bytes);
    pelt_view_free(own);
}

/* -- Export ------------------------------------------------------------------------------------------------------ */

static pelt_view *exported;
static char site[300];
static size_t compared;

static pelt_result compare_file(void *user, const char *name, pelt_error *error) {
    char path[600];
    pelt_file file;
    pelt_resource resource;
    (void)user;
    snprintf(path, sizeof path, "%s/%s", site, name);
    pelt_arena *arena = pelt_arena_new(0);
    if (pelt_file_read(arena, path, &file, error)) fail_msg("%s", error->text);
    if (pelt_view_resource(exported, name, &resource, error)) fail_msg("%s", error->text);
    if (file.size != resource.size || memcmp(file.bytes, resource.bytes, file.size)) fail_msg("%s differs", name);
    free(resource.bytes), pelt_arena_free(arena);
    compared++;
    return PELT_OK;
}

static int stop_at_once(void *user, const char *task, double fraction) {
    (void)user, (void)task;
    return fraction > 0.5;
}

static size_t entries(const char *path) {
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* How many files of the page are in the folder, which are all, or all but those of the fitter. */
static size_t page_files(bool with_fit) {
    size_t count = 0;
    for (size_t i = 0; i < pelt_page_count(); i++) {
        char path[600];
        bool wanted = with_fit || !pelt_page_is_fitter(pelt_page_at(i));
        snprintf(path, sizeof path, "%s/%s", site, pelt_page_at(i)->name);
        assert_int_equal(pelt_file_exists(path), wanted);
        count += wanted;
    }
    return count;
}

/* A page that fits needs no character. */
static void an_export_with_the_fitter_says_so(void **state) {
    (void)state;
    pelt_error error;
    size_t count = 0;
    snprintf(site, sizeof site, "%s/site", test_folder());
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1, .with_fit = true}, &error);
    if (pelt_view_export(own, site, NULL, &count, &error)) fail_msg("%s", error.text);
    assert_int_equal(count, 1 + page_files(true));
    json_t *show = get_json(own, "data/show.json");
    assert_true(json_is_true(json_object_get(show, "fitter")));
    json_decref(show);
    pelt_folder_remove(site);
    pelt_view_free(own);
}

static void an_export_is_what_is_served(void **state) {
    pelt_error error;
    size_t count = 0, before = entries(test_folder());
    (void)state;
    exported = open_box(false);
    snprintf(site, sizeof site, "%s/site", test_folder());
    /* Stopped halfway, nothing is left. */
    pelt_progress stop = {stop_at_once, NULL}, go = {0};
    assert_int_equal(pelt_view_export(exported, site, &stop, NULL, &error), PELT_ERROR_CANCELLED);
    assert_int_equal(entries(test_folder()), before);
    if (pelt_view_export(exported, site, &go, &count, &error)) fail_msg("%s", error.text);
    assert_int_equal(pelt_view_names(exported, compare_file, NULL, &error), PELT_OK);
    assert_int_equal(count, compared + page_files(false));
    json_t *show = get_json(exported, "data/show.json");
    assert_true(json_is_false(json_object_get(show, "server")));
    assert_true(json_is_false(json_object_get(json_object_get(show, "can"), "fit"))); /* without a server */
    json_decref(show);
    /* Existing files are not overwritten. */
    assert_int_equal(pelt_view_export(exported, site, &go, NULL, &error), PELT_ERROR_FILE);
    pelt_folder_remove(site);
    pelt_view_free(exported);
}

/* The next export removes what a killed one left; a folder with a similar name that is not pelt's stays. */
static void a_killed_export_leaves_nothing_for_long(void **state) {
    (void)state;
    char target[300], other[400];
    pelt_error error = {0};
    size_t before = entries(test_folder());
    snprintf(target, sizeof target, "%s/killed", test_folder());
    snprintf(other, sizeof other, "%s.tmp-ffffff", target);
    pid_t child = fork();
    if (!child) {
        pelt_tree *tree = pelt_tree_open(target, NULL);
        kill(getpid(), tree && !pelt_tree_put(tree, "data/c0/mesh.bin", "mesh", 4, NULL) ? SIGKILL : SIGABRT);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(entries(test_folder()), before + 1);
    assert_int_equal(mkdir(other, 0777), 0);
    strcat(other, "/mine.txt");
    close(open(other, O_CREAT | O_WRONLY, 0666));
    pelt_tree *tree = pelt_tree_open(target, &error);
    if (!tree || pelt_tree_put(tree, "index.html", "page", 4, &error) || pelt_tree_commit(tree, &error))
        fail_msg("%s", error.text);
    assert_int_equal(entries(test_folder()), before + 2);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(entries(target), 3); /* the page, and the two that every folder has */
}

/* -- Live poses ---------------------------------------------------------------------------------------------------- */

static void keep_sentence(void *user, const char *sentence) { snprintf(user, 200, "%s", sentence); }

static pelt_view *follow(const char *path, double rate, char said[200]) {
    pelt_error error;
    pelt_view *own = pelt_view_new(&(pelt_view_options){.serving = true}, &error);
    assert_int_equal(pelt_view_add(own, glb, &error) | pelt_view_arrange(own, &error), PELT_OK);
    if (pelt_view_follow(own, &(pelt_view_stream){path, rate, keep_sentence, said}, &error)) fail_msg("%s", error.text);
    return own;
}

/* Waits up to ten seconds for a state, then returns the latest pose. */
static pelt_resource latest(pelt_view *own, uint32_t state) {
    for (int i = 0; i < 1000; i++) {
        pelt_resource r;
        assert_int_equal(pelt_view_resource(own, "data/live.bin", &r, NULL), PELT_OK);
        if (*(uint32_t *)r.bytes == state) return r;
        free(r.bytes);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    fail_msg("state %u does not come", state);
    return (pelt_resource){0};
}

/* The last of three poses stays; two lines of the five are not poses. */
static void the_latest_live_pose_is_shown(void **state) {
    (void)state;
    char path[300], said[200] = "";
    const pelt_skeleton *s = &sample->skeleton;
    snprintf(path, sizeof path, "%s/live.poses", test_folder());
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\n0 0 0 1\n1 2\n0.6 0 0 0.8\nword\n0 0 2 0\n", s->names[s->joint_count - 1]);
    fclose(file);
    pelt_view *own = follow(path, 1000, said);
    pelt_resource r = latest(own, PELT_STREAM_OVER);
    assert_int_equal(r.size, 16 + s->joint_count * sizeof(pelt_transform));
    const uint32_t *head = r.bytes;
    assert_true(head[1] == 3 && head[2] == 2 && head[3] == 0);
    const pelt_transform *locals = (const void *)(head + 4);
    static const float half_turn[4] = {0, 0, 1, 0};
    for (uint32_t j = 0; j < s->joint_count; j++)
        for (int i = 0; i < 4; i++)
            assert_near(locals[j].rotation[i], j + 1 < s->joint_count ? s->rest[j].rotation[i] : half_turn[i], 1e-6);
    assert_non_null(strstr(said, "\"word\" is not a number"));
    json_t *show = get_json(own, "data/show.json"), *live = json_object_get(show, "live");
    assert_int_equal(json_integer_value(json_object_get(live, "character")), 0);
    assert_string_equal(json_string_value(json_object_get(live, "pose")), "data/live.bin");
    json_decref(show);
    free(r.bytes), pelt_view_free(own);
}

static void live_poses_that_never_come_hold_nobody_up(void **state) {
    (void)state;
    char path[300], said[200] = "";
    pelt_error error;
    pelt_resource r;
    snprintf(path, sizeof path, "%s/live.pipe", test_folder());
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int i = 0; i < 3; i++) { /* at once, and when it waits */
        pelt_view *own = follow(path, 0, said);
        nanosleep(&(struct timespec){0, 20000000 * i}, NULL);
        r = latest(own, PELT_STREAM_WAITING);
        free(r.bytes);
        double start = pelt_wall_seconds();
        pelt_view_free(own);
        assert_true(pelt_wall_seconds() - start < 2);
    }
    snprintf(path, sizeof path, "%s/nothing.poses", test_folder());
    pelt_view *own = follow(path, 0, said);
    r = latest(own, PELT_STREAM_BROKEN);
    assert_non_null(strstr(said, "nothing.poses: cannot be read"));
    free(r.bytes), pelt_view_free(own);
    own = pelt_view_new(&(pelt_view_options){.serving = true}, &error);
    assert_int_equal(pelt_view_follow(own, &(pelt_view_stream){.path = path}, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "name its bundle"));
    assert_int_equal(pelt_view_resource(own, "data/live.bin", &r, &error), PELT_ERROR_ARGUMENT);
    pelt_view_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_lists_the_character_and_its_skin),
        cmocka_unit_test(meshes_poses_and_truth_are_the_librarys),
        cmocka_unit_test(errors_are_those_of_a_measure),
        cmocka_unit_test(a_skin_without_facts_is_shown_all_the_same),
        cmocka_unit_test(a_stopped_view_measures_nothing),
        cmocka_unit_test(a_page_that_is_not_whole_is_not_sent),
        cmocka_unit_test(displacements_make_up_the_skin),
        cmocka_unit_test(no_other_names_are_known),
        cmocka_unit_test(more_characters_than_there_is_room_for_are_refused),
        cmocka_unit_test(the_latest_live_pose_is_shown),
        cmocka_unit_test(live_poses_that_never_come_hold_nobody_up),
        cmocka_unit_test(surfaces_are_the_files_own),
        cmocka_unit_test(an_export_is_what_is_served),
        cmocka_unit_test(an_export_with_the_fitter_says_so),
        cmocka_unit_test(a_killed_export_leaves_nothing_for_long),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
