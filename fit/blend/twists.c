/* twists.c: which joints are worth their twists. Two skins are fitted to some of the examples, one with the twists of all
   joints and one without, and measured on the others. The twists of joint j are judged where they matter, by the vertices
   v that follow them, in proportion to their weights:

       share_jv = sum over twists i of j of |w_vi| / sum over all i of |w_vi|

   They must clearly lower the error there, and must not make it rougher: more joints are more to choose from, which
   crumples a skin where they are not needed. */

#include "fit/fitting.h"
#include <math.h>

static const double worthwhile_ratio = 0.9; /* of errors with and without */

/* Squares, summed over vertices by their shares. */
typedef struct sums {
    double error_with, error_without, rough_with, rough_without;
} sums;

static double square(float x) { return (double)x * x; }

/* The joint whose twist a matrix is, or -1. */
static int32_t twist_of(const pelt_model *model, uint32_t matrix) {
    uint32_t joints = model->skeleton->joint_count;
    bool twist = matrix >= joints && model->driven[matrix - joints].kind == PELT_DRIVEN_TWIST;
    return twist ? (int32_t)model->driven[matrix - joints].driver : -1;
}

pelt_result pelt_weigh_twists(const pelt_model *model, const pelt_measure *with, const pelt_measure *without,
                              bool *worthwhile, pelt_error *error) {
    const pelt_influences *in = &model->influences;
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    sums *of = PELT_NEW(work, model->skeleton->joint_count, sums);
    if (!of) return pelt_no_memory(error);
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        double all = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) all += fabs((double)in->weights[i]);
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            int32_t joint = twist_of(model, in->joints[i]);
            if (joint < 0) continue;
            double share = fabs((double)in->weights[i]) / all;
            of[joint].error_with += share * square(with->vertex_rms[v]);
            of[joint].error_without += share * square(without->vertex_rms[v]);
            of[joint].rough_with += share * square(with->vertex_rough[v]);
            of[joint].rough_without += share * square(without->vertex_rough[v]);
        }
    }
    for (uint32_t j = 0; j < model->skeleton->joint_count; j++)
        worthwhile[j] = of[j].error_with < worthwhile_ratio * worthwhile_ratio * of[j].error_without &&
                        of[j].rough_with <= of[j].rough_without;
    return PELT_OK;
}
