/* test_light_moves.c: light where the camera and objects move: points on surfaces against linear functions and a scene
   moved by hand, no light leaking into pixels, and key points end to end: trained on positions, run at new ones,
   refused at others, resumed only with the same arguments. */

#include "io/pfm.h"
#include "light/facts.h"
#include "light/live.h"
#include "test/gltf_maker.h"
#include "test/program.h"
#include "test/sections.h"

/* -- The box, arranged --------------------------------------------------------------------------------------------- */

static const pelt_light_arrangement moving = {
    .move_count = 2,
    .moves = {{.name = "short", .count = 2, .ends = {{0, 0, 0, 0}, {0.15f, 0, 0.05f, 40}}},
              {.name = "camera", .count = 2, .ends = {{-0.1f, 0, 0, -5}, {0.1f, 0, 0, 5}}}},
    .surfaces = true,
};

static pelt_light_view arranged(uint32_t size, bool surfaces) {
    pelt_light_view view;
    pelt_error error;
    pelt_light_arrangement arrangement = moving;
    arrangement.surfaces = surfaces;
    if (pelt_light_view_open(&view, "cornell", size, size, 4, &error) ||
        pelt_light_view_arrange(&view, &arrangement, &error))
        fail_msg("%s", error.text);
    return view;
}

static void go_to(pelt_light_view *view, double short_block, double camera) {
    pelt_error error;
    pelt_light_place place = pelt_light_place_at(view, (const double[PELT_LIGHT_MOVES]){short_block, camera});
    if (pelt_light_view_place(view, &place, &error) || pelt_light_view_look(view, 1, &error))
        fail_msg("%s", error.text);
}

/* The vertices of the short block are the 20 after the five walls' 20. */
enum { FIRST_OF_SHORT = 20, END_OF_SHORT = 40 };

/* The move of the short block at its end, by hand: rotated about the centre of its box, then shifted. The block's
   corners in millimetres are those of cornell.edu. */
static void moved_by_hand(const float in[3], float out[3]) {
    double angle = 40 * M_PI / 180, x = in[0] - 0.186, z = in[2] - 0.1685;
    out[0] = (float)(0.186 + cos(angle) * x + sin(angle) * z + 0.15);
    out[1] = in[1];
    out[2] = (float)(0.1685 - sin(angle) * x + cos(angle) * z + 0.05);
}

static void points_of_an_object_go_with_it_and_others_stay(void **state) {
    (void)state;
    pelt_light_view view = arranged(32, true);
    pelt_light_point *before = PELT_NEW(view.arena, view.point_count, pelt_light_point);
    go_to(&view, 0, 0);
    memcpy(before, view.points, view.point_count * sizeof *before);
    go_to(&view, 1, 0.3);
    size_t carried = 0;
    for (size_t i = 0; i < view.point_count; i++) {
        uint32_t vertex = view.scene->triangles[3 * view.points[i].triangle];
        bool of_short = vertex >= FIRST_OF_SHORT && vertex < END_OF_SHORT;
        float expected[3];
        memcpy(expected, before[i].position, sizeof expected);
        if (of_short) moved_by_hand(before[i].position, expected);
        for (int c = 0; c < 3; c++) assert_near(view.points[i].position[c], expected[c], 1e-6);
        carried += of_short;
    }
    assert_true(carried > 30 && carried < view.point_count / 2);
    pelt_light_view_close(&view);
}

