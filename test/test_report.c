/* test_report.c: pictures against closed forms, PNG against libpng's reader, and the page as a browser would see it. */

#include "report/page.h"
#include "test/test.h"
#include <png.h>

enum { SIZE = 200 };

/* Pixels per unit of length in the plane through the centre of a view, by the definition of pelt_view. */
static double plane_scale(const pelt_view *view) {
    return SIZE / 2.0 / tan(asin(view->radius / view->distance)) / view->distance;
}

static const pelt_view straight = {.radius = 1, .distance = 5};

static pelt_mesh mesh_of(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                         uint32_t triangle_count) {
    return (pelt_mesh){.vertex_count = vertex_count,
                       .triangle_count = triangle_count,
                       .positions = (float *)positions,
                       .triangles = (uint32_t *)triangles};
}

static pelt_image *draw(const pelt_view *view, const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                        uint32_t triangle_count, const float *heat) {
    pelt_image *image = pelt_image_new(SIZE, SIZE);
    assert_non_null(image);
    pelt_mesh mesh = mesh_of(positions, vertex_count, triangles, triangle_count);
    assert_int_equal(pelt_draw_mesh(image, view, &mesh, &(pelt_look){.heat = heat}), PELT_OK);
    return image;
}

static double coverage(const pelt_image *image) {
    double sum = 0;
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) sum += image->rgba[4 * i + 3] / 255.0;
    return sum;
}

static const uint8_t *pixel(const pelt_image *image, int x, int y) {
    return image->rgba + 4 * ((size_t)y * image->width + (size_t)x);
}

static int brightness(const uint8_t *p) { return p[0] + p[1] + p[2]; }

/* -- A sphere ------------------------------------------------------------------------------------------------------ */

enum { RINGS = 48, SPOKES = 96, BALL_VERTICES = (RINGS + 1) * SPOKES, BALL_TRIANGLES = 2 * RINGS * SPOKES };

typedef struct ball {
    float positions[3 * BALL_VERTICES], normals[3 * BALL_VERTICES];
    uint32_t triangles[3 * BALL_TRIANGLES];
} ball;

static void ball_make(ball *b, float radius) {
    size_t t = 0;
    for (uint32_t r = 0; r <= RINGS; r++)
        for (uint32_t s = 0; s < SPOKES; s++) {
            double down = M_PI * r / RINGS, around = 2 * M_PI * s / SPOKES;
            float n[3] = {(float)(sin(down) * sin(around)), (float)cos(down), (float)(sin(down) * cos(around))};
            for (int i = 0; i < 3; i++) {
                b->normals[3 * (r * SPOKES + s) + (uint32_t)i] = n[i];
                b->positions[3 * (r * SPOKES + s) + (uint32_t)i] = radius * n[i];
            }
            if (r == RINGS) continue;
            uint32_t a = r * SPOKES + s, c = r * SPOKES + (s + 1) % SPOKES;
            uint32_t quad[6] = {a, a + SPOKES, c, c, a + SPOKES, c + SPOKES};
            memcpy(b->triangles + t, quad, sizeof quad);
            t += 6;
        }
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

static void triangle_covers_its_projected_area(void **state) {
    (void)state;
    const float p[] = {-0.6f, -0.5f, 0, 0.7f, -0.4f, 0, 0.1f, 0.6f, 0};
    pelt_image *image = draw(&straight, p, 3, (const uint32_t[]){0, 1, 2}, 1, NULL);
    double area = 0.5 * fabs((p[3] - p[0]) * (p[7] - p[1]) - (p[4] - p[1]) * (p[6] - p[0]));
    double expected = area * plane_scale(&straight) * plane_scale(&straight);
    assert_near(coverage(image), expected, 0.01 * expected);
    pelt_image_free(image);
}

static void neighbouring_triangles_leave_no_crack_and_no_seam(void **state) {
    (void)state;
    /* A fan around a point that is not on any sample; all pixels inside must be opaque. */
    enum { FAN = 24 };
    float p[3 * (FAN + 1)] = {0.0123f, 0.0211f, 0};
    uint32_t t[3 * FAN];
    for (uint32_t k = 0; k < FAN; k++) {
        p[3 * k + 3] = (float)cos(2 * M_PI * k / FAN), p[3 * k + 4] = (float)sin(2 * M_PI * k / FAN);
        t[3 * k] = 0, t[3 * k + 1] = k + 1, t[3 * k + 2] = (k + 1) % FAN + 1;
    }
    pelt_image *image = draw(&straight, p, FAN + 1, t, FAN, NULL);
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            if (hypot(x + 0.5 - SIZE / 2.0, y + 0.5 - SIZE / 2.0) < 0.9 * plane_scale(&straight))
                assert_int_equal(pixel(image, x, y)[3], 255);
    pelt_image_free(image);
}

static void sphere_has_the_silhouette_of_its_tangent_cone(void **state) {
    (void)state;
    static ball b;
    ball_make(&b, 0.8f);
    pelt_image *image = draw(&straight, b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES, NULL);
    double radius = SIZE / 2.0 * tan(asin(0.8 / 5)) / tan(asin(1.0 / 5));
    assert_near(sqrt(coverage(image) / M_PI), radius, 0.4);
    assert_int_equal(pixel(image, SIZE / 2, (int)(SIZE / 2 - radius - 2))[3], 0);
    assert_int_equal(pixel(image, SIZE / 2, (int)(SIZE / 2 - radius + 2))[3], 255);
    pelt_image_free(image);
}

static void fitted_view_shows_the_whole_mesh_from_every_side(void **state) {
    (void)state;
    static ball b;
    ball_make(&b, 3);
    for (size_t i = 0; i < BALL_VERTICES; i++) b.positions[3 * i] = 0.3f * b.positions[3 * i] + 70;
    for (double azimuth = 0; azimuth < 360; azimuth += 60) {
        pelt_view view = pelt_view_fit(b.positions, BALL_VERTICES, azimuth, 35);
        for (size_t i = 0; i < BALL_VERTICES; i++) {
            double at[2];
            assert_true(pelt_view_project(&view, SIZE, SIZE, b.positions + 3 * i, at));
            assert_true(at[0] >= 0 && at[0] <= SIZE && at[1] >= 0 && at[1] <= SIZE);
        }
    }
}

static void tightened_view_fills_the_picture(void **state) {
    (void)state;
    static ball b;
    ball_make(&b, 1);
    for (size_t i = 0; i < BALL_VERTICES; i++) b.positions[3 * i + 1] *= 1.5f;
    pelt_view view = pelt_view_fit(b.positions, BALL_VERTICES, 30, 0);
    double aspect, low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9}, at[2];
    pelt_view_tighten(&view, b.positions, BALL_VERTICES, &aspect);
    assert_near(aspect, 1 / 1.5, 0.02);
    for (size_t i = 0; i < BALL_VERTICES; i++) {
        assert_true(pelt_view_project(&view, (uint32_t)(300 * aspect), 300, b.positions + 3 * i, at));
        for (int k = 0; k < 2; k++) low[k] = fmin(low[k], at[k]), high[k] = fmax(high[k], at[k]);
    }
    assert_true(low[0] > 0 && low[1] > 0 && high[0] < 300 * aspect && high[1] < 300);
    assert_true(high[0] - low[0] > 0.94 * 300 * aspect && high[1] - low[1] > 0.94 * 300);
}

