/* features.h: learned features of the joints around a joint, split into separately tested parts. Everything runs within
   a stage.

       h_g(p) = f(x W_g + b_g) - f(b_g),    f_k(z) = (z + sqrt(z^2 + s_k^2)) / 2

   x describes the neighbourhood of input g: itself, its parent and its children. A joint contributes the first two
   columns of R - I, a control its value relative to its range. Half of the features have a sharp bend, s_k = 0 (a
   ReLU), the other half a smooth one. All vanish at rest. */

#ifndef PELT_FEATURES_FIT_H
#define PELT_FEATURES_FIT_H

#include "fit/corrective/kernel.h"

/* -- The features (features.c) -------------------------------------------------------------------------------------- */

typedef struct pelt_neighbourhood {
    uint32_t input_count, size; /* numbers in x */
    uint32_t *inputs;           /* [input_count] of pelt_kernel_inputs, ascending */
    double *x;                  /* [example][size] */
    double *weights;            /* [size][width] */
    double *offsets;            /* [width] */
} pelt_neighbourhood;

typedef struct pelt_feature_net {
    uint32_t count, width, example_count; /* one neighbourhood per input */
    pelt_neighbourhood *list;
    uint8_t *moved; /* [example][count] 1 where any input of the neighbourhood is moved; otherwise all its features are
                       0 */
    double log_lambda;
    uint64_t seed; /* of the first weights, and of the order in which examples are seen; from 1 on */
} pelt_feature_net;

/* The next random number after a state (splitmix64). */
uint64_t pelt_feature_random(uint64_t *state);

/* Initial features, reproducible from the seed. */
pelt_feature_net pelt_features_of(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                                  uint32_t width, uint64_t seed);

/* The bends s_k, squared. */
double pelt_feature_bend2(uint32_t k);

/* h_g for some examples, [row][width]; and also x [row][size] and z = x W + b [row][width]. */
void pelt_feature_values(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                         const uint32_t *rows, double *h);
void pelt_feature_bent(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                       const uint32_t *rows, double *x, double *z, double *h);

/* -- Learning (features_learn.c) ------------------------------------------------------------------------------------ */

/* A set of points as seen by training: principal displacements, and the fraction of the points that each neighbourhood
   drives. */
typedef struct pelt_feature_target {
    uint32_t share_count;
    uint32_t *sets; /* [share_count] neighbourhoods, ascending */
    double *shares;
    size_t columns;
    double *y; /* [example][columns] */
    size_t tilt_columns;
    double *tilts; /* [example][tilt_columns] the same for normals, which training ignores */
    double weight; /* sum to 1 over all targets */
} pelt_feature_target;

typedef struct pelt_feature_targets {
    size_t count;
    pelt_feature_target *list;
} pelt_feature_targets;

/* A gradient has the shape of the weights and offsets. */
typedef struct pelt_feature_gradient {
    double **weights, **offsets; /* [neighbourhood]; NULL where no target depends on it */
    double log_lambda;
} pelt_feature_gradient;

/* Negative Gaussian-process evidence of targets first, first + step, ... on some examples, to be minimised:

       L = sum_c w_c [log det(K_c + lambda_c I) / n_c + log tr Y_c^T (K_c + lambda_c I)^-1 Y_c]
       K_c = sum_g share_cg H_g H_g^T,    lambda_c = e^l + 1e-4 mean diag K_c

   over the n_c examples that move any input of c. The gradient treats the second term of lambda_c as constant. */
double pelt_feature_evidence(pelt_arena *arena, const pelt_feature_net *net, pelt_feature_targets targets, size_t first,
                             size_t step, size_t row_count, const uint32_t *rows, uint32_t threads,
                             pelt_feature_gradient *gradient);

/* The parts into which the targets are dealt for training: a step sees one of them. */
uint32_t pelt_feature_batches(pelt_feature_targets targets);

/* Adam, on one part of the targets and at most MOST_ROWS examples at a time; its state is kept in `learning`. To let
   features settle, the step size decays to almost nothing. */
typedef struct pelt_feature_learning {
    pelt_feature_net *net;
    pelt_feature_targets targets;
    size_t row_count;
    const uint32_t *rows;
    uint32_t steps;            /* so far */
    double **means, **squares; /* [neighbourhood] -> [(size + 1) width] */
    double mean, square;       /* for log_lambda */
} pelt_feature_learning;

pelt_feature_learning pelt_feature_learning_of(pelt_arena *arena, pelt_feature_net *net, pelt_feature_targets targets,
                                               size_t row_count, const uint32_t *rows);
void pelt_feature_learn(pelt_arena *arena, pelt_feature_learning *learning, uint32_t steps, bool settle,
                        uint32_t threads);

/* -- Cross-validation (features_choose.c) --------------------------------------------------------------------------- */

/* Ridge regression on features, min |y - phi c|^2 + lambda |c|^2, in whichever form is smaller:

       c = (phi^T phi + lambda I)^-1 phi^T y,    or    c = phi^T b with b = (phi phi^T + lambda I)^-1 y

   One matrix serves all y and all lambda, which are given as fractions (ridges) of the mean diagonal of phi phi^T. */
