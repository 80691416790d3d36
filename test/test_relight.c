/* test_relight.c: key points of light from end to end in a small box: train, stop, resume, run, measure; the denoiser
   against a known truth; scenes from glTF; bad input. */

#include "io/gltf_light.h"
#include "io/pfm.h"
#include "light/denoise.h"
#include "test/gltf_maker.h"
#include "test/program.h"

#define relight(...) pelt("relight " __VA_ARGS__)

static json_t *relight_json(const char *words) { return pelt_json("relight %s", words); }

static pelt_picture read_picture(pelt_arena *arena, const char *name) {
    char path[300];
    pelt_error error;
    pelt_picture picture;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    if (pelt_pfm_read(arena, path, &picture, &error)) fail_msg("%s", error.text);
    return picture;
}

static double relative_difference(const pelt_picture *a, const pelt_picture *b) {
    double difference = 0, square = 0;
    for (size_t i = 0; i < 3 * (size_t)a->width * a->height; i++) {
        difference += pow(a->rgb[i] - b->rgb[i], 2);
        square += pow(b->rgb[i], 2);
    }
    return sqrt(difference / square);
}

#define TRAIN                                                                                                          \
    "train cornell --lights 4x4@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 24x24 --samples 128 --keys 40 --basis 12 "

static int train_once(void **state) {
    (void)state;
    if (relight(TRAIN "-o box.keys")) fail_msg("%s", program_errors);
    return 0;
}

/* -- The box ------------------------------------------------------------------------------------------------------- */

static void a_new_light_is_close_to_its_full_gather(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    json_t *run = relight_json("run box.keys --light 0.23,0.46648,0.31 --key-samples 1024 --indirect -o keys.pfm");
    assert_string_equal(json_string_value(json_object_get(run, "verdict")), "hit");
    json_decref(run);
    assert_int_equal(
        relight("run cornell --full --size 24x24 --samples 1024 --seed 7 --light 0.23,0.46648,0.31 --indirect "
                "-o full.pfm"),
        0);
    pelt_picture keys = read_picture(arena, "keys.pfm"), full = read_picture(arena, "full.pfm");
    assert_true(relative_difference(&keys, &full) < 0.08);
    pelt_arena_free(arena);
}

static void colour_is_a_factor_of_each_channel(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    assert_int_equal(relight("run box.keys --light 0.2,0.46,0.3 --indirect --no-fallback -o white.pfm"), 0);
    assert_int_equal(relight("run box.keys --light 0.2,0.46,0.3 --indirect --no-fallback --color 4,1,0.5 -o tint.pfm"),
                     0);
    pelt_picture white = read_picture(arena, "white.pfm"), tint = read_picture(arena, "tint.pfm");
    const float color[3] = {4, 1, 0.5f};
    for (size_t i = 0; i < 3 * 24 * 24; i++)
        assert_near(tint.rgb[i], white.rgb[i] * color[i % 3], 1e-4 * tint.rgb[i] + 1e-4);
    pelt_arena_free(arena);
}

/* A spot lights only the floor: nothing training has seen. The output must be the full gather. */
static void a_light_of_another_kind_falls_through(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    json_t *run = relight_json("run box.keys --light 0.2,0.46648,0.3 --kind spot --samples 64 --indirect -o spot.pfm");
    assert_string_equal(json_string_value(json_object_get(run, "verdict")), "miss");
    assert_true(number(run, "misfit") > 1.5 * number(run, "trusted_misfit"));
    json_decref(run);
    assert_int_equal(
        relight("run cornell --full --size 24x24 --samples 64 --light 0.2,0.46648,0.3 --kind spot --indirect -o "
                "spotfull.pfm"),
        0);
    pelt_picture spot = read_picture(arena, "spot.pfm"), full = read_picture(arena, "spotfull.pfm");
    assert_memory_equal(spot.rgb, full.rgb, 3 * 24 * 24 * sizeof(float));
    pelt_arena_free(arena);
}

