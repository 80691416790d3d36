/* psd_choose.c: the width of phi, and whether it is mixed or a plain Gaussian, by poses that the fit has not seen:

       left out     each pose that lies between others, predicted by the rest, in closed form (rbf.h);
       superposed   where few examples move several joints: poses made from sweeps (superposed.h).

   Leaving out poses of sweeps alone cannot find the width: it asks how a joint's own examples are joined, never what
   happens where several joints move, which is far from all of them and where narrow functions have faded. */

#include "fit/corrective/psd.h"
#include "fit/corrective/superposed.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

const double pelt_psd_widths[PELT_PSD_ALL_WIDTHS] = {0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11};

static const double CLEARLY = 0.95; /* ratio of squared errors */

void pelt_psd_phi(const pelt_psd *p, double width, size_t count, const uint32_t *poses, double *phi) {
    size_t n = p->distinct.count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k <= i; k++)
            phi[i * count + k] = phi[k * count + i] =
                pelt_phi_value(p->phi, width, p->distances[poses[i] * n + poses[k]]) +
                (i == k ? pelt_phi_ridge(p->phi) : 0);
}

double pelt_psd_distance(const pelt_psd *p) {
    size_t n = p->distinct.count;
    double sum = 0;
    for (size_t i = 0; i < n * n; i++) sum += p->distances[i];
    return n > 1 ? sqrt(sum / (double)(n * (n - 1))) : 1;
}

/* -- Superposed poses ------------------------------------------------------------------------------------------------ */

typedef struct superposed {
    size_t count;
    double *distances; /* [count][tried] squared */
    double *values;    /* [count][rank] */
} superposed;

/* The place of an example's pose among the tried ones; false: it is not one of them. */
static bool find_tried(const pelt_psd *p, uint32_t example, uint32_t *place) {
    for (*place = 0; *place < p->tried_count; ++*place)
        if (p->tried[*place] == p->distinct.pose_of[example]) return true;
    return false;
}

/* Moves one thing as an example does, and adds what that displaces. */
static void add_sweep(const pelt_psd *p, uint32_t mover, uint32_t example, uint32_t place, float *rotations,
                      float *controls, double *value) {
    const pelt_poses *poses = &p->distinct.poses;
    size_t joints = poses->joint_count;
    for (size_t j = 0; j < joints; j++)
        if (poses->mover_of[j] == mover)
            memcpy(rotations + 4 * j, poses->rotations + 4 * (example * joints + j), 4 * sizeof *rotations);
    if (pelt_is_control(&poses->movers[mover])) {
        uint32_t control = poses->movers[mover].first;
        controls[control] = poses->controls[(size_t)example * poses->control_count + control];
    }
    for (size_t k = 0; k < p->rank; k++) value[k] += p->factor[place * p->rank + k];
}

static void distances_from(const pelt_psd *p, const pelt_pose_state *pose, double *out) {
    const pelt_sources *s = &p->sources;
    for (size_t q = 0; q < p->tried_count; q++) {
        const float *center = s->centers + 4 * (size_t)p->tried[q] * s->axis_count;
        out[q] = 0;
        for (uint32_t a = 0; a < s->axis_count; a++)
            out[q] += s->axes[a].weight * pelt_axis_distance2(&s->axes[a], pose, center + 4 * (size_t)a);
    }
}

/* One of them: the examples that its movers are taken from. */
static void superpose(const pelt_psd *p, const uint32_t *examples, double *distances, double *value) {
    const pelt_poses *poses = &p->distinct.poses;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(p->work);
    float *rotations = PELT_NEW(work, 4 * (size_t)poses->joint_count, float),
          *controls = PELT_NEW(work, poses->control_count, float);
    for (size_t j = 0; j < poses->joint_count; j++) rotations[4 * j + 3] = 1;
    for (uint32_t g = 0, place; g < poses->mover_count; g++)
        if (examples[g] != PELT_REST_EXAMPLE && find_tried(p, examples[g], &place))
            add_sweep(p, g, examples[g], place, rotations, controls, value);
    distances_from(p, &(pelt_pose_state){rotations, p->distinct.translations, controls}, distances);
}

