/* expected.c: a skin's own opinion of its errors beside the truth. */

#include "fit/measure/measure.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

double pelt_correlation(const double *a, const double *b, size_t count) {
    double means[2] = {0}, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < count; i++) means[0] += a[i] / (double)count, means[1] += b[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        double x = a[i] - means[0], y = b[i] - means[1];
        aa += x * x, bb += y * y, ab += x * y;
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* Frames without any error, such as the rest pose, have no logarithm, and count only below the bars. */
void pelt_measure_expectation(pelt_measure *m) {
    static const double shares[2] = {0.5, 0.9};
    pelt_expectation *e = &m->expectation;
    size_t n = m->frame_count, count = 0;
    if (!m->frame_expected) return;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(m->arena);
    double *expected = PELT_NEW(work, n, double), *truth = PELT_NEW(work, n, double);
    float *sorted = PELT_NEW(work, n, float);
    for (size_t f = 0; f < n; f++) {
        if (!(m->frame_rms[f] > 0 && m->frame_expected[f] > 0)) continue;
        expected[count] = log(m->frame_expected[f]), truth[count++] = log(m->frame_rms[f]);
    }
    e->correlation = pelt_correlation(expected, truth, count);
    for (int i = 0; i < 2; i++) {
        memcpy(sorted, m->frame_rms, n * sizeof *sorted);
        e->at[i].bar = pelt_quantile_floats(sorted, n, shares[i]);
        for (size_t f = 0; f < n; f++) {
            if (!(m->frame_expected[f] < e->at[i].bar)) continue;
            e->at[i].called++, e->at[i].worse += m->frame_rms[f] > e->at[i].bar;
        }
    }
}