/* Whatever the misfit says: a distance of 0.05 sideways and 0.12 down is 0.13. */
static void a_light_beyond_the_grid_is_flagged(void **state) {
    (void)state;
    static const struct {
        const char *light, *more;
        double beyond;
    } cases[] = {{"0.23,0.46648,0.31", "", 0},
                 {"0.35,0.46648,0.2", "", 0},
                 {"0.4,0.46648,0.3", "", 0.05},
                 {"0.15,0.34648,0.3", "--no-fallback", 0.13},
                 {"0.15,0.34648,0.3", "--full", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[200];
        snprintf(words, sizeof words, "run box.keys --light %s %s --indirect -o beyond.pfm", cases[i].light,
                 cases[i].more);
        json_t *run = relight_json(words), *said = json_object_get(run, "warnings");
        assert_near(number(run, "beyond_grid"), cases[i].beyond, 1e-6);
        bool gathered = !strcmp(json_string_value(json_object_get(run, "verdict")), "miss") && !*cases[i].more;
        assert_int_equal(json_array_size(said), cases[i].beyond > 0 && !gathered);
        if (json_array_size(said))
            assert_non_null(strstr(json_string_value(json_array_get(said, 0)), "outside the grid of training lights"));
        json_decref(run);
    }
    relight("run box.keys --light 0.15,0.34648,0.3 --no-fallback --indirect -o beyond.pfm");
    assert_non_null(strstr(program_errors, "the light is 0.13 outside the grid of training lights"));
}

static void measure_has_the_figures_of_the_contract(void **state) {
    (void)state;
    json_t *measure = relight_json("measure box.keys --novel 3 --reference 64 --key-samples 256");
    assert_int_equal(number(measure, "points"), 576);
    assert_int_equal(number(measure, "keys"), 40);
    assert_int_equal(number(measure, "basis"), 12);
    assert_int_equal(number(measure, "lights"), 3);
    assert_true(number(measure, "rel_rms") > 0 && number(measure, "rel_rms") < 0.1);
    assert_true(number(measure, "noise_rel_rms") > 0.02 && number(measure, "noise_rel_rms") < 0.2);
    assert_true(number(measure, "speedup") > 3); /* 576 points by 40 keys: 14 at most */
    json_decref(measure);
}

static void stopped_training_goes_on_and_gives_the_same_bytes(void **state) {
    (void)state;
    char line[800];
    snprintf(line, sizeof line,
             "cd %s && cp -r box.keys.frames again.keys.frames && rm again.keys.frames/light-000[2-9]-b.pfm",
             test_folder());
    assert_int_equal(system(line), 0);
    assert_int_equal(relight(TRAIN "--threads 1 -o again.keys"), 0);
    assert_non_null(strstr(program_output, "24 of 32 gathers already exist"));
    snprintf(line, sizeof line, "cd %s && cmp box.keys again.keys", test_folder());
    assert_int_equal(system(line), 0);
}

/* -- Denoising ----------------------------------------------------------------------------------------------------- */

enum { SIDE = 48, FRAMES = 20 };

/* Smooth pictures with two degrees of freedom, with a step between the two halves of the plane. */
static double true_value(uint32_t frame, size_t pixel, int channel) {
    double x = (double)(pixel % SIDE) / SIDE, y = (double)(pixel / SIDE) / SIDE, t = 6.0 * frame / FRAMES;
    double step = x < 0.5 ? 1 : 0.4;
    return (channel + 1) * step * (2 + cos(t) * sin(2 * x + y) + sin(t) * cos(3 * y));
}

static pelt_result read_noisy(void *user, uint32_t frame, uint32_t half, float *values, pelt_error *error) {
    (void)user, (void)error;
    uint64_t random = 1000 * frame + 17 * half + 5;
    for (size_t i = 0; i < 3 * SIDE * SIDE; i++) {
        double noise = 0;
        for (int k = 0; k < 12; k++) noise += test_random(&random);
        values[i] = (float)(true_value(frame, i / 3, (int)(i % 3)) * (1 + 0.2 * (noise - 6)));
    }
    return PELT_OK;
}

static void denoiser_brings_frames_near_a_truth_it_has_not_seen(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    static pelt_light_point points[SIDE * SIDE];
    static float values[3 * SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE; i++) { /* the halves are two walls of a corner */
        float x = (float)(i % SIDE), fold = SIDE / 2, turned = x >= fold;
        points[i] = (pelt_light_point){.position = {fminf(x, fold), (float)(i / SIDE), fmaxf(x - fold, 0)},
                                       .normal = {turned, 0, 1 - turned},
                                       .id = i,
                                       .hit = true};
    }
    pelt_denoise_options options = {.points = points, .point_count = SIDE * SIDE, .width = SIDE, .height = SIDE};
    pelt_clean_frames clean;
    pelt_error error;
    assert_int_equal(pelt_denoise(arena, &(pelt_halves){FRAMES, read_noisy, NULL}, &options, &clean, &error), PELT_OK);
    assert_near(clean.noise, 0.2 / sqrt(2), 0.01);
    double difference = 0, square = 0;
    for (uint32_t f = 0; f < FRAMES; f++) {
        pelt_clean_frame(&clean, f, values);
        for (size_t i = 0; i < 3 * SIDE * SIDE; i++) {
            double truth = true_value(f, i / 3, (int)(i % 3));
            difference += pow(values[i] - truth, 2);
            square += truth * truth;
        }
    }
    assert_true(sqrt(difference / square) < 0.2 / sqrt(2) / 4);
    pelt_arena_free(arena);
}

/* -- Scenes from glTF ---------------------------------------------------------------------------------------------- */

static const char *two_squares =
    "'scene':0,'scenes':[{'nodes':[0,1,2]}],'nodes':[{'mesh':0},"
    "{'translation':[1,2,3],'extensions':{'KHR_lights_punctual':{'light':0}}},"
    "{'translation':[0,0,5],'camera':0}],'cameras':[{'type':'perspective','perspective':{'yfov':0.9,'znear':0.1}}],"
    "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'material':1},{'attributes':{'POSITION':1},'material':0},"
    "{'attributes':{'POSITION':1}}]}],"
    "'materials':[{'pbrMetallicRoughness':{'baseColorFactor':[0.1,0.2,0.3,1]}},"
    "{'emissiveFactor':[1,0.5,0],'extensions':{'KHR_materials_emissive_strength':{'emissiveStrength':4}}}],"
    "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'spot','color':[1,0.5,0.25],'intensity':7,"
    "'spot':{'innerConeAngle':0.1,'outerConeAngle':0.6}}]}}";

static pelt_scene *parse_scene(const char *rest, pelt_error *error) {
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 6, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 2, 1, 0, 2, 0, 1, 2);
    pelt_file file = make_glb(&m, rest);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_scene *scene = PELT_NEW(arena, 1, pelt_scene);
    scene->arena = arena;
    if (pelt_light_scene_parse(scene, &file, NULL, error) == PELT_OK) return scene;
    pelt_arena_free(arena);
    return NULL;
}