/* Gathering after a move equals gathering in a scene whose vertices were moved. */
static void light_of_a_moved_object_is_that_of_a_moved_scene(void **state) {
    (void)state;
    pelt_error error;
    pelt_light_view view = arranged(12, true);
    pelt_scene *scene = pelt_cornell_box(&error);
    for (uint32_t v = FIRST_OF_SHORT; v < END_OF_SHORT; v++) {
        float rest[3];
        memcpy(rest, scene->positions + 3 * v, sizeof rest);
        moved_by_hand(rest, scene->positions + 3 * v);
    }
    pelt_tracer *tracer = pelt_tracer_new(scene, &error);
    assert_non_null(tracer);
    go_to(&view, 1, 0.5);
    pelt_light light = {.kind = PELT_LIGHT_POINT, .position = {0.3f, 0.45f, 0.3f}, .intensity = 1, .color = {1, 1, 1}};
    pelt_tracer_set_light(tracer, &light, &error);
    pelt_tracer_set_light(view.tracer, &light, &error);
    float *a = PELT_NEW(view.arena, 3 * view.point_count, float),
          *b = PELT_NEW(view.arena, 3 * view.point_count, float);
    pelt_gather_options options = {.samples = 64};
    pelt_gather(tracer, view.points, view.point_count, &options, NULL, a, NULL, &error);
    pelt_gather(view.tracer, view.points, view.point_count, &options, NULL, b, NULL, &error);
    double difference = 0, sum = 0; /* one path in several thousand may graze an edge in one but not the other */
    for (size_t i = 0; i < 3 * view.point_count; i++) difference += fabs((double)a[i] - b[i]), sum += a[i];
    assert_true(sum > 1 && difference < 2e-3 * sum);
    pelt_tracer_free(tracer);
    pelt_scene_free(scene);
    pelt_light_view_close(&view);
}

/* Between four points light is bilinear: if the values are a linear function of position, so are the pixels, except at
   the rim of a surface, half a square wide, and next to occluded points. */
static void pixels_of_a_linear_function_are_linear(void **state) {
    (void)state;
    const double g[3] = {1.3, -0.7, 0.9};
    pelt_light_view view = arranged(96, true);
    float *values = PELT_NEW(view.arena, 3 * view.point_count, float);
    float *shown = PELT_NEW(view.arena, 3 * (size_t)view.width * view.height, float);
    for (int where = 0; where < 3; where++) {
        go_to(&view, where / 2.0, 1 - where / 2.0);
        for (size_t i = 0; i < 3 * view.point_count; i++) {
            const float *p = view.points[i / 3].position;
            values[i] = (float)(i % 3 + g[0] * p[0] + g[1] * p[1] + g[2] * p[2]);
        }
        pelt_light_view_show(&view, values, shown);
        size_t exact = 0;
        for (size_t i = 0; i < view.pixel_count; i++) {
            const float *p = view.pixels[i].position;
            if (!pelt_light_view_knows(&view, i)) continue;
            for (int c = 0; c < 3; c++) {
                double off = fabs(shown[3 * i + c] - (c + g[0] * p[0] + g[1] * p[1] + g[2] * p[2]));
                assert_true(off < 0.03); /* squares are about 1.6 cm wide */
                exact += off < 2e-5;
            }
        }
        assert_true(exact > 0.8 * 3 * (double)view.pixel_count);
        assert_true(view.pixel_count == (size_t)view.width * view.height || where != 1);
    }
    pelt_light_view_close(&view);
}

/* Points of the floor under the block are dark; none of them may darken the floor next to it. */
static void points_under_an_object_light_no_pixel(void **state) {
    (void)state;
    static const float corners[4][3] = {
        {0.130f, 0, 0.065f}, {0.082f, 0, 0.225f}, {0.240f, 0, 0.272f}, {0.290f, 0, 0.114f}};
    pelt_light_view view = arranged(96, true);
    go_to(&view, 1, 0);
    float feet[4][3];
    for (int k = 0; k < 4; k++) moved_by_hand(corners[k], feet[k]);
    size_t under = 0, beside = 0;
    for (size_t i = 0; i < view.pixel_count; i++)
        for (int k = 0; k < 4; k++) {
            const pelt_light_point *p = &view.points[view.mixes[i].points[k]];
            if (!(view.mixes[i].weights[k] > 0) || p->position[1] > 1e-3f || p->normal[1] < 0.9f) continue;
            bool inside = true;
            for (int e = 0; e < 4; e++) {
                const float *a = feet[e], *b = feet[(e + 1) % 4];
                inside &= (b[0] - a[0]) * (p->position[2] - a[2]) - (b[2] - a[2]) * (p->position[0] - a[0]) < 0;
            }
            under += inside, beside += !inside;
        }
    assert_int_equal(under, 0);
    assert_true(beside > 1000);
    pelt_light_view_close(&view);
}

