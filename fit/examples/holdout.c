/* holdout.c: which examples a fit does not see, for an honest error estimate.

   Neighbouring frames of a motion are nearly identical: leaving out every fifth would measure memorisation, not
   generalisation. So whole stretches are held out of frames that follow each other in time, and evenly spread single
   frames out of independent poses. */

#include "fit/examples/poses.h"
#include "fit/fitting.h"
#include <math.h>

pelt_examples pelt_bundle_examples(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count) {
    pelt_examples all = {0};
    size_t total = 0;
    if (!bundle) return all;
    for (size_t c = 0; c < clip_count; c++) total += clips && clips[c] ? clips[c]->frame_count : 1;
    all.list = PELT_NEW(bundle->arena, total, pelt_example);
    if (pelt_arena_failed(bundle->arena)) return all;
    for (size_t c = 0; c < clip_count; c++) {
        const pelt_clip *clip = clips ? clips[c] : NULL;
        if (!clip) all.list[all.count++] = (pelt_example){0}; /* refused by whoever uses the list */
        for (uint32_t f = 0; clip && f < clip->frame_count; f++) {
            float weight = clip->example_weights ? clip->example_weights[f] : 1;
            if (weight != 0) all.list[all.count++] = (pelt_example){clip, f, weight};
        }
    }
    return all;
}

/* A motion if neighbouring frames are much more similar than random ones. The mean squared distance of random frames is
   twice the variance; unlike the distance at some fixed lag, that also works for cycles. Computed coordinate by
   coordinate, so that no mean frame has to be stored. */
bool pelt_is_motion(const pelt_bundle *bundle, const pelt_example *run, size_t count) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    double near = 0, variance = 0;
    for (size_t c = 0; c < n; c++) {
        double before = 0, sum = 0, squares = 0;
        double origin = run[0].clip->positions[n * run[0].frame + c];
        for (size_t i = 0; i < count; i++) {
            double x = run[i].clip->positions[n * run[i].frame + c] - origin;
            if (i) near += (x - before) * (x - before);
            sum += x, squares += x * x, before = x;
        }
        variance += squares - sum * sum / (double)count;
    }
    return near < PELT_MOTION_STEP * 2 * variance;
}

pelt_result pelt_split_examples(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples all, double fraction,
                                pelt_examples *kept, pelt_examples *held, pelt_error *error) {
    pelt_result result = pelt_check_examples(bundle, all, true, error);
    if (result) return result;
    if (!(fraction >= 0 && fraction < 1))
        return pelt_fail_option(error, "holdout", " must be at least 0 and less than 1, not %g", fraction);
    *kept = *held = (pelt_examples){0};
    kept->list = PELT_NEW(arena, all.count, pelt_example);
    held->list = PELT_NEW(arena, all.count, pelt_example);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        size_t count = end - begin;
        /* A stretch is a twelfth of the motion, or less if less is requested: several short ones cover more kinds of
           movement than one long one. */
        size_t stretch = (size_t)fmin((double)((count + 11) / 12), fmax(round(fraction * (double)count), 1));
        if (!pelt_is_motion(bundle, all.list + begin, count)) stretch = 1;
        double owed = 0;
        for (size_t i = 0; i < count; i += stretch) {
            size_t length = stretch < count - i ? stretch : count - i;
            owed += fraction * (double)length;
            bool out = i > 0 && owed >= 0.5 * (double)length;
            if (out) owed -= (double)length;
            for (size_t k = i; k < i + length; k++) {
                pelt_examples *list = out ? held : kept;
                list->list[list->count++] = all.list[begin + k];
            }
        }
    }
    return PELT_OK;
}

pelt_result pelt_hold_out(pelt_bundle *bundle, pelt_examples all, double fraction, pelt_examples *kept,
                          pelt_examples *held, pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(kept, error) || PELT_MISSING(held, error))
        return PELT_ERROR_ARGUMENT;
    return pelt_split_examples(bundle->arena, bundle, all, fraction, kept, held, error);
}