static void azimuth_turns_the_eye_to_plus_x_and_elevation_up(void **state) {
    (void)state;
    const float x[] = {1, 0, 0}, z[] = {0, 0, 1}, up[] = {0, 1, 0};
    double at[2];
    pelt_view view = {.radius = 2};
    assert_true(pelt_view_project(&view, SIZE, SIZE, x, at)); /* from the front, x is to the right and y up */
    assert_true(at[0] > SIZE / 2 + 20);
    assert_near(at[1], SIZE / 2, 1e-9);
    assert_true(pelt_view_project(&view, SIZE, SIZE, up, at));
    assert_true(at[1] < SIZE / 2 - 20);
    view.azimuth = 90;
    assert_true(pelt_view_project(&view, SIZE, SIZE, x, at));
    assert_near(at[0], SIZE / 2, 1e-9);
    assert_true(pelt_view_project(&view, SIZE, SIZE, z, at));
    assert_true(at[0] < SIZE / 2 - 20);
    view.elevation = 90;
    assert_true(pelt_view_project(&view, SIZE, SIZE, up, at));
    assert_near(at[1], SIZE / 2, 1e-9);
}

static void nearer_triangle_wins_in_any_order(void **state) {
    (void)state;
    const float p[] = {-1, -1, -0.3f, 1, -1, -0.3f, 0, 1, -0.3f, -1, -1, 0.3f, 1, -1, 0.3f, 0, 1, 0.3f};
    const float heat[] = {0, 0, 0, 1, 1, 1};
    pelt_image *a = draw(&straight, p, 6, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 2, heat);
    pelt_image *b = draw(&straight, p, 6, (const uint32_t[]){3, 4, 5, 0, 1, 2}, 2, heat);
    pelt_image *near_only = draw(&straight, p, 6, (const uint32_t[]){3, 4, 5}, 1, heat);
    const uint8_t *middle = pixel(a, SIZE / 2, SIZE / 2);
    assert_memory_equal(middle, pixel(near_only, SIZE / 2, SIZE / 2), 4);
    assert_memory_equal(a->rgba, b->rgba, 4 * SIZE * SIZE);
    assert_true(middle[0] > middle[2] + 60); /* warm: the hot one */
    pelt_image_free(a);
    pelt_image_free(b);
    pelt_image_free(near_only);
}

static void crossing_planes_meet_where_perspective_says(void **state) {
    (void)state;
    /* z = 0, cold, and z = x - 0.2, hot: they cross at x = 0.2. */
    const float p[] = {-2, -1, 0, 2, -1, 0, 0, 3, 0, -2, -1, -2.2f, 2, -1, 1.8f, 0, 3, -0.2f};
    const float heat[] = {0, 0, 0, 1, 1, 1};
    pelt_image *image = draw(&straight, p, 6, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 2, heat);
    int hot = 0;
    while (hot < SIZE && pixel(image, hot, SIZE / 2)[0] < pixel(image, hot, SIZE / 2)[2] + 40) hot++;
    assert_near(hot, SIZE / 2 + 0.2 * plane_scale(&straight), 1.5);
    pelt_image_free(image);
}

static void edges_have_the_colour_of_the_surface_not_of_the_background(void **state) {
    (void)state;
    const float p[] = {-0.6f, -0.5f, 0, 0.7f, -0.4f, 0, 0.1f, 0.6f, 0};
    pelt_image *image = draw(&straight, p, 3, (const uint32_t[]){0, 1, 2}, 1, NULL);
    const uint8_t *inside = pixel(image, SIZE / 2, SIZE / 2);
    int partly = 0;
    for (size_t i = 0; i < SIZE * SIZE; i++) {
        const uint8_t *q = image->rgba + 4 * i;
        if (q[3] > 0 && q[3] < 255) partly++;
        for (int c = 0; c < 3 && q[3]; c++) assert_near(q[c], inside[c], 20);
        if (!q[3]) assert_int_equal(brightness(q), 0);
    }
    assert_true(partly > 100);
    pelt_image_free(image);
}

static void inside_of_a_surface_is_darker_than_its_outside(void **state) {
    (void)state;
    const float p[] = {-1, -1, 0, 1, -1, 0, 0, 1, 0};
    pelt_image *outside = draw(&straight, p, 3, (const uint32_t[]){0, 1, 2}, 1, NULL);
    pelt_image *inside = draw(&straight, p, 3, (const uint32_t[]){0, 2, 1}, 1, NULL);
    assert_int_equal(pixel(inside, SIZE / 2, SIZE / 2)[3], 255);
    assert_true(brightness(pixel(inside, 100, 100)) < 0.8 * brightness(pixel(outside, 100, 100)));
    pelt_image_free(outside);
    pelt_image_free(inside);
}

static void light_comes_from_the_upper_left(void **state) {
    (void)state;
    static ball b;
    ball_make(&b, 0.8f);
    pelt_image *image = draw(&straight, b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES, NULL);
    assert_true(brightness(pixel(image, 70, 70)) > brightness(pixel(image, 130, 130)) + 60);
    pelt_image_free(image);
}

/* Crumples are surfaces that tilt slightly back and forth: grazing light distinguishes the sides. */
static void a_tilt_by_ten_degrees_shows(void **state) {
    (void)state;
    const double tilt = 10 * M_PI / 180;
    int seen[2];
    for (int away = 0; away < 2; away++) {
        double x = (away ? 1 : -1) * tan(tilt) * sqrt(0.5), y = -x; /* towards the upper left, and away from it */
        const float p[] = {-1, -1, (float)(x + y), 1, -1, (float)(-x + y), 0, 1, (float)-y};
        pelt_image *image = draw(&straight, p, 3, (const uint32_t[]){0, 1, 2}, 1, NULL);
        const uint8_t *middle = pixel(image, SIZE / 2, SIZE / 2);
        assert_int_equal(middle[3], 255);
        seen[away] = brightness(middle);
        pelt_image_free(image);
    }
    assert_true(seen[0] > 1.25 * seen[1]);
}