static void places_off_the_way_are_refused(void **state) {
    (void)state;
    pelt_error error;
    for (int surfaces = 0; surfaces < 2; surfaces++) {
        pelt_light_view view = arranged(8, surfaces);
        assert_int_equal(pelt_light_place_count(&view), surfaces ? 2 : 4); /* on surfaces the camera does not count */
        pelt_light_place on = pelt_light_place_at(&view, (const double[]){0.37, 0.81, 0, 0}), off = on, far = on;
        assert_int_equal(pelt_light_place_check(&view, &on, &error), PELT_OK);
        off.at[0][2] += 0.01f;
        assert_int_equal(pelt_light_place_check(&view, &off, &error), PELT_ERROR_ARGUMENT);
        assert_non_null(strstr(error.text, "short moved from 0,0,0,0 to 0.15,0,0.05,40"));
        far.at[1][1] += 0.01f;
        assert_int_equal(pelt_light_place_check(&view, &far, &error), surfaces ? PELT_OK : PELT_ERROR_ARGUMENT);
        pelt_light_view_close(&view);
    }
}

/* -- Key points ---------------------------------------------------------------------------------------------------- */

#define relight(...) pelt("relight " __VA_ARGS__)

#define SMALL                                                                                                          \
    "--lights 3x2@0.2,0.46648,0.2:0.35,0.46648,0.35 --size 14x14 --samples 32 --keys 36 --basis 12 --key-samples 64 "  \
    "--threads 1 "
#define MOVE "--move short=0,0,0:0.06,0,0:3+camera=0,0,0:0.1,0,0:2 "

static double difference_of(const char *a, const char *b) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_picture pictures[2];
    pelt_error error;
    double difference = 0, square = 0;
    for (int i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", test_folder(), i ? b : a);
        if (pelt_pfm_read(arena, path, &pictures[i], &error)) fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < 3 * (size_t)pictures[0].width * pictures[0].height; i++) {
        difference += pow(pictures[0].rgb[i] - pictures[1].rgb[i], 2);
        square += pow(pictures[1].rgb[i], 2);
    }
    pelt_arena_free(arena);
    return sqrt(difference / square);
}

#define AT "--light 0.25,0.46648,0.3 --indirect --move short=0.045,0,0+camera=0.05,0,0 "

static void new_places_are_close_to_their_full_gather(void **state) {
    (void)state;
    if (relight("train cornell " SMALL MOVE "-o moves.keys")) fail_msg("%s", program_errors);
    assert_non_null(strstr(program_output, "18 frames of")); /* 6 lights, 3 places of the block */
    assert_int_equal(relight("run cornell --full --size 14x14 --samples 256 " AT "-o full.pfm"), 0);
    assert_int_equal(relight("run moves.keys --key-samples 256 --no-fallback " AT "-o keys.pfm"), 0);
    assert_int_equal(
        relight("run moves.keys --key-samples 256 --no-fallback --light 0.25,0.46648,0.3 --indirect -o still.pfm"), 0);
    assert_true(difference_of("keys.pfm", "full.pfm") < 0.2);
    assert_true(difference_of("still.pfm", "full.pfm") > 0.3); /* what was moved shows */
    json_t *measure =
        pelt_json("relight measure moves.keys --novel 2 --reference 32 --key-samples 64 --at 100 --threads 1");
    assert_true(number(measure, "rel_rms") > 0 && number(measure, "rel_rms") < 0.3);
    assert_true(number(measure, "look_ms") > 0);
    json_decref(measure);
}

/* A box whose points are on surfaces can be relit live too: same as the picture of where training began, except for the
   white point. */
