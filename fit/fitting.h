/* fitting.h: what the stages of a fit share, and the stages. */

#ifndef PELT_FITTING_H
#define PELT_FITTING_H

#include "fit/corrective/figures.h"
#include "pack/model.h"

/* What a stage of a fit works with. */
typedef struct pelt_fitting {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_fit_options options; /* resolved */
    pelt_arena *arena;        /* for what the model points to, until it is packed */
    pelt_model model;
    pelt_findings findings;  /* what the stages want to say to the user; in the arena */
    const char *blend_about; /* JSON text about the fit of the blend, for pelt_skin.about; NULL: nothing to say */
    const char *details;  /* JSON object: what the method of the corrective found, for pelt_skin.about; NULL: nothing */
    pelt_figures figures; /* what all methods say */
} pelt_fitting;

/* The blend S (blend.c): weights, and rest positions and joints where they are fitted. */
pelt_result pelt_fit_blend(pelt_fitting *fitting, pelt_error *error);

/* Driven joints: the set that the options name, or what the examples call for, is added to the model
   (blend/driven_choice.c). */
pelt_result pelt_choose_driven(pelt_fitting *fitting, pelt_error *error);

/* Weights from the distance of a vertex to the bones (fit/distance.c). `influences` is the most joints per vertex. */
pelt_result pelt_distance_weights(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton,
                                  uint32_t influences, uint32_t threads, pelt_influences *out, pelt_error *error);

/* Keeps the `most` largest weights of every vertex and makes them sum to 1. */
pelt_result pelt_limit_influences(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count, uint32_t most,
                                  pelt_influences *out);

#endif
