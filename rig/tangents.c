/* tangents.c: tangents for normal maps, as MikkTSpace defines them (M. S. Mikkelsen, "Simulation of Wrinkled Surfaces
   Revisited", 2008), which glTF requires if a file has none.

   A triangle with edges d1, d2, whose texture coordinates differ by (u1, v1) and (u2, v2), has

       T = s (v2 d1 - v1 d2) / |...|,   s = sign(u1 v2 - u2 v1)

   the direction of increasing u. Corners with the same position, normal and texture coordinates are one place. Around a
   place, triangles that share edges and have the same s form a *group*: a mirrored texture or a seam starts another
   one. The tangent of a group is

       sum over its triangles: angle * unit(T - n (n . T)),   normalised; the angle is the corner's, seen along n

   Triangles without area in the texture have no T; they join the first group that reaches them. The handedness w = -s
   makes w (n x t) point up in the image: glTF's v points down. */

#include "rig/maths.h"
#include "rig/rig.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct triangle_frame {
    double along[3]; /* T; 0 if flat */
    int8_t sign;     /* s; for a flat triangle that of its first group, 0 before */
    bool flat;       /* no area in the texture */
    bool degenerate; /* two corners coincide: it has no neighbours */
} triangle_frame;

typedef struct group {
    double sum[3], angle;
    int8_t sign;
} group;

typedef struct edge {
    uint32_t low, high; /* places */
    uint32_t corner;    /* where it starts: 3 triangle + corner */
} edge;

typedef struct making {
    const pelt_mesh *mesh;
    uint32_t *place_of; /* [vertex] */
    triangle_frame *frames;
    uint32_t *across;   /* [3 triangle + corner] the triangle across the edge that starts there, or NONE */
    uint32_t *group_of; /* [3 triangle + corner] NONE: not yet */
    group *groups;
    uint32_t group_count;
} making;

/* Normalises a vector; zero stays zero. */
static void make_unit(double v[3]) {
    double length = pelt_length(v);
    for (int i = 0; i < 3; i++) v[i] = length > DBL_MIN ? v[i] / length : 0;
}

/* v projected onto the plane of a normal, normalised. */
static void flatten(const float normal[3], double v[3]) {
    double n[3] = {normal[0], normal[1], normal[2]}, depth = pelt_dot(n, v);
    for (int i = 0; i < 3; i++) v[i] -= depth * n[i];
    make_unit(v);
}

/* -- Places -------------------------------------------------------------------------------------------------------- */

/* Position, normal and texture coordinates of a vertex as bits; -0 is 0. */
static void place_bits(const pelt_mesh *mesh, uint32_t v, uint32_t bits[8]) {
    float all[8];
    for (int i = 0; i < 3; i++)
        all[i] = mesh->positions[3 * (size_t)v + (size_t)i] + 0.0f,
        all[3 + i] = mesh->normals[3 * (size_t)v + (size_t)i] + 0.0f;
    for (int i = 0; i < 2; i++) all[6 + i] = mesh->uvs[2 * (size_t)v + (size_t)i] + 0.0f;
    memcpy(bits, all, sizeof all);
}

static uint32_t hash_place(const uint32_t bits[8]) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < 8; i++) h = (h ^ bits[i]) * 16777619u, h ^= h >> 15;
    return h;
}

/* The place of a vertex is the first vertex there. */
static void find_places(pelt_arena *arena, making *m) {
    uint32_t n = m->mesh->vertex_count, size = 4;
    while (size < 31 && (1u << size) < n) size++;
    uint32_t *head = PELT_NEW(arena, (size_t)1 << size, uint32_t), *next = PELT_NEW(arena, n, uint32_t);
    if (pelt_arena_failed(arena)) return;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t own[8], other[8];
        place_bits(m->mesh, v, own);
        uint32_t *slot = &head[hash_place(own) >> (32 - size)], i = *slot;
        for (; i; i = next[i - 1]) {
            place_bits(m->mesh, i - 1, other);
            if (!memcmp(own, other, sizeof own)) break;
        }
        m->place_of[v] = i ? i - 1 : v;
        if (!i) next[v] = *slot, *slot = v + 1;
    }
}

/* -- Triangles ----------------------------------------------------------------------------------------------------- */

static void difference(const float *a, const float *b, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = (double)b[i] - a[i];
}

