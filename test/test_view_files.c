/* test_view_files.c: the files that `pelt view` opens: which skins belong to which characters, how many there can be, and
   what is said of files that cannot be shown. */

#include "model/facts.h"
#include "test/in_use.h"
#include "test/sections.h"
#include "test/viewed.h"
#include <sys/stat.h>

static const char *in_folder(const char *name) {
    static char paths[8][300];
    static int next;
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static pelt_view *new_view(void) {
    pelt_error error;
    pelt_view *made = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    assert_non_null(made);
    return made;
}

static void arrange(pelt_view *own) {
    pelt_error error;
    if (pelt_view_arrange(own, &error)) fail_msg("%s", error.text);
}

static void refuse(pelt_view *own, const char *path, pelt_result code, const char *text) {
    pelt_error error = {0};
    pelt_result result = pelt_view_add(own, path, &error);
    if (!result) result = pelt_view_arrange(own, &error);
    if (result != code || error.code != code || !strstr(error.text, text))
        fail_msg("%s: %d %s", path, result, error.text);
}

static void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(bytes, 1, size, file) == size && !fclose(file));
}

/* The name of the character and its skins: "box: eigen, other". */
static void check_skins(pelt_view *own, size_t character, const char *expected) {
    json_t *show = get_json(own, "data/show.json"), *skin;
    const json_t *c = json_array_get(json_object_get(show, "characters"), character);
    char text[400];
    size_t i, length = (size_t)snprintf(text, sizeof text, "%s:", json_string_value(json_object_get(c, "name")));
    json_array_foreach(json_object_get(c, "skins"), i, skin) length += (size_t)snprintf(
        text + length, sizeof text - length, "%s %s", i ? "," : "", json_string_value(json_object_get(skin, "name")));
    assert_string_equal(text, expected);
    json_decref(show);
}

/* A copy of a file, which is known by its own name. */
static void copy_file(const char *from, const char *to) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_error error;
    pelt_file file;
    if (pelt_file_read(arena, from, &file, &error)) fail_msg("%s", error.text);
    write_bytes(to, file.bytes, file.size);
    pelt_arena_free(arena);
}

/* A skin that lacks some sections, as if made by an older pelt. */
static void write_older(const char *path, const char *kinds[2]) {
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(eigen_path, &skin, &error);
    for (int i = 0; i < 2 && kinds[i]; i++) hide_section(bytes->bytes, kinds[i]);
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_bytes_free(bytes);
}

/* -- What belongs together --------------------------------------------------------------------------------------- */

static void skins_find_the_character_they_were_made_for(void **state) {
    (void)state;
    pelt_error error;
    copy_file(glb, in_folder("twin.v2.glb")); /* the same mesh, but it is not the file that the skin names */
    copy_file(eigen_path, in_folder("named.v2.pelt"));
    write_older(in_folder("nameless.pelt"), (const char *[2]){"FACT"});
    write_older(in_folder("ancient.pelt"), (const char *[2]){"FACT", "HASH"});
    pelt_view *own = new_view();
    add(own, in_folder("twin.v2.glb")), add(own, glb);
    add(own, in_folder("named.v2.pelt")), add(own, in_folder("nameless.pelt")), add(own, in_folder("ancient.pelt"));
    arrange(own);
    assert_int_equal(pelt_view_character_count(own), 2);
    check_skins(own, 0, "twin.v2: nameless, ancient"); /* the first of several */
    check_skins(own, 1, "box: named.v2");
    pelt_view_free(own);
    /* The same number of vertices, but another mesh; and then other joints. */
    pelt_bundle *other =
        pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 150, .frames = 6}, &error);
    for (uint32_t v = 0; v < 3 * other->mesh.vertex_count; v++) other->mesh.positions[v] *= 1.5f;
    pelt_gltf_content content = {.mesh = &other->mesh, .skeleton = &other->skeleton, .name = "larger"};
    assert_int_equal(pelt_gltf_write(in_folder("larger.glb"), &content, &error), PELT_OK);
    other->skeleton.names[0] = "somebody else's";
    assert_int_equal(pelt_gltf_write(in_folder("stranger.glb"), &content, &error), PELT_OK);
    pelt_bundle_free(other);
    own = new_view();
    add(own, in_folder("stranger.glb")), add(own, in_folder("larger.glb"));
    add(own, in_folder("named.v2.pelt")), add(own, in_folder("ancient.pelt"));
    arrange(own);
    assert_int_equal(pelt_view_character_count(own), 3);
    check_skins(own, 0, "stranger:");
    check_skins(own, 1, "larger: ancient");    /* by the joints: it does not know its mesh */
    check_skins(own, 2, "named.v2: named.v2"); /* alone, as points */
    assert_null(pelt_view_bundle_path(own, 2));
    assert_null(pelt_view_bundle_path(own, 3));
    assert_string_equal(pelt_view_bundle_path(own, 1), in_folder("larger.glb"));
    pelt_view_free(own);
}

