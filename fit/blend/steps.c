/* steps.c: which joints are worth smaller steps than a half turn: quarters of their twist or of their turn. Two skins are
   fitted to some of the examples, one with the steps of all joints and one without, and measured on the others. The steps
   of joint j are judged where they matter, by the vertices v that follow them, in proportion to their weights:

       share_jv = sum over steps i of j of |w_vi| / sum over all i of |w_vi|

   Neither error nor roughness may grow there, and together they must clearly fall: more joints are more to choose from,
   which crumples a skin where they are not needed. */

#include "fit/fitting.h"
#include <math.h>

static const double worthwhile = 0.8; /* ratio of errors with and without, times that of roughness */

/* Squares, summed over vertices by their shares. */
typedef struct sums {
    double error_with, error_without, rough_with, rough_without;
} sums;

static double square(float x) { return (double)x * x; }

/* The joint whose step a matrix is, or -1. */
static int32_t step_of(const pelt_model *model, uint32_t matrix) {
    uint32_t joints = model->skeleton->joint_count;
    if (matrix < joints) return -1;
    const pelt_driven *d = &model->driven[matrix - joints];
    bool step = d->kind == PELT_DRIVEN_TWIST || (d->kind == PELT_DRIVEN_TURN && d->amount != 0.5f);
    return step ? (int32_t)d->driver : -1;
}

static bool pays(const sums *s) {
    double error = s->error_with / s->error_without, rough = s->rough_with / s->rough_without;
    return error <= 1 && rough <= 1 && error * rough < worthwhile * worthwhile;
}

pelt_result pelt_weigh_steps(const pelt_model *model, const pelt_measure *with, const pelt_measure *without,
                             pelt_steps *steps, pelt_error *error) {
    const pelt_influences *in = &model->influences;
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    sums *of = PELT_NEW(work, model->skeleton->joint_count, sums);
    if (!of) return pelt_no_memory(error);
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        double all = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) all += fabs((double)in->weights[i]);
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            int32_t joint = step_of(model, in->joints[i]);
            if (joint < 0) continue;
            double share = fabs((double)in->weights[i]) / all;
            of[joint].error_with += share * square(with->vertex_rms[v]);
            of[joint].error_without += share * square(without->vertex_rms[v]);
            of[joint].rough_with += share * square(with->vertex_rough[v]);
            of[joint].rough_without += share * square(without->vertex_rough[v]);
        }
    }
    for (uint32_t j = 0; j < model->skeleton->joint_count; j++)
        if (!pays(&of[j])) steps[j] = PELT_STEPS_HALF; /* also where no vertex follows them: 0 / 0 */
    return PELT_OK;
}
