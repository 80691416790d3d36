/* test_light.c: light at points against closed forms: the furnace, form factors, lights with known irradiance; and
   against laws: energy is not created, noise falls, threads do not matter. */

#include "light/light.h"
#include "light/sampling.h"
#include "test/test.h"

/* -- Scenes made by hand ------------------------------------------------------------------------------------------- */

enum { MOST = 64 };

static pelt_scene *empty_scene(void) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_scene *scene = PELT_NEW(arena, 1, pelt_scene);
    *scene = (pelt_scene){.name = "test",
                          .arena = arena,
                          .positions = PELT_NEW(arena, 12 * MOST, float),
                          .triangles = PELT_NEW(arena, 6 * MOST, uint32_t),
                          .triangle_materials = PELT_NEW(arena, 2 * MOST, uint32_t),
                          .materials = PELT_NEW(arena, MOST, pelt_material),
                          .lights = PELT_NEW(arena, MOST, pelt_light)};
    return scene;
}

static uint32_t add_material(pelt_scene *scene, float albedo, float emission) {
    scene->materials[scene->material_count] = (pelt_material){{albedo, albedo, albedo}, {emission, emission, emission}};
    return scene->material_count++;
}

/* The parallelogram corner, corner + u, corner + u + v, corner + v. */
static void add_patch(pelt_scene *scene, const float corner[3], const float u[3], const float v[3], uint32_t material) {
    uint32_t first = scene->vertex_count;
    for (int i = 0; i < 4; i++, scene->vertex_count++)
        for (int c = 0; c < 3; c++)
            scene->positions[3 * scene->vertex_count + c] =
                corner[c] + (i == 1 || i == 2 ? u[c] : 0) + (i >= 2 ? v[c] : 0);
    const uint32_t halves[6] = {0, 1, 2, 0, 2, 3};
    for (int i = 0; i < 6; i++) scene->triangles[3 * scene->triangle_count + i] = first + halves[i];
    for (int i = 0; i < 2; i++) scene->triangle_materials[scene->triangle_count++] = material;
}

#define V(x, y, z) ((const float[3]){x, y, z})

static void add_cube(pelt_scene *scene, float size, uint32_t material) {
    add_patch(scene, V(0, 0, 0), V(size, 0, 0), V(0, size, 0), material);
    add_patch(scene, V(0, 0, size), V(size, 0, 0), V(0, size, 0), material);
    add_patch(scene, V(0, 0, 0), V(size, 0, 0), V(0, 0, size), material);
    add_patch(scene, V(0, size, 0), V(size, 0, 0), V(0, 0, size), material);
    add_patch(scene, V(0, 0, 0), V(0, size, 0), V(0, 0, size), material);
    add_patch(scene, V(size, 0, 0), V(0, size, 0), V(0, 0, size), material);
}

static pelt_light point_light(float x, float y, float z) {
    return (pelt_light){.kind = PELT_LIGHT_POINT, .position = {x, y, z}, .intensity = 1, .color = {1, 1, 1}};
}

static pelt_tracer *must_trace(const pelt_scene *scene, const pelt_light *light) {
    pelt_error error;
    pelt_tracer *tracer = pelt_tracer_new(scene, &error);
    if (!tracer) print_error("%s\n", error.text);
    assert_non_null(tracer);
    assert_int_equal(pelt_tracer_set_light(tracer, light, &error), PELT_OK);
    return tracer;
}

static pelt_light_point point_at(const float position[3], const float normal[3], uint32_t id) {
    pelt_light_point p = {.id = id, .hit = true};
    memcpy(p.position, position, sizeof p.position);
    memcpy(p.normal, normal, sizeof p.normal);
    return p;
}

/* Mean of the first channel over points. */
static double mean(const float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[3 * i];
    return sum / (double)count;
}

