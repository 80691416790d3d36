/* holdout.c: which examples a fit does not see, so that its error can be told honestly.

   Neighbouring frames of a motion are nearly alike: leaving out every fifth one would measure memory, not skill. So
   where frames follow one another in time, whole stretches are held out; where they are poses of their own, single
   ones, spread evenly. */

#include "rig/rig.h"
#include <math.h>

pelt_examples pelt_bundle_examples(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count) {
    pelt_examples all = {0};
    size_t total = 0;
    for (size_t c = 0; c < clip_count; c++) total += clips[c]->frame_count;
    all.list = PELT_NEW(bundle->arena, pelt_example, total);
    for (size_t c = 0; c < clip_count && all.list; c++)
        for (uint32_t f = 0; f < clips[c]->frame_count; f++) all.list[all.count++] = (pelt_example){clips[c], f};
    return all;
}

/* Mean squared distance of two frames. */
static double frame_distance(const pelt_bundle *bundle, const pelt_example *a, const pelt_example *b) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    const float *p = a->clip->positions + n * a->frame, *q = b->clip->positions + n * b->frame;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((double)p[i] - q[i]) * ((double)p[i] - q[i]);
    return sum;
}

/* True when neighbouring frames are much more alike than frames far apart. */
static bool is_motion(const pelt_bundle *bundle, const pelt_example *run, size_t count) {
    double near = 0, far = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        near += frame_distance(bundle, &run[i], &run[i + 1]);
        far += frame_distance(bundle, &run[i], &run[(i + count / 2) % count]);
    }
    return near < 0.2 * far;
}

pelt_result pelt_hold_out(pelt_bundle *bundle, pelt_examples all, double fraction, pelt_examples *kept,
                          pelt_examples *held, pelt_error *error) {
    if (!(fraction >= 0 && fraction < 1))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "--holdout %g: a fraction from 0 up to, but not including, 1 is meant", fraction);
    *kept = *held = (pelt_examples){0};
    kept->list = PELT_NEW(bundle->arena, pelt_example, all.count);
    held->list = PELT_NEW(bundle->arena, pelt_example, all.count);
    if (!kept->list || !held->list) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the examples");
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        size_t count = end - begin;
        /* A stretch is a twelfth of the motion: a few of them show more kinds of movement than one would. */
        size_t stretch = is_motion(bundle, all.list + begin, count) ? (count + 11) / 12 : 1;
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
