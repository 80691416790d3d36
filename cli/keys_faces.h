/* keys_faces.h: the frames on the page of `pelt keys measure`. */

#ifndef PELT_CLI_KEYS_FACES_H
#define PELT_CLI_KEYS_FACES_H

#include "report/report.h"

enum { KEYS_FACES = 5 };

/* A kept frame: its measurements, and its true points, those from the keys alone, and those with the soft cache. */
typedef struct keys_face {
    uint32_t frame;
    double rank; /* the largest is kept */
    float *values[3];
} keys_face;

typedef struct keys_faces {
    const pelt_keys *keys;
    uint32_t frame_count;
    keys_face faces[KEYS_FACES];
    size_t shown_count; /* for the page, filled in by keys_faces_show */
    pelt_report_picture shown[KEYS_FACES];
    const float *keys_alone[KEYS_FACES], *soft_cache[KEYS_FACES];
    char why[KEYS_FACES][160];
} keys_faces;

/* Memory comes from the arena. */
pelt_result keys_faces_open(keys_faces *faces, pelt_arena *arena, const pelt_keys *keys, uint32_t frame_count,
                            pelt_error *error);
/* A callback for pelt_keys_measure_options. */
void keys_faces_look(void *faces, uint32_t frame, const pelt_keys_frame *figures, const float *truth, const float *keys,
                     const float *final);
/* Puts the kept frames into a page, each once. */
void keys_faces_show(keys_faces *faces, const pelt_keys_measure *measure, const char *clip, pelt_keys_page *page);

#endif
