/* figures.c: sections of pictures: shown frames, where methods differ (Rhee et al. 2006, figure 1), methods side by
   side in many poses (figures 5 and 6), and errors over all frames. All are rows of figures: a caption above one or two
   pictures. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Names --------------------------------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

void put_row_name(text *out, const pelt_report_page *page, size_t row) {
    const pelt_report_row *r = &page->rows[row];
    bool shared = false;
    for (size_t i = 0; i < page->row_count; i++) shared |= i != row && same(page->rows[i].method, r->method);
    text_escape(out, r->method ? r->method : "unnamed");
    if (!shared) return;
    /* Like `pelt compare --methods`: METHOD/BLEND/CORRECTIVE, the last only if it distinguishes two rows. */
    text_format(out, "/%h", r->blend ? r->blend : "–");
    bool same_blend = false;
    for (size_t i = 0; i < page->row_count; i++)
        same_blend |= i != row && same(page->rows[i].method, r->method) && same(page->rows[i].blend, r->blend);
    if (!same_blend) return;
    text_format(out, "/%h", r->corrective ? r->corrective : "–");
}

void put_picture_mark(text *out, size_t index) {
    if (index < 26)
        text_format(out, "%c", 'A' + (int)index);
    else
        text_format(out, "%k", index + 1);
}

