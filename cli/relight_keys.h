/* relight_keys.h: key points of light at work. */

#ifndef PELT_CLI_RELIGHT_KEYS_H
#define PELT_CLI_RELIGHT_KEYS_H

#include "cli/relight.h"
#include <pelt/keys_fit.h>

typedef struct relight_file {
    pelt_skin_bytes *bytes;
    pelt_keys keys;
} relight_file;

/* What a .keys file of light says of itself. */
typedef struct relight_about {
    uint32_t width, height, bounces;
    uint32_t samples; /* of a training frame */
    double noise;     /* of the training frames */
    double trust;     /* misfit up to which a result is good */
    light_grid grid;
    char scene[4096];
} relight_about;

/* Adds it to the file's text. */
pelt_result relight_describe(pelt_skin_bytes *bytes, const char *scene, const relight_about *about, pelt_error *error);

/* Opens a .keys file and the stage that it was trained on; `scene` may be NULL: the one that the file names. False
   after a message; relight_close in any case. */
bool relight_open(relight_file *file, relight_about *about, stage *s, const char *path, const char *scene);
void relight_close(relight_file *file, stage *s);

/* Gathers keys. */
typedef struct relight_gatherer {
    stage *stage;
    const pelt_keys *keys;
    pelt_light_point *points;   /* the keys */
    float *values[2], *between; /* [key_count][3] of the two halves of the samples; half their difference */
    void *scratch;
} relight_gatherer;

bool relight_gatherer_open(relight_gatherer *g, stage *s, const pelt_keys *keys);

typedef struct relight_frame {
    pelt_light light;
    uint32_t samples, seed, threads;
    /* Results: misfit at the keys relative to their RMS, with the noise of the keys taken out. */
    double misfit;
} relight_frame;

/* From a light to coordinates, kept in the gatherer. */
int relight_solve(relight_gatherer *g, relight_frame *frame);
/* Indirect light of all points [point_count][3]. */
void relight_fill(const relight_gatherer *g, uint32_t threads, float *values);

/* Well-spread numbers from 0 to 1: coordinate 0 or 1 of place i. */
double relight_random(uint32_t i, int coordinate);

/* --light, --kind, --color, --falloff. False after a message. */
bool relight_light(const cli_args *args, const stage *s, pelt_light *light);
/* The training light turned into another kind at its place, of about the same power: "point", "spot" or "area". */
bool relight_set_kind(const stage *s, const char *kind, pelt_light *light);

#endif
