/* kernel.h: the kernel corrective, split into separately tested parts. Everything here runs within a stage. */

#ifndef PELT_KERNEL_FIT_H
#define PELT_KERNEL_FIT_H

#include "fit/corrective/correctives.h"
#include "fit/examples/support.h"

/* -- Inputs and their kernels (kernel_inputs.c) --------------------------------------------------------------------- */

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

pelt_kernel_inputs pelt_kernel_inputs_of(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses,
                                         const pelt_supports *supports);

/* What cross-validation chooses. */
typedef struct pelt_kernel_settings {
    double width;  /* s: k decays over rotations that differ by about this, in radians */
    double range;  /* 0: one width for all joints; 1: widths in proportion to the joints' ranges */
    double pair;   /* gamma: gain of products of joint pairs; for neighbourhood kernels, gain of the joint alone */
    double lambda; /* ridge */
    pelt_near_form form; /* for neighbourhoods */
    double goal;         /* settings that start out with a larger relative error are not searched; 0: all are */
    double missed;       /* result, not a setting: relative training error */
} pelt_kernel_settings;

/* Warns when the training error is large: then something other than the joints drives the skin. */
void pelt_note_missed(pelt_fitting *fitting, double missed);

/* Scale of joint g in E_g = exp(-(3 - tr R_a^T R_b) scale), or of a control in units of its range. */
double pelt_kernel_scale(const pelt_kernel_inputs *inputs, const pelt_kernel_settings *settings, uint32_t joint);

/* k_g between examples for all inputs: tables[input][example][example]. */
void pelt_kernel_tables(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                        const pelt_kernel_settings *settings, uint32_t threads, float *tables);

/* -- Neighbourhoods (kernel_near.c) --------------------------------------------------------------------------------- */

/* The same inputs with their neighbours, over which k_g is then taken. `moved` says where any of N(g) is rotated. */
pelt_kernel_inputs pelt_kernel_look_around(pelt_arena *arena, const pelt_poses *poses,
                                           const pelt_kernel_inputs *inputs);

/* Scale of input g in x . y, and the factor of K. */
double pelt_near_scale(const pelt_poses *poses, const pelt_kernel_inputs *near, const pelt_kernel_settings *settings,
                       uint32_t g);
double pelt_near_gain(const pelt_kernel_settings *settings);

/* k_g between examples, [example][example]. */
void pelt_near_table(pelt_arena *scratch, const pelt_poses *poses, const pelt_kernel_inputs *near,
                     const pelt_kernel_settings *settings, uint32_t g, float *table);

/* Chooses form and settings by cross-validation, like pelt_kernel_validate. */
double pelt_near_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                          const pelt_kernel_inputs *near, uint32_t threads, pelt_kernel_settings *settings);

/* -- Ridge regression (kernel_ridge.c) ----------------------------------------------------------------------------- */

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
   u [n][columns]. INFINITY when M_ff is not positive definite due to rounding. */
double pelt_ridge_fold_error(pelt_arena *work, size_t n, const double *inverse, size_t columns, const double *product,
                             size_t fold_size, const uint32_t *fold);

/* Cross-validation folds, 0 to 4, or -1 for examples that always train. Folds consist of poses that move several
   joints, because predicting those is what matters; if there are fewer than ten, all examples except the rest pose take
   part. Consecutive frames of a motion stay together. Returns how many examples move several joints. */
uint32_t pelt_kernel_folds(const pelt_poses *poses, int *fold);

/* Chooses settings by cross-validation on the training examples, starting from those given. Returns the remaining
   error, relative to no corrective at all. */
double pelt_kernel_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                            const pelt_kernel_inputs *inputs, uint32_t threads, pelt_kernel_settings *settings);

/* -- Clusters (kernel_cluster.c) ------------------------------------------------------------------------------------ */

typedef struct pelt_clusters {
    uint32_t count;
    uint32_t *first;  /* [count + 1] points of a cluster ... */
    uint32_t *points; /* ... a point may be in several, */
    float *weights;   /* ... and its weights sum to 1 */
    uint32_t *ranks;  /* [count] displacements that the points of a cluster have */
    double **shapes;  /* [count] -> [rank][3 x points], orthonormal rows */
} pelt_clusters;

/* Clustered principal components: points that are well described by a few common displacements are together, and
   clusters have as many as are worth most under a budget of per_point displacements, the mean over all points. */
pelt_clusters pelt_cluster(pelt_arena *arena, const pelt_example_displacements *u, const pelt_mesh *mesh,
                           const float *positions, uint32_t cluster_count, double per_point, uint32_t threads);

/* The same clusters with vectors for the changes of normals, `turns`, under a budget of their own. A vertex has its own
   normal, so the points of `turns` and of the result are vertices. */
pelt_clusters pelt_cluster_turns(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *clusters,
                                 const pelt_example_displacements *turns, double per_vertex, uint32_t threads);

/* The shapes of clusters as displacements of vertices, faded at the borders. Each cluster has coefficients for its
   displacements (ranks), then for the changes of normals (turn_ranks); `turns`: which of them these are. */
pelt_displacements *pelt_cluster_vectors(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c,
                                         const uint32_t *ranks, const uint32_t *turn_ranks, bool turns);

/* Lets clusters (first, points) overlap by up to most_rings mesh edges, as long as the number of points, counted in
   every cluster that they are in, grows by no more than the factor most_growth. */
void pelt_overlap_clusters(pelt_arena *arena, const pelt_mesh *mesh, const pelt_example_displacements *u,
                           uint32_t most_rings, double most_growth, pelt_clusters *clusters);

#endif
