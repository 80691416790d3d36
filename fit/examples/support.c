/* support.c: which mover moves which part of the skin: by how far its own motion displaces a point (EigenSkin, 2.2),
   and, for movers that no example moves alone, by whose joints carry the point. */

#include "fit/examples/support.h"
#include <math.h>
#include <string.h>

static void measure_amplitudes(const pelt_poses *poses, const pelt_example_displacements *u, pelt_supports *out) {
    for (uint32_t e = 0; e < poses->count; e++) {
        uint32_t mover = poses->sweep_of[e];
        if (mover == PELT_NO_MOVER) continue;
        float *amplitudes = out->amplitudes + (size_t)mover * u->point_count;
        for (uint32_t i = 0; i < u->point_count; i++) {
            const float *d = u->positions + 3 * ((size_t)e * u->point_count + i);
            float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (length > amplitudes[i]) amplitudes[i] = length;
            if (length > out->peaks[mover]) out->peaks[mover] = length;
        }
    }
}

/* With controls, examples that move several things say more than sweeps do. */
static pelt_result measure_others(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                  pelt_supports *out) {
    float *found = PELT_NEW(arena, u->point_count, float);
    if (!found) return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < poses->mover_count; g++) {
        float *amplitudes = out->amplitudes + (size_t)g * u->point_count;
        pelt_mover_amplitudes(poses, u, g, found);
        for (uint32_t i = 0; i < u->point_count; i++) {
            amplitudes[i] = fmaxf(amplitudes[i], found[i]);
            out->peaks[g] = fmaxf(out->peaks[g], amplitudes[i]);
        }
    }
    return PELT_OK;
}

/* The mover that moves a joint: its own, or that of the nearest joint above which has one. */
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
            uint32_t joint = in->joints[k]; /* joints that a blend adds beyond the skeleton are driven by others */
            if (joint >= poses->joint_count) continue;
            uint32_t row = carriers[joint] == PELT_NO_MOVER ? poses->mover_count : carriers[joint];
            out->carried[(size_t)row * u->point_count + i] += in->weights[k];
        }
    }
}

pelt_result pelt_supports_of(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                             const pelt_example_displacements *u, pelt_supports *out, pelt_error *error) {
    size_t size = (size_t)poses->mover_count * u->point_count;
    *out = (pelt_supports){.mover_count = poses->mover_count,
                           .point_count = u->point_count,
                           .noise = (float)(1e-5 * pelt_diagonal(model->positions, model->vertex_count)),
                           .amplitudes = PELT_NEW(arena, size, float),
                           .peaks = PELT_NEW(arena, poses->mover_count, float),
                           .carried = PELT_NEW(arena, size + u->point_count, float)};
    uint32_t *carriers = PELT_NEW(arena, poses->joint_count, uint32_t);
    if (out->amplitudes && out->peaks) measure_amplitudes(poses, u, out);
    if (!out->amplitudes || !out->peaks || !out->carried || !carriers ||
        (poses->control_count && measure_others(arena, poses, u, out)))
        return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the supports of %u joints",
                         poses->mover_count);
    for (uint32_t j = 0; j < poses->joint_count; j++) carriers[j] = carrier_of(model->skeleton, poses, j);
    sum_carried(model, poses, u, carriers, out);
    return PELT_OK;
}

float pelt_carried_around(const pelt_supports *s, const pelt_poses *poses, uint32_t mover, uint32_t point) {
    uint32_t parent = poses->movers[mover].parent, above = parent == PELT_NO_MOVER ? poses->mover_count : parent;
    return s->carried[(size_t)mover * s->point_count + point] + s->carried[(size_t)above * s->point_count + point];
}

const char *pelt_mover_name(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses, uint32_t mover) {
    const pelt_mover *d = &poses->movers[mover];
    if (pelt_is_control(d)) return poses->control_list[d->first].name;
    const char *name = skeleton->names[poses->members[d->first]];
    for (uint32_t k = 1; k < d->count && name; k++)
        name = pelt_arena_format(arena, "%s+%s", name, skeleton->names[poses->members[d->first + k]]);
    return name ? name : "";
}

pelt_displacements *pelt_gather_displacements(pelt_arena *arena, const pelt_example_displacements *u,
                                              const pelt_entry *entries, size_t count) {
    uint32_t *first = PELT_NEW(arena, (size_t)u->point_count + 1, uint32_t);
    uint32_t *list = PELT_NEW(arena, count, uint32_t);
    pelt_displacements *out = PELT_NEW(arena, 1, pelt_displacements);
    if (!first || !list || !out || !(out->first = PELT_NEW(arena, (size_t)u->vertex_count + 1, uint32_t))) return NULL;
    for (size_t e = 0; e < count; e++) first[entries[e].point + 1]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 1] += first[i];
    for (size_t e = count; e-- > 0;)
        list[--first[entries[e].point + 1]] = (uint32_t)e; /* first[i + 1]: now where i starts */
    for (uint32_t v = 0; v < u->vertex_count; v++) {
        uint32_t i = u->point_of[v], end = i + 1 < u->point_count ? first[i + 2] : (uint32_t)count;
        out->first[v + 1] = out->first[v] + end - first[i + 1];
    }
    size_t total = out->first[u->vertex_count];
    out->coefficients = PELT_NEW(arena, total, uint32_t);
    out->vectors = PELT_NEW(arena, 3 * total, float);
    if (!out->coefficients || !out->vectors) return NULL;
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