static void gltf_gives_materials_lights_and_camera(void **state) {
    (void)state;
    pelt_error error;
    pelt_scene *scene = parse_scene(two_squares, &error);
    if (!scene) fail_msg("%s", error.text);
    assert_int_equal(scene->triangle_count, 5);
    const uint32_t materials[] = {1, 0, 0, 2, 2};
    for (int i = 0; i < 5; i++) assert_int_equal(scene->triangle_materials[i], materials[i]);
    assert_near(scene->materials[0].albedo[2], 0.3, 1e-6);
    assert_near(scene->materials[1].emission[1], 2, 1e-6);
    assert_near(scene->materials[2].albedo[0], 1, 0);
    assert_int_equal(scene->light_count, 1);
    assert_int_equal(scene->lights[0].kind, PELT_LIGHT_SPOT);
    assert_near(scene->lights[0].position[1], 2, 0);
    assert_near(scene->lights[0].direction[2], -1, 1e-6);
    assert_near(scene->lights[0].intensity * scene->lights[0].color[1], 3.5, 1e-6);
    assert_near(scene->lights[0].outer_cone, 0.6, 1e-6);
    assert_true(scene->has_camera);
    assert_near(scene->camera.field_of_view, 0.9, 1e-9);
    assert_near(scene->camera.eye[2], 5, 1e-9);
    pelt_scene_free(scene);
}