static triangle_frame frame_of(const pelt_mesh *mesh, const uint32_t *corners) {
    const float *p[3], *uv[3];
    for (int i = 0; i < 3; i++)
        p[i] = mesh->positions + 3 * (size_t)corners[i], uv[i] = mesh->uvs + 2 * (size_t)corners[i];
    triangle_frame f = {.flat = true};
    for (int i = 0; i < 3; i++) f.degenerate |= !memcmp(p[i], p[(i + 1) % 3], 3 * sizeof(float));
    float u1 = uv[1][0] - uv[0][0], v1 = uv[1][1] - uv[0][1], u2 = uv[2][0] - uv[0][0], v2 = uv[2][1] - uv[0][1];
    float area = u1 * v2 - u2 * v1;
    if (f.degenerate || !(fabsf(area) > FLT_MIN)) return f;
    double d1[3], d2[3];
    difference(p[0], p[1], d1), difference(p[0], p[2], d2);
    f.sign = area > 0 ? 1 : -1;
    for (int i = 0; i < 3; i++) f.along[i] = f.sign * (v2 * d1[i] - v1 * d2[i]);
    make_unit(f.along);
    f.flat = pelt_dot(f.along, f.along) == 0;
    if (f.flat) f.sign = 0;
    return f;
}

static int compare_edges(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->corner > y->corner) - (x->corner < y->corner);
}

static uint32_t place_at(const making *m, uint32_t corner) { return m->place_of[m->mesh->triangles[corner]]; }
static uint32_t next_corner(uint32_t corner) { return corner % 3 == 2 ? corner - 2 : corner + 1; }

/* Triangles are neighbours if they traverse an edge in opposite directions; if more than two share it, they pair up. */
static void find_neighbours(pelt_arena *arena, making *m) {
    uint32_t count = 0, corners = 3 * m->mesh->triangle_count;
    edge *edges = PELT_NEW(arena, corners, edge);
    if (pelt_arena_failed(arena)) return;
    for (uint32_t c = 0; c < corners; c++) {
        uint32_t from = place_at(m, c), to = place_at(m, next_corner(c));
        m->across[c] = NONE;
        if (!m->frames[c / 3].degenerate) edges[count++] = (edge){from < to ? from : to, from < to ? to : from, c};
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = edges[i].corner;
        if (m->across[a] != NONE) continue;
        for (uint32_t k = i + 1; k < count && edges[k].low == edges[i].low && edges[k].high == edges[i].high; k++) {
            uint32_t b = edges[k].corner;
            if (m->across[b] != NONE || place_at(m, a) == place_at(m, b)) continue;
            m->across[a] = b / 3, m->across[b] = a / 3;
            break;
        }
    }
}

/* -- Groups -------------------------------------------------------------------------------------------------------- */

static void add_corner(const making *m, uint32_t corner, group *g) {
    const triangle_frame *f = &m->frames[corner / 3];
    g->sign = f->sign;
    if (f->flat) return;
    const uint32_t *t = m->mesh->triangles + corner / 3 * 3;
    uint32_t v = m->mesh->triangles[corner], before = t[(corner + 2) % 3], after = t[(corner + 1) % 3];
    const float *p = m->mesh->positions, *normal = m->mesh->normals + 3 * (size_t)v;
    double along[3] = {f->along[0], f->along[1], f->along[2]}, a[3], b[3];
    difference(p + 3 * (size_t)v, p + 3 * (size_t)before, a), difference(p + 3 * (size_t)v, p + 3 * (size_t)after, b);
    flatten(normal, along), flatten(normal, a), flatten(normal, b);
    double angle = acos(fmax(fmin(pelt_dot(a, b), 1), -1));
    for (int i = 0; i < 3; i++) g->sum[i] += angle * along[i];
    g->angle += angle;
}

/* Adds a corner to the current group, whose triangles have this sign. */
static bool claim(making *m, uint32_t corner, int8_t sign) {
    triangle_frame *f = &m->frames[corner / 3];
    const uint32_t *first = m->group_of + corner / 3 * 3;
    if (m->group_of[corner] != NONE) return false;
    if (f->flat && first[0] == NONE && first[1] == NONE && first[2] == NONE) f->sign = sign;
    if (f->sign != sign) return false;
    m->group_of[corner] = m->group_count;
    return true;
}

/* Walks around the place, across the edges that start or those that end there, as far as the group reaches. */
static void spread(making *m, uint32_t corner, int8_t sign, bool backwards) {
    for (uint32_t place = place_at(m, corner);;) {
        uint32_t triangle = m->across[backwards ? next_corner(next_corner(corner)) : corner];
        if (triangle == NONE) return;
        corner = 3 * triangle;
        while (place_at(m, corner) != place) corner++;
        if (!claim(m, corner, sign)) return;
    }
}

static void find_groups(making *m) {
    uint32_t corners = 3 * m->mesh->triangle_count;
    for (uint32_t c = 0; c < corners; c++) m->group_of[c] = NONE;
    for (uint32_t c = 0; c < corners; c++) {
        int8_t sign = m->frames[c / 3].sign;
        if (m->frames[c / 3].flat || m->group_of[c] != NONE) continue;
        claim(m, c, sign);
        spread(m, c, sign, false), spread(m, c, sign, true);
        m->group_count++;
    }
}

