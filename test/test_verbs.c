/* test_verbs.c: rarely used options and commands of the program, on small data: checked against the files they write,
   and mistakes against the messages. */

#include "io/io.h"
#include "test/program.h"
#include <png.h>

static char *path_of(const char *name) {
    static char paths[4][300];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

/* With an exit code, or with any (ANY) if it is unclear whether arguments or files are wrong. */
enum { ANY = -1 };
static void refused(int code, const char *word, const char *format, ...) {
    char words[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    int got = pelt("%s", words);
    if (!got || (code != ANY && got != code) || !strstr(program_errors, word))
        fail_msg("pelt %s: %d, %s", words, got, program_errors);
}

/* Positions written by eval. */
static pelt_cache evaluated(pelt_arena *arena, const char *skin, const char *clip) {
    pelt_cache cache;
    pelt_error error;
    if (pelt("eval %s arm.glb --clip %s -o e.npy --quiet", skin, clip)) fail_msg("%s", program_errors);
    if (pelt_cache_read(arena, path_of("e.npy"), &cache, &error)) fail_msg("%s", error.text);
    return cache;
}

static int make_skins(void **state) {
    (void)state;
    write_text("drive.json", "[{\"joints\": \"*\", \"turn\": 1, \"bulge\": 2}]");
    return pelt("sample arm --vertices 160 --frames 12 -o . --quiet") ||
           pelt("fit arm.glb --train train --method ssd -o ssd.pelt --holdout 0 --quiet") ||
           pelt("fit arm.glb --train train --method joints --drive drive.json --influences 6 --ridge 0 --normal-scale "
                "0.02 -o "
                "joints.pelt --holdout 0 --quiet") ||
           pelt("fit arm.glb --train train --method psd -o psd.pelt --holdout 0 --quiet");
}

/* -- Options of fits ----------------------------------------------------------------------------------------------- */

/* Locked vertices move as with the file's weights; the others do not. */
static void locked_vertices_keep_the_weights_of_the_file(void **state) {
    (void)state;
    write_text("lock.txt", "# held\n0\n\n3 \n7\r\n20");
    if (pelt("fit arm.glb --train train --blend fit --lock-vertices lock.txt -o locked.pelt --holdout 0 --quiet"))
        fail_msg("%s", program_errors);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache plain = evaluated(arena, "ssd.pelt", "test"), locked = evaluated(arena, "locked.pelt", "test");
    double most[2] = {0};
    for (size_t i = 0; i < (size_t)plain.frame_count * plain.point_count; i++) {
        size_t v = i % plain.point_count;
        bool held = v == 0 || v == 3 || v == 7 || v == 20;
        for (size_t k = 0; k < 3; k++)
            most[held] = fmax(most[held], fabsf(plain.positions[3 * i + k] - locked.positions[3 * i + k]));
    }
    assert_true(most[1] < 1e-5);
    assert_true(most[0] > 1e-3);
    pelt_arena_free(arena);
    static const char words[] = "fit arm.glb --train train --blend fit -o x.pelt --lock-vertices %s";
    write_text("bad.txt", "1\ntwo\n");
    refused(ANY, "line 2", words, "bad.txt");
    write_text("bad.txt", "1\n2\n-3\n");
    refused(ANY, "line 3", words, "bad.txt");
    write_text("bad.txt", "4294967295\n");
    refused(ANY, "line 1", words, "bad.txt");
    write_text("bad.txt", "# none\n");
    refused(ANY, "no vertices", words, "bad.txt");
    refused(ANY, "nowhere.txt", words, "nowhere.txt");
}

/* A preset is named in what is said of the fit, and nothing may contradict it, not even a default. */
static void presets_are_named_and_not_contradicted(void **state) {
    (void)state;
    json_t *fit = pelt_json("fit arm.glb --train train --every 4 --preset lewis --width 3 --holdout 0 -o lewis.pelt");
    assert_string_equal(json_string_value(json_object_get(fit, "preset")), "lewis");
    assert_string_equal(json_string_value(json_object_get(fit, "method")), "psd");
    json_decref(fit);
    json_t *info = pelt_json("info lewis.pelt");
    char *text = json_dumps(info, 0);
    assert_non_null(strstr(text, "\"preset\": \"lewis\""));
    free(text), json_decref(info);
    static const char *const others[] = {"--rotations chord", "--method ssd", "--rbf exp", "--blend fit"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(pelt("fit arm.glb --train train --preset lewis %s -o no.pelt", others[i]), 2);
        assert_non_null(strstr(program_errors, "the preset lewis sets it to"));
    }
    fit = pelt_json("compare arm.glb --train train --every 4 --test test --methods psd,lewis --rbf exp");
    json_t *methods = json_object_get(fit, "methods");
    assert_string_equal(json_string_value(json_object_get(json_array_get(methods, 1), "method")), "lewis");
    json_decref(fit);
}

/* The arm with its normals as colours, so that vertices facing z are blue. */
static void paint_arm(void) {
    static char text[1 << 20], painted[1 << 20];
    if (pelt("export ssd.pelt arm.glb -o painted.gltf --quiet")) fail_msg("%s", program_errors);
    FILE *file = fopen(path_of("painted.gltf"), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *normals = strstr(text, "\"NORMAL\":");
    assert_non_null(normals);
    int accessor = atoi(normals + strlen("\"NORMAL\":"));
    snprintf(painted, sizeof painted, "%.*s\"COLOR_0\": %d, %s", (int)(normals - text), text, accessor, normals);
    write_text("painted.gltf", painted);
    assert_int_equal(symlink("arm.train.pc2", path_of("painted.train.pc2")), 0);
    assert_int_equal(symlink("arm.test.pc2", path_of("painted.test.pc2")), 0);
}

static void painted_vertices_keep_the_weights_of_the_file(void **state) {
    (void)state;
    static const char words[] = "fit %s --train train --blend %s --lock-color %s -o painted.pelt --holdout 0 --quiet";
    paint_arm();
    pelt_error error;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *bundle = pelt_bundle_read(path_of("painted.gltf"), &error);
    if (!bundle) fail_msg("%s", error.text);
    const float *colors = bundle->mesh.colors;
    assert_non_null(colors);
    for (int joints = 0; joints < 2; joints++) {
        if (pelt(words, "painted.gltf", joints ? "joints --rest keep" : "fit", "blue")) fail_msg("%s", program_errors);
        pelt_cache plain = evaluated(arena, "ssd.pelt", "test"), locked = evaluated(arena, "painted.pelt", "test");
        double most[2] = {0};
        for (size_t i = 0; i < (size_t)plain.frame_count * plain.point_count; i++) {
            const float *c = colors + 3 * (i % plain.point_count);
            bool blue = c[0] < 0.5f && c[1] < 0.5f && c[2] >= 0.5f;
            for (size_t k = 0; k < 3; k++)
                most[blue] = fmax(most[blue], fabsf(plain.positions[3 * i + k] - locked.positions[3 * i + k]));
        }
        assert_true(most[1] < 1e-5);
        assert_true(most[0] > 1e-3);
    }
    refused(2, "--lock-color: there is no choice \"purple\"; choose from black, red", words, "arm.glb", "fit",
            "purple");
    refused(ANY, "--lock-color", words, "arm.glb", "fit", "red");
    assert_non_null(strstr(program_errors, "COLOR_0"));
    refused(ANY, "the blends fit and joints", words, "painted.gltf", "file", "red");
    pelt_bundle_free(bundle);
    pelt_arena_free(arena);
}

static void rules_for_driven_joints_come_from_a_file(void **state) {
    (void)state;
    static const char words[] = "fit arm.glb --train train --method joints --drive %s -o x.pelt";
    write_bytes("bad.json", "[]\0[]", 5);
    refused(ANY, "bad.json", words, "bad.json");
    write_text("bad.json", "[{\"joints\": 5}]");
    refused(ANY, "bad.json", words, "bad.json");
    refused(ANY, "nowhere.json", words, "nowhere.json");
    refused(2, "--drive", "fit arm.glb --train train --method ssd --drive drive.json -o x.pelt");
    refused(2, "--ridge", "fit arm.glb --train train --method joints --ridge nan -o x.pelt");
    refused(2, "--influence-choice", "fit arm.glb --train train --method joints --influence-choice dice -o x.pelt");
}

static void a_control_counts_as_much_as_it_is_told_to(void **state) {
    (void)state;
    static const char words[] = "fit biceps.glb --train train --method psd --holdout 0 --quiet -o %s %s";
    char line[700];
    assert_int_equal(pelt("sample biceps --vertices 160 --frames 12 -o . --quiet"), 0);
    if (pelt(words, "one.pelt", "") || pelt(words, "four.pelt", "--control-scale tension=4"))
        fail_msg("%s", program_errors);
    snprintf(line, sizeof line, "cd %s && ! cmp -s one.pelt four.pelt", test_folder());
    assert_int_equal(system(line), 0);
    refused(2, "NAME=S", words, "x.pelt", "--control-scale tension");
    refused(2, "NAME=S", words, "x.pelt", "--control-scale tension=much");
    refused(2, "--control-scale", words, "x.pelt", "--control-scale tension=-1");
    assert_int_not_equal(pelt(words, "x.pelt", "--control-scale nothing=2"), 0);
    assert_non_null(strstr(program_errors, "nothing"));
    assert_int_equal(access(path_of("x.pelt"), F_OK), -1);
}

/* -- What info says ------------------------------------------------------------------------------------------------ */

static void info_lists_the_driven_joints_that_a_skin_has(void **state) {
    (void)state;
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(path_of("joints.pelt"), &skin, &error);
    assert_non_null(bytes);
    assert_true(skin.driven_count > 0);
    json_t *info = pelt_json("info joints.pelt"), *about = json_array_get(json_object_get(info, "files"), 0);
    json_t *driven = json_object_get(about, "driven");
    assert_int_equal(json_array_size(driven), skin.driven_count);
    for (uint32_t i = 0; i < skin.driven_count; i++) {
        json_t *one = json_array_get(driven, i);
        const pelt_driven *d = &skin.driven[i];
        assert_string_equal(json_string_value(json_object_get(one, "name")), skin.names + d->name);
        assert_string_equal(json_string_value(json_object_get(one, "driver")),
                            skin.names + skin.joints[d->driver].name);
        assert_near(number(one, "amount"), d->amount, 1e-6);
    }
    json_decref(info);
    char line[60];
    snprintf(line, sizeof line, "%u driven joints:", skin.driven_count);
    assert_int_equal(pelt("info joints.pelt"), 0);
    assert_non_null(strstr(program_output, line));
    for (uint32_t i = 0; i < skin.driven_count; i++)
        assert_non_null(strstr(program_output, skin.names + skin.driven[i].name));
    pelt_bytes_free(bytes);
}

static void info_finds_the_number_that_is_not_finite(void **state) {
    (void)state;
    pelt_error error;
    float positions[30] = {0};
    pelt_cache_writer *writer =
        pelt_cache_writer_open(path_of("nan.pc2"), 3, &(pelt_mesh){.vertex_count = 10}, 24, &error);
    assert_non_null(writer);
    for (int f = 0; f < 3; f++) pelt_cache_writer_frame(writer, positions);
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    FILE *file = fopen(path_of("nan.pc2"), "r+b");
    float bad = NAN;
    fseek(file, 32 + 4 * (2 * 30 + 3 * 5 + 1), SEEK_SET);
    fwrite(&bad, 4, 1, file), fclose(file);
    pelt("info nan.pc2");
    assert_non_null(strstr(program_output, "1 numbers are not finite, the first in frame 2, point 5"));
    write_text("torn.csv", "a,b\n1,2\n3\n");
    refused(1, "torn.csv", "info torn.csv");
}

/* One frame does not move: what would be NaN is null, and the object is complete. */
static void numbers_that_there_are_not_are_null(void **state) {
    (void)state;
    if (pelt("sample arm --vertices 100 --frames 1 -o still --quiet") ||
        pelt("fit still/arm.glb --train test -o still.pelt --method kernel --holdout 0 --quiet"))
        fail_msg("%s", program_errors);
    json_t *measure = pelt_json("measure still.pelt still/arm.glb --clip test");
    assert_true(json_is_null(json_object_get(measure, "jump")));
    assert_true(number(measure, "roughness") > 0);
    json_decref(measure);
}

/* -- Export -------------------------------------------------------------------------------------------------------- */

static void convex_export_has_no_negative_weight_and_says_what_that_costs(void **state) {
    (void)state;
    pelt_error error;
    json_t *done = pelt_json("export joints.pelt arm.glb --clip test --convex --train train --refitted convex.pelt "
                             "--influences 8 -o c.glb");
    json_t *cost = json_object_get(done, "convex");
    assert_true(number(cost, "rel_err_after") > number(cost, "rel_err_before"));
    json_t *before = pelt_json("measure joints.pelt arm.glb --clip train"),
           *after = pelt_json("measure convex.pelt arm.glb --clip train");
    assert_near(number(cost, "rel_err_before"), number(before, "rel_err"), 1e-6);
    assert_near(number(cost, "rel_err_after"), number(after, "rel_err"), 1e-6);
    pelt_bundle *plain = pelt_bundle_read(path_of("c.glb"), &error);
    if (!plain) fail_msg("%s", error.text);
    const pelt_influences *influences = &plain->mesh.influences;
    uint32_t many = 0;
    for (uint32_t v = 0; v < plain->mesh.vertex_count; v++) {
        double sum = 0;
        for (uint32_t i = influences->first[v]; i < influences->first[v + 1]; i++) {
            assert_true(influences->weights[i] >= 0);
            sum += influences->weights[i];
        }
        assert_near(sum, 1, 1e-4);
        many += influences->first[v + 1] - influences->first[v] > 4;
    }
    assert_int_equal(number(done, "beyond_four"), many);
    pelt_bundle_free(plain);
    json_decref(done), json_decref(before), json_decref(after);
    assert_int_equal(pelt("export joints.pelt arm.glb --convex --train train --influences 8 -o c.glb"), 0);
    assert_non_null(strstr(program_output, "rel_err on the training clips went from"));
}

static uint32_t most_nodes(const char *path) {
    pelt_error error;
    pelt_bundle *plain = pelt_bundle_read(path_of(path), &error);
    if (!plain) fail_msg("%s", error.text);
    const uint32_t *first = plain->mesh.influences.first;
    uint32_t most = 0;
    for (uint32_t v = 0; v < plain->mesh.vertex_count; v++)
        if (first[v + 1] - first[v] > most) most = first[v + 1] - first[v];
    pelt_bundle_free(plain);
    return most;
}

static void more_than_four_influences_are_refitted_unless_allowed(void **state) {
    (void)state;
    assert_int_equal(pelt("fit arm.glb --train train --method joints --influences 6 --holdout 0 -o six.pelt"), 0);
    json_t *done = pelt_json("export six.pelt arm.glb --clip test -o four.glb"),
           *cost = json_object_get(done, "refitted");
    assert_true(number(cost, "vertices") > 0 && number(cost, "rms") > 0 && number(cost, "max") >= number(cost, "rms"));
    assert_int_equal(number(done, "beyond_four"), 0);
    assert_int_equal(most_nodes("four.glb"), 4);
    assert_int_equal(pelt("export six.pelt arm.glb --clip test -o four.glb"), 0);
    assert_non_null(
        strstr(program_output, " vertices followed more than 4 joints and were refitted to 4: they are off by "));
    json_decref(done);
    done = pelt_json("export six.pelt arm.glb --clip test --influences 12 -o six.glb");
    assert_null(json_object_get(done, "refitted"));
    assert_true(most_nodes("six.glb") > 4);
    json_decref(done);
    assert_int_equal(pelt("export six.pelt arm.glb --clip test --influences 12 -o six.glb"), 0);
    assert_non_null(strstr(program_errors, "warning: "));
}

static void exports_that_cannot_be_are_refused(void **state) {
    (void)state;
    refused(ANY, "--train", "export joints.pelt arm.glb --convex -o x.glb");
    refused(1, "corrective", "export psd.pelt arm.glb --convex --train train -o x.glb");
    refused(1, "nowhere", "export joints.pelt arm.glb --convex --train nowhere -o x.glb");
    refused(1, "nowhere", "export ssd.pelt arm.glb --clip nowhere -o x.glb");
    refused(1, "nothing.glb", "export ssd.pelt nothing.glb -o x.glb");
    refused(1, "no/folder", "export joints.pelt arm.glb --convex --train train --refitted no/folder/x.pelt -o x.glb");
    assert_int_equal(access(path_of("x.glb"), F_OK), -1);
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

/* In the left and right half of a picture: pixels that are not white, those of hot colours, and those at its edge. */
typedef struct drawn {
    uint32_t width, height;
    size_t pixels[2], hot[2], edge;
} drawn;

static drawn look_at(const char *name) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path_of(name)));
    png.format = PNG_FORMAT_RGB;
    uint8_t *rgb = malloc(PNG_IMAGE_SIZE(png));
    assert_true(png_image_finish_read(&png, NULL, rgb, 0, NULL));
    drawn out = {.width = png.width, .height = png.height};
    for (uint32_t y = 0; y < png.height; y++)
        for (uint32_t x = 0; x < png.width; x++) {
            const uint8_t *p = rgb + 3 * ((size_t)y * png.width + x);
            int right = x >= png.width / 2;
            if (p[0] > 250 && p[1] > 250 && p[2] > 250) continue;
            out.pixels[right]++;
            out.hot[right] += 2 * p[0] > 3 * p[2];
            out.edge += y == 0 || y == png.height - 1 || x == 0 || x == png.width - 1;
        }
    free(rgb);
    return out;
}

static void render_draws_truth_and_skin_side_by_side(void **state) {
    (void)state;
    if (pelt("render ssd.pelt arm.glb --clip test --beside --size 128 -o frames --turn 180"))
        fail_msg("%s", program_errors);
    for (int frame = 0; frame < 10; frame += 3) { /* the camera keeps all of it in view, wherever it has moved */
        char name[40];
        snprintf(name, sizeof name, "frames/frame_%04d.png", frame);
        drawn d = look_at(name);
        assert_int_equal(d.height, 128);
        assert_int_equal(d.width % 4, 0);
        assert_true(d.pixels[0] > 300 && d.pixels[0] < 1.3 * d.pixels[1] && d.pixels[1] < 1.3 * d.pixels[0]);
        assert_int_equal(d.hot[0] + d.hot[1] + d.edge, 0);
    }
    assert_int_equal(pelt("render ssd.pelt arm.glb --clip test --beside --size 128 -o hot --heat 0.0001 --threads 1"),
                     0);
    drawn hot = look_at("hot/frame_0004.png");
    assert_true(hot.hot[0] == 0 && hot.hot[1] > 0.7 * hot.pixels[1]); /* the truth has no error */
    assert_int_equal(pelt("render ssd.pelt arm.glb --clip test --beside --size 128 -o cold --heat 100"), 0);
    drawn cold = look_at("cold/frame_0004.png");
    assert_int_equal(cold.hot[1], 0);
    assert_int_equal(cold.pixels[1], hot.pixels[1]);
    refused(2, ".webp", "render ssd.pelt arm.glb --clip test -o never --movie film.avi");
    refused(1, "nowhere", "render ssd.pelt arm.glb --clip nowhere -o never");
    refused(2, "--clip", "render ssd.pelt arm.glb -o never");
    assert_int_equal(access(path_of("never"), F_OK), -1);
}

/* -- Compare, samples, speeds -------------------------------------------------------------------------------------- */

static void a_picture_shows_the_frame_that_was_chosen(void **state) {
    (void)state;
    static const char words[] =
        "compare arm.glb --train train --test test --methods ssd --quiet --picture %s --picture-size 64 --show %s";
    if (pelt(words, "first.png", "test:1") || pelt(words, "other.png", "test:9")) fail_msg("%s", program_errors);
    char line[600];
    snprintf(line, sizeof line, "cd %s && [ -s first.png ] && ! cmp -s first.png other.png", test_folder());
    assert_int_equal(system(line), 0);
    refused(ANY, "CLIP:FRAME", words, "x.png", "test:1000");
    refused(ANY, "CLIP:FRAME", words, "x.png", "train:1");
    refused(ANY, "CLIP:FRAME", words, "x.png", "test");
    refused(ANY, "CLIP:FRAME", words, "x.png", "test:");
}

static void the_page_of_eigenskin_shows_its_joints(void **state) {
    (void)state;
    static char page[1 << 22];
    assert_int_equal(pelt("sample elbow --vertices 120 --frames 10 -o . --quiet"), 0);
    if (pelt("compare elbow.glb --train train --test test --methods eigen --report eigen.html --picture-size 64 "
             "--quiet"))
        fail_msg("%s", program_errors);
    program_read("eigen.html", page, sizeof page);
    assert_non_null(strstr(page, "supports and eigendisplacements"));
    assert_non_null(strstr(page, "&sigma; = "));
}

static void captured_curves_move_the_face(void **state) {
    (void)state;
    char text[6000] = "jawOpen,nobody\n";
    for (int r = 0; r < 90; r++) sprintf(text + strlen(text), "%.3f,7\n", 0.5 + 0.5 * sin(0.2 * r));
    write_text("curves.csv", text);
    static const char words[] = "sample face --vertices 200 --frames 12 --test-frames 9 --range-frames 4 "
                                "--controls-only --curves %s -o %s --quiet";
    if (pelt(words, "curves.csv", "moved")) fail_msg("%s", program_errors);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_table table;
    pelt_error error;
    if (pelt_table_read(arena, path_of("moved/face.test.csv"), &table, &error)) fail_msg("%s", error.text);
    float least = 9, most = -9;
    for (uint32_t c = 0; c < table.column_count; c++)
        for (uint32_t r = 0; r < table.row_count && !strcmp(table.names[c], "jawOpen"); r++) {
            least = fminf(least, table.values[r * table.column_count + c]);
            most = fmaxf(most, table.values[r * table.column_count + c]);
        }
    assert_true(least >= -0.01f && most <= 1.01f && most > least + 0.05f);
    pelt_arena_free(arena);
    write_text("curves.csv", "nobody\n1\n2\n");
    refused(1, "jawOpen", words, "curves.csv", "x");
    refused(1, "nowhere.csv", words, "nowhere.csv", "x");
    refused(2, "--test-frames", "sample face --test-frames 0 -o x");
    refused(1, "nothing.glb", "sample face --face nothing.glb -o x");
}

static void speeds_are_told_for_every_instruction_set(void **state) {
    (void)state;
    json_t *speed = pelt_json("keys speed --points 60 --basis 6"), *rows = json_object_get(speed, "rows");
    size_t works = 0;
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works(isa)) continue;
        json_t *row = json_array_get(rows, works++);
        assert_string_equal(json_string_value(json_object_get(row, "isa")), pelt_isa_name(isa));
        assert_true(number(row, "fill_ms") >= number(row, "fill_ms_best") && number(row, "fill_ms_best") > 0);
    }
    assert_int_equal(json_array_size(rows), works);
    json_decref(speed);
    refused(2, "--points", "keys speed --points 0");
    refused(2, "missing", "keys train");
    refused(2, "--recipe", "keys train arm.train.pc2 --recipe soup -o x.keys");
    refused(2, "--table", "bench arm.pelt --table");
}

