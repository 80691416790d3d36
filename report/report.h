/* report.h: pictures. A small software rasteriser, PNG files, and the report page of `pelt compare`. */

#ifndef PELT_REPORT_H
#define PELT_REPORT_H

#include "rig/rig.h"
#include <pelt/keys_fit.h>

typedef struct pelt_image {
    uint32_t width, height;
    uint8_t *rgba; /* [height][width][4], sRGB */
} pelt_image;

/* A camera that frames a set of points; the same camera is used for all pictures of a row. */
typedef struct pelt_view {
    double azimuth, elevation; /* degrees; 0, 0 looks along -z (the model's front, when it faces +z) with y up */
    double center[3], radius;  /* of what to show: this sphere touches the picture's shorter side */
    double distance; /* of the eye from the center; 0: as far as a lens of 20 degrees needs. A close-up keeps the
                        distance of the wide view, so that it looks the same, only larger */
} pelt_view;

pelt_view pelt_view_fit(const float *positions, uint32_t vertex_count, double azimuth, double elevation);

/* The effective distance: view->distance, or that of the lens. */
double pelt_view_distance(const pelt_view *view);

/* Moves and narrows a view, without rotating it, so that the points just fill a picture of aspect = width : height. */
void pelt_view_tighten(pelt_view *view, const float *positions, uint32_t vertex_count, double *aspect);

/* Projects a point to pixels from the upper left corner; false when it is behind the eye. */
bool pelt_view_project(const pelt_view *view, uint32_t width, uint32_t height, const float point[3], double pixel[2]);

/* How much of the values (one per vertex) a view shows of a mesh with these positions: their sum over the pixels of a
   small picture. NAN when out of memory. */
double pelt_view_visible(const pelt_view *view, const pelt_mesh *mesh, const float *positions, const float *values);

/* Rotates a view to the one of eight directions that shows most of the values; in a tie, the one closer to the front.
   False when out of memory. */
bool pelt_view_turn(pelt_view *view, const pelt_mesh *mesh, const float *positions, const float *values);

/* How to draw a mesh. Zero: at rest, in clay. */
typedef struct pelt_look {
    const float *positions; /* [vertex_count][3]; NULL: the mesh's own */
    const float *normals;   /* NULL: those of the surface, smooth where the mesh is */
    const float *heat;      /* [vertex_count], 0 to 1: drawn in the heat map's colours; or */
    const float *colors;    /* [vertex_count][3] linear RGB; or NULL: clay */
} pelt_look;

/* Draws a mesh, shaded, anti-aliased, on a transparent background. Back faces are darker. Triangles with a corner that
   is not finite or not in front of the eye are skipped. */
pelt_result pelt_draw_mesh(pelt_image *image, const pelt_view *view, const pelt_mesh *mesh, const pelt_look *look);

/* Composites an image over another one, at a position of that; where that is empty, over white. */
void pelt_image_paste(pelt_image *to, const pelt_image *from, uint32_t left, uint32_t top);

pelt_image *pelt_image_new(uint32_t width, uint32_t height);
/* Refuses pictures that are too small to see anything in, or too large to draw. */
pelt_result pelt_check_picture_size(const char *option, uint32_t pixels, pelt_error *error);
void pelt_image_free(pelt_image *image);
/* Free the bytes of pictures and pages with free(). */
pelt_result pelt_image_png(const pelt_image *image, pelt_bytes *png, pelt_error *error);
/* In at most 256 colours, for pages. */
pelt_result pelt_image_small_png(const pelt_image *image, pelt_bytes *png, pelt_error *error);

/* The colour of the heat map at 0 to 1, sRGB. */
void pelt_heat_color(double value, uint8_t rgb[3]);

/* -- The page ------------------------------------------------------------------------------------------------------ */

/* One method: its skin, and the errors. Unknown numbers are 0, unknown pointers NULL. */
typedef struct pelt_report_row {
    const char *method, *blend, *corrective;
    const pelt_measure *train;       /* over all training clips */
    const pelt_measure *test_all;    /* over all held-out clips */
    const pelt_measure *const *test; /* [test_count] of the page: one for each held-out clip */
    size_t bytes;
    double bytes_per_vertex, fit_seconds, ns_per_vertex;
    const float *const *frame_positions; /* [picture_count] of the page: the model [vertex_count][3] in that frame */
    const float *const *pose_positions;  /* [pose_count] likewise for the poses */
} pelt_report_row;

