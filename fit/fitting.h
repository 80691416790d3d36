/* fitting.h: what the stages of a fit share, and the stages. */

#ifndef PELT_FITTING_H
#define PELT_FITTING_H

#include "fit/corrective/figures.h"
#include "fit/examples/points.h"
#include "model/model.h"

/* What a squared weight of the blend "joints" costs, where cross-validation does not say that nothing is better. */
#define PELT_USUAL_RIDGE 1e-7

/* -- The fit ------------------------------------------------------------------------------------------------------- */

/* What a stage of a fit works with. */
typedef struct pelt_fitting {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_fit_options options; /* resolved */
    pelt_arena *arena;        /* of the model and the report */
    pelt_model model;
    const pelt_arrangement *arrangement; /* of the model, where its corrective was tried out; NULL: to be made */
    pelt_points points;                  /* of the examples; from pelt_fit_blend on, of the examples and the blend */
    pelt_fit_report report;              /* what the stages found out */
    pelt_progress told; /* the caller's; that of the options tells it, as the part of the whole that this is */
    double low, high;   /* from where to where this brings the whole */
    pelt_watch watch;
    pelt_model *unridged; /* gets the blend "joints" without a ridge, and both are rough: to compare; NULL: not asked */
    double pull; /* of weights that a corrective follows, where it is known already (blend/ahead.c); 0: it is found */
} pelt_fitting;

/* How much an example counts. */
static inline double pelt_example_weight(const pelt_example *example) {
    return example->weight != 0 ? (double)example->weight : 1;
}

/* pelt_hold_out with lists in an arena: the bundle stays as it is, so that several fits may use it at once
   (examples/holdout.c). */
pelt_result pelt_split_examples(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples all, double fraction,
                                pelt_examples *kept, pelt_examples *held, pelt_error *error);

/* True when frames of one clip follow one another in time, false when they are poses of their own. */
bool pelt_is_motion(const pelt_bundle *bundle, const pelt_example *run, size_t count);

/* The blend S (blend.c): weights, and rest positions and joints where they are fitted. */
pelt_result pelt_fit_blend(pelt_fitting *fitting, pelt_error *error);

/* Driven joints: the set that the options name, or what the examples call for, is added to the model
   (blend/driven_choice.c). */
pelt_result pelt_choose_driven(pelt_fitting *fitting, pelt_error *error);

/* Weights from the distance of a vertex to the bones (fit/distance.c). `influences` is the most joints per vertex. */
pelt_result pelt_distance_weights(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton,
                                  uint32_t influences, uint32_t threads, pelt_influences *out, pelt_error *error);

/* Keeps the `most` largest weights of every vertex and makes them sum to 1. */
void pelt_limit_influences(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count, uint32_t most,
                           pelt_influences *out);

#endif
