/* correctives.c: the stage of a fit that makes the corrective D: which way, and how finely it is stored.

   Half floats keep 11 bits. Whether that is enough depends on how much the terms of D cancel, so it is tried: the
   corrective is evaluated with both at some of the examples. */

#include "fit/correctives.h"
#include "fit/displacement.h"
#include "fit/pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct way {
    const char *name;
    pelt_result (*fit)(pelt_fitting *fitting, pelt_error *error);
} ways[] = {
    {"none", NULL},
    {"psd", pelt_fit_psd},
    {"wpsd", pelt_fit_wpsd},
    {"eigen", pelt_fit_eigenskin},
    {"kernel", pelt_fit_kernel},
};

const char *const pelt_correctives[] = {"none", "psd", "wpsd", "eigen", "kernel", NULL};

/* -- Half floats --------------------------------------------------------------------------------------------------- */

static const double HALF_TOLERANCE = 1e-5; /* of the diagonal */
enum { TRIED = 12 };

static float *halved(pelt_arena *arena, const float *values, size_t count) {
    float *out = PELT_NEW(arena, float, count + 1);
    for (size_t i = 0; out && i < count; i++) out[i] = pelt_half_value(pelt_half_of(values[i]));
    return out;
}

/* The same corrective as it is after a trip through half floats. */
static bool round_trip(pelt_arena *arena, const pelt_corrective *c, uint32_t vertex_count, pelt_corrective *out,
                       pelt_displacements *displacements, pelt_weighted *weighted) {
    *out = *c;
    if (c->displacements) {
        *displacements = *c->displacements;
        displacements->positions =
            halved(arena, c->displacements->positions, 3 * (size_t)c->displacements->first[vertex_count]);
        out->displacements = displacements;
        return displacements->positions != NULL;
    }
    *weighted = *c->weighted;
    weighted->folded = halved(arena, c->weighted->folded, 4 * (size_t)vertex_count * c->weighted->center_count);
    out->weighted = weighted;
    return weighted->folded != NULL;
}

/* Largest difference that half floats make at some of the examples, or INFINITY. */
static double half_error(pelt_fitting *f) {
    uint32_t n = f->model.vertex_count;
    pelt_arena *work = pelt_arena_new(0);
    pelt_corrective half;
    pelt_displacements displacements;
    pelt_weighted weighted;
    double *exact = work ? PELT_NEW(work, double, 3 * (size_t)n) : NULL, worst = 0;
    double *rounded = work ? PELT_NEW(work, double, 3 * (size_t)n) : NULL;
    pelt_transform *locals = work ? PELT_NEW(work, pelt_transform, f->bundle->skeleton.joint_count) : NULL;
    float *row = work ? PELT_NEW(work, float, f->bundle->controls.count + 1) : NULL;
    float *controls = work ? PELT_NEW(work, float, f->model.control_count + 1) : NULL;
    bool ready = exact && rounded && locals && row && controls &&
                 round_trip(work, f->model.corrective, n, &half, &displacements, &weighted);
    size_t tried = f->examples.count < TRIED ? f->examples.count : TRIED;
    for (size_t i = 0; i < tried && ready; i++) {
        const pelt_example *example = &f->examples.list[(2 * i + 1) * f->examples.count / (2 * tried)];
        pelt_clip_pose(example->clip, &f->bundle->skeleton, example->frame, locals);
        pelt_control_values(f->bundle, f->model.controls, f->model.control_count, example, row, controls);
        ready = pelt_corrective_eval(f->model.corrective, &f->bundle->skeleton, locals, controls, n, exact, NULL) &&
                pelt_corrective_eval(&half, &f->bundle->skeleton, locals, controls, n, rounded, NULL);
        for (size_t k = 0; k < 3 * (size_t)n && ready; k++)
            if (!(fabs(exact[k] - rounded[k]) <= worst)) worst = fabs(exact[k] - rounded[k]);
    }
    pelt_arena_free(work);
    return ready && isfinite(worst) ? worst : INFINITY;
}

static pelt_result choose_precision(pelt_fitting *f, pelt_error *error) {
    const char *wanted = f->options.displacements;
    if (!f->model.corrective || (wanted && !strcmp(wanted, "float"))) return PELT_OK;
    double worst = half_error(f);
    f->model.half_displacements = worst <= HALF_TOLERANCE * f->bundle->mesh.diagonal;
    if (!wanted || f->model.half_displacements) return PELT_OK;
    if (!isfinite(worst))
        return pelt_fail(error, PELT_ERROR_NUMBER,
                         "--displacements half: some displacements are beyond what half floats can hold; use float");
    f->model.half_displacements = true;
    return PELT_OK;
}

/* -- Controls ------------------------------------------------------------------------------------------------------ */

/* The model's controls are those that the poses had: the same examples give the same list. */
static pelt_result name_controls(pelt_fitting *f, pelt_error *error) {
    pelt_fit_control *list;
    if (!f->model.corrective) return PELT_OK;
    pelt_result result = pelt_varying_controls(f->arena, f->bundle, f->examples, f->options.control_scale, &list,
                                               &f->model.control_count, error);
    f->model.controls = list;
    return result;
}

/* -- The stage ----------------------------------------------------------------------------------------------------- */

pelt_result pelt_fit_corrective(pelt_fitting *f, pelt_error *error) {
    const char *precision = f->options.displacements, *weights = f->options.distance_weights;
    if (precision && strcmp(precision, "float") && strcmp(precision, "half"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--displacements %s: choose from float, half", precision);
    if (weights && strcmp(weights, "driving") && strcmp(weights, "blend"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--distance-weights %s: choose from driving, blend", weights);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].name, f->options.corrective) || !ways[i].fit) continue;
        if (pelt_report(&f->options.progress, f->options.corrective, 0))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        pelt_result result = ways[i].fit(f, error);
        if (!result) result = name_controls(f, error);
        return result ? result : choose_precision(f, error);
    }
    return PELT_OK;
}
