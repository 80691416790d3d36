/* relight.h: indirect light of a view from a few key points (Meyer & Anderson 2007, section 8).

       pelt_light_view view;                                       // train: a grid of lights, a frame each
       pelt_relight_training training;
       pelt_light_view_open(&view, "cornell", 400, 400, 4, &error);
       pelt_relight_options options = {.grid = pelt_light_grid_default(&view)};
       pelt_relight_begin(&training, &view, &options, "box.keys.frames", &error);
       pelt_relight_gather(&training, &error);
       pelt_bytes *bytes = pelt_relight_train(&training, &report, &error);
       pelt_bytes_write(bytes, "box.keys", &error);

       pelt_relight_file file;                                     // run: a picture for a new light
       pelt_relight_open(&file, "box.keys", NULL, &error);
       pelt_relight_shot shot = {.light = light};
       pelt_relight_result result;
       pelt_relight_picture(&file.view, &file, &shot, picture, &result, &error);

   Light is *indirect* as in light.h: the radiance that a white diffuse surface would have. */

#ifndef PELT_RELIGHT_H
#define PELT_RELIGHT_H

#include "light/frames.h"
#include <pelt/keys_fit.h>

/* -- Training (train.c) --------------------------------------------------------------------------------------------- */

typedef struct pelt_relight_options {
    pelt_light_grid grid;
    uint32_t samples;     /* paths per point of a training frame, 32 to 2^20; 0: 64 */
    uint32_t keys;        /* 4 to 10000; 0: 200 */
    uint32_t basis;       /* 1 to 512; 0: 32 */
    uint32_t key_samples; /* paths per key to optimise for, 16 to 2^20; 0: 256 */
    uint32_t seed, threads;
    pelt_progress progress; /* "lights", then "noise", "subspace", "keys" */
} pelt_relight_options;

typedef struct pelt_relight_training {
    pelt_light_view *view;
    pelt_relight_options options;
    pelt_light_frames frames;
    uint32_t gather_count, missing; /* gathers of the training, and those not yet in the folder */
    bool *there;                    /* [gather_count] */
} pelt_relight_training;

typedef struct pelt_relight_report {
    pelt_keys_report keys;
    double noise;          /* of the training frames, relative to their RMS */
    uint32_t lights, dark; /* frames, and those in which nothing visible is lit */
} pelt_relight_report;

/* Opens the folder of training frames and finds which exist. The view must outlive the training. */
pelt_result pelt_relight_begin(pelt_relight_training *training, pelt_light_view *view,
                               const pelt_relight_options *options, const char *folder, pelt_error *error);
/* Gathers the missing frames, each light in two halves, and writes them as it goes. */
pelt_result pelt_relight_gather(pelt_relight_training *training, pelt_error *error);
/* Denoises the frames and trains: the bytes of a .keys file that knows its view. */
pelt_bytes *pelt_relight_train(pelt_relight_training *training, pelt_relight_report *report, pelt_error *error);

/* -- Files (relight.c) --------------------------------------------------------------------------------------------- */

enum { PELT_LIGHT_MARKS = 3 };

/* What a .keys file of light knows of itself (facts.c). */
typedef struct pelt_relight_facts {
    uint32_t width, height, bounces;
    uint32_t samples; /* of a training frame */
    double noise;     /* of the training frames */
    double trust;     /* misfit threshold up to which a result is good */
    pelt_light_grid grid;
    pelt_camera camera;             /* before it moves */
    double marks[PELT_LIGHT_MARKS]; /* tell whether the scene is still the same */
    pelt_light_arrangement arrangement;
    char scene[4096]; /* "cornell", or a path that stays inside the folder it is looked for in */
} pelt_relight_facts;

/* Whether key points are of light: files of an older pelt do not record it, and are refused. */
bool pelt_relight_is_light(const pelt_keys *keys);

typedef struct pelt_relight_file {
    pelt_bytes *bytes;
    pelt_keys keys;
    pelt_relight_facts facts;
    pelt_light_view view;
} pelt_relight_file;

/* Opens a .keys file and the view it was trained on; `scene` NULL: the one that the file names, in the current folder
   or next to the file, never anywhere else. A scene that has changed is refused. Close it in any case. */
pelt_result pelt_relight_open(pelt_relight_file *file, const char *path, const char *scene, pelt_error *error);
void pelt_relight_close(pelt_relight_file *file);

/* -- Evaluating key points (relight.c) ----------------------------------------------------------------------------- */

/* Gathers the keys of a view, at any position of the moving objects. */
typedef struct pelt_relight_keys {
    pelt_light_view *view;
    const pelt_keys *keys;
    pelt_light_point *points;   /* the keys */
    float *values[2], *between; /* [key_count][3] of the two halves of the samples; half their difference */
    void *scratch;
} pelt_relight_keys;

/* Memory is the view's. */
pelt_result pelt_relight_keys_open(pelt_relight_keys *k, pelt_light_view *view, const pelt_keys *keys,
                                   pelt_error *error);

/* One light: the keys are gathered with this many paths and this seed. */
typedef struct pelt_relight_frame {
    pelt_light light;
    uint32_t samples, seed, threads;
    double misfit; /* result: at the keys, relative to their RMS, without the noise of the keys */
} pelt_relight_frame;

