/* live.h: a box of light that is relit repeatedly, as fast as possible: buffers are kept, colours are bytes.

   Indirect light comes from the key points, as usual, or is gathered at all points, from coarse to fine (refine.h).
   Direct light is a formula times visibility, which is traced at the corners of small squares of pixels, and inside
   only if the corners disagree or are not coplanar. Edges of surfaces and shadows can be smoothed (edges.h). */

#ifndef PELT_LIGHT_LIVE_H
#define PELT_LIGHT_LIVE_H

#include "light/relight.h"

typedef struct pelt_relight_live pelt_relight_live;

/* The file must outlive it. NULL after an error. */
pelt_relight_live *pelt_relight_live_new(pelt_relight_file *file, pelt_error *error);
void pelt_relight_live_free(pelt_relight_live *live); /* NULL is fine */

typedef struct pelt_relight_place {
    float at[3];      /* where the light is */
    uint32_t samples; /* paths per key, at least 32; per point if all are gathered; 0: 256 and 64 */
    uint32_t seed, threads;
    bool full;                /* gather all points */
    size_t paths;             /* of these only so many now, continuing the last gather at this place; 0: all */
    bool smooth;              /* smooth the edges */
    bool (*stop)(void *user); /* polled while they are gathered; NULL: never */
    void *user;
} pelt_relight_place;

typedef struct pelt_relight_drawn {
    double misfit; /* relative to the trusted threshold: good up to 1; 0 if all points are gathered */
    double share;  /* of the paths that a full gather needs, traced so far; 1 without */
} pelt_relight_drawn;

/* Colours [height][width][3] in sRGB; the white point is that with the light in the middle of the training grid.
   PELT_ERROR_CANCELLED if it was stopped. */
pelt_result pelt_relight_live_draw(pelt_relight_live *live, const pelt_relight_place *place, uint8_t *colors,
                                   pelt_relight_drawn *drawn, pelt_error *error);

/* Direct light only, [pixel_count][3], as on a white surface. */
pelt_result pelt_relight_live_direct(pelt_relight_live *live, const float at[3], uint32_t threads, float *direct,
                                     uint64_t *shadow_rays, pelt_error *error);

#endif