static void same_input_gives_the_same_picture(void **state) {
    (void)state;
    static ball b;
    ball_make(&b, 0.9f);
    pelt_image *one = draw(&straight, b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES, NULL);
    pelt_image *two = draw(&straight, b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES, NULL);
    assert_memory_equal(one->rgba, two->rgba, 4 * SIZE * SIZE);
    pelt_image_free(one);
    pelt_image_free(two);
}

static void only_the_side_that_is_seen_counts_as_visible(void **state) {
    (void)state;
    static ball b;
    static float value[BALL_VERTICES];
    ball_make(&b, 1);
    for (size_t i = 0; i < BALL_VERTICES; i++) value[i] = b.positions[3 * i + 2] > 0.5f;
    double shown[2];
    pelt_mesh mesh = mesh_of(b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES);
    for (int side = 0; side < 2; side++) {
        pelt_view view = pelt_view_fit(b.positions, BALL_VERTICES, 180 * side, 0);
        shown[side] = pelt_view_visible(&view, &mesh, b.positions, value);
    }
    assert_true(shown[0] > 1000);
    assert_true(shown[1] == 0);
}

static void view_turns_to_where_the_values_are(void **state) {
    (void)state;
    static ball b;
    static float value[BALL_VERTICES];
    ball_make(&b, 1);
    pelt_mesh mesh = mesh_of(b.positions, BALL_VERTICES, b.triangles, BALL_TRIANGLES);
    static const double towards[3][3] = {{1, 0, 0}, {0, 0, -1}, {0, 0, 0}}, azimuths[3] = {67.5, 157.5, 22.5};
    for (int k = 0; k < 3; k++) { /* of two directions that show as much, the one nearer to the front */
        for (size_t i = 0; i < BALL_VERTICES; i++)
            value[i] = b.positions[3 * i] * towards[k][0] + b.positions[3 * i + 2] * towards[k][2] > 0.8;
        pelt_view view = pelt_view_fit(b.positions, BALL_VERTICES, 0, 0);
        assert_true(pelt_view_turn(&view, &mesh, b.positions, value));
        assert_near(view.azimuth, azimuths[k], 1e-9);
    }
}

static void heat_rises_in_lightness(void **state) {
    (void)state;
    double before = -1;
    for (int k = 0; k <= 64; k++) {
        uint8_t c[3];
        double light[3];
        pelt_heat_color(k / 64.0, c);
        for (int i = 0; i < 3; i++) {
            double v = c[i] / 255.0;
            light[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        }
        double y = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2], cie = 116 * cbrt(y) - 16;
        assert_true(cie > before);
        if (k > 0) assert_true(cie - before < 2.5); /* no jumps: about 50 units in 64 steps */
        before = cie;
    }
    uint8_t low[3], zero[3], high[3], one[3], none[3];
    pelt_heat_color(-3, low), pelt_heat_color(0, zero), pelt_heat_color(7, high), pelt_heat_color(1, one);
    pelt_heat_color(NAN, none);
    assert_memory_equal(low, zero, 3);
    assert_memory_equal(none, zero, 3);
    assert_memory_equal(high, one, 3);
}

static void bad_input_draws_what_it_can(void **state) {
    (void)state;
    const float p[] = {-1, -1, 0, 1, -1, 0, 0, 1, 0, NAN, 0, 0, 0, INFINITY, 0, 0, 0, 400, 1e38f, -1e38f, 1e38f};
    const uint32_t t[] = {0, 1, 2, 0, 1, 3, 0, 1, 4, 0, 1, 5, 0, 0, 0, 0, 1, 1, 0, 1, 6};
    const float heat[] = {NAN, INFINITY, -INFINITY, 2, 0, 0, 0};
    pelt_image *image = draw(&straight, p, 7, t, 7, heat);
    assert_true(coverage(image) > 1000);
    pelt_mesh empty = mesh_of(p, 7, t, 0), small = mesh_of(p, 2, t, 1), mesh = mesh_of(p, 7, t, 7);
    const pelt_look plain = {0}, hot = {.heat = heat};
    assert_int_equal(pelt_draw_mesh(image, &straight, &empty, &plain), PELT_OK);
    assert_true(coverage(image) == 0);
    assert_int_equal(pelt_draw_mesh(image, &straight, &small, &plain), PELT_ERROR_INDEX);
    const pelt_view bad[] = {{.radius = 0},
                             {.radius = -1},
                             {.radius = NAN},
                             {.radius = 1, .azimuth = INFINITY},
                             {.radius = 1, .center = {NAN, 0, 0}},
                             {.radius = INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(pelt_draw_mesh(image, &bad[i], &mesh, &plain), PELT_ERROR_ARGUMENT);
    const pelt_view odd[] = {{.radius = 1e-30}, {.radius = 1e30}, {.radius = 1, .distance = 0.1}, {.radius = 1e-300}};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) pelt_draw_mesh(image, &odd[i], &mesh, &hot);
    pelt_view view = pelt_view_fit(p + 9, 2, 0, 0);
    assert_true(view.radius == 1 && view.center[0] == 0);
    view = pelt_view_fit(p, 5, 0, 0);
    assert_true(isfinite(view.radius));
    pelt_image_free(image);
    assert_null(pelt_image_new(0, 10));
    assert_null(pelt_image_new(1u << 31, 1u << 31));
}

static void png_decodes_to_the_same_pixels(void **state) {
    (void)state;
    uint64_t seed = 7;
    pelt_image *image = pelt_image_new(37, 23);
    for (size_t i = 0; i < 4 * 37 * 23; i++) image->rgba[i] = (uint8_t)(256 * test_random(&seed));
    uint8_t back[4 * 37 * 23];
    pelt_bytes png;
    assert_int_equal(pelt_image_png(image, &png, NULL), PELT_OK);
    png_image reader = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&reader, png.bytes, png.size));
    assert_int_equal(reader.width, 37);
    assert_int_equal(reader.height, 23);
    reader.format = PNG_FORMAT_RGBA;
    assert_true(png_image_finish_read(&reader, NULL, back, 0, NULL));
    assert_memory_equal(back, image->rgba, sizeof back);
    free(png.bytes);
    pelt_image_free(image);
}

static uint8_t *decoded(const pelt_bytes *png, const pelt_image *like) {
    png_image reader = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&reader, png->bytes, png->size));
    assert_true(reader.width == like->width && reader.height == like->height);
    reader.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(reader));
    assert_true(png_image_finish_read(&reader, NULL, pixels, 0, NULL));
    return pixels;
}

