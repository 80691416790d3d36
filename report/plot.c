/* plot.c: plots, as SVG: axes and lines; and the error of every frame: two panels (largest error above, RMS below), one
   line per method, the held-out clips side by side. If methods differ by more than a factor of ten, the errors are on a
   logarithmic axis, or the better ones would all be at the bottom. Colours come from the page's style sheet, so that
   both light and dark are readable. */

#include "report/page.h"
#include <math.h>
#include <string.h>

/* -- Axes and lines ------------------------------------------------------------------------------------------------ */

/* A step of 1, 2 or 5 times a power of ten that divides the range into about `count` parts. */
static double nice_step(double range, double count) {
    double power = pow(10, floor(log10(range / count))), part = range / count / power;
    return power * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
}

axis axis_up_to(double ground, double most) {
    double step = nice_step(most > 1e-30 ? most : 1, 5);
    return (axis){.ground = ground, .step = step, .top = step * fmax(1, ceil(most / step - 1e-6))};
}

double axis_y(const axis *a, double value) {
    double height = value / a->top;
    if (a->least > 0) height = value < a->least ? 0 : log(value / a->least) / log(a->top / a->least);
    return a->ground - height * PLOT_PANEL;
}

/* A grid line, with its value on the left and its fraction of the whole on the right. */
static void put_grid_line(text *out, const axis *a, double value, bool base, bool told) {
    double y = axis_y(a, value);
    int decimals = (int)fmax(0, -floor(log10(a->step) + 1e-9)); /* as many as the step has */
    text_format(out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", base ? "base" : "grid",
                PLOT_LEFT, PLOT_WIDTH - PLOT_RIGHT, y, y);
    if (!told) return;
    text_format(out, "<text class=\"tick end\" x=\"%d\" y=\"%.1f\">", PLOT_LEFT - 8, y + 4);
    if (a->least > 0 || decimals > 6 || value >= 1e6)
        text_format(out, "%.3g", value);
    else
        text_fixed(out, value, decimals);
    text_put(out, "</text>\n");
    if (a->whole > 0 && value > 0)
        text_format(out, "<text class=\"tick\" x=\"%d\" y=\"%.1f\">%.2g&#8239;%%</text>\n", PLOT_WIDTH - PLOT_RIGHT + 8,
                    y + 4, 100 * value / a->whole);
}

/* 1, 2 and 5 of every decade; with many decades only the first have room for numbers. */
static void put_decades(text *out, const axis *a) {
    static const int steps[] = {1, 2, 5};
    bool wide = log10(a->top / a->least) > 2.2;
    for (int power = (int)floor(log10(a->least)); power <= (int)ceil(log10(a->top)); power++)
        for (int i = 0; i < 3; i++) {
            double value = steps[i] * pow(10, power);
            if (value < a->least * (1 - 1e-9) || value > a->top * (1 + 1e-9)) continue;
            put_grid_line(out, a, value, value <= a->least * (1 + 1e-9), !wide || i == 0);
        }
}

void put_axis(text *out, const axis *a, const char *title) {
    text_format(out, "<text class=\"head\" x=\"%d\" y=\"%.1f\">%s%s</text>\n", PLOT_LEFT, a->ground - PLOT_PANEL - 26,
                title, a->least > 0 ? ", logarithmic" : "");
    if (a->least > 0)
        put_decades(out, a);
    else
        for (int k = 0; k * a->step <= a->top * (1 + 1e-9); k++) put_grid_line(out, a, k * a->step, k == 0, true);
}

void plot_open(text *out, double height, const char *what) {
    text_format(out,
                "<div class=\"scroll\"><svg class=\"plot\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"%s\">\n",
                PLOT_WIDTH, height, what);
}

void plot_close(text *out) { text_put(out, "</svg></div>\n"); }

enum { COLORS = 8 };

void line_open(text *out, size_t number) {
    text_format(out, "<path class=\"line m%k%s\" d=\"", number % COLORS, number >= COLORS ? " dashed" : "");
}

void line_to(text *out, bool *pen_down, double x, double y) {
    if (isfinite(y)) text_format(out, "%s%.1f %.1f", *pen_down ? "L" : "M", x, y);
    *pen_down = isfinite(y);
}

