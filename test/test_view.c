/* test_view.c: what `pelt view` shows is what the library says; what it exports is what it serves; and nobody else gets
   anything. Requests are written by hand, byte by byte, so that the wrong ones can be. */

#include "io/io.h"
#include "io/tree.h"
#include "pack/targets.h"
#include "test/sampled.h"
#include "view/view.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#ifdef PELT_WITH_SERVER
#include "view/server.h"
#endif
#ifdef PELT_WITH_LIGHT
#include "light/live.h"
#endif

/* -- A character in files --------------------------------------------------------------------------------------------- */

static pelt_bundle *sample;              /* as it was made */
static char glb[300], eigen_path[300];   /* as it is in files */
static pelt_view *view;

static void write_sample(void) {
    char path[300];
    pelt_error error;
    pelt_gltf_content content = {.mesh = &sample->mesh, .skeleton = &sample->skeleton, .clips = sample->clips,
                                 .clip_count = sample->clip_count, .name = "box"};
    snprintf(glb, sizeof glb, "%s/box.glb", test_folder());
    if (pelt_gltf_write(glb, &content, &error)) fail_msg("%s", error.text);
    for (uint32_t c = 0; c < sample->clip_count; c++) {
        const pelt_clip *clip = sample->clips[c];
        snprintf(path, sizeof path, "%s/box.%s.pc2", test_folder(), clip->name);
        pelt_cache_writer *writer = pelt_cache_writer_open(path, clip->frame_count, &sample->mesh, 30, &error);
        assert_non_null(writer);
        for (size_t f = 0; f < clip->frame_count; f++)
            pelt_cache_writer_frame(writer, clip->positions + 3 * f * sample->mesh.vertex_count);
        assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    }
}

static pelt_bytes *fit_box(const char *path, pelt_method method, pelt_error *error) {
    pelt_bundle *bundle = pelt_bundle_read(path, error);
    const pelt_clip *train = bundle ? pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, error) : NULL;
    pelt_bytes *skin = NULL;
    pelt_fit_report report;
    if (train) skin = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1), &(pelt_fit_options){.method = method, .holdout = -1}, &report, error);
    if (skin) pelt_fit_report_free(&report);
    pelt_bundle_free(bundle);
    return skin;
}

/* Stands in for `pelt fit`: its words are checked, one of them never ends. */
static pelt_bytes *test_fit(const char *path, size_t count, const char *const *words, const pelt_progress *progress,
                            pelt_error *error) {
    if (count == 1 && !strcmp(words[0], "endless")) {
        struct timespec pause = {0, 1000000};
        while (!progress->step(progress->user, "for ever", 0.25)) nanosleep(&pause, NULL);
        pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        return NULL;
    }
    if (count != 2 || strcmp(words[0], "--method") || strcmp(words[1], "ssd")) {
        pelt_fail(error, PELT_ERROR_DATA, "--method %s: there is no such method", count > 1 ? words[1] : "");
        return NULL;
    }
    return fit_box(path, PELT_METHOD_SSD, error);
}

static void add(pelt_view *to, const char *path) {
    pelt_error error;
    if (pelt_view_add(to, path, &error)) fail_msg("%s", error.text);
}

static pelt_view *open_box(bool serving) {
    pelt_error error;
    pelt_view *made = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = serving, .fit = test_fit}, &error);
    assert_non_null(made);
    add(made, eigen_path); /* before the character that it is for */
    add(made, glb);
    if (pelt_view_arrange(made, &error)) fail_msg("%s", error.text);
    return made;
}

static int open_all(void **state) {
    pelt_error error;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sample = pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 150, .frames = 6}, &error);
    if (!sample) fail_msg("%s", error.text);
    write_sample();
    pelt_bytes *skin = fit_box(glb, PELT_METHOD_EIGEN, &error);
    if (!skin) fail_msg("%s", error.text);
    snprintf(eigen_path, sizeof eigen_path, "%s/eigen.pelt", test_folder());
    assert_int_equal(pelt_bytes_write(skin, eigen_path, &error), PELT_OK);
    pelt_bytes_free(skin);
    view = open_box(true);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pelt_view_free(view);
    pelt_bundle_free(sample);
    return 0;
}

/* -- Resources ---------------------------------------------------------------------------------------------------------- */

static pelt_resource get(pelt_view *from, const char *format, ...) {
    char name[200];
    pelt_error error;
    pelt_resource resource;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (pelt_view_resource(from, name, &resource, &error)) fail_msg("%s: %s", name, error.text);
    return resource;
}

