/* blend.h: what the fitted blends share: results per point, and how they become the model's influences. */

#ifndef PELT_BLEND_H
#define PELT_BLEND_H

#include "fit/blend/convex.h"
#include "rig/ranks.h"

/* Weights and rest position of every point, over candidates. */
typedef struct pelt_blend_result {
    uint32_t most;     /* capacity per point */
    uint32_t *counts;  /* [point] */
    uint32_t *joints;  /* [point][most] candidates */
    double *weights;   /* [point][most] */
    double (*rest)[3]; /* [point], in the gram's units */
    double *errors;    /* [point] squared, summed over the examples, in the gram's units */
} pelt_blend_result;

pelt_blend_result pelt_blend_result_new(pelt_arena *arena, uint32_t points, uint32_t most);
void pelt_blend_store(pelt_blend_result *result, uint32_t point, const pelt_weights *weights, const double rest[3]);

enum { PELT_BLEND_ROWS = 5 };
/* Where the result is, point by point, for loops over several ranks. */
void pelt_blend_rows(const pelt_blend_result *result, pelt_made rows[PELT_BLEND_ROWS]);

/* Sets the model's influences and rest positions. Points that are `locked` (may be NULL) keep the file's. */
void pelt_blend_finish(pelt_fitting *fitting, const pelt_candidates *candidates, const pelt_gram *gram,
                       const pelt_blend_result *result, const bool *locked);

/* Reports joints with weight in the file that the examples cannot distinguish. */
void pelt_report_twins(pelt_fitting *fitting, const pelt_candidates *candidates);

/* True when a name matches one of the list. */
bool pelt_name_listed(pelt_names names, const char *name);
/* The first name of the list that matches no joint, or NULL. */
const char *pelt_unknown_name(pelt_names names, const pelt_skeleton *skeleton);

/* Convex weights on the skeleton's joints (weights.c), and Mohr & Gleicher's blend (joints.c). */
pelt_result pelt_fit_weights(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_joints(pelt_fitting *fitting, pelt_error *error);

#endif