static void key_points_need_a_mesh_and_an_engine_of_their_size(void **state) {
    (void)state;
    if (pelt("keys train arm.train.pc2 --keys 8 --recipe paper -o arm.keys --quiet")) fail_msg("%s", program_errors);
    assert_int_equal(pelt("sample elbow --vertices 120 --frames 10 -o . --quiet"), 0);
    refused(1, "160 points", "keys train arm.train.pc2 --keys 8 --mesh elbow.glb -o x.keys");
    write_text("one.csv", "a\n0\n1\n");
    refused(1, "50 points",
            "keys run arm.keys one.csv --engine 'pipe:echo pelt-engine 1 50 3 1; cat >/dev/null' -o x.npy");
    refused(2, "--e-max",
            "keys run arm.keys one.csv --engine 'pipe:echo pelt-engine 1 160 3 1; cat >/dev/null' --e-min 2 --e-max 1 "
            "-o x.npy");
    refused(1, "2", "keys run arm.keys one.csv --engine 'pipe:echo pelt-engine 1 160 3 2; cat >/dev/null' -o x.npy");
    refused(2, "--timeout", "keys run arm.keys one.csv --engine face --timeout 0 -o x.npy");
    assert_int_equal(access(path_of("x.npy"), F_OK), -1);
}

/* -- Words --------------------------------------------------------------------------------------------------------- */

