/* test_view.c: `pelt view` shows what the library computes, and exports what it shows. */

#include "io/tree.h"
#include "model/facts.h"
#include "model/targets.h"
#include "test/sections.h"
#include "test/viewed.h"
#include <dirent.h>
#include <fcntl.h>
#include <pelt/keys_fit.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef PELT_WITH_LIGHT
#include "light/live.h"
#endif

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
    json_decref(show);
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
    for (uint32_t c = 0; c < sample->clip_count; c++) {
        const pelt_clip *clip = sample->clips[c];
        pelt_transform locals[64];
        bytes = get(view, "data/c0/clip%u/poses.bin", c);
        assert_int_equal(bytes.size, (size_t)clip->frame_count * sample->skeleton.joint_count * sizeof *locals);
        for (uint32_t f = 0; f < clip->frame_count; f++) {
            pelt_clip_pose(clip, &sample->skeleton, f, locals);
            const pelt_transform *got = (const pelt_transform *)bytes.bytes + (size_t)f * sample->skeleton.joint_count;
            for (uint32_t j = 0; j < sample->skeleton.joint_count; j++)
                for (int i = 0; i < 4; i++) assert_near(got[j].rotation[i], locals[j].rotation[i], 1e-6);
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
    /* Known figures of a skin are not measured again. */
    json_t *figures = get_json(view, "data/c0/skin0/figures.json");
    assert_string_equal(json_string_value(json_object_get(figures, "on")), "training");
    assert_near(json_number_value(json_object_get(figures, "rms")), skin.facts->train.rms, 1e-9);
    assert_int_equal(json_integer_value(json_object_get(figures, "frames")), skin.facts->train.frame_count);
    assert_true(json_number_value(json_object_get(figures, "nanoseconds")) > 0);
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
           *known = get_json(view, "data/c0/skin0/inside.json"), *figures = get_json(old, "data/c0/skin0/figures.json");
    json_t *c = json_array_get(json_object_get(show, "characters"), 0);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(c, "skins"), 0), "facts")));
    assert_string_equal(json_string_value(json_object_get(figures, "on")), "measured");
    pelt_bundle *bundle = pelt_bundle_read(glb, &error);
    uint32_t frames = 0;
    for (uint32_t i = 0; i < bundle->clip_count; i++) frames += bundle->clips[i]->frame_count;
    assert_int_equal(json_integer_value(json_object_get(figures, "frames")), frames);
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
    json_decref(show), json_decref(inside), json_decref(known), json_decref(figures);
    pelt_bundle_free(bundle), pelt_bytes_free(bytes), pelt_view_free(old);
}

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
            "1,1,1],\"roughnessFactor\":0.25,"
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
    json_t *surface = get_json(own, "data/c0/surface.json"), *parts = json_object_get(surface, "parts");
    assert_int_equal(json_array_size(parts), 2);
    json_t *skin = json_array_get(parts, 0), *mask = json_array_get(parts, 1);
    assert_string_equal(json_string_value(json_object_get(skin, "name")), "<b>");
    assert_string_equal(json_string_value(json_object_get(skin, "material")), "skin");
    assert_near(number_in(json_object_get(skin, "color"), 0), 0.5, 1e-6);
    assert_near(json_number_value(json_object_get(skin, "roughness")), 0.25, 1e-6);
    assert_true(json_is_true(json_object_get(skin, "two_sided")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(skin, "wrap"), 0)), "clamp");
    assert_string_equal(json_string_value(json_array_get(json_object_get(skin, "wrap"), 1)), "mirror");
    assert_int_equal(json_integer_value(json_object_get(skin, "image")), 0);
    assert_true(json_is_null(json_object_get(mask, "image")));
    assert_string_equal(json_string_value(json_object_get(mask, "alpha")), "MASK");
    assert_near(json_number_value(json_object_get(mask, "cutoff")), 0.75, 1e-6);
    assert_int_equal(json_integer_value(json_object_get(mask, "first_triangle")), 1);
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
    assert_int_equal(count, compared + pelt_page_count());
    for (size_t i = 0; i < pelt_page_count(); i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", site, pelt_page_at(i)->name);
        assert_true(pelt_file_exists(path));
    }
    json_t *show = get_json(exported, "data/show.json");
    assert_true(json_is_false(json_object_get(show, "server")));
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