static json_t *get_json(pelt_view *from, const char *name) {
    pelt_resource resource = get(from, "%s", name);
    json_t *object = json_loadb(resource.bytes, resource.size, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    free(resource.bytes);
    return object;
}

static double number_in(const json_t *list, size_t i) {
    assert_true(json_is_number(json_array_get(list, i)));
    return json_number_value(json_array_get(list, i));
}

static void show_lists_the_character_and_its_skin(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json"), *characters = json_object_get(show, "characters");
    assert_int_equal(json_array_size(characters), 1);
    json_t *c = json_array_get(characters, 0), *joints = json_object_get(c, "joints"), *clips = json_object_get(c, "clips");
    assert_string_equal(json_string_value(json_object_get(c, "file")), "box.glb");
    assert_int_equal(json_integer_value(json_object_get(c, "vertices")), sample->mesh.vertex_count);
    assert_int_equal(json_integer_value(json_object_get(c, "triangles")), sample->mesh.triangle_count);
    assert_near(json_number_value(json_object_get(c, "diagonal")), sample->mesh.diagonal, 1e-6);
    assert_int_equal(json_array_size(joints), sample->skeleton.joint_count);
    for (uint32_t j = 0; j < sample->skeleton.joint_count; j++) {
        const json_t *joint = json_array_get(joints, j);
        assert_string_equal(json_string_value(json_object_get(joint, "name")), sample->skeleton.names[j]);
        for (size_t i = 0; i < 12; i++)
            assert_near(number_in(json_object_get(joint, "inverse_bind"), i), sample->skeleton.inverse_bind[j][i], 1e-6);
    }
    assert_int_equal(json_array_size(clips), sample->clip_count);
    assert_int_equal(json_array_size(json_object_get(c, "skins")), 1);
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
    assert_int_equal(json_integer_value(json_array_get(json_object_get(errors, "worst_vertex"), m->worst_frame)), m->worst_vertex);
    json_decref(errors);
    /* What the skin knows of itself is not measured again. */
    json_t *figures = get_json(view, "data/c0/skin0/figures.json"), *about = json_loads(skin.about, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(figures, "on")), "training");
    assert_near(json_number_value(json_object_get(figures, "rms")),
                json_number_value(json_object_get(json_object_get(about, "train"), "rms")), 1e-9);
    assert_true(json_number_value(json_object_get(figures, "nanoseconds")) > 0);
    json_decref(figures), json_decref(about);
    pelt_measure_free(m), pelt_bundle_free(bundle), pelt_bytes_free(bytes);
}

/* S(v0 + sum a_k u_k), with displacements as they are shown, is what the run time makes of every pose. */
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
    json_t *inside = get_json(view, "data/c0/skin0/inside.json"), *supports = json_object_get(inside, "supports"), *support;
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

/* Names are compared, and never lead anywhere. */
static void no_other_names_are_known(void **state) {
    static const char *const names[] = {
        "", "data", "data/", "data/c0", "data/c1/mesh.bin", "data/c00/mesh.bin", "data/c-1/mesh.bin", "data/c+0/mesh.bin",
        "data/c0/mesh.bin/", "data/c0/mesh.bin ", "data/c4294967296/mesh.bin", "data/c99999999999999999999/mesh.bin",
        "data/c0/../show.json", "data/../data/show.json", "data//show.json", "/data/show.json", "data/c0/clip9/poses.bin",
        "data/c0/clip0/truth/6.bin", "data/c0/clip0/truth/999999999.bin", "data/c0/skin1.pelt", "data/c0/skin0/support999.bin",
        "data/c0/skin0/displacement9999.bin", "data/c0/skin0/clip7.json", "data/c0/uvs.bin", "data/c0/image0", "data/b0/mesh.bin",
        "data/c0/controls.bin", "data/c0/clip0/controls.bin", "../box.glb", "/etc/passwd", "data/%2e%2e/show.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pelt_error error;
        pelt_resource resource;
        if (pelt_view_resource(view, names[i], &resource, &error) != PELT_ERROR_ARGUMENT) fail_msg("%s", names[i]);
        assert_null(resource.bytes);
    }
}

/* -- Surfaces -------------------------------------------------------------------------------------------------------------- */

static const char PNG[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/* Two triangles of two materials in one file, as text; texture coordinates are turned by a quarter and moved. */
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
            "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"name\":\"<b>\"}],"
            "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_1\":1},\"material\":0},"
            "{\"attributes\":{\"POSITION\":0},\"material\":1}]}],"
            "\"materials\":[{\"name\":\"skin\",\"doubleSided\":true,\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.5,1,1,1],\"roughnessFactor\":0.25,"
            "\"baseColorTexture\":{\"index\":0,\"texCoord\":1,\"extensions\":{\"KHR_texture_transform\":{\"rotation\":1.5707963267948966,\"offset\":[10,20],\"scale\":[2,4]}}}}},"
            "{\"alphaMode\":\"MASK\",\"alphaCutoff\":0.75}],"
            "\"textures\":[{\"source\":0,\"sampler\":0}],\"samplers\":[{\"wrapS\":33071,\"wrapT\":33648}],"
            "\"images\":[{\"uri\":\"data:image/png;base64,%s\"}],"
            "\"buffers\":[{\"byteLength\":60,\"uri\":\"data:application/octet-stream;base64,%s\"}],"
            "\"bufferViews\":[{\"buffer\":0,\"byteLength\":60}],"
            "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
            "{\"bufferView\":0,\"byteOffset\":36,\"componentType\":5126,\"count\":3,\"type\":\"VEC2\"}]}", PNG, base64);
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

