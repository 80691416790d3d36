/* normals.c: the normals of a surface, shaded as its file shades it.

   A *shading group* shades as one: vertices that share a rest position, move together, and have the same normal in the
   file. A texture seam, whose twins have equal normals, is smooth; a hard edge, whose normals differ, is not. The
   normal of a group is the sum of its triangles' normals, each weighted by the angle at the corner, which does not
   depend on how a flat face is triangulated:

       n = sum_t angle_t n_t / |...|,    angle = atan2(|u x v|, u . v) for the edges u, v of the corner

   or by its area, if the file's normals are closer to that. Files may also bend their normals away from both: sculpted,
   or baked from a finer mesh. A file normal keeps its coordinates in the local frame of the surface (its normal, and an
   edge across it) from the rest pose to any other shape, so that at rest the true normals are the file's own. */

#include "rig/maths.h"
#include "rig/smoothing.h"
#include <math.h>
#include <string.h>

/* -- Sums over corners --------------------------------------------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

/* atan2 for y >= 0, to 7e-8: atan(t) = t p(t^2) by interpolation at Chebyshev points, t the smaller over the larger. */
static double angle_of(double y, double x) {
    static const double p[] = {0.999999882,  -0.333318127,  0.199669618,  -0.140032902,
                               0.0986886546, -0.0588297531, 0.0237805186, -0.00455979199};
    double ax = fabs(x), t = ax > y ? y / ax : ax / y, s = t * t;
    double sum = p[0] + s * (p[1] + s * (p[2] + s * (p[3] + s * (p[4] + s * (p[5] + s * (p[6] + s * p[7]))))));
    double angle = ax > y ? t * sum : pi / 2 - t * sum;
    return x < 0 ? pi - angle : angle;
}

/* Normalises a vector; false, and zero, if it has no direction. */
static bool normalise(double v[3]) {
    double length = pelt_length(v);
    bool sound = length > 0 && isfinite(length);
    for (int i = 0; i < 3; i++) v[i] = sound ? v[i] / length : 0;
    return sound;
}

/* Adds the normals of all triangles to the leaders of their corners (leaders NULL: each vertex leads itself). */
static void sum_corners(const float *positions, const uint32_t *leaders, const uint32_t *triangles,
                        uint32_t triangle_count, pelt_weighting by, float *normals) {
    for (size_t t = 0; t < triangle_count; t++) {
        const uint32_t *corner = triangles + 3 * t;
        const float *a = positions + 3 * (size_t)corner[0], *b = positions + 3 * (size_t)corner[1],
                    *c = positions + 3 * (size_t)corner[2];
        double u[3], v[3], w[3], n[3], weights[3];
        for (int i = 0; i < 3; i++) u[i] = (double)b[i] - a[i], v[i] = (double)c[i] - a[i], w[i] = (double)c[i] - b[i];
        pelt_cross(u, v, n);
        double area = pelt_length(n); /* twice */
        if (!(area > 0) || !isfinite(area)) continue;
        weights[0] = by == PELT_BY_AREA ? area : angle_of(area, pelt_dot(u, v));
        weights[1] = by == PELT_BY_AREA ? area : angle_of(area, -pelt_dot(u, w));
        weights[2] = by == PELT_BY_AREA ? area : fmax(0, pi - weights[0] - weights[1]);
        for (int k = 0; k < 3; k++) {
            float *to = normals + 3 * (size_t)(leaders ? leaders[corner[k]] : corner[k]);
            for (int i = 0; i < 3; i++) to[i] += (float)(n[i] * (weights[k] / area));
        }
    }
}

static bool unit(const float *from, double to[3]) {
    for (int i = 0; i < 3; i++) to[i] = from[i];
    return normalise(to);
}

void pelt_mesh_normals(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                       uint32_t triangle_count, float *normals) {
    memset(normals, 0, 3 * (size_t)vertex_count * sizeof *normals);
    sum_corners(positions, NULL, triangles, triangle_count, PELT_BY_ANGLE, normals);
    for (size_t v = 0; v < vertex_count; v++) {
        double n[3];
        if (!unit(normals + 3 * v, n)) n[2] = 1;
        for (size_t i = 0; i < 3; i++) normals[3 * v + i] = (float)n[i];
    }
}

void pelt_unit_normal(const float normal[3], float out[3]) {
    double length = sqrt(pelt_square_length(normal));
    if (!(length > 0) || !isfinite(length)) return;
    if (fabs(length - 1) < 1e-6) length = 1; /* already unit length to float precision: keep the bits */
    for (int i = 0; i < 3; i++) out[i] = (float)(normal[i] / length);
}