/* -- Light ------------------------------------------------------------------------------------------------------- */

#ifdef PELT_WITH_LIGHT
static void write_light(const char *path) {
    pelt_error error;
    pelt_light_view box;
    pelt_relight_training training;
    pelt_relight_report report;
    char frames[320];
    snprintf(frames, sizeof frames, "%s.frames", path);
    assert_int_equal(pelt_light_view_open(&box, "cornell", 45, 43, 2, &error), PELT_OK);
    pelt_relight_options options = {
        .grid = pelt_light_grid_default(&box), .samples = 32, .keys = 8, .basis = 3, .threads = 1};
    options.grid.columns = options.grid.rows = 2;
    if (pelt_relight_begin(&training, &box, &options, frames, &error) || pelt_relight_gather(&training, &error))
        fail_msg("%s", error.text);
    pelt_bytes *bytes = pelt_relight_train(&training, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_bytes_free(bytes);
    pelt_light_view_close(&box);
}

static bool never(void *user) { return (void)user, true; }

static void dragged_light_is_as_the_gathers_say(void **state) {
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    pelt_relight_seen seen;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    write_light(path);
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_light_view *v = &file.view;
    pelt_relight_live *live = pelt_relight_live_new(&file, &error);
    assert_non_null(live);
    size_t count = 3 * v->point_count, different = 0, pixels = (size_t)v->width * v->height;
    float *direct = malloc(count * sizeof *direct), *truth = malloc(count * sizeof *truth),
          *picture = malloc(3 * pixels * sizeof *picture);
    uint8_t *colors = malloc(3 * pixels), *again = malloc(3 * pixels);
    pelt_light light = pelt_light_grid_at(v, &file.facts.grid, 0.2, 0.7);
    /* Direct light, point by point. */
    uint64_t rays;
    assert_int_equal(pelt_relight_live_direct(live, light.position, 1, direct, &rays, &error), PELT_OK);
    assert_int_equal(pelt_tracer_set_light(v->tracer, &light, &error), PELT_OK);
    assert_int_equal(pelt_gather(v->tracer, v->points, v->point_count,
                                 &(pelt_gather_options){.samples = 16, .threads = 1}, truth, NULL, NULL, &error),
                     PELT_OK);
    for (size_t i = 0; i < count; i++) different += fabs(direct[i] - truth[i]) > 1e-5 * (1 + fabs(truth[i]));
    assert_true(different <= count / 400);
    assert_true(rays > 0 && rays < v->point_count);
    /* The picture, against the one written by `pelt relight run`: the same except for the white point. */
    pelt_relight_place place = {.samples = 64, .seed = 5, .threads = 1};
    pelt_relight_shot shot = {.light = light, .key_samples = 64, .seed = 5, .threads = 1, .no_fallback = true};
    pelt_relight_result result;
    memcpy(place.at, light.position, sizeof place.at);
    assert_int_equal(pelt_relight_live_draw(live, &place, colors, &seen, &error), PELT_OK);
    assert_int_equal(pelt_relight_picture(v, &file, &shot, picture, &result, &error), PELT_OK);
    assert_near(seen.misfit, result.misfit / file.facts.trust, 1e-6);
    double top = 0, white = 0;
    for (size_t i = 0; i < 3 * pixels; i++) /* the white that makes the brightest colour below white what it is */
        if (colors[i] < 255 && colors[i] > top)
            top = colors[i], white = picture[i] / pow((colors[i] / 255.0 + 0.055) / 1.055, 2.4);
    different = 0;
    for (size_t i = 0; i < 3 * pixels; i++) different += abs(colors[i] - pelt_light_srgb(picture[i], (float)white)) > 2;
    assert_true(top > 100 && different <= 3 * pixels / 100);
    /* A full gather can be stopped. */
    place.full = true, place.stop = never;
    assert_int_equal(pelt_relight_live_draw(live, &place, again, &seen, &error), PELT_ERROR_CANCELLED);
    place.stop = NULL;
    assert_int_equal(pelt_relight_live_draw(live, &place, again, &seen, &error), PELT_OK);
    shot.full = true, shot.samples = 64, shot.no_fallback = false;
    assert_int_equal(pelt_relight_picture(v, &file, &shot, picture, &result, &error), PELT_OK);
    different = 0;
    for (size_t i = 0; i < 3 * pixels; i++) different += abs(again[i] - pelt_light_srgb(picture[i], (float)white)) > 2;
    assert_true(different <= 3 * pixels / 100);
    free(direct), free(truth), free(picture), free(colors), free(again);
    pelt_relight_live_free(live);
    pelt_relight_close(&file);
}

static void assert_three(const json_t *object, const char *key, double x, double y, double z) {
    const double expected[] = {x, y, z};
    for (size_t i = 0; i < 3; i++) assert_near(number_in(json_object_get(object, key), i), expected[i], 1e-6);
}

static void a_box_of_light_is_shown_with_its_camera_and_its_room(void **state) {
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true}, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    const json_t *light = json_object_get(box, "light"), *camera = json_object_get(box, "camera"),
                 *extent = json_object_get(box, "extent"), *axes = json_object_get(camera, "axes");
    const pelt_light_grid *grid = &file.facts.grid;
    const pelt_camera *c = &file.view.camera;
    pelt_extent room = pelt_tracer_extent(file.view.tracer);
    pelt_light middle = pelt_light_grid_at(&file.view, grid, 0.5, 0.5);
    assert_true(json_is_true(json_object_get(json_object_get(show, "can"), "light")));
    assert_int_equal(json_integer_value(json_object_get(box, "width")), 45);
    assert_int_equal(json_integer_value(json_object_get(box, "height")), 43);
    assert_three(light, "at", middle.position[0], middle.position[1], middle.position[2]);
    assert_three(light, "least", grid->low[0], grid->low[1], grid->low[2]);
    assert_three(light, "most", grid->high[0], grid->high[1], grid->high[2]);
    assert_three(extent, "low", room.low[0], room.low[1], room.low[2]);
    assert_three(extent, "high", room.high[0], room.high[1], room.high[2]);
    assert_three(camera, "eye", c->eye[0], c->eye[1], c->eye[2]);
    for (size_t a = 0; a < 3; a++)
        for (size_t i = 0; i < 3; i++) assert_near(number_in(json_array_get(axes, a), i), c->axes[a][i], 1e-6);
    assert_near(json_number_value(json_object_get(camera, "field_of_view")), c->field_of_view, 1e-6);
    json_decref(show);
    pelt_view_free(own);
    pelt_relight_close(&file);
}

