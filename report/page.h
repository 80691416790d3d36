/* page.h: the parts of the report page: its text (text.c), its pictures (gallery.c), its plot (plot.c); html.c puts
   them together. */

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

/* -- Pictures (gallery.c) ------------------------------------------------------------------------------------------ */

typedef struct picture {
    uint32_t width, height;
    pelt_view view;
    const float *positions, *normals;
    float *heat;
    pelt_bytes png;
} picture;

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
    strip *frames, *closeups;           /* [picture_count]; a close-up where the error is local */
    strip *differences;                 /* [picture_count] of methods from one another: heats [pair_count] only */
    strip *poses;                       /* [pose_count] no heats */
    strip rest[REST_KINDS][REST_SIDES]; /* on the rest pose: heats only */
} gallery;

/* Pairs of few methods, (0, 1), (0, 2), ... (1, 2), ...; of many there are too many to show: 0. */
size_t gallery_pair_count(const pelt_report_page *page);

pelt_result gallery_make(const pelt_report_page *page, gallery *out, pelt_error *error);
void gallery_free(const pelt_report_page *page, gallery *gallery);

/* -- Figures of papers (figures.c) --------------------------------------------------------------------------------- */

/* Mark, clip, number and reason of a shown frame. */
void put_frame_title(text *out, const pelt_report_page *page, size_t index);
/* Where methods differ from one another in the shown frames. */
void put_differences(text *out, const pelt_report_page *page, const gallery *gallery);
/* Truth and methods in poses spread over the clips, with the error of each. */
void put_poses(text *out, const pelt_report_page *page, const gallery *gallery);
/* The shown frames in one row each: truth, model, error, model, error; and close up. */
void put_faces(text *out, const pelt_report_page *page, const gallery *gallery);

/* -- EigenSkin (joints.c) ------------------------------------------------------------------------------------------ */

/* Supports, eigendisplacements and error curves of the page's joints. */
pelt_result put_joints(text *out, const pelt_report_page *page);

/* -- Style sheet (style.c) ----------------------------------------------------------------------------------------- */

extern const char page_style[];

/* -- Pieces (html.c) ----------------------------------------------------------------------------------------------- */

void put_image(text *out, const picture *picture, const char *what);
/* The colours of errors, along a gradient's direction. */
void put_ramp(text *out, const char *direction);
void put_scale_tick(text *out, const pelt_report_page *page, double error, bool and_more);

/* -- Measures and names (html.c) ----------------------------------------------------------------------------------- */

/* What a row is called: its method, and more where two rows have the same. */
void put_row_name(text *out, const pelt_report_page *page, size_t row);
/* The letter of a picture: A, B, ... */
void put_picture_mark(text *out, size_t index);
/* The measure that ranks a row: held-out, or training where nothing was held out. May be NULL. */
const pelt_measure *row_measure(const pelt_report_page *page, size_t row);

/* -- Plot (plot.c) ------------------------------------------------------------------------------------------------- */

enum { PLOT_COLORS = 8 };

/* Error of each frame of the held-out clips, as SVG. */
void put_plot(text *out, const pelt_report_page *page);

#endif
