/* rbf.h: what fits by radial basis functions share: distinct poses to interpolate, what moves a vertex, distances, the
   width of phi, and which poses matter most. */

#ifndef PELT_RBF_H
#define PELT_RBF_H

#include "fit/examples/displacement.h"
#include "fit/examples/poses.h"

/* -- Distinct poses ------------------------------------------------------------------------------------------------ */

/* Examples in the same pose are one; the rest pose is always there, first, and has no displacement unless an example
   says so. */
typedef struct pelt_distinct_poses {
    pelt_poses poses;                         /* of the examples */
    pelt_example_displacements displacements; /* of the examples */
    uint32_t count;
    uint32_t *pose_of;   /* [example] its distinct pose */
    float *rotations;    /* [pose][joint][4] relative to rest */
    float *translations; /* [pose][joint][3] local */
    float *controls;     /* [pose][control] minus the value at rest */
    double *shapes;      /* [pose][point][3] displacements, of examples in the same pose their mean */
    bool *interior;      /* [pose] lies between others, so that leaving it out asks for no extrapolation */
} pelt_distinct_poses;

/* Fails when two examples in the same pose have different shapes, or when there are more poses than can be
   interpolated. */
pelt_result pelt_distinct_poses_of(pelt_fitting *fitting, pelt_distinct_poses *distinct, pelt_error *error);

/* Changes of the rest normals that the poses want: the mean of their examples, and none in the rest pose. */
typedef struct pelt_distinct_turns {
    uint32_t point_count;
    const uint32_t *point_of; /* [vertex] of the points that shade as one */
    double *vectors;          /* [pose][point][3]; NULL: normals are left as they are */
} pelt_distinct_turns;

pelt_distinct_turns pelt_distinct_turns_of(pelt_fitting *fitting, const pelt_distinct_poses *distinct,
                                           pelt_arena *arena);

enum { PELT_MOST_POSES = 2048 };

/* The first example in a pose; PELT_REST_EXAMPLE for a rest pose that no example shows. */
uint32_t pelt_pose_example(const pelt_distinct_poses *distinct, uint32_t pose);

/* -- Sources of movement ------------------------------------------------------------------------------------------- */

/* What a corrective can be driven by: a mover's rotations, a control, or one joint's translation. Sources of movers
   come first, in their order. */
typedef struct pelt_source {
    uint32_t first_axis, axis_count;
} pelt_source;

typedef struct pelt_sources {
    uint32_t count, axis_count;
    pelt_source *list;
    pelt_axis *axes;  /* [axis_count] weight 1 for rotations; for translations and controls 1 / range^2 */
    float *centers;   /* [pose][axis][4] */
    float *distances; /* [source][pose][pose] squared, after pelt_distances_apart */
    float *driving;   /* [point][source] how much a source displaces a point: a length */
} pelt_sources;

void pelt_sources_of(pelt_fitting *fitting, const pelt_distinct_poses *distinct, pelt_sources *sources);

/* Squared distances between poses by every source, or those of all together, [pose][pose], with weights [source]: of many
   poses the former take much room. */
void pelt_distances_apart(pelt_arena *arena, const pelt_distinct_poses *distinct, pelt_sources *sources);
double *pelt_distances_together(pelt_arena *arena, const pelt_distinct_poses *distinct, const pelt_sources *sources,
                                const double *weights);

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* Sum of squared leave-one-out errors over the poses marked, of interpolation, normalised or not, with kernel matrix
   phi [n][n] of values [n][columns]; also the largest row sum of |phi^-1|, by which rounding grows. phi is destroyed.
   INFINITY when phi cannot be inverted. */
double pelt_leave_one_out(pelt_arena *arena, size_t n, double *phi, size_t columns, const double *values,
                          const bool *marked, bool normalised, double *growth);

/* The function that the user asked for, or `usual`. */
pelt_phi pelt_chosen_phi(const pelt_fit_options *options, pelt_phi usual);

/* What is added to the diagonal of phi. Gaussians alone are so much alike that floats cannot hold what tells them
   apart: they meet the examples closely instead of exactly. */
double pelt_phi_ridge(pelt_phi phi);

/* Forward selection: the `count` columns of phi [rows][columns] that together bring the residual of values [rows][m]
   down fastest, `chosen` first holding `given` of them. Both matrices are destroyed. */
void pelt_choose_columns(pelt_arena *arena, size_t rows, size_t columns, double *phi, size_t m, double *values,
                         uint32_t given, uint32_t count, uint32_t *chosen);

/* The choice by principal components (Jolliffe's, for variables): for each component of values [rows][m] in turn, the row
   that has most of it and is not chosen yet; after the last component comes the first again. */
void pelt_choose_by_components(pelt_arena *arena, size_t rows, size_t m, const double *values, uint32_t given,
                               uint32_t count, uint32_t *chosen);

#endif