/* In a view: what comes before the colours, for lights all over the box. */
static void a_box_of_light_says_how_far_to_trust_it(void **state) {
    char path[300];
    pelt_error error;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true}, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    assert_string_equal(json_string_value(json_object_get(box, "kind")), "light");
    assert_true(json_is_true(json_object_get(json_object_get(show, "can"), "light")));
    uint32_t head[3], trusted = 0, doubted = 0;
    float misfit;
    for (int i = 0; i <= 27; i++) {
        pelt_view_lamp lamp = {
            .samples = 64,
            .at = {0.05f + 0.22f * (float)(i % 3), 0.04f + 0.22f * (float)(i / 3 % 3), 0.05f + 0.22f * (float)(i / 9)}};
        pelt_resource picture;
        if (i == 27)
            picture = get(own, "data/b0/picture.bin");
        else
            assert_int_equal(pelt_view_light(own, &lamp, &picture, &error), PELT_OK);
        memcpy(head, picture.bytes, sizeof head), memcpy(&misfit, (char *)picture.bytes + 12, sizeof misfit);
        assert_int_equal(head[0], json_integer_value(json_object_get(box, "width")));
        assert_int_equal(head[1], json_integer_value(json_object_get(box, "height")));
        assert_int_equal(picture.size, 20 + 3 * (size_t)head[0] * head[1]);
        assert_int_equal(head[2], misfit <= 1 ? 0 : misfit < 1.5f ? 1 : 2);
        trusted += misfit <= 1, doubted += misfit > 1;
        float milliseconds; /* those of the picture that is exported would differ each time */
        memcpy(&milliseconds, (char *)picture.bytes + 16, sizeof milliseconds);
        assert_true(i == 27 ? milliseconds == 0 : milliseconds > 0);
        free(picture.bytes);
    }
    assert_true(trusted && doubted);
    json_decref(show);
    pelt_view_free(own);
}
#endif