/* A picture of few colours is kept as it is; what cannot be seen has none. */
static void few_colours_are_kept_exactly(void **state) {
    (void)state;
    uint64_t seed = 11;
    uint8_t colours[256][4];
    pelt_image *image = pelt_image_new(61, 40);
    size_t pixels = 61 * 40;
    for (int k = 0; k < 256; k++)
        for (int c = 0; c < 4; c++) colours[k][c] = (uint8_t)(k < 200 && c == 3 ? 255 : 256 * test_random(&seed));
    for (int k = 200; k < 256; k++) colours[k][3] |= 1;
    for (size_t i = 0; i < pixels; i++) memcpy(image->rgba + 4 * i, colours[(i * 7919) % 256], 4);
    pelt_bytes png;
    assert_int_equal(pelt_image_small_png(image, &png, NULL), PELT_OK);
    uint8_t *back = decoded(&png, image);
    assert_memory_equal(back, image->rgba, 4 * pixels);
    free(back), free(png.bytes);
    for (size_t i = 0; i < pixels; i++) image->rgba[4 * i + 3] = 0;
    assert_int_equal(pelt_image_small_png(image, &png, NULL), PELT_OK);
    back = decoded(&png, image);
    for (size_t i = 0; i < pixels; i++) assert_int_equal(back[4 * i + 3], 0);
    free(back), free(png.bytes);
    pelt_image_free(image);
}

/* A drawing of a ball and of its errors keeps its look, and takes less than half the bytes. */
static void small_pictures_look_the_same(void **state) {
    (void)state;
    ball b;
    float heat[BALL_VERTICES];
    ball_make(&b, 1);
    pelt_mesh mesh = {.vertex_count = BALL_VERTICES, .triangle_count = BALL_TRIANGLES, .diagonal = 3.46f};
    mesh.positions = b.positions, mesh.normals = b.normals, mesh.triangles = b.triangles;
    for (size_t v = 0; v < BALL_VERTICES; v++) heat[v] = 0.5f + 0.5f * b.positions[3 * v];
    pelt_view view = pelt_view_fit(b.positions, BALL_VERTICES, 20, 12);
    for (int hot = 0; hot < 2; hot++) {
        pelt_image *image = pelt_image_new(SIZE, SIZE);
        pelt_look look = {b.positions, .heat = hot ? heat : NULL};
        assert_int_equal(pelt_draw_mesh(image, &view, &mesh, &look), PELT_OK);
        pelt_bytes png, whole;
        assert_int_equal(pelt_image_small_png(image, &png, NULL), PELT_OK);
        assert_int_equal(pelt_image_png(image, &whole, NULL), PELT_OK);
        assert_true(2 * png.size < whole.size);
        uint8_t *back = decoded(&png, image);
        double squares = 0, most = 0, seen = 0;
        for (size_t i = 0; i < SIZE * SIZE; i++)
            for (int c = 0; c < 4 && image->rgba[4 * i + 3]; c++) {
                double d = (double)back[4 * i + (size_t)c] - image->rgba[4 * i + (size_t)c];
                if (image->rgba[4 * i + 3] == 255) most = fmax(most, fabs(d));
                squares += d * d, seen++;
            }
        if (sqrt(squares / seen) > 3 || most > 24) fail_msg("off by %g, at most %g", sqrt(squares / seen), most);
        free(back), free(png.bytes), free(whole.bytes);
        pelt_image_free(image);
    }
}

/* -- The page ------------------------------------------------------------------------------------------------------ */

/* A ball, two methods: one is wrong at a spot, the other by a tenth of that. */
typedef struct character {
    ball ball;
    pelt_mesh mesh;
    float models[2][3 * BALL_VERTICES], vertex_rms[2][BALL_VERTICES], frame_rms[2][3], frame_max[2][3];
    const float *frames[2][1];
    pelt_measure measures[2];
    const pelt_measure *per_clip[2][2];
    pelt_report_row rows[2];
    pelt_report_picture picture;
    pelt_finding finding;
    pelt_report_page page;
} character;

static void method_make(character *c, int m) {
    double wrong = m ? 0.02 : 0.2;
    for (size_t v = 0; v < BALL_VERTICES; v++) {
        const float *n = c->ball.normals + 3 * v;
        double bump = wrong * exp(40 * (n[2] - 1));
        for (size_t i = 0; i < 3; i++) c->models[m][3 * v + i] = c->ball.positions[3 * v + i] + (float)(bump * n[i]);
        c->vertex_rms[m][v] = (float)bump;
    }
    for (int f = 0; f < 3; f++)
        c->frame_rms[m][f] = (float)(wrong / (5 + f)), c->frame_max[m][f] = (float)(wrong / (1 + f));
    c->measures[m] = (pelt_measure){.frame_count = 3, .vertex_count = BALL_VERTICES, .rms = wrong / 5, .max = wrong};
    c->measures[m].rms_fraction = m ? 0.0018 : 0.018, c->measures[m].max_fraction = m ? 0.011 : 0.11;
    c->measures[m].rel_err = m ? 0.1 : 1;
    c->measures[m].frame_rms = c->frame_rms[m], c->measures[m].frame_max = c->frame_max[m];
    c->measures[m].vertex_rms = c->vertex_rms[m];
    c->per_clip[m][0] = c->per_clip[m][1] = &c->measures[m];
    c->frames[m][0] = c->models[m];
    c->rows[m] = (pelt_report_row){.method = m ? "kernel" : "ssd", .blend = "file", .corrective = "none"};
    c->rows[m].train = c->rows[m].test_all = &c->measures[m], c->rows[m].test = c->per_clip[m];
    c->rows[m].frame_positions = c->frames[m];
    c->rows[m].bytes = 1234567, c->rows[m].fit_seconds = 125;
}

static character *character_make(void) {
    static const char *const train[] = {"train"}, *const test[] = {"walk", "jump"};
    character *c = calloc(1, sizeof *c);
    ball_make(&c->ball, 1);
    c->mesh = (pelt_mesh){.vertex_count = BALL_VERTICES, .triangle_count = BALL_TRIANGLES, .diagonal = 3.46f};
    c->mesh.positions = c->ball.positions, c->mesh.normals = c->ball.normals, c->mesh.triangles = c->ball.triangles;
    method_make(c, 0);
    method_make(c, 1);
    c->picture = (pelt_report_picture){"jump", 1, "worst frame of ssd", c->ball.positions};
    c->finding = (pelt_finding){PELT_WARNING, "weights", "weights < 0"};
    c->page = (pelt_report_page){.bundle = "ball.glb", .mesh = &c->mesh, .command = "pelt compare ball.glb"};
    c->page.train_count = 1, c->page.train = train, c->page.test_count = 2, c->page.test = test;
    c->page.row_count = 2, c->page.rows = c->rows, c->page.picture_count = 1, c->page.pictures = &c->picture;
    c->page.findings = (pelt_findings){1, &c->finding};
    c->page.picture_size = 96;
    return c;
}

