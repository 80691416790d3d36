/* displacement.h: the shapes of the examples as correctives see them: displacements in the rest pose.

   u_i^e = S_e^-1 v_i^e - v_i^0 must be added to rest position i for the blend to carry it to its position in example e.
   Vertices of a seam (same rest position, motion and blend) form one *point*, so a seam cannot crack. */

#ifndef PELT_DISPLACEMENT_H
#define PELT_DISPLACEMENT_H

#include "fit/fitting.h"

typedef struct pelt_example_displacements {
    uint32_t example_count, vertex_count, point_count;
    const uint32_t *point_of;  /* [vertex]; the fitting's points, or those that shade as one */
    const uint32_t *vertex_of; /* [point] its first vertex */
    float *positions;          /* [example][point][3] */
    const float *scales;       /* [point] what they were multiplied by, to count more or less; NULL: 1 */
    double noise;              /* that the examples had in every coordinate, before it was removed; 0: none */
} pelt_example_displacements;

static inline const float *pelt_displacement(const pelt_example_displacements *u, size_t example, size_t point) {
    return u->positions + 3 * (example * u->point_count + point);
}

/* Solves A u = e for the linear part A of a blend, damped where it is nearly singular; returns its flatness: 1 for a
   rotation, 0 where it has no inverse. */
double pelt_damped_solve(const pelt_affine *blend, const double e[3], double u[3]);

/* Of the joints of the fitting's model in an example. */
pelt_affine *pelt_matrices_in(const pelt_fitting *fitting, const pelt_example *example, pelt_arena *arena);

/* Displacements of all examples for the blend of fitting->model; fitting->figures counts how often the inverse was
   damped. The fitting's arena owns the result. */
pelt_result pelt_displacements_of(pelt_fitting *fitting, pelt_example_displacements *out, pelt_error *error);

/* Multiplies the displacements of small regions (rig/regions.h), so that a fit that minimises squared errors does not
   sacrifice them to large ones: by (r / r_region)^balance, with r the root mean square displacement of all points and
   r_region that of a region, and at most MOST_SCALE. 0 changes nothing, with 1 all regions count alike. */
void pelt_balance_regions(pelt_fitting *fitting, double balance, pelt_example_displacements *displacements);

/* The changes of rest normals that make the blend carry them to the true normals of the examples, as displacements of
   separate points: vertices of a point that shade as one are merged, the two sides of a hard edge have one normal each.
 */
pelt_example_displacements pelt_tilts_of(pelt_fitting *fitting);

#endif