/* Skins that are made while the view is open. */
static void a_new_skin_joins_the_character_it_is_for(void **state) {
    (void)state;
    pelt_error error;
    uint32_t index = 77;
    pelt_skin skin;
    pelt_view *own = open_box(false);
    add(own, in_folder("larger.glb"));
    arrange(own);
    assert_int_equal(pelt_view_add_skin(own, 0, "new", pelt_skin_read(eigen_path, &skin, &error), &index, &error),
                     PELT_OK);
    assert_int_equal(index, 1);
    check_skins(own, 0, "box: eigen, new");
    assert_int_equal(pelt_view_add_skin(own, 1, "new", pelt_skin_read(eigen_path, &skin, &error), &index, &error),
                     PELT_ERROR_DATA);
    assert_string_equal(error.text, "larger: the file has changed since it was opened; open it again");
    assert_int_equal(pelt_view_add_skin(own, 2, "new", pelt_skin_read(eigen_path, &skin, &error), &index, &error),
                     PELT_ERROR_ARGUMENT);
    pelt_bytes *broken = pelt_skin_read(eigen_path, &skin, &error);
    memset(broken->bytes, 0, 64);
    assert_true(pelt_view_add_skin(own, 0, "broken", broken, &index, &error) != PELT_OK);
    assert_non_null(strstr(error.text, "broken: "));
    broken = pelt_skin_read(eigen_path, &skin, &error);
    memset(broken->bytes, 0, 64);
    assert_true(pelt_view_add_skin(own, 0, "broken", broken, &index, NULL) == error.code);
    assert_int_equal(index, 1);
    check_skins(own, 0, "box: eigen, new");
    check_skins(own, 1, "larger:");
    pelt_view_free(own);
}

static void check_clips(pelt_view *own, size_t box, const char *expected) {
    json_t *show = get_json(own, "data/show.json"), *clip;
    const json_t *b = json_array_get(json_object_get(show, "boxes"), box);
    char text[400];
    size_t i, length = (size_t)snprintf(text, sizeof text, "%s:", json_string_value(json_object_get(b, "name")));
    json_array_foreach(json_object_get(b, "clips"), i, clip) length += (size_t)snprintf(
        text + length, sizeof text - length, "%s %s %d", i ? "," : "", json_string_value(json_object_get(clip, "name")),
        (int)json_integer_value(json_object_get(clip, "frames")));
    assert_string_equal(text, expected);
    json_decref(show);
}

static void write_cache(const char *path, uint32_t vertices, uint32_t frames) {
    pelt_error error;
    pelt_mesh mesh = sample->mesh;
    mesh.vertex_count = vertices;
    pelt_cache_writer *writer = pelt_cache_writer_open(path, frames, &mesh, 30, &error);
    for (uint32_t f = 0; f < frames; f++) pelt_cache_writer_frame(writer, sample->clips[0]->positions);
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
}