static void a_box_with_points_on_surfaces_is_relit_live(void **state) {
    (void)state;
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    pelt_relight_drawn drawn;
    pelt_relight_result result;
    enum { PIXELS = 14 * 14 };
    float picture[3 * PIXELS];
    uint8_t colors[3 * PIXELS];
    snprintf(path, sizeof path, "%s/moves.keys", test_folder());
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_relight_live *live = pelt_relight_live_new(&file, &error);
    assert_non_null(live);
    pelt_relight_shot shot = {.light = pelt_light_grid_at(&file.view, &file.facts.grid, 0.2, 0.7),
                              .place = pelt_light_place_of(&file.view, 0),
                              .key_samples = 64,
                              .threads = 1,
                              .no_fallback = true};
    pelt_relight_place place = {.samples = 64, .threads = 1};
    memcpy(place.at, shot.light.position, sizeof place.at);
    assert_int_equal(pelt_relight_live_draw(live, &place, colors, &drawn, &error), PELT_OK);
    assert_int_equal(pelt_relight_picture(&file.view, &file, &shot, picture, &result, &error), PELT_OK);
    assert_near(drawn.misfit, result.misfit / file.facts.trust, 1e-6);
    double top = 0, white = 0;
    for (size_t i = 0; i < 3 * PIXELS; i++) /* the white that makes the brightest colour below white what it is */
        if (colors[i] < 255 && colors[i] > top)
            top = colors[i], white = picture[i] / pow((colors[i] / 255.0 + 0.055) / 1.055, 2.4);
    size_t different = 0, seen_keys = 0;
    for (size_t i = 0; i < 3 * PIXELS; i++) different += abs(colors[i] - pelt_light_srgb(picture[i], (float)white)) > 2;
    assert_true(top > 100 && different <= 3 * PIXELS / 50);
    for (uint32_t k = 0; k < file.keys.key_count; k++) { /* a key is shown near its position, or not at all */
        uint32_t pixel = pelt_light_view_pixel_of(&file.view, file.keys.key_points[k]);
        if (pixel == UINT32_MAX) continue;
        size_t i = 0;
        while (file.view.pixels[i].id != pixel) i++;
        const float *a = file.view.pixels[i].position, *b = file.view.points[file.keys.key_points[k]].position;
        assert_true(hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]) < 0.12); /* squares are 6 to 7 cm wide */
        seen_keys++;
    }
    assert_true(seen_keys > 5);
    pelt_relight_live_free(live);
    pelt_relight_close(&file);
}

/* Pixels as points, as in the paper, make the camera one more thing to learn. */
static void pixels_can_be_points_too(void **state) {
    (void)state;
    if (relight("train cornell " SMALL MOVE "--points pixels -o pixels.keys")) fail_msg("%s", program_errors);
    assert_non_null(strstr(program_output, "36 frames of 196 points"));
    assert_int_equal(relight("run pixels.keys --key-samples 256 --no-fallback " AT "-o pixels.pfm"), 0);
    assert_true(difference_of("pixels.pfm", "full.pfm") < 0.3);
}

static void stopped_training_goes_on_and_gives_the_same_bytes(void **state) {
    (void)state;
    char line[800];
    snprintf(line, sizeof line,
             "cd %s && cp -r moves.keys.frames again.keys.frames && rm again.keys.frames/light-00*-b.pfm",
             test_folder());
    assert_int_equal(system(line), 0);
    assert_int_equal(relight("train cornell " SMALL MOVE "-o again.keys"), 0);
    assert_non_null(strstr(program_output, "18 of 36 gathers already exist"));
    assert_int_equal(relight("train cornell " SMALL MOVE "-o again.keys"), 0); /* all of it is there: nothing moves */
    snprintf(line, sizeof line, "cd %s && cmp moves.keys again.keys", test_folder());
    assert_int_equal(system(line), 0);
}

static void refused(const char *words, int code, const char *sentence) {
    if (relight("%s", words) != code || !strstr(program_errors, sentence))
        fail_msg("pelt relight %s: \"%s\" is not in: %s", words, sentence, program_errors);
}