/* A floor and a wall, seen from the front; the only light in the file is the one that moves. `change` replaces a word
   of the file. */
static void write_corner(const char *name, const char *word, const char *change) {
    maker m = {0};
    float edge = strcmp(word, "edge") ? 1 : 0.9f;
    MAKE_FLOATS(&m, "VEC3", 6, -1, 0, -1, edge, 0, 1, 1, 0, -1, -1, 0, -1, -1, 0, 1, edge, 0, 1);
    MAKE_FLOATS(&m, "VEC3", 6, -1, 0, -1, 1, 0, -1, 1, 2, -1, -1, 0, -1, 1, 2, -1, -1, 2, -1);
    char text[1500] = "'scene':0,'scenes':[{'nodes':[0,1,2,3]}],'nodes':[{'mesh':0},{'translation':[0,1,4],'camera':0},"
                      "{'extensions':{'KHR_lights_punctual':{'light':0}}},"
                      "{'translation':[0,1.5,0],'extensions':{'KHR_lights_punctual':{'light':1}}}],"
                      "'cameras':[{'type':'perspective','perspective':{'yfov':0.7,'znear':0.1}}],"
                      "'meshes':[{'primitives':[{'attributes':{'POSITION':0}},{'attributes':{'POSITION':1},"
                      "'material':0}]}],'materials':[{'pbrMetallicRoughness':{'baseColorFactor':[0.8,0.3,0.2,1]}}],"
                      "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'point','intensity':3},"
                      "{'type':'point','intensity':0.25}]}}";
    char *at = strstr(text, word), rest[1500];
    if (at) {
        snprintf(rest, sizeof rest, "%s", at + strlen(word));
        snprintf(at, sizeof text - (size_t)(at - text), "%s%s", change, rest);
    }
    pelt_file file = make_glb(&m, text);
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(file.bytes, 1, file.size, out), file.size);
    fclose(out);
}

#define CORNER "--lights 4x4@-0.6,1,-0.6:0.6,1,0.6 --size 32x32 --samples 64 --keys 30 --basis 8 "

static void a_scene_from_gltf_is_trained_and_run(void **state) {
    (void)state;
    write_corner("corner.glb", "nothing", "");
    assert_int_equal(relight("train corner.glb " CORNER "-o corner.keys"), 0);
    json_t *run = relight_json("run corner.keys --light 0.1,1,0.15 --key-samples 512 -o corner.png");
    assert_string_equal(json_string_value(json_object_get(run, "verdict")), "hit");
    json_decref(run);
}