/* A frame to show. */
typedef struct pelt_report_picture {
    const char *clip;
    uint32_t frame;
    const char *why;    /* "worst frame of ssd" */
    const float *truth; /* [vertex_count][3] */
} pelt_report_picture;

/* Where one point lies in the frames of two joints, over all examples. */
typedef struct pelt_clouds {
    const pelt_skeleton *skeleton;
    pelt_examples examples;
    uint32_t joints[2]; /* the point is one that the first moves */
} pelt_clouds;

typedef struct pelt_report_page {
    const char *title;   /* NULL: a plain one */
    const char *bundle;  /* its path */
    const char *command; /* the command line that made the report */
    const char *version; /* NULL: PELT_VERSION */
    const pelt_mesh *mesh;
    size_t train_count, test_count, row_count, picture_count, pose_count;
    const char *const *train; /* names of the clips */
    const char *const *test;
    const pelt_report_row *rows;
    const pelt_report_picture *pictures; /* frames shown in detail */
    const pelt_report_picture *poses;    /* frames that show many poses side by side */
    const pelt_eigen_study *study;       /* if EigenSkin is among the rows; NULL: not shown */
    const pelt_clouds *clouds;           /* for PELT_PANELS_CLOUDS */
    pelt_findings findings;
    uint32_t picture_size; /* longer side in pixels; 0: 480 */
    uint32_t threads;      /* 0: as many as the machine has */
    pelt_progress progress;
} pelt_report_page;

/* Writes the page: one self-contained HTML file. Names may come from a file and are escaped. */
pelt_result pelt_report_html(const pelt_report_page *page, pelt_bytes *html, pelt_error *error);

/* What one picture shows, without text and on white: the first shown frame in truth, with model and error of every row
   (full colour is the largest error in it); the models of two to four rows in that frame, and below them the difference
   of each pair, first and second, first and third, ... (Rhee et al., figure 1); or all poses, the truth and below it
   every row (figures 5 and 6). Or of the study: the supports of its first four joints, and the first four
   eigendisplacements of its first joint (figures 3 and 5 of the EigenSkin paper). Or a point of three examples, and
   the cloud it forms over all of them in the frames of two joints (Mohr & Gleicher, figure 7). */
typedef enum pelt_panels {
    PELT_PANELS_ERRORS,
    PELT_PANELS_CLOSEUP,
    PELT_PANELS_DIFFERENCES,
    PELT_PANELS_POSES,
    PELT_PANELS_SUPPORTS,
    PELT_PANELS_DISPLACEMENTS,
    PELT_PANELS_CLOUDS
} pelt_panels;
pelt_result pelt_report_sheet(const pelt_report_page *page, pelt_panels panels, pelt_bytes *png, pelt_error *error);

/* Shapes [count] -> [vertex_count][3] of a mesh, small and in rows, all in one view (contacts.c). */
pelt_result pelt_contact_sheet(const pelt_mesh *mesh, const float *const *shapes, size_t count, uint32_t columns,
                               uint32_t height, double azimuth, uint32_t threads, pelt_bytes *png, pelt_error *error);

/* -- The page of key points (keys_page.c) -------------------------------------------------------------------------- */

typedef struct pelt_keys_page {
    const char *name;      /* of the .keys file */
    const pelt_keys *keys; /* its points are the mesh's vertices */
    const pelt_mesh *mesh; /* NULL: no picture */
    const pelt_keys_measure *measure;
    double bar;           /* errors above this fraction of the diagonal are bad */
    size_t picture_count; /* shown frames: their truth, and each from the keys alone and with the soft cache */
    const pelt_report_picture *pictures;
    const float *const *keys_alone; /* [picture_count] of [vertex_count][3] */
    const float *const *soft_cache;
    uint32_t threads; /* 0: as many as the machine has */
} pelt_keys_page;

/* One HTML file: keys on the mesh, frames with their errors, error against number of keys, and errors, hits and misses
   along the clip. */
pelt_result pelt_keys_page_html(const pelt_keys_page *page, pelt_bytes *html, pelt_error *error);

/* The keys on the mesh, from three sides, as a PNG. */
pelt_result pelt_keys_picture(const pelt_keys *keys, const pelt_mesh *mesh, pelt_bytes *png, pelt_error *error);

#endif