/* -- Export ---------------------------------------------------------------------------------------------------------------- */

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
    /* Stopped half way, nothing is left. */
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
    /* What is there is not written over. */
    assert_int_equal(pelt_view_export(exported, site, &go, NULL, &error), PELT_ERROR_FILE);
    pelt_folder_remove(site);
    pelt_view_free(exported);
}

/* -- Light ------------------------------------------------------------------------------------------------------------------- */

#ifdef PELT_WITH_LIGHT
static void write_light(const char *path) {
    pelt_error error;
    pelt_light_view box;
    pelt_relight_training training;
    pelt_relight_report report;
    char frames[320];
    snprintf(frames, sizeof frames, "%s.frames", path);
    assert_int_equal(pelt_light_view_open(&box, "cornell", 45, 43, 2, &error), PELT_OK);
    pelt_relight_options options = {.grid = pelt_light_grid_default(&box), .samples = 32, .keys = 8, .basis = 3, .threads = 1};
    options.grid.columns = options.grid.rows = 2;
    if (pelt_relight_begin(&training, &box, &options, frames, &error) || pelt_relight_gather(&training, &error)) fail_msg("%s", error.text);
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
    float *direct = malloc(count * sizeof *direct), *truth = malloc(count * sizeof *truth), *picture = malloc(3 * pixels * sizeof *picture);
    uint8_t *colors = malloc(3 * pixels), *again = malloc(3 * pixels);
    pelt_light light = pelt_light_grid_at(v, &file.about.grid, 0.2, 0.7);
    /* Direct light, point by point. */
    uint64_t rays;
    assert_int_equal(pelt_relight_live_direct(live, light.position, 1, direct, &rays, &error), PELT_OK);
    assert_int_equal(pelt_tracer_set_light(v->tracer, &light, &error), PELT_OK);
    assert_int_equal(pelt_gather(v->tracer, v->points, v->point_count, &(pelt_gather_options){.samples = 16, .threads = 1}, truth, NULL, NULL, &error), PELT_OK);
    for (size_t i = 0; i < count; i++) different += fabs(direct[i] - truth[i]) > 1e-5 * (1 + fabs(truth[i]));
    assert_true(different <= count / 400);
    assert_true(rays > 0 && rays < v->point_count);
    /* The picture, against the one that `pelt relight run` writes: the same but for one white. */
    pelt_relight_place place = {.samples = 64, .seed = 5, .threads = 1};
    pelt_relight_shot shot = {.light = light, .key_samples = 64, .seed = 5, .threads = 1, .no_fallback = true};
    pelt_relight_result result;
    memcpy(place.at, light.position, sizeof place.at);
    assert_int_equal(pelt_relight_live_draw(live, &place, colors, &seen, &error), PELT_OK);
    assert_int_equal(pelt_relight_picture(v, &file, &shot, picture, &result, &error), PELT_OK);
    assert_near(seen.misfit, result.misfit / file.about.trust, 1e-6);
    double top = 0, white = 0;
    for (size_t i = 0; i < 3 * pixels; i++) /* the white that makes the brightest colour below white what it is */
        if (colors[i] < 255 && colors[i] > top) top = colors[i], white = picture[i] / pow((colors[i] / 255.0 + 0.055) / 1.055, 2.4);
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
        pelt_view_lamp lamp = {.samples = 64, .at = {0.05f + 0.22f * (float)(i % 3), 0.04f + 0.22f * (float)(i / 3 % 3), 0.05f + 0.22f * (float)(i / 9)}};
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
        free(picture.bytes);
    }
    assert_true(trusted && doubted);
    json_decref(show);
    pelt_view_free(own);
}
#endif

/* -- Faces ------------------------------------------------------------------------------------------------------------------- */

static pelt_result read_clip(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_clip *clip = user;
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)error;
    memcpy(values, clip->positions + first * row, count * row * sizeof *values);
    return PELT_OK;
}