static void training_goes_on_only_with_the_same_moves(void **state) {
    (void)state;
    static const char *const others[] = {"--move short=0,0,0:0.07,0,0:3+camera=0,0,0:0.1,0,0:2",
                                         "--move short=0.01,0,0:0.06,0,0:3+camera=0,0,0:0.1,0,0:2",
                                         "--move short=0,0,0:0.06,0,0,1:3+camera=0,0,0:0.1,0,0:2",
                                         "--move short=0,0,0:0.06,0,0:4+camera=0,0,0:0.1,0,0:2",
                                         "--move tall=0,0,0:0.06,0,0:3+camera=0,0,0:0.1,0,0:2",
                                         "--move short=0,0,0:0.06,0,0:3+camera=0,0,0:0.2,0,0:2",
                                         "--move short=0,0,0:0.06,0,0:3",
                                         MOVE "--texels 500",
                                         MOVE "--points pixels",
                                         ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char words[500];
        snprintf(words, sizeof words, "train cornell " SMALL "%s -o moves.keys", others[i]);
        refused(words, 1, "gathered with another");
    }
}

static void other_places_and_words_get_a_sentence(void **state) {
    (void)state;
    refused("run moves.keys --light 0.2,0.4,0.3 --move short=0.1,0,0 -o x.png", 2, "is not on that path");
    refused("run moves.keys --light 0.2,0.4,0.3 --move tall=0.1,0,0 -o x.png", 2, "tall did not move in training");
    refused("run moves.keys --light 0.2,0.4,0.3 --move short -o x.png", 2, "camera=0.05,0,0");
    refused("run moves.keys --light 0.2,0.4,0.3 --move short=nan,0,0 -o x.png", 2, "is not finite");
    refused("run cornell --full --light 0.2,0.4,0.3 --move shrt=0,0,0 -o x.png", 2, "it has camera, room, short, tall");
    refused("train cornell --move short=0,0,0:1,0,0 -o x.keys", 2, "camera=-0.1,0,0:0.1,0,0:5");
    refused("train cornell --move short=0,0,0:1,0,0:0 -o x.keys", 2, "1 to 1000 positions");
    refused("train cornell --move short=0,0,0:1,0,0:2+short=0,0,0:1,0,0:2 -o x.keys", 2, "moved twice");
    refused("train cornell --points air -o x.keys", 2, "pixels or surfaces");
    refused("train cornell --texels 99 -o x.keys", 2, "--points surfaces");
    refused("train cornell --move camera=0,0,0:1,0,0:1000+short=0,0,0:1,0,0:1000 -o x.keys", 2, "use fewer");
}

/* -- Scenes from glTF ---------------------------------------------------------------------------------------------- */

/* A floor, a lid on a hinge that hangs above it, a camera and a light. */
static void write_lid(const char *name, const char *color) {
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 6, -1, 0, -1, 1, 0, 1, 1, 0, -1, -1, 0, -1, -1, 0, 1, 1, 0, 1);
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 0, 0, 0.5, 0.5, 0, 0);
    char text[1500];
    snprintf(text, sizeof text,
             "'scene':0,'scenes':[{'nodes':[0,1,2,3]}],'nodes':[{'mesh':0,'name':'floor'},"
             "{'translation':[0,1,4],'camera':0},{'extensions':{'KHR_lights_punctual':{'light':0}}},"
             "{'name':'hinge','translation':[0,0.3,0],'children':[4]},{'name':'lid','mesh':1}],"
             "'cameras':[{'type':'perspective','perspective':{'yfov':0.7,'znear':0.1}}],"
             "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'material':0}]},{'primitives':[{'attributes':"
             "{'POSITION':1},'material':0}]}],'materials':[{'pbrMetallicRoughness':{'baseColorFactor':[%s,1]}}],"
             "'extensions':{'KHR_lights_punctual':{'lights':[{'type':'point','intensity':3}]}}",
             color);
    pelt_file file = make_glb(&m, text);
    char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(file.bytes, 1, file.size, out), file.size);
    fclose(out);
}

#define LID                                                                                                            \
    "--lights 2x2@-0.6,1,-0.6:0.6,1,0.6 --size 10x10 --samples 32 --keys 8 --basis 4 --key-samples 32 --threads 1 "

