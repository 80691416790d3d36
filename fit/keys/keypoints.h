/* keypoints.h: which points are keys, and the map from their values to the subspace. Everything works in subspace
   coordinates; frames are not read again. */

#ifndef PELT_KEYPOINTS_H
#define PELT_KEYPOINTS_H

#include "fit/keys/subspace.h"

enum { PELT_FOLDS = 4 };

/* Shared by the stages of training. */
typedef struct pelt_keys_training {
    const pelt_keys_options *options;
    pelt_arena *arena; /* of the training stage */
    pelt_subspace s;
    uint32_t columns_per_frame;       /* 1, or the number of components if they share a basis */
    uint32_t point_count, candidates; /* keys come from points 0 to candidates - 1 */
    const float *positions;           /* [point_count][3], or NULL */
    double diagonal;
    double gap;     /* of the diagonal: witnesses fill gaps that are wider; 0: the usual one */
    uint8_t *lone;  /* [column_count] 1: an isolated pose, not part of a shot */
    uint32_t *shot; /* [column_count] the number of its shot or stretch; UINT32_MAX: never left out */
    uint32_t *fold; /* [column_count] 0 to PELT_FOLDS - 1: frames left out together; PELT_FOLDS: never */
} pelt_keys_training;

/* Rotates the columns of a[rows][columns] so that each is large in few places: pairs of columns are rotated by the best
   angle (Kaiser 1958), which never lowers the criterion. Returns the number of sweeps. */
uint32_t pelt_varimax(size_t rows, size_t columns, double *a, uint32_t most_sweeps);

/* The map P from centred key values (in the order of the keys' rows) to coordinates b = P s, from the covariance of
   the coordinates [rank][rank] (times the weight of its frames) of some training frames.
     ridge > 0: P = C U^T (U C U^T + T + ridge mean(diag) I)^-1, U the keys' rows, T what the subspace leaves out
     ridge = 0: least squares on the `basis` leading directions of C
   P is [rank][key rows]. PELT_ERROR_NUMBER: the keys do not determine it. */
typedef struct pelt_map {
    const uint32_t *keys;
    uint32_t key_count, basis;
    double ridge;
} pelt_map;
pelt_result pelt_map_fit(const pelt_keys_training *t, const pelt_map *map, const double *covariance, double weight,
                         double *p, pelt_error *error);

/* Rows of U at the keys: [key rows][rank]. */
void pelt_key_rows(const pelt_keys_training *t, const uint32_t *keys, uint32_t key_count, double *rows);

/* Covariance of the coordinates of all frames except those of a fold (PELT_FOLDS: of all frames), and their weight. */
double pelt_fold_covariance(const pelt_keys_training *t, const uint32_t *fold, uint32_t left_out, double *covariance);

/* Farthest-point sampling among possible keys: each point is as far as possible from the `given` ones and from the
   previous ones. Stops after `most`, or when no point is farther than `gap` (in units of the positions) from one of
   them; returns their number. Points are as far apart as sqrt(d^2 + (motion m)^2): d between their positions, m the RMS
   over the training frames of how differently they moved. Requires positions, and enough points. */
uint32_t pelt_farthest_points(const pelt_keys_training *t, const uint32_t *given, uint32_t given_count, double motion,
                              double gap, uint32_t most, uint32_t *points);

/* Points where the worst held-out frames are worst with the `given` keys, spaced apart, worst first. Requires that many
   possible keys that are not given. */
pelt_result pelt_peak_points(const pelt_keys_training *t, const uint32_t *given, uint32_t given_count, uint32_t count,
                             uint32_t *points, pelt_error *error);

/* Chooses keys: fiducials first, then by the recipe, then the grid; the recipe "paper" puts the grid first and may need
   fewer than `count`, the capacity of `keys`. *chosen (may be NULL) gets their number. */
pelt_result pelt_choose_keys(pelt_keys_training *t, uint32_t count, uint32_t *keys, uint32_t *chosen,
                             pelt_error *error);

#endif