/* Of 256 samples of a pair, every box of 2^-a by 2^-(8 - a) holds exactly one. */
static void pairs_fill_every_elementary_interval(void **state) {
    (void)state;
    pair pairs[256];
    for (uint32_t seed = 0; seed < 50; seed++) {
        sample_pairs(0, 255, 77 * seed, pairs, 256);
        for (int a = 0; a <= 8; a++) {
            int filled[256] = {0};
            for (int i = 0; i < 256; i++) {
                int column = (int)(pairs[i].u * (float)(1 << a)), row = (int)(pairs[i].v * (float)(1 << (8 - a)));
                filled[(column << (8 - a)) + row]++;
            }
            for (int i = 0; i < 256; i++) assert_int_equal(filled[i], 1);
        }
    }
}

/* -- Closed forms -------------------------------------------------------------------------------------------------- */

/* Inside a closed box that glows with radiance 1 and reflects a, the light that arrives after at most n bounces is
   1 + a + ... + a^n everywhere. */
static void furnace_has_the_radiance_of_a_geometric_series(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        float albedo = (float[]){0.2f, 0.5f, 0.8f}[i], direct[3 * 8], indirect[3 * 8];
        pelt_scene *scene = empty_scene();
        add_cube(scene, 1, add_material(scene, albedo, 1));
        pelt_tracer *tracer = must_trace(scene, NULL);
        pelt_light_point points[8];
        for (uint32_t p = 0; p < 8; p++) points[p] = point_at(V(0.1f + 0.1f * p, 0.001f, 0.4f), V(0, 1, 0), p);
        pelt_gather(tracer, points, 8, &(pelt_gather_options){.samples = 2048, .bounces = 40}, direct, indirect, NULL,
                    NULL);
        assert_near(mean(direct, 8), 1, 0.01);
        assert_near(mean(direct, 8) + mean(indirect, 8), 1 / (1 - albedo), 0.015 / (1 - albedo));
        pelt_gather(tracer, points, 8, &(pelt_gather_options){.samples = 2048, .bounces = 1}, NULL, indirect, NULL,
                    NULL);
        assert_near(mean(indirect, 8), albedo, 0.02 * albedo);
        pelt_tracer_free(tracer);
        pelt_scene_free(scene);
    }
}

/* Share of the light that leaves one unit square and reaches a parallel one at distance 1, by the known formula. */
static double parallel_squares(void) {
    double two = sqrt(2.0);
    return 2 / M_PI * (log(sqrt(4 / 3.0)) + two * atan(1 / two) + two * atan(1 / two) - 2 * atan(1.0));
}

