/* regression.h: ridge regression on poses, by kernels of the joints that drive a point. The kernel corrective and
   learned features are based on it, and weights that look ahead use it to predict a corrective. Everything here runs
   within a stage. */

#ifndef PELT_REGRESSION_H
#define PELT_REGRESSION_H

#include "fit/examples/support.h"

/* -- Inputs and their kernels (inputs.c) ---------------------------------------------------------------------------- */

/* Joints that can drive a point, without those that merely repeat others; then controls. */
typedef struct pelt_kernel_inputs {
    uint32_t count, control_count;
    uint32_t *joints;    /* [count] joints of the skeleton; the last control_count are controls */
    int32_t *parents;    /* [count] the nearest of them above, or -1; for a control, its partner joint */
    double *ranges;      /* [count] largest 3 - tr R, or square of a scaled control, over the examples */
    double median_range; /* the upper median */
    uint8_t *supports;   /* [point][count] 1 where the joint drives the point */
    uint8_t *moved;      /* [example][count] 1 where the joint is rotated */
    const uint32_t *near_first,
        *near; /* [count + 1], and the inputs of each N(g); NULL: kernels are of joints and pairs */
} pelt_kernel_inputs;

static inline bool pelt_kernel_control(const pelt_kernel_inputs *inputs, uint32_t g) {
    return g >= inputs->count - inputs->control_count;
}

/* Groups points driven by the same inputs: group_of[i] gets the group of points[i] (NULL: of point i). Groups are
   numbered in order of appearance; returns their number. */
uint32_t pelt_group_points(pelt_arena *arena, const pelt_kernel_inputs *inputs, uint32_t count, const uint32_t *points,
                           uint32_t *group_of);

pelt_kernel_inputs pelt_kernel_inputs_of(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses,
                                         const pelt_supports *supports);

/* What cross-validation chooses. */
typedef struct pelt_kernel_settings {
    double width;  /* s: k decays over rotations that differ by about this, in radians */
    double range;  /* 0: one width for all joints; 1: widths in proportion to the joints' ranges */
    double pair;   /* gamma: gain of products of joint pairs; for neighbourhood kernels, gain of the joint alone */
    double lambda; /* ridge */
    pelt_neighbor_form form; /* for neighbourhoods */
    double goal;             /* settings that start out with a larger relative error are not searched; 0: all are */
    double missed;           /* result, not a setting: relative training error */
} pelt_kernel_settings;

/* Scale of joint g in E_g = exp(-(3 - tr R_a^T R_b) scale), or of a control in units of its range. */
double pelt_kernel_scale(const pelt_kernel_inputs *inputs, const pelt_kernel_settings *settings, uint32_t joint);

/* k_g between examples for all inputs: tables[input][example][example]. */
void pelt_kernel_tables(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                        const pelt_kernel_settings *settings, uint32_t threads, float *tables);

/* -- Neighbourhoods (near.c) ---------------------------------------------------------------------------------------- */

/* The same inputs with their neighbours, over which k_g is then taken. `moved` says where any of N(g) is rotated. */
pelt_kernel_inputs pelt_kernel_look_around(pelt_arena *arena, const pelt_poses *poses,
                                           const pelt_kernel_inputs *inputs);

/* Scale of input g in x . y, and the factor of K. */
double pelt_neighbor_scale(const pelt_poses *poses, const pelt_kernel_inputs *near,
                           const pelt_kernel_settings *settings, uint32_t g);
double pelt_neighbor_gain(const pelt_kernel_settings *settings);

/* k_g between examples, [example][example]. */
void pelt_neighbor_table(pelt_arena *scratch, const pelt_poses *poses, const pelt_kernel_inputs *near,
                         const pelt_kernel_settings *settings, uint32_t g, float *table);

/* Chooses form and settings by cross-validation, like pelt_kernel_validate. */
double pelt_neighbor_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                              const pelt_kernel_inputs *near, uint32_t threads, pelt_kernel_settings *settings);

/* -- Ridge regression (ridge.c) ------------------------------------------------------------------------------------ */

/* A set of units, i.e. single joints (second == first) and pairs of joints, and the examples that move at least one of
   its joints. The kernel is 0 in all others. */
typedef struct pelt_ridge {
    uint32_t unit_count, example_count;
    pelt_kernel_unit *units; /* [unit_count] gain: the fraction of the points that the unit drives */
    uint32_t *examples;      /* [example_count] ascending, until reordered as centres */
} pelt_ridge;

/* The mean kernel of some points: its units are the joints that drive them, and each such joint paired with its parent
   and its grandparent. Points are weighted; the weights sum to 1. */
pelt_ridge pelt_ridge_of(pelt_arena *arena, const pelt_kernel_inputs *inputs, uint32_t example_count,
                         size_t point_count, const uint32_t *points, const double *weights);

/* The kernel matrix between the ridge's examples (ascending), [example_count][example_count], in the arena; `tables`
   cover all table_size examples. */
double *pelt_ridge_matrix(pelt_arena *arena, const pelt_ridge *ridge, const float *tables, size_t table_size,
                          double pair);

/* [example][columns]; the solution is [centre][columns]. */
typedef struct pelt_ridge_values {
    size_t columns;
    double *values;
} pelt_ridge_values;

/* Ridge regression with fewer centres: greedily adds the example farthest from the span of the centres so far, until
   all are within `tolerance`. The ridge's examples become the centres and the values become their coefficients. One
   factorisation serves all value sets, and each result is bit-identical to solving it alone. Returns false when the
   matrix is not positive definite, up to rounding. */
bool pelt_ridge_solve(pelt_arena *work, pelt_ridge *ridge, const double *matrix, double lambda, double tolerance,
                      size_t set_count, const pelt_ridge_values *sets);

/* The squared error of predicting a fold of examples from a fit to all others, given M = (K + lambda I)^-1 [n][n] and M
   u [n][columns]. INFINITY when M_ff is not positive definite due to rounding. Rows are weighted; NULL: alike. */
double pelt_ridge_fold_error(pelt_arena *work, size_t n, const double *inverse, size_t columns, const double *product,
                             size_t fold_size, const uint32_t *fold, const double *weights);

/* Chooses settings by cross-validation on the training examples, starting from those given. Returns the remaining
   error, relative to no corrective at all. */
double pelt_kernel_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                            const pelt_kernel_inputs *inputs, uint32_t threads, pelt_kernel_settings *settings);

#endif
