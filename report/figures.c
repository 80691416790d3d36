/* figures.c: sections that show what figures of the papers show: where methods differ (Rhee et al. 2006, figure 1), methods
   side by side in many poses (figures 5 and 6), and frames of key points (Meyer & Anderson 2007, figures 1 and 4). */

#include "report/page.h"
#include <math.h>

static void put_flat_scale(text *out, const pelt_report_page *page, double full) {
    text_put(out, "<div class=\"flat\"><span>0</span>");
    put_ramp(out, "90deg");
    put_scale_tick(out, page, full, true);
    text_put(out, "</div>\n");
}

void put_frame_title(text *out, const pelt_report_page *page, size_t index) {
    const pelt_report_picture *shown = &page->pictures[index];
    text_put(out, "<h3><span class=\"letterbox\">");
    put_picture_mark(out, index);
    text_put(out, "</span>");
    text_escape(out, shown->clip);
    text_format(out, ", frame %u", shown->frame);
    if (shown->why) {
        text_put(out, " <small>&ndash; ");
        text_escape(out, shown->why);
        text_put(out, "</small>");
    }
    text_put(out, "</h3>\n");
}

/* -- Differences --------------------------------------------------------------------------------------------------- */

static void put_pairs(text *out, const pelt_report_page *page, const strip *s) {
    size_t pairs = gallery_pair_count(page), k = 0;
    text_format(out, "<div class=\"strip row brief\" style=\"--n:%zu;--cell:373px\">\n", pairs > 1 ? pairs : 2);
    for (size_t a = 0; a < page->row_count; a++)
        for (size_t b = a + 1; b < page->row_count; b++, k++) {
            if (!s->heats[k].png.bytes) continue;
            text_put(out, "<figure><figcaption><b>");
            put_row_name(out, page, a);
            text_put(out, " and ");
            put_row_name(out, page, b);
            text_put(out, "</b>full colour ");
            put_scale_tick(out, page, s->full_heats[k], true);
            text_put(out, "</figcaption><div>");
            put_image(out, &s->heats[k], "difference of two methods");
            text_put(out, "</div></figure>\n");
        }
    text_put(out, "</div>\n");
}

void put_differences(text *out, const pelt_report_page *page, const gallery *g) {
    if (!gallery_pair_count(page) || !page->picture_count || !g->differences[0].used) return;
    text_put(out,
             "<section>\n<h2>Where methods differ</h2>\n<p class=\"muted\">How far each vertex of the second method is "
             "from that of the first, in the frames above and from the same place. Truth has no part in it. Each pair "
             "has a colour "
             "scale of its own.</p>\n");
    for (size_t i = 0; i < page->picture_count; i++) {
        if (!g->differences[i].used) continue;
        put_frame_title(out, page, i);
        put_pairs(out, page, &g->differences[i]);
    }
    text_put(out, "</section>\n");
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static double pose_rms(const pelt_report_page *page, const float *model, const float *truth) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)page->mesh->vertex_count; i++)
        sum += ((double)model[i] - truth[i]) * ((double)model[i] - truth[i]);
    return sqrt(sum / page->mesh->vertex_count);
}

static void put_pose_row(text *out, const pelt_report_page *page, const gallery *g, size_t row) {
    bool truth = row == page->row_count;
    text_put(out, "<h4>");
    if (truth)
        text_put(out, "truth");
    else
        put_row_name(out, page, row);
    text_format(out, "</h4>\n<div class=\"strip row brief\" style=\"--n:%zu;--cell:240px\">\n", page->pose_count);
    for (size_t i = 0; i < page->pose_count; i++) {
        const picture *pic = truth ? &g->poses[i].truth : &g->poses[i].models[row];
        if (!pic->png.bytes) continue;
        text_put(out, "<figure><figcaption>");
        if (truth) {
            text_escape(out, page->poses[i].clip);
            text_format(out, ", frame %u", page->poses[i].frame);
        } else {
            double rms = pose_rms(page, pic->positions, page->poses[i].truth);
            text_put(out, "RMS ");
            text_percent(out, page->mesh->diagonal > 0 ? rms / page->mesh->diagonal : NAN);
        }
        text_put(out, "</figcaption><div>");
        put_image(out, pic, truth ? "truth" : "model");
        text_put(out, "</div></figure>\n");
    }
    text_put(out, "</div>\n");
}

void put_poses(text *out, const pelt_report_page *page, const gallery *g) {
    if (!page->pose_count) return;
    text_put(
        out,
        "<section>\n<h2>Poses</h2>\n<p class=\"muted\">Spread over the clips, all by one camera; errors in parts of "
        "the diagonal.</p>\n");
    put_pose_row(out, page, g, page->row_count);
    for (size_t r = 0; r < page->row_count; r++) put_pose_row(out, page, g, r);
    text_put(out, "</section>\n");
}

/* -- Faces --------------------------------------------------------------------------------------------------------- */

/* A picture with its name and errors above it; close up without. */
static void put_cell(text *out, const char *name, const picture *pic, double rms, double most, bool closeup) {
    text_put(out, "<figure>");
    if (!closeup) text_format(out, "<figcaption><b>%s</b>", name);
    if (!closeup && most >= 0) {
        text_put(out, "RMS ");
        text_percent(out, rms);
        text_put(out, ", max ");
        text_percent(out, most);
    }
    text_put(out, closeup ? "<div>" : "</figcaption><div>");
    put_image(out, pic, name);
    text_put(out, "</div></figure>\n");
}

static void put_face(text *out, const pelt_report_page *page, const strip *s, bool closeup) {
    double diagonal = page->mesh->diagonal > 0 ? page->mesh->diagonal : 1;
    uint32_t n = page->mesh->vertex_count;
    text_format(out, "<div class=\"strip row brief\" style=\"--n:%zu;--cell:260px%s\">\n", 1 + 2 * page->row_count,
                closeup ? ";margin-top:12px" : "");
    put_cell(out, "truth", &s->truth, 0, -1, closeup);
    for (size_t r = 0; r < page->row_count; r++) {
        if (!s->models[r].png.bytes || !s->heats[r].png.bytes) continue;
        double sum = 0, most = 0;
        for (size_t v = 0; v < n; v++) {
            double heat = s->heats[r].heat[v];
            sum += heat * heat, most = fmax(most, heat);
        }
        put_cell(out, page->rows[r].method, &s->models[r], 0, -1, closeup);
        put_cell(out, "error", &s->heats[r], s->full_heat * sqrt(sum / n) / diagonal, s->full_heat * most / diagonal,
                 closeup);
    }
    text_put(out, "</div>\n");
}

void put_faces(text *out, const pelt_report_page *page, const gallery *g) {
    text_put(out,
             "<section>\n<h2>Frames</h2>\n<p class=\"muted\">All pictures of a frame have one camera and one colour "
             "scale. What the keys alone get wrong the soft cache should notice and compute.</p>\n");
    for (size_t i = 0; i < page->picture_count; i++) {
        if (!g->frames[i].used) continue;
        put_frame_title(out, page, i);
        put_flat_scale(out, page, g->frames[i].full_heat);
        put_face(out, page, &g->frames[i], false);
        if (g->closeups[i].used) put_face(out, page, &g->closeups[i], true);
    }
    text_put(out, "</section>\n");
}