/* -- Groups -------------------------------------------------------------------------------------------------------- */

/* The first vertex of each vertex's group: the vertices of a point whose normals are within an angle of the first's. */
static uint32_t *find_leaders(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples, double cosine) {
    uint32_t n = mesh->vertex_count, *leaders = PELT_NEW(arena, n, uint32_t), *points = PELT_NEW(arena, n, uint32_t);
    uint32_t *newest = PELT_NEW(arena, n, uint32_t); /* chains of the leaders of a point, by index + 1 */
    uint32_t *older = PELT_NEW(arena, n, uint32_t);
    if (pelt_arena_failed(arena)) return NULL;
    pelt_weld(arena, mesh, examples, PELT_STILL_TOGETHER * pelt_scene_diagonal(mesh), points);
    for (uint32_t v = 0; v < n && !pelt_arena_failed(arena); v++) {
        double own[3], other[3];
        unit(mesh->normals + 3 * (size_t)v, own);
        uint32_t found = newest[points[v]];
        for (; found; found = older[found - 1])
            if (unit(mesh->normals + 3 * (size_t)(found - 1), other) && pelt_dot(own, other) > cosine) break;
        if (!found) older[v] = newest[points[v]], newest[points[v]] = found = v + 1;
        leaders[v] = found - 1;
    }
    return leaders;
}

bool pelt_smooth_normals(pelt_mesh *mesh) {
    static const double crease = 0.7; /* 45 degrees: anything sharper is an edge, especially the back of a sheet */
    size_t n = mesh->vertex_count;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_mesh_normals(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count, mesh->normals);
    float *sums = PELT_NEW(arena, 3 * n, float);
    uint32_t *leaders = find_leaders(arena, mesh, (pelt_examples){0}, crease);
    bool done = !pelt_arena_failed(arena);
    if (done) sum_corners(mesh->positions, leaders, mesh->triangles, mesh->triangle_count, PELT_BY_ANGLE, sums);
    for (size_t v = 0; done && v < n; v++) {
        double sum[3];
        if (unit(sums + 3 * (size_t)leaders[v], sum))
            for (size_t i = 0; i < 3; i++) mesh->normals[3 * v + i] = (float)sum[i];
    }
    return done;
}

/* -- True normals -------------------------------------------------------------------------------------------------- */

/* File normals within a tenth of a degree are equal: exporters compute those of twins separately, and round. */
static const double AGREE = 1 - 1.5e-6;

/* The frame of the surface at a leader, whose normal is given. False if the edge is parallel to it. */
static bool frame_of(const pelt_smoothing *s, uint32_t leader, const float *positions, const double normal[3],
                     double across[3], double beside[3]) {
    const float *from = positions + 3 * (size_t)leader, *to = positions + 3 * (size_t)s->across[leader];
    for (int i = 0; i < 3; i++) across[i] = (double)to[i] - from[i];
    double along = pelt_dot(across, normal);
    for (int i = 0; i < 3; i++) across[i] -= along * normal[i];
    bool sound = normalise(across);
    pelt_cross(normal, across, beside);
    return sound;
}

/* For each leader, the edge that extends farthest across its normal at rest. */
static void choose_edges(pelt_arena *arena, pelt_smoothing *s, const float *surface) {
    const pelt_mesh *mesh = s->mesh;
    double *farthest = PELT_NEW(arena, mesh->vertex_count, double);
    if (pelt_arena_failed(arena)) return;
    for (size_t k = 0; k < 6 * (size_t)mesh->triangle_count; k++) {
        const uint32_t *corner = mesh->triangles + k / 6 * 3;
        uint32_t leader = s->leaders[corner[k % 3]], to = corner[(k % 3 + 1 + k % 6 / 3) % 3];
        double edge[3], n[3];
        for (int i = 0; i < 3; i++)
            edge[i] =
                (double)mesh->positions[3 * (size_t)to + (size_t)i] - mesh->positions[3 * (size_t)leader + (size_t)i];
        if (!unit(surface + 3 * (size_t)leader, n)) continue;
        double along = pelt_dot(edge, n), reach = pelt_dot(edge, edge) - along * along;
        if (reach > farthest[leader]) farthest[leader] = reach, s->across[leader] = to;
    }
}