/* -- Faces ------------------------------------------------------------------------------------------------------- */

static pelt_result read_clip(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_clip *clip = user;
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)error;
    memcpy(values, clip->positions + first * row, count * row * sizeof *values);
    return PELT_OK;
}

/* Key points trained on one clip: their reconstruction of another, and its error. */
static void key_points_are_judged_against_the_truth(void **state) {
    char path[300];
    pelt_error error;
    pelt_keys_report report;
    pelt_frames frames = {.frame_count = sample->clips[0]->frame_count,
                          .point_count = sample->mesh.vertex_count,
                          .component_count = 3,
                          .read = read_clip,
                          .user = (void *)sample->clips[0]};
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)state;
    pelt_bytes *bytes = pelt_keys_train(
        &frames, &(pelt_keys_options){.keys = 8, .basis = 2, .positions = sample->mesh.positions}, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/points.keys", test_folder());
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_bytes_free(bytes);
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(own, path);
    add(own, glb);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    assert_string_equal(json_string_value(json_object_get(box, "kind")), "face");
    assert_int_equal(json_array_size(json_object_get(box, "keys")), 8);
    assert_int_equal(json_array_size(json_object_get(box, "clips")), 2);
    assert_int_equal(json_integer_value(json_object_get(box, "points")), sample->mesh.vertex_count);
    assert_int_equal(json_integer_value(json_object_get(box, "basis")), 2);
    for (uint32_t c = 0; c < 2; c++) {
        const json_t *shown = json_array_get(json_object_get(box, "clips"), c);
        char name[60];
        assert_string_equal(json_string_value(json_object_get(shown, "name")), sample->clips[c]->name);
        assert_int_equal(json_integer_value(json_object_get(shown, "frames")), sample->clips[c]->frame_count);
        static const char *const kinds[] = {"truth", "keyed", "verdicts"}, *const ends[] = {"truth/%d.bin",
                                                                                            "keyed/%d.bin",
                                                                                            "verdicts.json"};
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "data/b0/clip%u/%s", c, ends[k]);
            assert_string_equal(json_string_value(json_object_get(shown, kinds[k])), name);
        }
    }
    json_t *verdicts = get_json(own, "data/b0/clip1/verdicts.json"), *misfits = json_object_get(verdicts, "misfit");
    const pelt_clip *clip = sample->clips[1];
    assert_int_equal(json_array_size(misfits), clip->frame_count);
    pelt_keys keys;
    bytes = pelt_keys_read(path, &keys, &error);
    void *scratch = aligned_alloc(64, pelt_keys_scratch_size(&keys, 1));
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        float at_keys[8][3];
        pelt_misfit misfit;
        for (int k = 0; k < 8; k++)
            memcpy(at_keys[k], clip->positions + f * row + 3 * (size_t)keys.key_points[k], sizeof at_keys[k]);
        pelt_keys_solve(&keys, at_keys[0], 1, scratch, &misfit);
        assert_near(number_in(misfits, f), misfit.e, 1e-4 * misfit.e);
    }
    free(scratch), pelt_bytes_free(bytes);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_resource keyed = get(own, "data/b0/clip1/keyed/%u.bin", f),
                      truth = get(own, "data/b0/clip1/truth/%u.bin", f);
        const float *a = keyed.bytes, *b = clip->positions + f * row;
        double most = 0;
        assert_int_equal(keyed.size, row * sizeof(float));
        assert_int_equal(truth.size, row * sizeof(float));
        assert_memory_equal(truth.bytes, b, row * sizeof(float));
        for (size_t p = 0; p < row; p += 3)
            most = fmax(most, sqrt(pow(a[p] - b[p], 2) + pow(a[p + 1] - b[p + 1], 2) + pow(a[p + 2] - b[p + 2], 2)));
        assert_near(number_in(json_object_get(verdicts, "error"), f), most, 1e-6);
        const char *verdict = json_string_value(json_array_get(json_object_get(verdicts, "verdict"), f));
        if (number_in(misfits, f) > 1.5) assert_string_not_equal(verdict, "hit");
        free(keyed.bytes), free(truth.bytes);
    }
    json_decref(verdicts), json_decref(show);
    pelt_view_free(own);
}