/* Frames gathered before anything they depend on changed would be silently wrong. */
static void training_goes_on_only_with_the_same_of_everything(void **state) {
    (void)state;
    static const char *const changes[][2] = {
        {"'translation':[0,1,4]", "'translation':[0.1,1,4]"}, /* the camera */
        {"0.7,'znear'", "0.71,'znear'"},
        {"0.7,'znear'", "0.7001,'znear'"}, /* so little that it sees as many points */
        {"[0.8,0.3,0.2,1]", "[0.8,0.3,0.3,1]"},
        {"'intensity':0.25", "'intensity':0.5"}, /* a light that stays */
        {"'type':'point'", "'type':'spot'"},     /* the light that moves */
        {"edge", ""},                            /* a vertex */
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_corner("corner.glb", changes[i][0], changes[i][1]);
        if (relight("train corner.glb " CORNER "-o corner.keys") != 1)
            fail_msg("%s: trained with the frames of before", changes[i][1]);
        assert_non_null(strstr(program_errors, "gathered with another"));
    }
    write_corner("corner.glb", "nothing", "");
    static const char *const words[] = {"--lights 4x4@-0.6,1,-0.6:0.6,1,0.5 --size 32x32 --samples 64 --keys 30",
                                        CORNER "--seed 5", CORNER "--bounces 2", CORNER "--size 32x31",
                                        CORNER "--samples 96"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(relight("train corner.glb %s -o corner.keys", words[i]), 1);
    assert_int_equal(relight("train corner.glb " CORNER "-o corner.keys"), 0);
    assert_non_null(strstr(program_output, "32 of 32 gathers already exist"));
    /* A change of the camera alone also invalidates finished key points. */
    write_corner("moved.glb", "0.7,'znear'", "0.7001,'znear'");
    assert_int_equal(relight("run corner.keys moved.glb --light 0.1,1,0.15 -o corner.png"), 1);
    assert_non_null(strstr(program_errors, "camera of moved.glb has moved"));
}

#define SMALL                                                                                                          \
    "train cornell --lights 2x2@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 12x12 --samples 32 --keys 8 --basis 3 "

static void frames_that_are_empty_or_cut_are_gathered_again(void **state) {
    (void)state;
    static const char *const damages[][2] = {
        {": > cut.keys.frames/light-0003-a.pfm", "7 of 8"},
        {"truncate -s -1 cut.keys.frames/light-0002-b.pfm && truncate -s 500 cut.keys.frames/light-0000-a.pfm",
         "6 of 8"},
        {"printf 'PF\\n1 1\\n-1.0\\n0123456789ab' > cut.keys.frames/light-0001-a.pfm", "7 of 8"},
        {"printf '\\377\\377\\377\\377' | dd of=cut.keys.frames/light-0001-b.pfm bs=1 seek=500 conv=notrunc 2>e",
         "7 of 8"},                                  /* no number */
        {": > cut.keys.frames/training.json", NULL}, /* whose are they? */
        {"truncate -s 100 cut.keys.frames/training.json", NULL},
    };
    if (relight(SMALL "-o small.keys")) fail_msg("%s", program_errors);
    shell("cp -r small.keys.frames cut.keys.frames");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        shell("%s", damages[i][0]);
        if (relight(SMALL "-o cut.keys")) fail_msg("%s: %s", damages[i][0], program_errors);
        const char *said = strstr(program_output, "gathers already exist");
        if (damages[i][1] ? !strstr(program_output, damages[i][1]) : said != NULL)
            fail_msg("%s: %s", damages[i][0], program_output);
        shell("cmp small.keys cut.keys && diff -r small.keys.frames cut.keys.frames");
    }
}

/* An untrusted file must not determine which files are opened. */
static void key_points_open_no_scene_elsewhere(void **state) {
    (void)state;
    write_corner("corner.glb", "nothing", "");
    shell("mkdir -p deep other && cp corner.glb deep/corner.glb && cp corner.keys other/corner.keys");
    assert_int_equal(relight("train %s/deep/corner.glb " CORNER "-o deep/far.keys", test_folder()), 0);
    shell("! grep -q '/deep' deep/far.keys"); /* the name of the file, not where it was */
    shell("mv corner.glb gone.glb && mv deep/far.keys other/far.keys");
    assert_int_equal(relight("run other/far.keys --light 0.1,1,0.15 -o corner.png"), 1);
    assert_non_null(strstr(program_errors, "name the scene"));
    assert_int_equal(relight("run other/far.keys deep/corner.glb --light 0.1,1,0.15 -o corner.png"), 0);
    shell("mv other/far.keys deep/far.keys");
    assert_int_equal(relight("run deep/far.keys --light 0.1,1,0.15 -o corner.png"), 0);
    /* Another name of the same length leads out of the folder. */
    shell("sed 's|corner.glb|../une.glb|' deep/far.keys > deep/out.keys && cp gone.glb une.glb");
    assert_int_equal(relight("run deep/out.keys --light 0.1,1,0.15 -o corner.png"), 1);
    assert_non_null(strstr(program_errors, "name the scene"));
    shell("mv gone.glb corner.glb");
}