/* From a light to coordinates, kept with the keys. */
pelt_result pelt_relight_solve(pelt_relight_keys *k, pelt_relight_frame *frame, pelt_error *error);
/* Indirect light of all points [point_count][3]. */
pelt_result pelt_relight_fill(const pelt_relight_keys *k, uint32_t threads, float *values, pelt_error *error);

/* A low-discrepancy sequence in 0 to 1: coordinate 0 to 5 of element i. The first two are for lights. */
double pelt_relight_random(uint32_t i, int coordinate);
pelt_light_place pelt_relight_random_place(const pelt_light_view *view, uint32_t i);

/* -- Pictures (picture.c) ------------------------------------------------------------------------------------------ */

typedef enum pelt_relight_part { PELT_RELIT_ALL, PELT_RELIT_INDIRECT, PELT_RELIT_DIRECT } pelt_relight_part;

typedef struct pelt_relight_shot {
    pelt_light light;
    pelt_light_place place; /* of what moves */
    pelt_relight_part part; /* all: with the surfaces' colours; a single part: as on white surfaces */
    uint32_t samples;       /* paths per point, if all points are gathered; 0: 64 */
    uint32_t key_samples;   /* paths per key, 32 to 2^20; 0: 256 */
    uint32_t seed, threads;
    bool full;        /* gather all points */
    bool no_fallback; /* do not, even if the keys report a light unlike any in the training */
} pelt_relight_shot;

typedef struct pelt_relight_result {
    double misfit, trust;             /* trust: weight of the keys' result, 0 to 1 */
    double key_seconds, full_seconds; /* 0: not done */
    double look_seconds;              /* for a new place: moving, tracing the view, mixing pixels from points */
    size_t bare;                      /* pixels on surfaces that training has not seen, gathered individually */
    double beyond; /* distance of the light from the training grid; 0: inside, or all points gathered */
    bool dark;     /* no indirect light reaches anything the camera sees */
} pelt_relight_result;

/* A picture [height][width][3] in linear light: from the light at the key points, or from all points if the keys report
   a light unlike any in the training, blended in between. `file` NULL: no keys, so `full` must be set. */
pelt_result pelt_relight_picture(pelt_light_view *view, const pelt_relight_file *file, const pelt_relight_shot *shot,
                                 float *picture, pelt_relight_result *result, pelt_error *error);

/* The white point: the 98th percentile of the channel values [pixel_count][3]. */
float pelt_light_white(const float *picture, size_t pixel_count);
/* Linear to sRGB, 0 to 255; `white` becomes 255. */
uint8_t pelt_light_srgb(float value, float white);

/* -- Measuring (measure.c) ----------------------------------------------------------------------------------------- */

typedef struct pelt_relight_measure_options {
    uint32_t novel;       /* new lights in the first group, 1 to 10000; the others get a quarter; 0: 24 */
    uint32_t key_samples; /* 32 to 2^20; 0: 1024 */
    uint32_t reference;   /* paths per point of each of two references, 16 to 2^20; 0: 512 */
    uint32_t points;      /* to compare, spread over the picture; 0: 10000 */
    uint32_t threads;
    pelt_progress progress; /* "lights" */
} pelt_relight_measure_options;

/* Errors above this are visible. */
#define PELT_RELIGHT_WRONG 0.05

enum { PELT_RELIGHT_GROUPS = 6 };

/* Lights that differ from the training lights in one way. Errors are relative. */
typedef struct pelt_relight_group {
    const char *name;
    uint32_t lights;
    double error, worst, color_error, noise;  /* RMS; of coloured lights; of a reference */
    uint32_t flagged, wrong, wrong_unflagged; /* flagged: by the misfit, or beyond the grid */
} pelt_relight_group;

typedef struct pelt_relight_measure {
    pelt_relight_group groups[PELT_RELIGHT_GROUPS];
    uint32_t key_samples, reference;
    double noise_of_one_path;
    double key_seconds, quick_seconds; /* CPU seconds per light: with key_samples; with 64 */
    double look_seconds;               /* the same for a new place of what moves; 0: nothing moves */
    double bare;                       /* fraction of pixels without points, which are excluded from errors */
    double speedup, speedup_equal_error;
    double rays_per_second; /* of one processor */
} pelt_relight_measure;

/* The error and speedup of the key points' light at lights that training has not seen. */
pelt_result pelt_relight_measure_file(pelt_relight_file *file, const pelt_relight_measure_options *options,
                                      pelt_relight_measure *out, pelt_error *error);

/* -- The figure (figure.c) ------------------------------------------------------------------------------------------ */

/* What key points of light do, in one picture (Meyer & Anderson, figure 5): training lights and keys; then for three
   new lights the full gather, the key points' result, and ten times their difference. The view's arena owns
   rgba [height][width][4]. */
typedef struct pelt_relight_figure {
    uint32_t width, height;
    uint8_t *rgba;
} pelt_relight_figure;
pelt_result pelt_relight_draw(pelt_relight_file *file, uint32_t threads, pelt_relight_figure *figure,
                              pelt_error *error);

#endif
