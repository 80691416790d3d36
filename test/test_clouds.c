/* test_clouds.c: Mohr & Gleicher's figure 7 as a picture: a bent tube, whose marked point follows the first joint but
   for a bulge, so that its cloud is small in the frame of that joint and an arc in the frame of the other. */

#include "report/report.h"
#include "test/corrected.h"
#include <png.h>

enum { JOINTS = 3, TUBE = 900, EXAMPLES = 7, SIZE = 200, GAP = 12 };

/* Joint 1 bulges where it moves the skin alone, most at one height. */
static void bulge(const pelt_bundle *bundle, const double *angles, double *d) {
    for (size_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *p = bundle->mesh.positions + 3 * v;
        double height = exp(-pow((p[1] - 1.5) / 0.2, 2));
        d[3 * v] = 0.1 * angles[2] / 90 * height * (p[0] > 0 ? p[0] : 0) / 0.25;
    }
}

typedef struct sheet {
    uint32_t width, height;
    uint8_t *pixels; /* RGB */
} sheet;

static sheet draw(pelt_bundle *bundle, pelt_clouds *clouds) {
    pelt_report_page page = {.mesh = &bundle->mesh, .clouds = clouds, .picture_size = SIZE};
    pelt_error error;
    pelt_bytes png;
    if (pelt_report_sheet(&page, PELT_PANELS_CLOUDS, &png, &error)) fail_msg("%s", error.text);
    png_image reader = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&reader, png.bytes, png.size));
    reader.format = PNG_FORMAT_RGB;
    sheet s = {reader.width, reader.height, malloc(PNG_IMAGE_SIZE(reader))};
    assert_true(s.pixels && png_image_finish_read(&reader, NULL, s.pixels, 0, NULL));
    free(png.bytes);
    return s;
}

/* The larger side of the box around what is red in a part of the picture; negative: nothing is. */
static int red_size(const sheet *s, uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
    int low[2] = {1 << 20, 1 << 20}, high[2] = {-1, -1};
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = left; x < right; x++) {
            const uint8_t *p = s->pixels + 3 * ((size_t)y * s->width + x);
            int at[2] = {(int)x, (int)y};
            if (p[0] < 100 || p[0] < p[1] + 100 || p[0] < p[2] + 100) continue;
            for (int i = 0; i < 2; i++) {
                low[i] = at[i] < low[i] ? at[i] : low[i];
                high[i] = at[i] > high[i] ? at[i] : high[i];
            }
        }
    return high[0] - low[0] > high[1] - low[1] ? high[0] - low[0] : high[1] - low[1];
}

static pelt_bundle *bent_tube(pelt_clouds *clouds) {
    pelt_bundle *bundle = character_chain(JOINTS, TUBE);
    double angles[EXAMPLES][JOINTS] = {{0}};
    for (int e = 0; e < EXAMPLES; e++) angles[e][2] = 15 * e;
    const pelt_clip *clip = corrected_clip(bundle, "train", EXAMPLES, angles[0], bulge);
    *clouds = (pelt_clouds){&bundle->skeleton, pelt_bundle_examples(bundle, &clip, 1), {1, 2}};
    return bundle;
}

static void a_cloud_is_small_in_the_frame_that_its_point_follows(void **state) {
    (void)state;
    pelt_clouds clouds;
    pelt_bundle *bundle = bent_tube(&clouds);
    sheet s = draw(bundle, &clouds);
    uint32_t panel = (s.height - GAP) / 2;
    assert_int_equal(s.width, 3 * (SIZE + GAP) - GAP);
    for (uint32_t i = 0; i < 3; i++) { /* one ball in every example */
        int ball = red_size(&s, i * (SIZE + GAP), i * (SIZE + GAP) + SIZE, 0, panel);
        assert_true(ball > 1 && ball < 0.06 * SIZE);
    }
    int own = red_size(&s, 0, s.width / 2, panel + GAP, s.height);
    int other = red_size(&s, s.width / 2, s.width, panel + GAP, s.height);
    assert_true(own > 0 && other > 3 * own);
    free(s.pixels), character_free(bundle);
}

static void what_cannot_be_drawn_is_told(void **state) {
    (void)state;
    pelt_clouds clouds;
    pelt_error error;
    pelt_bytes png;
    pelt_bundle *bundle = bent_tube(&clouds);
    pelt_report_page page = {.mesh = &bundle->mesh, .clouds = &clouds};
    clouds.examples.count = 2;
    assert_int_equal(pelt_report_sheet(&page, PELT_PANELS_CLOUDS, &png, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "at least 3 examples"));
    clouds.examples.count = EXAMPLES;
    for (uint32_t i = 0; i < bundle->mesh.influences.first[TUBE]; i++) bundle->mesh.influences.weights[i] = 0.5f;
    assert_int_equal(pelt_report_sheet(&page, PELT_PANELS_CLOUDS, &png, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "moves no vertex alone"));
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cloud_is_small_in_the_frame_that_its_point_follows),
        cmocka_unit_test(what_cannot_be_drawn_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
