/* test_controls_io.c: controls in files: tables next to a bundle, tracks and extras of glTF, and the program. The files
   are handmade. */

#include "io/io.h"
#include "test/gltf_maker.h"
#include "test/program.h"
#include <sys/stat.h>

static const char *path_of(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

enum { FRAMES = 3 };

static pelt_bundle table_bundle(pelt_clip clips[3]) {
    static const char *const names[] = {"train", "walk", "../up"};
    static const pelt_clip *list[3];
    for (int i = 0; i < 3; i++) {
        clips[i] = (pelt_clip){.name = names[i], .frame_count = FRAMES};
        list[i] = &clips[i];
    }
    return (pelt_bundle){
        .path = path_of("body.glb"), .clip_count = 3, .clips = list, .arena = pelt_arena_new(PELT_READ_LIMIT)};
}

static void expect_row(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame, const char *name,
                       float value) {
    float row[8];
    uint32_t control = pelt_control_named(&bundle->controls, name);
    assert_true(control < bundle->controls.count && bundle->controls.count <= 8);
    pelt_clip_controls(clip, &bundle->controls, frame, row);
    assert_true(row[control] == value);
}

static void a_table_beside_the_bundle_gives_a_clip_its_controls(void **state) {
    (void)state;
    static const char *const texts[] = {"tension,smile\n0,1\n0.5,2\n-1e1,3\n",
                                        "\xef\xbb\xbf\"tension\"; smile \r\n0;1\r\n.5;2\r\n-10;3\r\n\r\n",
                                        "tension\tsmile\n0\t1\n5e-1\t2\n-10\t3"};
    for (int i = 0; i < 3; i++) {
        pelt_clip clips[3];
        pelt_bundle bundle = table_bundle(clips);
        write_text("body.train.csv", texts[i]);
        const pelt_clip *clip = pelt_bundle_clip(&bundle, "train", PELT_NEED_POSE, NULL);
        assert_non_null(clip);
        assert_int_equal(bundle.controls.count, 2);
        expect_row(&bundle, clip, 0, "smile", 1), expect_row(&bundle, clip, 1, "tension", 0.5f);
        expect_row(&bundle, clip, 2, "tension", -10), expect_row(&bundle, clip, 2, "smile", 3);
        assert_string_equal(clip->controls_source, path_of("body.train.csv"));
        const float *first = clip->controls;
        assert_ptr_equal(pelt_bundle_clip(&bundle, "train", PELT_NEED_POSE, NULL)->controls, first); /* read once */
        assert_null(pelt_bundle_clip(&bundle, "../up", PELT_NEED_POSE, NULL)->controls);
        pelt_arena_free(bundle.arena);
    }
    remove(path_of("body.train.csv"));
}

static void a_clip_that_lacks_a_control_of_another_leaves_it_at_rest(void **state) {
    (void)state;
    pelt_clip clips[3];
    pelt_bundle bundle = table_bundle(clips);
    static const char *extras[] = {"age", "smile"};
    bundle.extras = (pelt_controls){2, extras, (float[]){40, 0.25f}};
    write_text("body.train.csv", "tension,age\n1,30\n2,31\n3,32\n");
    write_text("body.walk.csv", "smile,tension\n7,4\n8,5\n9,6\n");
    const pelt_clip *train = pelt_bundle_clip(&bundle, "train", PELT_NEED_POSE, NULL);
    const pelt_clip *walk = pelt_bundle_clip(&bundle, "walk", PELT_NEED_POSE, NULL);
    assert_true(train && walk && bundle.controls.count == 3);
    for (uint32_t f = 0; f < FRAMES; f++) {
        expect_row(&bundle, train, f, "tension", 1 + (float)f), expect_row(&bundle, train, f, "age", 30 + (float)f);
        expect_row(&bundle, train, f, "smile", 0.25f); /* as the file's extras say; other rest values are 0 */
        expect_row(&bundle, walk, f, "tension", 4 + (float)f), expect_row(&bundle, walk, f, "smile", 7 + (float)f);
        expect_row(&bundle, walk, f, "age", 40);
    }
    expect_row(&bundle, &clips[2], 0, "tension", 0);
    remove(path_of("body.train.csv")), remove(path_of("body.walk.csv"));
    pelt_arena_free(bundle.arena);
}

static void tables_that_do_not_fit_are_refused_with_file_line_and_remedy(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"tension\n1\n2\n", "2 rows of numbers, but clip train has 3 frames"},
        {"tension\n1\n2\n3\n4\n", "4 rows"},
        {"tension\n1\nx\n3\n", "line 3, column \"tension\": \"x\" is not a number"},
        {"tension\n1\nnan\n3\n", "line 3"},
        {"tension\n1\n1e39\n3\n", "line 3"},
        {"tension\n1\n2e9\n3\n", "too large"},
        {"a,b\n1,2\n3\n5,6\n", "line 3"},
        {"a,b\n1,2\n3,4,5\n5,6\n", "line 3"},
        {"a,b\n1,2\n3,\n5,6\n", "line 3: a cell is empty"},
        {"a,a\n1,2\n3,4\n5,6\n", "two columns are called \"a\""},
        {"a, \"a\"\n1,2\n3,4\n5,6\n", "two columns are called \"a\""},
        {"a,,b\n1,2,3\n1,2,3\n1,2,3\n", "column 2 has no name"},
        {"tension\n", "no frames"},
        {"", "body.train.csv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_clip clips[3];
        pelt_bundle bundle = table_bundle(clips);
        pelt_error error = {0};
        write_text("body.train.csv", cases[i][0]);
        assert_null(pelt_bundle_clip(&bundle, "train", PELT_NEED_POSE, &error));
        if (!strstr(error.text, cases[i][1]) || !strstr(error.text, "body.train.csv"))
            fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i][1]);
        assert_non_null(pelt_bundle_clip(&bundle, "walk", PELT_NEED_POSE, &error)); /* others are as good as before */
        pelt_arena_free(bundle.arena);
    }
    remove(path_of("body.train.csv"));
}