/* Caches go to the first key points with as many points, in the order in which they were named. */
static void caches_find_their_key_points(void **state) {
    (void)state;
    pelt_error error;
    pelt_bundle *small =
        pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 100, .frames = 6}, &error);
    if (!small) fail_msg("%s", error.text);
    write_points(in_folder("small.keys"), small, 0);
    write_points(in_folder("points.keys"), sample, 0);
    write_cache(in_folder("a.b.pc2"), small->mesh.vertex_count, 2);
    write_cache(in_folder("c.pc2"), sample->mesh.vertex_count, 3);
    write_cache(in_folder("d.mdd"), small->mesh.vertex_count, 4);
    write_cache(in_folder("odd.pc2"), 31, 2);
    pelt_view *own = new_view();
    add(own, in_folder("points.keys")), add(own, in_folder("small.keys"));
    add(own, in_folder("a.b.pc2")), add(own, in_folder("c.pc2")), add(own, in_folder("d.mdd"));
    arrange(own);
    check_clips(own, 0, "points: c 3");
    check_clips(own, 1, "small: a.b 2, d 4");
    assert_int_equal(pelt_view_box_count(own), 2);
    refuse(own, in_folder("odd.pc2"), PELT_ERROR_DATA, "odd.pc2: matches no key points by its number of points");
    refuse(own, in_folder("none.pc2"), PELT_ERROR_FILE, "none.pc2: does not exist");
    /* A character that comes later brings its clips, once. */
    add(own, glb);
    arrange(own), arrange(own);
    check_clips(own, 0, "points: c 3, train 6, test 6");
    check_clips(own, 1, "small: a.b 2, d 4");
    pelt_bundle_free(small);
    pelt_view_free(own);
}

/* -- How many ---------------------------------------------------------------------------------------------------- */

static void there_are_at_most_256_skins(void **state) {
    (void)state;
    pelt_resource resource;
    pelt_view *own = new_view();
    add(own, glb);
    for (int i = 0; i < 256; i++) add(own, eigen_path);
    refuse(own, eigen_path, PELT_ERROR_ARGUMENT, "eigen.pelt: more than 256 skins at once cannot be shown");
    arrange(own);
    free(get(own, "data/c0/skin255.pelt").bytes);
    refuse(own, eigen_path, PELT_ERROR_ARGUMENT, "box: it already has 256 skins, and no more can be shown");
    assert_int_equal(pelt_view_resource(own, "data/c0/skin256.pelt", &resource, NULL), PELT_ERROR_ARGUMENT);
    arrange(own); /* what was refused is forgotten */
    pelt_view_free(own);
    own = new_view(); /* never arranged */
    add(own, eigen_path), add(own, in_folder("c.pc2"));
    pelt_view_free(own);
}

static void there_are_at_most_64_characters_and_64_boxes(void **state) {
    (void)state;
    pelt_view *own = new_view();
    for (int i = 0; i < 64; i++) add(own, glb);
    refuse(own, glb, PELT_ERROR_ARGUMENT, "box.glb: more than 64 characters cannot be shown at once");
    refuse(own, in_folder("odd.pelt"), PELT_ERROR_FILE, "odd.pelt");
    free(get(own, "data/c63/mesh.bin").bytes);
    for (int i = 0; i < 64; i++) add(own, in_folder("small.keys"));
    refuse(own, in_folder("small.keys"), PELT_ERROR_ARGUMENT, "small.keys: more than 64 boxes cannot be shown at once");
    assert_int_equal(pelt_view_character_count(own), 64);
    assert_int_equal(pelt_view_box_count(own), 64);
    free(get(own, "data/b63/mesh.bin").bytes);
    pelt_view_free(own);
}

static void there_are_at_most_256_clips(void **state) {
    (void)state;
    pelt_view *own = new_view();
    add(own, in_folder("small.keys"));
    for (int i = 0; i < 256; i++) add(own, in_folder("a.b.pc2"));
    refuse(own, in_folder("a.b.pc2"), PELT_ERROR_ARGUMENT, "a.b.pc2: more than 256 clips at once cannot be shown");
    arrange(own);
    free(get(own, "data/b0/clip255/truth/1.bin").bytes);
    refuse(own, in_folder("a.b.pc2"), PELT_ERROR_ARGUMENT, "small: more than 256 clips cannot be shown");
    arrange(own);
    pelt_view_free(own);
}