static superposed superpose_sweeps(const pelt_psd *p) {
    const pelt_poses *poses = &p->distinct.poses;
    pelt_superposed made = pelt_superpose_sweeps(p->work, poses);
    superposed s = {.count = made.count};
    s.distances = PELT_NEW(p->work, s.count * p->tried_count, double);
    s.values = PELT_NEW(p->work, s.count * p->rank, double);
    for (size_t i = 0; i < s.count; i++)
        superpose(p, made.examples + i * poses->mover_count, s.distances + i * p->tried_count, s.values + i * p->rank);
    return s;
}

/* The sum of their squared errors; inverse is that of phi. */
static double superposed_error(const pelt_psd *p, const superposed *s, double width, const double *inverse) {
    size_t n = p->tried_count, rank = p->rank;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(p->work);
    double *phi = PELT_NEW(work, s->count * n, double), *r = PELT_NEW(work, s->count * n, double);
    double *predicted = PELT_NEW(work, s->count * rank, double), sum = 0;
    for (size_t i = 0; i < s->count * n; i++) phi[i] = pelt_phi_value(p->phi, width, s->distances[i]);
    pelt_gemm(false, false, s->count, n, n, 1, phi, inverse, 0, r);
    pelt_gemm(false, false, s->count, rank, n, 1, r, p->factor, 0, predicted);
    for (size_t i = 0; i < s->count; i++) {
        double norm = 0;
        for (size_t q = 0; q < n; q++) norm += r[i * n + q];
        double guard = pelt_guard_norm(p->norm_floor, norm);
        for (size_t k = 0; k < rank; k++) sum += pow(guard * predicted[i * rank + k] - s->values[i * rank + k], 2);
    }
    return sum;
}

/* -- The choice ---------------------------------------------------------------------------------------------------- */

static const bool *poses_to_leave_out(const pelt_psd *p) {
    bool *out = PELT_NEW(p->work, p->tried_count, bool), any = false;
    for (uint32_t i = 0; i < p->tried_count; i++) any |= out[i] = p->distinct.interior[p->tried[i]];
    for (uint32_t i = 1; i < p->tried_count && !any; i++) out[i] = true;
    return out;
}

/* The best width for the current function; returns its squared error. */
static double choose_width(pelt_psd *p, const superposed *s) {
    size_t n = p->tried_count;
    double *phi = PELT_NEW(p->work, n * n, double);
    const bool *marked = poses_to_leave_out(p);
    int widths = s->count ? PELT_PSD_ALL_WIDTHS : PELT_PSD_WIDTHS;
    double typical = pelt_psd_distance(p), best = INFINITY, given = p->fitting->options.psd.width;
    p->width = given > 0 ? given : pelt_psd_widths[0] * typical;
    for (int w = 0; w < (given > 0 ? 1 : widths) && typical > 0; w++) {
        double growth, width = given > 0 ? given : pelt_psd_widths[w] * typical;
        pelt_psd_phi(p, width, n, p->tried, phi);
        double error = pelt_leave_one_out(p->work, n, phi, p->rank, p->factor, marked, p->norm_floor, &growth);
        if (s->count && isfinite(error)) error += superposed_error(p, s, width, phi);
        if (error < best && (growth < PELT_PSD_GROWTH || given > 0)) best = error, p->width = width;
    }
    if (!(p->width > 0)) p->width = 1;
    return best;
}

/* The mixed function interpolates the examples; the plain Gaussian only comes close, so it must predict clearly better,
   and poses of several joints must show it. */
void pelt_psd_choose(pelt_psd *p) {
    superposed s = superpose_sweeps(p);
    double mixed = choose_width(p, &s), width = p->width;
    bool shown = s.count || pelt_shows_several(&p->distinct.poses);
    if (p->fitting->options.psd.rbf || !shown) return;
    p->phi = PELT_PHI_GAUSSIAN;
    if (choose_width(p, &s) < CLEARLY * mixed) return;
    p->phi = PELT_PHI_MIXED, p->width = width;
}