static void form_factor_of_parallel_squares_is_right(void **state) {
    (void)state;
    pelt_scene *scene = empty_scene();
    add_patch(scene, V(0, 1, 0), V(1, 0, 0), V(0, 0, 1), add_material(scene, 0.5f, 1)); /* glows */
    pelt_tracer *tracer = must_trace(scene, NULL);
    enum { SIDE = 32 };
    pelt_light_point points[SIDE * SIDE];
    float direct[3 * SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        points[i] = point_at(V((i % SIDE + 0.5f) / SIDE, 0, (i / SIDE + 0.5f) / SIDE), V(0, 1, 0), i);
    pelt_gather(tracer, points, SIDE * SIDE, &(pelt_gather_options){.samples = 64}, direct, NULL, NULL, NULL);
    assert_near(parallel_squares(), 0.1998, 0.0001); /* the value in the tables */
    assert_near(mean(direct, SIDE * SIDE), parallel_squares(), 0.01 * parallel_squares());
    pelt_tracer_free(tracer);
    pelt_scene_free(scene);
}

/* The light at a point above a floor, reflected once by a large white ceiling, summed by brute force. */
static void one_bounce_agrees_with_a_sum_over_the_reflecting_surface(void **state) {
    (void)state;
    pelt_scene *scene = empty_scene();
    add_patch(scene, V(0, 1, 0), V(1, 0, 0), V(0, 0, 1), add_material(scene, 0.7f, 0));
    pelt_light light = point_light(0.3f, 0.9f, 0.6f);
    pelt_tracer *tracer = must_trace(scene, &light);
    pelt_light_point point = point_at(V(0.8f, 0.2f, 0.1f), V(0, 1, 0), 5);
    double sum = 0;
    enum { SIDE = 1000 };
    for (int i = 0; i < SIDE * SIDE; i++) {
        double x = (i % SIDE + 0.5) / SIDE, z = (i / SIDE + 0.5) / SIDE;
        double lx = x - 0.3, lz = z - 0.6, l2 = lx * lx + lz * lz + 0.01, px = x - 0.8, pz = z - 0.1;
        double p2 = px * px + pz * pz + 0.64;
        sum += 0.1 / pow(l2, 1.5) * 0.7 / M_PI * (0.8 * 0.8 / (p2 * p2)) / M_PI / (SIDE * SIDE);
    }
    float indirect[3];
    pelt_gather(tracer, &point, 1, &(pelt_gather_options){.samples = 65536, .bounces = 3}, NULL, indirect, NULL, NULL);
    assert_near(indirect[0], sum, 0.003 * sum);
    pelt_tracer_free(tracer);
    pelt_scene_free(scene);
}

static void lights_give_the_irradiance_of_their_formulas(void **state) {
    (void)state;
    pelt_scene *scene = empty_scene();
    add_patch(scene, V(-5, -1, -5), V(10, 0, 0), V(0, 0, 10), add_material(scene, 0.5f, 0));
    pelt_light_point point = point_at(V(0, 0, 0), V(0, 1, 0), 0);
    double diagonal = sqrt(200), distance = 2;
    struct {
        pelt_light light;
        double irradiance;
    } cases[] = {
        {point_light(0, 2, 0), 0.25},
        {{.position = {0, 2, 2}, .intensity = 3, .color = {1, 1, 1}}, 3 / 8.0 * sqrt(0.5)},
        {{.position = {0, 2, 0}, .intensity = 1, .color = {1, 1, 1}, .falloff = 1, .falloff_distance = 1}, 0.5},
        {{.position = {0, 2, 0}, .intensity = 1, .color = {1, 1, 1}, .falloff = 1}, 1 / (distance * 0.25 * diagonal)},
        {{.position = {0, 2, 0}, .intensity = 1, .color = {1, 1, 1}, .falloff = -1, .falloff_distance = 2}, 0.25},
        {{PELT_LIGHT_SPOT,
          {0, 2, 0},
          {0, -1, 0},
          .intensity = 1,
          .color = {1, 1, 1},
          .inner_cone = 0.2f,
          .outer_cone = 0.4f},
         0.25},
        {{PELT_LIGHT_SPOT,
          {0, 2, 0},
          {0, 1, 0},
          .intensity = 1,
          .color = {1, 1, 1},
          .inner_cone = 0.2f,
          .outer_cone = 0.4f},
         0},
        {{PELT_LIGHT_FAR, .direction = {0, -0.8f, 0.6f}, .intensity = 2, .color = {1, 1, 1}}, 1.6},
        {{PELT_LIGHT_AREA,
          {-0.05f, 2, -0.05f},
          .edges = {{0.1f, 0, 0}, {0, 0, 0.1f}}, /* normal 0, -1, 0 */
          .intensity = 100,
          .color = {1, 1, 1}},
         0.25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_tracer *tracer = must_trace(scene, &cases[i].light);
        float direct[3];
        pelt_gather(tracer, &point, 1, &(pelt_gather_options){.samples = 256}, direct, NULL, NULL, NULL);
        assert_near(direct[0] * M_PI, cases[i].irradiance, 0.003 * cases[i].irradiance + 1e-7);
        pelt_tracer_free(tracer);
    }
    pelt_scene_free(scene);
}

/* -- Laws ---------------------------------------------------------------------------------------------------------- */

/* In a closed box of albedo a, the walls absorb what the lamp emits: the mean irradiance E over all walls satisfies (1
   - a) E area = 4 pi. No paths are lost or created. */
static void walls_absorb_what_the_lamp_gives(void **state) {
    (void)state;
    pelt_scene *scene = empty_scene();
    add_cube(scene, 1, add_material(scene, 0.5f, 0));
    pelt_light light = point_light(0.3f, 0.8f, 0.6f);
    pelt_tracer *tracer = must_trace(scene, &light);
    enum { SIDE = 24, COUNT = 6 * SIDE * SIDE };
    static pelt_light_point points[COUNT];
    static float direct[3 * COUNT], indirect[3 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        float u = (i % SIDE + 0.5f) / SIDE, v = (i / SIDE % SIDE + 0.5f) / SIDE, far = i / SIDE / SIDE % 2;
        uint32_t axis = i / SIDE / SIDE / 2;
        float position[3], normal[3] = {0};
        position[axis] = far ? 0.9999f : 0.0001f, position[(axis + 1) % 3] = u, position[(axis + 2) % 3] = v;
        normal[axis] = far ? -1 : 1;
        points[i] = point_at(position, normal, i);
    }
    pelt_gather(tracer, points, COUNT, &(pelt_gather_options){.samples = 16, .bounces = 20}, direct, indirect, NULL,
                NULL);
    assert_near(M_PI * mean(direct, COUNT) * 6, 4 * M_PI, 0.01 * 4 * M_PI);
    assert_near(0.5 * M_PI * (mean(direct, COUNT) + mean(indirect, COUNT)) * 6, 4 * M_PI, 0.01 * 4 * M_PI);
    pelt_tracer_free(tracer);
    pelt_scene_free(scene);
}

/* Reciprocity: what a small patch A sends to B equals what B sends to A, along any detours. */
static void light_goes_the_same_way_back(void **state) {
    (void)state;
    pelt_error error;
    pelt_scene *box = pelt_cornell_box(&error);
    const float places[2][3] = {{0.1f, 0.3f, 0.2f}, {0.45f, 0.4f, 0.1f}};
    double sent[2];
    for (int i = 0; i < 2; i++) {
        /* A patch facing up in one place, gathered on a patch of the same size facing up in the other. */
        pelt_light light = {.kind = PELT_LIGHT_AREA, .intensity = 1, .color = {1, 1, 1}};
        light.edges[0][2] = 0.02f, light.edges[1][0] = 0.02f;
        for (int c = 0; c < 3; c++) light.position[c] = places[i][c];
        pelt_tracer *tracer = must_trace(box, &light);
        pelt_light_point points[64];
        float indirect[3 * 64];
        for (uint32_t p = 0; p < 64; p++) {
            const float *at = places[1 - i];
            points[p] = point_at(V(at[0] + 0.02f * (p % 8 + 0.5f) / 8, at[1], at[2] + 0.02f * (p / 8 + 0.5f) / 8),
                                 V(0, 1, 0), p);
        }
        pelt_gather(tracer, points, 64, &(pelt_gather_options){.samples = 2048}, NULL, indirect, NULL, NULL);
        sent[i] = mean(indirect, 64);
        pelt_tracer_free(tracer);
    }
    assert_near(sent[0], sent[1], 0.01 * sent[1]);
    pelt_scene_free(box);
}

/* Relative noise at some points of the box. */
static double box_noise(const pelt_tracer *tracer, const pelt_light_point *points, size_t count, uint32_t samples) {
    float *a = malloc(3 * count * sizeof *a), *b = malloc(3 * count * sizeof *b);
    pelt_gather(tracer, points, count, &(pelt_gather_options){.samples = samples, .seed = 1}, NULL, a, NULL, NULL);
    pelt_gather(tracer, points, count, &(pelt_gather_options){.samples = samples, .seed = 2}, NULL, b, NULL, NULL);
    double difference = 0, product = 0;
    for (size_t i = 0; i < 3 * count; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]) / 2;
        product += a[i] * b[i];
    }
    free(a), free(b);
    return sqrt(difference / product);
}

