/* calibrate.c: from variances to errors, by examples that a fit has not seen.

       e^2 = floor + gain v        of a region
       E^2 = mean of e^2 over all vertices

   gain is the ratio of errors to the roots of variances, both summed and not squared, so that no single example decides;
   regions that few examples move lean on the others. What is said is e and E times a margin: the ratio of true to
   expected errors that 19 of 20 held-out examples stay below. */

#include "fit/confidence/confidence.h"
#include "fit/measure/measure.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>

static const double KEPT_PROMISES = 0.95;
static const double LEANING = 3;   /* what the other regions count, in examples */
static const double STILL = 1e-10; /* variances of a region at rest */
enum { ENOUGH_SEVERAL = 8 };

static double variance_of(const pelt_doubt_errors *h, const pelt_doubt_model *m, size_t e, uint32_t r) {
    return h->variances[e * m->region_count + r];
}
static double square_of(const pelt_doubt_errors *h, const pelt_doubt_model *m, size_t e, uint32_t r) {
    return h->squares[e * m->region_count + r];
}

/* The mean squared error where nothing near the region moves: what far joints do, and rounding. */
static void find_floor(const pelt_doubt_errors *h, const pelt_doubt_model *m, uint32_t r) {
    double sum = 0, least = INFINITY;
    size_t count = 0;
    for (size_t e = 0; e < h->count; e++) {
        double square = square_of(h, m, e, r);
        if (variance_of(h, m, e, r) <= STILL) sum += square, count++;
        least = fmin(least, square);
    }
    m->regions[r].floor = count ? sum / (double)count : least / 4;
}

/* The examples that move a region, and the ratio of its error to the root of its variance there. */
static size_t find_ratio(const pelt_doubt_errors *h, const pelt_doubt_model *m, uint32_t r, double *ratio) {
    double errors = 0, roots = 0;
    size_t count = 0;
    for (size_t e = 0; e < h->count; e++) {
        if (variance_of(h, m, e, r) <= STILL) continue;
        errors += sqrt(fmax(square_of(h, m, e, r) - m->regions[r].floor, 0)), roots += sqrt(variance_of(h, m, e, r));
        count++;
    }
    *ratio = errors > 0 && roots > 0 ? errors / roots : 0;
    return *ratio > 0 ? count : 0;
}

static void find_gains(pelt_arena *arena, const pelt_doubt_errors *h, pelt_doubt_model *m) {
    double *ratios = PELT_NEW(arena, m->region_count, double), logs = 0, all = 0;
    size_t *counts = PELT_NEW(arena, m->region_count, size_t);
    for (uint32_t r = 0; r < m->region_count; r++) {
        find_floor(h, m, r);
        counts[r] = find_ratio(h, m, r, &ratios[r]);
        if (counts[r]) logs += (double)counts[r] * log(ratios[r]), all += (double)counts[r];
    }
    for (uint32_t r = 0; r < m->region_count; r++) {
        double own = (double)counts[r], sum = counts[r] ? own * log(ratios[r]) : 0;
        m->regions[r].gain = all > 0 ? exp(2 * (sum + LEANING * logs / all) / (own + LEANING)) : 0;
    }
}

double pelt_doubt_frame(const pelt_doubt_model *m, const double *variances) {
    double sum = 0;
    for (uint32_t r = 0; r < m->region_count; r++)
        sum += (m->regions[r].floor + m->regions[r].gain * variances[r]) * m->regions[r].vertex_count;
    return sqrt(sum / m->vertex_count);
}

static double true_frame(const pelt_doubt_model *m, const double *squares) {
    double sum = 0;
    for (uint32_t r = 0; r < m->region_count; r++) sum += squares[r] * m->regions[r].vertex_count;
    return sqrt(sum / m->vertex_count);
}

/* The least value that is not below a share of those to come; the largest where there are too few to tell. */
static double promise(double *ratios, size_t count) {
    if (!count) return 1;
    size_t place = (size_t)ceil(KEPT_PROMISES * (double)(count + 1));
    qsort(ratios, count, sizeof *ratios, pelt_rising_doubles);
    return ratios[place < count ? place - 1 : count - 1];
}

/* Few values may happen to be small ones. The bound below which 95% of a normal distribution are, with a probability of
   95%, by the mean and the deviation of `count` of its logarithms (Natrella 1963). */
static double cautious_promise(double *ratios, size_t count) {
    const double z = 1.645;
    double mean = 0, square = 0, n = (double)count;
    if (count < PELT_LEAST_HELD) return promise(ratios, count);
    for (size_t i = 0; i < count; i++) mean += log(ratios[i]) / n;
    for (size_t i = 0; i < count; i++) square += pow(log(ratios[i]) - mean, 2) / (n - 1);
    double a = 1 - z * z / (2 * (n - 1)), b = z * z - z * z / n, k = (z + sqrt(z * z - a * b)) / a;
    return fmax(exp(mean + k * sqrt(square)), promise(ratios, count));
}

/* Examples that move several things say what poses of a character are like; if there are few, all count. */
static void find_margins(pelt_arena *arena, const pelt_doubt_errors *h, pelt_doubt_model *m) {
    double *ratios = PELT_NEW(arena, h->count, double), *said = PELT_NEW(arena, h->count, double);
    double *truth = PELT_NEW(arena, h->count, double), *parts = PELT_NEW(arena, h->count * m->region_count, double);
    size_t several = 0, count = 0, part_count = 0;
    for (size_t e = 0; e < h->count; e++) several += h->several[e];
    for (size_t e = 0; e < h->count; e++) {
        const double *v = h->variances + e * m->region_count, *s = h->squares + e * m->region_count;
        double expected = pelt_doubt_frame(m, v), error = true_frame(m, s);
        if ((several >= ENOUGH_SEVERAL && !h->several[e]) || !(expected > 0 && error > 0)) continue;
        ratios[count] = error / expected, said[count] = log(expected), truth[count] = log(error);
        count++;
        for (uint32_t r = 0; r < m->region_count; r++) {
            double one = m->regions[r].floor + m->regions[r].gain * v[r];
            if (one > 0) parts[part_count++] = sqrt(s[r] / one);
        }
    }
    m->frame_count = (uint32_t)count;
    m->correlation = pelt_correlation(said, truth, count);
    m->frame_margin = fmax(cautious_promise(ratios, count), 1e-3);
    m->region_margin = fmax(promise(parts, part_count), 1e-3);
    m->median = count ? m->frame_margin / fmax(pelt_quantile(ratios, count, 0.5), 1e-30) : 0;
}

void pelt_doubt_calibrate(pelt_arena *arena, pelt_doubt_model *model, const pelt_doubt_errors *held) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    find_gains(work, held, model);
    find_margins(work, held, model);
}
