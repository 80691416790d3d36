/* html.c: the report page of `pelt compare`: the answer in a sentence, the table, the plot, the pictures, and how it
   was made. One HTML file without scripts or outside resources. */

#include "report/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Measures ------------------------------------------------------------------------------------------------------ */

const pelt_measure *row_measure(const pelt_report_page *page, size_t row) {
    return page->test_count ? page->rows[row].test_all : page->rows[row].train;
}

/* What rows are sorted by; infinite without a measure. */
static double row_error(const pelt_report_page *page, size_t row) {
    const pelt_measure *m = row_measure(page, row);
    return m && isfinite(m->rms) ? m->rms : INFINITY;
}

/* The row with the smallest error, which is the first, or row_count when none was measured. */
static size_t best_row(const pelt_report_page *page) {
    return page->row_count && isfinite(row_error(page, 0)) ? 0 : page->row_count;
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

static void put_baseline(text *out, const pelt_measure *m) {
    if (!isfinite(m->rel_err) || m->rel_err <= 0) return;
    if (fabs(m->rel_err - 1) < 0.005) {
        text_put(out, " That is no better and no worse than plain blending with the file's own weights.");
        return;
    }
    bool less = m->rel_err < 1;
    text_format(out, less ? " That is %.0f&#8239;%% of" : " That is %.2g times",
                less ? fmax(1, 100 * m->rel_err) : m->rel_err);
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
    text_format(out, "</b> has an RMS error of <b>%r</b> of the character's size, and <b>%r</b> at worst.",
                m->rms_fraction, m->max_fraction);
    put_baseline(out, m);
    if (!page->test_count) text_put(out, " No motion was held out, so this says nothing about new motion.");
    text_put(out, "</p>\n");
}

static void put_names(text *out, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) text_format(out, i ? ", %h" : "%h", names[i]);
    if (count == 0) text_put(out, "nothing");
}

static void put_facts(text *out, const pelt_report_page *page) {
    text_put(out, "<p class=\"facts\">");
    if (page->bundle) text_format(out, "%h &middot; ", page->bundle);
    text_format(out, "%k vertices, %k triangles &middot; size %n scene units &middot; fitted to ",
                (size_t)page->mesh->vertex_count, (size_t)page->mesh->triangle_count, pelt_scene_diagonal(page->mesh));
    put_names(out, page->train, page->train_count);
    text_put(out, " &middot; held out: ");
    put_names(out, page->test, page->test_count);
    text_put(out, "</p>\n");
}

/* -- Any page ------------------------------------------------------------------------------------------------------ */

void page_open(text *out, const char *kind, const char *name) {
    text_format(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\">\n<title>%s%h</title>\n<style>\n%s</style>\n</head>\n"
                "<body>\n<main>\n<header>\n<h1>%s%h</h1>\n",
                kind, name, page_style, kind, name);
}

