/* keys_page.c: the page of `pelt keys measure`: the keys on the mesh, true frames next to those from the keys alone and
   with the soft cache (Meyer & Anderson, figures 1 and 4), error against number of keys, and along the clip the error,
   the misfit, and the trusted frames. */

#include "report/page.h"
#include <math.h>

enum {
    PICTURE = 560,
    SIDES = 3,
    MOST_COLUMNS = 1000,
    FIRST = 44 + PLOT_PANEL,
    ACROSS = PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT
};

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

static const double sides[SIDES] = {0, 40, -75}; /* degrees */

static pelt_image *draw_keys(const pelt_keys *keys, const pelt_mesh *mesh, double azimuth) {
    static const uint8_t white[3] = {255, 255, 255}, ink[3] = {24, 84, 160};
    picture pic = {PICTURE, PICTURE, pelt_view_fit(mesh->positions, mesh->vertex_count, azimuth, 5), {0}, {0}};
    pelt_image *image = picture_draw(&pic, mesh);
    double turn = azimuth * M_PI / 180, towards[3] = {sin(turn), 0, cos(turn)};
    for (uint32_t k = 0; image && k < keys->key_count; k++) {
        size_t v = keys->key_points[k];
        if (v >= mesh->vertex_count) continue;
        const float *n = mesh->normals + 3 * v;
        double at[2], facing = n[0] * towards[0] + n[1] * towards[1] + n[2] * towards[2];
        if (facing < 0.05) continue; /* facing away */
        if (!pelt_view_project(&pic.view, PICTURE, PICTURE, mesh->positions + 3 * v, at)) continue;
        dot(image, at, 4.5, white);
        dot(image, at, 3.2, ink);
    }
    return image;
}

pelt_result pelt_keys_picture(const pelt_keys *keys, const pelt_mesh *mesh, pelt_bytes *png, pelt_error *error) {
    pelt_image *all = pelt_image_new(SIDES * PICTURE, PICTURE);
    for (uint32_t i = 0; all && i < SIDES; i++) {
        pelt_image *one = draw_keys(keys, mesh, sides[i]);
        if (one) {
            pelt_image_paste(all, one, i * PICTURE, 0);
        } else {
            pelt_image_free(all);
            all = NULL;
        }
        pelt_image_free(one);
    }
    if (!all) return pelt_no_memory(error);
    pelt_result result = pelt_image_small_png(all, png, error);
    pelt_image_free(all);
    return result;
}

/* The keys, and frames: keys alone and soft cache are shown like two methods. */
static pelt_result put_meshes(text *out, const pelt_keys_page *keys, pelt_error *error) {
    gallery g;
    pelt_report_row rows[] = {{.method = "keys alone", .frame_positions = keys->keys_alone},
                              {.method = "soft cache", .frame_positions = keys->soft_cache}};
    pelt_report_page page = {.bundle = keys->name,
                             .mesh = keys->mesh,
                             .row_count = 2,
                             .rows = rows,
                             .picture_count = keys->picture_count,
                             .pictures = keys->pictures,
                             .threads = keys->threads};
    if (!keys->mesh || !keys->mesh->triangle_count) return PELT_OK;
    pelt_result result = gallery_make(&page, false, &g, error);
    if (result) return result;
    text_put(out, "<section>\n<h2>The keys</h2>\n<div class=\"strip brief\" style=\"--cell:360px\">\n");
    for (size_t i = 0; i < SIDES; i++) {
        text_put(out, "<figure><div>");
        put_drawing(out, draw_keys(keys->keys, keys->mesh, sides[i]), "keys on the mesh");
        text_put(out, "</div></figure>\n");
    }
    text_put(out, "</div>\n</section>\n");
    put_frames(out, &page, &g, "Frames",
               "Where the keys alone are wrong, the soft cache should notice and compute the frame.");
    gallery_free(&g);
    return PELT_OK;
}

/* -- Plots --------------------------------------------------------------------------------------------------------- */

static void put_curve(text *out, const pelt_keys *keys) {
    double most = 0, full = 1.05 * keys->curve[keys->curve_count - 1].keys;
    bool pen_down = false;
    for (uint32_t i = 0; i < keys->curve_count; i++) most = fmax(most, 100 * keys->curve[i].error);
    axis left = axis_up_to(FIRST, most);
    text_put(out, "<section>\n<h2>Error against number of keys</h2>\n");
    plot_open(out, FIRST + 40, "Error against number of keys");
    put_axis(out, &left, "The largest error of 99.5% of the frames, held out shot by shot, % of the diagonal");
    line_open(out, 0);
    for (uint32_t i = 0; i < keys->curve_count; i++)
        line_to(out, &pen_down, PLOT_LEFT + ACROSS * keys->curve[i].keys / full,
                axis_y(&left, 100 * keys->curve[i].error));
    text_put(out, "\"/>\n");
    for (uint32_t i = 0; i < keys->curve_count; i++)
        text_format(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%d\">%u</text>\n",
                    PLOT_LEFT + ACROSS * keys->curve[i].keys / full, FIRST + 18, keys->curve[i].keys);
    plot_close(out);
    text_put(out, "</section>\n");
}

