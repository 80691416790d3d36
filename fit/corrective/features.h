/* features.h: learned features of the joints around a joint, in the parts that are tested apart. All of it runs within a
   stage.

       h_g(p) = f(x W_g + b_g) - f(b_g),    f_k(z) = (z + sqrt(z^2 + s_k^2)) / 2

   x are numbers of the neighbourhood of input g: itself, the one above and those below. A joint gives the first two columns
   of R - I, a control its value in units of its range. Half of the features are bent sharply, s_k = 0 (a ReLU), the other
   half smoothly. All vanish at rest. */

#ifndef PELT_FEATURES_FIT_H
#define PELT_FEATURES_FIT_H

#include "fit/corrective/kernel.h"

/* -- The features (features.c) -------------------------------------------------------------------------------------- */

typedef struct pelt_neighbourhood {
    uint32_t input_count, size; /* numbers in x */
    uint32_t *inputs;           /* [input_count] of pelt_kernel_inputs, growing */
    double *x;                  /* [example][size] */
    double *weights;            /* [size][width] */
    double *offsets;            /* [width] */
} pelt_neighbourhood;

typedef struct pelt_feature_net {
    uint32_t count, width, example_count; /* a neighbourhood for each input */
    pelt_neighbourhood *list;
    uint8_t *moved; /* [example][count] 1 where something of the neighbourhood is moved; elsewhere all features are 0 */
    double log_lambda;
} pelt_feature_net;

enum { PELT_FEATURE_SEED = 1 };

/* The next of the random numbers that begin with a state (splitmix64). */
uint64_t pelt_feature_random(uint64_t *state);

/* Features as they are before learning, the same for the same seed. */
pelt_feature_net pelt_features_of(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                                  uint32_t width, uint64_t seed);

/* The numbers of a joint, or of a control: 6 or 1 of them; returns how many. */
uint32_t pelt_feature_numbers(const pelt_poses *poses, const pelt_kernel_inputs *inputs, uint32_t example, uint32_t g,
                              double numbers[6]);

/* The bends s_k, squared. */
double pelt_feature_bend2(uint32_t width, uint32_t k);

/* h_g of some examples, [row][width]; and with their x [row][size] and z = x W + b [row][width]. */
void pelt_feature_values(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                         const uint32_t *rows, double *h);
void pelt_feature_bent(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                       const uint32_t *rows, double *x, double *z, double *h);

/* -- Learning (features_learn.c) ------------------------------------------------------------------------------------ */

/* Some points, as learning sees them: principal displacements, and which part of the points each neighbourhood drives. */
typedef struct pelt_feature_target {
    uint32_t share_count;
    uint32_t *sets; /* [share_count] neighbourhoods, growing */
    double *shares;
    size_t columns;
    double *y; /* [example][columns] */
    size_t turn_columns;
    double *turns; /* [example][turn_columns] the same of normals, which learning does not look at */
    double weight; /* sum to 1 over all targets */
} pelt_feature_target;

typedef struct pelt_feature_targets {
    size_t count;
    pelt_feature_target *list;
} pelt_feature_targets;

/* A gradient has the shape of the weights and offsets. */
typedef struct pelt_feature_gradient {
    double **weights, **offsets; /* [neighbourhood]; NULL where no target has a say */
    double log_lambda;
} pelt_feature_gradient;

/* Gaussian-process evidence of targets first, first + step, ... at some examples, the smaller the better:

       L = sum_c w_c [log det(K_c + lambda_c I) / n_c + log tr Y_c^T (K_c + lambda_c I)^-1 Y_c]
       K_c = sum_g share_cg H_g H_g^T,    lambda_c = e^l + 1e-4 mean diag K_c

   over the n_c examples that move something of c. The gradient takes lambda_c's second part for constant. */
double pelt_feature_evidence(pelt_arena *arena, const pelt_feature_net *net, pelt_feature_targets targets, size_t first,
                             size_t step, size_t row_count, const uint32_t *rows, uint32_t threads,
                             pelt_feature_gradient *gradient);

/* Adam, on a third of the targets and at most MOST_ROWS examples at a time; its state lives in `learning`. When features
   are to settle, steps become smaller until the last one is next to nothing. */
typedef struct pelt_feature_learning {
    pelt_feature_net *net;
    pelt_feature_targets targets;
    size_t row_count;
    const uint32_t *rows;
    uint32_t steps;            /* done */
    double **means, **squares; /* [neighbourhood] -> [(size + 1) width] */
    double mean, square;       /* of log_lambda */
} pelt_feature_learning;