static void what_hangs_on_a_node_moves_with_it(void **state) {
    (void)state;
    write_lid("lid.glb", "0.8,0.3,0.2");
    write_lid("painted.glb", "0.8,0.3,0.3");
    if (relight("train lid.glb " LID "--move hinge=0,0,0:0,0.4,0:2 -o lid.keys")) fail_msg("%s", program_errors);
    assert_int_equal(relight("run lid.keys --light 0.1,1,0.15 --move hinge=0,0.2,0 -o a.pfm"), 0);
    assert_int_equal(relight("run lid.glb --full --size 10x10 --samples 32 --light 0.1,1,0.15 --direct --move "
                             "hinge=0,0.2,0 -o hinge.pfm"),
                     0);
    assert_int_equal(
        relight(
            "run lid.glb --full --size 10x10 --samples 32 --light 0.1,1,0.15 --direct --move lid=0,0.2,0 -o lid.pfm"),
        0);
    assert_int_equal(relight("run lid.glb --full --size 10x10 --samples 32 --light 0.1,1,0.15 --direct -o rest.pfm"),
                     0);
    assert_true(difference_of("lid.pfm", "hinge.pfm") == 0);
    assert_true(difference_of("rest.pfm", "hinge.pfm") > 0.02);
    refused("run lid.keys painted.glb --light 0.1,1,0.15 -o a.pfm", 1, "has changed since training");
}

/* -- What a file knows ---------------------------------------------------------------------------------------------- */

static pelt_relight_facts some_facts(void) {
    pelt_relight_facts facts = {.width = 40,
                                .height = 30,
                                .bounces = 4,
                                .samples = 64,
                                .noise = 0.1,
                                .trust = 0.2,
                                .grid = {3, 4, {1, 2, 3}, {4, 5, 6}},
                                .camera = {.eye = {7, 8, 9}, .axes = {{1}, {0, 1}, {0, 0, 1}}, .field_of_view = 0.7},
                                .marks = {1e300, -2, 3},
                                .arrangement = moving,
                                .scene = "a/scene.glb"};
    facts.arrangement.texels = 500, facts.arrangement.seen = "@ABO";
    return facts;
}

/* Bytes at a multiple of 64, and no more of them than there are. */
static bool reads(const pelt_keys_words *words, uint32_t size, pelt_relight_facts *facts) {
    void *copy = NULL;
    assert_int_equal(posix_memalign(&copy, 64, size ? size : 1), 0);
    memcpy(copy, words->data, size);
    bool read =
        pelt_relight_read_facts(&(pelt_keys){.component_count = 3, .user_data = copy, .user_size = size}, facts);
    if (read && facts->arrangement.seen) assert_true(strlen(facts->arrangement.seen) < size);
    free(copy);
    return read;
}

static void facts_of_light_come_back_as_they_were(void **state) {
    (void)state;
    pelt_relight_facts facts = some_facts(), read;
    const pelt_light_arrangement *a = &facts.arrangement, *b = &read.arrangement;
    pelt_keys_words words = {0};
    pelt_error error;
    assert_int_equal(pelt_relight_describe(&facts, &words, &error), PELT_OK);
    pelt_keys keys = {.component_count = 3, .user_data = words.data, .user_size = words.size};
    assert_true(pelt_relight_read_facts(&keys, &read));
    assert_true(read.width == 40 && read.height == 30 && read.bounces == 4 && read.samples == 64);
    assert_true(read.noise == 0.1 && read.trust == 0.2);
    assert_memory_equal(&read.grid, &facts.grid, sizeof read.grid);
    assert_memory_equal(&read.camera, &facts.camera, sizeof read.camera);
    assert_memory_equal(read.marks, facts.marks, sizeof read.marks);
    assert_string_equal(read.scene, facts.scene);
    assert_true(b->move_count == 2 && b->surfaces && b->texels == 500);
    assert_memory_equal(b->moves, a->moves, sizeof a->moves);
    assert_string_equal(b->seen, "@ABO");
    free(words.text), free(words.data);
    facts.arrangement = (pelt_light_arrangement){0}, words = (pelt_keys_words){0}; /* nothing moves */
    assert_int_equal(pelt_relight_describe(&facts, &words, &error), PELT_OK);
    keys.user_data = words.data, keys.user_size = words.size;
    assert_true(pelt_relight_read_facts(&keys, &read));
    assert_true(!b->move_count && !b->surfaces && !b->seen);
    keys.component_count = 1;
    assert_false(pelt_relight_read_facts(&keys, &read));
    free(words.text), free(words.data);
}