typedef struct pelt_feature_gram {
    size_t rows, inner, size; /* phi is [rows][inner]; size: the smaller of the two */
    const double *phi;
    double *matrix; /* [size][size], its lower half */
    double mean;    /* of the diagonal of phi phi^T */
} pelt_feature_gram;

pelt_feature_gram pelt_feature_gram_of(pelt_arena *arena, size_t rows, size_t inner, const double *phi);

/* Solves for c or b given y [rows][columns], as [size][columns]. False when the matrix is not positive definite, up to
   rounding. */
bool pelt_feature_solve(pelt_arena *work, const pelt_feature_gram *gram, double ridge, size_t columns, const double *y,
                        double *solution);

/* The matrix that turns a solution into predictions for features [row_count][inner]: [row_count][size]. */
const double *pelt_feature_against(pelt_arena *arena, const pelt_feature_gram *gram, size_t row_count,
                                   const double *features);

/* The features of some neighbourhoods side by side, [row][set_count x width], each scaled by its factor (NULL: 1). */
double *pelt_feature_rows(pelt_arena *arena, const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets,
                          const double *factors, size_t row_count, const uint32_t *rows);

/* Filters the examples that move any input of some neighbourhoods; returns how many. */
size_t pelt_feature_moving(const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets, size_t row_count,
                           const uint32_t *rows, uint32_t *out);

/* The training targets: clusters of points with their principal displacements. tilts: NULL for plain normals. */
pelt_feature_targets pelt_feature_targets_of(pelt_arena *arena, const pelt_kernel_inputs *inputs,
                                             const pelt_example_displacements *u,
                                             const pelt_example_displacements *tilts, const pelt_mesh *mesh,
                                             const float *positions, uint32_t threads);

/* What cross-validation found. */
typedef struct pelt_feature_settings {
    uint32_t width, steps;
    double ridge, tilt_ridge; /* for displacements, and for changes of normals */
    double left;              /* error, relative to no corrective at all */
} pelt_feature_settings;

/* Chooses steps and ridges by cross-validation; each fold is predicted by features that never saw it. Training stops
   early when the error stays far above the goal, which is another method's error. */
pelt_feature_settings pelt_feature_validate(pelt_arena *arena, const pelt_poses *poses,
                                            const pelt_kernel_inputs *inputs, pelt_feature_targets targets,
                                            uint32_t width, double goal, uint32_t seed, uint32_t threads);

/* -- What fits share ------------------------------------------------------------------------------------------------- */

/* Features that were learned from the same examples, with their settings; left 0: unknown. */
typedef struct pelt_feature_memory {
    pelt_feature_settings settings;
    struct pelt_feature_fit *learned;
} pelt_feature_memory;

/* What fits of the corrective "kernel" to the same examples, by the same blend, have found, so that those of other
   families and sizes need not find it again. Settings, with their errors in cross-validation, 0: unknown, are of use to
   fits to other examples too; the rest belongs to the arena of the fits. */
typedef struct pelt_kernel_memory {
    pelt_kernel_settings pairs, near;
    double pairs_left, near_left;
    pelt_feature_memory features, narrow;
    struct pelt_kernel_fit *fit;
} pelt_kernel_memory;

/* Whether a fit has few features, because its budget is small (kernel.c). */
bool pelt_is_narrow(const pelt_fit_options *options);

/* What is known of the features of a fit; NULL if nothing is shared. */
static inline pelt_feature_memory *pelt_features_known(const pelt_fitting *f) {
    return !f->memory ? NULL : pelt_is_narrow(&f->options) ? &f->memory->narrow : &f->memory->features;
}

/* -- Sums (features_sums.c) ----------------------------------------------------------------------------------------- */

/* Blocks B that are multiplied with the features of a set can be factored into B = P M, where M forms a few sums of the
   features. With C the second moments of the features, and V the directions in which the blocks do most, largest first,

       C^1/2 (B^T B) C^1/2 = V diag(values) V^T,    P = B C^1/2 V_r,    M = V_r^T C^-1/2

   loses the least that any r sums can: the sum of the values after the first r. */
typedef struct pelt_feature_sums {
    double *values; /* [width] */
    double *spread; /* C^1/2 V: [width][width]; the first r columns are used for r sums */
    double *mix;    /* C^-1/2 V, likewise: M transposed */
} pelt_feature_sums;

/* For features h [row][width] in some examples; `squares` is B^T B, and is destroyed. False when there is no
   solution. */
bool pelt_feature_sum_up(pelt_arena *scratch, size_t width, size_t row_count, const double *h, double *squares,
                         pelt_feature_sums *out);

/* -- The fit (features_fit.c) --------------------------------------------------------------------------------------- */

/* The learned-feature corrective; tilts are NULL for plain normals. */
pelt_result pelt_fit_features(pelt_fitting *f, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                              const pelt_example_displacements *u, const pelt_example_displacements *tilts,
                              pelt_feature_targets targets, const pelt_feature_settings *settings, pelt_error *error);

#endif