pelt_feature_learning pelt_feature_learning_of(pelt_arena *arena, pelt_feature_net *net, pelt_feature_targets targets,
                                               size_t row_count, const uint32_t *rows);
void pelt_feature_learn(pelt_arena *arena, pelt_feature_learning *learning, uint32_t steps, bool settle,
                        uint32_t threads);

/* -- Cross-validation (features_choose.c) --------------------------------------------------------------------------- */

/* Ridge regression on features, min |y - phi c|^2 + lambda |c|^2, in whichever of two forms is smaller:

       c = (phi^T phi + lambda I)^-1 phi^T y,    or    c = phi^T b with b = (phi phi^T + lambda I)^-1 y

   One matrix serves all y and all lambda, which are parts (ridges) of the mean diagonal of phi phi^T. */
typedef struct pelt_feature_gram {
    size_t rows, inner, size; /* phi is [rows][inner]; size: the smaller of the two */
    const double *phi;
    double *matrix; /* [size][size], its lower half */
    double mean;    /* of the diagonal of phi phi^T */
} pelt_feature_gram;

pelt_feature_gram pelt_feature_gram_of(pelt_arena *arena, size_t rows, size_t inner, const double *phi);

/* c or b for y [rows][columns], as [size][columns]. False when the matrix is not positive definite, to rounding. */
bool pelt_feature_solve(pelt_arena *work, const pelt_feature_gram *gram, double ridge, size_t columns, const double *y,
                        double *solution);

/* What a solution is multiplied by to predict features [row_count][inner], as [row_count][size]. */
const double *pelt_feature_against(pelt_arena *arena, const pelt_feature_gram *gram, size_t row_count,
                                   const double *features);

/* The features of some neighbourhoods side by side, [row][set_count x width], each times its factor (NULL: 1). */
double *pelt_feature_rows(pelt_arena *arena, const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets,
                          const double *factors, size_t row_count, const uint32_t *rows);

/* The examples among some that move something of some neighbourhoods; returns how many. */
size_t pelt_feature_moving(const pelt_feature_net *net, uint32_t set_count, const uint32_t *sets, size_t row_count,
                           const uint32_t *rows, uint32_t *out);

/* What learning looks at: clusters of points with their principal displacements. turns: NULL for plain normals. */
pelt_feature_targets pelt_feature_targets_of(pelt_arena *arena, const pelt_kernel_inputs *inputs,
                                             const pelt_example_displacements *u,
                                             const pelt_example_displacements *turns, const pelt_mesh *mesh,
                                             const float *positions, uint32_t threads);

/* What cross-validation found. */
typedef struct pelt_feature_settings {
    uint32_t width, steps;
    double ridge, turn_ridge; /* for displacements, and for changes of normals */
    double left;              /* of the error, relative to none at all */
} pelt_feature_settings;

/* Steps and ridges by cross-validation; features that never saw a fold predict it. When they stay far above the goal, an
   error that others have, learning ends early: with a goal of 0 at the first look. */
pelt_feature_settings pelt_feature_validate(pelt_arena *arena, const pelt_poses *poses,
                                            const pelt_kernel_inputs *inputs, pelt_feature_targets targets,
                                            uint32_t width, double goal, uint32_t threads);

/* -- Sums (features_sums.c) ----------------------------------------------------------------------------------------- */

/* Blocks B that are multiplied with the features of a set can do with sums of these, B = P M. With C the second moments of
   the features, and V the directions in which the blocks do most, the largest first,

       C^1/2 (B^T B) C^1/2 = V diag(values) V^T,    P = B C^1/2 V_r,    M = V_r^T C^-1/2

   leaves out the least that any r sums can: the sum of the values behind the first r. */
typedef struct pelt_feature_sums {
    double *values; /* [width] */
    double *spread; /* C^1/2 V: [width][width], the first r columns are for r sums */
    double *mix;    /* C^-1/2 V, likewise: M transposed */
} pelt_feature_sums;

/* Of features h [row][width] in some examples; `squares` is B^T B, and destroyed. False when there is no answer. */
bool pelt_feature_sum_up(pelt_arena *scratch, size_t width, size_t row_count, const double *h, double *squares,
                         pelt_feature_sums *out);

/* -- The fit (features_fit.c) --------------------------------------------------------------------------------------- */

/* The corrective of learned features; turns are NULL for plain normals. */
pelt_result pelt_fit_features(pelt_fitting *f, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                              const pelt_example_displacements *u, const pelt_example_displacements *turns,
                              pelt_feature_targets targets, const pelt_feature_settings *settings, pelt_error *error);

#endif
