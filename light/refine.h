/* refine.h: indirect light at all pixels of a view, gathered in small steps from coarse to fine: first few pixels far
   apart, then those between, then more paths for all of them. There is a picture at any time. */

#ifndef PELT_LIGHT_REFINE_H
#define PELT_LIGHT_REFINE_H

#include "light/view.h"

typedef struct pelt_light_refine pelt_light_refine;

typedef struct pelt_light_step {
    size_t paths; /* to trace at most, rounded up; 0: all that are left */
    uint32_t threads;
    bool (*stop)(void *user); /* polled; NULL: never */
    void *user;
} pelt_light_step;

/* points: [height][width] indices into the view's pixels, or UINT32_MAX; both must outlive it. NULL after an error. */
pelt_light_refine *pelt_light_refine_new(const pelt_light_view *view, const uint32_t *points, pelt_error *error);
void pelt_light_refine_free(pelt_light_refine *refine); /* NULL is fine */

/* Starts again, for the tracer's light: `samples` paths per pixel, rounded up to a multiple of 16. */
void pelt_light_refine_start(pelt_light_refine *refine, uint32_t samples, uint32_t seed);
/* PELT_ERROR_CANCELLED if it was stopped; it may be continued. When all is done, the light is the same for any steps. */
pelt_result pelt_light_refine_continue(pelt_light_refine *refine, const pelt_light_step *step, pelt_error *error);
double pelt_light_refine_share(const pelt_light_refine *refine); /* of the work, 0 to 1 */

/* The light so far [pixel_count][3]: pixels without any take it from those around on the same surface; `otherwise`
   [pixel_count][3], which may be the same array, where there is none. */
void pelt_light_refine_show(const pelt_light_refine *refine, const float *otherwise, float *indirect);

#endif