static char *page_html(const pelt_report_page *page) {
    pelt_bytes html;
    pelt_error error = {0};
    if (pelt_report_html(page, &html, &error) != PELT_OK) fail_msg("%s", error.text);
    assert_int_equal(strlen(html.bytes), html.size);
    return html.bytes;
}

static bool is_void(const char *name) {
    static const char *const names[] = {"meta", "img", "br"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* Every tag is closed in order, attributes are quoted, and there is no stray < or > in the text. */
static void assert_well_formed(const char *html) {
    char stack[64][32];
    int depth = 0;
    const char *s = strchr(html, '>') + 1; /* after the doctype */
    while ((s += strcspn(s, "<>"), *s)) {
        char name[32];
        int used = 0;
        bool closing = s[1] == '/';
        if (sscanf(s + 1 + closing, "%31[a-z0-9]%n", name, &used) != 1) fail_msg("stray: %.60s", s);
        s += 1 + closing + used;
        for (int quotes = 0; *s != '>' || quotes % 2; s++) {
            if (*s == 0 || (*s == '<' && quotes % 2 == 0)) fail_msg("unclosed <%s>", name);
            quotes += *s == '"';
        }
        bool whole = s++ [-1] == '/';
        if (strcmp(name, "style") == 0 && !closing) {
            s = strstr(s, "</style>") + 8;
        } else if (closing) {
            if (depth == 0 || strcmp(stack[--depth], name) != 0) fail_msg("</%s> closes <%s>", name, stack[depth]);
        } else if (!whole && !is_void(name)) {
            assert_true(depth < 64);
            strcpy(stack[depth++], name);
        }
    }
    assert_int_equal(depth, 0);
}

/* Blanks the pictures, whose base64 can spell any word. */
static void blank_pictures(char *html) {
    for (char *s = html; (s = strstr(s, "base64,"));)
        for (s += 7; *s != '"'; s++) *s = '-';
}

static int count_of(const char *html, const char *word) {
    int count = 0;
    for (const char *s = html; (s = strstr(s, word)); s += strlen(word)) count++;
    return count;
}

static void page_says_in_plain_words_how_wrong_the_best_method_is(void **state) {
    (void)state;
    character *c = character_make();
    char *html = page_html(&c->page);
    assert_well_formed(html);
    assert_non_null(strstr(html, "On motion it has not seen, <b>kernel</b> has an RMS error of <b>0.18&#8239;%</b>"));
    assert_non_null(strstr(html, "<b>1.1&#8239;%</b> at worst"));
    assert_non_null(strstr(html, "10&#8239;% of the error of plain blending"));
    assert_int_equal(count_of(html, "<tr class=\"best\"><th scope=\"row\" class=\"name\">kernel"), 1);
    assert_int_equal(count_of(html, ">best</span>"), 1);
    assert_non_null(strstr(html, "1&#8239;234&#8239;567"));
    assert_non_null(strstr(html, "2&#8239;min 5&#8239;s"));
    free(html);
    free(c);
}

static void page_says_how_rough_and_jumpy_each_method_is_and_of_what_mesh(void **state) {
    (void)state;
    character *c = character_make();
    c->measures[0].roughness = 1, c->measures[0].jump = NAN; /* no motion */
    c->measures[1].roughness = 1.91, c->measures[1].jump = 7.34;
    for (int m = 0; m < 2; m++) c->measures[m].point_count = 4567, c->measures[m].mean_edge = 0.0692;
    c->measures[1].vertex_rough = c->vertex_rms[1];
    char *html = page_html(&c->page);
    assert_well_formed(html);
    assert_non_null(strstr(html, "<th>roughness</th><th>jump</th>"));
    assert_non_null(strstr(html, "<td>1.00</td><td>–</td>"));
    assert_non_null(strstr(html, "<td>1.91</td><td>7.34</td>"));
    assert_non_null(strstr(html, "here 4567 points with edges of 2.0&#8239;% of the size"));
    assert_non_null(strstr(html, "Where it is rough"));
    assert_int_equal(count_of(html, "<img"), 5 + 5 + 4 + 2 + 1);
    free(html);
    free(c);
}

/* The first row is the best, whatever the order of the methods, in the table and in the pictures. */
static void rows_are_sorted_by_their_error(void **state) {
    (void)state;
    character *c = character_make();
    pelt_report_row rows[] = {c->rows[0], c->rows[1], c->rows[0]};
    rows[0].method = "unmeasured", rows[0].test_all = NULL;
    c->page.rows = rows, c->page.row_count = 3;
    char *html = page_html(&c->page);
    const char *table = strstr(html, "<tbody>"), *kernel = strstr(table, ">kernel"), *ssd = strstr(table, ">ssd"),
               *last = strstr(table, ">unmeasured");
    assert_true(kernel && kernel < ssd && ssd < last);
    assert_true(strstr(table, "best") < ssd);
    const char *frames = strstr(html, "Worst frames");
    assert_true(strstr(frames, "<b>kernel") && strstr(frames, "<b>kernel") < strstr(frames, "<b>ssd"));
    assert_string_equal(c->page.rows[0].method, "unmeasured");
    assert_non_null(strstr(html, "Jump is the largest change of a point's error from one frame to the next"));
    free(html);
    free(c);
}

/* The truth is a plain ball, the models are dented in front: equal panels have the same method. */
static void a_picture_of_many_methods_has_their_errors_below_them(void **state) {
    (void)state;
    enum { GAP = 12 };
    character *c = character_make();
    pelt_report_row rows[] = {c->rows[0], c->rows[1], c->rows[0], c->rows[1], c->rows[0]};
    static const uint32_t grids[][2] = {
        {3, 1}, {5, 1}, {4, 2}, {4, 4}, {4, 4}}; /* columns and rows of 1 to 5 methods */
    c->page.rows = rows, c->page.picture_size = 64;
    for (size_t n = 2; n <= 5; n += n == 3 ? 2 : 1) {
        c->page.row_count = n;
        pelt_bytes png;
        assert_int_equal(pelt_report_sheet(&c->page, PELT_PANELS_ERRORS, &png, NULL), PELT_OK);
        png_image reader = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_memory(&reader, png.bytes, png.size));
        reader.format = PNG_FORMAT_RGB;
        uint32_t columns = grids[n - 1][0], width = (reader.width + GAP) / columns;
        uint32_t height = (reader.height + GAP) / grids[n - 1][1];
        assert_int_equal(columns * width - GAP, reader.width);
        assert_int_equal(grids[n - 1][1] * height - GAP, reader.height);
        uint8_t *pixels = malloc(PNG_IMAGE_SIZE(reader));
        assert_true(png_image_finish_read(&reader, NULL, pixels, 0, NULL));
        for (size_t k = 0; k <= n; k++) { /* clay is warm, errors are blue or red: cell 0 is the truth */
            size_t model[2] = {k % columns, k / columns * 2}, heat[2] = {k % columns, k / columns * 2 + 1};
            if (n <= 2) model[0] = k ? 2 * k - 1 : 0, heat[0] = 2 * k, heat[1] = 0;
            size_t middle = (size_t)reader.width * ((height - GAP) / 2) + (width - GAP) / 2;
            const uint8_t *a = pixels + 3 * (middle + model[0] * width + model[1] * height * reader.width);
            const uint8_t *b = pixels + 3 * (middle + heat[0] * width + heat[1] * height * reader.width);
            assert_true(a[0] > a[1] && a[1] > a[2] && a[0] < 255);
            if (k)
                assert_true(!(b[0] > b[1] && b[1] > b[2]) && b[1] < 255);
            else if (n > 2)
                assert_int_equal(b[0] + b[1] + b[2], 3 * 255);
        }
        bool brightest = false; /* yellow: the largest error has full colour */
        for (size_t i = 0; i < (size_t)reader.width * reader.height; i++)
            brightest |= pixels[3 * i + 1] > pixels[3 * i + 2] + 60;
        assert_true(brightest);
        free(pixels), free(png.bytes);
    }
    free(c);
}

/* A joint that displaces the front of the ball: its support is warm there and cold elsewhere; its eigendisplacement is
   along x, so red. */
static void pictures_of_a_study_show_supports_and_eigendisplacements(void **state) {
    (void)state;
    enum { GAP = 12 };
    character *c = character_make();
    uint32_t n = c->page.mesh->vertex_count;
    float *support = calloc(n, sizeof *support), *shape = calloc(3 * (size_t)n, sizeof *shape);
    for (uint32_t v = 0; v < n; v++)
        if (c->page.mesh->positions[3 * v + 2] > 0) support[v] = shape[3 * v] = 1;
    pelt_joint_study joints[5];
    for (int j = 0; j < 5; j++)
        joints[j] = (pelt_joint_study){.name = "a", .shape_count = 2, .support = support, .shapes = {shape, shape}};
    pelt_eigen_study study = {.joint_count = 5, .joints = joints};
    c->page.picture_size = 64;
    pelt_error error;
    pelt_bytes png;
    assert_int_equal(pelt_report_sheet(&c->page, PELT_PANELS_SUPPORTS, &png, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "no example moves a joint alone"));
    c->page.study = &study;
    for (int shapes = 0; shapes < 2; shapes++) {
        pelt_panels panels = shapes ? PELT_PANELS_DISPLACEMENTS : PELT_PANELS_SUPPORTS;
        assert_int_equal(pelt_report_sheet(&c->page, panels, &png, &error), PELT_OK);
        png_image reader = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_memory(&reader, png.bytes, png.size));
        reader.format = PNG_FORMAT_RGB;
        assert_int_equal(reader.width, (shapes ? 2 : 4) * (64 + GAP) - GAP);
        assert_int_equal(reader.height, 64);
        uint8_t *pixels = malloc(PNG_IMAGE_SIZE(reader));
        assert_true(png_image_finish_read(&reader, NULL, pixels, 0, NULL));
        const uint8_t *middle = pixels + 3 * (32 * (size_t)reader.width + 32);
        assert_true(middle[0] > middle[1] + 40 && middle[0] > middle[2] + 40);
        free(pixels), free(png.bytes);
    }
    free(support), free(shape), free(c);
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The error that 99% of a model's vertices stay under. */
static double usual_error(const character *c, const float *model) {
    static double errors[BALL_VERTICES];
    for (size_t v = 0; v < BALL_VERTICES; v++) {
        double sum = 0;
        for (size_t i = 3 * v; i < 3 * v + 3; i++) sum += pow(model[i] - c->ball.positions[i], 2);
        errors[v] = sqrt(sum);
    }
    qsort(errors, BALL_VERTICES, sizeof *errors, rising);
    return errors[(size_t)(0.99 * (BALL_VERTICES - 1) + 0.5)];
}

static void one_bad_method_does_not_take_the_colour_of_the_others(void **state) {
    (void)state;
    character *c = character_make();
    static float far[3 * BALL_VERTICES];
    static const float *far_frames[1] = {far};
    for (size_t i = 0; i < 3 * BALL_VERTICES; i++) far[i] = 1000 * c->ball.positions[i];
    pelt_report_row rows[] = {c->rows[0], c->rows[1], c->rows[1]};
    rows[2].method = "far", rows[2].frame_positions = far_frames;
    char scale[60], own[2][60];
    c->page.rows = rows;
    for (size_t n = 2; n <= 3; n++) { /* of two: their geometric mean; of three: the middle one, however bad the last */
        double a = usual_error(c, c->models[0]), b = usual_error(c, c->models[1]), full = n == 2 ? sqrt(a * b) : a;
        c->page.row_count = n;
        char *html = page_html(&c->page);
        assert_well_formed(html);
        snprintf(scale, sizeof scale, "<span>&ge;&#8239;%.*f = ", (int)(1 - floor(log10(full))), full);
        if (count_of(html, scale) < 2) fail_msg("%s is not on the page", scale); /* the frame and its close-up */
        /* On the rest pose each has its own. */
        for (int m = 0; m < 2; m++) {
            double usual = usual_error(c, c->models[m]);
            snprintf(own[m], sizeof own[m], "%s</b><span>&ge;&#8239;%.*f = ", m ? "kernel" : "ssd",
                     (int)(1 - floor(log10(usual))), usual);
            if (!strstr(html, own[m])) fail_msg("%s is not on the page", own[m]);
        }
        /* Truth and all methods are in one row. */
        snprintf(scale, sizeof scale, "<div class=\"strip row\" style=\"--n:%zu;", n + 1);
        assert_int_equal(count_of(html, scale), 1);
        free(html);
    }
    free(c);
}

/* A PNG as RGB pixels; free with free(). */
static uint8_t *decode(pelt_bytes file, uint32_t *width, uint32_t *height) {
    png_image reader = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&reader, file.bytes, file.size));
    reader.format = PNG_FORMAT_RGB;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(reader));
    assert_true(png_image_finish_read(&reader, NULL, pixels, 0, NULL));
    free(file.bytes);
    *width = reader.width, *height = reader.height;
    return pixels;
}