/* -- Bad input ----------------------------------------------------------------------------------------------------- */

static void refused(const char *words, int code, const char *sentence) {
    assert_int_equal(relight("%s", words), code);
    if (!strstr(program_errors, sentence))
        fail_msg("pelt relight %s: \"%s\" is not in: %s", words, sentence, program_errors);
}

static void bad_words_and_files_get_a_sentence(void **state) {
    (void)state;
    refused("paint cornell", 2, "expected train, run or measure");
    refused("train cornell", 2, "-o BOX.keys");
    refused("train absent.glb -o x.keys", 1, "absent.glb");
    refused("train cornell --size 4 -o x.keys", 2, "such as 400x400");
    refused("train cornell --lights many -o x.keys", 2, "12x12");
    refused("run cornell --light 0,0,0 -o x.png", 2, "--full");
    refused("run box.keys -o x.png", 2, "--light X,Y,Z");
    refused("run box.keys --light 0.2,nan,0.3 -o x.png", 1, "not finite");
    refused("run box.keys --light 0.2,0.4,0.3 --kind disco -o x.png", 2, "point, spot or area");
    refused("run absent.keys --light 0,0,0 -o x.png", 1, "absent.keys");
    refused("train cornell --lights 4x4@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 24x24 --samples 64 --keys 40 --basis "
            "12 -o box.keys",
            1, "gathered with another");
    /* All lights are inside the small block: nothing is lit. */
    refused("train cornell --lights 2x2@0.17,0.08,0.15:0.2,0.08,0.19 --size 16x16 --samples 32 --keys 8 -o dark.keys",
            1, "no light reaches");
}

/* One light in the small block, three in the open: the picture is correct, and the user is told. */
static void lights_inside_objects_are_named(void **state) {
    (void)state;
    assert_int_equal(
        relight("train cornell --lights 2x2@0.18,0.1,0.17:0.45,0.1,0.05 --size 16x16 --samples 32 --keys 12 "
                "--basis 4 -o partly.keys"),
        0);
    assert_non_null(strstr(program_errors, "1 of the 4 training lights light nothing"));
}

static void hostile_pictures_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "PF",
                                        "PF\n2 2\n-1.0\nabc",
                                        "Pf\n1 1\n-1.0\n0123",
                                        "PF\n99999999 9\n-1\n",
                                        "PF\n1 1\n0\n012345678901",
                                        "PF\n1 1\n-1.0\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pelt_arena *arena = pelt_arena_new(0);
        pelt_picture picture;
        pelt_error error = {0};
        pelt_file file = {(const uint8_t *)texts[i], strlen(texts[i])};
        assert_int_not_equal(pelt_pfm_parse(arena, &file, "x.pfm", &picture, &error), PELT_OK);
        assert_non_null(strstr(error.text, "x.pfm"));
        pelt_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_light_is_close_to_its_full_gather),
        cmocka_unit_test(colour_is_a_factor_of_each_channel),
        cmocka_unit_test(a_light_of_another_kind_falls_through),
        cmocka_unit_test(a_light_beyond_the_grid_is_flagged),
        cmocka_unit_test(measure_has_the_figures_of_the_contract),
        cmocka_unit_test(stopped_training_goes_on_and_gives_the_same_bytes),
        cmocka_unit_test(denoiser_brings_frames_near_a_truth_it_has_not_seen),
        cmocka_unit_test(gltf_gives_materials_lights_and_camera),
        cmocka_unit_test(a_scene_from_gltf_is_trained_and_run),
        cmocka_unit_test(training_goes_on_only_with_the_same_of_everything),
        cmocka_unit_test(frames_that_are_empty_or_cut_are_gathered_again),
        cmocka_unit_test(key_points_open_no_scene_elsewhere),
        cmocka_unit_test(bad_words_and_files_get_a_sentence),
        cmocka_unit_test(lights_inside_objects_are_named),
        cmocka_unit_test(hostile_pictures_are_refused),
    };
    return cmocka_run_group_tests(tests, train_once, NULL);
}
