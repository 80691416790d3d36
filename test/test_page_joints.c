/* test_page_joints.c: EigenSkin on the report page: the study's numbers, pictures coloured by displacement, curves at
   the heights of the errors. */

#include "report/page.h"
#include "test/test.h"
#include <png.h>

/* A square in the plane z = 0, of 9 x 9 vertices, seen from the front. */
enum { SIDE = 9, VERTICES = SIDE * SIDE, TRIANGLES = 2 * (SIDE - 1) * (SIDE - 1) };

typedef struct subject {
    float positions[3 * VERTICES], normals[3 * VERTICES], support[VERTICES], shapes[2][3 * VERTICES];
    uint32_t triangles[3 * TRIANGLES];
    pelt_mesh mesh;
    pelt_joint_study joints[2];
    pelt_eigen_study study;
    pelt_report_page page;
} subject;

static subject *subject_make(void) {
    subject *s = calloc(1, sizeof *s);
    size_t t = 0;
    for (uint32_t v = 0; v < VERTICES; v++) {
        uint32_t x = v % SIDE, y = v / SIDE;
        s->positions[3 * v] = (float)x / (SIDE - 1) - 0.5f, s->positions[3 * v + 1] = (float)y / (SIDE - 1) - 0.5f;
        s->normals[3 * v + 2] = 1;
        s->support[v] = 1;
        s->shapes[0][3 * v] = 0.1f;      /* everything along x */
        s->shapes[1][3 * v + 2] = -0.1f; /* and against z */
        if (x == SIDE - 1 || y == SIDE - 1) continue;
        uint32_t quad[6] = {v, v + 1, v + SIDE, v + SIDE, v + 1, v + SIDE + 1};
        memcpy(s->triangles + t, quad, sizeof quad), t += 6;
    }
    s->mesh = (pelt_mesh){.vertex_count = VERTICES,
                          .triangle_count = TRIANGLES,
                          .diagonal = 1.41f,
                          .positions = s->positions,
                          .normals = s->normals,
                          .triangles = s->triangles};
    s->joints[0] = (pelt_joint_study){.name = "elbow",
                                      .example_count = 12,
                                      .support_count = 34,
                                      .shape_count = 2,
                                      .support = s->support,
                                      .singular = {2.5, 0.125},
                                      .shapes = {s->shapes[0], s->shapes[1]},
                                      .errors = {1, 0.5, 0.25, 0.125, 0, 0}};
    s->joints[1] = (pelt_joint_study){.name = "<wrist>",
                                      .example_count = 3,
                                      .support_count = 4,
                                      .support = s->support,
                                      .errors = {1, 1.5, 1, 1, 1, 1}};
    s->study = (pelt_eigen_study){.joint_count = 2, .joints = s->joints};
    s->page = (pelt_report_page){.mesh = &s->mesh, .study = &s->study};
    return s;
}

static int count_of(const char *html, const char *word) {
    int count = 0;
    for (const char *at = html; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

static char *html_of(const subject *s) {
    text out = {0};
    put_joints(&out, &s->page);
    assert_false(out.failed);
    return out.bytes;
}

static void joints_have_their_figures_and_their_numbers(void **state) {
    (void)state;
    subject *s = subject_make();
    char *html = html_of(s);
    assert_int_equal(count_of(html, "<figure>"), 1 + 2 + 1); /* supports, and the shapes of the first */
    assert_int_equal(count_of(html, "</figure>"), 4);
    assert_int_equal(count_of(html, "data:image/png;base64,iVBOR"), 4);
    assert_non_null(strstr(html, "<h3>elbow</h3>"));
    assert_non_null(strstr(html, "<h3>&lt;wrist&gt;</h3>"));
    assert_null(strstr(html, "<wrist>"));
    assert_non_null(strstr(html, "<b>support</b>34 points<br>12 examples"));
    assert_non_null(strstr(html, "<b>1</b>&sigma; = 2.50<br>rel. error with 1: 0.500<"));
    assert_non_null(strstr(html, "<b>2</b>&sigma; = 0.125<br>rel. error with 2: 0.250<"));
    assert_int_equal(count_of(html, "<section>"), count_of(html, "</section>"));
    free(html), free(s);
}

/* Relative to the panel of a plot: an error of 1 is at the top, 0 at the bottom; more than 1 stays inside. */
static void curves_are_as_high_as_the_errors(void **state) {
    (void)state;
    subject *s = subject_make();
    char *html = html_of(s);
    assert_int_equal(count_of(html, "<path class=\"line"), 2 + 2); /* legend and curves */
    for (int j = 0; j < 2; j++) {
        char start[40];
        snprintf(start, sizeof start, "<path class=\"line m%d\" d=\"", j);
        char *at = strstr(strstr(html, start) + 1, start) + strlen(start);
        for (int n = 0; n < PELT_STUDY_COUNTS; n++) {
            double x = strtod(at + 1, &at), y = strtod(at, &at), error = fmin(s->joints[j].errors[n], 1);
            assert_near(x, PLOT_LEFT + (double)(PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT) * n / (PELT_STUDY_COUNTS - 1),
                        0.06);
            assert_near(y, 30 + PLOT_PANEL * (1 - error), 0.06);
        }
    }
    free(html), free(s);
}

/* The PNG at a place of the page. */
static uint8_t *decode_picture(const char *base64, png_image *reader) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strcspn(base64, "=\""), size = 0;
    uint8_t *bytes = malloc(length + 4);
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        bits = bits << 6 | (uint32_t)(strchr(letters, base64[i]) - letters);
        if (i % 4) bytes[size++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    *reader = (png_image){.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(reader, bytes, size));
    reader->format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(*reader));
    assert_true(png_image_finish_read(reader, NULL, pixels, 0, NULL));
    free(bytes);
    return pixels;
}

static void x_y_z_are_red_green_blue_and_nothing_is_grey(void **state) {
    (void)state;
    subject *s = subject_make();
    s->joints[0].shape_count = 3;
    static float none[3 * VERTICES];
    s->joints[0].shapes[2] = none;
    char *html = html_of(s), *at = strstr(html, "base64,");
    int middles[4][3];
    for (int k = 0; k < 4; k++, at = strstr(at, "base64,")) {
        png_image reader;
        uint8_t *pixels = decode_picture(at += 7, &reader);
        const uint8_t *middle = pixels + 4 * ((size_t)reader.height / 2 * reader.width + reader.width / 2);
        assert_int_equal(middle[3], 255);
        for (int i = 0; i < 3; i++) middles[k][i] = middle[i];
        free(pixels);
    }
    const int *along_x = middles[1], *against_z = middles[2], *grey = middles[3];
    assert_near(grey[0], grey[1], 12);
    assert_near(grey[1], grey[2], 12);
    assert_true(along_x[0] > along_x[1] + 60 && along_x[0] > along_x[2] + 60);
    assert_near(along_x[1], grey[1], 12);
    assert_true(against_z[2] < against_z[0] - 40 && against_z[2] < against_z[1] - 40);
    assert_near(against_z[0], grey[0], 12);
    free(html), free(s);
}

static void without_a_study_there_is_nothing(void **state) {
    (void)state;
    subject *s = subject_make();
    text out = {0};
    put_joints(&out, &(pelt_report_page){.mesh = &s->mesh});
    assert_int_equal(out.size, 0);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_have_their_figures_and_their_numbers),
        cmocka_unit_test(curves_are_as_high_as_the_errors),
        cmocka_unit_test(x_y_z_are_red_green_blue_and_nothing_is_grey),
        cmocka_unit_test(without_a_study_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
