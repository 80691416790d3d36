/* psd.h: a fit of pose space deformation (psd.c), and the choice of its function and width (psd_choose.c). */

#ifndef PELT_PSD_H
#define PELT_PSD_H

#include "fit/corrective/rbf.h"

typedef struct pelt_psd {
    pelt_fitting *fitting;
    pelt_arena *work;
    pelt_distinct_poses distinct;
    pelt_sources sources;
    double *distances;            /* [pose][pose] squared */
    uint32_t tried_count, *tried; /* poses used to choose settings */
    double *factor;               /* [tried][rank]: a matrix whose rows have the same inner products as the shapes */
    size_t rank;
    pelt_phi phi;
    double norm_floor; /* of the sum that the functions are divided by; 0: they are not */
    double width;
    uint32_t center_count;
    uint32_t *centers; /* [center_count] poses; the first is the rest pose */
    double growth;     /* of rounding errors: the largest row sum of |phi^-1| */
    uint32_t skip;     /* 1: the rest pose has no displacement, so it needs no coefficient */
} pelt_psd;

/* Widths that are tried, in typical distances; those after the first PELT_PSD_WIDTHS lie beyond the range of the
   examples, and are for sweeps, whose joints the skin is to move together. */
enum { PELT_PSD_WIDTHS = 7, PELT_PSD_ALL_WIDTHS = 11, PELT_PSD_TRIED = 300 };
extern const double pelt_psd_widths[PELT_PSD_ALL_WIDTHS];

/* Interpolation must survive float arithmetic at run time: rounding errors grow by the row sums of the inverse. */
#define PELT_PSD_GROWTH 1.6e4

/* Root mean square of the distances between poses. */
double pelt_psd_distance(const pelt_psd *p);

/* phi [count][count] of some poses. */
void pelt_psd_phi(const pelt_psd *p, double width, size_t count, const uint32_t *poses, double *phi);

/* Chooses phi and width, as far as they are not given. */
void pelt_psd_choose(pelt_psd *p);

#endif
