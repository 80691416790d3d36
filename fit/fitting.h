/* fitting.h: the stages of a fit, and what they share. */

#ifndef PELT_FITTING_H
#define PELT_FITTING_H

#include "fit/corrective/findings.h"
#include "fit/examples/points.h"
#include "model/model.h"

/* Driven joints that rotate with a joint: half its turn; that, and quarters of its twist or of its turn. */
typedef enum pelt_steps { PELT_STEPS_HALF, PELT_STEPS_TWIST, PELT_STEPS_TURN } pelt_steps;

/* -- The fit ------------------------------------------------------------------------------------------------------- */

/* The state that the stages of a fit work on. */
typedef struct pelt_fitting {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_fit_options options; /* resolved */
    pelt_arena *arena;        /* owns the model and the report */
    pelt_model model;
    const pelt_arrangement *arrangement; /* of the model, if packed for a trial of its corrective; or NULL */
    pelt_points points;                  /* by the examples; from pelt_fit_blend on, by the blend too */
    pelt_fit_report report;              /* what the stages found */
    pelt_progress told; /* the caller's; the one in `options` maps this part's progress to the total and calls it */
    double low, high;   /* the range of the total progress that this part covers */
    pelt_watch watch;
    bool rough;              /* only to be compared with another fit: fewer sweeps for the blend "joints" */
    const pelt_steps *steps; /* [joint] of driven joints that no rules choose; NULL: half turns only */
    pelt_bundle *given; /* by the caller: `bundle` may be a clean copy of it, and errors are those against this one */
    double noise;       /* in every coordinate of the examples, before it was removed (examples/clean.c); 0: none */
    pelt_bytes *confidence; /* the section CONF, or NULL: the skin will not know its errors */
    double pull;            /* of weights that a corrective follows, if already known (blend/ahead.c); 0: to be found */
    pelt_measure *forecast; /* the error on held-out examples, if other fits have found it; NULL: to be found */
    pelt_examples forecast_on;         /* these examples */
    const pelt_front *front;           /* what the method was chosen from; NULL: it was given */
    double begun;                      /* the part of the total progress that came before this fit */
    struct pelt_kernel_memory *memory; /* of other fits of the corrective "kernel" (corrective/kernel.h); NULL: none */
} pelt_fitting;

/* Whether correctives change the rest normals too. */
static inline bool pelt_has_tilts(const pelt_fitting *f) {
    return f->options.normals == PELT_NORMALS_AUTO || f->options.normals == PELT_NORMALS_ROWS;
}

/* The weight of an example. */
static inline double pelt_example_weight(const pelt_example *example) {
    return example->weight != 0 ? (double)example->weight : 1;
}

/* Fits a model to the examples and arranges it for packing; NULL after an error. The fitting's arena, which it makes, owns
   both (fit.c). */
const pelt_arrangement *pelt_fit_model(pelt_fitting *fitting, pelt_error *error);

/* From here on, the fit's progress covers `low` to `high` of the total. */
void pelt_begin_part(pelt_fitting *fitting, double low, double high);

/* pelt_fit, after other fits have found what to expect of new poses: the measure, which it takes, and on which examples.
   Without one, NULL, it finds that itself. `begun`: the part of the total progress that came before. */
typedef struct pelt_forecasted {
    pelt_measure *measure;
    pelt_examples held;
    const pelt_front *front; /* what the method was chosen from, for the skin's text; NULL: it was given */
    double begun;
} pelt_forecasted;

pelt_bytes *pelt_fit_forecast(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                              const pelt_forecasted *known, pelt_fit_report *report, pelt_error *error);

/* The steps of the blend "joints" that pay on held-out examples, and whether normals come from rows or the surface, where
   the options do not say. The arena owns the steps (fit.c). */
pelt_result pelt_choose_steps(pelt_fitting *fitting, pelt_arena *arena, pelt_error *error);
pelt_result pelt_choose_normals(pelt_fitting *fitting, pelt_error *error);

/* pelt_hold_out with lists in an arena: leaves the bundle unchanged, so that several fits may use it at once
   (examples/holdout.c). */
pelt_result pelt_split_examples(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples all, double fraction,
                                pelt_examples *kept, pelt_examples *held, pelt_error *error);

/* True when frames of one clip are consecutive in time, false when they are independent poses. */
bool pelt_is_motion(const pelt_bundle *bundle, const pelt_example *run, size_t count);

/* The blend S (blend/blend.c): weights, and rest positions and joints if they are fitted. */
pelt_result pelt_fit_blend(pelt_fitting *fitting, pelt_error *error);

/* Adds driven joints to the model: those that the options name, or that the examples call for
   (blend/driven_choice.c). */
pelt_result pelt_choose_driven(pelt_fitting *fitting, pelt_error *error);

/* The steps that joints may be given, by how far they rotate in the examples; runs in a stage. */
pelt_result pelt_find_steps(pelt_fitting *fitting, pelt_steps *steps, pelt_error *error);

/* Takes from the joints the steps that do not pay: `with` is the measure of the model, which has them, on held-out
   examples, `without` that of a model that has half turns only (blend/steps.c). */
pelt_result pelt_weigh_steps(const pelt_model *model, const pelt_measure *with, const pelt_measure *without,
                             pelt_steps *steps, pelt_error *error);

/* Weights from the distance of a vertex to the bones (blend/distance.c). `influences` is the largest number of joints
   per vertex. */
pelt_result pelt_distance_weights(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton,
                                  uint32_t influences, uint32_t threads, pelt_influences *out, pelt_error *error);

/* Keeps the `most` largest weights of every vertex and normalises them. */
void pelt_limit_influences(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count, uint32_t most,
                           pelt_influences *out);

/* What a fit will take, roughly: seconds of one core, and bytes in memory and on disk under the limit (rig/spill.h).
   The options are resolved. */
typedef struct pelt_fit_needs {
    double seconds, memory, disk;
} pelt_fit_needs;
pelt_fit_needs pelt_fit_needs_of(const pelt_fit_options *options, double vertices, double examples);

#endif
