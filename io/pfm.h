/* pfm.h: float image files. */

#ifndef PELT_PFM_H
#define PELT_PFM_H

#include "rig/rig.h"

struct pelt_file;

typedef struct pelt_picture {
    uint32_t width, height;
    float *rgb; /* [height][width][3], linear, rows from the top */
} pelt_picture;

/* Read a colour .pfm from memory or a file. */
pelt_result pelt_pfm_parse(pelt_arena *arena, const struct pelt_file *file, const char *path, pelt_picture *picture,
                           pelt_error *error);
pelt_result pelt_pfm_read(pelt_arena *arena, const char *path, pelt_picture *picture, pelt_error *error);
pelt_result pelt_pfm_write(const char *path, const pelt_picture *picture, pelt_error *error);

#endif
