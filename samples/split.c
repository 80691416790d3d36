/* split.c: samples as they are in files, with vertices split at texture seams and hard edges.

   Every corner has a number, its *chart*: corners of one vertex with the same chart stay one vertex, the others are
   split. */

#include "samples/build.h"
#include "samples/samples.h"
#include <math.h>
#include <string.h>

typedef struct splitting {
    const pelt_mesh *mesh;
    const float *faces; /* [triangle][3] unit normals */
    double centre[3];
} splitting;

typedef uint32_t chart_of(const splitting *s, uint32_t triangle, int corner);

static void middle_of(const splitting *s, uint32_t triangle, double out[3]) {
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (int k = 0; k < 3; k++)
            out[i] +=
                s->mesh->positions[3 * (size_t)s->mesh->triangles[3 * (size_t)triangle + (size_t)k] + (size_t)i] / 3;
    }
}

/* Angle around x, as a fraction of a turn from -1/2 to 1/2. */
static double turn_of(const splitting *s, const double point[3]) {
    return atan2(point[2] - s->centre[2], point[1] - s->centre[1]) / (360 * DEGREE);
}

/* A texture wrapped around x: at its end, a triangle has corners beyond the end, which wrap to the other side. */
static uint32_t wrapped(const splitting *s, uint32_t triangle, int corner) {
    const float *p = s->mesh->positions + 3 * (size_t)s->mesh->triangles[3 * (size_t)triangle + (size_t)corner];
    double middle[3];
    middle_of(s, triangle, middle);
    double here = turn_of(s, (double[3]){p[0], p[1], p[2]}), there = turn_of(s, middle);
    return (uint32_t)(1 + rint(there - here)); /* 1; 0 or 2 beyond an end */
}

/* One half of the texture, used on both sides. */
static uint32_t mirrored(const splitting *s, uint32_t triangle, int corner) {
    (void)corner;
    double middle[3];
    middle_of(s, triangle, middle);
    return middle[2] < s->centre[2];
}

static uint32_t alone(const splitting *s, uint32_t triangle, int corner) {
    (void)s, (void)corner;
    return triangle;
}

/* Box faces are separate charts: the main direction a triangle faces. */
static uint32_t by_face(const splitting *s, uint32_t triangle, int corner) {
    (void)corner;
    const float *n = s->faces + 3 * (size_t)triangle;
    int most = 0;
    for (int i = 1; i < 3; i++)
        if (fabsf(n[i]) > fabsf(n[most])) most = i;
    return (uint32_t)(2 * most + (n[most] < 0));
}

typedef struct variant {
    const char *name;
    chart_of *chart;
    bool own_normals; /* from the chart's triangles; otherwise twins keep their previous normal */
} variant;

static const variant variants[] = {
    {"seam", wrapped, false}, {"mirror", mirrored, false}, {"split", alone, false},
    {"flat", alone, true},    {"edges", by_face, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

const char *const pelt_sample_variants[] = {"seam", "mirror", "split", "flat", "edges", NULL};

static float *face_normals(pelt_arena *arena, const pelt_mesh *mesh) {
    float *faces = PELT_NEW(arena, 3 * (size_t)mesh->triangle_count, float);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        float corners[9], normals[9];
        for (size_t k = 0; k < 3; k++)
            memcpy(corners + 3 * k, mesh->positions + 3 * (size_t)mesh->triangles[3 * t + k], 3 * sizeof *corners);
        pelt_mesh_normals(corners, 3, (uint32_t[]){0, 1, 2}, 1, normals);
        memcpy(faces + 3 * t, normals, 3 * sizeof *faces);
    }
    return faces;
}

/* Returns the old vertex of each new one; triangles get the new ones. */
static uint32_t *split_corners(pelt_arena *arena, const splitting *s, chart_of *chart, uint32_t *triangles,
                               uint32_t *count) {
    size_t corners = 3 * (size_t)s->mesh->triangle_count;
    uint32_t *from = PELT_NEW(arena, corners, uint32_t), *charts = PELT_NEW(arena, corners, uint32_t);
    uint32_t *newest =
        PELT_NEW(arena, s->mesh->vertex_count, uint32_t); /* chains of a vertex's new ones, by index + 1 */
    uint32_t *older = PELT_NEW(arena, corners, uint32_t);
    *count = 0;
    for (size_t c = 0; c < corners; c++) {
        uint32_t v = s->mesh->triangles[c], own = chart(s, (uint32_t)(c / 3), (int)(c % 3)), found = newest[v];
        while (found && charts[found - 1] != own) found = older[found - 1];
        if (!found) {
            from[*count] = v, charts[*count] = own;
            older[*count] = newest[v];
            found = newest[v] = ++*count;
        }
        triangles[c] = found - 1;
    }
    return from;
}

bool sample_split(pelt_arena *arena, const char *name, pelt_mesh *mesh) {
    const variant *kind = NULL;
    for (int i = 0; i < VARIANTS; i++)
        if (!strcmp(variants[i].name, name)) kind = &variants[i];
    if (!kind) return false;
    splitting s = {.mesh = mesh, .faces = face_normals(arena, mesh)};
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        s.centre[i % 3] += mesh->positions[i] / (double)mesh->vertex_count;
    pelt_mesh out = *mesh;
    out.triangles = PELT_NEW(arena, 3 * (size_t)mesh->triangle_count, uint32_t);
    uint32_t *from = split_corners(arena, &s, kind->chart, out.triangles, &out.vertex_count);
    out.positions = PELT_NEW(arena, 3 * (size_t)out.vertex_count, float);
    out.normals = PELT_NEW(arena, 3 * (size_t)out.vertex_count, float);
    for (size_t v = 0; v < out.vertex_count; v++) {
        memcpy(out.positions + 3 * v, mesh->positions + 3 * (size_t)from[v], 3 * sizeof *out.positions);
        memcpy(out.normals + 3 * v, mesh->normals + 3 * (size_t)from[v], 3 * sizeof *out.normals);
    }
    if (kind->own_normals)
        pelt_mesh_normals(out.positions, out.vertex_count, out.triangles, out.triangle_count, out.normals);
    *mesh = out;
    return true;
}