void put_legend_key(text *out, size_t number) {
    text_put(out, "<li><svg width=\"26\" height=\"10\" aria-hidden=\"true\">");
    line_open(out, number);
    text_put(out, "M2 5H24\"/></svg> ");
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

enum { TOP = 54, BETWEEN = 60, BOTTOM = 40, GAP = 12, MOST_POINTS = 600, MOST_DECADES = 5 };

typedef enum quantity { LARGEST, RMS, QUANTITIES } quantity;

typedef struct plot {
    const pelt_report_page *page;
    size_t clip_count;
    double frame_total;
    axis axes[QUANTITIES];
} plot;

static const pelt_measure *measure_of(const plot *p, size_t row, size_t clip) {
    const pelt_report_row *r = &p->page->rows[row];
    if (p->page->test_count == 0) return r->train;
    return r->test ? r->test[clip] : NULL;
}

static const char *clip_name(const plot *p, size_t clip) {
    return p->page->test_count == 0 ? "training" : p->page->test[clip];
}

static const float *series(const pelt_measure *measure, quantity which) {
    return !measure ? NULL : which == LARGEST ? measure->frame_max : measure->frame_rms;
}

static uint32_t clip_frames(const plot *p, size_t clip) {
    uint32_t frames = 0;
    for (size_t r = 0; r < p->page->row_count; r++) {
        const pelt_measure *m = measure_of(p, r, clip);
        if (m && m->frame_count > frames) frames = m->frame_count;
    }
    return frames;
}

/* The smallest and largest of the known values; least 0: none above 0. */
typedef struct range {
    double least, most;
} range;

static void widen(range *r, double value) {
    if (!isfinite(value)) return;
    r->most = fmax(r->most, value);
    if (value > 0 && (r->least == 0 || value < r->least)) r->least = value;
}

static range range_of(const plot *p, quantity q) {
    range all = {0, 0};
    for (size_t r = 0; r < p->page->row_count; r++)
        for (size_t c = 0; c < p->clip_count; c++) {
            const pelt_measure *m = measure_of(p, r, c);
            const float *values = series(m, q);
            for (uint32_t f = 0; values && f < m->frame_count; f++) widen(&all, values[f]);
        }
    return all;
}

/* Whether the methods as a whole differ by more than a factor of ten. */
static bool far_apart(const plot *p) {
    range methods = {0, 0};
    for (size_t r = 0; r < p->page->row_count; r++) {
        const pelt_measure *m = row_measure(p->page, r);
        if (m) widen(&methods, m->rms);
    }
    return methods.least > 0 && methods.most > 10 * methods.least;
}

static void find_axes(plot *p) {
    bool logarithmic = far_apart(p);
    for (quantity q = LARGEST; q < QUANTITIES; q++) {
        range all = range_of(p, q);
        axis *a = &p->axes[q];
        *a = axis_up_to(TOP + PLOT_PANEL + q * (PLOT_PANEL + BETWEEN), all.most);
        a->whole = pelt_scene_diagonal(p->page->mesh);
        if (!logarithmic) continue;
        double least = fmax(all.least, all.most * pow(10, -MOST_DECADES)), power = pow(10, floor(log10(least)));
        a->least = power * (least >= 5 * power ? 5 : least >= 2 * power ? 2 : 1);
        if (!(a->least < a->top)) a->least = a->top / 10;
    }
}

/* -- Places -------------------------------------------------------------------------------------------------------- */

static double usable_width(const plot *p) {
    return PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT - GAP * ((double)p->clip_count - 1);
}

static double clip_left(const plot *p, size_t clip) {
    double before = 0;
    for (size_t c = 0; c < clip; c++) before += clip_frames(p, c);
    return PLOT_LEFT + GAP * (double)clip + before / p->frame_total * usable_width(p);
}

static double clip_width(const plot *p, size_t clip) { return clip_frames(p, clip) / p->frame_total * usable_width(p); }

static double frame_x(const plot *p, size_t clip, double frame) {
    return clip_left(p, clip) + (frame + 0.5) / clip_frames(p, clip) * clip_width(p, clip);
}

/* -- Marks --------------------------------------------------------------------------------------------------------- */

/* A name, truncated where it would overlap the next clip's. */
static void put_fitting(text *out, const char *name, double width) {
    char cut[64];
    size_t most = (size_t)fmin(fmax(width / 7.5, 1), sizeof cut - 8), length = name ? strlen(name) : 0;
    if (length > most) {
        for (length = most; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;) length--;
        memcpy(cut, name, length);
        memcpy(cut + length, "…", sizeof "…");
        name = cut;
    }
    text_escape(out, name);
}

static void put_clip(text *out, const plot *p, size_t clip) {
    double left = clip_left(p, clip), width = clip_width(p, clip), bottom = p->axes[RMS].ground;
    uint32_t frames = clip_frames(p, clip);
    if (frames == 0) return;
    for (quantity q = LARGEST; q < QUANTITIES; q++)
        text_format(out, "<rect class=\"clip\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", left,
                    p->axes[q].ground - PLOT_PANEL, width, PLOT_PANEL);
    text_format(out, "<text class=\"name mid\" x=\"%.1f\" y=\"%.1f\">", left + width / 2, bottom + 34);
    put_fitting(out, clip_name(p, clip), width);
    text_put(out, "</text>\n");
    double step = fmax(1, nice_step(frames, fmax(1, width / 60)));
    for (double frame = 0; frame < frames && width > 24; frame += step)
        text_format(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%.0f</text>", frame_x(p, clip, frame),
                    bottom + 17, frame);
}

/* -- Lines --------------------------------------------------------------------------------------------------------- */

/* The value shown for frames first to last - 1 of a long clip: the largest, or the root mean square. */
static double summary_value(const float *values, uint32_t first, uint32_t last, quantity q) {
    double most = 0, square = 0;
    for (uint32_t f = first; f < last; f++) {
        if (!isfinite(values[f])) return NAN;
        most = fmax(most, values[f]);
        square += (double)values[f] * values[f];
    }
    return q == LARGEST ? most : sqrt(square / (last - first));
}

static void put_line(text *out, const plot *p, size_t row, size_t clip, quantity q) {
    const pelt_measure *m = measure_of(p, row, clip);
    const float *values = series(m, q);
    if (!values || m->frame_count == 0) return;
    uint32_t stride = (m->frame_count + MOST_POINTS - 1) / MOST_POINTS;
    bool pen_down = false;
    line_open(out, row);
    for (uint32_t f = 0; f < m->frame_count; f += stride) {
        uint32_t last = m->frame_count - f < stride ? m->frame_count : f + stride;
        line_to(out, &pen_down, frame_x(p, clip, (f + last - 1) / 2.0),
                axis_y(&p->axes[q], summary_value(values, f, last, q)));
    }
    if (m->frame_count == 1 && pen_down) text_put(out, "h0.1"); /* round caps make it a dot */
    text_put(out, "\"><title>");
    put_row_name(out, p->page, row);
    text_put(out, "</title></path>\n");
}

/* A dotted line and a letter where a frame is shown below. */
static void put_marker(text *out, const plot *p, size_t index) {
    const pelt_report_picture *shown = &p->page->pictures[index];
    for (size_t c = 0; c < p->clip_count; c++) {
        const char *name = clip_name(p, c);
        if (!name || !shown->clip || strcmp(name, shown->clip) != 0 || shown->frame >= clip_frames(p, c)) continue;
        double x = frame_x(p, c, shown->frame);
        text_format(out, "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\"/>", x, x, TOP,
                    p->axes[RMS].ground);
        text_format(out, "<text class=\"letter mid\" x=\"%.1f\" y=\"%d\">", x, TOP - 4);
        put_picture_mark(out, index);
        text_put(out, "</text>\n");
    }
}

void put_plot(text *out, const pelt_report_page *page) {
    plot p = {.page = page, .clip_count = page->test_count ? page->test_count : 1};
    for (size_t c = 0; c < p.clip_count; c++) p.frame_total += clip_frames(&p, c);
    if (p.frame_total == 0 || !(usable_width(&p) > 0)) {
        text_put(out, "<p class=\"muted\">There are no frames to plot.</p>\n");
        return;
    }
    find_axes(&p);
    text_put(out, "<ul class=\"legend\">");
    for (size_t r = 0; r < page->row_count; r++) {
        put_legend_key(out, r);
        put_row_name(out, page, r);
        text_put(out, "</li>");
    }
    text_put(out, "</ul>\n");
    plot_open(out, p.axes[RMS].ground + BOTTOM, "Error of each frame, by method");
    for (size_t c = 0; c < p.clip_count; c++) put_clip(out, &p, c);
    put_axis(out, &p.axes[LARGEST], "Largest error in the frame");
    put_axis(out, &p.axes[RMS], "RMS error of the frame");
    for (size_t i = 0; i < page->picture_count; i++) put_marker(out, &p, i);
    for (quantity q = LARGEST; q < QUANTITIES; q++)
        for (size_t r = 0; r < page->row_count; r++)
            for (size_t c = 0; c < p.clip_count; c++) put_line(out, &p, r, c, q);
    plot_close(out);
    text_put(out, "<p class=\"note\">Left axis: scene units. Right axis: fraction of the character's size. Horizontal: "
                  "frames of the clips. Letters mark the frames shown below.</p>\n");
}
