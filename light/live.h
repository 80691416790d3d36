/* live.h: a box of light that is relit again and again, as fast as can be: buffers are kept, colours are bytes.

   Indirect light comes from the key points, as ever. Direct light of a point is its formula times whether it is seen: that
   is asked at the corners of small squares of pixels, and inside only where the corners do not agree, or do not lie in one
   plane. */

#ifndef PELT_LIGHT_LIVE_H
#define PELT_LIGHT_LIVE_H

#include "light/relight.h"

typedef struct pelt_relight_live pelt_relight_live;

/* The file must outlive it. NULL after an error. */
pelt_relight_live *pelt_relight_live_new(pelt_relight_file *file, pelt_error *error);
void pelt_relight_live_free(pelt_relight_live *live); /* NULL is fine */

typedef struct pelt_relight_place {
    float at[3];      /* where the light is */
    uint32_t samples; /* paths per key, at least 32; per point where all are gathered; 0: 256, and 64 */
    uint32_t seed, threads;
    bool full;                /* gather all points */
    bool (*stop)(void *user); /* asked now and then while they are gathered; NULL: never */
    void *user;
} pelt_relight_place;

typedef struct pelt_relight_seen {
    double misfit; /* in units of what is trusted: good up to 1; 0 where all points were gathered */
    double key_seconds, fill_seconds, direct_seconds, color_seconds; /* of the calling thread */
    uint64_t shadow_rays;
} pelt_relight_seen;

/* Colours [height][width][3] as people see them; white is what it is with the light in the middle of the training.
   PELT_ERROR_CANCELLED when it was stopped. */
pelt_result pelt_relight_live_draw(pelt_relight_live *live, const pelt_relight_place *place, uint8_t *colors,
                                   pelt_relight_seen *seen, pelt_error *error);

/* Direct light alone, [pixel_count][3], as a white surface would have it. */
pelt_result pelt_relight_live_direct(pelt_relight_live *live, const float at[3], uint32_t threads, float *direct,
                                     uint64_t *shadow_rays, pelt_error *error);

#endif
