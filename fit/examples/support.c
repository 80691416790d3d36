/* support.c: which mover moves which part of the skin, by how far its motion displaces a point: alone (EigenSkin, 2.2),
   or, for movers that no example moves alone, as drivers.c finds.

   The effect of a joint may show only while a muscle is tense, and vice versa. So with controls, examples that differ
   in one mover complement the sweeps: the difference of their displacements shows exactly what it does. */

#include "fit/examples/drivers.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

static const double NOISY = 2.5;       /* deviations in a coordinate: what is left of noise moves no point farther */
static const double SAME_ANGLE = 1e-3; /* radians; likewise for translations and controls, relative to their range */

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
            const float *a = pelt_displacement(u, e, i), *b = pelt_displacement(u, o, i);
            float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
            amplitudes[i] = fmaxf(amplitudes[i], sqrtf(x * x + y * y + z * z));
        }
    }
}

/* -- Amplitudes ---------------------------------------------------------------------------------------------------- */

static void measure_sweeps(const pelt_poses *poses, const pelt_example_displacements *u, pelt_supports *out) {
    for (uint32_t e = 0; e < poses->count; e++) {
        uint32_t mover = poses->sweep_of[e];
        if (mover == PELT_NO_MOVER) continue;
        float *amplitudes = out->amplitudes + (size_t)mover * u->point_count;
        for (uint32_t i = 0; i < u->point_count; i++) {
            const float *d = pelt_displacement(u, e, i);
            amplitudes[i] = fmaxf(amplitudes[i], sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        }
    }
}

static void find_peaks(pelt_supports *s) {
    for (uint32_t g = 0; g < s->mover_count; g++)
        for (uint32_t i = 0; i < s->point_count; i++)
            s->peaks[g] = fmaxf(s->peaks[g], s->amplitudes[(size_t)g * s->point_count + i]);
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
                      const pelt_example_displacements *u, uint32_t threads, pelt_supports *out) {
    pelt_supports_alone(arena, model, poses, u, threads, &(pelt_lone_poses){0}, NULL, out);
}

void pelt_supports_alone(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                         const pelt_example_displacements *u, uint32_t threads, const pelt_lone_poses *wanted,
                         float *lone, pelt_supports *out) {
    size_t size = (size_t)poses->mover_count * u->point_count;
    *out = (pelt_supports){
        .mover_count = poses->mover_count,
        .point_count = u->point_count,
        .noise = (float)fmax(1e-5 * pelt_diagonal(model->positions, model->vertex_count), NOISY * u->noise),
        .amplitudes = PELT_NEW(arena, size, float),
        .peaks = PELT_NEW(arena, poses->mover_count, float),
        .carried = PELT_NEW(arena, size + u->point_count, float)};
    uint32_t *carriers = PELT_NEW(arena, poses->joint_count, uint32_t);
    measure_sweeps(poses, u, out);
    for (uint32_t g = 0; g < poses->mover_count && poses->control_count; g++)
        compare_pairs(poses, u, g, out->amplitudes + (size_t)g * u->point_count);
    find_peaks(out);
    for (uint32_t j = 0; j < poses->joint_count; j++) carriers[j] = carrier_of(model->skeleton, poses, j);
    sum_carried(model, poses, u, carriers, out);
    pelt_find_drivers(arena, model, poses, u, threads, wanted, lone, out);
    find_peaks(out);
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
            sum += most[d->coefficients[at]] * sqrt(pelt_square_length(u));
        }
        largest = fmax(largest, sum);
    }
    return largest;
}