/* -- What cannot be shown ---------------------------------------------------------------------------------------- */

static pelt_result read_waves(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_frames *frames = user;
    uint32_t row = frames->point_count * frames->component_count;
    (void)error;
    for (uint32_t i = 0; i < count * row; i++) values[i] = sinf((float)((first + i / row + 1) * (i % row + 1)));
    return PELT_OK;
}

static void files_that_cannot_be_shown_are_refused_with_their_names(void **state) {
    (void)state;
    pelt_error error;
    pelt_keys_report report;
    pelt_frames waves = {.frame_count = 6, .point_count = 40, .read = read_waves, .user = &waves};
    for (int shared = 0; shared < 2; shared++) {
        waves.component_count = shared ? 3 : 2;
        pelt_bytes *bytes = pelt_keys_train(
            &waves, &(pelt_keys_options){.keys = 4, .basis = 2, .shared = shared, .uncentred = shared, .diagonal = 1},
            &report, &error);
        if (!bytes) fail_msg("%s", error.text);
        assert_int_equal(pelt_bytes_write(bytes, in_folder(shared ? "shared.keys" : "pairs.keys"), &error), PELT_OK);
        pelt_bytes_free(bytes);
    }
    static const char *const broken[] = {"broken.glb", "broken.gltf", "broken.pelt", "broken.keys"};
    pelt_view *own = new_view();
    for (int i = 0; i < 4; i++) {
        write_bytes(in_folder(broken[i]), "not what it seems", 17);
        assert_true(pelt_view_add(own, in_folder(broken[i]), &error) != PELT_OK);
        assert_non_null(strstr(error.text, broken[i]));
    }
    refuse(own, in_folder("pairs.keys"), PELT_ERROR_UNSUPPORTED, "pairs.keys: its points have 2 values each");
    refuse(own, in_folder("shared.keys"), PELT_ERROR_UNSUPPORTED, "shared.keys: its values are light");
    refuse(own, in_folder("absent.keys"), PELT_ERROR_FILE, "absent.keys");
    assert_int_equal(pelt_view_add(own, in_folder("absent.glb"), NULL), PELT_ERROR_FILE); /* no message is wanted */
    refuse(own, in_folder("c.pc2"), PELT_ERROR_DATA, "c.pc2: matches no key points");
    arrange(own);
    assert_int_equal(pelt_view_character_count(own) + pelt_view_box_count(own), 0);
    json_t *show = get_json(own, "data/show.json"),
           *expected =
               json_pack("{s:s, s:b, s:b, s:{s:b, s:b, s:b}, s:n, s:[], s:[]}", "pelt", PELT_VERSION, "server", 0,
                         "fitter", 0, "can", "fit", 0, "light", 0, "sample", 0, "live", "characters", "boxes");
    assert_true(json_equal(show, expected));
    json_decref(show), json_decref(expected);
    pelt_view_free(own);
}

/* -- Caches that lie wrong --------------------------------------------------------------------------------------- */

/* The box once more, with caches whose z axis is up. */
static void write_turned(void) {
    pelt_error error;
    const pelt_clip *clip = sample->clips[0];
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    float *turned = malloc(row * sizeof *turned);
    copy_file(glb, in_folder("turned.glb"));
    char path[300];
    snprintf(path, sizeof path, "%s/turned.%s.pc2", test_folder(), clip->name);
    pelt_cache_writer *writer = pelt_cache_writer_open(path, clip->frame_count, &sample->mesh, 30, &error);
    assert_true(writer && turned);
    for (size_t f = 0; f < clip->frame_count; f++) {
        const float *p = clip->positions + f * row;
        for (size_t i = 0; i < row; i += 3) turned[i] = p[i], turned[i + 1] = -p[i + 2], turned[i + 2] = p[i + 1];
        pelt_cache_writer_frame(writer, turned);
    }
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    free(turned);
}