/* Key points trained on one clip: what they say of another, and how far off that is. */
static void key_points_are_judged_against_the_truth(void **state) {
    char path[300];
    pelt_error error;
    pelt_keys_report report;
    pelt_frames frames = {.frame_count = sample->clips[0]->frame_count, .point_count = sample->mesh.vertex_count, .component_count = 3,
                          .read = read_clip, .user = (void *)sample->clips[0]};
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)state;
    pelt_bytes *bytes = pelt_keys_train(&frames, &(pelt_keys_options){.keys = 8, .basis = 2, .positions = sample->mesh.positions}, &report, &error);
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
    json_t *verdicts = get_json(own, "data/b0/clip1/verdicts.json"), *misfits = json_object_get(verdicts, "misfit");
    const pelt_clip *clip = sample->clips[1];
    assert_int_equal(json_array_size(misfits), clip->frame_count);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_resource keyed = get(own, "data/b0/clip1/keyed/%u.bin", f), truth = get(own, "data/b0/clip1/truth/%u.bin", f);
        const float *a = keyed.bytes, *b = clip->positions + f * row;
        double most = 0;
        assert_int_equal(keyed.size, row * sizeof(float));
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

/* -- The server -------------------------------------------------------------------------------------------------------------- */

#ifdef PELT_WITH_SERVER
static pelt_server *server;
static char *folder;
static char answer[1 << 20];
static size_t answer_size;

static int start_server(void **state) {
    pelt_error error;
    (void)state;
    folder = pelt_private_folder(&error);
    assert_non_null(folder);
    server = pelt_server_start(view, &(pelt_server_options){.folder = folder, .request_seconds = 0.4}, &error);
    if (!server) fail_msg("%s", error.text);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    pelt_server_stop(server);
    pelt_folder_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    free(folder);
    return 0;
}

static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(pelt_server_port(server))};
    struct timeval limit = {10, 0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
    return line;
}

static void say(int line, const char *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(line, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return; /* refused before the end */
        bytes += sent, size -= (size_t)sent;
    }
}

/* All that comes until the other side closes; the status. */
static int listen_to(int line) {
    answer_size = 0;
    for (ssize_t got; answer_size + 1 < sizeof answer &&
                      (got = recv(line, answer + answer_size, sizeof answer - 1 - answer_size, 0)) > 0;)
        answer_size += (size_t)got;
    answer[answer_size] = 0;
    close(line);
    return answer_size > 12 && !strncmp(answer, "HTTP/1.1 ", 9) ? atoi(answer + 9) : 0;
}

