/* support.c: which driver moves which part of the skin: by how far its own motion displaces a point (EigenSkin, 2.2),
   and, for drivers that no example moves alone, by whose joints carry the point. */

#include "fit/examples/support.h"
#include <math.h>
#include <string.h>

static void measure_amplitudes(const pelt_poses *poses, const pelt_example_displacements *u, pelt_supports *out) {
    for (uint32_t e = 0; e < poses->count; e++) {
        uint32_t driver = poses->sweep_of[e];
        if (driver == PELT_NO_DRIVER) continue;
        float *amplitudes = out->amplitudes + (size_t)driver * u->point_count;
        for (uint32_t i = 0; i < u->point_count; i++) {
            const float *d = u->positions + 3 * ((size_t)e * u->point_count + i);
            float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (length > amplitudes[i]) amplitudes[i] = length;
            if (length > out->peaks[driver]) out->peaks[driver] = length;
        }
    }
}

/* With controls, examples that move several things say more than sweeps do. */
static pelt_result measure_others(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                  pelt_supports *out) {
    float *found = PELT_NEW(arena, float, u->point_count);
    if (!found) return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < poses->driver_count; g++) {
        float *amplitudes = out->amplitudes + (size_t)g * u->point_count;
        pelt_driver_amplitudes(poses, u, g, found);
        for (uint32_t i = 0; i < u->point_count; i++) {
            amplitudes[i] = fmaxf(amplitudes[i], found[i]);
            out->peaks[g] = fmaxf(out->peaks[g], amplitudes[i]);
        }
    }
    return PELT_OK;
}

/* The driver that moves a joint: its own, or that of the nearest joint above which has one. */
static uint32_t carrier_of(const pelt_skeleton *skeleton, const pelt_poses *poses, uint32_t joint) {
    for (int32_t j = (int32_t)joint; j >= 0; j = skeleton->parents[j])
        if (poses->driver_of[j] != PELT_NO_DRIVER) return poses->driver_of[j];
    return PELT_NO_DRIVER;
}

static void sum_carried(const pelt_model *model, const pelt_poses *poses, const pelt_example_displacements *u,
                        const uint32_t *carriers, pelt_supports *out) {
    const pelt_influences *in = &model->influences;
    for (uint32_t i = 0; i < u->point_count; i++) {
        uint32_t v = u->vertex_of[i];
        for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++) {
            uint32_t joint = in->joints[k]; /* joints that a blend adds beyond the skeleton are driven by others */
            if (joint >= poses->joint_count) continue;
            uint32_t row = carriers[joint] == PELT_NO_DRIVER ? poses->driver_count : carriers[joint];
            out->carried[(size_t)row * u->point_count + i] += in->weights[k];
        }
    }
}

pelt_result pelt_supports_of(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                             const pelt_example_displacements *u, pelt_supports *out, pelt_error *error) {
    size_t size = (size_t)poses->driver_count * u->point_count;
    *out = (pelt_supports){.driver_count = poses->driver_count,
                           .point_count = u->point_count,
                           .noise = (float)(1e-5 * pelt_diagonal(model->positions, model->vertex_count)),
                           .amplitudes = PELT_NEW(arena, float, size),
                           .peaks = PELT_NEW(arena, float, poses->driver_count),
                           .carried = PELT_NEW(arena, float, size + u->point_count)};
    uint32_t *carriers = PELT_NEW(arena, uint32_t, poses->joint_count);
    if (out->amplitudes && out->peaks) measure_amplitudes(poses, u, out);
    if (!out->amplitudes || !out->peaks || !out->carried || !carriers ||
        (poses->control_count && measure_others(arena, poses, u, out)))
        return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the supports of %u joints",
                         poses->driver_count);
    for (uint32_t j = 0; j < poses->joint_count; j++) carriers[j] = carrier_of(model->skeleton, poses, j);
    sum_carried(model, poses, u, carriers, out);
    return PELT_OK;
}

float pelt_carried_around(const pelt_supports *s, const pelt_poses *poses, uint32_t driver, uint32_t point) {
    uint32_t parent = poses->drivers[driver].parent, above = parent == PELT_NO_DRIVER ? poses->driver_count : parent;
    return s->carried[(size_t)driver * s->point_count + point] + s->carried[(size_t)above * s->point_count + point];
}

const char *pelt_driver_name(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses,
                             uint32_t driver) {
    const pelt_driver *d = &poses->drivers[driver];
    if (pelt_is_control(d)) return poses->control_list[d->first].name;
    const char *name = skeleton->names[poses->members[d->first]];
    for (uint32_t k = 1; k < d->count && name; k++)
        name = pelt_arena_format(arena, "%s+%s", name, skeleton->names[poses->members[d->first + k]]);
    return name ? name : "";
}

pelt_displacements *pelt_gather_displacements(pelt_arena *arena, const pelt_example_displacements *u,
                                              const pelt_entry *entries, size_t count) {
    uint32_t *first = PELT_NEW(arena, uint32_t, (size_t)u->point_count + 1);
    uint32_t *list = PELT_NEW(arena, uint32_t, count);
    pelt_displacements *out = PELT_NEW(arena, pelt_displacements, 1);
    if (!first || !list || !out || !(out->first = PELT_NEW(arena, uint32_t, (size_t)u->vertex_count + 1))) return NULL;
    for (size_t e = 0; e < count; e++) first[entries[e].point + 1]++;
    for (uint32_t i = 0; i < u->point_count; i++) first[i + 1] += first[i];
    for (size_t e = count; e-- > 0;)
        list[--first[entries[e].point + 1]] = (uint32_t)e; /* first[i + 1]: now where i starts */
    for (uint32_t v = 0; v < u->vertex_count; v++) {
        uint32_t i = u->point_of[v], end = i + 1 < u->point_count ? first[i + 2] : (uint32_t)count;
        out->first[v + 1] = out->first[v] + end - first[i + 1];
    }
    size_t total = out->first[u->vertex_count];
    out->coefficients = PELT_NEW(arena, uint32_t, total);
    out->vectors = PELT_NEW(arena, float, 3 * total);
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
