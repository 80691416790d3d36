/* control_support.c: which points a mover moves, when examples move other things beside it. Controls call for it: what
   a joint does may show only where a muscle is tense, and the other way round.

   Two kinds of evidence. Examples that differ in nothing but the mover say it exactly: by how far their displacements
   are apart. For controls that no example moves alone, the displacements of a point are regressed on the value c,

       u_e = a + b1 c_e + b2 c_e^2 + what other movers do,

   and where that explains more than chance would, the control's part is the largest |b1 c + b2 c^2| of the examples. */

#include "fit/examples/support.h"
#include <math.h>
#include <string.h>

static const double SAME_ANGLE = 1e-3; /* radians; translations and controls likewise, as parts of their range */
enum { LEAST_EXAMPLES = 12 };
static const double BY_CHANCE = 10; /* over the number of examples: the share of variance that chance explains */

static const float *displacement(const pelt_example_displacements *u, uint32_t example, uint32_t point) {
    return u->positions + 3 * ((size_t)example * u->point_count + point);
}

/* -- Examples that differ in one mover alone ----------------------------------------------------------------------- */

static bool all_else_is_same(const pelt_poses *p, uint32_t mover, uint32_t a, uint32_t b) {
    size_t joints = p->joint_count, controls = p->control_count;
    for (size_t j = 0; j < joints; j++) {
        if (p->mover_of[j] == mover) continue;
        const float *s = p->translations + 3 * (a * joints + j), *t = p->translations + 3 * (b * joints + j);
        if (p->moves[j] &&
            pelt_rotation_angle(p->rotations + 4 * (a * joints + j), p->rotations + 4 * (b * joints + j)) > SAME_ANGLE)
            return false;
        for (int i = 0; i < 3 && p->slides[j]; i++)
            if (fabs((double)s[i] - t[i]) > SAME_ANGLE * p->size) return false;
    }
    for (size_t c = 0; c < controls; c++) {
        double gap = (double)p->controls[a * controls + c] - p->controls[b * controls + c];
        if (p->mover_count - controls + c != mover && fabs(gap * p->control_list[c].scale) > SAME_ANGLE) return false;
    }
    return true;
}

/* An example is compared with the first that is like it: enough to see what moves, without looking at all pairs. */
static void compare_pairs(const pelt_poses *p, const pelt_example_displacements *u, uint32_t mover, float *amplitudes) {
    for (uint32_t e = 1; e < p->count; e++) {
        uint32_t o = 0;
        while (o < e && !all_else_is_same(p, mover, e, o)) o++;
        for (uint32_t i = 0; i < u->point_count && o < e; i++) {
            const float *a = displacement(u, e, i), *b = displacement(u, o, i);
            float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
            amplitudes[i] = fmaxf(amplitudes[i], sqrtf(x * x + y * y + z * z));
        }
    }
}

/* -- Regression ---------------------------------------------------------------------------------------------------- */

typedef struct parabola {
    const pelt_poses *poses;
    uint32_t control;
    double means[2];   /* of c and c^2, in units of the range */
    double inverse[3]; /* of the Gram matrix of both, without their means: 11, 12, 22 */
} parabola;

static double power_of(const parabola *p, uint32_t example, int which) {
    double c = p->poses->controls[(size_t)example * p->poses->control_count + p->control];
    c *= p->poses->control_list[p->control].scale;
    return which ? c * c : c;
}

static parabola parabola_of(const pelt_poses *poses, uint32_t control) {
    parabola p = {.poses = poses, .control = control};
    double gram[3] = {0};
    for (uint32_t e = 0; e < poses->count; e++)
        for (int k = 0; k < 2; k++) p.means[k] += power_of(&p, e, k) / poses->count;
    for (uint32_t e = 0; e < poses->count; e++) {
        double x = power_of(&p, e, 0) - p.means[0], y = power_of(&p, e, 1) - p.means[1];
        gram[0] += x * x, gram[1] += x * y, gram[2] += y * y;
    }
    double ridge = 1e-6 * (gram[0] + gram[2]) + 1e-30; /* with two values c and c^2 are one */
    gram[0] += ridge, gram[2] += ridge;
    double determinant = gram[0] * gram[2] - gram[1] * gram[1];
    p.inverse[0] = gram[2] / determinant, p.inverse[1] = -gram[1] / determinant, p.inverse[2] = gram[0] / determinant;
    return p;
}

static double regress(const parabola *p, const pelt_example_displacements *u, uint32_t point) {
    uint32_t n = p->poses->count;
    double mean[3] = {0}, moments[2][3] = {{0}}, slopes[2][3], total = 0, explained = 0, largest = 0;
    for (uint32_t e = 0; e < n; e++)
        for (int i = 0; i < 3; i++) mean[i] += displacement(u, e, point)[i] / (double)n;
    for (uint32_t e = 0; e < n; e++)
        for (int i = 0; i < 3; i++) {
            double x = displacement(u, e, point)[i] - mean[i];
            total += x * x;
            for (int k = 0; k < 2; k++) moments[k][i] += (power_of(p, e, k) - p->means[k]) * x;
        }
    for (int i = 0; i < 3; i++) {
        slopes[0][i] = p->inverse[0] * moments[0][i] + p->inverse[1] * moments[1][i];
        slopes[1][i] = p->inverse[1] * moments[0][i] + p->inverse[2] * moments[1][i];
        explained += slopes[0][i] * moments[0][i] + slopes[1][i] * moments[1][i];
    }
    if (!(explained > BY_CHANCE / n * total)) return 0;
    for (uint32_t e = 0; e < n; e++) {
        double square = 0, x = power_of(p, e, 0), y = power_of(p, e, 1);
        for (int i = 0; i < 3; i++) square += pow(slopes[0][i] * x + slopes[1][i] * y, 2);
        largest = fmax(largest, square);
    }
    return sqrt(largest);
}

void pelt_mover_amplitudes(const pelt_poses *poses, const pelt_example_displacements *u, uint32_t mover,
                           float *amplitudes) {
    const pelt_mover *d = &poses->movers[mover];
    memset(amplitudes, 0, u->point_count * sizeof *amplitudes);
    compare_pairs(poses, u, mover, amplitudes);
    /* Where what it does alone is known, joints must not be taken for it; and few examples tell nothing. */
    if (!pelt_is_control(d) || d->swept || poses->count < LEAST_EXAMPLES) return;
    parabola p = parabola_of(poses, d->first);
    for (uint32_t i = 0; i < u->point_count; i++) amplitudes[i] = fmaxf(amplitudes[i], (float)regress(&p, u, i));
}

/* -- Partners ------------------------------------------------------------------------------------------------------ */

uint32_t pelt_control_partner(const pelt_supports *s, const pelt_poses *poses, uint32_t mover) {
    const float *own = s->amplitudes + (size_t)mover * s->point_count;
    uint32_t partner = PELT_NO_MOVER;
    double most = 0;
    for (uint32_t g = 0; g < poses->mover_count; g++) {
        if (pelt_is_control(&poses->movers[g])) continue;
        const float *other = (poses->movers[g].swept ? s->amplitudes : s->carried) + (size_t)g * s->point_count;
        double peak = poses->movers[g].swept ? s->peaks[g] : 1, common = 0;
        for (uint32_t i = 0; i < s->point_count && peak > 0; i++) common += own[i] * other[i] / peak;
        if (common > most) most = common, partner = g;
    }
    return partner;
}