pelt_result page_close(text *out, pelt_result result, pelt_bytes *html, pelt_error *error) {
    text_put(out, "</main>\n</body>\n</html>\n");
    if (!result && out->failed) result = pelt_no_memory(error);
    if (result) free(out->bytes);
    *html = result ? (pelt_bytes){0} : (pelt_bytes){out->bytes, out->size};
    return result;
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

/* A length, relative to the character's size; the bar compares it with the largest in its column. */
static void put_length(text *out, const char *kind, double length, double fraction, double bar_full) {
    text_format(out, "<td%s>%n", kind, length);
    if (bar_full > 0 && isfinite(length))
        text_format(out, "<span class=\"bar\" style=\"width:%.0f%%\"></span>", fmax(2, 80 * length / bar_full));
    text_format(out, "</td><td>%p</td>", fraction);
}

/* A dash if the plain blend is exact. */
static void put_relative(text *out, const pelt_measure *m, double value) {
    text_format(out, "<td>%n</td>", m && pelt_measure_is_relative(m) ? value : NAN);
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
    text_format(out, "<td>%n</td>", m->normal_rms_degrees);
    put_relative(out, m, m->roughness);
    put_relative(out, m, m->jump);
}

static void put_table_row(text *out, const pelt_report_page *page, size_t row, bool best, double bar_full) {
    const pelt_report_row *r = &page->rows[row];
    text_format(out, "<tr%s><th scope=\"row\" class=\"name\">%h", best ? " class=\"best\"" : "",
                r->method ? r->method : "unnamed");
    if (best) text_put(out, " <span class=\"badge\">best</span>");
    text_format(out, "</th><td class=\"l\">%h</td><td class=\"l\">%h</td>", r->blend ? r->blend : "–",
                r->corrective ? r->corrective : "–");
    put_errors(out, r->train, false, 0);
    put_errors(out, r->test_all, true, bar_full);
    text_format(out, "<td class=\"g\">%k</td><td>%n</td><td>%t</td><td>%n</td></tr>\n", r->bytes, r->bytes_per_vertex,
                r->fit_seconds, r->ns_per_vertex);
}

/* Roughness depends on the mesh. */
static void put_resolution(text *out, const pelt_report_page *page) {
    const pelt_measure *m = page->row_count ? row_measure(page, 0) : NULL;
    if (!m || !m->point_count) return;
    text_format(out,
                " Roughness depends on the mesh, here %k points with edges of %r of the size: do not compare it "
                "between meshes.",
                (size_t)m->point_count, page->mesh->diagonal > 0 ? m->mean_edge / page->mesh->diagonal : 0);
}

static void put_table(text *out, const pelt_report_page *page) {
    double bar_full = 0;
    size_t best = best_row(page);
    for (size_t r = 0; r < page->row_count; r++)
        if (page->rows[r].test_all && isfinite(page->rows[r].test_all->rms))
            bar_full = fmax(bar_full, page->rows[r].test_all->rms);
    text_put(out, "<section>\n<h2>Methods</h2>\n<div class=\"scroll\"><table class=\"methods\">\n<thead>\n"
                  "<tr><th colspan=\"3\"></th><th class=\"g\" colspan=\"2\">Training</th><th class=\"g\" "
                  "colspan=\"8\">Held out</th><th class=\"g\" colspan=\"4\">Cost</th></tr>\n"
                  "<tr><th class=\"l\">method</th><th class=\"l\">blend</th><th class=\"l\">corrective</th>"
                  "<th class=\"g\">RMS</th><th>% of size</th><th class=\"g\">RMS</th><th>% of size</th><th>max</th>"
                  "<th>% of size</th><th>rel. error</th><th>normals &deg;</th><th>roughness</th><th>jump</th>"
                  "<th class=\"g\">bytes</th><th>bytes / vertex</th><th>fit time</th><th>ns / "
                  "vertex</th></tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < page->row_count; r++) put_table_row(out, page, r, r == best, bar_full);
    text_put(out, "</tbody>\n</table></div>\n<p class=\"note\">RMS and max are distances in scene units. Held-out "
                  "clips were not used in the fit: theirs are the errors that count, and the rows are sorted by them. "
                  "Jump is the largest change of a point's error from one frame to the next, which shows as popping; 1 "
                  "is plain blending with the file's own weights. Clips that are lists of poses have none.");
    put_resolution(out, page);
    text_put(out, "</p>\n</section>\n");
}

static void put_clip_table(text *out, const pelt_report_page *page) {
    if (page->test_count < 2) return;
    text_put(out, "<section>\n<h3>Each held-out clip</h3>\n<div class=\"scroll\"><table>\n<thead>\n<tr><th></th>");
    for (size_t c = 0; c < page->test_count; c++)
        text_format(out, "<th class=\"g\" colspan=\"5\">%h</th>", page->test[c]);
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
            text_format(out, "<td class=\"g\">%n</td><td>%n</td>", m ? m->rms : NAN, m ? m->max : NAN);
            put_relative(out, m, m ? m->rel_err : NAN);
            put_relative(out, m, m ? m->roughness : NAN);
            put_relative(out, m, m ? m->jump : NAN);
        }
        text_put(out, "</tr>\n");
    }
    text_put(out, "</tbody>\n</table></div>\n</section>\n");
}

/* -- Closing ------------------------------------------------------------------------------------------------------- */

static void put_findings(text *out, const pelt_report_page *page) {
    static const char *const words[] = {"note", "warning", "fatal"};
    text_put(out, "<section>\n<h2>Diagnosis of the input</h2>\n");
    if (page->findings.count == 0)
        text_put(out, "<p class=\"muted\">No problems were found.</p>\n");
    else
        text_put(out, "<ul class=\"findings\">\n");
    for (size_t i = 0; i < page->findings.count; i++) {
        const pelt_finding *f = &page->findings.list[i];
        const char *word = words[f->severity <= PELT_FATAL ? f->severity : PELT_FATAL];
        text_format(out, "<li class=\"is-%s\"><b>%s</b>%h <code class=\"muted\">%h</code></li>\n", word, word, f->text,
                    f->what);
    }
    text_put(out, page->findings.count ? "</ul>\n</section>\n" : "</section>\n");
}