static void words_after_two_dashes_are_files(void **state) {
    (void)state;
    refused(1, "--json", "info -- --json");
    refused(2, "-z", "info -z");
    refused(2, "--threads", "info arm.glb --threads 0");
    refused(2, "frobnicate", "help frobnicate");
    assert_int_equal(pelt("help fit"), 0);
    assert_non_null(strstr(program_output, "--lock-vertices"));
    char many[2000] = "info";
    for (int i = 0; i < 300; i++) strcat(many, " arm");
    assert_int_equal(pelt("%s", many), 2);
}

/* The tour itself is long; checking that it consists of commands that can be typed, and stops at the first failure, is
   quick. */
static void the_tour_stops_where_a_command_fails(void **state) {
    (void)state;
    refused(2, "space", "demo -o 'a b'");
    assert_int_equal(pelt("demo -o /proc/nowhere"), 1);
    assert_non_null(strstr(program_output, " sample arm -o /proc/nowhere\n"));
    assert_null(strstr(program_output, " info "));
    assert_non_null(strstr(program_errors, "/proc/nowhere"));
    assert_int_equal(pelt("demo -o /proc/nowhere --quiet"), 1);
    assert_string_equal(program_output, "");
}

#ifdef PELT_WITH_LIGHT
static void light_has_a_place_and_a_colour(void **state) {
    (void)state;
    test_only_at_full_speed();
    static const char run[] = "relight run cornell --full --size 8x8 --samples 2 --light %s -o l.pfm";
    refused(2, "--color", run, "0.2,0.4,0.2 --color red");
    refused(2, "--kind", run, "0.2,0.4,0.2 --kind candle");
    refused(2, "--light", run, "0.2,0.4");
    refused(2, "run takes key points", "relight run -o l.png");
    refused(2, "measure takes key points", "relight measure");
    if (pelt("relight train cornell --lights 2x2@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 12x12 --samples 32 --keys 8 "
             "--basis 3 "
             "-o box.keys --quiet"))
        fail_msg("%s", program_errors);
    refused(2, "--novel", "relight measure box.keys --novel 0");
    if (pelt("relight measure box.keys --novel 2 --reference 32 --key-samples 32 --at 40 --pictures p.png"))
        fail_msg("%s", program_errors);
    assert_non_null(strstr(program_output, "p.png: training lights"));
    char head[9] = "";
    FILE *file = fopen(path_of("p.png"), "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, 8, file), 8);
    fclose(file);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_named_and_not_contradicted),
        cmocka_unit_test(locked_vertices_keep_the_weights_of_the_file),
        cmocka_unit_test(painted_vertices_keep_the_weights_of_the_file),
        cmocka_unit_test(rules_for_driven_joints_come_from_a_file),
        cmocka_unit_test(a_control_counts_as_much_as_it_is_told_to),
        cmocka_unit_test(info_lists_the_driven_joints_that_a_skin_has),
        cmocka_unit_test(info_finds_the_number_that_is_not_finite),
        cmocka_unit_test(numbers_that_there_are_not_are_null),
        cmocka_unit_test(convex_export_has_no_negative_weight_and_says_what_that_costs),
        cmocka_unit_test(more_than_four_influences_are_refitted_unless_allowed),
        cmocka_unit_test(exports_that_cannot_be_are_refused),
        cmocka_unit_test(render_draws_truth_and_skin_side_by_side),
        cmocka_unit_test(a_picture_shows_the_frame_that_was_chosen),
        cmocka_unit_test(the_page_of_eigenskin_shows_its_joints),
        cmocka_unit_test(captured_curves_move_the_face),
        cmocka_unit_test(speeds_are_told_for_every_instruction_set),
        cmocka_unit_test(key_points_need_a_mesh_and_an_engine_of_their_size),
        cmocka_unit_test(words_after_two_dashes_are_files),
        cmocka_unit_test(the_tour_stops_where_a_command_fails),
#ifdef PELT_WITH_LIGHT
        cmocka_unit_test(light_has_a_place_and_a_colour),
#endif
    };
    return cmocka_run_group_tests(tests, make_skins, NULL);
}