static int request(const char *format, ...) {
    char text[20000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int line = dial();
    say(line, text, (size_t)length);
    return listen_to(line);
}

static const char *body(void) {
    const char *at = strstr(answer, "\r\n\r\n");
    return at ? at + 4 : "";
}

static char good_headers[300];
static const char *good(void) {
    snprintf(good_headers, sizeof good_headers, "Host: 127.0.0.1:%u\r\nConnection: close\r\nX-Pelt-Key: %s\r\n",
             pelt_server_port(server), pelt_server_key(server));
    return good_headers;
}

static int ask(const char *method, const char *url) { return request("%s %s HTTP/1.1\r\n%s\r\n", method, url, good()); }

static int post(const char *url, const char *json) {
    return request("POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", url, good(),
                   strlen(json), json);
}

static json_t *answered(void) {
    json_t *object = json_loads(body(), 0, NULL);
    if (!object) fail_msg("%s", answer);
    return object;
}

/* Every failure is a sentence. */
static void assert_sentence(void) {
    json_t *object = answered();
    assert_true(strlen(json_string_value(json_object_get(json_object_get(object, "error"), "text"))) > 10);
    json_decref(object);
}

static void what_is_served_is_the_resource(void **state) {
    static const char *const names[] = {"data/show.json", "data/c0/mesh.bin", "data/c0/clip1/truth/2.bin", "data/c0/skin0.pelt",
                                        "data/c0/skin0/figures.json", "data/c0/skin0/clip0.json", "data/c0/skin0/inside.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char url[100];
        snprintf(url, sizeof url, "/%s", names[i]);
        assert_int_equal(ask("GET", url), 200);
        pelt_resource resource = get(view, "%s", names[i]);
        size_t head = (size_t)(body() - answer);
        assert_int_equal(answer_size - head, resource.size);
        assert_memory_equal(body(), resource.bytes, resource.size);
        free(resource.bytes);
        assert_non_null(strstr(answer, "Cache-Control: no-store"));
        assert_non_null(strstr(answer, "X-Content-Type-Options: nosniff"));
        assert_non_null(strstr(answer, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"));
        assert_null(strstr(answer, "Access-Control-Allow"));
    }
    if (!pelt_page_count()) return;
    assert_int_equal(request("GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", pelt_server_port(server)), 200);
    assert_non_null(strstr(body(), "<!doctype html>"));
    assert_non_null(strstr(answer, "frame-ancestors 'none'"));
    assert_null(strstr(answer, pelt_server_key(server)));
}

static void others_are_refused(void **state) {
    const char *key = pelt_server_key(server);
    unsigned port = pelt_server_port(server);
    (void)state;
    /* Without the key, with another, with one that is nearly right. */
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", port), 403);
    assert_sentence();
    char near[64];
    snprintf(near, sizeof near, "%s", key), near[31] = near[31] == '0' ? '1' : '0';
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Pelt-Key: %s\r\nConnection: close\r\n\r\n", port, near), 403);
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Pelt-Key: %.31s\r\nConnection: close\r\n\r\n", port, key), 403);
    assert_int_equal(request("GET /data/show.json?key=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", key, port), 403);
    /* By another name: a page elsewhere whose name now leads here. Also for the page itself. */
    static const char *const hosts[] = {"evil.example", "evil.example:%u", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:%u.evil.example",
                                        "localhost.evil.example:%u", "", "127.0.0.1:%u\r\nHost: 127.0.0.1:%u", "127.0.0.1:%u\r\nHost: evil.example"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char host[200];
        snprintf(host, sizeof host, hosts[i], port, port);
        int status = request("GET /data/show.json HTTP/1.1\r\nHost: %s\r\nX-Pelt-Key: %s\r\nConnection: close\r\n\r\n", host, key);
        if (status != 403 && status != 400) fail_msg("Host %s: %d", host, status);
        status = request("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
        if (status != 403 && status != 400) fail_msg("Host %s: %d", host, status);
    }
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\nHost: localhost:%u\r\nX-Pelt-Key: %s\r\nConnection: close\r\n\r\n", port, key), 200);
    /* From another page. */
    static const char *const origins[] = {"Origin: http://evil.example", "Origin: null", "Origin: http://127.0.0.1:1", "Origin: https://127.0.0.1:%u",
                                          "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:%u\r\nOrigin: http://evil.example"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        char origin[200];
        snprintf(origin, sizeof origin, origins[i], port);
        int status = request("GET /data/show.json HTTP/1.1\r\n%s%s\r\n\r\n", good(), origin);
        if (status != 403) fail_msg("%s: %d", origin, status);
    }
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\n%sOrigin: http://127.0.0.1:%u\r\nSec-Fetch-Site: same-origin\r\n\r\n", good(), port), 200);
}

static void only_its_own_methods_and_names(void **state) {
    static const char *const methods[] = {"PUT", "HEAD", "OPTIONS", "DELETE", "POST", "PATCH", "TRACE", "BREW"};
    static const char *const urls[] = {"/data/../../etc/passwd", "/data/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                                       "/data/c0/mesh.bin%00.png", "/data//etc/passwd", "/data/c0/skin0.pelt/", "//data/show.json", "/api", "/api/",
                                       "/api/job/1x", "/api/job/-1", "/api/job/99999999999999999999", "/assets/../data/show.json", "/api/nothing", "/data/%ff%fe",
                                       "/index.htm", "/.git/config"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        int status = ask(methods[i], "/data/show.json");
        if (status != 405 && status != 400 && status != 501) fail_msg("%s: %d", methods[i], status);
        assert_null(strstr(answer, "characters"));
    }
    assert_int_equal(ask("GET", "/api/fit"), 405);
    assert_non_null(strstr(answer, "Allow: "));
    assert_int_equal(ask("PUT", "/"), pelt_page_count() ? 405 : 404);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        int status = ask("GET", urls[i]);
        if (status != 404 && status != 405 && status != 400 && !(status == 200 && strstr(urls[i], "%00"))) fail_msg("%s: %d", urls[i], status);
        assert_null(strstr(answer, "root:"));
    }
}

static void too_much_is_refused(void **state) {
    static char huge[200000];
    (void)state;
    /* A header, a name, a body. */
    memset(huge, 'a', sizeof huge - 1);
    int line = dial();
    say(line, "GET / HTTP/1.1\r\nX: ", 19), say(line, huge, sizeof huge - 1), say(line, "\r\n\r\n", 4);
    int status = listen_to(line);
    assert_true(status == 0 || (status >= 400 && status < 500));
    line = dial();
    say(line, "GET /data/", 10), say(line, huge, sizeof huge - 1), say(line, " HTTP/1.1\r\n\r\n", 13);
    status = listen_to(line);
    assert_true(status == 0 || (status >= 400 && status < 500));
    assert_int_equal(request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n{}", good()), 413);
    assert_sentence();
    assert_int_equal(request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", good()), 411);
    status = request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: -1\r\n\r\n", good());
    assert_true(status == 400 || status == 413 || status == 0);
    status = request("POST /api/bundle?name=a.glb HTTP/1.1\r\n%sContent-Type: application/octet-stream\r\nContent-Length: 999999999999\r\n\r\n", good());
    assert_int_equal(status, 413);
    /* What is no JSON, or another, is a sentence; a page elsewhere can send forms without asking, so they are refused. */
    static const char *const bodies[] = {"", "{", "[]", "1", "{\"a\":1,\"a\":2}", "{\"character\":0}", "{\"character\":-1,\"words\":[]}",
                                         "{\"character\":0,\"words\":[1]}", "{\"character\":0.5,\"words\":[]}", "{\"character\":7,\"words\":[]}",
                                         "{\"character\":0,\"words\":[\"\\u0000\"]}", "\xff\xfe"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        status = post("/api/fit", bodies[i]);
        if (status != 400 && status != 404) fail_msg("%s: %d", bodies[i], status);
        assert_sentence();
        status = post("/api/light", bodies[i]);
        if (status != 400 && status != 404) fail_msg("%s: %d", bodies[i], status);
    }
    assert_int_equal(request("POST /api/fit HTTP/1.1\r\n%sContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", good()), 415);
    assert_int_equal(post("/api/light", "{\"box\":0,\"at\":[0,0,0]}"), 404);
    assert_int_equal(ask("GET", "/data/show.json"), 200);
}

/* Clients that ask by halves, do not ask at all, or do not listen: others are served meanwhile, and they are cut off. */
static void slow_clients_hold_nothing(void **state) {
    enum { SLOW = 100 };
    int lines[SLOW];
    struct timespec pause = {0, 50000000};
    (void)state;
    for (int i = 0; i < SLOW; i++) {
        char half[300];
        lines[i] = dial();
        int length = snprintf(half, sizeof half, "GET /data/c0/skin0.pelt HTTP/1.1\r\n%s\r\n", good());
        if (i % 4 == 0) say(lines[i], "G", 1);
        if (i % 4 == 1) say(lines[i], half, (size_t)length - 3);
        if (i % 4 == 2) say(lines[i], "POST /api/fit HTTP/1.1\r\n", 24);
    }
    for (int i = 0; i < 5; i++) assert_int_equal(ask("GET", "/data/c0/mesh.bin"), 200);
    /* One that sends a letter now and then is cut off all the same. */
    bool cut = false;
    for (int i = 0; i < 60 && !cut; i++) {
        char letter;
        nanosleep(&pause, NULL);
        send(lines[1], "a", 1, MSG_NOSIGNAL);
        cut = recv(lines[1], &letter, 1, MSG_DONTWAIT) == 0;
    }
    assert_true(cut);
    for (int i = 0; i < SLOW; i++) {
        char letter[4096];
        if (i != 1)
            while (recv(lines[i], letter, sizeof letter, 0) > 0) continue; /* all are closed by now, or soon */
        close(lines[i]);
    }
}

/* Far more answers than the system keeps for a connection, none of which is taken. */
static void who_stops_reading_is_cut_off(void **state) {
    enum { REQUESTS = 2000 };
    static char many[REQUESTS * 200], taken[1 << 16];
    struct timespec pause = {0, 100000000};
    size_t length = 0, got = 0;
    int small = 4096, line = dial();
    (void)state;
    setsockopt(line, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < REQUESTS; i++)
        length += (size_t)snprintf(many + length, 200, "GET /data/c0/skin0.pelt HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Pelt-Key: %s\r\n\r\n",
                                   pelt_server_port(server), pelt_server_key(server));
    say(line, many, length);
    for (int i = 0; i < 10; i++) {
        nanosleep(&pause, NULL);
        if (i % 3 == 0) assert_int_equal(ask("GET", "/data/show.json"), 200);
    }
    for (ssize_t n; (n = recv(line, taken, sizeof taken, 0)) > 0;) got += (size_t)n;
    close(line);
    pelt_resource skin = get(view, "data/c0/skin0.pelt");
    assert_true(got > 0 && got < REQUESTS * skin.size / 2);
    free(skin.bytes);
}

static void a_hundred_clients_at_once_are_served(void **state) {
    enum { CLIENTS = 100 };
    int lines[CLIENTS];
    char text[400];
    (void)state;
    pelt_resource truth = get(view, "data/c0/clip0/truth/1.bin");
    int length = snprintf(text, sizeof text, "GET /data/c0/clip0/truth/1.bin HTTP/1.1\r\n%s\r\n", good());
    for (int i = 0; i < CLIENTS; i++) lines[i] = dial();
    for (int i = 0; i < CLIENTS; i++) say(lines[i], text, (size_t)length);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(listen_to(lines[i]), 200);
        assert_memory_equal(body(), truth.bytes, truth.size);
    }
    free(truth.bytes);
}

/* -- Jobs ------------------------------------------------------------------------------------------------------------------------ */

static void wait_for_job(int number, char state[20], json_t **last) {
    struct timespec pause = {0, 5000000};
    char url[40];
    snprintf(url, sizeof url, "/api/job/%d", number);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(ask("GET", url), 200);
        *last = answered();
        snprintf(state, 20, "%s", json_string_value(json_object_get(*last, "state")));
        if (strcmp(state, "running")) return;
        json_decref(*last);
        nanosleep(&pause, NULL);
    }
    fail_msg("job %d does not end", number);
}

static int start_job(const char *words) {
    char text[300];
    snprintf(text, sizeof text, "{\"character\":0,\"words\":%s,\"name\":\"<i>new\"}", words);
    if (post("/api/fit", text) != 200) return 0;
    json_t *object = answered();
    int number = (int)json_integer_value(json_object_get(object, "job"));
    json_decref(object);
    return number;
}

static void fits_end_fail_and_are_cancelled(void **state) {
    char how[20];
    json_t *last;
    (void)state;
    wait_for_job(start_job("[\"--method\",\"ssd\"]"), how, &last);
    assert_string_equal(how, "done");
    assert_int_equal(json_integer_value(json_object_get(last, "skin")), 1);
    json_decref(last);
    assert_int_equal(ask("GET", "/data/c0/skin1.pelt"), 200);
    pelt_error error;
    pelt_bytes *same = fit_box(glb, PELT_METHOD_SSD, &error);
    assert_memory_equal(body(), same->bytes, same->size);
    pelt_bytes_free(same);
    json_t *show = get_json(view, "data/show.json");
    json_t *skins = json_object_get(json_array_get(json_object_get(show, "characters"), 0), "skins");
    assert_string_equal(json_string_value(json_object_get(json_array_get(skins, 1), "name")), "<i>new");
    json_decref(show);
    wait_for_job(start_job("[\"--method\",\"magic\"]"), how, &last);
    assert_string_equal(how, "failed");
    assert_string_equal(json_string_value(json_object_get(json_object_get(last, "error"), "text")), "--method magic: there is no such method");
    json_decref(last);
    /* One that runs, and all that wait behind it; more are refused. */
    int numbers[12], refused = 0;
    for (int i = 0; i < 12; i++) refused += !(numbers[i] = start_job("[\"endless\"]"));
    assert_true(refused > 0 && refused < 12 && numbers[0]);
    for (int i = 0; i < 12; i++) {
        char url[40];
        if (!numbers[i]) continue;
        snprintf(url, sizeof url, "/api/job/%d", numbers[i]);
        assert_int_equal(ask("DELETE", url), 200);
    }
    for (int i = 0; i < 12; i++) {
        if (!numbers[i]) continue;
        wait_for_job(numbers[i], how, &last);
        assert_string_equal(how, "cancelled");
        json_decref(last);
    }
    assert_true(start_job("[\"endless\"]") > 0); /* is ended with the server */
}

/* -- Files ----------------------------------------------------------------------------------------------------------------------- */

static int send_file(const char *name, const char *more, const void *bytes, size_t size) {
    char head[600];
    int length = snprintf(head, sizeof head, "POST /api/bundle?name=%s%s HTTP/1.1\r\n%sContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
                          name, more, good(), size), line = dial();
    say(line, head, (size_t)length), say(line, bytes, size);
    return listen_to(line);
}

static pelt_file read_whole(pelt_arena *arena, const char *name) {
    char path[300];
    pelt_error error;
    pelt_file file;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    if (pelt_file_read(arena, path, &file, &error)) fail_msg("%s", error.text);
    return file;
}

static void a_dropped_bundle_becomes_a_character(void **state) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file mesh = read_whole(arena, "box.glb"), cache = read_whole(arena, "box.train.pc2"), skin = read_whole(arena, "eigen.pelt");
    (void)state;
    /* Names that lead elsewhere. */
    static const char *const names[] = {"..%2fbox.glb", "%2ftmp%2fbox.glb", "..", ".hidden", "", "a%5cb.glb", "a%0ab.glb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int status = send_file(names[i], "", mesh.bytes, mesh.size);
        if (status != 400) fail_msg("%s: %d", names[i], status);
    }
    assert_int_equal(send_file("dropped.train.pc2", "", cache.bytes, cache.size), 200);
    assert_int_equal(send_file("s.pelt", "", skin.bytes, skin.size), 200);
    assert_int_equal(send_file("dropped.glb", "&open=1", mesh.bytes, mesh.size), 200);
    json_t *object = answered();
    assert_int_equal(json_integer_value(json_object_get(object, "character")), 1);
    json_decref(object);
    assert_int_equal(ask("GET", "/data/c1/clip0/truth/0.bin"), 200);
    assert_memory_equal(body(), sample->clips[0]->positions, 3 * sizeof(float) * sample->mesh.vertex_count);
    /* A broken one: the library's sentence, with the file's own name. */
    assert_int_equal(send_file("broken.glb", "&open=1", mesh.bytes, mesh.size / 2), 422);
    assert_non_null(strstr(body(), "\"broken.glb: "));
    assert_int_equal(send_file("nothing.txt", "&open=1", "x", 1), 422);
    assert_sentence();
    pelt_arena_free(arena);
}
#endif

/* -- The program --------------------------------------------------------------------------------------------------------------- */

/* The same words as on the command line, and a clean end. */
static void the_program_serves_fits_and_ends(void **state) {
    const char *program = getenv("PELT_PROGRAM");
    int out[2], status;
    char text[1000] = "", words[1200];
    size_t size = 0;
    (void)state;
    if (!program) program = "build/pelt";
    if (access(program, X_OK)) skip();
    char *absolute = realpath(program, NULL);
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    if (!child) {
        dup2(out[1], 1), close(out[0]), close(out[1]);
        setenv("TMPDIR", test_folder(), 1);
        execl(absolute, "pelt", "view", glb, "--json", "--no-browser", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (ssize_t got; size + 1 < sizeof text && (got = read(out[0], text + size, sizeof text - 1 - size)) > 0;) {
        size += (size_t)got, text[size] = 0;
        if (strchr(text, '}')) break;
    }
    json_t *printed = json_loads(text, 0, NULL);
    if (!printed) { /* without a server, or without the page, it says so */
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        close(out[0]), free(absolute);
        skip();
    }
#ifdef PELT_WITH_SERVER
    json_t *error = json_object_get(printed, "error");
    if (!error) {
        static const char *const refused[][2] = {{"[\"--train\",\"nothing\"]", "has no clip"}, {"[\"--train\",\"train=/etc/passwd\"]", "has no clip"},
                                                 {"[\"--train\",\"train\",\"-o\",\"x.pelt\"]", "names a file"}, {"[\"--train\",\"train\",\"--method\",\"magic\"]", "there is no such method"},
                                                 {"[\"box.glb\"]", "options of pelt fit"}, {"[\"--trian\",\"train\"]", "is --train meant?"}};
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)json_integer_value(json_object_get(printed, "port")))};
        const char *key = json_string_value(json_object_get(printed, "key"));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (size_t i = 0; i <= sizeof refused / sizeof *refused; i++) {
            bool last = i == sizeof refused / sizeof *refused;
            char json[300];
            snprintf(json, sizeof json, "{\"character\":0,\"words\":%s}", last ? "[\"--train\",\"train\",\"--method\",\"ssd\"]" : refused[i][0]);
            snprintf(words, sizeof words, "POST /api/fit HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nX-Pelt-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     ntohs(to.sin_port), key, strlen(json), json);
            int line = socket(AF_INET, SOCK_STREAM, 0);
            assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
            say(line, words, strlen(words));
            assert_int_equal(listen_to(line), 200);
            bool ended = false;
            for (int wait = 0; wait < 1000 && !ended; wait++) {
                struct timespec pause = {0, 5000000};
                nanosleep(&pause, NULL);
                snprintf(words, sizeof words, "GET /api/job/%zu HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nX-Pelt-Key: %s\r\n\r\n", i + 1, ntohs(to.sin_port), key);
                line = socket(AF_INET, SOCK_STREAM, 0);
                assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
                say(line, words, strlen(words));
                assert_int_equal(listen_to(line), 200);
                ended = !strstr(body(), "\"running\"");
            }
            if (!strstr(body(), last ? "\"done\"" : refused[i][1])) fail_msg("%s: %s", json, body());
        }
    }
    kill(child, SIGINT);
#endif
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == (json_object_get(printed, "error") ? 1 : 0));
    DIR *left = opendir(test_folder());
    for (struct dirent *entry; (entry = readdir(left));) assert_true(strncmp(entry->d_name, "pelt-view-", 10));
    closedir(left);
    json_decref(printed);
    close(out[0]), free(absolute);
    (void)words;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show_lists_the_character_and_its_skin),
        cmocka_unit_test(meshes_poses_and_truth_are_the_librarys),
        cmocka_unit_test(errors_are_those_of_a_measure),
        cmocka_unit_test(displacements_make_up_the_skin),
        cmocka_unit_test(no_other_names_are_known),
        cmocka_unit_test(surfaces_are_the_files_own),
        cmocka_unit_test(an_export_is_what_is_served),
        cmocka_unit_test(the_program_serves_fits_and_ends),
#ifdef PELT_WITH_LIGHT
        cmocka_unit_test(dragged_light_is_as_the_gathers_say),
        cmocka_unit_test(a_box_of_light_says_how_far_to_trust_it),
#endif
        cmocka_unit_test(key_points_are_judged_against_the_truth),
    };
    int failed = cmocka_run_group_tests(tests, open_all, NULL);
#ifdef PELT_WITH_SERVER
    const struct CMUnitTest served[] = {
        cmocka_unit_test(what_is_served_is_the_resource),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(only_its_own_methods_and_names),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(slow_clients_hold_nothing),
        cmocka_unit_test(who_stops_reading_is_cut_off),
        cmocka_unit_test(a_hundred_clients_at_once_are_served),
        cmocka_unit_test(fits_end_fail_and_are_cancelled),
        cmocka_unit_test(a_dropped_bundle_becomes_a_character),
    };
    failed += cmocka_run_group_tests(served, start_server, stop_server);
#endif
    close_all(NULL);
    return failed;
}