/* Offsets are those of docs/keys-format.md. */
static void facts_of_light_that_lie_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t offset, value;
        bool good;
    } cases[] = {
        {0, 0x4554494d, false},
        {4, 2, false},
        {8, 0, false},
        {8, 8193, false},
        {12, 0, false},
        {12, 8193, false},
        {16, 0, false},
        {16, 101, false},
        {20, 0, false},
        {20, 1, true},
        {24, 0, false},
        {24, 1001, false},
        {28, 0, false},
        {32, 0x7fc00000, false},
        {52, 0x7f800000, false},
        {56, 5, false},
        {56, 4, false}, /* moves without places */
        {68, 0x7ff00000, false},
        {76, 0x7ff80000, false},
        {76, 0xbff00000, false},
        {84, 0x7ff80000, false},
        {180, 0x7ff00000, false},
        {204, 0x7ff80000, false},
        {208 + 128, 0, false},
        {208 + 160, 0x7fc00000, false},
        {864, 0x00616161, false}, /* a text more */
    };
    pelt_relight_facts facts = some_facts(), read;
    pelt_keys_words words = {0};
    pelt_error error;
    assert_int_equal(pelt_relight_describe(&facts, &words, &error), PELT_OK);
    assert_true(reads(&words, words.size, &read));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t kept;
        uint8_t *at = (uint8_t *)words.data + cases[i].offset;
        memcpy(&kept, at, 4), memcpy(at, &cases[i].value, 4);
        if (reads(&words, words.size, &read) != cases[i].good)
            fail_msg("offset %u, value %x", cases[i].offset, cases[i].value);
        memcpy(at, &kept, 4);
    }
    for (uint32_t size = 0; size < words.size; size++) assert_false(reads(&words, size, &read));
    memset((uint8_t *)words.data + 208, 'x', 128); /* the name of a move has no end */
    assert_false(reads(&words, words.size, &read));
    free(words.text), free(words.data);
}

static void key_points_of_light_by_an_older_pelt_are_to_be_trained_again(void **state) {
    (void)state;
    char path[300];
    pelt_error error;
    pelt_keys keys;
    pelt_relight_file file;
    snprintf(path, sizeof path, "%s/moves.keys", test_folder());
    pelt_bytes *bytes = pelt_keys_read(path, &keys, &error);
    assert_non_null(bytes);
    hide_section(bytes->bytes, "USER");
    snprintf(path, sizeof path, "%s/old.keys", test_folder());
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    assert_int_equal(pelt_relight_open(&file, path, NULL, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "train again with `pelt relight train`"));
    pelt_relight_close(&file), pelt_bytes_free(bytes);
    assert_int_equal(pelt("view old.keys --export nothing"), 1);
    assert_non_null(strstr(program_errors, "train it again with `pelt relight train`"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_an_object_go_with_it_and_others_stay),
        cmocka_unit_test(light_of_a_moved_object_is_that_of_a_moved_scene),
        cmocka_unit_test(pixels_of_a_linear_function_are_linear),
        cmocka_unit_test(points_under_an_object_light_no_pixel),
        cmocka_unit_test(places_off_the_way_are_refused),
        cmocka_unit_test(new_places_are_close_to_their_full_gather),
        cmocka_unit_test(a_box_with_points_on_surfaces_is_relit_live),
        cmocka_unit_test(key_points_of_light_by_an_older_pelt_are_to_be_trained_again),
        cmocka_unit_test(facts_of_light_come_back_as_they_were),
        cmocka_unit_test(facts_of_light_that_lie_are_refused),
        cmocka_unit_test(pixels_can_be_points_too),
        cmocka_unit_test(stopped_training_goes_on_and_gives_the_same_bytes),
        cmocka_unit_test(training_goes_on_only_with_the_same_moves),
        cmocka_unit_test(other_places_and_words_get_a_sentence),
        cmocka_unit_test(what_hangs_on_a_node_moves_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
