/* page.h: the parts of the pages: their text (text.c), pictures (gallery.c), rows of figures (figures.c) and plots
   (plot.c); html.c and keys_page.c assemble them. */

#ifndef PELT_PAGE_H
#define PELT_PAGE_H

#include "report/report.h"

/* -- Text (text.c) ------------------------------------------------------------------------------------------------- */

/* Growing text. Once out of memory it is `failed` and ignores further input. */
typedef struct text {
    char *bytes; /* zero-terminated, once something was put */
    size_t size, capacity;
    bool failed;
} text;

void text_put(text *out, const char *html);
/* The words of printf for doubles, ints, unsigneds and strings, %.2f %g %d %u %x %c %s, and: %h any text, escaped for
   HTML or a quoted attribute; %k a size_t as 1 234 567; %n a number, %p and %r a fraction in percent and roughly so, %t
   seconds: three significant digits, two for rough numbers, a dash if not finite. */
void text_format(text *out, const char *format, ...);
/* Any bytes, escaped. */
void text_escape(text *out, const char *plain);
void text_base64(text *out, const uint8_t *bytes, size_t size);
/* A number with so many significant digits, or decimals. */
void text_digits(text *out, double value, int digits);
void text_fixed(text *out, double value, int decimals);

/* A page from its first byte to its heading, a kind and a name; and its end, which turns the text into the file or,
   after a failure, frees it. */
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

/* Colours [vertex_count][3] of an eigendisplacement: middle grey is none, and the largest component of any vertex saturates
   its channel (joints.c). */
void shape_colors(const float *shape, uint32_t vertex_count, float *colors);

/* The sheet PELT_PANELS_CLOUDS (clouds.c). */
pelt_result draw_clouds(const pelt_report_page *page, pelt_bytes *png, pelt_error *error);

/* NULL when out of memory. */
pelt_image *picture_draw(const picture *picture, const pelt_mesh *mesh);

/* Pictures of one camera. */
typedef struct strip {
    bool used;
    uint32_t worst_vertex;
    double full_heat;         /* the error at full colour */
    const double *full_heats; /* on the rest pose that of each method, for differences that of each pair */
    picture truth;
    picture *models, *heats; /* [row_count] */
} strip;

/* What is shown of the vertices over all frames, and from which side. */
enum { REST_ERROR, REST_ROUGHNESS, REST_KINDS };
enum { REST_FRONT, REST_BACK, REST_SIDES };

typedef struct gallery {
    pelt_arena *arena;
    strip *frames, *closeups;           /* [picture_count] of the page; a close-up where the error is local */
    strip *differences;                 /* [picture_count] between methods: heats [pair_count] only */
    strip *poses;                       /* [pose_count] no heats */
    strip rest[REST_KINDS][REST_SIDES]; /* on the rest pose: heats only */
    picture **pictures;                 /* all of them */
    size_t picture_count;
} gallery;

/* Pairs of methods, (0, 1), (0, 2), ... (1, 2), ...; 0 if there are too many to show. */
size_t gallery_pair_count(const pelt_report_page *page);

/* Plans all pictures and draws them. `alone`: only plans, for one picture without a scale next to it, where full colour
   is the largest error. */
pelt_result gallery_make(const pelt_report_page *page, bool alone, gallery *out, pelt_error *error);
void gallery_free(gallery *gallery);

/* -- Rows of figures (figures.c) ----------------------------------------------------------------------------------- */

/* The name of a row: its method, and more if two rows have the same. */
void put_row_name(text *out, const pelt_report_page *page, size_t row);
/* The letter of a picture: A, B, ... */
void put_picture_mark(text *out, size_t index);
/* Puts an image and frees it; NULL: the text has failed. */
void put_drawing(text *out, pelt_image *image, const char *what);
/* The shown frames, truth and methods in one row each, and close up. */
void put_frames(text *out, const pelt_report_page *page, const gallery *gallery, const char *title, const char *note);
/* Where methods differ in the shown frames. */
void put_differences(text *out, const pelt_report_page *page, const gallery *gallery);
/* Truth and methods in poses spread over the clips, with the error of each. */
void put_poses(text *out, const pelt_report_page *page, const gallery *gallery);
/* Per-vertex results over all frames, on the rest pose. */
void put_rest(text *out, const pelt_report_page *page, const strip sides[REST_SIDES], const char *title,
              const char *what);
/* Supports, eigendisplacements and error curves of the page's joints (joints.c). */
void put_joints(text *out, const pelt_report_page *page);

/* Errors by region, where the first row has any (regions.c). */
void put_regions(text *out, const pelt_report_page *page);

/* -- Plots (plot.c) ------------------------------------------------------------------------------------------------ */

enum { PLOT_WIDTH = 1120, PLOT_LEFT = 66, PLOT_RIGHT = 62, PLOT_PANEL = 168 };

/* A vertical axis, PLOT_PANEL high, over the width of a plot. */
typedef struct axis {
    double ground;    /* its position, in pixels from the top of the plot */
    double top, step; /* the value at its top, and the distance between ticks */
    double least;     /* the lowest value of a logarithmic axis; 0: linear, from 0 */
    double whole;     /* ticks on the right show fractions of this; 0: none */
} axis;

/* A linear axis for values up to `most`. */
axis axis_up_to(double ground, double most);
double axis_y(const axis *axis, double value);
void put_axis(text *out, const axis *axis, const char *title);

void plot_open(text *out, double height, const char *what);
void plot_close(text *out);
/* Lines are coloured by their number: open, points, and `"/>` or `">` and a title. A point that is not finite breaks a
   line; pen_down says whether there is a point to continue from. */
void line_open(text *out, size_t number);
void line_to(text *out, bool *pen_down, double x, double y);
/* The start of a legend entry, followed by its name and "</li>". */
void put_legend_key(text *out, size_t number);

/* The measure that ranks a row: held-out, or training if nothing was held out. May be NULL. */
const pelt_measure *row_measure(const pelt_report_page *page, size_t row);
/* Error of each frame of the held-out clips. */
void put_plot(text *out, const pelt_report_page *page);

#endif
