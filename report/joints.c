/* joints.c: what EigenSkin found, as in the figures of its paper: joint supports (figure 3), eigendisplacements with
   their singular values, x y z shown as red green blue (figure 5), and the error against their number (figure 7). */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 260 };

/* -- Views --------------------------------------------------------------------------------------------------------- */

/* A square around the support, from where most of it is seen. */
static pelt_view view_support(const pelt_mesh *mesh, const float *support) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (size_t i = 0; i < 3 && support[v] > 0; i++) {
            low[i] = fmin(low[i], mesh->positions[3 * v + i]);
            high[i] = fmax(high[i], mesh->positions[3 * v + i]);
        }
    pelt_view view = pelt_view_fit(mesh->positions, mesh->vertex_count, 0, 12);
    view.distance = pelt_view_distance(&view);
    double size = 0;
    for (int i = 0; i < 3; i++) view.center[i] = (low[i] + high[i]) / 2, size += pow(high[i] - low[i], 2);
    view.radius = fmin(fmax(0.62 * sqrt(size), 0.1 * view.radius), view.radius);
    pelt_view_turn(&view, mesh, mesh->positions, support);
    return view;
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

static pelt_result put_picture(text *out, const pelt_image *image) {
    pelt_bytes png;
    pelt_result result = pelt_image_png(image, &png, NULL);
    if (result) return result;
    text_format(out, "<div><img width=\"%u\" height=\"%u\" alt=\"\" src=\"data:image/png;base64,", SIZE, SIZE);
    text_base64(out, png.bytes, png.size);
    text_put(out, "\"></div>");
    free(png.bytes);
    return PELT_OK;
}

/* Middle grey is no displacement; the largest component of any vertex reaches the end of its channel. */
static void shape_colors(const float *shape, uint32_t count, float *colors) {
    float most = 0;
    for (size_t i = 0; i < 3 * (size_t)count; i++) most = fmaxf(most, fabsf(shape[i]));
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        colors[i] = most > 0 ? 0.22f * powf(4, shape[i] / most) : 0.22f; /* equal steps to the eye */
}

static pelt_result put_support(text *out, const pelt_report_page *page, const pelt_joint_study *joint,
                               const pelt_view *view, pelt_image *image) {
    const pelt_mesh *mesh = page->mesh;
    pelt_result result = pelt_draw_mesh(image, view, mesh, &(pelt_look){.heat = joint->support});
    text_format(out, "<figure><figcaption><b>support</b>%u points<br>%u examples</figcaption>", joint->support_count,
                joint->example_count);
    if (!result) result = put_picture(out, image);
    text_put(out, "</figure>\n");
    return result;
}

static pelt_result put_shape(text *out, const pelt_report_page *page, const pelt_joint_study *joint, uint32_t k,
                             const pelt_view *view, pelt_image *image, float *colors) {
    shape_colors(joint->shapes[k], page->mesh->vertex_count, colors);
    pelt_result result = pelt_draw_mesh(image, view, page->mesh, &(pelt_look){.colors = colors});
    text_format(out, "<figure><figcaption><b>%u</b>&sigma; = ", k + 1);
    text_number(out, joint->singular[k]);
    text_put(out, "<br>rel. error with ");
    text_format(out, "%u: ", k + 1);
    text_number(out, joint->errors[k + 1]);
    text_put(out, "</figcaption>");
    if (!result) result = put_picture(out, image);
    text_put(out, "</figure>\n");
    return result;
}

/* -- Curves -------------------------------------------------------------------------------------------------------- */

static void put_curves(text *out, const pelt_eigen_study *study) {
    static const char *const colors[] = {"#2f6f9f", "#b5533c", "#5d8a3a", "#8a5a9e"};
    enum { LEFT = 40, TOP = 12, WIDTH = 360, HEIGHT = 180 };
    text_format(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" font-size=\"11\" fill=\"currentColor\">\n",
                LEFT + WIDTH + 200, TOP + HEIGHT + 34, LEFT + WIDTH + 200);
    for (int k = 0; k <= 4; k++) {
        double y = TOP + HEIGHT * (1 - k / 4.0);
        text_format(out, "<path d=\"M%d %.1fh%d\" stroke=\"currentColor\" opacity=\".15\"/>", LEFT, y, WIDTH);
        text_format(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n", LEFT - 6, y + 4, k / 4.0);
    }
    for (int n = 0; n < PELT_STUDY_COUNTS; n++)
        text_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>",
                    LEFT + WIDTH * n / (PELT_STUDY_COUNTS - 1), TOP + HEIGHT + 18, n);
    for (size_t j = 0; j < study->joint_count; j++) {
        const char *color = colors[j % (sizeof colors / sizeof *colors)];
        text_format(out, "\n<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", color);
        for (int n = 0; n < PELT_STUDY_COUNTS; n++)
            text_format(out, "%.1f,%.1f ", LEFT + WIDTH * n / (PELT_STUDY_COUNTS - 1.0),
                        TOP + HEIGHT * (1 - fmin(study->joints[j].errors[n], 1)));
        text_format(out, "\"/><text x=\"%d\" y=\"%d\" fill=\"%s\">", LEFT + WIDTH + 14, TOP + 14 + 16 * (int)j, color);
        text_escape(out, study->joints[j].name);
        text_put(out, "</text>");
    }
    text_put(out, "\n</svg>\n");
}

static pelt_result put_joint(text *out, const pelt_report_page *page, const pelt_joint_study *joint, pelt_image *image,
                             float *colors) {
    pelt_view view = view_support(page->mesh, joint->support);
    text_put(out, "<h3>");
    text_escape(out, joint->name);
    text_format(out, "</h3>\n<div class=\"strip brief\" style=\"--cell:%dpx\">\n", SIZE * 3 / 4);
    pelt_result result = put_support(out, page, joint, &view, image);
    for (uint32_t k = 0; k < joint->shape_count && !result; k++)
        result = put_shape(out, page, joint, k, &view, image, colors);
    text_put(out, "</div>\n");
    return result;
}

pelt_result put_joints(text *out, const pelt_report_page *page) {
    const pelt_eigen_study *study = page->study;
    if (!study || !study->joint_count) return PELT_OK;
    pelt_image *image = pelt_image_new(SIZE, SIZE);
    float *colors = malloc((3 * (size_t)page->mesh->vertex_count + 1) * sizeof *colors);
    pelt_result result = image && colors ? PELT_OK : PELT_ERROR_MEMORY;
    text_put(out,
             "<section>\n<h2>EigenSkin: supports and eigendisplacements</h2>\n<p class=\"muted\">The joints that "
             "displace the skin most. Support: where a joint's own motion displaces the skin by more than 4% of "
             "the most. Eigendisplacements: x, y, z as red, green, blue; grey is none. The curves: what is left of "
             "the displacements in a joint's examples, against the number of eigendisplacements.</p>\n");
    if (!result) put_curves(out, study);
    for (size_t j = 0; j < study->joint_count && !result; j++)
        result = put_joint(out, page, &study->joints[j], image, colors);
    text_put(out, "</section>\n");
    pelt_image_free(image);
    free(colors);
    return result;
}