/* How red a panel is relative to its blue, over its pixels: warm colours differ strongly, cold ones do not. */
static double warmth(const uint8_t *pixels, uint32_t width, uint32_t left, uint32_t top, uint32_t columns,
                     uint32_t rows) {
    double sum = 0;
    for (uint32_t y = top; y < top + rows; y++)
        for (uint32_t x = left; x < left + columns; x++) {
            const uint8_t *p = pixels + 3 * ((size_t)y * width + x);
            if (p[0] + p[1] + p[2] < 3 * 255) sum += fmax(0, (double)p[0] - p[2]);
        }
    return sum;
}

/* The first and the third method are the same: their difference is cold, with a scale of 0. */
static void differences_of_methods_are_drawn_pair_by_pair(void **state) {
    (void)state;
    enum { GAP = 12 };
    character *c = character_make();
    pelt_report_row rows[] = {c->rows[0], c->rows[1], c->rows[0]};
    rows[2].method = "twin", c->page.rows = rows, c->page.row_count = 3;
    char *html = page_html(&c->page), scale[100];
    assert_well_formed(html);
    static double apart[BALL_VERTICES];
    for (size_t v = 0; v < BALL_VERTICES; v++) {
        const float *a = c->models[0] + 3 * v, *b = c->models[1] + 3 * v;
        apart[v] = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
    }
    qsort(apart, BALL_VERTICES, sizeof *apart, rising);
    double usual = apart[(size_t)(0.99 * (BALL_VERTICES - 1) + 0.5)];
    snprintf(scale, sizeof scale, "</b>full colour <span>&ge;&#8239;%.*f = ", (int)(1 - floor(log10(usual))), usual);
    assert_int_equal(count_of(html, scale), 2);
    assert_int_equal(count_of(html, "</b>full colour <span>0</span>"), 1);
    assert_non_null(strstr(html, "<b>kernel and twin</b>"));
    free(html);
    pelt_bytes png;
    uint32_t width, height;
    assert_int_equal(pelt_report_sheet(&c->page, PELT_PANELS_DIFFERENCES, &png, NULL), PELT_OK);
    uint8_t *pixels = decode(png, &width, &height);
    uint32_t panel = (width - 2 * GAP) / 3, below = (height - GAP) / 2 + GAP;
    double heat[3];
    for (uint32_t k = 0; k < 3; k++) heat[k] = warmth(pixels, width, k * (panel + GAP), below, panel, height - below);
    assert_true(heat[0] > 1000 && heat[2] > 1000 && heat[1] < 0.01 * heat[0]);
    free(pixels);
    c->page.rows = c->rows, c->page.row_count = 1;
    assert_int_equal(pelt_report_sheet(&c->page, PELT_PANELS_DIFFERENCES, &png, NULL), PELT_ERROR_ARGUMENT);
    free(c);
}