enum { VIEW = 24 };

static pelt_tracer *lit_box(pelt_scene **box, pelt_light_point points[VIEW * VIEW]) {
    pelt_error error;
    *box = pelt_cornell_box(&error);
    assert_non_null(*box);
    pelt_light light = point_light(0.2f, 0.48f, 0.3f);
    pelt_tracer *tracer = must_trace(*box, &light);
    pelt_tracer_view(tracer, &(*box)->camera, VIEW, VIEW, points);
    for (int i = 0; i < VIEW * VIEW; i++) assert_true(points[i].hit);
    return tracer;
}

static void noise_falls_with_the_root_of_the_samples(void **state) {
    (void)state;
    pelt_scene *box;
    pelt_light_point points[VIEW * VIEW];
    pelt_tracer *tracer = lit_box(&box, points);
    double few = box_noise(tracer, points, VIEW * VIEW, 32), many = box_noise(tracer, points, VIEW * VIEW, 512);
    assert_true(few / many > 3.5); /* 4 for independent samples; well-spread ones do better */
    assert_true(few / many < 8);
    assert_true(few * sqrt(32) < 0.7);
    pelt_tracer_free(tracer);
    pelt_scene_free(box);
}

static void threads_and_neighbours_do_not_change_a_bit(void **state) {
    (void)state;
    pelt_scene *box;
    pelt_light_point points[VIEW * VIEW];
    static float one[3 * VIEW * VIEW], four[3 * VIEW * VIEW], few[3 * 20], direct[2][3 * VIEW * VIEW];
    pelt_tracer *tracer = lit_box(&box, points);
    pelt_gather_options options = {.samples = 32, .seed = 9, .threads = 1};
    pelt_gather(tracer, points, VIEW * VIEW, &options, direct[0], one, NULL, NULL);
    pelt_gather(tracer, points + 100, 20, &options, NULL, few, NULL, NULL);
    options.threads = 4;
    pelt_gather(tracer, points, VIEW * VIEW, &options, direct[1], four, NULL, NULL);
    assert_memory_equal(one, four, sizeof one);
    assert_memory_equal(direct[0], direct[1], sizeof direct[0]);
    assert_memory_equal(few, one + 3 * 100, sizeof few);
    pelt_tracer_free(tracer);
    pelt_scene_free(box);
}

