/* mesh.c: weights, size, and seams. */

#include "rig/rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double float_rounding = 1e-7; /* per weight: sums this close to 1 keep their bits */
static const double same_size = 1e-5;      /* relative: two diagonals that differ by rounding alone */

pelt_result pelt_check_mesh(uint64_t hash, const pelt_bundle *bundle, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    if (!hash || hash == pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count))
        return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "the mesh in %s has other rest positions or triangles than the one the skin was made for: use "
                     "that one, or fit the skin again",
                     bundle->path);
}

double pelt_normalise_weights(float *weights, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += weights[i];
    if (sum > 0 && fabs(sum - 1) > float_rounding * count)
        for (uint32_t i = 0; i < count; i++) weights[i] = (float)(weights[i] / sum);
    return sum;
}

double pelt_diagonal(const float *positions, uint32_t vertex_count) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0;
    for (size_t v = 0; v < vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], positions[3 * v + (size_t)i]);
            high[i] = fmax(high[i], positions[3 * v + (size_t)i]);
        }
    for (int i = 0; i < 3; i++) sum += vertex_count ? (high[i] - low[i]) * (high[i] - low[i]) : 0;
    return sqrt(sum);
}

double pelt_scene_diagonal(const pelt_mesh *mesh) {
    return mesh->scene_diagonal > 0 ? mesh->scene_diagonal : mesh->diagonal;
}

bool pelt_find_scene_diagonal(pelt_bundle *bundle) {
    pelt_mesh *mesh = &bundle->mesh;
    PELT_SCOPED pelt_arena *brief = pelt_arena_inside(bundle->arena);
    const double *posed = pelt_blend_frame(brief, bundle, NULL, 0);
    float *positions = PELT_NEW(brief, 3 * (size_t)mesh->vertex_count, float);
    if (pelt_arena_failed(brief)) return false;
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) positions[i] = (float)posed[i];
    float diagonal = (float)pelt_diagonal(positions, mesh->vertex_count);
    bool same = fabsf(diagonal - mesh->diagonal) <= same_size * mesh->diagonal;
    mesh->scene_diagonal = same || !(diagonal > 0) || !isfinite(diagonal) ? mesh->diagonal : diagonal;
    return true;
}

/* -- Seams ------------------------------------------------------------------------------------------------------- */

static uint32_t hash_position(const float *p) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < 3; i++) {
        float f = p[i] + 0.0f; /* -0 is 0 */
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        h = (h ^ bits) * 16777619u;
        h ^= h >> 15;
    }
    return h;
}

static bool move_together(uint32_t vertex_count, pelt_examples examples, double tolerance, uint32_t a, uint32_t b) {
    for (size_t e = 0; e < examples.count; e++) {
        const float *frame = examples.list[e].clip->positions;
        if (!frame) continue;
        frame += 3 * (size_t)vertex_count * examples.list[e].frame;
        const float *p = frame + 3 * (size_t)a, *q = frame + 3 * (size_t)b;
        double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
        if (x * x + y * y + z * z > tolerance * tolerance) return false;
    }
    return true;
}

uint32_t pelt_weld(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples, double tolerance,
                   uint32_t *point_of) {
    /* Chained hash table over the first vertex of each point. */
    uint32_t n = mesh->vertex_count, bits = 4, points = 0;
    while (bits < 31 && (1u << bits) < n) bits++;
    uint32_t *head = PELT_NEW(arena, (size_t)1 << bits, uint32_t), *next = PELT_NEW(arena, n, uint32_t);
    if (pelt_arena_failed(arena)) return 0;
    for (uint32_t v = 0; v < n; v++) {
        const float *p = mesh->positions + 3 * (size_t)v;
        uint32_t *slot = &head[hash_position(p) >> (32 - bits)], found = UINT32_MAX;
        for (uint32_t i = *slot; i && found == UINT32_MAX; i = next[i - 1]) {
            const float *q = mesh->positions + 3 * (size_t)(i - 1);
            if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2] && move_together(n, examples, tolerance, v, i - 1))
                found = point_of[i - 1];
        }
        if (found == UINT32_MAX) {
            found = points++;
            next[v] = *slot, *slot = v + 1;
        }
        point_of[v] = found;
    }
    return points;
}
