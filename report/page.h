/* page.h: the parts of the pages: their text (text.c), pictures (gallery.c), rows of figures (figures.c) and plots
   (plot.c); html.c and keys_page.c put them together. */

#ifndef PELT_PAGE_H
#define PELT_PAGE_H

#include "report/report.h"

/* -- Text (text.c) ------------------------------------------------------------------------------------------------- */

/* Text that grows. After memory ran out it is `failed` and ignores what comes. */
typedef struct text {
    char *bytes; /* zero-terminated, once something was put */
    size_t size, capacity;
    bool failed;
} text;

void text_put(text *out, const char *html);
void text_format(text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Any bytes, as text in HTML or in a quoted attribute. */
void text_escape(text *out, const char *plain);
void text_base64(text *out, const uint8_t *bytes, size_t size);
/* Numbers have three digits, rough ones two; a dash for what is not finite. */
void text_digits(text *out, double value, int digits);
void text_number(text *out, double value);
void text_percent(text *out, double fraction);
void text_rough_percent(text *out, double fraction);
void text_count(text *out, size_t count); /* 1 234 567 */
void text_seconds(text *out, double seconds);

/* A page from its first byte to its heading, a kind and a name; and its end, where the text becomes the file or, after a failure, goes. */
void page_open(text *out, const char *kind, const char *name);
pelt_result page_close(text *out, pelt_result result, pelt_bytes *html, pelt_error *error);
extern const char page_style[]; /* style.c */

/* -- Pictures (gallery.c) ------------------------------------------------------------------------------------------ */

typedef struct picture {
    uint32_t width, height;
    pelt_view view;
    pelt_look look;
    pelt_bytes png;
} picture;

/* NULL when memory is out. */
pelt_image *picture_draw(const picture *picture, const pelt_mesh *mesh);

/* Pictures of one camera. */
typedef struct strip {
    bool used;
    uint32_t worst_vertex;
    double full_heat;         /* the error from which on the colour is the brightest */
    const double *full_heats; /* on the rest pose the same of each method, of differences that of each pair */
    picture truth;
    picture *models, *heats; /* [row_count] */
} strip;

/* What is shown of the vertices over all frames, and from where. */
enum { REST_ERROR, REST_ROUGHNESS, REST_KINDS };
enum { REST_FRONT, REST_BACK, REST_SIDES };

typedef struct gallery {
    pelt_arena *arena;
    strip *frames, *closeups;           /* [picture_count] of the page; a close-up where the error is local */
    strip *differences;                 /* [picture_count] of methods from one another: heats [pair_count] only */
    strip *poses;                       /* [pose_count] no heats */
    strip rest[REST_KINDS][REST_SIDES]; /* on the rest pose: heats only */
    picture **pictures;                 /* all of them */
    size_t picture_count;
} gallery;

/* Pairs of few methods, (0, 1), (0, 2), ... (1, 2), ...; of many there are too many to show: 0. */
size_t gallery_pair_count(const pelt_report_page *page);

/* Plans all pictures and draws them. `alone`: only plans, for one picture without a scale beside it, where full colour
   is the largest error. */
pelt_result gallery_make(const pelt_report_page *page, bool alone, gallery *out, pelt_error *error);
void gallery_free(gallery *gallery);

/* -- Rows of figures (figures.c) ----------------------------------------------------------------------------------- */

/* What a row is called: its method, and more where two rows have the same. */
void put_row_name(text *out, const pelt_report_page *page, size_t row);
/* The letter of a picture: A, B, ... */
void put_picture_mark(text *out, size_t index);
/* Puts an image and frees it; NULL: the text has failed. */
void put_drawing(text *out, pelt_image *image, const char *what);
/* The shown frames, truth and methods in one row each, and close up. */
void put_frames(text *out, const pelt_report_page *page, const gallery *gallery, const char *title, const char *note);
/* Where methods differ from one another in the shown frames. */
void put_differences(text *out, const pelt_report_page *page, const gallery *gallery);
/* Truth and methods in poses spread over the clips, with the error of each. */
void put_poses(text *out, const pelt_report_page *page, const gallery *gallery);
/* What is known of each vertex over all frames, on the rest pose. */
void put_rest(text *out, const pelt_report_page *page, const strip sides[REST_SIDES], const char *title,
              const char *what);
/* Supports, eigendisplacements and error curves of the page's joints (joints.c). */
void put_joints(text *out, const pelt_report_page *page);

/* -- Plots (plot.c) ------------------------------------------------------------------------------------------------ */

enum { PLOT_WIDTH = 1120, PLOT_LEFT = 66, PLOT_RIGHT = 62, PLOT_PANEL = 168 };

/* A vertical axis, PLOT_PANEL high, over the width of a plot. */
typedef struct axis {
    double ground;    /* where it stands, in pixels from the top of the plot */
    double top, step; /* the value at its top, and between ticks */
    double least;     /* the value on the ground of a logarithmic axis; 0: a linear one, from 0 */
    double whole;     /* ticks on the right tell which share of this they are; 0: there are none */
} axis;

/* A linear axis for values up to `most`. */
axis axis_up_to(double ground, double most);
double axis_y(const axis *axis, double value);
void put_axis(text *out, const axis *axis, const char *title);

void plot_open(text *out, double height, const char *what);
void plot_close(text *out);
/* Lines have the colours of their numbers: open, points, and `"/>` or `">` and a title. A point that is not finite
   breaks a line; pen_down says whether there is a point to go on from. */
void line_open(text *out, size_t number);
void line_to(text *out, bool *pen_down, double x, double y);
/* The head of an entry of a legend, which its name and "</li>" follow. */
void put_legend_key(text *out, size_t number);

/* The measure that ranks a row: held-out, or training where nothing was held out. May be NULL. */
const pelt_measure *row_measure(const pelt_report_page *page, size_t row);
/* Error of each frame of the held-out clips. */
void put_plot(text *out, const pelt_report_page *page);

#endif
