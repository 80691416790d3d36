/* strip.c: one picture for a page or a README: the truth, then every method's model and where it is wrong; or where methods
   differ; or poses. Of errors, up to two methods stand in one row; more of them in several, each with its error below it. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 12, IN_ONE_ROW = 2, COLUMNS = 4 };

/* Panels are numbered along the picture: 0 is the truth, then come model and error of each method. */
typedef struct layout {
    uint32_t columns, rows, width, height; /* of a panel */
    bool stacked;
} layout;

static layout layout_of(const strip *s, size_t methods) {
    layout l = {1 + 2 * (uint32_t)methods, 1, s->truth.width, s->truth.height, methods > IN_ONE_ROW};
    if (!l.stacked) return l;
    l.columns = methods + 1 < COLUMNS ? (uint32_t)methods + 1 : COLUMNS;
    l.rows = 2 * (((uint32_t)methods + l.columns) / l.columns);
    return l;
}

static void panel_place(const layout *l, uint32_t panel, uint32_t *left, uint32_t *top) {
    uint32_t cell = (panel + 1) / 2, below = panel && panel % 2 == 0;
    uint32_t column = l->stacked ? cell % l->columns : panel, row = l->stacked ? 2 * (cell / l->columns) + below : 0;
    *left = column * (l->width + GAP), *top = row * (l->height + GAP);
}

/* The picture stands alone, without a scale beside it: full colour is the largest error in it. */
static void use_whole_scale(const strip *s, size_t methods, uint32_t vertices) {
    double most = 0;
    for (size_t r = 0; r < methods; r++)
        for (uint32_t v = 0; s->heats[r].heat && v < vertices; v++) most = fmax(most, s->heats[r].heat[v]);
    for (size_t r = 0; r < methods && most > 0; r++)
        for (uint32_t v = 0; s->heats[r].heat && v < vertices; v++)
            s->heats[r].heat[v] = (float)(s->heats[r].heat[v] / most);
}

static pelt_result draw_at(pelt_image *to, uint32_t left, uint32_t top, const picture *what, const pelt_mesh *mesh) {
    pelt_image *image = pelt_image_new(what->width, what->height);
    if (!image) return PELT_ERROR_MEMORY;
    pelt_result result =
        pelt_draw_mesh(image, &what->view, mesh, &(pelt_look){what->positions, what->normals, what->heat});
    if (!result) pelt_image_paste(to, image, left, top);
    pelt_image_free(image);
    return result;
}

static pelt_result draw_panel(pelt_image *to, const layout *l, uint32_t panel, const picture *what,
                              const pelt_mesh *mesh) {
    uint32_t left, top;
    panel_place(l, panel, &left, &top);
    return draw_at(to, left, top, what, mesh);
}

/* White, with room for so many panels. */
static pelt_image *sheet(uint32_t columns, uint32_t rows, uint32_t width, uint32_t height) {
    pelt_image *image = pelt_image_new(columns * (width + GAP) - GAP, rows * (height + GAP) - GAP);
    if (image) memset(image->rgba, 255, 4 * (size_t)image->width * image->height);
    return image;
}

static pelt_result finish(pelt_image *image, pelt_result result, pelt_bytes *png, pelt_error *error) {
    if (result)
        pelt_fail(error, result, "the picture cannot be drawn: %s", pelt_result_text(result));
    else
        result = pelt_image_png(image, png, error);
    pelt_image_free(image);
    return result;
}

pelt_result pelt_report_strip(const pelt_report_page *page, size_t index, pelt_bytes *png, pelt_error *error) {
    gallery pictures = {0};
    if (index >= page->picture_count || !page->row_count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "there is no frame to draw");
    pelt_result result = gallery_make(page, &pictures, error);
    if (result) return result;
    const strip *s = &pictures.frames[index];
    layout l = layout_of(s, page->row_count);
    use_whole_scale(s, page->row_count, page->mesh->vertex_count);
    pelt_image *image = sheet(l.columns, l.rows, l.width, l.height);
    if (!image) result = PELT_ERROR_MEMORY;
    if (!result) result = draw_panel(image, &l, 0, &s->truth, page->mesh);
    for (uint32_t r = 0; r < page->row_count && !result; r++) {
        result = draw_panel(image, &l, 1 + 2 * r, &s->models[r], page->mesh);
        if (!result) result = draw_panel(image, &l, 2 + 2 * r, &s->heats[r], page->mesh);
    }
    result = finish(image, result, png, error);
    gallery_free(page, &pictures);
    return result;
}

pelt_result pelt_report_differences(const pelt_report_page *page, size_t index, pelt_bytes *png, pelt_error *error) {
    gallery pictures = {0};
    size_t pairs = gallery_pair_count(page);
    if (index >= page->picture_count || !pairs)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "differences are drawn of 2 to 4 methods, not of %zu",
                         page->row_count);
    pelt_result result = gallery_make(page, &pictures, error);
    if (result) return result;
    const strip *models = &pictures.frames[index], *apart = &pictures.differences[index];
    uint32_t width = models->truth.width, height = models->truth.height;
    size_t columns = pairs > page->row_count ? pairs : page->row_count;
    pelt_image *image = sheet((uint32_t)columns, 2, width, height);
    if (!image) result = PELT_ERROR_MEMORY;
    for (uint32_t r = 0; r < page->row_count && !result; r++)
        result = draw_at(image, r * (width + GAP), 0, &models->models[r], page->mesh);
    for (uint32_t k = 0; k < pairs && !result; k++)
        result = draw_at(image, k * (width + GAP), height + GAP, &apart->heats[k], page->mesh);
    result = finish(image, result, png, error);
    gallery_free(page, &pictures);
    return result;
}

pelt_result pelt_report_poses(const pelt_report_page *page, pelt_bytes *png, pelt_error *error) {
    gallery pictures = {0};
    if (!page->pose_count) return pelt_fail(error, PELT_ERROR_ARGUMENT, "there is no pose to draw");
    pelt_result result = gallery_make(page, &pictures, error);
    if (result) return result;
    uint32_t across = pictures.poses[0].truth.width + GAP, down = pictures.poses[0].truth.height + GAP;
    pelt_image *image = sheet((uint32_t)page->pose_count, (uint32_t)page->row_count + 1, across - GAP, down - GAP);
    if (!image) result = PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < page->pose_count && !result; i++) {
        const strip *s = &pictures.poses[i];
        result = draw_at(image, i * across, 0, &s->truth, page->mesh);
        for (uint32_t r = 0; r < page->row_count && !result; r++)
            if (s->models[r].positions) result = draw_at(image, i * across, (r + 1) * down, &s->models[r], page->mesh);
    }
    result = finish(image, result, png, error);
    gallery_free(page, &pictures);
    return result;
}