/* Key points and a cache without a character: the mesh is the mean of the points, and the truth is in the cache. */
static void key_points_alone_show_their_mean(void **state) {
    char path[300];
    pelt_error error;
    pelt_keys keys;
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)state;
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    snprintf(path, sizeof path, "%s/points.keys", test_folder());
    add(own, path);
    pelt_bytes *bytes = pelt_keys_read(path, &keys, &error);
    snprintf(path, sizeof path, "%s/box.test.pc2", test_folder());
    add(own, path);
    if (pelt_view_arrange(own, &error)) fail_msg("%s", error.text);
    pelt_resource mesh = get(own, "data/b0/mesh.bin");
    const float *positions = (const float *)((char *)mesh.bytes + 8);
    assert_int_equal(mesh.size, 8 + 2 * row * sizeof(float));
    for (size_t i = 0; i < row; i++) {
        assert_near(positions[i], keys.mean[i], 1e-6);
        assert_true(positions[row + i] == (i % 3 == 2));
    }
    free(mesh.bytes);
    for (uint32_t f = 0; f < sample->clips[1]->frame_count; f++) {
        pelt_resource truth = get(own, "data/b0/clip0/truth/%u.bin", f);
        assert_memory_equal(truth.bytes, sample->clips[1]->positions + f * row, row * sizeof(float));
        free(truth.bytes);
    }
    pelt_resource none;
    assert_int_equal(pelt_view_resource(own, "data/b0/clip1/truth/0.bin", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(own, "data/b1/mesh.bin", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(own, "data/b0/picture.bin", &none, &error), PELT_ERROR_ARGUMENT);
    pelt_bytes_free(bytes), pelt_view_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_lists_the_character_and_its_skin),
        cmocka_unit_test(meshes_poses_and_truth_are_the_librarys),
        cmocka_unit_test(errors_are_those_of_a_measure),
        cmocka_unit_test(a_skin_without_facts_is_shown_all_the_same),
        cmocka_unit_test(displacements_make_up_the_skin),
        cmocka_unit_test(no_other_names_are_known),
        cmocka_unit_test(more_characters_than_there_is_room_for_are_refused),
        cmocka_unit_test(surfaces_are_the_files_own),
        cmocka_unit_test(an_export_is_what_is_served),
        cmocka_unit_test(a_killed_export_leaves_nothing_for_long),
#ifdef PELT_WITH_LIGHT
        cmocka_unit_test(dragged_light_is_as_the_gathers_say),
        cmocka_unit_test(a_box_of_light_is_shown_with_its_camera_and_its_room),
        cmocka_unit_test(a_box_of_light_says_how_far_to_trust_it),
#endif
        cmocka_unit_test(key_points_are_judged_against_the_truth),
        cmocka_unit_test(key_points_alone_show_their_mean),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