static void colours_are_linear(void **state) {
    (void)state;
    pelt_scene *box;
    pelt_light_point points[VIEW * VIEW];
    static float plain[3 * VIEW * VIEW], tinted[3 * VIEW * VIEW];
    pelt_tracer *tracer = lit_box(&box, points);
    pelt_gather_options options = {.samples = 16};
    pelt_gather(tracer, points, VIEW * VIEW, &options, NULL, plain, NULL, NULL);
    pelt_light light = point_light(0.2f, 0.48f, 0.3f);
    light.color[0] = 0.5f, light.color[1] = 2, light.intensity = 3;
    assert_int_equal(pelt_tracer_set_light(tracer, &light, NULL), PELT_OK);
    pelt_gather(tracer, points, VIEW * VIEW, &options, NULL, tinted, NULL, NULL);
    for (int i = 0; i < 3 * VIEW * VIEW; i++)
        assert_near(tinted[i], plain[i] * 3 * light.color[i % 3], 1e-5 * tinted[i] + 1e-9);
    pelt_tracer_free(tracer);
    pelt_scene_free(box);
}

/* -- Bad scenes ---------------------------------------------------------------------------------------------------- */

static void bad_scenes_are_refused_with_a_sentence(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        static const char *const words[] = {"not finite",     "has an area",     "reflects any",
                                            "does not exist", "between 0 and 1", "no area"};
        pelt_error error = {0};
        pelt_scene *scene = empty_scene();
        add_cube(scene, 1, add_material(scene, i == 2 ? 0 : i == 4 ? 1.5f : 0.5f, 0));
        if (i == 0) scene->positions[7] = NAN;
        for (uint32_t t = 0; i == 1 && t < 3 * scene->triangle_count; t++) scene->triangles[t] = 0;
        if (i == 3) scene->triangles[4] = 1000;
        pelt_tracer *tracer = pelt_tracer_new(scene, &error);
        pelt_light flat = {.kind = PELT_LIGHT_AREA, .intensity = 1, .color = {1, 1, 1}};
        if (i == 5)
            assert_int_not_equal(pelt_tracer_set_light(tracer, &flat, &error), PELT_OK);
        else
            assert_null(tracer);
        assert_non_null(strstr(error.text, words[i]));
        pelt_tracer_free(tracer);
        pelt_scene_free(scene);
    }
}