static void more_controls_than_a_clip_can_have_are_refused(void **state) {
    (void)state;
    enum { MANY = PELT_MOST_CONTROLS + 1 };
    char *text = malloc(20 * (size_t)MANY), *at = text;
    for (int line = 0; line <= FRAMES; line++)
        for (int c = 0; c < MANY; c++) at += sprintf(at, "%d%s", line ? 0 : c, c + 1 < MANY ? "," : "\n");
    pelt_clip clips[3];
    pelt_bundle bundle = table_bundle(clips);
    pelt_error error = {0};
    write_text("body.train.csv", text);
    assert_null(pelt_bundle_clip(&bundle, "train", PELT_NEED_POSE, &error));
    assert_non_null(strstr(error.text, "4096"));
    remove(path_of("body.train.csv"));
    free(text), pelt_arena_free(bundle.arena);
}

/* -- glTF ---------------------------------------------------------------------------------------------------------- */

/* The character of gltf_maker.h with more tracks. Keys 0, 1 (accessor 4); arrays are added from accessor 8 on. */
static pelt_bundle *with_tracks(maker *m, const char *extras, const char *samplers, const char *channels,
                                pelt_error *error) {
    static char text[8192];
    const char *character = make_character(m), *cut = strstr(character, "'animations'");
    MAKE_FLOATS(m, "SCALAR", 2, 0, 8);             /* 8: two values */
    MAKE_FLOATS(m, "SCALAR", 3, 0, .5f, 1);        /* 9: other times */
    MAKE_FLOATS(m, "SCALAR", 3, 1, 5, 2);          /* 10 */
    MAKE_FLOATS(m, "SCALAR", 6, 0, 0, 4, 4, 1, 0); /* 11: a spline: 0, out 4; in 4, 1 */
    MAKE_FLOATS(m, "SCALAR", 2, 0, 3e9f);          /* 12: too large */
    snprintf(text, sizeof text,
             "%.*s'animations':[{'name':'bend','samplers':[{'input':4,'output':5}%s],"
             "'channels':[{'sampler':0,'target':{'node':1,'path':'rotation'}}%s]}]",
             (int)(cut - character), character, samplers, channels);
    char *knee = strstr(text, "'name':'knee'");
    memmove(knee + strlen(extras), knee, strlen(knee) + 1);
    memcpy(knee, extras, strlen(extras));
    return read_bytes(make_glb(m, text), NULL, error);
}

#define LONG "a_name_of_fifty_letters_without_any_slash_within_it"
#define POINTER(sampler, pointer)                                                                                      \
    ",{'sampler':" sampler ",'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{'pointer':'" pointer    \
    "'}}}}"

