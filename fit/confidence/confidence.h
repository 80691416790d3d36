/* confidence.h: how wrong a fit is expected to be in a pose: regions of the mesh and what drives them (doubt_regions.c),
   how far a pose is from the examples (variance.c), and what that means, by examples that a fit has not seen
   (calibrate.c). */

#ifndef PELT_FIT_CONFIDENCE_H
#define PELT_FIT_CONFIDENCE_H

#include "fit/fitting.h"
#include "model/confidence.h"

/* Fewer held-out examples say too little. */
enum { PELT_LEAST_HELD = 6 };

/* Regions and their inputs: joints that the examples move, near the region. The model has no variances yet. */
void pelt_doubt_regions(const pelt_fitting *fitting, pelt_arena *arena, pelt_doubt_model *model);

/* The numbers of all inputs in some examples, [example][3 input_count]. */
double *pelt_doubt_numbers(const pelt_fitting *fitting, pelt_arena *arena, const pelt_doubt_model *model,
                           pelt_examples examples);

/* Directions W of every region; the same for the same model. */
void pelt_doubt_directions(pelt_arena *arena, pelt_doubt_model *model);

/* rest and fold of every region, for a regression on examples with these numbers; no numbers: for none, which is the
   size of the features alone. */
void pelt_doubt_fold(pelt_arena *arena, pelt_doubt_model *model, const double *numbers, size_t count);

/* Variances in examples, [example][region]. */
double *pelt_doubt_variances(pelt_arena *arena, const pelt_doubt_model *model, const double *numbers, size_t count);

/* A fit to some examples, and those that it has not seen. */
typedef struct pelt_blind_fit {
    const pelt_arrangement *arrangement;
    pelt_bundle *bundle; /* of the examples */
    pelt_examples kept, held;
    double scale; /* of its errors, where it stands in for a better fit */
} pelt_blind_fit;

/* The section CONF of a finished fit, from the errors of a blind one. Not in a stage. NULL after an error, and also
   where there are too few examples to tell: then the report's confidence has no regions. */
pelt_bytes *pelt_fit_confidence(pelt_fitting *fitting, const pelt_blind_fit *blind, pelt_error *error);

/* -- In a stage ---------------------------------------------------------------------------------------------------- */

/* What a fit has left of held-out examples: squares[example][region], mean squared errors. */
typedef struct pelt_doubt_errors {
    size_t count;
    const double *squares;
    const double *variances; /* of a regression that has not seen them either */
    const bool *several;     /* [example] it moves several things */
} pelt_doubt_errors;

/* floor, gain and margins, from held-out examples. */
void pelt_doubt_calibrate(pelt_arena *arena, pelt_doubt_model *model, const pelt_doubt_errors *held);

/* What a frame is expected to have, without its margin, from [region] variances. */
double pelt_doubt_frame(const pelt_doubt_model *model, const double *variances);

#endif
