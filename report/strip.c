/* strip.c: one picture for a page or a README: the truth, then every method's model and where it is wrong. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 12 };

static const float CLAY[3] = {0.52f, 0.42f, 0.36f};

/* Lays an image over white at a place of another one. */
static void paste(pelt_image *to, const pelt_image *from, uint32_t left) {
    for (uint32_t y = 0; y < from->height; y++)
        for (uint32_t x = 0; x < from->width; x++) {
            const uint8_t *source = from->rgba + 4 * ((size_t)y * from->width + x);
            uint8_t *target = to->rgba + 4 * ((size_t)y * to->width + left + x);
            double alpha = source[3] / 255.0;
            for (int i = 0; i < 3; i++) target[i] = (uint8_t)(alpha * source[i] + (1 - alpha) * 255 + 0.5);
        }
}

static pelt_result draw_at(pelt_image *to, const picture *what, const pelt_mesh *mesh, uint32_t left) {
    pelt_image *image = pelt_image_new(what->width, what->height);
    if (!image) return PELT_ERROR_MEMORY;
    pelt_result result = pelt_draw_mesh(image, &what->view, what->positions, what->normals, mesh->vertex_count,
                                        mesh->triangles, mesh->triangle_count, what->heat, CLAY);
    if (!result) paste(to, image, left);
    pelt_image_free(image);
    return result;
}

pelt_result pelt_report_strip(const pelt_report_page *page, size_t index, uint8_t **png, size_t *size,
                              pelt_error *error) {
    gallery pictures = {0};
    if (index >= page->picture_count || !page->row_count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "there is no frame to draw");
    pelt_result result = gallery_make(page, &pictures, error);
    if (result) return result;
    const strip *s = &pictures.frames[index];
    uint32_t width = s->truth.width, panels = 1 + 2 * (uint32_t)page->row_count;
    pelt_image *image = pelt_image_new(panels * (width + GAP) - GAP, s->truth.height);
    if (!image)
        result = PELT_ERROR_MEMORY;
    else
        memset(image->rgba, 255, 4 * (size_t)image->width * image->height);
    if (!result) result = draw_at(image, &s->truth, page->mesh, 0);
    for (uint32_t r = 0; r < page->row_count && !result; r++) {
        result = draw_at(image, &s->models[r], page->mesh, (1 + 2 * r) * (width + GAP));
        if (!result) result = draw_at(image, &s->heats[r], page->mesh, (2 + 2 * r) * (width + GAP));
    }
    if (result)
        pelt_fail(error, result, "the picture cannot be drawn: %s", pelt_result_text(result));
    else
        result = pelt_image_png(image, png, size, error);
    pelt_image_free(image);
    gallery_free(page, &pictures);
    return result;
}