static void poses_stand_side_by_side_with_the_error_of_each(void **state) {
    (void)state;
    enum { GAP = 12 };
    character *c = character_make();
    static float larger[3 * BALL_VERTICES];
    for (size_t i = 0; i < 3 * BALL_VERTICES; i++) larger[i] = 1.1f * c->ball.positions[i];
    pelt_report_picture poses[2] = {{"walk", 3, NULL, c->ball.positions}, {"jump", 8, NULL, c->ball.positions}};
    const float *first[2] = {larger, c->ball.positions}, *second[2] = {c->ball.positions, larger};
    c->rows[0].pose_positions = first, c->rows[1].pose_positions = second;
    c->page.pose_count = 2, c->page.poses = poses;
    char *html = page_html(&c->page);
    assert_well_formed(html);
    assert_non_null(strstr(html, "walk, frame 3</figcaption>"));
    assert_int_equal(count_of(html, "RMS 2.89&#8239;%, max 2.89&#8239;%"),
                     2); /* 0.1 of a radius of 1, of a diagonal of 3.46 */
    assert_int_equal(count_of(html, "<figcaption>RMS 0&#8239;%"), 2);
    free(html);
    pelt_bytes png;
    uint32_t width, height, seen[3][2];
    assert_int_equal(pelt_report_sheet(&c->page, PELT_PANELS_POSES, &png, NULL), PELT_OK);
    uint8_t *pixels = decode(png, &width, &height);
    uint32_t panel = (width - GAP) / 2, high = (height - 2 * GAP) / 3;
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t i = 0; i < 2; i++) {
            seen[r][i] = 0;
            for (uint32_t k = 0; k < panel * high; k++) {
                size_t at = (size_t)(r * (high + GAP) + k / panel) * width + i * (panel + GAP) + k % panel;
                seen[r][i] += pixels[3 * at] < 250;
            }
        }
    assert_int_equal(seen[0][0],
                     seen[0][1]); /* all with one camera: what is 1.1 times as large covers 1.21 times the area */
    assert_near(seen[1][0] / (double)seen[0][0], 1.21, 0.06);
    assert_int_equal(seen[1][1], seen[0][0]);
    assert_int_equal(seen[2][1], seen[1][0]);
    free(pixels);
    free(c);
}

/* Heights of the three points of a method's line in the lower panel. */
static void line_heights(const char *html, int method, double y[3]) {
    char start[40];
    double x;
    snprintf(start, sizeof start, "<path class=\"line m%d\" d=\"M", method);
    const char *s = strstr(html, start);                                /* in the legend */
    for (int skip = 0; skip < 3 && s; skip++) s = strstr(s + 1, start); /* two clips above, then those below */
    assert_non_null(s);
    assert_int_equal(sscanf(s + strlen(start), "%lf %lfL%lf %lfL%lf %lf", &x, &y[0], &x, &y[1], &x, &y[2]), 6);
}

static void errors_that_differ_by_more_than_ten_have_a_logarithmic_axis(void **state) {
    (void)state;
    character *c = character_make();
    static const float decades[2][3] = {{1, 0.1f, 0.01f}, {0.02f, 0.02f, 0.02f}};
    double y[3], flat[3];
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        for (int m = 0; m < 2; m++) memcpy(c->frame_rms[m], decades[m], sizeof decades[m]);
        c->measures[0].rms = 0.5, c->measures[1].rms = logarithmic ? 0.049 : 0.051;
        char *html = page_html(&c->page);
        assert_well_formed(html);
        assert_int_equal(count_of(html, ", logarithmic</text>"), 2 * logarithmic);
        line_heights(html, 1, y), line_heights(html, 0, flat); /* the better one is the first */
        assert_true(y[0] < y[1] && y[1] < y[2]);
        assert_near(flat[0], flat[2], 0.01);
        /* From 1 to 0.1 it is as far as from there to 0.01; or ten times as far. */
        assert_near((y[1] - y[0]) / (y[2] - y[1]), logarithmic ? 1 : 10, logarithmic ? 0.01 : 0.3);
        assert_near(y[2] - y[0], PLOT_PANEL * (logarithmic ? log(100) / log(200) : 0.99),
                    0.2); /* 1 is the top; the ground 0.005, or 0 */
        if (logarithmic) assert_near((y[2] - flat[0]) / (y[2] - y[1]), log10(2), 0.01);
        free(html);
    }
    c->frame_rms[1][1] = 0; /* has no logarithm: drawn at the bottom */
    char *html = page_html(&c->page);
    line_heights(html, 1, y), line_heights(html, 0, flat);
    assert_true(flat[1] >= y[2] - 0.01);
    free(html), free(c);
}

