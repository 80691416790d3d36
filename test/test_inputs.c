/* test_inputs.c: typical user input, through the program: caches of other tools, characters without examples or without
   weights. */

#include "io/io.h"
#include "test/program.h"

static int make_sample(void **state) {
    (void)state;
    return pelt("sample elbow --variant seam --vertices 400 --frames 12 -o . --quiet");
}

static int remove_folder(void **state) {
    (void)state;
    char line[200];
    snprintf(line, sizeof line, "rm -rf %s", test_folder());
    return system(line);
}

static const char *path_of(const char *name) {
    static char paths[4][300];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* -- Caches -------------------------------------------------------------------------------------------------------- */

/* The training cache as written by Blender: one point per position, z-up, centimetres, two frames early. */
static void write_as_blender_does(const char *name) {
    pelt_error error;
    pelt_cache cache;
    pelt_bundle *bundle = pelt_bundle_read(path_of("elbow.glb"), &error);
    assert_int_equal(pelt_cache_read(bundle->arena, path_of("elbow.train.pc2"), &cache, &error), PELT_OK);
    uint32_t *point_of = PELT_NEW(bundle->arena, cache.point_count, uint32_t);
    pelt_mesh mesh = {.vertex_count = pelt_weld(bundle->arena, &bundle->mesh, (pelt_examples){0}, 0, point_of)};
    float *points = PELT_NEW(bundle->arena, 3 * (size_t)mesh.vertex_count, float);
    pelt_cache_writer *writer = pelt_cache_writer_open(path_of(name), cache.frame_count + 2, &mesh, 24, &error);
    for (uint32_t f = 0; f < cache.frame_count + 2; f++) {
        const float *frame = cache.positions + 3 * (size_t)(f < 2 ? 0 : f - 2) * cache.point_count;
        for (uint32_t v = 0; v < cache.point_count; v++) {
            const float *p = frame + 3 * (size_t)v;
            memcpy(points + 3 * (size_t)point_of[v], (float[]){100 * p[0], -100 * p[2], 100 * p[1]}, 12);
        }
        pelt_cache_writer_frame(writer, points);
    }
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    pelt_bundle_free(bundle);
}

static void a_cache_of_another_tool_goes_in_by_one_word(void **state) {
    (void)state;
    write_as_blender_does("other.mdd");
    json_t *fit = pelt_json("fit elbow.glb --train train --method ssd --holdout 0 -o plain.pelt");
    double rms = number(json_object_get(fit, "train"), "rms");
    json_decref(fit);
    static const char *const ways[] = {"--fix", "--axes x,z,-y --scale 0.01 --frames 2", "--fix --axes x,z,-y"};
    for (int i = 0; i < 3; i++) {
        fit = pelt_json("fit elbow.glb --train train=other.mdd --method ssd --holdout 0 -o other.pelt %s", ways[i]);
        assert_near(number(json_object_get(fit, "train"), "rms"), rms, 1e-4 * rms);
        assert_non_null(strstr(program_errors, "other.mdd: its 400 points were matched to the "));
        assert_non_null(
            strstr(program_errors, "its (x, z, -y) are (x, y, z), times 0.01, its frame 2 is the first key"));
        json_decref(fit);
    }
    json_t *measure = pelt_json("measure plain.pelt elbow.glb --clip train=other.mdd --fix");
    assert_near(number(measure, "rms"), rms, 1e-4 * rms);
    json_decref(measure);
    assert_int_equal(pelt("fit elbow.glb --train train=other.mdd -o x.pelt"), 1);
    assert_non_null(strstr(program_errors, "14 frames, but clip train has 12 keys"));
    assert_non_null(strstr(program_errors, "--fix"));
    assert_int_equal(pelt("fit elbow.glb --train train=other.mdd -o x.pelt --frames 2"), 1);
    assert_non_null(strstr(program_errors, "z-up, the rig y-up"));
    assert_non_null(strstr(program_errors, "add --fix to apply this"));
}

static void nonsense_about_caches_is_misuse(void **state) {
    (void)state;
    static const char *const cases[] = {"--axes x,y",       "--axes x,x,z", "--axes x,y,z,x", "--offset 1,2",
                                        "--offset 1,2,nan", "--scale 0",    "--frames 1.5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (pelt("fit elbow.glb --train train -o x.pelt %s", cases[i]) != 2 || !strstr(program_errors, "expected"))
            fail_msg("%s: %s", cases[i], program_errors);
}

static void info_lists_the_objects(void **state) {
    (void)state;
    json_t *info = pelt_json("info elbow.glb"), *objects;
    objects = json_object_get(json_array_get(json_object_get(info, "files"), 0), "objects");
    assert_int_equal(json_array_size(objects), 1);
    assert_int_equal(number(json_array_get(objects, 0), "first"), 0);
    assert_true(number(json_array_get(objects, 0), "vertices") > 400);
    json_decref(info);
}

/* -- Without truth ------------------------------------------------------------------------------------------------- */

static void plain_blends_need_no_examples_and_claim_nothing(void **state) {
    (void)state;
    static const char *const blends[] = {"file", "distance"};
    for (int i = 0; i < 2; i++) {
        json_t *fit = pelt_json("fit elbow.glb --method ssd --blend %s -o %s.pelt", blends[i], blends[i]);
        assert_string_equal(text_of(fit, "blend"), blends[i]);
        assert_true(json_is_null(json_object_get(fit, "train")) && json_is_null(json_object_get(fit, "holdout")));
        json_decref(fit);
        assert_int_equal(pelt("fit elbow.glb --method ssd --blend %s -o %s.pelt", blends[i], blends[i]), 0);
        assert_non_null(strstr(program_output, "nothing was learned"));
        assert_null(strstr(program_output, "rms"));
        assert_int_equal(pelt("eval %s.pelt elbow.glb --clip test -o moved.pc2", blends[i]), 0);
    }
    json_t *with = pelt_json("fit elbow.glb --train train --method ssd --blend distance -o x.pelt"), *measure;
    measure = pelt_json("measure distance.pelt elbow.glb --clip train");
    assert_near(number(measure, "rms"), number(json_object_get(with, "train"), "rms"), 1e-9);
    json_decref(with), json_decref(measure);
    assert_int_equal(pelt("fit elbow.glb -o x.pelt"), 2);
    assert_non_null(strstr(program_errors, "--method ssd --blend distance"));
}

/* Attributes that start with _ are application-specific. */
static void hide_weights(const char *from, const char *to) {
    pelt_error error;
    pelt_file file;
    pelt_arena *arena = pelt_arena_new(0);
    assert_int_equal(pelt_file_read(arena, path_of(from), &file, &error), PELT_OK);
    char *bytes = (char *)file.bytes;
    for (size_t i = 0; i + 8 < file.size; i++)
        if (!memcmp(bytes + i, "JOINTS_0", 8) || !memcmp(bytes + i, "WEIGHTS_0", 9)) bytes[i] = '_';
    pelt_writer *writer = pelt_writer_open(path_of(to), &error);
    pelt_writer_put(writer, bytes, file.size);
    assert_int_equal(pelt_writer_commit(writer, &error), PELT_OK);
    pelt_arena_free(arena);
}

static void a_mesh_without_weights_gets_them_from_its_bones(void **state) {
    (void)state;
    hide_weights("elbow.glb", "bare.glb");
    json_t *fit = pelt_json("fit bare.glb --method ssd -o bare.pelt");
    assert_string_equal(text_of(fit, "blend"), "distance");
    assert_non_null(strstr(program_errors, "has no weights"));
    json_decref(fit);
    json_t *bare = pelt_json("measure bare.pelt elbow.glb --clip test");
    pelt("fit elbow.glb --method ssd --blend distance -o distance.pelt");
    json_t *named = pelt_json("measure distance.pelt elbow.glb --clip test");
    assert_near(number(bare, "rms"), number(named, "rms"), 1e-9);
    json_decref(bare), json_decref(named);
    fit = pelt_json("fit bare.glb --train train=elbow.train.pc2 --method kernel -o bare.pelt --holdout 0");
    assert_string_equal(text_of(fit, "blend"), "distance");
    assert_string_equal(text_of(fit, "corrective"), "kernel");
    json_decref(fit);
    assert_int_equal(pelt("fit bare.glb --method ssd --blend file -o x.pelt"), 1);
    assert_non_null(strstr(program_errors, "no weights"));
}

/* -- The default --------------------------------------------------------------------------------------------------- */

static void the_method_is_chosen_unless_one_or_a_blend_is_named(void **state) {
    (void)state;
    json_t *fit = pelt_json("fit elbow.glb --train train -o x.pelt --budget '60 bytes/vertex'");
    const json_t *choice = json_object_get(fit, "choice"), *list = json_object_get(choice, "candidates");
    const json_t *taken = json_array_get(list, (size_t)number(choice, "chosen"));
    assert_string_equal(text_of(taken, "method"), text_of(fit, "method"));
    assert_near(number(taken, "bytes"), number(fit, "bytes"), 0);
    assert_true(number(fit, "bytes_per_vertex") <= 60 && json_array_size(list) > 6);
    /* Few examples are left out one at a time for the forecast, and by fifths for the choice. */
    assert_near(number(taken, "rel_err") / number(json_object_get(fit, "holdout"), "rel_err"), 1, 0.2);
    json_decref(fit);
    static const char *const bad[][2] = {
        {"--budget '60 bytes/vertex' --method kernel", "--budget"},
        {"--holdout 0", "--holdout"},
        {"--budget 60", "--budget: \"60\" has no unit"},
        {"--budget '1 kB, 2 bytes/vertex'", "two limits"},
        {"--budget '1 kB'", "no method is within it; the cheapest"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_in_range(pelt("fit elbow.glb --train train -o y.pelt %s", bad[i][0]), 1, 2);
        if (!strstr(program_errors, bad[i][1])) fail_msg("%s: %s", bad[i][0], program_errors);
    }
    fit = pelt_json("fit elbow.glb --train train --blend fit -o x.pelt --holdout 0");
    assert_string_equal(text_of(fit, "method"), "ssd");
    json_decref(fit);
}

int main(void) {
    if (!getenv("PELT_PROGRAM")) setenv("PELT_PROGRAM", "build/pelt", 1);
    char absolute[4096];
    if (realpath(getenv("PELT_PROGRAM"), absolute)) setenv("PELT_PROGRAM", absolute, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_of_another_tool_goes_in_by_one_word),
        cmocka_unit_test(nonsense_about_caches_is_misuse),
        cmocka_unit_test(info_lists_the_objects),
        cmocka_unit_test(plain_blends_need_no_examples_and_claim_nothing),
        cmocka_unit_test(a_mesh_without_weights_gets_them_from_its_bones),
        cmocka_unit_test(the_method_is_chosen_unless_one_or_a_blend_is_named),
    };
    return cmocka_run_group_tests(tests, make_sample, remove_folder);
}
