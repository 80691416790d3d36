/* keys_page.c: the page of `pelt keys measure`: the keys on the mesh, frames in truth, from the keys alone and with the
   soft cache (Meyer & Anderson, figures 1 and 4), error against number of keys, and along the clip the error, the misfit,
   and which frames were trusted. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1144, LEFT = 64, RIGHT = 16, PANEL = 170, MOST_COLUMNS = 1000, PICTURE = 560 };

/* -- The keys on the mesh ------------------------------------------------------------------------------------------ */

static void dot(pelt_image *image, const double at[2], double radius, const uint8_t rgb[3]) {
    for (int y = (int)(at[1] - radius) - 1; y <= at[1] + radius + 1; y++)
        for (int x = (int)(at[0] - radius) - 1; x <= at[0] + radius + 1; x++) {
            if (x < 0 || y < 0 || x >= (int)image->width || y >= (int)image->height) continue;
            double cover = radius + 0.5 - hypot(x + 0.5 - at[0], y + 0.5 - at[1]);
            uint8_t *pixel = image->rgba + 4 * ((size_t)y * image->width + (size_t)x);
            cover = fmin(fmax(cover, 0), 1);
            for (int i = 0; i < 3; i++) pixel[i] = (uint8_t)(cover * rgb[i] + (1 - cover) * pixel[i] + 0.5);
            pixel[3] = (uint8_t)fmax(pixel[3], 255 * cover);
        }
}

static pelt_result draw_keys(const pelt_keys_page *page, double azimuth, pelt_bytes *png, pelt_error *error) {
    static const uint8_t white[3] = {255, 255, 255}, ink[3] = {24, 84, 160};
    const pelt_mesh *mesh = page->mesh;
    pelt_view view = pelt_view_fit(mesh->positions, mesh->vertex_count, azimuth, 5);
    pelt_image *image = pelt_image_new(PICTURE, PICTURE);
    if (!image) return pelt_no_memory(error);
    pelt_result result = pelt_draw_mesh(image, &view, mesh, &(pelt_look){0});
    double turn = azimuth * M_PI / 180, towards[3] = {sin(turn), 0, cos(turn)};
    for (uint32_t k = 0; !result && k < page->keys->key_count; k++) {
        if (page->keys->key_points[k] >= mesh->vertex_count) continue;
        const float *n = mesh->normals + 3 * (size_t)page->keys->key_points[k];
        double at[2], facing = n[0] * towards[0] + n[1] * towards[1] + n[2] * towards[2];
        if (facing < 0.05) continue; /* on the other side */
        if (!pelt_view_project(&view, PICTURE, PICTURE, mesh->positions + 3 * (size_t)page->keys->key_points[k], at))
            continue;
        dot(image, at, 4.5, white);
        dot(image, at, 3.2, ink);
    }
    if (result)
        pelt_fail(error, result, "the mesh cannot be drawn: %s", pelt_result_text(result));
    else
        result = pelt_image_png(image, png, error);
    pelt_image_free(image);
    return result;
}

static pelt_result put_pictures(text *out, const pelt_keys_page *page, pelt_error *error) {
    static const double angles[] = {0, 40, -75};
    if (!page->mesh || !page->mesh->triangle_count) return PELT_OK;
    text_put(out, "<section>\n<h2>The keys</h2>\n<div class=\"strip brief\" style=\"--cell:360px\">\n");
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        pelt_bytes png;
        pelt_result result = draw_keys(page, angles[i], &png, error);
        if (result) return result;
        text_format(out,
                    "<figure><div><img width=\"%d\" height=\"%d\" alt=\"keys on the mesh\" src=\"data:image/png;"
                    "base64,",
                    PICTURE, PICTURE);
        text_base64(out, png.bytes, png.size);
        text_put(out, "\"></div></figure>\n");
        free(png.bytes);
    }
    text_put(out, "</div>\n</section>\n");
    return PELT_OK;
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