static void tracks_of_extras_are_controls_sampled_at_the_frames(void **state) {
    (void)state;
    maker m;
    pelt_error error = {0};
    pelt_bundle *b = with_tracks(&m, "'extras':{'tension':2,'other':true,'odd/name':-1},",
                                 ",{'input':4,'output':8},{'input':9,'output':10,'interpolation':'STEP'},"
                                 "{'input':4,'output':11,'interpolation':'CUBICSPLINE'}",
                                 POINTER("1", "/nodes/1/extras/tension") POINTER("2", "/nodes/1/extras/odd~1name")
                                     POINTER("3", "/materials/7/extras/glow") POINTER("1", "/materials/0/alphaCutoff"),
                                 &error);
    if (!b) fail_msg("%s", error.text);
    assert_int_equal(b->controls.count, 3);
    const pelt_clip *clip = b->clips[0];
    assert_int_equal(clip->frame_count, 3); /* keys of controls are keys of the clip: 0, 0.5, 1 */
    const float tension[] = {0, 4, 8}, odd[] = {1, 5, 2};
    for (uint32_t f = 0; f < 3; f++)
        expect_row(b, clip, f, "tension", tension[f]), expect_row(b, clip, f, "odd/name", odd[f]);
    /* Hermite at the middle: 0.5 (p0 + p1) + (out0 - in1) / 8 with tangents 4 and 4. */
    expect_row(b, clip, 0, "glow", 0), expect_row(b, clip, 1, "glow", 0.5f), expect_row(b, clip, 2, "glow", 1);
    assert_true(b->controls.rest[0] == 2 && b->controls.rest[1] == -1 && b->controls.rest[2] == 0);
    assert_non_null(find_note(b, "other-pointer"));
    pelt_arena_free(b->arena);
}

/* Each of two clips moves one of two controls; the other stays at rest, as given by the file's extras, in every
   frame. */
static void a_control_without_a_track_in_a_clip_is_at_rest_there(void **state) {
    (void)state;
    maker m;
    pelt_error error = {0};
    pelt_bundle *b = with_tracks(
        &m, "'extras':{'tension':2,'glow':-3},", ",{'input':4,'output':8}",
        POINTER(
            "1",
            "/nodes/1/extras/tension") "]},{'name':'shine','samplers':[{'input':4,"
                                       "'output':8}],'channels':[{'sampler':0,'target':{'path':'pointer','extensions':{"
                                       "'KHR_animation_pointer':{'pointer':'/nodes/1/extras/glow'}}}}",
        &error);
    if (!b) fail_msg("%s", error.text);
    assert_int_equal(b->clip_count, 2);
    for (uint32_t f = 0; f < 2; f++) {
        expect_row(b, b->clips[0], f, "tension", f ? 8 : 0), expect_row(b, b->clips[0], f, "glow", -3);
        expect_row(b, b->clips[1], f, "tension", 2), expect_row(b, b->clips[1], f, "glow", f ? 8 : 0);
    }
    pelt_arena_free(b->arena);
}

static void a_clip_that_moves_only_a_control_is_a_clip(void **state) {
    (void)state;
    maker m;
    static char text[4096];
    const char *character = make_character(&m), *cut = strstr(character, "'animations'");
    MAKE_FLOATS(&m, "SCALAR", 2, 0, 8);
    snprintf(
        text, sizeof text,
        "%.*s'extensionsUsed':['KHR_animation_pointer'],'extensionsRequired':['KHR_animation_pointer'],"
        "'animations':[{'name':'flex','samplers':[{'input':4,'output':8}],'channels':[{'sampler':0,"
        "'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{'pointer':'/nodes/0/extras/flex'}}}}]}]",
        (int)(cut - character), character);
    pelt_bundle *b = make_bundle(&m, text);
    assert_int_equal(b->clip_count, 1);
    assert_int_equal(b->clips[0]->frame_count, 2);
    expect_row(b, b->clips[0], 1, "flex", 8);
    pelt_arena_free(b->arena);
}

static void numbers_of_nodes_are_rest_values_for_tables(void **state) {
    (void)state;
    maker m;
    pelt_error error = {0};
    pelt_bundle *b = with_tracks(&m, "'extras':{'age':40,'text':'x','huge':1e300},", "", "", &error);
    assert_non_null(b);
    assert_int_equal(b->extras.count, 1);
    assert_string_equal(b->extras.names[0], "age");
    assert_int_equal(b->controls.count, 0);
    pelt_table table = {2, 1, (const char *[]){"age"}, (float[]){1, 2}, 0};
    assert_int_equal(pelt_controls_from_table(b, (pelt_clip *)b->clips[0], &table, "x.csv", &error), PELT_OK);
    assert_true(b->controls.rest[0] == 40);
    pelt_arena_free(b->arena);
}