typedef double frame_value(const pelt_keys_frame *frame);
static double value_error(const pelt_keys_frame *f) { return 100 * f->error; }
static double value_final(const pelt_keys_frame *f) { return 100 * f->final; }
static double value_e(const pelt_keys_frame *f) { return f->e; }

/* Long clips are drawn by the largest value of neighbouring frames; values beyond the plot are clipped to its top. */
static void put_line(text *out, const pelt_keys_measure *m, frame_value *value, const axis *left, size_t number) {
    uint32_t stride = (m->frame_count + MOST_COLUMNS - 1) / MOST_COLUMNS;
    bool pen_down = false;
    line_open(out, number);
    for (uint32_t f = 0; f < m->frame_count; f += stride) {
        double most = 0;
        for (uint32_t k = f; k < m->frame_count && k < f + stride; k++) most = fmax(most, value(&m->frames[k]));
        line_to(out, &pen_down, PLOT_LEFT + ACROSS * (f + 0.5) / m->frame_count,
                axis_y(left, fmin(most, 1.1 * left->top)));
    }
    text_put(out, "\"/>\n");
}

static void put_verdicts(text *out, const pelt_keys_measure *m, double y) {
    double width = (double)ACROSS / m->frame_count;
    for (uint32_t f = 0, end; f < m->frame_count; f = end) {
        bool hit = m->frames[f].verdict == PELT_CACHE_HIT;
        for (end = f + 1; end < m->frame_count && (m->frames[end].verdict == PELT_CACHE_HIT) == hit;) end++;
        if (hit) continue;
        text_format(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"12\" fill=\"#c2452d\"/>\n",
                    PLOT_LEFT + f * width, y, fmax(1, (end - f) * width));
    }
    text_format(
        out, "<text class=\"tick\" x=\"%d\" y=\"%.1f\">red: computed in full; otherwise the keys were trusted</text>\n",
        PLOT_LEFT, y + 28);
}

static void put_clip(text *out, const pelt_keys_page *page) {
    const pelt_keys_measure *m = page->measure;
    double most = page->bar;
    for (uint32_t f = 0; f < m->frame_count; f++) most = fmax(most, m->frames[f].error);
    axis errors = axis_up_to(FIRST, 100 * most), misfit = axis_up_to(FIRST + PLOT_PANEL + 60, 3);
    double bar = axis_y(&errors, 100 * page->bar);
    text_put(out, "<section>\n<h2>Along the clip</h2>\n<ul class=\"legend\">");
    put_legend_key(out, 0);
    text_put(out, "keys alone</li>");
    put_legend_key(out, 1);
    text_put(out, "with the soft cache</li></ul>\n");
    plot_open(out, misfit.ground + 60, "Errors and misfit along the clip");
    put_axis(out, &errors, "Largest error of a point, % of the diagonal");
    put_line(out, m, value_error, &errors, 0);
    put_line(out, m, value_final, &errors, 1);
    text_format(out, "<line class=\"mark\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", PLOT_LEFT,
                PLOT_WIDTH - PLOT_RIGHT, bar, bar);
    put_axis(out, &misfit, "Misfit at the keys; 1 is the bound");
    put_line(out, m, value_e, &misfit, 2);
    put_verdicts(out, m, misfit.ground + 10);
    plot_close(out);
    text_put(out, "</section>\n");
}

/* -- The page ------------------------------------------------------------------------------------------------------ */

static void put_opening(text *out, const pelt_keys_page *page) {
    page_open(out, "Key points: ", page->name);
    text_format(out,
                "<p class=\"lead\">%u of %k points are computed, and in 99.5&#8239;%% of the frames no point is off by "
                "more than <b>%r</b> of the diagonal. The soft cache trusts <b>%r</b> of the frames; with it, "
                "<b>%p</b> are under %r.</p>\n<p class=\"facts\">%u basis vectors &middot; %k frames",
                page->keys->key_count, (size_t)page->keys->point_count, page->measure->p995, page->measure->hit_rate,
                page->measure->final_under_bar, page->bar, page->keys->basis_count, (size_t)page->measure->frame_count);
    if (page->measure->speedup > 0)
        text_format(out, " &middot; %.2f times faster at %.3g microseconds a point", page->measure->speedup,
                    1e6 * page->measure->point_cost);
    text_put(out, "</p>\n</header>\n");
}

pelt_result pelt_keys_page_html(const pelt_keys_page *page, pelt_bytes *html, pelt_error *error) {
    text out = {0};
    put_opening(&out, page);
    pelt_result result = put_meshes(&out, page, error);
    if (page->keys->curve_count > 1) put_curve(&out, page->keys);
    if (page->measure->frame_count) put_clip(&out, page);
    return page_close(&out, result, html, error);
}