static void put_closing(text *out, const pelt_report_page *page) {
    text_put(out, "<section>\n<h2>How this was made</h2>\n");
    if (page->command) text_format(out, "<pre>%h</pre>\n", page->command);
    text_format(
        out,
        "<dl>\n<dt>error</dt><dd>The distance between a vertex of the model and the same vertex of the truth, in scene "
        "units.</dd>\n<dt>RMS</dt><dd>The root of the mean squared error over all vertices and "
        "frames.</dd>\n<dt>max</dt><dd>The largest error of any vertex in any frame.</dd>\n<dt>size</dt><dd>The "
        "diagonal of the bounding box of the mesh at rest, in the scene.</dd>\n<dt>rel. error</dt><dd>&#8214;model "
        "&minus; truth&#8214; / &#8214;blend &minus; truth&#8214;, where the blend is linear with the file's own "
        "weights: 1 is no better than that, 0 is perfect.</dd>\n<dt>normals &deg;</dt><dd>The angle between the "
        "normals of the model and those of the true surface (RMS).</dd>\n<dt>roughness</dt><dd>How much the error of a "
        "point differs from the mean of its neighbours', relative to the same blend: 1 is equally rough, and more "
        "looks crumpled.</dd>\n<dt>jump</dt><dd>The largest change of a point's error from one frame to the next, "
        "relative to the same blend, which shows as popping. Clips that are lists of poses have "
        "none.</dd>\n<dt>training</dt><dd>Measured on the clips that the skins were fitted to.</dd>\n<dt>held "
        "out</dt><dd>Measured on clips that no fit saw.</dd>\n<dt>bytes</dt><dd>Size of the skin file.</dd>\n<dt>ns / "
        "vertex</dt><dd>Time to deform one vertex on this machine, in nanoseconds.</dd>\n<dt>made by</dt><dd>pelt "
        "%h</dd>\n</dl>\n</section>\n",
        page->version ? page->version : PELT_VERSION);
}

/* The best first; those without a measure last. Equal ones keep their order. */
static void sort_rows(pelt_report_page *page, pelt_report_row *rows) {
    for (size_t i = 0; i < page->row_count; i++) rows[i] = page->rows[i];
    page->rows = rows;
    for (size_t i = 1; i < page->row_count; i++)
        for (size_t k = i; k > 0 && row_error(page, k) < row_error(page, k - 1); k--) {
            pelt_report_row other = rows[k];
            rows[k] = rows[k - 1], rows[k - 1] = other;
        }
}

static pelt_result put_page(const pelt_report_page *page, pelt_bytes *html, pelt_error *error) {
    gallery pictures;
    text out = {0};
    pelt_result result = gallery_make(page, false, &pictures, error);
    if (result != PELT_OK) return *html = (pelt_bytes){0}, result;
    page_open(&out, "", page->title ? page->title : "Skins compared");
    put_lead(&out, page);
    put_facts(&out, page);
    text_put(&out, "</header>\n");
    put_table(&out, page);
    put_clip_table(&out, page);
    put_regions(&out, page);
    text_format(&out, "<section>\n<h2>Error of every %s frame</h2>\n", page->test_count ? "held-out" : "training");
    put_plot(&out, page);
    text_put(&out, "</section>\n");
    put_frames(&out, page, &pictures, "Worst frames", "");
    put_differences(&out, page, &pictures);
    put_poses(&out, page, &pictures);
    put_rest(&out, page, pictures.rest[REST_ERROR], "Where the error is", "RMS error of each vertex");
    put_rest(&out, page, pictures.rest[REST_ROUGHNESS], "Where it is rough",
             "How much the error of each vertex differs from that of its neighbours, RMS");
    put_joints(&out, page);
    put_findings(&out, page);
    put_closing(&out, page);
    gallery_free(&pictures);
    return page_close(&out, PELT_OK, html, error);
}

pelt_result pelt_report_html(const pelt_report_page *page, pelt_bytes *html, pelt_error *error) {
    pelt_report_page sorted = *page;
    pelt_report_row *rows = malloc((page->row_count + 1) * sizeof *rows);
    if (!rows) return *html = (pelt_bytes){0}, pelt_no_memory(error);
    sort_rows(&sorted, rows);
    pelt_result result = put_page(&sorted, html, error);
    free(rows);
    return result;
}
