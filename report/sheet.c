/* sheet.c: one picture for a page or a README: the truth, then every method's model and its errors, as a whole or close
   up; or where methods differ; or poses; or what EigenSkin found at joints. Errors of up to two methods are in one row;
   more are in several, each with its error below it. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 12, IN_ONE_ROW = 2, COLUMNS = 4, USUAL_SIZE = 480 };

static const float IN_SUPPORT = 0.6f; /* of the heat map: orange, with room for shading */

/* Panels of one size, in columns and rows. */
typedef struct sheet {
    const pelt_report_page *page;
    pelt_image *image;
    uint32_t width, height; /* of a panel */
    pelt_result result;
} sheet;

static void lay_out(sheet *s, size_t columns, size_t rows, const picture *panel) {
    s->width = panel->width + GAP, s->height = panel->height + GAP;
    s->image = pelt_image_new((uint32_t)columns * s->width - GAP, (uint32_t)rows * s->height - GAP);
    if (!s->image) s->result = PELT_ERROR_MEMORY;
    if (s->image) memset(s->image->rgba, 255, 4 * (size_t)s->image->width * s->image->height);
}

static void put(sheet *s, size_t column, size_t row, const picture *panel) {
    if (s->result || !panel->look.positions) return;
    pelt_image *image = picture_draw(panel, s->page->mesh);
    if (image)
        pelt_image_paste(s->image, image, (uint32_t)column * s->width, (uint32_t)row * s->height);
    else
        s->result = PELT_ERROR_MEMORY;
    pelt_image_free(image);
}

static void show_errors(sheet *s, const strip *frame) {
    size_t methods = s->page->row_count, columns = methods + 1 < COLUMNS ? methods + 1 : COLUMNS;
    bool stacked = methods > IN_ONE_ROW;
    lay_out(s, stacked ? columns : 1 + 2 * methods, stacked ? 2 * ((methods + columns) / columns) : 1, &frame->truth);
    put(s, 0, 0, &frame->truth);
    for (size_t r = 0; r < methods; r++) {
        size_t column = stacked ? (r + 1) % columns : 1 + 2 * r, row = stacked ? 2 * ((r + 1) / columns) : 0;
        put(s, column, row, &frame->models[r]);
        put(s, stacked ? column : column + 1, stacked ? row + 1 : row, &frame->heats[r]);
    }
}

static void show_differences(sheet *s, const gallery *g) {
    size_t methods = s->page->row_count, pairs = gallery_pair_count(s->page);
    lay_out(s, pairs > methods ? pairs : methods, 2, &g->frames[0].truth);
    for (size_t r = 0; r < methods; r++) put(s, r, 0, &g->frames[0].models[r]);
    for (size_t k = 0; k < pairs; k++) put(s, k, 1, &g->differences[0].heats[k]);
}

static void show_poses(sheet *s, const strip *poses) {
    lay_out(s, s->page->pose_count, s->page->row_count + 1, &poses[0].truth);
    for (size_t i = 0; i < s->page->pose_count; i++) {
        put(s, i, 0, &poses[i].truth);
        for (size_t r = 0; r < s->page->row_count; r++) put(s, i, r + 1, &poses[i].models[r]);
    }
}

/* The whole mesh at rest, from where most of the marked part is visible. */
static picture whole_mesh(const sheet *s, const float *marked) {
    const pelt_mesh *mesh = s->page->mesh;
    uint32_t size = s->page->picture_size ? s->page->picture_size : USUAL_SIZE;
    picture panel = {.width = size, .height = size, .look.positions = mesh->positions};
    panel.view = pelt_view_fit(mesh->positions, mesh->vertex_count, 0, 12);
    pelt_view_turn(&panel.view, mesh, mesh->positions, marked);
    return panel;
}

/* All from one side, and of one strength, as the paper's are: what is outside is cold. */
static void show_supports(sheet *s, float *heat) {
    const pelt_eigen_study *study = s->page->study;
    size_t count = study->joint_count < COLUMNS ? study->joint_count : COLUMNS, n = s->page->mesh->vertex_count;
    for (size_t v = 0; v < n; v++)
        for (size_t j = 0; j < count; j++) heat[v] = fmaxf(heat[v], study->joints[j].support[v]);
    picture panel = whole_mesh(s, heat);
    panel.look.heat = heat;
    lay_out(s, count, 1, &panel);
    for (size_t j = 0; j < count; j++) {
        for (size_t v = 0; v < n; v++) heat[v] = study->joints[j].support[v] > 0 ? IN_SUPPORT : 0;
        put(s, j, 0, &panel);
    }
}

static void show_displacements(sheet *s, float *colors) {
    const pelt_joint_study *joint = &s->page->study->joints[0];
    size_t count = joint->shape_count < COLUMNS ? joint->shape_count : COLUMNS;
    picture panel = whole_mesh(s, joint->support);
    panel.look.colors = colors;
    lay_out(s, count, 1, &panel);
    for (size_t k = 0; k < count; k++) {
        shape_colors(joint->shapes[k], s->page->mesh->vertex_count, colors);
        put(s, k, 0, &panel);
    }
}

static pelt_result draw_study(const pelt_report_page *page, pelt_panels panels, pelt_bytes *png, pelt_error *error) {
    sheet s = {.page = page};
    if (!page->study || !page->study->joint_count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "supports and eigendisplacements belong to EigenSkin: no example moves a joint alone, or "
                         "eigen is not among the methods compared");
    float *values = calloc(3 * (size_t)page->mesh->vertex_count + 1, sizeof *values);
    if (!values) return pelt_no_memory(error);
    (panels == PELT_PANELS_SUPPORTS ? show_supports : show_displacements)(&s, values);
    pelt_result result = s.result ? pelt_no_memory(error) : pelt_image_png(s.image, png, error);
    pelt_image_free(s.image);
    free(values);
    return result;
}

pelt_result pelt_report_sheet(const pelt_report_page *page, pelt_panels panels, pelt_bytes *png, pelt_error *error) {
    gallery g;
    sheet s = {.page = page};
    if (panels == PELT_PANELS_SUPPORTS || panels == PELT_PANELS_DISPLACEMENTS)
        return draw_study(page, panels, png, error);
    if (panels == PELT_PANELS_CLOUDS) return draw_clouds(page, png, error);
    if (panels == PELT_PANELS_DIFFERENCES && !gallery_pair_count(page))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "differences need 2 to 4 methods, not %zu", page->row_count);
    if (!page->row_count || !(panels == PELT_PANELS_POSES ? page->pose_count : page->picture_count))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "there is no frame to draw");
    pelt_result result = gallery_make(page, true, &g, error);
    if (result) return result;
    if (panels == PELT_PANELS_CLOSEUP && !g.closeups[0].used) {
        gallery_free(&g);
        return pelt_fail(error, PELT_ERROR_DATA,
                         "nothing stands out to show close up: errors are everywhere, or nowhere");
    }
    if (panels == PELT_PANELS_ERRORS) show_errors(&s, &g.frames[0]);
    if (panels == PELT_PANELS_CLOSEUP) show_errors(&s, &g.closeups[0]);
    if (panels == PELT_PANELS_DIFFERENCES) show_differences(&s, &g);
    if (panels == PELT_PANELS_POSES) show_poses(&s, g.poses);
    gallery_free(&g);
    result = s.result ? pelt_no_memory(error) : pelt_image_png(s.image, png, error);
    pelt_image_free(s.image);
    return result;
}