/* The two ways of a frame are shown as two methods are. */
static pelt_result put_shown(text *out, const pelt_keys_page *keys, pelt_error *error) {
    gallery g;
    pelt_report_row rows[] = {
        {.method = "keys alone", .blend = "", .corrective = "", .frame_positions = keys->keys_alone},
        {.method = "soft cache", .blend = "", .corrective = "", .frame_positions = keys->soft_cache}};
    pelt_report_page page = {.bundle = keys->name,
                             .mesh = keys->mesh,
                             .row_count = 2,
                             .rows = rows,
                             .picture_count = keys->picture_count,
                             .pictures = keys->pictures,
                             .threads = keys->threads};
    if (!keys->mesh || !keys->mesh->triangle_count || !keys->picture_count) return PELT_OK;
    pelt_result result = gallery_make(&page, &g, error);
    if (result) return result;
    put_faces(out, &page, &g);
    gallery_free(&page, &g);
    return PELT_OK;
}

/* -- Plots --------------------------------------------------------------------------------------------------------- */

static double nice_top(double most) {
    double power = pow(10, floor(log10(fmax(most, 1e-12))));
    for (double step = 1; step <= 10; step += step < 2 ? 0.5 : 1)
        if (step * power >= most) return step * power;
    return 10 * power;
}