static void sum_groups(pelt_arena *arena, making *m) {
    m->groups = PELT_NEW(arena, m->group_count, group);
    if (pelt_arena_failed(arena)) return;
    for (uint32_t c = 0; c < 3 * m->mesh->triangle_count; c++)
        if (m->group_of[c] != NONE) add_corner(m, c, &m->groups[m->group_of[c]]);
    for (uint32_t g = 0; g < m->group_count; g++) make_unit(m->groups[g].sum);
}

/* -- Vertices ------------------------------------------------------------------------------------------------------ */

/* Which of two groups a vertex takes if it has corners in both. */
static uint32_t better(const making *m, uint32_t a, uint32_t b) {
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    return m->groups[b].angle > m->groups[a].angle ? b : a;
}

static bool differ(const group *a, const group *b) {
    return a->sign != b->sign || pelt_dot(a->sum, b->sum) < cos(acos(-1) / 180);
}

/* Any unit vector perpendicular to the normal. */
static void across_normal(const float n[3], double out[3]) {
    int least = fabsf(n[1]) < fabsf(n[0]) ? 1 : 0;
    if (fabsf(n[2]) < fabsf(n[least])) least = 2;
    for (int i = 0; i < 3; i++) out[i] = i == least;
    flatten(n, out);
}

/* Takes the largest group of each vertex or, if it has none, that of its place; returns how many vertices need two. */
static uint32_t give_tangents(pelt_arena *arena, const making *m, float *tangents) {
    uint32_t n = m->mesh->vertex_count, torn_count = 0;
    uint32_t *of_vertex = PELT_NEW(arena, n, uint32_t), *of_place = PELT_NEW(arena, n, uint32_t);
    uint8_t *torn = PELT_NEW(arena, n, uint8_t);
    if (pelt_arena_failed(arena)) return 0;
    for (uint32_t v = 0; v < n; v++) of_vertex[v] = of_place[v] = NONE;
    for (uint32_t c = 0; c < 3 * m->mesh->triangle_count; c++) {
        uint32_t v = m->mesh->triangles[c], place = m->place_of[v], g = m->group_of[c];
        if (g == NONE) continue;
        if (of_vertex[v] != NONE && differ(&m->groups[of_vertex[v]], &m->groups[g])) torn[v] = 1;
        of_vertex[v] = better(m, of_vertex[v], g), of_place[place] = better(m, of_place[place], g);
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t g = of_vertex[v] == NONE ? of_place[m->place_of[v]] : of_vertex[v];
        float *t = tangents + 4 * (size_t)v;
        double direction[3] = {0};
        if (g != NONE) memcpy(direction, m->groups[g].sum, sizeof direction);
        if (pelt_dot(direction, direction) == 0) across_normal(m->mesh->normals + 3 * (size_t)v, direction);
        for (int i = 0; i < 3; i++) t[i] = (float)direction[i];
        t[3] = g != NONE && m->groups[g].sign > 0 ? -1 : 1;
        torn_count += torn[v];
    }
    return torn_count;
}

uint32_t pelt_mesh_tangents(pelt_arena *arena, const pelt_mesh *mesh, float *tangents) {
    size_t corners = 3 * (size_t)mesh->triangle_count;
    making m = {.mesh = mesh,
                .place_of = PELT_NEW(arena, mesh->vertex_count, uint32_t),
                .frames = PELT_NEW(arena, mesh->triangle_count, triangle_frame),
                .across = PELT_NEW(arena, corners, uint32_t),
                .group_of = PELT_NEW(arena, corners, uint32_t)};
    if (!pelt_arena_failed(arena)) find_places(arena, &m);
    if (pelt_arena_failed(arena)) return 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) m.frames[t] = frame_of(mesh, mesh->triangles + 3 * t);
    find_neighbours(arena, &m);
    if (pelt_arena_failed(arena)) return 0;
    find_groups(&m);
    sum_groups(arena, &m);
    return pelt_arena_failed(arena) ? 0 : give_tangents(arena, &m, tangents);
}

void pelt_unit_tangent(const float normal[3], const float tangent[4], float out[4]) {
    double t[3] = {tangent[0], tangent[1], tangent[2]};
    float w = tangent[3] < 0 ? -1 : 1;
    flatten(normal, t);
    if (!isfinite(pelt_dot(t, t)) || pelt_dot(t, t) == 0) across_normal(normal, t);
    bool rounding = true; /* alone: keep the bits */
    for (int i = 0; i < 3; i++) rounding &= fabs(t[i] - tangent[i]) < 1e-6;
    for (int i = 0; i < 3; i++) out[i] = rounding ? tangent[i] : (float)t[i];
    out[3] = w;
}
