/* support.c: which mover moves which part of the skin: by how far its motion displaces a point (EigenSkin, 2.2), and,
   for movers that no example moves alone, by blend weight.

   Controls need more: the effect of a joint may show only while a muscle is tense, and vice versa. So with controls,
   two kinds of evidence complement the sweeps. Examples that differ only in the mover show exactly what it does, by the
   difference of their displacements. For controls that no example moves alone, the displacements of a point are
   regressed on the value c,

       u_e = a + b1 c_e + b2 c_e^2 + effects of other movers,

   and if that explains more than chance would, the control's amplitude is the largest |b1 c + b2 c^2| over the
   examples. */

#include "fit/examples/support.h"
#include <math.h>
#include <string.h>

static const double SAME_ANGLE = 1e-3; /* radians; likewise for translations and controls, relative to their range */
enum { LEAST_EXAMPLES = 12 };
static const double BY_CHANCE = 10; /* over the number of examples: the share of variance explained by chance */

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

/* Compares each example with the first similar one: enough to see what moves, without examining all pairs. */
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
    double inverse[3]; /* of their centred Gram matrix: 11, 12, 22 */
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
    double ridge = 1e-6 * (gram[0] + gram[2]) + 1e-30; /* with only two values, c and c^2 are collinear */
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
    /* If its effect alone is known, joints must not be mistaken for it; and few examples tell nothing. */
    if (!pelt_is_control(d) || d->swept || poses->count < LEAST_EXAMPLES) return;
    parabola p = parabola_of(poses, d->first);
    for (uint32_t i = 0; i < u->point_count; i++) amplitudes[i] = fmaxf(amplitudes[i], (float)regress(&p, u, i));
}

/* -- Amplitudes ---------------------------------------------------------------------------------------------------- */

static void measure_sweeps(const pelt_poses *poses, const pelt_example_displacements *u, pelt_supports *out) {
    for (uint32_t e = 0; e < poses->count; e++) {
        uint32_t mover = poses->sweep_of[e];
        if (mover == PELT_NO_MOVER) continue;
        float *amplitudes = out->amplitudes + (size_t)mover * u->point_count;
        for (uint32_t i = 0; i < u->point_count; i++) {
            const float *d = displacement(u, e, i);
            amplitudes[i] = fmaxf(amplitudes[i], sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        }
    }
}

/* With controls, examples that move several things say more than sweeps. */
static void measure_amplitudes(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                               pelt_supports *out) {
    measure_sweeps(poses, u, out);
    float *found = PELT_NEW(arena, u->point_count, float);
    for (uint32_t g = 0; g < poses->mover_count; g++) {
        float *amplitudes = out->amplitudes + (size_t)g * u->point_count;
        if (poses->control_count) pelt_mover_amplitudes(poses, u, g, found);
        for (uint32_t i = 0; i < u->point_count; i++) {
            amplitudes[i] = fmaxf(amplitudes[i], found[i]);
            out->peaks[g] = fmaxf(out->peaks[g], amplitudes[i]);
        }
    }
}

/* -- What movers carry --------------------------------------------------------------------------------------------- */

/* The mover that moves a joint: its own, or that of the nearest ancestor that has one. */
static uint32_t carrier_of(const pelt_skeleton *skeleton, const pelt_poses *poses, uint32_t joint) {
    for (int32_t j = (int32_t)joint; j >= 0; j = skeleton->parents[j])
        if (poses->mover_of[j] != PELT_NO_MOVER) return poses->mover_of[j];
    return PELT_NO_MOVER;
}

static void sum_carried(const pelt_model *model, const pelt_poses *poses, const pelt_example_displacements *u,
                        const uint32_t *carriers, pelt_supports *out) {
    const pelt_influences *in = &model->influences;
    for (uint32_t i = 0; i < u->point_count; i++) {
        uint32_t v = u->vertex_of[i];
        for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) {
            uint32_t joint = in->joints[k]; /* joints that the blend adds to the skeleton are driven by others */
            if (joint >= poses->joint_count) continue;
            uint32_t row = carriers[joint] == PELT_NO_MOVER ? poses->mover_count : carriers[joint];
            out->carried[(size_t)row * u->point_count + i] += in->weights[k];
        }
    }
}

