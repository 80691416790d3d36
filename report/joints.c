/* joints.c: EigenSkin's results, as in the figures of its paper: joint supports (figure 3), eigendisplacements with
   their singular values, x y z shown as red green blue (figure 5), and the error against their number (figure 7). */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>

enum { SIZE = 260 };

/* A square around the support, from where most of it is visible. */
static pelt_view view_support(const pelt_mesh *mesh, const float *support) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (size_t i = 0; i < 3 && support[v] > 0; i++) {
            low[i] = fmin(low[i], mesh->positions[3 * v + i]);
            high[i] = fmax(high[i], mesh->positions[3 * v + i]);
        }
    pelt_view view = pelt_view_fit(mesh->positions, mesh->vertex_count, 0, 12);
    view.distance = pelt_view_distance(&view);
    for (int i = 0; i < 3; i++) view.center[i] = (low[i] + high[i]) / 2, size += pow(high[i] - low[i], 2);
    view.radius = fmin(fmax(0.62 * sqrt(size), 0.1 * view.radius), view.radius);
    pelt_view_turn(&view, mesh, mesh->positions, support);
    return view;
}

void shape_colors(const float *shape, uint32_t count, float *colors) {
    float most = 0;
    for (size_t i = 0; i < 3 * (size_t)count; i++) most = fmaxf(most, fabsf(shape[i]));
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        colors[i] = most > 0 ? 0.22f * powf(4, shape[i] / most) : 0.22f; /* perceptually equal steps */
}

static void put_shot(text *out, const pelt_mesh *mesh, const pelt_view *view, pelt_look look, const char *what) {
    text_put(out, "</figcaption><div>");
    put_drawing(out, picture_draw(&(picture){SIZE, SIZE, *view, look, {0}}, mesh), what);
    text_put(out, "</div></figure>\n");
}

static void put_joint(text *out, const pelt_mesh *mesh, const pelt_joint_study *joint, float *colors) {
    pelt_view view = view_support(mesh, joint->support);
    text_format(out,
                "<h3>%h</h3>\n<div class=\"strip brief\" style=\"--cell:%dpx\">\n<figure><figcaption><b>support</b>%u "
                "points<br>%u examples",
                joint->name, SIZE * 3 / 4, joint->support_count, joint->example_count);
    put_shot(out, mesh, &view, (pelt_look){.heat = joint->support}, "support");
    for (uint32_t k = 0; k < joint->shape_count; k++) {
        shape_colors(joint->shapes[k], mesh->vertex_count, colors);
        text_format(out, "<figure><figcaption><b>%u</b>&sigma; = %n<br>rel. error with %u: %n", k + 1,
                    joint->singular[k], k + 1, joint->errors[k + 1]);
        put_shot(out, mesh, &view, (pelt_look){.colors = colors}, "eigendisplacement");
    }
    text_put(out, "</div>\n");
}

static void put_curves(text *out, const pelt_eigen_study *study) {
    enum { GROUND = 30 + PLOT_PANEL, LAST = PELT_STUDY_COUNTS - 1 };
    const double across = (double)(PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT) / LAST;
    axis left = axis_up_to(GROUND, 1);
    text_put(out, "<ul class=\"legend\">");
    for (size_t j = 0; j < study->joint_count; j++) {
        put_legend_key(out, j);
        text_format(out, "%h</li>", study->joints[j].name);
    }
    text_put(out, "</ul>\n");
    plot_open(out, GROUND + 40, "Error of each joint by number of eigendisplacements");
    put_axis(out, &left, "Relative error, by number of eigendisplacements");
    for (int n = 0; n <= LAST; n++)
        text_format(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%d\">%d</text>", PLOT_LEFT + across * n, GROUND + 17,
                    n);
    for (size_t j = 0; j < study->joint_count; j++) {
        bool pen_down = false;
        line_open(out, j);
        for (int n = 0; n <= LAST; n++)
            line_to(out, &pen_down, PLOT_LEFT + across * n, axis_y(&left, fmin(study->joints[j].errors[n], 1)));
        text_put(out, "\"/>\n");
    }
    plot_close(out);
}

void put_joints(text *out, const pelt_report_page *page) {
    const pelt_eigen_study *study = page->study;
    if (!study || !study->joint_count) return;
    float *colors = malloc((3 * (size_t)page->mesh->vertex_count + 1) * sizeof *colors);
    if (!colors) out->failed = true;
    text_put(out, "<section>\n<h2>EigenSkin: supports and eigendisplacements</h2>\n<p class=\"muted\">The joints that "
                  "displace the skin most. Support: where a joint's own motion displaces the skin by more than 4% of "
                  "the maximum. Eigendisplacements: x, y, z as red, green, blue; grey is none. The curves show the "
                  "error that remains in a joint's examples against the number of eigendisplacements.</p>\n");
    put_curves(out, study);
    for (size_t j = 0; j < study->joint_count && colors; j++) put_joint(out, page->mesh, &study->joints[j], colors);
    text_put(out, "</section>\n");
    free(colors);
}