/* How many findings of a character can be mended. */
static int mendable(pelt_view *own, const char *name) {
    json_t *diagnosis = get_json(own, name), *finding;
    size_t i;
    int count = 0;
    json_array_foreach(json_object_get(diagnosis, "findings"), i, finding) {
        assert_true(json_is_boolean(json_object_get(finding, "fix")));
        assert_true(json_string_length(json_object_get(finding, "text")) > 10);
        count += json_is_true(json_object_get(finding, "fix"));
    }
    assert_true(json_is_array(json_object_get(diagnosis, "findings")));
    json_decref(diagnosis);
    return count;
}

static double truth_off(pelt_view *own, uint32_t character, uint32_t frame) {
    pelt_resource truth = get(own, "data/c%u/clip0/truth/%u.bin", character, frame);
    const float *p = truth.bytes, *q = sample->clips[0]->positions + 3 * (size_t)frame * sample->mesh.vertex_count;
    double most = 0;
    assert_int_equal(truth.size, 12 * (size_t)sample->mesh.vertex_count);
    for (size_t i = 0; i < 3 * (size_t)sample->mesh.vertex_count; i++) most = fmax(most, fabs((double)p[i] - q[i]));
    free(truth.bytes);
    return most;
}

static void turned_caches_are_told_of_and_mended(void **state) {
    (void)state;
    pelt_error error;
    uint32_t fixed = 0;
    write_turned();
    pelt_view *own = new_view();
    add(own, in_folder("turned.glb"));
    arrange(own);
    assert_true(mendable(own, "data/c0/diagnosis.json") > 0);
    if (pelt_view_fix(own, 0, &fixed, &error)) fail_msg("%s", error.text);
    assert_int_equal(fixed, 1);
    assert_int_equal(mendable(own, "data/c1/diagnosis.json"), 0);
    assert_true(truth_off(own, 0, 3) > 0.1 * sample->mesh.diagonal);
    assert_true(truth_off(own, 1, 3) < 1e-5 * sample->mesh.diagonal);
    json_t *show = get_json(own, "data/show.json"), *characters = json_object_get(show, "characters");
    assert_true(json_is_false(json_object_get(json_array_get(characters, 0), "fix")));
    assert_true(json_is_true(json_object_get(json_array_get(characters, 1), "fix")));
    json_decref(show);
    assert_int_equal(pelt_view_fix(own, 2, &fixed, &error), PELT_ERROR_ARGUMENT);
    pelt_view_free(own);
}

static void open_everything(void) {
    skins_find_the_character_they_were_made_for(NULL);
    a_new_skin_joins_the_character_it_is_for(NULL);
    caches_find_their_key_points(NULL);
    there_are_at_most_256_skins(NULL);
    there_are_at_most_64_characters_and_64_boxes(NULL);
    there_are_at_most_256_clips(NULL);
    files_that_cannot_be_shown_are_refused_with_their_names(NULL);
    turned_caches_are_told_of_and_mended(NULL);
}

static void nothing_is_left_when_they_are_closed(void **state) {
    (void)state;
    assert_true(leaves_nothing(open_everything));
}

int main(int count, char **arguments) {
    (void)count;
    use_exactly(arguments);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skins_find_the_character_they_were_made_for),
        cmocka_unit_test(a_new_skin_joins_the_character_it_is_for),
        cmocka_unit_test(caches_find_their_key_points),
        cmocka_unit_test(there_are_at_most_256_skins),
        cmocka_unit_test(there_are_at_most_64_characters_and_64_boxes),
        cmocka_unit_test(there_are_at_most_256_clips),
        cmocka_unit_test(files_that_cannot_be_shown_are_refused_with_their_names),
        cmocka_unit_test(turned_caches_are_told_of_and_mended),
        cmocka_unit_test(nothing_is_left_when_they_are_closed),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