static void page_needs_no_other_file(void **state) {
    (void)state;
    character *c = character_make();
    char *html = page_html(&c->page);
    blank_pictures(html);
    assert_null(strstr(html, "http"));
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "<link"));
    assert_null(strstr(html, "url("));
    assert_int_equal(count_of(html, "src=\""), count_of(html, "src=\"data:image/png;base64,-"));
    /* truth, 2 models, 2 errors; the same close up, for the error is at a spot; 2 x front and back. */
    assert_int_equal(count_of(html, "<img"), 5 + 5 + 4 + 1); /* frame, close-up, rest poses, a difference */
    assert_int_equal(count_of(html, "<path class=\"line m0\""), 1 + 2 * 2); /* legend, and a panel x a clip each */
    free(html);
    free(c);
}

static void page_escapes_every_name(void **state) {
    (void)state;
    static const char evil[] = "</title><script>alert('x')</script>\"&\xff\xc0\xaf\x01";
    static const char *const names[] = {evil, evil};
    character *c = character_make();
    pelt_report_page *page = &c->page;
    page->title = page->bundle = page->command = page->version = evil;
    page->train = page->test = names;
    c->rows[0].method = c->rows[1].method = c->rows[0].blend = c->rows[0].corrective = evil;
    c->picture.clip = c->picture.why = c->finding.what = c->finding.text = evil;
    char *html = page_html(page);
    assert_well_formed(html);
    assert_null(strstr(html, "<script"));
    assert_null(strchr(html, '\xff'));
    assert_null(strchr(html, '\xc0'));
    assert_null(strchr(html, '\x01'));
    assert_true(count_of(html, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;") > 10);
    free(html);
    free(c);
}

static void page_is_made_from_whatever_is_known(void **state) {
    (void)state;
    character *c = character_make();
    c->rows[0].train = c->rows[1].test_all = NULL;
    c->rows[0].test = NULL, c->rows[1].frame_positions = NULL;
    c->measures[0].rms = c->measures[0].rms_fraction = NAN;
    c->frame_rms[0][1] = NAN, c->vertex_rms[0][5] = INFINITY, c->models[0][77] = NAN;
    char *html = page_html(&c->page);
    assert_well_formed(html);
    blank_pictures(html);
    static const char *const bad[] = {"nan<", "nan ", "nan\"", "nan%", "nanL", "inf<", "inf ", "inf\"", "inf%", "infL"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_null(strstr(html, bad[i]));
    free(html);

    c->page.test_count = 0;
    html = page_html(&c->page);
    assert_well_formed(html);
    assert_non_null(strstr(html, "On the motion it was fitted to"));
    free(html);

    pelt_mesh nothing = {0};
    html = page_html(&(pelt_report_page){.mesh = &nothing});
    assert_well_formed(html);
    free(html);
    free(c);
}

static int stop(void *user, const char *task, double fraction) {
    (void)user, (void)task, (void)fraction;
    return 1;
}

static void page_is_the_same_for_any_threads_and_stops_on_request(void **state) {
    (void)state;
    character *c = character_make();
    c->page.threads = 1;
    char *one = page_html(&c->page);
    c->page.threads = 3;
    char *three = page_html(&c->page);
    assert_string_equal(one, three);
    free(one);
    free(three);
    pelt_error error;
    pelt_bytes none;
    c->page.progress.step = stop;
    assert_int_equal(pelt_report_html(&c->page, &none, &error), PELT_ERROR_CANCELLED);
    assert_null(none.bytes);
    c->page.progress.step = NULL;
    c->ball.triangles[4] = BALL_VERTICES;
    assert_int_equal(pelt_report_html(&c->page, &none, &error), PELT_ERROR_INDEX);
    assert_non_null(strstr(error.text, "ball.glb: triangle 1 "));
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangle_covers_its_projected_area),
        cmocka_unit_test(neighbouring_triangles_leave_no_crack_and_no_seam),
        cmocka_unit_test(sphere_has_the_silhouette_of_its_tangent_cone),
        cmocka_unit_test(fitted_view_shows_the_whole_mesh_from_every_side),
        cmocka_unit_test(tightened_view_fills_the_picture),
        cmocka_unit_test(azimuth_turns_the_eye_to_plus_x_and_elevation_up),
        cmocka_unit_test(nearer_triangle_wins_in_any_order),
        cmocka_unit_test(crossing_planes_meet_where_perspective_says),
        cmocka_unit_test(edges_have_the_colour_of_the_surface_not_of_the_background),
        cmocka_unit_test(inside_of_a_surface_is_darker_than_its_outside),
        cmocka_unit_test(light_comes_from_the_upper_left),
        cmocka_unit_test(a_tilt_by_ten_degrees_shows),
        cmocka_unit_test(same_input_gives_the_same_picture),
        cmocka_unit_test(only_the_side_that_is_seen_counts_as_visible),
        cmocka_unit_test(view_turns_to_where_the_values_are),
        cmocka_unit_test(heat_rises_in_lightness),
        cmocka_unit_test(bad_input_draws_what_it_can),
        cmocka_unit_test(png_decodes_to_the_same_pixels),
        cmocka_unit_test(few_colours_are_kept_exactly),
        cmocka_unit_test(small_pictures_look_the_same),
        cmocka_unit_test(rows_are_sorted_by_their_error),
        cmocka_unit_test(page_says_in_plain_words_how_wrong_the_best_method_is),
        cmocka_unit_test(page_says_how_rough_and_jumpy_each_method_is_and_of_what_mesh),
        cmocka_unit_test(a_picture_of_many_methods_has_their_errors_below_them),
        cmocka_unit_test(pictures_of_a_study_show_supports_and_eigendisplacements),
        cmocka_unit_test(one_bad_method_does_not_take_the_colour_of_the_others),
        cmocka_unit_test(differences_of_methods_are_drawn_pair_by_pair),
        cmocka_unit_test(poses_stand_side_by_side_with_the_error_of_each),
        cmocka_unit_test(errors_that_differ_by_more_than_ten_have_a_logarithmic_axis),
        cmocka_unit_test(page_needs_no_other_file),
        cmocka_unit_test(page_escapes_every_name),
        cmocka_unit_test(page_is_made_from_whatever_is_known),
        cmocka_unit_test(page_is_the_same_for_any_threads_and_stops_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