static void triangles_without_area_change_nothing(void **state) {
    (void)state;
    float with[3], without[3];
    for (int i = 0; i < 2; i++) {
        pelt_scene *scene = empty_scene();
        add_cube(scene, 1, add_material(scene, 0.5f, 0));
        if (i) add_patch(scene, V(0.2f, 0.2f, 0.2f), V(0.1f, 0, 0), V(0.2f, 0, 0), add_material(scene, 0.5f, 5));
        pelt_light light = point_light(0.5f, 0.5f, 0.5f);
        pelt_tracer *tracer = must_trace(scene, &light);
        pelt_light_point point = point_at(V(0.3f, 0.0001f, 0.4f), V(0, 1, 0), 0);
        pelt_gather(tracer, &point, 1, &(pelt_gather_options){.samples = 256}, NULL, i ? with : without, NULL, NULL);
        pelt_tracer_free(tracer);
        pelt_scene_free(scene);
    }
    assert_memory_equal(with, without, sizeof with);
}

static void no_light_is_darkness_and_a_light_in_a_block_stays_there(void **state) {
    (void)state;
    pelt_scene *box;
    pelt_light_point points[VIEW * VIEW];
    static float direct[3 * VIEW * VIEW], indirect[3 * VIEW * VIEW];
    pelt_tracer *tracer = lit_box(&box, points);
    pelt_light inside = point_light(0.186f, 0.08f, 0.169f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pelt_tracer_set_light(tracer, i ? &inside : NULL, NULL), PELT_OK);
        pelt_gather(tracer, points, VIEW * VIEW, &(pelt_gather_options){.samples = 64}, direct, indirect, NULL, NULL);
        for (int k = 0; k < 3 * VIEW * VIEW; k++) {
            assert_true(direct[k] == 0);
            assert_true(indirect[k] == 0);
        }
    }
    pelt_tracer_free(tracer);
    pelt_scene_free(box);
}

int main(void) {

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_fill_every_elementary_interval),
        cmocka_unit_test(furnace_has_the_radiance_of_a_geometric_series),
        cmocka_unit_test(form_factor_of_parallel_squares_is_right),
        cmocka_unit_test(one_bounce_agrees_with_a_sum_over_the_reflecting_surface),
        cmocka_unit_test(lights_give_the_irradiance_of_their_formulas),
        cmocka_unit_test(walls_absorb_what_the_lamp_gives),
        cmocka_unit_test(light_goes_the_same_way_back),
        cmocka_unit_test(noise_falls_with_the_root_of_the_samples),
        cmocka_unit_test(threads_and_neighbours_do_not_change_a_bit),
        cmocka_unit_test(colours_are_linear),
        cmocka_unit_test(bad_scenes_are_refused_with_a_sentence),
        cmocka_unit_test(triangles_without_area_change_nothing),
        cmocka_unit_test(no_light_is_darkness_and_a_light_in_a_block_stays_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
