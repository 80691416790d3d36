/* html.c: the report page of `pelt compare`: the answer in a sentence, the table, the plot, the pictures, and how it
   was made. One HTML file without scripts or outside resources. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Measures and names -------------------------------------------------------------------------------------------- */

const pelt_measure *row_measure(const pelt_report_page *page, size_t row) {
    return page->test_count ? page->rows[row].test_all : page->rows[row].train;
}

static bool same(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

void put_row_name(text *out, const pelt_report_page *page, size_t row) {
    const pelt_report_row *r = &page->rows[row];
    bool shared = false;
    for (size_t i = 0; i < page->row_count; i++) shared |= i != row && same(page->rows[i].method, r->method);
    text_escape(out, r->method ? r->method : "unnamed");
    if (!shared) return;
    /* As `pelt compare --methods` has it: METHOD/BLEND/CORRECTIVE, the last only where it sets two rows apart. */
    text_put(out, "/");
    text_escape(out, r->blend ? r->blend : "–");
    bool same_blend = false;
    for (size_t i = 0; i < page->row_count; i++)
        same_blend |= i != row && same(page->rows[i].method, r->method) && same(page->rows[i].blend, r->blend);
    if (!same_blend) return;
    text_put(out, "/");
    text_escape(out, r->corrective ? r->corrective : "–");
}

void put_picture_mark(text *out, size_t index) {
    if (index < 26)
        text_format(out, "%c", 'A' + (int)index);
    else
        text_format(out, "%zu", index + 1);
}

/* The row with the smallest error, or row_count when none was measured. */
static size_t best_row(const pelt_report_page *page) {
    size_t best = page->row_count;
    for (size_t r = 0; r < page->row_count; r++) {
        const pelt_measure *m = row_measure(page, r);
        if (m && isfinite(m->rms) && (best == page->row_count || m->rms < row_measure(page, best)->rms)) best = r;
    }
    return best;
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

static void put_baseline(text *out, const pelt_measure *m) {
    if (!isfinite(m->rel_err) || m->rel_err <= 0) return;
    if (fabs(m->rel_err - 1) < 0.005) {
        text_put(out, " That is as wrong as plain blending with the file's own weights.");
        return;
    }
    text_put(out, " That is ");
    if (m->rel_err < 1)
        text_format(out, "%.0f&#8239;%% of", fmax(1, 100 * m->rel_err));
    else
        text_format(out, "%.2g times", m->rel_err);
    text_put(out, " the error of plain blending with the file's own weights.");
}

static void put_lead(text *out, const pelt_report_page *page) {
    size_t best = best_row(page);
    text_put(out, "<p class=\"lead\">");
    if (best == page->row_count) {
        text_put(out, "Nothing was measured.</p>\n");
        return;
    }
    const pelt_measure *m = row_measure(page, best);
    text_put(out, page->test_count ? "On motion it has not seen, <b>" : "On the motion it was fitted to, <b>");
    put_row_name(out, page, best);
    text_put(out, "</b> is wrong by <b>");
    text_rough_percent(out, m->rms_fraction);
    text_put(out, "</b> of the character's size on average (RMS), <b>");
    text_rough_percent(out, m->max_fraction);
    text_put(out, "</b> at worst.");
    put_baseline(out, m);
    if (!page->test_count) text_put(out, " No motion was held out, so this says nothing about new motion.");
    text_put(out, "</p>\n");
}

static void put_names(text *out, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i) text_put(out, ", ");
        text_escape(out, names[i]);
    }
    if (count == 0) text_put(out, "nothing");
}

static void put_facts(text *out, const pelt_report_page *page) {
    text_put(out, "<p class=\"facts\">");
    if (page->bundle) {
        text_escape(out, page->bundle);
        text_put(out, " &middot; ");
    }
    text_count(out, page->mesh->vertex_count);
    text_put(out, " vertices, ");
    text_count(out, page->mesh->triangle_count);
    text_put(out, " triangles &middot; size ");
    text_number(out, page->mesh->diagonal);
    text_put(out, " scene units &middot; fitted to ");
    put_names(out, page->train, page->train_count);
    text_put(out, " &middot; held out: ");
    put_names(out, page->test, page->test_count);
    text_put(out, "</p>\n");
}

