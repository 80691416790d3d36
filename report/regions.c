/* regions.c: the errors of the report page by region: those of the best method, the worst region first, and beside them
   the relative errors of the others. */

#include "report/page.h"
#include <math.h>
#include <string.h>

enum { SHOWN = 12 };

/* The same region of another method's measure, or NULL. */
static const pelt_region *find_region(const pelt_measure *m, const pelt_region *wanted) {
    for (uint32_t i = 0; m && i < m->region_count; i++)
        if (m->regions[i].painted == wanted->painted && !strcmp(m->regions[i].name, wanted->name))
            return &m->regions[i];
    return NULL;
}

static void open_table(text *out, const pelt_report_page *page, bool painted) {
    text_put(out, "<div class=\"scroll\"><table class=\"regions\">\n<thead>\n<tr><th colspan=\"2\"></th><th "
                  "class=\"g\" colspan=\"4\">");
    put_row_name(out, page, 0);
    text_put(out, "</th>");
    if (page->row_count > 1)
        text_format(out, "<th class=\"g\" colspan=\"%d\">rel. error of the others</th>", (int)page->row_count - 1);
    text_format(out,
                "</tr>\n<tr><th class=\"l\">%s</th><th>vertices</th><th class=\"g\">RMS</th><th>% of size</th>"
                "<th>max</th><th>rel. error</th>",
                painted ? "colour" : "joint");
    for (size_t r = 1; r < page->row_count; r++) {
        text_put(out, r == 1 ? "<th class=\"g\">" : "<th>");
        put_row_name(out, page, r);
        text_put(out, "</th>");
    }
    text_put(out, "</tr>\n</thead>\n<tbody>\n");
}

static void put_region(text *out, const pelt_report_page *page, const pelt_region *region, double bar_full) {
    double diagonal = pelt_scene_diagonal(page->mesh);
    text_format(out, "<tr><th scope=\"row\" class=\"name\">%h</th><td>%k</td><td class=\"g\">%n", region->name,
                (size_t)region->vertex_count, region->rms);
    if (bar_full > 0)
        text_format(out, "<span class=\"bar\" style=\"width:%.0f%%\"></span>", fmax(2, 80 * region->rms / bar_full));
    text_format(out, "</td><td>%p</td><td>%n</td><td>%n</td>", diagonal > 0 ? region->rms / diagonal : NAN, region->max,
                region->rel_err);
    for (size_t r = 1; r < page->row_count; r++) {
        const pelt_region *other = find_region(row_measure(page, r), region);
        text_format(out, r == 1 ? "<td class=\"g\">%n</td>" : "<td>%n</td>", other ? other->rel_err : NAN);
    }
    text_put(out, "</tr>\n");
}

/* Some at once, the others where the reader opens them. */
static void put_kind(text *out, const pelt_report_page *page, const pelt_measure *m, bool painted) {
    uint32_t count = 0;
    double bar_full = 0;
    for (const pelt_region *r = m->regions; r < m->regions + m->region_count; r++) {
        if ((r->painted != 0) != painted) continue;
        if (count == SHOWN) text_put(out, "</tbody>\n</table></div>\n<details><summary>All other regions</summary>\n");
        if (count % SHOWN == 0 && count <= SHOWN) open_table(out, page, painted);
        if (!count++) bar_full = r->rms;
        put_region(out, page, r, bar_full);
    }
    if (count) text_put(out, "</tbody>\n</table></div>\n");
    if (count > SHOWN) text_put(out, "</details>\n");
}

void put_regions(text *out, const pelt_report_page *page) {
    const pelt_measure *m = page->row_count ? row_measure(page, 0) : NULL;
    if (!m || !m->region_count) return;
    text_put(out, "<section>\n<h2>Errors by region</h2>\n<p>A region is the vertices that a joint moves most by the "
                  "file's weights; the worst comes first. Even a small RMS may be most of what there is to correct in "
                  "a region: look at the relative error.</p>\n");
    put_kind(out, page, m, false);
    put_kind(out, page, m, true);
    text_put(out, "</section>\n");
}