/* Mark, clip, number and reason for showing a frame. */
static void put_frame_title(text *out, const pelt_report_page *page, size_t index) {
    const pelt_report_picture *shown = &page->pictures[index];
    text_put(out, "<h3><span class=\"letterbox\">");
    put_picture_mark(out, index);
    text_format(out, "</span>%h, frame %u", shown->clip, shown->frame);
    if (shown->why) text_format(out, " <small>&ndash; %h</small>", shown->why);
    text_put(out, "</h3>\n");
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

static void put_image(text *out, const picture *pic, const char *what) {
    text_format(out, "<img width=\"%u\" height=\"%u\" alt=\"%s\" src=\"data:image/png;base64,", pic->width, pic->height,
                what);
    text_base64(out, pic->png.bytes, pic->png.size);
    text_put(out, "\">");
}

void put_drawing(text *out, pelt_image *image, const char *what) {
    picture pic = {0};
    if (image) pic.width = image->width, pic.height = image->height;
    if (!image || pelt_image_small_png(image, &pic.png, NULL))
        out->failed = true;
    else
        put_image(out, &pic, what);
    free(pic.png.bytes);
    pelt_image_free(image);
}

static void open_row(text *out, const char *kind, size_t columns, double cell) {
    text_format(out, "<div class=\"strip row%s\" style=\"--n:%k;--cell:%.0fpx\">\n", kind, columns, cell);
}

/* The pictures of a figure, below its caption, and its end. */
static void put_pictures(text *out, const picture *above, const char *what, const picture *below,
                         const char *what_below) {
    text_put(out, "</figcaption><div>");
    put_image(out, above, what);
    if (below) {
        text_put(out, "</div><div>");
        put_image(out, below, what_below);
    }
    text_put(out, "</div></figure>\n");
}

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* The colours of errors, along a gradient. */
static void put_ramp(text *out, const char *direction) {
    text_format(out, "<span class=\"ramp\" style=\"background:linear-gradient(%s", direction);
    for (int k = 0; k <= 12; k++) {
        uint8_t c[3];
        pelt_heat_color(k / 12.0, c);
        text_format(out, ",#%02x%02x%02x", c[0], c[1], c[2]);
    }
    text_put(out, ")\"></span>");
}

static void put_scale_tick(text *out, const pelt_report_page *page, double error, bool and_more) {
    text_put(out, and_more && error > 0 ? "<span>&ge;&#8239;" : "<span>");
    text_digits(out, error, 2);
    double size = pelt_scene_diagonal(page->mesh);
    if (size > 0 && error > 0) text_format(out, " = %r", error / size);
    text_put(out, "</span>");
}

/* The colour scale, where an error picture of the truth would be. */
static void put_scale(text *out, const pelt_report_page *page, const strip *s) {
    text_format(out, "<div class=\"scale\" style=\"aspect-ratio:%u/%u\">", s->truth.width, s->truth.height);
    put_ramp(out, "0deg");
    int steps = s->truth.height * 10 < s->truth.width * 6 ? 1 : 4; /* a low picture has no room for more */
    text_put(out, "<span class=\"ticks\">");
    for (int k = steps; k >= 0; k--) put_scale_tick(out, page, s->full_heat * k / steps, k == steps);
    text_put(out, "</span></div>");
}

/* The total error of a model, relative to the size. */
static void put_errors(text *out, const pelt_mesh *mesh, const float *model, const float *truth) {
    double sum = 0, most = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double square = 0;
        for (size_t i = 3 * v; i < 3 * v + 3; i++)
            square += ((double)model[i] - truth[i]) * ((double)model[i] - truth[i]);
        if (isfinite(square)) sum += square, most = fmax(most, square);
    }
    double size = pelt_scene_diagonal(mesh), rms = sqrt(sum / mesh->vertex_count);
    text_format(out, "RMS %p, max %p", size > 0 ? rms / size : NAN, size > 0 ? sqrt(most) / size : NAN);
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

/* `wide` is the strip of the whole character: its width rules, so that the columns of a close-up stand below its own.
 */
static void put_strip(text *out, const pelt_report_page *page, const strip *s, const strip *wide) {
    bool closeup = s != wide;
    open_row(out, closeup ? " brief" : "", page->row_count + 1, floor(fmin(fmax(0.9 * wide->truth.width, 240), 373)));
    text_put(out, "<figure><figcaption><b>truth</b></figcaption><div>");
    put_image(out, &s->truth, "truth");
    text_put(out, "</div>");
    put_scale(out, page, s);
    text_put(out, "</figure>\n");
    for (size_t r = 0; r < page->row_count; r++) {
        if (!s->models[r].png.bytes || !s->heats[r].png.bytes) continue;
        text_put(out, "<figure><figcaption><b>");
        put_row_name(out, page, r);
        text_put(out, "</b>");
        if (!closeup) put_errors(out, page->mesh, s->models[r].look.positions, s->truth.look.positions);
        put_pictures(out, &s->models[r], "model", &s->heats[r], "error of the model");
    }
    text_put(out, "</div>\n");
}

void put_frames(text *out, const pelt_report_page *page, const gallery *g, const char *title, const char *note) {
    if (page->picture_count == 0) return;
    text_format(
        out,
        "<section>\n<h2>%s</h2>\n<p class=\"muted\">%s Above: the mesh. Below: the distance of each vertex from the "
        "truth. All pictures in a row share one camera and one colour scale, which ends at the error that 99&#8239;%% "
        "of the vertices of the median method stay under. RMS and max are relative to the size.</p>\n",
        title, note);
    for (size_t i = 0; i < page->picture_count; i++) {
        if (!g->frames[i].used) continue;
        put_frame_title(out, page, i);
        put_strip(out, page, &g->frames[i], &g->frames[i]);
        if (!g->closeups[i].used) continue;
        text_format(out, "<h4>Close up, around vertex %u</h4>\n", g->closeups[i].worst_vertex);
        put_strip(out, page, &g->closeups[i], &g->frames[i]);
    }
    text_put(out, "</section>\n");
}

/* -- Differences --------------------------------------------------------------------------------------------------- */

static void put_pairs(text *out, const pelt_report_page *page, const strip *s) {
    size_t pairs = gallery_pair_count(page), k = 0;
    open_row(out, " brief", pairs > 1 ? pairs : 2, 373);
    for (size_t a = 0; a < page->row_count; a++)
        for (size_t b = a + 1; b < page->row_count; b++, k++) {
            if (!s->heats[k].png.bytes) continue;
            text_put(out, "<figure><figcaption><b>");
            put_row_name(out, page, a);
            text_put(out, " and ");
            put_row_name(out, page, b);
            text_put(out, "</b>full colour ");
            put_scale_tick(out, page, s->full_heats[k], true);
            put_pictures(out, &s->heats[k], "difference of two methods", NULL, NULL);
        }
    text_put(out, "</div>\n");
}

void put_differences(text *out, const pelt_report_page *page, const gallery *g) {
    if (!gallery_pair_count(page) || !page->picture_count || !g->differences[0].used) return;
    text_put(out, "<section>\n<h2>Where methods differ</h2>\n<p class=\"muted\">The distance of each vertex of the "
                  "second method from that of the first, in the frames above and from the same viewpoint, regardless "
                  "of the truth. Each pair has its own colour scale.</p>\n");
    for (size_t i = 0; i < page->picture_count; i++) {
        if (!g->differences[i].used) continue;
        put_frame_title(out, page, i);
        put_pairs(out, page, &g->differences[i]);
    }
    text_put(out, "</section>\n");
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static void put_pose_row(text *out, const pelt_report_page *page, const gallery *g, size_t row) {
    bool truth = row == page->row_count;
    text_put(out, "<h4>");
    if (truth)
        text_put(out, "truth");
    else
        put_row_name(out, page, row);
    text_put(out, "</h4>\n");
    open_row(out, " brief", page->pose_count, 240);
    for (size_t i = 0; i < page->pose_count; i++) {
        const picture *pic = truth ? &g->poses[i].truth : &g->poses[i].models[row];
        if (!pic->png.bytes) continue;
        text_put(out, "<figure><figcaption>");
        if (truth)
            text_format(out, "%h, frame %u", page->poses[i].clip, page->poses[i].frame);
        else
            put_errors(out, page->mesh, pic->look.positions, page->poses[i].truth);
        put_pictures(out, pic, truth ? "truth" : "model", NULL, NULL);
    }
    text_put(out, "</div>\n");
}

void put_poses(text *out, const pelt_report_page *page, const gallery *g) {
    if (!page->pose_count) return;
    text_put(out, "<section>\n<h2>Poses</h2>\n<p class=\"muted\">Poses spread over the clips, all seen by one camera; "
                  "errors are relative to the size.</p>\n");
    put_pose_row(out, page, g, page->row_count);
    for (size_t r = 0; r < page->row_count; r++) put_pose_row(out, page, g, r);
    text_put(out, "</section>\n");
}

/* -- The rest pose ------------------------------------------------------------------------------------------------- */

void put_rest(text *out, const pelt_report_page *page, const strip sides[REST_SIDES], const char *title,
              const char *what) {
    const picture *front = sides[REST_FRONT].heats, *back = sides[REST_BACK].heats;
    size_t drawn = 0;
    for (size_t r = 0; r < page->row_count; r++) drawn += front[r].png.bytes && back[r].png.bytes;
    if (!drawn) return;
    text_format(out,
                "<section>\n<h2>%s</h2>\n<p class=\"muted\">%s, over all %s frames, on the rest pose, from the front "
                "and from behind. Each method has its own colour scale, up to the error that 99&#8239;%% of the "
                "vertices stay under.</p>\n<div class=\"flat\"><span>0</span>",
                title, what, page->test_count ? "held-out" : "training");
    put_ramp(out, "90deg");
    text_put(out, "<span>given above each picture</span></div>\n");
    open_row(out, " brief rest", drawn, 373);
    for (size_t r = 0; r < page->row_count; r++) {
        if (!front[r].png.bytes || !back[r].png.bytes) continue;
        text_put(out, "<figure><figcaption><b>");
        put_row_name(out, page, r);
        text_put(out, "</b>");
        put_scale_tick(out, page, sides[REST_FRONT].full_heats[r], true);
        put_pictures(out, &front[r], "from the front", &back[r], "from behind");
    }
    text_put(out, "</div>\n</section>\n");
}