void pelt_supports_of(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                      const pelt_example_displacements *u, pelt_supports *out) {
    size_t size = (size_t)poses->mover_count * u->point_count;
    *out = (pelt_supports){.mover_count = poses->mover_count,
                           .point_count = u->point_count,
                           .noise = (float)(1e-5 * pelt_diagonal(model->positions, model->vertex_count)),
                           .amplitudes = PELT_NEW(arena, size, float),
                           .peaks = PELT_NEW(arena, poses->mover_count, float),
                           .carried = PELT_NEW(arena, size + u->point_count, float)};
    uint32_t *carriers = PELT_NEW(arena, poses->joint_count, uint32_t);
    measure_amplitudes(arena, poses, u, out);
    for (uint32_t j = 0; j < poses->joint_count; j++) carriers[j] = carrier_of(model->skeleton, poses, j);
    sum_carried(model, poses, u, carriers, out);
}

float pelt_carried_around(const pelt_supports *s, const pelt_poses *poses, uint32_t mover, uint32_t point) {
    uint32_t parent = poses->movers[mover].parent, above = parent == PELT_NO_MOVER ? poses->mover_count : parent;
    return s->carried[(size_t)mover * s->point_count + point] + s->carried[(size_t)above * s->point_count + point];
}

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

const char *pelt_mover_name(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses, uint32_t mover) {
    const pelt_mover *d = &poses->movers[mover];
    if (pelt_is_control(d)) return poses->control_list[d->first].name;
    const char *name = skeleton->names[poses->members[d->first]];
    for (uint32_t k = 1; k < d->count; k++)
        name = pelt_arena_format(arena, "%s+%s", name, skeleton->names[poses->members[d->first + k]]);
    return name;
}

/* -- Displacements of vertices ------------------------------------------------------------------------------------- */

pelt_displacements *pelt_gather_displacements(pelt_arena *arena, const pelt_example_displacements *u,
                                              const pelt_entry *entries, size_t count) {
    uint32_t *first = PELT_NEW(arena, (size_t)u->point_count + 1, uint32_t);
    uint32_t *list = PELT_NEW(arena, count, uint32_t);
    pelt_displacements *out = PELT_NEW(arena, 1, pelt_displacements);
    out->first = PELT_NEW(arena, (size_t)u->vertex_count + 1, uint32_t);
    for (size_t e = 0; e < count; e++) first[entries[e].point + 1]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 1] += first[i];
    for (size_t e = count; e-- > 0;)
        list[--first[entries[e].point + 1]] = (uint32_t)e; /* first[i + 1] is now the start of i */
    for (uint32_t v = 0; v < u->vertex_count; v++) {
        uint32_t i = u->point_of[v], end = i + 1 < u->point_count ? first[i + 2] : (uint32_t)count;
        out->first[v + 1] = out->first[v] + end - first[i + 1];
    }
    size_t total = out->first[u->vertex_count];
    out->coefficients = PELT_NEW(arena, total, uint32_t);
    out->vectors = PELT_NEW(arena, 3 * total, float);
    for (uint32_t v = 0; v < u->vertex_count; v++) {
        const uint32_t *from = list + first[u->point_of[v] + 1];
        for (size_t at = out->first[v]; at < out->first[v + 1]; at++, from++) {
            out->coefficients[at] = entries[*from].coefficient;
            memcpy(out->vectors + 3 * at, entries[*from].position, sizeof entries->position);
        }
    }
    return out;
}

double pelt_largest_displacement(const pelt_displacements *d, uint32_t vertex_count, const double *most) {
    double largest = 0;
    for (uint32_t v = 0; v < vertex_count; v++) {
        double sum = 0;
        for (size_t at = d->first[v]; at < d->first[v + 1]; at++) {
            const float *u = d->vectors + 3 * at;
            sum += most[d->coefficients[at]] * sqrt((double)u[0] * u[0] + (double)u[1] * u[1] + (double)u[2] * u[2]);
        }
        largest = fmax(largest, sum);
    }
    return largest;
}