static void bend_normals(pelt_smoothing *s, const float *surface) {
    const pelt_mesh *mesh = s->mesh;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double n[3], across[3], beside[3], file[3], apart = 0;
        float *bend = s->bends + 3 * (size_t)v;
        if (s->leaders[v] != v || !unit(surface + 3 * (size_t)v, n) || !unit(mesh->normals + 3 * (size_t)v, file))
            continue;
        for (int i = 0; i < 3; i++) apart += (file[i] - n[i]) * (file[i] - n[i]);
        bend[2] = 1;
        if (apart > 1e-12 && frame_of(s, v, mesh->positions, n, across, beside))
            bend[0] = (float)pelt_dot(file, across), bend[1] = (float)pelt_dot(file, beside),
            bend[2] = (float)pelt_dot(file, n);
    }
}

/* Sums at rest; returns the file normals' sum of squared differences from them. */
static double sum_rest(const pelt_smoothing *s, float *surface) {
    const pelt_mesh *mesh = s->mesh;
    double apart = 0;
    memset(surface, 0, 3 * (size_t)mesh->vertex_count * sizeof *surface);
    sum_corners(mesh->positions, s->leaders, mesh->triangles, mesh->triangle_count, s->by, surface);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double n[3], file[3];
        if (!unit(surface + 3 * (size_t)s->leaders[v], n) || !unit(mesh->normals + 3 * v, file)) continue;
        for (int i = 0; i < 3; i++) apart += (file[i] - n[i]) * (file[i] - n[i]);
    }
    return apart;
}

const pelt_smoothing *pelt_smoothing_of(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples) {
    size_t n = mesh->vertex_count;
    pelt_smoothing *s = PELT_NEW(arena, 1, pelt_smoothing);
    uint32_t *across = PELT_NEW(arena, n, uint32_t);
    float *bends = PELT_NEW(arena, 3 * n, float), *surface = PELT_NEW(arena, 3 * n, float);
    uint32_t *leaders = find_leaders(arena, mesh, examples, AGREE);
    if (pelt_arena_failed(arena)) return NULL;
    *s = (pelt_smoothing){mesh, PELT_BY_AREA, leaders, across, bends};
    double by_area = sum_rest(s, surface);
    s->by = PELT_BY_ANGLE;
    if (sum_rest(s, surface) > by_area) s->by = PELT_BY_AREA, sum_rest(s, surface);
    choose_edges(arena, s, surface);
    if (pelt_arena_failed(arena)) return NULL;
    bend_normals(s, surface);
    return s;
}

uint32_t pelt_shading_leader(const pelt_smoothing *s, uint32_t vertex) { return s->leaders[vertex]; }

const float *pelt_shading_normals(pelt_arena *arena, const pelt_smoothing *s) {
    float *out = PELT_NEW(arena, 3 * (size_t)s->mesh->vertex_count, float);
    for (size_t v = 0; out && v < s->mesh->vertex_count; v++)
        memcpy(out + 3 * v, s->mesh->normals + 3 * (size_t)s->leaders[v], 3 * sizeof *out);
    return out;
}

static void bend_normal(const pelt_smoothing *s, uint32_t leader, const float *positions, float *normal) {
    const float *bend = s->bends + 3 * (size_t)leader;
    double n[3], across[3], beside[3];
    bool leans = bend[0] != 0 || bend[1] != 0, sound = unit(normal, n) && (leans || bend[2] != 0);
    bool bent = sound && leans && frame_of(s, leader, positions, n, across, beside);
    for (int i = 0; i < 3; i++) {
        double turned = bent ? bend[0] * across[i] + bend[1] * beside[i] + bend[2] * n[i] : n[i];
        normal[i] = sound ? (float)turned : 0;
    }
}

/* A leader is the first of its group, so its normal is ready for the others. */
void pelt_surface_normals(const pelt_smoothing *s, const float *positions, float *normals) {
    const pelt_mesh *mesh = s->mesh;
    memset(normals, 0, 3 * (size_t)mesh->vertex_count * sizeof *normals);
    sum_corners(positions, s->leaders, mesh->triangles, mesh->triangle_count, s->by, normals);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        float *normal = normals + 3 * (size_t)v;
        if (s->leaders[v] == v)
            bend_normal(s, v, positions, normal);
        else
            memcpy(normal, normals + 3 * (size_t)s->leaders[v], 3 * sizeof *normal);
    }
}

const float *pelt_true_normals(const pelt_smoothing *s, const pelt_example *example, float *space) {
    size_t frame = 3 * (size_t)s->mesh->vertex_count * example->frame;
    if (example->clip->normals) return example->clip->normals + frame;
    pelt_surface_normals(s, example->clip->positions + frame, space);
    return space;
}