static void put_axis(text *out, double bottom, double top_value, const char *title, bool percent) {
    text_format(out, "<text class=\"head\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT, bottom - PANEL - 10, title);
    for (int k = 0; k <= 4; k++) {
        double y = bottom - PANEL * k / 4.0, value = top_value * k / 4;
        text_format(out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", k ? "grid" : "base", LEFT,
                    WIDTH - RIGHT, y, y);
        text_format(out, "<text class=\"tick end\" x=\"%d\" y=\"%.1f\">%.3g%s</text>\n", LEFT - 8, y + 4,
                    percent ? 100 * value : value, percent ? "%" : "");
    }
}

static void put_curve(text *out, const pelt_keys *keys) {
    double most = 0, bottom = PANEL + 34;
    for (uint32_t i = 0; i < keys->curve_count; i++) most = fmax(most, keys->curve[i].error);
    if (!(most > 0)) return;
    double top = nice_top(most), full = 1.05 * keys->curve[keys->curve_count - 1].keys;
    text_format(out,
                "<section>\n<h2>Error against number of keys</h2>\n<div class=\"scroll\"><svg class=\"plot\" "
                "viewBox=\"0 0 %d %.0f\" role=\"img\">\n",
                WIDTH, bottom + 40);
    put_axis(out, bottom, top, "99.5% of the frames, left out shot by shot, have their largest error under", true);
    text_put(out, "<path class=\"line m0\" d=\"");
    for (uint32_t i = 0; i < keys->curve_count; i++)
        text_format(out, "%s%.1f %.1f", i ? "L" : "M", LEFT + (WIDTH - LEFT - RIGHT) * keys->curve[i].keys / full,
                    bottom - PANEL * keys->curve[i].error / top);
    text_put(out, "\"/>\n");
    for (uint32_t i = 0; i < keys->curve_count; i++)
        text_format(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%u</text>\n",
                    LEFT + (WIDTH - LEFT - RIGHT) * keys->curve[i].keys / full, bottom + 18, keys->curve[i].keys);
    text_put(out, "</svg></div>\n</section>\n");
}

typedef float frame_value(const pelt_keys_frame *frame);
static float value_error(const pelt_keys_frame *f) { return f->error; }
static float value_final(const pelt_keys_frame *f) { return f->final; }
static float value_e(const pelt_keys_frame *f) { return f->e; }

/* Long clips are drawn by the largest value of neighbouring frames. */
static void put_line(text *out, const pelt_keys_page *page, frame_value *value, double bottom, double top,
                     const char *style) {
    uint32_t stride = (page->measure->frame_count + MOST_COLUMNS - 1) / MOST_COLUMNS;
    text_format(out, "<path class=\"line %s\" d=\"", style);
    for (uint32_t f = 0; f < page->measure->frame_count; f += stride) {
        double most = 0;
        for (uint32_t k = f; k < page->measure->frame_count && k < f + stride; k++)
            most = fmax(most, value(&page->measure->frames[k]));
        text_format(out, "%s%.1f %.1f", f ? "L" : "M",
                    LEFT + (WIDTH - LEFT - RIGHT) * (f + 0.5) / page->measure->frame_count,
                    bottom - PANEL * fmin(isfinite(most) ? most / top : 1.1, 1.1));
    }
    text_put(out, "\"/>\n");
}

static void put_verdicts(text *out, const pelt_keys_page *page, double y) {
    double width = (double)(WIDTH - LEFT - RIGHT) / page->measure->frame_count;
    for (uint32_t f = 0, end; f < page->measure->frame_count; f = end) {
        bool hit = page->measure->frames[f].verdict == PELT_CACHE_HIT;
        for (end = f + 1;
             end < page->measure->frame_count && (page->measure->frames[end].verdict == PELT_CACHE_HIT) == hit;)
            end++;
        if (hit) continue;
        text_format(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"12\" fill=\"#c2452d\"/>\n",
                    LEFT + f * width, y, fmax(1, (end - f) * width));
    }
    text_format(out,
                "<text class=\"tick\" x=\"%d\" y=\"%.1f\">red: computed in full; elsewhere the keys were "
                "trusted</text>\n",
                LEFT, y + 28);
}

static void put_clip(text *out, const pelt_keys_page *page) {
    double most = page->bar, e = 1.5, first = PANEL + 34, second = first + PANEL + 60;
    for (uint32_t f = 0; f < page->measure->frame_count; f++) most = fmax(most, page->measure->frames[f].error);
    double top = nice_top(most), e_top = nice_top(2 * e);
    text_format(out,
                "<section>\n<h2>Along the clip</h2>\n<div class=\"scroll\"><svg class=\"plot\" viewBox=\"0 0 %d "
                "%.0f\" role=\"img\">\n",
                WIDTH, second + 60);
    put_axis(out, first, top, "Largest error of a point: keys alone (first colour), with the soft cache (second)",
             true);
    put_line(out, page, value_error, first, top, "m0");
    put_line(out, page, value_final, first, top, "m1");
    text_format(out, "<line class=\"mark\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
                first - PANEL * page->bar / top, first - PANEL * page->bar / top);
    put_axis(out, second, e_top, "Misfit at the keys; 1 is the bound", false);
    put_line(out, page, value_e, second, e_top, "m2");
    put_verdicts(out, page, second + 10);
    text_put(out, "</svg></div>\n</section>\n");
}

/* -- The page ------------------------------------------------------------------------------------------------------ */

static void put_opening(text *out, const pelt_keys_page *page) {
    text_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n<title>Key points</title>\n<style>\n");
    text_put(out, page_style);
    text_put(out, "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>Key points: ");
    text_escape(out, page->name);
    text_put(out, "</h1>\n<p class=\"lead\">");
    text_format(out, "%u of ", page->keys->key_count);
    text_count(out, page->keys->point_count);
    text_put(out, " points are computed, and in 99.5&#8239;% of the frames no point is wrong by more than <b>");
    text_rough_percent(out, page->measure->p995);
    text_put(out, "</b> of the diagonal. The soft cache trusts <b>");
    text_rough_percent(out, page->measure->hit_rate);
    text_put(out, "</b> of the frames; then <b>");
    text_percent(out, page->measure->final_under_bar);
    text_put(out, "</b> are under ");
    text_rough_percent(out, page->bar);
    text_put(out, ".</p>\n<p class=\"facts\">");
    text_format(out, "%u basis vectors &middot; ", page->keys->basis_count);
    text_count(out, page->measure->frame_count);
    text_format(out, " frames &middot; %.2f times faster", page->measure->speedup);
    if (page->measure->point_cost > 0)
        text_format(out, " at %.3g microseconds a point", 1e6 * page->measure->point_cost);
    text_put(out, "</p>\n</header>\n");
}

pelt_result pelt_keys_page_html(const pelt_keys_page *page, pelt_bytes *html, pelt_error *error) {
    text out = {0};
    put_opening(&out, page);
    pelt_result result = put_pictures(&out, page, error);
    if (!result) result = put_shown(&out, page, error);
    if (page->keys->curve_count > 1) put_curve(&out, page->keys);
    if (page->measure->frame_count) put_clip(&out, page);
    text_put(&out, "</main>\n</body>\n</html>\n");
    if (!result && out.failed) result = pelt_no_memory(error);
    if (result) {
        free(out.bytes);
        return result;
    }
    *html = (pelt_bytes){out.bytes, out.size};
    return PELT_OK;
}