static void broken_tracks_are_refused_and_foreign_ones_left_out(void **state) {
    (void)state;
    static const struct {
        const char *samplers, *channels, *word; /* NULL: read, without controls */
    } cases[] = {
        {",{'input':4,'output':5}", POINTER("1", "/nodes/1/extras/tension"), "SCALAR"},
        {",{'input':4,'output':10}", POINTER("1", "/nodes/1/extras/tension"), "3 values for 2 keys"},
        {"", POINTER("7", "/nodes/1/extras/tension"), "names none of the animation's 1 samplers"},
        {",{'input':4,'output':12}", POINTER("1", "/nodes/1/extras/tension"), "too large"},
        {",{'input':4,'output':8}", POINTER("1", "/nodes/1/extras"), NULL},
        {",{'input':4,'output':8}", POINTER("1", "/nodes/1/extras/"), NULL},
        {",{'input':4,'output':8}", POINTER("1", "/nodes/1/extras/a/b"), NULL},
        {",{'input':4,'output':8}", POINTER("1", "extras/tension"), NULL},
        {",{'input':4,'output':8}", POINTER("1", ""), NULL},
        {"", ",{'sampler':9,'target':{'path':'pointer'}}", NULL},
        {",{'input':4,'output':8}", POINTER("1", "/nodes/1/extras/" LONG LONG LONG LONG LONG), NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m;
        pelt_error error = {0};
        pelt_bundle *b = with_tracks(&m, "", cases[i].samplers, cases[i].channels, &error);
        if (cases[i].word) {
            if (b || !strstr(error.text, cases[i].word)) fail_msg("case %zu: %s", i, error.text);
            continue;
        }
        if (!b) fail_msg("case %zu: %s", i, error.text);
        assert_int_equal(b->controls.count, 0);
        assert_null(b->clips[0]->controls);
        assert_non_null(find_note(b, "other-pointer"));
        pelt_arena_free(b->arena);
    }
}

/* -- The program --------------------------------------------------------------------------------------------------- */

static double rel_err(const char *words, const char *part) {
    json_t *object = pelt_json("%s", words);
    double value = number(part ? json_object_get(object, part) : object, "rel_err");
    json_decref(object);
    return value;
}

static void the_sample_with_a_muscle_needs_its_control(void **state) {
    (void)state;
    assert_int_equal(pelt("sample biceps --vertices 800 -o ."), 0);
    assert_true(rel_err("fit biceps.glb --train train --method psd -o a.pelt", "holdout") < 0.1);
    assert_true(rel_err("measure a.pelt biceps.glb --clip test", NULL) < 0.06);
    assert_int_equal(pelt("info biceps.glb biceps.train.csv a.pelt"), 0);
    assert_non_null(strstr(program_output, "control \"tension\": 0 to 1, 0 at rest"));
    assert_non_null(strstr(program_output, "\"tension\": 0 to 1\n"));
    assert_non_null(strstr(program_output, "control \"tension\": 0 to 1 in training, 0 at rest"));
    assert_int_equal(pelt("eval a.pelt biceps.glb --clip test -o test.pc2"), 0);
    assert_int_equal(pelt("export a.pelt biceps.glb --clip test -o plain.glb"), 0);

    assert_int_equal(rename(path_of("biceps.test.csv"), path_of("elsewhere.csv")), 0);
    assert_true(rel_err("measure a.pelt biceps.glb --clip train", NULL) < 0.01);
    assert_int_equal(rename(path_of("biceps.train.csv"), path_of("away.csv")), 0);
    assert_true(rel_err("measure a.pelt biceps.glb --clip test", NULL) > 0.15);
    assert_non_null(strstr(program_errors, "no control \"tension\""));
    assert_int_equal(pelt("fit biceps.glb --train train --method psd -o b.pelt"), 1);
    assert_non_null(strstr(program_errors, "same pose"));
    assert_non_null(strstr(program_errors, "a named control as a column of biceps.train.csv"));
}

static uint32_t times_said(const char *text, const char *words) {
    uint32_t count = 0;
    while ((text = strstr(text, words))) count++, text++;
    return count;
}

static void a_clip_whose_table_cannot_be_read_is_said_once_by_info(void **state) {
    (void)state;
    assert_int_equal(pelt("sample biceps --vertices 800 -o ."), 0);
    write_text("biceps.train.csv", "tension\n0\n");
    pelt("info biceps.glb");
    assert_int_equal(times_said(program_output, "biceps.train.csv: 1 rows of numbers"), 1);
    assert_non_null(strstr(program_output, "clip \"test\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_beside_the_bundle_gives_a_clip_its_controls),
        cmocka_unit_test(a_clip_that_lacks_a_control_of_another_leaves_it_at_rest),
        cmocka_unit_test(tables_that_do_not_fit_are_refused_with_file_line_and_remedy),
        cmocka_unit_test(more_controls_than_a_clip_can_have_are_refused),
        cmocka_unit_test(tracks_of_extras_are_controls_sampled_at_the_frames),
        cmocka_unit_test(a_control_without_a_track_in_a_clip_is_at_rest_there),
        cmocka_unit_test(a_clip_that_moves_only_a_control_is_a_clip),
        cmocka_unit_test(numbers_of_nodes_are_rest_values_for_tables),
        cmocka_unit_test(broken_tracks_are_refused_and_foreign_ones_left_out),
        cmocka_unit_test(the_sample_with_a_muscle_needs_its_control),
        cmocka_unit_test(a_clip_whose_table_cannot_be_read_is_said_once_by_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