static void put_opening(text *out, const pelt_report_page *page) {
    const char *title = page->title ? page->title : "Skins compared";
    text_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n<title>");
    text_escape(out, title);
    text_put(out, "</title>\n<style>\n");
    text_put(out, page_style);
    text_put(out, "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>");
    text_escape(out, title);
    text_put(out, "</h1>\n");
    put_lead(out, page);
    put_facts(out, page);
    text_put(out, "</header>\n");
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

static void put_cell(text *out, const char *kind, double value, void (*put)(text *, double)) {
    text_format(out, "<td%s>", kind);
    put(out, value);
    text_put(out, "</td>");
}

/* A length and its share of the character's size; the bar compares the length with the largest of its column. */
static void put_length(text *out, const char *kind, double length, double fraction, double bar_full) {
    text_format(out, "<td%s>", kind);
    text_number(out, length);
    if (bar_full > 0 && isfinite(length))
        text_format(out, "<span class=\"bar\" style=\"width:%.0f%%\"></span>", fmax(2, 80 * length / bar_full));
    text_put(out, "</td>");
    put_cell(out, "", fraction, text_percent);
}

/* A dash where the plain blend is exact. */
static void put_relative(text *out, const pelt_measure *m, double value) {
    put_cell(out, "", m && pelt_measure_is_relative(m) ? value : NAN, text_number);
}

static void put_errors(text *out, const pelt_measure *m, bool held_out, double bar_full) {
    if (!m) {
        text_format(out, "<td class=\"g\" colspan=\"%d\">not measured</td>", held_out ? 8 : 2);
        return;
    }
    put_length(out, " class=\"g\"", m->rms, m->rms_fraction, bar_full);
    if (!held_out) return;
    put_length(out, "", m->max, m->max_fraction, 0);
    put_relative(out, m, m->rel_err);
    put_cell(out, "", m->normal_rms_degrees, text_number);
    put_relative(out, m, m->roughness);
    put_relative(out, m, m->jump);
}

static void put_count(text *out, double count) { text_count(out, count > 0 ? (size_t)count : 0); }

static void put_table_row(text *out, const pelt_report_page *page, size_t row, bool best, double bar_full) {
    const pelt_report_row *r = &page->rows[row];
    text_format(out, "<tr%s><th scope=\"row\" class=\"name\">", best ? " class=\"best\"" : "");
    text_escape(out, r->method ? r->method : "unnamed");
    if (best) text_put(out, " <span class=\"badge\">best</span>");
    text_put(out, "</th><td class=\"l\">");
    text_escape(out, r->blend ? r->blend : "–");
    text_put(out, "</td><td class=\"l\">");
    text_escape(out, r->corrective ? r->corrective : "–");
    text_put(out, "</td>");
    put_errors(out, r->train, false, 0);
    put_errors(out, r->test_all, true, bar_full);
    put_cell(out, " class=\"g\"", (double)r->bytes, put_count);
    put_cell(out, "", r->bytes_per_vertex, text_number);
    put_cell(out, "", r->fit_seconds, text_seconds);
    put_cell(out, "", r->ns_per_vertex, text_number);
    text_put(out, "</tr>\n");
}

/* Roughness is a figure of this mesh. */
static void put_resolution(text *out, const pelt_report_page *page) {
    const pelt_measure *m = page->row_count ? row_measure(page, 0) : NULL;
    if (!m || !m->point_count) return;
    text_put(out, " Roughness is that of a mesh of ");
    text_count(out, m->point_count);
    text_put(out, " points with edges of ");
    text_rough_percent(out, page->mesh->diagonal > 0 ? m->mean_edge / page->mesh->diagonal : 0);
    text_put(out, " of the size: meshes of other sizes do not compare.");
}

static void put_table(text *out, const pelt_report_page *page) {
    double bar_full = 0;
    size_t best = best_row(page);
    for (size_t r = 0; r < page->row_count; r++)
        if (page->rows[r].test_all && isfinite(page->rows[r].test_all->rms))
            bar_full = fmax(bar_full, page->rows[r].test_all->rms);
    text_put(out, "<section>\n<h2>Methods</h2>\n<div class=\"scroll\"><table>\n<thead>\n"
                  "<tr><th colspan=\"3\"></th><th class=\"g\" colspan=\"2\">Training</th><th class=\"g\" "
                  "colspan=\"8\">Held out</th><th class=\"g\" colspan=\"4\">Cost</th></tr>\n"
                  "<tr><th class=\"l\">method</th><th class=\"l\">blend</th><th class=\"l\">corrective</th>"
                  "<th class=\"g\">RMS</th><th>% of size</th><th class=\"g\">RMS</th><th>% of size</th><th>max</th>"
                  "<th>% of size</th><th>rel. error</th><th>normals &deg;</th><th>roughness</th><th>jump</th>"
                  "<th class=\"g\">bytes</th><th>bytes / vertex</th><th>fit time</th><th>ns / "
                  "vertex</th></tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < page->row_count; r++) put_table_row(out, page, r, r == best, bar_full);
    text_put(
        out,
        "</tbody>\n</table></div>\n<p class=\"note\">RMS and max are distances in scene units. Held-out clips were "
        "not used in the fit: they are the ones that count.");
    put_resolution(out, page);
    text_put(out, "</p>\n</section>\n");
}

static void put_clip_table(text *out, const pelt_report_page *page) {
    if (page->test_count < 2) return;
    text_put(out, "<section>\n<h3>Each held-out clip</h3>\n<div class=\"scroll\"><table>\n<thead>\n<tr><th></th>");
    for (size_t c = 0; c < page->test_count; c++) {
        text_put(out, "<th class=\"g\" colspan=\"5\">");
        text_escape(out, page->test[c]);
        text_put(out, "</th>");
    }
    text_put(out, "</tr>\n<tr><th class=\"l\">method</th>");
    for (size_t c = 0; c < page->test_count; c++)
        text_put(out, "<th class=\"g\">RMS</th><th>max</th><th>rel. error</th><th>rough.</th><th>jump</th>");
    text_put(out, "</tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < page->row_count; r++) {
        text_put(out, "<tr><th scope=\"row\" class=\"name\">");
        put_row_name(out, page, r);
        text_put(out, "</th>");
        for (size_t c = 0; c < page->test_count; c++) {
            const pelt_measure *m = page->rows[r].test ? page->rows[r].test[c] : NULL;
            put_cell(out, " class=\"g\"", m ? m->rms : NAN, text_number);
            put_cell(out, "", m ? m->max : NAN, text_number);
            put_relative(out, m, m ? m->rel_err : NAN);
            put_relative(out, m, m ? m->roughness : NAN);
            put_relative(out, m, m ? m->jump : NAN);
        }
        text_put(out, "</tr>\n");
    }
    text_put(out, "</tbody>\n</table></div>\n</section>\n");
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

void put_image(text *out, const picture *pic, const char *what) {
    text_format(out, "<img width=\"%u\" height=\"%u\" alt=\"%s\" src=\"data:image/png;base64,", pic->width, pic->height,
                what);
    text_base64(out, pic->png.bytes, pic->png.size);
    text_put(out, "\">");
}

void put_ramp(text *out, const char *direction) {
    text_format(out, "<span class=\"ramp\" style=\"background:linear-gradient(%s", direction);
    for (int k = 0; k <= 12; k++) {
        uint8_t c[3];
        pelt_heat_color(k / 12.0, c);
        text_format(out, ",#%02x%02x%02x", c[0], c[1], c[2]);
    }
    text_put(out, ")\"></span>");
}

void put_scale_tick(text *out, const pelt_report_page *page, double error, bool and_more) {
    text_put(out, and_more && error > 0 ? "<span>&ge;&#8239;" : "<span>");
    text_digits(out, error, 2);
    if (page->mesh->diagonal > 0 && error > 0) {
        text_put(out, " = ");
        text_rough_percent(out, error / page->mesh->diagonal);
    }
    text_put(out, "</span>");
}

/* The colour scale, in the place that an error picture of the truth would have. */
static void put_scale(text *out, const pelt_report_page *page, const strip *s) {
    text_format(out, "<div class=\"scale\" style=\"aspect-ratio:%u/%u\">", s->truth.width, s->truth.height);
    put_ramp(out, "0deg");
    int steps = s->truth.height * 10 < s->truth.width * 6 ? 1 : 4; /* a low picture has no room for more */
    text_put(out, "<span class=\"ticks\">");
    for (int k = steps; k >= 0; k--) put_scale_tick(out, page, s->full_heat * k / steps, k == steps);
    text_put(out, "</span></div>");
}

static void put_frame_errors(text *out, const pelt_report_page *page, const picture *heat, double full_heat) {
    double sum = 0, most = 0;
    uint32_t n = page->mesh->vertex_count;
    for (size_t v = 0; v < n; v++) sum += heat->heat[v] * heat->heat[v], most = fmax(most, heat->heat[v]);
    text_put(out, "RMS ");
    text_number(out, n ? full_heat * sqrt(sum / n) : 0);
    text_put(out, "<br>max ");
    text_number(out, full_heat * most);
}

/* `wide` is the strip of the whole character: its width rules, so that the columns of a close-up stand below its own.
 */
static void put_strip(text *out, const pelt_report_page *page, const strip *s, const strip *wide) {
    bool closeup = s != wide;
    double sharp = fmin(fmax(0.9 * wide->truth.width, 240), 373);
    text_format(out, "<div class=\"strip row%s\" style=\"--n:%zu;--cell:%.0fpx\">\n", closeup ? " brief" : "",
                page->row_count + 1, floor(sharp));
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
        if (!closeup) put_frame_errors(out, page, &s->heats[r], s->full_heat);
        text_put(out, "</figcaption><div>");
        put_image(out, &s->models[r], "model");
        text_put(out, "</div><div>");
        put_image(out, &s->heats[r], "error of the model");
        text_put(out, "</div></figure>\n");
    }
    text_put(out, "</div>\n");
}

static void put_frames(text *out, const pelt_report_page *page, const gallery *g) {
    if (page->picture_count == 0) return;
    text_put(out,
             "<section>\n<h2>Worst frames</h2>\n<p class=\"muted\">Above: the mesh. Below: how far each vertex is from "
             "the truth. All pictures of a row have one camera and one colour scale: full colour is the error that "
             "99&#8239;% "
             "of the vertices stay under in the middle one of the methods, and all beyond.</p>\n");
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

static void put_rest(text *out, const pelt_report_page *page, const strip sides[REST_SIDES], const char *title,
                     const char *what) {
    const picture *front = sides[REST_FRONT].heats, *back = sides[REST_BACK].heats;
    size_t drawn = 0;
    for (size_t r = 0; r < page->row_count; r++) drawn += front[r].png.bytes && back[r].png.bytes;
    if (!drawn) return;
    text_format(out,
                "<section>\n<h2>%s</h2>\n<p class=\"muted\">%s, over all %s frames, on the rest pose, from the front "
                "and from behind. Each method has a colour scale of its own, up to the error that 99&#8239;%% of the "
                "vertices stay under.</p>\n<div class=\"flat\"><span>0</span>",
                title, what, page->test_count ? "held-out" : "training");
    put_ramp(out, "90deg");
    text_format(out,
                "<span>as told above each</span></div>\n<div class=\"strip row brief rest\" "
                "style=\"--n:%zu;--cell:373px\">\n",
                drawn);
    for (size_t r = 0; r < page->row_count; r++) {
        if (!front[r].png.bytes || !back[r].png.bytes) continue;
        text_put(out, "<figure><figcaption><b>");
        put_row_name(out, page, r);
        text_put(out, "</b>");
        put_scale_tick(out, page, sides[REST_FRONT].full_heats[r], true);
        text_put(out, "</figcaption><div>");
        put_image(out, &front[r], "from the front");
        text_put(out, "</div><div>");
        put_image(out, &back[r], "from behind");
        text_put(out, "</div></figure>\n");
    }
    text_put(out, "</div>\n</section>\n");
}

/* -- Closing ------------------------------------------------------------------------------------------------------- */

static void put_findings(text *out, const pelt_report_page *page) {
    static const char *const words[] = {"note", "warning", "fatal"};
    text_put(out, "<section>\n<h2>Diagnosis of the input</h2>\n");
    if (page->findings.count == 0)
        text_put(out, "<p class=\"muted\">Nothing was found that looks wrong.</p>\n");
    else
        text_put(out, "<ul class=\"findings\">\n");
    for (size_t i = 0; i < page->findings.count; i++) {
        const pelt_finding *f = &page->findings.list[i];
        const char *word = words[f->severity <= PELT_FATAL ? f->severity : PELT_FATAL];
        text_format(out, "<li class=\"is-%s\"><b>%s</b>", word, word);
        text_escape(out, f->text);
        text_put(out, " <code class=\"muted\">");
        text_escape(out, f->what);
        text_put(out, "</code></li>\n");
    }
    text_put(out, page->findings.count ? "</ul>\n</section>\n" : "</section>\n");
}

static void put_closing(text *out, const pelt_report_page *page) {
    text_put(out, "<section>\n<h2>How this was made</h2>\n");
    if (page->command) {
        text_put(out, "<pre>");
        text_escape(out, page->command);
        text_put(out, "</pre>\n");
    }
    text_put(
        out,
        "<dl>\n<dt>error</dt><dd>The distance between a vertex of the model and the same vertex of the truth, in scene "
        "units.</dd>\n"
        "<dt>RMS</dt><dd>The root of the mean squared error over all vertices and frames.</dd>\n"
        "<dt>max</dt><dd>The largest error of any vertex in any frame.</dd>\n"
        "<dt>size</dt><dd>The diagonal of the bounding box of the mesh at rest.</dd>\n"
        "<dt>rel. error</dt><dd>&#8214;model &minus; truth&#8214; / &#8214;blend &minus; truth&#8214;, where the blend "
        "is "
        "linear with the file's own weights: 1 is no better than that, 0 is perfect.</dd>\n"
        "<dt>normals &deg;</dt><dd>Angles between the normals of the model and those of the true surface, root of the "
        "mean "
        "square.</dd>\n"
        "<dt>roughness</dt><dd>How much the error of a point differs from the mean of its neighbours', relative to the "
        "same blend: 1 is as rough as that, more is crumpled.</dd>\n"
        "<dt>jump</dt><dd>The largest change of a point's error from one frame to the next, relative to the same "
        "blend: "
        "what pops. None where the clips are lists of poses.</dd>\n"
        "<dt>training</dt><dd>Measured on the clips that the skins were fitted to.</dd>\n"
        "<dt>held out</dt><dd>Measured on clips that no fit has seen.</dd>\n"
        "<dt>bytes</dt><dd>Size of the skin file.</dd>\n"
        "<dt>ns / vertex</dt><dd>Time to deform one vertex on this machine, in nanoseconds.</dd>\n"
        "<dt>made by</dt><dd>pelt ");
    text_escape(out, page->version ? page->version : PELT_VERSION);
    text_put(out, "</dd>\n</dl>\n</section>\n</main>\n</body>\n</html>\n");
}

pelt_result pelt_report_html(const pelt_report_page *page, pelt_bytes *html, pelt_error *error) {
    gallery pictures;
    *html = (pelt_bytes){0};
    pelt_result result = gallery_make(page, &pictures, error);
    if (result != PELT_OK) return result;
    text out = {0};
    put_opening(&out, page);
    put_table(&out, page);
    put_clip_table(&out, page);
    text_format(&out, "<section>\n<h2>Error of every %s frame</h2>\n", page->test_count ? "held-out" : "training");
    put_plot(&out, page);
    text_put(&out, "</section>\n");
    put_frames(&out, page, &pictures);
    put_differences(&out, page, &pictures);
    put_poses(&out, page, &pictures);
    put_rest(&out, page, pictures.rest[REST_ERROR], "Where the error sits", "RMS error of each vertex");
    put_rest(&out, page, pictures.rest[REST_ROUGHNESS], "Where it is rough",
             "How much the error of each vertex differs from that of its neighbours, RMS");
    if (put_joints(&out, page)) out.failed = true;
    put_findings(&out, page);
    put_closing(&out, page);
    gallery_free(page, &pictures);
    if (out.failed) {
        free(out.bytes);
        return pelt_no_memory(error);
    }
    *html = (pelt_bytes){out.bytes, out.size};
    return PELT_OK;
}
