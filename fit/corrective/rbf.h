/* rbf.h: shared by fits with radial basis functions: distinct poses to interpolate, what moves a vertex, distances, the
   width of phi, and which poses matter most. */

#ifndef PELT_RBF_H
#define PELT_RBF_H

#include "fit/examples/displacement.h"
#include "fit/examples/poses.h"

/* -- Distinct poses ------------------------------------------------------------------------------------------------ */

/* Examples in the same pose are merged; the rest pose always comes first, and has no displacement unless an example
   gives one. */
typedef struct pelt_distinct_poses {
    pelt_poses poses;                         /* of the examples */
    pelt_example_displacements displacements; /* of the examples */
    uint32_t count;
    uint32_t *pose_of;   /* [example] the index of its distinct pose */
    float *rotations;    /* [pose][joint][4] relative to rest */
    float *translations; /* [pose][joint][3] local */
    float *controls;     /* [pose][control] relative to rest */
    double *shapes;      /* [pose][point][3] displacements, averaged over the examples in a pose */
    bool *interior;      /* [pose] lies between others, so that predicting it is no extrapolation */
} pelt_distinct_poses;

/* Fails when two examples in the same pose have different shapes, or when there are too many poses to interpolate. */
pelt_result pelt_distinct_poses_of(pelt_fitting *fitting, pelt_distinct_poses *distinct, pelt_error *error);

/* Changes of rest normals required by the poses: the mean over their examples, 0 in the rest pose. */
typedef struct pelt_distinct_tilts {
    uint32_t point_count;
    const uint32_t *point_of; /* [vertex] to the points that shade as one */
    double *vectors;          /* [pose][point][3]; NULL: normals stay as they are */
} pelt_distinct_tilts;

pelt_distinct_tilts pelt_distinct_tilts_of(pelt_fitting *fitting, const pelt_distinct_poses *distinct,
                                           pelt_arena *arena);

enum { PELT_MOST_POSES = 2048 };

/* The first example in a pose; PELT_REST_EXAMPLE if no example shows the rest pose. */
uint32_t pelt_pose_example(const pelt_distinct_poses *distinct, uint32_t pose);

/* -- Sources of movement ------------------------------------------------------------------------------------------- */

/* What can drive a corrective: a mover's rotations, a control, or one joint's translation. Sources of movers come
   first, in mover order. */
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

/* Squared distances between poses for every source, or in total with weights [source], [pose][pose]: with many poses
   the former take a lot of memory. */
void pelt_distances_apart(pelt_arena *arena, const pelt_distinct_poses *distinct, pelt_sources *sources);
double *pelt_distances_together(pelt_arena *arena, const pelt_distinct_poses *distinct, const pelt_sources *sources,
                                const double *weights);

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* Sum of squared leave-one-out errors, over the marked poses, of interpolating values [n][columns], normalised or not,
   with the kernel matrix phi [n][n], which becomes its inverse; also the largest row sum of |phi^-1|, the growth of
   rounding errors. INFINITY when phi is singular. norm_floor 0: not normalised. */
double pelt_leave_one_out(pelt_arena *arena, size_t n, double *phi, size_t columns, const double *values,
                          const bool *marked, double norm_floor, double *growth);

/* The smallest norm that functions are divided by; 0: they are not divided. */
double pelt_norm_floor_of(const pelt_psd_options *options);

/* The run time divides by PELT_NORM_FLOOR or more. To have another floor, functions and norm are stored multiplied by
   this. */
double pelt_norm_scale(double norm_floor);

/* The guarded reciprocal of a norm, as the run time gets it from what is stored; 1 for floor 0. */
double pelt_guard_norm(double norm_floor, double norm);

/* The function the user asked for, or `usual`. */
pelt_phi pelt_chosen_phi(const pelt_fit_options *options, pelt_phi usual);

/* The ridge added to the diagonal of phi. Plain Gaussians are so similar that floats cannot resolve their differences:
   they approximate the examples instead of interpolating them. */
double pelt_phi_ridge(pelt_phi phi);

/* Forward selection: the `count` columns of phi [rows][columns] that together reduce the residual of values [rows][m]
   fastest; `chosen` starts with `given` of them. Destroys both matrices. */
void pelt_choose_columns(pelt_arena *arena, size_t rows, size_t columns, double *phi, size_t m, double *values,
                         uint32_t given, uint32_t count, uint32_t *chosen);

/* Selection by principal components (Jolliffe's, for variables): for each component of values [rows][m] in turn, the
   row with the largest part of it that is not chosen yet; wraps around after the last component. */
void pelt_choose_by_components(pelt_arena *arena, size_t rows, size_t m, const double *values, uint32_t given,
                               uint32_t count, uint32_t *chosen);

#endif
